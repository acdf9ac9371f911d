/* grid.c - fills a table and writes it in four formats */
#include "lab/grid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)1 << 28)
#define WIDTH 90 /* of paragraphs as text */
#define CSV_HEAD                                                                         \
    "table,encoder,set,ratio,method,variant,source,metric,n,value,sd,low,high,p\n"

/* ---- The sheet --------------------------------------------------------------------- */

static void put_bytes(rf_sheet *sheet, const char *text, size_t len)
{
    if (sheet->status == RF_OK)
        sheet->status = rf_buffer_add(&sheet->text, text, len, sheet->err);
}

static void put(rf_sheet *sheet, const char *text)
{
    put_bytes(sheet, text, strlen(text));
}

void rf_sheet_init(rf_sheet *sheet, rf_table_format format, rf_error *err)
{
    *sheet = (rf_sheet){.format = format, .status = RF_OK, .err = err};
    rf_buffer_init(&sheet->text, MAX_TEXT, "tables");
    put(sheet, format == RF_TABLE_CSV ? CSV_HEAD : "");
}

static void put_times(rf_sheet *sheet, const char *text, size_t times)
{
    while (times-- > 0)
        put(sheet, text);
}

/* The escape of a character that LaTeX would interpret; NULL if it needs none. */
static const char *latex_escape(char c)
{
    switch (c) {
    case '\\': return "\\textbackslash{}";
    case '~': return "\\textasciitilde{}";
    case '^': return "\\textasciicircum{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '&': return "\\&";
    case '%': return "\\%";
    case '$': return "\\$";
    case '#': return "\\#";
    case '_': return "\\_";
    case '{': return "\\{";
    case '}': return "\\}";
    default: return NULL;
    }
}

/* Text with the format's special characters escaped. */
static void put_words(rf_sheet *sheet, const char *text)
{
    for (; *text; text++) {
        const char *escaped =
            sheet->format == RF_TABLE_LATEX ? latex_escape(*text) : NULL;
        if (sheet->format == RF_TABLE_MARKDOWN && strchr("\\`*_{}[]<>#|", *text))
            put(sheet, "\\");
        if (escaped)
            put(sheet, escaped);
        else
            put_bytes(sheet, text, 1);
    }
}

/* Wraps lines at the last space before WIDTH. */
static void break_lines(char *text)
{
    char *space = NULL;
    for (size_t i = 0, start = 0; text[i]; i++) {
        if (i - start >= WIDTH && space) {
            *space = '\n';
            start = (size_t)(space - text) + 1;
            space = NULL;
        }
        if (text[i] == ' ')
            space = &text[i];
    }
}

void rf_sheet_paragraph(rf_sheet *sheet, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    if (sheet->format == RF_TABLE_CSV)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (sheet->format == RF_TABLE_TEXT)
        break_lines(text);
    put_words(sheet, text);
    put(sheet, "\n\n");
}

/* ---- Filling ----------------------------------------------------------------------- */

static rf_grid_cell *cell_at(const rf_grid *grid, size_t row, size_t column)
{
    return (rf_grid_cell *)(void *)grid->cells.data + row * grid->columns + column;
}

static size_t cells_in(const rf_grid *grid)
{
    return grid->cells.len / sizeof(rf_grid_cell);
}

size_t rf_grid_rows(const rf_grid *grid)
{
    return grid->columns && cells_in(grid) ? cells_in(grid) / grid->columns - 1 : 0;
}

void rf_grid_open(rf_grid *grid, rf_sheet *sheet, const char *table, const char *encoder,
                  size_t labels)
{
    *grid = (rf_grid){sheet, table, encoder, labels, 0, {0}};
    rf_buffer_init(&grid->cells, MAX_TEXT, "a table");
}

static void add_cell(rf_grid *grid, const rf_record *record, const char *text)
{
    rf_grid_cell cell = {.has_record = record != NULL};
    if (record)
        cell.record = *record;
    snprintf(cell.text, sizeof cell.text, "%s", text);
    if (grid->sheet->status == RF_OK)
        grid->sheet->status =
            rf_buffer_add(&grid->cells, &cell, sizeof cell, grid->sheet->err);
}

void rf_grid_column(rf_grid *grid, const char *title)
{
    assert(grid->columns == cells_in(grid) || grid->sheet->status != RF_OK);
    add_cell(grid, NULL, title);
    grid->columns++;
}

void rf_grid_words(rf_grid *grid, const char *text)
{
    add_cell(grid, NULL, text);
}

void rf_grid_figure_as(rf_grid *grid, const rf_record *record, const char *text)
{
    add_cell(grid, record, text);
}

void rf_grid_figure(rf_grid *grid, const rf_record *record)
{
    char text[32];
    snprintf(text, sizeof text, "%.2f", record->value);
    add_cell(grid, record, text);
}

void rf_grid_empty(rf_grid *grid)
{
    add_cell(grid, NULL, "-");
}

static bool is_of(const rf_grid_cell *cell, const char *source)
{
    return cell->has_record && cell->record.source &&
           strcmp(cell->record.source, source) == 0;
}

void rf_grid_mark_best(rf_grid *grid, const char *source)
{
    size_t rows = grid->sheet->status == RF_OK ? rf_grid_rows(grid) : 0;
    for (size_t c = grid->labels; rows && c < grid->columns; c++) {
        const rf_grid_cell *best = NULL;
        size_t n = 0;
        for (size_t r = 1; r <= rows; r++) {
            const rf_grid_cell *cell = cell_at(grid, r, c);
            if (!is_of(cell, source))
                continue;
            n++;
            if (!best || cell->record.value > best->record.value)
                best = cell;
        }
        for (size_t r = 1; n > 1 && r <= rows; r++) {
            rf_grid_cell *cell = cell_at(grid, r, c);
            cell->best = is_of(cell, source) && strcmp(cell->text, best->text) == 0;
        }
    }
}

/* ---- Writing ----------------------------------------------------------------------- */

/* In characters, not bytes. */
static size_t length_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* In text, the best of a column gets a star, and the other cells a space. */
static bool has_best(const rf_grid *grid, size_t column)
{
    for (size_t r = 1; r <= rf_grid_rows(grid); r++)
        if (cell_at(grid, r, column)->best)
            return true;
    return false;
}

static void write_text_cell(const rf_grid *grid, const rf_grid_cell *cell, size_t column,
                            size_t width, bool starred)
{
    rf_sheet *sheet = grid->sheet;
    size_t length = length_of(cell->text), fill = width > length ? width - length : 0;
    put(sheet, column ? "  " : "");
    put_times(sheet, " ", column >= grid->labels ? fill : 0);
    put(sheet, cell->text);
    put_times(sheet, " ", column < grid->labels ? fill : 0);
    if (starred)
        put(sheet, cell->best ? "*" : " ");
}

/* Drops trailing spaces and ends the line. */
static void end_text_line(rf_sheet *sheet)
{
    while (sheet->text.len && sheet->text.data[sheet->text.len - 1] == ' ')
        sheet->text.len--;
    put(sheet, "\n");
}

static void write_text(const rf_grid *grid)
{
    size_t rows = rf_grid_rows(grid), line = 0;
    size_t *width = calloc(grid->columns, sizeof *width);
    bool *starred = calloc(grid->columns, sizeof *starred);
    if (width && starred) {
        for (size_t c = 0; c < grid->columns; c++) {
            starred[c] = has_best(grid, c);
            for (size_t r = 0; r <= rows; r++) {
                size_t length = length_of(cell_at(grid, r, c)->text);
                width[c] = length > width[c] ? length : width[c];
            }
            line += width[c] + starred[c] + (c ? 2 : 0);
        }
        for (size_t r = 0; r <= rows; r++) {
            for (size_t c = 0; c < grid->columns; c++)
                write_text_cell(grid, cell_at(grid, r, c), c, width[c], starred[c]);
            end_text_line(grid->sheet);
            if (r == 0) {
                put_times(grid->sheet, "-", line);
                put(grid->sheet, "\n");
            }
        }
    } else if (grid->sheet->status == RF_OK) {
        grid->sheet->status =
            rf_fail_nomem(grid->sheet->err, grid->columns * sizeof *width, "a table");
    }
    free(width);
    free(starred);
}

static void write_markdown(const rf_grid *grid)
{
    rf_sheet *sheet = grid->sheet;
    for (size_t r = 0; r <= rf_grid_rows(grid); r++) {
        for (size_t c = 0; c < grid->columns; c++) {
            const rf_grid_cell *cell = cell_at(grid, r, c);
            put(sheet, c ? " " : "| ");
            put(sheet, cell->best ? "**" : "");
            put_words(sheet, cell->text);
            put(sheet, cell->best ? "** |" : " |");
        }
        put(sheet, "\n");
        for (size_t c = 0; r == 0 && c < grid->columns; c++)
            put(sheet, c < grid->labels ? (c ? ":---|" : "|:---|") : "---:|");
        put(sheet, r == 0 ? "\n" : "");
    }
}

static void write_latex(const rf_grid *grid)
{
    rf_sheet *sheet = grid->sheet;
    put(sheet, "\\begin{tabular}{");
    put_times(sheet, "l", grid->labels);
    put_times(sheet, "r", grid->columns - grid->labels);
    put(sheet, "}\n\\hline\n");
    for (size_t r = 0; r <= rf_grid_rows(grid); r++) {
        for (size_t c = 0; c < grid->columns; c++) {
            const rf_grid_cell *cell = cell_at(grid, r, c);
            put(sheet, c ? " & " : "");
            put(sheet, cell->best ? "\\textbf{" : "");
            /* after the end of a row LaTeX would take a bracket for an argument */
            put(sheet, cell->text[0] == '[' ? "{}" : "");
            put_words(sheet, cell->text);
            put(sheet, cell->best ? "}" : "");
        }
        put(sheet, r == 0 ? " \\\\\n\\hline\n" : " \\\\\n");
    }
    put(sheet, "\\hline\n\\end{tabular}\n");
}

static void put_csv_text(rf_sheet *sheet, const char *text)
{
    if (!text || !strpbrk(text, ",\"\r\n")) {
        put(sheet, text ? text : "");
        return;
    }
    put(sheet, "\"");
    for (; *text; text++) {
        put(sheet, *text == '"' ? "\"" : "");
        put_bytes(sheet, text, 1);
    }
    put(sheet, "\"");
}

/* "," and, if there, the shortest text that reads back as x. */
static void put_csv_number(rf_sheet *sheet, bool there, double x)
{
    char text[40] = "";
    for (int digits = 15; there && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    put(sheet, ",");
    put(sheet, text);
}

static void write_csv_line(const rf_grid *grid, const rf_record *r)
{
    rf_sheet *sheet = grid->sheet;
    put_csv_text(sheet, grid->table);
    put(sheet, ",");
    put_csv_text(sheet, r->encoder ? r->encoder : grid->encoder);
    put(sheet, ",");
    put_csv_text(sheet, r->set);
    put_csv_number(sheet, r->ratio > 0.0, r->ratio);
    const char *const words[] = {r->method, r->variant, r->source, r->metric};
    for (size_t i = 0; i < 4; i++) {
        put(sheet, ",");
        put_csv_text(sheet, words[i]);
    }
    put_csv_number(sheet, r->n > 0, (double)r->n);
    put_csv_number(sheet, true, r->value);
    put_csv_number(sheet, r->has_spread, r->sd);
    put_csv_number(sheet, r->has_spread, r->low);
    put_csv_number(sheet, r->has_spread, r->high);
    put_csv_number(sheet, r->has_p, r->p);
    put(sheet, "\n");
}

static void write_csv(const rf_grid *grid)
{
    for (size_t i = 0; i < cells_in(grid); i++) {
        const rf_grid_cell *cell = cell_at(grid, 0, i);
        if (cell->has_record)
            write_csv_line(grid, &cell->record);
    }
}

static void write_title(rf_sheet *sheet, const char *title)
{
    switch (sheet->format) {
    case RF_TABLE_TEXT: break;
    case RF_TABLE_MARKDOWN: put(sheet, "### "); break;
    case RF_TABLE_LATEX: put(sheet, "\\noindent\\textbf{"); break;
    case RF_TABLE_CSV: return;
    }
    put_words(sheet, title);
    put(sheet, sheet->format == RF_TABLE_LATEX ? "}\n\n\\noindent\n" : "\n\n");
}

void rf_grid_close(rf_grid *grid, const char *title, ...)
{
    char text[512];
    va_list args;
    va_start(args, title);
    vsnprintf(text, sizeof text, title, args);
    va_end(args);
    if (grid->sheet->status == RF_OK && rf_grid_rows(grid) > 0) {
        assert(cells_in(grid) % grid->columns == 0);
        write_title(grid->sheet, text);
        switch (grid->sheet->format) {
        case RF_TABLE_TEXT: write_text(grid); break;
        case RF_TABLE_MARKDOWN: write_markdown(grid); break;
        case RF_TABLE_LATEX: write_latex(grid); break;
        case RF_TABLE_CSV: write_csv(grid); break;
        }
        if (grid->sheet->format != RF_TABLE_CSV)
            put(grid->sheet, "\n");
    }
    rf_buffer_release(&grid->cells);
}
