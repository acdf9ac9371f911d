/* json_cursor.c - RFC 8259, one value after another */
#include "data/json_cursor.h"

#include "data/encoding.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

void rf_json_start(rf_json_cursor *c, char *bytes, size_t len, const char *name,
                   size_t line)
{
    *c = (rf_json_cursor){bytes, bytes + len, line, bytes, name};
}

/* "x.json: line 3: not valid JSON at column 7: found ..., wanted ..." */
static rf_status bad(const rf_json_cursor *c, const char *wanted, rf_error *err)
{
    char found[16] = "the end";
    if (c->p<c->end && * c->p> ' ' && *c->p < 0x7f)
        snprintf(found, sizeof found, "%c", *c->p);
    else if (c->p < c->end)
        snprintf(found, sizeof found, "byte 0x%02X", (unsigned)(unsigned char)*c->p);
    return rf_fail(err, RF_ERR_FORMAT, c->line,
                   "%s: line %zu: not valid JSON at column %zu: found %s, wanted %s",
                   c->name, c->line, (size_t)(c->p - c->line_start) + 1, found, wanted);
}

char rf_json_peek(rf_json_cursor *c)
{
    for (; c->p < c->end; c->p++) {
        if (*c->p == '\n') {
            c->line++;
            c->line_start = c->p + 1;
        } else if (*c->p != ' ' && *c->p != '\t' && *c->p != '\r') {
            return *c->p;
        }
    }
    return '\0';
}

/* ---- Kinds ------------------------------------------------------------------------- */

const char *rf_field_kind(rf_field f)
{
    switch (f.kind) {
    case '0': return "an integer";
    case '.': return "a fraction";
    case 't': return "a boolean";
    case 'n': return "null";
    case '{': return "an object";
    case '[': return "an array";
    default: return f.data ? "a string" : "missing";
    }
}

static char kind_of(char first)
{
    return first == '"'                                     ? '\0'
           : first == 't' || first == 'f'                   ? 't'
           : first == '-' || (first >= '0' && first <= '9') ? '0'
                                                            : first;
}

rf_status rf_json_wrong(rf_json_cursor *c, const char *what, const char *wanted,
                        rf_error *err)
{
    char first = rf_json_peek(c);
    rf_field found = {c->p, 1, kind_of(first)};
    if (c->p == c->end)
        return bad(c, wanted, err);
    return rf_fail(err, RF_ERR_FORMAT, c->line, "%s: line %zu: %s is %s, wanted %s",
                   c->name, c->line, what,
                   found.kind == '0' ? "a number" : rf_field_kind(found), wanted);
}

/* ---- Strings ----------------------------------------------------------------------- */

/* Four hexadecimal digits at p; -1 if they are not. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char ch = p[i];
        int digit = ch >= '0' && ch <= '9'   ? ch - '0'
                    : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
                    : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                             : -1;
        if (digit < 0)
            return -1;
        v = 16 * v + digit;
    }
    return v;
}

/* \uXXXX, two of them for a character past U+FFFF; c->p is behind the u. */
static rf_status read_code(rf_json_cursor *c, int32_t *cp, rf_error *err)
{
    *cp = hex4(c->p, c->end);
    if (*cp < 0)
        return bad(c, "four hexadecimal digits", err);
    if (*cp >= 0xdc00 && *cp <= 0xdfff)
        return bad(c, "the first half of a surrogate pair", err);
    c->p += 4;
    if (*cp < 0xd800 || *cp > 0xdbff)
        return RF_OK;
    int32_t low = c->end - c->p >= 6 && c->p[0] == '\\' && c->p[1] == 'u'
                      ? hex4(c->p + 2, c->end)
                      : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return bad(c, "the second half of a surrogate pair", err);
    *cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
    c->p += 6;
    return RF_OK;
}

/* An escape, c->p at its backslash; to receives what it stands for, which is shorter. */
static rf_status read_escape(rf_json_cursor *c, char **to, rf_error *err)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *at = ++c->p < c->end && *c->p ? strchr(from, *c->p) : NULL;
    int32_t cp;
    if (at) {
        *(*to)++ = into[at - from];
        c->p++;
        return RF_OK;
    }
    if (c->p == c->end || *c->p != 'u')
        return bad(c, "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u", err);
    c->p++;
    rf_status st = read_code(c, &cp, err);
    if (st == RF_OK)
        *to += utf8proc_encode_char(cp, (utf8proc_uint8_t *)*to);
    return st;
}

/* A string, c->p at its quote. Decoded in place, or, if out is NULL, just checked. */
static rf_status read_string(rf_json_cursor *c, rf_field *out, rf_error *err)
{
    char *start = ++c->p, *to = start, spare[8];
    for (;;) {
        char *run = c->p;
        while (c->p < c->end && *c->p != '"' && *c->p != '\\' &&
               (unsigned char)*c->p >= 0x20)
            c->p++;
        size_t n = (size_t)(c->p - run), good = rf_utf8_length(run, n);
        if (good < n) {
            c->p = run + good;
            return bad(c, "UTF-8", err);
        }
        if (out && to != run)
            memmove(to, run, n);
        to += n;
        if (c->p == c->end || (unsigned char)*c->p < 0x20)
            return bad(c, "the quote that ends a string", err);
        if (*c->p == '"')
            break;
        char *into = out ? to : spare;
        rf_status st = read_escape(c, &into, err);
        if (st != RF_OK)
            return st;
        to = out ? into : to;
    }
    c->p++;
    if (out)
        *out = (rf_field){start, (size_t)(to - start), 0};
    return RF_OK;
}

/* ---- Other scalars ----------------------------------------------------------------- */

static size_t digits(rf_json_cursor *c)
{
    char *start = c->p;
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
        c->p++;
    return (size_t)(c->p - start);
}

static rf_status read_number(rf_json_cursor *c, char *kind, rf_error *err)
{
    *kind = '0';
    if (*c->p == '-')
        c->p++;
    bool zero = c->p < c->end && *c->p == '0';
    size_t n = digits(c);
    if (n == 0 || (zero && n > 1))
        return bad(c, zero ? "a number without a leading 0" : "a digit", err);
    if (c->p < c->end && *c->p == '.') {
        c->p++;
        *kind = '.';
        if (digits(c) == 0)
            return bad(c, "a digit", err);
    }
    if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
        c->p++;
        *kind = '.';
        if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
            c->p++;
        if (digits(c) == 0)
            return bad(c, "a digit", err);
    }
    return RF_OK;
}

/* A value that is neither an array nor an object. */
static rf_status skip_scalar(rf_json_cursor *c, char *kind, rf_error *err)
{
    static const char *const words[] = {"true", "false", "null"};
    char first = rf_json_peek(c);
    *kind = kind_of(first);
    if (first == '"')
        return read_string(c, NULL, err);
    if (*kind == '0')
        return read_number(c, kind, err);
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->p) >= n && memcmp(c->p, words[i], n) == 0) {
            c->p += n;
            return RF_OK;
        }
    }
    return bad(c, "a value", err);
}

/* ---- Arrays and objects ------------------------------------------------------------ */

/* Enters, or goes on to the next; open is '[' or '{'. */
static rf_status next_in(rf_json_cursor *c, rf_json_list *l, char open, bool *more,
                         rf_error *err)
{
    char close = open == '[' ? ']' : '}', first = rf_json_peek(c);
    bool entered = l->inside;
    *more = false;
    if (!entered && first != open)
        return bad(c, open == '[' ? "an array" : "an object", err);
    if (!entered) {
        c->p++;
        l->inside = true;
        first = rf_json_peek(c);
    }
    if (c->p < c->end && first == close) {
        c->p++;
        return RF_OK;
    }
    if (entered && first != ',')
        return bad(c, open == '[' ? "a comma or ]" : "a comma or }", err);
    c->p += entered;
    *more = true;
    return RF_OK;
}

rf_status rf_json_element(rf_json_cursor *c, rf_json_list *l, bool *more, rf_error *err)
{
    return next_in(c, l, '[', more, err);
}

/* A key and its colon. */
static rf_status read_key(rf_json_cursor *c, rf_field *key, rf_error *err)
{
    if (rf_json_peek(c) != '"')
        return bad(c, "a key in quotes", err);
    rf_status st = read_string(c, key, err);
    if (st == RF_OK && rf_json_peek(c) != ':')
        st = bad(c, "a colon", err);
    c->p += st == RF_OK;
    return st;
}

rf_status rf_json_member(rf_json_cursor *c, rf_json_list *l, rf_field *key, bool *more,
                         rf_error *err)
{
    rf_status st = next_in(c, l, '{', more, err);
    return st == RF_OK && *more ? read_key(c, key, err) : st;
}

/* Skips without recursion: one character per level that is open. */
static rf_status skip_value(rf_json_cursor *c, char *kind, rf_error *err)
{
    char open[RF_JSON_DEPTH];
    size_t depth = 0;
    rf_json_list l = {0};
    *kind = '\0';
    for (bool outermost = true;; outermost = false) {
        char first = rf_json_peek(c), k = first;
        rf_status st = RF_OK;
        if (first == '[' || first == '{') {
            if (depth == RF_JSON_DEPTH)
                return rf_fail(err, RF_ERR_LIMIT, c->line,
                               "%s: line %zu: JSON of more than %d levels", c->name,
                               c->line, RF_JSON_DEPTH);
            open[depth++] = first;
            l.inside = false;
        } else {
            st = skip_scalar(c, &k, err);
        }
        if (outermost)
            *kind = k;
        for (bool more = false; st == RF_OK && !more;) { /* to the next value */
            if (depth == 0)
                return RF_OK;
            st = next_in(c, &l, open[depth - 1], &more, err);
            if (st == RF_OK && more && open[depth - 1] == '{')
                st = read_key(c, NULL, err);
            if (st == RF_OK && !more) {
                depth--;
                l.inside = true;
            }
        }
        if (st != RF_OK)
            return st;
    }
}

rf_status rf_json_skip(rf_json_cursor *c, rf_error *err)
{
    char kind;
    return skip_value(c, &kind, err);
}

rf_status rf_json_value(rf_json_cursor *c, rf_field *out, rf_error *err)
{
    if (rf_json_peek(c) == '"')
        return read_string(c, out, err);
    char *start = c->p;
    rf_status st = skip_value(c, &out->kind, err);
    out->data = start;
    out->len = (size_t)(c->p - start);
    return st;
}

rf_status rf_json_string(rf_json_cursor *c, rf_field *out, rf_error *err)
{
    return rf_json_peek(c) == '"' ? read_string(c, out, err)
                                  : rf_json_wrong(c, "this", "a string", err);
}

rf_status rf_json_finish(rf_json_cursor *c, rf_error *err)
{
    rf_json_peek(c);
    return c->p == c->end ? RF_OK : bad(c, "nothing more", err);
}
