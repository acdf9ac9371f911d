/* svg_reliability.c - reliability diagram: the share of right answers per bin of
 * confidence, and the diagonal of perfect calibration */
#include "report/svg_parts.h"

#include <math.h>

#define WIDTH 640.0
#define HEIGHT 380.0
#define LEFT 60.0
#define RIGHT 18.0
#define ABOVE 58.0 /* for the axis title and the count above a full bar */
#define BELOW 60.0
#define GAP 3.0 /* between a bar and the edge of its bin */

static void draw_axes(rf_page *p, const rf_scale *x, const rf_scale *y)
{
    rf_page_add(p, "<path class=\"grid\" d=\"");
    for (double v = 20; v <= 100; v += 20) {
        rf_svg_xy(p, "M", x->from, rf_scale_at(y, v));
        rf_svg_xy(p, "L", x->to, rf_scale_at(y, v));
    }
    rf_page_add(p, "\"/>\n<path class=\"axis\" d=\"");
    rf_svg_xy(p, "M", x->from, y->from);
    rf_svg_xy(p, "L", x->to, y->from);
    rf_page_add(p, "\"/>\n");
    for (double v = 0; v <= 100; v += 20) {
        rf_svg_text(p, "text-anchor=\"end\" dominant-baseline=\"central\"", x->from - 8,
                    rf_scale_at(y, v));
        rf_tick_label(p, v);
        rf_page_add(p, "</text>\n");
        rf_svg_text(p, "text-anchor=\"middle\"", rf_scale_at(x, v), y->from + 25);
        rf_tick_label(p, v);
        rf_page_add(p, "</text>\n");
    }
    rf_svg_text(p, "", 0, 16);
    rf_page_add(p, "right answers, %</text>\n");
    rf_svg_text(p, "text-anchor=\"end\"", x->to, y->from + 51);
    rf_page_add(p, "confidence, %</text>\n");
}

/* At most four characters, to fit above a bar on a phone. */
static void put_count(rf_page *p, size_t count)
{
    if (count < 1000) {
        rf_page_count(p, count);
    } else if (count < 999500) {
        rf_page_number(p, (double)count / 1e3, count < 9950);
        rf_page_add(p, "k");
    } else {
        rf_page_number(p, (double)count / 1e6, count < 9950000);
        rf_page_add(p, "M");
    }
}

static double top_of(const rf_scale *y, double right)
{
    return fmin(rf_scale_at(y, right), y->from - 1); /* 0 is visible too */
}

static void draw_bars(rf_page *p, const rf_reliability_chart *c, const rf_scale *x,
                      const rf_scale *y)
{
    double width = (x->to - x->from) / (double)c->n_bins;
    for (size_t i = 0; i < c->n_bins; i++) {
        double top = top_of(y, c->right[i]);
        if (!c->count[i])
            continue;
        rf_page_addf(p, "<rect class=\"k%zu f\"", rf_key_colour(rf_series_key(0)));
        rf_svg_at(p, "x", x->from + (double)i * width + GAP);
        rf_svg_at(p, "y", top);
        rf_svg_at(p, "width", width - 2 * GAP);
        rf_svg_at(p, "height", y->from - top);
        rf_page_add(p, "/>\n");
    }
}

static void draw_counts(rf_page *p, const rf_reliability_chart *c, const rf_scale *x,
                        const rf_scale *y)
{
    double width = (x->to - x->from) / (double)c->n_bins;
    for (size_t i = 0; i < c->n_bins; i++) {
        if (!c->count[i])
            continue;
        rf_svg_text(p, "class=\"val\" text-anchor=\"middle\"",
                    x->from + ((double)i + 0.5) * width, top_of(y, c->right[i]) - 6);
        put_count(p, c->count[i]);
        rf_page_add(p, "</text>\n");
    }
}

void rf_svg_reliability(rf_page *p, const rf_reliability_chart *c)
{
    const rf_scale x = {0, 100, LEFT, WIDTH - RIGHT, false};
    const rf_scale y = {0, 100, HEIGHT - BELOW, ABOVE, false};
    rf_page_add(p, "<figure>\n");
    rf_svg_begin(p, "reliability", c->title, c->description, WIDTH, HEIGHT);
    draw_axes(p, &x, &y);
    draw_bars(p, c, &x, &y);
    rf_page_add(p, "<path class=\"mark\" d=\"");
    rf_svg_xy(p, "M", x.from, y.from);
    rf_svg_xy(p, "L", x.to, y.to);
    rf_page_add(p, "\"/>\n");
    draw_counts(p, c, &x, &y);
    rf_page_add(p, "</svg>\n</figure>\n");
}
