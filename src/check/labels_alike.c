/* labels_alike.c - one class under several spellings: "Refund Status", "refund_status" */
#include "check/simple_checks.h"

#include "check/fold.h"
#include "data/hash.h"

#include <stdlib.h>
#include <string.h>

typedef struct folded_label {
    uint64_t hash; /* of the folded label: 64 bits stand for it */
    uint32_t class;
} folded_label;

static int by_hash(const void *a, const void *b)
{
    const folded_label *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->class < y->class ? -1 : x->class > y->class;
}

/* like[k]: the first class with the folded label of class k. Classes that the caller says
 * are none, and labels of nothing but punctuation, are like no other. */
static void compare_labels(const rf_checked *c, folded_label *by, uint32_t *like)
{
    int32_t folded[RF_MAX_LABEL_BYTES + 1];
    size_t n = 0;
    for (uint32_t k = 0; k < c->classes; k++) {
        const char *label = rf_dataset_label(c->data, k, NULL);
        size_t len = c->open[k] ? 0 : rf_fold_label(label, strlen(label), folded);
        like[k] = k;
        if (len > 0)
            by[n++] = (folded_label){
                rf_hash_bytes((const char *)folded, len * sizeof *folded), k};
    }
    qsort(by, n, sizeof *by, by_hash);
    for (size_t i = 1; i < n; i++)
        if (by[i].hash == by[i - 1].hash)
            like[by[i].class] = like[by[i - 1].class];
}

/* n classes with one folded label: the rows of all but the largest. */
static rf_status report(const rf_checked *c, const uint32_t *same, size_t n,
                        uint32_t *rows, rf_error *err)
{
    size_t best = same[0], n_rows = 0, another = SIZE_MAX;
    for (size_t i = 1; i < n; i++)
        if (rf_groups_size(&c->by_class, same[i]) > rf_groups_size(&c->by_class, best))
            best = same[i];
    for (size_t i = 0; i < n; i++) {
        size_t k = same[i], size = rf_groups_size(&c->by_class, k);
        if (k == best)
            continue;
        another = another == SIZE_MAX ? k : another;
        memcpy(rows + n_rows, rf_groups_at(&c->by_class, k), size * sizeof *rows);
        n_rows += size;
    }
    rf_finding finding = rf_finding_of(RF_FINDING_LABELS_ALIKE);
    finding.n_rows = n_rows;
    finding.class_index = another;
    finding.other_class = finding.suggested = best;
    return rf_findings_add(
        c, finding, rows, err,
        "\"%.100s\" (%zu) and \"%.100s\" (%zu)%s seem to be one class",
        rf_dataset_label(c->data, best, NULL), rf_groups_size(&c->by_class, best),
        rf_dataset_label(c->data, another, NULL), rf_groups_size(&c->by_class, another),
        n > 2 ? " and more spellings" : "");
}

rf_status rf_check_labels_alike(const rf_checked *c, rf_error *err)
{
    rf_groups g = {0};
    folded_label *by = calloc(c->classes + 1, sizeof *by);
    uint32_t *like = calloc(c->classes + 1, sizeof *like);
    uint32_t *rows = calloc(c->rows + 1, sizeof *rows);
    rf_status st = by && like && rows
                       ? RF_OK
                       : rf_fail_nomem(err, c->classes * sizeof *by, "labels");
    if (st == RF_OK) {
        compare_labels(c, by, like);
        st = rf_groups_init(&g, like, c->classes, c->classes, err);
    }
    for (size_t k = 0; k < c->classes && st == RF_OK; k++)
        if (rf_groups_size(&g, k) > 1)
            st = report(c, rf_groups_at(&g, k), rf_groups_size(&g, k), rows, err);
    rf_groups_release(&g);
    free(by);
    free(like);
    free(rows);
    return st;
}
