#include "data_options.h"

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
         .help = "TSV in which quotes are plain characters; rows with another number of "
                 "fields than the first are dropped and counted."},
        {.name = "text-column",
         .kind = OPTION_TEXT,
         .value = &d->text_column,
         .arg = "C",
         .help = "Name of the text's column, or its number from 1 (default: by its "
                 "usual name, \"text\", else the first of two)."},
        {.name = "label-column",
         .kind = OPTION_TEXT,
         .value = &d->label_column,
         .arg = "C",
         .help = "Name or number of the label's column (default: by its usual name, "
                 "\"label\", else the second of two)."},
        {.name = "header",
         .kind = OPTION_CHOICE,
         .value = &d->header,
         .arg = "yes|no|auto",
         .help = "Whether the first row names the columns (default auto: yes if it "
                 "holds usual names).",
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
