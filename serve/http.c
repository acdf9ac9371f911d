/*
 * http.c - libmicrohttpd's callbacks: a request is received, then answered
 *
 * The library calls handle() when the headers are there, then with each piece of the
 * body, then with none: that is when the request is answered. A handler that suspends the
 * connection is called once more after it was resumed.
 */
#include "base/file.h"
#include "clock.h"
#include "log.h"
#include "service.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTION_MEMORY 32768 /* bytes that headers may take */

/* ---- Connections and exchanges ----------------------------------------------------- */

static kept *connection_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

static void connection_changes(void *user, struct MHD_Connection *c, void **context,
                               enum MHD_ConnectionNotificationCode what)
{
    service *s = user;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *i =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = i ? keeper_add(s->keeper, (int)i->connect_fd) : NULL;
        atomic_fetch_add(&s->counts.connections, 1);
    } else {
        keeper_remove(s->keeper, *context);
        atomic_fetch_sub(&s->counts.connections, 1);
    }
}

/* The first line of a request is there. */
static void *exchange_begins(void *user, const char *uri, struct MHD_Connection *c)
{
    (void)uri;
    service *s = user;
    exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->service = s;
    x->connection = connection_of(c);
    x->endpoint = ENDPOINT_OTHER;
    x->begun = clock_now();
    rf_buffer_init(&x->body, s->o.max_body_bytes, "the body of a request");
    if (x->connection)
        keeper_enter(s->keeper, x->connection, PHASE_RECEIVING, NULL);
    return x;
}

static void log_access(const exchange *x, struct MHD_Connection *c, bool whole)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    char host[64] = "?";
    if (i && i->client_addr)
        getnameinfo(i->client_addr,
                    i->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                          : sizeof(struct sockaddr_in),
                    host, sizeof host, NULL, 0, NI_NUMERICHOST);
    log_line("request from=%s path=%s status=%u ms=%.1f texts=%zu%s", host,
             x->route ? x->route->path : "other", x->status,
             1e3 * (clock_now() - x->begun), x->job ? x->job->n : 0,
             whole ? "" : " broken-off");
}

/* The texts of a request and their answers, only if the user wants that. */
static void log_texts(const job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        rf_text t;
        rf_text_init(&t, REPLY_MAX, "a line of the log");
        rf_text_put(&t, "{\"text\": ");
        rf_text_string(&t, j->texts[i].bytes, j->texts[i].len);
        rf_text_put(&t, ", \"answer\": ");
        if (j->texts[i].answer)
            rf_text_add(&t, j->texts[i].answer, j->texts[i].answer_len);
        else
            rf_text_put(&t, "null");
        rf_text_put(&t, "}");
        if (t.status == RF_OK)
            log_raw(t.buffer.data, t.buffer.len);
        rf_text_release(&t);
    }
}

static void exchange_ends(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_RequestTerminationCode why)
{
    (void)user;
    exchange *x = *context;
    if (!x)
        return;
    service *s = x->service;
    *context = NULL;
    bool whole = why == MHD_REQUEST_TERMINATED_COMPLETED_OK;
    if (x->connection)
        keeper_enter(s->keeper, x->connection, PHASE_IDLE, NULL);
    if (x->job && x->job->stream && whole)
        metrics_seconds(&s->counts.request_seconds, clock_now() - x->begun);
    if (s->o.access_log)
        log_access(x, c, whole);
    if (x->job && s->o.log_texts && whole && x->status == 200)
        log_texts(x->job);
    if (x->active)
        atomic_fetch_sub(&s->counts.active, 1);
    job_leave(x->job);
    atomic_fetch_sub(&s->held, x->held);
    rf_buffer_release(&x->body);
    free(x);
}

/* ---- Receiving --------------------------------------------------------------------- */

/* Keeps a piece of the body. What is refused already is read to its end, within its time:
 * a client that is still sending would not see an answer. */
static void receive(exchange *x, const char *bytes, size_t len)
{
    rf_error err = {0};
    if (x->wrong.status || !x->takes_body || door_memory_full(x))
        return;
    x->held += len;
    atomic_fetch_add(&x->service->held, len);
    rf_status st = rf_buffer_add(&x->body, bytes, len, &err);
    if (st == RF_ERR_LIMIT)
        door_too_large(x);
    else if (st != RF_OK)
        problem_from(&x->wrong, &err);
    if (st != RF_OK)
        rf_buffer_release(&x->body);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context)
{
    (void)user;
    exchange *x = *context;
    if (!x || !x->connection)
        return MHD_NO; /* no memory for either: the connection is closed */
    if (!x->active) {
        x->active = true;
        atomic_fetch_add(&x->service->counts.active, 1);
        bool fine = door_admit(x, c, url, method, version);
        if (!fine &&
            (x->at_once || MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Expect"))) {
            x->close = true;
            return reply_problem(x, c, &x->wrong);
        }
        return MHD_YES;
    }
    if (*upload_size > 0) {
        receive(x, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (x->wrong.status)
        return reply_problem(x, c, &x->wrong);
    if (strcmp(method, "OPTIONS") == 0)
        return reply_empty(x, c, 204);
    return x->route->answer(x, c);
}

/* A NUL in a path or a query would end it there for us, and not for a proxy: what holds
 * one stays as it was sent, and is nothing that we know. */
static size_t unescape(void *user, struct MHD_Connection *c, char *text)
{
    (void)user;
    (void)c;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

/* ---- Starting ---------------------------------------------------------------------- */

/* What the library complains about while it starts; later complaints are about clients
 * and of no use. */
static void note_complaint(void *user, const char *format, va_list args)
{
    char *line = user;
    if (line[0] == '\0') {
        vsnprintf(line, 200, format, args);
        line[strcspn(line, "\n")] = '\0';
    }
}

static rf_status read_pem(const char *option, const char *path, rf_buffer *out,
                          rf_error *err)
{
    rf_buffer_init(out, 1 << 20, option);
    rf_status st = path ? rf_file_read(path, out, err) : RF_OK;
    if (st == RF_OK && path && (!out->data || !strstr(out->data, "-----BEGIN ")))
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s %s: not a PEM file", option, path);
    return st;
}

static struct MHD_Daemon *start(service *s, int fd, const char *cert, const char *key,
                                rf_error *err)
{
    static char complaint[200]; /* the daemon keeps the address */
    complaint[0] = '\0';
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (cert ? MHD_USE_TLS : 0u);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, /* RFC 8996 forbids the two */
         (void *)(uintptr_t) "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"},
        {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *d = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, note_complaint,
        complaint, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->o.max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)s->o.max_per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, connection_changes, s,
        MHD_OPTION_NOTIFY_COMPLETED, exchange_ends, s, MHD_OPTION_URI_LOG_CALLBACK,
        exchange_begins, s, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_ARRAY, cert ? tls : tls + 3, MHD_OPTION_END);
    if (!d && cert)
        rf_fail(err, RF_ERR_IO, 0,
                "cannot start HTTPS with --tls-cert %s, --tls-key %s: %s", s->o.tls_cert,
                s->o.tls_key, complaint[0] ? complaint : "no reason given");
    else if (!d)
        rf_fail(err, RF_ERR_IO, 0, "cannot start HTTP: %s",
                complaint[0] ? complaint : "no reason given");
    return d;
}

struct MHD_Daemon *http_start(service *s, int fd, rf_error *err)
{
    struct MHD_Daemon *d = NULL;
    rf_buffer cert = {0}, key = {0};
    if (s->o.tls_cert && !MHD_is_feature_supported(MHD_FEATURE_TLS))
        rf_fail(err, RF_ERR_VERSION, 0, "this libmicrohttpd was built without TLS");
    else if (read_pem("--tls-cert", s->o.tls_cert, &cert, err) == RF_OK &&
             read_pem("--tls-key", s->o.tls_key, &key, err) == RF_OK)
        d = start(s, fd, cert.data, key.data, err);
    if (key.data)
        memset(key.data, 0, key.len);
    rf_buffer_release(&cert);
    rf_buffer_release(&key);
    return d;
}
