/*
 * findings.h - what the parts of a check share: the data, and the list that they add to
 */
#ifndef RF_CHECK_FINDINGS_H
#define RF_CHECK_FINDINGS_H

#include "base/buffer.h"
#include "base/team.h"
#include "check/groups.h"
#include "ringfence_improve.h"

struct rf_findings {
    rf_buffer list; /* of rf_finding; rows and message of each are its own */
    size_t encoded;
};

typedef struct rf_checked {
    const rf_dataset *data;
    rf_check_options o;
    size_t rows, classes;
    uint32_t *class_of;  /* [rows] */
    rf_groups by_class;  /* rows of each class */
    bool *open;          /* [classes] the caller says that it is none */
    bool *empty;         /* [rows] nothing but white space */
    uint32_t *same_text; /* [rows] the first row with this text, but for case and spacing;
                          * an empty one is its own */
    rf_team *team;
    rf_findings *found;
} rf_checked;

/* Whether this kind is wanted. */
static inline bool rf_check_wants(const rf_checked *c, rf_finding_kind kind)
{
    return !(c->o.ignore >> kind & 1);
}

/* RF_ERR_STOPPED if the caller wants it. */
rf_status rf_check_progress(const rf_checked *c, rf_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A finding of this kind about no rows and no class. */
rf_finding rf_finding_of(rf_finding_kind kind);

/* Adds a finding with a copy of these rows, and the message. finding.rows is not read; a
 * NULL fix stands for the usual one of its kind. A kind that is not wanted is dropped. */
rf_status rf_findings_add(const rf_checked *c, rf_finding finding, const uint32_t *rows,
                          rf_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Rows that are the same text, or nearly: a duplicate if they have one label, else a
 * conflict, whose most frequent label is suggested if no other is as frequent. how is
 * "the same text"; rows are reordered, good ones first. scratch: [classes] of zeroes,
 * and zeroes again afterwards. */
rf_status rf_findings_add_texts(const rf_checked *c, rf_finding_kind duplicate,
                                rf_finding_kind conflict, uint32_t *rows, size_t n,
                                double score, const char *how, uint32_t *scratch,
                                rf_error *err);

/* Sorts the findings by kind; within a kind they stay in order. */
rf_status rf_findings_sort(rf_findings *found, rf_error *err);

#endif
