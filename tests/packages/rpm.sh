#!/bin/bash
# rpm.sh - the RPM packages of build/rpm, which Debian's rpmbuild made: what is in them, and that their files run, in a
# Debian 12 system that has the libraries (make test-rpm). No system with RPM is at hand, so dependencies on
# packages of other distributions and their macros are not tested. As root; needs Debian's archive.
set -eu
cd "$(dirname "$0")/../.."
. tests/packages/chroot.sh
rpms=$PWD/build/rpm
s=$PWD/build/test-rpm
trap 'echo "not ok - rpm.sh: line $LINENO: $BASH_COMMAND"' ERR
debian_base "$PWD/build/test-deb/base"

list() { # package
    rpm -qlp "$rpms/$1"-[0-9]*.rpm
}
list ringfence | grep -qx /usr/bin/ringfence
list ringfence | grep -qx /usr/lib/systemd/system/ringfence.service
list ringfence | grep -qx /usr/share/zsh/site-functions/_ringfence
list ringfence-libs | grep -q '/libringfence.so.0$'
list ringfence-devel | grep -q '/include/ringfence.h$'
list python3-ringfence | grep -q '/ringfence/__init__.py$'
rpm -qp --requires "$rpms"/ringfence-[0-9]*.rpm | grep -q '^libmicrohttpd.so'
rpm -qp --provides "$rpms"/ringfence-libs-[0-9]*.rpm | grep -q '^libringfence.so.0'
echo "ok 1 - four packages, each file in its place, with the libraries that they need"

copy_of "$PWD/build/test-deb/base" "$s"
inside "$s" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends libutf8proc2 libjansson4 libarchive13 \
    libnettle8 libyaml-0-2 libmicrohttpd12 libgnutls30 libsqlite3-0 python3' >"$s.log" 2>&1
# Scripts and dependencies are those of other systems.
rpm --root "$s" --nodeps --noscripts --ignorearch -i "$rpms"/*.rpm 2>>"$s.log"
RF_REFERENCE=$PWD/build/ringfence tests/packages/smoke.sh "$s/tmp/smoke" chroot "$s" \
    sh -c 'cd /tmp/smoke && exec "$@"' sh ringfence
echo "ok 2 - trains, answers and serves"
site=$(list python3-ringfence | sed -n 's|/ringfence/__init__.py$||p')
libs=$(dirname "$(list ringfence-libs | grep '/libringfence.so.0$')")
chroot "$s" env PYTHONPATH="$site" LD_LIBRARY_PATH="$libs" python3 -c \
    'import ringfence; print(*ringfence.load("/tmp/smoke/m.rf").predict(open("/tmp/smoke/texts").read().splitlines()), sep="\n")' |
    cmp - <(cut -f1 "$s/tmp/smoke/answers")
echo "ok 3 - the same answers from Python"
rpm --root "$s" --nodeps --noscripts -e ringfence ringfence-libs ringfence-devel python3-ringfence 2>>"$s.log"
[ -z "$(find "$s/usr" "$s/etc" -name '*ringfence*' -not -path '*/__pycache__*')" ]
echo "ok 4 - removed, with nothing left"
rm -rf "$s"
echo "1..4"
