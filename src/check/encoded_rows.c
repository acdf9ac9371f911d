/* encoded_rows.c - chooses rows and runs the encoder over their texts */
#include "check/encoded_rows.h"

#include "base/memory.h"
#include "data/dataset.h"
#include "ringfence_encoder.h"

#include <stdlib.h>

#define MAX_ROWS 100000
#define AT_ONCE 512 /* texts between two reports of progress */

static rf_status room(rf_encoded *e, const rf_checked *c, rf_error *err)
{
    e->rows = calloc(c->rows + 1, sizeof *e->rows);
    e->class_of = calloc(c->rows + 1, sizeof *e->class_of);
    e->text_of = calloc(c->rows + 1, sizeof *e->text_of);
    e->class_at = calloc(c->classes + 1, sizeof *e->class_at);
    return e->rows && e->class_of && e->text_of && e->class_at
               ? RF_OK
               : rf_fail_nomem(err, c->rows * sizeof *e->rows, "rows to encode");
}

/* Row number i of a class of n, of which `wanted` are chosen, evenly spaced. */
static bool chosen(size_t i, size_t n, size_t wanted)
{
    return (i + 1) * wanted / n > i * wanted / n;
}

static void choose_class(rf_encoded *e, const rf_checked *c, size_t k, double share)
{
    const uint32_t *rows = rf_groups_at(&c->by_class, k);
    size_t n = rf_groups_size(&c->by_class, k), before = e->n;
    size_t wanted = share < 1.0 ? (size_t)((double)n * share) : n;
    for (size_t i = 0; i < n; i++) {
        if (c->empty[rows[i]] || !chosen(i, n, wanted ? wanted : 1))
            continue;
        e->rows[e->n] = rows[i];
        e->class_of[e->n] = (uint32_t)e->classes;
        e->text_of[e->n++] = c->same_text[rows[i]];
    }
    if (e->n > before)
        e->class_at[e->classes++] = (uint32_t)k;
}

static void choose_rows(rf_encoded *e, const rf_checked *c)
{
    size_t all = 0, most = c->o.max_rows ? c->o.max_rows : MAX_ROWS;
    for (size_t i = 0; i < c->rows; i++)
        all += !c->empty[i] && !c->open[c->class_of[i]];
    for (size_t k = 0; k < c->classes; k++)
        if (!c->open[k])
            choose_class(e, c, k, all > most ? (double)most / (double)all : 1.0);
}

static rf_status embed_rows(rf_encoded *e, const rf_checked *c, rf_embedder *embedder,
                            rf_error *err)
{
    const char *texts[AT_ONCE];
    size_t lens[AT_ONCE];
    rf_status st = RF_OK;
    for (size_t from = 0; from < e->n && st == RF_OK; from += AT_ONCE) {
        size_t n = e->n - from < AT_ONCE ? e->n - from : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            const rf_row *r = rf_dataset_row(c->data, e->rows[from + i]);
            texts[i] = r->text;
            lens[i] = r->len;
        }
        st = rf_check_progress(c, err, "encoding: %zu of %zu texts", from, e->n);
        if (st == RF_OK)
            st = rf_embed(embedder, texts, lens, n, e->z + from * e->width, err);
    }
    return st;
}

static rf_status run_encoder(rf_encoded *e, const rf_checked *c, rf_error *err)
{
    char dir[RF_PATH_MAX];
    size_t floats;
    rf_embed_options o = rf_embed_options_default();
    o.threads = rf_team_size(c->team);
    rf_status st =
        rf_encoder_path(c->o.encoder ? c->o.encoder : "minilm", dir, sizeof dir, err);
    rf_encoder *encoder = st == RF_OK ? rf_encoder_load(dir, err) : NULL;
    rf_embedder *embedder = encoder ? rf_embedder_new(encoder, &o, err) : NULL;
    if (embedder) {
        e->width = rf_encoder_describe(encoder).width;
        if (!rf_size_mul(e->n + 1, e->width, &floats))
            floats = SIZE_MAX / 8;
        e->z = rf_floats_new(floats);
        st = e->z ? embed_rows(e, c, embedder, err)
                  : rf_fail_nomem(err, floats * sizeof *e->z, "features");
    } else if (st == RF_OK) {
        st = err->code;
    }
    rf_embedder_free(embedder);
    rf_encoder_free(encoder);
    return st;
}

rf_status rf_encoded_init(rf_encoded *e, const rf_checked *c, rf_error *err)
{
    *e = (rf_encoded){0};
    rf_status st = room(e, c, err);
    if (st == RF_OK) {
        choose_rows(e, c);
        st = run_encoder(e, c, err);
    }
    if (st != RF_OK)
        rf_encoded_release(e);
    return st;
}

void rf_encoded_release(rf_encoded *e)
{
    free(e->rows);
    free(e->class_of);
    free(e->text_of);
    free(e->class_at);
    free(e->z);
    *e = (rf_encoded){0};
}
