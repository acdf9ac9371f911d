#!/usr/bin/env python3
"""fit_gelu.py - the coefficients of gelu8 in src/num/kernels_avx2.c

GELU(x) = x Phi(x), and Phi(x) - 1/2 = x P(x^2) / Q(x^2) on |x| <= EDGE with P of degree 6
and Q of degree 4 (Q(0) = 1), fitted by iterated least squares with weights that reduce the
largest error. Prints the coefficients from the highest power down and the largest
error of the result in single precision. Needs numpy:

    python3 tools/fit_gelu.py
"""
import math

import numpy as np

EDGE, P_DEGREE, Q_DEGREE, ROUNDS = 5.2, 6, 4, 200
erf = np.vectorize(math.erf)


def fit():
    x = EDGE * np.sin(np.linspace(1e-4, np.pi / 2, 6000))
    want = 0.5 * erf(x / math.sqrt(2)) / x
    v = (x / EDGE) ** 2
    p_terms = np.vander(v, P_DEGREE + 1, increasing=True)
    q_terms = np.vander(v, Q_DEGREE + 1, increasing=True)[:, 1:]
    matters = x * x / np.maximum(1, x)  # error of Phi -> error of GELU / max(1, |x|)
    pull, q, best = np.ones_like(x), np.ones_like(x), (math.inf, None)
    for _ in range(ROUNDS):
        weight = pull * (matters + 1e-3) / np.abs(q)
        system = np.hstack([p_terms, -want[:, None] * q_terms])
        found = np.linalg.lstsq(system * weight[:, None], want * weight, rcond=None)[0]
        q = 1 + q_terms @ found[P_DEGREE + 1:]
        error = np.abs((p_terms @ found[:P_DEGREE + 1] / q - want) * matters)
        if error.max() < best[0]:
            best = (error.max(), found.copy())
        pull *= (error / error.max() + 1e-3) ** 0.3
        pull /= pull.max()
    found = best[1]
    p = [found[i] / EDGE ** (2 * i) for i in range(P_DEGREE + 1)]
    return p, [1.0] + [found[P_DEGREE + i] / EDGE ** (2 * i) for i in range(1, Q_DEGREE + 1)]


def single(p, q, x):
    """The fit as the kernel evaluates it, without fused operations."""
    x = x.astype(np.float32)
    c = np.clip(x, np.float32(-EDGE), np.float32(EDGE))
    u = c * c

    def horner(terms):
        value = np.full_like(u, np.float32(terms[-1]))
        for term in terms[-2::-1]:
            value = value * u + np.float32(term)
        return value
    return x * np.clip(np.float32(0.5) + c * horner(p) / horner(q), 0, 1)


if __name__ == "__main__":
    p, q = fit()
    x = np.linspace(-12, 12, 400001).astype(np.float32)
    exact = 0.5 * x.astype(float) * (1 + erf(x.astype(float) / math.sqrt(2)))
    error = np.abs(single(p, q, x) - exact) / np.maximum(1, np.abs(x))
    print("P:", ", ".join(f"{c:.9g}" for c in reversed(p)))
    print("Q:", ", ".join(f"{c:.9g}" for c in reversed(q)))
    print(f"largest error in single precision: {error.max():.2g} max(1, |x|)")
