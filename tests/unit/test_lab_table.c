/*
 * Grids in all formats to the letter, and rf_lab_table where the program cannot reach it.
 */
#include "lab/grid.h"
#include "lab/results.h"

#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rf_record ours = {.set = "s",
                               .method = "m, n",
                               .source = "measured",
                               .metric = "f1",
                               .ratio = 0.25,
                               .n = 2,
                               .value = 80.125,
                               .has_spread = true,
                               .sd = 0.5,
                               .low = -4.25,
                               .high = 9};
static const rf_record theirs = {.set = "s",
                                 .method = "k",
                                 .variant = "v=1",
                                 .source = "paper",
                                 .metric = "f1",
                                 .encoder = "other",
                                 .value = 90};

/* Two label columns, two of figures; a tie in the first of them. */
static char *written(rf_table_format format)
{
    rf_sheet sheet;
    rf_grid grid;
    rf_sheet_init(&sheet, format, NULL);
    rf_grid_open(&grid, &sheet, "main", "enc", 1);
    rf_grid_column(&grid, "method");
    rf_grid_column(&grid, "F1");
    rf_grid_column(&grid, "95 %");
    rf_record lower = ours;
    lower.value = 80.1249; /* looks the same: both are best */
    rf_grid_words(&grid, "añs_1");
    rf_grid_figure(&grid, &ours);
    rf_grid_figure_as(&grid, &ours, "[-4.25, 9]");
    rf_grid_words(&grid, "b|c");
    rf_grid_figure(&grid, &lower);
    rf_grid_empty(&grid);
    rf_grid_words(&grid, "k");
    rf_grid_figure(&grid, &theirs);
    rf_grid_words(&grid, "");
    assert_int_equal(rf_grid_rows(&grid), 3);
    rf_grid_mark_best(&grid, "measured");
    rf_grid_close(&grid, "Title 100 %%");
    rf_sheet_paragraph(&sheet, "One %d_%s.", 2, "x");
    rf_grid_open(&grid, &sheet, "none", "enc", 1); /* without rows: no trace */
    rf_grid_column(&grid, "method");
    rf_grid_close(&grid, "Nothing");
    assert_int_equal(sheet.status, RF_OK);
    return sheet.text.data;
}

static void check(rf_table_format format, const char *want)
{
    char *got = written(format);
    assert_string_equal(got, want);
    free(got);
}

static void test_formats(void **state)
{
    (void)state;
    check(RF_TABLE_TEXT, "Title 100 %\n\n"
                         "method     F1         95 %\n"
                         "--------------------------\n"
                         "añs_1   80.12*  [-4.25, 9]\n"
                         "b|c     80.12*           -\n"
                         "k       90.00\n"
                         "\n"
                         "One 2_x.\n\n");
    check(RF_TABLE_MARKDOWN, "### Title 100 %\n\n"
                             "| method | F1 | 95 % |\n"
                             "|:---|---:|---:|\n"
                             "| añs\\_1 | **80.12** | \\[-4.25, 9\\] |\n"
                             "| b\\|c | **80.12** | - |\n"
                             "| k | 90.00 |  |\n"
                             "\n"
                             "One 2\\_x.\n\n");
    check(RF_TABLE_LATEX, "\\noindent\\textbf{Title 100 \\%}\n\n\\noindent\n"
                          "\\begin{tabular}{lrr}\n\\hline\n"
                          "method & F1 & 95 \\% \\\\\n\\hline\n"
                          "añs\\_1 & \\textbf{80.12} & {}[-4.25, 9] \\\\\n"
                          "b\\textbar{}c & \\textbf{80.12} & - \\\\\n"
                          "k & 90.00 &  \\\\\n"
                          "\\hline\n\\end{tabular}\n"
                          "\n"
                          "One 2\\_x.\n\n");
    check(RF_TABLE_CSV,
          "table,encoder,set,ratio,method,variant,source,metric,n,value,sd,low,high,p\n"
          "main,enc,s,0.25,\"m, n\",,measured,f1,2,80.125,0.5,-4.25,9,\n"
          "main,enc,s,0.25,\"m, n\",,measured,f1,2,80.125,0.5,-4.25,9,\n"
          "main,enc,s,0.25,\"m, n\",,measured,f1,2,80.1249,0.5,-4.25,9,\n"
          "main,other,s,,k,v=1,paper,f1,,90,,,,\n");
}

static void test_paragraph_breaks(void **state)
{
    rf_sheet sheet;
    char text[512] = "";
    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(text, "word56789 ");
    rf_sheet_init(&sheet, RF_TABLE_TEXT, NULL);
    rf_sheet_paragraph(&sheet, "%s", text);
    size_t longest = 0;
    for (const char *line = sheet.text.data; *line; line++) {
        size_t length = strcspn(line, "\n");
        longest = length > longest ? length : longest;
        line += length;
    }
    assert_in_range(longest, 80, 90);
    rf_buffer_release(&sheet.text);
}

static void test_refused(void **state)
{
    char dir[RF_PATH_MAX], *text = dir;
    rf_error err = {0};
    (void)state;
    scratch_make(dir);
    assert_int_equal(rf_lab_table(dir, NULL, &text, &err), RF_ERR_MISSING);
    assert_null(text);
    assert_error(&err, RF_ERR_MISSING, dir, "runs.jsonl: no runs");
    rf_table_options o = {.format = (rf_table_format)4};
    assert_int_equal(rf_lab_table(dir, &o, &text, &err), RF_ERR_ARG);
    o = (rf_table_options){.which = "best"};
    assert_int_equal(rf_lab_table(dir, &o, &text, NULL), RF_ERR_ARG);
    scratch_write(dir, RF_RUNS_FILE, "{}\n", 3);
    assert_int_equal(rf_lab_table(dir, NULL, &text, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "line 1", "\"set\" is missing");
    scratch_remove(dir);
}

/* One run of a method: nothing is marked, no spread, no pair. */
static void test_one_run(void **state)
{
    char dir[RF_PATH_MAX], *text = NULL;
    rf_run run = {.ratio = 0.5, .accuracy = 50, .f1 = 40, .f1_known = 30, .f1_open = 60};
    (void)state;
    strcpy(run.set, "mine");
    strcpy(run.method, "strange");
    strcpy(run.encoder, "e");
    scratch_make(dir);
    assert_int_equal(rf_run_append(dir, &run, NULL), RF_OK);
    rf_table_options o = {.which = "main"};
    assert_int_equal(rf_lab_table(dir, &o, &text, NULL), RF_OK);
    assert_non_null(strstr(text, "strange  measured     50.00    40.00  1\n"));
    assert_null(strstr(text, "Published")); /* nobody has published anything of it */
    free(text);
    o = (rf_table_options){.which = "deviations", .format = RF_TABLE_CSV};
    assert_int_equal(rf_lab_table(dir, &o, &text, NULL), RF_OK);
    assert_string_equal(strchr(text, '\n'), "\n"); /* the head alone */
    free(text);
    assert_int_equal(rf_lab_table(dir, NULL, &text, NULL), RF_OK);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "ANS minus"));
    free(text);
    scratch_remove(dir);
}

/* Draws by median, the best of each marked, figures that older lines lack as "-", and no
 * such run among the full ones. */
static void test_few(void **state)
{
    static const struct {
        const char *method, *variant;
        uint64_t seed;
        double f1, best, closed;
    } runs[] = {
        {"msp", "rows=lognormal:10:0.9", 0, 40, 50, 60},
        {"msp", "rows=lognormal:10:0.9", 1, 50, 60, 80},
        {"ans", "rows=lognormal:10:0.9", 0, 48, 52, -1},
        {"ans", "rows=lognormal:5:0.9", 0, 33, 34, 35},
        {"ans", "rows=5", 0, 11, 12, 13},
        {"ans", "", 0, 88, 89, 90},
    };
    char dir[RF_PATH_MAX], *text = NULL;
    (void)state;
    scratch_make(dir);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        rf_run run = {.ratio = 0.5,
                      .seed = runs[i].seed,
                      .accuracy = 1,
                      .f1 = runs[i].f1,
                      .best_f1 = runs[i].best,
                      .closed = runs[i].closed,
                      .auroc = runs[i].closed,
                      .best_accuracy = 2};
        strcpy(run.set, "mine");
        strcpy(run.encoder, "e");
        strcpy(run.method, runs[i].method);
        strcpy(run.variant, runs[i].variant);
        assert_int_equal(rf_run_append(dir, &run, NULL), RF_OK);
    }
    rf_table_options o = {.which = "few"};
    assert_int_equal(rf_lab_table(dir, &o, &text, NULL), RF_OK);
    const char *five = strstr(text, "Few uneven rows: mine, 50 % known, median 5 rows");
    const char *ten = strstr(text, "median 10 rows per class, spread 0.9 (encoder e)");
    assert_true(five && ten && five < ten);
    assert_non_null(strstr(ten, "msp     2   70.00  70.00  1.00*  45.00       2.00*    "
                                "55.00*"));
    assert_non_null(strstr(ten, "ans     1       -      -  1.00*  48.00*      2.00*    "
                                "52.00"));
    assert_null(strstr(text, "11.00")); /* even draws and full runs */
    assert_null(strstr(text, "88.00"));
    free(text);
    o.which = "main";
    assert_int_equal(rf_lab_table(dir, &o, &text, NULL), RF_OK);
    assert_non_null(strstr(text, "88.00"));
    assert_null(strstr(text, "48.00"));
    free(text);
    o.which = "sweeps";
    assert_int_equal(rf_lab_table(dir, &o, &text, NULL), RF_OK);
    const char *ans = strstr(text, "ans "); /* after those of msp */
    assert_non_null(ans);
    const char *even = strstr(ans, "rows=5 "), *small = strstr(ans, "rows=lognormal:5:");
    const char *large = strstr(ans, "rows=lognormal:10:");
    assert_true(even && small && large && even < small && small < large);
    free(text);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats), cmocka_unit_test(test_paragraph_breaks),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_one_run),
        cmocka_unit_test(test_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
