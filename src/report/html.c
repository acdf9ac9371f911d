/* html.c - escaping, numbers and the parts of a page */
#include "report/html.h"

#include "base/file.h"
#include "base/plural.h"
#include "report/page_style.h"
#include "text/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

void rf_page_init(rf_page *p)
{
    *p = (rf_page){0};
    rf_buffer_init(&p->out, MAX_BYTES, "a page");
}

void rf_page_release(rf_page *p)
{
    rf_buffer_release(&p->out);
}

static void put(rf_page *p, const char *bytes, size_t len)
{
    if (p->err.code == RF_OK)
        rf_buffer_add(&p->out, bytes, len, &p->err);
}

void rf_page_add(rf_page *p, const char *markup)
{
    put(p, markup, strlen(markup));
}

void rf_page_addf(rf_page *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (p->err.code != RF_OK || n < 0 ||
        rf_buffer_reserve(&p->out, (size_t)n + 1, &p->err) != RF_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(p->out.data + p->out.len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    p->out.len += (size_t)n;
}

/* ---- Text -------------------------------------------------------------------------- */

typedef void put_character(rf_page *p, int32_t c);

/* HTML forbids these even if escaped ("preprocessing the input stream"). */
static bool forbidden(int32_t c)
{
    return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0) ||
           (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe;
}

static void put_utf8(rf_page *p, int32_t c)
{
    char bytes[4];
    put(p, bytes, rf_utf8_write(bytes, forbidden(c) ? RF_REPLACEMENT : c));
}

static void put_html(rf_page *p, int32_t c)
{
    switch (c) {
    case '&': rf_page_add(p, "&amp;"); break;
    case '<': rf_page_add(p, "&lt;"); break;
    case '>': rf_page_add(p, "&gt;"); break;
    case '"': rf_page_add(p, "&quot;"); break;
    case '\'': rf_page_add(p, "&#39;"); break;
    default: put_utf8(p, c);
    }
}

/* Without "<" neither "</script" nor "<!--" can occur. U+2028 and U+2029 are line ends to
 * older JavaScript parsers. */
static void put_json(rf_page *p, int32_t c)
{
    if (c == '"' || c == '\\')
        rf_page_addf(p, "\\%c", (int)c);
    else if (c == '\t')
        rf_page_add(p, "\\t");
    else if (c == '\n')
        rf_page_add(p, "\\n");
    else if (c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029)
        rf_page_addf(p, "\\u%04x", (unsigned)c);
    else
        put_utf8(p, c);
}

static void put_text(rf_page *p, const char *text, size_t len, size_t max,
                     put_character *put_one)
{
    rf_utf8 u = {0};
    int32_t cp[2];
    size_t done = 0;
    for (size_t i = 0; i < len; i++) {
        size_t n = rf_utf8_push(&u, (unsigned char)text[i], cp);
        for (size_t k = 0; k < n; k++)
            if (done++ < max)
                put_one(p, cp[k]);
        if (done > max)
            break;
    }
    if (rf_utf8_end(&u) && done++ < max)
        put_one(p, RF_REPLACEMENT);
    if (done > max)
        put_one(p, 0x2026);
}

void rf_page_text(rf_page *p, const char *text, size_t len)
{
    put_text(p, text, len, SIZE_MAX, put_html);
}

void rf_page_words(rf_page *p, const char *text)
{
    rf_page_text(p, text, strlen(text));
}

void rf_page_text_cut(rf_page *p, const char *text, size_t len, size_t characters)
{
    put_text(p, text, len, characters, put_html);
}

void rf_page_json(rf_page *p, const char *text, size_t len, size_t characters)
{
    rf_page_add(p, "\"");
    put_text(p, text, len, characters, put_json);
    rf_page_add(p, "\"");
}

/* ---- Numbers ----------------------------------------------------------------------- */

/* Formats integers only: printf's decimal point depends on the locale. */
static size_t format(char out[40], double value, int decimals)
{
    static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    if (!(fabs(value) < 1e12))
        return (size_t)snprintf(out, 40, "n/a");
    int64_t scaled = llround(fabs(value) * (double)powers[decimals]);
    const char *sign = value < 0 && scaled > 0 ? "-" : "";
    long long whole = scaled / powers[decimals], rest = scaled % powers[decimals];
    if (decimals == 0)
        return (size_t)snprintf(out, 40, "%s%lld", sign, whole);
    return (size_t)snprintf(out, 40, "%s%lld.%0*lld", sign, whole, decimals, rest);
}

void rf_page_number(rf_page *p, double value, int decimals)
{
    char out[40];
    put(p, out, format(out, value, decimals));
}

void rf_page_short(rf_page *p, double value, int decimals)
{
    char out[40];
    size_t n = format(out, value, decimals);
    while (memchr(out, '.', n) && (out[n - 1] == '0' || out[n - 1] == '.'))
        n--;
    put(p, out, n);
}

void rf_page_count(rf_page *p, size_t value)
{
    char digits[24];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%zu", value);
    for (size_t i = 0; i < n; i++) {
        put(p, &digits[i], 1);
        if ((n - i - 1) % 3 == 0 && i + 1 < n)
            put(p, ",", 1);
    }
}

void rf_page_plural(rf_page *p, size_t n, const char *one, const char *many)
{
    rf_page_count(p, n);
    rf_page_addf(p, " %s", rf_plural(n, one, many));
}

size_t rf_page_id(rf_page *p)
{
    return ++p->ids;
}

/* ---- Parts ------------------------------------------------------------------------- */

void rf_page_begin(rf_page *p, const char *title, const char *kicker)
{
    rf_page_add(p,
                "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src "
                "data:; base-uri 'none'; form-action 'none'\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, "
                "initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n"
                "<meta name=\"referrer\" content=\"no-referrer\">\n"
                "<link rel=\"icon\" href=\"data:,\">\n<title>");
    rf_page_words(p, title);
    rf_page_add(p, "</title>\n<style>\n");
    rf_page_style(p);
    rf_page_add(p, "</style>\n</head>\n<body>\n<main>\n<header>\n<p class=\"kicker\">");
    rf_page_words(p, kicker);
    rf_page_add(p, "</p>\n<h1>");
    rf_page_words(p, title);
    rf_page_add(p, "</h1>\n</header>\n");
}

void rf_page_end(rf_page *p)
{
    rf_page_add(p, "</main>\n<script>\n");
    rf_page_script(p);
    rf_page_add(p, "</script>\n</body>\n</html>\n");
}

rf_status rf_page_write(const rf_page *p, const char *path, rf_error *err)
{
    rf_new_file file = {0};
    if (p->err.code != RF_OK)
        return rf_fail(err, p->err.code, p->err.pos, "%s", p->err.msg);
    rf_status st = rf_new_file_open(&file, path, err);
    if (st == RF_OK)
        st = rf_new_file_add(&file, p->out.data, p->out.len, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&file, err);
    rf_new_file_abandon(&file);
    return st;
}

void rf_page_section(rf_page *p, const char *heading, const char *lead)
{
    rf_page_addf(p, "<section>\n<h2>%s</h2>\n", heading);
    if (lead)
        rf_page_addf(p, "<p class=\"lead\">%s</p>\n", lead);
}

void rf_page_section_end(rf_page *p)
{
    rf_page_add(p, "</section>\n");
}

void rf_page_table(rf_page *p, const char *label, const rf_column *columns, size_t n)
{
    rf_page_addf(
        p,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n"
        "<table>\n<thead><tr>",
        label);
    for (size_t i = 0; i < n; i++)
        rf_page_addf(p, "<th scope=\"col\"%s>%s</th>",
                     columns[i].number ? " class=\"n\"" : "", columns[i].name);
    rf_page_add(p, "</tr></thead>\n<tbody>\n");
}

void rf_page_table_end(rf_page *p)
{
    rf_page_add(p, "</tbody>\n</table>\n</div>\n");
}
