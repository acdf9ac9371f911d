/*
 * The set of rows itself: classes and their order, a million of everything, several
 * threads, and the summary against its definition.
 */
#include "base/rng.h"
#include "ringfence.h"

#include "scratch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The set itself ---------------------------------------------------------------- */

static rf_dataset *set_of(const char *const *labels, size_t n)
{
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rf_dataset_add(data, "t", 1, labels[i], strlen(labels[i]), NULL),
                         RF_OK);
    return data;
}

static void classes_are_in_byte_order(void **state)
{
    (void)state;
    static const char *const labels[] = {"b",  "a",  "B",   "\xC3\xA9", "a ",
                                         "ab", " b", "a b", "10",       "9"};
    static const char *const want[] = {"10", "9", "B", "a", "a b", "ab", "b", "\xC3\xA9"};
    static const size_t want_rows[] = {1, 1, 1, 2, 1, 1, 2, 1};
    rf_dataset *data = set_of(labels, 10);
    assert_int_equal(rf_dataset_classes(data), 8);
    for (size_t c = 0; c < 8; c++) {
        size_t rows;
        assert_string_equal(rf_dataset_label(data, c, &rows), want[c]);
        assert_int_equal(rows, want_rows[c]);
    }
    assert_int_equal(rf_dataset_class(data, 0), 6);
    /* A row that comes later may move the others. */
    assert_int_equal(rf_dataset_add(data, NULL, 0, "A", 1, NULL), RF_OK);
    assert_int_equal(rf_dataset_class(data, 0), 7);
    assert_int_equal(rf_dataset_class(data, 10), 2);
    assert_string_equal(rf_dataset_text(data, 10, NULL), "");
    assert_null(rf_dataset_text(data, 11, NULL));
    assert_null(rf_dataset_label(data, 9, NULL));
    assert_int_equal(rf_dataset_class(data, 11), SIZE_MAX);
    rf_dataset_free(data);
    rf_dataset_free(NULL);
}

/* A million rows in 10,000 classes, and then a class for every row: if adding were not
 * about linear, this would not end. */
static void many(void **state)
{
    (void)state;
    enum { ROWS = 1000000, CLASSES = 10000 };
    char text[32], label[32];
    rf_dataset *data = rf_dataset_new(NULL);
    for (size_t i = 0; i < ROWS; i++) {
        int n = snprintf(text, sizeof text, "text %zu", i / 2);
        int m = snprintf(label, sizeof label, "c%05zu", i * 7919 % CLASSES);
        assert_int_equal(rf_dataset_add(data, text, (size_t)n, label, (size_t)m, NULL),
                         RF_OK);
        if (i % 100000 == 0) /* reading in between changes nothing */
            assert_true(rf_dataset_class(data, i) < rf_dataset_classes(data));
    }
    assert_int_equal(rf_dataset_rows(data), ROWS);
    assert_int_equal(rf_dataset_classes(data), CLASSES);
    for (size_t i = 0; i < ROWS; i += 997) {
        snprintf(text, sizeof text, "text %zu", i / 2);
        assert_string_equal(rf_dataset_text(data, i, NULL), text);
        assert_int_equal(rf_dataset_class(data, i), i * 7919 % CLASSES);
    }
    rf_data_summary sum;
    assert_int_equal(rf_dataset_summarize(data, &sum, NULL), RF_OK);
    assert_int_equal(sum.conflicts, ROWS / 2);
    assert_int_equal(sum.duplicates, 0);
    assert_int_equal(sum.smallest, ROWS / CLASSES);
    assert_int_equal(sum.largest, ROWS / CLASSES);
    rf_dataset_free(data);

    data = rf_dataset_new(NULL);
    for (size_t i = 0; i < ROWS; i++) {
        int m = snprintf(label, sizeof label, "%06zu", i * 7919 % ROWS);
        assert_int_equal(rf_dataset_add(data, "same", 4, label, (size_t)m, NULL), RF_OK);
    }
    assert_int_equal(rf_dataset_classes(data), ROWS);
    assert_int_equal(rf_dataset_class(data, 12345), 12345 * 7919 % ROWS);
    assert_int_equal(rf_dataset_summarize(data, &sum, NULL), RF_OK);
    assert_int_equal(sum.conflicts, ROWS - 1);
    assert_int_equal(sum.few, ROWS);
    rf_dataset_free(data);
}

static void *ask(void *arg)
{
    const rf_dataset *data = arg;
    size_t bad = 0;
    for (size_t i = rf_dataset_rows(data); i-- > 0;) {
        char want[16];
        size_t c = rf_dataset_class(data, i);
        snprintf(want, sizeof want, "%03zu", c);
        bad += strcmp(rf_dataset_label(data, c, NULL), want) != 0;
    }
    return bad ? NULL : arg;
}

static void threads_may_ask_together(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 20; repeat++) {
        rf_dataset *data = rf_dataset_new(NULL);
        for (size_t i = 0; i < 1000; i++) {
            char label[16];
            snprintf(label, sizeof label, "%03zu", (999 - i) * 17 % 1000);
            assert_int_equal(rf_dataset_add(data, "t", 1, label, 3, NULL), RF_OK);
        }
        pthread_t threads[4];
        void *good;
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, ask, data), 0);
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], &good);
            assert_non_null(good);
        }
        rf_dataset_free(data);
    }
}

/* Texts of all sizes: none is lost among the blocks, and those of earlier rows stay. */
static void large_and_small(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 262144, 1000000};
    char *text = malloc(1000001);
    rf_dataset *data = rf_dataset_new(NULL);
    const char *first = NULL;
    for (size_t i = 0; i < 200; i++) {
        size_t n = sizes[i * 5 % 8];
        memset(text, 'a' + (int)(i % 26), n);
        assert_int_equal(rf_dataset_add(data, text, n, "x", 1, NULL), RF_OK);
        if (i == 0)
            first = rf_dataset_text(data, 0, NULL);
    }
    assert_ptr_equal(rf_dataset_text(data, 0, NULL), first);
    for (size_t i = 0; i < 200; i++) {
        size_t len;
        const char *got = rf_dataset_text(data, i, &len);
        assert_int_equal(len, sizes[i * 5 % 8]);
        for (size_t j = 0; j < len; j++)
            if (got[j] != 'a' + (int)(i % 26))
                fail_msg("text %zu is spoiled at byte %zu", i, j);
        assert_int_equal(got[len], '\0');
    }
    rf_dataset_free(data);
    free(text);
}

/* ---- Summary ----------------------------------------------------------------------- */

static size_t below(rf_rng *r, size_t n)
{
    return (size_t)(rf_rng_next(r) % n);
}

/* By definition, every row against every earlier one. */
static rf_data_summary slow_summary(const rf_dataset *data)
{
    rf_data_summary s = {.rows = rf_dataset_rows(data)};
    size_t per_class[64] = {0};
    for (size_t i = 0; i < s.rows; i++) {
        size_t len, other, class_i = rf_dataset_class(data, i);
        const char *text = rf_dataset_text(data, i, &len);
        bool same = false, conflict = false;
        per_class[class_i]++;
        for (size_t j = 0; j < i; j++) {
            const char *earlier = rf_dataset_text(data, j, &other);
            if (other != len || memcmp(earlier, text, len) != 0)
                continue;
            same = same || rf_dataset_class(data, j) == class_i;
            conflict = conflict || rf_dataset_class(data, j) != class_i;
        }
        s.duplicates += same;
        s.conflicts += conflict;
        s.empty += text[strspn(text, " \t")] == '\0';
    }
    s.smallest = SIZE_MAX;
    for (size_t c = 0; c < 64; c++) {
        s.classes += per_class[c] > 0;
        if (per_class[c] > 0 && per_class[c] < s.smallest)
            s.smallest = per_class[c];
        if (per_class[c] > s.largest)
            s.largest = per_class[c];
        s.few += per_class[c] > 0 && per_class[c] < 5;
    }
    return s;
}

static void summary(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", "b", "", " ", "\t ", "aa", "ab", "a ", "c"};
    size_t conflicts = 0, duplicates = 0, few = 0;
    for (size_t set = 0; set < 200; set++) {
        rf_rng r = rf_rng_open(rf_rng_key(set, 1, 2, 3));
        rf_dataset *data = rf_dataset_new(NULL);
        size_t rows = 1 + below(&r, 40), classes = 1 + below(&r, 10);
        for (size_t i = 0; i < rows; i++) {
            const char *text = texts[below(&r, 9)];
            char label = (char)('a' + below(&r, classes));
            assert_int_equal(rf_dataset_add(data, text, strlen(text), &label, 1, NULL),
                             RF_OK);
        }
        rf_data_summary want = slow_summary(data), got;
        assert_int_equal(rf_dataset_summarize(data, &got, NULL), RF_OK);
        assert_int_equal(got.rows, rows);
        assert_int_equal(got.classes, want.classes);
        assert_int_equal(got.smallest, want.smallest);
        assert_int_equal(got.largest, want.largest);
        assert_int_equal(got.empty, want.empty);
        assert_int_equal(got.duplicates, want.duplicates);
        assert_int_equal(got.conflicts, want.conflicts);
        assert_int_equal(got.few, want.few);
        assert_int_equal(got.dropped, 0);
        if (got.conflicts) {
            assert_string_equal(rf_dataset_text(data, got.conflict_row, NULL),
                                rf_dataset_text(data, got.conflict_with, NULL));
            assert_true(rf_dataset_class(data, got.conflict_row) !=
                        rf_dataset_class(data, got.conflict_with));
            assert_true(got.conflict_with < got.conflict_row);
        }
        conflicts += got.conflicts > 0;
        duplicates += got.duplicates > 0;
        few += got.few > 0;
        rf_dataset_free(data);
    }
    assert_true(conflicts > 50 && duplicates > 50 && few > 50); /* there was something */
}

static void blank_is_what_unicode_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool blank;
    } blanks[] = {
        {"", true},           {" \t\n\v\f\r", true},  {"\xC2\xA0", true},
        {"\xC2\x85", true},   {"\xE3\x80\x80", true}, {"\xE2\x80\xA8 ", true},
        {"\xFF", false},      {".", false},           {"\xE2\x80\x8B", false},
        {" \xC3\xA9", false}, {" \xC2", false},
    };
    rf_data_summary sum;
    rf_dataset *data = rf_dataset_new(NULL);
    assert_int_equal(rf_dataset_summarize(data, &sum, NULL), RF_OK); /* of nothing */
    assert_int_equal(sum.rows + sum.classes + sum.smallest + sum.largest + sum.few, 0);
    rf_dataset_free(data);
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
        data = rf_dataset_new(NULL);
        assert_int_equal(
            rf_dataset_add(data, blanks[i].text, strlen(blanks[i].text), "x", 1, NULL),
            RF_OK);
        assert_int_equal(rf_dataset_summarize(data, &sum, NULL), RF_OK);
        if (sum.empty != blanks[i].blank)
            fail_msg("text %zu: empty is %zu", i, sum.empty);
        rf_dataset_free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_in_byte_order),
        cmocka_unit_test(many),
        cmocka_unit_test(threads_may_ask_together),
        cmocka_unit_test(large_and_small),
        cmocka_unit_test(summary),
        cmocka_unit_test(blank_is_what_unicode_says),
    };
    return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
