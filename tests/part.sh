#!/bin/bash
# part.sh KIND NAME COMMAND... - run one part of the suite, for tests/suite.mk.
# KIND is tap if the command prints TAP, step if its exit code is the result. Leaves in build/test-logs
# the output (NAME.log), counts (NAME.sum: passed, failed, skipped) and seconds (NAME.time: elapsed, CPU),
# and prints one line, or the end of the output if the part failed. A test that fails does not
# stop the suite; a step that fails ends with 1, and parts that need it are not run.
set -u
kind=$1 name=$2
shift 2
out=build/test-logs/$name

TIMEFORMAT='%R %U %S'
{ time CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$out.log" 2>&1 </dev/null; } 2>"$out.time"
code=$?

skip_line='^(not )?ok .*# [sS][kK][iI][pP]' # cmocka says "not ok 3 # SKIP", bats "ok 3 # skip"
count() { # pattern
    grep -E "$1" "$out.log" | grep -cvE "$skip_line"
}
why=
if [ "$kind" = step ]; then
    skipped=0
    passed=$((code == 0)) failed=$((code != 0))
else
    skipped=$(grep -cE "$skip_line" "$out.log")
    passed=$(count '^ok ') failed=$(count '^not ok ')
    if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1 why=", ended with exit code $code"
    elif [ $((passed + failed + skipped)) -eq 0 ]; then
        failed=1 why=", ran no test"
    fi
fi
echo "$passed $failed $skipped" >"$out.sum"

# In one piece: other parts print at the same time.
report=$(
    if [ "$failed" -gt 0 ]; then
        echo "FAILED $name: $failed$why (full output in $out.log)"
        grep -v '^ok ' "$out.log" | tail -n 60
    else
        echo "ok     $name: $passed passed$([ "$skipped" -eq 0 ] || echo ", $skipped SKIPPED")"
    fi
    grep -E "$skip_line" "$out.log" | sed -E 's/^(not )?ok [0-9]*/       skipped:/'
    grep '^SKIPPED' "$out.log" | sort -u | sed 's/^/       /'
)
printf '%s\n' "$report"
[ "$kind" = tap ] || [ "$code" -eq 0 ]
