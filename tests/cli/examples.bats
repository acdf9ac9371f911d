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

@test "train_in_memory is right with the default encoder" {
    need_encoder minilm
    run_apart "$root/build/examples/train_in_memory"
    [ "$status" -eq 0 ]
    has "$output" "repair"
    run_apart "$root/build/examples/train_in_memory" "what is the capital of Peru"
    has "$output" "open"
}
