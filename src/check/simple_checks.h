/*
 * simple_checks.h - what texts, labels and columns show by themselves
 */
#ifndef RF_CHECK_SIMPLE_CHECKS_H
#define RF_CHECK_SIMPLE_CHECKS_H

#include "check/findings.h"

/* Columns that seem swapped; *swapped tells. (swapped_columns.c) */
rf_status rf_check_columns(const rf_checked *c, bool *swapped, rf_error *err);

/* Empty texts, and spoiled ones. (spoiled_texts.c) */
rf_status rf_check_texts(const rf_checked *c, rf_error *err);

/* Labels that differ only in case, spacing or punctuation. (labels_alike.c) */
rf_status rf_check_labels_alike(const rf_checked *c, rf_error *err);

/* Labels that seem to mean "open", and classes of few rows. (class_rows.c) */
rf_status rf_check_classes(const rf_checked *c, rf_error *err);

/* How a wrong encoding has spoiled a text. */
typedef enum rf_spoiled {
    RF_SPOILED_NOT,
    RF_SPOILED_BYTES,    /* not UTF-8, as of Latin-1 or Windows-1252 */
    RF_SPOILED_LOST,     /* U+FFFD: a program put it for what it could not read */
    RF_SPOILED_MOJIBAKE, /* UTF-8 that was read as Latin-1: e acute has become two letters
                          */
    RF_SPOILED_KINDS
} rf_spoiled;
rf_spoiled rf_text_spoiled(const char *text, size_t len);

#endif
