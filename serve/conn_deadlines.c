/* conn_deadlines.c - the list of connections, and the thread that checks their deadlines
 */
#include "conn_deadlines.h"

#include "base/clock.h"
#include "thread.h"

#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define TICK 0.1        /* seconds between two checks */
#define TRIM_TICKS 20   /* between two looks at whether memory can be given back */
#define DRAIN_IDLE 0.5  /* idle limit in seconds while draining */
#define CROWDED_IDLE 2  /* and when nearly all connections are taken */
#define EXPIRE_BATCH 64 /* jobs expired per pass */

struct conn {
    conn *next, *previous;
    int fd;
    conn_phase phase;
    double since, deadline; /* of the phase */
    job *job;
};

struct conn_deadlines {
    conn_limits limits;
    pthread_t thread;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t stop;
    bool stopping, draining, busy_since_trim;
    conn *first;
    size_t n, working;
    double drain_start;
    problem late; /* the answer to a job past its deadline */
};

/* ---- Connections ------------------------------------------------------------------- */

static void set_phase(conn_deadlines *d, conn *c, conn_phase phase, job *j)
{
    double now = rf_clock_seconds(), allowed[] = {[CONN_IDLE] = d->limits.idle,
                                                  [CONN_RECEIVING] = d->limits.receive,
                                                  [CONN_WORKING] = INFINITY,
                                                  [CONN_SENDING] = d->limits.send};
    d->working += (phase == CONN_WORKING);
    d->working -= (c->phase == CONN_WORKING);
    c->phase = phase;
    c->job = j;
    c->since = now;
    c->deadline = j ? j->deadline : now + allowed[phase];
}

conn *conn_add(conn_deadlines *d, int fd)
{
    conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->fd = fd;
    pthread_mutex_lock(&d->lock);
    set_phase(d, c, CONN_IDLE, NULL);
    /* A client that connects should have something to send. */
    c->deadline = fmin(c->deadline, c->since + d->limits.receive);
    c->next = d->first;
    if (d->first)
        d->first->previous = c;
    d->first = c;
    d->n++;
    pthread_mutex_unlock(&d->lock);
    return c;
}

void conn_remove(conn_deadlines *d, conn *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&d->lock);
    set_phase(d, c, CONN_IDLE, NULL);
    if (c->previous)
        c->previous->next = c->next;
    else
        d->first = c->next;
    if (c->next)
        c->next->previous = c->previous;
    d->n--;
    pthread_mutex_unlock(&d->lock);
    free(c);
}

void conn_enter(conn_deadlines *d, conn *c, conn_phase phase, job *j)
{
    pthread_mutex_lock(&d->lock);
    set_phase(d, c, phase, j);
    d->busy_since_trim = true;
    pthread_mutex_unlock(&d->lock);
}

size_t conn_deadlines_count(conn_deadlines *d)
{
    pthread_mutex_lock(&d->lock);
    size_t n = d->n;
    pthread_mutex_unlock(&d->lock);
    return n;
}

/* ---- Checking ---------------------------------------------------------------------- */

/* The deadline of this connection, which for idle ones depends on the others. */
static double current_deadline(const conn_deadlines *d, const conn *c)
{
    double deadline = c->deadline;
    if (c->phase == CONN_IDLE && d->draining)
        deadline = fmin(deadline, fmax(c->since, d->drain_start) + DRAIN_IDLE);
    if (c->phase == CONN_IDLE && 8 * d->n > 7 * d->limits.max_connections)
        deadline = fmin(deadline, c->since + CROWDED_IDLE);
    return deadline;
}

/* A request may have arrived that the I/O thread has not read yet. */
static bool has_input(const conn *c)
{
    int bytes = 0;
    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* The client has reset the connection. (One that only shut down its sending side may
 * still read the answer.) */
static bool is_gone(const conn *c)
{
    struct pollfd p = {.fd = c->fd};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP));
}

/* Shuts late connections down, and returns up to EXPIRE_BATCH late jobs with a reference
 * to each. A socket that is shut down wakes the library, which then closes it. */
static size_t find_late(conn_deadlines *d, double now, job **late)
{
    size_t n = 0;
    for (conn *c = d->first; c && n < EXPIRE_BATCH; c = c->next) {
        /* A finished stream only waits for its reader. */
        if (c->job && c->job->stream && job_is_done(c->job))
            set_phase(d, c, CONN_SENDING, NULL);
        if (c->job && is_gone(c))
            c->deadline = 0;
        if (now < current_deadline(d, c) || (c->phase == CONN_IDLE && has_input(c)))
            continue;
        if (c->phase != CONN_WORKING)
            shutdown(c->fd, SHUT_RDWR);
        else if (c->job) {
            job_ref(c->job);
            late[n++] = c->job;
            set_phase(d, c, CONN_SENDING, NULL); /* the answers so far, or the problem */
        }
    }
    return n;
}

/* Jobs are expired without the lock, as that resumes their connections. */
static void check_deadlines(conn_deadlines *d, double now)
{
    job *late[EXPIRE_BATCH];
    size_t n;
    do {
        pthread_mutex_lock(&d->lock);
        problem why = d->late;
        n = find_late(d, now, late);
        pthread_mutex_unlock(&d->lock);
        for (size_t i = 0; i < n; i++) {
            job_expire(late[i], &why);
            job_unref(late[i]);
        }
    } while (n == EXPIRE_BATCH);
}

/* The memory that large requests needed goes back to the system when no job is left. */
static bool time_to_trim(conn_deadlines *d)
{
    if (!d->busy_since_trim || d->working > 0)
        return false;
    d->busy_since_trim = false;
    return true;
}

static void *deadlines_main(void *arg)
{
    conn_deadlines *d = arg;
    unsigned ticks = 0;
    prctl(PR_SET_NAME, "rf-deadlines");
    pthread_mutex_lock(&d->lock);
    while (!d->stopping) {
        struct timespec next = rf_clock_after(TICK);
        pthread_cond_timedwait(&d->stop, &d->lock, &next);
        bool trim = ++ticks % TRIM_TICKS == 0 && time_to_trim(d);
        pthread_mutex_unlock(&d->lock);
        check_deadlines(d, rf_clock_seconds());
        if (trim)
            malloc_trim(0);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- Start and end ----------------------------------------------------------------- */

conn_deadlines *conn_deadlines_new(const conn_limits *limits, rf_error *err)
{
    conn_deadlines *d = calloc(1, sizeof *d);
    if (!d) {
        rf_fail_nomem(err, sizeof *d, "the deadlines of connections");
        return NULL;
    }
    d->limits = *limits;
    problem_set(&d->late, 504, "deadline_exceeded",
                "the answer was not ready before the deadline of the request");
    pthread_mutex_init(&d->lock, NULL);
    rf_clock_cond_init(&d->stop);
    if (thread_start(&d->thread, deadlines_main, d, "a thread", err) != RF_OK) {
        free(d);
        return NULL;
    }
    return d;
}

void conn_deadlines_free(conn_deadlines *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->stopping = true;
    pthread_cond_signal(&d->stop);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->stop);
    free(d);
}

void conn_deadlines_drain(conn_deadlines *d)
{
    pthread_mutex_lock(&d->lock);
    d->draining = true;
    d->drain_start = rf_clock_seconds();
    pthread_mutex_unlock(&d->lock);
}

void conn_deadlines_expire_jobs(conn_deadlines *d, const problem *why)
{
    pthread_mutex_lock(&d->lock);
    d->late = *why;
    for (conn *c = d->first; c; c = c->next)
        if (c->job)
            c->deadline = 0;
    pthread_mutex_unlock(&d->lock);
    check_deadlines(d, rf_clock_seconds());
}
