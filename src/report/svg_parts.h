/* svg_parts.h - what the charts share: scales, ticks, shapes, legends */
#ifndef RF_REPORT_SVG_PARTS_H
#define RF_REPORT_SVG_PARTS_H

#include "report/svg.h"

/* Maps values [low, high] to coordinates [from, to]. */
typedef struct rf_scale {
    double low, high, from, to;
    bool log;
} rf_scale;

double rf_scale_at(const rf_scale *s, double value);

/* The scale of an axis: its own limits, or round ones around [low, high]. */
rf_scale rf_scale_for(const rf_axis *axis, double low, double high, double from,
                      double to);

#define RF_MAX_TICKS 12
/* Round values within the scale, about `wanted` of them; returns their number. */
size_t rf_scale_ticks(const rf_scale *s, size_t wanted, double out[RF_MAX_TICKS]);
/* "0.25", "1,000" */
void rf_tick_label(rf_page *p, double value);

/* Opens an <svg> with title and description; kind is its class. */
void rf_svg_begin(rf_page *p, const char *kind, const char *title,
                  const char *description, double width, double height);

/* Attribute name="value", with one decimal. */
void rf_svg_at(rf_page *p, const char *name, double value);
/* A path command and x y, with one decimal. */
void rf_svg_xy(rf_page *p, const char *before, double x, double y);
/* Opens <text ... x= y=>. */
void rf_svg_text(rf_page *p, const char *attributes, double x, double y);

/* The number of a key's colour, for its class "k3". */
size_t rf_key_colour(size_t key);
/* The outline of shape `key` about (0, 0), some 8 units wide. */
const char *rf_shape(size_t key);
/* Attribute class="k3 f"; open crosses are stroked, other shapes filled. */
void rf_shape_class(rf_page *p, size_t key);

/* One entry of a legend: <li> with shape and name. As a button it highlights series
 * number `series`. */
void rf_legend_entry(rf_page *p, const char *name, size_t key, bool button,
                     size_t series);

#endif
