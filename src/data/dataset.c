/* dataset.c - adding rows and reading them back */
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

rf_dataset *rf_dataset_new(rf_error *err)
{
    rf_dataset *data = calloc(1, sizeof *data);
    if (!data) {
        rf_fail_nomem(err, sizeof *data, "a dataset");
        return NULL;
    }
    rf_buffer_init(&data->rows, SIZE_MAX / 4, "rows");
    rf_buffer_init(&data->lines, SIZE_MAX / 4, "lines");
    rf_buffer_init(&data->files, SIZE_MAX / 4, "files");
    data->labels = rf_labels_new(err);
    if (!data->labels) {
        rf_dataset_free(data);
        return NULL;
    }
    return data;
}

void rf_dataset_free(rf_dataset *data)
{
    if (!data)
        return;
    rf_blocks_release(&data->texts);
    rf_buffer_release(&data->rows);
    rf_buffer_release(&data->lines);
    rf_buffer_release(&data->files);
    rf_labels_free(data->labels);
    free(data);
}

/* ---- Lines of rows ----------------------------------------------------------------- */

static const rf_line_run *line_runs(const rf_dataset *data, size_t *n)
{
    *n = data->lines.len / sizeof(rf_line_run);
    return (const rf_line_run *)(const void *)data->lines.data;
}

/* The line of a row of a run. */
static size_t line_in(const rf_line_run *run, size_t row)
{
    return run->line ? run->line + (row - run->row) : 0;
}

/* The next row begins at this line. There is room for a run. */
static void note_line(rf_dataset *data, size_t line)
{
    size_t n, row = rf_dataset_rows(data);
    const rf_line_run *runs = line_runs(data, &n);
    const rf_line_run run = {row, line};
    if (n > 0 ? line_in(&runs[n - 1], row) != line : line != 0)
        rf_buffer_add(&data->lines, &run, sizeof run, NULL);
}

size_t rf_dataset_line(const rf_dataset *data, size_t row)
{
    size_t low = 0, high;
    const rf_line_run *runs = line_runs(data, &high);
    if (row >= rf_dataset_rows(data) || high == 0 || runs[0].row > row)
        return 0;
    while (high - low > 1) { /* the last run that begins at or before row */
        size_t middle = low + (high - low) / 2;
        if (runs[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return line_in(&runs[low], row);
}

/* ---- Files of rows ----------------------------------------------------------------- */

static const rf_file_run *file_runs(const rf_dataset *data, size_t *n)
{
    *n = data->files.len / sizeof(rf_file_run);
    return (const rf_file_run *)(const void *)data->files.data;
}

rf_status rf_dataset_set_file(rf_dataset *data, const char *name, rf_error *err)
{
    size_t n, size = name ? strlen(name) + 1 : 0;
    rf_file_run run = {rf_dataset_rows(data), NULL};
    const rf_file_run *runs = file_runs(data, &n);
    if (n > 0 && !name == !runs[n - 1].name &&
        (!name || strcmp(name, runs[n - 1].name) == 0))
        return RF_OK;
    if (name) {
        char *copy = rf_blocks_reserve(&data->texts, size);
        if (!copy)
            return rf_fail_nomem(err, size, "the name of a file");
        memcpy(copy, name, size);
        rf_blocks_keep(&data->texts, size);
        run.name = copy;
    }
    return rf_buffer_add(&data->files, &run, sizeof run, err);
}

const char *rf_dataset_file(const rf_dataset *data, size_t row)
{
    size_t low = 0, high;
    const rf_file_run *runs = file_runs(data, &high);
    if (row >= rf_dataset_rows(data) || high == 0 || runs[0].row > row)
        return NULL;
    while (high - low > 1) { /* the last run that begins at or before row */
        size_t middle = low + (high - low) / 2;
        if (runs[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return runs[low].name;
}

/* ---- Rows -------------------------------------------------------------------------- */

rf_status rf_dataset_add_at(rf_dataset *data, const char *text, size_t text_len,
                            const char *label, size_t label_len, size_t line,
                            rf_error *err)
{
    uint32_t id;
    if (text_len > RF_MAX_TEXT_BYTES)
        return rf_fail(err, RF_ERR_LIMIT, 0, "the text has %zu bytes, wanted at most %d",
                       text_len, RF_MAX_TEXT_BYTES);
    if (rf_dataset_rows(data) >= RF_MAX_ROWS)
        return rf_fail(err, RF_ERR_LIMIT, 0, "more than %d rows", RF_MAX_ROWS);
    rf_status st = rf_label_check(&label, &label_len, err);
    if (st == RF_OK)
        st = rf_buffer_reserve(&data->rows, sizeof(rf_row), err);
    if (st == RF_OK)
        st = rf_buffer_reserve(&data->lines, sizeof(rf_line_run), err);
    if (st != RF_OK)
        return st;
    char *copy = rf_blocks_reserve(&data->texts, text_len + 1);
    if (!copy)
        return rf_fail_nomem(err, text_len + 1, "a text");
    st = rf_labels_add(data->labels, label, label_len, &id, err);
    if (st != RF_OK)
        return st;
    if (text_len)
        memcpy(copy, text, text_len);
    copy[text_len] = '\0';
    rf_blocks_keep(&data->texts, text_len + 1);
    rf_labels_count(data->labels, id);
    note_line(data, line);
    rf_row row = {copy, (uint32_t)text_len, id};
    return rf_buffer_add(&data->rows, &row, sizeof row, err); /* there is room */
}

rf_status rf_dataset_add(rf_dataset *data, const char *text, size_t text_len,
                         const char *label, size_t label_len, rf_error *err)
{
    rf_status st = rf_dataset_set_file(data, NULL, err);
    return st == RF_OK ? rf_dataset_add_at(data, text, text_len, label, label_len, 0, err)
                       : st;
}

size_t rf_dataset_rows(const rf_dataset *data)
{
    return data->rows.len / sizeof(rf_row);
}

size_t rf_dataset_classes(const rf_dataset *data)
{
    return rf_labels_size(data->labels);
}

const char *rf_dataset_text(const rf_dataset *data, size_t row, size_t *len)
{
    if (row >= rf_dataset_rows(data))
        return NULL;
    const rf_row *r = rf_dataset_row(data, row);
    if (len)
        *len = r->len;
    return r->text;
}

size_t rf_dataset_class(const rf_dataset *data, size_t row)
{
    if (row >= rf_dataset_rows(data))
        return SIZE_MAX;
    return rf_labels_rank(data->labels, rf_dataset_row(data, row)->label);
}

const char *rf_dataset_label(const rf_dataset *data, size_t class_index, size_t *rows)
{
    size_t n;
    if (class_index >= rf_dataset_classes(data))
        return NULL;
    const char *label = rf_labels_at(data->labels, class_index, &n);
    if (rows)
        *rows = n;
    return label;
}
