/*
 * html.h - pages in one file, for people
 *
 *   rf_page page;
 *   rf_page_init(&page);
 *   rf_page_begin(&page, "Support desk", "Report of a model");
 *   rf_page_section(&page, "Classes", "One row per class.");
 *   const rf_column columns[] = {{"class", false}, {"texts", true}};
 *   rf_page_table(&page, "Classes", columns, 2);
 *   rf_page_add(&page, "<tr><th scope=row>");
 *   rf_page_words(&page, label);                 user's words: always through here
 *   rf_page_addf(&page, "<td>%zu", count);
 *   rf_page_table_end(&page);
 *   rf_svg_lines(&page, &chart);                 svg.h
 *   rf_page_section_end(&page);
 *   rf_page_end(&page);
 *   rf_status st = rf_page_write(&page, "report.html", err);    also any failure before
 *   rf_page_release(&page);
 *
 * A page asks for nothing: style and script are inside, and its content policy forbids
 * every request. It follows the reader's light or dark setting, fits a phone and a sheet
 * of paper, and has the same bytes for the same content.
 *
 * Failures stick: after the first one every call does nothing, and rf_page_write says
 * what it was. Numbers are written with a point, whatever the locale.
 */
#ifndef RF_REPORT_HTML_H
#define RF_REPORT_HTML_H

#include "base/buffer.h"

typedef struct rf_page {
    rf_buffer out;
    rf_error err; /* the first failure; code RF_OK: none so far */
    size_t ids;   /* given out so far */
} rf_page;

void rf_page_init(rf_page *p);
void rf_page_release(rf_page *p); /* accepts a zeroed struct */

/* Everything up to the first section; title and kicker (a line above it) are any text. */
void rf_page_begin(rf_page *p, const char *title, const char *kicker);
void rf_page_end(rf_page *p);
rf_status rf_page_write(const rf_page *p, const char *path, rf_error *err);

/* ---- Content ----------------------------------------------------------------------- */

/* Markup as it is: our own words only. */
void rf_page_add(rf_page *p, const char *markup);
/* The same with %zu, %d and %s; no fractions (rf_page_number) and no user's words. */
void rf_page_addf(rf_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Any bytes as text, good in an element and in a quoted attribute. What is not UTF-8 and
 * what no page may hold (control characters) becomes U+FFFD. */
void rf_page_text(rf_page *p, const char *text, size_t len);
void rf_page_words(rf_page *p, const char *text); /* up to NUL */
/* At most this many characters, an ellipsis after them if there are more. */
void rf_page_text_cut(rf_page *p, const char *text, size_t len, size_t characters);

/* Any bytes as a JSON string with its quotes, safe inside <script>; cut like that. */
void rf_page_json(rf_page *p, const char *text, size_t len, size_t characters);

/* 12.3 with this many digits (0 to 6) after the point; "n/a" unless finite. */
void rf_page_number(rf_page *p, double value, int decimals);
/* The same without zeroes at the end, for coordinates and ticks. */
void rf_page_short(rf_page *p, double value, int decimals);
/* 12345 as 12,345 */
void rf_page_count(rf_page *p, size_t value);

/* A new number for an id="..." within the page. */
size_t rf_page_id(rf_page *p);

/* ---- Parts ------------------------------------------------------------------------- */

/* Heading and, if not NULL, one paragraph, both markup of ours. */
void rf_page_section(rf_page *p, const char *heading, const char *lead);
void rf_page_section_end(rf_page *p);

typedef struct rf_column {
    const char *name; /* markup of ours */
    bool number;      /* to the right */
} rf_column;

/* A table that scrolls inside its own box if it is too wide. Rows are the caller's:
 * "<tr><td>...". The label is for those who do not see the page. */
void rf_page_table(rf_page *p, const char *label, const rf_column *columns, size_t n);
void rf_page_table_end(rf_page *p);

#endif
