/* results.c - appends to and reads runs.jsonl */
#define _GNU_SOURCE
#include "lab/results.h"

#include "base/file.h"
#include "lab/run_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINE ((size_t)1 << 24)
#define MAX_FILE ((size_t)1 << 30)

void rf_run_release(rf_run *run)
{
    json_decref(run->settings);
    json_decref(run->confusions);
    run->settings = run->confusions = NULL;
}

void rf_runs_free(rf_run *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        rf_run_release(&list[i]);
    free(list);
}

/* ---- Keys -------------------------------------------------------------------------- */

char *rf_ratio_text(double ratio, char out[RF_RATIO_TEXT])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, RF_RATIO_TEXT, "%.*g", digits, ratio);
        if (strtod(out, NULL) == ratio)
            break;
    }
    return out;
}

char *rf_run_key(const rf_run *run, char out[RF_RUN_KEY])
{
    char ratio[RF_RATIO_TEXT];
    snprintf(out, RF_RUN_KEY, "%s %s seed %llu %s %s%s%s", run->set,
             rf_ratio_text(run->ratio, ratio), (unsigned long long)run->seed, run->method,
             run->encoder, run->variant[0] ? " " : "", run->variant);
    return out;
}

int rf_run_compare(const rf_run *a, const rf_run *b)
{
    int c = strcmp(a->set, b->set);
    if (c == 0)
        c = (a->ratio > b->ratio) - (a->ratio < b->ratio);
    if (c == 0)
        c = (a->seed > b->seed) - (a->seed < b->seed);
    if (c == 0)
        c = strcmp(a->method, b->method);
    if (c == 0)
        c = strcmp(a->encoder, b->encoder);
    return c ? c : strcmp(a->variant, b->variant);
}

const rf_run *rf_runs_find(const rf_run *list, size_t n, const rf_run *like)
{
    for (size_t i = 0; i < n; i++)
        if (rf_run_compare(&list[i], like) == 0)
            return &list[i];
    return NULL;
}

/* ---- Appending a run --------------------------------------------------------------- */

/* Is a last line without a newline truncated? A truncated line is never a whole object,
 * as the closing brace comes last. */
static rf_status is_truncated(const char *text, size_t len, bool *cut, rf_error *err)
{
    rf_error why = {0};
    json_t *whole = rf_json_line(text, len, RF_RUNS_FILE, 1, &why);
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
    if (size - start > MAX_LINE)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: its last line has %zu bytes, wanted at most %zu", path,
                       size - start, MAX_LINE);
    char *line = malloc(size - start);
    if (!line)
        return rf_fail_nomem(err, size - start, "the last run");
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

rf_status rf_run_append(const char *dir, const rf_run *run, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_buffer line;
    rf_buffer_init(&line, MAX_LINE, "a run");
    rf_status st = rf_path_join(path, dir, RF_RUNS_FILE, err);
    if (st == RF_OK)
        st = rf_run_write(run, &line, err);
    if (st == RF_OK)
        st = rf_dir_make(dir, err);
    if (st == RF_OK)
        st = append_bytes(path, &line, err);
    rf_buffer_release(&line);
    return st;
}

/* ---- Reading them all -------------------------------------------------------------- */

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

static rf_status add_run(rf_buffer *out, const char *line, size_t len, const char *path,
                         size_t number, rf_error *err)
{
    rf_run run;
    rf_status st = rf_run_read(&run, line, len, path, number, err);
    if (st != RF_OK)
        return st;
    st = rf_buffer_add(out, &run, sizeof run, err);
    if (st != RF_OK)
        rf_run_release(&run);
    return st;
}

/* Appends the run of every line to out, an array of rf_run. */
static rf_status read_lines(rf_buffer *out, const char *text, size_t len,
                            const char *path, rf_error *err)
{
    size_t number = 0;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t stop = end ? (size_t)(end - text) : len;
        number++;
        bool cut = false;
        rf_status st = RF_OK;
        if (!end) /* only the last line may be a fragment */
            st = is_truncated(text + at, stop - at, &cut, err);
        if (st == RF_OK && !cut && !is_blank(text + at, stop - at))
            st = add_run(out, text + at, stop - at, path, number, err);
        if (st != RF_OK)
            return st;
        at = stop + 1;
    }
    return RF_OK;
}

static int by_key_then_place(const void *a, const void *b)
{
    const rf_run *x = *(const rf_run *const *)a, *y = *(const rf_run *const *)b;
    int c = rf_run_compare(x, y);
    return c ? c : (x > y) - (x < y);
}

/* Of runs with the same key, keeps the last. */
static rf_status drop_older(rf_run *list, size_t *n, rf_error *err)
{
    const rf_run **order = calloc(*n ? *n : 1, sizeof(const rf_run *));
    bool *old = calloc(*n ? *n : 1, sizeof *old);
    rf_status st = order && old ? RF_OK : rf_fail_nomem(err, *n * sizeof *order, "runs");
    if (st == RF_OK) {
        for (size_t i = 0; i < *n; i++)
            order[i] = &list[i];
        qsort(order, *n, sizeof(const rf_run *), by_key_then_place);
        for (size_t i = 0; i + 1 < *n; i++)
            old[order[i] - list] = rf_run_compare(order[i], order[i + 1]) == 0;
        size_t kept = 0;
        for (size_t i = 0; i < *n; i++) {
            if (old[i])
                rf_run_release(&list[i]);
            else
                list[kept++] = list[i];
        }
        *n = kept;
    }
    free(order);
    free(old);
    return st;
}

rf_status rf_runs_load(const char *dir, rf_run **list, size_t *n, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_buffer text, runs;
    *list = NULL;
    *n = 0;
    rf_status st = rf_path_join(path, dir, RF_RUNS_FILE, err);
    if (st != RF_OK || !rf_file_exists(path))
        return st;
    rf_buffer_init(&text, MAX_FILE, path);
    rf_buffer_init(&runs, SIZE_MAX / 4, "runs");
    st = rf_file_read(path, &text, err);
    if (st == RF_OK)
        st = read_lines(&runs, text.data, text.len, path, err);
    rf_buffer_release(&text);
    rf_run *all = (rf_run *)(void *)runs.data;
    size_t count = runs.len / sizeof *all;
    if (st == RF_OK)
        st = drop_older(all, &count, err);
    if (st != RF_OK) {
        rf_runs_free(all, count);
        return st;
    }
    *list = all;
    *n = count;
    return RF_OK;
}
