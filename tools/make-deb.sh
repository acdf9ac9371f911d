#!/bin/sh
# make-deb.sh DIRECTORY - the Debian packages of this tree in DIRECTORY, and what lintian says about them.
# Built in a copy, so that nothing is left in the tree and nothing gets in that git does not know.
# Whoever publishes them gives a name and an address: DEBFULLNAME, DEBEMAIL.
set -eu
cd "$(dirname "$0")/.."
out=$1
version=$(sed -n 's/^#define RF_VERSION "\(.*\)"/\1/p' include/ringfence.h)
rm -rf "$out"
mkdir -p "$out"
tools/source-archive.sh "$out/ringfence_$version.orig.tar.gz"
tar -C "$out" -xf "$out/ringfence_$version.orig.tar.gz"
cp -r "$out/ringfence-$version/packaging/debian" "$out/ringfence-$version/debian"
if [ -n "${DEBEMAIL:-}" ]; then
    sed -i "s/ringfence maintainers <.*>/${DEBFULLNAME:-ringfence maintainers} <$DEBEMAIL>/" \
        "$out/ringfence-$version/debian/control" "$out/ringfence-$version/debian/changelog"
fi
if ! (cd "$out/ringfence-$version" && dpkg-buildpackage -us -uc) >"$out/build.log" 2>&1; then
    tail -n 40 "$out/build.log" >&2
    echo "make-deb.sh: the build failed; all of its output is in $out/build.log" >&2
    exit 1
fi
lintian --allow-root --fail-on error "$out"/*.changes
rm -r "$out/ringfence-$version"
ls "$out"/*.deb
