// Times the service against a plain Node server that runs the same encoder and heads with
// onnxruntime-node, under the same load, alternating in the same run.
//
//   npm install --ignore-scripts --prefix bench     (once)
//   node bench/serve.mjs [--quick] [--connections 1,16,64,256] [--seconds 5] [--rounds 3]
//                        [--serve-args="--workers 2 ..."] [--model FILE] [--build DIR]
//                        [--plain-args="--threads 2"] [--batched-args="--threads 2 ..."]
//                        [--patience S] [--tries N] [--json FILE]
//   node bench/serve.mjs --sweep     the service alone, with several settings
//
// The load: wrk over the loopback, connections kept open, one text of exactly 12 tokens per
// request, answers with all their fields. wrk runs on the machine it measures and takes its
// share of it; the CPU use of all processes is printed beside the figures.
//
// The peers (bench/serve_peer.mjs), each with the best settings that a trial finds
// (unless they are given), must give the answers of `ringfence predict` before anything is
// timed:
//   plain    one run of the network per request
//   batched  all waiting requests go through the network together
//
// Each figure is the median over the rounds; a ratio is the median of the rounds' ratios, with
// the smallest and the largest. A cell waits until the machine is quiet, for at most --patience
// seconds. If other processes take more than a tenth of the machine it is measured again, up to
// --tries times; the least disturbed try counts, and is marked if it was still disturbed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { ROOT, fail, run, start, tokenize } from './encode.mjs';
import { exportModel } from './serve_export.mjs';

const BARS = {
  peer: 1.5, // requests/s at 64 connections, ours / the plain peer's, at least
  bulk: 0.8, // requests/s at 64 connections / texts per second of predict, at least
  latency: 1.3, // p50 at 1 connection / the same answer in process, at most
};
const LOADED = 64; // connections at which the throughput is judged
const TOKENS = 12;
const MARGIN_TOLERANCE = 1e-2;
const WARM_SECONDS = 1;
const CALLS = 500;
const BULK_SIZES = [620, 3720]; // texts; the difference is used, which cancels loading
const QUIET = 0.15; // of the machine in use: quiet enough to start
const DISTURBED = 0.1; // of the machine used by others: the cell is marked
const CPUS = os.cpus().length;

const SWEEP = [
  [],
  ['--workers', '1', '--threads', '1'],
  ['--workers', '1', '--threads', '2'],
  ['--workers', '2', '--threads', '1'],
  ...[96, 192, 384, 768, 1536].map((tokens) => ['--batch-tokens', `${tokens}`]),
];

const progress = (line) => console.error(line);

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// ---- The machine ----

/** Busy seconds of all CPUs together, including time taken by other virtual machines (steal). */
function busySeconds() {
  const [, user, nice, system, , , irq, soft, steal] = fs.readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0].split(/\s+/).map(Number);
  return (user + nice + system + irq + soft + steal) / 100;
}

/** CPU seconds of a process. */
function cpuSeconds(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function waitForQuiet(patience) {
  for (const start = performance.now(); performance.now() - start < patience * 1e3;) {
    const [before, at] = [busySeconds(), performance.now()];
    await sleep(400);
    if ((busySeconds() - before) / ((performance.now() - at) / 1e3) / CPUS < QUIET) return;
  }
}

/** Runs a program to its end; its output, and the CPU seconds it took. */
async function timed(program, args) {
  const child = spawn('time', ['-f', 'cpu %U %S', program, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] });
  const out = ['', ''];
  child.stdout.on('data', (data) => { out[0] += data; });
  child.stderr.on('data', (data) => { out[1] += data; });
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) fail(`${program} ${args.join(' ')}: exit status ${code}\n${out[1]}`);
  const [, user, system] = out[1].match(/cpu ([\d.]+) ([\d.]+)\s*$/);
  return { stdout: out[0], cpu: Number(user) + Number(system) };
}

/** Measures until the machine is undisturbed; the least disturbed try counts. */
async function calmly(options, measureOnce) {
  let best = null;
  for (let i = 0; i < options.tries && !(best?.others <= DISTURBED); i++) {
    await waitForQuiet(options.patience);
    const [busy, at] = [busySeconds(), performance.now()];
    const result = await measureOnce(); // with its CPU seconds
    const seconds = (performance.now() - at) / 1e3;
    const others = Math.max(0, (busySeconds() - busy - result.cpu) / seconds / CPUS);
    if (!best || others < best.others) best = { ...result, seconds, others };
  }
  return best;
}

// ---- Servers ----

const alive = new Set(); // children; they must not outlive us
process.on('exit', () => alive.forEach((child) => child.kill()));
['SIGINT', 'SIGTERM', 'SIGHUP'].forEach((signal) => process.on(signal, () => process.exit(1)));

class Server {
  constructor(name, program, args) {
    Object.assign(this, { name, program, args, cells: [] });
  }

  /** Starts it and waits for the line that says where it listens. */
  async start() {
    this.child = spawn(this.program, this.args, { stdio: ['ignore', 'pipe', 'pipe'] });
    alive.add(this.child);
    let said = '';
    this.url = await new Promise((resolve, reject) => {
      const line = (text) => {
        said += `${text}\n`;
        const found = text.match(/http:\/\/127\.0\.0\.1:\d+/);
        if (found) resolve(found[0]);
      };
      readline.createInterface({ input: this.child.stdout }).on('line', line);
      readline.createInterface({ input: this.child.stderr }).on('line', line);
      this.child.on('error', (error) => reject(new Error(`${this.program}: ${error.message}`)));
      this.child.on('close', (code) => {
        this.ended = true;
        alive.delete(this.child);
        reject(new Error(`${this.name}: ended with status ${code}\n${said}`));
      });
    });
    return this;
  }

  async stop() {
    if (!this.child || this.ended) return;
    const closed = new Promise((resolve) => { this.child.on('close', resolve); });
    this.child.kill('SIGTERM');
    await closed;
  }

  async classify(text) {
    const response = await fetch(`${this.url}/v1/classify`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ text }),
    });
    const answer = await response.json();
    if (!response.ok) fail(`${this.name}: status ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async load(connections, seconds, bodies) {
    const cpu = cpuSeconds(this.child.pid);
    const { stdout, cpu: wrkCpu } = await timed('wrk', ['-t1', `-c${connections}`,
      `-d${seconds}s`, '--timeout', '30s', '-s', path.join(ROOT, 'bench/serve.lua'), this.url,
      '--', bodies]);
    const cell = JSON.parse(stdout.trimEnd().split('\n').pop());
    const serverCpu = cpuSeconds(this.child.pid) - cpu;
    return {
      connections,
      rate: cell.requests / cell.seconds,
      ...cell,
      errors: cell.status_errors + cell.socket_errors,
      server_cpu_ms: (serverCpu * 1e3) / Math.max(cell.requests, 1), // per request
      wrk_cpu_ms: (wrkCpu * 1e3) / Math.max(cell.requests, 1),
      cpu: serverCpu + wrkCpu,
    };
  }
}

const serveServer = (name, options, args) => new Server(name, options.program,
  ['serve', options.model, '--listen', '127.0.0.1:0', ...args]);

const peerServer = (mode, dir, settings) => new Server(mode, process.execPath,
  [path.join(ROOT, 'bench/serve_peer.mjs'), dir, mode, ...settings]);

/** Every text must get the answer of `ringfence predict`; some are sent concurrently. */
async function check(server, texts, wanted) {
  let worst = 0;
  for (let from = 0; from < texts.length; from += 32) {
    const answers = await Promise.all(texts.slice(from, from + 32)
      .map((text) => server.classify(text)));
    answers.forEach((answer, i) => {
      const want = wanted[from + i];
      const off = Math.max(Math.abs(answer.margin - want.margin),
        Math.abs(answer.confidence - want.confidence));
      worst = Math.max(worst, off);
      const same = answer.label === want.label && answer.open === want.open
        && answer.ranking.length === want.ranking.length && off <= MARGIN_TOLERANCE;
      if (!same) {
        fail(`${server.name}: another answer than ringfence predict for `
          + `"${texts[from + i]}":\n${JSON.stringify(answer)}\n${JSON.stringify(want)}`);
      }
    });
  }
  return worst;
}

/** The settings of a peer with the most requests per second, by short alternating trials. */
async function tunePeer(mode, dir, data, candidates, options) {
  const tried = candidates.map((settings) => ({ settings, rate: 0 }));
  for (let pass = 0; pass < 2; pass++) {
    for (const candidate of tried) {
      const server = await peerServer(mode, dir, candidate.settings).start();
      try {
        await server.load(LOADED, WARM_SECONDS, data.bodies);
        const { rate } = await calmly(options,
          () => server.load(LOADED, options.quick ? 1 : 2, data.bodies));
        candidate.rate = Math.max(candidate.rate, rate);
      } finally {
        await server.stop();
      }
    }
  }
  tried.sort((a, b) => b.rate - a.rate);
  progress(`${mode} peer: ${tried.map(({ settings, rate }) => `${settings.join(' ')}: `
    + `${rate.toFixed(0)}/s`).join(', ')}`);
  return tried[0].settings;
}

async function tunePeers(dir, data, options) {
  const threads = [...new Set([1, CPUS])].flatMap((n) => [['--threads', `${n}`],
    ...(n > 1 ? [['--threads', `${n}`, '--no-spin']] : [])]);
  const given = (text) => text.split(' ').filter(Boolean);
  const plain = options['plain-args'] ? given(options['plain-args'])
    : await tunePeer('plain', dir, data, [['--threads', '0'], ...threads], options);
  if (options['batched-args']) return { plain, batched: given(options['batched-args']) };
  const batched = await tunePeer('batched', dir, data, threads, options);
  const sizes = await tunePeer('batched', dir, data,
    [8, 16, 32, 64].map((size) => [...batched, '--max-batch', `${size}`]), options);
  return { plain, batched: sizes };
}

// ---- Our own baselines for the service ----

/** Texts per second of `ringfence predict`, without loading. */
async function bulkRate(data, options) {
  const seconds = [];
  for (const file of data.bulk) {
    const done = await calmly(options,
      () => timed(options.program, ['predict', options.model, file]));
    seconds.push(done.seconds);
  }
  return (BULK_SIZES[1] - BULK_SIZES[0]) / (seconds[1] - seconds[0]);
}

/** The median of single answers without a network, in ms, by number of threads. */
async function inProcess(data, options) {
  const result = {};
  for (const threads of new Set([1, CPUS])) {
    const { stdout } = await calmly(options, () => timed(options.latency,
      [options.model, data.texts, `${threads}`, `${options.quick ? 100 : CALLS}`]));
    result[threads] = JSON.parse(stdout).median_ms;
  }
  return result;
}

// ---- Measuring ----

function prepare(work, options) {
  const all = fs.readFileSync(path.join(ROOT, 'examples/support/test.tsv'), 'utf8')
    .trimEnd().split('\n').slice(1).map((line) => line.split('\t')[0]);
  const data = Object.fromEntries(['all', 'texts', 'bodies']
    .map((name) => [name, path.join(work, `${name}.txt`)]));
  const write = (file, lines) => fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  write(data.all, all);
  const ids = tokenize(options.program, 'minilm', data.all, 512);
  const chosen = all.filter((_, i) => ids[i].length === TOKENS);
  if (chosen.length === 0) fail(`no text of ${TOKENS} tokens in examples/support/test.tsv`);
  write(data.texts, chosen);
  write(data.bodies, chosen.map((text) => JSON.stringify({ text })));
  data.bulk = BULK_SIZES.map((size) => {
    const file = path.join(work, `bulk-${size}.txt`);
    write(file, Array.from({ length: size }, (_, i) => chosen[i % chosen.length]));
    return file;
  });
  data.n = chosen.length;
  data.allTexts = all;
  data.wanted = run(options.program, ['predict', options.model, '--json', data.all])
    .toString().trimEnd().split('\n').map((line) => JSON.parse(line));
  return data;
}

async function measureCell(server, connections, data, options) {
  await server.load(connections, WARM_SECONDS, data.bodies);
  const cell = await calmly(options,
    () => server.load(connections, options.seconds, data.bodies));
  progress(`  ${server.name}, ${connections} connections: ${cell.rate.toFixed(0)}/s, `
    + `p50 ${cell.p50_ms.toFixed(2)}, p99 ${cell.p99_ms.toFixed(2)} ms, `
    + `others ${(cell.others * 100).toFixed(0)} %${cell.errors ? `, ${cell.errors} errors` : ''}`);
  return cell;
}

async function measure(servers, data, options) {
  const rounds = [];
  for (let r = 0; r < options.rounds; r++) {
    progress(`round ${r + 1} of ${options.rounds}`);
    const round = { cells: Object.fromEntries(servers.map(({ name }) => [name, {}])) };
    for (const connections of options.connections) {
      if (connections === 1) { // right before the cell that it is compared with
        round.in_process_ms = await inProcess(data, options);
      }
      // A different server goes first in every round, so that none always gets the warmer machine.
      const order = servers.map((_, i) => servers[(i + r) % servers.length]);
      for (const server of order) {
        round.cells[server.name][connections] = await measureCell(server, connections, data,
          options);
      }
      if (connections === LOADED) {
        round.bulk = await bulkRate(data, options);
      }
    }
    rounds.push(round);
  }
  return rounds;
}

// ---- Printing ----

const columns = [
  ['server', 26, (c) => c.name], ['conns', 6, (c) => c.connections],
  ['requests/s', 11, (c) => c.rate.toFixed(0)], ['p50 ms', 9, (c) => c.p50_ms.toFixed(2)],
  ['p99 ms', 9, (c) => c.p99_ms.toFixed(2)], ['errors', 7, (c) => c.errors],
  ['CPU ms', 8, (c) => c.server_cpu_ms.toFixed(2)],
  ['others %', 9, (c) => `${(c.others * 100).toFixed(0)}${c.others > DISTURBED ? '*' : ' '}`],
  ['requests/s by round', 24, (c) => c.rates.map((rate) => rate.toFixed(0)).join(' ')],
];

/** The cells of one server and load over the rounds as one. */
function merged(name, cells) {
  const result = { name, connections: cells[0].connections };
  for (const key of ['rate', 'p50_ms', 'p99_ms', 'server_cpu_ms', 'wrk_cpu_ms', 'others']) {
    result[key] = median(cells.map((cell) => cell[key]));
  }
  result.errors = cells.reduce((sum, cell) => sum + cell.errors, 0);
  result.rates = cells.map((cell) => cell.rate);
  return result;
}

function printTable(rows) {
  console.log('');
  console.log(columns.map(([title, width]) => title.padStart(width)).join(''));
  for (const row of rows) {
    console.log(columns.map(([, width, text]) => `${text(row)}`.padStart(width)).join(''));
  }
}

function spread(values, digits = 2) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
}

function printBar(text, values, wanted, met) {
  console.log(`bar  ${text.padEnd(58)} wanted ${wanted.padEnd(8)} got ${spread(values)}  `
    + `${met ? 'met' : 'NOT MET'}`);
}

function printBars(rounds) {
  if (!rounds[0].cells.ringfence?.[LOADED]) return; // a sweep, or another load
  const at = (name, connections, key) => rounds.map((r) => r.cells[name][connections][key]);
  const ratio = (a, b) => a.map((value, i) => value / b[i]);
  const ours = at('ringfence', LOADED, 'rate');
  const toPlain = ratio(ours, at('plain', LOADED, 'rate'));
  const p99 = ratio(at('ringfence', LOADED, 'p99_ms'), at('plain', LOADED, 'p99_ms'));
  const bulk = ratio(ours, rounds.map((r) => r.bulk));
  console.log('');
  printBar(`requests/s at ${LOADED}: ours / plain peer`, toPlain, `>= ${BARS.peer}`,
    median(toPlain) >= BARS.peer);
  printBar(`p99 at ${LOADED}: ours / plain peer`, p99, '< 1', median(p99) < 1);
  printBar(`requests/s at ${LOADED} / texts per second of predict`, bulk, `>= ${BARS.bulk}`,
    median(bulk) >= BARS.bulk);
  if (rounds[0].cells.ringfence[1]) {
    const fastest = rounds.map((r) => Math.min(...Object.values(r.in_process_ms)));
    const latency = ratio(at('ringfence', 1, 'p50_ms'), fastest);
    printBar('p50 at 1 connection / the same answer in process', latency,
      `<= ${BARS.latency}`, median(latency) <= BARS.latency);
  }
  console.log(`     requests/s at ${LOADED}: ours / batched peer ${spread(ratio(ours,
    at('batched', LOADED, 'rate')))}; p99 ${spread(ratio(at('ringfence', LOADED, 'p99_ms'),
    at('batched', LOADED, 'p99_ms')))}`);
}

function print(report) {
  const { machine, rounds, servers } = report;
  console.log(`${report.version}, onnxruntime ${report.onnxruntime}, node ${process.version}`);
  console.log(`${machine.cpu}, ${machine.cpus} CPUs, shared by server and wrk (one thread); load `
    + `average ${machine.load.map((load) => load.toFixed(2)).join(' at the start, ')} at the end`);
  console.log(`${report.texts} texts of ${TOKENS} tokens, one per request; ${report.seconds} s a `
    + `cell, medians of ${rounds.length} round(s) in turns; CPU ms: of the server, per request`);
  for (const { name, settings } of report.sweep ? [] : servers) {
    console.log(`  ${name}: ${settings.join(' ') || 'as it comes'}`);
  }
  const rows = report.connections.flatMap((connections) => servers.map(({ name }) => merged(name,
    rounds.map((round) => round.cells[name][connections]))));
  printTable(rows);
  if (rows.some(({ others }) => others > DISTURBED)) {
    console.log('* Others took more than a tenth of the machine: do not quote this cell.');
  }
  console.log('');
  if (rounds[0].bulk) {
    console.log(`ringfence predict: ${spread(rounds.map((round) => round.bulk), 0)} texts/s`);
  }
  for (const threads of Object.keys(rounds[0].in_process_ms)) {
    console.log(`one answer in process, ${threads} thread(s): `
      + `${spread(rounds.map((round) => round.in_process_ms[threads]))} ms`);
  }
  printBars(rounds);
}

// ---- The program ----

function readOptions() {
  const { values: args } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      sweep: { type: 'boolean', default: false },
      connections: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      patience: { type: 'string', default: '10' },
      tries: { type: 'string', default: '3' },
      'serve-args': { type: 'string', default: '' },
      'plain-args': { type: 'string', default: '' },
      'batched-args': { type: 'string', default: '' },
      model: { type: 'string', default: path.join(ROOT, 'build/demo/support.rf') },
      build: { type: 'string', default: path.join(ROOT, 'build') },
      json: { type: 'string' },
    },
  });
  const connections = args.connections ?? (args.sweep ? `1,${LOADED}` : `1,16,${LOADED},256`);
  const options = {
    ...args,
    program: path.resolve(args.build, 'ringfence'),
    latency: path.resolve(args.build, 'bench/bench_latency'),
    connections: connections.split(',').map(Number),
    seconds: Number(args.seconds ?? (args.quick ? 2 : 5)),
    rounds: Number(args.rounds ?? (args.quick ? 1 : 3)),
    patience: args.quick ? 0 : Number(args.patience),
    tries: args.quick ? 1 : Number(args.tries),
    serveArgs: args['serve-args'].split(' ').filter(Boolean),
  };
  for (const file of [options.program, options.latency]) {
    if (!fs.existsSync(file)) fail(`${file} is not there; build first: make`);
  }
  if (!fs.existsSync(args.model)) fail(`${args.model} is not there; make it with: make demo`);
  return options;
}

async function makeServers(work, data, options) {
  if (options.sweep) {
    return SWEEP.map((args) => ({ settings: args,
      server: serveServer(args.join(' ') || 'defaults', options, args) }));
  }
  exportModel(options.model, work);
  const peers = await tunePeers(work, data, options);
  return [
    { settings: options.serveArgs, server: serveServer('ringfence', options, options.serveArgs) },
    ...Object.entries(peers).map(([mode, settings]) => ({ settings,
      server: peerServer(mode, work, settings) })),
  ];
}

async function main() {
  const options = readOptions();
  const load = [os.loadavg()[0]];
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'ringfence-bench-'));
  process.on('exit', () => fs.rmSync(work, { recursive: true, force: true }));
  const running = [];
  try {
    const data = prepare(work, options);
    const made = await makeServers(work, data, options);
    for (const { server } of made) {
      running.push(await server.start());
      const worst = await check(server, data.allTexts, data.wanted);
      progress(`${server.name}: ${data.allTexts.length} answers as predict gives them, `
        + `largest difference ${worst.toExponential(1)}`);
    }
    const rounds = await measure(running, data, options);
    load.push(os.loadavg()[0]);
    const { version } = JSON.parse(fs.readFileSync(
      path.join(ROOT, 'bench/node_modules/onnxruntime-node/package.json')));
    const report = {
      date: new Date().toISOString(),
      sweep: options.sweep,
      version: run(options.program, ['--version']).toString().split('\n')[0],
      onnxruntime: version,
      machine: { cpu: os.cpus()[0].model.trim(), cpus: CPUS, load },
      texts: data.n,
      seconds: options.seconds,
      connections: options.connections,
      servers: made.map(({ server, settings }) => ({ name: server.name, settings })),
      bars: BARS,
      rounds,
    };
    print(report);
    if (options.json) fs.writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    for (const server of running) await server.stop();
  }
}

start(main);
