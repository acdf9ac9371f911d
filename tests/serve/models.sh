#!/bin/sh
# models.sh DIR - trains small models for the tests of the service, in seconds, unless they exist:
# DIR/a.rf holds its training texts, DIR/b.rf has other classes, no texts and no map, and the encoder of
# DIR/slim.rf is in DIR/encoder.
set -eu
cd "$(dirname "$0")/../.."
rf=${RF_PROGRAM:-build/ringfence}
trainer=${RF_TRAINER:-$rf}
out=$1
mkdir -p "$out"
[ ! -f "$out/a.rf" ] || [ ! -f "$out/slim.rf" ] || [ "$trainer" -nt "$out/slim.rf" ] || exit 0

node - "$out" <<'JS'
const fs = require('fs'), out = process.argv[2];
const words = ['where', 'is', 'my', 'parcel', 'the', 'chain', 'fell', 'off', 'how', 'do', 'i',
  'pay', 'hello', 'thank', 'you', 'can', 'not', 'order', 'a', 'b', 'c', 'd', 'e', 'f'];
const names = {
  a: ['parcel', 'bike "chain"', 'shop\\hours', '\u05e9\u05dc\u05d5\u05dd', '<b>refund</b>', 'order'],
  b: ['first', 'second', 'third', 'fourth'] };
let state = 7;
const draw = n => (state = (state * 1103515245 + 12345) % 2147483648, Math.floor(state / 65536) % n);
const text = c => Array.from({ length: 5 }, () => words[(4 * c + draw(5)) % 24]).join(' ');
for (const [set, labels] of Object.entries(names))
  fs.writeFileSync(`${out}/${set}.jsonl`, labels.flatMap((label, c) => Array.from({ length: 14 },
    () => JSON.stringify({ text: text(c), label }) + '\n')).join(''));
JS
train() { # set, encoder, model, options...
    set=$1 encoder=$2 model=$3
    shift 3
    "$trainer" train "$out/$set.jsonl" --encoder "$encoder" --epochs 8 --batch 16 \
        --known-rate 0.01 --encoder-rate 0.001 --head-steps 40 --negatives 32 --quiet "$@" \
        -o "$out/$model.rf" >&2
}
tiny=tests/golden/tiny/encoder
train a $tiny a
train b $tiny b --map-points 0 --no-examples
rm -rf "$out/encoder"
cp -r $tiny "$out/encoder"
train b "$(cd "$out/encoder" && pwd)" slim --map-points 0 --no-examples --slim
