/*
 * embedder.c - texts in, features out: batching, threads, long texts
 *
 * Texts are tokenized as they arrive, into a block of rows. A row is one input of the
 * encoder: a whole text, or one window of a long one. A full block is encoded, and the
 * features are delivered in order:
 *
 *   text 1   text 2   text 3 .....................   text 4
 *   [row 0]  [row 1]  [row 2] [row 3] ... [row 9]    [row 10]
 *                      windows, overlapping by half
 *
 * A block is either cut into groups that threads take one after another (many tokens:
 * each thread works alone and never waits), or done by all threads together (few tokens:
 * the latency of the one text counts).
 */
#include "encoder/embedder.h"
#include "encoder/forward.h"

#include "base/memory.h"
#include "base/options.h"
#include "num/kernels.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Tokens that one thread encodes at a time: enough rows for the product to run at full
 * speed, few enough for the activations to stay in cache. */
#define GROUP_TOKENS 96
/* With fewer tokens per thread than this, working together is faster. */
#define ALONE_TOKENS 48
/* A block, per thread: many groups, so that threads finish at about the same time. */
#define BLOCK_TOKENS_PER_THREAD 4096

struct rf_embedder {
    const rf_encoder *encoder;
    rf_embed_options options; /* with defaults filled in */
    rf_team *team;
    rf_tokenizer *tokenizer;
    rf_workspace *workspaces; /* one per thread */
    rf_feature_sink sink;
    void *sink_user;
    rf_block_sink block_sink; /* replaces sink unless NULL */
    void *block_user;

    int32_t *row; /* [max_tokens] the row being filled */
    size_t row_len;

    /* The block */
    size_t max_rows, max_ids;
    int32_t *ids;    /* [max_ids] */
    size_t *offsets; /* [max_rows + 1] */
    bool *ends_text; /* [max_rows] the last row of its text */
    float *features; /* [max_rows, width] */
    size_t n_rows;
    bool delivering;

    /* The text being delivered, when it has several rows */
    double *window_sum; /* [width] */
    size_t window_rows;
    size_t n_long;
};

void rf_embed_options_init(rf_embed_options *options, size_t struct_size)
{
    const rf_embed_options defaults = {.layer = -1};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* ---- Encoding a block -------------------------------------------------------------- */

typedef struct job {
    rf_embedder *m;
    bool together;
    atomic_size_t next_row;
} job;

static void pool(const rf_embedder *m, const float *x, size_t row, size_t tokens)
{
    size_t width = m->encoder->config.width;
    float *out = m->features + row * width;
    if (m->options.pooling == RF_POOL_CLS)
        memcpy(out, x, width * sizeof(float));
    else
        rf_pool_mean(out, x, tokens, width);
}

static void encode_rows(rf_embedder *m, rf_workspace *w, size_t from, size_t to,
                        rf_team *team, size_t member, size_t members)
{
    rf_batch batch = {.ids = m->ids + m->offsets[from],
                      .offsets = m->offsets + from,
                      .n_texts = to - from};
    rf_forward(m->encoder, w, &batch, (size_t)m->options.layer, team, member, members);
    if (member != 0)
        return;
    for (size_t r = from; r < to; r++)
        pool(m, w->x + (m->offsets[r] - m->offsets[from]) * m->encoder->config.width, r,
             m->offsets[r + 1] - m->offsets[r]);
}

/* The end of the group that begins with row `from`: at least one row. */
static size_t group_end(const rf_embedder *m, size_t from, size_t tokens)
{
    size_t to = from + 1;
    while (to < m->n_rows && m->offsets[to + 1] - m->offsets[from] <= tokens)
        to++;
    return to;
}

static void encode_groups(void *arg, size_t member, size_t members)
{
    job *j = arg;
    rf_embedder *m = j->m;
    if (j->together) {
        encode_rows(m, &m->workspaces[0], 0, m->n_rows, m->team, member, members);
        return;
    }
    size_t from = atomic_load(&j->next_row);
    while (from < m->n_rows) {
        /* Groups shrink towards the end, so that no thread waits long for the last. */
        size_t left = m->offsets[m->n_rows] - m->offsets[from];
        size_t tokens = members == 1 ? GROUP_TOKENS : left / (2 * members);
        if (tokens > GROUP_TOKENS)
            tokens = GROUP_TOKENS;
        else if (tokens < ALONE_TOKENS)
            tokens = ALONE_TOKENS;
        size_t to = group_end(m, from, tokens);
        if (atomic_compare_exchange_weak(&j->next_row, &from, to)) {
            encode_rows(m, &m->workspaces[member], from, to, NULL, 0, 1);
            from = atomic_load(&j->next_row);
        }
    }
}

static void encode_block(rf_embedder *m)
{
    size_t threads = m->options.threads, tokens = m->offsets[m->n_rows];
    job j = {.m = m};
    j.together = threads > 1 && tokens <= m->workspaces[0].max_tokens &&
                 (m->n_rows < threads || tokens < threads * ALONE_TOKENS);
    rf_team_run(m->team, encode_groups, &j);
}

/* ---- Delivering -------------------------------------------------------------------- */

static const char not_finite[] = "the features of a text hold a NaN or an infinity: the "
                                 "encoder's weights are too large";

/* Adds row `row` to its text. With the last row the text's feature goes to place `at`,
 * which is not after `row`. */
static rf_status finish_row(rf_embedder *m, size_t row, size_t at, rf_error *err)
{
    size_t width = m->encoder->config.width;
    const float *z = m->features + row * width;
    float *out = m->features + at * width;
    if (m->window_rows > 0 || !m->ends_text[row]) {
        for (size_t i = 0; i < width; i++)
            m->window_sum[i] += (double)z[i];
        m->window_rows++;
    }
    if (!m->ends_text[row])
        return RF_OK;
    if (at < row)
        memcpy(out, z, width * sizeof(float));
    for (size_t i = 0; m->window_rows > 0 && i < width; i++) {
        out[i] = (float)(m->window_sum[i] / (double)m->window_rows);
        m->window_sum[i] = 0.0;
    }
    m->window_rows = 0;
    return rf_kernels()->all_finite(out, width)
               ? RF_OK
               : rf_fail(err, RF_ERR_NUMERIC, 0, "%s", not_finite);
}

static rf_status deliver(rf_embedder *m, size_t n, rf_error *err)
{
    rf_status st = RF_OK;
    if (m->block_sink)
        return n > 0 ? m->block_sink(m->block_user, m->features, n, err) : RF_OK;
    for (size_t i = 0; m->sink && i < n && st == RF_OK; i++)
        st = m->sink(m->sink_user, m->features + i * m->encoder->config.width, err);
    return st;
}

static rf_status encode_and_deliver(rf_embedder *m, rf_error *err)
{
    size_t texts = 0;
    rf_status st = RF_OK;
    if (m->n_rows > 0)
        encode_block(m);
    for (size_t r = 0; r < m->n_rows && st == RF_OK; r++) {
        st = finish_row(m, r, texts, err);
        texts += st == RF_OK && m->ends_text[r];
    }
    m->delivering = true; /* also the texts before one that failed */
    rf_status delivered = deliver(m, texts, st == RF_OK ? err : NULL);
    m->delivering = false;
    m->n_rows = 0;
    return st == RF_OK ? delivered : st;
}

/* The block that is being delivered must not change. */
static rf_status not_from_sink(const rf_embedder *m, rf_error *err)
{
    return m->delivering
               ? rf_fail(err, RF_ERR_ARG, 0,
                         "an embedder or session cannot be used by its own sink")
               : RF_OK;
}

/* After a failure everything pending is dropped, the half-fed text included. */
static rf_status drop_all(rf_embedder *m, rf_status st)
{
    rf_tokenizer_reset(m->tokenizer);
    m->row_len = m->n_rows = m->window_rows = 0;
    memset(m->window_sum, 0, m->encoder->config.width * sizeof *m->window_sum);
    return st;
}

/* ---- Filling the block ------------------------------------------------------------- */

static rf_status close_row(rf_embedder *m, bool ends_text, rf_error *err)
{
    size_t at = m->offsets[m->n_rows];
    if (m->n_rows == m->max_rows || at + m->row_len > m->max_ids) {
        rf_status st = encode_and_deliver(m, err);
        if (st != RF_OK)
            return st;
        at = 0;
    }
    memcpy(m->ids + at, m->row, m->row_len * sizeof *m->ids);
    m->ends_text[m->n_rows] = ends_text;
    m->offsets[++m->n_rows] = at + m->row_len;
    return RF_OK;
}

/* The tokenizer's sink. In window mode the number of ids is not limited: a full row is
 * closed, and the next begins with the second half of its content. A [SEP] in the last
 * place ends the text unless another id follows; then the row was merely full. */
static rf_status take_id(void *user, int32_t id, rf_error *err)
{
    rf_embedder *m = user;
    const rf_vocab *vocab = m->encoder->vocab;
    size_t max = m->options.max_tokens;
    if (m->row_len == max || (m->row_len == max - 1 && id != vocab->sep)) {
        if (m->row_len < max)
            m->row[m->row_len++] = vocab->sep;
        rf_status st = close_row(m, false, err);
        if (st != RF_OK)
            return st;
        size_t content = max - 2, keep = content / 2;
        memmove(m->row + 1, m->row + 1 + content - keep, keep * sizeof *m->row);
        m->row_len = 1 + keep;
    }
    m->row[m->row_len++] = id;
    return RF_OK;
}

void rf_embedder_set_sink(rf_embedder *m, rf_feature_sink sink, void *user)
{
    m->sink = sink;
    m->sink_user = user;
}

void rf_embedder_set_block_sink(rf_embedder *m, rf_block_sink sink, void *user)
{
    m->block_sink = sink;
    m->block_user = user;
}

rf_status rf_embedder_feed(rf_embedder *m, const char *bytes, size_t len, rf_error *err)
{
    if (not_from_sink(m, err) != RF_OK)
        return RF_ERR_ARG;
    rf_status st = rf_tokenizer_feed(m->tokenizer, bytes, len, err);
    return st == RF_OK ? st : drop_all(m, st);
}

/* Completes the ids of the current text in m->row. */
static rf_status finish_text(rf_embedder *m, rf_error *err)
{
    size_t n_tokens;
    rf_status st = rf_tokenizer_end(m->tokenizer, &n_tokens, err);
    if (st == RF_OK && n_tokens > m->options.max_tokens)
        m->n_long++;
    return st == RF_OK ? st : drop_all(m, st);
}

rf_status rf_embedder_end_text(rf_embedder *m, rf_error *err)
{
    if (not_from_sink(m, err) != RF_OK)
        return RF_ERR_ARG;
    rf_status st = finish_text(m, err);
    if (st == RF_OK)
        st = close_row(m, true, err);
    m->row_len = 0;
    return st == RF_OK ? st : drop_all(m, st);
}

rf_status rf_embedder_flush(rf_embedder *m, rf_error *err)
{
    if (not_from_sink(m, err) != RF_OK)
        return RF_ERR_ARG;
    rf_status st = encode_and_deliver(m, err);
    return st == RF_OK ? st : drop_all(m, st);
}

size_t rf_embedder_n_long(const rf_embedder *m)
{
    return m->n_long;
}

rf_team *rf_embedder_team(rf_embedder *m)
{
    return m->team;
}

void rf_embedder_set_spelling(rf_embedder *m, const struct rf_spelling *spelling)
{
    rf_tokenizer_set_spelling(m->tokenizer, spelling);
}

bool rf_embedder_in_text(const rf_embedder *m)
{
    return rf_tokenizer_in_text(m->tokenizer);
}

/* ---- Whole texts ------------------------------------------------------------------- */

/* Whole texts are accepted only when no text is half fed. Streamed texts are delivered
 * first. */
static rf_status between_texts(rf_embedder *m, rf_error *err)
{
    if (rf_embedder_in_text(m))
        return rf_fail(err, RF_ERR_ARG, 0,
                       "a text is being fed; end it before passing whole texts");
    return rf_embedder_flush(m, err);
}

typedef struct into_array {
    float *next;
    size_t width;
} into_array;

static rf_status append(void *user, const float *feature, rf_error *err)
{
    (void)err;
    into_array *a = user;
    memcpy(a->next, feature, a->width * sizeof(float));
    a->next += a->width;
    return RF_OK;
}

rf_status rf_embed(rf_embedder *m, const char *const *texts, const size_t *lens, size_t n,
                   float *out, rf_error *err)
{
    rf_feature_sink sink = m->sink;
    void *user = m->sink_user;
    into_array a = {out, m->encoder->config.width};
    rf_status st = between_texts(m, err);
    rf_embedder_set_sink(m, append, &a);
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        st = rf_embedder_feed(m, texts[i], lens[i], err);
        if (st == RF_OK)
            st = rf_embedder_end_text(m, err);
    }
    if (st == RF_OK)
        st = rf_embedder_flush(m, err);
    rf_embedder_set_sink(m, sink, user);
    return st;
}

typedef struct states_job {
    rf_embedder *m;
    rf_batch batch;
    size_t layers;
} states_job;

static void encode_states(void *arg, size_t member, size_t members)
{
    states_job *j = arg;
    rf_forward(j->m->encoder, &j->m->workspaces[0], &j->batch, j->layers, j->m->team,
               member, members);
}

rf_status rf_embedder_states(rf_embedder *m, const char *text, size_t len, int layer,
                             float *out, size_t cap, size_t *n_tokens, rf_error *err)
{
    const rf_config *c = &m->encoder->config;
    if (layer < 0 || (size_t)layer > c->layers)
        return rf_fail(err, RF_ERR_ARG, 0, "layer is %d, wanted 0 to %zu", layer,
                       c->layers);
    if (m->options.long_text != RF_LONG_TRUNCATE)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "a text in windows has no states: wanted long_text truncate");
    rf_status st = between_texts(m, err);
    if (st == RF_OK)
        st = rf_embedder_feed(m, text, len, err);
    if (st == RF_OK)
        st = finish_text(m, err);
    if (st != RF_OK)
        return st;
    size_t offsets[2] = {0, m->row_len};
    states_job j = {m, {m->row, offsets, 1}, (size_t)layer};
    *n_tokens = m->row_len;
    m->row_len = 0;
    if (cap < *n_tokens)
        return rf_fail(err, RF_ERR_LIMIT, 0, "text has %zu tokens, room for %zu",
                       *n_tokens, cap);
    rf_team_run(m->team, encode_states, &j);
    if (!rf_kernels()->all_finite(m->workspaces[0].x, *n_tokens * c->width))
        return rf_fail(err, RF_ERR_NUMERIC, 0, "%s", not_finite);
    memcpy(out, m->workspaces[0].x, *n_tokens * c->width * sizeof(float));
    return RF_OK;
}

/* ---- Making one -------------------------------------------------------------------- */

static rf_status resolve_options(rf_embed_options *o, const rf_config *c, rf_error *err)
{
    if (o->threads > RF_MAX_THREADS)
        return rf_fail(err, RF_ERR_ARG, 0, "threads is %zu, wanted up to %d", o->threads,
                       RF_MAX_THREADS);
    if (o->threads == 0)
        o->threads = rf_cpu_count() < RF_MAX_THREADS ? rf_cpu_count() : RF_MAX_THREADS;
    if (o->max_tokens == 0)
        o->max_tokens = c->positions;
    if (o->layer == -1)
        o->layer = (int)c->layers;
    if (o->layer < 0 || (size_t)o->layer > c->layers)
        return rf_fail(err, RF_ERR_ARG, 0, "layer is %d, wanted 0 to %zu", o->layer,
                       c->layers);
    if (o->pooling != RF_POOL_MEAN && o->pooling != RF_POOL_CLS)
        return rf_fail(err, RF_ERR_ARG, 0, "pooling is %d, wanted mean or cls",
                       (int)o->pooling);
    if (o->long_text != RF_LONG_TRUNCATE && o->long_text != RF_LONG_WINDOW)
        return rf_fail(err, RF_ERR_ARG, 0, "long_text is %d, wanted truncate or window",
                       (int)o->long_text);
    if (o->precision == RF_PRECISION_DEFAULT)
        o->precision = RF_PRECISION_FP32;
    if (o->precision != RF_PRECISION_FP32 && o->precision != RF_PRECISION_INT8)
        return rf_fail(err, RF_ERR_ARG, 0, "precision is %d, wanted fp32 or int8",
                       (int)o->precision);
    /* A window must advance: it needs two ids besides the special tokens. */
    size_t least = o->long_text == RF_LONG_WINDOW ? 4 : 2;
    if (o->max_tokens < least || o->max_tokens > c->positions)
        return rf_fail(err, RF_ERR_ARG, 0, "max_tokens is %zu, wanted %zu to %zu",
                       o->max_tokens, least, c->positions);
    return RF_OK;
}

rf_embedder *rf_embedder_new(const rf_encoder *encoder, const rf_embed_options *options,
                             rf_error *err)
{
    const rf_config *c = &encoder->config;
    rf_embedder *m = calloc(1, sizeof *m);
    if (!m) {
        rf_fail_nomem(err, sizeof *m, "embedder");
        return NULL;
    }
    m->encoder = encoder;
    m->options = rf_embed_options_default();
    rf_embed_options *o = &m->options;
    if (rf_options_take(o, sizeof *o, options, "rf_embed_options", err) != RF_OK ||
        resolve_options(o, c, err) != RF_OK)
        goto fail;
    size_t room = o->max_tokens > GROUP_TOKENS ? o->max_tokens : GROUP_TOKENS;
    m->max_ids = o->threads * BLOCK_TOKENS_PER_THREAD + o->max_tokens;
    m->max_rows = o->threads * BLOCK_TOKENS_PER_THREAD / 8;
    m->row = malloc(o->max_tokens * sizeof *m->row);
    m->ids = malloc(m->max_ids * sizeof *m->ids);
    m->offsets = calloc(m->max_rows + 1, sizeof *m->offsets);
    m->ends_text = calloc(m->max_rows, sizeof *m->ends_text);
    m->window_sum = calloc(c->width, sizeof *m->window_sum);
    m->features = rf_floats_new(m->max_rows * c->width);
    m->workspaces = calloc(o->threads, sizeof *m->workspaces);
    if (!m->row || !m->ids || !m->offsets || !m->ends_text || !m->window_sum ||
        !m->features || !m->workspaces) {
        rf_fail_nomem(err, m->max_rows * c->width * sizeof(float), "a block of texts");
        goto fail;
    }
    for (size_t i = 0; i < o->threads; i++) /* the first also serves the whole team */
        if (rf_workspace_init(&m->workspaces[i], encoder, room, i == 0 ? o->threads : 1,
                              o->precision, err) != RF_OK)
            goto fail;
    m->team = rf_team_new(o->threads, err);
    if (!m->team)
        goto fail;
    m->tokenizer = rf_tokenizer_new(encoder->vocab,
                                    o->long_text == RF_LONG_WINDOW ? 0 : o->max_tokens,
                                    take_id, m, err);
    if (m->tokenizer) {
        rf_tokenizer_set_prefix(m->tokenizer, c->prefix);
        return m;
    }
fail:
    rf_embedder_free(m);
    return NULL;
}

void rf_embedder_free(rf_embedder *m)
{
    if (!m)
        return;
    rf_team_free(m->team);
    rf_tokenizer_free(m->tokenizer);
    for (size_t i = 0; m->workspaces && i < m->options.threads; i++)
        rf_workspace_release(&m->workspaces[i]);
    free(m->workspaces);
    free(m->row);
    free(m->ids);
    free(m->offsets);
    free(m->ends_text);
    free(m->window_sum);
    free(m->features);
    free(m);
}
