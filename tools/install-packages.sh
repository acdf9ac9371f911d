#!/bin/sh
# install-packages.sh GROUP... - install the Debian packages that are missing.
# The only list of the project's apt packages. Uses root only if something is missing,
# and says what it installs. --list prints the packages of the groups given.
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config libutf8proc-dev libjansson-dev libarchive-dev nettle-dev libyaml-dev libmicrohttpd-dev libgnutls28-dev libsqlite3-dev libcurl4-gnutls-dev"
check="libcmocka-dev clang-format clang-tidy"
test="bats fish zsh clang libclang-rt-dev binutils jq man-db nodejs openssl chromium sqlite3 nginx haproxy"
python="python3 python3-numpy python3-sklearn python3-pandas python3-fastapi python3-httpx python3-pytest mypy patchelf binutils"
bench="nodejs time wrk"
package="debhelper dh-python dpkg-dev fakeroot lintian debootstrap iproute2 rpm buildah nodejs python3"
static="libzstd-dev liblz4-dev libacl1-dev libunistring-dev openssl binutils"
peer="python3-torch python3-numpy libopenblas0-pthread"

list_only=no
if [ "${1:-}" = --list ]; then
    list_only=yes
    shift
fi
wanted=
for group in "$@"; do
    case $group in
    build) wanted="$wanted $build" ;;
    check) wanted="$wanted $check" ;;
    test) wanted="$wanted $test" ;;
    python) wanted="$wanted $python" ;;
    bench) wanted="$wanted $bench" ;;
    package) wanted="$wanted $package" ;;
    static) wanted="$wanted $static" ;;
    peer) wanted="$wanted $peer" ;;
    *) echo "install-packages.sh: no group \"$group\", wanted build, check, test, python, bench, package, static or peer" >&2; exit 2 ;;
    esac
done
if [ $list_only = yes ]; then
    for package in $wanted; do echo "$package"; done
    exit 0
fi

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "ringfence needs these packages; install them as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing from Debian:$missing" >&2
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
