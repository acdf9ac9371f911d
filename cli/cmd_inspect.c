/* cmd_inspect.c - ringfence inspect: shows what a model file contains and how the model
 * was trained
 */
#include "commands.h"

#include "base/json.h"
#include "base/plural.h"
#include "json_read.h"
#include "screen.h"
#include "tuning_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN_NAME 40 /* characters of a label in the table */

/* ---- Text -------------------------------------------------------------------------- */

/* A word of the file without control characters. */
static const char *shown(const char *word)
{
    static char line[RF_PATH_MAX];
    return screen_one_line(line, sizeof line, word, strlen(word));
}

static void put_encoder(const rf_model_summary *s)
{
    printf("encoder    %s, %s\n", shown(s->encoder),
           s->encoder_contained ? "contained" : "not contained (slim model)");
    printf("           %zu %s of width %zu, %zu fine-tuned; %zu parameters\n", s->layers,
           rf_plural(s->layers, "layer", "layers"), s->width, s->tuned_layers,
           s->parameters);
    printf("           sha256 %s\n", s->encoder_sha256);
    printf("texts      up to %zu tokens, pooling: mean\n", s->max_tokens);
}

static void put_kept(const rf_model_summary *s)
{
    if (s->kept_rows == 0)
        printf("kept       nothing of the training data");
    else
        printf("kept       features%s of %zu training %s",
               s->kept_texts ? " and texts" : "", s->kept_rows,
               rf_plural(s->kept_rows, "row", "rows"));
    if (s->map_points > 0)
        printf(", a map of %zu %s", s->map_points,
               rf_plural(s->map_points, "point", "points"));
    putchar('\n');
}

static void put_training(const rf_model_summary *s)
{
    printf("training   %zu %s; dev: %zu %s%s", s->rows, rf_plural(s->rows, "row", "rows"),
           s->dev_rows, rf_plural(s->dev_rows, "row", "rows"),
           s->dev_held_out ? " held out of the training data" : "");
    if (s->dev_unknown > 0)
        printf(", %zu not used: %s not among the classes", s->dev_unknown,
               rf_plural(s->dev_unknown, "its label is", "their labels are"));
    putchar('\n');
    if (s->open_texts > 0)
        printf("           and %zu %s of no class\n", s->open_texts,
               rf_plural(s->open_texts, "text", "texts"));
    if (s->cut_texts > 0)
        printf("           %zu %s longer than the limit and truncated\n", s->cut_texts,
               rf_plural(s->cut_texts, "text was", "texts were"));
    printf("           %zu %s, the best was epoch %zu; final loss %.4f\n", s->epochs,
           rf_plural(s->epochs, "epoch", "epochs"), s->best_epoch, s->loss);
    if (s->dev_accuracy >= 0.0)
        printf("           dev accuracy among the known classes: %.2f %%\n",
               s->dev_accuracy);
}

static void put_calibration(const json_t *c)
{
    if (c)
        printf("confidence slope %.4g, bias %.4g, temperature %.4g, from %s\n",
               json_read_number(c, "slope"), json_read_number(c, "bias"),
               json_read_number(c, "temperature"), json_read_word(c, "from"));
}

/* One line per setting; those of a nested object as "object.name". */
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
        printf("  %s%s", shown(before), *before ? "." : "");
        printf("%s = %s\n", shown(key), text ? text : "?");
        free(text);
    }
}

static void put_classes(const rf_model *model)
{
    rf_class_summary c;
    bool fences = rf_model_class(model, 0, &c) && c.recall >= 0.0;
    printf("\n%-*s %7s %9s%s\n", SHOWN_NAME, "class", "rows", "distance",
           fences ? "    radius  recall     dev" : "");
    for (size_t i = 0; rf_model_class(model, i, &c); i++) {
        screen_put_cell(c.label, SHOWN_NAME);
        printf(" %7zu %9.4f", c.rows, c.distance);
        if (fences)
            printf(" %9.4f %7.2f", c.radius, 100.0 * c.recall);
        if (fences && c.dev_recall >= 0.0)
            printf(" %7.2f", 100.0 * c.dev_recall);
        else if (fences)
            printf(" %7s", "-");
        putchar('\n');
    }
    printf("distance: mean distance between two texts of the class%s\n",
           fences ? "; radius: radius of the\n"
                    "shell of synthetic negatives; recall, dev: per cent of the class's "
                    "own training\nand dev texts that its fence accepts"
                  : "");
}

static void put_text(const rf_model *model, const json_t *root, const char *path,
                     long long bytes)
{
    rf_model_summary s;
    rf_model_summarize(model, &s);
    printf("file       %s, %.1f MB (%lld bytes), format %zu\n", path, (double)bytes / 1e6,
           bytes, json_read_count(root, "format"));
    printf("made by    %s, method %s\n", shown(s.program), s.method);
    put_encoder(&s);
    printf("classes    %zu\n", s.classes);
    put_kept(&s);
    put_training(&s);
    put_calibration(json_object_get(root, "calibration"));
    const json_t *summary = json_object_get(root, "summary");
    tuning_text_put(stdout, json_object_get(summary, "tuning"));
    expected_text_put(stdout, json_object_get(summary, "expected"));
    budget_text_put(stdout, json_object_get(summary, "budget"));
    fence_text_put(stdout, json_object_get(summary, "fence"));
    printf("settings\n");
    put_settings(json_object_get(root, "settings"), "");
    put_classes(model);
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
    rf_buffer lines;
    rf_buffer_init(&lines, SIZE_MAX / 4, "the description");
    rf_status st = RF_OK;
    if (!json && (st = json_make_plain(root, err)) == RF_OK)
        put_text(model, root, path, (long long)s.st_size);
    else if (json && (st = rf_json_write_as(root, JSON_INDENT(2), &lines, err)) == RF_OK)
        puts(lines.data);
    rf_buffer_release(&lines);
    json_decref(root);
    return st;
}

static int run_inspect(const command *self, int argc, char **argv)
{
    const char *path = NULL;
    size_t n;
    bool json = false;
    const option options[] = {
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &json,
         .help = "Print the model's description as one JSON object."},
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
    .details = "Loads the model, which checks every byte of it, and shows its encoder, "
               "its\nclasses, how it was trained, and what training data it contains.",
    .run = run_inspect,
};
