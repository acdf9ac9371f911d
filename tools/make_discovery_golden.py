#!/usr/bin/env python3
"""Write the reference for the figures of lab discover, and for k-means.

Reference: scikit-learn's normalized_mutual_info_score, adjusted_rand_score and KMeans, SciPy's
linear_sum_assignment. Made with scikit-learn 1.2.1 and SciPy 1.10.1 (Debian 12).

Run python3 tools/make_discovery_golden.py; it writes
  tests/golden/discovery.safetensors
    CASE.truth, CASE.cluster [n]: numbers as float; CASE.figures: accuracy, NMI, ARI in per cent
    points [240, 8], inertia [1]: the best of 50 runs of k-means with 9 clusters
"""
import json
import pathlib
import struct

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"


def write(path, tensors):
    header, body = {}, b""
    for name, x in sorted(tensors.items()):
        raw = np.ascontiguousarray(x, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(np.shape(x)),
                        "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def figures(truth, cluster):
    table = np.zeros((truth.max() + 1, cluster.max() + 1))
    np.add.at(table, (truth, cluster), 1)
    rows, columns = linear_sum_assignment(-table)
    return 100 * np.array([table[rows, columns].sum() / len(truth),
                           normalized_mutual_info_score(truth, cluster),
                           adjusted_rand_score(truth, cluster)])


def main():
    r = np.random.RandomState(3)
    truth = r.randint(0, 7, 300)
    cases = {
        "random": (truth, r.randint(0, 7, 300)),
        "noisy": (truth, np.where(r.rand(300) < 0.3, r.randint(0, 7, 300), (truth * 3 + 2) % 7)),
        "more": (truth, truth * 2 + r.randint(0, 2, 300)),
        "fewer": (truth, truth // 2),
        "same": (truth, (truth + 1) % 7),
        "one": (truth, np.zeros(300, int)),
        "uneven": (np.minimum(r.geometric(0.3, 300), 12), np.minimum(r.geometric(0.2, 300), 25)),
    }
    out = {}
    for name, (a, b) in cases.items():
        out[name + ".truth"], out[name + ".cluster"] = a, b
        out[name + ".figures"] = figures(a, b)
    centres = r.randn(9, 8) * 3
    points = (centres[r.randint(0, 9, 240)] + r.randn(240, 8)).astype(np.float32)
    out["points"] = points
    out["inertia"] = np.array([KMeans(9, n_init=50, random_state=0, tol=0).fit(
        points.astype(np.float64)).inertia_])
    write(GOLDEN / "discovery.safetensors", out)


main()
