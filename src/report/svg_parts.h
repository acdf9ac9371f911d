/* svg_parts.h - what the charts share: places on the picture, axes, shapes, legends */
#ifndef RF_REPORT_SVG_PARTS_H
#define RF_REPORT_SVG_PARTS_H

#include "report/svg.h"

/* From numbers to places: [low, high] to [from, to] of the picture. */
typedef struct rf_scale {
    double low, high, from, to;
    bool log;
} rf_scale;

double rf_scale_at(const rf_scale *s, double value);

/* A scale for an axis: its own limits, or round ones around [low, high]. */
rf_scale rf_scale_for(const rf_axis *axis, double low, double high, double from,
                      double to);

#define RF_MOST_TICKS 12
/* Round values within the scale, at most about `wanted`; returns how many. */
size_t rf_scale_ticks(const rf_scale *s, size_t wanted, double out[RF_MOST_TICKS]);
/* "0.25", "1,000" */
void rf_tick_label(rf_page *p, double value);

/* <figure> and <svg> with title and description; kind is a class for both. */
void rf_svg_begin(rf_page *p, const char *kind, const char *title,
                  const char *description, double width, double height);

/* Attribute name="value", a place with one decimal. */
void rf_svg_at(rf_page *p, const char *name, double value);
/* x y with one decimal and a letter before. */
void rf_svg_xy(rf_page *p, const char *before, double x, double y);
/* <text class= x= y=> up to its words. */
void rf_svg_text(rf_page *p, const char *attributes, double x, double y);

/* The number of a key's colour: class "k3". */
size_t rf_key_colour(size_t key);
/* The outline of shape `key` about (0, 0), some 8 units wide. */
const char *rf_shape(size_t key);
/* "k3 f": classes that give it its colour; open crosses are strokes. */
void rf_shape_class(rf_page *p, size_t key);

/* One entry of a legend: <li> with the shape and the name. As a button it brings out
 * series number `series`. */
void rf_legend_entry(rf_page *p, const char *name, size_t key, bool button,
                     size_t series);

#endif
