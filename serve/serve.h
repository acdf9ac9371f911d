/* serve.h - serve a model over HTTP (docs/SERVE.md) */
#ifndef RF_SERVE_SERVE_H
#define RF_SERVE_SERVE_H

#include "base/error.h"

typedef struct serve_options {
    const char *model;              /* path of the model file */
    const char *listen;             /* "127.0.0.1:8080", "[::1]:0", "localhost:8080" */
    const char *token_file;         /* NULL: no token is required */
    const char *allow_origin;       /* may call from a browser; NULL: none */
    const char *tls_cert, *tls_key; /* PEM files; both or neither */
    bool insecure; /* allow other addresses than loopback without a token */
    bool access_log, log_texts;

    const char *store;        /* keep texts with answers in this file; NULL: do not */
    const char *store_source; /* name of this service in it */
    double store_sample;      /* share of texts that are not open */
    size_t store_days, store_mb;
    bool store_hash; /* keep hashes instead of texts */

    size_t workers, threads; /* threads: per worker; 0: by CPUs */
    rf_precision precision;
    bool all_heads;
    size_t batch_tokens; /* 0: by threads */

    size_t queue; /* texts waiting */
    size_t max_texts, max_text_bytes, max_body_bytes;
    size_t max_connections, max_per_address; /* max_per_address 0: no limit */
    double deadline, idle_timeout, receive_timeout, send_timeout, drain; /* seconds */
} serve_options;

serve_options serve_options_default(void);

/* Serves until SIGTERM or SIGINT, then drains. RF_ERR_ARG for options that contradict
 * each other. Takes over SIGHUP (reload), SIGTERM, SIGINT, SIGPIPE and SIGXFSZ. */
rf_status serve_run(const serve_options *options, rf_error *err);

#endif
