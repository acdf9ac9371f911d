/* answer_table.c - rows that wait for their answers, and the table of both */
#include "answer_table.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_LIMIT ((size_t)256 << 20) /* bytes of a row as it is written */

rf_status answer_table_open(answer_table *t, const char *path, rf_error *err)
{
    *t = (answer_table){.path = path, .kind = table_kind_of(path)};
    rf_text_init(&t->line, ROW_LIMIT, "a row");
    rf_buffer_init(&t->bytes, ROW_LIMIT, "a header");
    return table_out_open(&t->out, path, err);
}

void answer_table_release(answer_table *t)
{
    if (!t->path)
        return;
    table_out_abandon(&t->out);
    rf_text_release(&t->line);
    rf_buffer_release(&t->bytes);
    waiting_texts_release(&t->rows);
    free(t->names);
    *t = (answer_table){0};
}

static bool same(rf_field a, rf_field b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static bool is_answer(rf_field name)
{
    return same(name, table_text("predicted")) || same(name, table_text("confidence"));
}

/* The name of a column; "column 3" if the file has none. */
static rf_field name_of(const rf_table_row *row, size_t i, char out[32])
{
    if (row->names)
        return row->names[i];
    if (i == row->text)
        return table_text("text");
    snprintf(out, 32, "column %zu", i + 1);
    return table_text(out);
}

/* ---- The header -------------------------------------------------------------------- */

static rf_status keep_names(answer_table *t, const rf_table_row *row, rf_error *err)
{
    char number[32];
    size_t used = 0;
    rf_status st = rf_buffer_reserve(&t->bytes, 1, err);
    t->names = calloc(row->n + 1, sizeof *t->names);
    if (!t->names)
        return rf_fail_nomem(err, row->n * sizeof *t->names, "a header");
    for (size_t i = 0; i < row->n && st == RF_OK; i++) {
        rf_field name = name_of(row, i, number);
        t->names[i].len = name.len;
        if (name.len)
            st = rf_buffer_add(&t->bytes, name.data, name.len, err);
    }
    t->n = row->n;
    for (size_t i = 0; i < t->n; i++) { /* now the bytes do not move any more */
        t->names[i].data = t->bytes.data + used;
        used += t->names[i].len;
    }
    return st;
}

static rf_status write_header(answer_table *t, rf_error *err)
{
    bool first = true;
    for (size_t i = 0; i < t->n; i++) {
        if (is_answer(t->names[i]))
            continue;
        table_cell(&t->line, t->kind, first, t->names[i], t->names[i]);
        first = false;
    }
    table_cell(&t->line, t->kind, first, table_text(""), table_text("predicted"));
    table_cell(&t->line, t->kind, false, table_text(""), table_text("confidence"));
    table_row_end(&t->line, t->kind);
    return table_out_add(&t->out, &t->line, err);
}

/* ---- Rows -------------------------------------------------------------------------- */

/* The field of a column: mostly at the same place as in the first row. SIZE_MAX: none. */
static size_t find(const rf_table_row *row, rf_field name, size_t guess)
{
    if (!row->names || (guess < row->n && same(row->names[guess], name)))
        return guess < row->n ? guess : SIZE_MAX;
    for (size_t i = 0; i < row->n; i++)
        if (same(row->names[i], name))
            return i;
    return SIZE_MAX;
}

static rf_status check_keys(const answer_table *t, const rf_table_row *row, size_t found,
                            rf_error *err)
{
    if (found == row->n)
        return RF_OK;
    for (size_t i = 0; i < row->n; i++) {
        size_t k = 0;
        while (k < t->n && !same(t->names[k], row->names[i]))
            k++;
        if (k < t->n)
            continue;
        return rf_fail(err, RF_ERR_FORMAT, row->line,
                       "%s: line %zu: the key \"%.*s\" is not in the first row, which "
                       "decides the columns; wanted -o FILE.jsonl for such rows",
                       row->file, row->line,
                       row->names[i].len < 40 ? (int)row->names[i].len : 40,
                       row->names[i].data);
    }
    return RF_OK;
}

/* The columns of the first row, in their order. */
static rf_status put_cells(answer_table *t, const rf_table_row *row, rf_error *err)
{
    size_t found = 0;
    bool first = true;
    for (size_t i = 0; i < t->n; i++) {
        size_t at = find(row, t->names[i], i);
        found += at != SIZE_MAX;
        if (is_answer(t->names[i]))
            continue;
        table_cell(&t->line, t->kind, first, t->names[i],
                   at == SIZE_MAX ? table_text("") : row->fields[at]);
        first = false;
    }
    return check_keys(t, row, found, err);
}

/* Whatever the row has. */
static void put_members(answer_table *t, const rf_table_row *row)
{
    bool first = true;
    for (size_t i = 0; i < row->n; i++) {
        char number[32];
        rf_field name = name_of(row, i, number);
        if (is_answer(name))
            continue;
        table_cell(&t->line, t->kind, first, name, row->fields[i]);
        first = false;
    }
}

rf_status answer_table_row(answer_table *t, const rf_table_row *row, rf_error *err)
{
    rf_status st = RF_OK;
    if (!t->names && t->kind != TABLE_JSONL) {
        st = keep_names(t, row, err);
        if (st == RF_OK)
            st = write_header(t, err);
    }
    if (st == RF_OK && t->kind != TABLE_JSONL)
        st = put_cells(t, row, err);
    else if (st == RF_OK)
        put_members(t, row);
    if (st == RF_OK && t->line.status != RF_OK)
        st = rf_fail_nomem(err, t->line.buffer.len, "a row");
    if (st == RF_OK)
        st = waiting_texts_add(&t->rows, t->line.buffer.data, t->line.buffer.len, err);
    rf_buffer_clear(&t->line.buffer);
    return st == RF_OK ? waiting_texts_end(&t->rows, err) : st;
}

rf_status answer_table_answer(answer_table *t, const char *label, float confidence,
                              rf_error *err)
{
    size_t len;
    char number[32];
    const char *row = waiting_texts_first(&t->rows, &len);
    int n = snprintf(number, sizeof number, "%.4f", (double)confidence);
    rf_text_add(&t->line, row, len);
    /* A text is always there, so these are not the first cells. */
    table_cell(&t->line, t->kind, false, table_text("predicted"), table_text(label));
    table_cell(&t->line, t->kind, false, table_text("confidence"),
               (rf_field){number, (size_t)n, '.'});
    table_row_end(&t->line, t->kind);
    waiting_texts_drop_first(&t->rows);
    return table_out_add(&t->out, &t->line, err);
}

rf_status answer_table_commit(answer_table *t, rf_error *err)
{
    return table_out_commit(&t->out, err);
}
