/*
 * http.c - the callbacks of libmicrohttpd: receive a request, then answer it
 *
 * The library calls handle_request() when the headers are read, again with each piece of
 * the body, and then with no piece: that is when the request is answered. If the handler
 * suspends the connection, it is called once more after the connection is resumed.
 */
#include "base/file.h"
#include "base/clock.h"
#include "log.h"
#include "service.h"
#include "wire.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTION_MEMORY 32768 /* bytes for the headers of a request */

/* ---- Connections and exchanges ----------------------------------------------------- */

static conn *conn_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return i ? i->socket_context : NULL;
}

static int fd_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return i ? (int)i->connect_fd : -1;
}

static void on_connection(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    service *s = user;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        if (wire_open(fd_of(c), s->o.tls_cert))
            *context = conn_add(s->deadlines, fd_of(c));
        atomic_fetch_add(&s->counts.connections, 1);
    } else {
        wire_close(fd_of(c));
        conn_remove(s->deadlines, *context);
        atomic_fetch_sub(&s->counts.connections, 1);
    }
}

/* Called when the first line of a request has been read. */
static void *on_request_start(void *user, const char *uri, struct MHD_Connection *c)
{
    (void)uri;
    service *s = user;
    exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->service = s;
    x->connection = conn_of(c);
    x->endpoint = ENDPOINT_OTHER;
    x->started = rf_clock_seconds();
    rf_buffer_init(&x->body, s->o.max_body_bytes, "the body of a request");
    if (x->connection)
        conn_enter(s->deadlines, x->connection, CONN_RECEIVING, NULL);
    return x;
}

void exchange_hold(exchange *x, size_t bytes)
{
    x->bytes_held += bytes;
    atomic_fetch_add(&x->service->held.bytes, bytes);
}

static void log_access(const exchange *x, struct MHD_Connection *c, bool complete)
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
             1e3 * (rf_clock_seconds() - x->started), x->job ? x->job->n : 0,
             complete ? "" : " broken-off");
}

/* With --log-texts only. */
static void log_texts(const job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        rf_text t;
        rf_text_init(&t, REPLY_MAX, "a log line");
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

static void on_request_end(void *user, struct MHD_Connection *c, void **context,
                           enum MHD_RequestTerminationCode why)
{
    (void)user;
    exchange *x = *context;
    if (!x)
        return;
    service *s = x->service;
    *context = NULL;
    bool complete = why == MHD_REQUEST_TERMINATED_COMPLETED_OK;
    if (x->connection)
        conn_enter(s->deadlines, x->connection, CONN_IDLE, NULL);
    if (x->job && x->job->stream && complete)
        metrics_seconds(&s->counts.request_seconds, rf_clock_seconds() - x->started);
    if (s->o.access_log)
        log_access(x, c, complete);
    if (x->job && s->o.log_texts && complete && x->status == 200)
        log_texts(x->job);
    if (x->active)
        atomic_fetch_sub(&s->counts.active, 1);
    job_detach(x->job);
    desk_task_free(x->task);
    atomic_fetch_sub(&s->held.bytes, x->bytes_held);
    rf_buffer_release(&x->body);
    free(x);
}

/* ---- Requests ---------------------------------------------------------------------- */

/* Stores a piece of the body. The body of a refused request is read and dropped: a client
 * that is still sending would not see the answer. */
static void receive_body(exchange *x, const char *bytes, size_t len)
{
    rf_error err = {0};
    if (x->refusal.status || !x->takes_body || admission_memory_full(x))
        return;
    exchange_hold(x, len);
    rf_status st = rf_buffer_add(&x->body, bytes, len, &err);
    if (st == RF_ERR_LIMIT)
        admission_refuse_large(x);
    else if (st != RF_OK)
        problem_from(&x->refusal, &err);
    if (st != RF_OK)
        rf_buffer_release(&x->body);
}

static enum MHD_Result refuse_unchecked(exchange *x, struct MHD_Connection *c)
{
    problem p;
    x->close = true;
    problem_set(&p, 500, "internal",
                "this libmicrohttpd (%s) reads requests in a way that cannot be checked",
                MHD_get_version());
    return reply_problem(x, c, &p);
}

static enum MHD_Result handle_request(void *user, struct MHD_Connection *c,
                                      const char *url, const char *method,
                                      const char *version, const char *upload,
                                      size_t *upload_size, void **context)
{
    (void)user;
    (void)version;
    exchange *x = *context;
    if (!x || !x->connection)
        return MHD_NO; /* no memory: closes the connection */
    if (!x->active) {
        x->active = true;
        atomic_fetch_add(&x->service->counts.active, 1);
        if (!wire_take_head(fd_of(c)))
            return refuse_unchecked(x, c);
        bool admitted = admission_check(x, c, url, method);
        if (!admitted && http_header(c, "Expect")) {
            x->close = true;
            return reply_problem(x, c, &x->refusal);
        }
        return MHD_YES;
    }
    if (*upload_size > 0) {
        receive_body(x, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (x->refusal.status)
        return reply_problem(x, c, &x->refusal);
    if (strcmp(method, "OPTIONS") == 0)
        return reply_empty(x, c, 204);
    return x->route->answer(x, c);
}

/* A decoded NUL would end the string here, but not in a proxy. A path or query with one
 * stays encoded, and so matches no route or option. */
static size_t unescape(void *user, struct MHD_Connection *c, char *text)
{
    (void)user;
    (void)c;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

/* ---- Starting ---------------------------------------------------------------------- */

/* Keeps the first message of the library, for when it fails to start. Later ones are
 * about clients, and of no use. */
static void keep_message(void *user, const char *format, va_list args)
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

/* TLS 1.3 and 1.2 (RFC 8996 forbids the older ones), with forward secrecy and
 * authenticated ciphers: no RSA key exchange, no CBC. */
static const char tls_priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"
    "-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM";

static struct MHD_Daemon *start_daemon(service *s, int fd, const char *cert,
                                       const char *key, rf_error *err)
{
    static char message[200]; /* the daemon keeps a pointer to it */
    message[0] = '\0';
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (cert ? MHD_USE_TLS : 0u);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priorities},
        {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *d = MHD_start_daemon(
        flags, 0, NULL, NULL, handle_request, s, MHD_OPTION_EXTERNAL_LOGGER, keep_message,
        message, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->o.max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)s->o.max_per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_request_end, s, MHD_OPTION_URI_LOG_CALLBACK,
        on_request_start, s, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_ARRAY, cert ? tls : tls + 3, MHD_OPTION_END);
    if (!d && cert)
        rf_fail(err, RF_ERR_IO, 0,
                "cannot start HTTPS with --tls-cert %s, --tls-key %s: %s", s->o.tls_cert,
                s->o.tls_key, message[0] ? message : "no reason given");
    else if (!d)
        rf_fail(err, RF_ERR_IO, 0, "cannot start HTTP: %s",
                message[0] ? message : "no reason given");
    return d;
}

struct MHD_Daemon *http_start(service *s, int fd, rf_error *err)
{
    struct MHD_Daemon *d = NULL;
    rf_buffer cert = {0}, key = {0};
    wire_start(&s->counts);
    if (s->o.tls_cert && !MHD_is_feature_supported(MHD_FEATURE_TLS))
        rf_fail(err, RF_ERR_VERSION, 0, "this libmicrohttpd was built without TLS");
    else if (read_pem("--tls-cert", s->o.tls_cert, &cert, err) == RF_OK &&
             read_pem("--tls-key", s->o.tls_key, &key, err) == RF_OK)
        d = start_daemon(s, fd, cert.data, key.data, err);
    if (key.data)
        memset(key.data, 0, key.len);
    rf_buffer_release(&cert);
    rf_buffer_release(&key);
    return d;
}
