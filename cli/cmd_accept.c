/* cmd_accept.c - ringfence accept: groups of a review become classes of a model */
#include "commands.h"

#include "learning.h"
#include "review_rows.h"
#include "ringfence_improve.h"
#include "screen.h"
#include "train_progress.h"

#include <stdlib.h>
#include <string.h>

#define OWN_OPTIONS 5

typedef struct accept_job {
    const char *paths[2]; /* REVIEW, MODEL */
    const char *output;
    text_list groups, labels;
    bool json;
    rf_update_options o;
    rf_model *before, *after;
    rf_dataset *rows;
    char *report;
} accept_job;

static rf_status accept_rows(accept_job *j, rf_error *err)
{
    rf_status st = command_can_write(j->output, err);
    if (st != RF_OK)
        return st;
    j->rows = review_rows_read(j->paths[0], &j->groups, &j->labels, err);
    if (!j->rows || !(j->before = rf_model_load(j->paths[1], err)))
        return err->code;
    train_progress_catch_signals();
    j->o.progress = learning_progress;
    j->after = rf_update(j->before, j->rows, &j->o, &j->report, err);
    screen_progress_end();
    if (!j->after)
        return err->code;
    st = learning_save(j->before, j->after, j->output, err);
    return st == RF_OK ? learning_show(j->report, j->json, j->after, j->output, err) : st;
}

static int finish(accept_job *j, rf_status st, const rf_error *err)
{
    rf_model_free(j->after);
    rf_model_free(j->before);
    rf_dataset_free(j->rows);
    free(j->report);
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; nothing was written");
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(err);
}

static const char *what_is_wrong(const accept_job *j, size_t n)
{
    if (n != 2 || !j->output)
        return "wanted REVIEW (the table that review writes), MODEL and -o FILE";
    if (strcmp(j->output, "-") == 0)
        return "a model cannot be written to standard output; wanted -o FILE";
    if (j->groups.n != j->labels.n)
        return "wanted one --as CLASS for each --group N";
    if (command_would_overwrite(j->output, j->paths[0]))
        return "the model would overwrite the review; wanted another name after -o";
    return NULL;
}

static int run_accept(const command *self, int argc, char **argv)
{
    accept_job j = {.o = rf_update_options_default()};
    size_t n;
    const option options[OWN_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &j.output,
         .arg = "FILE",
         .help = "Where to write the updated model (required); may be MODEL itself."},
        {.name = "group",
         .kind = OPTION_TEXTS,
         .value = &j.groups,
         .arg = "N",
         .help = "Learn all texts of group N; may be repeated, each with an --as."},
        {.name = "as",
         .kind = OPTION_TEXTS,
         .value = &j.labels,
         .arg = "CLASS",
         .help = "The class of that group: a new one, or one of MODEL."},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &j.json,
         .help = "Print the report as one JSON object."},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &j.o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The model is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    switch (options_parse(self, options, OWN_OPTIONS, argc, argv, j.paths, 2, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = what_is_wrong(&j, n);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = accept_rows(&j, &err);
    return finish(&j, st, &err);
}

const command command_accept = {
    .name = "accept",
    .synopsis = "REVIEW [--group N --as CLASS]... MODEL -o FILE [OPTIONS]",
    .summary = "Learn groups of a review as classes.",
    .details =
        "REVIEW is the table that ringfence review wrote (-o review.tsv), perhaps "
        "edited\n"
        "in a spreadsheet and saved as TSV or CSV.\n\n"
        "With --group, all texts of those groups are learnt, each group as the class of\n"
        "its --as. A line of the group that has another label stops it. Without "
        "--group,\n"
        "the lines are learnt into whose column label someone wrote a class; all others\n"
        "are left out, and names are only suggestions. So nothing is learnt that nobody\n"
        "asked for.\n\n"
        "A class that MODEL has gains the texts; any other is new. This is ringfence\n"
        "update with these rows, and prints what it prints: the encoder stays as it is.\n"
        "MODEL does not change unless -o names it. The file appears complete or not at\n"
        "all: after a failure, or Ctrl-C, there is what was there before.",
    .run = run_accept,
};
