/*
 * same_texts.h - rows whose texts differ in nothing but case and spacing
 */
#ifndef RF_CHECK_SAME_TEXTS_H
#define RF_CHECK_SAME_TEXTS_H

#include "check/findings.h"

/* Fills c->same_text and c->empty. */
rf_status rf_same_texts(rf_checked *c, rf_error *err);

/* Adds duplicates, and conflicts of labels. */
rf_status rf_same_texts_report(const rf_checked *c, rf_error *err);

#endif
