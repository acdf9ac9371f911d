// load.mjs - clients that send requests continuously and account for each one
import assert from 'node:assert/strict';
import { classifyBytes, Raw } from './lib.mjs';

// One connection after the other, a request at a time. next() gives {body, headers, right(answer)},
// or null to end; `right` throws if the answer is not what was wanted.
// counts: sent, answered, lost (sent whole, on a connection that had answered before, no answer),
// broken (half an answer), early (lost on a connection that never answered: perhaps not accepted).
export class Client {
  constructor(port, next) {
    this.port = port;
    this.next = next;
    this.counts = { sent: 0, answered: 0, lost: 0, broken: 0, early: 0, refused: 0, by: {} };
    this.times = [];
    this.wrong = [];
    this.stopped = false;
    this.done = this.loop();
  }
  async loop() {
    let c = null, answers = 0;
    for (let job; !this.stopped && (job = this.next()); ) {
      if (!c) {
        try {
          c = await Raw.connect(this.port);
          answers = 0;
        } catch (e) {
          this.counts.refused++;
          if (!this.again) break; // the server is gone
          await new Promise(r => setTimeout(r, 20));
          continue;
        }
      }
      // It may have been closed for being idle in the meantime: let that event be processed.
      if (answers) for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
      if (c.end) { c.drop(); c = null; continue; } // it was closed before anything was sent
      const begin = performance.now();
      c.send(job.bytes ?? classifyBytes(job.body, job.headers));
      this.counts.sent++;
      let a;
      try {
        a = await c.answer();
      } catch (e) {
        if (c.bytes().length) { this.counts.broken++; this.wrong.push(`half an answer: ${e.message}`); }
        else if (!c.end) { this.counts.lost++; this.wrong.push(`no answer: ${e.message}`); }
        else answers ? (this.counts.lost++, this.wrong.push(`lost: ${e.message}`)) : this.counts.early++;
        c.drop();
        c = null;
        continue;
      }
      this.times.push(performance.now() - begin);
      answers++;
      this.counts.answered++;
      this.counts.by[a.status] = (this.counts.by[a.status] ?? 0) + 1;
      try { job.right?.(a); } catch (e) { this.wrong.push(e.message.slice(0, 500)); }
      if (/close/i.test(a.headers.connection ?? '')) { c.drop(); c = null; }
    }
    c?.drop();
  }
  stop() { this.stopped = true; return this.done; }
}

export const load = (n, port, next) => Array.from({ length: n }, (_, i) => new Client(port, () => next(i)));

// The counts of all clients.
export function sum(clients) {
  const all = { sent: 0, answered: 0, lost: 0, broken: 0, early: 0, refused: 0, by: {} };
  for (const c of clients) {
    for (const k of ['sent', 'answered', 'lost', 'broken', 'early', 'refused']) all[k] += c.counts[k];
    for (const [s, n] of Object.entries(c.counts.by)) all.by[s] = (all.by[s] ?? 0) + n;
  }
  return all;
}
export async function settled(clients) {
  await Promise.all(clients.map(c => c.stop()));
  const all = sum(clients), wrong = clients.flatMap(c => c.wrong);
  assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} of ${all.sent} went wrong`);
  assert.equal(all.lost + all.broken, 0);
  assert.equal(all.sent, all.answered + all.early);
  return all;
}
