/*
 * onnx_import.c - from a BERT ONNX export to a directory that rf_encoder_load reads
 *
 * An exporter keeps the names of embeddings, biases and LayerNorms. It renames and
 * transposes the weights of dense layers, since the graph multiplies x W with W [in, out]
 * where PyTorch keeps [out, in]:
 *
 *   x --> MatMul --> Add --> y        "encoder.layer.0.output.dense.bias": bias, by name
 *           ^         ^
 *   "onnx::MatMul_799" bias           the weight: second input of the MatMul
 *
 * So a dense weight is found by its bias, or by the name of its node where the addition
 * was fused into another operator, and its orientation follows from how it is used: the
 * shape of a square matrix does not show it.
 *
 * An 8-bit export has the same products on integers, with the weights as bytes: "X" is
 * "X_quantized" with "X_scale" and "X_zero_point", and
 *
 *   x --> DynamicQuantizeLinear --> MatMulInteger --> Cast --> Mul --> Add --> y
 *
 * The bytes are kept (weights.h). What it also does, rounding x to 8 bits, is left out.
 *
 * Everything is read and checked before the first byte is written.
 */
#include "base/memory.h"
#include "encoder/config.h"
#include "encoder/onnx.h"
#include "num/kernels.h"
#include "text/vocab.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_COPY ((size_t)256 << 20) /* bytes of config.json or a tokenizer file */
#define MAX_PREFIX 256               /* bytes of the prefix before "embeddings." */
#define MAX_NAME 128                 /* bytes of a tensor name, prefix not counted */
#define QUANTISED "_quantized"       /* ends the names of bytes that stand for weights */

typedef struct weight {
    char name[MAX_NAME]; /* as Hugging Face calls it, without prefix */
    bool dense;
    size_t rank;
    size_t shape[2]; /* [out, in] for a dense one */
    const rf_onnx_tensor *from;
    bool in_out;        /* from is [in, out] */
    bool bytes;         /* from is UINT8 or INT8 */
    float quantised[2]; /* then: scale and zero */
} weight;

typedef struct importer {
    rf_onnx file;
    rf_config config;
    char places[2][RF_PATH_MAX]; /* beside the file, and one directory up */
    const char *config_dir, *tokenizer_dir;
    bool copy_vocab, copy_tokenizer, copy_tokenizer_config;
    rf_onnx_text prefix; /* of names in the file: "", "bert." */
    weight *weights;
    size_t n_weights;
    size_t total; /* floats */
    float *block; /* all weights, one after the other */
    size_t total_bytes;
    unsigned char *bytes_block; /* those that stay bytes */
    rf_error *err;
} importer;

static void importer_release(importer *im)
{
    rf_onnx_close(&im->file);
    free(im->weights);
    free(im->block);
    free(im->bytes_block);
    im->weights = NULL;
    im->block = NULL;
    im->bytes_block = NULL;
}

/* ---- config.json and the tokenizer ------------------------------------------------- */

static bool has(const char *dir, const char *name)
{
    char path[RF_PATH_MAX];
    return rf_path_join(path, dir, name, NULL) == RF_OK && rf_file_exists(path);
}

static rf_status find_places(importer *im, const char *onnx_file)
{
    const char *slash = strrchr(onnx_file, '/');
    size_t len = slash ? (size_t)(slash - onnx_file) : 0;
    if (len >= RF_PATH_MAX)
        return rf_fail(im->err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %d bytes",
                       onnx_file, RF_PATH_MAX - 1);
    if (!slash)
        snprintf(im->places[0], RF_PATH_MAX, ".");
    else if (len == 0)
        snprintf(im->places[0], RF_PATH_MAX, "/");
    else
        snprintf(im->places[0], RF_PATH_MAX, "%.*s", (int)len, onnx_file);
    return rf_path_join(im->places[1], im->places[0], "..", im->err);
}

static rf_status read_config(importer *im)
{
    for (size_t i = 0; i < 2 && !im->config_dir; i++)
        if (has(im->places[i], "config.json"))
            im->config_dir = im->places[i];
    if (!im->config_dir)
        return rf_fail(im->err, RF_ERR_MISSING, 0,
                       "%s: found no config.json beside it nor one directory up",
                       im->file.name);
    return rf_config_load(&im->config, im->config_dir, im->err);
}

static bool same_vocab(const rf_vocab *a, const rf_vocab *b)
{
    if (a->size != b->size || strcmp(a->prefix, b->prefix) != 0 ||
        a->max_word_chars != b->max_word_chars || a->clean_text != b->clean_text ||
        a->space_cjk != b->space_cjk || a->fold.lowercase != b->fold.lowercase ||
        a->fold.strip_accents != b->fold.strip_accents || a->unk != b->unk ||
        a->cls != b->cls || a->sep != b->sep)
        return false;
    for (size_t i = 0; i < a->size; i++) {
        const char *x = rf_vocab_piece(a, (int32_t)i, NULL);
        const char *y = rf_vocab_piece(b, (int32_t)i, NULL);
        if (!x != !y || (x && strcmp(x, y) != 0))
            return false;
    }
    return true;
}

/* Whether vocab.txt and tokenizer_config.json of a directory are equivalent to `vocab`,
 * read from its tokenizer.json. A failure means no: tokenizer.json can be used. */
static bool text_agrees(const char *dir, const rf_vocab *vocab)
{
    char path[RF_PATH_MAX], config_path[RF_PATH_MAX];
    rf_buffer text, config;
    bool same = false;
    rf_buffer_init(&text, MAX_COPY, "vocab.txt");
    rf_buffer_init(&config, MAX_COPY, "tokenizer_config.json");
    if (rf_path_join(path, dir, "vocab.txt", NULL) == RF_OK &&
        rf_path_join(config_path, dir, "tokenizer_config.json", NULL) == RF_OK &&
        rf_file_read(path, &text, NULL) == RF_OK &&
        rf_file_read(config_path, &config, NULL) == RF_OK) {
        rf_vocab *v = rf_vocab_from_text(text.data, text.len, path, config.data,
                                         config.len, config_path, NULL);
        same = v && same_vocab(v, vocab);
        rf_vocab_free(v);
    }
    rf_buffer_release(&config);
    rf_buffer_release(&text);
    return same;
}

/* Usually both forms of a tokenizer are present. vocab.txt loads faster, so it is taken
 * if it is the only one, or equivalent to tokenizer.json. */
static rf_status choose_tokenizer(importer *im)
{
    for (size_t i = 0; i < 2 && !im->tokenizer_dir; i++)
        if (has(im->places[i], "tokenizer.json") || has(im->places[i], "vocab.txt"))
            im->tokenizer_dir = im->places[i];
    const char *dir = im->tokenizer_dir;
    if (!dir)
        return rf_fail(im->err, RF_ERR_MISSING, 0,
                       "%s: found neither tokenizer.json nor vocab.txt beside it nor one "
                       "directory up",
                       im->file.name);
    rf_vocab *vocab = rf_vocab_load(dir, im->err);
    if (!vocab)
        return im->err->code;
    rf_status st = RF_OK;
    if (rf_vocab_size(vocab) > im->config.vocab_size)
        st = rf_fail(im->err, RF_ERR_FORMAT, 0,
                     "%s: the tokenizer has %zu pieces, config.json a vocab_size of %zu",
                     dir, rf_vocab_size(vocab), im->config.vocab_size);
    im->copy_tokenizer_config = has(dir, "tokenizer_config.json");
    im->copy_vocab =
        has(dir, "vocab.txt") && (!has(dir, "tokenizer.json") ||
                                  (im->copy_tokenizer_config && text_agrees(dir, vocab)));
    im->copy_tokenizer = !im->copy_vocab;
    rf_vocab_free(vocab);
    return st;
}

/* ---- What kind of export it is ----------------------------------------------------- */

/* The first node with one of these operators, NULL if there is none. */
static const rf_onnx_node *node_with(const rf_onnx *o, const char *const *ops)
{
    for (size_t i = 0; i < o->n_nodes; i++)
        for (const char *const *op = ops; *op; op++)
            if (rf_onnx_same(o->nodes[i].op, rf_onnx_name(*op)))
                return &o->nodes[i];
    return NULL;
}

static rf_status refuse_quantized(const importer *im)
{
    static const char *const ops[] = {"QLinearMatMul",        "QuantizeLinear",
                                      "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
                                      "QAttention",           "QGemm",
                                      "MatMulNBits",          "MatMulBnb4",
                                      "GatherBlockQuantized", NULL};
    const rf_onnx_node *node = node_with(&im->file, ops);
    if (!node)
        return RF_OK;
    return rf_fail(
        im->err, RF_ERR_VERSION, 0,
        "%s: a quantized export (it has operator %.*s), wanted the fp32 export, "
        "usually called model.onnx, or one with MatMulInteger",
        im->file.name, rf_onnx_shown(node->op), node->op.at);
}

static bool ends_with(rf_onnx_text text, const char *ending)
{
    size_t n = strlen(ending);
    return text.len >= n && memcmp(text.at + text.len - n, ending, n) == 0;
}

/* The prefix of "embeddings.word_embeddings.weight": none, or the modules wrapped around
 * the encoder. */
static rf_status find_prefix(importer *im)
{
    static const char anchor[] = "embeddings.word_embeddings.weight";
    size_t n = 0;
    for (size_t i = 0; i < im->file.n_tensors; i++) {
        rf_onnx_text name = im->file.tensors[i].name;
        if (ends_with(name, QUANTISED))
            name.len -= sizeof QUANTISED - 1;
        if (!ends_with(name, anchor))
            continue;
        rf_onnx_text before = {name.at, name.len - (sizeof anchor - 1)};
        if (before.len > MAX_PREFIX ||
            (before.len > 0 && before.at[before.len - 1] != '.'))
            continue;
        im->prefix = before;
        n++;
    }
    if (n == 1)
        return RF_OK;
    return rf_fail(
        im->err, n > 1 ? RF_ERR_VERSION : RF_ERR_FORMAT, 0,
        "%s: looked for one initialiser \"%s\", with or without a prefix such "
        "as \"bert.\", and found %zu among %zu: not an export of one BERT encoder",
        im->file.name, anchor, n, im->file.n_tensors);
}

/* ---- The weights of BERT ----------------------------------------------------------- */

static void add_weight(importer *im, bool dense, const char *at, const char *ending,
                       size_t rank, size_t n0, size_t n1)
{
    weight *w = &im->weights[im->n_weights++];
    *w = (weight){.dense = dense, .rank = rank, .shape = {n0, n1}};
    snprintf(w->name, sizeof w->name, "%s.%s", at, ending);
}

static void add_dense(importer *im, const char *at, const char *part, size_t out,
                      size_t in)
{
    char name[MAX_NAME - 8];
    snprintf(name, sizeof name, "%s.%s", at, part);
    add_weight(im, true, name, "weight", 2, out, in);
    add_weight(im, false, name, "bias", 1, out, 0);
}

static void add_norm(importer *im, const char *at, const char *part)
{
    char name[MAX_NAME - 8];
    snprintf(name, sizeof name, "%s.%s", at, part);
    add_weight(im, false, name, "weight", 1, im->config.width, 0);
    add_weight(im, false, name, "bias", 1, im->config.width, 0);
}

/* All names and shapes, in the order in which Hugging Face lists them. */
static rf_status list_weights(importer *im)
{
    const rf_config *c = &im->config;
    size_t n = 5 + 16 * c->layers; /* config.h: at most 256 layers */
    im->weights = calloc(n, sizeof *im->weights);
    if (!im->weights)
        return rf_fail_nomem(im->err, n * sizeof *im->weights, "names of weights");
    const char *e = "embeddings";
    add_weight(im, false, e, "word_embeddings.weight", 2, c->vocab_size, c->width);
    add_weight(im, false, e, "position_embeddings.weight", 2, c->positions, c->width);
    add_weight(im, false, e, "token_type_embeddings.weight", 2, c->types, c->width);
    add_norm(im, e, "LayerNorm");
    for (size_t i = 0; i < c->layers; i++) {
        char at[64];
        snprintf(at, sizeof at, "encoder.layer.%zu", i);
        add_dense(im, at, "attention.self.query", c->width, c->width);
        add_dense(im, at, "attention.self.key", c->width, c->width);
        add_dense(im, at, "attention.self.value", c->width, c->width);
        add_dense(im, at, "attention.output.dense", c->width, c->width);
        add_norm(im, at, "attention.output.LayerNorm");
        add_dense(im, at, "intermediate.dense", c->inner, c->width);
        add_dense(im, at, "output.dense", c->width, c->inner);
        add_norm(im, at, "output.LayerNorm");
    }
    return RF_OK;
}

/* ---- Finding them in the graph ----------------------------------------------------- */

static bool is_op(const rf_onnx_node *n, const char *op)
{
    return rf_onnx_same(n->op, rf_onnx_name(op));
}

static const rf_onnx_node *producer(const rf_onnx *o, rf_onnx_text value)
{
    for (size_t i = 0; i < o->n_nodes && value.len > 0; i++)
        if (rf_onnx_same(o->nodes[i].output, value))
            return &o->nodes[i];
    return NULL;
}

/* The initialiser behind a value. Exporters write equal weights once and reach the others
 * through Identity; *transposed flips at each Transpose on the way. */
static const rf_onnx_tensor *behind(const rf_onnx *o, rf_onnx_text value,
                                    bool *transposed)
{
    for (int hops = 0; hops < 4; hops++) {
        const rf_onnx_tensor *t = rf_onnx_find(o, value);
        if (t)
            return t;
        const rf_onnx_node *n = producer(o, value);
        if (!n || !(is_op(n, "Identity") || is_op(n, "Cast") || is_op(n, "Transpose")))
            return NULL;
        *transposed ^= is_op(n, "Transpose");
        value = n->inputs[0];
    }
    return NULL;
}

static bool is_product(const rf_onnx_node *n)
{
    return is_op(n, "MatMul") || is_op(n, "MatMulInteger");
}

/* The integer product behind Mul(Cast(product), scale); any other node itself. */
static const rf_onnx_node *unscaled(const rf_onnx *o, const rf_onnx_node *n)
{
    const rf_onnx_node *cast = n && is_op(n, "Mul") ? producer(o, n->inputs[0]) : NULL;
    const rf_onnx_node *p =
        cast && is_op(cast, "Cast") ? producer(o, cast->inputs[0]) : NULL;
    return p && is_op(p, "MatMulInteger") ? p : n;
}

/* The product to which a bias is added. */
static const rf_onnx_node *product_by_bias(const rf_onnx *o, rf_onnx_text bias)
{
    for (size_t i = 0; i < o->n_nodes; i++) {
        const rf_onnx_node *n = &o->nodes[i];
        if (is_op(n, "Gemm") && rf_onnx_same(n->inputs[2], bias))
            return n;
        if (!is_op(n, "Add"))
            continue;
        bool first = rf_onnx_same(n->inputs[0], bias);
        if (!first && !rf_onnx_same(n->inputs[1], bias))
            continue;
        const rf_onnx_node *p = unscaled(o, producer(o, n->inputs[first ? 1 : 0]));
        if (p && is_product(p))
            return p;
    }
    return NULL;
}

/* "encoder.layer.0.output.dense" -> "/encoder/layer.0/output/dense/MatMul" */
static void node_name(char out[MAX_NAME + 16], const char *module, const char *op)
{
    snprintf(out, MAX_NAME + 16, "/%s/%s", module, op);
    for (char *p = out; *p; p++)
        if (*p == '.' && !(p[1] >= '0' && p[1] <= '9'))
            *p = '/';
}

static const rf_onnx_node *product_by_name(const rf_onnx *o, const char *module)
{
    static const char *const ops[] = {"MatMul", "Gemm", "MatMulInteger"};
    static const char *const names[] = {"MatMul", "Gemm", "MatMul_quant"};
    for (size_t k = 0; k < 3; k++) {
        char name[MAX_NAME + 16];
        node_name(name, module, names[k]);
        for (size_t i = 0; i < o->n_nodes; i++)
            if (is_op(&o->nodes[i], ops[k]) && ends_with(o->nodes[i].name, name))
                return &o->nodes[i];
    }
    return NULL;
}

static bool enters_matmul(const rf_onnx *o, rf_onnx_text value)
{
    for (size_t i = 0; i < o->n_nodes; i++)
        if (is_op(&o->nodes[i], "MatMul") && rf_onnx_same(o->nodes[i].inputs[1], value))
            return true;
    return false;
}

static rf_status no_dense(const importer *im, const char *module)
{
    static const char *const fused[] = {"Attention", "MultiHeadAttention", "BiasGelu",
                                        "SkipLayerNormalization", NULL};
    const rf_onnx_node *node = node_with(&im->file, fused);
    char name[MAX_NAME + 16];
    node_name(name, module, "MatMul");
    return rf_fail(
        im->err, node ? RF_ERR_VERSION : RF_ERR_FORMAT, 0,
        "%s: the weight of \"%s\" is missing: looked for initialiser "
        "\"%.*s%s.weight\", for the MatMul or Gemm to which its bias is added, "
        "and for node \"%s\"%s%.*s%s",
        im->file.name, module, (int)im->prefix.len, im->prefix.at, module, name,
        node ? "; operator " : "", node ? rf_onnx_shown(node->op) : 0,
        node ? node->op.at : "",
        node ? " says that the graph was optimised, wanted it plain" : "");
}

static rf_status find_dense(const importer *im, weight *w)
{
    char module[MAX_NAME], full[MAX_PREFIX + MAX_NAME + 8];
    const rf_onnx *o = &im->file;
    snprintf(module, sizeof module, "%s", w->name);
    module[strlen(module) - strlen(".weight")] = '\0';

    snprintf(full, sizeof full, "%.*s%s.bias", (int)im->prefix.len, im->prefix.at,
             module);
    const rf_onnx_node *product = product_by_bias(o, rf_onnx_name(full));
    if (!product)
        product = product_by_name(o, module);
    if (product && product->altered)
        return rf_fail(im->err, RF_ERR_VERSION, 0,
                       "%s: Gemm node \"%.*s\" has transA, alpha or beta, wanted a plain "
                       "product",
                       o->name, rf_onnx_shown(product->name), product->name.at);
    if (product) {
        bool transposed = is_op(product, "Gemm") && product->trans_b;
        w->from = behind(o, product->inputs[1], &transposed);
        w->in_out = !transposed;
    }
    if (!w->from) { /* by its own name, as PyTorch keeps it unless it is used otherwise */
        snprintf(full, sizeof full, "%.*s%s", (int)im->prefix.len, im->prefix.at,
                 w->name);
        w->from = rf_onnx_find(o, rf_onnx_name(full));
        w->in_out = enters_matmul(o, rf_onnx_name(full));
    }
    return w->from ? RF_OK : no_dense(im, module);
}

static rf_status find_named(const importer *im, weight *w)
{
    char full[MAX_PREFIX + MAX_NAME + sizeof QUANTISED], shape[160];
    bool transposed = false;
    snprintf(full, sizeof full, "%.*s%s", (int)im->prefix.len, im->prefix.at, w->name);
    w->from = behind(&im->file, rf_onnx_name(full), &transposed);
    if (w->from && !transposed)
        return RF_OK;
    snprintf(full, sizeof full, "%.*s%s" QUANTISED, (int)im->prefix.len, im->prefix.at,
             w->name);
    if ((w->from = rf_onnx_find(&im->file, rf_onnx_name(full))))
        return RF_OK;
    full[strlen(full) - (sizeof QUANTISED - 1)] = '\0';
    return rf_fail(im->err, RF_ERR_FORMAT, 0,
                   "%s: initialiser \"%s\" is missing, wanted %s", im->file.name, full,
                   rf_shape_text(shape, w->shape, w->rank));
}

static rf_status check_shape(const importer *im, const weight *w)
{
    const rf_onnx_tensor *t = w->from;
    const size_t transposed[2] = {w->shape[1], w->shape[0]};
    const size_t *want = w->in_out ? transposed : w->shape;
    if (t->rank == w->rank && memcmp(t->shape, want, w->rank * sizeof *want) == 0)
        return RF_OK;
    char found_text[160], want_text[160];
    return rf_fail(im->err, RF_ERR_FORMAT, t->offset,
                   "%s: initialiser \"%.*s\", taken for \"%s\", is %s, wanted %s by "
                   "config.json",
                   im->file.name, rf_onnx_shown(t->name), t->name.at, w->name,
                   rf_shape_text(found_text, t->shape, t->rank),
                   rf_shape_text(want_text, want, w->rank));
}

/* A config.json of a shallower model would go unnoticed otherwise. */
static rf_status check_last_layer(const importer *im)
{
    char full[MAX_PREFIX + MAX_NAME];
    snprintf(full, sizeof full, "%.*sencoder.layer.%zu.attention.self.query.bias",
             (int)im->prefix.len, im->prefix.at, im->config.layers);
    if (!rf_onnx_find(&im->file, rf_onnx_name(full)))
        return RF_OK;
    return rf_fail(im->err, RF_ERR_FORMAT, 0,
                   "%s: has initialiser \"%s\", but config.json says %zu layers",
                   im->file.name, full, im->config.layers);
}

/* Scale and zero of a weight in bytes, by name. Signed bytes become unsigned ones. */
static rf_status find_scale(const importer *im, weight *w)
{
    const rf_onnx *o = &im->file;
    char name[MAX_PREFIX + MAX_NAME + 16];
    rf_onnx_text own = w->from->name;
    size_t len = ends_with(own, QUANTISED) ? own.len - (sizeof QUANTISED - 1) : own.len;
    int zero = 0;
    if (len > MAX_PREFIX + MAX_NAME || !w->from->raw)
        return rf_fail(im->err, RF_ERR_FORMAT, w->from->offset,
                       "%s: initialiser \"%.*s\" has a name of %zu bytes or no raw_data",
                       o->name, rf_onnx_shown(own), own.at, own.len);
    snprintf(name, sizeof name, "%.*s_scale", (int)len, own.at);
    const rf_onnx_tensor *scale = rf_onnx_find(o, rf_onnx_name(name));
    if (!scale || scale->type != RF_ONNX_FLOAT || scale->count != 1)
        return rf_fail(im->err, RF_ERR_VERSION, w->from->offset,
                       "%s: the weight of \"%s\" is in 8 bits; initialiser \"%s\" is "
                       "%s, wanted one FLOAT for the whole matrix",
                       o->name, w->name, name,
                       scale ? "of another size or type" : "missing");
    rf_status st = rf_onnx_read(o, scale, &w->quantised[0], im->err);
    snprintf(name, sizeof name, "%.*s_zero_point", (int)len, own.at);
    const rf_onnx_tensor *point = rf_onnx_find(o, rf_onnx_name(name));
    if (st == RF_OK && point && !rf_onnx_small_integer(o, point, &zero))
        st = rf_fail(im->err, RF_ERR_VERSION, point->offset,
                     "%s: initialiser \"%s\" wants to be one UINT8 or INT8", o->name,
                     name);
    w->quantised[1] = (float)(zero + (w->from->type == RF_ONNX_INT8 ? 128 : 0));
    if (st == RF_OK && !(w->quantised[0] > 0.0f && w->quantised[0] < 256.0f))
        st = rf_fail(im->err, RF_ERR_NUMERIC, scale->offset,
                     "%s: the scale of \"%s\" is %g, wanted a number above 0", o->name,
                     w->name, (double)w->quantised[0]);
    return st;
}

static rf_status find_weights(importer *im)
{
    for (size_t i = 0; i < im->n_weights; i++) {
        weight *w = &im->weights[i];
        rf_status st = w->dense ? find_dense(im, w) : find_named(im, w);
        if (st == RF_OK)
            st = check_shape(im, w);
        w->bytes = st == RF_OK &&
                   (w->from->type == RF_ONNX_UINT8 || w->from->type == RF_ONNX_INT8);
        if (st == RF_OK && w->bytes)
            st = find_scale(im, w);
        if (st != RF_OK)
            return st;
        size_t *total = w->bytes ? &im->total_bytes : &im->total;
        if (!rf_size_add(*total, w->from->count, total))
            return rf_fail_nomem(im->err, SIZE_MAX, "weights");
    }
    /* One initialiser may serve several names; a file that does so for all of them would
     * need more memory than its size suggests. */
    if (im->total > im->file.len / 2 || im->total_bytes > im->file.len)
        return rf_fail(im->err, RF_ERR_FORMAT, 0,
                       "%s: %zu weights by config.json in a file of %zu bytes",
                       im->file.name, im->total + im->total_bytes, im->file.len);
    return check_last_layer(im);
}

/* ---- Reading them ------------------------------------------------------------------ */

/* out[c][r] = in[r][c]; in squares, so that both sides stay in the cache. */
static void transpose(float *out, const float *in, size_t rows, size_t cols)
{
    enum { SIDE = 16 };
    for (size_t r0 = 0; r0 < rows; r0 += SIDE)
        for (size_t c0 = 0; c0 < cols; c0 += SIDE)
            for (size_t r = r0; r < rows && r < r0 + SIDE; r++)
                for (size_t c = c0; c < cols && c < c0 + SIDE; c++)
                    out[c * rows + r] = in[r * cols + c];
}

static rf_status check_finite(const importer *im, const weight *w, const float *x)
{
    if (rf_kernels()->all_finite(x, w->from->count))
        return RF_OK;
    return rf_fail(im->err, RF_ERR_NUMERIC, w->from->offset,
                   "%s: a NaN or an infinity in initialiser \"%.*s\", taken for \"%s\", "
                   "wanted finite weights",
                   im->file.name, rf_onnx_shown(w->from->name), w->from->name.at,
                   w->name);
}

/* Bytes as they are, [out, in] and unsigned. */
static void read_bytes(const weight *w, unsigned char *out)
{
    unsigned char flip = w->from->type == RF_ONNX_INT8 ? 0x80 : 0;
    size_t rows = w->shape[0], cols = w->from->count / (rows ? rows : 1);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            out[r * cols + c] =
                w->from->raw[w->in_out ? c * rows + r : r * cols + c] ^ flip;
}

static rf_status read_all_bytes(importer *im)
{
    im->bytes_block = malloc(im->total_bytes ? im->total_bytes : 1);
    if (!im->bytes_block)
        return rf_fail_nomem(im->err, im->total_bytes, "weights");
    unsigned char *at = im->bytes_block;
    for (size_t i = 0; i < im->n_weights; i++) {
        if (!im->weights[i].bytes)
            continue;
        read_bytes(&im->weights[i], at);
        at += im->weights[i].from->count;
    }
    return RF_OK;
}

static rf_status read_weights(importer *im)
{
    size_t widest = 0;
    for (size_t i = 0; i < im->n_weights; i++)
        if (im->weights[i].in_out && !im->weights[i].bytes &&
            im->weights[i].from->count > widest)
            widest = im->weights[i].from->count;
    float *transposed = rf_floats_new(widest);
    im->block = rf_floats_new(im->total);
    rf_status st = RF_OK;
    if (!transposed || !im->block)
        st = rf_fail_nomem(im->err, (im->total + widest) * sizeof(float), "weights");
    float *at = im->block;
    for (size_t i = 0; i < im->n_weights && st == RF_OK; i++) {
        const weight *w = &im->weights[i];
        if (w->bytes)
            continue;
        st = rf_onnx_read(&im->file, w->from, w->in_out ? transposed : at, im->err);
        if (st == RF_OK && w->in_out)
            transpose(at, transposed, w->shape[1], w->shape[0]);
        if (st == RF_OK)
            st = check_finite(im, w, at);
        at += w->from->count;
    }
    free(transposed);
    return st == RF_OK ? read_all_bytes(im) : st;
}

/* ---- Writing ----------------------------------------------------------------------- */

static rf_status copy_file(const char *from, const char *to, const char *name,
                           rf_error *err)
{
    char in[RF_PATH_MAX], out[RF_PATH_MAX];
    rf_buffer bytes;
    rf_status st;
    rf_buffer_init(&bytes, MAX_COPY, name);
    if ((st = rf_path_join(in, from, name, err)) == RF_OK &&
        (st = rf_path_join(out, to, name, err)) == RF_OK &&
        (st = rf_file_read(in, &bytes, err)) == RF_OK)
        st = rf_file_write(out, bytes.data, bytes.len, err);
    rf_buffer_release(&bytes);
    return st;
}

static rf_status write_weights(const importer *im, const char *dir)
{
    char path[RF_PATH_MAX];
    rf_status st = rf_path_join(path, dir, "model.safetensors", im->err);
    if (st != RF_OK)
        return st;
    rf_tensor_out *out = calloc(2 * im->n_weights, sizeof *out);
    char(*scales)[MAX_NAME + 8] = calloc(im->n_weights, sizeof *scales);
    if (!out || !scales) {
        free(out);
        free(scales);
        return rf_fail_nomem(im->err, im->n_weights * sizeof *out, "names of weights");
    }
    const float *at = im->block;
    const unsigned char *bytes = im->bytes_block;
    size_t n = 0;
    for (size_t i = 0; i < im->n_weights; i++) {
        const weight *w = &im->weights[i];
        out[n++] = (rf_tensor_out){.name = w->name,
                                   .rank = w->rank,
                                   .shape = {w->shape[0], w->shape[1]},
                                   .data = w->bytes ? NULL : at,
                                   .bytes = w->bytes ? bytes : NULL};
        if (w->bytes) {
            snprintf(scales[i], sizeof scales[i], "%s_scale", w->name);
            out[n++] = (rf_tensor_out){
                .name = scales[i], .rank = 1, .shape = {2}, .data = w->quantised};
            bytes += w->from->count;
        } else {
            at += w->from->count;
        }
    }
    st = rf_safetensors_write(path, out, n, im->err);
    free(out);
    free(scales);
    return st;
}

static rf_status write_files(const importer *im, const char *dir)
{
    const char *from = im->tokenizer_dir;
    rf_status st = copy_file(im->config_dir, dir, "config.json", im->err);
    if (st == RF_OK && im->copy_vocab)
        st = copy_file(from, dir, "vocab.txt", im->err);
    if (st == RF_OK && im->copy_tokenizer)
        st = copy_file(from, dir, "tokenizer.json", im->err);
    if (st == RF_OK && im->copy_tokenizer_config)
        st = copy_file(from, dir, "tokenizer_config.json", im->err);
    return st == RF_OK ? write_weights(im, dir) : st;
}

static rf_status make_parent(const char *dir, rf_error *err)
{
    char parent[RF_PATH_MAX];
    snprintf(parent, sizeof parent, "%s", dir);
    char *slash = strrchr(parent, '/');
    if (!slash || slash == parent)
        return RF_OK;
    *slash = '\0';
    return rf_dir_make(parent, err);
}

static rf_status publish(const importer *im, const char *dir)
{
    char temporary[RF_PATH_MAX];
    rf_status st;
    if ((st = make_parent(dir, im->err)) != RF_OK ||
        (st = rf_dir_make_beside(dir, temporary, im->err)) != RF_OK)
        return st;
    if ((st = write_files(im, temporary)) == RF_OK)
        st = rf_dir_publish(temporary, dir, im->err);
    if (st != RF_OK)
        rf_dir_remove(temporary);
    return st;
}

/* ---- The public side --------------------------------------------------------------- */

/* The directory to make, without slashes at its end. */
static rf_status take_target(char out[RF_PATH_MAX], const char *dir, rf_error *err)
{
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (len == 0)
        return rf_fail(err, RF_ERR_ARG, 0, "the name of the directory to make is empty");
    if (len >= RF_PATH_MAX)
        return rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %d bytes", dir,
                       RF_PATH_MAX - 1);
    memcpy(out, dir, len);
    out[len] = '\0';
    if (rf_file_exists(out))
        return rf_fail(err, RF_ERR_IO, 0, "%s: exists already, wanted a new directory",
                       out);
    return RF_OK;
}

rf_status rf_encoder_import(const char *onnx_file, const char *dir, rf_error *err)
{
    char target[RF_PATH_MAX];
    rf_error local = {0};
    if (!err)
        err = &local;
    if (!onnx_file || !dir)
        return rf_fail(err, RF_ERR_ARG, 0, "an ONNX file and a directory are wanted");
    rf_status st = take_target(target, dir, err);
    if (st != RF_OK)
        return st;
    importer im = {.err = err};
    if ((st = rf_onnx_open(&im.file, onnx_file, err)) == RF_OK &&
        (st = refuse_quantized(&im)) == RF_OK && (st = find_prefix(&im)) == RF_OK &&
        (st = find_places(&im, onnx_file)) == RF_OK && (st = read_config(&im)) == RF_OK &&
        (st = choose_tokenizer(&im)) == RF_OK && (st = list_weights(&im)) == RF_OK &&
        (st = find_weights(&im)) == RF_OK && (st = read_weights(&im)) == RF_OK)
        st = publish(&im, target);
    importer_release(&im);
    return st;
}
