/* model.c - create, fill, query and free a model */
#define _GNU_SOURCE
#include "model/model.h"

#include "data/labels.h"
#include "encoder/catalogue.h"
#include "methods/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

rf_model *rf_model_new(rf_error *err)
{
    rf_model *m = calloc(1, sizeof *m);
    if (!m) {
        rf_fail_nomem(err, sizeof *m, "a model");
        return NULL;
    }
    m->method = rf_method_find(NULL);
    m->calibration = RF_CALIBRATION_NONE;
    atomic_init(&m->users, 1);
    return m;
}

void rf_model_forget_open(rf_model *m)
{
    rf_method_release(m->method, &m->state);
    rf_class_stats_release(&m->stats);
    free(m->radius);
    m->radius = NULL;
}

/* The encoder and what it is mapped from go with the last user. */
static void leave(rf_model *m)
{
    while (m && atomic_fetch_sub(&m->users, 1) == 1) {
        rf_model *lender = m->lender;
        if (!lender)
            rf_encoder_free(
                m->encoder); /* before the file, which it may be mapped from */
        rf_container_close(&m->file);
        free(m);
        m = lender;
    }
}

void rf_model_free(rf_model *m)
{
    if (!m)
        return;
    free(m->labels);
    free(m->label_bytes);
    rf_known_release(&m->known);
    rf_model_forget_open(m);
    rf_spelling_free(m->spelling);
    if (!m->rows_mapped) {
        free(m->features);
        free(m->row_class);
        free(m->texts);
        free(m->text_ends);
        free(m->map_rows);
        free(m->map_xy);
    }
    json_decref(m->settings);
    json_decref(m->summary);
    free(m->json);
    leave(m);
}

/* ---- Filling ----------------------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)text;
    utf8proc_int32_t cp;
    while (*p) {
        utf8proc_ssize_t n = utf8proc_iterate(p, -1, &cp);
        if (n <= 0)
            return false;
        p += n;
    }
    return true;
}

/* The rules of labelled data; sorted and distinct. */
static rf_status check_label(const char *const *labels, size_t i, rf_error *err)
{
    const char *text = labels[i];
    size_t len = strlen(text), all = len;
    rf_error why = {0};
    rf_status st = rf_label_check(&text, &len, &why);
    if (st != RF_OK)
        return rf_fail(err, st, i, "label %zu: %s", i + 1, why.msg);
    if (len != all)
        return rf_fail(err, RF_ERR_FORMAT, i,
                       "label %zu, \"%.60s\", has spaces around it", i + 1, labels[i]);
    if (strcmp(labels[i], "open") == 0)
        return rf_fail(err, RF_ERR_FORMAT, i,
                       "label %zu is \"open\", which is the answer for texts of no class",
                       i + 1);
    if (i > 0 && strcmp(labels[i - 1], labels[i]) >= 0)
        return rf_fail(err, RF_ERR_FORMAT, i,
                       "label %zu, \"%.60s\", does not come after \"%.60s\": wanted "
                       "distinct labels in order of their bytes",
                       i + 1, labels[i], labels[i - 1]);
    return RF_OK;
}

rf_status rf_model_set_labels(rf_model *m, const char *const *labels, size_t classes,
                              rf_error *err)
{
    size_t bytes = 0;
    if (classes == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "no labels, wanted at least one class");
    for (size_t i = 0; i < classes; i++) {
        rf_status st = check_label(labels, i, err);
        if (st != RF_OK)
            return st;
        bytes += strlen(labels[i]) + 1;
    }
    char **list = calloc(classes, sizeof *list);
    char *at = malloc(bytes);
    if (!list || !at) {
        free(list);
        free(at);
        return rf_fail_nomem(err, bytes + classes * sizeof *list, "labels");
    }
    free(m->labels);
    free(m->label_bytes);
    m->labels = list;
    m->label_bytes = at;
    m->classes = classes;
    for (size_t i = 0; i < classes; i++) {
        size_t n = strlen(labels[i]) + 1;
        list[i] = memcpy(at, labels[i], n);
        at += n;
    }
    return RF_OK;
}

/* Records a name that finds the encoder again from any directory: that of the catalogue
 * or the hub, or else the absolute path. */
static rf_status record_encoder_name(rf_model *m, const char *name, const char *dir,
                                     rf_error *err)
{
    /* Of the catalogue under its own name: an alias may mean another one later. */
    const rf_catalogue_item *item = strchr(name, '/') ? NULL : rf_catalogue_find(name);
    char *real = *name ? NULL : realpath(dir, NULL);
    if (!*name && !real)
        return rf_fail_errno(err, "%s: cannot find its absolute path", dir);
    const char *note = item ? item->entry.name : *name ? name : real;
    rf_status st = RF_OK;
    if (!is_utf8(note)) /* JSON cannot hold it */
        st = rf_fail(err, RF_ERR_ARG, 0, "%s: the path is not UTF-8", note);
    else if ((size_t)snprintf(m->encoder_name, sizeof m->encoder_name, "%s", note) >=
             sizeof m->encoder_name)
        st = rf_fail(err, RF_ERR_LIMIT, 0, "%.64s...: path longer than %d bytes", note,
                     RF_PATH_MAX - 1);
    free(real);
    return st;
}

rf_status rf_model_use_encoder(rf_model *m, const char *name, rf_error *err)
{
    char dir[RF_PATH_MAX], note[512];
    rf_error local = {0};
    rf_status st;
    err = err ? err : &local;
    if ((st = rf_encoder_find(name, dir, note, sizeof note, err)) != RF_OK ||
        (st = record_encoder_name(m, note, dir, err)) != RF_OK)
        return st;
    rf_encoder_free(m->encoder);
    m->encoder = rf_encoder_load_half(dir, err);
    if (!m->encoder)
        return err->code;
    const rf_safetensors *weights = m->encoder->weights.file;
    rf_sha256_bytes(weights->bytes, weights->len, m->encoder_sha256);
    rf_mapping_forget(&weights->mapping, 0, weights->mapping.len);
    m->tuned = 0;
    return RF_OK;
}

void rf_model_borrow_encoder(rf_model *m, const rf_model *from)
{
    rf_model *lender = from->lender ? from->lender : (rf_model *)(uintptr_t)from;
    atomic_fetch_add(&lender->users, 1); /* all that changes of a model once made */
    m->lender = lender;
    m->encoder = lender->encoder;
    memcpy(m->encoder_name, from->encoder_name, sizeof m->encoder_name);
    memcpy(m->encoder_sha256, from->encoder_sha256, sizeof m->encoder_sha256);
    m->tuned = from->tuned;
    m->max_tokens = from->max_tokens;
}

void rf_model_encoder_hash(const rf_model *m, char hex[RF_SHA256_HEX])
{
    unsigned char digest[RF_SHA256_SIZE];
    rf_sha256 h;
    rf_sha256_init(&h);
    rf_sha256_add(&h, m->encoder_sha256, sizeof m->encoder_sha256);
    for (size_t i = 0; i < RF_ENCODER_PARTS; i++) {
        const rf_encoder_part *p = &m->encoder->files.parts[i];
        uint64_t len = p->name ? p->len : 0;
        rf_sha256_add(&h, &len, sizeof len);
        if (p->name)
            rf_sha256_add(&h, p->bytes, p->len);
    }
    rf_sha256_end(&h, digest);
    rf_sha256_text(hex, digest);
}

/* ---- Queries ----------------------------------------------------------------------- */

const rf_encoder *rf_model_encoder(const rf_model *m)
{
    return m->encoder;
}

size_t rf_model_classes(const rf_model *m)
{
    return m->classes;
}

const char *rf_model_label(const rf_model *m, size_t i)
{
    if (i == RF_OPEN)
        return "open";
    return i < m->classes ? m->labels[i] : NULL;
}

size_t rf_model_find(const rf_model *m, const char *label, size_t len)
{
    size_t from = 0, to = m->classes;
    while (from < to) {
        size_t middle = from + (to - from) / 2, n = strlen(m->labels[middle]);
        size_t both = len < n ? len : n;
        int order = both ? memcmp(label, m->labels[middle], both) : 0;
        if (order == 0 && len == n)
            return middle;
        if (order < 0 || (order == 0 && len < n))
            to = middle;
        else
            from = middle + 1;
    }
    return RF_OPEN;
}

const char *rf_model_text(const rf_model *m, size_t row, size_t *len)
{
    uint64_t begin = m->texts && row ? m->text_ends[row - 1] : 0;
    *len = m->texts ? (size_t)(m->text_ends[row] - begin) : 0;
    return m->texts ? m->texts + begin : NULL;
}

const char *rf_model_json(const rf_model *m)
{
    return m->json;
}
