/*
 * oracle.h - a reviewer who knows the truth and looks at a few texts of each group
 *
 * Of a group it reads what the page of a review shows: the RF_ORACLE_CENTRAL most central
 * texts and the RF_ORACLE_DIFFERENT that fit least. If all of them, or all but one, have
 * the same label, the group gets it: texts that were not read, too, be it right or wrong.
 * Else the half that fits least is dropped, and what is left is looked at again, down to
 * RF_ORACLE_LEAST texts. A text that was read keeps its own label in any case. Reading a
 * text costs a label; naming a group costs nothing more. A group whose worth (size times
 * cohesion, ringfence_review.h) is below the number of texts to read is left alone.
 */
#ifndef RF_LAB_ORACLE_H
#define RF_LAB_ORACLE_H

#include "ringfence_review.h"

#define RF_ORACLE_CENTRAL 5
#define RF_ORACLE_DIFFERENT 3
#define RF_ORACLE_LEAST 5
#define RF_NO_LABEL UINT32_MAX

typedef struct rf_oracle {
    size_t n;              /* texts */
    const uint32_t *truth; /* [n] their labels; borrowed */
    uint32_t *label;       /* [n] given so far, RF_NO_LABEL: none */
    size_t budget;         /* texts that it may read; SIZE_MAX: all */
    size_t labels;         /* texts read */
    size_t named, skipped; /* groups that were looked at */
} rf_oracle;

rf_status rf_oracle_init(rf_oracle *o, const uint32_t *truth, size_t n, size_t budget,
                         rf_error *err);
void rf_oracle_release(rf_oracle *o); /* accepts a zeroed struct */

/* Labels the groups that are worth it in their order, until the budget does not suffice
 * for the next one. text [texts reviewed] has the number of each text; none of them has a
 * label. False if the budget did not suffice. */
bool rf_oracle_look(rf_oracle *o, const rf_review *review, const uint32_t *text);

#endif
