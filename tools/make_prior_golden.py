#!/usr/bin/env python3
"""Write the reference for the prior of ANS: scores of rows from a few texts per class.

Reference: the formulas of docs/design/few-rows.md, section 1 (without the head h_k), in
NumPy and float64. Where the program takes a short cut, this does not: rows are whitened
with the symmetric root of the covariance (eigh), not its Cholesky factor; likelihoods are
summed as two normal densities, not as a polynomial; a row left out of its class is left
out of the rows, and their means and numbers are taken again. Only the stored results are
rounded to float32.
Made with NumPy 1.24.2 (Debian 12).

Run OMP_NUM_THREADS=1 python3 tools/make_prior_golden.py (fixed seed); it writes
  tests/golden/prior.safetensors
    X.z [n, d], X.class [n], X.other [m, d]
    X.own_scores [n, classes], X.other_scores [m, classes]
  X = even (8 rows of each of 6 classes, more numbers than rows), uneven (2 to 40 rows),
      many (classes of 50, 51, 52, 97 and 130 rows: at most 50 texts of a class are kept),
      single (one row per class), some_single, one (a single class), one_row, two (two
      classes), copies (rows that occur twice or more), same (a class is one text
      repeated), lengths (rows of very different lengths), far (texts of a class are hardly
      nearer to each other than to others), sample (more than 2,000 rows: a sample of them
      scales the parts)
"""
import json
import pathlib
import struct

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"

SHRINKAGE, ROUND_CLASSES, LEAST_BETWEEN = 0.6, 100.0, 0.05
REACH, NO_SIMILARITY = 0.06, 1e-9
TEXTS_ROWS, KEPT_TEXTS, MEASURED_ROWS = 15.0, 50, 2000
LEAST_GAPS = (0.1, 0.5, 0.02)
UNIT = 10.0


def unit(x):
    length = np.sqrt((x ** 2).sum(-1, keepdims=True))
    return x / np.where(length > 0, length, 1)


def log_normal(x, mean, variance):
    return (-0.5 * (x - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)).sum(-1)


def keep(n):
    """Numbers of the kept texts of a class of n, evenly spaced."""
    most = min(n, KEPT_TEXTS)
    return [i for i in range(n) if i * most // n != (i + 1) * most // n]


class Prior:
    def __init__(self, z, y):
        self.y, self.k = y, int(y.max()) + 1
        self.n, self.d = z.shape
        self.x = unit(z.astype(np.float64))
        self.count = np.bincount(y, minlength=self.k).astype(float)
        self.find_space()
        self.t = self.place(self.x)
        self.find_variances()
        self.kept = [np.flatnonzero(y == c)[keep(int(self.count[c]))] for c in range(self.k)]
        self.find_weights()

    def class_means(self, x):
        return np.stack([x[self.y == c].mean(0) for c in range(self.k)])

    def find_space(self):
        self.m = self.x.mean(0)
        away = self.x - self.class_means(self.x)[self.y]
        v = away.T @ away / self.n
        if np.trace(v) == 0:
            self.white = np.eye(self.d)
            return
        v = (1 - SHRINKAGE) * v + SHRINKAGE * np.trace(v) / self.d * np.eye(self.d)
        e, u = np.linalg.eigh(v)
        self.white = u @ np.diag(1 / np.sqrt(e)) @ u.T

    def place(self, x):
        return unit((x - self.m) @ self.white.T)

    def find_variances(self):
        c = self.class_means(self.t)
        self.gm = c.mean(0)
        classes = max(self.k - 1, 1)
        spread = ((c - self.gm) ** 2).sum() / classes
        free = self.n - self.k
        w = ((self.t - c[self.y]) ** 2).sum() / free / self.d if free else 0.0
        if w <= 1e-6:
            w = 0.5 * (spread if spread > 1e-3 else 1.0) / self.d
        s = (c - self.gm).T @ (c - self.gm) / classes
        noise = w * (1 / self.count).mean()
        e, self.axes = np.linalg.eigh(s)
        b = max(np.trace(s) / self.d - noise, LEAST_BETWEEN * w) if self.k > 1 else w
        e = np.maximum(e - noise, 0)
        e = e * b * self.d / e.sum() if e.sum() > 0 else np.full(self.d, b)
        round_share = ROUND_CLASSES / (ROUND_CLASSES + self.k)
        self.w, self.b = w, (1 - round_share) * e + round_share * b

    def place_part(self, t, rows):
        """The log ratio of likelihoods: one more of these rows, or of a class never seen."""
        t, n = (t - self.gm) @ self.axes, len(rows)
        mean = ((rows - self.gm) @ self.axes).mean(0)
        mu = n * self.b / (n * self.b + self.w) * mean
        v = self.w + self.b * self.w / (n * self.b + self.w)
        return 30 / self.d * (log_normal(t, mu, v) - log_normal(t, 0, self.w + self.b))

    @staticmethod
    def texts_part(t, texts):
        near = np.exp((t @ texts.T - 1) / REACH).sum(-1) if len(texts) else 0.0
        return np.log((near + NO_SIMILARITY) / max(len(texts), 1))

    @staticmethod
    def mean_part(x, rows):
        return x @ unit(rows.sum(0))

    def parts(self, x, t, c, without=None):
        rows = np.flatnonzero(self.y == c)
        kept = self.kept[c]
        if without is not None:
            rows, kept = rows[rows != without], kept[kept != without]
        return np.array([self.place_part(t, self.t[rows]), self.texts_part(t, self.t[kept]),
                         self.mean_part(x, self.x[rows])])

    def all_parts(self, x):
        """[parts, rows, classes]"""
        t = self.place(x)
        return np.stack([self.parts(x, t, c) for c in range(self.k)], -1)

    def find_weights(self):
        measured = min(self.n, MEASURED_ROWS)
        rows = np.arange(measured) * self.n // measured
        alone = self.n == self.k  # nothing can be left out
        rows = rows[(self.count[self.y[rows]] > 1) | alone]
        own, others = np.zeros(3), np.zeros(3)
        parts = self.all_parts(self.x)
        for i in rows:
            c = self.y[i]
            own += self.parts(self.x[i], self.t[i], c, without=None if alone else i) / len(rows)
            if self.k > 1:
                others += np.delete(parts[:, i], c, 1).mean(1) / len(rows)
        say = self.n / self.k / (self.n / self.k + TEXTS_ROWS)
        self.weight = UNIT * np.array([1, say, 1]) / (2 + say) / np.maximum((0.5 if alone else 1) * (own - others), LEAST_GAPS)
        self.level = (self.weight * others).sum()

    def score(self, z):
        return np.einsum("p,pnc->nc", self.weight, self.all_parts(unit(z.astype(np.float64)))) - self.level


def draw(rng, sizes, d, spread=0.6, others=12):
    """Classes about random centres, with directions that all classes share; rows of the
    classes mixed, as in a file. Other rows: near classes, between them, and anywhere."""
    k, shape = len(sizes), rng.normal(size=(d, d)) / np.sqrt(d)
    centres = rng.normal(size=(k, d))
    y = rng.permutation(np.repeat(np.arange(k), sizes))
    z = centres[y] + spread * rng.normal(size=(len(y), d)) @ shape
    near = centres[rng.integers(0, k, others)] + spread * rng.normal(size=(others, d)) @ shape
    between = centres[rng.integers(0, k, (others, 2))].mean(1) + 0.1 * rng.normal(size=(others, d))
    return z, y, np.concatenate([near, between, rng.normal(size=(others, d))])


def cases(rng):
    yield "even", *draw(rng, [8] * 6, 64)
    yield "uneven", *draw(rng, [2, 3, 5, 9, 17, 30, 40], 24)
    yield "many", *draw(rng, [50, 51, 52, 97, 130, 4], 12)
    yield "single", *draw(rng, [1] * 5, 16)
    yield "some_single", *draw(rng, [1, 7, 1, 3], 16)
    yield "one", *draw(rng, [9], 16)
    yield "one_row", *draw(rng, [1], 8)
    yield "two", *draw(rng, [6, 11], 20)
    z, y, other = draw(rng, [10, 12, 6], 16)
    first = [np.flatnonzero(y == c)[0] for c in range(3)]
    for c in range(3):
        z[np.flatnonzero(y == c)[1:3 + c]] = z[first[c]]
    yield "copies", z, y, other
    z, y, other = draw(rng, [10, 12, 6], 16)
    z[y == 1] = z[np.flatnonzero(y == 1)[0]]
    yield "same", z, y, other
    z, y, other = draw(rng, [5, 8, 4], 16)
    yield "lengths", z * 10.0 ** rng.uniform(-6, 6, (len(z), 1)), y, other * 10.0 ** rng.uniform(-6, 6, (36, 1))
    yield "far", *draw(rng, [6] * 6, 64, spread=3.0)
    yield "sample", *draw(rng, [300] * 7 + [60], 6)


def write(path, arrays):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(arrays):
        a = arrays[name]
        header[name] = {"dtype": "I32" if a.dtype == np.int32 else "F32", "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    rng = np.random.default_rng(30)
    out = {}
    for name, z, y, other in cases(rng):
        z, other = z.astype(np.float32), other.astype(np.float32)
        p = Prior(z, y)
        own_scores, other_scores = p.score(z), p.score(other)
        print(f"{name:12} weights {p.weight.round(3)} noise {p.w:.3g} between {p.b.min():.3g} to {p.b.max():.3g}; "
              f"scores {own_scores.min():.1f} to {own_scores.max():.1f}, right {(own_scores.argmax(1) == y).mean():.2f}")
        if name == "sample":  # the file stays small
            own_scores = own_scores[::25]
        out |= {f"{name}.z": z, f"{name}.class": y.astype(np.int32), f"{name}.other": other,
                f"{name}.own_scores": own_scores.astype(np.float32),
                f"{name}.other_scores": other_scores.astype(np.float32)}
    write(GOLDEN / "prior.safetensors", out)


if __name__ == "__main__":
    main()
