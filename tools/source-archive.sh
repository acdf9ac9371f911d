#!/bin/sh
# source-archive.sh FILE.tar.gz - the sources as ringfence-VERSION/, for packages. In a checkout: the
# files that git knows, as they are now; elsewhere all but what was built. The same files give the same bytes.
set -eu
file=$(realpath -m "$1")
cd "$(dirname "$0")/.."
version=$(sed -n 's/^#define RF_VERSION "\(.*\)"/\1/p' include/ringfence.h)
if [ -e .git ]; then
    date=$(git log -1 --format=%ct)
    git ls-files -z
else
    date=$(stat -c %Y CHANGELOG.md)
    find . \( -name .git -o -name 'build*' -path './build*' -o -name node_modules -o -name __pycache__ \) -prune -o \
        \( -type f -o -type l \) -print0
fi >"$file.list"
LC_ALL=C sort -z "$file.list" | tar --no-recursion --owner 0 --group 0 --numeric-owner \
    --mode u+rw,go+r,go-w --mtime "@${SOURCE_DATE_EPOCH:-$date}" --transform "flags=r;s|^\(\./\)\?|ringfence-$version/|" \
    --null --files-from - -c |
    gzip -n >"$file"
rm "$file.list"
