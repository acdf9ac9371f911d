#!/usr/bin/env bats
# ringfence eval and ringfence inspect

load helpers

setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    labelled 12 >data.tsv
    # few steps, so that some answers are wrong
    train data.tsv -o m.rf --quiet --method heads --head-steps 15
    # a test set with open texts and with labels that are wrong on purpose
    { labelled 25 | tail -n 51 | awk -F '\t' -v OFS='\t' 'NR % 5 == 0 { $2 = "class2" } { print }'
      unlabelled | sed $'s/$/\tsomething else/'
      unlabelled | sed $'s/^/a b /; s/$/\topen/'; } | sed $'1i text\tlabel' >test.tsv
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

@test "warns when a test set makes the figures mean little" {
    grep -v class4 test.tsv >"$BATS_TEST_TMPDIR/no4.tsv"
    run_apart "$rf" eval m.rf "$BATS_TEST_TMPDIR/no4.tsv"
    has "$output" "(1 of the 4 classes is not in TEST: its F1 counts as 0)"
    run_apart "$rf" eval m.rf test.tsv
    [[ "$output" != *"not in TEST"* ]]
    [ -z "$complaint" ]
    sed 's/class/Class/' test.tsv >"$BATS_TEST_TMPDIR/other.tsv"
    run_apart "$rf" eval m.rf "$BATS_TEST_TMPDIR/other.tsv"
    [ "$status" -eq 0 ]
    has "$complaint" 'other.tsv: no label is a class of the model, so all texts count as open; found labels like "Class1", wanted labels like "class1"'
    has "$output" "there are no known texts: F1-known and F1 mean little"
    printf 'where is\tclass1\tx\na\tb\na\tb\n' >"$BATS_TEST_TMPDIR/raw.tsv"
    for command in "eval m.rf" "report m.rf -o $BATS_TEST_TMPDIR/page.html"; do
        run_apart "$rf" $command "$BATS_TEST_TMPDIR/raw.tsv" --raw-tsv --text-column 1 --label-column 2
        [ "$status" -eq 0 ]
        has "$complaint" "raw.tsv: 2 rows were dropped"
    done
    run_apart "$rf" report m.rf - -o data.tsv <data.tsv
    [ "$status" -eq 2 ]
    run_apart "$rf" report m.rf test.tsv -o no/such/page.html
    [ "$status" -eq 1 ]
}

@test "every figure of eval follows from the answers of predict" {
    "$rf" eval m.rf test.tsv --json >"$BATS_TEST_TMPDIR/eval.json"
    tail -n +2 test.tsv | cut -f1 | "$rf" predict m.rf | cut -f1 >"$BATS_TEST_TMPDIR/answers"
    tail -n +2 test.tsv | cut -f1 | "$rf" predict m.rf --json >"$BATS_TEST_TMPDIR/margins"
    tail -n +2 test.tsv | cut -f2 >"$BATS_TEST_TMPDIR/labels"
    cd "$BATS_TEST_TMPDIR"
    node - <<'JS'
const assert = require('assert'), fs = require('fs');
const lines = name => fs.readFileSync(name, 'utf8').trim().split('\n');
const known = ['class1', 'class2', 'class3', 'class4'], all = [...known, 'open'];
const answers = lines('answers'), labels = lines('labels').map(l => known.includes(l) ? l : 'open');
const got = JSON.parse(fs.readFileSync('eval.json', 'utf8'));
const count = (list, x) => list.filter(y => y === x).length;
const share = (part, whole) => whole ? 100 * part / whole : 0;
const mean = list => list.reduce((a, b) => a + b, 0) / list.length;
const same = (a, b, what) => assert(Math.abs(a - b) < 1e-9, `${what}: ${a}, wanted ${b}`);
assert.strictEqual(labels.length, 59);
assert.strictEqual(answers.length, 59);
assert.strictEqual(got.n, 59);
assert.strictEqual(got.n_open, 8);
assert(got.accuracy > 0 && got.accuracy < 100); // else the rest says little
same(got.accuracy, share(answers.filter((a, i) => a === labels[i]).length, 59), 'accuracy');
assert.deepStrictEqual(Object.keys(got.per_class).sort(), [...all].sort());
const f1 = {};
for (const c of all) {
    const right = answers.filter((a, i) => a === c && labels[i] === c).length, have = got.per_class[c];
    const p = share(right, count(answers, c)), r = share(right, count(labels, c));
    f1[c] = p + r ? 2 * p * r / (p + r) : 0;
    same(have.precision, p, c);
    same(have.recall, r, c);
    same(have.f1, f1[c], c);
    assert.strictEqual(have.support, count(labels, c));
}
same(got.f1, mean(all.map(c => f1[c])), 'f1');
same(got.f1_known, mean(known.map(c => f1[c])), 'f1_known');
same(got.f1_open, f1.open, 'f1_open');
same(got.f1_tested, got.f1, 'f1_tested'); // every class is in TEST
// over pairs of texts
const margins = lines('margins').map(l => JSON.parse(l).margin), pairs = labels.flatMap((_, i) => labels.map((__, j) => [i, j]));
const agree = (a, b) => mean(pairs.map(([i, j]) => Number(a[i] === b[j])));
const right = mean(labels.map((l, i) => Number(l === answers[i])));
same(got.mcc, (right - agree(labels, answers)) / Math.sqrt((1 - agree(labels, labels)) * (1 - agree(answers, answers))), 'mcc');
same(got.auroc, 100 * mean(pairs.filter(([i, j]) => labels[i] !== 'open' && labels[j] === 'open')
    .map(([i, j]) => (Math.sign(margins[i] - margins[j]) + 1) / 2)), 'auroc');
assert(got.auroc > 0 && got.auroc < 100 && got.mcc > 0 && got.mcc < 1);
const confusions = {};
answers.forEach((a, i) => {
    const key = `${labels[i]} -> ${a}`;
    if (a !== labels[i]) confusions[key] = (confusions[key] || 0) + 1;
});
assert(Object.keys(confusions).length > 1);
assert.deepStrictEqual(Object.fromEntries(got.confusions.map(c => [`${c.label} -> ${c.answer}`, c.count])), confusions);
assert(got.confusions.every((c, i, l) => i === 0 || c.count <= l[i - 1].count));
JS
    # the text shows the same
    cd "$BATS_FILE_TMPDIR"
    run "$rf" eval m.rf test.tsv
    [ "$status" -eq 0 ]
    echo "$output"
    has "$output" "texts      59, 8 of them open"
    for pair in 'accuracy:accuracy' 'F1:f1' 'F1-known:f1_known' 'F1-open:f1_open' 'F1-tested:f1_tested' 'AUROC:auroc'; do
        value=$(json_file "$BATS_TEST_TMPDIR/eval.json" "v.${pair#*:}.toFixed(2)")
        grep -qE "^${pair%:*} +$value %" <<<"$output"
    done
    grep -qxE "MCC +$(json_file "$BATS_TEST_TMPDIR/eval.json" 'v.mcc.toFixed(3)')" <<<"$output"
    has "$output" "(mean over the 5 classes in TEST, open included)"
    first=$(json_file "$BATS_TEST_TMPDIR/eval.json" 'const c = v.confusions[0]; `${c.count}  ${c.label} -> ${c.answer}`')
    has "$output" "$first"
    # worst first
    grep -E '^(class[1-4]|open) ' <<<"$output" | awk '{ print $4 }' >"$BATS_TEST_TMPDIR/f1"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/f1")" -eq 5 ]
    sort -n "$BATS_TEST_TMPDIR/f1" | cmp - "$BATS_TEST_TMPDIR/f1"
}

@test "classes and open texts that TEST lacks: F1-tested leaves them out, AUROC needs both kinds" {
    cd "$BATS_TEST_TMPDIR"
    grep 'label\|class[123]$' "$BATS_FILE_TMPDIR/test.tsv" >known.tsv
    "$rf" eval "$BATS_FILE_TMPDIR/m.rf" known.tsv --json >e.json
    [ "$(json_file e.json '[v.n_open, v.auroc === null, Math.abs(v.f1_tested - ["class1", "class2", "class3"].reduce((s, c) => s + v.per_class[c].f1, 0) / 3) < 1e-9, v.f1_tested > v.f1]')" = 0,true,true,true ]
    run "$rf" eval "$BATS_FILE_TMPDIR/m.rf" known.tsv
    has "$output" "(mean over the 3 classes in TEST)"
    grep -qxE 'AUROC +-  \(needs both known and open texts\)' <<<"$output"
    grep -v 'class[1-4]$' "$BATS_FILE_TMPDIR/test.tsv" >open.tsv
    "$rf" eval "$BATS_FILE_TMPDIR/m.rf" open.tsv --json >e.json
    [ "$(json_file e.json '[v.n === v.n_open, v.auroc, v.mcc, v.f1_tested === v.f1_open]')" = true,,0,true ]
    run "$rf" eval "$BATS_FILE_TMPDIR/m.rf" open.tsv
    has "$output" "(mean over the 1 class in TEST, open included)"
}

@test "AUROC of a method without comparable margins: by the margin of the fence that decides" {
    cd "$BATS_TEST_TMPDIR"
    train "$BATS_FILE_TMPDIR/data.tsv" -o adb.rf --quiet --method adb
    "$rf" eval adb.rf "$BATS_FILE_TMPDIR/test.tsv" --json >eval.json
    tail -n +2 "$BATS_FILE_TMPDIR/test.tsv" | cut -f1 | "$rf" predict adb.rf --json >answers
    tail -n +2 "$BATS_FILE_TMPDIR/test.tsv" | cut -f2 >labels
    node - <<'JS'
const assert = require('assert'), fs = require('fs');
const lines = name => fs.readFileSync(name, 'utf8').trim().split('\n');
const margins = lines('answers').map(l => JSON.parse(l).margin), labels = lines('labels');
const of = known => margins.filter((_, i) => /^class[1-4]$/.test(labels[i]) === known);
const wins = of(true).flatMap(k => of(false).map(o => (Math.sign(k - o) + 1) / 2));
const want = 100 * wins.reduce((a, b) => a + b, 0) / wins.length, got = JSON.parse(fs.readFileSync('eval.json', 'utf8')).auroc;
assert(Math.abs(got - want) < 1e-9 && want > 0 && want < 100, `${got}, wanted ${want}`);
JS
}

@test "bins of confidence and the calibration error follow from the answers of predict" {
    "$rf" eval m.rf test.tsv --json >"$BATS_TEST_TMPDIR/eval.json"
    tail -n +2 test.tsv | cut -f1 | "$rf" predict m.rf --json >"$BATS_TEST_TMPDIR/answers"
    tail -n +2 test.tsv | cut -f2 >"$BATS_TEST_TMPDIR/labels"
    cd "$BATS_TEST_TMPDIR"
    node - <<'JS'
const assert = require('assert'), fs = require('fs');
const lines = name => fs.readFileSync(name, 'utf8').trim().split('\n');
const known = ['class1', 'class2', 'class3', 'class4'];
const answers = lines('answers').map(l => JSON.parse(l)), labels = lines('labels').map(l => known.includes(l) ? l : 'open');
const got = JSON.parse(fs.readFileSync('eval.json', 'utf8'));
const same = (a, b, what) => assert(Math.abs(a - b) < 1e-4, `${what}: ${a}, wanted ${b}`); // predict writes floats
let error = 0;
assert.strictEqual(got.reliability.length, 10);
got.reliability.forEach((bin, i) => {
    const own = answers.map((a, k) => [a.confidence, a.label === labels[k]]).filter(([c]) => Math.min(Math.floor(c * 10), 9) === i);
    const mean = own.reduce((s, [c]) => s + c, 0) / own.length, right = own.filter(([, r]) => r).length / own.length;
    assert.deepStrictEqual([bin.from, bin.to, bin.count], [10 * i, 10 * i + 10, own.length]);
    if (!own.length) return assert.deepStrictEqual([bin.confidence, bin.right], [null, null]);
    same(bin.confidence, 100 * mean, 'confidence');
    same(bin.right, 100 * right, 'right');
    error += own.length / answers.length * 100 * Math.abs(mean - right);
});
assert(error > 0.1);
same(got.calibration_error, error, 'calibration error');
assert.strictEqual(got.budget, undefined);
JS
    value=$(json_file eval.json 'v.calibration_error.toFixed(1)')
    run "$rf" eval "$BATS_FILE_TMPDIR/m.rf" "$BATS_FILE_TMPDIR/test.tsv"
    grep -qx "expected calibration error $value %" <<<"$output"
    [ "$(grep -c promised <<<"$output")" -eq 0 ]
}

@test "a model's promise is shown beside what happened" {
    cd "$BATS_TEST_TMPDIR"
    # the same model with a budget in its summary, sealed again by other means
    promise() { # budget as JSON
        node - "$BATS_FILE_TMPDIR/m.rf" promised.rf "$1" <<'JS'
const fs = require('fs'), crypto = require('crypto'), [from, to, budget] = process.argv.slice(2);
const file = fs.readFileSync(from), n = Number(file.readBigUInt64LE(0)), header = JSON.parse(file.subarray(8, 8 + n));
const about = JSON.parse(header.__metadata__['ringfence.json']);
about.summary.budget = JSON.parse(budget);
header.__metadata__['ringfence.json'] = JSON.stringify(about);
let text = Buffer.from(JSON.stringify(header));
text = Buffer.concat([text, Buffer.alloc((8 - text.length % 8) % 8, ' ')]);
const length = Buffer.alloc(8), data = file.subarray(8 + n);
length.writeBigUInt64LE(BigInt(text.length));
crypto.createHash('sha256').update(length).update(text).digest().copy(data, data.length - 32);
fs.writeFileSync(to, Buffer.concat([length, text, data]));
JS
    }
    test=$BATS_FILE_TMPDIR/test.tsv
    accepted=$("$rf" eval "$BATS_FILE_TMPDIR/m.rf" "$test" --json |
        node -e 'const v = JSON.parse(require("fs").readFileSync(0)); console.log(v.confusions.filter(c => c.label === "open").reduce((s, c) => s + c.count, 0))')
    share=$(awk "BEGIN { printf \"%.2f\", 100 * $accepted / 8 }")
    promise '{"max_false_accept": 0.05, "expected_false_accept": 0.5, "interval": [0, 1]}'
    run "$rf" eval promised.rf "$test"
    has "$output" "promised   at most 5.00 % of open texts accepted; expected 50.00 % (95 % interval 0.00 to 100.00 %)"
    has "$output" "happened   $share % of open texts accepted ($accepted of 8), within the interval"
    "$rf" eval promised.rf "$test" --json >e.json
    [ "$(json_file e.json 'const b = v.budget; [b.max_false_accept, b.expected_false_accept, b.interval, b.false_accept.toFixed(2), b.interval_place]')" = "5,50,0,100,$share,within" ]
    # a model that kept to no promise, and one that does better than it said
    promise '{"expected_false_accept": 0.01, "interval": [0, 0.02]}'
    sed 's/class1$/else/' "$test" >else.tsv
    run "$rf" eval promised.rf else.tsv
    has "$output" "expected   1.00 % of open texts accepted (95 % interval 0.00 to 2.00 %)"
    [ "$(grep -c "promised\|called open" <<<"$output")" -eq 0 ]
    has "$output" "of 18), above the interval"
    "$rf" eval promised.rf "$test" --json >e.json
    [ "$(json_file e.json 'v.budget.max_false_accept')" = null ]
    promise '{"expected_false_accept": 0.95, "interval": [0.9, 1]}'
    run "$rf" eval promised.rf "$test"
    has "$output" "($accepted of 8), below the interval"
    # false rejects, with a limit and without
    known=$(($(wc -l <"$test") - 1 - 8))
    called=$("$rf" eval promised.rf "$test" --json |
        node -e 'const v = JSON.parse(require("fs").readFileSync(0)); console.log(v.confusions.filter(c => c.answer === "open").reduce((s, c) => s + c.count, 0))')
    share=$(awk "BEGIN { printf \"%.2f\", 100 * $called / $known }")
    promise '{"max_false_accept": null, "expected_false_accept": 0.5, "interval": [0, 1], "max_false_reject": 0.2, "expected_false_reject": 0.1, "reject_interval": [0, 1]}'
    run "$rf" eval promised.rf "$test"
    has "$output" "expected   50.00 % of open texts accepted"
    has "$output" "promised   at most 20.00 % of known texts called open; expected 10.00 % (95 % interval 0.00 to 100.00 %)"
    has "$output" "happened   $share % of known texts called open ($called of $known), within the interval"
    "$rf" eval promised.rf "$test" --json >e.json
    [ "$(json_file e.json 'const b = v.budget; [b.max_false_reject, b.expected_false_reject, b.reject_interval, b.false_reject.toFixed(2), b.reject_interval_place]')" = "20,10,0,100,$share,within" ]
    promise '{"max_false_accept": 0.5, "expected_false_accept": 0.5, "interval": [0, 1], "max_false_reject": null, "expected_false_reject": 0.95, "reject_interval": [0.9, 1]}'
    run "$rf" eval promised.rf "$test"
    has "$output" "promised   at most 50.00 % of open texts accepted; expected"
    has "$output" "expected   95.00 % of known texts called open"
    has "$output" "($called of $known), below the interval"
    # no open text
    run "$rf" eval promised.rf "$BATS_FILE_TMPDIR/data.tsv"
    has "$output" "happened   there are no open texts to measure it on"
    "$rf" eval promised.rf "$BATS_FILE_TMPDIR/data.tsv" --json >e.json
    [ "$(json_file e.json '[v.budget.false_accept, v.budget.interval_place]')" = "," ]
    # words that are no promise do no harm
    promise '{"max_false_accept": "much", "interval": 7}'
    run "$rf" eval promised.rf "$test"
    [ "$status" -eq 0 ]
    [ "$(grep -c "promised\|happened" <<<"$output")" -eq 0 ]
    "$rf" report promised.rf "$test" -o r.html
    has "$(cat r.html)" "How reliable the confidence is"
}

@test "the same for any number of threads, from standard input, in every format" {
    "$rf" eval m.rf test.tsv --json --threads 1 >"$BATS_TEST_TMPDIR/want"
    "$rf" eval m.rf test.tsv --json --threads 2 | cmp - "$BATS_TEST_TMPDIR/want"
    "$rf" eval m.rf - --json <test.tsv | cmp - "$BATS_TEST_TMPDIR/want"
    awk -F '\t' 'NR > 1 { printf "%s,%s\n", $2, $1 }' test.tsv >"$BATS_TEST_TMPDIR/test"
    "$rf" eval m.rf "$BATS_TEST_TMPDIR/test" --json --format csv --header no --text-column 2 --label-column 1 |
        cmp - "$BATS_TEST_TMPDIR/want"
}

@test "twenty classes are shown, all with --all" {
    cd "$BATS_TEST_TMPDIR"
    for c in $(seq 10 39); do for i in 1 2 3 4 5; do printf '%s text %s\tmany%s\n' $c $i $c; done; done |
        sed $'1i text\tlabel' >many.tsv
    train many.tsv -o many.rf --quiet --epochs 1 --head-steps 5
    run "$rf" eval many.rf many.tsv
    [ "$(grep -cE '^(many[0-9]+|open) ' <<<"$output")" -eq 20 ]
    has "$output" "(11 more: --all)"
    has "$output" "there are no open texts"
    [ "$(sed -n '/^confusions/,$p' <<<"$output" | grep -c ' -> ')" -le 11 ]
    run "$rf" eval many.rf many.tsv --all
    [ "$(grep -cE '^(many[0-9]+|open) ' <<<"$output")" -eq 31 ]
    "$rf" eval many.rf many.tsv --json >e.json
    [ "$(json_file e.json 'Object.keys(v.per_class).length')" -eq 31 ]
}

@test "labels of any script and with quotes" {
    cd "$BATS_TEST_TMPDIR"
    { printf 'text\tlabel\n'; for i in 1 2 3 4 5 6; do
        printf 'where is %s\tЗаказ "срочный"\nmy a b %s\t返金 \\ 払い戻し\n' $i $i; done; } >odd.tsv
    train odd.tsv --raw-tsv -o odd.rf --quiet
    "$rf" eval odd.rf odd.tsv --raw-tsv --json >e.json
    [ "$(json_file e.json 'Object.keys(v.per_class).join("|")')" = 'Заказ "срочный"|返金 \ 払い戻し|open' ]
    run "$rf" eval odd.rf odd.tsv --raw-tsv
    has "$output" 'Заказ "срочный"                          '
    printf 'where is 1\n' | "$rf" predict odd.rf --json >p.json
    [ "$(json_lines p.json 'v[0].ranking.map(r => r.label).sort().join("|")')" = 'Заказ "срочный"|返金 \ 払い戻し' ]
}

@test "--fail-under: exit code 1 and a line for each figure that falls short" {
    "$rf" eval m.rf test.tsv --json >"$BATS_TEST_TMPDIR/e.json"
    "$rf" eval m.rf test.tsv >"$BATS_TEST_TMPDIR/want"
    figures="accuracy f1 f1-known f1-open f1-tested auroc mcc"
    for figure in $figures; do
        value=$(json_file "$BATS_TEST_TMPDIR/e.json" "v['${figure//-/_}']")
        below=$(node -p "$value - 0.001") above=$(node -p "$value + 0.001")
        run_apart "$rf" eval m.rf test.tsv --fail-under $figure=$below
        [ "$status" -eq 0 ]
        [ -z "$complaint" ]
        run_apart "$rf" eval m.rf test.tsv --fail-under $figure=$value
        [ "$status" -eq 0 ]
        run_apart "$rf" eval m.rf test.tsv --fail-under $figure=$above
        [ "$status" -eq 1 ]
        grep -qE "^ringfence: $figure is [0-9.]+, wanted at least [0-9.]+$" <<<"$complaint"
        cmp - "$BATS_TEST_TMPDIR/want" <<<"$output" # the usual output comes all the same
    done
    run_apart "$rf" eval m.rf test.tsv --json --fail-under accuracy=100,f1=0 --fail-under mcc=1
    [ "$status" -eq 1 ]
    cmp - "$BATS_TEST_TMPDIR/e.json" <<<"$output"
    [ "$(wc -l <<<"$complaint")" -eq 2 ]
    has "$complaint" "accuracy is "
    has "$complaint" "mcc is "
    # the later of two limits counts; a figure that is not there falls short
    "$rf" eval m.rf test.tsv --fail-under f1=100 --fail-under f1=1 >/dev/null
    run_apart "$rf" eval m.rf data.tsv --fail-under auroc=0
    [ "$status" -eq 1 ]
    has "$complaint" "auroc is not defined for these texts, wanted at least 0"
}

@test "--fail-under: unknown names and bad numbers are wrong usage" {
    for limit in f2=80 f1 f1= =80 f1=x f1=80x f1=101 f1=-1 f1=nan mcc=2 mcc=-1.5 accuracy=80, ,f1=80 "" f1=1=2 F1=80; do
        run_apart "$rf" eval m.rf test.tsv --fail-under "$limit"
        echo "$limit: $complaint"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        has "$complaint" "eval: --fail-under: "
    done
    run_apart "$rf" eval m.rf test.tsv --fail-under
    [ "$status" -eq 2 ]
}

@test "wrong usage and bad data" {
    for args in "" "m.rf" "m.rf test.tsv --format xml" "m.rf test.tsv --top 3"; do
        run_apart "$rf" eval $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
    run_apart "$rf" eval m.rf no.tsv
    [ "$status" -eq 1 ]
    has "$complaint" "no.tsv: cannot open"
    printf 'just one column\n' >"$BATS_TEST_TMPDIR/one.tsv"
    run_apart "$rf" eval m.rf "$BATS_TEST_TMPDIR/one.tsv"
    [ "$status" -eq 1 ]
    has "$complaint" "one.tsv: line 1: found 1 column"
    for args in "" "m.rf more" "m.rf --all"; do
        run_apart "$rf" inspect $args
        [ "$status" -eq 2 ]
    done
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip "no /dev/full"
    for command in "eval m.rf test.tsv" "eval m.rf test.tsv --json" "inspect m.rf" "inspect m.rf --json"; do
        run bash -c "'$rf' $command 2>&1 >/dev/full"
        [ "$status" -eq 1 ]
        has "$output" "No space left on device"
    done
}

@test "inspect: all of it for a person, and as JSON" {
    run "$rf" inspect m.rf
    [ "$status" -eq 0 ]
    echo "$output"
    has "$output" "m.rf, 0.3 MB ($(wc -c <m.rf) bytes)"
    has "$output" "made by    ringfence "
    has "$output" "tests/golden/tiny/encoder, contained"
    has "$output" "2 layers of width 32, 2 fine-tuned"
    has "$output" "up to 40 tokens"
    has "$output" "training   44 rows; dev: 4 rows held out"
    has "$output" "confidence slope 0.83, bias 0.24, temperature "
    has "$output" ", from defaults"
    has "$output" "known.epochs = 10"
    has "$output" "open.steps = 15"
    "$rf" inspect m.rf --json >"$BATS_TEST_TMPDIR/i.json"
    [ "$(json_file "$BATS_TEST_TMPDIR/i.json" 'Object.keys(v.calibration).sort()')" = bias,from,slope,temperature ]
    [ "$(json_file "$BATS_TEST_TMPDIR/i.json" 'v.calibration.temperature > 0 && v.calibration.temperature !== 1')" = true ]
    [ "$(json_file "$BATS_TEST_TMPDIR/i.json" 'v.labels')" = class1,class2,class3,class4 ]
    [ "$(json_file "$BATS_TEST_TMPDIR/i.json" 'v.classes.map(c => c.rows)')" = 11,11,11,11 ]
    for c in 0 1 2 3; do
        row=$(json_file "$BATS_TEST_TMPDIR/i.json" "const c = v.classes[$c], h = v.summary.heads[$c];
            [c.label, c.rows, c.distance.toFixed(4), c.radius.toFixed(4), (100 * h.recall).toFixed(2), (100 * h.dev_recall).toFixed(2)].join(' ')")
        has "$(tr -s ' ' <<<"$output")" "$row"
    done
    [ "$("$rf" inspect m.rf --json | wc -l)" -gt 50 ] # indented
}
