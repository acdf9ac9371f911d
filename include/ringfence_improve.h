/*
 * ringfence_improve.h - before and after training: data that can be mended, fences that
 * can be moved, rows and classes that come later, and which of two models is better
 *
 *   rf_check(data, ...)                       what to mend in the data, before training
 *   rf_model_move_fences(model, rows, ...)    labelled rows show where the fences belong
 *   rf_update(model, rows, ...)               learn rows, labels and classes in seconds
 *   rf_compare(first, second, rows, ...)      is the new model better?
 *
 * The conventions of ringfence.h apply here too.
 */
#ifndef RINGFENCE_IMPROVE_H
#define RINGFENCE_IMPROVE_H

#include "ringfence.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Checking data ----------------------------------------------------------------- */

/* What a person should mend in labelled data before training on it:
 *
 *   rf_findings *found = rf_check(data, NULL, &err);
 *   for (size_t i = 0; found && i < rf_findings_count(found); i++)
 *       puts(rf_findings_at(found, i)->message);
 *   rf_findings_free(found);
 *
 * docs/design/check.md says how each is found. Released values never change. */
typedef enum rf_finding_kind {
    RF_FINDING_SWAPPED = 0,       /* texts and labels have changed places */
    RF_FINDING_ENCODING = 1,      /* characters that a wrong encoding has spoiled */
    RF_FINDING_EMPTY = 2,         /* nothing but white space */
    RF_FINDING_CONFLICT = 3,      /* one text, but for case and spacing; several labels */
    RF_FINDING_NEAR_CONFLICT = 4, /* nearly one text, several labels */
    RF_FINDING_LABELS_ALIKE = 5,  /* labels equal but for case, spacing, punctuation */
    RF_FINDING_OPEN_LABEL = 6,    /* a label that seems to mean "none of the classes" */
    RF_FINDING_FEW_ROWS = 7,      /* a class of fewer than five rows */
    RF_FINDING_LABEL_ERROR = 8,   /* a text that looks like one of another class */
    RF_FINDING_CLASSES_ALIKE = 9, /* two classes that cannot be told apart */
    RF_FINDING_TWO_TOPICS = 10,   /* a class that is two groups of texts */
    RF_FINDING_DUPLICATE = 11,    /* one text, but for case and spacing; one label */
    RF_FINDING_NEAR_DUPLICATE = 12 /* nearly one text, one label */
} rf_finding_kind;
#define RF_FINDING_KINDS 13

/* The name of a kind, "label-error"; NULL past the end. *title, if not NULL, receives
 * one line about it. */
RF_API const char *rf_finding_name(size_t kind, const char **title);

/* Class numbers are those of the dataset; SIZE_MAX stands for none. */
typedef struct rf_finding {
    rf_finding_kind kind;
    const size_t *rows; /* of the dataset, that this is about */
    size_t n_rows;      /* may be 0 */
    size_t n_good;      /* the first n_good rows can stay as they are, and are there to
                         * compare the others with */
    size_t class_index, other_class;
    size_t suggested;    /* the class that its rows should have */
    double score;        /* LABEL_ERROR: how much better the suggested class fits, where a
                          * usual text fits its class by 10 (the list is sorted by it);
                          * NEAR_*: the lowest similarity by which the rows were joined;
                          * CLASSES_ALIKE: share of rows taken for the other class;
                          * TWO_TOPICS: the gap between the groups, by that of a class in one
                          * piece; else 0 */
    const char *message; /* what was found, one line */
    const char *fix;     /* what to do about it, one line */
} rf_finding;

typedef struct rf_findings rf_findings;

/* 0 and NULL mean "chosen for me". */
typedef struct rf_check_options {
    size_t struct_size;
    const char *encoder; /* as in rf_train_options */
    bool no_encoder;     /* only what needs none: all but LABEL_ERROR, CLASSES_ALIKE and
                          * TWO_TOPICS */
    size_t threads;      /* 0: one per CPU; the findings are the same for any number */
    size_t max_rows;     /* for the encoder; larger sets are sampled evenly by class.
                          * 0: 100,000 */
    uint64_t ignore;     /* kinds to leave out, bits 1 << kind */
    const char *const *open_labels; /* labels of open texts, which are no classes */
    size_t n_open_labels;
    rf_progress progress;
    void *user;
} rf_check_options;

RF_API void rf_check_options_init(rf_check_options *options, size_t struct_size);
static inline rf_check_options rf_check_options_default(void)
{
    rf_check_options options;
    rf_check_options_init(&options, sizeof options);
    return options;
}

/* Looks at all rows of data. The findings do not refer to data, which may be freed first;
 * options may be NULL. If texts and labels have changed places, that is the only finding.
 * The time without an encoder is linear in the number of rows. RF_ERR_MISSING if the
 * encoder is not in the cache. */
RF_API rf_findings *rf_check(const rf_dataset *data, const rf_check_options *options,
                             rf_error *err);
RF_API void rf_findings_free(rf_findings *found);

/* Sorted by kind, within a kind what matters most first. */
RF_API size_t rf_findings_count(const rf_findings *found);
/* Finding i, NULL past the end; lives as long as found. */
RF_API const rf_finding *rf_findings_at(const rf_findings *found, size_t i);
/* Rows that the encoder saw; 0 without one, fewer than all if data was sampled. */
RF_API size_t rf_findings_encoded(const rf_findings *found);

/* ---- Moving the fence -------------------------------------------------------------- */

/* Labelled rows, known and open, show better than any training where the fences belong.
 * Placing them takes as long as classifying the rows; nothing is trained.
 *
 *   rf_fence_options o = rf_fence_options_default();
 *   rf_fence_result r;
 *   o.max_false_accept = 0.05;
 *   if (rf_model_move_fences(model, rows, &o, &r, &err) != RF_OK)
 *       return fail(err.msg);
 *   printf("open let in: %.1f %%, before %.1f %%\n", r.expected.open_let_in.value,
 *          r.before.open_let_in.value);
 *   rf_model_save(model, "moved.rf", &keep, &err);
 */

typedef enum rf_fence_best {
    RF_FENCE_BEST_F1 = 0, /* mean over the classes that have rows, open included */
    RF_FENCE_BEST_ACCURACY = 1,
} rf_fence_best;

typedef struct rf_fence_options {
    size_t struct_size;
    rf_fence_best best;      /* without a budget */
    double max_false_accept; /* share of open texts that may be let in, up to 0.5; 0: no
                              * budget. The fences are as loose as that allows, but no
                              * looser than known texts need */
    double max_false_reject; /* share of known texts that may be called open, likewise; as
                              * tight as that allows, but no tighter than open texts need.
                              * With both, the first places the fences, and the second
                              * must hold there (RF_ERR_ARG) */
    bool per_class;          /* an offset of its own for a class whose rows justify one */
    uint64_t seed;           /* of the folds and draws behind the figures */
    size_t threads;          /* 0: one per CPU; the result is the same for any number */
    rf_progress progress;    /* may be NULL */
    void *user;
    bool fixed;    /* the fences are placed by hand: offset is added to every margin, and
                    * nothing is chosen. Rows, if any, fit the confidence and show what to
                    * expect. Without budgets and per_class */
    double offset; /* with fixed: -RF_MAX_FENCE to RF_MAX_FENCE */
} rf_fence_options;

RF_API void rf_fence_options_init(rf_fence_options *options, size_t struct_size);
static inline rf_fence_options rf_fence_options_default(void)
{
    rf_fence_options options;
    rf_fence_options_init(&options, sizeof options);
    return options;
}

/* A figure in per cent, with a 95 % interval for as many other rows of this kind, which
 * may be of other open labels. All three are NaN if there are no rows to measure it on.
 */
typedef struct rf_figure {
    double value, low, high;
} rf_figure;

typedef struct rf_fence_figures {
    rf_figure accuracy;
    rf_figure f1; /* mean over the classes that have rows, open included (f1_tested) */
    rf_figure known_as_open; /* share of the known rows */
    rf_figure open_let_in;   /* share of the open rows */
} rf_fence_figures;

typedef struct rf_fence_result {
    size_t rows, open_rows;
    double offset;             /* added to every margin; above 0 lets more in */
    size_t own_offsets;        /* classes that got one of their own as well (per_class) */
    rf_fence_figures before;   /* of the fences as they were, on these rows */
    rf_fence_figures expected; /* of the new ones: each fifth of the rows is answered with
                                * fences that the other four fifths place. Both are NaN
                                * without rows */
} rf_fence_result;

/* Places the fences of a model by labelled rows; labels that the model does not know
 * count as open. rows may be NULL if the fences are placed by hand. Confidence is fitted
 * to these rows, too (if they are of both kinds), and the description of the model
 * (rf_model_json) says where the fences come from; what training expected or promised is
 * dropped, and rf_model_promise gives the new rates.
 *
 * This is the one function that changes a model: no other thread may use it meanwhile,
 * and what rf_model_json and the summaries returned before is no longer valid. Sessions
 * of the model answer with the new fences from then on. On failure the model stays as it
 * was. options and result may be NULL. RF_ERR_ARG for a method whose fences cannot be
 * moved and for rows that cannot support what is asked; the message says what is missing.
 */
RF_API rf_status rf_model_move_fences(rf_model *model, const rf_dataset *rows,
                                      const rf_fence_options *options,
                                      rf_fence_result *result, rf_error *err);
/* ---- Learning after training ------------------------------------------------------- */

/* One class gets another name, joins others, or goes. */
typedef struct rf_class_edit {
    const char *from; /* a class of the model */
    const char *to;   /* its name afterwards; NULL: it is removed, with its rows */
    bool merge;       /* several classes may get this name and become one; else a name
                       * that another class has is RF_ERR_ARG */
} rf_class_edit;

typedef struct rf_update_options {
    size_t struct_size;
    const rf_class_edit *edits; /* [n_edits] all at once: names are those before, so two
                                 * classes can swap them; at most one edit per class */
    size_t n_edits;
    const rf_dataset *dev; /* answered before and after, for the report; may be NULL.
                            * Nothing is learnt from it */
    uint64_t seed;         /* 0: that of the training */
    size_t threads;        /* 0: one per CPU; the result is the same for any number */
    rf_train_progress progress; /* as in rf_train_options; stages are ENCODE, KNOWN, OPEN
                                 * and, if the fence is placed again, FOLDS */
    void *user;
} rf_update_options;

RF_API void rf_update_options_init(rf_update_options *options, size_t struct_size);
static inline rf_update_options rf_update_options_default(void)
{
    rf_update_options options;
    rf_update_options_init(&options, sizeof options);
    return options;
}

/* Learns more rows, other labels and other classes in seconds: a new model that has the
 * encoder of `model` and shares its memory; either may be freed first, and `model` does
 * not change.
 *
 *   rf_class_edit edit = {.from = "lost parcel", .to = "missing parcel"};
 *   rf_update_options o = rf_update_options_default();
 *   o.edits = &edit, o.n_edits = 1;
 *   rf_model *next = rf_update(model, data, &o, NULL, &err);
 *   if (!next || rf_model_save(next, "tickets.rf", NULL, &err) != RF_OK)
 *       return fail(err.msg);
 *
 * rows, which may be NULL, are added under their labels, new classes included; labels are
 * those after the edits. A row whose text the model keeps corrects its label and is not
 * counted twice; a model that keeps no texts cannot know, and adds every row. Classes
 * that gain or lose rows, and those that accept a new row of another class, are fitted
 * again; the others keep their numbers to the bit, until enough rows have changed that
 * what classes share is fitted again (docs/MODEL.md, "Updates").
 *
 * *report, if report is not NULL, is a JSON object about what changed (docs/FORMAT.md,
 * "Report of an update"): NUL-terminated, freed with free(), NULL on failure. The same
 * model, rows and options give the same bits. RF_ERR_MISSING if the model keeps no rows,
 * RF_ERR_VERSION if its method cannot be updated. */
RF_API rf_model *rf_update(const rf_model *model, const rf_dataset *rows,
                           const rf_update_options *options, char **report,
                           rf_error *err);

/* ---- Comparing --------------------------------------------------------------------- */

/* Two models on the same rows; [0] is the first, [1] the second. A label that a model
 * does not know is open for that model, so a row may be of a class for one and open for
 * the other. Definitions: docs/MODEL.md, "Comparing two models".
 *
 *   rf_comparison c;
 *   if (rf_compare(before, after, test, &c, &err) != RF_OK)
 *       return fail(err.msg);
 *   printf("accuracy %+.1f (%.1f to %.1f)%s\n", c.accuracy.difference, c.accuracy.low,
 *          c.accuracy.high, c.accuracy.beyond_chance ? "" : ", may be chance");
 *   rf_comparison_release(&c);
 */

/* A figure of both models, in per cent. All numbers are NaN if there are no rows. */
typedef struct rf_difference {
    size_t n;           /* rows that it is measured on */
    double value[2];    /* the figure of each model */
    double difference;  /* value[1] - value[0] */
    double low, high;   /* 95 % interval of the difference, from row to row */
    bool beyond_chance; /* the interval does not contain 0 */
} rf_difference;

/* A class that at least one of the models knows, or open. */
typedef struct rf_class_difference {
    const char *label;       /* lives as long as the models */
    size_t class_index[2];   /* in each model; RF_OPEN for open, and where unknown */
    bool known[2];           /* to each model; both true for open */
    rf_class_score score[2]; /* of the model's rf_evaluation; 0 where unknown */
    size_t only_right[2];    /* rows about which one model alone is right: is it of this
                              * class or not? 0 unless both know the class */
    double p;       /* of a paired test of these counts, corrected for the number of
                     * classes; 1 if not tested: open, and where unknown */
    bool different; /* p is at most 0.05 */
} rf_class_difference;

typedef enum rf_change_kind {
    RF_CHANGE_LOST = 0,   /* right, then wrong */
    RF_CHANGE_GAINED = 1, /* wrong, then right */
    RF_CHANGE_WRONG = 2,  /* wrong both times, with different answers */
} rf_change_kind;

/* A row that one model alone gets right, or both wrong in different ways. The answers may
 * be equal: "open" is wrong for the one model that knows the label. */
typedef struct rf_change {
    rf_change_kind kind;
    size_t row;       /* of the data */
    size_t answer[2]; /* class of each model, or RF_OPEN */
    float confidence[2];
} rf_change;
#define RF_CHANGE_KINDS 3

typedef struct rf_comparison {
    const rf_model *model[2];
    size_t n;               /* rows */
    size_t n_known, n_open; /* rows whose label both models know, or neither */
    size_t n_one[2];        /* rows whose label this model alone knows */
    size_t both_right;
    rf_difference accuracy, f1;   /* each model's figures, as rf_evaluate gives them */
    rf_difference known_rejected; /* of the n_known rows, the share called open */
    rf_difference open_accepted;  /* of the n_open rows, the share given a class */
    bool beyond_chance;           /* any of these figures, or any class */
    size_t n_tested, n_different; /* classes that both know; that differ beyond chance */
    double scatter; /* of the tested classes: 1 if chance in the texts alone moved them,
                     * more if training moves whole classes; NaN without any */
    rf_class_difference *classes; /* those of the first model, then those that only the
                                   * second knows, then open */
    size_t n_classes;
    rf_change *changes; /* by kind, then by row */
    size_t n_changes;
    size_t n_kind[RF_CHANGE_KINDS]; /* how many of each kind */
    rf_evaluation evaluation[2];
} rf_comparison;

/* Classifies every row of data with both sessions, which may be of one model. The same
 * input gives the same bits. On failure there is nothing to release. */
RF_API rf_status rf_compare(rf_session *first, rf_session *second, const rf_dataset *data,
                            rf_comparison *out, rf_error *err);
/* Frees what the struct holds; accepts a zeroed one. */
RF_API void rf_comparison_release(rf_comparison *comparison);

/* Writes an HTML page about a comparison of two models on test: what changed and whether
 * it may be chance, every class, and the texts that changed. Of the options only title
 * counts (NULL: "Comparison of two models"); names are those of the two models for the
 * reader (NULL: "A" and "B"). Otherwise as rf_report_model. */
RF_API rf_status rf_report_comparison(const rf_comparison *comparison,
                                      const rf_dataset *test, const char *const names[2],
                                      const rf_report_options *options, const char *path,
                                      rf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_IMPROVE_H */
