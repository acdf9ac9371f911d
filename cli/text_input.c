/* text_input.c - gathers texts from lines, JSON Lines and tables */
#include "text_input.h"

#include "base/json.h"
#include "lines.h"
#include "table_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const usual[] = {"text",     "sentence", "utterance", "query",
                                    "question", "message",  NULL};

static rf_status end_text(text_input *in, rf_error *err)
{
    in->n++;
    return rf_buffer_add(&in->ends, &in->bytes.len, sizeof in->bytes.len, err);
}

static rf_status add_text(text_input *in, const char *text, size_t len, rf_error *err)
{
    rf_status st = len ? rf_buffer_add(&in->bytes, text, len, err) : RF_OK;
    return st == RF_OK ? end_text(in, err) : st;
}

/* ---- Lines ------------------------------------------------------------------------- */

static rf_status add_piece(void *user, const char *bytes, size_t len, rf_error *err)
{
    text_input *in = user;
    return len ? rf_buffer_add(&in->bytes, bytes, len, err) : RF_OK;
}

static rf_status line_end(void *user, rf_error *err)
{
    return end_text(user, err);
}

static rf_status line_idle(void *user, rf_error *err)
{
    (void)user;
    (void)err;
    return RF_OK;
}

/* ---- JSON Lines -------------------------------------------------------------------- */

typedef struct json_lines {
    text_input *in;
    const char *path, *column;
    rf_buffer line;
    size_t number;
} json_lines;

static rf_status json_piece(void *user, const char *bytes, size_t len, rf_error *err)
{
    json_lines *j = user;
    return len ? rf_buffer_add(&j->line, bytes, len, err) : RF_OK;
}

static rf_status json_end(void *user, rf_error *err)
{
    json_lines *j = user;
    size_t len = j->line.len;
    rf_buffer_clear(&j->line);
    j->number++;
    if (len == 0 || strspn(j->line.data, " \t\r") >= len)
        return RF_OK;
    json_t *object = rf_json_line(j->line.data, len, j->path, j->number, err);
    if (!object)
        return err->code;
    json_t *text = j->column ? json_object_get(object, j->column) : NULL;
    for (size_t i = 0; !j->column && !text && usual[i]; i++)
        text = json_object_get(object, usual[i]);
    rf_status st =
        json_is_string(text)
            ? add_text(j->in, json_string_value(text), json_string_length(text), err)
            : rf_fail(err, RF_ERR_FORMAT, j->number,
                      "%s: line %zu: key \"%.40s\" is %s, wanted a string; "
                      "--text-column names another key",
                      j->path, j->number, j->column ? j->column : usual[0],
                      rf_json_type(text));
    json_decref(object);
    return st;
}

static rf_status read_json(text_input *in, const char *path, const char *column,
                           rf_error *err)
{
    json_lines j = {.in = in, .path = path, .column = column};
    rf_buffer_init(&j.line, (size_t)64 << 20, "a line");
    const line_sink sink = {&j, json_piece, json_end, line_idle};
    rf_status st = lines_read(path, &sink, err);
    rf_buffer_release(&j.line);
    return st;
}

/* ---- Tables ------------------------------------------------------------------------ */

static rf_status find_column(const table_file *t, const char *column, size_t *at,
                             rf_error *err)
{
    *at = column ? table_file_column(t, column) : TABLE_NONE;
    for (size_t i = 0; !column && *at == TABLE_NONE && usual[i]; i++)
        *at = table_file_column(t, usual[i]);
    if (*at != TABLE_NONE)
        return RF_OK;
    int shown = t->names[0].len < 40 ? (int)t->names[0].len : 40;
    return rf_fail(err, RF_ERR_FORMAT, 1,
                   "%s: line 1: no column \"%.40s\" among %zu, the first of which is "
                   "\"%.*s\"; --text-column names the column of the texts",
                   t->path, column ? column : usual[0], t->n_columns, shown,
                   t->names[0].data);
}

static rf_status read_table(text_input *in, const char *path, const char *column,
                            rf_error *err)
{
    table_file *t = malloc(sizeof *t);
    if (!t)
        return rf_fail_nomem(err, sizeof *t, "a table");
    size_t at = 0;
    bool found = true;
    rf_status st = table_file_open(t, path, err);
    if (st == RF_OK) {
        st = find_column(t, column, &at, err);
        while (st == RF_OK && (st = table_file_next(t, &found, err)) == RF_OK && found)
            st = add_text(in, t->fields[at].data, t->fields[at].len, err);
        table_file_close(t);
    }
    free(t);
    return st;
}

/* ---- All of them ------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcasecmp(path + n - m, end) == 0;
}

static rf_status make_list(text_input *in, const char *path, rf_error *err)
{
    const size_t *ends = (const size_t *)(const void *)in->ends.data;
    if (in->n == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0, "%s: no texts, wanted at least one",
                       strcmp(path, "-") == 0 ? "standard input" : path);
    in->texts = calloc(in->n, sizeof *in->texts);
    in->lens = calloc(in->n, sizeof *in->lens);
    if (!in->texts || !in->lens)
        return rf_fail_nomem(err, in->n * sizeof *in->texts, "texts");
    for (size_t i = 0; i < in->n; i++) {
        size_t from = i ? ends[i - 1] : 0;
        in->texts[i] = in->bytes.data ? in->bytes.data + from : "";
        in->lens[i] = ends[i] - from;
    }
    return RF_OK;
}

rf_status text_input_read(text_input *in, const char *path, const char *column,
                          rf_error *err)
{
    *in = (text_input){0};
    rf_buffer_init(&in->bytes, SIZE_MAX / 4, "texts");
    rf_buffer_init(&in->ends, SIZE_MAX / 4, "texts");
    rf_status st;
    if (ends_in(path, ".jsonl")) {
        st = read_json(in, path, column, err);
    } else if (ends_in(path, ".tsv") || ends_in(path, ".csv")) {
        st = read_table(in, path, column, err);
    } else {
        const line_sink sink = {in, add_piece, line_end, line_idle};
        st = lines_read(path, &sink, err);
    }
    if (st == RF_OK)
        st = make_list(in, path, err);
    if (st != RF_OK)
        text_input_release(in);
    return st;
}

void text_input_release(text_input *in)
{
    rf_buffer_release(&in->bytes);
    rf_buffer_release(&in->ends);
    free(in->texts);
    free(in->lens);
    *in = (text_input){0};
}
