/* heads.c - memory layout and forward pass of the heads */
#include "ans/heads.h"

#include "base/memory.h"
#include "num/panels.h"
#include "num/train.h"
#include "num/vectors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t rf_head_floats(size_t width)
{
    return rf_panels_floats(RF_HEAD_1, width) + RF_HEAD_1 +
           rf_panels_floats(RF_HEAD_2, RF_HEAD_1) + RF_HEAD_2 + RF_HEAD_2 + RF_PANEL;
}

rf_head rf_head_in(float *block, size_t width)
{
    rf_head head;
    head.w1 = block;
    head.b1 = head.w1 + rf_panels_floats(RF_HEAD_1, width);
    head.w2 = head.b1 + RF_HEAD_1;
    head.b2 = head.w2 + rf_panels_floats(RF_HEAD_2, RF_HEAD_1);
    head.w3 = head.b2 + RF_HEAD_2;
    head.b3 = head.w3 + RF_HEAD_2;
    return head;
}

rf_head rf_head_at(const rf_heads *h, size_t class_index)
{
    size_t place = rf_method_state_place(h, class_index);
    assert(place != RF_NOT_HELD);
    return rf_head_in(h->block + place * rf_head_floats(h->width), h->width);
}

const rf_method_array rf_head_arrays[RF_HEAD_PARTS] = {RF_HEAD_ARRAY_ROWS};

/* Numbers the classes that have a head. */
static rf_status place_heads(rf_heads *h, const bool *has, rf_error *err)
{
    h->held = 0;
    h->place = calloc(h->classes, sizeof *h->place);
    if (!h->place)
        return rf_fail_nomem(err, h->classes * sizeof *h->place, "the heads");
    for (size_t c = 0; c < h->classes; c++)
        h->place[c] = has[c] ? (uint32_t)h->held++ : RF_NOT_HELD;
    return RF_OK;
}

rf_status rf_heads_room(rf_heads *h, const bool *has, rf_error *err)
{
    size_t floats, bytes;
    if (h->width > SIZE_MAX / 4096 || h->classes >= RF_NOT_HELD ||
        !rf_size_mul(rf_head_floats(h->width), h->classes, &floats) ||
        !rf_size_mul(floats, sizeof(float), &bytes))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu heads of width %zu are too many",
                       h->classes, h->width);
    h->held = h->classes;
    rf_status st = has ? place_heads(h, has, err) : RF_OK;
    if (st != RF_OK)
        return st;
    h->class_floats = rf_head_floats(h->width);
    floats = h->held * h->class_floats;
    h->block = rf_floats_new(floats + 1);
    if (!h->block)
        return rf_fail_nomem(err, floats * sizeof(float), "the heads");
    memset(h->block, 0, floats * sizeof(float));
    h->in_block = RF_HEAD_PARTS;
    const rf_head first = rf_head_in(h->block, h->width);
    float *const parts[RF_HEAD_PARTS] = {first.w1, first.b1, first.w2,
                                         first.b2, first.w3, first.b3};
    for (size_t i = 0; i < RF_HEAD_PARTS; i++) {
        const rf_method_array *a = &rf_head_arrays[i];
        h->arrays[i].data = parts[i];
        for (size_t d = 0; d < 3; d++)
            h->arrays[i].shape[d] = d < a->rank ? rf_dim_size(h, a->dims[d]) : 1;
    }
    return RF_OK;
}

rf_status rf_heads_init(rf_heads *h, size_t width, size_t classes, rf_error *err)
{
    *h = (rf_heads){.width = width, .classes = classes};
    return rf_heads_room(h, NULL, err);
}

static bool round_to_half(float *x, size_t n)
{
    rf_to_half(x, x, n);
    return rf_kernels()->all_finite(x, n);
}

bool rf_head_round(const rf_head *head, size_t width)
{
    bool first = round_to_half(head->w1, rf_panels_floats(RF_HEAD_1, width));
    return round_to_half(head->w2, rf_panels_floats(RF_HEAD_2, RF_HEAD_1)) && first;
}

/* y [n, out] = max(0, x W^T + b). A NaN stays NaN, so that it never passes for a
 * margin. */
static void dense_relu(float *y, const float *x, const float *w, const float *b, size_t n,
                       size_t out, size_t in)
{
    rf_panels_multiply(y, x, w, b, n, out, in);
    for (size_t i = 0; i < n * out; i++)
        y[i] = 0.0f > y[i] ? 0.0f : y[i];
}

/* x . w in eight partial sums, added in a fixed order */
static float dot(const float *x, const float *w)
{
    float s[8] = {0};
    for (size_t i = 0; i < RF_HEAD_2; i += 8)
        for (size_t j = 0; j < 8; j++)
            s[j] += x[i + j] * w[i + j];
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

void rf_head_forward(const rf_head *head, size_t width, const float *x, size_t n,
                     const rf_head_dropout *drop, float *h1, float *h2, float *g,
                     size_t ld_g)
{
    const rf_train_table *t = rf_train_kernels();
    dense_relu(h1, x, head->w1, head->b1, n, RF_HEAD_1, width);
    if (drop && drop->p > 0.0f)
        t->dropout(h1, h1, n * RF_HEAD_1, drop->p, drop->key1);
    dense_relu(h2, h1, head->w2, head->b2, n, RF_HEAD_2, RF_HEAD_1);
    if (drop && drop->p > 0.0f)
        t->dropout(h2, h2, n * RF_HEAD_2, drop->p, drop->key2);
    for (size_t i = 0; i < n; i++)
        g[i * ld_g] = dot(h2 + i * RF_HEAD_2, head->w3) + *head->b3;
}

void rf_heads_score(const rf_heads *h, const float *z, size_t n, size_t from, size_t to,
                    float *margins, float *scratch)
{
    /* Rows in the outer loop, heads in the inner: 96 rows of features stay in the L2
     * cache while the weights of all heads stream through. */
    for (size_t i = 0; i < n; i += RF_SCORE_ROWS) {
        size_t some = n - i < RF_SCORE_ROWS ? n - i : RF_SCORE_ROWS;
        for (size_t m = from; m < to; m++) {
            rf_head head = rf_head_at(h, m);
            rf_head_forward(&head, h->width, z + i * h->width, some, NULL, scratch,
                            scratch + RF_SCORE_ROWS * RF_HEAD_1,
                            margins + i * h->classes + m, h->classes);
        }
    }
}
