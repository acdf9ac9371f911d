/*
 * serve.h - a model as an HTTP service (docs/SERVE.md)
 */
#ifndef RF_SERVE_SERVE_H
#define RF_SERVE_SERVE_H

#include "base/error.h"

typedef struct serve_options {
    const char *model;              /* path of the model file */
    const char *listen;             /* "127.0.0.1:8080", "[::1]:0", "localhost:8080" */
    const char *token_file;         /* NULL: no token is asked for */
    const char *allow_origin;       /* of pages elsewhere; NULL: none */
    const char *tls_cert, *tls_key; /* PEM files; both or neither */
    bool insecure;                  /* beyond loopback without a token */
    bool access_log, log_texts;

    size_t workers, threads; /* 0: by the number of CPUs; threads are per worker */
    size_t batch_tokens;     /* 0: by threads */

    size_t queue; /* texts that may wait */
    size_t max_texts, max_text_bytes, max_body_bytes;
    size_t max_connections, max_per_address; /* 0: no limit by address */
    double deadline, idle_timeout, receive_timeout, send_timeout, drain; /* seconds */
} serve_options;

serve_options serve_options_default(void);

/* Serves until SIGTERM or SIGINT, then drains. RF_ERR_ARG for options that do not fit
 * together. Takes over SIGHUP (reload), SIGTERM, SIGINT and SIGPIPE of the process. */
rf_status serve_run(const serve_options *options, rf_error *err);

#endif
