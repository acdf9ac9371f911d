#!/usr/bin/env bats

load helpers

@test "ids of each line, specials included" {
    run bash -c "printf 'ab c\n\nz' | '$rf' tokenize --encoder '$tiny'"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 3 ] # a last line without LF counts
    [ "${lines[1]}" = "2 3" ]
    run bash -c "printf 'ab c\n\nz' | '$rf' tokenize --encoder '$tiny' --tokens -"
    has "${lines[0]}" "[CLS] "
    [ "${lines[1]}" = "[CLS] [SEP]" ]
    [ "${lines[2]}" = "[CLS] z [SEP]" ]
}

@test "lines end at LF only" {
    run bash -c "printf 'a\rb\x0bc\xe2\x80\xa8d\x85e\n' | '$rf' tokenize --encoder '$tiny' | wc -l"
    [ "$output" -eq 1 ]
}

@test "empty input gives empty output" {
    run_apart "$rf" tokenize --encoder "$tiny" /dev/null
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ -z "$complaint" ]
}

@test "max-tokens truncates and keeps [SEP]" {
    run bash -c "echo 'a b c d' | '$rf' tokenize --tokens --max-tokens 4 --encoder '$tiny'"
    [ "$output" = "[CLS] a b [SEP]" ]
}

@test "real vocabulary, by catalogue name and by default" {
    need_encoder minilm
    run bash -c "echo \"Don't panic, it's only tokenisation!\" | '$rf' tokenize"
    [ "$output" = "101 2123 1005 1056 6634 1010 2009 1005 1055 2069 19204 6648 999 102" ]
}

@test "a hundred megabytes without a newline, in little memory" {
    # 300 MB of address space is less than the line and its ids would take.
    run bash -c "ulimit -v 300000; { yes 'ab c' | tr '\n' ' ' | head -c 100000000; } 2>/dev/null | '$rf' tokenize --encoder '$tiny' | wc -lc"
    [ "$status" -eq 0 ]
    read -r n_lines n_bytes <<<"$output"
    [ "$n_lines" -eq 1 ]
    [ "$n_bytes" -gt 100000000 ]
}

@test "missing files and encoders are named in the message" {
    run_apart "$rf" tokenize --encoder "$tiny" no-such-file
    [ "$status" -eq 1 ]
    has "$complaint" "no-such-file: cannot open: No such file or directory"
    run_apart "$rf" tokenize --encoder no-such-encoder
    [ "$status" -eq 1 ]
    has "$complaint" "no-such-encoder: neither a directory nor an encoder of the catalogue"
    run_apart "$rf" tokenize --encoder "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    has "$complaint" "found neither tokenizer.json nor vocab.txt"
    run_apart "$rf" tokenize --encoder "$tiny" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    has "$complaint" "Is a directory"
}

@test "a full disk is reported" {
    [ -e /dev/full ] || skip "no /dev/full"
    run bash -c "yes hello | head -n 100000 | '$rf' tokenize --encoder '$tiny' 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    has "$output" "standard output: cannot write: No space left on device"
}
