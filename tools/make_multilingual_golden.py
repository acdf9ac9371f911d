#!/usr/bin/env python3
"""make_multilingual_golden.py MODEL.onnx TOKENIZER.json - features by an 8-bit export, its weights dequantised.

Writes tests/golden/features/multilingual.txt, one text a line, and multilingual-e5-small.bin, for each text 33
little-endian float32: the L2 norm of its features and 32 signed sums of them (make_feature_golden.mjs says how).

Reference: BERT in numpy, in float64, on scale * (byte - zero) of the ONNX file, which is read here by itself; ids
by SentencePiece (make_unigram_golden.py). The texts get the prefix "query: ". With --ids it prints the ids of
each text instead, for a run of ONNX Runtime on the same file.
"""
import json
import pathlib
import sys

import numpy as np
from math import erf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from make_unigram_golden import PHRASES, Reference, fields_of  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/features"
LAYERS, WIDTH, HEADS = 12, 384, 12


def tensors_and_nodes(path):
    graph = next(value for number, value in fields_of(pathlib.Path(path).read_bytes()) if number == 7)
    tensors, nodes = {}, []
    for number, value in fields_of(graph):
        if number == 5:
            shape, parts = [], {}
            for k, v in fields_of(value):
                if k == 1:
                    shape.append(v)
                else:
                    parts[k] = v
            tensors[parts[8].decode()] = (shape, parts)
        elif number == 1:
            inputs, parts = [], {}
            for k, v in fields_of(value):
                if k == 1:
                    inputs.append(v.decode())
                elif k in (2, 4):
                    parts.setdefault(k, v.decode())
            nodes.append((parts.get(4), inputs, parts.get(2)))
    return tensors, nodes


class Weights:
    def __init__(self, path):
        self.tensors, self.nodes = tensors_and_nodes(path)
        self.makers = {output: (op, inputs) for op, inputs, output in self.nodes}

    def scalar(self, name):
        _, parts = self.tensors[name]
        if 4 in parts:
            value = parts[4]
            return float(np.frombuffer(value, "<f4")[0] if isinstance(value, bytes) else value)
        value = parts[5]
        if isinstance(value, bytes):  # packed: a varint of one or two bytes
            value = value[0] & 127 | (value[1] << 7 if value[0] > 127 else 0)
        return float(value)

    def bytes(self, name, rows=None):
        shape, parts = self.tensors[name + "_quantized"]
        raw = np.frombuffer(parts[9], np.uint8).reshape(shape)
        raw = raw if rows is None else raw[rows]
        return self.scalar(name + "_scale") * (raw.astype(np.float64) - self.scalar(name + "_zero_point"))

    def plain(self, name):
        shape, parts = self.tensors[name]
        return np.frombuffer(parts[9], "<f4").reshape(shape).astype(np.float64)

    def dense(self, module):
        """[in, out] and the bias; found through the Add of the bias."""
        bias = module + ".bias"
        for op, inputs, _ in self.nodes:
            if op == "Add" and bias in inputs:
                op, inputs = self.makers[next(i for i in inputs if i != bias)]
                assert op == "Mul"
                op, inputs = self.makers[inputs[0]]
                assert op == "Cast"
                op, inputs = self.makers[inputs[0]]
                assert op == "MatMulInteger"
                return self.bytes(inputs[1].removesuffix("_quantized")), self.plain(bias)
        raise SystemExit("no product for " + module)


def norm(x, w, name):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-12) * w.plain(name + ".weight") + w.plain(name + ".bias")


def gelu(x):
    return 0.5 * x * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0)))


def features(w, texts_ids):
    layers = []
    for i in range(LAYERS):
        at = "encoder.layer.%d." % i
        layers.append({part: w.dense(at + part) for part in (
            "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
            "intermediate.dense", "output.dense")})
    out = []
    for ids in texts_ids:
        n = len(ids)
        x = w.bytes("embeddings.word_embeddings.weight", ids)
        x = x + w.bytes("embeddings.position_embeddings.weight", range(n))
        x = norm(x + w.bytes("embeddings.token_type_embeddings.weight", [0]), w, "embeddings.LayerNorm")
        for i, layer in enumerate(layers):
            at = "encoder.layer.%d." % i
            q, k, v = ((x @ layer["attention.self." + name][0] + layer["attention.self." + name][1])
                       .reshape(n, HEADS, -1).transpose(1, 0, 2) for name in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            weight, bias = layer["attention.output.dense"]
            x = norm(x + mixed.transpose(1, 0, 2).reshape(n, WIDTH) @ weight + bias, w,
                     at + "attention.output.LayerNorm")
            weight, bias = layer["intermediate.dense"]
            inner = gelu(x @ weight + bias)
            weight, bias = layer["output.dense"]
            x = norm(x + inner @ weight + bias, w, at + "output.LayerNorm")
        out.append(x.mean(0))
    return np.array(out)


def signs():
    u, rows = 2463534242, np.empty((32, WIDTH))
    for j in range(32):
        for i in range(WIDTH):
            u ^= u << 13 & 0xFFFFFFFF
            u ^= u >> 17
            u ^= u << 5 & 0xFFFFFFFF
            rows[j, i] = -1.0 if u >> 31 else 1.0
    return rows


def main():
    reference = Reference(json.loads(pathlib.Path(sys.argv[2]).read_text()))
    texts = [p for p in PHRASES if "\u200d" not in p]
    ids = [reference.ids("query: " + text) for text in texts]
    if "--ids" in sys.argv:
        print(json.dumps(ids))
        return
    z = features(Weights(sys.argv[1]), ids)
    if "--features" in sys.argv:
        print(json.dumps(z.tolist()))
        return
    records = np.concatenate([np.linalg.norm(z, axis=1, keepdims=True), z @ signs().T], axis=1)
    (OUT / "multilingual.txt").write_text("".join(t + "\n" for t in texts))
    (OUT / "multilingual-e5-small.bin").write_bytes(records.astype("<f4").tobytes())


if __name__ == "__main__":
    main()
