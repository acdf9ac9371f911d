"""What the tests share: a small model, the program to compare with, and TAP for the suite."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build" / "ringfence"
TINY = str(ROOT / "tests" / "golden" / "tiny" / "encoder")

sys.path.insert(0, str(ROOT / "bindings" / "python"))
# Examples and documents use the default encoder; here that is the tiny one.
CACHE = ROOT / "build" / "python-cache"
os.environ["RINGFENCE_CACHE"] = str(CACHE)
(CACHE / "encoders").mkdir(parents=True, exist_ok=True)
if not (CACHE / "encoders" / "minilm").exists():
    (CACHE / "encoders" / "minilm").symlink_to(TINY)

# One CPU, so one thread unless a test asks for more: the suite runs other parts beside this
# one, and threads that wait for each other would waste what they have.
os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})

SETTINGS = {"epochs": 2, "batch": 16, "known_rate": 0.01, "encoder_rate": 0.001, "head_steps": 8}
WORDS = {"parcel": "where is my parcel", "pay": "how do i pay you", "chain": "the chain fell off",
         "hello": "hello thank you a"}


def rows(n=12):
    """n texts for each of four classes, each of four words of its own."""
    texts, labels, state = [], [], 1
    for i in range(n):
        for label, words in WORDS.items():
            drawn = []
            for _ in range(4):
                state = (state * 1103515245 + 12345) % (1 << 31)
                drawn.append(words.split()[state // 65536 % 4])
            texts.append(" ".join(drawn))
            labels.append(label)
    return texts, labels


OPEN_TEXTS = ["9 8 7 6 5", "! ? ! ?", "( ) : /", "x y z z", "3 1 4 1 5", "b c d e"]


def write_tsv(path, texts, labels):
    lines = ["text\tlabel"] + [f"{t}\t{n}" for t, n in zip(texts, labels)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def program(*arguments, **more):
    """Runs ringfence and returns what it prints."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False, **more)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="session")
def data():
    return rows()


@pytest.fixture(scope="session")
def model(data):
    import ringfence

    return ringfence.train(*data, encoder=TINY, settings=SETTINGS, threads=1)


@pytest.fixture(scope="session")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.rf"
    model.save(path)
    return str(path)


# ---- TAP, which tests/part.sh counts ----

_number = 0


def pytest_runtest_logreport(report):
    global _number
    if not os.environ.get("RF_TAP") or (report.when != "call" and report.passed):
        return
    _number += 1
    if hasattr(report, "wasxfail"):
        print(f"\nok {_number} - {report.nodeid}, which cannot hold: {report.wasxfail}")
    elif report.skipped:
        print(f"\nok {_number} # skip {report.nodeid}: {report.longrepr[-1]}")
    else:
        print(f"\n{'ok' if report.passed else 'not ok'} {_number} - {report.nodeid}")
