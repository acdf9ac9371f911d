/*
 * test_bad_model.c - model files that are damaged, truncated or hostile (properly sealed,
 * but wrong) give an error and nothing else
 */
#include "model_place.h"
#include "sealed.h"

#include "num/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3 };

/* ---- Damage ------------------------------------------------------------------------ */

static rf_status try(const unsigned char *bytes, size_t len, rf_error *err)
{
    rf_container c;
    rf_status st = rf_container_parse(&c, bytes, len, "model.rf", "model", err);
    rf_model *m = st == RF_OK ? rf_model_from(&c, err) : NULL;
    if (st == RF_OK && !m)
        st = err->code;
    rf_model_free(m);
    return st;
}

/* All of the header, every step-th byte of the data, and the last hundred. */
static void change_bytes(bool slim, size_t step)
{
    size_t len;
    rf_error err = {0};
    unsigned char *file = saved(1, slim, &len);
    size_t header = 8 + (size_t)file[0] + ((size_t)file[1] << 8);
    assert_in_range(header, 2000, 40000);
    assert_int_equal(try(file, len, &err), RF_OK);
    for (size_t i = 0; i < len; i += i < header || i + 100 > len ? 1 : step) {
        unsigned char change = (unsigned char)(1u << i % 8);
        file[i] ^= change;
        rf_status st = try(file, len, &err);
        if (st == RF_OK)
            fail_msg("bit %zu of byte %zu changed, not noticed", i % 8, i);
        assert_error(&err, st, "model.rf");
        assert_true(st == RF_ERR_FORMAT || st == RF_ERR_VERSION || st == RF_ERR_LIMIT);
        file[i] ^= change;
    }
    free(file);
}

static void bytes_changed(void **state)
{
    (void)state;
    change_bytes(false, 61);
    change_bytes(true, 7); /* fewer bytes: the header takes most of the time */
}

static void cut_anywhere(void **state)
{
    (void)state;
    size_t len;
    rf_error err = {0};
    unsigned char *file = saved(1, false, &len);
    for (size_t n = 0; n < len; n += n < 100 || n + 100 > len ? 1 : 31) {
        unsigned char *cut =
            malloc(n ? n : 1); /* exact size, to catch reads past the end */
        assert_non_null(cut);
        memcpy(cut, file, n);
        assert_int_equal(try(cut, n, &err), RF_ERR_FORMAT);
        assert_error(&err, RF_ERR_FORMAT, "model.rf", "not a ringfence model");
        free(cut);
    }
    free(file);
}

/* ---- Hostile files: properly sealed, but wrong ------------------------------------- */

/* The file with one thing changed by `spoil`. */
static void spoiled(void (*spoil)(sealed *s, const void *how), const void *how,
                    rf_status code, const char *a, const char *b)
{
    size_t len;
    rf_error err = {0};
    sealed s;
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    spoil(&s, how);
    file = sealed_put_together(&s, &len);
    assert_non_null(file);
    rf_status st = try(file, len, &err);
    if (st == RF_OK)
        fail_msg("loaded, wanted a complaint: %s, %s", a, b);
    assert_error(&err, code, "model.rf", a, b);
    free(file);
    sealed_release(&s);
}

/* A tensor under another name. */
static void rename_tensor(sealed *s, const void *how)
{
    json_t *t = json_incref(json_object_get(s->header, how));
    assert_non_null(t);
    json_object_del(s->header, how);
    json_object_set_new(s->header, "other", t);
}

/* The same, and no map either. */
static void without_map(sealed *s, const void *how)
{
    static const char *const names[] = {"map.rows", "map.points"};
    for (size_t i = 0; i < 2; i++) {
        json_t *t = json_incref(json_object_get(s->header, names[i]));
        json_object_del(s->header, names[i]);
        json_object_set_new(s->header, i ? "other 2" : "other 1", t);
    }
    if (how)
        rename_tensor(s, how);
}

typedef struct retyped {
    const char *name, *dtype, *shape;
} retyped;

/* The same bytes as something else. */
static void retype(sealed *s, const void *how)
{
    const retyped *r = how;
    json_t *t = json_object_get(s->header, r->name);
    assert_non_null(t);
    if (r->dtype)
        json_object_set_new(t, "dtype", json_string(r->dtype));
    json_object_set_new(t, "shape", json_loads(r->shape, 0, NULL));
}

typedef struct poked {
    const char *name;
    size_t at; /* byte */
    const void *bytes;
    size_t n;
} poked;

static void poke(sealed *s, const void *how)
{
    const poked *p = how;
    size_t len;
    unsigned char *t = sealed_tensor(s, p->name, &len);
    assert_non_null(t);
    assert_true(p->at + p->n <= len);
    memcpy(t + p->at, p->bytes, p->n);
}

/* A value of the description replaced: {place, JSON text}; text NULL removes it. */
static void replace_description(sealed *s, const void *how)
{
    const char *const *pair = how;
    char place[64];
    snprintf(place, sizeof place, "%s", pair[0]);
    json_t *at = s->about;
    char *key = place;
    for (char *dot; (dot = strchr(key, '.')); key = dot + 1) {
        *dot = '\0';
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
    }
    json_t *value = pair[1] ? json_loads(pair[1], JSON_DECODE_ANY, NULL) : NULL;
    assert_true(value || !pair[1]);
    if (value)
        assert_int_equal(json_object_set_new(at, key, value), 0);
    else
        assert_int_equal(json_object_del(at, key), 0);
}

static void the_test_helpers_work(void **state)
{
    (void)state;
    size_t len;
    sealed s;
    rf_error err = {0};
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    json_object_set_new(s.about, "more", json_true()); /* unknown keys are ignored */
    json_object_set_new(json_object_get(s.about, "encoder"), "more", json_true());
    json_object_set_new(s.about, "program", json_string("ringfence 9.9"));
    file = sealed_put_together(&s, &len);
    if (try(file, len, &err) != RF_OK)
        fail_msg("%s", err.msg);
    free(file);
    sealed_release(&s);
}

static void missing_tensors(void **state)
{
    (void)state;
    static const char *const names[] = {"embeddings.word_embeddings.weight",
                                        "encoder.layer.0.attention.self.query.weight",
                                        "encoder.layer.1.output.LayerNorm.bias",
                                        "known.dense.weight",
                                        "known.dense.bias",
                                        "known.out.weight",
                                        "known.out.bias",
                                        "open.hidden1.weight",
                                        "open.hidden1.bias",
                                        "open.hidden2.weight",
                                        "open.hidden2.bias",
                                        "open.out.weight",
                                        "open.out.bias",
                                        "classes.mean",
                                        "classes.variance",
                                        "classes.distance",
                                        "classes.radius",
                                        "classes.rows",
                                        "train.classes",
                                        "train.text_ends",
                                        "map.rows",
                                        "map.points",
                                        "files/config.json",
                                        "files/vocab.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char words[128];
        snprintf(words, sizeof words, "tensor \"%s\" is missing", names[i]);
        spoiled(rename_tensor, names[i], RF_ERR_FORMAT, words, "");
    }
    /* optional parts must not be described if missing */
    spoiled(without_map, "train.features", RF_ERR_FORMAT, "description", "\"kept.rows\"");
    spoiled(without_map, NULL, RF_ERR_FORMAT, "description", "\"kept.map\"");
    /* and a map needs its rows */
    spoiled(rename_tensor, "train.features", RF_ERR_FORMAT, "\"map.rows\"",
            "a map of 8 points of 0 training rows");
    spoiled(rename_tensor, "train.texts", RF_ERR_FORMAT, "description", "\"kept.texts\"");
    spoiled(rename_tensor, "files/tokenizer_config.json", RF_ERR_FORMAT,
            "its encoder has a tokenizer_config.json", "which is not in model.rf");
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const struct {
        retyped r;
        rf_status code;
        const char *words;
    } bad[] = {
        {{"known.dense.weight", NULL, "[1024]"}, 0, "is F32 [1024], wanted F32 [32, 32]"},
        {{"known.out.weight", NULL, "[32,3]"}, 0, "[32, 3], wanted F32 [3, 32]"},
        {{"known.out.weight", "I32", "[3,32]"}, 0, "is I32 [3, 32], wanted F32 [3, 32]"},
        {{"open.hidden1.weight", NULL, "[3,32,256]"}, 0, "wanted F32 [3, 256, 32]"},
        {{"open.hidden2.weight", NULL, "[3,256,64]"}, 0, "wanted F32 [3, 64, 256]"},
        {{"open.out.weight", NULL, "[64,3]"}, 0, "wanted F32 [3, 64]"},
        {{"classes.mean", NULL, "[96]"}, 0, "wanted F32 [3, 32]"},
        {{"classes.rows", "F64", "[3]"}, 0, "is F64 [3], wanted I64 [3]"},
        {{"train.features", NULL, "[18,16]"}, 0, "is F16 [18, 16], wanted F16 [any, 32]"},
        {{"train.features", "BF16", "[9,32]"}, 0, "is BF16 [9, 32]"},
        {{"train.features", NULL, "[288]"}, 0, "wanted F16 [any, 32]"},
        {{"train.classes", "F32", "[9]"}, 0, "wanted I32 [9]"},
        {{"train.texts", "I8", "[36]"}, 0, "wanted U8 [any]"},
        {{"train.text_ends", NULL, "[3,3]"}, 0, "wanted I64 [9]"},
        {{"map.rows", "U32", "[8]"}, 0, "is U32 [8], wanted I32 [any]"},
        {{"map.rows", NULL, "[4,2]"}, 0, "is I32 [4, 2], wanted I32 [any]"},
        {{"map.points", NULL, "[2,8]"}, 0, "is F32 [2, 8], wanted F32 [8, 2]"},
        {{"map.points", NULL, "[16]"}, 0, "is F32 [16], wanted F32 [8, 2]"},
        {{"map.points", "I32", "[8,2]"}, 0, "is I32 [8, 2], wanted F32 [8, 2]"},
        {{"files/config.json", NULL, "[2,173]"}, 0, "wanted bytes (U8)"},
        {{"files/vocab.txt", "I8", "[440]"}, 0, "wanted bytes (U8)"},
        {{"embeddings.word_embeddings.weight", NULL, "[32,119]"},
         0,
         "is [32, 119], wanted [119, 32]"},
        {{"encoder.layer.1.output.dense.weight", "BF16", "[32,72]"},
         RF_ERR_VERSION,
         "is BF16, wanted F16"},
        {{"embeddings.LayerNorm.bias", "I16", "[32]"},
         RF_ERR_VERSION,
         "is I16, wanted F16"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        spoiled(retype, &bad[i].r, bad[i].code ? bad[i].code : RF_ERR_FORMAT,
                bad[i].r.name, bad[i].words);
}

static void wrong_numbers(void **state)
{
    (void)state;
    static const uint32_t nan = 0x7fc00001, inf = 0xff800000, minus = 0xbf800000;
    static const uint16_t half_nan = 0x7e00, half_inf = 0xfc00;
    static const uint32_t above_1 = 0x3f800001, below_1 = 0xbf800001;
    static const int32_t three = 3, below = -1, seven = 7, nine = 9;
    static const int64_t zero = 0, far = INT64_MAX, back = 2, few = 35, under = -1;
    static const struct {
        poked p;
        rf_status code;
        const char *words;
    } bad[] = {
        {{"known.dense.weight", 4092, &nan, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"known.dense.bias", 0, &inf, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"known.out.bias", 8, &inf, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"known.out.weight", 0, &nan, 4}, RF_ERR_NUMERIC, "a NaN or an infinity"},
        {{"open.hidden1.weight", 3 * 256 * 32 * 4 - 4, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.hidden1.bias", 0, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.hidden2.weight", 0, &inf, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.hidden2.bias", 0, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.out.weight", 0, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"open.out.bias", 8, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"classes.mean", 0, &inf, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"classes.variance", 4, &nan, 4}, RF_ERR_NUMERIC, "NaN"},
        {{"classes.variance", 4, &minus, 4}, RF_ERR_FORMAT, "element 1 is -1"},
        {{"classes.distance", 0, &minus, 4}, RF_ERR_FORMAT, "wanted 0 or more"},
        {{"classes.radius", 0, &minus, 4}, RF_ERR_FORMAT, "wanted 0 or more"},
        {{"classes.rows", 8, &zero, 8}, RF_ERR_FORMAT, "class 2 has 0 rows"},
        {{"classes.rows", 8, &under, 8}, RF_ERR_FORMAT, "class 2 has -1 rows"},
        {{"classes.rows", 8, &far, 8}, RF_ERR_FORMAT, "does not fit the content"},
        {{"train.features", 2 * 33, &half_nan, 2}, RF_ERR_NUMERIC, "in row 1"},
        {{"train.features", 0, &half_inf, 2}, RF_ERR_NUMERIC, "in row 0"},
        {{"train.classes", 4, &three, 4}, RF_ERR_FORMAT, "row 1 is of class 3, wanted 0"},
        {{"train.classes", 0, &below, 4}, RF_ERR_FORMAT, "row 0 is of class -1"},
        {{"train.text_ends", 8 * 3, &back, 8}, RF_ERR_FORMAT, "text 3 ends at 2"},
        {{"train.text_ends", 8 * 2, &far, 8}, RF_ERR_FORMAT, "text 2 ends at"},
        {{"train.text_ends", 0, &under, 8}, RF_ERR_FORMAT, "text 0 ends at 1844674"},
        {{"train.text_ends", 8 * 8, &few, 8},
         RF_ERR_FORMAT,
         "text 8 ends at 35, wanted 36 to 36"},
        {{"map.rows", 0, &below, 4}, RF_ERR_FORMAT, "point 0 is training row -1"},
        {{"map.rows", 4 * 7, &nine, 4}, RF_ERR_FORMAT, "point 7 is training row 9"},
        {{"map.rows", 4 * 7, &seven, 4}, RF_ERR_FORMAT, "point 7 is training row 7"},
        {{"map.rows", 4 * 3, &three, 4}, RF_ERR_FORMAT, "wanted rows in ascending order"},
        {{"map.points", 0, &nan, 4}, RF_ERR_FORMAT, "x of point 0 is nan, wanted -1 to"},
        {{"map.points", 4 * 15, &inf, 4}, RF_ERR_FORMAT, "y of point 7 is -inf"},
        {{"map.points", 4 * 2, &above_1, 4}, RF_ERR_FORMAT, "x of point 1 is 1.00000012"},
        {{"map.points", 4 * 3, &below_1, 4},
         RF_ERR_FORMAT,
         "y of point 1 is -1.00000012"},
        {{"embeddings.word_embeddings.weight", 100, &half_nan, 2}, RF_ERR_NUMERIC, "NaN"},
        {{"embeddings.position_embeddings.weight", 0, &half_inf, 2},
         RF_ERR_NUMERIC,
         "NaN"},
        {{"encoder.layer.0.intermediate.dense.weight", 0, &half_inf, 2},
         RF_ERR_NUMERIC,
         "NaN"},
        {{"encoder.layer.1.attention.self.value.bias", 0, &half_nan, 2},
         RF_ERR_NUMERIC,
         "NaN"},
        {{"files/config.json", 0, "[", 1}, RF_ERR_FORMAT, "not valid JSON"},
        {{"files/vocab.txt", 0, "\0", 1}, RF_ERR_FORMAT, "line 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        spoiled(poke, &bad[i].p, bad[i].code, bad[i].p.name, bad[i].words);
}

static void wrong_description(void **state)
{
    (void)state;
    static const struct {
        const char *how[2];
        rf_status code;
        const char *a, *b;
    } bad[] = {
        {{"format", "2"}, 0, "does not fit the content", "\"format\""},
        {{"kind", "\"checkpoint\""}, 0, "does not fit", "\"kind\""},
        {{"method", "\"telepathy\""}, RF_ERR_VERSION, "method \"telepathy\"", "not know"},
        {{"method", "\"adb\""}, RF_ERR_FORMAT, "open.", "missing"},
        {{"method", "7"}, 0, "\"method\" is an integer", "wanted a string"},
        {{"method", NULL}, 0, "\"method\" is missing", ""},
        {{"labels", NULL}, 0, "\"labels\" is missing", "wanted an array"},
        {{"labels", "{}"}, 0, "\"labels\" is an object", ""},
        {{"labels", "[]"}, 0, "no labels", ""},
        {{"labels", "[\"a\", \"b\", 3]"}, 0, "label 3 is an integer", ""},
        {{"labels", "[\"a\", \"a\", \"b\"]"}, 0, "label 2", "does not come after"},
        {{"labels", "[\"b\", \"a\", \"c\"]"}, 0, "label 2", "does not come after"},
        {{"labels", "[\"\", \"a\", \"c\"]"}, 0, "label 1: the label is empty", ""},
        {{"labels", "[\"a\", \"b\\u0007\", \"c\"]"}, 0, "label 2: the label", ""},
        {{"labels", "[\"a\", \"b\"]"}, 0, "known.out.weight", "wanted F32 [2, 32]"},
        {{"labels", "[\"a\", \"b\", \"c\"]"}, 0, "does not fit", "classes.label"},
        {{"classes.1.rows", "4"}, 0, "does not fit", "classes.rows"},
        {{"classes.2.radius", "1"}, 0, "does not fit", "classes.radius"},
        {{"classes", "[]"}, 0, "does not fit", "\"classes\""},
        {{"encoder", NULL}, 0, "\"encoder\" is missing", "wanted an object"},
        {{"encoder.name", "[]"}, 0, "\"name\" is an array", ""},
        {{"encoder.sha256", "\"12\""}, 0, "a sha256 of 64", ""},
        {{"encoder.contained", "1"}, 0, "\"contained\" true or false", ""},
        {{"encoder.width", "33"}, 0, "does not fit", "encoder.width"},
        {{"encoder.layers", NULL}, 0, "does not fit", "encoder.layers"},
        {{"encoder.tuned_layers", "3"}, 0, "3 tuned layers of 2", ""},
        {{"encoder.tuned_layers", "-1"}, 0, "\"tuned_layers\" is negative", ""},
        {{"encoder.tuned_layers", "1.0"}, 0, "\"tuned_layers\" is a fraction", ""},
        {{"encoder.max_tokens", "41"}, 0, "\"max_tokens\" is 41", "wanted 2 to 40"},
        {{"encoder.max_tokens", "1"}, 0, "\"max_tokens\" is 1", "wanted 2 to 40"},
        {{"encoder.files", "{}"}, 0, "does not fit", "encoder.files.config.json"},
        {{"kept.rows", "8"}, 0, "does not fit", "kept.rows"},
        {{"kept.map", "7"}, 0, "does not fit", "kept.map"},
        {{"kept.map", NULL}, 0, "does not fit", "kept.map"},
        {{"kept.texts", "false"}, 0, "does not fit", "kept.texts"},
        {{"calibration", "[1, 0, 1]"}, 0, "\"calibration\" is an array", "an object"},
        {{"calibration", "null"}, 0, "\"calibration\" is null", "wanted an object"},
        {{"calibration", "{}"}, 0, "\"calibration.slope\" is missing", "a number"},
        {{"calibration.slope", "\"1\""}, 0, "\"calibration.slope\" is a string", ""},
        {{"calibration.bias", NULL}, 0, "\"calibration.bias\" is missing", "a number"},
        {{"calibration.bias", "\"NaN\""}, 0, "\"calibration.bias\" is a string", ""},
        {{"calibration.temperature", "[]"}, 0, "calibration.temperature\" is an arr", ""},
        {{"calibration.temperature", NULL}, 0, "temperature\" is missing", "a number"},
        {{"calibration.slope", "0"}, RF_ERR_NUMERIC, "the slope is 0", "above 0"},
        {{"calibration.slope", "-0.5"}, RF_ERR_NUMERIC, "the slope is -0.5", "above 0"},
        {{"calibration.slope", "1e-60"}, RF_ERR_NUMERIC, "the slope is 0", "above 0"},
        {{"calibration.slope", "1e300"}, RF_ERR_NUMERIC, "the slope is inf", "finite"},
        {{"calibration.bias", "-1e300"}, RF_ERR_NUMERIC, "the bias is -inf", "finite"},
        {{"calibration.temperature", "0"}, RF_ERR_NUMERIC, "temperature is 0", "above 0"},
        {{"calibration.temperature", "1000001"}, RF_ERR_NUMERIC, "the temperature", ""},
        {{"calibration.from", "3"}, 0, "\"from\" is an integer", "wanted a string"},
        {{"calibration.from", NULL}, 0, "\"from\" is missing", "wanted a string"},
        {{"calibration.from", "\"hope\""}, 0, "from\" is \"hope\"", "pseudo-open"},
        {{"settings", "[]"}, 0, "\"settings\" is an array", "wanted an object"},
        {{"summary", NULL}, 0, "\"summary\" is missing", "wanted an object"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        spoiled(replace_description, bad[i].how,
                bad[i].code ? bad[i].code : RF_ERR_FORMAT, bad[i].a, bad[i].b);
}

/* A full file that claims to be slim loads its frozen part from the directory: the
 * same model. */
static void full_file_called_slim(void **state)
{
    (void)state;
    static const char *const how[] = {"encoder.contained", "false"};
    size_t len;
    sealed s;
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    replace_description(&s, how);
    file = sealed_put_together(&s, &len);
    scratch_write(dir, "model.rf", file, len);
    free(file);
    sealed_release(&s);
    rf_model *a = small_model(TINY "encoder", CLASSES, 1, NULL);
    rf_model *b = rf_model_load(path, NULL);
    assert_non_null(a);
    assert_non_null(b);
    const rf_config *c = &a->encoder->config;
    for (size_t i = 0; i < c->layers; i++) {
        assert_memory_equal(a->encoder->layers[i].qkv_w, b->encoder->layers[i].qkv_w,
                            3 * c->width * c->width * sizeof(float));
        assert_memory_equal(a->encoder->layers[i].down_w, b->encoder->layers[i].down_w,
                            c->inner * c->width * sizeof(float));
    }
    rf_model_free(a);
    rf_model_free(b);
}

/* A file older than calibration, and one by another writer: integers, and fractions
 * that are not floats. */
static void other_calibrations(void **state)
{
    (void)state;
    static const char *const how[] = {NULL,
                                      "{\"slope\": 2, \"bias\": 0.1, \"temperature\": 1, "
                                      "\"from\": \"defaults\", \"more\": []}"};
    for (size_t i = 0; i < 2; i++) {
        const char *const pair[] = {"calibration", how[i]};
        size_t len;
        sealed s;
        unsigned char *file = saved(CLASSES, false, &len);
        assert_true(sealed_take_apart(&s, file, len));
        free(file);
        replace_description(&s, pair);
        file = sealed_put_together(&s, &len);
        scratch_write(dir, "model.rf", file, len);
        free(file);
        sealed_release(&s);
        rf_error err = {0};
        rf_model *m = rf_model_load(path, &err);
        if (!m)
            fail_msg("%s", err.msg);
        const rf_calibration *c = &m->calibration;
        assert_true(c->slope == (i ? 2.0f : 1.0f) && c->bias == (i ? 0.1f : 0.0f) &&
                    c->temperature == 1.0f);
        assert_int_equal(c->from,
                         i ? RF_CALIBRATION_FROM_DEFAULTS : RF_CALIBRATION_FROM_NOTHING);
        rf_model_free(m);
    }
}

/* JSON has no NaN or infinity, so such a description is not JSON. */
static void not_a_number(void **state)
{
    (void)state;
    static const char *const numbers[] = {"NaN", "Infinity", "1e999"};
    for (size_t i = 0; i < 3; i++) {
        size_t len;
        sealed s;
        unsigned char *file = saved(CLASSES, false, &len);
        assert_true(sealed_take_apart(&s, file, len));
        free(file);
        char text[80];
        snprintf(text, sizeof text, "{\"calibration\": {\"slope\": %s}}", numbers[i]);
        json_decref(s.about);
        s.about = NULL; /* keep the text in the metadata */
        sealed_set(&s, "ringfence.json", text);
        file = sealed_put_together(&s, &len);
        assert_non_null(file);
        scratch_write(dir, "model.rf", file, len);
        free(file);
        sealed_release(&s);
        refuse(RF_ERR_FORMAT, "model.rf", "not valid JSON");
    }
}

static void newer_version(void **state)
{
    (void)state;
    size_t len;
    sealed s;
    unsigned char *file = saved(CLASSES, false, &len);
    assert_true(sealed_take_apart(&s, file, len));
    free(file);
    sealed_set(&s, "ringfence.version", "2");
    file = sealed_put_together(&s, &len);
    scratch_write(dir, "model.rf", file, len);
    free(file);
    sealed_release(&s);
    refuse(RF_ERR_VERSION, "model.rf: format version 2, this program knows up to 1", "");
    rf_error err = {0};
    if (rf_container_write(path, "checkpoint", "{}", NULL, 0, &err) != RF_OK)
        fail_msg("%s", err.msg);
    refuse(RF_ERR_FORMAT, "holds a ringfence checkpoint, wanted a model", "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(bytes_changed),         TEST(cut_anywhere),
        TEST(the_test_helpers_work), TEST(missing_tensors),
        TEST(wrong_shapes),          TEST(wrong_numbers),
        TEST(wrong_description),     TEST(full_file_called_slim),
        TEST(newer_version),         TEST(other_calibrations),
        TEST(not_a_number),
    };
    return cmocka_run_group_tests_name("bad model", tests, NULL, NULL);
}
