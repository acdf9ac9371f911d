#!/bin/sh
# check-layers.sh [ROOT] - a module may include itself and the modules named before it.
# This line is the dependency diagram of the project, lowest first:
order="base num data text encoder known open map model lab report"
# The programs see the public header, base/ and their own files; cli/ starts serve/.

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
for dir in src/*/; do # a module that is not in the order has no place yet
    case " $order " in
    *" $(basename "$dir") "*) ;;
    *)
        echo "$dir: not in the order of modules" >&2
        bad=1
        ;;
    esac
done
check serve base
check cli "base serve"
exit $bad
