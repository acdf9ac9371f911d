/* loop_points.c - appends to and reads loop.jsonl */
#include "lab/loop_points.h"

#include "lab/record_file.h"

#include <string.h>

#define AT(member) offsetof(rf_loop_point, member)
#define CAP(member) sizeof(((rf_loop_point *)0)->member)
#define SIZE(member)                                                                     \
    {                                                                                    \
#member, RF_FIELD_SIZE, AT(member), 0, 0, NULL                                   \
    }
#define TEXT(member)                                                                     \
    {                                                                                    \
#member, RF_FIELD_TEXT, AT(member), CAP(member), 0, NULL                         \
    }
#define FIGURES(of)                                                                      \
    {"accuracy", RF_FIELD_SHARE, AT(of.accuracy), 0, 100, #of},                          \
    {                                                                                    \
        "f1", RF_FIELD_SHARE, AT(of.f1), 0, 100, #of                                     \
    }

static const rf_field fields[] = {
    TEXT(set),
    {"ratio", RF_FIELD_REAL, AT(ratio), 0, 1, NULL},
    {"seed", RF_FIELD_SEED, AT(seed), 0, 0, NULL},
    TEXT(method),
    TEXT(encoder),
    SIZE(batch),
    SIZE(budget),
    SIZE(round),
    {"last", RF_FIELD_FLAG, AT(last), 0, 0, NULL},
    SIZE(all_classes),
    SIZE(first_classes),
    SIZE(classes),
    SIZE(texts),
    SIZE(labels),
    SIZE(named),
    SIZE(skipped),
    SIZE(rows),
    SIZE(wrong),
    {"first_f1", RF_FIELD_REAL, AT(first_f1), 0, 100, NULL},
    FIGURES(updated),
    FIGURES(trained),
    {"review", RF_FIELD_REAL, AT(review_seconds), 0, 1e12, "seconds"},
    {"update", RF_FIELD_REAL, AT(update_seconds), 0, 1e12, "seconds"},
    {"training", RF_FIELD_REAL, AT(train_seconds), 0, 1e12, "seconds"},
    TEXT(asked),
    SIZE(threads),
    TEXT(version),
    TEXT(kernels),
};

#define ORDER(member) ((a->member > b->member) - (a->member < b->member))

int rf_loop_point_compare(const rf_loop_point *a, const rf_loop_point *b)
{
    const int order[] = {strcmp(a->encoder, b->encoder),
                         strcmp(a->set, b->set),
                         ORDER(ratio),
                         strcmp(a->method, b->method),
                         ORDER(batch),
                         ORDER(budget),
                         ORDER(seed),
                         ORDER(round)};
    size_t i = 0;
    while (i + 1 < sizeof order / sizeof *order && order[i] == 0)
        i++;
    return order[i];
}

bool rf_loop_point_same(const rf_loop_point *a, const rf_loop_point *b)
{
    rf_loop_point like = *b;
    like.round = a->round;
    return rf_loop_point_compare(a, &like) == 0;
}

const rf_loop_point *rf_loop_points_find(const rf_loop_point *list, size_t n,
                                         const rf_loop_point *like)
{
    for (size_t i = 0; i < n; i++)
        if (rf_loop_point_compare(&list[i], like) == 0)
            return &list[i];
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return rf_loop_point_compare(a, b);
}

static const rf_record_file file = {
    RF_LOOP_FILE,
    {"a measured round", fields, sizeof fields / sizeof fields[0]},
    sizeof(rf_loop_point),
    compare};

rf_status rf_loop_point_append(const char *dir, const rf_loop_point *point, rf_error *err)
{
    return rf_record_append(&file, dir, point, err);
}

rf_status rf_loop_points_load(const char *dir, rf_loop_point **list, size_t *n,
                              rf_error *err)
{
    void *records;
    rf_status st = rf_records_load(&file, dir, &records, n, err);
    *list = records;
    return st;
}
