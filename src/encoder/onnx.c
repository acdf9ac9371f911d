/*
 * onnx.c - protobuf fields, and from them ModelProto > GraphProto > tensors and nodes
 *
 * Field numbers are those of onnx/onnx.proto. The graph is walked twice: once to count,
 * so that memory is allocated once and after the limits were checked, and once to read.
 */
#include "encoder/onnx.h"

#include "base/memory.h"
#include "num/kernels.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The wire format --------------------------------------------------------------- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, FIXED32 = 5 };

/* Walks the fields of one message. */
typedef struct reader {
    const unsigned char *at, *end;
    const unsigned char *file; /* first byte of the file, for positions */
    const char *name;          /* of the file */
    rf_error *err;
} reader;

typedef struct field {
    uint32_t number;
    unsigned wire;
    uint64_t value;            /* VARINT */
    const unsigned char *data; /* BYTES, FIXED32, FIXED64 */
    size_t len;
    size_t pos; /* of the field in the file */
} field;

static size_t position(const reader *r)
{
    return (size_t)(r->at - r->file);
}
static bool more(const reader *r)
{
    return r->at < r->end;
}
static size_t left(const reader *r)
{
    return (size_t)(r->end - r->at);
}

static reader inside(const reader *r, const field *f)
{
    reader in = *r;
    in.at = f->data;
    in.end = f->data + f->len;
    return in;
}

static rf_status bad(const reader *r, size_t pos, const char *what)
{
    return rf_fail(r->err, RF_ERR_FORMAT, pos, "%s: byte %zu: %s", r->name, pos, what);
}

/* 7 bits per byte, lowest first; 64 bits are full after one bit of the tenth byte. */
static rf_status take_varint(reader *r, uint64_t *out)
{
    size_t pos = position(r);
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (!more(r))
            return bad(r, pos, "a number is cut off by the end of its message");
        unsigned char byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return RF_OK;
        }
    }
    return bad(r, pos, "a number of more than 64 bits (is this an ONNX file?)");
}

static rf_status take_bytes(reader *r, field *f, uint64_t n)
{
    if (n > left(r))
        return rf_fail(
            r->err, RF_ERR_FORMAT, f->pos,
            "%s: byte %zu: field %u wants %llu bytes, its message has %zu left: "
            "cut off, or not an ONNX file",
            r->name, f->pos, (unsigned)f->number, (unsigned long long)n, left(r));
    f->data = r->at;
    f->len = (size_t)n;
    r->at += f->len;
    return RF_OK;
}

/* The next field of a message that has more. */
static rf_status take_field(reader *r, field *f)
{
    uint64_t key = 0;
    *f = (field){.pos = position(r)};
    rf_status st = take_varint(r, &key);
    if (st != RF_OK)
        return st;
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return bad(r, f->pos, "a field number out of range (is this an ONNX file?)");
    f->number = (uint32_t)(key >> 3);
    f->wire = (unsigned)(key & 7);
    switch (f->wire) {
    case VARINT: return take_varint(r, &f->value);
    case FIXED64: return take_bytes(r, f, 8);
    case FIXED32: return take_bytes(r, f, 4);
    case BYTES:
        st = take_varint(r, &f->value);
        return st == RF_OK ? take_bytes(r, f, f->value) : st;
    case GROUP:
    case GROUP_END:
        return bad(r, f->pos,
                   "a group, which ONNX does not have (is this an ONNX file?)");
    default: return bad(r, f->pos, "an unknown wire type (is this an ONNX file?)");
    }
}

static rf_status want_wire(const reader *r, const field *f, unsigned wire,
                           const char *what)
{
    static const char *const names[] = {"a varint", "8 bytes",     "bytes",
                                        "a group",  "a group end", "4 bytes"};
    if (f->wire == wire)
        return RF_OK;
    return rf_fail(r->err, RF_ERR_FORMAT, f->pos, "%s: byte %zu: %s is %s, wanted %s",
                   r->name, f->pos, what, names[f->wire], names[wire]);
}

/* A field that may occur once. In protobuf the last of several wins, but no writer makes
 * several, and files that two readers understand differently are dangerous. */
static rf_status want_once(const reader *r, const field *f, uint32_t *seen,
                           const char *what)
{
    if (*seen & 1u << f->number)
        return rf_fail(r->err, RF_ERR_FORMAT, f->pos,
                       "%s: byte %zu: a second %s, wanted one", r->name, f->pos, what);
    *seen |= 1u << f->number;
    return RF_OK;
}

/* Names are printed to terminals, hence no control bytes. */
static rf_status take_text(const reader *r, const field *f, const char *what,
                           rf_onnx_text *out)
{
    rf_status st = want_wire(r, f, BYTES, what);
    if (st != RF_OK)
        return st;
    for (size_t i = 0; i < f->len; i++)
        if (f->data[i] < 0x20 || f->data[i] == 0x7f)
            return rf_fail(r->err, RF_ERR_FORMAT, f->pos,
                           "%s: byte %zu: %s holds a control byte", r->name, f->pos,
                           what);
    *out = (rf_onnx_text){(const char *)f->data, f->len};
    return RF_OK;
}

static float fixed32_float(const unsigned char *p)
{
    uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                    (uint32_t)p[3] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- TensorProto ------------------------------------------------------------------- */

enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INTEGERS = 5,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
};

/* Size of an element of raw_data; 0: not whole bytes, or no raw_data allowed. */
static const struct {
    const char *name;
    size_t size;
} types[] = {
    {"UNDEFINED", 0},      {"FLOAT", 4},        {"UINT8", 1},          {"INT8", 1},
    {"UINT16", 2},         {"INT16", 2},        {"INT32", 4},          {"INT64", 8},
    {"STRING", 0},         {"BOOL", 1},         {"FLOAT16", 2},        {"DOUBLE", 8},
    {"UINT32", 4},         {"UINT64", 8},       {"COMPLEX64", 8},      {"COMPLEX128", 16},
    {"BFLOAT16", 2},       {"FLOAT8E4M3FN", 1}, {"FLOAT8E4M3FNUZ", 1}, {"FLOAT8E5M2", 1},
    {"FLOAT8E5M2FNUZ", 1}, {"UINT4", 0},        {"INT4", 0},           {"FLOAT4E2M1", 0},
};
#define N_TYPES (sizeof types / sizeof types[0])

const char *rf_onnx_type_name(uint32_t type)
{
    return type < N_TYPES ? types[type].name : "of an unknown type";
}

/* The content of a message, before its parts are checked against each other. */
typedef struct draft {
    rf_onnx_tensor t;
    uint32_t seen; /* singular fields, as bits */
    bool external; /* data in another file */
    size_t raw_len;
    size_t n_floats; /* in float_data */
} draft;

static rf_status take_dim(const reader *r, draft *d, size_t pos, uint64_t value)
{
    rf_onnx_tensor *t = &d->t;
    if (t->rank == RF_TENSOR_MAX_RANK)
        return rf_fail(r->err, RF_ERR_LIMIT, pos,
                       "%s: byte %zu: an initialiser with more than %d dimensions",
                       r->name, pos, RF_TENSOR_MAX_RANK);
    if (value > INT64_MAX || value > SIZE_MAX)
        return bad(r, pos, "an initialiser with a negative dimension");
    t->shape[t->rank++] = (size_t)value;
    if (!rf_size_mul(t->count, (size_t)value, &t->count))
        return bad(r, pos, "an initialiser with more elements than memory could hold");
    return RF_OK;
}

/* One dimension, or several packed into one field. */
static rf_status take_dims(const reader *r, draft *d, const field *f)
{
    if (f->wire == VARINT)
        return take_dim(r, d, f->pos, f->value);
    rf_status st = want_wire(r, f, BYTES, "dims of an initialiser");
    reader in = inside(r, f);
    while (st == RF_OK && more(&in)) {
        uint64_t value;
        if ((st = take_varint(&in, &value)) == RF_OK)
            st = take_dim(r, d, f->pos, value);
    }
    return st;
}

static rf_status take_type(const reader *r, draft *d, const field *f)
{
    rf_status st;
    if ((st = want_wire(r, f, VARINT, "data_type of an initialiser")) != RF_OK ||
        (st = want_once(r, f, &d->seen, "data_type of an initialiser")) != RF_OK)
        return st;
    if (f->value > INT32_MAX)
        return bad(r, f->pos, "data_type of an initialiser out of range");
    d->t.type = (uint32_t)f->value;
    return RF_OK;
}

/* One float, or several packed into one field. */
static rf_status take_floats(const reader *r, draft *d, const field *f)
{
    if (f->wire == FIXED32) {
        d->n_floats++; /* cannot overflow: each has its bytes in the file */
        return RF_OK;
    }
    rf_status st = want_wire(r, f, BYTES, "float_data of an initialiser");
    if (st == RF_OK && f->len % 4 != 0)
        st = bad(r, f->pos, "float_data of an initialiser is not whole floats");
    d->n_floats += f->len / 4;
    return st;
}

static rf_status take_raw(const reader *r, draft *d, const field *f)
{
    rf_status st;
    if ((st = want_wire(r, f, BYTES, "raw_data of an initialiser")) != RF_OK ||
        (st = want_once(r, f, &d->seen, "raw_data of an initialiser")) != RF_OK)
        return st;
    d->t.raw = f->data;
    d->raw_len = f->len;
    return RF_OK;
}

static rf_status take_location(const reader *r, draft *d, const field *f)
{
    rf_status st;
    if ((st = want_wire(r, f, VARINT, "data_location of an initialiser")) != RF_OK ||
        (st = want_once(r, f, &d->seen, "data_location of an initialiser")) != RF_OK)
        return st;
    d->external = d->external || f->value != 0;
    return RF_OK;
}

static rf_status take_tensor_field(const reader *r, draft *d, const field *f)
{
    rf_status st;
    switch (f->number) {
    case TENSOR_DIMS: return take_dims(r, d, f);
    case TENSOR_TYPE: return take_type(r, d, f);
    case TENSOR_FLOATS: return take_floats(r, d, f);
    case TENSOR_NAME:
        st = want_once(r, f, &d->seen, "name of an initialiser");
        return st == RF_OK ? take_text(r, f, "name of an initialiser", &d->t.name) : st;
    case TENSOR_RAW: return take_raw(r, d, f);
    case TENSOR_EXTERNAL:
        d->external = true;
        return want_wire(r, f, BYTES, "external_data of an initialiser");
    case TENSOR_LOCATION: return take_location(r, d, f);
    default: return RF_OK;
    }
}

static rf_status wrong_size(const reader *r, const rf_onnx_tensor *t, const char *where,
                            size_t found, const char *unit)
{
    char shape[160];
    return rf_fail(r->err, RF_ERR_FORMAT, t->offset,
                   "%s: initialiser \"%.*s\": %s of %zu %s found, wanted those of %s %s",
                   r->name, rf_onnx_shown(t->name), t->name.at, where, found, unit,
                   rf_onnx_type_name(t->type), rf_shape_text(shape, t->shape, t->rank));
}

static rf_status check_data(const reader *r, const draft *d)
{
    const rf_onnx_tensor *t = &d->t;
    size_t size = t->type < N_TYPES ? types[t->type].size : 0, bytes;
    if (t->raw && d->n_floats > 0)
        return rf_fail(
            r->err, RF_ERR_FORMAT, t->offset,
            "%s: initialiser \"%.*s\": both raw_data and float_data, wanted one", r->name,
            rf_onnx_shown(t->name), t->name.at);
    if (t->raw && size > 0 &&
        (!rf_size_mul(t->count, size, &bytes) || bytes != d->raw_len))
        return wrong_size(r, t, "raw_data", d->raw_len, "bytes");
    if (!t->raw && t->type == RF_ONNX_FLOAT && d->n_floats != t->count)
        return wrong_size(r, t, "float_data", d->n_floats, "elements");
    return RF_OK;
}

static rf_status take_tensor(const reader *r, const field *f, rf_onnx_tensor *out)
{
    draft d = {.t = {.name = {"", 0},
                     .count = 1,
                     .message = f->data,
                     .message_len = f->len,
                     .offset = f->pos}};
    reader in = inside(r, f);
    field part;
    while (more(&in)) {
        rf_status st = take_field(&in, &part);
        if (st == RF_OK)
            st = take_tensor_field(&in, &d, &part);
        if (st != RF_OK)
            return st;
    }
    if (d.t.name.len == 0)
        return bad(r, f->pos, "an initialiser without a name");
    if (d.external)
        return rf_fail(r->err, RF_ERR_VERSION, f->pos,
                       "%s: initialiser \"%.*s\" has its data in another file "
                       "(external_data), wanted an export with all weights in one file",
                       r->name, rf_onnx_shown(d.t.name), d.t.name.at);
    *out = d.t;
    return check_data(r, &d);
}

/* ---- NodeProto --------------------------------------------------------------------- */

enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INT = 3 };

/* The attributes that decide what Gemm computes; all others are skipped. */
static rf_status take_attribute(const reader *r, const field *f, rf_onnx_node *n)
{
    rf_onnx_text name = {"", 0};
    float real = 0.0f;
    uint64_t integer = 0;
    reader in = inside(r, f);
    field part;
    while (more(&in)) {
        rf_status st = take_field(&in, &part);
        if (st == RF_OK && part.number == ATTRIBUTE_NAME)
            st = take_text(r, &part, "name of an attribute", &name);
        else if (st == RF_OK && part.number == ATTRIBUTE_FLOAT &&
                 (st = want_wire(r, &part, FIXED32, "f of an attribute")) == RF_OK)
            real = fixed32_float(part.data);
        else if (st == RF_OK && part.number == ATTRIBUTE_INT &&
                 (st = want_wire(r, &part, VARINT, "i of an attribute")) == RF_OK)
            integer = part.value;
        if (st != RF_OK)
            return st;
    }
    if (rf_onnx_same(name, rf_onnx_name("transB")))
        n->trans_b = integer != 0;
    else if (rf_onnx_same(name, rf_onnx_name("transA")))
        n->altered = n->altered || integer != 0;
    else if (rf_onnx_same(name, rf_onnx_name("alpha")) ||
             rf_onnx_same(name, rf_onnx_name("beta")))
        n->altered = n->altered || !(real == 1.0f);
    return RF_OK;
}

static rf_status take_node_field(const reader *r, const field *f, uint32_t *seen,
                                 rf_onnx_node *n)
{
    rf_onnx_text text;
    rf_status st;
    switch (f->number) {
    case NODE_INPUT:
        st = take_text(r, f, "input of a node", &text);
        if (st == RF_OK && n->n_inputs < RF_ONNX_INPUTS)
            n->inputs[n->n_inputs] = text;
        n->n_inputs++;
        return st;
    case NODE_OUTPUT:
        st = take_text(r, f, "output of a node", &text);
        if (st == RF_OK && !(*seen & 1u << NODE_OUTPUT))
            n->output = text;
        *seen |= 1u << NODE_OUTPUT;
        return st;
    case NODE_NAME:
        st = want_once(r, f, seen, "name of a node");
        return st == RF_OK ? take_text(r, f, "name of a node", &n->name) : st;
    case NODE_OP:
        st = want_once(r, f, seen, "op_type of a node");
        return st == RF_OK ? take_text(r, f, "op_type of a node", &n->op) : st;
    case NODE_ATTRIBUTE:
        st = want_wire(r, f, BYTES, "attribute of a node");
        return st == RF_OK ? take_attribute(r, f, n) : st;
    default: return RF_OK;
    }
}

static rf_status take_node(const reader *r, const field *f, rf_onnx_node *out)
{
    const rf_onnx_text none = {"", 0};
    *out = (rf_onnx_node){.name = none, .op = none, .output = none};
    for (size_t i = 0; i < RF_ONNX_INPUTS; i++)
        out->inputs[i] = none;
    reader in = inside(r, f);
    field part;
    uint32_t seen = 0;
    while (more(&in)) {
        rf_status st = take_field(&in, &part);
        if (st == RF_OK)
            st = take_node_field(&in, &part, &seen, out);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

/* ---- GraphProto and ModelProto ----------------------------------------------------- */

enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5 };

static rf_status count_graph(reader r, size_t *n_tensors, size_t *n_nodes)
{
    field f;
    while (more(&r)) {
        rf_status st = take_field(&r, &f);
        if (st == RF_OK && f.number == GRAPH_NODE) {
            st = want_wire(&r, &f, BYTES, "node of the graph");
            ++*n_nodes;
        } else if (st == RF_OK && f.number == GRAPH_INITIALIZER) {
            st = want_wire(&r, &f, BYTES, "initializer of the graph");
            ++*n_tensors;
        }
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

static rf_status make_room(rf_onnx *o, size_t n_tensors, size_t n_nodes, rf_error *err)
{
    if (n_tensors > RF_ONNX_MAX_TENSORS || n_nodes > RF_ONNX_MAX_NODES)
        return rf_fail(err, RF_ERR_LIMIT, 0,
                       "%s: %zu initialisers and %zu nodes, wanted at most %d and %d",
                       o->name, n_tensors, n_nodes, RF_ONNX_MAX_TENSORS,
                       RF_ONNX_MAX_NODES);
    o->tensors = calloc(n_tensors ? n_tensors : 1, sizeof *o->tensors);
    o->nodes = calloc(n_nodes ? n_nodes : 1, sizeof *o->nodes);
    if (!o->tensors || !o->nodes)
        return rf_fail_nomem(
            err, n_tensors * sizeof *o->tensors + n_nodes * sizeof *o->nodes, o->name);
    return RF_OK;
}

static rf_status fill_graph(rf_onnx *o, reader r)
{
    field f;
    while (more(&r)) {
        rf_status st = take_field(&r, &f);
        if (st == RF_OK && f.number == GRAPH_NODE)
            st = take_node(&r, &f, &o->nodes[o->n_nodes++]);
        else if (st == RF_OK && f.number == GRAPH_INITIALIZER)
            st = take_tensor(&r, &f, &o->tensors[o->n_tensors++]);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

static int compare_text(rf_onnx_text a, rf_onnx_text b)
{
    int c = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);
    return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b)
{
    const rf_onnx_tensor *x = a, *y = b;
    return compare_text(x->name, y->name);
}

static rf_status sort_tensors(rf_onnx *o, rf_error *err)
{
    qsort(o->tensors, o->n_tensors, sizeof *o->tensors, by_name);
    for (size_t i = 1; i < o->n_tensors; i++) {
        const rf_onnx_tensor *t = &o->tensors[i];
        if (rf_onnx_same(t[-1].name, t->name))
            return rf_fail(err, RF_ERR_FORMAT, t->offset,
                           "%s: two initialisers are named \"%.*s\", wanted one", o->name,
                           rf_onnx_shown(t->name), t->name.at);
    }
    return RF_OK;
}

static rf_status take_graph(rf_onnx *o, const reader *r, const field *f)
{
    size_t n_tensors = 0, n_nodes = 0;
    rf_status st;
    if ((st = want_wire(r, f, BYTES, "graph of the model")) != RF_OK ||
        (st = count_graph(inside(r, f), &n_tensors, &n_nodes)) != RF_OK ||
        (st = make_room(o, n_tensors, n_nodes, r->err)) != RF_OK ||
        (st = fill_graph(o, inside(r, f))) != RF_OK)
        return st;
    return sort_tensors(o, r->err);
}

/* Common mistakes: a clone without git-lfs, or a web page. */
static rf_status check_start(const rf_onnx *o, const unsigned char *bytes, size_t len,
                             rf_error *err)
{
    static const char lfs[] = "version https://git-lfs";
    if (len == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: empty, wanted an ONNX file", o->name);
    if (len >= sizeof lfs - 1 && memcmp(bytes, lfs, sizeof lfs - 1) == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: a Git LFS pointer, wanted the ONNX file that it refers to",
                       o->name);
    return RF_OK;
}

static rf_status parse(rf_onnx *o, const unsigned char *bytes, size_t len, rf_error *err)
{
    rf_status st = check_start(o, bytes, len, err);
    if (st != RF_OK)
        return st;
    reader r = {bytes, bytes + len, bytes, o->name, err};
    field f;
    uint32_t seen = 0;
    o->len = len;
    while (more(&r)) {
        st = take_field(&r, &f);
        if (st == RF_OK && f.number == MODEL_GRAPH &&
            (st = want_once(&r, &f, &seen, "graph of the model")) == RF_OK)
            st = take_graph(o, &r, &f);
        if (st != RF_OK)
            return st;
    }
    if (!seen)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: no graph in it: cut off, or not an ONNX file", o->name);
    return RF_OK;
}

rf_status rf_onnx_parse(rf_onnx *o, const unsigned char *bytes, size_t len,
                        const char *name, rf_error *err)
{
    *o = (rf_onnx){0};
    snprintf(o->name, sizeof o->name, "%s", name);
    rf_status st = parse(o, bytes, len, err);
    if (st != RF_OK)
        rf_onnx_close(o);
    return st;
}

rf_status rf_onnx_open(rf_onnx *o, const char *path, rf_error *err)
{
    *o = (rf_onnx){0};
    snprintf(o->name, sizeof o->name, "%s", path);
    rf_status st = rf_mapping_open(&o->mapping, path, err);
    if (st == RF_OK)
        st = parse(o, o->mapping.data, o->mapping.len, err);
    if (st != RF_OK)
        rf_onnx_close(o);
    return st;
}

void rf_onnx_close(rf_onnx *o)
{
    free(o->tensors);
    free(o->nodes);
    rf_mapping_close(&o->mapping);
    o->tensors = NULL;
    o->nodes = NULL;
    o->n_tensors = o->n_nodes = 0;
}

/* ---- Reading ----------------------------------------------------------------------- */

const rf_onnx_tensor *rf_onnx_find(const rf_onnx *o, rf_onnx_text name)
{
    const rf_onnx_tensor key = {.name = name};
    return bsearch(&key, o->tensors, o->n_tensors, sizeof *o->tensors, by_name);
}

/* Walks the message again: float_data may come in any number of pieces. */
static void read_pieces(const rf_onnx *o, const rf_onnx_tensor *t, float *out)
{
    reader r = {t->message, t->message + t->message_len, t->message, o->name, NULL};
    field f;
    size_t n = 0;
    while (more(&r) && take_field(&r, &f) == RF_OK)
        if (f.number == TENSOR_FLOATS)
            for (size_t i = 0; i + 4 <= f.len && n < t->count; i += 4)
                out[n++] = fixed32_float(f.data + i);
}

/* Widened from an aligned copy, as the kernel wants its input aligned. */
static void read_halves(const rf_onnx_tensor *t, float *out)
{
    uint16_t halves[512];
    for (size_t i = 0; i < t->count;) {
        size_t n = t->count - i < 512 ? t->count - i : 512;
        memcpy(halves, t->raw + 2 * i, 2 * n);
        rf_kernels()->widen_f16(out + i, halves, n);
        i += n;
    }
}

rf_status rf_onnx_read(const rf_onnx *o, const rf_onnx_tensor *t, float *out,
                       rf_error *err)
{
    if (t->type == RF_ONNX_FLOAT && !t->raw) {
        read_pieces(o, t, out);
    } else if (t->type == RF_ONNX_FLOAT) {
        if (t->count > 0)
            memcpy(out, t->raw, t->count * sizeof(float));
    } else if (t->type == RF_ONNX_FLOAT16 && t->raw) {
        read_halves(t, out);
    } else {
        return rf_fail(err, RF_ERR_VERSION, t->offset,
                       "%s: initialiser \"%.*s\" is %s%s, wanted FLOAT, or FLOAT16 in "
                       "raw_data",
                       o->name, rf_onnx_shown(t->name), t->name.at,
                       rf_onnx_type_name(t->type), t->raw ? "" : " outside raw_data");
    }
    return RF_OK;
}

/* int32_data holds small integers too: a field of its own, or packed. */
bool rf_onnx_small_integer(const rf_onnx *o, const rf_onnx_tensor *t, int *value)
{
    reader r = {t->message, t->message + t->message_len, t->message, o->name, NULL};
    field f;
    uint64_t number = 0;
    bool found = false;
    if ((t->type != RF_ONNX_UINT8 && t->type != RF_ONNX_INT8) || t->count != 1)
        return false;
    if (t->raw) {
        number = *t->raw;
        found = true;
    }
    while (!found && more(&r) && take_field(&r, &f) == RF_OK) {
        if (f.number != TENSOR_INTEGERS)
            continue;
        reader in = inside(&r, &f);
        number = f.value;
        found = f.wire == VARINT ||
                (f.wire == BYTES && more(&in) && take_varint(&in, &number) == RF_OK);
    }
    *value = t->type == RF_ONNX_INT8 ? (int8_t)number : (uint8_t)number;
    return found;
}
