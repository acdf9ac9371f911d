// review.mjs DIR - reviewing, labelling and learning over HTTP: open texts of a store become a class
// of the model in service, and go again. Models in DIR. Prints TAP.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { attempts, bearer, done, modelA, modelB, note, predict, refused, root, scratch, Server, test, together, until, write } from './lib.mjs';
import { check, resolve } from './schema.mjs';
import { newStore, sha256, sql, stored, value } from './store_lib.mjs';

const token = 'review-token-0123456789', tokenFile = write('review-tokens', `first-token-0123456789\n${token}\n`);
let copies = 0;
// A model of its own: updates replace it.
function copyModel() {
  const file = scratch(`review-${process.pid}-${++copies}.rf`);
  for (const end of ['', '.2', '.3', '.4', '.5']) fs.rmSync(`${file}.before${end}`, { force: true, recursive: true });
  fs.copyFileSync(modelA, file);
  return file;
}
const own = s => ({ Origin: `http://127.0.0.1:${s.port}`, Host: `127.0.0.1:${s.port}` }); // what a browser sends for our page

// Two topics that the model does not know, in words that its encoder does.
let state = 5;
const draw = n => (state = (state * 1103515245 + 12345) % 2147483648, Math.floor(state / 65536) % n);
const topic = (words, n) => [...new Set(Array.from({ length: 4 * n }, () => Array.from({ length: 5 }, () => words[draw(words.length)]).join(' ')))].slice(0, n);
const candidates = [...topic(['9', '8', '7', '6', '5', '3', '2'], 60), ...topic(['!', '?', '(', ')', ';', ':'], 60)];
const answers = predict(modelA, candidates);
const open = candidates.filter((_, i) => answers[i].open), digits = open.filter(t => /^\d/.test(t)), marks = open.filter(t => !/^\d/.test(t));

// Checks an answer against /openapi.json.
const doc = JSON.parse(fs.readFileSync(path.join(root, 'serve/openapi.json'), 'utf8'));
function described(a, method, target) {
  const r = resolve(doc, doc.paths[target.split('?')[0]][method].responses[a.status]);
  assert.ok(r, `${method} ${target}: ${a.status} is not described: ${a.text}`);
  assert.deepEqual(check(doc, r.content['application/json'].schema, a.json), [], `${method} ${target}`);
  if (a.status >= 400) assert.ok(a.json.error.code in r.content['application/json'].examples, `${target}: ${a.json.error.code}`);
  return a;
}

async function start(model, file, ...options) {
  return Server.start([model, '--store', file, '--store-sample', '0', ...options]);
}
// A service whose store has all open texts.
async function filled(...options) {
  const file = newStore(), model = copyModel(), s = await start(model, file, ...options);
  assert.equal((await s.classify({ texts: open }, { headers: options.length ? bearer(token) : {} })).status, 200);
  if (!options.length) await stored(s, open.length);
  else await until(() => value(file, 'SELECT count(*) FROM texts') === open.length || 'not yet', 'rows');
  return { file, model, s };
}
async function review(s, refresh = true) {
  let a = described(await s.ask('GET', '/v1/review' + (refresh ? '?refresh=true' : '')), 'get', '/v1/review');
  await until(async () => {
    if (a.status === 200) return true;
    assert.equal(a.status, 202, a.text);
    assert.equal(a.json.state, 'working');
    assert.equal(typeof a.json.progress, 'string');
    a = described(await s.ask('GET', '/v1/review'), 'get', '/v1/review');
    return a.status === 200 || a.text;
  }, 'a review');
  return a.json;
}
const post = (s, target, json, headers = own(s)) => s.ask('POST', target, { json, headers }).then(a => described(a, 'post', target));
async function finished(s) {
  let last;
  await until(async () => { last = described(await s.ask('GET', '/v1/update'), 'get', '/v1/update').json; return last.state !== 'working' || last.progress; }, 'the end of the task');
  return last;
}
async function run(s, target, json) {
  const a = await post(s, target, json);
  assert.equal(a.status, 202, a.text);
  return finished(s);
}
const ids = file => Object.fromEntries(sql(file, 'SELECT id, text FROM texts').map(r => [r.text, r.id]));
const label = (file, texts, name) => { const at = ids(file); return { rows: texts.map(t => ({ id: at[t], label: name })) }; };
const labels = async s => described(await s.ask('GET', '/v1/labels'), 'get', '/v1/labels').json;
const hash = file => sha256(fs.readFileSync(file)).toString('hex');
const answersOf = async (s, texts) => (await s.classify({ texts, top_k: 0, store: false })).json.answers.map(a => a.label);

assert.ok(digits.length > 25 && marks.length > 25, `${digits.length} and ${marks.length} open texts`);

await together([
  ['review: open texts become a class and go again', async () => {
    const { file, model, s } = await filled();
    // every open text is in the review once, with its row
    const r = await review(s), at = ids(file), grouped = r.groups.flatMap(g => g.texts), all = [...grouped, ...r.probably_known];
    assert.equal(r.rows, open.length);
    assert.equal(r.rejected, open.length);
    assert.equal(all.length + r.alone, open.length);
    assert.ok(r.groups.length >= 1, JSON.stringify(r).slice(0, 500));
    for (const t of all) { assert.equal(at[t.text], t.id); assert.ok(t.ids.includes(t.id) && t.ids.length === t.count); assert.ok(t.margin < 0); }
    for (const g of r.groups) { assert.equal(g.texts.length, g.size); assert.ok(g.cohesion > 0 && g.cohesion <= 1 && g.name && g.nearest); }
    assert.deepEqual(await review(s), r); // nothing has changed
    // label; what is judged leaves the review
    assert.deepEqual(await labels(s), { labels: [], more: false });
    const some = digits.slice(0, 20), rest = digits.slice(20);
    const given = await post(s, '/v1/labels', { ...label(file, some, 'numbers'), not_relevant: [at[marks[0]]] });
    assert.deepEqual([given.status, given.json], [200, { labels: 20, not_relevant: 1, withdrawn: 0, texts: 0, ids: [] }], given.text);
    assert.deepEqual(sql(file, 'SELECT DISTINCT who FROM labels').map(x => x.who), ['page']);
    assert.equal(value(file, "SELECT count(*) FROM changes WHERE what LIKE 'row %: label \"numbers\"' AND who = 'page'"), 20);
    assert.equal(value(file, "SELECT count(*) FROM changes WHERE what LIKE 'row %: not relevant'"), 1);
    const waiting = (await labels(s)).labels;
    assert.deepEqual(waiting.map(x => [x.text, x.label, x.who]).sort(), some.map(t => [t, 'numbers', 'page']).sort());
    assert.equal((await review(s)).rows, open.length - 21);
    // a preview changes nothing
    const before = hash(model), p = await run(s, '/v1/update', { preview: true });
    assert.deepEqual([p.state, p.task, p.error, p.undo], ['done', 'preview', null, 0]);
    assert.deepEqual(p.report.added, ['numbers']);
    assert.equal(p.report.rows_added, 20);
    assert.equal(hash(model), before);
    assert.equal((await labels(s)).labels.length, 20);
    assert.equal((await s.ask('GET', '/v1/model')).json.server.generation, 1);
    // the update; requests go on meanwhile, and none is lost
    let going = true, asked = 0;
    const traffic = (async () => { for (; going; asked++) assert.equal((await s.classify({ texts: rest.slice(0, 3), store: false })).status, 200); })();
    const u = await run(s, '/v1/update', { preview: false });
    going = false;
    await traffic;
    assert.ok(asked > 0);
    assert.deepEqual([u.state, u.task, u.error, u.undo], ['done', 'update', null, 1], JSON.stringify(u));
    const strip = ({ seconds, ...other }) => other;
    assert.deepEqual(strip(u.report), strip(p.report)); // what the preview said
    const about = (await s.ask('GET', '/v1/model')).json;
    assert.equal(about.server.generation, 2);
    assert.ok(about.model.labels.includes('numbers'));
    assert.deepEqual(await answersOf(s, open), predict(model, open).map(a => a.label)); // the file is what is served
    assert.ok((await answersOf(s, some)).filter(x => x === 'numbers').length > 10);
    assert.equal(hash(model + '.before'), before);
    assert.deepEqual(await labels(s), { labels: [], more: false });
    assert.equal(value(file, `SELECT count(*) FROM changes WHERE what LIKE 'update: learnt 20 labels, model ${hash(model)}'`), 1);
    assert.match(s.log, /update: learnt 20 labels, model [0-9a-f]{64}, by page/);
    const after = await review(s, false); // of the new model, without being asked for
    assert.ok(after.rejected <= open.length - 21, after.rejected);
    // and back
    const back = await run(s, '/v1/undo', undefined);
    assert.deepEqual([back.state, back.task, back.undo], ['done', 'undo', 0], JSON.stringify(back));
    assert.equal(hash(model), before);
    assert.ok(!fs.existsSync(model + '.before'));
    assert.deepEqual(await answersOf(s, open), predict(modelA, open).map(a => a.label));
    assert.equal((await labels(s)).labels.length, 20); // to be learnt again, if anybody wants to
    refused(await post(s, '/v1/undo'), 409, 'nothing_to_undo');
    await s.stop();
  }],
  ['review: who may write', async () => {
    const { file, s } = await filled(), at = ids(file), body = { not_relevant: [at[open[0]]] };
    const targets = [['/v1/labels', body], ['/v1/update', { preview: true }], ['/v1/fence', { offset: 1 }], ['/v1/undo', undefined]];
    for (const [target, json] of targets) {
      refused(await post(s, target, json, {}), 403, 'forbidden'); // no page
      refused(await post(s, target, json, { ...own(s), Origin: 'http://evil.example' }), 403, 'forbidden');
      refused(await post(s, target, json, { Host: 'evil.example', Origin: 'http://evil.example' }), 403, 'forbidden');
      refused(await post(s, target, json, { ...own(s), Origin: 'null' }), 403, 'forbidden');
    }
    await s.stop();
    // another page may read, if it is allowed to, and not write
    const shared = await start(copyModel(), newStore(), '--allow-origin', '*');
    for (const [target, json] of targets) refused(await post(shared, target, json, { ...own(shared), Origin: 'http://other.example' }), 403, 'forbidden');
    assert.equal((await shared.ask('GET', '/v1/update', { headers: { ...own(shared), Origin: 'http://other.example' } })).status, 200);
    await shared.stop();
    const bare = await start(copyModel(), newStore(), '--insecure');
    refused(await post(bare, '/v1/update', {}), 403, 'forbidden');
    await bare.stop();
    assert.equal(value(file, 'SELECT count(*) FROM labels'), 0);
    // with tokens, all need one, and it is the n-th one that is noted
    const t = await filled('--token-file', tokenFile), it = ids(t.file)[open[0]];
    refused(await post(t.s, '/v1/labels', { not_relevant: [it] }), 401, 'unauthorized');
    const given = await post(t.s, '/v1/labels', { not_relevant: [it] }, bearer(token));
    assert.equal(given.status, 200, given.text);
    assert.deepEqual(sql(t.file, 'SELECT who FROM labels').map(x => x.who), ['token 2']);
    await t.s.stop();
  }],
  ['review: what is wrong with a request is said, and nothing is written', async () => {
    const { file, s } = await filled(), id = ids(file)[open[0]], good = { id, label: 'numbers' };
    const bad = [
      ['{', 400, 'bad_json', ''], ['[]', 400, 'bad_request', ''], ['{}', 400, 'bad_request', ''], ['', 400, 'bad_json', ''],
      [{ rows: {} }, 400, 'bad_request', '/rows'], [{ rows: [good], who: 'me' }, 400, 'bad_request', ''],
      [{ rows: [good, { id }] }, 400, 'bad_request', '/rows/1/label'], [{ rows: [{ id: '1', label: 'a' }] }, 400, 'bad_request', '/rows/0/id'],
      [{ rows: [{ id: 0, label: 'a' }] }, 400, 'bad_request', '/rows/0/id'], [{ not_relevant: [1.5] }, 400, 'bad_request', '/not_relevant/0'],
      [{ rows: [{ ...good, label: '' }] }, 422, 'bad_label', '/rows/0/label'], [{ rows: [{ ...good, label: 'x'.repeat(2000) }] }, 422, 'bad_label', '/rows/0/label'],
      [{ rows: [{ ...good, label: 'a\u0000b' }] }, 422, 'bad_label', '/rows/0/label'], [{ rows: [{ ...good, label: ' open ' }] }, 422, 'bad_label', '/rows/0/label'],
      [{ rows: [good, { id: 1e9, label: 'a' }] }, 422, 'no_row', '/rows/1/id'], [{ rows: [good], not_relevant: [1e9] }, 422, 'no_row', '/not_relevant/0'],
      [{ withdraw: [id] }, 422, 'nothing_to_withdraw', '/withdraw/0'], [{ rows: [good], withdraw: [1e9] }, 422, 'nothing_to_withdraw', '/withdraw/0'], [{ withdraw: ['1'] }, 400, 'bad_request', '/withdraw/0'],
      [{ texts: ['x'] }, 400, 'bad_request', '/texts/0'], [{ texts: [{ text: 'x' }] }, 400, 'bad_request', '/texts/0/label'], [{ texts: [{ text: 1, label: 'a' }] }, 400, 'bad_request', '/texts/0/text'],
      [{ texts: [{ text: 'x', label: 'open' }] }, 422, 'bad_label', '/texts/0/label'], [{ texts: [{ text: 'x'.repeat(70000), label: 'a' }] }, 413, 'text_too_long', '/texts/0/text'],
      [{ texts: Array(101).fill({ text: 'x', label: 'a' }) }, 413, 'too_many_texts', '/texts'],
      [{ not_relevant: Array(10001).fill(id) }, 413, 'too_many_texts', ''], ['['.repeat(1000), 400, 'bad_json', '']];
    for (const [body, status, code, pointer] of bad)
      refused(await s.ask('POST', '/v1/labels', { body: typeof body === 'string' ? body : JSON.stringify(body), type: 'application/json', headers: own(s) }), status, code, pointer);
    assert.equal(value(file, 'SELECT (SELECT count(*) FROM labels) + (SELECT count(*) FROM changes)'), 0);
    refused(await post(s, '/v1/update', { preview: 1 }), 400, 'bad_request', '/preview');
    refused(await post(s, '/v1/update', { dry: true }), 400, 'bad_request', '');
    for (const [json, at] of [[{}, '/offset'], [{ offset: '1' }, '/offset'], [{ offset: 1e7 }, '/offset'], [{ offset: 1, generation: 0 }, '/generation'], [{ offset: 1, generation: 'x' }, '/generation'], [{ by: 1 }, '']])
      refused(await post(s, '/v1/fence', json), 400, 'bad_request', at);
    refused(await s.ask('GET', '/v1/review?refresh=1'), 400, 'bad_request', '/refresh');
    const none = await run(s, '/v1/update', {}); // nothing to learn
    assert.deepEqual([none.state, none.undo], ['failed', 0]);
    assert.match(none.error, /found no label that is not learnt yet/);
    await s.stop();
    const hashes = await Server.start([modelA, '--store', newStore(), '--store-hash']), nothing = await Server.start([modelA]);
    for (const [method, target] of [['GET', '/v1/review'], ['GET', '/v1/labels'], ['POST', '/v1/labels'], ['POST', '/v1/update']]) {
      refused(await hashes.ask(method, target, { headers: own(hashes) }), 422, 'no_texts');
      refused(await nothing.ask(method, target, { headers: own(nothing) }), 404, 'no_store');
    }
    await hashes.stop();
    await nothing.stop();
  }],
  ['review: labels for texts, whether they were kept or not, and labels that are withdrawn', async () => {
    const { file, model, s } = await filled(), known = 'where is my parcel', before = value(file, 'SELECT count(*) FROM texts');
    await s.classify({ texts: [open[0]] }); // a copy
    await until(() => value(file, 'SELECT count(*) FROM texts') === before + 1 || 'not yet', 'the copy');
    const want = predict(model, [known])[0];
    const given = await post(s, '/v1/labels', { texts: [{ text: open[0], label: 'numbers' }, { text: known, label: 'parcels' }, { text: 'the moon', label: null }] });
    assert.equal(given.status, 200, given.text);
    const rows = sql(file, 'SELECT t.id, t.text, t.label, margin, confidence, nearest, l.label AS given, l.who FROM texts t JOIN labels l ON l.text = t.id ORDER BY t.id');
    assert.deepEqual(rows.map(r => [r.text, r.given, r.who]), [[open[0], 'numbers', 'page'], [open[0], 'numbers', 'page'], [known, 'parcels', 'page'], ['the moon', null, 'page']]);
    assert.deepEqual(given.json, { labels: 0, not_relevant: 0, withdrawn: 0, texts: 3, ids: rows.map(r => r.id) });
    const added = rows[2]; // with the answer of the model
    assert.equal(added.label ?? 'open', want.label);
    assert.ok(Math.abs(added.margin - want.margin) < 1e-5 && Math.abs(added.confidence - want.confidence) < 1e-6 && added.nearest === want.ranking[0].label);
    // again, with another label: no more rows, and the last label counts
    assert.equal((await post(s, '/v1/labels', { texts: [{ text: known, label: 'moved' }] })).status, 200);
    assert.equal(value(file, 'SELECT count(*) FROM texts'), before + 3);
    assert.deepEqual((await labels(s)).labels.map(l => l.label).sort(), ['moved', 'numbers', 'numbers']);
    // withdrawn: as if nobody had said anything, and the change is logged
    const back = await post(s, '/v1/labels', { withdraw: rows.map(r => r.id) });
    assert.deepEqual([back.status, back.json.withdrawn], [200, 4], back.text);
    assert.deepEqual(await labels(s), { labels: [], more: false });
    assert.equal(value(file, "SELECT count(*) FROM changes WHERE what LIKE 'row %: label withdrawn' AND who = 'page'"), 4);
    await until(() => s.log.includes('0 rows labelled, 0 not relevant, 4 withdrawn, 0 texts labelled, by page') || s.log, 'the log');
    assert.ok((await review(s)).rows >= open.length); // to be judged again
    // what is learnt stays, until it is undone
    await post(s, '/v1/labels', label(file, digits, 'numbers'));
    assert.equal((await run(s, '/v1/update', {})).state, 'done');
    const id = ids(file)[digits[1]];
    refused(await post(s, '/v1/labels', { withdraw: [id] }), 422, 'nothing_to_withdraw', '/withdraw/0');
    assert.equal((await run(s, '/v1/undo')).state, 'done');
    assert.equal((await post(s, '/v1/labels', { withdraw: [id] })).status, 200);
    await s.stop();
  }],
  ['review: the fence is moved, and moved back step by step, without a store', async () => {
    const model = copyModel(), s = await Server.start([model]), texts = [...open.slice(0, 20), 'where is my parcel', 'the chain fell off'];
    const hashes = [hash(model)], before = predict(model, texts);
    assert.deepEqual((await s.ask('GET', '/v1/update')).json, { state: 'idle', task: null, undo: 0, progress: '', error: null, report: null });
    refused(await post(s, '/v1/undo'), 409, 'nothing_to_undo');
    for (let i = 1; i <= 6; i++) { // one more than are kept
      const moved = await run(s, '/v1/fence', { offset: 0.5, generation: i });
      assert.deepEqual([moved.state, moved.task, moved.error, moved.undo], ['done', 'fence', null, Math.min(i, 5)]);
      hashes.push(hash(model));
      await until(() => s.log.includes(`fence: +0.5 added to every margin, model ${hashes.at(-1)}, by page`) || s.log, 'the log');
    }
    const now = (await s.classify({ texts, top_k: 0 })).json.answers;
    now.forEach((a, i) => assert.ok(Math.abs(a.margin - before[i].margin - 3) < 1e-4, `${a.margin} after ${before[i].margin}`));
    const about = (await s.ask('GET', '/v1/model')).json.model;
    assert.equal(about.summary.fence.offset, 0.5);
    assert.equal(about.summary.expected, undefined);
    assert.deepEqual((await answersOf(s, texts)), predict(modelA, texts, '--fence', '3').map(a => a.label));
    // of another generation: refused, and nothing is left
    const late = await run(s, '/v1/fence', { offset: 9, generation: 2 });
    assert.deepEqual([late.state, late.undo], ['failed', 5]);
    assert.match(late.error, /found generation 7 of the model, wanted 2/);
    assert.equal(hash(model), hashes[6]);
    for (let i = 5; i >= 1; i--) {
      const back = await run(s, '/v1/undo');
      assert.deepEqual([back.state, back.undo], ['done', i - 1], back.error);
      assert.equal(hash(model), hashes[i]);
    }
    refused(await post(s, '/v1/undo'), 409, 'nothing_to_undo');
    await s.stop();
    assert.deepEqual(fs.readdirSync(path.dirname(model)).filter(f => f.startsWith(path.basename(model))), [path.basename(model)]);
  }],
  ['review: kill -9 while the fence moves, and what a crash can leave beside the model', async () => {
    const model = copyModel(), file = newStore();
    for (let round = 0; round < 3; round++) {
      const s = await start(model, file), was = hash(model), steps = (await s.ask('GET', '/v1/update')).json.undo;
      assert.equal((await post(s, '/v1/fence', { offset: -0.25 })).status, 202);
      if (round) await until(() => hash(model) !== was || 'not yet', 'the new model'); // else at any moment
      s.signal('SIGKILL');
      await s.ended;
      const again = await start(model, file), after = (await again.ask('GET', '/v1/update')).json.undo; // a whole model
      assert.equal(after, steps + (hash(model) !== was));
      if (after > steps) { assert.equal((await run(again, '/v1/undo')).state, 'done'); assert.equal(hash(model), was); }
      await again.stop();
    }
    // a gap, and a copy of the model in service that a change has left which came to nothing
    fs.copyFileSync(model, model + '.before');
    fs.copyFileSync(modelB, model + '.before.3');
    const s = await start(model, file);
    assert.equal((await s.ask('GET', '/v1/update')).json.undo, 1);
    assert.equal((await run(s, '/v1/fence', { offset: 1 })).undo, 2);
    assert.ok(fs.existsSync(model + '.before') && fs.existsSync(model + '.before.3') && !fs.existsSync(model + '.before.2'));
    assert.equal((await run(s, '/v1/undo')).undo, 1);
    assert.equal((await run(s, '/v1/undo')).undo, 0);
    assert.equal(hash(model), hash(modelB));
    assert.equal(value(file, "SELECT count(*) FROM changes WHERE what LIKE 'fence: %' OR what LIKE 'undo: %'") >= 3, true);
    await s.stop();
    // a file that is in the way: nothing changes
    for (const end of ['', '.2', '.3', '.4']) fs.writeFileSync(`${model}.before${end}`, 'x');
    fs.mkdirSync(model + '.before.5');
    const blocked = await start(model, file), put = hash(model), u = await run(blocked, '/v1/fence', { offset: 1 });
    assert.deepEqual([u.state, u.undo], ['failed', 5]);
    assert.match(u.error, /\.before\.4: cannot rename it to .*\.before\.5/);
    assert.equal(hash(model), put);
    const bad = await run(blocked, '/v1/undo'); // to no model at all
    assert.equal(bad.state, 'failed');
    assert.equal(hash(model), put);
    assert.equal((await blocked.classify({ text: 'x' })).status, 200);
    await blocked.stop();
  }],
  ['review: one update at a time, and a stop in its midst', async () => {
    const { file, model, s } = await filled(), before = hash(model);
    await post(s, '/v1/labels', label(file, digits, 'numbers'));
    const both = await Promise.all([post(s, '/v1/update', {}), post(s, '/v1/update', {})]);
    assert.deepEqual(both.map(a => a.status).sort(), [202, 409]);
    refused(both.find(a => a.status === 409), 409, 'busy');
    assert.equal((await finished(s)).state, 'done');
    assert.notEqual(hash(model), before);
    // SIGTERM: either all of it or nothing
    const first = hash(model);
    await post(s, '/v1/labels', label(file, marks, 'marks'));
    assert.equal((await post(s, '/v1/update', {})).status, 202);
    await s.stop();
    const names = predict(model, marks).map(a => a.label);
    assert.equal(hash(model) === first, !names.includes('marks'));
    assert.equal(fs.readdirSync(scratch('.')).filter(f => f.startsWith(model.split('/').pop()) && !/\.rf(\.before(\.\d)?)?$/.test(f)).length, 0);
  }],
  ['review: kill -9 during an update leaves a whole model, and labels are not lost', async () => {
    const { file, model, s } = await filled();
    await post(s, '/v1/labels', label(file, digits, 'numbers'));
    // Stopped in the midst of learning, so that nothing can happen between the look and the end.
    const before = hash(model);
    await attempts(20, async () => {
      assert.equal((await post(s, '/v1/update', {})).status, 202);
      await until(async () => { const u = (await s.ask('GET', '/v1/update')).json; return u.progress !== '' || u.state !== 'working' || 'no progress'; }, 'progress');
      s.signal('SIGSTOP');
      if (hash(model) === before) return true;
      s.signal('SIGCONT'); // too late: it has been written
      assert.equal((await finished(s)).state, 'done');
      assert.equal((await run(s, '/v1/undo')).state, 'done');
      return 'was written';
    }, 'an update that is going on');
    s.signal('SIGKILL');
    await s.ended;
    assert.equal(hash(model), before);
    const again = await start(model, file);
    assert.deepEqual(await answersOf(again, open), predict(modelA, open).map(a => a.label));
    assert.equal((await labels(again)).labels.length, digits.length);
    assert.equal((await run(again, '/v1/update', {})).state, 'done');
    assert.ok((await again.ask('GET', '/v1/model')).json.model.labels.includes('numbers'));
    await again.stop();
  }],
  ['review: a model file that somebody replaced is not overwritten', async () => {
    const { file, model, s } = await filled();
    await post(s, '/v1/labels', label(file, digits, 'numbers'));
    fs.appendFileSync(model, 'x');
    const put = hash(model), u = await run(s, '/v1/update', {});
    assert.equal(u.state, 'failed');
    assert.match(u.error, /found another model than the one in service/);
    assert.equal(hash(model), put);
    assert.deepEqual(await answersOf(s, open), predict(modelA, open).map(a => a.label));
    assert.equal((await labels(s)).labels.length, digits.length);
    await s.stop();
  }],
]);
note(`${open.length} open texts`);
await done();
