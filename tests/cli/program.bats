#!/usr/bin/env bats
# The program as a whole: help, version, wrong usage, exit codes

load helpers

@test "help lists every command, and each command has its own" {
    run "$rf" --help
    [ "$status" -eq 0 ]
    for command in tokenize embed encoder; do
        has "$output" "$command"
    done
    for command in tokenize embed encoder; do
        run "$rf" "$command" --help
        [ "$status" -eq 0 ]
        has "$output" "usage: ringfence $command"
    done
}

@test "version names the kernels" {
    run "$rf" --version
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^ringfence\ [0-9]+\.[0-9]+\.[0-9]+\ \((avx2|portable)\ kernels\)$ ]]
    run env RINGFENCE_KERNELS=portable "$rf" --version
    has "$output" "(portable kernels)"
}

@test "wrong usage is told on stderr and exits 2" {
    run_apart "$rf" frobnicate
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    has "$complaint" 'no command "frobnicate"'
    run_apart "$rf"
    [ "$status" -eq 2 ]
    run_apart "$rf" embed --colour red
    [ "$status" -eq 2 ]
    has "$complaint" "no option --colour"
    run_apart "$rf" embed -x
    [ "$status" -eq 2 ]
    run_apart "$rf" embed --threads
    [ "$status" -eq 2 ]
    has "$complaint" "--threads wants a value"
    for n in 0 -1 1.5 two 99999999999999999999 ""; do
        run_apart "$rf" embed --threads "$n"
        [ "$status" -eq 2 ]
        has "$complaint" "--threads is \"$n\", wanted a whole number from 1 to 256"
    done
    run_apart "$rf" embed --pooling max
    [ "$status" -eq 2 ]
    has "$complaint" '--pooling is "max", wanted one of: mean, cls'
    run_apart "$rf" tokenize --tokens=yes
    [ "$status" -eq 2 ]
    run_apart "$rf" tokenize a b
    [ "$status" -eq 2 ]
    has "$complaint" 'one argument too many: "b"'
}

@test "man pages come from the same tables and are well-formed" {
    for command in "" tokenize embed encoder; do
        "$rf" $command --help-man >"$BATS_TEST_TMPDIR/page.1"
        run man --warnings -l "$BATS_TEST_TMPDIR/page.1"
        [ "$status" -eq 0 ]
        [[ "$output" != *"warning"* ]]
    done
    "$rf" embed --help-man | grep -q 'pooling mean|cls'
}
