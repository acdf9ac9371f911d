/* team.c - worker threads that spin, then sleep, between jobs */
#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How long a waiting thread spins, in pause instructions (some 40 cycles each). Sleeping
 * and waking up costs about 50 microseconds, so spinning for about 100 pays while waiting
 * for the next job. At a barrier a thread then only yields, which is cheap, and does so
 * soon: if the thread it waits for has lost its CPU, spinning keeps it from getting
 * ours. */
#define SPIN_TURNS 8000
#define BARRIER_TURNS 1000

typedef struct member {
    rf_team *team;
    pthread_t thread;
    size_t index;
} member;

struct rf_team {
    size_t size;
    /* SPIN_TURNS and BARRIER_TURNS; 0 when there are more threads than CPUs. */
    int spin, barrier_spin;
    size_t started;
    member *members; /* [size]; 0 is the caller and has no thread */

    void (*fn)(void *arg, size_t member, size_t members);
    void *arg;

    /* A job is announced by a new generation; workers spin on it, then sleep. */
    atomic_size_t generation;
    atomic_size_t running; /* workers that have not finished the job */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;

    atomic_size_t barrier_arrived;
    atomic_size_t barrier_round;
};

size_t rf_cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (size_t)n : 1;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void wait_for_job(rf_team *t, size_t seen)
{
    for (int i = 0; i < t->spin; i++) {
        if (atomic_load(&t->generation) != seen || atomic_load(&t->stop))
            return;
        relax();
    }
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&t->generation) == seen && !atomic_load(&t->stop))
        pthread_cond_wait(&t->wake, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static void *worker(void *arg)
{
    member *m = arg;
    rf_team *t = m->team;
    size_t seen = 0;
    for (;;) {
        wait_for_job(t, seen);
        if (atomic_load(&t->stop))
            return NULL;
        seen++;
        t->fn(t->arg, m->index, t->size);
        atomic_fetch_sub(&t->running, 1);
    }
}

rf_team *rf_team_new(size_t threads, rf_error *err)
{
    if (threads < 1 || threads > RF_MAX_THREADS) {
        rf_fail(err, RF_ERR_ARG, 0, "threads: found %zu, wanted 1 to %d", threads,
                RF_MAX_THREADS);
        return NULL;
    }
    rf_team *t = calloc(1, sizeof *t);
    if (!t || !(t->members = calloc(threads, sizeof *t->members))) {
        rf_fail_nomem(err, sizeof *t + threads * sizeof(member), "worker threads");
        free(t);
        return NULL;
    }
    t->size = threads;
    bool all_run = threads <= rf_cpu_count();
    t->spin = all_run ? SPIN_TURNS : 0;
    t->barrier_spin = all_run ? BARRIER_TURNS : 0;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->started = 1;
    for (; t->started < threads; t->started++) {
        member *m = &t->members[t->started];
        *m = (member){.team = t, .index = t->started};
        if (pthread_create(&m->thread, NULL, worker, m) != 0) {
            rf_fail(err, RF_ERR_IO, 0, "cannot start worker thread %zu of %zu",
                    t->started + 1, threads);
            rf_team_free(t);
            return NULL;
        }
    }
    return t;
}

void rf_team_free(rf_team *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->stop, true);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    for (size_t i = 1; i < t->started; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t->members);
    free(t);
}

size_t rf_team_size(const rf_team *t)
{
    return t->size;
}

void rf_team_run(rf_team *t, void (*fn)(void *arg, size_t member, size_t members),
                 void *arg)
{
    if (t->size > 1) {
        t->fn = fn;
        t->arg = arg;
        atomic_store(&t->running, t->size - 1);
        pthread_mutex_lock(&t->lock);
        atomic_fetch_add(&t->generation, 1);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
    fn(arg, 0, t->size);
    for (int i = 0; t->size > 1 && atomic_load(&t->running) > 0; i++) {
        relax();
        if (i > t->barrier_spin)
            sched_yield();
    }
}

void rf_team_barrier(rf_team *t)
{
    if (t->size == 1)
        return;
    size_t round = atomic_load(&t->barrier_round);
    if (atomic_fetch_add(&t->barrier_arrived, 1) + 1 == t->size) {
        atomic_store(&t->barrier_arrived, 0);
        atomic_fetch_add(&t->barrier_round, 1);
        return;
    }
    for (int i = 0; atomic_load(&t->barrier_round) == round; i++) {
        relax();
        if (i > t->barrier_spin)
            sched_yield();
    }
}
