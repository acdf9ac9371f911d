#!/bin/sh
# run.sh MINUTES [TARGET...] - each fuzz target for that long, as many at a time as there are CPUs
#
# Targets are named as their sources: fuzz_tokenizer, or just tokenizer; all of them if none is given. They begin
# with the seeds in corpus/ and with what earlier runs have learnt, which stays in build-fuzz/corpus, reduced to the
# inputs that reach something new. An input that crashes a target stays in build-fuzz/crashes, as it was found and
# made as small as a minute allows (NAME-....small), and the exit code is 1.
set -eu

usage() {
    echo "usage: $0 MINUTES [TARGET...]" >&2
    exit 2
}

cd "$(dirname "$0")/../.."
build=build-fuzz
crashes=$build/crashes

# One target, by itself: run.sh --one SECONDS NAME.
one() {
    seconds=$1 name=$2
    binary=$build/fuzz/fuzz_$name
    kept=$build/corpus/$name
    log=$build/corpus/$name.log
    mkdir -p "$kept"
    max_len=8192
    if [ "$name" = onnx ]; then # a whole small model is the only seed that makes sense
        cp tests/golden/tiny/onnx/model.onnx "$kept"
        max_len=131072
    fi
    seeds=tests/fuzz/corpus/$name
    [ -d "$seeds" ] || seeds=
    status=0
    "$binary" -max_total_time="$seconds" -max_len="$max_len" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$crashes/$name-" "$kept" $seeds >"$log" 2>&1 || status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    if [ "$status" -eq 0 ]; then
        rm -rf "$kept.less"
        mkdir "$kept.less"
        if "$binary" -merge=1 -max_len="$max_len" -rss_limit_mb=2048 "$kept.less" "$kept" >/dev/null 2>&1; then
            rm -rf "$kept"
            mv "$kept.less" "$kept"
        fi
        echo "ok     fuzz_$name: ${runs:-?} executions in $seconds s, ${rate:-?} a second, $(ls "$kept" | wc -l) inputs kept"
        return 0
    fi
    cp "$log" "$crashes/$name.log"
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    if [ -n "$input" ]; then
        "$binary" -minimize_crash=1 -max_total_time=60 -timeout=10 -rss_limit_mb=2048 \
            -exact_artifact_path="$input.small" "$input" >/dev/null 2>&1 || true
        [ -f "$input.small" ] || cp "$input" "$input.small"
    fi
    { # in one piece: others print at the same time
        grep -v '^#' "$log" | tail -n 60
        echo "FAILED fuzz_$name after ${runs:-?} executions, exit code $status"
        echo "       input: ${input:-none was written}${input:+ and $input.small}, log: $crashes/$name.log"
    } >"$log.report"
    cat "$log.report"
    return 1
}

if [ "${1-}" = --one ]; then
    one "$2" "$3"
    exit
fi
case ${1-} in
'' | *[!0-9.]* | .) usage ;;
esac
seconds=$(awk -v m="$1" 'BEGIN { printf "%d", 60 * m + 0.5 }')
[ "$seconds" -gt 0 ] || usage
shift

if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        set -- "$@" "$(basename "$source" .c)"
    done
fi
mkdir -p "$crashes" "$build/corpus"
if ! { [ -f "$build/build.ninja" ] || cmake --preset fuzz; } >"$build/fuzz.log" 2>&1 ||
    ! ninja -C "$build" fuzz >>"$build/fuzz.log" 2>&1; then
    tail -n 40 "$build/fuzz.log"
    echo "cannot build the fuzz targets (full output in $build/fuzz.log)" >&2
    exit 1
fi
for target in "$@"; do
    if [ ! -x "$build/fuzz/fuzz_${target#fuzz_}" ]; then
        echo "no such target: $target" >&2
        exit 2
    fi
done
for target in "$@"; do echo "${target#fuzz_}"; done | xargs -P "$(nproc)" -n 1 "tests/fuzz/run.sh" --one "$seconds" || exit 1
