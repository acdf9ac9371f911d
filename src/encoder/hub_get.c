/*
 * hub_get.c - brings an encoder from the hub into the cache
 *
 *   OWNER/NAME/                 locked while this runs
 *     known.json                commits and sha256 of what was ever fetched
 *     COMMIT/                   an encoder, complete
 *     COMMIT.part/              one on its way:
 *       weights, weights.etag     as much of the weights as has come
 *       files/                    everything else
 *       ready/                    what an ONNX export is converted into
 *
 * known.json is written before the directory is renamed to COMMIT, so there is no moment
 * in which an encoder is in the cache without its sha256. A kill at any moment leaves at
 * most a COMMIT.part, which the next call for that commit takes up, and every completed
 * call removes. A failure that we live to see leaves the weights alone.
 */
#include "ringfence_hub.h"

#include "base/file.h"
#include "encoder/catalogue.h"
#include "encoder/config.h"
#include "encoder/hub_cache.h"
#include "encoder/hub_check.h"
#include "encoder/hub_known.h"
#include "encoder/hub_listing.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef struct hub_get {
    const char *text; /* what the caller asked for */
    rf_hub_name name;
    const rf_hub_transport *transport;
    rf_progress progress;
    void *user;
    rf_error *err;
    json_t *known;
    rf_hub_listing listing;
    bool wanted[RF_HUB_FILES];
    char repository[RF_PATH_MAX], target[RF_PATH_MAX];
    char work[RF_PATH_MAX], files[RF_PATH_MAX], ready[RF_PATH_MAX];
    char weights[RF_PATH_MAX], etag[RF_PATH_MAX];
} hub_get;

/* RF_ERR_STOPPED if the caller wants no more of it. */
static rf_status say(const hub_get *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static rf_status say(const hub_get *g, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    if (!g->progress)
        return RF_OK;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    return g->progress(g->user, line) == 0
               ? RF_OK
               : rf_fail(g->err, RF_ERR_STOPPED, 0, "stopped on request");
}

/* ---- What there is ----------------------------------------------------------------- */

static rf_status ask(hub_get *g)
{
    char path[1024], revision[3 * RF_HUB_REVISION + 1], name[256];
    char *at = revision, *text = NULL;
    size_t len = 0;
    for (const char *c = g->name.revision; *c; c++) /* all else needs no escape */
        at += *c == '/' ? snprintf(at, 4, "%%2F") : snprintf(at, 2, "%c", *c);
    *at = '\0';
    snprintf(path, sizeof path, "/api/models/%s/%s/revision/%s?blobs=true", g->name.owner,
             g->name.name, revision);
    snprintf(name, sizeof name, "the hub's description of %.200s", g->text);
    const rf_hub_transport *t = g->transport;
    rf_status st = t->get_text(t->user, path, RF_HUB_MAX_ANSWER, &text, &len, g->err);
    if (st == RF_OK)
        st = rf_hub_listing_parse(&g->listing, text, len, name, g->err);
    free(text);
    if (st == RF_OK && rf_hub_is_commit(g->name.revision) &&
        strcmp(g->listing.commit, g->name.revision) != 0)
        st = rf_fail(g->err, RF_ERR_FORMAT, 0, "%s: is about commit %s", name,
                     g->listing.commit);
    return st == RF_OK ? rf_hub_listing_choose(&g->listing, g->wanted, g->text, g->err)
                       : st;
}

/* The catalogue knows the weights of some repositories: those of their main line. */
static rf_status check_catalogue(const hub_get *g)
{
    char name[2 * RF_HUB_PART];
    const rf_hub_entry *e = &g->listing.files[RF_HUB_ONNX];
    snprintf(name, sizeof name, "%s/%s", g->name.owner, g->name.name);
    const rf_catalogue_item *item = g->name.pinned ? NULL : rf_catalogue_find_hub(name);
    if (!item || !g->wanted[RF_HUB_ONNX] || strcmp(e->sha256, item->onnx_sha256) == 0)
        return RF_OK;
    return rf_fail(
        g->err, RF_ERR_FORMAT, 0,
        "%s: onnx/model.onnx has sha256 %s, the catalogue knows %s; if the new "
        "one is meant, name it: %s@%s",
        g->text, e->sha256[0] ? e->sha256 : "(not said)", item->onnx_sha256, g->text,
        g->listing.commit);
}

/* ---- Files ------------------------------------------------------------------------- */

static rf_status fetch(const hub_get *g, rf_hub_file k, const char *file)
{
    char path[512], name[300];
    const rf_hub_entry *e = &g->listing.files[k];
    const rf_hub_transport *t = g->transport;
    snprintf(path, sizeof path, "/%s/%s/resolve/%s/%s", g->name.owner, g->name.name,
             g->listing.commit, rf_hub_kinds[k].name);
    snprintf(name, sizeof name, "%.200s: %s", g->text, rf_hub_kinds[k].name);
    const rf_hub_request request = {.path = path,
                                    .name = rf_hub_kinds[k].name,
                                    .commit = g->listing.commit,
                                    .sha256 = e->sha256,
                                    .size = e->size,
                                    .max = rf_hub_kinds[k].max};
    rf_status st = t->get_file(t->user, &request, file, g->err);
    if (st == RF_OK && (st = rf_hub_check_file(file, e, name, g->err)) != RF_OK)
        (void)unlink(file); /* nothing to continue from */
    return st;
}

static rf_status fetch_small(const hub_get *g, rf_hub_file k)
{
    char file[RF_PATH_MAX], etag[RF_PATH_MAX];
    rf_status st = rf_path_join(file, g->files, rf_hub_kinds[k].name, g->err);
    char *slash = st == RF_OK ? strrchr(file, '/') : NULL;
    if (slash && strchr(rf_hub_kinds[k].name, '/')) {
        *slash = '\0';
        st = rf_dir_make(file, g->err);
        *slash = '/';
    }
    if (st == RF_OK)
        st = fetch(g, k, file);
    if ((size_t)snprintf(etag, sizeof etag, "%s.etag", file) < sizeof etag)
        (void)unlink(etag);
    return st;
}

/* config.json and the tokenizer are read as soon as they are there. */
static rf_status fetch_description(const hub_get *g)
{
    rf_config config;
    rf_status st = fetch_small(g, RF_HUB_CONFIG);
    if (st == RF_OK)
        st = rf_config_load(&config, g->files, g->err);
    for (rf_hub_file k = RF_HUB_TOKENIZER; st == RF_OK && k < RF_HUB_WEIGHTS; k++)
        if (g->wanted[k])
            st = fetch_small(g, k);
    if (st == RF_OK) {
        rf_vocab *vocab = rf_vocab_load(g->files, g->err);
        st = vocab ? RF_OK : g->err->code;
        rf_vocab_free(vocab);
    }
    return st;
}

static rf_status check_room(const hub_get *g, rf_hub_file k)
{
    struct statvfs disk;
    struct stat s;
    int64_t size = g->listing.files[k].size;
    int64_t have = stat(g->weights, &s) == 0 ? (int64_t)s.st_size : 0;
    int64_t need = size - have + (k == RF_HUB_ONNX ? size : 0); /* a converted copy */
    if (size < 0 || statvfs(g->work, &disk) != 0)
        return RF_OK;
    double room = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)need <= room)
        return RF_OK;
    return rf_fail(g->err, RF_ERR_IO, 0,
                   "%s: no room: needs %.0f MB more, the disk has %.0f MB left", g->work,
                   (double)need / 1e6, room / 1e6);
}

/* The weights, moved to the other files; or converted into files in `ready`. */
static rf_status fetch_weights(hub_get *g)
{
    char place[RF_PATH_MAX];
    bool onnx = g->wanted[RF_HUB_ONNX];
    rf_hub_file k = onnx ? RF_HUB_ONNX : RF_HUB_WEIGHTS;
    rf_status st;
    if ((st = check_room(g, k)) != RF_OK || (st = fetch(g, k, g->weights)) != RF_OK ||
        (st = rf_path_join(place, g->files, onnx ? "model.onnx" : "model.safetensors",
                           g->err)) != RF_OK)
        return st;
    (void)unlink(g->etag);
    if (rename(g->weights, place) != 0)
        return rf_fail_errno(g->err, "%s: cannot put in place", place);
    if (!onnx) {
        memcpy(g->ready, g->files, sizeof g->ready);
        return RF_OK;
    }
    if ((st = say(g, "converting %s", rf_hub_kinds[k].name)) != RF_OK ||
        (st = rf_encoder_import(place, g->ready, g->err)) != RF_OK)
        return st;
    for (rf_hub_file i = RF_HUB_TOKENIZER_CONFIG; st == RF_OK && i < RF_HUB_WEIGHTS;
         i++) {
        char from[RF_PATH_MAX], to[RF_PATH_MAX];
        if (!g->wanted[i] || i == RF_HUB_POOLING ||
            (st = rf_path_join(from, g->files, rf_hub_kinds[i].name, g->err)) != RF_OK ||
            (st = rf_path_join(to, g->ready, rf_hub_kinds[i].name, g->err)) != RF_OK ||
            rf_file_exists(to))
            continue;
        if (rename(from, to) != 0)
            st = rf_fail_errno(g->err, "%s: cannot put in place", to);
    }
    if (st == RF_OK && g->wanted[RF_HUB_POOLING] &&
        (st = rf_path_join(place, g->files, "1_Pooling", g->err)) == RF_OK) {
        char to[RF_PATH_MAX];
        st = rf_path_join(to, g->ready, "1_Pooling", g->err);
        if (st == RF_OK && rename(place, to) != 0)
            st = rf_fail_errno(g->err, "%s: cannot put in place", to);
    }
    return st;
}

/* ---- The record -------------------------------------------------------------------- */

/* The files in `ready` with size and sha256; each must be as it was when the commit was
 * fetched before. NULL on failure. */
static json_t *measure(const hub_get *g)
{
    const json_t *before =
        json_object_get(rf_hub_known_entry(g->known, g->listing.commit), "files");
    json_t *files = json_object();
    rf_status st = files ? RF_OK : rf_fail_nomem(g->err, 0, "known.json");
    for (size_t k = 0; st == RF_OK && k < RF_HUB_FILES; k++) {
        char path[RF_PATH_MAX];
        const char *name = rf_hub_kinds[k].name;
        st = rf_path_join(path, g->ready, name, g->err);
        if (st != RF_OK || !rf_file_exists(path))
            continue;
        json_t *file = rf_hub_known_measure(path, g->err);
        const char *now = json_string_value(json_object_get(file, "sha256"));
        const char *then =
            json_string_value(json_object_get(json_object_get(before, name), "sha256"));
        if (!file)
            st = g->err->code;
        else if (then && strcmp(then, now) != 0)
            st = rf_fail(g->err, RF_ERR_FORMAT, 0,
                         "%s: %s of commit %.12s has sha256 %s, but had %s when it was "
                         "first fetched (%.200s/known.json)",
                         g->text, name, g->listing.commit, now, then, g->repository);
        if (st != RF_OK)
            json_decref(file);
        else if (json_object_set_new(files, name, file) != 0)
            st = rf_fail_nomem(g->err, 0, "known.json");
    }
    if (st == RF_OK)
        return files;
    json_decref(files);
    return NULL;
}

/* main means this commit from now on. */
static rf_status record(const hub_get *g, json_t *files)
{
    const rf_hub_listing *l = &g->listing;
    bool good = true;
    if (files) {
        json_t *entry =
            json_pack("{s:s, s:s, s:s, s:O}", "endpoint", g->transport->endpoint,
                      "licence", l->licence, "language", l->language, "files", files);
        good = entry && json_object_set_new(json_object_get(g->known, "commits"),
                                            l->commit, entry) == 0;
    }
    if (good)
        good = json_object_set_new(json_object_get(g->known, "revisions"),
                                   g->name.revision, json_string(l->commit)) == 0;
    return good ? rf_hub_known_write(g->known, g->repository, g->err)
                : rf_fail_nomem(g->err, 0, "known.json");
}

/* ---- All of it --------------------------------------------------------------------- */

static rf_status make_paths(hub_get *g)
{
    char part[RF_HUB_COMMIT + 8];
    rf_status st;
    snprintf(part, sizeof part, "%s.part", g->listing.commit);
    if ((st = rf_path_join(g->target, g->repository, g->listing.commit, g->err)) !=
            RF_OK ||
        (st = rf_path_join(g->work, g->repository, part, g->err)) != RF_OK ||
        (st = rf_path_join(g->files, g->work, "files", g->err)) != RF_OK ||
        (st = rf_path_join(g->ready, g->work, "ready", g->err)) != RF_OK ||
        (st = rf_path_join(g->weights, g->work, "weights", g->err)) != RF_OK)
        return st;
    return rf_path_join(g->etag, g->work, "weights.etag", g->err);
}

static rf_status bring(hub_get *g)
{
    rf_status st = rf_dir_make(g->files, g->err);
    if (st == RF_OK)
        st = fetch_description(g);
    if (st == RF_OK)
        st = fetch_weights(g);
    if (st != RF_OK)
        return st;
    rf_encoder *encoder = rf_encoder_load(g->ready, g->err); /* the weights fit, too */
    if (!encoder)
        return g->err->code;
    rf_encoder_free(encoder);
    json_t *files = measure(g);
    st = files ? record(g, files) : g->err->code;
    json_decref(files);
    return st == RF_OK ? rf_dir_publish(g->ready, g->target, g->err) : st;
}

/* Leaves the weights that have come, if there are any, and nothing else. */
static void clean_up(const hub_get *g)
{
    struct stat s;
    rf_dir_remove(g->files);
    rf_dir_remove(g->ready);
    if (stat(g->weights, &s) != 0 || s.st_size == 0)
        rf_dir_remove(g->work);
}

static rf_status get_locked(hub_get *g)
{
    rf_status st;
    if ((st = say(g, "asking %s for %s", g->transport->endpoint, g->text)) != RF_OK ||
        (st = ask(g)) != RF_OK || (st = check_catalogue(g)) != RF_OK ||
        (st = make_paths(g)) != RF_OK)
        return st;
    const json_t *entry = rf_hub_known_entry(g->known, g->listing.commit);
    if (entry && rf_file_exists(g->target)) { /* here already, as another revision */
        st = rf_hub_known_check(entry, g->target, g->text, g->err);
        return st == RF_OK ? record(g, NULL) : st;
    }
    rf_dir_remove(g->target); /* nothing is known about what is there */
    rf_dir_remove(g->files);
    rf_dir_remove(g->ready);
    rf_hub_drop_parts(g->repository, strrchr(g->work, '/') + 1);
    if (g->listing.id[0] &&
        (st = say(g, "fetching %s, commit %.12s%s%s", g->listing.id, g->listing.commit,
                  g->listing.licence[0] ? ", licence " : "", g->listing.licence)) !=
            RF_OK)
        return st;
    st = bring(g);
    if (st == RF_OK)
        rf_dir_remove(g->work);
    else
        clean_up(g);
    return st;
}

rf_status rf_hub_get(const char *name, const rf_hub_transport *transport,
                     rf_progress progress, void *user, rf_error *err)
{
    rf_error local = {0};
    char dir[RF_PATH_MAX];
    err = err ? err : &local;
    hub_get *g = calloc(1, sizeof *g); /* five paths: too much for a small stack */
    if (!g)
        return rf_fail_nomem(err, sizeof *g, "fetching an encoder");
    *g = (hub_get){.text = name,
                   .transport = transport,
                   .progress = progress,
                   .user = user,
                   .err = err};
    int lock = -1;
    rf_status st = rf_hub_name_parse(&g->name, name, err);
    if (st == RF_OK)
        st = rf_hub_dir(&g->name, g->repository, err);
    if (st == RF_OK && (lock = rf_hub_lock(g->repository, true, err)) < 0)
        st = err->code;
    if (st == RF_OK) {
        st = rf_hub_path(name, dir, NULL, 0, err);
        if (st == RF_ERR_MISSING) {
            *err = (rf_error){0};
            g->known = rf_hub_known_read(g->repository, &g->name, err);
            st = g->known ? get_locked(g) : err->code;
            json_decref(g->known);
            memcpy(dir, g->target, sizeof dir);
        }
    }
    if (lock >= 0) {
        rf_hub_tidy(g->repository);
        close(lock);
    }
    if (st == RF_OK)
        (void)say(g, "encoder %s is in %s", name, dir); /* too late to stop */
    free(g);
    return st;
}
