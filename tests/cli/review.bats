#!/usr/bin/env bats
# ringfence review and accept: what they write and learn, what they refuse, what they leave alone

load helpers

setup_file() {
    load helpers
    cd "$BATS_FILE_TMPDIR"
    labelled 12 >all.tsv
    grep -v class3 all.tsv >old.tsv
    train old.tsv -o m.rf --quiet
    # a stream: known texts, two topics that are not, copies, and what spreadsheets stumble over
    {
        cut -f1 old.tsv | tail -n +2 | head -n 6
        for i in 1 2 3 4 5 6 7 8; do echo "hello thank you $i"; done
        for i in 1 2 3 4 5 6 7 8; do echo "( ! $i"; done
        printf 'HELLO  thank you 1\nsay "hello" thank you\n=1+1\n\n\n'
    } >texts.txt
    printf 'say\t"hi"\tthank you\n' >>texts.txt
    "$rf" review m.rf texts.txt -o r.tsv --min-texts 3 --doubt 1 2>/dev/null
    cp m.rf copy.rf
}

setup() {
    cd "$BATS_FILE_TMPDIR"
}

teardown() {
    cmp m.rf copy.rf # no test changes the model
}

# The table, read by another program: prints what the JavaScript expression says about the rows v.
table() { # file, expression
    node -e 'const cells = []; let row = [""], quoted = false;
        const t = require("fs").readFileSync(process.argv[1], "utf8");
        for (let i = 0; i < t.length; i++) {
            const c = t[i];
            if (quoted) { if (c !== "\"") row[row.length - 1] += c; else if (t[i + 1] === "\"") { row[row.length - 1] += c; i++ } else quoted = false }
            else if (c === "\"" && row.at(-1) === "") quoted = true;
            else if (c === "\t") row.push("");
            else if (c === "\n") { cells.push(row); row = [""] }
            else row[row.length - 1] += c;
        }
        const v = cells.slice(1).map(r => Object.fromEntries(r.map((c, i) => [cells[0][i], c])));
        console.log(String(eval(process.argv[2])))' "$@"
}

@test "a table: every text in question once, labels empty, groups in order" {
    run_apart "$rf" review m.rf texts.txt -o - --min-texts 3 --doubt 1
    [ "$status" -eq 0 ]
    echo "$output" >again.tsv
    cmp again.tsv r.tsv
    has "$complaint" "28 texts: "
    has "$complaint" "different, of which"
    [ "$(head -n 1 r.tsv)" = "group	name	label	text	count	margin	nearest	kind" ]
    [ "$(table r.tsv 'v.every(x => x.label === "")')" = true ]
    [ "$(table r.tsv 'v.some(x => x.kind === "group")')" = true ]
    [ "$(table r.tsv 'v.every(x => (x.kind === "group") === (x.group !== "" && x.name !== ""))')" = true ]
    [ "$(table r.tsv 'v.filter(x => x.group).every((x, i, a) => !i || +a[i - 1].group <= +x.group)')" = true ]
    [ "$(table r.tsv 'v.find(x => x.text === "hello thank you 1").count >= 2')" = true ]
    [ "$(table r.tsv 'v.filter(x => x.text === "say\t\"hi\"\tthank you").length')" -eq 1 ]
    [ "$(table r.tsv 'v.filter(x => x.text === "").map(x => x.count + x.kind)')" = 2alone ]
}

@test "JSON Lines say the same; the same bytes for any number of threads" {
    "$rf" review m.rf texts.txt -o r.jsonl --min-texts 3 --doubt 1 --threads 1 2>/dev/null
    "$rf" review m.rf - -o r3.jsonl --min-texts 3 --doubt 1 --threads 3 <texts.txt 2>/dev/null
    cmp r.jsonl r3.jsonl
    [ "$(json_lines r.jsonl 'v.map(x => (x.group || "") + x.text).join()')" = "$(table r.tsv 'v.map(x => x.group + x.text).join()')" ]
    [ "$(json_lines r.jsonl 'v.every(x => x.rows.length === x.count)')" = true ]
    [ "$(json_lines r.jsonl 'new Set(v.flatMap(x => x.rows)).size === v.reduce((n, x) => n + x.count, 0)')" = true ]
}

@test "texts from a column of a table or of JSON Lines" {
    node -e 'for (const t of require("fs").readFileSync("texts.txt", "utf8").split("\n").slice(0, -1))
        console.log(JSON.stringify({ id: 1, query: t }))' >q.jsonl
    "$rf" review m.rf q.jsonl -o q.tsv --min-texts 3 --doubt 1 2>/dev/null
    cmp q.tsv r.tsv
    "$rf" review m.rf r.tsv -o again2.tsv --doubt 1 2>/dev/null
    run_apart "$rf" review m.rf q.jsonl --text-column body -o q.tsv
    [ "$status" -eq 1 ]
    has "$complaint" 'q.jsonl: line 1: no text column "body" among "id", "query"'
    printf 'a\tb\n1\t2\n' >odd.tsv
    run_apart "$rf" review m.rf odd.tsv -o q.tsv
    [ "$status" -eq 1 ]
    has "$complaint" 'odd.tsv: line 1: which column holds the texts? Give --text-column NAME'
    printf 'text\n"open\n' >odd.csv
    run_apart "$rf" review m.rf odd.csv -o q.tsv
    [ "$status" -eq 1 ]
    has "$complaint" "odd.csv: line 2: the quote that opens here is not closed"
}

@test "a page" {
    run_apart "$rf" review m.rf texts.txt -o r.html --min-texts 3 --doubt 1 --title 'a <b> & c'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    grep -q '<title>a &lt;b&gt; &amp; c' r.html
    [ "$(grep -c 'class="card"' r.html)" -eq "$(table r.tsv 'new Set(v.map(x => x.group).filter(g => g)).size')" ]
}

@test "a group becomes a class, or joins one" {
    run_apart "$rf" accept r.tsv --group 1 --as 'gift cards' m.rf -o n.rf
    [ "$status" -eq 0 ]
    [ -z "$complaint" ]
    has "$output" "added     gift cards"
    has "$output" "training texts"
    has "$output" "n.rf: 4 classes"
    table r.tsv 'v.find(x => x.group === "1").text' | "$rf" predict n.rf | grep -q '^gift cards'
    "$rf" accept r.tsv m.rf --group=1 --as=class1 -o n.rf --json >n.json
    [ "$(json_file n.json 'v.added.length')" -eq 0 ]
    "$rf" accept r.tsv m.rf --group=1 --as=class1 -o one.rf --threads 1 >/dev/null
    cmp n.rf one.rf
}

@test "without --group only lines are learnt that a person has labelled" {
    run_apart "$rf" accept r.tsv m.rf -o n.rf
    [ "$status" -eq 1 ]
    has "$complaint" 'r.tsv: found no label in the column "label", wanted one in each line to learn'
    awk -F'\t' -v OFS='\t' 'NR > 1 && $1 == 1 && n++ < 2 { $3 = " thanks " } { print }' r.tsv >edited.tsv
    "$rf" accept edited.tsv m.rf -o n.rf --json >n.json
    [ "$(json_file n.json 'v.rows_added')" -eq 2 ]
    [ "$(json_file n.json 'v.added')" = thanks ]
    # a spreadsheet saves it with a mark, CR LF and semicolons
    printf '\xef\xbb\xbftext;label;group\r\n"hello ""you""";thanks;1\r\nb;;\r\n' >edited.csv
    "$rf" accept edited.csv m.rf -o n.rf --json >n.json
    [ "$(json_file n.json 'v.rows_added')" -eq 1 ]
}

@test "what accept refuses, with file and line" {
    refuses() { # exit code, message, arguments...
        local code=$1 message=$2
        shift 2
        run_apart "$rf" accept "$@" -o refused.rf
        [ "$status" -eq "$code" ]
        has "$complaint" "$message"
        [ ! -e refused.rf ]
    }
    refuses 1 'found no line of group 99, wanted a group from 1 to' r.tsv m.rf --group 99 --as x
    refuses 2 '--group two: wanted the number of a group' r.tsv m.rf --group two --as x
    refuses 2 '--group 1 is given twice' r.tsv m.rf --group 1 --as x --group 1 --as y
    refuses 2 'one --as CLASS for each --group N' r.tsv m.rf --group 1
    refuses 2 'wanted REVIEW' r.tsv
    printf 'group\tlabel\ttext\n1\tx\ta\n1\t\tb\n' >t.tsv
    refuses 1 't.tsv: line 2: found label "x" in group 1, which is accepted as "y"' t.tsv m.rf --group 1 --as y
    printf 'group\tlabel\ttext\n\tx\ta\n\ty\ta\n' >t.tsv
    refuses 1 't.tsv: line 3: the text of line 2 again with another label' t.tsv m.rf
    printf 'group\tlabel\ttext\n\tnone\ta\n' >t.tsv
    refuses 1 't.tsv: line 2: label "none" means that the text is of no class' t.tsv m.rf
    printf 'group\tlabel\ttext\n\tx\ta\tmore\n' >t.tsv
    refuses 1 't.tsv: line 2: found 4 fields, wanted 3' t.tsv m.rf
    printf 'label\ttext\nx\ta\n' >t.tsv
    refuses 1 't.tsv: line 1: found no column "group"' t.tsv m.rf
    printf 'group\tlabel\ttext\none\t\ta\n' >t.tsv
    refuses 1 't.tsv: line 2: found group "one", wanted a number or nothing' t.tsv m.rf --group 1 --as y
    printf 'group\tlabel\ttext\n\ta\x01b\ta\n' >t.tsv
    refuses 1 't.tsv: line 2: ' t.tsv m.rf
    : >t.tsv
    refuses 1 't.tsv: the file is empty' t.tsv m.rf
}

@test "wrong use, input that would be overwritten, no texts" {
    for args in "m.rf" "m.rf texts.txt" "m.rf texts.txt -o r.pdf" "m.rf texts.txt -o texts.txt"; do
        run_apart "$rf" review $args
        [ "$status" -eq 2 ]
    done
    cp r.tsv own.tsv
    run_apart "$rf" review m.rf own.tsv -o own.tsv
    [ "$status" -eq 2 ]
    has "$complaint" "would overwrite its input"
    run_apart "$rf" accept own.tsv m.rf -o own.tsv
    [ "$status" -eq 2 ]
    : >none.txt
    run_apart "$rf" review m.rf none.txt -o x.tsv
    [ "$status" -eq 1 ]
    has "$complaint" "none.txt: empty, wanted rows of text"
    run_apart "$rf" review m.rf texts.txt -o no/such/x.tsv
    [ "$status" -eq 1 ]
}

@test "a full disk and kill -9 leave what was there" {
    seq 100000 7919 900000 >many.txt # texts that are not alike
    for name in own.tsv own.jsonl own.html; do
        echo mine >$name
        # a limit on the size of files stands for the disk
        run bash -c "trap '' XFSZ; ulimit -f 1; '$rf' review m.rf many.txt --doubt 1 -o $name 2>&1"
        [ "$status" -eq 1 ]
        [ "$(cat $name)" = mine ]
    done
    cp m.rf own.rf
    run bash -c "trap '' XFSZ; ulimit -f 64; '$rf' accept r.tsv --group 1 --as x own.rf -o own.rf 2>&1"
    [ "$status" -eq 1 ]
    cmp own.rf m.rf
    [ -e /dev/full ] && {
        run bash -c "'$rf' review m.rf texts.txt -o - 2>&1 >/dev/full"
        [ "$status" -eq 1 ]
        has "$output" "No space left on device"
    }
    mkfifo stream
    "$rf" review m.rf - -o own.tsv <stream 2>/dev/null &
    pid=$!
    exec 8>stream # it waits for texts now, or soon
    head -n 3 texts.txt >&8
    kill -9 $pid
    wait $pid || true
    exec 8>&-
    rm stream
    [ "$(cat own.tsv)" = mine ]
}
