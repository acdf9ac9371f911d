// store_lib.mjs - shared by the tests of the store: new files, SQL, what should be in them
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { metric, metrics, predict, modelA, scratch, until } from './lib.mjs';

let files = 0;
// A name for a store that does not exist.
export function newStore() {
  const file = scratch(`store-${process.pid}-${++files}.db`);
  removeStore(file);
  return file;
}
export function removeStore(file) { for (const end of ['', '-wal', '-shm']) fs.rmSync(file + end, { force: true }); }

// The rows that a query returns, as objects.
export function sql(file, query) {
  const r = spawnSync('sqlite3', ['-json', '-cmd', '.timeout 60000', file, query], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(r.status, 0, `${query.slice(0, 200)}: ${r.stderr} ${r.error ?? ''}`);
  return r.stdout.trim() ? JSON.parse(r.stdout) : [];
}
export const value = (file, query) => Object.values(sql(file, query)[0])[0];

export const sha256 = text => createHash('sha256').update(text).digest();
// The documented rule: the first 64 bits of the sha256, as a share of all values.
export const sampled = (text, share) => Number(sha256(text).readBigUInt64BE()) / 2 ** 64 < share;

// Waits until so many rows are stored.
export const stored = (server, n) => until(async () => {
  const got = metric(await metrics(server), 'ringfence_store_rows_total');
  return got === n || `${got} stored, wanted ${n}`;
}, 'rows');

// All bytes of the store's files.
export const bytes = file => Buffer.concat(['', '-wal', '-shm'].filter(e => fs.existsSync(file + e)).map(e => fs.readFileSync(file + e)));

// What must be in the store after these texts: rows in any order, and counts by label.
export function wanted(texts, share, answers = predict(modelA, texts)) {
  const rows = [], counts = {};
  texts.forEach((text, i) => {
    const a = answers[i], label = a.open ? '' : a.label;
    counts[label] = (counts[label] ?? 0) + 1;
    if (a.open || sampled(text, share)) rows.push([text, a.open ? null : a.label, a.confidence, a.margin]);
  });
  return { rows, counts };
}
const near = (x, y) => Math.abs(x - y) <= 1e-6 * Math.max(1, Math.abs(y));
export function checkStore(file, want) {
  const rows = sql(file, 'SELECT text, label, confidence, margin FROM texts');
  const key = r => JSON.stringify(r.slice(0, 2));
  const got = rows.map(r => [r.text, r.label, r.confidence, r.margin]).sort((a, b) => key(a) < key(b) ? -1 : 1);
  const all = [...want.rows].sort((a, b) => key(a) < key(b) ? -1 : 1);
  assert.deepEqual(got.map(key), all.map(key));
  got.forEach((r, i) => assert.ok(near(r[2], all[i][2]) && near(r[3], all[i][3]), `${r} ${all[i]}`));
  checkCounts(file, want.counts);
}
export function checkCounts(file, counts) {
  const got = Object.fromEntries(sql(file, 'SELECT label, sum(n) AS n FROM hours GROUP BY label').map(r => [r.label, r.n]));
  assert.deepEqual(got, Object.fromEntries(Object.entries(counts).sort()));
}
export const intact = file => assert.equal(value(file, 'PRAGMA integrity_check'), 'ok');
