/*
 * kernels_avx512vnni.c - the integer product for CPUs with AVX-512 and VNNI; all else is
 * that of AVX-512
 *
 * This file alone is compiled with those instructions; rf_kernels_avx512vnni() asks the
 * CPU before anyone calls into it. One instruction multiplies four bytes of w + 128 by
 * four of x and adds the products to a 32-bit sum, without saturating.
 *
 * A tile has up to 12 rows by 32 columns: 24 accumulators, two loads of b and 12
 * broadcasts of a per 24 multiply-adds, so that the two load ports keep up.
 */
#include "num/integer_tile.h"
#include "num/kernels.h"

#if defined(__x86_64__) && defined(__AVX512VNNI__) && defined(__FMA__)

#include "num/quantise_x86.h"

#include <immintrin.h>

#define INTEGER_ROWS 12

/* R is a constant in every caller: with the loops over rows unrolled the accumulators
 * stay in registers. */
static inline __attribute__((always_inline)) void
integer_tile(int32_t *sums, const char *a, size_t a_row, const uint8_t *b, size_t steps,
             const int R)
{
    __m512i acc[INTEGER_ROWS][2];
    /* One pointer for four rows, as in kernels_avx512.c. */
    const char *p0 = a, *p1 = a + 4 * a_row, *p2 = a + 8 * a_row;
    size_t a_row3 = 3 * a_row;
#pragma GCC unroll 12
    for (int i = 0; i < R; i++)
        acc[i][0] = acc[i][1] = _mm512_setzero_si512();
#define ROW(i, p)                                                                        \
    if (R > (i)) {                                                                       \
        int32_t four;                                                                    \
        memcpy(&four, p, sizeof four);                                                   \
        __m512i x = _mm512_set1_epi32(four);                                             \
        acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], b0, x);                               \
        acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], b1, x);                               \
    }
#define FOUR_ROWS(first, p)                                                              \
    ROW(first, p)                                                                        \
    ROW(first + 1, p + a_row)                                                            \
    ROW(first + 2, p + 2 * a_row)                                                        \
    ROW(first + 3, p + a_row3)                                                           \
    p += RF_QUAD;
    for (size_t s = 0; s < steps; s++, b += RF_WIDE * RF_QUAD) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 64);
        FOUR_ROWS(0, p0)
        FOUR_ROWS(4, p1)
        FOUR_ROWS(8, p2)
        __asm__("" : "+r"(p0), "+r"(p1), "+r"(p2)); /* keeps the pointers apart */
    }
#undef FOUR_ROWS
#undef ROW
#pragma GCC unroll 12
    for (int i = 0; i < R; i++) {
        _mm512_store_si512(sums + (size_t)i * RF_WIDE, acc[i][0]);
        _mm512_store_si512(sums + (size_t)i * RF_WIDE + 16, acc[i][1]);
    }
}

INTEGER_TILE(1)
INTEGER_TILE(2)
INTEGER_TILE(3)
INTEGER_TILE(4)
INTEGER_TILE(5)
INTEGER_TILE(6)
INTEGER_TILE(7)
INTEGER_TILE(8)
INTEGER_TILE(9)
INTEGER_TILE(10)
INTEGER_TILE(11)
INTEGER_TILE(12)

static integer_tile_fn *const integer_tiles[INTEGER_ROWS + 1] = {
    NULL,           integer_tile1,  integer_tile2, integer_tile3, integer_tile4,
    integer_tile5,  integer_tile6,  integer_tile7, integer_tile8, integer_tile9,
    integer_tile10, integer_tile11, integer_tile12};

#include "num/integer_x86.h" /* after INTEGER_ROWS and integer_tiles */

static void quantise(void *rows, const float *x, size_t m, size_t k)
{
    for (size_t i = 0; i < m; i++)
        quantise_row((char *)rows + i * rf_quantised_bytes(k), x + i * k, k, false);
}

const rf_kernel_table *rf_kernels_avx512vnni(void)
{
    static rf_kernel_table table;
    const rf_kernel_table *rest = rf_kernels_avx512();
    __builtin_cpu_init();
    if (!rest || !__builtin_cpu_supports("avx512vnni"))
        return NULL;
    table = *rest; /* the same bytes, whichever thread comes first */
    table.path = "avx512vnni";
    table.quantise = quantise;
    table.integer_gemm = integer_gemm;
    return &table;
}

#else

const rf_kernel_table *rf_kernels_avx512vnni(void)
{
    return NULL;
}

#endif
