/*
 * serve.c - the life of the service: start, signals, reload, drain
 *
 * The main thread waits for signals. SIGHUP loads the model again; SIGTERM and SIGINT end
 * the service: no new connections, every request that was begun is answered, then all
 * stops. A second one ends it at once.
 */
#include "serve.h"

#include "assets.h"
#include "base/team.h"
#include "clock.h"
#include "listener.h"
#include "log.h"
#include "service.h"
#include "worker.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKENS_PER_THREAD 512 /* of a batch: see docs/SPEED.md */
#define FEW_THREADS 4         /* per worker or more, unless told otherwise */
#define SPARE_FILES 64        /* beyond those of connections */
#define LAST_WORDS 50         /* hundredths of a second for the next answer to be sent */

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
                           .drain = 30};
}

/* ---- Reload ------------------------------------------------------------------------ */

bool service_ask_reload(service *s, exchange *x, struct MHD_Connection *c)
{
    keeper_enter(s->keeper, x->connection, PHASE_WORKING, NULL);
    pthread_mutex_lock(&s->reload_lock);
    bool taken = !s->no_more_reloads;
    if (taken) {
        x->waiting = c;
        x->next_reload = s->reloads;
        s->reloads = x;
        MHD_suspend_connection(c);
    }
    pthread_mutex_unlock(&s->reload_lock);
    if (taken)
        pthread_kill(s->main_thread, SIGHUP);
    return taken;
}

static exchange *take_reloads(service *s)
{
    pthread_mutex_lock(&s->reload_lock);
    exchange *all = s->reloads;
    s->reloads = NULL;
    pthread_mutex_unlock(&s->reload_lock);
    return all;
}

/* Those who asked before loading began get to know how it went. */
static void answer_reloads(service *s, exchange *x, const problem *wrong, size_t number)
{
    pthread_mutex_lock(&s->reload_lock); /* they were suspended under it */
    for (exchange *next; x; x = next) {
        next = x->next_reload;
        x->reload_number = number;
        if (wrong)
            x->wrong = *wrong;
        MHD_resume_connection(x->waiting);
    }
    pthread_mutex_unlock(&s->reload_lock);
}

static void reload(service *s)
{
    rf_error err = {0};
    problem wrong = {0};
    exchange *waiting = take_reloads(s);
    double begun = clock_now();
    rf_status st = model_slot_reload(s->models, &err);
    if (st != RF_OK) {
        atomic_fetch_add(&s->counts.reloads_failed, 1);
        log_line("reload failed, the old model goes on serving: %s", err.msg);
        problem_set(&wrong, 422, "bad_model", "the old model goes on serving: %s",
                    err.msg);
        answer_reloads(s, waiting, &wrong, 0);
        return;
    }
    queue_poke(s->queue); /* workers that wait let go of the old model */
    atomic_fetch_add(&s->counts.reloads_ok, 1);
    edition *e = model_slot_borrow(s->models);
    log_line("loaded %s again in %.1f s: model number %zu, %zu classes",
             model_slot_path(s->models), clock_now() - begun, e->number,
             rf_model_classes(e->model));
    answer_reloads(s, waiting, NULL, e->number);
    edition_return(e);
}

/* ---- Signals and the end ----------------------------------------------------------- */

static sigset_t our_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

/* Who had connected, though nobody had accepted yet, is let in as far as there is room;
 * whoever comes later is turned away. The daemon may still touch the socket, which is
 * returned: it can be closed when the daemon has ended.
 *
 * libmicrohttpd 0.9.75 keeps a lock, for ever, when it is handed more connections than
 * its limit allows. So we count; it may be accepting one more at this moment. */
static int stop_listening(service *s, struct MHD_Daemon *daemon)
{
    int c, fd = MHD_quiesce_daemon(daemon);
    size_t n = keeper_connections(s->keeper) + 1;
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

static void drain(service *s)
{
    sigset_t set = our_signals();
    struct timespec tick = {0, 20000000};
    problem ending = {0};
    double end = clock_now() + s->o.drain;
    log_line("ending: answering what was begun");
    keeper_drain(s->keeper);
    problem_shutting_down(&ending);
    pthread_mutex_lock(&s->reload_lock);
    s->no_more_reloads = true;
    pthread_mutex_unlock(&s->reload_lock);
    answer_reloads(s, take_reloads(s), &ending, 0);
    while (keeper_connections(s->keeper) > 0 && clock_now() < end) {
        int caught = sigtimedwait(&set, NULL, &tick);
        if (caught == SIGTERM || caught == SIGINT)
            break;
    }
    keeper_expire_jobs(s->keeper, &ending);
}

static void wait_for_the_end(service *s)
{
    sigset_t set = our_signals(), ends = set;
    struct timespec now = {0};
    sigdelset(&ends, SIGHUP);
    for (;;) {
        int caught = sigwaitinfo(&set, NULL);
        /* The system hands out SIGHUP first; many of them must not hide the end. */
        if (caught == SIGHUP && sigtimedwait(&ends, NULL, &now) < 0)
            reload(s);
        else if (caught > 0)
            return;
    }
}

/* ---- The start --------------------------------------------------------------------- */

/* Room for that many connections, as far as the system lets us. */
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

/* "https://example.org:8080", as browsers write it in the header: nothing behind it. */
static bool is_origin(const char *s)
{
    const char *host = strstr(s, "://");
    return strcmp(s, "*") == 0 ||
           (host && host > s && host[3] && !strpbrk(host + 3, "/?#"));
}

static rf_status check(const serve_options *o, rf_error *err)
{
    if (!o->tls_cert != !o->tls_key)
        return rf_fail(err, RF_ERR_ARG, 0, "--tls-cert and --tls-key belong together");
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
        o->workers = at_least_one(cpus / (o->threads ? o->threads : FEW_THREADS));
    if (!o->threads)
        o->threads = at_least_one(cpus / o->workers);
    if (!o->batch_tokens)
        o->batch_tokens = TOKENS_PER_THREAD * o->threads;
}

static void announce(const service *s, const listener *l)
{
    edition *e = model_slot_borrow(s->models);
    if (geteuid() == 0)
        log_line("running as root, which is not needed");
    log_line("%s: %zu classes; %zu worker%s of %zu thread%s", model_slot_path(s->models),
             rf_model_classes(e->model), s->o.workers, s->o.workers == 1 ? "" : "s",
             s->o.threads, s->o.threads == 1 ? "" : "s");
    log_line("listening on %s://%s", s->o.tls_cert ? "https" : "http", l->where);
    edition_return(e);
}

/* Answers that are on their way arrive, however many there are, as long as one after the
 * other does. */
static void say_last_words(service *s)
{
    size_t left = atomic_load(&s->counts.active);
    for (int i = 0; i < LAST_WORDS && left > 0; i++) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        size_t now = atomic_load(&s->counts.active);
        if (now < left)
            i = 0;
        left = now;
    }
}

/* Everything but the socket is there. */
static rf_status serve_on(service *s, listener *l, rf_error *err)
{
    crew *workers =
        crew_new(s->o.workers, s->o.batch_tokens, s->queue, s->models, &s->counts, err);
    struct MHD_Daemon *daemon = workers ? http_start(s, l->fd, err) : NULL;
    if (daemon) {
        l->fd = -1; /* the daemon's from now on */
        announce(s, l);
        wait_for_the_end(s);
        atomic_store(&s->draining, true);
        l->fd = stop_listening(s, daemon);
        drain(s);
    }
    crew_free(workers); /* before the daemon: workers resume connections */
    if (!daemon)
        return err->code;
    say_last_words(s);
    MHD_stop_daemon(daemon);
    log_line("ended");
    return RF_OK;
}

static rf_status prepare(service *s, rf_error *err)
{
    const serve_options *o = &s->o;
    keeper_limits times = {o->idle_timeout, o->receive_timeout, o->send_timeout,
                           o->max_connections};
    s->limits = (request_limits){o->max_texts, o->max_text_bytes,
                                 (size_t)ceil(1e3 * o->deadline)};
    s->started = clock_now();
    s->main_thread = pthread_self();
    pthread_mutex_init(&s->reload_lock, NULL);
    assets_policy(s->policy, sizeof s->policy);
    s->queue = queue_new(o->queue, err);
    s->models = s->queue ? model_slot_new(o->model, o->workers, o->threads, err) : NULL;
    s->keeper = s->models ? keeper_new(&times, err) : NULL;
    return s->keeper ? RF_OK : err->code;
}

rf_status serve_run(const serve_options *options, rf_error *err)
{
    service s = {.o = *options};
    listener l = {.fd = -1};
    sigset_t set = our_signals();
    /* First of all: a SIGHUP that comes early waits. Every thread inherits this; only the
     * main thread takes them. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a model too large for the system's limit is an error */
    rf_status st = check(&s.o, err);
    if (st == RF_OK && s.o.token_file)
        st = tokens_read(&s.tokens, s.o.token_file, err);
    if (st == RF_OK)
        st = listener_open(&l, s.o.listen, s.tokens.n == 0 && !s.o.insecure, err);
    if (st != RF_OK)
        return st;
    /* By default glibc keeps up to 64 MiB of what a big request needed, per thread. */
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
    choose_threads(&s.o);
    if (s.o.max_texts > s.o.queue)
        s.o.max_texts = s.o.queue; /* more could never be taken */
    raise_file_limit(&s.o);
    st = log_start(err);
    if (st == RF_OK)
        st = prepare(&s, err);
    if (st == RF_OK)
        st = serve_on(&s, &l, err);
    keeper_free(s.keeper);
    model_slot_free(s.models);
    queue_free(s.queue);
    log_stop();
    if (l.fd >= 0)
        close(l.fd);
    return st;
}
