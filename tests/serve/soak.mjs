// soak.mjs DIR - everything that clients do, all at once, for SOAK_MINUTES (10). All answers must
// be right, and memory, open files and threads stay level. Prints a line every 30 seconds, then a
// verdict; the exit code follows.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { classifyBytes, dir, metric, metrics, modelA, modelB, patience, predict, readMetrics, request, Server, sleep, texts } from './lib.mjs';
import { load, sum } from './load.mjs';

const minutes = Number(process.env.SOAK_MINUTES ?? 10), step = Math.min(30, minutes * 60 / 4);
if (!(minutes > 0)) throw new Error(`SOAK_MINUTES=${process.env.SOAK_MINUTES}: wanted a number above 0`);

// ---- Requests, and the right answers --------------------------------------------------

const token = 'soak-token-0123456789', auth = { Authorization: `Bearer ${token}` };
const served = path.join(dir, 'soak.rf'), tokenFile = path.join(dir, 'soak-token');
const all = texts(300, 81), models = [modelA, modelB].map(m => fs.readFileSync(m));
const want = [modelA, modelB].map(m => predict(m, all).map(x => JSON.stringify(x)));
const explained = predict(modelA, all, '--explain', '3').map(x => JSON.stringify(x));

let n = 0, reloads = 0, tokenless = 0;
const one = (x, i) => assert.ok(want.some(w => w[i] === JSON.stringify(x)), `an answer of neither model: ${JSON.stringify(x).slice(0, 200)}`);
const status = s => a => assert.equal(a.status, s, a.text.slice(0, 200));
const lists = (from, length) => ({ texts: all.slice(from, from + length) });
const asks = {
  single: () => { const i = n++ % 300; return { body: { text: all[i] }, headers: auth, right: a => { status(200)(a); one(a.json, i); } }; },
  list: () => { const from = n++ % 200, length = 1 + n % 100; return { body: lists(from, length), headers: auth, right: a => { status(200)(a); assert.equal(a.json.answers.length, length); a.json.answers.forEach((x, i) => one(x, from + i)); } }; },
  stream: () => { const from = n++ % 200; return { body: lists(from, 100), headers: { ...auth, Accept: 'application/x-ndjson' }, right: a => { status(200)(a); assert.equal(a.lines.length, 100); a.lines.forEach((x, i) => one(x, from + i)); } }; },
  plain: () => { const from = n++ % 250; return { bytes: request('POST', '/v1/classify?top_k=5', { 'Content-Type': 'text/plain', ...auth }, all.slice(from, from + 50).join('\n')), right: a => { status(200)(a); a.json.answers.forEach((x, i) => one(x, from + i)); } }; },
  explain: () => { const i = n++ % 300; return { body: { text: all[i], explain: 3 }, headers: auth, right: a => { if (a.status === 422) assert.equal(a.json.error.code, 'no_examples'); else assert.equal(JSON.stringify(a.json), explained[i]); } }; },
  broken: () => {
    const [body, s] = [['{', 400], ['{"text": 3}', 400], ['{"texts": ["a", 3]}', 400], ['['.repeat(20000), 400], [JSON.stringify({ text: 'x'.repeat(70000) }), 413], ['{"text": "x", "top_k": -1}', 400]][n++ % 6];
    return { body, headers: auth, right: a => { status(s)(a); assert.ok(a.json.error.code); } };
  },
  stranger: () => { tokenless++; return { body: { text: 'x' }, right: status(401) }; },
  pages: () => {
    const [target, type] = [['/', 'text/html'], ['/openapi.json', 'application/json'], ['/healthz', 'application/json'], ['/readyz', 'application/json'], ['/v1/model', 'application/json']][n++ % 5];
    return { bytes: request('GET', target, auth), right: a => { status(200)(a); assert.equal(a.type, type); } };
  },
  metrics: () => ({ bytes: request('GET', '/metrics', auth), right: a => { status(200)(a); readMetrics(a.text); } }),
};

// ---- Other clients --------------------------------------------------------------------

let over = false;
const wrong = [];
const during = async f => { while (!over) try { await f(); } catch (e) { wrong.push(e.message.slice(0, 300)); await sleep(200); } };

const dawdle = server => async () => { // slow headers, a slow body, one that disconnects
  const c = await server.raw(), bytes = classifyBytes(lists(0, 20), auth), kind = n++ % 4;
  for (let i = 0; i < bytes.length && !over && !c.end; i += kind === 0 ? 5 : 400) { c.send(bytes.subarray(i, i + (kind === 0 ? 5 : 400))); await sleep(kind === 0 ? 150 : 40); }
  if (kind === 1 && !over) assert.equal((await c.answer()).status, 200);
  if (kind === 2) c.pause(), await sleep(500);
  kind === 3 ? c.reset() : c.drop();
};
const renew = server => async () => {
  await sleep(1500);
  fs.writeFileSync(served + '.new', n % 7 === 0 ? 'not a model' : models[reloads++ % 2]);
  const good = n % 7 !== 0;
  fs.renameSync(served + '.new', served);
  if (n++ % 2 && good) server.signal('SIGHUP');
  else {
    const a = await server.ask('POST', '/v1/reload', { headers: auth });
    assert.equal(a.status, good ? 200 : 422, a.text);
  }
};

// ---- The run --------------------------------------------------------------------------

fs.writeFileSync(tokenFile, token + '\n');
fs.writeFileSync(served, models[0]);
const server = await Server.start([served, '--token-file', tokenFile, '--receive-timeout', '3', '--idle-timeout', '5', '--send-timeout', '5']);
const kinds = ['single', 'single', 'single', 'list', 'stream', 'plain', 'explain', 'broken', 'stranger', 'pages', 'metrics'];
const clients = load(kinds.length, server.port, i => asks[kinds[i]]());
clients.forEach(c => { c.again = true; });
const others = [during(dawdle(server)), during(dawdle(server)), during(renew(server))];

const quantile = (sorted, q) => sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : 0;
const levels = [], begin = Date.now();
console.log('seconds  requests  errors    p50 ms    p99 ms   RSS MiB  files  threads');
const steps = Math.round(minutes * 60 / step);
for (let i = 1; i <= steps && server.alive(); i++) {
  await sleep(begin + i * step * 1000 - Date.now());
  if (!server.alive()) break;
  const times = clients.flatMap(c => c.times.splice(0)).sort((a, b) => a - b), bad = clients.reduce((k, c) => k + c.wrong.length, wrong.length);
  const level = { rss: server.rss(), fds: server.fds(), threads: server.threads() };
  levels.push(level);
  const cells = [Math.round((Date.now() - begin) / 1000), times.length, bad, quantile(times, 0.5).toFixed(2), quantile(times, 0.99).toFixed(2), level.rss.toFixed(1), level.fds, level.threads];
  console.log(cells.map((c, j) => String(c).padStart([7, 10, 8, 10, 10, 10, 7, 9][j])).join(''));
}
over = true;
await Promise.all([...clients.map(c => c.stop()), ...others]);

// ---- The verdict ----------------------------------------------------------------------

const complaints = [], all_ = sum(clients);
const must = (ok, words) => { if (!ok) complaints.push(words); };
const everything = [...clients.flatMap((c, i) => c.wrong.map(w => `${kinds[i]}: ${w}`)), ...wrong];
must(everything.length === 0, `${everything.length} wrong or lost, the first: ${everything.slice(0, 5).join(' | ')}`);
must(all_.answered > 100, 'too few answers to prove anything');
must(server.alive(), `the server ended: ${server.log.slice(-1000)}`);
if (server.alive()) {
  // Memory: the median of the last quarter against that of the second; the first is warming up.
  const median = a => a.map(l => l.rss).sort((x, y) => x - y)[Math.floor(a.length / 2)], q = Math.max(1, Math.floor(levels.length / 4));
  const early = median(levels.slice(q, 2 * q)), late = median(levels.slice(-q));
  must(late < early + 8 * patience, `memory grew from ${early.toFixed(1)} to ${late.toFixed(1)} MiB`);
  must(new Set(levels.map(l => l.threads)).size === 1, `threads: ${levels.map(l => l.threads).join()}`);
  for (let i = 0; i < 100 && metric(await metrics(server, { headers: auth }), 'ringfence_connections') > 1; i++) await sleep(100);
  const m = await metrics(server, { headers: auth });
  must(metric(m, 'ringfence_connections') <= 1, `${metric(m, 'ringfence_connections')} connections left`);
  must(metric(m, 'ringfence_queue_texts') === 0, 'texts left in the queue');
  must(server.fds() <= levels[0].fds, `open files: ${levels[0].fds} under load, ${server.fds()} after it`);
  console.log(`${all_.answered} answers ${JSON.stringify(all_.by)}, ${reloads} new models, RSS ${early.toFixed(1)} -> ${late.toFixed(1)} MiB, ${server.fds()} files open after it`);
  await server.stop().catch(e => complaints.push(e.message));
}
complaints.forEach(c => console.log('WRONG: ' + c));
console.log(complaints.length ? 'soak: failed' : `soak: ${minutes} minutes, nothing wrong`);
process.exit(complaints.length ? 1 : 0);
