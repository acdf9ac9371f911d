/*
 * cross_fit.h - place the fence by texts that the training did not see
 *
 * The margins of training rows say little about new texts. So some trainings hide classes
 * and hold out rows (pseudo_open.h): every training text is answered once as a text of no
 * class, and most of them once as a text of a known class. The fence goes where the mean
 * of F1 and accuracy of these answers is best, confidence is fitted to them, and they
 * tell what to expect.
 *
 *   rf_cross_fit c;
 *   rf_cross_fit_run(&c, t)         after rf_training_encode; chooses the blend, finds
 *                                   t->fence, which rf_training_open applies
 *   ... stages 1 and 2 ...
 *   rf_cross_fit_calibrate(&c, t)   fits the model's confidence
 *   rf_cross_fit_expect(&c, t)      rates to expect
 *   rf_cross_fit_release(&c)
 */
#ifndef RF_FOLDS_CROSS_FIT_H
#define RF_FOLDS_CROSS_FIT_H

#include "base/json.h"
#include "folds/pseudo_open.h"
#include "folds/rates.h"

/* What to expect of a class. */
typedef struct rf_class_expectation {
    size_t rows;    /* training texts */
    size_t n;       /* texts of the class answered in the folds */
    size_t right;   /* answered with their class */
    size_t as_open; /* called open */
} rf_class_expectation;

/* One of the classes that will suffer most. */
#define RF_WORST_CLASSES 3
typedef struct rf_worst_class {
    size_t class_index;
    size_t other, mistaken; /* the class that its texts are most often taken for, and how
                             * often: 0 if never */
} rf_worst_class;

typedef struct rf_cross_fit {
    char why_not[RF_WHY]; /* not empty: why there were no folds */
    size_t folds, classes;
    rf_outcomes outcomes[RF_MAX_FOLDS];
    float offset;           /* added to every margin: the fence */
    rf_rate reject, accept; /* known texts called open, open texts let in */
    size_t given;  /* open texts of the user behind `accept`; 0: hidden classes */
    rf_rate right; /* known texts answered with their class */
    rf_class_expectation *by_class; /* [classes] */
    rf_worst_class worst[RF_WORST_CLASSES];
    size_t n_worst;
} rf_cross_fit;

/* Stops with RF_ERR_STOPPED if the progress callback asks for it. */
rf_status rf_cross_fit_run(rf_cross_fit *c, rf_training *t);
rf_status rf_cross_fit_calibrate(const rf_cross_fit *c, rf_training *t);
rf_status rf_cross_fit_expect(rf_cross_fit *c, const rf_training *t);
void rf_cross_fit_release(rf_cross_fit *c); /* accepts a zeroed struct */

/* "expected" of a model's summary; NULL without memory. */
json_t *rf_cross_fit_json(const rf_cross_fit *c, const rf_model *m);

/* ---- Parts, exposed for tests ------------------------------------------------------ */

/* The offset at which the accuracy of the outcomes is best, weighed as best_fence.c says
 * for a stream with this share of open texts, and that accuracy in per cent (may be
 * NULL). */
rf_status rf_best_fence(const rf_outcomes *folds, size_t n_folds, size_t classes,
                        double open_share, float *offset, double *value, rf_error *err);

/* ---- For rows with labels (fence/) ------------------------------------------------- */

/* The offset at which F1, weighed by f1_share (0 to 1), and accuracy, by the rest, are
 * best over these outcomes; each counts the same. Of `hidden` ones truth is not used. */
rf_status rf_best_fence_of_rows(const rf_outcome *const *rows, size_t n, size_t classes,
                                double f1_share, float *offset, rf_error *err);

/* Fits confidence to these outcomes, offset added to their margins; the temperature by
 * the known ones. */
rf_status rf_calibrate_outcomes(rf_calibration *c, const rf_outcome *const *rows,
                                size_t n, float offset, rf_error *err);

#endif
