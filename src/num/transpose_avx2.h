/* transpose_avx2.h - transpose 8 x 8 floats in registers */
#ifndef RF_NUM_TRANSPOSE_AVX2_H
#define RF_NUM_TRANSPOSE_AVX2_H

#include <immintrin.h>
#include <stddef.h>

/* dst[i][j] = src[j][i] for i, j < 8 */
static inline void transpose8(float *dst, size_t ld_dst, const float *src, size_t ld_src)
{
    __m256 r[8], s[8];
    for (size_t i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(src + i * ld_src);
    for (size_t i = 0; i < 4; i++) {
        s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (size_t i = 0; i < 2; i++) {
        r[4 * i] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0x44);
        r[4 * i + 1] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0xee);
        r[4 * i + 2] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0x44);
        r[4 * i + 3] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0xee);
    }
    for (size_t i = 0; i < 4; i++) {
        _mm256_storeu_ps(dst + i * ld_dst, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(dst + (i + 4) * ld_dst,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

#endif
