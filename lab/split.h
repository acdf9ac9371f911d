/*
 * split.h - the known classes and the rows of one experiment
 *
 *   rf_split_options o = {.ratio = 0.25, .seed = 3};
 *   rf_split split;
 *   if (rf_split_make(&split, train, dev, test, &o, err) != RF_OK) ...
 *   for (size_t i = 0; i < split.test.n; i++) {
 *       text = rf_dataset_text(test, split.test.row[i], &len);
 *       truth = split.test.class_index[i];         split.classes: open
 *   }
 *   rf_split_release(&split);
 *
 * The protocol of the published results: of the K classes of the training file, K * ratio
 * are known, drawn as numpy draws them. Training and dev rows of the other classes are
 * dropped. The test file stays whole; every label in it that is not known is open, even
 * if the training file does not have it.
 */
#ifndef RF_LAB_SPLIT_H
#define RF_LAB_SPLIT_H

#include "base/digest.h"

typedef struct rf_split_options {
    double ratio;          /* share of known classes, above 0 up to 1 */
    size_t n_classes;      /* above 0: this many known classes instead */
    size_t rows_per_class; /* above 0: at most this many training rows of each, drawn at
                            * random. For the same seed, a smaller draw is a subset of a
                            * larger one. */
    double rows_median;    /* above 0: each class keeps a number of its own, drawn from a
                            * lognormal distribution, and there are no dev rows */
    double rows_spread;    /* standard deviation of its logarithm, at least 0 */
    uint64_t seed;         /* below 2^32, as in numpy */
} rf_split_options;

/* Rows of a file, in file order. */
typedef struct rf_split_rows {
    size_t n;
    uint32_t *row;         /* [n] */
    uint32_t *class_index; /* [n], into rf_split.label; rf_split.classes: open */
} rf_split_rows;

typedef struct rf_split {
    size_t classes;
    const char *
        *drawn; /* [classes] names in the order drawn; they live as long as train */
    const char **label; /* [classes] the same names by class index: in byte order, as
                         * rf_train numbers classes */
    char classes_sha256[RF_SHA256_HEX]; /* of the drawn names, joined by \n */
    char draw[64]; /* how many rows the classes keep, if drawn for each; else "" */
    rf_split_rows train, dev, test;
} rf_split;

/* dev may be NULL. The three datasets must not change while the split is in use. A
 * failure leaves an empty split. */
rf_status rf_split_make(rf_split *split, const rf_dataset *train, const rf_dataset *dev,
                        const rf_dataset *test, const rf_split_options *options,
                        rf_error *err);
void rf_split_release(rf_split *split); /* accepts a zeroed split */

/* The training rows that class k of the training file keeps with rows_median:
 * exp(Normal(ln median, spread)), rounded, at least RF_SPLIT_MIN_ROWS and at most
 * RF_SPLIT_MAX_ROWS. */
#define RF_SPLIT_MIN_ROWS 2
#define RF_SPLIT_MAX_ROWS 90
size_t rf_split_uneven_rows(const rf_split_options *options, size_t k);

/* The number of known classes: classes * ratio rounded half to even, as in Python; at
 * least 1. */
size_t rf_split_known(size_t classes, double ratio);

#endif
