// faults_clients.mjs - clients that are slow, idle, gone, or too many
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { attempts, classifyBytes, keepAlive, metric, metrics, modelA, note, patience, predict, Raw, refused, request, scaled, Server, skip, sleep, slow, test, texts, together, until } from './lib.mjs';

const fine = { text: 'how do i pay' };

// Slow and silent clients, 20 of each kind: a byte now and then, or none. Each is {what, raw, begin,
// limit (seconds that it has on `server`), timer}.
async function slowClients(limits, server) {
  const head = 'POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n', all = [];
  const add = async (what, limit, first, drip = []) => {
    const begin = performance.now(), raw = await server.raw();
    let i = 1;
    raw.send(first, ...drip.slice(0, 1));
    all.push({ what, raw, begin, limit, timer: drip.length && setInterval(() => raw.send(drip[i++ % drip.length]), 200).unref() });
  };
  const answered = async () => {
    const raw = await server.raw(), begin = performance.now();
    raw.send(request('GET', '/healthz'));
    await raw.answer();
    all.push({ what: 'silence after an answer', raw, begin, limit: limits.idle });
  };
  await Promise.all(Array.from({ length: 20 }, () => [
    add('slow headers', limits.receive, 'G', [...'ET / HTTP/1.1\r\nX: ' + 'y'.repeat(200)]),
    add('slow body', limits.receive, head + 'Content-Length: 5000\r\n\r\n', [' ']),
    add('slow chunks', limits.receive, head + 'Transfer-Encoding: chunked\r\n\r\n', ['1\r\n', ' ', '\r\n']),
    add('header after header', limits.receive, head + 'X: ', ['y', '\r\nZ: ']),
    add('silence', limits.receive, ''), answered()]).flat());
  return all;
}

export async function run() {
  const want = predict(modelA, [fine.text])[0], right = got => assert.deepEqual(got, want);
  const limits = { receive: 4, idle: 5 };
  const server = await Server.start([modelA, '--receive-timeout', String(limits.receive), '--idle-timeout', String(limits.idle)]);
  const level = server.fds();

  await test('clients: slow and silent clients are closed, not before their time is up', async () => {
    // Bytes keep coming until the server closes: if they bought time, it never would.
    for (const c of await slowClients(limits, server)) {
      await c.raw.rest().finally(() => clearInterval(c.timer));
      const seconds = (c.raw.end - c.begin) / 1000;
      assert.ok(seconds > c.limit - 0.1, `${c.what}: closed after ${seconds.toFixed(1)} s, wanted ${c.limit}`);
    }
  });
  await test('clients: slow and silent clients hold up nobody', async () => {
    const s = await Server.start([modelA, '--receive-timeout', '900', '--idle-timeout', '900']);
    const clients = await slowClients({ receive: 900, idle: 900 }, s);
    await until(async () => metric(await metrics(s), 'ringfence_connections') > clients.length || 'fewer', 'slow clients, connected');
    await until(() => s.unread() === 0 || s.unread(), 'bytes not read');
    for (let i = 0; i < 20; i++) right((await s.classify(fine)).json);
    assert.deepEqual(clients.filter(c => c.raw.end).map(c => c.what), [], 'closed before their time');
    for (const c of clients) { clearInterval(c.timer); c.raw.drop(); }
    await s.stop();
  });
  await test('clients: a quick one may stay connected longer than any timeout', async () => {
    // A busy machine may leave a gap in which the server rightly closes: then again.
    await attempts(5, async () => {
      const agent = keepAlive(1), sockets = new Set();
      for (let i = 0; i < 10 * (limits.idle + 1); i++) { // 100 ms each, at least
        right((await server.classify(fine, { agent, headers: { 'X-Number': i } })).json);
        Object.values(agent.freeSockets).flat().forEach(s => sockets.add(s));
        await sleep(100);
      }
      agent.destroy();
      return sockets.size <= 1 || `${sockets.size} connections`;
    }, 'one connection for all requests');
  });
  await test('clients: none of them leaves anything behind', async () => {
    await until(() => server.fds() <= level || server.fds(), `open files, wanted ${level}`);
    await until(async () => metric(await metrics(server), 'ringfence_connections') <= 1 || 'more than one', 'connections');
    await server.stop();
  });

  await test('clients: half a request and a close leave nothing behind, and do not delay the end', async () => {
    const s = await Server.start([modelA, '--receive-timeout', '900', '--idle-timeout', '900', '--drain', '900', '--max-connections', '50']), before = s.fds();
    const halves = ['GET /healthz HTTP/1.1\r\n', 'G', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET', 'POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc'];
    const leave = async n => { for (let i = 0; i < n; i++) (await s.raw()).send(halves[i % 4]).shut().drop(); };
    await leave(400);
    right((await s.classify(fine)).json);
    await until(() => s.fds() <= before || s.fds(), `open files, wanted ${before}`);
    await leave(40);
    await s.stop();
  });

  await test('clients: those that never read a large answer are closed, and the memory freed', async () => {
    const s = await Server.start([modelA, '--send-timeout', '2', '--deadline', '300', '--max-text', '1K', '--queue', '20000']);
    right((await s.classify(fine)).json);
    const all = texts(slow ? 1400 : 2000, 31), n = slow ? 2 : 6;
    const big = { texts: all, explain: 100 };
    const size = (await s.classify(big)).text.length; // warm
    await s.classify(big);
    const before = s.rss(), files = s.fds(), sent = async () => metric(await metrics(s), 'ringfence_requests_total', { endpoint: '/v1/classify', code: 200 });
    const c = await Promise.all(Array.from({ length: n }, () => Raw.connect(s.port))), already = await sent();
    c.forEach((x, i) => x.pause().send(i % 2 ? classifyBytes(big) : classifyBytes(big, { Accept: 'application/x-ndjson' })));
    await until(async () => await sent() === already + n || 'not all', 'answers on their way');
    const full = s.rss();
    right((await s.classify(fine)).json); // others are served meanwhile
    await until(() => s.fds() <= files + 1 || `${s.fds() - files} more than before`, 'open files');
    note(`${n} answers of ${(size / 1048576).toFixed(1)} MiB unread: RSS ${before.toFixed(0)}, then ${full.toFixed(0)}, then ${s.rss().toFixed(0)} MiB`);
    assert.ok(size > 8 << 20, 'the answer fits into the buffers of the kernel, so nothing was tested');
    if (!slow) await until(() => s.rss() < before + 24 || s.rss(), `RSS in MiB, wanted ${before} + 24`);
    c.forEach(x => x.drop());
    await s.stop();
  });

  await test('clients: those that read slowly but steadily get all of their answer', async () => {
    const s = await Server.start([modelA, '--send-timeout', '900', '--deadline', '900']), all = texts(2000, 31), c = await s.raw();
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
  const open = async s => {
    const all = [];
    while (all.length < idle) all.push(...await Promise.all(Array.from({ length: Math.min(100, idle - all.length) }, () => s.raw())));
    return all;
  };
  const idleTest = (name, f) => idle ? test(name, f) : skip(name, 'ulimit -n is below 5,000');
  await idleTest('clients: 2,000 idle connections hold up nobody and take little memory', async () => {
    const s = await Server.start([modelA, '--idle-timeout', '900', '--receive-timeout', '900']);
    right((await s.classify(fine)).json);
    const before = s.rss(), threads = s.threads(), c = await open(s);
    await until(async () => metric(await metrics(s), 'ringfence_connections') > idle || 'fewer', 'idle clients, connected');
    for (let i = 0; i < 30; i++) right((await s.classify(fine)).json);
    const each = (s.rss() - before) * 1024 / idle;
    assert.equal(s.threads(), threads);
    assert.equal(c.filter(x => x.end).length, 0, 'closed before their time');
    note(`${idle} idle connections: ${each.toFixed(1)} KiB each`);
    assert.ok(each < 64 * patience, 'more than 64 KiB for an idle connection');
    c.forEach(x => x.drop());
    await s.stop();
  });
  await idleTest('clients: 2,000 idle connections are closed when their time is up', async () => {
    const s = await Server.start([modelA, '--idle-timeout', '2', '--receive-timeout', '2']), files = s.fds();
    for (const x of await open(s)) await x.rest();
    await until(() => s.fds() <= files || s.fds(), `open files, wanted ${files}`);
    right((await s.classify(fine)).json);
    await s.stop();
  });

  await together([
    ['clients: beyond --max-connections they wait until one has gone', async () => {
      const s = await Server.start([modelA, '--max-connections', '10', '--receive-timeout', '300']);
      // Idle ones would be closed soon when there are so many: the next request begins with the end of the last.
      const held = [], begin = 'GET /healthz HTTP/1.1\r\n', end = 'Host: localhost\r\n\r\n';
      for (let i = 0; i < 10; i++) { const c = await s.raw(); c.send(begin + end + begin); await c.answer(); held.push(c); }
      const late = await s.raw();
      late.send(classifyBytes(fine));
      for (let i = 0; i < 20; i++) { // others are served, again and again
        held[0].send(end + begin);
        await held[0].answer();
      }
      assert.equal(late.bytes().length, 0, `answered beyond the limit: ${late.bytes()}`);
      assert.ok(!late.end, 'closed instead of kept waiting');
      held[3].drop();
      right((await late.answer()).json);
      [...held, late].forEach(c => c.drop());
      await s.stop();
    }],
    ['clients: --max-per-address refuses more of them', async () => {
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
    ['clients: the texts of those that leave before their answer are dropped', async () => {
      const s = await Server.start([modelA, '--workers', '1', '--max-body', '64M']), all = texts(slow ? 40 : 300, 32, 12000);
      const queued = async () => metric(await metrics(s), 'ringfence_queue_texts');
      for (let i = 0; i < 8; i++) {
        const c = await s.raw();
        await until(async () => await queued() === 0 || 'not empty', 'the queue');
        c.send(i % 2 ? classifyBytes({ texts: all }) : classifyBytes({ texts: all }, { Accept: 'application/x-ndjson' }));
        if (i % 2 === 0) await c.some();
        else await until(async () => await queued() > 0 || 'empty', 'the queue');
        i % 4 ? c.reset() : c.drop(); // after a mere close, the client of a list could still be reading
      }
      await until(async () => await queued() === 0 || 'not empty', 'the queue');
      right((await s.classify(fine)).json);
      const done = metric(await metrics(s), 'ringfence_texts_total') - 1;
      note(`8 clients left: ${done} of their ${8 * all.length} texts were classified`);
      assert.ok(done < 8 * all.length, 'all texts were classified');
      await s.stop();
    }],
  ]);

  await test('clients: a full queue refuses with 429, and what it has accepted is answered', async () => {
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
    // A refusal does not wait for the work that is in progress.
    await attempts(20, async () => {
      let over = false;
      const waiting = async () => metric(await metrics(s), 'ringfence_queue_texts');
      const busy = s.classify({ texts: texts(95, 35, slow ? 2000 : 12000) }).finally(() => { over = true; });
      await until(async () => over || await waiting() > 1 || 'not there', 'a long one in the queue');
      const quick = await s.classify({ texts: texts(99, 36) }), left = await waiting();
      assert.equal((await busy).status, 200);
      return quick.status === 429 && left > 0 || `status ${quick.status}, ${left} texts of the long one waiting`;
    }, 'a refusal during a long request');
    await s.stop();
  });
}
