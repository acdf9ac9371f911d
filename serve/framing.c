/* framing.c - a state machine over the bytes of HTTP/1 requests: no memory, no lookahead
 */
#include "framing.h"

#include <string.h>
#include <strings.h>

enum {
    START, /* of a request; must be 0 */
    START_LF,
    METHOD,
    TARGET,
    VERSION,
    LINE_LF, /* of the request line or a header line */
    LINE,    /* start of a header line */
    NAME,
    VALUE,
    HEAD_LF, /* of the empty line */
    BODY,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
};

#define MAX_LENGTH_DIGITS 18 /* of a decimal length, and */
#define MAX_CHUNK_DIGITS 15  /* of a hexadecimal one: both fit 64 bits */

static const char bad_line_end[] = "found a line end other than CR LF, wanted CR LF";
static const char bad_end[] = "found headers that leave the end of the body in doubt, "
                              "wanted one Content-Length, or "
                              "Transfer-Encoding: chunked";

/* ---- Characters -------------------------------------------------------------------- */

static bool is_token(unsigned char c) /* RFC 9110, 5.6.2 */
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void fail(framing *f, const char *fault)
{
    f->fault = fault;
}

static void go(framing *f, int state)
{
    f->state = state;
    f->count = 0;
}

/* ---- Heads ------------------------------------------------------------------------- */

/* A request is over: the next one starts afresh. */
static void end_request(framing *f)
{
    *f = (framing){.heads = f->heads};
}

static void read_method(framing *f, unsigned char c)
{
    if (is_token(c))
        f->count++;
    else if (c == ' ' && f->count > 0)
        go(f, TARGET);
    else
        fail(f, "found something else than a request line");
}

static void read_target(framing *f, unsigned char c)
{
    if (c == ' ' && f->count > 0) {
        go(f, VERSION);
        return;
    }
    if (c == ' ' || is_control(c))
        fail(f, "found a space or control character in the target of the request");
    if ((c == '?' || c == '&') && ++f->parts > FRAMING_MAX_PARTS)
        fail(f, "found a query of too many parameters");
    f->count++;
}

static void read_version(framing *f, unsigned char c)
{
    static const char wanted[] = "HTTP/1.";
    if (f->count < 7 && c == (unsigned char)wanted[f->count])
        f->count++;
    else if (f->count == 7 && (c == '0' || c == '1')) {
        f->old = c == '0';
        f->count++;
    } else if (f->count == 8 && c == '\r')
        go(f, LINE_LF);
    else
        fail(f, "found another version of HTTP, wanted HTTP/1.1 or HTTP/1.0");
}

static void read_name(framing *f, unsigned char c)
{
    if (is_token(c)) {
        if (f->count < sizeof f->name - 1)
            f->name[f->count] = (char)c;
        f->count++;
    } else if (c == ':' && f->count > 0) {
        f->name[f->count < sizeof f->name ? f->count : 0] =
            '\0'; /* a long one is none of ours */
        f->value_len = 0;
        go(f, VALUE);
    } else
        fail(f, "found a header line that is not \"Name: value\"");
}

/* The first character of a header line. */
static void read_line_start(framing *f, unsigned char c)
{
    if (c == '\r')
        go(f, HEAD_LF);
    else if (c == ' ' || c == '\t')
        fail(f, "found a folded header line, wanted each header on a line of its own");
    else {
        go(f, NAME);
        read_name(f, c);
    }
}

static void take_length(framing *f)
{
    bool good = f->value_len > 0 && f->value_len <= MAX_LENGTH_DIGITS && !f->has_length;
    f->has_length = true;
    for (size_t i = 0; good && i < f->value_len; i++) {
        good = f->value[i] >= '0' && f->value[i] <= '9';
        f->left = 10 * f->left + (uint64_t)(f->value[i] - '0');
    }
    if (!good)
        fail(f, bad_end);
}

/* A header line is complete. Those after the last chunk say nothing about the request. */
static void take_header(framing *f)
{
    if (f->trailer)
        return;
    if (strcasecmp(f->name, "Host") == 0)
        f->hosts++;
    else if (strcasecmp(f->name, "Content-Length") == 0)
        take_length(f);
    else if (strcasecmp(f->name, "Transfer-Encoding") == 0) {
        if (f->chunked || f->value_len != 7 || strncasecmp(f->value, "chunked", 7) != 0)
            fail(f, bad_end);
        f->chunked = true;
    }
}

static void read_value(framing *f, unsigned char c)
{
    if (c == '\r') {
        take_header(f);
        go(f, LINE_LF);
    } else if (is_control(c) && c != '\t')
        fail(f, "found a control character in a header");
    else if (c == ';' && ++f->parts > FRAMING_MAX_PARTS)
        fail(f, "found a header of too many parts");
    else if (f->value_len > 0 || (c != ' ' && c != '\t')) {
        if (f->value_len < sizeof f->value)
            f->value[f->value_len] = (char)c;
        f->value_len++;
    }
}

static void end_head(framing *f)
{
    if (f->trailer) {
        end_request(f);
        return;
    }
    f->heads++;
    if (f->hosts > 1 || (f->hosts == 0 && !f->old))
        fail(f, "found no Host header or several, wanted one");
    else if (f->chunked && (f->has_length || f->old))
        fail(f, bad_end);
    else if (f->chunked)
        go(f, CHUNK_SIZE);
    else if (f->left > 0)
        go(f, BODY);
    else
        end_request(f);
}

/* ---- Chunks ------------------------------------------------------------------------ */

static void read_chunk_size(framing *f, unsigned char c)
{
    int digit = hex_digit(c);
    if (digit >= 0 && f->count < MAX_CHUNK_DIGITS) {
        f->left = 16 * f->left + (uint64_t)digit;
        f->count++;
    } else if (f->count > 0 && (c == ';' || c == '\r'))
        go(f, c == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF);
    else
        fail(f, "found a chunk without a size");
}

static void read_chunk_extension(framing *f, unsigned char c)
{
    if (c == '\r')
        go(f, CHUNK_SIZE_LF);
    else if (is_control(c) && c != '\t')
        fail(f, "found a control character in the size of a chunk");
}

static void begin_chunk(framing *f)
{
    f->trailer = f->left == 0;
    go(f, f->trailer ? LINE : CHUNK);
}

/* ---- Reading ----------------------------------------------------------------------- */

/* A character that leaves no choice. */
static bool expect(framing *f, unsigned char c, unsigned char wanted)
{
    if (c != wanted)
        fail(f, wanted == '\r' ? "found a chunk longer than its size" : bad_line_end);
    return c == wanted;
}

static void read_byte(framing *f, unsigned char c)
{
    switch (f->state) {
    case START:
        go(f,
           c == '\r' ? START_LF : METHOD); /* empty lines before a request are allowed */
        if (c != '\r')
            read_method(f, c);
        break;
    case START_LF:
        if (expect(f, c, '\n'))
            go(f, START);
        break;
    case METHOD: read_method(f, c); break;
    case TARGET: read_target(f, c); break;
    case VERSION: read_version(f, c); break;
    case LINE_LF:
        if (expect(f, c, '\n'))
            go(f, LINE);
        break;
    case LINE: read_line_start(f, c); break;
    case NAME: read_name(f, c); break;
    case VALUE: read_value(f, c); break;
    case HEAD_LF:
        if (expect(f, c, '\n'))
            end_head(f);
        break;
    case CHUNK_SIZE: read_chunk_size(f, c); break;
    case CHUNK_EXTENSION: read_chunk_extension(f, c); break;
    case CHUNK_SIZE_LF:
        if (expect(f, c, '\n'))
            begin_chunk(f);
        break;
    case CHUNK_CR:
        if (expect(f, c, '\r'))
            go(f, CHUNK_LF);
        break;
    case CHUNK_LF:
        if (expect(f, c, '\n'))
            go(f, CHUNK_SIZE);
        break;
    }
}

/* Skips what is there of a body or chunk. */
static size_t skip_content(framing *f, size_t n)
{
    size_t skipped = f->left < n ? (size_t)f->left : n;
    f->left -= skipped;
    if (f->left == 0 && f->state == BODY)
        end_request(f);
    else if (f->left == 0)
        go(f, CHUNK_CR);
    return skipped;
}

size_t framing_read(framing *f, const char *bytes, size_t n)
{
    size_t begin = 0; /* of the request */
    for (size_t i = 0; i < n && !f->fault;) {
        if (f->state == START)
            begin = i;
        if (f->state == BODY || f->state == CHUNK)
            i += skip_content(f, n - i);
        else
            read_byte(f, (unsigned char)bytes[i++]);
    }
    return f->fault ? begin : n;
}
