// faults_clients.mjs - clients that are slow, idle, gone, or too many
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { classifyBytes, keepAlive, metric, metrics, modelA, note, patience, predict, Raw, refused, request, scaled, Server, skip, sleep, slow, test, texts, together, until, within } from './lib.mjs';

const fine = { text: 'how do i pay' };

// Asks all the time until the promise is settled; how long the slowest took.
async function meanwhile(server, promise, check) {
  let over = false, worst = 0, n = 0;
  const end = promise.finally(() => { over = true; });
  end.catch(() => {}); // awaited below
  while (!over) {
    const begin = Date.now();
    check((await server.classify(fine)).json);
    worst = Math.max(worst, Date.now() - begin);
    n++;
    await sleep(20);
  }
  await end;
  assert.ok(n > 0);
  return worst;
}

// A byte now and then, until the server closes: after how many seconds that was.
async function drip(server, first, bytes) {
  const begin = Date.now(), c = await server.raw();
  c.send(first);
  let i = 0;
  const timer = setInterval(() => c.send(bytes[i++ % bytes.length]), 200);
  try {
    await c.rest();
  } finally {
    clearInterval(timer);
  }
  return (c.end - begin) / 1000;
}

export async function run() {
  const want = predict(modelA, [fine.text])[0], right = got => assert.deepEqual(got, want);
  const server = await Server.start([modelA, '--receive-timeout', '4', '--idle-timeout', '5']);
  const level = server.fds();
  const soon = (s, from, what) => assert.ok(s > from - 0.1 && s < from + 10 * patience, `${what}: closed after ${s.toFixed(1)} s, wanted about ${from}`);

  await test('clients: slow headers, slow bodies, silence: closed in time, others are answered', async () => {
    const drips = [];
    const head = 'POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    for (let i = 0; i < 20; i++) {
      drips.push(drip(server, 'G', [...'ET / HTTP/1.1\r\nX: ' + 'y'.repeat(200)]).then(s => soon(s, 4, 'slow headers')));
      drips.push(drip(server, head + 'Content-Length: 5000\r\n\r\n', [' ']).then(s => soon(s, 4, 'slow body')));
      drips.push(drip(server, head + 'Transfer-Encoding: chunked\r\n\r\n', ['1\r\n', ' ', '\r\n']).then(s => soon(s, 4, 'slow chunks')));
      drips.push(drip(server, head + 'X: ', ['y', '\r\nZ: ']).then(s => soon(s, 4, 'header after header')));
      drips.push((async () => { const b = Date.now(), c = await server.raw(); await c.rest(); soon((c.end - b) / 1000, 4, 'silence'); })());
      drips.push((async () => { const c = await server.raw(), b = Date.now(); c.send(request('GET', '/healthz')); await c.answer(); await c.rest(); soon((c.end - b) / 1000, 5, 'silence after an answer'); })());
    }
    const worst = await meanwhile(server, Promise.all(drips), right);
    note(`120 slow and silent clients; the slowest of the others waited ${worst} ms`);
    assert.ok(worst < 3500 * patience, `another client waited ${worst} ms`); // for none of those
  });
  await test('clients: one that is quick each time is never closed for being there long', async () => {
    const agent = keepAlive(1), begin = Date.now();
    const sockets = new Set();
    for (let i = 0; Date.now() - begin < 6500; i++) {
      const a = await server.classify(fine, { agent, headers: { 'X-Number': i } });
      right(a.json);
      Object.values(agent.freeSockets).flat().forEach(s => sockets.add(s));
      await sleep(400);
    }
    assert.ok(sockets.size <= 1, `${sockets.size} connections`);
    agent.destroy();
  });
  await test('clients: nothing of them is left', async () => {
    await until(() => server.fds() <= level || server.fds(), `open files, wanted ${level}`);
    await until(async () => metric(await metrics(server), 'ringfence_connections') <= 1 || 'more than one', 'connections');
    await server.stop();
  });

  await test('clients: one that reads nothing of a big answer is closed, and its memory freed', async () => {
    const s = await Server.start([modelA, '--send-timeout', '2', '--deadline', '300', '--max-text', '1K', '--queue', '20000']);
    right((await s.classify(fine)).json);
    const all = texts(slow ? 1400 : 2000, 31), n = slow ? 2 : 6;
    const big = { texts: all, explain: 100 };
    const size = (await s.classify(big)).text.length; // warm
    await s.classify(big);
    const before = s.rss(), files = s.fds();
    const c = await Promise.all(Array.from({ length: n }, () => Raw.connect(s.port)));
    c.forEach((x, i) => x.pause().send(i % 2 ? classifyBytes(big) : classifyBytes(big, { Accept: 'application/x-ndjson' })));
    const begin = Date.now();
    let peak = 0, busy = 0;
    const watch = setInterval(() => { if (!s.alive()) return clearInterval(watch); peak = Math.max(peak, s.rss()); busy = Math.max(busy, s.fds()); }, 20);
    s.ended.then(() => clearInterval(watch));
    await sleep(700);
    const others = await meanwhile(s, until(() => (busy >= files + n && s.fds() <= files + 1) || `${s.fds() - files} more than before`, 'open files'), right);
    clearInterval(watch);
    const took = (Date.now() - begin) / 1000;
    note(`${n} answers of ${(size / 1048576).toFixed(1)} MiB unread: closed after ${took.toFixed(1)} s, others waited at most ${others} ms, RSS ${before.toFixed(0)}, at most ${peak.toFixed(0)}, then ${s.rss().toFixed(0)} MiB`);
    assert.ok(size > 8 << 20, 'the answer fits the buffers of the kernel, so nothing was tested');
    if (!slow) await until(() => s.rss() < before + 24 || s.rss(), `RSS in MiB, wanted ${before} + 24`);
    c.forEach(x => x.drop());
    await s.stop();
  });

  await test('clients: those that read slowly but steadily get all of it, in the time there is', async () => {
    const s = await Server.start([modelA, '--send-timeout', '100', '--deadline', '300']), all = texts(2000, 31), c = await s.raw();
    const wanted = predict(modelA, all, '--explain', '100');
    c.send(classifyBytes({ texts: all, explain: 100 }));
    const timer = setInterval(() => { c.pause(); setTimeout(() => c.socket.resume(), 15); }, 20);
    const a = await c.answer();
    clearInterval(timer);
    assert.deepEqual(a.json.answers, wanted);
    c.drop();
    await s.stop();
  });

  const idle = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })) > 5000 ? scaled(2000) : 0;
  const name = 'clients: 2,000 idle connections do no harm, cost little, and are closed';
  if (!idle) skip(name, 'ulimit -n is below 5,000');
  else await test(name, async () => {
    // Time to open them all before the first is closed, ten times as much as a tenth of them takes.
    const quick = await Server.start([modelA]), start = Date.now();
    (await Promise.all(Array.from({ length: idle / 10 }, () => quick.raw()))).forEach(x => x.drop());
    await quick.stop();
    const s = await Server.start([modelA, '--idle-timeout', String(Math.min(60, 4 + Math.ceil((Date.now() - start) / 100)))]);
    right((await s.classify(fine)).json);
    const before = s.rss(), files = s.fds(), threads = s.threads(), c = [];
    while (c.length < idle) c.push(...await Promise.all(Array.from({ length: Math.min(100, idle - c.length) }, () => s.raw())));
    await until(() => s.fds() >= files + idle || s.fds(), `open files, wanted ${files + idle}`);
    const full = s.rss();
    let worst = 0;
    for (let i = 0; i < 30; i++) {
      const begin = Date.now();
      right((await s.classify(fine)).json);
      worst = Math.max(worst, Date.now() - begin);
    }
    assert.equal(s.threads(), threads);
    note(`${idle} idle connections: ${((full - before) * 1024 / idle).toFixed(1)} KiB each; the slowest other waited ${worst} ms`);
    assert.ok(worst < 2000 * patience, `another client waited ${worst} ms`);
    assert.ok((full - before) * 1024 / idle < 64 * patience, 'more than 64 KiB for an idle connection');
    const begin = Date.now();
    await Promise.all(c.map(x => within(90000 * patience, x.closed, 'still open')));
    c.forEach(x => x.drop());
    note(`closed ${((Date.now() - begin) / 1000).toFixed(1)} s later`);
    await until(() => s.fds() <= files || s.fds(), `open files, wanted ${files}`);
    right((await s.classify(fine)).json);
    await s.stop();
  });

  await together([
    ['clients: beyond --max-connections they wait, and are then answered', async () => {
      const s = await Server.start([modelA, '--max-connections', '10', '--receive-timeout', '300']);
      const held = [];
      for (let i = 0; i < 10; i++) { const c = await s.raw(); c.send(request('GET', '/healthz')); await c.answer(); held.push(c); }
      held.forEach(c => c.send('GET /healthz HTTP/1.1\r\n')); // idle ones are closed soon when there are so many
      const late = await s.raw();
      late.send(classifyBytes(fine));
      await sleep(600);
      assert.equal(late.bytes().length, 0, `answered beyond the limit: ${late.bytes()}`);
      assert.ok(!late.end, 'closed instead of kept waiting');
      held[3].drop();
      right((await late.answer()).json);
      [...held, late].forEach(c => c.drop());
      await s.stop();
    }],
    ['clients: --max-per-address refuses more', async () => {
      const s = await Server.start([modelA, '--max-per-address', '3']), held = [];
      for (let i = 0; i < 3; i++) { const c = await s.raw(); c.send(request('GET', '/healthz')); await c.answer(); held.push(c); }
      const late = await s.raw();
      late.send(classifyBytes(fine));
      assert.equal((await late.rest()).length, 0);
      held[0].drop();
      await until(async () => { try { right((await s.classify(fine)).json); return true; } catch (e) { return e.message; } }, 'after one has gone');
      held.forEach(c => c.drop());
      await s.stop();
    }],
    ['clients: gone before their answer: their texts are left out', async () => {
      const s = await Server.start([modelA, '--workers', '1', '--max-body', '64M']), all = texts(slow ? 40 : 300, 32, 12000);
      const begin = Date.now();
      await s.classify({ texts: all });
      const one = Date.now() - begin;
      for (let i = 0; i < 12; i++) {
        const c = await s.raw();
        c.send(i % 2 ? classifyBytes({ texts: all }) : classifyBytes({ texts: all }, { Accept: 'application/x-ndjson' }));
        if (i % 2 === 0) while (!c.bytes().length && !c.end) await sleep(2);
        else await sleep(30);
        i % 3 ? c.drop() : c.reset();
      }
      const left = Date.now();
      await until(async () => metric(await metrics(s), 'ringfence_queue_texts') === 0 || 'not empty', 'the queue');
      right((await s.classify(fine)).json);
      note(`12 clients gone: queue empty after ${Date.now() - left} ms; one such request takes ${one} ms`);
      await s.stop();
    }],
  ]);

  await test('clients: a full queue says 429 at once, and what was taken is answered', async () => {
    const s = await Server.start([modelA, '--workers', '1', '--threads', '1', '--queue', '100', '--max-texts', '100', '--max-body', '64M', '--deadline', '300']);
    const all = texts(80, 33, slow ? 2000 : 12000), wanted = predict(modelA, all);
    const asked = await Promise.all(Array.from({ length: 24 }, async () => { const a = await s.classify({ texts: all }, { timeout: 60000 }); a.at = Date.now(); return a; }));
    const taken = asked.filter(a => a.status === 200), full = asked.filter(a => a.status === 429);
    assert.equal(taken.length + full.length, 24, asked.map(a => a.status).join());
    assert.ok(taken.length >= 1 && full.length >= 1, `${taken.length} taken, ${full.length} refused`);
    for (const a of taken) assert.deepEqual(a.json.answers, wanted);
    for (const a of full) {
      refused(a, 429, 'queue_full');
      assert.match(a.headers['retry-after'], /^[1-9]\d*$/);
    }
    note(`24 requests of 80 texts for a queue of 100: ${taken.length} taken, ${full.length} refused`);
    right((await s.classify(fine)).json);
    await until(async () => metric(await metrics(s), 'ringfence_queue_texts') === 0 || 'not empty', 'the queue');
    // While a long one is at work, a refusal does not wait for it.
    let over = false;
    const busy = s.classify({ texts: texts(95, 35, slow ? 2000 : 12000) }).finally(() => { over = true; });
    await until(async () => over || metric(await metrics(s), 'ringfence_queue_texts') > 1 || 'not there', 'a long one in the queue');
    const quick = await s.classify({ texts: texts(99, 36) });
    if (quick.status === 429) assert.ok(!over || quick.ms < 300 * patience, `429 after ${quick.ms} ms`);
    else note('the queue was never full for the last one');
    assert.equal((await busy).status, 200);
    await s.stop();
  });
}
