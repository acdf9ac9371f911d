/* judge.c - run the classifier and the method over blocks of feature rows */
#include "answer/judge.h"

#include "base/memory.h"
#include "num/kernels.h"
#include "num/vectors.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a block: enough that the weights of a class are rarely fetched from memory,
 * but with many classes few enough that the margins stay below BLOCK_FLOATS. */
#define BLOCK_ROWS (5 * RF_JUDGE_ROWS)
#define BLOCK_FLOATS ((size_t)1 << 20)
/* Cosines become logits of a softmax by this factor. */
#define COSINE_SCALE 30.0f

typedef struct judge_job {
    rf_judge *out;
    const rf_model *m;
    const float *features;
    size_t n;
    size_t task_rows;           /* of a task */
    size_t row_groups, n_tasks; /* row_groups tasks, or that many per fence */
    atomic_size_t next;
} judge_job;

/* The class comes from the logits: different logits may round to equal probabilities. */
static void judge_known(const judge_job *j, size_t from, size_t n, float *scratch)
{
    const rf_model *m = j->m;
    const rf_known *known = &m->known;
    float *hidden = scratch, *logits = hidden + RF_JUDGE_ROWS * known->width;
    float *rest = logits + RF_JUDGE_ROWS * known->classes;
    const float *z = j->features + from * known->width;
    float *p = j->out->probabilities + from * m->classes;
    rf_verdict *verdicts = j->out->verdicts + from;
    rf_known_logits(known, z, n, logits, hidden);
    for (size_t i = 0; i < n; i++) {
        memcpy(p + i * m->classes, logits + i * known->classes,
               m->classes * sizeof(float));
        verdicts[i].nearest =
            (uint32_t)rf_largest(logits + i * known->classes, m->classes);
    }
    rf_kernels()->softmax(p, n, m->classes, m->classes,
                          known->form == RF_KNOWN_PLAIN ? 1.0f : COSINE_SCALE);
    const rf_signals signals = {n, z, hidden, logits};
    m->method->judge(&m->state, &signals, verdicts, j->out->margins + from * m->classes,
                     rest);
}

/* If margins are comparable, the largest one decides the class: on dev data the heads
 * of ANS separate the classes better than the classifier does. */
static void judge_margins(const judge_job *j, size_t row)
{
    size_t classes = j->m->classes;
    const float *margins = j->out->margins + row * classes;
    float *p = j->out->probabilities + row * classes;
    uint32_t best = (uint32_t)rf_largest(margins, classes);
    j->out->verdicts[row] = (rf_verdict){best, best};
    memcpy(p, margins, classes * sizeof(float));
    rf_kernels()->softmax(p, 1, classes, classes, j->m->calibration.temperature);
}

static void run_base_tasks(void *arg, size_t member, size_t members)
{
    const judge_job *j = arg;
    const rf_model *m = j->m;
    float *scratch = j->out->scratch + member * j->out->scratch_size;
    for (size_t i = member * RF_JUDGE_ROWS; i < j->n; i += members * RF_JUDGE_ROWS)
        m->method->base(&m->state, j->features + i * m->known.width,
                        j->n - i < RF_JUDGE_ROWS ? j->n - i : RF_JUDGE_ROWS,
                        j->out->margins + i * m->classes, scratch);
}

static void run_judge_tasks(void *arg, size_t member, size_t members)
{
    (void)members;
    judge_job *j = arg;
    const rf_model *m = j->m;
    float *scratch = j->out->scratch + member * j->out->scratch_size;
    for (size_t t; (t = atomic_fetch_add(&j->next, 1)) < j->n_tasks;) {
        size_t fence = t / j->row_groups, from = t % j->row_groups * j->task_rows;
        size_t n = j->n - from < j->task_rows ? j->n - from : j->task_rows;
        if (m->method->score)
            m->method->score(&m->state, fence, j->features + from * m->known.width, n,
                             j->out->margins + from * m->classes, scratch);
        else
            judge_known(j, from, n, scratch);
    }
}

void rf_judge_rows(rf_judge *out, const rf_model *m, const float *features, size_t n,
                   rf_team *team)
{
    if (n == 0)
        return;
    bool by_fence = m->method->score;
    judge_job j = {.out = out, .m = m, .features = features, .n = n};
    /* With all rows in one task only one thread fetches a fence; with few fences that
     * would leave threads idle. */
    j.task_rows = by_fence && m->classes >= 4 * rf_team_size(team) ? n : RF_JUDGE_ROWS;
    j.row_groups = (n + j.task_rows - 1) / j.task_rows;
    j.n_tasks = j.row_groups * (by_fence ? m->classes : 1);
    if (m->method->base)
        rf_team_run(team, run_base_tasks, &j);
    if (!out->all_fences && rf_shortlist_wanted(m))
        rf_shortlist_run(&out->shortlist, m, features, n, out->margins, out->scratch,
                         out->scratch_size, team);
    else
        rf_team_run(team, run_judge_tasks, &j);
    for (size_t i = 0; by_fence && i < n; i++)
        judge_margins(&j, i);
}

size_t rf_judge_answer(const rf_judge *j, const rf_model *m, size_t i)
{
    const rf_verdict *v = &j->verdicts[i];
    return j->margins[i * m->classes + v->fence] >= 0.0f ? v->nearest : RF_OPEN;
}

rf_status rf_judge_init(rf_judge *j, const rf_model *m, size_t most, size_t threads,
                        rf_error *err)
{
    const rf_known *known = &m->known;
    size_t classes = m->classes;
    assert(classes > 0 && known->classes == classes + m->method->open_class);
    assert(m->state.classes == classes && m->state.width == known->width);
    *j = (rf_judge){.max_rows = BLOCK_FLOATS / classes, .classes = classes};
    j->max_rows = j->max_rows > BLOCK_ROWS ? BLOCK_ROWS : j->max_rows;
    j->max_rows = j->max_rows > most ? most : j->max_rows;
    j->max_rows = j->max_rows < 1 ? 1 : j->max_rows;
    if (m->method->judge)
        j->scratch_size = RF_JUDGE_ROWS * (known->width + known->classes);
    if (m->method->scratch)
        j->scratch_size += m->method->scratch(&m->state);
    j->probabilities = rf_floats_new(j->max_rows * classes);
    j->margins = rf_floats_new(j->max_rows * classes);
    j->verdicts = calloc(j->max_rows, sizeof *j->verdicts);
    j->scratch = rf_floats_new(threads * j->scratch_size);
    if (j->probabilities && j->margins && j->verdicts && j->scratch) {
        rf_status st = RF_OK;
        if (rf_shortlist_wanted(m))
            st = rf_shortlist_init(&j->shortlist, m, j->max_rows, threads, err);
        if (st != RF_OK)
            rf_judge_release(j);
        return st;
    }
    size_t floats = j->max_rows * 2 * classes + threads * j->scratch_size;
    rf_judge_release(j);
    return rf_fail_nomem(err, floats * sizeof(float), "a block of answers");
}

void rf_judge_release(rf_judge *j)
{
    free(j->probabilities);
    free(j->margins);
    free(j->verdicts);
    free(j->scratch);
    rf_shortlist_release(&j->shortlist);
    *j = (rf_judge){0};
}

rf_status rf_judge_all(const rf_model *m, const float *features, size_t n,
                       bool all_fences, rf_team *team, rf_block_seen seen, void *user,
                       rf_error *err)
{
    rf_judge j;
    rf_status st = rf_judge_init(&j, m, n, rf_team_size(team), err);
    if (st != RF_OK)
        return st;
    j.all_fences = all_fences;
    for (size_t from = 0; from < n; from += j.max_rows) {
        size_t some = n - from < j.max_rows ? n - from : j.max_rows;
        rf_judge_rows(&j, m, features + from * m->known.width, some, team);
        seen(user, &j, from, some);
    }
    rf_judge_release(&j);
    return RF_OK;
}
