#!/bin/bash
# static.sh - the static program by itself: in a directory that has nothing but the file, as the root of its file
# system (make test-static). As root, for chroot.
set -eu
cd "$(dirname "$0")/../.."
program=build-static/ringfence
empty=$PWD/build-static/empty
[ "$(id -u)" = 0 ] || {
    echo "static.sh: needs root, for chroot" >&2
    exit 1
}
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT
fail() {
    echo "not ok - $*"
    exit 1
}

headers=$(readelf -lW "$program")
[[ "$headers" != *INTERP* ]] || fail "it wants a dynamic linker"
[[ "$(readelf -hW "$program")" =~ Type:\ +DYN ]] || fail "it is not position independent"
[[ "$headers" == *GNU_RELRO* ]] || fail "no RELRO"
echo "ok 1 - needs no library, and is position independent"

rm -rf "$empty"
mkdir "$empty"
cp "$program" "$empty/ringfence"
RF_REFERENCE=$PWD/build/ringfence tests/packages/smoke.sh "$empty" chroot "$empty" /ringfence
echo "ok 2 - trains, answers and serves in an empty directory; the same bits as the usual build"

# HTTPS: GnuTLS works without its libraries and files, and requests are still checked before they are answered.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$empty/key.pem" -out "$empty/cert.pem" \
    -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
chroot "$empty" /ringfence serve m.rf --port 0 --tls-cert cert.pem --tls-key key.pem >"$empty/log" 2>&1 &
server=$!
while kill -0 "$server" 2>/dev/null && ! grep -q 'https://' "$empty/log"; do sleep 0.1; done
port=$(grep -o 'https://127\.0\.0\.1:[0-9]*' "$empty/log" | grep -o '[0-9]*$') || fail "no HTTPS: $(cat "$empty/log")"
ask() { # request
    printf '%b' "$1" | openssl s_client -connect "127.0.0.1:$port" -quiet -verify_return_error -verify_hostname localhost \
        -CAfile "$empty/cert.pem" 2>/dev/null
}
answer=$(ask 'POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nwhere is my is')
[[ "$answer" == *'"label": "class1"'* ]] || fail "over HTTPS: $answer"
answer=$(ask 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n')
[[ "$answer" == 'HTTP/1.1 400'* ]] || fail "a folded header over HTTPS: $answer"
kill "$server"
code=0
wait "$server" || code=$?
server=
[ "$code" -eq 0 ] || fail "ended with $code"
echo "ok 3 - HTTPS with nothing else there"
rm -rf "$empty"
echo "1..3"
