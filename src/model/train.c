/*
 * train.c - from labelled texts to a model: the two stages in order
 *
 *   texts -> tokens -> frozen layers (once) -> stage 1: upper layers, C-way classifier
 *         -> features -> class statistics   -> stage 2: one head per class
 *                     -> map
 *
 * Before stage 1 settings may be chosen, or fences planned, on folds that run both stages
 * without some of the classes (self_tune.h, budget.h).
 *
 * After stage 1 the tuned layers are rounded to half precision, as they are stored; the
 * heads learn on exactly the features that a loaded model computes.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "model/budget.h"
#include "model/fence_line.h"
#include "model/self_tune.h"
#include "model/settings_file.h"
#include "model/train_settings.h"
#include "model/training.h"
#include "num/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_SPLIT (UINT64_C(2) << 40)

/* ---- Rows -------------------------------------------------------------------------- */

static void part_add(rf_part *p, const rf_dataset *data, size_t row, size_t class_index)
{
    p->texts[p->n] = rf_dataset_text(data, row, &p->lens[p->n]);
    p->class_of[p->n++] = (uint32_t)class_index;
}

/* Marks the rows that are held out: by class, a share of its rows in random order. A
 * class keeps at least four rows to learn from. */
static rf_status hold_out(rf_training *t, const rf_dataset *data, bool *held)
{
    size_t rows = rf_dataset_rows(data), classes = t->model->classes;
    uint32_t *order = calloc(rows, sizeof *order);
    size_t *first = calloc(classes + 1, sizeof *first);
    if (!order || !first) {
        free(order);
        free(first);
        return rf_fail_nomem(t->err, rows * sizeof *order, "the held-out rows");
    }
    for (size_t c = 0; c < classes; c++) {
        size_t n;
        rf_dataset_label(data, c, &n);
        first[c + 1] = first[c] + n;
    }
    for (size_t i = rows; i-- > 0;) /* rows by class, from the back */
        order[--first[rf_dataset_class(data, i) + 1]] = (uint32_t)i;
    for (size_t c = 0; c < classes; c++) { /* first[c + 1] has become the begin of c */
        size_t n;
        const char *label = rf_dataset_label(data, c, &n);
        uint32_t *own = order + first[c + 1];
        rf_rng rng =
            rf_rng_open(rf_rng_key(t->o.seed, rf_label_key(label), STREAM_SPLIT, 0));
        rf_rng_shuffle(&rng, own, n);
        size_t take = (size_t)(t->o.dev_share * (double)n + 0.5);
        take = n < 5 ? 0 : take > n - 4 ? n - 4 : take;
        for (size_t i = 0; i < take; i++)
            held[own[i]] = true;
    }
    free(order);
    free(first);
    return RF_OK;
}

/* Texts of no class: as many as there are training rows, at most. */
static rf_status add_open_texts(rf_training *t)
{
    const rf_dataset *open = t->o.open_texts;
    rf_part *p = &t->train;
    size_t n = rf_dataset_rows(open);
    uint32_t *order = calloc(n, sizeof *order);
    if (!order)
        return rf_fail_nomem(t->err, n * sizeof *order, "the open texts");
    rf_open_text_order(order, n, t->o.seed);
    p->n_open = n < p->n ? n : p->n;
    for (size_t i = 0; i < p->n_open; i++)
        part_add(p, open, order[i], t->model->classes);
    free(order);
    return RF_OK;
}

static rf_status split_rows(rf_training *t, const rf_dataset *train,
                            const rf_dataset *dev)
{
    size_t rows = rf_dataset_rows(train), dev_rows = dev ? rf_dataset_rows(dev) : rows;
    bool *held = calloc(rows + 1, sizeof *held);
    rf_status st = held ? RF_OK : rf_fail_nomem(t->err, rows, "the rows");
    if (st == RF_OK) /* as many open texts as rows, at most */
        st = rf_part_room(&t->train, 2 * rows, t->err);
    if (st == RF_OK)
        st = rf_part_room(&t->dev, dev_rows, t->err);
    if (st == RF_OK && !dev && t->o.dev_share > 0.0) {
        t->held_out = true;
        st = hold_out(t, train, held);
    }
    for (size_t i = 0; i < rows && st == RF_OK; i++)
        part_add(held[i] ? &t->dev : &t->train, train, i, rf_dataset_class(train, i));
    for (size_t i = 0; dev && i < dev_rows && st == RF_OK; i++) {
        const char *label = rf_dataset_label(dev, rf_dataset_class(dev, i), NULL);
        size_t c = rf_model_find(t->model, label, strlen(label));
        if (c == RF_OPEN)
            t->dev_unknown++;
        else
            part_add(&t->dev, dev, i, c);
    }
    free(held);
    return st == RF_OK && t->o.open_texts ? add_open_texts(t) : st;
}

static rf_status take_method(rf_training *t)
{
    const char *name = t->o.method ? t->o.method : "ans";
    const rf_method *m = rf_method_find(name);
    if (!m)
        return rf_fail(t->err, RF_ERR_ARG, 0, "no method \"%.40s\"", name);
    if (m->wants_open_texts &&
        (!t->o.open_texts || rf_dataset_rows(t->o.open_texts) == 0))
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s learns from texts of no class: wanted some", name);
    if (!m->wants_open_texts && t->o.open_texts)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s does not use texts of no class, but some were given",
                       name);
    if (m->no_checkpoint && t->o.checkpoint)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s cannot go on from a checkpoint: train without one",
                       name);
    t->model->method = m;
    return RF_OK;
}

static rf_status take_labels(rf_training *t, const rf_dataset *data)
{
    size_t n = rf_dataset_classes(data);
    const char **labels = calloc(n + 1, sizeof *labels);
    if (!labels)
        return rf_fail_nomem(t->err, n * sizeof *labels, "the labels");
    rf_status st = RF_OK;
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        labels[i] = rf_dataset_label(data, i, NULL);
        if (strcmp(labels[i], "open") == 0)
            st = rf_fail(t->err, RF_ERR_FORMAT, 0,
                         "the training data has a class \"open\", which is the answer "
                         "for texts of no class; rename it, or leave its rows out: "
                         "nothing has to be learnt from them");
    }
    if (st == RF_OK)
        st = rf_model_set_labels(t->model, labels, n, t->err);
    free(labels);
    return st;
}

/* ---- Which training this is ---------------------------------------------------------
 */

static void hash_part(rf_sha256 *h, const rf_part *p, const rf_model *m)
{
    for (size_t i = 0; i < p->n; i++) {
        uint64_t len = p->lens[i];
        const char *label =
            p->class_of[i] < m->classes ? m->labels[p->class_of[i]] : "open";
        rf_sha256_add(h, &len, sizeof len);
        rf_sha256_add(h, p->texts[i], p->lens[i]);
        rf_sha256_add(h, label, strlen(label) + 1);
    }
}

/* Adds every number of the settings as a text of its own: a difference can be named. */
static bool list_settings(json_t *to, const json_t *settings, const char *prefix)
{
    const char *key;
    json_t *value;
    bool good = settings;
    json_object_foreach((json_t *)(uintptr_t)settings, key, value)
    {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, key);
        if (json_is_object(value)) {
            strcat(name, ".");
            good = good && list_settings(to, value, name);
            continue;
        }
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        good = good && text && json_object_set_new(to, name, json_string(text)) == 0;
        free(text);
    }
    return good;
}

static json_t *identify(const rf_training *t)
{
    unsigned char digest[RF_SHA256_SIZE];
    char hex[2][RF_SHA256_HEX];
    const rf_part *parts[2] = {&t->train, &t->dev};
    for (size_t i = 0; i < 2; i++) {
        rf_sha256 h;
        rf_sha256_init(&h);
        hash_part(&h, parts[i], t->model);
        rf_sha256_end(&h, digest);
        rf_sha256_text(hex[i], digest);
    }
    json_t *settings = rf_train_settings_json(&t->o);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "method", t->model->method->name,
                             "program", RF_VERSION, "kernels", rf_kernels_name(),
                             "encoder", t->model->encoder_sha256);
    bool good = json && list_settings(json, settings, "");
    char number[64];
    snprintf(number, sizeof number, "%d %.9g %.9g", (int)t->o.tune, t->o.max_false_accept,
             t->o.max_false_reject);
    /* The data last: which rows are held out follows from the settings. */
    good = good &&
           json_object_set_new(json, "tuning and budgets", json_string(number)) == 0 &&
           json_object_set_new(json, "training data", json_string(hex[0])) == 0 &&
           json_object_set_new(json, "dev data", json_string(hex[1])) == 0;
    if (!good) {
        json_decref(json);
        json = NULL;
    }
    json_decref(settings);
    return json;
}

/* ---- What the model keeps -----------------------------------------------------------
 */

static rf_status keep_rows(rf_training *t)
{
    rf_model *m = t->model;
    const rf_part *p = &t->train;
    size_t width = m->encoder->config.width, bytes = 0, n = p->n - p->n_open;
    for (size_t i = 0; i < n; i++)
        bytes += p->lens[i];
    m->features = calloc(n * width, sizeof *m->features);
    m->row_class = calloc(n, sizeof *m->row_class);
    m->texts = malloc(bytes + 1);
    m->text_ends = calloc(n, sizeof *m->text_ends);
    if (!m->features || !m->row_class || !m->texts || !m->text_ends)
        return rf_fail_nomem(t->err, n * width * sizeof *m->features, "the rows to keep");
    rf_train_kernels()->narrow_f16(m->features, p->z, n * width);
    for (size_t i = 0, at = 0; i < n; i++) {
        m->row_class[i] = (int32_t)p->class_of[i];
        memcpy(m->texts + at, p->texts[i], p->lens[i]);
        m->text_ends[i] = at += p->lens[i];
    }
    m->n_rows = n;
    return RF_OK;
}

/* Per class: what became of its head. */
static json_t *head_list(const rf_training *t)
{
    json_t *list = json_array();
    bool good = list;
    for (size_t i = 0; t->reports && i < t->model->classes && good; i++) {
        const rf_ans_report *r = &t->reports[i];
        json_t *dev =
            r->dev_recall < 0.0f ? json_null() : json_real((double)r->dev_recall);
        good =
            json_array_append_new(
                list, json_pack("{s:s, s:I, s:f, s:f, s:o}", "label", t->model->labels[i],
                                "steps", (json_int_t)r->steps, "loss", (double)r->loss,
                                "recall", (double)r->recall, "dev_recall", dev)) == 0;
    }
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

/* What the folds gave. */
typedef struct foresight {
    rf_tuning tuning;
    rf_budget budget;
} foresight;

static bool wants_budget(const rf_training *t)
{
    return t->o.max_false_accept > 0.0 || t->o.max_false_reject > 0.0;
}

static rf_status describe_folds(rf_training *t, const foresight *f)
{
    json_t *summary = t->model->summary;
    bool good = true;
    if (t->o.tune != RF_TUNE_OFF)
        good = json_object_set_new(summary, "tuning", rf_tuning_json(&f->tuning)) == 0;
    if (good && wants_budget(t))
        good = json_object_set_new(summary, "budget",
                                   rf_budget_json(&f->budget, t->model)) == 0;
    return good ? RF_OK : rf_fail_nomem(t->err, 4096, "the summary");
}

static rf_status describe(rf_training *t, const foresight *f)
{
    rf_model *m = t->model;
    const rf_tune_state *k = &t->known;
    m->max_tokens = t->o.max_tokens;
    m->settings = rf_train_settings_json(&t->o);
    m->summary = json_pack(
        "{s:I, s:I, s:I, s:b, s:I, s:I, s:{s:I, s:I, s:f, s:o, s:o}, s:o}", "rows",
        (json_int_t)(t->train.n - t->train.n_open), "open_texts",
        (json_int_t)t->train.n_open, "dev_rows", (json_int_t)t->dev.n, "dev_held_out",
        t->held_out, "dev_unknown", (json_int_t)t->dev_unknown, "cut_texts",
        (json_int_t)t->n_cut, "known", "epochs", (json_int_t)k->epoch, "best_epoch",
        (json_int_t)k->best_epoch, "loss", k->loss, "dev_accuracy",
        t->dev.n ? json_real(k->best_accuracy) : json_null(), "dev_loss",
        t->dev.n ? json_real(k->best_loss) : json_null(), "heads", head_list(t));
    if (!m->settings || !m->summary)
        return rf_fail_nomem(t->err, 1024 + 256 * m->classes, "the summary");
    rf_status st = describe_folds(t, f);
    return st == RF_OK ? rf_model_describe(m, t->err) : st;
}

/* ---- All of it ----------------------------------------------------------------------
 */

/* Model, options and rows: all that can be refused before the work begins. */
static rf_status prepare(rf_training *t, const rf_dataset *train, const rf_dataset *dev)
{
    rf_status st;
    if (rf_dataset_rows(train) == 0)
        return rf_fail(t->err, RF_ERR_ARG, 0, "the training data has no rows");
    t->model = rf_model_new(t->err);
    if (!t->model)
        return RF_ERR_NOMEM;
    if ((st = take_method(t)) != RF_OK || (st = take_labels(t, train)) != RF_OK ||
        (st = rf_model_use_encoder(t->model, t->o.encoder ? t->o.encoder : "minilm",
                                   t->err)) != RF_OK ||
        (st = rf_train_resolve(&t->o, &t->model->encoder->config, rf_dataset_rows(train),
                               t->model->classes, t->err)) != RF_OK ||
        (st = split_rows(t, train, dev)) != RF_OK)
        return st;
    if (t->o.tune != RF_TUNE_OFF && !t->model->method->heads)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s has no settings that tuning chooses: it needs ans or "
                       "ovr",
                       t->model->method->name);
    return wants_budget(t) ? rf_budget_check(t) : RF_OK;
}

static rf_status encode(rf_training *t)
{
    t->team = rf_team_new(t->o.threads, t->err);
    return t->team ? rf_training_encode(t) : RF_ERR_NOMEM;
}

static const rf_candidate *chosen(const foresight *f)
{
    return &f->tuning.trials[f->tuning.chosen];
}

/* Settings and fences by the folds; the rows are encoded. */
static rf_status look_ahead(rf_training *t, foresight *f)
{
    if (t->o.tune == RF_TUNE_OFF && !wants_budget(t))
        return RF_OK;
    rf_status st = rf_self_tune(t, &f->tuning);
    if (st != RF_OK || !wants_budget(t))
        return st;
    t->o.fence_reject = 1.0f; /* the budget says where the fences stand */
    t->o.fence_offset = 0.0f;
    return rf_budget_plan(&f->budget, t, chosen(f)->outcomes, f->tuning.folds);
}

/* The largest margin of an outcome, the fences being where the model has them. */
static float settled_margin(const rf_training *t, const foresight *f, const rf_outcome *x)
{
    float best = -INFINITY;
    for (size_t k = 0; k < RF_OUTCOME_HEADS && isfinite(x->margin[k]); k++) {
        float move = wants_budget(t) ? f->budget.common + f->budget.own[x->head[k]]
                                     : t->loosened + t->o.fence_offset;
        best = x->margin[k] + move > best ? x->margin[k] + move : best;
    }
    return best;
}

/* Confidence by the folds, if there were any. */
static rf_status calibrate(rf_training *t, const foresight *f)
{
    size_t n = 0, at = 0;
    if (!f->tuning.trials || f->tuning.why_not[0])
        return RF_OK;
    const rf_outcomes *folds = chosen(f)->outcomes;
    for (size_t i = 0; i < chosen(f)->folds; i++)
        n += folds[i].n;
    float *margin = rf_floats_new(n + 1);
    uint8_t *known = calloc(n + 1, 1);
    rf_status st = margin && known
                       ? RF_OK
                       : rf_fail_nomem(t->err, n * sizeof *margin, "the outcomes");
    for (size_t i = 0; i < chosen(f)->folds && st == RF_OK; i++)
        for (size_t k = 0; k < folds[i].n; k++) {
            known[at] = !folds[i].row[k].hidden;
            margin[at++] = settled_margin(t, f, &folds[i].row[k]);
        }
    if (st == RF_OK)
        st = rf_calibration_fit_known(&t->model->calibration, margin, known, n, t->err);
    free(known);
    free(margin);
    return st;
}

static rf_status run(rf_training *t, foresight *f, const rf_dataset *train,
                     const rf_dataset *dev)
{
    rf_status st = prepare(t, train, dev);
    if (st != RF_OK)
        return st;
    json_t *identity = identify(t);
    st = identity ? rf_checkpoint_open(&t->checkpoint, t->o.checkpoint, t->o.resume,
                                       identity, t->err)
                  : rf_fail_nomem(t->err, 1024, "the training's identity");
    json_decref(identity);
    if (st != RF_OK || (st = encode(t)) != RF_OK || (st = look_ahead(t, f)) != RF_OK ||
        (st = rf_training_known(t)) != RF_OK || (st = rf_training_features(t)) != RF_OK ||
        (st = rf_training_open(t)) != RF_OK)
        return st;
    if (wants_budget(t) && ((st = rf_budget_settle(&f->budget, t, chosen(f)->outcomes,
                                                   f->tuning.folds)) != RF_OK ||
                            (st = rf_training_look_at_dev(t)) != RF_OK))
        return st;
    if ((st = calibrate(t, f)) != RF_OK || (st = keep_rows(t)) != RF_OK ||
        (st = rf_training_map(t)) != RF_OK)
        return st;
    return describe(t, f);
}

static void release(rf_training *t, foresight *f)
{
    rf_training_release(t);
    rf_team_free(t->team);
    rf_tuning_release(&f->tuning);
    rf_budget_release(&f->budget);
}

rf_model *rf_train(const rf_dataset *train, const rf_dataset *dev,
                   const rf_train_options *options, rf_error *err)
{
    rf_error local;
    foresight f = {0};
    rf_training t = {.o = options ? *options : rf_train_options_default(),
                     .start = rf_seconds(),
                     .err = err ? err : &local};
    rf_status st = run(&t, &f, train, dev);
    release(&t, &f);
    if (st == RF_OK)
        return t.model;
    rf_model_free(t.model);
    return NULL;
}

/* ---- The settings alone -------------------------------------------------------------
 */

static rf_status write_settings(const rf_training *t, const foresight *f, char **json)
{
    json_t *root = json_pack("{s:o, s:o}", "settings", rf_settings_json(&t->o), "tuning",
                             rf_tuning_json(&f->tuning));
    *json = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(root);
    return *json ? RF_OK : rf_fail_nomem(t->err, 4096, "the settings");
}

rf_status rf_tune_settings(const rf_dataset *train, const rf_dataset *dev,
                           const rf_train_options *options, char **json, rf_error *err)
{
    rf_error local;
    foresight f = {0};
    rf_training t = {.o = options ? *options : rf_train_options_default(),
                     .start = rf_seconds(),
                     .err = err ? err : &local};
    *json = NULL;
    t.o.checkpoint = NULL;
    t.o.max_false_accept = t.o.max_false_reject = 0.0;
    t.o.tune = t.o.tune == RF_TUNE_OFF ? RF_TUNE_QUICK : t.o.tune;
    rf_status st;
    if ((st = prepare(&t, train, dev)) == RF_OK && (st = encode(&t)) == RF_OK &&
        (st = look_ahead(&t, &f)) == RF_OK)
        st = write_settings(&t, &f, json);
    release(&t, &f);
    rf_model_free(t.model);
    return st;
}
