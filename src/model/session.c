/*
 * session.c - texts in, decisions out
 *
 * The embedder's sink gathers features into a block of rows; a full block is judged by
 * the embedder's own threads and its decisions are delivered in order:
 *
 *   text --> embedder --> features --> judge --> decisions in input order --> sink, on
 *                         [rows, d]                                   the calling thread
 */
#include "model/session.h"

#include "base/memory.h"
#include "encoder/embedder.h"
#include "model/judge.h"
#include "num/kernels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rf_session {
    const rf_model *model;
    rf_embedder *embedder;
    rf_decision_sink sink;
    void *sink_user;

    /* The block */
    size_t n_rows;
    bool delivering;
    float *features; /* [judge.max_rows, width] */
    rf_judge judge;
};

/* ---- Deciding and delivering ------------------------------------------------------- */

/* A known answer if the fence that decides lets the text in. p = sigmoid(bias + slope
 * margin) is the confidence that the text is of a known class at all; among the known
 * classes the softmax divides it. */
static rf_decision decide(const rf_session *s, size_t row)
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
                     .feature = s->features + row * s->model->known.width};
    const rf_calibration *c = &s->model->calibration;
    double margin = (double)c->bias + (double)c->slope * (double)d.margin;
    d.confidence =
        d.class_index == RF_OPEN
            ? (float)(1.0 / (1.0 + exp(margin)))
            : (float)((double)d.probabilities[d.nearest] / (1.0 + exp(-margin)));
    return d;
}

static rf_status run_block(rf_session *s, rf_error *err)
{
    rf_status st = RF_OK;
    rf_judge_rows(&s->judge, s->model, s->features, s->n_rows,
                  rf_embedder_team(s->embedder));
    size_t numbers = s->n_rows * s->model->classes;
    if (!rf_kernels()->all_finite(s->judge.margins, numbers) ||
        !rf_kernels()->all_finite(s->judge.probabilities, numbers))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "a margin or probability is a NaN or an infinity: the model's "
                       "weights are too large");
    s->delivering = true;
    for (size_t i = 0; s->sink && i < s->n_rows && st == RF_OK; i++) {
        rf_decision d = decide(s, i);
        st = s->sink(s->sink_user, &d, err);
    }
    s->delivering = false;
    s->n_rows = 0;
    return st;
}

/* The block that is being delivered must not change. */
static rf_status not_from_sink(const rf_session *s, rf_error *err)
{
    return s->delivering
               ? rf_fail(err, RF_ERR_ARG, 0, "a session cannot be used by its own sink")
               : RF_OK;
}

/* The embedder's sink. */
static rf_status take_feature(void *user, const float *feature, rf_error *err)
{
    rf_session *s = user;
    size_t width = s->model->known.width;
    memcpy(s->features + s->n_rows * width, feature, width * sizeof(float));
    return ++s->n_rows < s->judge.max_rows ? RF_OK : run_block(s, err);
}

/* After a failure nothing of the past remains, not even the text half fed. */
static rf_status drop_if_failed(rf_session *s, rf_status st)
{
    if (st != RF_OK) {
        s->n_rows = 0;
        rf_embedder_drop(s->embedder);
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
    if (not_from_sink(s, err) != RF_OK)
        return RF_ERR_ARG;
    return drop_if_failed(s, rf_embedder_feed(s->embedder, bytes, len, err));
}

rf_status rf_session_end_text(rf_session *s, rf_error *err)
{
    if (not_from_sink(s, err) != RF_OK)
        return RF_ERR_ARG;
    return drop_if_failed(s, rf_embedder_end_text(s->embedder, err));
}

rf_status rf_session_flush(rf_session *s, rf_error *err)
{
    rf_status st = not_from_sink(s, err);
    if (st != RF_OK)
        return st;
    st = rf_embedder_flush(s->embedder, err);
    if (st == RF_OK)
        st = run_block(s, err);
    return drop_if_failed(s, st);
}

/* ---- Whole texts ------------------------------------------------------------------- */

rf_status rf_classify_all(rf_session *s, const char *const *texts, const size_t *lens,
                          size_t n, rf_decision_sink sink, void *user, rf_error *err)
{
    if (not_from_sink(s, err) != RF_OK)
        return RF_ERR_ARG;
    if (rf_embedder_in_text(s->embedder))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "a text is being fed; end it before giving whole texts");
    rf_decision_sink old_sink = s->sink;
    void *old_user = s->sink_user;
    rf_status st = rf_session_flush(s, err); /* what was streamed before goes its way */
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

static rf_status keep(void *user, const rf_decision *decision, rf_error *err)
{
    (void)err;
    *(rf_decision *)user = *decision;
    return RF_OK;
}

rf_status rf_classify(rf_session *s, const char *text, size_t len, rf_decision *out,
                      rf_error *err)
{
    return rf_classify_all(s, &text, &len, 1, keep, out, err);
}

/* ---- Making one -------------------------------------------------------------------- */

rf_session *rf_session_new(const rf_model *model, size_t threads, rf_error *err)
{
    size_t width = model->encoder->config.width;
    assert(model->known.width == width);
    rf_session *s = calloc(1, sizeof *s);
    if (!s) {
        rf_fail_nomem(err, sizeof *s, "session");
        return NULL;
    }
    s->model = model;
    rf_embed_options o = rf_embed_options_default();
    o.threads = threads;
    o.pooling = RF_POOL_MEAN;
    o.long_text = RF_LONG_TRUNCATE;
    o.max_tokens = model->max_tokens;
    s->embedder = rf_embedder_new(model->encoder, &o, err);
    if (!s->embedder)
        goto fail;
    rf_embedder_set_sink(s->embedder, take_feature, s);

    if (rf_judge_init(&s->judge, model, SIZE_MAX,
                      rf_team_size(rf_embedder_team(s->embedder)), err) != RF_OK)
        goto fail;
    s->features = rf_floats_new(s->judge.max_rows * width);
    if (s->features)
        return s;
    rf_fail_nomem(err, s->judge.max_rows * width * sizeof(float), "a block of features");
fail:
    rf_session_free(s);
    return NULL;
}

void rf_session_free(rf_session *s)
{
    if (!s)
        return;
    rf_embedder_free(s->embedder);
    free(s->features);
    rf_judge_release(&s->judge);
    free(s);
}

const rf_model *rf_session_model(const rf_session *s)
{
    return s->model;
}
