// store_faults.mjs - the store under kill -9, a full disk, a locked file, several services
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { metric, metrics, modelA, modelB, predict, program as executable, runProgram, root, scaled, scratch, Server, skip, slow, test, texts, until, within, enough } from './lib.mjs';
import { load } from './load.mjs';
import { checkStore, intact, newStore, sql, stored, value, wanted } from './store_lib.mjs';

const dropped = async s => { const m = await metrics(s); return metric(m, 'ringfence_store_dropped_total'); };
const failing = async s => metric(await metrics(s), 'ringfence_store_failing');

// Holds the lock for writing until release() is called.
async function lock(file) {
  const child = spawn('sqlite3', [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const held = new Promise(yes => child.stdout.once('data', yes));
  child.stdin.write(".timeout 60000\nBEGIN IMMEDIATE;\nSELECT 'held';\n");
  await within(enough, held, 'no lock');
  return { release: () => new Promise(yes => { child.on('exit', yes); child.stdin.end('ROLLBACK;\n'); }) };
}

// A full disk: answers go on, the log and the metrics say so once, and storing goes on when there is
// room. atEnd: there is room only when the service is told to stop.
async function fullDisk(s, file, makeRoom, atEnd) {
  const long = i => `number ${i} `.padEnd(3000, 'y');
  let n = 0;
  const send = async () => { const r = await s.classify({ texts: Array.from({ length: 50 }, () => long(n++)) }); assert.equal(r.status, 200); };
  await until(async () => { await send(); return await failing(s) === 1 || `${n} texts`; }, 'a full disk');
  for (let i = 0; i < 5; i++) await send();
  await until(async () => metric(await metrics(s), 'ringfence_store_errors_total') >= 2 || 'one', 'attempts');
  await send();
  const m = await metrics(s), before = metric(m, 'ringfence_store_rows_total');
  const error = m.ringfence_store_failing.samples[0].labels.error;
  assert.ok(error.includes(file), error);
  assert.equal(s.log.split('answering goes on without storing').length, 2, s.log);
  intact(file);
  assert.ok(value(file, 'SELECT count(*) FROM texts') >= before);
  makeRoom();
  if (!atEnd) {
    await until(async () => await failing(s) === 0 || 'still failing', 'storing again');
    await send();
  }
  await s.stop();
  assert.match(s.log, /storing again/);
  intact(file);
  // Nothing that was waiting is lost, unless the queue was full.
  assert.equal(value(file, 'SELECT count(*) FROM texts') + metric(m, 'ringfence_store_dropped_total'), n);
  assert.equal(value(file, 'SELECT sum(n) FROM hours'), n);
}

export async function run() {
  await test('store: after kill -9 all committed rows are there, and the file is intact', async () => {
    const file = newStore(), all = texts(40, 211);
    for (let round = 0, rows = 0; round < 3; round++) {
      const s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
      let i = 0;
      const clients = load(4, s.port, () => ({ body: { texts: all.slice(i++ % 20) }, right: a => assert.equal(a.status, 200) }));
      let reported = 0;
      await until(async () => { reported = metric(await metrics(s), 'ringfence_store_rows_total'); return reported > scaled(500) || reported; }, 'rows stored');
      await s.kill();
      await Promise.all(clients.map(c => c.done));
      const seen = runProgram(['store', 'stats', file, '--json']); // reads only, with the -wal file as it was left
      assert.equal(seen.code, 0, seen.err);
      intact(file);
      assert.equal(JSON.parse(seen.out).rows, value(file, 'SELECT count(*) FROM texts'));
      const now = value(file, 'SELECT count(*) FROM texts');
      assert.ok(now >= rows + reported, `round ${round}: ${now} rows, ${rows} before and ${reported} reported`);
      assert.equal(value(file, 'SELECT sum(n) FROM hours'), now); // in the same transaction
      rows = now;
    }
  }, 300);

  await test('store: SIGTERM stores everything that was answered', async () => {
    const file = newStore(), all = texts(600, 212), s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
    await Promise.all([0, 1, 2].map(i => s.classify({ texts: all.slice(200 * i, 200 * (i + 1)) })));
    await s.stop();
    checkStore(file, wanted(all, 1));
  });

  await test('store: a locked file makes nobody wait; what does not fit is dropped and counted', async () => {
    const file = newStore(), s = await Server.start([modelA, '--store', file, '--store-sample', '1', '--deadline', '300']);
    await s.classify({ text: 'first' });
    await stored(s, 1);
    const held = await lock(file), many = Array.from({ length: 2000 }, () => 'a');
    let n = 0;
    await until(async () => { assert.equal((await s.classify({ texts: many, top_k: 0 })).status, 200); n += many.length; return await dropped(s) > 0 || `${n} answered`; }, 'rows dropped');
    assert.equal(value(file, 'SELECT count(*) FROM texts'), 1);
    await held.release();
    await until(async () => metric(await metrics(s), 'ringfence_store_waiting_rows') === 0 || 'rows are waiting', 'writing');
    const lost = await dropped(s);
    await s.classify({ text: 'last' });
    await s.stop();
    assert.equal(value(file, 'SELECT count(*) FROM texts') + lost, n + 2);
    assert.equal(value(file, 'SELECT sum(n) FROM hours'), n + 2); // counts are never dropped
    intact(file);
  }, 300);

  // A limit on the size of files, which the system lets us raise again while it runs.
  await test('store: a file that may not grow stops storing, not answering', async () => {
    const file = newStore();
    await (await Server.start([modelA, '--store', file])).stop();
    const s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
    const limit = size => assert.equal(spawnSync('prlimit', ['--pid', String(s.pid), `--fsize=${size}:unlimited`]).status, 0);
    limit(300000);
    await fullDisk(s, file, () => limit('unlimited'), true);
  }, 300);

  const disk = scratch(`disk-${process.pid}`);
  fs.mkdirSync(disk, { recursive: true });
  const name = 'store: a full disk stops storing, not answering, until there is room';
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status !== 0) skip(name, 'mounting a small file system is not allowed here');
  else {
    try {
      await test(name, async () => {
        const file = `${disk}/texts.db`, filler = `${disk}/filler`;
        fs.writeFileSync(filler, Buffer.alloc(1200000));
        const s = await Server.start([modelA, '--store', file, '--store-sample', '1']);
        await fullDisk(s, file, () => { fs.rmSync(filler); spawnSync('mount', ['-o', 'remount,size=64m', disk]); });
      }, 300);
    } finally {
      spawnSync('umount', [disk]);
    }
  }
  fs.rmdirSync(disk);

  const library = path.resolve(root, process.env.RF_FAIL_MALLOC ?? 'build/tests/libfail_malloc.so');
  const starved = 'store: without memory rows are dropped and counted, and nothing else happens';
  if (slow) skip(starved, 'a sanitizer has its own malloc');
  else if (!fs.existsSync(library)) skip(starved, `there is no ${library}`);
  else await test(starved, async () => {
    const file = newStore(), trigger = scratch(`fail-store-${process.pid}`), all = texts(60, 215);
    fs.rmSync(trigger, { force: true });
    const s = await Server.start([modelA, '--store', file, '--store-sample', '1'], { env: { LD_PRELOAD: library, RF_FAIL_FILE: trigger, RF_FAIL_EVERY: '5' } });
    fs.writeFileSync(trigger, '');
    await until(async () => { for (const text of all) await s.classify({ text }); return metric(await metrics(s), 'ringfence_store_dropped_total', { reason: 'memory' }) > 20 || 'none dropped'; }, 'rows dropped');
    fs.rmSync(trigger);
    for (const text of all) assert.equal((await s.classify({ text })).status, 200);
    const m = await metrics(s), answers = metric(m, 'ringfence_texts_total');
    await s.stop();
    intact(file);
    assert.equal(value(file, 'SELECT count(*) FROM texts'), answers - metric(m, 'ringfence_store_dropped_total'));
    assert.equal(value(file, 'SELECT sum(n) FROM hours'), answers - metric(m, 'ringfence_store_uncounted_total'));
  });

  await test('store: two services and exports on one file', async () => {
    const file = newStore(), all = [texts(600, 213), texts(600, 214)], models = [modelA, modelB];
    const both = await Promise.all([0, 1].map(i => Server.start([models[i], '--store', file, '--store-sample', '1', '--store-source', `service ${i}`])));
    let over = false;
    const exporting = (async () => { let n = 0; for (; !over || n < 3; n++) { const r = await program(['store', 'export', file, '--format', 'jsonl']); assert.equal(r.code, 0, r.err); r.out.split('\n').slice(0, -1).forEach(l => JSON.parse(l)); } return n; })();
    await Promise.all(both.map(async (s, i) => { for (let at = 0; at < 600; at += 20) assert.equal((await s.classify({ texts: all[i].slice(at, at + 20) })).status, 200); }));
    await Promise.all(both.map(s => stored(s, 600)));
    over = true;
    assert.ok(await exporting >= 3);
    await Promise.all(both.map(s => s.stop()));
    intact(file);
    for (const i of [0, 1]) {
      assert.equal(value(file, `SELECT count(*) FROM texts WHERE source = 'service ${i}'`), 600);
      const open = predict(models[i], all[i]).filter(a => a.open).length;
      assert.equal(value(file, `SELECT count(*) FROM texts WHERE source = 'service ${i}' AND label IS NULL`), open);
    }
    assert.equal(value(file, 'SELECT sum(n) FROM hours'), 1200);
    assert.equal(sql(file, 'SELECT * FROM models').length, 2);
  });
}

// The program without blocking this process, which is a client of the services.
function program(args) {
  return new Promise(yes => {
    const child = spawn(executable, args, { stdio: ['ignore', 'pipe', 'pipe'] }), r = { out: '', err: '' };
    child.stdout.on('data', d => { r.out += d; });
    child.stderr.on('data', d => { r.err += d; });
    child.on('close', code => yes({ ...r, code }));
  });
}
