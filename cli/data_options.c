/* data_options.c - the options about reading labelled data, and the readers that use them
 */
#include "data_options.h"

#include "base/plural.h"
#include "screen.h"

#include <string.h>

void data_options_list(data_options *d, option out[DATA_OPTIONS])
{
    /* In the order of rf_data_format and rf_data_header. */
    static const char *const formats[] = {"auto", "tsv", "csv", "jsonl", NULL};
    static const char *const headers[] = {"auto", "yes", "no", NULL};
    const option list[DATA_OPTIONS] = {
        {.help = "reading labelled data"},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &d->format,
         .arg = "tsv|csv|jsonl",
         .help = "Format of the data (default: by the file's name or its first line).",
         .choices = formats},
        {.name = "raw-tsv",
         .kind = OPTION_FLAG,
         .value = &d->raw_tsv,
         .help = "TSV in which quotes are plain characters; rows with more or fewer "
                 "fields than the first are dropped and reported."},
        {.name = "text-column",
         .kind = OPTION_TEXT,
         .value = &d->text_column,
         .arg = "C",
         .help = "Column of the texts: its name, or its number from 1 (default: a usual "
                 "name such as \"text\", else the first of two)."},
        {.name = "label-column",
         .kind = OPTION_TEXT,
         .value = &d->label_column,
         .arg = "C",
         .help = "Column of the labels: its name or number (default: a usual name such "
                 "as \"label\", else the second of two)."},
        {.name = "header",
         .kind = OPTION_CHOICE,
         .value = &d->header,
         .arg = "yes|no|auto",
         .help = "Whether the first row names the columns (default auto: yes if it has "
                 "usual names).",
         .choices = headers},
    };
    memcpy(out, list, sizeof list);
}

rf_dataset *data_options_read(const data_options *d, const char *path, rf_error *err)
{
    rf_data_options o = rf_data_options_default();
    o.format = (rf_data_format)d->format;
    o.header = (rf_data_header)d->header;
    o.text_column = d->text_column;
    o.label_column = d->label_column;
    o.raw_tsv = d->raw_tsv;
    return rf_dataset_read(path, &o, err);
}

/* ---- Test sets --------------------------------------------------------------------- */

static bool has_known_label(const rf_dataset *data, const rf_model *model)
{
    for (size_t c = 0; c < rf_dataset_classes(data); c++) {
        const char *label = rf_dataset_label(data, c, NULL);
        if (rf_model_find(model, label, strlen(label)) != RF_OPEN)
            return true;
    }
    return false;
}

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

void data_options_check_labels(const rf_dataset *data, const char *path,
                               const rf_model *model)
{
    char found[100], known[100];
    if (rf_dataset_rows(data) == 0 || has_known_label(data, model))
        return;
    const char *label = rf_dataset_label(data, 0, NULL);
    const char *class = rf_model_label(model, 0);
    screen_complain("warning: %s: no label is a class of the model, so all texts count "
                    "as open; found labels like \"%s\", wanted labels like \"%s\"",
                    name_of(path),
                    screen_one_line(found, sizeof found, label, strlen(label)),
                    screen_one_line(known, sizeof known, class, strlen(class)));
}

rf_dataset *data_options_read_test(const data_options *d, const char *path,
                                   const rf_model *model, rf_error *err)
{
    rf_data_summary s;
    rf_dataset *data = data_options_read(d, path, err);
    if (!data || rf_dataset_summarize(data, &s, err) != RF_OK) {
        rf_dataset_free(data);
        return NULL;
    }
    if (s.dropped > 0)
        screen_complain("warning: %s: %zu %s dropped: %s more or fewer fields than the "
                        "first row",
                        name_of(path), s.dropped,
                        rf_plural(s.dropped, "row was", "rows were"),
                        rf_plural(s.dropped, "it has", "they have"));
    data_options_check_labels(data, path, model);
    return data;
}
