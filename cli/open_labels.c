/* open_labels.c - finds and moves rows whose label means "none of the classes" */
#include "open_labels.h"

#include "base/error.h"

#include <string.h>

static bool is_open(const text_list *labels, const char *label)
{
    for (size_t i = 0; i < labels->n; i++)
        if (strcmp(labels->item[i], label) == 0)
            return true;
    return false;
}

static rf_status check_labels(const rf_dataset *data, const text_list *labels,
                              const char *path, rf_error *err)
{
    for (size_t i = 0; i < labels->n; i++) {
        bool found = false;
        for (size_t c = 0; c < rf_dataset_classes(data) && !found; c++)
            found = strcmp(rf_dataset_label(data, c, NULL), labels->item[i]) == 0;
        if (!found)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "%s: no row has the label \"%.100s\" of --open-label; "
                           "found labels like \"%.100s\"",
                           path, labels->item[i],
                           rf_dataset_classes(data) > 0 ? rf_dataset_label(data, 0, NULL)
                                                        : "");
    }
    return RF_OK;
}

rf_status open_labels_move(rf_dataset **data, rf_dataset **open, const text_list *labels,
                           const char *path, rf_error *err)
{
    if (labels->n == 0)
        return RF_OK;
    rf_status st = check_labels(*data, labels, path, err);
    if (st != RF_OK)
        return st;
    rf_dataset *known = rf_dataset_new(err);
    if (!*open)
        *open = rf_dataset_new(err);
    if (!known || !*open) {
        rf_dataset_free(known);
        return err->code;
    }
    for (size_t i = 0; i < rf_dataset_rows(*data) && st == RF_OK; i++) {
        size_t len;
        const char *text = rf_dataset_text(*data, i, &len);
        const char *label = rf_dataset_label(*data, rf_dataset_class(*data, i), NULL);
        st = is_open(labels, label)
                 ? rf_dataset_add(*open, text, len, "open", 4, err)
                 : rf_dataset_add(known, text, len, label, strlen(label), err);
    }
    if (st != RF_OK) {
        rf_dataset_free(known);
        return st;
    }
    rf_dataset_free(*data);
    *data = known;
    return RF_OK;
}
