/*
 * session.c - texts in, decisions out
 *
 * The embedder does the streaming. Its threads judge its blocks of features, as many rows
 * at a time as fit into the judge, and the decisions are delivered in order:
 *
 *   text --> embedder --> features --> judge --> decisions in input order --> sink, on
 *                         [rows, d]                                   the calling thread
 */
#include "answer/session.h"

#include "encoder/embedder.h"
#include "answer/judge.h"
#include "base/options.h"
#include "num/kernels.h"
#include "num/vectors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct rf_session {
    const rf_model *model;
    rf_embedder *embedder;
    rf_decision_sink sink;
    void *sink_user;
    rf_judge judge;
    float fence; /* added to every margin */
};

/* ---- Deciding and delivering ------------------------------------------------------- */

/* The answer is a class if its fence accepts the text. p = sigmoid(bias + slope
 * margin) is the confidence that the text is of a known class, margin being that of the
 * model's own fence; the softmax divides it among the known classes. */
static rf_decision decide(const rf_session *s, const float *features, size_t row)
{
    const rf_judge *j = &s->judge;
    size_t classes = s->model->classes;
    const rf_verdict *v = &j->verdicts[row];
    rf_decision d = {.class_index = rf_judge_answer(j, s->model, row),
                     .nearest = v->nearest,
                     .margin = j->margins[row * classes + v->fence],
                     .margin_class = v->fence,
                     .probabilities = j->probabilities + row * classes,
                     .margins = j->margins + row * classes,
                     .feature = features + row * s->model->known.width};
    const rf_calibration *c = &s->model->calibration;
    double own = (double)d.margin - (double)s->fence;
    double margin = (double)c->bias + (double)c->slope * own;
    d.confidence = d.class_index == RF_OPEN
                       ? (float)rf_sigmoid(-margin)
                       : (float)((double)d.probabilities[d.nearest] * rf_sigmoid(margin));
    return d;
}

/* n: at most judge.max_rows */
static rf_status decide_rows(rf_session *s, const float *features, size_t n,
                             rf_error *err)
{
    rf_status st = RF_OK;
    size_t numbers = n * s->model->classes;
    rf_judge_rows(&s->judge, s->model, features, n, rf_embedder_team(s->embedder));
    if (!rf_kernels()->all_finite(s->judge.margins, numbers) ||
        !rf_kernels()->all_finite(s->judge.probabilities, numbers))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "a margin or probability is a NaN or an infinity: the model's "
                       "weights are too large");
    for (size_t i = 0; s->fence != 0.0f && i < numbers; i++)
        s->judge.margins[i] += s->fence;
    for (size_t i = 0; s->sink && i < n && st == RF_OK; i++) {
        rf_decision d = decide(s, features, i);
        st = s->sink(s->sink_user, &d, err);
    }
    return st;
}

rf_status rf_session_set_fence(rf_session *s, float offset, rf_error *err)
{
    if (!(offset >= -RF_MAX_FENCE && offset <= RF_MAX_FENCE))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "the fence is %g, wanted a number from %g to %g", (double)offset,
                       (double)-RF_MAX_FENCE, (double)RF_MAX_FENCE);
    s->fence = offset;
    return RF_OK;
}

/* The embedder's sink. */
static rf_status decide_block(void *user, const float *features, size_t n, rf_error *err)
{
    rf_session *s = user;
    rf_status st = RF_OK;
    for (size_t from = 0; from < n && st == RF_OK; from += s->judge.max_rows) {
        size_t rows = n - from < s->judge.max_rows ? n - from : s->judge.max_rows;
        st = decide_rows(s, features + from * s->model->known.width, rows, err);
    }
    return st;
}

/* ---- Streams ----------------------------------------------------------------------- */

void rf_session_set_sink(rf_session *s, rf_decision_sink sink, void *user)
{
    s->sink = sink;
    s->sink_user = user;
}

rf_status rf_session_feed(rf_session *s, const char *bytes, size_t len, rf_error *err)
{
    return rf_embedder_feed(s->embedder, bytes, len, err);
}

rf_status rf_session_end_text(rf_session *s, rf_error *err)
{
    return rf_embedder_end_text(s->embedder, err);
}

rf_status rf_session_flush(rf_session *s, rf_error *err)
{
    return rf_embedder_flush(s->embedder, err);
}

/* ---- Whole texts ------------------------------------------------------------------- */

rf_status rf_classify_all(rf_session *s, const char *const *texts, const size_t *lens,
                          size_t n, rf_decision_sink sink, void *user, rf_error *err)
{
    if (rf_embedder_in_text(s->embedder))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "a text is being fed; end it before passing whole texts");
    rf_decision_sink old_sink = s->sink;
    void *old_user = s->sink_user;
    rf_status st = rf_session_flush(s, err); /* deliver what was streamed before */
    rf_session_set_sink(s, sink, user);
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        st = rf_session_feed(s, texts[i], lens[i], err);
        if (st == RF_OK)
            st = rf_session_end_text(s, err);
    }
    if (st == RF_OK)
        st = rf_session_flush(s, err);
    rf_session_set_sink(s, old_sink, old_user);
    return st;
}

static rf_status copy_decision(void *user, const rf_decision *decision, rf_error *err)
{
    (void)err;
    *(rf_decision *)user = *decision;
    return RF_OK;
}

rf_status rf_classify(rf_session *s, const char *text, size_t len, rf_decision *out,
                      rf_error *err)
{
    return rf_classify_all(s, &text, &len, 1, copy_decision, out, err);
}

/* ---- Answers in arrays ------------------------------------------------------------- */

typedef struct answer_rows {
    const rf_answer_arrays *out;
    size_t row, classes, width;
} answer_rows;

static void put_index(size_t *array, size_t row, size_t value)
{
    if (array)
        array[row] = value;
}

static void put_floats(float *array, size_t row, const float *values, size_t n)
{
    if (array)
        memcpy(array + row * n, values, n * sizeof *values);
}

static rf_status put_row(void *user, const rf_decision *d, rf_error *err)
{
    (void)err;
    answer_rows *a = user;
    const rf_answer_arrays *out = a->out;
    size_t row = a->row++;
    put_index(out->class_index, row, d->class_index);
    put_index(out->margin_class, row, d->margin_class);
    put_index(out->nearest, row, d->nearest);
    put_floats(out->confidence, row, &d->confidence, 1);
    put_floats(out->margin, row, &d->margin, 1);
    put_floats(out->probabilities, row, d->probabilities, a->classes);
    put_floats(out->margins, row, d->margins, a->classes);
    put_floats(out->features, row, d->feature, a->width);
    return RF_OK;
}

rf_status rf_classify_arrays(rf_session *s, const char *const *texts, const size_t *lens,
                             size_t n, const rf_answer_arrays *out, rf_error *err)
{
    answer_rows a = {
        .out = out, .classes = s->model->classes, .width = s->model->known.width};
    return rf_classify_all(s, texts, lens, n, put_row, &a, err);
}

/* ---- Construction ------------------------------------------------------------------ */

void rf_session_options_init(rf_session_options *options, size_t struct_size)
{
    const rf_session_options defaults = {0};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

rf_session *rf_session_new(const rf_model *model, size_t threads, rf_error *err)
{
    rf_session_options o = rf_session_options_default();
    o.threads = threads;
    return rf_session_open(model, &o, err);
}

rf_session *rf_session_open(const rf_model *model, const rf_session_options *options,
                            rf_error *err)
{
    rf_session_options own = rf_session_options_default();
    if (rf_options_take(&own, sizeof own, options, "rf_session_options", err) != RF_OK)
        return NULL;
    assert(model->known.width == model->encoder->config.width);
    rf_session *s = calloc(1, sizeof *s);
    if (!s) {
        rf_fail_nomem(err, sizeof *s, "session");
        return NULL;
    }
    s->model = model;
    rf_embed_options o = rf_embed_options_default();
    o.threads = own.threads;
    o.precision = own.precision;
    o.pooling = RF_POOL_MEAN;
    o.long_text = RF_LONG_TRUNCATE;
    o.max_tokens = model->max_tokens;
    s->embedder = rf_embedder_new(model->encoder, &o, err);
    if (!s->embedder)
        goto fail;
    rf_embedder_set_spelling(s->embedder, model->spelling);
    rf_embedder_set_block_sink(s->embedder, decide_block, s);
    if (rf_judge_init(&s->judge, model, SIZE_MAX,
                      rf_team_size(rf_embedder_team(s->embedder)), err) == RF_OK) {
        s->judge.all_fences = own.all_heads;
        return s;
    }
fail:
    rf_session_free(s);
    return NULL;
}

void rf_session_free(rf_session *s)
{
    if (!s)
        return;
    rf_embedder_free(s->embedder);
    rf_judge_release(&s->judge);
    free(s);
}

const rf_model *rf_session_model(const rf_session *s)
{
    return s->model;
}
