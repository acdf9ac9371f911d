/* store_people.c - labels that people give, and the log of what they changed */
#include "store_sql.h"

#include <stdio.h>

rf_status store_log(store *s, const char *who, const char *what, int64_t time_ms,
                    rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    sqlite3_stmt *q =
        store_prepare(s, "INSERT INTO changes(time, who, what) VALUES(?, ?, ?)", err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, time_ms);
    store_bind_name(q, 2, who);
    store_bind_name(q, 3, what);
    rf_status st = store_step_once(s, q, "write", err);
    sqlite3_finalize(q);
    return st;
}

/* Adds the label if the row is there. */
static rf_status add_label(store *s, int64_t id, const char *label, const char *who,
                           int64_t time_ms, rf_error *err)
{
    sqlite3_stmt *q = store_prepare(s,
                                    "INSERT INTO labels(text, label, who, time)"
                                    " SELECT id, ?2, ?3, ?4 FROM texts WHERE id = ?1",
                                    err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, id);
    store_bind_name(q, 2, label);
    store_bind_name(q, 3, who);
    sqlite3_bind_int64(q, 4, time_ms);
    rf_status st = store_step_once(s, q, "write", err);
    sqlite3_finalize(q);
    if (st == RF_OK && sqlite3_changes(s->db) == 0)
        st = rf_fail(err, RF_ERR_MISSING, 0, "%s: no row %lld; it may have been deleted",
                     s->path, (long long)id);
    return st;
}

/* Deletes the labels of a row that no model has learnt. */
static rf_status drop_labels(store *s, int64_t id, rf_error *err)
{
    sqlite3_stmt *q = store_prepare(s,
                                    "DELETE FROM labels WHERE text = ?"
                                    " AND id NOT IN (SELECT label FROM learnt)",
                                    err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, id);
    rf_status st = store_step_once(s, q, "write", err);
    sqlite3_finalize(q);
    if (st == RF_OK && sqlite3_changes(s->db) == 0)
        st = rf_fail(err, RF_ERR_MISSING, 0,
                     "%s: row %lld has no label to withdraw: nobody gave one, or the "
                     "model has learnt it",
                     s->path, (long long)id);
    return st;
}

/* Adds or withdraws one label and logs it, inside a transaction. */
static rf_status set_label(store *s, const store_label *l, const char *who,
                           int64_t time_ms, rf_error *err)
{
    char what[400];
    if (l->label && !*l->label)
        return rf_fail(err, RF_ERR_ARG, 0, "the label is empty");
    rf_status st = l->withdrawn ? drop_labels(s, l->row, err)
                                : add_label(s, l->row, l->label, who, time_ms, err);
    if (l->withdrawn)
        snprintf(what, sizeof what, "row %lld: label withdrawn", (long long)l->row);
    else if (l->label)
        snprintf(what, sizeof what, "row %lld: label \"%.300s\"", (long long)l->row,
                 l->label);
    else
        snprintf(what, sizeof what, "row %lld: not relevant", (long long)l->row);
    return st == RF_OK ? store_log(s, who, what, time_ms, err) : st;
}

rf_status store_set_labels(store *s, const store_label *labels, size_t n, const char *who,
                           int64_t time_ms, size_t *at, rf_error *err)
{
    rf_error ours = {0};
    size_t i = 0;
    err = err ? err : &ours;
    rf_status st = store_begin(s, err);
    if (st == RF_OK) {
        while (i < n && (st = set_label(s, &labels[i], who, time_ms, err)) == RF_OK)
            i++;
        st = store_end(s, st, err);
    }
    if (at)
        *at = i;
    return st;
}

rf_status store_set_label(store *s, int64_t id, const char *label, const char *who,
                          int64_t time_ms, rf_error *err)
{
    return store_set_labels(s, &(store_label){.row = id, .label = label}, 1, who, time_ms,
                            NULL, err);
}

/* ---- What models have learnt ------------------------------------------------------- */

static rf_status note_learnt(store *s, const store_label *labels, size_t n,
                             const char *model, rf_error *err)
{
    rf_status st = RF_OK;
    sqlite3_stmt *q = store_prepare(
        s,
        "INSERT OR REPLACE INTO learnt(label, model) SELECT id, ?3 FROM labels"
        " WHERE id = (SELECT max(id) FROM labels WHERE text = ?1) AND label = ?2",
        err);
    if (!q)
        return err->code;
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        sqlite3_bind_int64(q, 1, labels[i].row);
        store_bind_name(q, 2, labels[i].label);
        store_bind_name(q, 3, model);
        st = store_step_once(s, q, "write", err);
    }
    sqlite3_finalize(q);
    return st;
}

rf_status store_learnt(store *s, const store_label *labels, size_t n, const char *model,
                       const char *who, const char *what, int64_t time_ms, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    rf_status st = store_begin(s, err);
    if (st != RF_OK)
        return st;
    st = note_learnt(s, labels, n, model, err);
    if (st == RF_OK)
        st = store_log(s, who, what, time_ms, err);
    return store_end(s, st, err);
}

rf_status store_unlearnt(store *s, const char *model, const char *who, const char *what,
                         int64_t time_ms, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    rf_status st = store_begin(s, err);
    if (st != RF_OK)
        return st;
    sqlite3_stmt *q = store_prepare(s, "DELETE FROM learnt WHERE model = ?", err);
    st = q ? RF_OK : err->code;
    if (q) {
        store_bind_name(q, 1, model);
        st = store_step_once(s, q, "write", err);
    }
    sqlite3_finalize(q);
    if (st == RF_OK)
        st = store_log(s, who, what, time_ms, err);
    return store_end(s, st, err);
}

rf_status store_look(store *s, store_state *out, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    rf_status st =
        store_number(s, "SELECT ifnull(max(id), 0) FROM texts", &out->last_row, err);
    return st == RF_OK ? store_number(s, "SELECT ifnull(max(id), 0) FROM changes",
                                      &out->last_change, err)
                       : st;
}

/* ---- The log ----------------------------------------------------------------------- */

rf_status store_changes(store *s, int64_t after_id, store_change_sink sink, void *user,
                        rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    sqlite3_stmt *q = store_prepare(
        s, "SELECT id, time, who, what FROM changes WHERE id > ? ORDER BY id", err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, after_id);
    rf_status st = RF_OK;
    int code = SQLITE_ROW;
    while (st == RF_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        store_change c = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                          store_column_name(q, 2), store_column_name(q, 3)};
        st = sink(user, &c, err);
    }
    if (st == RF_OK && code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}
