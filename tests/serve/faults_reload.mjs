// faults_reload.mjs - replacing the model file under load, by good and by bad ones
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { attempts, dir, metric, metrics, modelA, modelB, note, predict, refused, request, scaled, Server, slow, test, texts, until } from './lib.mjs';
import { load, settled } from './load.mjs';

const token = 'reload-token-0123456789', headers = { Authorization: `Bearer ${token}` };
const served = path.join(dir, 'reloaded.rf'), tokenFile = path.join(dir, 'reload-token');
const bytes = { a: fs.readFileSync(modelA), b: fs.readFileSync(modelB) };

// Replaces the served file atomically.
function put(content) {
  fs.writeFileSync(served + '.new', content);
  fs.renameSync(served + '.new', served);
}
const about = async s => (await s.ask('GET', '/v1/model', { headers })).json.server;
const maps = s => fs.readFileSync(`/proc/${s.pid}/maps`, 'utf8').split('\n').length;

export async function run() {
  fs.rmSync(served, { recursive: true, force: true }); // of an aborted run
  fs.writeFileSync(tokenFile, token + '\n');
  const all = texts(60, 41), want = { a: predict(modelA, all), b: predict(modelB, all) }, explained = predict(modelA, all, '--explain', '2');
  for (const k of ['a', 'b']) want[k] = want[k].map(x => JSON.stringify(x));
  const rounds = scaled(100);

  await test('reload: 100 times under load, by signal and by request, every answer accounted for', async () => {
    put(bytes.a);
    const s = await Server.start([served, '--token-file', tokenFile]);
    const seen = { a: 0, b: 0, refused: 0 }, isOne = (x, i) => {
      const text = JSON.stringify(x), which = ['a', 'b'].find(k => want[k][i] === text);
      assert.ok(which, `an answer of neither model: ${text.slice(0, 300)}`);
      seen[which]++;
    };
    let n = 0;
    const clients = load(4, s.port, who => {
      const i = n++ % 60;
      if (who === 0) return { body: { texts: all }, headers, right: a => { assert.equal(a.status, 200, a.text); a.json.answers.forEach(isOne); } };
      if (who === 1) return { body: { texts: all }, headers: { ...headers, Accept: 'application/x-ndjson' }, right: a => { assert.equal(a.status, 200, a.text); assert.equal(a.lines.length, 60); a.lines.forEach(isOne); } };
      // One of the two models has examples: the result is an answer or 422.
      if (who === 2) return { body: { text: all[i], explain: 2 }, headers, right: a => { if (a.status === 200) assert.deepEqual(a.json, explained[i]); else { refused(a, 422, 'no_examples'); seen.refused++; } } };
      return { body: { text: all[i] }, headers, right: a => { assert.equal(a.status, 200, a.text); isOne(a.json, i); } };
    });
    let early = null;
    for (let i = 1; i <= rounds; i++) {
      const k = i % 2 ? 'b' : 'a';
      put(bytes[k]);
      if (i % 4 < 2) {
        const a = await s.ask('POST', '/v1/reload', { headers });
        assert.equal(a.status, 200, a.text);
        assert.deepEqual([a.json.generation, path.basename(a.json.file)], [i + 1, 'reloaded.rf']);
      } else {
        s.signal('SIGHUP');
        await until(async () => (await about(s)).generation === i + 1 || (await about(s)).generation, `generation, wanted ${i + 1}`);
      }
      // From now on the new model answers.
      assert.equal(JSON.stringify((await s.classify({ text: all[i % 60] }, { headers })).json), want[k][i % 60], `after reload ${i}`);
      if (i === Math.ceil(rounds / 5)) early = { rss: s.rss(), fds: s.fds(), maps: maps(s), threads: s.threads() };
    }
    const counts = await settled(clients);
    note(`${rounds} reloads, ${counts.answered} requests answered (${seen.a} texts by one model, ${seen.b} by the other, ${seen.refused} without examples), 0 lost`);
    assert.ok(seen.a > 100 && seen.b > 100, 'too little load to prove anything');
    let m; // a reload is counted just after it takes effect
    await until(async () => { m = await metrics(s, { headers }); return metric(m, 'ringfence_reloads_total', { result: 'ok' }) >= rounds || 'fewer'; }, 'reloads counted');
    assert.equal(metric(m, 'ringfence_reloads_total', { result: 'ok' }), rounds);
    assert.equal(metric(m, 'ringfence_reloads_total', { result: 'failed' }), 0);
    assert.equal(metric(m, 'ringfence_model_generation'), rounds + 1);
    await until(() => s.fds() <= early.fds || s.fds(), `open files, wanted ${early.fds}`);
    assert.equal(s.threads(), early.threads);
    note(`RSS ${early.rss.toFixed(1)} MiB after a fifth of them, ${s.rss().toFixed(1)} at the end`);
    if (!slow) await until(() => s.rss() < early.rss + 16 || s.rss(), `RSS in MiB, wanted ${early.rss} + 16`);
    if (!slow) await until(() => maps(s) <= early.maps + 12 || maps(s), `mappings, wanted ${early.maps} + 12`);
    await s.stop();
  }, 240);

  await test('reload: ten requests and fifty signals at once end with the newest file', async () => {
    put(bytes.a);
    const s = await Server.start([served, '--token-file', tokenFile]);
    for (let i = 0; i < 50; i++) s.signal('SIGHUP');
    const got = await Promise.all(Array.from({ length: 10 }, () => s.ask('POST', '/v1/reload', { headers })));
    for (const a of got) assert.equal(a.status, 200, a.text);
    const numbers = got.map(a => a.json.generation);
    assert.ok(Math.max(...numbers) > 1 && Math.max(...numbers) <= 61, numbers.join());
    put(bytes.b);
    assert.equal((await s.ask('POST', '/v1/reload', { headers })).status, 200);
    assert.equal(JSON.stringify((await s.classify({ text: all[0] }, { headers })).json), want.b[0]);
    await s.stop();
  });

  await test('reload: requested by a client that shuts down its sending side', async () => {
    const s = await Server.start([served, '--token-file', tokenFile]);
    for (let i = 2; i < 7; i++) {
      const c = await s.raw();
      s.signal('SIGSTOP'); // so that the request and the shutdown arrive together
      await c.send(request('POST', '/v1/reload', headers)).shut().finished;
      s.signal('SIGCONT');
      assert.equal((await c.answer()).json.generation, i);
      c.drop();
    }
    await s.stop();
  });

  await test('reload during a batch: the old model is freed when the batch is done', async () => {
    put(bytes.a);
    const s = await Server.start([served, '--token-file', tokenFile, '--workers', '1', '--threads', '1', '--max-body', '64M', '--batch-tokens', '1000000']);
    const models = async () => metric(await metrics(s, { headers }), 'ringfence_models_in_memory');
    await attempts(6, async i => {
      const before = s.workerTicks(), busy = s.classify({ texts: texts((slow ? 50 : 250) * (i + 1), 34, 12000) }, { headers });
      await until(() => s.workerTicks() > before + 1 || 'idle', 'the worker'); // has begun the batch
      assert.equal((await s.ask('POST', '/v1/reload', { headers })).json.generation, i + 2);
      const held = await models(); // 1, if the batch was done before the reload
      assert.equal((await busy).status, 200);
      await until(async () => (await models()) === 1 || (await models()), 'models in memory');
      return held === 2 || `${held} in memory`;
    }, 'models during the batch');
    await s.stop();
  });

  await test('reload: overwriting, truncating or removing the file does no harm', async () => {
    put(bytes.a);
    const s = await Server.start([served, '--token-file', tokenFile]);
    const same = async () => {
      const a = (await s.classify({ texts: all, explain: 2 }, { headers })).json.answers;
      assert.deepEqual(a, explained);
    };
    await same();
    fs.truncateSync(served, 0); // the same file, not another one in its place
    await same();
    fs.writeFileSync(served, Buffer.alloc(bytes.a.length, 0xff));
    await same();
    fs.writeFileSync(served, bytes.b);
    await same();
    s.signal('SIGHUP');
    await until(async () => (await about(s)).generation === 2 || 'still the old one', 'the new model');
    assert.deepEqual((await s.classify({ texts: all }, { headers })).json.answers.map(x => JSON.stringify(x)), want.b);
    fs.rmSync(served);
    assert.equal((await s.classify({ texts: all }, { headers })).status, 200);
    await s.stop();
  });

  await test('reload: a bad file gets 422 and a log line, and the old model stays', async () => {
    put(bytes.a);
    const s = await Server.start([served, '--token-file', tokenFile]);
    const damaged = Buffer.from(bytes.b);
    for (let i = 1; i < 6; i++) damaged[Math.floor(i * damaged.length / 6)] ^= 0x40;
    const bad = { damaged, cut: bytes.b.subarray(0, bytes.b.length - 1000), half: bytes.b.subarray(0, bytes.b.length >> 1), 'one byte short': bytes.b.subarray(0, bytes.b.length - 1), empty: '', text: 'not a model\n', zeros: Buffer.alloc(100000), missing: null, directory: undefined };
    const clients = load(2, s.port, () => ({ body: { texts: all.slice(0, 20) }, headers, right: a => assert.deepEqual(a.json.answers.map(x => JSON.stringify(x)), want.a.slice(0, 20)) }));
    let failed = 0;
    for (const [name, content] of Object.entries(bad)) {
      fs.rmSync(served, { recursive: true, force: true });
      if (content === undefined) fs.mkdirSync(served);
      else if (content !== null) put(content);
      const a = await s.ask('POST', '/v1/reload', { headers });
      assert.equal(a.status, 422, `${name}: ${a.status} ${a.text}`);
      refused(a, 422, 'bad_model');
      assert.ok(a.json.error.message.includes('reloaded.rf'), `${name}: ${a.json.error.message}`);
      failed++;
      const from = s.log.length;
      s.signal('SIGHUP');
      failed++;
      await until(async () => metric(await metrics(s, { headers }), 'ringfence_reloads_total', { result: 'failed' }) === failed || 'not counted', name);
      await until(() => s.log.slice(from).includes('reloaded.rf') || JSON.stringify(s.log.slice(from)), `${name}: a line in the log`);
      assert.equal((await about(s)).generation, 1);
    }
    fs.rmSync(served, { recursive: true, force: true });
    await settled(clients);
    put(bytes.b);
    assert.equal((await s.ask('POST', '/v1/reload', { headers })).json.generation, 2);
    assert.equal(JSON.stringify((await s.classify({ text: all[0] }, { headers })).json), want.b[0]);
    await s.stop();
  });

  await test('reload: an encoder beside the model may be cut short under a running service', async () => {
    const slim = path.join(dir, 'slim.rf'), weights = path.join(dir, 'encoder/model.safetensors'), content = fs.readFileSync(weights);
    const s = await Server.start([slim]), wanted = predict(slim, all);
    fs.truncateSync(weights, 0);
    try {
      assert.deepEqual((await s.classify({ texts: all })).json.answers, wanted);
      s.signal('SIGHUP');
      await until(() => /reload failed/.test(s.log) || s.log.slice(-300), 'the log line about the reload');
      assert.deepEqual((await s.classify({ texts: all })).json.answers, wanted);
    } finally { fs.writeFileSync(weights, content); }
    await s.stop();
  });
}
