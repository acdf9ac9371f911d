#!/usr/bin/env bats

load helpers

setup() {
    texts="$BATS_TEST_TMPDIR/texts"
    cut -f1 "$root/examples/support/test.tsv" | tail -n +2 | head -n 150 >"$texts"
}

@test "one row of numbers per line, in order, whatever the threads" {
    "$rf" embed --encoder "$tiny" --threads 1 "$texts" >"$BATS_TEST_TMPDIR/1"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/1")" -eq 150 ]
    [ "$(awk -F '\t' '{ print NF }' "$BATS_TEST_TMPDIR/1" | sort -u)" -eq 32 ]
    for threads in 2 3 8; do
        "$rf" embed --encoder "$tiny" --threads $threads "$texts" >"$BATS_TEST_TMPDIR/n"
        cmp "$BATS_TEST_TMPDIR/1" "$BATS_TEST_TMPDIR/n"
    done
    # each line by itself, from stdin
    head -n 5 "$texts" | while IFS= read -r line; do
        printf '%s\n' "$line" | "$rf" embed --encoder "$tiny"
    done >"$BATS_TEST_TMPDIR/alone"
    cmp "$BATS_TEST_TMPDIR/alone" <(head -n 5 "$BATS_TEST_TMPDIR/1")
}

@test "npy: to a file and to a pipe, the same array as tsv" {
    "$rf" embed --encoder "$tiny" --format npy "$texts" >"$BATS_TEST_TMPDIR/file.npy"
    "$rf" embed --encoder "$tiny" --format npy "$texts" | cat >"$BATS_TEST_TMPDIR/pipe.npy"
    cmp "$BATS_TEST_TMPDIR/file.npy" "$BATS_TEST_TMPDIR/pipe.npy"
    [ "$(wc -c <"$BATS_TEST_TMPDIR/file.npy")" -eq $((128 + 150 * 32 * 4)) ]
    has "$(head -c 128 "$BATS_TEST_TMPDIR/file.npy" | tr -d '\0')" "'shape': (150, 32), "
    # the first number, read by another program
    want=$("$rf" embed --encoder "$tiny" "$texts" | head -n 1 | cut -f1)
    got=$(od -A n -t f4 -j 128 -N 4 "$BATS_TEST_TMPDIR/file.npy" | tr -d ' ')
    awk -v a="$want" -v b="$got" 'BEGIN { d = a - b; exit !(d < 1e-6 && d > -1e-6) }'
}

@test "an empty file gives an empty array" {
    "$rf" embed --encoder "$tiny" --format npy /dev/null >"$BATS_TEST_TMPDIR/e.npy"
    has "$(head -c 128 "$BATS_TEST_TMPDIR/e.npy" | tr -d '\0')" "'shape': (0, 32), "
    run "$rf" embed --encoder "$tiny" /dev/null
    [ -z "$output" ]
}

@test "long texts: one warning with a count, or read whole in windows" {
    { head -n 3 "$texts"; yes 'a b c' | head -n 30 | tr '\n' ' '; echo; yes z | head -n 90 | tr '\n' ' '; echo; } >"$BATS_TEST_TMPDIR/long"
    run_apart "$rf" embed --encoder "$tiny" "$BATS_TEST_TMPDIR/long"
    [ "$status" -eq 0 ]
    has "$complaint" "3 of 5 texts have more than 40 tokens and were truncated"
    [ "$(printf '%s\n' "$complaint" | wc -l)" -eq 1 ]
    run_apart "$rf" embed --encoder "$tiny" < <(tail -n 1 "$BATS_TEST_TMPDIR/long")
    has "$complaint" "1 of 1 text has more than 40 tokens and was truncated"
    run_apart "$rf" embed --encoder "$tiny" "$BATS_TEST_TMPDIR/long"
    cut_row=$(printf '%s\n' "$output" | tail -n 2 | head -n 1)
    run_apart "$rf" embed --encoder "$tiny" --long-text window "$BATS_TEST_TMPDIR/long"
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    [ "$(printf '%s\n' "$output" | wc -l)" -eq 5 ]
    [ "$(printf '%s\n' "$output" | tail -n 2 | head -n 1)" != "$cut_row" ]
}

@test "rows are printed while input is still open" {
    mkfifo "$BATS_TEST_TMPDIR/in"
    "$rf" embed --encoder "$tiny" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" &
    pid=$!
    exec 7>"$BATS_TEST_TMPDIR/in"
    echo hello >&7
    until_lines "$BATS_TEST_TMPDIR/out" 1 $pid
    [ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq 1 ]
    exec 7>&-
    wait $pid
}

@test "memory stays the same from 20,000 lines to 400,000" {
    for n in 20000 400000; do
        fed_memory $n "$rf" embed --encoder "$tiny" --threads 2 --layer 0 \
            < <(yes 'where is my parcel' | head -n $n)
        eval "peak_$n=$peak"
    done
    echo "20000 lines: $peak_20000 KB, 400000 lines: $peak_400000 KB"
    [ "$peak_400000" -gt 0 ]
    [ "$peak_400000" -lt $((peak_20000 + 4000)) ]
}

@test "a 100 MB line is embedded within 250 MB by the default encoder" {
    need_encoder minilm
    fed_memory 1 "$rf" embed < <(yes 'lorem ipsum' | tr '\n' ' ' | head -c 100000000; echo)
    echo "peak $peak KB"
    [ "$peak" -gt 1000 ]
    [ "$peak" -lt 250000 ]
}

@test "a full disk is reported, in both formats" {
    [ -e /dev/full ] || skip "no /dev/full"
    for format in tsv npy; do
        run bash -c "'$rf' embed --encoder '$tiny' --format $format '$texts' 2>&1 >/dev/full"
        [ "$status" -eq 1 ]
        has "$output" "No space left on device"
    done
}

@test "a directory that is no encoder is refused" {
    mkdir "$BATS_TEST_TMPDIR/enc"
    cp "$tiny"/* "$BATS_TEST_TMPDIR/enc"
    head -c 1000 "$tiny/model.safetensors" >"$BATS_TEST_TMPDIR/enc/model.safetensors"
    run_apart "$rf" embed --encoder "$BATS_TEST_TMPDIR/enc" "$texts"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    has "$complaint" "model.safetensors: header of"
    rm "$BATS_TEST_TMPDIR/enc/config.json"
    run_apart "$rf" embed --encoder "$BATS_TEST_TMPDIR/enc" "$texts"
    has "$complaint" "config.json: cannot open: No such file or directory"
}

@test "the encoder of a model: tuned, full or slim, with every option" {
    cd "$BATS_TEST_TMPDIR"
    labelled 6 >data.tsv
    train data.tsv -o full.rf --quiet --max-tokens 12
    train data.tsv -o slim.rf --quiet --max-tokens 12 --slim
    "$rf" embed --encoder full.rf "$texts" >full 2>warning
    has "$(cat warning)" "have more than 12 tokens and were truncated"
    [ "$(wc -l <full)" -eq 150 ]
    [ "$(awk -F '\t' '{ print NF }' full | sort -u)" -eq 32 ]
    "$rf" embed --encoder slim.rf --threads 1 "$texts" 2>/dev/null | cmp - full
    run cmp -s full <("$rf" embed --encoder "$tiny" --max-tokens 12 "$texts" 2>/dev/null)
    [ "$status" -eq 1 ] # its layers were tuned
    # the embeddings below them were not
    cmp <("$rf" embed --encoder full.rf --layer 0 "$texts" 2>/dev/null) \
        <("$rf" embed --encoder slim.rf --layer 0 "$texts" 2>/dev/null)
    "$rf" embed --encoder full.rf --format npy "$texts" 2>/dev/null >full.npy
    [ "$(wc -c <full.npy)" -eq $((128 + 150 * 32 * 4)) ]
    run_apart "$rf" embed --encoder full.rf --max-tokens 41 "$texts"
    [ "$status" -eq 2 ]
    has "$complaint" "40"
    run_apart "$rf" embed --encoder full.rf --layer 3 "$texts"
    [ "$status" -eq 2 ]
    has "$complaint" "layer"
    for bad in data.tsv /dev/null; do
        run_apart "$rf" embed --encoder $bad "$texts"
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        has "$complaint" "$bad"
    done
}
