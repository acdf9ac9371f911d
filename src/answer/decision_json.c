/*
 * decision_json.c - an answer with its reasons, as one JSON object
 *
 * Printed by `ringfence predict --json` and returned by the service.
 */
#include "base/json_text.h"
#include "base/options.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JSON ((size_t)256 << 20) /* bytes */

typedef struct writing {
    rf_text text;
    const rf_model *model;
    const rf_decision *d;
    const rf_answer_options *o;
    size_t *order;      /* [classes] */
    rf_neighbour *near; /* [n_near], NULL: not asked for */
    size_t n_near;
} writing;

void rf_answer_options_init(rf_answer_options *options, size_t struct_size)
{
    const rf_answer_options defaults = {.top = 5};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* Finds up to k largest of n values not below `least`, largest first, ties by index.
 * Writes their indices to order [k] and returns their count. */
static size_t largest(const float *v, size_t n, size_t k, float least, size_t *order)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i] >= least) || (found == k && (k == 0 || v[order[k - 1]] >= v[i])))
            continue;
        size_t at = found < k ? found++ : k - 1;
        for (; at > 0 && v[order[at - 1]] < v[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return found;
}

/* The largest value below 0; n if there is none. */
static size_t nearest_rejecting(const float *margins, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (margins[i] < 0.0f && (best == n || margins[i] > margins[best]))
            best = i;
    return best;
}

static void put_class(writing *w, size_t c, const char *key, float value)
{
    rf_text_put(&w->text, "{\"label\": ");
    rf_text_name(&w->text, rf_model_label(w->model, c));
    rf_text_format(&w->text, ", \"%s\": ", key);
    rf_text_float(&w->text, value);
    rf_text_put(&w->text, "}");
}

/* Up to k classes with the largest values, none below `least`. */
static void put_largest(writing *w, const char *name, const char *key,
                        const float *values, size_t k, float least)
{
    size_t classes = w->model->classes;
    size_t n = largest(values, classes, k < classes ? k : classes, least, w->order);
    rf_text_format(&w->text, ", \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        if (i)
            rf_text_put(&w->text, ", ");
        put_class(w, w->order[i], key, values[w->order[i]]);
    }
    rf_text_put(&w->text, "]");
}

static void put_reason(writing *w)
{
    char reason[RF_REASON_MAX];
    rf_text_put(&w->text, ", \"reason\": ");
    rf_text_name(&w->text, rf_open_reason(w->model, w->d, w->near, w->n_near, reason,
                                          sizeof reason));
}

/* The nearest texts, which the reason counts too. */
static rf_status find_neighbours(writing *w, rf_error *err)
{
    w->n_near = w->o->explain;
    if (w->n_near > w->model->n_rows)
        w->n_near = w->model->n_rows; /* 0: rf_explain says why there are none */
    w->near = malloc((w->n_near + 1) * sizeof *w->near);
    if (!w->near)
        return rf_fail_nomem(err, (w->n_near + 1) * sizeof *w->near, "neighbours");
    return rf_explain(w->model, w->d->feature, w->near, &w->n_near, err);
}

/* A text of any length makes an answer of bounded length: a short request must not make
 * a service write megabytes. */
static void put_neighbour_text(writing *w, const char *text, size_t len)
{
    size_t cut = len;
    if (len > RF_NEIGHBOUR_TEXT_MAX)
        for (cut = RF_NEIGHBOUR_TEXT_MAX; cut > 0 && (text[cut] & 0xc0) == 0x80; cut--)
            ;
    rf_text_string(&w->text, text, cut);
    if (cut < len)
        rf_text_put(&w->text, ", \"cut\": true");
}

static void put_neighbours(writing *w)
{
    rf_text_put(&w->text, ", \"neighbours\": [");
    for (size_t i = 0; i < w->n_near; i++) {
        const rf_neighbour *b = &w->near[i];
        rf_text_put(&w->text, i ? ", {\"text\": " : "{\"text\": ");
        if (b->text)
            put_neighbour_text(w, b->text, b->text_len);
        else
            rf_text_put(&w->text, "null");
        rf_text_put(&w->text, ", \"label\": ");
        rf_text_name(&w->text, rf_model_label(w->model, b->class_index));
        rf_text_put(&w->text, ", \"distance\": ");
        rf_text_float(&w->text, b->distance);
        rf_text_put(&w->text, "}");
    }
    rf_text_put(&w->text, "]");
}

static rf_status put_unknown_words(writing *w, rf_error *err)
{
    char *words;
    size_t n;
    rf_status st =
        rf_unknown_words(w->model, w->o->source, w->o->source_len, &words, &n, err);
    if (st != RF_OK)
        return st;
    rf_text_put(&w->text, ", \"unknown_words\": [");
    const char *word = words;
    for (size_t i = 0; i < n; i++, word += strlen(word) + 1) {
        rf_text_put(&w->text, i ? ", " : "");
        rf_text_name(&w->text, word);
    }
    rf_text_put(&w->text, "]");
    free(words);
    return RF_OK;
}

static rf_status put_place(writing *w, rf_error *err)
{
    float x, y;
    rf_status st = rf_decision_place(w->model, w->d, &x, &y, err);
    rf_text_put(&w->text, ", \"map\": [");
    rf_text_float(&w->text, x);
    rf_text_put(&w->text, ", ");
    rf_text_float(&w->text, y);
    rf_text_put(&w->text, "]");
    return st;
}

static rf_status put_all(writing *w, rf_error *err)
{
    const rf_decision *d = w->d;
    size_t classes = w->model->classes, n;
    bool open = d->class_index == RF_OPEN;
    rf_status st = w->o->explain > 0 ? find_neighbours(w, err) : RF_OK;
    if (st != RF_OK)
        return st;
    rf_text_put(&w->text, "{\"label\": ");
    rf_text_name(&w->text, rf_model_label(w->model, d->class_index));
    rf_text_put(&w->text, open ? ", \"open\": true" : ", \"open\": false");
    rf_text_put(&w->text, ", \"confidence\": ");
    rf_text_float(&w->text, d->confidence);
    rf_text_put(&w->text, ", \"margin\": ");
    rf_text_float(&w->text, d->margin);
    put_largest(w, "ranking", "probability", d->probabilities, w->o->top, -INFINITY);
    put_largest(w, "accepted", "margin", d->margins, classes, 0.0f);
    rf_text_put(&w->text, ", \"nearest_rejecting\": ");
    n = nearest_rejecting(d->margins, classes);
    if (n < classes)
        put_class(w, n, "margin", d->margins[n]);
    else
        rf_text_put(&w->text, "null");
    if (open)
        put_reason(w);
    if (w->o->margins > 0)
        put_largest(w, "margins", "margin", d->margins, w->o->margins, -INFINITY);
    if (w->o->text) {
        rf_text_put(&w->text, ", \"text\": ");
        rf_text_string(&w->text, w->o->text, w->o->text_len);
    }
    if (w->o->explain > 0)
        put_neighbours(w);
    if (w->o->source)
        st = put_unknown_words(w, err);
    if (st == RF_OK && w->o->map)
        st = put_place(w, err);
    rf_text_put(&w->text, "}");
    return st;
}

rf_status rf_decision_json(const rf_model *model, const rf_decision *decision,
                           const rf_answer_options *options, char **json, size_t *len,
                           rf_error *err)
{
    rf_answer_options o = rf_answer_options_default();
    writing w = {.model = model, .d = decision, .o = &o};
    *json = NULL;
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_answer_options", err);
    if (st != RF_OK)
        return st;
    w.order = malloc((model->classes + 1) * sizeof *w.order);
    if (!w.order)
        return rf_fail_nomem(err, model->classes * sizeof *w.order, "an answer");
    rf_text_init(&w.text, MAX_JSON, "an answer");
    st = put_all(&w, err);
    free(w.order);
    free(w.near);
    if (st == RF_OK && w.text.status == RF_ERR_NOMEM)
        st = rf_fail_nomem(err, w.text.buffer.cap, "an answer");
    else if (st == RF_OK && w.text.status != RF_OK)
        st = rf_fail(err, w.text.status, 0, "an answer of more than %zu bytes", MAX_JSON);
    if (st != RF_OK) {
        rf_text_release(&w.text);
        return st;
    }
    if (len)
        *len = w.text.buffer.len;
    *json = w.text.buffer.data;
    return RF_OK;
}
