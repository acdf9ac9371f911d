/*
 * doc.c - DOC (Shu, Xu and Liu, 2017): one sigmoid per class instead of a softmax
 *
 * Stage 1 minimises binary cross entropy, one-versus-rest, on every output. The fence of
 * a class is a threshold on its probability: the p of its training rows, mirrored at 1,
 * are modelled by a Gaussian about 1, and texts more than doc_alpha standard deviations
 * below 1 are open. The threshold is never below 1/2.
 */
#include "base/memory.h"
#include "base/streams.h"
#include "methods/dense.h"
#include "open/method.h"
#include "num/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_THRESHOLD 0.5

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x > 0.0 ? 1.0 : e) / (1.0 + e);
}

/* ---- What stage 1 learns ----------------------------------------------------------- */

typedef struct doc {
    rf_objective o; /* first */
    rf_dense dense;
    bool drop_logits; /* as TEXTOIR does */
} doc;

/* Mean binary cross entropy over all rows and classes: logits [n, classes] become
 * dloss / dlogits. With y of 0 or 1:
 * -ln(y ? sigmoid(x) : 1 - sigmoid(x)) = max(x, 0) - x y + ln(1 + e^-|x|). */
static double binary_cross_entropy(float *logits, const uint32_t *class_of, size_t n,
                                   size_t classes)
{
    double sum = 0.0, cells = (double)n * (double)classes;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < classes; c++) {
            double x = (double)logits[i * classes + c], y = c == class_of[i] ? 1.0 : 0.0;
            sum += (x > 0.0 ? x : 0.0) - x * y + log1p(exp(-fabs(x)));
            logits[i * classes + c] = (float)((sigmoid(x) - y) / cells);
        }
    return sum / cells;
}

static double doc_step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    doc *t = (doc *)o;
    rf_dense *d = &t->dense;
    size_t classes = d->known->classes, cells = b->n * classes;
    float p = t->drop_logits ? b->dropout : 0.0f;
    uint64_t key = rf_stream_key(b->seed, RF_STREAM_DOC_LOGITS, b->step, 0);
    rf_dense_forward(d, b->z, b->n, b->dropout,
                     rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, 0));
    if (p > 0.0f)
        rf_train_kernels()->dropout(d->logits, d->logits, cells, p, key);
    double loss = binary_cross_entropy(d->logits, b->class_of, b->n, classes);
    if (p > 0.0f)
        rf_train_kernels()->dropout(d->logits, d->logits, cells, p, key);
    rf_dense_back_out(d, d->logits, b->n, b->adam);
    rf_dense_back_hidden(d, b->z, b->n, dz, b->adam);
    return loss;
}

static void doc_look_at_dev(rf_objective *o, const float *z, const uint32_t *class_of,
                            size_t n, double *score, double *loss)
{
    rf_dense *d = &((doc *)o)->dense;
    size_t width = d->known->width, classes = d->known->classes, right = 0;
    double sum = 0.0;
    for (size_t from = 0; from < n; from += d->max_rows) {
        size_t some = n - from < d->max_rows ? n - from : d->max_rows;
        rf_dense_forward(d, z + from * width, some, 0.0f, 0);
        right += rf_count_right(d->logits, class_of + from, some, classes);
        sum += (double)some *
               binary_cross_entropy(d->logits, class_of + from, some, classes);
    }
    *score = 100.0 * (double)right / (double)n;
    *loss = sum / (double)n;
}

static void doc_refresh(rf_objective *o)
{
    rf_dense_refresh(&((doc *)o)->dense);
}

static void doc_release(rf_objective *o)
{
    rf_dense_release(&((doc *)o)->dense);
    free(o);
}

static rf_status doc_make(rf_objective *o, const rf_objective_setting *s, rf_error *err)
{
    doc *t = (doc *)o;
    t->drop_logits = s->o->textoir;
    rf_status st = rf_dense_init(&t->dense, s->known, s->batch, err);
    if (st == RF_OK)
        rf_dense_list(&t->dense, o);
    return st;
}

static rf_objective *doc_new(const rf_objective_setting *s, rf_error *err)
{
    const rf_objective first = {.step = doc_step,
                                .look_at_dev = doc_look_at_dev,
                                .refresh = doc_refresh,
                                .release = doc_release};
    return rf_objective_new(sizeof(doc), first, doc_make, s, err);
}

/* ---- The fence --------------------------------------------------------------------- */

/* The sum of (1 - p)^2 over each class's own rows; scratch is for RF_JUDGE_ROWS rows. */
static void sum_squares(const rf_fit *in, double *square, double *rows, float *scratch)
{
    float *logits = scratch + RF_JUDGE_ROWS * in->width;
    for (size_t from = 0; from < in->rows; from += RF_JUDGE_ROWS) {
        size_t n = in->rows - from < RF_JUDGE_ROWS ? in->rows - from : RF_JUDGE_ROWS;
        rf_known_logits(in->known, in->z + from * in->width, n, logits, scratch);
        for (size_t i = 0; i < n; i++) {
            uint32_t y = in->class_of[from + i];
            double q = sigmoid(-(double)logits[i * in->known->classes + y]); /* 1 - p */
            square[y] += q * q;
            rows[y] += 1.0;
        }
    }
}

static rf_status doc_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    size_t classes = in->classes, n = RF_JUDGE_ROWS * (in->width + in->known->classes);
    double *square = calloc(2 * classes, sizeof *square);
    float *scratch = rf_floats_new(n);
    rf_status st = rf_method_state_room(state, 0, classes, 1, err);
    if (st == RF_OK && (!square || !scratch))
        st = rf_fail_nomem(err, n * sizeof(float), "fitting DOC");
    if (st == RF_OK)
        sum_squares(in, square, square + classes, scratch);
    for (size_t c = 0; c < classes && st == RF_OK; c++) {
        double spread = sqrt(square[c] / square[classes + c]);
        double t = 1.0 - (double)in->o->doc_alpha * spread;
        if (!isfinite(t))
            st = rf_fail(err, RF_ERR_NUMERIC, 0,
                         "class %zu: the threshold is not finite; did training diverge?",
                         c);
        state->arrays[0].data[c] = (float)(t > MIN_THRESHOLD ? t : MIN_THRESHOLD);
    }
    free(square);
    free(scratch);
    return st;
}

static rf_status doc_prepare(rf_method_state *state, rf_error *err)
{
    for (size_t c = 0; c < state->classes; c++) {
        float t = state->arrays[0].data[c];
        if (!(t >= 0.0f && t <= 1.0f))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "threshold of class %zu: found %g, wanted 0 to 1", c,
                           (double)t);
    }
    return RF_OK;
}

/* The most likely class is chosen by logit: several p may round to 1 in a float. */
static void doc_judge(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                      float *margins, float *scratch)
{
    (void)scratch;
    size_t classes = state->classes;
    for (size_t i = 0; i < s->n; i++) {
        const float *x = s->logits + i * classes;
        for (size_t c = 0; c < classes; c++)
            margins[i * classes + c] =
                (float)sigmoid((double)x[c]) - state->arrays[0].data[c];
        out[i].nearest = out[i].fence = (uint32_t)rf_largest(x, classes);
    }
}

static const rf_method_array arrays[] = {{"threshold", 1, {RF_DIM_CLASSES}}};

const rf_method rf_method_doc = {
    .name = "doc",
    .title = "DOC",
    .summary = "one sigmoid per class, thresholds from the spread of its training texts",
    .objective = doc_new,
    .arrays = arrays,
    .n_arrays = 1,
    .fit = doc_fit,
    .prepare = doc_prepare,
    .judge = doc_judge,
};
