#!/usr/bin/env python3
"""make_drift_golden.py - writes tests/golden/drift.txt: the statistics of the drift watch.

Reference: scipy for tails, Fisher's test, the Pearson statistic and Welch's t; the estimates of
the variation between blocks are written here from their formulas, with numpy. One case per line:

    f      x d1 d2                              p
    t      t df                                 p
    fisher a n1 b n0                            p
    shares H K  counts, (H + 1) rows of K       rho F df1 df2 p
    mean   H    n, sum, squares, (H + 1) each   tau t df p

Needs Debian's python3-scipy (made with scipy 1.10.1).
"""
import pathlib

import numpy as np
from scipy import stats

rng = np.random.default_rng(20)
lines = []


def add(kind, given, want):
    lines.append(' '.join([kind] + [f'{x:.17g}' for x in list(given) + list(want)]))


def shares(table):
    before, recent = table[:-1], table[-1]
    n = before.sum(1)
    before, n = before[n > 0], n[n > 0]
    total, n1, h = n.sum(), recent.sum(), len(n)
    p0 = before.sum(0) / total
    seen = p0 > 0
    k = seen.sum()
    rho = 0.0
    if k > 1:
        want = np.outer(n, p0[seen])
        x2 = ((before[:, seen] - want) ** 2 / want).sum()
        rho = (x2 / (k - 1) - (h - 1)) / ((n - 1) * (1 - n / total)).sum()
        rho = min(max(rho, 0.0), 1.0)
    two = np.array([before.sum(0), recent])
    two = two[:, two.sum(0) > 0]
    k = two.shape[1]
    pearson = stats.chi2_contingency(two, correction=False)[0]
    # var of the difference, as a multiple of what sampling alone gives
    v = (1 + (n1 - 1) * rho) / n1 + ((n / total) ** 2 * (1 + (n - 1) * rho) / n).sum()
    f = pearson * (1 / n1 + 1 / total) / v / (k - 1)
    return [rho, f, k - 1, (h - 1) * (k - 1), stats.f.sf(f, k - 1, (h - 1) * (k - 1))]


def mean(blocks):
    """blocks: lists of margins, the recent one last"""
    before, recent = [b for b in blocks[:-1] if len(b)], blocks[-1]
    n = np.array([len(b) for b in before], float)
    h, total = len(n), n.sum()
    every = np.concatenate(before)
    s2 = sum(((b - b.mean()) ** 2).sum() for b in before) / (total - h)
    w = n / s2
    q = (w * (np.array([b.mean() for b in before]) - every.mean()) ** 2).sum()
    tau2 = max(0.0, (q - (h - 1)) / (w.sum() - (w ** 2).sum() / w.sum()))
    plain = stats.ttest_ind(recent, every, equal_var=False)
    v1, v0 = recent.var(ddof=1) / len(recent), every.var(ddof=1) / total
    t = plain.statistic * np.sqrt((v1 + v0) / (v1 + v0 + tau2 * (1 + ((n / total) ** 2).sum())))
    welch = (v1 + v0) ** 2 / (v1 ** 2 / (len(recent) - 1) + v0 ** 2 / (total - 1))
    df = min(welch, h - 1)
    return [np.sqrt(tau2), t, df, 2 * stats.t.sf(abs(t), df)]


for x in [0.0, 1e-6, 0.01, 0.5, 1.0, 1.7, 4.2, 11.0, 60.0, 900.0]:
    for d1 in [1, 2, 5, 76, 300]:
        for d2 in [1, 4, 167, 12692, 1e6]:
            add('f', [x, d1, d2], [stats.f.sf(x, d1, d2)])
for t in [0.0, -0.3, 1.96, 4.5, -12.0]:
    for df in [1, 2.5, 30, 167, 1e5]:
        add('t', [t, df], [2 * stats.t.sf(abs(t), df)])
for a, n1, b, n0 in [(0, 30, 0, 500), (3, 30, 1, 500), (1, 40, 40, 400), (30, 30, 480, 500), (0, 60, 120, 9000),
                     (7, 50, 20, 5000), (49, 50, 4100, 5000), (2, 100, 300, 100000), (5, 5, 5, 5)]:
    add('fisher', [a, n1, b, n0], [stats.fisher_exact([[a, n1 - a], [b, n0 - b]])[1]])
for case in range(48):
    h, k = 168 if case % 12 == 11 else int(rng.integers(5, 40)), int(rng.integers(2, 16))
    p = rng.dirichlet(np.full(k, rng.uniform(0.5, 5)))
    strength = [np.inf, 500.0, 30.0][case % 3]
    rows = []
    for i in range(h + 1):
        size = int(rng.poisson(rng.choice([3, 40, 700])))
        if i == h:
            size += 40
            p = np.roll(p, 1) if case % 4 == 3 else p
        rows.append(rng.multinomial(size, p if np.isinf(strength) else rng.dirichlet(strength * p + 1e-9)))
    table = np.array(rows, float)
    add('shares', [h, k, *table.ravel()], shares(table))
for case in range(36):
    h = 168 if case % 12 == 11 else int(rng.integers(5, 40))
    tau = [0.0, 0.3][case % 2]
    blocks = [rng.normal(rng.normal(2, tau), 1.5, int(rng.poisson(rng.choice([2, 40, 300])))) for _ in range(h)]
    blocks.append(rng.normal(2 + (case % 4 == 3) * 0.8, rng.uniform(0.5, 3), int(rng.integers(30, 400))))
    n = [len(b) for b in blocks]
    add('mean', [h, *n, *[b.sum() for b in blocks], *[(b ** 2).sum() for b in blocks]], mean(blocks))

path = pathlib.Path(__file__).parent.parent / 'tests/golden/drift.txt'
path.write_text('\n'.join(lines) + '\n')
print(f'{path}: {len(lines)} cases')
