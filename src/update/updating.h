/*
 * updating.h - the parts of rf_update, in the order in which they run
 *
 *   classes   which name every class has afterwards (class_plan.c)
 *   rows      the kept rows with their labels, then the new ones (row_plan.c)
 *   numbers   the classes that still have rows, in byte order of their names
 *   features  of the new rows, by the model's own encoder (row_plan.c)
 *   stages    the classifier, the classes that changed, perhaps the fence (update.c)
 *   report    what changed, in the model's summary and for the caller (update_report.c)
 *
 * A "name" is an id in `names`: what classes are called by before they have numbers.
 */
#ifndef RF_UPDATE_UPDATING_H
#define RF_UPDATE_UPDATING_H

#include "data/labels.h"
#include "folds/cross_fit.h"
#include "stages/training.h"
#include "ringfence_improve.h"

#define RF_NO_CLASS UINT32_MAX

/* A row of the updated model. */
typedef struct rf_update_row {
    uint32_t name;
    uint32_t old;    /* row of the old model, or UINT32_MAX */
    uint32_t data;   /* row of the new data if it is not an old one */
    bool relabelled; /* an old row with another label */
} rf_update_row;

typedef struct rf_updating {
    const rf_model *old;
    const rf_dataset *data; /* may be NULL */
    rf_update_options o;
    rf_error *err; /* not NULL */

    /* Classes */
    rf_labels *names;
    uint32_t *old_name;  /* [old classes] or RF_NO_CLASS */
    uint32_t *data_name; /* [classes of data] */
    uint32_t *number;    /* [names] class in the updated model, or RF_NO_CLASS */
    bool *touched;       /* [names] gains or loses rows */
    size_t *from;        /* [classes] as in rf_fit_update */

    /* Rows: those of the old model first, in their order */
    rf_update_row *rows;
    size_t n_rows, n_old;
    size_t n_added, n_relabelled, n_removed, n_same;
    size_t n_joined; /* rows of classes that were merged */
    size_t n_seen;   /* rows, at the beginning, that the encoder was tuned on */

    rf_training t; /* of the updated model, without dev texts */
    size_t dev_n;  /* rows of o.dev */
    float *dev_z;
    rf_fit_update u;
    bool differs; /* rows came, went or changed their class, or classes were merged */
    bool fence_moved;
    float fence_by;
    size_t heads_trained, classes_fitted;
    double start;
} rf_updating;

/* Fills names, old_name and data_name. */
rf_status rf_update_plan_classes(rf_updating *u);
/* Fills the rows and marks the names that they touch. */
rf_status rf_update_plan_rows(rf_updating *u);
/* Numbers the names that have rows, names the classes of the model, fills `from`. */
rf_status rf_update_number_classes(rf_updating *u);
/* Features of new rows and of o.dev; fills t.train with the rows and t.dev.z. */
rf_status rf_update_encode(rf_updating *u);
/* Marks classes that accept a new row of another class, to be fitted again. */
rf_status rf_update_find_accepting(rf_updating *u);
/* Copies rows, texts and the map into the model. */
rf_status rf_update_store_rows(rf_updating *u);

/* The summary of the updated model, with a record of this update in it. */
rf_status rf_update_describe(rf_updating *u, const rf_cross_fit *cross);
/* The report for the caller. */
rf_status rf_update_report(rf_updating *u, char **json);

/* The class of the updated model that a class of the old one became; RF_NO_CLASS if it
 * is gone. */
uint32_t rf_update_became(const rf_updating *u, size_t old_class);

#endif
