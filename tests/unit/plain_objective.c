/* plain_objective.c - cross entropy of the known classifier as an objective */
#include "plain_objective.h"

#include "base/memory.h"
#include "base/streams.h"
#include "encoder/live.h"
#include "num/linear.h"
#include "num/panels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct plain {
    rf_objective base;
    rf_known *known;
    rf_linear dense, out;
    float *pre, *hidden, *logits;
} plain;

static void drop(const plain *p, const rf_objective_batch *b)
{
    size_t width = p->known->width;
    for (size_t i = 0; i < b->n; i++)
        rf_train_kernels()->dropout(
            p->hidden + i * width, p->hidden + i * width, width, b->dropout,
            rf_stream_key(b->seed, RF_STREAM_DROP_HIDDEN, b->step, (uint64_t)i << 32));
}

static double step(rf_objective *o, const rf_objective_batch *b, float *dz)
{
    plain *p = (plain *)o;
    size_t width = p->known->width, classes = p->known->classes, n = b->n;
    double loss = 0.0;
    rf_linear_forward(&p->dense, p->pre, b->z, n);
    for (size_t i = 0; i < n * width; i++)
        p->hidden[i] = p->pre[i] > 0.0f ? p->pre[i] : 0.0f;
    drop(p, b);
    rf_linear_forward(&p->out, p->logits, p->hidden, n);
    for (size_t i = 0; i < n; i++) {
        float *s = p->logits + i * classes;
        double top = (double)s[0], sum = 0.0;
        for (size_t c = 1; c < classes; c++)
            top = fmax(top, (double)s[c]);
        for (size_t c = 0; c < classes; c++)
            sum += exp((double)s[c] - top);
        loss += log(sum) + top - (double)s[b->class_of[i]];
        for (size_t c = 0; c < classes; c++)
            s[c] = (float)((exp((double)s[c] - top) / sum - (c == b->class_of[i])) /
                           (double)n);
    }
    rf_linear_store(&p->out, p->hidden, p->logits, 0, n);
    rf_linear_backward(&p->out, p->hidden, p->logits, n, false);
    drop(p, b);
    for (size_t i = 0; i < n * width; i++)
        p->hidden[i] = p->pre[i] > 0.0f ? p->hidden[i] : 0.0f;
    rf_linear_store(&p->dense, b->z, p->hidden, 0, n);
    rf_linear_backward(&p->dense, dz, p->hidden, n, false);
    for (size_t i = 0; i < rf_linear_blocks(&p->out); i++)
        rf_linear_update(&p->out, i, n, false, b->adam);
    for (size_t i = 0; i < rf_linear_blocks(&p->dense); i++)
        rf_linear_update(&p->dense, i, n, false, b->adam);
    return loss / (double)n;
}

static void refresh(rf_objective *o)
{
    plain *p = (plain *)o;
    rf_linear_transpose(&p->dense);
    rf_linear_transpose(&p->out);
}

static void release(rf_objective *o)
{
    plain *p = (plain *)o;
    rf_linear_release(&p->dense);
    rf_linear_release(&p->out);
    free(p->pre);
    free(p->hidden);
    free(p->logits);
    free(p);
}

static void list(rf_objective *o, const char *name, rf_linear *l)
{
    rf_objective_param *w = &o->params[o->n_params++], *b = &o->params[o->n_params++];
    *w = (rf_objective_param){
        .value = l->w, .m = l->w_m, .v = l->w_v, .n = rf_panels_floats(l->out, l->in)};
    *b = (rf_objective_param){.value = l->b, .m = l->b_m, .v = l->b_v, .n = l->out};
    snprintf(w->name, sizeof w->name, "%s.weight", name);
    snprintf(b->name, sizeof b->name, "%s.bias", name);
}

rf_objective *plain_objective(rf_known *k, size_t max_rows)
{
    plain *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->base = (rf_objective){.step = step, .refresh = refresh, .release = release};
    p->known = k;
    p->pre = rf_floats_new(max_rows * k->width);
    p->hidden = rf_floats_new(max_rows * k->width);
    p->logits = rf_floats_new(max_rows * k->classes);
    if (!p->pre || !p->hidden || !p->logits ||
        rf_linear_init(&p->dense, k->dense_w, k->dense_b, k->width, k->width, max_rows,
                       NULL) != RF_OK ||
        rf_linear_init(&p->out, k->out_w, k->out_b, k->classes, k->width, max_rows,
                       NULL) != RF_OK) {
        release(&p->base);
        return NULL;
    }
    list(&p->base, "known.dense", &p->dense);
    list(&p->base, "known.out", &p->out);
    return &p->base;
}
