/*
 * class_stats.h - where the classes lie in feature space
 *
 * Per class: mean and variance of each feature, and the root mean square distance
 * between two of its texts under that variance, D = sqrt(2 sum variance) (paper 3.3).
 */
#ifndef RF_OPEN_CLASS_STATS_H
#define RF_OPEN_CLASS_STATS_H

#include "base/error.h"

typedef struct rf_class_stats {
    size_t width, classes;
    float *mean;     /* [classes, width] */
    float *variance; /* [classes, width], over n, not n - 1 */
    float *distance; /* [classes] D */
    size_t *rows;    /* [classes] */
} rf_class_stats;

/* z is [rows, width], class_of [rows] with values below classes; each class must have a
 * row. */
rf_status rf_class_stats_init(rf_class_stats *s, const float *z, const uint32_t *class_of,
                              size_t rows, size_t width, size_t classes, rf_error *err);
void rf_class_stats_release(rf_class_stats *s); /* accepts a zeroed struct */

#endif
