/* head_view.c - runs one class's network over test texts and fresh synthetic negatives */
#include "lab/head_view.h"

#include "base/memory.h"

#include <stdlib.h>

typedef struct viewer {
    const rf_experiment *e;
    const rf_model *model;
    size_t class_index;
    float *scratch;
    rf_error *err;
} viewer;

/* ---- Points ------------------------------------------------------------------------ */

static void add_points(const viewer *s, const float *x, size_t n, rf_head_view *v)
{
    const rf_model *m = s->model;
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < RF_JUDGE_ROWS ? n - i : RF_JUDGE_ROWS;
        m->method->view(&m->state, s->class_index, x + i * m->state.width, some,
                        v->h + v->n * v->width, v->margin + v->n, s->scratch);
        v->n += some;
    }
}

static rf_head_view_kind kind_of(const viewer *s, uint32_t class_index)
{
    return class_index == s->class_index       ? RF_VIEW_OWN
           : class_index < s->e->split.classes ? RF_VIEW_OTHER
                                               : RF_VIEW_OPEN;
}

static void add_texts(const viewer *s, size_t max_points, rf_head_view *v)
{
    const rf_split_rows *rows = &s->e->split.test;
    const float *z = s->e->stage1.z[RF_LAB_TEST];
    size_t all[RF_VIEW_KINDS] = {0}, seen[RF_VIEW_KINDS] = {0};
    for (size_t i = 0; i < rows->n; i++)
        all[kind_of(s, rows->class_index[i])]++;
    for (size_t i = 0; i < rows->n; i++) {
        rf_head_view_kind k = kind_of(s, rows->class_index[i]);
        size_t take = all[k] < max_points ? all[k] : max_points, at = seen[k]++;
        if (at * take / all[k] == (at + 1) * take / all[k])
            continue;
        v->kind[v->n] = (uint8_t)k;
        v->row[v->n] = rows->row[i];
        add_points(s, z + i * s->model->state.width, 1, v);
    }
}

/* Negatives as training would generate them for the network as it is now. */
static rf_status add_synthetic(const viewer *s, size_t max_points, rf_head_view *v)
{
    const rf_model *m = s->model;
    const rf_split_rows *rows = &s->e->split.train;
    size_t c = s->class_index, n = max_points;
    uint64_t *keys = calloc(m->classes, sizeof *keys);
    float *z = rf_floats_new(n * m->state.width);
    rf_status st = keys && z ? RF_OK
                             : rf_fail_nomem(s->err, n * m->state.width * sizeof *z,
                                             "synthetic negatives");
    const rf_fit in = {.width = m->state.width,
                       .classes = m->classes,
                       .rows = rows->n,
                       .z = s->e->stage1.z[RF_LAB_TRAIN],
                       .class_of = rows->class_index,
                       .class_key = keys,
                       .stats = &m->stats,
                       .o = &s->e->s,
                       .seed = s->e->o.seed};
    if (st == RF_OK) {
        keys[c] = rf_label_key(m->labels[c]);
        st = m->method->negatives(&m->state, c, &in, m->radius[c], z, &n, s->err);
    }
    for (size_t k = 0; k < n && st == RF_OK; k++) {
        v->kind[v->n + k] = RF_VIEW_SYNTHETIC;
        v->row[v->n + k] = UINT32_MAX;
    }
    if (st == RF_OK)
        add_points(s, z, n, v);
    free(keys);
    free(z);
    return st;
}

rf_status rf_head_view_make(rf_head_view *v, const rf_experiment *e, const rf_model *m,
                            size_t class_index, size_t max_points, rf_error *err)
{
    rf_error local = {0};
    const rf_method *method = m->method;
    *v = (rf_head_view){.width = method->view_width};
    if (!method->view || class_index >= m->classes)
        return rf_fail(err, RF_ERR_ARG, 0, "wanted a class of a method with heads");
    viewer s = {
        .e = e, .model = m, .class_index = class_index, .err = err ? err : &local};
    size_t room = RF_VIEW_KINDS * max_points;
    v->label = e->split.label[class_index];
    v->h = rf_floats_new(room * v->width);
    v->margin = rf_floats_new(room);
    v->kind = calloc(room, sizeof *v->kind);
    v->row = calloc(room, sizeof *v->row);
    s.scratch = rf_floats_new(method->scratch ? method->scratch(&m->state) : 0);
    rf_status st = v->h && v->margin && v->kind && v->row && s.scratch
                       ? RF_OK
                       : rf_fail_nomem(err, room * v->width * sizeof(float), "points");
    if (st == RF_OK)
        add_texts(&s, max_points, v);
    if (st == RF_OK && method->negatives)
        st = add_synthetic(&s, max_points, v);
    free(s.scratch);
    if (st != RF_OK)
        rf_head_view_release(v);
    return st;
}

void rf_head_view_release(rf_head_view *v)
{
    free(v->h);
    free(v->margin);
    free(v->kind);
    free(v->row);
    *v = (rf_head_view){0};
}
