/*
 * store_size.c - deleting: what is too old or too much, and what has to be gone
 *
 * Deleted rows are overwritten with zeros (secure_delete). Their old pages can still be
 * in the file beside the store (-wal) until it is merged, so both ways of deleting merge
 * it. Moving rows between pages can leave copies behind in unused parts of a page; a
 * purge therefore also writes the whole file anew (VACUUM).
 */
#include "store_sql.h"

#include "base/digest.h"

#include <stdio.h>

#define TRIM_ROWS 512 /* deleted at a time: other writers must not wait long */

/* Bytes of pages in use, without those that the file keeps for later. */
static rf_status used_bytes(store *s, int64_t *out, rf_error *err)
{
    int64_t pages, unused, size;
    rf_status st = store_number(s, "PRAGMA page_count", &pages, err);
    if (st == RF_OK)
        st = store_number(s, "PRAGMA freelist_count", &unused, err);
    if (st == RF_OK)
        st = store_number(s, "PRAGMA page_size", &size, err);
    if (st == RF_OK)
        *out = (pages - unused) * size;
    return st;
}

/* Merges the -wal file and cuts it to nothing. A reader can prevent that for now; then
 * the next time does it. */
static void merge_wal(store *s)
{
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

/* Runs a statement that deletes, with up to two numbers; *n: the rows deleted. */
static rf_status delete_rows(store *s, const char *sql, int64_t a, int64_t b, size_t *n,
                             rf_error *err)
{
    sqlite3_stmt *q = store_prepare(s, sql, err);
    if (!q)
        return err->code;
    sqlite3_bind_int64(q, 1, a);
    if (sqlite3_bind_parameter_count(q) > 1)
        sqlite3_bind_int64(q, 2, b);
    rf_status st = store_step_once(s, q, "delete rows", err);
    *n = st == RF_OK ? (size_t)sqlite3_changes(s->db) : 0;
    sqlite3_finalize(q);
    return st;
}

/* Deletes the oldest rows until the file is somewhat smaller than the limit, so that the
 * next row does not reach it again. */
static rf_status shrink(store *s, int64_t used, int64_t limit, size_t *removed,
                        rf_error *err)
{
    int64_t rows, wanted = limit / 10 * 9;
    size_t n = 1;
    rf_status st = store_number(s, "SELECT count(*) FROM texts", &rows, err);
    while (st == RF_OK && n > 0 && used > wanted) {
        /* as many as it takes if rows have the same size; never too many at once */
        double part = (double)(used - wanted) / (double)used * (double)rows + 1.0;
        st = delete_rows(s,
                         "DELETE FROM texts WHERE id IN (SELECT id FROM texts"
                         " ORDER BY id LIMIT ?)",
                         part < TRIM_ROWS ? (int64_t)part : TRIM_ROWS, 0, &n, err);
        *removed += n;
        rows -= (int64_t)n;
        if (st == RF_OK)
            st = used_bytes(s, &used, err);
    }
    return st;
}

rf_status store_trim(store *s, const store_limits *limits, int64_t now_ms,
                     size_t *removed, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    size_t n = 0, before = *removed;
    int64_t used = 0, oldest = now_ms - limits->max_age_ms;
    rf_status st;
    do {
        st = delete_rows(s,
                         "DELETE FROM texts WHERE id IN (SELECT id FROM texts"
                         " WHERE time < ? ORDER BY time LIMIT ?)",
                         oldest, TRIM_ROWS, &n, err);
        *removed += n;
    } while (st == RF_OK && n > 0);
    if (st == RF_OK)
        st = delete_rows(s, "DELETE FROM hours WHERE hour < ?",
                         now_ms / STORE_HOUR_MS - STORE_COUNT_DAYS * 24, 0, &n, err);
    if (st == RF_OK)
        st = used_bytes(s, &used, err);
    if (st == RF_OK && used > limits->max_bytes)
        st = shrink(s, used, limits->max_bytes, removed, err);
    if (st == RF_OK && *removed > before) {
        st = store_exec(s, "PRAGMA incremental_vacuum", "shrink it", err);
        merge_wal(s);
    }
    return st;
}

/* ---- Purging ----------------------------------------------------------------------- */

static rf_status purge_text(store *s, const char *text, size_t len, size_t *n,
                            rf_error *err)
{
    char hex[RF_SHA256_HEX];
    sqlite3_stmt *q =
        store_prepare(s, "DELETE FROM texts WHERE text = ? OR sha256 = ?", err);
    if (!q)
        return err->code;
    rf_sha256_bytes(text, len, hex);
    store_bind_bytes(q, 1, text, len);
    store_bind_name(q, 2, hex);
    rf_status st = store_step_once(s, q, "delete rows", err);
    *n = st == RF_OK ? (size_t)sqlite3_changes(s->db) : 0;
    sqlite3_finalize(q);
    return st;
}

static rf_status purge_rows(store *s, const store_purge_what *what, size_t *removed,
                            rf_error *err)
{
    size_t n = 0, counts;
    rf_status st = RF_OK;
    if (what->all) {
        /* with a condition: without one, SQLite does not count the rows */
        st = delete_rows(s, "DELETE FROM texts WHERE id >= ?", INT64_MIN, 0, &n, err);
        *removed += n;
        if (st == RF_OK)
            st = delete_rows(s, "DELETE FROM hours WHERE hour >= ?", INT64_MIN, 0,
                             &counts, err);
        if (st == RF_OK)
            st = store_exec(s, "DELETE FROM models", "delete rows", err);
        return st;
    }
    if (what->before_ms) {
        st = delete_rows(s, "DELETE FROM texts WHERE time < ?", what->before_ms, 0, &n,
                         err);
        *removed += n;
    }
    if (st == RF_OK && what->text) {
        st = purge_text(s, what->text, what->text_len, &n, err);
        *removed += n;
    }
    return st;
}

/* The file anew, and nothing beside it. */
static rf_status rewrite(store *s, rf_error *err)
{
    rf_status st = store_exec(s, "VACUUM", "rewrite it", err);
    if (st == RF_OK && sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                                 NULL, NULL) != SQLITE_OK)
        st = store_fail(s, "merge its -wal file", err);
    if (st == RF_OK)
        return st;
    char why[sizeof err->msg];
    snprintf(why, sizeof why, "%s", err->msg);
    return rf_fail(err, st, 0,
                   "%.380s; the rows are deleted, but bytes of them may still be in the "
                   "file: purge again",
                   why);
}

rf_status store_purge(store *s, const store_purge_what *what, const char *who,
                      int64_t now_ms, size_t *removed, rf_error *err)
{
    rf_error ours = {0};
    char words[120];
    err = err ? err : &ours;
    *removed = 0;
    rf_status st = store_begin(s, err);
    if (st != RF_OK)
        return st;
    st = purge_rows(s, what, removed, err);
    snprintf(words, sizeof words, "purged %zu rows (%s)", *removed,
             what->all                       ? "all"
             : what->before_ms && what->text ? "by time and text"
             : what->text                    ? "by text"
                                             : "by time");
    if (st == RF_OK)
        st = store_log(s, who, words, now_ms, err);
    st = store_end(s, st, err);
    if (st != RF_OK)
        *removed = 0;
    return st == RF_OK ? rewrite(s, err) : st;
}
