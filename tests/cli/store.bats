#!/usr/bin/env bats
# ringfence store and ringfence drift from outside: complaints, exit codes, files that are in use or
# not ours. What a service has stored is tested in tests/serve/store*.mjs.

load helpers

setup() { cd "$BATS_TEST_TMPDIR"; }

@test "store and drift: wrong usage names what is wanted" {
    for words in "store" "store bake x.db" "store export" "store stats" "store purge" "drift"; do
        run_apart "$rf" $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
    run_apart "$rf" store purge x.db
    [ "$status" -eq 2 ]
    has "$complaint" "which rows? Wanted --before, --older-than, --text or --all"
    run_apart "$rf" store export x.db --since soon
    [ "$status" -eq 2 ]
    has "$complaint" '--since is "soon", wanted a time such as 24h'
    run_apart "$rf" store purge x.db --before 7d
    [ "$status" -eq 2 ]
    run_apart "$rf" store purge x.db --older-than 2026-11-18
    [ "$status" -eq 2 ]
    run_apart "$rf" store stats x.db --open # another verb's
    [ "$status" -eq 2 ]
    has "$complaint" "no option --open"
    run_apart "$rf" store export x.db --format csv
    [ "$status" -eq 2 ]
}

@test "store and drift: a file that is missing, foreign or damaged ends them with 1 and stays as it is" {
    printf 'not a database %.0s' $(seq 400) >text.db
    cp text.db before
    sqlite3 other.db 'CREATE TABLE x(y)'
    : >empty.db
    for file in none.db text.db other.db empty.db .; do
        for words in "store export $file" "store stats $file" "store purge $file --all" "drift $file"; do
            run_apart "$rf" $words
            [ "$status" -eq 1 ]
            [ -z "$output" ]
            has "$complaint" "$file: "
        done
    done
    cmp text.db before
    [ ! -e none.db ]
    [ ! -s empty.db ]
    [ "$(sqlite3 other.db 'SELECT count(*) FROM sqlite_schema')" = 1 ]
}

@test "store export: a full standard output is an error, and -o never replaces the store" {
    [ -e /dev/full ] || skip "no /dev/full"
    make_store
    run bash -c "'$rf' store export s.db 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    has "$output" "standard output"
    run_apart "$rf" store export s.db -o s.db
    [ "$status" -eq 2 ]
    "$rf" store stats s.db --json | jq -e '.rows == 3 and .open == 2 and .judged == 1 and .hashed == 0'
    run "$rf" store export s.db -o none/out.tsv
    [ "$status" -eq 1 ]
}

@test "store export: labels of people come first, and tables read back" {
    make_store
    "$rf" store export s.db >out.tsv
    [ "$(cut -f1,2,3 out.tsv | sed -n 2p)" = "$(printf 'one\trefund\topen')" ]
    [ "$(cut -f2 out.tsv | tail -n 1)" = parcel ]
    "$rf" store export s.db --labelled --format jsonl | jq -e '.judged.who == "ann" and .label == "refund" and .answer == "open"'
    [ "$("$rf" store export s.db --since 2020-01-01 --until 2020-01-02 | wc -l)" = 1 ]
    sqlite3 s.db "INSERT INTO labels(text, label, who, time) VALUES(1, NULL, 'bob', 9)"
    "$rf" store export s.db --labelled --format jsonl | jq -e '.judged.relevant == false and .label == "open"'
}

# Three rows, as serve would have written them; one has a label by a person.
make_store() {
    sqlite3 s.db "$(tables)
        INSERT INTO models VALUES(1, 'm', 0);
        INSERT INTO texts(time, text, label, confidence, margin, nearest, model, source) VALUES
            (1700000000000, 'one', NULL, 0.5, -1, 'refund', 1, 'serve'),
            (1700000001000, 'a tab	in it', NULL, 0.5, -1, 'refund', 1, 'serve'),
            (1700000002000, 'three', 'parcel', 0.9, 1, 'parcel', 1, 'serve');
        INSERT INTO labels(text, label, who, time) VALUES(1, 'refund', 'ann', 5);"
}
# The statements of store/store.c, from its source.
tables() {
    sed -n '/^static const char tables/,/;";$/p' "$root/store/store.c" | grep -o '"[^"]*"' | tr -d '"\n'
    echo "PRAGMA application_id = 1380347491; PRAGMA user_version = 1;"
}
