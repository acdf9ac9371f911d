#!/usr/bin/env bats
# data in many formats, from outside: convert, tables in predict, misuse, and the comforts of a shell

load helpers

setup_file() {
    load helpers
    labelled 12 >"$BATS_FILE_TMPDIR/data.tsv"
    train "$BATS_FILE_TMPDIR/data.tsv" -o "$BATS_FILE_TMPDIR/m.rf" --quiet
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    m="$BATS_FILE_TMPDIR/m.rf"
    data="$BATS_FILE_TMPDIR/data.tsv"
    samples="$root/tests/formats"
}

@test "convert writes the same rows in every format, and reads them back" {
    "$rf" convert "$samples/excel.csv" -o a.jsonl
    "$rf" convert a.jsonl -o b.csv
    "$rf" convert b.csv >c.tsv
    cmp c.tsv "$samples/want.tsv"
    json_lines a.jsonl 'v.length + v[2].text + v[5].label' >got
    [ "$(cat got)" = '6my "express" order is latecall_me' ]
    "$rf" convert "$samples/nlu.yml" "$samples/clinc.json" --part all >both.tsv
    [ "$(wc -l <both.tsv)" -eq 15 ]
    run_apart "$rf" convert "$samples/want.tsv" -o want.xyz
    [ "$status" -eq 2 ]
    cp "$samples/want.tsv" .
    run_apart "$rf" convert want.tsv -o want.tsv
    [ "$status" -eq 2 ]
    has "$complaint" 'overwrite'
    cmp want.tsv "$samples/want.tsv"
}

@test "predict keeps the columns of a table and never answers its header" {
    printf 'id;message;note\n7;"where is; my";"a ""b"""\n8;x y z x;\n' >t.csv
    printf 'where is; my\nx y z x\n' | "$rf" predict "$m" >want
    "$rf" predict "$m" t.csv >got
    cmp got want
    "$rf" predict "$m" - --text-column message <t.csv | cmp - want
    "$rf" predict "$m" t.csv --text-column message -o a.csv
    { echo 'id,message,note,predicted,confidence'
      paste -d, <(printf '7,where is; my,"a ""b"""\n8,x y z x,\n') <(tr '\t' , <want); } | cmp - a.csv
    # once more: the answers are replaced, not repeated
    "$rf" predict "$m" a.csv -o b.csv
    cmp a.csv b.csv
    "$rf" predict "$m" a.csv -o b.jsonl
    json_lines b.jsonl 'v.map(r => [r.id, r.note, r.predicted, r.confidence.toFixed(4)].join(" ")).join("\n")' >got
    paste -d' ' <(printf '7 a "b"\n8 \n') <(tr '\t' ' ' <want) | cmp - got
    # values of JSON stay what they are
    printf '{"text": "x y", "n": [1, null], "deep": {"a": 1.50}}\n' >t.jsonl
    "$rf" predict "$m" t.jsonl -o c.jsonl
    has "$(cat c.jsonl)" '"n": [1, null], "deep": {"a": 1.50}, "predicted": '
}

@test "predict recognises what a file is" {
    printf 'where is my\nx y z x\n' >lines.txt
    "$rf" predict "$m" lines.txt >want
    gzip -k lines.txt
    "$rf" predict "$m" lines.txt.gz | cmp - want
    printf '[{"text": "where is my"}, {"text": "x y z x"}]' >t.json
    "$rf" predict "$m" t.json | cmp - want
    printf '__label__class1 where is my\n__label__class4 x y z x\n' >ft.txt
    "$rf" predict "$m" ft.txt | cmp - want
    iconv -t utf-16 lines.txt >wide.txt
    run_apart "$rf" predict "$m" wide.txt
    [ "$status" -eq 1 ]
    has "$complaint" 'this is UTF-16, wanted UTF-8 text; --encoding utf-16 converts it'
    "$rf" predict "$m" wide.txt --encoding utf-16 | cmp - want
    printf 'subject,body\na,where is my\n' >t.csv
    run_apart "$rf" predict "$m" t.csv
    [ "$status" -eq 1 ]
    has "$complaint" 't.csv: line 1: which column holds the texts?'
    [ -z "$output" ]
    run_apart "$rf" predict "$m" t.csv --text-column body -o "$m"
    [ "$status" -eq 2 ]
    # an answer that cannot be complete is not written
    printf 'text,label\nfine,x\nb\n' >bad.csv
    run_apart "$rf" predict "$m" bad.csv -o out.csv
    [ "$status" -eq 1 ]
    has "$complaint" 'bad.csv: line 3: found 1 columns, wanted 2'
    [ ! -e out.csv ]
    "$rf" predict "$m" bad.csv -o out.csv --skip-bad-rows 2>err
    has "$(cat err)" '1 row was skipped; the first: bad.csv: line 3'
    [ "$(wc -l <out.csv)" -eq 2 ]
}

@test "data where a model belongs, and the reverse" {
    run_apart "$rf" predict "$data" "$m"
    [ "$status" -eq 1 ]
    has "$complaint" 'data.tsv: not a ringfence model: this is text; are the arguments in the right order?'
    run_apart "$rf" eval "$m" "$m"
    [ "$status" -eq 1 ]
    has "$complaint" 'm.rf: this is a model or another safetensors file, wanted texts'
}

@test "several files, swapped columns, empty labels" {
    head -n 25 "$data" >a.tsv
    { head -n 1 "$data"; tail -n +26 "$data"; } | tr '\t' ';' >b.csv
    "$rf" eval "$m" "$data" --json >want
    "$rf" eval "$m" a.tsv b.csv --json | cmp - want
    train a.tsv b.csv -o m2.rf 2>err
    has "$(cat err)" 'a.tsv and 1 more: 48 rows, 4 classes'
    cmp m2.rf "$m"
    run_apart "$rf" check --no-encoder a.tsv b.csv
    has "$output" 'b.csv: line '
    cat a.tsv a.tsv >cat.tsv
    run_apart "$rf" check --no-encoder cat.tsv
    has "$complaint" 'cat.tsv: line 26: the header of line 1 again'
    tail -n +2 "$data" | awk -F'\t' '{print $2 "\t" $1 " " NR}' >swapped.tsv
    run_apart train swapped.tsv -o no.rf --strict
    [ "$status" -eq 1 ]
    has "$complaint" 'the columns seem to be swapped'
    printf 'text\tlabel\na\tx\nb\t\nc\ty\n' >empty.tsv
    run_apart "$rf" convert empty.tsv
    [ "$status" -eq 1 ]
    has "$complaint" 'empty.tsv: line 3: the label is empty'
    run_apart "$rf" convert empty.tsv --skip-bad-rows
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf 'text\tlabel\na\tx\nc\ty')" ]
    has "$complaint" '1 row was skipped; the first: empty.tsv: line 3: the label is empty'
}

@test "did you mean" {
    run_apart "$rf" trian
    [ "$status" -eq 2 ]
    has "$complaint" 'no command "trian"; did you mean train?'
    run_apart "$rf" train x --epoch 3
    has "$complaint" 'train: no option --epoch; did you mean --epochs?'
    run_apart "$rf" eval --fial-under=3
    has "$complaint" 'no option --fial-under; did you mean --fail-under?'
    run_apart "$rf" eval --quux
    has "$complaint" 'no option --quux (see ringfence eval --help)'
    [ "$("$rf" -V)" = "$("$rf" --version)" ]
}

@test "serve --port" {
    run_apart "$rf" serve "$m" --port x
    [ "$status" -eq 2 ]
    run_apart "$rf" serve "$m" --port 1 --listen 127.0.0.1:2
    [ "$status" -eq 2 ]
    "$rf" serve "$m" --port 0 2>log &
    pid=$!
    until_lines log 1 $pid
    while kill -0 $pid && ! grep -q 'listening on http://127.0.0.1:' log; do sleep 0.05; done
    kill $pid
    wait $pid
}

@test "completion in bash" {
    cat >try.bash <<'END'
eval "$("$1" completion bash)"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ringfence; echo "${COMPREPLY[*]}"; }
try ringfence tr
try ringfence train --epo
try ringfence convert --format rasa
try ringfence completion z
try ringfence train ""
END
    run bash try.bash "$rf"
    [ "$output" = "$(printf 'train\n--epochs\nrasa-yaml rasa-md\nzsh\n')" ]
    # every option that help shows
    "$rf" train --help all | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort >shown
    "$rf" completion bash | sed -n "s/^_ringfence_options\[train\]='\(.*\)'/\1/p" | tr ' ' '\n' | sort >completed
    cmp shown completed
}

@test "completion in fish and zsh" {
    "$rf" completion fish >c.fish
    run fish --no-config -c 'source c.fish; complete -C "ringfence train --epo"; complete -C "ringfence eval --header y"'
    [ "$status" -eq 0 ]
    has "${lines[0]}" '--epochs'
    has "${lines[1]}" 'yes'
    "$rf" completion zsh >_ringfence
    run zsh -fc 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; echo $_comps[ringfence]
        _arguments() { print -rl -- "$@"; }; words=(ringfence eval --h) CURRENT=3; autoload +X _ringfence; _ringfence'
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = _ringfence ]
    has "$output" '--header=['
    has "$output" ':(auto yes no)'
}

@test "a quote that is just a character: the complaint names the way out, and it works" {
    printf 'text\tlabel\n"Open" is what it says\topening\nclose it\tclosing\n' >quotes.tsv
    run_apart "$rf" convert quotes.tsv
    [ "$status" -eq 1 ]
    has "$complaint" 'line 2'
    has "$complaint" '--raw-tsv'
    "$rf" convert --raw-tsv quotes.tsv -o got.jsonl
    json_lines got.jsonl 'v[0].text' >got
    [ "$(cat got)" = '"Open" is what it says' ]
}
