// hub.mjs - encoders from a hub on loopback: what a user sees. faults.mjs has what goes wrong on the way.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { root, test, until } from '../serve/lib.mjs';
import { Client, fine, refused, scratch, tiny } from './client.mjs';
import { Hub, api, far, file, filesOf, sha256 } from './server.mjs';

const hub = await Hub.start();
const extra = { 'modules.json': Buffer.from('[]'), '1_Pooling/config.json': Buffer.from('{"pooling_mode_mean_tokens": true}') };
const full = { ...tiny, ...extra };
const commit = hub.add('acme/tiny', { ...full, 'README.md': Buffer.from('# tiny'), 'pytorch_model.bin': Buffer.from('x') },
  { card: { license: 'apache-2.0', language: ['de', 'en'] }, revisions: { 'refs/pr/1': null } });
hub.repositories['acme/tiny'].revisions['refs/pr/1'] = commit;
const rows = `${scratch}/rows.tsv`;
fs.writeFileSync(rows, 'text\tlabel\n' + ['where is my\tone', 'x y z\ttwo'].flatMap(r => Array(8).fill(r)).map((r, i) => `${'a '.repeat(i % 4)}${r}\n`).join(''));
const quick = ['--epochs', '1', '--batch', '8', '--head-steps', '5', '--negatives', '8', '--quiet'];
const weightsAsked = (from = 0) => hub.seen.slice(from).filter(q => /safetensors|onnx/.test(q.path));

await test('get, path, verify, list, use by name, remove, get again', async () => {
  const c = new Client(hub);
  refused(await c.run('embed', '--encoder', 'acme/tiny', rows), 'acme/tiny', 'get it with: ringfence encoder get acme/tiny');
  refused(await c.run('encoder', 'path', 'acme/tiny'), 'ringfence encoder get acme/tiny');
  const got = fine(await c.get('acme/tiny'));
  assert.ok(got.err.includes(commit.slice(0, 12)) && got.err.includes('apache-2.0'), got.err);
  assert.ok(c.check('acme/tiny', commit, full, { part: false }));
  const known = JSON.parse(fs.readFileSync(`${c.dir('acme/tiny')}/known.json`));
  assert.deepEqual(known.revisions, { main: commit });
  assert.equal(known.commits[commit].endpoint, hub.endpoint);
  assert.equal(fine(await c.run('encoder', 'path', 'acme/tiny')).out, `${c.dir('acme/tiny')}/${commit}\n`);
  fine(await c.run('encoder', 'verify', 'acme/tiny'));
  const list = fine(await c.run('encoder', 'list')).out;
  assert.match(list, new RegExp(`acme/tiny\n.*commit ${commit.slice(0, 12)}; apache-2.0; language de,en; 0 MB`));
  // the same features as from the directory that the hub has
  const texts = `${scratch}/texts`;
  fs.writeFileSync(texts, 'where is my order\nx y z\n');
  const own = fine(await c.run('embed', '--encoder', 'acme/tiny', texts)).out;
  assert.equal(own, fine(await c.run('embed', '--encoder', `${root}/tests/golden/tiny/encoder`, texts)).out);
  // a second get needs no network; a slim model finds the encoder by its commit
  const before = hub.seen.length;
  fine(await c.get('acme/tiny'));
  fine(await c.run('train', rows, '--encoder', 'acme/tiny', '--slim', '-o', `${scratch}/slim.rf`, ...quick));
  assert.ok(fine(await c.run('inspect', `${scratch}/slim.rf`)).out.includes(`acme/tiny@${commit}`));
  fine(await c.run('predict', `${scratch}/slim.rf`, texts));
  assert.equal(hub.seen.length, before);
  fine(await c.run('encoder', 'remove', 'acme/tiny'));
  assert.deepEqual(fs.readdirSync(c.dir('acme/tiny')), ['known.json']);
  refused(await c.run('encoder', 'remove', 'acme/tiny'), 'not in the cache');
  refused(await c.run('predict', `${scratch}/slim.rf`, texts), `acme/tiny@${commit}`);
  fine(await c.get('acme/tiny'));
  assert.ok(c.check('acme/tiny', commit, full, { part: false }));
});

await test('a changed file in the cache is noticed at every use', async () => {
  const c = new Client(hub);
  fine(await c.get('acme/tiny'));
  const place = `${c.dir('acme/tiny')}/${commit}/vocab.txt`;
  fs.writeFileSync(place, fs.readFileSync(place, 'latin1').replace('where', 'wherf'));
  for (const args of [['encoder', 'verify', 'acme/tiny'], ['embed', '--encoder', 'acme/tiny', rows], ['encoder', 'path', 'acme/tiny']])
    refused(await c.run(...args), 'vocab.txt: sha256 is', 'when it was fetched', 'encoder remove acme/tiny');
});

await test('the same commit with other bytes is refused: known from the first time', async () => {
  const c = new Client(hub);
  fine(await c.get('acme/tiny'));
  fine(await c.run('encoder', 'remove', 'acme/tiny'));
  const r = hub.repositories['acme/tiny'], real = r.files;
  r.files = { ...real, 'tokenizer_config.json': Buffer.from('{"do_lower_case": false}') }; // sizes and ids agree with it
  try {
    refused(await c.get('acme/tiny'), 'tokenizer_config.json of commit', 'when it was first fetched');
    assert.ok(!c.check('acme/tiny', commit, full, { part: false }));
  } finally { r.files = real; }
  fine(await c.get('acme/tiny'));
});

await test('revisions: branch, commit, unknown; main stays what it was', async () => {
  const c = new Client(hub);
  fine(await c.get('acme/tiny@refs/pr/1'));
  assert.ok(hub.seen.some(q => q.raw.endsWith('/revision/refs%2Fpr%2F1')));
  refused(await c.run('encoder', 'path', 'acme/tiny'), 'its revision refs/pr/1 is: acme/tiny@refs/pr/1');
  fine(await c.run('encoder', 'path', `acme/tiny@${commit}`));
  const before = hub.seen.length;
  fine(await c.get(`acme/tiny@${commit}`));
  assert.equal(hub.seen.length, before); // a commit needs no answer from the hub
  fine(await c.get('acme/tiny')); // the same commit under a second name: no file again
  assert.deepEqual(hub.seen.slice(before).map(q => q.path), ['/api/models/acme/tiny/revision/main']);
  refused(await c.get('acme/tiny@v9'), 'answered 404', 'no such revision');
  refused(await c.get(`acme/tiny@${'0'.repeat(40)}`), '404');
  // main moves on: the cache keeps the commit it has
  const moved = hub.add('acme/moving', full);
  fine(await c.get('acme/moving'));
  hub.add('acme/moving', { ...full, 'modules.json': Buffer.from('[ ]') });
  fine(await c.get('acme/moving'));
  assert.ok(c.check('acme/moving', moved, full, { part: false }));
});

await test('names that are no names of the hub', async () => {
  const c = new Client(hub), before = hub.seen.length;
  for (const name of ['../x', 'x/..', 'a/b/c', '/etc/passwd', './acme/tiny', 'acme/', '/tiny', 'acme/.tiny', 'acme/ti ny', 'acme/a..b', 'acme/a--b',
    'acme/tiny@', 'acme/tiny@../../x', 'acme/tiny@-x', 'acme/tiny@a//b', 'acme/ti\\ny', 'acme/tiny?x=1', 'acme/tiny#x', 'acme/%2e%2e', 'a'.repeat(97) + '/x']) {
    const r = await c.get(name);
    assert.equal(r.code, 2, `${name}: ${r.err}`);
    assert.ok(r.err.startsWith('ringfence: '), r.err);
  }
  assert.equal(hub.seen.length, before);
  assert.ok(!fs.existsSync(`${c.cache}/encoders/hub`));
});

await test('not BERT, no weights, pickled or split weights, no tokenizer: refused before any weights', async () => {
  const c = new Client(hub), before = hub.seen.length;
  const config = change => Buffer.from(JSON.stringify({ ...JSON.parse(tiny['config.json']), ...change }));
  const { 'model.safetensors': weights, 'vocab.txt': vocab, ...rest } = tiny;
  hub.add('acme/roberta', { ...tiny, 'config.json': config({ model_type: 'roberta' }) });
  hub.add('acme/swish', { ...tiny, 'config.json': config({ hidden_act: 'swish' }) });
  hub.add('acme/pickled', { ...rest, 'vocab.txt': vocab, 'pytorch_model.bin': weights });
  hub.add('acme/split', { ...rest, 'vocab.txt': vocab, 'model.safetensors.index.json': Buffer.from('{}') });
  hub.add('acme/mute', { ...rest, 'model.safetensors': weights });
  hub.add('acme/broken', { ...tiny, 'vocab.txt': Buffer.from('one\none\n') });
  hub.add('acme/empty', {});
  refused(await c.get('acme/roberta'), 'model_type is "roberta"');
  refused(await c.get('acme/swish'), 'hidden_act is "swish"');
  refused(await c.get('acme/pickled'), 'pytorch_model.bin is never read');
  refused(await c.get('acme/split'), 'split into several files');
  refused(await c.get('acme/mute'), 'no tokenizer.json and no vocab.txt');
  refused(await c.get('acme/broken'), 'vocab.txt');
  refused(await c.get('acme/empty'), 'no config.json');
  assert.deepEqual(weightsAsked(before), []);
  assert.deepEqual(fs.readdirSync(`${c.cache}/encoders`), []);
});

await test('weights that do not fit are refused as a whole', async () => {
  const c = new Client(hub);
  const cut = hub.add('acme/cut', { ...tiny, 'model.safetensors': tiny['model.safetensors'].subarray(0, 50000) });
  refused(await c.get('acme/cut'), 'model.safetensors');
  assert.ok(!c.check('acme/cut', cut, {}, { part: false }));
});

await test('a repository with an ONNX export only; the catalogue knows some of them', async () => {
  const c = new Client(hub);
  const { 'model.onnx': onnx, ...rest } = filesOf(`${root}/tests/golden/tiny/onnx`);
  hub.add('acme/onnx', { ...rest, ...extra, 'onnx/model.onnx': onnx });
  fine(await c.get('acme/onnx'));
  const dir = fine(await c.run('encoder', 'path', 'acme/onnx')).out.trim();
  assert.deepEqual(Object.keys(filesOf(dir)).sort(), [...Object.keys(full)].sort());
  const [a, b] = await Promise.all(['acme/onnx', `${root}/tests/golden/tiny/encoder`].map(e => c.run('embed', '--encoder', e, rows)));
  assert.equal(fine(a).out, fine(b).out);
  hub.add('Xenova/gte-small', { ...rest, 'onnx/model.onnx': onnx });
  refused(await c.get('Xenova/gte-small'), 'the catalogue knows 398a2999', sha256(onnx), 'Xenova/gte-small@');
});

await test('tokens: to the hub only; private and missing repositories', async () => {
  hub.add('acme/secret', tiny, { token: 'hf_right' });
  const before = hub.seen.length;
  refused(await new Client(hub).get('acme/secret'), 'answered 401', 'HF_TOKEN can hold a token');
  refused(await new Client(hub, { HF_TOKEN: 'hf_wrong' }).get('acme/secret'), '401', 'HF_TOKEN gives no access');
  refused(await new Client(hub).get('acme/none'), 'no such repository');
  const c = new Client(hub, { HF_TOKEN: 'hf_right' });
  const got = fine(await c.get('acme/secret'));
  assert.ok(!got.err.includes('hf_right'));
  for (const q of hub.seen.slice(before)) if (q.host === 'cdn') assert.equal(q.headers.authorization, undefined);
  const sent = hub.seen.filter(q => q.headers.authorization === 'Bearer hf_right');
  assert.ok(sent.length > 3 && sent.every(q => q.host === 'hub'));
  // nothing on disk holds it
  assert.equal(spawnSync('grep', ['-r', 'hf_right', c.cache]).status, 1);
  for (const token of ['hf_x\nX-Evil: 1', 'hf x', 'hf_\u00e9']) {
    const r = await new Client(hub, { HF_TOKEN: token }).get('acme/secret');
    assert.equal(r.code, 2);
    assert.ok(r.err.includes('HF_TOKEN has a character') && !r.err.includes('Evil'), r.err);
  }
});

await test('endpoints: https, or http on loopback; nothing else', async () => {
  for (const endpoint of ['http://192.0.2.1', 'http://example.invalid', 'ftp://127.0.0.1', 'file:///etc', 'http://user:pw@127.0.0.1', 'https://x/?a=b', 'nonsense', 'http://127.0.0.1.example.invalid']) {
    const r = await new Client({ endpoint }).get('acme/tiny');
    assert.equal(r.code, 2, `${endpoint}: ${r.err}`);
    assert.ok(r.err.includes('HF_ENDPOINT'), r.err);
  }
  fine(await new Client({ endpoint: hub.endpoint.replace('127.0.0.1', 'localhost') + '/' }).get('acme/tiny'));
});

await test('cut in the middle: the next get asks for the rest only', async () => {
  const c = new Client(hub), bytes = full['model.safetensors'];
  hub.fault(far, (q, r) => { r.writeHead(200, { 'Content-Length': bytes.length, ETag: `"${sha256(bytes).slice(0, 32)}-1"` }); r.write(bytes.subarray(0, 60000), () => r.destroy()); }, 1);
  refused(await c.get('acme/tiny', '--retries', '0'), 'gave up after 1 attempt');
  assert.ok(!c.check('acme/tiny', commit, full));
  const have = fs.statSync(`${c.dir('acme/tiny')}/${commit}.part/weights`).size;
  assert.ok(have > 0 && have <= 60000, `${have} bytes`);
  const before = hub.seen.length;
  fine(await c.get('acme/tiny'));
  const [hubAsked, farAsked] = weightsAsked(before);
  assert.equal(farAsked.headers.range, `bytes=${have}-`);
  assert.equal(farAsked.headers['if-range'], `"${sha256(bytes).slice(0, 32)}-1"`);
  assert.equal(hubAsked.host, 'hub');
  assert.ok(c.check('acme/tiny', commit, full, { part: false }));
});

await test('answers that contradict the promise are named, and nothing of them stays', async () => {
  const bytes = full['model.safetensors'], spoilt = Buffer.from(bytes), etag = '"x"';
  spoilt[50000] ^= 1;
  const send = (body, headers = {}, status = 200) => (q, r) => { r.writeHead(status, { 'Content-Length': body.length, ETag: etag, ...headers }); r.end(body); };
  const vocab = Buffer.from(full['vocab.txt'].toString('latin1').replace('where', 'wherf'), 'latin1');
  for (const [match, act, ...words] of [
    [far, send(spoilt), 'model.safetensors: sha256 is', 'the hub promised', sha256(bytes)],
    [file('vocab.txt'), send(vocab), 'vocab.txt: git id is', 'the hub promised'],
    [far, send(bytes.subarray(0, 1000)), 'speaks of 1000 bytes', `promised ${bytes.length}`],
    [far, (q, r) => { r.writeHead(200); r.end(Buffer.concat([bytes, bytes])); }, `more than ${bytes.length} bytes came`],
    [far, send(bytes.subarray(7), { 'Content-Range': `bytes 7-${bytes.length - 1}/${bytes.length}` }, 206), 'asked for the bytes from 0 on, got those from 7'],
    [file('config.json'), send(Buffer.from('{}'), { 'X-Repo-Commit': '1'.repeat(40) }), 'answered for commit 1111'],
    [far, send(bytes, { 'Content-Encoding': 'gzip' }), 'Content-Encoding "gzip"'],
  ]) {
    const c = new Client(hub);
    hub.fault(match, act, 1);
    refused(await c.get('acme/tiny', '--retries', '0'), ...words);
    assert.ok(!c.check('acme/tiny', commit, full, { part: false }));
  }
  // the rest of another file, after a cut
  const c = new Client(hub);
  hub.fault(far, (q, r) => { r.writeHead(200, { 'Content-Length': bytes.length, ETag: etag }); r.write(bytes.subarray(0, 60000), () => r.destroy()); }, 1);
  hub.fault(far, send(bytes.subarray(1), { 'Content-Range': `bytes 1-${bytes.length - 1}/${bytes.length}` }, 206), 1);
  refused(await c.get('acme/tiny'), /asked for the bytes from \d+ on, got those from 1/);
  assert.ok(!c.check('acme/tiny', commit, full, { part: false }));
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'])
  await test(`${signal} leaves what can be continued and no encoder`, async () => {
    const c = new Client(hub), bytes = full['model.safetensors'];
    hub.fault(far, (q, r) => { r.writeHead(200, { 'Content-Length': bytes.length, ETag: `"${sha256(bytes).slice(0, 32)}-1"` }); r.write(bytes.subarray(0, 70000)); }, 1);
    const run = c.start('encoder', 'get', 'acme/tiny');
    const part = `${c.dir('acme/tiny')}/${commit}.part/weights`;
    await until(() => fs.existsSync(part) && fs.statSync(part).size === 70000 || run.said.err, '70000 bytes');
    run.child.kill(signal);
    const end = await run.ended;
    if (signal === 'SIGKILL') assert.equal(end.signal, signal);
    else {
      assert.equal(end.code, signal === 'SIGINT' ? 130 : 143);
      assert.ok(end.err.includes('continues with what has come'), end.err);
      assert.ok(!c.check('acme/tiny', commit, full));
    }
    assert.ok(!fs.existsSync(`${c.dir('acme/tiny')}/${commit}`));
    const before = hub.seen.length;
    fine(await c.get('acme/tiny'));
    assert.equal(weightsAsked(before)[1].headers.range, 'bytes=70000-');
    assert.ok(c.check('acme/tiny', commit, full, { part: false }));
  });

await test('two at once: one waits for nobody, and neither does harm', async () => {
  const c = new Client(hub);
  let go;
  const released = new Promise(r => { go = r; });
  hub.fault(far, (q, r, answer) => released.then(answer), 1);
  const first = c.start('encoder', 'get', 'acme/tiny');
  const asked = hub.seen.length;
  await until(() => hub.seen.slice(asked).some(far) || first.said.err, 'the first at the weights');
  refused(await c.get('acme/tiny'), 'another process is fetching or removing it');
  refused(await c.run('encoder', 'remove', 'acme/tiny'), 'another process');
  go();
  fine(await first.ended);
  assert.ok(c.check('acme/tiny', commit, full, { part: false }));
});

await test('attempts: errors that pass are overcome, Retry-After is kept', async () => {
  const c = new Client(hub);
  const status = (code, headers = {}) => (q, r) => { r.writeHead(code, headers); r.end('no'); };
  hub.fault(api, status(503, { 'Retry-After': '0' }), 2);
  hub.fault(file('config.json'), status(500), 3);
  hub.fault(file('model.safetensors'), status(429, { 'Retry-After': '1' }), 1);
  hub.fault(far, status(502), 1);
  hub.fault(far, (q, r) => r.destroy(), 1);
  fine(await c.get('acme/tiny'));
  assert.ok(c.check('acme/tiny', commit, full, { part: false }));
  hub.fault(api, status(429, { 'Retry-After': '4000' }), 1);
  refused(await new Client(hub).get('acme/tiny'), 'answered 429', 'come back in 4000 seconds');
  hub.fault(api, status(500), 3);
  refused(await new Client(hub).get('acme/tiny', '--retries', '2'), 'answered 500', 'gave up after 3 attempts');
});

await test('TLS: a certificate of ours is trusted if we say so, and only then', async () => {
  const at = `${scratch}/tls`;
  fs.mkdirSync(at);
  const openssl = (...args) => assert.equal(spawnSync('openssl', args, { cwd: at }).status, 0, args.join(' '));
  const make = (name, names) => {
    fs.writeFileSync(`${at}/${name}.ext`, `subjectAltName=${names}\n`);
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.pem`);
    return { key: fs.readFileSync(`${at}/${name}.key`), cert: fs.readFileSync(`${at}/${name}.pem`) };
  };
  openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=test CA');
  const good = await Hub.start({ tls: make('good', 'IP:127.0.0.1,IP:127.0.0.2') });
  const other = await Hub.start({ tls: make('other', 'DNS:elsewhere.invalid') });
  try {
    for (const h of [good, other]) h.add('acme/tiny', { ...full });
    const mine = good.repositories['acme/tiny'].commit;
    const trust = { SSL_CERT_FILE: `${at}/ca.pem`, HF_TOKEN: 'hf_t' };
    refused(await new Client(good, { HF_TOKEN: 'hf_t' }).get('acme/tiny'), 'certificate is not trusted', 'SSL_CERT_FILE');
    assert.equal(good.seen.length, 0); // not even a request
    refused(await new Client(other, trust).get('acme/tiny'), 'certificate is not trusted');
    assert.equal(other.seen.length, 0);
    refused(await new Client(good, { SSL_CERT_FILE: `${at}/none.pem` }).get('acme/tiny'), 'certificate');
    const c = new Client(good, trust);
    fine(await c.get('acme/tiny'));
    assert.ok(c.check('acme/tiny', mine, full, { part: false }));
    // from https there is no way down, not even on loopback
    good.fault(file('model.safetensors'), (q, r) => { r.writeHead(302, { Location: `${hub.far}/acme/tiny/model.safetensors` }); r.end(); }, 1);
    const before = hub.seen.length;
    refused(await new Client(good, trust).get('acme/tiny'), 'redirects to http:, wanted https: all the way');
    assert.equal(hub.seen.length, before);
  } finally { good.stop(); other.stop(); }
});

hub.stop();
