/*
 * session.c - texts in, decisions out
 *
 * The embedder's sink gathers features into a block of rows; a full block is scored by
 * the embedder's own threads and its decisions are delivered in order:
 *
 *   text --> embedder --> features --> known:  logits, softmax   } tasks that the threads
 *                         [rows, d]    heads:  margins [rows, C] } take one after another
 *                                                  |
 *            sink, on the calling thread  <-- decisions in input order
 *
 * A task is some rows through the classifier of known classes, or one head over some
 * rows. Every output belongs to one task and depends on its own row only, so the bits do
 * not depend on how the tasks fall to the threads, nor on what else is in the block.
 */
#include "model/session.h"

#include "base/memory.h"
#include "encoder/embedder.h"
#include "num/kernels.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a block: enough for each head to be fetched from memory rarely, and with many
 * classes few enough for a block of margins to stay below BLOCK_FLOATS. */
#define BLOCK_ROWS (5 * RF_SCORE_ROWS)
#define BLOCK_FLOATS ((size_t)1 << 20)

struct rf_session {
    const rf_model *model;
    rf_embedder *embedder;
    rf_decision_sink sink;
    void *sink_user;

    /* The block; d features, C classes */
    size_t max_rows, n_rows;
    float *features;      /* [max_rows, d] */
    float *probabilities; /* [max_rows, C] */
    float *margins;       /* [max_rows, C] */
    size_t *nearest;      /* [max_rows] the class with the largest logit */
    float *scratch;       /* [threads][scratch_size] */
    size_t scratch_size;
};

/* ---- Scoring a block --------------------------------------------------------------- */

typedef struct job {
    rf_session *s;
    size_t known_tasks;         /* of RF_SCORE_ROWS rows each; they come first */
    size_t head_rows;           /* of a task */
    size_t row_groups, n_tasks; /* row_groups tasks per head */
    atomic_size_t next;
} job;

static size_t largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* The class is taken from the logits: two that differ may round to equal
 * probabilities. */
static void score_known(rf_session *s, size_t from, size_t rows, float *scratch)
{
    const rf_known *known = &s->model->known;
    float *y = s->probabilities + from * known->classes;
    rf_known_logits(known, s->features + from * known->width, rows, y, scratch);
    for (size_t i = 0; i < rows; i++)
        s->nearest[from + i] = largest(y + i * known->classes, known->classes);
    rf_kernels()->softmax(y, rows, known->classes, known->classes, 1.0f);
}

static void work(void *arg, size_t member, size_t members)
{
    (void)members;
    job *j = arg;
    rf_session *s = j->s;
    const rf_heads *heads = &s->model->heads;
    float *scratch = s->scratch + member * s->scratch_size;
    for (size_t t; (t = atomic_fetch_add(&j->next, 1)) < j->n_tasks;) {
        bool is_known = t < j->known_tasks;
        size_t step = is_known ? RF_SCORE_ROWS : j->head_rows;
        size_t head = is_known ? 0 : (t - j->known_tasks) / j->row_groups;
        size_t from = (is_known ? t : (t - j->known_tasks) % j->row_groups) * step;
        size_t rows = s->n_rows - from < step ? s->n_rows - from : step;
        if (is_known)
            score_known(s, from, rows, scratch);
        else
            rf_heads_score(heads, s->features + from * heads->width, rows, head, head + 1,
                           s->margins + from * heads->classes, scratch);
    }
}

static size_t groups(size_t rows, size_t of)
{
    return (rows + of - 1) / of;
}

static void score_block(rf_session *s)
{
    rf_team *team = rf_embedder_team(s->embedder);
    size_t classes = s->model->classes;
    job j = {.s = s, .known_tasks = groups(s->n_rows, RF_SCORE_ROWS)};
    /* A head over all rows is fetched by one thread only; with few heads there would be
     * threads with nothing to do. */
    j.head_rows = classes >= 4 * rf_team_size(team) ? s->n_rows : RF_SCORE_ROWS;
    j.row_groups = groups(s->n_rows, j.head_rows);
    j.n_tasks = j.known_tasks + classes * j.row_groups;
    rf_team_run(team, work, &j);
}

/* ---- Deciding and delivering ------------------------------------------------------- */

/* A known answer if some head accepts the text: the most likely class, whosever head that
 * was. p = sigmoid(largest margin) is the confidence that the text is of a known class at
 * all; among the known classes the softmax divides it. A margin that is NaN rejects. */
static rf_decision decide(const rf_session *s, size_t row)
{
    size_t classes = s->model->classes;
    rf_decision d = {.class_index = RF_OPEN,
                     .nearest = s->nearest[row],
                     .margin = -INFINITY,
                     .probabilities = s->probabilities + row * classes,
                     .margins = s->margins + row * classes,
                     .feature = s->features + row * s->model->known.width};
    for (size_t m = 0; m < classes; m++)
        if (d.margins[m] > d.margin) {
            d.margin = d.margins[m];
            d.margin_class = m;
        }
    double margin = (double)d.margin;
    if (d.margin >= 0.0f) {
        d.class_index = d.nearest;
        d.confidence = (float)((double)d.probabilities[d.nearest] / (1.0 + exp(-margin)));
    } else {
        d.confidence = (float)(1.0 / (1.0 + exp(margin)));
    }
    return d;
}

static rf_status run_block(rf_session *s, rf_error *err)
{
    rf_status st = RF_OK;
    if (s->n_rows > 0)
        score_block(s);
    for (size_t i = 0; s->sink && i < s->n_rows && st == RF_OK; i++) {
        rf_decision d = decide(s, i);
        st = s->sink(s->sink_user, &d, err);
    }
    s->n_rows = 0;
    return st;
}

/* The embedder's sink. */
static rf_status take_feature(void *user, const float *feature, rf_error *err)
{
    rf_session *s = user;
    size_t width = s->model->known.width;
    memcpy(s->features + s->n_rows * width, feature, width * sizeof(float));
    return ++s->n_rows < s->max_rows ? RF_OK : run_block(s, err);
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
    return drop_if_failed(s, rf_embedder_feed(s->embedder, bytes, len, err));
}

rf_status rf_session_end_text(rf_session *s, rf_error *err)
{
    return drop_if_failed(s, rf_embedder_end_text(s->embedder, err));
}

rf_status rf_session_flush(rf_session *s, rf_error *err)
{
    rf_status st = rf_embedder_flush(s->embedder, err);
    if (st == RF_OK)
        st = run_block(s, err);
    return drop_if_failed(s, st);
}

/* ---- Whole texts ------------------------------------------------------------------- */

rf_status rf_classify_all(rf_session *s, const char *const *texts, const size_t *lens,
                          size_t n, rf_decision_sink sink, void *user, rf_error *err)
{
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
    size_t width = model->encoder->config.width, classes = model->classes;
    assert(classes > 0 && model->known.classes == classes);
    assert(model->heads.classes == classes);
    assert(model->known.width == width && model->heads.width == width);
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

    s->max_rows = BLOCK_FLOATS / classes;
    if (s->max_rows > BLOCK_ROWS)
        s->max_rows = BLOCK_ROWS;
    else if (s->max_rows < 1)
        s->max_rows = 1;
    size_t known_scratch = RF_SCORE_ROWS * width;
    s->scratch_size = known_scratch > RF_SCORE_SCRATCH ? known_scratch : RF_SCORE_SCRATCH;
    size_t members = rf_team_size(rf_embedder_team(s->embedder));
    s->features = rf_floats_new(s->max_rows * width);
    s->probabilities = rf_floats_new(s->max_rows * classes);
    s->margins = rf_floats_new(s->max_rows * classes);
    s->nearest = malloc(s->max_rows * sizeof *s->nearest);
    s->scratch = rf_floats_new(members * s->scratch_size);
    if (s->features && s->probabilities && s->margins && s->nearest && s->scratch)
        return s;
    rf_fail_nomem(err,
                  (s->max_rows * (width + 2 * classes) + members * s->scratch_size) *
                      sizeof(float),
                  "a block of answers");
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
    free(s->probabilities);
    free(s->margins);
    free(s->nearest);
    free(s->scratch);
    free(s);
}

const rf_model *rf_session_model(const rf_session *s)
{
    return s->model;
}
