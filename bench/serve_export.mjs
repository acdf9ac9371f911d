// Writes a ringfence model as an ONNX file, for the peer of bench/serve.mjs.
//
//   node bench/serve_export.mjs MODEL.rf DIR
//
// DIR receives model.onnx (token ids and mask in, margins of all heads out: encoder, mean
// pooling and heads in one graph, so that an answer is one call) and peer.json (labels,
// calibration, vocabulary). Weights are the model's own, widened to single precision without
// loss. The graph uses the fused operators that ONNX Runtime's own BERT optimiser
// produces (Attention, SkipLayerNormalization, BiasGelu), so the peer starts from
// the best form of its model, whatever an optimiser may or may not recognise.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { fail, start } from './encode.mjs';

// ---- The model file (docs/FORMAT.md, "Model file") ----

const HALF = (() => {
  const table = new Float32Array(65536);
  for (let i = 0; i < 65536; i++) {
    const exponent = (i >> 10) & 31;
    const fraction = i & 1023;
    const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
    table[i] = i & 0x8000 ? -size : size; // no infinities: the file contains none
  }
  return table;
})();

class ModelFile {
  constructor(file) {
    this.bytes = fs.readFileSync(file);
    const length = Number(this.bytes.readBigUInt64LE(0));
    this.header = JSON.parse(this.bytes.toString('utf8', 8, 8 + length));
    this.data = 8 + length;
    this.json = JSON.parse(this.header.__metadata__['ringfence.json']);
  }

  raw(name) {
    const entry = this.header[name] ?? fail(`no tensor "${name}" in the model file`);
    const [begin, end] = entry.data_offsets;
    return { ...entry, bytes: this.bytes.subarray(this.data + begin, this.data + end) };
  }

  /** A tensor as single precision. */
  floats(name) {
    const { dtype, shape, bytes } = this.raw(name);
    const n = shape.reduce((product, size) => product * size, 1);
    const values = new Float32Array(n);
    if (dtype === 'F16') for (let i = 0; i < n; i++) values[i] = HALF[bytes.readUInt16LE(2 * i)];
    else if (dtype === 'F32') for (let i = 0; i < n; i++) values[i] = bytes.readFloatLE(4 * i);
    else fail(`${name}: found ${dtype}, wanted F16 or F32`);
    return { shape, values };
  }
}

/** The [out, in] matrices of dense layers side by side as one [in, out + out + ...]. */
function transposed(tensors) {
  const inputs = tensors[0].shape[1];
  const outputs = tensors.reduce((sum, { shape }) => sum + shape[0], 0);
  const values = new Float32Array(inputs * outputs);
  let column = 0;
  for (const { shape: [rows], values: from } of tensors) {
    for (let r = 0; r < rows; r++, column++) {
      for (let i = 0; i < inputs; i++) values[i * outputs + column] = from[r * inputs + i];
    }
  }
  return { shape: [inputs, outputs], values };
}

function joined(tensors) {
  const values = Float32Array.from(tensors.flatMap((tensor) => [...tensor.values]));
  return { shape: [values.length], values };
}

// ---- The part of protocol buffers that ONNX needs ----

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const float = (field, value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint((field << 3) | 5), bytes]);
};
const message = (field, ...parts) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
};

const TYPES = { float: 1, int32: 6, int64: 7 };
const ATTRIBUTES = { float: 1, int: 2, ints: 7 };

function attribute(name, value) {
  let kind = 'int';
  let content;
  if (Array.isArray(value)) {
    kind = 'ints';
    content = value.map((item) => number(8, item));
  } else if (Number.isInteger(value)) content = [number(3, value)];
  else {
    kind = 'float';
    content = [float(2, value)];
  }
  return message(5, message(1, name), ...content, number(20, ATTRIBUTES[kind]));
}

function valueInfo(field, name, type, dims) {
  const shape = dims.map((dim) => message(1, typeof dim === 'string'
    ? message(2, dim) : number(1, dim)));
  return message(field, message(1, name),
    message(2, message(1, number(1, TYPES[type]), message(2, ...shape))));
}

class Graph {
  constructor() {
    this.nodes = [];
    this.tensors = [];
    this.ends = [];
  }

  tensor(name, { shape, values }) {
    const type = values instanceof Float32Array ? TYPES.float : TYPES.int64;
    const raw = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    this.tensors.push(message(5, ...shape.map((size) => number(1, size)), number(2, type),
      message(8, name), message(9, raw)));
    return name;
  }

  /** Adds a node whose first output has its name; '' is an omitted input. */
  node(op, name, inputs, attributes = {}, domain = '', more = []) {
    this.nodes.push(message(1, ...inputs.map((input) => message(1, input)),
      ...[name, ...more].map((output) => message(2, output)), message(3, name), message(4, op),
      ...Object.entries(attributes).map(([key, value]) => attribute(key, value)),
      message(7, domain)));
    return name;
  }

  fused(op, name, inputs, attributes, more) {
    return this.node(op, name, inputs, attributes, 'com.microsoft', more);
  }

  bytes() {
    const opset = (domain, version) => message(8, message(1, domain), number(2, version));
    return Buffer.concat([number(1, 8), opset('', 17), opset('com.microsoft', 1),
      message(7, ...this.nodes, message(2, 'ringfence'), ...this.tensors, ...this.ends)]);
  }
}

// ---- The graph ----

function addEncoder(g, model) {
  const { layers, heads } = model.json.encoder;
  const config = JSON.parse(model.raw('files/config.json').bytes.toString());
  const epsilon = { epsilon: config.layer_norm_eps ?? 1e-12 };
  const keep = (name) => g.tensor(name, model.floats(name));
  const dense = (name) => g.tensor(`${name}.weight`, transposed([model.floats(`${name}.weight`)]));
  const norm = (name) => [keep(`${name}.weight`), keep(`${name}.bias`)];

  const [words, places, kinds] = ['word', 'position', 'token_type']
    .map((table) => keep(`embeddings.${table}_embeddings.weight`));
  let x = g.fused('EmbedLayerNormalization', 'embedded',
    ['input_ids', 'token_type_ids', words, places, kinds, ...norm('embeddings.LayerNorm'),
      'attention_mask'], epsilon, ['lengths']);
  for (let i = 0; i < layers; i++) {
    const at = `encoder.layer.${i}`;
    const qkv = ['query', 'key', 'value'].map((part) => `${at}.attention.self.${part}`);
    const attended = g.fused('Attention', `${at}/attention`, [x,
      g.tensor(`${at}.qkv.weight`, transposed(qkv.map((name) => model.floats(`${name}.weight`)))),
      g.tensor(`${at}.qkv.bias`, joined(qkv.map((name) => model.floats(`${name}.bias`)))),
      'lengths'], { num_heads: heads });
    const mixed = g.node('MatMul', `${at}/mixed`,
      [attended, dense(`${at}.attention.output.dense`)]);
    const y = g.fused('SkipLayerNormalization', `${at}/middle`,
      [mixed, x, ...norm(`${at}.attention.output.LayerNorm`),
        keep(`${at}.attention.output.dense.bias`)], epsilon);
    const wide = g.node('MatMul', `${at}/wide`, [y, dense(`${at}.intermediate.dense`)]);
    const bent = g.fused('BiasGelu', `${at}/gelu`,
      [wide, keep(`${at}.intermediate.dense.bias`)]);
    const narrow = g.node('MatMul', `${at}/narrow`, [bent, dense(`${at}.output.dense`)]);
    x = g.fused('SkipLayerNormalization', `${at}/out`,
      [narrow, y, ...norm(`${at}.output.LayerNorm`), keep(`${at}.output.dense.bias`)], epsilon);
  }
  return x;
}

/** Mean over the real tokens: the mask as a row times the states, divided by the number of ones. */
function addPooling(g, states) {
  const axes = (name, ...values) => g.tensor(name,
    { shape: [values.length], values: BigInt64Array.from(values.map(BigInt)) });
  const mask = g.node('Cast', 'mask', ['attention_mask'], { to: TYPES.float });
  const row = g.node('Unsqueeze', 'mask_row', [mask, axes('axis_1', 1)]);
  const summed = g.node('Squeeze', 'summed',
    [g.node('MatMul', 'summed_row', [row, states]), 'axis_1']);
  const count = g.node('ReduceSum', 'count', [mask, 'axis_1'], { keepdims: 1 });
  return g.node('Div', 'feature', [summed, count]);
}

/** All heads at once: the first layers as one product, the others as batched ones. */
function addHeads(g, model, feature) {
  const [w1, b1, w2, b2, w3, b3] = ['hidden1', 'hidden2', 'out']
    .flatMap((layer) => [`open.${layer}.weight`, `open.${layer}.bias`])
    .map((name) => model.floats(name));
  const [classes, first, width] = w1.shape;
  const second = w2.shape[1];
  const perHead = new Float32Array(w2.values.length); // [classes, first, second]
  for (let c = 0; c < classes; c++) {
    const part = w2.values.subarray(c * second * first, (c + 1) * second * first);
    perHead.set(transposed([{ shape: [second, first], values: part }]).values, c * first * second);
  }
  const shape = (name, ...sizes) => g.tensor(name,
    { shape: [sizes.length], values: BigInt64Array.from(sizes.map(BigInt)) });
  const flat = { shape: [classes * first, width], values: w1.values };
  const h1 = g.node('Relu', 'h1', [g.node('Gemm', 'h1_sum', [feature,
    g.tensor('w1', transposed([flat])), g.tensor('b1', { ...b1, shape: [classes * first] })])]);
  const byHead = g.node('Transpose', 'h1_by_head',
    [g.node('Reshape', 'h1_cut', [h1, shape('shape_h1', -1, classes, first)])],
    { perm: [1, 0, 2] });
  const h2 = g.node('Relu', 'h2', [g.node('Add', 'h2_sum', [
    g.node('MatMul', 'h2_product',
      [byHead, g.tensor('w2', { shape: [classes, first, second], values: perHead })]),
    g.tensor('b2', { shape: [classes, 1, second], values: b2.values })])]);
  const out = g.node('Add', 'g', [
    g.node('MatMul', 'g_product',
      [h2, g.tensor('w3', { shape: [classes, second, 1], values: w3.values })]),
    g.tensor('b3', { shape: [classes, 1, 1], values: b3.values })]);
  g.node('Transpose', 'margins',
    [g.node('Reshape', 'g_flat', [out, shape('shape_g', classes, -1)])], { perm: [1, 0] });
  return classes;
}

/** Writes DIR/model.onnx and DIR/peer.json; returns the content of the latter. */
export function exportModel(file, dir) {
  const model = new ModelFile(file);
  const { json } = model;
  if (json.method !== 'ans') fail(`${file}: method "${json.method}", wanted "ans"`);
  if (!json.encoder.contained) fail(`${file}: a slim model, wanted one that holds its encoder`);
  const g = new Graph();
  for (const name of ['input_ids', 'token_type_ids', 'attention_mask']) {
    g.ends.push(valueInfo(11, name, 'int32', ['texts', 'tokens']));
  }
  const classes = addHeads(g, model, addPooling(g, addEncoder(g, model)));
  g.ends.push(valueInfo(12, 'margins', 'float', ['texts', classes]));
  const { slope = 1, bias = 0, temperature = 1 } = json.calibration ?? {};
  const tokenizer = JSON.parse(model.raw('files/tokenizer.json').bytes.toString());
  const peer = {
    labels: json.labels,
    calibration: { slope, bias, temperature },
    max_tokens: json.encoder.max_tokens,
    vocab: tokenizer.model.vocab,
  };
  fs.writeFileSync(path.join(dir, 'model.onnx'), g.bytes());
  fs.writeFileSync(path.join(dir, 'peer.json'), JSON.stringify(peer));
  return peer;
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  start(async () => {
    const [file, dir] = process.argv.slice(2);
    if (!dir) fail('usage: node bench/serve_export.mjs MODEL.rf DIR');
    fs.mkdirSync(dir, { recursive: true });
    exportModel(file, dir);
  });
}
