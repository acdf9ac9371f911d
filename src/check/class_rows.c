/* class_rows.c - labels that seem to mean "open", and classes of few rows */
#include "check/simple_checks.h"

#include "base/plural.h"

#include <string.h>

#define FEW 5 /* as rf_data_summary.few */

static rf_status open_label(const rf_checked *c, size_t k, rf_error *err)
{
    const char *label = rf_dataset_label(c->data, k, NULL);
    rf_finding finding = rf_finding_of(RF_FINDING_OPEN_LABEL);
    finding.class_index = k;
    finding.n_rows = rf_groups_size(&c->by_class, k);
    if (strcmp(label, "open") == 0)
        finding.fix =
            "train with --open-label open, or rename the class: \"open\" is the "
            "answer for texts of no class";
    else if (!rf_label_means_open(label))
        return RF_OK;
    return rf_findings_add(
        c, finding, rf_groups_at(&c->by_class, k), err,
        "%zu %s the label \"%.100s\", which would be learnt as a class", finding.n_rows,
        rf_plural(finding.n_rows, "row has", "rows have"), label);
}

static rf_status few_rows(const rf_checked *c, size_t k, rf_error *err)
{
    const uint32_t *rows = rf_groups_at(&c->by_class, k);
    rf_finding finding = rf_finding_of(RF_FINDING_FEW_ROWS);
    finding.class_index = k;
    finding.n_rows = rf_groups_size(&c->by_class, k);
    if (finding.n_rows >= FEW)
        return RF_OK;
    if (finding.n_rows == 1 && rows[0] == 0)
        finding.fix = "if this row names the columns, give --header yes; else add texts "
                      "of the class";
    return rf_findings_add(c, finding, rows, err, "class \"%.100s\" has %zu %s",
                           rf_dataset_label(c->data, k, NULL), finding.n_rows,
                           rf_plural(finding.n_rows, "row", "rows"));
}

rf_status rf_check_classes(const rf_checked *c, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t k = 0; k < c->classes && st == RF_OK; k++) {
        if (c->open[k])
            continue;
        st = open_label(c, k, err);
        if (st == RF_OK)
            st = few_rows(c, k, err);
    }
    return st;
}
