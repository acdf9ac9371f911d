/*
 * test_onnx.c - the ONNX reader
 *
 * A file by PyTorch, cut at every length and with bits flipped; then files built here
 * byte by byte: each rule of the wire format and of initialisers broken once, and the
 * same numbers in every form that is allowed.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "encoder/onnx.h"

#include "onnx_build.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MODEL GOLDEN_DIR "/tiny/onnx/model.onnx"

/* Parses and reads every tensor; only memory safety counts. */
static rf_status parse_all(const void *bytes, size_t len, rf_error *err)
{
    rf_onnx o;
    rf_status st = rf_onnx_parse(&o, bytes, len, "model.onnx", err);
    if (st != RF_OK)
        return st;
    for (size_t i = 0; i < o.n_tensors; i++) {
        const rf_onnx_tensor *t = &o.tensors[i];
        if (t->count > len) /* a type of less than a byte; never read */
            continue;
        float *x = malloc((t->count + 1) * sizeof *x);
        assert_non_null(x);
        (void)rf_onnx_read(&o, t, x, NULL);
        free(x);
    }
    rf_onnx_close(&o);
    return RF_OK;
}

/* ---- A good file, damaged ---------------------------------------------------------- */

/* The export by PyTorch; the caller's. */
static unsigned char *read_model(size_t *len)
{
    return (unsigned char *)scratch_read(MODEL, len);
}

/* Room for bytes that end at a page which must not be touched: reading one byte too many
 * ends the test, with or without a sanitizer. */
typedef struct fence {
    unsigned char *map, *end;
    size_t size;
} fence;

static fence new_fence(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n + page - 1) / page * page;
    fence f = {.size = room + page};
    f.map =
        mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    f.end = f.map + room;
    assert_int_equal(mprotect(f.end, page, PROT_NONE), 0);
    return f;
}

/* A cut after the graph goes unnoticed; the content is then the same. */
static void test_every_truncation(void **state)
{
    (void)state;
    rf_onnx whole, o;
    size_t size, n_ok = 0;
    unsigned char *bytes = read_model(&size);
    fence f = new_fence(size);
    assert_int_equal(rf_onnx_parse(&whole, bytes, size, "m", NULL), RF_OK);
    for (size_t len = 0; len < size; len++) {
        rf_error err = {0};
        memcpy(f.end - len, bytes, len);
        rf_status st = rf_onnx_parse(&o, f.end - len, len, "model.onnx", &err);
        if (st == RF_OK) {
            assert_int_equal(o.n_tensors, whole.n_tensors);
            assert_int_equal(o.n_nodes, whole.n_nodes);
            rf_onnx_close(&o);
            n_ok++;
        } else {
            assert_int_equal(st, RF_ERR_FORMAT);
            assert_error(&err, RF_ERR_FORMAT, "model.onnx: ");
        }
    }
    assert_int_equal(n_ok, 1);
    munmap(f.map, f.size);
    rf_onnx_close(&whole);
    free(bytes);
}

static size_t get_varint(const unsigned char *p, size_t *value)
{
    size_t n = 0;
    *value = 0;
    do
        *value |= (size_t)(p[n] & 0x7f) << 7 * n;
    while (p[n++] & 0x80);
    return n;
}

/* The bytes of the graph within those of the model. */
static const unsigned char *find_graph(const unsigned char *p, size_t *len)
{
    for (;;) {
        size_t key, value;
        p += get_varint(p, &key);
        p += get_varint(p, &value);
        if (key == (7 << 3 | 2)) {
            *len = value;
            return p;
        }
        p += (key & 7) == 2 ? value : 0;
    }
}

/* The same cuts, in a file whose outer length fits, so that they reach what is inside. A
 * cut between two parts of the graph leaves a graph with fewer of them. */
static void test_every_truncation_of_the_graph(void **state)
{
    (void)state;
    rf_buffer head = new_bytes();
    size_t size, graph_len, n_ok = 0;
    unsigned char *bytes = read_model(&size);
    const unsigned char *graph = find_graph(bytes, &graph_len);
    fence f = new_fence(size);
    for (size_t len = 0; len < graph_len; len++) {
        rf_onnx o;
        rf_error err = {0};
        rf_buffer_clear(&head);
        put_varint(&head, 7 << 3 | 2);
        put_varint(&head, len);
        unsigned char *start = f.end - len - head.len;
        memcpy(start, head.data, head.len);
        memcpy(start + head.len, graph, len);
        rf_status st = rf_onnx_parse(&o, start, len + head.len, "model.onnx", &err);
        if (st == RF_OK) {
            rf_onnx_close(&o);
            n_ok++;
        } else {
            assert_int_equal(st, RF_ERR_FORMAT);
            assert_error(&err, RF_ERR_FORMAT, "model.onnx: byte ");
        }
    }
    assert_true(n_ok > 100 && n_ok < 300);
    munmap(f.map, f.size);
    rf_buffer_release(&head);
    free(bytes);
}

/* Bits of everything but the weights themselves. */
static void test_flipped_bits(void **state)
{
    (void)state;
    rf_onnx o;
    size_t size;
    unsigned char *bytes = read_model(&size);
    bool *data = calloc(size, sizeof *data);
    assert_non_null(data);
    assert_int_equal(rf_onnx_parse(&o, bytes, size, "model.onnx", NULL), RF_OK);
    for (size_t i = 0; i < o.n_tensors; i++)
        if (o.tensors[i].raw && o.tensors[i].type == RF_ONNX_FLOAT)
            memset(data + (o.tensors[i].raw - bytes), 1,
                   o.tensors[i].count * sizeof(float));
    rf_onnx_close(&o);
    for (size_t i = 0; i < size; i++) {
        if (data[i])
            continue;
        unsigned char keep = bytes[i];
        bytes[i] = (unsigned char)(keep ^ 1 << i % 8);
        rf_error err = {0};
        rf_status st = parse_all(bytes, size, &err);
        assert_true(st == RF_OK || (st == err.code && err.msg[0] != '\0'));
        bytes[i] = keep;
    }
    free(data);
    free(bytes);
}

/* ---- Files built here -------------------------------------------------------------- */

/* A file as bytes, the status and the words it must be refused with. */
typedef struct refusal {
    const char *bytes;
    size_t len;
    rf_status code;
    const char *words;
} refusal;

#define BYTES(s) s, sizeof(s) - 1

static void test_bad_wire_format(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {BYTES(""), RF_ERR_FORMAT, "empty"},
        {BYTES("version https://git-lfs.github.com/spec/v1\n"), RF_ERR_FORMAT, "Git LFS"},
        {BYTES("<!DOCTYPE html>"), RF_ERR_FORMAT, "byte 0"},
        {BYTES("\x08\x07"), RF_ERR_FORMAT, "no graph"},
        {BYTES("\x08"), RF_ERR_FORMAT, "byte 1: a number is cut off"},
        {BYTES("\x08\xff\xff"), RF_ERR_FORMAT, "cut off"},
        {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), RF_ERR_FORMAT, "64 bits"},
        {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), RF_ERR_FORMAT,
         "64 bits"},
        {BYTES("\x00\x00"), RF_ERR_FORMAT, "field number"},
        {BYTES("\x80\x80\x80\x80\x10\x00"), RF_ERR_FORMAT, "field number"},
        {BYTES("\x0b\x0c"), RF_ERR_FORMAT, "a group"},
        {BYTES("\x0c"), RF_ERR_FORMAT, "a group"},
        {BYTES("\x0e"), RF_ERR_FORMAT, "unknown wire type"},
        {BYTES("\x0f"), RF_ERR_FORMAT, "unknown wire type"},
        {BYTES("\x0d\x00\x00\x00"), RF_ERR_FORMAT, "wants 4 bytes, its message has 3"},
        {BYTES("\x09\x00\x00\x00"), RF_ERR_FORMAT, "wants 8 bytes"},
        {BYTES("\x3a\x05\x00"), RF_ERR_FORMAT, "field 7 wants 5 bytes"},
        {BYTES("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), RF_ERR_FORMAT,
         "wants 18446744073709551615 bytes"},
        {BYTES("\x38\x05"), RF_ERR_FORMAT, "graph of the model is a varint"},
        {BYTES("\x3a\x00\x3a\x00"), RF_ERR_FORMAT, "a second graph"},
        {BYTES("\x3a\x02\x08\x01"), RF_ERR_FORMAT, "node of the graph is a varint"},
        {BYTES("\x3a\x02\x28\x01"), RF_ERR_FORMAT,
         "initializer of the graph is a varint"},
        {BYTES("\x3a\x03\x0a\x05\x00"), RF_ERR_FORMAT, "field 1 wants 5 bytes"},
        {BYTES("\x3a\x04\x0a\x02\x08\x01"), RF_ERR_FORMAT, "input of a node is a varint"},
        {BYTES("\x3a\x05\x0a\x03\x0a\x01\x07"), RF_ERR_FORMAT, "control byte"},
        {BYTES("\x3a\x06\x0a\x04\x22\x00\x22\x00"), RF_ERR_FORMAT, "a second op_type"},
        {BYTES("\x3a\x06\x0a\x04\x1a\x00\x1a\x00"), RF_ERR_FORMAT, "a second name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        rf_status st = parse_all(cases[i].bytes, cases[i].len, &err);
        if (st != cases[i].code || !strstr(err.msg, cases[i].words))
            fail_msg("case %zu: %d \"%s\", wanted \"%s\"", i, st, err.msg,
                     cases[i].words);
    }
}

/* The body of an initialiser, alone in a model. */
static rf_status parse_tensor(const void *body, size_t len, rf_error *err)
{
    rf_buffer graph = new_bytes(), model = new_bytes();
    put_bytes(&graph, 5, body, len);
    put_message(&model, 7, &graph);
    rf_status st = parse_all(model.data, model.len, err);
    rf_buffer_release(&graph);
    rf_buffer_release(&model);
    return st;
}

static void test_bad_tensors(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {BYTES(""), RF_ERR_FORMAT, "without a name"},
        {BYTES("\x42\x00"), RF_ERR_FORMAT, "without a name"},
        {BYTES("\x42\x01n\x42\x01n"), RF_ERR_FORMAT, "a second name"},
        {BYTES("\x42\x02n\n"), RF_ERR_FORMAT, "control byte"},
        {BYTES("\x42\x01n\x10\x01\x10\x01"), RF_ERR_FORMAT, "a second data_type"},
        {BYTES("\x42\x01n\x12\x01\x01"), RF_ERR_FORMAT, "data_type of an initialiser is"},
        {BYTES("\x42\x01n\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), RF_ERR_FORMAT,
         "out of range"},
        {BYTES("\x42\x01n\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), RF_ERR_FORMAT,
         "negative dimension"},
        {BYTES("\x42\x01n\x0a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         RF_ERR_FORMAT, "negative dimension"},
        {BYTES("\x42\x01n\x0a\x02\x01\xff"), RF_ERR_FORMAT, "cut off"},
        {BYTES("\x42\x01n\x0d\x01\x00\x00\x00"), RF_ERR_FORMAT, "dims of an initialiser"},
        {BYTES("\x42\x01n\x0a\x0c\x80\x80\x80\x80\x80\x01\x80\x80\x80\x80\x80\x01"),
         RF_ERR_FORMAT, "more elements"},
        {BYTES("\x42\x01n\x0a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01"), RF_ERR_LIMIT,
         "more than 8 dimensions"},
        /* 2^62 floats: the product fits, the number of bytes does not */
        {BYTES("\x42\x01n\x10\x01\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x4a\x00"),
         RF_ERR_FORMAT, "raw_data of 0 bytes"},
        {BYTES("\x42\x01n\x10\x01\x08\x02\x4a\x07\0\0\0\0\0\0\0"), RF_ERR_FORMAT,
         "raw_data of 7 bytes found, wanted those of FLOAT [2]"},
        {BYTES("\x42\x01n\x10\x0a\x08\x02\x4a\x02\0\0"), RF_ERR_FORMAT,
         "raw_data of 2 bytes found, wanted those of FLOAT16 [2]"},
        {BYTES("\x42\x01n\x10\x07\x08\x01\x4a\x02\0\0"), RF_ERR_FORMAT, "INT64 [1]"},
        {BYTES("\x42\x01n\x10\x01\x08\x02\x22\x04\0\0\0\0"), RF_ERR_FORMAT,
         "float_data of 1 elements found, wanted those of FLOAT [2]"},
        {BYTES("\x42\x01n\x10\x01\x08\x02"), RF_ERR_FORMAT, "float_data of 0 elements"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x22\x03\0\0\0"), RF_ERR_FORMAT, "whole floats"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x20\x03"), RF_ERR_FORMAT, "float_data"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x48\x03"), RF_ERR_FORMAT, "raw_data"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x4a\x04\0\0\0\0\x4a\x04\0\0\0\0"),
         RF_ERR_FORMAT, "a second raw_data"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x4a\x04\0\0\0\0\x25\0\0\0\0"), RF_ERR_FORMAT,
         "both raw_data and float_data"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x70\x01"), RF_ERR_VERSION,
         "\"n\" has its data in another file (external_data)"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x6a\x00"), RF_ERR_VERSION, "external_data"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x72\x00"), RF_ERR_FORMAT, "data_location"},
        {BYTES("\x42\x01n\x10\x01\x08\x01\x68\x00"), RF_ERR_FORMAT, "external_data"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_error err = {0};
        rf_status st = parse_tensor(cases[i].bytes, cases[i].len, &err);
        if (st != cases[i].code || !strstr(err.msg, cases[i].words))
            fail_msg("case %zu: %d \"%s\", wanted \"%s\"", i, st, err.msg,
                     cases[i].words);
    }
}

/* The same four numbers in every form that protobuf allows. */
static void test_forms_of_data(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        rf_status code;
    } cases[] = {
        {BYTES("\x42\x01n\x10\x01\x08\x02\x08\x02\x4a\x10"
               "\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\0\0\0\0"),
         RF_OK},
        {BYTES("\x42\x01n\x10\x01\x0a\x02\x02\x02\x22\x10"
               "\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\0\0\0\0"),
         RF_OK},
        {BYTES("\x25\0\0\x80\x3f\x42\x01n\x25\0\0\0\xc0\x10\x01\x25\0\0\0\x3f\x0a\x01\x02"
               "\x25\0\0\0\0\x08\x02"),
         RF_OK},
        {BYTES("\x42\x01n\x10\x01\x08\x02\x08\x02\x25\0\0\x80\x3f\x22\x08\0\0\0\xc0"
               "\0\0\0\x3f\x22\x00\x25\0\0\0\0"),
         RF_OK},
        {BYTES("\x42\x01n\x10\x0a\x08\x02\x08\x02\x4a\x08\0\x3c\0\xc0\0\x38\0\0"), RF_OK},
        {BYTES("\x42\x01n\x10\x0a\x08\x02\x08\x02\x2a\x04\x01\x02\x03\x04"),
         RF_ERR_VERSION}, /* FLOAT16 in int32_data */
        {BYTES("\x42\x01n\x10\x03\x08\x02\x08\x02\x4a\x04\x01\x02\x03\x04"),
         RF_ERR_VERSION}, /* INT8 */
        {BYTES("\x42\x01n\x10\x63\x08\x02\x08\x02\x4a\x04\x01\x02\x03\x04"),
         RF_ERR_VERSION}, /* no such type */
    };
    static const float want[4] = {1.0f, -2.0f, 0.5f, 0.0f};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rf_buffer graph = new_bytes(), model = new_bytes();
        rf_onnx o;
        rf_error err = {0};
        float x[4] = {9, 9, 9, 9};
        put_bytes(&graph, 5, cases[i].bytes, cases[i].len);
        put_message(&model, 7, &graph);
        if (rf_onnx_parse(&o, (unsigned char *)model.data, model.len, "m", &err) != RF_OK)
            fail_msg("case %zu: %s", i, err.msg);
        const rf_onnx_tensor *t = rf_onnx_find(&o, rf_onnx_name("n"));
        assert_non_null(t);
        assert_null(rf_onnx_find(&o, rf_onnx_name("")));
        assert_null(rf_onnx_find(&o, rf_onnx_name("nn")));
        assert_int_equal(t->rank, 2);
        assert_int_equal(t->count, 4);
        assert_int_equal(rf_onnx_read(&o, t, x, &err), cases[i].code);
        if (cases[i].code == RF_OK)
            assert_memory_equal(x, want, sizeof x);
        else
            assert_non_null(strstr(err.msg, rf_onnx_type_name(t->type)));
        rf_onnx_close(&o);
        rf_onnx_close(&o);
        rf_buffer_release(&graph);
        rf_buffer_release(&model);
    }
}

static void test_duplicate_names(void **state)
{
    (void)state;
    rf_buffer graph = new_bytes(), model = new_bytes();
    rf_error err = {0};
    put_tensor(&graph, "twice", 1, NULL, 0, "\0\0\0\0", 4);
    put_tensor(&graph, "once", 1, NULL, 0, "\0\0\0\0", 4);
    put_tensor(&graph, "twice", 1, NULL, 0, "\0\0\0\0", 4);
    put_message(&model, 7, &graph);
    assert_int_equal(parse_all(model.data, model.len, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "two initialisers are named \"twice\"");
    rf_buffer_release(&graph);
    rf_buffer_release(&model);
}

static void test_limits(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        rf_buffer graph = new_bytes(), model = new_bytes();
        rf_error err = {0};
        for (size_t i = 0; i < RF_ONNX_MAX_NODES + extra; i++)
            put_bytes(&graph, 1, "", 0);
        put_message(&model, 7, &graph);
        assert_int_equal(parse_all(model.data, model.len, &err),
                         extra ? RF_ERR_LIMIT : RF_OK);
        rf_buffer_release(&graph);
        rf_buffer_release(&model);
    }
    rf_buffer graph = new_bytes(), model = new_bytes();
    rf_error err = {0};
    for (size_t i = 0; i <= RF_ONNX_MAX_TENSORS; i++)
        put_bytes(&graph, 5, "", 0);
    put_message(&model, 7, &graph);
    assert_int_equal(parse_all(model.data, model.len, &err), RF_ERR_LIMIT);
    assert_error(&err, RF_ERR_LIMIT, "100001 initialisers");
    rf_buffer_release(&graph);
    rf_buffer_release(&model);
}

int main(void)
{
    const struct CMUnitTest reader[] = {
        cmocka_unit_test(test_bad_wire_format),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_forms_of_data),
        cmocka_unit_test(test_duplicate_names),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_truncation_of_the_graph),
        cmocka_unit_test(test_flipped_bits),
    };
    return cmocka_run_group_tests_name("onnx reader", reader, NULL, NULL);
}
