#include "open/ans.h"

#include "base/memory.h"
#include "num/kernels.h"
#include "open/ans_head.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-5           /* a class is a point if D is below this part of the norm */
#define POINT_DISTANCE 0.5f /* D by typical norm, if every class is a point */

rf_ans_options rf_ans_options_default(void)
{
    return (rf_ans_options){.steps = 400,
                            .max_steps = 1200,
                            .cool_steps = 100,
                            .positives = 8,
                            .negatives = 256,
                            .rate = 1e-3f,
                            .dropout = 0.1f,
                            .lambda = 1.0f,
                            .rho = 1.0f,
                            .gamma = 2.0f,
                            .noise = true,
                            .project = true,
                            .ascent_steps = 5,
                            .ascent_rate = 0.02f,
                            .target_recall = 0.95f};
}

/* ---- Checks ------------------------------------------------------------------------ */

static rf_status bad(rf_error *err, const char *name, double found, const char *wanted)
{
    return rf_fail(err, RF_ERR_ARG, 0, "%s: found %g, wanted %s", name, found, wanted);
}

/* Written so that a NaN fails. */
static rf_status check_options(const rf_ans_options *o, rf_error *err)
{
    if (o->positives < 1)
        return bad(err, "positives", 0.0, "at least 1");
    if (!(o->rate > 0.0f && o->rate <= 1.0f))
        return bad(err, "rate", (double)o->rate, "above 0, at most 1");
    if (!(o->dropout >= 0.0f && o->dropout <= 0.9f))
        return bad(err, "dropout", (double)o->dropout, "0 to 0.9");
    if (!(o->lambda >= 0.0f && isfinite(o->lambda)))
        return bad(err, "lambda", (double)o->lambda, "0 or more");
    if (!(o->negative_weight >= 0.0f && isfinite(o->negative_weight)))
        return bad(err, "negative weight", (double)o->negative_weight, "0 or more");
    if (!(o->radius >= 0.0f && isfinite(o->radius)))
        return bad(err, "radius", (double)o->radius, "0 or more");
    if (!(o->radius > 0.0f || (o->rho > 0.0f && isfinite(o->rho))))
        return bad(err, "rho", (double)o->rho, "above 0, or a radius");
    if (!(o->gamma >= 1.0f && isfinite(o->gamma)))
        return bad(err, "gamma", (double)o->gamma, "1 or more");
    if (!(o->positive_noise >= 0.0f && isfinite(o->positive_noise)))
        return bad(err, "positive noise", (double)o->positive_noise, "0 or more");
    if (!(o->ascent_rate >= 0.0f && isfinite(o->ascent_rate)))
        return bad(err, "ascent rate", (double)o->ascent_rate, "0 or more");
    if (!(o->target_recall >= 0.0f && o->target_recall <= 1.0f))
        return bad(err, "target recall", (double)o->target_recall, "0 to 1");
    return RF_OK;
}

/* The statistics are those of these rows: no class is without a row. */
static rf_status check_classes(const rf_ans_problem *p, rf_error *err)
{
    rf_status status = RF_OK;
    size_t *rows = calloc(p->classes + 1, sizeof *rows);
    if (!rows)
        return rf_fail_nomem(err, p->classes * sizeof *rows, "counting rows");
    for (size_t i = 0; status == RF_OK && i < p->rows; i++) {
        if (p->class_of[i] < p->classes)
            rows[p->class_of[i]]++;
        else
            status = rf_fail(err, RF_ERR_ARG, 0,
                             "row %zu: found class %zu, wanted one below %zu", i,
                             (size_t)p->class_of[i], p->classes);
    }
    for (size_t c = 0; status == RF_OK && c < p->classes; c++)
        if (rows[c] == 0 || rows[c] != p->stats->rows[c])
            status =
                rf_fail(err, RF_ERR_ARG, 0,
                        "class %zu: found %zu rows, wanted the %zu of its statistics", c,
                        rows[c], p->stats->rows[c]);
    free(rows);
    return status;
}

static rf_status check_problem(const rf_heads *heads, const rf_ans_problem *p,
                               size_t from, size_t to, rf_error *err)
{
    if (heads->width != p->width || heads->classes != p->classes)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "heads: found %zu of width %zu, wanted %zu of width %zu",
                       heads->classes, heads->width, p->classes, p->width);
    if (p->stats->width != p->width || p->stats->classes != p->classes)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "class statistics: found %zu of width %zu, wanted %zu of %zu",
                       p->stats->classes, p->stats->width, p->classes, p->width);
    if (from > to || to > p->classes)
        return rf_fail(err, RF_ERR_ARG, 0, "classes %zu to %zu: there are %zu", from, to,
                       p->classes);
    if (p->rows > UINT32_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu rows: wanted at most %zu", p->rows,
                       (size_t)UINT32_MAX);
    if (!rf_kernels()->all_finite(p->z, p->rows * p->width))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "the features hold a NaN or an infinity");
    return check_classes(p, err);
}

/* ---- Classes that are points ---------------------------------------------------- */

/* The root mean square norm of the features: within a class the mean of |z|^2
 * is |mean|^2 + sum variance. */
static double typical_norm(const rf_class_stats *stats)
{
    double square = 0.0, rows = 0.0;
    for (size_t c = 0; c < stats->classes; c++) {
        double d = (double)stats->distance[c], sum = 0.5 * d * d;
        for (size_t j = c * stats->width; j < (c + 1) * stats->width; j++)
            sum += (double)stats->mean[j] * (double)stats->mean[j];
        square += sum * (double)stats->rows[c];
        rows += (double)stats->rows[c];
    }
    return rows > 0.0 ? sqrt(square / rows) : 0.0;
}

/* The mean variance of the classes that are no points. If all are: the same in every
 * direction, with D half of the typical norm of a feature vector, or 1 if even that is
 * 0. */
static void measure_spread(rf_ans_spread *s, const rf_ans_problem *p)
{
    size_t width = p->width, spread_out = 0;
    double norm = typical_norm(p->stats), total = 0.0;
    s->smallest = (float)(SAME * norm);
    for (size_t c = 0; c < p->classes; c++)
        spread_out += p->stats->distance[c] > s->smallest;
    for (size_t j = 0; j < width; j++) {
        double sum = 0.0;
        for (size_t c = 0; c < p->classes; c++)
            if (p->stats->distance[c] > s->smallest)
                sum += (double)p->stats->variance[c * width + j];
        double variance = spread_out ? sum / (double)spread_out : 0.0;
        s->variance[j] = (float)variance;
        total += variance;
    }
    s->distance = (float)sqrt(2.0 * total);
    if (spread_out == 0) {
        s->distance = norm > 0.0 ? POINT_DISTANCE * (float)norm : 1.0f;
        for (size_t j = 0; j < width; j++)
            s->variance[j] = s->distance * s->distance / (2.0f * (float)width);
    }
}

/* ---- Sharing out ---------------------------------------------------------------- */

typedef struct job {
    rf_heads *heads;
    const rf_ans_problem *p;
    const rf_ans_options *o;
    rf_ans_spread spread;
    rf_ans_trainer *trainers; /* one per member that gets something to do */
    size_t n_trainers;
    size_t from, to;
    atomic_size_t next; /* the first class that nobody has taken */
    rf_ans_report *reports;
} job;

static void train_heads(void *arg, size_t member, size_t members)
{
    job *j = arg;
    (void)members;
    if (member >= j->n_trainers)
        return;
    for (;;) {
        size_t m = atomic_fetch_add(&j->next, 1);
        if (m >= j->to)
            return;
        rf_head head = rf_head_at(j->heads, m);
        rf_ans_train_head(&j->trainers[member], &head, m, j->p, j->o, &j->spread,
                          &j->reports[m - j->from]);
    }
}

static rf_status prepare(job *j, rf_error *err)
{
    j->spread.variance = rf_floats_new(j->p->width);
    j->trainers = calloc(j->n_trainers, sizeof *j->trainers);
    if (!j->spread.variance || !j->trainers)
        return rf_fail_nomem(err, j->p->width * sizeof(float), "training heads");
    for (size_t i = 0; i < j->n_trainers; i++) {
        rf_status status = rf_ans_trainer_init(&j->trainers[i], j->p, j->o, err);
        if (status != RF_OK)
            return status;
    }
    measure_spread(&j->spread, j->p);
    return RF_OK;
}

static void release(job *j)
{
    for (size_t i = 0; j->trainers && i < j->n_trainers; i++)
        rf_ans_trainer_release(&j->trainers[i]);
    free(j->trainers);
    free(j->spread.variance);
}

rf_status rf_ans_train(rf_heads *heads, const rf_ans_problem *p, const rf_ans_options *o,
                       size_t from, size_t to, rf_team *team, rf_ans_report *reports,
                       rf_error *err)
{
    rf_status status = check_options(o, err);
    if (status == RF_OK)
        status = check_problem(heads, p, from, to, err);
    if (status != RF_OK || from == to)
        return status;
    job j = {.heads = heads,
             .p = p,
             .o = o,
             .n_trainers =
                 to - from < rf_team_size(team) ? to - from : rf_team_size(team),
             .from = from,
             .to = to,
             .reports = reports};
    atomic_init(&j.next, from);
    status = prepare(&j, err);
    if (status == RF_OK)
        rf_team_run(team, train_heads, &j);
    release(&j);
    for (size_t i = 0; status == RF_OK && i < to - from; i++)
        if (!isfinite(reports[i].loss))
            status =
                rf_fail(err, RF_ERR_NUMERIC, 0,
                        "class %zu: training ran off to infinity; a smaller rate than "
                        "%g may help",
                        from + i, (double)o->rate);
    return status;
}
