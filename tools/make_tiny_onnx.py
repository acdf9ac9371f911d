#!/usr/bin/env python3
"""Write a miniature of a PyTorch 2.0 BERT export (ONNX, opset 11) for the import tests.

It holds the weights of tests/golden/tiny/encoder, so its expected outputs are the
`f32.*` ones in tests/golden/tiny/expected.safetensors. As in a real export:
embeddings, biases and LayerNorms are initialisers with their own names, dense
weights are anonymous (`onnx::MatMul_201`), stored [in, out], and identified only by the
MatMul node that has them as its second input; there is no pooler. The graph is
complete; only the attention shapes, computed at run time in a real export, are
constants here. One initialiser is stored as a proto3 writer would: packed dims,
packed float_data instead of raw_data.

Standard library only (Python 3.9 or later); the protobuf encoding is written by hand.

Run: python3 tools/make_tiny_onnx.py   (after tools/make_tiny_encoder.py)
It writes tests/golden/tiny/onnx: model.onnx, config.json, vocab.txt, tokenizer_config.json
"""
import json
import math
import shutil
import struct
from pathlib import Path

TINY = Path(__file__).resolve().parent.parent / "tests" / "golden" / "tiny"
FLOAT, INT64 = 1, 7  # TensorProto.DataType
TYPED = "embeddings.token_type_embeddings.weight"  # the initialiser with float_data


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """One protobuf field: an int as varint, text and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(dims, kind, raw, name=None, typed=False):
    """TensorProto: dims 1, data_type 2, float_data 4, name 8, raw_data 9."""
    if typed:
        head, data = field(1, b"".join(varint(d) for d in dims)), field(4, raw)
    else:
        head, data = b"".join(field(1, d) for d in dims), field(9, raw)
    return head + field(2, kind) + (field(8, name) if name else b"") + data


def attribute(name, value):
    """AttributeProto: name 1, i 3, t 5, ints 8, type 20."""
    if isinstance(value, list):
        body, kind = b"".join(field(8, v) for v in value), 7
    elif isinstance(value, bytes):
        body, kind = field(5, value), 4
    else:
        body, kind = field(3, value), 2
    return field(1, name) + body + field(20, kind)


def value_info(name, kind, *dims):
    """ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 } } }."""
    shape = b"".join(field(1, field(1 if isinstance(d, int) else 2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


class Graph:
    """Nodes named as PyTorch names them: scope, operator, _1, _2, ... in each scope."""

    def __init__(self):
        self.nodes, self.initialisers, self.seen = [], [], {}

    def node(self, scope, op, *inputs, output=None, **attributes):
        count = self.seen[scope, op] = self.seen.get((scope, op), -1) + 1
        name = f"{scope}/{op}" + (f"_{count}" if count else "")
        output = output or name + "_output_0"
        self.nodes.append(
            b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name)
            + field(4, op) + b"".join(field(5, attribute(*a)) for a in attributes.items()))
        return output

    def constant(self, scope, value):
        if isinstance(value, float):
            data = tensor([], FLOAT, struct.pack("<f", value))
        else:
            values = value if isinstance(value, list) else [value]
            dims = [len(values)] if isinstance(value, list) else []
            data = tensor(dims, INT64, struct.pack(f"<{len(values)}q", *values))
        return self.node(scope, "Constant", value=data)

    def layernorm(self, scope, x, eps, output=None):
        name = scope[1:].replace("/", ".")
        mean = self.node(scope, "ReduceMean", x, axes=[-1])
        centred = self.node(scope, "Sub", x, mean)
        square = self.node(scope, "Pow", centred, self.constant(scope, 2.0))
        variance = self.node(scope, "ReduceMean", square, axes=[-1])
        root = self.node(scope, "Sqrt", self.node(
            scope, "Add", variance, self.constant(scope, eps)))
        scaled = self.node(scope, "Mul", self.node(scope, "Div", centred, root), name + ".weight")
        return self.node(scope, "Add", scaled, name + ".bias", output=output)


def read_safetensors(path):
    blob = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", blob)[0]
    header = json.loads(blob[8:start])
    header.pop("__metadata__", None)
    return {name: (t["shape"], blob[start + t["data_offsets"][0]:start + t["data_offsets"][1]])
            for name, t in header.items()}


def transposed(shape, raw):
    rows, columns = shape
    cells = [raw[i:i + 4] for i in range(0, len(raw), 4)]
    return [columns, rows], b"".join(cells[r * columns + c]
                                     for c in range(columns) for r in range(rows))


def build(config, weights):
    graph, eps = Graph(), config["layer_norm_eps"]
    node, constant = graph.node, graph.constant
    width, heads = config["hidden_size"], config["num_attention_heads"]
    positions, anonymous = config["max_position_embeddings"], {}
    graph.initialisers.append(tensor([1, positions], INT64, struct.pack(
        f"<{positions}q", *range(positions)), "embeddings.position_ids"))

    def dense(scope, x):
        name = scope[1:].replace("/", ".")
        return node(scope, "Add", name + ".bias", node(scope, "MatMul", x, anonymous[name]))

    parts = ((0, "attention.self.query"), (1, "attention.self.key"), (4, "attention.self.value"),
             (10, "attention.output.dense"), (11, "intermediate.dense"), (12, "output.dense"))
    for n in range(config["num_hidden_layers"]):
        for number, part in parts:
            anonymous[f"encoder.layer.{n}.{part}"] = f"onnx::MatMul_{201 + 13 * n + number}"
    for name, (shape, raw) in weights.items():
        owner, part = name.rsplit(".", 1)
        if owner != "pooler.dense" and not (owner in anonymous and part == "weight"):
            graph.initialisers.append(tensor(shape, FLOAT, raw, name, typed=name == TYPED))
    for name, alias in anonymous.items():
        shape, raw = transposed(*weights[name + ".weight"])
        graph.initialisers.append(tensor(shape, FLOAT, raw, alias))

    mask = node("", "Unsqueeze", node("", "Unsqueeze", "attention_mask", axes=[1]), axes=[2])
    mask = node("", "Sub", constant("", 1.0), node("", "Cast", mask, to=FLOAT))
    mask = node("", "Mul", mask, constant("", -3.4028234663852886e38))

    e = "/embeddings"
    length = node(e, "Gather", node(e, "Shape", "input_ids"), constant(e, 1), axis=0)
    rows = node(e, "Slice", "embeddings.position_ids", constant(e, [0]), node(
        e, "Unsqueeze", length, axes=[0]), constant(e, [1]), constant(e, [1]))
    word, kind, place = (
        node(f"{e}/{t}_embeddings", "Gather", f"embeddings.{t}_embeddings.weight", index)
        for t, index in (("word", "input_ids"), ("token_type", "token_type_ids"),
                         ("position", rows)))
    x = node(e, "Add", node(e, "Add", word, kind), place)
    x = graph.layernorm(e + "/LayerNorm", x, eps)

    last = config["num_hidden_layers"] - 1
    for n in range(last + 1):
        layer = f"/encoder/layer.{n}"
        s, o, act = (layer + t for t in ("/attention/self", "/attention/output",
                                         "/intermediate/intermediate_act_fn"))
        shape = [0, 0, heads, width // heads]
        q = dense(s + "/query", x)
        k = node(s, "Reshape", dense(s + "/key", x), constant(s, shape))
        v = node(s, "Reshape", dense(s + "/value", x), constant(s, shape))
        v = node(s, "Transpose", v, perm=[0, 2, 1, 3])
        q = node(s, "Transpose", node(s, "Reshape", q, constant(s, shape)), perm=[0, 2, 1, 3])
        k = node(s, "Transpose", k, perm=[0, 2, 3, 1])
        scores = node(s, "Div", node(s, "MatMul", q, k), constant(s, math.sqrt(width // heads)))
        share = node(s, "Softmax", node(s, "Add", scores, mask), axis=3)
        mixed = node(s, "Transpose", node(s, "MatMul", share, v), perm=[0, 2, 1, 3])
        mixed = node(s, "Reshape", mixed, constant(s, [0, 0, width]))
        x = node(o, "Add", dense(o + "/dense", mixed), x)
        x = graph.layernorm(o + "/LayerNorm", x, eps)
        h = dense(layer + "/intermediate/dense", x)
        erf = node(act, "Erf", node(act, "Div", h, constant(act, math.sqrt(2))))
        h = node(act, "Mul", h, node(act, "Add", erf, constant(act, 1.0)))
        h = node(act, "Mul", h, constant(act, 0.5))
        x = node(layer + "/output", "Add", dense(layer + "/output/dense", h), x)
        x = graph.layernorm(layer + "/output/LayerNorm", x, eps,
                            output="last_hidden_state" if n == last else None)
    return graph


def main():
    config = json.loads((TINY / "encoder" / "config.json").read_text("utf-8"))
    graph = build(config, read_safetensors(TINY / "encoder" / "model.safetensors"))
    axes = ("batch_size", "sequence_length")
    # GraphProto: node 1, name 2, initializer 5, input 11, output 12.
    body = b"".join(field(1, n) for n in graph.nodes) + field(2, "torch_jit")
    body += b"".join(field(5, t) for t in graph.initialisers)
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        body += field(11, value_info(name, INT64, *axes))
    body += field(12, value_info("last_hidden_state", FLOAT, *axes, config["hidden_size"]))
    # ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8.
    model = field(1, 6) + field(2, "pytorch") + field(3, "2.0.1") + field(7, body)
    model += field(8, field(2, 11))
    folder = TINY / "onnx"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    for name in ("config.json", "vocab.txt", "tokenizer_config.json"):
        shutil.copyfile(TINY / "encoder" / name, folder / name)


if __name__ == "__main__":
    main()
