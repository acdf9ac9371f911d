/*
 * service.h - the state of the running service, and the functions its parts share
 */
#ifndef RF_SERVE_SERVICE_H
#define RF_SERVE_SERVICE_H

#include "conn_deadlines.h"
#include "desk.h"
#include "learner.h"
#include "metrics.h"
#include "model_slot.h"
#include "queue.h"
#include "recorder.h"
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
    recorder *store; /* NULL: nothing is kept */
    desk *desk;      /* NULL: no texts are kept */
    learner *learner;
    conn_deadlines *deadlines;
    tokens tokens;
    metrics counts;
    char policy[300]; /* Content-Security-Policy of the page */
    double started;
    atomic_bool draining;
    held held;

    /* Requests that wait for a reload by the main thread. */
    pthread_t main_thread;
    pthread_mutex_t reload_lock;
    pthread_cond_t reload_answered; /* for those without a connection */
    struct exchange *reloads;
    bool no_more_reloads;
} service;

/* A request and its answer, from the first line to the last byte. */
typedef struct exchange {
    service *service;
    conn *connection;
    endpoint endpoint;
    const struct route *route;
    double started;
    bool active;     /* headers are read; counted in metrics.active */
    bool polled;     /* see may_suspend() in routes.c */
    bool posts;      /* the method is POST */
    bool takes_body; /* else the body is dropped */
    rf_buffer body;
    size_t bytes_held; /* of the body and the reply; counted until the exchange ends */
    job *job;
    desk_task *task;
    problem refusal; /* decided before the whole request was read, or by a reload */
    unsigned status; /* of the answer; 0: none yet */
    bool close;      /* close the connection after the answer */

    size_t reload_generation; /* of the model that was loaded on request; 0: none yet */
    struct exchange *next_reload;
    struct MHD_Connection *waiting; /* suspended until the reload, or the next lines;
                                     * NULL: a thread waits for the reload */
} exchange;

/* http.c: the callbacks of libmicrohttpd. NULL on failure; then fd stays the caller's. */
struct MHD_Daemon *http_start(service *s, int fd, rf_error *err);

/* admission.c: all checks that need only the headers. If false, x->refusal says why. */
bool admission_check(exchange *x, struct MHD_Connection *c, const char *url,
                     const char *method);
bool admission_refuse_large(exchange *x); /* sets the refusal; always false */
/* True, with a refusal, if requests and answers take too much memory together: slow
 * clients hold what they send and what they do not read. */
bool admission_memory_full(exchange *x);
/* Counts bytes of the request or the reply, until the exchange ends. */
void exchange_hold(exchange *x, size_t bytes);
/* May this client change the model or the store? Either it has a token, or there is none
 * and our own page asks, on this machine. If not, p says why; else who it is. */
bool admission_may_write(const exchange *x, struct MHD_Connection *c, char who[WHO_MAX],
                         problem *p);
const char *http_header(struct MHD_Connection *c, const char *name); /* NULL if absent */

/* routes.c: the endpoints. */
typedef struct route {
    const char *path;
    const char *allow; /* methods, as in the Allow header */
    endpoint endpoint;
    bool open;       /* needs no token */
    bool takes_body; /* when it is posted to */
    enum MHD_Result (*answer)(exchange *x, struct MHD_Connection *c);
} route;
const route *route_find(const char *path); /* NULL if there is none */
/* A handler must not suspend the connection the first time it could: it has to return and
 * be called again. Otherwise libmicrohttpd reads from the connection when it is resumed,
 * and takes a client that has shut down its sending side for gone. */
bool route_may_suspend(exchange *x);

/* store_routes.c: the endpoints that need --store. */
enum MHD_Result answer_drift(exchange *x, struct MHD_Connection *c);
/* Is there a store? false, after the answer is sent. */
bool store_is_there(exchange *x, struct MHD_Connection *c, enum MHD_Result *result);

/* review_routes.c: reviewing, and changing the model. */
enum MHD_Result answer_review(exchange *x, struct MHD_Connection *c);
enum MHD_Result answer_update(exchange *x, struct MHD_Connection *c);
enum MHD_Result answer_fence(exchange *x, struct MHD_Connection *c);
enum MHD_Result answer_undo(exchange *x, struct MHD_Connection *c);
/* Is there a store with texts? false, after the answer is sent. */
bool texts_are_there(exchange *x, struct MHD_Connection *c, enum MHD_Result *result);

/* label_routes.c */
enum MHD_Result answer_labels(exchange *x, struct MHD_Connection *c);

/* reply.c: sending answers. All return what the library's handler has to return. */
enum MHD_Result reply_problem(exchange *x, struct MHD_Connection *c, const problem *p);
/* Takes the text over. If it ran out of memory, the answer is that problem. */
enum MHD_Result reply_text(exchange *x, struct MHD_Connection *c, const char *type,
                           rf_text *t);
/* The same with a status other than 200. */
enum MHD_Result reply_status(exchange *x, struct MHD_Connection *c, unsigned status,
                             const char *type, rf_text *t);
enum MHD_Result reply_constant(exchange *x, struct MHD_Connection *c, const char *type,
                               const void *bytes, size_t len, const char *policy);
enum MHD_Result reply_empty(exchange *x, struct MHD_Connection *c, unsigned status);
enum MHD_Result reply_stream(exchange *x, struct MHD_Connection *c);

/* reload.c: suspends the exchange until the main thread has reloaded the model. False if
 * the service is already stopping. */
bool service_request_reload(service *s, exchange *x, struct MHD_Connection *c);
/* For a thread: asks the main thread for a reload, and waits for it. user: the service.
 */
rf_status service_reload_and_wait(void *user, rf_error *err);
/* The main thread: reloads; accepts no more, and answers those that wait. */
void service_reload(service *s);
void service_end_reloads(service *s, const problem *why);

#define REPLY_MAX ((size_t)1 << 30) /* bytes of an answer */

#endif
