/* gelu_fit.h - the rational function behind GELU, the same in every variant */
#ifndef RF_NUM_GELU_FIT_H
#define RF_NUM_GELU_FIT_H

/* Phi(x) - 1/2 = x P(x^2) / Q(x^2) for |x| <= 5.2, beyond which it is +-1/2 to the last
 * bit that matters. Coefficients by weighted least squares (tools/fit_gelu.py); largest
 * error of the whole GELU in single precision: 2.2e-7 max(1, |x|). */
#define GELU_EDGE 5.2f
static const float gelu_p[7] = {1.26117204e-10f, -2.29581326e-08f, 3.01161766e-06f,
                                1.42730506e-04f, 4.32768881e-03f,  3.31020899e-02f,
                                3.98942132e-01f};
static const float gelu_q[5] = {5.37632707e-05f, 1.66665219e-03f, 2.74576116e-02f,
                                2.49639446e-01f, 1.0f};

#endif
