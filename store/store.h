/*
 * store.h - what the service saw: texts with answers, labels by people, hourly counts
 *
 * One SQLite file (docs/SERVE.md, "Keeping texts"). Several programs may use it at the
 * same time: it is in WAL mode, and a writer waits for the one before it. A store is used
 * by one thread at a time. Times are milliseconds since 1970 in UTC.
 */
#ifndef RF_STORE_STORE_H
#define RF_STORE_STORE_H

#include "base/error.h"

#include <stdint.h>

#define STORE_VERSION 1       /* of the tables; in PRAGMA user_version */
#define STORE_HOUR_MS 3600000 /* milliseconds */
#define STORE_DAY_MS (24 * (int64_t)STORE_HOUR_MS)

typedef struct store store;

typedef enum store_mode {
    STORE_READ,   /* must exist; nothing is changed */
    STORE_WRITE,  /* must exist */
    STORE_CREATE, /* made if it does not exist, readable by its owner alone */
} store_mode;

/* NULL on failure: RF_ERR_MISSING if there is no file, RF_ERR_FORMAT for a file of
 * something else, RF_ERR_VERSION for a newer one. Nothing of them is changed. */
store *store_open(const char *path, store_mode mode, rf_error *err);
void store_close(store *s); /* accepts NULL */

int64_t store_now_ms(void);

/* ---- Adding ------------------------------------------------------------------------ */

typedef struct store_row {
    int64_t id; /* given by the store; never used again, even if the row is deleted */
    int64_t time_ms;
    const char *text; /* any bytes; NULL: only its sha256 was kept */
    size_t text_len;
    const char *sha256; /* hexadecimal; NULL: the text itself was kept */
    const char *label;  /* the answer; NULL: open */
    float confidence, margin;
    const char *nearest; /* most likely known class, also if the answer is open */
    const char *model;   /* sha256 of the model file, hexadecimal */
    const char *source;  /* which service */

    /* What a person said last; filled by store_rows. */
    bool judged;
    const char *given; /* NULL: not relevant, if judged */
    const char *judge;
    int64_t judged_ms;
} store_row;

/* Answers of one hour, model and label: all of them, kept or not. */
typedef struct store_count {
    int64_t hour; /* since 1970: time_ms / STORE_HOUR_MS */
    const char *model;
    const char *label; /* NULL: open */
    uint64_t n;
    double margin_sum, margin_squares; /* of their margins */
} store_count;

/* Adds rows, and adds counts to those that are there: all of it or nothing. */
rf_status store_add(store *s, const store_row *rows, size_t n_rows,
                    const store_count *counts, size_t n_counts, rf_error *err);

/* ---- Reading ----------------------------------------------------------------------- */

typedef struct store_filter {
    int64_t from_ms, to_ms; /* from <= time < to; 0: no bound */
    bool open;              /* open answers alone */
    bool judged, unjudged;  /* with a label by a person; without */
    bool pending; /* the last label is a class that no model has learnt (store_learnt) */
    bool newest;  /* in the reverse order: the newest rows first */
    int64_t id;   /* this row alone; 0: all */
    const char *text; /* rows with exactly this text; NULL: all. Looks at every row */
    size_t text_len;
    int64_t after_id; /* ids above it: where a page of rows ended */
    size_t limit;     /* rows; 0: all */
} store_filter;

/* Pointers in a row are valid during the call. Anything but RF_OK ends the reading. */
typedef rf_status (*store_row_sink)(void *user, const store_row *row, rf_error *err);

/* In the order of ids, which is that of arrival, unless the newest come first. */
rf_status store_rows(store *s, const store_filter *f, store_row_sink sink, void *user,
                     rf_error *err);

typedef rf_status (*store_count_sink)(void *user, const store_count *c, rf_error *err);

/* Counts of the hours from..to-1, in order of hour, model and label. model: of this one
 * alone; NULL: of all. */
rf_status store_counts(store *s, int64_t from, int64_t to, const char *model,
                       store_count_sink sink, void *user, rf_error *err);

/* The model with the most answers in the hours from..to-1; "" if there are none. */
rf_status store_main_model(store *s, int64_t from, int64_t to, char model[65],
                           rf_error *err);

/* ---- People ------------------------------------------------------------------------ */

/* A person's label for a row; NULL: not relevant. Earlier ones stay in the table, the
 * last one counts. Logged as a change. RF_ERR_MISSING if there is no such row. */
rf_status store_set_label(store *s, int64_t id, const char *label, const char *who,
                          int64_t time_ms, rf_error *err);

typedef struct store_label {
    int64_t row;
    const char *label; /* NULL: not relevant */
    bool withdrawn;    /* instead: nobody has judged the row, except for a label that a
                        * model has learnt. RF_ERR_MISSING without any other label */
} store_label;

/* The same for many rows: all of them or none. *at: which one is at fault, or n. */
rf_status store_set_labels(store *s, const store_label *labels, size_t n, const char *who,
                           int64_t time_ms, size_t *at, rf_error *err);

/* Notes that a model (sha256 of its file) has learnt these labels, or that none of its
 * labels count as learnt any more. A row whose last label is another one by now is left
 * out. Logged as a change, with `what`. */
rf_status store_learnt(store *s, const store_label *labels, size_t n, const char *model,
                       const char *who, const char *what, int64_t time_ms, rf_error *err);
rf_status store_unlearnt(store *s, const char *model, const char *who, const char *what,
                         int64_t time_ms, rf_error *err);

/* Numbers that change when rows are added or labels change. */
typedef struct store_state {
    int64_t last_row, last_change;
} store_state;
rf_status store_look(store *s, store_state *out, rf_error *err);

/* Logs what somebody changed. */
rf_status store_log(store *s, const char *who, const char *what, int64_t time_ms,
                    rf_error *err);

typedef struct store_change {
    int64_t id, time_ms;
    const char *who, *what;
} store_change;
typedef rf_status (*store_change_sink)(void *user, const store_change *c, rf_error *err);

/* In the order in which they were logged, from after_id on. */
rf_status store_changes(store *s, int64_t after_id, store_change_sink sink, void *user,
                        rf_error *err);

/* ---- Size and age ------------------------------------------------------------------ */

/* Bytes of the file and of what waits beside it to be merged into it (-wal). */
int64_t store_bytes(const store *s);

typedef struct store_limits {
    int64_t max_age_ms; /* of a row */
    int64_t max_bytes;  /* of the file */
} store_limits;

/* Deletes rows that are too old, the oldest ones of a file that is too large, and counts
 * of more than STORE_COUNT_DAYS ago. The file shrinks. Adds to *removed. */
#define STORE_COUNT_DAYS 400
rf_status store_trim(store *s, const store_limits *limits, int64_t now_ms,
                     size_t *removed, rf_error *err);

typedef struct store_purge_what {
    bool all;          /* rows and hourly counts; the log of changes stays */
    int64_t before_ms; /* rows before it; 0: none */
    const char *text;  /* rows with exactly this text, or its sha256; NULL: none */
    size_t text_len;
} store_purge_what;

/* Deletes rows with their labels such that no byte of them is left in the file, which is
 * rewritten. Logged as a change, without the text. */
rf_status store_purge(store *s, const store_purge_what *what, const char *who,
                      int64_t now_ms, size_t *removed, rf_error *err);

/* ---- Statistics -------------------------------------------------------------------- */

typedef struct store_day {
    char day[11]; /* "2026-11-18", UTC */
    uint64_t rows, open;
    uint64_t answers, answers_open; /* by the hourly counts */
} store_day;

typedef struct store_model {
    char sha256[65];
    uint64_t rows, answers;
    int64_t first_ms; /* when it was first seen */
} store_model;

typedef struct store_stats {
    uint64_t rows, open, hashed, judged;
    uint64_t answers, answers_open; /* by the hourly counts */
    int64_t first_ms, last_ms;      /* of the rows; 0 if there are none */
    int64_t bytes;
    store_day *days; /* in order */
    size_t n_days;
    store_model *models; /* in the order in which they were first seen */
    size_t n_models;
} store_stats;

rf_status store_stats_read(store *s, store_stats *out, rf_error *err);
void store_stats_release(store_stats *stats);

#endif
