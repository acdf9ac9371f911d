/*
 * format_rasa_md.c - the training data of Rasa 1: headings and lists
 *
 *   ## intent:greet
 *   - hello
 *   - good morning from [Paris](city)
 *
 * Lists under other headings (synonym, regex, lookup) hold no texts.
 */
#include "data/formats.h"

#include "data/rasa.h"
#include "data/records.h"

#include <stdlib.h>
#include <string.h>

/* ---- Marked entities --------------------------------------------------------------- */

/* The end of what follows the closing bracket of a mark, NULL if nothing fits. */
static char *mark_end(char *p, const char *end)
{
    static const char open[] = "({[", close[] = ")}]";
    const char *kind = p < end && *p ? strchr(open, *p) : NULL;
    char *found = kind ? memchr(p, close[kind - open], (size_t)(end - p)) : NULL;
    return found ? found + 1 : NULL;
}

rf_field rf_rasa_plain(char *text, size_t len)
{
    char *p = text, *end = text + len, *to = text;
    while (p < end) {
        char *close = *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;
        char *after = close && close > p + 1 ? mark_end(close + 1, end) : NULL;
        if (!after) {
            *to++ = *p++;
            continue;
        }
        size_t n = (size_t)(close - p) - 1;
        memmove(to, p + 1, n);
        to += n;
        p = after;
    }
    return rf_text_field(text, (size_t)(to - text));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static rf_field trimmed(char *p, size_t len)
{
    for (; len > 0 && is_blank(*p); len--)
        p++;
    while (len > 0 && is_blank(p[len - 1]))
        len--;
    return rf_text_field(p, len);
}

rf_status rf_rasa_example(rf_rows *rows, rf_field label, char *line, size_t len,
                          size_t number, rf_error *err)
{
    rf_field f = trimmed(line, len);
    if (f.len == 0)
        return RF_OK;
    if (f.data[0] != '-' && f.data[0] != '*' && f.data[0] != '+')
        return rf_rows_bad(rows, RF_ERR_FORMAT, number, err,
                           "found \"%.*s\", wanted \"- \" before each example",
                           f.len < 40 ? (int)f.len : 40, f.data);
    line += (f.data - line) + 1;
    f = trimmed(line, f.len - 1);
    return rf_rows_pair(rows, rf_rasa_plain((char *)(uintptr_t)f.data, f.len), label,
                        number, err);
}

/* ---- The file ---------------------------------------------------------------------- */

typedef struct md {
    rf_rows *rows;
    rf_records records;
    bool in_intent;
    char label[RF_MAX_LABEL_BYTES + 2]; /* one more than fits, so that it is refused */
    size_t label_len;
} md;

static void take_heading(md *m, rf_field line)
{
    static const char intent[] = "intent:";
    size_t n = sizeof intent - 1, i = 0;
    while (i < line.len && (line.data[i] == '#' || line.data[i] == ' '))
        i++;
    m->in_intent = line.len - i >= n && memcmp(line.data + i, intent, n) == 0;
    if (!m->in_intent)
        return;
    m->label_len = line.len - i - n;
    if (m->label_len > sizeof m->label)
        m->label_len = sizeof m->label;
    memcpy(m->label, line.data + i + n, m->label_len);
}

static rf_status take_line(md *m, rf_error *err)
{
    if (m->records.n_fields == 0)
        return RF_OK;
    rf_field line = m->records.fields[0];
    if (line.data[0] == '#') {
        take_heading(m, line);
        return RF_OK;
    }
    if (!m->in_intent)
        return RF_OK;
    if (line.len > 4 && memcmp(line.data, "<!--", 4) == 0)
        return RF_OK;
    return rf_rasa_example(m->rows, rf_text_field(m->label, m->label_len),
                           (char *)(uintptr_t)line.data, line.len, m->records.line, err);
}

rf_status rf_read_rasa_md(const rf_format *f, rf_source *s, rf_rows *rows, rf_error *err)
{
    (void)f;
    bool found = true;
    md *m = calloc(1, sizeof *m);
    rf_status st = m ? RF_OK : rf_fail_nomem(err, sizeof *m, "reading Markdown");
    if (st == RF_OK) {
        m->rows = rows;
        rf_records_init(&m->records, s, RF_NO_SEPARATOR, false);
    }
    while (st == RF_OK && (st = rf_records_next(&m->records, &found, err)) == RF_OK &&
           found)
        st = take_line(m, err);
    free(m);
    return st;
}
