/* model_slot.c - loading models into memory, and swapping them under a lock */
#include "model_slot.h"

#include "base/file.h"
#include "metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct model_slot {
    char path[RF_PATH_MAX];
    size_t workers;
    rf_session_options options; /* of each worker */
    pthread_mutex_t lock;       /* for current */
    loaded_model *current;
};

static atomic_size_t in_memory; /* models that are not freed yet, of all slots */

size_t loaded_models_in_memory(void)
{
    return atomic_load(&in_memory);
}

static void loaded_model_free(loaded_model *m)
{
    for (size_t i = 0; m->sessions && i < m->workers; i++)
        rf_session_free(m->sessions[i]);
    free(m->sessions);
    free(m->answers);
    rf_model_free(m->model);
    rf_buffer_release(&m->bytes);
    atomic_fetch_sub(&in_memory, 1);
    free(m);
}

void loaded_model_unref(loaded_model *m)
{
    if (m && atomic_fetch_sub(&m->refs, 1) == 1)
        loaded_model_free(m);
}

/* ---- Loading ----------------------------------------------------------------------- */

/* A mapped file that shrinks kills the process (SIGBUS). So the model reads from a copy
 * in memory: cp over the file of a running service must do no harm. */
static rf_status load_copy(loaded_model *m, const char *path, rf_error *err)
{
    rf_buffer_init(&m->bytes, SIZE_MAX / 2, path);
    rf_status st = rf_file_read(path, &m->bytes, err);
    if (st != RF_OK)
        return st;
    rf_sha256_bytes(m->bytes.data, m->bytes.len, m->sha256);
    m->model = rf_model_load_bytes(m->bytes.data, m->bytes.len, path, err);
    return m->model ? RF_OK : err->code;
}

/* A first answer before clients wait for one: faults the weights and buffers in, and
 * proves that the model works. */
static rf_status warm_up(rf_session *session, rf_error *err)
{
    rf_decision d;
    return rf_classify(session, "ready", 5, &d, err);
}

static loaded_model *loaded_model_new(const model_slot *s, rf_error *err)
{
    loaded_model *m = calloc(1, sizeof *m);
    if (!m) {
        rf_fail_nomem(err, sizeof *m, "a model");
        return NULL;
    }
    atomic_init(&m->refs, 1);
    m->workers = s->workers;
    atomic_fetch_add(&in_memory, 1);
    if (load_copy(m, s->path, err) != RF_OK)
        goto fail;
    size_t classes = rf_model_classes(m->model);
    m->sessions = calloc(s->workers, sizeof(rf_session *));
    m->answers = calloc(classes + 1, sizeof *m->answers);
    if (!m->sessions || !m->answers) {
        rf_fail_nomem(err, classes * sizeof *m->answers, "sessions");
        goto fail;
    }
    for (size_t i = 0; i < s->workers; i++) {
        m->sessions[i] = rf_session_open(m->model, &s->options, err);
        if (!m->sessions[i] || warm_up(m->sessions[i], err) != RF_OK)
            goto fail;
    }
    time_t now = time(NULL);
    struct tm utc;
    strftime(m->loaded, sizeof m->loaded, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return m;
fail:
    loaded_model_free(m);
    return NULL;
}

/* ---- The slot ---------------------------------------------------------------------- */

model_slot *model_slot_new(const char *path, size_t workers,
                           const rf_session_options *options, rf_error *err)
{
    model_slot *s = calloc(1, sizeof *s);
    if (!s) {
        rf_fail_nomem(err, sizeof *s, "a model");
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->workers = workers;
    s->options = *options;
    if (strlen(path) >= sizeof s->path)
        rf_fail(err, RF_ERR_LIMIT, 0, "%.80s...: the path is longer than %d bytes", path,
                RF_PATH_MAX - 1);
    else {
        strcpy(s->path, path);
        s->current = loaded_model_new(s, err);
    }
    if (!s->current) {
        model_slot_free(s);
        return NULL;
    }
    s->current->generation = 1;
    return s;
}

void model_slot_free(model_slot *s)
{
    if (!s)
        return;
    loaded_model_unref(s->current);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *model_slot_path(const model_slot *s)
{
    return s->path;
}

loaded_model *model_slot_acquire(model_slot *s)
{
    pthread_mutex_lock(&s->lock);
    loaded_model *m = s->current;
    atomic_fetch_add(&m->refs, 1);
    pthread_mutex_unlock(&s->lock);
    return m;
}

void model_slot_refresh(model_slot *s, loaded_model **mine)
{
    loaded_model *now = model_slot_acquire(s), *old = *mine;
    *mine = now;
    loaded_model_unref(old);
}

/* Labels that both models have keep their counts. */
static void carry_counts(const loaded_model *from, loaded_model *to)
{
    size_t classes = rf_model_classes(to->model), open = rf_model_classes(from->model);
    for (size_t i = 0; i < classes; i++) {
        const char *label = rf_model_label(to->model, i);
        size_t was = rf_model_find(from->model, label, strlen(label));
        if (was != RF_OPEN)
            atomic_store(&to->answers[i], atomic_load(&from->answers[was]));
    }
    atomic_store(&to->answers[classes], atomic_load(&from->answers[open]));
}

rf_status model_slot_reload(model_slot *s, rf_error *err)
{
    loaded_model *next = loaded_model_new(s, err);
    if (!next)
        return err->code;
    loaded_model *old = s->current; /* only reloads change it */
    next->generation = old->generation + 1;
    carry_counts(old, next);
    pthread_mutex_lock(&s->lock);
    s->current = next;
    pthread_mutex_unlock(&s->lock);
    loaded_model_unref(old);
    return RF_OK;
}

bool loaded_model_can_answer(const loaded_model *m, const rf_answer_options *o,
                             problem *p)
{
    if (o->explain && !rf_model_has_examples(m->model))
        return problem_at(p, "/explain", 422, "no_examples",
                          "explain needs a model that holds its training texts; train "
                          "it without --no-examples");
    if (o->map && rf_model_map_size(m->model) == 0)
        return problem_at(p, "/map", 422, "no_map", "the model has no map");
    return true;
}

void loaded_model_count(loaded_model *m, size_t class_index)
{
    size_t i = class_index == RF_OPEN ? rf_model_classes(m->model) : class_index;
    atomic_fetch_add(&m->answers[i], 1);
}

void loaded_model_write_counts(loaded_model *m, rf_text *out)
{
    size_t classes = rf_model_classes(m->model);
    metrics_describe(out, "ringfence_answers_total", "counter", "Answers by label.");
    for (size_t i = 0; i <= classes; i++) {
        rf_text_put(out, "ringfence_answers_total{label=");
        metrics_label(out, rf_model_label(m->model, i < classes ? i : RF_OPEN));
        rf_text_format(out, "} %llu\n", atomic_load(&m->answers[i]));
    }
}
