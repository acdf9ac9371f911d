/* train_report.c - what ringfence train prints about its data and the finished model */
#include "train_report.h"

#include "base/json.h"
#include "base/plural.h"
#include "data_options.h"
#include "json_text.h"
#include "screen.h"
#include "tuning_text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define FEW 5   /* rows of a class; rf_data_summary.few */
#define SHOWN 5 /* names in a list */
#define NAMES_MAX 600

/* ---- The data ---------------------------------------------------------------------- */

typedef struct data_warnings {
    const char *path;
    bool quiet, strict;
    size_t n;
} data_warnings;

static void warn(data_warnings *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void warn(data_warnings *o, const char *fmt, ...)
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

/* A header with unusual column names is read as a row, whose label is a class of its
 * own. */
static bool looks_like_header(const rf_dataset *data, const rf_data_summary *s)
{
    size_t rows;
    rf_dataset_label(data, rf_dataset_class(data, 0), &rows);
    return s->few == 1 && rows == 1;
}

static void warn_conflicts(data_warnings *o, const rf_dataset *data,
                           const rf_data_summary *s)
{
    char line[80];
    size_t len;
    const char *text = rf_dataset_text(data, s->conflict_row, &len);
    screen_one_line(line, sizeof line, text, len);
    warn(o,
         "%zu %s the same text as a row with another label: row %zu (not counting a "
         "header) is \"%.100s\", row %zu is \"%.100s\": %s",
         s->conflicts, rf_plural(s->conflicts, "row has", "rows have"),
         s->conflict_with + 1, label_of(data, s->conflict_with), s->conflict_row + 1,
         label_of(data, s->conflict_row), line);
}

static void warn_small_classes(data_warnings *o, const rf_dataset *data,
                               const rf_data_summary *s)
{
    char names[NAMES_MAX] = "";
    size_t n = 0, rows;
    for (size_t c = 0; c < s->classes; c++) {
        const char *label = rf_dataset_label(data, c, &rows);
        if (rows < FEW)
            list_name(names, n++, s->few, label);
    }
    warn(o, "%zu of %zu %s %s fewer than %d rows: %s%s", s->few, s->classes,
         rf_plural(s->classes, "class", "classes"), rf_plural(s->few, "has", "have"), FEW,
         names,
         looks_like_header(data, s)
             ? " (the first row; if it names the columns, give --header yes)"
             : "");
}

/* Labels that usually mean "none of the classes". */
static void warn_open_labels(data_warnings *o, const rf_dataset *data)
{
    for (size_t c = 0; c < rf_dataset_classes(data); c++) {
        size_t rows;
        const char *label = rf_dataset_label(data, c, &rows);
        if (rf_label_means_open(label))
            warn(o,
                 "%zu %s the label \"%.100s\": if it means none of the classes, give "
                 "--open-label \"%.100s\", so that it is not learnt as a class",
                 rows, rf_plural(rows, "row has", "rows have"), label, label);
    }
}

static void warn_suspicious(data_warnings *o, const rf_dataset *data,
                            const rf_data_summary *s, bool is_dev)
{
    if (s->swapped)
        warn(o, DATA_SWAPPED, s->classes);
    if (s->conflicts > 0)
        warn_conflicts(o, data, s);
    if (s->few > 0 && !is_dev)
        warn_small_classes(o, data, s);
    if (!is_dev)
        warn_open_labels(o, data);
    if (s->dropped > 0)
        warn(o, "%zu %s dropped: %s more or fewer fields than the first row", s->dropped,
             rf_plural(s->dropped, "row was", "rows were"),
             rf_plural(s->dropped, "it has", "they have"));
    if (s->empty > 0)
        warn(o, "%zu %s empty", s->empty, rf_plural(s->empty, "text is", "texts are"));
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

static void print_size(const char *path, const rf_data_summary *s, size_t unknown)
{
    fprintf(stderr, "%s: %zu %s, %zu %s of %zu", path, s->rows,
            rf_plural(s->rows, "row", "rows"), s->classes,
            rf_plural(s->classes, "class", "classes"), s->smallest);
    if (s->smallest == s->largest)
        fprintf(stderr, " %s each", rf_plural(s->largest, "row", "rows"));
    else
        fprintf(stderr, " to %zu rows", s->largest);
    if (s->duplicates > 0)
        fprintf(stderr, ", %zu repeated %s", s->duplicates,
                rf_plural(s->duplicates, "row", "rows"));
    if (unknown > 0)
        fprintf(stderr, ", %zu %s not in the training data", unknown,
                rf_plural(unknown, "row not used: its label is",
                          "rows not used: their labels are"));
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
        print_size(path, &s, unknown);
    if (unknown > 0 && unknown == s.rows)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: none of its labels is in the training data; found labels "
                       "like \"%.100s\", wanted labels like \"%.100s\"",
                       path, label_of(data, 0), label_of(train, 0));
    data_warnings o = {.path = path, .quiet = p->quiet, .strict = strict};
    warn_suspicious(&o, data, &s, train != NULL);
    *n_odd = o.n;
    return RF_OK;
}

/* ---- The model --------------------------------------------------------------------- */

/* Rows with this label. Labels are in byte order. */
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
 * without dev texts. Held-out rows are the rows of a class that it was not trained on. */
static double dev_accepted(const rf_model *model, const rf_dataset *train,
                           const rf_dataset *dev)
{
    double sum = 0.0, rows = 0.0;
    rf_class_summary c;
    for (size_t i = 0; rf_model_class(model, i, &c); i++) {
        if (c.dev_recall < 0.0)
            continue;
        double n = dev ? (double)rows_of(dev, c.label)
                       : (double)rows_of(train, c.label) - (double)c.rows;
        sum += n * c.dev_recall;
        rows += n;
    }
    return rows > 0.0 ? 100.0 * sum / rows : -1.0;
}

static bool is_weak(const rf_class_summary *c)
{
    return c->recall >= 0.0 && c->recall < 0.5;
}

static void warn_weak_heads(const rf_model *model)
{
    char names[NAMES_MAX] = "";
    size_t total = 0, n = 0;
    rf_class_summary c;
    for (size_t i = 0; rf_model_class(model, i, &c); i++)
        total += is_weak(&c);
    for (size_t i = 0; rf_model_class(model, i, &c); i++)
        if (is_weak(&c))
            list_name(names, n++, total, c.label);
    if (total > 0)
        screen_complain("warning: %zu of %zu heads %s less than half of the training "
                        "texts of %s own class: %s",
                        total, rf_model_classes(model),
                        rf_plural(total, "accepts", "accept"),
                        rf_plural(total, "its", "their"), names);
}

rf_status train_report_model(train_progress *p, const rf_model *model,
                             const rf_dataset *train, const rf_dataset *dev,
                             rf_error *err)
{
    const char *text = rf_model_json(model);
    json_t *root = rf_json_object(text, strlen(text), "the model's description", err);
    if (!root)
        return err->code;
    rf_model_summary s;
    rf_model_summarize(model, &s);
    double share = dev_accepted(model, train, dev);
    if (train_progress_begin(p, "trained")) {
        fputs(", \"dev_accuracy\": ", p->log);
        json_put_double(p->log, s.dev_accuracy >= 0.0 ? s.dev_accuracy : NAN);
        fputs(", \"dev_accepted\": ", p->log);
        json_put_double(p->log, share >= 0.0 ? share : NAN);
        train_progress_end(p);
    }
    if (!p->quiet) {
        screen_progress_end();
        if (s.dev_accuracy >= 0.0)
            fprintf(stderr, "dev accuracy among the known classes: %.2f %%\n",
                    s.dev_accuracy);
        if (share >= 0.0)
            fprintf(stderr, "dev texts accepted by the head of their class: %.2f %%\n",
                    share);
        warn_weak_heads(model);
        const json_t *summary = json_object_get(root, "summary");
        tuning_text_put(stderr, json_object_get(summary, "tuning"));
        expected_text_put(stderr, json_object_get(summary, "expected"));
        budget_text_put(stderr, json_object_get(summary, "budget"));
    }
    json_decref(root);
    return RF_OK;
}
