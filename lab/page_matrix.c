/* page_matrix.c - accuracy and F1 by method and ratio, laid out as in papers */
#include "lab/lab_page.h"

#include <math.h>

static const rf_metric shown[2] = {RF_ACCURACY, RF_F1};

static rf_place place_of(const rf_matrix *m, size_t row, size_t ratio)
{
    return (rf_place){m->set, m->ratios[ratio], m->rows[row].method,
                      m->rows[row].variant};
}

/* The best mean of a column in printed precision; negative if it has no rival. */
static double best_of(const rf_lab *lab, const rf_matrix *m, size_t ratio,
                      rf_metric metric)
{
    double best = -1;
    size_t rivals = 0;
    for (size_t i = 0; m->mark_best && i < m->n_rows; i++) {
        rf_place place = place_of(m, i, ratio);
        rf_record mean = rf_lab_mean(lab, &place, metric);
        rivals += mean.n > 0;
        if (mean.n > 0)
            best = fmax(best, round(100 * mean.value));
    }
    return rivals > 1 ? best : -1;
}

static void put_head(rf_page *p, const rf_matrix *m)
{
    rf_page_addf(p,
                 "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
                 "aria-label=\"%s\">\n<table>\n<thead><tr><td></td>",
                 m->label);
    for (size_t i = 0; i < m->n_ratios; i++) {
        rf_page_add(p, "<th scope=\"colgroup\" colspan=\"2\" class=\"n\">");
        rf_lab_percent(p, m->ratios[i]);
        rf_page_add(p, " known</th>");
    }
    rf_page_addf(p, "</tr>\n<tr><th scope=\"col\">%s</th>", m->what);
    for (size_t i = 0; i < m->n_ratios; i++)
        rf_page_add(p, "<th scope=\"col\" class=\"n\">Accuracy</th><th scope=\"col\" "
                       "class=\"n\">F1</th>");
    rf_page_add(p, "</tr></thead>\n<tbody>\n");
}

static void put_measured(rf_page *p, const rf_lab *lab, const rf_matrix *m, size_t row)
{
    rf_page_add(p, "<tr><th scope=\"row\">");
    rf_lab_name(p, m->rows[row].name);
    rf_page_add(p, "</th>");
    for (size_t i = 0; i < m->n_ratios; i++)
        for (size_t k = 0; k < 2; k++) {
            rf_place place = place_of(m, row, i);
            rf_record mean = rf_lab_mean(lab, &place, shown[k]);
            double best = best_of(lab, m, i, shown[k]);
            rf_lab_cell(p, mean.n > 0, mean.value,
                        best >= 0 && round(100 * mean.value) == best);
        }
    rf_page_add(p, "</tr>\n");
}

/* Returns whether there were any. */
static bool put_published(rf_page *p, const rf_lab *lab, const rf_matrix *m, size_t row)
{
    const char *source = m->rows[row].source;
    bool any = false;
    for (size_t i = 0; source && i < m->n_ratios; i++) {
        rf_place place = place_of(m, row, i);
        any |= rf_lab_published(lab, source, &place, rf_metric_name(RF_F1)) != NULL;
    }
    if (!any)
        return false;
    rf_page_add(p, "<tr class=\"soft\"><th scope=\"row\">");
    rf_lab_name(p, m->rows[row].name);
    rf_page_add(p, ", paper</th>");
    for (size_t i = 0; i < m->n_ratios; i++)
        for (size_t k = 0; k < 2; k++) {
            rf_place place = place_of(m, row, i);
            const rf_published *q =
                rf_lab_published(lab, source, &place, rf_metric_name(shown[k]));
            rf_lab_soft_cell(p, q != NULL, q ? q->value : 0);
        }
    rf_page_add(p, "</tr>\n");
    return true;
}

bool rf_lab_matrix(rf_lab_page *r, const rf_matrix *m)
{
    rf_page *p = &r->page;
    bool published = false;
    put_head(p, m);
    for (size_t row = 0; row < m->n_rows; row++) {
        size_t runs = 0;
        for (size_t i = 0; i < m->n_ratios; i++) {
            rf_place place = place_of(m, row, i);
            runs += rf_lab_count(&r->lab, &place);
        }
        if (runs)
            put_measured(p, &r->lab, m, row);
        published |= put_published(p, &r->lab, m, row);
    }
    rf_page_table_end(p);
    return published;
}
