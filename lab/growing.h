/*
 * growing.h - a model that learns the classes of a set one by one
 *
 *   rf_growing g;
 *   rf_growing_open(&g, &context, 0.25, seed, 38, 38, err);   19 of 77 classes
 *   while (g.classes < 38)
 *       rf_growing_learn(&g, err);                            one more, with rf_update
 *   rf_growing_save(&g, err);
 *   rf_growing_close(&g);
 *
 * The classes come in the order in which the seed draws them, each with all its training
 * rows. A saved model is a file
 *
 *   CACHE/updated-HASH-CLASSES.rf
 *
 * with a hash of what it depends on. The first model and the latest are kept.
 */
#ifndef RF_LAB_GROWING_H
#define RF_LAB_GROWING_H

#include "lab/lab_model.h"

/* What updates took. */
typedef struct rf_growing_cost {
    size_t n;
    double seconds, longest, cpu;
    size_t heads, fitted, refits;
} rf_growing_cost;

typedef struct rf_growing {
    const rf_lab_context *c; /* with the set; borrowed */
    uint64_t seed;
    rf_lab_trainer trainer;
    rf_split split; /* all classes that it may learn; `drawn` has their order */
    size_t first;   /* classes that the first model is trained on */
    rf_model *model;
    size_t classes;                  /* of the model */
    double train_seconds, train_cpu; /* of the first model; 0 if it was saved before */
    rf_growing_cost cost;            /* of the updates */
    size_t saved;                    /* classes of the latest saved model, 0: none */
} rf_growing;

/* The model of the first round(K from) classes, trained, or the largest saved one of at
 * most `usable` classes. `most` is the number of classes that it may learn. */
rf_status rf_growing_open(rf_growing *g, const rf_lab_context *c, double from,
                          uint64_t seed, size_t usable, size_t most, rf_error *err);
void rf_growing_close(rf_growing *g); /* accepts a zeroed struct */

/* Learns the next class and adds to the cost. */
rf_status rf_growing_learn(rf_growing *g, rf_error *err);

/* A model trained on the first n classes at once; NULL on failure. */
rf_model *rf_growing_train(const rf_growing *g, size_t n, rf_error *err);

/* The first n classes and their rows. */
rf_status rf_growing_split(const rf_growing *g, size_t n, rf_split *split, rf_error *err);

rf_status rf_growing_save(rf_growing *g, rf_error *err);

#endif
