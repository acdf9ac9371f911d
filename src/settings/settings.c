/*
 * settings.c - the table of settings: one row each, defined nowhere else
 *
 * To add one: a field in rf_settings, a row here, and the code that reads the field.
 * Files list settings in the order of the rows.
 */
#include "settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG 1e6

/* Start of a row: the section it belongs to. */
#define STAGE_1 .section = "known", .info.topic = "stage 1, the known classes"
#define STAGE_2                                                                          \
    .section = "open", .info.methods = "ans ovr",                                        \
    .info.topic = "stage 2, a head per class that accepts or rejects"
#define METHODS(list)                                                                    \
    .section = "method_options", .info.methods = (list),                                 \
    .info.topic = "methods other than ans and ovr"

/* The field with its default and its range. */
#define FIELD(type, field, value, from, to)                                              \
    .info.kind = (type), .info.name = #field, .offset = offsetof(rf_settings, field),    \
    .info.preset = (value), .info.min = (from), .info.max = (to)
#define COUNT(field, value, from, to) FIELD(RF_SETTING_COUNT, field, value, from, to)
#define NUMBER(field, value, from, to) FIELD(RF_SETTING_NUMBER, field, value, from, to)
#define FLAG(field, value) FIELD(RF_SETTING_FLAG, field, value, 0, 1)

/* The command-line option and its help text, without the default. */
#define OPTION(name, words) .info.option = (name), .info.help = (words)
#define HELP(words) .info.help = (words)
/* The default depends on the data or the method, as this text explains. */
#define AUTO(words) .info.automatic = (words)
#define COMMON .info.common = true

static const rf_setting_row rows[] = {
    {STAGE_1, COUNT(train_layers, 2, 0, 256), COMMON,
     OPTION("train-layers", "Upper layers of the encoder to tune; 0: none")},
    {STAGE_1, COUNT(epochs, 0, 1, BIG), AUTO("chosen from the number of rows"), COMMON,
     OPTION("epochs", "Passes over the data at most")},
    {STAGE_1, COUNT(batch, 0, 1, 65536), AUTO("64; 128 from 3200 rows on"),
     OPTION("batch", "Texts per step")},
    {STAGE_1, COUNT(patience, 0, 1, BIG), AUTO("chosen from the epochs"),
     OPTION("patience", "Stop after N epochs without a better dev accuracy")},
    {STAGE_1, NUMBER(encoder_rate, 1e-4, 0, 1),
     OPTION("encoder-rate", "Learning rate of the encoder's layers")},
    {STAGE_1, NUMBER(known_rate, 5e-4, 0, 1),
     OPTION("known-rate", "Learning rate of the classifier")},
    {STAGE_1, NUMBER(weight_decay, 0.01, 0, 1), HELP("Weight decay of matrices")},
    {STAGE_1, NUMBER(warmup, 0.1, 0, 1), HELP("Share of the steps with a rising rate")},
    {STAGE_1, NUMBER(dropout, 0.1, 0, 0.9), OPTION("dropout", "Dropout of stage 1")},
    {STAGE_1, FLAG(spelling, 1),
     OPTION("no-spelling",
            "Leave misspelt words as they are, not read as words of the training texts")},
    {STAGE_1, NUMBER(blend, 0.5, 0, 1), .info.methods = "ans ovr", .tuned = 1,
     OPTION("blend",
            "Share of what the tuned layers learnt that the features keep; 1: all")},

    {STAGE_2, COUNT(head_steps, 0, 1, 1e9), AUTO("600"), .key = "steps",
     OPTION("head-steps", "Steps per head")},
    {STAGE_2, COUNT(head_max_steps, 0, 1, 1e10), AUTO("three times head_steps"),
     .key = "max_steps", HELP("Steps of a head that falls short of target_recall")},
    {STAGE_2, COUNT(head_cool_steps, 0, 1, 1e9), AUTO("a quarter of head_steps"),
     .key = "cool_steps", HELP("Last steps of a head, at a falling rate")},
    {STAGE_2, COUNT(head_positives, 8, 1, 4096), .key = "positives",
     OPTION("positives", "Texts of the class per step")},
    {STAGE_2, COUNT(head_negatives, 64, 1, 65536), .key = "negatives",
     OPTION("negatives", "Texts of other classes per step")},
    {STAGE_2, NUMBER(head_rate, 3e-4, 1e-9, 1), .key = "rate",
     OPTION("head-rate", "Learning rate of the heads")},
    {STAGE_2, NUMBER(head_dropout, 0.1, 0, 0.9), .key = "dropout",
     OPTION("head-dropout", "Dropout of the heads")},
    {STAGE_2, NUMBER(lambda, 1, 0, BIG), .tuned = 3, .values = "0,0.25,0.5,1,2,4",
     .title = "Weight of synthetic negatives", .axis = "lambda",
     OPTION("lambda", "Weight of synthetic negatives; 0: plain one-versus-rest")},
    {STAGE_2, NUMBER(negative_weight, 0, 1e-7, BIG), .tuned = 2, .sweep = "weight",
     .title = "Weight of other classes' texts", .axis = "weight",
     AUTO("0.05 if a class has fewer than 80 rows on average, else 1"),
     OPTION("negative-weight", "Weight of other classes' texts")},
    {STAGE_2, NUMBER(rho, 1, 1e-7, BIG), .tuned = 4,
     .values = "0.25,0.5,0.75,1,1.25,1.5,2,3,4", .title = "Radius by average distance",
     .axis = "rho",
     OPTION("rho", "Radius of the shell of negatives, as a multiple of the average "
                   "distance within the class")},
    {STAGE_2, NUMBER(radius, 0, 0, BIG), AUTO("by rho"),
     .values = "1,2,4,8,16,32,64,128,256", .title = "Radius",
     .axis = "radius of the shell",
     OPTION("radius", "Radius of the shell, the same for every class")},
    {STAGE_2, NUMBER(gamma, 2, 1, BIG), .values = "1,1.25,1.5,2,3,4",
     .title = "Width of the shell", .axis = "gamma",
     OPTION("gamma", "The shell reaches from the radius to X times the radius")},
    {STAGE_2, NUMBER(target_recall, 0.95, 0, 1),
     HELP("Share of a class's texts that its head must accept, or it takes more steps")},
    {STAGE_2, FLAG(noise, 1),
     OPTION("no-noise", "Start a synthetic negative at the text itself, not beside it")},
    {STAGE_2, FLAG(projection, 1),
     OPTION("no-projection",
            "Leave synthetic negatives where noise and ascent put them")},
    {STAGE_2, COUNT(ascent_steps, 10, 0, 10000), .tuned = 6, .sweep = "k ascent",
     .values = "0,1,5,10,20,50", .title = "Ascent steps", .axis = "steps",
     OPTION("ascent-steps", "Steps that make a synthetic negative harder; 0: none")},
    {STAGE_2, NUMBER(ascent_rate, 0.02, 0, BIG), .sweep = "eta",
     .values = "0.005,0.01,0.02,0.05,0.1,0.2", .title = "Length of ascent steps",
     .axis = "eta, by radius",
     OPTION("ascent-rate", "Length of such a step, as a multiple of the radius")},
    {STAGE_2, NUMBER(positive_noise, -1, 0, 100), .tuned = 5, .sweep = "jitter",
     AUTO("1 up to 10 rows per class, falling to 0 at 80"),
     OPTION("positive-noise", "Move a class's texts by noise of so many standard "
                              "deviations while its head learns")},
    {STAGE_2, NUMBER(open_share, 0.5, 0.01, 0.99), .sweep = "share",
     .values = "0.25,0.4,0.5,0.6,0.75", .title = "Expected share of open texts",
     .axis = "share",
     OPTION("open-share",
            "Share of the texts in use that you expect to be open; the more, "
            "the stricter the fence")},
    {STAGE_2, NUMBER(fence_reject, 0, 1e-6, 1), .tuned = 7, .sweep = "reject",
     AUTO("0.1; 0.15 below 80 and from 200 rows per class on"),
     OPTION("fence-reject", "Loosen the fences until they reject at most this share of "
                            "the dev texts; 1: never")},
    {STAGE_2, NUMBER(fence_offset, 0, -BIG, BIG), .tuned = 8,
     OPTION("fence-offset", "Then add this to every margin; above 0 lets more in")},

    {METHODS("lof deepunk knncl knn"), COUNT(neighbours, 0, 1, BIG), AUTO("20; knn 10"),
     OPTION("neighbours", "neighbours")},
    {METHODS("lof deepunk knncl"), NUMBER(contamination, 0.05, 0, 0.5),
     OPTION("contamination", "share of training texts left outside")},
    {METHODS("knn mahalanobis nearest-text whitened-mean"), NUMBER(quantile, 0.95, 0, 1),
     OPTION("quantile", "share of dev texts inside")},
    {METHODS("msp msp-neg openmax"), NUMBER(threshold, 0.5, 0, 1),
     OPTION("threshold", "minimum probability of an answer")},
    {METHODS("doc"), NUMBER(doc_alpha, 3, 0, BIG),
     OPTION("doc-alpha", "standard deviations below 1 that are accepted")},
    {METHODS("openmax"), COUNT(tail, 20, 2, BIG),
     OPTION("tail", "largest distances that the fit sees")},
    {METHODS("openmax"), COUNT(ranks, 10, 1, BIG),
     OPTION("ranks", "most likely classes that are revised")},
    {METHODS("adb adb-neg da-adb"), COUNT(boundary_epochs, 100, 1, BIG),
     OPTION("boundary-epochs", "epochs of the boundaries at most")},
    {METHODS("adb adb-neg da-adb"), NUMBER(boundary_rate, 0.05, 1e-10, 10),
     OPTION("boundary-rate", "learning rate of the boundaries")},
    {METHODS("deepunk"), NUMBER(cosine_scale, 30, 1e-3, 1e4),
     OPTION("cosine-scale", "factor of the cosines")},
    {METHODS("deepunk"), NUMBER(cosine_margin, 0.35, 0, 2),
     OPTION("cosine-margin", "margin of the cosines")},
    {METHODS("convex selfsup knncl"), NUMBER(temperature, 0, 1e-6, BIG),
     AUTO("0.1; knncl 0.5"),
     OPTION("temperature", "temperature of the softmax, or of the similarities")},
    {METHODS("knncl"), COUNT(queue, 7500, 1, 1e9),
     OPTION("queue", "texts that are remembered")},
    {METHODS("knncl"), COUNT(top, 25, 1, BIG),
     OPTION("top", "nearest texts of the same class that attract")},
    {METHODS("knncl"), NUMBER(momentum, 0.999, 0, 1),
     OPTION("momentum", "momentum of the second encoder")},
    {METHODS("knncl"), NUMBER(contrast_weight, 0.1, 0, 1),
     OPTION("contrast-weight", "share of the contrastive loss")},
    {METHODS("msp-neg adb-neg"), COUNT(neg_ascent_steps, 0, 0, 1000),
     .key = "ascent_steps", .sweep = "k ascent",
     OPTION("neg-ascent-steps", "steps that make a negative harder")},
    {METHODS("msp-neg adb-neg"), NUMBER(neg_ascent_rate, 0.02, 0, BIG),
     .key = "ascent_rate", .sweep = "eta",
     OPTION("neg-ascent-rate", "length of such a step, by radius")},
    {METHODS("msp-neg adb-neg"), NUMBER(neg_rho, 1, 1e-7, BIG), .key = "rho",
     .sweep = "rho",
     OPTION("neg-rho", "radius as a multiple of the class's average distance")},
    {METHODS("msp-neg adb-neg"), NUMBER(neg_gamma, 2, 1, BIG), .key = "gamma",
     .sweep = "gamma", OPTION("neg-gamma", "outer by inner radius of the shell")},
    {METHODS("msp-neg adb-neg"), NUMBER(neg_radius, 0, 0, BIG), AUTO("by neg_rho"),
     .key = "radius", .sweep = "radius",
     OPTION("neg-radius", "radius of the shell, the same for every class")},
    {METHODS("doc openmax deepunk knncl"), FLAG(textoir, 0),
     OPTION("textoir", "do as the TEXTOIR code does where it differs from the papers "
                       "(docs/MODEL.md, \"Methods\")")},
};
#define N_ROWS (sizeof rows / sizeof *rows)

const rf_setting_row *rf_setting_rows(size_t *n)
{
    *n = N_ROWS;
    return rows;
}

const rf_setting *rf_setting_at(size_t i)
{
    return i < N_ROWS ? &rows[i].info : NULL;
}

/* ---- Names ------------------------------------------------------------------------- */

static bool same_name(const char *a, const char *name, size_t len)
{
    return strlen(a) == len && memcmp(a, name, len) == 0;
}

const rf_setting_row *rf_setting_find(const char *name, size_t len)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (same_name(rows[i].info.name, name, len))
            return &rows[i];
    return NULL;
}

bool rf_setting_answers(const rf_setting_row *row, const char *name, size_t len)
{
    for (const char *at = row->sweep; at && *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n == len && memcmp(at, name, len) == 0)
            return true;
        at += n;
    }
    return same_name(row->info.name, name, len);
}

const char *rf_setting_key(const rf_setting_row *row)
{
    return row->key ? row->key : row->info.name;
}

/* ---- Values ------------------------------------------------------------------------ */

static void store_value(rf_settings *s, const rf_setting_row *row, double v)
{
    void *at = (char *)s + row->offset;
    switch (row->info.kind) {
    case RF_SETTING_COUNT: *(size_t *)at = (size_t)v; break;
    case RF_SETTING_NUMBER: *(float *)at = (float)v; break;
    case RF_SETTING_FLAG: *(bool *)at = v != 0.0; break;
    }
}

rf_settings rf_settings_default(void)
{
    rf_settings s = {0};
    for (size_t i = 0; i < N_ROWS; i++)
        store_value(&s, &rows[i], rows[i].info.preset);
    return s;
}

double rf_setting_get(const rf_settings *s, const rf_setting_row *row)
{
    const void *at = (const char *)s + row->offset;
    switch (row->info.kind) {
    case RF_SETTING_COUNT: return (double)*(const size_t *)at;
    case RF_SETTING_NUMBER: return (double)*(const float *)at;
    case RF_SETTING_FLAG: return *(const bool *)at;
    }
    return 0.0;
}

/* Compares as floats, as they are stored: (float)0.9 is slightly less than 0.9.
 * Written so that a NaN fails. */
bool rf_setting_fits(const rf_setting_row *row, double v)
{
    const rf_setting *i = &row->info;
    if (i->automatic && v == i->preset)
        return true;
    if (i->kind != RF_SETTING_NUMBER)
        return v == floor(v) && v >= i->min && v <= i->max;
    return (float)v >= (float)i->min && (float)v <= (float)i->max;
}

static rf_status fail_range(const rf_setting_row *row, const char *as, const char *found,
                            rf_error *err)
{
    return rf_fail(err, RF_ERR_ARG, 0, "%s is %s, wanted %s%g to %g", as, found,
                   row->info.kind == RF_SETTING_NUMBER ? "" : "a whole number from ",
                   row->info.min, row->info.max);
}

rf_status rf_setting_set(rf_settings *s, const rf_setting_row *row, double v,
                         const char *as, rf_error *err)
{
    char found[32];
    if (rf_setting_fits(row, v)) {
        store_value(s, row, v);
        return RF_OK;
    }
    snprintf(found, sizeof found, "%g", v);
    return fail_range(row, as, found, err);
}

rf_status rf_setting_set_text(rf_settings *s, const rf_setting_row *row, const char *text,
                              const char *as, rf_error *err)
{
    char found[48], *end;
    if (row->info.automatic && strcmp(text, "auto") == 0) {
        store_value(s, row, row->info.preset);
        return RF_OK;
    }
    double v = strtod(text, &end);
    /* strtod also accepts " 1" and "0x1" */
    if (*text && *end == '\0' && !strpbrk(text, " \t\n\v\f\rxX"))
        return rf_setting_set(s, row, v, as, err);
    snprintf(found, sizeof found, "\"%.40s\"", text);
    return fail_range(row, as, found, err);
}

rf_status rf_settings_check(const rf_settings *s, rf_error *err)
{
    rf_settings copy;
    rf_status st = RF_OK;
    for (size_t i = 0; i < N_ROWS && st == RF_OK; i++)
        st = rf_setting_set(&copy, &rows[i], rf_setting_get(s, &rows[i]),
                            rows[i].info.name, err);
    return st;
}

/* ---- Text -------------------------------------------------------------------------- */

rf_status rf_settings_parse(rf_settings *s, const char *text, rf_error *err)
{
    static const char between[] = " \t\r\n;";
    rf_settings taken = *s;
    for (const char *at = text ? text : ""; *(at += strspn(at, between));) {
        char item[96];
        size_t n = strcspn(at, between);
        snprintf(item, sizeof item, "%.*s", (int)(n < sizeof item ? n : sizeof item - 1),
                 at);
        char *value = strchr(item, '=');
        if (!value || n >= sizeof item)
            return rf_fail(err, RF_ERR_ARG, 0, "setting \"%s\": wanted NAME=VALUE", item);
        *value++ = '\0';
        const rf_setting_row *row = rf_setting_find(item, strlen(item));
        if (!row)
            return rf_fail(err, RF_ERR_ARG, 0,
                           "no setting \"%s\"; rf_setting_at lists them", item);
        rf_status st = rf_setting_set_text(&taken, row, value, item, err);
        if (st != RF_OK)
            return st;
        at += n;
    }
    *s = taken;
    return RF_OK;
}

/* ---- JSON -------------------------------------------------------------------------- */

json_t *rf_setting_json(const rf_settings *s, const rf_setting_row *row)
{
    double v = rf_setting_get(s, row);
    switch (row->info.kind) {
    case RF_SETTING_COUNT: return json_integer((json_int_t)v);
    case RF_SETTING_NUMBER: return json_real(v);
    case RF_SETTING_FLAG: return json_boolean(v != 0.0);
    }
    return NULL;
}

json_t *rf_settings_json(const rf_settings *s, const char *section)
{
    json_t *json = json_object();
    bool good = json;
    for (size_t i = 0; i < N_ROWS && good; i++)
        if (strcmp(rows[i].section, section) == 0)
            good = json_object_set_new(json, rf_setting_key(&rows[i]),
                                       rf_setting_json(s, &rows[i])) == 0;
    if (good)
        return json;
    json_decref(json);
    return NULL;
}

void rf_settings_take_json(rf_settings *s, const json_t *sections)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const rf_setting_row *row = &rows[i];
        const json_t *value =
            json_object_get(json_object_get(sections, row->section), rf_setting_key(row));
        bool flag = row->info.kind == RF_SETTING_FLAG;
        if (flag ? json_is_boolean(value) : json_is_number(value))
            (void)rf_setting_set(s, row,
                                 flag ? json_is_true(value) : json_number_value(value),
                                 row->info.name, NULL);
    }
}
