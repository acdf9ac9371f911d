/*
 * vnni_peak.c - the peak rate of 8-bit multiply-adds of this CPU
 *
 * As fma_peak.c, with the instruction of AVX-512 that multiplies 64 bytes and adds the
 * products to 16 sums. Compiled with -mavx512vnni; the caller asks the CPU first.
 */
#include <stddef.h>

/* Declared in bench_encode.c. */
double vnni_peak_run(size_t rounds, float *sink);

#if defined(__x86_64__) && defined(__AVX512VNNI__)

#include <immintrin.h>

#define CHAINS 12

/* Does rounds * 12 of them and returns the multiplications and additions in them. *sink
 * gets a number that depends on all. */
double vnni_peak_run(size_t rounds, float *sink)
{
    volatile int one = 1, two = 2; /* the compiler cannot know */
    const __m512i a = _mm512_set1_epi8((char)one), b = _mm512_set1_epi8((char)two);
    __m512i x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = _mm512_set1_epi32(i);
    for (size_t r = 0; r < rounds; r++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = _mm512_dpbusd_epi32(x[i], a, b);
    __m512i sum = x[0];
    for (int i = 1; i < CHAINS; i++)
        sum = _mm512_xor_si512(sum, x[i]);
    *sink = (float)_mm512_reduce_add_epi32(sum);
    return (double)rounds * CHAINS * 64 * 2;
}

#else

/* No peak loop for this CPU: 0 operations, which the caller reports as unknown. */
double vnni_peak_run(size_t rounds, float *sink)
{
    (void)rounds;
    *sink = 0.0F;
    return 0.0;
}

#endif
