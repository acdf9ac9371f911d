/*
 * reviewing.h - the parts of rf_review_texts, in the order in which they run
 *
 *   answers   classify all texts and keep those in question (review.c)
 *   copies    equal and nearly equal texts count once (copies.c)
 *   groups    of the different ones, in feature space (grouping.c)
 *   names     from the words that are distinctive for a group (names.c)
 *   result    kinds, cohesion and order (result.c)
 */
#ifndef RF_REVIEW_REVIEWING_H
#define RF_REVIEW_REVIEWING_H

#include "base/buffer.h"
#include "base/team.h"
#include "check/groups.h"
#include "model/model.h"
#include "review/class_scale.h"
#include "review/grouping.h"
#include "ringfence_review.h"

#define RF_REVIEW_NAME 96 /* bytes of a name, NUL included */

struct rf_review {
    const rf_model *model;
    rf_dataset *data;      /* the texts in question, all of them */
    size_t *rows;          /* those of each text, one after another */
    rf_review_text *texts; /* [n] */
    size_t n;
    rf_review_group *groups; /* [n_groups] */
    size_t n_groups;
    char (*names)[RF_REVIEW_NAME]; /* [n_groups] */
    rf_review_summary summary;
};

/* A text in question, as it was answered. */
typedef struct rf_questioned {
    size_t row; /* of the texts given */
    uint32_t class_index;
    float margin, confidence;
    bool rejected;
} rf_questioned;

typedef struct rf_reviewing {
    const rf_model *model;
    rf_review_options o;
    rf_error *err; /* not NULL */
    rf_team *team;
    size_t n_texts, n_answered;
    rf_buffer questioned; /* [n] of rf_questioned */
    rf_buffer features;   /* [n, width], of unit length */
    size_t n;

    uint32_t *same;  /* [n] the first of the texts that count as one */
    bool *empty;     /* [n] nothing but white space */
    uint32_t *point; /* [points] the different texts that are grouped */
    size_t points;
    uint32_t *group_of; /* [n] of the first of each kind; RF_NO_GROUP */
    float *fit_of;      /* [n] likewise */
    rf_grouping g;
    double within, between; /* mean cosines of known classes; see class_scale.h */
    rf_review *out;
} rf_reviewing;

static inline const rf_questioned *rf_questioned_at(const rf_reviewing *r, size_t i)
{
    return (const rf_questioned *)(const void *)r->questioned.data + i;
}

static inline float *rf_reviewing_feature(const rf_reviewing *r, size_t i)
{
    return (float *)(void *)r->features.data + i * r->model->known.width;
}

/* RF_ERR_STOPPED if the caller wants it. */
rf_status rf_reviewing_progress(rf_reviewing *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills same, empty and point. */
rf_status rf_reviewing_find_copies(rf_reviewing *r);

/* The texts of each group, from group [n] with RF_NO_GROUP for none. */
rf_status rf_review_list_groups(rf_groups *lists, const uint32_t *group, size_t n,
                                size_t groups, rf_error *err);

/* Names for the groups; group [n] of the texts of data, RF_NO_GROUP for none. No two are
 * equal, nor is one a class of m. */
rf_status rf_review_names(const rf_model *m, const rf_dataset *data,
                          const uint32_t *group, size_t groups,
                          char (*names)[RF_REVIEW_NAME], rf_error *err);

/* Fills r->out. */
rf_status rf_reviewing_conclude(rf_reviewing *r);

#endif
