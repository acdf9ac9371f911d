#!/bin/sh
# run.sh - pages in a browser. Builds sample reports with a model that is trained in
# seconds, and a gallery of charts, then drives Chromium over them. Speaks TAP; the exit
# code follows. Screenshots are left in build/pages/report.
set -eu
cd "$(dirname "$0")/../.."
rf=build/ringfence
out=build/pages/report
tiny=tests/golden/tiny/encoder
mkdir -p "$out"

. tests/pages/need_browser.sh

# Twelve classes of made-up texts, one with a hostile name; open texts, hostile ones too.
node - "$out" <<'JS'
const fs = require('fs'), out = process.argv[2];
const words = ['where', 'is', 'my', 'parcel', 'the', 'chain', 'fell', 'off', 'how', 'do', 'i',
  'pay', 'hello', 'thank', 'you', 'can', 'not', 'order', 'a', 'b', 'c', 'd', 'e', 'f'];
const names = ['<script>window.hit=1</script>', '"><img src=x onerror=window.hit=1>',
  'a_rather_long_name_of_a_class_without_any_space_in_it_at_all', '\u05e9\u05dc\u05d5\u05dd',
  'refund', 'repair', 'invoice', 'stolen bike', 'opening hours', 'delivery', 'returns', 'sizes'];
let state = 7;
const draw = n => (state = (state * 1103515245 + 12345) % 2147483648, Math.floor(state / 65536) % n);
const text = c => Array.from({ length: 5 }, () => words[(2 * c + draw(3)) % 24]).join(' ');
const rows = (n, first) => names.flatMap((name, c) => Array.from({ length: n }, (_, i) =>
  JSON.stringify({ text: text(c) + (i % 4 ? '' : first), label: name })));
const open = Array.from({ length: 60 }, (_, i) => JSON.stringify({
  text: ['9 8 7 6', '! ? ! ?', '</script><script>window.hit=1</script>', '\u202eesrever \u0000 \u0007',
    '<img src=x onerror=window.hit=1> & "quotes" \'too\'', 'x'.repeat(700)][i % 6] + ' ' + i,
  label: i % 2 ? 'oos' : '<b>unknown</b>' }));
fs.writeFileSync(`${out}/train.jsonl`, rows(12, '').join('\n') + '\n');
fs.writeFileSync(`${out}/test.jsonl`, [...rows(9, ' <b>&amp;'), ...open].join('\n') + '\n');
fs.writeFileSync(`${out}/known.jsonl`, rows(3, '').join('\n') + '\n');
fs.writeFileSync(`${out}/open.jsonl`, open.join('\n') + '\n');
fs.writeFileSync(`${out}/one.jsonl`, rows(1, '')[4] + '\n');
JS
"$rf" train "$out/train.jsonl" --encoder "$tiny" --epochs 8 --batch 16 --known-rate 0.01 \
    --encoder-rate 0.001 --head-steps 40 --negatives 32 --quiet -o "$out/sample.rf" >&2
for set in test known open one; do
    "$rf" report "$out/sample.rf" "$out/$set.jsonl" -o "$out/$set.html" >&2
done
# Another seed, and a class fewer: one that only the first model knows.
grep -v '"label":"sizes"' "$out/train.jsonl" >"$out/fewer.jsonl"
"$rf" train "$out/fewer.jsonl" --encoder "$tiny" --epochs 8 --batch 16 --known-rate 0.01 \
    --encoder-rate 0.001 --head-steps 20 --negatives 32 --seed 3 --quiet -o "$out/other.rf" >&2
"$rf" compare "$out/sample.rf" "$out/other.rf" "$out/test.jsonl" --html "$out/compare.html" --json >"$out/compare.json"
"$rf" review "$out/sample.rf" "$out/test.jsonl" --doubt 1 --min-texts 2 -o "$out/review.html" 2>/dev/null
"$rf" review "$out/sample.rf" "$out/test.jsonl" --doubt 1 --min-texts 2 -o "$out/review.jsonl" 2>/dev/null
RF_GALLERY="$out/gallery.html" build/tests/test_pages >/dev/null 2>&1

exec node tests/pages/pages.mjs "$browser" "$out"
