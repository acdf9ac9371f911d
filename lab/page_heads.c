/*
 * page_heads.c - the lab page's maps of three heads, as in the paper's t-SNE figure
 *
 * A head separates its class from everything else in its second hidden layer. Each map
 * shows that layer for test texts of the class, of other known classes and of none, and
 * for synthetic negatives generated for the trained head.
 */
#include "lab/lab_page.h"

#include "lab/head_view.h"
#include "map/tsne.h"
#include "methods/methods.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADS 3
#define MAX_POINTS 600 /* of a kind */
#define WIDEN 1.6      /* figure width / map width: room for the inset */

typedef struct head_maps {
    rf_lab_page *r;
    rf_lab_options lab;
    rf_lab_context context;
    rf_experiment experiment;
    rf_model *model;
    const rf_run *run;  /* of this experiment; NULL: it was not run */
    const char **names; /* labels of the test file, then "accepted" and "rejected" */
    size_t n_labels;
    size_t heads[HEADS], n_heads;
    size_t drawn; /* number of heads drawn */
} head_maps;

/* ---- Progress ---------------------------------------------------------------------- */

static int show_progress(const head_maps *g, const char *what, size_t done, size_t total)
{
    const rf_lab_report_options *o = g->r->o;
    char line[160];
    snprintf(line, sizeof line, "maps of heads, %.60s: %s %.0f %%", g->context.set_name,
             what, total ? 100 * (double)done / (double)total : 0);
    return o->progress ? o->progress(o->user, line) : 0;
}

static int training_event(void *user, const rf_train_event *e)
{
    static const char *const stages[] = {"encoding", "stage 1", "features", "heads",
                                         "folds"};
    return show_progress(user, stages[e->stage], e->done, e->total);
}

static int map_event(void *user, size_t done, size_t total)
{
    const head_maps *g = user;
    char what[32];
    snprintf(what, sizeof what, "map %zu of %zu", g->drawn + 1, g->n_heads);
    return show_progress(g, what, done, total);
}

/* ---- Which experiment, which heads ------------------------------------------------- */

static bool is_candidate(const rf_run *run, const char *set, double ratio)
{
    return strcmp(run->method, "ans") == 0 && run->variant[0] == '\0' &&
           (!set || strcmp(run->set, set) == 0) && (ratio == 0 || run->ratio == ratio);
}

/* The first matching run of ans; NULL or 0 matches all. Runs are sorted by set, ratio and
 * seed. */
static const rf_run *find_run(const rf_lab *lab, const char *set, double ratio,
                              const uint64_t *seed)
{
    for (size_t i = 0; i < lab->n; i++)
        if (is_candidate(&lab->runs[i], set, ratio) &&
            (!seed || lab->runs[i].seed == *seed))
            return &lab->runs[i];
    return NULL;
}

/* As requested, else the default, else the first one that was run. */
static void choose_experiment(head_maps *g, char set[64])
{
    const rf_lab_report_options *o = g->r->o;
    const rf_lab *lab = &g->r->lab;
    const rf_run *any = find_run(lab, o->set ? o->set : "oos", 0, NULL);
    if (!any && !o->set)
        any = find_run(lab, NULL, 0, NULL);
    snprintf(set, 64, "%s", o->set ? o->set : any ? any->set : lab->runs[0].set);
    double ratio = o->ratio;
    if (ratio == 0)
        ratio = find_run(lab, set, 0.25, NULL) || !any ? 0.25 : any->ratio;
    g->run = find_run(lab, set, ratio, &o->seed);
    if (!g->run && o->seed == 0)
        g->run = find_run(lab, set, ratio, NULL);
    g->experiment = (rf_experiment){.ratio = ratio,
                                    .seed = g->run ? g->run->seed : o->seed,
                                    .method = rf_method_find("ans"),
                                    .variant = ""};
    g->lab = rf_lab_options_default();
    g->lab.data = o->data;
    g->lab.out = g->r->dir;
    g->lab.encoder = lab->encoder;
    g->lab.threads = o->threads;
    const json_t *tokens =
        json_object_get(g->run ? g->run->settings : NULL, "max_tokens");
    if (json_integer_value(tokens) > 0)
        g->lab.max_tokens = (size_t)json_integer_value(tokens);
}

/* Confusions between a class and open, among those listed in the run. */
static json_int_t confused_with_open(const rf_run *run, const char *label)
{
    json_int_t n = 0;
    for (size_t i = 0; run && i < json_array_size(run->confusions); i++) {
        const json_t *item = json_array_get(run->confusions, i);
        const char *truth = json_string_value(json_array_get(item, 0));
        const char *answer = json_string_value(json_array_get(item, 1));
        if (truth && answer &&
            ((strcmp(truth, label) == 0 && strcmp(answer, "open") == 0) ||
             (strcmp(truth, "open") == 0 && strcmp(answer, label) == 0)))
            n += json_integer_value(json_array_get(item, 2));
    }
    return n;
}

/* The heads with the most such confusions; without a run, the first heads. */
static void choose_heads(head_maps *g)
{
    const rf_split *split = &g->experiment.split;
    g->n_heads = split->classes < HEADS ? split->classes : HEADS;
    for (size_t h = 0; h < g->n_heads; h++) {
        json_int_t most = -1;
        for (size_t c = 0; c < split->classes; c++) {
            bool taken = false;
            for (size_t k = 0; k < h; k++)
                taken |= g->heads[k] == c;
            json_int_t n = taken ? -1 : confused_with_open(g->run, split->label[c]);
            if (n > most) {
                most = n;
                g->heads[h] = c;
            }
        }
    }
}

/* ---- A map ------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The range of the class's own texts on one axis, without a tenth at either end. */
static bool own_range(const rf_head_view *q, const double *map, size_t axis,
                      double *scratch, double range[2])
{
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        if (q->kind[i] == RF_VIEW_OWN)
            scratch[n++] = map[2 * i + axis];
    if (!n)
        return false;
    qsort(scratch, n, sizeof *scratch, by_value);
    range[0] = scratch[n / 10];
    range[1] = scratch[n - 1 - n / 10];
    return true;
}

typedef struct extent {
    double x0, x1, y0, y1;
} extent;

static extent extent_of(const double *map, size_t n)
{
    extent e = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        e.x0 = fmin(e.x0, map[2 * i]);
        e.x1 = fmax(e.x1, map[2 * i]);
        e.y0 = fmin(e.y0, map[2 * i + 1]);
        e.y1 = fmax(e.y1, map[2 * i + 1]);
    }
    return e;
}

/* A square around the class's own texts, enlarged beside the map. False if it would cover
 * half of the map or more. */
static bool make_inset(const rf_head_view *q, const double *map, double *scratch,
                       const extent *e, rf_inset *in)
{
    double x[2], y[2], size = fmax(e->x1 - e->x0, e->y1 - e->y0);
    if (!own_range(q, map, 0, scratch, x) || !own_range(q, map, 1, scratch, y))
        return false;
    double half = 0.6 * fmax(fmax(x[1] - x[0], y[1] - y[0]), 0.08 * size);
    double cx = (x[0] + x[1]) / 2, cy = (y[0] + y[1]) / 2;
    if (!(size > 0) || 2 * half > 0.5 * size)
        return false;
    /* The inset takes most of the strip of width (WIDEN - 1) / WIDEN beside the map. */
    double share = 0.9 * (WIDEN - 1) / WIDEN;
    double aspect = WIDEN * (e->x1 - e->x0) / fmax(e->y1 - e->y0, size / 4);
    *in = (rf_inset){.x0 = cx - half,
                     .x1 = cx + half,
                     .y0 = cy - half,
                     .y1 = cy + half,
                     .left = 1 - share - 0.02,
                     .width = share,
                     .height = fmin(share * aspect, 1)};
    in->top = (1 - in->height) / 2;
    return true;
}

static void put_point(const head_maps *g, const rf_head_view *q, size_t i, rf_map_mark *m)
{
    static const char synthetic[] = "a synthetic negative";
    const rf_dataset *test = g->context.set.data[RF_LAB_TEST];
    m->series = q->kind[i];
    m->answer = g->n_labels + (q->margin[i] >= 0 ? 0 : 1);
    m->confidence = -1;
    if (q->kind[i] == RF_VIEW_SYNTHETIC) {
        m->text = synthetic;
        m->len = sizeof synthetic - 1;
        m->truth = SIZE_MAX;
    } else {
        m->text = rf_dataset_text(test, q->row[i], &m->len);
        m->truth = rf_dataset_class(test, q->row[i]);
    }
}

/* points has room for one more. The extra point belongs to no series, so it is not drawn,
 * but it widens the figure for the inset. */
static void put_map(const head_maps *g, const rf_head_view *q, const double *map,
                    rf_map_mark *points, const rf_inset *in, double right)
{
    static const rf_map_series series[RF_VIEW_KINDS] = {
        [RF_VIEW_OWN] = {"texts of the class", 0},
        [RF_VIEW_OTHER] = {"other known classes", 2},
        [RF_VIEW_OPEN] = {"open texts", 1},
        [RF_VIEW_SYNTHETIC] = {"synthetic negatives", 8}};
    char title[RF_MAX_LABEL_BYTES + 64];
    for (size_t i = 0; i < q->n; i++) {
        points[i].x = map[2 * i];
        points[i].y = map[2 * i + 1];
        put_point(g, q, i, &points[i]);
    }
    points[q->n] = (rf_map_mark){
        .x = in ? right : map[0], .y = map[1], .series = SIZE_MAX, .text = ""};
    snprintf(title, sizeof title, "What the head of %s sees", q->label);
    rf_svg_map(
        &g->r->page,
        &(rf_map_chart){.title = title,
                        .description =
                            "Map of the head's hidden features: texts of the class, "
                            "of other known classes, open texts and synthetic "
                            "negatives, with an enlarged view of the class beside it.",
                        .points = points,
                        .n_points = q->n + 1,
                        .series = series,
                        .n_series = RF_VIEW_KINDS,
                        .names = g->names,
                        .n_names = g->n_labels + 2,
                        .inset = in});
}

/* "This head accepts 38 of 40 texts of the class, ..." */
static void put_counts(rf_page *p, const rf_head_view *q)
{
    static const char *const names[RF_VIEW_KINDS] = {"texts of the class",
                                                     "texts of other known classes",
                                                     "open texts", "synthetic negatives"};
    size_t all[RF_VIEW_KINDS] = {0}, in[RF_VIEW_KINDS] = {0};
    for (size_t i = 0; i < q->n; i++) {
        all[q->kind[i]]++;
        in[q->kind[i]] += q->margin[i] >= 0;
    }
    rf_page_add(p, "<p class=\"note\">This head accepts ");
    for (size_t k = 0; k < RF_VIEW_KINDS; k++)
        rf_page_addf(p, "%s%zu of %zu %s", k ? k == 3 ? " and " : ", " : "", in[k],
                     all[k], names[k]);
    rf_page_add(p, " shown.</p>\n");
}

static rf_status put_head_map(head_maps *g, const rf_head_view *q, double *map,
                              double *scratch, rf_map_mark *points, rf_error *err)
{
    rf_tsne_options t = rf_tsne_options_default();
    rf_inset in;
    t.progress = map_event;
    t.user = g;
    rf_status st = rf_tsne(map, q->h, q->n, q->width, &t, g->context.team, err);
    if (st != RF_OK)
        return st;
    extent e = extent_of(map, q->n);
    bool has = make_inset(q, map, scratch, &e, &in);
    rf_page_add(&g->r->page, "<h3>");
    rf_lab_name(&g->r->page, q->label);
    rf_page_add(&g->r->page, "</h3>\n");
    put_map(g, q, map, points, has ? &in : NULL, e.x0 + WIDEN * (e.x1 - e.x0));
    put_counts(&g->r->page, q);
    return RF_OK;
}

static rf_status put_head(head_maps *g, size_t class_index, rf_error *err)
{
    rf_head_view q;
    rf_status st =
        rf_head_view_make(&q, &g->experiment, g->model, class_index, MAX_POINTS, err);
    if (st != RF_OK)
        return st;
    double *map = calloc(2 * q.n + 1, sizeof *map);
    double *scratch = calloc(q.n + 1, sizeof *scratch);
    rf_map_mark *points = calloc(q.n + 1, sizeof *points);
    st = map && scratch && points && q.n
             ? put_head_map(g, &q, map, scratch, points, err)
             : rf_fail_nomem(err, q.n * sizeof *points, "the map of a head");
    free(points);
    free(scratch);
    free(map);
    rf_head_view_release(&q);
    g->drawn++;
    return st;
}

/* ---- The section ------------------------------------------------------------------- */

static void put_lead(const head_maps *g)
{
    rf_page *p = &g->r->page;
    rf_lab_section(
        g->r, "What three heads see",
        "Each class has a small network of its own, its head. These maps show the "
        "head&#39;s second hidden layer: points that the head sees as similar lie close "
        "together; distances between separate groups mean nothing. Synthetic negatives "
        "are generated around the class&#39;s own texts, and the head learns to reject "
        "them. The area around the class is enlarged beside each map. "
        "<span class=\"screen\">Point at a text to read it.</span>");
    rf_page_add(p, "<p class=\"note\">Heads of ");
    rf_lab_name(p, g->context.set_name);
    rf_page_add(p, ", ");
    rf_lab_percent(p, g->experiment.ratio);
    rf_page_addf(p, " known, seed %llu; ", (unsigned long long)g->experiment.seed);
    rf_page_add(p, g->run && json_array_size(g->run->confusions)
                       ? "those most often confused with open."
                       : "the first ones.");
    rf_page_addf(p, " At most %d points of each kind.</p>\n", MAX_POINTS);
}

static rf_status put_heads(head_maps *g, rf_error *err)
{
    const rf_dataset *test = g->context.set.data[RF_LAB_TEST];
    rf_status st = RF_OK;
    g->n_labels = rf_dataset_classes(test);
    g->names = calloc(g->n_labels + 2, sizeof *g->names);
    if (!g->names)
        return rf_fail_nomem(err, g->n_labels * sizeof *g->names, "labels");
    for (size_t i = 0; i < g->n_labels; i++)
        g->names[i] = rf_dataset_label(test, i, NULL);
    g->names[g->n_labels] = "accepted by this head";
    g->names[g->n_labels + 1] = "rejected by this head";
    choose_heads(g);
    put_lead(g);
    for (size_t h = 0; h < g->n_heads && st == RF_OK; h++)
        st = put_head(g, g->heads[h], err);
    rf_page_section_end(&g->r->page);
    return st;
}

rf_status rf_lab_heads(rf_lab_page *r, rf_error *err)
{
    head_maps g = {.r = r};
    char set[64];
    if (!r->o->data) {
        rf_lab_section(r, "What three heads see", NULL);
        rf_page_add(&r->page,
                    "<p class=\"note\">Maps of single heads need the texts: run "
                    "<code>ringfence lab report</code> with <code>--data</code> to add "
                    "them.</p>\n");
        rf_page_section_end(&r->page);
        return RF_OK;
    }
    choose_experiment(&g, set);
    rf_status st = rf_lab_context_open(&g.context, &g.lab, training_event, &g, err);
    rf_settings_take_json(&g.context.settings, g.run ? g.run->settings : NULL);
    if (st == RF_OK)
        st = rf_lab_context_use(&g.context, set, err);
    if (st == RF_OK)
        st = rf_experiment_begin(&g.context, &g.experiment, err);
    if (st == RF_OK) {
        g.model = rf_experiment_fit(&g.context, &g.experiment, err);
        st = g.model ? put_heads(&g, err) : err->code;
        rf_model_free(g.model);
        rf_experiment_end(&g.experiment);
    }
    free(g.names);
    rf_lab_context_close(&g.context);
    return st;
}
