/* model_reliability.c - the report's section on confidence: is it calibrated? */
#include "report/model_report.h"

#include "model/model.h"
#include "report/svg.h"

/* The mean confidence and the share of right answers over all bins, in per cent. */
static void overall(const rf_evaluation *e, double *confidence, double *right)
{
    double n = 0.0;
    *confidence = *right = 0.0;
    for (size_t i = 0; i < RF_RELIABILITY_BINS; i++) {
        const rf_reliability_bin *b = &e->reliability[i];
        n += (double)b->count;
        *confidence += (double)b->count * b->confidence;
        *right += (double)b->count * b->right;
    }
    *confidence /= n;
    *right /= n;
}

static void put_calibration_error(rf_report *r)
{
    rf_page *p = &r->page;
    double confidence, right;
    overall(&r->a.score, &confidence, &right);
    rf_page_add(p, "<p>The expected calibration error is <b>");
    rf_page_number(p, r->a.score.calibration_error, 1);
    rf_page_add(p, "&nbsp;%</b>: the average gap between the confidence and the share of "
                   "right answers. Over all answers the mean confidence was ");
    rf_page_number(p, confidence, 1);
    rf_page_add(p, "&nbsp;%, and ");
    rf_page_number(p, right, 1);
    rf_page_add(p, "&nbsp;% of them were right.</p>\n");
    if (r->model->calibration.from == RF_CALIBRATION_FROM_NOTHING) {
        rf_page_add(p, "<p class=\"note\">This model was not calibrated: use its "
                       "confidence only to rank answers.</p>\n");
        return;
    }
    rf_page_add(
        p, "<p class=\"note\">The confidence is calibrated for a stream in which half "
           "of the texts are open; in this test set ");
    rf_page_number(p, 100.0 * (double)r->open / (double)r->a.n, 1);
    rf_page_add(p, "&nbsp;% are.</p>\n");
}

/* The promise about one kind of error: "accept", "accepted", "open". */
typedef struct claim {
    const char *verb, *past, *texts;
    double most, expected, low, high; /* most 0: no limit */
    size_t hits, n;
} claim;

static void put_share(rf_page *p, const char *before, double share)
{
    rf_page_add(p, before);
    rf_page_number(p, 100.0 * share, 2);
}

static void put_claim(rf_page *p, const claim *c)
{
    rf_page_add(p, "<p class=\"promise\">");
    if (c->most > 0.0) {
        rf_page_addf(p, "The model was trained to %s at most ", c->verb);
        put_share(p, "", c->most);
        rf_page_addf(p, "&nbsp;%% of %s texts. ", c->texts);
    }
    rf_page_addf(p, "It was expected to %s ", c->verb);
    put_share(p, "", c->expected);
    rf_page_addf(p, "&nbsp;%% of %s%s (95&nbsp;%% interval ",
                 c->most > 0.0 ? "them" : c->texts, c->most > 0.0 ? "" : " texts");
    put_share(p, "", c->low);
    put_share(p, " to ", c->high);
    if (!c->n) {
        rf_page_add(p,
                    "&nbsp;%). This test set has no such texts to check it with.</p>\n");
        return;
    }
    double share = (double)c->hits / (double)c->n;
    rf_page_addf(p, "&nbsp;%%). Here it %s ", c->past);
    put_share(p, "<b>", share);
    rf_page_add(p, "&nbsp;%</b> (");
    rf_page_count(p, c->hits);
    rf_page_add(p, " of ");
    rf_page_count(p, c->n);
    rf_page_addf(p, "), which is %s that interval.</p>\n",
                 share < c->low    ? "below"
                 : share > c->high ? "above"
                                   : "within");
}

static void put_promise(rf_report *r)
{
    const rf_evaluation *e = &r->a.score;
    const rf_class_score *open = &e->scores[e->classes];
    rf_promise p;
    if (!rf_model_promise(r->model, &p))
        return;
    put_claim(&r->page, &(claim){"accept", "accepted", "open", p.max_accept,
                                 p.expected_accept, p.accept_low, p.accept_high,
                                 rf_evaluation_accepted(e), e->n_open});
    if (p.tells_reject)
        put_claim(&r->page, &(claim){"reject", "rejected", "known", p.max_reject,
                                     p.expected_reject, p.reject_low, p.reject_high,
                                     open->predicted - open->correct, e->n - e->n_open});
}

static void put_table(rf_report *r)
{
    rf_page *p = &r->page;
    static const rf_column columns[] = {{"confidence, %", false},
                                        {"answers", true},
                                        {"mean confidence, %", true},
                                        {"right, %", true}};
    rf_page_add(p, "<details>\n<summary>The numbers</summary>\n");
    rf_page_table(p, "Confidence and right answers", columns, 4);
    for (size_t i = 0; i < RF_RELIABILITY_BINS; i++) {
        const rf_reliability_bin *b = &r->a.score.reliability[i];
        size_t step = 100 / RF_RELIABILITY_BINS;
        rf_page_addf(p, "<tr><th scope=\"row\">%zu to %zu</th><td class=\"n\">", i * step,
                     (i + 1) * step);
        rf_page_count(p, b->count);
        for (size_t k = 0; k < 2; k++) {
            rf_page_add(p, "</td><td class=\"n\">");
            if (b->count)
                rf_page_number(p, k ? b->right : b->confidence, 1);
            else
                rf_page_add(p, "&ndash;");
        }
        rf_page_add(p, "</td></tr>\n");
    }
    rf_page_table_end(p);
    rf_page_add(p, "</details>\n");
}

rf_status rf_report_reliability(rf_report *r, rf_error *err)
{
    (void)err;
    double right[RF_RELIABILITY_BINS];
    size_t count[RF_RELIABILITY_BINS];
    if (!r->a.n)
        return RF_OK;
    for (size_t i = 0; i < RF_RELIABILITY_BINS; i++) {
        right[i] = r->a.score.reliability[i].right;
        count[i] = r->a.score.reliability[i].count;
    }
    rf_page_section(
        &r->page, "How reliable the confidence is",
        "Of the answers with a confidence of about 80&nbsp;%, about 80&nbsp;% should be "
        "right: then the bars end on the dashed line. A bar that ends below it means "
        "overconfident answers. The number above a bar is its count of answers; a bar "
        "with few answers says little.");
    rf_svg_reliability(
        &r->page, &(rf_reliability_chart){
                      .title = "Confidence and right answers",
                      .description = "A bar for each tenth of confidence: the share of "
                                     "its answers that was right. The table below has "
                                     "the numbers.",
                      .right = right,
                      .count = count,
                      .n_bins = RF_RELIABILITY_BINS});
    put_calibration_error(r);
    put_promise(r);
    put_table(r);
    rf_page_section_end(&r->page);
    return RF_OK;
}
