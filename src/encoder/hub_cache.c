/* hub_cache.c - finds, lists and removes encoders of the hub in the cache */
#include "encoder/hub_cache.h"

#include "base/file.h"
#include "encoder/catalogue.h"
#include "encoder/hub_known.h"
#include "ringfence_hub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static rf_status fail_missing(const char *name, const json_t *known, rf_error *err)
{
    const char *other = rf_hub_known_revision(known);
    rf_hub_name n;
    if (other && rf_hub_name_parse(&n, name, NULL) == RF_OK &&
        strcmp(other, n.revision) != 0)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "encoder %s is not in the cache, but its revision %s is: "
                       "%s/%s@%s; or get it with: ringfence encoder get %s",
                       name, other, n.owner, n.name, other, name);
    return rf_fail(err, RF_ERR_MISSING, 0,
                   "%s: found no such directory, and no encoder of the Hugging Face hub "
                   "by that name in the cache; if it is one, get it with: ringfence "
                   "encoder get %s",
                   name, name);
}

rf_status rf_hub_path(const char *name, char dir[RF_PATH_MAX], char *note, size_t cap,
                      rf_error *err)
{
    rf_error local = {0};
    rf_hub_name n;
    char repository[RF_PATH_MAX];
    rf_status st;
    err = err ? err : &local;
    if ((st = rf_hub_name_parse(&n, name, err)) != RF_OK ||
        (st = rf_hub_dir(&n, repository, err)) != RF_OK)
        return st;
    json_t *known = rf_hub_known_read(repository, &n, err);
    if (!known)
        return err->code;
    const char *commit = rf_hub_known_commit(known, n.revision);
    if (!commit)
        st = fail_missing(name, known, err);
    else if ((st = rf_path_join(dir, repository, commit, err)) == RF_OK)
        st = rf_file_exists(dir)
                 ? rf_hub_known_check(rf_hub_known_entry(known, commit), dir, name, err)
                 : fail_missing(name, NULL, err);
    if (st == RF_OK && note)
        snprintf(note, cap, "%s/%s@%s", n.owner, n.name, commit);
    json_decref(known);
    return st;
}

int rf_hub_lock(const char *repository, bool make, rf_error *err)
{
    struct stat opened, there;
    /* Another process may remove the empty directory between our two calls. */
    for (int i = 0; i < 100; i++) {
        if (make && rf_dir_make(repository, err) != RF_OK)
            return -1;
        int fd = open(repository, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && (!make || errno != ENOENT)) {
            rf_fail_errno(err, "%s: cannot open", repository);
            return -1;
        }
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
            rf_fail(err, RF_ERR_IO, 0,
                    "%s: another process is fetching or removing it; try again later",
                    repository);
            close(fd);
            return -1;
        }
        if (fd >= 0 && fstat(fd, &opened) == 0 && stat(repository, &there) == 0 &&
            opened.st_ino == there.st_ino && opened.st_dev == there.st_dev)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    rf_fail(err, RF_ERR_IO, 0, "%s: removed again and again by another process",
            repository);
    return -1;
}

void rf_hub_tidy(const char *repository)
{
    char path[RF_PATH_MAX];
    snprintf(path, sizeof path, "%s", repository);
    for (int i = 0; i < 3; i++) { /* NAME, OWNER, hub */
        if (rmdir(path) != 0)
            return;
        *strrchr(path, '/') = '\0';
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

void rf_hub_drop_parts(const char *repository, const char *keep)
{
    static const char draft[] = "known.json.";
    char path[RF_PATH_MAX];
    DIR *d = opendir(repository);
    for (struct dirent *e; d && (e = readdir(d));) {
        bool part =
            ends_with(e->d_name, ".part") && (!keep || strcmp(e->d_name, keep) != 0);
        bool record = strncmp(e->d_name, draft, sizeof draft - 1) == 0;
        if ((!part && !record) ||
            rf_path_join(path, repository, e->d_name, NULL) != RF_OK)
            continue;
        if (part)
            rf_dir_remove(path);
        else
            (void)unlink(path);
    }
    if (d)
        closedir(d);
}

/* Forgets the revision, and every other that means the same commit. */
static void forget(json_t *known, const char *commit)
{
    json_t *revisions = json_object_get(known, "revisions"), *value;
    const char *key;
    void *next;
    json_object_foreach_safe(revisions, next, key,
                             value) if (strcmp(json_string_value(value), commit) == 0)
        json_object_del(revisions, key);
}

static rf_status remove_commit(json_t *known, const char *repository, const char *commit,
                               rf_error *err)
{
    char dir[RF_PATH_MAX], away[RF_PATH_MAX];
    rf_status st;
    forget(known, commit);
    if ((st = rf_path_join(dir, repository, commit, err)) != RF_OK ||
        (st = rf_hub_known_write(known, repository, err)) != RF_OK)
        return st;
    /* Renamed first: a kill leaves no encoder with half of its files. */
    int n = snprintf(away, sizeof away, "%s.part", dir);
    if (n < 0 || (size_t)n >= sizeof away)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path too long", dir);
    rf_dir_remove(away);
    if (rename(dir, away) != 0 && errno != ENOENT)
        return rf_fail_errno(err, "%s: cannot remove", dir);
    rf_dir_remove(away);
    return RF_OK;
}

rf_status rf_hub_remove(const char *name, rf_error *err)
{
    rf_error local = {0};
    rf_hub_name n;
    char repository[RF_PATH_MAX], commit[RF_HUB_COMMIT], dir[RF_PATH_MAX];
    rf_status st;
    err = err ? err : &local;
    if ((st = rf_hub_name_parse(&n, name, err)) != RF_OK ||
        (st = rf_hub_dir(&n, repository, err)) != RF_OK)
        return st;
    if (!rf_file_exists(repository))
        return rf_fail(err, RF_ERR_MISSING, 0, "%s: not in the cache", name);
    int lock = rf_hub_lock(repository, false, err);
    if (lock < 0)
        return err->code;
    json_t *known = rf_hub_known_read(repository, &n, err);
    const char *found = known ? rf_hub_known_commit(known, n.revision) : NULL;
    snprintf(commit, sizeof commit, "%s", found ? found : "");
    bool parts = false;
    DIR *d = opendir(repository);
    for (struct dirent *e; d && (e = readdir(d));)
        parts |= ends_with(e->d_name, ".part");
    if (d)
        closedir(d);
    if (!known)
        st = err->code;
    else if (found && rf_path_join(dir, repository, commit, err) == RF_OK &&
             rf_file_exists(dir))
        st = remove_commit(known, repository, commit, err);
    else if (!parts)
        st = rf_fail(err, RF_ERR_MISSING, 0, "%s: not in the cache", name);
    if (st == RF_OK)
        rf_hub_drop_parts(repository, NULL);
    json_decref(known);
    rf_hub_tidy(repository);
    close(lock);
    return st;
}

/* ---- The list ---------------------------------------------------------------------- */

typedef struct walk {
    int (*visit)(void *user, const rf_hub_encoder *encoder);
    void *user;
    bool stop;
    rf_error *err;
} walk;

/* The revisions of one repository. A file that cannot be read is no reason to hide the
 * other encoders: it shows when the encoder is used. */
static void walk_repository(walk *w, const rf_hub_name *n)
{
    char repository[RF_PATH_MAX];
    const char *revision, *file;
    json_t *commit, *size;
    if (rf_hub_dir(n, repository, NULL) != RF_OK)
        return;
    json_t *known = rf_hub_known_read(repository, n, NULL);
    json_t *revisions = json_object_get(known, "revisions");
    json_object_foreach(revisions, revision, commit)
    {
        rf_hub_encoder e = {0};
        const char *hex = json_string_value(commit);
        const json_t *entry = rf_hub_known_entry(known, hex);
        const char *licence = json_string_value(json_object_get(entry, "licence"));
        const char *language = json_string_value(json_object_get(entry, "language"));
        bool main_line = strcmp(revision, "main") == 0;
        if (w->stop || rf_path_join(e.dir, repository, hex, NULL) != RF_OK ||
            !rf_file_exists(e.dir))
            continue;
        snprintf(e.name, sizeof e.name, "%s/%s%s%.128s", n->owner, n->name,
                 main_line ? "" : "@", main_line ? "" : revision);
        snprintf(e.commit, sizeof e.commit, "%s", hex);
        snprintf(e.licence, sizeof e.licence, "%s", licence ? licence : "");
        snprintf(e.language, sizeof e.language, "%s", language ? language : "");
        json_object_foreach(json_object_get(entry, "files"), file, size) e.bytes +=
            (uint64_t)json_integer_value(json_object_get(size, "size"));
        w->stop = w->visit(w->user, &e) != 0;
    }
    json_decref(known);
}

/* Calls `each` with the directories in path, in byte order. */
static void each_directory(const char *path, walk *w, const char *owner,
                           void (*each)(walk *w, const char *owner, const char *name))
{
    struct dirent **found = NULL;
    int n = scandir(path, &found, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (!w->stop && found[i]->d_name[0] != '.')
            each(w, owner, found[i]->d_name);
        free(found[i]);
    }
    free(found);
}

static void walk_name(walk *w, const char *owner, const char *name)
{
    char text[600];
    rf_hub_name n;
    snprintf(text, sizeof text, "%s/%s", owner, name);
    if (rf_hub_name_parse(&n, text, NULL) == RF_OK)
        walk_repository(w, &n);
}

static void walk_owner(walk *w, const char *unused, const char *owner)
{
    char below[300], path[RF_PATH_MAX];
    (void)unused;
    snprintf(below, sizeof below, "hub/%s", owner);
    if (rf_catalogue_dir(below, path, NULL) == RF_OK)
        each_directory(path, w, owner, walk_name);
}

rf_status rf_hub_cached(int (*visit)(void *user, const rf_hub_encoder *encoder),
                        void *user, rf_error *err)
{
    char path[RF_PATH_MAX];
    walk w = {.visit = visit, .user = user, .err = err};
    rf_status st = rf_catalogue_dir("hub", path, err);
    if (st == RF_OK)
        each_directory(path, &w, NULL, walk_owner);
    return st;
}
