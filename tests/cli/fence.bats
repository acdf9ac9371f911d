#!/usr/bin/env bats
# ringfence fence, and --fence of predict and eval

load helpers

setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    labelled 12 >data.tsv
    train data.tsv -o m.rf --quiet --head-steps 15
    train data.tsv -o slim.rf --quiet --head-steps 15 --slim
    train data.tsv -o bare.rf --quiet --head-steps 15 --no-features
    # known rows, some under a wrong label, and open rows of two labels
    { labelled 40 | tail -n 100 | awk -F '\t' -v OFS='\t' 'NR % 9 == 0 { $2 = "class2" } { print }'
      for i in 1 2 3 4 5 6 7 8; do
          unlabelled | sed "s/^/$i /" | sed $'s/$/\tsomething else/'
          unlabelled | sed "s/^/a b $i /" | sed $'s/$/\topen/'
      done; } | sed $'1i text\tlabel' >rows.tsv
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

@test "the new model has its fences elsewhere, the old one is not touched" {
    cp m.rf was.rf
    run_apart "$rf" fence m.rf rows.tsv -o new.rf
    echo "$output$complaint"
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    cmp m.rf was.rf
    has "$output" "rows       164, 64 of them open"
    has "$output" "added to every margin"
    for figure in accuracy F1 "known called open" "open let in"; do
        [[ "$output" =~ "$figure"\ +[0-9.]+\ %\ \([0-9.]+\ to\ [0-9.]+\)\ +[0-9.]+\ %\ \([0-9.]+\ to ]]
    done
    # every margin differs by the offset, for texts it never saw, too
    "$rf" fence m.rf rows.tsv -o new2.rf --json >new.json
    cmp new.rf new2.rf
    unlabelled | "$rf" predict m.rf --json --margins 4 >before.json
    unlabelled | "$rf" predict new.rf --json --margins 4 >after.json
    node - <<'JS'
const assert = require('assert'), fs = require('fs');
const lines = name => fs.readFileSync(name, 'utf8').trim().split('\n').map(l => JSON.parse(l));
const { offset } = JSON.parse(fs.readFileSync('new.json', 'utf8'));
const a = lines('before.json'), b = lines('after.json');
a.forEach((x, i) => x.margins.forEach((m, k) => {
    assert.strictEqual(m.label, b[i].margins[k].label);
    assert(Math.abs(b[i].margins[k].margin - m.margin - offset) < 1e-4);
}));
JS
}

@test "before is what eval says of the old model; any number of threads gives the same" {
    "$rf" fence m.rf rows.tsv -o a.rf --json --threads 1 >a.json
    "$rf" fence m.rf - -o b.rf --json --threads 3 <rows.tsv >b.json
    cmp a.rf b.rf
    cmp a.json b.json
    "$rf" eval m.rf rows.tsv --json >eval.json
    node - <<'JS'
const assert = require('assert'), fs = require('fs');
const read = name => JSON.parse(fs.readFileSync(name, 'utf8'));
const f = read('a.json'), e = read('eval.json');
const close = (x, y) => assert(Math.abs(x - y) < 1e-9, `${x} ${y}`);
const wrong = pick => e.confusions.filter(pick).reduce((n, c) => n + c.count, 0);
assert.strictEqual(f.rows, 164);
assert.strictEqual(f.open_rows, 64);
close(f.before.accuracy.value, e.accuracy);
close(f.before.f1.value, e.f1_tested);
close(f.before.known_as_open.value, wrong(c => c.answer === 'open'));
close(f.before.open_let_in.value, 100 * wrong(c => c.label === 'open') / 64);
for (const when of ['before', 'expected'])
    for (const x of Object.values(f[when]))
        assert(x.low >= 0 && x.low <= x.value && x.value <= x.high && x.high <= 100);
JS
}

@test "inspect and eval tell where the fences come from" {
    "$rf" inspect m.rf | grep -q '^expected '
    "$rf" fence m.rf rows.tsv -o i.rf --max-false-accept 10% >/dev/null
    run "$rf" inspect i.rf
    echo "$output"
    has "$output" "fence      placed by 164 labelled rows, 64 of them open: at most 10 % of open texts accepted"
    has "$output" "from labelled"
    [[ "$output" != *"expected   for texts like the training texts"* ]]
    "$rf" inspect i.rf --json >i.json
    [ "$(json_file i.json 'v.summary.fence.rows + " " + v.summary.fence.best + " " + v.summary.expected')" = "164 null undefined" ]
    run "$rf" eval i.rf rows.tsv
    has "$output" "promised   at most 10.00 % of open texts accepted"
    has "$output" "within the interval"
    run "$rf" eval i.rf rows.tsv --fence 0.5
    [[ "$output" != *promised* ]]
}

@test "-o may name MODEL; slim and bare models stay what they are" {
    cp m.rf own.rf
    "$rf" fence m.rf rows.tsv -o new.rf >/dev/null
    "$rf" fence own.rf rows.tsv -o own.rf >/dev/null
    cmp own.rf new.rf
    for model in slim bare; do
        "$rf" fence $model.rf rows.tsv -o new.rf >/dev/null
        for f in $model new; do
            "$rf" inspect $f.rf --json >$f.json
            json_file $f.json 'JSON.stringify([v.encoder.contained, v.kept])' >$f.kept
        done
        cmp $model.kept new.kept
    done
    echo "x y z" | "$rf" predict new.rf >/dev/null
}

@test "budgets are kept on the rows, or refused with what is missing" {
    "$rf" fence m.rf rows.tsv -o n.rf --max-false-reject 5% >/dev/null
    "$rf" eval n.rf rows.tsv --json >e.json
    [ "$(json_file e.json 'v.confusions.filter(c => c.answer === "open").reduce((n, c) => n + c.count, 0) <= 5')" = true ]
    rm -f n.rf
    run_apart "$rf" fence m.rf rows.tsv -o n.rf --max-false-accept 1%
    [ "$status" -eq 2 ]
    has "$complaint" "64 open rows, wanted 300, 236 are missing; the smallest that they support is --max-false-accept 4.69%"
    grep -v 'open$\|else$' rows.tsv >known.tsv
    run_apart "$rf" fence m.rf known.tsv -o n.rf --max-false-accept 10%
    [ "$status" -eq 2 ]
    has "$complaint" "0 open rows, wanted 30"
    run_apart "$rf" fence m.rf known.tsv -o n.rf
    [ "$status" -eq 2 ]
    has "$complaint" "found 100 rows of known classes and 0 open ones, wanted at least 10 of each"
    [ ! -e n.rf ]
    "$rf" fence m.rf known.tsv -o n.rf --max-false-reject 5% | grep -q '^open let in  *-  *-'
}

@test "placed by hand: answers are those of predict --fence, with rows or without" {
    "$rf" fence m.rf --offset 0.5 -o hand.rf >text
    [ "$(cat text)" = "fences     +0.5000 added to every margin" ]
    "$rf" fence m.rf rows.tsv --offset 0.5 -o fitted.rf --json >hand.json
    "$rf" eval m.rf rows.tsv --fence 0.5 --json >eval.json
    unlabelled | "$rf" predict m.rf --fence 0.5 | cut -f 1 >want
    unlabelled | "$rf" predict hand.rf | cut -f 1 >got
    unlabelled | "$rf" predict fitted.rf | cut -f 1 >got2
    cmp want got
    cmp want got2
    node - <<'JS'
const assert = require('assert'), fs = require('fs'), read = name => JSON.parse(fs.readFileSync(name, 'utf8'));
const hand = read('hand.json'), e = read('eval.json');
assert.strictEqual(hand.offset, 0.5);
assert(Math.abs(hand.expected.accuracy.value - e.accuracy) < 1e-9 && Math.abs(hand.expected.f1.value - e.f1_tested) < 1e-9);
JS
    has "$("$rf" inspect hand.rf)" "fence      placed by hand"
    has "$("$rf" inspect fitted.rf)" "placed by hand; 164 labelled rows, 64 of them open"
    for wrong in "m.rf -o x.rf" "m.rf --offset 1 --best f1 -o x.rf" "m.rf --offset 1 --max-false-accept 5% -o x.rf" \
        "m.rf --offset nan -o x.rf" "m.rf --offset 1e9 -o x.rf"; do
        run_apart "$rf" fence $wrong
        [ "$status" -eq 2 ]
        [ ! -e x.rf ]
    done
}

@test "wrong usage, bad files, outputs that cannot be written" {
    rm -f n.rf
    cp rows.tsv copy.tsv
    for args in "" "m.rf" "m.rf rows.tsv" "m.rf rows.tsv -o -" "m.rf copy.tsv -o copy.tsv" \
        "m.rf rows.tsv -o n.rf --best f2" "m.rf rows.tsv -o n.rf --max-false-accept 60%" \
        "m.rf rows.tsv -o n.rf --best f1 --max-false-reject 5%"; do
        run_apart "$rf" fence $args
        [ "$status" -eq 2 ]
        has "$complaint" "ringfence: fence"
    done
    cmp rows.tsv copy.tsv
    : >empty.tsv
    for args in "no.rf rows.tsv -o n.rf" "m.rf no.tsv -o n.rf" "m.rf empty.tsv -o n.rf" "m.rf rows.tsv -o no/n.rf" \
        "rows.tsv rows.tsv -o n.rf" "m.rf rows.tsv -o /dev/null"; do
        run_apart "$rf" fence $args
        [ "$status" -eq 1 ]
        [ -n "$complaint" ]
    done
    train data.tsv -o adb.rf --quiet --method adb
    run_apart "$rf" fence adb.rf rows.tsv -o n.rf
    [ "$status" -eq 2 ]
    has "$complaint" "the fences of method adb cannot be moved"
    [ ! -e n.rf ]
    run "$rf" fence --help
    [ "$status" -eq 0 ]
    has "$output" "--per-class"
}

@test "a full disk is an error, and the old model stays" {
    [ -e /dev/full ] || skip "no /dev/full"
    run bash -c "'$rf' fence m.rf rows.tsv -o full.rf 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    has "$output" "No space left on device"
    cp m.rf mine.rf
    run_apart bash -c "ulimit -f 64; trap '' XFSZ; '$rf' fence mine.rf rows.tsv -o mine.rf"
    [ "$status" -eq 1 ]
    has "$complaint" "mine.rf"
    cmp m.rf mine.rf
    [ "$(ls | grep -c '^mine\.rf\.')" -eq 0 ]
}

@test "killed at any moment: the old model or the new one" {
    "$rf" fence m.rf rows.tsv -o new.rf >/dev/null
    for delay in 0 0.01 0.02 0.03 0.05 0.08; do
        cp m.rf k.rf
        timeout -s KILL "$delay" "$rf" fence k.rf rows.tsv -o k.rf >/dev/null 2>&1 || true
        cmp -s k.rf m.rf || cmp k.rf new.rf
    done
}

@test "predict --fence moves every margin and answer, not the chance of being known" {
    { labelled 10 | tail -n +2 | cut -f1; unlabelled; } >texts
    "$rf" predict m.rf texts --json --margins 4 >at0
    for x in -1.5 2; do
        "$rf" predict m.rf texts --json --margins 4 --fence "$x" >moved
        node - "$x" <<'JS'
const assert = require('assert'), fs = require('fs'), x = Number(process.argv[2]);
const lines = name => fs.readFileSync(name, 'utf8').trim().split('\n').map(l => JSON.parse(l));
const b = lines('moved');
let changed = 0;
lines('at0').forEach((a, i) => {
    const m = b[i];
    assert(Math.abs(m.margin - a.margin - x) < 1e-5);
    assert.strictEqual(m.open, m.margin < 0);
    assert.deepStrictEqual(m.ranking, a.ranking);
    assert.strictEqual(m.accepted.length, m.margins.filter(c => c.margin >= 0).length);
    // P(known), from either kind of answer
    const known = r => r.open ? 1 - r.confidence : r.confidence / r.ranking[0].probability;
    assert(Math.abs(known(m) - known(a)) < 1e-5);
    changed += m.open !== a.open;
});
assert(changed > 0);
JS
    done
    "$rf" predict m.rf texts --json --margins 4 --fence 0 | cmp - at0
    for bad in x nan 1e9 ""; do
        run_apart "$rf" predict m.rf texts --fence "$bad"
        [ "$status" -eq 2 ]
        has "$complaint" "fence"
    done
}

@test "eval --fence measures what predict --fence answers" {
    "$rf" eval m.rf rows.tsv --fence -1 --json >e.json
    tail -n +2 rows.tsv | cut -f1 | "$rf" predict m.rf --fence -1 | cut -f1 >answers
    right=$(tail -n +2 rows.tsv | cut -f2 | sed 's/something else/open/' | paste - answers | awk -F '\t' '$1 == $2' | wc -l)
    [ "$(json_file e.json 'Math.round(v.accuracy * 1.64)')" -eq "$right" ]
}
