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
    {"updates", rf_table_updates},
    {"loop", rf_table_loop},
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

/* What was read, sorted by encoder. */
typedef struct results {
    rf_run *runs;
    rf_update_point *points;
    rf_loop_point *rounds;
    size_t n, n_points, n_rounds;
} results;

/* How far the tables have come in each list. */
typedef struct place {
    size_t run, point, round;
} place;

/* The one that comes first; NULL: none. */
static const char *first_of(const char *a, const char *b)
{
    return !a || (b && strcmp(b, a) < 0) ? b : a;
}

/* The encoder that comes next; NULL: none. */
static const char *next_encoder(const results *all, const place *at)
{
    const char *run = at->run < all->n ? all->runs[at->run].encoder : NULL;
    const char *point = at->point < all->n_points ? all->points[at->point].encoder : NULL;
    const char *round = at->round < all->n_rounds ? all->rounds[at->round].encoder : NULL;
    return first_of(first_of(run, point), round);
}

/* Counts the results of the encoder from here on. */
#define COUNT(list, n, from, encoder_name, count)                                        \
    for (count = 0; (from) < (n) && strcmp((list)[from].encoder, encoder_name) == 0;     \
         (from)++)                                                                       \
    count++

/* Moves lab to the results of an encoder, which begin at *at. */
static void take_encoder(rf_lab *lab, const results *all, place *at)
{
    lab->runs = all->n > 0 ? all->runs + at->run : NULL;
    lab->points = all->n_points > 0 ? all->points + at->point : NULL;
    lab->rounds = all->n_rounds > 0 ? all->rounds + at->round : NULL;
    COUNT(all->runs, all->n, at->run, lab->encoder, lab->n);
    COUNT(all->points, all->n_points, at->point, lab->encoder, lab->n_points);
    COUNT(all->rounds, all->n_rounds, at->round, lab->encoder, lab->n_rounds);
}

/* All encoders, or the requested one; RF_ERR_MISSING if it has no results. */
static rf_status write_encoders(rf_lab *lab, const char *dir, const results *all,
                                const rf_table_options *o, rf_error *err)
{
    char list[256] = "";
    bool found = false;
    for (place at = {0}; (lab->encoder = next_encoder(all, &at));) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "", lab->encoder);
        take_encoder(lab, all, &at);
        if (o->encoder && strcmp(o->encoder, lab->encoder) != 0)
            continue;
        found = true;
        write_tables(lab, o->which);
    }
    return found ? RF_OK
                 : rf_fail(err, RF_ERR_MISSING, 0,
                           "%s: no run with encoder %s; there are: %s", dir, o->encoder,
                           list);
}

static rf_status write_sheet(rf_lab *lab, const char *dir, const results *all,
                             const rf_table_options *o, char **text, rf_error *err)
{
    rf_sheet sheet;
    rf_sheet_init(&sheet, o->format, err);
    lab->sheet = &sheet;
    rf_status st = write_encoders(lab, dir, all, o, err);
    if (st == RF_OK)
        st = sheet.status;
    if (st == RF_OK) /* allocates even if the text is empty */
        st = rf_buffer_add(&sheet.text, "", 0, err);
    if (st != RF_OK) {
        rf_buffer_release(&sheet.text);
        return st;
    }
    *text = sheet.text.data;
    return RF_OK;
}

static int by_point(const void *a, const void *b)
{
    return rf_update_point_compare(a, b);
}

static int by_round(const void *a, const void *b)
{
    return rf_loop_point_compare(a, b);
}

/* Reads and sorts the files; RF_ERR_MISSING if there is nothing in them. */
static rf_status load_results(results *all, const char *dir, rf_error *err)
{
    rf_status st = rf_runs_load(dir, &all->runs, &all->n, err);
    if (st == RF_OK)
        st = rf_update_points_load(dir, &all->points, &all->n_points, err);
    if (st == RF_OK)
        st = rf_loop_points_load(dir, &all->rounds, &all->n_rounds, err);
    if (st == RF_OK && all->n + all->n_points + all->n_rounds == 0)
        st = rf_fail(err, RF_ERR_MISSING, 0, "%s/" RF_RUNS_FILE ": no runs", dir);
    if (all->n > 0)
        qsort(all->runs, all->n, sizeof *all->runs, by_encoder);
    if (all->n_points > 0)
        qsort(all->points, all->n_points, sizeof *all->points, by_point);
    if (all->n_rounds > 0)
        qsort(all->rounds, all->n_rounds, sizeof *all->rounds, by_round);
    return st;
}

rf_status rf_lab_table(const char *dir, const rf_table_options *options, char **text,
                       rf_error *err)
{
    rf_table_options o = options ? *options : (rf_table_options){0};
    results all = {0};
    rf_published *published = NULL;
    size_t n_published = 0;
    *text = NULL;
    if ((unsigned)o.format > RF_TABLE_LATEX)
        return rf_fail(err, RF_ERR_ARG, 0, "no table format %d", (int)o.format);
    rf_status st = check_which(o.which, err);
    if (st == RF_OK)
        st = load_results(&all, dir, err);
    if (st == RF_OK)
        st = rf_published_load(&published, &n_published, err);
    rf_lab lab = {.published = published, .n_published = n_published};
    size_t most = all.n > all.n_points ? all.n : all.n_points;
    for (size_t i = 0; i < 2 && st == RF_OK; i++) {
        lab.values[i] = calloc(most + 1, sizeof(double));
        if (!lab.values[i])
            st = rf_fail_nomem(err, most * sizeof(double), "figures");
    }
    if (st == RF_OK)
        st = write_sheet(&lab, dir, &all, &o, text, err);
    free(lab.values[0]);
    free(lab.values[1]);
    free(published);
    free(all.points);
    free(all.rounds);
    rf_runs_free(all.runs, all.n);
    return st;
}
