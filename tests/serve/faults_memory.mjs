// faults_memory.mjs - running out of memory for a while, and giving memory back
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { classifyBytes, dir, metric, metrics, modelA, note, predict, request, root, scaled, Server, skip, slow, test, texts, until } from './lib.mjs';
import { load, settled, sum } from './load.mjs';

const library = path.resolve(root, process.env.RF_FAIL_MALLOC ?? 'build/tests/libfail_malloc.so');
const trouble = new Set(['out_of_memory', 'internal']);

// Every N-th allocation of the workers fails while the file is there.
async function starved(every) {
  const file = path.join(dir, `fail-${every}`), all = texts(60, 61), want = predict(modelA, all, '--explain', '3');
  fs.rmSync(file, { force: true });
  const s = await Server.start([modelA, '--workers', '2'], { env: { LD_PRELOAD: library, RF_FAIL_FILE: file, RF_FAIL_EVERY: String(every) } });
  const counts = { right: 0, refused: 0, codes: {} };
  const error = e => {
    assert.ok(trouble.has(e.error.code) && e.error.message && e.error.pointer !== undefined, JSON.stringify(e));
    assert.deepEqual(Object.keys(e.error).sort(), ['code', 'message', 'pointer']);
    counts.refused++;
    counts.codes[e.error.code] = (counts.codes[e.error.code] ?? 0) + 1;
  };
  const each = (a, i) => { if (a.error) error(a); else { assert.deepEqual(a, want[i]); counts.right++; } };
  const check = (a, read) => {
    if (a.status === 200) return read(a);
    assert.ok([500, 503].includes(a.status), a.text);
    assert.equal(a.status, a.json.error.code === 'internal' ? 500 : 503);
    error(a.json);
  };
  let n = 0;
  const next = who => {
    const i = n++ % 60;
    if (who === 0) return { body: { text: all[i], explain: 3 }, right: a => check(a, x => each(x.json, i)) };
    if (who === 1) return { body: { texts: all, explain: 3 }, right: a => check(a, x => x.json.answers.forEach(each)) };
    return { body: { texts: all, explain: 3 }, headers: { Accept: 'application/x-ndjson' }, right: a => check(a, x => { assert.equal(x.lines.length, 60); x.lines.forEach(each); }) };
  };
  const calm = async () => {
    const before = { ...counts, refused: 0 };
    counts.refused = 0;
    const clients = load(3, s.port, next);
    await until(() => sum(clients).answered >= 30 || sum(clients).answered, 'answers, wanted 30');
    await settled(clients);
    assert.equal(counts.refused, 0, `refused without a reason: ${JSON.stringify(counts.codes)}`);
    counts.refused = before.refused;
  };
  await calm();
  const level = { fds: s.fds(), threads: s.threads(), rss: s.rss() };
  counts.codes = {};
  fs.writeFileSync(file, '');
  const clients = load(3, s.port, next);
  await until(() => (sum(clients).answered >= 100 && Object.keys(counts.codes).length > 0) || `${sum(clients).answered}, refused ${JSON.stringify(counts.codes)}`, 'answers, wanted 100 and a refusal');
  await settled(clients);
  const refusedThen = Object.values(counts.codes).reduce((a, b) => a + b, 0);
  fs.rmSync(file);
  note(`one in ${every} allocations of the workers fails: ${refusedThen} refused ${JSON.stringify(counts.codes)}, all the others right`);
  assert.ok(s.alive());
  await calm();
  await until(() => s.fds() <= level.fds || s.fds(), `open files, wanted ${level.fds}`);
  assert.equal(s.threads(), level.threads);
  await until(() => s.rss() < level.rss + 16 || s.rss(), `RSS in MiB, wanted ${level.rss} + 16`);
  await until(async () => metric(await metrics(s), 'ringfence_queue_texts') === 0 || 'not empty', 'the queue');
  await s.stop();
}

export async function run() {
  for (const every of [1, 2, 7, 50]) {
    const name = `memory: ${every === 1 ? 'all' : 'one in ' + every} of the workers' allocations fail for a while: answers are right or refused, then right again`;
    if (slow) skip(name, 'a sanitizer has its own malloc');
    else if (!fs.existsSync(library)) skip(name, `there is no ${library}`);
    else await test(name, () => starved(every));
  }

  await test('memory: after a storm of all kinds of requests it is back where it was', async () => {
    const s = await Server.start([modelA, '--max-body', '1M', '--deadline', '300', '--receive-timeout', '15', '--idle-timeout', '300']), files = s.fds();
    const all = texts(200, 71), want = predict(modelA, all).map(x => JSON.stringify(x)), many = texts(slow ? 300 : 1000, 72);
    const brokenOnes = ['{', '{"text": 1}', '{"texts": [1]}', '[' .repeat(5000), '{"text": "' + 'x'.repeat(70000) + '"}', JSON.stringify({ texts: Array(3000).fill('x') }), '\ud800'];
    const storm = async (small, big, broken) => {
      let left = small;
      await settledAll(load(8, s.port, () => {
        if (left-- <= 0) return null;
        const i = left % 200;
        return { body: { text: all[i] }, right: a => assert.equal(JSON.stringify(a.json), want[i]) };
      }));
      left = big;
      await settledAll(load(4, s.port, who => left-- > 0 ? { body: { texts: many, explain: who % 2 ? 20 : 1, margins: 1000 }, headers: who > 1 ? { Accept: 'application/x-ndjson' } : {}, right: a => assert.equal((a.lines ?? a.json.answers).length, many.length) } : null));
      left = broken;
      await settledAll(load(4, s.port, () => left-- > 0 ? { body: brokenOnes[left % brokenOnes.length], right: a => assert.ok(a.status >= 400 && a.status < 500, String(a.status)) } : null));
      for (let i = 0; i < broken; i++) { // clients that disconnect halfway
        const c = await s.raw(), b = classifyBytes({ texts: many.slice(0, 50) });
        c.send(b.subarray(0, Math.floor((i + 1) / broken * b.length)));
        i % 2 ? c.drop() : c.reset();
      }
      for (const t of ['/', '/openapi.json', '/v1/model', '/metrics', '/nope', '/healthz']) for (let i = 0; i < 20; i++) await s.ask('GET', t);
      for (let i = 0; i < 20; i++) { const c = await s.raw(); c.send(request('GET', '/healthz')); c.drop(); }
    };
    const settledAll = async clients => { await Promise.all(clients.map(c => c.done)); return settled(clients); };
    await storm(scaled(1000), scaled(20), scaled(50)); // warm
    const level = { rss: s.rss(), threads: s.threads() };
    const names = s.threadNames().sort().join();
    await until(() => s.fds() === files || s.fds(), `open files, wanted ${files}`);
    await storm(scaled(20000), scaled(200), scaled(500));
    await until(() => s.fds() === files || s.fds(), `open files, wanted ${files}`);
    // A sanitizer holds freed memory for a while, and so does malloc, for seconds.
    const most = level.rss + (slow ? 400 : 16);
    await until(() => s.rss() < most || s.rss(), `RSS in MiB, wanted ${most}`);
    const after = s.rss();
    note(`RSS ${level.rss.toFixed(1)} MiB after the warm-up, ${after.toFixed(1)} after ${scaled(20000)} small, ${scaled(200)} big and ${scaled(1000)} broken requests`);
    assert.equal(s.threads(), level.threads);
    assert.equal(s.threadNames().sort().join(), names);
    const m = await metrics(s);
    assert.equal(metric(m, 'ringfence_queue_texts'), 0);
    assert.ok(metric(m, 'ringfence_requests_active') <= 1);
    await s.stop();
  }, 400);
}
