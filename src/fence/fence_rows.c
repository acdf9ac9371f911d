/* fence_rows.c - classify labelled rows and keep their best margins; folds of rows */
#include "fence/fence_rows.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_STEP 64 /* texts */

typedef struct collector {
    rf_fence_rows *r;
    size_t row;
    rf_progress progress;
    void *user;
} collector;

static rf_status collect(void *user, const rf_decision *d, rf_error *err)
{
    collector *c = user;
    rf_outcome_take(&c->r->all.row[c->row++], d->margins, c->r->classes);
    if (c->row % PROGRESS_STEP == 0 && c->progress) {
        char line[80];
        snprintf(line, sizeof line, "classifying: %zu of %zu texts", c->row, c->r->all.n);
        if (c->progress(c->user, line) != 0)
            return rf_fail(err, RF_ERR_STOPPED, 0, "stopped on request");
    }
    return RF_OK;
}

static void take_labels(rf_fence_rows *r, const rf_model *model, const rf_dataset *data)
{
    for (size_t i = 0; i < r->all.n; i++) {
        r->label[i] = (uint32_t)rf_dataset_class(data, i);
        const char *label = rf_dataset_label(data, r->label[i], NULL);
        size_t class_index = rf_model_find(model, label, strlen(label));
        r->all.row[i].hidden = class_index == RF_OPEN;
        r->all.row[i].truth = class_index == RF_OPEN ? 0 : (uint32_t)class_index;
        r->all.n_hidden += class_index == RF_OPEN;
    }
}

static rf_status classify(collector *c, const rf_model *model, const rf_dataset *data,
                          size_t threads, rf_error *err)
{
    size_t n = c->r->all.n;
    const char **texts = calloc(n + 1, sizeof *texts);
    size_t *lens = calloc(n + 1, sizeof *lens);
    rf_status st = texts && lens ? RF_OK
                                 : rf_fail_nomem(err, n * (sizeof *texts + sizeof *lens),
                                                 "the labelled rows");
    rf_session *session = st == RF_OK ? rf_session_new(model, threads, err) : NULL;
    if (st == RF_OK && !session)
        st = err->code;
    for (size_t i = 0; i < n && st == RF_OK; i++)
        texts[i] = rf_dataset_text(data, i, &lens[i]);
    if (st == RF_OK)
        st = rf_classify_all(session, texts, lens, n, collect, c, err);
    rf_session_free(session);
    free(texts);
    free(lens);
    return st;
}

rf_status rf_fence_rows_read(rf_fence_rows *r, const rf_model *model,
                             const rf_dataset *data, size_t threads, rf_progress progress,
                             void *user, rf_error *err)
{
    rf_error local = {0};
    err = err ? err : &local;
    *r = (rf_fence_rows){.classes = model->classes,
                         .labels = rf_dataset_classes(data),
                         .all = {.n = rf_dataset_rows(data)}};
    r->all.row = calloc(r->all.n + 1, sizeof *r->all.row);
    r->label = calloc(r->all.n + 1, sizeof *r->label);
    rf_status st =
        r->all.row && r->label
            ? RF_OK
            : rf_fail_nomem(err, r->all.n * sizeof *r->all.row, "the labelled rows");
    collector c = {.r = r, .progress = progress, .user = user};
    if (st == RF_OK)
        st = classify(&c, model, data, threads, err);
    if (st == RF_OK)
        take_labels(r, model, data);
    else
        rf_fence_rows_release(r);
    return st;
}

void rf_fence_rows_release(rf_fence_rows *r)
{
    rf_outcomes_release(&r->all);
    free(r->label);
    *r = (rf_fence_rows){0};
}

/* In order of labels, and at random within one, row k goes to fold k mod folds. */
rf_status rf_fence_rows_deal(const rf_fence_rows *r, size_t folds, uint64_t key,
                             uint8_t *fold, rf_error *err)
{
    size_t n = r->all.n;
    uint32_t *order = calloc(n + 1, sizeof *order);
    size_t *next = calloc(r->labels + 1, sizeof *next);
    if (!order || !next) {
        free(order);
        free(next);
        return rf_fail_nomem(err, n * sizeof *order, "the folds");
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        next[r->label[i] + 1]++;
    }
    for (size_t l = 1; l <= r->labels; l++) /* where the rows of label l begin */
        next[l] += next[l - 1];
    rf_rng rng = rf_rng_open(key);
    rf_rng_shuffle(&rng, order, n);
    for (size_t i = 0; i < n; i++)
        fold[order[i]] = (uint8_t)(next[r->label[order[i]]]++ % folds);
    free(order);
    free(next);
    return RF_OK;
}
