/* data_options.c - the options about reading data, and the readers that use them */
#include "data_options.h"

#include "base/plural.h"
#include "commands.h"
#include "screen.h"

#include <stdio.h>
#include <string.h>

#define FORMATS 20 /* more than there are */

/* The names of formats in the order of rf_data_format. */
static const char *const *format_names(void)
{
    static const char *names[FORMATS];
    for (size_t i = 0; i + 1 < FORMATS; i++)
        names[i] = rf_data_format_name((rf_data_format)i, NULL);
    return names;
}

void data_options_list(data_options *d, option out[DATA_OPTIONS])
{
    static const char *const headers[] = {"auto", "yes", "no", NULL}; /* rf_data_header */
    const option list[DATA_OPTIONS] = {
        {.help = "reading data"},
        {.name = "format",
         .kind = OPTION_CHOICE,
         .value = &d->format,
         .arg = "NAME",
         .help = "Format of the data: tsv, csv, jsonl, json, fasttext, rasa-yaml, "
                 "rasa-md, luis, snips, dialogflow, folders, lines (default auto: "
                 "by content and name).",
         .choices = format_names()},
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
        {.name = "part",
         .kind = OPTION_TEXT,
         .value = &d->part,
         .arg = "P",
         .help = "Which parts to read of a file that has several, such as train,val; or "
                 "all."},
        {.name = "encoding",
         .kind = OPTION_TEXT,
         .value = &d->encoding,
         .arg = "E",
         .help = "Convert the data from latin1, windows-1252, utf-16 or another encoding "
                 "(default: UTF-8); \"bytes\" takes texts as they are."},
        {.name = "skip-bad-rows",
         .kind = OPTION_FLAG,
         .value = &d->skip_bad_rows,
         .help = "Leave out rows that cannot be read, and say how many."},
        {.name = "delimiter",
         .kind = OPTION_TEXT,
         .value = &d->delimiter,
         .arg = "X",
         .help = "Character between the fields of CSV, or \"tab\" (default: the one of "
                 ", ; | and tab that fits).",
         .rare = true},
        {.name = "raw-tsv",
         .kind = OPTION_FLAG,
         .value = &d->raw_tsv,
         .help = "TSV in which quotes are plain characters; rows with more or fewer "
                 "fields than the first are dropped and reported.",
         .rare = true},
        {.name = "max-unpacked",
         .kind = OPTION_BYTES,
         .value = &d->max_unpacked,
         .arg = "SIZE",
         .help = "Refuse packed data, and data that is read as a whole, of more bytes "
                 "(default 1G).",
         .min = 1,
         .max = SIZE_MAX / 4,
         .rare = true},
    };
    memcpy(out, list, sizeof list);
}

rf_status data_options_of(const data_options *d, rf_data_options *o, rf_error *err)
{
    *o = rf_data_options_default();
    o->format = (rf_data_format)d->format;
    o->header = (rf_data_header)d->header;
    o->text_column = d->text_column;
    o->label_column = d->label_column;
    o->raw_tsv = d->raw_tsv;
    o->skip_bad_rows = d->skip_bad_rows;
    o->encoding = d->encoding;
    o->part = d->part;
    o->max_unpacked = d->max_unpacked;
    if (!d->delimiter)
        return RF_OK;
    bool tab = strcmp(d->delimiter, "tab") == 0 || strcmp(d->delimiter, "\\t") == 0;
    o->delimiter = tab ? '\t' : d->delimiter[0];
    if (tab || (strlen(d->delimiter) == 1 && !strchr("\"\n\r", d->delimiter[0])))
        return RF_OK;
    return rf_fail(err, RF_ERR_ARG, 0,
                   "--delimiter is \"%.20s\", wanted one character such as ; or \"tab\"",
                   d->delimiter);
}

static void report(const char *name, size_t skipped, const char *why)
{
    if (skipped > 0)
        screen_complain("warning: %s: %zu %s skipped; the first: %s", name, skipped,
                        rf_plural(skipped, "row was", "rows were"), why);
}

void data_report_skipped(const char *name, const rf_table_end *end)
{
    report(name, end->skipped, end->skipped_why);
}

rf_dataset *data_options_read(const data_options *d, const char *const *paths, size_t n,
                              rf_error *err)
{
    rf_data_options o;
    char name[DATA_NAME];
    if (data_options_of(d, &o, err) != RF_OK)
        return NULL;
    rf_dataset *data = rf_dataset_read_files(paths, n, &o, err);
    rf_data_summary s;
    if (data && d->skip_bad_rows && rf_dataset_summarize(data, &s, NULL) == RF_OK)
        report(data_name(name, paths, n), s.skipped, s.skipped_why);
    return data;
}

rf_dataset *data_options_read_texts(const data_options *d, const char *path,
                                    rf_error *err)
{
    rf_data_options o;
    if (data_options_of(d, &o, err) != RF_OK)
        return NULL;
    o.texts_only = true;
    return rf_dataset_read_files(&path, 1, &o, err);
}

/* ---- Names of several files -------------------------------------------------------- */

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

const char *data_name(char out[DATA_NAME], const char *const *paths, size_t n)
{
    if (n == 1)
        snprintf(out, DATA_NAME, "%s", name_of(paths[0]));
    else
        snprintf(out, DATA_NAME, "%s and %zu more", name_of(paths[0]), n - 1);
    return out;
}

const char *data_title(char out[DATA_NAME], const char *const *paths, size_t n)
{
    const char *slash = strrchr(paths[0], '/');
    const char *first = slash && slash[1] ? slash + 1 : paths[0];
    return data_name(out, n == 1 ? &first : paths, n);
}

bool data_would_be_overwritten(const char *output, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (command_would_overwrite(output, paths[i]))
            return true;
    return false;
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

void data_options_check_labels(const rf_dataset *data, const char *name,
                               const rf_model *model)
{
    char found[100], known[100];
    if (rf_dataset_rows(data) == 0 || has_known_label(data, model))
        return;
    const char *label = rf_dataset_label(data, 0, NULL);
    const char *class = rf_model_label(model, 0);
    screen_complain("warning: %s: no label is a class of the model, so all texts count "
                    "as open; found labels like \"%s\", wanted labels like \"%s\"",
                    name, screen_one_line(found, sizeof found, label, strlen(label)),
                    screen_one_line(known, sizeof known, class, strlen(class)));
}

rf_dataset *data_options_read_test(const data_options *d, const char *const *paths,
                                   size_t n, const rf_model *model, rf_error *err)
{
    rf_data_summary s;
    char name[DATA_NAME];
    data_name(name, paths, n);
    rf_dataset *data = data_options_read(d, paths, n, err);
    if (!data || rf_dataset_summarize(data, &s, err) != RF_OK) {
        rf_dataset_free(data);
        return NULL;
    }
    if (s.dropped > 0)
        screen_complain("warning: %s: %zu %s dropped: %s more or fewer fields than the "
                        "first row",
                        name, s.dropped, rf_plural(s.dropped, "row was", "rows were"),
                        rf_plural(s.dropped, "it has", "they have"));
    if (s.swapped)
        screen_complain("warning: %s: " DATA_SWAPPED, name, s.classes);
    data_options_check_labels(data, name, model);
    return data;
}
