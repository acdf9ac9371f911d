/* activations.c - runs the frozen layers over all texts; holds the result in memory or a
 * file */
#include "encoder/activations.h"

#include "base/memory.h"
#include "encoder/forward.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Tokens that a thread takes at a time, as in the embedder. */
#define GROUP_TOKENS 96
/* Tokens, per thread, between two calls of the caller's function. */
#define BLOCK_TOKENS 8192
/* All tokens of a data set. */
#define MAX_IDS ((size_t)1 << 33)
/* Texts whose activations are copied at a time. */
#define ROWS_AT_ONCE 512

/* ---- Tokens ------------------------------------------------------------------------ */

static rf_status take_id(void *user, int32_t id, rf_error *err)
{
    return rf_buffer_add(user, &id, sizeof id, err);
}

static rf_status tokenize(rf_activations *a, rf_buffer *ids, const rf_encoder *e,
                          const char *const *texts, const size_t *lens, size_t max_tokens,
                          rf_error *err)
{
    rf_tokenizer *t = rf_tokenizer_new(e->vocab, max_tokens, take_id, ids, err);
    rf_status st = t ? RF_OK : RF_ERR_NOMEM;
    if (t)
        rf_tokenizer_set_prefix(t, e->config.prefix);
    for (size_t i = 0; i < a->n_texts && st == RF_OK; i++) {
        size_t n_tokens;
        st = rf_tokenizer_feed(t, texts[i], lens[i], err);
        if (st == RF_OK)
            st = rf_tokenizer_end(t, &n_tokens, err);
        if (st != RF_OK)
            break;
        a->offsets[i + 1] = ids->len / sizeof(int32_t);
        a->n_cut += n_tokens > max_tokens;
    }
    rf_tokenizer_free(t);
    a->n_tokens = ids->len / sizeof(int32_t);
    return st;
}

/* ---- Room -------------------------------------------------------------------------- */

/* An unlinked file with its space reserved: a full disk shows now, not as a SIGBUS
 * later. */
static int unnamed_file(const char *dir, size_t bytes, rf_error *err)
{
    char path[RF_PATH_MAX];
    if (rf_path_join(path, dir, "ringfence-cache-XXXXXX", err) != RF_OK)
        return -1;
    int fd = mkstemp(path);
    if (fd < 0) {
        rf_fail_errno(err, "%s: cannot make a file for activations", path);
        return -1;
    }
    unlink(path);
    int failed = posix_fallocate(fd, 0, (off_t)bytes);
    if (failed) {
        errno = failed;
        rf_fail_errno(err, "%s: cannot reserve %zu bytes for activations", dir, bytes);
        close(fd);
        return -1;
    }
    return fd;
}

static rf_status make_room(rf_activations *a, size_t vectors,
                           const rf_activation_options *o, rf_error *err)
{
    if (!rf_size_mul(vectors, a->width * sizeof(float), &a->bytes))
        return rf_fail_nomem(err, SIZE_MAX, "activations");
    a->on_disk = a->bytes > o->cache_bytes;
    int fd = a->on_disk ? unnamed_file(o->cache_dir, a->bytes, err) : -1;
    if (a->on_disk && fd < 0)
        return RF_ERR_IO;
    if (!a->on_disk) {
        a->states = rf_floats_new(a->bytes / sizeof(float));
        return a->states ? RF_OK : rf_fail_nomem(err, a->bytes, "activations");
    }
    void *map = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        rf_fail_errno(err, "%s: cannot map %zu bytes for activations", o->cache_dir,
                      a->bytes);
    close(fd);
    a->states = map == MAP_FAILED ? NULL : map;
    return a->states ? RF_OK : RF_ERR_IO;
}

void rf_activations_release(rf_activations *a)
{
    if (a->on_disk && a->states)
        munmap(a->states, a->bytes);
    else
        free(a->states);
    free(a->offsets);
    *a = (rf_activations){0};
}

/* ---- Running layers over all texts ------------------------------------------------- */

typedef struct run {
    const rf_activations *a;
    const rf_encoder *e;
    const int32_t *ids;    /* NULL: start from a->states at layer a->layer */
    const size_t *offsets; /* of the texts' tokens */
    size_t to_layer;
    float *states; /* every token's vector, or NULL */
    float *pooled; /* each text's mean, or NULL */
    rf_workspace *workspaces;
    size_t to_text; /* of the block */
    atomic_size_t next;
} run;

static void run_group(run *r, rf_workspace *w, size_t from, size_t to)
{
    size_t width = r->a->width, first = r->offsets[from];
    size_t n = (r->offsets[to] - first) * width;
    rf_batch batch = {.ids = r->ids ? r->ids + first : NULL,
                      .offsets = r->offsets + from,
                      .n_texts = to - from};
    if (r->ids) {
        rf_forward(r->e, w, &batch, r->to_layer, NULL, 0, 1);
    } else {
        memcpy(w->x, r->a->states + first * width, n * sizeof(float));
        rf_forward_layers(r->e, w, &batch, r->a->layer, r->to_layer, NULL, 0, 1);
    }
    if (r->states)
        memcpy(r->states + first * width, w->x, n * sizeof(float));
    for (size_t i = from; r->pooled && i < to; i++)
        rf_pool_mean(r->pooled + i * width, w->x + (r->offsets[i] - first) * width,
                     r->offsets[i + 1] - r->offsets[i], width);
}

static void work(void *arg, size_t member, size_t members)
{
    (void)members;
    run *r = arg;
    size_t from = atomic_load(&r->next);
    while (from < r->to_text) {
        size_t to = from + 1;
        while (to < r->to_text && r->offsets[to + 1] - r->offsets[from] <= GROUP_TOKENS)
            to++;
        if (atomic_compare_exchange_weak(&r->next, &from, to)) {
            run_group(r, &r->workspaces[member], from, to);
            from = atomic_load(&r->next);
        }
    }
}

static rf_status run_all(run *r, size_t longest, rf_team *team, rf_texts_done done,
                         void *user, rf_error *err)
{
    size_t threads = rf_team_size(team), n = r->a->n_texts;
    size_t room = longest > GROUP_TOKENS ? longest : GROUP_TOKENS;
    rf_status st = RF_OK;
    r->workspaces = calloc(threads, sizeof *r->workspaces);
    if (!r->workspaces)
        return rf_fail_nomem(err, threads * sizeof *r->workspaces, "encoding");
    for (size_t i = 0; i < threads && st == RF_OK; i++)
        st = rf_workspace_init(&r->workspaces[i], r->e, room, 1, RF_PRECISION_FP32, err);
    for (size_t from = 0; from < n && st == RF_OK; from = r->to_text) {
        r->to_text = from + 1;
        while (r->to_text < n &&
               r->offsets[r->to_text + 1] - r->offsets[from] <= threads * BLOCK_TOKENS)
            r->to_text++;
        atomic_store(&r->next, from);
        rf_team_run(team, work, r);
        if (done && done(user, r->to_text) != 0)
            st = rf_fail(err, RF_ERR_STOPPED, 0, "stopped while encoding texts");
    }
    for (size_t i = 0; i < threads; i++)
        rf_workspace_release(&r->workspaces[i]);
    free(r->workspaces);
    return st;
}

static size_t longest_of(const size_t *offsets, size_t n)
{
    size_t longest = 0;
    for (size_t i = 0; i < n; i++)
        if (offsets[i + 1] - offsets[i] > longest)
            longest = offsets[i + 1] - offsets[i];
    return longest;
}

static rf_status compute(rf_activations *a, const rf_encoder *e, const rf_buffer *ids,
                         const rf_activation_options *o, rf_team *team, rf_error *err)
{
    bool pooled = a->layer == e->config.layers;
    rf_status st = make_room(a, pooled ? a->n_texts : a->n_tokens, o, err);
    if (st != RF_OK)
        return st;
    run r = {.a = a,
             .e = e,
             .ids = (const int32_t *)(const void *)ids->data,
             .offsets = a->offsets,
             .to_layer = a->layer,
             .states = pooled ? NULL : a->states,
             .pooled = pooled ? a->states : NULL};
    st = run_all(&r, longest_of(a->offsets, a->n_texts), team, o->done, o->user, err);
    for (size_t i = 0; pooled && i <= a->n_texts; i++)
        a->offsets[i] = i;
    a->longest = longest_of(a->offsets, a->n_texts);
    return st;
}

rf_status rf_activations_init(rf_activations *a, const rf_encoder *e,
                              const char *const *texts, const size_t *lens, size_t n,
                              const rf_activation_options *o, rf_team *team,
                              rf_error *err)
{
    *a = (rf_activations){.n_texts = n, .width = e->config.width, .layer = o->layer};
    rf_buffer ids;
    rf_buffer_init(&ids, MAX_IDS * sizeof(int32_t), "tokens of all texts");
    a->offsets = calloc(n + 1, sizeof *a->offsets);
    rf_status st =
        a->offsets ? RF_OK : rf_fail_nomem(err, (n + 1) * sizeof *a->offsets, "texts");
    if (st == RF_OK)
        st = tokenize(a, &ids, e, texts, lens, o->max_tokens, err);
    if (st == RF_OK && n > 0)
        st = compute(a, e, &ids, o, team, err);
    rf_buffer_release(&ids);
    if (st != RF_OK)
        rf_activations_release(a);
    return st;
}

rf_status rf_activations_features(const rf_activations *a, const rf_encoder *e, float *z,
                                  rf_team *team, rf_texts_done done, void *user,
                                  rf_error *err)
{
    run r = {
        .a = a, .e = e, .offsets = a->offsets, .to_layer = e->config.layers, .pooled = z};
    return run_all(&r, a->longest, team, done, user, err);
}

rf_status rf_activations_select(rf_activations *a, const rf_activations *all,
                                const uint32_t *rows, size_t n, rf_error *err)
{
    *a = (rf_activations){.n_texts = n, .width = all->width, .layer = all->layer};
    a->offsets = calloc(n + 1, sizeof *a->offsets);
    if (!a->offsets)
        return rf_fail_nomem(err, (n + 1) * sizeof *a->offsets, "texts");
    for (size_t i = 0; i < n; i++)
        a->offsets[i + 1] =
            a->offsets[i] + all->offsets[rows[i] + 1] - all->offsets[rows[i]];
    a->n_tokens = a->offsets[n];
    a->longest = longest_of(a->offsets, n);
    a->bytes = a->n_tokens * a->width * sizeof(float);
    a->states = rf_floats_new(a->n_tokens * a->width + 1);
    if (!a->states) {
        rf_status st = rf_fail_nomem(err, a->bytes, "activations");
        rf_activations_release(a);
        return st;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(a->states + a->offsets[i] * a->width,
               all->states + all->offsets[rows[i]] * a->width,
               (a->offsets[i + 1] - a->offsets[i]) * a->width * sizeof(float));
    return RF_OK;
}

rf_status rf_activations_features_of(const rf_activations *a, const rf_encoder *e,
                                     const uint32_t *rows, size_t n, float *z,
                                     rf_team *team, rf_error *err)
{
    rf_status st = RF_OK;
    for (size_t from = 0; from < n && st == RF_OK; from += ROWS_AT_ONCE) {
        size_t some = n - from < ROWS_AT_ONCE ? n - from : ROWS_AT_ONCE;
        rf_activations block = {0};
        st = rf_activations_select(&block, a, rows + from, some, err);
        if (st == RF_OK)
            st = rf_activations_features(&block, e, z + from * a->width, team, NULL, NULL,
                                         err);
        rf_activations_release(&block);
    }
    return st;
}

rf_status rf_activations_pool(rf_activations *a, const rf_encoder *e, rf_team *team,
                              rf_error *err)
{
    rf_activations pooled = {.n_texts = a->n_texts,
                             .width = a->width,
                             .layer = e->config.layers,
                             .bytes = a->n_texts * a->width * sizeof(float),
                             .n_tokens = a->n_tokens,
                             .n_cut = a->n_cut,
                             .longest = a->n_texts > 0};
    pooled.offsets = calloc(a->n_texts + 1, sizeof *pooled.offsets);
    pooled.states = rf_floats_new(a->n_texts * a->width + 1);
    rf_status st =
        pooled.offsets && pooled.states
            ? rf_activations_features(a, e, pooled.states, team, NULL, NULL, err)
            : rf_fail_nomem(err, pooled.bytes, "activations");
    for (size_t i = 0; i <= a->n_texts && st == RF_OK; i++)
        pooled.offsets[i] = i;
    if (st != RF_OK) {
        rf_activations_release(&pooled);
        return st;
    }
    rf_activations_release(a);
    *a = pooled;
    return RF_OK;
}
