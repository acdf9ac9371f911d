/*
 * method.h - every open-set method behind one table
 *
 * A method sees features z of texts, and the classifier of known classes that stage 1
 * trained. It fits its arrays (open/fence.h) to the training rows and afterwards judges
 * features: which class is the most likely, and is the text inside that class's fence.
 *
 * Adding a method: write src/open/NAME.c that defines `const rf_method rf_method_NAME`,
 * declare it below, add it to the list in methods.c and to the sources in CMakeLists.txt.
 */
#ifndef RF_OPEN_METHOD_H
#define RF_OPEN_METHOD_H

#include "base/team.h"
#include "encoder/activations.h"
#include "known/known.h"
#include "known/objective.h"
#include "open/fence.h"

/* What an objective may look at. */
typedef struct rf_objective_setting {
    rf_known *known; /* its parameters; initialised, drawn from the seed */
    size_t width;
    size_t classes;              /* of the user; known->classes may be one more */
    size_t batch;                /* rows of a batch, at most */
    const rf_activations *texts; /* training set */
    const uint32_t *class_of;    /* [texts->n_texts]; `classes` marks an open text */
    rf_encoder *encoder;         /* in training */
    const char *encoder_dir;     /* where another copy of it can be loaded */
    size_t live;                 /* upper layers that learn */
    rf_team *team;               /* may be used inside step and before_epoch */
    uint64_t seed;
    const rf_method_options *o;
} rf_objective_setting;

/* What a fence is fitted to. Rows that stand for no class (a method that was given open
 * texts) are not among them. */
typedef struct rf_fit {
    size_t width, classes;
    size_t rows;
    const float *z;           /* [rows, width] */
    const uint32_t *class_of; /* [rows]; every class has a row */
    size_t dev_rows;          /* may be 0 */
    const float *dev_z;
    const uint32_t *dev_class;
    const rf_known *known;
    const rf_method_options *o;
    float dropout; /* that the classifier learnt with */
    uint64_t seed;
    rf_team *team;
} rf_fit;

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
    const char *name;    /* "adb": for --method and files */
    const char *title;   /* "ADB": for tables */
    const char *summary; /* one line of help */

    bool heads;            /* one network per class (open/heads.h): ANS and its kin */
    bool open_class;       /* known has one more output, the last, for "open" */
    rf_known_form form;    /* of known */
    bool no_checkpoint;    /* its stage 1 has a memory that a checkpoint does not hold */
    bool wants_open_texts; /* trains on texts of no class that the user gives */
    /* What stage 1 learns; NULL: cross entropy, shared with every such method. */
    rf_objective *(*objective)(const rf_objective_setting *s, rf_error *err);
    const char *objective_name; /* shared with methods of the same; NULL: the method's */

    const rf_fence_array *arrays;
    size_t n_arrays;
    rf_status (*fit)(rf_fence *f, const rf_fit *in, rf_error *err); /* NULL: nothing to */
    /* After fit or load: checks that the arrays make sense (RF_ERR_FORMAT) and makes
     * f->prepared. Both may be NULL. */
    rf_status (*prepare)(rf_fence *f, rf_error *err);
    void (*release)(rf_fence *f);
    /* Floats that judge needs as scratch for RF_JUDGE_ROWS rows; NULL: none. */
    size_t (*scratch)(const rf_fence *f);
    /* margins is [n, classes]. A row's result depends on nothing but the row; any number
     * of threads may judge at once. */
    void (*judge)(const rf_fence *f, const rf_signals *s, rf_verdict *out, float *margins,
                  float *scratch);
} rf_method;

/* One per file of this directory. */
extern const rf_method rf_method_ans, rf_method_ovr, rf_method_msp, rf_method_doc,
    rf_method_openmax, rf_method_lof, rf_method_deepunk, rf_method_adb, rf_method_da_adb,
    rf_method_convex, rf_method_selfsup, rf_method_knncl, rf_method_msp_neg,
    rf_method_adb_neg, rf_method_knn, rf_method_mahalanobis;

/* All methods, in the order of the tables; NULL at the end. */
const rf_method *const *rf_methods(void);
const char *rf_method_objective(const rf_method *m); /* a name, never NULL */
const rf_method *rf_method_find(const char *name);   /* NULL if there is none */

#endif
