/*
 * class_scale.h - how similar texts of known classes are: the scale of what is one topic
 */
#ifndef RF_REVIEW_CLASS_SCALE_H
#define RF_REVIEW_CLASS_SCALE_H

#include "open/class_stats.h"

/* How similar texts of a class are to each other, on average over the classes, and to
 * those of the most similar other class: mean cosines. */
void rf_class_scale(const rf_class_stats *s, double *within, double *between);

/* The mean cosine from which texts count as one topic. */
double rf_class_level(double within, double between);

/* The mean cosine of a feature of unit length with the texts of a class. */
double rf_class_similarity(const rf_class_stats *s, size_t class_index,
                           const float *unit);

#endif
