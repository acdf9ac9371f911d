#!/bin/sh
# page.sh - tests the page of `ringfence serve` in a browser. Trains two small models with hostile
# texts and class names, then runs Chromium against servers of them. Prints TAP; the exit code
# follows. Screenshots go to build/pages. RF_PROGRAM: another program, such as a sanitizer build.
set -eu
cd "$(dirname "$0")/../.."
rf=${RF_PROGRAM:-build/ringfence}
out=build/pages/serve
tiny=tests/golden/tiny/encoder
mkdir -p "$out"

. tests/pages/need_browser.sh

# Twelve classes of made-up texts, some with hostile names; open texts, some of them hostile.
node - "$out" <<'JS'
const fs = require('fs'), out = process.argv[2];
const words = ['where', 'is', 'my', 'parcel', 'the', 'chain', 'fell', 'off', 'how', 'do', 'i',
  'pay', 'hello', 'thank', 'you', 'can', 'not', 'order', 'a', 'b', 'c', 'd', 'e', 'f'];
const names = ['<script>window.hit=1</script>', '"><img src=x onerror=window.hit=1>', '__proto__',
  'a_rather_long_name_of_a_class_without_any_space_in_it_at_all', '\u05e9\u05dc\u05d5\u05dd',
  'refund', 'repair', 'invoice', 'stolen bike', 'opening hours', 'javascript:window.hit=1', 'constructor'];
let state = 7;
const draw = n => (state = (state * 1103515245 + 12345) % 2147483648, Math.floor(state / 65536) % n);
const text = c => Array.from({ length: 5 }, () => words[(2 * c + draw(3)) % 24]).join(' ');
const cell = v => /^"|[\t\n\r]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v;
const tsv = rows => rows.map(r => r.map(cell).join('\t') + '\n').join('');
const known = n => names.flatMap((name, c) => Array.from({ length: n }, () => [text(c), name]));
const open = Array.from({ length: 60 }, (_, i) => [['9 8 7 6', '"! ?" ! ?', '</script><script>window.hit=1</script>',
  '\u202eesrever \u0000 \u0007', '<img src=x onerror=window.hit=1>\t& "quotes"\n\'too\'', 'x'.repeat(700)][i % 6] + ' ' + i,
  i % 2 ? 'oos' : '<b>unknown</b>']);
const test = [...known(9), ...open];
fs.writeFileSync(`${out}/train.tsv`, tsv([['text', 'label'], ...known(12)]));
fs.writeFileSync(`${out}/test.tsv`, tsv([['label', 'Text', 'note'], ...test.map(([t, l], i) => [l, t, String(i)])]));
fs.writeFileSync(`${out}/lines.txt`, Array.from({ length: 1000 }, (_, i) => test[(7 * i) % test.length][0].replace(/[\n\t]/g, ' ') + ' ' + i + '\n').join(''));
JS
train() { # seed, model, options...
    seed=$1
    model=$2
    shift 2
    "$rf" train "$out/train.tsv" --encoder "$tiny" --epochs 8 --batch 16 --known-rate 0.01 --seed "$seed" \
        --encoder-rate 0.001 --head-steps 40 --negatives 32 --quiet "$@" -o "$model" >&2
}
train 0 "$out/sample.rf" --fence-offset -0.5 # answers of both kinds among the first lines
train 1 "$out/other.rf" --no-features

RF_PROGRAM=$rf exec node tests/serve/page.mjs "$browser" "$out"
