#!/bin/bash
# deb.sh [--built] - the Debian packages from sources to purge, in fresh Debian 12 systems (make test-deb). As root; takes
# minutes and needs Debian's archive. Everything happens below build/test-deb. --built: with the packages of the last run.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/test-deb
. tests/packages/chroot.sh
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
upstream=${version%-*}
number=0
ok() {
    number=$((number + 1))
    echo "ok $number - $*"
}
trap 'echo "not ok $((number + 1)) - deb.sh: line $LINENO: $BASH_COMMAND"' ERR
set -o errtrace
mkdir -p "$work"
debian_base "$work/base"

if [ "${1:-}" != --built ]; then
    # ---- Build: with what debian/control names and nothing else, without a network ----
    copy_of "$work/base" "$work/builder"
    b=$work/builder
    mkdir -p "$b/src"
    tools/source-archive.sh "$b/src/ringfence_$upstream.orig.tar.gz"
    tar -C "$b/src" -xf "$b/src/ringfence_$upstream.orig.tar.gz"
    cp -r packaging/debian "$b/src/ringfence-$upstream/debian"
    inside "$b" sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends build-essential fakeroot &&
    apt-get build-dep -y -qq --no-install-recommends /src/ringfence-$upstream" >"$work/build-dep.log" 2>&1
    ok "what debian/control names can be installed"
    inside --offline "$b" sh -c "cd /src/ringfence-$upstream && dpkg-buildpackage -us -uc" >"$work/build.log" 2>&1
    ok "the packages are built without a network"
    rm -rf "$work/debs"
    mkdir "$work/debs"
    cp "$b"/src/*_* "$work/debs"
    rm -rf "$b"
fi
lintian --allow-root --fail-on error "$work/debs"/*.changes
ok "lintian finds no error"
cd "$work/debs"
for package in ringfence libringfence0 libringfence-dev python3-ringfence; do
    [ "$(dpkg-deb -f "$package"_"$version"_*.deb Version)" = "$version" ]
done
[ "$(ls *.deb | grep -vc dbgsym)" -eq 4 ]
dpkg-deb --fsys-tarfile ringfence_"$version"_*.deb | tar -t >files
for file in ./usr/bin/ringfence ./lib/systemd/system/ringfence.service ./usr/lib/sysusers.d/ringfence.conf \
    ./usr/share/bash-completion/completions/ringfence ./usr/share/zsh/vendor-completions/_ringfence \
    ./usr/share/fish/vendor_completions.d/ringfence.fish ./usr/share/man/man1/ringfence-train.1.gz; do
    grep -qxF "$file" files
done
not grep -q 'libringfence\|include' files
ok "four packages, each file in its place"

# An older version, to upgrade from: the same files under another number.
rm -rf "$work/debs/old"
mkdir "$work/debs/old"
for file in [lpr]*_"$version"_*.deb; do
    case $file in *dbgsym*) continue ;; esac
    dpkg-deb -R "$file" unpacked
    sed -i "s/$version/$upstream-0/g" unpacked/DEBIAN/control
    dpkg-deb -b unpacked "old/${file/$version/$upstream-0}" >/dev/null
    rm -r unpacked
done

# ---- Install ----
copy_of "$work/base" "$work/system"
s=$work/system
mkdir -p "$s/debs" "$s/tmp/smoke"
cp -r "$work/debs"/[lpr]*_"$version"_*.deb "$work/debs/old" "$s/debs"
rm -f "$s/debs"/*dbgsym*
cd ../../..
inside "$s" dpkg-query -W -f '${Package}\n' | sort >"$work/before"
inside "$s" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /debs/old/*.deb' >"$work/install.log" 2>&1
[ "$(inside "$s" dpkg-query -W -f '${Version}' ringfence)" = "$upstream-0" ]
[ -z "$(inside "$s" dpkg --audit)" ]
ok "installed"
inside "$s" getent passwd ringfence | grep -q '/nologin$'
[ "$(inside "$s" id -u ringfence)" -lt 1000 ]
ok "the service has a system user that cannot log in"
[ "$(inside "$s" systemctl is-enabled ringfence 2>/dev/null || true)" = disabled ]
[ ! -e "$s/etc/systemd/system/multi-user.target.wants/ringfence.service" ]
not grep -qs ringfence "$s/policy-rc.d.log"
ok "the service is neither enabled nor started"
# The program that the unit starts is there; everything else in it is known to systemd.
inside "$s" systemd-analyze verify ringfence.service >"$work/verify.log" 2>&1 || true
not grep -q 'ringfence.service' "$work/verify.log"
ok "systemd understands the unit"

# ---- Run ----
inside "$s" chown ringfence: /tmp/smoke
as_ringfence() { # as the service's user, in its directory
    chroot --userspec=ringfence:ringfence "$s" sh -c 'cd /tmp/smoke && exec "$@"' sh "$@"
}
tests/packages/smoke.sh "$s/tmp/smoke" chroot --userspec=ringfence:ringfence "$s" \
    sh -c 'cd /tmp/smoke && exec "$@"' sh ringfence
ok "trains, answers and serves, as that user"
as_ringfence bash -c '. /usr/share/bash-completion/completions/ringfence && complete -p ringfence' >/dev/null
ok "completion for bash"
cat >"$s/tmp/smoke/ask.py" <<'PYTHON'
import importlib.metadata
import ringfence
assert importlib.metadata.version("ringfence") == ringfence.__version__
with open("texts") as texts:
    print(*ringfence.load("m.rf").predict(texts.read().splitlines()), sep="\n")
PYTHON
as_ringfence python3 ask.py | cmp - <(cut -f1 "$s/tmp/smoke/answers")
ok "the same answers from Python"
inside "$s" apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config >"$work/gcc.log" 2>&1
sed -n '/^## From C/,/^## /p' README.md | sed -n '/^```c/,/^```/p' | grep -v '^```' >"$s/tmp/smoke/ask.c"
inside "$s" sh -c 'cd /tmp/smoke && cc -std=c11 ask.c $(pkg-config --cflags --libs ringfence) -o ask &&
    cc -std=c11 ask.c -o ask-static $(pkg-config --cflags ringfence) -l:libringfence.a -lutf8proc -ljansson -larchive \
        -lnettle -lyaml -lm -lpthread'
[ "$(as_ringfence ./ask m.rf 'where is my is' | cut -d ' ' -f 1)" = class1 ]
[ "$(as_ringfence ./ask-static m.rf 'where is my is')" = "$(as_ringfence ./ask m.rf 'where is my is')" ]
not grep -q libringfence <(readelf -d "$s/tmp/smoke/ask-static")
ok "the same answers from C, with both libraries"

# ---- Upgrade: what an administrator did stays ----
cp "$s/tmp/smoke/m.rf" "$s/etc/ringfence/model.rf"
(umask 077 && echo secret >"$s/etc/ringfence/tokens")
inside "$s" systemctl enable ringfence 2>/dev/null
inside "$s" sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb' >"$work/upgrade.log" 2>&1
for package in ringfence libringfence0 libringfence-dev python3-ringfence; do
    [ "$(inside "$s" dpkg-query -W -f '${Version}' $package)" = "$version" ]
done
[ "$(inside "$s" systemctl is-enabled ringfence)" = enabled ]
cmp "$s/tmp/smoke/m.rf" "$s/etc/ringfence/model.rf"
[ "$(cat "$s/etc/ringfence/tokens")" = secret ]
as_ringfence ringfence predict m.rf <"$s/tmp/smoke/texts" | cmp - "$s/tmp/smoke/answers"
ok "upgraded; the service stays enabled, the model and its answers as they were"
# A library of another version is refused, by apt and by Python.
not inside "$s" sh -c 'apt-get install -y -qq --allow-downgrades /debs/old/libringfence0*.deb /debs/python3-ringfence*.deb' >"$work/mixed.log" 2>&1
ok "Python package and library go together"

# ---- Remove and purge: all of ours goes, all of the administrator's stays ----
inside "$s" apt-get remove -y -qq ringfence >"$work/remove.log" 2>&1
[ -e "$s/etc/ringfence/model.rf" ]
[ ! -e "$s/usr/bin/ringfence" ]
as_ringfence python3 ask.py | cmp - <(cut -f1 "$s/tmp/smoke/answers")
ok "removed; Python does without the program"
inside "$s" apt-get purge -y -qq ringfence libringfence0 libringfence-dev python3-ringfence >"$work/purge.log" 2>&1
left=$(inside "$s" find /bin /etc /lib /opt /sbin /srv /usr /var -name '*ringfence*' -not -path '/etc/ringfence' \
    -not -path '/var/log/*')
[ -z "$left" ] || echo "left behind: $left"
[ -z "$left" ]
[ "$(ls "$s/etc/ringfence" | tr '\n' ' ')" = "model.rf tokens " ]
[ -z "$(inside "$s" dpkg --audit)" ]
ok "purged; nothing is left but the model and the tokens in /etc/ringfence"

# Again, with nothing of the administrator's there.
inside "$s" sh -c 'rm -r /etc/ringfence && apt-get install -y -qq --no-install-recommends /debs/ringfence_*.deb &&
    apt-get purge -y -qq ringfence' >"$work/again.log" 2>&1
[ ! -e "$s/etc/ringfence" ]
ok "installed once more and purged: not even the directory is left"
rm -rf "$s"
echo "1..$number"
