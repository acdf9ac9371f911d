/* recognise.c - formats by their first bytes */
#include "data/recognise.h"

#include "data/columns.h"
#include "data/json_cursor.h"

#include <string.h>

/* ---- Lines ------------------------------------------------------------------------- */

/* The first line that is not blank. */
static rf_field first_line(const rf_glimpse *g)
{
    size_t i = 0;
    while (i < g->len && strchr(" \t\r\n", g->bytes[i]) && g->bytes[i])
        i++;
    while (i > 0 && g->bytes[i - 1] != '\n')
        i--;
    const char *end = memchr(g->bytes + i, '\n', g->len - i);
    return rf_text_field(g->bytes + i, end ? (size_t)(end - g->bytes) - i : g->len - i);
}

static bool begins(rf_field line, const char *words)
{
    size_t n = strlen(words);
    return line.len >= n && memcmp(line.data, words, n) == 0;
}

/* Whether a line begins with these words. */
static bool has_line(const rf_glimpse *g, const char *words)
{
    const char *p = g->bytes, *end = p + g->len;
    while (p && p < end) {
        if (begins(rf_text_field(p, (size_t)(end - p)), words))
            return true;
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return false;
}

bool rf_looks_like_fasttext(const rf_glimpse *g)
{
    return begins(first_line(g), "__label__");
}

bool rf_looks_like_rasa_yaml(const rf_glimpse *g)
{
    return has_line(g, "nlu:");
}

bool rf_looks_like_rasa_md(const rf_glimpse *g)
{
    return has_line(g, "## intent:");
}

/* ---- Tables ------------------------------------------------------------------------ */

/* Names, not prose: several short words without spaces, one of them usual for texts. */
static bool is_header(rf_field line, char separator)
{
    size_t n = 0;
    bool text = false;
    while (true) {
        const char *cut = memchr(line.data, separator, line.len);
        rf_field name = {line.data, cut ? (size_t)(cut - line.data) : line.len, 0};
        if (name.len > 0 && name.data[0] == ' ')
            return false;
        while (name.len > 0 && strchr(" \r\"", name.data[name.len - 1]))
            name.len--;
        for (; name.len > 0 && *name.data == '"'; name.len--)
            name.data++;
        if (name.len > 32 || memchr(name.data, ' ', name.len))
            return false;
        text = text || rf_column_is_text(name);
        n++;
        if (!cut)
            return text && n > 1;
        line.len -= (size_t)(cut - line.data) + 1;
        line.data = cut + 1;
    }
}

bool rf_looks_like_tsv(const rf_glimpse *g)
{
    rf_field line = first_line(g);
    return g->options->texts_only ? is_header(line, '\t')
                                  : line.len > 0 && memchr(line.data, '\t', line.len);
}

bool rf_looks_like_csv(const rf_glimpse *g)
{
    rf_field line = first_line(g);
    return !g->options->texts_only || is_header(line, ',') || is_header(line, ';') ||
           is_header(line, '|');
}

/* ---- JSON -------------------------------------------------------------------------- */

/* What a scan of the first bytes finds, whether or not they are valid. */
typedef struct shape {
    char first, second; /* bytes that are not white space */
    bool row;           /* the outermost object has a text, as a row has */
    bool line;          /* it ends in the line in which it begins, or may do so */
    char next;          /* what follows it */
    bool intents, utterances, luis, snips;
} shape;

typedef struct scan {
    const rf_glimpse *g;
    size_t i, depth;
    rf_field string; /* the last one */
} scan;

static char skip_blank(const rf_glimpse *g, size_t *i)
{
    while (*i < g->len && strchr(" \t\r\n", g->bytes[*i]) && g->bytes[*i])
        ++*i;
    return *i < g->len ? g->bytes[*i] : '\0';
}

static void scan_string(scan *s)
{
    const char *p = s->g->bytes;
    size_t from = ++s->i;
    for (; s->i < s->g->len && p[s->i] != '"'; s->i++)
        s->i += p[s->i] == '\\';
    size_t to = s->i < s->g->len ? s->i : s->g->len;
    s->string = rf_text_field(p + (from < to ? from : to), from < to ? to - from : 0);
}

static void note_key(const scan *s, shape *out)
{
    size_t at = s->i + 1;
    char value = skip_blank(s->g, &at);
    const char *column = s->g->options->text_column;
    rf_field key = s->string;
    bool text = column ? rf_field_is(key, column) : rf_column_is_text(key);
    if (s->depth == 1) {
        out->row = out->row || (text && value == '"');
        out->utterances = out->utterances || rf_field_is(key, "utterances");
        out->intents = out->intents || (rf_field_is(key, "intents") && value == '[');
        out->luis = out->luis || rf_field_is(key, "luis_schema_version") ||
                    rf_field_is(key, "projectFileVersion");
        out->snips = out->snips || (rf_field_is(key, "intents") && value == '{');
    }
    if (s->depth == 3 && value == '[')
        out->snips = out->snips || rf_field_is(key, "data");
}

static shape shape_of(const rf_glimpse *g)
{
    scan s = {.g = g};
    shape out = {.line = true};
    out.first = skip_blank(g, &s.i);
    size_t second = s.i + 1;
    out.second = skip_blank(g, &second);
    for (; s.i < g->len; s.i++) {
        char c = g->bytes[s.i];
        if (c == '"')
            scan_string(&s);
        else if (c == '{' || c == '[')
            s.depth++;
        else if (c == ':')
            note_key(&s, &out);
        else if (c == '\n')
            out.line = false;
        else if ((c == '}' || c == ']') && s.depth > 0 && --s.depth == 0)
            break;
    }
    s.i++;
    out.next = skip_blank(g, &s.i);
    return out;
}

static bool is_object(const shape *s)
{
    return s->first == '{' && (s->second == '"' || s->second == '}');
}

bool rf_looks_like_jsonl(const rf_glimpse *g)
{
    shape s = shape_of(g);
    return is_object(&s) && s.line && (s.next == '{' || s.row);
}

bool rf_looks_like_luis(const rf_glimpse *g)
{
    shape s = shape_of(g);
    return is_object(&s) && (s.luis || (s.utterances && s.intents));
}

bool rf_looks_like_snips(const rf_glimpse *g)
{
    shape s = shape_of(g);
    return is_object(&s) && s.snips;
}

bool rf_looks_like_json(const rf_glimpse *g)
{
    shape s = shape_of(g);
    return is_object(&s) ||
           (s.first == '[' && (s.second == '{' || s.second == '[' || s.second == ']'));
}
