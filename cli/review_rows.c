/* review_rows.c - reads a review that a person has edited */
#include "review_rows.h"

#include "base/buffer.h"
#include "table_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row_reader {
    table_file table;
    const text_list *labels;
    size_t group[TEXTS_MAX], n_groups; /* wanted */
    size_t lines[TEXTS_MAX];           /* that each of them has */
    size_t text_at, label_at, group_at;
    size_t most;      /* the largest group of the file */
    rf_buffer places; /* of size_t: the line of each row */
    rf_dataset *rows;
} row_reader;

static table_field trimmed(table_field f)
{
    for (; f.len > 0 && (f.data[0] == ' ' || f.data[0] == '\t'); f.len--)
        f.data++;
    while (f.len > 0 && (f.data[f.len - 1] == ' ' || f.data[f.len - 1] == '\t'))
        f.len--;
    return f;
}

static int shown(table_field f)
{
    return f.len < 60 ? (int)f.len : 60;
}

/* A number from 1; 0 if it is none. */
static size_t number_of(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || n > 100000000)
            return 0;
        n = 10 * n + (size_t)(text[i] - '0');
    }
    return n;
}

static rf_status find_columns(row_reader *r, rf_error *err)
{
    static const char *const names[] = {"text", "label", "group"};
    size_t *const at[] = {&r->text_at, &r->label_at, &r->group_at};
    for (size_t i = 0; i < 3; i++) {
        *at[i] = table_file_column(&r->table, names[i]);
        if (*at[i] == TABLE_NONE)
            return rf_fail(err, RF_ERR_FORMAT, 1,
                           "%s: line 1: found no column \"%s\", wanted the table that "
                           "ringfence review writes, with columns group, label and text",
                           r->table.path, names[i]);
    }
    return RF_OK;
}

static rf_status add_row(row_reader *r, const char *label, size_t len, rf_error *err)
{
    const table_file *t = &r->table;
    char name[RF_MAX_LABEL_BYTES + 1];
    rf_error why = {0};
    snprintf(name, sizeof name, "%.*s", len < sizeof name ? (int)len : 0, label);
    if (rf_label_means_open(name) || strcmp(name, "open") == 0)
        return rf_fail(
            err, RF_ERR_FORMAT, t->line,
            "%s: line %zu: label \"%.40s\" means that the text is of no class, "
            "wanted a class; leave the label empty",
            t->path, t->line, name);
    rf_status st = rf_buffer_add(&r->places, &t->line, sizeof t->line, err);
    if (st == RF_OK &&
        (st = rf_dataset_add(r->rows, t->fields[r->text_at].data,
                             t->fields[r->text_at].len, label, len, &why)) != RF_OK)
        rf_fail(err, st, t->line, "%s: line %zu: %s", t->path, t->line, why.msg);
    return st;
}

/* A line of a group that is wanted gets its label; one with another label is refused. */
static rf_status take_group(row_reader *r, table_field own, table_field group,
                            rf_error *err)
{
    size_t number = number_of(group.data, group.len);
    if (group.len > 0 && number == 0)
        return rf_fail(err, RF_ERR_FORMAT, r->table.line,
                       "%s: line %zu: found group \"%.*s\", wanted a number or nothing",
                       r->table.path, r->table.line, shown(group), group.data);
    r->most = number > r->most ? number : r->most;
    for (size_t i = 0; i < r->n_groups; i++) {
        if (number != r->group[i])
            continue;
        const char *label = r->labels->item[i];
        if (own.len > 0 &&
            (own.len != strlen(label) || memcmp(own.data, label, own.len) != 0))
            return rf_fail(err, RF_ERR_FORMAT, r->table.line,
                           "%s: line %zu: found label \"%.*s\" in group %zu, which is "
                           "accepted as \"%.60s\"; wanted the same or nothing",
                           r->table.path, r->table.line, shown(own), own.data, number,
                           label);
        r->lines[i]++;
        return add_row(r, label, strlen(label), err);
    }
    return RF_OK;
}

static rf_status read_lines(row_reader *r, rf_error *err)
{
    bool found = true;
    rf_status st = find_columns(r, err);
    while (st == RF_OK && (st = table_file_next(&r->table, &found, err)) == RF_OK &&
           found) {
        table_field label = trimmed(r->table.fields[r->label_at]);
        if (r->n_groups > 0)
            st = take_group(r, label, trimmed(r->table.fields[r->group_at]), err);
        else if (label.len > 0)
            st = add_row(r, label.data, label.len, err);
    }
    return st;
}

static rf_status check_rows(row_reader *r, rf_error *err)
{
    rf_data_summary s;
    for (size_t i = 0; i < r->n_groups; i++)
        if (r->lines[i] == 0)
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: found no line of group %zu, wanted a group from 1 to %zu",
                           r->table.path, r->group[i], r->most);
    if (rf_dataset_rows(r->rows) == 0)
        return rf_fail(err, RF_ERR_FORMAT, 0,
                       "%s: found no label in the column \"label\", wanted one in each "
                       "line to learn; or give --group N --as CLASS",
                       r->table.path);
    rf_status st = rf_dataset_summarize(r->rows, &s, err);
    if (st != RF_OK || s.conflicts == 0)
        return st;
    const size_t *line = (const size_t *)(const void *)r->places.data;
    return rf_fail(err, RF_ERR_FORMAT, line[s.conflict_row],
                   "%s: line %zu: the text of line %zu again with another label, wanted "
                   "one label",
                   r->table.path, line[s.conflict_row], line[s.conflict_with]);
}

static rf_status take_groups(row_reader *r, const text_list *groups, rf_error *err)
{
    r->n_groups = groups->n;
    for (size_t i = 0; i < groups->n; i++) {
        r->group[i] = number_of(groups->item[i], strlen(groups->item[i]));
        if (r->group[i] == 0)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "--group %.60s: wanted the number of a group, from 1",
                           groups->item[i]);
        for (size_t k = 0; k < i; k++)
            if (r->group[k] == r->group[i])
                return rf_fail(err, RF_ERR_ARG, 0, "--group %zu is given twice",
                               r->group[i]);
    }
    return RF_OK;
}

rf_dataset *review_rows_read(const char *path, const text_list *groups,
                             const text_list *labels, rf_error *err)
{
    row_reader *r = calloc(1, sizeof *r);
    if (!r) {
        rf_fail_nomem(err, sizeof *r, "a review");
        return NULL;
    }
    r->labels = labels;
    rf_buffer_init(&r->places, SIZE_MAX / 4, "lines");
    rf_status st = take_groups(r, groups, err);
    if (st == RF_OK && !(r->rows = rf_dataset_new(err)))
        st = err->code;
    if (st == RF_OK)
        st = table_file_open(&r->table, path, err);
    if (st == RF_OK)
        st = read_lines(r, err);
    if (st == RF_OK)
        st = check_rows(r, err);
    rf_dataset *rows = r->rows;
    table_file_close(&r->table);
    rf_buffer_release(&r->places);
    free(r);
    if (st == RF_OK)
        return rows;
    rf_dataset_free(rows);
    return NULL;
}
