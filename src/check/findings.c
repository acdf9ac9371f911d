/* findings.c - the list of findings: adding, sorting, reading back */
#include "check/findings.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE 512 /* bytes of one, labels are cut to 100 each */

static const struct {
    const char *name, *title, *fix;
} kinds[RF_FINDING_KINDS] = {
    [RF_FINDING_SWAPPED] = {"swapped-columns",
                            "texts and labels seem to have changed places",
                            "give --text-column and --label-column, or swap the columns"},
    [RF_FINDING_ENCODING] = {"encoding", "characters spoiled by a wrong encoding",
                             "export the data again as UTF-8, or correct these texts"},
    [RF_FINDING_EMPTY] = {"empty-text", "texts of nothing but white space",
                          "delete these rows, or fill in their texts"},
    [RF_FINDING_CONFLICT] = {"conflict", "the same text under several labels",
                             "decide on one label and delete the other rows"},
    [RF_FINDING_NEAR_CONFLICT] = {"near-conflict",
                                  "nearly the same text under several labels",
                                  "give them one label, unless the small difference is "
                                  "what tells the classes apart"},
    [RF_FINDING_LABELS_ALIKE] =
        {"labels-alike", "labels that differ only in case, spacing or punctuation",
         "use one spelling for the class"},
    [RF_FINDING_OPEN_LABEL] = {"open-label",
                               "labels that seem to mean \"none of the classes\"",
                               "if so, train with --open-label and this label; else "
                               "rename it"},
    [RF_FINDING_FEW_ROWS] = {"few-rows", "classes with fewer than five rows",
                             "add texts of the class, merge it with another, or leave "
                             "it out"},
    [RF_FINDING_LABEL_ERROR] = {"label-error", "texts that probably have a wrong label",
                                "read the text and correct the label if you agree"},
    [RF_FINDING_CLASSES_ALIKE] = {"classes-alike",
                                  "pairs of classes that cannot be told apart",
                                  "merge the two classes, or write down what tells them "
                                  "apart and label these rows again"},
    [RF_FINDING_TWO_TOPICS] = {"two-topics", "classes that seem to be two topics",
                               "make the smaller group a class of its own, or label it "
                               "again"},
    [RF_FINDING_DUPLICATE] = {"duplicate", "the same text again, with the same label",
                              "keep the first of these rows"},
    [RF_FINDING_NEAR_DUPLICATE] = {"near-duplicate",
                                   "nearly the same text again, with the same label",
                                   "keep one of these rows, and never have one in the "
                                   "training set and another in the test set"},
};

const char *rf_finding_name(size_t kind, const char **title)
{
    if (kind >= RF_FINDING_KINDS)
        return NULL;
    if (title)
        *title = kinds[kind].title;
    return kinds[kind].name;
}

rf_status rf_check_progress(const rf_checked *c, rf_error *err, const char *fmt, ...)
{
    char line[MESSAGE];
    va_list ap;
    if (!c->o.progress)
        return RF_OK;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return c->o.progress(c->o.user, line) == 0
               ? RF_OK
               : rf_fail(err, RF_ERR_STOPPED, 0, "the check was stopped");
}

/* ---- Adding ------------------------------------------------------------------------ */

rf_finding rf_finding_of(rf_finding_kind kind)
{
    return (rf_finding){.kind = kind,
                        .class_index = SIZE_MAX,
                        .other_class = SIZE_MAX,
                        .suggested = SIZE_MAX};
}

rf_status rf_findings_add(const rf_checked *c, rf_finding finding, const uint32_t *rows,
                          rf_error *err, const char *fmt, ...)
{
    char line[MESSAGE];
    va_list ap;
    if (!rf_check_wants(c, finding.kind))
        return RF_OK;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    size_t bytes = strlen(line) + 1;
    size_t *copy = calloc(finding.n_rows + 1, sizeof *copy);
    char *message = malloc(bytes);
    if (!copy || !message) {
        free(copy);
        free(message);
        return rf_fail_nomem(err, finding.n_rows * sizeof *copy + bytes, "a finding");
    }
    for (size_t i = 0; i < finding.n_rows; i++)
        copy[i] = rows[i];
    finding.rows = copy;
    finding.message = memcpy(message, line, bytes);
    finding.fix = finding.fix ? finding.fix : kinds[finding.kind].fix;
    rf_status st = rf_buffer_add(&c->found->list, &finding, sizeof finding, err);
    if (st != RF_OK) {
        free(copy);
        free(message);
    }
    return st;
}

/* ---- Groups of texts --------------------------------------------------------------- */

/* The most frequent class of the rows, SIZE_MAX if two are; counts as scratch. */
static size_t most_frequent(const rf_checked *c, const uint32_t *rows, size_t n,
                            uint32_t *counts, size_t *n_labels)
{
    size_t best = SIZE_MAX;
    bool tie = false;
    *n_labels = 0;
    for (size_t i = 0; i < n; i++)
        *n_labels += counts[c->class_of[rows[i]]]++ == 0;
    for (size_t i = 0; i < n; i++) {
        size_t class = c->class_of[rows[i]];
        if (best == SIZE_MAX || counts[class] > counts[best]) {
            best = class;
            tie = false;
        } else if (class != best && counts[class] == counts[best]) {
            tie = true;
        }
    }
    for (size_t i = 0; i < n; i++)
        counts[c->class_of[rows[i]]] = 0;
    return tie ? SIZE_MAX : best;
}

/* Moves the rows of a class to the front; returns their number. */
static size_t good_first(const rf_checked *c, uint32_t *rows, size_t n, size_t class)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t row = rows[i];
        if (c->class_of[row] != class)
            continue;
        rows[i] = rows[good];
        rows[good++] = row;
    }
    return good;
}

rf_status rf_findings_add_texts(const rf_checked *c, rf_finding_kind duplicate,
                                rf_finding_kind conflict, uint32_t *rows, size_t n,
                                double score, const char *how, uint32_t *scratch,
                                rf_error *err)
{
    size_t labels, most = most_frequent(c, rows, n, scratch, &labels);
    rf_finding finding = rf_finding_of(labels == 1 ? duplicate : conflict);
    finding.n_rows = n;
    finding.score = score;
    finding.class_index = c->class_of[rows[0]];
    if (labels == 1) {
        finding.n_good = 1;
        return rf_findings_add(c, finding, rows, err, "%zu rows have %s", n, how);
    }
    for (size_t i = 1; i < n && finding.other_class == SIZE_MAX; i++)
        if (c->class_of[rows[i]] != finding.class_index)
            finding.other_class = c->class_of[rows[i]];
    const char *a = rf_dataset_label(c->data, finding.class_index, NULL);
    const char *b = rf_dataset_label(c->data, finding.other_class, NULL);
    finding.suggested = most;
    if (most != SIZE_MAX)
        finding.n_good = good_first(c, rows, n, most);
    return rf_findings_add(c, finding, rows, err,
                           "%zu rows have %s and %zu labels: \"%.100s\", \"%.100s\"%s", n,
                           how, labels, a, b, labels > 2 ? ", ..." : "");
}

/* ---- The list ---------------------------------------------------------------------- */

size_t rf_findings_count(const rf_findings *found)
{
    return found->list.len / sizeof(rf_finding);
}

const rf_finding *rf_findings_at(const rf_findings *found, size_t i)
{
    const rf_finding *list = (const rf_finding *)(const void *)found->list.data;
    return i < rf_findings_count(found) ? list + i : NULL;
}

size_t rf_findings_encoded(const rf_findings *found)
{
    return found->encoded;
}

rf_status rf_findings_sort(rf_findings *found, rf_error *err)
{
    size_t n = rf_findings_count(found), bytes = n * sizeof(rf_finding), at = 0;
    rf_finding *sorted = malloc(bytes ? bytes : 1);
    if (!sorted)
        return rf_fail_nomem(err, bytes, "the findings");
    for (size_t kind = 0; kind < RF_FINDING_KINDS; kind++)
        for (size_t i = 0; i < n; i++)
            if (rf_findings_at(found, i)->kind == kind)
                sorted[at++] = *rf_findings_at(found, i);
    if (bytes)
        memcpy(found->list.data, sorted, bytes);
    free(sorted);
    return RF_OK;
}

void rf_findings_free(rf_findings *found)
{
    if (!found)
        return;
    for (size_t i = 0; i < rf_findings_count(found); i++) {
        const rf_finding *f = rf_findings_at(found, i);
        free((void *)f->rows); /* const is for the caller */
        free((void *)f->message);
    }
    rf_buffer_release(&found->list);
    free(found);
}
