/*
 * update_points.h - DIR/updates.jsonl, the file of measured updates: one JSON line each
 *
 * A point is a model that was trained on some classes and has learnt others since, one
 * update each, measured beside a model trained on all these classes at once. It does not
 * depend on what other points were measured.
 */
#ifndef RF_LAB_UPDATE_POINTS_H
#define RF_LAB_UPDATE_POINTS_H

#include "base/json.h"

#define RF_UPDATES_FILE "updates.jsonl"

/* On the test rows, 0..100; closed, auroc and best as in lab/ranking.h, negative if not
 * defined. */
typedef struct rf_point_figures {
    double accuracy, f1, f1_known, f1_open;
    double closed, auroc, best_f1, best_accuracy;
} rf_point_figures;

typedef struct rf_update_point {
    /* The key of the point. */
    char set[64];
    double from; /* share of the classes that the first model was trained on */
    uint64_t seed;
    char method[32];
    char encoder[128];
    size_t classes; /* known now */

    size_t first_classes;    /* known to the first model */
    size_t train_rows;       /* of the classes known now */
    char classes_sha256[65]; /* rf_split.classes_sha256 */
    char asked[65];          /* rf_lab_asked */
    rf_point_figures updated, trained;
    /* The updates since the point before. */
    struct {
        size_t n;
        double seconds, longest; /* in all, and of one */
        double cpu;              /* seconds in all, of all threads */
        size_t heads;            /* trained */
        size_t fitted;           /* classes */
        size_t refits;           /* of what classes share */
    } updates;
    double train_seconds, train_cpu; /* of the training beside it */
    size_t threads;
    char version[32], kernels[16];
} rf_update_point;

/* As rf_run_append and rf_runs_load (lab/results.h); *list is freed with free(). */
rf_status rf_update_point_append(const char *dir, const rf_update_point *point,
                                 rf_error *err);
rf_status rf_update_points_load(const char *dir, rf_update_point **list, size_t *n,
                                rf_error *err);

/* Orders points by encoder and key; 0 if the keys are equal. */
int rf_update_point_compare(const rf_update_point *a, const rf_update_point *b);

/* The point with the key of `like`, NULL if there is none. */
const rf_update_point *rf_update_points_find(const rf_update_point *list, size_t n,
                                             const rf_update_point *like);

#endif
