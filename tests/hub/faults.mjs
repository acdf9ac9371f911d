// faults.mjs - two hundred things that go wrong while an encoder comes from the hub. After each: a message
// and no crash; in the cache a complete encoder or none, and beside it at most the beginning of the weights;
// and once the fault is over, the encoder comes, byte for byte. Which fault hits which request is drawn from a
// fixed seed (RF_SEED), so a failure can be repeated; RF_FAULTS sets how many.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import zlib from 'node:zlib';
import { note, root, slow, test } from '../serve/lib.mjs';
import { Client, fine, tiny } from './client.mjs';
import { Hub, api, far, file, sha256 } from './server.mjs';

const count = Number(process.env.RF_FAULTS ?? (slow ? 20 : 200));
const weights = tiny['model.safetensors'];
const etag = `"${sha256(weights).slice(0, 32)}-1"`;

// A small generator of our own, so that the draws are the same everywhere.
function drawer(seed) {
  let s = seed >>> 0;
  return n => { s = (Math.imul(s, 1664525) + 1013904223) >>> 0; return Math.floor(s / 2 ** 32 * n); };
}
const endless = r => { const more = () => { while (!r.destroyed && r.write(Buffer.alloc(65536, 32))); }; r.on('drain', more); more(); };

// What any request can meet.
const anywhere = {
  ...Object.fromEntries([400, 401, 403, 404, 408, 410, 429, 500, 502, 503, 504].map(status =>
    [`status ${status}`, () => (q, r) => { r.writeHead(status, status === 503 ? { 'Retry-After': '0' } : {}); r.end('no'); }])),
  'no answer': () => (q, r) => r.destroy(),
  'cut headers': () => (q, r) => { r.socket.write('HTTP/1.1 200 OK\r\nContent-Le'); r.socket.destroy(); },
  'not HTTP': () => (q, r) => { r.socket.end('SSH-2.0-OpenSSH_9.2\r\n'); },
  'headers without end': () => (q, r) => { const s = r.socket, more = () => { while (!s.destroyed && s.write(`X-${'a'.repeat(1000)}: b\r\n`)); }; s.on('error', () => {}); s.on('drain', more); s.write('HTTP/1.1 200 OK\r\n'); more(); },
  'redirect loop': () => (q, r) => { r.writeHead(302, { Location: q.raw + '?' + q.query }); r.end(); },
  'redirect to file:': () => (q, r) => { r.writeHead(302, { Location: 'file:///etc/passwd' }); r.end(); },
  'redirect to another host by http': () => (q, r) => { r.writeHead(307, { Location: 'http://192.0.2.1/x' }); r.end(); },
  'redirect to a name and password': () => (q, r) => { r.writeHead(302, { Location: 'http://a:b@127.0.0.1:1/' }); r.end(); },
  'redirect without an address': () => (q, r) => { r.writeHead(302); r.end(); },
  'redirect with an endless address': () => (q, r) => { r.writeHead(302, { Location: 'http://127.0.0.1/' + 'a'.repeat(12000) }); r.end(); },
  'redirect with an endless body': () => (q, r, answer, hub) => { r.writeHead(302, { Location: hub.far + '/nowhere' }); endless(r); },
  'gzip': () => (q, r) => { r.writeHead(200, { 'Content-Encoding': 'gzip' }); r.end(zlib.gzipSync('{}')); },
  'an empty answer': () => (q, r) => r.end(),
  'a login page': () => (q, r) => { r.setHeader('Content-Type', 'text/html'); r.end('<html><body>Welcome to the hotel</body></html>'); },
  'an endless answer': () => (q, r) => { r.writeHead(200); endless(r); },
  'bad chunks': () => (q, r) => { r.socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n'); },
  'two lengths': () => (q, r) => { r.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nabcdefg'); },
};
// Silence costs a second each, so only every tenth fault may be one.
const silence = { 'silence': () => (q, r) => { r.writeHead(200, { 'Content-Length': 100000 }); r.flushHeaders(); } };
const changed = change => () => (q, r, answer, hub) => {
  const repository = Object.values(hub.repositories)[0], d = hub.describe(repository, repository.commit);
  change(d, d.siblings.find(s => s.rfilename === 'model.safetensors'));
  r.end(JSON.stringify(d));
};
const descriptions = {
  'half a description': n => (q, r, answer, hub) => { const t = JSON.stringify(hub.describe(Object.values(hub.repositories)[0], 'x')); r.end(t.slice(0, n(t.length))); },
  'an array': () => (q, r) => r.end('[1, 2]'),
  'deep nesting': () => (q, r) => r.end('{"a":'.repeat(5000)),
  'a commit that is a path': changed(d => { d.sha = '../../../../etc'; }),
  'no commit': changed(d => { delete d.sha; }),
  'no files': changed(d => { delete d.siblings; }),
  'a negative size': changed((d, w) => { w.size = -1; }),
  'a huge size': changed((d, w) => { w.size = w.lfs.size = 2 ** 52; }),
  'another size': changed((d, w) => { w.size = w.lfs.size = weights.length + 1; }),
  'another sha256': changed((d, w) => { w.lfs.sha256 = 'f'.repeat(64); }),
  'no sha256': changed((d, w) => { w.lfs = {}; }),
  'the weights twice': changed((d, w) => { d.siblings.push(w); }),
  'a file without a name': changed(d => { d.siblings.push({}); }),
};
const promises = Object.fromEntries(Object.entries({
  'another commit': { 'X-Repo-Commit': '0'.repeat(40) }, 'another linked size': { 'X-Linked-Size': '5' }, 'another linked sha256': { 'X-Linked-Etag': `"${'0'.repeat(64)}"` },
}).map(([name, headers]) => [name, () => (q, r, answer, hub) => { r.writeHead(302, { ...headers, Location: `${hub.far}/acme/tiny/model.safetensors?Signature=${hub.secret}` }); r.end(); }]));
const send = (r, bytes, headers = {}, status = 200) => { r.writeHead(status, { ETag: etag, 'Content-Length': bytes.length, ...headers }); r.end(bytes); };
const bodies = {
  'cut': n => (q, r) => { r.writeHead(200, { ETag: etag, 'Content-Length': weights.length }); r.write(weights.subarray(0, n(weights.length)), () => r.destroy()); },
  'a short body that says so': n => (q, r) => send(r, weights.subarray(0, n(weights.length))),
  'short, without a length': n => (q, r) => { r.writeHead(200, { ETag: etag, Connection: 'close' }); r.end(weights.subarray(0, n(weights.length))); },
  'wrong bytes': n => (q, r) => { const b = Buffer.from(weights); b[n(b.length)] ^= 1; send(r, b); },
  'wrong bytes, cut': n => (q, r) => { const b = Buffer.from(weights), k = n(b.length - 1); b[k] ^= 1; r.writeHead(200, { ETag: etag, 'Content-Length': b.length }); r.write(b.subarray(0, k + 1), () => r.destroy()); },
  'too long': () => (q, r) => send(r, Buffer.concat([weights, Buffer.from('more')])),
  'longer than it says': () => (q, r) => { r.socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nETag: ${etag}\r\nContent-Length: ${weights.length}\r\n\r\n`), weights, Buffer.from('more')])); },
  'a part that nobody asked for': () => (q, r) => send(r, weights.subarray(10), { 'Content-Range': `bytes 10-${weights.length - 1}/${weights.length}` }, 206),
  'a weak ETag, cut': n => (q, r) => { r.writeHead(200, { ETag: 'W/"x"', 'Content-Length': weights.length }); r.write(weights.subarray(0, n(weights.length)), () => r.destroy()); },
  'no ETag, cut': n => (q, r) => { r.writeHead(200, { 'Content-Length': weights.length }); r.write(weights.subarray(0, n(weights.length)), () => r.destroy()); },
  'another ETag, cut': n => (q, r) => { r.writeHead(200, { ETag: '"old"', 'Content-Length': weights.length }); r.write(weights.subarray(0, n(weights.length)), () => r.destroy()); },
  'a small file in place of it': () => (q, r) => send(r, Buffer.from('version https://git-lfs.github.com/spec/v1\n')),
};
// These meet the attempt after a cut: it asks for a range.
const ranges = {
  'the range from another place': () => (q, r) => send(r, weights.subarray(1), { 'Content-Range': `bytes 1-${weights.length - 1}/${weights.length}` }, 206),
  'the range of another file': () => (q, r) => send(r, Buffer.from('abc'), { 'Content-Range': 'bytes 30000-30002/30003' }, 206),
  'a range without a place': () => (q, r) => send(r, Buffer.from('abc'), {}, 206),
  'no such range': () => (q, r) => { r.writeHead(416); r.end(); },
  'all of it in place of the range': () => (q, r) => send(r, weights),
  'other bytes in the range': () => (q, r) => { const from = Number(q.headers.range?.match(/\d+/) ?? 0); send(r, Buffer.alloc(weights.length - from, 7), from ? { 'Content-Range': `bytes ${from}-${weights.length - 1}/${weights.length}` } : {}, from ? 206 : 200); },
};

const places = [
  [api, { ...anywhere, ...descriptions }], [file('config.json'), anywhere], [file('vocab.txt'), anywhere],
  [file('model.safetensors'), { ...anywhere, ...promises }], [far, anywhere], [far, bodies], [far, bodies], [far, ranges],
];
// The disk and the process, at the n-th write, flush, rename or removal of a file.
const preload = `${root}/build/tests/libfile_faults.so`;
const canPreload = !slow && fs.existsSync(preload);

async function one(i, seen) {
  const n = drawer((Number(process.env.RF_SEED ?? 1) + i) * 2654435761);
  n(2);
  const hub = await Hub.start();
  try {
    const commit = hub.add('acme/tiny', tiny), c = new Client(hub, { HF_TOKEN: 'hf_token' });
    let name, killed = false;
    if (canPreload && i % 5 === 0) { // at one of its forty or so calls
      killed = n(2) === 1;
      const at = 1 + n(45);
      name = `${killed ? 'killed' : 'disk full'} at call ${at}`;
      c.env = { ...c.env, LD_PRELOAD: preload, RF_FAULT: killed ? 'kill' : 'full', RF_FAULT_AT: String(at) };
    } else {
      const [match, kinds] = i % 10 === 3 && i < 100 ? [[api, file('vocab.txt'), far][n(3)], silence] : places[n(places.length)];
      const kind = Object.keys(kinds)[n(Object.keys(kinds).length)];
      const times = [1, 1, 2, Infinity][n(4)];
      name = `${kind}, ${times} times`;
      if (kinds === ranges) hub.fault(far, bodies.cut(k => 20000 + n(k - 20000)), 1);
      const act = kinds[kind](n);
      hub.fault(match, (q, r, answer) => act(q, r, answer, hub), times);
    }
    seen[name] = (seen[name] ?? 0) + 1;
    const where = `fault ${i}: ${name}`;
    try {
      const before = await c.get('acme/tiny', '--retries', String(n(3)), '--stall', name.startsWith('silence') ? '1' : '60');
      if (killed) assert.ok(before.signal === 'SIGKILL' || before.code === 0, JSON.stringify(before));
      else {
        assert.ok(before.code === 0 || before.code === 1, JSON.stringify(before));
        assert.ok(before.code === 0 || before.err.includes('ringfence: '), before.err);
        assert.ok(!/Sanitizer|runtime error/.test(before.err), before.err);
        const there = c.check('acme/tiny', commit, tiny, { wrong: /wrong|other/.test(name) });
        assert.equal(there, before.code === 0, before.err);
      }
      assert.ok(!before.err.includes('hf_token') && !before.err.includes(hub.secret), before.err);
      if (name.startsWith('disk full') && before.code) assert.match(before.err, /No space left on device/);
      if (killed && fs.existsSync(`${c.dir('acme/tiny')}/${commit}`)) fine(await c.run('encoder', 'verify', 'acme/tiny'));
      // the fault is over
      hub.faults = [];
      c.env = { ...c.env, LD_PRELOAD: '' };
      const after = await c.get('acme/tiny');
      if (after.code && /wrong|other/.test(name)) { // it went on from bytes that were wrong, and saw it at the end
        assert.match(after.err, /the hub promised/);
        assert.ok(!c.check('acme/tiny', commit, tiny, { part: false }));
        fine(await c.get('acme/tiny'));
      } else fine(after);
      assert.ok(c.check('acme/tiny', commit, tiny, { part: false }));
      for (const q of hub.seen) assert.ok(q.host === 'hub' || !q.headers.authorization, 'the token went to the other host');
    } catch (e) {
      e.stack = `${where}\n${e.stack}`;
      throw e;
    }
  } finally { hub.stop(); }
}

await test(`${count} faults, and nothing half-written`, async () => {
  const seen = {};
  let next = 0;
  await Promise.all([1, 2, 3].map(async () => { while (next < count) await one(next++, seen); }));
  note(`${count} faults of ${Object.keys(seen).length} kinds`);
}, 600);
