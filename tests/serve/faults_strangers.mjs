// faults_strangers.mjs - access from elsewhere, and attempts to deny service to others
import assert from 'node:assert/strict';
import { attempts, classifyBytes, ends, enough, modelA, note, refused, Server, slow, test, texts, until, within, write } from './lib.mjs';

const get = (target, ...lines) => [`GET ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n');
const token = '0123456789abcdef0123456789abcdef';

export async function run() {
  await test('strangers: without a token only host names of this machine and our own page are accepted', async () => {
    const s = await Server.start([modelA]), ours = `127.0.0.1:${s.port}`;
    const status = async (...lines) => { const c = await s.raw(); c.send(get('/v1/model', ...lines)); const a = await c.answer(); c.drop(); return a; };
    for (const host of [ours, 'localhost', 'LOCALHOST:1', '127.9.9.9', '[::1]:80', '[::1]']) assert.equal((await status(`Host: ${host}`)).status, 200, host);
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '[::2]', '10.0.0.1', '']) refused(await status(`Host: ${host}`), 403, 'forbidden');
    assert.equal((await status(`Host: ${ours}`, `Origin: http://${ours}`)).status, 200);
    for (const origin of ['http://evil.example', 'null', `http://${ours}.evil.example`]) refused(await status(`Host: ${ours}`, `Origin: ${origin}`), 403, 'forbidden');
    refused(await status(`Host: ${ours}`, 'Host: evil.example'), 400, 'bad_request');
    await s.stop();
    ends([modelA, '--allow-origin', 'http://friend.example/'], 2, '--allow-origin', 'friend.example/');
    const open = await Server.start([modelA, '--allow-origin', 'http://friend.example']);
    const asked = origin => open.ask('POST', '/v1/classify', { json: { text: 'x' }, headers: { Origin: origin } });
    assert.equal((await asked('http://friend.example')).status, 200);
    refused(await asked('http://evil.example'), 403, 'forbidden');
    await open.stop();
    const locked = await Server.start([modelA, '--token-file', write('tokens-strangers', token + '\n')]);
    assert.equal((await locked.ask('GET', '/v1/model', { headers: { Host: 'public.example', Origin: 'https://public.example', Authorization: `Bearer ${token} ` } })).status, 200, 'a token is enough');
    await locked.stop();
  });

  await test('strangers: unwanted bodies take no memory, and hold up nobody', async () => {
    const s = await Server.start([modelA, '--token-file', write('tokens-strangers', token + '\n'), '--max-body', '1M']);
    const ask = () => s.ask('POST', '/v1/classify', { json: { text: 'x' }, headers: { Authorization: `Bearer ${token}` } });
    assert.equal((await ask()).status, 200);
    const before = s.rss(), part = Buffer.alloc((1 << 20) - 1, 'x'), c = [];
    for (let i = 0; i < 70; i++) {
      c.push(await s.raw());
      c[i].send(`${i % 2 ? 'GET /healthz' : 'POST /v1/classify'} HTTP/1.1\r\nHost: x\r\nContent-Length: ${1 << 20}\r\n\r\n`).send(part);
    }
    await Promise.all(c.map(x => until(() => x.socket.writableLength === 0 || x.socket.writableLength, 'bytes not sent')));
    await until(() => s.unread() === 0 || s.unread(), 'bytes not read');
    assert.equal((await ask()).status, 200);
    note(`70 bodies of 1 MiB from strangers: RSS ${before.toFixed(1)} -> ${s.rss().toFixed(1)} MiB`);
    if (!slow) assert.ok(s.rss() < before + 16, `RSS ${s.rss()} MiB, before ${before}`);
    c.forEach(x => x.drop());
    await s.stop();
  });

  await test('strangers: ambiguous headers never make two requests', async () => {
    const s = await Server.start([modelA, '--receive-timeout', '900', '--idle-timeout', '900']), hidden = get('/healthz', 'Host: localhost');
    const odd = [`Content-Length : ${hidden.length}`, `Content-Length\t: ${hidden.length}`, 'Transfer-Encoding: gzip', 'Transfer-Encoding: chunked, identity', 'Transfer-Encoding : chunked'];
    for (const lines of [...odd.map(l => [l]), ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']]) {
      const c = await s.raw();
      c.send(['POST /v1/classify HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n') + hidden);
      const all = (await c.rest()).toString('latin1'); // without waiting for a timeout
      assert.ok(all.split('HTTP/1.1 ').length - 1 <= 1, `${lines}: ${all.slice(0, 600)}`);
      assert.ok(!all.includes('200 OK'), `${lines}: ${all.slice(0, 300)}`);
    }
    await s.stop();
  });

  await test('strangers: JSON with the wrong structure is refused before it is parsed', async () => {
    const s = await Server.start([modelA, '--max-body', '8M']), n = 1 << 20;
    const bodies = { zeroes: `{"texts":[${'0,'.repeat(n)}0]}`, objects: `{"texts":[${'{},'.repeat(n)}{}]}`, deep: '{"texts":' + '[],'.repeat(0) + '['.repeat(n) };
    const before = s.rss();
    for (const [name, body] of Object.entries(bodies)) {
      const a = await s.ask('POST', '/v1/classify', { body, type: 'application/json' });
      refused(a, name === 'deep' ? 400 : 413, name === 'deep' ? 'bad_json' : 'too_many_texts');
      if (!slow) assert.ok(s.rss() < before + 40, `${name}: RSS ${s.rss()} MiB, before ${before}`);
    }
    const braces = 'a{[,'.repeat(1000) + '\\"]}'; // inside a string they do not count
    assert.equal((await s.ask('POST', '/v1/classify', { json: { text: braces } })).status, 200);
    await s.stop();
  });

  await test('strangers: texts of clients that reset the connection are dropped', async () => {
    const s = await Server.start([modelA, '--workers', '1', '--threads', '1', '--max-body', '64M', '--queue', '20000']), all = texts(slow ? 500 : 2000, 71, 600);
    const c = await Promise.all(Array.from({ length: 8 }, () => s.raw())), least = 3 * all.length; // a second of work
    const look = async () => {
      const { text } = await s.ask('GET', '/metrics');
      return { waiting: Number(/^ringfence_queue_texts (\d+)/m.exec(text)[1]), done: Number(/^ringfence_texts_total (\d+)/m.exec(text)[1]) };
    };
    c.forEach(x => x.send(classifyBytes({ texts: all })));
    let then;
    await until(async () => (then = await look()).waiting > least || `${then.waiting} waiting, ${then.done} done`, 'texts in the queue');
    c.forEach(x => x.reset());
    await until(async () => (await look()).waiting === 0 || 'still there', 'an empty queue');
    const more = (await look()).done - then.done;
    note(`${then.waiting} texts waited when their clients reset; ${more} were still classified`);
    assert.ok(more < then.waiting, 'all of them were');
    await s.stop();
  });

  await test('signals: all waiting requests are answered when a second SIGTERM comes', async () => {
    const n = 300, number = (text, name) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
    await attempts(3, async i => {
      const s = await Server.start([modelA, '--workers', '1', '--threads', '1', '--max-body', '64M', '--queue', '100000']);
      const c = await Promise.all(Array.from({ length: n }, () => s.raw())), body = { texts: texts(20 * 2 ** i, 73, 600) };
      c.forEach(x => x.send(classifyBytes(body)));
      let waiting;
      await until(async () => {
        const { text } = await s.ask('GET', '/metrics'), active = number(text, 'ringfence_requests_active') - 1;
        const seen = active + number(text, 'ringfence_requests_total\\{endpoint="/v1/classify",code="200"\\}');
        waiting = active;
        return (seen >= n && s.unread() === 0) || `${seen} seen, ${active} in progress, ${s.unread()} bytes not read`;
      }, 'requests');
      s.signal('SIGTERM');
      await s.stopping();
      s.signal('SIGTERM');
      const by = {};
      for (const x of c) { const a = await x.answer().catch(() => ({ status: 'closed' })); by[a.status] = (by[a.status] ?? 0) + 1; x.drop(); }
      note(`${waiting} requests waited: ${JSON.stringify(by)}`);
      assert.ok(!by.closed, JSON.stringify(by));
      assert.equal((await within(enough, s.ended, 'it does not end')).code, 0);
      return by[503] > 128 || `${by[503] ?? 0} of them got 503`; // more than one pass over the connections expires
    }, 'requests that waited');
  });

  await test('signals: SIGTERM is seen in a storm of SIGHUP', async () => {
    const s = await Server.start([modelA]);
    const storm = setInterval(() => s.alive() && s.signal('SIGHUP'), 2);
    await until(() => s.log.split('reloaded').length > 3 || s.log.slice(-300), 'reloads');
    s.signal('SIGTERM');
    const end = await within(enough, s.ended, 'SIGTERM was not seen').finally(() => clearInterval(storm));
    assert.equal(end.code, 0);
  });
}
