#!/usr/bin/env bats
# The pages for readers: every command on them runs, in a directory that has what they mention. The tiny encoder is in the
# place of the default one, and the sample is cut to a few rows of some classes, so answers differ from those a reader gets.

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
    # One CPU, so one thread: other parts run beside this one, and threads that wait for each other waste what they have.
    taskset -cp "$(taskset -cp $$ | sed 's/.*[^0-9]//')" $$ >/dev/null
    export RINGFENCE_CACHE=$PWD/cache PATH=$PWD/bin:$PATH
    mkdir -p cache/encoders bin examples models onnx
    ln -s "$tiny" cache/encoders/minilm
    ln -s "$tiny" models/mine
    cp "$root"/tests/golden/tiny/onnx/* onnx
    ln -s "$rf" bin/ringfence
    mkdir examples/support
    cp "$root"/examples/support/{sentences.txt,test.tsv} examples/support
    for file in train dev; do
        awk -F '\t' 'NR == 1 || ($2 < "o" && seen[$2]++ < 6)' "$root/examples/support/$file.tsv" >"examples/support/$file.tsv"
    done
}

teardown() {
    [ ! -e server ] || kill "$(cat server)" 2>/dev/null || true
}

free_port() {
    node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => {
        console.log(s.address().port); s.close(); })'
}

# The commands of a page as a script: indented lines that begin with $, with the lines that go on after \ or |. A command that
# ends in & is a service, which the next one finds listening.
script_of() { # page, port
    awk -v port="$2" '
        function finish() {
            gsub(/8080/, port, command)
            if (command ~ /&$/) {
                sub(/&$/, "--port " port " \\&", command)
                command = command "\necho $! >server\nuntil (exec 3<>/dev/tcp/127.0.0.1/" port ") 2>/dev/null; do kill -0 $!; sleep 0.1; done"
            }
            print command
            n++
            command = ""
        }
        /^ *\$ / && /^    / { command = $0; sub(/^ *\$ /, "", command); more = 1 }
        more && !/^ *\$ / { sub(/^ */, ""); command = command "\n" $0 }
        more { if ($0 !~ /(\\|\|)$/) { more = 0; finish() } }
        END { print n + 0 >"commands" }' "$1"
}

# Programs of a page: ```c blocks that begin with their name.
programs_of() { # page
    awk '/^```c$/ { code = 1; next } /^```$/ { code = 0 }
        code && /^\/\* [a-z_]+\.c \*\/$/ { file = $2 } code && file { print >file }' "$1"
}

run_page() { # page
    programs_of "$1"
    script_of "$1" "$(free_port)" >script
    [ "$(cat commands)" -eq "$(grep -cE '^ {4,}\$ ' "$1")" ]
    bash -eux -o pipefail script >output 2>&1 || {
        tail -n 15 output
        return 1
    }
}

trained() { # pages that begin with a model
    ringfence train examples/support/train.tsv -o support.rf --quiet
}

@test "a page with a command that fails, fails" {
    printf 'A page.\n\n    $ ringfence --version\n    ringfence 0\n    $ ringfence train examples/support/train.tsv --epoch 3\n' >page.md
    run run_page page.md
    [ "$status" -eq 1 ]
    has "$output" "did you mean --epochs?"
    [ "$(cat commands)" -eq 2 ]
}

@test "QUICKSTART.md" {
    run_page "$root/docs/QUICKSTART.md"
    has "$(cat output)" '"label": '
}

@test "SMALL_DATA.md" {
    run_page "$root/docs/SMALL_DATA.md"
}

@test "ENCODERS.md" {
    run_page "$root/docs/ENCODERS.md"
    [ -s models/imported/model.safetensors ]
}

@test "C.md" {
    cmake --install "$root/build" --prefix "$PWD/usr" >/dev/null
    export PKG_CONFIG_PATH=$(dirname "$(find "$PWD/usr" -name ringfence.pc)")
    export LD_LIBRARY_PATH=$(pkg-config --variable=libdir ringfence)
    run_page "$root/docs/C.md"
    # and its program answers as ours does
    ./ask support.rf <examples/support/sentences.txt | diff - <(ringfence predict support.rf <examples/support/sentences.txt)
}

@test "FAQ.md, UPGRADING.md" {
    trained
    { cat examples/support/train.tsv && sed 's/$/\tother/' examples/support/sentences.txt; } >mixed.tsv
    run_page "$root/docs/FAQ.md"
    run_page "$root/docs/UPGRADING.md"
}

@test "FORMATS.md" {
    trained
    mv support.rf m.rf
    mkdir -p bot/data
    { # the sample once more, as files of others
        echo 'nlu:'
        tail -n +2 examples/support/train.tsv | sort -t "$(printf '\t')" -k 2,2 |
            awk -F '\t' '$2 != last { print "- intent: " $2 "\n  examples: |"; last = $2 } { print "    - " $1 }'
    } >bot/data/nlu.yml
    ringfence convert examples/support/dev.tsv -o more.csv
    ringfence convert examples/support/test.tsv -o test.jsonl
    jq -s 'map([.text, .label]) | {train: .[:9], test: .[9:60], oos_test: .[-20:]}' test.jsonl >data_full.json
    (cd "$root/tests/formats/dialogflow_es" && python3 -m zipfile -c "$OLDPWD/agent.zip" *)
    printf 'id,message\n1,where is my parcel\n2,"9, 8, 7"\n' >tickets.csv
    run_page "$root/docs/FORMATS.md"
    [ "$(wc -l <answers.csv)" -eq 3 ]
    [ -s agent.tsv ]
}

@test "links in documents lead to files" {
    cd "$root"
    for page in *.md docs/*.md docs/design/*.md examples/support/README.md; do
        sed 's/`[^`]*`//g' "$page" | grep -oE '\]\([^)#: ]+(#[^)]*)?\)' | sed -E 's/^\]\(//; s/(#.*)?\)$//' | sort -u | while IFS= read -r link; do
            [ -e "$(dirname "$page")/$link" ] || { echo "$page: no such file: $link"; exit 1; }
        done
    done
}
