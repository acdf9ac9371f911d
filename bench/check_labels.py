#!/usr/bin/env python3
"""check_labels.py DATA.tsv [--seeds 0-4] [--share 0.05] [--program build/ringfence]

Changes the labels of a share of the rows at random, runs `ringfence check` on the result and
prints how many of the changed rows it lists, and how many of the rows it lists were changed:
of the whole list, and of its longest beginning of which at least half were changed.

Rows that were wrong before the change count as mistakes of the check."""
import argparse, csv, json, os, random, subprocess, tempfile

def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)

def run(program, rows, seed, share):
    draw = random.Random(seed)
    labels = sorted({label for _, label in rows})
    changed = set(draw.sample(range(len(rows)), round(share * len(rows))))
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "changed.jsonl")
        with open(path, "w") as out:
            for i, (text, label) in enumerate(rows):
                if i in changed:
                    label = draw.choice([x for x in labels if x != label])
                out.write(json.dumps({"text": text, "label": label}) + "\n")
        kinds = ["two-topics", "classes-alike", "near-duplicate", "near-conflict"]
        found = subprocess.run([program, "check", path, "--json"] + [x for k in kinds for x in ("--ignore", k)],
                               check=True, capture_output=True).stdout
    listed = [f for f in json.loads(found)["findings"] if f["kind"] == "label-error"]
    hits = right = 0
    best = (0, 0)
    for n, f in enumerate(listed, 1):
        i = f["rows"][0]["line"] - 1
        hits += i in changed
        right += i in changed and f["suggestion"] == rows[i][1]
        if hits / n >= 0.5:
            best = (hits, n)
    return len(changed), hits, len(listed), right, best

def main():
    args = argparse.ArgumentParser()
    args.add_argument("data")
    args.add_argument("--seeds", default="0-4", type=numbers)
    args.add_argument("--share", default=0.05, type=float)
    args.add_argument("--program", default="build/ringfence")
    args = args.parse_args()
    with open(args.data, newline="") as f:
        rows = [(r[0], r[1]) for r in csv.reader(f, delimiter="\t") if len(r) == 2][1:]
    print("seed changed  listed found precision | at half precision: found of listed | suggestion right")
    for seed in args.seeds:
        changed, hits, listed, right, best = run(args.program, rows, seed, args.share)
        print(f"{seed:4} {changed:7} {listed:7} {hits / changed:5.1%} {hits / max(listed, 1):9.1%} |"
              f" {best[0] / changed:25.1%} {best[1]:9} | {right / max(hits, 1):.1%}", flush=True)

if __name__ == "__main__":
    main()
