/* ranking.c - closed accuracy, AUROC by midranks, and the best fence by one pass over the
 * sorted margins */
#include "lab/ranking.h"

#include <stdlib.h>

static int by_margin(const void *a, const void *b) /* largest first */
{
    const rf_ranked *x = a, *y = b;
    return (x->margin < y->margin) - (x->margin > y->margin);
}

/* Rows [from, end) have the same margin. */
static size_t end_of_tie(const rf_ranked *rows, size_t n, size_t from)
{
    size_t end = from + 1;
    while (end < n && rows[end].margin == rows[from].margin)
        end++;
    return end;
}

static size_t count_open(const rf_ranked *rows, size_t from, size_t end, size_t classes)
{
    size_t open = 0;
    for (size_t i = from; i < end; i++)
        open += rows[i].truth == classes;
    return open;
}

/* Pairs of a known and an open text in the right order; a tie counts half. */
static double auroc(const rf_ranked *rows, size_t n, size_t classes)
{
    size_t open = count_open(rows, 0, n, classes), known = n - open;
    double pairs = 0.0, below = (double)open; /* open texts not passed yet */
    if (open == 0 || known == 0)
        return -1.0;
    for (size_t from = 0, end; from < n; from = end) {
        end = end_of_tie(rows, n, from);
        double o = (double)count_open(rows, from, end, classes);
        below -= o;
        pairs += ((double)(end - from) - o) * (below + 0.5 * o);
    }
    return 100.0 * pairs / ((double)open * (double)known);
}

/* Counts of a class, or of open. */
typedef struct tally {
    size_t truth, answers, right;
} tally;

static double f1_of(const tally *t)
{
    size_t sum = t->truth + t->answers;
    return sum ? 200.0 * (double)t->right / (double)sum : 0.0;
}

/* Lets row r in: its answer changes from open to its nearest class. */
static void let_in(tally *tallies, size_t classes, const rf_ranked *r, double *f1,
                   size_t *right)
{
    tally *open = &tallies[classes], *own = &tallies[r->nearest];
    *f1 -= f1_of(open) + f1_of(own);
    open->answers--;
    own->answers++;
    if (r->truth == classes) {
        open->right--;
        (*right)--;
    }
    if (r->truth == r->nearest) {
        own->right++;
        (*right)++;
    }
    *f1 += f1_of(open) + f1_of(own);
}

/* From a fence that rejects all rows to one that lets all in. tallies [classes + 1],
 * zeroed. */
static void best_fence(rf_ranking *out, const rf_ranked *rows, size_t n, size_t classes,
                       tally *tallies)
{
    for (size_t i = 0; i < n; i++)
        tallies[rows[i].truth].truth++;
    tally *open = &tallies[classes];
    open->answers = n;
    open->right = open->truth;
    size_t right = open->right;
    double f1 = f1_of(open), ids = (double)(classes + 1);
    out->best_f1 = f1 / ids;
    out->best_accuracy = 100.0 * (double)right / (double)n;
    for (size_t from = 0, end; from < n; from = end) {
        end = end_of_tie(rows, n, from);
        for (size_t i = from; i < end; i++)
            let_in(tallies, classes, &rows[i], &f1, &right);
        double accuracy = 100.0 * (double)right / (double)n;
        out->best_f1 = f1 / ids > out->best_f1 ? f1 / ids : out->best_f1;
        if (accuracy > out->best_accuracy)
            out->best_accuracy = accuracy;
    }
    if (out->best_f1 > 100.0) /* by rounding */
        out->best_f1 = 100.0;
}

rf_status rf_ranking_make(rf_ranking *out, rf_ranked *rows, size_t n, size_t classes,
                          rf_error *err)
{
    *out = (rf_ranking){-1.0, -1.0, -1.0, -1.0};
    if (n == 0)
        return RF_OK;
    tally *tallies = calloc(classes + 1, sizeof *tallies);
    if (!tallies)
        return rf_fail_nomem(err, (classes + 1) * sizeof *tallies, "counts of classes");
    size_t known = n - count_open(rows, 0, n, classes), right = 0;
    for (size_t i = 0; i < n; i++)
        right += rows[i].nearest == rows[i].truth;
    if (known > 0)
        out->closed = 100.0 * (double)right / (double)known;
    qsort(rows, n, sizeof *rows, by_margin);
    out->auroc = auroc(rows, n, classes);
    best_fence(out, rows, n, classes, tallies);
    free(tallies);
    return RF_OK;
}
