#include "lab/estimate.h"

#include "model/training.h"

#include <math.h>
#include <stdlib.h>

/* Seconds of one thread, measured on a core of 100 GFLOP/s with a width of 384. */
#define PER_TOKEN 3.4e-4     /* one token through two live layers, there and back */
#define PER_HEAD 1.4         /* one head of ANS */
#define PER_ROW 2e-5         /* fitting anything else */
#define OBJECTIVE_FACTOR 1.4 /* the live layers run forward twice */
#define BYTES_PER_TOKEN 4.6
#define EPOCHS 12.0
#define LEAST_STEPS 250.0
#define MOST_EPOCHS 100.0
#define BATCH 128.0

rf_status rf_estimate_init(rf_estimate *e, size_t n, rf_error *err)
{
    *e = (rf_estimate){.n = n};
    e->seconds = calloc(n + 1, sizeof *e->seconds);
    return e->seconds ? RF_OK : rf_fail_nomem(err, n * sizeof *e->seconds, "the plan");
}

void rf_estimate_release(rf_estimate *e)
{
    free(e->seconds);
    *e = (rf_estimate){0};
}

/* Tokens of a text by its length, from a few hundred texts. */
static double tokens_per_text(const rf_dataset *data)
{
    size_t n = rf_dataset_rows(data), step = n / 500 + 1, seen = 0;
    double bytes = 0.0;
    for (size_t i = 0; i < n; i += step, seen++) {
        size_t len;
        rf_dataset_text(data, i, &len);
        bytes += (double)len;
    }
    return seen ? 2.0 + bytes / (double)seen / BYTES_PER_TOKEN : 0.0;
}

/* One thread's seconds for a run. */
static double model(const rf_estimate_input *in, bool shared)
{
    const rf_dataset *train = in->material->data[RF_LAB_TRAIN];
    size_t all = rf_dataset_classes(train), wanted = in->split.n_classes;
    size_t known = wanted ? wanted : rf_split_known(all, in->split.ratio);
    double each = (double)rf_dataset_rows(train) / (double)all;
    if (in->split.rows_per_class > 0 && (double)in->split.rows_per_class < each)
        each = (double)in->split.rows_per_class;
    double rows = each * (double)known, steps = rows / BATCH + 1.0;
    double epochs = fmin(fmax(LEAST_STEPS / steps, EPOCHS), MOST_EPOCHS);
    if (in->epochs > 0)
        epochs = (double)in->epochs;
    double seconds = shared ? 0.0 : PER_TOKEN * tokens_per_text(train) * rows * epochs;
    if (in->method->objective)
        seconds *= OBJECTIVE_FACTOR * (in->method->wants_open_texts ? 2.0 : 1.0);
    return seconds + (in->method->heads ? PER_HEAD * (double)known : PER_ROW * rows);
}

void rf_estimate_run(rf_estimate *e, size_t i, const rf_estimate_input *in)
{
    const rf_run *done = in->done;
    if (done) {
        double threads = done->threads ? (double)done->threads : 1.0;
        e->model += model(in, done->shared_known) / threads;
        e->measured +=
            done->seconds.open + (done->shared_known ? 0.0 : done->seconds.known);
        return;
    }
    e->seconds[i] = model(in, in->shared) / (double)in->threads;
    e->left += e->seconds[i];
}

/* How much slower than the model it goes here. */
static double factor(const rf_estimate *e)
{
    return e->model > 0.0 && e->measured > 0.0 ? e->measured / e->model : 1.0;
}

double rf_estimate_of(const rf_estimate *e, size_t i)
{
    return e->seconds[i] * factor(e);
}

void rf_estimate_begin(rf_estimate *e)
{
    e->begun = rf_seconds();
}

void rf_estimate_end(rf_estimate *e, size_t i, double seconds)
{
    if (seconds >= 0.0) {
        e->model += e->seconds[i];
        e->measured += seconds;
    }
    e->left -= e->seconds[i];
    e->seconds[i] = 0.0;
    e->begun = rf_seconds();
}

double rf_estimate_left(const rf_estimate *e)
{
    double left = e->left * factor(e) - (rf_seconds() - e->begun);
    return left > 0.0 ? left : 0.0;
}
