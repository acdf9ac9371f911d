/*
 * metrics.h - the metrics of the service, in the text format of Prometheus
 *
 * Counters are atomic, so no thread waits to count. Answers by class belong to a model
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
    ENDPOINT_DRIFT,
    ENDPOINT_REVIEW,
    ENDPOINT_LABELS,
    ENDPOINT_UPDATE,
    ENDPOINT_FENCE,
    ENDPOINT_UNDO,
    ENDPOINT_RELOAD,
    ENDPOINT_METRICS,
    ENDPOINT_HEALTHZ,
    ENDPOINT_READYZ,
    ENDPOINT_OPENAPI,
    ENDPOINT_PAGE,
    ENDPOINT_OTHER,
    N_ENDPOINTS,
} endpoint;

#define METRICS_STATUSES 20 /* distinct status codes */
#define METRICS_BUCKETS 20  /* per histogram, at most */

typedef struct histogram {
    atomic_ullong buckets[METRICS_BUCKETS + 1]; /* the last: above all bounds */
    atomic_ullong sum;                          /* in millionths */
} histogram;

typedef struct metrics {
    atomic_ullong requests[N_ENDPOINTS][METRICS_STATUSES];
    histogram request_seconds, batch_seconds, batch_texts;
    atomic_ullong texts, open;
    atomic_ullong reloads_ok, reloads_failed;
    atomic_size_t connections, active; /* active: requests in progress */
} metrics;

/* Gauges that are kept elsewhere. */
typedef struct metrics_state {
    size_t queue_texts, generation, models;
    double uptime;
    unsigned long long log_lost;
} metrics_state;

void metrics_request(metrics *m, endpoint e, unsigned status);
void metrics_seconds(histogram *h, double seconds);
void metrics_batch(metrics *m, size_t texts, double seconds);

/* Writes all but the answers by class. */
void metrics_write(metrics *m, const metrics_state *now, rf_text *out);

/* Writes the HELP and TYPE lines of a metric. */
void metrics_describe(rf_text *out, const char *name, const char *type, const char *help);

/* Writes the value of a label: quoted, with quotes, backslashes and line ends escaped. */
void metrics_label(rf_text *out, const char *value);

#endif
