/* page_provenance.c - how long the runs took, and how to repeat them */
#include "lab/lab_page.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Times ------------------------------------------------------------------------- */

static double mean_seconds(const rf_lab *lab, const rf_place *place, size_t stage)
{
    size_t n = 0;
    for (size_t i = 0; i < lab->n; i++) {
        const rf_run *run = &lab->runs[i];
        const double seconds[] = {run->seconds.encode, run->seconds.known,
                                  run->seconds.open, run->seconds.test};
        if (rf_lab_matches(run, place))
            lab->values[0][n++] = seconds[stage];
    }
    return rf_summarize(lab->values[0], n).mean;
}

static void put_seconds(rf_page *p, double seconds)
{
    rf_page_add(p, "<td class=\"n\">");
    rf_page_number(p, seconds, seconds < 10 ? 2 : seconds < 100 ? 1 : 0);
    rf_page_add(p, "</td>");
}

static void put_stages(rf_lab_page *r, const char *set)
{
    rf_page *p = &r->page;
    rf_place place = {set, 0, "ans", ""};
    size_t n;
    double *ratios = rf_lab_ratios(&r->lab, &place, &n);
    for (size_t i = 0; ratios && i < n; i++) {
        place.ratio = ratios[i];
        rf_page_add(p, "<tr><th scope=\"row\">");
        rf_lab_name(p, set);
        rf_page_add(p, "</th><td class=\"n\">");
        rf_lab_percent(p, ratios[i]);
        rf_page_add(p, "</td><td class=\"n soft\">");
        rf_page_count(p, rf_lab_count(&r->lab, &place));
        rf_page_add(p, "</td>");
        for (size_t k = 0; k < 4; k++)
            put_seconds(p, mean_seconds(&r->lab, &place, k));
        rf_page_add(p, "</tr>\n");
    }
    free(ratios);
}

static void put_method_times(rf_lab_page *r)
{
    rf_page *p = &r->page;
    rf_names methods;
    size_t shown = 0;
    rf_lab_names(&r->lab, &methods, RF_METHODS, &(rf_place){.variant = ""}, NULL);
    if (methods.n > 1) {
        rf_page_add(p,
                    "<p class=\"note\">Stage 2 of each method, mean over all its runs: ");
        for (size_t i = 0; i < methods.n; i++) {
            rf_place place = {.method = methods.item[i], .variant = ""};
            double seconds = mean_seconds(&r->lab, &place, 2);
            rf_page_add(p, shown++ ? ", " : "");
            rf_lab_name(p, methods.item[i]);
            rf_page_add(p, "&nbsp;");
            if (seconds < 0.05)
                rf_page_add(p, "&lt;0.1");
            else
                rf_page_number(p, seconds, seconds < 10 ? 1 : 0);
        }
        rf_page_add(p, " seconds. Methods with their own objective spend most time in "
                       "stage 1.</p>\n");
    }
    free(methods.item);
}

void rf_lab_times(rf_lab_page *r)
{
    static const rf_column columns[] = {
        {"set", false},    {"known", true},   {"n", true},   {"frozen layers", true},
        {"stage 1", true}, {"stage 2", true}, {"test", true}};
    rf_names sets;
    rf_lab_names(&r->lab, &sets, RF_SETS, &(rf_place){.method = "ans", .variant = ""},
                 NULL);
    if (sets.n) {
        rf_lab_section(
            r, "Times of ANS",
            "Seconds, mean over n runs. The frozen layers are computed once per set; "
            "stage "
            "1, which learns the known classes, once for all methods that share it; "
            "stage "
            "2 trains the heads; test classifies all test texts, given their features.");
        rf_page_table(&r->page, "Times", columns, 7);
        for (size_t i = 0; i < sets.n; i++)
            put_stages(r, sets.item[i]);
        rf_page_table_end(&r->page);
        put_method_times(r);
        rf_page_section_end(&r->page);
    }
    free(sets.item);
}

/* ---- How to repeat the runs ---------------------------------------------------------
 */

/* The distinct strings at an offset of rf_run: "0.1.0, 0.2.0". */
static void put_distinct(rf_lab_page *r, const char *name, size_t offset)
{
    size_t shown = 0;
    rf_page_addf(&r->page, "<dt>%s</dt><dd>", name);
    for (size_t i = 0; i < r->n; i++) {
        const char *text = (const char *)&r->runs[i] + offset;
        bool repeated = false;
        for (size_t k = 0; k < i && !repeated; k++)
            repeated = strcmp((const char *)&r->runs[k] + offset, text) == 0;
        if (repeated)
            continue;
        rf_page_add(&r->page, shown++ ? ", " : "");
        rf_lab_name(&r->page, text[0] ? text : "unknown");
    }
    rf_page_add(&r->page, "</dd>\n");
}

void rf_lab_provenance(rf_lab_page *r)
{
    rf_page *p = &r->page;
    rf_page_section(p, "How to repeat this", NULL);
    rf_page_add(
        p, "<p>Run <code>ringfence lab run --data DATA --out OUT</code> with the sets, "
           "ratios, seeds, methods and encoders listed under &ldquo;What was run&rdquo;, "
           "and "
           "with <code>--variants</code> for the settings that were varied; then "
           "<code>ringfence lab report OUT --data DATA -o FILE</code>. DATA is the "
           "directory of the sets. All settings of a run are in its line of "
           "<code>OUT/runs.jsonl</code>.</p>\n<dl>\n");
    put_distinct(r, "ringfence", offsetof(rf_run, version));
    put_distinct(r, "kernels", offsetof(rf_run, kernels));
    rf_page_add(p, "</dl>\n");
    rf_page_section_end(p);
}
