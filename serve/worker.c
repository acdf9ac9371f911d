#include "worker.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define MAX_BATCH 1024 /* texts */

typedef struct worker {
    struct crew *crew;
    size_t number;
    pthread_t thread;
    edition *mine;
    queue_item items[MAX_BATCH];
    const char *texts[MAX_BATCH];
    size_t lens[MAX_BATCH];
    size_t answered; /* of the batch */
} worker;

struct crew {
    queue *queue;
    model_slot *models;
    metrics *counts;
    size_t max_tokens;
    size_t n; /* that were started */
    worker *workers;
};

/* ---- One batch --------------------------------------------------------------------- */

/* The session's sink: a text that cannot be put into words fails alone. */
static rf_status take_decision(void *user, const rf_decision *d, rf_error *err)
{
    (void)err;
    worker *w = user;
    queue_item it = w->items[w->answered++];
    rf_error wrong = {0};
    problem p = {0};
    char *json = NULL;
    size_t len = 0;
    /* The model may be a newer one than that which the request was checked for. */
    const rf_answer_options *o = &it.job->options;
    if (edition_can_answer(w->mine, o, &p) &&
        rf_decision_json(w->mine->model, d, o, &json, &len, &wrong) != RF_OK)
        problem_from(&p, &wrong);
    if (json) {
        edition_count(w->mine, d->class_index);
        atomic_fetch_add(&w->crew->counts->texts, 1);
        if (d->class_index == RF_OPEN)
            atomic_fetch_add(&w->crew->counts->open, 1);
    }
    job_finish(it.job, it.text, json, len, &p);
    return RF_OK;
}

static rf_status classify(worker *w, size_t from, size_t n, rf_error *err)
{
    return rf_classify_all(w->mine->sessions[w->number], w->texts + from, w->lens + from,
                           n, take_decision, w, err);
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
    while (w->answered < n) { /* what is left, one by one */
        size_t i = w->answered;
        if (classify(w, i, 1, &err) == RF_OK)
            continue;
        problem_from(&p, &err);
        w->answered = i + 1;
        job_finish(w->items[i].job, w->items[i].text, NULL, 0, &p);
    }
}

static void *work(void *arg)
{
    worker *w = arg;
    crew *c = w->crew;
    char name[16];
    queue_view view = {0};
    snprintf(name, sizeof name, "rf-worker-%zu", w->number);
    prctl(PR_SET_NAME, name);
    while (!view.closed) {
        size_t n = queue_take(c->queue, w->items, MAX_BATCH, c->max_tokens, &view);
        model_slot_refresh(c->models, &w->mine);
        if (n == 0)
            continue;
        double begun = clock_now();
        run_batch(w, n);
        metrics_batch(c->counts, n, clock_now() - begun);
    }
    edition_return(w->mine);
    return NULL;
}

/* ---- The crew ---------------------------------------------------------------------- */

crew *crew_new(size_t workers, size_t max_tokens, queue *q, model_slot *models,
               metrics *counts, rf_error *err)
{
    crew *c = calloc(1, sizeof *c);
    worker *all = calloc(workers, sizeof *all);
    if (!c || !all) {
        free(c);
        free(all);
        rf_fail_nomem(err, workers * sizeof *all, "workers");
        return NULL;
    }
    *c = (crew){q, models, counts, max_tokens, 0, all};
    for (; c->n < workers; c->n++) {
        worker *w = &all[c->n];
        w->crew = c;
        w->number = c->n;
        w->mine = model_slot_borrow(models);
        int code = pthread_create(&w->thread, NULL, work, w);
        if (code != 0) {
            edition_return(w->mine);
            rf_fail(err, RF_ERR_IO, 0, "cannot start worker %zu of %zu (error %d)",
                    c->n + 1, workers, code);
            crew_free(c);
            return NULL;
        }
    }
    return c;
}

void crew_free(crew *c)
{
    if (!c)
        return;
    queue_close(c->queue);
    for (size_t i = 0; i < c->n; i++)
        pthread_join(c->workers[i].thread, NULL);
    free(c->workers);
    free(c);
}
