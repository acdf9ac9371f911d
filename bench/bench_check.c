/*
 * bench_check.c - bench_check [ROWS [THREADS [WORDS]]]: the time and memory of ringfence
 * check without an encoder, on generated rows
 *
 * Texts are 6 to 17 words of a vocabulary of WORDS (20,000), the i-th as frequent as
 * 1 / i; few words make the texts like each other, which is the hard case. One in twenty
 * is a near copy of an earlier one: a letter changed in the middle, or a word added.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "ringfence_improve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TEXT 400

static double n_words = 20000.0;

static size_t add_word(char *out, rf_rng *r)
{
    /* Of words 1 to n_words, with a density of 1 / x. */
    double x = exp((double)rf_rng_uniform(r) * log(n_words));
    rf_rng letters = rf_rng_open(rf_rng_key(1, (uint64_t)x, 0, 0));
    size_t n = 2 + rf_rng_below(&letters, 8);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)('a' + rf_rng_below(&letters, 26));
    out[n] = ' ';
    return n + 1;
}

static size_t make_text(char out[TEXT], size_t row)
{
    rf_rng r = rf_rng_open(rf_rng_key(2, row, 0, 0));
    size_t n = 0, words = 6 + rf_rng_below(&r, 12);
    for (size_t i = 0; i < words; i++)
        n += add_word(out + n, &r);
    return n - 1;
}

static size_t make_row(char out[TEXT], size_t row, size_t *planted)
{
    rf_rng r = rf_rng_open(rf_rng_key(3, row, 0, 0));
    if (row == 0 || rf_rng_below(&r, 20) > 0)
        return make_text(out, row);
    size_t n = make_text(out, rf_rng_below(&r, row));
    ++*planted;
    if (rf_rng_below(&r, 2))
        out[n / 2] = out[n / 2] == 'x' ? 'y' : 'x';
    else
        n += (size_t)snprintf(out + n, TEXT - n, " pls");
    return n;
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000, planted = 0;
    size_t counts[RF_FINDING_KINDS] = {0};
    char text[TEXT];
    rf_error err = {0};
    rf_check_options o = rf_check_options_default();
    o.threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    o.no_encoder = true;
    n_words = argc > 3 ? strtod(argv[3], NULL) : n_words;
    rf_dataset *data = rf_dataset_new(&err);
    for (size_t i = 0; data && i < rows; i++) {
        char label[8];
        size_t n = make_row(text, i, &planted);
        int len = snprintf(label, sizeof label, "c%zu", i % 100);
        if (rf_dataset_add(data, text, n, label, (size_t)len, &err) != RF_OK)
            break;
    }
    double began = rf_clock_seconds();
    rf_findings *found = data && !err.code ? rf_check(data, &o, &err) : NULL;
    double seconds = rf_clock_seconds() - began;
    if (!found) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (size_t i = 0; i < rf_findings_count(found); i++)
        counts[rf_findings_at(found, i)->kind]++;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%zu rows, %zu planted: %.1f s (%.1f s of CPU), %ld MB at most\n", rows,
           planted, seconds,
           (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6,
           used.ru_maxrss / 1024);
    for (size_t k = 0; k < RF_FINDING_KINDS; k++)
        if (counts[k])
            printf("%s: %zu\n", rf_finding_name(k, NULL), counts[k]);
    rf_findings_free(found);
    rf_dataset_free(data);
    return 0;
}
