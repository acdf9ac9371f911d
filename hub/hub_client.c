/* hub_client.c - attempts, waiting between them, and files that continue where they ended
 */
#include "hub_client.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/plural.h"
#include "hub_http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_ATTEMPTS 100   /* of one file, even if each brings something */
#define LONGEST_WAIT 120.0 /* seconds that a server may ask for */
#define LONGEST_PAUSE 30.0 /* between two attempts, if it asks for nothing */
#define TEXT_SECONDS 120.0 /* for a whole description */

struct hub_client {
    hub_options options;
    hub_http http;
    rf_hub_transport transport;
};

/* ---- Attempts ---------------------------------------------------------------------- */

/* What one attempt after the other fills. */
typedef struct task {
    hub_client *client;
    const char *name;
    const rf_hub_request *request; /* NULL: a text */
    int64_t at, total, max;        /* bytes that we have, of total if that is not -1 */
    int64_t asked_from;

    int fd; /* a file */
    const char *file;
    char etag_file[RF_PATH_MAX];
    char etag[HUB_ETAG_MAX];

    rf_buffer text;
    double deadline; /* 0: none */
} task;

static rf_status watch(void *user, rf_error *err)
{
    const task *t = user;
    const hub_options *o = &t->client->options;
    if (t->deadline > 0.0 && rf_clock_seconds() > t->deadline)
        return rf_fail(err, RF_ERR_IO, 0, "%s: not complete after %.0f seconds", t->name,
                       TEXT_SECONDS);
    if (!o->progress || o->progress(o->user, t->name, t->at, t->total) == 0)
        return RF_OK;
    return rf_fail(err, RF_ERR_STOPPED, 0, "stopped on request");
}

static rf_status wait_for(const task *t, double seconds, rf_error *err)
{
    double end = rf_clock_seconds() + seconds;
    for (;;) {
        rf_status st = watch((void *)(uintptr_t)t, err);
        double left = end - rf_clock_seconds();
        if (st != RF_OK || left <= 0.0)
            return st;
        double nap = left < 0.1 ? left : 0.1;
        struct timespec pause = {.tv_nsec = (long)(nap * 1e9)};
        (void)nanosleep(&pause, NULL);
    }
}

/* Whether to try again after a failure, which is in err: waits, or adds why not. */
static bool next_attempt(const task *t, size_t attempt, size_t in_vain, double wanted,
                         rf_error *err)
{
    const hub_options *o = &t->client->options;
    rf_error stop = {0};
    size_t n = strlen(err->msg);
    double pause = o->retry_wait;
    for (size_t i = 1; i < in_vain && pause < LONGEST_PAUSE; i++)
        pause *= 2.0;
    pause = pause > LONGEST_PAUSE ? LONGEST_PAUSE : pause;
    pause = wanted > pause ? wanted : pause;
    if (in_vain > o->retries || attempt >= MAX_ATTEMPTS) {
        snprintf(err->msg + n, sizeof err->msg - n, "; gave up after %zu %s", attempt,
                 rf_plural(attempt, "attempt", "attempts"));
        return false;
    }
    if (wanted > LONGEST_WAIT) {
        snprintf(err->msg + n, sizeof err->msg - n,
                 "; it asks to come back in %.0f seconds", wanted);
        return false;
    }
    if (wait_for(t, pause, &stop) == RF_OK)
        return true;
    *err = stop;
    return false;
}

/* ---- Texts ------------------------------------------------------------------------- */

static rf_status refuse_encoding(const char *name, const hub_answer *a, rf_error *err)
{
    if (!a->encoding[0] || strcmp(a->encoding, "identity") == 0)
        return RF_OK;
    return rf_fail(err, RF_ERR_FORMAT, 0,
                   "%s: came with Content-Encoding \"%s\", which was not asked for", name,
                   a->encoding);
}

static rf_status begin_text(void *user, const hub_answer *a, rf_error *err)
{
    task *t = user;
    rf_buffer_clear(&t->text);
    t->at = 0;
    return refuse_encoding(t->name, a, err);
}

static rf_status add_text(void *user, const char *bytes, size_t len, rf_error *err)
{
    task *t = user;
    t->at += (int64_t)len;
    return rf_buffer_add(&t->text, bytes, len, err);
}

static rf_status get_text(void *user, const char *path, size_t max, char **text,
                          size_t *len, rf_error *err)
{
    task t = {.client = user,
              .name = "the description",
              .total = -1,
              .deadline = rf_clock_seconds() + TEXT_SECONDS};
    const hub_sink sink = {
        .user = &t, .begin = begin_text, .add = add_text, .watch = watch};
    hub_outcome outcome = HUB_AGAIN;
    rf_error local = {0};
    err = err ? err : &local;
    rf_buffer_init(&t.text, max, "the hub's answer");
    for (size_t attempt = 1; outcome == HUB_AGAIN; attempt++) {
        double wait = 0.0;
        *err = (rf_error){0};
        outcome = hub_http_get(&t.client->http, path, 0, "", &sink, &wait, err);
        if (outcome == HUB_AGAIN && !next_attempt(&t, attempt, attempt, wait, err))
            outcome = HUB_FAILED;
    }
    if (outcome == HUB_DONE && rf_buffer_add(&t.text, "", 0, err) == RF_OK) {
        *text = t.text.data; /* the caller's now */
        *len = t.text.len;
        return RF_OK;
    }
    rf_buffer_release(&t.text);
    return err->code != RF_OK ? err->code : RF_ERR_IO;
}

/* ---- Files ------------------------------------------------------------------------- */

/* What the hub's own headers say must be what its description said. */
static rf_status check_promise(const task *t, const hub_answer *a, rf_error *err)
{
    const rf_hub_request *r = t->request;
    if (a->commit[0] && strcmp(a->commit, r->commit) != 0)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: the hub answered for commit %.40s, wanted %s", r->name,
                       a->commit, r->commit);
    if (a->linked_size >= 0 && r->size >= 0 && a->linked_size != r->size)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: the hub says %lld bytes now, and said %lld before", r->name,
                       (long long)a->linked_size, (long long)r->size);
    if (strlen(a->linked_etag) == 64 && r->sha256[0] &&
        strcmp(a->linked_etag, r->sha256) != 0)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: the hub says sha256 %s now, and said %s before", r->name,
                       a->linked_etag, r->sha256);
    return refuse_encoding(r->name, a, err);
}

static rf_status note_etag(const task *t, const char *etag, rf_error *err)
{
    (void)unlink(t->etag_file);
    return *etag ? rf_file_write(t->etag_file, etag, strlen(etag), err) : RF_OK;
}

static rf_status begin_file(void *user, const hub_answer *a, rf_error *err)
{
    task *t = user;
    const rf_hub_request *r = t->request;
    rf_status st = check_promise(t, a, err);
    if (st != RF_OK)
        return st;
    bool part = a->status == 206;
    int64_t whole = part ? a->total : a->length;
    if (part && (t->asked_from == 0 || a->from != t->asked_from))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: asked for the bytes from %lld on, got those from %lld",
                       r->name, (long long)t->asked_from, (long long)a->from);
    if (whole >= 0 && r->size >= 0 && whole != r->size)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: the answer speaks of %lld bytes, the hub promised %lld",
                       r->name, (long long)whole, (long long)r->size);
    if (whole > t->max)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%s: has %lld bytes, the limit is %lld",
                       r->name, (long long)whole, (long long)t->max);
    t->total = r->size >= 0 ? r->size : whole;
    t->at = part ? t->asked_from : 0;
    if (ftruncate(t->fd, (off_t)t->at) != 0 || lseek(t->fd, (off_t)t->at, SEEK_SET) < 0)
        return rf_fail_errno(err, "%s: cannot write", t->file);
    return part ? RF_OK : note_etag(t, a->etag, err);
}

static rf_status add_file(void *user, const char *bytes, size_t len, rf_error *err)
{
    task *t = user;
    int64_t most = t->total >= 0 ? t->total : t->max;
    if ((int64_t)len > most - t->at)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%s: more than %lld bytes came",
                       t->request->name, (long long)most);
    rf_status st = rf_fd_write(t->fd, bytes, len, t->file, err);
    if (st == RF_OK)
        t->at += (int64_t)len;
    return st;
}

/* How much of the file is there, and may be continued: only with the ETag it had. */
static void look_at_part(task *t)
{
    struct stat s;
    rf_buffer etag;
    rf_buffer_init(&etag, sizeof t->etag, "an ETag");
    t->at = t->asked_from = 0;
    t->etag[0] = '\0';
    if (fstat(t->fd, &s) == 0)
        t->at = (int64_t)s.st_size;
    if (t->at > 0 && t->at <= t->max &&
        rf_file_read(t->etag_file, &etag, NULL) == RF_OK && etag.len > 2 &&
        etag.len < sizeof t->etag && !strpbrk(etag.data, "\r\n")) {
        memcpy(t->etag, etag.data, etag.len + 1);
        t->asked_from = t->at;
    }
    rf_buffer_release(&etag);
}

/* All attempts at one file, which is open. */
static rf_status fill(task *t, rf_error *err)
{
    const hub_sink sink = {
        .user = t, .begin = begin_file, .add = add_file, .watch = watch};
    hub_outcome outcome = HUB_AGAIN;
    size_t in_vain = 0;
    for (size_t attempt = 1; outcome == HUB_AGAIN; attempt++) {
        double wait = 0.0;
        *err = (rf_error){0};
        look_at_part(t);
        if (t->total >= 0 && t->at == t->total)
            break;
        int64_t before = t->asked_from;
        if (t->total >= 0 && before > t->total)
            before = t->asked_from = 0;
        t->at = before;
        outcome = hub_http_get(&t->client->http, t->request->path, before, t->etag, &sink,
                               &wait, err);
        if (outcome == HUB_DONE && t->total >= 0 && t->at < t->total) {
            rf_fail(err, RF_ERR_IO, 0, "%s: ended after %lld of %lld bytes",
                    t->request->name, (long long)t->at, (long long)t->total);
            outcome = HUB_AGAIN;
        }
        if (outcome == HUB_RANGE) { /* from the beginning, then */
            (void)unlink(t->etag_file);
            outcome = HUB_AGAIN;
        }
        if (outcome != HUB_AGAIN)
            break;
        in_vain = t->at > before ? 1 : in_vain + 1;
        if (!next_attempt(t, attempt, in_vain, wait, err))
            outcome = HUB_FAILED;
    }
    if (outcome == HUB_FAILED)
        return err->code != RF_OK ? err->code : RF_ERR_IO;
    return fsync(t->fd) == 0 ? RF_OK
                             : rf_fail_errno(err, "%s: cannot flush to disk", t->file);
}

static rf_status get_file(void *user, const rf_hub_request *request, const char *file,
                          rf_error *err)
{
    task t = {.client = user,
              .name = request->name,
              .request = request,
              .total = request->size,
              .max = request->max,
              .file = file};
    rf_error local = {0};
    err = err ? err : &local;
    int n = snprintf(t.etag_file, sizeof t.etag_file, "%s.etag", file);
    if (n < 0 || (size_t)n >= sizeof t.etag_file)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path too long", file);
    t.fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (t.fd < 0)
        return rf_fail_errno(err, "%s: cannot create", file);
    rf_status st = fill(&t, err);
    if (close(t.fd) != 0 && st == RF_OK)
        st = rf_fail_errno(err, "%s: cannot close", file);
    /* Bytes that contradict what was promised are nothing to continue from. */
    if (st != RF_OK && st != RF_ERR_IO && st != RF_ERR_STOPPED) {
        (void)unlink(file);
        (void)unlink(t.etag_file);
    }
    return st;
}

/* ---- The client -------------------------------------------------------------------- */

static rf_status check_token(const char *token, rf_error *err)
{
    for (const char *c = token ? token : ""; *c; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "HF_TOKEN has a character that no token has, at place %zu "
                           "(a line end?)",
                           (size_t)(c - token) + 1);
    return RF_OK;
}

hub_client *hub_client_open(const hub_options *options, rf_error *err)
{
    hub_client *c = calloc(1, sizeof *c);
    if (!c) {
        rf_fail_nomem(err, sizeof *c, "a client of the hub");
        return NULL;
    }
    c->options = *options;
    c->http.options = &c->options;
    const char *endpoint =
        options->endpoint && *options->endpoint ? options->endpoint : HUB_ENDPOINT;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !(c->http.curl = curl_easy_init())) {
        rf_fail(err, RF_ERR_IO, 0, "libcurl cannot start");
    } else if (check_token(options->token, err) == RF_OK &&
               hub_endpoint_read(&c->http.endpoint, endpoint, err) == RF_OK) {
        c->transport = (rf_hub_transport){.endpoint = c->http.endpoint.base,
                                          .user = c,
                                          .get_text = get_text,
                                          .get_file = get_file};
        return c;
    }
    hub_client_close(c);
    return NULL;
}

void hub_client_close(hub_client *c)
{
    if (!c)
        return;
    if (c->http.curl)
        curl_easy_cleanup(c->http.curl);
    curl_global_cleanup();
    free(c);
}

const rf_hub_transport *hub_client_transport(hub_client *c)
{
    return &c->transport;
}
