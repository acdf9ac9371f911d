/*
 * lab_portraits.c - what three heads see (the paper's t-SNE figure)
 *
 * A head's second hidden layer is where its class is told from everything else. Each map
 * shows it for the test texts of the class, of other known classes, of none, and for the
 * synthetic negatives that the trained head would be given.
 */
#include "report/lab_report.h"

#include "lab/portrait.h"
#include "report/lab_settings.h"
#include "map/tsne.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADS 3
#define MOST_POINTS 600 /* of a kind */
#define ROOM 1.6 /* width of the figure by that of the map: the inset is beside it */

typedef struct gallery {
    rf_lab_page *r;
    rf_lab_options lab;
    rf_desk desk;
    rf_trial trial;
    rf_model *model;
    const rf_run *run;  /* the experiment; NULL: it is not among the runs */
    const char **names; /* of the test file's labels, then two of ours */
    size_t n_labels;
    size_t heads[HEADS], n_heads;
    size_t drawn; /* heads so far */
} gallery;

/* ---- Progress ---------------------------------------------------------------------- */

static int tell(const gallery *g, const char *what, size_t done, size_t total)
{
    const rf_lab_report_options *o = g->r->o;
    char line[160];
    snprintf(line, sizeof line, "portraits of %.60s: %s %.0f %%", g->desk.set, what,
             total ? 100 * (double)done / (double)total : 0);
    return o->progress ? o->progress(o->user, line) : 0;
}

static int training_event(void *user, const rf_train_event *e)
{
    static const char *const stages[] = {"encoding", "stage 1", "features", "heads",
                                         "folds"};
    return tell(user, stages[e->stage], e->done, e->total);
}

static int map_event(void *user, size_t done, size_t total)
{
    const gallery *g = user;
    char what[32];
    snprintf(what, sizeof what, "map %zu of %zu", g->drawn + 1, g->n_heads);
    return tell(g, what, done, total);
}

/* ---- Which experiment, which heads ------------------------------------------------- */

static bool is_wanted(const rf_run *run, const char *set, double ratio)
{
    return strcmp(run->method, "ans") == 0 && run->variant[0] == '\0' &&
           (!set || strcmp(run->set, set) == 0) && (ratio == 0 || run->ratio == ratio);
}

/* The first run of ans that suits, by set, ratio and seed; runs are in that order. */
static const rf_run *find_run(const rf_lab *lab, const char *set, double ratio,
                              const uint64_t *seed)
{
    for (size_t i = 0; i < lab->n; i++)
        if (is_wanted(&lab->runs[i], set, ratio) && (!seed || lab->runs[i].seed == *seed))
            return &lab->runs[i];
    return NULL;
}

/* What was asked for, else what is usual, else what is there. */
static void choose_experiment(gallery *g, char set[64])
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
    g->trial = (rf_trial){.ratio = ratio,
                          .seed = g->run ? g->run->seed : o->seed,
                          .method = rf_method_find("ans"),
                          .variant = ""};
    g->lab = rf_lab_options_default();
    g->lab.data = o->data;
    g->lab.out = g->r->dir;
    g->lab.encoder = lab->encoder;
    g->lab.threads = o->threads;
    if (g->run && g->run->settings)
        rf_lab_settings(g->run->settings, &g->lab);
}

/* Texts that a class and open were mistaken for each other, as far as the run tells. */
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

/* The heads with most of them, or the first ones. */
static void choose_heads(gallery *g)
{
    const rf_split *split = &g->trial.split;
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

/* Where the class's own texts are, but for the outermost tenth on either side. */
static bool own_range(const rf_portrait *q, const double *map, size_t axis,
                      double *scratch, double range[2])
{
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        if (q->kind[i] == RF_PORTRAIT_OWN)
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

/* A square around them, to be drawn beside the map. False if it would enlarge nothing. */
static bool make_inset(const rf_portrait *q, const double *map, double *scratch,
                       const extent *e, rf_inset *in)
{
    double x[2], y[2], size = fmax(e->x1 - e->x0, e->y1 - e->y0);
    if (!own_range(q, map, 0, scratch, x) || !own_range(q, map, 1, scratch, y))
        return false;
    double half = 0.6 * fmax(fmax(x[1] - x[0], y[1] - y[0]), 0.08 * size);
    double cx = (x[0] + x[1]) / 2, cy = (y[0] + y[1]) / 2;
    if (!(size > 0) || 2 * half > 0.5 * size)
        return false;
    /* The strip is (ROOM - 1) / ROOM of the figure's width; the inset has most of it. */
    double share = 0.9 * (ROOM - 1) / ROOM;
    double aspect = ROOM * (e->x1 - e->x0) / fmax(e->y1 - e->y0, size / 4);
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

static void put_point(const gallery *g, const rf_portrait *q, size_t i, rf_map_mark *m)
{
    static const char synthetic[] = "a synthetic negative";
    const rf_dataset *test = g->desk.material.data[RF_LAB_TEST];
    m->series = q->kind[i];
    m->answer = g->n_labels + (q->margin[i] >= 0 ? 0 : 1);
    m->confidence = -1;
    if (q->kind[i] == RF_PORTRAIT_SYNTHETIC) {
        m->text = synthetic;
        m->len = sizeof synthetic - 1;
        m->truth = SIZE_MAX;
    } else {
        m->text = rf_dataset_text(test, q->row[i], &m->len);
        m->truth = rf_dataset_class(test, q->row[i]);
    }
}

/* points has room for one more: it is not shown, as no series has it, but the figure
 * reaches as far as it does. */
static void put_map(const gallery *g, const rf_portrait *q, const double *map,
                    rf_map_mark *points, const rf_inset *in, double right)
{
    static const rf_map_series series[RF_PORTRAIT_KINDS] = {
        [RF_PORTRAIT_OWN] = {"texts of the class", 0},
        [RF_PORTRAIT_OTHER] = {"other known classes", 2},
        [RF_PORTRAIT_OPEN] = {"open texts", 1},
        [RF_PORTRAIT_SYNTHETIC] = {"synthetic negatives", 8}};
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
                            "negatives; beside it the part around the class.",
                        .points = points,
                        .n_points = q->n + 1,
                        .series = series,
                        .n_series = RF_PORTRAIT_KINDS,
                        .names = g->names,
                        .n_names = g->n_labels + 2,
                        .inset = in});
}

/* "of 40 texts of the class it accepts 38": */
static void put_counts(rf_page *p, const rf_portrait *q)
{
    static const char *const names[RF_PORTRAIT_KINDS] = {
        "texts of the class", "of other known classes", "open texts",
        "synthetic negatives"};
    size_t all[RF_PORTRAIT_KINDS] = {0}, in[RF_PORTRAIT_KINDS] = {0};
    for (size_t i = 0; i < q->n; i++) {
        all[q->kind[i]]++;
        in[q->kind[i]] += q->margin[i] >= 0;
    }
    rf_page_add(p, "<p class=\"note\">This head accepts ");
    for (size_t k = 0; k < RF_PORTRAIT_KINDS; k++)
        rf_page_addf(p, "%s%zu of %zu %s", k ? k == 3 ? " and " : ", " : "", in[k],
                     all[k], names[k]);
    rf_page_add(p, " shown here.</p>\n");
}

static rf_status put_portrait(gallery *g, const rf_portrait *q, double *map,
                              double *scratch, rf_map_mark *points, rf_error *err)
{
    rf_tsne_options t = rf_tsne_options_default();
    rf_inset in;
    t.progress = map_event;
    t.user = g;
    rf_status st = rf_tsne(map, q->h, q->n, RF_HEAD_2, &t, g->desk.team, err);
    if (st != RF_OK)
        return st;
    extent e = extent_of(map, q->n);
    bool has = make_inset(q, map, scratch, &e, &in);
    rf_page_add(&g->r->page, "<h3>");
    rf_lab_name(&g->r->page, q->label);
    rf_page_add(&g->r->page, "</h3>\n");
    put_map(g, q, map, points, has ? &in : NULL, e.x0 + ROOM * (e.x1 - e.x0));
    put_counts(&g->r->page, q);
    return RF_OK;
}

static rf_status put_head(gallery *g, size_t class_index, rf_error *err)
{
    rf_portrait q;
    rf_status st =
        rf_portrait_make(&q, &g->trial, g->model, class_index, MOST_POINTS, err);
    if (st != RF_OK)
        return st;
    double *map = calloc(2 * q.n + 1, sizeof *map);
    double *scratch = calloc(q.n + 1, sizeof *scratch);
    rf_map_mark *points = calloc(q.n + 1, sizeof *points);
    st = map && scratch && points && q.n
             ? put_portrait(g, &q, map, scratch, points, err)
             : rf_fail_nomem(err, q.n * sizeof *points, "a portrait");
    free(points);
    free(scratch);
    free(map);
    rf_portrait_release(&q);
    g->drawn++;
    return st;
}

/* ---- The section ------------------------------------------------------------------- */

static void put_lead(const gallery *g)
{
    rf_page *p = &g->r->page;
    rf_lab_section(
        g->r, "What three heads see",
        "Every class has a small network of its own, its head. These maps show the "
        "head&#39;s second hidden layer: what it sees as alike lies near each "
        "other; distances between far groups mean nothing. Synthetic negatives "
        "are made around the class&#39;s own texts, and the head learns to "
        "refuse them. The part around the class is enlarged beside each map. "
        "<span class=\"screen\">Point at a text in the map to read it.</span>");
    rf_page_add(p, "<p class=\"note\">Heads of ");
    rf_lab_name(p, g->desk.set);
    rf_page_add(p, ", ");
    rf_lab_percent(p, g->trial.ratio);
    rf_page_addf(p, " known, seed %llu; ", (unsigned long long)g->trial.seed);
    rf_page_add(p, g->run && json_array_size(g->run->confusions)
                       ? "of all its heads those most often confused with open."
                       : "the first of them.");
    rf_page_addf(p, " At most %d points of a kind.</p>\n", MOST_POINTS);
}

static rf_status put_heads(gallery *g, rf_error *err)
{
    const rf_dataset *test = g->desk.material.data[RF_LAB_TEST];
    rf_status st = RF_OK;
    g->n_labels = rf_dataset_classes(test);
    g->names = calloc(g->n_labels + 2, sizeof *g->names);
    if (!g->names)
        return rf_fail_nomem(err, g->n_labels * sizeof *g->names, "labels");
    for (size_t i = 0; i < g->n_labels; i++)
        g->names[i] = rf_dataset_label(test, i, NULL);
    g->names[g->n_labels] = "accepted by this head";
    g->names[g->n_labels + 1] = "not accepted by this head";
    choose_heads(g);
    put_lead(g);
    for (size_t h = 0; h < g->n_heads && st == RF_OK; h++)
        st = put_head(g, g->heads[h], err);
    rf_page_section_end(&g->r->page);
    return st;
}

rf_status rf_lab_portraits(rf_lab_page *r, rf_error *err)
{
    gallery g = {.r = r};
    char set[64];
    if (!r->o->data) {
        rf_lab_section(r, "What three heads see", NULL);
        rf_page_add(&r->page,
                    "<p class=\"note\">Maps of what single heads see need the texts: "
                    "<code>ringfence lab report</code> with <code>--data</code> adds "
                    "them.</p>\n");
        rf_page_section_end(&r->page);
        return RF_OK;
    }
    choose_experiment(&g, set);
    rf_status st = rf_desk_open(&g.desk, &g.lab, training_event, &g, err);
    if (st == RF_OK)
        st = rf_desk_take(&g.desk, set, err);
    if (st == RF_OK)
        st = rf_trial_begin(&g.desk, &g.trial, err);
    if (st == RF_OK) {
        g.model = rf_trial_fit(&g.desk, &g.trial, err);
        st = g.model ? put_heads(&g, err) : err->code;
        rf_model_free(g.model);
        rf_trial_end(&g.trial);
    }
    free(g.names);
    rf_desk_close(&g.desk);
    return st;
}
