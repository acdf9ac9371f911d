#include "tuning_text.h"

#include "json_read.h"

#define INDENT "           "

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
        fprintf(to, "tuning     not done; %s; settings stay as they were asked for\n",
                why);
        return;
    }
    const json_t *fence = json_object_get(tuning, "fence");
    json_t *list = json_object_get(tuning, "candidates"), *c;
    size_t i;
    fprintf(to, "tuning     %s: %zu trainings that hid some of the classes\n",
            json_read_word(tuning, "effort"), json_read_count(tuning, "folds"));
    fprintf(to, INDENT "  %-14s %5s %7s %6s  %s\n", "candidate", "folds", "F1", "sd",
            "against the default");
    json_array_foreach(list, i, c) put_candidate(to, c, i == 0);
    if (fence) /* with a budget there is none */
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

void budget_text_put(FILE *to, const json_t *budget)
{
    if (!json_is_object(budget))
        return;
    const json_t *accept = json_object_get(budget, "max_false_accept");
    const json_t *reject = json_object_get(budget, "max_false_reject");
    const json_t *offset = json_object_get(budget, "offset");
    fputs("budget     ", to);
    if (json_is_number(accept))
        fprintf(to, "at most %g %% of open texts let in%s",
                100.0 * json_number_value(accept), json_is_number(reject) ? "; " : "");
    if (json_is_number(reject))
        fprintf(to, "at most %g %% of known texts called open",
                100.0 * json_number_value(reject));
    fprintf(to, "\n" INDENT "by %zu texts of %zu classes, each hidden in turn\n",
            json_read_count(budget, "open_rows"),
            json_read_count(budget, "hidden_classes"));
    put_rate(to, "open texts let in", budget, "expected_false_accept", "interval");
    put_rate(to, "known texts called open", budget, "expected_false_reject",
             "reject_interval");
    put_rate(to, "known texts given their class", budget, "expected_recall",
             "recall_interval");
    fprintf(to, INDENT "dev texts given their class: %.2f %%\n",
            100.0 * json_read_number(budget, "dev_recall"));
    fprintf(to, INDENT "margins moved by %.3f (%.3f to %.3f)\n",
            json_read_number(offset, "mean"), json_read_number(offset, "min"),
            json_read_number(offset, "max"));
}
