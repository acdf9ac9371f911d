/*
 * bench_review.c - bench_review [TEXTS [THREADS [TOPICS]]]: the time and memory of
 * grouping rejected texts, encoding excluded, on generated features
 *
 * Nine texts in ten are of one of TOPICS (200) topics of very different sizes, around
 * directions that share some; the others are of none.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "num/vectors.h"
#include "review/grouping.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define WIDTH 384
#define LEVEL 0.5

static void add_normal(float *x, uint64_t what, uint64_t i, float scale)
{
    rf_rng r = rf_rng_open(rf_rng_key(what, i, 0, 0));
    for (size_t j = 0; j < WIDTH; j++) {
        float sum = 0.0f; /* of 12 uniforms: near enough */
        for (size_t k = 0; k < 12; k++)
            sum += rf_rng_uniform(&r);
        x[j] += scale * (sum - 6.0f);
    }
}

/* Topic 0 has most texts, the i-th about 1 / (i + 1) of that. */
static size_t topic_of(size_t i, size_t topics)
{
    rf_rng r = rf_rng_open(rf_rng_key(1, i, 0, 0));
    if (rf_rng_below(&r, 10) == 0)
        return topics;
    size_t t = (size_t)exp((double)rf_rng_uniform(&r) * log((double)topics + 1.0)) - 1;
    return t < topics ? t : topics - 1;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : rf_cpu_count();
    size_t topics = argc > 3 ? strtoul(argv[3], NULL, 10) : 200, grouped = 0, pure = 0;
    rf_error err = {0};
    rf_grouping g = {0};
    float *points = rf_floats_new(n * WIDTH);
    rf_team *team = rf_team_new(threads, &err);
    if (!points || !team)
        return 1;
    for (size_t i = 0; i < n; i++) {
        float *x = points + i * WIDTH;
        size_t t = topic_of(i, topics);
        for (size_t j = 0; j < WIDTH; j++)
            x[j] = 0.0f;
        add_normal(x, 2, t == topics ? i + topics : t, 1.0f);
        add_normal(x, 3, t / 4, 0.6f);
        add_normal(x, 4, i, 0.7f);
        rf_rows_normalise(x, x, 1, WIDTH);
    }
    double began = rf_clock_seconds();
    rf_status st = rf_grouping_make(&g, points, n, WIDTH, LEVEL, 5, team, &err);
    double seconds = rf_clock_seconds() - began;
    if (st != RF_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    size_t *first = calloc(g.groups + 1, sizeof *first);
    for (size_t i = 0; first && i < n; i++) {
        uint32_t k = g.group[i];
        if (k == RF_NO_GROUP)
            continue;
        size_t t = topic_of(i, topics) + 1;
        first[k] = first[k] ? first[k] : t;
        grouped++;
        pure += first[k] == t;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%zu texts of %zu topics: %zu groups with %zu texts, %zu of the topic of "
           "their first; %.1f s on %zu threads, %ld MB at most\n",
           n, topics, g.groups, grouped, pure, seconds, threads, used.ru_maxrss / 1024);
    free(first);
    rf_grouping_release(&g);
    rf_team_free(team);
    free(points);
    return 0;
}
