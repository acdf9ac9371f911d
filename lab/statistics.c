/* statistics.c - summaries and paired comparisons by Student's t */
#include "lab/statistics.h"

#include "num/student_t.h"

#include <math.h>

#define CONFIDENCE 0.95

/* Fills in what follows from n, the mean and the sum of squares around it. */
static void set_spread(rf_summary *s, double squares)
{
    if (s->n < 2)
        return;
    double df = (double)(s->n - 1);
    s->sd = sqrt(squares / df);
    double half = rf_t_bound(1.0 - CONFIDENCE, df) * s->sd / sqrt((double)s->n);
    s->low = s->mean - half;
    s->high = s->mean + half;
}

rf_summary rf_summarize(const double *values, size_t n)
{
    rf_summary s = {.n = n};
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    s.mean = n ? sum / (double)n : 0.0;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    set_spread(&s, squares);
    return s;
}

rf_paired rf_compare_paired(const double *a, const double *b, size_t n)
{
    rf_paired r = {.difference = {.n = n}, .p = 1.0};
    rf_summary *d = &r.difference;
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] - b[i];
    d->mean = n ? sum / (double)n : 0.0;
    for (size_t i = 0; i < n; i++) {
        double rest = a[i] - b[i] - d->mean;
        squares += rest * rest;
    }
    set_spread(d, squares);
    if (d->sd > 0.0)
        r.p = rf_t_tails(d->mean * sqrt((double)n) / d->sd, (double)(n - 1));
    else if (n >= 2)
        r.p = d->mean != 0.0 ? 0.0 : 1.0;
    return r;
}
