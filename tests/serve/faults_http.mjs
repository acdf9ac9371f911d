// faults_http.mjs - malformed HTTP, and limits on the size of requests
import assert from 'node:assert/strict';
import { classifyBytes, metric, metrics, modelA, predict, refused, request, Server, takeAnswer, test, texts, together, until } from './lib.mjs';
import { doubtful } from './smuggling.mjs';

export async function run() {
  const server = await Server.start([modelA, '--max-body', '256K', '--max-text', '8K', '--receive-timeout', '3', '--idle-timeout', '4']);
  // For requests that must be answered however slowly they arrive.
  const patient = await Server.start([modelA, '--max-body', '256K', '--max-text', '8K', '--receive-timeout', '300', '--idle-timeout', '300']);
  const fine = { text: 'how do i pay' }, want = predict(modelA, [fine.text])[0];
  const works = async () => assert.deepEqual((await server.classify(fine)).json, want);
  const head = (...lines) => ['POST /v1/classify HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', ...lines, '', ''].join('\r\n');
  const body = JSON.stringify(fine);

  // Sends the bytes and reads to the end: the server must answer once, not with 2xx, and close.
  async function rejected(bytes, what) {
    const c = await server.raw();
    c.send(bytes);
    const all = (await c.rest()).toString('latin1'), found = [...all.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(m => Number(m[1]));
    assert.ok(found.length === 1 && found[0] >= 400, `${what}: ${all.slice(0, 900)}`);
    return found[0];
  }
  const allRejected = cases => Promise.all(cases.map(([bytes, what]) => rejected(bytes, what)));

  await together([
    ['HTTP: ten requests in one packet, ten answers in order', async () => {
      const all = texts(10, 21), w = predict(modelA, all), c = await patient.raw();
      c.send(Buffer.concat(all.map(text => classifyBytes({ text }))));
      (await c.answers(10)).forEach((a, i) => assert.deepEqual(a.json, w[i]));
      c.send(Buffer.concat(all.flatMap((text, i) => [classifyBytes({ text }), request('GET', i % 2 ? '/healthz' : '/nope')])));
      (await c.answers(20)).forEach((a, i) => i % 2 ? assert.equal(a.status, (i - 1) / 2 % 2 ? 200 : 404) : assert.deepEqual(a.json, w[i / 2]));
      c.drop();
    }],
    ['HTTP: a request in pieces of one byte, and of any size', async () => {
      const c = await patient.raw(), bytes = classifyBytes(fine);
      for (const b of bytes) { c.send(Buffer.from([b])); await new Promise(setImmediate); }
      assert.deepEqual((await c.answer()).json, want);
      for (let cut = 1; cut < bytes.length; cut += 7) {
        c.send(bytes.subarray(0, cut));
        await new Promise(r => setTimeout(r, 2));
        c.send(bytes.subarray(cut));
        assert.deepEqual((await c.answer()).json, want);
      }
      c.drop();
    }],
    ['HTTP: chunks of any size', async () => {
      for (const size of [1, 3, 1000]) {
        const c = await patient.raw();
        c.send(head('Transfer-Encoding: chunked'));
        for (let i = 0; i < body.length; i += size) c.send(`${Buffer.byteLength(body.slice(i, i + size)).toString(16)}\r\n${body.slice(i, i + size)}\r\n`);
        c.send('0\r\n\r\n');
        assert.deepEqual((await c.answer()).json, want);
        c.drop();
      }
    }],
    ['HTTP: a client that shuts down its sending side is answered', async () => {
      for (const [bytes, check] of [[classifyBytes(fine), a => assert.deepEqual(a.json, want)], [request('GET', '/healthz'), a => assert.equal(a.status, 200)], [classifyBytes({ texts: texts(1500, 22, 12) }), a => assert.equal(a.json.answers.length, 1500)]]) {
        const c = await patient.raw();
        c.send(bytes).shut();
        check(await c.answer());
        c.drop();
      }
    }],
    ['HTTP: compressed bodies and other charsets are refused', async () => {
      const plain = headers => server.ask('POST', '/v1/classify', { body: 'how do i pay', headers: { 'Content-Type': 'text/plain', ...headers } });
      assert.equal((await plain({})).status, 200);
      assert.equal((await plain({ 'Content-Encoding': 'identity' })).status, 200);
      assert.equal((await plain({ 'Content-Type': 'text/plain; charset="UTF-8"' })).status, 200);
      for (const h of [{ 'Content-Encoding': 'gzip' }, { 'Content-Encoding': 'identity, br' }, { 'Content-Type': 'text/plain; charset=iso-8859-1' }]) refused(await plain(h), 415, 'unsupported_media_type');
    }],
    ['HTTP: of a full URL as the target only the path matters', async () => {
      const get = async target => { const c = await server.raw(); c.send(request('GET', target)); const a = await c.answer(); c.drop(); return a; };
      for (const target of ['http://127.0.0.1/healthz', 'HTTPS://x/healthz', 'http:///healthz']) assert.deepEqual((await get(target)).json, { status: 'ok' }, target);
      for (const target of ['http://?/healthz', 'http://x?/healthz', 'https://x']) assert.equal((await get(target)).type, 'text/html', target);
    }],
    ['HTTP: Connection: close is obeyed; HTTP/1.0 is answered and closed', async () => {
      for (const bytes of [classifyBytes(fine, { Connection: 'close' }), `POST /v1/classify HTTP/1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`]) {
        const c = await patient.raw();
        c.send(bytes);
        assert.deepEqual(takeAnswer(await c.rest()).json, want);
      }
    }],
    ['HTTP: headers beyond 32 KiB are refused', async () => {
      for (const h of ['X-Long: ' + 'x'.repeat(40000), 'X-Long: ' + 'x'.repeat(1000000), Array.from({ length: 3000 }, (_, i) => `X-${i}: y`).join('\r\n'), 'Cookie: ' + 'a=b; '.repeat(20000)]) {
        const a = await rejected(head(h, `Content-Length: ${body.length}`) + body, 'long headers');
        assert.ok([400, 431].includes(a), String(a));
      }
      const a = await rejected(`GET /${'x'.repeat(100000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 'long path');
      assert.ok([400, 414].includes(a), String(a));
      await rejected('x'.repeat(200000), 'no line at all');
    }],
    ['HTTP: a body beyond --max-body gets 413, with or without Content-Length', async () => {
      const big = '{"text": "' + 'x'.repeat(300000) + '"}';
      let c = await patient.raw();
      c.send(head(`Content-Length: ${big.length}`), big);
      refused(await c.answer(), 413, 'body_too_large', '');
      c.drop();
      c = await patient.raw();
      c.send(head('Transfer-Encoding: chunked'));
      for (let i = 0; i < big.length; i += 10000) c.send(`${big.slice(i, i + 10000).length.toString(16)}\r\n${big.slice(i, i + 10000)}\r\n`);
      c.send('0\r\n\r\n');
      refused(await c.answer(), 413, 'body_too_large', '');
      c.drop();
      // A much larger body must not be kept, and the client must still get the answer.
      c = await patient.raw();
      c.send(head(`Content-Length: ${30 << 20}`), Buffer.alloc(30 << 20, 32));
      refused(await c.answer(), 413, 'body_too_large', '');
      c.drop();
    }],
    ['HTTP: Expect: 100-continue', async () => {
      let c = await patient.raw();
      c.send(head('Expect: 100-continue', 'Content-Length: 300000'));
      refused(await c.answer(), 413, 'body_too_large'); // before the body is sent
      assert.ok(!c.continued, '100 for a body that is too large');
      c.drop();
      c = await patient.raw();
      c.send(head('Expect: 100-continue', `Content-Length: ${body.length}`));
      await c.some();
      c.send(body);
      assert.deepEqual((await c.answer()).json, want);
      assert.ok(c.continued, 'no 100');
      c.drop();
    }],
    ['HTTP: bad chunks are refused', async () => {
      const open = head('Transfer-Encoding: chunked'), hex = body.length.toString(16);
      const sizes = ['-1', '-5', 'ffffffffffffffff', 'fffffffffffffff0', '7fffffffffffffff', '10000000000000000', '1' + '0'.repeat(400), 'zz', '', ' ', '0x5', '+5', '5 5', '\0', '5'.repeat(20000)];
      const codings = ['gzip', 'gzip, chunked', 'chunked, gzip', 'xchunked', 'identity, chunked'];
      await allRejected([...sizes.map(size => [`${open}${size}\r\n${body}\r\n0\r\n\r\n`, `chunk of ${JSON.stringify(size.slice(0, 20))}`]),
        [`${open}${hex}\r\n${body}XX0\r\n\r\n`, 'no line end after a chunk'], [open + 'garbage garbage garbage\r\n'.repeat(5), 'garbage'],
        ...codings.map(coding => [head(`Transfer-Encoding: ${coding}`) + `${hex}\r\n${body}\r\n0\r\n\r\n`, coding])]);
    }],
    ['HTTP: bad Content-Length is refused', async () => {
      const lengths = ['-1', '-0', '+24', '0x18', '24x', 'x', '', '2 4', '24,25', '9223372036854775808', '18446744073709551640', '1' + '0'.repeat(400), '24.0', '2e1'];
      await allRejected([...lengths.map(n => [head(`Content-Length: ${n}`) + body, `Content-Length: ${n.slice(0, 30)}`]),
        ...[[24, 25], [25, 24], [0, 24], [24, 0]].map(([a, b]) => [head(`Content-Length: ${a}`, `Content-Length: ${b}`) + body + ' ', `Content-Length ${a} and ${b}`])]);
    }],
    ['HTTP: Content-Length with chunks never makes two requests', async () => {
      const hidden = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      for (const lines of [[`Content-Length: ${chunked.length + hidden.length}`, 'Transfer-Encoding: chunked'], ['Transfer-Encoding: chunked', `Content-Length: ${chunked.length + hidden.length}`]]) {
        const c = await server.raw();
        c.send(head(...lines) + chunked + hidden).shut();
        const all = (await c.rest()).toString('latin1');
        assert.ok(all.split('HTTP/1.1 ').length - 1 <= 1, all.slice(0, 900));
      }
    }],
    ['HTTP: what proxies read differently gets one answer, 400, and ends the connection', async () => {
      const all = doubtful('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await Promise.all(all.map(async bytes => assert.equal(await rejected(Buffer.from(bytes, 'latin1'), bytes.slice(0, 90)), 400)));
      const c = await patient.raw(); // the one before is answered
      c.send(request('GET', '/healthz'), Buffer.concat([request('GET', '/healthz'), classifyBytes(fine), Buffer.from(all[0], 'latin1')]));
      const [first, second, third, fourth] = await c.answers(4);
      assert.deepEqual([first.status, second.status, third.json], [200, 200, want]);
      refused(fourth, 400, 'bad_request', '');
      assert.equal((await c.rest()).length, 0);
      assert.ok(metric(await metrics(patient), 'ringfence_requests_total', { endpoint: 'other', code: 400 }) >= 1);
    }],
    ['HTTP: after the last request of a client that sends no more, the connection is closed', async () => {
      for (const bytes of [request('GET', '/healthz'), classifyBytes(fine)]) {
        const c = await patient.raw();
        c.send(Buffer.concat(Array(10).fill(bytes))).shut();
        (await c.answers(10)).forEach(a => assert.equal(a.status, 200));
        assert.equal((await c.rest()).length, 0);
      }
    }],
    ['HTTP: malformed request lines and headers', async () => {
      const closes = async bytes => { const c = await server.raw(); c.send(Buffer.from(bytes, 'latin1')).shut(); await c.rest(); };
      const lines = ['', 'GET', 'GET /', 'GET / HTTP/9.9', 'GET / HTTP/2.0', 'GET / FTP/1.1', 'GET  /  HTTP/1.1', '\0\0\0\0', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'PRI * HTTP/2.0', 'G\0T / HTTP/1.1', ' GET / HTTP/1.1'];
      const headers = ['X', ': x', 'X y: z', '\0: x', 'X: a\0b', ' X: y'];
      await Promise.all([...lines.map(l => closes(l + '\r\n\r\n')), ...headers.map(h => closes(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${h}\r\n\r\n`))]);
      await works();
    }],
    ['HTTP: clients that disconnect in the middle of headers, a body or an answer', async () => {
      const bytes = classifyBytes(fine), big = classifyBytes({ texts: texts(1000, 23), margins: 1000 });
      for (let i = 0; i < 60; i++) {
        for (const part of [bytes.subarray(0, 1 + 2 * i), bytes.subarray(0, bytes.length - 1 - i % 20), bytes, big.subarray(0, big.length - 100)]) {
          const c = await server.raw();
          c.send(part);
          if (i % 3 === 0) await new Promise(setImmediate);
          i % 2 ? c.reset() : c.drop();
        }
        if (i % 6 === 0) {
          const c = await server.raw();
          c.send(big);
          await c.some();
          c.reset();
        }
      }
      await works();
    }],
  ]);

  await test('HTTP: after all that it still answers, holds no connection, and exits with 0', async () => {
    await works();
    const names = server.threadNames();
    assert.ok(names.some(n => n.startsWith('rf-worker')), names.join());
    const idle = await Server.start([modelA]), level = idle.fds();
    await idle.stop();
    await until(() => server.fds() <= level || server.fds(), `open files, wanted ${level}`);
    await server.stop();
    await patient.stop();
  });
}
