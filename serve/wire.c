/* wire.c - reading for libmicrohttpd: plain and encrypted, checked, and to the very end
 */
#undef _FORTIFY_SOURCE /* with it, recv() is an inline function of the headers */
#include "wire.h"

#include "framing.h"
#include "problem.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_ANSWER 2048
#define DRAIN_BYTES                                                                      \
    ((size_t)1 << 18) /* of a refused request, read before it is answered */

typedef struct wire {
    framing framing;
    size_t taken; /* heads */
    bool tls, refused;
} wire;

static struct {
    wire **by_fd; /* [n] */
    size_t n;
    metrics *counts;
} wires;

/* ---- Connections ------------------------------------------------------------------- */

void wire_start(metrics *counts)
{
    wires.counts = counts;
}

void wire_stop(void)
{
    for (size_t i = 0; i < wires.n; i++)
        free(wires.by_fd[i]);
    free(wires.by_fd);
    wires.by_fd = NULL;
    wires.n = 0;
}

static wire *find(int fd)
{
    return fd >= 0 && (size_t)fd < wires.n ? wires.by_fd[fd] : NULL;
}

static bool make_room(size_t fd)
{
    size_t n = wires.n ? wires.n : 64;
    while (n <= fd)
        n *= 2;
    if (n == wires.n)
        return true;
    wire **grown = realloc(wires.by_fd, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + wires.n, 0, (n - wires.n) * sizeof *grown);
    wires.by_fd = grown;
    wires.n = n;
    return true;
}

bool wire_open(int fd, bool tls)
{
    wire *w = fd >= 0 && make_room((size_t)fd) ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return false;
    w->tls = tls;
    free(wires.by_fd[fd]);
    wires.by_fd[fd] = w;
    return true;
}

void wire_close(int fd)
{
    wire *w = find(fd);
    if (w)
        wires.by_fd[fd] = NULL;
    free(w);
}

bool wire_take_head(int fd)
{
    wire *w = find(fd);
    return w && w->taken++ < w->framing.heads;
}

/* ---- Refusing ---------------------------------------------------------------------- */

static size_t write_answer(const framing *f, char *out, size_t room)
{
    static const char head[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n";
    problem p;
    rf_text body, all;
    problem_set(&p, 400, "bad_request", "%s", f->fault);
    rf_text_init(&body, room, "an error");
    rf_text_init(&all, room, "an error");
    problem_write(&p, &body);
    rf_text_format(&all, "%sContent-Length: %zu\r\n\r\n", head, body.buffer.len + 1);
    rf_text_add(&all, body.buffer.data, body.buffer.len);
    rf_text_put(&all, "\n");
    size_t n = body.status == RF_OK && all.status == RF_OK ? all.buffer.len : 0;
    if (n)
        memcpy(out, all.buffer.data, n);
    rf_text_release(&body);
    rf_text_release(&all);
    return n;
}

/* Answers what is at fault. Input that is not read would reset the connection, and the
 * client might not see the answer. */
static void refuse(wire *w, int fd, gnutls_session_t session)
{
    char out[MAX_ANSWER];
    if (w->refused)
        return;
    w->refused = true;
    for (size_t i = 0; i < DRAIN_BYTES / sizeof out; i++)
        if (recvfrom(fd, out, sizeof out, MSG_DONTWAIT, NULL, NULL) <= 0)
            break;
    size_t n = write_answer(&w->framing, out, sizeof out);
    if (session)
        gnutls_record_send(session, out, n);
    else
        send(fd, out, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    metrics_request(wires.counts, ENDPOINT_OTHER, 400);
}

/* ---- Reading ----------------------------------------------------------------------- */

/* The library waits for an event after it got less than it asked for. Where none will
 * come, this is one. It loses no bytes. */
static void wake_library(int fd)
{
    shutdown(fd, SHUT_RD);
}

static bool at_end(int fd)
{
    char c;
    return recvfrom(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) == 0;
}

/* What the library gets of the bytes that were read; 0: the end of input. */
static ssize_t pass_on(wire *w, int fd, gnutls_session_t session, const void *bytes,
                       size_t got, size_t asked)
{
    size_t good = framing_read(&w->framing, bytes, got);
    if (w->framing.fault && good == 0)
        refuse(w, fd, session);
    else if (w->framing.fault || /* to refuse, after the requests before are answered */
             (got < asked && at_end(fd) &&
              (!session || gnutls_record_check_pending(session) == 0)))
        wake_library(fd);
    return (ssize_t)good;
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t n,
                                                    int flags)
{
    wire *w = find(fd);
    if (!w || w->tls)
        return recvfrom(fd, bytes, n, flags, NULL, NULL);
    if (w->framing.fault) {
        refuse(w, fd, NULL);
        return 0;
    }
    ssize_t got = recvfrom(fd, bytes, n, flags, NULL, NULL);
    return got <= 0 ? got : pass_on(w, fd, NULL, bytes, (size_t)got, n);
}

/* gnutls_record_recv_seq() is the same function, with a number that nobody needs. */
__attribute__((visibility("default"))) ssize_t
gnutls_record_recv(gnutls_session_t session, void *bytes, size_t n)
{
    unsigned char number[8];
    int fd = gnutls_transport_get_int(session);
    wire *w = find(fd);
    if (!w)
        return gnutls_record_recv_seq(session, bytes, n, number);
    if (w->framing.fault) {
        refuse(w, fd, session);
        return 0;
    }
    ssize_t got = gnutls_record_recv_seq(session, bytes, n, number);
    return got <= 0 ? got : pass_on(w, fd, session, bytes, (size_t)got, n);
}
