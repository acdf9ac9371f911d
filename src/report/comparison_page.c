/* comparison_page.c - rf_report_comparison: a page about two models on the same texts */
#include "base/options.h"
#include "base/plural.h"
#include "model/model.h"
#include "report/html.h"
#include "report/svg.h"
#include "ringfence_improve.h"

#include <math.h>
#include <stdlib.h>

#define MAX_CLASSES 500
#define MAX_CHANGES 200 /* of a kind */
#define SHOWN_TEXT 300  /* characters */
#define FIGURES 4

typedef struct comparing {
    rf_page page;
    const rf_comparison *c;
    const rf_dataset *data;
    const char *names[2];
} comparing;

static void put_name(rf_page *p, const char *before, const char *name)
{
    rf_page_addf(p, "%s<span class=\"t\">", before);
    rf_page_words(p, name);
    rf_page_add(p, "</span>");
}

static void put_signed(rf_page *p, double value, int decimals)
{
    rf_page_add(p, value > 0.0 ? "+" : "");
    rf_page_number(p, value, decimals);
}

/* ---- Headline ---------------------------------------------------------------------- */

/* A model's name, and the letter that stands for it in tables. */
static void put_model(comparing *w, size_t side)
{
    rf_page_addf(&w->page, "<b>%s</b> is ", side ? "B" : "A");
    put_name(&w->page, "", w->names[side]);
}

static void put_verdict(comparing *w)
{
    rf_page *p = &w->page;
    const rf_comparison *c = w->c;
    rf_page_add(p, "<p class=\"verdict\">");
    if (c->n == 0)
        rf_page_add(p, "The test set has no texts.");
    else if (!c->beyond_chance)
        rf_page_add(p, "<b>No difference beyond chance.</b> ");
    else
        rf_page_add(p, "<b>The models differ beyond chance.</b> ");
    if (c->n) {
        rf_page_add(p, "Of ");
        rf_page_plural(p, c->n, "text", "texts");
        rf_page_add(p, ", both models are right about ");
        rf_page_count(p, c->both_right);
        rf_page_add(p, ", only A about ");
        rf_page_count(p, c->n_kind[RF_CHANGE_LOST]);
        rf_page_add(p, " and only B about ");
        rf_page_count(p, c->n_kind[RF_CHANGE_GAINED]);
        rf_page_add(p, ".");
    }
    rf_page_add(p, "</p>\n<p>");
    put_model(w, 0);
    rf_page_add(p, ", ");
    put_model(w, 1);
    rf_page_add(p, ".</p>\n");
    for (size_t k = 0; k < 2; k++)
        if (c->n_one[k]) {
            rf_page_add(p, "<p class=\"note\">");
            rf_page_plural(p, c->n_one[k], "text has a label", "texts have a label");
            rf_page_addf(p, " that only %s knows; for %s %s open.</p>\n", k ? "B" : "A",
                         k ? "A" : "B", rf_plural(c->n_one[k], "it is", "they are"));
        }
}

/* ---- Figures ----------------------------------------------------------------------- */

static void put_figure(rf_page *p, const char *name, const rf_difference *d)
{
    rf_page_addf(p, "<tr><th scope=\"row\">%s</th>", name);
    for (size_t k = 0; k < 2; k++) {
        rf_page_add(p, "<td class=\"n\">");
        rf_page_number(p, d->value[k], 1);
        rf_page_add(p, "</td>");
    }
    rf_page_add(p, "<td class=\"n\">");
    put_signed(p, d->difference, 1);
    rf_page_add(p, "</td><td class=\"n\">");
    if (d->n) {
        put_signed(p, d->low, 1);
        rf_page_add(p, " to ");
        put_signed(p, d->high, 1);
    }
    rf_page_addf(p, "</td><td>%s</td></tr>\n",
                 !d->n              ? "no such texts"
                 : d->beyond_chance ? "<b>beyond chance</b>"
                                    : "may be chance");
}

static void put_figures(comparing *w)
{
    static const char *const names[FIGURES] = {"Accuracy", "F1", "Known called open",
                                               "Open let in"};
    static const rf_column columns[] = {{"figure", false},
                                        {"A, %", true},
                                        {"B, %", true},
                                        {"B &minus; A", true},
                                        {"95&nbsp;% interval", true},
                                        {"", false}};
    const rf_comparison *c = w->c;
    const rf_difference *const d[FIGURES] = {&c->accuracy, &c->f1, &c->known_rejected,
                                             &c->open_accepted};
    double value[FIGURES], low[FIGURES], high[FIGURES];
    rf_page_section(
        &w->page, "What changed",
        "Both models answered the same texts, so each text is compared with "
        "itself. The interval says how the difference would move with other "
        "texts; if it does not contain 0, chance in the choice of texts is no "
        "explanation. It does not say what another training would give.");
    rf_page_table(&w->page, "What changed", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < FIGURES; i++) {
        put_figure(&w->page, names[i], d[i]);
        value[i] = d[i]->difference;
        low[i] = d[i]->low;
        high[i] = d[i]->high;
    }
    rf_page_table_end(&w->page);
    const rf_bars bars = {"B - A", value, low, high};
    if (c->n)
        rf_svg_bars(&w->page,
                    &(rf_bar_chart){.title = "B minus A",
                                    .description = "Differences of four figures with 95 "
                                                   "% intervals; the table has the "
                                                   "numbers.",
                                    .axis = {"points of 100, 95 % interval", 0, 0, false},
                                    .groups = names,
                                    .n_groups = FIGURES,
                                    .series = &bars,
                                    .n_series = 1,
                                    .decimals = 1});
    rf_page_section_end(&w->page);
}

/* ---- Classes ----------------------------------------------------------------------- */

typedef struct ranked {
    double p, size;
    size_t at;
} ranked;

/* The surest differences first, then the largest. */
static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_class(rf_page *p, const rf_class_difference *d)
{
    bool both = d->known[0] && d->known[1];
    put_name(p, "<tr><th scope=\"row\">", d->label);
    rf_page_add(p, "</th><td class=\"n\">");
    rf_page_count(p, d->score[d->known[1]].support);
    rf_page_add(p, "</td>");
    for (size_t k = 0; k < 2; k++) {
        rf_page_add(p, "<td class=\"n\">");
        if (d->known[k])
            rf_page_number(p, d->score[k].f1, 1);
        else
            rf_page_add(p, "&ndash;");
        rf_page_add(p, "</td>");
    }
    if (!both) {
        rf_page_addf(p, "<td></td><td></td><td></td><td>only %s knows it</td></tr>\n",
                     d->known[1] ? "B" : "A");
        return;
    }
    rf_page_add(p, "<td class=\"n\">");
    put_signed(p, d->score[1].f1 - d->score[0].f1, 1);
    rf_page_addf(p, "</td><td class=\"n\">%zu</td><td class=\"n\">%zu</td><td>%s",
                 d->only_right[0], d->only_right[1],
                 d->different ? "<b>beyond chance</b>, " : "");
    if (d->class_index[0] == RF_OPEN) {
        rf_page_add(p, "see above");
    } else {
        rf_page_add(p, "p&nbsp;");
        rf_page_number(p, d->p, 3);
    }
    rf_page_add(p, "</td></tr>\n");
}

static rf_status put_classes(comparing *w, rf_error *err)
{
    static const rf_column columns[] = {{"class, surest difference first", false},
                                        {"texts", true},
                                        {"F1 of A", true},
                                        {"F1 of B", true},
                                        {"B &minus; A", true},
                                        {"right only A", true},
                                        {"only B", true},
                                        {"", false}};
    const rf_comparison *c = w->c;
    size_t n = c->n_classes, shown = n < MAX_CLASSES ? n : MAX_CLASSES;
    ranked *all = calloc(n, sizeof *all);
    if (!all)
        return rf_fail_nomem(err, n * sizeof *all, "the classes of a page");
    for (size_t i = 0; i < n; i++) {
        const rf_class_difference *d = &c->classes[i];
        all[i] = (ranked){d->p, fabs(d->score[1].f1 - d->score[0].f1), i};
    }
    qsort(all, n, sizeof *all, by_weight);
    rf_page_section(
        &w->page, "Classes",
        "Each class is tested on the texts about which one model alone is right: is it "
        "of "
        "this class or not? p is corrected for the number of classes; up to 0.05 the "
        "class differs beyond chance, both with other texts and beside the other "
        "classes, "
        "which scatter if training moved them all.");
    rf_page_table(&w->page, "Classes", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        put_class(&w->page, &c->classes[all[i].at]);
    rf_page_table_end(&w->page);
    if (shown < n)
        rf_page_addf(&w->page, "<p class=\"note\">%zu more %s not shown.</p>\n",
                     n - shown, rf_plural(n - shown, "class is", "classes are"));
    rf_page_section_end(&w->page);
    free(all);
    return RF_OK;
}

/* ---- Changes ----------------------------------------------------------------------- */

static void put_change(comparing *w, const rf_change *change)
{
    rf_page *p = &w->page;
    size_t len;
    const char *text = rf_dataset_text(w->data, change->row, &len);
    rf_page_add(p, "<tr><td class=\"w\"><span class=\"t\">");
    rf_page_text_cut(p, text, len, SHOWN_TEXT);
    rf_page_add(p, "</span></td>");
    put_name(p, "<td>",
             rf_dataset_label(w->data, rf_dataset_class(w->data, change->row), NULL));
    for (size_t k = 0; k < 2; k++)
        put_name(p, "</td><td>", rf_model_label(w->c->model[k], change->answer[k]));
    rf_page_add(p, "</td></tr>\n");
}

static void put_changes(comparing *w)
{
    static const char *const headings[RF_CHANGE_KINDS] = {"Right with A, wrong with B",
                                                          "Wrong with A, right with B",
                                                          "Wrong with both, differently"};
    static const rf_column columns[] = {{"text", false},
                                        {"label", false},
                                        {"answer of A", false},
                                        {"answer of B", false}};
    rf_page *p = &w->page;
    const rf_change *change = w->c->changes;
    rf_page_section(p, "Texts whose answer changed", NULL);
    for (size_t k = 0; k < RF_CHANGE_KINDS; k++) {
        size_t n = w->c->n_kind[k], shown = n < MAX_CHANGES ? n : MAX_CHANGES;
        rf_page_addf(p, "<h3>%s: ", headings[k]);
        rf_page_count(p, n);
        rf_page_add(p, "</h3>\n");
        if (n)
            rf_page_table(p, headings[k], columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < shown; i++)
            put_change(w, &change[i]);
        if (n)
            rf_page_table_end(p);
        if (shown < n)
            rf_page_addf(p, "<p class=\"note\">%zu more %s not shown.</p>\n", n - shown,
                         rf_plural(n - shown, "text is", "texts are"));
        change += n;
    }
    rf_page_section_end(p);
}

rf_status rf_report_comparison(const rf_comparison *c, const rf_dataset *test,
                               const char *const names[2],
                               const rf_report_options *options, const char *path,
                               rf_error *err)
{
    rf_report_options o = rf_report_options_default();
    comparing w = {
        .c = c, .data = test, .names = {names ? names[0] : "A", names ? names[1] : "B"}};
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_report_options", err);
    if (st != RF_OK)
        return st;
    rf_page_init(&w.page);
    rf_page_begin(&w.page, o.title ? o.title : "Comparison of two models",
                  "ringfence compare");
    put_verdict(&w);
    put_figures(&w);
    st = put_classes(&w, err);
    put_changes(&w);
    rf_page_add(&w.page, "<footer>Made by ringfence " RF_VERSION
                         ". This page is self-contained and makes no network requests. "
                         "It contains texts of the test set.</footer>\n");
    rf_page_end(&w.page);
    if (st == RF_OK)
        st = rf_page_write(&w.page, path, err);
    rf_page_release(&w.page);
    return st;
}
