/* store_rows.c - adding rows and hourly counts, and reading them */
#include "store_sql.h"

#include <stdio.h>
#include <string.h>

/* ---- Adding ------------------------------------------------------------------------ */

/* Rows of one batch nearly always have the same model. */
typedef struct model_ids {
    sqlite3_stmt *add, *find;
    const char *last;
    int64_t id;
} model_ids;

static rf_status find_model(store *s, model_ids *m, const char *sha256, int64_t time_ms,
                            rf_error *err)
{
    if (m->last && strcmp(m->last, sha256) == 0)
        return RF_OK;
    store_bind_name(m->add, 1, sha256);
    sqlite3_bind_int64(m->add, 2, time_ms);
    rf_status st = store_step_once(s, m->add, "write", err);
    if (st != RF_OK)
        return st;
    store_bind_name(m->find, 1, sha256);
    if (sqlite3_step(m->find) == SQLITE_ROW) {
        m->id = sqlite3_column_int64(m->find, 0);
        m->last = sha256;
    } else
        st = store_fail(s, "read", err);
    sqlite3_reset(m->find);
    return st;
}

static rf_status add_row(store *s, sqlite3_stmt *q, model_ids *m, const store_row *r,
                         rf_error *err)
{
    rf_status st = find_model(s, m, r->model, r->time_ms, err);
    if (st != RF_OK)
        return st;
    sqlite3_bind_int64(q, 1, r->time_ms);
    if (r->text)
        store_bind_bytes(q, 2, r->text, r->text_len);
    else
        sqlite3_bind_null(q, 2);
    store_bind_name(q, 3, r->text ? NULL : r->sha256);
    store_bind_name(q, 4, r->label);
    sqlite3_bind_double(q, 5, (double)r->confidence);
    sqlite3_bind_double(q, 6, (double)r->margin);
    store_bind_name(q, 7, r->nearest);
    sqlite3_bind_int64(q, 8, m->id);
    store_bind_name(q, 9, r->source);
    return store_step_once(s, q, "write", err);
}

static rf_status add_count(store *s, sqlite3_stmt *q, model_ids *m, const store_count *c,
                           rf_error *err)
{
    rf_status st = find_model(s, m, c->model, c->hour * STORE_HOUR_MS, err);
    if (st != RF_OK)
        return st;
    sqlite3_bind_int64(q, 1, c->hour);
    sqlite3_bind_int64(q, 2, m->id);
    store_bind_name(q, 3, c->label ? c->label : "");
    sqlite3_bind_int64(q, 4, (sqlite3_int64)c->n);
    sqlite3_bind_double(q, 5, c->margin_sum);
    sqlite3_bind_double(q, 6, c->margin_squares);
    return store_step_once(s, q, "write", err);
}

rf_status store_add(store *s, const store_row *rows, size_t n_rows,
                    const store_count *counts, size_t n_counts, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    rf_status st = store_begin(s, err);
    if (st != RF_OK)
        return st;
    model_ids m = {
        store_prepare(s, "INSERT OR IGNORE INTO models(sha256, first) VALUES(?, ?)", err),
        store_prepare(s, "SELECT id FROM models WHERE sha256 = ?", err), NULL, 0};
    sqlite3_stmt *row = store_prepare(
        s,
        "INSERT INTO texts(time, text, sha256, label, confidence, margin, nearest, model,"
        " source) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        err);
    sqlite3_stmt *count = store_prepare(
        s,
        "INSERT INTO hours VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " n = n + excluded.n, margin_sum = margin_sum + excluded.margin_sum,"
        " margin_squares = margin_squares + excluded.margin_squares",
        err);
    if (!m.add || !m.find || !row || !count)
        st = err->code;
    for (size_t i = 0; i < n_rows && st == RF_OK; i++)
        st = add_row(s, row, &m, &rows[i], err);
    for (size_t i = 0; i < n_counts && st == RF_OK; i++)
        st = add_count(s, count, &m, &counts[i], err);
    sqlite3_finalize(m.add);
    sqlite3_finalize(m.find);
    sqlite3_finalize(row);
    sqlite3_finalize(count);
    return store_end(s, st, err);
}

/* ---- Reading ----------------------------------------------------------------------- */

static store_row read_row(sqlite3_stmt *q)
{
    store_row r = {
        .id = sqlite3_column_int64(q, 0),
        .time_ms = sqlite3_column_int64(q, 1),
        .sha256 = store_column_name(q, 3),
        .label = store_column_name(q, 4),
        .confidence = (float)sqlite3_column_double(q, 5),
        .margin = (float)sqlite3_column_double(q, 6),
        .nearest = store_column_name(q, 7),
        .model = store_column_name(q, 8),
        .source = store_column_name(q, 9),
        .judged = sqlite3_column_type(q, 10) != SQLITE_NULL,
        .given = store_column_name(q, 11),
        .judge = store_column_name(q, 12),
        .judged_ms = sqlite3_column_int64(q, 13),
    };
    if (sqlite3_column_type(q, 2) != SQLITE_NULL) {
        const char *text = sqlite3_column_blob(q, 2);
        r.text = text ? text : ""; /* NULL if there are no bytes */
        r.text_len = (size_t)sqlite3_column_bytes(q, 2);
    }
    return r;
}

rf_status store_rows(store *s, const store_filter *f, store_row_sink sink, void *user,
                     rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    char sql[1200];
    snprintf(
        sql, sizeof sql,
        "SELECT t.id, t.time, t.text, t.sha256, t.label, confidence, margin,"
        " nearest, m.sha256, source, l.id, l.label, l.who, l.time"
        " FROM texts t JOIN models m ON m.id = t.model"
        " LEFT JOIN labels l ON l.id = (SELECT max(id) FROM labels WHERE text = t.id)"
        " WHERE t.id > ?1 AND (?2 = 0 OR t.time >= ?2) AND (?3 = 0 OR t.time < ?3)"
        " AND (NOT ?4 OR t.label IS NULL) AND (NOT ?5 OR l.id IS NOT NULL)"
        " AND (NOT ?6 OR l.id IS NULL) AND (?7 = 0 OR t.id = ?7)%s%s"
        " ORDER BY t.id %s LIMIT ?8",
        f->pending ? " AND l.label IS NOT NULL AND l.id NOT IN"
                     " (SELECT label FROM learnt)"
                   : "",
        f->text ? " AND t.text = ?9" : "", f->newest ? "DESC" : "ASC");
    sqlite3_stmt *q = store_prepare(s, sql, err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, f->after_id);
    sqlite3_bind_int64(q, 2, f->from_ms);
    sqlite3_bind_int64(q, 3, f->to_ms);
    sqlite3_bind_int(q, 4, f->open);
    sqlite3_bind_int(q, 5, f->judged);
    sqlite3_bind_int(q, 6, f->unjudged);
    sqlite3_bind_int64(q, 7, f->id);
    sqlite3_bind_int64(q, 8, f->limit ? (sqlite3_int64)f->limit : -1);
    if (f->text)
        store_bind_bytes(q, 9, f->text, f->text_len);
    rf_status st = RF_OK;
    int code = SQLITE_ROW;
    while (st == RF_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        store_row r = read_row(q);
        st = sink(user, &r, err);
    }
    if (st == RF_OK && code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}

rf_status store_counts(store *s, int64_t from, int64_t to, const char *model,
                       store_count_sink sink, void *user, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    sqlite3_stmt *q = store_prepare(
        s,
        "SELECT hour, sha256, label, n, margin_sum, margin_squares"
        " FROM hours JOIN models ON models.id = model WHERE hour >= ?1 AND hour < ?2"
        " AND (?3 IS NULL OR sha256 = ?3) ORDER BY hour, sha256, label",
        err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, from);
    sqlite3_bind_int64(q, 2, to);
    store_bind_name(q, 3, model);
    rf_status st = RF_OK;
    int code = SQLITE_ROW;
    while (st == RF_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        store_count c = {
            sqlite3_column_int64(q, 0),  store_column_name(q, 1),
            store_column_name(q, 2),     (uint64_t)sqlite3_column_int64(q, 3),
            sqlite3_column_double(q, 4), sqlite3_column_double(q, 5)};
        if (c.label && !*c.label)
            c.label = NULL;
        st = sink(user, &c, err);
    }
    if (st == RF_OK && code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}

rf_status store_main_model(store *s, int64_t from, int64_t to, char model[65],
                           rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    sqlite3_stmt *q =
        store_prepare(s,
                      "SELECT sha256 FROM hours JOIN models ON models.id = model"
                      " WHERE hour >= ? AND hour < ? GROUP BY sha256"
                      " ORDER BY sum(n) DESC, sha256 LIMIT 1",
                      err);
    model[0] = '\0';
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, from);
    sqlite3_bind_int64(q, 2, to);
    int code = sqlite3_step(q);
    rf_status st = RF_OK;
    if (code == SQLITE_ROW) {
        const char *name = store_column_name(q, 0);
        size_t len = name ? strlen(name) : 0;
        if (len > 64)
            len = 64;
        memcpy(model, len ? name : "", len);
        model[len] = '\0';
    } else if (code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}
