#!/usr/bin/env python3
"""Write the reference for the open-set methods that are fitted after training.

Reference: scikit-learn for LOF, neighbours and the Ledoit-Wolf covariance, SciPy for the
Gumbel fit, PyTorch for the steps of ADB's boundaries; the rest is written below
in NumPy. All in float64; only the stored results are rounded to float32.
Made with scikit-learn 1.2.1, SciPy 1.10.1, NumPy 1.24.2, PyTorch 1.13 (Debian 12).

Run OMP_NUM_THREADS=1 python3 tools/make_posthoc_golden.py (fixed seed); it writes
  tests/golden/posthoc.safetensors
    z [96, 20] class [96]; dev_z [30, 20] dev_class [30]; test_z [44, 20]
    dense_w dense_b out_w out_b: the known classifier
    hidden logits [44, ..] of test_z
    msp.prob [44, 5]
    lof.kdist lof.lrd [96], lof.offset, lof.score [44] (minus the offset): 7 neighbours, 0.1
    knn.index knn.distance [44, 4]; knn.dev, knn.own: threshold from dev and without
    mahalanobis.distance [44, 5], .dev, .own: threshold
    gumbel.data [3, 20], gumbel.location gumbel.scale [3]
    openmax.location openmax.scale [5]; openmax.prob, openmax.textoir [44, 6]
    adb.raw [5], adb.distance [4, 16], adb.class [4, 16], adb.loss [4], adb.after [4, 5]
    adb.score [4]: macro-F1 in per cent of adb.answers [4, 12] against adb.truth [4, 12]
"""
import numpy as np
import torch
import torch.nn.functional as F
from scipy import special, stats
from sklearn.covariance import LedoitWolf
from sklearn.metrics import f1_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from make_tiny_encoder import GOLDEN, write_safetensors

WIDTH, CLASSES = 20, 5
SIZES, DEV, TEST = (40, 25, 14, 10, 7), 30, 44
LOF_K, CONTAMINATION, KNN_K, QUANTILE = 7, 0.1, 4, 0.95
TAIL, RANKS = 12, 3
CLEAR = 1e-4  # no decision of a method may be closer to the fence


def known_classifier(rng):
    return {"dense_w": rng.normal(0, 0.3, (WIDTH, WIDTH)), "dense_b": rng.normal(0, 0.2, WIDTH),
            "out_w": rng.normal(0, 0.4, (CLASSES, WIDTH)), "out_b": rng.normal(0, 0.2, CLASSES)}


def signals(known, z):
    hidden = np.maximum(z @ known["dense_w"].T + known["dense_b"], 0)
    return hidden, hidden @ known["out_w"].T + known["out_b"]


def lof(out, train, test):
    model = LocalOutlierFactor(n_neighbors=LOF_K, contamination=CONTAMINATION, novelty=True)
    model.fit(train)
    out["lof.kdist"] = model._distances_fit_X_[:, LOF_K - 1]
    out["lof.lrd"], out["lof.offset"] = model._lrd, np.array([model.offset_])
    out["lof.score"] = model.decision_function(test)
    assert ((model.predict(test) == 1) == (out["lof.score"] >= 0)).all()
    assert np.abs(out["lof.score"]).min() > CLEAR
    assert 5 < (out["lof.score"] < 0).sum() < TEST - 5


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def knn(out, z, dev_z, test_z):
    search = NearestNeighbors(n_neighbors=KNN_K, algorithm="brute").fit(unit(z))
    out["knn.distance"], index = search.kneighbors(unit(test_z))
    out["knn.index"] = index.astype(np.int32)
    dev = search.kneighbors(unit(dev_z))[0][:, -1]
    own = search.kneighbors()[0][:, -1]  # without itself
    for name, d in (("knn.dev", dev), ("knn.own", own)):
        out[name] = np.array([np.quantile(d, QUANTILE)])


def mahalanobis(out, z, class_of, dev_z, test_z):
    means = np.stack([z[class_of == k].mean(0) for k in range(CLASSES)])
    model = LedoitWolf(assume_centered=True).fit(z - means[class_of])
    assert model.shrinkage_ > 0.01
    inverse = np.linalg.inv(model.covariance_)

    def distances(x):
        d = x[:, None] - means[None]
        return np.sqrt(np.einsum("nki,ij,nkj->nk", d, inverse, d))

    out["mahalanobis.distance"] = distances(test_z)
    for name, x in (("dev", dev_z), ("own", z)):
        out["mahalanobis." + name] = np.array([np.quantile(distances(x).min(1), QUANTILE)])


def gumbel(data):
    location, scale = stats.gumbel_l.fit(data)
    weights = np.exp((data - data.max()) / scale)  # the slope of the likelihood is 0 there
    slope = scale + data.mean() - (data * weights).sum() / weights.sum()
    assert abs(slope) < 1e-7 * scale, slope / scale
    return location, scale


def openmax(out, logits, class_of, test):
    means = np.stack([logits[class_of == k].mean(0) for k in range(CLASSES)])

    def cosine(v, mean):
        return 1 - (v * mean).sum(-1) / (np.linalg.norm(v, axis=-1) * np.linalg.norm(mean))

    fits = []
    for k in range(CLASSES):
        d = np.sort(cosine(logits[class_of == k], means[k]))
        fits.append(gumbel(d[-min(TAIL, len(d)):]))
    out["openmax.location"], out["openmax.scale"] = np.array(fits).T.copy()
    order = np.argsort(-test, axis=1)
    weight = np.zeros_like(test)
    for i in range(RANKS):
        weight[np.arange(len(test)), order[:, i]] = (RANKS - i) / RANKS
    for name, textoir in (("prob", False), ("textoir", True)):
        d = np.stack([cosine(test, m) for m in means], axis=1)
        if textoir:
            d = (d + np.linalg.norm(test[:, None] - means[None], axis=2)) / 200
        w = 1 - np.exp(-np.exp((d - out["openmax.location"]) / out["openmax.scale"]))
        revised = test * (1 - w * weight)
        rest = (test - revised).sum(1, keepdims=True)
        out["openmax." + name] = special.softmax(np.concatenate([revised, rest], 1), axis=1)


def adb(out, rng):
    steps, batch = 4, 16
    raw = torch.tensor(rng.normal(size=CLASSES), requires_grad=True)
    out["adb.raw"] = raw.detach().numpy().copy()
    out["adb.distance"] = rng.gamma(4.0, 0.3, (steps, batch))
    classes = rng.integers(0, CLASSES - 1, (steps, batch))  # the last never occurs
    out["adb.class"] = classes.astype(np.int32)
    optimiser, losses, after = torch.optim.Adam([raw], lr=0.05), [], []
    for step in range(steps):
        d, radius = torch.tensor(out["adb.distance"][step]), F.softplus(raw)[classes[step]]
        loss = (torch.where(d > radius, d - radius, torch.zeros_like(d)).mean()
                + torch.where(d < radius, radius - d, torch.zeros_like(d)).mean())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        after.append(raw.detach().numpy().copy())
    out["adb.loss"], out["adb.after"] = np.array(losses), np.stack(after)
    truth = rng.integers(0, CLASSES, (4, 12))
    answers = np.where(rng.random((4, 12)) < 0.6, truth, rng.integers(0, CLASSES + 1, (4, 12)))
    answers[0] = np.where(answers[0] == CLASSES, 0, answers[0])  # none is open
    truth[1][truth[1] == 2] = 1  # a class that occurs in neither
    answers[1][answers[1] == 2] = CLASSES
    answers[2] = CLASSES  # all open
    answers[3] = truth[3]
    out["adb.truth"], out["adb.answers"] = truth.astype(np.int32), answers.astype(np.int32)
    out["adb.score"] = np.array([100 * f1_score(t, a, average="macro", zero_division=0)
                                 for t, a in zip(truth, answers)])


def main():
    rng = np.random.default_rng(7)
    shape = rng.normal(0, 0.6, (WIDTH, WIDTH)) + np.eye(WIDTH)
    centres = rng.normal(1.0, 1.6, (CLASSES, WIDTH))

    def draw(classes, spread):
        x = centres[classes] + spread * rng.normal(size=(len(classes), WIDTH)) @ shape
        return x.astype(np.float32).astype(np.float64)

    class_of, dev_class = np.repeat(np.arange(CLASSES), SIZES), np.arange(DEV) % CLASSES
    rng.shuffle(class_of)
    z, dev_z = draw(class_of, 0.5), draw(dev_class, 0.5)
    test_class = np.arange(TEST) % CLASSES
    test_z = np.concatenate([draw(test_class[:24], 0.5), draw(test_class[24:], 1.6)])
    known = {n: t.astype(np.float32).astype(np.float64) for n, t in known_classifier(rng).items()}
    out = {"z": z, "dev_z": dev_z, "test_z": test_z, **known,
           "class": class_of.astype(np.int32), "dev_class": dev_class.astype(np.int32)}
    (hidden, logits), (test_hidden, test_logits) = signals(known, z), signals(known, test_z)
    out["hidden"], out["logits"] = test_hidden, test_logits
    out["msp.prob"] = special.softmax(test_logits, axis=1)
    lof(out, hidden, test_hidden)
    knn(out, z, dev_z, test_z)
    mahalanobis(out, z, class_of, dev_z, test_z)
    out["gumbel.data"] = np.stack([np.sort(rng.gamma(2, 0.1, 20)), 0.3 + 1e-3 * rng.random(20),
                                   np.repeat([0.1, 0.5], [19, 1]) + 1e-4 * np.arange(20)])
    fits = [gumbel(d) for d in out["gumbel.data"].astype(np.float32).astype(np.float64)]
    out["gumbel.location"], out["gumbel.scale"] = np.array(fits).T.copy()
    openmax(out, logits, class_of, test_logits)
    adb(out, rng)
    write_safetensors(GOLDEN / "posthoc.safetensors",
                      {n: torch.from_numpy(np.ascontiguousarray(t)).float()
                       if t.dtype == np.float64 else torch.from_numpy(t) for n, t in out.items()})


if __name__ == "__main__":
    main()
