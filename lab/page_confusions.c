/*
 * page_confusions.c - what ANS gets wrong: kinds of errors, and the most confused pairs
 *
 * A run records only its most frequent confusions. The number of all errors follows from
 * the accuracy; the rest is shown as "not listed".
 */
#include "lab/lab_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_PAIRS 8 /* of a set and ratio */
#define OPEN "open"

typedef struct pair {
    const char *truth, *answer;
    size_t count, runs;
} pair;

/* Errors of the matching runs. */
typedef struct errors {
    size_t runs, texts, all;
    size_t rejected, accepted, confused; /* known as open, open as known, wrong class */
    pair *pairs;
    size_t n_pairs;
} errors;

static bool read_pair(const json_t *item, pair *out)
{
    *out = (pair){json_string_value(json_array_get(item, 0)),
                  json_string_value(json_array_get(item, 1)), 0, 1};
    json_int_t count = json_integer_value(json_array_get(item, 2));
    out->count = count > 0 ? (size_t)count : 0;
    return out->truth && out->answer && out->count;
}

static void add_pair(errors *e, const pair *one)
{
    if (strcmp(one->answer, OPEN) == 0)
        e->rejected += one->count;
    else if (strcmp(one->truth, OPEN) == 0)
        e->accepted += one->count;
    else
        e->confused += one->count;
    for (size_t i = 0; i < e->n_pairs; i++)
        if (strcmp(e->pairs[i].truth, one->truth) == 0 &&
            strcmp(e->pairs[i].answer, one->answer) == 0) {
            e->pairs[i].count += one->count;
            e->pairs[i].runs++;
            return;
        }
    e->pairs[e->n_pairs++] = *one;
}

static int by_count(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int c = strcmp(x->truth, y->truth);
    return c ? c : strcmp(x->answer, y->answer);
}

/* Sums up the matching runs that list confusions. Released with free(e->pairs). */
static void collect(rf_lab_page *r, const rf_place *place, errors *e)
{
    const rf_lab *lab = &r->lab;
    size_t most = 0;
    *e = (errors){0};
    for (size_t i = 0; i < lab->n; i++)
        if (rf_lab_matches(&lab->runs[i], place))
            most += json_array_size(lab->runs[i].confusions);
    e->pairs = calloc(most + 1, sizeof *e->pairs);
    if (!e->pairs) {
        r->sheet.status = rf_fail_nomem(r->sheet.err, most * sizeof(pair), "confusions");
        return;
    }
    for (size_t i = 0; i < lab->n; i++) {
        const rf_run *run = &lab->runs[i];
        if (!rf_lab_matches(run, place) || !run->confusions)
            continue;
        pair one;
        for (size_t k = 0; k < json_array_size(run->confusions); k++)
            if (read_pair(json_array_get(run->confusions, k), &one))
                add_pair(e, &one);
        e->runs++;
        e->texts += run->test_rows;
        e->all += (size_t)llround((100 - run->accuracy) / 100 * (double)run->test_rows);
    }
    qsort(e->pairs, e->n_pairs, sizeof *e->pairs, by_count);
}

/* ---- Kinds ------------------------------------------------------------------------- */

/* Per cent of all test texts. */
static void put_share(rf_page *p, size_t part, size_t texts)
{
    rf_page_add(p, "<td class=\"n\">");
    rf_page_number(p, texts ? 100.0 * (double)part / (double)texts : NAN, 2);
    rf_page_add(p, "</td>");
}

static void put_kinds(rf_page *p, const rf_place *place, const errors *e)
{
    size_t listed = e->rejected + e->accepted + e->confused;
    rf_page_add(p, "<tr><th scope=\"row\">");
    rf_lab_name(p, place->set);
    rf_page_add(p, "</th><td class=\"n\">");
    rf_lab_percent(p, place->ratio);
    rf_page_add(p, "</td><td class=\"n soft\">");
    rf_page_count(p, e->runs);
    rf_page_add(p, "</td>");
    put_share(p, e->all, e->texts);
    put_share(p, e->rejected, e->texts);
    put_share(p, e->accepted, e->texts);
    put_share(p, e->confused, e->texts);
    put_share(p, e->all > listed ? e->all - listed : 0, e->texts);
    rf_page_add(p, "</tr>\n");
}

/* ---- Pairs ------------------------------------------------------------------------- */

static void put_name_or_open(rf_page *p, const char *name)
{
    if (strcmp(name, OPEN) == 0)
        rf_page_add(p, "<i>open</i>");
    else
        rf_lab_name(p, name);
}

static void put_pairs(rf_page *p, const rf_place *place, const errors *e)
{
    static const rf_column columns[] = {
        {"label", false}, {"answer", false}, {"texts", true}, {"seeds", true}};
    if (!e->n_pairs)
        return;
    rf_page_add(p, "<details>\n<summary>");
    rf_lab_name(p, place->set);
    rf_page_add(p, ", ");
    rf_lab_percent(p, place->ratio);
    rf_page_add(p, " known: ");
    put_name_or_open(p, e->pairs[0].truth);
    rf_page_add(p, " &rarr; ");
    put_name_or_open(p, e->pairs[0].answer);
    rf_page_add(p, "</summary>\n");
    rf_page_table(p, "Confusions of a set", columns, 4);
    for (size_t i = 0; i < e->n_pairs && i < SHOWN_PAIRS; i++) {
        rf_page_add(p, "<tr><td>");
        put_name_or_open(p, e->pairs[i].truth);
        rf_page_add(p, "</td><td>");
        put_name_or_open(p, e->pairs[i].answer);
        rf_page_add(p, "</td><td class=\"n\">");
        rf_page_count(p, e->pairs[i].count);
        rf_page_addf(p, "</td><td class=\"n soft\">%zu of %zu</td></tr>\n",
                     e->pairs[i].runs, e->runs);
    }
    rf_page_table_end(p);
    rf_page_add(p, "</details>\n");
}

/* ---- All cells --------------------------------------------------------------------- */

/* Calls put for every set and ratio with confusions; returns their number. */
static size_t each_place(rf_lab_page *r,
                         void (*put)(rf_page *p, const rf_place *place, const errors *e))
{
    rf_names sets;
    size_t places = 0;
    rf_place place = {.method = "ans", .variant = ""};
    rf_lab_names(&r->lab, &sets, RF_SETS, &place, NULL);
    for (size_t i = 0; i < sets.n; i++) {
        size_t n;
        place.set = sets.item[i];
        place.ratio = 0;
        double *ratios = rf_lab_ratios(&r->lab, &place, &n);
        for (size_t k = 0; ratios && k < n; k++) {
            errors e;
            place.ratio = ratios[k];
            collect(r, &place, &e);
            if (e.runs && put)
                put(&r->page, &place, &e);
            places += e.runs > 0;
            free(e.pairs);
        }
        free(ratios);
    }
    free(sets.item);
    return places;
}

void rf_lab_confusions(rf_lab_page *r)
{
    static const rf_column columns[] = {
        {"set", false},        {"known", true},         {"n", true},
        {"wrong", true},       {"known as open", true}, {"open as known", true},
        {"wrong class", true}, {"not listed", true}};
    rf_page *p = &r->page;
    if (!each_place(r, NULL))
        return;
    rf_lab_section(
        r, "What ANS gets wrong",
        "Wrong answers in per cent of all test texts, and how they divide: known "
        "texts answered &ldquo;open&rdquo;, open texts given a class, and known "
        "texts given the wrong class.");
    rf_page_table(p, "Kinds of errors", columns, 8);
    each_place(r, put_kinds);
    rf_page_table_end(p);
    rf_page_add(
        p, "<p class=\"note\">A run records its thirty most frequent confusions; the "
           "remaining errors are &ldquo;not listed&rdquo;. The most frequent pairs "
           "over all seeds (a pair can occur only in seeds that drew its classes "
           "as known):</p>\n");
    each_place(r, put_pairs);
    rf_page_section_end(p);
}
