/* cmd_inspect.c - what a model file says about itself */
#include "commands.h"

#include "base/json.h"
#include "json_read.h"
#include "screen.h"
#include "tuning_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN_NAME 40 /* characters of a label in the table */

/* ---- Text -------------------------------------------------------------------------- */

static bool is(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static void put_file(const json_t *root, const char *path, long long bytes)
{
    printf("file       %s, %.1f MB (%lld bytes), format %zu\n", path, (double)bytes / 1e6,
           bytes, json_read_count(root, "format"));
    printf("made by    %s, method %s\n", json_read_word(root, "program"),
           json_read_word(root, "method"));
}

static void put_encoder(const json_t *e)
{
    printf("encoder    %s, %s\n", json_read_word(e, "name"),
           is(e, "contained") ? "contained" : "not contained, only referred to");
    printf("           %zu layers of width %zu, %zu tuned; %zu parameters\n",
           json_read_count(e, "layers"), json_read_count(e, "width"),
           json_read_count(e, "tuned_layers"), json_read_count(e, "parameters"));
    printf("           sha256 %s\n", json_read_word(e, "sha256"));
    printf("texts      up to %zu tokens, pooling: %s\n", json_read_count(e, "max_tokens"),
           json_read_word(e, "pooling"));
}

static void put_kept(const json_t *kept)
{
    if (!is(kept, "features"))
        printf("kept       nothing of the training data");
    else
        printf("kept       features%s of %zu training rows",
               is(kept, "texts") ? " and texts" : "", json_read_count(kept, "rows"));
    if (json_read_count(kept, "map"))
        printf(", a map of %zu", json_read_count(kept, "map"));
    putchar('\n');
}

static void put_summary(const json_t *s)
{
    const json_t *known = json_object_get(s, "known");
    printf("training   %zu rows; dev: %zu rows%s", json_read_count(s, "rows"),
           json_read_count(s, "dev_rows"),
           is(s, "dev_held_out") ? " held out of the training data" : "");
    if (json_read_count(s, "dev_unknown"))
        printf(", %zu not used as their labels are not known",
               json_read_count(s, "dev_unknown"));
    putchar('\n');
    if (json_read_count(s, "open_texts"))
        printf("           and %zu texts of no class\n",
               json_read_count(s, "open_texts"));
    if (json_read_count(s, "cut_texts"))
        printf("           %zu texts were longer than the limit and were cut\n",
               json_read_count(s, "cut_texts"));
    printf("           %zu epochs, the best was number %zu; last loss %.4f\n",
           json_read_count(known, "epochs"), json_read_count(known, "best_epoch"),
           json_read_number(known, "loss"));
    if (json_is_number(json_object_get(known, "dev_accuracy")))
        printf("           dev accuracy among the known classes: %.2f %%\n",
               json_read_number(known, "dev_accuracy"));
}

static void put_calibration(const json_t *c)
{
    if (c)
        printf("confidence slope %.4g, bias %.4g, temperature %.4g, from %s\n",
               json_read_number(c, "slope"), json_read_number(c, "bias"),
               json_read_number(c, "temperature"), json_read_word(c, "from"));
}

/* Every setting by its name, those in an object with its name before theirs. */
static void put_settings(const json_t *settings, const char *before)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)settings, key, value)
    {
        if (json_is_object(value)) {
            put_settings(value, key);
            continue;
        }
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7));
        printf("  %s%s%s = %s\n", before, *before ? "." : "", key, text ? text : "?");
        free(text);
    }
}

/* With heads, which stand in the order of the classes: how they do. */
static void put_heads(const json_t *classes, const json_t *heads)
{
    size_t i;
    json_t *c;
    printf("\n%-*s %7s %9s %9s %7s %7s\n", SHOWN_NAME, "class", "rows", "distance",
           "radius", "recall", "dev");
    json_array_foreach((json_t *)(uintptr_t)classes, i, c)
    {
        const json_t *head = json_array_get(heads, i);
        char dev[16] = "-";
        if (json_is_number(json_object_get(head, "dev_recall")))
            snprintf(dev, sizeof dev, "%.2f",
                     100.0 * json_read_number(head, "dev_recall"));
        screen_put_cell(json_read_word(c, "label"), SHOWN_NAME);
        printf(" %7zu %9.4f %9.4f %7.2f %7s\n", json_read_count(c, "rows"),
               json_read_number(c, "distance"), json_read_number(c, "radius"),
               100.0 * json_read_number(head, "recall"), dev);
    }
    printf("distance: average between two texts of the class; radius: of the shell of\n"
           "synthetic negatives; recall, dev: per cent of the class's own training and\n"
           "dev texts that its head accepts\n");
}

static void put_classes(const json_t *root)
{
    json_t *classes = json_object_get(root, "classes"), *c;
    const json_t *heads = json_object_get(json_object_get(root, "summary"), "heads");
    size_t i;
    if (json_array_size(heads) > 0) {
        put_heads(classes, heads);
        return;
    }
    printf("\n%-*s %7s %9s\n", SHOWN_NAME, "class", "rows", "distance");
    json_array_foreach(classes, i, c)
    {
        screen_put_cell(json_read_word(c, "label"), SHOWN_NAME);
        printf(" %7zu %9.4f\n", json_read_count(c, "rows"),
               json_read_number(c, "distance"));
    }
    printf("distance: average between two texts of the class\n");
}

static void put_text(const json_t *root, const char *path, long long bytes)
{
    put_file(root, path, bytes);
    put_encoder(json_object_get(root, "encoder"));
    printf("classes    %zu\n", json_array_size(json_object_get(root, "classes")));
    put_kept(json_object_get(root, "kept"));
    const json_t *summary = json_object_get(root, "summary");
    put_summary(summary);
    put_calibration(json_object_get(root, "calibration"));
    tuning_text_put(stdout, json_object_get(summary, "tuning"));
    budget_text_put(stdout, json_object_get(summary, "budget"));
    printf("settings\n");
    put_settings(json_object_get(root, "settings"), "");
    put_classes(root);
}

/* ---- The command ------------------------------------------------------------------- */

static rf_status inspect(const rf_model *model, const char *path, bool json,
                         rf_error *err)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return rf_fail_errno(err, "%s: cannot stat", path);
    const char *text = rf_model_json(model);
    json_t *root = rf_json_object(text, strlen(text), path, err);
    if (!root)
        return err->code;
    if (!json) {
        put_text(root, path, (long long)s.st_size);
    } else if (json_dumpf(root, stdout, JSON_INDENT(2)) == 0) {
        putchar('\n');
    } else if (!ferror(stdout)) {
        json_decref(root);
        return rf_fail_nomem(err, strlen(text), "the description");
    }
    json_decref(root);
    return RF_OK;
}

static int run(const command *self, int argc, char **argv)
{
    const char *path = NULL;
    size_t n;
    bool json = false;
    const option options[] = {
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &json,
         .help = "The model's own description, one JSON object."},
    };
    switch (options_parse(self, options, 1, argc, argv, &path, 1, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n == 0) {
        screen_complain("%s: which model? Wanted MODEL", self->name);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_model *model = rf_model_load(path, &err);
    rf_status st = model ? inspect(model, path, json, &err) : err.code;
    rf_model_free(model);
    return st == RF_OK ? command_finish() : command_failed(&err);
}

const command command_inspect = {
    .name = "inspect",
    .synopsis = "MODEL [--json]",
    .summary = "Show what is in a model file.",
    .details = "Loads the model, which checks every byte of it, and shows what it says\n"
               "about itself: encoder, classes, what was trained on and how, what is "
               "kept.",
    .run = run,
};
