/*
 * Pages: text that must stay text, numbers in any locale, scales, and the report of a
 * model: complete for odd test sets, the same bytes for any number of threads, and whole
 * or not at all. What a browser makes of it is tested in tests/pages.
 *
 * With RF_GALLERY=FILE in the environment a page with every kind of chart is left there.
 */
#include "tiny_model.h"

#include "near.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/svg_parts.h"
#include "ringfence_review.h"
#include "scratch.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t occurrences(const char *page, const char *what)
{
    size_t n = 0;
    for (const char *at = page; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static void assert_in(const char *page, const char *what)
{
    if (!strstr(page, what))
        fail_msg("the page does not hold: %s", what);
}

/* ---- Text and numbers -------------------------------------------------------------- */

typedef struct text_case {
    const char *text;
    size_t len;
    const char *html, *json;
} text_case;

#define CASE(text, html, json)                                                           \
    {                                                                                    \
        text, sizeof text - 1, html, json                                                \
    }
#define BAD "\xef\xbf\xbd"

static void text_stays_text(void **state)
{
    (void)state;
    static const text_case cases[] = {
        CASE("plain", "plain", "\"plain\""),
        CASE("", "", "\"\""),
        CASE("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;",
             "\"a\\u003cb\\u003e\\u0026\\\"'\""),
        CASE("</script><!--", "&lt;/script&gt;&lt;!--",
             "\"\\u003c/script\\u003e\\u003c!--\""),
        CASE("\\\n\t", "\\\n\t", "\"\\\\\\n\\t\""),
        CASE("a\0b\x01\x7f\r", "a" BAD "b" BAD BAD BAD, "\"a" BAD "b" BAD BAD BAD "\""),
        CASE("\xff\xc3(\xe2\x82", BAD BAD "(" BAD, "\"" BAD BAD "(" BAD "\""),
        CASE("\xed\xa0\x80", BAD BAD BAD, "\"" BAD BAD BAD "\""), /* a surrogate */
        CASE("\xef\xbf\xbf\xc2\x85", BAD BAD, "\"" BAD BAD "\""), /* U+FFFF, U+0085 */
        CASE("\xe2\x80\xa8\xf0\x9f\x9a\xb2", "\xe2\x80\xa8\xf0\x9f\x9a\xb2",
             "\"\\u2028\xf0\x9f\x9a\xb2\""),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_page p;
        rf_page_init(&p);
        rf_page_text(&p, cases[i].text, cases[i].len);
        assert_string_equal(p.out.data ? p.out.data : "", cases[i].html);
        rf_buffer_clear(&p.out);
        rf_page_json(&p, cases[i].text, cases[i].len, SIZE_MAX);
        assert_string_equal(p.out.data, cases[i].json);
        rf_page_release(&p);
    }
}

static void cut_between_characters(void **state)
{
    (void)state;
    rf_page p;
    rf_page_init(&p);
    rf_page_text_cut(&p, "\xc3\xa4<\xc3\xb6xyz", 8, 3);
    assert_string_equal(p.out.data, "\xc3\xa4&lt;\xc3\xb6\xe2\x80\xa6");
    rf_buffer_clear(&p.out);
    rf_page_text_cut(&p, "abc", 3, 3);
    rf_page_json(&p, "ab\xc3", 3, 2);
    assert_string_equal(p.out.data, "abc\"ab\xe2\x80\xa6\"");
    rf_page_release(&p);
}

static void numbers_have_points(void **state)
{
    (void)state;
    rf_page p;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* if it is there, the harder test */
    rf_page_init(&p);
    rf_page_number(&p, 12.345, 2);
    rf_page_number(&p, -0.04, 1);
    rf_page_add(&p, " ");
    rf_page_number(&p, -99.96, 1);
    rf_page_add(&p, " ");
    rf_page_number(&p, NAN, 1);
    rf_page_number(&p, 1e300, 0);
    rf_page_add(&p, " ");
    rf_page_short(&p, 5.50, 3);
    rf_page_short(&p, -7, 1);
    rf_page_short(&p, 100, 0);
    rf_page_add(&p, " ");
    rf_page_count(&p, 0);
    rf_page_add(&p, " ");
    rf_page_count(&p, 999);
    rf_page_add(&p, " ");
    rf_page_count(&p, 1234567);
    setlocale(LC_ALL, "C");
    assert_string_equal(p.out.data, "12.350.0 -100.0 n/an/a 5.5-7100 0 999 1,234,567");
    rf_page_release(&p);
}

static void failures_stick(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_page p;
    rf_page_init(&p);
    p.out.ceiling = 5;
    rf_page_add(&p, "1234");
    rf_page_add(&p, "5678");
    rf_page_addf(&p, "%d", 9);
    assert_string_equal(p.out.data, "1234");
    assert_int_equal(rf_page_write(&p, "/nowhere/at/all", &err), RF_ERR_LIMIT);
    assert_error(&err, RF_ERR_LIMIT, "a page", "5 bytes");
    rf_page_release(&p);
}

/* ---- Scales ------------------------------------------------------------------------ */

static void assert_ticks(const rf_axis axis, double low, double high, const char *want)
{
    rf_scale s = rf_scale_for(&axis, low, high, 0, 100);
    double ticks[RF_MAX_TICKS];
    char got[200] = "";
    size_t n = rf_scale_ticks(&s, 5, ticks), at = 0;
    for (size_t i = 0; i < n; i++) {
        double place = rf_scale_at(&s, ticks[i]);
        assert_true(place > -1e-6 && place < 100 + 1e-6);
        at += (size_t)snprintf(got + at, sizeof got - at, "%g ", ticks[i]);
    }
    assert_string_equal(got, want);
}

static void ticks_are_round(void **state)
{
    (void)state;
    assert_ticks((rf_axis){.low = 0, .high = 100}, 0, 0, "0 20 40 60 80 100 ");
    assert_ticks((rf_axis){0}, 0.13, 0.87, "0 0.2 0.4 0.6 0.8 1 ");
    assert_ticks((rf_axis){0}, -7.3, 4.1, "-10 -5 0 5 ");
    assert_ticks((rf_axis){0}, 5, 5, "5 5.2 5.4 5.6 5.8 6 ");
    assert_ticks((rf_axis){0}, INFINITY, -INFINITY, "0 0.2 0.4 0.6 0.8 1 ");
    assert_ticks((rf_axis){.log = true}, 1, 1000, "1 10 100 1000 ");
    assert_ticks((rf_axis){.log = true}, 4, 40, "5 10 20 ");
    assert_ticks((rf_axis){.log = true}, -1, 5, "1 2 5 10 ");
    assert_ticks((rf_axis){.log = true}, 1e-9, 1e9, "1e-09 1e-05 0.1 1000 1e+07 ");
}

/* ---- Every kind of chart ----------------------------------------------------------- */

static void put_bars_and_lines(rf_page *p)
{
    static const double x[] = {1, 5, 10, 50, 100, 500};
    static const double y[3][6] = {
        {41, 58, 66, 74, 77, 79.5}, {35, 55, 64, NAN, 77, 79}, {20, 31, 44, 52, 61, 66}};
    static const double low[] = {36, 54, 63, 72, 75.5, 78.5};
    static const double high[] = {46, 62, 69, 76, 78.5, 80.5};
    static const char *const groups[] = {"banking, a quarter of the classes known",
                                         "<b>oos</b> & \"others\"", "stackoverflow"};
    static const double value[2][3] = {{80.1, 71.9, 88}, {76.4, NAN, 84.2}};
    static const double from[] = {78, 70.4, 87.2}, to[] = {82, 73.3, 88.8};
    const rf_bars bars[] = {{"ans", value[0], from, to}, {"adb", value[1], NULL, NULL}};
    const rf_line lines[] = {{"ans", 6, x, y[0], low, high},
                             {"adb, a gap", 6, x, y[1], NULL, NULL},
                             {"msp", 6, x, y[2], NULL, NULL}};
    const rf_inset inset = {60, 600, 75, 82, 0.52, 0.48, 0.46, 0.46};
    rf_page_section(p, "Bars", NULL);
    rf_svg_bars(p, &(rf_bar_chart){.title = "F1 by data set",
                                   .description = "Two methods",
                                   .axis = {"F1, %", 0, 100, false},
                                   .groups = groups,
                                   .n_groups = 3,
                                   .series = bars,
                                   .n_series = 2,
                                   .decimals = 1});
    rf_page_section_end(p);
    rf_page_section(p, "Lines", "A logarithmic axis, an interval, an enlarged part.");
    rf_svg_lines(p, &(rf_line_chart){.title = "F1 by texts",
                                     .description = "Three methods",
                                     .x = {"texts per class", 0, 0, true},
                                     .y = {"F1, %", 0, 0, false},
                                     .lines = lines,
                                     .n_lines = 3,
                                     .inset = &inset});
    rf_page_section_end(p);
}

/* More lines than colours: each has its own colour, shape and dash. */
static void put_many_lines(rf_page *p)
{
    static const double x[] = {25, 50, 75};
    double y[12][3];
    rf_line lines[12];
    char names[12][12];
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < 3; k++)
            y[i][k] = 90 - 4 * (double)i - 3 * (double)k * (double)(i % 3);
        snprintf(names[i], sizeof names[i], "method %u", (unsigned)i);
        lines[i] = (rf_line){names[i], 3, x, y[i], NULL, NULL};
    }
    rf_page_section(p, "Many lines", NULL);
    rf_svg_lines(p, &(rf_line_chart){.title = "Twelve methods",
                                     .description = "Twelve lines",
                                     .x = {"known classes, %", 20, 80, false},
                                     .y = {"F1, %", 0, 0, false},
                                     .lines = lines,
                                     .n_lines = 12});
    rf_page_section_end(p);
}

static void put_map_and_heat(rf_page *p, size_t n)
{
    static const char *const names[] = {"first", "second", "<i>third</i>"};
    static const double values[] = {50, 2, 0, 4, 41, 7, 0, 1, 60};
    const rf_map_series series[] = {
        {"first", 0}, {"second", 1}, {"<i>third</i>", 5}, {"open", RF_KEY_OPEN}};
    const rf_inset inset = {-1, 1, -1, 1, 0.72, 0.02, 0.26, 0.4};
    rf_map_mark *points = calloc(n + 1, sizeof *points);
    for (size_t i = 0; i < n; i++) {
        double turn = (double)i * 2.4, far = sqrt((double)i) / 4;
        points[i] = (rf_map_mark){
            far * cos(turn), far * sin(turn),      i % 4, "a text </script>", 16, i % 3,
            (i + i / 9) % 3, (double)(i % 11) / 10};
    }
    points[n] = (rf_map_mark){NAN, 0, 0, "never shown", 11, 0, 0, 0};
    rf_page_section(p, "Map", NULL);
    rf_svg_map(p, &(rf_map_chart){.title = "A spiral",
                                  .description = "Points",
                                  .points = points,
                                  .n_points = n + 1,
                                  .series = series,
                                  .n_series = 4,
                                  .names = names,
                                  .n_names = 3,
                                  .inset = &inset});
    rf_page_section_end(p);
    rf_page_section(p, "Heat", NULL);
    rf_page_heat(p, &(rf_heat){.label = "Answers",
                               .rows = names,
                               .columns = names,
                               .n_rows = 3,
                               .n_columns = 3,
                               .values = values,
                               .diagonal = true});
    rf_page_section_end(p);
    free(points);
}

static void put_reliability(rf_page *p)
{
    static const double right[] = {10, 0, 65.5, 100};
    static const size_t count[] = {3, 0, 9949, 1234567};
    rf_svg_reliability(p, &(rf_reliability_chart){.title = "Confidence & <truth>",
                                                  .description = "Four bins.",
                                                  .right = right,
                                                  .count = count,
                                                  .n_bins = 4});
}

static void every_chart(void **state)
{
    (void)state;
    rf_page p;
    const char *gallery = getenv("RF_GALLERY");
    rf_page_init(&p);
    rf_page_begin(&p, "Gallery <of> charts", "For a look");
    put_bars_and_lines(&p);
    put_many_lines(&p);
    put_reliability(&p);
    put_map_and_heat(&p, 300);
    rf_page_end(&p);
    assert_int_equal(p.err.code, RF_OK);
    const char *page = p.out.data;
    assert_int_equal(occurrences(page, "role=\"img\""), 5);
    assert_int_equal(occurrences(page, "<title id="), 5);
    /* of the bars one value is missing, of the bins one is empty */
    assert_int_equal(occurrences(page, "<rect class=\"k"), 5 + 3);
    assert_in(page, ">9.9k</text>");
    assert_in(page, "<title>Gallery &lt;of&gt; charts</title>");
    assert_in(page, "&lt;b&gt;oos&lt;/b&gt; &amp; &quot;others&quot;");
    assert_in(page, "a text \\u003c/script\\u003e");
    assert_null(strstr(page, "<i>third"));
    assert_null(strstr(page, "never shown"));
    assert_null(strstr(page, "n/a"));
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    if (gallery)
        assert_int_equal(rf_page_write(&p, gallery, NULL), RF_OK);
    rf_page_release(&p);
}

static void charts_of_nothing(void **state)
{
    (void)state;
    rf_page p;
    rf_page_init(&p);
    rf_svg_bars(&p, &(rf_bar_chart){.title = "t"});
    rf_svg_lines(&p, &(rf_line_chart){.title = "t"});
    rf_svg_lines(&p,
                 &(rf_line_chart){.title = "t", .x = {.log = true}, .y = {.log = true}});
    rf_svg_map(&p, &(rf_map_chart){.title = "t"});
    rf_svg_reliability(&p, &(rf_reliability_chart){.title = "t"});
    rf_page_heat(&p, &(rf_heat){.label = "t"});
    put_map_and_heat(&p, 0);
    put_map_and_heat(&p, 1);
    put_map_and_heat(&p, 2);
    assert_int_equal(p.err.code, RF_OK);
    assert_null(strstr(p.out.data, "n/a"));
    rf_page_release(&p);
}

static void ten_thousand_points_are_small(void **state)
{
    (void)state;
    rf_page p;
    rf_page_init(&p);
    put_map_and_heat(&p, 10000);
    assert_int_equal(p.err.code, RF_OK);
    assert_true(p.out.len < 10000 * 50); /* of which the text takes 28 */
    rf_page_release(&p);
}

/* ---- The report of a model --------------------------------------------------------- */

enum { CLASSES = 11 };

/* With what a trained model says about itself. */
static rf_model *described_model(size_t classes, float shift)
{
    rf_model *m = tiny_model_new(classes, shift);
    m->stats.distance = calloc(classes, sizeof(float));
    m->stats.rows = calloc(classes, sizeof(size_t));
    m->radius = calloc(classes, sizeof(float));
    assert_true(m->stats.distance && m->stats.rows && m->radius);
    assert_int_equal(rf_model_describe(m, NULL), RF_OK);
    return m;
}

/* Rows of a test set: every open_every-th is open; 0: none; 1: all. */
static rf_dataset *make_set(size_t rows, size_t classes, size_t open_every)
{
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t i = 0; i < rows; i++) {
        char text[80], label[40];
        size_t len = 20 + i % 40;
        tiny_text(text, len, i);
        if (i % 5 == 0)
            memcpy(text, "<script>bad()</script>\xff\0", 24), len = len > 24 ? len : 24;
        if (open_every && i % open_every == 0)
            snprintf(label, sizeof label, "<script>no</script>%zu", i % 3);
        else
            snprintf(label, sizeof label, "c%04zu", i % classes);
        assert_int_equal(rf_dataset_add(data, text, len, label, strlen(label), NULL),
                         RF_OK);
    }
    return data;
}

static char *report(const rf_model *model, const rf_dataset *data,
                    const rf_report_options *o, size_t *len)
{
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "report.html");
    if (rf_report_model(model, data, o, path, &err) != RF_OK)
        fail_msg("no report: %s", err.msg);
    char *page = scratch_read(path, len);
    scratch_remove(dir);
    return page;
}

static void assert_sound(const char *page, size_t len)
{
    assert_int_equal(strlen(page), len); /* no NUL */
    assert_null(strstr(page, "\"n/a"));  /* places that are no numbers */
    assert_null(strstr(page, "Mn/a"));
    assert_null(strstr(page, "Ln/a"));
    assert_null(strstr(page, "n/a%"));
    assert_null(strstr(page, "<script>bad"));
    assert_null(strstr(page, "<script>no"));
    assert_int_equal(occurrences(page, "<section>"), occurrences(page, "</section>"));
    assert_int_equal(occurrences(page, "<table>"), occurrences(page, "</table>"));
    assert_int_equal(occurrences(page, "<tr>"), occurrences(page, "</tr>"));
    assert_int_equal(occurrences(page, "<script"), occurrences(page, "</script>"));
    assert_int_equal(occurrences(page, "<svg"), occurrences(page, "</svg>"));
    assert_in(page, "default-src 'none'");
    assert_in(page, "</html>\n");
}

/* How many of the rows from `first` on are on the map; those of plain letters count. */
static size_t shown_from(const char *page, const rf_dataset *data, size_t first)
{
    const char *points = strstr(page, "\"points\":[");
    size_t n = 0;
    assert_non_null(points);
    for (size_t i = first; i < rf_dataset_rows(data); i++) {
        char quoted[100];
        snprintf(quoted, sizeof quoted, "[\"%s\",", rf_dataset_text(data, i, NULL));
        n += i % 5 != 0 && strstr(points, quoted);
    }
    return n;
}

static void same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    rf_model *model = described_model(CLASSES, -1.6f);
    rf_dataset *data = make_set(300, CLASSES, 4);
    rf_report_options o = rf_report_options_default();
    size_t len, other_len;
    o.title = "a <title>";
    o.max_points = 200;
    o.threads = 1;
    char *page = report(model, data, &o, &len);
    o.threads = 3;
    char *other = report(model, data, &o, &other_len);
    assert_int_equal(len, other_len);
    assert_memory_equal(page, other, len);
    assert_sound(page, len);
    assert_in(page, "<h1>a &lt;title&gt;</h1>");
    assert_in(page, "A random sample of 200 of the 300 texts");
    assert_int_equal(occurrences(page, "<li><b>"), 9);
    assert_in_range(shown_from(page, data, 200), 40, 80); /* not just the first ones */
    free(other);
    o.seed = 1; /* another sample, another map */
    other = report(model, data, &o, &other_len);
    assert_true(len != other_len || memcmp(page, other, len) != 0);
    free(page);
    free(other);
    rf_dataset_free(data);
    rf_model_free(model);
}

/* The figures of the page are those of rf_evaluate. */
static void figures_of_the_evaluation(void **state)
{
    (void)state;
    rf_model *model = described_model(CLASSES, -1.6f);
    rf_dataset *data = make_set(300, CLASSES, 4);
    rf_session *session = rf_session_new(model, 2, NULL);
    rf_evaluation e;
    size_t len;
    char *page = report(model, data, NULL, &len), want[80];
    assert_int_equal(rf_evaluate(session, data, &e, NULL), RF_OK);
    const double figures[] = {e.accuracy, e.f1,        e.f1_known,
                              e.f1_open,  e.f1_tested, e.auroc};
    const char *const names[] = {"Accuracy", "F1",        "F1-known",
                                 "F1-open",  "F1-tested", "AUROC"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        snprintf(want, sizeof want, "<li><b>%s</b><span class=\"v\">%.1f<small>",
                 names[i], figures[i]);
        assert_in(page, want);
    }
    snprintf(want, sizeof want, "<li><b>MCC</b><span class=\"v\">%.2f</span>", e.mcc);
    assert_in(page, want);
    snprintf(want, sizeof want, "Of %zu texts of known classes", e.n - e.n_open);
    assert_in(page, want);
    snprintf(want, sizeof want, "Of %zu open texts", e.n_open);
    assert_in(page, want);
    assert_int_equal(occurrences(page, "<span class=\"bar\""), CLASSES + 1);
    free(page);
    rf_evaluation_release(&e);
    rf_session_free(session);
    rf_dataset_free(data);
    rf_model_free(model);
}

/* The bars, the table and the words are those of rf_evaluate; what was promised stands
 * beside what happened. */
static void confidence_and_promise(void **state)
{
    (void)state;
    static const char *const budget[] = {
        "{\"budget\": {\"max_false_accept\": 0.01, \"expected_false_accept\": 0.008, "
        "\"interval\": [0.004, 0.02]}}",
        "{\"budget\": {\"expected_false_accept\": 0.5, \"interval\": [0.01, 0.999], "
        "\"max_false_reject\": 0.02, \"expected_false_reject\": 0.01, "
        "\"reject_interval\": [0, 1]}}",
        "{\"budget\": {\"expected_false_accept\": 1, \"interval\": [0.9999, 1]}}"};
    static const char *const where[] = {"above that", "within that", "below that"};
    for (size_t i = 0; i < 4; i++) {
        rf_model *model = described_model(CLASSES, -1.2f);
        rf_dataset *data = make_set(300, CLASSES, i < 3 ? 4 : 0);
        rf_session *session = rf_session_new(model, 2, NULL);
        rf_evaluation e;
        size_t len, bars = 0;
        char want[160];
        model->calibration.from = i ? RF_CALIBRATION_FROM_DEFAULTS : 0;
        model->summary = json_loads(budget[i % 3], 0, NULL);
        char *page = report(model, data, NULL, &len);
        assert_sound(page, len);
        assert_int_equal(rf_evaluate(session, data, &e, NULL), RF_OK);
        size_t accepted = rf_evaluation_accepted(&e); /* some, not all */
        assert_true(i == 3 || (accepted > 2 && accepted + 2 < e.n_open));
        assert_in(page, "<h2>How reliable the confidence is</h2>");
        assert_in(page, ">Confidence and right answers</title>");
        snprintf(want, sizeof want, "error is <b>%.1f&nbsp;%%</b>", e.calibration_error);
        assert_in(page, want);
        for (size_t b = 0; b < 10; b++) {
            const rf_reliability_bin *bin = &e.reliability[b];
            snprintf(want, sizeof want,
                     bin->count ? "<th scope=\"row\">%zu to %zu</th><td class=\"n\">%zu"
                                  "</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f<"
                                : "<th scope=\"row\">%zu to %zu</th><td class=\"n\">%zu"
                                  "</td><td class=\"n\">&ndash;<",
                     10 * b, 10 * (b + 1), bin->count, bin->confidence, bin->right);
            assert_in(page, want);
            bars += bin->count > 0;
        }
        const char *chart = strstr(page, "<svg class=\"reliability\"");
        assert_non_null(chart);
        size_t drawn = 0, most = (size_t)(strstr(chart, "</svg>") - chart);
        for (size_t k = 0; k + 6 < most; k++)
            drawn += strncmp(chart + k, "<rect ", 6) == 0;
        assert_int_equal(drawn, bars);
        assert_int_equal(strstr(page, "was not calibrated") != NULL, i == 0);
        assert_int_equal(strstr(page, "half of the texts are open") != NULL, i > 0);
        assert_in(page, i < 3 ? where[i] : "This test set has no such texts");
        assert_int_equal(strstr(page, "at most 1.00&nbsp;% of open") != NULL, i % 3 == 0);
        snprintf(want, sizeof want, "(%zu of %zu)", accepted, e.n_open);
        assert_int_equal(strstr(page, want) != NULL, i < 3);
        size_t rejected = 0;
        for (size_t c = 0; c < CLASSES; c++)
            rejected += rf_evaluation_count(&e, c, CLASSES);
        assert_int_equal(strstr(page, "reject at most 2.00&nbsp;% of known") != NULL,
                         i == 1);
        snprintf(want, sizeof want, "it rejected <b>%.2f&nbsp;%%</b> (%zu of %zu)",
                 100.0 * (double)rejected / (double)(e.n - e.n_open), rejected,
                 e.n - e.n_open);
        assert_int_equal(strstr(page, want) != NULL, i == 1);
        free(page);
        rf_evaluation_release(&e);
        rf_session_free(session);
        rf_dataset_free(data);
        rf_model_free(model);
    }
}

static void odd_test_sets(void **state)
{
    (void)state;
    static const struct {
        size_t rows, classes, open_every, model_classes;
    } sets[] = {{0, 1, 0, 3},  {1, 1, 0, 3},  {1, 1, 1, 3},  {2, 1, 2, 1},
                {40, 1, 0, 2}, {40, 9, 1, 9}, {60, 9, 0, 9}, {30, 50, 3, 50}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        rf_model *model = described_model(sets[i].model_classes, i % 2 ? -1.6f : 0);
        rf_dataset *data = make_set(sets[i].rows, sets[i].classes, sets[i].open_every);
        size_t len;
        char *page = report(model, data, NULL, &len);
        assert_sound(page, len);
        assert_int_equal(strstr(page, "has no open texts") != NULL,
                         sets[i].rows > 0 && sets[i].open_every == 0);
        assert_int_equal(strstr(page, "has no texts of known classes") != NULL,
                         sets[i].rows > 0 && sets[i].open_every == 1);
        free(page);
        rf_dataset_free(data);
        rf_model_free(model);
    }
}

static void whole_or_not_at_all(void **state)
{
    (void)state;
    rf_model *model = described_model(2, 0);
    rf_dataset *data = make_set(3, 2, 0);
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    scratch_make(dir);
    scratch_path(path, dir, "missing/report.html");
    assert_int_equal(rf_report_model(model, data, NULL, path, &err), RF_ERR_MISSING);
    assert_error(&err, RF_ERR_MISSING, "missing/");
    scratch_write(dir, "old.html", "old", 3);
    scratch_path(path, dir, "old.html");
    rf_report_options o = rf_report_options_default();
    o.threads = RF_MAX_THREADS + 1;
    assert_int_not_equal(rf_report_model(model, data, &o, path, NULL), RF_OK);
    char *old = scratch_read(path, NULL);
    assert_string_equal(old, "old");
    free(old);
    scratch_remove(dir);
    rf_dataset_free(data);
    rf_model_free(model);
}

/* ---- A review ---------------------------------------------------------------------- */

static void a_review_escapes_everything(void **state)
{
    (void)state;
    enum { N = 40 };
    char dir[RF_PATH_MAX], path[RF_PATH_MAX], bytes[N][80];
    const char *texts[N];
    size_t lens[N];
    rf_error err = {0};
    rf_review_options o = rf_review_options_default();
    rf_report_options title = rf_report_options_default();
    rf_model *m = tiny_model_new(4, -1000.0f); /* rejects everything */
    scratch_make(dir);
    scratch_path(path, dir, "review.html");
    for (size_t i = 0; i < N; i++) {
        texts[i] = bytes[i];
        lens[i] = (size_t)snprintf(bytes[i], sizeof bytes[i],
                                   "<img src=x onerror=y> & </script>\xff %s %zu",
                                   i % 2 ? "where is it" : "thank you", i * i);
    }
    o.min_texts = 2;
    title.title = "<b>title</b>";
    rf_review *r = rf_review_texts(m, texts, lens, N, &o, &err);
    assert_non_null(r);
    assert_int_equal(rf_report_review(r, &title, path, &err), RF_OK);
    char *page = scratch_read(path, NULL);
    assert_in(page, "&lt;b&gt;title");
    assert_in(page, "40 were rejected");
    assert_in(page, "&lt;img src=x onerror=y&gt; &amp; &lt;/script&gt;" BAD);
    assert_null(strstr(page, "<img"));
    assert_int_equal(occurrences(page, "</script>"), 1);
    assert_int_equal(occurrences(page, "class=\"card\""), rf_review_groups(r));
    assert_int_equal(occurrences(page, "<tr><td class=\"n\">"), rf_review_groups(r));
    rf_review_free(r);
    free(page);
    assert_int_equal(unlink(path), 0);
    r = rf_review_texts(m, texts, lens, 0, NULL, &err); /* of nothing */
    assert_int_equal(rf_report_review(r, NULL, path, &err), RF_OK);
    page = scratch_read(path, NULL);
    assert_in(page, "No group of them looks like a new class.");
    free(page);
    scratch_path(path, dir, "no/such/place.html");
    assert_int_equal(rf_report_review(r, NULL, path, &err), RF_ERR_MISSING);
    rf_review_free(r);
    rf_model_free(m);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_text),
        cmocka_unit_test(cut_between_characters),
        cmocka_unit_test(numbers_have_points),
        cmocka_unit_test(failures_stick),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(every_chart),
        cmocka_unit_test(charts_of_nothing),
        cmocka_unit_test(ten_thousand_points_are_small),
        cmocka_unit_test(same_bytes_for_any_number_of_threads),
        cmocka_unit_test(figures_of_the_evaluation),
        cmocka_unit_test(confidence_and_promise),
        cmocka_unit_test(odd_test_sets),
        cmocka_unit_test(whole_or_not_at_all),
        cmocka_unit_test(a_review_escapes_everything),
    };
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
