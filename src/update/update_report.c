/*
 * update_report.c - what an update changed: a record in the model's summary, and a report
 * for the caller with the answers before and after
 */
#include "update/updating.h"

#include "answer/judge.h"
#include "base/clock.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 20 /* updates that a model remembers; it counts them all */
#define SHOWN_TEXTS 5
/* Rows times classes that are judged to find changed answers: beyond it, only some rows
 * are, evenly spaced. */
#define JUDGED ((size_t)300000)

/* Retraining is worth it once the encoder was tuned on less than this share of the
 * present rows or classes. */
#define SEEN_ENOUGH (2.0 / 3.0)

static bool put(json_t *to, const char *key, json_t *value)
{
    return json_object_set_new(to, key, value) == 0;
}

/* ---- Classes ----------------------------------------------------------------------- */

/* Appends an old class to the list it belongs to. */
static bool list_old_class(const rf_updating *u, size_t c, const size_t *sources,
                           json_t *removed, json_t *renamed, json_t *merged)
{
    const char *before = u->old->labels[c];
    uint32_t now = rf_update_became(u, c);
    if (now == RF_NO_CLASS)
        return json_array_append_new(removed, json_string(before)) == 0;
    const char *after = u->t.model->labels[now];
    if (sources[now] == 1 && strcmp(before, after) == 0)
        return true;
    json_t *list = sources[now] > 1 ? merged : renamed;
    return json_array_append_new(
               list, json_pack("{s:s, s:s}", "from", before, "to", after)) == 0;
}

static bool put_classes(const rf_updating *u, json_t *to)
{
    const rf_model *m = u->t.model;
    json_t *added = json_array(), *removed = json_array(), *renamed = json_array(),
           *merged = json_array(), *fitted = json_array();
    size_t *sources = calloc(m->classes + 1, sizeof *sources);
    bool good = added && removed && renamed && merged && fitted && sources;
    for (size_t c = 0; c < u->old->classes && good; c++) {
        uint32_t now = rf_update_became(u, c);
        if (now != RF_NO_CLASS)
            sources[now]++;
    }
    for (size_t c = 0; c < u->old->classes && good; c++)
        good = list_old_class(u, c, sources, removed, renamed, merged);
    for (size_t c = 0; c < m->classes && good; c++) {
        if (sources[c] == 0)
            good = json_array_append_new(added, json_string(m->labels[c])) == 0;
        if (good && u->from[c] == RF_FIT_ANEW)
            good = json_array_append_new(fitted, json_string(m->labels[c])) == 0;
    }
    free(sources);
    good &= put(to, "added", added);
    good &= put(to, "removed", removed);
    good &= put(to, "renamed", renamed);
    good &= put(to, "merged", merged);
    good &= put(to, "fitted", fitted);
    return good;
}

/* Classes with a row that the encoder was tuned on. */
static size_t count_seen_classes(const rf_updating *u)
{
    size_t n = 0, classes = u->t.model->classes;
    for (size_t c = 0; c < classes; c++)
        for (size_t i = 0; i < u->n_seen; i++)
            if (u->t.train.class_of[i] == c) {
                n++;
                break;
            }
    return n;
}

/* The facts that both the record and the report have. */
static json_t *facts_json(const rf_updating *u)
{
    const rf_model *m = u->t.model;
    size_t seen = count_seen_classes(u);
    bool retrain = m->tuned > 0 && ((double)seen < SEEN_ENOUGH * (double)m->classes ||
                                    (double)u->n_seen < SEEN_ENOUGH * (double)u->n_rows);
    json_t *facts = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:I, s:I, s:b}", "rows",
        (json_int_t)u->n_rows, "classes", (json_int_t)m->classes, "rows_added",
        (json_int_t)u->n_added, "rows_relabelled", (json_int_t)u->n_relabelled,
        "rows_removed", (json_int_t)u->n_removed, "rows_same", (json_int_t)u->n_same,
        "heads_trained", (json_int_t)u->heads_trained, "classes_kept",
        (json_int_t)(m->classes - u->classes_fitted), "shared_refitted", u->u.refitted,
        "fence_moved", u->fence_moved ? json_real((double)u->fence_by) : json_null(),
        "seen_rows", (json_int_t)u->n_seen, "seen_classes", (json_int_t)seen,
        "retraining_advised", retrain);
    if (facts && put_classes(u, facts))
        return facts;
    json_decref(facts);
    return NULL;
}

/* ---- The summary ------------------------------------------------------------------- */

static json_t *share_json(float share)
{
    return share < 0.0f ? json_null() : json_real((double)share);
}

/* How the training of each class ended: of kept ones, what the old model says. */
static json_t *head_list(const rf_updating *u)
{
    const rf_model *m = u->t.model;
    json_t *before = json_object_get(u->old->summary, "heads"), *list = json_array();
    bool good = list;
    for (size_t c = 0; c < m->classes && good; c++) {
        const rf_class_report *r = &u->t.reports[c];
        json_t *head =
            u->from[c] == RF_FIT_ANEW
                ? json_pack("{s:s, s:I, s:f, s:o, s:n}", "label", m->labels[c], "steps",
                            (json_int_t)r->steps, "loss", (double)r->loss, "recall",
                            share_json(r->recall), "dev_recall")
                : json_deep_copy(json_array_get(before, u->from[c]));
        good = head && put(head, "label", json_string(m->labels[c])) &&
               json_array_append(list, head) == 0;
        json_decref(head);
    }
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

/* {"count": n, "seen_rows": n, "last": [...]} */
static json_t *records_json(const rf_updating *u, json_t *facts)
{
    json_t *before = json_object_get(u->old->summary, "updates"), *last = json_array();
    json_t *old = json_object_get(before, "last");
    json_int_t count = json_integer_value(json_object_get(before, "count"));
    size_t n = json_array_size(old), skip = n >= RECORDS ? n - RECORDS + 1 : 0;
    bool good = last;
    for (size_t i = skip; i < n && good; i++)
        good = json_array_append_new(last, json_deep_copy(json_array_get(old, i))) == 0;
    if (good && json_array_append(last, facts) == 0)
        return json_pack("{s:I, s:I, s:o}", "count", count + 1, "seen_rows",
                         (json_int_t)u->n_seen, "last", last);
    json_decref(last);
    return NULL;
}

static bool fill_summary(rf_updating *u, const rf_cross_fit *cross)
{
    rf_model *m = u->t.model;
    m->settings = json_deep_copy(u->old->settings);
    m->summary = json_deep_copy(u->old->summary);
    json_t *facts = facts_json(u);
    bool good = m->settings && m->summary && facts;
    if (good && u->differs) { /* they were measured on other rows */
        (void)json_object_del(m->summary, "expected");
        (void)json_object_del(m->summary, "budget");
    }
    if (good && cross->folds > 0)
        good = put(m->summary, "expected", rf_cross_fit_json(cross, m));
    good = good && put(m->summary, "rows", json_integer((json_int_t)u->n_rows)) &&
           put(m->summary, "heads", head_list(u)) &&
           put(m->summary, "updates", records_json(u, facts));
    json_decref(facts);
    return good;
}

rf_status rf_update_describe(rf_updating *u, const rf_cross_fit *cross)
{
    rf_model *m = u->t.model;
    if (!fill_summary(u, cross))
        return rf_fail_nomem(u->err, 1024 + 256 * m->classes, "the summary");
    return rf_model_describe(m, u->err);
}

/* ---- Answers before and after ------------------------------------------------------ */

/* Answers as classes of the updated model, GONE for a class that it does not have. */
#define GONE (SIZE_MAX - 1)

typedef struct answers {
    const rf_model *m;
    size_t *out;
} answers;

static void note_answers(void *user, const rf_judge *j, size_t from, size_t n)
{
    const answers *a = user;
    for (size_t i = 0; i < n; i++)
        a->out[from + i] = rf_judge_answer(j, a->m, i);
}

/* before and after are [n]. */
static rf_status answer_twice(const rf_updating *u, const float *z, size_t n,
                              size_t *before, size_t *after)
{
    answers old = {u->old, before}, new = {u->t.model, after};
    rf_status st =
        rf_judge_all(old.m, z, n, false, u->t.team, note_answers, &old, u->err);
    if (st == RF_OK)
        st = rf_judge_all(new.m, z, n, false, u->t.team, note_answers, &new, u->err);
    for (size_t i = 0; i < n && st == RF_OK; i++)
        if (before[i] != RF_OPEN) {
            uint32_t now = rf_update_became(u, before[i]);
            before[i] = now == RF_NO_CLASS ? GONE : now;
        }
    return st;
}

static const char *answer_name(const rf_updating *u, size_t answer)
{
    return answer == GONE ? "a removed class" : rf_model_label(u->t.model, answer);
}

static json_t *flip_json(const rf_updating *u, size_t row, size_t before, size_t after)
{
    const rf_model *m = u->t.model;
    size_t len;
    const char *text = rf_model_text(m, row, &len);
    json_t *as_json = text ? json_stringn(text, len) : NULL; /* NULL: not UTF-8 */
    return json_pack("{s:o, s:s, s:s, s:s}", "text", as_json ? as_json : json_null(),
                     "label", m->labels[m->row_class[row]], "before",
                     answer_name(u, before), "after", answer_name(u, after));
}

/* Kept rows with the label they had, all of them or evenly spaced ones. */
static size_t pick_rows(const rf_updating *u, uint32_t *rows)
{
    size_t all = 0, most = JUDGED / u->t.model->classes + 1, n = 0;
    for (size_t i = 0; i < u->n_old; i++)
        if (!u->rows[i].relabelled)
            rows[all++] = (uint32_t)i;
    for (size_t i = 0; i < all && n < most; i++)
        if (all <= most || i * most / all != (i + 1) * most / all)
            rows[n++] = rows[i];
    return n;
}

static json_t *count_flips(const rf_updating *u, const uint32_t *rows, size_t n,
                           const size_t *before, const size_t *after)
{
    json_t *texts = json_array();
    size_t flipped = 0, better = 0, worse = 0;
    bool good = texts;
    for (size_t i = 0; i < n && good; i++) {
        size_t truth = u->t.train.class_of[rows[i]];
        if (before[i] == after[i])
            continue;
        flipped++;
        better += after[i] == truth;
        worse += before[i] == truth;
        if (flipped <= SHOWN_TEXTS)
            good = json_array_append_new(texts,
                                         flip_json(u, rows[i], before[i], after[i])) == 0;
    }
    if (good)
        return json_pack("{s:I, s:I, s:I, s:I, s:o}", "rows", (json_int_t)n, "flipped",
                         (json_int_t)flipped, "better", (json_int_t)better, "worse",
                         (json_int_t)worse, "texts", texts);
    json_decref(texts);
    return NULL;
}

/* Training texts whose answer is another one now. */
static rf_status flips_json(const rf_updating *u, json_t **out)
{
    size_t d = u->t.model->known.width;
    uint32_t *rows = calloc(u->n_old + 1, sizeof *rows);
    size_t n = rows ? pick_rows(u, rows) : 0;
    size_t *answer = calloc(2 * n + 1, sizeof *answer);
    float *z = rf_floats_new(n * d + 1);
    rf_status st = rows && answer && z
                       ? RF_OK
                       : rf_fail_nomem(u->err, n * d * sizeof *z, "the answers");
    for (size_t i = 0; i < n && st == RF_OK; i++)
        memcpy(z + i * d, u->t.train.z + rows[i] * d, d * sizeof *z);
    if (st == RF_OK && n > 0)
        st = answer_twice(u, z, n, answer, answer + n);
    if (st == RF_OK && !(*out = count_flips(u, rows, n, answer, answer + n)))
        st = rf_fail_nomem(u->err, 1024, "the report");
    free(rows);
    free(answer);
    free(z);
    return st;
}

/* ---- The dev texts ----------------------------------------------------------------- */

/* Texts of a class, or with the last entry of no class. */
typedef struct tally {
    size_t n, before, after; /* right answers */
} tally;

static json_t *tally_json(const char *label, const tally *t, bool had)
{
    double n = (double)t->n;
    return json_pack("{s:s, s:I, s:o, s:f}", "label", label, "rows", (json_int_t)t->n,
                     "before", had ? json_real((double)t->before / n) : json_null(),
                     "after", (double)t->after / n);
}

/* Whether the old model had this class, perhaps under another name. */
static bool had_class(const rf_updating *u, size_t c)
{
    for (size_t o = 0; o < u->old->classes; o++)
        if (rf_update_became(u, o) == c)
            return true;
    return false;
}

static json_t *tallies_json(const rf_updating *u, const tally *of)
{
    const rf_model *m = u->t.model;
    json_t *list = json_array();
    bool good = list;
    for (size_t c = 0; c <= m->classes && good; c++)
        if (of[c].n > 0)
            good = json_array_append_new(
                       list, tally_json(c < m->classes ? m->labels[c] : "open", &of[c],
                                        c == m->classes || had_class(u, c))) == 0;
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

static rf_status dev_json(const rf_updating *u, json_t **out)
{
    const rf_model *m = u->t.model;
    size_t n = u->dev_n;
    tally *of = calloc(m->classes + 1, sizeof *of);
    size_t *answer = calloc(2 * n + 1, sizeof *answer);
    rf_status st = of && answer
                       ? answer_twice(u, u->dev_z, n, answer, answer + n)
                       : rf_fail_nomem(u->err, n * sizeof *answer, "the dev texts");
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        const char *label =
            rf_dataset_label(u->o.dev, rf_dataset_class(u->o.dev, i), NULL);
        size_t truth = rf_model_find(m, label, strlen(label));
        tally *t = &of[truth == RF_OPEN ? m->classes : truth];
        t->n++;
        t->before += answer[i] == truth;
        t->after += answer[n + i] == truth;
    }
    if (st == RF_OK && !(*out = tallies_json(u, of)))
        st = rf_fail_nomem(u->err, 1024, "the report");
    free(of);
    free(answer);
    return st;
}

rf_status rf_update_report(rf_updating *u, char **json)
{
    json_t *report = facts_json(u), *flips = NULL, *dev = NULL;
    rf_status st =
        report ? flips_json(u, &flips) : rf_fail_nomem(u->err, 1024, "the report");
    if (st == RF_OK && u->dev_n > 0)
        st = dev_json(u, &dev);
    if (st == RF_OK) {
        bool good = put(report, "training_texts", json_incref(flips)) &&
                    (!dev || put(report, "dev", json_incref(dev))) &&
                    put(report, "texts_kept", json_boolean(u->old->texts)) &&
                    put(report, "seconds", json_real(rf_clock_seconds() - u->start));
        rf_buffer text;
        rf_buffer_init(&text, SIZE_MAX / 4, "the report");
        st = good ? rf_json_write_as(report, JSON_COMPACT | JSON_REAL_PRECISION(9), &text,
                                     u->err)
                  : rf_fail_nomem(u->err, 4096, "the report");
        if (st != RF_OK)
            rf_buffer_release(&text);
        *json = text.data;
    }
    json_decref(report);
    json_decref(flips);
    json_decref(dev);
    return st;
}
