/* rates.c - bootstrap intervals over classes, the rule of three, Poisson tails */
#include "folds/rates.h"

#include "base/rng.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define DRAWS 1000
#define TAIL_DRAWS 25 /* draws beyond each end: 2.5 % */
/* New classes vary as much as the ones measured: twice the variance of the mean. */
#define NEW_CLASSES 1.4142135623730951

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rate of one bootstrap sample. used: the classes that have texts. */
static double draw_rate(const size_t *hits, const size_t *n, const uint32_t *used,
                        size_t n_used, rf_rng *rng)
{
    size_t sum_hits = 0, sum_n = 0;
    for (size_t i = 0; i < n_used; i++) {
        uint32_t c = used[rf_rng_below(rng, n_used)];
        sum_hits += hits[c];
        sum_n += n[c];
    }
    return (double)sum_hits / (double)sum_n;
}

rf_status rf_rate_of_classes(rf_rate *r, const size_t *hits, const size_t *n,
                             size_t classes, uint64_t key, rf_error *err)
{
    *r = (rf_rate){0};
    double *rates = calloc(DRAWS, sizeof *rates);
    uint32_t *used = calloc(classes + 1, sizeof *used);
    size_t n_used = 0;
    if (!rates || !used) {
        free(rates);
        free(used);
        return rf_fail_nomem(err, DRAWS * sizeof *rates, "an interval");
    }
    for (size_t c = 0; c < classes; c++) {
        r->hits += hits[c];
        r->n += n[c];
        if (n[c] > 0)
            used[n_used++] = (uint32_t)c;
    }
    r->high = 1.0; /* no texts, no knowledge */
    if (r->n > 0) {
        rf_rng rng = rf_rng_open(key);
        for (size_t i = 0; i < DRAWS; i++)
            rates[i] = draw_rate(hits, n, used, n_used, &rng);
        qsort(rates, DRAWS, sizeof *rates, ascending);
        r->rate = (double)r->hits / (double)r->n;
        double low = r->rate - NEW_CLASSES * (r->rate - rates[TAIL_DRAWS]);
        double high = r->rate + NEW_CLASSES * (rates[DRAWS - 1 - TAIL_DRAWS] - r->rate);
        r->low = r->hits == r->n ? 1.0 - rf_rate_smallest(r->n) : fmax(low, 0.0);
        r->high = r->hits == 0 ? rf_rate_smallest(r->n) : fmin(high, 1.0);
    }
    free(rates);
    free(used);
    return RF_OK;
}

size_t rf_rate_rows(double most)
{
    double rows = ceil(3.0 / most - 1e-9); /* 3 / 0.01 is a little above 300 */
    /* A tiny share needs more rows than size_t can hold. */
    return most > 0.0 && rows < (double)SIZE_MAX ? (size_t)rows : SIZE_MAX;
}

double rf_rate_smallest(size_t rows)
{
    return rows > 3 ? 3.0 / (double)rows : 1.0;
}
