#include "model/pseudo_open.h"

#include "base/memory.h"
#include "base/rng.h"
#include "model/judge.h"
#include "model/train_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_FOLDS (UINT64_C(5) << 40)
/* Draws of a second partition until it differs from the first. */
#define MOST_DRAWS 50
/* Hidden rows whose activations are copied at a time. */
#define ROWS_AT_ONCE 512

/* ---- The plan ---------------------------------------------------------------------- */

/* part_of[c]: the fold that hides class c. */
static void draw_partition(uint32_t *part_of, uint32_t *order, size_t classes,
                           uint64_t key)
{
    rf_rng rng = rf_rng_open(key);
    for (size_t i = 0; i < classes; i++)
        order[i] = (uint32_t)i;
    rf_rng_shuffle(&rng, order, classes);
    for (size_t i = 0; i < classes; i++)
        part_of[order[i]] = (uint32_t)(i % RF_FOLDS_OF_A_PARTITION);
}

/* Do both put the same classes together? */
static bool same_partition(const uint32_t *a, const uint32_t *b, size_t classes)
{
    for (size_t i = 0; i < classes; i++)
        for (size_t j = 0; j < i; j++)
            if ((a[i] == a[j]) != (b[i] == b[j]))
                return false;
    return true;
}

static void add_partition(rf_fold_plan *p, const uint32_t *part_of)
{
    for (size_t i = 0; i < RF_FOLDS_OF_A_PARTITION; i++, p->folds++)
        for (size_t c = 0; c < p->classes; c++)
            p->hidden[p->folds * p->classes + c] = part_of[c] == i;
}

rf_status rf_fold_plan_make(rf_fold_plan *p, size_t classes, rf_tune_effort effort,
                            uint64_t seed, rf_error *err)
{
    *p = (rf_fold_plan){.classes = classes};
    if (classes < RF_FOLDS_OF_A_PARTITION)
        return rf_fail(err, RF_ERR_ARG, 0, "%zu classes, wanted at least %d", classes,
                       RF_FOLDS_OF_A_PARTITION);
    uint32_t *first = calloc(3 * classes, sizeof *first);
    uint32_t *other = first ? first + classes : NULL;
    uint32_t *order = first ? other + classes : NULL;
    p->hidden = calloc(RF_MAX_FOLDS * classes, sizeof *p->hidden);
    if (!first || !p->hidden) {
        free(first);
        rf_fold_plan_release(p);
        return rf_fail_nomem(err, RF_MAX_FOLDS * classes, "the folds");
    }
    draw_partition(first, order, classes, rf_rng_key(seed, STREAM_FOLDS, 0, 0));
    add_partition(p, first);
    for (size_t i = 0; effort == RF_TUNE_THOROUGH && i < MOST_DRAWS; i++) {
        draw_partition(other, order, classes, rf_rng_key(seed, STREAM_FOLDS, 1, i));
        if (same_partition(first, other, classes))
            continue;
        add_partition(p, other);
        break;
    }
    free(first);
    return RF_OK;
}

void rf_fold_plan_release(rf_fold_plan *p)
{
    free(p->hidden);
    *p = (rf_fold_plan){0};
}

bool rf_folds_impossible(const rf_training *t, char why[RF_WHY])
{
    size_t classes = t->model->classes;
    if (classes < RF_FOLDS_OF_A_PARTITION)
        snprintf(why, RF_WHY,
                 classes == 1 ? "1 class: hiding it would leave none"
                              : "2 classes: hiding one would leave one");
    else if (!t->model->method->heads)
        snprintf(why, RF_WHY, "method %s has no heads, whose fences could be moved",
                 t->model->method->name);
    else if (t->dev.n == 0)
        snprintf(why, RF_WHY,
                 "no dev texts, by which to see what known texts go through");
    else
        return false;
    return true;
}

/* ---- Rows of a fold ---------------------------------------------------------------- */

/* The rows of one part: those of kept classes go into `to`, with classes renumbered, the
 * others into a list. */
static rf_status share_out(rf_fold *f, const rf_part *from, rf_part *to, size_t which,
                           const uint32_t *new_number, const bool *hidden)
{
    uint32_t *kept = calloc(from->n + 1, sizeof *kept);
    f->rows[which] = calloc(from->n + 1, sizeof *f->rows[which]);
    to->class_of = calloc(from->n + 1, sizeof *to->class_of);
    if (!kept || !f->rows[which] || !to->class_of) {
        free(kept);
        return rf_fail_nomem(f->t.err, from->n * sizeof *kept, "the rows of a fold");
    }
    for (size_t i = 0; i < from->n; i++) {
        uint32_t c = from->class_of[i];
        if (hidden[c]) {
            f->rows[which][f->n_rows[which]++] = (uint32_t)i;
        } else {
            to->class_of[to->n] = new_number[c];
            kept[to->n++] = (uint32_t)i;
        }
    }
    rf_status st = rf_activations_select(&to->a, &from->a, kept, to->n, f->t.err);
    free(kept);
    return st;
}

static rf_status take_rows(rf_fold *f, const bool *hidden, size_t n_kept)
{
    const rf_training *whole = f->whole;
    size_t classes = whole->model->classes;
    uint32_t *new_number = calloc(classes, sizeof *new_number);
    if (!new_number)
        return rf_fail_nomem(f->t.err, classes * sizeof *new_number, "a fold");
    for (size_t i = 0; i < n_kept; i++)
        new_number[f->kept[i]] = (uint32_t)i;
    rf_status st = share_out(f, &whole->train, &f->t.train, 0, new_number, hidden);
    if (st == RF_OK)
        st = share_out(f, &whole->dev, &f->t.dev, 1, new_number, hidden);
    f->n_hidden = f->n_rows[0] + f->n_rows[1];
    free(new_number);
    return st;
}

/* A model of the kept classes with an encoder of its own, which will learn. */
static rf_status make_model(rf_fold *f, size_t n_kept)
{
    const rf_model *whole = f->whole->model;
    const char **labels = calloc(n_kept + 1, sizeof *labels);
    f->t.model = rf_model_new(f->t.err);
    if (!labels || !f->t.model) {
        free(labels);
        return rf_fail_nomem(f->t.err, n_kept * sizeof *labels, "a fold");
    }
    for (size_t i = 0; i < n_kept; i++)
        labels[i] = whole->labels[f->kept[i]];
    f->t.model->method = whole->method;
    rf_status st = rf_model_set_labels(f->t.model, labels, n_kept, f->t.err);
    if (st == RF_OK)
        st = rf_model_use_encoder(f->t.model, whole->encoder_name, f->t.err);
    free(labels);
    return st;
}

/* ---- Progress: what the stages tell is a part of a step of the fold ---------------- */

static int told(void *user, const rf_train_event *e)
{
    rf_fold *f = user;
    return f->progress && e->total > 0
               ? f->progress(f->user, (double)e->done / (double)e->total)
               : 0;
}

/* ---- A fold ------------------------------------------------------------------------ */

rf_status rf_fold_begin(rf_fold *f, rf_training *whole, const rf_fold_plan *plan,
                        size_t number, rf_fold_progress progress, void *user)
{
    const bool *hidden = plan->hidden + number * plan->classes;
    size_t n_kept = 0;
    *f = (rf_fold){.t = {.o = whole->o,
                         .team = whole->team,
                         .start = whole->start,
                         .err = whole->err},
                   .whole = whole,
                   .share = -1.0f,
                   .progress = progress,
                   .user = user};
    f->t.o.progress = told;
    f->t.o.user = f;
    f->kept = calloc(plan->classes, sizeof *f->kept);
    if (!f->kept)
        return rf_fail_nomem(whole->err, plan->classes * sizeof *f->kept, "a fold");
    for (size_t c = 0; c < plan->classes; c++)
        if (!hidden[c])
            f->kept[n_kept++] = (uint32_t)c;
    rf_status st;
    if ((st = make_model(f, n_kept)) != RF_OK ||
        (st = take_rows(f, hidden, n_kept)) != RF_OK ||
        (st = rf_training_known(&f->t)) != RF_OK)
        rf_fold_end(f);
    return st;
}

void rf_fold_end(rf_fold *f)
{
    rf_training_release(&f->t);
    rf_model_free(f->t.model);
    free(f->kept);
    free(f->rows[0]);
    free(f->rows[1]);
    free(f->hidden_z);
    *f = (rf_fold){0};
}

/* Features of some rows of `all`, a few of them at a time: the copies stay small. */
static rf_status features_of(const rf_fold *f, const rf_activations *all,
                             const uint32_t *rows, size_t n, float *z)
{
    const rf_encoder *e = f->t.model->encoder;
    rf_status st = RF_OK;
    for (size_t from = 0; from < n && st == RF_OK; from += ROWS_AT_ONCE) {
        size_t some = n - from < ROWS_AT_ONCE ? n - from : ROWS_AT_ONCE;
        rf_activations a = {0};
        st = rf_activations_select(&a, all, rows + from, some, f->t.err);
        if (st == RF_OK)
            st = rf_activations_features(&a, e, z + from * e->config.width, f->t.team,
                                         NULL, NULL, f->t.err);
        rf_activations_release(&a);
    }
    return st;
}

/* All features with this share of what stage 1 learnt. */
static rf_status view(rf_fold *f, float share)
{
    size_t width = f->t.model->encoder->config.width;
    rf_part *parts[2] = {&f->t.train, &f->t.dev};
    if (share == f->share)
        return RF_OK;
    f->share = -1.0f; /* until it is done */
    rf_status st = rf_training_blend(&f->t, share);
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        rf_part *p = parts[i];
        if (!p->z && !(p->z = rf_floats_new(p->n * width + 1)))
            return rf_fail_nomem(f->t.err, p->n * width * sizeof(float), "the features");
        if (p->n > 0)
            st = rf_activations_features(&p->a, f->t.model->encoder, p->z, f->t.team,
                                         NULL, NULL, f->t.err);
    }
    if (st == RF_OK && !f->hidden_z &&
        !(f->hidden_z = rf_floats_new(f->n_hidden * width + 1)))
        st = rf_fail_nomem(f->t.err, f->n_hidden * width * sizeof(float), "the features");
    const rf_part *all[2] = {&f->whole->train, &f->whole->dev};
    for (size_t i = 0, at = 0; i < 2 && st == RF_OK; at += f->n_rows[i++] * width)
        st = features_of(f, &all[i]->a, f->rows[i], f->n_rows[i], f->hidden_z + at);
    if (st == RF_OK)
        f->share = share;
    return st;
}

/* ---- Outcomes ---------------------------------------------------------------------- */

/* The best heads of a row, by number in the fold's own model; a NaN never counts. */
static void best_heads(rf_outcome *out, const float *margins, size_t classes)
{
    for (size_t k = 0; k < RF_OUTCOME_HEADS; k++) {
        out->head[k] = 0;
        out->margin[k] = -INFINITY;
    }
    for (size_t c = 0; c < classes; c++) {
        size_t at = RF_OUTCOME_HEADS;
        while (at > 0 && margins[c] > out->margin[at - 1])
            at--;
        if (at == RF_OUTCOME_HEADS)
            continue;
        for (size_t k = RF_OUTCOME_HEADS - 1; k > at; k--) {
            out->head[k] = out->head[k - 1];
            out->margin[k] = out->margin[k - 1];
        }
        out->head[at] = (uint32_t)c;
        out->margin[at] = margins[c];
    }
}

static void take_heads(void *user, const rf_judge *j, size_t from, size_t n)
{
    rf_outcome *out = user;
    for (size_t i = 0; i < n; i++)
        best_heads(&out[from + i], j->margins + i * j->classes, j->classes);
}

rf_status rf_outcomes_judge(const rf_model *m, const float *z, size_t n, rf_team *team,
                            rf_outcome *out, rf_error *err)
{
    return rf_judge_all(m, z, n, team, take_heads, out, err);
}

static rf_status gather(const rf_fold *f, rf_outcomes *out)
{
    size_t known = f->t.dev.n;
    *out = (rf_outcomes){.n = known + f->n_hidden, .n_hidden = f->n_hidden};
    out->row = calloc(out->n + 1, sizeof *out->row);
    if (!out->row)
        return rf_fail_nomem(f->t.err, out->n * sizeof *out->row, "the outcomes");
    for (size_t i = 0; i < known; i++)
        out->row[i].truth = f->kept[f->t.dev.class_of[i]];
    const rf_part *all[2] = {&f->whole->train, &f->whole->dev};
    for (size_t p = 0, at = known; p < 2; p++)
        for (size_t i = 0; i < f->n_rows[p]; i++, at++) {
            out->row[at].truth = all[p]->class_of[f->rows[p][i]];
            out->row[at].hidden = true;
        }
    const rf_model *m = f->t.model;
    rf_status st = rf_outcomes_judge(m, f->t.dev.z, known, f->t.team, out->row, f->t.err);
    if (st == RF_OK)
        st = rf_outcomes_judge(m, f->hidden_z, f->n_hidden, f->t.team, out->row + known,
                               f->t.err);
    for (size_t i = 0; i < out->n && st == RF_OK; i++)
        for (size_t k = 0; k < RF_OUTCOME_HEADS; k++)
            out->row[i].head[k] = f->kept[out->row[i].head[k]];
    if (st != RF_OK)
        rf_outcomes_release(out);
    return st;
}

void rf_outcomes_release(rf_outcomes *o)
{
    free(o->row);
    *o = (rf_outcomes){0};
}

/* Back to where stage 2 has not begun. */
static void forget_heads(rf_training *t)
{
    rf_model *m = t->model;
    rf_heads_release(&m->heads);
    rf_class_stats_release(&m->stats);
    free(m->radius);
    free(t->reports);
    m->radius = NULL;
    t->reports = NULL;
}

rf_status rf_fold_try(rf_fold *f, const rf_train_options *o, rf_outcomes *out)
{
    rf_training *t = &f->t;
    rf_train_options tried = *o;
    *out = (rf_outcomes){0};
    tried.progress = t->o.progress;
    tried.user = t->o.user;
    tried.fence_reject = 1.0f;
    tried.fence_offset = 0.0f;
    t->o = tried;
    forget_heads(t);
    rf_status st = view(f, tried.blend);
    if (st == RF_OK)
        st = rf_training_open(t);
    return st == RF_OK ? gather(f, out) : st;
}
