#!/usr/bin/env python3
"""fence.py - do the figures of `ringfence fence` hold on other rows?

    bench/fence.py MODEL TEST.tsv [--draws 20] [--rows 400] [--program build/ringfence] [-- OPTIONS]

Draws rows of TEST at random, places the fences of MODEL by them, and measures the new model on
the rest. Prints for each figure in how many draws the rest was within the interval, and the
means before and after. OPTIONS go to `ringfence fence`. Standard library only.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

FIGURES = ("accuracy", "f1", "known_as_open", "open_let_in")


def read(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return rows[0], [r for r in rows[1:] if len(r) == len(rows[0])]


def write(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.writelines("\t".join(r) + "\n" for r in [header] + rows)


def run(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def measured(program, model, path, header, rows, known):
    """The four figures of a model on these rows, from eval."""
    write(path, header, rows)
    e = run(program, "eval", model, path, "--raw-tsv", "--json")
    at = header.index("label")
    n_known = sum(r[at] in known for r in rows)
    called_open = sum(c["count"] for c in e["confusions"] if c["answer"] == "open")
    let_in = sum(c["count"] for c in e["confusions"] if c["label"] == "open")
    return {"accuracy": e["accuracy"], "f1": e["f1_tested"],
            "known_as_open": 100 * called_open / n_known,
            "open_let_in": 100 * let_in / (len(rows) - n_known)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model")
    p.add_argument("test")
    p.add_argument("--draws", type=int, default=20)
    p.add_argument("--rows", type=int, default=400)
    p.add_argument("--program", default="build/ringfence")
    args = sys.argv[1:]
    end = args.index("--") if "--" in args else len(args)
    o = p.parse_args(args[:end])
    options = args[end + 1:]
    header, rows = read(o.test)
    known = set(run(o.program, "inspect", o.model, "--json")["labels"])
    within = dict.fromkeys(FIGURES, 0)
    sums = {when: dict.fromkeys(FIGURES, 0.0) for when in ("before", "expected", "after", "width")}
    seconds = []
    with tempfile.TemporaryDirectory() as d:
        place, rest, new = (os.path.join(d, name) for name in ("place.tsv", "rest.tsv", "new.rf"))
        for draw in range(o.draws):
            some = list(rows)
            random.Random(draw).shuffle(some)
            write(place, header, some[:o.rows])
            start = time.monotonic()
            f = run(o.program, "fence", o.model, place, "-o", new, "--raw-tsv", "--json", *options)
            seconds.append(time.monotonic() - start)
            after = measured(o.program, new, rest, header, some[o.rows:], known)
            for name in FIGURES:
                e = f["expected"][name]
                within[name] += e["low"] <= after[name] <= e["high"]
                sums["before"][name] += f["before"][name]["value"]
                sums["expected"][name] += e["value"]
                sums["after"][name] += after[name]
                sums["width"][name] += e["high"] - e["low"]
            print(draw, f"offset {f['offset']:+.3f}", f"{seconds[-1]:.2f} s",
                  *(f"{name} {after[name]:.1f}" for name in FIGURES), flush=True)
    print(f"\n{'':16}{'before':>9}{'expected':>9}{'on rest':>9}{'width':>7}{'within':>9}")
    for name in FIGURES:
        print(f"{name:16}" + "".join(f"{sums[w][name] / o.draws:9.2f}" for w in ("before", "expected", "after"))
              + f"{sums['width'][name] / o.draws:7.1f}{within[name]:6} of {o.draws}")
    print(f"seconds, the whole command: median {sorted(seconds)[len(seconds) // 2]:.2f}, most {max(seconds):.2f}")


if __name__ == "__main__":
    main()
