/* cmd_update.c - ringfence update: more rows, other labels and other classes for a model
 */
#include "commands.h"

#include "base/json.h"
#include "data_options.h"
#include "learning.h"
#include "ringfence_improve.h"
#include "screen.h"
#include "train_progress.h"

#include <stdlib.h>
#include <string.h>

#define OWN_OPTIONS 8
#define EDITS_MAX (4 * TEXTS_MAX)

typedef struct update_job {
    const char *paths[1 + DATA_FILES]; /* MODEL, and NEW or nothing */
    size_t n_paths;
    const char *output, *dev_path;
    text_list removed, renamed, merged;
    data_options data;
    size_t seed;
    bool json;
    rf_update_options o;
    rf_class_edit edits[EDITS_MAX];
    size_t n_edits;
    char *names[EDITS_MAX]; /* copies that the edits point to */
    size_t n_names;
    rf_dataset *rows, *dev;
    rf_model *before, *after;
    char *report;
} update_job;

/* ---- Edits ------------------------------------------------------------------------- */

static const char *keep_name(update_job *j, const char *text, size_t len, rf_error *err)
{
    char *copy = j->n_names < EDITS_MAX ? malloc(len + 1) : NULL;
    if (!copy) {
        rf_fail(err, RF_ERR_LIMIT, 0, "too many classes to rename, merge or remove");
        return NULL;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    return j->names[j->n_names++] = copy;
}

static rf_status add_edit(update_job *j, const char *from, size_t len, const char *to,
                          bool merge, rf_error *err)
{
    const char *name = keep_name(j, from, len, err);
    if (!name || j->n_edits == EDITS_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "too many classes to rename, merge or remove");
    j->edits[j->n_edits++] = (rf_class_edit){name, to, merge};
    return RF_OK;
}

/* "A=B", or "A,B=C" of a merge. A class whose name has a comma is merged by itself:
 * --merge "x, y=C" --merge B=C. */
static rf_status read_edit(update_job *j, const char *text, bool merge, rf_error *err)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return rf_fail(err, RF_ERR_ARG, 0, "%s %.100s: wanted %s",
                       merge ? "--merge" : "--rename", text, merge ? "A,B=C" : "A=B");
    size_t len = (size_t)(equals - text);
    bool whole = !merge || rf_model_find(j->before, text, len) != RF_OPEN;
    rf_status st = RF_OK;
    for (const char *at = text; at < equals && st == RF_OK;) {
        const char *comma = whole ? NULL : memchr(at, ',', (size_t)(equals - at));
        const char *end = comma ? comma : equals;
        st = add_edit(j, at, (size_t)(end - at), equals + 1, merge, err);
        at = end + 1;
    }
    return st;
}

static rf_status read_edits(update_job *j, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t i = 0; i < j->removed.n && st == RF_OK; i++)
        st =
            add_edit(j, j->removed.item[i], strlen(j->removed.item[i]), NULL, false, err);
    for (size_t i = 0; i < j->renamed.n && st == RF_OK; i++)
        st = read_edit(j, j->renamed.item[i], false, err);
    for (size_t i = 0; i < j->merged.n && st == RF_OK; i++)
        st = read_edit(j, j->merged.item[i], true, err);
    j->o.edits = j->edits;
    j->o.n_edits = j->n_edits;
    return st;
}

/* ---- The update -------------------------------------------------------------------- */

static rf_status read_input(update_job *j, rf_error *err)
{
    rf_status st = command_can_write(j->output, err);
    if (st != RF_OK)
        return st;
    j->before = rf_model_load(j->paths[0], err);
    if (!j->before)
        return err->code;
    st = read_edits(j, err);
    if (st == RF_OK && j->n_paths > 1 &&
        !(j->rows = data_options_read(&j->data, j->paths + 1, j->n_paths - 1, err)))
        st = err->code;
    if (st == RF_OK && j->dev_path &&
        !(j->dev = data_options_read(&j->data, &j->dev_path, 1, err)))
        st = err->code;
    return st;
}

static rf_status update(update_job *j, rf_error *err)
{
    rf_status st = read_input(j, err);
    if (st != RF_OK)
        return st;
    train_progress_catch_signals();
    j->o.dev = j->dev;
    j->o.seed = j->seed;
    j->o.progress = learning_progress;
    j->after = rf_update(j->before, j->rows, &j->o, &j->report, err);
    screen_progress_end();
    if (!j->after)
        return err->code;
    st = learning_save(j->before, j->after, j->output, err);
    return st == RF_OK ? learning_show(j->report, j->json, j->after, j->output, err) : st;
}

static int finish(update_job *j, rf_status st, const rf_error *err)
{
    rf_model_free(j->after);
    rf_model_free(j->before);
    rf_dataset_free(j->rows);
    rf_dataset_free(j->dev);
    free(j->report);
    for (size_t i = 0; i < j->n_names; i++)
        free(j->names[i]);
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; nothing was written");
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(err);
}

static const char *what_is_wrong(const update_job *j, size_t n)
{
    if (n == 0 || !j->output)
        return "wanted MODEL, perhaps NEW (a file, or - for standard input), and -o FILE";
    if (n == 1 && j->removed.n + j->renamed.n + j->merged.n == 0)
        return "nothing to do: wanted NEW rows, --remove-class, --rename or --merge";
    if ((n > 1 && data_would_be_overwritten(j->output, j->paths + 1, n - 1)) ||
        command_would_overwrite(j->output, j->dev_path))
        return "the model would overwrite the data; wanted another name after -o";
    return NULL;
}

static int run_update(const command *self, int argc, char **argv)
{
    update_job j = {.o = rf_update_options_default()};
    option options[OWN_OPTIONS + DATA_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &j.output,
         .arg = "FILE",
         .help = "Where to write the updated model (required); may be MODEL itself."},
        {.name = "remove-class",
         .kind = OPTION_TEXTS,
         .value = &j.removed,
         .arg = "C",
         .help = "Forget class C and its rows; may be repeated."},
        {.name = "rename",
         .kind = OPTION_TEXTS,
         .value = &j.renamed,
         .arg = "A=B",
         .help = "Call class A B; may be repeated."},
        {.name = "merge",
         .kind = OPTION_TEXTS,
         .value = &j.merged,
         .arg = "A,B=C",
         .help = "Make classes A, B, ... one class C; may be repeated."},
        {.name = "dev",
         .kind = OPTION_TEXT,
         .value = &j.dev_path,
         .arg = "FILE",
         .help = "Labelled texts to answer before and after; nothing is learnt from "
                 "them."},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &j.json,
         .help = "Print the report as one JSON object."},
        {.name = "seed",
         .kind = OPTION_SIZE,
         .value = &j.seed,
         .arg = "N",
         .help = "Seed of the heads to train (default: that of the training).",
         .max = SIZE_MAX},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &j.o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The model is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    data_options_list(&j.data, options + OWN_OPTIONS);
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          j.paths, 1 + DATA_FILES, &j.n_paths)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = what_is_wrong(&j, j.n_paths);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = update(&j, &err);
    return finish(&j, st, &err);
}

const command command_update = {
    .name = "update",
    .synopsis = "MODEL [NEW...] -o FILE [OPTIONS]",
    .summary = "Learn more rows, labels and classes without training again.",
    .details =
        "NEW: files of texts and their labels, as train reads them, or - for standard\n"
        "input: more rows of the classes of MODEL, rows of new classes, or rows of "
        "MODEL\n"
        "with another label. A text that MODEL keeps is relabelled, not counted twice\n"
        "(unless it was trained with --no-examples). Labels in NEW are names\n"
        "after --rename and --merge.\n\n"
        "The encoder stays as it is. Classes that gain or lose rows, or that accept a\n"
        "new row of another class, are fitted again; all others keep their numbers to\n"
        "the bit. When half as many rows have changed as there were, what classes share\n"
        "is fitted again too.\n\n"
        "MODEL does not change unless -o names it. The file appears complete or not at\n"
        "all: after a failure, or Ctrl-C, there is what was there before.",
    .run = run_update,
};
