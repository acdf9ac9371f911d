/* pseudo_open.c - train on some of the classes and collect the answers to the others */
#include "folds/pseudo_open.h"

#include "base/memory.h"
#include "answer/judge.h"
#include "stages/train_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rf_cross_fit_impossible(const rf_training *t, char why[RF_WHY])
{
    size_t classes = t->model->classes;
    if (classes < RF_FOLDS_OF_A_PARTITION)
        snprintf(why, RF_WHY,
                 classes == 1 ? "1 class: hiding it would leave none"
                              : "2 classes: hiding one would leave one");
    else if (!t->model->method->move_fence)
        snprintf(why, RF_WHY, "the fences of method %s cannot be moved",
                 t->model->method->name);
    else
        return false;
    return true;
}

bool rf_folds_impossible(const rf_training *t, char why[RF_WHY])
{
    if (rf_cross_fit_impossible(t, why))
        return true;
    if (t->dev.n > 0)
        return false;
    snprintf(why, RF_WHY, "no dev texts to measure false rejects on");
    return true;
}

/* ---- Rows of a fold ---------------------------------------------------------------- */

/* How the rows of a part are split. */
typedef struct splitting {
    const uint32_t *new_number; /* of a class in the fold */
    const bool *hidden;
    const uint8_t *row_fold;  /* may be NULL */
    size_t number, n_visible; /* of the fold; its classes */
} splitting;

/* Splits the rows of one part: those of visible classes go into `to`, with classes
 * renumbered, or if they are held out into f->held, the others into f->rows. */
static rf_status split_part(rf_fold *f, const rf_part *from, rf_part *to, size_t which,
                            const splitting *how)
{
    const uint8_t *row_fold = which == 0 ? how->row_fold : NULL;
    size_t n = from->n - from->n_open;
    uint32_t *visible_rows = calloc(from->n + 1, sizeof *visible_rows);
    f->rows[which] = calloc(from->n + 1, sizeof *f->rows[which]);
    to->class_of = calloc(from->n + 1, sizeof *to->class_of);
    if (!visible_rows || !f->rows[which] || !to->class_of) {
        free(visible_rows);
        return rf_fail_nomem(f->t.err, from->n * sizeof *visible_rows,
                             "the rows of a fold");
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t c = from->class_of[i];
        if (row_fold && row_fold[i] == RF_ROW_UNUSED)
            continue;
        if (how->hidden[c]) {
            f->rows[which][f->n_rows[which]++] = (uint32_t)i;
        } else if (row_fold && row_fold[i] == how->number) {
            f->held[f->n_held++] = (uint32_t)i;
        } else {
            to->class_of[to->n] = how->new_number[c];
            visible_rows[to->n++] = (uint32_t)i;
        }
    }
    for (size_t i = n; i < from->n; i++)
        if (row_fold && row_fold[i] == how->number) {
            f->held[f->n_held + f->n_held_open++] = (uint32_t)i;
        } else {
            to->class_of[to->n] = (uint32_t)how->n_visible;
            visible_rows[to->n++] = (uint32_t)i;
            to->n_open++;
        }
    rf_status st = rf_activations_select(&to->a, &from->a, visible_rows, to->n, f->t.err);
    free(visible_rows);
    return st;
}

static rf_status split_rows(rf_fold *f, const rf_fold_plan *plan, size_t number,
                            size_t n_visible)
{
    const rf_training *whole = f->whole;
    size_t classes = whole->model->classes;
    uint32_t *new_number = calloc(classes, sizeof *new_number);
    f->held = calloc(whole->train.n + 1, sizeof *f->held);
    if (!new_number || !f->held) {
        free(new_number);
        return rf_fail_nomem(f->t.err, classes * sizeof *new_number, "a fold");
    }
    const splitting how = {new_number, plan->hidden + number * classes, plan->row_fold,
                           number, n_visible};
    for (size_t i = 0; i < n_visible; i++)
        new_number[f->visible[i]] = (uint32_t)i;
    rf_status st = split_part(f, &whole->train, &f->t.train, 0, &how);
    if (st == RF_OK)
        st = split_part(f, &whole->dev, &f->t.dev, 1, &how);
    f->n_hidden = f->n_rows[0] + f->n_rows[1];
    free(new_number);
    return st;
}

/* A model of the visible classes with its own encoder, if that will be fine-tuned. */
static rf_status make_fold_model(rf_fold *f, size_t n_visible)
{
    const rf_model *whole = f->whole->model;
    const char **labels = calloc(n_visible + 1, sizeof *labels);
    f->t.model = rf_model_new(f->t.err);
    if (!labels || !f->t.model) {
        free(labels);
        return rf_fail_nomem(f->t.err, n_visible * sizeof *labels, "a fold");
    }
    for (size_t i = 0; i < n_visible; i++)
        labels[i] = whole->labels[f->visible[i]];
    f->t.model->method = whole->method;
    rf_status st = rf_model_set_labels(f->t.model, labels, n_visible, f->t.err);
    f->borrows = f->whole->s.train_layers == 0; /* nothing of it will change */
    if (st == RF_OK && f->borrows)
        f->t.model->encoder = whole->encoder;
    else if (st == RF_OK)
        st = rf_model_use_encoder(f->t.model, whole->encoder_name, f->t.err);
    free(labels);
    return st;
}

/* ---- Progress ---------------------------------------------------------------------- */

static int on_stage_progress(void *user, const rf_train_event *e)
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
    size_t n_visible = 0;
    *f = (rf_fold){.t = {.o = whole->o,
                         .s = whole->s,
                         .team = whole->team,
                         .start = whole->start,
                         .quick = whole->quick,
                         .err = whole->err},
                   .whole = whole,
                   .share = -1.0f,
                   .progress = progress,
                   .user = user};
    f->effort = plan->effort > 0.0 ? plan->effort : 1.0;
    f->t.s.epochs = (size_t)ceil(f->effort * (double)f->t.s.epochs);
    f->t.o.progress = on_stage_progress;
    f->t.o.user = f;
    f->visible = calloc(plan->classes, sizeof *f->visible);
    if (!f->visible)
        return rf_fail_nomem(whole->err, plan->classes * sizeof *f->visible, "a fold");
    for (size_t c = 0; c < plan->classes; c++)
        if (!hidden[c])
            f->visible[n_visible++] = (uint32_t)c;
    rf_status st;
    if ((st = make_fold_model(f, n_visible)) != RF_OK ||
        (st = split_rows(f, plan, number, n_visible)) != RF_OK ||
        (st = rf_training_known(&f->t)) != RF_OK)
        rf_fold_end(f);
    return st;
}

void rf_fold_end(rf_fold *f)
{
    rf_training_release(&f->t);
    if (f->borrows && f->t.model)
        f->t.model->encoder = NULL;
    rf_model_free(f->t.model);
    free(f->visible);
    free(f->rows[0]);
    free(f->rows[1]);
    free(f->hidden_z);
    free(f->held);
    free(f->held_z);
    *f = (rf_fold){0};
}

/* Computes all features with this blend of the tuned layers. */
static rf_status compute_features(rf_fold *f, float share)
{
    size_t width = f->t.model->encoder->config.width;
    rf_part *parts[2] = {&f->t.train, &f->t.dev};
    if (share == f->share)
        return RF_OK;
    f->share = -1.0f; /* until done */
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
    size_t held = f->n_held + f->n_held_open;
    if (st == RF_OK && !f->held_z && !(f->held_z = rf_floats_new(held * width + 1)))
        st = rf_fail_nomem(f->t.err, held * width * sizeof(float), "the features");
    const rf_encoder *e = f->t.model->encoder;
    if (st == RF_OK)
        st = rf_activations_features_of(&f->whole->train.a, e, f->held, held, f->held_z,
                                        f->t.team, f->t.err);
    const rf_part *all[2] = {&f->whole->train, &f->whole->dev};
    for (size_t i = 0, at = 0; i < 2 && st == RF_OK; at += f->n_rows[i++] * width)
        st = rf_activations_features_of(&all[i]->a, e, f->rows[i], f->n_rows[i],
                                        f->hidden_z + at, f->t.team, f->t.err);
    if (st == RF_OK)
        f->share = share;
    return st;
}

/* ---- Outcomes ---------------------------------------------------------------------- */

void rf_outcome_take(rf_outcome *out, const float *margins, size_t classes)
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

static void fill_outcomes(void *user, const rf_judge *j, size_t from, size_t n)
{
    rf_outcome *out = user;
    for (size_t i = 0; i < n; i++)
        rf_outcome_take(&out[from + i], j->margins + i * j->classes, j->classes);
}

rf_status rf_outcomes_judge(const rf_model *m, const float *z, size_t n, rf_team *team,
                            rf_outcome *out, rf_error *err)
{
    return rf_judge_all(m, z, n, false, team, fill_outcomes, out, err);
}

static rf_status collect_outcomes(const rf_fold *f, rf_outcomes *out)
{
    size_t dev = f->t.dev.n, known = dev + f->n_held;
    *out = (rf_outcomes){.n = known + f->n_hidden, .n_hidden = f->n_hidden};
    out->n_given = f->n_held_open;
    out->row = calloc(out->n + 1, sizeof *out->row);
    out->given = calloc(out->n_given + 1, sizeof *out->given);
    if (!out->row || !out->given) {
        rf_outcomes_release(out);
        return rf_fail_nomem(f->t.err, out->n * sizeof *out->row, "the outcomes");
    }
    for (size_t i = 0; i < dev; i++)
        out->row[i].truth = f->visible[f->t.dev.class_of[i]];
    for (size_t i = 0; i < f->n_held; i++)
        out->row[dev + i].truth = f->whole->train.class_of[f->held[i]];
    const rf_part *all[2] = {&f->whole->train, &f->whole->dev};
    for (size_t p = 0, at = known; p < 2; p++)
        for (size_t i = 0; i < f->n_rows[p]; i++, at++) {
            out->row[at].truth = all[p]->class_of[f->rows[p][i]];
            out->row[at].hidden = true;
        }
    const rf_model *m = f->t.model;
    rf_status st = rf_outcomes_judge(m, f->t.dev.z, dev, f->t.team, out->row, f->t.err);
    if (st == RF_OK)
        st = rf_outcomes_judge(m, f->held_z, f->n_held, f->t.team, out->row + dev,
                               f->t.err);
    if (st == RF_OK)
        st = rf_outcomes_judge(m, f->hidden_z, f->n_hidden, f->t.team, out->row + known,
                               f->t.err);
    if (st == RF_OK)
        st = rf_outcomes_judge(m, f->held_z + f->n_held * m->known.width, out->n_given,
                               f->t.team, out->given, f->t.err);
    for (size_t i = 0; i < out->n && st == RF_OK; i++)
        for (size_t k = 0; k < RF_OUTCOME_HEADS; k++)
            out->row[i].head[k] = f->visible[out->row[i].head[k]];
    for (size_t i = 0; i < out->n_given && st == RF_OK; i++) {
        out->given[i].hidden = true;
        for (size_t k = 0; k < RF_OUTCOME_HEADS; k++)
            out->given[i].head[k] = f->visible[out->given[i].head[k]];
    }
    if (st != RF_OK)
        rf_outcomes_release(out);
    return st;
}

void rf_outcomes_release(rf_outcomes *o)
{
    free(o->row);
    free(o->given);
    *o = (rf_outcomes){0};
}

rf_status rf_fold_try(rf_fold *f, const rf_settings *s, rf_outcomes *out)
{
    rf_training *t = &f->t;
    *out = (rf_outcomes){0};
    t->s = *s;
    t->s.fence_reject = 1.0f;
    t->s.fence_offset = 0.0f;
    t->s.head_steps = (size_t)ceil(f->effort * (double)s->head_steps);
    t->s.head_max_steps = (size_t)ceil(f->effort * (double)s->head_max_steps);
    t->s.head_cool_steps = (size_t)ceil(f->effort * (double)s->head_cool_steps);
    rf_model_forget_open(t->model);
    free(t->reports);
    t->reports = NULL;
    rf_status st = compute_features(f, s->blend);
    if (st == RF_OK)
        st = rf_training_open(t);
    return st == RF_OK ? collect_outcomes(f, out) : st;
}
