/* blobs.c - classes of random points, and heads trained on them */
#include "blobs.h"

#include "base/rng.h"
#include "num/train.h"
#include "scratch.h"

#include <stdlib.h>

#define APART 4.0f /* centres are N(0, APART^2): about 4 sqrt(2 * 16) = 23 apart */

void blobs_draw(float *x, size_t c, float spread, uint64_t what, size_t i)
{
    float centre[WIDTH];
    rf_train_kernels()->normal(centre, WIDTH, rf_rng_key(1, 1, c, 0));
    rf_train_kernels()->normal(x, WIDTH, rf_rng_key(1, what, c, i));
    for (size_t j = 0; j < WIDTH; j++)
        x[j] = APART * centre[j] + spread * x[j];
}

void blobs_finish(blobs *b)
{
    rf_class_stats_release(&b->stats);
    for (size_t c = 0; c < b->classes; c++)
        b->key[c] = rf_rng_mix(c + 1);
    assert_int_equal(rf_class_stats_init(&b->stats, b->z, b->class_of, b->rows, WIDTH,
                                         b->classes, NULL),
                     RF_OK);
    b->problem = (rf_fit){.width = WIDTH,
                          .classes = b->classes,
                          .rows = b->rows,
                          .seed = 3,
                          .z = b->z,
                          .class_of = b->class_of,
                          .class_key = b->key,
                          .stats = &b->stats};
}

void blobs_make(blobs *b, size_t classes, const size_t *sizes, float spread)
{
    *b = (blobs){.classes = classes};
    size_t most = 0;
    for (size_t c = 0; c < classes; c++) {
        b->rows += sizes[c];
        most = sizes[c] > most ? sizes[c] : most;
    }
    b->z = malloc(b->rows * WIDTH * sizeof *b->z);
    b->class_of = malloc(b->rows * sizeof *b->class_of);
    assert_true(b->z && b->class_of);
    size_t row = 0;
    for (size_t i = 0; i < most; i++) /* classes mixed, as in a file */
        for (size_t c = 0; c < classes; c++)
            if (i < sizes[c]) {
                blobs_draw(b->z + row * WIDTH, c, spread, 2, i);
                b->class_of[row++] = (uint32_t)c;
            }
    blobs_finish(b);
}

void blobs_release(blobs *b)
{
    free(b->z);
    free(b->class_of);
    rf_class_stats_release(&b->stats);
}

rf_settings quick_options(void)
{
    rf_settings o = rf_settings_default();
    o.head_rate = 1e-3f;
    o.ascent_steps = 5;
    o.positive_noise = 0.0f;
    o.head_steps = 120;
    o.head_max_steps = 360;
    o.head_cool_steps = 40;
    o.head_negatives = 64;
    return o;
}

rf_status train_range(rf_heads *heads, const rf_fit *p, const rf_settings *o, size_t from,
                      size_t to, rf_team *team, rf_class_report *reports, rf_error *err)
{
    rf_fit in = *p;
    in.o = o;
    in.team = team;
    return rf_ans_train(heads, &in, from, to, reports, err);
}

void train_heads(rf_heads *heads, const rf_fit *p, const rf_settings *o, size_t threads,
                 rf_class_report *reports)
{
    rf_error err = {0};
    rf_team *team = rf_team_new(threads, &err);
    assert_non_null(team);
    assert_int_equal(rf_heads_init(heads, p->width, p->classes, &err), RF_OK);
    if (train_range(heads, p, o, 0, p->classes, team, reports, &err) != RF_OK)
        fail_msg("%s", err.msg);
    rf_team_free(team);
}

float margin_of(const rf_heads *heads, size_t m, const float *x)
{
    float margins[MOST_CLASSES];
    static float scratch[RF_SCORE_SCRATCH];
    rf_heads_score(heads, x, 1, m, m + 1, margins, scratch);
    return margins[m];
}
