/* reply.c - headers, status and body of every kind of answer */
#include "base/clock.h"
#include "service.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STREAM_BLOCK 16384

/* Without memory for a header there is no answer: one that lacks its type, or the policy
 * that keeps foreign scripts out of the page, is worse. Accepts NULL. */
static void add_header(struct MHD_Response **r, const char *name, const char *value)
{
    if (*r && MHD_add_response_header(*r, name, value) != MHD_YES) {
        MHD_destroy_response(*r);
        *r = NULL;
    }
}

/* Adds the headers that every answer has, counts the answer, and queues it. */
static enum MHD_Result send_response(exchange *x, struct MHD_Connection *c,
                                     struct MHD_Response *r, unsigned status,
                                     const char *type)
{
    service *s = x->service;
    bool streamed = x->job && x->job->stream;
    if (type)
        add_header(&r, "Content-Type", type);
    add_header(&r, "Cache-Control", "no-store");
    add_header(&r, "X-Content-Type-Options", "nosniff");
    if (s->o.allow_origin) {
        add_header(&r, "Access-Control-Allow-Origin", s->o.allow_origin);
        add_header(&r, "Access-Control-Expose-Headers", "Retry-After");
        add_header(&r, "Vary", "Origin");
    }
    if (x->close || atomic_load(&s->draining))
        add_header(&r, "Connection", "close");
    if (!r)
        return MHD_NO; /* no memory: closes the connection */
    x->status = status;
    metrics_request(&s->counts, x->endpoint, status);
    if (x->endpoint == ENDPOINT_CLASSIFY && status == 200 && !streamed)
        metrics_seconds(&s->counts.request_seconds, rf_clock_seconds() - x->started);
    /* A stream is still being worked on, under the deadline of its job. */
    if (!(streamed && status == 200))
        conn_enter(s->deadlines, x->connection, CONN_SENDING, NULL);
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

/* Seconds that the waiting texts will probably take. */
static unsigned estimate_wait(service *s)
{
    double texts = (double)atomic_load(&s->counts.texts);
    double seconds = 1e-6 * (double)atomic_load(&s->counts.batch_seconds.sum);
    double each = texts > 0 ? seconds / texts : 0;
    double wait = ceil(each * (double)queue_waiting(s->queue) / (double)s->o.workers);
    return wait < 1 ? 1 : wait > 60 ? 60 : (unsigned)wait;
}

/* Takes the text over. NULL if there is no memory. */
static struct MHD_Response *response_from(rf_text *t)
{
    struct MHD_Response *r = NULL;
    if (t->status == RF_OK)
        r = MHD_create_response_from_buffer(t->buffer.len, t->buffer.data,
                                            MHD_RESPMEM_MUST_FREE);
    if (!r)
        rf_text_release(t);
    return r;
}

enum MHD_Result reply_problem(exchange *x, struct MHD_Connection *c, const problem *p)
{
    rf_text t;
    char seconds[16];
    rf_text_init(&t, REPLY_MAX, "an error");
    problem_write(p, &t);
    rf_text_put(&t, "\n");
    struct MHD_Response *r = response_from(&t);
    if (p->status == 401)
        add_header(&r, "WWW-Authenticate", "Bearer realm=\"ringfence\"");
    else if (p->status == 405)
        add_header(&r, "Allow", x->route->allow);
    else if (p->status == 429) {
        snprintf(seconds, sizeof seconds, "%u", estimate_wait(x->service));
        add_header(&r, "Retry-After", seconds);
    }
    return send_response(x, c, r, p->status, "application/json");
}

enum MHD_Result reply_text(exchange *x, struct MHD_Connection *c, const char *type,
                           rf_text *t)
{
    return reply_status(x, c, 200, type, t);
}

enum MHD_Result reply_status(exchange *x, struct MHD_Connection *c, unsigned status,
                             const char *type, rf_text *t)
{
    problem p;
    if (t->status == RF_OK) {
        exchange_hold(x, t->buffer.len);
        return send_response(x, c, response_from(t), status, type);
    }
    rf_text_release(t);
    problem_out_of_memory(&p, "the answer");
    return reply_problem(x, c, &p);
}

enum MHD_Result reply_constant(exchange *x, struct MHD_Connection *c, const char *type,
                               const void *bytes, size_t len, const char *policy)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        len, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
    if (policy) {
        add_header(&r, "Content-Security-Policy", policy);
        add_header(&r, "Referrer-Policy", "no-referrer");
    }
    return send_response(x, c, r, 200, type);
}

enum MHD_Result reply_empty(exchange *x, struct MHD_Connection *c, unsigned status)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
                                                             MHD_RESPMEM_PERSISTENT);
    if (x->service->o.allow_origin) { /* a CORS preflight */
        add_header(&r, "Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
        add_header(&r, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, Accept, "
                   "X-Ringfence-No-Store");
        add_header(&r, "Access-Control-Max-Age", "600");
    }
    return send_response(x, c, r, status, NULL);
}

/* ---- Streams ----------------------------------------------------------------------- */

static ssize_t read_stream(void *user, uint64_t at, char *out, size_t room)
{
    (void)at;
    exchange *x = user;
    long n = job_read(x->job, out, room, x->waiting);
    return n == JOB_END ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

enum MHD_Result reply_stream(exchange *x, struct MHD_Connection *c)
{
    x->waiting = c; /* to resume when there is more */
    struct MHD_Response *r = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, x, NULL);
    return send_response(x, c, r, 200, "application/x-ndjson");
}
