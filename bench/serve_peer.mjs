// The peer of bench/serve.mjs: what one would write in an afternoon with Node's own HTTP server
// and onnxruntime-node, one process, the same encoder and heads, the same answers.
//
//   node bench/serve_peer.mjs DIR plain|batched [--threads N] [--no-spin] [--max-batch N]
//
// DIR is written by bench/serve_export.mjs. Listens on a free port of 127.0.0.1 and prints it.
//
//   plain    one run of the network per request, as requests arrive
//   batched  all requests waiting when the network is free go through it together, padded to the
//            longest text, at most --max-batch texts
//
// onnxruntime-node runs a network on Node's main thread; between two batches the event loop runs
// once, so that new requests are read. One turn of the loop accepts only one new connection, so
// with a network run in every turn 64 clients that connect at once would wait for seconds; the
// peer lets the loop turn until no more connections arrive.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { fail, loadRuntime, start } from './encode.mjs';

// ---- BERT's WordPiece, uncased ----

const SPACE = /[\t\n\r\p{Z}]/u;
const DROPPED = /[\uFFFD\p{C}]/u;
const ALONE = /[!-/:-@[-`{-~\p{P}\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/u;
const LONGEST_WORD = 100;

class Tokenizer {
  constructor({ vocab, max_tokens: maxTokens }) {
    this.vocab = new Map(Object.entries(vocab));
    this.room = maxTokens - 2;
    this.kinds = new Map(); // of characters: a regular expression is slow
  }

  kind(character) {
    let kind = this.kinds.get(character);
    if (kind === undefined) {
      if (SPACE.test(character)) kind = 'space';
      else if (DROPPED.test(character)) kind = 'dropped';
      else kind = ALONE.test(character) ? 'alone' : 'letter';
      this.kinds.set(character, kind);
    }
    return kind;
  }

  words(text) {
    const words = [];
    let word = '';
    const end = () => {
      if (word) words.push(word);
      word = '';
    };
    const folded = text.toLowerCase().normalize('NFD').replace(/\p{Mn}/gu, '');
    for (const character of folded) {
      const kind = this.kind(character);
      if (kind === 'letter') word += character;
      else if (kind !== 'dropped') {
        end();
        if (kind === 'alone') words.push(character);
      }
    }
    end();
    return words;
  }

  pieces(word, ids) {
    const first = ids.length;
    for (let from = 0, to; from < word.length; from = to) {
      let id;
      for (to = word.length; to > from; to--) {
        id = this.vocab.get(from ? `##${word.slice(from, to)}` : word.slice(from, to));
        if (id !== undefined) break;
      }
      if (id === undefined) {
        ids.length = first;
        ids.push(this.vocab.get('[UNK]'));
        return;
      }
      ids.push(id);
    }
  }

  ids(text) {
    const ids = [];
    for (const word of this.words(text)) {
      if (word.length > LONGEST_WORD) ids.push(this.vocab.get('[UNK]'));
      else this.pieces(word, ids);
      if (ids.length >= this.room) break;
    }
    return [this.vocab.get('[CLS]'), ...ids.slice(0, this.room), this.vocab.get('[SEP]')];
  }
}

// ---- From margins to an answer ----

function answer({ labels, calibration }, margins, topK = 5) {
  const byMargin = Array.from(margins, (margin, c) => ({ label: labels[c], margin }))
    .sort((a, b) => b.margin - a.margin);
  const [best] = byMargin;
  const open = best.margin < 0;
  const powers = byMargin.map(({ margin }) => Math.exp(calibration.temperature
    * (margin - best.margin)));
  const sum = powers.reduce((a, b) => a + b, 0);
  const known = 1 / (1 + Math.exp(-(calibration.bias + calibration.slope * best.margin)));
  const result = {
    label: open ? 'open' : best.label,
    open,
    confidence: open ? 1 - known : known / sum,
    margin: best.margin,
    ranking: byMargin.slice(0, topK)
      .map(({ label }, i) => ({ label, probability: powers[i] / sum })),
    accepted: byMargin.filter(({ margin }) => margin >= 0),
    nearest_rejecting: byMargin.find(({ margin }) => margin < 0) ?? null,
  };
  if (open) {
    result.reason = `every class rejects the text; "${best.label}" comes nearest, by `
      + `${(-best.margin).toFixed(3)}`;
  }
  return result;
}

// ---- The network ----

class Network {
  static async create(dir, { threads, spin }) {
    const network = new Network();
    network.ort = await loadRuntime();
    network.session = await network.ort.InferenceSession.create(path.join(dir, 'model.onnx'), {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      executionMode: 'sequential',
      ...(threads ? { intraOpNumThreads: threads } : {}),
      extra: { session: { intra_op: { allow_spinning: spin ? '1' : '0' } } },
    });
    return network;
  }

  /** The margins of texts given as ids. */
  async margins(lists) {
    const length = Math.max(...lists.map((ids) => ids.length));
    const size = lists.length * length;
    const ids = new Int32Array(size);
    const mask = new Int32Array(size);
    lists.forEach((list, row) => {
      ids.set(list, row * length);
      mask.fill(1, row * length, row * length + list.length);
    });
    const tensor = (data) => new this.ort.Tensor('int32', data, [lists.length, length]);
    const { margins } = await this.session.run({
      input_ids: tensor(ids),
      attention_mask: tensor(mask),
      token_type_ids: tensor(new Int32Array(size)),
    });
    const classes = margins.dims[1];
    return lists.map((_, row) => margins.data.subarray(row * classes, (row + 1) * classes));
  }
}

/** Runs the network on all waiting requests at once. */
class Batches {
  constructor(network, most) {
    this.network = network;
    this.most = most;
    this.waiting = [];
    this.busy = false;
  }

  margins([ids]) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ids, resolve, reject });
      if (!this.busy) {
        this.busy = true;
        setImmediate(() => this.work());
      }
    });
  }

  async work() {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.most);
      try {
        const margins = await this.network.margins(batch.map(({ ids }) => ids));
        batch.forEach(({ resolve }, i) => resolve([margins[i]]));
      } catch (error) {
        batch.forEach(({ reject }) => reject(error));
      }
      // Let the loop turn: new requests are read, and wait for the next batch.
      await new Promise((resolve) => { setImmediate(resolve); });
    }
    this.busy = false;
  }
}

// ---- The server ----

/** Counts connections; settled() waits for a turn of the loop without a new one. */
class Door {
  constructor(server) {
    this.count = 0;
    server.on('connection', (socket) => {
      socket.setNoDelay(true);
      this.count++;
    });
  }

  async settled() {
    const turn = () => new Promise((resolve) => { setImmediate(resolve); });
    await turn(); // the rest of this turn
    for (let before = -1; before !== this.count;) {
      before = this.count;
      await turn();
    }
  }
}

function body(request) {
  return new Promise((resolve, reject) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => { text += chunk; });
    request.on('end', () => resolve(text));
    request.on('error', reject);
  });
}

function send(response, status, object) {
  const text = JSON.stringify(object);
  response.writeHead(status, {
    'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

async function main() {
  const { values: args, positionals: [dir, mode] } = parseArgs({
    allowPositionals: true,
    options: {
      threads: { type: 'string', default: '0' },
      'no-spin': { type: 'boolean', default: false },
      'max-batch': { type: 'string', default: '32' },
    },
  });
  if (!dir || !['plain', 'batched'].includes(mode)) {
    fail('usage: node bench/serve_peer.mjs DIR plain|batched [--threads N] [--no-spin] '
      + '[--max-batch N]');
  }
  const model = JSON.parse(fs.readFileSync(path.join(dir, 'peer.json')));
  const tokenizer = new Tokenizer(model);
  const network = await Network.create(dir,
    { threads: Number(args.threads), spin: !args['no-spin'] });
  const runner = mode === 'plain' ? network : new Batches(network, Number(args['max-batch']));
  const server = http.createServer(async (request, response) => {
    try {
      if (request.method !== 'POST' || request.url !== '/v1/classify') {
        return send(response, 404, { error: 'not found' });
      }
      const { text } = JSON.parse(await body(request));
      if (typeof text !== 'string') return send(response, 400, { error: 'no text' });
      await door.settled();
      const [margins] = await runner.margins([tokenizer.ids(text)]);
      return send(response, 200, answer(model, margins));
    } catch (error) {
      return send(response, error instanceof SyntaxError ? 400 : 500, { error: error.message });
    }
  });
  const door = new Door(server);
  server.keepAliveTimeout = 60_000;
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    console.log(`http://127.0.0.1:${server.address().port}`);
  });
}

start(main);
