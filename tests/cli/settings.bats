#!/usr/bin/env bats
# One row per setting: a made-up one is added to a copy of the tree and is everywhere

load helpers

# Only what deals with settings is compiled again; the rest comes from the library.
@test "a new setting is a field and a row" {
    cd "$BATS_TEST_TMPDIR"
    mkdir tree
    cp -r "$root/src" "$root/lab" "$root/cli" "$root/include" tree
    sed -i '/^    float fence_offset;/i\    float sparkle; /* of the heads */' tree/src/settings/settings.h
    sed -i '/OPTION("fence-offset"/a\
    {STAGE_2, NUMBER(sparkle, 0.25, 0, 8), .sweep = "glitter", .values = "1,2",\
     OPTION("sparkle", "Sparkle of the heads")},' tree/src/settings/settings.c
    [ "$(diff -rq "$root/src" tree/src | wc -l)" -eq 2 ]
    cat >main.c <<'C'
#include "lab/lab_settings.h"
#include "settings_options.h"
#include "stages/train_settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What train does with its arguments, from options to the description of a model. */
static int run(const command *self, int argc, char **argv)
{
    option options[SETTINGS_OPTIONS_MAX];
    settings_text text = {0};
    size_t n_options = settings_options_list(&text, NULL, options), n;
    const char *variant = "";
    switch (options_parse(self, options, n_options, argc, argv, &variant, 1, &n)) {
    case PARSE_DONE: return 0;
    case PARSE_BAD: return 2;
    case PARSE_OK: break;
    }
    rf_train_options o = rf_train_options_default();
    rf_settings s = rf_settings_default();
    rf_split_options split = {0};
    const rf_config config = {.layers = 6, .positions = 512};
    rf_error err = {0};
    if (rf_settings_parse(&s, text.text, &err) != RF_OK ||
        rf_variant_apply(variant, &s, &split, &err) != RF_OK ||
        rf_train_resolve(&o, &s, &config, 1000, 10, &err) != RF_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    json_t *json = rf_train_settings_json(&o, &s);
    char *dump = json_dumps(json, JSON_COMPACT);
    puts(dump);
    free(dump);
    json_decref(json);
    return 0;
}

int main(int argc, char **argv)
{
    const command train = {.name = "train", .synopsis = "", .summary = "", .run = run};
    return train.run(&train, argc, argv);
}
C
    cc -std=c11 -D_POSIX_C_SOURCE=200809L -Itree/include -Itree/src -Itree/cli -Itree \
        main.c tree/src/settings/settings.c tree/src/stages/train_settings.c tree/lab/lab_settings.c \
        tree/cli/options.c tree/cli/settings_options.c tree/cli/screen.c \
        tree/cli/suggest.c tree/cli/completion.c "$root/build/libringfence.a" \
        $(pkg-config --libs libutf8proc jansson nettle yaml-0.1) -larchive -lm -lpthread -o try
    ./try --help all | grep -qF -- "  --sparkle X              Sparkle of the heads (default 0.25)."
    [ "$(./try --help | grep -c sparkle)" -eq 0 ]
    ./try --help-man | grep -qF -- '.B \-\-sparkle X'
    ./try | grep -q '"fence_offset":0.0,"sparkle":0.25}'
    ./try --sparkle 4 | grep -q '"sparkle":4.0'
    ./try sparkle=2 | grep -q '"sparkle":2.0'
    ./try --sparkle 4 glitter=3 | grep -q '"sparkle":3.0'
    run ./try --sparkle 9
    [ "$status" -eq 2 ]
    has "$output" '--sparkle is "9", wanted a number from 0 to 8'
    run ./try glitter=9
    has "$output" 'variant "glitter=9": glitter is 9, wanted 0 to 8'
    run ./try nothing=1
    has "$output" "glitter"
}
