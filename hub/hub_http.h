/*
 * hub_http.h - one GET with all its redirects
 *
 * Redirects are followed here and not by libcurl, so that each hop is checked before it
 * is taken (hub_url.h), and so that the token is attached to requests that may have it
 * instead of being removed from those that may not.
 */
#ifndef RF_HUB_HTTP_H
#define RF_HUB_HTTP_H

#include "hub_client.h"
#include "hub_url.h"

#define HUB_ETAG_MAX 256

/* What the headers of an answer say; what the hub itself said before a redirect stays. */
typedef struct hub_answer {
    long status;
    int64_t length;          /* Content-Length, -1 if there is none */
    int64_t from, total;     /* Content-Range; -1 */
    char etag[HUB_ETAG_MAX]; /* a strong one, quotes included, else "" */
    char encoding[32];       /* Content-Encoding */
    char location[HUB_URL_MAX];
    bool long_location;

    char commit[64];         /* X-Repo-Commit */
    char linked_etag[80];    /* X-Linked-Etag, without quotes */
    int64_t linked_size;     /* X-Linked-Size, -1 */
    char error_code[48];     /* X-Error-Code */
    char error_message[160]; /* X-Error-Message, on one line */
} hub_answer;

typedef struct hub_sink {
    void *user;
    /* Once, before the first byte of an answer with status 200 or 206. */
    rf_status (*begin)(void *user, const hub_answer *answer, rf_error *err);
    rf_status (*add)(void *user, const char *bytes, size_t len, rf_error *err);
    /* Every now and then; RF_ERR_STOPPED ends the request. */
    rf_status (*watch)(void *user, rf_error *err);
} hub_sink;

typedef enum hub_outcome {
    HUB_DONE,
    HUB_AGAIN,  /* failed, but may work later */
    HUB_RANGE,  /* the server does not have the bytes from there on */
    HUB_FAILED, /* and will fail again */
} hub_outcome;

typedef struct hub_http {
    CURL *curl;
    hub_endpoint endpoint;
    const hub_options *options;
} hub_http;

/* Asks for the bytes from `from` on, if the file still has this ETag; from 0: for all.
 * *wait: how many seconds the server wants to be left alone. */
hub_outcome hub_http_get(hub_http *h, const char *path, int64_t from, const char *etag,
                         const hub_sink *sink, double *wait, rf_error *err);

#endif
