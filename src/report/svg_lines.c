/* svg_lines.c - line charts with bands, a mark and an inset; linear or logarithmic */
#include "report/svg_parts.h"

#include <math.h>

#define WIDTH 640.0
#define HEIGHT 340.0
#define LEFT 60.0
#define RIGHT 18.0
#define ABOVE 38.0
#define BELOW 60.0

typedef struct plot {
    const rf_line_chart *c;
    rf_scale x, y;
} plot;

static bool drawable(const plot *t, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!t->x.log || x > 0) && (!t->y.log || y > 0);
}

static void widen(double range[2], double v)
{
    if (isfinite(v)) {
        range[0] = fmin(range[0], v);
        range[1] = fmax(range[1], v);
    }
}

static plot plot_for(const rf_line_chart *c)
{
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    for (size_t i = 0; i < c->n_lines; i++)
        for (size_t k = 0; k < c->lines[i].n; k++) {
            const rf_line *l = &c->lines[i];
            widen(x, l->x[k]);
            widen(y, l->y[k]);
            if (l->low && l->high) {
                widen(y, l->low[k]);
                widen(y, l->high[k]);
            }
        }
    return (plot){c, rf_scale_for(&c->x, x[0], x[1], LEFT, WIDTH - RIGHT),
                  rf_scale_for(&c->y, y[0], y[1], HEIGHT - BELOW, ABOVE)};
}

/* ---- Axes -------------------------------------------------------------------------- */

static void draw_y_axis(rf_page *p, const plot *t)
{
    double ticks[RF_MAX_TICKS];
    size_t n = rf_scale_ticks(&t->y, 5, ticks);
    rf_page_add(p, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < n; i++) {
        rf_svg_xy(p, "M", t->x.from, rf_scale_at(&t->y, ticks[i]));
        rf_svg_xy(p, "L", t->x.to, rf_scale_at(&t->y, ticks[i]));
    }
    rf_page_add(p, "\"/>\n");
    for (size_t i = 0; i < n; i++) {
        rf_svg_text(p, "text-anchor=\"end\" dominant-baseline=\"central\"", t->x.from - 8,
                    rf_scale_at(&t->y, ticks[i]));
        rf_tick_label(p, ticks[i]);
        rf_page_add(p, "</text>\n");
    }
    rf_svg_text(p, "", 0, 16);
    rf_page_words(p, t->c->y.title ? t->c->y.title : "");
    rf_page_add(p, "</text>\n");
}

static void draw_x_axis(rf_page *p, const plot *t)
{
    double ticks[RF_MAX_TICKS], bottom = t->y.from;
    size_t n = rf_scale_ticks(&t->x, 7, ticks);
    rf_page_add(p, "<path class=\"axis\" d=\"");
    rf_svg_xy(p, "M", t->x.from, bottom);
    rf_svg_xy(p, "L", t->x.to, bottom);
    for (size_t i = 0; i < n; i++) {
        rf_svg_xy(p, "M", rf_scale_at(&t->x, ticks[i]), bottom);
        rf_page_add(p, "v5");
    }
    rf_page_add(p, "\"/>\n");
    for (size_t i = 0; i < n; i++) {
        rf_svg_text(p, "text-anchor=\"middle\"", rf_scale_at(&t->x, ticks[i]),
                    bottom + 25);
        rf_tick_label(p, ticks[i]);
        rf_page_add(p, "</text>\n");
    }
    rf_svg_text(p, "text-anchor=\"end\"", t->x.to, bottom + 51);
    rf_page_words(p, t->c->x.title ? t->c->x.title : "");
    rf_page_add(p, "</text>\n");
}

static void draw_mark(rf_page *p, const plot *t)
{
    const rf_line_chart *c = t->c;
    if (!c->mark_name || !(c->mark >= t->x.low && c->mark <= t->x.high))
        return;
    double x = rf_scale_at(&t->x, c->mark);
    bool left = x > (t->x.from + t->x.to) / 2; /* the side with room for its name */
    rf_page_add(p, "<path class=\"mark\" d=\"");
    rf_svg_xy(p, "M", x, t->y.to - 6);
    rf_svg_xy(p, "L", x, t->y.from);
    rf_page_add(p, "\"/>\n");
    rf_svg_text(p, left ? "class=\"name\" text-anchor=\"end\"" : "class=\"name\"",
                left ? x - 7 : x + 7, t->y.to + 10);
    rf_page_words(p, c->mark_name);
    rf_page_add(p, "</text>\n");
}

/* ---- Lines ------------------------------------------------------------------------- */

static void draw_band(rf_page *p, const plot *t, const rf_line *l, size_t key)
{
    const char *before = "M";
    if (!l->low || !l->high)
        return;
    rf_page_addf(p, "<path class=\"band k%zu f\" d=\"", rf_key_colour(key));
    for (size_t i = 0; i < l->n; i++)
        if (drawable(t, l->x[i], l->high[i]) && drawable(t, l->x[i], l->low[i])) {
            rf_svg_xy(p, before, rf_scale_at(&t->x, l->x[i]),
                      rf_scale_at(&t->y, l->high[i]));
            before = "L";
        }
    for (size_t i = l->n; i-- > 0;)
        if (drawable(t, l->x[i], l->high[i]) && drawable(t, l->x[i], l->low[i]))
            rf_svg_xy(p, before, rf_scale_at(&t->x, l->x[i]),
                      rf_scale_at(&t->y, l->low[i]));
    rf_page_add(p, *before == 'L' ? "z\"/>\n" : "\"/>\n");
}

static void draw_line(rf_page *p, const plot *t, const rf_line *l, size_t key)
{
    const char *before = "M";
    rf_page_addf(p, "<path class=\"line k%zu s%s%s\" d=\"", rf_key_colour(key),
                 t->c->steps ? " area" : "", key >= RF_KEY_AGAIN ? " again" : "");
    for (size_t i = 0; i < l->n; i++) {
        if (!drawable(t, l->x[i], l->y[i])) {
            before = "M"; /* a gap */
            continue;
        }
        double y = rf_scale_at(&t->y, l->y[i]);
        rf_svg_xy(p, before, rf_scale_at(&t->x, l->x[i]), y);
        before = "L";
        if (t->c->steps && i + 1 < l->n && drawable(t, l->x[i + 1], l->y[i]))
            rf_svg_xy(p, before, rf_scale_at(&t->x, l->x[i + 1]), y);
    }
    rf_page_add(p, "\"/>\n");
    if (t->c->steps)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (drawable(t, l->x[i], l->y[i])) {
            rf_page_add(p, "<path ");
            rf_shape_class(p, key);
            rf_svg_xy(p, " transform=\"translate(", rf_scale_at(&t->x, l->x[i]),
                      rf_scale_at(&t->y, l->y[i]));
            rf_page_addf(p, ")\" d=\"%s\"/>\n", rf_shape(key));
        }
}

/* All bands and lines, clipped to the plot. */
static void draw_lines(rf_page *p, const plot *t, double margin)
{
    size_t id = rf_page_id(p);
    rf_page_addf(p, "<clipPath id=\"c%zu\"><rect", id);
    rf_svg_at(p, "x", t->x.from - margin);
    rf_svg_at(p, "y", t->y.to - margin);
    rf_svg_at(p, "width", t->x.to - t->x.from + 2 * margin);
    rf_svg_at(p, "height", t->y.from - t->y.to + 2 * margin);
    rf_page_addf(p, "/></clipPath>\n<g clip-path=\"url(#c%zu)\">\n", id);
    for (size_t i = 0; i < t->c->n_lines; i++)
        draw_band(p, t, &t->c->lines[i], rf_series_key(i));
    for (size_t i = 0; i < t->c->n_lines; i++)
        draw_line(p, t, &t->c->lines[i], rf_series_key(i));
    rf_page_add(p, "</g>\n");
}

static void draw_box(rf_page *p, const char *kind, double x0, double y0, double x1,
                     double y1)
{
    rf_page_addf(p, "<rect class=\"%s\"", kind);
    rf_svg_at(p, "x", fmin(x0, x1));
    rf_svg_at(p, "y", fmin(y0, y1));
    rf_svg_at(p, "width", fabs(x1 - x0));
    rf_svg_at(p, "height", fabs(y1 - y0));
    rf_page_add(p, "/>\n");
}

/* Labels of y inside the frame, as there is no room beside it. */
static void draw_inset_ticks(rf_page *p, const plot *t)
{
    double ticks[RF_MAX_TICKS];
    size_t n = rf_scale_ticks(&t->y, 3, ticks);
    for (size_t i = 0; i < n; i++) {
        double y = rf_scale_at(&t->y, ticks[i]);
        if (y < t->y.to + 14 || y > t->y.from - 2)
            continue;
        rf_page_add(p, "<path class=\"grid\" d=\"");
        rf_svg_xy(p, "M", t->x.from, y);
        rf_svg_xy(p, "L", t->x.to, y);
        rf_page_add(p, "\"/>\n");
        rf_svg_text(p, "", t->x.from + 4, y - 3);
        rf_tick_label(p, ticks[i]);
        rf_page_add(p, "</text>\n");
    }
}

static void draw_inset(rf_page *p, const plot *t)
{
    const rf_inset *in = t->c->inset;
    if (!in || !(in->x0 < in->x1) || !(in->y0 < in->y1))
        return;
    double w = t->x.to - t->x.from, h = t->y.from - t->y.to;
    double left = t->x.from + in->left * w, top = t->y.to + in->top * h;
    plot small = {t->c,
                  {in->x0, in->x1, left, left + in->width * w, t->x.log},
                  {in->y0, in->y1, top + in->height * h, top, t->y.log}};
    draw_box(p, "zoomed", rf_scale_at(&t->x, in->x0), rf_scale_at(&t->y, in->y0),
             rf_scale_at(&t->x, in->x1), rf_scale_at(&t->y, in->y1));
    draw_box(p, "frame", small.x.from, small.y.from, small.x.to, small.y.to);
    draw_inset_ticks(p, &small);
    draw_lines(p, &small, 0);
}

void rf_svg_lines(rf_page *p, const rf_line_chart *c)
{
    plot t = plot_for(c);
    rf_page_add(p, "<figure>\n");
    if (c->n_lines > 1) {
        rf_page_add(p, "<ul class=\"legend\">\n");
        for (size_t i = 0; i < c->n_lines; i++)
            rf_legend_entry(p, c->lines[i].name, rf_series_key(i), false, i);
        rf_page_add(p, "</ul>\n");
    }
    rf_svg_begin(p, "lines", c->title, c->description, WIDTH, HEIGHT);
    draw_y_axis(p, &t);
    draw_x_axis(p, &t);
    draw_lines(p, &t, 6);
    draw_mark(p, &t);
    draw_inset(p, &t);
    rf_page_add(p, "</svg>\n</figure>\n");
}
