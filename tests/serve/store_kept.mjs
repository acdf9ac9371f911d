// store_kept.mjs - which texts are kept, as what, and until when
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { ends, hostileTexts, metric, metrics, modelA, modelB, predict, runProgram, Server, test, texts, together, until } from './lib.mjs';
import { bytes, checkCounts, checkStore, intact, newStore, sampled, sha256, sql, stored, value, wanted } from './store_lib.mjs';

const plain = { type: 'text/plain' }, lines = { type: 'application/x-ndjson' };

export async function run() {
  await together([
    ['store: answers of every form are kept; open ones all, of the others the sample', async () => {
      const file = newStore(), all = [...new Set(texts(400, 201))], want = wanted(all, 0.3);
      const s = await Server.start([modelA, '--store', file, '--store-sample', '0.3']);
      const part = i => all.slice(i * 80, (i + 1) * 80);
      for (const text of part(0)) assert.equal((await s.classify({ text })).status, 200);
      await s.classify({ texts: part(1) });
      await s.ask('POST', '/v1/classify', { body: part(2).join('\n'), ...plain });
      await s.ask('POST', '/v1/classify', { body: part(3).map(t => JSON.stringify(t)).join('\n'), ...lines });
      await s.classify({ texts: all.slice(320) }, { headers: { Accept: 'application/x-ndjson' } });
      await stored(s, want.rows.length);
      assert.ok(want.rows.length > 20 && want.rows.length < all.length, `${want.rows.length} of ${all.length}`);
      checkStore(file, want);
      await s.stop();
      checkStore(file, want);
      intact(file);
      assert.equal(fs.statSync(file).mode & 0o777, 0o600);
      assert.equal(value(file, 'SELECT count(DISTINCT sha256) FROM models'), 1);
      assert.equal(sql(file, 'SELECT sha256 FROM models')[0].sha256, sha256(fs.readFileSync(modelA)).toString('hex'));
      const now = Date.now(), range = sql(file, 'SELECT min(time) AS a, max(time) AS b FROM texts')[0];
      assert.ok(range.a > now - 3600000 && range.b <= now, JSON.stringify(range));
    }],
    ['store: --store-sample 1 keeps all, hostile bytes included; 0 the open ones', async () => {
      for (const share of [1, 0]) {
        const file = newStore(), s = await Server.start([modelA, '--store', file, '--store-sample', String(share)]);
        const answers = (await s.classify({ texts: hostileTexts })).json.answers;
        await s.stop();
        const want = wanted(hostileTexts, share, answers);
        checkStore(file, want);
        assert.deepEqual(sql(file, 'SELECT hex(text) AS h FROM texts').map(r => r.h).sort(), want.rows.map(r => Buffer.from(r[0]).toString('hex').toUpperCase()).sort());
      }
    }],
    ['store: a request that forbids it leaves no text, only counts', async () => {
      const file = newStore(), s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
      const ask = (text, extra, headers, query = '') => s.ask('POST', '/v1/classify' + query, { json: { text, ...extra }, headers });
      await ask('secret-body', { store: false });
      await ask('secret-query', {}, {}, '?store=false');
      await ask('secret-header', {}, { 'X-Ringfence-No-Store': '1' });
      await ask('secret-both', { store: true }, { 'x-ringfence-no-store': 'yes' });
      await s.ask('POST', '/v1/classify', { body: 'secret-lines\n', ...plain, headers: { 'X-Ringfence-No-Store': '1' } });
      await ask('kept-body', { store: true });
      await ask('kept-header', {}, { 'X-Ringfence-No-Store': '0' });
      await ask('kept-query', {}, {}, '?store=true');
      await stored(s, 3);
      assert.equal(bytes(file).includes('secret-'), false);
      await s.stop();
      assert.equal(bytes(file).includes('secret-'), false);
      assert.deepEqual(sql(file, 'SELECT text FROM texts ORDER BY text').map(r => r.text), ['kept-body', 'kept-header', 'kept-query']);
      assert.equal(value(file, 'SELECT sum(n) FROM hours'), 8);
    }],
    ['store: answers under another fence are kept, but not counted', async () => {
      const file = newStore(), s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
      await s.classify({ text: 'one', fence: 100 });
      await s.classify({ text: 'two' });
      await s.stop();
      assert.equal(value(file, 'SELECT count(*) FROM texts'), 2);
      assert.equal(value(file, 'SELECT sum(n) FROM hours'), 1);
    }],
    ['store: --store-hash leaves no byte of a text', async () => {
      const file = newStore(), all = ['where is my parcel xylophone', 'xylophone hello', 'the chain xylophone fell off'];
      const s = await Server.start([modelA, '--store', file, '--store-hash', '--store-sample', '1']);
      await s.classify({ texts: all });
      await stored(s, 3);
      assert.equal((await s.ask('GET', '/v1/model')).json.server.store, 'hashes');
      assert.equal(bytes(file).includes('xylophone'), false);
      await s.stop();
      assert.equal(bytes(file).includes('xylophone'), false);
      assert.deepEqual(sql(file, 'SELECT sha256 FROM texts WHERE text IS NULL').map(r => r.sha256).sort(), all.map(t => sha256(t).toString('hex')).sort());
      const tsv = runProgram(['store', 'export', file]), json = runProgram(['store', 'export', file, '--format', 'jsonl']);
      assert.equal(tsv.out.split('\n').length, 2);
      assert.match(tsv.err, /left out 3 rows/);
      assert.equal(json.out.trim().split('\n').map(l => JSON.parse(l)).filter(r => r.text === null && r.sha256.length === 64).length, 3);
      assert.match(runProgram(['store', 'purge', file, '--text', all[1]]).out, /purged 1 row\n/);
      assert.equal(value(file, 'SELECT count(*) FROM texts'), 2);
    }],
    ['store: rows name the model that answered, also after a reload', async () => {
      const file = newStore(), model = newStore().replace('.db', '.rf');
      fs.copyFileSync(modelA, model);
      const s = await Server.start([model, '--store', file, '--store-sample', '1', '--store-source', 'left']);
      await s.classify({ text: 'before' });
      fs.copyFileSync(modelB, model);
      s.signal('SIGHUP');
      await until(() => /reloaded /.test(s.log) || s.log.slice(-300), 'the log');
      await s.classify({ text: 'after' });
      await s.stop();
      const hash = m => sha256(fs.readFileSync(m)).toString('hex');
      assert.deepEqual(sql(file, 'SELECT text, source, m.sha256 AS model FROM texts JOIN models m ON m.id = model ORDER BY texts.id'),
        [{ text: 'before', source: 'left', model: hash(modelA) }, { text: 'after', source: 'left', model: hash(modelB) }]);
    }],
    ['store: rows that are too old are deleted at the start, their bytes too', async () => {
      const file = newStore();
      await (await Server.start([modelA, '--store', file])).stop();
      const day = 86400000, now = Date.now();
      const row = (age, text) => `INSERT INTO texts(time, text, label, confidence, margin, nearest, model, source) VALUES(${now - age}, '${text}', NULL, 0.5, -1, 'x', 1, 'test');`;
      sql(file, `INSERT OR IGNORE INTO models VALUES(1, 'm', 0); ${row(31 * day, 'ancient-one')} ${row(8 * day, 'old-one')} ${row(6 * day, 'young-one')} INSERT INTO labels(text, label, who, time) VALUES(1, 'x', 'ann', 1);`);
      const s = await Server.start([modelA, '--store', file, '--store-days', '7']);
      await until(async () => metric(await metrics(s), 'ringfence_store_removed_total') === 2 || 'not yet', 'deleting');
      for (const gone of ['ancient-one', 'old-one']) assert.equal(bytes(file).includes(gone), false, gone);
      assert.deepEqual(sql(file, 'SELECT text FROM texts'), [{ text: 'young-one' }]);
      assert.equal(value(file, 'SELECT count(*) FROM labels'), 0);
      await s.stop();
      for (const gone of ['ancient-one', 'old-one']) assert.equal(bytes(file).includes(gone), false, gone);
    }],
    ['store: a file at its limit keeps the newest rows', async () => {
      const file = newStore(), s = await Server.start([modelA, '--store', file, '--store-mb', '1', '--store-sample', '1']);
      const text = i => `number ${i} `.padEnd(4000, 'x');
      let n = 0;
      await until(async () => {
        await s.classify({ texts: Array.from({ length: 100 }, () => text(n++)) });
        const m = await metrics(s);
        return metric(m, 'ringfence_store_removed_total') > 300 || `${metric(m, 'ringfence_store_removed_total')} deleted after ${n}`;
      }, 'deleting');
      await s.stop();
      intact(file);
      const kept = sql(file, 'SELECT text FROM texts ORDER BY id').map(r => Number(r.text.match(/number (\d+)/)[1]));
      assert.ok(kept.length > 50 && kept.length < n - 300, `${kept.length} of ${n}`);
      assert.ok(fs.statSync(file).size < 1.5 * 2 ** 20, `${fs.statSync(file).size} bytes`);
      assert.ok(kept.includes(n - 1) && !kept.includes(0));
      assert.equal(value(file, 'SELECT sum(n) FROM hours'), n);
    }],
    ['store: export, purge and stats beside a running service', async () => {
      const file = newStore(), all = [...new Set(texts(200, 203))], answers = predict(modelA, all), s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
      await s.classify({ texts: [...all, 'with\ta tab', '"quoted"', 'line\nbreak'] });
      await stored(s, all.length + 3);
      const out = newStore().replace('.db', '.tsv');
      assert.equal(runProgram(['store', 'export', file, '-o', out]).code, 0);
      const scored = runProgram(['eval', modelA, out, '--json']); // reads what was written, and agrees with itself
      assert.equal(scored.code, 0, scored.err);
      assert.equal(JSON.parse(scored.out).accuracy, 100, scored.out.slice(0, 300));
      const json = runProgram(['store', 'export', file, '--open', '--format', 'jsonl', '--since', '1h']).out.trim().split('\n').map(l => JSON.parse(l));
      assert.deepEqual(json.map(r => r.text).filter(t => all.includes(t)).sort(), all.filter((_, i) => answers[i].open).sort());
      assert.ok(json.every(r => r.open && r.label === 'open' && r.answer === 'open' && r.source === 'serve'));
      assert.equal(runProgram(['store', 'export', file, '--until', '2020-01-01']).out.split('\n').length, 2);
      const stats = JSON.parse(runProgram(['store', 'stats', file, '--json']).out);
      assert.deepEqual([stats.rows, stats.answers, stats.open, stats.models.length], [all.length + 3, all.length + 3, json.length, 1]);
      assert.match(runProgram(['store', 'stats', file]).out, new RegExp(`rows +${all.length + 3} `));
      assert.match(runProgram(['store', 'purge', file, '--text', 'with\ta tab']).out, /purged 1 row\n/);
      assert.equal(bytes(file).includes('with\ta tab'), false);
      assert.match(runProgram(['store', 'purge', file, '--all', '--json']).out, new RegExp(`"purged": ${all.length + 2}}`));
      assert.equal(bytes(file).includes('parcel'), false);
      await s.classify({ text: 'new after the purge' });
      await stored(s, all.length + 4);
      await s.stop();
      assert.equal(value(file, 'SELECT count(*) FROM texts'), 1);
      assert.equal(value(file, 'SELECT count(*) FROM changes'), 2);
      checkCounts(file, Object.fromEntries([[predict(modelA, ['new after the purge'])[0]].map(a => [a.open ? '' : a.label, 1])[0]]));
    }],
  ]);

  await test('store: the sample does not depend on the run', async () => {
    assert.ok(sampled('', 1) && !sampled('', 0.5) && sampled('x', 0.2)); // sha256: e3b0..., 2d71...
    const n = texts(4000, 204, 40).filter(t => sampled(t, 0.1)).length;
    assert.ok(n > 200 && n < 600, `${n} of 4000`);
  });

  await test('store: wrong options and wrong files end the start, and nothing is changed', async () => {
    for (const [o, v] of [['store-sample', '2'], ['store-sample', '-1'], ['store-sample', 'x'], ['store-days', '0'], ['store-mb', '0'], ['store-mb', 'x'], ['store-source', '']]) ends([modelA, '--store', newStore(), `--${o}`, v], 2, `--${o}`);
    ends([modelA, '--store-hash'], 2, '--store');
    const file = newStore(), same = (content, code, ...words) => {
      fs.writeFileSync(file, content);
      ends([modelA, '--store', file], code, file, ...words);
      assert.deepEqual(fs.readFileSync(file), Buffer.from(content));
    };
    same('not a database, but some text of somebody else\n'.repeat(100), 1, 'not an SQLite file');
    same(fs.readFileSync(modelA), 1, 'not an SQLite file');
    fs.rmSync(file);
    sql(file, 'CREATE TABLE theirs(x)');
    same(fs.readFileSync(file), 1, 'another program');
    fs.rmSync(file);
    await (await Server.start([modelA, '--store', file])).stop();
    sql(file, 'PRAGMA user_version = 2');
    same(fs.readFileSync(file), 1, 'version 2', 'newer');
    ends([modelA, '--store', '/no/such/directory/x.db'], 1, '/no/such/directory/x.db');
  });
}
