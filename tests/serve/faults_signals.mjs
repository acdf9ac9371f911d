// faults_signals.mjs - stopping: no request that was accepted is lost
import assert from 'node:assert/strict';
import { classifyBytes, enough, metric, metrics, modelA, note, predict, request, Server, slow, test, texts, until, within } from './lib.mjs';
import { load, settled, sum } from './load.mjs';

// Requests in two parts, the second of which is ours to send: until then they are in progress.
const ready = request('GET', '/readyz'), one = classifyBytes({ text: 'x' });
const firstPart = bytes => bytes.subarray(0, -2), lastPart = bytes => bytes.subarray(-2);

const short = texts(40, 51), long = texts(40, 52, 4000);

// A stop request under load: every request must be answered.
async function drained(signal) {
  const want = predict(modelA, short), wantLong = predict(modelA, long);
  const s = await Server.start([modelA, '--drain', '300', '--deadline', '300', '--receive-timeout', '300', '--access-log']);
  let n = 0;
  const clients = load(12, s.port, who => {
    const i = n++ % 40;
    if (who < 6) return { body: { text: short[i] }, right: a => { if (a.status !== 503) assert.deepEqual(a.json, want[i]); } };
    if (who < 9) return { body: { texts: long }, right: a => { if (a.status !== 503) assert.deepEqual(a.json.answers, wantLong); } };
    return { body: { texts: long }, headers: { Accept: 'application/x-ndjson' }, right: a => { if (a.status !== 503) assert.deepEqual(a.lines, wantLong); } };
  });
  const watcher = await s.raw(), busy = await s.raw(), body = classifyBytes({ texts: [...long, ...long, ...long] });
  for (const c of [watcher, busy]) { c.send(ready); assert.equal((await c.answer()).status, 200); }
  await until(() => sum(clients).answered > 60 || sum(clients).answered, 'answers, wanted 60');
  watcher.send(firstPart(ready));
  busy.send(firstPart(body));
  await until(async () => s.unread() === 0 || s.unread(), 'bytes not read');
  s.signal(signal);
  const told = Date.now();
  await s.stopping();
  watcher.send(lastPart(ready));
  const status = (await watcher.answer()).status;
  busy.send(lastPart(body));
  const last = await busy.answer();
  const end = await within(enough, s.ended, 'it does not end');
  const took = Date.now() - told, counts = await settled(clients);
  note(`${signal}: ended after ${took} ms; ${counts.sent} requests, ${counts.answered} answered ${JSON.stringify(counts.by)}, ${counts.early} on connections not yet taken`);
  assert.deepEqual(end, { code: 0, signal: null }, s.log.slice(-2000));
  assert.equal(status, 503, '/readyz while it drains');
  assert.equal(last.json.answers.length, 120);
  busy.drop();
  watcher.drop();
}

export async function run() {
  await test('SIGTERM under load: no request is lost, exit code 0', () => drained('SIGTERM'));
  await test('SIGINT does the same', () => drained('SIGINT'));

  await test('SIGTERM: while a stream is in progress, /readyz is 503 and new connections are refused', async () => {
    const s = await Server.start([modelA, '--workers', '1', '--threads', '1', '--max-body', '64M', '--deadline', '300', '--receive-timeout', '300', '--drain', '300']), all = texts(slow ? 120 : 500, 53, 16000);
    const [busy, watcher, other, last] = [await s.raw(), await s.raw(), await s.raw(), await s.raw()];
    for (const c of [busy, watcher, other, last]) { c.send(ready); assert.equal((await c.answer()).status, 200); }
    // They have begun to ask, too: idle connections are closed soon after the signal.
    watcher.send(firstPart(ready));
    other.send(firstPart(one));
    last.send(firstPart(ready));
    busy.send(classifyBytes({ texts: all }, { Accept: 'application/x-ndjson' }));
    await busy.some();
    s.signal('SIGTERM');
    await s.stopping();
    watcher.send(lastPart(ready));
    other.send(lastPart(one));
    const a = await watcher.answer(), b = await other.answer();
    assert.equal(a.status, 503, a.text);
    assert.equal(a.json.error.code, 'shutting_down');
    assert.ok(b.status === 200 || (b.status === 503 && b.json.error.code === 'shutting_down'), b.text);
    assert.ok(s.alive(), 'it did not wait for the last request');
    await assert.rejects(s.ask('GET', '/healthz', { timeout: 1000 }), 'a new connection was accepted');
    last.send(lastPart(ready));
    assert.equal((await last.answer()).status, 503);
    assert.deepEqual((await busy.answers(1, 2 * enough))[0].lines, predict(modelA, all));
    assert.deepEqual(await within(enough, s.ended, 'it does not end'), { code: 0, signal: null });
    [busy, watcher, other, last].forEach(c => c.drop());
  }, 300);

  await test('SIGTERM: slow clients do not keep it beyond --drain', async () => {
    const s = await Server.start([modelA, '--drain', '1', '--receive-timeout', '900', '--send-timeout', '900']), c = [await s.raw(), await s.raw(), await s.raw(), await s.raw()];
    c[0].send('POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Le');
    c[1].send('POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"te');
    c[2].pause().send(classifyBytes({ texts: texts(2000, 54), explain: 100 }));
    await until(async () => { const m = await metrics(s); return metric(m, 'ringfence_requests_active') > 2 || metric(m, 'ringfence_requests_active'); }, 'requests in progress'); // c[1], c[2], and this one
    const begin = Date.now();
    s.signal('SIGTERM');
    const end = await within(enough, s.ended, 'it does not end');
    note(`ended ${Date.now() - begin} ms after SIGTERM with --drain 1`);
    assert.deepEqual(end, { code: 0, signal: null }, s.log.slice(-2000));
    c.forEach(x => x.drop());
  });

  await test('SIGTERM: idle connections do not keep it', async () => {
    const s = await Server.start([modelA, '--drain', '900', '--receive-timeout', '900', '--idle-timeout', '900']), c = await Promise.all(Array.from({ length: 50 }, () => s.raw()));
    c[0].send(request('GET', '/healthz'));
    await c[0].answer();
    const begin = Date.now();
    await s.stop();
    note(`ended after ${Date.now() - begin} ms`);
    c.forEach(x => x.drop());
  });

  await test('a second SIGTERM ends it although a request is in progress', async () => {
    const s = await Server.start([modelA, '--drain', '900', '--receive-timeout', '900']), c = await s.raw(), other = await s.raw();
    other.send(firstPart(ready));
    c.send('POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"te');
    await until(async () => metric(await metrics(s), 'ringfence_requests_active') > 1 || 'none', 'a request in progress');
    await until(() => s.unread() === 0 || s.unread(), 'bytes not read');
    s.signal('SIGTERM');
    await s.stopping();
    other.send(lastPart(ready));
    assert.equal((await other.answer()).status, 503); // it drains
    assert.ok(s.alive(), 'it did not wait for the request');
    s.signal('SIGTERM');
    await within(enough, s.ended, 'it does not end');
    [c, other].forEach(x => x.drop());
  });

  await test('SIGTERM while more clients are connecting than --max-connections allows', async () => {
    for (let round = 0; round < 10; round++) {
      const s = await Server.start([modelA, '--max-connections', '6', '--drain', '2']);
      s.signal('SIGSTOP'); // they and the signal are there together
      const clients = await Promise.all(Array.from({ length: 30 }, () => s.raw()));
      for (const c of clients) c.send(request('GET', '/healthz'));
      s.signal('SIGTERM');
      s.signal('SIGCONT');
      assert.deepEqual(await within(enough, s.ended, `round ${round}: it does not end`), { code: 0, signal: null }, s.log.slice(-3000));
      for (const c of clients) c.drop();
    }
  });

  await test('neither a closed standard error nor SIGPIPE ends it', async () => {
    const s = await Server.start([modelA, '--access-log']);
    s.child.stderr.destroy();
    for (let i = 0; i < 20; i++) assert.equal((await s.classify({ text: 'x' })).status, 200);
    s.signal('SIGPIPE');
    assert.equal((await s.classify({ text: 'x' })).status, 200);
    s.signal('SIGTERM');
    assert.deepEqual(await within(enough, s.ended, 'it does not end'), { code: 0, signal: null });
  });
}
