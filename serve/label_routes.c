/*
 * label_routes.c - GET and POST /v1/labels: what people say about texts (docs/SERVE.md)
 *
 * The I/O thread checks a request; the thread of the desk does what it asks for. Rows and
 * texts of one request are labelled together or not at all.
 */
#include "label_texts.h"
#include "log.h"
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JSON "application/json"
#define MAX_LABELS 10000 /* rows of one request */
#define MAX_TEXTS 100    /* texts of one request: each may have to be classified */
#define LIST_LABELS 2000 /* of those pending, the newest */

typedef struct MHD_Connection http_connection;

/* The lists of a request, in the order of desk_task.count. */
static const char *const lists[N_LABEL_LISTS + 1] = {
    [LABEL_ROWS] = "rows",
    [LABEL_NOT_RELEVANT] = "not_relevant",
    [LABEL_WITHDRAW] = "withdraw",
    [LABEL_TEXTS] = "texts",
};

/* ---- Bodies ------------------------------------------------------------------------ */

static bool read_id(const json_t *v, const char *pointer, int64_t *out, problem *p)
{
    *out = json_integer_value(v);
    return (json_is_integer(v) && *out > 0) ||
           problem_at(p, pointer, 400, "bad_request", "found %s, wanted the id of a row",
                      json_is_integer(v) ? "a number below 1" : rf_json_type(v));
}

static bool is_string(const json_t *v, const char *pointer, problem *p)
{
    return json_is_string(v) || problem_at(p, pointer, 400, "bad_request",
                                           "found %s, wanted a string", rf_json_type(v));
}

/* The rules for labels are those of training rows, and "open" is no class. */
static bool read_label(const json_t *v, const char *pointer, const char **out, problem *p)
{
    if (!is_string(v, pointer, p))
        return false;
    rf_error err = {0};
    rf_dataset *rows = rf_dataset_new(&err);
    *out = json_string_value(v);
    rf_status st =
        rows ? rf_dataset_add(rows, "x", 1, *out, json_string_length(v), &err) : err.code;
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

/* {"id": 7, "label": "refund"} */
static bool read_row(const json_t *v, const char *at, store_label *out, problem *p)
{
    static const char *const keys[] = {"id", "label", NULL};
    char where[POINTER_MAX];
    if (!request_is_object(v, keys, at, p))
        return false;
    snprintf(where, sizeof where, "%.40s/id", at);
    if (!read_id(json_object_get(v, "id"), where, &out->row, p))
        return false;
    snprintf(where, sizeof where, "%.40s/label", at);
    return read_label(json_object_get(v, "label"), where, &out->label, p);
}

/* {"text": "...", "label": "refund"}; null: none of the classes. The text stays in the
 * body until the desk looks for its rows. */
static bool read_text(const exchange *x, const json_t *v, const char *at,
                      store_label *out, problem *p)
{
    static const char *const keys[] = {"text", "label", NULL};
    char where[POINTER_MAX];
    if (!request_is_object(v, keys, at, p))
        return false;
    const json_t *text = json_object_get(v, "text"), *label = json_object_get(v, "label");
    snprintf(where, sizeof where, "%.40s/text", at);
    if (!is_string(text, where, p))
        return false;
    if (json_string_length(text) > x->service->o.max_text_bytes)
        return problem_at(p, where, 413, "text_too_long",
                          "found a text of %zu bytes, wanted at most %zu",
                          json_string_length(text), x->service->o.max_text_bytes);
    snprintf(where, sizeof where, "%.40s/label", at);
    return json_is_null(label) || read_label(label, where, &out->label, p);
}

static bool read_item(const exchange *x, label_list list, const json_t *v, size_t i,
                      store_label *out, problem *p)
{
    char at[POINTER_MAX];
    snprintf(at, sizeof at, "/%s/%zu", lists[list], i);
    out->withdrawn = list == LABEL_WITHDRAW;
    return list == LABEL_ROWS    ? read_row(v, at, out, p)
           : list == LABEL_TEXTS ? read_text(x, v, at, out, p)
                                 : read_id(v, at, &out->row, p);
}

static bool count_items(desk_task *t, problem *p)
{
    char at[POINTER_MAX];
    for (label_list l = 0; l < N_LABEL_LISTS; l++) {
        const json_t *v = json_object_get(t->body, lists[l]);
        snprintf(at, sizeof at, "/%s", lists[l]);
        if (v && !json_is_array(v))
            return problem_at(p, at, 400, "bad_request", "found %s, wanted a list",
                              rf_json_type(v));
        t->count[l] = json_array_size(v);
        t->n += t->count[l];
    }
    if (t->n == 0 || t->n > MAX_LABELS)
        return problem_set(p, t->n ? 413 : 400, t->n ? "too_many_texts" : "bad_request",
                           "found %zu rows, wanted 1 to %d", t->n, MAX_LABELS);
    return t->count[LABEL_TEXTS] <= MAX_TEXTS ||
           problem_at(p, "/texts", 413, "too_many_texts",
                      "found %zu texts, wanted at most %d", t->count[LABEL_TEXTS],
                      MAX_TEXTS);
}

/* {"rows": [{"id", "label"}, ...], "not_relevant": [id, ...], "withdraw": [id, ...],
 * "texts": [{"text", "label"}, ...]} */
static bool read_labels(const exchange *x, desk_task *t, problem *p)
{
    if (!request_is_object(t->body, lists, "", p) || !count_items(t, p))
        return false;
    store_label *to = t->labels = calloc(t->n, sizeof *t->labels);
    if (!t->labels)
        return problem_out_of_memory(p, "labels");
    for (label_list l = 0; l < N_LABEL_LISTS; l++) {
        const json_t *v = json_object_get(t->body, lists[l]);
        for (size_t i = 0; i < t->count[l]; i++)
            if (!read_item(x, l, json_array_get(v, i), i, to++, p))
                return false;
    }
    return true;
}

/* ---- On the thread of the desk ----------------------------------------------------- */

/* Where in the request the item is that the store refused. */
static void refuse_item(desk_task *t, size_t at, const rf_error *err)
{
    char pointer[POINTER_MAX];
    label_list l = 0;
    while (l < LABEL_TEXTS && at >= t->count[l])
        at -= t->count[l++];
    snprintf(pointer, sizeof pointer, "/%s/%zu%s", lists[l], at,
             l == LABEL_ROWS ? "/id" : "");
    problem_at(&t->failure, pointer, 422,
               l == LABEL_WITHDRAW ? "nothing_to_withdraw" : "no_row", "%s", err->msg);
}

/* Replaces the texts, which come last, by all rows that have them. */
static rf_status find_rows(desk_task *t, store *s, rf_error *err)
{
    size_t n_texts = t->count[LABEL_TEXTS], first = t->n - n_texts;
    label_rows found = {.models = t->models, .source = t->source};
    rf_status st = RF_OK;
    for (size_t i = 0; i < n_texts && st == RF_OK; i++) {
        const json_t *text =
            json_object_get(json_array_get(json_object_get(t->body, "texts"), i), "text");
        st = label_rows_find(&found, s, json_string_value(text), json_string_length(text),
                             t->labels[first + i].label, err);
    }
    store_label *all =
        st == RF_OK ? realloc(t->labels, (first + found.n + 1) * sizeof *all) : NULL;
    if (st == RF_OK && !all)
        st = rf_fail_nomem(err, found.n * sizeof *all, "labels");
    if (all) {
        t->labels = all;
        t->n = first + found.n;
        for (size_t i = 0; i < found.n; i++)
            all[first + i] = found.labels[i];
    }
    free(found.labels);
    return st;
}

static void reply_labels(desk_task *t)
{
    size_t first =
        t->count[LABEL_ROWS] + t->count[LABEL_NOT_RELEVANT] + t->count[LABEL_WITHDRAW];
    rf_text_format(&t->reply,
                   "{\"labels\": %zu, \"not_relevant\": %zu, \"withdrawn\": %zu, "
                   "\"texts\": %zu, \"ids\": [",
                   t->count[LABEL_ROWS], t->count[LABEL_NOT_RELEVANT],
                   t->count[LABEL_WITHDRAW], t->count[LABEL_TEXTS]);
    for (size_t i = first; i < t->n; i++)
        rf_text_format(&t->reply, "%s%lld", i > first ? ", " : "",
                       (long long)t->labels[i].row);
    rf_text_put(&t->reply, "]}\n");
    log_line("labels: %zu rows labelled, %zu not relevant, %zu withdrawn, %zu texts "
             "labelled, by %s",
             t->count[LABEL_ROWS], t->count[LABEL_NOT_RELEVANT], t->count[LABEL_WITHDRAW],
             t->count[LABEL_TEXTS], t->who);
}

static void write_labels(desk_task *t, store *s)
{
    rf_error err = {0};
    size_t at = 0;
    rf_status st = t->count[LABEL_TEXTS] ? find_rows(t, s, &err) : RF_OK;
    if (st != RF_OK) {
        problem_from(&t->failure, &err);
        return;
    }
    st = store_set_labels(s, t->labels, t->n, t->who, store_now_ms(), &at, &err);
    if (st == RF_ERR_MISSING)
        refuse_item(t, at, &err);
    else if (st != RF_OK)
        problem_from(&t->failure, &err);
    else
        reply_labels(t);
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

/* ---- On the I/O thread ------------------------------------------------------------- */

/* Reads the request into x->task. */
static bool prepare_task(exchange *x, http_connection *c, problem *p)
{
    desk_task *t = x->task = desk_task_new();
    if (!t)
        return problem_out_of_memory(p, "a request");
    t->run = x->posts ? write_labels : list_labels;
    t->models = x->service->models;
    t->source = x->service->o.store_source;
    if (!x->posts)
        return true;
    if (!admission_may_write(x, c, t->who, p))
        return false;
    /* Two values for each row, with room for an error message that says what is wrong. */
    t->body = request_json(x->body.data, x->body.len, 3 * MAX_LABELS, p);
    return t->body && read_labels(x, t, p);
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
    if (!texts_are_there(x, c, &result))
        return result;
    if (!route_may_suspend(x))
        return MHD_YES;
    if (!prepare_task(x, c, &p))
        return reply_problem(x, c, &p);
    conn_enter(x->service->deadlines, x->connection, CONN_WORKING, NULL);
    desk_ask(x->service->desk, x->task, c);
    return MHD_YES;
}
