/* label_texts.c - find the rows of a text, or add one */
#include "label_texts.h"

#include <stdlib.h>

static rf_status add_found(void *user, const store_row *row, rf_error *err)
{
    label_rows *r = user;
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        store_label *labels = realloc(r->labels, room * sizeof *labels);
        if (!labels)
            return rf_fail_nomem(err, room * sizeof *labels, "labels");
        r->labels = labels;
        r->room = room;
    }
    r->labels[r->n++] = (store_label){.row = row->id};
    return RF_OK;
}

static rf_status add_row(store *s, const loaded_model *m, rf_session *session,
                         const char *source, const char *text, size_t len, rf_error *err)
{
    rf_decision d;
    rf_status st = rf_classify(session, text, len, &d, err);
    if (st != RF_OK)
        return st;
    bool open = d.class_index == RF_OPEN;
    store_row row = {.time_ms = store_now_ms(),
                     .text = text,
                     .text_len = len,
                     .label = open ? NULL : rf_model_label(m->model, d.class_index),
                     .confidence = d.confidence,
                     .margin = d.margin,
                     .nearest = rf_model_label(m->model, d.nearest),
                     .model = m->sha256,
                     .source = source};
    return store_add(s, &row, 1, NULL, 0, err);
}

/* A session of its own: those of the workers are busy. */
static rf_status answer_and_add(const label_rows *r, store *s, const char *text,
                                size_t len, rf_error *err)
{
    loaded_model *m = model_slot_acquire(r->models);
    rf_session *session = rf_session_new(m->model, 1, err);
    rf_status st =
        session ? add_row(s, m, session, r->source, text, len, err) : err->code;
    rf_session_free(session);
    loaded_model_unref(m);
    return st;
}

rf_status label_rows_find(label_rows *r, store *s, const char *text, size_t len,
                          const char *label, rf_error *err)
{
    size_t first = r->n;
    const store_filter f = {.text = text, .text_len = len};
    rf_status st = store_rows(s, &f, add_found, r, err);
    if (st == RF_OK && r->n == first) {
        st = answer_and_add(r, s, text, len, err);
        if (st == RF_OK)
            st = store_rows(s, &f, add_found, r, err);
    }
    for (size_t i = first; i < r->n; i++)
        r->labels[i].label = label;
    return st;
}
