/*
 * serve.c - the life cycle of the service: start, signals, drain
 *
 * The main thread waits for signals. SIGHUP reloads the model. SIGTERM and SIGINT request
 * a stop: no new connections, requests in progress are answered, then the service ends. A
 * second stop request ends it without waiting.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "serve.h"

#include "assets.h"
#include "base/team.h"
#include "base/clock.h"
#include "base/file.h"
#include "confine.h"
#include "listener.h"
#include "log.h"
#include "sandbox.h"
#include "service.h"
#include "wire.h"
#include "worker.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKENS_PER_THREAD 512 /* of a batch: see docs/SPEED.md */
#define THREADS_PER_WORKER 4  /* at least, by default */
#define SPARE_FILES 64        /* open files besides connections */
#define BODIES_IN_MEMORY 64   /* of the maximum size: requests and answers together */
#define FLUSH_TICKS 50 /* of 10 ms: how long to wait for the next answer to be sent */

serve_options serve_options_default(void)
{
    return (serve_options){.listen = "127.0.0.1:8080",
                           .queue = 8192,
                           .max_texts = 2048,
                           .max_text_bytes = 65536,
                           .max_body_bytes = 4194304,
                           .max_connections = 4096,
                           .deadline = 30,
                           .idle_timeout = 60,
                           .receive_timeout = 20,
                           .send_timeout = 60,
                           .drain = 30,
                           .store_source = "serve",
                           .store_sample = 0.1,
                           .store_days = 30,
                           .store_mb = 1024};
}

static const char *plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

/* ---- Signals ----------------------------------------------------------------------- */

static sigset_t handled_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

/* Reloads on SIGHUP; returns on a stop request. */
static void wait_for_stop(service *s)
{
    sigset_t set = handled_signals(), stops = set;
    struct timespec no_wait = {0};
    sigdelset(&stops, SIGHUP);
    for (;;) {
        int caught = sigwaitinfo(&set, NULL);
        /* The kernel delivers SIGHUP first: a storm of them must not hide SIGTERM. */
        if (caught == SIGHUP && sigtimedwait(&stops, NULL, &no_wait) < 0)
            service_reload(s);
        else if (caught > 0)
            return;
    }
}

/* ---- Stopping ---------------------------------------------------------------------- */

/* Accepts the connections that are still in the backlog, up to the limit: to their
 * clients they are established. Later ones are refused. Returns the socket, which the
 * daemon may still use: close it after the daemon has stopped.
 *
 * libmicrohttpd 0.9.75 deadlocks if it is handed more connections than its limit, so we
 * count. It may be accepting one more at this moment, hence the 1. */
static int stop_listening(service *s, struct MHD_Daemon *daemon)
{
    int c, fd = MHD_quiesce_daemon(daemon);
    size_t n = conn_deadlines_count(s->deadlines) + 1;
    for (; fd >= 0 && n < s->o.max_connections; n++) {
        struct sockaddr_storage from;
        socklen_t len = sizeof from;
        if ((c = accept(fd, (struct sockaddr *)&from, &len)) < 0)
            break;
        MHD_add_connection(daemon, c, (struct sockaddr *)&from, len);
    }
    if (fd >= 0)
        shutdown(fd, SHUT_RD);
    return fd;
}

/* Lets requests in progress finish, until the time is up or a second stop request comes;
 * fails the rest. */
static void drain(service *s)
{
    sigset_t set = handled_signals();
    struct timespec tick = {0, 20000000};
    problem stopping = {0};
    double end = rf_clock_seconds() + s->o.drain;
    log_line("stopping: finishing requests in progress");
    conn_deadlines_drain(s->deadlines);
    problem_shutting_down(&stopping);
    service_end_reloads(s, &stopping);
    while (conn_deadlines_count(s->deadlines) > 0 && rf_clock_seconds() < end) {
        int caught = sigtimedwait(&set, NULL, &tick);
        if (caught == SIGTERM || caught == SIGINT)
            break;
    }
    conn_deadlines_expire_jobs(s->deadlines, &stopping);
}

/* Waits until all answers are sent, or none has been for FLUSH_TICKS. */
static void flush_answers(service *s)
{
    size_t left = atomic_load(&s->counts.active);
    for (int i = 0; i < FLUSH_TICKS && left > 0; i++) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        size_t now = atomic_load(&s->counts.active);
        if (now < left)
            i = 0;
        left = now;
    }
}

/* ---- Options ----------------------------------------------------------------------- */

/* Allows that many connections, as far as the system permits. */
static void raise_file_limit(serve_options *o)
{
    struct rlimit r;
    rlim_t wanted = o->max_connections + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= wanted)
        return;
    rlim_t had = r.rlim_cur;
    r.rlim_cur = r.rlim_max == RLIM_INFINITY || r.rlim_max > wanted ? wanted : r.rlim_max;
    rlim_t has = setrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur : had;
    if (has < wanted) {
        size_t room = (size_t)(has > 2 * SPARE_FILES ? has - SPARE_FILES : has / 2);
        if (room < o->max_connections)
            o->max_connections = room;
        log_line("the system allows %zu open files: at most %zu connections", (size_t)has,
                 o->max_connections);
    }
}

/* "https://example.org:8080", as browsers send it: no path. */
static bool is_origin(const char *s)
{
    const char *host = strstr(s, "://");
    return strcmp(s, "*") == 0 ||
           (host && host > s && host[3] && !strpbrk(host + 3, "/?#"));
}

static rf_status check_options(const serve_options *o, rf_error *err)
{
    if (o->store_hash && !o->store)
        return rf_fail(err, RF_ERR_ARG, 0, "--store-hash needs --store FILE");
    if (!*o->store_source || strlen(o->store_source) > 100)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "--store-source is \"%.100s\", wanted a name of 1 to 100 bytes",
                       o->store_source);
    if (!o->tls_cert != !o->tls_key)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "--tls-cert and --tls-key must be given together");
    if (o->allow_origin &&
        (!is_origin(o->allow_origin) || strpbrk(o->allow_origin, "\r\n\t ,")))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "--allow-origin is \"%.100s\", wanted one origin such as "
                       "https://example.org, or *",
                       o->allow_origin);
    return RF_OK;
}

static size_t at_least_one(size_t n)
{
    return n ? n : 1;
}

static void choose_threads(serve_options *o)
{
    size_t cpus = rf_cpu_count();
    if (!o->workers)
        o->workers = at_least_one(cpus / (o->threads ? o->threads : THREADS_PER_WORKER));
    if (!o->threads)
        o->threads = at_least_one(cpus / o->workers);
    if (!o->batch_tokens)
        o->batch_tokens = TOKENS_PER_THREAD * o->threads;
}

/* ---- Start to end ------------------------------------------------------------------ */

static void announce(const service *s, const listener *l)
{
    loaded_model *m = model_slot_acquire(s->models);
    size_t classes = rf_model_classes(m->model);
    if (geteuid() == 0)
        log_line("running as root, which is not needed");
    log_line("%s: %zu %s; %zu %s of %zu %s", model_slot_path(s->models), classes,
             plural(classes, "class", "classes"), s->o.workers,
             plural(s->o.workers, "worker", "workers"), s->o.threads,
             plural(s->o.threads, "thread", "threads"));
    if (s->store)
        log_line("storing %s of open answers and %g %% of the others in %s for %zu %s",
                 s->o.store_hash ? "hashes of texts" : "texts", 100.0 * s->o.store_sample,
                 s->o.store, s->o.store_days, plural(s->o.store_days, "day", "days"));
    log_line("listening on %s://%s", s->o.tls_cert ? "https" : "http", l->address);
    loaded_model_unref(m);
}

/* Runs the service on a socket until it has stopped. */
static rf_status serve_on(service *s, listener *l, rf_error *err)
{
    worker_pool *workers = worker_pool_new(s->o.workers, s->o.batch_tokens, s->queue,
                                           s->models, &s->counts, s->store, err);
    struct MHD_Daemon *daemon = workers ? http_start(s, l->fd, err) : NULL;
    if (daemon) {
        l->fd = -1; /* the daemon owns it now */
        announce(s, l);
        wait_for_stop(s);
        atomic_store(&s->draining, true);
        l->fd = stop_listening(s, daemon);
        drain(s);
    }
    /* Before the daemon: they resume connections, too. */
    learner_free(s->learner);
    desk_free(s->desk);
    s->learner = NULL;
    s->desk = NULL;
    worker_pool_free(workers); /* before the daemon: workers resume connections */
    if (!daemon)
        return err->code;
    flush_answers(s);
    MHD_stop_daemon(daemon);
    wire_stop();
    log_line("stopped");
    return RF_OK;
}

static rf_status open_store(service *s, rf_error *err)
{
    const serve_options *o = &s->o;
    if (!o->store)
        return RF_OK;
    loaded_model *m = model_slot_acquire(s->models);
    s->store =
        recorder_new(&(recorder_options){o->store, o->store_source, o->store_sample,
                                         o->store_days, o->store_mb, o->store_hash},
                     m, err);
    loaded_model_unref(m);
    if (s->store && !o->store_hash)
        s->desk = desk_new(o->store, err);
    return s->store && (s->desk || o->store_hash) ? RF_OK : err->code;
}

static rf_status start_learner(service *s, rf_error *err)
{
    s->learner = learner_new(
        &(learner_options){s->o.store, s->models, service_reload_and_wait, s}, err);
    return s->learner ? RF_OK : err->code;
}

/* Everything but the socket and the threads that use it. */
static rf_status service_init(service *s, rf_error *err)
{
    const serve_options *o = &s->o;
    conn_limits limits = {o->idle_timeout, o->receive_timeout, o->send_timeout,
                          o->max_connections};
    s->limits = (request_limits){o->max_texts, o->max_text_bytes,
                                 (size_t)ceil(1e3 * o->deadline)};
    s->held.most = o->max_body_bytes > SIZE_MAX / BODIES_IN_MEMORY
                       ? SIZE_MAX
                       : BODIES_IN_MEMORY * o->max_body_bytes;
    s->started = rf_clock_seconds();
    s->main_thread = pthread_self();
    pthread_mutex_init(&s->reload_lock, NULL);
    pthread_cond_init(&s->reload_answered, NULL);
    assets_policy(s->policy, sizeof s->policy);
    rf_session_options session = rf_session_options_default();
    session.threads = o->threads;
    session.precision = o->precision;
    session.all_heads = o->all_heads;
    s->queue = queue_new(o->queue, err);
    s->models = s->queue ? model_slot_new(o->model, o->workers, &session, err) : NULL;
    s->deadlines = s->models ? conn_deadlines_new(&limits, err) : NULL;
    rf_status st = s->deadlines ? open_store(s, err) : err->code;
    return st == RF_OK ? start_learner(s, err) : st;
}

static void service_release(service *s)
{
    learner_free(s->learner);
    desk_free(s->desk);
    recorder_free(s->store);
    conn_deadlines_free(s->deadlines);
    model_slot_free(s->models);
    queue_free(s->queue);
}

/* Before any thread is started, as threads inherit the mask: only the main thread takes
 * signals, and a SIGHUP that comes early waits. */
static void set_up_signals(void)
{
    sigset_t set = handled_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a model above the file size limit is an error */
}

/* Large sorts of SQLite go to files, in the directory of the store like all of its files.
 */
static void sort_beside(const char *file)
{
    char directory[RF_PATH_MAX];
    const char *slash = strrchr(file, '/');
    int n = slash ? (int)(slash - file) + 1 : 1;
    snprintf(directory, sizeof directory, "%.*s", n, slash ? file : ".");
    setenv("SQLITE_TMPDIR", directory, 0);
}

/* Gives up what the service never needs, before there are threads, which inherit it. It
 * writes the model when that changes, and the store; both with files beside them. */
static void give_up_rights(const serve_options *o)
{
    char *target = o->store ? realpath(o->store, NULL) : NULL; /* SQLite follows links */
    if (!confine_writes((const char *const[]){o->model, o->store, target}, 3))
        log_line(
            "this system cannot confine writing to some directories (Landlock): going "
            "on without");
    if (o->store)
        sort_beside(target ? target : o->store);
    free(target);
    if (!sandbox_enter())
        log_line("this system cannot forbid system calls (seccomp): going on without");
}

rf_status serve_run(const serve_options *options, rf_error *err)
{
    service s = {.o = *options};
    listener l = {.fd = -1};
    set_up_signals();
    rf_status st = check_options(&s.o, err);
    if (st == RF_OK && s.o.token_file)
        st = tokens_read(&s.tokens, s.o.token_file, err);
    if (st == RF_OK)
        st = listener_open(&l, s.o.listen, s.tokens.n == 0 && !s.o.insecure, err);
    if (st != RF_OK)
        return st;
    /* By default glibc keeps up to 64 MiB of freed memory per thread. */
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
    choose_threads(&s.o);
    if (s.o.max_texts > s.o.queue)
        s.o.max_texts = s.o.queue; /* more would never fit */
    raise_file_limit(&s.o);
    give_up_rights(&s.o);
    st = log_start(err);
    if (st == RF_OK)
        st = service_init(&s, err);
    if (st == RF_OK)
        st = serve_on(&s, &l, err);
    service_release(&s);
    log_stop();
    if (l.fd >= 0)
        close(l.fd);
    return st;
}
