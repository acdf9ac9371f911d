#!/usr/bin/env python3
"""Write the reference for nearest-text and whitened-mean.

Reference: the definitions in NumPy, float64, with the symmetric square root of the covariance
instead of a Cholesky factor. Made with NumPy 1.24.2 (Debian 12).

Run python3 tools/make_nearest_golden.py after make_posthoc_golden.py; it reads the rows of
tests/golden/posthoc.safetensors and writes
  tests/golden/nearest.safetensors
    text.cosine [44, 5], text.dev, text.own: threshold from dev and without
    mean.cosine [44, 5], mean.dev, mean.own: the same for whitened means
"""
import json
import pathlib
import struct

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
QUANTILE, SHARE = 0.95, 0.3
DTYPES = {"F32": np.float32, "I32": np.int32}


def read(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    body, out = data[8 + size:], {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            start, end = t["data_offsets"]
            x = np.frombuffer(body[start:end], DTYPES[t["dtype"]]).reshape(t["shape"])
            out[name] = x.astype(np.float64) if t["dtype"] == "F32" else x
    return out


def write(path, tensors):
    header, body = {}, b""
    for name, x in sorted(tensors.items()):
        raw = np.ascontiguousarray(x, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(x.shape),
                        "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def threshold(largest):
    return np.array([np.quantile(largest, 1 - QUANTILE)])


def nearest_text(out, z, class_of, dev, test):
    classes = class_of.max() + 1

    def cosines(x, own=False):
        c = unit(x) @ unit(z).T
        if own:
            np.fill_diagonal(c, -2)
        return np.stack([c[:, class_of == k].max(1) for k in range(classes)], 1)

    out["text.cosine"] = cosines(test)
    out["text.dev"] = threshold(cosines(dev).max(1))
    out["text.own"] = threshold(cosines(z, own=True).max(1))


def whitened_mean(out, z, class_of, dev, test):
    classes, x = class_of.max() + 1, unit(z)
    means = np.stack([x[class_of == k].mean(0) for k in range(classes)])
    within = x - means[class_of]
    s = within.T @ within / len(x)
    s = (1 - SHARE) * s + SHARE * np.trace(s) / len(s) * np.eye(len(s))
    e, u = np.linalg.eigh(s)
    root = u @ np.diag(e ** -0.5) @ u.T

    def whiten(rows):
        return unit((unit(rows) - x.mean(0)) @ root)

    y = whiten(z)
    means = np.stack([unit(y[class_of == k].mean(0)) for k in range(classes)])
    out["mean.cosine"] = whiten(test) @ means.T
    out["mean.dev"] = threshold((whiten(dev) @ means.T).max(1))
    own = y @ means.T
    for i, k in enumerate(class_of):
        others = (class_of == k) & (np.arange(len(y)) != i)
        own[i, k] = y[i] @ unit(y[others].mean(0))
    out["mean.own"] = threshold(own.max(1))


def main():
    rows, out = read(GOLDEN / "posthoc.safetensors"), {}
    parts = rows["z"], rows["class"], rows["dev_z"], rows["test_z"]
    nearest_text(out, *parts)
    whitened_mean(out, *parts)
    for name in ("text", "mean"):
        largest = out[name + ".cosine"].max(1)
        for which in (".dev", ".own"):  # both answers occur, none is a matter of rounding
            margin = largest - out[name + which]
            assert np.abs(margin).min() > 1e-5 and 3 < (margin < 0).sum() < len(margin) - 3
    write(GOLDEN / "nearest.safetensors", out)


if __name__ == "__main__":
    main()
