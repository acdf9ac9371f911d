/* learner_review.c - groups of open texts that nobody has judged, as JSON */
#include "learner_tasks.h"
#include "ringfence_review.h"

#include <stdlib.h>
#include <string.h>

#define REVIEW_ROWS 5000                /* the newest ones */
#define REVIEW_BYTES ((size_t)64 << 20) /* of their texts */

/* Rows of the store, the oldest first. */
typedef struct row_texts {
    int64_t *ids; /* [n] */
    char **texts; /* [n] */
    size_t *lens; /* [n] */
    size_t n, bytes;
    size_t total; /* with those beyond the limits */
} row_texts;

static void release_texts(row_texts *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->texts[i]);
    free(r->ids);
    free(r->texts);
    free(r->lens);
}

static rf_status keep_text(void *user, const store_row *row, rf_error *err)
{
    row_texts *r = user;
    if (!row->text)
        return RF_OK; /* a hash, of an earlier run */
    if (r->n == REVIEW_ROWS || r->bytes + row->text_len > REVIEW_BYTES)
        return RF_OK;
    char *copy = malloc(row->text_len + 1);
    if (!copy)
        return rf_fail_nomem(err, row->text_len, "texts to review");
    memcpy(copy, row->text, row->text_len);
    copy[row->text_len] = '\0';
    r->ids[r->n] = row->id;
    r->lens[r->n] = row->text_len;
    r->texts[r->n++] = copy;
    r->bytes += row->text_len;
    return RF_OK;
}

static rf_status read_texts(learner *l, row_texts *r, rf_error *err)
{
    store_filter f = {
        .open = true, .unjudged = true, .newest = true, .limit = REVIEW_ROWS};
    r->ids = calloc(REVIEW_ROWS, sizeof *r->ids);
    r->texts = calloc(REVIEW_ROWS, sizeof *r->texts);
    r->lens = calloc(REVIEW_ROWS, sizeof *r->lens);
    if (!r->ids || !r->texts || !r->lens)
        return rf_fail_nomem(err, REVIEW_ROWS * sizeof *r->texts, "texts to review");
    return store_rows(l->store, &f, keep_text, r, err);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_text(rf_text *out, const rf_review_text *t, const rf_model *model,
                     const row_texts *rows)
{
    rf_text_format(out, "{\"id\": %lld, \"ids\": [", (long long)rows->ids[t->rows[0]]);
    for (size_t i = 0; i < t->count; i++)
        rf_text_format(out, "%s%lld", i ? ", " : "", (long long)rows->ids[t->rows[i]]);
    rf_text_put(out, "], \"text\": ");
    rf_text_string(out, t->text, t->len);
    rf_text_format(out, ", \"count\": %zu, \"nearest\": ", t->count);
    rf_text_name(out, rf_model_label(model, t->class_index));
    rf_text_put(out, ", \"margin\": ");
    rf_text_float(out, t->margin);
    rf_text_put(out, ", \"confidence\": ");
    rf_text_float(out, t->confidence);
    rf_text_put(out, "}");
}

static void put_texts(rf_text *out, const rf_review *r, size_t from, size_t n,
                      const rf_model *model, const row_texts *rows)
{
    rf_text_put(out, "[");
    for (size_t i = from; i < from + n; i++) {
        rf_text_put(out, i > from ? ", " : "");
        put_text(out, rf_review_text_at(r, i), model, rows);
    }
    rf_text_put(out, "]");
}

static void put_group(rf_text *out, const rf_review *r, size_t i, const rf_model *model,
                      const row_texts *rows)
{
    const rf_review_group *g = rf_review_group_at(r, i);
    rf_text_format(out, "%s{\"id\": %zu, \"name\": ", i ? ", " : "", i + 1);
    rf_text_name(out, g->name);
    rf_text_format(out, ", \"size\": %zu, \"count\": %zu, \"cohesion\": %.6g", g->n_texts,
                   g->count, g->cohesion);
    rf_text_put(out, ", \"nearest\": ");
    rf_text_name(out, rf_model_label(model, g->nearest));
    rf_text_put(out, ", \"texts\": ");
    put_texts(out, r, g->first, g->n_texts, model, rows);
    rf_text_put(out, "}");
}

/* r may be NULL: there were no texts. */
static void put_review(rf_text *out, const rf_review *r, const rf_model *model,
                       const row_texts *rows)
{
    rf_review_summary s = r ? rf_review_summarize(r) : (rf_review_summary){0};
    rf_text_format(out,
                   "{\"state\": \"ready\", \"rows\": %zu, \"rejected\": %zu, "
                   "\"alone\": %zu, \"groups\": [",
                   rows->n, s.rejected, s.alone);
    for (size_t i = 0; r && i < rf_review_groups(r); i++)
        put_group(out, r, i, model, rows);
    rf_text_put(out, "], \"probably_known\": ");
    if (r)
        put_texts(out, r, s.in_groups, s.known, model, rows);
    else
        rf_text_put(out, "[]");
    rf_text_put(out, "}\n");
}

/* ---- The review -------------------------------------------------------------------- */

static int on_progress(void *user, const char *line)
{
    return !learner_going(user, line);
}

static rf_status review_texts(learner *l, const rf_model *model, const row_texts *rows,
                              rf_text *out, rf_error *err)
{
    rf_review *r = NULL;
    if (rows->n > 0) {
        rf_review_options o = rf_review_options_default();
        o.doubt = -1; /* only what the model rejects */
        o.progress = on_progress;
        o.user = l;
        r = rf_review_texts(model, (const char *const *)rows->texts, rows->lens, rows->n,
                            &o, err);
        if (!r)
            return err->code;
    }
    rf_text_init(out, LEARNER_JSON, "a review");
    put_review(out, r, model, rows);
    rf_review_free(r);
    return out->status == RF_OK ? RF_OK : rf_fail_nomem(err, LEARNER_JSON, "a review");
}

rf_status learner_do_review(learner *l, finished_review *out, rf_error *err)
{
    row_texts rows = {0};
    store_state state;
    rf_text json = {0};
    rf_status st = store_look(l->store, &state, err);
    if (st != RF_OK)
        return st;
    loaded_model *m = model_slot_acquire(l->o.models);
    bool same = out->ready && !out->failed && strcmp(out->model, m->sha256) == 0 &&
                state.last_row == out->state.last_row &&
                state.last_change == out->state.last_change;
    if (!same) {
        st = learner_going(l, "reading open texts") ? read_texts(l, &rows, err)
                                                    : RF_ERR_STOPPED;
        if (st == RF_OK)
            st = review_texts(l, m->model, &rows, &json, err);
        if (st == RF_OK) {
            out->json = json;
            out->state = state;
            out->ready = true;
            strcpy(out->model, m->sha256);
        } else
            rf_text_release(&json);
        release_texts(&rows);
    }
    loaded_model_unref(m);
    return st;
}
