/* model_tables.c - sections of a model's report: classes, confusions, examples, facts */
#include "report/model_report.h"

#include "base/json.h"
#include "base/plural.h"
#include "report/svg.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CLASSES 500
#define MAX_CONFUSIONS 20
#define MAX_EXAMPLES 12
#define MAX_HEAT 40    /* classes of the full confusion matrix */
#define SHOWN_TEXT 300 /* characters */

static void put_row_text(rf_report *r, size_t row)
{
    size_t len;
    const char *text = rf_dataset_text(r->data, row, &len);
    rf_page_add(&r->page, "<td class=\"w\"><span class=\"t\">");
    rf_page_text_cut(&r->page, text, len, SHOWN_TEXT);
    rf_page_add(&r->page, "</span></td>");
}

static void put_name(rf_page *p, const char *before, const char *name)
{
    rf_page_addf(p, "%s<span class=\"t\">", before);
    rf_page_words(p, name);
    rf_page_add(p, "</span>");
}

static void put_number(rf_page *p, double value, bool there)
{
    rf_page_add(p, "<td class=\"n\">");
    if (there)
        rf_page_number(p, value, 1);
    else
        rf_page_add(p, "&ndash;");
    rf_page_add(p, "</td>");
}

/* ---- Classes ----------------------------------------------------------------------- */

typedef struct ranked {
    bool tested;
    double f1;
    size_t id;
} ranked;

/* Worst F1 first; classes without test texts last. */
static int by_f1(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->tested != y->tested)
        return x->tested ? -1 : 1;
    if (x->f1 != y->f1)
        return x->f1 < y->f1 ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void put_class(rf_report *r, size_t id)
{
    rf_page *p = &r->page;
    const rf_evaluation *e = &r->a.score;
    const rf_class_score *s = &e->scores[id];
    put_name(p, "<tr><th scope=\"row\">", r->names[id]);
    rf_page_add(p, "</th><td class=\"n\">");
    rf_page_count(p, s->support);
    rf_page_add(p, "</td>");
    put_number(p, s->precision, s->predicted > 0);
    put_number(p, s->recall, s->support > 0);
    rf_page_add(p, "<td class=\"n\">");
    if (s->support) {
        rf_page_add(p, "<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:");
        rf_page_number(p, s->f1, 0);
        rf_page_add(p, "%\"></i></span><span>");
        rf_page_number(p, s->f1, 1);
        rf_page_add(p, "</span>");
    } else
        rf_page_add(p, "&ndash;");
    rf_page_add(p, "</td><td class=\"n\">");
    if (id < e->classes)
        rf_page_count(p, rf_evaluation_count(e, id, e->classes));
    else
        rf_page_add(p, "&ndash;");
    rf_page_add(p, "</td></tr>\n");
}

rf_status rf_report_classes(rf_report *r, rf_error *err)
{
    static const rf_column columns[] = {{"class, worst F1 first", false},
                                        {"texts", true},
                                        {"precision, %", true},
                                        {"recall, %", true},
                                        {"F1, %", true},
                                        {"answered open", true}};
    size_t n = r->a.classes + 1, shown = n < MAX_CLASSES ? n : MAX_CLASSES;
    ranked *all = calloc(n, sizeof *all);
    if (!all)
        return rf_fail_nomem(err, n * sizeof *all, "the classes of a report");
    for (size_t i = 0; i < n; i++)
        all[i] = (ranked){r->a.score.scores[i].support > 0, r->a.score.scores[i].f1, i};
    qsort(all, n, sizeof *all, by_f1);
    rf_page_section(
        &r->page, "Classes",
        "Precision: the share of texts answered with this class that belong to it. "
        "Recall: the share of its own texts that were answered with it.");
    rf_page_table(&r->page, "Classes", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        put_class(r, all[i].id);
    rf_page_table_end(&r->page);
    if (shown < n)
        rf_page_addf(&r->page, "<p class=\"note\">%zu more %s not shown.</p>\n",
                     n - shown, rf_plural(n - shown, "class is", "classes are"));
    rf_page_section_end(&r->page);
    free(all);
    return RF_OK;
}

/* ---- Confusions -------------------------------------------------------------------- */

/* The text of a confusion that was answered with the highest confidence. */
static size_t most_confident_row(const rf_report *r, const rf_confusion *c)
{
    float best = -1;
    size_t row = 0;
    for (size_t i = 0; i < r->a.n; i++) {
        const rf_answer *a = &r->a.rows[i];
        if (a->truth == c->truth && a->answer == c->answer && a->confidence > best) {
            best = a->confidence;
            row = i;
        }
    }
    return row;
}

static void put_heat(rf_report *r)
{
    const rf_evaluation *e = &r->a.score;
    size_t n = e->classes + 1;
    double values[(MAX_HEAT + 1) * (MAX_HEAT + 1)] = {0};
    if (e->classes > MAX_HEAT)
        return;
    for (const rf_confusion *c = e->confusion; c < e->confusion + e->n_confusion; c++)
        values[c->truth * n + c->answer] = (double)c->count;
    rf_page_add(&r->page,
                "<details>\n<summary>Confusion matrix: labels in rows, answers in "
                "columns</summary>\n");
    rf_page_heat(&r->page, &(rf_heat){.label = "Confusion matrix",
                                      .rows = r->names,
                                      .columns = r->names,
                                      .n_rows = n,
                                      .n_columns = n,
                                      .values = values,
                                      .diagonal = true});
    rf_page_add(&r->page, "</details>\n");
}

static void put_confusions(rf_report *r, const rf_confusion *list, size_t n)
{
    static const rf_column columns[] = {{"texts", true},
                                        {"label", false},
                                        {"answer", false},
                                        {"most confident example", false}};
    rf_page *p = &r->page;
    size_t shown = n < MAX_CONFUSIONS ? n : MAX_CONFUSIONS;
    rf_page_section(p, "Worst confusions",
                    "Pairs of label and wrong answer, most frequent first.");
    if (n == 0)
        rf_page_add(p, "<p>None: every answer is right.</p>\n");
    else {
        rf_page_table(p, "Worst confusions", columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < shown; i++) {
            rf_page_addf(p, "<tr><td class=\"n\">%zu</td>", list[i].count);
            put_name(p, "<td>", r->names[list[i].truth]);
            put_name(p, "</td><td>", r->names[list[i].answer]);
            rf_page_add(p, "</td>");
            put_row_text(r, most_confident_row(r, &list[i]));
            rf_page_add(p, "</tr>\n");
        }
        rf_page_table_end(p);
        if (shown < n)
            rf_page_addf(p, "<p class=\"note\">%zu more %s not shown.</p>\n", n - shown,
                         rf_plural(n - shown, "pair is", "pairs are"));
    }
    if (r->a.n)
        put_heat(r);
    rf_page_section_end(p);
}

rf_status rf_report_confusions(rf_report *r, rf_error *err)
{
    rf_confusion *list;
    size_t n;
    rf_status st = rf_evaluation_confusions(&r->a.score, &list, &n, err);
    if (st == RF_OK)
        put_confusions(r, list, n);
    free(list);
    return st;
}

/* ---- Examples ---------------------------------------------------------------------- */

typedef enum kind { ACCEPTED, REJECTED, RECOGNISED } kind;

typedef struct example {
    double key; /* sorted in descending order */
    size_t row;
} example;

static int by_key(const void *a, const void *b)
{
    const example *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool is_kind(const rf_report *r, const rf_answer *a, kind k)
{
    bool open = a->truth == r->a.classes, says_open = a->answer == r->a.classes;
    return k == ACCEPTED   ? open && !says_open
           : k == REJECTED ? !open && says_open
                           : open && says_open;
}

static void put_example(rf_report *r, size_t row, kind k)
{
    rf_page *p = &r->page;
    const rf_answer *a = &r->a.rows[row];
    const char *label = rf_dataset_label(r->data, rf_dataset_class(r->data, row), NULL);
    rf_page_add(p, "<tr>");
    put_row_text(r, row);
    put_name(p, "<td>", label);
    if (k == ACCEPTED)
        put_name(p, "</td><td>", r->names[a->answer]);
    rf_page_add(p, "</td><td class=\"n\">");
    rf_page_number(p, 100 * (double)a->confidence, 0);
    rf_page_add(p, "</td><td class=\"n\">");
    rf_page_number(p, (double)a->margin, 2);
    rf_page_add(p, "</td></tr>\n");
}

static void put_examples(rf_report *r, kind k, const char *heading, const char *lead,
                         example *list)
{
    static const rf_column accepted[] = {{"text", false},
                                         {"label", false},
                                         {"answer", false},
                                         {"confidence, %", true},
                                         {"margin", true}};
    static const rf_column others[] = {{"text", false},
                                       {"label", false},
                                       {"confidence in open, %", true},
                                       {"margin", true}};
    rf_page *p = &r->page;
    size_t n = 0;
    for (size_t i = 0; i < r->a.n; i++)
        if (is_kind(r, &r->a.rows[i], k))
            list[n++] = (example){k == RECOGNISED ? (double)r->a.rows[i].margin
                                                  : (double)r->a.rows[i].confidence,
                                  i};
    qsort(list, n, sizeof *list, by_key);
    rf_page_addf(p, "<h3>%s: ", heading);
    rf_page_count(p, n);
    rf_page_add(p, "</h3>\n");
    if (n == 0)
        return;
    rf_page_addf(p, "<p class=\"lead\">%s</p>\n", lead);
    if (k == ACCEPTED)
        rf_page_table(p, heading, accepted, sizeof accepted / sizeof *accepted);
    else
        rf_page_table(p, heading, others, sizeof others / sizeof *others);
    for (size_t i = 0; i < n && i < MAX_EXAMPLES; i++)
        put_example(r, list[i].row, k);
    rf_page_table_end(p);
}

rf_status rf_report_examples(rf_report *r, rf_error *err)
{
    example *list = malloc((r->a.n + 1) * sizeof *list);
    if (!list)
        return rf_fail_nomem(err, r->a.n * sizeof *list, "the examples of a report");
    rf_page_section(&r->page, "Texts worth a look", NULL);
    put_examples(
        r, ACCEPTED, "Open texts given a class",
        "Most confident first. Several on the same topic may be a class that the "
        "model should learn.",
        list);
    put_examples(
        r, REJECTED, "Known texts answered open",
        "Most confident first. They show what is missing from the training texts of "
        "these classes.",
        list);
    put_examples(r, RECOGNISED, "Open texts recognised as open", "Closest calls first.",
                 list);
    rf_page_section_end(&r->page);
    free(list);
    return RF_OK;
}

/* ---- Facts ------------------------------------------------------------------------- */

static void fact_text(rf_page *p, const char *name, const char *text)
{
    rf_page_addf(p, "<dt>%s</dt>", name);
    put_name(p, "<dd>", text);
    rf_page_add(p, "</dd>\n");
}

static void fact_count(rf_page *p, const char *name, size_t n)
{
    rf_page_addf(p, "<dt>%s</dt><dd>", name);
    rf_page_count(p, n);
    rf_page_add(p, "</dd>\n");
}

rf_status rf_report_facts(rf_report *r, rf_error *err)
{
    (void)err;
    rf_page *p = &r->page;
    rf_model_summary s;
    rf_model_summarize(r->model, &s);
    rf_page_section(p, "The model", NULL);
    rf_page_add(p, "<dl>\n");
    fact_text(p, "Made by", s.program);
    fact_text(p, "Method", s.method);
    fact_count(p, "Known classes", s.classes);
    if (s.rows > 0) { /* else made by hand, not by training */
        fact_count(p, "Training texts", s.rows);
        fact_count(p, "Development texts", s.dev_rows);
    }
    if (s.dev_accuracy >= 0.0) {
        rf_page_add(p, "<dt>Development accuracy</dt><dd>");
        rf_page_number(p, s.dev_accuracy, 1);
        rf_page_add(p, "&nbsp;% among the known classes</dd>\n");
    }
    fact_text(p, "Encoder", s.encoder);
    fact_count(p, "Layers", s.layers);
    fact_count(p, "Fine-tuned layers", s.tuned_layers);
    fact_count(p, "Feature dimensions", s.width);
    fact_count(p, "Parameters", s.parameters);
    fact_count(p, "Maximum tokens per text", s.max_tokens);
    fact_text(p, "Encoder&#39;s SHA-256", s.encoder_sha256);
    rf_page_add(p, "</dl>\n");
    rf_page_section_end(p);
    return RF_OK;
}
