#!/usr/bin/env bats
# ringfence lab run, sweep, update, discover and loop

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p data/toy
    labelled 10 >data/toy/train.tsv
    labelled 3 >data/toy/dev.tsv
    { labelled 4; unlabelled | sed $'s/$/\toos/'; } >data/toy/test.tsv
}

lab() { # words and options of ringfence lab
    "$rf" lab "$@" --data data --sets toy --ratios 0.5 --encoder "$tiny" --epochs 2
}

@test "run: a line per run, reported as they finish; nothing is done twice" {
    run_apart lab run --out out --seeds 0-1 --methods msp,ans
    echo "$complaint"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    has "$complaint" "1 of 4, toy 0.5 seed 0 msp"
    has "$complaint" "4 of 4, toy 0.5 seed 1 ans"
    [ "$(wc -l <out/runs.jsonl)" -eq 4 ]
    [ "$(jq -s 'map(select(.known_classes == 2 and .test_rows == 20)) | length' out/runs.jsonl)" -eq 4 ]
    cp out/runs.jsonl before
    run_apart lab run --out out --seeds 0-1 --methods msp,ans
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    cmp before out/runs.jsonl
    rm -r out/cache # may go at any time
    lab run --out out --seeds 0-1 --methods msp,ans,adb --quiet
    [ "$(wc -l <out/runs.jsonl)" -eq 6 ]
    "$rf" lab table out | grep -q "adb"
}

@test "on a terminal: what a run is doing, by name, also in the folds" {
    command -v script >/dev/null || skip "no script"
    script -qec "'$rf' lab run --data data --sets toy --ratios 0.75 --encoder '$tiny' --epochs 1000 --out out" \
        /dev/null | tr '\r' '\n' >screen # enough epochs that its line is drawn more than once
    grep -q "1 of 1, toy 0.75 seed 0 ans .*: folds [0-9]* %; .* left" screen
    ! grep "1 of 1, toy .* left" screen | grep -vE ": ((encoding|stage 1|features|stage 2|folds)( [0-9]+ %)?; |accuracy)"
}

@test "dry-run lists the runs and does none of them" {
    run lab run --out out --methods shared --dry-run
    [ "$status" -eq 0 ]
    n=$(grep -c '^toy 0.5 seed 0 ' <<<"$output")
    [ "$n" -ge 10 ]
    has "$output" "$n runs, 0 of them done"
    has "$output" "seed 0 whitened-mean " && [[ "$output" != *"seed 0 doc "* ]]
    has "$output" "no finished run to calibrate it"
    [ ! -e out ]
    lab run --out out --methods msp --quiet
    run lab run --out out --methods msp,ans --dry-run
    has "$output" "2 runs, 1 of them done"
    [[ "$output" != *calibrate* ]]
}

@test "interrupted and resumed: the same figures" {
    lab run --out want --seeds 0-2 --methods ans,doc --quiet
    for lines in 0 1 3; do # of the results, when it is interrupted
        env --default-signal=INT "$rf" lab run --data data --sets toy --ratios 0.5 --encoder "$tiny" \
            --epochs 2 --out got --seeds 0-2 --methods ans,doc --quiet &
        pid=$!
        until [ -e got ] && [ "$(cat got/runs.jsonl 2>/dev/null | wc -l)" -ge $lines ]; do
            kill -0 $pid 2>/dev/null || break
            sleep 0.01
        done
        kill -INT $pid || true
        wait $pid || true
    done
    lab run --out got --seeds 0-2 --methods ans,doc --quiet
    jq -S 'del(.seconds, .shared_known)' want/runs.jsonl | sort >a
    jq -S 'del(.seconds, .shared_known)' got/runs.jsonl | sort >b
    cmp a b
}

@test "sweep: default values, or given ones" {
    lab sweep ablation --out out --quiet
    [ "$(jq -r .variant out/runs.jsonl | paste -sd ' ')" = "ablation=baseline ablation=noise ablation=projection ablation=ascent" ]
    lab sweep rows --values 2,4 --out out --quiet
    [ "$(jq -r 'select(.variant == "rows=2") | .train_rows' out/runs.jsonl)" -eq 4 ]
    run_apart lab sweep mood --out out
    [ "$status" -eq 2 ]
    has "$complaint" 'no setting "mood"'
    run_apart lab sweep dropout --out out
    [ "$status" -eq 2 ]
    has "$complaint" "dropout has no default values; wanted --values LIST"
    run_apart lab sweep rows --values "$(seq -s , 500)" --out out
    [ "$status" -eq 2 ]
    has "$complaint" "--values is too long"
}

@test "rows: numbers drawn for each class, without dev rows" {
    lab run --out out --methods msp,nearest-text --rows lognormal:4:0.9,lognormal:8:0.5 --variants threshold=0.7 --quiet
    [ "$(wc -l <out/runs.jsonl)" -eq 6 ]
    [ "$(jq -r 'select(.dev_rows == 0).variant' out/runs.jsonl | sort -u | paste -sd' ')" = "rows=lognormal:4:0.9 rows=lognormal:8:0.5" ]
    run lab run --out out --methods msp --rows lognormal:8:0.5 --dry-run
    has "$output" "1 run, 1 of them done"
    run_apart lab run --out out --rows lognormal:8
    [ "$status" -eq 2 ] && has "$complaint" "lognormal:MEDIAN:SPREAD"
    run_apart lab sweep radius --out out --rows 5
    [ "$status" -eq 2 ]
}

@test "an option or variant that would be another experiment is refused before any run" {
    for wrong in "run --seed 7" "run --set toy" "run --format csv" "run --values 3" "sweep gamma --variants k=1"; do
        run_apart lab $wrong --out out
        [ "$status" -eq 2 ]
        [[ "$complaint" == *"lab "*": no option --"* ]]
    done
    run_apart "$rf" lab table out --seeds 3
    [ "$status" -eq 2 ]
    for wrong in radius=0 weight=0 gamma=2,0.5,3 k=1000000000 radius= radius=, ; do
        run_apart lab run --out out --variants "$wrong"
        echo "$wrong: $complaint"
        [ "$status" -eq 2 ]
        has "$complaint" "variant \"${wrong%%=*}="
        [ ! -e out ]
    done
}

update() { # options of ringfence lab update
    "$rf" lab update --data data --sets toy --encoder "$tiny" --epochs 2 --from 0.5 --to 1 --every 1 "$@"
}

@test "update: a line per point, reported as they finish; nothing is done twice; a table" {
    run_apart update --out out --seeds 0-1
    echo "$complaint"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    has "$complaint" "1 of 6, toy seed 0 ans, 2 classes: accuracy "
    has "$complaint" "6 of 6, toy seed 1 ans, 4 classes: accuracy "
    has "$complaint" " (trained again "
    [ "$(jq -s 'map([.seed, .classes, .updates.n] | join(" ")) | join(",")' out/updates.jsonl)" = \
        '"0 2 0,0 3 1,0 4 1,1 2 0,1 3 1,1 4 1"' ]
    cp out/updates.jsonl before
    run_apart update --out out --seeds 0-1
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    cmp before out/updates.jsonl
    [ "$(find out/cache -name 'updated-*.rf' | wc -l)" -eq 4 ] # the first and the last of each seed
    "$rf" lab table out >table
    grep -q "trained on 2 classes (50 %)" table
    [ "$(grep -cE '^[234] +2 ' table)" -eq 3 ]
    # every figure of the CSV follows from the points
    "$rf" lab table out --which updates --format csv >table.csv
    jq -s -e --rawfile csv table.csv '. as $p | $csv | split("\n")[1:-1] | map(split(",")) |
        map({n: (.[5] | ltrimstr("classes=") | tonumber), metric: .[7], value: (.[9] | tonumber)}) |
        map(. as $r | [$p[] | select(.classes == $r.n)] |
            (if $r.metric == "updated_f1" then map(.updated.f1) | add / 2
             elif $r.metric == "difference_accuracy" then map(.updated.accuracy - .trained.accuracy) | add / 2
             elif $r.metric == "longest_update" then map(.updates.longest) | max
             elif $r.metric == "heads_per_update" then (map(.updates.heads) | add) / (map(.updates.n) | add)
             else $r.value end) as $want | ($want - $r.value) | fabs < 1e-9) | all and length == 26' out/updates.jsonl
    run_apart "$rf" lab report out -o page.html # the page is about runs
    [ "$status" -eq 1 ]
    has "$complaint" "no runs"
}

@test "update: dry-run, interrupted and resumed, wrong usage" {
    run update --out got --dry-run
    [ "$status" -eq 0 ]
    has "$output" "toy seed 0 ans, 3 classes	"
    has "$output" "3 runs, 0 of them done"
    [ ! -e got ]
    update --out want --quiet
    for lines in 0 1 2; do # of the results, when it is interrupted
        env --default-signal=INT "$rf" lab update --data data --sets toy --encoder "$tiny" --epochs 2 \
            --from 0.5 --to 1 --every 1 --out got --quiet &
        pid=$!
        until [ -e got ] && [ "$(cat got/updates.jsonl 2>/dev/null | wc -l)" -ge $lines ]; do
            kill -0 $pid 2>/dev/null || break
            sleep 0.01
        done
        kill -INT $pid || true
        wait $pid || true
    done
    update --out got --quiet
    jq -S 'del(.training, .updates.seconds, .updates.longest, .updates.cpu)' want/updates.jsonl >a
    jq -S 'del(.training, .updates.seconds, .updates.longest, .updates.cpu)' got/updates.jsonl >b
    cmp a b
    for args in "--methods msp" "--ratios 0.5" "--variants radius=1" "--every 0" "--from 2" "more"; do
        run_apart update --out got $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
    run_apart lab run --out got --every 3
    [ "$status" -eq 2 ]
    run_apart update --out got --from 0.9 --to 0.5
    [ "$status" -ne 0 ]
    has "$complaint" "from 0.9 to 0.5 of the classes"
    run_apart update --out got --epochs 3
    [ "$status" -ne 0 ]
    has "$complaint" "other settings"
}

@test "a class called open is refused, as train does" {
    sed -i 's/class2/open/' data/toy/train.tsv
    run_apart lab run --out out --methods msp
    [ "$status" -eq 1 ]
    has "$complaint" 'train.tsv: a class is called "open"'
}

@test "a page is not written over the results" {
    lab run --out out --methods msp --quiet
    cp out/runs.jsonl keep
    run_apart "$rf" lab report out -o out/runs.jsonl
    [ "$status" -eq 2 ]
    cmp keep out/runs.jsonl
}

@test "wrong usage, missing and bad data" {
    run_apart "$rf" lab run
    [ "$status" -eq 2 ]
    has "$complaint" "wanted --data DIR"
    run_apart "$rf" lab run --data data --out out --sets nowhere --encoder "$tiny"
    [ "$status" -eq 1 ]
    has "$complaint" "data/nowhere: no train.tsv"
    run_apart lab run --out out --methods magic
    [ "$status" -eq 2 ]
    has "$complaint" 'no method "magic"'
    run_apart lab run --out data/toy/test.tsv
    [ "$status" -eq 1 ]
    lab run --out out --quiet
    for file in out/cache/*.st; do printf x | dd of="$file" bs=1 seek=400 conv=notrunc status=none; done
    run_apart lab run --out out --seeds 0 --methods ovr
    [ "$status" -eq 1 ]
    has "$complaint" "out/cache/"
}

@test "discover: clusters with the number given and found; the same again" {
    run_apart lab discover --out out --seeds 0-1 --threads 1
    echo "$complaint"
    [ "$status" -eq 0 ]
    [ "$(wc -l <<<"$output")" -eq 5 ]
    [ "$(grep -c 'given' <<<"$output")" -eq 2 ]
    # 16 of the 20 test rows are of a class; 4 classes, 2 of them known
    [ "$(jq -s 'map(select(.texts == 16 and .unknown_texts == 8 and .classes == 4 and .known == 2)) | length' out/discover.jsonl)" -eq 2 ]
    [ "$(jq -s 'map(select(.all.accuracy >= 25 and .all.accuracy <= 100)) | length' out/discover.jsonl)" -eq 2 ]
    cp out/discover.jsonl before
    rm -r out
    lab discover --out out --seeds 0-1 --threads 3 >/dev/null
    cmp before out/discover.jsonl
    run_apart lab discover --out out --variants rho=1
    [ "$status" -eq 2 ]
    run_apart "$rf" lab discover --data data
    [ "$status" -eq 2 ]
}

@test "loop: a line per round until nothing is left; the same again; a table" {
    labelled 40 >data/toy/train.tsv
    run_apart lab loop --out out --batch 40 --threads 1
    echo "$output$complaint"
    [ "$status" -eq 0 ]
    head -1 <<<"$output" | grep -q '^set.ratio.seed.round.texts.labels'
    # two of four classes are known; eight of the forty rows of each come later, and all of the others
    [ "$(jq -s -c 'map([.round, .texts, .first_classes, .all_classes])[0:4]' out/loop.jsonl)" = \
        '[[0,0,2,4],[1,40,2,4],[2,80,2,4],[3,96,2,4]]' ]
    [ "$(jq -s 'map(.round) == [range(length)] and (map(.last) | index(true)) == length - 1' out/loop.jsonl)" = true ]
    [ "$(jq -s 'last | .trained.f1 > 0 and .labels > 0 and .rows >= .labels and .classes > 2' out/loop.jsonl)" = true ]
    [ "$(wc -l <<<"$output")" -eq $(($(wc -l <out/loop.jsonl) + 1)) ]
    cp out/loop.jsonl before
    run_apart lab loop --out out --batch 40
    [ "$status" -eq 0 ]
    cmp before out/loop.jsonl
    head -2 before >out/loop.jsonl # as if killed in round 2
    lab loop --out out --batch 40 --threads 3 >again
    jq -S 'del(.seconds, .threads)' before >a
    jq -S 'del(.seconds, .threads)' out/loop.jsonl >b
    cmp a b
    "$rf" lab table out --which loop >table
    grep -q "toy, trained on 2 of 4 classes (50 %), seed 0" table
    [ "$(grep -cE '^[0-9]+ ' table)" -eq "$(wc -l <before)" ]
    for wrong in "--methods ans" "--dry-run" "--from 0.5" "--batch 0" "--labels 0"; do
        run_apart lab loop --out out $wrong
        [ "$status" -eq 2 ]
    done
    run_apart lab run --out out --labels 5
    [ "$status" -eq 2 ]
}

@test "run --shard: every run in one part, those that share stage 1 together" {
    plan() { lab run --out none --seeds 0-4 --methods msp,ans,doc --dry-run "$@" | grep '^toy' | cut -f 1; }
    plan >all
    [ "$(wc -l <all)" -eq 15 ]
    for i in 1 2 3; do plan --shard $i/3 >part.$i; done
    cat part.1 part.2 part.3 | sort | cmp - <(sort all)
    for i in 1 2 3; do # msp and ans of a seed share stage 1, doc has its own
        cmp <(sed -n 's/ msp .*//p' part.$i | sort) <(sed -n 's/ ans .*//p' part.$i | sort)
        [ "$(wc -l <part.$i)" -gt 3 ]
    done
    plan --shard 1/1 | cmp - all
    run lab run --out none --shard 20/20 --dry-run
    [ "$status" -eq 0 ]
    has "$output" "0 runs"
    for bad in 0/3 4/3 3 /3 1/ 1/0 -1/3 1/3x 1/99999999999 ' 1/3'; do
        run_apart lab run --out none --shard "$bad" --dry-run
        [ "$status" -eq 2 ]
        has "$complaint" "wanted I/N"
    done
    run_apart "$rf" lab table none --shard 1/2
    [ "$status" -eq 2 ]
    [ ! -e none ]
}

@test "merge: the parts give what one machine gives" {
    figures() { jq -S 'del(.seconds, .shared_known)' "$1/runs.jsonl" | jq -cs 'sort_by(.seed, .method)'; }
    lab run --out want --seeds 0-1 --methods msp,ans --quiet
    lab run --out one --seeds 0-1 --methods msp,ans --quiet --shard 1/2
    lab run --out two --seeds 0-1 --methods msp,ans --quiet --shard 2/2
    run_apart "$rf" lab merge two one --out all
    [ "$status" -eq 0 ]
    has "$complaint" "4 runs"
    cmp <(figures want) <(figures all)
    cp all/runs.jsonl before # twice is harmless, and the order does not matter
    "$rf" lab merge one two one --out all --quiet
    cmp before all/runs.jsonl
    "$rf" lab table want >a
    "$rf" lab table all >b
    cmp a b
}

@test "merge refuses what does not belong together, and changes nothing then" {
    lab run --out one --methods msp --quiet
    cp -r one two
    jq -c ".accuracy = 1.5" one/runs.jsonl >two/runs.jsonl
    mkdir all empty
    echo '{' >all/other
    run_apart "$rf" lab merge one two --out all
    [ "$status" -eq 2 ]
    has "$complaint" 'run "toy 0.5 seed 0 msp' && has "$complaint" "is in one and in two"
    [ ! -e all/runs.jsonl ]
    run_apart "$rf" lab merge one empty --out all
    [ "$status" -eq 1 ]
    has "$complaint" "empty/runs.jsonl: found no runs"
    run_apart "$rf" lab merge one
    [ "$status" -eq 2 ]
    has "$complaint" "wanted --out"
    run_apart "$rf" lab merge --out all
    [ "$status" -eq 2 ]
    cp one/runs.jsonl all/
    run_apart "$rf" lab merge two --out all
    [ "$status" -eq 2 ]
    cmp one/runs.jsonl all/runs.jsonl
}
