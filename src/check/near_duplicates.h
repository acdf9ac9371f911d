/*
 * near_duplicates.h - texts that are nearly the same, among any number of rows
 *
 * MinHash (Broder 1997): under a random order of all pieces, two texts have the same
 * first piece with a probability that is their similarity. 160 such orders, in 20 bands
 * of 8: texts that agree in a whole band are compared exactly. Pairs of similarity 0.8
 * are met in 97 of 100 cases, of 0.85 in 99.8, of 0.5 in 8.
 *
 * The work is linear in the rows: within a band a text is compared with at most the 8
 * before it. Memory is about 110 bytes a row.
 */
#ifndef RF_CHECK_NEAR_DUPLICATES_H
#define RF_CHECK_NEAR_DUPLICATES_H

#include "check/findings.h"

#define RF_NEAR_SIMILARITY 0.8

/* Texts in groups: group[i] is the first text of its group, itself if it is alone;
 * lowest[i], for such a first text, is the lowest similarity by which two were joined.
 * Both [n]; rows [n] are the texts' rows. */
rf_status rf_near_duplicates(const rf_checked *c, const uint32_t *rows, size_t n,
                             uint32_t *group, float *lowest, rf_error *err);

/* Among rows that are not the same text: adds near duplicates and near conflicts. */
rf_status rf_near_duplicates_report(const rf_checked *c, rf_error *err);

#endif
