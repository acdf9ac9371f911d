/*
 * quantise_x86.h - rows of floats to 8 bits, with AVX2
 *
 * Included by each file that has an integer product, which reads the rows either as bytes
 * or as words. Words are stored as 0 2 1 3 within each four, the order in which the AVX2
 * product needs them.
 */
#ifndef RF_NUM_QUANTISE_X86_H
#define RF_NUM_QUANTISE_X86_H

#include "num/kernels.h"

#include <immintrin.h>
#include <string.h>

/* Eight floats from i on, zero beyond k. */
static inline __m256 eight(const float *x, size_t i, size_t k)
{
    float rest[8] = {0};
    if (i + 8 <= k)
        return _mm256_loadu_ps(x + i);
    memcpy(rest, x + i, (k - i) * sizeof(float));
    return _mm256_loadu_ps(rest);
}

static inline __m256 sizes(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* The largest |x| as bits, so a NaN is larger than infinity. */
static inline uint32_t largest_bits(const float *x, size_t k)
{
    __m256i top = _mm256_setzero_si256();
    for (size_t i = 0; i < k; i += 8)
        top = _mm256_max_epu32(top, _mm256_castps_si256(sizes(eight(x, i, k))));
    __m128i t =
        _mm_max_epu32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    t = _mm_max_epu32(t, _mm_shuffle_epi32(t, 0x4e));
    t = _mm_max_epu32(t, _mm_shuffle_epi32(t, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(t);
}

static inline int32_t sum8_epi32(__m256i v)
{
    __m128i t = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1)));
}

/* Of those, the lanes above the limit as -1. */
static inline __m256i above(__m256 x, __m256 limit)
{
    return _mm256_castps_si256(_mm256_cmp_ps(sizes(x), limit, _CMP_GT_OQ));
}

static inline int32_t count_above(const float *x, size_t k, float limit)
{
    __m256i n = _mm256_setzero_si256();
    for (size_t i = 0; i < k; i += 8)
        n = _mm256_sub_epi32(n, above(eight(x, i, k), _mm256_set1_ps(limit)));
    return sum8_epi32(n);
}

/* The number that 127 stands for. */
static inline float limit_of(const float *x, size_t k, float largest)
{
    float limit = largest;
    for (float next = limit * RF_OUTLIER_STEP;
         next >= largest * RF_OUTLIER_SHARE && count_above(x, k, next) <= RF_OUTLIERS;
         next *= RF_OUTLIER_STEP)
        limit = next;
    return limit;
}

/* Lists the outliers among eight integers q, of which `which` has a bit each, and leaves
 * in q what fits a byte. */
static inline __m256i list_outliers(rf_quantised_row *head, size_t i, __m256i q,
                                    unsigned which)
{
    _Alignas(32) int32_t lane[8];
    _mm256_store_si256((__m256i *)(void *)lane, q);
    for (; which; which &= which - 1) {
        unsigned j = (unsigned)__builtin_ctz(which);
        /* the nearest multiple of 128; above 0 while dividing, which rounds down there */
        int32_t rest = (lane[j] + 64 + (1 << 14)) / 128 * 128 - (1 << 14);
        head->listed[head->n_listed].at = (uint16_t)(i + j);
        head->listed[head->n_listed++].rest = (int16_t)rest;
        lane[j] -= rest;
    }
    return _mm256_load_si256((const __m256i *)(const void *)lane);
}

static inline __attribute__((always_inline)) void quantise_row(char *row, const float *x,
                                                               size_t k, bool words)
{
    uint32_t bits = largest_bits(x, k);
    float largest, times = 0.0f;
    rf_quantised_row head = {0};
    memcpy(&largest, &bits, sizeof largest);
    float limit = largest; /* no outliers */
    if (bits >= 0x7f800000u) {
        memcpy(&head.scale, &(uint32_t){0x7fc00000u}, sizeof head.scale);
        k = 0; /* the integers do not matter */
    } else if (largest >= RF_QUANTISE_LEAST) {
        limit = limit_of(x, k, largest);
        head.scale = limit / 127.0f;
        times = 127.0f / limit;
    }
    char *values = row + sizeof head;
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < k; i += 8) {
        __m256 v = eight(x, i, k);
        __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(v, _mm256_set1_ps(times)));
        sum = _mm256_add_epi32(sum, q);
        int which = words || limit == largest ? 0
                                              : _mm256_movemask_ps(_mm256_castsi256_ps(
                                                    above(v, _mm256_set1_ps(limit))));
        if (which)
            q = list_outliers(&head, i, q, (unsigned)which);
        __m128i w =
            _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
        if (words) {
            w = _mm_shufflehi_epi16(_mm_shufflelo_epi16(w, 0xd8), 0xd8);
            _mm_storeu_si128((__m128i *)(void *)(values + 2 * i), w);
        } else
            _mm_storel_epi64((__m128i *)(void *)(values + i), _mm_packs_epi16(w, w));
    }
    head.sum = sum8_epi32(sum);
    memcpy(row, &head, sizeof head);
}

#endif
