/* draw_map.c - choose the rows of the map, run t-SNE, scale the result */
#include "stages/draw_map.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/streams.h"
#include "stages/training.h"
#include "num/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The rows ---------------------------------------------------------------------- */

typedef struct sample {
    size_t classes, most;
    size_t *rows;    /* [classes] */
    size_t *take;    /* [classes] how many of them to use */
    size_t *next;    /* [classes] positions in order */
    uint32_t *order; /* shuffled classes; later rows sorted by class */
} sample;

/* Rows in total if no class gives more than `each`. */
static size_t sum_at(const sample *s, size_t each)
{
    size_t sum = 0;
    for (size_t c = 0; c < s->classes; c++)
        sum += s->rows[c] < each ? s->rows[c] : each;
    return sum;
}

/* Only called if there are more rows than `most`. */
static void share_rows_among_classes(sample *s, uint64_t seed)
{
    size_t each = 0, above = s->most + 1; /* sum_at(each) <= most < sum_at(above) */
    while (above - each > 1) {
        size_t middle = each + (above - each) / 2;
        if (sum_at(s, middle) <= s->most)
            each = middle;
        else
            above = middle;
    }
    size_t left = s->most - sum_at(s, each);
    for (size_t c = 0; c < s->classes; c++) {
        s->take[c] = s->rows[c] < each ? s->rows[c] : each;
        s->order[c] = (uint32_t)c;
    }
    rf_rng rng = rf_rng_open(rf_stream_key(seed, RF_STREAM_MAP_CLASSES, 0, 0));
    rf_rng_shuffle(&rng, s->order, s->classes);
    for (size_t i = 0; i < s->classes && left > 0; i++) {
        size_t c = s->order[i];
        left -= s->rows[c] > each;
        s->take[c] += s->rows[c] > each;
    }
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The choice depends only on the name of the class, its rows and how many to use. */
static void draw_rows(const sample *s, const rf_model *m, uint64_t seed, int32_t *out)
{
    size_t n = 0;
    for (size_t c = 0, from = 0; c < s->classes; c++) {
        s->next[c] = from;
        from += s->rows[c];
    }
    for (size_t i = 0; i < m->n_rows; i++)
        s->order[s->next[m->row_class[i]]++] = (uint32_t)i;
    for (size_t c = 0; c < s->classes; c++) {
        uint32_t *own = s->order + s->next[c] - s->rows[c];
        rf_rng rng = rf_rng_open(
            rf_stream_key(seed, RF_STREAM_MAP_ROWS, rf_label_key(m->labels[c]), 0));
        rf_rng_shuffle(&rng, own, s->rows[c]);
        for (size_t i = 0; i < s->take[c]; i++)
            out[n++] = (int32_t)own[i];
    }
    qsort(out, n, sizeof *out, ascending);
}

rf_status rf_draw_map_rows(const rf_model *m, size_t most, uint64_t seed, int32_t *rows,
                           rf_error *err)
{
    size_t n = m->n_rows, c = m->classes;
    for (size_t i = 0; n <= most && i < n; i++)
        rows[i] = (int32_t)i;
    if (n <= most)
        return RF_OK;
    sample s = {.classes = c,
                .most = most,
                .rows = calloc(c, sizeof *s.rows),
                .take = calloc(c, sizeof *s.take),
                .next = calloc(c, sizeof *s.next),
                .order = calloc(n > c ? n : c, sizeof *s.order)};
    rf_status st = RF_OK;
    if (s.rows && s.take && s.next && s.order) {
        for (size_t i = 0; i < n; i++)
            s.rows[m->row_class[i]]++;
        share_rows_among_classes(&s, seed);
        draw_rows(&s, m, seed, rows);
    } else {
        st = rf_fail_nomem(err, n * sizeof *s.order, "the rows of the map");
    }
    free(s.rows);
    free(s.take);
    free(s.next);
    free(s.order);
    return st;
}

/* ---- The points -------------------------------------------------------------------- */

/* t-SNE has centred the points at 0. */
static void scale_points(float *out, const double *map, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < 2 * n; i++)
        most = fmax(most, fabs(map[i]));
    for (size_t i = 0; i < 2 * n; i++)
        out[i] = most > 0 ? (float)(map[i] / most) : 0.0f;
}

static rf_status compute_points(rf_model *m, size_t n, const rf_tsne_options *o,
                                rf_team *team, rf_error *err)
{
    size_t width = m->known.width;
    float *x = rf_floats_new(n * width);
    double *map = calloc(2 * n, sizeof *map);
    rf_status st =
        x && map ? RF_OK : rf_fail_nomem(err, n * width * sizeof *x, "the map");
    for (size_t i = 0; i < n && st == RF_OK; i++)
        rf_kernels()->widen_f16(x + i * width,
                                m->features + (size_t)m->map_rows[i] * width, width);
    if (st == RF_OK)
        st = rf_tsne(map, x, n, width, o, team, err);
    if (st == RF_OK)
        scale_points(m->map_xy, map, n);
    free(map);
    free(x);
    return st;
}

rf_status rf_draw_map(rf_model *m, size_t most, const rf_tsne_options *options,
                      rf_team *team, rf_error *err)
{
    size_t n = m->n_rows < most ? m->n_rows : most;
    if (n == 0)
        return RF_OK;
    m->map_rows = calloc(n, sizeof *m->map_rows);
    m->map_xy = calloc(2 * n, sizeof *m->map_xy);
    rf_status st = m->map_rows && m->map_xy
                       ? RF_OK
                       : rf_fail_nomem(err, n * 3 * sizeof *m->map_xy, "the map");
    if (st == RF_OK)
        st = rf_draw_map_rows(m, most, options->seed, m->map_rows, err);
    if (st == RF_OK)
        st = compute_points(m, n, options, team, err);
    if (st == RF_OK) {
        m->map_n = n;
        return RF_OK;
    }
    free(m->map_rows);
    free(m->map_xy);
    m->map_rows = NULL;
    m->map_xy = NULL;
    return st;
}
