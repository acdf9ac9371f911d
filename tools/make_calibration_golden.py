#!/usr/bin/env python3
"""Write the reference for calibration: margins to probabilities.

Reference: the penalised negative log likelihoods written with SciPy's expit and
log_softmax in float64 and minimised by SciPy's root finders; without the penalty by
scikit-learn's LogisticRegression, on so many rows that the penalty does not matter. Only
the stored results are rounded to float32.
Made with scikit-learn 1.2.1, SciPy 1.10.1, NumPy 1.24.2 (Debian 12).

Run OMP_NUM_THREADS=1 python3 tools/make_calibration_golden.py (fixed seed); it writes
  tests/golden/calibration.safetensors
    X.margin [n], X.known [n] 1 or 0, X.want [2]: slope and bias
  X = even, uneven (ten known texts to each open one), far (margins about 1,000, spread
      over 100), narrow (margins that differ by thousandths), split (a line separates
      them), few (three texts), turned (open texts have the larger margins: the slope is
      held at 0.01), many (8,000 texts; want is scikit-learn's, without penalty)
    X.margins [n, classes], X.truth [n], X.temperature [1]
  X = blunt, sharp, sure (every text right by a wide margin), lost (truth is random), one (a
      single row)
"""
import numpy as np
import torch
from scipy import optimize, special
from sklearn.linear_model import LogisticRegression

from make_tiny_encoder import GOLDEN, write_safetensors

RIDGE, LEAST = 1.0, 0.01


def weights(known):
    """Half for each kind; the total is the effective sample size of these weights."""
    w = np.where(known == 1, 0.5 / (known == 1).sum(), 0.5 / (known == 0).sum())
    return w * w.sum() ** 2 / (w ** 2).sum()


def fit_known(margin, known):
    w, sign = weights(known), 2.0 * known - 1.0

    def loss(at):
        slope, bias = at
        return (-w * special.log_expit(sign * (bias + slope * margin))).sum() + RIDGE / 2 * (slope - 1) ** 2

    def gradient(at):
        e = w * (special.expit(at[1] + at[0] * margin) - known)
        return np.array([(e * margin).sum() + RIDGE * (at[0] - 1), e.sum()])

    # bias for a slope, then the slope: both are zeros of increasing functions
    def bias_of(slope):
        reach = 60 + abs(slope) * np.abs(margin).max()
        return optimize.brentq(lambda b: gradient((slope, b))[1], -reach, reach, xtol=1e-14, rtol=1e-15)

    def slope_of(slope):
        return gradient((slope, bias_of(slope)))[0]

    slope = LEAST if slope_of(LEAST) > 0 else optimize.brentq(slope_of, LEAST, 100, xtol=1e-14, rtol=1e-15)
    at = np.array([slope, bias_of(slope)])
    for step in (1e-3, -1e-3):  # check with the loss itself: it is a minimum
        assert loss(at) <= loss(at + (0, step))
        assert loss(at) <= loss((slope + abs(step), bias_of(slope + abs(step))))
    return at


def known_cases(rng):
    def two(n_known, n_open, at_known, at_open, spread):
        return (np.concatenate([rng.normal(at_known, spread, n_known), rng.normal(at_open, spread, n_open)]),
                np.repeat([1, 0], [n_known, n_open]))

    yield "even", *two(200, 200, 1.5, -1.0, 1.6)
    yield "uneven", *two(300, 30, 2.5, 0.5, 1.5)
    yield "far", *two(120, 150, 1060, 960, 70)
    yield "narrow", *two(60, 60, 0.502, 0.5, 0.003)
    yield "split", np.array([-3.0, -2.5, -2.0, -0.5, 0.75, 1.0, 4.0, 9.0]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    yield "few", np.array([2.0, 0.5, -1.0]), np.array([1, 1, 0])
    yield "turned", *two(50, 80, -1.0, 1.0, 1.0)


def many(rng):
    known = np.repeat([1, 0], [6000, 2000])
    margin = np.where(known == 1, rng.normal(3, 2, 8000), rng.normal(-2, 2.5, 8000)).astype(np.float32).astype(float)
    model = LogisticRegression(penalty=None, tol=1e-10, max_iter=1000)
    model.fit(margin[:, None], known, sample_weight=weights(known))
    return margin, known, np.array([model.coef_[0, 0], model.intercept_[0]])


def fit_classes(margins, truth):
    rows = np.arange(len(truth))

    def loss(t):
        return -special.log_softmax(t * margins, 1)[rows, truth].sum() + RIDGE / 2 * (t - 1) ** 2

    def slope(t):
        return ((special.softmax(t * margins, 1) * margins).sum(1) - margins[rows, truth]).sum() + RIDGE * (t - 1)

    t = LEAST if slope(LEAST) > 0 else optimize.brentq(slope, LEAST, 1e3, xtol=1e-14, rtol=1e-15)
    assert loss(t) <= min(loss(t * 1.001), loss(max(t * 0.999, LEAST)))
    return t


def class_cases(rng):
    def drawn(n, classes, factor, spread):
        margins = rng.normal(-3, spread, (n, classes))
        p = special.softmax(factor * margins, 1)
        return margins, np.array([rng.choice(classes, p=row) for row in p])

    yield "blunt", *drawn(300, 6, 0.4, 3.0)
    yield "sharp", *drawn(300, 6, 2.5, 3.0)
    margins = rng.normal(-8, 1, (60, 4))
    truth = rng.integers(0, 4, 60)
    margins[np.arange(60), truth] += 14
    yield "sure", margins, truth
    yield "lost", rng.normal(0, 40, (80, 5)), rng.integers(0, 5, 80)
    yield "one", np.array([[0.5, 0.2, -1.0]]), np.array([0])


def main():
    rng = np.random.default_rng(20)
    out = {}
    for name, margin, known in known_cases(rng):
        margin = margin.astype(np.float32).astype(float)
        out |= {f"{name}.margin": margin, f"{name}.known": known, f"{name}.want": fit_known(margin, known)}
        print(name, out[f"{name}.want"])
    margin, known, want = many(rng)
    print("many", want, "with the penalty", fit_known(margin, known))
    out |= {"many.margin": margin, "many.known": known, "many.want": want}
    for name, margins, truth in class_cases(rng):
        margins = margins.astype(np.float32).astype(float)
        out |= {f"{name}.margins": margins, f"{name}.truth": truth,
                f"{name}.temperature": np.array([fit_classes(margins, truth)])}
        print(name, out[f"{name}.temperature"])
    assert out["turned.want"][0] == LEAST and out["lost.temperature"][0] == LEAST
    write_safetensors(GOLDEN / "calibration.safetensors",
                      {k: torch.tensor(v, dtype=torch.int32 if v.dtype.kind == "i" else torch.float32)
                       for k, v in out.items()})


if __name__ == "__main__":
    main()
