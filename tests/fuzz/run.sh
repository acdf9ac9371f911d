#!/bin/sh
# run.sh SECONDS [TARGET...] - each fuzz target for that long, from the seeds in corpus/
#
# Targets are named as their sources: fuzz_tokenizer, or just tokenizer; all of them if
# none is given. What the fuzzer learns goes into a temporary directory; an input that
# crashes a target stays in build-fuzz/crashes, and the exit code is 1.
set -eu

case ${1-} in
'' | *[!0-9]*)
    echo "usage: $0 SECONDS [TARGET...]" >&2
    exit 2
    ;;
esac
seconds=$1
shift
cd "$(dirname "$0")/../.."
build="build-fuzz"
crashes=$build/crashes

if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        set -- "$@" "$(basename "$source" .c)"
    done
fi

mkdir -p "$crashes"
if ! { [ -f "$build/build.ninja" ] || cmake --preset fuzz; } >"$build/fuzz.log" 2>&1 ||
    ! ninja -C "$build" fuzz >>"$build/fuzz.log" 2>&1; then
    tail -n 40 "$build/fuzz.log"
    echo "cannot build the fuzz targets (full output in $build/fuzz.log)" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0
for target in "$@"; do
    name=${target#fuzz_}
    binary=$build/fuzz/fuzz_$name
    if [ ! -x "$binary" ]; then
        echo "no such target: $target" >&2
        exit 2
    fi
    mkdir -p "$work/$name"
    [ ! -d "tests/fuzz/corpus/$name" ] || cp "tests/fuzz/corpus/$name"/* "$work/$name"
    max_len=8192
    if [ "$name" = onnx ]; then # a whole small model is the only seed that makes sense
        cp tests/golden/tiny/onnx/model.onnx "$work/$name"
        max_len=131072
    fi
    status=0
    "$binary" -max_total_time="$seconds" -max_len="$max_len" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$crashes/$name-" "$work/$name" \
        >"$work/$name.log" 2>&1 || status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
    if [ "$status" -eq 0 ]; then
        echo "ok     fuzz_$name: ${runs:-?} executions in $seconds s"
    else
        failed=1
        cp "$work/$name.log" "$crashes/$name.log"
        grep -v '^#' "$work/$name.log" | tail -n 60
        input=$(sed -n 's/.*Test unit written to //p' "$work/$name.log" | tail -n 1)
        echo "FAILED fuzz_$name after ${runs:-?} executions, exit code $status"
        echo "       input: ${input:-none was written}, log: $crashes/$name.log"
    fi
done
exit "$failed"
