/*
 * bench_latency.c - times single answers through the public API
 *
 *   bench_latency MODEL TEXTS THREADS CALLS
 *
 * MODEL is a model file, TEXTS a file with one text a line. Classifies one text after the
 * other, CALLS times in all, and prints one line of JSON: what an answer takes where no
 * network and no queue is involved. bench/serve.mjs compares the service with it.
 */
#include <ringfence_encoder.h>

#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define WARM_CALLS 50
#define MOST_CALLS 10000000

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The duration of each call in ms; the first calls are not counted. */
static bool time_calls(rf_session *session, const rf_dataset *texts, double *ms,
                       size_t calls, rf_error *err)
{
    const size_t rows = rf_dataset_rows(texts);
    for (size_t i = 0; i < WARM_CALLS + calls; i++) {
        size_t len;
        rf_decision d;
        const char *text = rf_dataset_text(texts, i % rows, &len);
        const double start = rf_clock_seconds();
        if (rf_classify(session, text, len, &d, err) != RF_OK)
            return false;
        if (i >= WARM_CALLS)
            ms[i - WARM_CALLS] = (rf_clock_seconds() - start) * 1e3;
    }
    return true;
}

static void print(double *ms, size_t n, size_t threads)
{
    qsort(ms, n, sizeof *ms, compare_doubles);
    printf("{\"threads\": %zu, \"calls\": %zu, \"median_ms\": %.6f, \"p99_ms\": %.6f, "
           "\"min_ms\": %.6f}\n",
           threads, n, (ms[(n - 1) / 2] + ms[n / 2]) / 2.0,
           ms[(99 * n + 99) / 100 - 1] /* nearest rank */, ms[0]);
}

int main(int argc, char **argv)
{
    const size_t threads = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    const size_t calls = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (calls == 0 || calls > MOST_CALLS) {
        fprintf(stderr, "usage: bench_latency MODEL TEXTS THREADS CALLS\n");
        return 2;
    }
    rf_error err = {0};
    int status = EXIT_FAILURE;
    rf_session *session = NULL;
    rf_dataset *texts = NULL;
    double *ms = malloc(calls * sizeof *ms);
    rf_model *model = rf_model_load(argv[1], &err);
    if (model)
        session = rf_session_new(model, threads, &err);
    if (session)
        texts = rf_dataset_read_texts(argv[2], &err);
    if (texts && !ms)
        snprintf(err.msg, sizeof err.msg, "out of memory");
    else if (texts && time_calls(session, texts, ms, calls, &err)) {
        print(ms, calls, threads);
        status = EXIT_SUCCESS;
    }
    if (status != EXIT_SUCCESS)
        fprintf(stderr, "bench_latency: %s\n", err.msg);
    rf_dataset_free(texts);
    rf_session_free(session);
    rf_model_free(model);
    free(ms);
    return status;
}
