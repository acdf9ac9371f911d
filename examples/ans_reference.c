/*
 * ans_reference.c - the ANS method, from features to fences, in one plain file
 *
 * The task: learn from texts of C known classes, then answer with one of them or with
 * "open", none of these, without ever seeing an open text. An encoder has already turned
 * each text into a feature z of d numbers (paper, section 3.1). From there:
 *
 *   heads      One small network g_m(z) per class: 0 or more where class m is, below 0
 *              everywhere else (3.2).
 *   negatives  Texts of other classes show little of "everywhere else". A head trained
 *              on them alone is a boundary between classes, and most of the unknown is
 *              inside. So each step also makes up negatives close around the class,
 *              where the head is most wrong (3.3). They close the boundary to a fence.
 *   fences     If they reject too many held-out texts (dev), all of them move outwards.
 *   decision   A text outside every fence is open.
 *
 * This is what src/ does, without threads, SIMD and error handling, with the same
 * defaults and random numbers: `ringfence train --train-layers 0` gives the same margins,
 * up to what training makes of rounding. "Departs" marks where both leave the paper.
 *
 * Input: a line per text, its label and its d features, separated by tabs. Labels that
 * are not in the training file count as open.
 *
 *   cc -O3 ans_reference.c -lm -o ans_reference
 *   for part in train dev test; do
 *       tail -n +2 $part.tsv | cut -f1 | ringfence embed >features
 *       tail -n +2 $part.tsv | cut -f2 | paste - features >$part.features
 *   done
 *   ./ans_reference train.features dev.features test.features
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H1 = 256, H2 = 64 }; /* hidden layers of a head (paper, "Experimental Details") */
#define POSITIVES 8       /* n: texts of the class in a step, each with a synthetic one */
#define NEGATIVES 64      /* R: texts of other classes in a step, or all if fewer */
#define DROPOUT 0.1f      /* after each hidden layer */
#define RATE 3e-4f        /* of Adam */
#define LAMBDA 1.0f       /* weight of synthetic texts in the loss */
#define GAMMA 2.0f        /* the shell reaches from r to GAMMA r */
#define ASCENT_STEPS 10   /* k */
#define ASCENT_RATE 0.02f /* eta, length of an ascent step, in units of r */
#define RECALL 0.95f      /* train longer while a head accepts fewer of its own texts */

typedef struct settings {
    size_t steps;          /* of one head at the full rate */
    float negative_weight; /* w: weight of other classes' texts in the loss */
    float positive_noise;  /* on texts of the class, in standard deviations */
    double fence_reject;   /* share of dev texts that the fences may reject */
} settings;

/* With few texts in a class there are gaps between them, which negatives would close
 * against the class itself: hence noise on its texts, and a small weight for the others.
 * Departs: neither is in the paper, nor is fence_reject. */
static settings default_settings(size_t rows, size_t classes, size_t steps)
{
    size_t each = rows / classes;
    settings s = {.steps = steps, .negative_weight = each < 80 ? 0.05f : 1.0f};
    s.positive_noise = each < 80 ? fminf(1.0f, sqrtf(10.0f / (float)each)) : 0.0f;
    s.fence_reject = each < 80 || each >= 200 ? 0.15 : 0.10;
    return s;
}

static void check(bool good, const char *what, const char *wanted)
{
    if (!good) {
        fprintf(stderr, "ans_reference: %s: wanted %s\n", what, wanted);
        exit(1);
    }
}

static void *alloc(size_t n, size_t size) /* zeroed */
{
    void *p = calloc(n + 1, size);
    check(p, "memory", "more of it");
    return p;
}

/* ---- Random numbers -------------------------------------------------------------- */
/* Every random number has a name: value i of the stream (seed, class, purpose, step). So
 * heads can be trained in any order. The generator is SplitMix64; the seed is 0. */
enum { FIRST_WEIGHTS = 1, OWN_ORDER, REST_ORDER, NOISE, DROPOUT_1, DROPOUT_2, MOVE };
#define STEP 0x9e3779b97f4a7c15u

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t stream(uint64_t class_key, uint64_t purpose, uint64_t step)
{
    uint64_t key = mix((mix(0 + STEP) ^ class_key) + STEP);
    return mix((mix((key ^ purpose) + STEP) ^ step) + STEP);
}

static uint64_t draw(uint64_t key, uint64_t i)
{
    return mix(key + (i + 1) * STEP);
}

/* U[0, 1): the upper 24 bits, all that a float holds. */
static float uniform(uint64_t key, uint64_t i)
{
    return (float)(draw(key, i) >> 40) * 0x1p-24f;
}

/* N(0, 1) by Box-Muller: one value gives u and v, and they a pair of draws,
 * sqrt(-2 ln u) cos(2 pi v) and sqrt(-2 ln u) sin(2 pi v). The product has polynomials
 * for log, cos and sin, which differ in the last digits. */
static float normal(uint64_t key, uint64_t i)
{
    uint64_t bits = draw(key, i / 2);
    double u = (double)((bits >> 40) + 1) * 0x1p-24;
    double angle = 6.283185307179586 * 0x1p-24 * (double)((bits >> 8) & 0xffffff);
    return (float)(sqrt(-2.0 * log(u)) * (i % 2 ? sin(angle) : cos(angle)));
}

/* Fisher-Yates. Draws past the last multiple of i would favour small j: skipped. */
static void shuffle(size_t *a, size_t n, uint64_t key)
{
    uint64_t at = 0, x;
    for (size_t i = n; i > 1; i--) {
        while ((x = draw(key, at++)) >= UINT64_MAX - UINT64_MAX % i)
            ;
        size_t j = (size_t)(x % i), last = a[i - 1];
        a[i - 1] = a[j];
        a[j] = last;
    }
}

/* A class is named by its label (FNV-1a): its number may change as classes are added. */
static uint64_t label_key(const char *label)
{
    uint64_t h = 14695981039346656037u;
    for (; *label; label++)
        h = (h ^ (unsigned char)*label) * 1099511628211u;
    return mix(h);
}

/* ---- Features and classes -------------------------------------------------------- */
typedef struct rows {
    size_t n, width;
    float *z;           /* [n, d] */
    char (*label)[256]; /* [n] */
    size_t *class_of;   /* [n]; C means open */
} rows;

static rows read_rows(const char *path)
{
    rows r = {0};
    FILE *f = fopen(path, "r");
    check(f, path, "a file");
    for (int c; (c = getc(f)) != EOF; r.n += c == '\n')
        r.width += c == '\t' && r.n == 0; /* tabs in the first line */
    r.z = alloc(r.n * r.width, sizeof *r.z);
    r.label = alloc(r.n, sizeof *r.label);
    r.class_of = alloc(r.n, sizeof *r.class_of);
    rewind(f);
    for (size_t i = 0; i < r.n; i++) {
        bool good = fscanf(f, " %255[^\t\n]", r.label[i]) == 1;
        for (size_t j = 0; j < r.width; j++)
            good = good && fscanf(f, "%f", &r.z[i * r.width + j]) == 1;
        check(good, path, "a label and the same number of features in every line");
    }
    fclose(f);
    return r;
}

typedef struct class_stats {
    float *mean, *variance, distance; /* [d], [d], D */
} class_stats;

/* D = sqrt(2 sum_j variance_j), the root mean square distance of two texts of the class
 * (3.3, the proposition): the scale of "close to the class". Of the covariance only the
 * diagonal is needed. (To a class that is one point, the product lends a variance.) */
static class_stats measure_class(const rows *r, size_t m)
{
    size_t d = r->width, n = 0;
    class_stats c = {alloc(d, sizeof(float)), alloc(d, sizeof(float)), 0.0f};
    double total = 0.0;
    for (size_t i = 0; i < r->n; i++)
        n += r->class_of[i] == m;
    for (size_t j = 0; j < d; j++) {
        double mean = 0.0, variance = 0.0;
        for (size_t i = 0; i < r->n; i++)
            mean += r->class_of[i] == m ? (double)r->z[i * d + j] / (double)n : 0.0;
        for (size_t i = 0; i < r->n; i++)
            if (r->class_of[i] == m)
                variance += pow((double)r->z[i * d + j] - mean, 2.0) / (double)n;
        c.mean[j] = (float)mean, c.variance[j] = (float)variance;
        total += variance;
    }
    c.distance = (float)sqrt(2.0 * total);
    return c;
}

/* ---- The head: g(z) = relu(relu(z W1 + b1) W2 + b2) W3 + b3 ------------------------ */
/* One block, so that the optimiser is a single loop. A gradient has the same shape. */
typedef struct head {
    size_t width, floats;
    float *w1, *b1; /* [d, 256], [256]; w1 is the start of the block */
    float *w2, *b2; /* [256, 64], [64] */
    float *w3, *b3; /* [64, 1], [1] */
} head;

static head new_head(size_t d)
{
    head h = {.width = d, .floats = d * H1 + H1 + H1 * H2 + H2 + H2 + 1};
    h.w1 = alloc(h.floats, sizeof(float)), h.b1 = h.w1 + d * H1;
    h.w2 = h.b1 + H1, h.b2 = h.w2 + H1 * H2;
    h.w3 = h.b2 + H2, h.b3 = h.w3 + H2;
    return h;
}

/* Each layer's W [in, out] and b [out] from U(-1, 1) / sqrt(in), as PyTorch does. W is
 * drawn in the order in which the product stores it, 16 columns at a time. */
static void init_head(head *h, uint64_t key)
{
    float *w[] = {h->w1, h->w2, h->w3}, *b[] = {h->b1, h->b2, h->b3};
    size_t widths[] = {h->width, H1, H2, 1}, at = 0;
    for (size_t l = 0; l < 3; l++) {
        size_t in = widths[l], out = widths[l + 1];
        float bound = 1.0f / sqrtf((float)in);
        for (size_t panel = 0; panel < out; panel += 16)
            for (size_t i = 0; i < in; i++)
                for (size_t o = panel; o < out && o < panel + 16; o++)
                    w[l][i * out + o] = (2.0f * uniform(key, at++) - 1.0f) * bound;
        for (size_t o = 0; o < out; o++)
            b[l][o] = (2.0f * uniform(key, at++) - 1.0f) * bound;
    }
}

/* y [out] = x [in] W [in, out] + b [out] */
static void linear_forward(float *restrict y, const float *x, const float *w,
                           const float *b, size_t in, size_t out)
{
    memcpy(y, b, out * sizeof *y);
    for (size_t i = 0; i < in; i++)
        for (size_t o = 0; o < out; o++)
            y[o] += x[i] * w[i * out + o];
}

/* dx [in] = dy [out] W' */
static void linear_back(float *dx, const float *dy, const float *w, size_t in, size_t out)
{
    for (size_t i = 0; i < in; i++) {
        float sum = 0.0f;
        for (size_t o = 0; o < out; o++)
            sum += dy[o] * w[i * out + o];
        dx[i] = sum;
    }
}

/* dW [in, out] += x' dy; db [out] += dy */
static void linear_gradient(float *restrict dw, float *restrict db, const float *x,
                            const float *dy, size_t in, size_t out)
{
    for (size_t o = 0; o < out; o++)
        db[o] += dy[o];
    for (size_t i = 0; i < in; i++)
        for (size_t o = 0; o < out; o++)
            dw[i * out + o] += x[i] * dy[o];
}

typedef struct dropout {
    float p;             /* probability; 16 random bits decide on an element */
    uint64_t key1, key2; /* streams of the two hidden layers */
} dropout;

/* h [n] = dropout(relu(h)); element j of this row is element row * n + j of the stream.
 * Survivors are scaled by 1 / (1 - p), so that sums stay the same on average. */
static void relu_forward(float *h, size_t n, float p, uint64_t key, size_t row)
{
    float limit = floorf(p * 65536.0f + 0.5f), scale = 65536.0f / (65536.0f - limit);
    for (size_t i = row * n; i < (row + 1) * n; i++, h++) {
        uint64_t bits = p > 0.0f ? draw(key, i / 4) >> 16 * (i % 4) & 0xffff : 65535;
        *h = *h <= 0.0f || (float)bits < limit ? 0.0f : scale * *h;
    }
}

/* d [n] back through both: h is above 0 exactly where both let it through. */
static void relu_back(float *d, const float *h, size_t n, float p)
{
    float scale = 65536.0f / (65536.0f - floorf(p * 65536.0f + 0.5f));
    for (size_t j = 0; j < n; j++)
        d[j] = h[j] > 0.0f ? scale * d[j] : 0.0f;
}

/* g(z) of one row z [d]; h1 [256] and h2 [64], the hidden layers, serve the way back. */
static float head_forward(const head *h, const float *z, float *h1, float *h2,
                          const dropout *drop, size_t row)
{
    float g;
    linear_forward(h1, z, h->w1, h->b1, h->width, H1);
    relu_forward(h1, H1, drop->p, drop->key1, row);
    linear_forward(h2, h1, h->w2, h->b2, H1, H2);
    relu_forward(h2, H2, drop->p, drop->key2, row);
    linear_forward(&g, h2, h->w3, h->b3, H2, 1);
    return g;
}

/* Back from dg = dloss/dg to d2 [64] and d1 [256], dloss by the inputs of the ReLUs. */
static void head_back(float *d1, float *d2, const head *h, const float *h1,
                      const float *h2, float dg, float p)
{
    linear_back(d2, &dg, h->w3, H2, 1);
    relu_back(d2, h2, H2, p);
    linear_back(d1, d2, h->w2, H1, H2);
    relu_back(d1, h1, H1, p);
}

/* How far inside the fence z is; below 0: outside. */
static float margin(const head *h, const float *z)
{
    float h1[H1], h2[H2];
    return head_forward(h, z, h1, h2, &(dropout){0}, 0);
}

/* ---- Synthetic negatives (3.3; Algorithm 1, lines 8 to 14) ------------------------- */
static double norm(const float *x, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++)
        sum += (double)x[j] * (double)x[j];
    return sqrt(sum);
}

/* k times eps [d] += rate u, u being the unit vector up the slope of the loss at z + eps.
 * Why ascend: the shell is vast, and nearly all of it is rejected already. What is worth
 * learning from is a negative that the head takes for its class. The loss, softplus(g),
 * rises with g, so its unit gradient is that of g, which does not fade where the loss is
 * flat. The head stays as it is meanwhile, and dropout is off. */
static void ascend(float *eps, const float *z, const head *h, size_t k, float rate)
{
    float h1[H1], h2[H2], d1[H1], d2[H2];
    float *at = alloc(2 * h->width, sizeof *at), *slope = at + h->width;
    for (; k > 0; k--) {
        for (size_t j = 0; j < h->width; j++)
            at[j] = z[j] + eps[j];
        head_forward(h, at, h1, h2, &(dropout){0}, 0);
        head_back(d1, d2, h, h1, h2, 1.0f, 0.0f);
        linear_back(slope, d1, h->w1, h->width, H1);
        float scale = (float)((double)rate / (norm(slope, h->width) + 1e-12));
        for (size_t j = 0; j < h->width; j++)
            eps[j] += scale * slope[j];
    }
    free(at);
}

/* eps [d] *= clip(|eps|, r, gamma r) / |eps|
 * Why a shell: closer to z than r there are texts of the class, and to call those
 * negative would be wrong; beyond gamma r a negative says nothing about the fence. Why
 * project after the ascent: uphill is often towards the class; this undoes what led too
 * close. Departs: the paper adds alpha times a unit vector, but its alpha is a factor. */
static void project(float *eps, size_t d, float r, float gamma)
{
    double now = norm(eps, d);
    double want = fmin(fmax(now, (double)r), (double)gamma * (double)r);
    for (size_t j = 0; j < d && now > 0.0; j++)
        eps[j] *= (float)(want / now);
}

/* ---- Loss and optimiser ---------------------------------------------------------- */
/* What one row adds to the loss and to its gradient: weight softplus(sign g(z)).
 * softplus(x) = ln(1 + e^x) is near 0 where g has the right sign and grows with the
 * mistake; its derivative is the sigmoid. */
static double add_row(head *gradient, const head *h, const float *z, float sign,
                      float weight, const dropout *drop, size_t row)
{
    float h1[H1], h2[H2], d1[H1], d2[H2];
    float x = sign * head_forward(h, z, h1, h2, drop, row);
    float dg = sign * weight / (1.0f + expf(-x));
    head_back(d1, d2, h, h1, h2, dg, drop->p);
    linear_gradient(gradient->w3, gradient->b3, h2, &dg, H2, 1);
    linear_gradient(gradient->w2, gradient->b2, h1, d2, H1, H2);
    linear_gradient(gradient->w1, gradient->b1, z, d1, h->width, H1);
    return (double)(weight * (fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)))));
}

/* x [n + R + S, d]: n texts of the class, R of others, S synthetic ones.
 *
 *   loss = ( sum softplus(-g(own)) + w sum softplus(g(other))
 *            + lambda sum softplus(g(synthetic)) ) / (n + R)
 *
 * L_rest (equation 2) + lambda L_syn. Departs: w, and the common divisor. */
static float loss_and_gradient(head *gradient, const head *h, const float *x, size_t n,
                               size_t R, size_t S, float w, float lambda,
                               const dropout *drop)
{
    double loss = 0.0;
    float each = 1.0f / (float)(n + R);
    memset(gradient->w1, 0, gradient->floats * sizeof(float));
    for (size_t i = 0; i < n + R + S; i++) {
        float sign = i < n ? -1.0f : 1.0f, weight = i < n ? 1.0f : i < n + R ? w : lambda;
        loss += add_row(gradient, h, x + i * h->width, sign, each * weight, drop, i);
    }
    return (float)loss;
}

/* Adam, t counting from 1: moments m and v of the gradient, both corrected for starting
 * at 0; h -= rate m / (sqrt(v) + 1e-8). */
static void adam(head *h, const head *gradient, head *m, head *v, size_t t, float rate)
{
    float fix1 = (float)(1.0 / (1.0 - pow(0.9, (double)t)));
    float fix2 = (float)(1.0 / (1.0 - pow(0.999, (double)t)));
    for (size_t i = 0; i < h->floats; i++) {
        float g = gradient->w1[i];
        m->w1[i] = 0.9f * m->w1[i] + (1.0f - 0.9f) * g;
        v->w1[i] = 0.999f * v->w1[i] + (1.0f - 0.999f) * g * g;
        h->w1[i] -= rate * (fix1 * m->w1[i]) / (sqrtf(fix2 * v->w1[i]) + 1e-8f);
    }
}

/* ---- Training one head ----------------------------------------------------------- */
/* Deals rows like cards: all of them, then shuffled anew. */
typedef struct sampler {
    size_t *rows, n, next;
    uint64_t purpose, round; /* of the stream that shuffles */
} sampler;

/* x [n, d]: the next n rows */
static void take_rows(float *x, size_t n, sampler *s, const rows *r, uint64_t key)
{
    for (size_t i = 0; i < n; i++) {
        if (s->next == s->n) {
            if (n != s->n) /* all of them every time: the order does not matter */
                shuffle(s->rows, s->n, stream(key, s->purpose, s->round++));
            s->next = 0;
        }
        memcpy(x + i * r->width, r->z + s->rows[s->next++] * r->width,
               r->width * sizeof *x);
    }
}

/* Share of the texts of class m that the head accepts (the product asks at most 1024). */
static float recall(const head *h, const rows *r, size_t m)
{
    size_t n = 0, accepted = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->class_of[i] == m)
            n++, accepted += margin(h, r->z + i * r->width) >= 0.0f;
    return (float)accepted / (float)n;
}

/* Algorithm 1: trains the head of class m, returns the number of steps. They are `steps`
 * at the full rate; a quarter more, and again, up to three times as many, while the head
 * rejects too many of its own texts. Then cooling: the rate falls towards 0, and the
 * fence comes to rest. Departs: the paper has min(C, 20) epochs. */
static size_t train_head(head *h, const rows *train, size_t m, uint64_t key,
                         const class_stats *c, const settings *s)
{
    size_t n = POSITIVES, d = h->width, end = s->steps, more = s->steps / 4;
    float r = c->distance; /* departs: the paper has 8 for all, where D is 8 to 12 */
    sampler own = {alloc(train->n, sizeof(size_t)), 0, 0, OWN_ORDER, 0};
    sampler rest = {alloc(train->n, sizeof(size_t)), 0, 0, REST_ORDER, 0};
    for (size_t i = 0; i < train->n; i++) {
        sampler *side = train->class_of[i] == m ? &own : &rest;
        side->rows[side->n++] = i;
        side->next = side->n; /* at the end: it begins with a shuffle */
    }
    size_t R = rest.n < NEGATIVES ? rest.n : NEGATIVES, step = 0;
    float *x = alloc((n + R + n) * d, sizeof *x); /* own, others, synthetic */
    head gradient = new_head(d), moment1 = new_head(d), moment2 = new_head(d);
    init_head(h, stream(key, FIRST_WEIGHTS, 0));
    for (; step < end + more; step++) {
        uint64_t noise = stream(key, NOISE, step), move = stream(key, MOVE, step);
        dropout drop = {DROPOUT, stream(key, DROPOUT_1, step),
                        stream(key, DROPOUT_2, step)};
        take_rows(x, n, &own, train, key);
        take_rows(x + n * d, R, &rest, train, key);
        for (size_t i = 0; i < n; i++) {
            /* eps starts from N(0, 4 diag(variance)), 2 sigma: the shape of the class,
             * but wider. Its length is about 1.4 D, in the middle of the shell. */
            float *z = x + i * d, *eps = x + (n + R + i) * d;
            for (size_t j = 0; j < d; j++) {
                float sigma = sqrtf(c->variance[j]);
                z[j] += s->positive_noise * sigma * normal(move, i * d + j);
                eps[j] = 2.0f * sigma * normal(noise, i * d + j);
            }
            ascend(eps, z, h, ASCENT_STEPS, ASCENT_RATE * r);
            project(eps, d, r, GAMMA);
            for (size_t j = 0; j < d; j++)
                eps[j] += z[j]; /* now the synthetic negative itself */
        }
        loss_and_gradient(&gradient, h, x, n, R, n, s->negative_weight, LAMBDA, &drop);
        float cooled = (float)(end + more - step) / (float)(more + 1);
        adam(h, &gradient, &moment1, &moment2, step + 1, RATE * fminf(cooled, 1.0f));
        if (step + 1 == end && end < 3 * s->steps && recall(h, train, m) < RECALL)
            end = end + more < 3 * s->steps ? end + more : 3 * s->steps;
    }
    free(own.rows), free(rest.rows), free(x);
    free(gradient.w1), free(moment1.w1), free(moment2.w1);
    return step;
}

/* ---- Fences and decision --------------------------------------------------------- */
/* The class with the largest margin, and the margin. Departs: the paper asks the
 * classifier of stage 1 which class an accepted text is; the heads know better. */
static size_t nearest_class(const head *heads, size_t C, const float *z, float *largest)
{
    size_t nearest = 0;
    *largest = -INFINITY;
    for (size_t m = 0; m < C; m++) {
        float g = margin(&heads[m], z);
        if (g > *largest)
            *largest = g, nearest = m;
    }
    return nearest;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* What to add to every margin so that at most this share of the n dev texts, and one more
 * (an odd one should not move all fences), are below 0; never less than 0. Sorts them.
 * Departs: the paper leaves fences where training ends. */
static float loosening(float *margins, size_t n, double share)
{
    size_t outside = (size_t)((share + 1e-6) * (double)n) + 1;
    qsort(margins, n, sizeof *margins, ascending);
    float lowest = outside < n ? margins[outside] : 0.0f; /* that must be inside */
    return lowest < 0.0f ? -lowest + 1e-5f * (1.0f - lowest) : 0.0f; /* 1e-5: rounding */
}

/* Answers every row; id C is open. F1 of an id is 2 TP / (its rows + answers with it), F1
 * the mean over the C classes and open. */
static void evaluate(const head *heads, char **labels, size_t C, const rows *test)
{
    size_t *total = alloc(2 * (C + 1), sizeof *total), *right = total + C + 1;
    double correct = 0.0, open = 0.0, f1 = 0.0, percent = 100.0 / (double)test->n;
    for (size_t i = 0; i < test->n; i++) {
        float g;
        size_t nearest = nearest_class(heads, C, test->z + i * test->width, &g);
        size_t answer = g >= 0.0f ? nearest : C, truth = test->class_of[i];
        printf("%s\t%.4f\n", answer < C ? labels[answer] : "open", (double)g);
        total[truth]++, total[answer]++;
        right[answer] += answer == truth;
        correct += answer == truth;
        open += answer == C;
    }
    for (size_t m = 0; m <= C; m++)
        f1 += total[m] ? 200.0 * (double)right[m] / (double)total[m] : 0.0;
    fprintf(stderr, "accuracy %.2f %%, F1 %.2f %%, open %.2f %%\n", percent * correct,
            f1 / (double)(C + 1), percent * open);
    free(total);
}

#ifndef ANS_REFERENCE_TEST
int main(int argc, char **argv)
{
    check(argc == 4 || argc == 5, "arguments", "TRAIN DEV TEST [STEPS]");
    rows files[3] = {read_rows(argv[1]), read_rows(argv[2]), read_rows(argv[3])};
    rows *train = &files[0], *dev = &files[1], *test = &files[2];
    char **labels = alloc(train->n, sizeof *labels);
    size_t C = 0, n_dev = 0;
    for (rows *r = files; r < files + 3; r++)
        for (size_t i = 0; i < r->n; i++) {
            size_t *m = &r->class_of[i];
            while (*m < C && strcmp(labels[*m], r->label[i]) != 0)
                ++*m;
            if (r == train && *m == C)
                labels[C++] = r->label[i];
        }
    bool same = dev->width == train->width && test->width == train->width;
    check(C > 0 && same, "features", "training rows, and files of the same width");
    size_t steps = argc > 4 ? strtoul(argv[4], NULL, 10) : 600;
    settings s = default_settings(train->n, C, steps);
    head *heads = alloc(C, sizeof *heads);
    for (size_t m = 0; m < C; m++) {
        class_stats c = measure_class(train, m);
        heads[m] = new_head(train->width);
        steps = train_head(&heads[m], train, m, label_key(labels[m]), &c, &s);
        fprintf(stderr, "head %zu of %zu, %s: %zu steps\n", m + 1, C, labels[m], steps);
        free(c.mean), free(c.variance);
    }
    float *margins = alloc(dev->n, sizeof *margins);
    for (size_t i = 0; i < dev->n; i++)
        if (dev->class_of[i] < C) /* only texts that belong inside some fence */
            nearest_class(heads, C, dev->z + i * dev->width, &margins[n_dev++]);
    float offset = loosening(margins, n_dev, s.fence_reject);
    for (size_t m = 0; m < C; m++)
        *heads[m].b3 += offset;
    fprintf(stderr, "fences moved out by %.4f\n", (double)offset);
    evaluate(heads, labels, C, test);
    for (size_t m = 0; m < C; m++)
        free(heads[m].w1);
    for (rows *r = files; r < files + 3; r++)
        free(r->z), free(r->label), free(r->class_of);
    free(heads), free(labels), free(margins);
}
#endif
