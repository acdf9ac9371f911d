/*
 * objective_setup.h - an objective of open/method.h on a few rows of the golden file by
 * tools/make_objectives_golden.py
 *
 *   setup s;
 *   set_up(&s, &variants[i]);       // s.o has its first parameters
 *   tear_down(&s);
 *
 * Any failure here fails the running test.
 */
#ifndef RF_TEST_OBJECTIVE_SETUP_H
#define RF_TEST_OBJECTIVE_SETUP_H

#include "methods/methods.h"

#define WIDTH 20
#define CLASSES 4
#define ROWS 24
#define DEV 11
#define BATCH 8
#define STEPS 3
#define SEED UINT64_C(12345678901)

typedef struct variant {
    const char *name; /* in the golden file */
    const rf_method *method;
    float dropout, temperature, radius, rho;
    size_t ascent;
    bool textoir;
    const char *z, *labels;
} variant;

#define VARIANTS 12
extern const variant variants[VARIANTS];

typedef struct setup {
    const variant *v;
    rf_known known;
    rf_activations texts;
    rf_settings options;
    rf_objective *o;
    rf_team *team;
    float *z;
    uint32_t *class_of;
    float *dev_z;
    uint32_t *dev_class;
} setup;

/* For cmocka_run_group_tests. */
int open_golden(void **state);
int close_golden(void **state);

/* A fresh copy of the tensor "a.b.c"; the caller frees it. */
void *load(const char *a, const char *b, const char *c, size_t want);

void set_up(setup *s, const variant *v);
void tear_down(setup *s);

/* The objective's method, fitted to the training rows with the parameters as they are. */
void fit(const setup *s, rf_method_state *f);
void unfit(const setup *s, rf_method_state *f);

#endif
