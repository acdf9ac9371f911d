/*
 * kernels_avx512.c - the product for CPUs with AVX-512; the other kernels are those of
 * AVX2
 *
 * This file alone is compiled with those instructions; rf_kernels_avx512() asks the CPU
 * before anyone calls into it. The results are those of the AVX2 variant to the last bit:
 * the same chains of FMAs, sixteen side by side.
 *
 * A tile has up to 16 rows by 16 columns: 16 accumulators, one load of b and 16
 * broadcasts of a, which the multiply-adds take from memory, per 16 multiply-adds. So 17
 * loads go with 16 FMAs, two of each in a cycle: 94 % of what the FMA ports could do.
 */
#include "num/kernels.h"
#include "num/tile_x86.h"

#if defined(__x86_64__) && defined(__AVX512F__) && defined(__FMA__)

#include <immintrin.h>

#define MAX_ROWS 16

/* ---- Product ----------------------------------------------------------------------- */

/* One pointer for four rows: an address can encode offsets of lda, 2 lda and lda3, so
 * four pointers reach sixteen rows. (With an offset for each row the compiler runs out of
 * registers, keeps offsets in vector registers and fetches them through the port that
 * multiplies: 100 instead of 150 GFLOP/s.) */
#define FOUR_ROWS(first, p)                                                              \
    if (R > first)                                                                       \
        acc[first] = _mm512_fmadd_ps(_mm512_set1_ps(p[0]), b0, acc[first]);              \
    if (R > first + 1)                                                                   \
        acc[first + 1] = _mm512_fmadd_ps(_mm512_set1_ps(p[lda]), b0, acc[first + 1]);    \
    if (R > first + 2)                                                                   \
        acc[first + 2] =                                                                 \
            _mm512_fmadd_ps(_mm512_set1_ps(p[2 * lda]), b0, acc[first + 2]);             \
    if (R > first + 3)                                                                   \
        acc[first + 3] = _mm512_fmadd_ps(_mm512_set1_ps(p[lda3]), b0, acc[first + 3]);   \
    p++;

/* As in kernels_avx2.c: R is a constant in every caller, and n_ahead cache lines are
 * prefetched from `ahead` on. */
static inline __attribute__((always_inline)) void
tile(float *sums, const float *a, size_t lda, const float *b, size_t b_row, size_t k,
     const float *ahead, size_t n_ahead, const int R)
{
    __m512 acc[MAX_ROWS];
    const float *p0 = a, *p1 = a + 4 * lda, *p2 = a + 8 * lda, *p3 = a + 12 * lda;
    size_t lda3 = 3 * lda;
#pragma GCC unroll 16
    for (int i = 0; i < R; i++)
        acc[i] = _mm512_setzero_ps();
        /* The asm keeps the compiler from merging the four into one pointer and offsets.
         */
#define STEP                                                                             \
    __m512 b0 = _mm512_loadu_ps(b);                                                      \
    b += b_row;                                                                          \
    FOUR_ROWS(0, p0)                                                                     \
    FOUR_ROWS(4, p1)                                                                     \
    FOUR_ROWS(8, p2)                                                                     \
    FOUR_ROWS(12, p3)                                                                    \
    __asm__("" : "+r"(p0), "+r"(p1), "+r"(p2), "+r"(p3));
    size_t kk = 0, stride = n_ahead ? k / n_ahead : 0;
    for (size_t line = 0; line < n_ahead; line++) {
        _mm_prefetch((const char *)(ahead + line * RF_PANEL), _MM_HINT_T0);
        for (size_t end = kk + stride; kk < end; kk++) {
            STEP
        }
    }
    for (; kk < k; kk++) {
        STEP
    }
#undef STEP
#pragma GCC unroll 16
    for (int i = 0; i < R; i++)
        _mm512_store_ps(sums + i * RF_PANEL, acc[i]);
}

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
TILE(15)
TILE(16)

static tile_fn *const tiles[MAX_ROWS + 1] = {
    NULL,  tile1,  tile2,  tile3,  tile4,  tile5,  tile6,  tile7, tile8,
    tile9, tile10, tile11, tile12, tile13, tile14, tile15, tile16};

#include "num/product_x86.h" /* after MAX_ROWS and tiles */

const rf_kernel_table *rf_kernels_avx512(void)
{
    static rf_kernel_table table;
    const rf_kernel_table *rest = rf_kernels_avx2();
    __builtin_cpu_init(); /* also checks that the OS saves the registers */
    if (!rest || !__builtin_cpu_supports("avx512f"))
        return NULL;
    table = *rest; /* the same bytes, whichever thread comes first */
    table.path = "avx512";
    table.gemm = gemm;
    return &table;
}

#else

const rf_kernel_table *rf_kernels_avx512(void)
{
    return NULL;
}

#endif
