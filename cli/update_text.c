/* update_text.c - prints what an update changed */
#include "update_text.h"

#include "base/plural.h"
#include "json_read.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_NAMES 8 /* of a list of classes */
#define ONE_LINE 72

/* "added    a, b, c and 4 more"; nothing for an empty list. */
static void put_names(const char *what, const json_t *list)
{
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    printf("%-9s ", what);
    for (size_t i = 0; i < n && i < SHOWN_NAMES; i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(item);
        printf("%s", i ? ", " : "");
        if (name)
            printf("%s", name);
        else
            printf("%s -> %s", json_read_word(item, "from"), json_read_word(item, "to"));
    }
    if (n > SHOWN_NAMES)
        printf(" and %zu more", n - SHOWN_NAMES);
    putchar('\n');
}

static void put_rows(const json_t *r)
{
    size_t added = json_read_count(r, "rows_added"),
           same = json_read_count(r, "rows_same");
    printf("rows      %zu added, %zu relabelled, %zu removed", added,
           json_read_count(r, "rows_relabelled"), json_read_count(r, "rows_removed"));
    if (same)
        printf(", %zu there already", same);
    putchar('\n');
    if (added && !json_is_true(json_object_get(r, "texts_kept")))
        puts("          The model keeps no texts, so rows that correct a label could not "
             "be found: all\n"
             "          were added. Train without --no-examples to have labels "
             "corrected.");
}

static void put_fitted(const json_t *r)
{
    size_t fitted = json_array_size(json_object_get(r, "fitted"));
    size_t heads = json_read_count(r, "heads_trained");
    const json_t *moved = json_object_get(r, "fence_moved");
    printf("fitted    %zu %s, %zu kept; %zu %s trained\n", fitted,
           rf_plural(fitted, "class", "classes"), json_read_count(r, "classes_kept"),
           heads, rf_plural(heads, "head", "heads"));
    if (json_is_true(json_object_get(r, "shared_refitted")))
        puts("          Half as many rows as at the last fit have changed: what classes "
             "share was\n          fitted again, for all of them.");
    if (json_is_number(moved))
        printf("fence     moved by %+.2f, as a quick cross-fit found\n",
               json_number_value(moved));
}

static void put_flips(const json_t *flips)
{
    size_t flipped = json_read_count(flips, "flipped"), i;
    const json_t *text;
    printf("answers   %zu of %zu training texts %s another one: %zu now right, %zu now "
           "wrong\n",
           flipped, json_read_count(flips, "rows"), rf_plural(flipped, "has", "have"),
           json_read_count(flips, "better"), json_read_count(flips, "worse"));
    json_array_foreach(json_object_get(flips, "texts"), i, text)
    {
        char line[ONE_LINE];
        const char *shown = json_string_value(json_object_get(text, "text"));
        if (shown)
            printf("          \"%s\"",
                   screen_one_line(line, sizeof line, shown, strlen(shown)));
        else
            printf("          a text of %s", json_read_word(text, "label"));
        printf(": %s -> %s\n", json_read_word(text, "before"),
               json_read_word(text, "after"));
    }
}

static void put_dev(const json_t *dev)
{
    size_t i;
    const json_t *row;
    if (!dev)
        return;
    puts("\ndev texts                                 rows   right before   now");
    json_array_foreach(dev, i, row)
    {
        const json_t *before = json_object_get(row, "before");
        screen_put_cell(json_read_word(row, "label"), 40);
        printf("%6zu", json_read_count(row, "rows"));
        if (json_is_number(before))
            printf("%13.0f %%", 100.0 * json_number_value(before));
        else
            printf("%15s", "-");
        printf("%6.0f %%\n", 100.0 * json_read_number(row, "after"));
    }
}

void update_text_put(const json_t *r)
{
    put_names("added", json_object_get(r, "added"));
    put_names("removed", json_object_get(r, "removed"));
    put_names("renamed", json_object_get(r, "renamed"));
    put_names("merged", json_object_get(r, "merged"));
    put_rows(r);
    put_fitted(r);
    put_flips(json_object_get(r, "training_texts"));
    put_dev(json_object_get(r, "dev"));
    if (json_is_true(json_object_get(r, "retraining_advised")))
        printf(
            "\nThe encoder was tuned on %zu of the %zu rows and %zu of the %zu classes: "
            "training\nagain on all of them is worth it (below two thirds).\n",
            json_read_count(r, "seen_rows"), json_read_count(r, "rows"),
            json_read_count(r, "seen_classes"), json_read_count(r, "classes"));
}
