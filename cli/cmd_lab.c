/* cmd_lab.c - ringfence lab: runs experiments and presents their results */
#include "commands.h"

#include "base/plural.h"
#include "lab_run.h"
#include "screen.h"
#include "train_progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All options; each verb reads its own. */
typedef struct lab_options {
    lab_request run;
    int format;
    const char *which;
    const char *output;
    rf_lab_report_options report;
    size_t seed;
} lab_options;

/* In the order of rf_table_format. */
static const char *const formats[] = {"text", "markdown", "csv", "latex", NULL};

static int do_run(const char *const *words, lab_options *o)
{
    (void)words;
    return lab_run(&o->run, NULL);
}

static int do_sweep(const char *const *words, lab_options *o)
{
    return lab_run(&o->run, words[0]);
}

static int do_update(const char *const *words, lab_options *o)
{
    (void)words;
    return lab_update(&o->run);
}

static int do_discover(const char *const *words, lab_options *o)
{
    (void)words;
    return lab_discover(&o->run);
}

static int do_loop(const char *const *words, lab_options *o)
{
    (void)words;
    return lab_loop(&o->run);
}

static int do_table(const char *const *words, lab_options *o)
{
    char *text = NULL;
    rf_error err = {0};
    rf_table_options options = {(rf_table_format)o->format, o->which, o->run.o.encoder};
    if (rf_lab_table(words[0], &options, &text, &err) != RF_OK)
        return command_failed(&err);
    fputs(text, stdout);
    free(text);
    return command_finish();
}

static int do_merge(const char *const *words, lab_options *o)
{
    rf_error err = {0};
    size_t n = 0, runs;
    while (words[n])
        n++;
    if (!o->run.o.out) {
        screen_complain("lab merge: wanted --out DIR for the results");
        return EXIT_USAGE;
    }
    if (rf_lab_merge(words, n, o->run.o.out, &runs, &err) != RF_OK)
        return command_failed(&err);
    if (!o->run.quiet)
        fprintf(stderr, "%s/runs.jsonl: %zu %s\n", o->run.o.out, runs,
                rf_plural(runs, "run", "runs"));
    return command_finish();
}

static int show_progress(void *user, const char *line)
{
    const lab_options *o = user;
    if (!o->run.quiet)
        screen_progress_line(false, "%s", line);
    return train_progress_signal();
}

static int do_report(const char *const *words, lab_options *o)
{
    rf_error err = {0};
    rf_lab_report_options *r = &o->report;
    if (!o->output) {
        screen_complain("lab report: wanted -o FILE");
        return EXIT_USAGE;
    }
    char runs[RF_PATH_MAX];
    snprintf(runs, sizeof runs, "%s/runs.jsonl", words[0]);
    if (command_would_overwrite(o->output, runs)) {
        screen_complain("lab report: the page would overwrite %s; wanted another name "
                        "after -o",
                        o->output);
        return EXIT_USAGE;
    }
    if (command_can_write(o->output, &err) != RF_OK)
        return command_failed(&err);
    r->data = o->run.o.data;
    r->encoder = o->run.o.encoder;
    r->threads = o->run.o.threads;
    r->seed = o->seed;
    r->progress = show_progress;
    r->user = o;
    train_progress_catch_signals();
    rf_status st = rf_lab_report(words[0], r, o->output, &err);
    screen_progress_end();
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; no page was written");
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(&err);
}

#define MOST_WORDS 1000

/* The first word of the command line. */
static const struct verb {
    const char *name;
    size_t words, most; /* after it, at least and at most */
    int (*run)(const char *const *words, lab_options *o);
    command as; /* its name in help and messages */
} verbs[] = {
    {"run", 0, 0, do_run, {.name = "lab run", .synopsis = "[OPTIONS]"}},
    {"sweep", 1, 1, do_sweep, {.name = "lab sweep", .synopsis = "SETTING [OPTIONS]"}},
    {"update", 0, 0, do_update, {.name = "lab update", .synopsis = "[OPTIONS]"}},
    {"discover", 0, 0, do_discover, {.name = "lab discover", .synopsis = "[OPTIONS]"}},
    {"loop", 0, 0, do_loop, {.name = "lab loop", .synopsis = "[OPTIONS]"}},
    {"merge",
     1,
     MOST_WORDS,
     do_merge,
     {.name = "lab merge", .synopsis = "DIR... --out DIR"}},
    {"table", 1, 1, do_table, {.name = "lab table", .synopsis = "DIR [OPTIONS]"}},
    {"report",
     1,
     1,
     do_report,
     {.name = "lab report", .synopsis = "DIR -o FILE [OPTIONS]"}},
};
#define N_VERBS (sizeof verbs / sizeof verbs[0])

#define OWN_OPTIONS 10
#define LAB_OPTIONS (OWN_OPTIONS + LAB_RUN_OPTIONS)

static size_t list_options(lab_options *o, option out[LAB_OPTIONS])
{
    const option own[OWN_OPTIONS] = {
        {.name = "encoder",
         .kind = OPTION_TEXT,
         .value = &o->run.o.encoder,
         .arg = "E",
         .help =
             "run and the like: catalogue name, directory or hub name (default minilm). "
             "table, report: only runs with this encoder; else all, one after another."},
        {.help = "table"},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &o->format,
         .arg = "FORMAT",
         .choices = formats,
         .help = "text (default), markdown, csv (one line per figure) or latex."},
        {.name = "which",
         .kind = OPTION_TEXT,
         .value = &o->which,
         .arg = "TABLE",
         .help =
             "main, known-open, deviations, ablation, negatives, paired, sweeps, few, "
             "updates or loop; else all that have rows."},
        {.help = "report; --data adds maps of three heads"},
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &o->output,
         .arg = "FILE",
         .help = "Where to write the page (required); an existing file is replaced."},
        {.name = "title",
         .kind = OPTION_TEXT,
         .value = &o->report.title,
         .arg = "T",
         .help = "Title of the page (default: Open-world classification)."},
        {.name = "set",
         .kind = OPTION_TEXT,
         .value = &o->report.set,
         .arg = "SET",
         .help = "Set of the maps (default: oos, else the first)."},
        {.name = "ratio",
         .kind = OPTION_REAL,
         .value = &o->report.ratio,
         .arg = "R",
         .help = "Their share of known classes (default: 0.25, else the lowest).",
         .most = 1},
        {.name = "seed",
         .kind = OPTION_SIZE,
         .value = &o->seed,
         .arg = "N",
         .help = "Their seed (default: 0, else the lowest).",
         .max = UINT32_MAX},
    };
    size_t n = lab_run_options(&o->run, out + OWN_OPTIONS);
    memcpy(out, own, sizeof own);
    return OWN_OPTIONS + n;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

/* An option that a verb ignores could cost hours of the wrong experiment. */
static bool is_for(const struct verb *v, const char *name)
{
    static const char *const table_alone[] = {"format", "which", NULL};
    static const char *const report_alone[] = {"output", "title", "set",
                                               "ratio",  "seed",  NULL};
    static const char *const report_too[] = {"data", "threads", "quiet", NULL};
    static const char *const merge_alone[] = {"out", "quiet", NULL};
    bool table = is_one_of(name, table_alone), report = is_one_of(name, report_alone);
    if (strcmp(name, "encoder") == 0)
        return v->run != do_merge;
    if (v->run == do_merge)
        return is_one_of(name, merge_alone);
    if (v->run == do_table)
        return table;
    if (v->run == do_report)
        return report || is_one_of(name, report_too);
    /* a sweep makes variants of its values; one method alone can be updated, and groups
     * need no open texts */
    static const char *const run_alone[] = {"variants", "rows", NULL};
    static const char *const update_alone[] = {"from", "to", "every", NULL};
    static const char *const loop_alone[] = {"batch", "labels", NULL};
    static const char *const run_or_sweep[] = {"shard", NULL};
    static const char *const not_update[] = {"ratios", "methods", "open-texts", NULL};
    static const char *const not_discover[] = {"open-texts", "dry-run", NULL};
    static const char *const not_loop[] = {"methods", "open-texts", "dry-run", NULL};
    if ((v->run != do_run && is_one_of(name, run_alone)) ||
        (v->run != do_run && v->run != do_sweep && is_one_of(name, run_or_sweep)) ||
        (v->run != do_update && is_one_of(name, update_alone)) ||
        (v->run != do_loop && is_one_of(name, loop_alone)) ||
        (v->run == do_update && is_one_of(name, not_update)) ||
        (v->run == do_discover && is_one_of(name, not_discover)) ||
        (v->run == do_loop && is_one_of(name, not_loop)))
        return false;
    return !table && !report && (v->run == do_sweep || strcmp(name, "values") != 0);
}

/* The options of a verb, without headings. */
static size_t keep_options(const struct verb *v, option *options, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (options[i].name && is_for(v, options[i].name))
            options[kept++] = options[i];
    return kept;
}

static int run_command(const command *self, int argc, char **argv)
{
    lab_options o = {0};
    option options[LAB_OPTIONS];
    size_t n_options = list_options(&o, options), n = 0, i = 0;
    const char *words[MOST_WORDS + 1] = {0};
    while (argc > 1 && i < N_VERBS && strcmp(argv[1], verbs[i].name) != 0)
        i++;
    if (argc < 2 || i == N_VERBS) {
        if (argc > 1 && argv[1][0] == '-' &&
            options_parse(self, options, n_options, argc, argv, words, 0, &n) ==
                PARSE_DONE)
            return command_finish();
        screen_complain("lab: wanted one of: %s", self->synopsis);
        return EXIT_USAGE;
    }
    const struct verb *v = &verbs[i];
    command as = v->as;
    as.summary = self->summary;
    as.details = self->details;
    n_options = keep_options(v, options, n_options);
    switch (
        options_parse(&as, options, n_options, argc - 1, argv + 1, words, v->most, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n >= v->words)
        return v->run(words, &o);
    screen_complain("%s: wanted ringfence %s %s", as.name, as.name, as.synopsis);
    return EXIT_USAGE;
}

const command command_lab = {
    .name = "lab",
    .synopsis = "run | sweep SETTING | update | discover | loop | merge DIR... | "
                "table DIR | report DIR -o FILE [OPTIONS]",
    .summary = "Experiments: methods compared under the published protocol.",
    .details =
        "run     trains and tests each method on each set, share of known classes and\n"
        "        seed, under the published protocol. What runs share is computed once\n"
        "        and cached in OUT/cache; each finished run is a line of "
        "OUT/runs.jsonl.\n"
        "        Ctrl-C stops; the same command resumes.\n"
        "sweep   the same for some values of one setting; --values lists them.\n"
        "update  trains ans on some classes of each set and seed, lets it learn others "
        "one\n"
        "        by one with ringfence update, and measures it beside models trained on\n"
        "        all of them at once: lines of OUT/updates.jsonl. Ctrl-C stops; the "
        "same\n"
        "        command resumes.\n"
        "discover  clusters the test texts of known and unknown classes by the features\n"
        "        of each training: as many clusters as classes, and as many as it "
        "finds.\n"
        "        Accuracy, NMI and ARI, on all texts and on those of unknown classes, "
        "go\n"
        "        to standard output and OUT/discover.jsonl.\n"
        "loop    trains ans on some classes of each set and seed; the other training "
        "texts\n"
        "        come as traffic. Round by round they are reviewed, a reviewer who "
        "knows\n"
        "        the truth reads a few texts of each group and names it, and the model\n"
        "        learns the labels. F1 over all classes and labels spent go to standard\n"
        "        output and OUT/loop.jsonl, at the end beside a training with the same\n"
        "        labels. Ctrl-C stops; the same command resumes.\n"
        "merge   the runs of several directories, done by run --shard, in one.\n"
        "table   the runs of DIR/runs.jsonl as tables, published numbers beside them:\n"
        "        main        accuracy and F1 of each method, mean over seeds\n"
        "        known-open  F1 of known classes and of open\n"
        "        deviations  standard deviations over seeds\n"
        "        ablation    what each part of ANS adds\n"
        "        negatives   synthetic negatives added to other methods\n"
        "        paired      ANS against each method on the same experiments\n"
        "        sweeps      figures for each value of a setting\n"
        "        few         runs with few uneven rows (run --rows), and how well they\n"
        "                    would do with the best fence\n"
        "        updates     learning after training (lab update)\n"
        "        loop        classes found by review (lab loop)\n"
        "report  the same and more as one HTML page that needs no other file and no\n"
        "        network: charts, curves, confusions, times and, with --data, maps of\n"
        "        what three heads see; those contain texts of the test set. Their\n"
        "        stage 1 comes from DIR/cache or is trained.\n\n"
        "A run is one set, share of known classes, seed, method, encoder and variant. If "
        "a run was\nrepeated, the later one counts. The published numbers are of "
        "BERT-base-uncased: compare\nthem with care.",
    .run = run_command,
};
