/* cmd_fence.c - ringfence fence: places the fences by labelled texts, or by hand */
#include "commands.h"

#include "base/plural.h"
#include "data_options.h"
#include "json_text.h"
#include "ringfence_improve.h"
#include "screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OWN_OPTIONS 9

typedef struct fence_request {
    const char *paths[1 + DATA_FILES]; /* model, labelled rows */
    size_t n_paths;
    const char *output;
    int best; /* as chosen: rf_fence_best; -1: not given */
    bool json;
    float offset; /* NaN: not given */
    size_t seed;
    data_options data;
    rf_fence_options o;
} fence_request;

static const char *const goals[] = {"f1", "accuracy", NULL}; /* as rf_fence_best */

/* ---- Options ----------------------------------------------------------------------- */

static void list_options(fence_request *r, option out[OWN_OPTIONS + DATA_OPTIONS])
{
    *r = (fence_request){.best = -1, .offset = NAN, .o = rf_fence_options_default()};
    const option list[OWN_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &r->output,
         .arg = "NEW",
         .help = "Where to write the model (required); may be MODEL itself. It appears "
                 "complete or not at all."},
        {.name = "best",
         .kind = OPTION_CHOICE,
         .value = &r->best,
         .arg = "f1|accuracy",
         .help = "Put the fences where this is best (default f1).",
         .choices = goals},
        {.name = "max-false-accept",
         .kind = OPTION_SHARE,
         .value = &r->o.max_false_accept,
         .arg = "P",
         .help = "Instead: let in at most this share of open texts, 1% or 0.01.",
         .least = 1e-6,
         .most = 0.5},
        {.name = "max-false-reject",
         .kind = OPTION_SHARE,
         .value = &r->o.max_false_reject,
         .arg = "P",
         .help = "Instead, or as well: call at most this share of known texts open.",
         .least = 1e-6,
         .most = 0.5},
        {.name = "per-class",
         .kind = OPTION_FLAG,
         .value = &r->o.per_class,
         .help = "Move the fence of a class by itself where its texts justify it."},
        {.name = "offset",
         .kind = OPTION_FLOAT,
         .value = &r->offset,
         .arg = "X",
         .help = "Instead: add X to every margin. LABELLED may be left out.",
         .least = -(double)RF_MAX_FENCE,
         .most = (double)RF_MAX_FENCE},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &r->json,
         .help = "Print one JSON object with all figures in full precision."},
        {.name = "seed",
         .kind = OPTION_SIZE,
         .value = &r->seed,
         .arg = "N",
         .help = "Seed of the draws behind the figures and intervals",
         .shows_number = true,
         .max = SIZE_MAX},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r->o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The model is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    memcpy(out, list, sizeof list);
    data_options_list(&r->data, out + OWN_OPTIONS);
}

/* What is wrong with the options taken together, NULL if nothing is. */
static const char *wrong_options(const fence_request *r)
{
    bool budget = r->o.max_false_accept > 0.0 || r->o.max_false_reject > 0.0;
    bool fixed = !isnan(r->offset);
    if (!r->paths[0] || (!r->paths[1] && !fixed) || !r->output)
        return "wanted MODEL, LABELLED (a file, or - for standard input) and -o NEW; "
               "LABELLED may be left out with --offset";
    if (strcmp(r->output, "-") == 0)
        return "a model cannot be written to standard output; wanted -o NEW";
    if (fixed && (budget || r->best >= 0 || r->o.per_class))
        return "--offset places the fences itself: wanted it without --best, --per-class "
               "and budgets";
    if (data_would_be_overwritten(r->output, r->paths + 1, r->n_paths - 1))
        return "the model would overwrite LABELLED; wanted another name after -o";
    if (budget && r->best >= 0)
        return "--best is for fences without a budget: --max-false-accept and "
               "--max-false-reject place them";
    return NULL;
}

/* ---- Output ------------------------------------------------------------------------ */

/* In the order of rf_fence_figures. */
static const struct {
    const char *title, *key;
} names[] = {{"accuracy", "accuracy"},
             {"F1", "f1"},
             {"known called open", "known_as_open"},
             {"open let in", "open_let_in"}};
#define N_FIGURES (sizeof names / sizeof *names)

static const rf_figure *figure_at(const rf_fence_figures *f, size_t i)
{
    const rf_figure *const all[N_FIGURES] = {&f->accuracy, &f->f1, &f->known_as_open,
                                             &f->open_let_in};
    return all[i];
}

static void put_figure(const rf_figure *f)
{
    char text[64] = "-";
    if (!isnan(f->value))
        snprintf(text, sizeof text, "%.2f %% (%.1f to %.1f)", f->value, f->low, f->high);
    printf("  %-26s", text);
}

static void put_text(const fence_request *r, const rf_fence_result *f)
{
    if (f->rows > 0)
        printf("rows       %zu, %zu of them open\n", f->rows, f->open_rows);
    printf("fences     %+.4f added to every margin", f->offset);
    if (f->own_offsets > 0)
        printf("; %zu %s of %s own as well", f->own_offsets,
               rf_plural(f->own_offsets, "class has an offset", "classes have offsets"),
               rf_plural(f->own_offsets, "its", "their"));
    else if (r->o.per_class)
        fputs("; no class needs an offset of its own", stdout);
    putchar('\n');
    if (f->rows == 0)
        return;
    printf("\n%-18s  %-26s  %s\n", "", "before", "from now on");
    for (size_t i = 0; i < N_FIGURES; i++) {
        printf("%-18s", names[i].title);
        put_figure(figure_at(&f->before, i));
        put_figure(figure_at(&f->expected, i));
        putchar('\n');
    }
    puts("in brackets: 95 % of the time, for as many other texts like these");
}

static void put_json_figures(const char *key, const rf_fence_figures *f)
{
    printf(",\n  \"%s\": {", key);
    for (size_t i = 0; i < N_FIGURES; i++) {
        const rf_figure *x = figure_at(f, i);
        printf("%s\n    \"%s\": {\"value\": ", i ? "," : "", names[i].key);
        json_put_double(stdout, x->value);
        fputs(", \"low\": ", stdout);
        json_put_double(stdout, x->low);
        fputs(", \"high\": ", stdout);
        json_put_double(stdout, x->high);
        putchar('}');
    }
    fputs("\n  }", stdout);
}

static void put_json(const rf_fence_result *f)
{
    printf("{\n  \"rows\": %zu,\n  \"open_rows\": %zu,\n  \"offset\": ", f->rows,
           f->open_rows);
    json_put_double(stdout, f->offset);
    printf(",\n  \"own_offsets\": %zu", f->own_offsets);
    put_json_figures("before", &f->before);
    put_json_figures("expected", &f->expected);
    fputs("\n}\n", stdout);
}

/* ---- The command ------------------------------------------------------------------- */

static int show_progress(void *user, const char *line)
{
    (void)user;
    screen_progress_line(false, "%s", line);
    return 0;
}

/* With the same parts as the file it came from. */
static rf_status save(const rf_model *model, const char *path, rf_error *err)
{
    rf_save_options o = rf_save_options_default();
    rf_model_summary s;
    rf_model_summarize(model, &s);
    o.slim = !s.encoder_contained;
    o.no_features = s.kept_rows == 0;
    o.keep_examples = s.kept_texts;
    return rf_model_save(model, path, &o, err);
}

static int move_fences(fence_request *r)
{
    rf_error err = {0};
    rf_fence_result result;
    r->o.best = r->best > 0 ? RF_FENCE_BEST_ACCURACY : RF_FENCE_BEST_F1;
    r->o.seed = r->seed;
    r->o.fixed = !isnan(r->offset);
    r->o.offset = (double)r->offset;
    r->o.progress = show_progress;
    if (command_can_write(r->output, &err) != RF_OK)
        return command_failed(&err);
    rf_model *model = rf_model_load(r->paths[0], &err);
    rf_dataset *rows =
        model && r->paths[1]
            ? data_options_read_test(&r->data, r->paths + 1, r->n_paths - 1, model, &err)
            : NULL;
    rf_status st = model && (rows || !r->paths[1])
                       ? rf_model_move_fences(model, rows, &r->o, &result, &err)
                       : err.code;
    screen_progress_end();
    if (st == RF_OK)
        st = save(model, r->output, &err);
    if (st == RF_OK && r->json)
        put_json(&result);
    else if (st == RF_OK)
        put_text(r, &result);
    rf_dataset_free(rows);
    rf_model_free(model);
    return st == RF_OK ? command_finish() : command_failed(&err);
}

static int run_fence(const command *self, int argc, char **argv)
{
    fence_request r;
    option options[OWN_OPTIONS + DATA_OPTIONS];
    list_options(&r, options);
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          r.paths, 1 + DATA_FILES, &r.n_paths)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = wrong_options(&r);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    return move_fences(&r);
}

const command command_fence = {
    .name = "fence",
    .synopsis = "MODEL [LABELLED...] -o NEW [OPTIONS]",
    .summary = "Place the fences of a model by labelled texts, in seconds.",
    .details =
        "LABELLED is one or more files of texts and their labels, as train reads them,\n"
        "or - for standard input: texts that MODEL was not trained on, as they come, "
        "open ones\n"
        "among them. Every label that the model does not know counts as open. Nothing "
        "is\n"
        "trained: the fences of MODEL move to where these texts want them, confidence "
        "is\n"
        "fitted to them, and the result is written to NEW. inspect shows where the\n"
        "fences of a model come from.\n\n"
        "With a budget the fences are as loose (or as tight) as it allows: over many "
        "such\n"
        "files at most P of the texts to come are wrong in this way, and the interval\n"
        "says how far off a single file may be. It takes 3 / P texts of the kind. With\n"
        "both budgets --max-false-accept places the fences, and the command fails if "
        "the\n"
        "other does not hold there. Without a budget it takes 10 known and 10 open\n"
        "texts, and better some hundred.\n\n"
        "With --offset the fences move by X, wherever you found it (eval --fence, the\n"
        "page of serve): above 0, more texts get a class. Without LABELLED each text "
        "keeps\n"
        "its chance to be known; with it, confidence is fitted and figures are shown.\n\n"
        "The figures say what the fences did before and what to expect from now on: "
        "each\n"
        "fifth of the texts is answered with fences that the other four fifths place.\n"
        "F1 is the mean over the classes that LABELLED has, open included (F1-tested of\n"
        "eval).\n\n"
        "With --json: rows, open_rows, offset (added to every margin), own_offsets (the\n"
        "number of classes that have one), before and expected, each with accuracy, f1,\n"
        "known_as_open and open_let_in: value, low, high, in per cent; null if there "
        "are\n"
        "no texts to measure it on.",
    .run = run_fence,
};
