#!/bin/sh
# make-rpm.sh DIRECTORY - RPM packages of this tree in DIRECTORY. Where rpm does not know what is installed, as on
# Debian, the packages that the spec wants to build with are taken to be there.
set -eu
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
version=$(sed -n 's/^#define RF_VERSION "\(.*\)"/\1/p' include/ringfence.h)
rm -rf "$out"
mkdir -p "$out/SOURCES"
tools/source-archive.sh "$out/SOURCES/ringfence-$version.tar.gz"
nodeps=
rpm -q rpm >/dev/null 2>&1 || nodeps=--nodeps
if ! rpmbuild $nodeps --define "_topdir $out" -ba packaging/ringfence.spec >"$out/build.log" 2>&1; then
    tail -n 40 "$out/build.log" >&2
    echo "make-rpm.sh: the build failed; all of its output is in $out/build.log" >&2
    exit 1
fi
mv "$out"/RPMS/*/*.rpm "$out"
rm -rf "$out/BUILD" "$out/BUILDROOT" "$out/RPMS"
ls "$out"/*.rpm
