// api_running.mjs - operating the service: metrics, log, start
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { bearer, dir, ends, metric, metrics, modelA, modelB, predict, readMetrics, scratch, Server, test, texts, together, until, write } from './lib.mjs';

// plain: a server that listens; tokens: those in tokenFile
export async function running({ plain, tokens, tokenFile }) {
  // ---- Metrics and log ------------------------------------------------------------------

  await test('/metrics: valid format, correct counts', async () => {
    const begin = performance.now(), s = await Server.start([modelA]), all = texts(40, 9), want = predict(modelA, all);
    for (let i = 0; i < 10; i++) await s.classify({ text: all[i] });
    await s.classify({ texts: all.slice(10, 25) });
    await s.ask('POST', '/v1/classify', { body: all.slice(25).join('\n'), type: 'text/plain', headers: { Accept: 'application/x-ndjson' } });
    for (let i = 0; i < 3; i++) await s.ask('POST', '/v1/classify', { body: '{', type: 'application/json' });
    await s.ask('POST', '/v1/classify', { body: 'x', type: 'text/xml' });
    await s.ask('PUT', '/v1/classify', { body: 'x' });
    await s.ask('GET', '/nope');
    await s.ask('GET', '/v1/model');
    await s.ask('GET', '/healthz');
    await s.ask('POST', '/v1/reload');
    // A batch is counted after its answers are given.
    let m, looks = 0;
    await until(async () => { m = await metrics(s); looks++; return metric(m, 'ringfence_batch_seconds_sum') > 0 && metric(m, 'ringfence_batch_texts_sum') === 40 && metric(m, 'ringfence_batch_seconds_count') === metric(m, 'ringfence_batch_texts_count') || metric(m, 'ringfence_batch_texts_sum'); }, 'texts in batches, wanted 40');
    const a = await s.ask('GET', '/metrics');
    assert.equal(a.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    m = readMetrics(a.text);
    const wanted = { ringfence_requests_total: 'counter', ringfence_request_seconds: 'histogram', ringfence_batch_texts: 'histogram', ringfence_batch_seconds: 'histogram', ringfence_queue_texts: 'gauge', ringfence_texts_total: 'counter', ringfence_open_total: 'counter', ringfence_answers_total: 'counter', ringfence_connections: 'gauge', ringfence_requests_active: 'gauge', ringfence_reloads_total: 'counter', ringfence_model_generation: 'gauge', ringfence_models_in_memory: 'gauge', ringfence_uptime_seconds: 'gauge', ringfence_log_lines_lost_total: 'counter', process_resident_memory_bytes: 'gauge' };
    assert.deepEqual(Object.fromEntries(Object.entries(m).filter(([k]) => k in wanted).map(([k, f]) => [k, f.type])), Object.fromEntries(Object.keys(m).filter(k => k in wanted).map(k => [k, wanted[k]])));
    for (const name of Object.keys(wanted)) assert.ok(m[name], `no ${name}`);
    const total = (part, code) => m.ringfence_requests_total.samples.filter(x => x.labels.endpoint.includes(part) && x.labels.code === String(code)).reduce((n, x) => n + x.value, 0);
    for (const x of m.ringfence_requests_total.samples) assert.deepEqual(Object.keys(x.labels).sort(), ['code', 'endpoint']);
    assert.deepEqual([total('classify', 200), total('classify', 400), total('classify', 415), total('classify', 405)], [12, 3, 1, 1]);
    assert.deepEqual([total('model', 200), total('healthz', 200), total('reload', 403), total('', 404), total('metrics', 200)], [1, 1, 1, 1, looks]);
    assert.equal(metric(m, 'ringfence_texts_total'), 40);
    assert.equal(metric(m, 'ringfence_open_total'), want.filter(x => x.open).length);
    for (const label of new Set(want.map(x => x.label))) assert.equal(metric(m, 'ringfence_answers_total', { label }), want.filter(x => x.label === label).length, label);
    assert.equal(metric(m, 'ringfence_answers_total'), 40);
    assert.equal(metric(m, 'ringfence_batch_texts_sum'), 40);
    assert.equal(metric(m, 'ringfence_batch_texts_count'), metric(m, 'ringfence_batch_seconds_count'));
    const counted = metric(m, 'ringfence_request_seconds_count');
    assert.ok(counted >= 12 && counted <= 17, `${counted} requests of classify`);
    assert.equal(metric(m, 'ringfence_queue_texts'), 0);
    assert.ok(metric(m, 'ringfence_requests_active') <= 1);
    assert.ok(metric(m, 'ringfence_connections') >= 1);
    assert.equal(metric(m, 'ringfence_model_generation'), 1);
    assert.deepEqual(m.ringfence_reloads_total.samples.map(x => [x.labels.result, x.value]).sort(), [['failed', 0], ['ok', 0]]);
    assert.ok(metric(m, 'ringfence_uptime_seconds') > 0 && metric(m, 'ringfence_uptime_seconds') <= (performance.now() - begin) / 1000);
    assert.ok(Math.abs(metric(m, 'process_resident_memory_bytes') / 1048576 - s.rss()) < 0.2 * s.rss());
    await s.stop();
  });

  // Sends requests of all kinds that could leave a trace, and returns the log.
  async function logged(...options) {
    const s = await Server.start([modelA, '--token-file', tokenFile, ...options]), h = bearer(tokens[0]);
    await s.classify({ text: 'secret-one' }, { headers: h });
    await s.classify({ texts: ['secret-two', 'three\nringfence: listening on http://evil.example:1', '\u001b[31mred\u0007'] }, { headers: h });
    await s.ask('POST', '/v1/classify?top_k=2', { body: 'secret-four\n', type: 'text/plain', headers: h });
    await s.ask('POST', '/v1/classify', { body: '"secret-five"\n', type: 'application/x-ndjson', headers: h });
    await s.classify({ texts: ['secret-six', 7] }, { headers: h });
    await s.ask('POST', '/v1/classify', { body: '{"text": "secret-seven', type: 'application/json', headers: h });
    await s.classify({ 'secret-eight': 1 }, { headers: h });
    await s.classify({ text: 'secret-nine' }, { headers: bearer('wrong-token-xyz') });
    await s.ask('GET', '/nope-path', { headers: h });
    await s.ask('POST', '/v1/reload', { headers: h });
    s.signal('SIGHUP');
    await until(async () => metric(await metrics(s, { headers: h }), 'ringfence_reloads_total', { result: 'ok' }) === 2 || 'not done', 'a reload');
    await s.stop();
    const log = s.log + s.out;
    for (const t of [...tokens, 'wrong-token-xyz']) assert.ok(!log.includes(t), `a token in the log: ${log}`);
    assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f]/.test(log), 'control characters in the log');
    assert.equal(log.split('\n').filter(l => l.startsWith('ringfence: listening')).length, 1, log);
    return log;
  }

  await together([
    ['log: neither texts nor requests by default', async () => {
      const log = await logged();
      assert.ok(!log.includes('secret-') && !log.includes('/v1/classify'), log);
    }],
    ['--access-log: a line per request, without texts', async () => {
      const log = await logged('--access-log');
      assert.ok(!log.includes('secret-'), log);
      const lines = log.split('\n').filter(l => l.includes('ringfence: request '));
      assert.equal(lines.filter(l => !l.includes(' path=/metrics')).length, 10, log);
      for (const [target, status, n] of [['/v1/classify', 200, 4], ['/v1/classify', 400, 3], ['/v1/classify', 401, 1], ['/v1/reload', 200, 1], ['', 404, 1]])
        assert.equal(lines.filter(l => l.includes(` path=${target}`) && l.includes(` status=${status} `)).length, n, `${target} ${status}: ${log}`);
    }],
    ['--log-texts: texts and answers', async () => {
      const log = await logged('--access-log', '--log-texts');
      for (const n of ['one', 'two', 'four', 'five']) assert.ok(log.includes('secret-' + n), n);
      assert.ok(!log.includes('secret-nine'), 'a text of a client without a token');
    }],
  ]);

  // ---- Start ----------------------------------------------------------------------------

  await test('bad options: exit code 2, and the option is named', async () => {
    const options = ['workers', 'threads', 'batch-tokens', 'max-body', 'max-text', 'max-texts', 'queue', 'deadline', 'max-connections', 'idle-timeout', 'receive-timeout', 'send-timeout'];
    for (const o of options) for (const v of ['-1', 'x', '', '1x', '99999999999999999999']) ends([modelA, `--${o}`, v], 2, `--${o}`);
    for (const o of ['drain', 'max-per-address']) for (const v of ['-1', 'x', '']) ends([modelA, `--${o}`, v], 2, `--${o}`);
    for (const o of ['max-body', 'max-text', 'max-texts', 'queue', 'deadline', 'max-connections']) ends([modelA, `--${o}`, '0'], 2, `--${o}`);
    for (const v of ['', 'x', ':', '127.0.0.1', '127.0.0.1:', '127.0.0.1:x', '127.0.0.1:65536', '127.0.0.1:-1', '300.0.0.1:80', '127.0.0.1:80:80']) ends([modelA, '--listen', v], 2, '--listen');
    ends([modelA, '--no-such-option'], 2, '--no-such-option');
    ends([], 2, /MODEL|model/);
    ends([modelA, modelB], 2, 'b.rf');
  }, 300);

  await test('a bad model file: exit code 1, and the file is named', async () => {
    ends([scratch('no-such.rf')], 1, 'no-such.rf');
    ends([write('none.rf', 'not a model')], 1, 'none.rf');
    ends([write('empty.rf', '')], 1, 'empty.rf');
    ends([write('cut.rf', fs.readFileSync(modelA).subarray(0, fs.statSync(modelA).size / 2))], 1, 'cut.rf');
    ends([dir], 1, path.basename(dir));
  });

  await test('a port in use: exit code 1, and the address is named', async () => ends([modelA, '--listen', `127.0.0.1:${plain.port}`], 1, `127.0.0.1:${plain.port}`));

  await test('an address of another machine: exit code 1, and it is named', async () => ends([modelA, '--insecure', '--listen', '203.0.113.7:80'], 1, '203.0.113.7'));
}
