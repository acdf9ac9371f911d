#!/usr/bin/env bats
# ringfence predict: one answer per line, whatever the line is

load helpers

setup_file() {
    load helpers
    labelled 12 >"$BATS_FILE_TMPDIR/data.tsv"
    train "$BATS_FILE_TMPDIR/data.tsv" -o "$BATS_FILE_TMPDIR/m.rf" --quiet
    train "$BATS_FILE_TMPDIR/data.tsv" -o "$BATS_FILE_TMPDIR/bare.rf" --quiet --no-examples
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    m="$BATS_FILE_TMPDIR/m.rf"
    { tail -n +2 "$BATS_FILE_TMPDIR/data.tsv" | cut -f1; unlabelled; } >texts
}

@test "the same answers in order, whatever the threads, from a file and from a pipe" {
    for i in $(seq 30); do cat texts; done >many
    "$rf" predict "$m" many --threads 1 >1
    [ "$(wc -l <1)" -eq $((30 * 52)) ]
    "$rf" predict "$m" many --threads 2 >2
    "$rf" predict "$m" - --threads 3 <many >3
    "$rf" predict "$m" <many | cat >4
    cmp 1 2
    cmp 1 3
    cmp 1 4
    # each line by itself
    tail -n 6 texts | while IFS= read -r line; do
        printf '%s\n' "$line" | "$rf" predict "$m"
    done >alone
    cmp alone <(tail -n 6 1)
}

@test "the same answers on every path of the CPU, in both precisions" {
    for precision in fp32 int8; do
        "$rf" predict "$m" texts --json --margins 99 --precision $precision >$precision
        for path in portable avx2 avxvnni avx512 avx512vnni; do
            RINGFENCE_KERNELS=$path "$rf" predict "$m" texts --json --margins 99 \
                --precision $precision | cmp - $precision
        done
    done
    run cmp fp32 int8
    [ "$status" -eq 1 ]
    "$rf" predict "$m" texts --json --margins 99 | cmp - fp32
    "$rf" eval "$m" "$BATS_FILE_TMPDIR/data.tsv" --precision int8 >eval
    run "$rf" predict "$m" texts --precision int4
    [ "$status" -eq 2 ]
    has "$output" "precision"
}

@test "misspelt words are read as words of the training texts" {
    printf 'text\tlabel\n' >data.tsv
    for i in 1 2 3 4 5; do
        printf 'where is the order\twhere\nwhere is my order %s\twhere\n' $i
        printf 'parcel parcel the b c\tparcel\nparcel d %s\tparcel\n' $i
    done >>data.tsv
    train data.tsv -o m.rf --quiet
    train data.tsv -o as_is.rf --quiet --no-spelling
    printf 'where is the order\nparcel d\n' >right
    printf 'WHREE isthe oder\nparcl d\n' >wrong
    "$rf" predict m.rf right --json --margins 2 >want
    "$rf" predict m.rf wrong --json --margins 2 >got
    cmp want got
    "$rf" predict as_is.rf right --json --margins 2 | cmp want
    "$rf" predict as_is.rf wrong --json --margins 2 >got
    ! cmp -s want got
    "$rf" inspect m.rf --json | jq -e '.kept.words == 6' # of two letters and more
    "$rf" inspect as_is.rf --json | jq -e '.kept.words == null and .settings.known.spelling == false'
}

@test "JSON is valid and says what the plain output says" {
    "$rf" predict "$m" texts >plain
    "$rf" predict "$m" texts --json >json
    json_lines json 'v.map(a => a.label + "\t" + a.confidence.toFixed(4)).join("\n")' >from_json
    cmp plain from_json
    [ "$(json_lines json 'v.filter(a => a.open).length')" -ge 3 ]
    [ "$(json_lines json 'v.filter(a => !a.open).length')" -ge 40 ]
    check() { [ "$(json_lines json "v.every(a => $1)")" = true ] || { echo "not: $1"; return 1; }; }
    check 'a.open == (a.label == "open")'
    check 'a.open == (a.margin < 0)'
    check 'a.open == (a.accepted.length == 0)'
    check 'a.open == ("reason" in a)'
    check 'a.open || a.label == a.ranking[0].label'
    check '!a.open || a.reason == `would be "${a.nearest_rejecting.label}", rejected by ${(-a.margin).toFixed(2)}`'
    check 'a.open || !("reason" in a)'
    check 'a.ranking.length == 4'
    check 'a.ranking.every((r, i, l) => i == 0 || r.probability <= l[i - 1].probability)'
    check 'Math.abs(a.ranking.reduce((s, r) => s + r.probability, 0) - 1) < 1e-5'
    check 'a.accepted.every((r, i, l) => r.margin >= 0 && (i == 0 || r.margin <= l[i - 1].margin))'
    check 'a.accepted.length == 0 || a.accepted[0].margin == a.margin'
    check 'a.nearest_rejecting === null ? a.accepted.length == 4 : a.nearest_rejecting.margin < 0'
    check '!("text" in a) && !("neighbours" in a)'
    "$rf" predict "$m" texts --json --top 2 >json
    check 'a.ranking.length == 2'
    "$rf" predict "$m" texts --json --top 0 >json
    check 'a.ranking.length == 0'
    "$rf" predict "$m" texts --json --text >json
    json_lines json 'v.map(a => a.text).join("\n")' | cmp - texts
}

@test "an empty file, an empty line, no newline at the end, CR" {
    : >empty
    run_apart "$rf" predict "$m" empty
    [ "$status" -eq 0 ]
    [ -z "$output$complaint" ]
    run_apart "$rf" predict "$m" --json empty
    [ "$status" -eq 0 ]
    [ -z "$output$complaint" ]
    printf '\n\nhello\n' >lines
    [ "$("$rf" predict "$m" lines | wc -l)" -eq 3 ]
    printf 'where is my\nhello' >a
    printf 'where is my\nhello\n' >b
    printf 'where is my\r\nhello\r\n' >c
    "$rf" predict "$m" a >a.out
    "$rf" predict "$m" b >b.out
    "$rf" predict "$m" c >c.out
    [ "$(wc -l <a.out)" -eq 2 ]
    cmp a.out b.out
    cmp a.out c.out
}

@test "any bytes get an answer, and JSON stays UTF-8" {
    head -c 300000 /dev/urandom >garbage
    lines=$(($(tr -cd '\n' <garbage | wc -c) + 1))
    "$rf" predict "$m" garbage >plain
    [ "$(wc -l <plain)" -eq "$lines" ]
    "$rf" predict "$m" garbage --json --text >json
    iconv -f UTF-8 -t UTF-8 json >/dev/null
    [ "$(json_lines json 'v.length')" -eq "$lines" ]
    # the text as another decoder sees it
    node -e 'const fs = require("fs"), bytes = fs.readFileSync("garbage"), want = [];
        for (let from = 0, to; to !== -1; from = to + 1) {
            to = bytes.indexOf(10, from);
            want.push(new TextDecoder("utf-8", { ignoreBOM: true })
                .decode(bytes.subarray(from, to === -1 ? undefined : to)));
        }
        const got = fs.readFileSync("json", "utf8").trim().split("\n").map(l => JSON.parse(l).text);
        require("assert").deepStrictEqual(got, want)'
    printf 'a\0b "quoted" \\ \t\x01\x7f \xe2\x82\xac \xed\xa0\x80 \xf0\x9f\x98\x80 \xc0\xaf\xf4\x90\x80\x80\n' >hard
    "$rf" predict "$m" hard --json --text >json
    [ "$(json_lines json 'v[0].text == "a\0b \"quoted\" \\ \t\x01\x7f \u20ac \ufffd\ufffd\ufffd \u{1f600} \ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"')" = true ]
}

@test "--explain shows the nearest training texts" {
    head -n 3 texts >few
    "$rf" predict "$m" few --json --explain 5 >json
    [ "$(json_lines json 'v.every(a => a.neighbours.length == 5)')" = true ]
    [ "$(json_lines json 'v.every(a => a.neighbours.every((b, i, l) => i == 0 || b.distance >= l[i - 1].distance))')" = true ]
    # a training text is its own nearest neighbour, up to half precision
    [ "$(json_lines json 'v.filter(a => a.neighbours[0].distance < 0.01).length')" -ge 2 ]
    json_lines json 'v.flatMap(a => a.neighbours).map(b => b.text + "\t" + b.label).join("\n")' | sort -u >shown
    [ -z "$(comm -23 shown <(sort -u "$BATS_FILE_TMPDIR/data.tsv"))" ]
    # plain: below each answer
    "$rf" predict "$m" few --explain 2 >plain
    [ "$(wc -l <plain)" -eq 9 ]
    "$rf" predict "$m" few | cmp - <(grep -v '^    ' plain)
    json_lines json 'v.map(a => a.neighbours.slice(0, 2).map(b => `    ${b.distance.toFixed(3)}  ${b.label}  ${b.text}`).join("\n")).join("\n")' |
        cmp - <(grep '^    [0-9]' plain)
    # fewer than K: all of them
    "$rf" predict "$m" few --json --explain 1000 >json
    [ "$(json_lines json 'v[0].neighbours.length')" -eq 48 ]
    # a model without them says so before it reads anything
    run_apart "$rf" predict "$BATS_FILE_TMPDIR/bare.rf" few --explain 2
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    has "$complaint" "train it without --no-examples"
}

@test "--explain: the reason counts the nearest texts, and says so if they disagree" {
    { unlabelled; printf '%s\n' 'where b order x' 'x is the c' 'hello where hello' 'a d z 9' '9 my b !' 'y a hello' 'is d'; } >odd
    for k in 1 3 5; do
        "$rf" predict "$m" odd --json --explain $k >json
        "$rf" predict "$m" odd --explain $k >plain
        json_lines json 'v.filter(a => a.open).map(a => "    " + a.reason).join("\n")' | cmp - <(grep '^    would be' plain)
        K=$k node - <<'JS'
const assert = require('assert'), fs = require('fs'), K = Number(process.env.K);
let open = 0;
for (const line of fs.readFileSync('json', 'utf8').trim().split('\n')) {
  const a = JSON.parse(line), count = {};
  if (!a.open) continue;
  open++;
  const named = a.nearest_rejecting.label; // the largest margin
  for (const b of a.neighbours) count[b.label] = (count[b.label] ?? 0) + 1;
  const own = count[named] ?? 0, first = Object.keys(count).reduce((x, y) => count[y] > count[x] ? y : x); // keys: nearest first
  const others = count[first] > own ? `; ${count[first]} of "${first}"` : '';
  assert.strictEqual(a.reason, `would be "${named}" (${own} of ${K} nearest ${K === 1 ? 'text' : 'texts'}${others}), rejected by ${(-a.margin).toFixed(2)}`);
}
assert(open >= 3);
JS
    done
}

@test "--explain lists words that the encoder does not know, each once, as far as it reads" {
    printf '%s\n' 'where is 漢 my 漢 字 order' 'where is my order' "$(yes a | head -n 50 | tr '\n' ' ')漢" ' ☃ É☃' >words
    "$rf" predict "$m" words --json --explain 1 >json
    [ "$(json_lines json 'v.map(a => a.unknown_words.join("|")).join(";")')" = '漢|字;;;☃|e☃' ] ||
        { json_lines json 'v.map(a => JSON.stringify(a.unknown_words))'; false; }
    "$rf" predict "$m" words --explain 1 >plain
    [ "$(grep -c 'unknown words:' plain)" -eq 2 ]
    grep -qx '    unknown words: 漢 字' plain
    "$rf" predict "$m" words --json >json
    [ "$(json_lines json 'v.some(a => "unknown_words" in a)')" = false ]
}

@test "a training text with line breaks in it stays on one line" {
    { printf 'text,label\n'; tail -n +2 "$BATS_FILE_TMPDIR/data.tsv" | sed 's/\t/,/'
      for i in 1 2 3 4 5; do printf '"hello\n\tyou %s\x1b[31m",greeting\n' $i; done; } >breaks.csv
    train breaks.csv -o b.rf --quiet --dev-share 0
    printf 'hello\tyou 1 31m\n' | "$rf" predict b.rf --explain 100 >out
    [ "$(grep -c '^    [0-9]' out)" -eq 53 ]
    [ "$(grep -vc '^    ' out)" -eq 1 ]
    [ "$(grep -c $'  greeting  hello  you [1-5] \\[31m$' out)" -eq 5 ]
    # a long one is cut between characters, in plain output sooner than in JSON
    long=$(yes 'ü' | head -n 1000 | tr -d '\n')
    { cat "$BATS_FILE_TMPDIR/data.tsv"; for i in 1 2 3 4 5; do printf '%s\tlong\n' "$long"; done; } >long.tsv
    train long.tsv -o l.rf --quiet --dev-share 0
    printf '%s\n' "$long" | "$rf" predict l.rf --explain 1 >out
    iconv -f UTF-8 -t UTF-8 out >/dev/null
    [ "$(wc -c <out)" -lt 600 ]
    [ "$(grep -c '^    unknown words: u*\.\.\.$' out)" -eq 1 ]
    grep -q 'üü\.\.\.$' out
    printf '%s\n' "$long" | "$rf" predict l.rf --json --explain 1 >json
    [ "$(json_lines json 'v[0].neighbours[0].text == "ü".repeat(500) && v[0].neighbours[0].cut')" = true ]
}

@test "answers are printed while input is still open" {
    mkfifo in
    "$rf" predict "$m" --json --text <in >out &
    pid=$!
    exec 7>in
    for n in 1 2 3; do
        echo "hello $n" >&7
        until_lines out $n $pid
        [ "$(wc -l <out)" -eq $n ]
    done
    exec 7>&-
    wait $pid
    [ "$(json_lines out 'v.map(a => a.text)')" = "hello 1,hello 2,hello 3" ]
}

@test "memory stays the same from 10,000 lines to 100,000, with and without the texts" {
    for options in "" "--json --text"; do
        for n in 10000 100000; do
            fed_memory $n "$rf" predict "$m" --threads 2 $options < <(yes 'where is my order' | head -n $n)
            eval "peak_$n=$peak"
        done
        echo "$options: $peak_10000 KB, $peak_100000 KB"
        [ "$peak_100000" -gt 0 ]
        [ "$peak_100000" -lt $((peak_10000 + 6000)) ]
    done
}

@test "a full disk is reported; a closed pipe ends it quietly" {
    [ -e /dev/full ] || skip "no /dev/full"
    run bash -c "'$rf' predict '$m' texts 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    has "$output" "No space left on device"
    for i in $(seq 100); do cat texts; done >many
    # the parent may ignore SIGPIPE, which children inherit
    env --default-signal=PIPE "$rf" predict "$m" many --json 2>complaint | head -n 1 >/dev/null
    [ ! -s complaint ]
}

@test "files that are no models, or damaged ones" {
    bad() { # words, model
        run_apart "$rf" predict "$2" texts
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        has "$complaint" "$1"
        run_apart "$rf" inspect "$2"
        [ "$status" -eq 1 ]
        run_apart "$rf" eval "$2" "$BATS_FILE_TMPDIR/data.tsv"
        [ "$status" -eq 1 ]
        [ -z "$output" ]
    }
    bad "no.rf: cannot open: No such file or directory" no.rf
    bad "regular file" .
    : >empty.rf
    bad "empty.rf" empty.rf
    bad "texts" texts
    size=$(wc -c <"$m")
    for cut in 7 100 $((size / 2)) $((size - 1)); do
        head -c $cut "$m" >cut.rf
        bad "cut.rf" cut.rf
    done
    { cat "$m"; echo; } >more.rf
    bad "more.rf" more.rf
    # one flipped bit
    for at in 20 $((size / 3)) $((size - 40)) $((size - 1)); do
        node -e 'const fs = require("fs"), b = fs.readFileSync(process.argv[1]);
            b[process.argv[2]] ^= 1; fs.writeFileSync("bit.rf", b)' "$m" $at
        bad "bit.rf" bit.rf
    done
}

@test "wrong usage" {
    for args in "" "--json" "$m texts more" "$m texts --top 3" "$m texts --text" \
        "$m texts --explain 0" "$m texts --explain x" "$m texts --threads 0" "$m texts --jason"; do
        run_apart "$rf" predict $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ -n "$complaint" ]
    done
    run_apart "$rf" predict "$m" no/such/file
    [ "$status" -eq 1 ]
    has "$complaint" "no/such/file: cannot open"
}

@test "a file that is cut short in use is reported, not a crash" {
    labelled 8 >data.tsv
    cp -r "$tiny" ./encoder
    "$rf" train data.tsv --encoder ./encoder --slim --quiet --epochs 1 --head-steps 5 -o slim.rf
    rm -f feed
    mkfifo feed
    "$rf" predict slim.rf <feed >answers 2>complaint &
    pid=$!
    exec 7>feed
    echo "where is" >&7
    until_lines answers 1 $pid
    : >encoder/model.safetensors
    echo "b c d" >&7
    exec 7>&-
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ]
    has "$(cat complaint)" "cut short"
}
