/* cmd_predict.c - ringfence predict: prints a class or "open" for each line of text, in
 * constant memory
 */
#include "commands.h"

#include "lines.h"
#include "screen.h"
#include "waiting_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_BYTES ((size_t)8 << 20) /* texts kept before a flush */

typedef struct predict_request {
    const char *paths[2]; /* model, texts (NULL: standard input) */
    bool json, text;
    rf_answer_options answer;
    size_t top; /* SIZE_MAX: not given */
    float fence;
    size_t threads;
    int precision; /* as chosen */
} predict_request;

typedef struct predict_stream {
    const rf_model *model;
    rf_session *session;
    bool json, text;
    bool keep; /* the texts are needed with their answers */
    rf_answer_options answer;
    waiting_texts texts;      /* if kept: those without an answer yet */
    rf_neighbour *neighbours; /* [answer.explain] */
    size_t n_texts;
} predict_stream;

/* ---- Options ----------------------------------------------------------------------- */

#define PREDICT_OPTIONS 9

/* Sets the defaults in r and lists the options that fill it. */
static void list_options(predict_request *r, option out[PREDICT_OPTIONS])
{
    *r = (predict_request){.answer = rf_answer_options_default(), .top = SIZE_MAX};
    const option list[PREDICT_OPTIONS] = {
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &r->json,
         .help = "One JSON object per line, with the reasons for the answer."},
        {.name = "top",
         .kind = OPTION_SIZE,
         .value = &r->top,
         .arg = "K",
         .help = "With --json: the K most likely classes (default 5).",
         .max = 1000000},
        {.name = "text",
         .kind = OPTION_FLAG,
         .value = &r->text,
         .help = "With --json: include the text."},
        {.name = "margins",
         .kind = OPTION_SIZE,
         .value = &r->answer.margins,
         .arg = "K",
         .help = "With --json: the K largest margins.",
         .max = 1000000},
        {.name = "map",
         .kind = OPTION_FLAG,
         .value = &r->answer.map,
         .help = "With --json: where the text falls on the map of the training texts."},
        {.name = "explain",
         .kind = OPTION_SIZE,
         .value = &r->answer.explain,
         .arg = "K",
         .help = "Show the K nearest training texts, why an answer is open, and words "
                 "that the encoder does not know. Not with a model that was trained "
                 "with --no-examples.",
         .min = 1,
         .max = 1000},
        {.name = "fence",
         .kind = OPTION_FLOAT,
         .value = &r->fence,
         .arg = "X",
         .help = "Add X to every margin: above 0, more texts get a class (default 0).",
         .least = -(double)RF_MAX_FENCE,
         .most = (double)RF_MAX_FENCE},
        PRECISION_OPTION(&r->precision),
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r->threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The answers are the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    memcpy(out, list, sizeof list);
}

/* What is wrong with the options taken together, NULL if nothing is. */
static const char *wrong_options(const predict_request *r)
{
    if (!r->paths[0])
        return "which model? Wanted MODEL [FILE|-]";
    if (!r->json && (r->text || r->top != SIZE_MAX || r->answer.margins || r->answer.map))
        return "--text, --top, --margins and --map need --json";
    return NULL;
}

/* ---- One answer -------------------------------------------------------------------- */

static rf_status put_json(predict_stream *s, const rf_decision *d, rf_error *err)
{
    char *json;
    size_t len;
    if (s->text)
        s->answer.text = waiting_texts_first(&s->texts, &s->answer.text_len);
    if (s->answer.explain)
        s->answer.source = waiting_texts_first(&s->texts, &s->answer.source_len);
    rf_status st = rf_decision_json(s->model, d, &s->answer, &json, &len, err);
    if (st != RF_OK)
        return st;
    fwrite(json, 1, len, stdout);
    putchar('\n');
    free(json);
    return RF_OK;
}

static rf_status put_unknown_words(const predict_stream *s, rf_error *err)
{
    char *words, line[100];
    size_t len, n;
    const char *text = waiting_texts_first(&s->texts, &len);
    rf_status st = rf_unknown_words(s->model, text, len, &words, &n, err);
    const char *word = words;
    for (size_t i = 0; st == RF_OK && i < n; i++, word += strlen(word) + 1)
        printf("%s%s", i ? " " : "    unknown words: ",
               screen_one_line(line, sizeof line, word, strlen(word)));
    if (st == RF_OK && n > 0)
        putchar('\n');
    free(words);
    return st;
}

/* Below the answer: why it is open, the nearest texts, and words that tell it nothing. */
static rf_status put_explanation(const predict_stream *s, const rf_decision *d, size_t n,
                                 rf_error *err)
{
    char line[300], reason[RF_REASON_MAX];
    if (d->class_index == RF_OPEN)
        printf("    %s\n",
               rf_open_reason(s->model, d, s->neighbours, n, reason, sizeof reason));
    for (size_t i = 0; i < n; i++) {
        const rf_neighbour *b = &s->neighbours[i];
        printf("    %.3f  %s  %s\n", (double)b->distance,
               rf_model_label(s->model, b->class_index),
               screen_one_line(line, sizeof line, b->text, b->text_len));
    }
    return put_unknown_words(s, err);
}

static rf_status put_plain(const predict_stream *s, const rf_decision *d, rf_error *err)
{
    size_t n = s->answer.explain;
    rf_status st = n ? rf_explain(s->model, d->feature, s->neighbours, &n, err) : RF_OK;
    if (st != RF_OK)
        return st;
    printf("%s\t%.4f\n", rf_model_label(s->model, d->class_index), (double)d->confidence);
    return s->answer.explain ? put_explanation(s, d, n, err) : RF_OK;
}

static rf_status put_answer(void *user, const rf_decision *d, rf_error *err)
{
    predict_stream *s = user;
    screen_progress("texts", ++s->n_texts);
    rf_status st = s->json ? put_json(s, d, err) : put_plain(s, d, err);
    if (st != RF_OK)
        return st;
    if (s->keep)
        waiting_texts_drop_first(&s->texts);
    /* Notice a full disk now, not after another hour of input. */
    return ferror(stdout) ? rf_fail_errno(err, "standard output: cannot write") : RF_OK;
}

/* ---- The stream -------------------------------------------------------------------- */

static rf_status feed_bytes(void *user, const char *bytes, size_t len, rf_error *err)
{
    predict_stream *s = user;
    rf_status st = s->keep ? waiting_texts_add(&s->texts, bytes, len, err) : RF_OK;
    return st == RF_OK ? rf_session_feed(s->session, bytes, len, err) : st;
}

static rf_status end_line(void *user, rf_error *err)
{
    predict_stream *s = user;
    rf_status st = s->keep ? waiting_texts_end(&s->texts, err) : RF_OK;
    if (st == RF_OK)
        st = rf_session_end_text(s->session, err);
    if (st == RF_OK && s->keep && waiting_texts_bytes(&s->texts) > PENDING_BYTES)
        st = rf_session_flush(s->session, err);
    return st;
}

static rf_status flush_pending(void *user, rf_error *err)
{
    predict_stream *s = user;
    rf_status st = rf_session_flush(s->session, err);
    if (st == RF_OK && fflush(stdout) != 0)
        st = rf_fail_errno(err, "standard output: cannot write");
    return st;
}

/* ---- The command ------------------------------------------------------------------- */

/* Checks up front, before any input is read, that the model can answer the request. */
static rf_status check_model(const predict_request *r, const rf_model *model,
                             rf_error *err)
{
    if (r->answer.explain && !rf_model_has_examples(model))
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%s: the model does not contain its training texts, which "
                       "--explain shows; train it without --no-examples",
                       r->paths[0]);
    if (r->answer.map && rf_model_map_size(model) == 0)
        return rf_fail(err, RF_ERR_MISSING, 0,
                       "%s: the model has no map; train it without --no-features and "
                       "--map-points 0",
                       r->paths[0]);
    return RF_OK;
}

static rf_status predict_lines(predict_stream *s, const predict_request *r, rf_error *err)
{
    size_t room = s->answer.explain + 1;
    s->neighbours = calloc(room, sizeof *s->neighbours);
    if (!s->neighbours)
        return rf_fail_nomem(err, room * sizeof *s->neighbours, "neighbours");
    rf_session_options o = rf_session_options_default();
    o.threads = r->threads;
    o.precision = precision_of(r->precision);
    s->session = rf_session_open(s->model, &o, err);
    if (!s->session)
        return err->code;
    rf_status st = rf_session_set_fence(s->session, r->fence, err);
    if (st != RF_OK)
        return st;
    rf_session_set_sink(s->session, put_answer, s);
    const line_sink sink = {s, feed_bytes, end_line, flush_pending};
    st = lines_read(r->paths[1], &sink, err);
    return st == RF_OK ? flush_pending(s, err) : st;
}

static rf_status predict(const predict_request *r, rf_error *err)
{
    rf_model *model = rf_model_load(r->paths[0], err);
    if (!model)
        return err->code;
    predict_stream s = {
        .model = model, .json = r->json, .text = r->text, .answer = r->answer};
    s.keep = r->text || r->answer.explain > 0;
    rf_status st = check_model(r, model, err);
    if (st == RF_OK)
        st = predict_lines(&s, r, err);
    screen_progress_end();
    rf_session_free(s.session);
    waiting_texts_release(&s.texts);
    free(s.neighbours);
    rf_model_free(model);
    return st;
}

static int run_predict(const command *self, int argc, char **argv)
{
    predict_request r;
    option options[PREDICT_OPTIONS];
    size_t n;
    list_options(&r, options);
    switch (options_parse(self, options, PREDICT_OPTIONS, argc, argv, r.paths, 2, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong = wrong_options(&r);
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    if (r.top != SIZE_MAX)
        r.answer.top = r.top;
    rf_error err = {0};
    return predict(&r, &err) == RF_OK ? 0 : command_failed(&err);
}

const command command_predict = {
    .name = "predict",
    .synopsis = "MODEL [OPTIONS] [FILE|-]",
    .summary = "Answer each line of text with its class, or with \"open\".",
    .details =
        "Reads FILE, or standard input, and prints one line per line of text, in order:\n"
        "the class, or \"open\" if no class accepts the text, a tab, and the confidence\n"
        "in that answer from 0 to 1. An empty line is a text too. Lines end at LF only.\n"
        "Memory does not grow with the input, and answers are printed as soon as no "
        "more\n"
        "input is waiting.\n\n"
        "With --json each line is an object:\n"
        "  label              the class, or \"open\"\n"
        "  open               whether every class rejects the text\n"
        "  confidence         in the answer, 0 to 1\n"
        "  margin             the largest output of a head, --fence added; below 0: "
        "open\n"
        "  ranking            the most likely known classes, whether accepted or not\n"
        "  accepted           classes whose head accepts the text, largest margin first\n"
        "  nearest_rejecting  the class that rejects it by the smallest margin, or null\n"
        "  reason             why the answer is open, in words\n"
        "  text               with --text; bytes that are not UTF-8 become U+FFFD\n"
        "  margins            with --margins: label and margin, largest first\n"
        "  neighbours         with --explain: text, label and distance\n"
        "  unknown_words      with --explain: words that the encoder does not know\n"
        "  map                with --map: [x, y], each from -1 to 1",
    .run = run_predict,
};
