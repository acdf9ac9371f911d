#!/usr/bin/env bats
# ringfence compare: differences recomputed from the answers of predict; page, errors, exit codes

load helpers

setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    labelled 12 >data.tsv
    grep -v class4 data.tsv >three.tsv
    # few steps, so that some answers are wrong
    train data.tsv -o a.rf --quiet --method heads --head-steps 15
    train data.tsv -o b.rf --quiet --method heads --head-steps 6 --seed 5
    train three.tsv -o c.rf --quiet --method heads --head-steps 15
    { labelled 25 | tail -n 51 | awk -F '\t' -v OFS='\t' 'NR % 5 == 0 { $2 = "class2" } { print }'
      unlabelled | sed $'s/$/\tsomething else/'
      unlabelled | sed $'s/^/a b /; s/$/\topen/'; } | sed $'1i text\tlabel' >test.tsv
    tail -n +2 test.tsv | cut -f1 >texts
    tail -n +2 test.tsv | cut -f2 >labels
    for m in a b c; do "$rf" predict $m.rf texts | cut -f1 >$m.answers; done
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

# Compares the JSON of a comparison with the answers of predict, by other code.
recomputed() { # first model, second model, json
    node - "$@" <<'JS'
const assert = require('assert'), fs = require('fs');
const [first, second, json] = process.argv.slice(2);
const lines = name => fs.readFileSync(name, 'utf8').trim().split('\n');
const got = JSON.parse(fs.readFileSync(json, 'utf8')), labels = lines('labels'), texts = lines('texts');
const known = { a: ['class1', 'class2', 'class3', 'class4'], b: ['class1', 'class2', 'class3', 'class4'], c: ['class1', 'class2', 'class3'] };
const side = m => ({ known: known[m], answer: lines(`${m}.answers`), truth: labels.map(l => known[m].includes(l) ? l : 'open') });
const s = [side(first), side(second)], n = labels.length, rows = labels.map((_, i) => i);
const right = (k, i) => s[k].truth[i] === s[k].answer[i];
const same = (a, b, what) => assert(Math.abs(a - b) < 1e-6, `${what}: ${a}, wanted ${b}`);
const share = (name, of, holds) => {
  const d = got[name], m = of.length + 2;
  assert.strictEqual(d.texts, of.length, name);
  if (!of.length) return assert.strictEqual(d.difference, null);
  const hits = k => of.filter(i => holds(k, i)).length;
  same(d.a, 100 * hits(0) / of.length, name);
  same(d.b, 100 * hits(1) / of.length, name);
  same(d.difference, d.b - d.a, name);
  const p12 = (of.filter(i => holds(0, i) && !holds(1, i)).length + 1) / m, p21 = (of.filter(i => holds(1, i) && !holds(0, i)).length + 1) / m;
  const half = 1.959964 * Math.sqrt((p12 + p21 - (p21 - p12) ** 2) / m);
  same(d.interval[0], 100 * (p21 - p12 - half), name);
  same(d.interval[1], 100 * (p21 - p12 + half), name);
  assert.strictEqual(d.beyond_chance, p21 - p12 - half > 0 || p21 - p12 + half < 0);
};
assert.strictEqual(got.n, n);
share('accuracy', rows, right);
share('known_called_open', rows.filter(i => s[0].truth[i] !== 'open' && s[1].truth[i] !== 'open'), (k, i) => s[k].answer[i] === 'open');
share('open_let_in', rows.filter(i => s[0].truth[i] === 'open' && s[1].truth[i] === 'open'), (k, i) => s[k].answer[i] !== 'open');
const kinds = { lost: [1, 0], gained: [0, 1], wrong: [0, 0] };
const want = Object.keys(kinds).flatMap(kind => rows.filter(i => Number(right(0, i)) === kinds[kind][0] && Number(right(1, i)) === kinds[kind][1] &&
  (kind !== 'wrong' || s[0].answer[i] !== s[1].answer[i])).map(i => [kind, i + 1, labels[i], s[0].answer[i], s[1].answer[i], texts[i]]));
assert.deepStrictEqual(got.changes.map(c => [c.kind, c.row, c.label, c.a, c.b, c.text]), want);
assert(want.length > 3);
for (const c of got.classes) {
  const about = (k, i) => (s[k].truth[i] === c.label) === (s[k].answer[i] === c.label);
  const both = c.label === 'open' || s.every(x => x.known.includes(c.label));
  assert.strictEqual(c.only_a_right, both ? rows.filter(i => about(0, i) && !about(1, i)).length : 0);
  assert.strictEqual(c.only_b_right, both ? rows.filter(i => about(1, i) && !about(0, i)).length : 0);
  assert.strictEqual(c.p === null, !both || c.label === 'open');
  [c.a, c.b].forEach((v, k) => assert.strictEqual(v === null, c.label !== 'open' && !s[k].known.includes(c.label)));
}
JS
}

@test "the figures, classes and texts follow from the answers of predict" {
    "$rf" compare a.rf b.rf test.tsv --json >ab.json
    recomputed a b ab.json
    "$rf" eval a.rf test.tsv --json >a.json
    "$rf" eval b.rf test.tsv --json >b.json
    [ "$(json_file ab.json 'v.f1.a')" = "$(json_file a.json 'v.f1')" ]
    [ "$(json_file ab.json 'v.f1.b')" = "$(json_file b.json 'v.f1')" ]
    run_apart "$rf" compare a.rf b.rf test.tsv --all
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    echo "$output"
    for pair in 'accuracy:accuracy' 'F1:f1' 'known called open:known_called_open' 'open let in:open_let_in'; do
        want=$(json_file ab.json "const d = v.${pair#*:}; d.a.toFixed(2) + ' % ' + d.b.toFixed(2) + ' %'")
        has "$(tr -s ' ' <<<"$output")" "${pair%:*} $want"
    done
    has "$output" "right with A, wrong with B: $(json_file ab.json v.n_lost) text"
    has "$output" "wrong with A, right with B: $(json_file ab.json v.n_gained) text"
    [ "$(grep -cE '^  row [0-9]+, ' <<<"$output")" -eq "$(json_file ab.json v.changes.length)" ]
}

@test "ten texts of a kind are shown, all with --all" {
    yes "$(sed -n 2,60p test.tsv)" | head -n 590 | sed $'1i text\tlabel' >many.tsv
    run "$rf" compare a.rf b.rf many.tsv
    n=$("$rf" compare a.rf b.rf many.tsv --json | node -e 'const v = JSON.parse(require("fs").readFileSync(0)); console.log(Math.max(v.n_lost, v.n_gained))')
    [ "$n" -gt 10 ]
    has "$output" "  ($((n - 10)) more: --all)"
    [ "$(grep -cE '^  row [0-9]+, ' <<<"$output")" -le 30 ]
}

@test "a model and itself: no difference beyond chance" {
    run "$rf" compare a.rf a.rf test.tsv
    [ "$status" -eq 0 ]
    grep -qx "no difference beyond chance" <<<"$output"
    has "$output" "no class differs beyond chance (4 tested)"
    has "$output" "wrong with both, differently: 0 texts"
    [ "$(grep -c "beyond chance" <<<"$output")" -eq 2 ]
}

@test "models with different classes: a label that one does not know is open for it" {
    for pair in "a c" "c a"; do
        set -- $pair
        "$rf" compare $1.rf $2.rf test.tsv --json >x.json
        recomputed $1 $2 x.json
    done
    "$rf" compare a.rf c.rf test.tsv >out
    n=$(grep -c 'class4$' test.tsv)
    grep -qx "A alone     knows 1 class, such as \"class4\": open for B ($n texts)" out
    grep -q "^class4 .* only A knows it: F1 " out
    "$rf" compare c.rf a.rf test.tsv >out
    grep -q '^B alone     knows 1 class, such as "class4": open for A' out
    # no class in common: nothing to test
    sed 's/class/other/' data.tsv >other.tsv
    train other.tsv -o other.rf --quiet --epochs 1 --head-steps 5
    run_apart "$rf" compare a.rf other.rf test.tsv
    [ "$status" -eq 0 ]
    has "$output" "no class differs beyond chance (0 tested)"
    has "$complaint" 'no label is a class of the model, so all texts count as open; found labels like "class1", wanted labels like "other1"'
}

@test "the same for any number of threads and from standard input" {
    "$rf" compare a.rf b.rf test.tsv --json --threads 1 >one.json
    "$rf" compare a.rf b.rf - --json --threads 3 <test.tsv | cmp - one.json
}

@test "a page with the same figures; the same bytes again" {
    run_apart "$rf" compare a.rf b.rf test.tsv --html p.html
    [ "$status" -eq 0 ]
    "$rf" compare a.rf b.rf test.tsv --html q.html --json --threads 1 >ab.json
    cmp p.html q.html
    has "$(cat p.html)" "<h1>a.rf and b.rf on test.tsv</h1>"
    for figure in accuracy:Accuracy f1:F1 known_called_open:'Known called open' open_let_in:'Open let in'; do
        row=$(json_file ab.json "const d = v['${figure%%:*}']; \`</th><td class=\"n\">\${d.a.toFixed(1)}</td><td class=\"n\">\${d.b.toFixed(1)}</td>\`")
        has "$(cat p.html)" "<th scope=\"row\">${figure##*:}$row"
    done
    [ "$(json_file ab.json v.beyond_chance)" = true ] && verdict="differ beyond chance" || verdict="No difference beyond chance"
    has "$(cat p.html)" "$verdict"
    [ "$(grep -c 'http:\|https:' p.html)" -eq 0 ]
}

@test "wrong usage, missing and empty files, unwritable pages" {
    for args in "" "a.rf b.rf" "a.rf b.rf test.tsv --top 3" "a.rf b.rf test.tsv --html"; do
        run_apart "$rf" compare $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
    for mine in test.tsv a.rf b.rf; do
        cp $mine "$BATS_TEST_TMPDIR/kept"
        run_apart "$rf" compare a.rf b.rf test.tsv --html $mine
        [ "$status" -eq 2 ]
        has "$complaint" "would overwrite $mine"
        cmp $mine "$BATS_TEST_TMPDIR/kept"
    done
    for args in "no.rf b.rf test.tsv" "a.rf no.rf test.tsv" "a.rf b.rf no.tsv" "a.rf test.tsv test.tsv"; do
        run_apart "$rf" compare $args --html x.html
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        [ ! -e x.html ]
    done
    : >"$BATS_TEST_TMPDIR/empty.tsv"
    run_apart "$rf" compare a.rf b.rf "$BATS_TEST_TMPDIR/empty.tsv"
    [ "$status" -eq 1 ]
    has "$complaint" "empty.tsv"
    run_apart "$rf" compare a.rf b.rf test.tsv --html nowhere/x.html
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    has "$complaint" "nowhere/"
}

@test "a full disk is an error" {
    [ -e /dev/full ] || skip "no /dev/full"
    for args in "" --json; do
        run bash -c "'$rf' compare a.rf b.rf test.tsv $args 2>&1 >/dev/full"
        [ "$status" -eq 1 ]
        has "$output" "No space left on device"
    done
}
