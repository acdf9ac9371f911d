#!/usr/bin/env bats
# ringfence train: what it reads, what it says, what it writes, how it stops

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
    labelled 12 >data.tsv
}

@test "train, predict, eval, inspect: the round trip" {
    run_apart "$rf" train data.tsv -o m.rf --encoder "$tiny" $quick
    echo "$complaint"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    has "$complaint" "data.tsv: 48 rows, 4 classes of 12 rows each, 18 repeated rows"
    has "$complaint" "epoch 1 of 10: loss "
    has "$complaint" "folds: 4 of 4, "
    has "$complaint" "expected   for texts like the training texts, from "
    has "$complaint" "known texts called open "
    has "$complaint" "open texts let in "
    has "$complaint" "more would help most"
    has "$complaint" "m.rf: 0.1 MB, trained in "
    [[ "$complaint" != *warning* ]]
    # it has learnt the four classes, and knows what it has not learnt
    { tail -n +2 data.tsv | cut -f1; unlabelled; } >texts
    "$rf" predict m.rf texts >answers
    [ "$(wc -l <answers)" -eq 52 ]
    [ "$(grep -cE $'^(class[1-4]|open)\t[01]\.[0-9]{4}$' answers)" -eq 52 ]
    { tail -n +2 data.tsv | cut -f2; yes open | head -n 4; } >want
    [ "$(cut -f1 answers | paste - want | awk '$1 == $2' | wc -l)" -ge 48 ]
    { cat data.tsv; unlabelled | sed $'s/$/\tsomething else/'; } >test.tsv
    run "$rf" eval m.rf test.tsv
    [ "$status" -eq 0 ]
    has "$output" "texts      52, 4 of them open"
    run "$rf" inspect m.rf
    [ "$status" -eq 0 ]
    has "$output" "classes    4"
}

@test "the same bytes for any number of threads, and every time" {
    train data.tsv --quiet -o 1.rf --threads 1
    train data.tsv --quiet -o 2.rf --threads 2
    train data.tsv --quiet --output=3.rf --threads 3
    cmp 1.rf 2.rf
    cmp 1.rf 3.rf
    train data.tsv --quiet -o other.rf --seed 1
    ! cmp -s 1.rf other.rf
}

@test "every format gives the same model" {
    train data.tsv --quiet -o want.rf
    sed 's/\t/,/' data.tsv >data.csv
    awk -F '\t' 'NR > 1 { printf "{\"label\": \"%s\", \"text\": \"%s\"}\n", $2, $1 }' data.tsv >data.jsonl
    awk -F '\t' -v OFS='\t' '{ print NR, $2, $1 }' data.tsv | sed '1s/.*/id\tkind\tmessage of it/' >columns
    tail -n +2 data.tsv >bare
    gzip -k data.tsv
    train data.csv --quiet -o csv.rf
    train data.jsonl --quiet -o jsonl.rf
    train data.tsv.gz --quiet -o gz.rf
    train --quiet -o stdin.rf - <data.tsv
    train columns --format tsv --text-column 'message of it' --label-column 2 --header yes --quiet -o columns.rf
    train bare --format tsv --header no --quiet -o bare.rf
    train data.tsv --raw-tsv --header auto --quiet -o raw.rf
    for kind in csv jsonl gz stdin columns bare raw; do
        cmp want.rf $kind.rf
    done
    run_apart train data.csv --format tsv -o bad.rf
    [ "$status" -eq 1 ]
    has "$complaint" "data.csv: line 1: found 1 column"
    run_apart train data.tsv --text-column nothing -o bad.rf
    [ "$status" -ne 0 ]
    has "$complaint" "nothing"
    [ ! -e bad.rf ]
}

@test "a separate dev set; labels that are not in the training data are reported" {
    labelled 3 >dev.tsv
    printf 'hello\tunheard of\n' >>dev.tsv
    run_apart train data.tsv --dev dev.tsv -o m.rf
    [ "$status" -eq 0 ]
    has "$complaint" "dev.tsv: 13 rows, 5 classes of 1 to 3 rows"
    has "$complaint" "1 row not used: its label is not in the training data"
    "$rf" inspect --json m.rf >m.json
    [ "$(json_file m.json '[v.summary.rows, v.summary.dev_rows, v.summary.dev_unknown]')" = 48,12,1 ]
    # none at all: nothing is said about a dev accuracy
    run_apart train data.tsv --dev-share 0 -o none.rf --log-json none.log
    [ "$status" -eq 0 ]
    has "$complaint" "epoch 10 of 10: loss "
    [[ "$complaint" != *"dev accuracy"* ]]
    [[ "$complaint" != *"dev texts"* ]]
    [ "$(json_lines none.log 'v.filter(e => e.stage == "known").some(e => "dev_accuracy" in e)')" = false ]
    [ "$(json_lines none.log 'v.find(e => e.stage == "trained").dev_accuracy')" = null ]
}

@test "the share of accepted dev texts is that of the model's own answers" {
    labelled 40 | awk 'NR == 1 || NR > 60' >dev.tsv
    run_apart train data.tsv --dev dev.tsv -o m.rf --log-json log
    [ "$status" -eq 0 ]
    tail -n +2 dev.tsv | cut -f1 | "$rf" predict m.rf --json >answers
    tail -n +2 dev.tsv | cut -f2 >want
    json_lines log 'v.find(e => e.stage == "trained").dev_accepted' >told
    node -e 'const fs = require("fs"), lines = f => fs.readFileSync(f, "utf8").trim().split("\n");
        const want = lines("want"), told = Number(lines("told")[0]);
        const n = lines("answers").map(l => JSON.parse(l))
            .filter((a, i) => a.accepted.some(c => c.label == want[i])).length;
        console.log(told, 100 * n / want.length);
        process.exit(Math.abs(told - 100 * n / want.length) < 1e-3 ? 0 : 1)'
}

@test "suspicious data is reported; --strict refuses it" {
    { cat data.tsv; printf 'where is my order\tclass1\nwhere is my order\tclass2\n'
      printf '   \tclass3\nq r s\trare\nq r t\tvery rare\n'; } >odd.tsv
    run_apart train odd.tsv -o m.rf
    [ "$status" -eq 0 ]
    has "$complaint" 'warning: odd.tsv: 1 row has the same text as a row with another label: row 49 (not counting a header) is "class1", row 50 is "class2": where is my order'
    has "$complaint" "warning: odd.tsv: 2 of 6 classes have fewer than 5 rows: rare, very rare"
    has "$complaint" "warning: odd.tsv: 1 text is empty"
    [ -s m.rf ]
    rm m.rf
    run_apart train odd.tsv -o m.rf --strict
    [ "$status" -eq 1 ]
    has "$complaint" "error: odd.tsv: 2 of 6 classes"
    has "$complaint" "nothing was trained"
    [[ "$complaint" != *"epoch 1"* ]]
    [ ! -e m.rf ]
    run_apart train odd.tsv -o m.rf --strict --quiet
    [ "$status" -eq 1 ]
    has "$complaint" "error: odd.tsv: 1 text is empty"
    # dropped rows
    { cat data.tsv; printf 'only a text\n'; } >dropped.tsv
    run_apart train dropped.tsv --raw-tsv -o m.rf --strict
    [ "$status" -eq 1 ]
    has "$complaint" "error: dropped.tsv: 1 row was dropped: it has more or fewer fields than the first row"
    # the dev set is looked at as well, but may have few rows of a class
    labelled 2 >dev.tsv
    train data.tsv --dev dev.tsv -o m.rf --strict
    printf ' \tclass1\n' >>dev.tsv
    run_apart train data.tsv --dev dev.tsv -o m.rf --strict
    [ "$status" -eq 1 ]
    has "$complaint" "error: dev.tsv: 1 text is empty"
}

@test "a class called open is refused" {
    { cat data.tsv; printf 'hello\topen\n'; } >open.tsv
    run_apart train open.tsv -o m.rf
    [ "$status" -ne 0 ]
    has "$complaint" 'a class "open"'
    [ ! -e m.rf ]
}

@test "--quiet prints nothing" {
    run_apart train data.tsv -o m.rf --quiet
    [ "$status" -eq 0 ]
    [ -z "$output$complaint" ]
    { cat data.tsv; printf ' \tclass3\nq r s\trare\n'; } >odd.tsv
    run_apart train odd.tsv -o m.rf --quiet
    [ "$status" -eq 0 ]
    [ -z "$output$complaint" ]
}

@test "heads alone, as published: progress, dev texts" {
    run_apart train data.tsv -o m.rf --method heads
    [ "$status" -eq 0 ]
    has "$complaint" "heads: 4 of 4, loss "
    has "$complaint" "dev accuracy among the known classes: "
    has "$complaint" "dev texts accepted by the head of their class: "
    [[ "$complaint" != *expected* ]]
}

@test "heads that reject their own class's texts are named" {
    # every text of two classes is the same: no head can accept one and reject the other
    { labelled 12; for i in $(seq 12); do printf 'hello\tleft\nhello\tright\n'; done; } >twins.tsv
    run_apart train twins.tsv -o m.rf --method heads
    [ "$status" -eq 0 ]
    "$rf" inspect --json m.rf >m.json
    weak=$(json_file m.json 'v.summary.heads.filter(h => h.recall < 0.5).map(h => h.label).join(", ")')
    echo "weak: $weak"
    if [ -n "$weak" ]; then
        [[ "$complaint" =~ accepts?\ less\ than\ half\ of\ the\ training\ texts\ of\ (its|their)\ own\ class:\ "$weak" ]]
    else
        [[ "$complaint" != *"less than half"* ]]
    fi
    # one step learns nothing much
    run_apart train data.tsv -o m.rf --method heads --head-steps 1 --head-rate 1e-8
    "$rf" inspect --json m.rf >m.json
    weak=$(json_file m.json 'v.summary.heads.filter(h => h.recall < 0.5).map(h => h.label).join(", ")')
    echo "weak: $weak"
    [ -n "$weak" ]
    [[ "$complaint" =~ of\ 4\ heads\ accepts?\ less\ than\ half\ of\ the\ training\ texts\ of\ (its|their)\ own\ class:\ "$weak" ]]
}

@test "--log-json: one valid object per line" {
    train data.tsv -o m.rf --quiet --log-json log --dev-share 0.1
    [ "$(json_lines log 'v.map(e => e.stage).filter((s, i, a) => s != a[i - 1])')" = data,encode,folds,known,features,open,map,trained,written ]
    [ "$(json_lines log 'v.filter(e => e.stage == "known").map(e => e.epoch)')" = 1,2,3,4,5,6,7,8,9,10 ]
    [ "$(json_lines log 'v.filter(e => e.stage == "known").every(e => e.epochs == 10 && e.loss > 0 && e.dev_accuracy >= 0 && e.dev_accuracy <= 100 && e.seconds > 0)')" = true ]
    [ "$(json_lines log 'v.find(e => e.stage == "data").rows')" -eq 48 ]
    [ "$(json_lines log 'v.at(-1).bytes')" -eq "$(wc -c <m.rf)" ]
    run_apart train data.tsv -o m.rf --log-json no/such/log
    [ "$status" -eq 1 ]
    has "$complaint" "no/such/log: cannot open: No such file or directory"
}

@test "a full disk under the log is reported, and the model is still written" {
    [ -e /dev/full ] || skip "no /dev/full"
    run_apart train data.tsv -o m.rf --log-json /dev/full
    [ "$status" -eq 1 ]
    has "$complaint" "/dev/full: cannot write"
    "$rf" inspect m.rf >/dev/null
}

@test "an output that cannot be written is reported before training" {
    mkdir dir
    mkfifo fifo
    for output in no/such/dir/m.rf dir fifo /proc/m.rf /dev/null; do
        run_apart train data.tsv -o "$output"
        [ "$status" -eq 1 ]
        has "$complaint" "$output"
        [[ "$complaint" != *epoch* ]]
    done
    [ -c /dev/null ]
    [ -z "$(ls dir)" ]
    # not over its own data
    cp data.tsv keep
    run_apart train data.tsv -o ./data.tsv
    [ "$status" -eq 2 ]
    has "$complaint" "would overwrite"
    cmp data.tsv keep
    # an old model stays if training fails
    train data.tsv -o m.rf --quiet
    cp m.rf old.rf
    run_apart train data.tsv -o m.rf --encoder no/such/encoder
    [ "$status" -eq 1 ]
    cmp m.rf old.rf
    [ "$(ls | tr '\n' ' ')" = "data.tsv dir fifo keep m.rf old.rf stderr " ]
}

@test "wrong usage" {
    wrong() { # words of the complaint, arguments...
        local words=$1
        shift
        run_apart "$rf" train "$@"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        has "$complaint" "$words"
    }
    wrong "which data?"
    wrong "no output file; wanted -o MODEL" data.tsv
    wrong "cannot be written to standard output" data.tsv -o -
    wrong "only one of DATA, --dev and --open-texts can be standard input" - --dev - -o m.rf
    wrong "--map-points" data.tsv -o m.rf --map-points 100001
    wrong "--map-points" data.tsv -o m.rf --map-points many
    wrong "--resume needs --checkpoint" data.tsv -o m.rf --resume
    wrong "--no-features" data.tsv -o m.rf --no-features --keep-examples
    wrong "contradict" data.tsv -o m.rf --no-examples --keep-examples
    wrong "no option --speed" data.tsv --speed 9
    wrong "no option -q" data.tsv -q
    wrong "no option -oops" data.tsv -oops
    wrong "--output needs a value" data.tsv -o
    for x in -0.1 0.91 nan inf 0x1 "" " 0.1" 0.1x 1e; do
        wrong "--dropout is \"$x\", wanted a number from 0 to 0.9" data.tsv -o m.rf --dropout "$x"
    done
    wrong '--dev-share is "0.6", wanted a number from 0 to 0.5' data.tsv -o m.rf --dev-share 0.6
    wrong '--gamma is "0.5", wanted a number from 1 to 1e+06' data.tsv -o m.rf --gamma 0.5
    wrong '--epochs is "0", wanted a whole number from 1' data.tsv -o m.rf --epochs=0
    wrong '--format is "xml"' data.tsv -o m.rf --format xml
    wrong "train_layers" data.tsv -o m.rf --encoder "$tiny" --train-layers 3
    [ ! -e m.rf ]
}

@test "numeric options reach the model's settings" {
    train data.tsv --quiet -o m.rf --epochs 3 --batch 7 --patience 2 --train-layers 1 \
        --encoder-rate 0.25 --known-rate 5e-1 --dropout .5 --max-tokens 9 --dev-share 0.25 \
        --seed 9223372036854775807 --head-steps 8 --positives 3 --negatives 5 --head-rate 0.125 \
        --head-dropout 0.0625 --lambda 2 --rho 3 --radius 4 --gamma 5 --ascent-steps 6 \
        --ascent-rate 0.75 --no-noise --no-projection --cache-mb 0 \
        --fence-reject 0.2 # no folds, which would rather not tune at such a rate
    "$rf" inspect --json m.rf >m.json
    [ "$(json_file m.json 'const k = v.settings.known; [v.settings.max_tokens, v.settings.dev_share, k.train_layers, k.epochs, k.batch, k.patience, k.encoder_rate, k.known_rate, k.dropout]')" = "9,0.25,1,3,7,2,0.25,0.5,0.5" ]
    [ "$(json_file m.json 'const o = v.settings.open; [o.steps, o.positives, o.negatives, o.rate, o.dropout, o.lambda, o.rho, o.radius, o.gamma, o.ascent_steps, o.ascent_rate, o.noise, o.projection]')" = "8,3,5,0.125,0.0625,2,3,4,5,6,0.75,false,false" ]
    grep -q '"seed": 9223372036854775807' m.json
    # defaults in the help are those of the library
    run "$rf" train --epochs 3 --rho 77 --help all
    [ "$status" -eq 0 ]
    train data.tsv --quiet -o d.rf
    "$rf" inspect --json d.rf >d.json
    for pair in train-layers:known.train_layers rho:open.rho gamma:open.gamma positives:open.positives seed:seed; do
        value=$(json_file d.json "v.settings.${pair#*:}")
        tr -s ' \n' ' ' <<<"$output" | grep -qE -- "--${pair%:*} [NX] [^(]*\(default $value\)"
    done
}

@test "bad data and bad encoders" {
    run_apart train nothing.tsv -o m.rf
    [ "$status" -eq 1 ]
    has "$complaint" "nothing.tsv: cannot open: No such file or directory"
    : >empty.tsv
    run_apart train empty.tsv -o m.rf
    [ "$status" -eq 1 ]
    has "$complaint" "empty.tsv: empty"
    head -c 100000 /dev/urandom >garbage.tsv
    run_apart train garbage.tsv -o m.rf
    [ "$status" -eq 1 ]
    [ -n "$complaint" ]
    run_apart "$rf" train data.tsv -o m.rf --encoder .
    [ "$status" -eq 1 ]
    has "$complaint" "config.json"
    [ ! -e m.rf ]
}

@test "texts of any bytes can be trained on" {
    { cat data.tsv; for i in 1 2 3 4 5; do printf 'a\xff\xfe%s \xe2\x82\tclass1\n' $i; done; } >bytes.tsv
    train bytes.tsv -o m.rf --quiet --encoding bytes
    printf 'a\xff\xfe1 \xe2\x82\n' | "$rf" predict m.rf --json --text --explain 1 >out
    [ "$(json_lines out 'v[0].text == "a\ufffd\ufffd1 \ufffd" && v[0].neighbours[0].text == v[0].text')" = true ]
}

@test "--slim, --no-features and --no-examples: what a model contains" {
    train data.tsv -o full.rf --quiet
    train data.tsv -o old.rf --quiet --keep-examples # accepted, and changes nothing
    cmp full.rf old.rf
    train data.tsv -o usual.rf --quiet --no-examples
    train data.tsv -o small.rf --quiet --no-features
    [ "$(wc -c <full.rf)" -gt "$(wc -c <usual.rf)" ]
    [ "$(wc -c <usual.rf)" -gt "$(wc -c <small.rf)" ]
    unlabelled >texts
    cp -r "$tiny" encoder
    train data.tsv -o slim.rf --quiet --encoder ./encoder --slim
    [ "$(wc -c <slim.rf)" -lt "$(wc -c <usual.rf)" ]
    for model in full usual small slim; do
        "$rf" predict $model.rf texts >$model.out
        cmp full.out $model.out
    done
    run "$rf" inspect full.rf
    has "$output" "kept       features and texts of 48 training rows, a map of 48"
    run "$rf" inspect usual.rf
    has "$output" "kept       features of 48 training rows, a map of 48"
    run "$rf" inspect small.rf
    has "$output" "kept       nothing of the training data"
    run "$rf" inspect slim.rf
    has "$output" "/encoder, not contained"
    # without its encoder a slim model is of no use, and says so
    rm -r encoder
    run_apart "$rf" predict slim.rf texts
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    has "$complaint" "slim.rf"
    has "$complaint" "/encoder"
}

@test "a map of the training texts: as many points as requested" {
    train data.tsv -o all.rf --quiet --log-json log
    [ "$(json_lines log 'v.filter(e => e.stage == "map").map(e => e.done == e.total && e.total > 0)')" = true ]
    train data.tsv -o some.rf --quiet --map-points 10
    train data.tsv -o none.rf --quiet --map-points 0 --log-json log
    [ "$(json_lines log 'v.some(e => e.stage == "map")')" = false ]
    train data.tsv -o bare.rf --quiet --no-features
    for want in all:48 some:10 none:0 bare:0; do
        "$rf" inspect --json ${want%:*}.rf | tr -d '\n' >json
        [ "$(json_lines json 'v[0].kept.map')" = "${want#*:}" ]
    done
    run "$rf" inspect some.rf
    has "$output" "of 48 training rows, a map of 10"
    run "$rf" inspect none.rf
    [[ "$output" != *"a map of"* ]]
    unlabelled >texts # and nothing else is different
    "$rf" predict all.rf texts >all.out
    "$rf" predict none.rf texts >none.out
    cmp all.out none.out
}

@test "a file opened later does not take the place of a closed standard stream" {
    train data.tsv --quiet -o want.rf
    "$rf" train data.tsv --encoder "$tiny" $quick -o m.rf --log-json log 2>&-
    cmp want.rf m.rf
    [ "$(json_lines log 'v.at(-1).stage')" = written ]
    run_apart sh -c '"$0" predict m.rf data.tsv >&-' "$rf"
    [ "$status" -eq 1 ]
    has "$complaint" "Bad file descriptor"
}

@test "outputs overwrite neither inputs nor each other" {
    cp data.tsv keep
    labelled 3 >dev.tsv
    for wrong in "data.tsv -o m.rf --log-json data.tsv" "data.tsv --dev dev.tsv -o m.rf --log-json dev.tsv" \
        "data.tsv -o data.tsv" "- -o data.tsv" "data.tsv -o new --log-json new" "data.tsv -o ck --checkpoint ck"; do
        run_apart "$rf" train $wrong --encoder "$tiny" <data.tsv
        echo "$wrong: $complaint"
        [ "$status" -eq 2 ]
        cmp data.tsv keep
        [ "$(ls | tr '\n' ' ')" = "data.tsv dev.tsv keep stderr " ]
    done
    run_apart "$rf" tune data.tsv -o s.json --log-json data.tsv --encoder "$tiny"
    [ "$status" -eq 2 ]
    cmp data.tsv keep
    run_apart "$rf" train data.tsv -o "" --encoder "$tiny"
    [ "$status" -eq 2 ]
    has "$complaint" "empty name"
}

@test "likely mistakes in the data: an unknown header, a dev set with other labels" {
    { printf 'message_text\ttopic\n'; tail -n +2 data.tsv; } >head.tsv
    run_apart train head.tsv -o m.rf
    [ "$status" -eq 0 ]
    has "$complaint" "1 of 5 classes has fewer than 5 rows: topic (the first row; if it names the columns, give --header yes)"
    run_apart train head.tsv -o m.rf --header yes --text-column message_text --label-column topic
    [[ "$complaint" != *"warning"* ]]
    sed 's/class/zzz/' data.tsv >dev.tsv
    rm -f m.rf
    run_apart train data.tsv --dev dev.tsv -o m.rf
    [ "$status" -eq 1 ]
    has "$complaint" 'dev.tsv: none of its labels is in the training data; found labels like "zzz1", wanted labels like "class1"'
    [ ! -e m.rf ]
}

@test "a replaced file keeps its permissions; terminal control characters are removed" {
    train data.tsv -o m.rf --quiet
    chmod 600 m.rf
    train data.tsv -o m.rf --quiet --dev data.tsv
    [ "$(stat -c %a m.rf)" = 600 ]
    run_apart train data.tsv -o m.rf --dev data.tsv
    has "$complaint" "warning: data.tsv: training and dev texts are the same"
    { cat data.tsv; printf 'where \xc2\x9b31m\tclass1\nwhere \xc2\x9b31m\tclass2\n'; } >odd.tsv
    run_apart train odd.tsv -o m.rf
    has "$complaint" "where   31m"
    run_apart train $'no\xc2\x9bfile' -o m.rf
    has "$complaint" "no??file"
}

@test "training continues when the reader of its progress goes away" {
    "$rf" train data.tsv --encoder "$tiny" $quick -o m.rf 2> >(head -n 1 >first)
    train data.tsv -o want.rf --quiet
    cmp m.rf want.rf
}

# ---- Stopping ----

train_until() { # times, stage, signal, arguments...
    interrupted "$1" "$2" "$3" "$rf" train data.tsv --encoder "$tiny" $quick $long -o stopped.rf "${@:4}"
}

@test "interrupted without a checkpoint: stops cleanly and suggests --checkpoint" {
    long="--epochs 5000 --patience 5000 --batch 4 --method heads"
    train_until 2 known INT
    [ "$code" -eq 130 ]
    has "$complaint" "stopped; nothing was saved (--checkpoint DIR would have saved"
    train_until 2 known TERM
    [ "$code" -eq 143 ]
    train_until 2 known HUP
    [ "$code" -eq 129 ]
    [ ! -e stopped.rf ]
    [ "$(ls | tr '\n' ' ')" = "data.tsv log stderr " ]
    long="--epochs 5000 --batch 4" # stopped in the folds before stage 1
    train_until 1 folds INT
    [ "$code" -eq 130 ]
    [ ! -e stopped.rf ]
}

# Of the process $pid: does it catch SIGINT, and is there one that has not reached it yet?
catches_int() {
    (((0x$(sed -n 's/^SigCgt:\t//p' /proc/$pid/status) & 2) != 0))
}
int_waits() {
    local set
    set=$(sed -n 's/^ShdPnd:\t//p' /proc/$pid/status 2>/dev/null)
    (((0x${set:-0} & 2) != 0))
}

# A training that waits forever, to write its log into a full pipe, cannot stop cleanly.
@test "a signal sent twice at once is one stop request; a later one ends the program" {
    mkfifo log
    exec 7<>log
    while :; do
        env --default-signal=INT "$rf" train data.tsv --encoder "$tiny" $quick --method heads --epochs 100000 \
            --patience 100000 --threads 1 -o stopped.rf --log-json log 2>stderr 7>&- &
        pid=$!
        until catches_int && [ "$(cut -d ' ' -f 3 /proc/$pid/stat)" = S ]; do # all that it waits for
            kill -0 $pid
            sleep 0.05
        done
        begin=${EPOCHREALTIME//[.,]/}
        kill -INT $pid
        while int_waits; do :; done
        kill -INT $pid
        while int_waits; do :; done
        # again if we were so slow that the second one counts as a later one
        [ $((${EPOCHREALTIME//[.,]/} - begin)) -ge 450000 ] || break
        kill -KILL $pid 2>/dev/null || true
        wait $pid || true
    done
    sleep 0.6 # a later one is one after half a second or more
    kill -0 $pid
    kill -INT $pid
    code=0
    wait $pid || code=$?
    exec 7>&-
    [ "$code" -eq 130 ]
    [ "$(grep -c stopped stderr)" -eq 0 ]
    [ ! -e stopped.rf ]
}

# As train_until with a checkpoint, which stops in the stage itself: again, from the same
# checkpoint, if the signal came too late for that.
stopped_in() { # times, stage, signal, words of the complaint as a regular expression, arguments...
    local words=$4 try
    rm -rf kept
    [ ! -e ck ] || cp -r ck kept
    for try in $(seq 50); do
        train_until "$1" "$2" "$3" --checkpoint ck "${@:5}"
        [[ ! "$complaint" =~ $words ]] || return 0
        rm -rf ck stopped.rf
        [ ! -e kept ] || cp -r kept ck
    done
    return 1
}

@test "interrupted with a checkpoint and resumed: the same bytes" {
    { labelled 8; for c in $(seq 32); do for i in 1 2 3; do printf 'fence %s text %s\tmore%s\n' $c $i $c; done; done; } >data.tsv
    long="--epochs 100 --patience 100 --batch 8 --head-steps 80 --method heads"
    train data.tsv $long -o want.rf --quiet
    stopped_in 3 known INT "stopped; ck holds [0-9]+ of 100 epochs: the same command with --resume"
    [ "$code" -eq 130 ]
    [ ! -e stopped.rf ]
    # without --resume it is not overwritten
    run_apart train data.tsv $long -o x.rf --checkpoint ck
    [ "$status" -ne 0 ]
    has "$complaint" "ck: holds the checkpoint of an earlier training"
    # another training does not take it for its own
    run_apart train data.tsv $long --seed 1 -o x.rf --checkpoint ck --resume
    [ "$status" -ne 0 ]
    has "$complaint" "made by another training: seed was 0, is now 1"
    stopped_in 1 open TERM "stopped; ck holds stage 1 and " --resume --threads 1
    [ "$code" -eq 143 ]
    train data.tsv $long -o got.rf --checkpoint ck --resume --quiet --threads 2
    cmp want.rf got.rf
    # a finished checkpoint gives the model again
    train data.tsv $long -o again.rf --checkpoint ck --resume --quiet
    cmp want.rf again.rf
}

@test "examples of open texts: --open-label, --open-texts, and labels that look like them" {
    { cat data.tsv; for i in $(seq 30); do printf 'zebra %s moon\tOut-of-scope\nriver %s cloud\tnone\n' $i $i; done; } >mixed.tsv
    run_apart train mixed.tsv -o m.rf
    [ "$status" -eq 0 ]
    has "$complaint" '30 rows have the label "Out-of-scope": if it means none of the classes, give --open-label "Out-of-scope"'
    has "$complaint" '30 rows have the label "none"'
    [ "$("$rf" inspect --json m.rf | jq -c .labels)" = '["Out-of-scope","class1","class2","class3","class4","none"]' ]
    run_apart train mixed.tsv -o m.rf --open-label Out-of-scope --open-label none
    echo "$complaint"
    [ "$status" -eq 0 ]
    [[ "$complaint" != *warning* ]]
    has "$complaint" "mixed.tsv: 48 rows, 4 classes of 12 rows each"
    has "$complaint" "60 open texts"
    has "$complaint" "if they are like your open texts"
    "$rf" inspect --json m.rf >m.json
    [ "$(jq -c '[.labels, .summary.open_texts, .summary.expected.open_texts]' m.json)" = '[["class1","class2","class3","class4"],60,60]' ]
    # the same rows from a file, whatever the number of threads
    grep -E 'zebra|river' mixed.tsv | cut -f1 >open.txt
    train data.tsv --open-texts open.txt --quiet -o file.rf --threads 1
    train mixed.tsv --open-label none --open-label Out-of-scope --quiet -o label.rf --threads 3
    "$rf" predict file.rf --json open.txt >a
    "$rf" predict label.rf --json open.txt >b
    cmp a b
    # they are learnt as open
    [ "$("$rf" predict file.rf open.txt | cut -f1 | grep -cx open)" -ge 50 ]
    run_apart train mixed.tsv -o x.rf --open-label nothing
    [ "$status" -eq 2 ]
    has "$complaint" 'mixed.tsv: no row has the label "nothing" of --open-label; found labels like "Out-of-scope"'
    run_apart train data.tsv -o x.rf --method msp --open-texts open.txt
    [ "$status" -eq 2 ]
    has "$complaint" "method msp does not use texts of no class"
    [ ! -e x.rf ]
}

@test "a limit on the size of files is an error, and leaves nothing behind" {
    mkdir limited
    limited() { # command...
        run_apart bash -c 'ulimit -f 4; exec "$@"' - "$@"
        [ "$status" -eq 1 ]
        has "$complaint" "File too large"
        [ -z "$(ls limited)" ]
    }
    train data.tsv -o whole.rf --quiet --epochs 1 --head-steps 5
    limited "$rf" train data.tsv --encoder "$tiny" --quiet --epochs 1 --head-steps 5 -o limited/model.rf
    limited "$rf" report whole.rf data.tsv -o limited/report.html
    limited "$rf" encoder import "$root/tests/golden/tiny/onnx/model.onnx" limited/encoder
}
