/*
 * container_write.c - write a sealed file in one pass, to disk or to memory
 *
 * The header comes first and contains the checksums of the data after it. Their length is
 * fixed, so a header with zeroes in their place is written first and overwritten at the
 * end. A file on disk needs memory only for its header, however large it is.
 */
#include "model/container.h"

#include "base/digest.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER 100000000 /* what readers of safetensors accept */

typedef struct placed_section {
    const rf_section *section;
    size_t begin, end; /* in the data */
    char sum[RF_SHA256_HEX];
} placed_section;

struct rf_container_writer {
    rf_new_file file;
    rf_buffer *memory; /* written to instead of file unless NULL */
    placed_section *all;
    size_t n;
    rf_buffer header; /* with the eight bytes of its length */

    /* of the current section */
    rf_sha256 hash;
    size_t left;
};

/* Sorts by descending element size, otherwise as given, so that each section is
 * aligned without padding. */
static rf_status place_sections(rf_container_writer *w, const rf_section *sections,
                                rf_error *err)
{
    size_t at = 0, n = 0;
    w->all = calloc(w->n + 1, sizeof *w->all);
    if (!w->all)
        return rf_fail_nomem(err, (w->n + 1) * sizeof *w->all, "the list of sections");
    for (size_t size = 8; size > 0; size /= 2)
        for (size_t i = 0; i < w->n; i++) {
            const rf_section *s = &sections[i];
            if (rf_dtype_size(s->dtype) != size)
                continue;
            size_t bytes = size;
            for (size_t d = 0; d < s->rank; d++)
                if (!rf_size_mul(bytes, s->shape[d], &bytes))
                    return rf_fail(err, RF_ERR_LIMIT, 0, "tensor \"%s\": too large",
                                   s->name);
            placed_section *p = &w->all[n++];
            *p = (placed_section){.section = s, .begin = at};
            if (!rf_size_add(at, bytes, &at) || at > SIZE_MAX / 2)
                return rf_fail(err, RF_ERR_LIMIT, 0, "tensor \"%s\": too large", s->name);
            p->end = at;
            memset(p->sum, '0', sizeof p->sum - 1);
        }
    return RF_OK;
}

/* {"dtype": .., "shape": .., "data_offsets": ..}; NULL without memory. */
static json_t *tensor_json(rf_dtype dtype, const size_t *shape, size_t rank, size_t begin,
                           size_t end)
{
    json_t *dimensions = json_array();
    for (size_t d = 0; d < rank && dimensions; d++)
        if (json_array_append_new(dimensions, json_integer((json_int_t)shape[d])) != 0) {
            json_decref(dimensions);
            dimensions = NULL;
        }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", rf_dtype_name(dtype), "shape",
                     dimensions, "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The checksums as they are now; NULL without memory. */
static json_t *list_sums(const rf_container_writer *w)
{
    json_t *sums = json_object();
    bool good = sums;
    for (size_t i = 0; i < w->n && good; i++)
        good = json_object_set_new(sums, w->all[i].section->name,
                                   json_string(w->all[i].sum)) == 0;
    if (good)
        return sums;
    json_decref(sums);
    return NULL;
}

/* The header; NULL without memory. */
static json_t *list_tensors(const rf_container_writer *w, const char *kind,
                            const char *json, const char *sums)
{
    const size_t seal_shape[] = {RF_SHA256_SIZE};
    size_t end = w->n ? w->all[w->n - 1].end : 0;
    json_t *root = json_pack("{s:{s:s, s:s, s:s, s:s}}", "__metadata__", "ringfence.kind",
                             kind, "ringfence.version", RF_CONTAINER_VERSION_TEXT,
                             "ringfence.json", json, "ringfence.checksums", sums);
    bool good = root;
    for (size_t i = 0; i < w->n && good; i++) {
        const placed_section *p = &w->all[i];
        const rf_section *s = p->section;
        assert(!json_object_get(root, s->name));
        good = json_object_set_new(
                   root, s->name,
                   tensor_json(s->dtype, s->shape, s->rank, p->begin, p->end)) == 0;
    }
    if (good && json_object_set_new(
                    root, RF_SEAL_NAME,
                    tensor_json(RF_U8, seal_shape, 1, end, end + RF_SHA256_SIZE)) == 0)
        return root;
    json_decref(root);
    return NULL;
}

/* Eight bytes of length, the JSON text, spaces up to a multiple of eight. */
static rf_status make_header(rf_container_writer *w, const char *kind, const char *json,
                             rf_error *err)
{
    static const char no_length[8] = {0};
    rf_buffer sums, *h = &w->header;
    json_t *list = list_sums(w), *root = NULL;
    rf_status st = RF_OK;
    rf_buffer_init(&sums, MAX_HEADER, "the checksums of the file");
    if (list)
        st = rf_json_write(list, &sums, err);
    if (list && st == RF_OK)
        root = list_tensors(w, kind, json, sums.data);
    if (st == RF_OK && !root)
        st = rf_fail_nomem(err, strlen(json) + 256 * w->n, h->what);
    rf_buffer_clear(h);
    if (st == RF_OK)
        st = rf_buffer_add(h, no_length, sizeof no_length, err);
    if (st == RF_OK)
        st = rf_json_write(root, h, err);
    while (st == RF_OK && h->len % 8)
        st = rf_buffer_add(h, " ", 1, err);
    for (size_t i = 0; i < 8 && st == RF_OK; i++)
        h->data[i] = (char)((h->len - 8) >> (8 * i) & 0xff);
    json_decref(list);
    json_decref(root);
    rf_buffer_release(&sums);
    return st;
}

static rf_status append(rf_container_writer *w, const void *bytes, size_t len,
                        rf_error *err)
{
    return w->memory ? rf_buffer_add(w->memory, bytes, len, err)
                     : rf_new_file_add(&w->file, bytes, len, err);
}

rf_status rf_container_put(rf_container_writer *w, const void *bytes, size_t len,
                           rf_error *err)
{
    assert(len <= w->left);
    w->left -= len;
    rf_sha256_add(&w->hash, bytes, len);
    return append(w, bytes, len, err);
}

static rf_status write_section(rf_container_writer *w, placed_section *p, rf_error *err)
{
    const rf_section *s = p->section;
    unsigned char digest[RF_SHA256_SIZE];
    w->left = p->end - p->begin;
    rf_sha256_init(&w->hash);
    rf_status st = RF_OK;
    if (s->data)
        st = rf_container_put(w, s->data, w->left, err);
    else if (w->left > 0)
        st = s->write(s->user, s->index, w, err);
    if (st != RF_OK)
        return st;
    assert(w->left == 0);
    rf_sha256_end(&w->hash, digest);
    rf_sha256_text(p->sum, digest);
    return RF_OK;
}

static rf_status write_all(rf_container_writer *w, const char *kind, const char *json,
                           rf_error *err)
{
    rf_status st = make_header(w, kind, json, err);
    size_t len = w->header.len;
    if (st == RF_OK)
        st = append(w, w->header.data, len, err);
    for (size_t i = 0; i < w->n && st == RF_OK; i++)
        st = write_section(w, &w->all[i], err);
    if (st == RF_OK)
        st = make_header(w, kind, json, err);
    if (st != RF_OK)
        return st;
    assert(w->header.len == len);
    unsigned char seal[RF_SHA256_SIZE];
    rf_sha256_init(&w->hash);
    rf_sha256_add(&w->hash, w->header.data, len);
    rf_sha256_end(&w->hash, seal);
    if ((st = append(w, seal, sizeof seal, err)) != RF_OK)
        return st;
    if (!w->memory)
        return rf_new_file_patch(&w->file, 0, w->header.data, len, err);
    memcpy(w->memory->data, w->header.data, len);
    return RF_OK;
}

static void release_writer(rf_container_writer *w)
{
    rf_buffer_release(&w->header);
    free(w->all);
}

rf_status rf_container_write(const char *path, const char *kind, const char *json,
                             const rf_section *sections, size_t n, rf_error *err)
{
    rf_container_writer w = {.n = n};
    rf_buffer_init(&w.header, MAX_HEADER, "the header of the file");
    rf_status st = place_sections(&w, sections, err);
    if (st == RF_OK)
        st = rf_new_file_open(&w.file, path, err);
    if (st == RF_OK)
        st = write_all(&w, kind, json, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&w.file, err);
    rf_new_file_abandon(&w.file);
    release_writer(&w);
    return st;
}

rf_status rf_container_write_memory(rf_buffer *out, const char *kind, const char *json,
                                    const rf_section *sections, size_t n, rf_error *err)
{
    rf_container_writer w = {.memory = out, .n = n};
    rf_buffer_init(&w.header, MAX_HEADER, "the header of the file");
    rf_buffer_clear(out);
    rf_status st = place_sections(&w, sections, err);
    if (st == RF_OK)
        st = write_all(&w, kind, json, err);
    release_writer(&w);
    return st;
}
