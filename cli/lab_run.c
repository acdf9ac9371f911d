#include "lab_run.h"

#include "base/error.h"
#include "commands.h"
#include "screen.h"
#include "train_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char lab_sweep_names[] =
    "radius, rho, gamma, lambda, k, eta, rows, classes, ablation";

/* Values that a sweep goes through if none are given. */
static const struct {
    const char *name, *values;
} sweeps[] = {
    {"radius", "1,2,4,8,16,32,64,128,256"},
    {"rho", "0.25,0.5,0.75,1,1.25,1.5,2,3,4"},
    {"gamma", "1,1.25,1.5,2,3,4"},
    {"lambda", "0,0.25,0.5,1,2,4"},
    {"k", "0,1,5,10,20,50"},
    {"eta", "0.005,0.01,0.02,0.05,0.1,0.2"},
    {"rows", "5,10,20,50,100"},
    {"classes", "5,10,20,40,80"},
    {"ablation", "baseline,noise,projection,ascent"},
};

size_t lab_run_options(lab_request *r, option out[LAB_RUN_OPTIONS])
{
    r->o = rf_lab_options_default();
    rf_lab_options *o = &r->o;
    const option list[] = {
        {.help = "run and sweep"},
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
         .help = "Directory of the results, runs.jsonl, and of what runs share, cache/."},
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
         .help = "Seeds, of the draw of classes too; 0-9 is a range (default 0)."},
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
         .help = "Other settings to try, each as runs of its own: \"radius=1,8 "
                 "gamma=3\"."},
        {.name = "values",
         .kind = OPTION_TEXT,
         .value = &r->values,
         .arg = "LIST",
         .help = "sweep: the values to go through (default: some sensible ones)."},
        {.name = "train-layers",
         .kind = OPTION_SIZE,
         .value = &o->train.train_layers,
         .arg = "N",
         .help = "Upper layers of the encoder that learn",
         .shows_number = true,
         .max = 1000},
        {.name = "epochs",
         .kind = OPTION_SIZE,
         .value = &o->train.epochs,
         .arg = "N",
         .help = "Epochs of stage 1, at most (default: from the rows).",
         .min = 1,
         .max = 1000000},
        {.name = "open-texts",
         .kind = OPTION_TEXT,
         .value = &o->open_texts,
         .arg = "FILE",
         .help = "selfsup: texts of no class, one per line."},
        {.name = "max-tokens",
         .kind = OPTION_SIZE,
         .value = &o->max_tokens,
         .arg = "N",
         .help = "Tokens of a text that count (default: as published for the three sets, "
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
         .help = "List the runs and the time they may take; do nothing."},
        {.name = "quiet",
         .kind = OPTION_FLAG,
         .value = &r->quiet,
         .help = "Show errors only."},
    };
    size_t n = sizeof list / sizeof *list;
    memcpy(out, list, sizeof list);
    method_settings_list(&o->train.method_options, out + n);
    return n + METHOD_SETTINGS;
}

/* ---- What is shown ----------------------------------------------------------------- */

static void show_stage(const rf_lab_event *e)
{
    static const char *const stages[] = {"encoding", "stage 1", "features", "stage 2"};
    char left[SCREEN_TIME], part[40] = "";
    const rf_train_event *t = e->training;
    if (t->total > 0)
        snprintf(part, sizeof part, " %.0f %%",
                 100.0 * (double)t->done / (double)t->total);
    screen_progress_line(false, "%zu of %zu, %.40s: %s%s; %s left", e->done + 1, e->total,
                         e->run, stages[t->stage], part,
                         screen_time(left, e->seconds_left));
}

static int tell(void *user, const rf_lab_event *e)
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
        fprintf(stderr, "%zu of %zu, %s: accuracy %.2f, F1 %.2f, %s; about %s left\n",
                e->done, e->total, e->run, e->accuracy, e->f1,
                screen_time(time, e->seconds), screen_time(left, e->seconds_left));
    }
    return train_progress_signal();
}

/* Runs, and the sum of their times, of a plan. */
typedef struct sum {
    size_t runs, done;
    double seconds;
} sum;

static int add(void *user, const rf_lab_event *e)
{
    sum *s = user;
    s->runs++;
    s->done += e->before;
    s->seconds += e->before ? 0.0 : e->seconds;
    return 0;
}

static rf_status plan(lab_request *r, rf_error *err)
{
    sum s = {0};
    char time[SCREEN_TIME];
    rf_status st = rf_lab_plan(&r->o, tell, r, err);
    if (st == RF_OK)
        st = rf_lab_plan(&r->o, add, &s, err);
    if (st == RF_OK)
        printf("%zu runs, %zu of them done; the others may take %s\n", s.runs, s.done,
               screen_time(time, s.seconds));
    return st;
}

/* ---- Doing it ---------------------------------------------------------------------- */

/* "radius=1,2,4" in place of the variants; false if there is no such sweep. */
static bool take_sweep(lab_request *r, const char *name, char out[1024])
{
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        if (strcmp(sweeps[i].name, name) == 0) {
            const char *values = r->values ? r->values : sweeps[i].values;
            r->o.variants = out;
            return (size_t)snprintf(out, 1024, "%s=%s", name, values) < 1024;
        }
    return false;
}

int lab_run(lab_request *r, const char *sweep)
{
    char variants[1024];
    rf_error err = {0};
    if (!r->o.data || !r->o.out) {
        screen_complain("lab: wanted --data DIR with the sets and --out DIR for results");
        return EXIT_USAGE;
    }
    if (sweep && !take_sweep(r, sweep, variants)) {
        screen_complain("lab sweep: no \"%.40s\", or too many values; wanted one of %s",
                        sweep, lab_sweep_names);
        return EXIT_USAGE;
    }
    train_progress_take_signals();
    rf_status st = r->dry_run ? plan(r, &err) : rf_lab_run(&r->o, tell, r, &err);
    screen_progress_end();
    if (st == RF_ERR_STOPPED) {
        screen_complain("stopped; what is finished is in %s: the same command goes on "
                        "from there",
                        r->o.out);
        return 128 + train_progress_signal();
    }
    return st == RF_OK ? command_finish() : command_failed(&err);
}
