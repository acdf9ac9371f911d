/*
 * The page about a lab's runs: what it shows and what it leaves out, the same bytes every
 * time, hostile names as text, maps of heads with the tiny encoder, and what it refuses.
 * tests/pages looks at it in a browser.
 */
#include "base/file.h"
#include "lab/results.h"
#include "lab/lab_settings.h"

#include "stages/train_settings.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY GOLDEN_DIR "/tiny/encoder"

/* ---- Runs -------------------------------------------------------------------------- */

typedef struct place {
    char dir[RF_PATH_MAX], page[RF_PATH_MAX];
} place;

static void place_make(place *p)
{
    scratch_make(p->dir);
    scratch_path(p->page, p->dir, "page.html");
}

static rf_run run_of(const char *set, double ratio, uint64_t seed, const char *method,
                     double f1)
{
    rf_run r = {.ratio = ratio,
                .seed = seed,
                .known_classes = 4,
                .train_rows = 40,
                .test_rows = 200,
                .accuracy = f1 + 1,
                .f1 = f1,
                .f1_known = f1 - 1,
                .f1_open = f1 + 3,
                .seconds = {1800, 600, 60, 1},
                .threads = 2};
    snprintf(r.set, sizeof r.set, "%s", set);
    snprintf(r.method, sizeof r.method, "%s", method);
    snprintf(r.encoder, sizeof r.encoder, "minilm");
    snprintf(r.version, sizeof r.version, "0.1.0");
    snprintf(r.kernels, sizeof r.kernels, "avx2");
    return r;
}

static void add(const place *p, rf_run r, const char *variant, const char *encoder)
{
    rf_error err = {0};
    if (variant)
        snprintf(r.variant, sizeof r.variant, "%s", variant);
    if (encoder)
        snprintf(r.encoder, sizeof r.encoder, "%s", encoder);
    if (rf_run_append(p->dir, &r, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_run_release(&r);
}

static char *report(const place *p, const rf_lab_report_options *o)
{
    rf_error err = {0};
    if (rf_lab_report(p->dir, o, p->page, &err) != RF_OK)
        fail_msg("%s", err.msg);
    return scratch_read(p->page, NULL);
}

static void assert_has(const char *page, const char *words)
{
    if (!strstr(page, words))
        fail_msg("not on the page: %s", words);
}

static void assert_has_not(const char *page, const char *words)
{
    const char *at = strstr(page, words);
    if (at)
        fail_msg("on the page: %.200s", at);
}

static size_t count(const char *page, const char *words)
{
    size_t n = 0;
    while ((page = strstr(page, words)) != NULL) {
        n++;
        page += strlen(words);
    }
    return n;
}

/* ---- Content ----------------------------------------------------------------------- */

static void page_of_one_run(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    add(&p, run_of("banking", 0.25, 7, "ans", 80), NULL, NULL);
    char *page = report(&p, NULL);
    assert_has(page, "a mean accuracy of <b>81.0&nbsp;%</b> and a mean F1 of "
                     "<b>80.0&nbsp;%</b> over 1 run.");
    assert_has(page, "<dt>runs</dt><dd>1</dd>");
    assert_has(page, "<dt>seeds</dt><dd>7</dd>");
    assert_has(page, "<dt>compute time</dt><dd>41.0 minutes</dd>");
    assert_has(page, "Methods compared");
    assert_has(page, "<td class=\"n soft\">83.93</td>"); /* published accuracy of ans */
    assert_has(page, "BERT-base-uncased; the encoders differ");
    assert_has(page, "<code>--data</code> to add them");
    assert_has(page, "<code>ringfence lab run --data DATA --out OUT</code>");
    assert_has(page, "<dt>ringfence</dt><dd><span class=\"t\">0.1.0</span></dd>");
    assert_has_not(page, "ANS against each method");
    assert_has_not(page, "What each part");
    assert_has_not(page, "Synthetic negatives in other");
    assert_has_not(page, "One setting at a time");
    assert_has_not(page, "gets wrong");
    assert_has_not(page, "n/a");
    assert_has_not(page, p.dir);
    free(page);
    scratch_remove(p.dir);
}

/* Differences of 2, 3 and 4: mean 3, interval 3 +- 4.3027 / sqrt 3. */
static void headline_and_pairs(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    for (uint64_t seed = 0; seed < 3; seed++) {
        add(&p, run_of("oos", 0.5, seed, "ans", 80 + (double)seed), NULL, NULL);
        add(&p, run_of("oos", 0.5, seed, "adb", 78), NULL, NULL);
        add(&p, run_of("oos", 0.5, seed, "msp", 60), NULL, NULL);
        add(&p, run_of("oos", 0.5, seed + 5, "knn", 96), NULL, NULL); /* no pairs */
    }
    char *page = report(&p, NULL);
    assert_has(page,
               "The F1 of <b>ANS</b> is <b>3.0&nbsp;points above</b> that of <span "
               "class=\"t\">adb</span>, the best other method, over 3 experiments that "
               "both did (95&nbsp;% interval +0.5 to +5.5). The interval is above 0");
    assert_has(page, "<td class=\"n good\">+3.00</td><td class=\"n soft\">+0.52 to "
                     "+5.48</td><td class=\"n soft\">0.035</td>");
    assert_int_equal(count(page, "<b>96.00</b>"), 2); /* best F1, in both tables */
    assert_int_equal(count(page, "<b>97.00</b>"), 2);
    assert_has(page, "<dd>0&ndash;2, 5&ndash;7</dd>");
    assert_has(page, "<title>adb, 50 % known: 78.00 (78.0 to 78.0)</title>");
    free(page);
    scratch_remove(p.dir);
}

static void difference_that_may_be_chance(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    for (uint64_t seed = 0; seed < 2; seed++) {
        add(&p, run_of("oos", 0.5, seed, "ans", 80 + 3 * (double)seed), NULL, NULL);
        add(&p, run_of("oos", 0.5, seed, "adb", 82), NULL, NULL);
    }
    char *page = report(&p, NULL);
    assert_has(page, "<b>0.5&nbsp;points below</b>");
    assert_has(page, "The interval contains 0");
    assert_has(page, "<td class=\"n\">&minus;0.50</td>");
    free(page);
    scratch_remove(p.dir);
}

static void several_encoders(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    add(&p, run_of("toy", 0.5, 0, "ans", 70), NULL, "a-few");
    add(&p, run_of("toy", 0.5, 0, "ans", 71), NULL, "most");
    add(&p, run_of("toy", 0.5, 1, "ans", 72), NULL, "most");
    char *page = report(&p, NULL);
    assert_has(page, "<dd><span class=\"t\">most</span>, <span class=\"t\">a-few</span>");
    const char *first = strstr(page, "With encoder <span class=\"t\">most</span>");
    const char *second = strstr(page, "With encoder <span class=\"t\">a-few</span>");
    assert_true(first && second && first < second);
    assert_int_equal(count(page, "Methods compared"), 2);
    free(page);

    page = report(&p, &(rf_lab_report_options){.encoder = "a-few", .title = "T & <T>"});
    assert_has(page, "<h1>T &amp; &lt;T&gt;</h1>");
    assert_has(page, "<dt>runs</dt><dd>1</dd>");
    assert_has_not(page, "With encoder");
    assert_has_not(page, "most</span>");
    free(page);
    scratch_remove(p.dir);
}

/* A section of their own: not a value of a curve, not the default of a sweep. */
static void few_uneven_rows(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    add(&p, run_of("toy", 0.5, 0, "ans", 90), NULL, NULL);
    add(&p, run_of("toy", 0.5, 0, "ans", 77), "rows=5", NULL);
    char *page = report(&p, NULL);
    assert_has_not(page, "Few uneven rows");
    free(page);
    for (uint64_t seed = 0; seed < 2; seed++) {
        add(&p, run_of("toy", 0.5, seed, "ans", 60 + (double)seed),
            "rows=lognormal:20:0.9", NULL);
        add(&p, run_of("toy", 0.5, seed, "nearest-text", 55), "rows=lognormal:20:0.9",
            NULL);
    }
    add(&p, run_of("toy", 0.5, 0, "nearest-text", 44), "rows=lognormal:5:0.9", NULL);
    page = report(&p, NULL);
    const char *at = strstr(page, "<h2>Few uneven rows</h2>");
    const char *five = strstr(page, "class=\"n\">median 5, spread 0.9</th>");
    const char *twenty = strstr(page, "class=\"n\">median 20, spread 0.9</th>");
    assert_true(at && five && twenty && at < five && five < twenty);
    assert_has(at, "<td class=\"n\">45.00</td><td class=\"n\">44.00</td>"
                   "<td class=\"n\">56.00</td><td class=\"n\">55.00</td></tr>");
    assert_has(at, "<td class=\"n soft\">&ndash;</td><td class=\"n soft\">&ndash;</td>"
                   "<td class=\"n\"><b>61.50</b></td><td class=\"n\"><b>60.50</b></td>");
    assert_int_equal(count(page, "The numbers</summary>"), 1); /* of rows=5 */
    assert_has_not(page, "lognormal:");
    free(page);
    scratch_remove(p.dir);
}

static void sweeps_without_default_runs(void **state)
{
    (void)state;
    static const char *const values[] = {"radius=1", "radius=8",   "radius=64",
                                         "k=0",      "k=10",       "textoir=yes",
                                         "rows=5",   "strange=1,x"};
    place p;
    place_make(&p);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        add(&p, run_of("toy", 0.5, 0, "ans", 70 + (double)i), values[i], NULL);
    char *page = report(&p, NULL);
    assert_has(page, "There is no run of ANS with default settings");
    assert_has(page, "<h3>Radius</h3>");
    assert_has(page, "<title id=\"t1\">F1 by radius: toy, 50 %</title>");
    assert_has(page, "<h3>strange</h3>");
    assert_int_equal(count(page, "<svg class=\"lines\""), 2); /* the others: tables */
    assert_int_equal(count(page, "The numbers</summary>"), 5);
    assert_has_not(page, "Methods compared");
    assert_has_not(page, "Times of ANS");
    free(page);
    scratch_remove(p.dir);
}

static void ablation_and_negatives(void **state)
{
    (void)state;
    static const char *const parts[] = {"ablation=baseline", "ablation=noise",
                                        "ablation=projection", "ablation=ascent"};
    place p;
    place_make(&p);
    for (size_t i = 0; i < 4; i++)
        add(&p, run_of("oos", 0.25, 0, "ans", 50 + 10 * (double)i), parts[i], NULL);
    add(&p, run_of("banking", 0.25, 0, "msp-neg", 61.25), NULL, NULL);
    add(&p, run_of("banking", 0.25, 0, "msp-neg", 62.5), "ascent=10", NULL);
    char *page = report(&p, NULL);
    assert_has(page, "What each part of ANS adds");
    assert_has(page, "<span class=\"t\">baseline</span>, paper</th>");
    assert_has(page, "Synthetic negatives in other methods");
    assert_has(page, "msp-neg, ascent=10</span></th><td class=\"n\">63.50</td><td "
                     "class=\"n\">62.50</td>");
    assert_has(page, "<td class=\"n soft\">80.11</td>"); /* ans in table 3 */
    free(page);
    scratch_remove(p.dir);
}

/* Two seeds of 200 texts, 38 wrong in each. */
static void errors_by_kind_and_pair(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    for (uint64_t seed = 0; seed < 2; seed++) {
        rf_run r = run_of("toy", 0.5, seed, "ans", 80);
        r.confusions = json_pack("[[s,s,i],[s,s,i],[s,s,i]]", "open", "a", 10, "b",
                                 "open", 6 + (int)seed, "b", "a", 2);
        add(&p, r, NULL, NULL);
    }
    char *page = report(&p, NULL);
    assert_has(page, "What ANS gets wrong");
    assert_has(page, "<td class=\"n\">19.00</td><td class=\"n\">3.25</td><td "
                     "class=\"n\">5.00</td><td class=\"n\">1.00</td><td "
                     "class=\"n\">9.75</td>");
    assert_has(page, "<td><i>open</i></td><td><span class=\"t\">a</span></td><td "
                     "class=\"n\">20</td><td class=\"n soft\">2 of 2</td>");
    free(page);
    scratch_remove(p.dir);
}

/* ---- Hostile names ----------------------------------------------------------------- */

static void hostile_names_are_escaped(void **state)
{
    (void)state;
    static const char evil[] = "<script>hit()</script>\"'&";
    place p;
    place_make(&p);
    for (uint64_t seed = 0; seed < 2; seed++) {
        rf_run r = run_of(evil, 0.5, seed, "ans", 80);
        snprintf(r.version, sizeof r.version, "%s", evil);
        r.confusions = json_pack("[[s,s,i]]", evil, "open", 3);
        add(&p, r, NULL, evil);
        add(&p, run_of(evil, 0.5, seed, evil, 70), NULL, evil);
        add(&p, run_of(evil, 0.5, seed, evil, 70), "<script>hit()=1", evil);
        add(&p, run_of(evil, 0.5, seed, evil, 70), "<script>hit()=2", evil);
        add(&p, run_of(evil, 0.5, seed, evil, 70), "\"><b>", "other");
    }
    char *page = report(&p, &(rf_lab_report_options){.title = evil});
    assert_has_not(page, "<script>hit");
    assert_has_not(page, "\"><b>\"");
    assert_has(page, "&lt;script&gt;hit()&lt;/script&gt;&quot;&#39;&amp;");
    assert_int_equal(count(page, "<script>"), 1); /* the page's own */
    free(page);
    scratch_remove(p.dir);
}

static void order_of_lines_does_not_matter(void **state)
{
    (void)state;
    static const char *const methods[] = {"ans", "adb", "msp", "mine"};
    place p, q;
    place_make(&p);
    place_make(&q);
    for (size_t i = 0; i < 16; i++) { /* the order of the lines does not matter */
        size_t k = 15 - i;
        add(&p, run_of("toy", 0.5, i / 4, methods[i % 4], 60 + (double)i), NULL, NULL);
        add(&q, run_of("toy", 0.5, k / 4, methods[k % 4], 60 + (double)k), NULL, NULL);
    }
    char *a = report(&p, NULL), *b = report(&q, NULL), *c = report(&p, NULL);
    assert_string_equal(a, b);
    assert_string_equal(a, c);
    free(a);
    free(b);
    free(c);
    scratch_remove(p.dir);
    scratch_remove(q.dir);
}

/* ---- Maps of heads------------------------------------------------------------------ */

static void write_part(const char *dir, const char *name, size_t each, size_t part)
{
    static const char *const words[6][2] = {{"refund", "cancel"}, {"where", "order"},
                                            {"hello", "thank"},   {"please", "my"},
                                            {"order", "the"},     {"cancel", "<thank>"}};
    char *text = calloc(each * 6 * 80 + 32, 1), *at = text;
    assert_non_null(text);
    at += sprintf(at, "text\tlabel\n");
    for (size_t i = 0; i < each * 6; i++) {
        size_t c = i % 6, k = i / 6;
        at += sprintf(at, "%s %s %s %zu\tc%zu\n", words[c][k % 2], words[c][1],
                      words[(c + k * part) % 6][0], k * (part + 3), c);
    }
    scratch_write(dir, name, text, (size_t)(at - text));
    free(text);
}

static rf_lab_options make_lab(const place *p, char data[RF_PATH_MAX],
                               char set[RF_PATH_MAX])
{
    rf_error err;
    scratch_path(data, p->dir, "data");
    scratch_path(set, data, "toy");
    assert_int_equal(rf_dir_make(set, &err), RF_OK);
    write_part(set, "train.tsv", 60, 1); /* enough for heads */
    write_part(set, "dev.tsv", 4, 2);
    write_part(set, "test.tsv", 6, 3);
    rf_lab_options o = rf_lab_options_default();
    o.data = data;
    o.out = p->dir;
    o.sets = "toy";
    o.ratios = "0.5";
    o.seeds = "2";
    o.encoder = TINY;
    o.threads = 1;
    o.settings = "epochs=3 batch=8 known_rate=0.01 head_steps=8 head_negatives=16";
    return o;
}

static int count_lines(void *user, const char *line)
{
    size_t *lines = user;
    assert_has(line, "maps of heads, toy: ");
    if (strstr(line, "stage 1"))
        fail_msg("%s: it is in the cache", line);
    ++*lines;
    return 0;
}

static int stop_at_once(void *user, const char *line)
{
    (void)user;
    (void)line;
    return 1;
}

static void maps_of_heads(void **state)
{
    (void)state;
    place p;
    char data[RF_PATH_MAX], set[RF_PATH_MAX];
    size_t lines = 0;
    rf_error err = {0};
    place_make(&p);
    rf_lab_options lab = make_lab(&p, data, set);
    assert_int_equal(rf_lab_run(&lab, NULL, NULL, &err), RF_OK);
    rf_lab_report_options o = {
        .data = data, .threads = 1, .progress = count_lines, .user = &lines};
    char *a = report(&p, &o);
    assert_int_equal(count(a, "<figure class=\"map\">"), 3);
    assert_has(a, "Heads of <span class=\"t\">toy</span>, 50&nbsp;% known, seed 2;");
    assert_has(a, "of 6 texts of the class, ");
    assert_has(a, "of 18 open texts and ");
    assert_int_equal(count(a, "\"a synthetic negative\","), 3 * 60);
    assert_has_not(a, "<thank>");
    assert_has(a, "It contains texts of a test set");
    assert_true(lines > 0);
    o.threads = 3;
    char *b = report(&p, &o);
    assert_string_equal(a, b);
    free(a);
    free(b);

    /* Stopped: the page that was there stays. */
    scratch_write(p.dir, "page.html", "old", 3);
    o.progress = stop_at_once;
    assert_int_equal(rf_lab_report(p.dir, &o, p.page, &err), RF_ERR_STOPPED);
    o.progress = NULL;
    o.set = "nowhere";
    assert_int_equal(rf_lab_report(p.dir, &o, p.page, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "nowhere");
    a = scratch_read(p.page, NULL);
    assert_string_equal(a, "old");
    free(a);
    scratch_remove(p.dir);
}

/* ---- What it refuses --------------------------------------------------------------- */

static void refused(void **state)
{
    (void)state;
    place p;
    rf_error err = {0};
    place_make(&p);
    assert_int_equal(rf_lab_report(p.dir, NULL, p.page, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "runs.jsonl", "no runs");
    assert_false(rf_file_exists(p.page));
    add(&p, run_of("toy", 0.5, 0, "ans", 70), NULL, NULL);
    rf_lab_report_options o = {.encoder = "bert"};
    assert_int_equal(rf_lab_report(p.dir, &o, p.page, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "bert");
    assert_int_equal(rf_lab_report(p.dir, &o, p.page, NULL), RF_ERR_MISSING);
    assert_int_not_equal(rf_lab_report(p.dir, NULL, "/nowhere/x.html", &err), RF_OK);
    scratch_remove(p.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_of_one_run),
        cmocka_unit_test(headline_and_pairs),
        cmocka_unit_test(difference_that_may_be_chance),
        cmocka_unit_test(several_encoders),
        cmocka_unit_test(few_uneven_rows),
        cmocka_unit_test(sweeps_without_default_runs),
        cmocka_unit_test(ablation_and_negatives),
        cmocka_unit_test(errors_by_kind_and_pair),
        cmocka_unit_test(hostile_names_are_escaped),
        cmocka_unit_test(order_of_lines_does_not_matter),
        cmocka_unit_test(maps_of_heads),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
