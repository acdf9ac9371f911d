/* review_routes.c - the endpoints of reviewing, labelling and learning (docs/SERVE.md) */
#include "log.h"
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JSON "application/json"
#define MAX_LABELS 10000 /* rows of one request */
#define LIST_LABELS 2000 /* of those pending, the newest */

typedef struct MHD_Connection http_connection;

/* Are there texts to review? false, after the answer is sent. */
static bool has_texts(exchange *x, http_connection *c, enum MHD_Result *result)
{
    problem p;
    if (!store_is_there(x, c, result))
        return false;
    if (x->service->learner)
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
    if (!has_texts(x, c, &result))
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

/* ---- Bodies ------------------------------------------------------------------------ */

/* An object with no other keys than these (a list that ends with NULL). */
static bool is_object_of(const json_t *v, const char *const *keys, const char *pointer,
                         problem *p)
{
    const char *key;
    json_t *value;
    if (!json_is_object(v))
        return problem_at(p, pointer, 400, "bad_request", "found %s, wanted an object",
                          rf_json_type(v));
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return problem_at(p, pointer, 400, "bad_request",
                              "found the key \"%.60s\", which is not known", key);
    }
    return true;
}

static bool read_id(const json_t *v, const char *pointer, int64_t *out, problem *p)
{
    *out = json_integer_value(v);
    return (json_is_integer(v) && *out > 0) ||
           problem_at(p, pointer, 400, "bad_request", "found %s, wanted the id of a row",
                      json_is_integer(v) ? "a number below 1" : rf_json_type(v));
}

/* The rules for labels are those of training rows, and "open" is no class. */
static bool check_label(const char *label, size_t len, const char *pointer, problem *p)
{
    rf_error err = {0};
    rf_dataset *rows = rf_dataset_new(&err);
    rf_status st = rows ? rf_dataset_add(rows, "x", 1, label, len, &err) : err.code;
    bool open = st == RF_OK && strcmp(rf_dataset_label(rows, 0, NULL), "open") == 0;
    rf_dataset_free(rows);
    if (st == RF_ERR_NOMEM)
        return problem_out_of_memory(p, "a label");
    if (st != RF_OK)
        return problem_at(p, pointer, 422, "bad_label", "%s", err.msg);
    if (open)
        return problem_at(p, pointer, 422, "bad_label",
                          "found \"open\", which means none of the classes; wanted the "
                          "name of a class");
    return true;
}

static bool read_row(const json_t *row, size_t i, store_label *out, problem *p)
{
    static const char *const keys[] = {"id", "label", NULL};
    char at[POINTER_MAX], where[POINTER_MAX];
    snprintf(at, sizeof at, "/rows/%zu", i);
    if (!is_object_of(row, keys, at, p))
        return false;
    const json_t *label = json_object_get(row, "label");
    snprintf(where, sizeof where, "/rows/%zu/id", i);
    if (!read_id(json_object_get(row, "id"), where, &out->row, p))
        return false;
    snprintf(where, sizeof where, "/rows/%zu/label", i);
    if (!json_is_string(label))
        return problem_at(p, where, 400, "bad_request", "found %s, wanted a string",
                          rf_json_type(label));
    out->label = json_string_value(label);
    return check_label(out->label, json_string_length(label), where, p);
}

static bool is_list(const json_t *v, const char *pointer, problem *p)
{
    return !v || json_is_array(v) ||
           problem_at(p, pointer, 400, "bad_request", "found %s, wanted a list",
                      rf_json_type(v));
}

/* {"rows": [{"id", "label"}, ...], "not_relevant": [id, ...]} */
static bool read_labels(desk_task *t, problem *p)
{
    static const char *const keys[] = {"rows", "not_relevant", NULL};
    char at[POINTER_MAX];
    if (!is_object_of(t->body, keys, "", p))
        return false;
    const json_t *rows = json_object_get(t->body, "rows");
    const json_t *others = json_object_get(t->body, "not_relevant");
    if (!is_list(rows, "/rows", p) || !is_list(others, "/not_relevant", p))
        return false;
    t->n_rows = json_array_size(rows);
    t->n = t->n_rows + json_array_size(others);
    if (t->n == 0 || t->n > MAX_LABELS)
        return problem_set(p, t->n ? 413 : 400, t->n ? "too_many_texts" : "bad_request",
                           "found %zu rows, wanted 1 to %d", t->n, MAX_LABELS);
    t->labels = calloc(t->n, sizeof *t->labels);
    if (!t->labels)
        return problem_out_of_memory(p, "labels");
    for (size_t i = 0; i < t->n_rows; i++)
        if (!read_row(json_array_get(rows, i), i, &t->labels[i], p))
            return false;
    for (size_t i = t->n_rows; i < t->n; i++) {
        snprintf(at, sizeof at, "/not_relevant/%zu", i - t->n_rows);
        if (!read_id(json_array_get(others, i - t->n_rows), at, &t->labels[i].row, p))
            return false;
    }
    return true;
}

/* ---- /v1/labels: on the thread of the desk ----------------------------------------- */

static void write_labels(desk_task *t, store *s)
{
    rf_error err = {0};
    size_t at;
    rf_status st =
        store_set_labels(s, t->labels, t->n, t->who, store_now_ms(), &at, &err);
    if (st == RF_ERR_MISSING) {
        char pointer[POINTER_MAX];
        if (at < t->n_rows)
            snprintf(pointer, sizeof pointer, "/rows/%zu/id", at);
        else
            snprintf(pointer, sizeof pointer, "/not_relevant/%zu", at - t->n_rows);
        problem_at(&t->failure, pointer, 422, "no_row", "%s", err.msg);
    } else if (st != RF_OK)
        problem_from(&t->failure, &err);
    else {
        rf_text_format(&t->reply, "{\"labels\": %zu, \"not_relevant\": %zu}\n", t->n_rows,
                       t->n - t->n_rows);
        log_line("labels: %zu rows labelled, %zu not relevant, by %s", t->n_rows,
                 t->n - t->n_rows, t->who);
    }
}

static rf_status put_label(void *user, const store_row *row, rf_error *err)
{
    (void)err;
    desk_task *t = user;
    if (!row->text || t->n++ == LIST_LABELS)
        return RF_OK; /* the last one only shows that there are more */
    char when[32];
    time_t seconds = (time_t)(row->judged_ms / 1000);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    rf_text_format(&t->reply, "%s{\"id\": %lld, \"text\": ", t->n > 1 ? ", " : "",
                   (long long)row->id);
    rf_text_string(&t->reply, row->text, row->text_len);
    rf_text_put(&t->reply, ", \"label\": ");
    rf_text_name(&t->reply, row->given);
    rf_text_put(&t->reply, ", \"who\": ");
    rf_text_name(&t->reply, row->judge);
    rf_text_format(&t->reply, ", \"time\": \"%s\"}", when);
    return RF_OK;
}

static void list_labels(desk_task *t, store *s)
{
    rf_error err = {0};
    store_filter f = {.pending = true, .newest = true, .limit = LIST_LABELS + 1};
    rf_text_put(&t->reply, "{\"labels\": [");
    if (store_rows(s, &f, put_label, t, &err) != RF_OK)
        problem_from(&t->failure, &err);
    rf_text_format(&t->reply, "], \"more\": %s}\n",
                   t->n > LIST_LABELS ? "true" : "false");
}

/* ---- /v1/labels: on the I/O thread ------------------------------------------------- */

/* Reads the request into x->task. */
static bool prepare_task(exchange *x, http_connection *c, problem *p)
{
    desk_task *t = x->task = desk_task_new();
    if (!t)
        return problem_out_of_memory(p, "a request");
    t->run = x->posts ? write_labels : list_labels;
    if (!x->posts)
        return true;
    if (!admission_may_write(x, c, t->who, p))
        return false;
    /* Two values for each row, with room for an error message that says what is wrong. */
    t->body = request_json(x->body.data, x->body.len, 3 * MAX_LABELS, p);
    return t->body && read_labels(t, p);
}

enum MHD_Result answer_labels(exchange *x, http_connection *c)
{
    enum MHD_Result result;
    problem p = {0};
    if (x->task && x->task->done) {
        desk_task *t = x->task;
        if (t->failure.status)
            return reply_problem(x, c, &t->failure);
        rf_text reply = t->reply; /* taken over */
        rf_text_init(&t->reply, 0, "nothing");
        return reply_text(x, c, JSON, &reply);
    }
    if (!has_texts(x, c, &result))
        return result;
    if (!route_may_suspend(x))
        return MHD_YES;
    if (!prepare_task(x, c, &p))
        return reply_problem(x, c, &p);
    conn_enter(x->service->deadlines, x->connection, CONN_WORKING, NULL);
    desk_ask(x->service->desk, x->task, c);
    return MHD_YES;
}

/* ---- /v1/update, /v1/undo ---------------------------------------------------------- */

/* {"preview": true or false}; false if there is no body. */
static bool read_preview(const exchange *x, bool *preview, problem *p)
{
    static const char *const keys[] = {"preview", NULL};
    *preview = false;
    if (x->body.len == 0)
        return true;
    json_t *body = request_json(x->body.data, x->body.len, 10, p);
    if (!body)
        return false;
    const json_t *value = json_object_get(body, "preview");
    bool ok = is_object_of(body, keys, "", p);
    if (ok && value && !json_is_boolean(value))
        ok = problem_at(p, "/preview", 400, "bad_request",
                        "found %s, wanted true or false", rf_json_type(value));
    *preview = json_is_true(value);
    json_decref(body);
    return ok;
}

static enum MHD_Result start_task(exchange *x, http_connection *c, learner_task task)
{
    problem p = {0};
    char who[WHO_MAX];
    rf_text t;
    if (!admission_may_write(x, c, who, &p) ||
        !learner_start(x->service->learner, task, who, &p))
        return reply_problem(x, c, &p);
    rf_text_init(&t, REPLY_MAX, "an answer");
    learner_write_update(x->service->learner, &t);
    return reply_status(x, c, 202, JSON, &t);
}

enum MHD_Result answer_update(exchange *x, http_connection *c)
{
    enum MHD_Result result;
    problem p = {0};
    bool preview;
    rf_text t;
    if (!has_texts(x, c, &result))
        return result;
    if (x->posts)
        return read_preview(x, &preview, &p)
                   ? start_task(x, c, preview ? TASK_PREVIEW : TASK_UPDATE)
                   : reply_problem(x, c, &p);
    rf_text_init(&t, REPLY_MAX, "an answer");
    learner_write_update(x->service->learner, &t);
    return reply_text(x, c, JSON, &t);
}

enum MHD_Result answer_undo(exchange *x, http_connection *c)
{
    enum MHD_Result result;
    return has_texts(x, c, &result) ? start_task(x, c, TASK_UNDO) : result;
}
