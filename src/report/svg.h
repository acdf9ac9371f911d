/*
 * svg.h - charts in a page (html.h): bars, lines, reliability, maps of points, heat
 * tables
 *
 *   const double x[] = {1, 10, 100}, f1[] = {60, 72, 75}, low[] = {55, 70, 74}, ...;
 *   const rf_line lines[] = {{.name = "ans", .n = 3, .x = x, .y = f1, .low = low,
 *                             .high = high}};
 *   rf_svg_lines(&page, &(rf_line_chart){.title = "F1 by number of texts",
 *                                        .description = "F1 rises from 60 to 75.",
 *                                        .x = {.title = "texts", .log = true},
 *                                        .y = {.title = "F1, %", .low = 0, .high = 100},
 *                                        .lines = lines,
 *                                        .n_lines = 1});
 *
 * Titles, descriptions and names are any text: they are escaped here. Every chart is a
 * <figure> with a picture that has a title and a description for those who do not see it,
 * and a legend beside it if there is more than one series. What is not finite is left
 * out.
 *
 * A key is a colour and a shape: 0 to 7 for what has a name, 8 for all others, 9 for open
 * texts, and from 10 on the eight colours again with other shapes and dashed lines. Bars
 * and lines take the key of their number (rf_series_key); in maps the caller chooses.
 */
#ifndef RF_REPORT_SVG_H
#define RF_REPORT_SVG_H

#include "report/html.h"

#define RF_KEYS 8      /* keys that have a colour of their own */
#define RF_KEY_OTHER 8 /* grey dots */
#define RF_KEY_OPEN 9  /* crosses */
#define RF_KEY_AGAIN 10

/* The key of series number i of a chart. */
static inline size_t rf_series_key(size_t i)
{
    return i < RF_KEYS ? i : i - RF_KEYS + RF_KEY_AGAIN;
}

typedef struct rf_axis {
    const char *title; /* with the unit: "F1, %" */
    double low, high;  /* equal: from the data, in round numbers */
    bool log;          /* by powers of ten; everything above 0 */
} rf_axis;

/* An enlarged part of a chart, drawn over a free place of it. */
typedef struct rf_inset {
    double x0, x1, y0, y1;           /* what is enlarged, in the data's units */
    double left, top, width, height; /* where to, as shares 0..1 of the plot */
} rf_inset;

/* ---- Bars -------------------------------------------------------------------------- */

typedef struct rf_bars {
    const char *name;
    const double *value;      /* [n_groups]; not finite: no bar */
    const double *low, *high; /* [n_groups] interval, or NULL */
} rf_bars;

/* Horizontal bars from axis.low on, a group of one per series for each name. */
typedef struct rf_bar_chart {
    const char *title, *description;
    rf_axis axis; /* log is not for bars */
    const char *const *groups;
    size_t n_groups;
    const rf_bars *series;
    size_t n_series;
    int decimals; /* of the values that stand beside the bars */
} rf_bar_chart;

void rf_svg_bars(rf_page *p, const rf_bar_chart *chart);

/* ---- Lines ------------------------------------------------------------------------- */

typedef struct rf_line {
    const char *name;
    size_t n;
    const double *x, *y;
    const double *low, *high; /* interval, or NULL */
} rf_line;

typedef struct rf_line_chart {
    const char *title, *description;
    rf_axis x, y;
    const rf_line *lines;
    size_t n_lines;
    bool steps;            /* a histogram: y[i] from x[i] to x[i + 1], no points */
    const char *mark_name; /* a vertical line at mark, if not NULL */
    double mark;
    const rf_inset *inset; /* may be NULL */
} rf_line_chart;

void rf_svg_lines(rf_page *p, const rf_line_chart *chart);

/* ---- Reliability ------------------------------------------------------------------- */

/* Answers by their confidence, in n_bins equal parts of 0 to 100 %. */
typedef struct rf_reliability_chart {
    const char *title, *description;
    const double *right; /* [n_bins] share of right ones, in per cent, finite */
    const size_t *count; /* [n_bins] 0: no bar */
    size_t n_bins;
} rf_reliability_chart;

void rf_svg_reliability(rf_page *p, const rf_reliability_chart *chart);

/* ---- Maps -------------------------------------------------------------------------- */

typedef struct rf_map_mark {
    double x, y;
    size_t series;    /* SIZE_MAX: not drawn, but the map is made wide enough for it */
    const char *text; /* shown when pointed at; any bytes */
    size_t len;
    size_t truth, answer; /* index of a name; SIZE_MAX: nothing to say */
    double confidence;    /* of the answer, 0..1; negative: nothing to say */
} rf_map_mark;

typedef struct rf_map_series {
    const char *name;
    size_t key;
} rf_map_series;

typedef struct rf_map_chart {
    const char *title, *description;
    const rf_map_mark *points; /* up to some 10,000 */
    size_t n_points;
    const rf_map_series *series;
    size_t n_series;
    const char *const *names; /* for truth and answer */
    size_t n_names;
    const rf_inset *inset; /* may be NULL */
} rf_map_chart;

/* Points without axes, the same scale both ways. Mouse, finger and arrow keys show what a
 * point is; the buttons of the legend bring out one series. */
void rf_svg_map(rf_page *p, const rf_map_chart *chart);

/* ---- Tables of numbers ------------------------------------------------------------- */

typedef struct rf_heat {
    const char *label; /* for those who do not see it */
    const char *const *rows, *const *columns;
    size_t n_rows, n_columns;
    const double *values; /* [n_rows, n_columns], 0 is left blank */
    double full; /* the value of the deepest colour; 0: the largest of each row */
    int decimals;
    bool diagonal; /* frame the cells where row = column: they are right */
} rf_heat;

void rf_page_heat(rf_page *p, const rf_heat *heat);

#endif
