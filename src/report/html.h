/*
 * html.h - writes an HTML page that is one self-contained file
 *
 *   rf_page page;
 *   rf_page_init(&page);
 *   rf_page_begin(&page, "Support desk", "Report of a model");
 *   rf_page_section(&page, "Classes", "One row per class.");
 *   const rf_column columns[] = {{"class", false}, {"texts", true}};
 *   rf_page_table(&page, "Classes", columns, 2);
 *   rf_page_add(&page, "<tr><th scope=row>");
 *   rf_page_words(&page, label);                 user's text: always through here
 *   rf_page_addf(&page, "<td>%zu", count);
 *   rf_page_table_end(&page);
 *   rf_svg_lines(&page, &chart);                 svg.h
 *   rf_page_section_end(&page);
 *   rf_page_end(&page);
 *   rf_status st = rf_page_write(&page, "report.html", err);    or the first failure
 *   rf_page_release(&page);
 *
 * A page makes no requests: style and script are inline, and its content security policy
 * forbids everything else. It follows the reader's light or dark setting, fits a phone
 * and a printed sheet, and has the same bytes for the same content.
 *
 * After the first failure every call does nothing, and rf_page_write returns that
 * failure. Numbers have a decimal point, whatever the locale.
 */
#ifndef RF_REPORT_HTML_H
#define RF_REPORT_HTML_H

#include "base/buffer.h"

typedef struct rf_page {
    rf_buffer out;
    rf_error err; /* the first failure; code RF_OK: none */
    size_t ids;   /* number of ids in use */
} rf_page;

void rf_page_init(rf_page *p);
void rf_page_release(rf_page *p); /* accepts a zeroed struct */

/* Everything before the first section. Title and kicker, a line above it, are any text.
 */
void rf_page_begin(rf_page *p, const char *title, const char *kicker);
void rf_page_end(rf_page *p);
rf_status rf_page_write(const rf_page *p, const char *path, rf_error *err);

/* ---- Content ----------------------------------------------------------------------- */

/* Trusted markup, unescaped. */
void rf_page_add(rf_page *p, const char *markup);
/* The same with %zu, %d and %s; no fractions (rf_page_number) and no user's text. */
void rf_page_addf(rf_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Any bytes, escaped for an element or a quoted attribute. Invalid UTF-8 and characters
 * that HTML forbids (controls) become U+FFFD. */
void rf_page_text(rf_page *p, const char *text, size_t len);
void rf_page_words(rf_page *p, const char *text); /* up to NUL */
/* At most this many characters, then an ellipsis if there are more. */
void rf_page_text_cut(rf_page *p, const char *text, size_t len, size_t characters);

/* Any bytes as a quoted JSON string that is safe inside <script>, cut the same way. */
void rf_page_json(rf_page *p, const char *text, size_t len, size_t characters);

/* 12.3 with 0 to 6 decimals; "n/a" unless finite. */
void rf_page_number(rf_page *p, double value, int decimals);
/* The same without trailing zeros, for coordinates and ticks. */
void rf_page_short(rf_page *p, double value, int decimals);
/* 12345 as 12,345 */
void rf_page_count(rf_page *p, size_t value);
/* "1 class", "2 classes"; both nouns are trusted markup */
void rf_page_plural(rf_page *p, size_t n, const char *one, const char *many);

/* A number for an id="..." that is unique in the page. */
size_t rf_page_id(rf_page *p);

/* ---- Parts ------------------------------------------------------------------------- */

/* Heading and, if not NULL, a paragraph; both are trusted markup. */
void rf_page_section(rf_page *p, const char *heading, const char *lead);
void rf_page_section_end(rf_page *p);

typedef struct rf_column {
    const char *name; /* trusted markup */
    bool number;      /* right-aligned */
} rf_column;

/* A table that scrolls in its own box if it is too wide. The caller adds the rows:
 * "<tr><td>...". The label is for screen readers. */
void rf_page_table(rf_page *p, const char *label, const rf_column *columns, size_t n);
void rf_page_table_end(rf_page *p);

#endif
