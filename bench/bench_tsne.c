/*
 * bench_tsne.c - times t-SNE
 *
 *   bench_tsne [POINTS [WIDTH [THREADS [ITERATIONS]]]]     10000 64 2 1000
 *
 * Points are 20 blobs. Prints one line of JSON: wall and CPU seconds. On a busy machine
 * the CPU time is the one to look at: half of it is what two free cores take.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "map/tsne.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t argument(int argc, char **argv, int i, size_t otherwise)
{
    return i < argc ? (size_t)strtoull(argv[i], NULL, 10) : otherwise;
}

/* About normal, mean 0. */
static float draw(rf_rng *r)
{
    float sum = 0;
    for (int i = 0; i < 6; i++)
        sum += rf_rng_uniform(r) - 0.5f;
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argument(argc, argv, 1, 10000), width = argument(argc, argv, 2, 64);
    size_t threads = argument(argc, argv, 3, 2);
    rf_tsne_options o = rf_tsne_options_default();
    o.iterations = argument(argc, argv, 4, o.iterations);
    rf_error err = {0};
    rf_team *team = rf_team_new(threads, &err);
    float *x = rf_floats_new(n * width + 1), *centres = rf_floats_new(20 * width);
    double *map = malloc((2 * n + 1) * sizeof *map);
    if (!team || !x || !centres || !map) {
        fprintf(stderr, "bench_tsne: no memory or no threads\n");
        return 1;
    }
    rf_rng rng = rf_rng_open(1);
    for (size_t i = 0; i < 20 * width; i++)
        centres[i] = 2 * draw(&rng);
    for (size_t i = 0; i < n * width; i++)
        x[i] = centres[i / width % 20 * width + i % width] + draw(&rng);
    double wall = rf_clock_seconds(), cpu = cpu_seconds();
    if (rf_tsne(map, x, n, width, &o, team, &err) != RF_OK) {
        fprintf(stderr, "bench_tsne: %s\n", err.msg);
        return 1;
    }
    printf("{\"points\": %zu, \"width\": %zu, \"threads\": %zu, \"iterations\": %zu, "
           "\"wall\": %.2f, \"cpu\": %.2f}\n",
           n, width, threads, o.iterations, rf_clock_seconds() - wall,
           cpu_seconds() - cpu);
    free(map);
    free(x);
    free(centres);
    rf_team_free(team);
    return 0;
}
