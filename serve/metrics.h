/*
 * metrics.h - what the service counts, in Prometheus' text format
 *
 * Counters are atomic: any thread counts, none waits. Answers by class belong to a model
 * and are counted there (model_slot.h).
 */
#ifndef RF_SERVE_METRICS_H
#define RF_SERVE_METRICS_H

#include "base/json_text.h"

#include <stdatomic.h>

/* The routes, and everything else. */
typedef enum endpoint {
    ENDPOINT_CLASSIFY,
    ENDPOINT_MODEL,
    ENDPOINT_MAP,
    ENDPOINT_RELOAD,
    ENDPOINT_METRICS,
    ENDPOINT_HEALTHZ,
    ENDPOINT_READYZ,
    ENDPOINT_OPENAPI,
    ENDPOINT_PAGE,
    ENDPOINT_OTHER,
    N_ENDPOINTS,
} endpoint;

#define METRICS_STATUSES 20 /* different status codes that are counted */
#define METRICS_BUCKETS 20  /* of a histogram, at most */

typedef struct histogram {
    atomic_ullong buckets[METRICS_BUCKETS + 1]; /* the last: above all bounds */
    atomic_ullong sum;                          /* in millionths */
} histogram;

typedef struct metrics {
    atomic_ullong requests[N_ENDPOINTS][METRICS_STATUSES];
    histogram request_seconds, batch_seconds, batch_texts;
    atomic_ullong texts, open;
    atomic_ullong reloads_ok, reloads_failed;
    atomic_size_t connections, active; /* requests that are being worked on */
} metrics;

/* What is known elsewhere, at the time of writing. */
typedef struct metrics_state {
    size_t queue_texts, generation;
    double uptime;
    unsigned long long log_lost;
} metrics_state;

void metrics_request(metrics *m, endpoint e, unsigned status);
void metrics_seconds(histogram *h, double seconds);
void metrics_batch(metrics *m, size_t texts, double seconds);

/* All but the answers by class. */
void metrics_write(metrics *m, const metrics_state *now, rf_text *out);

/* The value of a label: quotes, backslashes and line ends escaped, quotes around it. */
void metrics_label(rf_text *out, const char *value);

#endif
