/*
 * class_scale.c - how similar texts of known classes are, from means and variances
 *
 * Two texts x, y of a class with mean m and variances v have the expected product |m|^2,
 * and the expected squared length |m|^2 + sum v. Their quotient is the mean cosine, up to
 * the scatter of lengths; a model that keeps no rows has these numbers, too.
 */
#include "review/class_scale.h"

#include "review/linkage.h"

#include <math.h>

#define LOW_LEVEL 0.05 /* of the cosine, whatever the classes are like */
#define HIGH_LEVEL 0.95

/* The root of the mean square of a class's features. */
static double length_of(const rf_class_stats *s, size_t c)
{
    const float *mean = s->mean + c * s->width;
    double sum = rf_review_dot(mean, mean, s->width);
    for (size_t j = 0; j < s->width; j++)
        sum += (double)s->variance[c * s->width + j];
    return sqrt(sum);
}

/* Of two texts, one of each class. */
static double between_classes(const rf_class_stats *s, size_t a, size_t b)
{
    double lengths = length_of(s, a) * length_of(s, b);
    double product =
        rf_review_dot(s->mean + a * s->width, s->mean + b * s->width, s->width);
    return lengths > 0.0 ? product / lengths : 0.0;
}

void rf_class_scale(const rf_class_stats *s, double *within, double *between)
{
    size_t classes = s->mean ? s->classes : 0; /* a model may have no statistics */
    *within = *between = 0.0;
    for (size_t a = 0; a < classes; a++) {
        double most = classes > 1 ? -1.0 : 0.0;
        for (size_t b = 0; b < classes; b++) {
            double c = b == a ? -1.0 : between_classes(s, a, b);
            most = c > most ? c : most;
        }
        *within += between_classes(s, a, a) / (double)classes;
        *between += most / (double)classes;
    }
}

double rf_class_level(double within, double between)
{
    double level = 0.5 * (within + between);
    return level < LOW_LEVEL ? LOW_LEVEL : level > HIGH_LEVEL ? HIGH_LEVEL : level;
}

double rf_class_similarity(const rf_class_stats *s, size_t c, const float *unit)
{
    if (!s->mean)
        return 0.0;
    double length = length_of(s, c);
    const float *mean = s->mean + c * s->width;
    return length > 0.0 ? rf_review_dot(unit, mean, s->width) / length : 0.0;
}
