/*
 * loop_points.h - DIR/loop.jsonl, the file of measured rounds: one JSON line each
 *
 * A round is a review, the labels that it got, and an update with them (loop.h). Round 0
 * is the first model.
 */
#ifndef RF_LAB_LOOP_POINTS_H
#define RF_LAB_LOOP_POINTS_H

#include "base/error.h"

#define RF_LOOP_FILE "loop.jsonl"

/* On the test rows, 0..100, over all classes of the training file, known or not; negative
 * if not measured. */
typedef struct rf_loop_figures {
    double accuracy; /* texts of none of these classes are right if open */
    double f1;       /* mean over these classes; 0 for one that the model does not know */
} rf_loop_figures;

typedef struct rf_loop_point {
    /* The key of the point. */
    char set[64];
    double ratio; /* share of the classes that the first model was trained on */
    uint64_t seed;
    char method[32];
    char encoder[128];
    size_t batch;  /* texts that come with each round */
    size_t budget; /* of labels; 0: none */
    size_t round;

    bool last;
    size_t all_classes, first_classes, classes; /* of the set; known at first and now */
    /* So far. */
    size_t texts;                     /* that came */
    size_t labels;                    /* spent: texts read */
    size_t named, skipped;            /* groups */
    size_t rows;                      /* learnt */
    size_t wrong;                     /* of them, under another label than their own */
    double first_f1;                  /* of round 0 */
    rf_loop_figures updated, trained; /* trained again with the same rows; last only */
    double review_seconds, update_seconds;
    double train_seconds; /* of the training beside it; of round 0: the first model's */
    char asked[65];       /* rf_lab_asked */
    size_t threads;
    char version[32], kernels[16];
} rf_loop_point;

/* As rf_run_append and rf_runs_load (lab/results.h); *list is freed with free(). */
rf_status rf_loop_point_append(const char *dir, const rf_loop_point *point,
                               rf_error *err);
rf_status rf_loop_points_load(const char *dir, rf_loop_point **list, size_t *n,
                              rf_error *err);

/* Orders points by encoder and key, rounds last; 0 if the keys are equal. */
int rf_loop_point_compare(const rf_loop_point *a, const rf_loop_point *b);

/* Whether both are rounds of the same loop. */
bool rf_loop_point_same(const rf_loop_point *a, const rf_loop_point *b);

/* The point with the key of `like`, NULL if there is none. */
const rf_loop_point *rf_loop_points_find(const rf_loop_point *list, size_t n,
                                         const rf_loop_point *like);

#endif
