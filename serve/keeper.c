#include "keeper.h"

#include "clock.h"

#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define TICK 0.1       /* seconds between two looks */
#define DRAIN_IDLE 0.5 /* seconds that an idle connection has left when draining */
#define CROWDED_IDLE 2 /* and when there is hardly room for new ones */
#define AT_ONCE 64     /* jobs that are ended at a time */

struct kept {
    kept *next, *previous;
    int fd;
    phase phase;
    double since, end; /* of the phase */
    job *job;
};

struct keeper {
    keeper_limits limits;
    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t stop;
    bool stopping, draining, busy_since_trim;
    kept *first;
    size_t n, working;
    double drain_begun;
    problem late; /* what a job that has to end is told */
};

/* ---- Connections ------------------------------------------------------------------- */

static void begin(keeper *k, kept *c, phase to, job *j)
{
    double now = clock_now(), allowed[] = {[PHASE_IDLE] = k->limits.idle,
                                           [PHASE_RECEIVING] = k->limits.receive,
                                           [PHASE_WORKING] = INFINITY,
                                           [PHASE_SENDING] = k->limits.send};
    k->working += (to == PHASE_WORKING);
    k->working -= (c->phase == PHASE_WORKING);
    c->phase = to;
    c->job = j;
    c->since = now;
    c->end = j ? j->deadline : now + allowed[to];
}

kept *keeper_add(keeper *k, int fd)
{
    kept *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->fd = fd;
    pthread_mutex_lock(&k->lock);
    begin(k, c, PHASE_IDLE, NULL);
    if (c->end > c->since + k->limits.receive) /* a new one should have a reason */
        c->end = c->since + k->limits.receive;
    c->next = k->first;
    if (k->first)
        k->first->previous = c;
    k->first = c;
    k->n++;
    pthread_mutex_unlock(&k->lock);
    return c;
}

void keeper_remove(keeper *k, kept *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&k->lock);
    begin(k, c, PHASE_IDLE, NULL);
    if (c->previous)
        c->previous->next = c->next;
    else
        k->first = c->next;
    if (c->next)
        c->next->previous = c->previous;
    k->n--;
    pthread_mutex_unlock(&k->lock);
    free(c);
}

void keeper_enter(keeper *k, kept *c, phase to, job *j)
{
    pthread_mutex_lock(&k->lock);
    begin(k, c, to, j);
    k->busy_since_trim = true;
    pthread_mutex_unlock(&k->lock);
}

size_t keeper_connections(keeper *k)
{
    pthread_mutex_lock(&k->lock);
    size_t n = k->n;
    pthread_mutex_unlock(&k->lock);
    return n;
}

/* ---- The rounds -------------------------------------------------------------------- */

/* When this connection has to end, as things stand. */
static double end_of(const keeper *k, const kept *c)
{
    double end = c->end;
    if (c->phase == PHASE_IDLE && k->draining) {
        double from = c->since > k->drain_begun ? c->since : k->drain_begun;
        end = fmin(end, from + DRAIN_IDLE);
    }
    if (c->phase == PHASE_IDLE && 8 * k->n > 7 * k->limits.max_connections)
        end = fmin(end, c->since + CROWDED_IDLE);
    return end;
}

/* A request may lie there that nobody has had the time to look at. */
static bool has_input(const kept *c)
{
    int bytes = 0;
    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* Nobody is there any more to read an answer. (A client that only closed its side may
 * still read.) */
static bool is_gone(const kept *c)
{
    struct pollfd p = {.fd = c->fd};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP));
}

/* Shuts down what is late, and lends up to AT_ONCE jobs that are. A socket that is shut
 * down wakes the library, which then closes it. */
static size_t find_late(keeper *k, double now, job **late)
{
    size_t n = 0;
    for (kept *c = k->first; c && n < AT_ONCE; c = c->next) {
        /* From here on a stream waits for its reader only. */
        if (c->job && c->job->stream && job_is_done(c->job))
            begin(k, c, PHASE_SENDING, NULL);
        if (c->job && is_gone(c))
            c->end = 0;
        if (now < end_of(k, c) || (c->phase == PHASE_IDLE && has_input(c)))
            continue;
        if (c->phase != PHASE_WORKING)
            shutdown(c->fd, SHUT_RDWR);
        else if (c->job) {
            job_lend(c->job);
            late[n++] = c->job;
            begin(k, c, PHASE_SENDING, NULL); /* what there is, or the problem */
        }
    }
    return n;
}

/* Jobs are ended without the keeper's lock: that wakes their connections. */
static void look(keeper *k, double now)
{
    job *late[AT_ONCE];
    size_t n;
    do {
        pthread_mutex_lock(&k->lock);
        problem why = k->late;
        n = find_late(k, now, late);
        pthread_mutex_unlock(&k->lock);
        for (size_t i = 0; i < n; i++) {
            job_expire(late[i], &why);
            job_return(late[i]);
        }
    } while (n == AT_ONCE);
}

/* What big requests needed goes back to the system once nobody works. */
static bool time_to_trim(keeper *k)
{
    if (!k->busy_since_trim || k->working > 0)
        return false;
    k->busy_since_trim = false;
    return true;
}

static void *keep(void *arg)
{
    keeper *k = arg;
    unsigned round = 0;
    prctl(PR_SET_NAME, "rf-keeper");
    pthread_mutex_lock(&k->lock);
    while (!k->stopping) {
        struct timespec next = clock_in(TICK);
        pthread_cond_timedwait(&k->stop, &k->lock, &next);
        bool trim = ++round % 20 == 0 && time_to_trim(k);
        pthread_mutex_unlock(&k->lock);
        look(k, clock_now());
        if (trim)
            malloc_trim(0);
        pthread_mutex_lock(&k->lock);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* ---- Beginning and ending ---------------------------------------------------------- */

keeper *keeper_new(const keeper_limits *limits, rf_error *err)
{
    keeper *k = calloc(1, sizeof *k);
    if (!k) {
        rf_fail_nomem(err, sizeof *k, "the keeper of connections");
        return NULL;
    }
    k->limits = *limits;
    problem_set(&k->late, 504, "deadline_exceeded",
                "the answer was not there before the deadline of the request");
    pthread_mutex_init(&k->lock, NULL);
    clock_cond_init(&k->stop);
    int code = pthread_create(&k->thread, NULL, keep, k);
    if (code != 0) {
        rf_fail(err, RF_ERR_IO, 0, "cannot start a thread (error %d)", code);
        free(k);
        return NULL;
    }
    return k;
}

void keeper_free(keeper *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->stopping = true;
    pthread_cond_signal(&k->stop);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->stop);
    free(k);
}

void keeper_drain(keeper *k)
{
    pthread_mutex_lock(&k->lock);
    k->draining = true;
    k->drain_begun = clock_now();
    pthread_mutex_unlock(&k->lock);
}

void keeper_expire_jobs(keeper *k, const problem *why)
{
    pthread_mutex_lock(&k->lock);
    k->late = *why;
    for (kept *c = k->first; c; c = c->next)
        if (c->job)
            c->end = 0;
    pthread_mutex_unlock(&k->lock);
    look(k, clock_now());
}
