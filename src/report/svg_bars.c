/* svg_bars.c - horizontal bars, with names above them so that they may be long */
#include "report/svg_parts.h"

#include <math.h>

#define WIDTH 640.0
#define RIGHT 72.0 /* for the number behind the longest bar */
#define NAME 30.0  /* height of a group's name */
#define BAR 18.0
#define STEP 23.0 /* from bar to bar */
#define GAP 10.0  /* below a group */
#define BELOW 58.0

static bool has_interval(const rf_bars *s, size_t group)
{
    return s->low && s->high && isfinite(s->low[group]) && isfinite(s->high[group]);
}

static rf_scale bar_scale(const rf_bar_chart *c)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t g = 0; g < c->n_groups; g++) {
            const rf_bars *s = &c->series[i];
            double v = s->value[g];
            if (!isfinite(v))
                continue;
            low = fmin(low, has_interval(s, g) ? fmin(v, s->low[g]) : v);
            high = fmax(high, has_interval(s, g) ? fmax(v, s->high[g]) : v);
        }
    return rf_scale_for(&c->axis, low, high, 1, WIDTH - RIGHT);
}

static void draw_axis(rf_page *p, const rf_bar_chart *c, const rf_scale *s, double height)
{
    double ticks[RF_MAX_TICKS], bottom = height - BELOW;
    size_t n = rf_scale_ticks(s, 5, ticks);
    rf_page_add(p, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < n; i++) {
        rf_svg_xy(p, "M", rf_scale_at(s, ticks[i]), 0);
        rf_svg_xy(p, "L", rf_scale_at(s, ticks[i]), bottom);
    }
    rf_page_add(p, "\"/>\n");
    for (size_t i = 0; i < n; i++) {
        rf_svg_text(p, i ? "text-anchor=\"middle\"" : "", rf_scale_at(s, ticks[i]),
                    bottom + 22);
        rf_tick_label(p, ticks[i]);
        rf_page_add(p, "</text>\n");
    }
    rf_svg_text(p, "text-anchor=\"end\"", WIDTH - RIGHT, bottom + 48);
    rf_page_words(p, c->axis.title ? c->axis.title : "");
    rf_page_add(p, "</text>\n");
}

static void draw_bar(rf_page *p, const rf_bar_chart *c, const rf_scale *s, size_t series,
                     size_t group, double top)
{
    const rf_bars *b = &c->series[series];
    double v = b->value[group], middle = top + BAR / 2;
    if (!isfinite(v))
        return;
    double zero = rf_scale_at(s, fmin(fmax(0, s->low), s->high)), at = rf_scale_at(s, v);
    double end = at;
    rf_page_addf(p, "<rect class=\"k%zu f\"", rf_key_colour(rf_series_key(series)));
    rf_svg_at(p, "x", fmin(zero, at));
    rf_svg_at(p, "y", top);
    rf_svg_at(p, "width", fmax(fabs(at - zero), 1));
    rf_svg_at(p, "height", BAR);
    rf_page_add(p, "/>\n");
    if (has_interval(b, group)) {
        double from = rf_scale_at(s, b->low[group]), to = rf_scale_at(s, b->high[group]);
        rf_page_add(p, "<path class=\"err\" d=\"");
        rf_svg_xy(p, "M", from, middle);
        rf_svg_xy(p, "L", to, middle);
        rf_svg_xy(p, "M", from, middle - 4);
        rf_page_add(p, "v8");
        rf_svg_xy(p, "M", to, middle - 4);
        rf_page_add(p, "v8\"/>\n");
        end = fmax(end, to);
    }
    rf_svg_text(p, "class=\"val\" dominant-baseline=\"central\"", end + 7, middle);
    rf_page_number(p, v, c->decimals);
    rf_page_add(p, "</text>\n");
}

void rf_svg_bars(rf_page *p, const rf_bar_chart *c)
{
    double group = NAME + (double)c->n_series * STEP + GAP;
    double height = (double)c->n_groups * group + BELOW;
    rf_scale s = bar_scale(c);
    rf_page_add(p, "<figure>\n");
    if (c->n_series > 1) {
        rf_page_add(p, "<ul class=\"legend\">\n");
        for (size_t i = 0; i < c->n_series; i++)
            rf_legend_entry(p, c->series[i].name, rf_series_key(i), false, i);
        rf_page_add(p, "</ul>\n");
    }
    rf_svg_begin(p, "bars", c->title, c->description, WIDTH, height);
    draw_axis(p, c, &s, height);
    for (size_t g = 0; g < c->n_groups; g++) {
        rf_svg_text(p, "class=\"name\"", 1, (double)g * group + 20);
        rf_page_words(p, c->groups[g]);
        rf_page_add(p, "</text>\n");
        for (size_t i = 0; i < c->n_series; i++)
            draw_bar(p, c, &s, i, g, (double)g * group + NAME + (double)i * STEP);
    }
    rf_page_add(p, "</svg>\n</figure>\n");
}
