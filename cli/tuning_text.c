/* tuning_text.c - prints the results of tuning, of an error budget and of moved fences,
 * from the JSON in a model or a settings file
 */
#include "tuning_text.h"

#include "base/plural.h"
#include "json_read.h"

#define INDENT "           "
#define ENOUGH_ROWS 30 /* of a class: below, more rows are the best advice */

static void put_candidate(FILE *to, const json_t *c, bool is_default)
{
    fprintf(to, INDENT "%s %-14s %5zu %7.2f %6.2f",
            json_is_true(json_object_get(c, "chosen")) ? "*" : " ",
            json_read_word(c, "name"), json_read_count(c, "folds"),
            json_read_number(c, "f1"), json_read_number(c, "sd"));
    if (!is_default)
        fprintf(to, "  %+.2f +- %.2f, better in %zu of %zu",
                json_read_number(c, "difference"), json_read_number(c, "difference_sd"),
                json_read_count(c, "wins"), json_read_count(c, "folds"));
    fputc('\n', to);
}

void tuning_text_put(FILE *to, const json_t *tuning)
{
    if (!json_is_object(tuning))
        return;
    const char *why = json_string_value(json_object_get(tuning, "why_not"));
    if (why) {
        fprintf(to, "tuning     not done; %s; the settings stay as they were\n", why);
        return;
    }
    const json_t *fence = json_object_get(tuning, "fence");
    json_t *list = json_object_get(tuning, "candidates"), *c;
    size_t i;
    size_t folds = json_read_count(tuning, "folds");
    fprintf(to, "tuning     %s: %zu %s that hid some of the classes\n",
            json_read_word(tuning, "effort"), folds,
            rf_plural(folds, "training", "trainings"));
    fprintf(to, INDENT "  %-14s %5s %7s %6s  %s\n", "candidate", "folds", "F1", "sd",
            "against the default");
    json_array_foreach(list, i, c) put_candidate(to, c, i == 0);
    if (fence) /* not with a budget */
        fprintf(to, INDENT "fence_reject %g, fence_offset %g\n",
                json_read_number(fence, "fence_reject"),
                json_read_number(fence, "fence_offset"));
    fprintf(to, INDENT "%s\n", json_read_word(tuning, "verdict"));
}

static void put_rate(FILE *to, const char *what, const json_t *budget, const char *rate,
                     const char *interval)
{
    const json_t *ends = json_object_get(budget, interval);
    fprintf(to, INDENT "%s: %.2f %% expected (95 %%: %.2f to %.2f)\n", what,
            100.0 * json_read_number(budget, rate),
            100.0 * json_number_value(json_array_get(ends, 0)),
            100.0 * json_number_value(json_array_get(ends, 1)));
}

static void put_expected(FILE *to, const char *what, const json_t *rate)
{
    fprintf(to, INDENT "%-29s %3.0f %% (95 %%: %.0f to %.0f)\n", what,
            100.0 * json_read_number(rate, "rate"), 100.0 * json_read_number(rate, "low"),
            100.0 * json_read_number(rate, "high"));
}

static void put_worst(FILE *to, const json_t *c)
{
    size_t rows = json_read_count(c, "rows"), texts = json_read_count(c, "texts");
    const char *other = json_string_value(json_object_get(c, "mistaken_for"));
    size_t mistaken = json_read_count(c, "mistaken");
    fprintf(to, INDENT "  %s: %zu of %zu right", json_read_word(c, "label"),
            json_read_count(c, "right"), texts);
    if (rows < ENOUGH_ROWS)
        fprintf(to, "; it has %zu %s: more would help most\n", rows,
                rf_plural(rows, "row", "rows"));
    else if (other && mistaken > json_read_count(c, "as_open"))
        fprintf(to, "; most often taken for %s: are both one class?\n", other);
    else
        fprintf(to, "; most often called open: add texts of the kinds it lacks\n");
}

void expected_text_put(FILE *to, const json_t *expected)
{
    const json_t *reject = json_object_get(expected, "known_as_open");
    const char *why = json_string_value(json_object_get(expected, "why_not"));
    json_t *worst = json_object_get(expected, "worst"), *c;
    size_t i;
    if (why)
        fprintf(to, "expected   unknown: %s\n", why);
    if (!json_is_object(reject))
        return;
    fprintf(to,
            "expected   for texts like the training texts, from %zu answers to texts "
            "held out\n",
            json_read_count(reject, "texts"));
    put_expected(to, "known texts given their class",
                 json_object_get(expected, "known_right"));
    put_expected(to, "known texts called open", reject);
    put_expected(to, "open texts let in", json_object_get(expected, "open_let_in"));
    fprintf(to, INDENT "if they are %s%s\n",
            json_read_count(expected, "open_texts") > 0
                ? "like your open texts"
                : "as near as one class is to the others",
            json_array_size(worst) > 0 ? "; worst classes:" : "");
    json_array_foreach(worst, i, c) put_worst(to, c);
}

/* "at most 5 % of open texts accepted"; nothing without a limit. */
static void put_limits(FILE *to, const json_t *budget)
{
    const json_t *accept = json_object_get(budget, "max_false_accept");
    const json_t *reject = json_object_get(budget, "max_false_reject");
    if (json_is_number(accept))
        fprintf(to, "at most %g %% of open texts accepted%s",
                100.0 * json_number_value(accept), json_is_number(reject) ? "; " : "");
    if (json_is_number(reject))
        fprintf(to, "at most %g %% of known texts called open",
                100.0 * json_number_value(reject));
}

void budget_text_put(FILE *to, const json_t *budget)
{
    if (!json_is_object(budget))
        return;
    const json_t *offset = json_object_get(budget, "offset");
    fputs("budget     ", to);
    put_limits(to, budget);
    size_t texts = json_read_count(budget, "open_rows");
    size_t classes = json_read_count(budget, "hidden_classes");
    fprintf(to, "\n" INDENT "from %zu %s of %zu %s, each hidden in turn\n", texts,
            rf_plural(texts, "text", "texts"), classes,
            rf_plural(classes, "class", "classes"));
    put_rate(to, "open texts accepted", budget, "expected_false_accept", "interval");
    put_rate(to, "known texts called open", budget, "expected_false_reject",
             "reject_interval");
    put_rate(to, "known texts given their class", budget, "expected_recall",
             "recall_interval");
    fprintf(to, INDENT "margins moved by %.3f (%.3f to %.3f)\n",
            json_read_number(offset, "mean"), json_read_number(offset, "min"),
            json_read_number(offset, "max"));
}

void fence_text_put(FILE *to, const json_t *fence)
{
    static const char *const lines[][2] = {{"accuracy", "accuracy"},
                                           {"F1", "f1"},
                                           {"known texts called open", "known_as_open"},
                                           {"open texts let in", "open_let_in"}};
    const json_t *expected = json_object_get(fence, "expected");
    const char *best = json_string_value(json_object_get(fence, "best"));
    size_t rows = json_read_count(fence, "rows");
    size_t own = json_array_size(json_object_get(fence, "own"));
    if (!json_is_object(fence))
        return;
    bool limit = json_is_number(json_object_get(fence, "max_false_accept")) ||
                 json_is_number(json_object_get(fence, "max_false_reject"));
    fprintf(to, "fence      placed by %s", best || limit ? "" : "hand");
    if (rows > 0)
        fprintf(to, "%s%zu labelled %s, %zu of them open%s", best || limit ? "" : "; ",
                rows, rf_plural(rows, "row", "rows"), json_read_count(fence, "open_rows"),
                best || limit ? ": " : "");
    if (best)
        fprintf(to, "best %s", best);
    put_limits(to, fence);
    fprintf(to, "\n" INDENT "margins moved by %.3f", json_read_number(fence, "offset"));
    if (own > 0)
        fprintf(to, "; %zu %s", own,
                rf_plural(own, "class also by an offset of its own",
                          "classes also by offsets of their own"));
    fputc('\n', to);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (json_is_object(json_object_get(expected, lines[i][1])))
            put_expected(to, lines[i][0], json_object_get(expected, lines[i][1]));
}
