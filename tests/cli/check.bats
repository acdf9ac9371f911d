#!/usr/bin/env bats
# ringfence check: what it finds, as text, JSON and a table; complaints and exit codes

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# Data with one fault of each kind that needs no encoder. Line 3 spans two lines.
faulty() {
    printf 'text\tlabel\n'
    printf 'where is my parcel\tTrack Parcel\n'
    printf '"a text with\na line end"\tpay\n'
    printf 'Where is my  parcel\tpay\n'
    printf 'the bill was paid twice on monday\tpay\n'
    printf 'the bill was paid twice on mondays\tpay\n'
    printf 'the bill was paid twice on monday\tpay\n'
    printf 'caf\351 money\tpay\n'
    printf '  \tpay\n'
    printf 'has it been sent\ttrack_parcel\n'
    printf 'is it on its way\ttrack_parcel\n'
    printf 'who is the president\toos\n'
}

# Two different kinds of rows and nothing wrong.
clean() {
    for i in 1 2 3 4 5 6; do
        printf 'where has %s%s gone\ttrack\n' $(echo $i | tr 1-6 qwerty) $((i * 7919 % 1000))
        printf 'money %s back %s\tpay\n' $((i * 104729 % 9973)) $(echo $i | tr 1-6 asdfgh)
    done
}

@test "every kind that needs no encoder, with lines, texts and a fix" {
    faulty >data.tsv
    run_apart "$rf" check data.tsv --no-encoder
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    has "$output" "data.tsv: 11 rows, 4 classes"
    for kind in encoding empty-text conflict labels-alike open-label few-rows duplicate near-duplicate; do
        grep -q "^$kind: " <<<"$output"
    done
    has "$output" "    line 2 [Track Parcel] where is my parcel"
    has "$output" "    line 5 [pay] Where is my  parcel"
    has "$output" "    line 6 [pay] the bill was paid twice on monday"
    has "$output" "iconv -f WINDOWS-1252"
    has "$output" '"track_parcel" (2) and "Track Parcel" (1) seem to be one class'
    has "$output" "  fix: decide on one label and delete the other rows"
}

@test "one JSON object with everything" {
    faulty >data.tsv
    "$rf" check data.tsv --no-encoder --json >out.json
    [ "$(jq -r '.file, .rows, .classes, .encoded_rows' out.json | tr '\n' ' ')" = "data.tsv 11 4 0 " ]
    [ "$(jq '[.counts[]] | add' out.json)" -eq "$(jq '.findings | length' out.json)" ]
    [ "$(jq -c '[.findings[] | select(.kind == "conflict") | .rows[].line]' out.json)" = "[2,5]" ]
    [ "$(jq -c '.findings[] | select(.kind == "duplicate") | [.rows[] | [.line, .mend]]' out.json)" = "[[6,false],[8,true]]" ]
    [ "$(jq -r '.findings[] | select(.kind == "labels-alike") | .suggestion' out.json)" = "track_parcel" ]
    [ "$(jq '[.findings[] | select(.message == "" or .fix == "")] | length' out.json)" -eq 0 ]
    "$rf" check data.tsv --no-encoder --json --limit 1 >one.json
    [ "$(jq '[.findings[] | select(.kind == "few-rows")] | length' one.json)" -eq 1 ]
    [ "$(jq '.counts["few-rows"]' one.json)" -eq "$(jq '.counts["few-rows"]' out.json)" ]
}

@test "a table with a row for every row to mend" {
    faulty >data.tsv
    "$rf" check data.tsv --no-encoder --tsv mend.tsv >/dev/null
    [ "$(head -n 1 mend.tsv)" = $'line\tkind\ttext\tlabel\tsuggestion' ]
    grep -qx $'8\tduplicate\tthe bill was paid twice on monday\tpay\tkeep the first of these rows' mend.tsv
    grep -qx $'2\tlabels-alike\twhere is my parcel\tTrack Parcel\ttrack_parcel' mend.tsv
    # it reads back as data, line ends and quotes included
    printf 'text\tlabel\n"a ""quoted""\nline"\tx\n"a ""quoted""\nline"\tx\n' >quoted.tsv
    "$rf" check quoted.tsv --no-encoder --tsv mend.tsv >/dev/null
    "$rf" check mend.tsv --no-encoder --json >out.json
    [ "$(jq '.rows' out.json)" -eq 3 ]
    grep -q '^4	duplicate' mend.tsv
}

@test "exit codes: 3 with --strict if anything was found" {
    faulty >data.tsv
    clean >clean.tsv
    run_apart "$rf" check clean.tsv --no-encoder --strict
    echo "$output"
    [ "$status" -eq 0 ]
    has "$output" "nothing to mend"
    run_apart "$rf" check data.tsv --no-encoder --strict
    [ "$status" -eq 3 ]
    printf 'again and again\tpay\nagain and again\tpay\n' >>clean.tsv
    run_apart "$rf" check clean.tsv --no-encoder --strict
    [ "$status" -eq 3 ]
    run_apart "$rf" check clean.tsv --no-encoder --strict --ignore duplicate
    [ "$status" -eq 0 ]
}

@test "wrong usage and missing or empty files" {
    run_apart "$rf" check
    [ "$status" -eq 2 ]
    has "$complaint" "check: no data"
    run_apart "$rf" check none.tsv
    [ "$status" -eq 1 ]
    has "$complaint" "none.tsv"
    : >empty.tsv
    run_apart "$rf" check empty.tsv
    [ "$status" -eq 1 ]
    has "$complaint" "empty.tsv: empty"
    clean >clean.tsv
    run_apart "$rf" check clean.tsv --ignore nonsense
    [ "$status" -eq 2 ]
    has "$complaint" "nonsense"
    run_apart "$rf" check clean.tsv --open-label nonsense --no-encoder
    [ "$status" -eq 2 ]
    has "$complaint" "nonsense"
    run_apart "$rf" check clean.tsv --tsv clean.tsv --no-encoder
    [ "$status" -eq 2 ]
    has "$complaint" "would overwrite"
    run_apart "$rf" check clean.tsv --tsv no/such/dir/x.tsv --no-encoder
    [ "$status" -eq 1 ]
    run_apart "$rf" check clean.tsv --encoder no/such/encoder
    [ "$status" -eq 1 ]
    has "$complaint" "no/such/encoder"
    [ -z "$output" ]
}

@test "swapped columns, and how to read them right" {
    awk 'BEGIN { for (i = 1; i <= 20; i++) print "pay,a long text with number " i * i }' >swapped.csv
    run_apart "$rf" check swapped.csv
    [ "$status" -eq 0 ]
    has "$output" "swapped-columns: "
    has "$output" "--text-column"
    "$rf" check swapped.csv --no-encoder --text-column 2 --label-column 1 --json >out.json
    [ "$(jq '.counts["swapped-columns"]' out.json)" -eq 0 ]
}

@test "rows that --raw-tsv drops are reported" {
    clean >data.tsv
    printf 'one field\n' >>data.tsv
    run_apart "$rf" check data.tsv --raw-tsv --no-encoder
    [ "$status" -eq 0 ]
    has "$complaint" "warning: data.tsv: 1 row was dropped"
    has "$output" "data.tsv: 12 rows"
}

@test "label errors with an encoder, the same for any number of threads" {
    labelled 20 >data.tsv
    sed -i '41s/class.$/class1/' data.tsv # of class 4
    [ "$(sed -n '37p' data.tsv | cut -f2)" = "$(sed -n '41p' <(labelled 20) | cut -f2)" ]
    "$rf" check data.tsv --encoder "$tiny" --json --threads 1 >one.json
    "$rf" check - --encoder "$tiny" --json --threads 3 <data.tsv >three.json
    cmp <(jq 'del(.file)' one.json) <(jq 'del(.file)' three.json)
    [ "$(jq '.encoded_rows' one.json)" -eq 80 ]
    want=$(sed -n '37p' data.tsv | cut -f2)
    [ "$(jq -r '.findings[] | select(.kind == "label-error" and .rows[0].line == 41) | .suggestion' one.json)" = "$want" ]
    "$rf" check data.tsv --encoder "$tiny" --ignore label-error --json >none.json
    [ "$(jq '.counts["label-error"]' none.json)" -eq 0 ]
}

@test "wrong labels in the sample are found with the default encoder" {
    need_encoder minilm
    awk -F'\t' -v OFS='\t' 'NR > 1 && NR % 40 == 7 { $2 = $2 == "charged_twice" ? "where_is_my_parcel" : "charged_twice" } 1' \
        "$root/examples/support/train.tsv" >data.tsv
    "$rf" check data.tsv --json >out.json
    changed=$(awk 'NR > 1 && NR % 40 == 7' data.tsv | wc -l)
    found=$(jq '[.findings[] | select(.kind == "label-error" and .rows[0].line % 40 == 7)] | length' out.json)
    listed=$(jq '.counts["label-error"]' out.json)
    echo "$changed changed, $listed listed, $found of them changed"
    [ $((found * 10)) -ge $((changed * 8)) ]
    [ $((found * 2)) -ge "$listed" ]
}
