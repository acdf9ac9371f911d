/* growing.c - trains a model on some classes, then gives it the others one by one */
#include "lab/growing.h"

#include "base/clock.h"
#include "base/plural.h"
#include "methods/methods.h"
#include "num/kernels.h"
#include "ringfence_improve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Rows -------------------------------------------------------------------------- */

/* Some rows of a file as a file of their own. */
static rf_dataset *copy_rows(const rf_dataset *from, const rf_split_rows *rows,
                             rf_error *err)
{
    rf_dataset *to = rf_dataset_new(err);
    rf_status st = to ? RF_OK : RF_ERR_NOMEM;
    for (size_t i = 0; i < rows->n && st == RF_OK; i++)
        st = rf_lab_add_row(to, from, rows->row[i], NULL, err);
    if (st == RF_OK)
        return to;
    rf_dataset_free(to);
    return NULL;
}

/* The training rows of one class. */
static rf_dataset *copy_class(const rf_dataset *from, const char *label, rf_error *err)
{
    rf_dataset *to = rf_dataset_new(err);
    rf_status st = to ? RF_OK : RF_ERR_NOMEM;
    for (size_t i = 0; i < rf_dataset_rows(from) && st == RF_OK; i++)
        if (strcmp(rf_dataset_label(from, rf_dataset_class(from, i), NULL), label) == 0)
            st = rf_lab_add_row(to, from, i, NULL, err);
    if (st == RF_OK)
        return to;
    rf_dataset_free(to);
    return NULL;
}

rf_status rf_growing_split(const rf_growing *g, size_t n, rf_split *split, rf_error *err)
{
    rf_dataset *const *data = g->c->set.data;
    const rf_split_options so = {.n_classes = n, .seed = g->seed};
    return rf_split_make(split, data[RF_LAB_TRAIN], data[RF_LAB_DEV], data[RF_LAB_TEST],
                         &so, err);
}

/* ---- Training ---------------------------------------------------------------------- */

static rf_model *train_split(const rf_growing *g, const rf_split *split, rf_error *err)
{
    rf_dataset *const *data = g->c->set.data;
    rf_model *m = NULL;
    rf_dataset *train = copy_rows(data[RF_LAB_TRAIN], &split->train, err), *dev = NULL;
    if (train && split->dev.n > 0)
        dev = copy_rows(data[RF_LAB_DEV], &split->dev, err);
    if (train && (dev || split->dev.n == 0))
        m = rf_lab_train(&g->trainer, train, dev, err);
    rf_dataset_free(train);
    rf_dataset_free(dev);
    return m;
}

rf_model *rf_growing_train(const rf_growing *g, size_t n, rf_error *err)
{
    rf_split split;
    if (rf_growing_split(g, n, &split, err) != RF_OK)
        return NULL;
    rf_model *m = train_split(g, &split, err);
    rf_split_release(&split);
    return m;
}

/* ---- Learning ---------------------------------------------------------------------- */

static void add_cost(rf_growing_cost *cost, const json_t *report, double seconds,
                     double cpu)
{
    cost->n++;
    cost->seconds += seconds;
    cost->cpu += cpu;
    cost->longest = seconds > cost->longest ? seconds : cost->longest;
    cost->heads += (size_t)json_integer_value(json_object_get(report, "heads_trained"));
    cost->fitted += json_array_size(json_object_get(report, "fitted"));
    cost->refits += json_is_true(json_object_get(report, "shared_refitted"));
}

rf_status rf_growing_learn(rf_growing *g, rf_error *err)
{
    char *text = NULL;
    rf_update_options o = rf_update_options_default();
    rf_dataset *rows =
        copy_class(g->c->set.data[RF_LAB_TRAIN], g->split.drawn[g->classes], err);
    if (!rows)
        return RF_ERR_NOMEM;
    o.threads = rf_team_size(g->c->team);
    o.progress = g->c->progress;
    o.user = g->c->user;
    double start = rf_clock_seconds(), cpu = rf_clock_cpu();
    rf_model *next = rf_update(g->model, rows, &o, &text, err);
    double seconds = rf_clock_seconds() - start;
    cpu = rf_clock_cpu() - cpu;
    rf_dataset_free(rows);
    if (!next)
        return err->code;
    json_t *report = rf_json_object(text, strlen(text), "the report", err);
    free(text);
    rf_model_free(g->model);
    g->model = next;
    if (!report)
        return err->code;
    add_cost(&g->cost, report, seconds, cpu);
    json_decref(report);
    g->classes++;
    size_t n = rf_model_classes(next);
    return n == g->classes
               ? RF_OK
               : rf_fail(err, RF_ERR_FORMAT, 0,
                         "%s: learning class \"%.60s\" leaves %zu %s, wanted %zu: some "
                         "class has no text that is not also a text of this one",
                         g->c->set_name, g->split.drawn[g->classes - 1], n,
                         rf_plural(n, "class", "classes"), g->classes);
}

/* ---- Saved models ------------------------------------------------------------------ */

/* Whether a model knows the first n classes, and no others. */
static bool knows_first(const rf_growing *g, const rf_model *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rf_model_find(m, g->split.drawn[i], strlen(g->split.drawn[i])) == RF_OPEN)
            return false;
    return rf_model_classes(m) == n;
}

static rf_status name_file(const rf_growing *g, size_t classes, char path[RF_PATH_MAX],
                           rf_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "updated-%.16s-%zu.rf", g->trainer.hash, classes);
    return rf_path_join(path, g->c->cache, name, err);
}

/* The largest saved model of at most `usable` classes; g->model stays NULL if there is
 * none. */
static rf_status load(rf_growing *g, size_t usable, rf_error *err)
{
    char path[RF_PATH_MAX];
    rf_status st = RF_OK;
    for (size_t n = usable; n >= g->first && st == RF_OK && !g->model; n--) {
        st = name_file(g, n, path, err);
        if (st != RF_OK || !rf_file_exists(path))
            continue;
        g->model = rf_model_load(path, err);
        if (!g->model)
            return err->code;
        if (!knows_first(g, g->model, n))
            return rf_fail(err, RF_ERR_FORMAT, 0,
                           "%s: its content does not match its name; remove it", path);
        g->classes = g->saved = n;
    }
    return st;
}

rf_status rf_growing_save(rf_growing *g, rf_error *err)
{
    char path[RF_PATH_MAX], older[RF_PATH_MAX];
    rf_status st = rf_dir_make(g->c->cache, err);
    if (st == RF_OK)
        st = name_file(g, g->classes, path, err);
    if (st == RF_OK)
        st = rf_model_save(g->model, path, NULL, err);
    if (st == RF_OK && g->saved > g->first)
        st = name_file(g, g->saved, older, err);
    if (st == RF_OK && g->saved > g->first && g->saved != g->classes)
        unlink(older);
    g->saved = g->classes;
    return st;
}

/* ---- Open and close ---------------------------------------------------------------- */

rf_status rf_growing_open(rf_growing *g, const rf_lab_context *c, double from,
                          uint64_t seed, size_t usable, size_t most, rf_error *err)
{
    size_t all = rf_dataset_classes(c->set.data[RF_LAB_TRAIN]);
    char first[32];
    *g = (rf_growing){.c = c, .seed = seed, .first = rf_split_known(all, from)};
    snprintf(first, sizeof first, "%zu", g->first);
    rf_status st = rf_growing_split(g, most, &g->split, err);
    if (st == RF_OK)
        st = rf_lab_trainer_init(&g->trainer, c, rf_method_find("ans"), seed, first, err);
    if (st == RF_OK)
        st = load(g, usable, err);
    if (st == RF_OK && !g->model) {
        double start = rf_clock_seconds(), cpu = rf_clock_cpu();
        g->model = rf_growing_train(g, g->first, err);
        g->train_seconds = rf_clock_seconds() - start;
        g->train_cpu = rf_clock_cpu() - cpu;
        g->classes = g->first;
        st = g->model ? RF_OK : err->code;
    }
    if (st != RF_OK)
        rf_growing_close(g);
    return st;
}

void rf_growing_close(rf_growing *g)
{
    rf_split_release(&g->split);
    rf_model_free(g->model);
    *g = (rf_growing){0};
}
