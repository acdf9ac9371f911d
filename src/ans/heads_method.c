/*
 * heads_method.c - heads alone: ANS as published, and vanilla one-versus-rest
 *
 * One head per class. Heads are trained a few at a time, to report progress and to lose
 * little work between checkpoints.
 */
#include "ans/ans.h"

#include "ans/ans_step.h"
#include "base/streams.h"
#include "num/train.h"

#include <math.h>
#include <string.h>

#define HEADS_AT_ONCE 4 /* per thread, between calls of the hooks */
#define VIEW_AT_ONCE 8  /* synthetic negatives for a picture */

/* ---- Training ---------------------------------------------------------------------- */

static rf_fit_part part_at(const rf_method_state *state, const bool *has,
                           const rf_fit *in, size_t from, size_t n)
{
    size_t before = 0;
    for (size_t c = 0; has && c < from; c++)
        before += has[c];
    return (rf_fit_part){.from = from,
                         .n = n,
                         .has = has ? has + from : NULL,
                         .learnt =
                             state->block + (has ? before : from) * state->class_floats,
                         .floats = state->class_floats,
                         .reports = in->reports + from};
}

/* The end of the classes from `from` on of which at most `most` are trained. */
static size_t part_end(const rf_fit *in, size_t from, size_t most)
{
    size_t to = from, trained = 0;
    for (; to < in->classes; to++) {
        trained += !in->untrained || !in->untrained[to];
        if (trained > most)
            break;
    }
    return to;
}

static rf_status round_heads(const rf_method_state *state, const rf_fit *in, size_t from,
                             size_t to, rf_error *err)
{
    for (size_t c = from; c < to; c++) {
        if (in->untrained && in->untrained[c])
            continue;
        const rf_head head = rf_head_at(state, c);
        if (!rf_head_round(&head, state->width))
            return rf_fail(err, RF_ERR_NUMERIC, 0,
                           "class %zu: a weight that half precision cannot hold; a "
                           "smaller rate than %g may help",
                           c, (double)in->o->head_rate);
    }
    return RF_OK;
}

rf_status rf_ans_fit_some(rf_method_state *state, const bool *has, const rf_fit *in,
                          rf_error *err)
{
    size_t from = 0, most = HEADS_AT_ONCE * rf_team_size(in->team);
    const rf_fit_hooks *hooks = &in->hooks;
    rf_ans_training *training = NULL;
    rf_status st = rf_heads_room(state, has, err);
    for (size_t n = 1; hooks->resume && from < in->classes && n > 0 && st == RF_OK;) {
        rf_fit_part part = part_at(state, has, in, from, in->classes - from);
        st = hooks->resume(hooks->user, &part, err);
        from += n = part.n;
    }
    if (from < in->classes && st == RF_OK)
        st = rf_ans_training_open(&training, state, in, err);
    while (from < in->classes && st == RF_OK) {
        size_t to = part_end(in, from, most);
        const rf_fit_part part = part_at(state, has, in, from, to - from);
        st = rf_ans_training_run(training, from, to, part.reports, err);
        if (st == RF_OK)
            st = round_heads(state, in, from, to, err);
        if (st == RF_OK && hooks->finished)
            st = hooks->finished(hooks->user, &part, err);
        from = to;
    }
    rf_ans_training_close(training);
    return st;
}

rf_status rf_ans_fit(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    *state = (rf_method_state){.width = in->width, .classes = in->classes};
    return rf_ans_fit_some(state, NULL, in, err);
}

static rf_status room_for_all(rf_method_state *state, rf_error *err)
{
    return rf_heads_room(state, NULL, err);
}

static void disable_synthetic(rf_settings *s)
{
    s->lambda = 0.0f;
}

/* ---- Judging ----------------------------------------------------------------------- */

static size_t scratch_of(const rf_method_state *state)
{
    (void)state;
    return RF_SCORE_SCRATCH;
}

static void score_head(const rf_method_state *state, size_t fence, const float *z,
                       size_t n, float *margins, float *scratch)
{
    rf_heads_score(state, z, n, fence, fence + 1, margins, scratch);
}

/* Added to the bias of the last layer, so that it costs nothing at run time. */
static void move_head_fence(rf_method_state *state, size_t fence, float offset)
{
    *rf_head_at(state, fence).b3 += offset;
}

/* ---- Pictures ---------------------------------------------------------------------- */

static void view_head(const rf_method_state *state, size_t fence, const float *z,
                      size_t n, float *hidden, float *margins, float *scratch)
{
    const rf_head head = rf_head_at(state, fence);
    rf_head_forward(&head, state->width, z, n, NULL, scratch, hidden, margins, 1);
}

/* Writes to w->eps the negatives that Algorithm 1 makes from these rows with the head in
 * its present state. */
static void make_negatives(rf_ans_work *w, const rf_head *head, size_t fence,
                           const rf_fit *in, float radius, const uint32_t *rows,
                           size_t index)
{
    const rf_settings *o = in->o;
    const float *variance = in->stats->variance + fence * w->width;
    const uint32_t other = 0; /* any row: its features are not used */
    rf_ans_gather(w, in->z, rows, &other);
    rf_train_kernels()->normal(
        w->eps, VIEW_AT_ONCE * w->width,
        rf_stream_key(in->seed, RF_STREAM_LAB_NEGATIVES, in->class_key[fence], index));
    for (size_t k = 0; o->noise && k < VIEW_AT_ONCE * w->width; k++)
        w->eps[k] *= 2.0f * sqrtf(variance[k % w->width]);
    if (!o->noise)
        rf_ans_project(w, radius / 1000.0f, 1.0f);
    rf_ans_ascend(w, head, o->ascent_steps, o->ascent_rate * radius);
    if (o->projection)
        rf_ans_project(w, radius, o->gamma);
    for (size_t k = 0; k < VIEW_AT_ONCE * w->width; k++)
        w->eps[k] += w->x[k];
}

/* None if training uses none, or for a class that is a single point or has no head. */
rf_status rf_ans_negatives(const rf_method_state *state, size_t fence, const rf_fit *in,
                           float radius, float *z, size_t *n, rf_error *err)
{
    size_t width = state->width, most = *n, held = 0, left = in->stats->rows[fence];
    uint32_t rows[VIEW_AT_ONCE];
    rf_ans_work w;
    *n = 0;
    if (!(in->o->lambda > 0.0f && in->stats->distance[fence] > 0.0f) ||
        rf_method_state_place(state, fence) == RF_NOT_HELD)
        return RF_OK;
    const rf_head head = rf_head_at(state, fence);
    rf_status st = rf_ans_work_init(&w, width, VIEW_AT_ONCE, 1, VIEW_AT_ONCE, true, err);
    if (st != RF_OK)
        return st;
    rf_ans_work_start(&w, 1);
    for (size_t i = 0; i < in->rows && *n < most; i++) {
        if (in->class_of[i] != fence)
            continue;
        rows[held++] = (uint32_t)i;
        left--;
        if (held < VIEW_AT_ONCE && left > 0)
            continue;
        for (size_t k = held; k < VIEW_AT_ONCE; k++) /* not used */
            rows[k] = rows[0];
        make_negatives(&w, &head, fence, in, radius, rows, *n);
        held = held < most - *n ? held : most - *n;
        memcpy(z + *n * width, w.eps, held * width * sizeof *z);
        *n += held;
        held = 0;
    }
    rf_ans_work_release(&w);
    return RF_OK;
}

/* ---- The methods ------------------------------------------------------------------- */

#define WITH_HEADS                                                                       \
    .blends_layers = true, .head_settings = true, .trains_by_class = true,               \
    .arrays = rf_head_arrays, .n_arrays = RF_HEAD_PARTS, .n_block = RF_HEAD_PARTS,       \
    .room = room_for_all, .fit = rf_ans_fit, .scratch = scratch_of, .score = score_head, \
    .move_fence = move_head_fence, .view_width = RF_HEAD_2, .view = view_head,           \
    .negatives = rf_ans_negatives

const rf_method rf_method_heads = {
    .name = "heads",
    .title = "ANS heads",
    .summary = "adaptive negative samples as published: one network per class, no prior",
    WITH_HEADS,
};

const rf_method rf_method_ovr = {
    .name = "ovr",
    .title = "One-versus-rest",
    .summary = "one network per class without synthetic negatives: heads with lambda 0",
    .fix_settings = disable_synthetic,
    WITH_HEADS,
};
