/* method_run.c - runs an open-set method on rows and a known classifier */
#include "method_run.h"

#include "num/train.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

float *copy_floats(const float *x, size_t n)
{
    float *p = malloc((n ? n : 1) * sizeof *p);
    assert_non_null(p);
    if (x)
        memcpy(p, x, n * sizeof *p);
    return p;
}

void random_known(rf_known *k, size_t width, size_t classes, uint64_t seed)
{
    assert_int_equal(rf_known_init(k, width, classes, NULL), RF_OK);
    rf_known_reset(k, seed);
    for (size_t i = 0; i < k->floats; i++)
        k->block[i] *= 20.0f;
}

void random_rows(float *z, uint32_t *class_of, size_t rows, size_t width, size_t classes,
                 float spread, uint64_t seed)
{
    const rf_train_table *t = rf_train_kernels();
    float *centre = copy_floats(NULL, width);
    for (size_t i = 0; i < rows; i++) {
        size_t c = i % classes;
        t->normal(centre, width, rf_rng_key(seed, 1, c, 0));
        t->normal(z + i * width, width, rf_rng_key(seed, 2, i, 0));
        for (size_t j = 0; j < width; j++)
            z[i * width + j] = 2.0f * centre[j] + spread * z[i * width + j];
        class_of[i] = (uint32_t)c;
    }
    free(centre);
}

static void check_shapes(const rf_method_state *state, const rf_method *m)
{
    assert_true(m->n_arrays <= RF_METHOD_ARRAYS);
    for (size_t i = 0; i < m->n_arrays; i++) {
        const rf_method_array *a = &m->arrays[i];
        size_t cells = state->arrays[i].shape[0] * state->arrays[i].shape[1];
        for (size_t d = 0; d < 3; d++) {
            size_t want = d < a->rank ? rf_dim_size(state, a->dims[d]) : 1;
            if (want == SIZE_MAX)
                assert_true(state->arrays[i].shape[d] > 0);
            else
                assert_int_equal(state->arrays[i].shape[d], want);
        }
        for (size_t j = 0; j < cells; j++)
            if (!isfinite(state->arrays[i].data[j]))
                fail_msg("%s.%s[%zu] is %g", m->name, a->name, j,
                         (double)state->arrays[i].data[j]);
    }
}

void fit_method(rf_method_state *state, const rf_method *m, const rf_fit *in)
{
    rf_error err = {0};
    *state = (rf_method_state){.width = in->width, .classes = in->classes};
    if (m->fit(state, in, &err) != RF_OK)
        fail_msg("%s: %s", m->name, err.msg);
    check_shapes(state, m);
    if (m->prepare && m->prepare(state, &err) != RF_OK)
        fail_msg("%s: %s", m->name, err.msg);
}

void drop_state(rf_method_state *state, const rf_method *m)
{
    if (m->release)
        m->release(state);
    assert_null(state->prepared);
    rf_method_state_release(state);
}

void judge_rows(const rf_method_state *state, const rf_method *m, const rf_known *known,
                const float *z, size_t n, size_t block, rf_verdict *out, float *margins)
{
    float *scratch = copy_floats(NULL, m->scratch ? m->scratch(state) : 0);
    for (size_t i = 0; i < n; i += block) {
        size_t rows = n - i < block ? n - i : block;
        float *x = copy_floats(z + i * state->width, rows * state->width);
        float *hidden = copy_floats(NULL, rows * state->width);
        float *logits = copy_floats(NULL, rows * known->classes);
        rf_known_logits(known, x, rows, logits, hidden);
        rf_signals s = {.n = rows, .z = x, .hidden = hidden, .logits = logits};
        m->judge(state, &s, out + i, margins + i * state->classes, scratch);
        free(x);
        free(hidden);
        free(logits);
    }
    free(scratch);
}
