/*
 * reader.c - a file of any format: opened, recognised and read
 *
 * bytes -> format -> rows -> a set, or whoever asked. Every error names the file and the
 * line.
 */
#include "data/reader.h"

#include "base/options.h"
#include "data/bundle.h"
#include "data/dataset.h"
#include "data/formats.h"

#include <string.h>

void rf_data_options_init(rf_data_options *options, size_t struct_size)
{
    const rf_data_options defaults = {0};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* ---- Files ------------------------------------------------------------------------- */

rf_status rf_read_source(rf_source *s, const char *file_name, rf_rows *rows,
                         rf_error *err)
{
    const rf_format *f;
    const rf_data_options *o = rows->options;
    rows->file = s->name;
    rf_status st = rf_source_set(s, o->encoding, o->max_unpacked, err);
    if (st == RF_OK)
        st = rf_source_begin(s, err);
    if (st == RF_OK)
        st = rf_format_find(s, file_name, o, &f, err);
    return st == RF_OK ? f->read(f, s, rows, err) : st;
}

rf_status rf_read_path(const char *path, rf_rows *rows, rf_error *err)
{
    rf_source s;
    bool is_bundle;
    rf_status st = rf_bundle_read(path, rows, &is_bundle, err);
    if (st != RF_OK || is_bundle)
        return st;
    st = rf_source_open(&s, path, err);
    if (st != RF_OK)
        return st;
    st = rf_read_source(&s, path, rows, err);
    if (st == RF_OK)
        st = rf_rows_end(rows, s.name, err);
    rf_source_close(&s);
    return st;
}

rf_status rf_data_detect(const char *path, const rf_data_options *options,
                         rf_data_format *format, bool *plain, rf_error *err)
{
    rf_source s;
    const rf_format *f = NULL;
    rf_data_options o = rf_data_options_default();
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_data_options", err);
    if (st == RF_OK && rf_bundle_is(path, &o, format)) {
        if (plain)
            *plain = false;
        return RF_OK;
    }
    if (st == RF_OK)
        st = rf_source_open(&s, path, err);
    if (st != RF_OK)
        return st;
    st = rf_source_set(&s, o.encoding, o.max_unpacked, err);
    if (st == RF_OK)
        st = rf_source_begin(&s, err);
    if (st == RF_OK)
        st = rf_format_find(&s, path, &o, &f, err);
    if (st == RF_OK)
        *format = f->format;
    if (plain)
        *plain = !s.archive && !s.encoding.on;
    rf_source_close(&s);
    return st;
}

rf_status rf_table_read(const char *path, const rf_data_options *options,
                        rf_table_sink sink, void *user, rf_table_end *end, rf_error *err)
{
    rf_data_options o = rf_data_options_default();
    rf_rows rows = {.options = &o, .take = sink, .user = user};
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_data_options", err);
    if (st == RF_OK)
        st = rf_read_path(path, &rows, err);
    if (end)
        *end = rows.end;
    return st;
}

/* ---- Sets -------------------------------------------------------------------------- */

typedef struct filling {
    rf_rows rows;
    rf_dataset *data;
} filling;

static rf_status take_row(void *user, const rf_table_row *row, rf_error *err)
{
    filling *f = user;
    rf_error why = {0};
    rf_field text = row->fields[row->text], label = {"open", 4, 0};
    if (!f->rows.options->texts_only)
        label = row->fields[row->label];
    else if (text.len == 0)
        return RF_OK;
    rf_status st = rf_dataset_set_file(f->data, row->file, err);
    if (st != RF_OK)
        return st;
    st = rf_dataset_add_at(f->data, text.data, text.len, label.data, label.len, row->line,
                           &why);
    if (st == RF_OK)
        return st;
    if (st == RF_ERR_NOMEM)
        return rf_fail(err, st, 0, "%s", why.msg);
    return rf_rows_bad(&f->rows, st, row->line, err, "%s", why.msg);
}

static void count_left_out(rf_dataset *data, const rf_table_end *end)
{
    if (data->end.skipped == 0 && end->skipped > 0)
        memcpy(data->end.skipped_why, end->skipped_why, sizeof end->skipped_why);
    data->end.skipped += end->skipped;
    data->end.dropped += end->dropped;
}

static filling filling_of(rf_dataset *data, const rf_data_options *o)
{
    return (filling){.rows = {.options = o, .take = take_row}, .data = data};
}

static rf_dataset *finish(rf_dataset *data, rf_status st)
{
    if (st == RF_OK)
        return data;
    rf_dataset_free(data);
    return NULL;
}

rf_dataset *rf_dataset_read_from(rf_source *source, const char *file_name,
                                 const rf_data_options *options, rf_error *err)
{
    rf_data_options usual = rf_data_options_default();
    rf_dataset *data = rf_dataset_new(err);
    if (!data)
        return NULL;
    filling f = filling_of(data, options ? options : &usual);
    f.rows.user = &f;
    rf_status st = rf_read_source(source, file_name, &f.rows, err);
    if (st == RF_OK)
        st = rf_rows_end(&f.rows, source->name, err);
    count_left_out(data, &f.rows.end);
    return finish(data, st);
}

static rf_dataset *read_files(const char *const *paths, size_t n,
                              const rf_data_options *o, rf_error *err)
{
    rf_status st = RF_OK;
    rf_dataset *data = rf_dataset_new(err);
    if (!data)
        return NULL;
    for (size_t i = 0; i < n && st == RF_OK; i++) {
        filling f = filling_of(data, o);
        f.rows.user = &f;
        st = rf_read_path(paths[i], &f.rows, err);
        count_left_out(data, &f.rows.end);
    }
    if (st == RF_OK && rf_dataset_rows(data) == 0) /* empty lines only */
        st =
            rf_fail(err, RF_ERR_FORMAT, 0, "%s: no texts, wanted one per line",
                    paths[0] && strcmp(paths[0], "-") != 0 ? paths[0] : "standard input");
    return finish(data, st);
}

rf_dataset *rf_dataset_read_files(const char *const *paths, size_t n_paths,
                                  const rf_data_options *options, rf_error *err)
{
    rf_data_options o = rf_data_options_default();
    if (rf_options_take(&o, sizeof o, options, "rf_data_options", err) != RF_OK)
        return NULL;
    if (n_paths == 0) {
        rf_fail(err, RF_ERR_ARG, 0, "no files, wanted one at least");
        return NULL;
    }
    return read_files(paths, n_paths, &o, err);
}

rf_dataset *rf_dataset_read(const char *path, const rf_data_options *options,
                            rf_error *err)
{
    return rf_dataset_read_files(&path, 1, options, err);
}

rf_dataset *rf_dataset_read_texts(const char *path, rf_error *err)
{
    rf_data_options o = rf_data_options_default();
    o.texts_only = true;
    return read_files(&path, 1, &o, err);
}
