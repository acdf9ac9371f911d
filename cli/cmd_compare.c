/* cmd_compare.c - ringfence compare: two models on the same labelled texts */
#include "commands.h"

#include "compare_output.h"
#include "data_options.h"
#include "ringfence_improve.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define OWN_OPTIONS 4

typedef struct compare_request {
    const char *paths[2 + DATA_FILES]; /* A, B, TEST... */
    size_t n_paths;
    const char *html; /* NULL: no page */
    bool json, all;
    size_t threads;
    data_options data;
} compare_request;

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static rf_status write_page(const compare_request *r, const compare_output *o,
                            rf_error *err)
{
    char title[3 * DATA_NAME], name[DATA_NAME];
    rf_report_options options = rf_report_options_default();
    snprintf(title, sizeof title, "%s and %s on %s", file_name(r->paths[0]),
             file_name(r->paths[1]), data_title(name, r->paths + 2, r->n_paths - 2));
    options.title = title;
    return rf_report_comparison(o->c, o->data, o->names, &options, r->html, err);
}

static rf_status show(const compare_request *r, const rf_comparison *c,
                      const rf_dataset *data, rf_error *err)
{
    const compare_output o = {c, data, {r->paths[0], r->paths[1]}};
    rf_status st = r->html ? write_page(r, &o, err) : RF_OK;
    if (st == RF_OK && r->json)
        compare_put_json(&o);
    else if (st == RF_OK)
        st = compare_put_text(&o, r->all, err);
    return st;
}

static rf_status compare_models(const compare_request *r, rf_model *const models[2],
                                const rf_dataset *data, rf_error *err)
{
    rf_comparison c = {0};
    rf_session *first = rf_session_new(models[0], r->threads, err);
    rf_session *second = first ? rf_session_new(models[1], r->threads, err) : NULL;
    rf_status st = second ? rf_compare(first, second, data, &c, err) : err->code;
    rf_session_free(second);
    rf_session_free(first);
    if (st == RF_OK)
        st = show(r, &c, data, err);
    rf_comparison_release(&c);
    return st;
}

static rf_status compare(const compare_request *r, rf_error *err)
{
    rf_status st = r->html ? command_can_write(r->html, err) : RF_OK;
    if (st != RF_OK)
        return st;
    rf_model *models[2] = {rf_model_load(r->paths[0], err), NULL};
    if (models[0])
        models[1] = rf_model_load(r->paths[1], err);
    char name[DATA_NAME];
    rf_dataset *data = models[1] ? data_options_read_test(&r->data, r->paths + 2,
                                                          r->n_paths - 2, models[0], err)
                                 : NULL;
    if (data)
        data_options_check_labels(data, data_name(name, r->paths + 2, r->n_paths - 2),
                                  models[1]);
    st = data ? compare_models(r, models, data, err) : err->code;
    rf_dataset_free(data);
    rf_model_free(models[1]);
    rf_model_free(models[0]);
    return st;
}

static void list_options(compare_request *r, option out[OWN_OPTIONS + DATA_OPTIONS])
{
    const option list[OWN_OPTIONS] = {
        {.name = "html",
         .kind = OPTION_TEXT,
         .value = &r->html,
         .arg = "FILE",
         .help = "Also write a page about it; an existing file is replaced."},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &r->json,
         .help = "Print one JSON object with everything in full."},
        {.name = "all",
         .kind = OPTION_FLAG,
         .value = &r->all,
         .help = "Show every class and every text that changed, not only ten of each."},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r->threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The result is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    memcpy(out, list, sizeof list);
    data_options_list(&r->data, out + OWN_OPTIONS);
}

static int run_compare(const command *self, int argc, char **argv)
{
    compare_request r = {0};
    option options[OWN_OPTIONS + DATA_OPTIONS];
    list_options(&r, options);
    switch (options_parse(self, options, OWN_OPTIONS + DATA_OPTIONS, argc, argv, r.paths,
                          2 + DATA_FILES, &r.n_paths)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (r.n_paths < 3) {
        screen_complain("%s: wanted A, B (models) and TEST (a file, or - for standard "
                        "input)",
                        self->name);
        return EXIT_USAGE;
    }
    if (data_would_be_overwritten(r.html, r.paths, r.n_paths)) {
        screen_complain("%s: the page would overwrite %s; wanted another name after "
                        "--html",
                        self->name, r.html);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    return compare(&r, &err) == RF_OK ? command_finish() : command_failed(&err);
}

const command command_compare = {
    .name = "compare",
    .synopsis = "A B TEST... [OPTIONS]",
    .summary = "Compare two models on the same labelled texts.",
    .details =
        "A and B are models. TEST is one or more files of texts and their labels, as\n"
        "train reads them, or - for standard input. A label that a model does not know "
        "is open for\n"
        "that model.\n\n"
        "Shows what B does better or worse than A: accuracy and F1 as eval gives them,\n"
        "known texts that were called open (of the texts whose label both models know)\n"
        "and open texts that were let in (of those whose label neither knows). Each\n"
        "difference has a 95 % interval, taken over pairs of answers to the same text; "
        "it\n"
        "is beyond chance if the interval does not contain 0. It says how the figures "
        "of\n"
        "these two models would move with other texts, not what another training would\n"
        "give.\n\n"
        "Classes are tested one by one, on the texts about which one model alone is\n"
        "right. A class differs beyond chance if it would with other texts, and if it\n"
        "stands out from the other classes, all of which move a little from training to\n"
        "training. p is corrected for the number of classes (Holm).\n\n"
        "Then come the texts whose answer changed: from right to wrong, from wrong to\n"
        "right, and from one wrong answer to another.\n\n"
        "With --json: a, b (the models), n, n_known, n_open, n_only_a_knows,\n"
        "n_only_b_knows (texts by who knows their label), beyond_chance; accuracy, f1,\n"
        "known_called_open, open_let_in (each with texts, a, b, difference, interval,\n"
        "beyond_chance; in per cent); n_tested, n_different, scatter, classes (label, "
        "a,\n"
        "b, only_a_right, only_b_right, p, different); n_both_right, n_lost, n_gained,\n"
        "n_wrong, changes (kind, row, label, a, b, a_confidence, b_confidence, text). A\n"
        "class that a model does not know is null there.",
    .run = run_compare,
};
