/*
 * framing.h - where requests begin and end in the bytes of a connection, read strictly
 *
 * If a proxy and we disagree about where a request ends, part of its body becomes another
 * request (request smuggling; RFC 9112, 11.2). So what implementations read differently
 * is refused: folded header lines, bare LF or CR, NUL, spaces before a colon, two
 * lengths, a length beside chunks, codings other than "chunked", two Host headers.
 *
 *   framing f = {0};
 *   size_t good = framing_read(&f, bytes, n);   // as they arrive, in pieces of any size
 *   if (f.fault) ...                            // the first `good` bytes may be used
 */
#ifndef RF_SERVE_FRAMING_H
#define RF_SERVE_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parameters of a query and cookies, together. libmicrohttpd has memory for a few
 * hundred, and would close without an answer. */
#define FRAMING_MAX_PARTS 200

typedef struct framing {
    const char *fault; /* what is wrong, for people; NULL: nothing so far. It stays. */
    size_t heads;      /* of requests, that are complete */

    int state;
    uint64_t left; /* bytes of the body or chunk */
    size_t count;  /* bytes of the current item */
    char name[18], value[20];
    size_t value_len, parts;
    unsigned hosts;
    bool has_length, chunked;
    bool old, trailer; /* HTTP/1.0; in the header lines after the last chunk */
} framing;

/* Returns how many of the bytes come before the request that is at fault: all of them if
 * none is. (Earlier pieces of that request have been let through.) */
size_t framing_read(framing *f, const char *bytes, size_t n);

#endif
