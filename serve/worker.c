/* worker.c - the batches of a worker, and the pool of workers */
#include "worker.h"

#include "base/clock.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define MAX_BATCH 1024 /* texts */

typedef struct worker {
    struct worker_pool *pool;
    size_t number;
    pthread_t thread;
    loaded_model *current;
    queue_item items[MAX_BATCH];
    const char *texts[MAX_BATCH];
    size_t lens[MAX_BATCH];
    size_t answered; /* texts of the batch so far */
} worker;

struct worker_pool {
    queue *queue;
    model_slot *models;
    metrics *counts;
    recorder *recorder; /* NULL: none */
    size_t max_tokens;
    size_t n; /* workers started */
    worker *workers;
};

/* ---- One batch --------------------------------------------------------------------- */

static void count_answer(worker *w, const rf_decision *d, const job *j, const job_text *t)
{
    worker_pool *p = w->pool;
    loaded_model_count(w->current, d->class_index);
    atomic_fetch_add(&p->counts->texts, 1);
    if (d->class_index == RF_OPEN)
        atomic_fetch_add(&p->counts->open, 1);
    if (p->recorder)
        recorder_add(p->recorder, &(recorder_answer){.model = w->current,
                                                     .decision = d,
                                                     .text = t->bytes,
                                                     .len = t->len,
                                                     .keep = !j->no_store,
                                                     .other_fence = j->fence != 0.0f});
}

/* Called by the session for each text in order. If the JSON of an answer cannot be
 * written, only that text fails. */
static rf_status take_decision(void *user, const rf_decision *d, rf_error *unused)
{
    (void)unused;
    worker *w = user;
    queue_item it = w->items[w->answered++];
    rf_error err = {0};
    problem p = {0};
    char *json = NULL;
    size_t len = 0;
    /* The request may have been checked against an older model. */
    rf_answer_options o = it.job->options;
    if (o.explain) {
        o.source = it.job->texts[it.text].bytes;
        o.source_len = it.job->texts[it.text].len;
    }
    if (loaded_model_can_answer(w->current, &o, &p) &&
        rf_decision_json(w->current->model, d, &o, &json, &len, &err) != RF_OK)
        problem_from(&p, &err);
    if (json)
        count_answer(w, d, it.job, &it.job->texts[it.text]);
    job_finish(it.job, it.text, json, len, &p);
    return RF_OK;
}

/* Texts in a row with the same fence are one call: almost always all of them. */
static rf_status classify(worker *w, size_t from, size_t n, rf_error *err)
{
    rf_session *session = w->current->sessions[w->number];
    rf_status st = RF_OK;
    for (size_t end = from + n, next; from < end && st == RF_OK; from = next) {
        float fence = w->items[from].job->fence;
        next = from + 1;
        while (next < end && w->items[next].job->fence == fence)
            next++;
        st = rf_session_set_fence(session, fence, err);
        if (st == RF_OK)
            st = rf_classify_all(session, w->texts + from, w->lens + from, next - from,
                                 take_decision, w, err);
    }
    return st;
}

static void run_batch(worker *w, size_t n)
{
    rf_error err = {0};
    problem p = {0};
    for (size_t i = 0; i < n; i++) {
        const job_text *t = &w->items[i].job->texts[w->items[i].text];
        w->texts[i] = t->bytes;
        w->lens[i] = t->len;
    }
    w->answered = 0;
    if (classify(w, 0, n, &err) == RF_OK)
        return;
    while (w->answered < n) { /* the rest, one by one */
        size_t i = w->answered;
        if (classify(w, i, 1, &err) == RF_OK)
            continue;
        problem_from(&p, &err);
        w->answered = i + 1;
        job_finish(w->items[i].job, w->items[i].text, NULL, 0, &p);
    }
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    worker_pool *p = w->pool;
    char name[16];
    queue_view view = {0};
    snprintf(name, sizeof name, "rf-worker-%zu", w->number);
    prctl(PR_SET_NAME, name);
    while (!view.closed) {
        size_t n = queue_take(p->queue, w->items, MAX_BATCH, p->max_tokens, &view);
        model_slot_refresh(p->models, &w->current);
        if (n == 0)
            continue;
        double start = rf_clock_seconds();
        run_batch(w, n);
        metrics_batch(p->counts, n, rf_clock_seconds() - start);
    }
    loaded_model_unref(w->current);
    return NULL;
}

/* ---- The pool ---------------------------------------------------------------------- */

worker_pool *worker_pool_new(size_t workers, size_t max_tokens, queue *q,
                             model_slot *models, metrics *counts, recorder *rec,
                             rf_error *err)
{
    worker_pool *p = calloc(1, sizeof *p);
    worker *all = calloc(workers, sizeof *all);
    if (!p || !all) {
        free(p);
        free(all);
        rf_fail_nomem(err, workers * sizeof *all, "workers");
        return NULL;
    }
    *p = (worker_pool){q, models, counts, rec, max_tokens, 0, all};
    for (; p->n < workers; p->n++) {
        worker *w = &all[p->n];
        w->pool = p;
        w->number = p->n;
        w->current = model_slot_acquire(models);
        if (thread_start(&w->thread, worker_main, w, "a worker", err) != RF_OK) {
            loaded_model_unref(w->current);
            worker_pool_free(p);
            return NULL;
        }
    }
    return p;
}

void worker_pool_free(worker_pool *p)
{
    if (!p)
        return;
    queue_close(p->queue);
    for (size_t i = 0; i < p->n; i++)
        pthread_join(p->workers[i].thread, NULL);
    free(p->workers);
    free(p);
}
