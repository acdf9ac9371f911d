/*
 * How misspelt words are read: cases by hand, and random words against candidates that
 * are made the other way round, by applying every slip to what was typed.
 */
#include "base/rng.h"
#include "text/spelling.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char vocab_text[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\nwhere\nis\nmy\nparcel\na\n##a\nw\n##h\n##e\n##r\n##s\n"
    "##t\n##o\n##p\n##c\n##l\nt\no\np\nc\nl\nh\ne\nr\ns\ntodo\n##d\n";

static rf_vocab *small_vocab(void)
{
    rf_vocab *v = rf_vocab_from_text(vocab_text, sizeof vocab_text - 1, "vocab.txt", NULL,
                                     0, NULL, NULL);
    assert_non_null(v);
    return v;
}

static rf_spelling *learn(const rf_vocab *v, const char *const *texts, size_t n)
{
    size_t lens[16];
    for (size_t i = 0; i < n; i++)
        lens[i] = strlen(texts[i]);
    rf_spelling *s = rf_spelling_learn(v, NULL, texts, lens, n, NULL);
    assert_non_null(s);
    return s;
}

/* The reading of an ASCII word, words separated by a space; the word itself if none. */
static const char *reading(const rf_spelling *s, const char *word, char out[128])
{
    int32_t chars[64];
    size_t n = strlen(word);
    for (size_t i = 0; i < n; i++)
        chars[i] = (unsigned char)word[i];
    rf_reading r = rf_spelling_read(s, chars, n);
    snprintf(out, 128, "%s%s%s", r.n ? r.word[0] : word, r.n == 2 ? " " : "",
             r.n == 2 ? r.word[1] : "");
    return out;
}

static void test_cases(void **state)
{
    (void)state;
    static const char *const texts[] = {"Where is my parcel, please? Where!",
                                        "too many refunds", "top up, top up: a card",
                                        "the vegas strips", "please refund my card"};
    static const struct {
        const char *typed, *read;
    } cases[] = {
        {"wher", "where"},        {"wheer", "where"},   {"parcl", "parcel"},
        {"parcell", "parcel"},    {"pacrel", "parcel"}, {"pqrcel", "parcel"},
        {"xarcel", "xarcel"},     /* the first letter is right */
        {"todo", "todo"},         /* four letters: none too many */
        {"tap", "tap"},           /* too short */
        {"parcels", "parcels"},   /* a plural is no slip */
        {"topup", "top up"},      /* two words */
        {"mycard", "my card"},    /* each occurs twice */
        {"thevegas", "thevegas"}, /* these occur once */
        {"vegan", "vegas"},       /* the price of the rule */
        {"parcel1", "parcel1"},   /* letters only */
        {"where", "where"},       /* not a slip at all */
        {"quite", "quite"},       /* nothing is near */
    };
    rf_vocab *v = small_vocab();
    rf_spelling *s = learn(v, texts, 5);
    char out[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(reading(s, cases[i].typed, out), cases[i].read);
    rf_spelling_free(s);
    rf_vocab_free(v);
}

/* Other scripts: letters are code points, not bytes. */
static void test_letters_of_two_bytes(void **state)
{
    (void)state;
    static const char *const texts[] = {"где посылка"};
    static const int32_t typed[] = {0x43f, 0x43e, 0x441, 0x44b, 0x43b, 0x430}; /* без к */
    rf_vocab *v = small_vocab();
    rf_spelling *s = learn(v, texts, 1);
    rf_reading r = rf_spelling_read(s, typed, 6);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.word[0], "посылка");
    rf_spelling_free(s);
    rf_vocab_free(v);
}

/* ---- Against every slip applied to what was typed ---------------------------------- */

#define LETTERS "abcs"

typedef struct dictionary {
    char word[400][12];
    int count[400];
    size_t n;
} dictionary;

static void consider(const dictionary *d, const char *word, size_t *best)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->word[i], word) == 0 &&
            (*best == d->n || d->count[i] > d->count[*best] ||
             (d->count[i] == d->count[*best] && strcmp(d->word[i], d->word[*best]) < 0)))
            *best = i;
}

static bool plural(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    return (n == m + 1 && strncmp(a, b, m) == 0 && a[m] == 's') ||
           (m == n + 1 && strncmp(a, b, n) == 0 && b[n] == 's');
}

static const char *by_slips(const dictionary *d, const char *typed)
{
    size_t n = strlen(typed), best = d->n;
    char w[16];
    for (size_t i = 1; i <= n; i++)
        for (const char *c = LETTERS; *c; c++) {
            snprintf(w, sizeof w, "%.*s%c%s", (int)i, typed, *c, typed + i);
            if (!plural(w, typed))
                consider(d, w, &best);
            if (n >= 5 && i < n) {
                snprintf(w, sizeof w, "%.*s%c%s", (int)i, typed, *c, typed + i + 1);
                consider(d, w, &best);
            }
        }
    for (size_t i = 1; i < n; i++) {
        snprintf(w, sizeof w, "%.*s%s", (int)i, typed, typed + i + 1);
        if (n >= 5 && !plural(w, typed))
            consider(d, w, &best);
        if (i + 1 < n) {
            snprintf(w, sizeof w, "%.*s%c%c%s", (int)i, typed, typed[i + 1], typed[i],
                     typed + i + 2);
            consider(d, w, &best);
        }
    }
    return best < d->n ? d->word[best] : NULL;
}

static const char *by_halves(const dictionary *d, const char *typed, char out[128])
{
    int best = 1;
    const char *found = NULL;
    for (size_t cut = 2; cut + 2 <= strlen(typed); cut++)
        for (size_t i = 0; i < d->n; i++)
            for (size_t j = 0; j < d->n; j++) {
                int rarer = d->count[i] < d->count[j] ? d->count[i] : d->count[j];
                if (rarer > best && strlen(d->word[i]) == cut &&
                    strncmp(typed, d->word[i], cut) == 0 &&
                    strcmp(typed + cut, d->word[j]) == 0) {
                    best = rarer;
                    snprintf(out, 128, "%s %s", d->word[i], d->word[j]);
                    found = out;
                }
            }
    return found;
}

static void random_word(rf_rng *rng, char *out, size_t least, size_t most)
{
    size_t n = least + (size_t)rf_rng_below(rng, (uint32_t)(most - least + 1));
    for (size_t i = 0; i < n; i++)
        out[i] = LETTERS[rf_rng_below(rng, 4)];
    out[n] = '\0';
}

static void test_against_every_slip(void **state)
{
    (void)state;
    rf_rng rng = rf_rng_open(11);
    static dictionary d;
    rf_vocab *v = small_vocab();
    char text[16000] = "", word[16], out[128], halves[128];
    size_t len = 0, slips = 0, splits = 0;
    for (size_t i = 0; i < 120; i++) {
        random_word(&rng, word, 2, 7);
        size_t k = 0;
        while (k < d.n && strcmp(d.word[k], word) != 0)
            k++;
        int times = 1 + (int)rf_rng_below(&rng, 4);
        d.n += k == d.n;
        memcpy(d.word[k], word, sizeof d.word[k]);
        d.count[k] += times;
        for (int t = 0; t < times; t++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s ", word);
    }
    const char *const texts[] = {text};
    rf_spelling *s = learn(v, texts, 1);
    for (size_t i = 0; i < 3000; i++) {
        random_word(&rng, word, 3, 9);
        bool listed = false;
        for (size_t k = 0; k < d.n; k++)
            listed |= strcmp(d.word[k], word) == 0;
        const char *want = NULL;
        if (!listed && strlen(word) >= 4) {
            want = by_slips(&d, word);
            slips += want != NULL;
            if (!want && (want = by_halves(&d, word, halves)))
                splits++;
        }
        assert_string_equal(reading(s, word, out), want ? want : word);
    }
    assert_true(slips > 300 && splits > 30);
    rf_spelling_free(s);
    rf_vocab_free(v);
}

/* ---- In the tokenizer -------------------------------------------------------------- */

typedef struct ids {
    int32_t id[64];
    size_t n;
} ids;

static rf_status take(void *user, int32_t id, rf_error *err)
{
    ids *out = user;
    (void)err;
    assert_true(out->n < 64);
    out->id[out->n++] = id;
    return RF_OK;
}

static ids tokens(const rf_vocab *v, const rf_spelling *s, const char *text, size_t max)
{
    ids out = {.n = 0};
    rf_tokenizer *t = rf_tokenizer_new(v, max, take, &out, NULL);
    assert_non_null(t);
    rf_tokenizer_set_spelling(t, s);
    assert_int_equal(rf_tokenizer_feed(t, text, strlen(text), NULL), RF_OK);
    assert_int_equal(rf_tokenizer_end(t, NULL, NULL), RF_OK);
    rf_tokenizer_free(t);
    return out;
}

static void test_tokens(void **state)
{
    (void)state;
    static const char *const texts[] = {"where is my parcel", "is my todo"};
    rf_vocab *v = small_vocab();
    rf_spelling *s = learn(v, texts, 2);
    for (size_t max = 0; max < 8; max += max ? 1 : 2) {
        ids want = tokens(v, NULL, "where is my parcel", max);
        ids got = tokens(v, s, "WHER ismy parcl", max);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.id, want.id, want.n * sizeof *want.id);
        got =
            tokens(v, s, "where is my parcel", max); /* and right words are left alone */
        assert_memory_equal(got.id, want.id, want.n * sizeof *want.id);
    }
    ids plain = tokens(v, NULL, "whtr tod", 0), read = tokens(v, s, "whtr tod", 0);
    assert_int_equal(plain.n, read.n);
    assert_memory_equal(plain.id, read.id, plain.n * sizeof *plain.id);
    rf_spelling_free(s);
    rf_vocab_free(v);
}

/* ---- What a file may say ----------------------------------------------------------- */

static void test_bad_words(void **state)
{
    (void)state;
    static const int32_t two[] = {1, 2}, none[] = {1, 0};
    static const struct {
        const char *words;
        size_t bytes;
        const int32_t *counts;
        const char *says;
    } cases[] = {
        {"ab\0cd", 6, two, NULL},
        {"cd\0ab", 6, two, "not in ascending order"},
        {"ab\0ab", 6, two, "not in ascending order"},
        {"ab\0cd", 5, two, "fewer than there are counts"},
        {"ab", 3, two, "fewer than there are counts"},
        {"ab\0cd\0ef", 9, two, "more than there are counts"},
        {"ab\0\xff", 5, two, "not UTF-8"},
        {"ab\0cd", 6, none, "a count below 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rf_error err = {0};
        rf_spelling *s =
            rf_spelling_new(cases[i].words, cases[i].bytes, cases[i].counts, 2, &err);
        assert_int_equal(s != NULL, cases[i].says == NULL);
        if (cases[i].says) {
            assert_int_equal(err.code, RF_ERR_FORMAT);
            assert_non_null(strstr(err.msg, cases[i].says));
        }
        rf_spelling_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_letters_of_two_bytes),
        cmocka_unit_test(test_against_every_slip),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_bad_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
