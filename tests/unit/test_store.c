/*
 * The store of texts and answers: what is written is read, whatever the bytes; foreign
 * files are left alone; what is deleted is gone from the bytes of the file. Read with
 * plain SQL, too, beside the store's own functions.
 */
#include "drift.h"
#include "store.h"

#include "base/digest.h"
#include "base/file.h"
#include "scratch.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[RF_PATH_MAX], path[RF_PATH_MAX];

static int make(void **state)
{
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, "texts.db");
    return 0;
}

static int clear(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static store *opened(store_mode mode)
{
    rf_error err = {0};
    store *s = store_open(path, mode, &err);
    if (!s)
        fail_msg("%s", err.msg);
    return s;
}

/* Runs SQL with a connection of its own; the first column of the first row. */
static int64_t sql(const char *words)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int64_t n = -1;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    if (sqlite3_prepare_v2(db, words, -1, &q, NULL) != SQLITE_OK)
        fail_msg("%s: %s", words, sqlite3_errmsg(db));
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    else
        assert_int_equal(code, SQLITE_DONE);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

/* Does any file of the store hold these bytes? */
static bool on_disk(const char *bytes)
{
    static const char *const names[] = {"texts.db", "texts.db-wal", "texts.db-shm"};
    bool found = false;
    for (size_t i = 0; i < 3; i++) {
        char file[RF_PATH_MAX];
        size_t len;
        scratch_path(file, dir, names[i]);
        if (!rf_file_exists(file))
            continue;
        char *all = scratch_read(file, &len);
        size_t n = strlen(bytes);
        for (size_t at = 0; at + n <= len && !found; at++)
            found = memcmp(all + at, bytes, n) == 0;
        free(all);
    }
    return found;
}

#define MODEL "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define OTHER "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static store_row row(int64_t time, const char *text, const char *label)
{
    return (store_row){.time_ms = time,
                       .text = text,
                       .text_len = strlen(text),
                       .label = label,
                       .confidence = 0.75f,
                       .margin = label ? 1.5f : -0.5f,
                       .nearest = "refund",
                       .model = MODEL,
                       .source = "test"};
}

static void add(store *s, store_row r)
{
    rf_error err = {0};
    if (store_add(s, &r, 1, NULL, 0, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

/* ---- Reading what was written ------------------------------------------------------ */

typedef struct seen {
    size_t n;
    int64_t ids[20];
    char texts[20][40];
    size_t lens[20];
    store_row last;
    char given[40];
} seen;

static rf_status see(void *user, const store_row *r, rf_error *err)
{
    seen *s = user;
    (void)err;
    assert_true(s->n < 20 && r->text_len < 40);
    s->ids[s->n] = r->id;
    s->lens[s->n] = r->text_len;
    memcpy(s->texts[s->n], r->text ? r->text : "-", r->text ? r->text_len : 1);
    snprintf(s->given, sizeof s->given, "%s", r->given ? r->given : "(none)");
    s->last = *r;
    s->n++;
    return RF_OK;
}

static seen read_all(store *s, store_filter f)
{
    seen out = {0};
    assert_int_equal(store_rows(s, &f, see, &out, NULL), RF_OK);
    return out;
}

static void test_rows(void **state)
{
    (void)state;
    static const char odd[][8] = {"", "a\0b", "\xff\xfe", "\xc3\xa9\xf0\x9f\x98\x80",
                                  "\n\t\""};
    static const size_t lens[] = {0, 3, 2, 6, 3};
    store *s = opened(STORE_CREATE);
    for (size_t i = 0; i < 5; i++) {
        store_row r = row(1000 + (int64_t)i, odd[i], i % 2 ? NULL : "refund");
        r.text_len = lens[i];
        add(s, r);
    }
    seen all = read_all(s, (store_filter){0});
    assert_int_equal(all.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(all.lens[i], lens[i]);
        assert_memory_equal(all.texts[i], odd[i], lens[i]);
    }
    assert_true(all.last.confidence == 0.75f && all.last.margin == 1.5f);
    assert_int_equal(read_all(s, (store_filter){.open = true}).n, 2);
    assert_int_equal(read_all(s, (store_filter){.from_ms = 1001, .to_ms = 1004}).n, 3);
    assert_int_equal(read_all(s, (store_filter){.after_id = 2, .limit = 2}).n, 2);
    assert_int_equal(read_all(s, (store_filter){.after_id = 2, .limit = 2}).ids[0], 3);
    assert_int_equal(read_all(s, (store_filter){.id = 4}).ids[0], 4);
    assert_int_equal(sql("SELECT count(*) FROM texts WHERE label IS NULL"), 2);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600); /* texts of people */
    store_close(s);
    s = opened(STORE_READ);
    assert_int_equal(read_all(s, (store_filter){0}).n, 5);
    assert_int_not_equal(store_log(s, "me", "x", 1, NULL), RF_OK); /* read only */
    store_close(s);
}

static rf_status sum_counts(void *user, const store_count *c, rf_error *err)
{
    double *sums = user;
    (void)err;
    sums[0] += (double)c->n;
    sums[1] += c->margin_sum;
    sums[2] += c->margin_squares;
    sums[3] += c->label == NULL;
    return RF_OK;
}

static void test_counts_add_up(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE), *other = opened(STORE_CREATE);
    store_count c[] = {{5, MODEL, "refund", 3, 1.5, 2.25}, {5, MODEL, NULL, 1, -1, 1}};
    char model[65];
    assert_int_equal(store_add(s, NULL, 0, c, 2, NULL), RF_OK);
    assert_int_equal(store_add(other, NULL, 0, c, 2, NULL), RF_OK);
    c[0].hour = 6;
    c[0].model = OTHER;
    assert_int_equal(store_add(s, NULL, 0, c, 1, NULL), RF_OK);
    double sums[4] = {0};
    assert_int_equal(store_counts(s, 5, 6, NULL, sum_counts, sums, NULL), RF_OK);
    assert_true(sums[0] == 8 && sums[1] == 1 && sums[2] == 6.5 && sums[3] == 1);
    memset(sums, 0, sizeof sums);
    assert_int_equal(store_counts(s, 5, 7, OTHER, sum_counts, sums, NULL), RF_OK);
    assert_true(sums[0] == 3);
    assert_int_equal(store_main_model(s, 5, 7, model, NULL), RF_OK);
    assert_string_equal(model, MODEL);
    assert_int_equal(store_main_model(s, 6, 7, model, NULL), RF_OK);
    assert_string_equal(model, OTHER);
    assert_int_equal(store_main_model(s, 7, 9, model, NULL), RF_OK);
    assert_string_equal(model, "");
    store_close(s);
    store_close(other);
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    rf_error err = {0};
    store *s = opened(STORE_CREATE);
    store_row rows[2] = {row(1, "one", NULL), row(2, "two", NULL)};
    rows[1].nearest = NULL; /* the table refuses it */
    assert_int_not_equal(store_add(s, rows, 2, NULL, 0, &err), RF_OK);
    assert_int_equal(read_all(s, (store_filter){0}).n, 0);
    rows[1].nearest = "refund";
    assert_int_equal(store_add(s, rows, 2, NULL, 0, &err), RF_OK);
    assert_int_equal(read_all(s, (store_filter){0}).n, 2);
    store_close(s);
}

/* ---- People ------------------------------------------------------------------------ */

static rf_status see_change(void *user, const store_change *c, rf_error *err)
{
    char *all = user;
    (void)err;
    snprintf(all + strlen(all), 300 - strlen(all), "%s: %s; ", c->who, c->what);
    return RF_OK;
}

static void test_labels_of_many_rows(void **state)
{
    (void)state;
    rf_error err = {0};
    size_t at = 99;
    store *s = opened(STORE_CREATE);
    for (int i = 1; i <= 4; i++)
        add(s, row(i, "text", NULL));
    const store_label wrong[] = {{.row = 1, .label = "a"},
                                 {.row = 2},
                                 {.row = 7, .label = "b"},
                                 {.row = 3, .label = "c"}};
    assert_int_equal(store_set_labels(s, wrong, 4, "ann", 10, &at, &err), RF_ERR_MISSING);
    assert_int_equal(at, 2);
    assert_int_equal(sql("SELECT (SELECT count(*) FROM labels) +"
                         " (SELECT count(*) FROM changes)"),
                     0); /* all or none */
    const store_label right[] = {
        {.row = 1, .label = "a"}, {.row = 2}, {.row = 3, .label = "c"}};
    assert_int_equal(store_set_labels(s, right, 3, "ann", 10, &at, &err), RF_OK);
    assert_int_equal(at, 3);
    assert_int_equal(read_all(s, (store_filter){.unjudged = true}).n, 1);
    seen newest = read_all(s, (store_filter){.newest = true, .limit = 2});
    assert_int_equal(newest.n, 2);
    assert_int_equal(newest.last.id, 3); /* after 4 */
    store_close(s);
}

static void test_learnt_labels(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE);
    const store_filter pending = {.pending = true};
    store_state before, after;
    for (int i = 1; i <= 3; i++)
        add(s, row(i, "text", NULL));
    assert_int_equal(store_look(s, &before, NULL), RF_OK);
    assert_true(before.last_row == 3 && before.last_change == 0);
    const store_label labels[] = {
        {.row = 1, .label = "a"}, {.row = 2, .label = "a"}, {.row = 3}};
    assert_int_equal(store_set_labels(s, labels, 3, "ann", 10, NULL, NULL), RF_OK);
    assert_int_equal(store_look(s, &after, NULL), RF_OK);
    assert_true(after.last_row == 3 && after.last_change == 3);
    assert_int_equal(read_all(s, pending).n, 2); /* not the one that is not relevant */
    assert_int_equal(store_learnt(s, labels, 1, "m1", "ann", "one", 11, NULL), RF_OK);
    assert_int_equal(read_all(s, pending).last.id, 2);
    assert_int_equal(store_learnt(s, labels + 1, 1, "m2", "ann", "two", 12, NULL), RF_OK);
    assert_int_equal(read_all(s, pending).n, 0);
    assert_int_equal(store_set_label(s, 1, "b", "bob", 13, NULL), RF_OK); /* corrected */
    assert_int_equal(read_all(s, pending).last.id, 1);
    /* an update that began before the correction has not learnt it */
    assert_int_equal(store_learnt(s, labels, 1, "m3", "ann", "three", 13, NULL), RF_OK);
    assert_int_equal(read_all(s, pending).last.id, 1);
    assert_int_equal(store_unlearnt(s, "m2", "bob", "undo", 14, NULL), RF_OK);
    assert_int_equal(read_all(s, pending).n, 2);
    assert_int_equal(sql("SELECT count(*) FROM changes WHERE what IN"
                         " ('one', 'two', 'undo')"),
                     3);
    store_close(s);
}

static void test_withdrawn_labels(void **state)
{
    (void)state;
    rf_error err = {0};
    size_t at;
    store *s = opened(STORE_CREATE);
    const store_filter pending = {.pending = true}, unjudged = {.unjudged = true};
    const store_label given[] = {{.row = 1, .label = "a"}, {.row = 2}, {.row = 3}};
    const store_label none[] = {{.row = 2, .withdrawn = true},
                                {.row = 4, .withdrawn = true}};
    store_state before, after;
    for (int i = 1; i <= 4; i++)
        add(s, row(i, i < 4 ? "text" : "four", NULL));
    assert_int_equal(store_set_labels(s, given, 3, "ann", 10, NULL, NULL), RF_OK);
    assert_int_equal(store_set_label(s, 1, "b", "ann", 11, NULL), RF_OK);
    /* all or none: row 4 has no label */
    assert_int_equal(store_set_labels(s, none, 2, "bob", 12, &at, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "texts.db", "row 4 has no label to withdraw");
    assert_true(at == 1 && read_all(s, unjudged).n == 1);
    assert_int_equal(store_set_labels(s, none, 1, "bob", 12, &at, NULL), RF_OK);
    assert_int_equal(read_all(s, unjudged).n, 2);
    assert_int_equal(sql("SELECT count(*) FROM changes WHERE who = 'bob'"
                         " AND what = 'row 2: label withdrawn'"),
                     1);
    /* what was learnt stays, a correction of it goes */
    const store_label b = {.row = 1, .label = "b"}, back = {.row = 1, .withdrawn = true};
    assert_int_equal(store_learnt(s, &b, 1, "m1", "ann", "one", 13, NULL), RF_OK);
    assert_int_equal(store_set_label(s, 1, "c", "ann", 14, NULL), RF_OK);
    assert_int_equal(read_all(s, pending).n, 1);
    assert_int_equal(store_set_labels(s, &back, 1, "bob", 15, NULL, NULL), RF_OK);
    assert_int_equal(read_all(s, pending).n, 0);
    assert_string_equal(read_all(s, (store_filter){.id = 1}).given, "b");
    assert_int_equal(store_set_labels(s, &back, 1, "bob", 16, NULL, &err),
                     RF_ERR_MISSING);
    /* the state differs, even if the numbers of labels are used again */
    assert_int_equal(store_set_label(s, 4, "d", "ann", 17, NULL), RF_OK);
    assert_int_equal(store_look(s, &before, NULL), RF_OK);
    assert_int_equal(store_set_labels(s, &none[1], 1, "ann", 18, NULL, NULL), RF_OK);
    assert_int_equal(store_set_label(s, 2, "d", "ann", 19, NULL), RF_OK);
    assert_int_equal(store_look(s, &after, NULL), RF_OK);
    assert_true(after.last_change != before.last_change);
    /* rows by text */
    assert_int_equal(read_all(s, (store_filter){.text = "text", .text_len = 4}).n, 3);
    assert_int_equal(read_all(s, (store_filter){.text = "text", .text_len = 3}).n, 0);
    store_close(s);
}

static void test_labels(void **state)
{
    (void)state;
    rf_error err = {0};
    char log[300] = "";
    store *s = opened(STORE_CREATE);
    add(s, row(1, "one", NULL));
    add(s, row(2, "two", NULL));
    assert_int_equal(store_set_label(s, 1, "refund", "ann", 10, NULL), RF_OK);
    assert_int_equal(store_set_label(s, 1, NULL, "bob", 11, NULL), RF_OK);
    assert_int_equal(store_set_label(s, 2, "parcel", "bob", 12, NULL), RF_OK);
    seen all = read_all(s, (store_filter){.judged = true});
    assert_int_equal(all.n, 2);
    assert_string_equal(all.given, "parcel");
    assert_true(all.last.judged && all.last.judged_ms == 12);
    assert_int_equal(read_all(s, (store_filter){.unjudged = true}).n, 0);
    all = read_all(s, (store_filter){.id = 1}); /* the last one counts */
    assert_true(all.last.judged && !all.last.given);
    assert_int_equal(sql("SELECT count(*) FROM labels WHERE text = 1"), 2);
    assert_int_equal(store_set_label(s, 3, "x", "ann", 13, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "texts.db", "no row 3");
    assert_int_equal(store_set_label(s, 1, "", "ann", 13, &err), RF_ERR_ARG);
    assert_int_equal(store_changes(s, 0, see_change, log, NULL), RF_OK);
    assert_string_equal(log, "ann: row 1: label \"refund\"; bob: row 1: not relevant; "
                             "bob: row 2: label \"parcel\"; ");
    store_close(s);
}

/* ---- Deleting ---------------------------------------------------------------------- */

static void test_trim_by_age(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE);
    int64_t day = STORE_DAY_MS, now = 1000 * day;
    size_t removed = 0;
    for (int64_t i = 0; i < 10; i++)
        add(s, row(now - i * day, "some text", NULL));
    assert_int_equal(store_set_label(s, 10, "refund", "ann", 1, NULL), RF_OK);
    store_count c[] = {{now / STORE_HOUR_MS - 24 * 401, MODEL, NULL, 1, 0, 0},
                       {now / STORE_HOUR_MS - 24 * 399, MODEL, NULL, 1, 0, 0}};
    assert_int_equal(store_add(s, NULL, 0, c, 2, NULL), RF_OK);
    store_limits limits = {4 * day, 1 << 30};
    assert_int_equal(store_trim(s, &limits, now, &removed, NULL), RF_OK);
    assert_int_equal(removed, 5); /* an age of exactly four days stays */
    assert_int_equal(sql("SELECT count(*) FROM texts"), 5);
    assert_int_equal(sql("SELECT min(time) FROM texts"), now - 4 * day);
    assert_int_equal(sql("SELECT count(*) FROM labels"), 0);
    assert_int_equal(sql("SELECT count(*) FROM hours"), 1);
    assert_int_equal(store_trim(s, &limits, now, &removed, NULL), RF_OK);
    assert_int_equal(removed, 5);
    store_close(s);
}

static void test_trim_by_size(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE);
    static char big[2000];
    size_t removed = 0;
    struct stat file;
    memset(big, 'x', sizeof big - 1);
    store_row *rows = calloc(2000, sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < 2000; i++)
        rows[i] = row(1000 + (int64_t)i, big, NULL);
    assert_int_equal(store_add(s, rows, 2000, NULL, 0, NULL), RF_OK);
    free(rows);
    store_limits limits = {INT64_MAX / 2, 1 << 20};
    assert_int_equal(store_trim(s, &limits, 2000, &removed, NULL), RF_OK);
    assert_true(removed > 1000 && removed < 2000);
    assert_int_equal(sql("SELECT count(*) FROM texts"), 2000 - (int64_t)removed);
    /* the oldest went */
    assert_int_equal(sql("SELECT min(time) FROM texts"), 1000 + (int64_t)removed);
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size <= 1 << 20);
    assert_true(store_bytes(s) <= 1 << 20);
    store_close(s);
}

static void test_purged_bytes_are_gone(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE), *service = opened(STORE_CREATE);
    size_t removed;
    char text[64];
    for (int i = 0; i < 300; i++) { /* over several pages */
        snprintf(text, sizeof text, "%s number %d", i % 3 ? "ordinary" : "EMBARRASSING",
                 i);
        add(i % 2 ? s : service, row(1000 + i, text, NULL));
    }
    add(s, row(5000, "the one TO-FORGET", NULL));
    store_row hashed = row(5001, "", NULL);
    char hex[65];
    rf_sha256_bytes("the one TO-FORGET", 17, hex);
    hashed.text = NULL;
    hashed.sha256 = hex;
    add(s, hashed);
    assert_true(on_disk("EMBARRASSING") && on_disk("TO-FORGET") && on_disk(hex));
    store_purge_what what = {.text = "the one TO-FORGET", .text_len = 17};
    assert_int_equal(store_purge(s, &what, "ann", 9, &removed, NULL), RF_OK);
    assert_int_equal(removed, 2);
    assert_false(on_disk("TO-FORGET") || on_disk(hex));
    assert_true(on_disk("EMBARRASSING"));
    what = (store_purge_what){.before_ms = 1200};
    assert_int_equal(store_purge(s, &what, "ann", 9, &removed, NULL), RF_OK);
    assert_int_equal(removed, 200);
    assert_false(on_disk("number 99") || on_disk("number 199"));
    assert_true(on_disk("number 200"));
    what = (store_purge_what){.all = true};
    assert_int_equal(store_purge(s, &what, "ann", 9, &removed, NULL), RF_OK);
    assert_int_equal(removed, 100);
    assert_false(on_disk("number") || on_disk("refund"));
    assert_int_equal(sql("PRAGMA freelist_count"), 0); /* it was written anew */
    assert_int_equal(sql("SELECT count(*) FROM changes"), 3);
    add(service, row(1, "still in use", NULL)); /* by the one that had it open */
    assert_int_equal(sql("SELECT count(*) FROM texts"), 1);
    store_close(s);
    store_close(service);
}

/* ---- Foreign files ----------------------------------------------------------------- */

static void refused(store_mode mode, rf_status code, const char *a, const char *b)
{
    rf_error err = {0};
    assert_null(store_open(path, mode, &err));
    assert_error(&err, code, "texts.db", a, b);
}

static void test_other_files_are_left_alone(void **state)
{
    (void)state;
    refused(STORE_READ, RF_ERR_MISSING, "no such file", "serve --store");
    refused(STORE_WRITE, RF_ERR_MISSING, "no such file", "serve --store");
    scratch_write(dir, "texts.db", "", 0);
    refused(STORE_READ, RF_ERR_FORMAT, "empty", "wanted");
    char junk[5000];
    memset(junk, 'j', sizeof junk);
    scratch_write(dir, "texts.db", junk, sizeof junk);
    refused(STORE_CREATE, RF_ERR_FORMAT, "not an SQLite file", "wanted");
    size_t len;
    char *after = scratch_read(path, &len);
    assert_int_equal(len, sizeof junk);
    assert_memory_equal(after, junk, len);
    free(after);
    assert_int_equal(unlink(path), 0);
    sql("CREATE TABLE theirs(x)");
    refused(STORE_CREATE, RF_ERR_FORMAT, "another program", "application id 0");
    assert_int_equal(sql("SELECT count(*) FROM sqlite_schema"), 1);
    assert_int_equal(unlink(path), 0);
    store_close(opened(STORE_CREATE));
    sql("PRAGMA user_version = 7");
    refused(STORE_WRITE, RF_ERR_VERSION, "version 7", "at most 1");
    refused(STORE_READ, RF_ERR_VERSION, "version 7", "newer");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    refused(STORE_CREATE, RF_ERR_FORMAT, "not a file", "");
}

static void test_damage_is_reported(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE);
    rf_error err = {0};
    static char text[3000];
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 50; i++)
        add(s, row(i, text, NULL));
    store_close(s);
    size_t len;
    char *all = scratch_read(path, &len);
    for (size_t at = 4096 * 10; at < len; at++) /* all pages but the first ten */
        all[at] = (char)(at * 7);
    scratch_write(dir, "texts.db", all, len);
    free(all);
    s = opened(STORE_READ);
    seen *out = calloc(1, sizeof *out);
    store_filter f = {.limit = 19};
    assert_non_null(out);
    rf_status st = store_rows(s, &f, see, out, &err);
    if (st != RF_OK)
        assert_error(&err, RF_ERR_FORMAT, "texts.db", "malformed");
    store_stats stats;
    st = store_stats_read(s, &stats, &err);
    assert_int_equal(st, RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "texts.db", "malformed");
    free(out);
    store_close(s);
}

/* ---- Statistics and drift from a store --------------------------------------------- */

static void test_stats(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE);
    store_stats stats;
    int64_t day = STORE_DAY_MS, start = 20000 * day; /* 2024-10-04 */
    store_row other = row(start + day + 5, "c", "refund");
    other.model = OTHER;
    add(s, row(start, "a", NULL));
    add(s, row(start + 5, "b", "refund"));
    add(s, other);
    assert_int_equal(store_set_label(s, 1, "x", "ann", 1, NULL), RF_OK);
    store_count c[] = {{start / STORE_HOUR_MS, MODEL, "refund", 90, 0, 0},
                       {start / STORE_HOUR_MS + 1, MODEL, NULL, 10, 0, 0}};
    assert_int_equal(store_add(s, NULL, 0, c, 2, NULL), RF_OK);
    assert_int_equal(store_stats_read(s, &stats, NULL), RF_OK);
    assert_true(stats.rows == 3 && stats.open == 1 && stats.judged == 1);
    assert_true(stats.answers == 100 && stats.answers_open == 10);
    assert_true(stats.first_ms == start && stats.last_ms == start + day + 5);
    assert_int_equal(stats.n_days, 2);
    assert_string_equal(stats.days[0].day, "2024-10-04");
    assert_true(stats.days[0].rows == 2 && stats.days[0].answers == 100);
    assert_true(stats.days[1].rows == 1 && stats.days[1].answers == 0);
    assert_int_equal(stats.n_models, 2);
    assert_string_equal(stats.models[0].sha256, MODEL);
    assert_true(stats.models[0].rows == 2 && stats.models[0].answers == 100);
    store_stats_release(&stats);
    store_close(s);
}

/* The hours of a store become the right blocks: 8 of 3 hours, with different numbers. */
static void test_drift_reads_whole_hours(void **state)
{
    (void)state;
    store *s = opened(STORE_CREATE);
    int64_t now_hour = 480000;
    for (int64_t h = now_hour - 40; h <= now_hour; h++) {
        store_count c[] = {{h, MODEL, "a", 20, 40, 120},
                           {h, MODEL, "b", 10, 20, 60},
                           {h, MODEL, NULL, (uint64_t)(h >= now_hour - 3 ? 30 : 3), 0, 0},
                           {h, OTHER, "z", 5, 0, 0}};
        assert_int_equal(store_add(s, NULL, 0, c, 4, NULL), RF_OK);
    }
    drift_options o = {.now_ms = now_hour * STORE_HOUR_MS + 1234,
                       .hours = 3,
                       .against_hours = 26, /* 24 */
                       .alpha = 0.01};
    drift_report r;
    assert_int_equal(drift_run(s, &o, &r, NULL), RF_OK);
    assert_string_equal(r.model, MODEL);
    assert_true(r.to == now_hour && r.from == now_hour - 3);
    assert_true(r.against_from == now_hour - 27);
    assert_true(r.answers == 3 * 60 && r.answers_before == 24 * 33 && r.blocks == 8);
    assert_true(fabs(r.open.before - 1.0 / 11) < 1e-12 && r.open.after == 0.5);
    assert_true(r.margin.before == 2 && r.margin.after == 2);
    assert_true(r.open.drifted && !r.margin.drifted && !r.classes.drifted);
    drift_report_release(&r);
    o.now_ms += 100 * STORE_HOUR_MS; /* long after */
    assert_int_equal(drift_run(s, &o, &r, NULL), RF_OK);
    assert_true(!r.drifted && r.answers == 0 && r.model[0] == '\0');
    drift_report_release(&r);
    o.against_hours = 2;
    assert_int_equal(drift_run(s, &o, &r, NULL), RF_ERR_ARG);
    drift_report_release(&r);
    store_close(s);
}

/* Several services that start at once on a file that is not there yet. */
static void many_make_the_file_at_once(void **state)
{
    (void)state;
    enum { PROGRAMS = 4, ROUNDS = 40 };
    for (int round = 0; round < ROUNDS; round++) {
        char file[RF_PATH_MAX], name[32];
        int go[2];
        pid_t child[PROGRAMS];
        snprintf(name, sizeof name, "new%d.db", round);
        scratch_path(file, dir, name);
        assert_int_equal(pipe(go), 0);
        for (int i = 0; i < PROGRAMS; i++) {
            child[i] = fork();
            assert_true(child[i] >= 0);
            if (child[i] == 0) {
                char wait;
                rf_error err = {0};
                close(go[1]);
                if (read(go[0], &wait, 1) != 0) /* ends when all are there */
                    _exit(2);
                store *s = store_open(file, STORE_CREATE, &err);
                if (!s)
                    fprintf(stderr, "%s\n", err.msg);
                store_close(s);
                _exit(s ? 0 : 1);
            }
        }
        close(go[0]);
        close(go[1]);
        for (int i = 0; i < PROGRAMS; i++) {
            int code;
            assert_int_equal(waitpid(child[i], &code, 0), child[i]);
            assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_make_the_file_at_once),
        TEST(test_rows),
        TEST(test_counts_add_up),
        TEST(test_all_or_nothing),
        TEST(test_labels),
        TEST(test_withdrawn_labels),
        TEST(test_labels_of_many_rows),
        TEST(test_learnt_labels),
        TEST(test_trim_by_age),
        TEST(test_trim_by_size),
        TEST(test_purged_bytes_are_gone),
        TEST(test_other_files_are_left_alone),
        TEST(test_damage_is_reported),
        TEST(test_stats),
        TEST(test_drift_reads_whole_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
