/* reference_bert.c - a plain BERT in double precision */
#include "reference_bert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
    const reference_shape *s;
    reference_weights get;
    void *user;
} model;

static const float *part(const model *m, const char *prefix, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return m->get(m->user, full);
}

/* y[n][out] = x[n][in] W^T + b, W: [out][in] */
static void linear(const model *m, const char *prefix, const char *name, double *y,
                   const double *x, size_t n, size_t in, size_t out)
{
    char w_name[160], b_name[160];
    snprintf(w_name, sizeof w_name, "%s.weight", name);
    snprintf(b_name, sizeof b_name, "%s.bias", name);
    const float *w = part(m, prefix, w_name), *b = part(m, prefix, b_name);
    for (size_t t = 0; t < n; t++)
        for (size_t o = 0; o < out; o++) {
            double s = (double)b[o];
            for (size_t i = 0; i < in; i++)
                s += x[t * in + i] * (double)w[o * in + i];
            y[t * out + o] = s;
        }
}

static void layer_norm(const model *m, const char *prefix, const char *name, double *x,
                       size_t n)
{
    char w_name[160], b_name[160];
    size_t d = m->s->width;
    snprintf(w_name, sizeof w_name, "%s.weight", name);
    snprintf(b_name, sizeof b_name, "%s.bias", name);
    const float *g = part(m, prefix, w_name), *b = part(m, prefix, b_name);
    for (size_t t = 0; t < n; t++) {
        double *r = x + t * d, mean = 0, var = 0;
        for (size_t i = 0; i < d; i++)
            mean += r[i] / (double)d;
        for (size_t i = 0; i < d; i++)
            var += (r[i] - mean) * (r[i] - mean) / (double)d;
        for (size_t i = 0; i < d; i++)
            r[i] = (r[i] - mean) / sqrt(var + m->s->eps) * (double)g[i] + (double)b[i];
    }
}

static void attend(const model *m, double *out, const double *q, const double *k,
                   const double *v, size_t n)
{
    size_t d = m->s->width, dh = d / m->s->heads;
    double *p = malloc(n * sizeof *p);
    for (size_t h = 0; h < m->s->heads; h++)
        for (size_t t = 0; t < n; t++) {
            double sum = 0;
            for (size_t u = 0; u < n; u++) {
                double dot = 0;
                for (size_t i = 0; i < dh; i++)
                    dot += q[t * d + h * dh + i] * k[u * d + h * dh + i];
                sum += p[u] = exp(dot / sqrt((double)dh));
            }
            for (size_t i = 0; i < dh; i++) {
                double s = 0;
                for (size_t u = 0; u < n; u++)
                    s += p[u] / sum * v[u * d + h * dh + i];
                out[t * d + h * dh + i] = s;
            }
        }
    free(p);
}

void reference_bert(const reference_shape *s, reference_weights weights, void *user,
                    const int32_t *ids, size_t n, double *out)
{
    const model m = {s, weights, user};
    size_t d = s->width;
    double *x = malloc(n * d * sizeof *x), *q = malloc(n * d * sizeof *q),
           *k = malloc(n * d * sizeof *k), *v = malloc(n * d * sizeof *v),
           *a = malloc(n * d * sizeof *a), *f = malloc(n * s->inner * sizeof *f);
    const float *word = weights(user, "embeddings.word_embeddings.weight");
    const float *pos = weights(user, "embeddings.position_embeddings.weight");
    const float *type = weights(user, "embeddings.token_type_embeddings.weight");
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < d; i++)
            x[t * d + i] = (double)word[(size_t)ids[t] * d + i] + (double)pos[t * d + i] +
                           (double)type[i];
    layer_norm(&m, "", "embeddings.LayerNorm", x, n);
    for (size_t l = 0; l < s->layers; l++) {
        char at[48];
        snprintf(at, sizeof at, "encoder.layer.%zu.", l);
        linear(&m, at, "attention.self.query", q, x, n, d, d);
        linear(&m, at, "attention.self.key", k, x, n, d, d);
        linear(&m, at, "attention.self.value", v, x, n, d, d);
        attend(&m, a, q, k, v, n);
        linear(&m, at, "attention.output.dense", q, a, n, d, d);
        for (size_t i = 0; i < n * d; i++)
            x[i] += q[i];
        layer_norm(&m, at, "attention.output.LayerNorm", x, n);
        linear(&m, at, "intermediate.dense", f, x, n, d, s->inner);
        for (size_t i = 0; i < n * s->inner; i++)
            f[i] = 0.5 * f[i] * (1.0 + erf(f[i] / sqrt(2.0)));
        linear(&m, at, "output.dense", q, f, n, s->inner, d);
        for (size_t i = 0; i < n * d; i++)
            x[i] += q[i];
        layer_norm(&m, at, "output.LayerNorm", x, n);
    }
    for (size_t i = 0; i < d; i++) {
        out[i] = 0;
        for (size_t t = 0; t < n; t++)
            out[i] += x[t * d + i] / (double)n;
    }
    free(x);
    free(q);
    free(k);
    free(v);
    free(a);
    free(f);
}
