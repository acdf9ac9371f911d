#!/usr/bin/env python3
"""Write the tiny encoders of the tests and their reference outputs.

Reference: BERT (post-LayerNorm, erf GELU) written below in plain PyTorch
and computed in float64; only the stored results are rounded to float32.
Made with PyTorch 1.13 (Debian 12's python3-torch), Python 3.11, NumPy 1.24.

Run OMP_NUM_THREADS=1 python3 tools/make_tiny_encoder.py (fixed seeds); it writes
  tests/golden/tiny/encoder       F32, bare names, vocab.txt
  tests/golden/tiny/encoder_f16   F16, names under `bert.`, no pooler, position_ids
  tests/golden/tiny/encoder_bf16  BF16, bare names
  tests/golden/tiny/encoder_eps   F32, other shape, layer_norm_eps 1e-5, tokenizer.json
  tests/golden/tiny/expected.safetensors  X.c.ids .layer0 ... .layerL .mean .cls
                                          X = f32 f16 bf16 eps, c = 0 ... 5
  tests/golden/num.safetensors    gelu, layernorm (eps 1e-12), softmax, gemm
"""
import json
import math
import random
import struct
from pathlib import Path

import torch
import torch.nn.functional as F

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
TINY = GOLDEN / "tiny"
DTYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.int32: "I32", torch.int64: "I64"}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZER = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = [*LETTERS, *("##" + c for c in LETTERS), *"0123456789", *".,!?'\"-():/\\", *"""
    the and of to in is it you that for ring fence text un able token order refund
    please cancel my where when how hello thank ##es ##ing ##ed ##er ##ly ##able ##ness
    ##fence ##ring ##tion ##ment ##al ##est ##ful""".split()]
VOCAB = SPECIAL + PIECES
CASED = ["[PAD]", "[unused0]", "[unused1]", *SPECIAL[1:], *PIECES,
         "The", "Ring", "R", "F", "é", "É", "##é", "##ß", "中"]


def config(vocab, width, layers, heads, inner, positions, eps):
    return {"architectures": ["BertModel"], "model_type": "bert", "vocab_size": len(vocab),
            "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
            "intermediate_size": inner, "hidden_act": "gelu", "layer_norm_eps": eps,
            "max_position_embeddings": positions, "position_embedding_type": "absolute",
            "type_vocab_size": 2, "pad_token_id": 0}


def normals(rng, *shape, scale=1.0, mean=0.0):
    values = [rng.gauss(mean, scale) for _ in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float32).reshape(shape)


def make_weights(cfg, seed, spread):
    rng, w, d, inner = random.Random(seed), {}, cfg["hidden_size"], cfg["intermediate_size"]

    def add(name, *shape, scale=0.15, mean=0.0):
        w[name + ".weight"] = normals(rng, *shape, scale=scale, mean=mean)
        w[name + ".bias"] = normals(rng, shape[0], scale=0.1)

    for table, rows in (("word", cfg["vocab_size"]), ("token_type", 2),
                        ("position", cfg["max_position_embeddings"])):
        w[f"embeddings.{table}_embeddings.weight"] = normals(rng, rows, d, scale=spread)
    add("embeddings.LayerNorm", d, scale=0.2, mean=1.0)
    for p in (f"encoder.layer.{n}." for n in range(cfg["num_hidden_layers"])):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add(p + "attention." + part, d, d)
        add(p + "attention.output.LayerNorm", d, scale=0.2, mean=1.0)
        add(p + "intermediate.dense", inner, d)
        add(p + "output.dense", d, inner)
        add(p + "output.LayerNorm", d, scale=0.2, mean=1.0)
    add("pooler.dense", d, d)
    return w


def bert(weights, cfg, ids):
    """The embedding output and every layer's output, each [T, width], float64."""
    width, heads, eps = cfg["hidden_size"], cfg["num_attention_heads"], cfg["layer_norm_eps"]

    def get(name, *parts):
        return [weights[f"{name}.{part}"].double() for part in parts or ("weight", "bias")]

    word, position, kind = (get(f"embeddings.{table}_embeddings", "weight")[0]
                            for table in ("word", "position", "token_type"))
    x = word[ids] + position[:len(ids)] + kind[0]
    states = [F.layer_norm(x, (width,), *get("embeddings.LayerNorm"), eps)]
    for n in range(cfg["num_hidden_layers"]):
        p, x = f"encoder.layer.{n}.", states[-1]
        q, k, v = (F.linear(x, *get(p + "attention.self." + part))
                   .reshape(len(ids), heads, -1).transpose(0, 1)  # [heads, T, width / heads]
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(1, 2) / math.sqrt(width // heads)
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(ids), width)
        x = x + F.linear(mixed, *get(p + "attention.output.dense"))
        x = F.layer_norm(x, (width,), *get(p + "attention.output.LayerNorm"), eps)
        inner = F.gelu(F.linear(x, *get(p + "intermediate.dense")))
        x = x + F.linear(inner, *get(p + "output.dense"))
        states.append(F.layer_norm(x, (width,), *get(p + "output.LayerNorm"), eps))
    return states


def write_safetensors(path, tensors):
    """Wide element types first, then by name, so that every tensor is aligned."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(tensors, key=lambda n: (-tensors[n].element_size(), n)):
        t = tensors[name].contiguous()
        raw = (t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy().tobytes()
        header[name] = {"dtype": DTYPES[t.dtype], "shape": list(t.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def tokenizer_json(vocab):
    ids = {token: vocab.index(token) for token in sorted(vocab)}  # not in id order
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    pair = [{kind: {"id": t, "type_id": i}} for kind, t, i in (
        ("SpecialToken", "[CLS]", 0), ("Sequence", "A", 0), ("SpecialToken", "[SEP]", 0),
        ("Sequence", "B", 1), ("SpecialToken", "[SEP]", 1))]
    marks = {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0", "truncation": None, "padding": None, "decoder": None,
        "added_tokens": [{"id": ids[t], "content": t, **flags, "special": True} for t in SPECIAL],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "lowercase": False,
                       "handle_chinese_chars": True, "strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "special_tokens": marks,
                           "single": pair[:3], "pair": pair},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ids}}


def expected(variant, cfg, weights, vocab):
    rng, out = random.Random(7), {}
    weights = {name.replace("bert.", "", 1): tensor for name, tensor in weights.items()}
    for case, length in enumerate((2, 3, 7, 12, 19, cfg["max_position_embeddings"])):
        words = [rng.choice(["[UNK]", *PIECES]) for _ in range(length - 2)]
        ids = torch.tensor([vocab.index(t) for t in ("[CLS]", *words, "[SEP]")])
        key, states = f"{variant}.{case}.", bert(weights, cfg, ids)
        out.update({f"{key}layer{n}": x.float() for n, x in enumerate(states)})
        out.update({key + "ids": ids.int(), key + "cls": states[-1][0].float(),
                    key + "mean": states[-1].mean(0).float()})
    return out


def numeric():
    """Single functions; inputs are exact in float32, results computed in float64."""
    rng, out = random.Random(11), {}
    x = torch.tensor([k * 24 / 390 - 12 for k in range(391)]
                     + [s * m for s in (1, -1) for m in (0.0, 1e-30, 1e-8, 1e-4, 11.99)])
    tail = torch.special.erfc(-x.double() / math.sqrt(2))  # 1 + erf without cancellation
    out["gelu"] = {"x": x, "y": 0.5 * x.double() * tail}
    gain, bias = normals(rng, 48, scale=0.2, mean=1), normals(rng, 48)
    x = torch.cat([normals(rng, 1, 48, scale=s, mean=m)
                   for s, m in ((1, 0), (1, 1000), (0.001, 0), (30, -5), (1, 2))])
    y = F.layer_norm(x.double(), (48,), gain.double(), bias.double(), 1e-12)
    out["layernorm"] = {"x": x, "gain": gain, "bias": bias, "y": y}
    x = normals(rng, 6, 37, scale=3)
    x[1, 5], x[1, 9], x[2, 0], x[2, 36], x[3] = 80, -80, 80, 80, -80
    x[4] = (x[4] * 25).clamp(-80, 80)
    out["softmax"] = {"x": x, "y": x.double().softmax(-1)}
    a, w, bias = normals(rng, 23, 45), normals(rng, 37, 45, scale=0.3), normals(rng, 37)
    y = F.linear(a.double(), w.double(), bias.double())
    out["gemm"] = {"a": a, "w": w, "bias": bias, "y": y}
    return {f"{f}.{k}": v.float() for f, parts in out.items() for k, v in parts.items()}


def main():
    cfg, cfg_eps = config(VOCAB, 32, 2, 4, 72, 40, 1e-12), config(CASED, 24, 3, 3, 50, 20, 1e-5)
    f32, out = make_weights(cfg, seed=1, spread=0.4), {}
    eps = make_weights(cfg_eps, seed=2, spread=0.01)  # so small that epsilon matters
    f16 = {"bert." + n: t.half() for n, t in f32.items() if not n.startswith("pooler.")}
    f16["bert.embeddings.position_ids"] = torch.arange(40).reshape(1, 40)
    bf16 = {n: t.bfloat16() for n, t in f32.items()}
    for variant, c, stored, vocab in (("f32", cfg, f32, VOCAB), ("f16", cfg, f16, VOCAB),
                                      ("bf16", cfg, bf16, VOCAB), ("eps", cfg_eps, eps, CASED)):
        folder = TINY / ("encoder" if variant == "f32" else "encoder_" + variant)
        write_safetensors(folder / "model.safetensors", stored)
        out.update(expected(variant, c, stored, vocab))
        write_json(folder / "config.json", c)
        if variant == "eps":
            write_json(folder / "tokenizer.json", tokenizer_json(vocab))
        else:
            write_json(folder / "tokenizer_config.json", TOKENIZER)
            (folder / "vocab.txt").write_text("\n".join(vocab) + "\n", "utf-8")
    write_safetensors(TINY / "expected.safetensors", out)
    write_safetensors(GOLDEN / "num.safetensors", numeric())


if __name__ == "__main__":
    main()
