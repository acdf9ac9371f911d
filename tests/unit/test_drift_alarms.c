/*
 * How often the drift watch sounds a false alarm, by simulation with a fixed seed: hours
 * without drift, of one kind or with as much variation between hours as real traffic has,
 * few answers or many. At a level of 5 %, at most 5 % of them may be flagged, up to the
 * error of the simulation. And it sees what it should.
 */
#include "drift.h"

#include "base/rng.h"

#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 168
#define CLASSES 12
#define WEEKS 800

typedef struct traffic {
    const char *name;
    double size;   /* mean answers per hour */
    double rhythm; /* 0: every hour alike; else nights have this share of a day's texts */
    double open;   /* share */
    double rho;    /* correlation of answers within an hour */
    double tau;    /* standard deviation of the mean margin between hours */
} traffic;

static double uniform(rf_rng *r)
{
    return ((double)(rf_rng_next(r) >> 11) + 0.5) * 0x1p-53;
}

static double normal(rf_rng *r)
{
    return sqrt(-2.0 * log(uniform(r))) * cos(6.283185307179586 * uniform(r));
}

/* Marsaglia and Tsang; shapes below 1 by a power of a uniform number. */
static double gamma_draw(rf_rng *r, double shape)
{
    if (shape < 1.0)
        return gamma_draw(r, shape + 1.0) * pow(uniform(r), 1.0 / shape);
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = normal(r), v = 1.0 + c * x;
        if (v <= 0.0)
            continue;
        v = v * v * v;
        if (log(uniform(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v;
    }
}

static double poisson(rf_rng *r, double mean)
{
    double n = 0.0, left = mean;
    for (;;) {
        left += log(uniform(r));
        if (left < 0.0)
            return n;
        n++;
    }
}

/* Fills one block: n answers with these shares (open last), scattered by rho. */
static void draw_block(rf_rng *r, drift_table *t, size_t block, const traffic *w,
                       const double *shares, double mean)
{
    double p[CLASSES + 1], sum = 0.0;
    double *row = t->counts + block * (CLASSES + 1);
    bool night = w->rhythm > 0.0 && block % 24 < 8;
    double n = poisson(r, night ? w->rhythm * w->size : w->size);
    for (size_t k = 0; k <= CLASSES; k++) {
        p[k] = w->rho > 0.0 ? gamma_draw(r, shares[k] * (1.0 / w->rho - 1.0)) : shares[k];
        sum += p[k];
    }
    double known_mean = mean + w->tau * normal(r), margins = 0.0, squares = 0.0;
    for (size_t k = 0; k <= CLASSES; k++)
        row[k] = 0.0;
    for (double i = 0.0; i < n; i++) {
        double u = uniform(r) * sum;
        size_t k = 0;
        while (k < CLASSES && u >= p[k])
            u -= p[k++];
        row[k]++;
        if (k == CLASSES)
            continue;
        /* skewed, as margins are */
        double m = known_mean + 1.5 * (-log(uniform(r)) - 1.0);
        margins += m;
        squares += m * m;
    }
    t->margin_sum[block] = margins;
    t->margin_squares[block] = squares;
}

static void usual_shares(double *shares, double open)
{
    double sum = 0.0;
    for (size_t k = 0; k < CLASSES; k++)
        sum += shares[k] = 1.0 / (1.0 + (double)k);
    for (size_t k = 0; k < CLASSES; k++)
        shares[k] *= (1.0 - open) / sum;
    shares[CLASSES] = open;
}

static drift_report make_report(void)
{
    drift_report r = {.alpha = 0.05};
    drift_table *t = &r.table;
    t->n_classes = CLASSES;
    t->n_blocks = BLOCKS;
    t->labels = calloc(CLASSES, sizeof *t->labels);
    t->counts = calloc((BLOCKS + 1) * (CLASSES + 1), sizeof *t->counts);
    t->margin_sum = calloc(BLOCKS + 1, sizeof *t->margin_sum);
    t->margin_squares = calloc(BLOCKS + 1, sizeof *t->margin_squares);
    assert_true(t->labels && t->counts && t->margin_sum && t->margin_squares);
    return r;
}

/* The number of flagged hours after weeks of this traffic; changed: with drift in them.
 */
static int flagged(const traffic *w, size_t number, int weeks, double open_after,
                   double mean_after)
{
    drift_report r = make_report();
    double shares[CLASSES + 1], after[CLASSES + 1];
    int n = 0;
    usual_shares(shares, w->open);
    usual_shares(after, open_after);
    for (int week = 0; week < weeks; week++) {
        rf_rng rng = rf_rng_open(rf_rng_key(31, number, (uint64_t)week, 0));
        for (size_t i = 0; i < BLOCKS; i++)
            draw_block(&rng, &r.table, i, w, shares, 2.0);
        draw_block(&rng, &r.table, BLOCKS, w, after, mean_after);
        assert_int_equal(drift_judge(&r, NULL), RF_OK);
        n += r.drifted;
    }
    drift_report_release(&r);
    return n;
}

static const traffic kinds[] = {
    {"few answers", 40, 0, 0.1, 0, 0},
    {"many answers", 300, 0, 0.1, 0, 0},
    {"rarely open", 200, 0, 0.01, 0, 0},
    {"mostly open", 100, 0, 0.8, 0, 0},
    {"hours that differ", 150, 0, 0.1, 0.02, 0.2},
    {"hours that differ much", 250, 0, 0.2, 0.08, 0.5},
    {"nights and days", 200, 0.2, 0.1, 0.02, 0.2},
};

static void test_false_alarms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int n = flagged(&kinds[i], i, WEEKS, kinds[i].open, 2.0);
        double rate = (double)n / WEEKS, error = sqrt(0.05 * 0.95 / WEEKS);
        print_message("%-24s %.1f %% of hours flagged at a level of 5 %%\n",
                      kinds[i].name, 100.0 * rate);
        assert_true(rate <= 0.05 + 3.0 * error);
    }
}

static void test_power(void **state)
{
    (void)state;
    const traffic *many = &kinds[1], *uneven = &kinds[4];
    assert_true(flagged(many, 101, 40, 0.2, 2.0) >= 36);   /* open 10 % -> 20 % */
    assert_true(flagged(many, 102, 40, 0.1, 1.5) >= 36);   /* margin 2 -> 1.5 */
    assert_true(flagged(uneven, 103, 40, 0.4, 2.0) >= 36); /* open 10 % -> 40 % */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
