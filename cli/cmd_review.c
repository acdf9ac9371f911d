/* cmd_review.c - ringfence review: what is in the pile of rejected texts */
#include "commands.h"

#include "review_output.h"
#include "screen.h"
#include "text_input.h"
#include "train_progress.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OWN_OPTIONS 5
#define SHOWN_GROUPS 12

typedef struct review_request {
    const char *paths[2]; /* MODEL, TEXTS */
    const char *output, *title;
    data_options data;
    rf_review_options o;
} review_request;

typedef enum review_format {
    REVIEW_TSV,
    REVIEW_JSON,
    REVIEW_HTML,
    REVIEW_BAD
} review_format;

/* By the extension of the output. */
static review_format format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (strcmp(path, "-") == 0 || (dot && strcasecmp(dot, ".tsv") == 0))
        return REVIEW_TSV;
    if (dot && strcasecmp(dot, ".jsonl") == 0)
        return REVIEW_JSON;
    return dot && (strcasecmp(dot, ".html") == 0 || strcasecmp(dot, ".htm") == 0)
               ? REVIEW_HTML
               : REVIEW_BAD;
}

static int show_progress(void *user, const char *line)
{
    (void)user;
    screen_progress_line(false, "%s", line);
    return train_progress_signal();
}

static rf_status write_page(const review_request *r, const rf_review *review,
                            rf_error *err)
{
    char title[2 * RF_PATH_MAX];
    const char *slash = strrchr(r->paths[1], '/');
    rf_report_options o = rf_report_options_default();
    snprintf(title, sizeof title, "Rejected texts of %s",
             strcmp(r->paths[1], "-") == 0 ? "standard input"
             : slash && slash[1]           ? slash + 1
                                           : r->paths[1]);
    o.title = r->title ? r->title : title;
    return rf_report_review(review, &o, r->output, err);
}

static rf_status write_review(const review_request *r, const rf_review *review,
                              rf_error *err)
{
    switch (format_of(r->output)) {
    case REVIEW_JSON: return review_write_json(review, r->output, err);
    case REVIEW_HTML: return write_page(r, review, err);
    default: return review_write_tsv(review, r->output, err);
    }
}

static rf_status make_review(review_request *r, rf_error *err)
{
    text_input in = {0};
    rf_status st =
        strcmp(r->output, "-") == 0 ? RF_OK : command_can_write(r->output, err);
    if (st != RF_OK)
        return st;
    rf_model *model = rf_model_load(r->paths[0], err);
    if (!model)
        return err->code;
    st = text_input_read(&in, r->paths[1], &r->data, err);
    train_progress_catch_signals();
    r->o.progress = show_progress;
    rf_review *review =
        st == RF_OK ? rf_review_texts(model, in.texts, in.lens, in.n, &r->o, err) : NULL;
    screen_progress_end();
    st = review ? write_review(r, review, err) : err->code;
    if (st == RF_OK)
        review_put_summary(review, SHOWN_GROUPS);
    rf_review_free(review);
    text_input_release(&in);
    rf_model_free(model);
    return st;
}

static const char *what_is_wrong(const review_request *r, size_t n)
{
    if (n != 2 || !r->output)
        return "wanted MODEL, TEXTS (a file, or - for standard input) and -o FILE";
    if (format_of(r->output) == REVIEW_BAD)
        return "wanted -o FILE with a name that ends in .html, .tsv or .jsonl, or -o -";
    if (command_would_overwrite(r->output, r->paths[0]) ||
        command_would_overwrite(r->output, r->paths[1]))
        return "the review would overwrite its input; wanted another name after -o";
    return NULL;
}

static int run_review(const command *self, int argc, char **argv)
{
    review_request r = {.o = rf_review_options_default()};
    size_t n;
    option options[OWN_OPTIONS + DATA_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &r.output,
         .arg = "FILE",
         .help = "Where to write the review (required): .html a page, .tsv a table to "
                 "edit, .jsonl objects; - prints the table."},
        {.name = "min-texts",
         .kind = OPTION_SIZE,
         .value = &r.o.min_texts,
         .arg = "N",
         .help = "Different texts that make a group (default 5).",
         .min = 2,
         .max = 1000000},
        {.name = "doubt",
         .kind = OPTION_REAL,
         .value = &r.o.doubt,
         .arg = "P",
         .help = "Also review accepted texts of a confidence below P (default 0.6; -1: "
                 "none).",
         .least = -1.0,
         .most = 1.0},
        {.name = "title",
         .kind = OPTION_TEXT,
         .value = &r.title,
         .arg = "T",
         .help = "Title of the page."},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r.o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The review is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    data_options_list(&r.data, options + OWN_OPTIONS);
    switch (options_parse(self, options, OWN_OPTIONS + DATA_OPTIONS, argc, argv, r.paths,
                          2, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = what_is_wrong(&r, n);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    rf_status st = make_review(&r, &err);
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; nothing was written");
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(&err);
}

const command command_review = {
    .name = "review",
    .synopsis = "MODEL TEXTS -o FILE [OPTIONS]",
    .summary = "Group the texts that a model rejects, to find new classes.",
    .details =
        "TEXTS is a file with one text per line, or - for standard input; of a table or\n"
        "another format that is recognised, the texts are read. A table needs a first\n"
        "line with names.\n\n"
        "Texts that MODEL rejects, or accepts with little confidence, are put into\n"
        "groups of one topic each; how many there are is found. Equal and nearly equal\n"
        "texts count once, with their number. Groups come in the order of what looking\n"
        "at them is worth: texts times cohesion. Cohesion, 0 to 1, says how sure it is\n"
        "that the group is one topic. Texts in no group are probably known (near a\n"
        "class, and rejected or accepted by little) or alone.\n\n"
        "The table has one line per text: group, name (suggested), label, text, count,\n"
        "margin, nearest (class), kind (group, probably-known, alone). Within a group "
        "the\n"
        "most central texts come first. The label is empty: write one where a text "
        "should\n"
        "be learnt, and give the table to ringfence accept. Objects of .jsonl have the\n"
        "same, and the lines of TEXTS that a text stands for (rows).\n\n"
        "A summary goes to standard error. The file appears complete or not at all.",
    .run = run_review,
};
