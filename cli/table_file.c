/* table_file.c - cuts a file that is in memory into rows; fields are unquoted in place */
#include "table_file.h"

#include "base/file.h"

#include <string.h>
#include <strings.h>

#define MAX_BYTES ((size_t)1 << 30)

static bool at_line_end(const table_file *t)
{
    const char *p = t->bytes.data + t->at;
    size_t left = t->bytes.len - t->at;
    return left == 0 || p[0] == '\n' || (p[0] == '\r' && left > 1 && p[1] == '\n');
}

static void end_line(table_file *t)
{
    if (t->at < t->bytes.len && t->bytes.data[t->at] == '\r')
        t->at++;
    if (t->at < t->bytes.len)
        t->at++;
    t->next_line++;
}

/* A field that begins with a quote; t->at is behind it. */
static rf_status read_quoted(table_file *t, table_field *f, rf_error *err)
{
    char *bytes = t->bytes.data, *to = bytes + t->at;
    f->data = to;
    for (;;) {
        if (t->at == t->bytes.len)
            return rf_fail(err, RF_ERR_FORMAT, t->line,
                           "%s: line %zu: a quoted field does not end; wanted a \" at "
                           "its end",
                           t->path, t->line);
        char c = bytes[t->at++];
        if (c == '"' && (t->at == t->bytes.len || bytes[t->at] != '"'))
            break;
        t->at += c == '"'; /* doubled */
        t->next_line += c == '\n';
        *to++ = c;
    }
    f->len = (size_t)(to - f->data);
    if (at_line_end(t) || bytes[t->at] == t->separator)
        return RF_OK;
    return rf_fail(err, RF_ERR_FORMAT, t->next_line,
                   "%s: line %zu: found \"%c\" behind a quoted field, wanted a separator "
                   "or the end of the line",
                   t->path, t->next_line, bytes[t->at]);
}

static void read_plain(table_file *t, table_field *f)
{
    f->data = t->bytes.data + t->at;
    while (!at_line_end(t) && t->bytes.data[t->at] != t->separator)
        t->at++;
    f->len = (size_t)(t->bytes.data + t->at - f->data);
}

static rf_status read_row(table_file *t, rf_error *err)
{
    t->line = t->next_line;
    t->n_fields = 0;
    for (;;) {
        rf_status st = RF_OK;
        if (t->n_fields == TABLE_COLUMNS)
            return rf_fail(err, RF_ERR_LIMIT, t->line,
                           "%s: line %zu: found more than %d columns", t->path, t->line,
                           TABLE_COLUMNS);
        table_field *f = &t->fields[t->n_fields++];
        if (t->at < t->bytes.len && t->bytes.data[t->at] == '"') {
            t->at++;
            st = read_quoted(t, f, err);
        } else {
            read_plain(t, f);
        }
        if (st != RF_OK)
            return st;
        if (at_line_end(t))
            break;
        t->at++;
    }
    end_line(t);
    for (size_t i = t->n_fields; i < TABLE_COLUMNS; i++)
        t->fields[i] = (table_field){"", 0};
    return RF_OK;
}

rf_status table_file_next(table_file *t, bool *found, rf_error *err)
{
    while (t->at < t->bytes.len && at_line_end(t))
        end_line(t);
    *found = t->at < t->bytes.len;
    if (!*found)
        return RF_OK;
    rf_status st = read_row(t, err);
    if (st == RF_OK && t->n_fields > t->n_columns)
        return rf_fail(err, RF_ERR_FORMAT, t->line,
                       "%s: line %zu: found %zu fields, wanted %zu as in the first line",
                       t->path, t->line, t->n_fields, t->n_columns);
    return st;
}

/* The separator that the header has. */
static char find_separator(const table_file *t)
{
    const char *p = t->bytes.data + t->at;
    size_t left = t->bytes.len - t->at;
    const char *end = left ? memchr(p, '\n', left) : NULL;
    size_t n = end ? (size_t)(end - p) : left;
    if (n == 0 || memchr(p, '\t', n))
        return '\t';
    return memchr(p, ';', n) && !memchr(p, ',', n) ? ';' : ',';
}

rf_status table_file_open(table_file *t, const char *path, rf_error *err)
{
    memset(t, 0, sizeof *t);
    t->path = path;
    t->next_line = 1;
    rf_buffer_init(&t->bytes, MAX_BYTES, path);
    bool found = false;
    rf_status st = rf_file_read(path, &t->bytes, err);
    if (st == RF_OK && t->bytes.len >= 3 && memcmp(t->bytes.data, "\xef\xbb\xbf", 3) == 0)
        t->at = 3;
    t->separator = find_separator(t);
    t->n_columns = TABLE_COLUMNS;
    if (st == RF_OK)
        st = table_file_next(t, &found, err);
    if (st == RF_OK && !found)
        st = rf_fail(err, RF_ERR_FORMAT, 1,
                     "%s: the file is empty, wanted a line with the names of columns",
                     path);
    if (st != RF_OK) {
        table_file_close(t);
        return st;
    }
    t->n_columns = t->n_fields;
    memcpy(t->names, t->fields, sizeof t->names);
    return RF_OK;
}

void table_file_close(table_file *t)
{
    rf_buffer_release(&t->bytes);
}

size_t table_file_column(const table_file *t, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->names[i].len == len && strncasecmp(t->names[i].data, name, len) == 0)
            return i;
    return TABLE_NONE;
}
