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
 * Titles, descriptions and names are any text; they are escaped here. Every chart is a
 * <figure> with an SVG that has a title and a description for screen readers, and a
 * legend if there is more than one series. Values that are not finite are left out.
 *
 * A key is a colour and a shape: 0 to 7 for named series, 8 for all others, 9 for open
 * texts; from 10 on the eight colours repeat with other shapes and dashed lines. Bars and
 * lines take the key of their index (rf_series_key); in maps the caller chooses.
 */
#ifndef RF_REPORT_SVG_H
#define RF_REPORT_SVG_H

#include "report/html.h"

#define RF_KEYS 8      /* number of colours */
#define RF_KEY_OTHER 8 /* grey dots */
#define RF_KEY_OPEN 9  /* crosses */
#define RF_KEY_AGAIN 10

/* The key of series i of a chart. */
static inline size_t rf_series_key(size_t i)
{
    return i < RF_KEYS ? i : i - RF_KEYS + RF_KEY_AGAIN;
}

typedef struct rf_axis {
    const char *title; /* with the unit: "F1, %" */
    double low, high;  /* equal: round limits around the data */
    bool log;          /* logarithmic; all values above 0 */
} rf_axis;

/* An enlarged part of a chart, drawn over an empty area of it. */
typedef struct rf_inset {
    double x0, x1, y0, y1;           /* the part, in data units */
    double left, top, width, height; /* its position, as fractions of the plot */
} rf_inset;

/* ---- Bars -------------------------------------------------------------------------- */

typedef struct rf_bars {
    const char *name;
    const double *value;      /* [n_groups]; not finite: no bar */
    const double *low, *high; /* [n_groups] interval, or NULL */
} rf_bars;

/* Horizontal bars: a group for each name, with one bar per series. */
typedef struct rf_bar_chart {
    const char *title, *description;
    rf_axis axis; /* not logarithmic */
    const char *const *groups;
    size_t n_groups;
    const rf_bars *series;
    size_t n_series;
    int decimals; /* of the values beside the bars */
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

/* The share of right answers by confidence, in n_bins equal bins from 0 to 100 %. */
typedef struct rf_reliability_chart {
    const char *title, *description;
    const double *right; /* [n_bins] share of right answers in per cent, finite */
    const size_t *count; /* [n_bins] 0: no bar */
    size_t n_bins;
} rf_reliability_chart;

void rf_svg_reliability(rf_page *p, const rf_reliability_chart *chart);

/* ---- Maps -------------------------------------------------------------------------- */

typedef struct rf_map_mark {
    double x, y;
    size_t series;    /* SIZE_MAX: not drawn, but the map extends to it */
    const char *text; /* shown in a tooltip; any bytes */
    size_t len;
    size_t truth, answer; /* index of a name; SIZE_MAX: none */
    double confidence;    /* of the answer, 0..1; negative: none */
} rf_map_mark;

typedef struct rf_map_series {
    const char *name;
    size_t key;
} rf_map_series;

typedef struct rf_map_chart {
    const char *title, *description;
    const rf_map_mark *points; /* up to about 10,000 */
    size_t n_points;
    const rf_map_series *series;
    size_t n_series;
    const char *const *names; /* for truth and answer */
    size_t n_names;
    const rf_inset *inset; /* may be NULL */
} rf_map_chart;

/* Points without axes, on the same scale in both directions. Mouse, touch and arrow keys
 * show the text of a point; the legend's buttons highlight a series. */
void rf_svg_map(rf_page *p, const rf_map_chart *chart);

/* ---- Heat tables ------------------------------------------------------------------- */

typedef struct rf_heat {
    const char *label; /* for screen readers */
    const char *const *rows, *const *columns;
    size_t n_rows, n_columns;
    const double *values; /* [n_rows, n_columns], 0 is left blank */
    double full; /* the value with the deepest colour; 0: the largest of each row */
    int decimals;
    bool diagonal; /* frame the cells on the diagonal */
} rf_heat;

void rf_page_heat(rf_page *p, const rf_heat *heat);

#endif
