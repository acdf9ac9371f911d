#!/usr/bin/env python3
"""Write the reference for training one head with adaptive negative samples.

Reference: Algorithm 1 of the paper in plain PyTorch, float64, gradients by autograd;
only the stored results are rounded to float32. The random streams of dropout are
reimplemented below from src/base/rng.h and src/num/train.h.
Made with PyTorch 1.13 (Debian 12's python3-torch), Python 3.11.

Run OMP_NUM_THREADS=1 python3 tools/make_ans_golden.py (fixed seed); it writes
  tests/golden/ans.safetensors
    z [40, 24], positives [3, 5] and negatives [3, 7] rows of it, noise [3, 5, 24],
    w1 b1 w2 b2 w3 b3: the head before the first step
    X.eps         eps of the first step: [1 + ascent steps, 5, 24] start, each step
    X.projected   [5, 24] after projection (unchanged if X has none); vanilla has neither
    X.loss [3]    of three steps
    X.grad.P      gradient of the first step
    X.after1.P    parameters after one step of Adam (X = full, dropout)
    X.after3.P    and after three
  X = full (noise, ascent, projection), dropout (full with dropout), noise (noise only),
      projection (noise and projection), vanilla (lambda 0), P = w1 b1 w2 b2 w3 b3
"""
import math
import random

import torch
import torch.nn.functional as F

from make_tiny_encoder import GOLDEN, normals, write_safetensors

WIDTH, HIDDEN1, HIDDEN2, ROWS = 24, 256, 64, 40
POSITIVES, NEGATIVES, STEPS = 5, 7, 3
RADIUS, GAMMA, ASCENT_RATE, ASCENT_STEPS = 4.0, 2.0, 0.3, 3
LAMBDA, NEGATIVE_WEIGHT, DROPOUT = 0.7, 1.3, 0.25
RATE, BETA1, BETA2, EPS = 1e-3, 0.9, 0.999, 1e-8
NAMES = ("w1", "b1", "w2", "b2", "w3", "b3")
MASK, STEP = (1 << 64) - 1, 0x9E3779B97F4A7C15
CLEAR = 2e-6  # no ReLU input may be closer to 0: rounding must not decide


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def stream_key(seed, *names):
    h = mix(seed + STEP & MASK)
    for name in names:
        h = mix((h ^ name) + STEP & MASK)
    return h


def dropout_mask(shape, p, key):
    drop = math.floor(65536 * p + 0.5)
    bits = [mix(key + (i // 4 + 1) * STEP & MASK) >> 16 * (i % 4) & 0xFFFF
            for i in range(math.prod(shape))]
    scale = 65536 / (65536 - drop)
    return torch.tensor([0.0 if b < drop else scale for b in bits],
                        dtype=torch.float64).reshape(shape)


class Head:
    nearest = math.inf  # smallest |ReLU input|

    def __init__(self, start):
        self.p = {n: t.double().requires_grad_(True) for n, t in start.items()}

    def relu(self, x):
        Head.nearest = min(Head.nearest, x.abs().min().item())
        return F.relu(x)

    def __call__(self, x, masks=(1.0, 1.0)):
        p = self.p
        h = self.relu(F.linear(x, p["w1"], p["b1"])) * masks[0]
        h = self.relu(F.linear(h, p["w2"], p["b2"])) * masks[1]
        return F.linear(h, p["w3"], p["b3"])[:, 0]


def one_step(head, z_pos, z_neg, eps, step, ascent, project, lam, dropout):
    """eps after each ascent step, eps after projection, loss, gradients"""
    trail = [eps]
    for _ in range(ascent):
        eps = eps.detach().requires_grad_(True)
        grad, = torch.autograd.grad(F.softplus(head(z_pos + eps)).sum(), eps)
        eps = (eps + ASCENT_RATE * grad / (grad.norm(dim=1, keepdim=True) + 1e-12)).detach()
        trail.append(eps)
    if project:
        norm = eps.norm(dim=1, keepdim=True)
        eps = eps * norm.clamp(RADIUS, GAMMA * RADIUS) / norm
    rows = [z_pos, z_neg] + ([z_pos + eps] if lam else [])
    x = torch.cat(rows)
    masks = (1.0, 1.0)
    if dropout:
        masks = [dropout_mask((len(x), n), DROPOUT, stream_key(5, 6, layer, step))
                 for layer, n in ((1, HIDDEN1), (2, HIDDEN2))]
    g, known = head(x, masks), POSITIVES + NEGATIVES
    loss = (F.softplus(-g[:POSITIVES]).sum()
            + NEGATIVE_WEIGHT * F.softplus(g[POSITIVES:known]).sum()
            + lam * F.softplus(g[known:]).sum()) / known
    grads = torch.autograd.grad(loss, [head.p[n] for n in NAMES])
    return trail, eps, loss.item(), dict(zip(NAMES, grads))


def run(case, out, start, z, positives, negatives, noise, **switches):
    head = Head(start)
    m = {n: torch.zeros_like(t) for n, t in head.p.items()}
    v = {n: torch.zeros_like(t) for n, t in head.p.items()}
    whole, losses = case in ("full", "dropout"), []
    for step in range(STEPS):
        trail, eps, loss, grad = one_step(head, z[positives[step]].double(),
                                          z[negatives[step]].double(),
                                          noise[step].double(), step, **switches)
        losses.append(loss)
        if step == 0:
            if switches["lam"]:
                out[case + ".eps"], out[case + ".projected"] = torch.stack(trail), eps
            out.update({f"{case}.grad.{n}": grad[n] for n in NAMES if whole or n != "w2"})
        with torch.no_grad():
            for n, p in head.p.items():
                m[n] = BETA1 * m[n] + (1 - BETA1) * grad[n]
                v[n] = BETA2 * v[n] + (1 - BETA2) * grad[n] ** 2
                fixed1, fixed2 = m[n] / (1 - BETA1 ** (step + 1)), v[n] / (1 - BETA2 ** (step + 1))
                p -= RATE * fixed1 / (fixed2.sqrt() + EPS)
        if whole and step in (0, STEPS - 1):
            out.update({f"{case}.after{step + 1}.{n}": p.detach().clone()
                        for n, p in head.p.items()})
    out[case + ".loss"] = torch.tensor(losses, dtype=torch.float64)


def main():
    rng = random.Random(20)
    z = normals(rng, ROWS, WIDTH)
    z[:12] += normals(rng, 1, WIDTH, scale=0.8)  # the class: rows 0 to 11

    def even(*shape, fan_in):
        bound = 1.5 / math.sqrt(fan_in)
        return torch.tensor([rng.uniform(-bound, bound) for _ in range(math.prod(shape))],
                            dtype=torch.float32).reshape(shape)

    start = {"w1": even(HIDDEN1, WIDTH, fan_in=WIDTH), "b1": even(HIDDEN1, fan_in=WIDTH),
             "w2": even(HIDDEN2, HIDDEN1, fan_in=HIDDEN1), "b2": even(HIDDEN2, fan_in=HIDDEN1),
             "w3": even(1, HIDDEN2, fan_in=HIDDEN2), "b3": even(1, fan_in=HIDDEN2)}
    positives = [rng.sample(range(12), POSITIVES) for _ in range(STEPS)]
    negatives = [rng.sample(range(12, ROWS), NEGATIVES) for _ in range(STEPS)]
    noise = normals(rng, STEPS, POSITIVES, WIDTH)
    lengths = torch.tensor([0.3, 0.9, 1.5, 1.95, 4.0]) * RADIUS  # inside, within, beyond the shell
    noise = noise / noise.norm(dim=2, keepdim=True) * lengths[None, :, None]
    out = {"z": z, "noise": noise, "positives": torch.tensor(positives).int(),
           "negatives": torch.tensor(negatives).int(), **start}
    given = (start, z, positives, negatives, noise)
    full = dict(ascent=ASCENT_STEPS, project=True, lam=LAMBDA, dropout=False)
    run("full", out, *given, **full)
    run("dropout", out, *given, **{**full, "dropout": True})
    run("noise", out, *given, **{**full, "ascent": 0, "project": False})
    run("projection", out, *given, **{**full, "ascent": 0})
    run("vanilla", out, *given, **{**full, "ascent": 0, "lam": 0.0})
    assert Head.nearest > CLEAR, Head.nearest
    write_safetensors(GOLDEN / "ans.safetensors",
                      {n: t.float() if t.is_floating_point() else t for n, t in out.items()})


if __name__ == "__main__":
    main()
