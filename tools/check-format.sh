#!/bin/sh
# check-format.sh [FILE...] - C sources that clang-format would change; all of them if none is named.
set -u
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(find include src lab cli hub serve tests bench examples -name node_modules -prune -o -name '*.[ch]' -print | sort)
exec clang-format --dry-run -Werror "$@"
