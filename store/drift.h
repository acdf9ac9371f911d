/*
 * drift.h - do the last hours differ from the week before?
 *
 * Three questions about the answers of one model, from the exact hourly counts: the share
 * of open answers, the mean margin of the known ones, and the shares of the classes among
 * them. docs/SERVE.md, "Drift", states the tests. Blocks of as many hours as the recent
 * ones show how much the figures vary anyway; that variation is part of each test, so a
 * daily rhythm is not drift. The p values are corrected for three tests by Holm's method.
 */
#ifndef RF_STORE_DRIFT_H
#define RF_STORE_DRIFT_H

#include "base/json_text.h"
#include "store.h"

#define DRIFT_ALPHA 0.01     /* false alarms among windows without drift, by default */
#define DRIFT_MIN_ANSWERS 30 /* in the recent hours, for a test */
#define DRIFT_MIN_BLOCKS 5   /* before them, with answers */
#define DRIFT_TOP 5          /* classes that are named */

/* Answers in blocks of equal length. */
typedef struct drift_table {
    size_t n_classes; /* known ones */
    char **labels;    /* [n_classes], in byte order */
    size_t n_blocks;  /* before; the recent one comes after them */
    double *counts;   /* [n_blocks + 1, n_classes + 1], the last column is open */
    double *margin_sum, *margin_squares; /* [n_blocks + 1], of known answers */
} drift_table;

/* One test. */
typedef struct drift_test {
    const char *why_not;  /* if there is no test; else NULL */
    double before, after; /* NaN without answers */
    double statistic;     /* F, or t of the margin */
    double df1, df2;      /* df1: of F; 1 for t */
    double spread; /* beyond chance between blocks: correlation within a block, or the
                    * standard deviation of the mean margin */
    double p;      /* by itself */
    double p_holm; /* corrected for the number of tests */
    bool drifted;
} drift_test;

typedef struct drift_class {
    const char *label; /* of the table; NULL: the classes with few answers together */
    double before, after, part; /* shares; part of the statistic, 0..1 */
} drift_class;

typedef struct drift_report {
    int64_t from, to;     /* the recent hours: from <= hour < to */
    int64_t against_from; /* those before: against_from <= hour < from */
    char model[65];       /* whose answers; "" if there are none */
    double alpha;
    double answers, answers_before;
    size_t blocks;                    /* before, with answers */
    drift_test open, margin, classes; /* before and after of classes: answers tested */
    drift_class top[DRIFT_TOP];       /* what changed most, if classes is a test */
    size_t n_top;
    bool drifted; /* any of the three */
    drift_table table;
} drift_report;

typedef struct drift_options {
    int64_t now_ms;       /* the recent hours end with the last whole hour before it */
    size_t hours;         /* recent ones */
    size_t against_hours; /* before them; cut to a multiple of hours */
    double alpha;
    const char *model; /* sha256; NULL: the one with the most recent answers */
} drift_options;

drift_options drift_options_default(void); /* an hour against a week, now */

/* Reads the counts and tests them. The report is released even after a failure. */
rf_status drift_run(store *s, const drift_options *o, drift_report *out, rf_error *err);
void drift_report_release(drift_report *r);

/* The tests of a table; fills all but the hours and the model. */
rf_status drift_judge(drift_report *r, rf_error *err);

/* Are the shares of n_cells kinds the same in the last of n_blocks + 1 blocks as in those
 * before? counts [n_blocks + 1, n_cells]. work [n_cells]. */
drift_test drift_shares(const double *counts, size_t n_blocks, size_t n_cells,
                        double *work);

/* Is the mean? n, sum, squares: [n_blocks + 1]. */
drift_test drift_mean(const double *n, const double *sum, const double *squares,
                      size_t n_blocks);

/* {"drift": bool, ...} as GET /v1/drift returns it. */
void drift_write_json(const drift_report *r, rf_text *out);

#endif
