#!/usr/bin/env python3
"""Training compared with PyTorch, alternating in one run; prints the table of docs/SPEED.md.

    python3 bench/train.py [--rounds N]         (make bench-train: 2 rounds, some 20 minutes)

Data: the oos set at 50 % known classes, seed 0 (7,500 texts, 75 classes), read from
../shared/data; where that is missing, the sample in examples/support. Ours is build/bench/
bench_train. PyTorch is bench/train_peer.py in two forms, each the best of one and two threads:
  usual    length-sorted micro-batches padded to their longest text, PyTorch's own threads,
           heads in batched products
  tuned    whatever its trials find fastest: no padding, a thread per micro-batch, chunks of
           heads that fit the cache, one process per share of the heads
Both sides have the same batch size, dropout, optimiser, heads and rows per step. Our whole run
is all of `ringfence train`; PyTorch's is its stages 1 and 2 alone, without
encoding, features and files, so the last ratio favours it.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
BENCH = ROOT / "build" / "bench" / "bench_train"
PEER = ROOT / "bench" / "train_peer.py"
ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 2
EPOCHS, STEPS, POSITIVES, NEGATIVES = 2, 40, 8, 256
RUN_EPOCHS, RUN_STEPS = 12, 750  # of the whole run: 600 steps per head and 150 of cooling
USUAL = {1: "padded,4,op,foreach", 2: "16,op"}


def out(*command):
    done = subprocess.run([str(x) for x in command], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def ours(stage, threads, data):
    if stage == 1:
        return min(out(BENCH, "stage1", EPOCHS, threads, *data)["epoch_seconds"])
    return out(BENCH, "stage2", STEPS, POSITIVES, NEGATIVES, 0, threads, *data)["step_seconds"]


def theirs(stage, threads, file, force=()):
    say = out("/usr/bin/python3", PEER, "--file", file, "--stage", stage, "--threads", threads,
              "--epochs", EPOCHS, "--steps", STEPS, "--positives", POSITIVES,
              "--negatives", NEGATIVES, "--rounds", 1, *force)
    print(f"#   {json.dumps(say)}", flush=True)
    return say["best_seconds_per_epoch" if stage == 1 else "best_seconds_per_step"]


def usual(stage, threads, file):
    return theirs(stage, threads, file, ("--force", USUAL[stage]))


def main():
    oos = DATA / "oos" / "train.tsv"
    if oos.exists():
        data = (oos, DATA / "known_classes" / "oos_0.5_seed0.txt")
    else:
        print("SKIPPED: ../shared/data is not there; the sample stands in", flush=True)
        data = (ROOT / "examples" / "support" / "train.tsv",)
    cpus = len(os.sched_getaffinity(0))
    best = {}
    with tempfile.TemporaryDirectory() as tmp:
        file = Path(tmp) / "input.safetensors"
        print("#", json.dumps(out(BENCH, "write", file, *data)), flush=True)
        for _ in range(ROUNDS):
            for stage in (1, 2):
                for threads in sorted({1, cpus}):
                    for who, run, what in (("ours", ours, data), ("usual", usual, file),
                                           ("tuned", theirs, file)):
                        took = run(stage, threads, what)
                        key = who, stage, threads
                        best[key] = min(took, best.get(key, 1e30))
                        print(f"# {who}, stage {stage}, {threads} thread(s): {took:.4f} s",
                              flush=True)
        print("| | threads | ours, s | usual PyTorch, s | tuned, s | usual / ours | tuned / ours |")
        print("|---|---|---|---|---|---|---|")
        peer = {}
        for stage, name in ((1, "stage 1, one epoch"), (2, "stage 2, one step of all heads")):
            for who in ("usual", "tuned"):
                peer[who, stage] = min(best[who, stage, t] for t in {1, cpus})
            for threads in sorted({1, cpus}):
                mine = best["ours", stage, threads]
                print(f"| {name} | {threads} | {mine:.4f} | {best['usual', stage, threads]:.4f} "
                      f"| {best['tuned', stage, threads]:.4f} | **{peer['usual', stage] / mine:.2f}** "
                      f"| **{peer['tuned', stage] / mine:.2f}** |")
        train = Path(tmp) / "train.tsv"
        known = set(data[1].read_text().splitlines()) if len(data) > 1 else None
        lines = data[0].read_text().splitlines(keepends=True)
        train.write_text(lines[0] + "".join(
            x for x in lines[1:] if known is None or x.rstrip("\n").split("\t")[-1] in known))
        start = time.time()
        run = subprocess.Popen([ROOT / "build" / "ringfence", "train", train, "--raw-tsv", "--output",
                                Path(tmp) / "model.rf", "--quiet", "--dev-share", "0",
                                "--epochs", str(RUN_EPOCHS), "--patience", str(RUN_EPOCHS)])
        _, status, usage = os.wait4(run.pid, 0)
        took = time.time() - start
        if status:
            sys.exit("ringfence train failed")
        whole = {who: peer[who, 1] * RUN_EPOCHS + peer[who, 2] * RUN_STEPS
                 for who in ("usual", "tuned")}
        print(f"| whole run, {RUN_EPOCHS} epochs, {RUN_STEPS} steps | {cpus} | {took:.1f} "
              f"| {whole['usual']:.1f} | {whole['tuned']:.1f} | **{whole['usual'] / took:.2f}** "
              f"| **{whole['tuned'] / took:.2f}** |")
        print(f"peak memory of the whole run: {usage.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
