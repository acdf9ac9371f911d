/* review_page.c - rf_report_review: a page about the texts that a model rejected */
#include "base/options.h"
#include "base/plural.h"
#include "report/html.h"
#include "ringfence_review.h"

#define MAX_CARDS 200
#define MAX_LISTED 300 /* texts of a list, and of a card */
#define CENTRAL 5
#define DIFFERENT 3
#define SHOWN_TEXT 300 /* characters */

static void put_name(rf_page *p, const char *name)
{
    rf_page_add(p, "<span class=\"t\">");
    rf_page_words(p, name);
    rf_page_add(p, "</span>");
}

static void put_cut(rf_page *p, const rf_review_text *x)
{
    rf_page_add(p, "<span class=\"t\">");
    rf_page_text_cut(p, x->text, x->len, SHOWN_TEXT);
    rf_page_add(p, "</span>");
    if (x->count > 1) {
        rf_page_add(p, " <span class=\"soft\">&times;&nbsp;");
        rf_page_count(p, x->count);
        rf_page_add(p, "</span>");
    }
}

static const char *class_name(const rf_review *r, size_t class_index)
{
    return rf_model_label(rf_review_model(r), class_index);
}

static void put_cohesion(rf_page *p, double cohesion)
{
    rf_page_add(p, "<span class=\"bar\"><i style=\"width:");
    rf_page_number(p, 100.0 * cohesion, 0);
    rf_page_add(p, "%\"></i></span><span>");
    rf_page_number(p, 100.0 * cohesion, 0);
    rf_page_add(p, "&nbsp;%</span>");
}

static void put_rest(rf_page *p, size_t left, const char *one, const char *many)
{
    if (left == 0)
        return;
    rf_page_add(p, "<p class=\"note\">");
    rf_page_count(p, left);
    rf_page_addf(p, " more %s not shown; the table of ringfence review has all.</p>\n",
                 rf_plural(left, one, many));
}

/* ---- Headline ---------------------------------------------------------------------- */

static void put_verdict(rf_page *p, const rf_review *r)
{
    rf_review_summary s = rf_review_summarize(r);
    size_t n = rf_review_groups(r), texts = 0;
    for (size_t i = 0; i < n; i++)
        texts += rf_review_group_at(r, i)->count;
    rf_page_add(p, "<p class=\"verdict\">Of ");
    rf_page_plural(p, s.texts, "text", "texts");
    rf_page_add(p, ", ");
    rf_page_count(p, s.rejected);
    rf_page_addf(p, " %s rejected", rf_plural(s.rejected, "was", "were"));
    if (s.doubtful) {
        rf_page_add(p, " and ");
        rf_page_count(p, s.doubtful);
        rf_page_add(p, " accepted with little confidence");
    }
    rf_page_add(p, ". ");
    if (n) {
        rf_page_count(p, texts);
        rf_page_addf(p, " of them %s <b>", rf_plural(texts, "is in", "are in"));
        rf_page_plural(p, n, "group", "groups");
        rf_page_add(p, "</b> that may be new classes.");
    } else {
        rf_page_add(p, "<b>No group of them looks like a new class.</b>");
    }
    rf_page_add(p, "</p>\n<p class=\"note\">Equal and nearly equal texts count as one "
                   "text below, with &times;&nbsp;their number.</p>\n");
}

/* ---- Groups ------------------------------------------------------------------------ */

static void put_overview(rf_page *p, const rf_review *r)
{
    static const rf_column columns[] = {{"no.", true},
                                        {"suggested name", false},
                                        {"texts", true},
                                        {"cohesion", false},
                                        {"nearest class", false}};
    size_t n = rf_review_groups(r), shown = n < MAX_CARDS ? n : MAX_CARDS;
    if (n == 0)
        return;
    rf_page_section(
        p, "Groups",
        "The groups whose labelling is worth most come first: many texts, and surely one "
        "topic. Cohesion is 100&nbsp;% for a group that is as tight as a known class and "
        "has no other texts near; below 50&nbsp;% it may be several topics, so read its "
        "texts before you accept it.");
    rf_page_table(p, "Groups", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const rf_review_group *g = rf_review_group_at(r, i);
        rf_page_addf(p,
                     "<tr><td class=\"n\">%zu</td><th scope=\"row\"><a href=\"#g%zu\">",
                     i + 1, i + 1);
        put_name(p, g->name);
        rf_page_add(p, "</a></th><td class=\"n\">");
        rf_page_count(p, g->count);
        rf_page_add(p, "</td><td>");
        put_cohesion(p, g->cohesion);
        rf_page_add(p, "</td><td>");
        put_name(p, class_name(r, g->nearest));
        rf_page_add(p, "</td></tr>\n");
    }
    rf_page_table_end(p);
    put_rest(p, n - shown, "group is", "groups are");
    rf_page_section_end(p);
}

static void put_list(rf_page *p, const rf_review *r, size_t from, size_t n)
{
    rf_page_add(p, "<ul class=\"texts\">\n");
    for (size_t i = from; i < from + n; i++) {
        rf_page_add(p, "<li>");
        put_cut(p, rf_review_text_at(r, i));
        rf_page_add(p, "</li>\n");
    }
    rf_page_add(p, "</ul>\n");
}

static void put_facts(rf_page *p, const rf_review *r, const rf_review_group *g)
{
    rf_page_add(p, "<p class=\"soft\">");
    rf_page_plural(p, g->count, "text", "texts");
    if (g->count > g->n_texts) {
        rf_page_add(p, ", ");
        rf_page_count(p, g->n_texts);
        rf_page_add(p, " different");
    }
    rf_page_add(p, " &middot; cohesion ");
    rf_page_number(p, 100.0 * g->cohesion, 0);
    rf_page_add(p, "&nbsp;% &middot; nearest class ");
    put_name(p, class_name(r, g->nearest));
    rf_page_addf(p, " for %zu of %zu</p>\n", g->n_nearest, g->n_texts);
}

static void put_card(rf_page *p, const rf_review *r, size_t i)
{
    const rf_review_group *g = rf_review_group_at(r, i);
    size_t n = g->n_texts, central = n < CENTRAL ? n : CENTRAL;
    size_t different = n - central < DIFFERENT ? n - central : DIFFERENT;
    size_t between = n - central - different;
    rf_page_addf(p, "<article class=\"card\" id=\"g%zu\">\n<h3>%zu. ", i + 1, i + 1);
    put_name(p, g->name);
    rf_page_add(p, "</h3>\n");
    put_facts(p, r, g);
    rf_page_add(p, "<h4>Most central texts</h4>\n");
    put_list(p, r, g->first, central);
    if (different) {
        rf_page_add(p, "<h4>Texts that fit least</h4>\n");
        put_list(p, r, g->first + n - different, different);
    }
    if (between) {
        size_t shown = between < MAX_LISTED ? between : MAX_LISTED;
        rf_page_add(p, "<details><summary>");
        rf_page_plural(p, between, "more text", "more texts");
        rf_page_add(p, "</summary>\n");
        put_list(p, r, g->first + central, shown);
        put_rest(p, between - shown, "text is", "texts are");
        rf_page_add(p, "</details>\n");
    }
    rf_page_add(p, "</article>\n");
}

static void put_cards(rf_page *p, const rf_review *r)
{
    size_t n = rf_review_groups(r), shown = n < MAX_CARDS ? n : MAX_CARDS;
    if (n == 0)
        return;
    rf_page_section(p, "What they say", NULL);
    for (size_t i = 0; i < shown; i++)
        put_card(p, r, i);
    rf_page_section_end(p);
}

/* ---- The other texts --------------------------------------------------------------- */

/* The first text of this kind, and how many there are. */
static size_t find_kind(const rf_review *r, rf_review_kind kind, size_t *first)
{
    size_t n = 0;
    *first = 0;
    for (size_t i = 0; i < rf_review_size(r); i++)
        if (rf_review_text_at(r, i)->kind == kind) {
            *first = n ? *first : i;
            n++;
        }
    return n;
}

static void put_known(rf_page *p, const rf_review *r)
{
    static const rf_column columns[] = {
        {"text", false}, {"class", false}, {"margin", true}, {"", false}};
    size_t first, n = find_kind(r, RF_REVIEW_KNOWN, &first);
    size_t shown = n < MAX_LISTED ? n : MAX_LISTED;
    if (n == 0)
        return;
    rf_page_section(p, "Probably known",
                    "Texts in no group that are close to a known class, the likeliest "
                    "first. If they are of that class, it lacks texts like these, or its "
                    "fence is too tight.");
    rf_page_table(p, "Probably known", columns, sizeof columns / sizeof *columns);
    for (size_t i = first; i < first + shown; i++) {
        const rf_review_text *x = rf_review_text_at(r, i);
        rf_page_add(p, "<tr><td class=\"w\">");
        put_cut(p, x);
        rf_page_add(p, "</td><td>");
        put_name(p, class_name(r, x->class_index));
        rf_page_add(p, "</td><td class=\"n\">");
        rf_page_number(p, (double)x->margin, 2);
        rf_page_addf(p, "</td><td>%s</td></tr>\n", x->rejected ? "rejected" : "accepted");
    }
    rf_page_table_end(p);
    put_rest(p, n - shown, "text is", "texts are");
    rf_page_section_end(p);
}

static void put_alone(rf_page *p, const rf_review *r)
{
    size_t first, n = find_kind(r, RF_REVIEW_ALONE, &first);
    size_t shown = n < MAX_LISTED ? n : MAX_LISTED;
    if (n == 0)
        return;
    rf_page_section(p, "Alone",
                    "Texts in no group, the most frequent first. A topic may still be "
                    "growing here: review again when there are more texts.");
    rf_page_add(p, "<details><summary>");
    rf_page_plural(p, n, "text", "texts");
    rf_page_add(p, "</summary>\n");
    put_list(p, r, first, shown);
    put_rest(p, n - shown, "text is", "texts are");
    rf_page_add(p, "</details>\n");
    rf_page_section_end(p);
}

static void put_next(rf_page *p, const rf_review *r)
{
    if (rf_review_size(r) == 0)
        return;
    rf_page_section(p, "What to do next", NULL);
    rf_page_add(
        p, "<ol>\n<li>Write the same review as a table: <code>ringfence review MODEL "
           "TEXTS -o review.tsv</code>. The groups have the same numbers.</li>\n"
           "<li>A group that is one topic becomes a class, or joins one: <code>ringfence "
           "accept review.tsv --group 1 --as NAME MODEL -o NEW.rf</code>. Or open the "
           "table in a spreadsheet, write labels into the column <code>label</code> and "
           "leave out <code>--group</code>: lines without a label are not learnt.</li>\n"
           "<li>Look at what changed: <code>ringfence compare MODEL NEW.rf TEST</code>, "
           "and review the texts again with the new model.</li>\n</ol>\n");
    rf_page_section_end(p);
}

rf_status rf_report_review(const rf_review *review, const rf_report_options *options,
                           const char *path, rf_error *err)
{
    rf_report_options o = rf_report_options_default();
    rf_page page;
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_report_options", err);
    if (st != RF_OK)
        return st;
    rf_page_init(&page);
    rf_page_begin(&page, o.title ? o.title : "Texts that were rejected",
                  "ringfence review");
    put_verdict(&page, review);
    put_overview(&page, review);
    put_cards(&page, review);
    put_known(&page, review);
    put_alone(&page, review);
    put_next(&page, review);
    rf_page_add(&page, "<footer>Made by ringfence " RF_VERSION
                       ". This page is self-contained and makes no network requests. It "
                       "contains texts that were reviewed.</footer>\n");
    rf_page_end(&page);
    st = rf_page_write(&page, path, err);
    rf_page_release(&page);
    return st;
}
