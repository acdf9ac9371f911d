#!/usr/bin/env bats
# ringfence report: the page's figures are those of eval, and its bytes are always the same

load helpers

setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    labelled 12 >data.tsv
    train data.tsv -o m.rf --quiet --head-steps 15
    { labelled 25 | tail -n 51
      unlabelled | sed $'s/$/\tsomething else/'; } | sed $'1i text\tlabel' >test.tsv
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

@test "a page with the figures of eval, the same for any number of threads" {
    run_apart "$rf" report m.rf test.tsv -o r.html --threads 1
    [ "$status" -eq 0 ]
    [ -z "$output$complaint" ]
    "$rf" report m.rf - -o r2.html --title "m.rf on test.tsv" --threads 3 <test.tsv
    cmp r.html r2.html
    has "$(cat r.html)" "<h1>m.rf on test.tsv</h1>"
    "$rf" eval m.rf test.tsv --json >eval.json
    for figure in accuracy:Accuracy f1:F1 f1_known:F1-known f1_open:F1-open f1_tested:F1-tested auroc:AUROC; do
        value=$(json_file eval.json "v.${figure%%:*}.toFixed(1)")
        has "$(cat r.html)" "<b>${figure##*:}</b><span class=\"v\">$value<"
    done
    has "$(cat r.html)" "<b>MCC</b><span class=\"v\">$(json_file eval.json 'v.mcc.toFixed(2)')<"
}

@test "a random sample on the map, another for another seed" {
    "$rf" report m.rf test.tsv -o a.html --max-points 20
    "$rf" report m.rf test.tsv -o b.html --max-points 20 --seed 1
    has "$(cat a.html)" "A random sample of 20 of the 55 texts"
    run cmp -s a.html b.html
    [ "$status" -eq 1 ]
}

@test "a title is escaped" {
    "$rf" report m.rf test.tsv -o t.html --title '</title><script>alert(1)</script>'
    has "$(cat t.html)" "<h1>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</h1>"
    [ "$(grep -c '<script>alert' t.html)" -eq 0 ]
}

@test "wrong usage, missing files, unwritable outputs" {
    run_apart "$rf" report m.rf test.tsv
    [ "$status" -eq 2 ]
    has "$complaint" "report: wanted MODEL, TEST (a file, or - for standard input) and -o FILE"
    run_apart "$rf" report m.rf -o x.html
    [ "$status" -eq 2 ]
    cp test.tsv copy.tsv
    ln -sf m.rf link.rf
    for mine in copy.tsv link.rf; do # what it reads is not overwritten
        run_apart "$rf" report link.rf copy.tsv -o $mine
        [ "$status" -eq 2 ]
        has "$complaint" "would overwrite $mine"
    done
    cmp test.tsv copy.tsv
    run_apart "$rf" report m.rf nothing.tsv -o x.html
    [ "$status" -eq 1 ]
    has "$complaint" "nothing.tsv"
    [ ! -e x.html ]
    run_apart "$rf" report m.rf test.tsv -o nowhere/x.html
    [ "$status" -eq 1 ]
    has "$complaint" "nowhere/"
    run_apart "$rf" report m.rf test.tsv -o /dev/null
    [ "$status" -eq 1 ]
    [ -c /dev/null ]
}
