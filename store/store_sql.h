/* store_sql.h - what the files of the store share: the connection, statements, errors */
#ifndef RF_STORE_STORE_SQL_H
#define RF_STORE_STORE_SQL_H

#include "store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char path[RF_PATH_MAX];
};

/* "FILE: cannot <doing>: <what SQLite says>" */
rf_status store_fail(store *s, const char *doing, rf_error *err);

/* Runs statements without results. */
rf_status store_exec(store *s, const char *sql, const char *doing, rf_error *err);

/* NULL on failure; released with sqlite3_finalize, which accepts NULL. */
sqlite3_stmt *store_prepare(store *s, const char *sql, rf_error *err);

/* Runs a statement that has no results, and makes it ready for the next values. */
rf_status store_step_once(store *s, sqlite3_stmt *q, const char *doing, rf_error *err);

/* The first column of the first result of a statement without values. */
rf_status store_number(store *s, const char *sql, int64_t *out, rf_error *err);

/* One transaction that may write. store_end commits if st is RF_OK, else undoes all. */
rf_status store_begin(store *s, rf_error *err);
rf_status store_end(store *s, rf_status st, rf_error *err);

/* Binds any bytes such that equal bytes are equal in SQL. */
void store_bind_bytes(sqlite3_stmt *q, int at, const char *bytes, size_t len);
void store_bind_name(sqlite3_stmt *q, int at, const char *name); /* NULL: NULL */

/* A column as text; NULL if it is NULL. Valid until the next step. */
const char *store_column_name(sqlite3_stmt *q, int at);

#endif
