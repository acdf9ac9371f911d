#!/usr/bin/env python3
"""Write the reference for stage 1 of DeepUnk, DA-ADB and KNN-contrastive.

Reference: the losses in plain PyTorch, float64, gradients by autograd; only the stored
results are rounded to float32. The random streams (dropout, positives) are reimplemented
from src/base/rng.h and src/num/train.h, in make_ans_golden.py and below.
Made with PyTorch 1.13 (Debian 12's python3-torch), Python 3.11.

Run OMP_NUM_THREADS=1 python3 tools/make_cosine_golden.py (fixed seed); it writes
  tests/golden/cosine.safetensors
    z [30, 24] features of the training rows, class_of [30], batches [3, 8] rows
    known.dense.weight [24, 24], known.dense.bias [24], known.out.weight [5, 24],
    known.out.bias [5], and contrast.* (24 for 5): the parameters before the first step
    C.loss [3]         of three steps, before each
    C.dz [3, 8, 24]    dloss / dz of each
    C.after3.P         parameters after three steps of Adam
    C.dev [2]          score in per cent and loss of all rows after that, without dropout
      C = deepunk, deepunk.drop, deepunk.textoir, da_adb, da_adb.drop, knncl, knncl.drop,
          knncl.textoir
  and for the contrastive loss alone:
    queue.keys [50, 24], queue.class_of [50], queue.queries [6, 24], queue.query_class [6]
    queue.K.loss [1], queue.K.dq [6, 24] with the last 37 keys
      K = top (5 nearest of the same class), all (more than there are), unmasked (5)
Settings: ADAM, DROPOUT, SEED and others below; the test repeats them. The centroids of
DA-ADB are computed before the first and before the third step. KNN-contrastive has a
queue of 28 keys, at most 4 positives, momentum 0.9, temperature 0.5, contrast weight 0.3.
"""
import math
import random

import torch
import torch.nn.functional as F

from make_ans_golden import MASK, STEP, dropout_mask, mix, stream_key
from make_tiny_encoder import GOLDEN, normals, write_safetensors

WIDTH, CLASSES, ROWS, BATCH, STEPS = 24, 5, 30, 8, 3
SEED, DROPOUT, SITE_HIDDEN = 77, 0.2, 3
RATE, EPS, DECAY = 1e-2, 1e-3, 0.01
BETA1, BETA2 = torch.tensor([0.9, 0.999]).tolist()  # as float32: 1 - b matters
SCALE, MARGIN, DA_SCALE = 30.0, 0.35, 4.0
QUEUE, TOP, MOMENTUM, TEMPERATURE, WEIGHT = 28, 4, 0.9, 0.5, 0.3
KEYS, STREAM_POSITIVES = 3, 2 << 40
CLEAR = 1e-5  # no decision (ReLU, order of neighbours) may depend on less


def clear(x):
    assert x.abs().min().item() > CLEAR, x.abs().min().item()


def hidden(p, head, z, relu, step=None, drop=False):
    x = F.linear(z, p[head + ".dense.weight"], p[head + ".dense.bias"])
    if relu:
        clear(x.detach())
        x = F.relu(x)
    if drop and step is not None:
        key = stream_key(SEED, step, SITE_HIDDEN, int(head == "contrast"))
        x = x * dropout_mask(x.shape, DROPOUT, key)
    return x


# ---- losses: the mean over the batch, and the scores behind the dev answers ----

class DeepUnk:
    def __init__(self, drop=False, textoir=False, **_):
        self.drop, self.textoir = drop, textoir

    def before(self, step, p, z, y):
        pass

    def loss(self, p, z, y, rows, step):
        h = hidden(p, "known", z, False, step, self.drop)
        cos = F.linear(F.normalize(h), F.normalize(p["known.out.weight"]))
        v = F.softmax(cos, dim=1) if self.textoir else cos
        return F.cross_entropy(SCALE * (v - MARGIN * F.one_hot(y, CLASSES)), y), cos

    @staticmethod
    def score(answers, y):
        return (answers == y).double().mean().item() * 100


def macro_f1(answers, y):
    f = []
    for c in set(answers.tolist()) | set(y.tolist()):
        hit = ((answers == c) & (y == c)).sum().item()
        precision = hit / max((answers == c).sum().item(), 1)
        recall = hit / max((y == c).sum().item(), 1)
        f.append(2 * precision * recall / (precision + recall) if hit else 0.0)
    return 100 * sum(f) / len(f)


class DaAdb:
    score = staticmethod(macro_f1)

    def __init__(self, drop=False, **_):
        self.drop = drop

    def before(self, step, p, z, y):
        if step in (0, 2):
            h = hidden(p, "known", z, True).detach()
            self.centroids = torch.stack([h[y == c].mean(0) for c in range(CLASSES)])

    def loss(self, p, z, y, rows, step):
        h = hidden(p, "known", z, True, step, self.drop)
        d = (h[:, None] - self.centroids[None]).norm(dim=2).sort(dim=1).values
        clear((d[:, 1:] - d[:, :-1])[:, :2].detach())
        x = h * torch.exp(d[:, 1:2] - d[:, :1])
        n = x.norm(dim=1, keepdim=True)
        cos = F.linear(x / n, F.normalize(p["known.out.weight"]))
        return F.cross_entropy(DA_SCALE * n / (1 + n) * cos, y), cos


def contrastive(q, y, keys, key_class, top, unmasked):
    """Each positive against all negatives, over the queries; as in the header of
    src/methods/contrast.h, but written pair by pair."""
    s, total = q @ keys.T / TEMPERATURE, 0.0
    k = min(top, min((key_class == c).sum().item() for c in y)) if unmasked else top
    for i in range(len(q)):
        own = s[i] if unmasked else s[i][key_class == y[i]]
        negative, order = s[i][key_class != y[i]], own.sort(descending=True).values
        if 0 < k < len(order):  # a key may occur twice: then either will do
            gap = (order[k - 1:k] - order[k]).detach()
            clear(gap[gap > 1e-12] if (gap > 1e-12).any() else torch.ones(1))
        pairs = [F.cross_entropy(torch.cat([p[None], negative])[None], torch.tensor([0]))
                 for p in order[:k]]
        total = total + torch.stack(pairs).mean()
    return total / len(q)


class KnnCl:
    score = staticmethod(macro_f1)

    def __init__(self, drop=False, textoir=False, **_):
        self.drop, self.textoir = drop, textoir
        self.keys, self.key_class, self.key_head = [], [], None

    def positives(self, rows, y, step):
        drawn = []
        for i, row in enumerate(rows):
            state = stream_key(SEED, step, STREAM_POSITIVES, i)
            own = [r for r in range(ROWS) if self.all_y[r] == y[i]]
            for _ in range(KEYS):
                n = len(own) - 1  # the limit of rf_rng_below is never reached here
                state = state + STEP & MASK
                r = own[mix(state) % n]
                drawn.append(own[-1] if r == row else r)
        return drawn

    def before(self, step, p, z, y):
        self.all_z, self.all_y = z, y.tolist()

    def follow(self, p):
        now = {n: t.detach().clone() for n, t in p.items() if n.startswith("contrast")}
        if self.key_head is None:
            self.key_head = now
        self.key_head = {n: MOMENTUM * t + (1 - MOMENTUM) * now[n]
                         for n, t in self.key_head.items()}

    def enqueue(self, p, rows, y, step):
        self.follow(p)
        z = self.all_z[self.positives(rows, y.tolist(), step)]
        k = hidden(self.key_head, "contrast", z, True)
        k = F.linear(k, self.key_head["contrast.out.weight"],
                     self.key_head["contrast.out.bias"])
        self.keys = (self.keys + list(F.normalize(k)))[-QUEUE:]
        self.key_class = (self.key_class + y.repeat_interleave(KEYS).tolist())[-QUEUE:]

    def loss(self, p, z, y, rows, step):
        logits = F.linear(hidden(p, "known", z, True, step, self.drop),
                          p["known.out.weight"], p["known.out.bias"])
        entropy = F.cross_entropy(logits, y)
        if step is None:
            return entropy, logits
        self.enqueue(p, rows, y, step)
        q = F.linear(hidden(p, "contrast", z, True, step, self.drop),
                     p["contrast.out.weight"], p["contrast.out.bias"])
        con = contrastive(F.normalize(q), y, torch.stack(self.keys),
                          torch.tensor(self.key_class), TOP, self.textoir)
        return WEIGHT * con + (1 - WEIGHT) * entropy, logits


# ---- three steps ----

def run(out, case, make, start, z, y, batches, **switches):
    objective = make(**switches)
    p = {n: t.double().requires_grad_(True) for n, t in start.items()}
    m = {n: torch.zeros_like(t) for n, t in p.items()}
    v = {n: torch.zeros_like(t) for n, t in p.items()}
    losses, dzs = [], []
    for step in range(STEPS):
        objective.before(step, p, z, y)
        rows = batches[step]
        x = z[rows].clone().requires_grad_(True)
        loss, _ = objective.loss(p, x, y[rows], rows, step)
        grads = torch.autograd.grad(loss, [x, *p.values()], allow_unused=True)
        losses.append(loss.item())
        dzs.append(grads[0])
        with torch.no_grad():
            for (n, t), g in zip(p.items(), grads[1:]):
                if g is None:
                    continue  # not part of this objective: unchanged
                m[n] = BETA1 * m[n] + (1 - BETA1) * g
                v[n] = BETA2 * v[n] + (1 - BETA2) * g * g
                first, second = m[n] / (1 - 0.9 ** (step + 1)), v[n] / (1 - 0.999 ** (step + 1))
                t -= RATE * (DECAY * t * (t.dim() == 2) + first / (second.sqrt() + EPS))
    with torch.no_grad():
        loss, logits = objective.loss(p, z, y, None, None)
    out[case + ".loss"], out[case + ".dz"] = torch.tensor(losses), torch.stack(dzs)
    out[case + ".dev"] = torch.tensor([objective.score(logits.argmax(1), y), loss.item()])
    out.update({f"{case}.after3.{n}": t.detach() for n, t in p.items()
                if n.startswith("known") or case.startswith("knncl")})


def queue(out, rng):
    keys, queries = F.normalize(normals(rng, 50, WIDTH)), F.normalize(normals(rng, 6, WIDTH))
    key_class = torch.tensor([rng.randrange(4) for _ in range(50)])
    y = torch.tensor([0, 1, 2, 3, 1, 2])
    out.update({"queue.keys": keys, "queue.class_of": key_class.int(),
                "queue.queries": queries, "queue.query_class": y.int()})
    for name, top, unmasked in (("top", 5, False), ("all", 37, False), ("unmasked", 5, True)):
        q = queries.double().requires_grad_(True)
        loss = contrastive(q, y, keys[-37:].double(), key_class[-37:], top, unmasked)
        out[f"queue.{name}.dq"], = torch.autograd.grad(loss, q)
        out[f"queue.{name}.loss"] = loss.detach()[None]


def main():
    rng = random.Random(4)
    centres = normals(rng, CLASSES, WIDTH)
    y = torch.tensor([i % CLASSES for i in range(ROWS)])
    z = centres[y] + normals(rng, ROWS, WIDTH, scale=0.7)
    start = {}
    for head, n in (("known", CLASSES), ("contrast", WIDTH)):
        for layer, rows in (("dense", WIDTH), ("out", n)):
            start[f"{head}.{layer}.weight"] = normals(rng, rows, WIDTH, scale=0.2)
            start[f"{head}.{layer}.bias"] = normals(rng, rows, scale=0.1)
    batches = [rng.sample(range(ROWS), BATCH) for _ in range(STEPS)]
    out = {"z": z, "class_of": y.int(), "batches": torch.tensor(batches).int(), **start}
    given = (start, z.double(), y, batches)
    run(out, "deepunk", DeepUnk, *given)
    run(out, "deepunk.drop", DeepUnk, *given, drop=True)
    run(out, "deepunk.textoir", DeepUnk, *given, textoir=True)
    run(out, "da_adb", DaAdb, *given)
    run(out, "da_adb.drop", DaAdb, *given, drop=True)
    run(out, "knncl", KnnCl, *given)
    run(out, "knncl.drop", KnnCl, *given, drop=True)
    run(out, "knncl.textoir", KnnCl, *given, textoir=True)
    queue(out, rng)
    for n, t in out.items():
        assert not t.is_floating_point() or torch.isfinite(t).all(), n
    write_safetensors(GOLDEN / "cosine.safetensors",
                      {n: t.float() if t.is_floating_point() else t for n, t in out.items()})


if __name__ == "__main__":
    main()
