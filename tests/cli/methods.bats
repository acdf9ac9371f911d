#!/usr/bin/env bats
# ringfence train --method: every method trains, is saved, answers and is described

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
    labelled 12 >data.tsv
    unlabelled >open.txt
}

methods() {
    "$rf" train --help | tr '\n' ' ' | sed 's/.*(default ans): *//; s/\..*//; s/, */ /g; s/  */ /g'
}

@test "every method: train, predict, eval, inspect" {
    list=$(methods)
    [ "$(wc -w <<<"$list")" -eq 19 ]
    { cat data.tsv; unlabelled | sed $'s/$/\tsomething else/'; } >test.tsv
    for method in $list; do
        echo "$method"
        more=
        [ "$method" != selfsup ] || more="--open-texts open.txt"
        train data.tsv --quiet -o "$method.rf" --method "$method" --neighbours 5 $more
        "$rf" predict "$method.rf" open.txt >answers
        [ "$(grep -cE $'^(class[1-4]|open)\t[01]\.[0-9]{4}$' answers)" -eq 4 ]
        "$rf" predict "$method.rf" --json open.txt | jq -e 'select(.label)' >/dev/null
        "$rf" eval "$method.rf" test.tsv | grep -q "texts      52, 4 of them open"
        "$rf" inspect "$method.rf" | grep -q "method $method\$"
        train data.tsv --quiet -o again.rf --method "$method" --neighbours 5 $more --threads 3
        cmp "$method.rf" again.rf
    done
}

@test "settings of a method reach it" {
    train data.tsv --quiet -o a.rf --method msp
    train data.tsv --quiet -o b.rf --method msp --threshold 0.999
    "$rf" predict a.rf open.txt >a
    [ "$("$rf" predict b.rf data.tsv | grep -c ^open)" -gt "$("$rf" predict a.rf data.tsv | grep -c ^open)" ]
    [ "$("$rf" inspect a.rf --json | jq .settings.method_options.threshold)" = 0.5 ]
    train data.tsv --quiet -o c.rf --method openmax --textoir
    train data.tsv --quiet -o d.rf --method openmax
    ! cmp -s c.rf d.rf
    # ovr is heads without synthetic negatives
    train data.tsv --quiet -o ovr.rf --method ovr
    train data.tsv --quiet -o heads.rf --method heads --lambda 0
    "$rf" predict ovr.rf --json data.tsv >x
    "$rf" predict heads.rf --json data.tsv >y
    cmp x y
}

@test "impossible combinations are refused" {
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" --method magic
    [ "$status" -eq 2 ]
    has "$complaint" 'no method "magic"'
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" --method selfsup
    [ "$status" -eq 2 ]
    has "$complaint" "selfsup learns from texts of no class"
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" --method adb --open-texts open.txt
    [ "$status" -eq 2 ]
    has "$complaint" "adb does not use texts of no class"
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" --method knncl --checkpoint ck
    [ "$status" -eq 2 ]
    has "$complaint" "knncl cannot resume from a checkpoint"
    : >empty.txt
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" --method selfsup --open-texts empty.txt
    [ "$status" -eq 1 ]
    has "$complaint" "empty.txt: empty, wanted rows of text"
    [ ! -e m.rf ]
}

@test "a method with its own stage 1, interrupted and resumed: the same bytes" {
    train data.tsv --quiet -o want.rf --method doc --epochs 4
    interrupted 2 known INT "$rf" train data.tsv --quiet -o m.rf --encoder "$tiny" $quick --method doc \
        --epochs 4 --checkpoint ck
    train data.tsv --quiet -o m.rf --method doc --epochs 4 --checkpoint ck --resume
    cmp want.rf m.rf
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" $quick --method convex --epochs 4 \
        --checkpoint ck --resume
    [ "$status" -eq 2 ]
    has "$complaint" "method was doc, is now convex"
}
