/*
 * wire.h - the bytes of connections on their way into libmicrohttpd
 *
 * libmicrohttpd 0.9.75 has no hook for the bytes it reads, accepts framing that proxies
 * read differently, and misses the end of input that arrives together with data. So the
 * program has a recv() of its own, and a gnutls_record_recv() for HTTPS, which the
 * library calls instead of those of libc and GnuTLS: they read, check (framing.h), and
 * pass on what is sound. What is not is answered with 400, and the library sees the end
 * of input.
 *
 * A request whose head did not come this way is refused (wire_take_head): should another
 * version of the library read its bytes in another way, nothing goes unchecked.
 *
 * All functions are for the I/O thread.
 */
#ifndef RF_SERVE_WIRE_H
#define RF_SERVE_WIRE_H

#include "metrics.h"

/* Before the first connection: where refused requests are counted. */
void wire_start(metrics *counts);
void wire_stop(void);

/* A new connection, encrypted or not. False if there is no memory. */
bool wire_open(int fd, bool tls);
void wire_close(int fd);

/* Has a request come in that was not taken before? */
bool wire_take_head(int fd);

#endif
