/*
 * kernels_avxvnni.c - the integer product for CPUs with AVX-VNNI and without AVX-512; all
 * else is that of AVX2
 *
 * This file alone is compiled with those instructions; rf_kernels_avxvnni() asks the CPU
 * before anyone calls into it. One instruction multiplies four bytes of w + 128 by four
 * of x and adds the products to a 32-bit sum, without saturating.
 */
#include "num/integer_tile.h"
#include "num/kernels.h"

#if defined(__x86_64__) && defined(__AVXVNNI__) && defined(__FMA__)

#include "num/quantise_x86.h"

#include <cpuid.h>
#include <immintrin.h>

#define INTEGER_ROWS 6

/* Half a panel at a time: 12 accumulators. R is a constant in every caller. */
static inline __attribute__((always_inline)) void
integer_tile(int32_t *sums, const char *a, size_t a_row, const uint8_t *b, size_t steps,
             const int R)
{
    for (size_t half = 0; half < RF_WIDE; half += RF_WIDE / 2) {
        __m256i acc[INTEGER_ROWS][2];
        const uint8_t *p = b + half * RF_QUAD;
#pragma GCC unroll 6
        for (int i = 0; i < R; i++)
            acc[i][0] = acc[i][1] = _mm256_setzero_si256();
        for (size_t s = 0; s < steps; s++, p += RF_WIDE * RF_QUAD) {
            __m256i b0 = _mm256_loadu_si256((const __m256i *)(const void *)p);
            __m256i b1 = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
#pragma GCC unroll 6
            for (int i = 0; i < R; i++) {
                int32_t four;
                memcpy(&four, a + (size_t)i * a_row + s * RF_QUAD, sizeof four);
                __m256i x = _mm256_set1_epi32(four);
                acc[i][0] = _mm256_dpbusd_avx_epi32(acc[i][0], b0, x);
                acc[i][1] = _mm256_dpbusd_avx_epi32(acc[i][1], b1, x);
            }
        }
#pragma GCC unroll 6
        for (int i = 0; i < R; i++)
            for (int j = 0; j < 2; j++)
                _mm256_store_si256(
                    (__m256i *)(void *)(sums + (size_t)i * RF_WIDE + half + 8 * j),
                    acc[i][j]);
    }
}

INTEGER_TILE(1)
INTEGER_TILE(2)
INTEGER_TILE(3)
INTEGER_TILE(4)
INTEGER_TILE(5)
INTEGER_TILE(6)

static integer_tile_fn *const integer_tiles[INTEGER_ROWS + 1] = {
    NULL,          integer_tile1, integer_tile2, integer_tile3,
    integer_tile4, integer_tile5, integer_tile6};

#include "num/integer_x86.h" /* after INTEGER_ROWS and integer_tiles */

static void quantise(void *rows, const float *x, size_t m, size_t k)
{
    for (size_t i = 0; i < m; i++)
        quantise_row((char *)rows + i * rf_quantised_bytes(k), x + i * k, k, false);
}

const rf_kernel_table *rf_kernels_avxvnni(void)
{
    static rf_kernel_table table;
    const rf_kernel_table *rest = rf_kernels_avx2(); /* checks what the OS saves */
    unsigned a, b, c, d;
    if (!rest || !__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & bit_AVXVNNI))
        return NULL;
    table = *rest; /* the same bytes, whichever thread comes first */
    table.path = "avxvnni";
    table.quantise = quantise;
    table.integer_gemm = integer_gemm;
    return &table;
}

#else

const rf_kernel_table *rf_kernels_avxvnni(void)
{
    return NULL;
}

#endif
