#include "lab/estimate.h"

#include "model/training.h"

#include <stdlib.h>

/* Seconds of one thread, measured on a core of 100 GFLOP/s with a width of 384. */
#define PER_TOKEN 3.4e-4     /* one token through two live layers, there and back */
#define PER_HEAD 1.4         /* one head of ANS */
#define PER_ROW 2e-5         /* fitting anything else */
#define OBJECTIVE_FACTOR 1.4 /* the live layers run forward twice */
#define BYTES_PER_TOKEN 4.6
#define EPOCHS 12.0
#define LEAST_STEPS 250.0
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

void rf_estimate_run(rf_estimate *e, size_t i, const rf_material *m,
                     const rf_split_options *split, const rf_method *method,
                     size_t threads, const rf_run *done, bool shared)
{
    const rf_dataset *train = m->data[RF_LAB_TRAIN];
    size_t all = rf_dataset_classes(train);
    size_t known =
        split->n_classes ? split->n_classes : rf_split_known(all, split->ratio);
    double each = (double)rf_dataset_rows(train) / (double)all;
    if (split->rows_per_class > 0 && (double)split->rows_per_class < each)
        each = (double)split->rows_per_class;
    double rows = each * (double)known, steps = rows / BATCH + 1.0;
    double epochs = LEAST_STEPS / steps > EPOCHS ? LEAST_STEPS / steps : EPOCHS;
    double seconds = shared ? 0.0 : PER_TOKEN * tokens_per_text(train) * rows * epochs;
    if (method->objective)
        seconds *= OBJECTIVE_FACTOR * (method->wants_open_texts ? 2.0 : 1.0);
    seconds += method->heads ? PER_HEAD * (double)known : PER_ROW * rows;
    seconds /= (double)threads;
    if (done) {
        e->model += seconds;
        e->measured +=
            done->seconds.open + (done->shared_known ? 0.0 : done->seconds.known);
        return;
    }
    e->seconds[i] = seconds;
    e->left += seconds;
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

void rf_estimate_begin(rf_estimate *e, size_t i)
{
    (void)i;
    e->begun = rf_seconds();
}

void rf_estimate_end(rf_estimate *e, size_t i, bool measured)
{
    if (measured) {
        e->model += e->seconds[i];
        e->measured += rf_seconds() - e->begun;
    }
    e->left -= e->seconds[i];
    e->seconds[i] = 0.0;
}

double rf_estimate_left(const rf_estimate *e)
{
    return (e->left > 0.0 ? e->left : 0.0) * factor(e);
}
