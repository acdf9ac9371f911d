/*
 * swapped_columns.c - texts where labels should be
 *
 * Labels are few and short, texts are many and long. If the labels are more varied than
 * the texts and longer on average, the columns were taken the wrong way round.
 */
#include "check/simple_checks.h"

#include "data/dataset.h"

#include <string.h>

rf_status rf_check_columns(const rf_checked *c, bool *swapped, rf_error *err)
{
    size_t texts = 0;
    double text_bytes = 0.0, label_bytes = 0.0, rows = (double)c->rows;
    for (size_t i = 0; i < c->rows; i++) {
        texts += c->same_text[i] == i;
        text_bytes += (double)rf_dataset_row(c->data, i)->len;
    }
    for (size_t k = 0; k < c->classes; k++)
        label_bytes += (double)rf_groups_size(&c->by_class, k) *
                       (double)strlen(rf_dataset_label(c->data, k, NULL));
    *swapped = c->rows > 1 && c->classes > texts && label_bytes > text_bytes &&
               rf_check_wants(c, RF_FINDING_SWAPPED);
    if (!*swapped)
        return RF_OK;
    const uint32_t first[] = {0};
    rf_finding finding = rf_finding_of(RF_FINDING_SWAPPED);
    finding.n_rows = 1;
    return rf_findings_add(c, finding, first, err,
                           "there are %zu labels of %.0f bytes on average and only %zu "
                           "texts, of %.0f bytes: the columns seem to be swapped, and "
                           "nothing else was looked at",
                           c->classes, label_bytes / rows, texts, text_bytes / rows);
}
