/* cmd_predict.c - a class or "open" for each line of text, in constant memory */
#include "commands.h"

#include "lines.h"
#include "screen.h"
#include "waiting_texts.h"

#include <stdio.h>
#include <stdlib.h>

#define PENDING_BYTES ((size_t)8 << 20) /* texts kept for --text before a flush */

typedef struct state {
    const rf_model *model;
    rf_session *session;
    bool json, text;
    rf_answer_options answer;
    waiting_texts texts;      /* for --text: those without an answer yet */
    rf_neighbour *neighbours; /* [answer.explain] */
    size_t n_texts;
} state;

/* ---- One answer -------------------------------------------------------------------- */

static rf_status put_json(state *s, const rf_decision *d, rf_error *err)
{
    char *json;
    size_t len;
    if (s->text)
        s->answer.text = waiting_texts_first(&s->texts, &s->answer.text_len);
    rf_status st = rf_decision_json(s->model, d, &s->answer, &json, &len, err);
    if (st != RF_OK)
        return st;
    fwrite(json, 1, len, stdout);
    putchar('\n');
    free(json);
    return RF_OK;
}

static rf_status put_plain(const state *s, const rf_decision *d, rf_error *err)
{
    size_t n = s->answer.explain;
    rf_status st = n ? rf_explain(s->model, d->feature, s->neighbours, &n, err) : RF_OK;
    if (st != RF_OK)
        return st;
    printf("%s\t%.4f\n", rf_model_label(s->model, d->class_index), (double)d->confidence);
    for (size_t i = 0; i < n; i++) {
        const rf_neighbour *b = &s->neighbours[i];
        char line[300];
        printf("    %.3f  %s  %s\n", (double)b->distance,
               rf_model_label(s->model, b->class_index),
               screen_one_line(line, sizeof line, b->text, b->text_len));
    }
    return RF_OK;
}

static rf_status put(void *user, const rf_decision *d, rf_error *err)
{
    state *s = user;
    screen_progress("texts", ++s->n_texts);
    rf_status st = s->json ? put_json(s, d, err) : put_plain(s, d, err);
    if (st != RF_OK)
        return st;
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
    return rf_model_has_examples(model)
               ? RF_OK
               : rf_fail(err, RF_ERR_MISSING, 0,
                         "%s: the model does not hold its training texts, which "
                         "--explain shows; train it with --keep-examples",
                         path);
}

static rf_status check_map(const rf_model *model, const char *path, rf_error *err)
{
    return rf_model_map_size(model) > 0
               ? RF_OK
               : rf_fail(err, RF_ERR_MISSING, 0, "%s: the model has no map", path);
}

static rf_status predict(state *s, const char *model_path, size_t threads,
                         const char *file, rf_error *err)
{
    rf_status st = s->answer.explain ? check_examples(s->model, model_path, err) : RF_OK;
    if (st == RF_OK && s->answer.map)
        st = check_map(s->model, model_path, err);
    if (st != RF_OK)
        return st;
    size_t room = s->answer.explain + 1;
    s->neighbours = calloc(room, sizeof *s->neighbours);
    if (!s->neighbours)
        return rf_fail_nomem(err, room * sizeof *s->neighbours, "neighbours");
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
    state s = {.answer = rf_answer_options_default()};
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
        {.name = "margins",
         .kind = OPTION_SIZE,
         .value = &s.answer.margins,
         .arg = "K",
         .help = "With --json: the K largest margins.",
         .max = 1000000},
        {.name = "map",
         .kind = OPTION_FLAG,
         .value = &s.answer.map,
         .help = "With --json: where the text falls on the map of the training texts."},
        {.name = "explain",
         .kind = OPTION_SIZE,
         .value = &s.answer.explain,
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
    bool json_only = s.text || top != SIZE_MAX || s.answer.margins || s.answer.map;
    if (n == 0 || (!s.json && json_only)) {
        screen_complain("%s: %s", self->name,
                        n == 0 ? "which model? Wanted MODEL [FILE|-]"
                               : "--text, --top, --margins and --map belong to --json");
        return EXIT_USAGE;
    }
    if (top != SIZE_MAX)
        s.answer.top = top;

    rf_error err = {0};
    rf_model *model = rf_model_load(paths[0], &err);
    s.model = model;
    rf_status st = model ? predict(&s, paths[0], threads, paths[1], &err) : err.code;
    screen_progress_end();
    rf_session_free(s.session);
    rf_model_free(model);
    waiting_texts_release(&s.texts);
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
        "  margins            with --margins: label and margin, largest first\n"
        "  neighbours         with --explain: text, label and distance\n"
        "  map                with --map: [x, y], each from -1 to 1",
    .run = run,
};
