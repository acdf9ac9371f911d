/*
 * ans.h - training the one-versus-rest heads with adaptive negative samples (paper 3.2,
 * 3.3)
 *
 * A head depends on its class's texts, on the other classes' texts, on the options and
 * on nothing else: not on the number of threads, not on which heads are trained in the
 * same call, not on the numbers that classes happen to have. One thread trains one head
 * from its first step to its last, so that its weights and moments (2 MB at width 384)
 * stay in that core's cache, and memory does not grow with the number of classes.
 *
 *   rf_ans_options o = rf_ans_options_default();
 *   for (size_t m = 0; m < classes; m += 8)                // progress after each 8
 *       if (rf_ans_train(&heads, &problem, &o, m, min(m + 8, classes), team, reports + m,
 *                        &err) != RF_OK) ...
 */
#ifndef RF_OPEN_ANS_H
#define RF_OPEN_ANS_H

#include "base/team.h"
#include "open/class_stats.h"
#include "open/heads.h"

typedef struct rf_ans_options {
    size_t steps;      /* at the full rate */
    size_t max_steps;  /* how far they may be extended, see target_recall */
    size_t cool_steps; /* after them, the rate falling linearly towards 0 */
    size_t positives;  /* texts of the class per step; each gives one synthetic point */
    size_t negatives; /* texts of other classes per step; all of them if they are fewer */
    float rate;       /* of Adam */
    float dropout;    /* after each hidden layer, at most 0.9 */
    float lambda;     /* weight of synthetic points; 0: vanilla one-versus-rest */
    float negative_weight; /* of other classes' texts. 0: as if each step saw all of them
                            * (paper, equation 2): rest / own * positives / negatives */
    float radius;          /* of the shell, in the features' unit; 0: relative */
    float rho;             /* relative radius: rho times the class's average distance */
    float gamma;           /* outer radius by inner radius */
    bool noise;            /* start from N(0, 4 variance); else from a random direction
                            * of length radius / 1000: 0 could not be projected */
    float positive_noise;  /* texts of the class are moved by noise of so many sigma: few
                            * texts then stand for the region around them. Not without
                            * synthetic points */
    bool project;          /* into the shell */
    size_t ascent_steps;   /* 0: none */
    float ascent_rate;     /* length of an ascent step by radius */
    float target_recall;   /* while fewer of the class's own texts are accepted, go on for
                            * another quarter of steps, up to max_steps */
    uint64_t seed;
} rf_ans_options;

rf_ans_options rf_ans_options_default(void);

/* What to learn. dev rows are only counted, never learnt from; dev_rows may be 0. */
typedef struct rf_ans_problem {
    size_t width, classes, rows;
    const float *z;            /* [rows, width] */
    const uint32_t *class_of;  /* [rows] */
    const uint64_t *class_key; /* [classes] a hash of the label: names random streams */
    const rf_class_stats *stats;
    size_t dev_rows;
    const float *dev_z;
    const uint32_t *dev_class;
} rf_ans_problem;

typedef struct rf_ans_report {
    size_t steps;     /* taken, cooling included */
    float loss;       /* mean of the last steps */
    float recall;     /* share of the class's training texts that the head accepts */
    float dev_recall; /* of its dev texts; -1 if there are none */
    float radius;     /* of the shell */
} rf_ans_report;

/* Train heads [from, to) on the team's threads; heads must have the problem's shape.
 * RF_ERR_NUMERIC if a head did not stay finite; after a failure the heads of the range
 * hold nothing of use. reports is [to - from]. */
rf_status rf_ans_train(rf_heads *heads, const rf_ans_problem *p, const rf_ans_options *o,
                       size_t from, size_t to, rf_team *team, rf_ans_report *reports,
                       rf_error *err);

#endif
