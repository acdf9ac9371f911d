/* sealed.c - takes sealed files apart and seals them again */
#include "sealed.h"

#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digest_of(const unsigned char *bytes, size_t len, unsigned char out[32])
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, len, bytes);
    sha256_digest(&ctx, 32, out);
}

static json_t *metadata(const sealed *s)
{
    return json_object_get(s->header, "__metadata__");
}

bool sealed_take_apart(sealed *s, const unsigned char *bytes, size_t len)
{
    uint64_t n = 0;
    *s = (sealed){0};
    for (size_t i = 0; i < 8 && len >= 8; i++)
        n |= (uint64_t)bytes[i] << (8 * i);
    if (len < 8 || n > len - 8)
        return false;
    s->header = json_loadb((const char *)bytes + 8, (size_t)n, 0, NULL);
    const char *text = json_string_value(json_object_get(metadata(s), "ringfence.json"));
    s->about = text ? json_loads(text, 0, NULL) : NULL;
    s->n_data = len - 8 - (size_t)n;
    s->data = malloc(s->n_data + 1);
    if (!metadata(s) || !s->about || !s->data) {
        sealed_release(s);
        return false;
    }
    memcpy(s->data, bytes + 8 + n, s->n_data);
    return true;
}

void sealed_release(sealed *s)
{
    json_decref(s->header);
    json_decref(s->about);
    free(s->data);
    *s = (sealed){0};
}

unsigned char *sealed_tensor(const sealed *s, const char *name, size_t *len)
{
    json_t *range = json_object_get(json_object_get(s->header, name), "data_offsets");
    json_int_t from = json_integer_value(json_array_get(range, 0));
    json_int_t to = json_integer_value(json_array_get(range, 1));
    if (json_array_size(range) != 2 || from < 0 || to < from || (size_t)to > s->n_data)
        return NULL;
    *len = (size_t)(to - from);
    return s->data + from;
}

void sealed_set(sealed *s, const char *key, const char *value)
{
    if (value)
        json_object_set_new(metadata(s), key, json_string(value));
    else
        json_object_del(metadata(s), key);
}

static void set_checksums(const sealed *s)
{
    json_t *sums = json_object();
    const char *name;
    json_t *value;
    json_object_foreach(s->header, name, value)
    {
        size_t len;
        const unsigned char *bytes = sealed_tensor(s, name, &len);
        unsigned char digest[32];
        char hex[65];
        if (!bytes || strcmp(name, "ringfence.seal") == 0)
            continue;
        digest_of(bytes, len, digest);
        for (size_t i = 0; i < 32; i++)
            snprintf(hex + 2 * i, 3, "%02x", digest[i]);
        json_object_set_new(sums, name, json_string(hex));
    }
    char *text = json_dumps(sums, 0);
    json_object_set_new(metadata(s), "ringfence.checksums", json_string(text));
    free(text);
    json_decref(sums);
}

unsigned char *sealed_put_together(const sealed *s, size_t *len)
{
    char *about = json_dumps(s->about, 0);
    if (json_object_get(metadata(s), "ringfence.json") && about)
        json_object_set_new(metadata(s), "ringfence.json", json_string(about));
    if (json_object_get(metadata(s), "ringfence.checksums") && !s->keep_checksums)
        set_checksums(s);
    free(about);
    char *text = json_dumps(s->header, 0);
    size_t n = text ? strlen(text) : 0, padded = (n + 7) / 8 * 8;
    *len = 8 + padded + s->n_data;
    unsigned char *file = text ? malloc(*len + 1) : NULL;
    if (file) {
        for (size_t i = 0; i < 8; i++)
            file[i] = (unsigned char)(padded >> (8 * i));
        memset(file + 8, ' ', padded);
        memcpy(file + 8, text, n);
        memcpy(file + 8 + padded, s->data, s->n_data);
        if (s->n_data >= 32)
            digest_of(file, 8 + padded, file + *len - 32);
    }
    free(text);
    return file;
}
