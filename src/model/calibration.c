/*
 * calibration.c - fit probabilities to margins: two convex problems, solved by Newton's
 * method
 *
 * Both have a ridge penalty of 1/2 (x - 1)^2 on slope or temperature. It weighs about as
 * much as one text: negligible against hundreds, decisive without any.
 */
#include "model/calibration.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define RIDGE 1.0
#define MAX_STEPS 200

/* ---- Known or open ----------------------------------------------------------------- */

/* Margins are normalised to u = (margin - centre) / scale, about -1 to 1, so that the
 * loss is curved at the start and steps stay small, whatever the range of the margins.
 *   at = {bias, slope} of u:  slope of the margin = at[1] / scale */
typedef struct known_fit {
    const float *margin;
    const uint8_t *known;
    size_t n;
    double weight[2];   /* of an open text, of a known one */
    double effective_n; /* effective number of texts */
    double centre, scale;
    bool slope_fixed;
} known_fit;

typedef struct derivatives {
    double loss, gradient[2];
    double bb, ba, aa; /* the second derivatives */
} derivatives;

static derivatives known_loss(const known_fit *f, const double at[2])
{
    double away = at[1] / f->scale - 1.0;
    derivatives r = {.loss = RIDGE / 2.0 * away * away,
                     .gradient = {0.0, RIDGE * away / f->scale},
                     .aa = RIDGE / (f->scale * f->scale)};
    for (size_t i = 0; i < f->n; i++) {
        double u = ((double)f->margin[i] - f->centre) / f->scale;
        double x = at[0] + at[1] * u, w = f->weight[f->known[i] != 0];
        double tail = exp(-fabs(x)), p = (x > 0.0 ? 1.0 : tail) / (1.0 + tail);
        double e = w * (p - (f->known[i] ? 1.0 : 0.0));
        double h = w * tail / ((1.0 + tail) * (1.0 + tail));
        r.loss += w * (log1p(tail) + fmax(f->known[i] ? -x : x, 0.0));
        r.gradient[0] += e;
        r.gradient[1] += e * u;
        r.bb += h;
        r.ba += h * u;
        r.aa += h * u * u;
    }
    if (f->slope_fixed) {
        r.gradient[1] = r.ba = 0.0;
        r.aa = 1.0;
    }
    return r;
}

/* Newton's method, damped as much as needed for the loss not to rise. */
static void minimize_known_loss(const known_fit *f, double at[2])
{
    double damping = 0.0;
    derivatives here = known_loss(f, at);
    for (size_t i = 0; i < MAX_STEPS; i++) {
        if (fmax(fabs(here.gradient[0]), fabs(here.gradient[1])) <=
            1e-12 * f->effective_n)
            return;
        double bb = here.bb + damping, aa = here.aa + damping;
        double det = bb * aa - here.ba * here.ba;
        double to[2] = {
            at[0] - (aa * here.gradient[0] - here.ba * here.gradient[1]) / det,
            at[1] - (bb * here.gradient[1] - here.ba * here.gradient[0]) / det};
        derivatives there = known_loss(f, to);
        /* Allow for rounding: the last steps are below the precision of the loss. */
        if (det > 0.0 && there.loss <= here.loss + 1e-13 * (1.0 + here.loss)) {
            at[0] = to[0];
            at[1] = to[1];
            here = there;
            damping = damping > 1e-9 ? damping / 10.0 : 0.0;
        } else
            damping = damping > 0.0 ? damping * 10.0 : 1e-6 * (1.0 + here.bb + here.aa);
    }
}

static rf_status prepare_known_fit(known_fit *f, rf_error *err)
{
    size_t count[2] = {0};
    double mean[2] = {0.0}, square = 0.0;
    for (size_t i = 0; i < f->n; i++) {
        if (!isfinite(f->margin[i]))
            return rf_fail(err, RF_ERR_NUMERIC, i,
                           "calibration: margin %zu is %g, wanted a finite number", i,
                           (double)f->margin[i]);
        count[f->known[i] != 0]++;
        mean[f->known[i] != 0] += (double)f->margin[i];
    }
    if (count[0] == 0 || count[1] == 0)
        return rf_fail(err, RF_ERR_ARG, 0,
                       "calibration: found %zu known and %zu open texts, wanted at least "
                       "one of each",
                       count[1], count[0]);
    /* Each kind gets half the weight. The total is the effective number of texts, (sum
     * w)^2 / sum w^2, which is weighed against the ridge. */
    double open = (double)count[0], known = (double)count[1];
    double effective_n = 4.0 * open * known / (open + known);
    f->effective_n = effective_n;
    f->weight[0] = effective_n / (2.0 * open);
    f->weight[1] = effective_n / (2.0 * known);
    f->centre = (mean[0] / open + mean[1] / known) / 2.0;
    for (size_t i = 0; i < f->n; i++) {
        double d = (double)f->margin[i] - f->centre;
        square += f->weight[f->known[i] != 0] * d * d;
    }
    f->scale = square > 0.0 ? sqrt(square / effective_n) : 1.0;
    return RF_OK;
}

rf_status rf_calibration_fit_known(rf_calibration *c, const float *margin,
                                   const uint8_t *known, size_t n, rf_error *err)
{
    known_fit f = {.margin = margin, .known = known, .n = n};
    rf_status st = prepare_known_fit(&f, err);
    if (st != RF_OK)
        return st;
    double at[2] = {0.0, fmin(f.scale, 1.0)};
    minimize_known_loss(&f, at);
    double least = (double)RF_CALIBRATION_MIN * f.scale;
    if (!(at[1] >= least)) { /* open margins are larger: never invert the slope */
        at[0] = 0.0;
        at[1] = least;
        f.slope_fixed = true;
        minimize_known_loss(&f, at);
    }
    double slope = at[1] / f.scale;
    rf_calibration fitted = {.slope = fmaxf((float)slope, RF_CALIBRATION_MIN),
                             .bias = (float)(at[0] - slope * f.centre),
                             .temperature = c->temperature,
                             .from = RF_CALIBRATION_FROM_PSEUDO_OPEN};
    st = rf_calibration_check(&fitted, err);
    if (st == RF_OK)
        *c = fitted;
    return st;
}

/* ---- Which class ------------------------------------------------------------------- */

typedef struct class_fit {
    const float *margins; /* [n, classes] */
    const uint32_t *truth;
    size_t n, classes;
} class_fit;

/* First and second derivative by the temperature t of
 *   sum over rows of log sum_c exp(t m_c) - t m_truth, and the ridge */
static void class_derivatives(const class_fit *f, double t, double *first, double *second)
{
    *first = RIDGE * (t - 1.0);
    *second = RIDGE;
    for (size_t i = 0; i < f->n; i++) {
        const float *m = f->margins + i * f->classes;
        double most = (double)m[0], sum = 0.0, mean = 0.0, square = 0.0;
        for (size_t k = 1; k < f->classes; k++)
            most = fmax(most, (double)m[k]);
        for (size_t k = 0; k < f->classes; k++) {
            double below = (double)m[k] - most, e = exp(t * below);
            sum += e;
            mean += e * below;
            square += e * below * below;
        }
        mean /= sum;
        *first += mean - ((double)m[f->truth[i]] - most);
        *second += fmax(square / sum - mean * mean, 0.0);
    }
}

/* The loss is convex, so its slope has one zero. Newton's steps towards it, or
 * bisection (of the logarithm) where they would leave the bracket. */
static double minimize_class_loss(const class_fit *f)
{
    double low = (double)RF_CALIBRATION_MIN, high = (double)RF_CALIBRATION_MAX;
    double t = 1.0;
    for (size_t i = 0; i < MAX_STEPS; i++) {
        double first, second;
        class_derivatives(f, t, &first, &second);
        if (first > 0.0)
            high = t;
        else
            low = t;
        double next = t - first / second;
        if (!(next > low && next < high))
            next = sqrt(low * high);
        if (fabs(next - t) <= 1e-10 * t)
            return next;
        t = next;
    }
    return t;
}

rf_status rf_calibration_fit_classes(rf_calibration *c, const float *margins,
                                     const uint32_t *truth, size_t n, size_t classes,
                                     rf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        assert(truth[i] < classes);
        for (size_t k = 0; k < classes; k++)
            if (!isfinite(margins[i * classes + k]))
                return rf_fail(
                    err, RF_ERR_NUMERIC, i,
                    "calibration: text %zu has a margin of %g, wanted a finite "
                    "number",
                    i, (double)margins[i * classes + k]);
    }
    const class_fit f = {margins, truth, n, classes};
    rf_calibration fitted = *c;
    fitted.temperature = fminf((float)minimize_class_loss(&f), RF_CALIBRATION_MAX);
    rf_status st = rf_calibration_check(&fitted, err);
    if (st == RF_OK)
        *c = fitted;
    return st;
}

/* ---- Checks ------------------------------------------------------------------------ */

rf_status rf_calibration_check(const rf_calibration *c, rf_error *err)
{
    if (!(c->slope > 0.0f) || !isfinite(c->slope))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "calibration: the slope is %g, wanted a finite number above 0",
                       (double)c->slope);
    if (!isfinite(c->bias))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "calibration: the bias is %g, wanted a finite number",
                       (double)c->bias);
    if (!(c->temperature > 0.0f) || !(c->temperature <= RF_CALIBRATION_MAX))
        return rf_fail(err, RF_ERR_NUMERIC, 0,
                       "calibration: the temperature is %g, wanted a number above 0, at "
                       "most %g",
                       (double)c->temperature, (double)RF_CALIBRATION_MAX);
    return RF_OK;
}

const char *rf_calibration_source_name(rf_calibration_source from)
{
    switch (from) {
    case RF_CALIBRATION_FROM_NOTHING: return NULL;
    case RF_CALIBRATION_FROM_DEFAULTS: return "defaults";
    case RF_CALIBRATION_FROM_PSEUDO_OPEN: return "pseudo-open";
    case RF_CALIBRATION_FROM_LABELLED: return "labelled";
    }
    return NULL;
}
