/*
 * train.c - from labelled texts to a model: the two stages in order
 *
 *   texts -> tokens -> frozen layers (once) -> stage 1: upper layers, C-way classifier
 *         -> features -> class statistics   -> stage 2: one head per class
 *
 * After stage 1 the tuned layers are rounded to half precision, as they are stored; the
 * heads learn on exactly the features that a loaded model computes.
 */
#include "base/memory.h"
#include "base/rng.h"
#include "encoder/activations.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "model/train_settings.h"
#include "num/panels.h"
#include "num/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Heads per thread between two looks at progress and checkpoint. */
#define HEADS_AT_ONCE 4
#define STREAM_SPLIT (UINT64_C(2) << 40)
#define STREAM_KNOWN (UINT64_C(3) << 40)

/* Some rows of a data set, by class of the model. */
typedef struct part {
    size_t n;
    const char **texts;
    size_t *lens;
    uint32_t *class_of;
    rf_activations a;
    float *z; /* [n, width] */
} part;

typedef struct training {
    rf_train_options o; /* resolved */
    rf_model *model;
    rf_team *team;
    part train, dev;
    size_t n_cut;       /* training texts longer than max_tokens */
    size_t dev_unknown; /* dev rows whose label is not in the training set */
    bool held_out;      /* dev was taken from the training rows */
    rf_checkpoint checkpoint;
    rf_tune_state known; /* how stage 1 ended */
    size_t known_steps;
    rf_ans_report *reports; /* [classes] */

    double start, stage_start; /* seconds */
    rf_stage stage;
    size_t stage_first, stage_total; /* done before this run began; in all */
    rf_train_event last;
    rf_error *err;
} training;

/* ---- Progress ---------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(training *t, rf_stage stage, size_t done, size_t total)
{
    t->stage = stage;
    t->stage_start = seconds();
    t->stage_first = done;
    t->stage_total = total;
}

/* Tells the caller; anything but 0 means stop. */
static int tell(training *t, size_t done, bool epoch_end)
{
    if (!t->o.progress)
        return 0;
    double now = seconds();
    size_t new = done - t->stage_first;
    rf_train_event *e = &t->last;
    e->stage = t->stage;
    e->done = done;
    e->total = t->stage_total;
    e->epoch_end = epoch_end;
    e->seconds = now - t->start;
    e->seconds_left =
        new ? (now - t->stage_start) / (double)new *(double)(t->stage_total - done)
            : -1.0;
    return t->o.progress(t->o.user, e);
}

static int told(void *user, size_t done)
{
    return tell(user, done, false);
}

static rf_status stopped(training *t)
{
    return rf_fail(t->err, RF_ERR_STOPPED, 0, "training was stopped");
}

/* ---- Rows -------------------------------------------------------------------------- */

static void part_release(part *p)
{
    free(p->texts);
    free(p->lens);
    free(p->class_of);
    free(p->z);
    rf_activations_release(&p->a);
    *p = (part){0};
}

static rf_status part_room(part *p, size_t most, rf_error *err)
{
    p->texts = calloc(most + 1, sizeof *p->texts);
    p->lens = calloc(most + 1, sizeof *p->lens);
    p->class_of = calloc(most + 1, sizeof *p->class_of);
    return p->texts && p->lens && p->class_of
               ? RF_OK
               : rf_fail_nomem(err, most * sizeof *p->texts, "the rows");
}

static void part_add(part *p, const rf_dataset *data, size_t row, size_t class_index)
{
    p->texts[p->n] = rf_dataset_text(data, row, &p->lens[p->n]);
    p->class_of[p->n++] = (uint32_t)class_index;
}

/* Names the random streams of a class, so it is part of the result: it must stay as it
 * is, which the hash of the data sets' tables need not. */
static uint64_t label_key(const char *label)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (; *label; label++)
        h = (h ^ (unsigned char)*label) * 1099511628211u;
    return rf_rng_mix(h);
}

/* Marks the rows that are held out: by class, a share of its rows in random order. A
 * class keeps at least four rows to learn from. */
static rf_status hold_out(training *t, const rf_dataset *data, bool *held)
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
            rf_rng_open(rf_rng_key(t->o.seed, label_key(label), STREAM_SPLIT, 0));
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

static rf_status split_rows(training *t, const rf_dataset *train, const rf_dataset *dev)
{
    size_t rows = rf_dataset_rows(train), dev_rows = dev ? rf_dataset_rows(dev) : rows;
    bool *held = calloc(rows + 1, sizeof *held);
    rf_status st = held ? RF_OK : rf_fail_nomem(t->err, rows, "the rows");
    if (st == RF_OK)
        st = part_room(&t->train, rows, t->err);
    if (st == RF_OK)
        st = part_room(&t->dev, dev_rows, t->err);
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
    return st;
}

static rf_status take_labels(training *t, const rf_dataset *data)
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

static void hash_part(rf_sha256 *h, const part *p, const rf_model *m)
{
    for (size_t i = 0; i < p->n; i++) {
        uint64_t len = p->lens[i];
        const char *label = m->labels[p->class_of[i]];
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

static json_t *identify(const training *t)
{
    unsigned char digest[RF_SHA256_SIZE];
    char hex[2][RF_SHA256_HEX];
    const part *parts[2] = {&t->train, &t->dev};
    for (size_t i = 0; i < 2; i++) {
        rf_sha256 h;
        rf_sha256_init(&h);
        hash_part(&h, parts[i], t->model);
        rf_sha256_end(&h, digest);
        rf_sha256_text(hex[i], digest);
    }
    json_t *settings = rf_train_settings_json(&t->o);
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s}", "program", RF_VERSION, "kernels", rf_kernels_name(),
        "encoder", t->model->encoder_sha256, "training data", hex[0], "dev data", hex[1]);
    if (json && !list_settings(json, settings, "")) {
        json_decref(json);
        json = NULL;
    }
    json_decref(settings);
    return json;
}

/* ---- Stage 1 ----------------------------------------------------------------------- */

static rf_status encode(training *t)
{
    const rf_config *c = &t->model->encoder->config;
    const char *tmp = getenv("TMPDIR");
    rf_activation_options o = {.layer = c->layers - t->o.train_layers,
                               .max_tokens = t->o.max_tokens,
                               .cache_bytes = t->o.cache_mb << 20,
                               .cache_dir = t->o.cache_dir ? t->o.cache_dir
                                            : tmp && *tmp  ? tmp
                                                           : "/tmp",
                               .done = told,
                               .user = t};
    part *parts[2] = {&t->train, &t->dev};
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        part *p = parts[i];
        begin(t, RF_STAGE_ENCODE, 0, p->n);
        st = rf_activations_init(&p->a, t->model->encoder, p->texts, p->lens, p->n, &o,
                                 t->team, t->err);
    }
    t->n_cut = t->train.a.n_cut;
    return st;
}

static rf_status run_epochs(training *t, rf_tune *tune)
{
    size_t per_epoch = rf_tune_steps(tune) / t->o.epochs;
    rf_tune_state *s = rf_tune_where(tune);
    bool found;
    rf_status st = rf_checkpoint_load_known(&t->checkpoint, tune, &found, t->err);
    begin(t, RF_STAGE_KNOWN, s->epoch * per_epoch, rf_tune_steps(tune));
    t->last.epochs = t->o.epochs;
    while (st == RF_OK && !rf_tune_finished(tune)) {
        st = rf_tune_epoch(tune, told, t, t->err);
        if (st == RF_OK)
            st = rf_checkpoint_save_known(&t->checkpoint, tune, t->err);
        t->last.epoch = s->epoch;
        t->last.loss = s->loss;
        t->last.dev_accuracy = t->dev.n ? s->accuracy : -1.0;
        if (st == RF_OK && tell(t, s->epoch * per_epoch, true) != 0)
            st = stopped(t);
    }
    t->known = *s;
    t->known_steps = s->epoch * per_epoch;
    return st;
}

/* Weights as the model file holds them. */
static void round_half(float *x, size_t n)
{
    uint16_t half[256];
    for (size_t i = 0; i < n; i += 256) {
        size_t some = n - i < 256 ? n - i : 256;
        rf_train_kernels()->narrow_f16(half, x + i, some);
        rf_kernels()->widen_f16(x + i, half, some);
    }
}

static rf_status round_tuned(training *t)
{
    rf_encoder *e = t->model->encoder;
    const rf_config *c = &e->config;
    for (size_t i = c->layers - t->o.train_layers; i < c->layers; i++)
        for (size_t g = 0; g < RF_LAYER_GROUPS; g++) {
            rf_layer_group y = rf_encoder_layer_group(e, i, g);
            size_t out = y.n_names * y.out;
            size_t n = y.in ? rf_panels_floats(out, y.in) : out;
            round_half(y.weight, n);
            round_half(y.bias, out);
            if (!rf_kernels()->all_finite(y.weight, n) ||
                !rf_kernels()->all_finite(y.bias, out))
                return rf_fail(t->err, RF_ERR_NUMERIC, 0,
                               "layer %zu: tuning gave weights beyond half precision; a "
                               "smaller learning rate may help",
                               i);
        }
    return RF_OK;
}

static rf_status learn_known(training *t)
{
    rf_model *m = t->model;
    rf_status st = rf_known_init(&m->known, m->encoder->config.width, m->classes, t->err);
    if (st != RF_OK)
        return st;
    rf_known_reset(&m->known, rf_rng_key(t->o.seed, STREAM_KNOWN, 0, 0));
    const rf_tune_options o = rf_train_tune_options(&t->o);
    rf_tune *tune =
        rf_tune_new(m->encoder, t->o.train_layers, &m->known,
                    (rf_labelled){&t->train.a, t->train.class_of},
                    (rf_labelled){&t->dev.a, t->dev.class_of}, &o, t->team, t->err);
    if (!tune)
        return RF_ERR_NOMEM;
    st = run_epochs(t, tune);
    if (st == RF_OK) {
        rf_tune_restore_best(tune);
        m->tuned = t->o.train_layers;
    }
    rf_tune_free(tune);
    return st == RF_OK ? round_tuned(t) : st;
}

static rf_status take_features(training *t)
{
    part *parts[2] = {&t->train, &t->dev};
    size_t width = t->model->encoder->config.width;
    rf_status st = RF_OK;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        part *p = parts[i];
        begin(t, RF_STAGE_FEATURES, 0, p->n);
        p->z = rf_floats_new(p->n * width + 1);
        if (!p->z)
            return rf_fail_nomem(t->err, p->n * width * sizeof(float), "the features");
        st = rf_activations_features(&p->a, t->model->encoder, p->z, t->team, told, t,
                                     t->err);
        rf_activations_release(&p->a);
    }
    return st;
}

/* ---- Stage 2 ----------------------------------------------------------------------- */

static rf_status run_heads(training *t, const rf_ans_problem *problem)
{
    rf_model *m = t->model;
    const rf_ans_options o = rf_train_ans_options(&t->o);
    size_t most = HEADS_AT_ONCE * t->o.threads, from = 0;
    rf_status st = RF_OK;
    for (size_t n = 1; from < m->classes && n > 0 && st == RF_OK; from += n)
        st = rf_checkpoint_load_heads(&t->checkpoint, &m->heads, from, &n,
                                      t->reports + from, t->err);
    begin(t, RF_STAGE_OPEN, from, m->classes);
    while (from < m->classes && st == RF_OK) {
        size_t to = from + most < m->classes ? from + most : m->classes;
        st = rf_ans_train(&m->heads, problem, &o, from, to, t->team, t->reports + from,
                          t->err);
        if (st == RF_OK)
            st = rf_checkpoint_save_heads(&t->checkpoint, &m->heads, from, to - from,
                                          t->reports + from, t->err);
        from = to;
        t->last.loss = (double)t->reports[to - 1].loss;
        if (st == RF_OK && tell(t, from, false) != 0 && from < m->classes)
            st = stopped(t);
    }
    return st;
}

static rf_status learn_open(training *t)
{
    rf_model *m = t->model;
    size_t width = m->encoder->config.width, classes = m->classes;
    uint64_t *keys = calloc(classes, sizeof *keys);
    t->reports = calloc(classes, sizeof *t->reports);
    m->radius = calloc(classes, sizeof *m->radius);
    rf_status st = keys && t->reports && m->radius
                       ? RF_OK
                       : rf_fail_nomem(t->err, classes * sizeof *t->reports, "the heads");
    if (st == RF_OK)
        st = rf_class_stats_init(&m->stats, t->train.z, t->train.class_of, t->train.n,
                                 width, classes, t->err);
    if (st == RF_OK)
        st = rf_heads_init(&m->heads, width, classes, t->err);
    if (st == RF_OK) {
        for (size_t i = 0; i < classes; i++)
            keys[i] = label_key(m->labels[i]);
        const rf_ans_problem problem = {.width = width,
                                        .classes = classes,
                                        .rows = t->train.n,
                                        .z = t->train.z,
                                        .class_of = t->train.class_of,
                                        .class_key = keys,
                                        .stats = &m->stats,
                                        .dev_rows = t->dev.n,
                                        .dev_z = t->dev.z,
                                        .dev_class = t->dev.class_of};
        st = run_heads(t, &problem);
    }
    for (size_t i = 0; i < classes && st == RF_OK; i++)
        m->radius[i] = t->reports[i].radius;
    free(keys);
    return st;
}

/* ---- What the model keeps -----------------------------------------------------------
 */

static rf_status keep_rows(training *t)
{
    rf_model *m = t->model;
    const part *p = &t->train;
    size_t width = m->encoder->config.width, bytes = 0;
    for (size_t i = 0; i < p->n; i++)
        bytes += p->lens[i];
    m->features = calloc(p->n * width, sizeof *m->features);
    m->row_class = calloc(p->n, sizeof *m->row_class);
    m->texts = malloc(bytes + 1);
    m->text_ends = calloc(p->n, sizeof *m->text_ends);
    if (!m->features || !m->row_class || !m->texts || !m->text_ends)
        return rf_fail_nomem(t->err, p->n * width * sizeof *m->features,
                             "the rows to keep");
    rf_train_kernels()->narrow_f16(m->features, p->z, p->n * width);
    for (size_t i = 0, at = 0; i < p->n; i++) {
        m->row_class[i] = (int32_t)p->class_of[i];
        memcpy(m->texts + at, p->texts[i], p->lens[i]);
        m->text_ends[i] = at += p->lens[i];
    }
    m->n_rows = p->n;
    return RF_OK;
}

/* Per class: what became of its head. */
static json_t *head_list(const training *t)
{
    json_t *list = json_array();
    bool good = list;
    for (size_t i = 0; i < t->model->classes && good; i++) {
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

static rf_status describe(training *t)
{
    rf_model *m = t->model;
    const rf_tune_state *k = &t->known;
    m->max_tokens = t->o.max_tokens;
    m->settings = rf_train_settings_json(&t->o);
    m->summary = json_pack(
        "{s:I, s:I, s:b, s:I, s:I, s:{s:I, s:I, s:f, s:o, s:o}, s:o}", "rows",
        (json_int_t)t->train.n, "dev_rows", (json_int_t)t->dev.n, "dev_held_out",
        t->held_out, "dev_unknown", (json_int_t)t->dev_unknown, "cut_texts",
        (json_int_t)t->n_cut, "known", "epochs", (json_int_t)k->epoch, "best_epoch",
        (json_int_t)k->best_epoch, "loss", k->loss, "dev_accuracy",
        t->dev.n ? json_real(k->best_accuracy) : json_null(), "dev_loss",
        t->dev.n ? json_real(k->best_loss) : json_null(), "heads", head_list(t));
    if (!m->settings || !m->summary)
        return rf_fail_nomem(t->err, 1024 + 256 * m->classes, "the summary");
    return rf_model_describe(m, t->err);
}

/* ---- All of it ----------------------------------------------------------------------
 */

static rf_status run(training *t, const rf_dataset *train, const rf_dataset *dev)
{
    rf_status st;
    if (rf_dataset_rows(train) == 0)
        return rf_fail(t->err, RF_ERR_ARG, 0, "the training data has no rows");
    t->model = rf_model_new(t->err);
    if (!t->model)
        return RF_ERR_NOMEM;
    if ((st = take_labels(t, train)) != RF_OK ||
        (st = rf_model_use_encoder(t->model, t->o.encoder ? t->o.encoder : "minilm",
                                   t->err)) != RF_OK ||
        (st = rf_train_resolve(&t->o, &t->model->encoder->config, rf_dataset_rows(train),
                               t->model->classes, t->err)) != RF_OK ||
        (st = split_rows(t, train, dev)) != RF_OK)
        return st;
    json_t *identity = identify(t);
    st = identity ? rf_checkpoint_open(&t->checkpoint, t->o.checkpoint, t->o.resume,
                                       identity, t->err)
                  : rf_fail_nomem(t->err, 1024, "the training's identity");
    json_decref(identity);
    if (st != RF_OK)
        return st;
    t->team = rf_team_new(t->o.threads, t->err);
    if (!t->team)
        return RF_ERR_NOMEM;
    if ((st = encode(t)) != RF_OK || (st = learn_known(t)) != RF_OK ||
        (st = take_features(t)) != RF_OK || (st = learn_open(t)) != RF_OK ||
        (st = keep_rows(t)) != RF_OK)
        return st;
    return describe(t);
}

rf_model *rf_train(const rf_dataset *train, const rf_dataset *dev,
                   const rf_train_options *options, rf_error *err)
{
    rf_error local;
    training t = {.o = options ? *options : rf_train_options_default(),
                  .start = seconds(),
                  .err = err ? err : &local};
    rf_status st = run(&t, train, dev);
    rf_checkpoint_close(&t.checkpoint);
    part_release(&t.train);
    part_release(&t.dev);
    rf_team_free(t.team);
    free(t.reports);
    if (st == RF_OK)
        return t.model;
    rf_model_free(t.model);
    return NULL;
}
