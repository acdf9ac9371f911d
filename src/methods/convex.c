/*
 * convex.c - (K+1)-way and SelfSup (Zhan et al., 2021): an extra output for "open", which
 * learns from points between texts of different classes
 *
 * Stage 1 adds to each batch as many points s z_i + (1 - s) z_j as it has rows of known
 * classes, with i and j of different classes and s uniform in [0, 1), all labelled open.
 * The loss is the cross entropy of logits / temperature. TEXTOIR mixes the dense layer's
 * output before the activation; the layer is affine and s + (1 - s) = 1, so mixing z is
 * the same. SelfSup also gets open texts, which are labelled open and not mixed. Dev rows
 * get points of their own, the same in every epoch.
 *
 * There is no fence to fit: a text is open if the extra output is the largest.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "methods/dense.h"
#include "open/method.h"
#include "num/vectors.h"

#include <stdlib.h>
#include <string.h>

#define TEMPERATURE 0.1f

/* A point s z[a] + (1 - s) z[b]. */
typedef struct mixture {
    uint32_t a, b;
    float s;
} mixture;

typedef struct convex {
    rf_objective o; /* first */
    rf_dense dense;
    size_t classes; /* known classes; also the index of the open class */
    float temperature;
    uint64_t seed;
    float *block;
    float *x, *dx;    /* [2 batch, width] a batch and its points */
    uint32_t *labels; /* [2 batch] */
    mixture *points;  /* [batch] */
} convex;

/* Number of points for the rows: one per row of a known class, none if these are all of
 * the same class. */
static size_t count_points(const convex *t, const uint32_t *class_of, size_t n)
{
    size_t known = 0, first = 0;
    bool differ = false;
    for (size_t i = 0; i < n; i++) {
        if (class_of[i] >= t->classes)
            continue;
        if (known++ == 0)
            first = i;
        differ = differ || class_of[i] != class_of[first];
    }
    return differ ? known : 0;
}

/* Draws two rows of different known classes; there must be such a pair. */
static mixture draw(const convex *t, const uint32_t *class_of, size_t n, uint64_t key)
{
    mixture m;
    rf_rng rng = rf_rng_open(key);
    do {
        m.a = (uint32_t)rf_rng_below(&rng, n);
        m.b = (uint32_t)rf_rng_below(&rng, n);
    } while (class_of[m.a] == class_of[m.b] || class_of[m.a] >= t->classes ||
             class_of[m.b] >= t->classes);
    m.s = rf_rng_uniform(&rng);
    return m;
}

static void mix(float *x, const float *z, const mixture *m, size_t width)
{
    const float *a = z + m->a * width, *b = z + m->b * width;
    for (size_t j = 0; j < width; j++)
        x[j] = m->s * a[j] + (1.0f - m->s) * b[j];
}

static void mix_back(float *dz, const float *dx, const mixture *m, size_t width)
{
    float *a = dz + m->a * width, *b = dz + m->b * width;
    for (size_t j = 0; j < width; j++) {
        a[j] += m->s * dx[j];
        b[j] += (1.0f - m->s) * dx[j];
    }
}

/* ---- What stage 1 learns ----------------------------------------------------------- */

static double convex_step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    convex *t = (convex *)o;
    rf_dense *d = &t->dense;
    size_t width = d->known->width, n = b->n;
    size_t points = count_points(t, b->class_of, n), rows = n + points;
    memcpy(t->x, b->z, n * width * sizeof(float));
    memcpy(t->labels, b->class_of, n * sizeof *t->labels);
    for (size_t i = 0; i < points; i++) {
        t->points[i] = draw(t, b->class_of, n,
                            rf_stream_key(b->seed, RF_STREAM_CONVEX_POINTS, b->step, i));
        mix(t->x + (n + i) * width, b->z, &t->points[i], width);
        t->labels[n + i] = (uint32_t)t->classes;
    }
    rf_dense_forward(d, t->x, rows, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 0));
    double loss =
        rf_cross_entropy(d->logits, t->labels, rows, d->known->classes, t->temperature);
    rf_dense_back_out(d, d->logits, rows, b->adam);
    rf_dense_back_hidden(d, t->x, rows, t->dx, b->adam);
    memcpy(dz, t->dx, n * width * sizeof(float));
    for (size_t i = 0; i < points; i++)
        mix_back(dz, t->dx + (n + i) * width, &t->points[i], width);
    return loss;
}

/* Fills t->x and t->labels with n dev rows, starting at `from`, and their points. */
static void gather_dev(convex *t, const float *z, const uint32_t *class_of, size_t rows,
                       size_t from, size_t n)
{
    size_t width = t->dense.known->width;
    for (size_t i = 0; i < n; i++) {
        float *x = t->x + i * width;
        size_t at = from + i;
        if (at < rows) {
            memcpy(x, z + at * width, width * sizeof(float));
            t->labels[i] = class_of[at];
            continue;
        }
        mixture m = draw(t, class_of, rows,
                         rf_stream_key(t->seed, RF_STREAM_CONVEX_DEV, at - rows, 0));
        mix(x, z, &m, width);
        t->labels[i] = (uint32_t)t->classes;
    }
}

static void convex_look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
                               size_t n, double *score, double *loss)
{
    convex *t = (convex *)o;
    rf_dense *d = &t->dense;
    size_t rows = n + count_points(t, class_of, n), classes = d->known->classes;
    size_t right = 0;
    double sum = 0.0;
    for (size_t from = 0; from < rows; from += d->max_rows) {
        size_t some = rows - from < d->max_rows ? rows - from : d->max_rows;
        gather_dev(t, z, class_of, n, from, some);
        rf_dense_forward(d, t->x, some, 0.0f, 0);
        right += rf_count_right(d->logits, t->labels, some, classes);
        sum += (double)some *
               rf_cross_entropy(d->logits, t->labels, some, classes, t->temperature);
    }
    *score = 100.0 * (double)right / (double)rows;
    *loss = sum / (double)rows;
}

static void convex_refresh(rf_objective *o)
{
    rf_dense_refresh(&((convex *)o)->dense);
}

static void convex_release(rf_objective *o)
{
    convex *t = (convex *)o;
    rf_dense_release(&t->dense);
    free(t->block);
    free(t->labels);
    free(t->points);
    free(t);
}

static rf_status convex_make(rf_objective *o, const rf_objective_setting *s,
                             rf_error *err)
{
    convex *t = (convex *)o;
    size_t rows = 2 * s->batch, n = rows * s->width;
    t->classes = s->classes;
    t->temperature = s->o->temperature > 0.0f ? s->o->temperature : TEMPERATURE;
    t->seed = s->seed;
    t->block = rf_floats_new(2 * n);
    t->labels = calloc(rows, sizeof *t->labels);
    t->points = calloc(s->batch, sizeof *t->points);
    if (!t->block || !t->labels || !t->points)
        return rf_fail_nomem(err, 2 * n * sizeof(float), "training with an open class");
    t->x = t->block;
    t->dx = t->x + n;
    rf_status st = rf_dense_init(&t->dense, s->known, rows, err);
    if (st == RF_OK)
        rf_dense_list(&t->dense, o);
    return st;
}

static rf_objective *convex_new(const rf_objective_setting *s, rf_error *err)
{
    const rf_objective first = {.step = convex_step,
                                .look_at_dev = convex_look_at_dev,
                                .refresh = convex_refresh,
                                .release = convex_release};
    return rf_objective_new(sizeof(convex), first, convex_make, s, err);
}

/* ---- The fence --------------------------------------------------------------------- */

static void convex_judge(const rf_method_state *state, const rf_signals *s,
                         rf_verdict *out, float *margins, float *scratch)
{
    (void)scratch;
    size_t classes = state->classes;
    for (size_t i = 0; i < s->n; i++) {
        const float *x = s->logits + i * (classes + 1);
        for (size_t c = 0; c < classes; c++)
            margins[i * classes + c] = x[c] - x[classes];
        out[i].nearest = out[i].fence = (uint32_t)rf_largest(x, classes);
    }
}

const rf_method rf_method_convex = {
    .name = "convex",
    .title = "(K+1)-way",
    .summary = "an extra open class, learnt from points between texts of two classes",
    .open_class = true,
    .objective = convex_new,
    .judge = convex_judge,
};

const rf_method rf_method_selfsup = {
    .name = "selfsup",
    .title = "SelfSup",
    .summary =
        "an extra open class, learnt from points between texts and from open texts",
    .open_class = true,
    .wants_open_texts = true,
    .objective = convex_new,
    .judge = convex_judge,
};
