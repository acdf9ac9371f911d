// torture.mjs [MOST] - each fallible call of the program fails once: allocations, and calls to the system
// (tests/cli/fail_calls.c, preloaded). Prints TAP.
//
// The work: a training with a checkpoint, a prediction, an update in place, the start of the service and 20 requests. First it is
// done undisturbed and its calls are counted; then again and again, and the n-th call fails. MOST, 0 for all, limits how often: then n
// goes up by even steps. A program that fails says so in one line and ends with 1; files are complete or not there, none is
// left over, and no memory is. If it succeeds, what it wrote is what it writes undisturbed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ask, done, enough, modelA, note, predict, program, root, Server, test, texts, within } from '../serve/lib.mjs';

const most = Number(process.argv[3] ?? 0);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'ringfence-torture-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
const library = path.join(root, 'build/tests/libfail_calls.so'), counts = path.join(dir, 'store', 'calls'); // the service may write there
fs.mkdirSync(path.dirname(counts));
const tiny = path.join(root, 'tests/golden/tiny/encoder');
const fault = (kind, at) => ({ LD_PRELOAD: library, RF_CALLS: kind, RF_FAIL_AT: String(at), RF_CALLS_FILE: counts });
const inDir = name => path.join(dir, name);

// {calls, blocks, failed} of the last run.
function lastRun() {
  const [calls, blocks, ...failed] = fs.readFileSync(counts, 'utf8').trim().split(' ');
  return { calls: Number(calls), blocks: Number(blocks), failed: failed.join(' ') };
}

const rows = Array.from({ length: 18 }, (_, i) => `${texts(1, 100 + i)[0]}\tclass${i % 3}\n`).join('');
fs.writeFileSync(inDir('rows.tsv'), rows);
fs.writeFileSync(inDir('more.tsv'), texts(4, 7).map(t => `${t}\tclass9\n`).join(''));
fs.writeFileSync(inDir('texts.txt'), texts(20, 9).join('\n') + '\n');

const learn = ['--encoder', tiny, '--epochs', '2', '--head-steps', '4', '--negatives', '8', '--threads', '2', '--quiet'];
const works = {
  train: { args: ['train', 'rows.tsv', '-o', 'out/m.rf', '--checkpoint', 'out/ck', ...learn], make: [], leaves: ['m.rf', 'ck'] },
  predict: { args: ['predict', path.relative(dir, modelA), 'texts.txt', '--json', '--explain', '2', '--threads', '2'], make: [], leaves: [] },
  update: { args: ['update', 'out/m.rf', 'more.tsv', '-o', 'out/m.rf', '--threads', '2'], make: ['m.rf'], leaves: ['m.rf'] },
};

function run(work, kind, at) {
  fs.rmSync(inDir('out'), { recursive: true, force: true });
  fs.mkdirSync(inDir('out'));
  for (const f of work.make) fs.copyFileSync(inDir('before.rf'), inDir(`out/${f}`));
  fs.rmSync(counts, { force: true });
  const r = spawnSync(program, work.args, { cwd: dir, env: { ...process.env, ...fault(kind, at) }, encoding: 'utf8', timeout: enough, killSignal: 'SIGKILL', maxBuffer: 1 << 26 });
  const files = fs.readdirSync(inDir('out')).sort();
  const model = files.includes('m.rf') ? fs.readFileSync(inDir('out/m.rf')) : null;
  return { code: r.status, signal: r.signal, out: r.stdout, err: r.stderr, files, model };
}

// 1, 1 + step, ... up to n.
function places(n) {
  const step = most > 0 ? Math.max(1, n / most) : 1, out = [];
  for (let at = 1; at <= n; at += step) out.push(Math.floor(at));
  return out;
}

// jansson 2.14 does not notice that it could not save a character of a string, and asserts that it had.
const janssons = /: load\.c:\d+: lex_scan_string: Assertion `0' failed/;

function check(work, got, want, before, what) {
  if (got.signal === 'SIGABRT' && janssons.test(got.err)) return;
  assert.equal(got.signal, null, `${what}: ${got.signal}; ${got.err}`);
  assert.ok(got.code === 0 || got.code === 1, `${what}: exit code ${got.code}; ${got.err}`);
  const extra = got.files.filter(f => !work.leaves.includes(f));
  assert.deepEqual(extra, [], `${what}: left over`);
  if (got.code === 0) {
    assert.equal(got.out.replace(/ in \d+\.\d s/, ''), want.out.replace(/ in \d+\.\d s/, ''), `${what}: another output, but exit code 0; ${got.err}`);
    assert.deepEqual(got.files, want.files, what);
  } else {
    const last = got.err.trim().split('\n').pop();
    assert.match(last, /^ringfence: .{8,}/, `${what}: no words: ${JSON.stringify(got.err)}`);
    assert.ok(want.out.startsWith(got.out) || got.out === '' || work.model, `${what}: output that is not a beginning of the right one`);
  }
  if (got.model && !got.model.equals(want.model)) assert.ok(got.code === 1 && before && got.model.equals(before), `${what}: a model that is neither the old one nor the new one`);
}

assert.ok(fs.existsSync(library), `${library} is missing`);
for (const [name, work] of Object.entries(works)) {
  const before = work.make.length ? fs.readFileSync(inDir('before.rf')) : null;
  for (const kind of ['system', 'memory']) {
    await test(`torture: ${name}: each ${kind === 'memory' ? 'allocation' : 'call to the system'} fails once`, async () => {
      const want = run(work, kind, 0);
      assert.equal(want.code, 0, want.err);
      const undisturbed = lastRun(), by = {}, wrong = [];
      let failed = 0;
      for (const at of places(undisturbed.calls)) {
        const got = run(work, kind, at);
        let did = { failed: '?', blocks: 0 };
        try {
          did = lastRun();
          check(work, got, want, before, `${name}, ${kind} call ${at} (${did.failed})`);
          if (did.blocks > undisturbed.blocks) throw new Error(`${name}, ${kind} call ${at} (${did.failed}): ${did.blocks} blocks not freed, undisturbed ${undisturbed.blocks}; ${got.err}`);
        } catch (e) { wrong.push(e.message.split('\n').slice(0, 4).join(' ')); }
        by[did.failed] = (by[did.failed] ?? 0) + 1;
        failed += got.code === 1;
        if (name === 'train' && at === 1) fs.rmSync(inDir('out'), { recursive: true, force: true });
      }
      note(`${undisturbed.calls} calls; failed: ${JSON.stringify(by)}; ${failed} runs ended with 1`);
      assert.equal(wrong.length, 0, `${wrong.length} wrong:\n${wrong.slice(0, 40).join('\n')}`);
      assert.ok(failed > 0, 'no failure was noticed');
    }, 36000);
  }
  if (name === 'train') {
    const r = spawnSync(program, [...work.args.map(a => a === 'out/m.rf' ? 'before.rf' : a === 'out/ck' ? 'ck' : a)], { cwd: dir, encoding: 'utf8' });
    assert.equal(r.status, 0, r.stderr);
  }
}

// ---- The service ----------------------------------------------------------------------

const asked = texts(20, 41), answers = predict(modelA, asked);
// 20 requests, one after the other; each is answered right, refused in the one shape, or its connection ends.
async function twenty(server, what) {
  let right = 0;
  for (let i = 0; i < 20; i++) {
    let a;
    try {
      a = i % 5 === 4 ? await server.ask('GET', ['/healthz', '/v1/model', '/metrics', '/v1/map'][(i - 4) / 5]) : await server.classify({ text: asked[i] });
    } catch (e) {
      assert.ok(['ECONNRESET', 'EPIPE', 'ECONNREFUSED'].includes(e.code) || /hang up|cut off/.test(e.message), `${what}: request ${i}: ${e.message}`);
      continue;
    }
    assert.ok(a.status === 200 || a.status >= 500 || a.status === 429, `${what}: request ${i}: ${a.status} ${a.text}`);
    assert.equal(a.headers['x-content-type-options'], 'nosniff', `${what}: request ${i}: an answer without a header`);
    if (a.status === 200 && i % 5 !== 4) assert.deepEqual(a.json, answers[i], what);
    if (a.status >= 500 && a.type === 'application/json') assert.ok(a.json.error.code, what);
    right += a.status === 200;
  }
  return right;
}

async function serveWith(kind, at) {
  const what = `service, ${kind} call ${at}`;
  fs.rmSync(counts, { force: true });
  for (const f of fs.readdirSync(inDir('store'))) fs.rmSync(inDir(`store/${f}`));
  let server;
  try {
    server = await Server.start([modelA, '--store', inDir('store/texts.db'), '--workers', '1', '--threads', '2'], { env: fault(kind, at) });
  } catch (e) {
    const m = e.message.match(/^ended with (\S+) before it listened; stderr: ([^]*)$/);
    assert.ok(m, `${what}: ${e.message}`);
    if (m[1] === 'SIGABRT' && janssons.test(m[2])) return { started: false };
    assert.equal(m[1], '1', `${what}: ${e.message}`);
    assert.match(m[2].trim().split('\n').pop(), /^ringfence: .{8,}/, what);
    return { started: false };
  }
  const right = await twenty(server, what);
  assert.ok(server.alive(), `${what}: it died: ${server.log.slice(-500)}`);
  // one call alone has failed, or fails now: the second time it works
  const again = () => ask(server, 'POST', '/v1/classify', { json: { text: asked[3] } });
  let a = await again().catch(() => null);
  if (a?.status !== 200) a = await again();
  assert.deepEqual(a.json, answers[3], what);
  server.signal('SIGTERM');
  const end = await within(enough, server.ended, `${what}: does not end`);
  assert.deepEqual(end, { code: 0, signal: null }, `${what}: ${server.log.slice(-600)}`);
  return { started: true, right };
}

for (const kind of ['system', 'memory']) {
  await test(`torture: the service and 20 requests: each ${kind === 'memory' ? 'allocation' : 'call to the system'} fails once`, async () => {
    const want = await serveWith(kind, 0);
    assert.equal(want.right, 20);
    const undisturbed = lastRun(), wrong = [], by = {};
    let started = 0, right = 0;
    for (const at of places(undisturbed.calls)) {
      let did = { failed: '?' };
      try {
        const got = await serveWith(kind, at);
        did = lastRun();
        started += got.started;
        right += got.right ?? 0;
      } catch (e) {
        try { did = lastRun(); } catch { /* it was killed */ }
        wrong.push(`(${did.failed}) ${e.message.split('\n').slice(0, 6).join(' ')}`);
      }
      by[did.failed] = (by[did.failed] ?? 0) + 1;
    }
    note(`${undisturbed.calls} calls; failed: ${JSON.stringify(by)}; ${started} services started, ${right} requests answered`);
    assert.equal(wrong.length, 0, `${wrong.length} wrong:\n${wrong.slice(0, 40).join('\n')}`);
  }, 36000);
}
await done();
