/* cmd_eval.c - ringfence eval: measures a model on labelled texts */
#include "commands.h"

#include "base/plural.h"
#include "data_options.h"
#include "fail_under.h"
#include "json_text.h"
#include "screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define OWN_OPTIONS 7
#define SHOWN_CLASSES 20
#define SHOWN_CONFUSIONS 10
#define SHOWN_NAME 40 /* characters of a label in the table */

typedef struct result {
    const rf_model *model;
    float fence; /* not 0: what the model promises is not about this one */
    rf_evaluation e;
    size_t *worst; /* [classes + 1] by F1, lowest first */
    rf_confusion *confusions;
    size_t n_confusions;
} result;

static const char *name_of(const result *r, size_t id)
{
    return rf_model_label(r->model, id < r->e.classes ? id : RF_OPEN);
}

/* ---- Sorting ----------------------------------------------------------------------- */

typedef struct ranked {
    double f1;
    size_t id;
} ranked;

static int by_f1(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->f1 != y->f1)
        return x->f1 < y->f1 ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static rf_status sort_classes(result *r, rf_error *err)
{
    size_t ids = r->e.classes + 1;
    ranked *all = calloc(ids, sizeof *all);
    r->worst = calloc(ids, sizeof *r->worst);
    if (!all || !r->worst) {
        free(all);
        return rf_fail_nomem(err, ids * sizeof *all, "the table of classes");
    }
    for (size_t i = 0; i < ids; i++)
        all[i] = (ranked){r->e.scores[i].f1, i};
    qsort(all, ids, sizeof *all, by_f1);
    for (size_t i = 0; i < ids; i++)
        r->worst[i] = all[i].id;
    free(all);
    return RF_OK;
}

/* ---- Output ------------------------------------------------------------------------ */

/* One kind of error: promised, expected and observed. */
typedef struct claim {
    const char *texts, *error; /* "open", "accepted" */
    double max;                /* 0: no limit */
    double expected, low, high;
    size_t hits, n;
    double share; /* NaN if n is 0 */
} claim;

/* False if the model makes no promise, or its fence is not where it promised. */
static bool take_claims(const result *r, claim *accept, claim *reject)
{
    const rf_evaluation *e = &r->e;
    const rf_class_score *open = &e->scores[e->classes];
    rf_promise p;
    if (r->fence != 0.0f || !rf_model_promise(r->model, &p))
        return false;
    *accept = (claim){.texts = "open",
                      .error = "accepted",
                      .max = p.max_accept,
                      .expected = p.expected_accept,
                      .low = p.accept_low,
                      .high = p.accept_high,
                      .hits = rf_evaluation_accepted(e),
                      .n = e->n_open};
    *reject = (claim){.texts = "known",
                      .error = "called open",
                      .max = p.max_reject,
                      .expected = p.tells_reject ? p.expected_reject : NAN,
                      .low = p.reject_low,
                      .high = p.reject_high,
                      .hits = open->predicted - open->correct,
                      .n = e->n - e->n_open};
    accept->share = accept->n ? (double)accept->hits / (double)accept->n : NAN;
    reject->share = reject->n ? (double)reject->hits / (double)reject->n : NAN;
    return true;
}

/* Where the observed share lies relative to the interval. */
static const char *place(const claim *c)
{
    return c->share < c->low ? "below" : c->share > c->high ? "above" : "within";
}

static void put_claim(const claim *c)
{
    if (isnan(c->expected))
        return;
    if (c->max > 0.0)
        printf("promised   at most %.2f %% of %s texts %s; expected %.2f %%",
               100.0 * c->max, c->texts, c->error, 100.0 * c->expected);
    else
        printf("expected   %.2f %% of %s texts %s", 100.0 * c->expected, c->texts,
               c->error);
    printf(" (95 %% interval %.2f to %.2f %%)\n", 100.0 * c->low, 100.0 * c->high);
    if (c->n)
        printf("happened   %.2f %% of %s texts %s (%zu of %zu), %s the interval\n",
               100.0 * c->share, c->texts, c->error, c->hits, c->n, place(c));
    else
        printf("happened   there are no %s texts to measure it on\n", c->texts);
}

static void put_promise(const result *r)
{
    claim accept, reject;
    if (!take_claims(r, &accept, &reject))
        return;
    put_claim(&accept);
    put_claim(&reject);
}

static void put_text(const result *r, bool all)
{
    const rf_evaluation *e = &r->e;
    size_t ids = e->classes + 1, shown = all || ids < SHOWN_CLASSES ? ids : SHOWN_CLASSES;
    size_t absent = 0;
    for (size_t i = 0; i < e->classes; i++)
        absent += e->scores[i].support == 0;
    size_t present = e->classes - absent + (e->n_open > 0);
    printf("texts      %zu, %zu of them open\n", e->n, e->n_open);
    printf("accuracy  %6.2f %%\n", e->accuracy);
    printf("F1        %6.2f %%  (mean over the %zu known %s and open)\n", e->f1,
           e->classes, rf_plural(e->classes, "class", "classes"));
    printf("F1-known  %6.2f %%", e->f1_known);
    if (e->n == e->n_open)
        puts("  (there are no known texts: F1-known and F1 mean little)");
    else if (absent > 0)
        printf("  (%zu of the %zu classes %s not in TEST: %s F1 counts as 0)\n", absent,
               e->classes, rf_plural(absent, "is", "are"),
               rf_plural(absent, "its", "their"));
    else
        putchar('\n');
    printf("F1-open   %6.2f %%%s\n", e->f1_open,
           e->n_open ? "" : "  (there are no open texts: F1-open and F1 mean little)");
    printf("F1-tested %6.2f %%  (mean over the %zu %s in TEST%s)\n", e->f1_tested,
           present, rf_plural(present, "class", "classes"),
           e->n_open ? ", open included" : "");
    printf("MCC       %6.3f\n", e->mcc);
    if (isnan(e->auroc))
        puts("AUROC          -  (needs both known and open texts)");
    else
        printf("AUROC     %6.2f %%  (known against open, by margin)\n", e->auroc);
    if (e->n > 0)
        printf("expected calibration error %.1f %%\n", e->calibration_error);
    put_promise(r);

    printf("\n%-*s %9s %7s %7s %8s\n", SHOWN_NAME, "class, worst F1 first", "precision",
           "recall", "F1", "support");
    for (size_t i = 0; i < shown; i++) {
        const rf_class_score *s = &e->scores[r->worst[i]];
        screen_put_cell(name_of(r, r->worst[i]), SHOWN_NAME);
        printf(" %9.2f %7.2f %7.2f %8zu\n", s->precision, s->recall, s->f1, s->support);
    }
    if (shown < ids)
        printf("(%zu more: --all)\n", ids - shown);

    size_t n = r->n_confusions < SHOWN_CONFUSIONS ? r->n_confusions : SHOWN_CONFUSIONS;
    if (n > 0)
        printf("\nmost frequent confusions: label -> answer\n");
    for (size_t i = 0; i < n; i++)
        printf("%8zu  %s -> %s\n", r->confusions[i].count,
               name_of(r, r->confusions[i].truth), name_of(r, r->confusions[i].answer));
}

static void put_number(const char *before, double v)
{
    fputs(before, stdout);
    json_put_double(stdout, v);
}

static void put_reliability(const rf_evaluation *e)
{
    put_number(",\n  \"calibration_error\": ", e->n ? e->calibration_error : NAN);
    fputs(",\n  \"reliability\": [", stdout);
    for (size_t i = 0; i < RF_RELIABILITY_BINS; i++) {
        const rf_reliability_bin *b = &e->reliability[i];
        size_t step = 100 / RF_RELIABILITY_BINS;
        printf("%s\n    {\"from\": %zu, \"to\": %zu, \"count\": %zu", i ? "," : "",
               i * step, (i + 1) * step, b->count);
        put_number(", \"confidence\": ", b->count ? b->confidence : NAN);
        put_number(", \"right\": ", b->count ? b->right : NAN);
        fputs("}", stdout);
    }
    fputs("\n  ]", stdout);
}

static void put_place(const char *before, const claim *c)
{
    if (c->n)
        printf("%s\"%s\"", before, place(c));
    else
        printf("%snull", before);
}

/* All shares in per cent. */
static void put_budget(const result *r)
{
    claim a, b;
    if (!take_claims(r, &a, &b))
        return;
    put_number(",\n  \"budget\": {\"max_false_accept\": ",
               a.max > 0.0 ? 100.0 * a.max : NAN);
    put_number(", \"expected_false_accept\": ", 100.0 * a.expected);
    put_number(", \"interval\": [", 100.0 * a.low);
    put_number(", ", 100.0 * a.high);
    put_number("], \"false_accept\": ", 100.0 * a.share);
    put_place(", \"interval_place\": ", &a);
    if (!isnan(b.expected)) {
        put_number(",\n    \"max_false_reject\": ", b.max > 0.0 ? 100.0 * b.max : NAN);
        put_number(", \"expected_false_reject\": ", 100.0 * b.expected);
        put_number(", \"reject_interval\": [", 100.0 * b.low);
        put_number(", ", 100.0 * b.high);
        put_number("], \"false_reject\": ", 100.0 * b.share);
        put_place(", \"reject_interval_place\": ", &b);
    }
    fputs("}", stdout);
}

static void put_json(const result *r)
{
    const rf_evaluation *e = &r->e;
    put_number("{\n  \"accuracy\": ", e->accuracy);
    put_number(",\n  \"f1\": ", e->f1);
    put_number(",\n  \"f1_known\": ", e->f1_known);
    put_number(",\n  \"f1_open\": ", e->f1_open);
    put_number(",\n  \"f1_tested\": ", e->f1_tested);
    put_number(",\n  \"mcc\": ", e->mcc);
    put_number(",\n  \"auroc\": ", e->auroc);
    printf(",\n  \"n\": %zu,\n  \"n_open\": %zu", e->n, e->n_open);
    put_reliability(e);
    put_budget(r);
    fputs(",\n  \"per_class\": {", stdout);
    for (size_t i = 0; i <= e->classes; i++) {
        const rf_class_score *s = &e->scores[i];
        fputs(i ? ",\n    " : "\n    ", stdout);
        json_put_name(stdout, name_of(r, i));
        put_number(": {\"precision\": ", s->precision);
        put_number(", \"recall\": ", s->recall);
        put_number(", \"f1\": ", s->f1);
        printf(", \"support\": %zu}", s->support);
    }
    fputs("\n  },\n  \"confusions\": [", stdout);
    for (size_t i = 0; i < r->n_confusions; i++) {
        const rf_confusion *c = &r->confusions[i];
        fputs(i ? ",\n    {\"label\": " : "\n    {\"label\": ", stdout);
        json_put_name(stdout, name_of(r, c->truth));
        fputs(", \"answer\": ", stdout);
        json_put_name(stdout, name_of(r, c->answer));
        printf(", \"count\": %zu}", c->count);
    }
    fputs(r->n_confusions ? "\n  ]\n}\n" : "]\n}\n", stdout);
}

/* ---- The command ------------------------------------------------------------------- */

static rf_status evaluate(result *r, const rf_session_options *o, const rf_dataset *data,
                          rf_error *err)
{
    rf_session *session = rf_session_open(r->model, o, err);
    if (!session)
        return err->code;
    rf_status st = rf_session_set_fence(session, r->fence, err);
    if (st == RF_OK)
        st = rf_evaluate(session, data, &r->e, err);
    rf_session_free(session);
    if (st == RF_OK)
        st = rf_evaluation_confusions(&r->e, &r->confusions, &r->n_confusions, err);
    if (st == RF_OK)
        st = sort_classes(r, err);
    return st;
}

static int run_eval(const command *self, int argc, char **argv)
{
    const char *paths[1 + DATA_FILES] = {0};
    rf_session_options o = rf_session_options_default();
    int precision = 0;
    size_t n;
    bool json = false, all = false;
    float fence = 0.0f;
    data_options d = {0};
    text_list limits = {0};
    fail_under under;
    option options[OWN_OPTIONS + DATA_OPTIONS] = {
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &json,
         .help = "Print one JSON object with all figures in full precision."},
        {.name = "all",
         .kind = OPTION_FLAG,
         .value = &all,
         .help = "Show every class, not only the 20 with the lowest F1."},
        {.name = "fence",
         .kind = OPTION_FLOAT,
         .value = &fence,
         .arg = "X",
         .help = "Add X to every margin: above 0, more texts get a class (default 0).",
         .least = -(double)RF_MAX_FENCE,
         .most = (double)RF_MAX_FENCE},
        {.name = "fail-under",
         .kind = OPTION_TEXTS,
         .value = &limits,
         .arg = "F=N",
         .help =
             "End with exit code 1 if figure F is below N, as in f1=80: accuracy, f1, "
             "f1-known, f1-open, f1-tested, auroc, mcc. Can be repeated, or several "
             "with commas."},
        PRECISION_OPTION(&precision),
        ALL_HEADS_OPTION(&o.all_heads),
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &o.threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The result is the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    data_options_list(&d, options + OWN_OPTIONS);
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          paths, 1 + DATA_FILES, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n < 2) {
        screen_complain("%s: wanted MODEL and TEST (files, or - for standard input)",
                        self->name);
        return EXIT_USAGE;
    }
    if (!fail_under_read(&under, self->name, &limits))
        return EXIT_USAGE;
    rf_error err = {0};
    rf_model *model = rf_model_load(paths[0], &err);
    rf_dataset *data =
        model ? data_options_read_test(&d, paths + 1, n - 1, model, &err) : NULL;
    result r = {.model = model, .fence = fence};
    o.precision = precision_of(precision);
    rf_status st = data ? evaluate(&r, &o, data, &err) : err.code;
    if (st == RF_OK && json)
        put_json(&r);
    else if (st == RF_OK)
        put_text(&r, all);
    int code = st == RF_OK ? command_finish() : command_failed(&err);
    if (st == RF_OK && !fail_under_check(&under, &r.e))
        code = EXIT_FAILED;
    rf_evaluation_release(&r.e);
    free(r.confusions);
    free(r.worst);
    rf_dataset_free(data);
    rf_model_free(model);
    return code;
}

const command command_eval = {
    .name = "eval",
    .synopsis = "MODEL TEST... [OPTIONS]",
    .summary = "Measure a model on labelled texts, open ones among them.",
    .details =
        "TEST is one or more files of texts and their labels, as train reads them, or -\n"
        "for standard input. Every label that the model does not know counts as open.\n\n"
        "F1 of a class is the harmonic mean of precision and recall. F1-known is its\n"
        "mean over the model's classes, F1-open is the F1 of open, and F1 the mean over\n"
        "both. F1-tested is the mean over the classes that TEST has, open included. MCC\n"
        "is the Matthews correlation of labels and answers: 1 if all are right, 0 if\n"
        "they are no better than chance. AUROC is the chance that a known text has a\n"
        "larger deciding margin than an open one; TEST must have both.\n\n"
        "The expected calibration error is the average gap between confidence\n"
        "and the share of right answers. For a model with an error budget, eval shows\n"
        "what it promised or expected and what happened: open texts that were accepted\n"
        "and known texts that were called open. It does so too for fences that "
        "ringfence\n"
        "fence placed, and not with --fence, which moves them.\n\n"
        "With --json: accuracy, f1, f1_known, f1_open, f1_tested, mcc (-1 to 1), auroc\n"
        "(null if TEST lacks known or open texts), n, n_open, calibration_error,\n"
        "reliability (ten bins: from, to, count, confidence: the mean, right: the "
        "share),\n"
        "budget (if there is one), per_class (by label: precision,\n"
        "recall, f1, support) and confusions (label, answer, count, most frequent\n"
        "first). All shares are in per cent. A class that is not in TEST has recall and\n"
        "f1 0, as is usual; shares of bins or budgets without texts are null.",
    .run = run_eval,
};
