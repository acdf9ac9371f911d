/* mutate.c - random changes to a sealed file */
#include "mutate.h"

#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t below(rf_rng *r, uint64_t n)
{
    return (rf_rng_next(r) >> 16) % n;
}

/* ---- JSON -------------------------------------------------------------------------- */

/* Values that are extreme, of another type, or hostile as text. */
static json_t *strange(rf_rng *r)
{
    static const json_int_t whole[] = {
        0,         -1,        1,         2,           3,          77,         65535,
        65536,     INT32_MAX, INT32_MIN, 4294967296,  4294967295, 1000000007, 1LL << 53,
        1LL << 62, INT64_MAX, INT64_MIN, -1000000007, 511,        513};
    static const double real[] = {0.0,   -0.0, 0.5,    -0.5, 1.5,     1e-45,    1e-308,
                                  1e308, 1e39, -1e308, 1e19, FLT_MAX, -FLT_MAX, 3.4e-38};
    static const char *const text[] = {"",    "open", "\x1b[2J",     "a\nb",  "</script>",
                                       "-1",  "NaN",  "F32",         "heads", "knn",
                                       "lof", "ans",  "\xef\xbb\xbf"};
    switch (below(r, 8)) {
    case 0:
    case 1: return json_integer(whole[below(r, sizeof whole / sizeof *whole)]);
    case 2:
    case 3: return json_real(real[below(r, sizeof real / sizeof *real)]);
    case 4: return json_string(text[below(r, sizeof text / sizeof *text)]);
    case 5: return below(r, 2) ? json_null() : json_boolean(below(r, 2));
    case 6: return json_pack("[i, [i], {}]", 1, -1);
    default: return json_pack("{s: i, s: []}", "a", 1, "b");
    }
}

/* A place somewhere below: goes down at random and changes what it finds. */
static void change_json(json_t *at, rf_rng *r, char *what, size_t room)
{
    size_t used = strlen(what);
    for (int depth = 0; depth < 12; depth++) {
        json_t *child = NULL;
        const char *key = NULL;
        size_t i = 0;
        if (json_is_object(at) && json_object_size(at) > 0) {
            void *it = json_object_iter(at);
            for (uint64_t k = below(r, json_object_size(at)); k > 0; k--)
                it = json_object_iter_next(at, it);
            key = json_object_iter_key(it);
            child = json_object_iter_value(it);
            snprintf(what + used, room - used, "/%s", key);
        } else if (json_is_array(at) && json_array_size(at) > 0) {
            i = (size_t)below(r, json_array_size(at));
            child = json_array_get(at, i);
            snprintf(what + used, room - used, "/%zu", i);
        } else {
            return;
        }
        used = strlen(what);
        bool inner = (json_is_object(child) && json_object_size(child) > 0) ||
                     (json_is_array(child) && json_array_size(child) > 0);
        if (inner && below(r, 10) > 0) {
            at = child;
            continue;
        }
        bool drop = below(r, 6) == 0;
        json_t *value = drop ? NULL : strange(r);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        snprintf(what + used, room - used, drop ? " dropped" : " = %s",
                 text ? text : "?");
        free(text);
        if (key && drop) {
            char copy[200];
            snprintf(copy, sizeof copy, "%s", key);
            json_object_del(at, copy);
        } else if (key) {
            json_object_set_new(at, key, value);
        } else if (drop) {
            json_array_remove(at, i);
        } else {
            json_array_set_new(at, i, value);
        }
        return;
    }
}

/* ---- Tensors ----------------------------------------------------------------------- */

static const char *any_tensor(const sealed *s, rf_rng *r)
{
    const char *found = NULL, *name;
    json_t *value;
    uint64_t n = 0;
    json_object_foreach(s->header, name, value)
    {
        bool inside =
            strncmp(name, "encoder.", 8) == 0 || strncmp(name, "embeddings.", 11) == 0;
        if (strcmp(name, "__metadata__") == 0 || strcmp(name, "ringfence.seal") == 0)
            continue;
        if (inside && below(r, 8) > 0) /* many, and all alike */
            continue;
        if (below(r, ++n) == 0)
            found = name;
    }
    return found;
}

static void put_number(unsigned char *at, size_t size, bool floating, rf_rng *r)
{
    static const float real[] = {NAN,    INFINITY, -INFINITY, FLT_MAX, -FLT_MAX,
                                 1e-45f, 0.0f,     -1.0f,     1.0f,    1e30f,
                                 -1e19f, 0.5f,     2.0f,      1e9f,    1.000001f};
    static const int64_t whole[] = {-1,        0,         1,         5,         6,
                                    77,        78,        INT32_MAX, INT32_MIN, INT64_MAX,
                                    INT64_MIN, 1LL << 62, 1LL << 32, 1457};
    static const uint16_t half[] = {0x7c00, 0x7e01, 0xfc00, 0x7bff,
                                    0xfbff, 0x0001, 0,      0x3c00};
    if (size == 2) {
        memcpy(at, &half[below(r, sizeof half / sizeof *half)], 2);
    } else if (floating && size == 4) {
        memcpy(at, &real[below(r, sizeof real / sizeof *real)], 4);
    } else {
        int64_t v = whole[below(r, sizeof whole / sizeof *whole)];
        memcpy(at, &v, size); /* little-endian, as the file is */
    }
}

static void change_data(sealed *s, rf_rng *r, char *what, size_t room)
{
    size_t len, used = strlen(what);
    const char *name = any_tensor(s, r);
    unsigned char *t = name ? sealed_tensor(s, name, &len) : NULL;
    const char *dtype =
        json_string_value(json_object_get(json_object_get(s->header, name), "dtype"));
    if (!t || !dtype || len == 0)
        return;
    bool floating = strchr("FB", dtype[0]) != NULL;
    size_t size = strstr(dtype, "64")   ? 8
                  : strstr(dtype, "16") ? 2
                  : strstr(dtype, "8")  ? 1
                                        : 4;
    size_t n = len / size;
    if (n == 0)
        return;
    uint64_t how = below(r, 4);
    snprintf(what + used, room - used, "%s %s ", name,
             how == 0   ? "filled"
             : how == 1 ? "random bytes"
                        : "number changed");
    if (how == 0) {
        put_number(t, size, floating, r);
        for (size_t i = 1; i < n; i++)
            memcpy(t + i * size, t, size);
    } else if (how == 1) {
        for (uint64_t i = 1 + below(r, 16); i > 0; i--)
            t[below(r, len)] = (unsigned char)below(r, 256);
    } else {
        size_t at = below(r, 3) == 0 ? n - 1 : (size_t)below(r, n);
        put_number(t + at * size, size, floating, r);
    }
}

static void change_place(sealed *s, rf_rng *r, char *what, size_t room)
{
    static const char *const types[] = {"F32", "F16", "BF16", "I32",
                                        "I64", "U8",  "F64",  "BOOL"};
    const char *name = any_tensor(s, r), *other = any_tensor(s, r);
    size_t used = strlen(what);
    json_t *t = name ? json_object_get(s->header, name) : NULL;
    if (!t || !other)
        return;
    snprintf(what + used, room - used, "%s ", name);
    used = strlen(what);
    switch (below(r, 5)) {
    case 0:
        json_object_set_new(t, "dtype", json_string(types[below(r, 8)]));
        snprintf(what + used, room - used, "retyped ");
        break;
    case 1: { /* the same number of elements in another form */
        json_t *shape = json_object_get(t, "shape");
        json_int_t n = 1;
        for (size_t i = 0; i < json_array_size(shape); i++)
            n *= json_integer_value(json_array_get(shape, i));
        static const json_int_t parts[] = {1, 2, 3, 4, 8, 32};
        json_int_t p = parts[below(r, 6)];
        json_object_set_new(t, "shape", json_pack("[I, I]", p, n / p));
        snprintf(what + used, room - used, "reshaped ");
        break;
    }
    case 2: /* the bytes of another tensor */
        json_object_set(
            t, "data_offsets",
            json_object_get(json_object_get(s->header, other), "data_offsets"));
        snprintf(what + used, room - used, "with the bytes of %s ", other);
        break;
    case 3: { /* two swapped */
        json_t *o = json_incref(json_object_get(s->header, other));
        json_incref(t);
        json_object_set_new(s->header, name, o);
        json_object_set_new(s->header, other, t);
        snprintf(what + used, room - used, "swapped with %s ", other);
        break;
    }
    default: change_json(t, r, what, room);
    }
}

void mutate(sealed *s, uint64_t number, char *what, size_t room)
{
    rf_rng r = rf_rng_open(rf_rng_key(2026, number, 0, 0));
    uint64_t n = below(&r, 3) ? 1 : 1 + below(&r, 3);
    *what = '\0';
    for (uint64_t i = 0; i < n; i++) {
        uint64_t kind = below(&r, 10);
        size_t used = strlen(what);
        if (i > 0)
            snprintf(what + used, room - used, "; ");
        if (kind < 3)
            change_json(s->about, &r, what, room);
        else if (kind < 8)
            change_data(s, &r, what, room);
        else
            change_place(s, &r, what, room);
    }
}
