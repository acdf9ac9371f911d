/* linear.c - forward, backward and update of a dense layer */
#include "num/linear.h"

#include "base/memory.h"
#include "num/panels.h"

#include <stdlib.h>
#include <string.h>

/* Rows that one product sums over: the two operands stay in the second-level cache. */
#define SUM_ROWS 640

rf_status rf_linear_init(rf_linear *l, float *w, float *b, size_t out, size_t in,
                         size_t max_rows, rf_error *err)
{
    *l = (rf_linear){.out = out, .in = in, .w = w, .b = b, .max_rows = max_rows};
    /* An odd number of cache lines: rows a power of two apart would compete for the same
     * few cache sets. */
    l->ld = (rf_panels_padded(max_rows) / RF_PANEL | 1) * RF_PANEL;
    size_t weights = rf_panels_floats(out, in), biases = rf_panels_padded(out);
    size_t state = 3 * (weights + biases), n = state + rf_panels_floats(in, out) +
                                               in * l->ld +
                                               rf_panels_padded(out) * max_rows;
    l->block = rf_floats_new(n);
    if (!l->block)
        return rf_fail_nomem(err, n * sizeof(float), "training a layer");
    memset(l->block, 0, state * sizeof(float));
    l->w_grad = l->block;
    l->w_m = l->w_grad + weights;
    l->w_v = l->w_m + weights;
    l->b_grad = l->w_v + weights;
    l->b_m = l->b_grad + biases;
    l->b_v = l->b_m + biases;
    l->transposed = l->b_v + biases;
    l->x_transposed = l->transposed + rf_panels_floats(in, out);
    l->dy = l->x_transposed + in * l->ld;
    return RF_OK;
}

void rf_linear_release(rf_linear *l)
{
    free(l->block);
    *l = (rf_linear){0};
}

void rf_linear_transpose(rf_linear *l)
{
    rf_train_kernels()->transpose_panels(l->transposed, l->w, l->out, l->in);
}

void rf_linear_forward(const rf_linear *l, float *y, const float *x, size_t rows)
{
    rf_panels_multiply(y, x, l->w, l->b, rows, l->out, l->in);
}

void rf_linear_backward(const rf_linear *l, float *dx, const float *dy, size_t rows,
                        bool add)
{
    rf_gemm_args g = rf_panels_product(dx, dy, l->transposed, NULL, rows, l->in, l->out);
    g.after = add ? RF_GEMM_ADD : RF_GEMM_SET;
    rf_kernels()->gemm(&g);
}

void rf_linear_store(rf_linear *l, const float *x, const float *dy, size_t first,
                     size_t rows)
{
    const rf_train_table *t = rf_train_kernels();
    t->transpose(l->x_transposed + first, l->ld, x, l->in, rows, l->in);
    for (size_t j = 0; j < l->out; j += RF_PANEL)
        t->strips(l->dy + j * l->max_rows + first * RF_PANEL, dy + j, l->out, rows,
                  l->out - j < RF_PANEL ? l->out - j : RF_PANEL);
}

void rf_linear_update(rf_linear *l, size_t index, size_t rows, bool add,
                      const rf_adam *adam)
{
    const rf_train_table *t = rf_train_kernels();
    size_t from = index * RF_LINEAR_OUTPUTS;
    size_t n = l->out - from < RF_LINEAR_OUTPUTS ? l->out - from : RF_LINEAR_OUTPUTS;
    const float *dy = l->dy + from * l->max_rows;
    float *grad = l->w_grad + from * l->in;
    if (!add)
        memset(l->b_grad + from, 0, n * sizeof(float));
    for (size_t r = 0; r < rows; r += SUM_ROWS) {
        size_t some = rows - r < SUM_ROWS ? rows - r : SUM_ROWS;
        rf_gemm_args g = rf_panels_product(grad, l->x_transposed + r, dy + r * RF_PANEL,
                                           NULL, l->in, n, some);
        g.ldc = RF_PANEL; /* the gradient is in panels like w */
        g.c_panel = l->in * RF_PANEL;
        g.lda = l->ld;
        g.b_panel = l->max_rows * RF_PANEL;
        g.after = add || r > 0 ? RF_GEMM_ADD : RF_GEMM_SET;
        rf_kernels()->gemm(&g);
    }
    for (size_t j = 0; j < n; j += RF_PANEL)
        t->column_sums(l->b_grad + from + j, dy + j * l->max_rows, RF_PANEL, rows,
                       n - j < RF_PANEL ? n - j : RF_PANEL);
    if (!adam)
        return;
    rf_adam plain = *adam;
    plain.decay = 0.0f;
    size_t at = from * l->in, count = rf_panels_padded(n) * l->in;
    t->adam(l->w + at, grad, l->w_m + at, l->w_v + at, count, adam);
    t->adam(l->b + from, l->b_grad + from, l->b_m + from, l->b_v + from, n, &plain);
    /* rows from `from` on of every transposed panel */
    for (size_t j = 0; j < n; j += RF_PANEL) {
        size_t some = n - j < RF_PANEL ? n - j : RF_PANEL;
        for (size_t i = 0; i < l->in; i += RF_PANEL)
            t->transpose(l->transposed + i * l->out + (from + j) * RF_PANEL, RF_PANEL,
                         l->w + (from + j) * l->in + i * RF_PANEL, RF_PANEL,
                         l->in - i < RF_PANEL ? l->in - i : RF_PANEL, some);
    }
}
