/* recorder.c - the queue of rows, and the thread that writes them to the store */
#include "recorder.h"

#include "base/clock.h"
#include "base/digest.h"
#include "log.h"
#include "recorder_counts.h"
#include "store/store.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define QUEUE_ROWS 8192
#define QUEUE_BYTES ((size_t)32 << 20) /* of texts */
#define BATCH_ROWS 512                 /* write at once if that many wait */
#define BATCH_SECONDS 1.0              /* else after this time */
#define RETRY_SECONDS 5.0              /* after a failure */
#define TIDY_SECONDS 60.0              /* between looks at age, size and drift */
#define TIDY_PART 16 /* or when rows of this part of the size limit were added */
#define JSON_MAX ((size_t)1 << 20)

/* A row with its own copies; the strings follow it in memory. */
typedef struct waiting_row {
    store_row row;
    char model[RF_SHA256_HEX], sha256[RF_SHA256_HEX];
    size_t bytes;
} waiting_row;

typedef struct row_list {
    waiting_row **rows; /* [QUEUE_ROWS] */
    size_t n, bytes;
    count_block *counts;
} row_list;

struct recorder {
    recorder_options o;
    store *store; /* the thread's, once it has started */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t wake;
    bool stop;
    row_list in;               /* what workers fill */
    char model[RF_SHA256_HEX]; /* of the last answer */
    recorder_figures now;      /* but waiting */
    rf_text drift_json;

    /* The thread's own. */
    row_list out;     /* being written; stays until it is */
    store_row *batch; /* [QUEUE_ROWS] */
    size_t bytes_since_tidy;
};

/* ---- Taking answers ---------------------------------------------------------------- */

/* The first 64 bits of the text's sha256 decide: below this share of all values, it is
 * kept. So the same text is always kept, or never. */
static bool in_sample(const unsigned char digest[RF_SHA256_SIZE], double share)
{
    uint64_t x = 0;
    for (size_t i = 0; i < 8; i++)
        x = x << 8 | digest[i];
    return (double)x * 0x1p-64 < share;
}

static char *put_bytes(char **at, const char *bytes, size_t len)
{
    char *here = *at;
    memcpy(here, bytes, len);
    here[len] = '\0';
    *at += len + 1;
    return here;
}

static waiting_row *make_row(const recorder *r, const recorder_answer *a, int64_t now,
                             const unsigned char digest[RF_SHA256_SIZE])
{
    const rf_decision *d = a->decision;
    const rf_model *m = a->model->model;
    const char *label =
        d->class_index == RF_OPEN ? NULL : rf_model_label(m, d->class_index);
    const char *nearest = rf_model_label(m, d->nearest);
    size_t len = r->o.hash ? 0 : a->len;
    size_t bytes = len + (label ? strlen(label) : 0) + strlen(nearest) + 3;
    waiting_row *w = calloc(1, sizeof *w + bytes);
    if (!w)
        return NULL;
    char *at = (char *)(w + 1);
    w->bytes = bytes;
    w->row = (store_row){.time_ms = now,
                         .confidence = d->confidence,
                         .margin = d->margin,
                         .source = r->o.source,
                         .model = w->model};
    strcpy(w->model, a->model->sha256);
    if (r->o.hash) {
        rf_sha256_text(w->sha256, digest);
        w->row.sha256 = w->sha256;
    } else {
        w->row.text = put_bytes(&at, a->text, a->len);
        w->row.text_len = a->len;
    }
    if (label)
        w->row.label = put_bytes(&at, label, strlen(label));
    w->row.nearest = put_bytes(&at, nearest, strlen(nearest));
    return w;
}

/* With the lock held. */
static bool queue_row(recorder *r, waiting_row *w)
{
    row_list *q = &r->in;
    if (q->n == QUEUE_ROWS || q->bytes + w->bytes > QUEUE_BYTES)
        return false;
    q->rows[q->n++] = w;
    q->bytes += w->bytes;
    if (q->n == BATCH_ROWS)
        pthread_cond_signal(&r->wake);
    return true;
}

void recorder_add(recorder *r, const recorder_answer *a)
{
    unsigned char digest[RF_SHA256_SIZE] = {0};
    bool open = a->decision->class_index == RF_OPEN, keep = a->keep;
    int64_t now = store_now_ms();
    waiting_row *w = NULL;
    if (keep && (r->o.hash || (!open && r->o.sample > 0.0 && r->o.sample < 1.0))) {
        rf_sha256 h;
        rf_sha256_init(&h);
        rf_sha256_add(&h, a->text, a->len);
        rf_sha256_end(&h, digest);
    }
    if (keep && !open && r->o.sample < 1.0)
        keep = r->o.sample > 0.0 && in_sample(digest, r->o.sample);
    if (keep)
        w = make_row(r, a, now, digest);
    pthread_mutex_lock(&r->lock);
    if (strcmp(r->model, a->model->sha256) != 0)
        strcpy(r->model, a->model->sha256);
    if (!a->other_fence &&
        !count_blocks_add(&r->in.counts, now / STORE_HOUR_MS, a->model, a->decision))
        r->now.uncounted++;
    if (keep && !w)
        r->now.dropped_memory++;
    else if (w && queue_row(r, w))
        w = NULL; /* the queue's now */
    else if (w && r->now.failing)
        r->now.dropped_disk++;
    else if (w)
        r->now.dropped_full++;
    pthread_mutex_unlock(&r->lock);
    free(w);
}

/* ---- Writing ----------------------------------------------------------------------- */

static void clear_list(row_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->rows[i]);
    count_blocks_free(l->counts);
    l->n = l->bytes = 0;
    l->counts = NULL;
}

static bool is_empty(const row_list *l)
{
    return l->n == 0 && !l->counts;
}

/* Says the first failure in the log, and when it is over. */
static void note_result(recorder *r, rf_status st, const rf_error *err)
{
    pthread_mutex_lock(&r->lock);
    bool was = r->now.failing;
    r->now.failing = st != RF_OK;
    if (st != RF_OK) {
        r->now.errors++;
        memcpy(r->now.last_error, err->msg, sizeof r->now.last_error);
    }
    pthread_mutex_unlock(&r->lock);
    if (st != RF_OK && !was)
        log_line("store: %s; answering goes on without storing, trying again every %.0f "
                 "seconds",
                 err->msg, RETRY_SECONDS);
    else if (st == RF_OK && was)
        log_line("store: %s: storing again", r->o.path);
}

static rf_status write_out(recorder *r, rf_error *err)
{
    row_list *q = &r->out;
    size_t n_counts;
    bool no_memory;
    store_count *counts = count_blocks_list(q->counts, &n_counts, &no_memory);
    if (no_memory)
        return rf_fail_nomem(err, sizeof *counts, "hourly counts");
    for (size_t i = 0; i < q->n; i++)
        r->batch[i] = q->rows[i]->row;
    rf_status st = store_add(r->store, r->batch, q->n, counts, n_counts, err);
    free(counts);
    return st;
}

/* Writes what is waiting; false after a failure, which leaves it waiting. */
static bool write_batch(recorder *r)
{
    rf_error err = {0};
    if (is_empty(&r->out)) {
        pthread_mutex_lock(&r->lock);
        row_list in = r->in;
        r->in = r->out;
        r->out = in;
        pthread_mutex_unlock(&r->lock);
    }
    if (is_empty(&r->out))
        return true;
    size_t n = r->out.n, added = r->out.bytes;
    rf_status st = write_out(r, &err);
    note_result(r, st, &err);
    if (st != RF_OK)
        return false;
    clear_list(&r->out);
    r->bytes_since_tidy += added;
    int64_t bytes = store_bytes(r->store);
    pthread_mutex_lock(&r->lock);
    r->now.stored += n;
    r->now.bytes = bytes;
    pthread_mutex_unlock(&r->lock);
    return true;
}

/* ---- Age, size and drift ----------------------------------------------------------- */

static rf_status renew_drift(recorder *r, rf_error *err)
{
    drift_options o = drift_options_default();
    drift_report report;
    rf_text json, old;
    char model[RF_SHA256_HEX];
    pthread_mutex_lock(&r->lock);
    strcpy(model, r->model);
    pthread_mutex_unlock(&r->lock);
    o.model = model;
    rf_status st = drift_run(r->store, &o, &report, err);
    if (st != RF_OK) {
        drift_report_release(&report);
        return st;
    }
    rf_text_init(&json, JSON_MAX, "a drift report");
    drift_write_json(&report, &json);
    drift_report_release(&report);
    pthread_mutex_lock(&r->lock);
    r->now.drift = report;
    old = r->drift_json;
    r->drift_json = json;
    pthread_mutex_unlock(&r->lock);
    rf_text_release(&old);
    return RF_OK;
}

/* Have enough rows been added to look at the size before the time has come? */
static bool has_grown(const recorder *r)
{
    return r->bytes_since_tidy >= (r->o.mb << 20) / TIDY_PART;
}

static void tidy(recorder *r)
{
    rf_error err = {0};
    store_limits limits = {(int64_t)r->o.days * STORE_DAY_MS, (int64_t)r->o.mb << 20};
    size_t removed = 0;
    rf_status st = store_trim(r->store, &limits, store_now_ms(), &removed, &err);
    int64_t bytes = store_bytes(r->store);
    pthread_mutex_lock(&r->lock);
    r->now.removed += removed;
    r->now.bytes = bytes;
    pthread_mutex_unlock(&r->lock);
    r->bytes_since_tidy = 0;
    if (st == RF_OK)
        st = renew_drift(r, &err);
    if (st != RF_OK)
        note_result(r, st, &err);
}

/* ---- The thread -------------------------------------------------------------------- */

/* Waits for rows, or until the time has come; true if it is time to stop. */
static bool wait_for_rows(recorder *r, double seconds, bool for_rows)
{
    struct timespec end = rf_clock_after(seconds);
    pthread_mutex_lock(&r->lock);
    while (!r->stop && !(for_rows && r->in.n >= BATCH_ROWS) &&
           pthread_cond_timedwait(&r->wake, &r->lock, &end) == 0)
        ;
    bool stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    return stop;
}

static void *recorder_main(void *arg)
{
    recorder *r = arg;
    double tidied = -TIDY_SECONDS, now;
    bool ok = true;
    prctl(PR_SET_NAME, "rf-store");
    for (bool stop = false; !stop;) {
        now = rf_clock_seconds();
        if (ok && (now - tidied >= TIDY_SECONDS || has_grown(r))) {
            tidy(r);
            tidied = now;
        }
        stop = wait_for_rows(r, ok ? BATCH_SECONDS : RETRY_SECONDS, ok);
        ok = write_batch(r);
    }
    /* What was being written, and what came meanwhile. */
    while (ok && !is_empty(&r->in))
        ok = write_batch(r);
    if (ok && has_grown(r))
        tidy(r);
    return NULL;
}

recorder *recorder_new(const recorder_options *o, const loaded_model *model,
                       rf_error *err)
{
    recorder *r = calloc(1, sizeof *r);
    if (!r) {
        rf_fail_nomem(err, sizeof *r, "the store");
        return NULL;
    }
    r->o = *o;
    pthread_mutex_init(&r->lock, NULL);
    rf_clock_cond_init(&r->wake);
    strcpy(r->model, model->sha256);
    r->in.rows = calloc(QUEUE_ROWS, sizeof *r->in.rows);
    r->out.rows = calloc(QUEUE_ROWS, sizeof *r->out.rows);
    r->batch = calloc(QUEUE_ROWS, sizeof *r->batch);
    if (!r->in.rows || !r->out.rows || !r->batch)
        rf_fail_nomem(err, QUEUE_ROWS * sizeof *r->batch, "rows to store");
    else if ((r->store = store_open(o->path, STORE_CREATE, err)) &&
             renew_drift(r, err) == RF_OK &&
             thread_start(&r->thread, recorder_main, r, "a thread for the store", err) ==
                 RF_OK) {
        r->started = true;
        return r;
    }
    recorder_free(r);
    return NULL;
}

void recorder_free(recorder *r)
{
    if (!r)
        return;
    if (r->started) {
        pthread_mutex_lock(&r->lock);
        r->stop = true;
        pthread_cond_signal(&r->wake);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
    }
    size_t lost = r->in.n + r->out.n;
    if (lost)
        log_line("store: %zu rows are lost: %s", lost, r->now.last_error);
    store_close(r->store);
    clear_list(&r->in);
    clear_list(&r->out);
    free(r->in.rows);
    free(r->out.rows);
    free(r->batch);
    rf_text_release(&r->drift_json);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- Looking at it ----------------------------------------------------------------- */

void recorder_look(recorder *r, recorder_figures *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->now;
    out->waiting = r->in.n;
    pthread_mutex_unlock(&r->lock);
}

void recorder_write_drift(recorder *r, rf_text *out)
{
    pthread_mutex_lock(&r->lock);
    rf_text_add(out, r->drift_json.buffer.data, r->drift_json.buffer.len);
    pthread_mutex_unlock(&r->lock);
}
