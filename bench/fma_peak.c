/*
 * fma_peak.c - the peak rate of multiply-adds of this CPU
 *
 * Twelve independent chains of 8-wide multiply-adds, all in registers: two units with a
 * latency of 4 or 5 cycles need 8 to 10 chains in flight, and twelve accumulators with
 * two operands leave two of the 16 registers free. No loads, no stores, so the time of
 * the loop is the peak that a kernel with the same instruction set can reach.
 *
 * Compiled with -mavx2 -mfma; the caller asks the CPU first.
 */
#include <stddef.h>

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#define CHAINS 12

/* Declared in bench_encode.c. */
double fma_peak_run(size_t rounds, float *sink);

/* Does rounds * 12 vector multiply-adds and returns the floating-point operations in
 * them. *sink gets a number that depends on all of them. */
double fma_peak_run(size_t rounds, float *sink)
{
    /* x = 0.999 x + 0.001: stays near 1, never denormal, and the compiler cannot know. */
    volatile float factor = 0.999F;
    volatile float term = 0.001F;
    const __m256 a = _mm256_set1_ps(factor);
    const __m256 b = _mm256_set1_ps(term);
    __m256 x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = _mm256_set1_ps(1.0F + (float)i / 16.0F);

    for (size_t r = 0; r < rounds; r++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = _mm256_fmadd_ps(x[i], a, b);

    __m256 sum = x[0];
    for (int i = 1; i < CHAINS; i++)
        sum = _mm256_add_ps(sum, x[i]);
    float lanes[8];
    _mm256_storeu_ps(lanes, sum);
    *sink = lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] +
            lanes[7];
    return (double)rounds * CHAINS * 8 * 2;
}

#else

double fma_peak_run(size_t rounds, float *sink);

/* No peak loop for this CPU: 0 operations, which the caller reports as unknown. */
double fma_peak_run(size_t rounds, float *sink)
{
    (void)rounds;
    *sink = 0.0F;
    return 0.0;
}

#endif
