/*
 * discover.h - new classes among test texts, under the protocol of class discovery
 *
 * A model is trained on the known classes of a split (experiment.h). Then the texts of
 * the test file, of known and unknown classes alike, are clustered by its features: with
 * the true number of classes given, and with a number that is found. How well the
 * clusters agree with the classes is measured on all texts and on those of unknown
 * classes.
 *
 * Test rows whose label the training file does not have are of no class and left out.
 */
#ifndef RF_LAB_DISCOVER_H
#define RF_LAB_DISCOVER_H

#include "base/team.h"
#include "lab/agreement.h"
#include "lab/lab.h"

typedef struct rf_discovery {
    const char *set;
    double ratio;
    uint64_t seed;
    const char *method; /* whose stage 1 gives the features */
    size_t texts, unknown_texts;
    size_t classes, known;  /* of the training file; of them known */
    rf_agreement all, open; /* with as many clusters as classes; open: unknown classes */
    size_t found;           /* number of classes, as found */
    rf_agreement found_all, found_open; /* with that many clusters */
} rf_discovery;

/* Called after each run. Anything but 0 stops with RF_ERR_STOPPED. */
typedef int (*rf_discovery_done)(void *user, const rf_discovery *d);

/* Of the options, variants must be NULL. progress may be NULL; its events are those of
 * stage 1. The results are also written to OUT/discover.jsonl, after each run all of
 * them, whole or not at all. */
rf_status rf_lab_discover(const rf_lab_options *options, rf_train_progress progress,
                          rf_discovery_done done, void *user, rf_error *err);

/* Moves points [n, width] of unit length towards their neighbours: out [n, width] is
 * point + mean of its RF_DISCOVER_NEAR nearest, at unit length. Clusters of these are
 * nearer to the classes (docs/LAB.md). */
#define RF_DISCOVER_NEAR 5
rf_status rf_discover_smooth(const float *points, size_t n, size_t width, float *out,
                             rf_team *team, rf_error *err);

/* The number of classes among points [n, width] of unit length: groups by average linkage
 * down to `level` (review/linkage.h) that have at least a fifth of the points of a
 * typical group, typical being the mean over the points of the size of their group. */
rf_status rf_discover_count(const float *points, size_t n, size_t width, double level,
                            rf_team *team, size_t *count, rf_error *err);

#endif
