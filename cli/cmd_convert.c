/* cmd_convert.c - ringfence convert: labelled data of any format as TSV, CSV or JSON
 * Lines
 */
#include "commands.h"

#include "base/plural.h"
#include "data_options.h"
#include "screen.h"
#include "table_output.h"

#include <stdio.h>
#include <string.h>

#define OWN_OPTIONS 1
#define LINE_LIMIT ((size_t)256 << 20) /* a text of 16 MiB, escaped */

static rf_status write_rows(const rf_dataset *data, table_kind kind, table_file_out *out,
                            rf_text *line, rf_error *err)
{
    const rf_field names[] = {table_text("text"), table_text("label")};
    rf_status st = RF_OK;
    if (kind != TABLE_JSONL) {
        for (size_t i = 0; i < 2; i++)
            table_cell(line, kind, i == 0, names[i], names[i]);
        table_row_end(line, kind);
        st = table_out_add(out, line, err);
    }
    for (size_t row = 0; row < rf_dataset_rows(data) && st == RF_OK; row++) {
        size_t len;
        const char *text = rf_dataset_text(data, row, &len);
        const char *label = rf_dataset_label(data, rf_dataset_class(data, row), NULL);
        table_cell(line, kind, true, names[0], (rf_field){text, len, 0});
        table_cell(line, kind, false, names[1], table_text(label));
        table_row_end(line, kind);
        st = table_out_add(out, line, err);
    }
    return st;
}

static rf_status convert(const data_options *d, const char *const *paths, size_t n,
                         const char *output, rf_error *err)
{
    table_file_out out;
    rf_text line;
    rf_data_summary s;
    rf_status st = strcmp(output, "-") == 0 ? RF_OK : command_can_write(output, err);
    rf_dataset *data = st == RF_OK ? data_options_read(d, paths, n, err) : NULL;
    if (!data)
        return err->code;
    rf_text_init(&line, LINE_LIMIT, "a row");
    st = rf_dataset_summarize(data, &s, err);
    if (st == RF_OK)
        st = table_out_open(&out, output, err);
    if (st == RF_OK) {
        st = write_rows(data, table_kind_of(output), &out, &line, err);
        if (st == RF_OK)
            st = table_out_commit(&out, err);
        table_out_abandon(&out);
    }
    if (st == RF_OK && strcmp(output, "-") != 0)
        screen_complain("%s: %zu %s, %zu %s", output, s.rows,
                        rf_plural(s.rows, "row", "rows"), s.classes,
                        rf_plural(s.classes, "class", "classes"));
    rf_text_release(&line);
    rf_dataset_free(data);
    return st;
}

static int run_convert(const command *self, int argc, char **argv)
{
    const char *paths[DATA_FILES], *output = "-";
    size_t n;
    data_options d = {0};
    option options[OWN_OPTIONS + DATA_OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = &output,
         .arg = "FILE",
         .help = "Where to write: .tsv, .csv or .jsonl; - prints TSV (default -)."},
    };
    data_options_list(&d, options + OWN_OPTIONS);
    switch (options_parse(self, options, OWN_OPTIONS + DATA_OPTIONS, argc, argv, paths,
                          DATA_FILES, &n)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    const char *wrong =
        n == 0 ? "wanted DATA: files, or - for standard input"
        : table_kind_of(output) == TABLE_UNKNOWN
            ? "wanted -o FILE with a name that ends in .tsv, .csv or .jsonl"
        : data_would_be_overwritten(output, paths, n)
            ? "the output would overwrite its input; wanted another name after -o"
            : NULL;
    if (wrong) {
        screen_complain("%s: %s", self->name, wrong);
        return EXIT_USAGE;
    }
    rf_error err = {0};
    return convert(&d, paths, n, output, &err) == RF_OK ? command_finish()
                                                        : command_failed(&err);
}

const command command_convert = {
    .name = "convert",
    .synopsis = "DATA... [-o FILE] [OPTIONS]",
    .summary = "Write labelled data of any format as TSV, CSV or JSON Lines.",
    .details =
        "DATA: files of texts and labels, as train reads them, or - for standard input:\n"
        "CSV with any separator, TSV, JSON Lines, JSON arrays, fastText, Rasa (YAML and\n"
        "Markdown), LUIS and CLU, Snips, Dialogflow (a directory or zip), folders of\n"
        "class/name.txt. Each file is recognised by itself.\n\n"
        "Only text and label of a row are written. The file appears complete or not at\n"
        "all.",
    .run = run_convert,
};
