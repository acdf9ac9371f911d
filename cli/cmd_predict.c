/* cmd_predict.c - a class or "open" for each line of text, in constant memory */
#include "commands.h"

#include "base/json.h"
#include "json_text.h"
#include "lines.h"
#include "screen.h"
#include "waiting_texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_BYTES ((size_t)8 << 20) /* texts kept for --text before a flush */
#define DEFAULT_TOP 5

typedef struct state {
    const rf_model *model;
    rf_session *session;
    bool json, text;
    size_t top, explain;
    waiting_texts texts;      /* for --text: those without an answer yet */
    rf_neighbour *neighbours; /* [explain] */
    size_t *order;            /* [classes] */
    size_t n_texts;
} state;

/* ---- One answer -------------------------------------------------------------------- */

/* The at most k largest of n values that are not below `least`, largest first, of equals
 * the first one first; returns their number, their indices in order [k]. */
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

static void put_class(const state *s, size_t c, const char *key, float value)
{
    fputs("{\"label\": ", stdout);
    json_put_name(stdout, rf_model_label(s->model, c));
    printf(", \"%s\": ", key);
    json_put_float(stdout, value);
    putchar('}');
}

static void put_classes(const state *s, size_t n, const char *key, const float *values)
{
    putchar('[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            fputs(", ", stdout);
        put_class(s, s->order[i], key, values[s->order[i]]);
    }
    putchar(']');
}

static void put_neighbours(const state *s, size_t n)
{
    fputs(", \"neighbours\": [", stdout);
    for (size_t i = 0; i < n; i++) {
        const rf_neighbour *b = &s->neighbours[i];
        fputs(i ? ", {\"text\": " : "{\"text\": ", stdout);
        json_put_string(stdout, b->text, b->text_len);
        fputs(", \"label\": ", stdout);
        json_put_name(stdout, rf_model_label(s->model, b->class_index));
        fputs(", \"distance\": ", stdout);
        json_put_float(stdout, b->distance);
        putchar('}');
    }
    putchar(']');
}

static void put_json(state *s, const rf_decision *d, size_t n_neighbours)
{
    size_t classes = rf_model_classes(s->model), n;
    bool open = d->class_index == RF_OPEN;
    fputs("{\"label\": ", stdout);
    json_put_name(stdout, rf_model_label(s->model, d->class_index));
    printf(", \"open\": %s, \"confidence\": ", open ? "true" : "false");
    json_put_float(stdout, d->confidence);
    fputs(", \"margin\": ", stdout);
    json_put_float(stdout, d->margin);
    fputs(", \"ranking\": ", stdout);
    n = largest(d->probabilities, classes, s->top, -INFINITY, s->order);
    put_classes(s, n, "probability", d->probabilities);
    fputs(", \"accepted\": ", stdout);
    n = largest(d->margins, classes, classes, 0.0f, s->order);
    put_classes(s, n, "margin", d->margins);
    fputs(", \"nearest_rejecting\": ", stdout);
    n = nearest_rejecting(d->margins, classes);
    if (n < classes)
        put_class(s, n, "margin", d->margins[n]);
    else
        fputs("null", stdout);
    if (open) {
        char reason[1200];
        snprintf(reason, sizeof reason,
                 "no class accepts it; closest is \"%s\" (margin %.2f)",
                 rf_model_label(s->model, d->margin_class), (double)d->margin);
        fputs(", \"reason\": ", stdout);
        json_put_name(stdout, reason);
    }
    if (s->text) {
        size_t len;
        const char *text = waiting_texts_first(&s->texts, &len);
        fputs(", \"text\": ", stdout);
        json_put_string(stdout, text, len);
    }
    if (s->explain > 0)
        put_neighbours(s, n_neighbours);
    fputs("}\n", stdout);
}

static void put_plain(const state *s, const rf_decision *d, size_t n_neighbours)
{
    printf("%s\t%.4f\n", rf_model_label(s->model, d->class_index), (double)d->confidence);
    for (size_t i = 0; i < n_neighbours; i++) {
        const rf_neighbour *b = &s->neighbours[i];
        char line[300];
        printf("    %.3f  %s  %s\n", (double)b->distance,
               rf_model_label(s->model, b->class_index),
               screen_one_line(line, sizeof line, b->text, b->text_len));
    }
}

static rf_status put(void *user, const rf_decision *d, rf_error *err)
{
    state *s = user;
    size_t n_neighbours = s->explain;
    screen_progress("texts", ++s->n_texts);
    if (s->explain > 0) {
        rf_status st =
            rf_explain(s->model, d->feature, s->neighbours, &n_neighbours, err);
        if (st != RF_OK)
            return st;
    }
    if (s->json)
        put_json(s, d, n_neighbours);
    else
        put_plain(s, d, n_neighbours);
    if (s->text)
        waiting_texts_drop_first(&s->texts);
    /* A disk that is full is noticed now, not after another hour of input. */
    return ferror(stdout) ? rf_fail_errno(err, "standard output: cannot write") : RF_OK;
}

/* ---- The stream -------------------------------------------------------------------- */

static rf_status feed(void *user, const char *bytes, size_t len, rf_error *err)
{
    state *s = user;
    rf_status st = s->text ? waiting_texts_add(&s->texts, bytes, len, err) : RF_OK;
    return st == RF_OK ? rf_session_feed(s->session, bytes, len, err) : st;
}

static rf_status end(void *user, rf_error *err)
{
    state *s = user;
    rf_status st = s->text ? waiting_texts_end(&s->texts, err) : RF_OK;
    if (st == RF_OK)
        st = rf_session_end_text(s->session, err);
    if (st == RF_OK && s->text && waiting_texts_bytes(&s->texts) > PENDING_BYTES)
        st = rf_session_flush(s->session, err);
    return st;
}

static rf_status idle(void *user, rf_error *err)
{
    state *s = user;
    rf_status st = rf_session_flush(s->session, err);
    if (st == RF_OK && fflush(stdout) != 0)
        st = rf_fail_errno(err, "standard output: cannot write");
    return st;
}

/* Told before the input is read, not at its first line. */
static rf_status check_examples(const rf_model *model, const char *path, rf_error *err)
{
    const char *text = rf_model_json(model);
    json_t *root = rf_json_object(text, strlen(text), path, err);
    if (!root)
        return err->code;
    bool kept =
        json_is_true(json_object_get(json_object_get(root, "kept"), "features")) &&
        json_is_true(json_object_get(json_object_get(root, "kept"), "texts"));
    json_decref(root);
    return kept ? RF_OK
                : rf_fail(err, RF_ERR_MISSING, 0,
                          "%s: the model does not hold its training texts, which "
                          "--explain shows; train it with --keep-examples",
                          path);
}

static rf_status predict(state *s, const char *model_path, size_t threads,
                         const char *file, rf_error *err)
{
    size_t classes = rf_model_classes(s->model);
    rf_status st = s->explain ? check_examples(s->model, model_path, err) : RF_OK;
    if (st != RF_OK)
        return st;
    s->top = s->top < classes ? s->top : classes;
    s->order = calloc(classes + 1, sizeof *s->order);
    s->neighbours = calloc(s->explain + 1, sizeof *s->neighbours);
    if (!s->order || !s->neighbours)
        return rf_fail_nomem(err, classes * sizeof *s->order, "an answer");
    s->session = rf_session_new(s->model, threads, err);
    if (!s->session)
        return err->code;
    rf_session_set_sink(s->session, put, s);
    const line_sink sink = {s, feed, end, idle};
    st = lines_read(file, &sink, err);
    return st == RF_OK ? idle(s, err) : st;
}

static int run(const command *self, int argc, char **argv)
{
    const char *paths[2] = {0};
    size_t threads = 0, top = SIZE_MAX, n;
    state s = {0};
    const option options[] = {
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &s.json,
         .help = "One JSON object per line, with the reasons for the answer."},
        {.name = "top",
         .kind = OPTION_SIZE,
         .value = &top,
         .arg = "K",
         .help = "With --json: the K most likely classes (default 5).",
         .max = 1000000},
        {.name = "text",
         .kind = OPTION_FLAG,
         .value = &s.text,
         .help = "With --json: the text too."},
        {.name = "explain",
         .kind = OPTION_SIZE,
         .value = &s.explain,
         .arg = "K",
         .help = "Show the K nearest training texts; the model must have been trained "
                 "with --keep-examples.",
         .min = 1,
         .max = 1000},
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The answers are the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          paths, 2, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    if (n == 0 || (!s.json && (s.text || top != SIZE_MAX))) {
        screen_complain("%s: %s", self->name,
                        n == 0 ? "which model? Wanted MODEL [FILE|-]"
                               : "--text and --top belong to --json");
        return EXIT_USAGE;
    }
    s.top = top == SIZE_MAX ? DEFAULT_TOP : top;

    rf_error err = {0};
    rf_model *model = rf_model_load(paths[0], &err);
    s.model = model;
    rf_status st = model ? predict(&s, paths[0], threads, paths[1], &err) : err.code;
    screen_progress_end();
    rf_session_free(s.session);
    rf_model_free(model);
    waiting_texts_release(&s.texts);
    free(s.order);
    free(s.neighbours);
    return st == RF_OK ? 0 : command_failed(&err);
}

const command command_predict = {
    .name = "predict",
    .synopsis = "MODEL [OPTIONS] [FILE|-]",
    .summary = "Answer each line of text with its class, or with \"open\".",
    .details =
        "Reads FILE, or standard input, and prints one line per line of text, in order:\n"
        "the class, or \"open\" if no class accepts the text, a tab, and the confidence\n"
        "in that answer from 0 to 1. An empty line is a text too. Lines end at LF only.\n"
        "Memory does not grow with the input, and answers come at once when no more\n"
        "input is waiting.\n\n"
        "With --json each line is an object:\n"
        "  label              the class, or \"open\"\n"
        "  open               whether every class rejects the text\n"
        "  confidence         in the answer, 0 to 1\n"
        "  margin             the largest output of a head; below 0: open\n"
        "  ranking            the most likely known classes, whether accepted or not\n"
        "  accepted           classes whose head accepts the text, largest margin first\n"
        "  nearest_rejecting  the class that rejects it by the smallest margin, or null\n"
        "  reason             of an open answer, in words\n"
        "  text               with --text; bytes that are not UTF-8 become U+FFFD\n"
        "  neighbours         with --explain: text, label and distance",
    .run = run,
};
