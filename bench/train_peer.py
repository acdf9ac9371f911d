#!/usr/bin/env python3
"""ringfence's training in PyTorch, as fast as PyTorch on a CPU gets: the peer of the benchmark.

    python3 bench/train_peer.py --file IN --stage 1 [--threads 1] [--epochs 3] [--batch 128]
    python3 bench/train_peer.py --file IN --stage 2 [--threads 1] [--steps 100] [--positives 8]
                                [--negatives 32] [--ascent 0]
    python3 bench/train_peer.py --make IN [--texts 1000] [--tokens 12] [--classes 50]
    python3 bench/train_peer.py --self-test tests/golden/tune.safetensors

The first two print one line of JSON: what the trials chose, how long each epoch (stage 1) or
step of all heads (stage 2) took, and the loss, which must fall. --force skips the trials
("packed,2,op,foreach", "4,op"); --profile shows on stderr where the time goes.
--make writes random inputs. --self-test trains the golden problem in every way that a trial can
choose and compares the hand-written gradients of stage 2 with autograd; it exits 1 at a difference.

Made for PyTorch 1.13 (Debian 12's python3-torch). PyTorch takes its matrix products from
libblas.so.3, and Debian's default for that is the reference BLAS, 20 times slower than
OpenBLAS. The script refuses to time that: install libopenblas0-pthread or -openmp, or point
LD_LIBRARY_PATH to one of them.

IN: safetensors, F32 and I32
  stage 1
    x        [tokens, width]  output of the frozen layers for all texts, one after another
    offsets  [texts + 1]      text i is rows offsets[i] to offsets[i + 1] of x
    labels   [texts]          0 ... classes - 1
    heads    [1]              attention heads
    layer_norm_eps [1]
    encoder.layer.<i>.*       the live layers, Hugging Face names and shapes, any numbers i
    known.dense.weight [width, width] .bias [width], known.out.weight [classes, width] .bias
    dev.x, dev.offsets, dev.labels   optional; if present, accuracy is measured, outside the clock
  stage 2
    z        [texts, width]   features
    labels   [texts]
    radius   [classes]        optional; default D = sqrt(2 sum variance) of each class

Stage 1: z = mean over tokens of the last layer, Linear-ReLU-Linear, cross entropy, dropout at
the four places, AdamW with linear warm-up (a tenth) and decay. An epoch is one pass over the
texts in a random order; its time includes gathering the batches. Trials, on the real data:
  layout     padded: micro-batches of similar length, each padded to its longest text
             packed: no padding except in attention itself
  micro      1, 2 or 4 micro-batches per batch, texts sorted by length
  parallel   (more than one thread) op: inside each operation
             data: each thread takes its share of the micro-batches, single-threaded operations
  optimiser  foreach, or tensor by tensor (better when a tensor fits the cache and all do not)
Stage 2: one head width -> 256 -> 64 -> 1 per class. A step gives each head n positives, R
negatives and n synthetic negatives z + e: e = 2 sigma N(0, 1), k steps of ascent, ||e|| clipped
to [r, 2 r]. loss = sum of softplus(-g) over positives and softplus(g) over the others,
dropout after each hidden layer, Adam. Heads are independent, so a chunk of them does
all its steps before the next one starts and stays in the cache. Trials:
  chunk      heads at a time: 1, 4, 16 or all, as one batched product
  parallel   (more than one thread) op, or data: each process takes its share of the chunks
The gradients of this small network are hand-written, without autograd, straight into the block
of memory that Adam reads. The best of --rounds counts.
"""
import argparse
import ctypes
import json
import math
import os
import random
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ARGS = argparse.ArgumentParser(description="ringfence's training in PyTorch")
for _name, _kind, _value in (
        ("file", str, None), ("stage", int, 1), ("threads", int, 1), ("epochs", int, 3),
        ("batch", int, 128), ("steps", int, 100), ("positives", int, 8), ("negatives", int, 32),
        ("ascent", int, 0), ("rounds", int, 2), ("dropout", float, 0.1), ("seed", int, 0),
        ("force", str, None), ("make", str, None), ("texts", int, 1000), ("tokens", int, 12),
        ("classes", int, 50), ("self-test", str, None)):
    ARGS.add_argument("--" + _name, type=_kind, default=_value)
ARGS.add_argument("--profile", action="store_true")
ARG = ARGS.parse_args()
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = str(ARG.threads)  # read when the libraries are loaded

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))
from make_tiny_encoder import write_safetensors  # noqa: E402
from make_tune_golden import read_safetensors  # noqa: E402

RATES = {"encoder": 5e-5, "known": 1e-4}
ADAM = dict(betas=(0.9, 0.999), eps=1e-6)
DECAY = 0.01
RATE2, EPS2, GAMMA, ETA = 1e-3, 1e-8, 2.0, 0.02
HIDDEN1, HIDDEN2 = 256, 64


# ---- the machine ----

def find_blas():
    """The library that provides sgemm: its path, and OpenBLAS's function to set its threads,
    None for any other."""
    with open("/proc/self/maps") as maps:
        files = sorted({line.split()[-1] for line in maps if re.search("/lib[^/]*blas", line)})
    for path in files:
        function = getattr(ctypes.CDLL(path), "openblas_set_num_threads", None)
        if function:
            return path, function
    return ", ".join(files), None


BLAS, SET_BLAS_THREADS = find_blas()


def set_threads(n):
    torch.set_num_threads(n)
    if SET_BLAS_THREADS:
        SET_BLAS_THREADS(n)


# ---- dropout ----

class Masks:
    """Factors 0 or 1 / (1 - p), 16 random bits each: 10 times faster than F.dropout. One per
    thread."""

    def __init__(self, p, seed):
        self.limit, self.bits = round(65536 * p), np.random.SFC64(seed)
        self.scale = 65536 / (65536 - self.limit)

    def like(self, x):
        """None if nothing is dropped."""
        if not self.limit:
            return None
        n = x.numel()
        raw = self.bits.random_raw((n + 3) // 4).view(np.int16)[:n]
        keep = torch.ge(torch.from_numpy(raw), self.limit - 32768, out=torch.empty(n))
        return keep.mul_(self.scale).view(x.shape)

    def apply(self, x):
        mask = self.like(x)
        return x if mask is None else x * mask

    def add(self, residual, x):
        """residual + dropout(x), in one pass."""
        mask = self.like(x)
        return residual + x if mask is None else torch.addcmul(residual, x, mask)


# ---- stage 1 ----

class Tuner:
    """Live layers and head. Query, key and value are one product."""

    def __init__(self, data, dropout):
        self.heads = int(data["heads"])
        self.eps = float(data["layer_norm_eps"])
        self.dropout = dropout
        numbers = sorted({int(n.split(".")[2]) for n in data if n.startswith("encoder.layer.")})
        self.names, values = [], []
        for i in numbers:
            p = f"encoder.layer.{i}."
            for kind in ("weight", "bias"):
                parts = [data[f"{p}attention.self.{x}.{kind}"] for x in ("query", "key", "value")]
                self.names.append(p + "qkv." + kind)
                values.append(torch.cat(parts))
            for part in ("attention.output.dense", "attention.output.LayerNorm",
                         "intermediate.dense", "output.dense", "output.LayerNorm"):
                for kind in ("weight", "bias"):
                    self.names.append(f"{p}{part}.{kind}")
                    values.append(data[f"{p}{part}.{kind}"].clone())
        self.layers = len(numbers)
        for part in ("known.dense", "known.out"):
            for kind in ("weight", "bias"):
                self.names.append(f"{part}.{kind}")
                values.append(data[f"{part}.{kind}"].clone())
        self.values = values

    def named(self):
        """The parameters under their names in the file."""
        out = {}
        for name, value in zip(self.names, self.values):
            if ".qkv." in name:
                for part, piece in zip(("query", "key", "value"), value.detach().chunk(3)):
                    out[name.replace("qkv", "attention.self." + part)] = piece
            else:
                out[name] = value.detach()
        return out

    def attend(self, qkv, shape, bias, masks):
        """qkv [B * T, 3 width] -> [B * T, width]"""
        B, T = shape
        width = qkv.shape[1] // 3
        dh = width // self.heads
        q, k, v = (qkv.view(B, T, 3, self.heads, dh).permute(2, 0, 3, 1, 4)
                   .reshape(3, B * self.heads, T, dh).unbind(0))
        scores = torch.bmm(q * (1 / math.sqrt(dh)), k.transpose(1, 2))
        if bias is not None:
            scores = scores.view(B, self.heads, T, T) + bias
        a = masks.apply(scores.softmax(-1)).view(B * self.heads, T, T)
        return torch.bmm(a, v).view(B, self.heads, T, dh).transpose(1, 2).reshape(B * T, width)

    def features(self, params, x, where, masks):
        """z [B, width]. Rows of x and of all dense layers: where.rows."""
        width, at = x.shape[1], iter(params)
        for _ in range(self.layers):
            (qkv_w, qkv_b, o_w, o_b, g1, s1, i_w, i_b, f_w, f_b, g2, s2) = (
                next(at) for _ in range(12))
            qkv = F.linear(x, qkv_w, qkv_b)
            if where.spread is not None:
                qkv = qkv.index_select(0, where.spread)
            y = self.attend(qkv, where.shape, where.bias, masks)
            if where.gather is not None:
                y = y.index_select(0, where.gather)
            y = masks.add(x, F.linear(y, o_w, o_b))
            x = F.layer_norm(y, (width,), g1, s1, self.eps)
            y = F.linear(F.gelu(F.linear(x, i_w, i_b)), f_w, f_b)
            x = F.layer_norm(masks.add(x, y), (width,), g2, s2, self.eps)
        return where.mean(x)

    def logits(self, params, z, masks):
        d_w, d_b, o_w, o_b = params[-4:]
        return F.linear(masks.apply(F.linear(z, d_w, d_b).relu()), o_w, o_b)


class Where:
    """Where the tokens of some texts are in x, and how they are laid out in a micro-batch."""

    def __init__(self, begins, lengths, packed):
        B, T = len(lengths), int(lengths.max())
        self.shape = (B, T)
        column = torch.arange(T)
        real = column < lengths[:, None]  # [B, T]
        full = bool(real.all())
        place = (begins[:, None] + column).clamp_(max=int((begins + lengths).max()) - 1)
        self.bias = None
        if not full:
            self.bias = torch.zeros(B, 1, 1, T).masked_fill_(~real[:, None, None], -1e9)
        self.spread = self.gather = None
        share = real / lengths[:, None].float()
        if packed and not full:
            self.gather = real.view(-1).nonzero().view(-1)
            self.spread = (real.view(-1).cumsum(0) - 1).clamp_(min=0)
            self.rows = place.view(-1)[self.gather]
            self.owner = torch.arange(B)[:, None].expand(B, T)[real]
            self.share = share[real][:, None]
        else:
            self.rows = place.view(-1)
            self.share = share[:, None]

    def mean(self, x):
        """[B, width], over the real tokens of each text."""
        B, T = self.shape
        if self.gather is None:
            return torch.bmm(self.share, x.view(B, T, -1)).squeeze(1)
        return x.new_zeros(B, x.shape[1]).index_add(0, self.owner, x * self.share)


class Trainer:
    """One way (layout, micro, parallel, optimiser) to run batches."""

    def __init__(self, data, way, threads, dropout=None, rates=RATES, total=1, warm=1, seed=0):
        self.model = Tuner(data, ARG.dropout if dropout is None else dropout)
        self.x, self.labels = data["x"], data["labels"].long()
        offsets = data["offsets"].long()
        self.begins, self.lengths = offsets[:-1], offsets[1:] - offsets[:-1]
        self.layout, self.micro, self.parallel, self.optimiser = way
        self.total, self.warm, self.at = total, warm, 0
        set_threads(threads if self.parallel == "op" else 1)
        self.workers = threads if self.parallel == "data" else 1
        values = self.model.values
        # Each worker has its own leaves on the same memory, so that gradients stay separate.
        self.leaves = [[v.detach().requires_grad_(True) for v in values]
                       for _ in range(self.workers)]
        self.masks = [Masks(self.model.dropout, [seed, w]) for w in range(self.workers)]
        self.pool = None
        if self.workers > 1:
            self.pool = ThreadPoolExecutor(self.workers, initializer=torch.set_num_threads,
                                           initargs=(1,))
        # Parameters are distributed over the workers' optimisers by size.
        order = sorted(range(len(values)), key=lambda i: -values[i].numel())
        share = [[] for _ in range(self.workers)]
        for i in order:
            min(share, key=lambda s: sum(values[j].numel() for j in s)).append(i)
        self.share, self.optimisers = share, []
        for mine in share:
            groups = {}
            for i in mine:
                part = self.model.names[i].split(".")[0]
                decay = DECAY if values[i].dim() == 2 else 0
                groups.setdefault((rates[part], decay), []).append(self.leaves[0][i])
            self.optimisers.append(torch.optim.AdamW(
                [dict(params=p, lr=rate, full=rate, weight_decay=decay)
                 for (rate, decay), p in groups.items()],
                foreach=self.optimiser == "foreach", **ADAM))

    def close(self):
        if self.pool:
            self.pool.shutdown()

    def each(self, function):
        if not self.pool:
            function(0)
        else:
            list(self.pool.map(function, range(self.workers)))

    def step(self, texts):
        """texts: tensor of indices. Returns the mean loss."""
        texts = texts[self.lengths[texts].argsort()]
        losses = [0.0] * self.workers

        def work(w):
            params, masks = self.leaves[w], self.masks[w]
            for p in params:
                p.grad = None
            mine = texts[w::self.workers]  # the same mix of short and long ones for every worker
            for piece in mine.tensor_split(max(1, min(self.micro // self.workers, len(mine)))):
                if len(piece) == 0:
                    continue
                where = Where(self.begins[piece], self.lengths[piece], self.layout == "packed")
                z = self.model.features(params, self.x.index_select(0, where.rows), where, masks)
                loss = F.cross_entropy(self.model.logits(params, z, masks), self.labels[piece],
                                       reduction="sum") / len(texts)
                loss.backward()
                losses[w] += loss.item()

        factor = max(0.0, min(1.0, (self.at + 1) / self.warm,
                              (self.total - self.at) / max(1, self.total - self.warm)))

        def update(w):
            for i in self.share[w]:
                grads = [leaves[i].grad for leaves in self.leaves if leaves[i].grad is not None]
                self.leaves[0][i].grad = grads[0]
                for g in grads[1:]:
                    grads[0].add_(g)
            for group in self.optimisers[w].param_groups:
                group["lr"] = factor * group["full"]
            self.optimisers[w].step()

        self.each(work)
        self.each(update)
        self.at += 1
        return sum(losses)

    def accuracy(self, data):
        offsets = data["dev.offsets"].long()
        begins, lengths = offsets[:-1], offsets[1:] - offsets[:-1]
        right, none = 0, Masks(0, 0)
        with torch.no_grad():
            for piece in lengths.argsort().split(128):
                where = Where(begins[piece], lengths[piece], False)
                z = self.model.features(self.leaves[0], data["dev.x"][where.rows], where, none)
                found = self.model.logits(self.leaves[0], z, none).argmax(1)
                right += int((found == data["dev.labels"][piece]).sum())
        return right / len(begins)


def ways1(threads):
    parallels = ["op"] if threads == 1 else ["op", "data"]
    return [(layout, micro, parallel) for parallel in parallels
            for layout in ("padded", "packed") for micro in (1, 2, 4)
            if parallel == "op" or micro >= threads]


def trial1(data, way, batches):
    trainer = Trainer(data, way, ARG.threads)
    trainer.step(batches[0])
    times = []
    for batch in batches[1:]:
        start = time.perf_counter()
        trainer.step(batch)
        times.append(time.perf_counter() - start)
    trainer.close()
    return min(times)


def stage1(data):
    n, shuffle = len(data["labels"]), torch.Generator().manual_seed(ARG.seed)
    per_epoch = math.ceil(n / ARG.batch)
    order = torch.randperm(n, generator=shuffle)
    sample = [order.roll(i * ARG.batch)[:ARG.batch] for i in range(4)]
    trials = {}
    if ARG.force:
        best = forced()
    else:
        for way in ways1(ARG.threads):
            trials[way + ("foreach",)] = trial1(data, way + ("foreach",), sample)
        best = min(trials, key=trials.get)
        single = best[:3] + ("single",)
        trials[single] = trial1(data, single, sample)
        best = min(trials, key=trials.get)
    trainer = Trainer(data, best, ARG.threads, total=per_epoch * ARG.epochs,
                      warm=max(1, per_epoch * ARG.epochs // 10), seed=ARG.seed)
    times, losses, accuracy = [], [], []

    def epochs():
        for _ in range(ARG.epochs):
            start = time.perf_counter()
            order = torch.randperm(n, generator=shuffle)
            total = sum(trainer.step(b) * len(b) for b in order.split(ARG.batch))
            times.append(time.perf_counter() - start)
            losses.append(total / n)
            if "dev.x" in data:
                accuracy.append(trainer.accuracy(data))

    profiled(epochs)
    trainer.close()
    return {"texts": n, "tokens": len(data["x"]), "batch": ARG.batch,
            "chosen": dict(zip(("layout", "micro", "parallel", "optimiser"), best)),
            "trial_seconds_per_batch": {"/".join(map(str, w)): round(t, 4)
                                        for w, t in trials.items()},
            "seconds_per_epoch": [round(t, 4) for t in times],
            "best_seconds_per_epoch": round(min(times), 4),
            "loss": [round(v, 4) for v in losses], "dev_accuracy": accuracy}


# ---- stage 2 ----

class Heads:
    """Some heads. All their parameters are one block, all gradients another."""

    def __init__(self, width, count, generator):
        self.width, self.count, self.at = width, count, 0
        shapes = [(width, HIDDEN1), (1, HIDDEN1), (HIDDEN1, HIDDEN2), (1, HIDDEN2),
                  (HIDDEN2, 1), (1, 1)]
        sizes = [count * a * b for a, b in shapes]
        blocks = [torch.zeros(sum(sizes)) for _ in range(5)]
        self.p, self.g, self.m, self.v, self.t = blocks
        self.params, self.grads = ([piece.view(count, *shape) for piece, shape
                                    in zip(block.split(sizes), shapes)] for block in blocks[:2])
        for value, fan in zip(self.params, (width, width, HIDDEN1, HIDDEN1, HIDDEN2, HIDDEN2)):
            value.uniform_(-1 / math.sqrt(fan), 1 / math.sqrt(fan), generator=generator)

    def forward(self, x, masks):
        """Hidden layers after ReLU and dropout, and g [count, rows, 1]."""
        w1, b1, w2, b2, w3, b3 = self.params
        h1 = torch.baddbmm(b1, x, w1).relu_()
        mask = masks.like(h1)
        if mask is not None:
            h1 *= mask
        h2 = torch.baddbmm(b2, h1, w2).relu_()
        mask = masks.like(h2)
        if mask is not None:
            h2 *= mask
        return h1, h2, torch.baddbmm(b3, h2, w3)

    def back(self, h1, h2, dg, scale):
        """Gradients before the second and the first ReLU. What is positive after ReLU and
        dropout was scaled by `scale`, everything else has no gradient."""
        _, _, w2, _, w3, _ = self.params
        d2 = RELU_BACK(dg * (w3 * scale).transpose(1, 2), h2, 0)
        d1 = torch.bmm(d2, w2.transpose(1, 2))
        if scale != 1:
            d1 *= scale
        return RELU_BACK(d1, h1, 0), d2

    def gradients(self, x, positives, masks, divisor):
        """Into self.grads; the first rows of x are positives. Returns g."""
        h1, h2, g = self.forward(x, masks)
        dg = g.sigmoid()
        dg[:, :positives] -= 1
        dg *= 1 / divisor
        d1, d2 = self.back(h1, h2, dg, masks.scale)
        gw1, gb1, gw2, gb2, gw3, gb3 = self.grads
        torch.bmm(x.transpose(1, 2), d1, out=gw1)
        torch.sum(d1, 1, keepdim=True, out=gb1)
        torch.bmm(h1.transpose(1, 2), d2, out=gw2)
        torch.sum(d2, 1, keepdim=True, out=gb2)
        torch.bmm(h2.transpose(1, 2), dg, out=gw3)
        torch.sum(dg, 1, keepdim=True, out=gb3)
        return g

    def uphill(self, x):
        """d g / d x: the direction in which softplus(g) grows."""
        h1, h2, g = self.forward(x, NO_MASKS)
        d1, _ = self.back(h1, h2, torch.ones_like(g), 1)
        return torch.bmm(d1, self.params[0].transpose(1, 2))

    def adam(self):
        self.at += 1
        fix1, fix2 = 1 - 0.9**self.at, math.sqrt(1 - 0.999**self.at)
        torch.add(self.g, self.m, alpha=0.9, out=self.m)  # 10 times the usual m: saves a pass
        self.v.mul_(0.999).addcmul_(self.g, self.g, value=0.001)
        torch.sqrt(self.v, out=self.t).add_(EPS2 * fix2)
        self.p.addcdiv_(self.m, self.t, value=-0.1 * RATE2 * fix2 / fix1)


RELU_BACK = torch.ops.aten.threshold_backward.default
NO_MASKS = Masks(0, 0)


class Opener:
    """What all heads share: rows sorted by class, spread and radius of each class."""

    def __init__(self, data):
        labels = data["labels"].long()
        order = labels.argsort(stable=True)
        self.z = data["z"][order].contiguous()
        self.sizes = labels.bincount()
        self.starts = self.sizes.cumsum(0) - self.sizes
        parts = self.z.split(self.sizes.tolist())
        variance = torch.stack([part.var(0, unbiased=False) for part in parts])
        self.spread = 2 * variance.sqrt()
        self.radius = data.get("radius", (2 * variance.sum(1)).sqrt())
        self.classes = len(parts)

    def draw(self, classes, steps, n, R, generator):
        """Rows for `steps` steps: positives in a random order without repetition until all
        are used, negatives from anywhere else. [steps, heads, n], [steps, heads, R]"""
        positives, negatives = [], []
        for c in classes:
            size, start = int(self.sizes[c]), int(self.starts[c])
            rounds = math.ceil(steps * n / size)
            order = torch.cat([torch.randperm(size, generator=generator) for _ in range(rounds)])
            positives.append(start + order[:steps * n].view(steps, n))
            other = torch.randint(len(self.z) - size, (steps, R), generator=generator)
            negatives.append(other + (other >= start) * size)
        return torch.stack(positives, 1), torch.stack(negatives, 1)

    def train(self, classes, steps, seed):
        """All steps of these heads. Returns the sum of their losses at the first and last."""
        n, R, k, c, d = ARG.positives, ARG.negatives, ARG.ascent, len(classes), self.z.shape[1]
        generator = torch.Generator().manual_seed(seed)
        masks, heads = Masks(ARG.dropout, seed), Heads(d, c, generator)
        positives, negatives = self.draw(classes, steps, n, R, generator)
        rows = torch.cat([positives, negatives, positives], 2).view(steps, -1)
        spread, r = self.spread[classes, None], self.radius[classes, None, None]
        x = torch.empty(c, 2 * n + R, d)
        near = x[:, n + R:]
        e, losses = torch.empty(c, n, d), []
        for s in range(steps):
            torch.index_select(self.z, 0, rows[s], out=x.view(-1, d))
            e.normal_(generator=generator).mul_(spread)
            for _ in range(k):
                up = heads.uphill(near + e)
                e += up.mul_(ETA * r / (up.norm(dim=2, keepdim=True) + 1e-12))
            size = e.norm(dim=2, keepdim=True)
            e *= torch.minimum(torch.maximum(size, r), GAMMA * r) / size
            near += e
            g = heads.gradients(x, n, masks, n * self.classes)
            heads.adam()
            if s in (0, steps - 1):  # the loss itself is not needed for training
                losses.append(float(F.softplus(-g[:, :n]).sum() + F.softplus(g[:, n:]).sum()) / n)
        return losses


def run2(opener, chunk, parallel, steps, count):
    """The first `count` heads, in separate processes. Returns seconds and losses."""
    workers, each = (1, ARG.threads) if parallel == "op" else (ARG.threads, 1)
    context = torch.multiprocessing.get_context("fork")
    gate, found = context.Barrier(workers + 1), context.SimpleQueue()

    def train(classes):
        chunks = np.array_split(classes, math.ceil(len(classes) / chunk))
        return sum(np.array(opener.train(c.tolist(), steps, ARG.seed + int(c[0]))) for c in chunks)

    def work(classes):
        try:
            set_threads(each)
            opener.train(classes[:chunk].tolist(), 2, 0)  # to warm up
            gate.wait()
            found.put(profiled(lambda: train(classes)))
        except BaseException:
            gate.abort()
            found.put(None)
            raise

    processes = [context.Process(target=work, args=(share,))
                 for share in np.array_split(np.arange(count), workers)]
    for process in processes:
        process.start()
    gate.wait()
    start = time.perf_counter()
    losses = [found.get() for _ in processes]
    seconds = time.perf_counter() - start
    for process in processes:
        process.join()
    if any(loss is None for loss in losses):
        sys.exit("train_peer.py: a process failed")
    return seconds, sum(losses)


def stage2(data):
    opener = Opener(data)
    C, trials = opener.classes, {}
    if ARG.force:
        best = forced()
    else:
        for parallel in ["op"] if ARG.threads == 1 else ["op", "data"]:
            for chunk in sorted({min(c, C) for c in (1, 4, 16, C)}):
                count = min(C, max(chunk, 8) * ARG.threads)
                if parallel == "op" or chunk * ARG.threads <= C:
                    seconds = min(run2(opener, chunk, parallel, 10, count)[0] for _ in range(2))
                    trials[chunk, parallel] = seconds / count / 10
        best = min(trials, key=trials.get)
    rounds = [run2(opener, *best, ARG.steps, C) for _ in range(ARG.rounds)]
    seconds = min(t for t, _ in rounds)
    return {"texts": len(data["z"]), "classes": C, "positives": ARG.positives,
            "negatives": ARG.negatives, "ascent": ARG.ascent, "steps": ARG.steps,
            "chosen": dict(zip(("chunk", "parallel"), best)),
            "trial_microseconds_per_head_step": {"/".join(map(str, w)): round(t * 1e6, 1)
                                                 for w, t in trials.items()},
            "seconds": [round(t, 4) for t, _ in rounds],
            "best_seconds_per_step": round(seconds / ARG.steps, 6),
            "best_microseconds_per_head_step": round(seconds / ARG.steps / C * 1e6, 1),
            "loss_first_last": [round(v / C, 4) for v in rounds[0][1].tolist()]}


# ---- the rest ----

def forced():
    return tuple(int(v) if v.isdigit() else v for v in ARG.force.split(","))


def profiled(function):
    if not ARG.profile:
        return function()
    with torch.profiler.profile() as profile:
        result = function()
    table = profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=30)
    print(table, file=sys.stderr)
    return result


def make(path):
    """Random inputs of MiniLM's size; lengths vary around --tokens."""
    rng, g, width, inner = random.Random(1), torch.Generator().manual_seed(1), 384, 1536
    lengths = [max(2, round(rng.gauss(ARG.tokens, ARG.tokens / 3))) for _ in range(ARG.texts)]
    labels = [i % ARG.classes for i in range(ARG.texts)]

    def normal(*shape, scale=1.0):
        return torch.randn(*shape, generator=g) * scale

    centres = normal(ARG.classes, width, scale=0.5)
    offsets = np.cumsum([0, *lengths])
    owner = torch.tensor(labels).repeat_interleave(torch.tensor(lengths))
    out = {"x": normal(sum(lengths), width) + centres[owner],
           "z": normal(ARG.texts, width, scale=0.3) + centres[torch.tensor(labels)],
           "offsets": torch.tensor(offsets, dtype=torch.int32),
           "labels": torch.tensor(labels, dtype=torch.int32),
           "heads": torch.tensor([12], dtype=torch.int32), "layer_norm_eps": torch.tensor([1e-12])}

    def dense(name, *shape):
        out[name + ".weight"] = normal(*shape, scale=0.04)
        out[name + ".bias"] = torch.zeros(shape[0])

    for p in ("encoder.layer.4.", "encoder.layer.5."):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            dense(p + "attention." + part, width, width)
        dense(p + "intermediate.dense", inner, width)
        dense(p + "output.dense", width, inner)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            out[f"{p}{part}.weight"], out[f"{p}{part}.bias"] = torch.ones(width), torch.zeros(width)
    dense("known.dense", width, width)
    dense("known.out", ARG.classes, width)
    write_safetensors(Path(path), out)


def self_test(path):
    golden, bad, threads = read_safetensors(Path(path)), 0, max(2, ARG.threads)

    def report(what, *pairs):
        nonlocal bad
        fine = all(off < limit for off, limit in pairs)
        bad += not fine
        print(what, *(f"{off:.1e}" for off, _ in pairs), "ok" if fine else "WRONG")

    for c in ("A", "B"):
        data = {n: golden[f"{c}.{n}"] for n in ("x", "offsets", "labels", "layer_norm_eps")}
        data["heads"] = golden[f"{c}.config"][1]
        data.update({n[len("A.param."):]: t for n, t in golden.items()
                     if n.startswith(c + ".param.")})
        rates = dict(zip(("encoder", "known"), golden["adam"].tolist()))
        total, warm = golden["steps"].tolist()
        for way in (w + (o,) for w in ways1(threads) for o in ("foreach", "single")):
            trainer = Trainer(data, way, threads, 0, rates, total, warm)
            losses = [trainer.step(golden[f"{c}.batch.{s}"].long()) for s in range(total)]
            trainer.close()
            report(f"{c} {'/'.join(map(str, way))}: losses, parameters",
                   ((torch.tensor(losses) - golden[f"{c}.d0.losses"]).abs().max().item(), 1e-5),
                   (max((t - golden[f"{c}.d0.after10.{n}"]).abs().max().item() for n, t
                        in trainer.model.named().items() if not n.endswith("key.bias")), 5e-5))
    g = torch.Generator().manual_seed(3)
    heads, x, n = Heads(40, 3, g), torch.randn(3, 11, 40, generator=g), 4
    for p in (0.0, 0.3):
        leaves = [t.clone().requires_grad_(True) for t in heads.params]
        w1, b1, w2, b2, w3, b3 = leaves
        point, masks = x.clone().requires_grad_(True), Masks(p, 5)
        h = masks.apply(torch.baddbmm(b1, point, w1).relu())
        out = torch.baddbmm(b3, masks.apply(torch.baddbmm(b2, h, w2).relu()), w3)
        loss = (F.softplus(-out[:, :n]).sum() + F.softplus(out[:, n:]).sum()) / n
        want = torch.autograd.grad(loss, leaves, retain_graph=True)
        heads.gradients(x, n, Masks(p, 5), n)
        report(f"heads, dropout {p}: gradients",
               (max((a - b).abs().max().item() for a, b in zip(want, heads.grads)), 1e-6))
        if not p:
            up, = torch.autograd.grad(out.sum(), point)
            report("heads: ascent", ((up - heads.uphill(x)).abs().max().item(), 1e-6))
    oracle = heads.p.clone().requires_grad_(True)
    adam = torch.optim.Adam([oracle], lr=RATE2, eps=EPS2)
    for _ in range(5):
        heads.g.normal_(generator=g)
        oracle.grad = heads.g.clone()
        heads.adam()
        adam.step()
    report("heads: Adam", ((oracle.detach() - heads.p).abs().max().item(), 1e-6))
    return bad


def main():
    if ARG.make:
        return make(ARG.make)
    if ARG.self_test:
        sys.exit(self_test(ARG.self_test) > 0)
    if not ARG.file:
        ARGS.error("--file, --make or --self-test")
    if not SET_BLAS_THREADS:
        sys.exit(f"train_peer.py: {BLAS} is not OpenBLAS and may be 20 times slower;"
                 " install libopenblas0-pthread")
    set_threads(1)  # a thread pool does not survive a fork; more threads are set where needed
    torch.manual_seed(ARG.seed)
    data = read_safetensors(Path(ARG.file))
    result = stage1(data) if ARG.stage == 1 else stage2(data)
    print(json.dumps({"stage": ARG.stage, "threads": ARG.threads, "torch": torch.__version__,
                      "blas": os.path.realpath(BLAS), **result}))


if __name__ == "__main__":
    main()
