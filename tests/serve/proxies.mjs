// proxies.mjs DIR - the service behind nginx and HAProxy, with the configurations in examples/proxy. Prints TAP.
//
// Proxies put the requests of many clients on few connections. If the proxy and the service ever disagree about where a
// request ends, one client gets the answer to another's. So while one client attacks, others ask, and each must get the
// answer to its own text.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { ask, bearer, classifyBytes, done, enough, keepAlive, metric, metrics, modelA, predict, Raw, request, root, Server, skip, takeAnswer, test, texts, until, within } from './lib.mjs';
import { conflicting, doubtful } from './smuggling.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'ringfence-proxies-'));
fs.chmodSync(dir, 0o755); // nginx gives up root
const token = 'proxies-0123456789abcdef', authorization = bearer(token);
const tokens = path.join(dir, 'tokens');
fs.writeFileSync(tokens, token + '\n', { mode: 0o600 });

// A port below those that the system gives out, so that it is still free after a restart.
async function freePort() {
  for (;;) {
    const port = 20000 + Math.floor(Math.random() * 10000);
    const free = await new Promise(yes => {
      const s = net.createServer();
      s.once('error', () => yes(false));
      s.listen(port, '127.0.0.1', () => s.close(() => yes(true)));
    });
    if (free) return port;
  }
}

const kinds = {
  nginx: {
    program: 'nginx',
    command(config) {
      const main = path.join(dir, 'nginx.conf');
      const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(n => `${n}_temp_path ${dir}/${n};`).join(' ');
      fs.writeFileSync(main, `daemon off; worker_processes 1; pid ${dir}/nginx.pid; error_log stderr;\nevents { worker_connections 1024; }\nhttp { access_log off; ${temp} include ${config}; }\n`);
      return ['nginx', '-e', 'stderr', '-p', dir, '-c', main];
    },
    file: 'nginx.conf',
  },
  HAProxy: {
    program: 'haproxy',
    command: config => ['haproxy', '-db', '-q', '-f', config],
    file: 'haproxy.cfg',
  },
};

class Proxy {
  static async start(kind, servicePort) {
    const p = new Proxy();
    p.port = await freePort();
    const example = fs.readFileSync(path.join(root, 'examples/proxy', kind.file), 'utf8');
    const config = path.join(dir, `used-${kind.file}`);
    for (const address of ['127.0.0.1:8000', '127.0.0.1:8080']) assert.ok(example.includes(address), `${kind.file} has no ${address}`);
    fs.writeFileSync(config, example.replaceAll('127.0.0.1:8000', `127.0.0.1:${p.port}`).replaceAll('127.0.0.1:8080', `127.0.0.1:${servicePort}`));
    const [command, ...args] = kind.command(config);
    p.child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } });
    p.log = '';
    p.child.stderr.on('data', d => { p.log += d; });
    p.ended = new Promise(r => p.child.on('close', r));
    p.child.on('exit', () => { p.over = true; });
    proxies.add(p);
    await until(async () => {
      assert.ok(!p.over, `${command} ended: ${p.log}`);
      try { (await Raw.connect(p.port)).drop(); return true; } catch (e) { return e.code; }
    }, `${command} listens`);
    return p;
  }
  raw() { return Raw.connect(this.port); }
  ask(method, target, options = {}) { return ask(this, method, target, { ...options, headers: { ...authorization, ...options.headers } }); }
  classify(body, options) { return this.ask('POST', '/v1/classify', { json: body, ...options }); }
  async stop() {
    if (!this.over) this.child.kill('SIGTERM');
    await within(enough, this.ended, 'the proxy does not end');
    proxies.delete(this);
  }
}
const proxies = new Set();
process.on('exit', () => { proxies.forEach(p => p.child.kill('SIGKILL')); fs.rmSync(dir, { recursive: true, force: true }); });

const start = port => Server.start([modelA, '--listen', `127.0.0.1:${port}`, '--token-file', tokens, '--access-log']);
const asked = texts(40, 31), wanted = predict(modelA, asked);

// Texts in turn, each answer compared with what `ringfence predict` says.
let turn = 0;
async function victim(proxy, agent) {
  const i = turn++ % asked.length, a = await proxy.classify({ text: asked[i] }, { agent });
  assert.equal(a.status, 200, a.text);
  assert.deepEqual(a.json, wanted[i], `the answer to "${asked[i]}" is another's`);
}

// Whole answers in these bytes, in order. What is left must be nothing.
function allAnswers(bytes, what, toHead) {
  const found = [], end = bytes.indexOf('\r\n\r\n');
  if (toHead && end >= 0) { // its headers speak of a body that is not there
    found.push({ status: Number(bytes.toString('latin1', 9, 12)), text: '' });
    bytes = bytes.subarray(end + 4);
  }
  for (let one; bytes.length; bytes = bytes.subarray(one.length)) {
    one = takeAnswer(bytes);
    if (!one && /^(HTTP\/1\.\d [45]|\s*<)/.test(bytes.toString('latin1'))) { found.push({ status: Number(bytes.toString('latin1', 9, 12)) }); break; } // a page of the proxy that ends with the connection
    assert.ok(one, `${what}: half an answer: ${bytes.toString('latin1').slice(0, 300)}`);
    if (one.status !== 100) found.push(one);
  }
  return found;
}

// Requests that the service has answered, by endpoint and status, asked for directly.
const direct = service => metrics(service, { headers: authorization });
const hits = async service => metric(await direct(service), 'ringfence_requests_total', { endpoint: 'other', code: 404 });

// One client attacks, others ask. Every hidden request that reaches the service is answered once, to the attacker, and no other
// client ever sees it. Nothing but an attack asks for what is not there, so 404 counts hidden requests.
async function attack(proxy, service, bytes, number) {
  const what = `attack ${number}: ${JSON.stringify(bytes.slice(0, 200))}`;
  const before = await hits(service), c = await proxy.raw();
  c.send(Buffer.from(bytes, 'latin1'), request('GET', '/nothing/last', { ...authorization, Connection: 'close' }));
  await Promise.all([victim(proxy), victim(proxy), victim(proxy)]);
  c.shut();
  await within(enough, c.closed, () => `${what}: still open: ${c.bytes().toString('latin1').slice(0, 300)}`);
  const answers = allAnswers(c.bytes(), what, bytes.startsWith('HEAD'));
  c.drop();
  await victim(proxy);
  const seen = await hits(service) - before;
  if (!c.error) assert.equal(answers.filter(a => a.status === 404).length, seen, `${what}: ${seen} hidden requests reached the service, answers ${answers.map(a => a.status)}`);
  for (const a of answers) assert.ok(a.status >= 400 || a.json?.status === 'ok' || a.json?.answers || a.json?.label || a.text === '', `${what}: ${a.status} ${a.text?.slice(0, 200)}`);
  return { seen, answers: answers.map(a => a.status) };
}

for (const [name, kind] of Object.entries(kinds)) {
  if (spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${kind.program}`]).status !== 0) { skip(`${name}: the service behind it`, `${kind.program} is not installed`); continue; }
  const servicePort = await freePort();
  let service = await start(servicePort);
  const proxy = await Proxy.start(kind, servicePort);

  await test(`${name}: requests of all kinds get the answers of the service`, async () => {
    await until(async () => { const a = await proxy.ask('GET', '/healthz'); return a.status === 200 || a.status; }, 'the proxy reaches the service');
    for (let i = 0; i < asked.length; i++) assert.deepEqual((await proxy.classify({ text: asked[i] })).json, wanted[i]);
    assert.deepEqual((await proxy.classify({ texts: asked })).json.answers, wanted);
    const lines = await proxy.ask('POST', '/v1/classify', { body: asked.map(t => t + '\n').join(''), type: 'text/plain', headers: { Accept: 'application/x-ndjson' } });
    assert.deepEqual(lines.lines, wanted);
    assert.equal((await ask(proxy, 'POST', '/v1/classify', { json: { text: 'x' } })).status, 401);
    assert.equal((await proxy.ask('GET', '/v1/nope')).json.error.code, 'not_found');
    assert.equal((await proxy.ask('GET', '/')).type, 'text/html');
    const head = await proxy.ask('HEAD', '/v1/model');
    assert.deepEqual([head.status, head.text], [200, '']);
    await victim(proxy);
  });

  await test(`${name}: clients share the connections to the service`, async () => {
    const agent = keepAlive(8);
    for (let i = 0; i < 25; i++) await Promise.all(Array.from({ length: 8 }, () => victim(proxy, agent)));
    agent.destroy();
    // 200 requests of 8 clients, and what came before: far fewer connections than requests
    const open = fs.readFileSync('/proc/net/tcp', 'latin1').split('\n').map(l => l.trim().split(/\s+/)).filter(f => f[1]?.endsWith(':' + servicePort.toString(16).toUpperCase().padStart(4, '0')) && f[3] === '01').length;
    assert.ok(open >= 1 && open <= 32, `${open} connections`);
  });

  await test(`${name}: chunked bodies, large bodies, bodies that are too large`, async () => {
    for (const size of [1, 7, 100000]) {
      const body = JSON.stringify({ texts: asked }), c = await proxy.raw();
      c.send(request('POST', '/v1/classify', { ...authorization, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }));
      for (let i = 0; i < body.length; i += size) c.send(`${Math.min(size, body.length - i).toString(16)}\r\n${body.slice(i, i + size)}\r\n`);
      c.send('0\r\n\r\n');
      assert.deepEqual((await c.answer()).json.answers, wanted);
      c.drop();
    }
    const big = Array.from({ length: 1500 }, (_, i) => asked[i % asked.length]);
    assert.deepEqual((await proxy.classify({ texts: big, x: undefined })).json.answers, big.map((_, i) => wanted[i % asked.length]));
    const padded = JSON.stringify({ text: asked[0] }) + ' '.repeat((4 << 20) - 100); // just within the limit
    assert.deepEqual((await proxy.ask('POST', '/v1/classify', { body: padded, type: 'application/json' })).json, wanted[0]);
    const c = await proxy.raw();
    c.send(request('POST', '/v1/classify', { ...authorization, 'Content-Type': 'application/json', 'Content-Length': 12 << 20 }), Buffer.alloc(12 << 20, 32));
    assert.equal((await c.answer()).status, 413);
    c.drop();
    await victim(proxy);
  });

  await test(`${name}: a client that has shut down its sending side is answered`, async () => {
    for (const [bytes, n] of [[classifyBytes({ texts: asked }, authorization), asked.length], [classifyBytes({ texts: Array(1500).fill(asked[0]) }, authorization), 1500]]) {
      const c = await proxy.raw();
      c.send(bytes).shut();
      const a = await c.answer();
      assert.equal(a.status, 200, a.text);
      assert.equal(a.json.answers.length, n);
      c.drop();
    }
    // and clients that leave in the middle of a body or an answer spoil nothing for others
    const big = classifyBytes({ texts: Array(1000).fill(asked[1]), margins: 100 }, authorization);
    for (let i = 0; i < 20; i++) {
      const c = await proxy.raw();
      c.send(i % 2 ? big : big.subarray(0, big.length - 1 - 50 * i));
      if (i % 4 === 1) await c.some();
      i % 3 ? c.drop() : c.reset();
      await victim(proxy);
    }
  });

  await test(`${name}: doubtful framing never mixes up the answers of clients`, async () => {
    let number = 0, reached = 0;
    const by = {};
    for (const make of [doubtful, conflicting]) {
      const n = make('x').length;
      for (let i = 0; i < n; i++) {
        const hidden = `GET /nothing/${number} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
        const post = `POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: text/plain\r\n`;
        const got = await attack(proxy, service, make(hidden, post)[i], number++);
        reached += got.seen > 0;
        for (const s of got.answers) by[s] = (by[s] ?? 0) + 1;
      }
    }
    console.log(`# ${number} attacks; ${reached} hidden or later requests reached the service; answers by status: ${JSON.stringify(by)}`);
    assert.ok(service.alive());
  });

  await test(`${name}: the service restarts: what it has begun is answered, and later requests are its own`, async () => {
    const answered = async () => metric(await direct(service), 'ringfence_requests_total', { endpoint: '/v1/classify', code: 200 });
    const base = await proxy.classify({ text: asked[2], top_k: 0 }), before = await answered();
    const slow = Array.from({ length: 8 }, () => proxy.classify({ texts: Array(1000).fill(asked[2]), top_k: 0 }));
    // all of them are in the service, or answered, before it is told to stop
    await until(async () => {
      const m = await direct(service), active = metric(m, 'ringfence_requests_active') - 1;
      const finished = metric(m, 'ringfence_requests_total', { endpoint: '/v1/classify', code: 200 }) - before;
      return active + finished >= 8 || `${active} active, ${finished} finished`;
    }, 'all requests are at work');
    service.signal('SIGTERM');
    for (const a of await Promise.all(slow)) {
      assert.equal(a.status, 200, a.text);
      assert.equal(a.json.answers.length, 1000);
      assert.deepEqual(a.json.answers[999], base.json);
    }
    await service.stop();
    const down = await proxy.classify({ text: asked[0] });
    assert.ok([502, 503].includes(down.status), `${down.status}`);
    service = await start(servicePort);
    await until(async () => { const a = await proxy.classify({ text: asked[0] }); return a.status === 200 || a.status; }, 'the proxy finds the service again');
    for (let i = 0; i < 10; i++) await Promise.all([victim(proxy), victim(proxy), victim(proxy)]);
  });

  await test(`${name}: both end when they are told to`, async () => {
    await proxy.stop();
    await service.stop();
  });
}
await done();
