/* safetensors.c - parses, checks and writes safetensors files */
#include "encoder/safetensors.h"

#include "base/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER ((uint64_t)100000000)

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [RF_BOOL] = {"BOOL", 1},       [RF_U8] = {"U8", 1},           [RF_I8] = {"I8", 1},
    [RF_F8_E4M3] = {"F8_E4M3", 1}, [RF_F8_E5M2] = {"F8_E5M2", 1}, [RF_U16] = {"U16", 2},
    [RF_I16] = {"I16", 2},         [RF_F16] = {"F16", 2},         [RF_BF16] = {"BF16", 2},
    [RF_U32] = {"U32", 4},         [RF_I32] = {"I32", 4},         [RF_F32] = {"F32", 4},
    [RF_U64] = {"U64", 8},         [RF_I64] = {"I64", 8},         [RF_F64] = {"F64", 8},
};

const char *rf_dtype_name(rf_dtype d)
{
    return dtypes[d].name;
}
size_t rf_dtype_size(rf_dtype d)
{
    return dtypes[d].size;
}

const char *rf_shape_text(char out[160], const size_t *shape, size_t rank)
{
    size_t n = 0;
    n += (size_t)snprintf(out, 160, "[");
    for (size_t i = 0; i < rank && n < 130; i++)
        n += (size_t)snprintf(out + n, 160 - n, "%s%zu", i ? ", " : "", shape[i]);
    snprintf(out + n, 160 - n, "]");
    return out;
}

static rf_status bad(const rf_safetensors *s, const char *tensor, rf_error *err,
                     const char *what)
{
    return rf_fail(err, RF_ERR_FORMAT, 0, "%s: tensor \"%.100s\": %s", s->name, tensor,
                   what);
}

/* A non-negative integer that fits a size_t. */
static bool take_size(const json_t *v, size_t *out)
{
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < 0)
        return false;
    *out = (size_t)n;
    return true;
}

static rf_status take_dtype(const rf_safetensors *s, rf_tensor *t, const json_t *v,
                            rf_error *err)
{
    const char *name = json_string_value(v);
    if (!name)
        return bad(s, t->name, err, "no dtype");
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            t->dtype = (rf_dtype)i;
            return RF_OK;
        }
    return rf_fail(err, RF_ERR_FORMAT, 0,
                   "%s: tensor \"%.100s\": unknown dtype \"%.40s\"", s->name, t->name,
                   name);
}

static rf_status take_shape(const rf_safetensors *s, rf_tensor *t, const json_t *v,
                            rf_error *err)
{
    if (!json_is_array(v))
        return bad(s, t->name, err, "no shape");
    t->rank = json_array_size(v);
    if (t->rank > RF_TENSOR_MAX_RANK)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: tensor \"%.100s\": %zu dimensions, wanted at most %d",
                       s->name, t->name, t->rank, RF_TENSOR_MAX_RANK);
    t->count = 1;
    for (size_t i = 0; i < t->rank; i++)
        if (!take_size(json_array_get(v, i), &t->shape[i]) ||
            !rf_size_mul(t->count, t->shape[i], &t->count))
            return bad(s, t->name, err, "shape is negative, no integer, or too large");
    return RF_OK;
}

static rf_status take_tensor(const rf_safetensors *s, rf_tensor *t, const json_t *v,
                             const unsigned char *data, size_t data_len,
                             size_t data_start, rf_error *err)
{
    rf_status st;
    size_t begin, end, bytes;
    if (!json_is_object(v))
        return bad(s, t->name, err, "not an object");
    if ((st = take_dtype(s, t, json_object_get(v, "dtype"), err)) != RF_OK ||
        (st = take_shape(s, t, json_object_get(v, "shape"), err)) != RF_OK)
        return st;
    const json_t *range = json_object_get(v, "data_offsets");
    if (json_array_size(range) != 2 || !take_size(json_array_get(range, 0), &begin) ||
        !take_size(json_array_get(range, 1), &end))
        return bad(s, t->name, err, "data_offsets are not two sizes");
    if (json_object_size(v) != 3)
        return bad(s, t->name, err, "keys besides dtype, shape and data_offsets");
    if (end < begin || end > data_len)
        return rf_fail(err, RF_ERR_FORMAT, begin,
                       "%s: tensor \"%.100s\": bytes %zu to %zu, wanted within 0 to %zu",
                       s->name, t->name, begin, end, data_len);
    if (!rf_size_mul(t->count, rf_dtype_size(t->dtype), &bytes) || bytes != end - begin) {
        char shape[160];
        return rf_fail(err, RF_ERR_FORMAT, begin,
                       "%s: tensor \"%.100s\": %zu bytes found, wanted those of %s %s",
                       s->name, t->name, end - begin, rf_dtype_name(t->dtype),
                       rf_shape_text(shape, t->shape, t->rank));
    }
    t->data = data + begin;
    t->offset = data_start + begin;
    return RF_OK;
}

/* By offset; an empty tensor before the one that starts at the same byte. */
static int by_offset(const void *a, const void *b)
{
    const rf_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->count > 0) - (y->count > 0);
}

static rf_status check_cover(const rf_safetensors *s, size_t start, size_t len,
                             rf_error *err)
{
    size_t at = start;
    for (size_t i = 0; i < s->n_tensors; i++) {
        const rf_tensor *t = &s->tensors[i];
        if (t->offset != at)
            return rf_fail(err, RF_ERR_FORMAT, t->offset,
                           "%s: tensor \"%.100s\" begins at byte %zu of the data, wanted "
                           "%zu: %s",
                           s->name, t->name, t->offset - start, at - start,
                           t->offset < at ? "tensors overlap" : "there is a hole");
        at += t->count * rf_dtype_size(t->dtype);
    }
    if (at != len)
        return rf_fail(err, RF_ERR_FORMAT, at,
                       "%s: %zu bytes follow the last tensor, wanted none", s->name,
                       len - at);
    return RF_OK;
}

static rf_status check_metadata(const rf_safetensors *s, const json_t *meta,
                                rf_error *err)
{
    if (!json_is_object(meta))
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: __metadata__ is %s, wanted an object",
                       s->name, rf_json_type(meta));
    for (void *it = json_object_iter((json_t *)(uintptr_t)meta); it;
         it = json_object_iter_next((json_t *)(uintptr_t)meta, it))
        if (!json_is_string(json_object_iter_value(it)))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: __metadata__ \"%.60s\" is %s, wanted a string", s->name,
                           json_object_iter_key(it),
                           rf_json_type(json_object_iter_value(it)));
    return RF_OK;
}

/* The JSON between the length and the data. */
static rf_status parse_header(rf_safetensors *s, const unsigned char *bytes, size_t len,
                              rf_error *err)
{
    if (len < 8)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: %zu bytes, wanted at least 8", s->name,
                       len);
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | bytes[i];
    if (n > MAX_HEADER)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: header of %llu bytes, wanted at most %llu (is this a "
                       "safetensors file?)",
                       s->name, (unsigned long long)n, (unsigned long long)MAX_HEADER);
    if (n > len - 8)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: header of %llu bytes in a file of %zu: cut off", s->name,
                       (unsigned long long)n, len);
    const char *text = (const char *)bytes + 8;
    size_t used = (size_t)n;
    while (used > 0 && text[used - 1] == ' ')
        used--;
    if (used == 0 || text[0] != '{' || text[used - 1] != '}')
        return rf_fail(err, RF_ERR_FORMAT, 8,
                       "%s: header is not a JSON object padded with spaces", s->name);
    rf_error local = {0};
    if (!err)
        err = &local;
    s->header = rf_json_object(text, used, s->name, err);
    s->data_start = 8 + (size_t)n;
    return s->header ? RF_OK : err->code;
}

/* s is zeroed except its mapping. */
static rf_status parse(rf_safetensors *s, const unsigned char *bytes, size_t len,
                       const char *name, rf_error *err)
{
    snprintf(s->name, sizeof s->name, "%s", name);
    s->bytes = bytes;
    s->len = len;
    rf_status st = parse_header(s, bytes, len, err);
    if (st != RF_OK)
        goto out;
    size_t start = s->data_start, n = json_object_size(s->header);
    s->tensors = calloc(n ? n : 1, sizeof *s->tensors);
    if (!s->tensors) {
        st = rf_fail_nomem(err, n * sizeof *s->tensors, name);
        goto out;
    }
    for (void *it = json_object_iter(s->header); it;
         it = json_object_iter_next(s->header, it)) {
        const char *key = json_object_iter_key(it);
        const json_t *value = json_object_iter_value(it);
        if (strcmp(key, "__metadata__") == 0) {
            st = check_metadata(s, value, err);
        } else {
            rf_tensor *t = &s->tensors[s->n_tensors++];
            t->name = key;
            st = take_tensor(s, t, value, bytes + start, len - start, start, err);
        }
        if (st != RF_OK)
            goto out;
    }
    qsort(s->tensors, s->n_tensors, sizeof *s->tensors, by_offset);
    st = check_cover(s, start, len, err);
out:
    if (st != RF_OK)
        rf_safetensors_close(s);
    return st;
}

rf_status rf_safetensors_parse(rf_safetensors *s, const unsigned char *bytes, size_t len,
                               const char *name, rf_error *err)
{
    *s = (rf_safetensors){0};
    return parse(s, bytes, len, name, err);
}

static rf_status read_mapping(rf_safetensors *s, const char *path, bool copy,
                              rf_error *err)
{
    *s = (rf_safetensors){0};
    rf_status st = copy ? rf_mapping_copy(&s->mapping, path, err)
                        : rf_mapping_open(&s->mapping, path, err);
    if (st != RF_OK)
        return st;
    return parse(s, s->mapping.data, s->mapping.len, path, err);
}

rf_status rf_safetensors_open(rf_safetensors *s, const char *path, rf_error *err)
{
    return read_mapping(s, path, false, err);
}

rf_status rf_safetensors_copy(rf_safetensors *s, const char *path, rf_error *err)
{
    return read_mapping(s, path, true, err);
}

void rf_safetensors_close(rf_safetensors *s)
{
    free(s->tensors);
    json_decref(s->header);
    rf_mapping_close(&s->mapping);
    s->bytes = NULL;
    s->len = s->data_start = 0;
    s->tensors = NULL;
    s->header = NULL;
    s->n_tensors = 0;
}

const rf_tensor *rf_safetensors_find(const rf_safetensors *s, const char *name)
{
    for (size_t i = 0; i < s->n_tensors; i++)
        if (strcmp(s->tensors[i].name, name) == 0)
            return &s->tensors[i];
    return NULL;
}

const char *rf_safetensors_metadata(const rf_safetensors *s, const char *key)
{
    return json_string_value(
        json_object_get(json_object_get(s->header, "__metadata__"), key));
}

/* ---- Writing ----------------------------------------------------------------------- */

static size_t out_bytes(const rf_tensor_out *t)
{
    size_t bytes = t->bytes ? 1 : sizeof(float);
    for (size_t d = 0; d < t->rank; d++)
        bytes *= t->shape[d];
    return bytes;
}

rf_status rf_safetensors_write(const char *path, const rf_tensor_out *tensors, size_t n,
                               rf_error *err)
{
    rf_buffer out;
    size_t at = 0;
    rf_status st = RF_OK;
    rf_buffer_init(&out, SIZE_MAX / 4, path);
    uint64_t header_len = 0;
    if ((st = rf_buffer_add(&out, &header_len, 8, err)) != RF_OK ||
        (st = rf_buffer_add(&out, "{\"__metadata__\":{\"format\":\"pt\"}", 31, err)) !=
            RF_OK)
        goto out;
    for (size_t i = 0; i < n; i++) {
        const rf_tensor_out *t = &tensors[i];
        size_t bytes = out_bytes(t);
        char shape[160], line[512];
        int len = snprintf(line, sizeof line,
                           ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,"
                           "%zu]}",
                           t->name, t->bytes ? "U8" : "F32",
                           rf_shape_text(shape, t->shape, t->rank), at, at + bytes);
        if (len < 0 || (size_t)len >= sizeof line) {
            st = rf_fail(err, RF_ERR_LIMIT, 0, "%s: the name of a tensor is too long",
                         path);
            goto out;
        }
        if ((st = rf_buffer_add(&out, line, (size_t)len, err)) != RF_OK)
            goto out;
        at += bytes;
    }
    st = rf_buffer_add(&out, "}", 1, err);
    while (st == RF_OK && out.len % 8) /* aligns the data for readers that map the file */
        st = rf_buffer_add(&out, " ", 1, err);
    if (st != RF_OK)
        goto out;
    header_len = out.len - 8;
    for (size_t i = 0; i < 8; i++)
        out.data[i] = (char)(header_len >> (8 * i) & 0xff);
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        const rf_tensor_out *t = &tensors[i];
        st = rf_buffer_add(&out, t->bytes ? (const void *)t->bytes : t->data,
                           out_bytes(t), err);
    }
    if (st == RF_OK)
        st = rf_file_write(path, out.data, out.len, err);
out:
    rf_buffer_release(&out);
    return st;
}
