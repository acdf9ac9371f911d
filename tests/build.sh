#!/bin/sh
# build.sh PRESET [TARGET...] - build a preset for the suite, everything if no target is named. Tests
# run meanwhile, so it takes half the CPUs.
set -eu
preset=$1
shift
jobs=$(($(nproc) / 2))
cmake --preset "$preset"
exec ninja -C "build-$preset" -j "$((jobs > 0 ? jobs : 1))" "$@"
