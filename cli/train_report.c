#include "train_report.h"

#include "base/json.h"
#include "json_text.h"
#include "screen.h"
#include "tuning_text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define FEW 5   /* rows of a class; rf_data_summary.few */
#define SHOWN 5 /* names in a list */
#define NAMES_MAX 600

/* ---- Before ------------------------------------------------------------------------ */

typedef struct oddities {
    const char *path;
    bool quiet, strict;
    size_t n;
} oddities;

static void odd(oddities *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void odd(oddities *o, const char *fmt, ...)
{
    char text[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    o->n++;
    if (o->strict || !o->quiet)
        screen_complain("%s: %s: %s", o->strict ? "error" : "warning", o->path, text);
}

/* Adds a name to a list of at most SHOWN: a, b, c and 7 more */
static void list_name(char list[NAMES_MAX], size_t n, size_t total, const char *name)
{
    char line[100];
    size_t used = strlen(list);
    if (n < SHOWN)
        snprintf(list + used, NAMES_MAX - used, "%s%s", n ? ", " : "",
                 screen_one_line(line, sizeof line, name, strlen(name)));
    else if (n == SHOWN)
        snprintf(list + used, NAMES_MAX - used, " and %zu more", total - n);
}

static const char *label_of(const rf_dataset *data, size_t row)
{
    return rf_dataset_label(data, rf_dataset_class(data, row), NULL);
}

/* A header with names that are not known would be a class of its own. */
static bool looks_like_header(const rf_dataset *data, const rf_data_summary *s)
{
    size_t rows;
    rf_dataset_label(data, rf_dataset_class(data, 0), &rows);
    return s->few == 1 && rows == 1;
}

static void look(oddities *o, const rf_dataset *data, const rf_data_summary *s,
                 bool is_dev)
{
    if (s->conflicts > 0) {
        char line[80];
        size_t len;
        const char *text = rf_dataset_text(data, s->conflict_row, &len);
        screen_one_line(line, sizeof line, text, len);
        odd(o,
            "%zu rows have the text of a row with another label: row %zu (without a "
            "header) is \"%.100s\", row %zu is \"%.100s\": %s",
            s->conflicts, s->conflict_with + 1, label_of(data, s->conflict_with),
            s->conflict_row + 1, label_of(data, s->conflict_row), line);
    }
    if (s->few > 0 && !is_dev) {
        char names[NAMES_MAX] = "";
        size_t n = 0, rows;
        for (size_t c = 0; c < s->classes; c++) {
            const char *label = rf_dataset_label(data, c, &rows);
            if (rows < FEW)
                list_name(names, n++, s->few, label);
        }
        odd(o, "%zu of %zu classes have fewer than %d rows: %s%s", s->few, s->classes,
            FEW, names,
            looks_like_header(data, s)
                ? " (the first row; if it names the columns, say --header yes)"
                : "");
    }
    if (s->dropped > 0)
        odd(o, "%zu rows were dropped: they have another number of fields than the first",
            s->dropped);
    if (s->empty > 0)
        odd(o, "%zu texts are empty", s->empty);
}

/* Rows of dev whose label is not among those of train. Both are in byte order. */
static size_t unknown_rows(const rf_dataset *dev, const rf_dataset *train)
{
    size_t sum = 0, t = 0, n = rf_dataset_classes(train), rows;
    for (size_t c = 0; c < rf_dataset_classes(dev); c++) {
        const char *label = rf_dataset_label(dev, c, &rows);
        while (t < n && strcmp(rf_dataset_label(train, t, NULL), label) < 0)
            t++;
        if (t == n || strcmp(rf_dataset_label(train, t, NULL), label) != 0)
            sum += rows;
    }
    return sum;
}

static void show_numbers(const char *path, const rf_data_summary *s, size_t unknown)
{
    fprintf(stderr, "%s: %zu rows, %zu classes of %zu", path, s->rows, s->classes,
            s->smallest);
    if (s->smallest == s->largest)
        fputs(" rows each", stderr);
    else
        fprintf(stderr, " to %zu rows", s->largest);
    if (s->duplicates > 0)
        fprintf(stderr, ", %zu repeated rows", s->duplicates);
    if (unknown > 0)
        fprintf(stderr, ", %zu rows not used: their labels are not in the training data",
                unknown);
    fputc('\n', stderr);
}

rf_status train_report_data(train_progress *p, const char *path, const rf_dataset *data,
                            const rf_dataset *train, bool strict, size_t *n_odd,
                            rf_error *err)
{
    rf_data_summary s;
    rf_status st = rf_dataset_summarize(data, &s, err);
    if (st != RF_OK)
        return st;
    if (strcmp(path, "-") == 0)
        path = "standard input";
    if (train_progress_begin(p, train ? "dev" : "data")) {
        fprintf(p->log,
                ", \"rows\": %zu, \"classes\": %zu, \"smallest\": %zu, \"largest\": %zu, "
                "\"duplicates\": %zu, \"conflicts\": %zu, \"few\": %zu, \"dropped\": "
                "%zu, \"empty\": %zu",
                s.rows, s.classes, s.smallest, s.largest, s.duplicates, s.conflicts,
                s.few, s.dropped, s.empty);
        train_progress_end(p);
    }
    size_t unknown = train ? unknown_rows(data, train) : 0;
    if (!p->quiet)
        show_numbers(path, &s, unknown);
    if (unknown > 0 && unknown == s.rows)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: none of its labels is in the training data; found such as "
                       "\"%.100s\", wanted such as \"%.100s\"",
                       path, label_of(data, 0), label_of(train, 0));
    oddities o = {.path = path, .quiet = p->quiet, .strict = strict};
    look(&o, data, &s, train != NULL);
    *n_odd = o.n;
    return RF_OK;
}

/* ---- After ------------------------------------------------------------------------- */

/* Rows of a label in a data set. */
static size_t rows_of(const rf_dataset *data, const char *label)
{
    for (size_t low = 0, high = rf_dataset_classes(data); low < high;) {
        size_t middle = low + (high - low) / 2, rows;
        int order = strcmp(rf_dataset_label(data, middle, &rows), label);
        if (order == 0)
            return rows;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Share of the dev texts that the head of their own class accepts, in per cent; negative
 * without dev texts. Held-out rows are those that are not among the class's own. */
static double accepted(const json_t *root, const rf_dataset *train, const rf_dataset *dev)
{
    json_t *heads = json_object_get(json_object_get(root, "summary"), "heads"), *head;
    json_t *classes = json_object_get(root, "classes");
    double sum = 0.0, rows = 0.0;
    size_t i;
    json_array_foreach(heads, i, head)
    {
        const char *label = json_string_value(json_object_get(head, "label"));
        json_t *recall = json_object_get(head, "dev_recall");
        json_int_t own =
            json_integer_value(json_object_get(json_array_get(classes, i), "rows"));
        if (!label || !json_is_number(recall))
            continue;
        double n = dev ? (double)rows_of(dev, label)
                       : (double)rows_of(train, label) - (double)own;
        sum += n * json_number_value(recall);
        rows += n;
    }
    return rows > 0.0 ? 100.0 * sum / rows : -1.0;
}

static void show_weak(const json_t *root)
{
    json_t *heads = json_object_get(json_object_get(root, "summary"), "heads"), *head;
    char names[NAMES_MAX] = "";
    size_t total = 0, n = 0, i;
    json_array_foreach(heads, i, head) total +=
        json_number_value(json_object_get(head, "recall")) < 0.5;
    json_array_foreach(heads, i, head)
    {
        const char *label = json_string_value(json_object_get(head, "label"));
        if (json_number_value(json_object_get(head, "recall")) < 0.5)
            list_name(names, n++, total, label ? label : "?");
    }
    if (total > 0)
        screen_complain("warning: %zu of %zu classes accept less than half of their own "
                        "training texts: %s",
                        total, json_array_size(heads), names);
}

rf_status train_report_model(train_progress *p, const rf_model *model,
                             const rf_dataset *train, const rf_dataset *dev,
                             rf_error *err)
{
    const char *text = rf_model_json(model);
    json_t *root = rf_json_object(text, strlen(text), "the model's description", err);
    if (!root)
        return err->code;
    json_t *accuracy = json_object_get(
        json_object_get(json_object_get(root, "summary"), "known"), "dev_accuracy");
    double share = accepted(root, train, dev);
    if (train_progress_begin(p, "trained")) {
        fputs(", \"dev_accuracy\": ", p->log);
        json_put_double(p->log,
                        json_is_number(accuracy) ? json_number_value(accuracy) : NAN);
        fputs(", \"dev_accepted\": ", p->log);
        json_put_double(p->log, share >= 0.0 ? share : NAN);
        train_progress_end(p);
    }
    if (!p->quiet) {
        screen_progress_end();
        if (json_is_number(accuracy))
            fprintf(stderr, "dev accuracy among the known classes: %.2f %%\n",
                    json_number_value(accuracy));
        if (share >= 0.0)
            fprintf(stderr, "dev texts accepted by the head of their class: %.2f %%\n",
                    share);
        show_weak(root);
        const json_t *summary = json_object_get(root, "summary");
        tuning_text_put(stderr, json_object_get(summary, "tuning"));
        budget_text_put(stderr, json_object_get(summary, "budget"));
    }
    json_decref(root);
    return RF_OK;
}
