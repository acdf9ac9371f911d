#define _GNU_SOURCE /* memfd_create */
#include "model_slot.h"

#include "base/file.h"
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COPY_BLOCK 65536

struct model_slot {
    char path[RF_PATH_MAX];
    size_t workers, threads;
    pthread_mutex_t lock; /* for current */
    edition *current;
};

/* ---- Editions ---------------------------------------------------------------------- */

static void edition_free(edition *e)
{
    for (size_t i = 0; e->sessions && i < e->workers; i++)
        rf_session_free(e->sessions[i]);
    free(e->sessions);
    free(e->answers);
    rf_model_free(e->model);
    free(e);
}

void edition_return(edition *e)
{
    if (e && atomic_fetch_sub(&e->shares, 1) == 1)
        edition_free(e);
}

/* ---- Loading ----------------------------------------------------------------------- */

static rf_status copy_file(int to, const char *path, rf_error *err)
{
    char block[COPY_BLOCK];
    struct stat about;
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would block */
    if (from < 0)
        return rf_fail_errno(err, "%s: cannot open", path);
    rf_status st = RF_OK;
    if (fstat(from, &about) != 0 || !S_ISREG(about.st_mode))
        st = rf_fail(err, RF_ERR_FORMAT, 0, "%s: not a regular file", path);
    for (ssize_t n = 1; st == RF_OK && n != 0;) {
        n = read(from, block, sizeof block);
        if (n > 0)
            st = rf_fd_write(to, block, (size_t)n, path, err);
        else if (n < 0 && errno != EINTR)
            st = rf_fail_errno(err, "%s: cannot read", path);
    }
    close(from);
    return st;
}

/* Errors name the file that the user knows. */
static void name_file(rf_error *err, const char *copy, const char *path)
{
    char rest[sizeof err->msg];
    size_t len = strlen(copy);
    if (strncmp(err->msg, copy, len) != 0)
        return;
    snprintf(rest, sizeof rest, "%s", err->msg + len);
    rf_fail(err, err->code, err->pos, "%.300s%s", path, rest);
}

/* A model maps its file. Ours is a copy in memory: whoever writes into the file of a
 * running service, as cp does, must not be able to kill it. */
static rf_model *load_copy(const char *path, rf_error *err)
{
    char copy[40];
    rf_model *model = NULL;
    int fd = memfd_create("ringfence-model", MFD_CLOEXEC);
    if (fd < 0) {
        rf_fail_errno(err, "%s: no memory for a copy of it", path);
        return NULL;
    }
    snprintf(copy, sizeof copy, "/proc/self/fd/%d", fd);
    if (copy_file(fd, path, err) == RF_OK) {
        model = rf_model_load(copy, err);
        if (!model)
            name_file(err, copy, path);
    }
    close(fd); /* the mapping stays */
    return model;
}

/* A first answer, before anybody waits for it: brings weights and memory into place, and
 * shows that the model can answer at all. */
static rf_status warm_up(rf_session *session, rf_error *err)
{
    rf_decision d;
    return rf_classify(session, "ready", 5, &d, err);
}

static edition *edition_new(const model_slot *s, rf_error *err)
{
    edition *e = calloc(1, sizeof *e);
    if (!e) {
        rf_fail_nomem(err, sizeof *e, "a model");
        return NULL;
    }
    atomic_init(&e->shares, 1);
    e->workers = s->workers;
    e->model = load_copy(s->path, err);
    if (!e->model)
        goto fail;
    size_t classes = rf_model_classes(e->model);
    e->sessions = calloc(s->workers, sizeof(rf_session *));
    e->answers = calloc(classes + 1, sizeof *e->answers);
    if (!e->sessions || !e->answers) {
        rf_fail_nomem(err, classes * sizeof *e->answers, "sessions");
        goto fail;
    }
    for (size_t i = 0; i < s->workers; i++) {
        e->sessions[i] = rf_session_new(e->model, s->threads, err);
        if (!e->sessions[i] || warm_up(e->sessions[i], err) != RF_OK)
            goto fail;
    }
    time_t now = time(NULL);
    struct tm utc;
    strftime(e->loaded, sizeof e->loaded, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return e;
fail:
    edition_free(e);
    return NULL;
}

/* ---- The slot ---------------------------------------------------------------------- */

model_slot *model_slot_new(const char *path, size_t workers, size_t threads,
                           rf_error *err)
{
    model_slot *s = calloc(1, sizeof *s);
    if (!s) {
        rf_fail_nomem(err, sizeof *s, "a model");
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->workers = workers;
    s->threads = threads;
    if (strlen(path) >= sizeof s->path)
        rf_fail(err, RF_ERR_LIMIT, 0, "%.80s...: a path longer than %d bytes", path,
                RF_PATH_MAX - 1);
    else {
        strcpy(s->path, path);
        s->current = edition_new(s, err);
    }
    if (!s->current) {
        model_slot_free(s);
        return NULL;
    }
    s->current->number = 1;
    return s;
}

void model_slot_free(model_slot *s)
{
    if (!s)
        return;
    edition_return(s->current);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *model_slot_path(const model_slot *s)
{
    return s->path;
}

edition *model_slot_borrow(model_slot *s)
{
    pthread_mutex_lock(&s->lock);
    edition *e = s->current;
    atomic_fetch_add(&e->shares, 1);
    pthread_mutex_unlock(&s->lock);
    return e;
}

void model_slot_refresh(model_slot *s, edition **mine)
{
    edition *now = model_slot_borrow(s), *old = *mine;
    *mine = now;
    edition_return(old);
}

/* Counts go on for the labels that both have. */
static void carry_counts(const edition *from, edition *to)
{
    size_t classes = rf_model_classes(to->model), known = rf_model_classes(from->model);
    for (size_t i = 0; i < classes; i++) {
        const char *label = rf_model_label(to->model, i);
        size_t was = rf_model_find(from->model, label, strlen(label));
        if (was != RF_OPEN)
            atomic_store(&to->answers[i], atomic_load(&from->answers[was]));
    }
    atomic_store(&to->answers[classes], atomic_load(&from->answers[known]));
}

rf_status model_slot_reload(model_slot *s, rf_error *err)
{
    edition *next = edition_new(s, err);
    if (!next)
        return err->code;
    edition *old = s->current; /* nobody else changes it */
    next->number = old->number + 1;
    carry_counts(old, next);
    pthread_mutex_lock(&s->lock);
    s->current = next;
    pthread_mutex_unlock(&s->lock);
    edition_return(old);
    return RF_OK;
}

bool edition_can_answer(const edition *e, const rf_answer_options *o, problem *p)
{
    if (o->explain && !rf_model_has_examples(e->model))
        return problem_at(p, "/explain", 422, "no_examples",
                          "the model does not hold its training texts, which explain "
                          "shows; train it with --keep-examples");
    if (o->map && rf_model_map_size(e->model) == 0)
        return problem_at(p, "/map", 422, "no_map", "the model has no map");
    return true;
}

void edition_count(edition *e, size_t class_index)
{
    size_t i = class_index == RF_OPEN ? rf_model_classes(e->model) : class_index;
    atomic_fetch_add(&e->answers[i], 1);
}

void edition_write_counts(edition *e, rf_text *out)
{
    size_t classes = rf_model_classes(e->model);
    rf_text_put(out, "# HELP ringfence_answers_total Answers by label.\n"
                     "# TYPE ringfence_answers_total counter\n");
    for (size_t i = 0; i <= classes; i++) {
        rf_text_put(out, "ringfence_answers_total{label=");
        metrics_label(out, rf_model_label(e->model, i < classes ? i : RF_OPEN));
        rf_text_format(out, "} %llu\n", atomic_load(&e->answers[i]));
    }
}
