#!/bin/sh
# run.sh [check|long] - the whole suite (tests/suite.mk), the part for every edit, or what takes too long
# for both. The last line is
# the sum, and the exit code follows it. A part that dies or runs no test counts as a failure.
set -u
cd "$(dirname "$0")/.."
what=${1:-all}
log=build/test-logs
rm -rf "$log"
mkdir -p "$log"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
begin=$(date +%s)

jobs=$(nproc)
if [ "$what" = all ]; then
    jobs=$((jobs + 2)) # two lanes of parts that mostly wait
    # Real encoders, fetched once into the cache. Tests that need a missing one are skipped, loudly.
    for encoder in minilm minilm-fp32 gte-small multilingual; do
        build/ringfence encoder get "$encoder" ||
            echo "SKIPPED: encoder $encoder is not available; tests that need it are skipped"
    done
fi
make --no-print-directory -k -j "$jobs" -f tests/suite.mk "$what"
code=$?

[ "$what" != check ] || echo "left to make test: $(make --no-print-directory -s -f tests/suite.mk left-out)"
echo "slowest parts, in seconds (of CPU):"
for file in "$log"/*.time; do
    awk -v name="$(basename "$file" .time)" 'END { printf "%7.1f (%.1f) %s\n", $1, $2 + $3, name }' "$file"
done | sort -rn | head -n 10
echo "$(($(date +%s) - begin)) seconds in all"

set -- $(cat "$log"/*.sum 2>/dev/null | awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
passed=$1 failed=$2 skipped=$3
if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then
    failed=1
    echo "FAILED: a part ended without a result"
fi
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
