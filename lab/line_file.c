/* line_file.c - appends lines of JSON to a file and reads them back */
#define _GNU_SOURCE
#include "lab/line_file.h"

#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((size_t)1 << 30)

/* ---- Appending --------------------------------------------------------------------- */

/* Is a last line without a newline truncated? A truncated line is never a whole object,
 * as the closing brace comes last. */
static rf_status is_truncated(const char *text, size_t len, bool *cut, rf_error *err)
{
    rf_error why = {0};
    json_t *whole = rf_json_line(text, len, "the last line", 1, &why);
    *cut = !whole;
    json_decref(whole);
    if (*cut && why.code != RF_ERR_FORMAT)
        return rf_fail(err, why.code, 0, "%s", why.msg);
    return RF_OK;
}

/* Reads exactly len bytes of an open file at an offset. */
static rf_status read_at(int fd, char *out, size_t len, size_t at, const char *path,
                         rf_error *err)
{
    while (len > 0) {
        ssize_t n = pread(fd, out, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rf_fail_errno(err, "%s: cannot read", path);
        if (n == 0)
            return rf_fail(err, RF_ERR_IO, at, "%s: ends too early", path);
        out += n;
        at += (size_t)n;
        len -= (size_t)n;
    }
    return RF_OK;
}

/* Finds where the last line begins; *start is size if the file ends in a newline. */
static rf_status find_last_line(int fd, size_t size, size_t *start, const char *path,
                                rf_error *err)
{
    char block[4096];
    for (size_t end = size; end > 0;) {
        size_t from = end > sizeof block ? end - sizeof block : 0;
        rf_status st = read_at(fd, block, end - from, from, path, err);
        if (st != RF_OK)
            return st;
        for (size_t i = end - from; i-- > 0;)
            if (block[i] == '\n') {
                *start = from + i + 1;
                return RF_OK;
            }
        end = from;
    }
    *start = 0;
    return RF_OK;
}

/* Makes the file end in a newline: adds it to a complete last line, or cuts off a
 * fragment that a crash left. */
static rf_status repair_end(int fd, size_t size, const char *path, rf_error *err)
{
    size_t start = 0;
    rf_status st = find_last_line(fd, size, &start, path, err);
    if (st != RF_OK || start == size)
        return st;
    if (size - start > RF_LINE_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: its last line has %zu bytes, wanted at most %zu", path,
                       size - start, RF_LINE_MAX);
    char *line = malloc(size - start);
    if (!line)
        return rf_fail_nomem(err, size - start, "the last line");
    st = read_at(fd, line, size - start, start, path, err);
    if (st == RF_OK) {
        bool cut = false;
        st = is_truncated(line, size - start, &cut, err);
        if (st == RF_OK && !cut)
            st = rf_fd_write(fd, "\n", 1, path, err);
        else if (st == RF_OK && ftruncate(fd, (off_t)start) != 0)
            st = rf_fail_errno(err, "%s: cannot cut off an unfinished line", path);
    }
    free(line);
    return st;
}

/* Appends the whole line or nothing. With O_APPEND a single write goes to the end whoever
 * else writes; the lock protects the repair and the rollback. */
static rf_status add_line(int fd, const rf_buffer *line, const char *path, rf_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return rf_fail_errno(err, "%s: cannot stat", path);
    ssize_t n;
    do
        n = write(fd, line->data, line->len);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)line->len)
        return fsync(fd) == 0 ? RF_OK : rf_fail_errno(err, "%s: cannot flush", path);
    if (n >= 0)
        errno = ENOSPC; /* the usual cause of a short write, which sets no errno */
    rf_status status = rf_fail_errno(err, "%s: cannot write", path);
    if (n > 0 && ftruncate(fd, st.st_size) != 0)
        return rf_fail_errno(err, "%s: cannot remove half a line", path);
    return status;
}

static rf_status append_bytes(const char *path, const rf_buffer *line, rf_error *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return rf_fail_errno(err, "%s: cannot open", path);
    rf_status status = RF_OK;
    while (flock(fd, LOCK_EX) != 0 && status == RF_OK)
        if (errno != EINTR)
            status = rf_fail_errno(err, "%s: cannot lock", path);
    if (status == RF_OK && fstat(fd, &st) != 0)
        status = rf_fail_errno(err, "%s: cannot stat", path);
    if (status == RF_OK && !S_ISREG(st.st_mode))
        status = rf_fail(err, RF_ERR_IO, 0, "%s: not a regular file", path);
    if (status == RF_OK && st.st_size > 0)
        status = repair_end(fd, (size_t)st.st_size, path, err);
    if (status == RF_OK)
        status = add_line(fd, line, path, err);
    if (close(fd) != 0 && status == RF_OK)
        status = rf_fail_errno(err, "%s: cannot close", path);
    return status;
}

rf_status rf_lines_append(const char *dir, const char *name, const rf_buffer *line,
                          rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_status st = rf_path_join(path, dir, name, err);
    if (st == RF_OK)
        st = rf_dir_make(dir, err);
    return st == RF_OK ? append_bytes(path, line, err) : st;
}

/* ---- Reading ----------------------------------------------------------------------- */

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

static rf_status read_lines(const rf_buffer *text, const char *path, rf_line_sink sink,
                            void *user, rf_error *err)
{
    size_t number = 0;
    for (size_t at = 0; at < text->len;) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->len - at);
        size_t len = end ? (size_t)(end - line) : text->len - at;
        number++;
        bool cut = false;
        rf_status st = RF_OK;
        if (!end) /* only the last line may be a fragment */
            st = is_truncated(line, len, &cut, err);
        if (st == RF_OK && !cut && !is_blank(line, len))
            st = sink(user, line, len, path, number, err);
        if (st != RF_OK)
            return st;
        at += len + 1;
    }
    return RF_OK;
}

rf_status rf_lines_read(const char *dir, const char *name, rf_line_sink sink, void *user,
                        rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_buffer text;
    rf_status st = rf_path_join(path, dir, name, err);
    if (st != RF_OK || !rf_file_exists(path))
        return st;
    rf_buffer_init(&text, MAX_FILE, path);
    st = rf_file_read(path, &text, err);
    if (st == RF_OK)
        st = read_lines(&text, path, sink, user, err);
    rf_buffer_release(&text);
    return st;
}
