#!/usr/bin/env bats
# The program as a whole: help, version, wrong usage, exit codes

load helpers

@test "help lists every command, and each command has its own" {
    run "$rf" --help
    [ "$status" -eq 0 ]
    for command in check train predict eval fence report serve store drift inspect tokenize embed encoder; do
        has "$output" "$command"
    done
    for command in check train predict eval fence report serve store drift inspect tokenize embed encoder; do
        run "$rf" "$command" --help
        [ "$status" -eq 0 ]
        has "$output" "usage: ringfence $command"
    done
}

@test "help stays within 90 columns and does not depend on the options before it" {
    for command in check train predict eval fence report serve store drift inspect tokenize embed encoder; do
        "$rf" $command --help all >"$BATS_TEST_TMPDIR/help"
        [ "$(awk 'length > 90' "$BATS_TEST_TMPDIR/help" | wc -l)" -eq 0 ]
    done
    "$rf" train --help all >"$BATS_TEST_TMPDIR/help"
    "$rf" train --gamma 3 --seed 7 --help all | cmp - "$BATS_TEST_TMPDIR/help"
    # every option with a number or a column states its default
    tr -s ' \n' ' ' <"$BATS_TEST_TMPDIR/help" | sed 's/ --/\n--/g' | grep -E '^--[a-z-]+ [NXC] ' >"$BATS_TEST_TMPDIR/numbers"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/numbers")" -ge 24 ]
    run grep -v default "$BATS_TEST_TMPDIR/numbers"
    [ -z "$output" ]
}

@test "version names the kernels" {
    run "$rf" --version
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^ringfence\ [0-9]+\.[0-9]+\.[0-9]+\ \((avx2|portable)\ kernels\)$ ]]
    run env RINGFENCE_KERNELS=portable "$rf" --version
    has "$output" "(portable kernels)"
}

@test "wrong usage is reported on stderr and exits 2" {
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
    has "$complaint" "--threads needs a value"
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
    has "$complaint" 'unexpected argument "b"'
}

@test "train --help is one screen; --help all and the man page have every option" {
    "$rf" train --help >"$BATS_TEST_TMPDIR/short"
    "$rf" train --help all >"$BATS_TEST_TMPDIR/all"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/short")" -le 50 ]
    grep -q "ringfence train --help all says more" "$BATS_TEST_TMPDIR/short"
    for option in dev method tune epochs checkpoint; do
        grep -q "^  --$option " "$BATS_TEST_TMPDIR/short"
    done
    [ "$(grep -c -- "--gamma\|--textoir\|--format\|reading labelled" "$BATS_TEST_TMPDIR/short")" -eq 0 ]
    names() { grep -oE '^  (-o, )?--[a-z-]+' "$1" | grep -oE -- '--[a-z-]+' | sort; }
    "$rf" train --help-man | sed 's/\\//g' | sed -nE 's/^\.B (-o, )?(--[a-z-]+).*/\2/p' | sort >"$BATS_TEST_TMPDIR/man"
    names "$BATS_TEST_TMPDIR/all" | cmp - "$BATS_TEST_TMPDIR/man"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/man")" -ge 70 ]
    [ -z "$(comm -23 <(names "$BATS_TEST_TMPDIR/short") "$BATS_TEST_TMPDIR/man")" ]
}

@test "help in the ways people ask for it" {
    "$rf" train --help >"$BATS_TEST_TMPDIR/want"
    for ask in "train -h" "help train" "--help train" "-h train"; do
        "$rf" $ask | cmp - "$BATS_TEST_TMPDIR/want"
    done
    "$rf" help train all | cmp - <("$rf" train --help all)
    "$rf" -h | cmp - <("$rf" --help)
    "$rf" lab run --help | grep -q -- --seeds
    [ "$("$rf" lab table --help | grep -c -- --seeds)" -eq 0 ]
}

@test "man pages come from the same tables and are well-formed" {
    for command in "" check train predict eval fence report serve store drift inspect tokenize embed encoder; do
        "$rf" $command --help-man >"$BATS_TEST_TMPDIR/page.1"
        run man --warnings -l "$BATS_TEST_TMPDIR/page.1"
        [ "$status" -eq 0 ]
        [[ "$output" != *"warning"* ]]
    done
    # lists keep their lines
    "$rf" encoder --help-man >"$BATS_TEST_TMPDIR/page.1"
    man -l "$BATS_TEST_TMPDIR/page.1" | grep -q "^ *get     download an encoder"
    "$rf" embed --help-man | grep -q 'pooling mean|cls'
    "$rf" train --help-man | grep -q '^.B .-o, .-.-output MODEL$'
    "$rf" train --help-man | grep -q '^.SS stage 1, the known classes$'
}

# No control characters but line ends and tabs, and no line that a text has made.
harmless() { # command...
    run_apart "$@"
    if LC_ALL=C grep -anP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^ *injected' <<<"$output$complaint"; then
        return 1
    fi
}

@test "what a hostile model or text says cannot reach the terminal" {
    cd "$BATS_TEST_TMPDIR"
    labelled 8 >data.tsv
    "$rf" train data.tsv --encoder "$tiny" --quiet --epochs 1 --head-steps 5 -o good.rf
    node "$BATS_TEST_DIRNAME/hostile.mjs" good.rf bad.rf
    [ "$("$rf" predict bad.rf <data.tsv | wc -l)" -eq 33 ] # it works
    printf 'where \302\233 is \177 \033[31m my\n' >texts.txt
    harmless "$rf" inspect bad.rf
    has "$output" "made by"
    has "$output" "title"
    harmless "$rf" inspect bad.rf --json
    [ "$(jq -r .program <<<"$output" | head -c 4 | od -An -tx1 | tr -d ' \n')" = 1b5d303b ] # it is all there
    harmless "$rf" predict bad.rf texts.txt --explain 3
    harmless "$rf" predict bad.rf texts.txt --explain 3 --json --text
    has "$output" '\u009b'
    harmless "$rf" eval bad.rf data.tsv
    harmless "$rf" eval bad.rf data.tsv --json
    harmless "$rf" compare good.rf bad.rf data.tsv
    printf 'text\tlabel\nwhere \302\233 is\tclass1\n' >more.tsv
    harmless "$rf" update bad.rf more.tsv -o new.rf
    harmless "$rf" update bad.rf more.tsv -o new.rf --json
    harmless "$rf" review bad.rf texts.txt -o review.tsv
    harmless "$rf" tokenize --encoder bad.rf texts.txt
    mkdir lab
    echo '{"set":"a\u009b31m","ratio":0.5,"seed":0,"method":"m\u001b[31m"}' >lab/runs.jsonl
    harmless "$rf" lab table lab
    has "$complaint" "control character"
}
