/* review_routes.c - the endpoints of reviewing and of changing the model (docs/SERVE.md)
 */
#include "service.h"

#include <math.h>
#include <string.h>

#define JSON "application/json"

typedef struct MHD_Connection http_connection;

bool texts_are_there(exchange *x, http_connection *c, enum MHD_Result *result)
{
    problem p;
    if (!store_is_there(x, c, result))
        return false;
    if (x->service->desk)
        return true;
    problem_set(&p, 422, "no_texts",
                "the service keeps hashes of texts, wanted texts; start it without "
                "--store-hash");
    *result = reply_problem(x, c, &p);
    return false;
}

/* ---- GET /v1/review ---------------------------------------------------------------- */

enum MHD_Result answer_review(exchange *x, http_connection *c)
{
    enum MHD_Result result;
    problem p = {0};
    rf_text t;
    if (!texts_are_there(x, c, &result))
        return result;
    const char *again = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "refresh");
    if (again && strcmp(again, "true") != 0 && strcmp(again, "false") != 0) {
        problem_at(&p, "/refresh", 400, "bad_request",
                   "found \"%.40s\", wanted true or false", again);
        return reply_problem(x, c, &p);
    }
    rf_text_init(&t, REPLY_MAX, "a review");
    unsigned status = learner_write_review(x->service->learner,
                                           again && strcmp(again, "true") == 0, &t, &p);
    if (!p.status)
        return reply_status(x, c, status, JSON, &t);
    rf_text_release(&t);
    return reply_problem(x, c, &p);
}

/* ---- /v1/update, /v1/fence, /v1/undo ----------------------------------------------- */

/* The body, an object with these keys alone; an empty object if there is none. */
static json_t *read_object(const exchange *x, const char *const *keys, problem *p)
{
    json_t *body = x->body.len ? request_json(x->body.data, x->body.len, 10, p)
                               : request_json("{}", 2, 10, p);
    if (body && !request_is_object(body, keys, "", p)) {
        json_decref(body);
        return NULL;
    }
    return body;
}

/* {"preview": true or false}; false if there is no body. */
static bool read_preview(const exchange *x, learner_order *o, problem *p)
{
    static const char *const keys[] = {"preview", NULL};
    json_t *body = read_object(x, keys, p);
    if (!body)
        return false;
    const json_t *value = json_object_get(body, "preview");
    bool ok = !value || json_is_boolean(value) ||
              problem_at(p, "/preview", 400, "bad_request",
                         "found %s, wanted true or false", rf_json_type(value));
    o->task = json_is_true(value) ? TASK_PREVIEW : TASK_UPDATE;
    json_decref(body);
    return ok;
}

/* {"offset": X, "generation": N}; without the second, of whatever model is in service. */
static bool read_fence(const exchange *x, learner_order *o, problem *p)
{
    static const char *const keys[] = {"offset", "generation", NULL};
    json_t *body = read_object(x, keys, p);
    if (!body)
        return false;
    const json_t *offset = json_object_get(body, "offset");
    const json_t *generation = json_object_get(body, "generation");
    bool ok = true;
    o->task = TASK_FENCE;
    o->offset = json_number_value(offset);
    o->generation = (size_t)json_integer_value(generation);
    if (!json_is_number(offset))
        ok = problem_at(p, "/offset", 400, "bad_request", "found %s, wanted a number",
                        rf_json_type(offset));
    else if (!(fabs(o->offset) <= (double)RF_MAX_FENCE))
        ok = problem_at(p, "/offset", 400, "bad_request", "found %g, wanted %g to %g",
                        o->offset, (double)-RF_MAX_FENCE, (double)RF_MAX_FENCE);
    else if (generation && (!json_is_integer(generation) || o->generation < 1))
        ok = problem_at(p, "/generation", 400, "bad_request",
                        "found %s, wanted the generation of a model",
                        json_is_integer(generation) ? "a number below 1"
                                                    : rf_json_type(generation));
    json_decref(body);
    return ok;
}

static enum MHD_Result reply_state(exchange *x, http_connection *c, unsigned status)
{
    rf_text t;
    rf_text_init(&t, REPLY_MAX, "an answer");
    learner_write_update(x->service->learner, &t);
    return reply_status(x, c, status, JSON, &t);
}

static enum MHD_Result start_task(exchange *x, http_connection *c, learner_order *o)
{
    problem p = {0};
    if (!admission_may_write(x, c, o->who, &p) ||
        !learner_start(x->service->learner, o, &p))
        return reply_problem(x, c, &p);
    return reply_state(x, c, 202);
}

enum MHD_Result answer_update(exchange *x, http_connection *c)
{
    enum MHD_Result result;
    problem p = {0};
    learner_order o = {0};
    if (!x->posts)
        return reply_state(x, c, 200);
    if (!texts_are_there(x, c, &result))
        return result;
    return read_preview(x, &o, &p) ? start_task(x, c, &o) : reply_problem(x, c, &p);
}

enum MHD_Result answer_fence(exchange *x, http_connection *c)
{
    problem p = {0};
    learner_order o = {0};
    return read_fence(x, &o, &p) ? start_task(x, c, &o) : reply_problem(x, c, &p);
}

enum MHD_Result answer_undo(exchange *x, http_connection *c)
{
    return start_task(x, c, &(learner_order){.task = TASK_UNDO});
}
