/* record_file.c - appends records to a file of lines and reads them back */
#include "lab/record_file.h"

#include "lab/line_file.h"

#include <stdlib.h>
#include <string.h>

/* Every kind of record names a set and a method; neither may be empty. */
static rf_status check_names(const rf_record_file *f, const void *record,
                             const rf_line_place *at)
{
    for (size_t i = 0; i < f->form.n; i++) {
        const rf_field *field = &f->form.fields[i];
        bool name = strcmp(field->name, "set") == 0 || strcmp(field->name, "method") == 0;
        if (name && ((const char *)record)[field->at] == '\0')
            return rf_fail(at->err, RF_ERR_FORMAT, at->line,
                           "%s: line %zu: \"%s\" is empty", at->file, at->line,
                           field->name);
    }
    return RF_OK;
}

/* Fills *record from a line. */
static rf_status read_line(const rf_record_file *f, void *record, const char *line,
                           size_t len, const rf_line_place *at)
{
    memset(record, 0, f->size);
    json_t *object = rf_json_line(line, len, at->file, at->line, at->err);
    if (!object)
        return at->err->code;
    rf_status st = rf_record_read(&f->form, record, object, at);
    json_decref(object);
    return st == RF_OK ? check_names(f, record, at) : st;
}

/* A line that cannot be read must not get into the file. */
static rf_status check_line(const rf_record_file *f, const rf_buffer *line, rf_error *err)
{
    rf_error local = {0};
    const rf_line_place at = {"a new line", 1, err ? err : &local};
    void *copy = malloc(f->size);
    rf_status st = copy ? read_line(f, copy, line->data, line->len, &at)
                        : rf_fail_nomem(err, f->size, f->form.what);
    free(copy);
    return st;
}

rf_status rf_record_append(const rf_record_file *f, const char *dir, const void *record,
                           rf_error *err)
{
    rf_buffer line;
    rf_buffer_init(&line, RF_LINE_MAX, f->form.what);
    rf_status st = rf_record_check(&f->form, record, err);
    json_t *object = st == RF_OK ? rf_record_json(&f->form, record) : NULL;
    if (st == RF_OK)
        st = object ? rf_json_write(object, &line, err)
                    : rf_fail_nomem(err, f->size, f->form.what);
    json_decref(object);
    if (st == RF_OK)
        st = check_line(f, &line, err);
    if (st == RF_OK)
        st = rf_buffer_add(&line, "\n", 1, err);
    if (st == RF_OK)
        st = rf_lines_append(dir, f->name, &line, err);
    rf_buffer_release(&line);
    return st;
}

typedef struct loading {
    const rf_record_file *file;
    rf_buffer records;
    void *record; /* the one being read */
} loading;

static rf_status add_record(void *user, const char *line, size_t len, const char *file,
                            size_t number, rf_error *err)
{
    loading *l = user;
    const rf_record_file *f = l->file;
    rf_error local = {0};
    const rf_line_place at = {file, number, err ? err : &local};
    rf_status st = read_line(f, l->record, line, len, &at);
    for (size_t i = 0; i < l->records.len && st == RF_OK; i += f->size)
        if (f->compare(l->records.data + i, l->record) == 0) {
            memcpy(l->records.data + i, l->record, f->size);
            return RF_OK;
        }
    return st == RF_OK ? rf_buffer_add(&l->records, l->record, f->size, err) : st;
}

rf_status rf_records_load(const rf_record_file *f, const char *dir, void **list,
                          size_t *n, rf_error *err)
{
    loading l = {.file = f, .record = malloc(f->size)};
    *list = NULL;
    *n = 0;
    if (!l.record)
        return rf_fail_nomem(err, f->size, f->form.what);
    rf_buffer_init(&l.records, SIZE_MAX / 4, f->form.what);
    rf_status st = rf_lines_read(dir, f->name, add_record, &l, err);
    free(l.record);
    if (st != RF_OK) {
        rf_buffer_release(&l.records);
        return st;
    }
    *list = l.records.data;
    *n = l.records.len / f->size;
    return RF_OK;
}
