/* model_report.c - rf_report_model: a page about a model and a test set */
#include "report/model_report.h"

#include "base/options.h"
#include "map/tsne.h"

#include <stdio.h>
#include <stdlib.h>

void rf_report_options_init(rf_report_options *options, size_t struct_size)
{
    const rf_report_options defaults = {.max_points = 10000};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

static int show_map_progress(void *user, size_t done, size_t total)
{
    const rf_report_options *o = user;
    char line[80];
    snprintf(line, sizeof line, "drawing the map: %zu %%", 100 * done / total);
    return o->progress ? o->progress(o->user, line) : 0;
}

static rf_status draw_map(rf_report *r, const rf_report_options *o, size_t threads,
                          rf_error *err)
{
    rf_tsne_options t = rf_tsne_options_default();
    t.seed = o->seed;
    t.progress = show_map_progress;
    t.user = (void *)(uintptr_t)o;
    r->map = malloc((2 * r->a.n_sampled + 1) * sizeof *r->map);
    if (!r->map)
        return rf_fail_nomem(err, 2 * r->a.n_sampled * sizeof *r->map, "a map");
    rf_team *team = rf_team_new(threads, err);
    if (!team)
        return err->code;
    rf_status st =
        rf_tsne(r->map, r->a.features, r->a.n_sampled, r->a.width, &t, team, err);
    rf_team_free(team);
    return st;
}

static rf_status gather_report(rf_report *r, const rf_report_options *o, rf_error *err)
{
    size_t threads = o->threads ? o->threads : rf_cpu_count();
    rf_status st = rf_answers_init(&r->a, r->model, r->data, o, threads, err);
    if (st != RF_OK)
        return st;
    r->names = calloc(r->a.classes + 1, sizeof *r->names);
    if (!r->names)
        return rf_fail_nomem(err, r->a.classes * sizeof *r->names,
                             "the names of classes");
    for (size_t i = 0; i <= r->a.classes; i++)
        r->names[i] = rf_model_label(r->model, i < r->a.classes ? i : RF_OPEN);
    r->open = r->a.score.n_open;
    r->known = r->a.n - r->open;
    return draw_map(r, o, threads, err);
}

static rf_status put_sections(rf_report *r, rf_error *err)
{
    rf_status (*const parts[])(rf_report *, rf_error *) = {
        rf_report_figures, rf_report_margins,    rf_report_reliability, rf_report_map,
        rf_report_classes, rf_report_confusions, rf_report_examples,    rf_report_facts};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        rf_status st = parts[i](r, err);
        if (st != RF_OK)
            return st;
    }
    return RF_OK;
}

rf_status rf_report_model(const rf_model *model, const rf_dataset *test,
                          const rf_report_options *options, const char *path,
                          rf_error *err)
{
    rf_error local = {0};
    rf_report_options o = rf_report_options_default();
    rf_report r = {.model = model, .data = test};
    err = err ? err : &local;
    rf_page_init(&r.page);
    rf_status st = rf_options_take(&o, sizeof o, options, "rf_report_options", err);
    if (st == RF_OK)
        st = gather_report(&r, &o, err);
    if (st == RF_OK) {
        rf_page_begin(&r.page, o.title ? o.title : "Report of a classifier",
                      "ringfence report");
        rf_report_verdict(&r);
        st = put_sections(&r, err);
    }
    if (st == RF_OK) {
        rf_page_add(&r.page, "<footer>Made by ringfence " RF_VERSION
                             ". This page is self-contained and makes no network "
                             "requests. It contains texts of the test set.</footer>\n");
        rf_page_end(&r.page);
        st = rf_page_write(&r.page, path, err);
    }
    rf_page_release(&r.page);
    rf_answers_release(&r.a);
    free(r.map);
    free(r.names);
    return st;
}
