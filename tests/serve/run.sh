#!/bin/sh
# run.sh [PART...] - tests the service from outside: its interface (api) and its behaviour under
# faults (faults), keeping texts (store), reviewing and learning (review), or the parts given; proxies is the
# service behind nginx and HAProxy. RF_PROGRAM: the program, instead of build/ringfence;
# RF_SLOW=1: it is a sanitizer build. Prints TAP with one plan; the exit code follows.
set -u
cd "$(dirname "$0")/../.."
out=build/serve${RF_PROGRAM:+-$(printf %s "$RF_PROGRAM" | tr / _)}
[ $# -gt 0 ] || set -- api faults store review
ulimit -n 8192 2>/dev/null || ulimit -n "$(ulimit -H -n)"

if ! tests/serve/models.sh "$out"; then
    echo "not ok 1 - the models are trained"
    echo "1..1"
    exit 1
fi
RF_TAP_FROM=0
RF_TAP_COUNT=$out/count
export RF_TAP_FROM RF_TAP_COUNT
code=0
for part in "$@"; do
    rm -f "$RF_TAP_COUNT"
    node "tests/serve/$part.mjs" "$out" || code=1
    if [ -f "$RF_TAP_COUNT" ]; then
        RF_TAP_FROM=$(cat "$RF_TAP_COUNT")
    else # it crashed: a failure, whatever it printed
        RF_TAP_FROM=$((RF_TAP_FROM + 1000))
        echo "not ok $RF_TAP_FROM - $part.mjs ran to its end"
        code=1
    fi
done
echo "1..$RF_TAP_FROM"
exit $code
