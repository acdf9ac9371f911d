/* merge.c - the runs of several directories in one file */
#include "lab/lab.h"

#include "base/file.h"
#include "lab/results.h"
#include "lab/run_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct merging {
    rf_run *runs;
    size_t *from; /* [n] index of the directory, `dirs` for the results themselves */
    size_t n;
    const char *const *dir; /* [dirs] */
    size_t dirs;
    const char *out;
} merging;

static const char *place_of(const merging *m, const rf_run *run)
{
    size_t from = m->from[run - m->runs];
    return from < m->dirs ? m->dir[from] : m->out;
}

static rf_status take_runs(merging *m, size_t from, rf_error *err)
{
    const char *dir = from < m->dirs ? m->dir[from] : m->out;
    rf_run *list;
    size_t n;
    rf_status st = rf_runs_load(dir, &list, &n, err);
    if (st != RF_OK)
        return st;
    if (n == 0) {
        rf_runs_free(list, n);
        return from == m->dirs
                   ? RF_OK
                   : rf_fail(err, RF_ERR_MISSING, 0, "%s/%s: found no runs to merge", dir,
                             RF_RUNS_FILE);
    }
    rf_run *runs = realloc(m->runs, (m->n + n) * sizeof *runs);
    m->runs = runs ? runs : m->runs;
    size_t *places = realloc(m->from, (m->n + n) * sizeof *places);
    m->from = places ? places : m->from;
    if (!runs || !places) {
        rf_runs_free(list, n);
        return rf_fail_nomem(err, n * sizeof *runs, "runs");
    }
    memcpy(m->runs + m->n, list, n * sizeof *list);
    for (size_t i = 0; i < n; i++)
        m->from[m->n + i] = from;
    m->n += n;
    free(list);
    return RF_OK;
}

/* Is the same run there with the same settings, texts and figures? */
static bool agree(const rf_run *a, const rf_run *b)
{
    return json_equal(a->settings, b->settings) && a->accuracy == b->accuracy &&
           a->f1 == b->f1 && strcmp(a->classes_sha256, b->classes_sha256) == 0;
}

static int by_key(const void *a, const void *b)
{
    const rf_run *x = *(const rf_run *const *)a, *y = *(const rf_run *const *)b;
    int c = rf_run_compare(x, y);
    return c ? c : (x > y) - (x < y);
}

/* Lines in the order of keys, each run once. */
static rf_status write_runs(const merging *m, rf_buffer *text, size_t *written,
                            rf_error *err)
{
    rf_status st = RF_OK;
    const rf_run **order = calloc(m->n + 1, sizeof(const rf_run *));
    if (!order)
        return rf_fail_nomem(err, m->n * sizeof *order, "runs");
    for (size_t i = 0; i < m->n; i++)
        order[i] = &m->runs[i];
    qsort(order, m->n, sizeof(const rf_run *), by_key);
    *written = 0;
    for (size_t i = 0; i < m->n && st == RF_OK; i++) {
        const rf_run *run = order[i], *last = i > 0 ? order[i - 1] : NULL;
        char key[RF_RUN_KEY];
        if (!last || rf_run_compare(last, run) != 0) {
            st = rf_run_write(run, text, err);
            (*written)++;
        } else if (!agree(last, run)) {
            st = rf_fail(err, RF_ERR_ARG, 0,
                         "run \"%s\" is in %s and in %s with other settings, data or "
                         "figures; wanted directories of one experiment",
                         rf_run_key(run, key), place_of(m, last), place_of(m, run));
        }
    }
    free(order);
    return st;
}

static rf_status replace_runs(const char *out, const rf_buffer *text, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_new_file f = {0};
    rf_status st = rf_path_join(path, out, RF_RUNS_FILE, err);
    if (st == RF_OK)
        st = rf_dir_make(out, err);
    if (st == RF_OK)
        st = rf_new_file_open(&f, path, err);
    if (st == RF_OK)
        st = rf_new_file_add(&f, text->data, text->len, err);
    if (st == RF_OK)
        st = rf_new_file_commit(&f, err);
    rf_new_file_abandon(&f);
    return st;
}

rf_status rf_lab_merge(const char *const *dirs, size_t n, const char *out, size_t *runs,
                       rf_error *err)
{
    merging m = {.dir = dirs, .dirs = n, .out = out};
    rf_buffer text;
    rf_status st = RF_OK;
    rf_buffer_init(&text, SIZE_MAX / 4, "runs");
    *runs = 0;
    for (size_t i = 0; i <= n && st == RF_OK; i++)
        st = take_runs(&m, i, err);
    if (st == RF_OK)
        st = write_runs(&m, &text, runs, err);
    if (st == RF_OK)
        st = replace_runs(out, &text, err);
    rf_buffer_release(&text);
    rf_runs_free(m.runs, m.n);
    free(m.from);
    return st;
}
