/* results.c - appends to and reads runs.jsonl */
#include "lab/results.h"

#include "lab/line_file.h"
#include "lab/run_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rf_run_release(rf_run *run)
{
    json_decref(run->settings);
    json_decref(run->confusions);
    run->settings = run->confusions = NULL;
}

void rf_runs_free(rf_run *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        rf_run_release(&list[i]);
    free(list);
}

/* ---- Keys -------------------------------------------------------------------------- */

char *rf_ratio_text(double ratio, char out[RF_RATIO_TEXT])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, RF_RATIO_TEXT, "%.*g", digits, ratio);
        if (strtod(out, NULL) == ratio)
            break;
    }
    return out;
}

char *rf_run_key(const rf_run *run, char out[RF_RUN_KEY])
{
    char ratio[RF_RATIO_TEXT];
    snprintf(out, RF_RUN_KEY, "%s %s seed %llu %s %s%s%s", run->set,
             rf_ratio_text(run->ratio, ratio), (unsigned long long)run->seed, run->method,
             run->encoder, run->variant[0] ? " " : "", run->variant);
    return out;
}

int rf_run_compare(const rf_run *a, const rf_run *b)
{
    int c = strcmp(a->set, b->set);
    if (c == 0)
        c = (a->ratio > b->ratio) - (a->ratio < b->ratio);
    if (c == 0)
        c = (a->seed > b->seed) - (a->seed < b->seed);
    if (c == 0)
        c = strcmp(a->method, b->method);
    if (c == 0)
        c = strcmp(a->encoder, b->encoder);
    return c ? c : strcmp(a->variant, b->variant);
}

const rf_run *rf_runs_find(const rf_run *list, size_t n, const rf_run *like)
{
    for (size_t i = 0; i < n; i++)
        if (rf_run_compare(&list[i], like) == 0)
            return &list[i];
    return NULL;
}

/* ---- The file ---------------------------------------------------------------------- */

rf_status rf_run_append(const char *dir, const rf_run *run, rf_error *err)
{
    rf_buffer line;
    rf_buffer_init(&line, RF_LINE_MAX, "a run");
    rf_status st = rf_run_write(run, &line, err);
    if (st == RF_OK)
        st = rf_lines_append(dir, RF_RUNS_FILE, &line, err);
    rf_buffer_release(&line);
    return st;
}

static rf_status add_run(void *user, const char *line, size_t len, const char *path,
                         size_t number, rf_error *err)
{
    rf_run run;
    rf_status st = rf_run_read(&run, line, len, path, number, err);
    if (st != RF_OK)
        return st;
    st = rf_buffer_add(user, &run, sizeof run, err);
    if (st != RF_OK)
        rf_run_release(&run);
    return st;
}

static int by_key_then_place(const void *a, const void *b)
{
    const rf_run *x = *(const rf_run *const *)a, *y = *(const rf_run *const *)b;
    int c = rf_run_compare(x, y);
    return c ? c : (x > y) - (x < y);
}

/* Of runs with the same key, keeps the last. */
static rf_status drop_older(rf_run *list, size_t *n, rf_error *err)
{
    const rf_run **order = calloc(*n ? *n : 1, sizeof(const rf_run *));
    bool *old = calloc(*n ? *n : 1, sizeof *old);
    rf_status st = order && old ? RF_OK : rf_fail_nomem(err, *n * sizeof *order, "runs");
    if (st == RF_OK) {
        for (size_t i = 0; i < *n; i++)
            order[i] = &list[i];
        qsort(order, *n, sizeof(const rf_run *), by_key_then_place);
        for (size_t i = 0; i + 1 < *n; i++)
            old[order[i] - list] = rf_run_compare(order[i], order[i + 1]) == 0;
        size_t kept = 0;
        for (size_t i = 0; i < *n; i++) {
            if (old[i])
                rf_run_release(&list[i]);
            else
                list[kept++] = list[i];
        }
        *n = kept;
    }
    free(order);
    free(old);
    return st;
}

rf_status rf_runs_load(const char *dir, rf_run **list, size_t *n, rf_error *err)
{
    rf_buffer runs;
    *list = NULL;
    *n = 0;
    rf_buffer_init(&runs, SIZE_MAX / 4, "runs");
    rf_status st = rf_lines_read(dir, RF_RUNS_FILE, add_run, &runs, err);
    rf_run *all = (rf_run *)(void *)runs.data;
    size_t count = runs.len / sizeof *all;
    if (st == RF_OK)
        st = drop_older(all, &count, err);
    if (st != RF_OK) {
        rf_runs_free(all, count);
        return st;
    }
    *list = all;
    *n = count;
    return RF_OK;
}
