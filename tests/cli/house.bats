#!/usr/bin/env bats
# The house: layers, exported symbols, installation, packages, the tester itself

load helpers

@test "modules include only what is below them, and file names are unique" {
    "$root/tools/check-layers.sh" "$root"
    # and the check can fail
    mkdir -p "$BATS_TEST_TMPDIR/src/base" "$BATS_TEST_TMPDIR/src/text" "$BATS_TEST_TMPDIR/cli"
    echo '#include "text/utf8.h"' >"$BATS_TEST_TMPDIR/src/base/bad.c"
    run "$root/tools/check-layers.sh" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    has "$output" "src/base/bad.c: may not include text/"
    rm "$BATS_TEST_TMPDIR/src/base/bad.c"
    touch "$BATS_TEST_TMPDIR"/src/{base,text}/same.c
    run "$root/tools/check-layers.sh" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    has "$output" "same.c: more than one file of this name in src"
}

@test "only rf_ symbols are exported, and all that the header promises" {
    nm -D --defined-only "$root/build/libringfence.so" | awk '{ print $3 }' | sort >"$BATS_TEST_TMPDIR/have"
    [ -z "$(grep -v '^rf_' "$BATS_TEST_TMPDIR/have")" ]
    cat "$root"/include/*.h | grep -v '^ \*' | tr '\n' ' ' | grep -o 'RF_API [^;]*' |
        grep -o 'rf_[a-z_0-9]*(' | tr -d '(' | sort -u >"$BATS_TEST_TMPDIR/promised"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/promised")" -gt 20 ]
    diff "$BATS_TEST_TMPDIR/promised" "$BATS_TEST_TMPDIR/have"
    readelf -d "$root/build/libringfence.so" | grep -q 'SONAME.*libringfence.so.0'
    # the static library defines nothing that could clash either
    run bash -c "nm --defined-only '$root/build/libringfence.a' | awk 'NF == 3 && \$2 ~ /[A-Z]/ { print \$3 }' | grep -v '^rf_'"
    [ -z "$output" ]
}

@test "installed: header, both libraries, pkg-config, man pages; the header's example runs" {
    cmake --install "$root/build" --prefix "$BATS_TEST_TMPDIR/usr" >/dev/null
    export PKG_CONFIG_PATH=$(dirname "$(find "$BATS_TEST_TMPDIR/usr" -name ringfence.pc)")
    # nothing beside it, and nothing that points elsewhere, though it was configured for another place
    grep -q "^ExecStart=$BATS_TEST_TMPDIR/usr/bin/ringfence serve" "$BATS_TEST_TMPDIR/usr/lib/systemd/system/ringfence.service"
    cat >"$BATS_TEST_TMPDIR/use.c" <<'C'
#include <ringfence_encoder.h>
#include <stdio.h>
static int fail(const char *msg) { fprintf(stderr, "%s\n", msg); return 1; }
int main(int argc, char **argv)
{
    char dir[RF_PATH_MAX];
    rf_error err;
    if (argc != 2 || rf_encoder_path(argv[1], dir, sizeof dir, &err) != RF_OK)
        return fail(err.msg);
    rf_encoder *encoder = rf_encoder_load(dir, &err);
    rf_embedder *embedder = encoder ? rf_embedder_new(encoder, NULL, &err) : NULL;
    if (!embedder)
        return fail(err.msg);
    const char *texts[] = {"where is my parcel", "the chain fell off"};
    size_t lens[] = {18, 18};
    float z[2 * 384];
    if (rf_embed(embedder, texts, lens, 2, z, &err) != RF_OK)
        return fail(err.msg);
    printf("%.9g\n", (double)z[0]);
    rf_embedder_free(embedder);
    rf_encoder_free(encoder);
    return 0;
}
C
    want=$(echo 'where is my parcel' | "$rf" embed --encoder "$tiny" | cut -f1)
    cc -std=c11 -Wall -Wextra -Werror -pedantic "$BATS_TEST_TMPDIR/use.c" \
        $(pkg-config --cflags --libs ringfence) -o "$BATS_TEST_TMPDIR/use"
    run env LD_LIBRARY_PATH="$(pkg-config --variable=libdir ringfence)" "$BATS_TEST_TMPDIR/use" "$tiny"
    [ "$output" = "$want" ]
    cc -std=c11 "$BATS_TEST_TMPDIR/use.c" $(pkg-config --cflags ringfence) \
        "$(pkg-config --variable=libdir ringfence)/libringfence.a" \
        $(pkg-config --libs --static libutf8proc jansson nettle) -larchive -lm -lpthread \
        -o "$BATS_TEST_TMPDIR/use_static"
    run "$BATS_TEST_TMPDIR/use_static" "$tiny"
    [ "$output" = "$want" ]
    for page in ringfence ringfence-{check,train,predict,eval,fence,report,serve,store,drift,inspect,embed,tokenize,encoder,lab}; do
        [ -s "$BATS_TEST_TMPDIR/usr/share/man/man1/$page.1" ]
    done
    "$BATS_TEST_TMPDIR/usr/bin/ringfence" --version
}

@test "the program needs nothing but the installed library and base/" {
    cd "$BATS_TEST_TMPDIR"
    cmake --install "$root/build" --prefix "$PWD/usr" >/dev/null
    export PKG_CONFIG_PATH=$(dirname "$(find usr -name ringfence.pc)")
    mkdir -p alone/src objects
    cp -r "$root/cli" "$root/hub" "$root/serve" "$root/store" alone/
    cp -r "$root/src/base" alone/src/
    rm alone/cli/cmd_lab.c alone/cli/lab_*.[ch]
    mv alone/hub/hub_none.c . # what takes the client's place without libcurl
    ls alone/cli/*.c alone/hub/*.c hub_none.c alone/serve/*.c alone/store/*.c alone/src/base/*.c "$root"/build/asset_*.c |
        xargs -P "$(nproc)" -I '{}' sh -c 'cc -std=c11 -O0 -D_POSIX_C_SOURCE=200809L -DRF_WITHOUT_LAB -Ialone \
            -Ialone/src -Ialone/serve -Ialone/store -Ialone/cli -Ialone/hub $(pkg-config --cflags ringfence jansson nettle libmicrohttpd gnutls sqlite3 libcurl) \
            -c "$1" -o "objects/$(echo "$1" | tr / _).o"' sh '{}'
    mv objects/hub_none.c.o .
    libs="$(pkg-config --libs ringfence jansson nettle libmicrohttpd gnutls sqlite3 libarchive libutf8proc) -lpthread -lm"
    cc objects/*.o $libs $(pkg-config --libs libcurl) -o own
    export LD_LIBRARY_PATH=$(pkg-config --variable=libdir ringfence)
    want=$(echo 'where is my parcel' | "$rf" embed --encoder "$tiny")
    [ "$(echo 'where is my parcel' | ./own embed --encoder "$tiny")" = "$want" ]
    # and without libcurl
    rm objects/alone_hub_*.o
    cc objects/*.o hub_none.c.o $libs -o own
    [ "$(echo 'where is my parcel' | ./own embed --encoder "$tiny")" = "$want" ]
    run_apart env RINGFENCE_CACHE="$PWD/cache" ./own encoder get acme/tiny
    [ "$status" -eq 1 ]
    has "$complaint" "built without libcurl"
}

@test "the release build is hardened" {
    for file in "$rf" "$root/build/libringfence.so"; do
        headers=$(readelf -hldW "$file")
        [[ "$headers" =~ Type:\ +DYN ]] # position independent
        has "$headers" GNU_RELRO
        [[ "$headers" =~ BIND_NOW|Flags:.*NOW ]]
        [[ "$headers" =~ GNU_STACK[^$'\n']*RW\  ]] # not executable
        symbols=$(nm -D --undefined-only "$file")
        has "$symbols" __stack_chk_fail
        has "$symbols" __snprintf_chk # _FORTIFY_SOURCE
    done
    [[ "$(readelf -dW "$rf")" =~ Flags:.*PIE ]]
}

@test "every package in the list is installed and known to dpkg" {
    for package in $("$root/tools/install-packages.sh" --list build check test python); do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package")" = installed ]
    done
    # everything there: no root, no apt, no output
    run env PATH="/usr/bin:/bin" "$root/tools/install-packages.sh" build check test python
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

# A tree with made-up test programs, and tests/run.sh in it.
fake_tree() {
    tree="$BATS_TEST_TMPDIR/t"
    mkdir -p "$tree/tests/cli" "$tree/tests/unit" "$tree/tools" "$tree/build/tests" "$tree/bin"
    cp "$root"/tests/{run.sh,part.sh,build.sh,suite.mk} "$tree/tests"
    touch "$tree/tests/cli/x.bats"
    fake build/ringfence 'exit 0'
    fake bin/bats 'echo "ok 1 cli"'
    fake bin/cmake 'exit 1'
    for check in format layers tidy; do fake tools/check-$check.sh 'exit 0'; done
}
fake() { # file, body of the script
    printf '#!/bin/sh\n%s\n' "$2" >"$tree/$1"
    chmod +x "$tree/$1"
    case $1 in build/tests/*) touch "$tree/tests/unit/$(basename "$1").c" ;; esac
}

@test "a failing test fails the suite" {
    fake_tree
    fake build/tests/test_kernels 'echo "ok 1 - fine"'
    fake build/tests/test_encoder 'echo "ok 1 - fine"'
    fake build/tests/test_embedder 'echo "ok 1 - fine"; echo "not ok 2 - broken"; exit 1'
    fake build/tests/test_silent 'exit 0'
    fake build/tests/test_skips 'echo "not ok 1 # SKIP this"; echo "ok 2 # skip that"'
    fake build/tests/test_dies 'echo "ok 1 - fine"; kill -9 $$'
    touch "$tree/tests/unit/test_absent.c" # not built
    fake tools/check-tidy.sh 'echo "a mistake"; exit 1'
    run env PATH="$tree/bin:$PATH" "$tree/tests/run.sh"
    echo "$output"
    [ "$status" -eq 1 ]
    has "$output" "FAILED test_embedder: 1 (full output in build/test-logs/test_embedder.log)"
    has "$output" "FAILED test_silent: 1, ran no test"
    has "$output" "FAILED test_dies: 1, ended with exit code 137"
    has "$output" "FAILED tidy: 1"
    has "$output" "a mistake"
    # passed: kernels, encoder and the good half of embedder, each twice, one of test_dies, x.bats, kill,
    # format, layers; failed: broken
    # twice, silent, dies, absent, five portable ones, three of pages, the service, the hub, Python, two builds, tidy
    [ "${lines[-1]}" = "11 passed, 21 failed, 2 skipped" ]
}

@test "the quick check: no slow program, and it says so; the slowest parts are listed" {
    fake_tree
    fake build/tests/test_kernels 'echo "ok 1 - fine"'
    fake build/tests/test_alloc 'echo "not ok 1 - never run"; exit 1'
    run env PATH="$tree/bin:$PATH" "$tree/tests/run.sh" check
    echo "$output"
    [ "$status" -eq 0 ]
    has "$output" "left to make test: test_alloc"
    has "$output" "slowest parts"
    [ "$(grep -cE '^ +[0-9]+\.[0-9] \([0-9]+\.[0-9]\) [a-z_]+$' <<<"$output")" -eq 4 ]
    [ "${lines[-1]}" = "4 passed, 0 failed" ]
}

@test "clang-format and clang-tidy find what they are for" {
    printf 'int  f(void);\n' >"$BATS_TEST_TMPDIR/format.c"
    run "$root/tools/check-format.sh" "$BATS_TEST_TMPDIR/format.c"
    [ "$status" -ne 0 ]
    has "$output" "format.c:1:"
    # a condition that cannot be meant, and a division by zero that only the analyzer sees
    printf 'int f(int a);\nint f(int a)\n{\n    if (a == 1 || a == 1)\n        return 0;\n    return 1;\n}\n' >"$BATS_TEST_TMPDIR/tidy.c"
    printf 'int f(int a);\nint f(int a)\n{\n    int d = a;\n    if (d == 0)\n        return 5 / d;\n    return 1;\n}\n' >"$BATS_TEST_TMPDIR/analyzer.c"
    run "$root/tools/check-tidy.sh" "$BATS_TEST_TMPDIR/tidy.c"
    echo "$output"
    [ "$status" -ne 0 ]
    has "$output" "misc-redundant-expression"
    run "$root/tools/check-tidy.sh" --analyze "$BATS_TEST_TMPDIR/analyzer.c"
    echo "$output"
    [ "$status" -ne 0 ]
    has "$output" "DivideZero"
}

@test "docs/RESULTS.md shows what docs/results holds" {
    cd "$root"
    for table in main:minilm known-open:minilm ablation:minilm negatives:minilm paired:minilm sweeps:minilm \
        updates:minilm; do
        build/ringfence lab table docs/results --format markdown --which "${table%:*}" --encoder "${table#*:}" |
            grep '^|' >"$BATS_TEST_TMPDIR/table"
        [ -s "$BATS_TEST_TMPDIR/table" ]
        while IFS= read -r line; do
            grep -qxF -- "$line" docs/RESULTS.md || { echo "$table: not in docs/RESULTS.md: $line"; false; }
        done <"$BATS_TEST_TMPDIR/table"
    done
}
