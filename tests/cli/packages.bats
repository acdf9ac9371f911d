#!/usr/bin/env bats
# What packages are made from. make test-deb builds, installs and removes them, which takes minutes.

load helpers

@test "the lists of files in packaging/ cover what is installed, and versions agree" {
    DESTDIR="$BATS_TEST_TMPDIR" cmake --install "$root/build" --prefix /usr >/dev/null
    run python3 "$root/tests/packages/lists.py" "$BATS_TEST_TMPDIR"
    echo "$output"
    [ "$status" -eq 0 ]
    # a file that no list has is found
    touch "$BATS_TEST_TMPDIR/usr/bin/ringfence-more"
    run python3 "$root/tests/packages/lists.py" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    has "$output" "usr/bin/ringfence-more: in no package"
    has "$output" "ringfence.spec: usr/bin/ringfence-more: in no package"
}

@test "the source archive has what git knows, gives the same bytes again, and nothing that was built" {
    [ -e "$root/.git" ] || skip "not a checkout"
    for i in 1 2; do "$root/tools/source-archive.sh" "$BATS_TEST_TMPDIR/$i.tar.gz"; done
    cmp "$BATS_TEST_TMPDIR/1.tar.gz" "$BATS_TEST_TMPDIR/2.tar.gz"
    version=$("$rf" --version | sed -n 's/^ringfence \([0-9.]*\).*/\1/p')
    diff <(tar -tf "$BATS_TEST_TMPDIR/1.tar.gz") <(git -C "$root" ls-files | LC_ALL=C sort | sed "s|^|ringfence-$version/|")
}

@test "what packages run after a build passes here, too" {
    RF_REFERENCE="$rf" "$root/tests/packages/smoke.sh" "$BATS_TEST_TMPDIR/smoke" "$rf"
    # and it can fail
    printf '#!/bin/sh\necho ringfence 0.0.0\n' >"$BATS_TEST_TMPDIR/other"
    chmod +x "$BATS_TEST_TMPDIR/other"
    run "$root/tests/packages/smoke.sh" "$BATS_TEST_TMPDIR/smoke" "$BATS_TEST_TMPDIR/other"
    [ "$status" -eq 1 ]
    has "$output" "not version"
}
