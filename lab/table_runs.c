/* table_runs.c - finds runs, means, published numbers and names for tables and page */
#include "lab/table.h"

#include "lab/lab_settings.h"
#include "methods/methods.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures of a run -------------------------------------------------------------- */

static const struct {
    const char *name, *title;
} metrics[] = {
    [RF_ACCURACY] = {"accuracy", "Acc"},
    [RF_F1] = {"f1", "F1"},
    [RF_F1_KNOWN] = {"f1_known", "F1-known"},
    [RF_F1_OPEN] = {"f1_open", "F1-open"},
    [RF_CLOSED] = {"closed", "closed"},
    [RF_AUROC] = {"auroc", "AUROC"},
    [RF_BEST_F1] = {"best_f1", "best F1"},
    [RF_BEST_ACCURACY] = {"best_accuracy", "best Acc"},
};

const char *rf_metric_name(rf_metric metric)
{
    return metrics[metric].name;
}

const char *rf_metric_title(rf_metric metric)
{
    return metrics[metric].title;
}

double rf_metric_of(const rf_run *run, rf_metric metric)
{
    switch (metric) {
    case RF_ACCURACY: return run->accuracy;
    case RF_F1: return run->f1;
    case RF_F1_KNOWN: return run->f1_known;
    case RF_F1_OPEN: return run->f1_open;
    case RF_CLOSED: return run->closed;
    case RF_AUROC: return run->auroc;
    case RF_BEST_F1: return run->best_f1;
    case RF_BEST_ACCURACY: break;
    }
    return run->best_accuracy;
}

/* ---- Matching runs ----------------------------------------------------------------- */

bool rf_lab_matches(const rf_run *run, const rf_place *place)
{
    return (!place->set || strcmp(place->set, run->set) == 0) &&
           (place->ratio == 0.0 || place->ratio == run->ratio) &&
           (!place->method || strcmp(place->method, run->method) == 0) &&
           (!place->variant || strcmp(place->variant, run->variant) == 0);
}

size_t rf_lab_count(const rf_lab *lab, const rf_place *place)
{
    size_t n = 0;
    for (size_t i = 0; i < lab->n; i++)
        n += rf_lab_matches(&lab->runs[i], place);
    return n;
}

rf_record rf_lab_mean(const rf_lab *lab, const rf_place *place, rf_metric metric)
{
    size_t n = 0;
    for (size_t i = 0; i < lab->n; i++) {
        double value = rf_metric_of(&lab->runs[i], metric);
        if (value >= 0.0 && rf_lab_matches(&lab->runs[i], place))
            lab->values[0][n++] = value;
    }
    rf_summary s = rf_summarize(lab->values[0], n);
    return (rf_record){.set = place->set,
                       .method = place->method,
                       .variant = place->variant,
                       .source = RF_MEASURED,
                       .metric = rf_metric_name(metric),
                       .ratio = place->ratio,
                       .n = n,
                       .value = s.mean,
                       .has_spread = n >= 2,
                       .sd = s.sd,
                       .low = s.low,
                       .high = s.high};
}

/* ---- Published numbers ------------------------------------------------------------- */

const rf_published *rf_lab_published(const rf_lab *lab, const char *source,
                                     const rf_place *place, const char *metric)
{
    return rf_published_find(lab->published, lab->n_published, source, place->set,
                             place->ratio, place->method, place->variant, metric);
}

rf_record rf_published_record(const rf_published *p)
{
    return (rf_record){.set = p->set,
                       .method = p->method,
                       .variant = p->variant,
                       .source = p->source,
                       .metric = p->metric,
                       .encoder = "bert-base-uncased",
                       .ratio = p->ratio,
                       .value = p->value};
}

const char *rf_source_title(const char *source)
{
    return strncmp(source, "ans-", 4) == 0 ? "ANS paper" : "TEXTOIR";
}

void rf_lab_note(const rf_lab *lab)
{
    bool same = strstr(lab->encoder, "bert-base-uncased") != NULL;
    rf_sheet_paragraph(
        lab->sheet,
        "Measured: n seeds, encoder %s. Published (ANS paper, TEXTOIR): encoder "
        "BERT-base-uncased%s. minilm and gte-small were trained on Stack Exchange among "
        "other data, BERT-base was not: do not compare them on stackoverflow.",
        lab->encoder,
        same ? "" : "; the encoders differ, so not every difference is the method's");
}

void rf_lab_contradictions(const rf_lab *lab)
{
    rf_sheet_paragraph(
        lab->sheet,
        "The ANS paper contradicts itself: its F1 of ans does not follow from its "
        "F1-known and F1-open on banking (25 %%: 76.15 printed, 73.00 implied; also "
        "50 %% and 75 %%) and on oos at 75 %%. Its table 3 has 80.11 and 73.35 for "
        "banking at 25 %%, its main table 83.93 and 76.15.");
}

/* ---- Names and ratios -------------------------------------------------------------- */

static const char *const ablation_order[] = {"ablation=baseline", "ablation=noise",
                                             "ablation=projection", "ablation=ascent"};

static size_t place_in(const char *const *list, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(list[i], name) != 0)
        i++;
    return i;
}

/* Methods in the order of their list; one that is only published comes before those with
 * a network per class. */
static size_t rank_of(const char *name)
{
    size_t m = sizeof ablation_order / sizeof ablation_order[0], ours = 0;
    size_t step = place_in(ablation_order, m, name);
    const rf_method *const *all = rf_methods();
    if (step < m)
        return step;
    while (all[ours] && !all[ours]->trains_by_class)
        ours++;
    for (size_t i = 0; all[i]; i++)
        if (strcmp(all[i]->name, name) == 0)
            return i < ours ? i : i + 1;
    return ours;
}

bool rf_variant_value(const char *variant, double *value)
{
    const char *text = strchr(variant, '=');
    char *end;
    if (!text)
        return false;
    *value = strtod(text + 1, &end);
    return end > text + 1 && *end == '\0' && isfinite(*value);
}

bool rf_variant_lognormal(const char *variant, double *median, double *spread)
{
    return strncmp(variant, "rows=", 5) == 0 &&
           rf_lab_lognormal(variant + 5, median, spread);
}

/* Draws of uneven rows by spread, then median, before other words. */
static int by_draw(const char *a, const char *b)
{
    double m[2], s[2];
    bool draw_a = rf_variant_lognormal(a, &m[0], &s[0]);
    bool draw_b = rf_variant_lognormal(b, &m[1], &s[1]);
    if (!draw_a || !draw_b)
        return draw_b - draw_a;
    return s[0] != s[1] ? (s[0] < s[1] ? -1 : 1) : (m[0] > m[1]) - (m[0] < m[1]);
}

/* Variants of one setting by value, numbers first: radius=8, radius=16, radius=own. */
static int by_value(const char *a, const char *b)
{
    size_t name = strcspn(a, "=");
    double x, y;
    if (name != strcspn(b, "=") || strncmp(a, b, name) != 0)
        return strcmp(a, b);
    bool has_x = rf_variant_value(a, &x), has_y = rf_variant_value(b, &y);
    if (has_x != has_y)
        return has_x ? -1 : 1;
    if (has_x && x != y)
        return x < y ? -1 : 1;
    int draws = by_draw(a, b);
    return draws ? draws : strcmp(a, b);
}

static int by_rank(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t i = rank_of(x), j = rank_of(y);
    return i != j ? (i < j ? -1 : 1) : by_value(x, y);
}

static void add_name(rf_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->item[i], name) == 0)
            return;
    names->item[names->n++] = name;
}

static bool has_source(const rf_published *p, const char *const *sources)
{
    for (; sources && *sources; sources++)
        if (strcmp(*sources, p->source) == 0)
            return true;
    return false;
}

static bool published_at(const rf_published *p, const rf_place *place)
{
    return (!place->set || strcmp(place->set, p->set) == 0) &&
           (place->ratio == 0.0 || place->ratio == p->ratio) &&
           (!place->method || strcmp(place->method, p->method) == 0) &&
           (!place->variant || strcmp(place->variant, p->variant) == 0);
}

void rf_lab_names(const rf_lab *lab, rf_names *names, rf_name_kind kind,
                  const rf_place *place, const char *const *sources)
{
    size_t most = lab->n + (sources ? lab->n_published : 0);
    *names = (rf_names){calloc(most ? most : 1, sizeof(const char *)), 0};
    if (!names->item) {
        lab->sheet->status =
            rf_fail_nomem(lab->sheet->err, most * sizeof(const char *), "names");
        return;
    }
    for (size_t i = 0; i < lab->n; i++) {
        const rf_run *r = &lab->runs[i];
        if (rf_lab_matches(r, place))
            add_name(names, kind == RF_SETS      ? r->set
                            : kind == RF_METHODS ? r->method
                                                 : r->variant);
    }
    for (size_t i = 0; sources && i < lab->n_published; i++) {
        const rf_published *p = &lab->published[i];
        if (has_source(p, sources) && published_at(p, place))
            add_name(names, kind == RF_SETS      ? p->set
                            : kind == RF_METHODS ? p->method
                                                 : p->variant);
    }
    qsort(names->item, names->n, sizeof(const char *), by_rank);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *rf_lab_ratios(const rf_lab *lab, const rf_place *place, size_t *n)
{
    double *ratios = calloc(lab->n ? lab->n : 1, sizeof *ratios);
    size_t all = 0;
    *n = 0;
    if (!ratios) {
        lab->sheet->status =
            rf_fail_nomem(lab->sheet->err, lab->n * sizeof *ratios, "ratios");
        return NULL;
    }
    for (size_t i = 0; i < lab->n; i++)
        if (rf_lab_matches(&lab->runs[i], place))
            ratios[all++] = lab->runs[i].ratio;
    qsort(ratios, all, sizeof *ratios, by_size);
    for (size_t i = 0; i < all; i++)
        if (*n == 0 || ratios[*n - 1] != ratios[i])
            ratios[(*n)++] = ratios[i];
    return ratios;
}

char *rf_percent_text(double ratio, char out[RF_RATIO_TEXT])
{
    snprintf(out, RF_RATIO_TEXT, "%.4g %%", 100.0 * ratio);
    return out;
}
