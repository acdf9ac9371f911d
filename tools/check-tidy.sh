#!/bin/sh
# check-tidy.sh [--analyze] [FILE...] - clang-tidy with the checks in .clang-tidy, over all sources of the
# library, the programs and the unit tests if none is named. Needs build/ configured with RF_TESTS=ON.
#
# --analyze runs clang's analyzer instead, over the library and the programs. It follows paths through a
# function and takes minutes of CPU, so it is not part of the suite: run it before a release.
set -u
cd "$(dirname "$0")/.."
checks='' where='src lab cli hub serve tests/unit'
if [ "${1:-}" = --analyze ]; then
    shift
    checks='-*,clang-analyzer-core.DivideZero,clang-analyzer-core.UndefinedBinaryOperatorResult,clang-analyzer-core.uninitialized.*,clang-analyzer-unix.*,clang-analyzer-deadcode.*'
    where='src lab cli hub serve'
fi
[ $# -gt 0 ] || set -- $(find $where -name '*.c' | sort)
out=$(mktemp)
trap 'rm -f "$out"' EXIT
code=0
echo "clang-tidy: $# files"
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 8 clang-tidy -p build --quiet --config-file=.clang-tidy --checks="$checks" >"$out" 2>&1 ||
    code=1
grep -vE '^[0-9]+ warnings? (generated|treated as errors?)' "$out"
exit $code
