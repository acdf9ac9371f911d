/* records.c - splits a source into lines and quoted records, in place */
#include "data/records.h"

#include <string.h>

const char *rf_separator_name(char separator)
{
    return separator == '\t'  ? "tab"
           : separator == ',' ? "comma"
           : separator == ';' ? "semicolon"
           : separator == '|' ? "vertical bar"
                              : "separator";
}

void rf_records_init(rf_records *r, rf_source *source, char separator, bool quoted)
{
    *r = (rf_records){
        .source = source, .separator = separator, .quoted = quoted, .next_line = 1};
}

/* The way out if quotes are just characters. */
static const char *raw_hint(const rf_records *r)
{
    return r->separator == '\t' ? "; --raw-tsv takes quotes as plain characters" : "";
}

static rf_status too_long(const rf_records *r, rf_error *err)
{
    return rf_fail(err, RF_ERR_LIMIT, r->line,
                   "%s: line %zu: more than %zu bytes without an end%s", r->source->name,
                   r->line, RF_MAX_RECORD, r->quoted ? "; is a quote left open?" : "");
}

/* Reads more of an unfinished record. */
static rf_status more(rf_records *r, rf_error *err)
{
    if (r->source->window.len - r->source->start > RF_MAX_RECORD)
        return too_long(r, err);
    return rf_source_more(r->source, err);
}

static void add_field(rf_records *r, const char *data, size_t len)
{
    if (r->n_fields < RF_MAX_COLUMNS)
        r->fields[r->n_fields] = (rf_field){data, len, 0};
    r->n_fields++;
}

/* ---- Plain: a record is a line ----------------------------------------------------- */

static rf_status next_plain(rf_records *r, rf_error *err)
{
    size_t seen = 0, len;
    const char *p, *end;
    for (;;) {
        p = rf_source_data(r->source, &len);
        end = len > seen ? memchr(p + seen, '\n', len - seen) : NULL;
        if (end || r->source->at_end)
            break;
        seen = len;
        rf_status st = more(r, err);
        if (st != RF_OK)
            return st;
    }
    r->size = end ? (size_t)(end - p) + 1 : len;
    r->next_line = r->line + 1;
    if (r->size > RF_MAX_RECORD)
        return too_long(r, err);
    len = end ? r->size - 1 : r->size;
    if (len > 0 && p[len - 1] == '\r')
        len--;
    if (len == 0)
        return RF_OK;
    for (const char *cut; (cut = memchr(p, r->separator, len));) {
        size_t n = (size_t)(cut - p);
        add_field(r, p, n);
        p += n + 1;
        len -= n + 1;
    }
    add_field(r, p, len);
    return RF_OK;
}

/* ---- Quoted ------------------------------------------------------------------------ */

typedef enum state {
    START,  /* of a field */
    PLAIN,  /* in a field without quotes; a quote here is a character */
    INSIDE, /* of quotes */
    QUOTE,  /* after a quote inside quotes: the end, or the first of two */
    CLOSED, /* after the CR that follows a closing quote */
} state;

/* A record being parsed. Fields are unquoted in place: writing never overtakes reading.
 * Offsets are from the start of the record, since the window may move. */
typedef struct making {
    state state;
    size_t read, written; /* bytes */
    size_t begin;         /* of the current field, in what was written */
    size_t lines;         /* that ended inside quotes */
    size_t quote_line;    /* where the current quote opened */
} making;

static rf_status after_quote(const rf_records *r, const making *m, char c, rf_error *err)
{
    return rf_fail(
        err, RF_ERR_FORMAT, r->line + m->lines,
        "%s: line %zu: byte 0x%02X after the quote that closes the field begun "
        "in line %zu, wanted a %s, a line end or a second quote%s",
        r->source->name, r->line + m->lines, (unsigned)(unsigned char)c, m->quote_line,
        rf_separator_name(r->separator), raw_hint(r));
}

static void end_field(rf_records *r, making *m)
{
    if (r->n_fields < RF_MAX_COLUMNS) {
        r->at[r->n_fields] = m->begin;
        r->fields[r->n_fields].len = m->written - m->begin;
    }
    r->n_fields++;
    m->begin = m->written;
    m->state = START;
}

static void end_record(rf_records *r, making *m, const char *base)
{
    if (m->state == PLAIN && base[m->written - 1] == '\r')
        m->written--;
    bool empty = r->n_fields == 0 && m->written == 0 && m->state != QUOTE &&
                 m->state != CLOSED; /* "" is a field, an empty line is not */
    if (!empty)
        end_field(r, m);
    for (size_t i = 0; i < r->n_fields && i < RF_MAX_COLUMNS; i++)
        r->fields[i].data = base + r->at[i];
    r->size = m->read;
    r->next_line = r->line + m->lines + 1;
}

/* The next n bytes are text of the current field. */
static void keep(making *m, char *p, size_t n)
{
    if (m->read != m->written)
        memmove(p + m->written, p + m->read, n);
    m->read += n;
    m->written += n;
}

/* Bytes before the next separator or line end. */
static size_t plain_run(const char *p, size_t n, char separator)
{
    size_t i = 0;
    while (i < n && p[i] != separator && p[i] != '\n')
        i++;
    return i;
}

/* Bytes before the next quote. */
static size_t quoted_run(const char *p, size_t n, size_t *lines)
{
    const char *quote = memchr(p, '"', n);
    if (quote)
        n = (size_t)(quote - p);
    for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        ++*lines;
    return n;
}

/* Up to the end of the window or of the record. */
static rf_status advance(rf_records *r, making *m, char *p, size_t len, bool *done,
                         rf_error *err)
{
    while (m->read < len) {
        char c = p[m->read];
        if (m->state == INSIDE) {
            keep(m, p, quoted_run(p + m->read, len - m->read, &m->lines));
            if (m->read < len) {
                m->state = QUOTE;
                m->read++;
            }
            continue;
        }
        if (m->state == START && c == '"') {
            m->state = INSIDE;
            m->quote_line = r->line + m->lines;
            m->read++;
            continue;
        }
        if (m->state == QUOTE && c == '"') {
            m->state = INSIDE;
            keep(m, p, 1);
            continue;
        }
        if (m->state == QUOTE && c == '\r') {
            m->state = CLOSED;
            m->read++;
            continue;
        }
        if (c == '\n') {
            *done = true;
            m->read++;
            return RF_OK;
        }
        if (m->state == CLOSED || (m->state == QUOTE && c != r->separator))
            return after_quote(r, m, c, err);
        if (c == r->separator) {
            m->read++;
            end_field(r, m);
            continue;
        }
        m->state = PLAIN;
        keep(m, p, plain_run(p + m->read, len - m->read, r->separator));
    }
    return RF_OK;
}

static rf_status next_quoted(rf_records *r, rf_error *err)
{
    making m = {.state = START};
    bool done = false;
    rf_status st;
    char *p;
    for (;;) {
        size_t len;
        p = rf_source_data(r->source, &len);
        st = advance(r, &m, p, len, &done, err);
        if (st != RF_OK || done || r->source->at_end)
            break;
        st = more(r, err);
        if (st != RF_OK)
            return st;
    }
    if (st == RF_OK && m.state == INSIDE)
        st = rf_fail(err, RF_ERR_FORMAT, m.quote_line,
                     "%s: line %zu: the quote that opens here is not closed up to the "
                     "end of the file%s",
                     r->source->name, m.quote_line, raw_hint(r));
    if (st == RF_OK && m.read > RF_MAX_RECORD)
        st = too_long(r, err);
    if (st == RF_OK)
        end_record(r, &m, p);
    return st;
}

rf_status rf_records_next(rf_records *r, bool *found, rf_error *err)
{
    rf_source_take(r->source, r->size);
    r->size = 0;
    r->n_fields = 0;
    r->line = r->next_line;
    *found = false;
    rf_status st = rf_source_want(r->source, 1, err);
    if (st != RF_OK || r->source->window.len == r->source->start)
        return st;
    st = r->quoted ? next_quoted(r, err) : next_plain(r, err);
    *found = st == RF_OK;
    return st;
}
