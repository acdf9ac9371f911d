/*
 * The safetensors reader against files made by hand: each rule of the format broken once,
 * a small file cut at every length, and every byte of its header changed. What is parsed
 * lies in a block of exactly its size, so that the sanitizers see a step too far.
 */
#include "encoder/safetensors.h"

#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "odd.safetensors"

/* Length, header, and n_data bytes of data that count up; the caller's. */
static unsigned char *make_file(uint64_t header_len, const char *header, size_t n_header,
                                size_t n_data, size_t *len)
{
    *len = 8 + n_header + n_data;
    unsigned char *file = malloc(*len);
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++)
        file[i] = (unsigned char)(header_len >> 8 * i & 0xff);
    memcpy(file + 8, header, n_header);
    for (size_t i = 0; i < n_data; i++)
        file[8 + n_header + i] = (unsigned char)i;
    return file;
}

/* Parses and reads every byte of every tensor. */
static rf_status parse(const unsigned char *bytes, size_t len, rf_error *err)
{
    rf_safetensors st;
    memset(&st, 0x5a, sizeof st); /* it need not come zeroed */
    rf_status status = rf_safetensors_parse(&st, bytes, len, NAME, err);
    size_t covered = 0;
    for (size_t i = 0; i < st.n_tensors; i++) {
        const rf_tensor *t = &st.tensors[i];
        size_t size = t->count * rf_dtype_size(t->dtype);
        assert_ptr_equal(t->data, bytes + t->offset);
        assert_true(t->offset <= len && size <= len - t->offset);
        volatile unsigned char sum = 0;
        for (size_t j = 0; j < size; j++)
            sum = (unsigned char)(sum + t->data[j]);
        covered += size;
    }
    if (status != RF_OK) {
        assert_int_equal(st.n_tensors, 0);
        assert_null(st.tensors);
        assert_null(st.header);
    } else {
        assert_true(covered < len);
    }
    rf_safetensors_close(&st);
    rf_safetensors_close(&st);
    return status;
}

/* The bytes are refused with this code, with and without an rf_error, and the message
 * names the file and the parts. */
static void refuse(const unsigned char *bytes, size_t len, rf_status code, const char *a,
                   const char *b)
{
    rf_error err = {0};
    rf_status status = parse(bytes, len, &err);
    if (status == RF_OK)
        fail_msg("accepted, wanted a complaint about: %s", a);
    assert_error(&err, code, NAME, a, b ? b : "");
    assert_int_equal(status, code);
    assert_int_equal(parse(bytes, len, NULL), code);
}

static void too_short(void **state)
{
    (void)state;
    for (size_t len = 0; len < 8; len++) {
        unsigned char *bytes = calloc(1, len ? len : 1);
        char part[32];
        assert_non_null(bytes);
        snprintf(part, sizeof part, "%zu bytes", len);
        refuse(bytes, len, RF_ERR_FORMAT, part, "at least 8");
        free(bytes);
    }
}

static void header_length(void **state)
{
    (void)state;
    static const struct {
        uint64_t header_len;
        rf_status code;
        const char *found, *wanted;
    } cases[] = {
        {3, RF_ERR_FORMAT, "header of 3 bytes in a file of 10", "cut off"},
        {100000000, RF_ERR_FORMAT, "header of 100000000 bytes in a file of 10",
         "cut off"},
        {100000001, RF_ERR_LIMIT, "header of 100000001 bytes", "at most 100000000"},
        {UINT64_MAX - 7, RF_ERR_LIMIT, "18446744073709551608", "at most 100000000"},
        {UINT64_MAX, RF_ERR_LIMIT, "18446744073709551615", "at most 100000000"},
        {(uint64_t)1 << 63, RF_ERR_LIMIT, "9223372036854775808", "at most 100000000"},
        {0, RF_ERR_FORMAT, "not a JSON object", NULL},
        {1, RF_ERR_FORMAT, "not a JSON object", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len;
        unsigned char *file = make_file(cases[i].header_len, "{}", 2, 0, &len);
        refuse(file, len, cases[i].code, cases[i].found, cases[i].wanted);
        free(file);
    }
}

/* A tensor entry of the header. */
#define T(name, dtype, shape, offsets)                                                   \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape                             \
    ",\"data_offsets\":" offsets "}"

typedef struct bad_header {
    const char *header;
    size_t n_data;
    const char *a, *b; /* in the message */
    rf_status code;    /* 0: RF_ERR_FORMAT */
} bad_header;

static void refuse_all(const bad_header *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len, n_header = strlen(cases[i].header);
        unsigned char *file =
            make_file(n_header, cases[i].header, n_header, cases[i].n_data, &len);
        refuse(file, len, cases[i].code ? cases[i].code : RF_ERR_FORMAT, cases[i].a,
               cases[i].b);
        free(file);
    }
}

static void header_text(void **state)
{
    (void)state;
    static const bad_header cases[] = {
        {"[]", 0, "not a JSON object padded with spaces", NULL, 0},
        {" {}", 0, "not a JSON object padded with spaces", NULL, 0},
        {"{}\n", 0, "not a JSON object padded with spaces", NULL, 0},
        {"{}\t  ", 0, "not a JSON object padded with spaces", NULL, 0},
        {"{} x", 0, "not a JSON object padded with spaces", NULL, 0},
        {"        ", 0, "not a JSON object padded with spaces", NULL, 0},
        {"{} {}", 0, "not valid JSON", "line 1", 0},
        {"{\"a\":}", 0, "not valid JSON", "line 1, column 6", 0},
        {"{\"a\" 1}", 0, "not valid JSON", "':' expected", 0},
        {"{\"a\":1,}", 0, "not valid JSON", "line 1", 0},
        {"{'a':1}", 0, "not valid JSON", "line 1", 0},
        {"{\"a\":NaN}", 0, "not valid JSON", "NaN", 0},
        {"{\"\xff\":1}", 0, "not valid JSON", "unable to decode byte 0xff", 0},
        {"{\"\xc0\xaf\":1}", 0, "not valid JSON", "unable to decode byte 0xc0", 0},
        {"{\"\xed\xa0\x80\":1}", 0, "not valid JSON", "unable to decode byte", 0},
        {"{\"a\\u0000\":1}", 0, "not valid JSON", NULL, 0},
        {"{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[1,2]") "}", 2,
         "not valid JSON", "duplicate", 0},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}"
         "}",
         1, "not valid JSON", "duplicate", 0},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is an array", "wanted an object", 0},
        {"{\"__metadata__\":{\"x\":\"\",\"n\":1}}", 0, "__metadata__ \"n\" is an integer",
         "wanted a string", 0},
        {"{\"__metadata__\":{\"x\":null}}", 0, "__metadata__ \"x\" is null",
         "wanted a string", 0},
    };
    refuse_all(cases, sizeof cases / sizeof cases[0]);
}

static void dtypes_and_shapes(void **state)
{
    (void)state;
    static const bad_header cases[] = {
        {"{\"a\":1}", 0, "tensor \"a\"", "not an object", 0},
        {"{\"a\":[]}", 0, "tensor \"a\"", "not an object", 0},
        {"{\"a\":{}}", 0, "tensor \"a\"", "no dtype", 0},
        {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "tensor \"a\"",
         "no dtype", 0},
        {"{" T("a", "F33", "[1]", "[0,4]") "}", 4, "tensor \"a\"",
         "unknown dtype \"F33\"", 0},
        {"{" T("a\\u001b[2J\\n", "f32", "[1]", "[0,4]") "}", 4, "tensor \"a?[2J?\"",
         "unknown dtype \"f32\"", 0}, /* no terminal escapes */
        {"{" T("a", "f32", "[1]", "[0,4]") "}", 4, "tensor \"a\"",
         "unknown dtype \"f32\"", 0},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "tensor \"a\"",
         "no shape", 0},
        {"{" T("a", "U8", "1", "[0,1]") "}", 1, "tensor \"a\"", "no shape", 0},
        {"{" T("a", "U8", "[-1]", "[0,1]") "}", 1, "tensor \"a\"", "shape is negative",
         0},
        {"{" T("a", "U8", "[-1,-1]", "[0,1]") "}", 1, "tensor \"a\"", "shape is negative",
         0},
        {"{" T("a", "U8", "[1.0]", "[0,1]") "}", 1, "tensor \"a\"", "no integer", 0},
        {"{" T("a", "U8", "[\"1\"]", "[0,1]") "}", 1, "tensor \"a\"", "no integer", 0},
        {"{" T("a", "U8", "[1e0]", "[0,1]") "}", 1, "tensor \"a\"", "no integer", 0},
        /* 2^32 * 2^32 elements: 0 after overflow, which the empty range would match */
        {"{" T("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "tensor \"a\"",
         "too large", 0},
        {"{" T("a", "U8", "[9223372036854775807,3]", "[0,1]") "}", 1, "tensor \"a\"",
         "too large", 0},
        {"{" T("a", "U8", "[18446744073709551616]", "[0,0]") "}", 0, "not valid JSON",
         "too big integer", 0},
        /* 2^62 elements of 4 bytes: 0 bytes after overflow */
        {"{" T("a", "F32", "[4611686018427387904]", "[0,0]") "}", 0, "tensor \"a\"",
         "0 bytes found, wanted those of F32 [4611686018427387904]", 0},
        {"{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "tensor \"a\"",
         "9 dimensions, wanted at most 8", RF_ERR_LIMIT},
    };
    refuse_all(cases, sizeof cases / sizeof cases[0]);
}

static void offsets(void **state)
{
    (void)state;
    static const bad_header cases[] = {
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "tensor \"a\"",
         "data_offsets are not two sizes", 0},
        {"{" T("a", "U8", "[1]", "7") "}", 1, "tensor \"a\"", "not two sizes", 0},
        {"{" T("a", "U8", "[1]", "[0]") "}", 1, "tensor \"a\"", "not two sizes", 0},
        {"{" T("a", "U8", "[1]", "[0,1,1]") "}", 1, "tensor \"a\"", "not two sizes", 0},
        {"{" T("a", "U8", "[1]", "[-1,0]") "}", 1, "tensor \"a\"", "not two sizes", 0},
        {"{" T("a", "U8", "[1]", "[0,1.0]") "}", 1, "tensor \"a\"", "not two sizes", 0},
        {"{" T("a", "U8", "[1]", "[1,0]") "}", 1, "tensor \"a\"",
         "bytes 1 to 0, wanted within 0 to 1", 0},
        {"{" T("a", "U8", "[2]", "[0,2]") "}", 1, "tensor \"a\"",
         "bytes 0 to 2, wanted within 0 to 1", 0},
        {"{" T("a", "U8", "[1]", "[9223372036854775806,9223372036854775807]") "}", 1,
         "tensor \"a\"", "wanted within 0 to 1", 0},
        {"{" T("a", "F32", "[2,3]", "[0,23]") "}", 23, "tensor \"a\"",
         "23 bytes found, wanted those of F32 [2, 3]", 0},
        {"{" T("a", "F16", "[]", "[0,1]") "}", 1, "tensor \"a\"",
         "1 bytes found, wanted those of F16 []", 0},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[1,3]") "}", 3,
         "tensor \"b\" begins at byte 1 of the data, wanted 2", "tensors overlap", 0},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[0,2]") "}", 2,
         "begins at byte 0 of the data, wanted 2", "tensors overlap", 0},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[0]", "[1,1]") "}", 2,
         "tensor \"b\" begins at byte 1 of the data, wanted 2", "tensors overlap", 0},
        {"{" T("a", "U8", "[1]", "[0,1]") "," T("b", "U8", "[1]", "[2,3]") "}", 3,
         "tensor \"b\" begins at byte 2 of the data, wanted 1", "there is a hole", 0},
        {"{" T("a", "U8", "[1]", "[1,2]") "}", 2,
         "tensor \"a\" begins at byte 1 of the data, wanted 0", "there is a hole", 0},
        {"{" T("a", "U8", "[1]", "[0,1]") "}", 4, "3 bytes follow the last tensor",
         "wanted none", 0},
        {"{}", 1, "1 bytes follow the last tensor", "wanted none", 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":0}}", 1,
         "tensor \"a\"", "keys besides", 0},
    };
    refuse_all(cases, sizeof cases / sizeof cases[0]);
}

/* A file with all that is allowed: an empty tensor that shares an offset, one without
 * dimensions, padding, an order of its own, eight dimensions. */
#define LATE T("late", "F32", "[2,1]", "[6,14]")
#define META "\"__metadata__\":{\"k\":\"v\"}"
#define SCALAR T("scalar", "BF16", "[]", "[0,2]")
#define NONE T("none", "I64", "[0,5]", "[2,2]")
#define CUBE T("cube", "U8", "[1,1,2,1,1,2,1,1]", "[2,6]")
#define LAST T("last", "F64", "[0]", "[14,14]")
static const char good_header[] =
    "{" LATE "," META "," SCALAR "," NONE "," CUBE "," LAST "}   ";
#define GOOD_DATA 14

static void accepted(void **state)
{
    (void)state;
    static const struct {
        const char *name, *dtype;
        size_t rank, count, offset;
    } want[] = {
        {"scalar", "BF16", 0, 1, 0}, {"none", "I64", 2, 0, 2},  {"cube", "U8", 8, 4, 2},
        {"late", "F32", 2, 2, 6},    {"last", "F64", 1, 0, 14},
    };
    size_t len, n_header = sizeof good_header - 1;
    unsigned char *file = make_file(n_header, good_header, n_header, GOOD_DATA, &len);
    rf_safetensors st;
    rf_error err = {0};
    if (rf_safetensors_parse(&st, file, len, NAME, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(st.n_tensors, 5);
    for (size_t i = 0; i < 5; i++) {
        const rf_tensor *t = rf_safetensors_find(&st, want[i].name);
        assert_ptr_equal(t, &st.tensors[i]); /* sorted by offset */
        assert_string_equal(rf_dtype_name(t->dtype), want[i].dtype);
        assert_int_equal(t->rank, want[i].rank);
        assert_int_equal(t->count, want[i].count);
        assert_int_equal(t->offset, 8 + n_header + want[i].offset);
        assert_ptr_equal(t->data, file + t->offset);
    }
    assert_null(rf_safetensors_find(&st, "__metadata__"));
    assert_null(rf_safetensors_find(&st, ""));
    rf_safetensors_close(&st);
    free(file);

    static const char *const also[] = {"{}", "{}      ", "{\"__metadata__\":{}}",
                                       "{" T("", "U8", "[0]", "[0,0]") "}"};
    for (size_t i = 0; i < sizeof also / sizeof also[0]; i++) {
        file = make_file(strlen(also[i]), also[i], strlen(also[i]), 0, &len);
        assert_int_equal(parse(file, len, NULL), RF_OK);
        free(file);
    }
}

static void cut_anywhere(void **state)
{
    (void)state;
    size_t len, n_header = sizeof good_header - 1;
    unsigned char *file = make_file(n_header, good_header, n_header, GOOD_DATA, &len);
    assert_int_equal(parse(file, len, NULL), RF_OK);
    for (size_t n = 0; n < len; n++) {
        unsigned char *cut = malloc(n ? n : 1);
        rf_error err = {0};
        assert_non_null(cut);
        memcpy(cut, file, n);
        if (parse(cut, n, &err) == RF_OK)
            fail_msg("accepted after %zu of %zu bytes", n, len);
        assert_error(&err, RF_ERR_FORMAT, NAME);
        free(cut);
    }
    free(file);
}

/* Not every changed byte can be noticed (a name, an integer type of the same size), but
 * none may lead out of the file. */
static void change_every_byte(void **state)
{
    (void)state;
    size_t len, n_header = sizeof good_header - 1, refused = 0;
    unsigned char *file = make_file(n_header, good_header, n_header, GOOD_DATA, &len);
    for (size_t i = 0; i < 8 + n_header; i++)
        for (unsigned change = 1; change < 256; change++) {
            rf_error err = {0};
            file[i] ^= (unsigned char)change;
            rf_status st = parse(file, len, &err);
            if (st != RF_OK) {
                assert_error(&err, st, NAME);
                refused++;
            }
            file[i] ^= (unsigned char)change;
        }
    assert_true(refused > 200 * n_header);
    free(file);
}

static void files(void **state)
{
    (void)state;
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_safetensors st;
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "w.safetensors");
    assert_int_equal(rf_safetensors_open(&st, path, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, path);
    scratch_write(dir, "w.safetensors", "", 0);
    assert_int_equal(rf_safetensors_open(&st, path, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, path, "0 bytes, wanted at least 8");
    assert_int_equal(rf_safetensors_open(&st, dir, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, dir, "not a regular file");

    size_t len, n_header = sizeof good_header - 1;
    unsigned char *file = make_file(n_header, good_header, n_header, GOOD_DATA, &len);
    scratch_write(dir, "w.safetensors", file, len - 1);
    assert_int_equal(rf_safetensors_open(&st, path, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, path, "wanted within 0 to 13");
    scratch_write(dir, "w.safetensors", file, len);
    assert_int_equal(rf_safetensors_open(&st, path, &err), RF_OK);
    assert_memory_equal(rf_safetensors_find(&st, "late")->data, file + len - 8, 8);
    rf_safetensors_close(&st);
    free(file);
    scratch_remove(dir);
}

static void write_and_read(void **state)
{
    (void)state;
    const float a[] = {1.0f, -0.0f, 3.5e-39f, 3.4e38f, 0.1f, -2.0f}, b[] = {42.0f};
    const rf_tensor_out out[] = {{"z.weight", 2, {2, 3}, a, NULL},
                                 {"a.bias", 1, {1}, b, NULL},
                                 {"empty", 2, {0, 7}, NULL, NULL},
                                 {"scalar", 0, {0}, b, NULL}};
    char dir[RF_PATH_MAX], paths[2][RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    char *bytes[2];
    size_t lens[2];
    for (int i = 0; i < 2; i++) { /* the same input gives the same bytes */
        scratch_path(paths[i], dir, i ? "second" : "first");
        if (rf_safetensors_write(paths[i], out, 4, &err) != RF_OK)
            fail_msg("%s", err.msg);
        bytes[i] = scratch_read(paths[i], &lens[i]);
    }
    assert_int_equal(lens[0], lens[1]);
    assert_memory_equal(bytes[0], bytes[1], lens[0]);
    free(bytes[0]);
    free(bytes[1]);

    rf_safetensors st;
    if (rf_safetensors_open(&st, paths[0], &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(st.n_tensors, 4);
    for (size_t i = 0; i < 4; i++) {
        const rf_tensor *t = rf_safetensors_find(&st, out[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, RF_F32);
        assert_int_equal(t->rank, out[i].rank);
        assert_int_equal(t->offset % 4, 0);
        assert_memory_equal(t->shape, out[i].shape, t->rank * sizeof t->shape[0]);
        if (t->count)
            assert_memory_equal(t->data, out[i].data, t->count * sizeof(float));
    }
    rf_safetensors_close(&st);

    /* Never over an existing file. */
    assert_int_equal(rf_safetensors_write(paths[0], out, 4, &err), RF_ERR_IO);
    assert_error(&err, RF_ERR_IO, paths[0], "cannot create");
    scratch_path(paths[0], dir, "none/file");
    assert_int_equal(rf_safetensors_write(paths[0], out, 4, &err), RF_ERR_MISSING);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_short),    cmocka_unit_test(header_length),
        cmocka_unit_test(header_text),  cmocka_unit_test(dtypes_and_shapes),
        cmocka_unit_test(offsets),      cmocka_unit_test(accepted),
        cmocka_unit_test(cut_anywhere), cmocka_unit_test(change_every_byte),
        cmocka_unit_test(files),        cmocka_unit_test(write_and_read),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
