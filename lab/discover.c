/* discover.c - clusters the test texts of each experiment and measures the result */
#include "lab/discover.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "lab/experiment.h"
#include "lab/kmeans.h"
#include "lab/plan.h"
#include "lab/ward.h"
#include "num/neighbours.h"
#include "num/vectors.h"
#include "review/class_scale.h"
#include "review/grouping.h"
#include "review/linkage.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 100
/* What is one topic lies this far on the way from the similarity of texts of two classes
 * to that of one; and a group that counts as a class has this share of a typical one.
 * docs/design/discovery.md has what was tried. */
#define LEVEL 0.65
#define LEAST_SHARE 0.2

typedef struct discovering {
    rf_lab_context context;
    rf_plan plan;
    rf_text lines; /* of discover.jsonl */
    rf_discovery_done done;
    void *user;
    rf_error *err;
} discovering;

/* The texts of one experiment. */
typedef struct test_texts {
    size_t n, width;
    float *points;             /* [n, width] of unit length */
    float *smooth;             /* the same, moved towards their neighbours */
    uint32_t *truth;           /* [n] class of the training file */
    bool *open;                /* [n] of an unknown class */
    uint32_t *cluster, *start; /* [n] by k-means, and what it started from */
    rf_ward tree;
} test_texts;

/* ---- Neighbours -------------------------------------------------------------------- */

static void add_neighbours(const float *points, size_t width, const uint32_t *near,
                           size_t k, float *x)
{
    for (size_t j = 0; j < width; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < k; i++)
            sum += (double)points[near[i] * width + j];
        x[j] += (float)(sum / (double)k);
    }
    rf_rows_normalise(x, x, 1, width);
}

/* *near: the k nearest points of each, [n, k]; freed with free() in any case. */
static rf_status find_near(const float *points, size_t n, size_t width, size_t k,
                           uint32_t **near, rf_team *team, rf_error *err)
{
    rf_neighbours search = {0};
    float *distance = calloc(n * k + 1, sizeof *distance);
    *near = calloc(n * k + 1, sizeof **near);
    rf_status st = *near && distance
                       ? RF_OK
                       : rf_fail_nomem(err, n * k * sizeof **near, "neighbours");
    if (st == RF_OK && k > 0)
        st = rf_neighbours_init(&search, points, n, width, err);
    if (st == RF_OK && k > 0)
        st = rf_neighbours_find_all(&search, points, n, k, true, *near, distance, team,
                                    err);
    rf_neighbours_release(&search);
    free(distance);
    return st;
}

/* At most this many neighbours. */
static size_t at_most(size_t k, size_t n)
{
    return n > k ? k : n > 0 ? n - 1 : 0;
}

rf_status rf_discover_smooth(const float *points, size_t n, size_t width, float *out,
                             rf_team *team, rf_error *err)
{
    size_t k = at_most(RF_DISCOVER_NEAR, n);
    uint32_t *near;
    rf_status st = find_near(points, n, width, k, &near, team, err);
    memcpy(out, points, n * width * sizeof *out);
    for (size_t i = 0; i < n && k > 0 && st == RF_OK; i++)
        add_neighbours(points, width, near + i * k, k, out + i * width);
    free(near);
    return st;
}

/* ---- The number of classes --------------------------------------------------------- */

/* Groups that have at least LEAST_SHARE of the points of a typical one; size [n], 0: no
 * group. */
static size_t count_large(const uint32_t *size, size_t n)
{
    double squares = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)size[i] * (double)size[i];
    for (size_t i = 0; i < n; i++)
        count += size[i] > 1 && (double)size[i] >= LEAST_SHARE * squares / (double)n;
    return count > 0 ? count : 1;
}

rf_status rf_discover_count(const float *points, size_t n, size_t width, double level,
                            rf_team *team, size_t *count, rf_error *err)
{
    size_t k = at_most(RF_REVIEW_NEAR, n);
    uint32_t *near, *group = calloc(n + 1, sizeof *group),
                    *size = calloc(n + 1, sizeof *size);
    float *sum = rf_floats_new(n * width + 1);
    rf_status st = find_near(points, n, width, k, &near, team, err);
    if (st == RF_OK && (!group || !size || !sum))
        st = rf_fail_nomem(err, n * width * sizeof *sum, "groups");
    if (st == RF_OK)
        st = rf_linkage(points, n, width, near, k, level, group, sum, size, team, err);
    if (st == RF_OK)
        *count = count_large(size, n);
    free(near);
    free(group);
    free(size);
    free(sum);
    return st;
}

/* ---- The texts --------------------------------------------------------------------- */

static void texts_release(test_texts *t)
{
    free(t->points);
    free(t->smooth);
    free(t->truth);
    free(t->open);
    free(t->cluster);
    free(t->start);
    rf_ward_release(&t->tree);
}

static rf_status take_texts(const discovering *d, const rf_experiment *e, test_texts *t)
{
    const rf_dataset *train = d->context.set.data[RF_LAB_TRAIN];
    const rf_dataset *test = d->context.set.data[RF_LAB_TEST];
    const rf_split_rows *rows = &e->split.test;
    size_t floats;
    t->width = e->stage1.width;
    if (!rf_size_mul(rows->n + 1, t->width, &floats))
        floats = SIZE_MAX / 8;
    t->points = rf_floats_new(floats);
    t->smooth = rf_floats_new(floats);
    t->truth = calloc(rows->n + 1, sizeof *t->truth);
    t->open = calloc(rows->n + 1, sizeof *t->open);
    t->cluster = calloc(rows->n + 1, sizeof *t->cluster);
    t->start = calloc(rows->n + 1, sizeof *t->start);
    if (!t->points || !t->smooth || !t->truth || !t->open || !t->cluster || !t->start)
        return rf_fail_nomem(d->err, floats * sizeof *t->points, "test texts");
    for (size_t i = 0; i < rows->n; i++) {
        size_t class = rf_lab_class(
            train, rf_dataset_label(test, rf_dataset_class(test, rows->row[i]), NULL));
        if (class == RF_OPEN)
            continue;
        rf_rows_normalise(t->points + t->n * t->width,
                          e->stage1.z[RF_LAB_TEST] + i * t->width, 1, t->width);
        t->truth[t->n] = (uint32_t) class;
        t->open[t->n++] = rows->class_index[i] == e->split.classes;
    }
    return rf_discover_smooth(t->points, t->n, t->width, t->smooth, d->context.team,
                              d->err);
}

/* ---- One experiment ---------------------------------------------------------------- */

static rf_status cluster(const discovering *d, test_texts *t, const rf_discovery *out,
                         size_t clusters, rf_agreement *all, rf_agreement *open)
{
    const rf_kmeans_options o = {
        .clusters = clusters, .most_steps = MOST_STEPS, .start = t->start};
    rf_status st = rf_ward_cut(&t->tree, clusters, t->start, d->err);
    if (st == RF_OK)
        st = rf_kmeans(t->smooth, t->n, t->width, &o, t->cluster, NULL, d->context.team,
                       d->err);
    if (st == RF_OK)
        st = rf_agreement_make(all, t->truth, out->classes, t->cluster, clusters, NULL,
                               t->n, d->err);
    if (st == RF_OK)
        st = rf_agreement_make(open, t->truth, out->classes, t->cluster, clusters,
                               t->open, t->n, d->err);
    return st;
}

/* How similar smoothed training texts of known classes are says which test texts are one
 * topic. */
static rf_status find_number(const discovering *d, const rf_experiment *e,
                             const test_texts *t, size_t *count)
{
    size_t n = e->split.train.n, floats = (n + 1) * t->width;
    float *unit = rf_floats_new(floats), *smooth = rf_floats_new(floats);
    rf_class_stats stats = {0};
    double within, between;
    rf_status st = unit && smooth ? RF_OK
                                  : rf_fail_nomem(d->err, floats * sizeof *unit,
                                                  "features of known classes");
    if (st == RF_OK) {
        rf_rows_normalise(unit, e->stage1.z[RF_LAB_TRAIN], n, t->width);
        st = rf_discover_smooth(unit, n, t->width, smooth, d->context.team, d->err);
    }
    if (st == RF_OK)
        st = rf_class_stats_init(&stats, smooth, e->split.train.class_index, n, t->width,
                                 e->split.classes, d->err);
    if (st == RF_OK) {
        rf_class_scale(&stats, &within, &between);
        st = rf_discover_count(t->smooth, t->n, t->width,
                               between + LEVEL * (within - between), d->context.team,
                               count, d->err);
    }
    rf_class_stats_release(&stats);
    free(unit);
    free(smooth);
    return st;
}

static rf_status measure(const discovering *d, const rf_experiment *e, rf_discovery *out)
{
    test_texts t = {0};
    rf_status st = take_texts(d, e, &t);
    out->texts = t.n;
    out->classes = rf_dataset_classes(d->context.set.data[RF_LAB_TRAIN]);
    out->known = e->split.classes;
    for (size_t i = 0; i < t.n; i++)
        out->unknown_texts += t.open[i];
    if (st == RF_OK && t.n < out->classes)
        st = rf_fail(d->err, RF_ERR_FORMAT, 0,
                     "%s: found %zu test texts of %zu classes, wanted more texts than "
                     "classes",
                     out->set, t.n, out->classes);
    if (st == RF_OK)
        st = rf_ward_make(&t.tree, t.smooth, t.n, t.width, d->context.team, d->err);
    if (st == RF_OK)
        st = cluster(d, &t, out, out->classes, &out->all, &out->open);
    if (st == RF_OK)
        st = find_number(d, e, &t, &out->found);
    if (st == RF_OK)
        st = cluster(d, &t, out, out->found, &out->found_all, &out->found_open);
    texts_release(&t);
    return st;
}

/* ---- Results ----------------------------------------------------------------------- */

static void put_agreement(rf_text *t, const char *name, const rf_agreement *a)
{
    rf_text_format(t, ", \"%s\": {\"accuracy\": ", name);
    rf_text_float(t, (float)a->accuracy);
    rf_text_put(t, ", \"nmi\": ");
    rf_text_float(t, (float)a->nmi);
    rf_text_put(t, ", \"ari\": ");
    rf_text_float(t, (float)a->ari);
    rf_text_put(t, "}");
}

static rf_status record(discovering *d, const rf_discovery *out)
{
    char path[RF_PATH_MAX];
    rf_new_file file = {0};
    rf_text *t = &d->lines;
    rf_text_put(t, "{\"set\": ");
    rf_text_name(t, out->set);
    rf_text_put(t, ", \"ratio\": ");
    rf_text_float(t, (float)out->ratio);
    rf_text_format(t, ", \"seed\": %llu, \"method\": \"%s\", \"encoder\": ",
                   (unsigned long long)out->seed, out->method);
    rf_text_name(t, d->context.encoder);
    rf_text_format(t,
                   ", \"texts\": %zu, \"unknown_texts\": %zu, \"classes\": %zu, "
                   "\"known\": %zu",
                   out->texts, out->unknown_texts, out->classes, out->known);
    put_agreement(t, "all", &out->all);
    put_agreement(t, "unknown", &out->open);
    rf_text_format(t, ", \"classes_found\": %zu", out->found);
    put_agreement(t, "found_all", &out->found_all);
    put_agreement(t, "found_unknown", &out->found_open);
    rf_text_put(t, "}\n");
    if (t->status != RF_OK)
        return rf_fail_nomem(d->err, t->buffer.len, "results");
    rf_status st = rf_path_join(path, d->context.o->out, "discover.jsonl", d->err);
    if (st == RF_OK)
        st = rf_new_file_open(&file, path, d->err);
    if (st == RF_OK)
        st = rf_new_file_add(&file, t->buffer.data, t->buffer.len, d->err);
    if (st == RF_OK)
        st = rf_new_file_commit(&file, d->err);
    rf_new_file_abandon(&file);
    return st;
}

static rf_status run_one(discovering *d, const rf_planned *p)
{
    rf_experiment e = {
        .ratio = p->ratio, .seed = p->seed, .method = p->method, .variant = ""};
    rf_discovery out = {.set = d->plan.sets[p->set],
                        .ratio = p->ratio,
                        .seed = p->seed,
                        .method = p->method->name};
    rf_status st = rf_lab_context_use(&d->context, out.set, d->err);
    if (st == RF_OK)
        st = rf_experiment_begin(&d->context, &e, d->err);
    if (st != RF_OK)
        return st;
    st = measure(d, &e, &out);
    rf_experiment_end(&e);
    if (st == RF_OK)
        st = record(d, &out);
    if (st == RF_OK && d->done && d->done(d->user, &out) != 0)
        st = rf_fail(d->err, RF_ERR_STOPPED, 0, "the lab was stopped");
    return st;
}

rf_status rf_lab_discover(const rf_lab_options *options, rf_train_progress progress,
                          rf_discovery_done done, void *user, rf_error *err)
{
    rf_error local = {0};
    discovering d = {.done = done, .user = user, .err = err ? err : &local};
    rf_text_init(&d.lines, (size_t)64 << 20, "results");
    rf_status st = rf_plan_make(&d.plan, options, d.err);
    if (st == RF_OK)
        st = rf_lab_context_open(&d.context, options, progress, user, d.err);
    if (st == RF_OK)
        st = rf_dir_make(d.context.cache, d.err);
    for (size_t i = 0; i < d.plan.n && st == RF_OK; i++)
        st = run_one(&d, &d.plan.runs[i]);
    rf_lab_context_close(&d.context);
    rf_plan_release(&d.plan);
    rf_text_release(&d.lines);
    return st;
}
