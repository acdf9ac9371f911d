// faults_signals.mjs - going down: nothing that was taken is lost
import assert from 'node:assert/strict';
import { classifyBytes, enough, metric, metrics, modelA, note, patience, predict, request, Server, sleep, slow, test, texts, until, within } from './lib.mjs';
import { load, settled, sum } from './load.mjs';

// It has heard the signal.
const ending = s => until(() => s.log.includes('ending') || s.log.slice(-300), 'a word of the end');

const short = texts(40, 51), long = texts(40, 52, 4000);

// Under load it is told to go; every client must have been served to the end.
async function drained(signal) {
  const want = predict(modelA, short), wantLong = predict(modelA, long);
  const s = await Server.start([modelA, '--drain', '300', '--deadline', '300', '--access-log']);
  let n = 0;
  const clients = load(12, s.port, who => {
    const i = n++ % 40;
    if (who < 6) return { body: { text: short[i] }, right: a => { if (a.status !== 503) assert.deepEqual(a.json, want[i]); } };
    if (who < 9) return { body: { texts: long }, right: a => { if (a.status !== 503) assert.deepEqual(a.json.answers, wantLong); } };
    return { body: { texts: long }, headers: { Accept: 'application/x-ndjson' }, right: a => { if (a.status !== 503) assert.deepEqual(a.lines, wantLong); } };
  });
  const watcher = await s.raw(), busy = await s.raw();
  watcher.send(request('GET', '/readyz'));
  assert.equal((await watcher.answer()).status, 200);
  await until(() => sum(clients).answered > 60 || sum(clients).answered, 'answers, wanted 60');
  busy.send(classifyBytes({ texts: [...long, ...long, ...long] })); // keeps it from going at once
  await sleep(5);
  s.signal(signal);
  const told = Date.now();
  await sleep(30);
  watcher.send(request('GET', '/readyz'));
  let ready = 'its connection was closed';
  try { ready = (await watcher.answer()).status; } catch { /* not observable */ }
  const end = await within(enough, s.ended, 'it does not end');
  const took = Date.now() - told, counts = await settled(clients);
  note(`${signal}: ended after ${took} ms; ${counts.sent} requests, ${counts.answered} answered ${JSON.stringify(counts.by)}, ${counts.early} on connections not yet taken; /readyz meanwhile: ${ready}`);
  assert.deepEqual(end, { code: 0, signal: null }, s.log.slice(-2000));
  assert.ok(ready === 503 || typeof ready === 'string', `/readyz: ${ready}`);
  assert.equal((await busy.answer()).json.answers.length, 120);
  busy.drop();
  watcher.drop();
}

export async function run() {
  await test('SIGTERM under load: none lost, exit code 0', () => drained('SIGTERM'));
  await test('SIGINT does the same', () => drained('SIGINT'));

  await test('SIGTERM: /readyz says 503 and nobody new is taken while a request is under way', async () => {
    const s = await Server.start([modelA, '--workers', '1', '--threads', '1', '--max-body', '64M', '--deadline', '300', '--receive-timeout', '300', '--drain', '300']), all = texts(slow ? 120 : 500, 53, 16000);
    const [busy, watcher, other] = [await s.raw(), await s.raw(), await s.raw()];
    for (const c of [busy, watcher, other]) { c.send(request('GET', '/readyz')); assert.equal((await c.answer()).status, 200); }
    // The others have begun to ask too: idle connections have half a second left after the signal.
    const ready = request('GET', '/readyz'), one = classifyBytes({ text: 'x' });
    watcher.send(ready.subarray(0, -2));
    other.send(one.subarray(0, -2));
    busy.send(classifyBytes({ texts: all }, { Accept: 'application/x-ndjson' }));
    await until(() => busy.bytes().length > 0 || 'nothing', 'the beginning of an answer');
    s.signal('SIGTERM');
    await ending(s);
    watcher.send(ready.subarray(-2));
    other.send(one.subarray(-2));
    const a = await watcher.answer(), b = await other.answer();
    assert.ok(s.alive(), 'the request was done too soon to show anything');
    assert.equal(a.status, 503, a.text);
    assert.equal(a.json.error.code, 'shutting_down');
    assert.ok(b.status === 200 || (b.status === 503 && b.json.error.code === 'shutting_down'), b.text);
    await assert.rejects(s.ask('GET', '/healthz', { timeout: 1000 }), 'a new connection was taken');
    assert.deepEqual((await busy.answers(1, 2 * enough))[0].lines, predict(modelA, all));
    assert.deepEqual(await within(enough, s.ended, 'it does not end'), { code: 0, signal: null });
    [busy, watcher, other].forEach(c => c.drop());
  }, 300);

  await test('SIGTERM: clients that dawdle do not keep it beyond --drain', async () => {
    const s = await Server.start([modelA, '--drain', '1', '--receive-timeout', '900', '--send-timeout', '900']), c = [await s.raw(), await s.raw(), await s.raw(), await s.raw()];
    c[0].send('POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Le');
    c[1].send('POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"te');
    c[2].pause().send(classifyBytes({ texts: texts(2000, 54), explain: 100 }));
    await sleep(500 * patience);
    const begin = Date.now();
    s.signal('SIGTERM');
    const end = await within(enough, s.ended, 'it does not end');
    note(`ended ${Date.now() - begin} ms after SIGTERM with --drain 1`);
    assert.deepEqual(end, { code: 0, signal: null }, s.log.slice(-2000));
    c.forEach(x => x.drop());
  });

  await test('SIGTERM: idle connections do not keep it at all', async () => {
    const s = await Server.start([modelA, '--drain', '900', '--receive-timeout', '900', '--idle-timeout', '900']), c = await Promise.all(Array.from({ length: 50 }, () => s.raw()));
    c[0].send(request('GET', '/healthz'));
    await c[0].answer();
    const begin = Date.now();
    await s.stop();
    note(`ended after ${Date.now() - begin} ms`);
    c.forEach(x => x.drop());
  });

  await test('a second SIGTERM ends it at once', async () => {
    const s = await Server.start([modelA, '--drain', '900', '--receive-timeout', '900']), c = await s.raw();
    c.send('POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"te');
    await until(async () => metric(await metrics(s), 'ringfence_requests_active') > 1 || 'none', 'a request under way');
    s.signal('SIGTERM');
    await ending(s);
    await sleep(300);
    assert.ok(s.alive(), 'it did not wait for the request');
    s.signal('SIGTERM');
    await within(enough, s.ended, 'it does not end');
    c.drop();
  });

  await test('SIGTERM while more clients wait than there may be connections', async () => {
    for (let round = 0; round < 10; round++) {
      const s = await Server.start([modelA, '--max-connections', '6', '--drain', '2']);
      s.signal('SIGSTOP'); // they and the signal are there together
      const clients = await Promise.all(Array.from({ length: 30 }, () => s.raw()));
      for (const c of clients) c.send(request('GET', '/healthz'));
      s.signal('SIGTERM');
      s.signal('SIGCONT');
      assert.deepEqual(await within(enough, s.ended, `round ${round}: it does not end`), { code: 0, signal: null });
      for (const c of clients) c.drop();
    }
  });

  await test('a closed standard error and SIGPIPE do not end it', async () => {
    const s = await Server.start([modelA, '--access-log']);
    s.child.stderr.destroy();
    for (let i = 0; i < 20; i++) assert.equal((await s.classify({ text: 'x' })).status, 200);
    s.signal('SIGPIPE');
    assert.equal((await s.classify({ text: 'x' })).status, 200);
    s.signal('SIGTERM');
    assert.deepEqual(await within(enough, s.ended, 'it does not end'), { code: 0, signal: null });
  });
}
