// faults_json.mjs - malformed and unusual bodies
import assert from 'node:assert/strict';
import { modelA, predict, refused, runProgram, Server, test } from './lib.mjs';

const raw = (server, body, type = 'application/json', target = '/v1/classify') => server.ask('POST', target, { body: Buffer.isBuffer(body) ? body : Buffer.from(body), type });
const bytes = (...parts) => Buffer.concat(parts.map(p => typeof p === 'number' ? Buffer.from([p]) : Buffer.from(p)));

export async function run() {
  const server = await Server.start([modelA]);
  const bad = async (body, code, pointer) => {
    const a = await raw(server, body);
    assert.equal(a.status, 400, `${String(body).slice(0, 60)}: ${a.status} ${a.text.slice(0, 200)}`);
    if (code instanceof RegExp) assert.match(a.json.error.code, code, String(body).slice(0, 60));
    refused(a, 400, code instanceof RegExp ? a.json.error.code : code, pointer);
    return a.json.error;
  };
  const same = async (body, text) => {
    const a = await raw(server, body);
    assert.equal(a.status, 200, `${String(body).slice(0, 60)}: ${a.text}`);
    assert.deepEqual(a.json, predict(modelA, [text])[0]);
  };

  await test('JSON: not JSON at all', async () => {
    for (const body of ['', ' ', '\n', '{', '}', '{"text"', '{"text":', '{"text": "x"', '{"text": "x",}', "{'text': 'x'}", '{text: "x"}', '{"text": "x"}}', '{"text": "x"} {"text": "y"}', '{"text": "x"}x', '{"text": undefined}', '{"text": NaN}', '// c\n{"text": "x"}',
      '{"text": "a\nb"}', '{"text": "a\tb"}', '{"text": "\\x41"}', '{"text": "\\u12"}', '{"text": "\\uZZZZ"}', '\u0000', 'nul', '[1,', '{"a" "b"}', '{"text": 01}'])
      await bad(body, 'bad_json', '');
  });
  await test('JSON: wrong structure', async () => {
    for (const body of ['null', 'true', '3', '"x"', '[]', '["x"]', '[{"text": "x"}]', '{}', '{"top_k": 3}', '{"text": "x", "texts": ["y"]}']) await bad(body, 'bad_request', '');
  });
  await test('JSON: wrong types, each with its pointer', async () => {
    const wrong = { text: [null, 3, true, [], {}, ['x']], texts: [null, 3, true, {}, 'x'], top_k: [null, 'x', '3', true, [], {}, 1.5], margins: [null, 'x', true, [], {}, 0.5], explain: [null, 'x', 'true', [], {}, 2.5], map: [null, 'x', 1, 0, [], {}], store: [null, 'x', 1, 0, [], {}], fence: [null, 'x', '1', true, [], {}, 1e7, -1000001], deadline_ms: [null, 'x', true, [], {}, 10.5] };
    for (const [key, values] of Object.entries(wrong))
      for (const v of values) await bad(JSON.stringify({ ...(key.startsWith('text') ? {} : { text: 'x' }), [key]: v }), 'bad_request', '/' + key);
    for (const v of [null, 3, true, [], {}]) await bad(JSON.stringify({ texts: ['a', 'b', v, 'c'] }), 'bad_request', '/texts/2');
  });
  await test('JSON: numbers out of range, for every option', async () => {
    const range = { top_k: [-1, 1001], margins: [-1, 1001], explain: [-1, 0, 101], deadline_ms: [-1, 0, 30001] };
    const huge = ['2147483648', '4294967296', '4294967297', '9223372036854775807', '-9223372036854775808', '9223372036854775808', '18446744073709551617', '1' + '0'.repeat(400), '-1' + '0'.repeat(400), '1e999', '-1e999', '1e9', '3.0', '1e-999', '5e0'];
    for (const [key, values] of Object.entries(range)) {
      for (const v of values) await bad(`{"text": "x", "${key}": ${v}}`, 'bad_request', '/' + key);
      for (const v of huge) {
        const e = await bad(`{"text": "x", "${key}": ${v}}`, /^bad_(request|json)$/);
        if (e.code === 'bad_request') assert.equal(e.pointer, '/' + key);
      }
    }
    for (const [target, part] of Object.entries({ top_k: range.top_k, margins: range.margins, explain: range.explain, deadline_ms: range.deadline_ms }))
      for (const v of [...part, ...huge, '', 'x', '1x', ' 1', '%201', '0x1', '1;2', '+1', '1%00', '%001', '1%00x'])
        refused(await raw(server, 'x', 'text/plain', `/v1/classify?${target}=${v.toString().replace(' ', '+')}`), 400, 'bad_request');
    for (const query of ['nope=1', 'map=1', 'map=maybe', 'map', 'fence', 'fence=', 'fence=x', 'fence=nan', 'fence=inf', 'fence=0x1', 'fence=1e9', 'fence=1-', 'fence=true', 'top_k', '=', 'top_k=1&nope=2', 'TOP_K=1']) refused(await raw(server, 'x', 'text/plain', '/v1/classify?' + query), 400, 'bad_request');
    assert.equal((await raw(server, '{"text": "x"}', 'application/json', '/v1/classify?top_k=1')).json.ranking.length, 1);
    assert.equal((await raw(server, '{"text": "x", "top_k": 2}', 'application/json', '/v1/classify?top_k=1')).json.ranking.length, 2);
  });
  await test('JSON: -0 is 0', async () => {
    assert.deepEqual((await raw(server, '{"text": "x", "top_k": -0}')).json, predict(modelA, ['x'], '--top', '0')[0]);
  });
  await test('JSON: duplicate and unknown keys', async () => {
    for (const body of ['{"text": "x", "text": "y"}', '{"text": "x", "top_k": 1, "top_k": 1}', '{"text": "x", "te\\u0078t": "y"}']) await bad(body, 'bad_json');
    await bad('{"text": "x", "nope": 1}', 'bad_request', '/nope');
    await bad('{"text": "x", "": 1}', 'bad_request', '/');
    await bad('{"text": "x", "Text": "y"}', 'bad_request', '/Text');
    await bad('{"text": "x", "a/b": 1}', 'bad_request', '/a~1b');
    await bad('{"text": "x", "a~b": 1}', 'bad_request', '/a~0b');
    // Long keys may be cut, but not in the middle of a character.
    for (const key of ['\u00e9'.repeat(60), 'a' + '\u00e9'.repeat(60), '\u{1f600}'.repeat(40), 'ab\u6587'.repeat(40), 'k'.repeat(100000)]) {
      const e = await bad(JSON.stringify({ text: 'x', [key]: 1 }), 'bad_request');
      assert.ok(!e.message.includes('\ufffd') && !e.pointer.includes('\ufffd'), `cut in a character: ${e.pointer}`);
      assert.ok(e.message.length < 1000 && ('/' + key).startsWith(e.pointer.replace(/(\.\.\.|\u2026)$/, '')), e.pointer.slice(0, 100));
    }
    const e = await bad('{"text": "x", "\\u001b[31m\\n\\"<b>": 1}', 'bad_request');
    assert.equal(e.pointer, '/\u001b[31m\n"<b>');
    await bad('{"text": "x", "te\\u0000xt": 1}', /^bad_(request|json)$/);
    await bad('{"text\\u0000": "x"}', /^bad_(request|json)$/);
  });
  await test('JSON: nested 100,000 deep', async () => {
    for (const body of ['['.repeat(100000), '['.repeat(100000) + ']'.repeat(100000), '{"text": ' + '['.repeat(100000) + ']'.repeat(100000) + '}', '{"a":'.repeat(100000) + '1' + '}'.repeat(100000), '{"texts": [' + '['.repeat(100000)]) await bad(body, 'bad_json');
    refused(await raw(server, '['.repeat(100000), 'application/x-ndjson'), 400, 'bad_json', '/0');
  });
  await test('JSON: a text may hold NUL as \\u0000, but not as a byte', async () => {
    await same('{"text": "a\\u0000b"}', 'a\0b');
    await same('{"text": "\\u0000"}', '\0');
    await bad(bytes('{"text": "a', 0, 'b"}'), 'bad_json');
    await bad(bytes('{"text": "ab"}', 0), 'bad_json');
    await bad(bytes(0, '{"text": "ab"}'), 'bad_json');
  });
  await test('JSON: surrogates only in pairs', async () => {
    await same('{"text": "\\ud83d\\ude00"}', '\u{1f600}');
    for (const s of ['\\ud83d', '\\ude00', '\\ud83dx', '\\ud83d\\ud83d', '\\ude00\\ud83d', '\\ud83d\\n']) await bad(`{"text": "${s}"}`, 'bad_json');
  });
  await test('JSON: not UTF-8', async () => {
    for (const b of [[0xff], [0x80], [0xc3], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x80, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82], [0xfe, 0xff]]) {
      await bad(bytes('{"text": "a', Buffer.from(b), 'b"}'), 'bad_json');
      await bad(bytes('{"a', Buffer.from(b), '": 1}'), 'bad_json');
      refused(await raw(server, bytes('"ok"\n"a', Buffer.from(b), '"\n'), 'application/x-ndjson'), 400, 'bad_json', '/1');
    }
    await bad(Buffer.from('{"text": "x"}', 'utf16le'), 'bad_json');
  });
  await test('JSON: a byte order mark is not JSON', async () => {
    await bad('\ufeff{"text": "x"}', 'bad_json');
    await same('{"text": "\ufeffx"}', '\ufeffx');
  });
  await test('text/plain that is not UTF-8 is read as `ringfence predict` reads it', async () => {
    const body = bytes('caf', 0xe9, '\n', 0xff, 0xfe, '\nfine\n'), a = await raw(server, body, 'text/plain');
    assert.equal(a.status, 200, a.text);
    const want = runProgram(['predict', modelA, '--json'], body).out.trim().split('\n').map(l => JSON.parse(l));
    assert.deepEqual(a.json.answers, want);
  });
  await test('JSON: unusual but valid', async () => {
    await same(' \r\n\t{ "text" : "x" } \n', 'x');
    await same('{"\\u0074ext": "x"}', 'x');
    await same('{"text": "\\/\\"\\\\\\b\\f\\n\\r\\t"}'.replace('\\n', ''), '/"\\\b\f\r\t');
    assert.equal((await raw(server, '{"texts": []}')).status, 200);
    for (let i = 0; i < 50; i++) assert.deepEqual((await raw(server, '{"texts": []}')).json, { answers: [] });
    assert.equal((await raw(server, '\n \n', 'application/x-ndjson')).status, 200);
  });
  await test('JSON: after all that it still answers, and exits with 0', async () => {
    await same('{"text": "how do i pay"}', 'how do i pay');
    await server.stop();
  });
}
