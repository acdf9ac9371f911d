/* learner.c - the thread of reviews and changes: what is wanted, how far it is */
#include "learner_tasks.h"

#include "log.h"
#include "model_history.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define LOW_PRIORITY 10 /* nice: answers come first */

static const char *const task_names[] = {
    [TASK_NONE] = "none",     [TASK_REVIEW] = "review", [TASK_PREVIEW] = "preview",
    [TASK_UPDATE] = "update", [TASK_FENCE] = "fence",   [TASK_UNDO] = "undo"};

bool learner_going(learner *l, const char *progress)
{
    pthread_mutex_lock(&l->lock);
    snprintf(l->progress, sizeof l->progress, "%s", progress);
    bool gives_way = l->running == TASK_REVIEW && l->wanted.task != TASK_NONE;
    bool going = !l->stop && !gives_way;
    pthread_mutex_unlock(&l->lock);
    return going;
}

/* ---- The thread -------------------------------------------------------------------- */

/* The next task; TASK_NONE: it is time to end. */
static learner_order take_task(learner *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->stop && l->wanted.task == TASK_NONE && !l->review_wanted)
        pthread_cond_wait(&l->wake, &l->lock);
    learner_order o = l->wanted;
    if (l->stop)
        o.task = TASK_NONE;
    else if (o.task == TASK_NONE)
        o.task = TASK_REVIEW;
    l->running = o.task;
    l->wanted.task = TASK_NONE;
    l->progress[0] = '\0';
    pthread_mutex_unlock(&l->lock);
    return o;
}

/* Nobody else changes l->review, so it is copied and replaced under the lock. */
static void run_review(learner *l)
{
    rf_error err = {0};
    finished_review next = l->review, old = {0};
    rf_status st = learner_do_review(l, &next, &err);
    pthread_mutex_lock(&l->lock);
    l->running = TASK_NONE;
    if (st != RF_ERR_STOPPED) { /* else it is wanted still */
        if (next.json.buffer.data != l->review.json.buffer.data)
            old = l->review;
        l->review_wanted = false;
        l->review = next;
        l->review.failed = st != RF_OK;
        memcpy(l->review.error, err.msg, sizeof err.msg);
    }
    pthread_mutex_unlock(&l->lock);
    rf_text_release(&old.json);
    if (st != RF_OK && st != RF_ERR_STOPPED)
        log_line("review failed: %s", err.msg);
}

static rf_status do_change(learner *l, const learner_order *o, char **report,
                           rf_error *err)
{
    switch (o->task) {
    case TASK_FENCE: return learner_do_fence(l, o, err);
    case TASK_UNDO: return learner_do_undo(l, o->who, err);
    default: return learner_do_update(l, o->task == TASK_PREVIEW, o->who, report, err);
    }
}

/* How many steps an undo has, without what a change has left that came to nothing. */
static size_t count_steps(learner *l)
{
    const char *path = model_slot_path(l->o.models);
    loaded_model *m = model_slot_acquire(l->o.models);
    model_history_tidy(path, &m->bytes);
    loaded_model_unref(m);
    return model_history_steps(path);
}

static void run_change(learner *l, const learner_order *o)
{
    rf_error err = {0};
    char *report = NULL;
    rf_status st = do_change(l, o, &report, &err);
    size_t undo_steps = count_steps(l);
    if (st == RF_ERR_STOPPED)
        rf_fail(&err, st, 0, "the service is stopping");
    if (st != RF_OK)
        log_line("%s by %s failed, nothing has changed: %s", task_names[o->task], o->who,
                 err.msg);
    pthread_mutex_lock(&l->lock);
    free(l->report);
    l->report = report;
    l->last = o->task;
    l->running = TASK_NONE;
    l->undo_steps = undo_steps;
    if (st == RF_OK)
        l->error[0] = '\0';
    else
        memcpy(l->error, err.msg, sizeof l->error);
    pthread_mutex_unlock(&l->lock);
}

static void *learner_main(void *arg)
{
    learner *l = arg;
    prctl(PR_SET_NAME, "rf-learner");
    setpriority(PRIO_PROCESS, 0, LOW_PRIORITY); /* of this thread, in Linux */
    for (learner_order o; (o = take_task(l)).task != TASK_NONE;)
        if (o.task == TASK_REVIEW)
            run_review(l);
        else
            run_change(l, &o);
    return NULL;
}

learner *learner_new(const learner_options *o, rf_error *err)
{
    learner *l = calloc(1, sizeof *l);
    if (!l) {
        rf_fail_nomem(err, sizeof *l, "updates");
        return NULL;
    }
    l->o = *o;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wake, NULL);
    rf_text_init(&l->review.json, LEARNER_JSON, "a review");
    l->store = o->path ? store_open(o->path, STORE_WRITE, err) : NULL;
    l->undo_steps = count_steps(l);
    l->started =
        (l->store || !o->path) &&
        thread_start(&l->thread, learner_main, l, "a thread for updates", err) == RF_OK;
    if (l->started)
        return l;
    learner_free(l);
    return NULL;
}

void learner_free(learner *l)
{
    if (!l)
        return;
    if (l->started) {
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_signal(&l->wake);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    store_close(l->store);
    rf_text_release(&l->review.json);
    free(l->report);
    pthread_cond_destroy(&l->wake);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- From outside ------------------------------------------------------------------ */

bool learner_start(learner *l, const learner_order *o, problem *p)
{
    bool ok = false;
    pthread_mutex_lock(&l->lock);
    learner_task busy = l->running > TASK_REVIEW ? l->running : l->wanted.task;
    if (busy != TASK_NONE)
        problem_set(p, 409, "busy", "found another %s going on, wanted one at a time",
                    task_names[busy]);
    else if (o->task == TASK_UNDO && l->undo_steps == 0)
        problem_set(p, 409, "nothing_to_undo",
                    "found no %s.before, which a change leaves",
                    model_slot_path(l->o.models));
    else {
        l->wanted = *o;
        pthread_cond_signal(&l->wake);
        ok = true;
    }
    pthread_mutex_unlock(&l->lock);
    return ok;
}

void learner_write_update(learner *l, rf_text *out)
{
    pthread_mutex_lock(&l->lock);
    learner_task busy = l->running > TASK_REVIEW ? l->running : l->wanted.task;
    learner_task task = busy ? busy : l->last;
    const char *state = busy                   ? "working"
                        : l->last == TASK_NONE ? "idle"
                        : l->error[0]          ? "failed"
                                               : "done";
    rf_text_format(out, "{\"state\": \"%s\", \"task\": ", state);
    if (task)
        rf_text_name(out, task_names[task]);
    else
        rf_text_put(out, "null");
    rf_text_format(out, ", \"undo\": %zu", l->undo_steps);
    rf_text_put(out, ", \"progress\": ");
    rf_text_name(out, busy && l->running == busy ? l->progress : "");
    rf_text_put(out, ", \"error\": ");
    if (!busy && l->error[0])
        rf_text_name(out, l->error);
    else
        rf_text_put(out, "null");
    rf_text_put(out, ", \"report\": ");
    rf_text_put(out, !busy && l->report ? l->report : "null");
    rf_text_put(out, "}\n");
    pthread_mutex_unlock(&l->lock);
}

unsigned learner_write_review(learner *l, bool refresh, rf_text *out, problem *p)
{
    unsigned status = 200;
    loaded_model *m = model_slot_acquire(l->o.models);
    pthread_mutex_lock(&l->lock);
    finished_review *r = &l->review;
    bool current = r->ready && strcmp(r->model, m->sha256) == 0;
    if (refresh || (!current && !r->failed)) {
        l->review_wanted = true;
        pthread_cond_signal(&l->wake);
    }
    if (l->review_wanted) {
        status = 202;
        rf_text_put(out, "{\"state\": \"working\", \"progress\": ");
        rf_text_name(out, l->running == TASK_REVIEW ? l->progress
                          : l->running == TASK_NONE ? ""
                                                    : "waiting for the update");
        rf_text_put(out, "}\n");
    } else if (r->failed) {
        status = 500;
        problem_set(p, status, "internal", "%s", r->error);
    } else
        rf_text_add(out, r->json.buffer.data, r->json.buffer.len);
    pthread_mutex_unlock(&l->lock);
    loaded_model_unref(m);
    return status;
}
