/* store.c - opening a store: is it one, which version, the tables of a new one */
#include "store_sql.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x52466e63 /* "RFnc", at byte 68 of the file */
#define BUSY_MS 10000             /* how long to wait for another writer */
#define RETRY_MS 10

/* ids are never used again: a label must not end up at another text. */
static const char tables[] =
    "CREATE TABLE models(id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE,"
    " first INTEGER NOT NULL);"
    "CREATE TABLE texts(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,"
    " text, sha256 TEXT, label TEXT, confidence REAL NOT NULL, margin REAL NOT NULL,"
    " nearest TEXT NOT NULL, model INTEGER NOT NULL REFERENCES models,"
    " source TEXT NOT NULL, CHECK ((text IS NULL) <> (sha256 IS NULL)));"
    "CREATE INDEX texts_time ON texts(time);"
    "CREATE TABLE labels(id INTEGER PRIMARY KEY,"
    " text INTEGER NOT NULL REFERENCES texts ON DELETE CASCADE, label TEXT,"
    " who TEXT NOT NULL, time INTEGER NOT NULL);"
    "CREATE INDEX labels_text ON labels(text);"
    "CREATE TABLE changes(id INTEGER PRIMARY KEY, time INTEGER NOT NULL,"
    " who TEXT NOT NULL, what TEXT NOT NULL);"
    /* open answers have the label '', which no class can have */
    "CREATE TABLE hours(hour INTEGER NOT NULL, model INTEGER NOT NULL REFERENCES models,"
    " label TEXT NOT NULL, n INTEGER NOT NULL, margin_sum REAL NOT NULL,"
    " margin_squares REAL NOT NULL, PRIMARY KEY(hour, model, label)) WITHOUT ROWID;";

/* Which labels a model has learnt. Added to version 1 later: other programs can do
 * without it. */
static const char later_tables[] =
    "CREATE TABLE IF NOT EXISTS learnt(label INTEGER PRIMARY KEY REFERENCES labels"
    " ON DELETE CASCADE, model TEXT NOT NULL)";

int64_t store_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- Statements -------------------------------------------------------------------- */

rf_status store_fail(store *s, const char *doing, rf_error *err)
{
    int code = sqlite3_errcode(s->db);
    if (code == SQLITE_NOTADB)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: found something else than a store of ringfence (not an "
                       "SQLite file); wanted one that serve --store has made",
                       s->path);
    rf_status st = code == SQLITE_NOMEM     ? RF_ERR_NOMEM
                   : code == SQLITE_CORRUPT ? RF_ERR_FORMAT
                                            : RF_ERR_IO;
    return rf_fail(err, st, 0, "%s: cannot %s: %s", s->path, doing,
                   code == SQLITE_BUSY ? "another program is writing to it"
                                       : sqlite3_errmsg(s->db));
}

rf_status store_exec(store *s, const char *sql, const char *doing, rf_error *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? RF_OK
               : store_fail(s, doing, err);
}

sqlite3_stmt *store_prepare(store *s, const char *sql, rf_error *err)
{
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        store_fail(s, "read", err);
    return q;
}

rf_status store_step_once(store *s, sqlite3_stmt *q, const char *doing, rf_error *err)
{
    int code = sqlite3_step(q);
    rf_status st = RF_OK;
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        st = store_fail(s, doing, err);
    sqlite3_reset(q);
    return st;
}

rf_status store_number(store *s, const char *sql, int64_t *out, rf_error *err)
{
    sqlite3_stmt *q = store_prepare(s, sql, err);
    *out = 0;
    if (!q)
        return err->code;
    int code = sqlite3_step(q);
    rf_status st = RF_OK;
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    else if (code != SQLITE_DONE)
        st = store_fail(s, "read", err);
    sqlite3_finalize(q);
    return st;
}

rf_status store_begin(store *s, rf_error *err)
{
    return store_exec(s, "BEGIN IMMEDIATE", "write", err);
}

rf_status store_end(store *s, rf_status st, rf_error *err)
{
    if (st == RF_OK)
        st = store_exec(s, "COMMIT", "write", err);
    /* SQLite has undone it itself after some errors, a full disk among them. */
    if (st != RF_OK && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

void store_bind_bytes(sqlite3_stmt *q, int at, const char *bytes, size_t len)
{
    /* As text, which other programs can show, unless it would end at a NUL there. */
    if (memchr(bytes, '\0', len))
        sqlite3_bind_blob64(q, at, bytes, len, SQLITE_STATIC);
    else
        sqlite3_bind_text64(q, at, bytes, len, SQLITE_STATIC, SQLITE_UTF8);
}

void store_bind_name(sqlite3_stmt *q, int at, const char *name)
{
    if (name)
        sqlite3_bind_text(q, at, name, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(q, at);
}

const char *store_column_name(sqlite3_stmt *q, int at)
{
    return (const char *)sqlite3_column_text(q, at);
}

/* ---- Opening ----------------------------------------------------------------------- */

/* Makes an empty file that nobody else can read: it will hold texts of people. The files
 * beside it get the same permissions from SQLite. */
static rf_status make_file(store *s, rf_error *err)
{
    int fd = open(s->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return rf_fail_errno(err, "%s: cannot create", s->path);
    return RF_OK;
}

/* Makes the tables, unless another program has done so at this moment. */
static rf_status make_tables(store *s, rf_error *err)
{
    int64_t id;
    rf_status st;
    /* The file can shrink when rows go; to be said before there is any table. SQLite does
     * not wait by itself while others change the journal's mode. */
    for (int waited = 0;; waited += RETRY_MS) {
        st = store_exec(s, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL",
                        "make it", err);
        if (st == RF_OK || sqlite3_errcode(s->db) != SQLITE_BUSY || waited >= BUSY_MS)
            break;
        sqlite3_sleep(RETRY_MS);
    }
    if (st == RF_OK)
        st = store_begin(s, err);
    if (st != RF_OK)
        return st;
    st = store_number(s, "PRAGMA application_id", &id, err);
    if (st == RF_OK && id != APPLICATION_ID) {
        char kind[100];
        snprintf(kind, sizeof kind,
                 "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
                 STORE_VERSION);
        st = store_exec(s, tables, "make the tables", err);
        if (st == RF_OK)
            st = store_exec(s, kind, "make the tables", err);
    }
    return store_end(s, st, err);
}

/* Is it a store that we can read? *empty: there is nothing in it at all. All of it is
 * read at one moment: another program may be making the tables. */
static rf_status check_kind(store *s, bool *empty, rf_error *err)
{
    int64_t id = 0, version = 0, objects = 0;
    rf_status st = store_exec(s, "BEGIN", "read", err);
    if (st != RF_OK)
        return st;
    st = store_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err);
    if (st == RF_OK)
        st = store_number(s, "PRAGMA application_id", &id, err);
    if (st == RF_OK)
        st = store_number(s, "PRAGMA user_version", &version, err);
    st = store_end(s, st, err);
    if (st != RF_OK)
        return st;
    *empty = id == 0 && version == 0 && objects == 0;
    if (*empty)
        return RF_OK;
    if (id != APPLICATION_ID)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: found an SQLite file of another program (application id "
                       "%lld), wanted one that serve --store has made",
                       s->path, (long long)id);
    if (version < 1 || version > STORE_VERSION)
        return rf_fail(err, RF_ERR_VERSION, 0,
                       "%s: found version %lld of the store, wanted at most %d; a newer "
                       "ringfence has written it",
                       s->path, (long long)version, STORE_VERSION);
    return RF_OK;
}

static rf_status open_file(store *s, store_mode mode, rf_error *err)
{
    bool empty = false;
    struct stat file;
    int flags = mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    rf_status st = mode == STORE_CREATE ? make_file(s, err) : RF_OK;
    if (st != RF_OK)
        return st;
    if (stat(s->path, &file) != 0) {
        if (errno == ENOENT)
            return rf_fail(err, RF_ERR_MISSING, 0,
                           "%s: no such file; serve --store makes one", s->path);
        return rf_fail_errno(err, "%s: cannot open", s->path);
    }
    if (!S_ISREG(file.st_mode))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: not a file", s->path);
    if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
        return s->db ? store_fail(s, "open it", err) : rf_fail_nomem(err, 1, "a store");
    sqlite3_extended_result_codes(s->db, 0);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    st = check_kind(s, &empty, err);
    if (st != RF_OK)
        return st;
    if (empty && mode != STORE_CREATE)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: found an empty file, wanted one that serve --store has made",
                       s->path);
    if (empty)
        st = make_tables(s, err);
    if (st == RF_OK && mode != STORE_READ)
        st = store_exec(s, later_tables, "make the tables", err);
    if (st == RF_OK && mode != STORE_READ)
        /* Deleted texts are overwritten. A commit is on the disk when it returns. */
        st = store_exec(s,
                        "PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;"
                        "PRAGMA journal_size_limit = 16777216",
                        "open it", err);
    if (st == RF_OK)
        st = store_exec(s, "PRAGMA foreign_keys = ON", "open it", err);
    return st;
}

store *store_open(const char *path, store_mode mode, rf_error *err)
{
    rf_error ours = {0};
    err = err ? err : &ours;
    store *s = calloc(1, sizeof *s);
    if (!s) {
        rf_fail_nomem(err, sizeof *s, "a store");
        return NULL;
    }
    if (strlen(path) >= sizeof s->path)
        rf_fail(err, RF_ERR_LIMIT, 0, "%.80s...: the path is longer than %d bytes", path,
                RF_PATH_MAX - 1);
    else {
        strcpy(s->path, path);
        if (open_file(s, mode, err) == RF_OK)
            return s;
    }
    store_close(s);
    return NULL;
}

void store_close(store *s)
{
    if (!s)
        return;
    sqlite3_close_v2(s->db);
    free(s);
}

int64_t store_bytes(const store *s)
{
    struct stat file;
    char wal[RF_PATH_MAX + 8];
    int64_t bytes = stat(s->path, &file) == 0 ? file.st_size : 0;
    snprintf(wal, sizeof wal, "%s-wal", s->path);
    return bytes + (stat(wal, &file) == 0 ? file.st_size : 0);
}
