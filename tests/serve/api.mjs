// api.mjs DIR - the interface of the service: every endpoint driven from /openapi.json, every
// documented error provoked, answers compared with `ringfence predict`. Models in DIR. Prints TAP.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import tls from 'node:tls';
import { attempts, bearer, done, ends, hostileTexts, keepAlive, metric, metrics, modelA, modelB, note, predict, refused, request, root, runProgram, scratch, Server, slow, test, texts, until, write } from './lib.mjs';
import { running } from './api_running.mjs';
import { check, resolve } from './schema.mjs';

const tokens = ['first-token-0123456789', 'second-token-abcdefghij'];
const tokenFile = write('tokens', `# comment line\n${tokens[0]}\n\n# another\n${tokens[1]}\n`);
const same = (got, want, what) => assert.equal(JSON.stringify(got), JSON.stringify(want), what);

const begin = Date.now();
const plain = await Server.start([modelA, '--workers', '2', '--threads', '2', '--max-text', '8K', '--max-texts', '300', '--max-body', '256K']);
const locked = await Server.start([modelB, '--token-file', tokenFile]);

// ---- The description ------------------------------------------------------------------

const doc = (await plain.ask('GET', '/openapi.json')).json;
const operations = Object.entries(doc.paths).flatMap(([target, item]) =>
  Object.entries(item).map(([method, op]) => ({ target, method: method.toUpperCase(), op })));
const provoked = new Set();

// Checks status, headers, type and body of an answer against the description. `op` may be a response.
function described(a, op, what) {
  const r = resolve(doc, op.responses ? op.responses[a.status] : op);
  assert.ok(r, `${what}: status ${a.status} is not described: ${a.text}`);
  for (const [name, h] of Object.entries(r.headers ?? {})) {
    const v = a.headers[name.toLowerCase()];
    assert.ok(v !== undefined || !h.required, `${what}: ${a.status} without ${name}`);
    assert.deepEqual(check(doc, h.schema, h.schema.type === 'integer' ? Number(v) : v), [], name);
  }
  const media = r.content?.[a.type];
  assert.ok(media, `${what}: ${a.status} with type "${a.type}" is not described`);
  const values = a.type === 'application/json' ? [a.json] : a.lines ?? [a.text];
  for (const v of values) assert.deepEqual(check(doc, media.schema, v), [], what);
  if (a.status >= 400) {
    assert.ok(a.json.error.code in media.examples, `${what}: ${a.json.error.code} is not described for ${a.status}`);
    provoked.add(a.json.error.code);
  }
}

await test('openapi.json is the source file, and consistent', async () => {
  assert.deepEqual(doc, JSON.parse(fs.readFileSync(path.join(root, 'serve/openapi.json'), 'utf8')));
  const ids = new Set(), walk = (node, f) => { if (node && typeof node === 'object') { f(node); Object.values(node).forEach(n => walk(n, f)); } };
  walk(doc, n => { if (typeof n.$ref === 'string') resolve(doc, n); });
  for (const { target, method, op } of operations) {
    assert.ok(op.operationId && !ids.has(op.operationId) && op.summary && op.responses, `${method} ${target}`);
    ids.add(op.operationId);
    for (const p of op.parameters ?? []) {
      const q = resolve(doc, p);
      assert.deepEqual(check(doc, q.schema, q.example), [], q.name);
    }
    const bodies = [...Object.values(op.requestBody?.content ?? {}), ...Object.values(op.responses).flatMap(r => Object.values(resolve(doc, r).content))];
    for (const b of bodies)
      for (const [name, e] of Object.entries(b.examples ?? {})) assert.deepEqual(check(doc, b.schema, e.value), [], `${op.operationId} ${name}`);
    if (op.requestBody) for (const [type, b] of Object.entries(op.requestBody.content)) assert.ok(Object.keys(b.examples).length, `${type} has no example`);
  }
  const coded = Object.values(doc.components.responses).flatMap(r => Object.keys(r.content['application/json'].examples));
  assert.deepEqual([...new Set(coded)].sort(), [...doc.components.schemas.Error.properties.error.properties.code.enum].sort());
});

// All requests that the description suggests for an operation.
function suggestions(op) {
  if (!op.requestBody) return [{ name: 'plain' }];
  return Object.entries(op.requestBody.content).flatMap(([type, b]) => Object.entries(b.examples).flatMap(([name, e]) => {
    const body = type === 'application/json' ? JSON.stringify(e.value) : e.value, one = { name: `${type} ${name}`, type, body, value: e.value };
    if (type === 'application/json') return [one, { ...one, name: one.name + ' streamed', headers: { Accept: 'application/x-ndjson' } }];
    const all = (op.parameters ?? []).map(p => resolve(doc, p)).map(p => `${p.name}=${p.example}`);
    return [one, ...[...all, all.join('&')].map(query => ({ ...one, name: `${one.name} ${query}`, query }))];
  }));
}

for (const { target, method, op } of operations)
  await test(`${method} ${target}: as described`, async () => {
    for (const [server, headers] of [[plain, {}], [locked, bearer(tokens[1])]]) {
      if (target === '/v1/fence' && server === locked) continue; // it would change the model: review.mjs
      const about = (await server.ask('GET', '/v1/model', { headers })).json.server;
      for (const s of suggestions(op)) {
        const a = await server.ask(method, target + (s.query ? '?' + s.query : ''), { body: s.body, type: s.type, headers: { ...headers, ...s.headers } });
        described(a, op, `${method} ${target}, ${s.name}`);
        const asks = word => s.query?.includes(word) || s.value?.[word];
        const want = target === '/v1/reload' ? server === plain ? [403] : [200]
          : ['/v1/undo', '/v1/fence'].includes(target) ? server === plain ? [403] : [409]
          : (target === '/v1/map' && !about.map) || (['/v1/drift', '/v1/review', '/v1/labels'].includes(target) && !about.store) || (target === '/v1/update' && method === 'POST') ? [404]
            : (asks('map') && !about.map) || (asks('explain') && !about.examples) ? [422] : [];
        assert.ok(want.length ? want.includes(a.status) : a.status === 200, `${s.name}: ${a.status} ${a.text}`);
        if (a.status === 200 && op.operationId === 'classify') {
          const streamed = s.headers || s.type === 'application/x-ndjson';
          assert.equal(a.type, streamed ? 'application/x-ndjson' : 'application/json');
          const answers = streamed ? a.lines : a.json.answers ?? [a.json];
          assert.equal('answers' in (a.json ?? {}), !streamed && s.value.text === undefined);
          assert.equal(answers.length, s.value.texts?.length ?? (s.value.text !== undefined ? 1 : 2));
          for (const x of answers)
            for (const [word, key] of [['margins', 'margins'], ['explain', 'neighbours'], ['explain', 'unknown_words'], ['map', 'map']]) assert.equal(key in x, Boolean(asks(word)), `${s.name}: ${key}`);
        }
      }
    }
  });

await test('HEAD works wherever GET does, without a body', async () => {
  for (const { target, method } of operations) {
    if (method !== 'GET') continue;
    const get = await plain.ask('GET', target), c = await plain.raw();
    c.send(request('HEAD', target, { Connection: 'close' }));
    const [head, ...rest] = (await c.rest()).toString('latin1').split('\r\n\r\n');
    assert.match(head, new RegExp(`^HTTP/1.1 ${get.status} `), target);
    assert.deepEqual(rest, [''], target);
    assert.match(head, new RegExp(`^content-type: ${get.headers['content-type'].replace(/[+.]/g, '\\$&')}`, 'im'), target);
    if (get.headers['content-length'] && target !== '/metrics' && target !== '/v1/model') assert.match(head, new RegExp(`^content-length: ${get.headers['content-length']}\\s*$`, 'im'), target);
  }
});

await test('an unknown method gets 405 and Allow', async () => {
  for (const [target, item] of Object.entries(doc.paths)) {
    const allowed = Object.keys(item).map(m => m.toUpperCase()).flatMap(m => m === 'GET' ? ['GET', 'HEAD'] : [m]);
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'BREW']) {
      if (allowed.includes(method)) continue;
      const c = await plain.raw();
      c.send(request(method, target, { 'Content-Type': 'application/json', Connection: 'close' }, method === 'GET' ? '' : '{}'));
      const a = await c.answer();
      described(a, doc.components.responses.MethodNotAllowed, `${method} ${target}`);
      assert.equal(a.status, 405, `${method} ${target}: ${a.text}`);
      assert.deepEqual(a.headers.allow.split(/,\s*/).filter(m => m !== 'OPTIONS').sort(), allowed.sort(), `${method} ${target}`);
      c.drop();
    }
  }
});

await test('an unknown path gets 404', async () => {
  for (const target of ['/nope', '/v1', '/v1/', '/v1/classify/', '/v1/classifyx', '/V1/classify', '//', '/index.html', '/../etc/passwd', '/%2e%2e/etc/passwd', '/v1/classify%00', '/' + 'x'.repeat(3000), '/metrics/', '/openapi.json/x'])
    for (const method of ['GET', 'POST']) {
      const c = await plain.raw();
      c.send(request(method, target, { Connection: 'close' }, method === 'POST' ? '{"text": "x"}' : ''));
      const a = await c.answer();
      assert.equal(a.status, 404, `${method} ${target.slice(0, 40)}: ${a.text}`);
      described(a, doc.components.responses.NotFound, target.slice(0, 40));
      c.drop();
    }
});

// ---- Errors ---------------------------------------------------------------------------

const classify = doc.paths['/v1/classify'].post;
async function refuses(server, status, code, options, target = '/v1/classify', method = 'POST', op = classify) {
  const a = await server.ask(method, target, options);
  refused(a, status, code);
  described(a, op, code);
  return a.json.error;
}

await test('a short request with long answers ends before they fill the memory', async () => {
  const server = await Server.start([modelA, '--max-body', '16K']), list = { texts: texts(200, 74), explain: 50 }; // 256 KiB for one
  await refuses(server, 413, 'answer_too_large', { json: list });
  const few = { texts: list.texts.slice(0, 20), explain: 50 };
  same((await server.classify(few)).json.answers, predict(modelA, few.texts, '--explain', '50'));
  const streamed = await server.ask('POST', '/v1/classify', { json: list, headers: { Accept: 'application/x-ndjson' } });
  assert.equal(streamed.lines.length, 200); // of a stream, what is read does not count
  for (const line of streamed.lines) assert.ok(line.label || line.error.code === 'answer_too_large', JSON.stringify(line).slice(0, 200));
  await server.stop();
});

await test('every documented error, except those of a server in trouble', async () => {
  await refuses(plain, 400, 'bad_json', { body: '{"text": ', type: 'application/json' });
  assert.equal((await refuses(plain, 400, 'bad_request', { json: { texts: ['a', 'b', 'c', 4] } })).pointer, '/texts/3');
  await refuses(locked, 401, 'unauthorized', { json: { text: 'x' } });
  await refuses(plain, 403, 'forbidden', {}, '/v1/reload', 'POST', doc.paths['/v1/reload'].post);
  assert.equal((await refuses(plain, 413, 'text_too_long', { json: { texts: ['ok', 'x'.repeat(8193)] } })).pointer, '/texts/1');
  assert.equal((await refuses(plain, 413, 'text_too_long', { json: { text: 'x'.repeat(8193) } })).pointer, '/text');
  assert.equal((await refuses(plain, 413, 'text_too_long', { body: 'ok\nok\n' + 'x'.repeat(8193), type: 'text/plain' })).pointer, '/2');
  await refuses(plain, 413, 'too_many_texts', { json: { texts: Array(301).fill('x') } });
  await refuses(plain, 413, 'too_many_texts', { body: 'x\n'.repeat(301), type: 'text/plain' });
  await refuses(plain, 413, 'too_many_texts', { body: '"x"\n'.repeat(301), type: 'application/x-ndjson' });
  await refuses(plain, 413, 'body_too_large', { body: ' '.repeat(262145) + '{"text": "x"}', type: 'application/json' });
  for (const type of ['text/xml', 'application/jsonx', 'application', 'text/plainer', 'multipart/form-data; boundary=x', '/', ';'])
    await refuses(plain, 415, 'unsupported_media_type', { body: '{"text": "x"}', type });
  await refuses(locked, 422, 'no_examples', { json: { text: 'x', explain: true }, headers: bearer(tokens[0]) });
  await refuses(locked, 422, 'no_examples', { body: 'x', type: 'text/plain', headers: bearer(tokens[0]) }, '/v1/classify?explain=3');
  await refuses(locked, 404, 'no_map', { headers: bearer(tokens[0]) }, '/v1/map', 'GET', doc.paths['/v1/map'].get);
  await refuses(locked, 422, 'no_map', { json: { text: 'x', map: true }, headers: bearer(tokens[0]) });
});

await test('limits: values at the limit are accepted', async () => {
  assert.equal((await plain.classify({ text: 'x'.repeat(8192) })).status, 200);
  assert.equal((await plain.classify({ text: '\u00e9'.repeat(4096) })).status, 200);
  await refuses(plain, 413, 'text_too_long', { json: { text: '\u00e9'.repeat(4097) } }); // bytes, not characters
  assert.equal((await plain.classify({ texts: Array(300).fill('x') })).json.answers.length, 300);
  const body = '{"text": "x"}', room = 262144 - body.length;
  assert.equal((await plain.ask('POST', '/v1/classify', { body: ' '.repeat(room) + body, type: 'application/json' })).status, 200);
});

await test('a request past its deadline gets 504, and its texts leave the queue', async () => {
  const server = await Server.start([modelA, '--workers', '1', '--max-body', '64M', '--deadline', '5']);
  // Deadlines are checked ten times a second: the work must take longer than that.
  await attempts(5, async i => {
    const a = await server.classify({ texts: texts((slow ? 100 : 400) * (i + 1), 5, 16000), deadline_ms: 1 });
    if (a.status === 200) return 'done before the deadline was checked';
    refused(a, 504, 'deadline_exceeded');
    described(a, classify, '504');
    return true;
  }, 'a request past its deadline');
  refused(await server.classify({ text: 'x', deadline_ms: 5001 }), 400, 'bad_request', '/deadline_ms');
  assert.equal((await server.classify({ text: 'x', deadline_ms: 5000 })).status, 200);
  same((await server.classify({ text: 'how do i pay' })).json, predict(modelA, ['how do i pay'])[0]);
  await until(async () => metric(await metrics(server), 'ringfence_queue_texts') === 0 || 'not empty', 'the queue');
  await server.stop();
});

await test('a failed reload gets 422, and the old model stays', async () => {
  const file = write('served.rf', fs.readFileSync(modelA)), server = await Server.start([file, '--token-file', tokenFile]);
  fs.writeFileSync(scratch('broken.rf'), 'not a model');
  fs.renameSync(scratch('broken.rf'), file);
  const error = await refuses(server, 422, 'bad_model', { headers: bearer(tokens[0]) }, '/v1/reload', 'POST', doc.paths['/v1/reload'].post);
  assert.ok(error.message.includes('served.rf'), error.message);
  same((await server.classify({ text: 'how do i pay' }, { headers: bearer(tokens[0]) })).json, predict(modelA, ['how do i pay'])[0]);
  await server.stop();
});

// ---- Answers --------------------------------------------------------------------------

await test('answers equal those of `ringfence predict --json`', async () => {
  const all = [...texts(200), ...hostileTexts];
  const want = predict(modelA, all);
  same((await plain.classify({ texts: all.slice(0, 200) })).json.answers, want.slice(0, 200));
  for (const [i, text] of all.entries()) if (i >= 190) same((await plain.classify({ text })).json, want[i], JSON.stringify(text.slice(0, 50)));
  assert.ok(want.some(a => a.open) && want.some(a => !a.open), 'the texts prove nothing');
  same((await locked.classify({ texts: all.slice(0, 50) }, { headers: bearer(tokens[0]) })).json.answers, predict(modelB, all.slice(0, 50)));
});

await test('answers with top_k and explain equal those of --top and --explain', async () => {
  const all = texts(30, 2);
  for (const k of [0, 1, 3, 1000]) {
    same((await plain.classify({ texts: all, top_k: k })).json.answers, predict(modelA, all, '--top', String(k)), `top ${k}`);
    same((await plain.ask('POST', `/v1/classify?top_k=${k}`, { body: all.join('\n'), type: 'text/plain' })).json.answers, predict(modelA, all, '--top', String(k)), `top ${k} in the query`);
  }
  for (const k of [1, 7, 100]) same((await plain.classify({ texts: all, explain: k })).json.answers, predict(modelA, all, '--explain', String(k)), `explain ${k}`);
  same((await plain.classify({ texts: all, explain: true })).json.answers, predict(modelA, all, '--explain', '5'));
  same((await plain.classify({ texts: all, explain: false, top_k: 5, margins: 0, map: false })).json.answers, predict(modelA, all));
});

await test('fence: what predict --fence answers, for its own request alone', async () => {
  const all = texts(60, 4), fences = [-2, -0.5, 0, 0.75, 3], want = fences.map(x => predict(modelA, all, '--fence', String(x)));
  assert.ok(want[0].filter(a => a.open).length > want[4].filter(a => a.open).length, 'the fences prove nothing');
  same((await plain.classify({ texts: all, fence: -0.5 })).json.answers, want[1]);
  same((await plain.ask('POST', '/v1/classify?fence=0.75', { body: all.join('\n'), type: 'text/plain' })).json.answers, want[3]);
  same((await plain.ask('POST', '/v1/classify?fence=0.75', { json: { texts: all, fence: 3 } })).json.answers, want[4]);
  // at once, so that texts with several fences share batches
  const asked = all.flatMap((text, i) => fences.map((fence, k) => plain.classify({ text, fence }).then(a => same(a.json, want[k][i], `${fence}`))));
  await Promise.all(asked);
  same((await plain.classify({ texts: all })).json.answers, want[2]);
});

await test('margins: the requested number, largest first, consistent with the answer', async () => {
  const all = texts(60, 3), classes = predict(modelA, ['x'], '--top', '1000')[0].ranking.length;
  const full = (await plain.classify({ texts: all, margins: 1000 })).json.answers, some = (await plain.classify({ texts: all, margins: 2 })).json.answers;
  full.forEach(({ margins, ...rest }, i) => {
    assert.equal(margins.length, classes);
    assert.equal(new Set(margins.map(m => m.label)).size, classes);
    margins.slice(1).forEach((m, j) => assert.ok(m.margin <= margins[j].margin));
    same(margins.filter(m => m.margin >= 0), rest.accepted);
    same(margins.find(m => m.margin < 0) ?? null, rest.nearest_rejecting);
    assert.equal(margins[0].margin, rest.margin);
    same(some[i].margins, margins.slice(0, 2));
  });
});

await test('map: a training text falls on its own point, unless it is called open', async () => {
  const { labels, points } = (await plain.ask('GET', '/v1/map')).json;
  const rows = fs.readFileSync(scratch('a.jsonl'), 'utf8').trim().split('\n').map(l => JSON.parse(l));
  assert.deepEqual([...labels].sort(), [...new Set(rows.map(r => r.label))].sort());
  for (const [x, y, c] of points) assert.ok(Math.abs(x) <= 1 && Math.abs(y) <= 1 && Number.isInteger(c) && c < labels.length, `${x} ${y} ${c}`);
  const all = (await plain.classify({ texts: rows.map(r => r.text), map: true })).json.answers;
  const known = all.flatMap((a, i) => a.open ? [] : [i]), got = all.map(a => a.map);
  // Points have four digits; a row that was left out as a duplicate may fall beside them.
  const off = known.map(i => Math.min(...points.filter(p => labels[p[2]] === rows[i].label).map(p => Math.hypot(p[0] - got[i][0], p[1] - got[i][1]))));
  assert.ok(known.length > rows.length / 2 && off.filter(d => d < 1e-3).length >= 0.9 * known.length && Math.max(...off) < 0.05, off.map(d => d.toFixed(4)).join());
});

await test('text/plain: lines as `ringfence predict` reads them', async () => {
  const bodies = ['one\ntwo\n', 'one\ntwo', '\n', '\n\n', 'a\r\nb\r\n', hostileTexts.join('\n') + '\n', 'a\u0000b\n', '\ufeffone\n'];
  for (const body of bodies)
    for (const type of ['text/plain', 'text/plain; charset=utf-8', 'Text/Plain;charset=UTF-8']) {
      const a = await plain.ask('POST', '/v1/classify', { body, type });
      assert.equal(a.status, 200, a.text);
      const want = runProgram(['predict', modelA, '--json'], body).out.trim().split('\n').map(l => JSON.parse(l));
      same(a.json.answers, want, JSON.stringify(body.slice(0, 40)));
    }
  same((await plain.ask('POST', '/v1/classify', { body: '', type: 'text/plain' })).json.answers, []);
});

await test('a body without Content-Type is JSON; other parameters of the type are ignored', async () => {
  const want = predict(modelA, ['how do i pay'])[0], body = '{"text": "how do i pay"}';
  for (const type of [undefined, 'application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset=utf-8'])
    same((await plain.ask('POST', '/v1/classify', { body, type })).json, want, type);
});

await test('ndjson: strings and objects, lines in order', async () => {
  const all = [...texts(180, 4), ...hostileTexts], want = predict(modelA, all);
  const body = all.map((t, i) => JSON.stringify(i % 2 ? t : { text: t })).join('\n');
  for (const end of ['', '\n']) same((await plain.ask('POST', '/v1/classify', { body: body + end, type: 'application/x-ndjson' })).lines, want);
  same((await plain.ask('POST', '/v1/classify?top_k=2&explain=1', { body, type: 'application/x-ndjson' })).lines, predict(modelA, all, '--top', '2', '--explain', '1'));
  for (const accept of ['application/x-ndjson', 'text/html, application/x-ndjson;q=0.9'])
    same((await plain.classify({ texts: all.slice(0, 100) }, { headers: { Accept: accept } })).lines, want.slice(0, 100), accept);
  same((await plain.classify({ text: all[0] }, { headers: { Accept: 'application/x-ndjson' } })).lines, [want[0]]);
  same((await plain.ask('POST', '/v1/classify', { body: 'one\ntwo\n', type: 'text/plain', headers: { Accept: 'application/x-ndjson' } })).lines, predict(modelA, ['one', 'two']));
  assert.equal((await plain.classify({ texts: ['a'] }, { headers: { Accept: '*/*' } })).type, 'application/json');
  assert.equal((await plain.classify({ texts: ['a'] }, { headers: { Accept: 'application/json' } })).type, 'application/json');
});

await test('ndjson: a bad line is pointed out', async () => {
  const bad = async (lines, code, pointer) => refused(await plain.ask('POST', '/v1/classify', { body: lines.join('\n'), type: 'application/x-ndjson' }), 400, code, pointer);
  await bad(['"a"', '"b"', '3'], 'bad_request', /^\/2/);
  await bad(['"a"', '{"text": 1}'], 'bad_request', /^\/1/);
  await bad(['"a"', '{"texts": ["x"]}'], 'bad_request', /^\/1/);
  await bad(['"a"', '{"text": "x", "top_k": 1}'], 'bad_request', /^\/1/);
  await bad(['"a"', '', '"b'], 'bad_json', '/2');
  await bad(['null'], 'bad_request', /^\/0/);
  await bad(['"a" "b"'], 'bad_json', '/0');
  await bad(['"a"', '\u0000\u0000', '"b"'], 'bad_json', '/1');
});

await test('a stream sends its first line while later texts still wait', async () => {
  const server = await Server.start([modelA, '--workers', '1', '--threads', '1', '--max-body', '64M', '--deadline', '300']);
  await attempts(5, async i => {
    const all = texts((slow ? 60 : 250) * (i + 1), 6, 16000);
    let waiting = null; // texts in the queue when the first line was here
    const a = await server.ask('POST', '/v1/classify', { body: all.join('\n'), type: 'text/plain', headers: { Accept: 'application/x-ndjson' },
      onData: () => { waiting ??= metrics(server).then(m => metric(m, 'ringfence_queue_texts')); } });
    same(a.lines, predict(modelA, all));
    const left = await waiting;
    note(`${left} of ${all.length} texts waited when the first line had come`);
    return left > 0 || 'all texts were done';
  }, 'when the first line had come');
  await server.stop();
});

await test('concurrent requests get their own answers', async () => {
  const all = texts(300, 7), want = predict(modelA, all), agent = keepAlive(16);
  await Promise.all(all.map(async (text, i) => {
    const a = await plain.classify(i % 3 ? { text } : { texts: [text, all[(i + 1) % 300]] }, { agent });
    same(i % 3 ? a.json : a.json.answers, i % 3 ? want[i] : [want[i], want[(i + 1) % 300]]);
  }));
  agent.destroy();
});

await test('/v1/model reports the file, the limits and the model', async () => {
  const { model, server } = (await plain.ask('GET', '/v1/model')).json;
  assert.deepEqual([server.max_texts, server.max_text_bytes, server.max_body_bytes, server.deadline_ms, server.generation, server.examples], [300, 8192, 262144, 30000, 1, true]);
  assert.ok(server.file.endsWith('a.rf'), server.file);
  assert.ok(Date.parse(server.loaded) > begin - 2000 && Date.parse(server.loaded) <= Date.now(), server.loaded);
  assert.deepEqual(model, JSON.parse(runProgram(['inspect', modelA, '--json']).out));
  assert.equal(plain.threadNames().filter(n => n.startsWith('rf-worker')).length, server.workers);
  assert.equal((await locked.ask('GET', '/v1/model', { headers: bearer(tokens[0]) })).json.server.examples, false);
});

// ---- Access ---------------------------------------------------------------------------

await test('tokens: each one in the file is accepted, anything else is not', async () => {
  const wants = operations.filter(o => !(o.op.security && o.op.security.length === 0));
  assert.deepEqual(wants.map(o => o.target).sort(), ['/metrics', '/v1/classify', '/v1/drift', '/v1/fence', '/v1/labels', '/v1/labels', '/v1/map', '/v1/model', '/v1/reload', '/v1/review', '/v1/undo', '/v1/update', '/v1/update']);
  const wrong = [{}, ...['', ' ', tokens[0].slice(0, -1), tokens[0] + 'x', tokens[0].slice(1), tokens[0].toUpperCase(), '# comment line', 'comment line', tokens.join('\n').replace('\n', ' '), 'x'.repeat(5000), tokens[0] + ',' + tokens[1]].map(bearer),
    { Authorization: tokens[0] }, { Authorization: 'Basic ' + Buffer.from('a:' + tokens[0]).toString('base64') }, { Authorization: 'Bearer' }, { 'X-Token': tokens[0] }];
  for (const { target, method, op } of wants) {
    for (const headers of wrong) {
      const a = await locked.ask(method, target, { headers, ...(method === 'POST' ? { json: { text: 'x' } } : {}) });
      refused(a, 401, 'unauthorized');
      described(a, op, target);
      assert.match(a.headers['www-authenticate'], /^Bearer/);
    }
    for (const t of tokens) assert.notEqual((await locked.ask(method, target, { headers: bearer(t), ...(method === 'POST' ? { json: { text: 'x' } } : {}) })).status, 401, `${target} with ${t}`);
  }
  assert.equal((await locked.classify({ text: 'x' }, { headers: { Authorization: `bearer ${tokens[1]}` } })).status, 200, 'Bearer is case-insensitive');
  for (const target of ['/', '/healthz', '/readyz', '/openapi.json']) assert.equal((await locked.ask('GET', target)).status, 200, target);
  // A wrong token is refused before the body is parsed.
  refused(await locked.ask('POST', '/v1/classify', { body: '{', type: 'application/json' }), 401, 'unauthorized');
});

await test('a public address requires a token or --insecure', async () => {
  for (const address of ['0.0.0.0:0', '0.0.0.0:8080']) ends([modelA, '--listen', address], 2, '0.0.0.0', '--token-file', '--insecure');
  for (const more of [['--insecure'], ['--token-file', tokenFile]]) {
    const s = await Server.start([modelA, '--listen', '0.0.0.0:0', ...more]);
    assert.equal((await s.ask('GET', '/healthz')).status, 200);
    await s.stop();
  }
});

await test('bad token files are refused', async () => {
  ends([modelA, '--token-file', scratch('no-such-file')], 1, 'no-such-file');
  const shared = write('tokens-shared', tokens[0] + '\n');
  fs.chmodSync(shared, 0o602);
  ends([modelA, '--token-file', shared], 2, 'tokens-shared', 'mode 602', 'chmod 600');
  for (const [name, content] of [['tokens-empty', ''], ['tokens-comments', '# only\n\n'], ['tokens-nul', 'abc\0def\n']])
    ends([modelA, '--token-file', write(name, content)], 1, name);
});

await test('CORS: no headers by default, one origin with --allow-origin', async () => {
  const origin = 'https://shop.example', cors = a => Object.keys(a.headers).filter(h => h.startsWith('access-control-'));
  const preflight = { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization,content-type' };
  assert.deepEqual(cors(await plain.classify({ text: 'x' }, { headers: { Origin: origin } })), []);
  assert.deepEqual(cors(await plain.ask('OPTIONS', '/v1/classify', { headers: preflight })), []);
  const server = await Server.start([modelA, '--allow-origin', origin, '--token-file', tokenFile]);
  const p = await server.ask('OPTIONS', '/v1/classify', { headers: preflight });
  assert.equal(p.status, 204, p.text);
  assert.equal(p.text, '');
  assert.equal(p.headers['access-control-allow-origin'], origin);
  assert.ok(p.headers['access-control-allow-methods'].split(/,\s*/).includes('POST'));
  for (const h of ['authorization', 'content-type']) assert.ok(p.headers['access-control-allow-headers'].toLowerCase().split(/,\s*/).includes(h), h);
  const asks = [['POST', '/v1/classify', { json: { text: 'x' } }, tokens[0], 200], ['POST', '/v1/classify', { body: '{' }, tokens[0], 400], ['POST', '/v1/classify', { json: { text: 'x' } }, 'wrong', 401], ['GET', '/v1/model', {}, tokens[0], 200], ['GET', '/nope', {}, tokens[0], 404]];
  for (const [method, target, options, token, status] of asks) {
    const a = await server.ask(method, target, { ...options, headers: { Origin: origin, ...bearer(token) } });
    assert.equal(a.status, status);
    assert.equal(a.headers['access-control-allow-origin'], origin, `${status} of ${target}`);
    const other = await server.ask(method, target, { ...options, headers: { Origin: 'https://evil.example', ...bearer(token) } });
    assert.ok([undefined, origin].includes(other.headers['access-control-allow-origin']));
    if (other.headers['access-control-allow-origin'] === undefined) assert.match(a.headers.vary ?? '', /origin/i);
  }
  await server.stop();
});

// ---- TLS ------------------------------------------------------------------------------

await test('TLS: works with a certificate, and bad ones are refused', async () => {
  const make = (cert, key) => execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', scratch(key), '-out', scratch(cert)], { stdio: 'ignore' });
  make('cert.pem', 'key.pem');
  make('other-cert.pem', 'other-key.pem');
  const [cert, key] = [scratch('cert.pem'), scratch('key.pem')];
  const server = await Server.start([modelA, '--tls-cert', cert, '--tls-key', key]);
  assert.equal(server.scheme, 'https', server.log);
  const agent = new https.Agent({ keepAlive: true, maxSockets: 4, ca: fs.readFileSync(cert) }), all = texts(200, 8);
  const over = (method, target, options = {}) => server.ask(method, target, { ...options, module: https, agent });
  same((await over('POST', '/v1/classify', { json: { texts: all, margins: 1000 } })).json.answers.length, 200);
  const want = predict(modelA, all);
  await Promise.all(all.map(async (text, i) => same((await over('POST', '/v1/classify', { json: { text } })).json, want[i])));
  same((await over('POST', '/v1/classify', { body: all.join('\n'), type: 'text/plain', headers: { Accept: 'application/x-ndjson' } })).lines, want);
  await assert.rejects(server.ask('GET', '/healthz')); // plain HTTP on the HTTPS port
  await assert.rejects(server.ask('GET', '/healthz', { module: https }), /self.signed/); // without the authority
  assert.equal((await over('GET', '/healthz')).status, 200);
  const speaks = version => server.ask('GET', '/healthz', { module: https, extra: { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0', ca: fs.readFileSync(cert) } });
  for (const v of ['TLSv1.2', 'TLSv1.3']) assert.equal((await speaks(v)).status, 200, v);
  for (const v of ['TLSv1', 'TLSv1.1']) await assert.rejects(speaks(v), /before secure TLS|alert|protocol|version/i);
  const weak = ciphers => server.ask('GET', '/healthz', { module: https, extra: { maxVersion: 'TLSv1.2', ciphers: ciphers + ':@SECLEVEL=0', ca: fs.readFileSync(cert) } });
  assert.equal((await weak('ECDHE-RSA-AES128-GCM-SHA256')).status, 200);
  for (const c of ['AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA']) await assert.rejects(weak(c), /before secure TLS|alert/i, c);
  const level = server.fds(), half = tls.connect({ port: server.port, host: '127.0.0.1', ca: fs.readFileSync(cert) }), sent = [];
  half.on('data', d => sent.push(d)).write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nX:\r\n y\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise(r => half.once('close', r));
  assert.deepEqual([...String(Buffer.concat(sent)).matchAll(/^HTTP\/1.1 (\d+)/gm)].map(m => m[1]), ['200', '400'], 'a folded header ends the connection');
  for (let i = 0; i < 10; i++) {
    const c = tls.connect({ port: server.port, host: '127.0.0.1', ca: fs.readFileSync(cert) });
    c.write('GET /healthz HTTP/1.1\r\n', () => c.destroy());
    await new Promise(r => c.once('close', r));
  }
  await until(() => server.fds() <= level || server.fds(), `open files after half requests, wanted ${level}`);
  agent.destroy();
  await server.stop();
  ends([modelA, '--tls-cert', cert], 2, '--tls-key');
  ends([modelA, '--tls-key', key], 2, '--tls-cert');
  ends([modelA, '--tls-cert', scratch('no-cert.pem'), '--tls-key', key], 1, 'no-cert.pem');
  ends([modelA, '--tls-cert', cert, '--tls-key', scratch('no-key.pem')], 1, 'no-key.pem');
  ends([modelA, '--tls-cert', cert, '--tls-key', write('bad-key.pem', 'not a key\n')], 1, 'bad-key.pem');
  ends([modelA, '--tls-cert', write('bad-cert.pem', 'not a certificate\n'), '--tls-key', key], 1, 'bad-cert.pem');
  ends([modelA, '--tls-cert', cert, '--tls-key', scratch('other-key.pem')], 1, /cert\.pem|other-key\.pem/);
  ends([modelA, '--tls-cert', key, '--tls-key', cert], 1, /key\.pem|cert\.pem/);
});

await running({ plain, tokens, tokenFile });

await test('after all that both servers still answer, and exit with 0', async () => {
  assert.equal((await plain.classify({ text: 'x' })).status, 200);
  assert.equal((await locked.classify({ text: 'x' }, { headers: bearer(tokens[0]) })).status, 200);
  await plain.stop();
  await locked.stop();
  assert.equal(plain.out + locked.out, '', 'standard output must stay empty');
});

await test('every documented error code was seen', async () => {
  const elsewhere = ['queue_full', 'internal', 'shutting_down', 'out_of_memory', // faults.mjs
    'no_texts', 'bad_label', 'no_row', 'nothing_to_withdraw', 'busy', 'nothing_to_undo']; // review.mjs
  assert.deepEqual(doc.components.schemas.Error.properties.error.properties.code.enum.filter(c => !provoked.has(c) && !elsewhere.includes(c)), []);
});

await done();
