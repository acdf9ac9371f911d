/* agreement.c - the table of classes and clusters, and three figures of it */
#include "lab/agreement.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

typedef struct table {
    size_t classes, clusters, side; /* side: the larger of the two */
    size_t n;
    size_t *count;                 /* [side, side]; rows: classes */
    size_t *of_class, *in_cluster; /* [side] */
} table;

static void release(table *t)
{
    free(t->count);
    free(t->of_class);
    free(t->in_cluster);
}

static rf_status fill(table *t, const uint32_t *truth, const uint32_t *cluster,
                      const bool *use, size_t n, rf_error *err)
{
    size_t cells;
    t->side = t->classes > t->clusters ? t->classes : t->clusters;
    if (!rf_size_mul(t->side, t->side, &cells) || cells > SIZE_MAX / 16)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu clusters are too many", t->side);
    t->count = calloc(cells + 1, sizeof *t->count);
    t->of_class = calloc(t->side + 1, sizeof *t->of_class);
    t->in_cluster = calloc(t->side + 1, sizeof *t->in_cluster);
    if (!t->count || !t->of_class || !t->in_cluster)
        return rf_fail_nomem(err, cells * sizeof *t->count, "a table of clusters");
    for (size_t i = 0; i < n; i++) {
        if (use && !use[i])
            continue;
        t->n++;
        t->count[truth[i] * t->side + cluster[i]]++;
        t->of_class[truth[i]]++;
        t->in_cluster[cluster[i]]++;
    }
    return RF_OK;
}

/* ---- The best assignment ----------------------------------------------------------- */

/* Rows get columns one after another, each along the cheapest path that alternates
 * between free and taken pairs; potentials keep all costs at 0 or more (Jonker and
 * Volgenant 1987). Arrays count from 1; column 0 is where a path begins. */
typedef struct matching {
    const table *t;
    double *of_row, *of_column, *least; /* potentials; cost of the path to a column */
    size_t *row_of, *before;            /* [side + 1] */
    bool *seen;
} matching;

static double cost(const matching *m, size_t row, size_t column)
{
    return -(double)m->t->count[(row - 1) * m->t->side + column - 1] - m->of_row[row] -
           m->of_column[column];
}

/* The next column of the cheapest path; looks at the row of column `at`. */
static size_t extend(matching *m, size_t at)
{
    size_t next = 0, side = m->t->side;
    double smallest = INFINITY;
    m->seen[at] = true;
    for (size_t j = 1; j <= side; j++) {
        if (m->seen[j])
            continue;
        double now = cost(m, m->row_of[at], j);
        if (now < m->least[j]) {
            m->least[j] = now;
            m->before[j] = at;
        }
        if (m->least[j] < smallest) {
            smallest = m->least[j];
            next = j;
        }
    }
    for (size_t j = 0; j <= side; j++) {
        if (m->seen[j]) {
            m->of_row[m->row_of[j]] += smallest;
            m->of_column[j] -= smallest;
        } else {
            m->least[j] -= smallest;
        }
    }
    return next;
}

static void match_row(matching *m, size_t row)
{
    size_t at = 0;
    m->row_of[0] = row;
    for (size_t j = 0; j <= m->t->side; j++) {
        m->least[j] = INFINITY;
        m->seen[j] = false;
    }
    do
        at = extend(m, at);
    while (m->row_of[at] != 0);
    for (; at != 0; at = m->before[at])
        m->row_of[at] = m->row_of[m->before[at]];
}

/* The largest number of texts that an assignment of clusters to classes gets right. */
static rf_status count_right(const table *t, size_t *right, rf_error *err)
{
    size_t n = t->side + 1;
    matching m = {.t = t,
                  .of_row = calloc(n, sizeof(double)),
                  .of_column = calloc(n, sizeof(double)),
                  .least = calloc(n, sizeof(double)),
                  .row_of = calloc(n, sizeof(size_t)),
                  .before = calloc(n, sizeof(size_t)),
                  .seen = calloc(n, sizeof(bool))};
    rf_status st = RF_OK;
    *right = 0;
    if (m.of_row && m.of_column && m.least && m.row_of && m.before && m.seen) {
        for (size_t row = 1; row < n; row++)
            match_row(&m, row);
        for (size_t j = 1; j < n; j++)
            *right += t->count[(m.row_of[j] - 1) * t->side + j - 1];
    } else {
        st = rf_fail_nomem(err, 6 * n * sizeof(double), "an assignment of clusters");
    }
    free(m.of_row);
    free(m.of_column);
    free(m.least);
    free(m.row_of);
    free(m.before);
    free(m.seen);
    return st;
}

/* ---- The other figures ------------------------------------------------------------- */

static double entropy(const size_t *counts, size_t side, double n)
{
    double sum = 0.0;
    for (size_t i = 0; i < side; i++)
        if (counts[i])
            sum -= (double)counts[i] / n * log((double)counts[i] / n);
    return sum;
}

static double information(const table *t)
{
    double n = (double)t->n, sum = 0.0;
    for (size_t c = 0; c < t->side; c++)
        for (size_t k = 0; k < t->side; k++) {
            double both = (double)t->count[c * t->side + k];
            if (both > 0.0)
                sum += both / n *
                       log(both * n / (double)t->of_class[c] / (double)t->in_cluster[k]);
        }
    return sum > 0.0 ? sum : 0.0;
}

static double pairs(size_t n)
{
    return (double)n * ((double)n - 1.0) / 2.0;
}

static double adjusted_rand(const table *t)
{
    double both = 0.0, classes = 0.0, clusters = 0.0;
    for (size_t i = 0; i < t->side * t->side; i++)
        both += pairs(t->count[i]);
    for (size_t i = 0; i < t->side; i++) {
        classes += pairs(t->of_class[i]);
        clusters += pairs(t->in_cluster[i]);
    }
    double chance = t->n > 1 ? classes * clusters / pairs(t->n) : 0.0;
    double most = (classes + clusters) / 2.0;
    return most > chance ? (both - chance) / (most - chance) : 1.0;
}

rf_status rf_agreement_make(rf_agreement *a, const uint32_t *truth, size_t classes,
                            const uint32_t *cluster, size_t clusters, const bool *use,
                            size_t n, rf_error *err)
{
    table t = {.classes = classes, .clusters = clusters};
    size_t right = 0;
    *a = (rf_agreement){NAN, NAN, NAN};
    rf_status st = fill(&t, truth, cluster, use, n, err);
    if (st == RF_OK && t.n > 0)
        st = count_right(&t, &right, err);
    if (st == RF_OK && t.n > 0) {
        double mean = (entropy(t.of_class, t.side, (double)t.n) +
                       entropy(t.in_cluster, t.side, (double)t.n)) /
                      2.0;
        a->accuracy = 100.0 * (double)right / (double)t.n;
        a->nmi = mean > 0.0 ? 100.0 * information(&t) / mean : 100.0;
        a->ari = 100.0 * adjusted_rand(&t);
    }
    release(&t);
    return st;
}
