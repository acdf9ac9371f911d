/*
 * request.h - from the bytes of a request to texts and options, checked whole
 *
 * Nothing of a request reaches the queue before all of it was looked at.
 */
#ifndef RF_SERVE_REQUEST_H
#define RF_SERVE_REQUEST_H

#include "job.h"

typedef enum request_kind {
    REQUEST_JSON,   /* {"text": ...} or {"texts": [...]} */
    REQUEST_PLAIN,  /* one text per line */
    REQUEST_NDJSON, /* one JSON string or {"text": ...} per line */
} request_kind;

typedef struct request_limits {
    size_t max_texts;      /* per request */
    size_t max_text_bytes; /* per text */
    size_t max_deadline_ms;
} request_limits;

#define REQUEST_MAX_TOP 1000
#define REQUEST_MAX_EXPLAIN 100

/* What a Content-Type means; false if it is none of the three, or says that the bytes are
 * not UTF-8. NULL: JSON. */
bool request_kind_of(const char *content_type, request_kind *kind, problem *p);

/* Whether an Accept header names JSON Lines. */
bool request_accepts_stream(const char *accept);

/* An option of the query, as text. */
bool request_option(job *j, const char *name, const char *value,
                    const request_limits *limits, problem *p);

/* The body: j owns it from now on. */
bool request_read(job *j, request_kind kind, char *body, size_t len,
                  const request_limits *limits, problem *p);

#endif
