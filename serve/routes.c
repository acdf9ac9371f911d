/* routes.c - the endpoints, as described in docs/SERVE.md */
#include "assets.h"
#include "base/clock.h"
#include "log.h"
#include "service.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JSON "application/json"

typedef struct MHD_Connection http_connection;

static void put_string(rf_text *t, const char *key, const char *value)
{
    rf_text_format(t, "\"%s\": ", key);
    rf_text_name(t, value);
}

bool route_may_suspend(exchange *x)
{
    bool polled = x->polled;
    x->polled = true;
    return polled;
}

/* ---- POST /v1/classify ------------------------------------------------------------- */

typedef struct query {
    job *job;
    const request_limits *limits;
    problem *problem;
} query;

static enum MHD_Result read_query_option(void *user, enum MHD_ValueKind kind,
                                         const char *name, const char *value)
{
    (void)kind;
    query *q = user;
    return request_option(q->job, name, value, q->limits, q->problem) ? MHD_YES : MHD_NO;
}

static enum MHD_Result check_accept(void *user, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind;
    bool *stream = user;
    if (strcasecmp(name, "Accept") == 0 && value)
        *stream |= request_accepts_stream(value);
    return MHD_YES;
}

/* The kind of body, and whether the answer is streamed. */
static bool read_headers(http_connection *c, request_kind *kind, bool *stream, problem *p)
{
    const char *coding = http_header(c, "Content-Encoding");
    if (coding && strcasecmp(coding, "identity") != 0)
        return problem_set(p, 415, "unsupported_media_type",
                           "found Content-Encoding: %.80s, wanted a plain body", coding);
    if (!request_kind_of(http_header(c, "Content-Type"), kind, p))
        return false;
    *stream = *kind == REQUEST_NDJSON;
    MHD_get_connection_values(c, MHD_HEADER_KIND, check_accept, stream);
    return true;
}

static bool model_can_answer(exchange *x, const job *j, problem *p)
{
    loaded_model *m = model_slot_acquire(x->service->models);
    bool can = loaded_model_can_answer(m, &j->options, p);
    loaded_model_unref(m);
    return can;
}

/* Turns the request into a job and queues it. */
static bool start_job(exchange *x, http_connection *c, problem *p)
{
    service *s = x->service;
    request_kind kind;
    job *j = x->job = job_new(&s->held);
    query q = {j, &s->limits, p};
    if (!j)
        return problem_out_of_memory(p, "a request");
    j->options = rf_answer_options_default();
    j->keep_sent = s->o.log_texts;
    if (!read_headers(c, &kind, &j->stream, p))
        return false;
    MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, read_query_option, &q);
    if (p->status)
        return false;
    char *body = x->body.data;
    size_t len = x->body.len;
    x->body.data = NULL;
    rf_buffer_release(&x->body);
    if (!request_read(j, kind, body, len, &s->limits, p) || !model_can_answer(x, j, p))
        return false;
    j->no_store |= request_forbids_store(http_header(c, "X-Ringfence-No-Store"));
    size_t ms = j->deadline_ms ? j->deadline_ms : s->limits.max_deadline_ms;
    j->deadline = x->started + 1e-3 * (double)ms;
    if (j->n == 0)
        return true; /* nothing to wait for */
    switch (queue_add(s->queue, j)) {
    case QUEUE_ADDED:
        /* After queue_add: before it, no text counts as unfinished, and the job as done.
         */
        conn_enter(s->deadlines, x->connection, CONN_WORKING, j);
        return true;
    case QUEUE_FULL:
        return problem_set(p, 429, "queue_full",
                           "too many texts are waiting (at most %zu); try again later",
                           s->o.queue);
    case QUEUE_CLOSED: return problem_shutting_down(p);
    }
    return false;
}

static enum MHD_Result reply_answers(exchange *x, http_connection *c)
{
    job *j = x->job;
    rf_text t;
    rf_text_init(&t, REPLY_MAX, "an answer");
    t.status = rf_buffer_reserve(&t.buffer, j->bytes + 2 * j->n + 20, NULL);
    if (!j->single)
        rf_text_put(&t, "{\"answers\": [");
    for (size_t i = 0; i < j->n; i++) {
        if (i)
            rf_text_put(&t, ", ");
        rf_text_add(&t, j->texts[i].answer, j->texts[i].answer_len);
    }
    rf_text_put(&t, j->single ? "\n" : "]}\n");
    if (!x->service->o.log_texts)
        job_drop_answers(j);
    return reply_text(x, c, JSON, &t);
}

static enum MHD_Result answer_classify(exchange *x, http_connection *c)
{
    if (!x->job) {
        problem p = {0};
        if (!start_job(x, c, &p)) {
            /* First free the memory: the client may be slow to read the answer. */
            job_detach(x->job);
            x->job = NULL;
            return reply_problem(x, c, &p);
        }
        if (x->job->stream)
            return reply_stream(x, c);
    }
    problem failure;
    if (!job_ready(x->job, route_may_suspend(x) ? c : NULL, &failure))
        return MHD_YES; /* called again at once, or after the connection is resumed */
    return failure.status ? reply_problem(x, c, &failure) : reply_answers(x, c);
}

/* ---- GET /v1/model, /v1/map -------------------------------------------------------- */

static void put_promise(rf_text *t, const rf_model *model)
{
    rf_promise p;
    if (!rf_model_promise(model, &p)) {
        rf_text_put(t, "null");
        return;
    }
    rf_text_format(t,
                   "{\"max_false_accept\": %.9g, \"expected_false_accept\": %.9g, "
                   "\"low\": %.9g, \"high\": %.9g}",
                   p.max_accept, p.expected_accept, p.accept_low, p.accept_high);
}

static void put_server(rf_text *t, service *s, const loaded_model *m)
{
    const serve_options *o = &s->o;
    rf_text_put(t, "{");
    put_string(t, "version", rf_version());
    rf_text_put(t, ", ");
    put_string(t, "kernels", rf_kernels_name());
    rf_text_put(t, ", ");
    put_string(t, "file", model_slot_path(s->models));
    rf_text_format(t, ", \"generation\": %zu, \"loaded\": \"%s\"", m->generation,
                   m->loaded);
    rf_text_format(t,
                   ", \"uptime_seconds\": %.3f, \"examples\": %s, \"map\": %s, "
                   "\"store\": %s",
                   rf_clock_seconds() - s->started,
                   rf_model_has_examples(m->model) ? "true" : "false",
                   rf_model_map_size(m->model) ? "true" : "false",
                   !s->store       ? "null"
                   : o->store_hash ? "\"hashes\""
                                   : "\"texts\"");
    rf_text_format(t,
                   ", \"workers\": %zu, \"threads\": %zu, \"max_texts\": %zu, "
                   "\"max_text_bytes\": %zu, \"max_body_bytes\": %zu, "
                   "\"deadline_ms\": %zu}",
                   o->workers, o->threads, o->max_texts, o->max_text_bytes,
                   o->max_body_bytes, s->limits.max_deadline_ms);
}

static enum MHD_Result answer_model(exchange *x, http_connection *c)
{
    loaded_model *m = model_slot_acquire(x->service->models);
    rf_text t;
    rf_text_init(&t, REPLY_MAX, "an answer");
    rf_text_put(&t, "{\"model\": ");
    rf_text_put(&t, rf_model_json(m->model));
    rf_text_put(&t, ", \"promise\": ");
    put_promise(&t, m->model);
    rf_text_put(&t, ", \"server\": ");
    put_server(&t, x->service, m);
    rf_text_put(&t, "}\n");
    loaded_model_unref(m);
    return reply_text(x, c, JSON, &t);
}

static void put_map(rf_text *t, const rf_model *model)
{
    rf_text_put(t, "{\"labels\": [");
    for (size_t i = 0; i < rf_model_classes(model); i++) {
        rf_text_put(t, i ? ", " : "");
        rf_text_name(t, rf_model_label(model, i));
    }
    rf_text_put(t, "], \"points\": [");
    for (size_t i = 0; i < rf_model_map_size(model); i++) {
        rf_map_point p = rf_model_map_point(model, i);
        rf_text_format(t, "%s[%.4f, %.4f, %zu]", i ? ", " : "", (double)p.x, (double)p.y,
                       p.class_index);
    }
    rf_map_ring ring = rf_model_map_ring(model);
    rf_text_format(t, "], \"ring\": [%.4f, %.4f]}\n", (double)ring.inner,
                   (double)ring.outer);
}

static enum MHD_Result answer_map(exchange *x, http_connection *c)
{
    loaded_model *m = model_slot_acquire(x->service->models);
    enum MHD_Result result;
    if (rf_model_map_size(m->model) == 0) {
        problem p;
        problem_set(&p, 404, "no_map", "the model has no map");
        result = reply_problem(x, c, &p);
    } else {
        rf_text t;
        rf_text_init(&t, REPLY_MAX, "a map");
        put_map(&t, m->model);
        result = reply_text(x, c, JSON, &t);
    }
    loaded_model_unref(m);
    return result;
}

/* ---- The rest ---------------------------------------------------------------------- */

static enum MHD_Result answer_reload(exchange *x, http_connection *c)
{
    service *s = x->service;
    problem p;
    rf_text t;
    if (s->tokens.n == 0) {
        problem_set(&p, 403, "forbidden",
                    "without a token, only SIGHUP reloads the model");
        return reply_problem(x, c, &p);
    }
    if (x->reload_generation == 0) { /* a failed one was answered by handle_request */
        if (!route_may_suspend(x) || service_request_reload(s, x, c))
            return MHD_YES; /* as in answer_classify */
        problem_shutting_down(&p);
        return reply_problem(x, c, &p);
    }
    rf_text_init(&t, REPLY_MAX, "an answer");
    rf_text_format(&t, "{\"generation\": %zu, ", x->reload_generation);
    put_string(&t, "file", model_slot_path(s->models));
    rf_text_put(&t, "}\n");
    return reply_text(x, c, JSON, &t);
}

static enum MHD_Result answer_metrics(exchange *x, http_connection *c)
{
    service *s = x->service;
    loaded_model *m = model_slot_acquire(s->models);
    metrics_state now = {.queue_texts = queue_waiting(s->queue),
                         .generation = m->generation,
                         .models = loaded_models_in_memory(),
                         .uptime = rf_clock_seconds() - s->started,
                         .log_lost = log_lost()};
    rf_text t;
    rf_text_init(&t, REPLY_MAX, "metrics");
    metrics_write(&s->counts, &now, &t);
    loaded_model_write_counts(m, &t);
    loaded_model_unref(m);
    if (s->store)
        recorder_write_metrics(s->store, &t);
    return reply_text(x, c, "text/plain; version=0.0.4; charset=utf-8", &t);
}

static enum MHD_Result answer_health(exchange *x, http_connection *c)
{
    static const char ok[] = "{\"status\": \"ok\"}\n";
    return reply_constant(x, c, JSON, ok, sizeof ok - 1, NULL);
}

static enum MHD_Result answer_ready(exchange *x, http_connection *c)
{
    static const char ready[] = "{\"status\": \"ready\"}\n";
    problem p;
    if (!atomic_load(&x->service->draining))
        return reply_constant(x, c, JSON, ready, sizeof ready - 1, NULL);
    problem_shutting_down(&p);
    return reply_problem(x, c, &p);
}

static enum MHD_Result answer_openapi(exchange *x, http_connection *c)
{
    return reply_constant(x, c, JSON, asset_openapi, asset_openapi_size, NULL);
}

static enum MHD_Result answer_page(exchange *x, http_connection *c)
{
    return reply_constant(x, c, "text/html; charset=utf-8", asset_page, asset_page_size,
                          x->service->policy);
}

const route *route_find(const char *path)
{
    /* The target may be a full URL (RFC 9112, 3.2.2). */
    if (strncasecmp(path, "http://", 7) == 0)
        path = strchr(path + 7, '/');
    else if (strncasecmp(path, "https://", 8) == 0)
        path = strchr(path + 8, '/');
    if (!path)
        path = "/";
#define GET "GET, HEAD"
    static const route routes[] = {
        {"/v1/classify", "POST", ENDPOINT_CLASSIFY, false, true, answer_classify},
        {"/v1/model", GET, ENDPOINT_MODEL, false, false, answer_model},
        {"/v1/map", GET, ENDPOINT_MAP, false, false, answer_map},
        {"/v1/drift", GET, ENDPOINT_DRIFT, false, false, answer_drift},
        {"/v1/review", GET, ENDPOINT_REVIEW, false, false, answer_review},
        {"/v1/labels", GET ", POST", ENDPOINT_LABELS, false, true, answer_labels},
        {"/v1/update", GET ", POST", ENDPOINT_UPDATE, false, true, answer_update},
        {"/v1/fence", "POST", ENDPOINT_FENCE, false, true, answer_fence},
        {"/v1/undo", "POST", ENDPOINT_UNDO, false, false, answer_undo},
        {"/v1/reload", "POST", ENDPOINT_RELOAD, false, false, answer_reload},
        {"/metrics", GET, ENDPOINT_METRICS, false, false, answer_metrics},
        {"/healthz", GET, ENDPOINT_HEALTHZ, true, false, answer_health},
        {"/readyz", GET, ENDPOINT_READYZ, true, false, answer_ready},
        {"/openapi.json", GET, ENDPOINT_OPENAPI, true, false, answer_openapi},
        {"/", GET, ENDPOINT_PAGE, true, false, answer_page}};
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0)
            return &routes[i];
    return NULL;
}
