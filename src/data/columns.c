/* columns.c - finds the text and the label column by option, name or elimination */
#include "data/columns.h"

#include <stdio.h>
#include <string.h>

#define NONE SIZE_MAX

/* Usual names; if a header has several, the first in this list wins. */
static const char *const text_names[] = {"text",  "sentence", "utterance",
                                         "query", "question", "message"};
static const char *const label_names[] = {"label", "intent", "class", "category"};
#define N_TEXT_NAMES (sizeof text_names / sizeof text_names[0])
#define N_LABEL_NAMES (sizeof label_names / sizeof label_names[0])

typedef struct search {
    const rf_field *names;
    size_t n;
    const char *place;
    size_t line;
    const char *what; /* "columns" or "keys" */
    rf_error *err;
} search;

/* ---- Names ------------------------------------------------------------------------- */

static rf_field trimmed(rf_field f)
{
    for (; f.len > 0 && f.data[0] == ' '; f.len--)
        f.data++;
    while (f.len > 0 && f.data[f.len - 1] == ' ')
        f.len--;
    return f;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_name(rf_field f, const char *name)
{
    f = trimmed(f);
    size_t i = 0;
    while (i < f.len && name[i] && lower(f.data[i]) == lower(name[i]))
        i++;
    return i == f.len && name[i] == '\0';
}

static bool same_bytes(rf_field f, const char *name)
{
    return f.len == strlen(name) && memcmp(f.data, name, f.len) == 0;
}

/* The columns found, as a list for a message. */
static void list_names(const search *s, char out[200])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < s->n && used + 50 < 200; i++) {
        int shown = s->names[i].len < 30 ? (int)s->names[i].len : 30;
        used += (size_t)snprintf(out + used, 200 - used, "%s\"%.*s\"", i ? ", " : "",
                                 shown, s->names[i].data);
        if (i + 1 < s->n && used + 50 >= 200)
            snprintf(out + used, 200 - used, ", ...");
    }
}

/* The column of a name, NONE if there is none. Case matters only between names that
 * differ in nothing else. */
static rf_status find(const search *s, const char *name, size_t *at)
{
    size_t found = NONE, n = 0, exact = NONE, n_exact = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!same_name(s->names[i], name))
            continue;
        found = n++ ? found : i;
        if (same_bytes(s->names[i], name))
            exact = n_exact++ ? exact : i;
    }
    *at = n_exact == 1 ? exact : found;
    if (n > 1 && n_exact != 1)
        return rf_fail(s->err, RF_ERR_FORMAT, s->line,
                       "%s: %zu %s are called \"%.40s\", wanted one", s->place, n,
                       s->what, name);
    return RF_OK;
}

static rf_status find_usual(const search *s, const char *const *names, size_t n,
                            size_t *at)
{
    rf_status st = RF_OK;
    *at = NONE;
    for (size_t i = 0; st == RF_OK && *at == NONE && i < n; i++)
        st = find(s, names[i], at);
    return st;
}

static bool has_usual(const rf_field *fields, size_t n, const char *const *names,
                      size_t n_names)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n_names; j++)
            if (same_name(fields[i], names[j]))
                return true;
    return false;
}

/* ---- Columns ----------------------------------------------------------------------- */

static bool is_number(const char *column)
{
    return column && column[strspn(column, "0123456789")] == '\0';
}

/* One column, NONE if it is neither given nor recognised. */
static rf_status choose(const search *s, const char *column, bool numbers, bool named,
                        const char *role, const char *const *usual, size_t n_usual,
                        size_t *at)
{
    char have[200];
    *at = NONE;
    if (!column)
        return named ? find_usual(s, usual, n_usual, at) : RF_OK;
    if (*column == '\0')
        return rf_fail(s->err, RF_ERR_ARG, 0, "%s: the name of the %s column is empty",
                       s->place, role);
    if (numbers && is_number(column)) {
        size_t number = 0;
        for (const char *p = column; *p && number <= s->n; p++)
            number = 10 * number + (size_t)(*p - '0');
        if (number == 0)
            return rf_fail(s->err, RF_ERR_ARG, 0, "%s: %s column 0: columns count from 1",
                           s->place, role);
        if (number > s->n)
            return rf_fail(s->err, RF_ERR_FORMAT, s->line,
                           "%s: found %zu columns, wanted the %s in column %.20s",
                           s->place, s->n, role, column);
        *at = number - 1;
        return RF_OK;
    }
    if (!named)
        return rf_fail(s->err, RF_ERR_ARG, 0,
                       "%s: the %s column \"%.40s\" is given by name, but the options "
                       "say that the file has no header",
                       s->place, role, column);
    rf_status st = find(s, column, at);
    if (st == RF_OK && *at == NONE) {
        list_names(s, have);
        st = rf_fail(s->err, RF_ERR_FORMAT, s->line,
                     "%s: no %s column \"%.40s\" among %s", s->place, role, column, have);
    }
    return st;
}

static rf_status choose_both(rf_columns *c, const search *s, const rf_data_options *o,
                             bool numbers, bool named, bool by_elimination)
{
    char have[200];
    rf_status st = choose(s, o->text_column, numbers, named, "text", text_names,
                          N_TEXT_NAMES, &c->text);
    if (st == RF_OK)
        st = choose(s, o->label_column, numbers, named, "label", label_names,
                    N_LABEL_NAMES, &c->label);
    if (st != RF_OK)
        return st;
    if (o->texts_only && s->n == 1 && c->text == NONE)
        c->text = 0;
    if (by_elimination && s->n == 2 && !o->texts_only) {
        if (c->text == NONE)
            c->text = c->label == 0 ? 1 : 0;
        if (c->label == NONE)
            c->label = c->text == 0 ? 1 : 0;
    }
    if (c->text == NONE || (c->label == NONE && !o->texts_only)) {
        list_names(s, have);
        return rf_fail(s->err, RF_ERR_FORMAT, s->line,
                       "%s: which of the %zu %s holds the %s? Give its name%s; found %s",
                       s->place, s->n, s->what, c->text == NONE ? "text" : "label",
                       numbers ? " or number" : "", have);
    }
    if (c->text == c->label)
        return rf_fail(s->err, RF_ERR_ARG, 0,
                       "%s: column %zu cannot be both text and label", s->place,
                       c->text + 1);
    return RF_OK;
}

/* A header is not a text, and must not be taken for one. */
static rf_status unsure(const search *s)
{
    char have[200];
    list_names(s, have);
    return rf_fail(s->err, RF_ERR_FORMAT, s->line,
                   "%s: which column holds the texts? Give --text-column NAME, or "
                   "--header no if this line is a row; found %s",
                   s->place, have);
}

rf_status rf_columns_of_record(rf_columns *c, const rf_field *fields, size_t n,
                               const rf_data_options *o, const char *place, size_t line,
                               rf_error *err)
{
    search s = {fields, n, place, line, "columns", err};
    if (n > RF_MAX_COLUMNS)
        return rf_fail(err, RF_ERR_LIMIT, line,
                       "%s: found %zu columns, wanted at most %d", place, n,
                       RF_MAX_COLUMNS);
    bool by_name = (o->text_column && !is_number(o->text_column)) ||
                   (o->label_column && !is_number(o->label_column));
    bool usual = has_usual(fields, n, text_names, N_TEXT_NAMES) &&
                 (o->texts_only || has_usual(fields, n, label_names, N_LABEL_NAMES));
    c->header =
        o->header == RF_HEADER_YES || (o->header == RF_HEADER_AUTO && (by_name || usual));
    if (o->texts_only && o->header == RF_HEADER_AUTO && !c->header)
        return unsure(&s);
    return choose_both(c, &s, o, true, c->header, true);
}

bool rf_column_is_text(rf_field name)
{
    return has_usual(&name, 1, text_names, N_TEXT_NAMES);
}

rf_status rf_columns_of_keys(rf_columns *c, const rf_field *keys, size_t n,
                             const rf_data_options *o, const char *place, size_t line,
                             rf_error *err)
{
    search s = {keys, n, place, line, "keys", err};
    c->header = false;
    return choose_both(c, &s, o, false, true, false);
}
