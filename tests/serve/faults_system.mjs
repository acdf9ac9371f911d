// faults_system.mjs - trouble with the system: the log, the clock, names, limits
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { enough, metric, metrics, modelA, root, scratch, Server, skip, slow, test, texts, until, within } from './lib.mjs';

const library = path.resolve(root, process.env.RF_ODD_SYSTEM ?? 'build/tests/libodd_system.so');

// Fills the log, which nobody reads, beyond what the pipe and the buffer hold.
async function fillLog(s) {
  s.child.stderr.pause();
  const text = texts(1, 71, 60000)[0];
  for (let i = 0; i < 60; i++) assert.equal((await s.classify({ text })).status, 200);
  assert.ok(metric(await metrics(s), 'ringfence_log_lines_lost_total') > 5);
}
const logs = ['--log-texts', '--access-log'];

export async function run() {
  await test('a log that nobody reads blocks neither requests nor SIGTERM', async () => {
    const s = await Server.start([modelA, ...logs]);
    await fillLog(s);
    assert.equal((await s.ask('GET', '/healthz')).status, 200);
    const exit = once(s.child, 'exit');
    s.signal('SIGTERM');
    assert.deepEqual(await within(enough, exit, 'it does not end'), [0, null]);
    s.child.stderr.resume();
  });

  await test('a log that is read again has whole lines, and reports the dropped ones', async () => {
    const s = await Server.start([modelA, ...logs]);
    await fillLog(s);
    const lost = metric(await metrics(s), 'ringfence_log_lines_lost_total');
    s.child.stderr.resume();
    await until(() => /log lines? dropped/.test(s.log) || s.log.length, 'the log');
    await s.ask('GET', '/healthz');
    await s.stop();
    assert.match(s.log, /ringfence: stopped\n$/);
    const dropped = [...s.log.matchAll(/^ringfence: (\d+) log lines? dropped/gm)].map(m => Number(m[1]));
    assert.ok(dropped.reduce((a, b) => a + b, 0) >= lost, `${dropped}, ${lost}`);
    for (const line of s.log.slice(0, -1).split('\n')) if (!line.startsWith('ringfence: ')) assert.ok(JSON.parse(line).answer);
  });

  const odd = async (name, args, f, env = {}) => {
    if (slow) return skip(name, 'a sanitizer must be loaded first');
    if (!fs.existsSync(library)) return skip(name, `there is no ${library}`);
    await test(name, async () => {
      const s = await Server.start([modelA, ...args], { env: { LD_PRELOAD: library, ...env } });
      await f(s);
      await s.stop();
    });
  };
  await odd('setting the clock back stops no timeout', ['--idle-timeout', '1', '--receive-timeout', '1'], async s => {
    await (await s.raw()).rest();
  });
  await odd('if the first address of a name cannot be used, the next one is', ['--listen', 'two-addresses:0'], async s => {
    assert.equal(s.host, '127.0.0.1');
    assert.equal((await s.classify({ text: 'x' })).status, 200);
  });
  await odd('SIGHUP during the start does not end it', ['--listen', 'hangup:0'], async s => {
    await until(() => /reloaded /.test(s.log) || s.log, 'the log');
  });

  // Code that runs inside the service: it may write beside the model, and nowhere else.
  const tried = s => until(() => s.log.includes('intruder: ') || s.log, 'the intruder').then(() => s.log.match(/intruder: (.*)/)[1]);
  const beside = scratch('intruder-beside'), elsewhere = path.join(os.tmpdir(), `ringfence-intruder-${process.pid}`);
  for (const [where, file, written] of [['beside the model', beside, 'done'], ['anywhere else', elsewhere, 'EACCES']])
    await odd(`an intruder cannot run programs, connect to other machines, or write ${where === 'anywhere else' ? where : 'but ' + where}`, [], async s => {
      assert.equal((await s.ask('GET', '/healthz')).status, 200);
      const confined = !/cannot confine/.test(s.log), got = await tried(s);
      fs.rmSync(file, { force: true });
      assert.match(got, confined ? new RegExp(`^write ${written}, run E(PERM|ACCES), connect (EACCES|ECONNREFUSED)`) : /^write done, run EPERM/);
      if (!confined) console.log('SKIPPED: this kernel has no Landlock: writes of an intruder');
    }, { RF_TRY: file });

  await test('few open files: idle clients are closed, and a reload still works', async () => {
    const s = await Server.start([modelA, '--workers', '1', '--threads', '1'], { files: 40 });
    assert.match(s.log, /allows 40 open files: at most 20 connections/);
    const idle = await Promise.all(Array.from({ length: 40 }, () => s.raw()));
    assert.equal((await s.classify({ text: 'x' })).status, 200);
    s.signal('SIGHUP');
    await until(() => /reloaded /.test(s.log) || s.log.slice(-300), 'the log');
    for (const c of idle) c.drop();
    await s.stop();
  });
}
