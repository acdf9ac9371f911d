#!/usr/bin/env python3
"""Write the reference for stage 1: fine-tuning the last layers of an encoder and a C-way head.

    OMP_NUM_THREADS=1 python3 tools/make_tune_golden.py            writes the file
    OMP_NUM_THREADS=1 python3 tools/make_tune_golden.py --check    compares with it, writes nothing

Reference: plain PyTorch in float64, one text at a time, gradients by autograd; only the stored
results are rounded to float32. Made with PyTorch 1.13 (Debian 12's python3-torch), Python 3.11.
Both forms first check the reference itself: gradients against central differences, AdamW
against torch.optim.AdamW, dropout against a C program that includes src/base/rng.h (skipped
without cc), no ReLU input of the head so close to zero that float32 could
disagree, and no gradient near rounding. --check also prints how far the same training in
float32 ends from the file, which a tolerance has to allow for. It exits 1 at any difference.

The model
  The texts of x [tokens, width] follow each other; text i is rows offsets[i] to
  offsets[i + 1]. Per live layer (BERT: LayerNorm after the sum, erf GELU, weights [out, in]):
      q, k, v = x Wq' + bq, ...                   split into heads of width / heads columns
      a = drop0(softmax(q k' / sqrt(width / heads)))       within a text
      x = LayerNorm(x + drop1(concat(a v) Wo' + bo))       attention.output
      x = LayerNorm(x + drop2(gelu(x Wi' + bi) Wf' + bf))  intermediate, output
  z = mean of the text's rows; h = drop3(relu(D z + b)); logits = O h + c
  loss = mean over the texts of the batch of -log softmax(logits)[label]

Dropout of probability p
  limit = round(65536 p). Element i of a row is decided by bits 16 (i % 4).. of value i / 4 of
  the row's stream: dropped if they are below limit, otherwise multiplied by 65536 / (65536 - limit).
      key     = rf_rng_key(seed, step, site | layer << 8 | head << 32, text << 32 | token)
      value i = rf_rng_mix(key + (i + 1) RF_RNG_STEP)
  step counts from 0; layer from 0 at the first live one; text is the index in the batch, token
  the index in the text, both from 0.
      site 0  a: one row per head and query token, element = key token
      site 1  attention output before the residual, element = column, head 0
      site 2  feed-forward output before the residual, element = column, head 0
      site 3  h: layer 0, head 0, token 0, element = column

Training: ten steps, step s on the texts batch.<s> in that order
  rate = factor(s) * (rate of the encoder or of the head)
  factor(s) = min((s + 1) / warm, (total - s) / (total - warm)) clipped to [0, 1],
  total 10, warm 2: 1/2, 1, 1, 7/8, 6/8, ... 1/8
  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  t = s + 1
  p = p - rate decay p - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
  decay applies to matrices only: not to biases, LayerNorm gains and shifts.

tests/golden/tune.safetensors, F32 unless said otherwise
  seed                 I32 [2]   low and high 32 bits of 12345678901 (the low ones are negative)
  adam                 [6]       rate of the encoder, of the head, b1, b2, eps, decay
  steps                I32 [2]   total, warm
  <c>.config           I32 [5]   width, heads, inner, live layers, classes;  c = A, B
  <c>.layer_norm_eps   [1]
  <c>.x                [tokens, width]  input of the first live layer, all texts
  <c>.offsets          I32 [texts + 1]
  <c>.labels           I32 [texts]
  <c>.factors          [10]
  <c>.batch.<s>        I32 [1..4]  s = 0 ... 9, indices of texts
  <c>.param.<name>     initial values;  <name> as below
  <c>.z, <c>.logits    [texts, width], [texts, classes]  initial values, all texts, no dropout
  <c>.<d>.dropout      [1]       p: 0 for d = d0, 0.1 for d = d1
  <c>.<d>.z, .logits, .loss      of batch 0 at step 0, before any change: [n, width],
                                 [n, classes], [1]; in batch order
  <c>.<d>.grad.<name>  d loss / d <name>, same step
  <c>.<d>.dx           d loss / d x, same step: [tokens of batch 0, width], in batch order
  <c>.<d>.losses       [10]      of each step, with its dropout, before its update
  <c>.<d>.after10.<name>         after the tenth update
<name>, i from 0 at the first live layer, .weight and .bias of each:
  encoder.layer.<i>.attention.self.query .key .value       [width, width]
  encoder.layer.<i>.attention.output.dense, .LayerNorm     [width, width], [width]
  encoder.layer.<i>.intermediate.dense                     [inner, width]
  encoder.layer.<i>.output.dense, .LayerNorm               [width, inner], [width]
  known.dense, known.out                                   [width, width], [classes, width]

Easy to get wrong: the gradient of key.bias is zero (softmax is invariant to a constant added to
a whole row). The file has some 1e-18, float32 code gets noise of 1e-9 or so, which Adam with eps
1e-6 turns into meaningless changes of key.bias.
"""
import argparse
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

from make_tiny_encoder import GOLDEN, normals, write_safetensors

OUT = GOLDEN / "tune.safetensors"
SOURCE = GOLDEN.parent.parent / "src"
SEED = 12345678901
TOTAL, WARM = 10, 2
RATES = {"encoder": 1e-3, "known": 5e-3}
BETA1, BETA2, EPS, DECAY = 0.9, 0.999, 1e-6, 0.01
DROPOUT = {"d0": 0.0, "d1": 0.1}
CONFIGS = {
    "A": dict(width=32, heads=2, inner=64, layers=2, classes=5, eps=1e-12, seed=35,
              lengths=(3, 1, 20, 7, 12, 2, 5), labels=(0, 3, 1, 4, 2, 1, 0),
              batches=((1, 2, 0, 4), (3, 5, 6), (6, 5, 4, 3), (2, 1, 0), (0, 2, 4, 6),
                       (1, 3, 5), (5, 0, 3, 2), (4, 6, 1), (2, 6, 1, 3), (0, 4, 5))),
    "B": dict(width=48, heads=4, inner=100, layers=1, classes=3, eps=1e-5, seed=5,
              lengths=(4, 17, 1, 9, 6), labels=(2, 0, 1, 1, 2),
              batches=((3, 0, 2, 1), (4, 1, 0, 3), (2, 4, 3, 0), (1, 2), (0, 1, 2, 3),
                       (4,), (3, 4, 1, 2), (2, 0, 4, 1), (0, 3, 1, 4), (4, 2, 3))),
}
M64 = 2**64 - 1
STEP64 = 0x9E3779B97F4A7C15


# ---- dropout: SplitMix64 by position ----

def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def stream_key(seed, *name):
    h = mix((seed + STEP64) & M64)
    for part in name:
        h = mix(((h ^ part) + STEP64) & M64)
    return h


def bits16(key, n):
    return [mix((key + (i // 4 + 1) * STEP64) & M64) >> 16 * (i % 4) & 0xFFFF for i in range(n)]


class Dropout:
    """The factors (0 or the scale) of one step; without a step, none."""

    def __init__(self, p, step):
        self.limit, self.step = round(65536 * p), step

    def rows(self, like, site, layer, head, text):
        """Of a matrix [tokens, n] or of a vector, which is the row of token 0."""
        if self.limit == 0 or self.step is None:
            return torch.ones_like(like)
        scale, n = 65536 / (65536 - self.limit), like.shape[-1]
        keys = [stream_key(SEED, self.step, site | layer << 8 | head << 32, text << 32 | token)
                for token in range(like.numel() // n)]
        drawn = [[scale * (b >= self.limit) for b in bits16(key, n)] for key in keys]
        return torch.tensor(drawn, dtype=like.dtype).reshape(like.shape)


# ---- the model ----

def make_params(c):
    rng, w, d, inner = random.Random(c["seed"]), {}, c["width"], c["inner"]

    def add(name, *shape, scale=0.25, mean=0.0):
        w[name + ".weight"] = normals(rng, *shape, scale=scale, mean=mean)
        w[name + ".bias"] = normals(rng, shape[0], scale=0.1)

    for p in (f"encoder.layer.{n}." for n in range(c["layers"])):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add(p + "attention." + part, d, d)
        add(p + "attention.output.LayerNorm", d, scale=0.2, mean=1.0)
        add(p + "intermediate.dense", inner, d)
        add(p + "output.dense", d, inner, scale=0.2)
        add(p + "output.LayerNorm", d, scale=0.2, mean=1.0)
    add("known.dense", d, d)
    add("known.out", c["classes"], d, scale=0.3)
    return w, normals(rng, sum(c["lengths"]), d)


def encode(c, w, x, drop, text):
    """z [width] of one text x [T, width], which is number `text` of its batch."""
    heads, dh = c["heads"], c["width"] // c["heads"]

    def get(name):
        return w[name + ".weight"], w[name + ".bias"]

    for n in range(c["layers"]):
        p, mixed = f"encoder.layer.{n}.", []
        q, k, v = (F.linear(x, *get(p + "attention.self." + part)).split(dh, 1)
                   for part in ("query", "key", "value"))
        for h in range(heads):
            a = (q[h] @ k[h].T / math.sqrt(dh)).softmax(-1)
            mixed.append(a * drop.rows(a, 0, n, h, text) @ v[h])
        y = F.linear(torch.cat(mixed, 1), *get(p + "attention.output.dense"))
        x = F.layer_norm(x + y * drop.rows(y, 1, n, 0, text), x.shape[1:],
                         *get(p + "attention.output.LayerNorm"), c["eps"])
        y = F.linear(F.gelu(F.linear(x, *get(p + "intermediate.dense"))), *get(p + "output.dense"))
        x = F.layer_norm(x + y * drop.rows(y, 2, n, 0, text), x.shape[1:],
                         *get(p + "output.LayerNorm"), c["eps"])
    return x.mean(0)


def classify(w, z, drop, text, margin=None):
    y = F.linear(z, w["known.dense.weight"], w["known.dense.bias"])
    if margin is not None:
        margin.append(y.detach().abs().min().item())
    h = y.relu()
    return F.linear(h * drop.rows(h, 3, 0, 0, text), w["known.out.weight"], w["known.out.bias"])


def batch_loss(c, w, xs, labels, drop, margin=None):
    z = [encode(c, w, x, drop, i) for i, x in enumerate(xs)]
    logits = [classify(w, zi, drop, i, margin) for i, zi in enumerate(z)]
    nll = sum(logit.logsumexp(0) - logit[label] for logit, label in zip(logits, labels))
    return torch.stack(z), torch.stack(logits), nll / len(xs)


def factor(s):
    return max(0.0, min(1.0, (s + 1) / WARM, (TOTAL - s) / (TOTAL - WARM)))


def train(c, w, texts, p, margin=None, oracle=False):
    """Ten steps from the parameters w, which change; returns the losses. With `oracle` the
    updates are PyTorch's own instead of those written out here."""
    names, losses, state, optimiser = list(w), [], {}, None
    if oracle:
        groups = [dict(params=[w[n]], lr=RATES[n.split(".")[0]],
                       weight_decay=DECAY if w[n].dim() == 2 else 0) for n in names]
        optimiser = torch.optim.AdamW(groups, betas=(BETA1, BETA2), eps=EPS)
        full = [g["lr"] for g in groups]
    for s, batch in enumerate(c["batches"]):
        for n in names:
            w[n].requires_grad_(True)
            w[n].grad = None
        drop = Dropout(p, s)
        loss = batch_loss(c, w, [texts[i] for i in batch], [c["labels"][i] for i in batch],
                          drop, margin)[2]
        loss.backward()
        losses.append(loss.item())
        if oracle:
            for group, rate in zip(optimiser.param_groups, full):
                group["lr"] = rate * factor(s)
            optimiser.step()
            continue
        for n in names:
            g, old, rate = w[n].grad, w[n].detach(), factor(s) * RATES[n.split(".")[0]]
            m, v = state.get(n, (torch.zeros_like(g), torch.zeros_like(g)))
            m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
            state[n] = m, v
            size = (v / (1 - BETA2**(s + 1))).sqrt() + EPS
            new = old - rate * (m / (1 - BETA1**(s + 1))) / size
            w[n] = new - rate * DECAY * old if old.dim() == 2 else new
    return losses


# ---- contents of the file ----

def ints(*values):
    return torch.tensor([v - 2**32 if v >= 2**31 else v for v in values], dtype=torch.int32)


def floats(*values):
    return torch.tensor(values, dtype=torch.float32)


def reference(key, c):
    """The tensors of one configuration, and the smallest |ReLU input|."""
    params, x = make_params(c)
    offsets = [sum(c["lengths"][:i]) for i in range(len(c["lengths"]) + 1)]
    out = {"config": ints(c["width"], c["heads"], c["inner"], c["layers"], c["classes"]),
           "layer_norm_eps": floats(c["eps"]), "x": x, "offsets": ints(*offsets),
           "labels": ints(*c["labels"]), "factors": floats(*map(factor, range(TOTAL)))}
    out.update({f"batch.{s}": ints(*batch) for s, batch in enumerate(c["batches"])})
    out.update({f"param.{n}": t for n, t in params.items()})
    texts, w = split(c, x), {n: t.double() for n, t in params.items()}
    z, logits, _ = batch_loss(c, w, texts, c["labels"], Dropout(0, None))
    out.update({"z": z, "logits": logits})
    first, margin = c["batches"][0], []
    for d, p in DROPOUT.items():
        w = {n: t.double().requires_grad_(True) for n, t in params.items()}
        xs = [texts[i].clone().requires_grad_(True) for i in first]
        labels = [c["labels"][i] for i in first]
        z, logits, loss = batch_loss(c, w, xs, labels, Dropout(p, 0))
        loss.backward()
        grads = {n: t.grad for n, t in w.items()}
        check_gradients(c, w, xs, labels, Dropout(p, 0), grads, f"{key}.{d}")
        found = {"dropout": floats(p), "z": z, "logits": logits, "loss": loss.reshape(1),
                 "dx": torch.cat([t.grad for t in xs])}
        found.update({f"grad.{n}": g for n, g in grads.items()})
        w = {n: t.double() for n, t in params.items()}
        found["losses"] = torch.tensor(train(c, w, texts, p, margin), dtype=torch.float64)
        found.update({f"after10.{n}": t for n, t in w.items()})
        check_optimiser(c, params, texts, p, found)
        out.update({f"{d}.{n}": t for n, t in found.items()})
    assert min(margin) > 1e-3, f"{key}: a ReLU input of {min(margin):g}: choose another seed"
    return {f"{key}.{n}": t.detach().float() if t.is_floating_point() else t
            for n, t in out.items()}, min(margin)


def split(c, x, kind=torch.float64):
    return list(x.to(kind).split(list(c["lengths"])))


# ---- checks ----

def check_gradients(c, w, xs, labels, drop, grads, where):
    """Three elements of each tensor against (f(t + e) - f(t - e)) / 2e."""
    rng, e, worst = random.Random(5), 1e-5, 0.0
    tensors = {**w, **{f"x{i}": x for i, x in enumerate(xs)}}
    for name, t in tensors.items():
        g = grads[name] if name in grads else t.grad
        size = g.abs().max().item()
        if name.endswith("key.bias"):
            assert size < 1e-14, f"{where} {name}: {size:g} is not zero"
        else:
            assert size > 1e-4, f"{where} {name}: a gradient of {size:g} is too small to test with"
        for i in rng.sample(range(t.numel()), 3):
            with torch.no_grad():
                flat, sides = t.view(-1), []
                for move in (e, -2 * e):
                    flat[i] += move
                    sides.append(batch_loss(c, w, xs, labels, drop)[2].item())
                flat[i] += e
            slope = (sides[0] - sides[1]) / (2 * e)
            worst = max(worst, abs(slope - g.view(-1)[i].item()) / max(size, 1e-4))
    assert worst < 1e-6, f"{where}: gradients differ from differences by {worst:g}"
    print(f"{where}: {3 * len(tensors)} derivatives within {worst:.1e} of central differences")


def check_optimiser(c, params, texts, p, found):
    w = {n: t.double() for n, t in params.items()}
    losses = torch.tensor(train(c, w, texts, p, oracle=True), dtype=torch.float64)
    worst = max([(losses - found["losses"]).abs().max().item()]
                + [(w[n].detach() - found[f"after10.{n}"]).abs().max().item() for n in params])
    assert worst < 1e-12, f"torch.optim.AdamW differs by {worst:g}"


PROBE = r"""
#include "base/rng.h"
#include <stdio.h>
int main(void)
{
    unsigned long long s, a, b, c, n;
    while (scanf("%llu %llu %llu %llu %llu", &s, &a, &b, &c, &n) == 5) {
        rf_rng r = rf_rng_open(rf_rng_key(s, a, b, c));
        for (uint64_t i = 0, v = 0; i < n; i++, v >>= 16) {
            if (i % 4 == 0)
                v = rf_rng_next(&r);
            printf("%u ", (unsigned)(v & 0xffff));
        }
        printf("\n");
    }
}
"""


def check_stream():
    cc = shutil.which(os.environ.get("CC", "cc"))
    if not cc:
        print("no C compiler: dropout not compared with src/base/rng.h")
        return
    names = [(SEED, step, site | layer << 8 | head << 32, text << 32 | token, n)
             for step in (0, 1, 9) for site in range(4) for layer in (0, 1)
             for head, text, token, n in ((0, 0, 0, 48), (1, 3, 19, 20), (3, 1, 7, 1),
                                          (2, 2, 2, 6))]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text(PROBE)
        subprocess.run([cc, "-std=c11", "-I", SOURCE, source, "-o", program], check=True)
        asked = "\n".join(" ".join(map(str, name)) for name in names)
        said = subprocess.run([program], input=asked, text=True, check=True, capture_output=True)
    got = [[int(v) for v in line.split()] for line in said.stdout.splitlines()]
    want = [bits16(stream_key(*name[:4]), name[4]) for name in names]
    assert got == want, "the dropout streams differ from src/base/rng.h"
    print(f"dropout: {sum(map(len, got))} elements of {len(got)} streams as in src/base/rng.h")


def read_safetensors(path):
    raw = path.read_bytes()
    size, = struct.unpack_from("<Q", raw)
    kinds, out = {"F32": torch.float32, "I32": torch.int32, "U8": torch.uint8}, {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in entry["data_offsets"])
            data = torch.frombuffer(bytearray(raw[begin:end]), dtype=kinds[entry["dtype"]])
            out[name] = data.reshape(entry["shape"])
    return out


def compare(want, stored):
    """Equal except for what another build of PyTorch may round differently."""
    if want.keys() != stored.keys():
        return [f"names: {sorted(want.keys() ^ stored.keys())}"]
    bad = []
    for name, t in want.items():
        got = stored[name]
        same = got.dtype == t.dtype and got.shape == t.shape
        if not same or not torch.allclose(got.double(), t.double(), rtol=1e-6, atol=1e-9):
            bad.append(name)
    return bad


def single_precision(stored):
    """How far float32 ends from the stored results; key.bias, which is noise, separately."""
    for key, c in CONFIGS.items():
        params = {n[len(key) + 7:]: t for n, t in stored.items() if n.startswith(key + ".param.")}
        texts = split(c, stored[key + ".x"], torch.float32)
        for d, p in DROPOUT.items():
            w = {n: t.clone().requires_grad_(True) for n, t in params.items()}
            first = c["batches"][0]
            loss = batch_loss(c, w, [texts[i] for i in first], [c["labels"][i] for i in first],
                              Dropout(p, 0))[2]
            loss.backward()
            grads = {n: ((t.grad - stored[f"{key}.{d}.grad.{n}"]).abs().max()).item()
                     for n, t in w.items()}
            w = {n: t.clone() for n, t in params.items()}
            losses = floats(*train(c, w, texts, p))
            ends = {n: (t.detach() - stored[f"{key}.{d}.after10.{n}"]).abs().max().item()
                    for n, t in w.items()}
            keys = max(e for n, e in ends.items() if n.endswith("key.bias"))
            rest = max((e, n) for n, e in ends.items() if not n.endswith("key.bias"))
            loss, losses = (abs(got - stored[f"{key}.{d}.{n}"]).max().item()
                            for n, got in (("loss", loss.detach()), ("losses", losses)))
            print(f"float32 {key}.{d}: loss {loss:.1e} grad {max(grads.values()):.1e}"
                  f" losses {losses:.1e}"
                  f" after10 {rest[0]:.1e} ({rest[1]}), key.bias {keys:.1e}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--check", action="store_true", help="compare with the file")
    check = options.parse_args().check
    torch.set_num_threads(1)
    check_stream()
    out = {"seed": ints(SEED & 0xFFFFFFFF, SEED >> 32), "steps": ints(TOTAL, WARM),
           "adam": floats(RATES["encoder"], RATES["known"], BETA1, BETA2, EPS, DECAY)}
    for key, c in CONFIGS.items():
        found, margin = reference(key, c)
        out.update(found)
        print(f"{key}: closest ReLU input {margin:.1e}")
    if not check:
        write_safetensors(OUT, out)
        print(f"{OUT}: {len(out)} tensors, {OUT.stat().st_size} bytes")
        return
    stored = read_safetensors(OUT)
    bad = compare(out, stored)
    if bad:
        sys.exit(f"{OUT}: differs in {', '.join(bad)}")
    print(f"{OUT}: {len(out)} tensors as computed")
    single_precision(stored)


if __name__ == "__main__":
    main()
