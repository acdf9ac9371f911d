/* estimate.c - a cost model of runs, scaled by the runs that are finished */
#include "lab/estimate.h"

#include "base/clock.h"
#include "stages/training.h"

#include <math.h>
#include <stdlib.h>

/* Seconds of one thread on a core of about 100 GFLOP/s, encoder width 384. Once a run has
 * finished only their proportions matter. */
#define PER_TOKEN 3.4e-4     /* one token through two trained layers, forward and back */
#define PER_HEAD 1.4         /* one head of ANS */
#define PER_ROW 2e-5         /* fitting any other method */
#define OBJECTIVE_FACTOR 1.4 /* a stage 1 of its own runs the layers forward twice */
#define BYTES_PER_TOKEN 4.6  /* English text */
/* As rf_train_resolve chooses them. */
#define MIN_EPOCHS 6.0
#define MAX_EPOCHS 100.0
#define MIN_STEPS 150.0
#define BATCH 128.0

rf_status rf_estimate_init(rf_estimate *e, size_t n_runs, rf_error *err)
{
    *e = (rf_estimate){.seconds = calloc(n_runs + 1, sizeof *e->seconds)};
    return e->seconds ? RF_OK
                      : rf_fail_nomem(err, n_runs * sizeof *e->seconds, "the plan");
}

void rf_estimate_release(rf_estimate *e)
{
    free(e->seconds);
    *e = (rf_estimate){0};
}

/* Mean over a sample of a few hundred texts, from their length in bytes. */
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

/* Seconds of one thread. */
static double cost(const rf_estimate_input *in, bool shared)
{
    const rf_dataset *train = in->set->data[RF_LAB_TRAIN];
    size_t all = rf_dataset_classes(train), wanted = in->split.n_classes;
    size_t known = wanted ? wanted : rf_split_known(all, in->split.ratio);
    double per_class = (double)rf_dataset_rows(train) / (double)all;
    if (in->split.rows_per_class > 0)
        per_class = fmin(per_class, (double)in->split.rows_per_class);
    if (in->split.rows_median > 0.0)
        per_class = fmin(per_class, in->split.rows_median);
    double rows = per_class * (double)known;
    double epochs = fmin(fmax(MIN_STEPS / ceil(rows / BATCH), MIN_EPOCHS), MAX_EPOCHS);
    if (in->epochs > 0)
        epochs = (double)in->epochs;
    double seconds = shared ? 0.0 : PER_TOKEN * tokens_per_text(train) * rows * epochs;
    if (in->method->objective)
        seconds *= OBJECTIVE_FACTOR * (in->method->wants_open_texts ? 2.0 : 1.0);
    return seconds +
           (in->method->trains_by_class ? PER_HEAD * (double)known : PER_ROW * rows);
}

void rf_estimate_run(rf_estimate *e, size_t i, const rf_estimate_input *in)
{
    const rf_run *done = in->done;
    if (done) {
        bool shared = done->shared_known;
        e->modelled += cost(in, shared) / fmax((double)done->threads, 1.0);
        e->measured += done->seconds.open + (shared ? 0.0 : done->seconds.known);
        return;
    }
    e->seconds[i] = cost(in, in->shared) / (double)in->threads;
    e->left += e->seconds[i];
}

bool rf_estimate_scaled(const rf_estimate *e)
{
    return e->modelled > 0.0 && e->measured > 0.0;
}

static double scale(const rf_estimate *e)
{
    return rf_estimate_scaled(e) ? e->measured / e->modelled : 1.0;
}

double rf_estimate_of(const rf_estimate *e, size_t i)
{
    return e->seconds[i] * scale(e);
}

void rf_estimate_begin(rf_estimate *e)
{
    e->begun = rf_clock_seconds();
}

void rf_estimate_end(rf_estimate *e, size_t i, double seconds)
{
    if (seconds >= 0.0) {
        e->modelled += e->seconds[i];
        e->measured += seconds;
    }
    e->left -= e->seconds[i];
    e->seconds[i] = 0.0;
    e->begun = rf_clock_seconds();
}

double rf_estimate_left(const rf_estimate *e)
{
    return fmax(e->left * scale(e) - (rf_clock_seconds() - e->begun), 0.0);
}
