#include "model/judge.h"

#include "base/memory.h"
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
/* Cosines become logits of a softmax by this factor. */
#define COSINE_SCALE 30.0f

static_assert(RF_SCORE_ROWS == RF_JUDGE_ROWS, "heads and methods take the same rows");

typedef struct job {
    rf_judge *out;
    const rf_model *m;
    const float *features;
    size_t n;
    size_t known_tasks;         /* of RF_JUDGE_ROWS rows each; they come first */
    size_t head_rows;           /* of a task */
    size_t row_groups, n_tasks; /* row_groups tasks per head */
    atomic_size_t next;
} job;

static uint32_t largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return (uint32_t)best;
}

/* The class is taken from the logits: two that differ may round to equal
 * probabilities. */
static void judge_known(const job *j, size_t from, size_t n, float *scratch)
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
        verdicts[i].nearest = largest(logits + i * known->classes, m->classes);
    }
    rf_kernels()->softmax(p, n, m->classes, m->classes,
                          known->form == RF_KNOWN_PLAIN ? 1.0f : COSINE_SCALE);
    const rf_signals signals = {n, z, hidden, logits};
    m->method->judge(&m->fence, &signals, verdicts, j->out->margins + from * m->classes,
                     rest);
}

/* Of a model with heads, the class is that of the head that accepts most: on dev data the
 * heads know the classes apart better than the classifier does. */
static void judge_margins(const job *j, size_t row)
{
    size_t classes = j->m->classes, best = 0;
    const float *margins = j->out->margins + row * classes;
    float *p = j->out->probabilities + row * classes;
    for (size_t c = 1; c < classes; c++)
        if (margins[c] > margins[best])
            best = c;
    j->out->verdicts[row] = (rf_verdict){(uint32_t)best, (uint32_t)best};
    memcpy(p, margins, classes * sizeof(float));
    rf_kernels()->softmax(p, 1, classes, classes, j->m->calibration.temperature);
}

static void work(void *arg, size_t member, size_t members)
{
    (void)members;
    job *j = arg;
    const rf_heads *heads = &j->m->heads;
    float *scratch = j->out->scratch + member * j->out->scratch_size;
    for (size_t t; (t = atomic_fetch_add(&j->next, 1)) < j->n_tasks;) {
        bool is_known = t < j->known_tasks;
        size_t step = is_known ? RF_JUDGE_ROWS : j->head_rows;
        size_t head = is_known ? 0 : (t - j->known_tasks) / j->row_groups;
        size_t from = (is_known ? t : (t - j->known_tasks) % j->row_groups) * step;
        size_t n = j->n - from < step ? j->n - from : step;
        if (is_known)
            judge_known(j, from, n, scratch);
        else
            rf_heads_score(heads, j->features + from * heads->width, n, head, head + 1,
                           j->out->margins + from * heads->classes, scratch);
    }
}

static size_t groups(size_t rows, size_t of)
{
    return (rows + of - 1) / of;
}

void rf_judge_rows(rf_judge *out, const rf_model *m, const float *features, size_t n,
                   rf_team *team)
{
    if (n == 0)
        return;
    job j = {.out = out,
             .m = m,
             .features = features,
             .n = n,
             .known_tasks = m->method->heads ? 0 : groups(n, RF_JUDGE_ROWS)};
    /* A head over all rows is fetched by one thread only; with few heads there would be
     * threads with nothing to do. */
    j.head_rows = m->classes >= 4 * rf_team_size(team) ? n : RF_JUDGE_ROWS;
    j.row_groups = groups(n, j.head_rows);
    j.n_tasks = j.known_tasks + (m->method->heads ? m->classes * j.row_groups : 0);
    rf_team_run(team, work, &j);
    for (size_t i = 0; m->method->heads && i < n; i++)
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
    assert(!m->method->heads ||
           (m->heads.classes == classes && m->heads.width == known->width));
    *j = (rf_judge){.max_rows = BLOCK_FLOATS / classes, .classes = classes};
    j->max_rows = j->max_rows > BLOCK_ROWS ? BLOCK_ROWS : j->max_rows;
    j->max_rows = j->max_rows > most ? most : j->max_rows;
    j->max_rows = j->max_rows < 1 ? 1 : j->max_rows;
    j->scratch_size = RF_JUDGE_ROWS * (known->width + known->classes);
    if (m->method->scratch)
        j->scratch_size += m->method->scratch(&m->fence);
    if (j->scratch_size < RF_SCORE_SCRATCH)
        j->scratch_size = RF_SCORE_SCRATCH;
    j->probabilities = rf_floats_new(j->max_rows * classes);
    j->margins = rf_floats_new(j->max_rows * classes);
    j->verdicts = calloc(j->max_rows, sizeof *j->verdicts);
    j->scratch = rf_floats_new(threads * j->scratch_size);
    if (j->probabilities && j->margins && j->verdicts && j->scratch)
        return RF_OK;
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
    *j = (rf_judge){0};
}

rf_status rf_judge_all(const rf_model *m, const float *features, size_t n, rf_team *team,
                       rf_block_seen seen, void *user, rf_error *err)
{
    rf_judge j;
    rf_status st = rf_judge_init(&j, m, n, rf_team_size(team), err);
    if (st != RF_OK)
        return st;
    for (size_t from = 0; from < n; from += j.max_rows) {
        size_t some = n - from < j.max_rows ? n - from : j.max_rows;
        rf_judge_rows(&j, m, features + from * m->known.width, some, team);
        seen(user, &j, from, some);
    }
    rf_judge_release(&j);
    return RF_OK;
}
