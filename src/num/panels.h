/*
 * panels.h - matrices W [out, in] in the packed form of the product (kernels.h):
 * [ceil(out / 16)][in][16], missing columns zero
 */
#ifndef RF_NUM_PANELS_H
#define RF_NUM_PANELS_H

#include "num/kernels.h"

/* n rounded up to whole panels. */
static inline size_t rf_panels_padded(size_t n)
{
    return (n + RF_PANEL - 1) / RF_PANEL * RF_PANEL;
}

/* Floats of the packed form. */
static inline size_t rf_panels_floats(size_t out, size_t in)
{
    return rf_panels_padded(out) * in;
}

/* The product c [m, n] = a [m, k] W^T + bias with W [n, k] in panels and c and a dense.
 * bias is [n] or NULL. Set the fields that differ (ldc, lda, after ...) before use. */
static inline rf_gemm_args rf_panels_product(float *c, const float *a,
                                             const float *panels, const float *bias,
                                             size_t m, size_t n, size_t k)
{
    return (rf_gemm_args){.c = c,
                          .ldc = n,
                          .a = a,
                          .lda = k,
                          .b = panels,
                          .b_row = RF_PANEL,
                          .b_panel = k * RF_PANEL,
                          .bias = bias,
                          .m = m,
                          .n = n,
                          .k = k};
}

/* The same, computed. */
void rf_panels_multiply(float *c, const float *a, const float *panels, const float *bias,
                        size_t m, size_t n, size_t k);

/* From rows [out, in] to panels and back. */
void rf_panels_pack(float *panels, const float *rows, size_t out, size_t in);
void rf_panels_unpack(float *rows, const float *panels, size_t out, size_t in);

/* Only rows [first, first + n) of the matrix. */
void rf_panels_unpack_rows(float *rows, const float *panels, size_t first, size_t n,
                           size_t in);

#endif
