/* model_figures.c - the report's figures: what happened, how clearly, and where */
#include "report/model_report.h"

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

/* Wilson's interval of 95 % for a share, in per cent. */
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
        rf_page_count(p, r->known);
        rf_page_addf(p, " text%s of the model&#39;s classes, ", r->known == 1 ? "" : "s");
        put_share(p, o.right, r->known);
        rf_page_add(p, " got the right class, ");
        put_share(p, o.wrong, r->known);
        rf_page_add(p, " a wrong one, and ");
        put_share(p, o.rejected, r->known);
        rf_page_add(p, " the answer &ldquo;open&rdquo;. ");
    }
    if (r->open) {
        rf_page_add(p, "Of ");
        rf_page_count(p, r->open);
        rf_page_addf(p, " text%s of none of these classes, ", r->open == 1 ? "" : "s");
        put_share(p, o.recognised, r->open);
        rf_page_add(p, " were recognised as open and ");
        put_share(p, o.accepted, r->open);
        rf_page_add(p, " were taken for a class.");
    }
    if (!r->a.n)
        rf_page_add(p, "The test set has no texts.");
    rf_page_add(p, "</p>\n");
    if (r->a.n && !r->open)
        rf_page_add(
            p, "<p class=\"note\">The test set has no open text, so nothing here says "
               "how well the model recognises them.</p>\n");
    if (r->a.n && !r->known)
        rf_page_add(p, "<p class=\"note\">The test set has no text of a known class, so "
                       "nothing here says how well the model tells them apart.</p>\n");
}

/* ---- Tiles and bars ---------------------------------------------------------------- */

static void tile(rf_page *p, const char *name, double value, const char *meaning)
{
    rf_page_addf(p, "<li><b>%s</b><span class=\"v\">", name);
    rf_page_number(p, value, 1);
    rf_page_addf(p, "%s</span><p>%s</p></li>\n",
                 isfinite(value) ? "<small> %</small>" : "", meaning);
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
         "Texts with the right answer, which for open texts is &ldquo;open&rdquo;.");
    tile(p, "F1", r->a.n ? e->f1 : none,
         "Mean of the F1 of every class and of open; each counts the same, however many "
         "texts it has.");
    tile(p, "F1-known", r->known ? e->f1_known : none,
         "The same over the known classes alone.");
    tile(p, "F1-open", r->open ? e->f1_open : none,
         "How well open texts are found without losing known ones.");
    tile(p, "Coverage", percent(answered, r->a.n),
         "Texts that got a class rather than &ldquo;open&rdquo;.");
    tile(p, "Right if answered", percent(o->right, answered),
         "Of the texts that got a class, those that got the right one.");
    rf_page_add(p, "</ul>\n");
    if (r->a.n) {
        rf_page_add(p, "<p class=\"note\">With this many texts the accuracy is known to "
                       "within ");
        rf_page_number(p, range[0], 1);
        rf_page_add(p, " to ");
        rf_page_number(p, range[1], 1);
        rf_page_add(
            p, "&nbsp;% (95&nbsp;% interval). F1 of a class is the harmonic mean of its "
               "precision and its recall.</p>\n");
    }
}

static void put_bars(rf_report *r, const outcome *o)
{
    const char *const all[] = {
        "Texts of known classes: right class", "Texts of known classes: wrong class",
        "Texts of known classes: answered open", "Open texts: recognised as open",
        "Open texts: taken for a class"};
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
                                             "numbers stand in the text above.",
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

/* A range that holds 0 and all margins but the outermost hundredth on either side, which
 * count in the first and last bin. */
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
    /* The fence is an edge of a bin: no bar stands on both sides of it. */
    range[0] = floor(low / width) * width;
    range[1] = range[0] + BINS * width;
    return RF_OK;
}

/* In per cent of the texts of its kind, as an outline: BINS + 2 corners. */
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
    rf_page_section(
        &r->page, "How clear the answers are",
        "The margin is the output of the fence that decides. At 0 and above "
        "a text is accepted, below it is open. The further apart the two curves, "
        "the easier the decision; what lies on the wrong side of 0 is an error.");
    rf_svg_lines(&r->page, &(rf_line_chart){
                               .title = "Margins of known and open texts",
                               .description = "Two histograms over the margin, the fence "
                                              "at 0 between them.",
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

/* The series of each class of the model and of open: the most frequent classes have their
 * own. Returns how many series there are. */
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
            "Texts that the model sees as alike lie near each other. Colour and "
            "shape are the label of a text, not the answer. Distances between "
            "far groups mean nothing. <span class=\"screen\">Point at a text, tap "
            "it, or walk with the arrow keys to read it; the legend brings out "
            "one class.</span>");
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
