#!/usr/bin/env bats
# The programs in examples/, built as a newcomer's would be

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "classify answers as ringfence predict does" {
    labelled 12 >data.tsv
    train data.tsv -o m.rf --quiet
    texts=("where is my is" "x y z z" "9 8 7 6 5" "")
    run "$root/build/examples/classify" m.rf "${texts[@]}"
    [ "$status" -eq 0 ]
    printf '%s\n' "${texts[@]}" | "$rf" predict m.rf >want
    [ "$(cut -f1,2 <<<"$output")" = "$(cat want)" ]
    has "$output" "open"
    has "$output" "(nearest: class"
    run_apart "$root/build/examples/classify" no.rf x
    [ "$status" -eq 1 ]
    has "$complaint" "classify: no.rf: cannot open: No such file or directory"
    run_apart "$root/build/examples/classify"
    [ "$status" -eq 2 ]
}

@test "train_in_memory learns, shows progress and answers" {
    run_apart "$root/build/examples/train_in_memory" "my front wheel is bent" "$tiny"
    [ "$status" -eq 0 ]
    echo "$output"
    has "$complaint" "epoch 20: loss "
    [[ "$output" =~ ^(delivery|repair|payment|open)$'\t'[01]\.[0-9]{4}$ ]]
    run_apart "$root/build/examples/train_in_memory" text no/such/encoder
    [ "$status" -eq 1 ]
    has "$complaint" "train_in_memory: "
}

@test "they build with nothing but the header and the library, and are short" {
    for example in classify train_in_memory; do
        cc -std=c11 -Wall -Wextra -Werror -pedantic -I"$root/include" "$root/examples/$example.c" \
            -L"$root/build" -lringfence -o $example
        [ "$(wc -l <"$root/examples/$example.c")" -le 80 ]
    done
}

# The rows of some classes of the sample as train, dev and test.tsv, with a few open ones in
# test.tsv; and their features with an encoder as ans_reference wants them.
sample_features() { # encoder, classes as a regular expression
    for part in train dev test; do
        local from="$root/examples/support/$part.tsv"
        { head -n 1 "$from"; grep -P "\t($2)\$" "$from"; } >$part.tsv
        [ $part != test ] || grep -P '\topen$' "$from" | head -n 40 >>test.tsv
        tail -n +2 $part.tsv | cut -f1 | "$rf" embed --encoder "$1" >features
        tail -n +2 $part.tsv | cut -f2 | paste - features >$part.features
    done
}

@test "ans_reference gives the margins of a model with a frozen encoder" {
    half=${tiny}_f16 # training rounds an encoder to half precision, embed does not
    sample_features "$half" "charged_twice|repair_status|stock_availability"
    run_apart "$root/build/examples/ans_reference" train.features dev.features test.features 16
    [ "$status" -eq 0 ]
    echo "$complaint"
    has "$complaint" "head 3 of 3, "
    [[ "$complaint" =~ accuracy\ [0-9.]+\ %,\ F1\ [0-9.]+\ %,\ open\ [0-9.]+\ % ]]
    "$rf" train train.tsv --dev dev.tsv -o m.rf --encoder "$half" --method heads --train-layers 0 --epochs 1 --head-steps 16 \
        --no-spelling --quiet
    tail -n +2 test.tsv | cut -f1 | "$rf" predict m.rf --json >want
    [ "$(wc -l <want)" -eq "$(wc -l <<<"$output")" ]
    # the same answers; margins of 4 decimals, plus what rounding becomes in some 50 steps
    node -e 'const want = require("fs").readFileSync("want", "utf8").trim().split("\n");
        process.argv[1].split("\n").forEach((line, i) => {
            const [label, margin] = line.split("\t"), w = JSON.parse(want[i]);
            if (label !== w.label || !(Math.abs(margin - w.margin) < 2e-3)) throw want[i] + line;
        })' "$output"
    # and the same figures
    eval=$("$rf" eval m.rf test.tsv)
    has "$(tr -s ' ' <<<"$eval")" "$(grep -o 'accuracy [0-9.]* %' <<<"$complaint")"
    has "$(tr -s ' ' <<<"$eval")" "$(grep -o 'F1 [0-9.]* %' <<<"$complaint")"
}

@test "ans_reference keeps the unknown out with the default encoder" {
    need_encoder minilm
    sample_features minilm "charged_twice|repair_status|stock_availability"
    run_apart "$root/build/examples/ans_reference" train.features dev.features test.features 40
    [ "$status" -eq 0 ]
    echo "$complaint"
    awk '/^accuracy/ { found = 1; exit !($2 > 85) } END { exit !found }' <<<"$complaint"
}

@test "ans_reference is one file of plain C, not too long, and says what it wants" {
    cc -std=c11 -Wall -Wextra -Werror -pedantic "$root/examples/ans_reference.c" -lm -o ans_reference
    [ "$(wc -l <"$root/examples/ans_reference.c")" -le 600 ]
    run_apart ./ans_reference
    [ "$status" -eq 1 ]
    has "$complaint" "wanted TRAIN DEV TEST [STEPS]"
    printf 'a\t1\t2\nb\t3\n' >bad
    run_apart ./ans_reference bad bad bad
    [ "$status" -eq 1 ]
    has "$complaint" "bad: wanted a label and the same number of features in every line"
}

@test "train_in_memory is right with the default encoder" {
    need_encoder minilm
    run_apart "$root/build/examples/train_in_memory"
    [ "$status" -eq 0 ]
    has "$output" "repair"
    run_apart "$root/build/examples/train_in_memory" "what is the capital of Peru"
    has "$output" "open"
}
