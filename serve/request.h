/*
 * request.h - parse a request into texts and options
 *
 * The whole request is checked before any of its texts is queued.
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

/* The kind of body for a Content-Type; NULL: JSON. False if the type is not supported, or
 * the charset is not UTF-8. */
bool request_kind_of(const char *content_type, request_kind *kind, problem *p);

/* Whether an Accept header names JSON Lines. */
bool request_accepts_stream(const char *accept);

/* Whether an X-Ringfence-No-Store header keeps the texts out of the store: any value but
 * 0 and false; NULL: absent. */
bool request_forbids_store(const char *no_store);

/* Sets an option from the query string. */
bool request_option(job *j, const char *name, const char *value,
                    const request_limits *limits, problem *p);

/* Parses the body, which belongs to the job from now on. */
bool request_read(job *j, request_kind kind, char *body, size_t len,
                  const request_limits *limits, problem *p);

/* Parses a body of another request; at most so many values. NULL if it is not JSON. */
json_t *request_json(const char *text, size_t len, size_t max_values, problem *p);
/* An object with no other keys than these (a list that ends with NULL)? */
bool request_is_object(const json_t *v, const char *const *keys, const char *pointer,
                       problem *p);

#endif
