/* method.c - code shared by all methods: fitting with checks, release, objectives */
#include "open/method.h"

#include "num/kernels.h"

#include <stdlib.h>

rf_objective *rf_objective_new(size_t size, rf_objective first,
                               rf_status (*make)(rf_objective *o,
                                                 const rf_objective_setting *s,
                                                 rf_error *err),
                               const rf_objective_setting *s, rf_error *err)
{
    rf_objective *o = calloc(1, size);
    if (!o) {
        rf_fail_nomem(err, size, "training");
        return NULL;
    }
    *o = first;
    if (make(o, s, err) == RF_OK)
        return o;
    o->release(o);
    return NULL;
}

const char *rf_method_objective(const rf_method *m)
{
    return m->objective_name ? m->objective_name
           : m->objective    ? m->name
                             : "cross entropy";
}

/* Checks and prepares what fitting, which ended with st, left. */
static rf_status finish_fit(const rf_method *m, rf_method_state *state, rf_status st,
                            rf_error *err)
{
    const char *bad = st == RF_OK ? rf_method_not_finite(m, state) : NULL;
    if (bad)
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "method %s: fitting gave a NaN or an infinity in \"%s\"", m->name,
                       bad);
    return st == RF_OK && m->prepare ? m->prepare(state, err) : st;
}

rf_status rf_method_fit(const rf_method *m, rf_method_state *state, const rf_fit *in,
                        rf_error *err)
{
    *state = (rf_method_state){.width = in->width, .classes = in->classes};
    return finish_fit(m, state, m->fit ? m->fit(state, in, err) : RF_OK, err);
}

rf_status rf_method_update(const rf_method *m, rf_method_state *state, const rf_fit *in,
                           rf_fit_update *u, rf_error *err)
{
    *state = (rf_method_state){.width = in->width, .classes = in->classes};
    return finish_fit(m, state, m->update(state, in, u, err), err);
}

const char *rf_method_not_finite(const rf_method *m, const rf_method_state *state)
{
    for (size_t i = 0, n; i < m->n_arrays; i++)
        for (size_t k = 0; state->arrays[i].data && k < rf_method_state_pieces(state, i);
             k++) {
            const float *x = rf_method_state_piece(state, i, k, &n);
            if (!rf_kernels()->all_finite(x, n))
                return m->arrays[i].name;
        }
    return NULL;
}

void rf_method_release(const rf_method *m, rf_method_state *state)
{
    if (m->release)
        m->release(state);
    rf_method_state_release(state);
}
