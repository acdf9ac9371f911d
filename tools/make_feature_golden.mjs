// Writes the golden features of whole texts, computed by ONNX Runtime on the published exports.
//
//   npm install --ignore-scripts --prefix bench
//   node tools/make_feature_golden.mjs [--compare] [--build DIR]
//
// Writes, in tests/golden/features:
//   texts.txt          300 texts, one per line, made below from a list of sentences. Lengths are
//                      log-uniform from one word to more than 512 tokens.
//   minilm-fp32.bin    300 records of 33 little-endian float32, no header: the L2 norm
//   gte-small.bin      of the text's features x [384], then 32 signed sums of them.
//
// Features: mean over the tokens of last_hidden_state, [CLS] and [SEP] included, texts cut at 512
// tokens, one text at a time (no padding), the mean in double. Ids come from our tokenizer, which
// its own tests compare with a reference (tools/make_token_golden.py).
//
// Signed sums: sum j of 32 is sum_i s[j][i] x[i] over i = 0 .. 383, s[j][i] in {-1, +1}. The signs
// are the top bits of a xorshift32 stream from seed 2463534242, drawn row by row (j = 0: i = 0,
// 1, ...; then j = 1), a set bit for -1:
//     u ^= u << 13; u ^= u >> 17; u ^= u << 5;   sign = u >> 31 ? -1 : +1
// They keep the files at 40 KB instead of 460 and lose little: for an error e, such a sum has
// about the size of |e| (variance |e|^2), so 32 of them detect any e.
//
// --compare also embeds the texts with build/ringfence and prints the relative L2 error of the
// full vectors; exits with status 1 if one is above 1e-4.
//
// Made with onnxruntime-node 1.30.0. Another version may change last bits.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import {
  ROOT, fail, feedsOf, loadRuntime, onnxFile, run, start, tokenize,
} from '../bench/encode.mjs';

const DIR = path.join(ROOT, 'tests', 'golden', 'features');
const ENCODERS = ['minilm-fp32', 'gte-small'];
const N_TEXTS = 300;
const MAX_WORDS = 340; // the longest texts have more than 510 word pieces, and are cut
const MAX_TOKENS = 512;
const PROJECTIONS = 32;
const BAR = 1e-4;

// ---- Texts ----

const FILL = {
  thing: ['parcel', 'bicycle', 'kettle', 'front wheel', 'invoice', 'umbrella', 'telescope',
    'violin', 'spreadsheet', 'garden hose', 'passport', 'coffee grinder', 'lighthouse',
    'microscope', 'suitcase', 'thermostat', 'antique clock', 'loaf of rye bread', 'rain gauge', 'fishing boat',
    'kaleidoscope', 'barometer', 'chessboard', 'wheelbarrow', 'accordion', 'hydroelectric turbine'],
  person: ['my neighbour', 'the librarian', 'Dr. Okonkwo', 'an apprentice', 'the night porter',
    'Señora Ibáñez', 'Zoë', 'the ferryman', 'Mr. Nguyễn', 'our grandmother', 'the choir',
    'Professor Ångström', 'a beekeeper', 'François', 'the postmistress', 'Björn',
    'the committee'],
  place: ['Reykjavík', 'the railway station', 'São Paulo', 'the attic', 'Kraków',
    'a quiet harbour', 'the north meadow', 'Lake Titicaca', 'the second floor', 'Düsseldorf',
    'an abandoned quarry', 'Xi’an', 'the botanical garden', 'Trondheim', 'the greenhouse', 'Tromsø'],
  did: ['repaired', 'lost', 'weighed', 'painted', 'borrowed', 'catalogued', 'dismantled', 'forgot',
    'photographed', 'wrapped', 'returned', 'measured', 'auctioned', 'disassembled', 'polished'],
  like: ['rusty', 'enormous', 'barely audible', 'lukewarm', 'translucent', 'half-finished',
    'counterintuitive', 'brittle', 'unmistakable', 'bittersweet', 'waterproof', 'lopsided',
    'ultraviolet', 'old-fashioned', 'unremarkable'],
  when: ['yesterday', 'at 7:45 a.m.', 'on 29/02/2024', 'before sunrise', 'twice a week', 'in 1887',
    'after the thunderstorm', 'every leap year', 'last Tuesday', 'around midnight', 'since March'],
  number: ['3', '17', '42.5', '1,024', '0.003', '99%', '€12.80', '$4,999.00', '-40 °C', '6×9',
    '½', '2^10', '1e-6', '#404', 'no. 12', '365', '3.14159', '10:1', '٤٢', 'MMXXIV'],
};

const SENTENCES = [
  '{person} {did} the {thing} {when}, but nobody in {place} noticed.',
  'Where can I buy a {like} {thing} for less than {number}?',
  'The {thing} that {person} {did} was {like}; the {thing} beside it was not.',
  'Please tell {person} that the {thing} weighs {number} kilograms (give or take {number}).',
  '"How {like}!" said {person}, and {did} the {thing} once more.',
  'It takes {number} minutes from {place} to {place}, {when} at least.',
  'If the {thing} is {like}, turn it off, wait {number} seconds and turn it on again.',
  'I haven’t seen such a {like} {thing} {when} -- have you?',
  'Nobody in {place} knew why {person} {did} {number} copies of the {thing}...',
  'Step {number}: put the {thing} on the {thing} & don’t let go!!!',
  'See https://example.org/{thing}?id={number} or write to info@example.org.',
  '{person}, {person} and {person} met in {place} {when} to talk about the {thing}.',
  'According to {person}, a {like} {thing} is worth {number} times its weight in saffron.',
  'What is the difference between a {thing} and a {like} {thing}, {person} asked.',
  'My order #{number} has not arrived yet; {person} in {place} says it left {when}.',
  'In {place} the {thing} is called something else entirely, which {person} finds {like}.',
  'x = {number} * (y + {number}) / z[0]; // {like} {thing}',
  'El {thing} está en la estación, ¿verdad? {person} lo {did} mañana.',
  'Le garçon a déjà mangé la crème brûlée à {place}, hélas.',
  'Über den Flüssen bei {place} hängt {when} ein süßer Geruch von Äpfeln.',
  'Zażółć gęślą jaźń, powiedział {person} {when}.',
  'Поезд из Москвы пришёл в {place} {when}.',
  'Η θάλασσα ήταν ήσυχη, wrote {person} about {place}.',
  '今天天气很好，我们去公园散步吧。 {person} agreed.',
  '東京の図書館で本を読みました。 The {thing} was {like}.',
  '오늘은 날씨가 정말 좋네요, {person}.',
  'اشتريت كتابا جديدا من السوق in {place} {when}.',
  'नदी के किनारे एक पुराना पेड़ है near {place}.',
  'שלום לכולם from {place}!',
  'สวัสดีครับ said {person} {when}',
  '{person} sent 🚲🔧 and then 🎉 to {place} :-)',
  'naïve café façade résumé coöperate {like} jalapeño smörgåsbord',
  'The e-mail read: "{thing}_v2 (final) [{number}].tar.gz" ~ nothing else.',
  'Antidisestablishmentarianism and floccinaucinihilipilification bored {person} {when}.',
  'Temperatures of {number} and {number} were recorded in {place}, a {like} surprise.',
];

function xorshift32(seed) {
  let u = seed >>> 0;
  return () => {
    u ^= u << 13;
    u >>>= 0;
    u ^= u >>> 17;
    u ^= u << 5;
    u >>>= 0;
    return u;
  };
}

function sentence(next) {
  const pick = (list) => list[next() % list.length];
  return pick(SENTENCES).replace(/\{(\w+)\}/g, (_, slot) => pick(FILL[slot]));
}

/** 300 texts; the number of words of text k is a log-uniform grid in shuffled order. */
function makeTexts() {
  const next = xorshift32(88172645);
  const words = Array.from({ length: N_TEXTS },
    (_, i) => Math.round(MAX_WORDS ** (i / (N_TEXTS - 1))));
  for (let i = N_TEXTS - 1; i > 0; i--) {
    const j = next() % (i + 1);
    [words[i], words[j]] = [words[j], words[i]];
  }
  return words.map((count) => {
    const text = sentence(next).split(' ');
    text.splice(0, next() % text.length); // otherwise all texts of one word would be "The" and "If"
    while (text.length < count) text.push(...sentence(next).split(' '));
    return text.slice(0, count).join(' ');
  });
}

// ---- Features ----

/** Mean-pooled features of each id list, as Float64Array. */
async function reference(ort, encoder, idLists) {
  const session = await ort.InferenceSession.create(onnxFile(encoder), {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'basic', // closest to the published graph
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const features = [];
  for (const ids of idLists) {
    const { last_hidden_state: states } = await session.run(feedsOf(ort, session, [ids]));
    const [, tokens, width] = states.dims;
    const mean = new Float64Array(width);
    for (let t = 0; t < tokens; t++) {
      for (let i = 0; i < width; i++) mean[i] += states.data[t * width + i] / tokens;
    }
    features.push(mean);
  }
  await session.release();
  return features;
}

const norm = (x) => Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));

function makeSigns(width) {
  const next = xorshift32(2463534242);
  return Array.from({ length: PROJECTIONS },
    () => Float64Array.from({ length: width }, () => (next() >>> 31 ? -1 : 1)));
}

/** The bytes of a golden file. */
function encodeRecords(features) {
  const signs = makeSigns(features[0].length);
  const bytes = Buffer.alloc(features.length * (1 + PROJECTIONS) * 4);
  let at = 0;
  for (const x of features) {
    at = bytes.writeFloatLE(norm(x), at);
    for (const s of signs) at = bytes.writeFloatLE(x.reduce((sum, v, i) => sum + s[i] * v, 0), at);
  }
  return bytes;
}

// ---- Comparing ----

/** The rows of a two-dimensional .npy of float32. */
function readNpy(bytes) {
  if (bytes.toString('latin1', 0, 7) !== '\x93NUMPY\x01') fail('not a .npy of version 1');
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, start);
  const shape = /'shape': \((\d+), (\d+)\)/.exec(header);
  if (!shape || !header.includes("'<f4'") || !header.includes("'fortran_order': False")) {
    fail(`unexpected .npy header: ${header}`);
  }
  const [rows, width] = [Number(shape[1]), Number(shape[2])];
  return Array.from({ length: rows }, (_, row) => Float64Array.from({ length: width },
    (__, i) => bytes.readFloatLE(start + 4 * (row * width + i))));
}

/** Prints the errors of our features; true if all are within the limit. */
function compare(program, encoder, features, file) {
  const ours = readNpy(run(program, ['embed', '--encoder', encoder, '--format', 'npy', file]));
  if (ours.length !== features.length) fail(`${encoder}: ${ours.length} rows from ringfence embed`);
  const errors = ours.map((x, k) => norm(x.map((v, i) => v - features[k][i])) / norm(features[k]));
  const max = errors.reduce((a, b) => (a >= b ? a : b)); // keeps a NaN
  const mean = errors.reduce((a, b) => a + b) / errors.length;
  const met = max <= BAR;
  console.log(`${encoder}: relative L2 error max ${max.toExponential(2)} `
    + `(text ${errors.indexOf(max) + 1}), mean ${mean.toExponential(2)}; `
    + `bar ${BAR}: ${met ? 'met' : 'NOT MET'}`);
  return met;
}

// ---- The program ----

async function main() {
  const { values: args } = parseArgs({
    options: {
      compare: { type: 'boolean', default: false },
      build: { type: 'string', default: path.join(ROOT, 'build') },
    },
  });
  const program = path.resolve(args.build, 'ringfence');
  const ort = await loadRuntime();
  const file = path.join(DIR, 'texts.txt');
  fs.mkdirSync(DIR, { recursive: true });
  fs.writeFileSync(file, makeTexts().map((text) => `${text}\n`).join(''));
  console.log(`texts.txt: ${N_TEXTS} texts, ${fs.statSync(file).size} bytes`);
  let met = true;
  for (const encoder of ENCODERS) {
    const idLists = tokenize(program, encoder, file, MAX_TOKENS);
    const lengths = idLists.map((ids) => ids.length).sort((a, b) => a - b);
    if (lengths.length !== N_TEXTS) fail(`${encoder}: ${lengths.length} lines of ids`);
    const features = await reference(ort, encoder, idLists);
    fs.writeFileSync(path.join(DIR, `${encoder}.bin`), encodeRecords(features));
    console.log(`${encoder}.bin: onnxruntime ${ort.env.versions.node}; tokens ${lengths[0]} to `
      + `${lengths.at(-1)}, median ${lengths[N_TEXTS / 2]}, `
      + `${lengths.filter((n) => n === MAX_TOKENS).length} texts of ${MAX_TOKENS}`);
    if (args.compare) met = compare(program, encoder, features, file) && met;
  }
  if (!met) process.exitCode = 1;
}

start(main);
