/* class_plan.c - edits of classes: what every class of the old model and of the new rows
 * is called afterwards, and which number that name has */
#include "update/updating.h"

#include <stdlib.h>
#include <string.h>

uint32_t rf_update_became(const rf_updating *u, size_t old_class)
{
    uint32_t name = u->old_name[old_class];
    return name == RF_NO_CLASS ? RF_NO_CLASS : u->number[name];
}

static rf_status add_name(rf_updating *u, const char *label, uint32_t *name)
{
    size_t len = strlen(label);
    rf_error why = {0};
    rf_status st = rf_label_check(&label, &len, &why);
    if (st != RF_OK)
        return rf_fail(u->err, RF_ERR_ARG, 0, "\"%.60s\" cannot be a label: %s", label,
                       why.msg);
    if (len == 4 && memcmp(label, "open", 4) == 0)
        return rf_fail(u->err, RF_ERR_ARG, 0,
                       "no class can be called \"open\", which is the answer for texts "
                       "of no class");
    return rf_labels_add(u->names, label, len, name, u->err);
}

/* The edit of each class; NULL: none. */
static rf_status find_edits(rf_updating *u, const rf_class_edit **edit_of)
{
    for (size_t i = 0; i < u->o.n_edits; i++) {
        const rf_class_edit *e = &u->o.edits[i];
        size_t c = e->from ? rf_model_find(u->old, e->from, strlen(e->from)) : RF_OPEN;
        if (c == RF_OPEN)
            return rf_fail(u->err, RF_ERR_ARG, 0, "the model has no class \"%.60s\"",
                           e->from ? e->from : "");
        if (edit_of[c])
            return rf_fail(u->err, RF_ERR_ARG, 0,
                           "class \"%.60s\" is to be renamed, merged or removed twice",
                           e->from);
        edit_of[c] = e;
    }
    return RF_OK;
}

/* Two classes get one name only if they are to be merged. */
static rf_status check_shared(const rf_updating *u, const rf_class_edit *const *edit_of)
{
    for (size_t c = 0; c < u->old->classes; c++)
        for (size_t o = 0; o < u->old->classes; o++) {
            if (o == c || !edit_of[c] || edit_of[c]->merge ||
                u->old_name[c] == RF_NO_CLASS || u->old_name[o] != u->old_name[c])
                continue;
            return rf_fail(u->err, RF_ERR_ARG, 0,
                           "class \"%.60s\" cannot be renamed to \"%.60s\", which is "
                           "another class: merge the two instead",
                           edit_of[c]->from, edit_of[c]->to);
        }
    return RF_OK;
}

static rf_status name_old_classes(rf_updating *u, const rf_class_edit **edit_of)
{
    rf_status st = find_edits(u, edit_of);
    for (size_t c = 0; c < u->old->classes && st == RF_OK; c++) {
        u->old_name[c] = RF_NO_CLASS;
        if (!edit_of[c])
            st = add_name(u, u->old->labels[c], &u->old_name[c]);
        else if (edit_of[c]->to)
            st = add_name(u, edit_of[c]->to, &u->old_name[c]);
    }
    return st == RF_OK && u->o.n_edits > 0 ? check_shared(u, edit_of) : st;
}

rf_status rf_update_plan_classes(rf_updating *u)
{
    size_t classes = u->old->classes;
    size_t of_data = u->data ? rf_dataset_classes(u->data) : 0;
    const rf_class_edit **edit_of = calloc(classes, sizeof *edit_of);
    u->names = rf_labels_new(u->err);
    u->old_name = calloc(classes, sizeof *u->old_name);
    u->data_name = calloc(of_data + 1, sizeof *u->data_name);
    rf_status st = edit_of && u->names && u->old_name && u->data_name
                       ? name_old_classes(u, edit_of)
                       : rf_fail_nomem(u->err, classes * sizeof *edit_of, "the classes");
    for (size_t c = 0; c < of_data && st == RF_OK; c++)
        st = add_name(u, rf_dataset_label(u->data, c, NULL), &u->data_name[c]);
    free(edit_of);
    if (st != RF_OK)
        return st;
    size_t n = rf_labels_size(u->names);
    u->number = calloc(n + 1, sizeof *u->number);
    u->touched = calloc(n + 1, sizeof *u->touched);
    return u->number && u->touched
               ? RF_OK
               : rf_fail_nomem(u->err, n * sizeof *u->number, "the classes");
}

/* A class stays as it is if it was one class before, with the same rows. */
static rf_status find_untouched(rf_updating *u)
{
    size_t classes = u->t.model->classes;
    u->from = calloc(classes, sizeof *u->from);
    size_t *sources = calloc(classes, sizeof *sources);
    if (!u->from || !sources) {
        free(sources);
        return rf_fail_nomem(u->err, classes * sizeof *u->from, "the classes");
    }
    for (size_t c = 0; c < u->old->classes; c++) {
        uint32_t to = rf_update_became(u, c);
        if (to == RF_NO_CLASS)
            continue;
        u->from[to] = c;
        sources[to]++;
    }
    for (size_t i = 0; i < rf_labels_size(u->names); i++) {
        uint32_t c = u->number[i];
        if (c == RF_NO_CLASS)
            continue;
        if (sources[c] != 1 || u->touched[i])
            u->from[c] = RF_FIT_ANEW;
        u->differs |= u->from[c] == RF_FIT_ANEW;
    }
    u->differs |= u->n_removed > 0;
    for (size_t i = 0; i < u->n_old; i++)
        u->n_joined += !u->rows[i].relabelled && sources[u->number[u->rows[i].name]] > 1;
    free(sources);
    return RF_OK;
}

rf_status rf_update_number_classes(rf_updating *u)
{
    size_t names = rf_labels_size(u->names), n = 0;
    const char **labels = calloc(names + 1, sizeof *labels);
    uint32_t *by_rank = calloc(names + 1, sizeof *by_rank);
    if (!labels || !by_rank) {
        free(labels);
        free(by_rank);
        return rf_fail_nomem(u->err, names * sizeof *labels, "the labels");
    }
    for (size_t i = 0; i < u->n_rows; i++)
        rf_labels_count(u->names, u->rows[i].name);
    for (size_t i = 0; i < names; i++)
        by_rank[rf_labels_rank(u->names, (uint32_t)i)] = (uint32_t)i;
    for (size_t rank = 0; rank < names; rank++) {
        size_t rows;
        const char *label = rf_labels_at(u->names, rank, &rows);
        u->number[by_rank[rank]] = rows ? (uint32_t)n : RF_NO_CLASS;
        if (rows)
            labels[n++] = label;
    }
    rf_status st = n ? rf_model_set_labels(u->t.model, labels, n, u->err)
                     : rf_fail(u->err, RF_ERR_ARG, 0,
                               "no class would be left: a model needs at least one");
    free(labels);
    free(by_rank);
    return st == RF_OK ? find_untouched(u) : st;
}
