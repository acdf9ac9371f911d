#!/bin/bash
# smoke.sh DIRECTORY COMMAND... - the program as it is installed does its work: COMMAND runs it, with
# DIRECTORY as its working directory as seen from there. No encoder from the network, no file of the
# machine. RF_REFERENCE names another build, whose model must give the same answers to the last bit.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^#define RF_VERSION "\(.*\)"/\1/p' "$here/../../include/ringfence.h")
mkdir -p "$1"
cd "$1"
shift
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT
fail() {
    echo "smoke.sh: $*" >&2
    exit 1
}

"$@" --version | grep -qw "$version" || fail "not version $version: $("$@" --version)"

# Words that the tiny encoder knows, four classes, and texts of none of them.
rm -rf encoder m.rf want.rf
cp -r "$here/../golden/tiny/encoder" encoder
awk 'BEGIN {
    n = split("where is my|order the a|b c d|x y z", words, "|")
    print "text\tlabel"
    for (i = 1; i <= 12; i++)
        for (c = 1; c <= n; c++) {
            split(words[c], w, " ")
            t = ""
            for (k = 0; k < 4; k++) {
                s = (s * 7 + i * 3 + k * 5 + c) % 97
                t = t (k ? " " : "") w[s % 3 + 1]
            }
            print t "\tclass" c
        }
}' >data.tsv
printf '%s\n' 'where is my is' 'x y z z' '9 8 7 6 5' '( ) : /' >texts
quick="--encoder encoder --epochs 10 --batch 16 --known-rate 0.01 --encoder-rate 0.001 --head-steps 80 --negatives 32 --quiet"

"$@" convert data.tsv -o data.jsonl 2>/dev/null
"$@" train data.jsonl -o m.rf $quick
"$@" predict m.rf <texts >answers
[ "$(cut -f1 answers | tr '\n' ' ')" = "class1 class4 open open " ] || fail "other answers: $(cat answers)"
"$@" eval m.rf data.tsv | grep -q '^accuracy' || fail "no evaluation"
if [ -n "${RF_REFERENCE:-}" ]; then
    "$RF_REFERENCE" train data.jsonl -o want.rf $quick
    # The files differ in one thing: the path of the encoder.
    "$RF_REFERENCE" predict --json --fence 1 want.rf <texts >want
    "$@" predict --json --fence 1 m.rf <texts | cmp - want
fi

# The service, and what a probe asks of it. It says where it listens.
"$@" serve m.rf --port 0 >log 2>&1 &
server=$!
while kill -0 "$server" 2>/dev/null && ! grep -qo '127\.0\.0\.1:[0-9]*' log; do sleep 0.1; done
port=$(grep -o '127\.0\.0\.1:[0-9]*' log | head -n 1 | cut -d : -f 2)
[ -n "$port" ] || fail "the service did not start: $(cat log)"
ask() { # path, body
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "${#2}" "$2" >&3
    cat <&3
    exec 3<&-
}
answer=$(ask /v1/classify 'where is my is')
case $answer in
*'"label": "class1"'*) ;;
*) fail "the service answers: $answer" ;;
esac
kill -TERM "$server"
code=0
wait "$server" || code=$?
server=
[ "$code" -eq 0 ] || fail "the service ended with $code: $(cat log)"
echo "ok: $("$@" --version | head -n 1)"
