/*
 * reload.c - replacing the model in service
 *
 * The main thread does it, on SIGHUP. Requests and the learner ask for one by adding
 * themselves to a list and raising that signal; all that were waiting when loading began
 * get the same answer.
 */
#include "base/clock.h"
#include "log.h"
#include "service.h"

#include <signal.h>

bool service_request_reload(service *s, exchange *x, struct MHD_Connection *c)
{
    conn_enter(s->deadlines, x->connection, CONN_WORKING, NULL);
    pthread_mutex_lock(&s->reload_lock);
    bool accepted = !s->no_more_reloads;
    if (accepted) {
        x->waiting = c;
        x->next_reload = s->reloads;
        s->reloads = x;
        MHD_suspend_connection(c);
    }
    pthread_mutex_unlock(&s->reload_lock);
    if (accepted)
        pthread_kill(s->main_thread, SIGHUP);
    return accepted;
}

static exchange *take_reloads(service *s)
{
    pthread_mutex_lock(&s->reload_lock);
    exchange *all = s->reloads;
    s->reloads = NULL;
    pthread_mutex_unlock(&s->reload_lock);
    return all;
}

/* Resumes the requests that were waiting when loading began. failure: NULL on success. */
static void answer_reloads(service *s, exchange *x, const problem *failure,
                           size_t generation)
{
    pthread_mutex_lock(&s->reload_lock); /* they were suspended under it */
    for (exchange *next; x; x = next) {
        next = x->next_reload;
        x->reload_generation = generation;
        if (failure)
            x->refusal = *failure;
        if (x->waiting)
            MHD_resume_connection(x->waiting);
    }
    pthread_cond_broadcast(&s->reload_answered);
    pthread_mutex_unlock(&s->reload_lock);
}

rf_status service_reload_and_wait(void *user, rf_error *err)
{
    service *s = user;
    exchange x = {.service = s};
    pthread_mutex_lock(&s->reload_lock);
    if (s->no_more_reloads)
        problem_shutting_down(&x.refusal);
    else {
        x.next_reload = s->reloads;
        s->reloads = &x;
        pthread_kill(s->main_thread, SIGHUP);
    }
    while (!x.reload_generation && !x.refusal.status)
        pthread_cond_wait(&s->reload_answered, &s->reload_lock);
    pthread_mutex_unlock(&s->reload_lock);
    return x.reload_generation ? RF_OK
                               : rf_fail(err, RF_ERR_IO, 0, "%s", x.refusal.message);
}

void service_reload(service *s)
{
    rf_error err = {0};
    exchange *waiting = take_reloads(s);
    double start = rf_clock_seconds();
    if (model_slot_reload(s->models, &err) != RF_OK) {
        problem failure = {0};
        atomic_fetch_add(&s->counts.reloads_failed, 1);
        log_line("reload failed, still serving the old model: %s", err.msg);
        problem_set(&failure, 422, "bad_model", "still serving the old model: %s",
                    err.msg);
        answer_reloads(s, waiting, &failure, 0);
        return;
    }
    queue_poke(s->queue); /* idle workers drop the old model */
    atomic_fetch_add(&s->counts.reloads_ok, 1);
    loaded_model *m = model_slot_acquire(s->models);
    size_t classes = rf_model_classes(m->model);
    log_line("reloaded %s in %.1f s: generation %zu, %zu %s", model_slot_path(s->models),
             rf_clock_seconds() - start, m->generation, classes,
             classes == 1 ? "class" : "classes");
    answer_reloads(s, waiting, NULL, m->generation);
    loaded_model_unref(m);
}

void service_end_reloads(service *s, const problem *why)
{
    pthread_mutex_lock(&s->reload_lock);
    s->no_more_reloads = true;
    pthread_mutex_unlock(&s->reload_lock);
    answer_reloads(s, take_reloads(s), why, 0);
}
