/* table.c - rf_lab_table: all tables, encoder by encoder */
#include "lab/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t (*write)(const rf_lab *lab);
} tables[] = {
    {"main", rf_table_main},
    {"known-open", rf_table_known_open},
    {"deviations", rf_table_deviations},
    {"ablation", rf_table_ablation},
    {"negatives", rf_table_negatives},
    {"paired", rf_table_paired},
    {"sweeps", rf_table_sweeps},
    {"few", rf_table_few},
};
#define N_TABLES (sizeof tables / sizeof tables[0])

static rf_status check_which(const char *which, rf_error *err)
{
    char list[256] = "";
    for (size_t i = 0; i < N_TABLES; i++) {
        if (!which || strcmp(which, tables[i].name) == 0)
            return RF_OK;
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", tables[i].name);
    }
    return rf_fail(err, RF_ERR_ARG, 0, "no table \"%s\", wanted one of: %s", which, list);
}

static int by_encoder(const void *a, const void *b)
{
    const rf_run *x = a, *y = b;
    int c = strcmp(x->encoder, y->encoder);
    return c ? c : rf_run_compare(x, y);
}

/* The tables of one encoder. Tables without rows are left out, unless requested by name:
 * then that is said. */
static void write_tables(const rf_lab *lab, const char *which)
{
    for (size_t i = 0; i < N_TABLES; i++) {
        if (which && strcmp(which, tables[i].name) != 0)
            continue;
        if (tables[i].write(lab) == 0 && which)
            rf_sheet_paragraph(lab->sheet, "%s: no runs for this table (encoder %s)",
                               which, lab->encoder);
    }
}

/* All encoders, or the requested one; false if it has no runs. runs are sorted by
 * encoder.
 */
static bool write_encoders(rf_lab *lab, const rf_run *runs, size_t n,
                           const rf_table_options *o)
{
    bool found = false;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n; to++)
            if (strcmp(runs[to].encoder, runs[from].encoder) != 0)
                break;
        if (o->encoder && strcmp(o->encoder, runs[from].encoder) != 0)
            continue;
        found = true;
        lab->runs = runs + from;
        lab->n = to - from;
        lab->encoder = runs[from].encoder;
        write_tables(lab, o->which);
    }
    return found;
}

static rf_status fail_encoder(const char *dir, const char *encoder, const rf_run *runs,
                              size_t n, rf_error *err)
{
    char list[256] = "";
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(list);
        if (i == 0 || strcmp(runs[i].encoder, runs[i - 1].encoder) != 0)
            snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "",
                     runs[i].encoder);
    }
    return rf_fail(err, RF_ERR_MISSING, 0, "%s: no run with encoder %s; there are: %s",
                   dir, encoder, list);
}

static rf_status write_sheet(rf_lab *lab, const char *dir, const rf_run *runs, size_t n,
                             const rf_table_options *o, char **text, rf_error *err)
{
    rf_sheet sheet;
    rf_sheet_init(&sheet, o->format, err);
    lab->sheet = &sheet;
    if (!write_encoders(lab, runs, n, o))
        sheet.status = fail_encoder(dir, o->encoder, runs, n, err);
    if (sheet.status == RF_OK) /* allocates even if the text is empty */
        sheet.status = rf_buffer_add(&sheet.text, "", 0, err);
    if (sheet.status != RF_OK) {
        rf_buffer_release(&sheet.text);
        return sheet.status;
    }
    *text = sheet.text.data;
    return RF_OK;
}

rf_status rf_lab_table(const char *dir, const rf_table_options *options, char **text,
                       rf_error *err)
{
    rf_table_options o = options ? *options : (rf_table_options){0};
    rf_run *runs = NULL;
    rf_published *published = NULL;
    size_t n = 0, n_published = 0;
    *text = NULL;
    if ((unsigned)o.format > RF_TABLE_LATEX)
        return rf_fail(err, RF_ERR_ARG, 0, "no table format %d", (int)o.format);
    rf_status st = check_which(o.which, err);
    if (st == RF_OK)
        st = rf_runs_load(dir, &runs, &n, err);
    if (st == RF_OK && n == 0)
        st = rf_fail(err, RF_ERR_MISSING, 0, "%s/" RF_RUNS_FILE ": no runs", dir);
    if (st == RF_OK)
        st = rf_published_load(&published, &n_published, err);
    rf_lab lab = {.published = published, .n_published = n_published};
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        lab.values[i] = calloc(n, sizeof(double));
        if (!lab.values[i])
            st = rf_fail_nomem(err, n * sizeof(double), "figures");
    }
    if (st == RF_OK) {
        qsort(runs, n, sizeof *runs, by_encoder);
        st = write_sheet(&lab, dir, runs, n, &o, text, err);
    }
    free(lab.values[0]);
    free(lab.values[1]);
    free(published);
    rf_runs_free(runs, n);
    return st;
}
