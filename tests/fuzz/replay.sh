#!/bin/sh
# replay.sh BUILD - every fuzz target once over each of its seeds, with the programs of an ordinary build. Prints TAP.
set -u
cd "$(dirname "$0")/../.."
number=0
code=0
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    set -- "$1" tests/fuzz/corpus/"$name"/*
    [ "$name" != onnx ] || set -- "$1" tests/golden/tiny/onnx/model.onnx
    build=$1
    shift
    number=$((number + 1))
    if "$build/fuzz/replay_$name" "$@"; then
        echo "ok $number - fuzz_$name: $# inputs"
    else
        echo "not ok $number - fuzz_$name"
        code=1
    fi
    set -- "$build"
done
echo "1..$number"
exit $code
