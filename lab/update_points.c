/* update_points.c - appends to and reads updates.jsonl */
#include "lab/update_points.h"

#include "lab/record_file.h"

#include <string.h>

#define AT(member) offsetof(rf_update_point, member)
#define CAP(member) sizeof(((rf_update_point *)0)->member)

/* The figures of a model, in an object of their own. */
#define FIGURES(of)                                                                      \
    {"accuracy", RF_FIELD_REAL, AT(of.accuracy), 0, 100, #of},                           \
        {"f1", RF_FIELD_REAL, AT(of.f1), 0, 100, #of},                                   \
        {"f1_known", RF_FIELD_REAL, AT(of.f1_known), 0, 100, #of},                       \
        {"f1_open", RF_FIELD_REAL, AT(of.f1_open), 0, 100, #of},                         \
        {"closed", RF_FIELD_SHARE, AT(of.closed), 0, 100, #of},                          \
        {"auroc", RF_FIELD_SHARE, AT(of.auroc), 0, 100, #of},                            \
        {"best_f1", RF_FIELD_SHARE, AT(of.best_f1), 0, 100, #of},                        \
    {                                                                                    \
        "best_accuracy", RF_FIELD_SHARE, AT(of.best_accuracy), 0, 100, #of               \
    }

static const rf_field fields[] = {
    {"set", RF_FIELD_TEXT, AT(set), CAP(set), 0, NULL},
    {"from", RF_FIELD_REAL, AT(from), 0, 1, NULL},
    {"seed", RF_FIELD_SEED, AT(seed), 0, 0, NULL},
    {"method", RF_FIELD_TEXT, AT(method), CAP(method), 0, NULL},
    {"encoder", RF_FIELD_TEXT, AT(encoder), CAP(encoder), 0, NULL},
    {"classes", RF_FIELD_SIZE, AT(classes), 0, 0, NULL},
    {"first_classes", RF_FIELD_SIZE, AT(first_classes), 0, 0, NULL},
    {"train_rows", RF_FIELD_SIZE, AT(train_rows), 0, 0, NULL},
    {"classes_sha256", RF_FIELD_TEXT, AT(classes_sha256), CAP(classes_sha256), 0, NULL},
    {"asked", RF_FIELD_TEXT, AT(asked), CAP(asked), 0, NULL},
    FIGURES(updated),
    FIGURES(trained),
    {"n", RF_FIELD_SIZE, AT(updates.n), 0, 0, "updates"},
    {"seconds", RF_FIELD_REAL, AT(updates.seconds), 0, 1e12, "updates"},
    {"longest", RF_FIELD_REAL, AT(updates.longest), 0, 1e12, "updates"},
    {"cpu", RF_FIELD_REAL, AT(updates.cpu), 0, 1e12, "updates"},
    {"heads", RF_FIELD_SIZE, AT(updates.heads), 0, 0, "updates"},
    {"fitted", RF_FIELD_SIZE, AT(updates.fitted), 0, 0, "updates"},
    {"refits", RF_FIELD_SIZE, AT(updates.refits), 0, 0, "updates"},
    {"seconds", RF_FIELD_REAL, AT(train_seconds), 0, 1e12, "training"},
    {"cpu", RF_FIELD_REAL, AT(train_cpu), 0, 1e12, "training"},
    {"threads", RF_FIELD_SIZE, AT(threads), 0, 0, NULL},
    {"version", RF_FIELD_TEXT, AT(version), CAP(version), 0, NULL},
    {"kernels", RF_FIELD_TEXT, AT(kernels), CAP(kernels), 0, NULL},
};

/* ---- Keys -------------------------------------------------------------------------- */

int rf_update_point_compare(const rf_update_point *a, const rf_update_point *b)
{
    int c = strcmp(a->encoder, b->encoder);
    if (c == 0)
        c = strcmp(a->set, b->set);
    if (c == 0)
        c = (a->from > b->from) - (a->from < b->from);
    if (c == 0)
        c = strcmp(a->method, b->method);
    if (c == 0)
        c = (a->classes > b->classes) - (a->classes < b->classes);
    return c ? c : (a->seed > b->seed) - (a->seed < b->seed);
}

const rf_update_point *rf_update_points_find(const rf_update_point *list, size_t n,
                                             const rf_update_point *like)
{
    for (size_t i = 0; i < n; i++)
        if (rf_update_point_compare(&list[i], like) == 0)
            return &list[i];
    return NULL;
}

/* ---- The file ---------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return rf_update_point_compare(a, b);
}

static const rf_record_file file = {
    RF_UPDATES_FILE,
    {"a measured update", fields, sizeof fields / sizeof fields[0]},
    sizeof(rf_update_point),
    compare};

rf_status rf_update_point_append(const char *dir, const rf_update_point *point,
                                 rf_error *err)
{
    return rf_record_append(&file, dir, point, err);
}

rf_status rf_update_points_load(const char *dir, rf_update_point **list, size_t *n,
                                rf_error *err)
{
    void *records;
    rf_status st = rf_records_load(&file, dir, &records, n, err);
    *list = records;
    return st;
}
