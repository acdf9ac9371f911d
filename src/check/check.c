/* check.c - rf_check: runs the parts one after another */
#include "base/options.h"
#include "check/label_errors.h"
#include "check/near_duplicates.h"
#include "check/same_texts.h"
#include "check/simple_checks.h"
#include "check/two_topics.h"

#include <stdlib.h>
#include <string.h>

void rf_check_options_init(rf_check_options *options, size_t struct_size)
{
    const rf_check_options defaults = {0};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* ---- The data ---------------------------------------------------------------------- */

static rf_status mark_open(rf_checked *c, rf_error *err)
{
    for (size_t i = 0; i < c->o.n_open_labels; i++) {
        bool any = false;
        for (size_t k = 0; k < c->classes; k++)
            if (strcmp(rf_dataset_label(c->data, k, NULL), c->o.open_labels[i]) == 0)
                any = c->open[k] = true;
        if (!any)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "no row has the open label \"%.100s\"; found labels like "
                           "\"%.100s\"",
                           c->o.open_labels[i],
                           c->classes ? rf_dataset_label(c->data, 0, NULL) : "");
    }
    return RF_OK;
}

static rf_status begin(rf_checked *c, rf_error *err)
{
    size_t threads = c->o.threads ? c->o.threads : rf_cpu_count();
    if (c->o.threads > RF_MAX_THREADS)
        return rf_fail(err, RF_ERR_ARG, 0, "%zu threads, wanted at most %d", c->o.threads,
                       RF_MAX_THREADS);
    c->rows = rf_dataset_rows(c->data);
    c->classes = rf_dataset_classes(c->data);
    c->class_of = calloc(c->rows + 1, sizeof *c->class_of);
    c->same_text = calloc(c->rows + 1, sizeof *c->same_text);
    c->open = calloc(c->classes + 1, sizeof *c->open);
    c->empty = calloc(c->rows + 1, sizeof *c->empty);
    c->found = calloc(1, sizeof *c->found);
    if (!c->class_of || !c->same_text || !c->open || !c->empty || !c->found)
        return rf_fail_nomem(err, c->rows * sizeof *c->class_of, "checking data");
    rf_buffer_init(&c->found->list, SIZE_MAX / 4, "findings");
    for (size_t i = 0; i < c->rows; i++)
        c->class_of[i] = (uint32_t)rf_dataset_class(c->data, i);
    c->team = rf_team_new(threads < RF_MAX_THREADS ? threads : RF_MAX_THREADS, err);
    if (!c->team)
        return err->code;
    rf_status st = rf_groups_init(&c->by_class, c->class_of, c->rows, c->classes, err);
    return st == RF_OK ? mark_open(c, err) : st;
}

static void end(rf_checked *c)
{
    free(c->class_of);
    free(c->same_text);
    free(c->open);
    free(c->empty);
    rf_groups_release(&c->by_class);
    rf_team_free(c->team);
}

/* ---- The parts --------------------------------------------------------------------- */

static rf_status check_plain(rf_checked *c, bool *swapped, rf_error *err)
{
    rf_status st = rf_check_progress(c, err, "comparing texts");
    if (st == RF_OK)
        st = rf_same_texts(c, err);
    if (st == RF_OK)
        st = rf_check_columns(c, swapped, err);
    if (st != RF_OK || *swapped)
        return st;
    st = rf_check_texts(c, err);
    if (st == RF_OK)
        st = rf_check_labels_alike(c, err);
    if (st == RF_OK)
        st = rf_check_classes(c, err);
    if (st == RF_OK)
        st = rf_same_texts_report(c, err);
    if (st == RF_OK && (rf_check_wants(c, RF_FINDING_NEAR_CONFLICT) ||
                        rf_check_wants(c, RF_FINDING_NEAR_DUPLICATE)))
        st = rf_near_duplicates_report(c, err);
    return st;
}

static rf_status check_encoded(rf_checked *c, rf_error *err)
{
    rf_encoded e;
    rf_status st = rf_encoded_init(&e, c, err);
    if (st != RF_OK)
        return st;
    c->found->encoded = e.n;
    rf_outside_view *views = calloc(e.n + 1, sizeof *views);
    st = views ? rf_check_progress(c, err, "looking for label errors")
               : rf_fail_nomem(err, e.n * sizeof *views, "label errors");
    if (st == RF_OK && (rf_check_wants(c, RF_FINDING_LABEL_ERROR) ||
                        rf_check_wants(c, RF_FINDING_CLASSES_ALIKE)))
        st = rf_out_of_fold(&e, NULL, c->team, views, err);
    if (st == RF_OK && rf_check_wants(c, RF_FINDING_LABEL_ERROR))
        st = rf_label_errors_report(c, &e, views, err);
    if (st == RF_OK && rf_check_wants(c, RF_FINDING_CLASSES_ALIKE))
        st = rf_classes_alike_report(c, &e, views, err);
    if (st == RF_OK)
        st = rf_check_progress(c, err, "looking for two topics in a class");
    if (st == RF_OK && rf_check_wants(c, RF_FINDING_TWO_TOPICS))
        st = rf_two_topics_report(c, &e, err);
    free(views);
    rf_encoded_release(&e);
    return st;
}

rf_findings *rf_check(const rf_dataset *data, const rf_check_options *options,
                      rf_error *err)
{
    rf_error local = {0};
    bool swapped = false;
    rf_checked c = {.data = data, .o = rf_check_options_default()};
    err = err ? err : &local;
    rf_status st = rf_options_take(&c.o, sizeof c.o, options, "rf_check_options", err);
    if (st == RF_OK)
        st = begin(&c, err);
    if (st == RF_OK)
        st = check_plain(&c, &swapped, err);
    bool encoder = !swapped && !c.o.no_encoder &&
                   (rf_check_wants(&c, RF_FINDING_LABEL_ERROR) ||
                    rf_check_wants(&c, RF_FINDING_CLASSES_ALIKE) ||
                    rf_check_wants(&c, RF_FINDING_TWO_TOPICS));
    if (st == RF_OK && encoder)
        st = check_encoded(&c, err);
    if (st == RF_OK)
        st = rf_findings_sort(c.found, err);
    end(&c);
    if (st == RF_OK)
        return c.found;
    rf_findings_free(c.found);
    return NULL;
}
