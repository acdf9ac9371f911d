#!/usr/bin/env bats
# ringfence update: what it prints and writes, what it refuses, and what it leaves alone

load helpers

setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    labelled 12 >all.tsv
    grep -v class3 all.tsv >old.tsv
    { head -n 1 all.tsv; grep class3 all.tsv | sort -u; } >new.tsv
    train old.tsv -o m.rf --quiet
    train old.tsv --no-examples -o bare.rf --quiet
    cp m.rf copy.rf
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

teardown() {
    cmp m.rf copy.rf # no test changes the model
}

@test "a new class: what changed, before and after" {
    run_apart "$rf" update m.rf new.tsv -o n.rf --dev all.tsv
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    has "$output" "added     class3"
    has "$output" "rows      $(($(wc -l <new.tsv) - 1)) added, 0 relabelled, 0 removed"
    has "$output" "training texts"
    has "$output" "class3                                      12              -"
    has "$output" "n.rf: 4 classes"
    "$rf" inspect n.rf --json >n.json
    [ "$(json_file n.json 'v.labels')" = class1,class2,class3,class4 ]
    [ "$(json_file n.json 'v.summary.updates.count')" -eq 1 ]
    [ "$(json_file n.json 'v.summary.updates.last[0].added')" = class3 ]
    [ "$(json_file n.json 'v.kept.texts')" = true ]
    grep class3 new.tsv | head -n 1 | cut -f1 | "$rf" predict n.rf | grep -q class3
}

@test "the same bytes for any number of threads" {
    "$rf" update m.rf new.tsv -o one.rf --threads 1 >/dev/null
    "$rf" update m.rf - -o three.rf --threads 3 <new.tsv >/dev/null
    cmp one.rf three.rf
}

@test "the report as JSON; rows that are there already" {
    run_apart "$rf" update m.rf old.tsv -o same.rf --json
    [ "$status" -eq 0 ]
    echo "$output" >r.json
    [ "$(json_file r.json 'v.rows_added')" -eq 0 ]
    [ "$(json_file r.json 'v.rows_same')" -eq 36 ]
    [ "$(json_file r.json 'v.fitted.length + v.training_texts.flipped')" -eq 0 ]
    cut -f1 all.tsv | "$rf" predict m.rf --json >a
    cut -f1 all.tsv | "$rf" predict same.rf --json >b
    cmp a b
}

@test "corrected labels" {
    text=$(grep class4 old.tsv | head -n 1 | cut -f1)
    copies=$(grep -c "^$text	class4" old.tsv)
    printf 'text\tlabel\n%s\tclass1\n' "$text" >fix.tsv
    run_apart "$rf" update m.rf fix.tsv -o fixed.rf --json
    [ "$status" -eq 0 ]
    echo "$output" >r.json
    [ "$(json_file r.json 'v.rows_relabelled')" -eq "$copies" ]
    [ "$(json_file r.json 'v.rows')" -eq 36 ]
    # without texts the row cannot be found
    run_apart "$rf" update bare.rf fix.tsv -o fixed.rf
    [ "$status" -eq 0 ]
    has "$output" "rows      1 added, 0 relabelled"
    has "$output" "keeps no texts"
}

@test "classes are removed, renamed and merged" {
    run_apart "$rf" update m.rf -o e.rf --rename class1=zebra
    [ "$status" -eq 0 ]
    has "$output" "renamed   class1 -> zebra"
    cut -f1 all.tsv | "$rf" predict m.rf --json | sed 's/class1/zebra/g' |
        json_lines /dev/stdin 'v.map(x => x.label + x.margin)' >a
    cut -f1 all.tsv | "$rf" predict e.rf --json |
        json_lines /dev/stdin 'v.map(x => x.label + x.margin)' >b
    cmp a b
    run_apart "$rf" update m.rf -o e.rf --merge class1,class2=both
    [ "$status" -eq 0 ]
    has "$output" "merged    class1 -> both, class2 -> both"
    run_apart "$rf" update m.rf -o e.rf --remove-class class1
    [ "$status" -eq 0 ]
    has "$output" "removed   class1"
    has "$output" "12 removed"
    has "$output" "e.rf: 2 classes"
}

@test "in place, again and again" {
    cp m.rf own.rf
    for i in 1 2 3; do
        "$rf" update own.rf new.tsv -o own.rf >/dev/null
        "$rf" update own.rf --remove-class class3 -o own.rf >/dev/null
    done
    "$rf" inspect own.rf --json >own.json
    [ "$(json_file own.json 'v.summary.updates.count')" -eq 6 ]
    [ "$(json_file own.json 'v.labels')" = class1,class2,class4 ]
    [ "$(json_file own.json 'v.kept.rows')" -eq 36 ]
}

# Updates own.rf in place; at the n-th thing it does to files the fault happens (file_faults.c).
with_fault() { # kill or full, n
    cp m.rf own/own.rf
    run env LD_PRELOAD="$root/build/tests/libfile_faults.so" RF_FAULT="$1" RF_FAULT_AT="$2" \
        "$rf" update own/own.rf new.tsv -o own/own.rf
}

@test "kill -9 at any moment: the old model or the new one, whole" {
    "$rf" update m.rf new.tsv -o want.rf >/dev/null
    rm -rf own && mkdir own
    n=1 old=0 new=0
    while with_fault kill $n && [ "$status" -ne 0 ]; do
        [ "$status" -eq 137 ]
        if cmp -s own/own.rf m.rf; then
            [ $new -eq 0 ]
            old=$((old + 1))
        else
            cmp own/own.rf want.rf
            new=$((new + 1))
        fi
        n=$((n + 1))
    done
    cmp own/own.rf want.rf
    echo "killed $((n - 1)) times; after $old of them the model was the old one"
    [ $old -ge 10 ] # before, while and after a temporary file is written
    # nothing of this is in the way of the next update
    cp m.rf own/own.rf
    "$rf" update own/own.rf new.tsv -o own/own.rf >/dev/null
    cmp own/own.rf want.rf
}

@test "kill -9 while it reads rows" {
    cp m.rf own.rf
    mkfifo rows
    "$rf" update own.rf - -o own.rf <rows &
    pid=$!
    exec 8>rows # it waits for rows now, or soon
    head -n 3 new.tsv >&8
    kill -9 $pid
    wait $pid || true
    exec 8>&-
    rm rows
    cmp own.rf m.rf
}

@test "a disk that is full from any moment on: the old model, and nothing beside it" {
    rm -rf own && mkdir own
    n=1
    while with_fault full $n && [ "$status" -ne 0 ]; do
        [ "$status" -eq 1 ]
        has "$output" "own/own.rf"
        has "$output" "No space left on device"
        cmp own/own.rf m.rf
        [ "$(ls -A own)" = own.rf ]
        n=$((n + 1))
    done
    echo "the disk was full $((n - 1)) times"
    [ $n -gt 10 ]
    cmp -s own/own.rf m.rf && return 1 # once there is room, it is updated
    [ "$(ls -A own)" = own.rf ]
    # a limit on the size of files, which the program itself cannot see coming
    cp m.rf own/own.rf
    run bash -c "trap '' XFSZ; ulimit -f 64; '$rf' update own/own.rf new.tsv -o own/own.rf 2>&1"
    [ "$status" -eq 1 ]
    has "$output" "own.rf"
    cmp own/own.rf m.rf
    [ "$(ls -A own)" = own.rf ]
    [ -e /dev/full ] || skip "no /dev/full"
    run bash -c "'$rf' update own/own.rf new.tsv -o own2.rf 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    has "$output" "No space left on device"
}

@test "models that cannot be updated say the way out" {
    train old.tsv --no-features -o none.rf --quiet
    run_apart "$rf" update none.rf new.tsv -o x.rf
    [ "$status" -eq 1 ]
    has "$complaint" "keeps no training rows"
    has "$complaint" "train it again, without --no-features"
    train old.tsv --method msp -o msp.rf --quiet
    run_apart "$rf" update msp.rf new.tsv -o x.rf
    [ "$status" -eq 1 ]
    has "$complaint" "method msp cannot be updated: train it again"
    [ ! -e x.rf ]
}

@test "a slim model stays slim" {
    "$rf" update m.rf new.tsv -o full.rf >/dev/null
    train old.tsv --slim -o slim.rf --quiet
    "$rf" update slim.rf new.tsv -o slim2.rf >/dev/null
    "$rf" inspect slim2.rf --json >s.json
    [ "$(json_file s.json 'v.encoder.contained')" = false ]
    cut -f1 all.tsv | "$rf" predict full.rf >a
    cut -f1 all.tsv | "$rf" predict slim2.rf >b
    cmp a b
}

@test "wrong usage" {
    for args in "" "m.rf" "m.rf new.tsv" "m.rf -o x.rf" "m.rf new.tsv -o new.tsv" \
        "m.rf -o x.rf --rename class1" "m.rf -o x.rf --rename =x" "m.rf -o x.rf --merge class1" \
        "m.rf -o x.rf --remove-class nobody" "m.rf -o x.rf --rename class1=class2" \
        "m.rf -o x.rf --rename class1=open" "m.rf new.tsv -o x.rf --threads 0"; do
        run_apart "$rf" update $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ -n "$complaint" ]
    done
    [ ! -e x.rf ]
    run_apart "$rf" update m.rf no/such/file -o x.rf
    [ "$status" -eq 1 ]
    has "$complaint" "no/such/file: cannot open"
    run_apart "$rf" update m.rf new.tsv -o no/such/dir/x.rf
    [ "$status" -eq 1 ]
    run_apart "$rf" update --help
    [ "$status" -eq 0 ]
    has "$output" "--merge A,B=C"
}

@test "words of new rows are known to the spelling" {
    printf 'text\tlabel\nwarranty expired\tclass1\nwarranty\tclass1\n' >words.tsv
    "$rf" update m.rf words.tsv -o words.rf >/dev/null
    echo "warranty" | "$rf" predict words.rf --json --margins 4 >right
    echo "warrnty" | "$rf" predict words.rf --json --margins 4 >wrong
    cmp right wrong
    [ "$("$rf" inspect words.rf --json | jq '.kept.words')" -eq $(($("$rf" inspect m.rf --json | jq '.kept.words') + 2)) ]
}
