#include "clock.h"
#include "service.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STREAM_BLOCK 16384

static void header(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

/* Headers that every answer has; sends it and counts it. */
static enum MHD_Result send_off(exchange *x, struct MHD_Connection *c,
                                struct MHD_Response *r, unsigned status, const char *type)
{
    service *s = x->service;
    if (!r)
        return MHD_NO; /* no memory: the connection is closed */
    if (type)
        header(r, "Content-Type", type);
    header(r, "Cache-Control", "no-store");
    header(r, "X-Content-Type-Options", "nosniff");
    if (s->o.allow_origin) {
        header(r, "Access-Control-Allow-Origin", s->o.allow_origin);
        header(r, "Access-Control-Expose-Headers", "Retry-After");
        header(r, "Vary", "Origin");
    }
    if (x->close || atomic_load(&s->draining))
        header(r, "Connection", "close");
    x->status = status;
    metrics_request(&s->counts, x->endpoint, status);
    if (x->endpoint == ENDPOINT_CLASSIFY && status == 200 && !(x->job && x->job->stream))
        metrics_seconds(&s->counts.request_seconds, clock_now() - x->begun);
    /* A stream goes on working; its end is the job's. */
    if (!(x->job && x->job->stream && status == 200))
        keeper_enter(s->keeper, x->connection, PHASE_SENDING, NULL);
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

/* How long it may take until what waits is done. */
static unsigned retry_after(service *s)
{
    double texts = (double)atomic_load(&s->counts.texts);
    double seconds = 1e-6 * (double)atomic_load(&s->counts.batch_seconds.sum);
    double each = texts > 0 ? seconds / texts : 0;
    double wait = ceil(each * (double)queue_waiting(s->queue) / (double)s->o.workers);
    return wait < 1 ? 1 : wait > 60 ? 60 : (unsigned)wait;
}

enum MHD_Result reply_problem(exchange *x, struct MHD_Connection *c, const problem *p)
{
    rf_text t;
    char seconds[16];
    rf_text_init(&t, REPLY_MAX, "an error");
    problem_write(p, &t);
    rf_text_put(&t, "\n");
    if (t.status != RF_OK) {
        rf_text_release(&t);
        return MHD_NO;
    }
    struct MHD_Response *r = MHD_create_response_from_buffer(t.buffer.len, t.buffer.data,
                                                             MHD_RESPMEM_MUST_FREE);
    if (!r)
        rf_text_release(&t);
    else if (p->status == 401)
        header(r, "WWW-Authenticate", "Bearer realm=\"ringfence\"");
    else if (p->status == 405)
        header(r, "Allow", x->route->allow);
    else if (p->status == 429) {
        snprintf(seconds, sizeof seconds, "%u", retry_after(x->service));
        header(r, "Retry-After", seconds);
    }
    return send_off(x, c, r, p->status, "application/json");
}

enum MHD_Result reply_text(exchange *x, struct MHD_Connection *c, const char *type,
                           rf_text *t)
{
    if (t->status != RF_OK) {
        problem p;
        rf_text_release(t);
        problem_set(&p, 503, "out_of_memory", "no memory for the answer");
        return reply_problem(x, c, &p);
    }
    struct MHD_Response *r = MHD_create_response_from_buffer(
        t->buffer.len, t->buffer.data, MHD_RESPMEM_MUST_FREE);
    if (!r)
        rf_text_release(t);
    return send_off(x, c, r, 200, type);
}

enum MHD_Result reply_constant(exchange *x, struct MHD_Connection *c, const char *type,
                               const void *bytes, size_t len, const char *policy)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        len, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
    if (r && policy) {
        header(r, "Content-Security-Policy", policy);
        header(r, "Referrer-Policy", "no-referrer");
    }
    return send_off(x, c, r, 200, type);
}

enum MHD_Result reply_empty(exchange *x, struct MHD_Connection *c, unsigned status)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
                                                             MHD_RESPMEM_PERSISTENT);
    if (r && x->service->o.allow_origin) { /* a browser asks what it may send */
        header(r, "Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
        header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type, Accept");
        header(r, "Access-Control-Max-Age", "600");
    }
    return send_off(x, c, r, status, NULL);
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
    x->waiting = c; /* whom to wake when there is more */
    struct MHD_Response *r = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, x, NULL);
    return send_off(x, c, r, 200, "application/x-ndjson");
}
