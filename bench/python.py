#!/usr/bin/env python3
"""`predict` of the Python package compared with `ringfence predict`, alternating in one run.

    python3 bench/python.py [MODEL] [--rounds N]     MODEL: build/demo/support.rf, of make demo

Texts: the 5,700 of the oos test set, read from ../shared/data; where that is missing, those of
examples/support over and over. Both sides begin with a model file and texts, and end with a label for
each text: the program reads its input and prints, Python loads the model, turns strings into
bytes and indices into strings. The time of an interpreter that imports the package is not
counted. CPU time is that of all threads; on a busy machine it is the steadier of the two.
"""
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bindings" / "python"))
import ringfence  # noqa: E402


def read_texts():
    oos = ROOT.parent / "shared" / "data" / "oos" / "test.tsv"
    if oos.exists():
        lines = oos.read_text().splitlines()[1:]
        return [line.split("\t")[0] for line in lines][:5700]
    print("SKIPPED: ../shared/data is not there; the sample stands in", flush=True)
    texts = ringfence.read(ROOT / "examples" / "support" / "test.tsv").texts
    return (texts * 20)[:5700]


def timed(work):
    """What it returns, seconds by the clock, seconds of CPU."""
    wall, before = time.perf_counter(), os.times()
    result = work()
    after = os.times()
    return result, time.perf_counter() - wall, sum(after[:4]) - sum(before[:4])


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("-")]
    rounds = 3
    if "--rounds" in sys.argv:
        rounds = int(words.pop(words.index(sys.argv[sys.argv.index("--rounds") + 1])))
    model = words[0] if words else str(ROOT / "build" / "demo" / "support.rf")
    texts = read_texts()
    lines = "\n".join(texts).encode() + b"\n"

    def program():
        command = [ROOT / "build" / "ringfence", "predict", model]
        done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, check=True).stdout
        return [line.split("\t")[0] for line in done.decode().splitlines()]

    def package():
        with ringfence.load(model) as loaded:
            return loaded.predict(texts)

    best = [[float("inf")] * 2, [float("inf")] * 2]
    for _ in range(rounds):
        (want, *times_a), (got, *times_b) = timed(program), timed(package)
        assert got == want, "the answers differ"
        print(f"# program {times_a[0]:.2f} s ({times_a[1]:.2f} of CPU), Python {times_b[0]:.2f} s ({times_b[1]:.2f})", flush=True)
        best = [[min(b, t) for b, t in zip(*pair)] for pair in zip(best, (times_a, times_b))]
    print(f"{len(texts)} texts, best of {rounds} rounds: Python / program = "
          f"{best[1][0] / best[0][0]:.3f} by the clock, {best[1][1] / best[0][1]:.3f} of CPU")


if __name__ == "__main__":
    main()
