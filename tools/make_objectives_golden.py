#!/usr/bin/env python3
"""Write the reference for the training objectives of DOC, (K+1)-way, SelfSup and the baselines
with synthetic negatives, and for their margins.

Reference: plain PyTorch, float64, gradients by autograd, torch.optim.AdamW; only the stored
results are rounded to float32. The random streams are reimplemented from src/base/rng.h and
src/num/train.h. Made with PyTorch 1.13 (Debian 12's python3-torch), Python 3.11.

Run OMP_NUM_THREADS=1 python3 tools/make_objectives_golden.py (fixed seed); it writes
  tests/golden/objectives.safetensors
    z [24, 20], labels I32 [24], open_labels I32 [24] (4: an open text), z_point: z with the
    rows of class 3 all equal, dev_z [11, 20], dev_labels I32 [11]
    batch.0 .. batch.2   I32, rows of z
    dense.weight dense.bias out.weight out.bias   before the first step; objectives without
                         an open output have the first 4 rows of out
    X.loss [3]           of three steps
    X.dz.0 .. X.dz.2     [n, 20]
    X.grad.P             gradient of the first step;  P = dense.weight ...
    X.after.P            after three steps
    X.dev [2]            score and loss on the dev rows, before the first step
      X = doc doc_drop doc_textoir convex convex_drop selfsup negatives negatives_drop
          negatives_ascent negatives_radius negatives_point
    doc.threshold [2, 4] of the first parameters, alpha 0.3 and 1
    doc.margins [11, 4]  of the dev rows, first parameters, alpha 1
    convex.margins, msp.margins [11, 4]
"""
import math
import random

import torch
import torch.nn.functional as F

from make_ans_golden import MASK, STEP, dropout_mask, mix, stream_key
from make_tiny_encoder import GOLDEN, normals, write_safetensors

OUT = GOLDEN / "objectives.safetensors"
WIDTH, CLASSES, ROWS, DEV = 20, 4, 24, 11
BATCHES = ((0, 5, 10, 15, 3, 22, 9, 17), (2, 6, 18, 20, 21, 10), (23, 1, 8, 12, 4, 7, 13))
SEED = 12345678901
RATE, DECAY, EPS = 1e-3, 0.01, 1e-6
HIDDEN, POINTS, DEV_POINTS = 3, 1 << 41, 1 << 42  # names of streams
LOGITS = NOISE = POINTS
CLEAR = 1e-5  # no ReLU input may be closer to 0
NAMES = ("dense.weight", "dense.bias", "out.weight", "out.bias")


# ---- random streams ----

class Stream:
    def __init__(self, key):
        self.state = key

    def next(self):
        self.state = self.state + STEP & MASK
        return mix(self.state)

    def below(self, n):
        while True:
            x = self.next()
            if x < MASK - MASK % n:
                return x % n

    def uniform(self):
        return (self.next() >> 40) / 2**24


def normal(n, key):
    stream, out = Stream(key), []
    while len(out) < n:
        word = stream.next()
        r = math.sqrt(-2 * math.log(((word >> 40) + 1) / 2**24))
        turn = 2 * math.pi * (word >> 8 & 0xFFFFFF) / 2**24
        out += [r * math.cos(turn), r * math.sin(turn)]
    return torch.tensor(out[:n], dtype=torch.float64)


# ---- the classifier ----

class Classifier:
    nearest = math.inf  # smallest |ReLU input|

    def __init__(self, start, outputs):
        self.p = {n: t.double()[:outputs if n.startswith("out") else None].clone()
                  .requires_grad_(True) for n, t in start.items()}

    def dense(self, z):
        return F.linear(z, self.p["dense.weight"], self.p["dense.bias"])

    def __call__(self, z, p=0.0, step=0):
        return self.rest(self.dense(z), p, step)

    def rest(self, pre, p=0.0, step=0):
        Classifier.nearest = min(Classifier.nearest, pre.abs().min().item())
        h = pre.relu()
        if p:
            h = h * dropout_mask(h.shape, p, stream_key(SEED, step, HIDDEN, 0))
        return F.linear(h, self.p["out.weight"], self.p["out.bias"])


# ---- objectives: loss(model, z, labels, step) and dev(model) ----

class Doc:
    outputs = CLASSES

    def __init__(self, dropout=0.0, textoir=False):
        self.dropout, self.textoir = dropout, textoir

    def loss(self, model, z, labels, step):
        x = model(z, self.dropout, step)
        if self.textoir:
            x = x * dropout_mask(x.shape, self.dropout, stream_key(SEED, step, LOGITS, 0))
        return F.binary_cross_entropy(x.sigmoid(), F.one_hot(labels, CLASSES).double())

    def dev(self, model, z, labels):
        right = (model(z).argmax(1) == labels).double().mean()
        return 100 * right, Doc().loss(model, z, labels, 0)


class Convex:
    """Mixes the outputs of the dense layer, as TEXTOIR does; mixing z must be the same."""
    outputs = CLASSES + 1

    def __init__(self, dropout=0.0, temperature=0.1):
        self.dropout, self.temperature = dropout, temperature

    def extend(self, z, labels, *name):
        known = [i for i, y in enumerate(labels) if y < CLASSES]
        if len({labels[i].item() for i in known}) < 2:
            return z, labels
        made = []
        for i in range(len(known)):
            stream = Stream(stream_key(SEED, *(i if n is None else n for n in name)))
            while True:
                a, b = stream.below(len(z)), stream.below(len(z))
                if labels[a] != labels[b] and max(labels[a], labels[b]) < CLASSES:
                    break
            s = stream.uniform()
            made.append((a, b, s))
        points = torch.stack([s * z[a] + (1 - s) * z[b] for a, b, s in made])
        return torch.cat([z, points]), torch.cat([labels, torch.full([len(made)], CLASSES)])

    def loss(self, model, z, labels, step):
        x, y = self.extend(model.dense(z), labels, step, POINTS, None)
        return F.cross_entropy(model.rest(x, self.dropout, step) / self.temperature, y)

    def dev(self, model, z, labels):
        x, y = self.extend(model.dense(z), labels, DEV_POINTS, None, 0)
        logits = model.rest(x)
        return (100 * (logits.argmax(1) == y).double().mean(),
                F.cross_entropy(logits / self.temperature, y))


class Negatives:
    outputs, gamma = CLASSES + 1, 2.0

    def __init__(self, dropout=0.0, ascent=0, radius=0.0, rho=1.0):
        self.dropout, self.ascent, self.radius, self.rho = dropout, ascent, radius, rho

    def before(self, z, labels):
        var = torch.stack([z[labels == c].var(0, unbiased=False) for c in range(CLASSES)])
        wide = var.sum(1) > 1e-9
        var[~wide] = var[wide].mean(0)
        self.var, self.distance = var, (2 * var.sum(1)).sqrt()

    def loss(self, model, z, labels, step):
        y = torch.full_like(labels, CLASSES)
        r = self.rho * self.distance[labels]
        if self.radius:
            r = torch.full([len(z)], self.radius)
        eps = torch.stack([normal(WIDTH, stream_key(SEED, step, NOISE, i)) for i in range(len(z))])
        eps = eps * (4 * self.var[labels]).sqrt()
        for _ in range(self.ascent):
            eps = eps.detach().requires_grad_(True)
            rise = F.cross_entropy(model(z.detach() + eps), y, reduction="sum")
            grad, = torch.autograd.grad(rise, eps)
            eps = eps + 0.1 * r[:, None] * grad / grad.norm(dim=1, keepdim=True)
        eps = eps.detach()
        norm = eps.norm(dim=1)
        self.norms = (norm / r).tolist()
        eps = eps * (torch.minimum(torch.maximum(norm, r), self.gamma * r) / norm)[:, None]
        x, y = torch.cat([z, z + eps]), torch.cat([labels, y])
        return F.cross_entropy(model(x, self.dropout, step), y)

    def dev(self, model, z, labels):
        logits = model(z)
        return (100 * (logits.argmax(1) == labels).double().mean(),
                F.cross_entropy(logits, labels))


# ---- three steps ----

def run(name, objective, start, z, labels, dev, out):
    model = Classifier(start, objective.outputs)
    if isinstance(objective, Negatives):
        objective.before(z, labels)
    optimiser = torch.optim.AdamW([
        dict(params=[p], weight_decay=DECAY if p.dim() == 2 else 0) for p in model.p.values()],
        lr=RATE, betas=(0.9, 0.999), eps=EPS)
    out[name + ".dev"] = torch.stack(objective.dev(model, *dev))
    losses = []
    for step, batch in enumerate(BATCHES):
        rows = z[list(batch)].clone().requires_grad_(True)
        loss = objective.loss(model, rows, labels[list(batch)], step)
        optimiser.zero_grad()
        loss.backward()
        losses.append(loss.item())
        out[f"{name}.dz.{step}"] = rows.grad
        if step == 0:
            out.update({f"{name}.grad.{n}": p.grad.clone() for n, p in model.p.items()})
            if isinstance(objective, Negatives):
                print(name, "eps by radius:", " ".join(f"{n:.2f}" for n in objective.norms))
        optimiser.step()
    out[name + ".loss"] = torch.tensor(losses, dtype=torch.float64)
    out.update({f"{name}.after.{n}": p for n, p in model.p.items()})
    print(name, "losses", losses, "dev", out[name + ".dev"].tolist())


def fences(start, z, labels, dev_z, out):
    p = Classifier(start, CLASSES)(z).sigmoid()
    own = [p[labels == c, c] for c in range(CLASSES)]
    mirrored = [torch.cat([q, 2 - q]) for q in own]
    thresholds = [[max(0.5, 1 - alpha * m.std(unbiased=False).item()) for m in mirrored]
                  for alpha in (0.3, 1.0)]
    assert 0.5 in thresholds[1] and max(thresholds[1]) > 0.5, thresholds
    out["doc.threshold"] = torch.tensor(thresholds, dtype=torch.float64)
    out["doc.margins"] = Classifier(start, CLASSES)(dev_z).sigmoid() - out["doc.threshold"][1]
    logits = Classifier(start, CLASSES + 1)(dev_z)
    out["convex.margins"] = logits[:, :CLASSES] - logits[:, CLASSES:]
    q = logits.softmax(1)
    out["msp.margins"] = q[:, :CLASSES] - q[:, CLASSES:].clamp(min=0.5)


def main():
    torch.set_num_threads(1)
    rng = random.Random(31)
    labels = torch.tensor([i % CLASSES for i in range(ROWS)])
    dev_labels = torch.tensor([i % CLASSES for i in range(DEV)])
    open_labels = torch.where(torch.arange(ROWS) < 16, labels, CLASSES)
    centres = normals(rng, CLASSES, WIDTH, scale=1.2)
    z, dev_z = normals(rng, ROWS, WIDTH), normals(rng, DEV, WIDTH)
    z, dev_z = z + centres[labels], dev_z + centres[dev_labels]
    z_point = z.clone()
    z_point[labels == 3] = z[3]
    start = {"dense.weight": normals(rng, WIDTH, WIDTH, scale=0.25),
             "dense.bias": normals(rng, WIDTH, scale=0.1),
             "out.weight": normals(rng, CLASSES + 1, WIDTH, scale=0.3),
             "out.bias": normals(rng, CLASSES + 1, scale=0.1)}
    out = {"z": z, "labels": labels, "open_labels": open_labels, "z_point": z_point,
           "dev_z": dev_z, "dev_labels": dev_labels, **start}
    out.update({f"batch.{s}": torch.tensor(b) for s, b in enumerate(BATCHES)})
    dev = dev_z.double(), dev_labels
    for name, objective in {
            "doc": Doc(), "doc_drop": Doc(0.2), "doc_textoir": Doc(0.2, True),
            "convex": Convex(), "convex_drop": Convex(0.2, 0.5), "selfsup": Convex(0.2),
            "negatives": Negatives(), "negatives_drop": Negatives(0.2),
            "negatives_ascent": Negatives(0.2, ascent=3, rho=1.3),
            "negatives_radius": Negatives(radius=4.0),
            "negatives_point": Negatives()}.items():
        run(name, objective, start, (z_point if name.endswith("point") else z).double(),
            open_labels if name == "selfsup" else labels, dev, out)
    fences(start, z.double(), labels, dev[0], out)
    assert Classifier.nearest > CLEAR, f"a ReLU input of {Classifier.nearest:g}: another seed"
    out = {n: t.detach().float() if t.is_floating_point() else t.int() for n, t in out.items()}
    write_safetensors(OUT, out)
    print(f"{OUT}: {len(out)} tensors, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
