/* panels.c - packing, unpacking and multiplying panels */
#include "num/panels.h"

void rf_panels_multiply(float *c, const float *a, const float *panels, const float *bias,
                        size_t m, size_t n, size_t k)
{
    rf_gemm_args g = rf_panels_product(c, a, panels, bias, m, n, k);
    rf_kernels()->gemm(&g);
}

void rf_panels_pack(float *panels, const float *rows, size_t out, size_t in)
{
    for (size_t j = 0; j < out; j += RF_PANEL)
        rf_kernels()->pack_panel(panels + j * in, rows + j * in, in,
                                 out - j < RF_PANEL ? out - j : RF_PANEL, in);
}

void rf_panels_unpack_rows(float *rows, const float *panels, size_t first, size_t n,
                           size_t in)
{
    for (size_t j = first; j < first + n; j++, rows += in) {
        const float *from = panels + j / RF_PANEL * RF_PANEL * in + j % RF_PANEL;
        for (size_t i = 0; i < in; i++)
            rows[i] = from[i * RF_PANEL];
    }
}

void rf_panels_unpack(float *rows, const float *panels, size_t out, size_t in)
{
    rf_panels_unpack_rows(rows, panels, 0, out, in);
}
