/* lab_run.c - ringfence lab run, sweep and update: their options, progress and plan */
#include "lab_run.h"

#include "base/error.h"
#include "base/plural.h"
#include "commands.h"
#include "screen.h"
#include "train_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "lambda, rho, ...": settings with values to sweep over. */
static const char *sweep_names(char *out, size_t room)
{
    rf_lab_sweep sweep;
    out[0] = '\0';
    for (size_t i = 0, n = 0; rf_lab_sweep_at(i, &sweep) && n < room; i++)
        if (sweep.values)
            n += (size_t)snprintf(out + n, room - n, "%s%s", n ? ", " : "", sweep.name);
    return out;
}

size_t lab_run_options(lab_request *r, option out[LAB_RUN_OPTIONS])
{
    r->o = rf_lab_options_default();
    rf_lab_options *o = &r->o;
    char names[200];
    o->settings = r->settings.text;
    sweep_names(names, sizeof names);
    snprintf(r->variants_help, sizeof r->variants_help,
             "Other settings to try, each as runs of its own: \"radius=1,8 gamma=3\" "
             "(%s, and all other settings).",
             names);
    snprintf(r->values_help, sizeof r->values_help,
             "sweep: the values to try. Optional if SETTING is one of %s.", names);
    const option list[] = {
        {.help = "run, sweep, update, discover and loop"},
        {.name = "data",
         .kind = OPTION_TEXT,
         .value = &o->data,
         .arg = "DIR",
         .help = "Directory of the sets: DIR/SET/train.tsv, dev.tsv, test.tsv (or .csv, "
                 ".jsonl)."},
        {.name = "out",
         .kind = OPTION_TEXT,
         .value = &o->out,
         .arg = "DIR",
         .help = "Directory of the results, such as runs.jsonl, and of what runs share, "
                 "cache/."},
        {.name = "sets",
         .kind = OPTION_TEXT,
         .value = &o->sets,
         .arg = "LIST",
         .help = "Sets (default banking,oos,stackoverflow)."},
        {.name = "ratios",
         .kind = OPTION_TEXT,
         .value = &o->ratios,
         .arg = "LIST",
         .help = "Shares of the classes that are known (default 0.25,0.5,0.75)."},
        {.name = "seeds",
         .kind = OPTION_TEXT,
         .value = &o->seeds,
         .arg = "LIST",
         .help = "Seeds of the class draw and of training; 0-9 is a range (default 0)."},
        {.name = "methods",
         .kind = OPTION_TEXT,
         .value = &o->methods,
         .arg = "LIST",
         .help = "Methods as in ringfence train; \"shared\": those that share stage 1; "
                 "\"all\" (default ans)."},
        {.name = "variants",
         .kind = OPTION_TEXT,
         .value = &o->variants,
         .arg = "LIST",
         .help = r->variants_help},
        {.name = "rows",
         .kind = OPTION_TEXT,
         .value = &r->rows,
         .arg = "LIST",
         .help = "Training rows per class, each entry as runs of its own: a number, or "
                 "lognormal:MEDIAN:SPREAD for a number drawn for each class, 2 to 90, "
                 "without dev rows."},
        {.name = "values",
         .kind = OPTION_TEXT,
         .value = &r->values,
         .arg = "LIST",
         .help = r->values_help},
        {.name = "from",
         .kind = OPTION_SHARE,
         .value = &o->from,
         .arg = "R",
         .help = "update: share of the classes that the model is trained on (default "
                 "0.25).",
         .most = 1},
        {.name = "to",
         .kind = OPTION_SHARE,
         .value = &o->to,
         .arg = "R",
         .help = "update: share of the classes that it knows in the end (default 0.75).",
         .most = 1},
        {.name = "every",
         .kind = OPTION_SIZE,
         .value = &o->every,
         .arg = "N",
         .help = "update: measure after every N-th class (default 10), and at the end.",
         .min = 1,
         .max = 1000000},
        {.name = "batch",
         .kind = OPTION_SIZE,
         .value = &o->batch,
         .arg = "N",
         .help = "loop: texts that come with each round (default 1000).",
         .min = 1,
         .max = 1000000000},
        {.name = "labels",
         .kind = OPTION_SIZE,
         .value = &o->labels,
         .arg = "N",
         .help = "loop: texts that the reviewer may read in all (default: as many as the "
                 "groups take).",
         .min = 1,
         .max = 1000000000},
        {.name = "shard",
         .kind = OPTION_TEXT,
         .value = &o->shard,
         .arg = "I/N",
         .help = "Only the I-th of N parts of the runs, for several machines, each with "
                 "an --out of its own; lab merge puts them together."},
        {.name = "open-texts",
         .kind = OPTION_TEXT,
         .value = &o->open_texts,
         .arg = "FILE",
         .help = "selfsup: open texts, one per line."},
        {.name = "max-tokens",
         .kind = OPTION_SIZE,
         .value = &o->max_tokens,
         .arg = "N",
         .help = "Truncate texts at N tokens (default: as published for the three sets, "
                 "else the encoder's maximum).",
         .min = 3,
         .max = RF_MAX_POSITIONS},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &o->threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The figures are the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
        {.name = "dry-run",
         .kind = OPTION_FLAG,
         .value = &r->dry_run,
         .help = "List the runs and how long they may take; run nothing."},
        {.name = "quiet",
         .kind = OPTION_FLAG,
         .value = &r->quiet,
         .help = "Show errors only."},
    };
    size_t n = sizeof list / sizeof *list;
    memcpy(out, list, sizeof list);
    return n + settings_options_list(&r->settings, NULL, out + n);
}

/* ---- Progress ---------------------------------------------------------------------- */

static void show_stage(const rf_lab_event *e)
{
    static const char *const stages[] = {
        [RF_STAGE_ENCODE] = "encoding",   [RF_STAGE_KNOWN] = "stage 1",
        [RF_STAGE_FEATURES] = "features", [RF_STAGE_OPEN] = "stage 2",
        [RF_STAGE_FOLDS] = "folds",       [RF_STAGE_MAP] = "map"};
    char left[SCREEN_TIME], part[40] = "";
    const rf_train_event *t = e->training;
    if (t->total > 0)
        snprintf(part, sizeof part, " %.0f %%",
                 100.0 * (double)t->done / (double)t->total);
    screen_progress_line(false, "%zu of %zu, %.40s: %s%s; %s left", e->done + 1, e->total,
                         e->run, stages[t->stage], part,
                         screen_time(left, e->seconds_left));
}

static int show_event(void *user, const rf_lab_event *e)
{
    const lab_request *r = user;
    char time[SCREEN_TIME], left[SCREEN_TIME];
    if (r->dry_run) {
        if (e->before)
            printf("%s\tdone\n", e->run);
        else
            printf("%s\t%s\n", e->run, screen_time(time, e->seconds));
    } else if (e->training) {
        if (!r->quiet && isatty(STDERR_FILENO))
            show_stage(e);
    } else if (e->error) {
        screen_progress_end();
        screen_complain("%s: %s", e->run, e->error);
    } else if (e->finished && !r->quiet) {
        screen_progress_end();
        fprintf(stderr, "%zu of %zu, %s: accuracy %.2f, F1 %.2f", e->done, e->total,
                e->run, e->accuracy, e->f1);
        if (r->updates)
            fprintf(stderr, " (trained again %.2f, %.2f)", e->trained_accuracy,
                    e->trained_f1);
        fprintf(stderr, ", %s; about %s left\n", screen_time(time, e->seconds),
                screen_time(left, e->seconds_left));
    }
    return train_progress_signal();
}

/* Totals of a plan. */
typedef struct sum {
    size_t runs, done;
    double seconds;
    bool scaled;
} sum;

static int add_to_sum(void *user, const rf_lab_event *e)
{
    sum *s = user;
    s->runs++;
    s->done += e->before;
    s->seconds += e->before ? 0.0 : e->seconds;
    s->scaled = e->scaled;
    return 0;
}

static rf_status show_plan(lab_request *r, rf_error *err)
{
    sum s = {0};
    char time[SCREEN_TIME];
    rf_status (*plan)(const rf_lab_options *, rf_lab_progress, void *, rf_error *) =
        r->updates ? rf_lab_update_plan : rf_lab_plan;
    rf_status st = plan(&r->o, show_event, r, err);
    if (st == RF_OK)
        st = plan(&r->o, add_to_sum, &s, err);
    if (st == RF_OK)
        printf("%zu %s, %zu of them done; the rest may take %s%s\n", s.runs,
               rf_plural(s.runs, "run", "runs"), s.done, screen_time(time, s.seconds),
               s.scaled || s.done == s.runs
                   ? ""
                   : " (a rough guess: no finished run to calibrate it)");
    return st;
}

/* ---- Running ----------------------------------------------------------------------- */

/* Sets the variants to "radius=1,2,4". Says what is wrong and returns false if it cannot.
 */
static bool set_sweep_variants(lab_request *r, const char *name)
{
    rf_lab_sweep sweep;
    char names[200];
    bool found = rf_lab_sweep_find(name, &sweep);
    const char *values = r->values ? r->values : found ? sweep.values : NULL;
    if (!found) {
        screen_complain("lab sweep: no setting \"%.40s\"; wanted one of %s, or another "
                        "setting with --values",
                        name, sweep_names(names, sizeof names));
        return false;
    }
    if (!values) {
        screen_complain("lab sweep: %s has no default values; wanted --values LIST",
                        name);
        return false;
    }
    if ((size_t)snprintf(r->sweep, sizeof r->sweep, "%s=%s", name, values) >=
        sizeof r->sweep) {
        screen_complain("lab sweep: --values is too long; wanted less than %zu bytes",
                        sizeof r->sweep - strlen(name) - 1);
        return false;
    }
    r->o.variants = r->sweep;
    return true;
}

/* Adds the draws of rows to the variants; false if they are too long. */
static bool add_row_variants(lab_request *r)
{
    int n = snprintf(r->sweep, sizeof r->sweep, "%s rows=%s",
                     r->o.variants ? r->o.variants : "", r->rows);
    r->o.variants = r->sweep;
    if (n > 0 && (size_t)n < sizeof r->sweep)
        return true;
    screen_complain("lab run: --variants and --rows are too long; wanted less than %zu "
                    "bytes together",
                    sizeof r->sweep - strlen(" rows="));
    return false;
}

bool lab_has_directories(const lab_request *r)
{
    if (r->o.data && r->o.out)
        return true;
    screen_complain("lab: wanted --data DIR with the sets and --out DIR for results");
    return false;
}

static int carry_out(lab_request *r)
{
    rf_error err = {0};
    rf_status st;
    train_progress_catch_signals();
    if (r->dry_run)
        st = show_plan(r, &err);
    else if (r->updates)
        st = rf_lab_update(&r->o, show_event, r, &err);
    else
        st = rf_lab_run(&r->o, show_event, r, &err);
    screen_progress_end();
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; finished runs are in %s: the same command resumes "
                        "from there",
                        r->o.out);
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(&err);
}

int lab_run(lab_request *r, const char *sweep)
{
    if (!lab_has_directories(r) || (sweep && !set_sweep_variants(r, sweep)) ||
        (r->rows && !add_row_variants(r)))
        return EXIT_USAGE;
    return carry_out(r);
}

int lab_update(lab_request *r)
{
    if (!lab_has_directories(r))
        return EXIT_USAGE;
    r->updates = true;
    return carry_out(r);
}
