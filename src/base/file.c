/* file.c - reading, mapping and atomically replacing files and directories */
#define _GNU_SOURCE
#include "base/file.h"

#include "base/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Opens a regular file for reading: a FIFO would block, a directory cannot be mapped. */
static int open_regular(const char *path, struct stat *st, rf_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        rf_fail_errno(err, "%s: cannot open", path);
        return -1;
    }
    if (fstat(fd, st) != 0) {
        rf_fail_errno(err, "%s: cannot stat", path);
    } else if (!S_ISREG(st->st_mode)) {
        rf_fail(err, RF_ERR_FORMAT, 0, "%s: not a regular file", path);
    } else {
        return fd;
    }
    close(fd);
    return -1;
}

/* The status of a failed open_regular. */
static rf_status open_status(const rf_error *err)
{
    return err && err->code != RF_OK ? err->code : RF_ERR_IO;
}

static rf_status read_all(int fd, unsigned char *out, size_t len, const char *path,
                          rf_error *err)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = read(fd, out + at, len - at);
        if (n < 0 && errno != EINTR)
            return rf_fail_errno(err, "%s: cannot read", path);
        if (n == 0)
            return rf_fail(err, RF_ERR_FORMAT, at, "%s: cut short while it was read",
                           path);
        at += n > 0 ? (size_t)n : 0;
    }
    return RF_OK;
}

static rf_status map_file(rf_mapping *mapping, const char *path, bool copy, rf_error *err)
{
    rf_error local = {0};
    struct stat st;
    *mapping = (rf_mapping){0};
    if (!err)
        err = &local;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return open_status(err);
    rf_status status = RF_OK;
    if (st.st_size > 0) {
        size_t len = (size_t)st.st_size;
        void *p = copy ? mmap(NULL, len, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            status = rf_fail_errno(err, "%s: cannot map", path);
        else
            *mapping = (rf_mapping){p, len, copy};
        if (copy && status == RF_OK &&
            (status = read_all(fd, p, len, path, err)) != RF_OK)
            rf_mapping_close(mapping);
    }
    close(fd);
    return status;
}

rf_status rf_mapping_open(rf_mapping *mapping, const char *path, rf_error *err)
{
    return map_file(mapping, path, false, err);
}

rf_status rf_mapping_copy(rf_mapping *mapping, const char *path, rf_error *err)
{
    return map_file(mapping, path, true, err);
}

void rf_mapping_close(rf_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->len);
    *mapping = (rf_mapping){0};
}

void rf_mapping_forget(const rf_mapping *mapping, size_t from, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t end = (from + len) / page * page; /* only pages that lie wholly inside */
    from = (from + page - 1) / page * page;
    if (from < end && !mapping->copied)
        (void)madvise((void *)(uintptr_t)(mapping->data + from), end - from,
                      MADV_DONTNEED);
}

rf_status rf_file_read(const char *path, rf_buffer *out, rf_error *err)
{
    rf_error local = {0};
    struct stat st;
    if (!err)
        err = &local;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return open_status(err);
    rf_buffer_clear(out);
    rf_status status = RF_OK;
    for (;;) {
        status = rf_buffer_reserve(out, 1, err);
        if (status != RF_OK)
            break;
        size_t room = out->cap - 1 - out->len;
        ssize_t n = read(fd, out->data + out->len, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            status = rf_fail_errno(err, "%s: cannot read", path);
            break;
        }
        if (n == 0)
            break;
        out->len += (size_t)n;
    }
    if (status == RF_OK)
        out->data[out->len] = '\0';
    close(fd);
    return status;
}

/* False and errno on failure. */
static bool write_all(int fd, const void *bytes, size_t len)
{
    for (const char *p = bytes; len > 0;) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

rf_status rf_fd_write(int fd, const void *bytes, size_t len, const char *path,
                      rf_error *err)
{
    return write_all(fd, bytes, len) ? RF_OK
                                     : rf_fail_errno(err, "%s: cannot write", path);
}

rf_status rf_file_write(const char *path, const void *bytes, size_t len, rf_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return rf_fail_errno(err, "%s: cannot create", path);
    rf_status st = rf_fd_write(fd, bytes, len, path, err);
    if (st == RF_OK && fsync(fd) != 0)
        st = rf_fail_errno(err, "%s: cannot flush to disk", path);
    if (close(fd) != 0 && st == RF_OK)
        st = rf_fail_errno(err, "%s: cannot close", path);
    return st;
}

rf_status rf_path_join(char out[RF_PATH_MAX], const char *dir, const char *name,
                       rf_error *err)
{
    int n = snprintf(out, RF_PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= RF_PATH_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s.../%s: path longer than %d bytes",
                       dir, name, RF_PATH_MAX - 1);
    return RF_OK;
}

bool rf_file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

rf_status rf_dir_make(const char *path, rf_error *err)
{
    char part[RF_PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof part)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s: bad length of a path: %zu", path,
                       len);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        char keep = part[i];
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return rf_fail_errno(err, "%s: cannot make directory", part);
        part[i] = keep;
    }
    struct stat st;
    if (stat(path, &st) != 0)
        return rf_fail_errno(err, "%s: cannot stat", path);
    if (!S_ISDIR(st.st_mode))
        return rf_fail(err, RF_ERR_IO, 0, "%s: not a directory", path);
    return RF_OK;
}

rf_status rf_dir_make_beside(const char *path, char out[RF_PATH_MAX], rf_error *err)
{
    int n = snprintf(out, RF_PATH_MAX, "%s.XXXXXX", path);
    if (n < 0 || n >= RF_PATH_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path too long", path);
    if (!mkdtemp(out))
        return rf_fail_errno(err, "%s: cannot make directory", out);
    if (chmod(out, 0755) != 0) {
        rf_status st = rf_fail_errno(err, "%s: cannot set permissions", out);
        (void)rmdir(out);
        return st;
    }
    return RF_OK;
}

void rf_dir_remove(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        char child[RF_PATH_MAX];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            rf_path_join(child, path, e->d_name, NULL) != RF_OK)
            continue;
        if (lstat(child, &st) == 0 && S_ISDIR(st.st_mode))
            rf_dir_remove(child);
        else
            (void)unlink(child);
    }
    closedir(dir);
    (void)rmdir(path);
}

static rf_status sync_dir(const char *path, rf_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        return RF_OK; /* writable but not readable: the system flushes it in time */
    if (fd < 0)
        return rf_fail_errno(err, "%s: cannot open", path);
    rf_status st = RF_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* some file systems cannot */
        st = rf_fail_errno(err, "%s: cannot flush to disk", path);
    close(fd);
    return st;
}

/* Flushes the directory that holds `path`. */
static rf_status sync_parent(const char *path, rf_error *err)
{
    char parent[RF_PATH_MAX];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash && slash != parent)
        *slash = '\0';
    else
        snprintf(parent, sizeof parent, "%s", slash ? "/" : ".");
    return sync_dir(parent, err);
}

rf_status rf_dir_publish(const char *from, const char *to, rf_error *err)
{
    rf_status st = sync_dir(from, err);
    if (st != RF_OK)
        return st;
    /* rename() onto an empty directory would succeed: refuse anything that exists. */
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0) {
        if (errno != EINVAL && errno != ENOSYS)
            return rf_fail_errno(err, "%s: cannot put in place", to);
        if (rf_file_exists(to))
            return rf_fail(err, RF_ERR_IO, 0, "%s: exists already", to);
        if (rename(from, to) != 0)
            return rf_fail_errno(err, "%s: cannot put in place", to);
    }
    return sync_parent(to, err);
}

/* ---- A file in the making ---------------------------------------------------------- */

/* The message for errno, and that nothing was lost. */
static rf_status fail_new(const rf_new_file *f, const char *what, rf_error *err)
{
    rf_status st = rf_fail_errno(err, "%s: %s", f->path, what);
    size_t n = err ? strlen(err->msg) : 0;
    if (err)
        snprintf(err->msg + n, sizeof err->msg - n, "; %s",
                 f->replaces ? "the file that was there is unchanged"
                             : "nothing was left behind");
    return st;
}

rf_status rf_new_file_open(rf_new_file *f, const char *path, rf_error *err)
{
    struct stat st;
    struct timespec now;
    *f = (rf_new_file){0};
    if (!*path)
        return rf_fail(err, RF_ERR_ARG, 0, "found an empty name, wanted that of a file");
    int n = snprintf(f->path, sizeof f->path, "%s", path);
    if (n < 0 || (size_t)n + 8 > sizeof f->path)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %d bytes", path,
                       RF_PATH_MAX - 8);
    f->replaces = stat(path, &st) == 0;
    if (f->replaces && !S_ISREG(st.st_mode))
        return rf_fail(err, RF_ERR_IO, 0, "%s: %s, wanted the name of a file", path,
                       S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
    /* Not mkstemp: it makes the file private to its owner, and the umask that says what
     * others may do can only be read by changing it for all threads. */
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t key =
        rf_rng_key((uint64_t)getpid(), (uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, 0);
    for (uint64_t i = 1; i <= 100 && !f->open; i++) {
        snprintf(f->temporary, sizeof f->temporary, "%.*s.%06x", n, f->path,
                 (unsigned)(rf_rng_mix(key + i * RF_RNG_STEP) & 0xffffff));
        f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        f->open = f->fd >= 0;
        if (!f->open && errno != EEXIST)
            break;
    }
    if (f->open && f->replaces) /* a private file stays private */
        (void)fchmod(f->fd, st.st_mode & 0777);
    return f->open ? RF_OK : fail_new(f, "cannot create a file beside it", err);
}

rf_status rf_new_file_add(rf_new_file *f, const void *bytes, size_t len, rf_error *err)
{
    return write_all(f->fd, bytes, len) ? RF_OK : fail_new(f, "cannot write", err);
}

rf_status rf_new_file_patch(rf_new_file *f, size_t at, const void *bytes, size_t len,
                            rf_error *err)
{
    for (const char *p = bytes; len > 0;) {
        ssize_t n = pwrite(f->fd, p, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail_new(f, "cannot write", err);
        p += n;
        at += (size_t)n;
        len -= (size_t)n;
    }
    return RF_OK;
}

rf_status rf_new_file_commit(rf_new_file *f, rf_error *err)
{
    rf_status st = RF_OK;
    if (fsync(f->fd) != 0)
        st = fail_new(f, "cannot flush to disk", err);
    f->open = false;
    if (close(f->fd) != 0 && st == RF_OK)
        st = fail_new(f, "cannot close", err);
    if (st == RF_OK && rename(f->temporary, f->path) != 0)
        st = fail_new(f, "cannot put in place", err);
    if (st != RF_OK)
        (void)unlink(f->temporary);
    else
        st = sync_parent(f->path, err);
    return st;
}

void rf_new_file_abandon(rf_new_file *f)
{
    if (!f->open)
        return;
    f->open = false;
    (void)close(f->fd);
    (void)unlink(f->temporary);
}
