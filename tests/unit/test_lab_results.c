/*
 * The file of runs: what was added is read back, later lines replace earlier ones, a
 * crash costs the last line at most, and everything else that is wrong is told with its
 * line.
 */
#include "lab/results.h"

#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static rf_run sample(uint64_t seed)
{
    rf_run run = {.ratio = 0.25,
                  .seed = seed,
                  .known_classes = 19,
                  .train_rows = 2229,
                  .dev_rows = 250,
                  .test_rows = 3080,
                  .accuracy = 80.123456789012345,
                  .f1 = 73.1,
                  .f1_known = 72.5,
                  .f1_open = 100.0 / 3,
                  .closed = 91.5,
                  .auroc = 200.0 / 3,
                  .best_f1 = 75.25,
                  .best_accuracy = 81,
                  .seconds = {1.5, 20, 0.25, 3},
                  .shared_known = true,
                  .threads = 2};
    strcpy(run.set, "banking");
    strcpy(run.method, "ans");
    strcpy(run.encoder, "minilm");
    strcpy(run.variant, "radius=8");
    strcpy(run.version, "0.1.0");
    strcpy(run.kernels, "avx2");
    memset(run.classes_sha256, 'a', 64);
    return run;
}

static void append(const char *dir, const rf_run *run)
{
    rf_error err = {0};
    if (rf_run_append(dir, run, &err) != RF_OK)
        fail_msg("%s", err.msg);
}

static rf_run *load(const char *dir, size_t want)
{
    rf_error err = {0};
    rf_run *list;
    size_t n;
    if (rf_runs_load(dir, &list, &n, &err) != RF_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(n, want);
    return list;
}

static void check_same(const rf_run *a, const rf_run *b)
{
    assert_int_equal(rf_run_compare(a, b), 0);
    assert_int_equal(a->known_classes, b->known_classes);
    assert_int_equal(a->train_rows, b->train_rows);
    assert_int_equal(a->dev_rows, b->dev_rows);
    assert_int_equal(a->test_rows, b->test_rows);
    assert_string_equal(a->classes_sha256, b->classes_sha256);
    assert_true(a->accuracy == b->accuracy && a->f1 == b->f1); /* to the last bit */
    assert_true(a->f1_known == b->f1_known && a->f1_open == b->f1_open);
    assert_true(a->closed == b->closed && a->auroc == b->auroc);
    assert_true(a->best_f1 == b->best_f1 && a->best_accuracy == b->best_accuracy);
    assert_true(a->seconds.encode == b->seconds.encode);
    assert_true(a->seconds.known == b->seconds.known);
    assert_true(a->seconds.open == b->seconds.open);
    assert_true(a->seconds.test == b->seconds.test);
    assert_int_equal(a->shared_known, b->shared_known);
    assert_int_equal(a->threads, b->threads);
    assert_string_equal(a->version, b->version);
    assert_string_equal(a->kernels, b->kernels);
    assert_int_equal(json_equal(a->settings, b->settings), a->settings != NULL);
    assert_int_equal(json_equal(a->confusions, b->confusions), a->confusions != NULL);
}

static void test_round_trip(void **state)
{
    char dir[RF_PATH_MAX], deep[RF_PATH_MAX];
    (void)state;
    scratch_make(dir);
    scratch_path(deep, dir, "new/place"); /* is made */
    rf_run a = sample(0), b = sample(1);
    a.settings = json_pack("{s:f, s:s}", "lambda", 0.5, "note", "a \"quote\"\nline");
    a.confusions = json_pack("[[s,s,i]]", "top_up", "open", 12);
    assert_non_null(a.settings);
    assert_non_null(a.confusions);
    strcpy(b.encoder, "/path/with \"odd\" things/ü");
    b.variant[0] = '\0';
    free(load(deep, 0));
    append(deep, &a);
    append(deep, &b);
    rf_run *list = load(deep, 2);
    check_same(&list[0], &a);
    check_same(&list[1], &b);
    assert_ptr_equal(rf_runs_find(list, 2, &b), &list[1]);
    rf_run c = sample(2);
    assert_null(rf_runs_find(list, 2, &c));
    char key[RF_RUN_KEY];
    assert_string_equal(rf_run_key(&a, key), "banking 0.25 seed 0 ans minilm radius=8");
    rf_runs_free(list, 2);
    rf_run_release(&a);
    rf_run_release(&a);
    scratch_remove(dir);
}

/* Figures without a fence may be missing: undefined, or a line of an earlier version. */
static void test_missing_figures(void **state)
{
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    (void)state;
    scratch_make(dir);
    rf_run a = sample(0);
    a.auroc = a.best_f1 = -1.0;
    append(dir, &a);
    rf_run *list = load(dir, 1);
    check_same(&list[0], &a);
    rf_runs_free(list, 1);
    size_t len;
    scratch_path(path, dir, RF_RUNS_FILE);
    char *line = scratch_read(path, &len);
    assert_null(strstr(line, "auroc"));
    assert_non_null(strstr(line, "\"closed\":91.5,"));
    free(line);
    a = sample(0);
    a.closed = 101;
    rf_error err = {0};
    assert_int_equal(rf_run_append(dir, &a, &err), RF_ERR_FORMAT);
    assert_error(&err, RF_ERR_FORMAT, "\"closed\" is 101");
    a.closed = NAN;
    assert_int_equal(rf_run_append(dir, &a, &err), RF_ERR_NUMERIC);
    scratch_remove(dir);
}

static void test_keys(void **state)
{
    rf_run a = sample(0);
    char text[RF_RATIO_TEXT];
    (void)state;
    for (int i = 0; i < 6; i++) { /* each part of the key counts */
        rf_run b = sample(0);
        char *const texts[] = {b.set, b.method, b.encoder, b.variant};
        if (i < 4)
            texts[i][0]++;
        b.ratio += i == 4 ? 0.25 : 0;
        b.seed += i == 5;
        assert_true(rf_run_compare(&a, &b) < 0);
        assert_true(rf_run_compare(&b, &a) > 0);
    }
    assert_string_equal(rf_ratio_text(0.1, text), "0.1");
    assert_string_equal(rf_ratio_text(1.0, text), "1");
    assert_true(strtod(rf_ratio_text(1.0 / 3, text), NULL) == 1.0 / 3);
}

/* A later line counts; the order of the others stays. */
static void test_replaced(void **state)
{
    char dir[RF_PATH_MAX];
    (void)state;
    scratch_make(dir);
    for (uint64_t i = 0; i < 12; i++) {
        rf_run run = sample(i % 4);
        run.accuracy = (double)i;
        run.settings = json_object(); /* to be let go of */
        append(dir, &run);
        rf_run_release(&run);
    }
    rf_run *list = load(dir, 4);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(list[i].seed, i);
        assert_true(list[i].accuracy == 8.0 + (double)i);
    }
    rf_runs_free(list, 4);
    scratch_remove(dir);
}

/* The file cut at every byte of its last line: one run is left, or two when only the
 * newline is missing; after the next run the file is in order. */
static void test_crash(void **state)
{
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, RF_RUNS_FILE);
    rf_run a = sample(0), b = sample(1), c = sample(2);
    append(dir, &a);
    append(dir, &b);
    size_t len = 0;
    char *whole = scratch_read(path, &len);
    size_t first = (size_t)(strchr(whole, '\n') - whole) + 1;
    for (size_t cut = 0; cut <= len; cut++) {
        size_t left = cut == len || cut + 1 == len ? 2 : cut >= first - 1 ? 1 : 0;
        scratch_write(dir, RF_RUNS_FILE, whole, cut);
        rf_runs_free(load(dir, left), left);
        append(dir, &c);
        rf_run *list = load(dir, left + 1);
        check_same(&list[left], &c);
        if (left)
            check_same(&list[0], &a);
        rf_runs_free(list, left + 1);
    }
    free(whole);
    scratch_remove(dir);
}

/* Several processes at once: every line arrives whole. */
static void test_together(void **state)
{
    enum { WRITERS = 4, EACH = 25 };
    char dir[RF_PATH_MAX];
    (void)state;
    scratch_make(dir);
    for (uint64_t w = 0; w < WRITERS; w++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            for (uint64_t i = 0; i < EACH; i++) {
                rf_run run = sample(w * EACH + i);
                if (rf_run_append(dir, &run, NULL) != RF_OK)
                    _exit(1);
            }
            _exit(0);
        }
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    rf_runs_free(load(dir, WRITERS * EACH), WRITERS * EACH);
    scratch_remove(dir);
}

/* A good line with one part replaced. */
static char *spoil(const char *line, const char *part, const char *instead)
{
    const char *at = strstr(line, part);
    assert_non_null(at);
    char *out = malloc(strlen(line) + strlen(instead) + 1);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - line), line, instead, at + strlen(part));
    return out;
}

static void test_bad_lines(void **state)
{
    static const struct {
        const char *part, *instead, *message;
    } cases[] = {
        {"\"accuracy\":", "\"accuracy\":\"x\",\"y\":", "\"accuracy\" is a string"},
        {"\"accuracy\":", "\"y\":", "\"accuracy\" is missing"},
        {"\"f1_open\":", "\"f1_open\":100.5,\"y\":",
         "\"f1_open\" is 100.5, wanted 0 to 100"},
        {"\"f1\":", "\"f1\":-1,\"y\":", "\"f1\" is -1"},
        {"\"ratio\":0.25", "\"ratio\":25", "\"ratio\" is 25, wanted 0 to 1"},
        {"\"seed\":0", "\"seed\":-1",
         "\"seed\" is an integer, wanted an integer of at least 0"},
        {"\"seed\":0", "\"seed\":0.5", "\"seed\" is a fraction"},
        {"\"set\":\"banking\"", "\"set\":\"\"", "\"set\" is empty"},
        {"\"method\":\"ans\"", "\"method\":\"a\\nb\"", "\"method\" has a control"},
        {"\"method\":\"ans\"", "\"method\":\"a\\u0000b\"", "\"method\" has a control"},
        {"\"kernels\":\"avx2\"", "\"kernels\":\"0123456789abcdef\"", "at most 15"},
        {"\"shared_known\":true", "\"shared_known\":1", "wanted a boolean"},
        {"\"encode\":1.5", "\"encode\":null", "\"seconds.encode\" is null"},
        {"\"seconds\":", "\"y\":", "\"seconds.encode\" is missing"},
        {"\"threads\":2", "\"threads\":2,\"settings\":[]", "\"settings\" is an array"},
        {"\"threads\":2", "\"threads\":2,\"confusions\":{}",
         "\"confusions\" is an object"},
        {"\"threads\":2", "\"threads\":2,\"threads\":2", "duplicate object key"},
        {"{", "", "not valid JSON"},
        {"{", "[", "not valid JSON"},
    };
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, RF_RUNS_FILE);
    rf_run a = sample(0);
    append(dir, &a);
    char *good = scratch_read(path, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *bad = spoil(good, cases[i].part, cases[i].instead);
        size_t room = strlen(good) * 2 + strlen(bad) + 2;
        char *file = malloc(room);
        assert_non_null(file);
        snprintf(file, room, "%s\n%s%s", good, bad, good); /* line 2 is empty */
        scratch_write(dir, RF_RUNS_FILE, file, strlen(file));
        rf_error err = {0};
        rf_run *list;
        size_t n;
        assert_int_not_equal(rf_runs_load(dir, &list, &n, &err), RF_OK);
        assert_null(list);
        assert_int_equal(err.pos, 3);
        assert_error(&err, err.code, path, "line 3", cases[i].message);
        free(file);
        free(bad);
    }
    free(good);
    scratch_remove(dir);
}

/* What could not be read back is not written. */
static void test_refused(void **state)
{
    char dir[RF_PATH_MAX], path[RF_PATH_MAX];
    rf_error err = {0};
    (void)state;
    scratch_make(dir);
    scratch_path(path, dir, RF_RUNS_FILE);
    rf_run run = sample(0);
    run.f1 = NAN;
    assert_int_equal(rf_run_append(dir, &run, &err), RF_ERR_NUMERIC);
    run = sample(0);
    run.f1_known = 100.001;
    assert_int_equal(rf_run_append(dir, &run, &err), RF_ERR_FORMAT);
    run = sample(UINT64_MAX);
    assert_int_not_equal(rf_run_append(dir, &run, &err), RF_OK);
    run = sample(0);
    strcpy(run.set, "a\tb");
    assert_int_equal(rf_run_append(dir, &run, &err), RF_ERR_FORMAT);
    strcpy(run.set, "\xff");
    assert_int_not_equal(rf_run_append(dir, &run, &err), RF_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    run = sample(0);
    assert_int_equal(rf_run_append("/proc/nothing", &run, &err), RF_ERR_MISSING);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_missing_figures),
        cmocka_unit_test(test_keys),       cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_crash),      cmocka_unit_test(test_together),
        cmocka_unit_test(test_bad_lines),  cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
