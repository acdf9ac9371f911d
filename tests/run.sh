#!/bin/sh
# run.sh - the whole suite. Every part speaks TAP; the last line is the sum, and the exit
# code follows it. A test program that dies counts as a failure, whatever it printed.
set -u
cd "$(dirname "$0")/.."
log=build/test-logs
rm -rf "$log"
mkdir -p "$log"
passed=0
failed=0
skipped=0

count() { # name, file with TAP, exit code
    # A skipped test is "ok 3 # SKIP ..." to bats and "not ok 3 # SKIP ..." to cmocka.
    skip=$(grep -cE '^(not )?ok .*# [sS][kK][iI][pP]' "$2")
    ok=$(grep '^ok ' "$2" | grep -vci '# skip')
    bad=$(grep '^not ok ' "$2" | grep -vci '# skip')
    if [ "$3" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "not ok - $1 ended with exit code $3"
    fi
    if [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$skip" -eq 0 ]; then
        bad=1
        echo "not ok - $1 ran no test"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + skip))
    if [ "$bad" -gt 0 ]; then
        echo "FAILED $1: $bad (full output in $2)"
        grep -v '^ok ' "$2" | tail -n 60
    else
        echo "ok     $1: $ok passed$([ "$skip" -eq 0 ] || echo ", $skip SKIPPED")"
    fi
    grep -E '^(not )?ok .*# [sS][kK][iI][pP]' "$2" | sed -E 's/^(not )?ok [0-9]*/       skipped:/'
    grep '^SKIPPED' "$2" | sort -u | sed 's/^/       /'
}

run() { # name, command...
    name=$1
    shift
    CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$log/$name.tap" 2>&1
    count "$name" "$log/$name.tap" $?
}

# As run, for programs that do not get into each other's way: as many at a time as there are
# CPUs, told when all have ended.
together() { # what stands before and after the name, programs...
    before=$1 after=$2
    shift 2
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' sh -c '
        name=$2/$3$(basename "$1")$4
        CMOCKA_MESSAGE_OUTPUT=TAP "$1" >"$name.tap" 2>&1
        echo $? >"$name.code"' sh '{}' "$log" "$before" "$after"
    for test; do
        name=$before$(basename "$test")$after
        code=$(cat "$log/$name.code")
        count "$name" "$log/$name.tap" "${code:-1}"
    done
}

build() { # preset, directory, targets (none: everything)
    preset=$1
    dir=$2
    shift 2
    if ! { [ -f "$dir/build.ninja" ] || cmake --preset "$preset"; } >"$log/build-$preset.log" 2>&1 ||
        ! ninja -C "$dir" "$@" >>"$log/build-$preset.log" 2>&1; then
        tail -n 40 "$log/build-$preset.log"
        failed=$((failed + 1))
        echo "FAILED build with preset $preset (full output in $log/build-$preset.log)"
        return 1
    fi
    passed=$((passed + 1))
    echo "ok     build with preset $preset, no warning"
}

# Real encoders: fetched once into the cache; what needs them is skipped, loudly, if they
# cannot be had.
for encoder in minilm minilm-fp32 gte-small; do
    build/ringfence encoder get "$encoder" ||
        echo "SKIPPED: encoder $encoder is not to be had; tests that need it are skipped"
done

together '' '' build/tests/test_*
export RINGFENCE_KERNELS=portable
together '' -portable $(printf 'build/tests/%s ' test_kernels test_encoder test_embedder \
    test_tune test_ans_step test_session test_methods_posthoc test_objectives \
    test_cosine_objectives test_lab_run)
unset RINGFENCE_KERNELS
run cli bats --tap tests/cli
run kill bats --tap tests/long
run pages tests/pages/run.sh
run lab-pages tests/pages/lab.sh
run serve tests/serve/run.sh
run serve-page tests/serve/page.sh
build clang build-clang
if build asan build-asan; then
    # The big models say nothing more under ASan and take minutes.
    together asan- '' $(ls build-asan/tests/test_* | grep -v 'test_features$\|test_bert_base$')
    run asan-serve env RF_SLOW=1 RF_PROGRAM=build-asan/ringfence \
        RF_TRAINER=build/ringfence tests/serve/run.sh
    run asan-portable env RINGFENCE_KERNELS=portable build-asan/tests/test_embedder
fi
threaded="test_base test_dataset test_embedder test_tune test_ans test_session test_tsne
    test_methods_rules test_lab_run test_queue"
if build tsan build-tsan ringfence_program $threaded; then
    together tsan- '' $(printf 'build-tsan/tests/%s ' $threaded)
    run tsan-serve env RF_SLOW=1 RF_PROGRAM=build-tsan/ringfence \
        RF_TRAINER=build/ringfence tests/serve/run.sh
fi

if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
