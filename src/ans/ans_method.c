/*
 * ans_method.c - ANS, the default: a prior for every class, corrected by heads
 *
 * The prior (ans/prior.h) needs no training and is right with five texts a class. A head
 * learns what the prior cannot say, but needs some fifty texts for that. So a class's
 * margin is a weighted mean of both, and its number of texts decides the weight: from the
 * prior alone for small classes to mostly the head for large ones. Both are on one scale,
 * on which other classes' texts are at 0 on average and the class's own at RF_PRIOR_UNIT.
 */
#include "ans/ans.h"
#include "ans/prior.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen on draws that no result uses (docs/RESULTS.md). */
#define HEAD_FROM 50    /* texts of a class: up to these the head has no say */
#define HEAD_FULL 100   /* from these on it has all the say it gets */
#define HEAD_MOST 0.65f /* that much */

/* Where fences start, before anything is known about texts of no class: between the
 * texts of a class and those of others. */
#define FIRST_FENCE (0.4f * RF_PRIOR_UNIT)

#define MOST_SHARE 0.99f /* a file may say 1 */
#define SCALED_ROWS 600  /* training rows by which the heads are scaled */

/* LEVEL: the mean margins of heads as they were trained, on texts of their own class and
 * of others, by which all heads are scaled. */
enum { SHARE = RF_HEAD_PARTS, PRIOR, LEVEL = PRIOR + RF_PRIOR_ARRAYS, ARRAYS };

/* ---- Fitting ----------------------------------------------------------------------- */

static float head_share(size_t rows)
{
    return rows <= HEAD_FROM ? 0.0f
           : rows >= HEAD_FULL
               ? HEAD_MOST
               : HEAD_MOST * (float)(rows - HEAD_FROM) / (float)(HEAD_FULL - HEAD_FROM);
}

/* Mean margin of the trained heads on texts of their own class and of others. */
typedef struct level {
    double own, others;
} level;

typedef struct level_job {
    const rf_method_state *state;
    const rf_fit *in;
    const float *z; /* the rows [rows, width] */
    const uint32_t *class_of;
    size_t rows;
    level *sum;     /* [classes] */
    size_t *own;    /* [classes] rows */
    float *margins; /* [rows, classes] */
    float *scratch;
} level_job;

static void measure_heads(void *arg, size_t member, size_t members)
{
    const level_job *j = arg;
    size_t classes = j->in->classes;
    for (size_t c = member; c < classes; c += members) {
        if (j->in->untrained[c])
            continue;
        rf_heads_score(j->state, j->z, j->rows, c, c + 1, j->margins,
                       j->scratch + member * RF_SCORE_SCRATCH);
        for (size_t i = 0; i < j->rows; i++) {
            double margin = (double)j->margins[i * classes + c];
            bool own = j->class_of[i] == c;
            *(own ? &j->sum[c].own : &j->sum[c].others) += margin;
            j->own[c] += own;
        }
    }
}

/* The average over the heads just trained of their mean margins on own and other texts.
 */
static rf_status measure_level(const rf_method_state *state, const rf_fit *in, level *out,
                               rf_error *err)
{
    size_t d = in->width, classes = in->classes;
    size_t rows = in->rows < SCALED_ROWS ? in->rows : SCALED_ROWS;
    size_t threads = rf_team_size(in->team);
    float *z = rf_floats_new(rows * (d + classes) + threads * RF_SCORE_SCRATCH);
    uint32_t *class_of = calloc(rows, sizeof *class_of);
    level_job j = {.state = state, .in = in, .z = z, .class_of = class_of, .rows = rows};
    j.sum = calloc(classes, sizeof *j.sum);
    j.own = calloc(classes, sizeof *j.own);
    rf_status st = z && class_of && j.sum && j.own
                       ? RF_OK
                       : rf_fail_nomem(err, rows * (d + classes) * sizeof *z, "margins");
    if (st == RF_OK) {
        for (size_t i = 0; i < rows; i++) {
            size_t row = i * in->rows / rows;
            memcpy(z + i * d, in->z + row * d, d * sizeof *z);
            class_of[i] = in->class_of[row];
        }
        j.margins = z + rows * d;
        j.scratch = j.margins + rows * classes;
        rf_team_run(in->team, measure_heads, &j);
    }
    double own = 0.0, others = 0.0, n_own = 0.0, n_others = 0.0;
    for (size_t c = 0; c < classes && st == RF_OK; c++) {
        if (in->untrained[c])
            continue;
        own += j.sum[c].own;
        others += j.sum[c].others;
        n_own += (double)j.own[c];
        n_others += (double)(rows - j.own[c]);
    }
    *out = (level){n_own > 0.0 ? own / n_own : 0.0,
                   n_others > 0.0 ? others / n_others : 0.0};
    free(z);
    free(class_of);
    free(j.sum);
    free(j.own);
    return st;
}

/* The level of all heads: as it was when heads were first trained, so that heads that
 * are trained later are on their scale, or measured now. */
static rf_status set_level(rf_method_state *state, const rf_fit *in,
                           const rf_method_state *old, rf_error *err)
{
    const float *before = old ? old->arrays[LEVEL].data : NULL;
    rf_status st = rf_method_state_room(state, LEVEL, 2, 1, err);
    if (st != RF_OK)
        return st;
    float *now = state->arrays[LEVEL].data;
    if (before && (before[0] != 0.0f || before[1] != 0.0f)) {
        memcpy(now, before, 2 * sizeof *now);
        return RF_OK;
    }
    level l;
    st = measure_level(state, in, &l, err);
    now[0] = (float)l.own;
    now[1] = (float)l.others;
    return st;
}

/* Scales the head of a class by its share. Its last layer is linear, so scale and level
 * go into the weights. */
static void scale_head(const rf_method_state *state, size_t c)
{
    const float *l = state->arrays[LEVEL].data;
    float share = state->arrays[SHARE].data[c];
    double gap = (double)l[0] - (double)l[1] > 1.0 ? (double)l[0] - (double)l[1] : 1.0;
    const rf_head head = rf_head_at(state, c);
    float scale = (float)((double)(share * RF_PRIOR_UNIT) / gap);
    for (size_t i = 0; i < RF_HEAD_2; i++)
        head.w3[i] *= scale;
    *head.b3 = (*head.b3 - l[1]) * scale;
}

static void scale_prior(rf_method_state *state, size_t c, float fence)
{
    rf_prior_scale(state, PRIOR, c, 1.0f - state->arrays[SHARE].data[c]);
    rf_prior_add(state, PRIOR, c, fence);
}

/* What trains and what is copied: a class of an update that stays has the share, and
 * perhaps the head, that it had. */
static void plan_heads(const rf_method_state *state, const rf_fit *in,
                       const rf_fit_update *u, bool *has, bool *untrained)
{
    float *share = state->arrays[SHARE].data;
    for (size_t c = 0; c < in->classes; c++) {
        bool kept = u && u->from[c] != RF_FIT_ANEW;
        share[c] = kept        ? u->old->arrays[SHARE].data[u->from[c]]
                   : in->quick ? 0.0f
                               : head_share(in->stats->rows[c]);
        has[c] = share[c] > 0.0f;
        untrained[c] = kept || !has[c];
    }
}

/* Shares and heads. */
static rf_status fit_heads(rf_method_state *state, const rf_fit *in,
                           const rf_fit_update *u, rf_error *err)
{
    bool *has = calloc(2 * in->classes, sizeof *has);
    bool *untrained = has ? has + in->classes : NULL;
    rf_status st = has ? rf_method_state_room(state, SHARE, in->classes, 1, err)
                       : rf_fail_nomem(err, 2 * in->classes, "the classes");
    if (st == RF_OK) {
        rf_fit with = *in;
        with.untrained = untrained;
        plan_heads(state, in, u, has, untrained);
        st = rf_ans_fit_some(state, has, &with, err); /* makes the block */
        if (st == RF_OK)
            st = set_level(state, &with, u ? u->old : NULL, err);
    }
    for (size_t c = 0; c < in->classes && st == RF_OK; c++) {
        if (has[c] && !untrained[c])
            scale_head(state, c);
        else if (has[c])
            memcpy(rf_head_at(state, c).w1, rf_head_at(u->old, u->from[c]).w1,
                   state->class_floats * sizeof(float));
    }
    free(has);
    return st;
}

static rf_status fit_both(rf_method_state *state, const rf_fit *in, rf_error *err)
{
    rf_status st = fit_heads(state, in, NULL, err);
    if (st == RF_OK)
        st = rf_prior_fit(state, PRIOR, in, err);
    if (st == RF_OK)
        rf_prior_round(state, PRIOR);
    for (size_t c = 0; c < in->classes && st == RF_OK; c++)
        scale_prior(state, c, -FIRST_FENCE);
    return st;
}

static rf_status update_both(rf_method_state *state, const rf_fit *in, rf_fit_update *u,
                             rf_error *err)
{
    float fence = -FIRST_FENCE;
    rf_status st = rf_prior_fence(u->old, PRIOR, &fence, &u->placed, err);
    if (st == RF_OK)
        st = fit_heads(state, in, u, err);
    if (st == RF_OK)
        st = rf_prior_update(state, PRIOR, in, u, err);
    if (st == RF_OK)
        rf_prior_round(state, PRIOR);
    u->fence = fence + FIRST_FENCE;
    for (size_t c = 0; c < in->classes && st == RF_OK; c++) {
        bool anew = u->from[c] == RF_FIT_ANEW;
        if (anew || u->refitted)
            scale_prior(state, c,
                        anew || !u->placed
                            ? fence
                            : rf_prior_fence_of(u->old, PRIOR, u->from[c]));
    }
    return st;
}

/* ---- Judging ----------------------------------------------------------------------- */

static rf_status room_by_share(rf_method_state *state, rf_error *err)
{
    rf_status st = RF_OK;
    bool *has = calloc(state->classes, sizeof *has);
    if (!has)
        return rf_fail_nomem(err, state->classes, "the classes");
    for (size_t c = 0; c < state->classes && st == RF_OK; c++) {
        float share = state->arrays[SHARE].data[c];
        has[c] = share > 0.0f;
        if (!(share >= 0.0f && share <= 1.0f))
            st = rf_fail(err, RF_ERR_FORMAT, 0,
                         "ans: found a head's share of %g, wanted 0 to 1", (double)share);
    }
    if (st == RF_OK)
        st = rf_heads_room(state, has, err);
    free(has);
    return st;
}

static rf_status prepare(rf_method_state *state, rf_error *err)
{
    state->prepared = rf_prior_new(state, PRIOR, err);
    return state->prepared ? RF_OK : err ? err->code : RF_ERR_NOMEM;
}

static void release(rf_method_state *state)
{
    rf_prior_free(state->prepared);
    state->prepared = NULL;
}

/* view needs a column more for each class, and what the head adds. */
static size_t scratch_of(const rf_method_state *state)
{
    size_t prior = rf_prior_scratch(state->width) + RF_JUDGE_ROWS * (state->classes + 1);
    size_t head = RF_SCORE_SCRATCH + RF_JUDGE_ROWS * state->width;
    return prior > head ? prior : head;
}

static void score_prior(const rf_method_state *state, const float *z, size_t n,
                        float *margins, float *scratch)
{
    rf_prior_score(state->prepared, z, n, margins, scratch);
}

static void add_head(const rf_method_state *state, size_t fence, const float *z, size_t n,
                     float *margins, float *scratch)
{
    if (rf_method_state_place(state, fence) == RF_NOT_HELD)
        return;
    const rf_head head = rf_head_at(state, fence);
    float *h1 = scratch, *h2 = h1 + RF_SCORE_ROWS * RF_HEAD_1, g[RF_SCORE_ROWS];
    for (size_t from = 0; from < n; from += RF_SCORE_ROWS) {
        size_t some = n - from < RF_SCORE_ROWS ? n - from : RF_SCORE_ROWS;
        rf_head_forward(&head, state->width, z + from * state->width, some, NULL, h1, h2,
                        g, 1);
        for (size_t i = 0; i < some; i++)
            margins[(from + i) * state->classes + fence] += g[i];
    }
}

static_assert(RF_JUDGE_ROWS <= RF_SCORE_ROWS, "rows of a block fit the scratch");

static void add_head_to_rows(const rf_method_state *state, size_t fence, const float *z,
                             const uint32_t *rows, size_t n, float *margins,
                             float *scratch)
{
    const rf_head head = rf_head_at(state, fence);
    float *h1 = scratch, *h2 = h1 + RF_SCORE_ROWS * RF_HEAD_1, g[RF_SCORE_ROWS];
    float *picked = scratch + RF_SCORE_SCRATCH;
    for (size_t i = 0; i < n; i++)
        memcpy(picked + i * state->width, z + rows[i] * state->width,
               state->width * sizeof *picked);
    rf_head_forward(&head, state->width, picked, n, NULL, h1, h2, g, 1);
    for (size_t i = 0; i < n; i++)
        margins[rows[i] * state->classes + fence] += g[i];
}

/* base = (1 - share) prior + fence. A head that agrees with the prior adds share prior.
 * Older files do not say what the fence is; then it is taken to be where fences start. */
static void hope_for_heads(const rf_method_state *state, const float *base, float *hopes)
{
    const float *share = state->arrays[SHARE].data;
    const float *fences = rf_prior_fences(state, PRIOR);
    for (size_t c = 0; c < state->classes; c++) {
        float fence = fences ? fences[c] : -FIRST_FENCE;
        float rest = share[c] < MOST_SHARE ? 1.0f - share[c] : 1.0f - MOST_SHARE;
        hopes[c] = share[c] > 0.0f ? (base[c] - fence) / rest + fence : -INFINITY;
    }
}

/* The prior's constant holds the fence: what is packed for scoring points to it. */
static void move_fence(rf_method_state *state, size_t fence, float offset)
{
    rf_prior_add(state, PRIOR, fence, offset);
}

static void view_fence(const rf_method_state *state, size_t fence, const float *z,
                       size_t n, float *hidden, float *margins, float *scratch)
{
    float *all = scratch + rf_prior_scratch(state->width);
    score_prior(state, z, n, all, scratch);
    if (rf_method_state_place(state, fence) != RF_NOT_HELD) {
        const rf_head head = rf_head_at(state, fence);
        rf_head_forward(&head, state->width, z, n, NULL, scratch, hidden, margins, 1);
    } else {
        memset(hidden, 0, n * RF_HEAD_2 * sizeof *hidden);
        memset(margins, 0, n * sizeof *margins);
    }
    for (size_t i = 0; i < n; i++)
        margins[i] += all[i * state->classes + fence];
}

/* ---- The method -------------------------------------------------------------------- */

static const rf_method_array arrays[ARRAYS] = {RF_HEAD_ARRAY_ROWS,
                                               {"share", 1, {RF_DIM_CLASSES}},
                                               RF_PRIOR_ARRAY_ROWS,
                                               {"level", 1, {RF_DIM(2)}}};

const rf_method rf_method_ans = {
    .name = "ans",
    .title = "ANS",
    .summary = "adaptive negative samples: heads that correct a prior for each class "
               "(the default)",
    .blends_layers = true,
    .head_settings = true,
    .cross_fits = true,
    .takes_open_texts = true,
    .trains_by_class = true,
    .arrays = arrays,
    .n_arrays = ARRAYS,
    .n_optional = RF_PRIOR_OPTIONAL + 1,
    .n_block = RF_HEAD_PARTS,
    .room = room_by_share,
    .fit = fit_both,
    .update = update_both,
    .prepare = prepare,
    .release = release,
    .scratch = scratch_of,
    .base = score_prior,
    .score = add_head,
    .hope = hope_for_heads,
    .score_rows = add_head_to_rows,
    .move_fence = move_fence,
    .view_width = RF_HEAD_2,
    .view = view_fence,
    .negatives = rf_ans_negatives,
};
