#!/bin/sh
# check-layers.sh [ROOT] - a module may include itself and the modules named before it. File names are
# unique within the library, and within the programs: archives and backtraces leave out the directory.
# This line is the dependency diagram of the project, lowest first:
order="base num settings data text encoder map known open ans methods model answer check stages folds fence train update review report"
# The lab sees all of them. The programs see the public header, base/ and their own files;
# serve/ fills store/, and cli/ starts serve/ and the lab, reads store/ and fetches with hub/.

cd "${1:-.}" || exit 2
bad=0
check() { # directory, modules it may include
    for file in "$1"/*.[ch]; do
        [ -e "$file" ] || continue
        for module in $(sed -n 's|^#include "\([a-z]*\)/.*|\1|p' "$file"); do
            case " $2 " in
            *" $module "*) ;;
            *)
                echo "$file: may not include $module/" >&2
                bad=1
                ;;
            esac
        done
    done
}
below=
for module in $order; do
    below="$below $module"
    check "src/$module" "$below"
done
for dir in src/*/; do # every module must be in the order
    case " $order " in
    *" $(basename "$dir") "*) ;;
    *)
        echo "$dir: not in the order of modules" >&2
        bad=1
        ;;
    esac
done
check lab "$order lab"
check store base
check hub base
check serve "base store"
check cli "base store hub serve lab"

unique() { # directories
    for name in $(find "$@" -name '*.[ch]' 2>/dev/null | sed 's|.*/||' | sort | uniq -d); do
        echo "$name: more than one file of this name in $*" >&2
        bad=1
    done
}
unique src
unique lab cli serve store hub
exit $bad
