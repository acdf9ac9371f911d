/*
 * label_errors.c - probable label errors, as confident learning finds them
 *
 * (Northcutt and others 2021.) A row is suspected if another class fits it clearly better
 * than its own, judged without the row. Wrong labels also spoil what the others are
 * judged by, so this is done twice: what the first pass suspects, the second is not
 * fitted to.
 */
#include "check/label_errors.h"

#include <math.h>
#include <stdlib.h>

/* Chosen on oos and stackoverflow with changed labels (docs/RESULTS.md). */
#define LEAST_GAP 4.0f

static int by_gap(const void *a, const void *b)
{
    const rf_label_error *x = a, *y = b;
    if (x->gap != y->gap)
        return x->gap > y->gap ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static size_t list_errors(const rf_encoded *e, const rf_outside_view *views,
                          rf_label_error *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        float gap = views[i].best - views[i].own;
        if (gap > LEAST_GAP) /* false for NAN */
            out[n++] = (rf_label_error){i, views[i].other, gap};
    }
    qsort(out, n, sizeof *out, by_gap);
    return n;
}

rf_status rf_label_errors(const rf_encoded *e, const rf_outside_view *views,
                          rf_team *team, rf_label_error *out, size_t *n, rf_error *err)
{
    bool *suspected = calloc(e->n + 1, sizeof *suspected);
    rf_outside_view *again = calloc(e->n + 1, sizeof *again);
    rf_status st = suspected && again
                       ? RF_OK
                       : rf_fail_nomem(err, e->n * sizeof *again, "label errors");
    if (st == RF_OK) {
        *n = list_errors(e, views, out);
        for (size_t i = 0; i < *n; i++)
            suspected[out[i].row] = true;
        st = rf_out_of_fold(e, suspected, team, again, err);
    }
    if (st == RF_OK)
        *n = list_errors(e, again, out);
    free(suspected);
    free(again);
    return st;
}

rf_status rf_label_errors_report(const rf_checked *c, const rf_encoded *e,
                                 const rf_outside_view *views, rf_error *err)
{
    size_t n = 0;
    rf_label_error *errors = calloc(e->n + 1, sizeof *errors);
    rf_status st = errors ? rf_label_errors(e, views, c->team, errors, &n, err)
                          : rf_fail_nomem(err, e->n * sizeof *errors, "label errors");
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        rf_finding finding = rf_finding_of(RF_FINDING_LABEL_ERROR);
        finding.n_rows = 1;
        finding.class_index = e->class_at[e->class_of[errors[i].row]];
        finding.other_class = finding.suggested = e->class_at[errors[i].class];
        finding.score = (double)errors[i].gap;
        st = rf_findings_add(c, finding, &e->rows[errors[i].row], err,
                             "labelled \"%.100s\", looks like \"%.100s\"",
                             rf_dataset_label(c->data, finding.class_index, NULL),
                             rf_dataset_label(c->data, finding.suggested, NULL));
    }
    free(errors);
    return st;
}
