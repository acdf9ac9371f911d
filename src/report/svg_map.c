/*
 * svg_map.c - a map of points
 *
 * The points of a series are the vertices of one invisible path with a marker at each,
 * which takes eight bytes per point. The script reads positions from the paths and
 * tooltips from a JSON object that lists the points in the same order.
 */
#include "report/svg_parts.h"

#include <math.h>

#define WIDTH 1200.0
#define MAX_HEIGHT 1100.0
#define MIN_HEIGHT 500.0
#define EDGE 24.0
#define SHOWN_TEXT 240 /* characters of a text */

typedef struct view {
    const rf_map_chart *c;
    size_t id;
    double left, top, scale; /* x on screen = left + scale (x - x0); y goes down */
    double x0, y0, height;
    double clip[4]; /* in data units: x0 x1 y0 y1 */
} view;

static bool shown(const view *v, const rf_map_mark *m)
{
    return isfinite(m->x) && isfinite(m->y) && m->series < v->c->n_series &&
           m->x >= v->clip[0] && m->x <= v->clip[1] && m->y >= v->clip[2] &&
           m->y <= v->clip[3];
}

static view view_for(const rf_map_chart *c)
{
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    for (size_t i = 0; i < c->n_points; i++)
        if (isfinite(c->points[i].x) && isfinite(c->points[i].y)) {
            x[0] = fmin(x[0], c->points[i].x);
            x[1] = fmax(x[1], c->points[i].x);
            y[0] = fmin(y[0], c->points[i].y);
            y[1] = fmax(y[1], c->points[i].y);
        }
    if (!(x[0] <= x[1]))
        x[0] = x[1] = y[0] = y[1] = 0;
    double w = x[1] - x[0], h = y[1] - y[0], inner = WIDTH - 2 * EDGE;
    double scale = w > 0 ? inner / w : h > 0 ? INFINITY : 1;
    if (h > 0)
        scale = fmin(scale, (MAX_HEIGHT - 2 * EDGE) / h);
    double height = fmax(h * scale + 2 * EDGE, MIN_HEIGHT);
    return (view){.c = c,
                  .left = (WIDTH - w * scale) / 2,
                  .top = (height - h * scale) / 2,
                  .scale = scale,
                  .x0 = x[0],
                  .y0 = y[0],
                  .height = height,
                  .clip = {x[0], x[1], y[0], y[1]}};
}

/* Fewer points are larger. */
static double point_size(size_t n)
{
    return n <= 600 ? 2.0 : n <= 2000 ? 1.6 : n <= 5000 ? 1.2 : 1.0;
}

static void put_markers(rf_page *p, const view *v)
{
    rf_page_add(p, "<defs>\n");
    for (size_t s = 0; s < v->c->n_series; s++) {
        rf_page_addf(p,
                     "<marker id=\"m%zu_%zu\" markerUnits=\"userSpaceOnUse\" "
                     "overflow=\"visible\"><g class=\"z\"><path ",
                     v->id, s);
        rf_shape_class(p, v->c->series[s].key);
        rf_page_add(p, " transform=\"scale(");
        rf_page_short(p, point_size(v->c->n_points), 2);
        rf_page_addf(p, ")\" d=\"%s\"/></g></marker>\n", rf_shape(v->c->series[s].key));
    }
    rf_page_add(p, "</defs>\n");
}

static void put_series(rf_page *p, const view *v, size_t s, const char *kind)
{
    const char *before = "M";
    size_t n = 0;
    for (size_t i = 0; i < v->c->n_points; i++)
        n += v->c->points[i].series == s && shown(v, &v->c->points[i]);
    if (n == 0)
        return;
    rf_page_addf(p,
                 "<path class=\"%s\" data-s=\"%zu\" marker-start=\"url(#m%zu_%zu)\" "
                 "marker-mid=\"url(#m%zu_%zu)\" marker-end=\"url(#m%zu_%zu)\" d=\"",
                 kind, s, v->id, s, v->id, s, v->id, s);
    for (size_t i = 0; i < v->c->n_points; i++) {
        const rf_map_mark *m = &v->c->points[i];
        if (m->series != s || !shown(v, m))
            continue;
        rf_page_add(p, before);
        rf_page_short(p, v->left + v->scale * (m->x - v->x0), 0);
        rf_page_add(p, " ");
        rf_page_short(p, v->top + v->scale * (m->y - v->y0), 0);
        before = "L";
    }
    rf_page_add(p, "h0\"/>\n"); /* a path needs two vertices */
}

static void put_inset(rf_page *p, const view *whole)
{
    const rf_inset *in = whole->c->inset;
    if (!in || !(in->x0 < in->x1) || !(in->y0 < in->y1))
        return;
    double w = in->width * WIDTH, h = in->height * whole->height;
    double left = in->left * WIDTH, top = in->top * whole->height;
    view v = *whole;
    v.scale = fmin(w / (in->x1 - in->x0), h / (in->y1 - in->y0));
    v.x0 = in->x0;
    v.y0 = in->y0;
    v.left = left + (w - v.scale * (in->x1 - in->x0)) / 2;
    v.top = top + (h - v.scale * (in->y1 - in->y0)) / 2;
    v.clip[0] = in->x0;
    v.clip[1] = in->x1;
    v.clip[2] = in->y0;
    v.clip[3] = in->y1;
    rf_page_add(p, "<rect class=\"zoomed\"");
    rf_svg_at(p, "x", whole->left + whole->scale * (in->x0 - whole->x0));
    rf_svg_at(p, "y", whole->top + whole->scale * (in->y0 - whole->y0));
    rf_svg_at(p, "width", whole->scale * (in->x1 - in->x0));
    rf_svg_at(p, "height", whole->scale * (in->y1 - in->y0));
    rf_page_add(p, "/>\n<rect class=\"frame\"");
    rf_svg_at(p, "x", left);
    rf_svg_at(p, "y", top);
    rf_svg_at(p, "width", w);
    rf_svg_at(p, "height", h);
    rf_page_add(p, "/>\n");
    for (size_t s = 0; s < v.c->n_series; s++)
        put_series(p, &v, s, "ptz");
}

/* ---- Tooltips ---------------------------------------------------------------------- */

static void put_name(rf_page *p, size_t name, size_t n)
{
    if (name < n)
        rf_page_addf(p, ",%zu", name);
    else
        rf_page_add(p, ",-1");
}

static void put_data(rf_page *p, const view *v)
{
    const rf_map_chart *c = v->c;
    const char *before = "";
    rf_page_add(p, "<script type=\"application/json\">{\"truth\":\"label\",\"answer\":"
                   "\"answer\",\"confidence\":\"confidence\",\"names\":[");
    for (size_t i = 0; i < c->n_names; i++) {
        size_t len = 0;
        while (c->names[i][len])
            len++;
        rf_page_add(p, i ? "," : "");
        rf_page_json(p, c->names[i], len, SIZE_MAX);
    }
    rf_page_add(p, "],\n\"points\":[\n");
    for (size_t s = 0; s < c->n_series; s++)
        for (size_t i = 0; i < c->n_points; i++) {
            const rf_map_mark *m = &c->points[i];
            if (m->series != s || !shown(v, m))
                continue;
            rf_page_addf(p, "%s[", before);
            rf_page_json(p, m->text, m->len, SHOWN_TEXT);
            put_name(p, m->truth, c->n_names);
            put_name(p, m->answer, c->n_names);
            rf_page_add(p, ",");
            if (m->confidence >= 0)
                rf_page_number(p, 100 * m->confidence, 0);
            else
                rf_page_add(p, "-1");
            rf_page_add(p, "]");
            before = ",\n";
        }
    rf_page_add(p, "]}</script>\n");
}

void rf_svg_map(rf_page *p, const rf_map_chart *c)
{
    view v = view_for(c);
    v.id = rf_page_id(p);
    rf_page_add(p, "<figure class=\"map\">\n<ul class=\"legend\">\n");
    for (size_t s = 0; s < c->n_series; s++)
        rf_legend_entry(p, c->series[s].name, c->series[s].key, true, s);
    rf_page_add(p, "</ul>\n<div class=\"plot\" tabindex=\"0\" role=\"application\" "
                   "aria-label=\"");
    rf_page_words(p, c->title);
    rf_page_add(p, ". Use the arrow keys to move from point to point.\">\n");
    rf_svg_begin(p, "points", c->title, c->description, WIDTH, v.height);
    put_markers(p, &v);
    for (size_t s = 0; s < c->n_series; s++)
        put_series(p, &v, s, "pts");
    put_inset(p, &v);
    rf_page_add(p, "<circle class=\"here\" r=\"13\"/>\n</svg>\n</div>\n"
                   "<div class=\"tip\" role=\"status\"></div>\n");
    put_data(p, &v);
    rf_page_add(p, "</figure>\n");
}
