/* self_tune.c - race a few candidate settings on folds and choose the winner */
#include "folds/self_tune.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stage 1 of a fold takes about as long as stage 2 of this many candidates. */
#define STAGE_1_STEPS 4
#define PARTS_OF_A_STEP 100

/* ---- Candidates -------------------------------------------------------------------- */

typedef enum setting { NONE, BLEND, ASCENT, RHO, NEGATIVES, LAMBDA } setting;

typedef struct candidate {
    const char *name;
    setting what;
    float value; /* NEGATIVES: a factor */
    rf_tune_effort from;
} candidate;

/* Candidates of a quick search first: they helped most on public data. */
static const candidate candidates[RF_MAX_TRIALS] = {
    {"default", NONE, 0.0f, RF_TUNE_OFF},
    {"no ascent", ASCENT, 0.0f, RF_TUNE_QUICK},
    {"blend 1", BLEND, 1.0f, RF_TUNE_QUICK},
    {"blend 0.25", BLEND, 0.25f, RF_TUNE_THOROUGH},
    {"ascent 20", ASCENT, 20.0f, RF_TUNE_THOROUGH},
    {"rho 0.5", RHO, 0.5f, RF_TUNE_THOROUGH},
    {"negatives x 4", NEGATIVES, 4.0f, RF_TUNE_THOROUGH},
    {"lambda 2", LAMBDA, 2.0f, RF_TUNE_THOROUGH},
};

/* False if it changes nothing or leaves the range of a setting. */
static bool apply_candidate(rf_settings *s, const candidate *c)
{
    const rf_settings was = *s;
    bool synthetic = s->lambda > 0.0f; /* else no shell, no ascent */
    switch (c->what) {
    case NONE: return true;
    case BLEND: s->blend = c->value; return s->train_layers > 0 && s->blend != was.blend;
    case ASCENT:
        s->ascent_steps = (size_t)c->value;
        return synthetic && s->ascent_steps != was.ascent_steps;
    case RHO:
        s->rho = c->value;
        return synthetic && s->radius == 0.0f && s->rho != was.rho;
    case NEGATIVES: /* the only one that can leave its range */
        s->negative_weight *= c->value;
        return rf_settings_check(s, NULL) == RF_OK;
    case LAMBDA: s->lambda = c->value; return synthetic && s->lambda != was.lambda;
    }
    return false;
}

rf_status rf_tuning_init(rf_tuning *u, rf_tune_effort effort, const rf_settings *s,
                         rf_error *err)
{
    *u = (rf_tuning){.effort = effort};
    u->trials = calloc(RF_MAX_TRIALS, sizeof *u->trials);
    if (!u->trials)
        return rf_fail_nomem(err, RF_MAX_TRIALS * sizeof *u->trials, "the candidates");
    rf_fence_positions(u->positions, s);
    for (size_t i = 0; i < RF_MAX_TRIALS; i++) {
        rf_settings changed = *s;
        if (candidates[i].from <= effort && apply_candidate(&changed, &candidates[i]))
            u->trials[u->n++] =
                (rf_candidate){.name = candidates[i].name, .s = changed, .alive = true};
    }
    return RF_OK;
}

void rf_tuning_release(rf_tuning *u)
{
    for (size_t i = 0; i < u->n; i++)
        for (size_t k = 0; k < RF_MAX_FOLDS; k++)
            rf_outcomes_release(&u->trials[i].outcomes[k]);
    free(u->trials);
    *u = (rf_tuning){0};
}

/* ---- Figures ----------------------------------------------------------------------- */

static double mean_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : 0.0;
}

static double sd_of(const double *x, size_t n)
{
    double mean = mean_of(x, n), sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : 0.0;
}

static void take_column(const rf_candidate *t, size_t position, double f1[RF_MAX_FOLDS])
{
    for (size_t k = 0; k < t->folds; k++)
        f1[k] = t->f1[k][position];
}

static size_t best_position(const rf_candidate *t)
{
    double f1[RF_MAX_FOLDS], most = -1.0;
    size_t best = 0;
    for (size_t p = 0; p < RF_FENCE_POSITIONS; p++) {
        take_column(t, p, f1);
        double mean = mean_of(f1, t->folds);
        if (mean > most) { /* ties go to the first, the requested position */
            most = mean;
            best = p;
        }
    }
    return best;
}

/* Mean and deviation of a - b over the folds; returns how often a wins. */
static size_t compare_folds(const double *a, const double *b, size_t n, double *mean,
                            double *sd)
{
    double d[RF_MAX_FOLDS];
    size_t wins = 0;
    for (size_t k = 0; k < n; k++) {
        d[k] = a[k] - b[k];
        wins += d[k] > 0.0;
    }
    *mean = mean_of(d, n);
    *sd = sd_of(d, n);
    return wins;
}

void rf_tuning_compare(rf_tuning *u)
{
    double base[RF_MAX_FOLDS], own[RF_MAX_FOLDS];
    rf_candidate *first = &u->trials[0];
    first->position = best_position(first);
    take_column(first, first->position, base);
    for (size_t i = 0; i < u->n; i++) {
        rf_candidate *t = &u->trials[i];
        t->position = best_position(t);
        take_column(t, t->position, own);
        t->wins = compare_folds(own, base, t->folds, &t->difference, &t->difference_sd);
        t->sd = sd_of(own, t->folds);
        t->mean = mean_of(base, first->folds) + t->difference;
    }
}

/* ---- The race ---------------------------------------------------------------------- */

static size_t survivor_count(size_t n)
{
    size_t half = (n + 1) / 2;
    return half < 2 ? 2 : half;
}

void rf_tuning_halve(rf_tuning *u)
{
    size_t alive = 0;
    rf_tuning_compare(u);
    for (size_t i = 0; i < u->n; i++)
        alive += u->trials[i].alive;
    for (size_t stay = survivor_count(alive); alive > stay; alive--) {
        size_t worst = 0; /* the default is never dropped */
        for (size_t i = 1; i < u->n; i++)
            if (u->trials[i].alive &&
                (worst == 0 || u->trials[i].mean <= u->trials[worst].mean))
                worst = i;
        u->trials[worst].alive = false;
        for (size_t k = 0; k < RF_MAX_FOLDS; k++)
            rf_outcomes_release(&u->trials[worst].outcomes[k]);
    }
}

static bool convincing(double difference, size_t wins, size_t folds)
{
    return difference > RF_TUNE_ADVANTAGE && 2 * wins > folds;
}

static void choose_fence(rf_tuning *u)
{
    const rf_candidate *t = &u->trials[u->chosen];
    double best[RF_MAX_FOLDS], asked[RF_MAX_FOLDS];
    rf_fence_gain *g = &u->fence;
    *g = (rf_fence_gain){0};
    if (u->fence_elsewhere)
        return;
    take_column(t, t->position, best);
    take_column(t, 0, asked);
    g->position = t->position;
    g->wins = compare_folds(best, asked, t->folds, &g->difference, &g->difference_sd);
    if (!convincing(g->difference, g->wins, t->folds))
        g->position = 0;
}

/* The gain of the chosen candidate at its final fence over the requested settings. It
 * was chosen at its best fence, which may be another. */
static rf_fence_gain gain_at_final_fence(const rf_tuning *u)
{
    const rf_candidate *t = &u->trials[u->chosen];
    double own[RF_MAX_FOLDS], asked[RF_MAX_FOLDS];
    rf_fence_gain g = {.position = u->fence.position};
    take_column(t, g.position, own);
    take_column(&u->trials[0], 0, asked);
    g.wins = compare_folds(own, asked, t->folds, &g.difference, &g.difference_sd);
    return g;
}

static void describe_fence(const rf_tuning *u, char *out, size_t room)
{
    const rf_fence_gain *g = &u->fence;
    if (u->budget)
        snprintf(out, room, "the budget places the fences");
    else if (u->fence_elsewhere)
        snprintf(out, room, "the fence is placed when the model is trained");
    else if (g->position > 0)
        snprintf(out, room,
                 "moving the fence wins in %zu of %zu folds by %.1f +- %.1f points",
                 g->wins, u->folds, g->difference, g->difference_sd);
    else
        snprintf(out, room, "the fence stays where it was");
}

/* best: the strongest candidate other than the default, 0 if there is none; stand: its
 * gain at its final fence if it was rejected for that, else NULL. */
static void write_verdict(rf_tuning *u, size_t best, const rf_fence_gain *stand)
{
    const rf_candidate *t = &u->trials[best];
    char fence[100];
    describe_fence(u, fence, sizeof fence);
    if (best == 0)
        snprintf(u->verdict, sizeof u->verdict, "no other settings were tried; %s",
                 fence);
    else if (u->chosen == best)
        snprintf(u->verdict, sizeof u->verdict,
                 "\"%s\" wins in %zu of %zu folds by %.1f +- %.1f points; %s", t->name,
                 t->wins, t->folds, t->difference, t->difference_sd, fence);
    else if (stand)
        snprintf(u->verdict, sizeof u->verdict,
                 "the settings stay: \"%s\", the best of the others, is better only "
                 "with its best fence; with the fence it would get it differs by "
                 "%.1f +- %.1f points, better in %zu of %zu folds, which is not enough; "
                 "%s",
                 t->name, stand->difference, stand->difference_sd, stand->wins, t->folds,
                 fence);
    else
        snprintf(u->verdict, sizeof u->verdict,
                 "the settings stay: \"%s\", the best of the others, differs by %.1f +- "
                 "%.1f points, better in %zu of %zu folds, which is not enough; %s",
                 t->name, t->difference, t->difference_sd, t->wins, t->folds, fence);
}

void rf_tuning_decide(rf_tuning *u)
{
    size_t best = 0;
    rf_tuning_compare(u);
    for (size_t i = 1; i < u->n; i++)
        if (u->trials[i].folds == u->folds &&
            (best == 0 || u->trials[i].mean > u->trials[best].mean))
            best = i;
    const rf_candidate *t = &u->trials[best];
    u->chosen = convincing(t->difference, t->wins, t->folds) ? best : 0;
    choose_fence(u);
    rf_fence_gain stand = {0};
    bool withdrawn = false;
    if (u->chosen > 0 && !u->fence_elsewhere) {
        stand = gain_at_final_fence(u);
        withdrawn = !convincing(stand.difference, stand.wins, t->folds);
    }
    if (withdrawn) {
        u->chosen = 0;
        choose_fence(u);
    }
    write_verdict(u, best, withdrawn ? &stand : NULL);
}

rf_settings rf_tuning_settings(const rf_tuning *u)
{
    rf_settings s = u->trials[u->chosen].s;
    s.fence_reject = u->positions[u->fence.position].reject;
    s.fence_offset = u->positions[u->fence.position].offset;
    return s;
}

/* ---- Running the race -------------------------------------------------------------- */

/* State of the progress reports. */
typedef struct tune_progress {
    rf_training *t;
    size_t fold, folds;
    size_t done, total; /* steps */
    size_t step;        /* steps that the current work counts for */
    double start;
} tune_progress;

static int report_progress(tune_progress *c, double part, bool fold_end)
{
    const rf_train_options *o = &c->t->o;
    if (!o->progress)
        return 0;
    double now = rf_clock_seconds();
    size_t total = c->total * PARTS_OF_A_STEP;
    size_t done =
        c->done * PARTS_OF_A_STEP + (size_t)(part * (double)(c->step * PARTS_OF_A_STEP));
    done = done < total ? done : total;
    const rf_train_event e = {.stage = RF_STAGE_FOLDS,
                              .done = done,
                              .total = total,
                              .epoch = c->fold,
                              .epochs = c->folds,
                              .epoch_end = fold_end,
                              .dev_accuracy = -1.0,
                              .seconds = now - c->t->start,
                              .seconds_left = done ? (now - c->start) / (double)done *
                                                         (double)(total - done)
                                                   : -1.0};
    return o->progress(o->user, &e);
}

static int on_fold_progress(void *user, double part)
{
    return report_progress(user, part, false);
}

/* Steps in a race of n candidates. */
static size_t race_steps(size_t n, size_t folds)
{
    size_t steps = 0;
    for (size_t i = 0; i < folds; i++) {
        steps += STAGE_1_STEPS + n;
        n = n < survivor_count(n) ? n : survivor_count(n);
    }
    return steps;
}

static rf_status run_fold(rf_training *t, rf_tuning *u, const rf_fold_plan *plan,
                          size_t number, tune_progress *c)
{
    rf_fold fold;
    c->fold = number + 1;
    c->step = STAGE_1_STEPS;
    rf_status st = rf_fold_begin(&fold, t, plan, number, on_fold_progress, c);
    if (st != RF_OK)
        return st;
    c->done += c->step;
    c->step = 1;
    for (size_t i = 0; i < u->n && st == RF_OK; i++) {
        rf_candidate *trial = &u->trials[i];
        if (!trial->alive)
            continue;
        st = rf_fold_try(&fold, &trial->s, &trial->outcomes[number]);
        if (st == RF_OK)
            st = rf_outcomes_f1(&trial->outcomes[number], t->model->classes, u->positions,
                                RF_FENCE_POSITIONS, trial->f1[number], t->err);
        trial->folds++;
        c->done++;
    }
    rf_fold_end(&fold);
    if (st == RF_OK && report_progress(c, 0.0, true) != 0)
        st = rf_fail(t->err, RF_ERR_STOPPED, 0, "training was stopped");
    return st;
}

rf_status rf_self_tune(rf_training *t, rf_tuning *u)
{
    rf_fold_plan plan;
    rf_status st = rf_tuning_init(u, t->o.tune, &t->s, t->err);
    u->budget = t->o.max_false_accept > 0.0 || t->o.max_false_reject > 0.0;
    u->fence_elsewhere =
        u->budget || (t->model->method->cross_fits && t->s.fence_reject == 0.0f);
    if (st != RF_OK || rf_folds_impossible(t, u->why_not))
        return st;
    st = rf_fold_plan_make(&plan, t->model->classes, t->o.tune, t->o.seed, t->err);
    if (st != RF_OK)
        return st;
    u->folds = plan.folds;
    tune_progress c = {.t = t,
                       .folds = plan.folds,
                       .total = race_steps(u->n, plan.folds),
                       .start = rf_clock_seconds()};
    for (size_t i = 0; i < plan.folds && st == RF_OK; i++) {
        st = run_fold(t, u, &plan, i, &c);
        if (st == RF_OK && i + 1 < plan.folds)
            rf_tuning_halve(u);
    }
    rf_fold_plan_release(&plan);
    if (st != RF_OK)
        return st;
    rf_tuning_decide(u);
    if (u->effort != RF_TUNE_OFF)
        t->s = rf_tuning_settings(u);
    return RF_OK;
}

/* ---- JSON -------------------------------------------------------------------------- */

/* The position of the fence; omitted if it is not placed here. */
static bool add_position(json_t *to, const rf_tuning *u, size_t position)
{
    const rf_fence_position *p = &u->positions[position];
    return to &&
           (u->fence_elsewhere ||
            (json_object_set_new(to, "fence_reject", json_real((double)p->reject)) == 0 &&
             json_object_set_new(to, "fence_offset", json_real((double)p->offset)) == 0));
}

static json_t *trial_json(const rf_tuning *u, const rf_candidate *t)
{
    json_t *json =
        json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:I, s:b}", "name", t->name, "folds",
                  (json_int_t)t->folds, "f1", t->mean, "sd", t->sd, "difference",
                  t->difference, "difference_sd", t->difference_sd, "wins",
                  (json_int_t)t->wins, "chosen", t == &u->trials[u->chosen]);
    if (add_position(json, u, t->position))
        return json;
    json_decref(json);
    return NULL;
}

static bool add_fence(json_t *to, const rf_tuning *u)
{
    const rf_fence_gain *g = &u->fence;
    if (!to || u->fence_elsewhere)
        return to;
    json_t *json = json_pack("{s:b, s:f, s:f, s:I}", "moved", g->position > 0,
                             "difference", g->difference, "difference_sd",
                             g->difference_sd, "wins", (json_int_t)g->wins);
    bool good = add_position(json, u, g->position);
    return json_object_set_new(to, "fence", json) == 0 && good;
}

json_t *rf_tuning_json(const rf_tuning *u)
{
    static const char *const efforts[] = {"off", "quick", "thorough"};
    if (u->why_not[0])
        return json_pack("{s:s, s:I, s:s}", "effort", efforts[u->effort], "folds",
                         (json_int_t)0, "why_not", u->why_not);
    json_t *list = json_array();
    bool good = list;
    for (size_t i = 0; i < u->n && good; i++)
        good = json_array_append_new(list, trial_json(u, &u->trials[i])) == 0;
    if (!good) {
        json_decref(list);
        return NULL;
    }
    json_t *json = json_pack("{s:s, s:I, s:o, s:s, s:s}", "effort", efforts[u->effort],
                             "folds", (json_int_t)u->folds, "candidates", list, "chosen",
                             u->trials[u->chosen].name, "verdict", u->verdict);
    if (add_fence(json, u))
        return json;
    json_decref(json);
    return NULL;
}
