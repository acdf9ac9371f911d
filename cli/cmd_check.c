/* cmd_check.c - ringfence check: what to mend in labelled data before training on it */
#include "commands.h"

#include "base/plural.h"
#include "check_output.h"
#include "data_options.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define EXIT_FOUND 3
#define SHOWN 10 /* findings of a kind, as text */

typedef struct check_request {
    const char *paths[DATA_FILES], *tsv;
    size_t n_paths;
    data_options data;
    rf_check_options o;
    text_list open_labels, ignore;
    size_t limit; /* 0: all; SIZE_MAX: not given */
    bool json, strict;
} check_request;

#define CHECK_OPTIONS (10 + DATA_OPTIONS)

static void list_options(check_request *r, option out[CHECK_OPTIONS])
{
    *r = (check_request){.o = rf_check_options_default(), .limit = SIZE_MAX};
    const option list[CHECK_OPTIONS - DATA_OPTIONS] = {
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &r->json,
         .help = "Print everything as one JSON object."},
        {.name = "tsv",
         .kind = OPTION_TEXT,
         .value = &r->tsv,
         .arg = "FILE",
         .help = "Also write a table for a spreadsheet: line, kind, text, label and "
                 "suggestion of every row to mend."},
        {.name = "limit",
         .kind = OPTION_SIZE,
         .value = &r->limit,
         .arg = "N",
         .help = "Findings of each kind, 0 for all (default: 10 as text, all with --json "
                 "and in the table).",
         .max = SIZE_MAX - 1},
        {.name = "strict",
         .kind = OPTION_FLAG,
         .value = &r->strict,
         .help = "Exit with 3 if anything was found."},
        {.name = "ignore",
         .kind = OPTION_TEXTS,
         .value = &r->ignore,
         .arg = "KIND",
         .help = "Leave out findings of this kind, such as near-duplicate; can be "
                 "repeated."},
        {.name = "open-label",
         .kind = OPTION_TEXTS,
         .value = &r->open_labels,
         .arg = "NAME",
         .help = "Rows with this label are examples of open texts, not a class; can be "
                 "repeated."},
        {.name = "encoder",
         .kind = OPTION_TEXT,
         .value = &r->o.encoder,
         .arg = "E",
         .help = "The encoder: catalogue name, directory, or OWNER/NAME of the Hugging "
                 "Face hub, once fetched (default minilm)."},
        {.name = "no-encoder",
         .kind = OPTION_FLAG,
         .value = &r->o.no_encoder,
         .help = "Look only for what needs no encoder: not for label-error, "
                 "classes-alike and two-topics."},
        {.name = "max-rows",
         .kind = OPTION_SIZE,
         .value = &r->o.max_rows,
         .arg = "N",
         .help = "Rows for the encoder; a larger set is sampled evenly by class (default "
                 "100000).",
         .min = 1,
         .max = RF_MAX_ROWS},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r->o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The result is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    memcpy(out, list, sizeof list);
    data_options_list(&r->data, out + sizeof list / sizeof *list);
}

static int show_progress(void *user, const char *line)
{
    (void)user;
    screen_progress_line(false, "%s", line);
    return 0;
}

/* The kinds to ignore, by their names; false after a complaint. */
static bool find_kinds(check_request *r)
{
    for (size_t i = 0; i < r->ignore.n; i++) {
        size_t kind = 0;
        while (kind < RF_FINDING_KINDS &&
               strcmp(rf_finding_name(kind, NULL), r->ignore.item[i]) != 0)
            kind++;
        if (kind == RF_FINDING_KINDS) {
            screen_complain("check: --ignore %s: no such kind (see ringfence check "
                            "--help)",
                            r->ignore.item[i]);
            return false;
        }
        r->o.ignore |= (uint64_t)1 << kind;
    }
    return true;
}

static rf_status show(const check_request *r, check_result *result, rf_error *err)
{
    size_t limit = r->limit == 0 ? SIZE_MAX : r->limit;
    result->limit = limit == SIZE_MAX && r->limit != 0 && !r->json ? SHOWN : limit;
    if (r->json)
        check_put_json(result);
    else
        check_put_text(result);
    result->limit = limit;
    return r->tsv ? check_write_tsv(result, r->tsv, err) : RF_OK;
}

/* --raw-tsv drops rows that do not fit; the findings are about the others. */
static rf_status warn_dropped(const rf_dataset *data, const char *name, rf_error *err)
{
    rf_data_summary s;
    rf_status st = rf_dataset_summarize(data, &s, err);
    if (st == RF_OK && s.dropped > 0)
        screen_complain(
            "warning: %s: %zu %s dropped: more or fewer fields than the first "
            "row",
            name, s.dropped, rf_plural(s.dropped, "row was", "rows were"));
    return st;
}

static rf_status check(check_request *r, bool *any, rf_error *err)
{
    if (data_would_be_overwritten(r->tsv, r->paths, r->n_paths))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "%s: the table would overwrite this file; wanted another name "
                       "after --tsv",
                       r->tsv);
    rf_status st = r->tsv ? command_can_write(r->tsv, err) : RF_OK;
    if (st != RF_OK)
        return st;
    char name[DATA_NAME];
    check_result result = {.path = data_name(name, r->paths, r->n_paths)};
    if (!r->data.encoding) /* what is not UTF-8 is a finding */
        r->data.encoding = "bytes";
    rf_dataset *data = data_options_read(&r->data, r->paths, r->n_paths, err);
    rf_findings *found = data ? rf_check(data, &r->o, err) : NULL;
    screen_progress_end();
    st = found ? RF_OK : err->code;
    if (found) {
        result.data = data;
        result.several = strcmp(rf_dataset_file(data, 0),
                                rf_dataset_file(data, rf_dataset_rows(data) - 1)) != 0;
        result.found = found;
        *any = rf_findings_count(found) > 0;
        st = r->data.raw_tsv ? warn_dropped(data, name, err) : RF_OK;
        if (st == RF_OK)
            st = show(r, &result, err);
    }
    rf_findings_free(found);
    rf_dataset_free(data);
    return st;
}

static int run_check(const command *self, int argc, char **argv)
{
    check_request r;
    option options[CHECK_OPTIONS];
    bool any = false;
    list_options(&r, options);
    switch (options_parse(self, options, CHECK_OPTIONS, argc, argv, r.paths, DATA_FILES,
                          &r.n_paths)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (r.n_paths == 0) {
        screen_complain("check: no data (see ringfence check --help)");
        return EXIT_USAGE;
    }
    if (!find_kinds(&r))
        return EXIT_USAGE;
    r.o.open_labels = r.open_labels.item;
    r.o.n_open_labels = r.open_labels.n;
    r.o.progress = show_progress;
    rf_error err = {0};
    if (check(&r, &any, &err) != RF_OK)
        return command_failed(&err);
    int code = command_finish();
    return code == 0 && any && r.strict ? EXIT_FOUND : code;
}

const command command_check = {
    .name = "check",
    .synopsis = "DATA... [OPTIONS]",
    .summary = "Find what to mend in labelled data before training on it.",
    .details =
        "DATA: files of texts and labels, as for ringfence train. Kinds of findings:\n\n"
        "swapped-columns: texts and labels have changed places.\n\n"
        "encoding: characters that a wrong encoding has spoiled.\n\n"
        "empty-text: nothing but white space.\n\n"
        "conflict: the same text, but for case and spacing, under several labels.\n\n"
        "near-conflict: nearly the same text under several labels.\n\n"
        "labels-alike: labels that differ only in case, spacing or punctuation.\n\n"
        "open-label: a label such as \"oos\" that would be learnt as a class.\n\n"
        "few-rows: a class of fewer than five rows.\n\n"
        "label-error: a text that looks like one of another class, most suspicious\n"
        "first. Found by fitting a simple classifier to the other rows.\n\n"
        "classes-alike: two classes that cannot be told apart.\n\n"
        "two-topics: a class that is two groups of texts.\n\n"
        "duplicate, near-duplicate: the same text, or nearly, under one label.\n\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 3 with --strict if anything was\n"
        "found.",
    .run = run_check,
};
