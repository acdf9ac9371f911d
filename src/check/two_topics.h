/*
 * two_topics.h - classes whose texts are two groups
 *
 * Two means divide any class. A class is two topics if the gap between the groups is far
 * larger than in a cloud with the same covariance (rows with random signs, added up), and
 * if the groups are as far from each other as from other classes: bunches of texts
 * within one topic are nearer than that.
 */
#ifndef RF_CHECK_TWO_TOPICS_H
#define RF_CHECK_TWO_TOPICS_H

#include "check/encoded_rows.h"

typedef struct rf_topics {
    size_t rows;     /* of the class */
    size_t smaller;  /* of them, in the smaller group */
    double gap;      /* between the groups, by that of clouds; 0 with too few rows */
    double distance; /* between the groups, by that to the nearest other class */
} rf_topics;

/* Measures every class: topics [e->classes]; side [e->n] is true for rows of the smaller
 * group. */
rf_status rf_two_topics(const rf_encoded *e, rf_team *team, rf_topics *topics, bool *side,
                        rf_error *err);

/* Adds the classes that seem to be two topics. */
rf_status rf_two_topics_report(const rf_checked *c, const rf_encoded *e, rf_error *err);

#endif
