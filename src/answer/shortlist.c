/* shortlist.c - pick fences per row, turn the pairs around, score fence by fence */
#include "answer/shortlist.h"

#include "base/memory.h"
#include "num/vectors.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

bool rf_shortlist_wanted(const rf_model *m)
{
    return m->method->hope && m->state.held > RF_ASKED;
}

rf_status rf_shortlist_init(rf_shortlist *s, const rf_model *m, size_t max_rows,
                            size_t threads, rf_error *err)
{
    size_t classes = m->classes, words = (classes + 63) / 64;
    *s = (rf_shortlist){.max_rows = max_rows, .classes = classes, .words = words};
    s->hopes = rf_floats_new(threads * classes);
    s->asked = calloc(max_rows * words, sizeof *s->asked);
    s->picked = calloc(max_rows * (RF_ASKED + 1), sizeof *s->picked);
    s->rows = calloc(max_rows * RF_ASKED, sizeof *s->rows);
    s->fences = calloc(2 * classes + 1, sizeof *s->fences);
    if (!s->hopes || !s->asked || !s->picked || !s->rows || !s->fences) {
        rf_shortlist_release(s);
        return rf_fail_nomem(err, max_rows * words * sizeof *s->asked, "the shortlist");
    }
    s->n_picked = s->picked + max_rows * RF_ASKED;
    s->ends = s->fences + classes;
    return RF_OK;
}

void rf_shortlist_release(rf_shortlist *s)
{
    free(s->hopes);
    free(s->asked);
    free(s->picked);
    free(s->rows);
    free(s->fences);
    *s = (rf_shortlist){0};
}

/* ---- Picking ----------------------------------------------------------------------- */

typedef struct job {
    rf_shortlist *s;
    const rf_model *m;
    const float *z;
    size_t n;
    bool again; /* not the first round */
    float *margins, *scratch;
    size_t scratch_size;
    atomic_size_t next;
} job;

static void pick(const rf_shortlist *s, size_t row, size_t fence)
{
    s->picked[row * RF_ASKED + s->n_picked[row]++] = (uint32_t)fence;
    s->asked[row * s->words + fence / 64] |= (uint64_t)1 << fence % 64;
}

static bool is_asked(const rf_shortlist *s, size_t row, size_t fence)
{
    return s->asked[row * s->words + fence / 64] >> fence % 64 & 1;
}

/* The RF_ASKED largest hopes, the first of equals. */
static void pick_largest(const rf_shortlist *s, size_t row, const float *hopes)
{
    float best[RF_ASKED];
    size_t at[RF_ASKED], n = 0;
    for (size_t c = 0; c < s->classes; c++) {
        if (hopes[c] == -INFINITY || (n == RF_ASKED && !(hopes[c] > best[n - 1])))
            continue;
        size_t i = n < RF_ASKED ? n++ : n - 1;
        for (; i > 0 && hopes[c] > best[i - 1]; i--) {
            best[i] = best[i - 1];
            at[i] = at[i - 1];
        }
        best[i] = hopes[c];
        at[i] = c;
    }
    for (size_t i = 0; i < n; i++)
        pick(s, row, at[i]);
}

static void pick_rows(void *arg, size_t member, size_t members)
{
    const job *j = arg;
    const rf_shortlist *s = j->s;
    const rf_model *m = j->m;
    float *hopes = s->hopes + member * s->classes;
    for (size_t i = member; i < j->n; i += members) {
        const float *margins = j->margins + i * s->classes;
        if (!j->again) {
            memset(s->asked + i * s->words, 0, s->words * sizeof *s->asked);
            s->n_picked[i] = 0;
            m->method->hope(&m->state, margins, hopes);
            pick_largest(s, i, hopes);
        } else if (s->n_picked[i] > 0) { /* else nothing has changed since it was seen */
            size_t top = rf_largest(margins, s->classes);
            s->n_picked[i] = 0;
            if (rf_method_state_place(&m->state, top) != RF_NOT_HELD &&
                !is_asked(s, i, top))
                pick(s, i, top);
        }
    }
}

/* ---- By fence ---------------------------------------------------------------------- */

/* Fills fences, ends and rows from what was picked; rows ascend within a fence. */
static void turn_around(rf_shortlist *s, size_t n)
{
    memset(s->ends, 0, (s->classes + 1) * sizeof *s->ends);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->n_picked[i]; k++)
            s->ends[s->picked[i * RF_ASKED + k] + 1]++;
    s->n_fences = 0;
    for (size_t c = 0; c < s->classes; c++) {
        if (s->ends[c + 1] > 0)
            s->fences[s->n_fences++] = (uint32_t)c;
        s->ends[c + 1] += s->ends[c];
    }
    for (size_t i = 0; i < n; i++) /* moves the start of a fence to its end */
        for (size_t k = 0; k < s->n_picked[i]; k++)
            s->rows[s->ends[s->picked[i * RF_ASKED + k]]++] = (uint32_t)i;
}

static void score_fences(void *arg, size_t member, size_t members)
{
    (void)members;
    job *j = arg;
    const rf_shortlist *s = j->s;
    const rf_model *m = j->m;
    for (size_t t; (t = atomic_fetch_add(&j->next, 1)) < s->n_fences;) {
        size_t fence = s->fences[t], from = fence ? s->ends[fence - 1] : 0;
        for (size_t n; from < s->ends[fence]; from += n) {
            n = s->ends[fence] - from;
            n = n < RF_JUDGE_ROWS ? n : RF_JUDGE_ROWS;
            m->method->score_rows(&m->state, fence, j->z, s->rows + from, n, j->margins,
                                  j->scratch + member * j->scratch_size);
        }
    }
}

void rf_shortlist_run(rf_shortlist *s, const rf_model *m, const float *z, size_t n,
                      float *margins, float *scratch, size_t scratch_size, rf_team *team)
{
    job j = {.s = s,
             .m = m,
             .z = z,
             .n = n,
             .margins = margins,
             .scratch = scratch,
             .scratch_size = scratch_size};
    for (;; j.again = true) {
        rf_team_run(team, pick_rows, &j);
        turn_around(s, n);
        if (s->n_fences == 0)
            return;
        atomic_init(&j.next, 0);
        rf_team_run(team, score_fences, &j);
    }
}
