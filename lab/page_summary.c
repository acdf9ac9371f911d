/* page_summary.c - the lab page's headline and what was run */
#include "lab/lab_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The headline ------------------------------------------------------------------ */

/* The strongest other method: the one ans leads by least, among those that share at least
 * half as many experiments with ans as any method does. NULL if there is none. */
static const char *best_other(const rf_lab *lab, rf_metric metric, rf_paired *out)
{
    rf_names methods;
    const char *best = NULL;
    size_t most = 0;
    rf_lab_names(lab, &methods, RF_METHODS, &(rf_place){.variant = ""}, NULL);
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < methods.n; i++) {
            rf_place place = {.method = methods.item[i], .variant = ""};
            if (strcmp(place.method, "ans") == 0)
                continue;
            rf_paired c = rf_lab_compare(lab, &place, metric);
            if (pass == 0 && c.difference.n > most)
                most = c.difference.n;
            if (pass == 0 || c.difference.n == 0 || 2 * c.difference.n < most)
                continue;
            if (!best || c.difference.mean < out->difference.mean) {
                best = place.method;
                *out = c;
            }
        }
    free(methods.item);
    return best;
}

static void put_interval(rf_page *p, const rf_summary *d)
{
    if (d->n < 2)
        return;
    rf_page_add(p, " (95&nbsp;% interval ");
    rf_lab_signed(p, d->low, 1);
    rf_page_add(p, " to ");
    rf_lab_signed(p, d->high, 1);
    rf_page_add(p, ")");
}

/* "2.1 points above that of adb" */
static void put_difference(rf_page *p, const char *other, const rf_summary *d)
{
    if (fabs(d->mean) < 0.05)
        rf_page_add(p, "equal to");
    else {
        rf_page_add(p, "<b>");
        rf_page_number(p, fabs(d->mean), 1);
        rf_page_addf(p, "&nbsp;points %s</b>", d->mean > 0 ? "above" : "below");
    }
    rf_page_add(p, " that of ");
    rf_lab_name(p, other);
}

static const char *meaning_of(const rf_summary *d)
{
    if (d->n < 2)
        return "A single experiment cannot show whether that is more than chance.";
    if (d->low > 0)
        return "The interval is above 0: for random draws of known classes like these, "
               "ANS is better.";
    if (d->high < 0)
        return "The interval is below 0: for random draws of known classes like these, "
               "ANS is worse.";
    return "The interval contains 0: these runs do not show which of the two is better.";
}

/* The number of cells (set and ratio) where ans has the highest mean F1; *cells: all
 * cells where others were run too. */
static size_t count_best(const rf_lab *lab, size_t *cells)
{
    rf_names sets, methods;
    size_t wins = 0;
    *cells = 0;
    rf_lab_names(lab, &sets, RF_SETS, &(rf_place){.method = "ans", .variant = ""}, NULL);
    for (size_t s = 0; s < sets.n; s++) {
        rf_place place = {sets.item[s], 0, "ans", ""};
        size_t n;
        double *ratios = rf_lab_ratios(lab, &place, &n);
        for (size_t i = 0; ratios && i < n; i++) {
            double best = -1;
            place.ratio = ratios[i];
            place.method = NULL;
            rf_lab_names(lab, &methods, RF_METHODS, &place, NULL);
            for (size_t m = 0; m < methods.n; m++) {
                place.method = methods.item[m];
                if (strcmp(place.method, "ans") != 0)
                    best = fmax(best, rf_lab_mean(lab, &place, RF_F1).value);
            }
            free(methods.item);
            place.method = "ans";
            *cells += best >= 0;
            wins += best >= 0 && rf_lab_mean(lab, &place, RF_F1).value > best;
        }
        free(ratios);
    }
    free(sets.item);
    return wins;
}

static void put_comparison(rf_lab_page *r, const char *other, const rf_paired *f1)
{
    rf_page *p = &r->page;
    rf_paired accuracy;
    rf_page_add(p, r->many ? "the F1 of <b>ANS</b> is " : "The F1 of <b>ANS</b> is ");
    put_difference(p, other, &f1->difference);
    rf_page_add(p, ", the best other method, over ");
    rf_page_plural(p, f1->difference.n, "experiment", "experiments");
    rf_page_add(p, " that both did");
    put_interval(p, &f1->difference);
    rf_page_addf(p, ". %s", meaning_of(&f1->difference));
    const char *second = best_other(&r->lab, RF_ACCURACY, &accuracy);
    if (second) {
        rf_page_add(p, " Its accuracy is ");
        put_difference(p, second, &accuracy.difference);
        if (strcmp(second, other) != 0)
            rf_page_add(p, ", the best other method by accuracy");
        put_interval(p, &accuracy.difference);
        rf_page_add(p, ".");
    }
    size_t cells, wins = count_best(&r->lab, &cells);
    if (cells > 1)
        rf_page_addf(p,
                     " ANS has the highest mean F1 in %zu of %zu combinations of set "
                     "and share of known classes.",
                     wins, cells);
}

void rf_lab_headline(rf_lab_page *r)
{
    rf_page *p = &r->page;
    rf_paired f1;
    const char *other = best_other(&r->lab, RF_F1, &f1);
    rf_place plain = {.method = "ans", .variant = ""};
    rf_page_add(p, "<p class=\"verdict\">");
    if (r->many) {
        rf_page_add(p, "With encoder ");
        rf_lab_name(p, r->lab.encoder);
        rf_page_add(p, ", ");
    }
    if (other)
        put_comparison(r, other, &f1);
    else if (rf_lab_count(&r->lab, &plain)) {
        rf_page_add(p, "ANS has a mean accuracy of <b>");
        rf_page_number(p, rf_lab_mean(&r->lab, &plain, RF_ACCURACY).value, 1);
        rf_page_add(p, "&nbsp;%</b> and a mean F1 of <b>");
        rf_page_number(p, rf_lab_mean(&r->lab, &plain, RF_F1).value, 1);
        rf_page_add(p, "&nbsp;%</b> over ");
        rf_page_plural(p, rf_lab_count(&r->lab, &plain), "run", "runs");
        rf_page_add(p, ". No other method was run on the same experiments.");
    } else
        rf_page_add(p, r->many ? "there is no run of ANS with default settings to "
                                 "compare with."
                               : "There is no run of ANS with default settings to "
                                 "compare with.");
    rf_page_add(p, "</p>\n");
}

/* ---- What was run ------------------------------------------------------------------ */

/* "sets  banking, oos", in the order of the tables. */
static void put_names(rf_lab_page *r, const rf_lab *all, const char *one,
                      const char *many, rf_name_kind kind)
{
    rf_page *p = &r->page;
    rf_names names;
    rf_lab_names(all, &names, kind, &(rf_place){0}, NULL);
    rf_page_addf(p, "<dt>%s</dt><dd>", names.n == 1 ? one : many);
    for (size_t i = 0; i < names.n; i++) {
        rf_page_add(p, i ? ", " : "");
        rf_lab_name(p, names.item[i]);
    }
    rf_page_add(p, "</dd>\n");
    free(names.item);
}

static void put_ratios(rf_page *p, const rf_lab *all)
{
    size_t n;
    double *ratios = rf_lab_ratios(all, &(rf_place){0}, &n);
    rf_page_add(p, "<dt>known classes</dt><dd>");
    for (size_t i = 0; ratios && i < n; i++) {
        rf_page_add(p, i ? ", " : "");
        rf_lab_percent(p, ratios[i]);
    }
    rf_page_add(p, "</dd>\n");
    free(ratios);
}

/* The lowest seed above *last, or of all if first; false if there is none. */
static bool next_seed(const rf_lab *all, bool first, uint64_t *last)
{
    bool found = false;
    uint64_t best = 0;
    for (size_t i = 0; i < all->n; i++) {
        uint64_t seed = all->runs[i].seed;
        if ((first || seed > *last) && (!found || seed < best)) {
            best = seed;
            found = true;
        }
    }
    *last = best;
    return found;
}

/* "0-4, 7" */
static void put_seeds(rf_page *p, const rf_lab *all)
{
    uint64_t seed = 0;
    bool more = next_seed(all, true, &seed);
    rf_page_add(p, "<dt>seeds</dt><dd>");
    for (bool first = true; more; first = false) {
        uint64_t from = seed, to = seed;
        while ((more = next_seed(all, false, &seed)) && seed == to + 1)
            to = seed;
        rf_page_addf(p, "%s%llu", first ? "" : ", ", (unsigned long long)from);
        if (to > from)
            rf_page_addf(p, "&ndash;%llu", (unsigned long long)to);
    }
    rf_page_add(p, "</dd>\n");
}

/* In page order: most runs first. */
static void put_encoders(rf_lab_page *r)
{
    rf_page *p = &r->page;
    rf_page_addf(p, "<dt>%s</dt><dd>", r->many ? "encoders" : "encoder");
    for (size_t i = 0; i < r->n_encoders; i++) {
        rf_page_add(p, i ? ", " : "");
        rf_lab_name(p, r->encoders[i]);
    }
    rf_page_add(p, "</dd>\n");
}

/* Seconds spent on run i; shared work counts once. */
static double seconds_of(const rf_lab_page *r, size_t i)
{
    const rf_run *run = &r->runs[i];
    bool first = true; /* of its set and encoder: counts the frozen layers */
    for (size_t k = 0; k < i && first; k++)
        first = strcmp(r->runs[k].set, run->set) != 0 ||
                strcmp(r->runs[k].encoder, run->encoder) != 0;
    return run->seconds.open + run->seconds.test +
           (run->shared_known ? 0 : run->seconds.known) +
           (first ? run->seconds.encode : 0);
}

void rf_lab_facts(rf_lab_page *r)
{
    rf_page *p = &r->page;
    double seconds = 0;
    size_t variants = 0;
    for (size_t i = 0; i < r->n; i++) {
        seconds += seconds_of(r, i);
        variants += r->runs[i].variant[0] != '\0';
    }
    rf_page_add(p, "<section>\n<h2>What was run</h2>\n<dl>\n");
    rf_page_add(p, "<dt>runs</dt><dd>");
    rf_page_count(p, r->n);
    if (variants) {
        rf_page_add(p, ", ");
        rf_page_count(p, variants);
        rf_page_add(p, " of them with varied settings");
    }
    rf_page_add(p, "</dd>\n");
    rf_lab all = r->lab;
    all.runs = r->runs;
    all.n = r->n;
    put_names(r, &all, "set", "sets", RF_SETS);
    put_ratios(p, &all);
    put_seeds(p, &all);
    put_names(r, &all, "method", "methods", RF_METHODS);
    put_encoders(r);
    rf_page_add(p, "<dt>compute time</dt><dd>");
    bool hours = seconds >= 5400;
    rf_page_number(p, seconds / (hours ? 3600 : 60), 1);
    rf_page_addf(p, " %s</dd>\n</dl>\n", hours ? "hours" : "minutes");
    rf_page_add(
        p,
        "<p class=\"note\">A run trains on texts of the known classes only and is tested "
        "on all texts; the right answer for a text of any other class is "
        "&ldquo;open&rdquo;. The seed decides which classes are known. F1 is the mean of "
        "the F1 of each known class and of open.</p>\n");
    rf_page_section_end(p);
}
