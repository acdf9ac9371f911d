/*
 * method.h - every open-set method behind one table
 *
 * A method sees features z of texts, and the classifier of known classes that stage 1
 * trained. It fits its arrays (method_state.h) to the training rows and then
 * judges features: which class is the most likely, and is the text inside that class's
 * fence?
 *
 * To add a method, see methods/methods.h.
 */
#ifndef RF_OPEN_METHOD_H
#define RF_OPEN_METHOD_H

#include "base/team.h"
#include "encoder/activations.h"
#include "known/known.h"
#include "known/objective.h"
#include "open/class_stats.h"
#include "open/method_state.h"
#include "settings/settings.h"

/* Inputs of an objective. */
typedef struct rf_objective_setting {
    rf_known *known; /* parameters to train; initialised from the seed */
    size_t width;
    size_t classes;              /* the user's; known->classes may be one more */
    size_t batch;                /* maximum rows per batch */
    const rf_activations *texts; /* training set */
    const uint32_t *class_of;    /* [texts->n_texts]; `classes` marks an open text */
    rf_encoder *encoder;         /* in training */
    const char *encoder_dir;     /* to load another copy of it */
    size_t live;                 /* number of upper layers being trained */
    rf_team *team;               /* step and before_epoch may use it */
    uint64_t seed;
    const rf_settings *o;
} rf_objective_setting;

/* For rf_method.objective: allocates `size` bytes that begin with `first`, zeroes the
 * rest and calls make; NULL on failure. release must accept a partly made object. */
rf_objective *rf_objective_new(size_t size, rf_objective first,
                               rf_status (*make)(rf_objective *o,
                                                 const rf_objective_setting *s,
                                                 rf_error *err),
                               const rf_objective_setting *s, rf_error *err);

/* Training results of one class; stored in checkpoints as is. */
typedef struct rf_class_report {
    float steps;  /* taken, including cooling */
    float loss;   /* mean of the last steps */
    float recall; /* share of the class's training texts inside its fence; -1: no head */
    float dev_recall; /* of its dev texts; -1 without any */
    float radius;     /* of the shell of synthetic negatives */
} rf_class_report;

/* Classes [from, from + n) of a fit that trains class by class. */
typedef struct rf_fit_part {
    size_t from, n;
    const bool *has; /* [n] which of them learn anything; NULL: all */
    float *learnt;   /* [those][floats] */
    size_t floats;
    rf_class_report *reports; /* [n] */
} rf_fit_part;

/* Progress, stop requests and checkpoints of such a fit; any may be NULL. */
typedef struct rf_fit_hooks {
    void *user;
    /* Restores classes that an earlier run finished, from class part->from on and at most
     * part->n, and sets part->n to their number, which may be 0. */
    rf_status (*resume)(void *user, rf_fit_part *part, rf_error *err);
    /* Called when these classes are done; RF_ERR_STOPPED stops the fit. */
    rf_status (*finished)(void *user, const rf_fit_part *part, rf_error *err);
} rf_fit_hooks;

/* What a method is fitted to. Open texts given for training follow the rows. Dev
 * rows serve for measuring and for choosing, never for learning. */
typedef struct rf_fit {
    size_t width, classes;
    size_t rows;
    size_t open_rows;          /* texts of no class; only if takes_open_texts */
    const float *z;            /* [rows + open_rows, width] */
    const uint32_t *class_of;  /* [rows]; every class has a row */
    const uint64_t *class_key; /* [classes] hash of the label; selects random streams */
    const rf_class_stats *stats;
    size_t dev_rows; /* may be 0 */
    const float *dev_z;
    const uint32_t *dev_class;
    const rf_known *known;
    const rf_settings *o;
    float dropout; /* that the classifier was trained with */
    uint64_t seed;
    rf_team *team;
    const bool *untrained; /* [classes] skip these in training by class; NULL: none */
    bool quick;            /* only what needs no optimiser, if the method can do that */
    rf_class_report *reports; /* [classes], zeroed; filled if trains_by_class */
    rf_fit_hooks hooks;
} rf_fit;

/* A fit that keeps what another one learnt of some classes. */
#define RF_FIT_ANEW SIZE_MAX
typedef struct rf_fit_update {
    const rf_method_state *old;
    const size_t *from; /* [classes] the class of `old` that stays as it is, to the bit;
                         * RF_FIT_ANEW: none, the class is fitted */
    size_t changed;     /* rows that came, went or changed their class */
    /* Results: */
    bool refitted; /* what all classes share was fitted again; of the kept classes only
                    * what was trained stays as it is */
    bool placed;   /* the fences of new classes are where those of `old` are; else all
                    * are where a fit leaves them */
    float fence;   /* if placed: how far that is from where a fit leaves them */
} rf_fit_update;

/* n rows of signals, at most RF_JUDGE_ROWS. */
#define RF_JUDGE_ROWS 96
typedef struct rf_signals {
    size_t n;
    const float *z;      /* [n, width] */
    const float *hidden; /* [n, width] the known classifier's hidden layer */
    const float *logits; /* [n, known->classes] */
} rf_signals;

/* The answer for one row: `nearest` if margins[fence] >= 0, else open. */
typedef struct rf_verdict {
    uint32_t nearest; /* the most likely class */
    uint32_t fence;   /* the class whose fence decides */
} rf_verdict;

typedef struct rf_method {
    const char *name;    /* for --method and files: "adb" */
    const char *title;   /* for tables: "ADB" */
    const char *summary; /* one line of help */

    /* Capabilities, and requirements on training. */
    bool open_class;       /* known has one more output, the last, for "open" */
    rf_known_form form;    /* of known */
    bool no_checkpoint;    /* its stage 1 has state that a checkpoint does not hold */
    bool wants_open_texts; /* trains on open texts supplied by the user, in stage 1 */
    bool takes_open_texts; /* uses them if there are any, after stage 1 */
    bool blends_layers;    /* wants the tuned layers blended with the originals */
    bool head_settings;    /* reads the settings of stage 2, which tuning can choose */
    bool cross_fits;       /* folds place its fence: its margins are on one scale */
    bool trains_by_class;  /* one network per class: fills reports, calls hooks */
    /* Overrides settings that the method fixes; may be NULL. */
    void (*fix_settings)(rf_settings *s);

    /* What stage 1 learns; NULL: cross entropy, shared with every such method. */
    rf_objective *(*objective)(const rf_objective_setting *s, rf_error *err);
    const char *objective_name; /* if several methods share it; NULL: the method's name */

    const rf_method_array *arrays;
    size_t n_arrays;
    size_t n_optional; /* of the arrays, the last ones: older files lack them, and their
                        * data is then NULL */
    size_t n_block;    /* of the arrays, the first ones: in a block */
    /* Makes the block, in a state that has its other arrays; NULL: there is none. */
    rf_status (*room)(rf_method_state *state, rf_error *err);
    rf_status (*fit)(rf_method_state *state, const rf_fit *in,
                     rf_error *err); /* NULL: nothing to fit */
    /* As fit, but keeps classes of another state; NULL: cannot. */
    rf_status (*update)(rf_method_state *state, const rf_fit *in, rf_fit_update *u,
                        rf_error *err);
    /* After fit or load: checks that the arrays make sense (RF_ERR_FORMAT) and makes
     * state->prepared. Both may be NULL. */
    rf_status (*prepare)(rf_method_state *state, rf_error *err);
    void (*release)(rf_method_state *state);

    /* Floats of scratch that judge, score and view need for RF_JUDGE_ROWS rows; NULL:
     * none. */
    size_t (*scratch)(const rf_method_state *state);
    /* Either judge: n rows against all fences, margins [n, classes]; threads divide the
     * rows. A row's result does not depend on the other rows; any number of threads may
     * judge at once. */
    void (*judge)(const rf_method_state *state, const rf_signals *s, rf_verdict *out,
                  float *margins, float *scratch);
    /* Or score, optionally after base. base: at most RF_JUDGE_ROWS rows z against all
     * fences, margins [n, classes], before score; threads divide the rows. */
    void (*base)(const rf_method_state *state, const float *z, size_t n, float *margins,
                 float *scratch);
    /* score: one fence, any number of rows z [n, width], into its column of margins
     * [n, classes], or after base added to it; threads divide fences and rows. The
     * margins of all fences are on one scale: the largest decides the class, their
     * softmax gives probabilities (model/calibration.h). */
    void (*score)(const rf_method_state *state, size_t fence, const float *z, size_t n,
                  float *margins, float *scratch);
    /* Both or neither, with base: score for the fences that matter (answer/shortlist.h).
     * hope: from the base of one row [classes] what each margin would be if its score
     * agreed with it, -INFINITY for fences whose score adds nothing. score_rows: as
     * score, for n rows out of z, at most RF_JUDGE_ROWS. */
    void (*hope)(const rf_method_state *state, const float *base, float *hopes);
    void (*score_rows)(const rf_method_state *state, size_t fence, const float *z,
                       const uint32_t *rows, size_t n, float *margins, float *scratch);

    /* Adds to all margins of a fence; only with score. NULL: fences cannot move. */
    void (*move_fence)(rf_method_state *state, size_t fence, float offset);

    /* For pictures of a fence; all NULL or 0 if there is nothing to show.
     * view: maps at most RF_JUDGE_ROWS points z [n, width] to the last hidden layer [n,
     * view_width] and margins [n].
     * negatives: at most *n synthetic negatives around the training rows of a class, as
     * training with this radius makes them; sets *n. */
    size_t view_width;
    void (*view)(const rf_method_state *state, size_t fence, const float *z, size_t n,
                 float *hidden, float *margins, float *scratch);
    rf_status (*negatives)(const rf_method_state *state, size_t fence, const rf_fit *in,
                           float radius, float *z, size_t *n, rf_error *err);
} rf_method;

/* Fits, checks that all numbers are finite, and prepares; state need not be
 * initialised. */
rf_status rf_method_fit(const rf_method *m, rf_method_state *state, const rf_fit *in,
                        rf_error *err);
/* The same with m->update, which must not be NULL. */
rf_status rf_method_update(const rf_method *m, rf_method_state *state, const rf_fit *in,
                           rf_fit_update *u, rf_error *err);
/* Accepts a zeroed state. */
void rf_method_release(const rf_method *m, rf_method_state *state);

/* The name of the first array with a NaN or an infinity; NULL if there is none. */
const char *rf_method_not_finite(const rf_method *m, const rf_method_state *state);

/* The name of the objective of stage 1; never NULL. */
const char *rf_method_objective(const rf_method *m);

#endif
