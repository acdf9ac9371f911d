/* train_avx2.c - the training kernels compiled for AVX2; see kernels_avx2.c */
#include "num/train.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include "num/transpose_avx2.h"
#define RF_TRANSPOSE8

static void narrow_f16(uint16_t *y, const float *x, size_t n);
#define RF_NARROW_F16

#include "num/train_body.h"

static void narrow_f16(uint16_t *y, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    for (; i < n; i++)
        y[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

const rf_train_table *rf_train_avx2(void)
{
    return rf_kernels_avx2() ? &train_table : NULL;
}

#else

const rf_train_table *rf_train_avx2(void)
{
    return NULL;
}

#endif
