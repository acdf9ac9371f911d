/*
 * ringfence_review.h - what is in the pile of rejected texts, and what to do about it
 *
 *   rf_review *review = rf_review_texts(model, texts, lens, n, NULL, &err);
 *   for (size_t i = 0; review && i < rf_review_groups(review); i++) {
 *       const rf_review_group *g = rf_review_group_at(review, i);
 *       printf("%s: %zu texts\n", g->name, g->count);
 *   }
 *
 * A person looks at the groups, and what is one topic becomes a class:
 *
 *   rf_dataset *rows = rf_dataset_new(&err);
 *   if (rows && rf_review_add_rows(review, 0, "gift_cards", rows, &err) == RF_OK)
 *       next = rf_update(model, rows, NULL, NULL, &err);      // ringfence_improve.h
 *
 * The conventions of ringfence.h apply here too. docs/MODEL.md, "Review", says how groups
 * are found and what the numbers mean.
 */
#ifndef RINGFENCE_REVIEW_H
#define RINGFENCE_REVIEW_H

#include "ringfence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_review rf_review;

/* What became of a text. Released values never change. */
typedef enum rf_review_kind {
    RF_REVIEW_GROUP = 0, /* in a group with others */
    RF_REVIEW_KNOWN = 1, /* probably of a known class: in no group, near a class and
                          * rejected by little, or accepted by little */
    RF_REVIEW_ALONE = 2, /* in no group */
} rf_review_kind;

/* A text that was rejected or is doubtful, with its copies. */
typedef struct rf_review_text {
    const char *text; /* a copy of the first one; NUL-terminated too */
    size_t len;
    const size_t *rows; /* [count] of the texts given, ascending: this one, equal ones
                         * (but for case and spacing) and nearly equal ones */
    size_t count;
    rf_review_kind kind;
    size_t group;       /* SIZE_MAX unless RF_REVIEW_GROUP */
    size_t class_index; /* of the deciding fence: the class it would have, or has */
    bool rejected;      /* else it is doubtful: accepted with little confidence */
    float margin;       /* of that fence, below 0 if rejected */
    float confidence;   /* in the answer, open or class_index */
    double fit;         /* mean cosine with the other texts of its group, else with the
                         * texts of class_index */
} rf_review_text;

typedef struct rf_review_group {
    const char *name; /* of its distinctive words, "gift_card_balance"; unlike those of
                       * other groups and classes, and a valid label */
    size_t first;     /* its texts are first to first + n_texts - 1, the most central one
                       * first; the last are those that fit least */
    size_t n_texts;   /* different ones */
    size_t count;     /* with their copies */
    size_t nearest;   /* the class that most of its texts would have */
    size_t n_nearest; /* of its n_texts */
    double cohesion;  /* 0..1: how sure we are that it is one topic */
    double worth;     /* count x cohesion: groups are sorted by it */
} rf_review_group;

typedef struct rf_review_summary {
    size_t texts;                   /* that were given */
    size_t rejected, doubtful;      /* of them */
    size_t different;               /* texts among these two: rf_review_size */
    size_t in_groups, known, alone; /* of the different ones, by kind */
    double level;                   /* mean cosine from which texts count as one topic */
} rf_review_summary;

typedef struct rf_review_options {
    size_t struct_size;
    double doubt; /* accepted texts of a confidence below this are reviewed, too; up to
                   * 1. 0: 0.6, negative: none */
    size_t min_texts; /* different texts of a group, at least 2; 0: 5 */
    size_t threads;   /* 0: one per CPU; the result is the same for any number */
    rf_progress progress;
    void *user;
} rf_review_options;

RF_API void rf_review_options_init(rf_review_options *options, size_t struct_size);
static inline rf_review_options rf_review_options_default(void)
{
    rf_review_options options;
    rf_review_options_init(&options, sizeof options);
    return options;
}

/* Classifies the texts and groups those that are rejected or doubtful. texts and lens
 * [n] may be freed afterwards; model must outlive the result. options may be NULL. The
 * same model and texts give the same bits. */
RF_API rf_review *rf_review_texts(const rf_model *model, const char *const *texts,
                                  const size_t *lens, size_t n,
                                  const rf_review_options *options, rf_error *err);
RF_API void rf_review_free(rf_review *review);

RF_API rf_review_summary rf_review_summarize(const rf_review *review);
/* The model that was asked. */
RF_API const rf_model *rf_review_model(const rf_review *review);

/* Groups, the most worthwhile first; NULL past the end. */
RF_API size_t rf_review_groups(const rf_review *review);
RF_API const rf_review_group *rf_review_group_at(const rf_review *review, size_t group);

/* Different texts: group by group, then those probably known, the likeliest first, then
 * those alone, the most frequent first. NULL past the end. */
RF_API size_t rf_review_size(const rf_review *review);
RF_API const rf_review_text *rf_review_text_at(const rf_review *review, size_t i);
/* The name of a kind: "group", "probably-known", "alone"; NULL past the end. */
RF_API const char *rf_review_kind_name(size_t kind);

/* Adds the different texts of a group to a set of labelled rows, for rf_update: as a new
 * class, or as rows of one that the model has. RF_ERR_ARG if there is no such group, and
 * for what rf_dataset_add refuses; rows may have some of the texts then. */
RF_API rf_status rf_review_add_rows(const rf_review *review, size_t group,
                                    const char *label, rf_dataset *rows, rf_error *err);

/* Writes an HTML page about it: the groups with their most central and most different
 * texts, what is probably known, and what is alone. Of the options only title counts
 * (NULL: "Texts that were rejected"). Otherwise as rf_report_model. */
RF_API rf_status rf_report_review(const rf_review *review,
                                  const rf_report_options *options, const char *path,
                                  rf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_REVIEW_H */
