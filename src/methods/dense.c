/* dense.c - forward and backward pass of the known classifier in training */
#include "methods/dense.h"

#include "base/memory.h"
#include "num/panels.h"
#include "num/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

rf_status rf_dense_init(rf_dense *d, rf_known *known, size_t max_rows, rf_error *err)
{
    *d = (rf_dense){.known = known, .max_rows = max_rows};
    size_t width = known->width, room = rf_panels_padded(max_rows * width);
    size_t n = 3 * room + max_rows * known->classes;
    d->block = rf_floats_new(n);
    rf_status st =
        d->block ? RF_OK : rf_fail_nomem(err, n * sizeof(float), "training a classifier");
    if (st == RF_OK)
        st = rf_linear_init(&d->dense, known->dense_w, known->dense_b, width, width,
                            max_rows, err);
    if (st == RF_OK)
        st = rf_linear_init(&d->out, known->out_w, known->out_b, known->classes, width,
                            max_rows, err);
    if (st != RF_OK) {
        rf_dense_release(d);
        return st;
    }
    d->pre = d->block;
    d->hidden = d->pre + room;
    d->dhidden = d->hidden + room;
    d->logits = d->dhidden + room;
    rf_dense_refresh(d);
    return RF_OK;
}

void rf_dense_release(rf_dense *d)
{
    rf_linear_release(&d->dense);
    rf_linear_release(&d->out);
    free(d->block);
    *d = (rf_dense){0};
}

static void list_param(rf_objective *o, const char *name, float *value, float *m,
                       float *v, size_t n)
{
    rf_objective_param *p = &o->params[o->n_params++];
    *p = (rf_objective_param){.value = value, .m = m, .v = v, .n = n};
    snprintf(p->name, sizeof p->name, "%s", name);
}

void rf_dense_list(rf_dense *d, rf_objective *o)
{
    rf_linear *a = &d->dense, *b = &d->out;
    list_param(o, "known.dense.weight", a->w, a->w_m, a->w_v,
               rf_panels_floats(a->out, a->in));
    list_param(o, "known.dense.bias", a->b, a->b_m, a->b_v, a->out);
    list_param(o, "known.out.weight", b->w, b->w_m, b->w_v,
               rf_panels_floats(b->out, b->in));
    list_param(o, "known.out.bias", b->b, b->b_m, b->b_v, b->out);
}

void rf_dense_refresh(rf_dense *d)
{
    rf_linear_transpose(&d->dense);
    rf_linear_transpose(&d->out);
}

/* The whole batch is one random stream: a row's mask depends on its index, not on n. The
 * backward pass draws it again. */
static void drop_hidden(const rf_dense *d, float *x, size_t n)
{
    if (d->dropout > 0.0f)
        rf_train_kernels()->dropout(x, x, n, d->dropout, d->key);
}

void rf_dense_forward(rf_dense *d, const float *z, size_t n, float dropout, uint64_t key)
{
    size_t floats = n * d->known->width;
    bool flat = d->known->form == RF_KNOWN_COSINE_FLAT;
    d->key = key;
    d->dropout = key ? dropout : 0.0f;
    rf_linear_forward(&d->dense, d->pre, z, n);
    for (size_t i = 0; i < floats; i++)
        d->hidden[i] = flat || d->pre[i] > 0.0f ? d->pre[i] : 0.0f;
    drop_hidden(d, d->hidden, floats);
    rf_linear_forward(&d->out, d->logits, d->hidden, n);
}

static void update_layer(rf_linear *l, size_t n, const rf_adam *adam)
{
    for (size_t i = 0; i < rf_linear_blocks(l); i++)
        rf_linear_update(l, i, n, false, adam);
}

/* In both halves the gradient of the input uses the weights before the step. */
void rf_dense_back_out(rf_dense *d, const float *dlogits, size_t n, const rf_adam *adam)
{
    rf_linear_store(&d->out, d->hidden, dlogits, 0, n);
    rf_linear_backward(&d->out, d->dhidden, dlogits, n, false);
    update_layer(&d->out, n, adam);
}

void rf_dense_back_hidden(rf_dense *d, const float *z, size_t n, float *dz,
                          const rf_adam *adam)
{
    size_t floats = n * d->known->width;
    bool flat = d->known->form == RF_KNOWN_COSINE_FLAT;
    drop_hidden(d, d->dhidden, floats);
    for (size_t i = 0; i < floats && !flat; i++)
        d->dhidden[i] = d->pre[i] > 0.0f ? d->dhidden[i] : 0.0f;
    rf_linear_store(&d->dense, z, d->dhidden, 0, n);
    rf_linear_backward(&d->dense, dz, d->dhidden, n, false);
    update_layer(&d->dense, n, adam);
}

/* -ln p[y] = (top - logit[y]) / temperature - ln p[top]: accurate even where p[y] is
 * too small for a float. */
double rf_cross_entropy(float *logits, const uint32_t *class_of, size_t n, size_t classes,
                        float temperature)
{
    double sum = 0.0;
    float share = 1.0f / ((float)n * temperature);
    for (size_t i = 0; i < n; i++) {
        float *p = logits + i * classes;
        size_t top = rf_largest(p, classes);
        double below = (double)p[top] - (double)p[class_of[i]];
        rf_kernels()->softmax(p, 1, classes, classes, 1.0f / temperature);
        sum += below / (double)temperature - log((double)p[top]);
        p[class_of[i]] -= 1.0f;
        for (size_t c = 0; c < classes; c++)
            p[c] *= share;
    }
    return sum / (double)n;
}

size_t rf_count_right(const float *logits, const uint32_t *class_of, size_t n,
                      size_t classes)
{
    size_t right = 0;
    for (size_t i = 0; i < n; i++)
        right += rf_largest(logits + i * classes, classes) == class_of[i];
    return right;
}
