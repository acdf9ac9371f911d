/* cmd_predict.c - ringfence predict: prints a class or "open" for each line of text, or
 * row of a table, in constant memory
 */
#include "commands.h"

#include "answer_table.h"
#include "data_options.h"
#include "lines.h"
#include "screen.h"
#include "waiting_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PENDING_BYTES ((size_t)8 << 20) /* texts kept before a flush */

typedef struct predict_request {
    const char *paths[2]; /* model, texts (NULL: standard input) */
    const char *output;
    data_options data;
    bool json, text;
    rf_answer_options answer;
    size_t top; /* SIZE_MAX: not given */
    float fence;
    size_t threads;
    int precision; /* as chosen */
    bool all_heads;
} predict_request;

typedef struct predict_stream {
    const rf_model *model;
    rf_session *session;
    bool json, text;
    bool keep; /* the texts are needed with their answers */
    rf_answer_options answer;
    waiting_texts texts;      /* if kept: those without an answer yet */
    rf_neighbour *neighbours; /* [answer.explain] */
    answer_table *table;      /* of -o; NULL: answers are printed */
    size_t n_texts;
} predict_stream;

/* ---- Options ----------------------------------------------------------------------- */

#define OWN_OPTIONS 11
#define PREDICT_OPTIONS (OWN_OPTIONS + DATA_OPTIONS)

/* Sets the defaults in r and lists the options that fill it. */
static void list_options(predict_request *r, option out[PREDICT_OPTIONS])
{
    *r = (predict_request){.answer = rf_answer_options_default(), .top = SIZE_MAX};
    const option list[OWN_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &r->output,
         .arg = "FILE",
         .help = "Write a table (.csv, .tsv, .jsonl) of the input with all its columns, "
                 "and the columns predicted and confidence."},
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
        ALL_HEADS_OPTION(&r->all_heads),
        {.name = "threads",
         .kind = OPTION_SIZE,
         .value = &r->threads,
         .arg = "N",
         .help = "Threads (default: all CPUs). The answers are the same for any number.",
         .min = 1,
         .max = RF_MAX_THREADS},
    };
    memcpy(out, list, sizeof list);
    data_options_list(&r->data, out + OWN_OPTIONS);
}

/* What is wrong with the options taken together, NULL if nothing is. */
static const char *wrong_options(const predict_request *r)
{
    if (!r->paths[0])
        return "which model? Wanted MODEL [FILE|-]";
    if (r->output && (r->json || r->answer.explain))
        return "-o writes a table; --json and --explain print their answers";
    if (r->output && table_kind_of(r->output) == TABLE_UNKNOWN)
        return "wanted -o FILE with a name that ends in .csv, .tsv or .jsonl";
    if (command_would_overwrite(r->output, r->paths[0]) ||
        command_would_overwrite(r->output, r->paths[1] ? r->paths[1] : "-"))
        return "the answers would overwrite their input; wanted another name after -o";
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
    rf_status st =
        s->table ? answer_table_answer(s->table, rf_model_label(s->model, d->class_index),
                                       d->confidence, err)
        : s->json ? put_json(s, d, err)
                  : put_plain(s, d, err);
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
    size_t waiting = s->table  ? waiting_texts_bytes(&s->table->rows)
                     : s->keep ? waiting_texts_bytes(&s->texts)
                               : 0;
    if (st == RF_OK && waiting > PENDING_BYTES)
        st = rf_session_flush(s->session, err);
    return st;
}

/* A row of a table. */
static rf_status feed_row(void *user, const rf_table_row *row, rf_error *err)
{
    predict_stream *s = user;
    rf_field text = row->fields[row->text];
    rf_status st = s->table ? answer_table_row(s->table, row, err) : RF_OK;
    if (st == RF_OK && text.len > 0)
        st = feed_bytes(s, text.data, text.len, err);
    return st == RF_OK ? end_line(s, err) : st;
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

/* Whether the input is lines of text, as it is. What a file is, its content shows; a pipe
 * is lines, unless the options say something about tables. */
static rf_status is_plain(const predict_request *r, const rf_data_options *o, bool *plain,
                          rf_error *err)
{
    struct stat info;
    rf_data_format format;
    const char *path = r->paths[1];
    *plain = !r->output && o->format == RF_DATA_AUTO && !o->text_column && !o->encoding &&
             !o->raw_tsv && o->header == RF_HEADER_AUTO;
    if (!path || strcmp(path, "-") == 0 || stat(path, &info) != 0 ||
        !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) || info.st_size == 0)
        return RF_OK;
    bool as_it_is;
    rf_status st = rf_data_detect(path, o, &format, &as_it_is, err);
    *plain = st == RF_OK && *plain && format == RF_DATA_LINES && as_it_is;
    return st;
}

static rf_status read_texts(predict_stream *s, const predict_request *r, rf_error *err)
{
    rf_data_options o;
    rf_table_end end;
    bool plain;
    const line_sink sink = {s, feed_bytes, end_line, flush_pending};
    rf_status st = data_options_of(&r->data, &o, err);
    o.texts_only = true;
    if (st == RF_OK)
        st = is_plain(r, &o, &plain, err);
    if (st != RF_OK)
        return st;
    if (plain)
        return lines_read(r->paths[1], &sink, err);
    st = rf_table_read(r->paths[1], &o, feed_row, s, &end, err);
    if (st == RF_OK)
        data_report_skipped(r->paths[1] ? r->paths[1] : "standard input", &end);
    return st;
}

static rf_status answer_texts(predict_stream *s, const predict_request *r, rf_error *err)
{
    size_t room = s->answer.explain + 1;
    s->neighbours = calloc(room, sizeof *s->neighbours);
    if (!s->neighbours)
        return rf_fail_nomem(err, room * sizeof *s->neighbours, "neighbours");
    rf_session_options o = rf_session_options_default();
    o.threads = r->threads;
    o.precision = precision_of(r->precision);
    o.all_heads = r->all_heads;
    s->session = rf_session_open(s->model, &o, err);
    if (!s->session)
        return err->code;
    rf_status st = rf_session_set_fence(s->session, r->fence, err);
    if (st != RF_OK)
        return st;
    rf_session_set_sink(s->session, put_answer, s);
    st = read_texts(s, r, err);
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
    answer_table table = {0};
    if (st == RF_OK && r->output) {
        st = answer_table_open(&table, r->output, err);
        s.table = &table;
    }
    if (st == RF_OK)
        st = answer_texts(&s, r, err);
    screen_progress_end();
    if (st == RF_OK && s.table)
        st = answer_table_commit(s.table, err);
    answer_table_release(&table);
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
        "Reads FILE, or standard input, and prints one line per text, in order:\n"
        "the class, or \"open\" if no class accepts the text, a tab, and the confidence\n"
        "in that answer from 0 to 1. An empty line is a text too. Lines end at LF only.\n"
        "Memory does not grow with the input, and answers are printed as soon as no "
        "more\n"
        "input is waiting.\n\n"
        "FILE has a text per line, or is a table or another format that train reads,\n"
        "which is recognised; then its texts are answered, and never its header. A\n"
        "table must name its columns in its first line, or be read with --header no and\n"
        "--text-column N. Standard input is lines, unless --format, --text-column,\n"
        "--header or -o are given.\n\n"
        "With -o the answers come in a table beside the columns of the input:\n"
        "  ringfence predict m.rf tickets.csv --text-column message -o answers.csv\n\n"
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
        "  map                with --map: [x, y], each from -1 to 1; for open texts on "
        "a\n"
        "                     ring around that",
    .run = run_predict,
};
