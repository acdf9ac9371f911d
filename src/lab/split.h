/*
 * split.h - one experiment's share of a data set: known classes and the rows that count
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
 * The protocol is that of the published results: of the K classes of the training file,
 * K * ratio are known, drawn as numpy draws them; training and dev rows of the others are
 * left out; the test file stays whole, and what is not known in it is open, also a label
 * that the training file does not have.
 */
#ifndef RF_LAB_SPLIT_H
#define RF_LAB_SPLIT_H

#include "base/digest.h"

typedef struct rf_split_options {
    double ratio;          /* share of known classes, above 0 up to 1 */
    size_t n_classes;      /* above 0: this many instead */
    size_t rows_per_class; /* above 0: so many training rows of each, drawn at random; a
                            * class that has fewer keeps them all. Of the same seed, the
                            * rows of a smaller number are among those of a larger. */
    uint64_t seed;         /* below 2^32, as numpy's */
} rf_split_options;

/* Rows of a file in its order. */
typedef struct rf_split_rows {
    size_t n;
    uint32_t *row;         /* [n] */
    uint32_t *class_index; /* [n], into rf_split.label; rf_split.classes: open */
} rf_split_rows;

typedef struct rf_split {
    size_t classes;
    const char **drawn; /* [classes] names as drawn; they live as long as train */
    const char **label; /* [classes] the same by class index: in byte order, which is how
                         * rf_train numbers the classes of these rows */
    char classes_sha256[RF_SHA256_HEX]; /* of the drawn names, joined by \n */
    rf_split_rows train, dev, test;
} rf_split;

/* dev may be NULL: then it has no rows. The three sets must stay as they are while the
 * split is in use. A failure leaves an empty split. */
rf_status rf_split_make(rf_split *split, const rf_dataset *train, const rf_dataset *dev,
                        const rf_dataset *test, const rf_split_options *options,
                        rf_error *err);
void rf_split_release(rf_split *split); /* accepts a zeroed split, twice is harmless */

/* Number of known classes out of so many: K * ratio, a half to the even side, as Python
 * rounds; at least 1. */
size_t rf_split_known(size_t classes, double ratio);

#endif
