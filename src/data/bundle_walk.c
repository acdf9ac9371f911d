/*
 * bundle_walk.c - the members of a directory or of a zip archive, one after another
 */
#include "data/bundle.h"

#include "base/file.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_MEMBERS ((size_t)1000000)
#define MAX_LEVELS 8 /* of directories */

static rf_status too_many(const char *path, rf_error *err)
{
    return rf_fail(err, RF_ERR_LIMIT, 0, "%s: more than %zu files", path, MAX_MEMBERS);
}

/* ---- Directories ------------------------------------------------------------------- */

typedef struct walk {
    const char *root;
    const rf_bundle_visitor *v;
    size_t members;
} walk;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* The entries of a directory in byte order, without hidden ones. */
static rf_status list_directory(const char *path, char ***out, size_t *n_out,
                                rf_error *err)
{
    size_t n = 0, cap = 0;
    char **names = NULL;
    DIR *d = opendir(path);
    rf_status st = d ? RF_OK : rf_fail_errno(err, "%s: cannot open", path);
    for (struct dirent *e; st == RF_OK && (errno = 0, e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            char **more = n < MAX_MEMBERS ? realloc(names, cap * sizeof *names) : NULL;
            st = more ? RF_OK
                 : n < MAX_MEMBERS
                     ? rf_fail_nomem(err, cap * sizeof *names, "a directory")
                     : too_many(path, err);
            names = more ? more : names;
        }
        if (st == RF_OK && !(names[n] = strdup(e->d_name)))
            st = rf_fail_nomem(err, strlen(e->d_name), "a directory");
        n += st == RF_OK;
    }
    if (st == RF_OK && errno != 0)
        st = rf_fail_errno(err, "%s: cannot read", path);
    if (d)
        closedir(d);
    if (st != RF_OK) {
        free_names(names, n);
        return st;
    }
    if (n > 0)
        qsort(names, n, sizeof *names, by_name);
    *out = names;
    *n_out = n;
    return RF_OK;
}

static rf_status visit_file(walk *w, const char *path, rf_error *err)
{
    rf_source s;
    const char *name = path + strlen(w->root) + 1;
    if (++w->members > MAX_MEMBERS)
        return too_many(w->root, err);
    if (!w->v->wants(w->v->user, name))
        return RF_OK;
    rf_status st = rf_source_open(&s, path, err);
    if (st != RF_OK)
        return st;
    st = w->v->take(w->v->user, name, &s, err);
    rf_source_close(&s);
    return st;
}

/* No recursion: levels[i] is the directory that is being listed at depth i. */
typedef struct level {
    char path[RF_PATH_MAX];
    char **names;
    size_t n, next;
} level;

static rf_status enter(level *l, const char *path, rf_error *err)
{
    snprintf(l->path, sizeof l->path, "%s", path);
    l->names = NULL;
    l->n = l->next = 0;
    return list_directory(path, &l->names, &l->n, err);
}

static rf_status walk_levels(walk *w, level *levels, rf_error *err)
{
    size_t depth = 1;
    rf_status st = enter(&levels[0], w->root, err);
    while (st == RF_OK && depth > 0) {
        level *l = &levels[depth - 1];
        char path[RF_PATH_MAX];
        struct stat info;
        if (l->next == l->n) {
            free_names(l->names, l->n);
            l->names = NULL;
            l->n = 0;
            depth--;
            continue;
        }
        st = rf_path_join(path, l->path, l->names[l->next++], err);
        if (st != RF_OK || stat(path, &info) != 0)
            continue; /* a link to nothing */
        if (S_ISREG(info.st_mode))
            st = visit_file(w, path, err);
        else if (S_ISDIR(info.st_mode) && depth < MAX_LEVELS)
            st = enter(&levels[depth++], path, err);
    }
    return st;
}

rf_status rf_directory_each(const char *path, const rf_bundle_visitor *v, rf_error *err)
{
    walk w = {path, v, 0};
    level *levels = calloc(MAX_LEVELS, sizeof *levels);
    if (!levels)
        return rf_fail_nomem(err, MAX_LEVELS * sizeof *levels, "directories");
    rf_status st = walk_levels(&w, levels, err);
    for (size_t i = 0; i < MAX_LEVELS; i++)
        free_names(levels[i].names, levels[i].n);
    free(levels);
    return st;
}

/* ---- Archives ---------------------------------------------------------------------- */

static rf_status fail_zip(struct archive *a, const char *path, rf_error *err)
{
    if (archive_errno(a) == ENOMEM)
        return rf_fail_nomem(err, 1 << 16, "unpacking");
    const char *words = archive_error_string(a);
    return rf_fail(err, RF_ERR_FORMAT, 0, "%s: cannot unpack the zip archive: %s", path,
                   words ? words : "damaged or cut short");
}

static rf_status visit_entry(struct archive *a, struct archive_entry *entry,
                             const char *path, const rf_bundle_visitor *v, size_t *used,
                             rf_error *err)
{
    const char *name = archive_entry_pathname(entry);
    char full[2 * RF_PATH_MAX];
    rf_source s;
    if (!name || archive_entry_filetype(entry) != AE_IFREG || !v->wants(v->user, name))
        return RF_OK;
    if (archive_entry_is_encrypted(entry))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: %s is encrypted", path, name);
    snprintf(full, sizeof full, "%s/%s", path, name);
    rf_source_open_member(&s, a, full);
    rf_status st = v->take(v->user, name, &s, err);
    *used += s.unpacked;
    rf_source_close(&s);
    if (st == RF_OK && *used > v->limit)
        st =
            rf_fail(err, RF_ERR_LIMIT, 0,
                    "%s: the archive unpacks to more than %zu bytes; --max-unpacked sets "
                    "another limit",
                    path, v->limit);
    return st;
}

rf_status rf_zip_each(const char *path, const rf_bundle_visitor *v, rf_error *err)
{
    struct archive_entry *entry;
    struct archive *a = archive_read_new();
    size_t members = 0, used = 0;
    int rc = ARCHIVE_OK;
    if (!a)
        return rf_fail_nomem(err, 1 << 16, "unpacking");
    archive_read_support_format_zip_seekable(a);
    rf_status st = archive_read_open_filename(a, path, 1 << 16) == ARCHIVE_OK
                       ? RF_OK
                       : fail_zip(a, path, err);
    while (st == RF_OK && (rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK)
        st = ++members > MAX_MEMBERS ? too_many(path, err)
                                     : visit_entry(a, entry, path, v, &used, err);
    if (st == RF_OK && rc != ARCHIVE_EOF)
        st = fail_zip(a, path, err);
    archive_read_free(a);
    return st;
}
