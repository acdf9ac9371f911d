// store_drift.mjs - the drift watch: endpoint, metrics and command say the same
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { metric, metrics, modelA, refused, root, runProgram, Server, test, texts, until } from './lib.mjs';
import { check } from './schema.mjs';
import { newStore, sha256, sql, stored } from './store_lib.mjs';

const doc = JSON.parse(fs.readFileSync(path.join(root, 'serve/openapi.json'), 'utf8'));
const described = v => assert.deepEqual(check(doc, { $ref: '#/components/schemas/Drift' }, v), []);
const model = sha256(fs.readFileSync(modelA)).toString('hex');
const hourNow = () => Math.floor(Date.now() / 3600000);

// Hourly counts of a week before `to`, as if a service had written them; the last hour has `open`
// open answers of 200, the others around 20.
function fill(file, to, open) {
  const rows = [];
  for (let h = 0; h <= 168; h++) {
    const o = h === 168 ? open : 15 + h * 7 % 11, hour = to - 169 + h;
    rows.push(`(${hour}, 1, '', ${o}, ${-o}, ${2 * o})`, `(${hour}, 1, 'order', 120, ${240 + h % 5}, 600)`, `(${hour}, 1, 'parcel', ${80 - o}, 100, 300)`);
  }
  sql(file, `INSERT OR IGNORE INTO models VALUES(1, '${model}', 0); DELETE FROM hours; INSERT INTO hours VALUES ${rows.join(', ')};`);
}
async function emptyStore() {
  const file = newStore();
  await (await Server.start([modelA, '--store', file])).stop();
  return file;
}

export async function run() {
  await test('drift: none without a store', async () => {
    const s = await Server.start([modelA]);
    refused(await s.ask('GET', '/v1/drift'), 404, 'no_store');
    assert.equal((await s.ask('GET', '/metrics')).text.includes('ringfence_store'), false);
    await s.stop();
  });

  await test('drift: with few answers there is no test, and no alarm', async () => {
    const file = newStore(), s = await Server.start([modelA, '--store', file]), all = texts(50, 221);
    await s.classify({ texts: all });
    const d = (await s.ask('GET', '/v1/drift')).json;
    described(d);
    assert.deepEqual([d.drift, d.open_rate.p, d.open_rate.why_not.length > 5], [false, null, true]);
    const m = await metrics(s);
    assert.deepEqual([metric(m, 'ringfence_drift'), m.ringfence_drift_p.samples.length], [0, 0]);
    await s.stop();
    const r = runProgram(['drift', file]);
    assert.equal(r.code, 0, r.err);
    assert.match(r.out, /not tested: fewer than 30 answers/);
  });

  await test('drift: endpoint, metrics and command agree, with drift and without', async () => {
    const file = await emptyStore();
    for (const [open, drifts] of [[20, false], [70, true]]) {
      let d, m, r, again;
      await until(async () => { // again, if an hour ended in between
        fill(file, hourNow(), open);
        const s = await Server.start([modelA, '--store', file]);
        d = (await s.ask('GET', '/v1/drift')).json;
        m = await metrics(s);
        await s.stop();
        r = runProgram(['drift', file, '--json']);
        again = JSON.parse(r.out);
        return again.to === d.to && d.answers === 200 || 'another hour';
      }, 'the same hour');
      described(d);
      assert.deepEqual(again, d);
      assert.equal(r.code, drifts ? 3 : 0);
      assert.equal(d.drift, drifts);
      assert.equal(d.open_rate.drift, drifts);
      assert.equal(d.model, model);
      assert.deepEqual([d.answers, d.answers_before, d.periods_before, d.open_rate.after], [200, 168 * 200, 168, open / 200]);
      assert.equal(metric(m, 'ringfence_drift'), drifts ? 1 : 0);
      assert.equal(metric(m, 'ringfence_drift_open_rate', { period: 'hour' }), d.open_rate.after);
      assert.equal(metric(m, 'ringfence_drift_open_rate', { period: 'week' }), d.open_rate.before);
      assert.equal(metric(m, 'ringfence_drift_margin', { period: 'week' }), d.margin.before);
      assert.equal(metric(m, 'ringfence_drift_p', { test: 'open_rate' }), d.open_rate.p_corrected);
      const said = runProgram(['drift', file]);
      assert.equal(said.code, drifts ? 3 : 0);
      assert.match(said.out, drifts ? /open answers .* -> +35 % +p \S+ +DRIFT/ : /open answers .* -> +10 % +p \S+ +no drift/);
    }
  });

  await test('drift: other times, and wrong ones', async () => {
    const file = await emptyStore(), at = 480000, now = new Date(at * 3600000).toISOString().replace('.000', '');
    fill(file, at, 40);
    const run = (...args) => runProgram(['drift', file, '--now', now, ...args]);
    assert.equal(run().code, 3);
    const d = JSON.parse(run('--hours', '24', '--json').out);
    assert.deepEqual([d.answers, d.periods_before], [24 * 200, 7]); // the first has one hour
    assert.equal(run('--against', '2d').code, 3);
    assert.equal(run('--alpha', '1e-9').code, 0);
    assert.equal(run('--model', 'f'.repeat(64)).code, 0);
    assert.equal(runProgram(['drift', file, '--now', '2024-10-10T00:00:00Z']).code, 0);
    for (const bad of [['--against', 'soon'], ['--against', '30m'], ['--now', 'now'], ['--hours', '0'], ['--alpha', '2'], ['--model', 'x']]) assert.equal(run(...bad).code, 2, bad.join(' '));
    assert.equal(run('--hours', '24', '--against', '12h').code, 2);
    assert.equal(runProgram(['drift', '/no/such.db']).code, 1);
    assert.equal(runProgram(['drift']).code, 2);
  });
}
