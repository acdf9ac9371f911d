// client.mjs - ringfence as a client of the hub: caches of its own, and what may be in one
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { enough, program, root, within } from '../serve/lib.mjs';
import { filesOf, sha256 } from './server.mjs';

export const tiny = filesOf(`${root}/tests/golden/tiny/encoder`);
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'ringfence-hub-'));
process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

let caches = 0;
export class Client {
  constructor(hub, env = {}) {
    this.cache = `${scratch}/cache${++caches}`;
    const { HF_TOKEN, HF_ENDPOINT, SSL_CERT_FILE, SSL_CERT_DIR, ...rest } = process.env;
    this.env = { ...rest, RINGFENCE_CACHE: this.cache, HF_ENDPOINT: hub.endpoint, http_proxy: 'http://127.0.0.1:1', ...env };
  }
  // Runs the program; {code, signal, out, err}.
  run(...args) { return this.start(...args).ended; }
  start(...args) {
    const child = spawn(program, args, { env: this.env, cwd: scratch, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { out: '', err: '' };
    child.stdout.on('data', d => { said.out += d; });
    child.stderr.on('data', d => { said.err += d; });
    const ended = new Promise(r => child.on('close', (code, signal) => r({ code, signal, ...said })));
    return { child, said, ended: within(enough, ended, () => { child.kill('SIGKILL'); return `${args.join(' ')} does not end: ${said.err}`; }) };
  }
  get(name, ...more) { return this.run('encoder', 'get', name, '--retry-wait', '0', ...more); }
  dir(name) { return `${this.cache}/encoders/hub/${name}`; }

  // The cache holds nothing but these encoders, complete, and, if it may, the beginning of weights.
  // Returns whether the encoder is there.
  check(name, commit, files, { part = true, wrong = false } = {}) {
    const found = fs.existsSync(this.dir(name)) ? fs.readdirSync(this.dir(name)) : [];
    const there = found.includes(commit);
    for (const entry of found) {
      if (entry === 'known.json') {
        const known = JSON.parse(fs.readFileSync(`${this.dir(name)}/known.json`));
        for (const [f, { size, sha256: sum }] of Object.entries(known.commits[commit]?.files ?? {}))
          if (files[f]) assert.deepEqual([size, sum], [files[f].length, sha256(files[f])], `known.json: ${f}`);
        if (there) assert.ok(known.commits[commit], 'an encoder without a record');
      } else if (entry === commit) {
        const have = filesOf(`${this.dir(name)}/${commit}`);
        assert.deepEqual(Object.keys(have).sort(), Object.keys(files).sort());
        for (const f of Object.keys(files)) assert.ok(have[f].equals(files[f]), `${f} differs`);
      } else {
        assert.ok(part && entry === `${commit}.part`, `left behind: ${entry}`);
        const left = fs.readdirSync(`${this.dir(name)}/${entry}`);
        assert.ok(left.includes('weights') && left.every(f => f === 'weights' || f === 'weights.etag'), `left behind: ${left}`);
        const bytes = fs.readFileSync(`${this.dir(name)}/${entry}/weights`);
        assert.ok(wrong || bytes.equals(files['model.safetensors'].subarray(0, bytes.length)), 'the part is not the beginning');
      }
    }
    return there;
  }
}

// A failure with words, not a crash.
export function refused(result, ...words) {
  assert.equal(result.code, 1, JSON.stringify(result));
  assert.ok(!/Sanitizer|runtime error/.test(result.err), result.err);
  for (const w of words) assert.ok(w instanceof RegExp ? w.test(result.err) : result.err.includes(w), `wanted ${w} in: ${result.err}`);
}
export function fine(result) {
  assert.deepEqual([result.code, result.signal], [0, null], result.err);
  return result;
}
