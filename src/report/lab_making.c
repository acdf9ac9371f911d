/* lab_making.c - how long runs take, and how to make them again */
#include "report/lab_report.h"

#include <stdio.h>
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
        rf_page_add(p,
                    " seconds. Methods with an objective of their own spend their time "
                    "in stage 1.</p>\n");
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
            "Seconds, mean over n runs. The frozen layers are computed once for "
            "a set; stage 1, which learns the known classes, once for all "
            "methods that share it; stage 2 trains the heads; test is all test "
            "texts from their features on.");
        rf_page_table(&r->page, "Times", columns, 7);
        for (size_t i = 0; i < sets.n; i++)
            put_stages(r, sets.item[i]);
        rf_page_table_end(&r->page);
        put_method_times(r);
        rf_page_section_end(&r->page);
    }
    free(sets.item);
}

/* ---- Commands ---------------------------------------------------------------------- */

/* One word of a command, quoted for a shell if it has to be. */
static void put_word(rf_page *p, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./,=-+:@%";
    if (word[0] && strspn(word, plain) == strlen(word)) {
        rf_page_words(p, word);
        return;
    }
    rf_page_add(p, "&#39;");
    for (const char *at = word; *at;
         at += strcspn(at, "'") + (strchr(at, '\'') != NULL)) {
        rf_page_text(p, at, strcspn(at, "'"));
        if (strchr(at, '\''))
            rf_page_add(p, "&#39;\\&#39;&#39;");
    }
    rf_page_add(p, "&#39;");
}

/* A line may not end between its dashes and its name. */
static void put_option(rf_page *p, const char *option)
{
    rf_page_addf(p, " <span style=\"white-space:nowrap\">%s</span> ", option);
}

typedef enum part { SETS, RATIOS, SEEDS, METHODS } part;

static void part_text(const rf_run *run, part which, char out[128])
{
    char ratio[RF_RATIO_TEXT];
    switch (which) {
    case SETS: snprintf(out, 128, "%s", run->set); break;
    case RATIOS: snprintf(out, 128, "%s", rf_ratio_text(run->ratio, ratio)); break;
    case SEEDS: snprintf(out, 128, "%llu", (unsigned long long)run->seed); break;
    case METHODS: snprintf(out, 128, "%s", run->method); break;
    }
}

static bool is_of(const char *variant, const char *name, size_t len)
{
    return len ? strncmp(variant, name, len) == 0 && variant[len] == '='
               : variant[0] == '\0';
}

/* --sets a,b: every different text that the runs of a setting have there. */
static void put_list(rf_lab_page *r, const char *option, part which, const char *name,
                     size_t len)
{
    rf_buffer list;
    rf_error err = {0};
    char text[128], other[128];
    rf_buffer_init(&list, 1 << 20, "a command");
    for (size_t i = 0; i < r->lab.n; i++) {
        bool old = !is_of(r->lab.runs[i].variant, name, len);
        part_text(&r->lab.runs[i], which, text);
        for (size_t k = 0; k < i && !old; k++) {
            part_text(&r->lab.runs[k], which, other);
            old = is_of(r->lab.runs[k].variant, name, len) && strcmp(text, other) == 0;
        }
        if (old)
            continue;
        rf_buffer_add(&list, ",", list.len ? 1 : 0, &err);
        rf_buffer_add(&list, text, strlen(text), &err);
    }
    if (err.code != RF_OK)
        r->sheet.status = rf_fail(r->sheet.err, err.code, 0, "%s", err.msg);
    put_option(&r->page, option);
    put_word(&r->page, list.data ? list.data : "");
    rf_buffer_release(&list);
}

/* name=1,2,4 */
static void put_variants(rf_lab_page *r, const rf_names *variants, const char *name,
                         size_t len)
{
    rf_buffer list;
    rf_error err = {0};
    rf_buffer_init(&list, 1 << 20, "a command");
    for (size_t i = 0; i < variants->n; i++) {
        const char *value = variants->item[i] + len + 1;
        if (!is_of(variants->item[i], name, len))
            continue;
        if (list.len)
            rf_buffer_add(&list, ",", 1, &err);
        else
            rf_buffer_add(&list, name, len + 1, &err);
        rf_buffer_add(&list, value, strlen(value), &err);
    }
    if (err.code != RF_OK)
        r->sheet.status = rf_fail(r->sheet.err, err.code, 0, "%s", err.msg);
    put_option(&r->page, "--variants");
    put_word(&r->page, list.data ? list.data : "");
    rf_buffer_release(&list);
}

/* One command: the plain runs (len 0), or those of one setting. */
static void put_command(rf_lab_page *r, const rf_names *variants, const char *name,
                        size_t len)
{
    rf_page *p = &r->page;
    rf_page_add(p, "<p><code class=\"t\">ringfence lab run");
    if (len)
        put_variants(r, variants, name, len);
    put_option(p, "--data");
    rf_page_add(p, "DATA");
    put_option(p, "--out");
    rf_page_add(p, "OUT");
    put_list(r, "--sets", SETS, name, len);
    put_list(r, "--ratios", RATIOS, name, len);
    put_list(r, "--seeds", SEEDS, name, len);
    put_list(r, "--methods", METHODS, name, len);
    put_option(p, "--encoder");
    put_word(p, r->lab.encoder);
    rf_page_add(p, "</code></p>\n");
}

static void put_commands(rf_lab_page *r)
{
    rf_names variants;
    rf_lab_names(&r->lab, &variants, RF_VARIANTS, &(rf_place){0}, NULL);
    for (size_t i = 0; i < variants.n; i++) {
        size_t len = strcspn(variants.item[i], "=");
        bool old = len && variants.item[i][len] != '='; /* no setting */
        for (size_t k = 0; k < i && !old; k++)
            old = is_of(variants.item[k], variants.item[i], len);
        if (!old)
            put_command(r, &variants, variants.item[i], len);
    }
    free(variants.item);
}

/* "0.1.0, 0.2.0": the different texts at this place of a run. */
static void put_texts(rf_lab_page *r, const char *name, size_t offset)
{
    size_t shown = 0;
    rf_page_addf(&r->page, "<dt>%s</dt><dd>", name);
    for (size_t i = 0; i < r->n; i++) {
        const char *text = (const char *)&r->runs[i] + offset;
        bool old = false;
        for (size_t k = 0; k < i && !old; k++)
            old = strcmp((const char *)&r->runs[k] + offset, text) == 0;
        if (old)
            continue;
        rf_page_add(&r->page, shown++ ? ", " : "");
        rf_lab_name(&r->page, text[0] ? text : "not said");
    }
    rf_page_add(&r->page, "</dd>\n");
}

void rf_lab_making(rf_lab_page *r)
{
    rf_page *p = &r->page;
    rf_page_section(p, "How this was made",
                    "Runs like these, with DATA a directory of the sets and OUT one for "
                    "the results. Where not every combination was run, the command has "
                    "more than this page; settings other than the variants stand in "
                    "OUT/runs.jsonl.");
    for (size_t from = 0, to; from < r->n; from = to) {
        for (to = from + 1; to < r->n; to++)
            if (strcmp(r->runs[to].encoder, r->runs[from].encoder) != 0)
                break;
        r->lab.runs = r->runs + from;
        r->lab.n = to - from;
        r->lab.encoder = r->runs[from].encoder;
        put_commands(r);
    }
    rf_page_add(p, "<p><code>ringfence lab report OUT --data DATA -o FILE</code></p>\n"
                   "<dl>\n");
    put_texts(r, "ringfence", offsetof(rf_run, version));
    put_texts(r, "kernels", offsetof(rf_run, kernels));
    rf_page_add(p, "</dl>\n");
    rf_page_section_end(p);
}
