#!/bin/bash
# docker.sh - packaging/Dockerfile, every step of it, with buildah in the place of a Docker engine (make test-docker).
# The image debian:12-slim is a system by debootstrap under that name. As root; needs Debian's archive.
set -eu
cd "$(dirname "$0")/../.."
. tests/packages/chroot.sh
work=$PWD/build/test-docker
base=$PWD/build/test-deb/base
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot XDG_RUNTIME_DIR=$work/run
trap 'echo "not ok - docker.sh: line $LINENO: $BASH_COMMAND"' ERR
rm -rf "$work"
mkdir -p "$work/run" "$work/model"
buildah() {
    command buildah --root "$work/storage" --runroot "$work/run" "$@"
}
debian_base "$base"
c=$(buildah from scratch)
buildah add --quiet "$c" "$base" / >/dev/null
buildah commit --quiet --rm "$c" docker.io/library/debian:12-slim >/dev/null
buildah bud --quiet --format docker --pull-never --ignorefile packaging/Dockerfile.dockerignore -f packaging/Dockerfile \
    -t ringfence . >"$work/build.log" 2>&1 || {
    tail -n 30 "$work/build.log"
    false
}
echo "ok 1 - every step runs; the built program passes its check"

config=$(buildah inspect --type image ringfence)
of() { # expression on the configuration of the image
    node -e 'const d = JSON.parse(process.argv[1]).Docker.config; console.log(eval(process.argv[2]))' "$config" "$1"
}
[ "$(of d.User)" = 10001:10001 ]
[ "$(of 'd.Healthcheck.Test[0]')" = CMD ]
[ "$(of 'd.Entrypoint.concat(d.Cmd).join(" ")')" = \
    "/usr/bin/ringfence serve /model/model.rf --listen 0.0.0.0:8080 --token-file /model/tokens" ]
echo "ok 2 - not root, with a health check"

# A container of it: its files, its user, its command and its probe, in a network of its own.
c=$(buildah from --pull-never ringfence)
root=$(buildah mount "$c")
[ ! -e "$root/src" ]
tests/packages/smoke.sh "$work/model" "$PWD/build/ringfence" >/dev/null
cp "$work/model/m.rf" "$root/model/model.rf"
(umask 077 && echo 0123456789abcdef0123456789abcdef >"$root/model/tokens")
chown 10001 "$root/model/tokens"
unshare --net bash -euc '
    root=$1 probe=$2 log=$3
    ip link set lo up
    not() { ! "$@"; }
    as() { chroot --userspec=10001:10001 "$root" "$@"; }
    not as bash -c "$probe" 2>/dev/null # nobody there yet
    # not by the function: $! would be a shell, and the signal would not reach the service
    chroot --userspec=10001:10001 "$root" /usr/bin/ringfence serve /model/model.rf --listen 0.0.0.0:8080 \
        --token-file /model/tokens >"$log" 2>&1 &
    while kill -0 $! 2>/dev/null && ! grep -q listening "$log"; do sleep 0.1; done
    as bash -c "$probe"
    kill -TERM $!
    wait $!
    not as bash -c "$probe" 2>/dev/null
' bash "$root" "$(of 'd.Healthcheck.Test[3]')" "$work/log" || {
    cat "$work/log"
    false
}
not grep -q root "$work/log" # the program says so if it is
echo "ok 3 - the service runs as its user, and the health check tells whether it does"
buildah umount --all >/dev/null
rm -rf "$work"
echo "1..3"
