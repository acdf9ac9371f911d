/* svg.c - scales and ticks, shapes, legends, heat tables */
#include "report/svg_parts.h"

#include <math.h>
#include <string.h>

/* ---- Scales ------------------------------------------------------------------------ */

double rf_scale_at(const rf_scale *s, double value)
{
    double low = s->low, high = s->high;
    if (s->log) {
        low = log10(low);
        high = log10(high);
        value = log10(value);
    }
    double share = high > low ? (value - low) / (high - low) : 0.5;
    return s->from + share * (s->to - s->from);
}

/* 1, 2 or 5 times a power of ten, at least x > 0. */
static double round_step(double x)
{
    double power = pow(10, floor(log10(x)));
    double times = x / power;
    return power * (times <= 1 + 1e-9   ? 1
                    : times <= 2 + 1e-9 ? 2
                    : times <= 5 + 1e-9 ? 5
                                        : 10);
}

rf_scale rf_scale_for(const rf_axis *axis, double low, double high, double from,
                      double to)
{
    rf_scale s = {axis->low, axis->high, from, to, axis->log};
    if (axis->low < axis->high && (!axis->log || axis->low > 0))
        return s;
    if (!(low <= high) || !isfinite(low) || !isfinite(high) || (axis->log && !(low > 0)))
        low = axis->log ? 1 : 0, high = axis->log ? 10 : 1;
    if (axis->log) {
        s.low = low;
        s.high = high > low ? high : low * 10;
        return s;
    }
    double spread = high > low ? high - low : fmax(fabs(high), 1);
    double step = round_step(spread / 5);
    s.low = floor(low / step + 1e-9) * step;
    s.high = ceil(high / step - 1e-9) * step;
    if (!(s.low < s.high))
        s.high = s.low + step;
    return s;
}

static size_t linear_ticks(const rf_scale *s, size_t wanted, double out[RF_MAX_TICKS])
{
    double step = round_step((s->high - s->low) / (double)wanted);
    size_t n = 0;
    for (double i = ceil(s->low / step - 1e-9);
         i * step <= s->high + step * 1e-9 && n < RF_MAX_TICKS; i++)
        out[n++] = i * step + 0.0; /* -0 becomes 0 */
    return n;
}

/* Powers of ten, and their multiples by 2 and 5 if there is room. */
static size_t log_ticks(const rf_scale *s, size_t wanted, double out[RF_MAX_TICKS])
{
    static const double between[] = {1, 2, 5};
    double decades = log10(s->high / s->low);
    size_t per = decades * 3 <= (double)wanted ? 3 : 1, n = 0;
    double every = fmax(1, ceil(decades / (double)wanted));
    for (double e = floor(log10(s->low)); e <= ceil(log10(s->high)); e += every)
        for (size_t k = 0; k < per; k++) {
            double v = between[k] * pow(10, e);
            if (v >= s->low * (1 - 1e-9) && v <= s->high * (1 + 1e-9) && n < RF_MAX_TICKS)
                out[n++] = v;
        }
    return n;
}

size_t rf_scale_ticks(const rf_scale *s, size_t wanted, double out[RF_MAX_TICKS])
{
    return s->log ? log_ticks(s, wanted, out) : linear_ticks(s, wanted, out);
}

void rf_tick_label(rf_page *p, double value)
{
    if (value >= 10000 && value < 1e15 && value == floor(value))
        rf_page_count(p, (size_t)value);
    else
        rf_page_short(p, value, 6);
}

/* ---- Markup ------------------------------------------------------------------------ */

void rf_svg_begin(rf_page *p, const char *kind, const char *title,
                  const char *description, double width, double height)
{
    size_t id = rf_page_id(p);
    rf_page_addf(
        p, "<svg class=\"%s\" role=\"img\" aria-labelledby=\"t%zu d%zu\" viewBox=\"0 0 ",
        kind, id, id);
    rf_page_short(p, width, 0);
    rf_page_add(p, " ");
    rf_page_short(p, height, 0);
    rf_page_addf(p, "\">\n<title id=\"t%zu\">", id);
    rf_page_words(p, title);
    rf_page_addf(p, "</title>\n<desc id=\"d%zu\">", id);
    rf_page_words(p, description ? description : "");
    rf_page_add(p, "</desc>\n");
}

void rf_svg_at(rf_page *p, const char *name, double value)
{
    rf_page_addf(p, " %s=\"", name);
    rf_page_short(p, value, 1);
    rf_page_add(p, "\"");
}

void rf_svg_xy(rf_page *p, const char *before, double x, double y)
{
    rf_page_add(p, before);
    rf_page_short(p, x, 1);
    rf_page_add(p, " ");
    rf_page_short(p, y, 1);
}

void rf_svg_text(rf_page *p, const char *attributes, double x, double y)
{
    rf_page_addf(p, "<text %s", attributes);
    rf_svg_at(p, "x", x);
    rf_svg_at(p, "y", y);
    rf_page_add(p, ">");
}

/* ---- Shapes ------------------------------------------------------------------------ */

size_t rf_key_colour(size_t key)
{
    return key < RF_KEY_AGAIN ? key : (key - RF_KEY_AGAIN) % RF_KEYS;
}

/* Each time a colour repeats it has another shape, seven times. */
static size_t key_shape(size_t key)
{
    size_t i = key - RF_KEY_AGAIN + RF_KEYS;
    return key < RF_KEY_AGAIN ? key : (i + 3 * (i / RF_KEYS)) % RF_KEYS;
}

const char *rf_shape(size_t key)
{
    static const char *const shapes[] = {
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
        "M-3.5-3.5h7v7h-7z",
        "M0-4.8L4.6 3.3H-4.6z",
        "M0-5L5 0 0 5-5 0z",
        "M0 4.8L4.6-3.3H-4.6z",
        "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
        "M0-4.6L4.4-1.4 2.7 3.7H-2.7L-4.4-1.4z",
        "M-4.8-2.6h9.6v5.2h-9.6z",
        "M-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z",
        "M-3.4-3.4L3.4 3.4M3.4-3.4L-3.4 3.4",
    };
    return shapes[key_shape(key)];
}

void rf_shape_class(rf_page *p, size_t key)
{
    rf_page_addf(p, "class=\"k%zu %s\"", rf_key_colour(key),
                 key == RF_KEY_OPEN ? "s" : "f");
    if (key == RF_KEY_OPEN)
        rf_page_add(p, " fill=\"none\" stroke-width=\"1.5\"");
}

void rf_legend_entry(rf_page *p, const char *name, size_t key, bool button, size_t series)
{
    rf_page_add(p, "<li>");
    if (button)
        rf_page_addf(p, "<button type=\"button\" aria-pressed=\"false\" data-s=\"%zu\">",
                     series);
    rf_page_add(p, "<svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path ");
    rf_shape_class(p, key);
    rf_page_addf(p, " d=\"%s\"/></svg><span class=\"t\">", rf_shape(key));
    rf_page_words(p, name);
    rf_page_add(p, button ? "</span></button></li>\n" : "</span></li>\n");
}

/* ---- Heat tables ------------------------------------------------------------------- */

#define MAX_OPACITY 0.6 /* keeps the number readable */

static double largest(const double *values, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = values[i] > most && isfinite(values[i]) ? values[i] : most;
    return most;
}

static void heat_cell(rf_page *p, const rf_heat *h, size_t row, size_t column,
                      double full)
{
    double v = h->values[row * h->n_columns + column];
    rf_page_add(p, h->diagonal && row == column ? "<td class=\"d\"" : "<td");
    if (v != 0 && isfinite(v)) {
        rf_page_add(p, " style=\"--v:");
        rf_page_short(p, full > 0 ? MAX_OPACITY * fmax(0, fmin(v / full, 1)) : 0, 3);
        rf_page_add(p, "\">");
        rf_page_number(p, v, h->decimals);
    } else
        rf_page_add(p, ">");
    rf_page_add(p, "</td>");
}

void rf_page_heat(rf_page *p, const rf_heat *h)
{
    rf_page_add(
        p, "<div class=\"scroll heat\" role=\"region\" tabindex=\"0\" aria-label=\"");
    rf_page_words(p, h->label);
    rf_page_add(p, "\">\n<table>\n<thead><tr><td></td>");
    for (size_t j = 0; j < h->n_columns; j++) {
        rf_page_add(p, "<th scope=\"col\"><span>");
        rf_page_words(p, h->columns[j]);
        rf_page_add(p, "</span></th>");
    }
    rf_page_add(p, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < h->n_rows; i++) {
        double full =
            h->full > 0 ? h->full : largest(h->values + i * h->n_columns, h->n_columns);
        rf_page_add(p, "<tr><th scope=\"row\">");
        rf_page_words(p, h->rows[i]);
        rf_page_add(p, "</th>");
        for (size_t j = 0; j < h->n_columns; j++)
            heat_cell(p, h, i, j, full);
        rf_page_add(p, "</tr>\n");
    }
    rf_page_table_end(p);
}
