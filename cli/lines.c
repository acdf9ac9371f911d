/* lines.c - reads a file or stdin as a stream of lines, in pieces */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 16)

static bool has_input(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Passes a chunk to the sink, line by line. Sets *open if its last line has not ended. */
static rf_status split_chunk(const char *p, size_t n, bool *open, const line_sink *s,
                             rf_error *err)
{
    rf_status st = RF_OK;
    while (n > 0 && st == RF_OK) {
        const char *end = memchr(p, '\n', n);
        size_t len = end ? (size_t)(end - p) : n;
        if (len > 0)
            st = s->piece(s->user, p, len, err);
        *open = !end;
        if (end && st == RF_OK)
            st = s->end(s->user, err);
        len += end != NULL;
        p += len;
        n -= len;
    }
    return st;
}

rf_status lines_read(const char *path, const line_sink *s, rf_error *err)
{
    bool is_stdin = !path || strcmp(path, "-") == 0, open_line = false;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return rf_fail_errno(err, "%s: cannot open", name);
    rf_status st = RF_OK;
    char *chunk = malloc(CHUNK);
    if (!chunk)
        st = rf_fail_nomem(err, CHUNK, "reading");
    while (st == RF_OK) {
        if (!has_input(fd))
            st = s->idle(s->user, err);
        ssize_t n = st == RF_OK ? read(fd, chunk, CHUNK) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            st = rf_fail_errno(err, "%s: cannot read", name);
        if (n <= 0)
            break;
        st = split_chunk(chunk, (size_t)n, &open_line, s, err);
    }
    if (st == RF_OK && open_line)
        st = s->end(s->user, err);
    free(chunk);
    if (!is_stdin)
        close(fd);
    return st;
}
