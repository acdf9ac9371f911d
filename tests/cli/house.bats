#!/usr/bin/env bats
# The house: layers, exported symbols, installation, packages, the tester itself

load helpers

@test "modules include only what stands below them" {
    "$root/tools/check-layers.sh" "$root"
    # and the check can fail
    mkdir -p "$BATS_TEST_TMPDIR/src/base" "$BATS_TEST_TMPDIR/src/text" "$BATS_TEST_TMPDIR/cli"
    echo '#include "text/utf8.h"' >"$BATS_TEST_TMPDIR/src/base/bad.c"
    run "$root/tools/check-layers.sh" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    has "$output" "src/base/bad.c: may not include text/"
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
#include <ringfence.h>
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
    for page in ringfence ringfence-{train,predict,eval,report,inspect,embed,tokenize,encoder,lab}; do
        [ -s "$BATS_TEST_TMPDIR/usr/share/man/man1/$page.1" ]
    done
    "$BATS_TEST_TMPDIR/usr/bin/ringfence" --version
}

@test "every package in the list is installed and known to dpkg" {
    for package in $("$root/tools/install-packages.sh" --list build test); do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package")" = installed ]
    done
    # everything there: no root, no apt, no output
    run env PATH="/usr/bin:/bin" "$root/tools/install-packages.sh" build test
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "a failing test fails the suite" {
    mkdir -p "$BATS_TEST_TMPDIR/t/tests/cli" "$BATS_TEST_TMPDIR/t/build/tests"
    cp "$root/tests/run.sh" "$BATS_TEST_TMPDIR/t/tests/run.sh"
    printf '#!/bin/sh\nexit 0\n' >"$BATS_TEST_TMPDIR/t/build/ringfence"
    fake() { printf '#!/bin/sh\n%s\n' "$2" >"$BATS_TEST_TMPDIR/t/build/tests/$1"; chmod +x "$BATS_TEST_TMPDIR/t/build/tests/$1"; }
    chmod +x "$BATS_TEST_TMPDIR/t/build/ringfence"
    fake test_kernels 'echo "ok 1 - fine"'
    fake test_encoder 'echo "ok 1 - fine"'
    fake test_embedder 'echo "ok 1 - fine"; echo "not ok 2 - broken"; exit 1'
    fake test_silent 'exit 0'
    fake test_skips 'echo "not ok 1 # SKIP this"; echo "ok 2 # skip that"'
    fake test_dies 'echo "ok 1 - fine"; kill -9 $$'
    printf '#!/bin/sh\necho "ok 1 cli"\n' >"$BATS_TEST_TMPDIR/bats"
    printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/cmake"
    chmod +x "$BATS_TEST_TMPDIR/bats" "$BATS_TEST_TMPDIR/cmake"
    run env PATH="$BATS_TEST_TMPDIR:$PATH" "$BATS_TEST_TMPDIR/t/tests/run.sh"
    [ "$status" -eq 1 ]
    # broken twice (both kernels), silent, dies, three that are not there, pages, the service, three builds
    echo "$output"
    [ "${lines[-1]}" = "9 passed, 18 failed, 2 skipped" ]
}

@test "docs/RESULTS.md shows what docs/results holds" {
    cd "$root"
    for table in main:minilm known-open:minilm ablation:minilm negatives:minilm paired:minilm sweeps:minilm; do
        build/ringfence lab table docs/results --format markdown --which "${table%:*}" --encoder "${table#*:}" |
            grep '^|' >"$BATS_TEST_TMPDIR/table"
        [ -s "$BATS_TEST_TMPDIR/table" ]
        while IFS= read -r line; do
            grep -qxF -- "$line" docs/RESULTS.md || { echo "$table: not in docs/RESULTS.md: $line"; false; }
        done <"$BATS_TEST_TMPDIR/table"
    done
}
