/* metrics.c - counters, histograms, and their text format */
#include "metrics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const endpoint_names[N_ENDPOINTS] = {
    "/v1/classify", "/v1/model",     "/v1/map",  "/v1/drift",  "/v1/review", "/v1/labels",
    "/v1/update",   "/v1/fence",     "/v1/undo", "/v1/reload", "/metrics",   "/healthz",
    "/readyz",      "/openapi.json", "/",        "other"};

/* The status codes that are counted one by one; 0 is for all others. */
static const unsigned statuses[METRICS_STATUSES] = {
    200, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503, 504, 0};

static const double second_bounds[] = {0.0005, 0.001, 0.002, 0.003, 0.004, 0.006, 0.008,
                                       0.012,  0.016, 0.025, 0.05,  0.1,   0.2,   0.4,
                                       0.8,    1.6,   3.2,   6.4,   12.8,  25.6};
static const double text_bounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
_Static_assert(COUNT(second_bounds) <= METRICS_BUCKETS, "too many histogram bounds");

/* ---- Counting ---------------------------------------------------------------------- */

void metrics_request(metrics *m, endpoint e, unsigned status)
{
    size_t i = 0;
    while (statuses[i] && statuses[i] != status)
        i++;
    atomic_fetch_add(&m->requests[e][i], 1);
}

static void observe(histogram *h, const double *bounds, size_t n, double value)
{
    size_t i = 0;
    while (i < n && value > bounds[i])
        i++;
    atomic_fetch_add(&h->buckets[i], 1);
    atomic_fetch_add(&h->sum, (unsigned long long)(value * 1e6));
}

void metrics_seconds(histogram *h, double seconds)
{
    observe(h, second_bounds, COUNT(second_bounds), seconds);
}

void metrics_batch(metrics *m, size_t texts, double seconds)
{
    metrics_seconds(&m->batch_seconds, seconds);
    observe(&m->batch_texts, text_bounds, COUNT(text_bounds), (double)texts);
}

/* ---- Writing ----------------------------------------------------------------------- */

void metrics_describe(rf_text *out, const char *name, const char *type, const char *help)
{
    rf_text_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put(rf_text *out, const char *name, const char *type, const char *help,
                double value)
{
    metrics_describe(out, name, type, help);
    rf_text_format(out, "%s %.17g\n", name, value);
}

static void put_histogram(rf_text *out, const char *name, const char *help, histogram *h,
                          const double *bounds, size_t n)
{
    unsigned long long sum = 0;
    metrics_describe(out, name, "histogram", help);
    for (size_t i = 0; i < n; i++) {
        sum += atomic_load(&h->buckets[i]);
        rf_text_format(out, "%s_bucket{le=\"%g\"} %llu\n", name, bounds[i], sum);
    }
    sum += atomic_load(&h->buckets[n]);
    rf_text_format(out, "%s_bucket{le=\"+Inf\"} %llu\n", name, sum);
    rf_text_format(out, "%s_sum %.6f\n", name, 1e-6 * (double)atomic_load(&h->sum));
    rf_text_format(out, "%s_count %llu\n", name, sum);
}

static void put_requests(metrics *m, rf_text *out)
{
    metrics_describe(out, "ringfence_requests_total", "counter", "Requests answered.");
    for (size_t e = 0; e < N_ENDPOINTS; e++)
        for (size_t i = 0; i < METRICS_STATUSES; i++) {
            unsigned long long n = atomic_load(&m->requests[e][i]);
            if (n)
                rf_text_format(
                    out, "ringfence_requests_total{endpoint=\"%s\",code=\"%u\"} %llu\n",
                    endpoint_names[e], statuses[i], n);
        }
}

/* Resident memory, 0 if the kernel does not report it. */
static double resident_bytes(void)
{
    unsigned long size, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void metrics_write(metrics *m, const metrics_state *now, rf_text *out)
{
    put_requests(m, out);
    put_histogram(out, "ringfence_request_seconds",
                  "Time of classify requests, from the first line to the answer.",
                  &m->request_seconds, second_bounds, COUNT(second_bounds));
    put_histogram(out, "ringfence_batch_texts", "Texts per batch.", &m->batch_texts,
                  text_bounds, COUNT(text_bounds));
    put_histogram(out, "ringfence_batch_seconds", "Time per batch.", &m->batch_seconds,
                  second_bounds, COUNT(second_bounds));
    put(out, "ringfence_queue_texts", "gauge", "Texts waiting for a worker.",
        (double)now->queue_texts);
    put(out, "ringfence_texts_total", "counter", "Texts classified.",
        (double)atomic_load(&m->texts));
    put(out, "ringfence_open_total", "counter", "Texts that no class accepted.",
        (double)atomic_load(&m->open));
    put(out, "ringfence_connections", "gauge", "Open connections.",
        (double)atomic_load(&m->connections));
    put(out, "ringfence_requests_active", "gauge", "Requests in progress.",
        (double)atomic_load(&m->active));
    metrics_describe(out, "ringfence_reloads_total", "counter",
                     "Reloads of the model, by result.");
    rf_text_format(out, "ringfence_reloads_total{result=\"ok\"} %llu\n",
                   atomic_load(&m->reloads_ok));
    rf_text_format(out, "ringfence_reloads_total{result=\"failed\"} %llu\n",
                   atomic_load(&m->reloads_failed));
    put(out, "ringfence_model_generation", "gauge",
        "Generation of the model: 1 for the first one loaded.", (double)now->generation);
    put(out, "ringfence_models_in_memory", "gauge",
        "Models in memory: two after a reload, until the old one's last job ends.",
        (double)now->models);
    put(out, "ringfence_uptime_seconds", "gauge", "Time since the service started.",
        now->uptime);
    put(out, "ringfence_log_lines_lost_total", "counter",
        "Log lines dropped because nobody read them.", (double)now->log_lost);
    put(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
        resident_bytes());
}

void metrics_label(rf_text *out, const char *value)
{
    rf_text_put(out, "\"");
    for (const char *c = value; *c; c++)
        if (*c == '\n')
            rf_text_put(out, "\\n");
        else if (*c == '"' || *c == '\\')
            rf_text_format(out, "\\%c", *c);
        else
            rf_text_add(out, c, 1);
    rf_text_put(out, "\"");
}
