/*
 * train_settings.c - check the ranges of the options of a training, choose what is left
 * to the data, write them as JSON
 */
#include "stages/train_settings.h"

#include "base/options.h"
#include "base/team.h"
#include "methods/methods.h"

#include <math.h>
#include <string.h>

/* Stage 1 takes at least this many steps: small data gets more epochs. */
#define MIN_STEPS 150
#define MIN_EPOCHS 6
/* While the steps decide, half as many texts per step teach as much in half the time. */
#define BATCH 128
#define SMALL_BATCH 64
#define MAX_EPOCHS 100
/* Epochs without a better dev result before training stops: a share of the planned
 * epochs. */
#define MIN_PATIENCE 4
#define PATIENCE_SHARE 4

/* Stage 2, chosen on pseudo-open splits of dev data (docs/MODEL.md, "Defaults"). */
#define HEAD_STEPS 600
#define HEAD_MAX 3  /* up to 3 times as many if a head needs them */
#define HEAD_COOL 4 /* a quarter as many at a falling rate */
/* With few texts per class there are gaps between them, which negatives fill at the
 * expense of the class. So its texts are jittered to cover their surroundings, and
 * other classes' texts weigh less. Rows per class, on average: */
#define FEW_ROWS 80
#define NOISE_ROWS 10 /* up to this many: noise of a whole standard deviation */
#define FEW_NEGATIVE_WEIGHT 0.05f
#define NEGATIVE_WEIGHT 1.0f
/* Share of the dev texts that fences may reject. With few texts per class the fences
 * are a guess; with many they are so well known that what they reject is mostly noise. */
#define MANY_ROWS 200
#define FEW_REJECT 0.15f
#define REJECT 0.10f
#define MANY_REJECT 0.15f

#define DEV_SHARE 0.1
#define CACHE_MB 1024
#define MAP_POINTS 4000

void rf_train_options_init(rf_train_options *options, size_t struct_size)
{
    const rf_train_options defaults = {.cache_mb = CACHE_MB, .map_points = MAP_POINTS};
    rf_options_give(options, struct_size, &defaults, sizeof defaults);
}

/* ---- Options ----------------------------------------------------------------------- */

/* On input 0 is "automatic" and negative is "none"; on output 0 is "none". */
static void resolve_options(rf_train_options *o, const rf_config *c, bool cross_fits)
{
    if (o->threads == 0)
        o->threads = rf_cpu_count() < RF_MAX_THREADS ? rf_cpu_count() : RF_MAX_THREADS;
    if (o->max_tokens == 0)
        o->max_tokens = c->positions < 512 ? c->positions : 512;
    if (o->dev_share == 0.0 && (!cross_fits || o->tune != RF_TUNE_OFF))
        o->dev_share = DEV_SHARE;
    o->dev_share = o->dev_share < 0.0 ? 0.0 : o->dev_share;
    o->cache_mb = o->cache_mb == 0 ? CACHE_MB : o->cache_mb < 0 ? 0 : o->cache_mb;
    o->map_points = o->map_points == 0  ? MAP_POINTS
                    : o->map_points < 0 ? 0
                                        : o->map_points;
}

/* Written so that a NaN fails. */
static rf_status check_options(const rf_train_options *o, const rf_config *c,
                               rf_error *err)
{
    const struct {
        const char *name;
        double value, min, max;
    } ranges[] = {
        {"threads", (double)o->threads, 1, RF_MAX_THREADS},
        {"dev_share", o->dev_share, 0, 0.5},
        {"max_tokens", (double)o->max_tokens, 3, (double)c->positions},
        {"cache_mb", (double)o->cache_mb, 0, 1 << 30},
        {"tune", (double)o->tune, RF_TUNE_OFF, RF_TUNE_THOROUGH},
        {"max_false_accept", o->max_false_accept, 0, 0.5},
        {"max_false_reject", o->max_false_reject, 0, 0.5},
        {"map_points", (double)o->map_points, 0, 100000},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (!(ranges[i].value >= ranges[i].min && ranges[i].value <= ranges[i].max))
            return rf_fail(err, RF_ERR_ARG, 0, "%s is %g, wanted %g to %g",
                           ranges[i].name, ranges[i].value, ranges[i].min, ranges[i].max);
    return RF_OK;
}

/* ---- Settings ---------------------------------------------------------------------- */

static void choose_epochs(rf_settings *s, size_t rows)
{
    if (s->batch == 0)
        s->batch = rows * MIN_EPOCHS < (size_t)MIN_STEPS * BATCH ? SMALL_BATCH : BATCH;
    if (s->epochs == 0) {
        size_t per_epoch = (rows + s->batch - 1) / s->batch;
        s->epochs = (MIN_STEPS + per_epoch - 1) / per_epoch;
        s->epochs = s->epochs < MIN_EPOCHS ? MIN_EPOCHS : s->epochs;
        s->epochs = s->epochs > MAX_EPOCHS ? MAX_EPOCHS : s->epochs;
    }
    if (s->patience == 0)
        s->patience = s->epochs / PATIENCE_SHARE > MIN_PATIENCE
                          ? s->epochs / PATIENCE_SHARE
                          : MIN_PATIENCE;
}

/* each: rows per class, on average. */
static void choose_heads(rf_settings *s, size_t each, bool cross_fits)
{
    if (s->lambda == 0.0f) /* against texts of other classes alone, gaps stay open */
        s->positive_noise = 0.0f;
    if (s->positive_noise < 0.0f)
        s->positive_noise = each >= FEW_ROWS    ? 0.0f
                            : each > NOISE_ROWS ? sqrtf((float)NOISE_ROWS / (float)each)
                                                : 1.0f;
    if (s->fence_reject == 0.0f && !cross_fits)
        s->fence_reject = each < FEW_ROWS    ? FEW_REJECT
                          : each < MANY_ROWS ? REJECT
                                             : MANY_REJECT;
    if (s->negative_weight == 0.0f)
        s->negative_weight = each < FEW_ROWS ? FEW_NEGATIVE_WEIGHT : NEGATIVE_WEIGHT;
    if (s->head_steps == 0)
        s->head_steps = HEAD_STEPS;
    if (s->head_max_steps == 0)
        s->head_max_steps = HEAD_MAX * s->head_steps;
    if (s->head_cool_steps == 0)
        s->head_cool_steps = s->head_steps / HEAD_COOL;
}

rf_status rf_train_resolve(rf_train_options *o, rf_settings *s, const rf_config *c,
                           size_t rows, size_t classes, rf_error *err)
{
    const rf_method *method = rf_method_find(o->method);
    bool cross_fits = method && method->cross_fits && classes >= RF_FOLD_CLASSES;
    resolve_options(o, c, cross_fits);
    rf_status st = check_options(o, c, err);
    if (st == RF_OK)
        st = rf_settings_check(s, err);
    if (st != RF_OK)
        return st;
    if (s->train_layers > c->layers)
        return rf_fail(err, RF_ERR_ARG, 0, "train_layers is %zu, wanted 0 to %zu",
                       s->train_layers, c->layers);
    if (method && method->fix_settings)
        method->fix_settings(s);
    choose_epochs(s, rows);
    choose_heads(s, rows / classes, cross_fits);
    return RF_OK;
}

/* Every method has the settings of stage 1; methods with heads add "open", the others
 * "method_options". */
json_t *rf_train_settings_json(const rf_train_options *o, const rf_settings *s)
{
    const rf_method *method = rf_method_find(o->method);
    const char *stage_2 = !method || method->head_settings ? "open" : "method_options";
    return json_pack("{s:I, s:I, s:f, s:o, s:o}", "seed", (json_int_t)o->seed,
                     "max_tokens", (json_int_t)o->max_tokens, "dev_share", o->dev_share,
                     "known", rf_settings_json(s, "known"), stage_2,
                     rf_settings_json(s, stage_2));
}
