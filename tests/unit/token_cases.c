/* token_cases.c - texts and the ids that they must become */
#include "token_cases.h"

#include "base/file.h"
#include "base/json.h"

#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rf_status token_put(void *user, int32_t id, rf_error *err)
{
    rf_buffer *b = user;
    char text[16];
    int n = snprintf(text, sizeof text, b->len ? " %d" : "%d", (int)id);
    return rf_buffer_add(b, text, (size_t)n, err);
}

const char *token_ids(const rf_vocab *v, const char *text, size_t len, size_t step,
                      size_t max_tokens, rf_buffer *out)
{
    rf_buffer_clear(out);
    rf_tokenizer *t = rf_tokenizer_new(v, max_tokens, token_put, out, NULL);
    assert_non_null(t);
    if (step == 0)
        step = len;
    for (size_t i = 0; i < len; i += step)
        assert_int_equal(
            rf_tokenizer_feed(t, text + i, len - i < step ? len - i : step, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_end(t, NULL, NULL), RF_OK);
    rf_tokenizer_free(t);
    return out->data;
}

void token_check(const rf_vocab *v, const char *text, size_t len, const char *want,
                 const char *file, size_t line)
{
    rf_buffer b;
    rf_buffer_init(&b, (size_t)1 << 24, "ids");
    for (size_t step = 0; step < 3; step++) /* whole, byte by byte, two bytes */
        if (strcmp(token_ids(v, text, len, step, 0, &b), want) != 0)
            fail_msg("%s:%zu (step %zu): got %s, want %s", file, line, step, b.data,
                     want);
    rf_buffer_release(&b);
}

bool token_lines_load(token_lines *l, const char *path)
{
    rf_buffer_init(&l->file, (size_t)1 << 28, path);
    if (rf_file_read(path, &l->file, NULL) != RF_OK) {
        rf_buffer_release(&l->file);
        return false;
    }
    l->n = 0;
    for (size_t i = 0; i < l->file.len; i++)
        l->n += l->file.data[i] == '\n';
    l->line = calloc(l->n + 1, sizeof *l->line);
    char *p = l->file.data;
    for (size_t i = 0; i < l->n; i++) {
        l->line[i] = p;
        p = strchr(p, '\n');
        *p++ = '\0';
    }
    return true;
}

void token_lines_release(token_lines *l)
{
    free(l->line);
    rf_buffer_release(&l->file);
}

void token_check_strings(const rf_vocab *v, const char *strings, const char *ids,
                         size_t least, size_t exception, const char *exception_ids)
{
    token_lines s, w;
    assert_true(token_lines_load(&s, strings));
    assert_true(token_lines_load(&w, ids));
    assert_int_equal(s.n, w.n);
    assert_true(s.n >= least);
    for (size_t i = 0; i < s.n; i++) {
        json_t *text = json_loads(s.line[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(text);
        token_check(v, json_string_value(text), json_string_length(text),
                    i + 1 == exception ? exception_ids : w.line[i], strings, i + 1);
        json_decref(text);
    }
    token_lines_release(&s);
    token_lines_release(&w);
}
