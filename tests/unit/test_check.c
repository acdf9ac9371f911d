/*
 * Checking data without an encoder: near duplicates compared with all pairs, equal texts,
 * labels, encodings, columns; the list of findings and its options.
 */
#include "base/rng.h"
#include "check/fold.h"
#include "check/near_duplicates.h"
#include "check/simple_checks.h"

#include "scratch.h"
#include "ringfence_improve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(rf_dataset *d, const char *text, const char *label)
{
    assert_int_equal(rf_dataset_add(d, text, strlen(text), label, strlen(label), NULL),
                     RF_OK);
}

static rf_findings *check(const rf_dataset *d, uint64_t ignore, size_t threads)
{
    rf_error err = {0};
    rf_check_options o = rf_check_options_default();
    o.no_encoder = true;
    o.ignore = ignore;
    o.threads = threads;
    rf_findings *found = rf_check(d, &o, &err);
    if (!found)
        fail_msg("%s", err.msg);
    assert_int_equal(rf_findings_encoded(found), 0);
    return found;
}

/* The only finding of this kind; NULL if there is none. */
static const rf_finding *only(const rf_findings *found, rf_finding_kind kind)
{
    const rf_finding *one = NULL;
    for (size_t i = 0; i < rf_findings_count(found); i++) {
        const rf_finding *f = rf_findings_at(found, i);
        if (f->kind == kind) {
            assert_null(one);
            one = f;
        }
    }
    return one;
}

/* ---- Near duplicates --------------------------------------------------------------- */

#define ROWS 400
#define LONGEST 200

/* Letters and single spaces, so that folding changes nothing. Two of three rows are an
 * earlier one with some letters changed. */
static void make_texts(char texts[ROWS][LONGEST])
{
    rf_rng r = rf_rng_open(rf_rng_key(7, 0, 0, 0));
    for (size_t i = 0; i < ROWS; i++) {
        if (i > 0 && i % 3 != 0) {
            strcpy(texts[i], texts[rf_rng_below(&r, i)]);
            size_t n = strlen(texts[i]);
            for (size_t changes = 1 + rf_rng_below(&r, 2); changes > 0; changes--)
                texts[i][rf_rng_below(&r, n)] = (char)('a' + rf_rng_below(&r, 26));
            continue;
        }
        size_t n = 5 + rf_rng_below(&r, 190);
        for (size_t k = 0; k < n; k++)
            texts[i][k] = (char)('a' + rf_rng_below(&r, 26));
        texts[i][n] = '\0';
    }
}

/* The definition, one piece after another. */
static bool has_piece(const char *text, const char *piece, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (memcmp(text + i, piece, 4) == 0)
            return true;
    return false;
}

static double jaccard(const char *a, const char *b)
{
    size_t na = strlen(a) - 3, nb = strlen(b) - 3, of_a = 0, of_b = 0, both = 0;
    for (size_t i = 0; i < na; i++)
        if (!has_piece(a, a + i, i)) {
            of_a++;
            both += has_piece(b, a + i, nb);
        }
    for (size_t i = 0; i < nb; i++)
        of_b += !has_piece(b, b + i, i);
    return (double)both / (double)(of_a + of_b - both);
}

static size_t root(const size_t *of, size_t i)
{
    while (of[i] != i)
        i = of[i];
    return i;
}

static void near_duplicates_and_all_pairs(void **state)
{
    (void)state;
    static char texts[ROWS][LONGEST];
    size_t component[ROWS], pairs = 0, met = 0;
    uint32_t rows[ROWS], group[ROWS];
    float lowest[ROWS];
    rf_dataset *d = rf_dataset_new(NULL);
    make_texts(texts);
    for (size_t i = 0; i < ROWS; i++) {
        add(d, texts[i], "a");
        rows[i] = (uint32_t)i;
        component[i] = i;
    }
    rf_checked c = {.data = d, .rows = ROWS, .classes = 1, .team = rf_team_new(2, NULL)};
    assert_int_equal(rf_near_duplicates(&c, rows, ROWS, group, lowest, NULL), RF_OK);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < i; k++) {
            double s = jaccard(texts[i], texts[k]);
            if (s < RF_NEAR_SIMILARITY)
                continue;
            size_t a = root(component, i), b = root(component, k);
            component[a > b ? a : b] = a < b ? a : b;
            pairs++;
            met += group[i] == group[k];
            if (s >= 0.9) /* missed once in 100,000 such pairs */
                assert_int_equal(group[i], group[k]);
        }
    assert_true(pairs > 200);
    assert_true((double)met >= 0.97 * (double)pairs);
    for (size_t i = 0; i < ROWS; i++) { /* joined only by pairs that are alike */
        assert_true(group[i] <= i);
        assert_int_equal(root(component, i), root(component, group[i]));
        assert_true((double)lowest[i] >= RF_NEAR_SIMILARITY - 1e-6);
    }
    rf_team_free(c.team);
    rf_dataset_free(d);
}

static void assert_same(const rf_findings *a, const rf_findings *b)
{
    assert_int_equal(rf_findings_count(a), rf_findings_count(b));
    for (size_t i = 0; i < rf_findings_count(a); i++) {
        const rf_finding *x = rf_findings_at(a, i), *y = rf_findings_at(b, i);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->n_rows, y->n_rows);
        assert_memory_equal(x->rows, y->rows, x->n_rows * sizeof *x->rows);
        assert_memory_equal(&x->score, &y->score, sizeof x->score);
        assert_string_equal(x->message, y->message);
    }
}

static void any_number_of_threads(void **state)
{
    (void)state;
    static char texts[ROWS][LONGEST];
    rf_dataset *d = rf_dataset_new(NULL);
    make_texts(texts);
    for (size_t i = 0; i < ROWS; i++)
        add(d, texts[i], i % 5 ? "a" : "b");
    rf_findings *one = check(d, 0, 1), *three = check(d, 0, 3);
    assert_true(rf_findings_count(one) > 20);
    assert_same(one, three);
    rf_findings_free(one);
    rf_findings_free(three);
    rf_dataset_free(d);
}

/* Many texts that share most of their pieces: no pair is alike, and it still ends. */
static void long_and_odd_texts(void **state)
{
    (void)state;
    rf_dataset *d = rf_dataset_new(NULL);
    size_t n = 100000;
    char *text = malloc(n + 1);
    memset(text, 'a', n);
    text[n] = '\0';
    add(d, text, "a"); /* one piece, again and again */
    text[n - 1] = 'b'; /* beyond what counts */
    add(d, text, "a");
    add(d, "???", "a"); /* no pieces, and no near duplicates of each other */
    add(d, "!!!", "a");
    add(d, "x", "a");
    add(d, "X!", "a");
    rf_findings *found = check(d, 0, 2);
    size_t near = 0;
    for (size_t i = 0; i < rf_findings_count(found); i++) {
        const rf_finding *f = rf_findings_at(found, i);
        assert_int_equal(f->kind, RF_FINDING_NEAR_DUPLICATE);
        assert_int_equal(f->rows[0], near == 0 ? 0 : 4);
        assert_int_equal(f->n_rows, 2);
        near++;
    }
    assert_int_equal(near, 2);
    rf_findings_free(found);
    free(text);
    rf_dataset_free(d);
}

/* ---- Equal texts ------------------------------------------------------------------- */

static void equal_texts(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"where is my parcel", "track"},
                                          {"cancel it", "cancel"},
                                          {"Where is  my\tparcel ", "track"},
                                          {"cancel it", "refund"},
                                          {"cancel it", "cancel"},
                                          {"\xc3\x9c"
                                           "ber uns",
                                           "about"},
                                          {"\xc3\xbc"
                                           "ber uns",
                                           "about"},
                                          {"yes", "a"},
                                          {"YES", "b"},
                                          {"bread rolls", "about"},
                                          {"another text of track", "track"},
                                          {"more of them all", "about"}};
    rf_dataset *d = rf_dataset_new(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(d, rows[i][0], rows[i][1]);
    rf_findings *found = check(d, (uint64_t)1 << RF_FINDING_FEW_ROWS, 1);
    assert_int_equal(rf_findings_count(found), 4);
    const rf_finding *f = rf_findings_at(found, 0);
    assert_int_equal(f->kind, RF_FINDING_CONFLICT); /* the most frequent label first */
    assert_int_equal(f->n_rows, 3);
    assert_int_equal(f->n_good, 2);
    assert_int_equal(f->rows[0], 1);
    assert_int_equal(f->rows[1], 4);
    assert_int_equal(f->rows[2], 3);
    assert_string_equal(rf_dataset_label(d, f->suggested, NULL), "cancel");
    f = rf_findings_at(found, 1); /* no label is more frequent */
    assert_int_equal(f->kind, RF_FINDING_CONFLICT);
    assert_int_equal(f->n_good, 0);
    assert_int_equal(f->suggested, SIZE_MAX);
    assert_non_null(strstr(f->message, "but for case"));
    f = rf_findings_at(found, 2);
    assert_int_equal(f->kind, RF_FINDING_DUPLICATE);
    assert_int_equal(f->rows[0], 0);
    assert_int_equal(f->rows[1], 2);
    assert_int_equal(f->n_good, 1);
    f = rf_findings_at(found, 3);
    assert_int_equal(f->kind, RF_FINDING_DUPLICATE);
    assert_int_equal(f->rows[0], 5);
    assert_null(rf_findings_at(found, 4));
    rf_findings_free(found);
    rf_dataset_free(d);
}

/* ---- Labels ------------------------------------------------------------------------ */

static bool alike(const char *a, const char *b)
{
    int32_t x[RF_MAX_LABEL_BYTES + 1], y[RF_MAX_LABEL_BYTES + 1];
    size_t n = rf_fold_label(a, strlen(a), x), m = rf_fold_label(b, strlen(b), y);
    return n == m && memcmp(x, y, n * sizeof *x) == 0;
}

static void labels_alike(void **state)
{
    (void)state;
    static const char *const same[][2] = {{"Refund Status", "refund_status"},
                                          {"refundStatus", "refund-status"},
                                          {"refund?", "Refund"},
                                          {"\xc3\x9c"
                                           "bersicht",
                                           "\xc3\xbc"
                                           "bersicht"},
                                          {"class 1", "Class_1"},
                                          {"1.1", "1_1"}};
    static const char *const different[][2] = {
        {"C", "C#"}, {"C", "C++"},  {"-1", "1"},  {"1.1", "11"},
        {"a", "b"},  {"R&D", "RD"}, {"a1", "a2"}, {"10 1", "1 01"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!alike(same[i][0], same[i][1]))
            fail_msg("\"%s\" and \"%s\" should be alike", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof different / sizeof *different; i++)
        if (alike(different[i][0], different[i][1]))
            fail_msg("\"%s\" and \"%s\" should differ", different[i][0], different[i][1]);
}

static void labels_and_classes(void **state)
{
    (void)state;
    rf_dataset *d = rf_dataset_new(NULL);
    char text[32];
    for (size_t i = 0; i < 24; i++) {
        static const char *const labels[] = {"Refund Status", "oos", "refund_status",
                                             "Refund Status"};
        snprintf(text, sizeof text, "%c%c text %zu", (char)('a' + i), (char)('b' + i),
                 i * i);
        add(d, text, labels[i % 4]);
    }
    add(d, "the only one", "rare");
    rf_findings *found = check(d,
                               (uint64_t)1 << RF_FINDING_NEAR_DUPLICATE |
                                   (uint64_t)1 << RF_FINDING_NEAR_CONFLICT,
                               1);
    const rf_finding *f = only(found, RF_FINDING_LABELS_ALIKE);
    assert_non_null(f);
    assert_int_equal(f->n_rows, 6); /* of the rarer spelling */
    assert_string_equal(rf_dataset_label(d, f->suggested, NULL), "Refund Status");
    for (size_t i = 0; i < f->n_rows; i++)
        assert_int_equal(f->rows[i] % 4, 2);
    f = only(found, RF_FINDING_OPEN_LABEL);
    assert_non_null(f);
    assert_string_equal(rf_dataset_label(d, f->class_index, NULL), "oos");
    f = only(found, RF_FINDING_FEW_ROWS);
    assert_non_null(f);
    assert_int_equal(f->rows[0], 24);
    rf_findings_free(found);

    /* The caller knows that "oos" is no class. */
    rf_error err = {0};
    const char *open[] = {"oos"}, *none[] = {"no such label"};
    rf_check_options o = rf_check_options_default();
    o.no_encoder = true;
    o.open_labels = open;
    o.n_open_labels = 1;
    found = rf_check(d, &o, NULL);
    assert_non_null(found);
    assert_null(only(found, RF_FINDING_OPEN_LABEL));
    rf_findings_free(found);
    o.open_labels = none;
    assert_null(rf_check(d, &o, &err));
    assert_error(&err, RF_ERR_ARG, "no such label");
    rf_dataset_free(d);
}

static void labels_that_mean_open(void **state)
{
    (void)state;
    assert_true(rf_label_means_open("oos"));
    assert_true(rf_label_means_open("Out-of-scope"));
    assert_true(rf_label_means_open("NONE"));
    assert_false(rf_label_means_open("none of your business"));
    assert_false(rf_label_means_open(""));
}

/* ---- Texts ------------------------------------------------------------------------- */

static void encodings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        rf_spoiled how;
    } cases[] = {
        {"", RF_SPOILED_NOT},
        {"plain", RF_SPOILED_NOT},
        {"caf\xc3\xa9, na\xc3\xafve, N\xc3\x83O, \xe2\x82\xac 5", RF_SPOILED_NOT},
        {"\xc2\xab"
         "CAF\xc3\x89\xc2\xbb",
         RF_SPOILED_NOT}, /* guillemets */
        {"\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82",
         RF_SPOILED_NOT}, /* Cyrillic */
        {"\xe2\x80\x9cquoted\xe2\x80\x9d \xe2\x80\x93 dash\xe2\x80\xa6", RF_SPOILED_NOT},
        {"caf\xe9", RF_SPOILED_BYTES},
        {"cut \xc3", RF_SPOILED_BYTES},
        {"caf\xef\xbf\xbd", RF_SPOILED_LOST},
        {"caf\xc3\x83\xc2\xa9", RF_SPOILED_MOJIBAKE},
        {"don\xc3\xa2\xe2\x82\xac\xe2\x84\xa2t", RF_SPOILED_MOJIBAKE}, /* an apostrophe */
        {"20\xc3\x82\xc2\xb0", RF_SPOILED_MOJIBAKE},                   /* a degree sign */
        {"\xc3\x90\xc5\xb8\xc3\x91\xe2\x82\xac\xc3\x90\xc2\xb8", RF_SPOILED_MOJIBAKE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rf_text_spoiled(cases[i].text, strlen(cases[i].text)) != cases[i].how)
            fail_msg("case %zu: \"%s\"", i, cases[i].text);
}

static void empty_and_spoiled_texts(void **state)
{
    (void)state;
    rf_dataset *d = rf_dataset_new(NULL);
    add(d, "", "a");
    add(d, "one", "a");
    add(d, " \t\xc2\xa0", "b");
    add(d, "caf\xe9", "b");
    add(d, "two", "caf\xc3\x83\xc2\xa9"); /* in the label */
    rf_findings *found = check(d, (uint64_t)1 << RF_FINDING_FEW_ROWS, 1);
    assert_int_equal(rf_findings_count(found), 3);
    const rf_finding *f = only(found, RF_FINDING_EMPTY);
    assert_non_null(f);
    assert_int_equal(f->n_rows, 2);
    assert_int_equal(f->rows[1], 2);
    assert_int_equal(rf_findings_at(found, 0)->kind, RF_FINDING_ENCODING);
    assert_int_equal(rf_findings_at(found, 0)->rows[0], 3);
    assert_int_equal(rf_findings_at(found, 1)->rows[0], 4);
    rf_findings_free(found);
    rf_dataset_free(d);
}

static void swapped_columns(void **state)
{
    (void)state;
    rf_dataset *right = rf_dataset_new(NULL), *wrong = rf_dataset_new(NULL);
    char text[64];
    for (size_t i = 0; i < 30; i++) {
        snprintf(text, sizeof text, "%c question number %zu about things",
                 (char)('a' + i % 26), i);
        add(right, text, i % 2 ? "ask" : "tell");
        add(wrong, i % 2 ? "ask" : "tell", text);
    }
    rf_findings *found = check(right, 0, 1);
    assert_null(only(found, RF_FINDING_SWAPPED));
    rf_findings_free(found);
    found = check(wrong, 0, 1);
    assert_int_equal(rf_findings_count(found), 1); /* and nothing else */
    assert_int_equal(rf_findings_at(found, 0)->kind, RF_FINDING_SWAPPED);
    rf_findings_free(found);
    found = check(wrong, (uint64_t)1 << RF_FINDING_SWAPPED, 1);
    assert_null(only(found, RF_FINDING_SWAPPED));
    assert_true(rf_findings_count(found) > 0); /* then the rest is looked at */
    rf_findings_free(found);
    rf_dataset_free(right);
    rf_dataset_free(wrong);
}

/* ---- The interface ----------------------------------------------------------------- */

static int stop(void *user, const char *line)
{
    (void)line;
    return ++*(int *)user == 2;
}

static void interface(void **state)
{
    (void)state;
    rf_error err = {0};
    rf_dataset *d = rf_dataset_new(NULL);
    rf_check_options o = rf_check_options_default();
    o.no_encoder = true;
    rf_findings *found = rf_check(d, &o, &err); /* no rows */
    assert_non_null(found);
    assert_int_equal(rf_findings_count(found), 0);
    rf_findings_free(found);
    rf_findings_free(NULL);

    add(d, "one text", "a");
    int calls = 0;
    o.progress = stop;
    o.user = &calls;
    assert_null(rf_check(d, &o, &err));
    assert_error(&err, RF_ERR_STOPPED, "stopped");
    o = rf_check_options_default();
    o.threads = RF_MAX_THREADS + 1;
    assert_null(rf_check(d, &o, &err));
    assert_error(&err, RF_ERR_ARG, "threads");
    o.struct_size = 0;
    assert_null(rf_check(d, &o, &err));
    assert_error(&err, RF_ERR_ARG, "rf_check_options");
    o = rf_check_options_default();
    o.encoder = "no/such/encoder";
    assert_null(rf_check(d, &o, &err));
    assert_error(&err, RF_ERR_MISSING, "no/such/encoder");
    assert_null(rf_check(d, &o, NULL));

    const char *title = NULL;
    assert_string_equal(rf_finding_name(RF_FINDING_LABEL_ERROR, &title), "label-error");
    assert_non_null(title);
    assert_null(rf_finding_name(RF_FINDING_KINDS, &title));
    for (size_t kind = 0; kind < RF_FINDING_KINDS; kind++)
        assert_non_null(rf_finding_name(kind, NULL));
    rf_dataset_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_duplicates_and_all_pairs),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(long_and_odd_texts),
        cmocka_unit_test(equal_texts),
        cmocka_unit_test(labels_alike),
        cmocka_unit_test(labels_and_classes),
        cmocka_unit_test(labels_that_mean_open),
        cmocka_unit_test(encodings),
        cmocka_unit_test(empty_and_spoiled_texts),
        cmocka_unit_test(swapped_columns),
        cmocka_unit_test(interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
