/*
 * train.c - from labelled texts to a model: the two stages in order
 *
 *   texts -> tokens -> frozen layers (once) -> stage 1: upper layers, C-way classifier
 *         -> features -> class statistics   -> stage 2: one head per class
 *                     -> map
 *
 * Before stage 1, folds that hide some of the classes may choose settings or plan the
 * fences (self_tune.h, budget.h).
 *
 * After stage 1 the tuned layers are rounded to half precision, as they are stored, so
 * the heads learn from exactly the features that a loaded model computes.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "base/streams.h"
#include "folds/budget.h"
#include "folds/cross_fit.h"
#include "stages/fence_line.h"
#include "folds/self_tune.h"
#include "folds/settings_file.h"
#include "stages/train_settings.h"
#include "stages/training.h"
#include "methods/methods.h"
#include "num/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows -------------------------------------------------------------------------- */

static void part_add(rf_part *p, const rf_dataset *data, size_t row, size_t class_index)
{
    p->texts[p->n] = rf_dataset_text(data, row, &p->lens[p->n]);
    p->class_of[p->n++] = (uint32_t)class_index;
}

/* Marks the held-out rows: a random share of each class, which keeps at least four
 * rows for training. */
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
    for (size_t i = rows; i-- > 0;) /* sort rows by class, from the back */
        order[--first[rf_dataset_class(data, i) + 1]] = (uint32_t)i;
    for (size_t c = 0; c < classes; c++) { /* first[c + 1] is now the start of class c */
        size_t n;
        const char *label = rf_dataset_label(data, c, &n);
        uint32_t *own = order + first[c + 1];
        rf_rng rng = rf_rng_open(
            rf_stream_key(t->o.seed, RF_STREAM_HELD_OUT, rf_label_key(label), 0));
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

/* Adds texts of no class: for stage 1 at most as many as there are training rows. */
static rf_status add_open_texts(rf_training *t)
{
    const rf_dataset *open = t->o.open_texts;
    rf_part *p = &t->train;
    size_t n = rf_dataset_rows(open);
    uint32_t *order = calloc(n, sizeof *order);
    if (!order)
        return rf_fail_nomem(t->err, n * sizeof *order, "the open texts");
    rf_open_text_order(order, n, t->o.seed);
    p->n_open = t->model->method->wants_open_texts && p->n < n ? p->n : n;
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
    size_t open = t->o.open_texts ? rf_dataset_rows(t->o.open_texts) : 0;
    if (st == RF_OK)
        st = rf_part_room(&t->train, rows + open, t->err);
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

static rf_status set_method(rf_training *t)
{
    const rf_method *m = rf_method_find(t->o.method);
    if (!m)
        return rf_fail(t->err, RF_ERR_ARG, 0, "no method \"%.40s\"", t->o.method);
    if (m->wants_open_texts &&
        (!t->o.open_texts || rf_dataset_rows(t->o.open_texts) == 0))
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s learns from texts of no class: wanted some", m->name);
    if (!m->wants_open_texts && !m->takes_open_texts && t->o.open_texts)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s does not use texts of no class, but some were given",
                       m->name);
    if (m->no_checkpoint && t->o.checkpoint)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s cannot resume from a checkpoint: train without one",
                       m->name);
    t->model->method = m;
    return RF_OK;
}

static rf_status set_labels(rf_training *t, const rf_dataset *data)
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
                         "for texts of no class; rename it, or pass its rows as open "
                         "texts (--open-label open)");
    }
    if (st == RF_OK)
        st = rf_model_set_labels(t->model, labels, n, t->err);
    free(labels);
    return st;
}

/* ---- Identity of a training -------------------------------------------------------- */

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

/* Adds every setting under its own key, so that a mismatch can be named. */
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

static json_t *training_identity(const rf_training *t)
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
    json_t *settings = rf_train_settings_json(&t->o, &t->s);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "method", t->model->method->name,
                             "program", RF_VERSION, "kernels", rf_kernels_name(),
                             "encoder", t->model->encoder_sha256);
    bool good = json && list_settings(json, settings, "");
    char number[64];
    snprintf(number, sizeof number, "%d %.9g %.9g", (int)t->o.tune, t->o.max_false_accept,
             t->o.max_false_reject);
    /* Data last: a changed setting may change the held-out rows, and should be named
     * first. */
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

/* ---- What the model stores --------------------------------------------------------- */

static rf_status store_rows(rf_training *t)
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

static rf_status learn_spelling(rf_training *t)
{
    if (!t->s.spelling)
        return RF_OK;
    t->model->spelling =
        rf_spelling_learn(t->model->encoder->vocab, NULL, t->train.texts, t->train.lens,
                          t->train.n - t->train.n_open, t->err);
    return t->model->spelling ? RF_OK : t->err->code;
}

static json_t *share_json(float share)
{
    return share < 0.0f ? json_null() : json_real((double)share);
}

/* How the training of each class ended. */
static json_t *head_list(const rf_training *t)
{
    json_t *list = json_array();
    bool good = list;
    size_t n = t->model->method->trains_by_class ? t->model->classes : 0;
    for (size_t i = 0; i < n && good; i++) {
        const rf_class_report *r = &t->reports[i];
        good =
            json_array_append_new(
                list, json_pack("{s:s, s:I, s:f, s:o, s:o}", "label", t->model->labels[i],
                                "steps", (json_int_t)r->steps, "loss", (double)r->loss,
                                "recall", share_json(r->recall), "dev_recall",
                                share_json(r->dev_recall))) == 0;
    }
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

/* Results of the folds. */
typedef struct fold_results {
    rf_tuning tuning;
    rf_cross_fit cross;
    rf_budget budget;
} fold_results;

static bool wants_budget(const rf_training *t)
{
    return t->o.max_false_accept > 0.0 || t->o.max_false_reject > 0.0;
}

static rf_status describe_folds(rf_training *t, const fold_results *f)
{
    json_t *summary = t->model->summary;
    bool good = true;
    if (t->o.tune != RF_TUNE_OFF)
        good = json_object_set_new(summary, "tuning", rf_tuning_json(&f->tuning)) == 0;
    if (good && f->cross.classes > 0)
        good = json_object_set_new(summary, "expected",
                                   rf_cross_fit_json(&f->cross, t->model)) == 0;
    if (good && wants_budget(t))
        good = json_object_set_new(summary, "budget",
                                   rf_budget_json(&f->budget, t->model)) == 0;
    return good ? RF_OK : rf_fail_nomem(t->err, 4096, "the summary");
}

static rf_status describe_model(rf_training *t, const fold_results *f)
{
    rf_model *m = t->model;
    const rf_fine_tune_state *k = &t->known;
    m->max_tokens = t->o.max_tokens;
    m->settings = rf_train_settings_json(&t->o, &t->s);
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

/* ---- Training ---------------------------------------------------------------------- */

/* Sets up model, options and rows; everything that can be refused without work is
 * refused here. */
static rf_status prepare_training(rf_training *t, const rf_dataset *train,
                                  const rf_dataset *dev)
{
    t->s = rf_settings_default();
    rf_status st = rf_settings_parse(&t->s, t->o.settings, t->err);
    if (st != RF_OK)
        return st;
    if (rf_dataset_rows(train) == 0)
        return rf_fail(t->err, RF_ERR_ARG, 0, "the training data has no rows");
    t->model = rf_model_new(t->err);
    if (!t->model)
        return RF_ERR_NOMEM;
    if ((st = set_method(t)) != RF_OK || (st = set_labels(t, train)) != RF_OK ||
        (st = rf_model_use_encoder(t->model, t->o.encoder ? t->o.encoder : "minilm",
                                   t->err)) != RF_OK ||
        (st = rf_train_resolve(&t->o, &t->s, &t->model->encoder->config,
                               rf_dataset_rows(train), t->model->classes, t->err)) !=
            RF_OK ||
        (st = split_rows(t, train, dev)) != RF_OK)
        return st;
    if (t->o.tune != RF_TUNE_OFF && !t->model->method->head_settings)
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "method %s has no settings that tuning chooses: it needs ans or "
                       "ovr",
                       t->model->method->name);
    return wants_budget(t) ? rf_budget_check(t) : RF_OK;
}

static rf_status encode_rows(rf_training *t)
{
    t->team = rf_team_new(t->o.threads, t->err);
    return t->team ? rf_training_encode(t) : RF_ERR_NOMEM;
}

/* Folds place the fence of methods that can, unless the user said where it goes. */
static bool wants_cross_fit(const rf_training *t)
{
    return t->model->method->cross_fits && t->s.fence_reject == 0.0f;
}

/* Layers that go all the way back to where they came from need no tuning. */
static rf_status skip_useless_tuning(rf_training *t)
{
    bool useless = t->model->method->blends_layers && t->s.blend == 0.0f;
    return useless && t->s.train_layers > 0 ? rf_training_freeze(t) : RF_OK;
}

/* Chooses settings, places the fence and plans budgets on folds. The rows must be
 * encoded. */
static rf_status run_folds(rf_training *t, fold_results *f)
{
    rf_status st = t->o.tune == RF_TUNE_OFF ? RF_OK : rf_self_tune(t, &f->tuning);
    if (st != RF_OK || !(wants_cross_fit(t) || wants_budget(t)))
        return st;
    st = rf_cross_fit_run(&f->cross, t);
    if (st != RF_OK || !wants_budget(t))
        return st;
    if (f->cross.why_not[0])
        return rf_fail(t->err, RF_ERR_ARG, 0,
                       "an error budget cannot be shown with these data: %s",
                       f->cross.why_not);
    t->s.fence_reject = 1.0f; /* the budget places the fences */
    t->s.fence_offset = 0.0f;
    t->fence = 0.0f;
    return rf_budget_plan(&f->budget, t, f->cross.outcomes, f->cross.folds);
}

/* Fits the confidence to the answers of the folds: those of the cross-fit, or else of
 * tuning. */
static rf_status calibrate_confidence(rf_training *t, const fold_results *f)
{
    if (f->cross.folds > 0)
        return rf_cross_fit_calibrate(&f->cross, t);
    if (!f->tuning.trials || f->tuning.why_not[0])
        return RF_OK;
    const rf_candidate *chosen = &f->tuning.trials[f->tuning.chosen];
    rf_cross_fit as_tuned = {.folds = chosen->folds,
                             .classes = t->model->classes,
                             .offset = t->loosened + t->s.fence_offset};
    memcpy(as_tuned.outcomes, chosen->outcomes, sizeof as_tuned.outcomes);
    return rf_cross_fit_calibrate(&as_tuned, t); /* borrowed: not released */
}

static rf_status run_training(rf_training *t, fold_results *f, const rf_dataset *train,
                              const rf_dataset *dev)
{
    rf_status st = prepare_training(t, train, dev);
    if (st != RF_OK)
        return st;
    json_t *identity = training_identity(t);
    st = identity ? rf_checkpoint_open(&t->checkpoint, t->o.checkpoint, t->o.resume,
                                       identity, t->err)
                  : rf_fail_nomem(t->err, 1024, "the training's identity");
    json_decref(identity);
    if (st != RF_OK || (st = encode_rows(t)) != RF_OK ||
        (st = run_folds(t, f)) != RF_OK || (st = skip_useless_tuning(t)) != RF_OK ||
        (st = rf_training_known(t)) != RF_OK || (st = rf_training_features(t)) != RF_OK ||
        (st = rf_training_open(t)) != RF_OK)
        return st;
    if (wants_budget(t)) {
        st = rf_budget_place(&f->budget, t, f->cross.outcomes, f->cross.folds);
        if (st != RF_OK || (st = rf_training_measure_dev(t)) != RF_OK)
            return st;
        rf_budget_apply(&f->budget, f->cross.outcomes, f->cross.folds);
        f->cross.offset = 0.0f;
    }
    if ((st = calibrate_confidence(t, f)) != RF_OK ||
        (f->cross.folds > 0 && (st = rf_cross_fit_expect(&f->cross, t)) != RF_OK))
        return st;
    if ((st = store_rows(t)) != RF_OK || (st = learn_spelling(t)) != RF_OK ||
        (st = rf_training_map(t)) != RF_OK)
        return st;
    return describe_model(t, f);
}

static void release_training(rf_training *t, fold_results *f)
{
    rf_training_release(t);
    rf_team_free(t->team);
    rf_tuning_release(&f->tuning);
    rf_cross_fit_release(&f->cross);
    rf_budget_release(&f->budget);
}

rf_model *rf_train(const rf_dataset *train, const rf_dataset *dev,
                   const rf_train_options *options, rf_error *err)
{
    rf_error local;
    fold_results f = {0};
    rf_training t = {.o = rf_train_options_default(),
                     .start = rf_clock_seconds(),
                     .err = err ? err : &local};
    rf_status st = rf_options_take(&t.o, sizeof t.o, options, "rf_train_options", t.err);
    if (st == RF_OK)
        st = run_training(&t, &f, train, dev);
    release_training(&t, &f);
    if (st == RF_OK)
        return t.model;
    rf_model_free(t.model);
    return NULL;
}

/* ---- Settings only ----------------------------------------------------------------- */

static rf_status write_settings(const rf_training *t, const fold_results *f, char **json)
{
    json_t *root = json_pack("{s:o, s:o}", "settings", rf_tuned_settings_json(&t->s),
                             "tuning", rf_tuning_json(&f->tuning));
    *json = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(root);
    return *json ? RF_OK : rf_fail_nomem(t->err, 4096, "the settings");
}

rf_status rf_tune_settings(const rf_dataset *train, const rf_dataset *dev,
                           const rf_train_options *options, char **json, rf_error *err)
{
    rf_error local;
    fold_results f = {0};
    rf_training t = {.o = rf_train_options_default(),
                     .start = rf_clock_seconds(),
                     .err = err ? err : &local};
    *json = NULL;
    rf_status st = rf_options_take(&t.o, sizeof t.o, options, "rf_train_options", t.err);
    if (st != RF_OK)
        return st;
    t.o.checkpoint = NULL;
    t.o.max_false_accept = t.o.max_false_reject = 0.0;
    t.o.tune = t.o.tune == RF_TUNE_OFF ? RF_TUNE_QUICK : t.o.tune;
    if ((st = prepare_training(&t, train, dev)) == RF_OK &&
        (st = encode_rows(&t)) == RF_OK && (st = rf_self_tune(&t, &f.tuning)) == RF_OK)
        st = write_settings(&t, &f, json);
    release_training(&t, &f);
    rf_model_free(t.model);
    return st;
}
