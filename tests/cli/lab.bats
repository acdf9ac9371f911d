#!/usr/bin/env bats
# ringfence lab table, lab report

load helpers

# Ten seeds on banking, three on oos, one of an encoder and a set of somebody's own; a
# method nobody knows, variants, a seed that is missing, a run that was made again.
setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    mkdir lab
    node - >lab/runs.jsonl <<'JS'
let state = 1;
const noise = () => (state = state * 48271 % 2147483647) / 2147483647 * 4 - 2;
const round = x => Math.round(x * 1e6) / 1e6;
function run(set, ratio, seed, method, base, variant = '', encoder = 'minilm') {
    const known = base + noise(), open = base + 5 + noise(), C = Math.round(77 * ratio);
    console.log(JSON.stringify({set, ratio, seed, method, encoder, variant, known_classes: C,
        train_rows: 100, dev_rows: 10, test_rows: 1000, classes_sha256: `${set}${ratio}-${seed}`,
        accuracy: round(base + 2 + noise()), f1: round((C * known + open) / (C + 1)),
        f1_known: round(known), f1_open: round(open),
        seconds: {encode: 1, known: 2.5, open: 3, test: 4}, shared_known: false, threads: 2,
        version: '0.1.0', kernels: 'avx2'}));
}
run('banking', 0.25, 0, 'ans', 5); // made again below
for (const ratio of [0.25, 0.5])
    for (let seed = 0; seed < 10; seed++)
        for (const [method, base] of [['ans', 80], ['adb', 78], ['msp', 50], ['a_|_new', 60]])
            if (method !== 'msp' || seed !== 3) run('banking', ratio, seed, method, base);
for (let seed = 0; seed < 3; seed++) {
    for (const [part, base] of [['baseline', 50], ['noise', 82], ['projection', 83], ['ascent', 84]])
        run('oos', 0.25, seed, 'ans', base, 'ablation=' + part);
    for (const r of [16, 4, 8]) run('banking', 0.25, seed, 'ans', 80, 'radius=' + r);
    run('banking', 0.25, seed, 'msp-neg', 60);
    run('banking', 0.25, seed, 'msp-neg', 60, 'ascent=10');
}
run('own, "set"', 0.5, 0, 'ans', 70, '', '/path/to_x');
JS
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

@test "every measured figure of the CSV follows from the runs" {
    "$rf" lab table lab --format csv >"$BATS_TEST_TMPDIR/all.csv"
    node - "$BATS_TEST_TMPDIR/all.csv" <<'JS'
const assert = require('assert'), fs = require('fs');
const runs = new Map();
for (const line of fs.readFileSync('lab/runs.jsonl', 'utf8').trim().split('\n')) {
    const r = JSON.parse(line);
    runs.set([r.set, r.ratio, r.seed, r.method, r.encoder, r.variant].join('\t'), r);
}
const all = [...runs.values()];
const cells = line => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, 14)
    .map(m => m[1].startsWith('"') ? m[1].slice(1, -1).replace(/""/g, '"') : m[1]);
const [head, ...lines] = fs.readFileSync(process.argv[2], 'utf8').trim().split('\n').map(cells);
const rows = lines.map(l => { assert.strictEqual(l.length, head.length); return Object.fromEntries(head.map((h, i) => [h, l[i]])); });
const near = (a, b, what) => assert(Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(b)), `${what}: ${a}, wanted ${b}`);
const mean = v => v.reduce((a, b) => a + b, 0) / v.length;
const sd = v => Math.sqrt(v.reduce((a, b) => a + (b - mean(v)) ** 2, 0) / (v.length - 1));
const t = {1: 12.706204736174708, 2: 4.3026527297494637, 8: 2.3060041352041676, 9: 2.2621571627982049};
const seen = {};
for (const row of rows) {
    seen[row.table] = (seen[row.table] || 0) + 1;
    if (row.encoder === 'bert-base-uncased') { assert(!row.n && !row.sd); continue; }
    const here = all.filter(r => r.encoder === row.encoder && (row.set === 'all' || r.set === row.set) &&
        (!row.ratio || r.ratio === +row.ratio) && r.method === row.method && r.variant === row.variant);
    const metric = row.metric.replace(/^sd_/, '');
    let values = here.map(r => r[metric]);
    if (row.table === 'paired') {
        assert.strictEqual(row.source, 'difference');
        values = here.map(r => [r, all.find(a => a.method === 'ans' && !a.variant && a.encoder === r.encoder &&
            a.set === r.set && a.ratio === r.ratio && a.seed === r.seed)]).filter(p => p[1]).map(([r, a]) => a[metric] - r[metric]);
    } else assert.strictEqual(row.source, 'measured');
    assert.strictEqual(+row.n, values.length);
    if (row.table === 'deviations') { near(+row.value, sd(values), 'sd'); continue; }
    near(+row.value, mean(values), JSON.stringify(row));
    assert.strictEqual(row.sd !== '', values.length > 1);
    if (values.length < 2) continue;
    near(+row.sd, sd(values), 'sd');
    const q = t[values.length - 1];
    if (!q) { assert(row.set === 'all'); continue; }
    near(+row.low, mean(values) - q * sd(values) / Math.sqrt(values.length), 'low');
    near(+row.high, mean(values) + q * sd(values) / Math.sqrt(values.length), 'high');
}
assert.deepStrictEqual(Object.keys(seen).sort(), ['ablation', 'deviations', 'known-open', 'main', 'negatives', 'paired', 'sweeps']);
// the run that was made again counts once, as the later line
assert.strictEqual(+rows.find(r => r.table === 'main' && r.method === 'ans' && r.ratio === '0.25' && r.source === 'measured').n, 10);
JS
}

@test "text: published numbers beside ours, the best marked, gaps and caveats" {
    run "$rf" lab table lab --which main --encoder minilm
    [ "$status" -eq 0 ]
    echo "$output"
    has "$output" "Accuracy and F1: banking (encoder minilm)"
    grep -qE '^ans +measured +[0-9.]+\* +[0-9.]+\* +10 +[0-9.]+\* +[0-9.]+\* +10$' <<<"$output"
    grep -qE '^ans +ANS paper +83.93 +76.15 +81.97 +83.29$' <<<"$output"
    grep -qE '^adb +TEXTOIR +79.33 +71.63 +79.61 +81.34$' <<<"$output"
    grep -qE '^msp-neg +measured +[0-9.]+ +[0-9.]+ +3 +- +- +-$' <<<"$output"
    grep -qE '^msp +measured +[0-9.]+ +[0-9.]+ +9 ' <<<"$output"
    grep -qE '^a_\|_new +measured ' <<<"$output"
    has "$(tr '\n' ' ' <<<"$output")" "BERT-base-uncased; the encoders differ"
    has "$output" "Stack Exchange"
    has "$(tr '\n' ' ' <<<"$output")" "The ANS paper contradicts itself"
    [ "$(awk '{ if (length > m) m = length } END { print m }' <<<"$output")" -le 90 ]
    [ -z "$(grep ' $' <<<"$output")" ]
    # 75 % was never run: no column for it
    [[ "$output" != *"75 % Acc"* ]]
}

@test "ablation, negatives, sweeps and paired, each in its order" {
    run "$rf" lab table lab --which ablation --encoder minilm
    [ "$(grep -oE 'ablation=[a-z]+ +(measured|ANS)' <<<"$output" | tr -s ' \n' ' ')" = \
      "ablation=baseline measured ablation=baseline ANS ablation=noise measured ablation=noise ANS ablation=projection measured ablation=projection ANS ablation=ascent measured ablation=ascent ANS " ]
    has "$output" "57.05  53.12     52.84    63.83"
    run "$rf" lab table lab --which negatives --encoder minilm
    [ "$(grep -E '^25 %' <<<"$output" | awk '{ print $3 "/" $4 "/" $5 }' | tr '\n' ' ')" = \
      "msp/default/measured msp/default/ANS msp-neg/default/measured msp-neg/default/ANS msp-neg/ascent=10/measured adb/default/measured adb/default/ANS adb-neg/default/ANS ovr/default/ANS ans/default/measured ans/default/ANS " ]
    [[ "$output" != *"50 %"* ]]
    run "$rf" lab table lab --which sweeps --encoder minilm
    [ "$(grep -E '^25 % +ans' <<<"$output" | awk '{ print $4 }' | tr '\n' ' ')" = "default radius=4 radius=8 radius=16 " ]
    has "$output" "Sweep over ascent: banking"
    [[ "$output" != *ablation* ]]
    run "$rf" lab table lab --which paired --encoder minilm
    grep -qE '^adb +banking +25 % +10 +\+[0-9.]+ +\[[+-][0-9.]+, \+[0-9.]+\] +[<0-9.]+ ' <<<"$output"
    grep -qE '^msp +all +all +18 ' <<<"$output"
}

@test "pairs with different known classes are left out and counted" {
    mkdir "$BATS_TEST_TMPDIR/other"
    sed '/"seed":4,"method":"adb"/s/"banking0.25-4"/"something else"/' lab/runs.jsonl >"$BATS_TEST_TMPDIR/other/runs.jsonl"
    run "$rf" lab table "$BATS_TEST_TMPDIR/other" --which paired --encoder minilm
    grep -qE '^adb +banking +25 % +9 ' <<<"$output"
    has "$output" "1 run was left out of the pairs"
}

@test "Markdown and LaTeX: the best in bold, special characters escaped" {
    run "$rf" lab table lab --format markdown --which main --encoder minilm
    has "$output" '### Accuracy and F1: banking (encoder minilm)'
    grep -qE '^\| ans \| measured \| \*\*[0-9.]+\*\* \| \*\*[0-9.]+\*\* \| 10 \|' <<<"$output"
    has "$output" '| a\_\|\_new | measured |'
    # every row of the table has the same number of cells
    [ "$(grep '^|' <<<"$output" | sed 's/\\|//g' | tr -cd '|\n' | sort -u | wc -l)" -eq 1 ]
    run "$rf" lab table lab --format latex --which main --encoder minilm
    has "$output" '\begin{tabular}{llrrrrrr}'
    has "$output" 'a\_\textbar{}\_new & measured &'
    grep -qE '^ans & measured & \\textbf\{[0-9.]+\} & ' <<<"$output"
    [ "$(grep -c '\\end{tabular}' <<<"$output")" -eq 1 ]
    run "$rf" lab table lab --format csv --encoder /path/to_x
    has "$output" 'main,/path/to_x,"own, ""set""",0.5,ans,,measured,accuracy,1,'
}

@test "all encoders one after another; an unknown one is an error" {
    run "$rf" lab table lab --which main
    has "$output" "(encoder /path/to_x)"
    has "$output" "(encoder minilm)"
    run_apart "$rf" lab table lab --encoder gte-small
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    has "$complaint" "lab: no run with encoder gte-small; there are: /path/to_x, minilm"
    run "$rf" lab table lab --which ablation --encoder /path/to_x
    [ "$status" -eq 0 ]
    has "$output" "ablation: no runs for this table"
}

@test "no runs, malformed runs, a truncated run" {
    cd "$BATS_TEST_TMPDIR"
    mkdir empty bad cut
    for dir in empty nowhere; do
        run_apart "$rf" lab table $dir
        [ "$status" -eq 1 ]
        has "$complaint" "$dir/runs.jsonl: no runs"
    done
    sed '2s/"accuracy":[0-9.]*/"accuracy":"high"/' "$BATS_FILE_TMPDIR/lab/runs.jsonl" >bad/runs.jsonl
    run_apart "$rf" lab table bad
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    has "$complaint" 'bad/runs.jsonl: line 2: "accuracy" is a string, wanted a number'
    { cat "$BATS_FILE_TMPDIR/lab/runs.jsonl"; printf '{"set":"banking","rat'; } >cut/runs.jsonl
    "$rf" lab table cut >cut.txt
    "$rf" lab table "$BATS_FILE_TMPDIR/lab" | cmp - cut.txt
}

@test "wrong usage" {
    for args in "" "table" "table a b" "tabel lab" "table lab --format xml" "table lab --which best"; do
        run_apart "$rf" lab $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
    has "$complaint" 'no table "best", wanted one of: main, known-open, deviations, ablation, negatives, paired, sweeps'
    run "$rf" lab --help
    has "$output" "--which TABLE"
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip "no /dev/full"
    run bash -c "'$rf' lab table lab 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    has "$output" "No space left on device"
}

@test "report: one page without addresses, the same for the same runs" {
    cd "$BATS_TEST_TMPDIR"
    run_apart "$rf" lab report "$BATS_FILE_TMPDIR/lab" -o page.html --title "Runs & <more>"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ -z "$complaint" ]
    "$rf" lab report "$BATS_FILE_TMPDIR/lab" --title "Runs & <more>" --output again.html
    cmp page.html again.html
    page=$(cat page.html)
    has "$page" "<h1>Runs &amp; &lt;more&gt;</h1>"
    has "$page" "Methods compared"
    has "$page" "own, &quot;set&quot;"
    has "$page" "<code>--data</code> to add them"
    ! grep -Eq "https?:|@import|src=|url\((['\"]?)[^#]" page.html
}

@test "report: every mean of the short table follows from the runs" {
    "$rf" lab report lab --encoder minilm -o "$BATS_TEST_TMPDIR/page.html"
    node - "$BATS_TEST_TMPDIR/page.html" <<'JS'
const assert = require('assert'), fs = require('fs');
const runs = new Map();
for (const line of fs.readFileSync('lab/runs.jsonl', 'utf8').trim().split('\n')) {
    const r = JSON.parse(line);
    if (r.encoder === 'minilm') runs.set([r.set, r.ratio, r.seed, r.method, r.variant].join('\t'), r);
}
const page = fs.readFileSync(process.argv[2], 'utf8');
const table = page.match(/<h3><span class="t">banking<\/span><\/h3>[^]*?every method">([^]*?)<\/table>/)[1];
const plain = s => s.replace(/<[^>]*>/g, '').replace('&ndash;', '-');
let checked = 0;
for (const row of table.split('<tbody>')[1].trim().split('\n').filter(l => l.startsWith('<tr><th'))) {
    const method = plain(row.match(/<th[^]*?<\/th>/)[0]), cells = [...row.matchAll(/<td[^]*?<\/td>/g)].map(m => plain(m[0]));
    assert.strictEqual(cells.length, 4);
    [[0.25, 'accuracy'], [0.25, 'f1'], [0.5, 'accuracy'], [0.5, 'f1']].forEach(([ratio, metric], i) => {
        const v = [...runs.values()].filter(r => r.set === 'banking' && r.ratio === ratio && r.method === method && !r.variant).map(r => r[metric]);
        if (!v.length) { assert.strictEqual(cells[i], '-'); return; }
        assert(Math.abs(+cells[i] - v.reduce((a, b) => a + b, 0) / v.length) < 0.0051, `${method} ${ratio} ${metric}: ${cells[i]}`);
        checked++;
    });
}
assert.strictEqual(checked, 18); // four methods twice, msp-neg once
JS
}

@test "report: wrong usage, no runs, nowhere to write" {
    cd "$BATS_TEST_TMPDIR"
    mkdir empty
    for args in "report" "report lab" "report a b -o x.html" "report lab -o x.html --ratio 2"; do
        run_apart "$rf" lab $args
        [ "$status" -eq 2 ]
    done
    run_apart "$rf" lab report empty -o x.html
    [ "$status" -eq 1 ]
    has "$complaint" "empty/runs.jsonl: no runs"
    [ ! -e x.html ]
    run_apart "$rf" lab report "$BATS_FILE_TMPDIR/lab" --encoder none -o x.html
    [ "$status" -eq 1 ]
    has "$complaint" "no run with encoder none"
    run_apart "$rf" lab report "$BATS_FILE_TMPDIR/lab" -o nowhere/x.html
    [ "$status" -eq 1 ]
    has "$complaint" "nowhere/x.html"
}
