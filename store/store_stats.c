/* store_stats.c - what is in a store: rows and answers, by day and by model */
#include "store_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more item; NULL if there is no memory. */
static void *grow(void *items, size_t n, size_t size)
{
    /* powers of two: grow when n is one */
    if (n & (n - 1))
        return items;
    return realloc(items, (n ? 2 * n : 1) * size);
}

static rf_status read_totals(store *s, store_stats *o, rf_error *err)
{
    const struct {
        const char *sql;
        int64_t *out;
    } all[] = {{"SELECT count(*) FROM texts", (int64_t *)&o->rows},
               {"SELECT count(*) FROM texts WHERE label IS NULL", (int64_t *)&o->open},
               {"SELECT count(*) FROM texts WHERE text IS NULL", (int64_t *)&o->hashed},
               {"SELECT count(DISTINCT text) FROM labels", (int64_t *)&o->judged},
               {"SELECT sum(n) FROM hours", (int64_t *)&o->answers},
               {"SELECT sum(n) FROM hours WHERE label = ''", (int64_t *)&o->answers_open},
               {"SELECT min(time) FROM texts", &o->first_ms},
               {"SELECT max(time) FROM texts", &o->last_ms}};
    rf_status st = RF_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && st == RF_OK; i++)
        st = store_number(s, all[i].sql, all[i].out, err);
    o->bytes = store_bytes(s);
    return st;
}

static void copy_name(char *out, size_t cap, const char *name)
{
    snprintf(out, cap, "%s", name ? name : "");
}

static rf_status read_days(store *s, store_stats *o, rf_error *err)
{
    sqlite3_stmt *q =
        store_prepare(s,
                      "SELECT day, sum(rows), sum(open), sum(answers), sum(answers_open) "
                      "FROM (SELECT date(time / 1000, 'unixepoch') AS day, 1 AS rows,"
                      "  label IS NULL AS open, 0 AS answers, 0 AS answers_open"
                      "  FROM texts UNION ALL"
                      "  SELECT date(hour * 3600, 'unixepoch'), 0, 0, n,"
                      "  iif(label = '', n, 0) FROM hours) GROUP BY day ORDER BY day",
                      err);
    rf_status st = RF_OK;
    int code = SQLITE_ROW;
    if (!q)
        return err->code;
    while (st == RF_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        store_day *days = grow(o->days, o->n_days, sizeof *days);
        if (!days) {
            st = rf_fail_nomem(err, o->n_days * sizeof *days, "days");
            break;
        }
        o->days = days;
        store_day *d = &days[o->n_days++];
        copy_name(d->day, sizeof d->day, store_column_name(q, 0));
        d->rows = (uint64_t)sqlite3_column_int64(q, 1);
        d->open = (uint64_t)sqlite3_column_int64(q, 2);
        d->answers = (uint64_t)sqlite3_column_int64(q, 3);
        d->answers_open = (uint64_t)sqlite3_column_int64(q, 4);
    }
    if (st == RF_OK && code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}

static rf_status read_models(store *s, store_stats *o, rf_error *err)
{
    sqlite3_stmt *q = store_prepare(
        s,
        "SELECT sha256, first, (SELECT count(*) FROM texts WHERE model = models.id),"
        " (SELECT sum(n) FROM hours WHERE model = models.id) FROM models ORDER BY id",
        err);
    rf_status st = RF_OK;
    int code = SQLITE_ROW;
    if (!q)
        return err->code;
    while (st == RF_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        store_model *models = grow(o->models, o->n_models, sizeof *models);
        if (!models) {
            st = rf_fail_nomem(err, o->n_models * sizeof *models, "models");
            break;
        }
        o->models = models;
        store_model *m = &models[o->n_models++];
        copy_name(m->sha256, sizeof m->sha256, store_column_name(q, 0));
        m->first_ms = sqlite3_column_int64(q, 1);
        m->rows = (uint64_t)sqlite3_column_int64(q, 2);
        m->answers = (uint64_t)sqlite3_column_int64(q, 3);
    }
    if (st == RF_OK && code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}

rf_status store_stats_read(store *s, store_stats *out, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    *out = (store_stats){0};
    /* All of it from one moment. */
    rf_status st = store_exec(s, "BEGIN", "read", err);
    if (st == RF_OK)
        st = read_totals(s, out, err);
    if (st == RF_OK)
        st = read_days(s, out, err);
    if (st == RF_OK)
        st = read_models(s, out, err);
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    if (st != RF_OK)
        store_stats_release(out);
    return st;
}

void store_stats_release(store_stats *stats)
{
    free(stats->days);
    free(stats->models);
    *stats = (store_stats){0};
}
