/*
 * grid.h - a table being filled, and the four ways to write it down
 *
 *   rf_sheet sheet;
 *   rf_sheet_init(&sheet, RF_TABLE_MARKDOWN, err);
 *   rf_grid grid;
 *   rf_grid_open(&grid, &sheet, "main", "minilm", 1);
 *   rf_grid_column(&grid, "method");
 *   rf_grid_column(&grid, "F1");
 *   rf_grid_words(&grid, "ans");
 *   rf_grid_figure(&grid, &record);
 *   rf_grid_close(&grid, "Mean over %zu seeds", n);
 *   status = sheet.status; text = sheet.text.data;
 *
 * For people (text, Markdown, LaTeX) the cells are shown in rows and columns. For
 * machines (CSV) each cell that has a record becomes a line of its own, under one head,
 * and headings, words and paragraphs are left out.
 *
 * The first failure sticks to the sheet; what is added afterwards is ignored.
 */
#ifndef RF_LAB_GRID_H
#define RF_LAB_GRID_H

#include "base/buffer.h"
#include "ringfence_lab.h"

/* The text in the making. */
typedef struct rf_sheet {
    rf_table_format format;
    rf_buffer text;
    rf_status status;
    rf_error *err;
} rf_sheet;

void rf_sheet_init(rf_sheet *sheet, rf_table_format format, rf_error *err);

/* A paragraph between tables; not in CSV. */
void rf_sheet_paragraph(rf_sheet *sheet, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* What a machine should know of a cell. Strings are borrowed; NULL and the flags leave a
 * field empty. */
typedef struct rf_record {
    const char *set, *method, *variant, *source, *metric;
    const char *encoder; /* NULL: the grid's */
    double ratio;        /* 0: none */
    size_t n;            /* runs behind it; 0: not said */
    double value;
    bool has_spread;
    double sd, low, high;
    bool has_p;
    double p;
} rf_record;

typedef struct rf_grid_cell {
    char text[128];
    bool best;
    bool has_record;
    rf_record record;
} rf_grid_cell;

typedef struct rf_grid {
    rf_sheet *sheet;
    const char *table, *encoder; /* for CSV */
    size_t labels;               /* so many columns of words come first */
    size_t columns;
    rf_buffer cells; /* [1 + rows][columns] of rf_grid_cell, the head first */
} rf_grid;

void rf_grid_open(rf_grid *grid, rf_sheet *sheet, const char *table, const char *encoder,
                  size_t labels);
void rf_grid_column(rf_grid *grid, const char *title); /* before any cell */

/* Cells of a row, from left to right, one row after another: words; a record with its
 * value as text, two digits after the point; a record with other text; nothing: "-". */
void rf_grid_words(rf_grid *grid, const char *text);
void rf_grid_figure(rf_grid *grid, const rf_record *record);
void rf_grid_figure_as(rf_grid *grid, const rf_record *record, const char *text);
void rf_grid_empty(rf_grid *grid);

size_t rf_grid_rows(const rf_grid *grid);

/* In every column, marks the largest value among records of this source, and all that
 * look the same; a value that is alone is not marked. */
void rf_grid_mark_best(rf_grid *grid, const char *source);

/* Writes the grid below a title and releases it. A grid without rows leaves no trace. */
void rf_grid_close(rf_grid *grid, const char *title, ...)
    __attribute__((format(printf, 2, 3)));

#endif
