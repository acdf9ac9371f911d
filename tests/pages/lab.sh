#!/bin/sh
# lab.sh - the lab's page in a browser. Does a few runs with the tiny encoder, adds made-up
# ones, writes pages and drives Chromium over them. Speaks TAP; the exit code follows.
# Screenshots are left in build/pages/lab.
set -eu
cd "$(dirname "$0")/../.."
rf=build/ringfence
out=build/pages/lab
lab=$out/results
tiny=$PWD/tests/golden/tiny/encoder

. tests/pages/need_browser.sh
rm -rf "$lab"
mkdir -p "$lab/data/toy" "$lab/odd"

# Six classes of made-up texts, one with a hostile name; runs with hostile names.
node - "$lab" <<'JS'
const fs = require('fs'), lab = process.argv[2];
const words = ['refund', 'cancel', 'where', 'order', 'hello', 'thank', 'please', 'my', 'the',
  '</script><script>window.hit=1</script>', '<b>', '&amp;'];
const names = ['a', 'b', 'c', 'd', 'e', '<img src=x onerror=window.hit=1>'];
for (const [part, each] of [['train', 24], ['dev', 4], ['test', 14]])
  fs.writeFileSync(`${lab}/data/toy/${part}.tsv`, 'text\tlabel\n' + names.flatMap((name, c) =>
    Array.from({ length: each }, (_, k) => `${words[2 * c]} ${words[2 * c + k % 2]} ` +
      `${words[(c + k * each) % 12]} ${k}\t${name}\n`)).join(''));
const evil = '<script>window.hit=1</script>"\'&', runs = [];
for (let seed = 0; seed < 3; seed++)
  for (const [method, f1] of [['ans', 80], [evil.slice(0, 31), 70], ['a_method_whose_name_is_too_long', 60]])
    for (const variant of ['', 'radius=1', 'radius=100', 'ablation=noise', '"><img src=x onerror=window.hit=1>=2'])
      runs.push(JSON.stringify({ set: evil, ratio: 0.5, seed, method, encoder: evil, variant, known_classes: 4,
        train_rows: 40, dev_rows: 4, test_rows: 100, classes_sha256: '', accuracy: f1 + seed, f1: f1 + seed, f1_known: f1, f1_open: f1,
        seconds: { encode: 1, known: 2, open: 3, test: 4 }, shared_known: false, threads: 1,
        version: '0.1.0', kernels: 'avx2', confusions: [[evil, 'open', 9], ['open', 'x'.repeat(90), 3]] }));
fs.writeFileSync(`${lab}/odd/runs.jsonl`, runs.join('\n') + '\n');
JS
run() {
    "$rf" lab run --data "$lab/data" --out "$lab/runs" --sets toy --ratios 0.5 \
        --encoder "$tiny" --epochs 4 --quiet "$@" >&2
}
run --seeds 0-1 --methods ans,msp,adb
run --seeds 0 --variants "radius=1,10,100 ablation=baseline,noise"
"$rf" lab report "$lab/runs" --data "$lab/data" -o "$out/lab.html" >&2
"$rf" lab report "$lab/odd" -o "$out/lab-odd.html" >&2

exec node tests/pages/lab.mjs "$browser" "$out"
