#include "lab/portrait.h"

#include "base/memory.h"
#include "base/rng.h"
#include "model/train_settings.h"
#include "open/ans_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_PORTRAIT (UINT64_C(7) << 40)
#define AT_ONCE 8 /* synthetic negatives */

typedef struct sitting {
    const rf_trial *t;
    const rf_model *model;
    size_t m; /* the class */
    rf_head head;
    rf_error *err;
} sitting;

/* ---- Points ------------------------------------------------------------------------ */

static void look(const sitting *s, const float *x, size_t n, rf_portrait *p)
{
    float h1[AT_ONCE * RF_HEAD_1];
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < AT_ONCE ? n - i : AT_ONCE;
        rf_head_forward(&s->head, s->model->heads.width, x + i * s->model->heads.width,
                        some, NULL, h1, p->h + p->n * RF_HEAD_2, p->margin + p->n, 1);
        p->n += some;
    }
}

static rf_portrait_kind kind_of(const sitting *s, uint32_t class_index)
{
    return class_index == s->m                 ? RF_PORTRAIT_OWN
           : class_index < s->t->split.classes ? RF_PORTRAIT_OTHER
                                               : RF_PORTRAIT_OPEN;
}

static void add_texts(const sitting *s, size_t most, rf_portrait *p)
{
    const rf_split_rows *rows = &s->t->split.test;
    const float *z = s->t->stage1.z[RF_LAB_TEST];
    size_t all[RF_PORTRAIT_KINDS] = {0}, seen[RF_PORTRAIT_KINDS] = {0};
    for (size_t i = 0; i < rows->n; i++)
        all[kind_of(s, rows->class_index[i])]++;
    for (size_t i = 0; i < rows->n; i++) {
        rf_portrait_kind k = kind_of(s, rows->class_index[i]);
        size_t take = all[k] < most ? all[k] : most, at = seen[k]++;
        if (at * take / all[k] == (at + 1) * take / all[k])
            continue;
        p->kind[p->n] = (uint8_t)k;
        p->row[p->n] = rows->row[i];
        look(s, z + i * s->model->heads.width, 1, p);
    }
}

/* Negatives as Algorithm 1 would give them to the head as it is now. */
static rf_status add_synthetic(const sitting *s, size_t most, rf_portrait *p)
{
    const rf_split_rows *rows = &s->t->split.train;
    size_t width = s->model->heads.width, n = 0;
    uint32_t own[AT_ONCE], other = 0;
    rf_ans_work w;
    rf_status st = rf_ans_work_init(&w, width, AT_ONCE, 1, AT_ONCE, true, s->err);
    if (st != RF_OK)
        return st;
    rf_ans_work_start(&w, 1);
    const rf_ans_options o = rf_train_ans_options(&s->t->o);
    const rf_class_stats *stats = &s->model->stats;
    const uint64_t key = rf_label_key(s->model->labels[s->m]);
    float radius = s->model->radius[s->m];
    size_t left = stats->rows[s->m];
    for (size_t i = 0, made = 0; i < rows->n && made < most; i++) {
        if (rows->class_index[i] != s->m)
            continue;
        own[n++] = (uint32_t)i;
        left--;
        if (n < AT_ONCE && left > 0)
            continue;
        for (size_t k = n; k < AT_ONCE; k++) /* not looked at */
            own[k] = own[0];
        rf_ans_gather(&w, s->t->stage1.z[RF_LAB_TRAIN], own, &other);
        rf_train_kernels()->normal(w.eps, AT_ONCE * width,
                                   rf_rng_key(o.seed, key, STREAM_PORTRAIT, made));
        for (size_t k = 0; o.noise && k < AT_ONCE * width; k++)
            w.eps[k] *= 2.0f * sqrtf(stats->variance[s->m * width + k % width]);
        if (!o.noise)
            rf_ans_project(&w, radius / 1000.0f, 1.0f);
        rf_ans_ascend(&w, &s->head, o.ascent_steps, o.ascent_rate * radius);
        if (o.project)
            rf_ans_project(&w, radius, o.gamma);
        for (size_t k = 0; k < n * width; k++)
            w.eps[k] += w.x[k];
        for (size_t k = 0; k < n; k++) {
            p->kind[p->n + k] = RF_PORTRAIT_SYNTHETIC;
            p->row[p->n + k] = UINT32_MAX;
        }
        look(s, w.eps, n, p);
        made += n;
        n = 0;
    }
    rf_ans_work_release(&w);
    return RF_OK;
}

rf_status rf_portrait_make(rf_portrait *p, const rf_trial *t, const rf_model *m,
                           size_t class_index, size_t most, rf_error *err)
{
    rf_error local = {0};
    *p = (rf_portrait){0};
    if (!m->method->heads || class_index >= m->classes)
        return rf_fail(err, RF_ERR_ARG, 0, "wanted a class of a method with heads");
    sitting s = {.t = t,
                 .model = m,
                 .m = class_index,
                 .head = rf_head_at(&m->heads, class_index),
                 .err = err ? err : &local};
    size_t room = RF_PORTRAIT_KINDS * (most + AT_ONCE);
    p->label = t->split.label[class_index];
    p->h = rf_floats_new(room * RF_HEAD_2);
    p->margin = rf_floats_new(room);
    p->kind = calloc(room, sizeof *p->kind);
    p->row = calloc(room, sizeof *p->row);
    rf_status st = p->h && p->margin && p->kind && p->row
                       ? RF_OK
                       : rf_fail_nomem(err, room * RF_HEAD_2 * sizeof(float), "points");
    if (st == RF_OK)
        add_texts(&s, most, p);
    if (st == RF_OK && t->o.lambda > 0.0f && m->stats.distance[class_index] > 0.0f)
        st = add_synthetic(&s, most, p);
    if (st != RF_OK)
        rf_portrait_release(p);
    return st;
}

void rf_portrait_release(rf_portrait *p)
{
    free(p->h);
    free(p->margin);
    free(p->kind);
    free(p->row);
    *p = (rf_portrait){0};
}
