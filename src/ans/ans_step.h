/*
 * ans_step.h - one step of training one head (paper, Algorithm 1)
 *
 * Rows of a step: n positives, R texts of other classes, and (unless lambda is 0) one
 * synthetic negative z_i + eps_i per positive, in this order. The step moves eps uphill,
 * projects it into the shell, and takes one step of Adam on
 *
 *   ( sum softplus(-g(pos)) + w sum softplus(g(neg)) + lambda sum softplus(g(syn)) )
 *   / (n + R)
 *
 *   rf_ans_work w;
 *   if (rf_ans_work_init(&w, width, 8, 256, 8, true, &err) != RF_OK) ...
 *   rf_ans_work_start(&w, 256);                   // a new head
 *   rf_ans_gather(&w, z, positives, negatives);   // rows of z
 *   ... w.eps = noise ...
 *   float loss = rf_ans_step(&w, &head, &settings, &keys, &adam);
 *   rf_ans_work_release(&w);
 *
 * rf_ans_step calls the four functions below it in order; they are public for tests.
 */
#ifndef RF_ANS_ANS_STEP_H
#define RF_ANS_ANS_STEP_H

#include "num/train.h"
#include "ans/heads.h"

typedef struct rf_ans_settings {
    float radius, gamma; /* the shell: radius <= ||eps|| <= gamma radius */
    bool project;
    size_t ascent_steps;
    float ascent_rate; /* length of one ascent step, in units of the features */
    float lambda, negative_weight;
} rf_ans_settings;

/* One thread's working memory besides the head itself, in one block. */
typedef struct rf_ans_work {
    size_t width;
    size_t positives, negatives, synthetic; /* rows; synthetic: 0 or = positives */
    size_t rows, ld;       /* total rows, and the row stride of xt and h1t */
    size_t most_negatives; /* capacity */
    float *block;
    float *x;      /* [rows, width] */
    float *xt;     /* [width, ld] x transposed */
    float *h1;     /* [rows, 256] after ReLU and dropout */
    float *h1t;    /* [256, ld] */
    float *h2;     /* [rows, 64] after ReLU and dropout */
    float *g, *dg; /* [rows] */
    float *d1;     /* [16][rows][16] dloss / d(pre-activation), in strips */
    float *d2;     /* [rows, 64] */
    float *d2s;    /* [4][rows][16] d2 in strips */
    float *eps;    /* [synthetic, width] */
    float *uphill; /* [synthetic, width] dg/dz */
    float *w1t;    /* panels of W1 transposed; NULL without ascent */
    float *w2t;    /* panels of W2 transposed */
    float *gradient, *moment1, *moment2; /* blocks in the shape of a head */
} rf_ans_work;

rf_status rf_ans_work_init(rf_ans_work *w, size_t width, size_t positives,
                           size_t negatives, size_t synthetic, bool ascent,
                           rf_error *err);
void rf_ans_work_release(rf_ans_work *w); /* accepts a zeroed struct */

/* Starts a new head: zeroes the moments. negatives may be fewer than in
 * rf_ans_work_init. */
void rf_ans_work_start(rf_ans_work *w, size_t negatives);

/* x = rows of z [.., width]. */
void rf_ans_gather(rf_ans_work *w, const float *z, const uint32_t *positives,
                   const uint32_t *negatives);

/* Adds `by` [positives, width] to the positives. */
void rf_ans_move_positives(rf_ans_work *w, const float *by);

/* Moves w->eps, updates the head, returns the loss. */
float rf_ans_step(rf_ans_work *w, const rf_head *head, const rf_ans_settings *s,
                  const rf_head_dropout *drop, const rf_adam *adam);

/* k times eps_i += rate grad / ||grad||, up the slope of softplus(g(z_i + eps_i)), no
 * dropout. softplus rises with g, so its unit gradient is that of g itself, which does
 * not vanish where softplus is flat. */
void rf_ans_ascend(rf_ans_work *w, const rf_head *head, size_t steps, float rate);

/* eps_i *= clip(||eps_i||, r, gamma r) / ||eps_i|| */
void rf_ans_project(rf_ans_work *w, float radius, float gamma);

/* Adds the rows z + eps to x; returns the loss and leaves its gradient in w->gradient. */
float rf_ans_gradient(rf_ans_work *w, const rf_head *head, const rf_ans_settings *s,
                      const rf_head_dropout *drop);

/* One step of Adam on the whole head with w->gradient. */
void rf_ans_update(rf_ans_work *w, const rf_head *head, const rf_adam *adam);

#endif
