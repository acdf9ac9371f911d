/* model_figures.c - sections of a model's report: headline, figures, margins, map */
#include "report/model_report.h"

#include "base/plural.h"
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>

/* ---- Shares ------------------------------------------------------------------------ */

typedef struct outcome {
    size_t right, wrong, rejected; /* texts of known classes */
    size_t recognised, accepted;   /* open texts */
} outcome;

static outcome outcome_of(const rf_report *r)
{
    outcome o = {0};
    for (size_t i = 0; i < r->a.n; i++) {
        const rf_answer *a = &r->a.rows[i];
        bool open = a->truth == r->a.classes, says_open = a->answer == r->a.classes;
        o.right += !open && a->answer == a->truth;
        o.wrong += !open && !says_open && a->answer != a->truth;
        o.rejected += !open && says_open;
        o.recognised += open && says_open;
        o.accepted += open && !says_open;
    }
    return o;
}

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : NAN;
}

/* 95 % Wilson interval of a share, in per cent. */
static void interval(size_t part, size_t whole, double out[2])
{
    double z = 1.959964, n = (double)whole, p = (double)part / n;
    double middle = p + z * z / (2 * n),
           room = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    out[0] = whole ? 100 * fmax(0, (middle - room) / (1 + z * z / n)) : NAN;
    out[1] = whole ? 100 * fmin(1, (middle + room) / (1 + z * z / n)) : NAN;
}

/* "12 (34.5 %)" */
static void put_share(rf_page *p, size_t part, size_t whole)
{
    rf_page_add(p, "<b>");
    rf_page_count(p, part);
    rf_page_add(p, "</b> (");
    rf_page_number(p, percent(part, whole), 1);
    rf_page_add(p, "&nbsp;%)");
}

void rf_report_verdict(rf_report *r)
{
    rf_page *p = &r->page;
    outcome o = outcome_of(r);
    rf_page_add(p, "<p class=\"verdict\">");
    if (r->known) {
        rf_page_add(p, "Of ");
        rf_page_plural(p, r->known, "text", "texts");
        rf_page_add(p, " of known classes, ");
        put_share(p, o.right, r->known);
        rf_page_add(p, " got the right class, ");
        put_share(p, o.wrong, r->known);
        rf_page_add(p, " a wrong one, and ");
        put_share(p, o.rejected, r->known);
        rf_page_add(p, " the answer &ldquo;open&rdquo;. ");
    }
    if (r->open) {
        rf_page_add(p, "Of ");
        rf_page_plural(p, r->open, "open text", "open texts");
        rf_page_add(p, ", ");
        put_share(p, o.recognised, r->open);
        rf_page_addf(p, " %s recognised as open and ",
                     rf_plural(o.recognised, "was", "were"));
        put_share(p, o.accepted, r->open);
        rf_page_addf(p, " %s given a class.", rf_plural(o.accepted, "was", "were"));
    }
    if (!r->a.n)
        rf_page_add(p, "The test set has no texts.");
    rf_page_add(p, "</p>\n");
    if (r->a.n && !r->open)
        rf_page_add(
            p,
            "<p class=\"note\">The test set has no open texts, so this page cannot show "
            "how well the model recognises them.</p>\n");
    if (r->a.n && !r->known)
        rf_page_add(p,
                    "<p class=\"note\">The test set has no texts of known classes, so "
                    "this page cannot show how well the model tells them apart.</p>\n");
}

/* ---- Tiles and bars ---------------------------------------------------------------- */

static void put_tile(rf_page *p, const char *name, double value, int decimals,
                     const char *unit, const char *meaning)
{
    rf_page_addf(p, "<li><b>%s</b><span class=\"v\">", name);
    rf_page_number(p, value, decimals);
    rf_page_addf(p, "%s</span><p>%s</p></li>\n", isfinite(value) ? unit : "", meaning);
}

static void tile(rf_page *p, const char *name, double value, const char *meaning)
{
    put_tile(p, name, value, 1, "<small> %</small>", meaning);
}

static void put_tiles(rf_report *r, const outcome *o)
{
    rf_page *p = &r->page;
    const rf_evaluation *e = &r->a.score;
    size_t answered = o->right + o->wrong + o->accepted;
    double none = NAN, range[2];
    interval(o->right + o->recognised, r->a.n, range);
    rf_page_add(p, "<ul class=\"tiles\">\n");
    tile(p, "Accuracy", r->a.n ? e->accuracy : none,
         "Share of right answers; for open texts that is &ldquo;open&rdquo;.");
    tile(p, "F1", r->a.n ? e->f1 : none,
         "Mean over the F1 of each known class and of open, all weighted equally.");
    tile(p, "F1-known", r->known ? e->f1_known : none,
         "The same over the known classes only.");
    tile(p, "F1-open", r->open ? e->f1_open : none,
         "F1 of open: finding open texts without losing known ones.");
    tile(p, "F1-tested", r->a.n ? e->f1_tested : none,
         "As F1, but only over the classes, and open, that the test set has texts of.");
    put_tile(p, "MCC", r->a.n ? e->mcc : none, 2, "",
             "Matthews correlation of labels and answers: 1 is perfect, 0 no better than "
             "chance.");
    tile(p, "AUROC", e->auroc,
         "How often a known text has a larger margin than an open one; 50&nbsp;% is "
         "chance.");
    tile(p, "Coverage", percent(answered, r->a.n),
         "Share of texts given a class rather than &ldquo;open&rdquo;.");
    tile(p, "Right if answered", percent(o->right, answered),
         "Of the texts given a class, the share given the right one.");
    rf_page_add(p, "</ul>\n");
    if (r->a.n) {
        rf_page_add(p,
                    "<p class=\"note\">With this many texts, the 95&nbsp;% interval of "
                    "the accuracy is ");
        rf_page_number(p, range[0], 1);
        rf_page_add(p, " to ");
        rf_page_number(p, range[1], 1);
        rf_page_add(p, "&nbsp;%. F1 of a class is the harmonic mean of its precision and "
                       "recall.</p>\n");
    }
}

static void put_bars(rf_report *r, const outcome *o)
{
    const char *const all[] = {"Known texts: right class", "Known texts: wrong class",
                               "Known texts: answered open",
                               "Open texts: recognised as open",
                               "Open texts: given a class"};
    const size_t parts[] = {o->right, o->wrong, o->rejected, o->recognised, o->accepted};
    const char *names[5];
    double value[5], low[5], high[5];
    size_t n = 0;
    for (size_t i = 0; i < 5; i++) {
        size_t whole = i < 3 ? r->known : r->open;
        double range[2];
        if (!whole)
            continue;
        interval(parts[i], whole, range);
        names[n] = all[i];
        value[n] = percent(parts[i], whole);
        low[n] = range[0];
        high[n++] = range[1];
    }
    const rf_bars bars = {"share", value, low, high};
    rf_svg_bars(&r->page, &(rf_bar_chart){
                              .title = "What happened to the texts",
                              .description = "Shares of right, wrong and open "
                                             "answers with 95 % intervals; the "
                                             "text above has the numbers.",
                              .axis = {"% of these texts, 95 % interval", 0, 100, false},
                              .groups = names,
                              .n_groups = n,
                              .series = &bars,
                              .n_series = 1,
                              .decimals = 1});
}

rf_status rf_report_figures(rf_report *r, rf_error *err)
{
    (void)err;
    outcome o = outcome_of(r);
    rf_page_section(&r->page, "Figures", NULL);
    put_tiles(r, &o);
    if (r->a.n)
        put_bars(r, &o);
    rf_page_section_end(&r->page);
    return RF_OK;
}

/* ---- Margins ----------------------------------------------------------------------- */

#define BINS 40

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* A range that covers 0 and all margins but the outermost hundredth on either side, which
 * is counted in the first and last bin. */
static rf_status margin_range(const rf_report *r, double range[2], rf_error *err)
{
    double *all = malloc(r->a.n * sizeof *all);
    if (!all)
        return rf_fail_nomem(err, r->a.n * sizeof *all, "the margins of a report");
    for (size_t i = 0; i < r->a.n; i++)
        all[i] = (double)r->a.rows[i].margin;
    qsort(all, r->a.n, sizeof *all, by_value);
    double low = fmin(all[r->a.n / 100], 0),
           high = fmax(all[r->a.n - 1 - r->a.n / 100], 0);
    free(all);
    double width = high > low ? (high - low) / (BINS - 2) : 1.0 / BINS;
    /* The fence at 0 falls on an edge between bins. */
    range[0] = floor(low / width) * width;
    range[1] = range[0] + BINS * width;
    return RF_OK;
}

/* A histogram in per cent of the texts of its kind, as an outline with BINS + 2 corners.
 */
static void fill_bins(const rf_report *r, bool open, const double range[2], double *x,
                      double *y)
{
    size_t counts[BINS] = {0}, whole = open ? r->open : r->known;
    double width = (range[1] - range[0]) / BINS;
    for (size_t i = 0; i < r->a.n; i++) {
        if ((r->a.rows[i].truth == r->a.classes) != open)
            continue;
        double at = floor(((double)r->a.rows[i].margin - range[0]) / width + 1e-6);
        counts[at < 0 ? 0 : at < BINS ? (size_t)at : BINS - 1]++;
    }
    x[0] = range[0];
    y[0] = 0;
    for (size_t b = 0; b < BINS; b++) {
        x[b + 1] = range[0] + (double)b * width;
        y[b + 1] = percent(counts[b], whole);
    }
    x[BINS + 1] = range[1];
    y[BINS + 1] = 0;
}

rf_status rf_report_margins(rf_report *r, rf_error *err)
{
    double range[2] = {0, 1}, x[2][BINS + 2], y[2][BINS + 2];
    rf_line lines[2];
    size_t n = 0;
    if (!r->a.n)
        return RF_OK;
    rf_status st = margin_range(r, range, err);
    if (st != RF_OK)
        return st;
    for (size_t open = 0; open < 2; open++) {
        if (!(open ? r->open : r->known))
            continue;
        fill_bins(r, open, range, x[open], y[open]);
        lines[n++] = (rf_line){.name = open ? "open texts" : "texts of known classes",
                               .n = BINS + 2,
                               .x = x[open],
                               .y = y[open]};
    }
    rf_page_section(&r->page, "How clear the decisions are",
                    "The margin is the score that decides: at 0 and above a text is "
                    "accepted, below 0 "
                    "it is open. The further apart the two curves are, the easier the "
                    "decision; texts "
                    "on the wrong side of 0 are errors.");
    rf_svg_lines(&r->page,
                 &(rf_line_chart){.title = "Margins of known and open texts",
                                  .description = "Two histograms of the margin, with the "
                                                 "fence at 0.",
                                  .x = {"margin", range[0], range[1], false},
                                  .y = {"% of the texts of this kind", 0, 0, false},
                                  .lines = lines,
                                  .n_lines = n,
                                  .steps = true,
                                  .mark_name = "fence",
                                  .mark = 0});
    rf_page_section_end(&r->page);
    return RF_OK;
}

/* ---- The map ----------------------------------------------------------------------- */

typedef struct frequent {
    size_t class_index, count;
} frequent;

static int by_count(const void *a, const void *b)
{
    const frequent *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

/* Gives the most frequent classes a series of their own; the others share one, and open
 * texts have one. Returns the number of series. */
static size_t choose_series(const rf_report *r, frequent *order, size_t *series_of,
                            rf_map_series out[RF_KEYS + 2])
{
    size_t classes = r->a.classes, n = 0, shown = 0;
    for (size_t c = 0; c <= classes; c++)
        order[c] = (frequent){c, 0};
    for (size_t i = 0; i < r->a.n_sampled; i++)
        order[r->a.rows[r->a.sampled[i]].truth].count++;
    size_t open = order[classes].count;
    qsort(order, classes, sizeof *order, by_count);
    while (shown < classes && order[shown].count > 0)
        shown++;
    size_t own = shown <= RF_KEYS ? shown : RF_KEYS;
    for (size_t i = 0; i < classes; i++)
        series_of[order[i].class_index] = i < own ? i : own;
    for (; n < own; n++)
        out[n] = (rf_map_series){r->names[order[n].class_index], n};
    if (shown > own)
        out[n++] = (rf_map_series){"other known classes", RF_KEY_OTHER};
    series_of[classes] = n;
    if (open)
        out[n++] = (rf_map_series){"open texts", RF_KEY_OPEN};
    return n;
}

static void put_map(rf_report *r, const size_t *series_of, rf_map_mark *points,
                    const rf_map_series *series, size_t n_series)
{
    for (size_t i = 0; i < r->a.n_sampled; i++) {
        const rf_answer *a = &r->a.rows[r->a.sampled[i]];
        rf_map_mark *m = &points[i];
        *m = (rf_map_mark){.x = r->map[2 * i],
                           .y = r->map[2 * i + 1],
                           .series = series_of[a->truth],
                           .truth = a->truth,
                           .answer = a->answer,
                           .confidence = (double)a->confidence};
        m->text = rf_dataset_text(r->data, r->a.sampled[i], &m->len);
    }
    rf_svg_map(&r->page,
               &(rf_map_chart){.title = "Map of the texts",
                               .description =
                                   "Each point is a text of the test set, "
                                   "coloured by its class; open texts are crosses.",
                               .points = points,
                               .n_points = r->a.n_sampled,
                               .series = series,
                               .n_series = n_series,
                               .names = r->names,
                               .n_names = r->a.classes + 1});
}

rf_status rf_report_map(rf_report *r, rf_error *err)
{
    rf_map_series series[RF_KEYS + 2];
    frequent *order = calloc(r->a.classes + 1, sizeof *order);
    size_t *series_of = calloc(r->a.classes + 1, sizeof *series_of);
    rf_map_mark *points = calloc(r->a.n_sampled + 1, sizeof *points);
    rf_status st = RF_OK;
    if (order && series_of && points) {
        size_t n = choose_series(r, order, series_of, series);
        rf_page_section(
            &r->page, "Map of the texts",
            "Texts that the model sees as similar lie close together; distances "
            "between separate groups mean nothing. Colour and shape show the label of a "
            "text, not the answer. <span class=\"screen\">Point at a text, tap it, or "
            "use "
            "the arrow keys to read it; click a name in the legend to highlight "
            "it.</span>");
        put_map(r, series_of, points, series, n);
        if (r->a.n_sampled < r->a.n) {
            rf_page_add(&r->page, "<p class=\"note\">A random sample of ");
            rf_page_count(&r->page, r->a.n_sampled);
            rf_page_add(&r->page, " of the ");
            rf_page_count(&r->page, r->a.n);
            rf_page_add(&r->page, " texts.</p>\n");
        }
        rf_page_section_end(&r->page);
    } else
        st = rf_fail_nomem(err, r->a.n_sampled * sizeof *points, "the map of a report");
    free(order);
    free(series_of);
    free(points);
    return st;
}
