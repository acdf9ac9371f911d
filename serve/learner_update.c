/*
 * learner_update.c - learn pending labels, move the fences, replace the model, go back
 *
 * A change writes the model in service to MODEL.before and the new one to MODEL, each
 * complete or not at all, in this order: whenever the power goes, MODEL is one of the two
 * and both are whole. Labels count as learnt after the new model is in service; a crash
 * in between leaves them pending, and learning them again changes nothing.
 */
#include "learner_tasks.h"

#include "base/file.h"
#include "log.h"
#include "model_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Labels that wait to be learnt, as training rows. */
typedef struct pending_rows {
    rf_dataset *data;
    store_label *labels; /* [n] */
    size_t n, room;
} pending_rows;

static void release_pending(pending_rows *p)
{
    for (size_t i = 0; i < p->n; i++)
        free((char *)(uintptr_t)p->labels[i].label);
    free(p->labels);
    rf_dataset_free(p->data);
}

static rf_status add_pending(void *user, const store_row *row, rf_error *err)
{
    pending_rows *p = user;
    if (!row->text)
        return RF_OK; /* a hash, of an earlier run */
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 256;
        store_label *labels = realloc(p->labels, room * sizeof *labels);
        if (!labels)
            return rf_fail_nomem(err, room * sizeof *labels, "labels");
        p->labels = labels;
        p->room = room;
    }
    char *label = strdup(row->given);
    if (!label)
        return rf_fail_nomem(err, strlen(row->given), "labels");
    p->labels[p->n++] = (store_label){.row = row->id, .label = label};
    return rf_dataset_add(p->data, row->text, row->text_len, label, strlen(label), err);
}

static rf_status read_pending(learner *l, pending_rows *p, rf_error *err)
{
    store_filter f = {.pending = true};
    p->data = rf_dataset_new(err);
    if (!p->data)
        return err->code;
    rf_status st = store_rows(l->store, &f, add_pending, p, err);
    if (st == RF_OK && p->n == 0)
        st = rf_fail(err, RF_ERR_ARG, 0,
                     "found no label that is not learnt yet, wanted at least one");
    return st;
}

static int on_event(void *user, const rf_train_event *e)
{
    static const char *const names[] = {
        [RF_STAGE_ENCODE] = "encoding new texts", [RF_STAGE_KNOWN] = "classifier",
        [RF_STAGE_FEATURES] = "features",         [RF_STAGE_OPEN] = "classes",
        [RF_STAGE_FOLDS] = "placing the fence",   [RF_STAGE_MAP] = "map"};
    char line[100];
    if (e->total > 0)
        snprintf(line, sizeof line, "%s: %zu of %zu", names[e->stage], e->done, e->total);
    else
        snprintf(line, sizeof line, "%s", names[e->stage]);
    return !learner_going(user, line);
}

/* ---- Files ------------------------------------------------------------------------- */

/* Somebody may have put another model there, to be loaded later: it is not to be lost. */
static rf_status check_unchanged(const learner *l, const loaded_model *m, rf_error *err)
{
    const char *path = model_slot_path(l->o.models);
    rf_buffer now;
    char sha256[RF_SHA256_HEX];
    rf_buffer_init(&now, SIZE_MAX / 2, path);
    rf_status st = rf_file_read(path, &now, err);
    if (st == RF_OK) {
        rf_sha256_bytes(now.data, now.len, sha256);
        if (strcmp(sha256, m->sha256) != 0)
            st = rf_fail(err, RF_ERR_ARG, 0,
                         "%s: found another model than the one in service; reload it "
                         "first, or put the old file back",
                         path);
    }
    rf_buffer_release(&now);
    return st;
}

/* Loads what is at MODEL now; if that fails, MODEL becomes what is in service again. */
static rf_status switch_model(learner *l, const loaded_model *m, rf_error *err)
{
    rf_error again = {0};
    rf_status st = l->o.reload(l->o.user, err);
    if (st == RF_OK)
        return RF_OK;
    if (model_file_write(model_slot_path(l->o.models), &m->bytes, &again) != RF_OK)
        log_line("cannot put the model in service back into its file: %s", again.msg);
    return st;
}

/* Writes a model that shares its parts with the one in service, and loads it. */
static rf_status save_and_switch(learner *l, const loaded_model *m, const rf_model *next,
                                 rf_error *err)
{
    rf_model_summary s;
    rf_save_options o = rf_save_options_default();
    rf_model_summarize(m->model, &s);
    o.slim = !s.encoder_contained;
    o.no_features = s.kept_rows == 0;
    o.keep_examples = s.kept_texts;
    rf_status st = check_unchanged(l, m, err);
    if (st == RF_OK)
        st = model_history_add(model_slot_path(l->o.models), &m->bytes, err);
    if (st == RF_OK && !learner_going(l, "writing the model"))
        st = RF_ERR_STOPPED;
    if (st == RF_OK)
        st = rf_model_save(next, model_slot_path(l->o.models), &o, err);
    if (st == RF_OK) {
        learner_going(l, "loading the model");
        st = switch_model(l, m, err);
    }
    return st;
}

/* ---- Update ------------------------------------------------------------------------ */

/* The new model is in service, so this must not fail the update. */
static void note_learnt(learner *l, const pending_rows *p, const char *who)
{
    rf_error err = {0};
    char what[200];
    loaded_model *now = model_slot_acquire(l->o.models);
    snprintf(what, sizeof what, "update: learnt %zu labels, model %.64s", p->n,
             now->sha256);
    log_line("%s, by %s; the model before is in %s.before", what, who,
             model_slot_path(l->o.models));
    if (store_learnt(l->store, p->labels, p->n, now->sha256, who, what, store_now_ms(),
                     &err) != RF_OK)
        log_line("cannot note that labels are learnt; they stay pending: %s", err.msg);
    loaded_model_unref(now);
}

rf_status learner_do_update(learner *l, bool preview, const char *who, char **report,
                            rf_error *err)
{
    pending_rows p = {0};
    loaded_model *m = model_slot_acquire(l->o.models);
    rf_update_options o = rf_update_options_default();
    rf_model *next = NULL;
    o.progress = on_event;
    o.user = l;
    rf_status st = read_pending(l, &p, err);
    if (st == RF_OK) {
        next = rf_update(m->model, p.data, &o, report, err);
        st = next ? RF_OK : err->code;
    }
    if (st == RF_OK && !preview)
        st = save_and_switch(l, m, next, err);
    if (st == RF_OK && !preview)
        note_learnt(l, &p, who);
    rf_model_free(next); /* before m, whose memory it shares */
    loaded_model_unref(m);
    release_pending(&p);
    if (st != RF_OK) {
        free(*report);
        *report = NULL;
    }
    return st;
}

/* ---- Fence ------------------------------------------------------------------------- */

/* In the log and, if there is one, the store: the model is in service, so this must not
 * fail. */
static void note_change(learner *l, const char *what, const char *who)
{
    rf_error err = {0};
    log_line("%s, by %s", what, who);
    if (l->store && store_log(l->store, who, what, store_now_ms(), &err) != RF_OK)
        log_line("cannot note it in the store: %s", err.msg);
}

/* A second model of the same bytes, as moving changes it. */
static rf_model *move_copy(learner *l, const loaded_model *m, const learner_order *o,
                           rf_error *err)
{
    rf_fence_options move = rf_fence_options_default();
    rf_model *next = rf_model_load_bytes(m->bytes.data, m->bytes.len,
                                         model_slot_path(l->o.models), err);
    move.fixed = true;
    move.offset = o->offset;
    if (!next || rf_model_move_fences(next, NULL, &move, NULL, err) == RF_OK)
        return next;
    rf_model_free(next);
    return NULL;
}

rf_status learner_do_fence(learner *l, const learner_order *o, rf_error *err)
{
    char what[200];
    rf_model *next = NULL;
    loaded_model *m = model_slot_acquire(l->o.models);
    rf_status st = RF_OK;
    if (o->generation && o->generation != m->generation)
        st = rf_fail(err, RF_ERR_ARG, 0,
                     "found generation %zu of the model, wanted %zu: it was replaced "
                     "meanwhile",
                     m->generation, o->generation);
    if (st == RF_OK) {
        next = move_copy(l, m, o, err);
        st = next ? save_and_switch(l, m, next, err) : err->code;
    }
    if (st == RF_OK) {
        loaded_model *now = model_slot_acquire(l->o.models);
        snprintf(what, sizeof what, "fence: %+g added to every margin, model %.64s",
                 o->offset, now->sha256);
        note_change(l, what, o->who);
        loaded_model_unref(now);
    }
    rf_model_free(next); /* before m, whose memory it shares */
    loaded_model_unref(m);
    return st;
}

/* ---- Undo -------------------------------------------------------------------------- */

rf_status learner_do_undo(learner *l, const char *who, rf_error *err)
{
    char what[200];
    const char *path = model_slot_path(l->o.models);
    rf_buffer old;
    loaded_model *m = model_slot_acquire(l->o.models);
    snprintf(what, sizeof what, "undo: the model before %.64s is back", m->sha256);
    rf_buffer_init(&old, SIZE_MAX / 2, path);
    rf_status st = model_history_read(path, &old, err);
    if (st == RF_OK)
        st = check_unchanged(l, m, err);
    if (st == RF_OK && l->store) /* first: pending labels do no harm, lost ones would */
        st = store_unlearnt(l->store, m->sha256, who, what, store_now_ms(), err);
    if (st == RF_OK)
        st = model_file_write(path, &old, err);
    if (st == RF_OK)
        st = switch_model(l, m, err);
    if (st == RF_OK) {
        model_history_drop(path);
        log_line("%s, by %s", what, who);
    }
    rf_buffer_release(&old);
    loaded_model_unref(m);
    return st;
}
