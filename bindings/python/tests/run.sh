#!/bin/sh
# run.sh - the tests of the Python package as TAP, with Debian's Python: types, then behaviour.
set -u
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
if mypy --strict --cache-dir ../../build/mypy-cache ringfence; then
    echo "ok 0 - types"
else
    echo "not ok 0 - types"
fi
RF_TAP=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider tests
