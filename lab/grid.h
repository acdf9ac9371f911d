/*
 * grid.h - builds a table cell by cell and writes it as text, Markdown, CSV or LaTeX
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
 * Text, Markdown and LaTeX show the cells in rows and columns. CSV has one line per cell
 * with a record, under one header line, and no titles, words or paragraphs.
 *
 * The sheet keeps the first failure; later calls do nothing.
 */
#ifndef RF_LAB_GRID_H
#define RF_LAB_GRID_H

#include "base/buffer.h"
#include "lab/lab.h"

/* The text that the tables are written to. */
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

/* The CSV line of a cell. Strings are borrowed; NULL strings and unset flags leave a
 * field empty. */
typedef struct rf_record {
    const char *set, *method, *variant, *source, *metric;
    const char *encoder; /* NULL: the grid's */
    double ratio;        /* 0: none */
    size_t n;            /* number of runs; 0: unknown */
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
    size_t labels;               /* the first columns, left-aligned */
    size_t columns;
    rf_buffer cells; /* [1 + rows][columns] of rf_grid_cell, header first */
} rf_grid;

void rf_grid_open(rf_grid *grid, rf_sheet *sheet, const char *table, const char *encoder,
                  size_t labels);
void rf_grid_column(rf_grid *grid, const char *title); /* before the first cell */

/* Add the next cell, row by row: words; a record shown with two decimals; a record shown
 * as other text; "-". */
void rf_grid_words(rf_grid *grid, const char *text);
void rf_grid_figure(rf_grid *grid, const rf_record *record);
void rf_grid_figure_as(rf_grid *grid, const rf_record *record, const char *text);
void rf_grid_empty(rf_grid *grid);

size_t rf_grid_rows(const rf_grid *grid);

/* Marks the largest value of each column among the records of this source, with all that
 * print the same. A value without a rival is not marked. */
void rf_grid_mark_best(rf_grid *grid, const char *source);

/* Writes the title and the grid, and releases it. A grid without rows writes nothing. */
void rf_grid_close(rf_grid *grid, const char *title, ...)
    __attribute__((format(printf, 2, 3)));

#endif
