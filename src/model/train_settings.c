#include "model/train_settings.h"

#include "base/team.h"
#include "open/method.h"

#include <math.h>
#include <string.h>

/* Stage 1 sees at least this many steps: a few rows are gone through more often. */
#define LEAST_STEPS 150
#define LEAST_EPOCHS 6
#define MOST_EPOCHS 100
/* Epochs without a better dev result before it stops, by planned epochs. */
#define LEAST_PATIENCE 4
#define PATIENCE_SHARE 4

/* Stage 2, chosen on pseudo-open splits of dev data (docs/MODEL.md, "Defaults"). */
#define HEAD_STEPS 600
/* A class of few texts leaves gaps, which negatives close against the class itself: its
 * texts are made to stand for their surroundings, and other classes' texts weigh less.
 * Rows per class, on average: */
#define FEW_ROWS 80
#define NOISE_ROWS 10 /* up to so many, noise of a whole standard deviation */
#define FEW_NEGATIVE_WEIGHT 0.05f
#define NEGATIVE_WEIGHT 1.0f
/* Share of the dev texts that fences may reject. With few texts per class the fences are
 * a guess, and with many they are known so well that what they reject is mostly noise. */
#define MANY_ROWS 200
#define FEW_REJECT 0.15f
#define REJECT 0.10f
#define MANY_REJECT 0.15f

rf_train_options rf_train_options_default(void)
{
    return (rf_train_options){.method_options = rf_method_options_default(),
                              .dev_share = 0.1,
                              .cache_mb = 1024,
                              .train_layers = 2,
                              .encoder_rate = 1e-4f,
                              .known_rate = 5e-4f,
                              .weight_decay = 0.01f,
                              .warmup = 0.1f,
                              .dropout = 0.1f,
                              .blend = 0.5f,
                              .head_positives = 8,
                              .head_negatives = 64,
                              .head_rate = 3e-4f,
                              .head_dropout = 0.1f,
                              .lambda = 1.0f,
                              .rho = 1.0f,
                              .gamma = 2.0f,
                              .positive_noise = -1.0f,
                              .ascent_steps = 10,
                              .ascent_rate = 0.02f,
                              .map_points = 4000};
}

/* ---- Checks ------------------------------------------------------------------------ */

typedef struct range {
    const char *name;
    double value, least, most;
} range;

/* Written so that a NaN fails. */
static rf_status check(const range *r, size_t n, rf_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(r[i].value >= r[i].least && r[i].value <= r[i].most))
            return rf_fail(err, RF_ERR_ARG, 0, "%s is %g, wanted %g to %g", r[i].name,
                           r[i].value, r[i].least, r[i].most);
    return RF_OK;
}

static rf_status check_method_options(const rf_method_options *m, rf_error *err)
{
    const double big = 1e6;
    const range ranges[] = {
        {"neighbours", (double)m->neighbours, 0, big},
        {"contamination", (double)m->contamination, 0, 0.5},
        {"quantile", (double)m->quantile, 0, 1},
        {"threshold", (double)m->threshold, 0, 1},
        {"doc_alpha", (double)m->doc_alpha, 0, big},
        {"tail", (double)m->tail, 2, big},
        {"ranks", (double)m->ranks, 1, big},
        {"boundary_epochs", (double)m->boundary_epochs, 1, big},
        {"boundary_rate", (double)m->boundary_rate, 1e-10, 10},
        {"cosine_scale", (double)m->cosine_scale, 1e-3, 1e4},
        {"cosine_margin", (double)m->cosine_margin, 0, 2},
        {"temperature", (double)m->temperature, 0, big},
        {"queue", (double)m->queue, 1, 1e9},
        {"top", (double)m->top, 1, big},
        {"momentum", (double)m->momentum, 0, 1},
        {"contrast_weight", (double)m->contrast_weight, 0, 1},
        {"ascent_steps", (double)m->ascent_steps, 0, 1000},
        {"ascent_rate", (double)m->ascent_rate, 0, big},
        {"rho", (double)m->rho, 1e-7, big},
        {"gamma", (double)m->gamma, 1, big},
        {"radius", (double)m->radius, 0, big},
    };
    return check(ranges, sizeof ranges / sizeof ranges[0], err);
}

rf_status rf_train_resolve(rf_train_options *o, const rf_config *c, size_t rows,
                           size_t classes, rf_error *err)
{
    size_t each = rows / classes;
    if (o->method && strcmp(o->method, "ovr") == 0)
        o->lambda = 0.0f;
    if (o->lambda == 0.0f) /* against texts of other classes alone, gaps stay open */
        o->positive_noise = 0.0f;
    if (o->positive_noise < 0.0f)
        o->positive_noise = each >= FEW_ROWS    ? 0.0f
                            : each > NOISE_ROWS ? sqrtf((float)NOISE_ROWS / (float)each)
                                                : 1.0f;
    if (o->fence_reject == 0.0f)
        o->fence_reject = each < FEW_ROWS    ? FEW_REJECT
                          : each < MANY_ROWS ? REJECT
                                             : MANY_REJECT;
    if (o->negative_weight == 0.0f)
        o->negative_weight = each < FEW_ROWS ? FEW_NEGATIVE_WEIGHT : NEGATIVE_WEIGHT;
    const double big = 1e6;
    const range ranges[] = {
        {"threads", (double)o->threads, 0, RF_MAX_THREADS},
        {"dev_share", o->dev_share, 0, 0.5},
        {"train_layers", (double)o->train_layers, 0, (double)c->layers},
        {"max_tokens", (double)o->max_tokens, o->max_tokens ? 3 : 0,
         (double)c->positions},
        {"epochs", (double)o->epochs, 0, big},
        {"batch", (double)o->batch, 0, 65536},
        {"patience", (double)o->patience, 0, big},
        {"encoder_rate", (double)o->encoder_rate, 0, 1},
        {"known_rate", (double)o->known_rate, 0, 1},
        {"weight_decay", (double)o->weight_decay, 0, 1},
        {"warmup", (double)o->warmup, 0, 1},
        {"dropout", (double)o->dropout, 0, 0.9},
        {"head_steps", (double)o->head_steps, 0, 1e9},
        {"head_positives", (double)o->head_positives, 1, 4096},
        {"head_negatives", (double)o->head_negatives, 1, 65536},
        {"head_rate", (double)o->head_rate, 1e-10, 1},
        {"head_dropout", (double)o->head_dropout, 0, 0.9},
        {"negative_weight", (double)o->negative_weight, 1e-7, big},
        {"lambda", (double)o->lambda, 0, big},
        {"rho", (double)o->rho, 1e-7, big},
        {"radius", (double)o->radius, 0, big},
        {"gamma", (double)o->gamma, 1, big},
        {"positive_noise", (double)o->positive_noise, 0, 100},
        {"ascent_steps", (double)o->ascent_steps, 0, 10000},
        {"ascent_rate", (double)o->ascent_rate, 0, big},
        {"blend", (double)o->blend, 0, 1},
        {"fence_reject", (double)o->fence_reject, 0, 1},
        {"fence_offset", (double)o->fence_offset, -big, big},
        {"tune", (double)o->tune, RF_TUNE_OFF, RF_TUNE_THOROUGH},
        {"max_false_accept", o->max_false_accept, 0, 0.5},
        {"max_false_reject", o->max_false_reject, 0, 0.5},
        {"map_points", (double)o->map_points, 0, 100000},
    };
    rf_status st = check(ranges, sizeof ranges / sizeof ranges[0], err);
    if (st == RF_OK)
        st = check_method_options(&o->method_options, err);
    if (st != RF_OK)
        return st;
    if (o->threads == 0)
        o->threads = rf_cpu_count() < RF_MAX_THREADS ? rf_cpu_count() : RF_MAX_THREADS;
    if (o->max_tokens == 0)
        o->max_tokens = c->positions < 512 ? c->positions : 512;
    if (o->batch == 0)
        o->batch = 128;
    if (o->epochs == 0) {
        size_t per_epoch = (rows + o->batch - 1) / o->batch;
        o->epochs = (LEAST_STEPS + per_epoch - 1) / per_epoch;
        o->epochs = o->epochs < LEAST_EPOCHS ? LEAST_EPOCHS : o->epochs;
        o->epochs = o->epochs > MOST_EPOCHS ? MOST_EPOCHS : o->epochs;
    }
    if (o->patience == 0)
        o->patience = o->epochs / PATIENCE_SHARE > LEAST_PATIENCE
                          ? o->epochs / PATIENCE_SHARE
                          : LEAST_PATIENCE;
    if (o->head_steps == 0)
        o->head_steps = HEAD_STEPS;
    return RF_OK;
}

/* ---- For the stages ---------------------------------------------------------------- */

rf_tune_options rf_train_tune_options(const rf_train_options *o)
{
    return (rf_tune_options){.seed = o->seed,
                             .epochs = o->epochs,
                             .batch = o->batch,
                             .patience = o->patience,
                             .encoder_rate = o->encoder_rate,
                             .known_rate = o->known_rate,
                             .decay = o->weight_decay,
                             .warmup = o->warmup,
                             .dropout = o->dropout};
}

rf_ans_options rf_train_ans_options(const rf_train_options *o)
{
    rf_ans_options a = rf_ans_options_default();
    a.seed = o->seed;
    a.steps = o->head_steps;
    a.max_steps = 3 * o->head_steps;
    a.cool_steps = o->head_steps / 4;
    a.positives = o->head_positives;
    a.negatives = o->head_negatives;
    a.rate = o->head_rate;
    a.dropout = o->head_dropout;
    a.lambda = o->lambda;
    a.negative_weight = o->negative_weight;
    a.rho = o->rho;
    a.radius = o->radius;
    a.gamma = o->gamma;
    a.positive_noise = o->positive_noise;
    a.noise = !o->no_noise;
    a.project = !o->no_projection;
    a.ascent_steps = o->ascent_steps;
    a.ascent_rate = o->ascent_rate;
    return a;
}

static json_t *method_options_json(const rf_method_options *m)
{
    return json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:f,"
        " s:I, s:f, s:f, s:f, s:f, s:b}",
        "neighbours", (json_int_t)m->neighbours, "contamination",
        (double)m->contamination, "quantile", (double)m->quantile, "threshold",
        (double)m->threshold, "doc_alpha", (double)m->doc_alpha, "tail",
        (json_int_t)m->tail, "ranks", (json_int_t)m->ranks, "boundary_epochs",
        (json_int_t)m->boundary_epochs, "boundary_rate", (double)m->boundary_rate,
        "cosine_scale", (double)m->cosine_scale, "cosine_margin",
        (double)m->cosine_margin, "temperature", (double)m->temperature, "queue",
        (json_int_t)m->queue, "top", (json_int_t)m->top, "momentum", (double)m->momentum,
        "contrast_weight", (double)m->contrast_weight, "ascent_steps",
        (json_int_t)m->ascent_steps, "ascent_rate", (double)m->ascent_rate, "rho",
        (double)m->rho, "gamma", (double)m->gamma, "radius", (double)m->radius, "textoir",
        m->textoir);
}

/* Every method has the settings of stage 1; heads have "open", the others
 * "method_options". */
json_t *rf_train_settings_json(const rf_train_options *o)
{
    const rf_ans_options a = rf_train_ans_options(o);
    json_t *json = json_pack(
        "{s:I, s:I, s:f, s:{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f},"
        " s:{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:b,"
        " s:I, s:f, s:f, s:f, s:f}}",
        "seed", (json_int_t)o->seed, "max_tokens", (json_int_t)o->max_tokens, "dev_share",
        o->dev_share, "known", "train_layers", (json_int_t)o->train_layers, "epochs",
        (json_int_t)o->epochs, "batch", (json_int_t)o->batch, "patience",
        (json_int_t)o->patience, "encoder_rate", (double)o->encoder_rate, "known_rate",
        (double)o->known_rate, "weight_decay", (double)o->weight_decay, "warmup",
        (double)o->warmup, "dropout", (double)o->dropout, "blend", (double)o->blend,
        "open", "steps", (json_int_t)a.steps, "max_steps", (json_int_t)a.max_steps,
        "cool_steps", (json_int_t)a.cool_steps, "positives", (json_int_t)a.positives,
        "negatives", (json_int_t)a.negatives, "rate", (double)a.rate, "dropout",
        (double)a.dropout, "lambda", (double)a.lambda, "negative_weight",
        (double)a.negative_weight, "rho", (double)a.rho, "radius", (double)a.radius,
        "gamma", (double)a.gamma, "target_recall", (double)a.target_recall, "noise",
        a.noise, "projection", a.project, "ascent_steps", (json_int_t)a.ascent_steps,
        "ascent_rate", (double)a.ascent_rate, "positive_noise", (double)a.positive_noise,
        "fence_reject", (double)o->fence_reject, "fence_offset", (double)o->fence_offset);
    const rf_method *method = o->method ? rf_method_find(o->method) : NULL;
    if (!json || !method || method->heads)
        return json;
    json_object_del(json, "open");
    if (json_object_set_new(json, "method_options",
                            method_options_json(&o->method_options)) == 0)
        return json;
    json_decref(json);
    return NULL;
}
