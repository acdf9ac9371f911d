"""Nothing that a caller does ends in a crash: wrong types, closed models, threads, forks."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest
from conftest import ROOT, SETTINGS, TINY, rows

import ringfence
from ringfence.sklearn import RingfenceClassifier


class Odd:
    """Has the methods of everything and keeps no promise."""

    def __float__(self):
        return "no number"

    def __index__(self):
        return None

    def __iter__(self):
        return iter([object()])

    def __len__(self):
        return -1

    def __fspath__(self):
        return 3

    def encode(self, *_):
        return 7


class Text(str):
    def encode(self, *_):
        return b"\0" * 5


WRONG = [None, True, 0, -1, 1 << 80, 1.5, float("nan"), float("inf"), "text", "a\0b", "\ud800", "", b"bytes",
         bytearray(b"x"), [], [None], [1], [b"b"], ["a", 2], ["a"], {}, {"a": "b"}, {1: 2}, {"epochs": object()},
         {"epochs": "3 rho=1"}, {None}, (), ("a",), (["a"], ["b", "c"]), (1, 2), object(), Odd(), [Odd()], int,
         print, iter([3]), memoryview(b"m"), [["a"]], [Text("a")], range(3), slice(3), ...]
KINDS = (TypeError, ValueError, OSError, ringfence.Error)


def calls(model, texts, labels):
    """Every function and method with arguments that are right: name, function, arguments."""
    settings = {"epochs": 1, "head_steps": 1, "train_layers": 0}
    rows_ = {"texts": texts, "labels": labels}
    training = {**rows_, "encoder": TINY, "settings": settings, "threads": 1, "map_points": 0}
    encoder = ringfence.Encoder(TINY)
    yield "load", ringfence.load, {"path": "no/such.rf", "threads": 1}
    yield "loads", ringfence.loads, {"data": b"no model", "threads": 1}
    yield "read", ringfence.read, {"path": "no/such.tsv", "text_column": "a", "label_column": "b"}
    yield "train", ringfence.train, {
        **training, "dev": (texts, labels), "open_texts": ["a"], "method": "msp", "tune": "off",
        "max_false_accept": 0.0, "max_false_reject": 0.0, "dev_share": 0.1, "max_tokens": 9,
        "checkpoint": None, "resume": False, "seed": 1, "progress": None}
    yield "check", ringfence.check, {**rows_, "use_encoder": False, "encoder": TINY, "ignore": ["duplicate"],
                                     "open_labels": ["a"], "max_rows": 9, "threads": 1, "progress": None}
    yield "compare", ringfence.compare, {"first": model, "second": model, **rows_}
    yield "Encoder", ringfence.Encoder, {"name": "no/such"}
    yield "get_encoder", ringfence.get_encoder, {"name": "no-such", "progress": None}
    yield "Model", ringfence.Model, {"handle": 3}
    yield "embed", encoder.embed, {"texts": texts, "pooling": "cls", "long_text": "window", "max_tokens": 8,
                                   "layer": 1, "threads": 1}
    yield "tokenize", encoder.tokenize, {"text": "a"}
    yield "predict", model.predict, {"texts": texts, "fence": 1.0}
    yield "classify", model.classify, {"texts": texts, "top": 2, "explain": 1, "fence": 1.0}
    yield "probabilities", model.probabilities, {"texts": texts}
    yield "model.embed", model.embed, {"texts": texts}
    yield "evaluate", model.evaluate, rows_
    yield "save", model.save, {"path": "no/such/m.rf", "slim": False, "examples": True}
    yield "dumps", model.dumps, {"slim": True, "examples": True}
    yield "report", model.report, {"path": "no/such/r.html", **rows_, "title": "t", "progress": None}
    yield "fence", model.fence, {**rows_, "best": "f1", "max_false_accept": 0.0, "max_false_reject": 0.0,
                                 "per_class": False, "seed": 1, "progress": None}
    yield "update", model.update, {**rows_, "rename": {"pay": "money"}, "merge": {"chain": "hello"},
                                   "remove": ["parcel"], "dev": (texts, labels), "seed": 1, "progress": None}
    yield "review", model.review, {"texts": texts, "doubt": 0.5, "min_texts": 2, "progress": None}


def test_every_wrong_value_in_every_place(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, labels = rows(2)
    texts, labels = texts[:6], labels[:6]
    small = ringfence.loads(model.dumps(), threads=1)
    refused = 0
    for name, function, right in calls(small, texts, labels):
        for argument in right:
            for wrong in WRONG:
                if isinstance(wrong, type(iter([]))):
                    wrong = iter([3])
                try:
                    function(**{**right, argument: wrong})
                except KINDS as error:
                    refused += 1
                    assert str(error), (name, argument, wrong)
        for bad in ((), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
            if bad or name not in ("dumps", "update"):
                with pytest.raises(TypeError):
                    function(*bad)
    assert refused > 1500
    assert small.predict(texts) == model.predict(texts)  # and nothing is broken
    assert small.dumps() == model.dumps()


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda m: m.predict("one"), "texts is one string; wanted a list of strings"),
        (lambda m: m.predict(["a", 3]), r"texts\[1\] is an int, wanted a string"),
        (lambda m: m.predict(3), "texts is an int, wanted a list of strings"),
        (lambda m: m.predict([], fence="high"), "fence is a str, wanted a number"),
        (lambda m: m.predict([], fence=float("nan")), "fence is nan, wanted -1e"),
        (lambda m: m.classify([], top=-1), "top is -1, wanted 0 to"),
        (lambda m: m.classify([], explain=True), "explain is a bool, wanted a whole number"),
        (lambda m: m.evaluate(["a"], []), "texts has 1 items and labels has 0; wanted as many"),
        (lambda m: m.evaluate([], []), "texts is empty, wanted at least one text"),
        (lambda m: m.evaluate(["a"], [" "]), "row 0: the label is empty"),
        (lambda m: m.fence(["a"], ["b"], best="f2"), 'best is "f2", wanted "f1" or "accuracy"'),
        (lambda m: m.update(rename={"a": "b"}), 'no class "a"'),
        (lambda m: m.update(rename=3), "rename is an int, wanted a dict"),
        (lambda m: m.save("a\0b"), "path contains a NUL character"),
        (lambda m: m.save(b"bytes"), "path is a bytes, wanted a path"),
        (lambda m: ringfence.load("no/such.rf"), "no/such.rf: cannot open: No such file"),
        (lambda m: ringfence.loads(b"nothing"), "the model in memory"),
        (lambda m: ringfence.loads(m.dumps()[:-9]), "the model in memory"),
        (lambda m: ringfence.train(["a"], ["b"], encoder=TINY, settings={"x": 1}), 'no setting "x"'),
        (lambda m: ringfence.train(["a"], ["b"], encoder=TINY, settings={"rho": "1 x=2"}), "found a blank"),
        (lambda m: ringfence.train(["a"], ["b"], dev=["a"]), "dev is a list, wanted a pair"),
        (lambda m: ringfence.train(["a"], ["b"], progress=3), "progress is an int, wanted a function"),
        (lambda m: ringfence.Model("m.rf"), "comes from ringfence.load, loads or train"),
        (lambda m: ringfence.compare(m, "m", ["a"], ["b"]), "second is a str, wanted a Model"),
    ],
)
def test_messages(model, wrong, words):
    with pytest.raises((TypeError, ValueError, ringfence.Error), match=words):
        wrong(model)


def test_closed(data, model):
    texts, labels = data
    closed = ringfence.loads(model.dumps())
    closed.predict(texts[:2])
    with closed as same:
        assert same is closed
    closed.close()
    assert repr(closed) == "<ringfence.Model, closed>"
    assert closed.classes == model.classes
    for name, function, right in calls(closed, texts, labels):
        if getattr(function, "__self__", None) is closed:
            with pytest.raises(ringfence.ClosedError, match="the model is closed"):
                function(**{**right, **({"path": "m"} if "path" in right else {})})
    for use in (pickle.dumps, lambda m: m.info, lambda m: m.__enter__(),
                lambda m: ringfence.compare(m, model, texts, labels)):
        with pytest.raises(ringfence.ClosedError):
            use(closed)
    encoder = ringfence.Encoder(TINY)
    encoder.close()
    for use in (lambda: encoder.embed(["a"]), lambda: encoder.tokenize("a"), encoder.__enter__):
        with pytest.raises(ringfence.ClosedError, match="the encoder is closed"):
            use()


def test_threads_share_a_model_that_one_closes(model, data):
    texts = data[0]
    want = model.predict(texts)
    shared = ringfence.loads(model.dumps(), threads=1)
    wrong, closed, started = [], [], threading.Barrier(5)

    def ask():
        started.wait()
        try:
            for _ in range(10000):
                if shared.predict(texts) != want:
                    wrong.append("answer")
        except ringfence.ClosedError:
            closed.append(True)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    assert shared.predict(texts) == want
    shared.close()
    gc.collect()
    for thread in threads:
        thread.join()
    assert not wrong and len(closed) == 4


def test_a_child_process_answers_with_threads_of_its_own(model, data):
    texts = data[0]
    shared = ringfence.loads(model.dumps(), threads=2)
    want = shared.predict(texts)  # a session with threads is idle now
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # only ends a child that would wait for threads it does not have
        good = shared.predict(texts) == want
        shared.close()
        gc.collect()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shared.predict(texts) == want == model.predict(texts)


# ---- Ending a long call ----


def test_what_progress_raises_ends_the_training(data, tmp_path):
    class Enough(Exception):
        pass

    seen = []

    def stop(event):
        seen.append(event)
        raise Enough

    for call in (
        lambda: ringfence.train(*data, encoder=TINY, settings={"head_steps": 1000000}, progress=stop),
        lambda: ringfence.check(*data, encoder=TINY, progress=stop),
    ):
        seen.clear()
        with pytest.raises(Enough):
            call()
        assert len(seen) == 1
    assert [t.name for t in threading.enumerate() if t.name == "ringfence"] == []


SCRIPT = """
import os, signal, sys
sys.path[:0] = sys.argv[1:3]
from conftest import TINY, rows
import ringfence

class Alarm(Exception):
    pass

def ring(number, frame):
    raise Alarm

signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored by who started us
signal.signal(signal.SIGALRM, ring)
started = []
def tell(event):
    if not started:
        started.append(1)
        os.write(1, b"started\\n")
try:
    ringfence.train(*rows(12), encoder=TINY, settings={"epochs": 1000000, "head_steps": 900000000}, threads=1, progress=tell)
except KeyboardInterrupt:
    print("interrupted")
except Alarm:
    print("alarm")
"""


@pytest.mark.parametrize("number, word", [(signal.SIGINT, "interrupted"), (signal.SIGALRM, "alarm")])
def test_a_signal_ends_the_training(number, word):
    """It would take hours otherwise."""
    place = [str(ROOT / "bindings" / "python"), os.path.dirname(__file__)]
    child = subprocess.Popen([sys.executable, "-c", SCRIPT, *place], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    child.send_signal(number)
    assert child.communicate(timeout=300)[0] == f"{word}\n"
    assert child.returncode == 0


def test_other_threads_run_while_the_library_works(tmp_path):
    """The library waits for rows that only another thread of this process can write."""
    os.mkfifo(tmp_path / "rows.tsv")
    found = []
    reader = threading.Thread(target=lambda: found.append(ringfence.read(tmp_path / "rows.tsv")))
    reader.start()
    with open(tmp_path / "rows.tsv", "w") as pipe:
        pipe.write("text\tlabel\nhow do i pay\tpay\n")
    reader.join()
    assert found == [(["how do i pay"], ["pay"])]


def test_the_library_is_named_if_it_cannot_be_used(tmp_path):
    def importing(library):
        place = {"PYTHONPATH": str(ROOT / "bindings" / "python"), "RINGFENCE_LIBRARY": library}
        done = subprocess.run([sys.executable, "-c", "import ringfence"], env=place,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1
        return done.stderr.splitlines()[-1]

    assert "ImportError: cannot load the ringfence library: /no/such.so" in importing("/no/such.so")
    assert "not a ringfence library" in importing("libm.so.6")


@pytest.mark.filterwarnings("ignore")
def test_an_estimator_refuses_the_same(data):
    for wrong in WRONG:
        for fit in (lambda: RingfenceClassifier(encoder=TINY, settings=SETTINGS, threads=1).fit(wrong, data[1]),
                    lambda: RingfenceClassifier(encoder=TINY, threads=1).fit(data[0], wrong)):
            with pytest.raises((TypeError, ValueError, ringfence.Error)):
                fit()
