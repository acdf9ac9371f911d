/*
 * service.h - what the parts of the running service share
 */
#ifndef RF_SERVE_SERVICE_H
#define RF_SERVE_SERVICE_H

#include "keeper.h"
#include "metrics.h"
#include "model_slot.h"
#include "queue.h"
#include "request.h"
#include "serve.h"
#include "tokens.h"

#include <microhttpd.h>

struct exchange;

typedef struct service {
    serve_options o;
    request_limits limits;
    model_slot *models;
    queue *queue;
    keeper *keeper;
    tokens tokens;
    metrics counts;
    char policy[300]; /* Content-Security-Policy of the page */
    double started;
    atomic_bool draining;
    atomic_size_t held; /* bytes of requests and answers in memory */

    /* Requests that wait for a reload, which the main thread does. */
    pthread_t main_thread;
    pthread_mutex_t reload_lock;
    struct exchange *reloads;
    bool no_more_reloads;
} service;

/* A request and its answer, from the first line to the last byte. */
typedef struct exchange {
    service *service;
    kept *connection;
    endpoint endpoint;
    const struct route *route;
    double begun;
    bool active;     /* counted as such */
    bool looked;     /* see looks_again() in routes.c */
    bool takes_body; /* else it is dropped */
    rf_buffer body;
    size_t held; /* bytes that it had */
    job *job;
    problem wrong;   /* known before the request was read to its end */
    unsigned status; /* of the answer; 0: none yet */
    bool close;      /* the connection, after the answer */
    bool at_once;    /* wrong is told before the body was read */

    size_t reload_number; /* of the model that it asked for; 0: none yet */
    struct exchange *next_reload;
    struct MHD_Connection *waiting; /* suspended until the reload, or the next lines */
} exchange;

/* http.c: libmicrohttpd's side. NULL on failure. fd stays the caller's on failure. */
struct MHD_Daemon *http_start(service *s, int fd, rf_error *err);

/* door.c: what can be said of a request before its body came. If it is refused x->wrong
 * says why. */
bool door_admit(exchange *x, struct MHD_Connection *c, const char *url,
                const char *method, const char *version);
bool door_too_large(exchange *x); /* refuses it; always false */
/* Slow clients hold what they send and what they do not read: if all of them hold too
 * much it is refused. */
bool door_memory_full(exchange *x);

/* routes.c: what to do with a request. */
typedef struct route {
    const char *path;
    const char *allow; /* methods, as in the header */
    endpoint endpoint;
    bool open; /* for everybody, token or not */
    enum MHD_Result (*answer)(exchange *x, struct MHD_Connection *c);
} route;
const route *route_find(const char *path);

/* reply.c: how answers are sent. All return what libmicrohttpd wants. */
enum MHD_Result reply_problem(exchange *x, struct MHD_Connection *c, const problem *p);
/* The text becomes the answer's. If it is broken for lack of memory that is told. */
enum MHD_Result reply_text(exchange *x, struct MHD_Connection *c, const char *type,
                           rf_text *t);
enum MHD_Result reply_constant(exchange *x, struct MHD_Connection *c, const char *type,
                               const void *bytes, size_t len, const char *policy);
enum MHD_Result reply_empty(exchange *x, struct MHD_Connection *c, unsigned status);
enum MHD_Result reply_stream(exchange *x, struct MHD_Connection *c);

/* serve.c: asks the main thread for a reload; the exchange is resumed when it is done.
 * False if it is too late for that. */
bool service_ask_reload(service *s, exchange *x, struct MHD_Connection *c);

#define REPLY_MAX ((size_t)1 << 30) /* bytes of an answer */

#endif
