/* model_tables.c - the report's tables: classes, confusions, examples, facts */
#include "report/model_report.h"

#include "base/json.h"
#include "report/svg.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CLASSES 500
#define MOST_CONFUSIONS 20
#define MOST_EXAMPLES 12
#define MOST_HEAT 40   /* classes of the whole confusion table */
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

/* Worst F1 first; what the test set has no text of comes last. */
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
        rf_page_count(p, e->confusion[id * (e->classes + 1) + e->classes]);
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
    size_t n = r->a.classes + 1, shown = n < MOST_CLASSES ? n : MOST_CLASSES;
    ranked *all = calloc(n, sizeof *all);
    if (!all)
        return rf_fail_nomem(err, n * sizeof *all, "the classes of a report");
    for (size_t i = 0; i < n; i++)
        all[i] = (ranked){r->a.score.scores[i].support > 0, r->a.score.scores[i].f1, i};
    qsort(all, n, sizeof *all, by_f1);
    rf_page_section(
        &r->page, "Classes",
        "Precision: of the texts answered with this class, those that belong to "
        "it. Recall: of its own texts, those that got it.");
    rf_page_table(&r->page, "Classes", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        put_class(r, all[i].id);
    rf_page_table_end(&r->page);
    if (shown < n)
        rf_page_addf(&r->page, "<p class=\"note\">%zu more classes are not shown.</p>\n",
                     n - shown);
    rf_page_section_end(&r->page);
    free(all);
    return RF_OK;
}

/* ---- Confusions -------------------------------------------------------------------- */

typedef struct confusion {
    size_t truth, answer, count;
    size_t row; /* the one that the model was surest of */
} confusion;

static int by_count(const void *a, const void *b)
{
    const confusion *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->truth != y->truth)
        return x->truth < y->truth ? -1 : 1;
    return x->answer < y->answer ? -1 : x->answer > y->answer;
}

static void find_examples(const rf_report *r, confusion *list, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        float best = -1;
        for (size_t i = 0; i < r->a.n; i++) {
            const rf_answer *a = &r->a.rows[i];
            if (a->truth == list[k].truth && a->answer == list[k].answer &&
                a->confidence > best) {
                best = a->confidence;
                list[k].row = i;
            }
        }
    }
}

static void put_heat(rf_report *r)
{
    const rf_evaluation *e = &r->a.score;
    size_t n = e->classes + 1;
    double values[(MOST_HEAT + 1) * (MOST_HEAT + 1)];
    if (e->classes > MOST_HEAT)
        return;
    for (size_t i = 0; i < n * n; i++)
        values[i] = (double)e->confusion[i];
    rf_page_add(&r->page,
                "<details>\n<summary>The whole table: labels in rows, answers in "
                "columns</summary>\n");
    rf_page_heat(&r->page, &(rf_heat){.label = "All labels and answers",
                                      .rows = r->names,
                                      .columns = r->names,
                                      .n_rows = n,
                                      .n_columns = n,
                                      .values = values,
                                      .diagonal = true});
    rf_page_add(&r->page, "</details>\n");
}

static void put_confusions(rf_report *r, const confusion *list, size_t n, size_t shown)
{
    static const rf_column columns[] = {{"texts", true},
                                        {"label", false},
                                        {"answer", false},
                                        {"example, the surest one", false}};
    rf_page *p = &r->page;
    rf_page_section(
        p, "Worst confusions",
        "Labels and the wrong answers that their texts got, most frequent first.");
    if (n == 0)
        rf_page_add(p, "<p>There is none: every answer is right.</p>\n");
    else {
        rf_page_table(p, "Worst confusions", columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < shown; i++) {
            rf_page_addf(p, "<tr><td class=\"n\">%zu</td>", list[i].count);
            put_name(p, "<td>", r->names[list[i].truth]);
            put_name(p, "</td><td>", r->names[list[i].answer]);
            rf_page_add(p, "</td>");
            put_row_text(r, list[i].row);
            rf_page_add(p, "</tr>\n");
        }
        rf_page_table_end(p);
        if (shown < n)
            rf_page_addf(p, "<p class=\"note\">%zu more pairs are not shown.</p>\n",
                         n - shown);
    }
    if (r->a.n)
        put_heat(r);
    rf_page_section_end(p);
}

rf_status rf_report_confusions(rf_report *r, rf_error *err)
{
    const rf_evaluation *e = &r->a.score;
    size_t ids = e->classes + 1, n = 0;
    for (size_t i = 0; i < ids * ids; i++)
        n += i / ids != i % ids && e->confusion[i] > 0;
    confusion *list = calloc(n + 1, sizeof *list);
    if (!list)
        return rf_fail_nomem(err, n * sizeof *list, "the confusions of a report");
    n = 0;
    for (size_t i = 0; i < ids * ids; i++)
        if (i / ids != i % ids && e->confusion[i] > 0)
            list[n++] = (confusion){i / ids, i % ids, e->confusion[i], 0};
    qsort(list, n, sizeof *list, by_count);
    size_t shown = n < MOST_CONFUSIONS ? n : MOST_CONFUSIONS;
    find_examples(r, list, shown);
    put_confusions(r, list, n, shown);
    free(list);
    return RF_OK;
}

/* ---- Examples ---------------------------------------------------------------------- */

typedef enum kind { ACCEPTED, REJECTED, RECOGNISED } kind;

typedef struct example {
    double key; /* largest first */
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
                                         {"label in the data", false},
                                         {"answer", false},
                                         {"confidence, %", true},
                                         {"margin", true}};
    static const rf_column others[] = {{"text", false},
                                       {"label in the data", false},
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
    for (size_t i = 0; i < n && i < MOST_EXAMPLES; i++)
        put_example(r, list[i].row, k);
    rf_page_table_end(p);
}

rf_status rf_report_examples(rf_report *r, rf_error *err)
{
    example *list = malloc((r->a.n + 1) * sizeof *list);
    if (!list)
        return rf_fail_nomem(err, r->a.n * sizeof *list, "the examples of a report");
    rf_page_section(&r->page, "Texts to look at", NULL);
    put_examples(r, ACCEPTED, "Open texts that were taken for a class",
                 "The surest mistakes first. Several about the same thing may be a class "
                 "that the model should learn.",
                 list);
    put_examples(r, REJECTED, "Known texts that were answered open",
                 "The surest mistakes first. They say what the training texts of these "
                 "classes lack.",
                 list);
    put_examples(r, RECOGNISED, "Open texts that were recognised",
                 "The closest calls first.", list);
    rf_page_section_end(&r->page);
    free(list);
    return RF_OK;
}

/* ---- Facts ------------------------------------------------------------------------- */

static size_t count(const json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (size_t)v : 0;
}

static void fact_text(rf_page *p, const char *name, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        return;
    rf_page_addf(p, "<dt>%s</dt>", name);
    put_name(p, "<dd>", text);
    rf_page_add(p, "</dd>\n");
}

static void fact_count(rf_page *p, const char *name, const json_t *object,
                       const char *key)
{
    if (!json_is_integer(json_object_get(object, key)))
        return;
    rf_page_addf(p, "<dt>%s</dt><dd>", name);
    rf_page_count(p, count(object, key));
    rf_page_add(p, "</dd>\n");
}

rf_status rf_report_facts(rf_report *r, rf_error *err)
{
    rf_page *p = &r->page;
    const char *text = rf_model_json(r->model);
    json_t *root = rf_json_object(text, strlen(text), "the model's description", err);
    if (!root)
        return err->code;
    const json_t *encoder = json_object_get(root, "encoder");
    const json_t *summary = json_object_get(root, "summary");
    const json_t *known = json_object_get(summary, "known");
    const json_t *dev = json_object_get(known, "dev_accuracy");
    rf_page_section(p, "The model", NULL);
    rf_page_add(p, "<dl>\n");
    fact_text(p, "Made by", root, "program");
    fact_text(p, "Method", root, "method");
    rf_page_add(p, "<dt>Known classes</dt><dd>");
    rf_page_count(p, r->a.classes);
    rf_page_add(p, "</dd>\n");
    fact_count(p, "Training texts", summary, "rows");
    fact_count(p, "Development texts", summary, "dev_rows");
    if (json_is_number(dev)) {
        rf_page_add(p, "<dt>Development accuracy</dt><dd>");
        rf_page_number(p, json_number_value(dev), 1);
        rf_page_add(p, " % among the known classes</dd>\n");
    }
    fact_text(p, "Encoder", encoder, "name");
    fact_count(p, "Layers", encoder, "layers");
    fact_count(p, "Layers that were tuned", encoder, "tuned_layers");
    fact_count(p, "Features of a text", encoder, "width");
    fact_count(p, "Parameters", encoder, "parameters");
    fact_count(p, "Tokens of a text, at most", encoder, "max_tokens");
    fact_text(p, "Encoder&#39;s SHA-256", encoder, "sha256");
    rf_page_add(p, "</dl>\n");
    rf_page_section_end(p);
    json_decref(root);
    return RF_OK;
}
