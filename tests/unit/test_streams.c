/* test_streams.c - the list of random streams, and the table in docs/MODEL.md */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_MD GOLDEN_DIR "/../../docs/MODEL.md"

static void test_word_is_in_its_place(void **state)
{
    (void)state;
    assert_true(rf_stream_key(1, RF_STREAM_FOLDS, 2, 3) ==
                rf_rng_key(1, UINT64_C(5) << 40, 2, 3));
    assert_true(rf_stream_key(1, RF_STREAM_TEXT_ORDER, 2, 3) ==
                rf_rng_key(1, 2, UINT64_C(1) << 40, 3));
    assert_true(rf_stream_key(1, RF_STREAM_ANS_NOISE, 2, 3) == rf_rng_key(1, 2, 4, 3));
}

/* Streams of one training have different words, or have them in different places. */
static void test_no_two_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_STREAMS; i++)
        for (size_t j = 0; j < i; j++) {
            const rf_stream_row *a = &rf_stream_table[i], *b = &rf_stream_table[j];
            bool meet =
                !a->objective || !b->objective || strcmp(a->objective, b->objective) == 0;
            if (meet && a->place == b->place && a->word == b->word)
                fail_msg("%s and %s are the same stream", a->name, b->name);
        }
}

/* "3 * 2^40 ...", "2^40", "70", "0xadb1" */
static uint64_t word_in(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 0);
    if (strncmp(text, "2^40", 4) == 0)
        return UINT64_C(1) << 40;
    return strncmp(end, " * 2^40", 7) == 0 ? n << 40 : n;
}

/* The stream of a row of the table, RF_STREAMS if there is none of that name. */
static size_t find(const char *name, size_t len)
{
    size_t s = 0;
    while (s < RF_STREAMS && (strlen(rf_stream_table[s].name) != len ||
                              memcmp(rf_stream_table[s].name, name, len) != 0))
        s++;
    return s;
}

/* A row "| `NAME` | first, second, third | ... |". */
static void check_row(const char *row, size_t *found)
{
    size_t len = strcspn(row + 3, "`"), s = find(row + 3, len);
    if (s == RF_STREAMS)
        fail_msg("docs/MODEL.md has a stream %.*s, src/base/streams.h has not", (int)len,
                 row + 3);
    const char *key = strstr(row + 3 + len, "| ");
    assert_non_null(key);
    key += 2;
    const rf_stream_row *r = &rf_stream_table[s];
    if (r->place != RF_KEY_FIRST) {
        if ((strncmp(key, "label,", 6) == 0) != (r->place == RF_KEY_LABEL))
            fail_msg("%s: docs/MODEL.md says key(seed, %s", r->name, key);
        key = strchr(key, ',');
        assert_non_null(key);
        key += 2;
    }
    if (word_in(key) != r->word)
        fail_msg("%s is %llu in src/base/streams.h, docs/MODEL.md says %s", r->name,
                 (unsigned long long)r->word, key);
    found[s]++;
}

static void test_documented(void **state)
{
    (void)state;
    size_t found[RF_STREAMS] = {0};
    char line[1024];
    bool inside = false;
    FILE *f = fopen(MODEL_MD, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "## ", 3) == 0)
            inside = strcmp(line, "## Random numbers\n") == 0;
        else if (inside && strncmp(line, "| `", 3) == 0)
            check_row(line, found);
    }
    fclose(f);
    for (size_t s = 0; s < RF_STREAMS; s++)
        if (found[s] != 1)
            fail_msg("%s: %zu rows in docs/MODEL.md, wanted 1", rf_stream_table[s].name,
                     found[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_is_in_its_place),
        cmocka_unit_test(test_no_two_alike),
        cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
