/* heads.c - memory layout and forward pass of the heads */
#include "ans/heads.h"

#include "base/memory.h"
#include "num/panels.h"
#include "num/train.h"

#include <stdlib.h>
#include <string.h>

size_t rf_head_floats(size_t width)
{
    return rf_panels_floats(RF_HEAD_1, width) + RF_HEAD_1 +
           rf_panels_floats(RF_HEAD_2, RF_HEAD_1) + RF_HEAD_2 + RF_HEAD_2 + RF_PANEL;
}

rf_head rf_head_at(const rf_heads *h, size_t class_index)
{
    rf_head head;
    head.w1 = h->block + class_index * rf_head_floats(h->width);
    head.b1 = head.w1 + rf_panels_floats(RF_HEAD_1, h->width);
    head.w2 = head.b1 + RF_HEAD_1;
    head.b2 = head.w2 + rf_panels_floats(RF_HEAD_2, RF_HEAD_1);
    head.w3 = head.b2 + RF_HEAD_2;
    head.b3 = head.w3 + RF_HEAD_2;
    return head;
}

const rf_method_array rf_head_arrays[RF_HEAD_PARTS] = {RF_HEAD_ARRAY_ROWS};

rf_status rf_heads_init(rf_heads *h, size_t width, size_t classes, rf_error *err)
{
    *h = (rf_heads){.width = width, .classes = classes};
    size_t floats, bytes;
    if (width > SIZE_MAX / 4096 ||
        !rf_size_mul(rf_head_floats(width), classes, &floats) ||
        !rf_size_mul(floats, sizeof(float), &bytes))
        return rf_fail(err, RF_ERR_LIMIT, 0, "%zu heads of width %zu are too many",
                       classes, width);
    h->block = rf_floats_new(floats);
    if (!h->block)
        return rf_fail_nomem(err, bytes, "the heads");
    memset(h->block, 0, bytes);
    h->class_floats = rf_head_floats(width);
    h->in_block = RF_HEAD_PARTS;
    const rf_head first = rf_head_at(h, 0);
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
