#!/usr/bin/env python3
"""Write the reference for t-SNE: affinities, one gradient, and the quality of 2-D maps.

Reference: the definitions of van der Maaten 2014, written with numpy in float64 over
dense matrices, no tree; the quality of a map is compared with scikit-learn's own t-SNE.
Made with numpy 1.24 and scikit-learn 1.2 (Debian 12), Python 3.11.

Run /usr/bin/python3 tools/make_tsne_golden.py (fixed seed); it writes
  tests/golden/tsne.safetensors
    x [120, 10]         points, two of them twice
    p [120, 120]        joint probabilities, perplexity 12
    map [120, 2]        an arbitrary map
    gradient [2, 120, 2]  of the divergence there: exaggeration 1 and 4
    blobs [600, 16]     12 groups that touch, blob_class [600]
    quality [2]         of scikit-learn's map of the blobs: share of points whose 5 nearest
                        in the map have mostly their class; trustworthiness (12 neighbours)
"""
import numpy as np
import torch
from sklearn.manifold import TSNE, trustworthiness

from make_tiny_encoder import GOLDEN, write_safetensors

PERPLEXITY = 12.0


def squared_distances(x):
    return ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)


def row(d, perplexity):
    """p over the neighbours at these squared distances, by bisection in log beta"""
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        w = np.exp(-np.exp(middle) * (d - d.min()))
        p = w / w.sum()
        entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
        low, high = (middle, high) if entropy > np.log(perplexity) else (low, middle)
    return p


def joint(x, perplexity):
    n, k = len(x), int(3 * perplexity)
    d = squared_distances(x)
    p = np.zeros((n, n))
    for i in range(n):
        others = np.array([j for j in range(n) if j != i])
        near = others[np.argsort(d[i, others], kind="stable")[:k]]
        p[i, near] = row(d[i, near], perplexity)
    return (p + p.T) / (2 * n)


def gradient(p, y, exaggeration):
    q = 1 / (1 + squared_distances(y))
    np.fill_diagonal(q, 0)
    pull = exaggeration * p * q - q * q / q.sum()
    return 4 * (pull[:, :, None] * (y[:, None, :] - y[None, :, :])).sum(axis=1)


def agreement(y, classes, k=5):
    d = squared_distances(y)
    np.fill_diagonal(d, np.inf)
    near = classes[np.argsort(d, axis=1)[:, :k]]
    return (2 * (near == classes[:, None]).sum(axis=1) > k).mean()


def main():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(120, 10)).astype(np.float32)
    x[:40] += 2
    x[77], x[78] = x[3], x[3]
    p = joint(x.astype(np.float64), PERPLEXITY)
    y = rng.normal(size=(120, 2)) * [3.0, 1.0]
    y[5] = y[6]
    y = y.astype(np.float32)
    g = np.stack([gradient(p, y.astype(np.float64), e) for e in (1.0, 4.0)])

    classes = np.arange(600) % 12
    centres = rng.normal(size=(12, 16)) * 1.2
    blobs = (centres[classes] + rng.normal(size=(600, 16))).astype(np.float32)
    theirs = TSNE(init="pca", learning_rate="auto", random_state=0).fit_transform(blobs)
    quality = [agreement(theirs, classes), trustworthiness(blobs, theirs, n_neighbors=12)]
    print("scikit-learn: agreement %.4f, trustworthiness %.4f" % tuple(quality))
    out = {"x": x, "p": p, "map": y, "gradient": g, "blobs": blobs,
           "quality": np.array(quality)}
    tensors = {name: torch.tensor(np.asarray(a, dtype=np.float32)) for name, a in out.items()}
    tensors["blob_class"] = torch.tensor(classes).int()
    write_safetensors(GOLDEN / "tsne.safetensors", tensors)


if __name__ == "__main__":
    main()
