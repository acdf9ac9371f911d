/* svg_facets.c - a bar chart for many names: one facet (small chart) per figure */
#include "lab/lab_page.h"
#include "report/svg_parts.h"

#include <math.h>

#define WIDTH 640.0
#define NAMES 152.0 /* width of the names */
#define GAP 34.0    /* between facets: half a tick label on either side */
#define RIGHT 20.0
#define ABOVE 34.0
#define BELOW 30.0
#define BAR 7.0
#define STEP 8.0
#define MIN_ROW 28.0 /* so that names do not touch on a phone */
#define BETWEEN 9.0
#define NAME_CHARACTERS 14

static void draw_axis(rf_page *p, const char *title, const rf_scale *s, double bottom)
{
    double ticks[RF_MAX_TICKS];
    size_t n = rf_scale_ticks(s, 2, ticks);
    rf_page_add(p, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < n; i++) {
        rf_svg_xy(p, "M", rf_scale_at(s, ticks[i]), ABOVE - 6);
        rf_svg_xy(p, "L", rf_scale_at(s, ticks[i]), bottom);
    }
    rf_page_add(p, "\"/>\n");
    for (size_t i = 0; i < n; i++) {
        rf_svg_text(p, "text-anchor=\"middle\"", rf_scale_at(s, ticks[i]), bottom + 22);
        rf_tick_label(p, ticks[i]);
        rf_page_add(p, "</text>\n");
    }
    rf_svg_text(p, "class=\"name\"", s->from, 16);
    rf_page_words(p, title);
    rf_page_add(p, "</text>\n");
}

/* Shown while the mouse rests on the bar. */
static void put_tooltip(rf_page *p, const rf_facet_chart *c, size_t series, size_t row,
                        size_t at)
{
    rf_page_add(p, "<title>");
    rf_page_words(p, c->rows[row]);
    rf_page_add(p, ", ");
    rf_page_words(p, c->series[series]);
    rf_page_add(p, ": ");
    rf_page_number(p, c->value[at], 2);
    if (isfinite(c->low[at]) && isfinite(c->high[at])) {
        rf_page_add(p, " (");
        rf_page_number(p, c->low[at], 1);
        rf_page_add(p, " to ");
        rf_page_number(p, c->high[at], 1);
        rf_page_add(p, ")");
    }
    rf_page_add(p, "</title>");
}

static void draw_bar(rf_page *p, const rf_facet_chart *c, const rf_scale *s,
                     size_t series, size_t row, size_t at, double top)
{
    if (!isfinite(c->value[at]))
        return;
    double zero = rf_scale_at(s, 0), end = rf_scale_at(s, c->value[at]);
    rf_page_addf(p, "<rect class=\"k%zu f\"", series % RF_KEYS);
    rf_svg_at(p, "x", zero);
    rf_svg_at(p, "y", top);
    rf_svg_at(p, "width", fmax(end - zero, 1));
    rf_svg_at(p, "height", BAR);
    rf_page_add(p, ">");
    put_tooltip(p, c, series, row, at);
    rf_page_add(p, "</rect>\n");
    if (!isfinite(c->low[at]) || !isfinite(c->high[at]))
        return;
    /* An interval of two or three seeds may exceed 0 to 100: clip it. */
    rf_page_add(p, "<path class=\"err\" d=\"");
    rf_svg_xy(p, "M", rf_scale_at(s, fmax(c->low[at], 0)), top + BAR / 2);
    rf_svg_xy(p, "L", rf_scale_at(s, fmin(c->high[at], 100)), top + BAR / 2);
    rf_page_add(p, "\"/>\n");
}

static void draw_facet(rf_page *p, const rf_facet_chart *c, size_t facet, double from,
                       double to, double row_height)
{
    rf_scale s = {0, 100, from, to, false};
    double bars = (double)c->n_series * STEP;
    draw_axis(p, c->facets[facet], &s, ABOVE + (double)c->n_rows * row_height);
    for (size_t row = 0; row < c->n_rows; row++)
        for (size_t i = 0; i < c->n_series; i++)
            draw_bar(p, c, &s, i, row, (facet * c->n_series + i) * c->n_rows + row,
                     ABOVE + (double)row * row_height + (row_height - bars) / 2 +
                         (double)i * STEP);
}

void rf_svg_facets(rf_page *p, const rf_facet_chart *c)
{
    double row = fmax((double)c->n_series * STEP + BETWEEN, MIN_ROW);
    double height = ABOVE + (double)c->n_rows * row + BELOW;
    double n = (double)c->n_facets, wide = (WIDTH - NAMES - RIGHT - (n - 1) * GAP) / n;
    rf_page_add(p, "<figure>\n");
    if (c->n_series > 1) {
        rf_page_add(p, "<ul class=\"legend\">\n");
        for (size_t i = 0; i < c->n_series; i++)
            rf_legend_entry(p, c->series[i], i % RF_KEYS, false, i);
        rf_page_add(p, "</ul>\n");
    }
    rf_svg_begin(p, "facets", c->title, c->description, WIDTH, height);
    for (size_t i = 0; i < c->n_rows; i++) {
        rf_svg_text(p, "class=\"name\" text-anchor=\"end\" dominant-baseline=\"central\"",
                    NAMES - 10, ABOVE + ((double)i + 0.5) * row);
        size_t len = 0;
        while (c->rows[i][len])
            len++;
        rf_page_text_cut(p, c->rows[i], len, NAME_CHARACTERS);
        rf_page_add(p, "</text>\n");
    }
    for (size_t i = 0; i < c->n_facets; i++) {
        double from = NAMES + (double)i * (wide + GAP);
        draw_facet(p, c, i, from, from + wide, row);
    }
    rf_page_add(p, "</svg>\n</figure>\n");
}
