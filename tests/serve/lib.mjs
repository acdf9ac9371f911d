// lib.mjs - shared by the tests of the service: TAP, a server to observe, clients.
// The program is RF_PROGRAM, or build/ringfence. RF_SLOW=1 means a sanitizer build: counts shrink
// and time limits grow.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '../..');
export const program = path.resolve(root, process.env.RF_PROGRAM ?? 'build/ringfence');
export const slow = process.env.RF_SLOW === '1';
export const scaled = n => slow ? Math.ceil(n / 10) : n;
export const patience = slow ? 6 : 1; // factor on all time limits
// After this many milliseconds of waiting for an event, a test has failed: far more than a busy
// machine needs. No test may depend on an event being faster than that.
export const enough = 60000 * patience;
export const sleep = ms => new Promise(r => setTimeout(r, ms));

// ---- TAP ------------------------------------------------------------------------------

let failures = 0;
let number = Number(process.env.RF_TAP_FROM ?? 0);
const only = process.env.RF_ONLY && new RegExp(process.env.RF_ONLY);

function report(ok, name, ms, error) {
  if (!ok) failures++;
  console.log(`${ok ? 'ok' : 'not ok'} ${++number} - ${name}`);
  if (ms > 2000 || process.env.RF_TIMES) console.log(`# ${(ms / 1000).toFixed(1)} s`);
  if (!ok) console.log(String(error.stack ?? error).slice(0, 4000).split('\n').map(l => '# ' + l).join('\n'));
}

// Every test has a time limit: one that hangs fails.
export async function test(name, run, seconds = 180) {
  if (only && !only.test(name)) return;
  const begin = Date.now();
  let timer;
  try {
    await Promise.race([run(), new Promise((_, no) => {
      timer = setTimeout(() => no(new Error(`not done after ${seconds * patience} s`)), seconds * patience * 1000);
    })]);
    report(true, name, Date.now() - begin);
  } catch (e) {
    report(false, name, Date.now() - begin, e);
  } finally {
    clearTimeout(timer);
  }
}
// Runs independent tests at the same time.
export const together = tests => Promise.all(tests.map(([name, run, seconds]) => test(name, run, seconds)));
export function skip(name, why) {
  if (!only || only.test(name)) console.log(`ok ${++number} - ${name} # SKIP ${why}`);
}
export const note = s => console.log('# ' + s);

// With RF_TAP_COUNT, run.sh prints the plan, as it runs several files. Stops the servers that are left.
export async function done() {
  connections.forEach(c => c.drop()); // of tests that failed
  await Promise.all([...running].map(s => s.kill()));
  if (!process.env.RF_TAP_COUNT) console.log(`1..${number}`);
  else fs.writeFileSync(process.env.RF_TAP_COUNT, String(number));
  process.exitCode = failures ? 1 : 0;
}

// ---- A server -------------------------------------------------------------------------

const running = new Set();
process.on('exit', () => running.forEach(s => s.child.kill('SIGKILL')));

export class Server {
  // args: MODEL and options; adds --listen, and several workers, so that races between them can
  // show on a machine with few CPUs
  // files: its limit on open files
  static async start(args, { env = {}, wait = enough, files } = {}) {
    const s = new Server();
    if (!args.includes('--listen')) args = [...args, '--listen', '127.0.0.1:0'];
    if (!args.includes('--workers') && !args.includes('--threads')) args = [...args, '--workers', '3', '--threads', '1'];
    s.args = args;
    s.log = '';
    const command = [...(files ? ['sh', '-c', `ulimit -n ${files}; exec "$0" "$@"`] : []), program, 'serve', ...args];
    s.child = spawn(command[0], command.slice(1), { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    s.pid = s.child.pid;
    s.out = '';
    s.child.stdout.on('data', d => { s.out += d; });
    s.child.on('exit', code => { running.delete(s); s.code = code; });
    s.ended = new Promise(r => s.child.on('close', (code, signal) => r({ code, signal }))); // and all its output has been read
    running.add(s);
    await new Promise((yes, no) => {
      const timer = setTimeout(() => no(new Error(`no port after ${wait} ms; stderr: ${s.log}`)), wait);
      s.child.stderr.on('data', d => {
        s.log += d;
        const m = !s.port && s.log.match(/listening on (https?):\/\/([^\s/]*):(\d+)/);
        if (m) { s.scheme = m[1]; s.host = m[2]; s.port = Number(m[3]); clearTimeout(timer); yes(); }
      });
      s.ended.then(e => { clearTimeout(timer); no(new Error(`ended with ${e.code ?? e.signal} before it listened; stderr: ${s.log}`)); });
    });
    return s;
  }
  signal(name) { this.child.kill(name); }
  // Stops it by SIGTERM; fails if it hangs, or if a sanitizer has reported anything.
  async stop(ms = enough) {
    this.signal('SIGTERM');
    const e = await within(ms, this.ended, 'the server does not end after SIGTERM');
    assert.deepEqual(e, { code: 0, signal: null }, `exit; stderr: ${this.log.slice(-3000)}`);
    assert.ok(!/ERROR: |WARNING: ThreadSanitizer|runtime error:/.test(this.log), this.log.slice(-6000));
  }
  async kill() {
    if (this.alive()) this.child.kill('SIGKILL');
    await this.ended;
  }
  alive() { return running.has(this); }
  status(key) { return Number(fs.readFileSync(`/proc/${this.pid}/status`, 'utf8').match(new RegExp(`^${key}:\\s*(\\d+)`, 'm'))?.[1] ?? 0); }
  rss() { return this.status('VmRSS') / 1024; } // MiB
  threads() { return this.status('Threads'); }
  fds() { return fs.readdirSync(`/proc/${this.pid}/fd`).length; }
  // Ticks of CPU time of all workers so far: more than before, if one is at work.
  workerTicks() {
    const tasks = fs.readdirSync(`/proc/${this.pid}/task`).map(t => fs.readFileSync(`/proc/${this.pid}/task/${t}/stat`, 'latin1'));
    return tasks.filter(s => s.includes('(rf-worker')).reduce((n, s) => { const f = s.slice(s.lastIndexOf(')') + 2).split(' '); return n + Number(f[11]) + Number(f[12]); }, 0);
  }
  // Bytes that clients have sent and it has not read.
  unread() {
    const port = this.port.toString(16).toUpperCase().padStart(4, '0');
    return fs.readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1).map(l => l.trim().split(/\s+/))
      .filter(f => f[1]?.endsWith(':' + port)).reduce((n, f) => n + parseInt(f[4].split(':')[1], 16), 0);
  }
  stopping() { return until(() => this.log.includes('stopping') || this.log.slice(-300), 'the log line about stopping'); }
  threadNames() { return fs.readdirSync(`/proc/${this.pid}/task`).map(t => fs.readFileSync(`/proc/${this.pid}/task/${t}/comm`, 'utf8').trim()); }
  ask(method, target, options) { return ask(this, method, target, options); }
  classify(body, options = {}) { return ask(this, 'POST', '/v1/classify', { json: body, ...options }); }
  raw() { return Raw.connect(this.port); }
}

export async function within(ms, promise, what) {
  let timer;
  try {
    return await Promise.race([promise, new Promise((_, no) => { timer = setTimeout(() => no(new Error(`${typeof what === 'function' ? what() : what} (after ${ms} ms)`)), ms); })]);
  } finally {
    clearTimeout(timer);
  }
}

// Waits until f() returns true; fails with what it last returned.
export async function until(f, what) {
  const end = Date.now() + enough;
  for (;;) {
    const got = await f();
    if (got === true) return;
    if (Date.now() > end) throw new Error(`${what}: ${got} after ${enough} ms`);
    await sleep(30);
  }
}

// For what depends on who is faster: attempt(i) until it returns true; what it last returned is
// reported if it never does. Each attempt can ask for more work than the one before.
export async function attempts(n, attempt, what) {
  let got;
  for (let i = 0; i < n; i++) if ((got = await attempt(i)) === true) return;
  throw new Error(`${what}: ${got} in the last of ${n} attempts`);
}

// Runs the program to its end: {code, out, err}.
export function runProgram(args, input = '', { seconds = 60 } = {}) {
  const r = spawnSync(program, args, { cwd: root, input, encoding: 'utf8', timeout: seconds * patience * 1000, killSignal: 'SIGKILL', maxBuffer: 1 << 28 });
  return { code: r.status, signal: r.signal, out: r.stdout, err: r.stderr };
}

// `ringfence serve` must fail to start, with this exit code and these words in its message.
export function ends(args, code, ...words) {
  const r = runProgram(['serve', ...args]);
  assert.equal(r.code, code, `${args.join(' ')}: ${r.signal ?? ''} ${r.err}`);
  for (const w of words) assert.ok(w instanceof RegExp ? w.test(r.err) : r.err.includes(w), `${args.join(' ')}: "${r.err.trim()}" does not name ${w}`);
  assert.ok(r.err.trim().split('\n').length <= 3, r.err);
}

// The answers of `ringfence predict --json`, as objects. Texts must not contain LF.
export function predict(model, texts, ...options) {
  if (!texts.length) return [];
  const r = runProgram(['predict', model, '--json', '--threads', '1', ...options], texts.map(t => t + '\n').join(''), { seconds: 120 });
  assert.equal(r.code, 0, r.err);
  return r.out.trim().split('\n').map(l => JSON.parse(l));
}

// ---- Well-behaved clients -------------------------------------------------------------

// One request; {status, headers, type, text, json, ms}. json: a body to be encoded.
export function ask(server, method, target, { json, body, type, headers = {}, agent, timeout = 60000, onData, module = http, extra = {} } = {}) {
  const h = { ...headers };
  if (json !== undefined) { body = JSON.stringify(json); type ??= 'application/json'; }
  if (type) h['Content-Type'] = type;
  if (body !== undefined && !h['Transfer-Encoding']) h['Content-Length'] = Buffer.byteLength(body);
  const begin = Date.now();
  return new Promise((yes, no) => {
    const q = module.request({ host: '127.0.0.1', port: server.port, method, path: target, headers: h, agent: agent ?? false, ...extra }, r => {
      const parts = [];
      r.on('data', d => { parts.push(d); onData?.(d); });
      r.on('error', no);
      r.on('aborted', () => no(new Error('the answer was cut off')));
      r.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        const a = { status: r.statusCode, headers: r.headers, type: (r.headers['content-type'] ?? '').split(';')[0].trim(), text, ms: Date.now() - begin };
        if (a.type === 'application/json' && text) a.json = JSON.parse(text);
        if (a.type === 'application/x-ndjson') {
          assert.ok(text === '' || text.endsWith('\n'), 'the last line does not end');
          a.lines = text.split('\n').slice(0, -1).map(l => JSON.parse(l));
        }
        yes(a);
      });
    });
    q.setTimeout(timeout * patience, () => q.destroy(new Error(`no answer after ${timeout * patience} ms`)));
    q.on('error', no);
    q.end(body);
  });
}
export const bearer = token => ({ Authorization: `Bearer ${token}` });
export const keepAlive = sockets => new http.Agent({ keepAlive: true, maxSockets: sockets });

// Checks an error answer: form, status and code; pointer: a string or a RegExp.
export function refused(a, status, code, pointer) {
  assert.equal(a.status, status, a.text);
  assert.equal(a.type, 'application/json', a.text);
  assert.deepEqual(Object.keys(a.json), ['error']);
  assert.deepEqual(Object.keys(a.json.error).sort(), ['code', 'message', 'pointer']);
  assert.equal(a.json.error.code, code, a.text);
  assert.equal(typeof a.json.error.message, 'string');
  assert.ok(a.json.error.message.length > 3, a.text);
  if (pointer instanceof RegExp) assert.match(a.json.error.pointer, pointer, a.text);
  else if (pointer !== undefined) assert.equal(a.json.error.pointer, pointer, a.text);
}

// ---- Raw connections ------------------------------------------------------------------

// Sends bytes in any pieces, and collects everything that comes back.
const connections = new Set();

export class Raw {
  static connect(port, options = {}) {
    return new Promise((yes, no) => {
      const r = new Raw();
      r.got = Buffer.alloc(0);
      connections.add(r);
      r.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, ...options });
      r.socket.setNoDelay(true);
      r.closed = new Promise(done => {
        r.socket.on('end', () => { r.end = performance.now(); done('end'); });
        r.socket.on('error', e => { r.error = e; r.end ??= performance.now(); done(e.code); });
        r.socket.on('close', () => { connections.delete(r); r.end ??= performance.now(); done('close'); });
      });
      r.finished = new Promise(done => r.socket.on('finish', done)); // after shut(): all was sent
      r.parts = [];
      r.socket.on('data', d => { r.parts.push(d); r.wake?.(); });
      r.socket.once('connect', () => yes(r));
      r.socket.once('error', no);
    });
  }
  bytes() {
    if (this.parts.length) { this.got = Buffer.concat([this.got, ...this.parts]); this.parts = []; }
    return this.got;
  }
  send(...pieces) { for (const p of pieces) if (!this.socket.destroyed) this.socket.write(p); return this; }
  shut() { this.socket.end(); return this; }
  pause() { this.socket.pause(); return this; }
  drop() { this.socket.destroy(); return this; }
  reset() { this.socket.resetAndDestroy ? this.socket.resetAndDestroy() : this.socket.destroy(); return this; }
  // Waits for the server to close, and returns all bytes.
  async rest() {
    await within(enough, this.closed, () => `still open, got ${this.bytes().length} bytes: ${this.bytes().toString('latin1').slice(0, 300)}`);
    const all = this.bytes();
    this.socket.destroy();
    return all;
  }
  // Waits for the first bytes.
  async some() {
    if (this.bytes().length || this.end) return;
    await within(enough, Promise.race([this.closed, new Promise(r => this.socket.once('data', r))]), 'no byte of an answer');
  }
  // Waits for n whole answers; later bytes stay.
  async answers(n, ms = enough) {
    const end = Date.now() + ms, out = [];
    let over = false;
    this.closed.then(() => { over = true; this.wake?.(); });
    for (;;) {
      for (let one; out.length < n && (one = takeAnswer(this.bytes())); ) {
        this.got = this.got.subarray(one.length);
        if (one.status !== 100) out.push(one);
        else this.continued = true;
      }
      if (out.length === n) return out;
      if (over) throw new Error(`closed after ${out.length} of ${n} answers (${this.error ?? 'end'}), rest: ${this.bytes().toString('latin1').slice(0, 300)}`);
      const left = end - Date.now();
      if (left <= 0) throw new Error(`${out.length} of ${n} answers in time, rest: ${this.bytes().toString('latin1').slice(0, 300)}`);
      await new Promise(r => { const t = setTimeout(r, left); this.wake = () => { clearTimeout(t); r(); }; });
    }
  }
  async answer(ms) { return (await this.answers(1, ms))[0]; }
}

// The first answer in these bytes, if it is complete.
export function takeAnswer(bytes) {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const lines = bytes.toString('latin1', 0, head).split('\r\n');
  const m = lines[0].match(/^HTTP\/1\.[01] (\d{3})/);
  if (!m) throw new Error(`not HTTP: ${lines[0]}`);
  const headers = {};
  for (const l of lines.slice(1)) headers[l.slice(0, l.indexOf(':')).toLowerCase()] = l.slice(l.indexOf(':') + 1).trim();
  let at = head + 4, body = Buffer.alloc(0);
  const a = { status: Number(m[1]), headers, type: (headers['content-type'] ?? '').split(';')[0].trim() };
  if (/chunked/i.test(headers['transfer-encoding'] ?? '')) {
    const parts = [];
    for (;;) {
      const eol = bytes.indexOf('\r\n', at);
      if (eol < 0) return null;
      const size = parseInt(bytes.toString('latin1', at, eol), 16);
      if (bytes.length < eol + 2 + size + 2) return null;
      parts.push(bytes.subarray(eol + 2, eol + 2 + size));
      at = eol + 2 + size + 2;
      if (size === 0) break;
    }
    body = Buffer.concat(parts);
  } else if (a.status !== 204 && a.status !== 304 && a.status >= 200) {
    const n = Number(headers['content-length'] ?? 0);
    if (bytes.length < at + n) return null;
    body = bytes.subarray(at, at + n);
    at += n;
  }
  a.text = body.toString('utf8');
  a.length = at;
  if (a.type === 'application/json' && a.text) a.json = JSON.parse(a.text);
  if (a.type === 'application/x-ndjson') a.lines = a.text.split('\n').slice(0, -1).map(l => JSON.parse(l));
  return a;
}

// The bytes of a request.
export function request(method, target, headers = {}, body = '') {
  const h = { Host: '127.0.0.1', ...(body ? { 'Content-Length': Buffer.byteLength(body) } : {}), ...headers };
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n` + Object.entries(h).map(([k, v]) => `${k}: ${v}\r\n`).join('') + '\r\n', 'latin1'),
    Buffer.isBuffer(body) ? body : Buffer.from(body)]);
}
export const classifyBytes = (body, headers = {}) =>
  request('POST', '/v1/classify', { 'Content-Type': 'application/json', ...headers }, Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body));

// ---- Prometheus -----------------------------------------------------------------------

// Reads the text format strictly; {name: {type, help, samples: [{name, labels, value}]}}.
export function readMetrics(text) {
  assert.ok(text.endsWith('\n'), 'the last line does not end');
  const families = {}, closed = new Set();
  let current = null;
  for (const line of text.slice(0, -1).split('\n')) {
    let m;
    if ((m = line.match(/^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/))) {
      if (current !== m[2]) { if (current) closed.add(current); current = m[2]; }
      assert.ok(!closed.has(m[2]), `${m[2]} is not in one group`);
      const f = families[m[2]] ??= { samples: [] };
      assert.equal(f.samples.length, 0, `${m[1]} of ${m[2]} after its samples`);
      const key = m[1].toLowerCase();
      assert.equal(f[key], undefined, `two ${m[1]} of ${m[2]}`);
      f[key] = m[3];
      if (key === 'type') assert.ok(['counter', 'gauge', 'histogram'].includes(m[3]), line);
      continue;
    }
    assert.ok(!line.startsWith('#') && line !== '', `an empty line or comment: "${line}"`);
    m = line.match(/^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/);
    assert.ok(m, `not a sample: ${line}`);
    const f = families[current], name = m[1], labels = {};
    assert.ok(f?.type && f?.help, `${name} before its HELP and TYPE`);
    const endings = f.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    assert.ok(endings.some(e => name === current + e), `${name} among ${current}`);
    let rest = m[2] ?? '';
    while (rest) {
      const l = rest.match(/^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/);
      assert.ok(l, `labels: ${line}`);
      assert.ok(!(l[1] in labels), `a label twice: ${line}`);
      labels[l[1]] = l[2].replace(/\\(.)/g, (_, c) => c === 'n' ? '\n' : c);
      rest = rest.slice(l[0].length);
    }
    const value = m[3] === '+Inf' ? Infinity : Number(m[3]);
    assert.ok(!Number.isNaN(value), `a value: ${line}`);
    assert.ok(!f.samples.some(s => s.name === name && JSON.stringify(s.labels) === JSON.stringify(labels)), `twice: ${line}`);
    f.samples.push({ name, labels, value });
  }
  for (const [name, f] of Object.entries(families)) {
    if (f.type === 'counter') assert.ok(f.samples.every(s => s.value >= 0) && name.endsWith('_total'), name);
    if (f.type !== 'histogram') continue;
    const of = e => f.samples.filter(s => s.name === name + e), buckets = of('_bucket');
    assert.equal(of('_count').length, 1, name);
    assert.equal(of('_sum').length, 1, name);
    let last = -Infinity, sum = 0;
    for (const b of buckets) {
      const le = b.labels.le === '+Inf' ? Infinity : Number(b.labels.le);
      assert.ok(le > last && b.value >= sum, `${name}: bucket ${b.labels.le} out of order`);
      [last, sum] = [le, b.value];
    }
    assert.equal(last, Infinity, `${name} has no bucket +Inf`);
    assert.equal(sum, of('_count')[0].value, `${name}: +Inf is not _count`);
  }
  return families;
}
// One value, summed over the samples that match: metric(families, 'x_total', {code: '200'}).
export function metric(families, name, labels = {}) {
  const family = families[name] ?? families[name.replace(/_(count|sum|bucket)$/, '')];
  assert.ok(family, `no metric ${name}`);
  return family.samples.filter(s => s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === String(v))).reduce((n, s) => n + s.value, 0);
}
export async function metrics(server, options) {
  const a = await server.ask('GET', '/metrics', options);
  assert.equal(a.status, 200, a.text);
  return readMetrics(a.text);
}

// ---- Models and texts -----------------------------------------------------------------

export const dir = path.resolve(root, process.argv[2] ?? 'build/serve');
export const scratch = name => path.join(dir, name);
export const write = (name, content) => { fs.writeFileSync(scratch(name), content); return scratch(name); };
export const modelA = path.join(dir, 'a.rf'); // keeps its examples
export const modelB = path.join(dir, 'b.rf'); // other classes, no examples
const words = ['where', 'is', 'my', 'parcel', 'the', 'chain', 'fell', 'off', 'how', 'do', 'i', 'pay', 'hello', 'thank', 'you', 'can', 'not', 'order', 'a', 'b', 'c', 'd', 'e', 'f'];
// n texts, the same ones for the same seed.
export function texts(n, seed = 1, length = 6) {
  let state = seed * 7919 + 13;
  const draw = k => (state = (state * 1103515245 + 12345) % 2147483648, Math.floor(state / 65536) % k);
  return Array.from({ length: n }, () => Array.from({ length: 1 + draw(length) }, () => words[draw(24)]).join(' '));
}
export const hostileTexts = ['', ' ', '\t', 'caf\u00e9 na\u00efve', '\u6587\u5b57', '\u{1f600} smile', 'a\u0000b', '"quotes" \\ back', '</script>', '\u202eesrever', 'x'.repeat(3000), 'e\u0301'.repeat(50), '\u007f\u0001', '\ufeffmark', '\r'];
