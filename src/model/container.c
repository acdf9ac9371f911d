/* container.c - open a sealed file and check everything in it */
#include "model/container.h"

#include "base/digest.h"
#include "base/team.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files of this size or more are checked by several threads. */
#define LARGE_FILE ((size_t)8 << 20)
#define MAX_CHECKERS 8

/* A broken safetensors frame: it may simply be the wrong file, so the message says so.
 * What follows the file's name in err->msg becomes the reason. */
static rf_status fail_not_a_container(const char *name, const char *kind, rf_error *err)
{
    char reason[sizeof err->msg];
    size_t skip = strlen(name) + 2;
    snprintf(reason, sizeof reason, "%s",
             strlen(err->msg) > skip ? err->msg + skip : err->msg);
    return rf_fail(err, err->code, err->pos,
                   "%s: not a ringfence %s, or a damaged one: %s", name, kind, reason);
}

static rf_status check_kind(const rf_safetensors *s, const char *kind, rf_error *err)
{
    const char *found = rf_safetensors_metadata(s, "ringfence.kind");
    const char *version = rf_safetensors_metadata(s, "ringfence.version");
    if (!found)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: not a ringfence %s: a safetensors file without "
                       "\"ringfence.kind\" in its metadata",
                       s->name, kind);
    if (strcmp(found, kind) != 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: holds a ringfence %.40s, wanted a %s",
                       s->name, found, kind);
    size_t digits = version ? strspn(version, "0123456789") : 0;
    if (digits == 0 || version[digits] != '\0' || version[0] == '0')
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: ringfence.version is \"%.40s\", wanted a number", s->name,
                       version ? version : "");
    if (digits > 9 || strtol(version, NULL, 10) > RF_CONTAINER_VERSION)
        return rf_fail(err, RF_ERR_VERSION, 0,
                       "%s: format version %.40s, this program knows up to %d", s->name,
                       version, RF_CONTAINER_VERSION);
    return RF_OK;
}

static rf_status check_seal(const rf_safetensors *s, rf_error *err)
{
    const rf_tensor *seal = s->n_tensors ? &s->tensors[s->n_tensors - 1] : NULL;
    if (!seal || strcmp(seal->name, RF_SEAL_NAME) != 0 || seal->dtype != RF_U8 ||
        seal->rank != 1 || seal->count != RF_SHA256_SIZE)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: the last tensor is not " RF_SEAL_NAME ", U8 [%d]", s->name,
                       RF_SHA256_SIZE);
    unsigned char digest[RF_SHA256_SIZE];
    rf_sha256 h;
    rf_sha256_init(&h);
    rf_sha256_add(&h, s->bytes, s->data_start);
    rf_sha256_end(&h, digest);
    if (memcmp(digest, seal->data, sizeof digest) != 0)
        return rf_fail(err, RF_ERR_FORMAT, seal->offset,
                       "%s: damaged: the header does not fit its seal", s->name);
    return RF_OK;
}

/* Whether a file begins as text does. */
static bool is_text(const char *path)
{
    unsigned char first[64];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(first, 1, sizeof first, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i < n; i++)
        if (first[i] < 0x20 && first[i] != '\t' && first[i] != '\n' && first[i] != '\r')
            return false;
    return n > 0;
}

/* ---- Checksums --------------------------------------------------------------------- */

typedef struct checking {
    const rf_safetensors *file;
    const json_t *sums;
    atomic_size_t next;
    atomic_size_t bad; /* the first damaged tensor, or n_tensors */
} checking;

static void tensor_sha256(const rf_tensor *t, char hex[RF_SHA256_HEX])
{
    rf_sha256_bytes(t->data, t->count * rf_dtype_size(t->dtype), hex);
}

static void check_tensors(void *arg, size_t member, size_t members)
{
    (void)member, (void)members;
    checking *c = arg;
    size_t n = c->file->n_tensors - 1; /* the seal has no checksum */
    /* In order: tensors after a damaged one need no check. */
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < n && i < atomic_load(&c->bad);) {
        const rf_tensor *t = &c->file->tensors[i];
        char hex[RF_SHA256_HEX];
        tensor_sha256(t, hex);
        /* What is read for its checksum need not stay in memory until it is used. */
        if (c->file->mapping.data)
            rf_mapping_forget(&c->file->mapping, t->offset,
                              t->count * rf_dtype_size(t->dtype));
        if (strcmp(hex, json_string_value(json_object_get(c->sums, t->name))) == 0)
            continue;
        size_t first = atomic_load(&c->bad);
        while (i < first && !atomic_compare_exchange_weak(&c->bad, &first, i))
            ;
    }
}

/* Each tensor but the seal has a checksum, each checksum a tensor. */
static rf_status check_list(const rf_safetensors *s, const json_t *sums, rf_error *err)
{
    for (size_t i = 0; i + 1 < s->n_tensors; i++)
        if (!json_is_string(json_object_get(sums, s->tensors[i].name)))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: tensor \"%.100s\" has no checksum in "
                           "ringfence.checksums",
                           s->name, s->tensors[i].name);
    if (json_object_size(sums) != s->n_tensors - 1)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: %zu checksums in ringfence.checksums, wanted %zu", s->name,
                       json_object_size(sums), s->n_tensors - 1);
    return RF_OK;
}

static rf_status check_data(const rf_safetensors *s, const json_t *sums, rf_error *err)
{
    rf_status st = check_list(s, sums, err);
    if (st != RF_OK)
        return st;
    checking c = {.file = s, .sums = sums, .bad = s->n_tensors};
    size_t threads = rf_cpu_count() < MAX_CHECKERS ? rf_cpu_count() : MAX_CHECKERS;
    rf_team *team = s->len >= LARGE_FILE ? rf_team_new(threads, NULL) : NULL;
    if (team)
        rf_team_run(team, check_tensors, &c);
    else /* one thread is enough, only slower */
        check_tensors(&c, 0, 1);
    rf_team_free(team);
    size_t bad = atomic_load(&c.bad);
    if (bad == s->n_tensors)
        return RF_OK;
    char hex[RF_SHA256_HEX];
    const rf_tensor *t = &s->tensors[bad];
    tensor_sha256(t, hex);
    return rf_fail(err, RF_ERR_FORMAT, t->offset,
                   "%s: damaged: tensor \"%.100s\" has sha256 %s, wanted %.64s", s->name,
                   t->name, hex, json_string_value(json_object_get(sums, t->name)));
}

static rf_status check_alignment(const rf_safetensors *s, rf_error *err)
{
    for (size_t i = 0; i < s->n_tensors; i++) {
        const rf_tensor *t = &s->tensors[i];
        if (t->offset % rf_dtype_size(t->dtype) != 0)
            return rf_fail(err, RF_ERR_FORMAT, t->offset,
                           "%s: tensor \"%.100s\" begins at byte %zu, wanted a multiple "
                           "of %zu",
                           s->name, t->name, t->offset, rf_dtype_size(t->dtype));
    }
    return RF_OK;
}

/* ---- Opening ----------------------------------------------------------------------- */

/* A metadata entry that is itself a JSON object. */
static rf_status parse_entry(json_t **out, const rf_safetensors *s, const char *key,
                             rf_error *err)
{
    char name[RF_PATH_MAX + 64];
    const char *text = rf_safetensors_metadata(s, key);
    snprintf(name, sizeof name, "%s: %s", s->name, key);
    if (!text)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s is missing", name);
    *out = rf_json_object(text, strlen(text), name, err);
    return *out ? RF_OK : err->code;
}

/* c->file is open. */
static rf_status check_container(rf_container *c, const char *kind, rf_error *err)
{
    const rf_safetensors *s = &c->file;
    json_t *sums = NULL;
    rf_status st;
    if ((st = check_kind(s, kind, err)) == RF_OK && (st = check_seal(s, err)) == RF_OK &&
        (st = check_alignment(s, err)) == RF_OK &&
        (st = parse_entry(&sums, s, "ringfence.checksums", err)) == RF_OK &&
        (st = check_data(s, sums, err)) == RF_OK)
        st = parse_entry(&c->json, s, "ringfence.json", err);
    json_decref(sums);
    if (st != RF_OK)
        rf_container_close(c);
    return st;
}

static rf_status finish_opening(rf_container *c, rf_status st, const char *name,
                                const char *kind, rf_error *err)
{
    if (st == RF_OK)
        return check_container(c, kind, err);
    return st == RF_ERR_FORMAT || st == RF_ERR_LIMIT
               ? fail_not_a_container(name, kind, err)
               : st;
}

rf_status rf_container_open(rf_container *c, const char *path, const char *kind,
                            rf_error *err)
{
    rf_error local = {0};
    err = err ? err : &local;
    *c = (rf_container){0};
    if (is_text(path))
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: not a ringfence %s: this is text; are the arguments in the "
                       "right order?",
                       path, kind);
    return finish_opening(c, rf_safetensors_open(&c->file, path, err), path, kind, err);
}

rf_status rf_container_parse(rf_container *c, const unsigned char *bytes, size_t len,
                             const char *name, const char *kind, rf_error *err)
{
    rf_error local = {0};
    err = err ? err : &local;
    *c = (rf_container){0};
    return finish_opening(c, rf_safetensors_parse(&c->file, bytes, len, name, err), name,
                          kind, err);
}

void rf_container_close(rf_container *c)
{
    rf_safetensors_close(&c->file);
    json_decref(c->json);
    c->json = NULL;
}

/* "F32 [any, 384]" */
static const char *shape_wanted(char out[160], rf_dtype dtype, size_t rank,
                                const size_t *shape)
{
    size_t n = (size_t)snprintf(out, 160, "%s [", rf_dtype_name(dtype));
    for (size_t i = 0; i < rank && n < 120; i++) {
        char size[24] = "any";
        if (shape[i] != RF_ANY_SIZE)
            snprintf(size, sizeof size, "%zu", shape[i]);
        n += (size_t)snprintf(out + n, 160 - n, "%s%s", i ? ", " : "", size);
    }
    snprintf(out + n, 160 - n, "]");
    return out;
}

const rf_tensor *rf_container_find(const rf_container *c, const char *name,
                                   rf_dtype dtype, size_t rank, const size_t *shape,
                                   rf_error *err)
{
    char want[160], found[160];
    const rf_tensor *t = rf_safetensors_find(&c->file, name);
    if (!t) {
        rf_fail(err, RF_ERR_FORMAT, 0, "%s: tensor \"%s\" is missing, wanted %s",
                c->file.name, name, shape_wanted(want, dtype, rank, shape));
        return NULL;
    }
    bool fits = t->dtype == dtype && t->rank == rank;
    for (size_t i = 0; fits && i < rank; i++)
        fits = shape[i] == RF_ANY_SIZE || t->shape[i] == shape[i];
    if (fits)
        return t;
    rf_fail(err, RF_ERR_FORMAT, t->offset, "%s: tensor \"%s\" is %s %s, wanted %s",
            c->file.name, name, rf_dtype_name(t->dtype),
            rf_shape_text(found, t->shape, t->rank),
            shape_wanted(want, dtype, rank, shape));
    return NULL;
}
