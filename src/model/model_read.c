/* model_read.c - read the classifier, the classes, the training rows and the map of a
 * model file */
#include "model/model_read.h"

#include "base/memory.h"
#include "num/panels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float *floats_of(const rf_tensor *t)
{
    return (const float *)(const void *)t->data; /* aligned: container.c checked */
}

static rf_status not_finite(const rf_model_reading *l, const char *name,
                            const rf_tensor *t)
{
    return rf_fail(l->err, RF_ERR_NUMERIC, t->offset,
                   "%s: tensor \"%s\": a NaN or an infinity, wanted finite numbers",
                   l->name, name);
}

static rf_status check_finite(const rf_model_reading *l, const char *name,
                              const rf_tensor *t)
{
    return rf_kernels()->all_finite(floats_of(t), t->count) ? RF_OK
                                                            : not_finite(l, name, t);
}

/* Finds a tensor of finite floats with this shape. */
static rf_status find_floats(const rf_model_reading *l, const char *name, size_t rank,
                             size_t n0, size_t n1, const float **out)
{
    const size_t shape[] = {n0, n1};
    const rf_tensor *t = rf_container_find(l->file, name, RF_F32, rank, shape, l->err);
    if (!t)
        return RF_ERR_FORMAT;
    *out = floats_of(t);
    return check_finite(l, name, t);
}

rf_status rf_model_read_known(rf_model_reading *l)
{
    rf_known *k = &l->m->known;
    size_t d = l->m->encoder->config.width;
    size_t c = l->m->classes + l->m->method->open_class;
    const float *w1, *b1, *w2, *b2;
    rf_status st;
    if ((st = find_floats(l, "known.dense.weight", 2, d, d, &w1)) != RF_OK ||
        (st = find_floats(l, "known.dense.bias", 1, d, 0, &b1)) != RF_OK ||
        (st = find_floats(l, "known.out.weight", 2, c, d, &w2)) != RF_OK ||
        (st = find_floats(l, "known.out.bias", 1, c, 0, &b2)) != RF_OK ||
        (st = rf_known_init(k, d, c, l->err)) != RF_OK)
        return st;
    k->form = l->m->method->form;
    rf_panels_pack(k->dense_w, w1, d, d);
    memcpy(k->dense_b, b1, d * sizeof *b1);
    rf_panels_pack(k->out_w, w2, c, d);
    memcpy(k->out_b, b2, c * sizeof *b2);
    return RF_OK;
}

/* Copies the matrices of the classes in the block, in either precision, from a tensor
 * that has one for each of them, or for every class. */
static rf_status read_matrices(const rf_model_reading *l, size_t i, const char *name,
                               const rf_tensor *t, bool every_class)
{
    const rf_method_state *state = &l->m->state;
    size_t out = t->shape[1], in = t->shape[2], n;
    float *rows = t->dtype == RF_F16 ? rf_floats_new(out * in) : NULL;
    rf_status st = RF_OK;
    if (t->dtype == RF_F16 && !rows)
        return rf_fail_nomem(l->err, out * in * sizeof *rows, name);
    for (size_t c = 0; c < state->classes && st == RF_OK; c++) {
        size_t place = rf_method_state_place(state, c);
        if (place == RF_NOT_HELD)
            continue;
        size_t at = (every_class ? c : place) * out * in;
        const float *from = rows;
        if (rows)
            rf_kernels()->widen_f16(rows, (const uint16_t *)(const void *)t->data + at,
                                    out * in);
        else
            from = floats_of(t) + at;
        if (!rf_kernels()->all_finite(from, out * in))
            st = not_finite(l, name, t);
        rf_panels_pack(rf_method_state_piece(state, i, place, &n), from, out, in);
    }
    free(rows);
    return st;
}

/* An array of the block. Older files have a matrix for every class, in single precision,
 * zeroes for classes without a head. */
static rf_status read_in_block(rf_model_reading *l, size_t i)
{
    const rf_method_state *state = &l->m->state;
    const rf_method_array *a = &l->m->method->arrays[i];
    char name[96];
    size_t shape[3], n;
    snprintf(name, sizeof name, "open.%s", a->name);
    const rf_tensor *t = rf_safetensors_find(&l->file->file, name);
    if (!t && state->held == 0)
        return RF_OK;
    for (size_t d = 0; d < 3; d++)
        shape[d] = rf_dim_size(state, a->dims[d]);
    bool every_class = t && t->rank > 0 && t->shape[0] == state->classes;
    bool half = t && a->rank == 3 && t->dtype == RF_F16;
    shape[0] = every_class ? state->classes : state->held;
    t = rf_container_find(l->file, name, half ? RF_F16 : RF_F32, a->rank, shape, l->err);
    if (!t)
        return RF_ERR_FORMAT;
    if (a->rank == 3)
        return read_matrices(l, i, name, t, every_class);
    for (size_t c = 0; c < state->classes; c++) {
        size_t place = rf_method_state_place(state, c);
        if (place == RF_NOT_HELD)
            continue;
        float *to = rf_method_state_piece(state, i, place, &n);
        memcpy(to, floats_of(t) + (every_class ? c : place) * n, n * sizeof *to);
    }
    return check_finite(l, name, t);
}

/* Any other array of the method. */
static rf_status read_array(rf_model_reading *l, size_t i)
{
    rf_method_state *state = &l->m->state;
    const rf_method_array *a = &l->m->method->arrays[i];
    char name[96];
    size_t shape[3];
    rf_status st = RF_OK;
    for (size_t d = 0; d < 3; d++)
        shape[d] = rf_dim_size(state, a->dims[d]);
    snprintf(name, sizeof name, "open.%s", a->name);
    if (i >= l->m->method->n_arrays - l->m->method->n_optional &&
        !rf_safetensors_find(&l->file->file, name))
        return RF_OK;
    const rf_tensor *t = rf_safetensors_find(&l->file->file, name);
    bool half = t && a->rank > 1 && t->dtype == RF_F16;
    t = rf_container_find(l->file, name, half ? RF_F16 : RF_F32, a->rank, shape, l->err);
    if (!t)
        return RF_ERR_FORMAT;
    if (t->count == 0)
        return rf_fail(l->err, RF_ERR_FORMAT, t->offset,
                       "%s: tensor \"%s\" is empty, wanted some numbers", l->name, name);
    st = rf_method_state_room(state, i, t->shape[0], a->rank == 2 ? t->shape[1] : 1,
                              l->err);
    if (st != RF_OK)
        return st;
    float *to = state->arrays[i].data;
    if (half)
        rf_kernels()->widen_f16(to, (const uint16_t *)(const void *)t->data, t->count);
    else
        memcpy(to, floats_of(t), t->count * sizeof(float));
    return rf_kernels()->all_finite(to, t->count) ? RF_OK : not_finite(l, name, t);
}

/* One of the method's own checks: its message gets the name of the file. */
static rf_status run_check(const rf_model_reading *l,
                           rf_status (*check)(rf_method_state *state, rf_error *err))
{
    rf_error why = {0};
    rf_status st = check ? check(&l->m->state, &why) : RF_OK;
    return st == RF_OK ? RF_OK : rf_fail(l->err, st, why.pos, "%s: %s", l->name, why.msg);
}

rf_status rf_model_read_state(rf_model_reading *l)
{
    rf_model *m = l->m;
    const rf_method *method = m->method;
    rf_status st = RF_OK;
    m->state = (rf_method_state){.width = m->known.width, .classes = m->classes};
    for (size_t i = method->n_block; i < method->n_arrays && st == RF_OK; i++)
        st = read_array(l, i);
    if (st == RF_OK)
        st = run_check(l, method->room);
    for (size_t i = 0; i < method->n_block && st == RF_OK; i++)
        st = read_in_block(l, i);
    return st == RF_OK ? run_check(l, method->prepare) : st;
}

/* Copies a tensor of finite, non-negative numbers. */
static rf_status copy_non_negative(const rf_model_reading *l, const char *name,
                                   size_t rank, size_t n0, size_t n1, float **out)
{
    const float *from;
    size_t n = n0 * (rank == 2 ? n1 : 1);
    rf_status st = find_floats(l, name, rank, n0, n1, &from);
    if (st != RF_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        if (from[i] < 0.0f)
            return rf_fail(l->err, RF_ERR_FORMAT, i,
                           "%s: tensor \"%s\": element %zu is %g, wanted 0 or more",
                           l->name, name, i, (double)from[i]);
    *out = malloc(n * sizeof **out);
    if (!*out)
        return rf_fail_nomem(l->err, n * sizeof **out, name);
    memcpy(*out, from, n * sizeof **out);
    return RF_OK;
}

rf_status rf_model_read_classes(rf_model_reading *l)
{
    rf_class_stats *s = &l->m->stats;
    size_t d = l->m->encoder->config.width, c = l->m->classes;
    const float *mean;
    rf_status st;
    s->width = d;
    s->classes = c;
    if ((st = find_floats(l, "classes.mean", 2, c, d, &mean)) != RF_OK ||
        (st = copy_non_negative(l, "classes.variance", 2, c, d, &s->variance)) != RF_OK ||
        (st = copy_non_negative(l, "classes.distance", 1, c, 0, &s->distance)) != RF_OK ||
        (st = copy_non_negative(l, "classes.radius", 1, c, 0, &l->m->radius)) != RF_OK)
        return st;
    const rf_tensor *rows =
        rf_container_find(l->file, "classes.rows", RF_I64, 1, &c, l->err);
    if (!rows)
        return RF_ERR_FORMAT;
    s->mean = malloc(c * d * sizeof *s->mean);
    s->rows = malloc(c * sizeof *s->rows);
    if (!s->mean || !s->rows)
        return rf_fail_nomem(l->err, c * (d + 2) * sizeof(float), "class statistics");
    memcpy(s->mean, mean, c * d * sizeof *s->mean);
    for (size_t i = 0; i < c; i++) {
        int64_t n = ((const int64_t *)(const void *)rows->data)[i];
        if (n < 1)
            return rf_fail(l->err, RF_ERR_FORMAT, i,
                           "%s: tensor \"classes.rows\": class %zu has %lld rows, wanted "
                           "1 or more",
                           l->name, i + 1, (long long)n);
        s->rows[i] = (size_t)n;
    }
    return RF_OK;
}

static rf_status check_rows(const rf_model_reading *l)
{
    const rf_model *m = l->m;
    size_t width = m->encoder->config.width;
    for (size_t i = 0; i < m->n_rows * width; i++)
        if ((m->features[i] & 0x7c00) == 0x7c00)
            return rf_fail(l->err, RF_ERR_NUMERIC, i / width,
                           "%s: tensor \"train.features\": a NaN or an infinity in row "
                           "%zu",
                           l->name, i / width);
    for (size_t i = 0; i < m->n_rows; i++)
        if (m->row_class[i] < 0 || (size_t)m->row_class[i] >= m->classes)
            return rf_fail(l->err, RF_ERR_FORMAT, i,
                           "%s: tensor \"train.classes\": row %zu is of class %ld, "
                           "wanted 0 to %zu",
                           l->name, i, (long)m->row_class[i], m->classes - 1);
    return RF_OK;
}

static rf_status check_texts(const rf_model_reading *l, size_t bytes)
{
    const rf_model *m = l->m;
    uint64_t before = 0;
    for (size_t i = 0; i < m->n_rows; i++) {
        uint64_t end = m->text_ends[i];
        if (end < before || end > bytes || (i + 1 == m->n_rows && end != bytes))
            return rf_fail(l->err, RF_ERR_FORMAT, i,
                           "%s: tensor \"train.text_ends\": text %zu ends at %llu, "
                           "wanted %llu to %zu",
                           l->name, i, (unsigned long long)end,
                           (unsigned long long)(i + 1 == m->n_rows ? bytes : before),
                           bytes);
        before = end;
    }
    return RF_OK;
}

/* Casts const away: the mapping is read-only, and the model never writes through it. */
static void *mapped_data(const rf_tensor *t)
{
    return (void *)(uintptr_t)t->data;
}

rf_status rf_model_read_rows(rf_model_reading *l)
{
    rf_model *m = l->m;
    const rf_safetensors *s = &l->file->file;
    m->rows_mapped = true;
    if (!rf_safetensors_find(s, "train.features"))
        return RF_OK;
    size_t shape[] = {RF_ANY_SIZE, m->encoder->config.width};
    const rf_tensor *features =
        rf_container_find(l->file, "train.features", RF_F16, 2, shape, l->err);
    if (!features)
        return RF_ERR_FORMAT;
    shape[0] = features->shape[0];
    const rf_tensor *classes =
        rf_container_find(l->file, "train.classes", RF_I32, 1, shape, l->err);
    if (!classes)
        return RF_ERR_FORMAT;
    if (shape[0] == 0)
        return rf_fail(l->err, RF_ERR_FORMAT, features->offset,
                       "%s: tensor \"train.features\" has no rows, wanted some or no "
                       "such tensor",
                       l->name);
    m->n_rows = shape[0];
    m->features = mapped_data(features);
    m->row_class = mapped_data(classes);
    rf_status st = check_rows(l);
    if (st != RF_OK || !rf_safetensors_find(s, "train.texts"))
        return st;
    const rf_tensor *ends =
        rf_container_find(l->file, "train.text_ends", RF_I64, 1, shape, l->err);
    shape[0] = RF_ANY_SIZE;
    const rf_tensor *texts =
        ends ? rf_container_find(l->file, "train.texts", RF_U8, 1, shape, l->err) : NULL;
    if (!texts)
        return RF_ERR_FORMAT;
    m->texts = mapped_data(texts);
    m->text_ends = mapped_data(ends);
    return check_texts(l, texts->count);
}

rf_status rf_model_read_spelling(rf_model_reading *l)
{
    size_t shape[] = {RF_ANY_SIZE};
    if (!rf_safetensors_find(&l->file->file, "spelling.words"))
        return RF_OK;
    const rf_tensor *words =
        rf_container_find(l->file, "spelling.words", RF_U8, 1, shape, l->err);
    const rf_tensor *counts =
        words ? rf_container_find(l->file, "spelling.counts", RF_I32, 1, shape, l->err)
              : NULL;
    if (!counts)
        return RF_ERR_FORMAT;
    rf_error why = {0};
    l->m->spelling =
        rf_spelling_new((const char *)words->data, words->count,
                        (const int32_t *)(const void *)counts->data, counts->count, &why);
    return l->m->spelling
               ? RF_OK
               : rf_fail(l->err, why.code, why.pos, "%s: %s", l->name, why.msg);
}

static rf_status check_map(const rf_model_reading *l)
{
    const rf_model *m = l->m;
    for (size_t i = 0; i < m->map_n; i++) {
        int64_t row = m->map_rows[i], least = i ? (int64_t)m->map_rows[i - 1] + 1 : 0;
        if (row < least || (uint64_t)row >= m->n_rows)
            return rf_fail(l->err, RF_ERR_FORMAT, i,
                           "%s: tensor \"map.rows\": point %zu is training row %lld, "
                           "wanted rows in ascending order, below %zu",
                           l->name, i, (long long)row, m->n_rows);
    }
    for (size_t i = 0; i < 2 * m->map_n; i++)
        if (!(fabsf(m->map_xy[i]) <= 1.0f)) /* so that a NaN fails */
            return rf_fail(l->err, RF_ERR_FORMAT, i / 2,
                           "%s: tensor \"map.points\": %c of point %zu is %.9g, wanted "
                           "-1 to 1",
                           l->name, i % 2 ? 'y' : 'x', i / 2, (double)m->map_xy[i]);
    return RF_OK;
}

rf_status rf_model_read_map(rf_model_reading *l)
{
    rf_model *m = l->m;
    const rf_safetensors *s = &l->file->file;
    if (!rf_safetensors_find(s, "map.rows") && !rf_safetensors_find(s, "map.points"))
        return RF_OK;
    size_t shape[] = {RF_ANY_SIZE, 2};
    const rf_tensor *rows =
        rf_container_find(l->file, "map.rows", RF_I32, 1, shape, l->err);
    if (!rows)
        return RF_ERR_FORMAT;
    shape[0] = rows->shape[0];
    const rf_tensor *points =
        rf_container_find(l->file, "map.points", RF_F32, 2, shape, l->err);
    if (!points)
        return RF_ERR_FORMAT;
    if (shape[0] == 0 || m->n_rows == 0)
        return rf_fail(l->err, RF_ERR_FORMAT, rows->offset,
                       "%s: tensor \"map.rows\": a map of %zu points of %zu training "
                       "rows, wanted some of both or no such tensor",
                       l->name, shape[0], m->n_rows);
    m->map_n = shape[0];
    m->map_rows = mapped_data(rows);
    m->map_xy = mapped_data(points);
    return check_map(l);
}
