"""Every call gives what the program gives for the same data."""

import copy
import json
import math
import pickle
import struct
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from conftest import OPEN_TEXTS, PROGRAM, ROOT, SETTINGS, TINY, program, rows, write_tsv
from sklearn import metrics

import ringfence

ASKED = ["where is my parcel", "pay how do i", "hello hello", "zebra ☃ naïve", "", *OPEN_TEXTS]
OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]


def rounded(value):
    """As JSON has it: nine digits."""
    return float(f"{value:.9g}")


def as_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


# ---- Answers ----


def test_predict_is_that_of_the_program(model, model_file):
    printed = program("predict", model_file, input="\n".join(ASKED).encode() + b"\n")
    want = [line.split("\t")[0] for line in printed.splitlines()]
    assert model.predict(ASKED) == want
    assert model.predict(iter(ASKED)) == want
    assert model.predict(np.array(ASKED)) == want
    assert "open" in want and len(set(want)) >= 4


def test_many_texts_in_several_calls(model):
    many = (ASKED + ["where is my parcel " * 40]) * 300
    want = {text: model.predict([text])[0] for text in set(many)}
    assert model.predict(many) == [want[text] for text in many]
    assert model.predict([]) == [] and model.classify([]) == []
    assert model.embed([]).shape == (0, 32)


def test_classify_is_that_of_the_program(model, model_file):
    printed = program(
        "predict", model_file, "--json", "--top=3", "--margins=9", "--explain=2",
        input="\n".join(ASKED).encode() + b"\n",
    )
    got = model.classify(ASKED, top=3, explain=2)
    for line, answer in zip(printed.splitlines(), got):
        want = json.loads(line)
        assert (answer.label, answer.open) == (want["label"], want["open"])
        assert rounded(answer.confidence) == want["confidence"]
        assert rounded(answer.margin) == want["margin"]
        assert answer.reason == want.get("reason")
        assert list(answer.unknown_words) == want["unknown_words"]
        assert [(r.label, rounded(r.probability)) for r in answer.ranking] == [
            (r["label"], r["probability"]) for r in want["ranking"]]
        assert {k: rounded(v) for k, v in answer.margins.items()} == {
            m["label"]: m["margin"] for m in want["margins"]}
        assert [(n.text, n.label, rounded(n.distance)) for n in answer.neighbours] == [
            (n["text"], n["label"], n["distance"]) for n in want["neighbours"]]
    assert len(got) == len(ASKED)
    assert model.classify(ASKED[:1])[0].neighbours == ()


def test_another_fence(model, model_file):
    for fence in (-3.0, 2.5):
        printed = program("predict", model_file, f"--fence={fence}",
                          input="\n".join(ASKED).encode() + b"\n")
        want = [line.split("\t")[0] for line in printed.splitlines()]
        assert model.predict(ASKED, fence=fence) == want
        assert [a.label for a in model.classify(ASKED, fence=fence)] == want
    assert model.predict(ASKED) == [a.label for a in model.classify(ASKED)]


def test_probabilities_agree_with_confidence(model):
    chances = model.probabilities(ASKED)
    assert chances.shape == (len(ASKED), 5) and chances.dtype == np.float32
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-6)  # rounding of floats
    for row, answer in zip(chances, model.classify(ASKED)):
        place = 4 if answer.open else model.classes.index(answer.label)
        assert row[place] == pytest.approx(answer.confidence, rel=1e-6)


# ---- Features ----


def printed_features(*options):
    printed = program("embed", "--encoder", *options, input="\n".join(ASKED).encode() + b"\n")
    return np.array([[as_float(float(x)) for x in line.split("\t")]
                     for line in printed.splitlines()], dtype=np.float32)


def test_features_are_those_of_the_program_and_not_copied():
    with ringfence.Encoder(TINY) as encoder:
        found = encoder.embed(ASKED)
        assert isinstance(found, np.ndarray) and found.dtype == np.float32
        assert found.flags.owndata and found.flags.c_contiguous
        assert np.array_equal(found, printed_features(TINY))
        assert np.array_equal(encoder.embed(ASKED, pooling="cls"), printed_features(TINY, "--pooling=cls"))
        assert encoder.width == 32 and encoder.layers == 2
        assert encoder.tokenize("my parcel")[:2] == ["[CLS]", "my"]
        want = program("tokenize", "--encoder", TINY, "--tokens", input=b"hello, parcel!\n").split()
        assert encoder.tokenize("hello, parcel!") == want
    half = TINY + "_f16"
    frozen = ringfence.train(*rows(4), encoder=half, settings={**SETTINGS, "train_layers": 0, "spelling": 0},
                             threads=1)
    assert np.array_equal(frozen.embed(ASKED), printed_features(half))


def test_lists_without_numpy(model, model_file):
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "import ringfence, json\n"
        "m = ringfence.load(sys.argv[1])\n"
        "print(json.dumps([m.embed(['where is my parcel', '']), m.probabilities(['9 8 7'])]))\n"
    )
    path = {"PYTHONPATH": str(ROOT / "bindings" / "python")}
    done = subprocess.run([sys.executable, "-c", script, model_file], env=path,
                          capture_output=True, text=True, check=True)
    features, chances = json.loads(done.stdout)
    assert np.array_equal(np.array(features, dtype=np.float32), model.embed(["where is my parcel", ""]))
    assert np.array_equal(np.array(chances, dtype=np.float32), model.probabilities(["9 8 7"]))


# ---- Models ----


def test_train_gives_the_file_of_the_program(tmp_path, data):
    train, dev = write_tsv(tmp_path / "t.tsv", *data), rows(3)
    program("train", train, "--dev", write_tsv(tmp_path / "d.tsv", *dev), "--encoder", TINY,
            *OPTIONS, "--seed=5", "--threads=1", "--quiet", "-o", tmp_path / "want.rf")
    seen = []
    model = ringfence.train(*ringfence.read(train), dev=dev, encoder=TINY, settings=SETTINGS,
                            seed=5, threads=1, progress=seen.append)
    model.save(tmp_path / "got.rf")
    want = (tmp_path / "want.rf").read_bytes()
    assert (tmp_path / "got.rf").read_bytes() == want
    assert model.dumps() == want
    assert {"encode", "known", "features", "open"} <= {p.stage for p in seen}
    assert any(p.epoch_end and p.dev_accuracy is not None for p in seen)
    assert all(0 <= p.done <= p.total for p in seen)


def test_open_texts_and_options_reach_the_training(data):
    plain = ringfence.train(*data, encoder=TINY, settings=SETTINGS, map_points=0, threads=1)
    told = ringfence.train(*data, encoder=TINY, settings=SETTINGS, open_texts=OPEN_TEXTS, max_tokens=9,
                           threads=1)
    assert plain.info["kept"]["map"] == 0 and plain.info["summary"].get("open_texts", 0) == 0
    assert told.info["summary"]["open_texts"] == len(OPEN_TEXTS)
    assert told.info["encoder"]["max_tokens"] == 9
    assert ringfence.train(*data, encoder=TINY, method="msp", settings={"epochs": 1}, threads=1).info["method"] == "msp"


def test_load_save_and_pickle(model, model_file, tmp_path):
    loaded = ringfence.load(model_file, threads=1)
    assert loaded.classes == model.classes == ("chain", "hello", "parcel", "pay")
    assert loaded.info["encoder"]["width"] == loaded.width == 32
    assert repr(loaded) == "<ringfence.Model of 4 classes>"
    for other in (pickle.loads(pickle.dumps(loaded)), ringfence.loads(bytearray(loaded.dumps())),
                  copy.deepcopy(loaded)):
        assert other.predict(ASKED) == model.predict(ASKED)
        assert other.dumps() == model.dumps()
    assert len(model.dumps(examples=False)) < len(model.dumps())
    loaded.save(tmp_path / "slim.rf", slim=True)
    slim = ringfence.load(tmp_path / "slim.rf")
    assert slim.predict(ASKED) == model.predict(ASKED)
    assert slim.dumps() == (tmp_path / "slim.rf").read_bytes()  # stays as it was loaded
    assert slim.dumps(slim=False) == model.dumps()


# ---- Figures ----


def labelled(data):
    texts, labels = rows(5)
    return texts + OPEN_TEXTS, labels + ["open"] * 4 + ["unheard", "of"]


def test_evaluate_agrees_with_scikit_learn(model, data):
    texts, labels = labelled(data)
    got = model.evaluate(texts, labels)
    answers = model.predict(texts)
    truth = [n if n in model.classes else "open" for n in labels]
    names = [*model.classes, "open"]
    assert got.rows == len(texts) and got.open_rows == 6
    assert got.accuracy == pytest.approx(100 * metrics.accuracy_score(truth, answers))
    p, r, f, support = metrics.precision_recall_fscore_support(truth, answers, labels=names, zero_division=0)
    assert [c.label for c in got.classes] == names
    assert [c.f1 for c in got.classes] == pytest.approx(list(100 * f))
    assert [c.precision for c in got.classes] == pytest.approx(list(100 * p))
    assert [c.support for c in got.classes] == list(support)
    assert got.f1 == pytest.approx(100 * f.mean())
    assert got.mcc == pytest.approx(metrics.matthews_corrcoef(truth, answers))
    assert got.confusion == Counter(zip(truth, answers))


def test_compare(model, data):
    texts, labels = labelled(data)
    other = ringfence.train(*data, encoder=TINY, settings={**SETTINGS, "epochs": 1, "train_layers": 0}, seed=9,
                            threads=1)
    got = ringfence.compare(model, other, texts, labels)
    truth = [n if n in model.classes else "open" for n in labels]
    answers = [model.predict(texts), other.predict(texts)]
    right = [[a == t for a, t in zip(given, truth)] for given in answers]
    assert got.rows == len(texts)
    assert got.both_right == sum(a and b for a, b in zip(*right))
    assert got.accuracy.first == pytest.approx(100 * sum(right[0]) / len(texts))
    assert got.accuracy.difference == pytest.approx(got.evaluations[1].accuracy - got.evaluations[0].accuracy)
    changed = {i for i in range(len(texts)) if answers[0][i] != answers[1][i]}
    assert {c.row for c in got.changes} == changed
    for change in got.changes:
        assert change.answers == (answers[0][change.row], answers[1][change.row])
        assert (change.kind == "lost") == (right[0][change.row] and not right[1][change.row])
    assert [c.label for c in got.classes] == [*model.classes, "open"]
    assert ringfence.compare(model, model, texts, labels).changes == ()


def test_report(model, data, model_file, tmp_path):
    texts, labels = labelled(data)
    test = write_tsv(tmp_path / "t.tsv", texts, labels)
    program("report", model_file, test, "-o", tmp_path / "want.html", "--title", "A page")
    model.report(tmp_path / "got.html", texts, labels, title="A page")
    assert (tmp_path / "got.html").read_bytes() == (tmp_path / "want.html").read_bytes()


# ---- After training ----


def test_fence_gives_the_file_of_the_program(model, model_file, data, tmp_path):
    before = model.dumps()
    texts, labels = rows(8)
    texts, labels = texts + OPEN_TEXTS * 4, labels + ["open"] * 24
    checked = write_tsv(tmp_path / "c.tsv", texts, labels)
    program("fence", model_file, checked, "-o", tmp_path / "want.rf", "--best=accuracy")
    got = model.fence(texts, labels, best="accuracy")
    assert got.model.dumps() == (tmp_path / "want.rf").read_bytes()
    assert (got.rows, got.open_rows) == (len(texts), 24)
    assert got.before.accuracy.value == pytest.approx(model.evaluate(texts, labels).accuracy)
    assert got.expected.open_let_in.low <= got.expected.open_let_in.value <= got.expected.open_let_in.high
    assert model.dumps() == before and model.predict(ASKED) == ringfence.loads(before).predict(ASKED)


def test_update_gives_the_file_of_the_program(model, model_file, tmp_path):
    texts, labels = ["b c d", "c d b", "d b c", "where is parcel"], ["letters"] * 3 + ["lost"]
    new = write_tsv(tmp_path / "n.tsv", texts, labels)
    program("update", model_file, new, "-o", tmp_path / "want.rf", "--rename=parcel=lost",
            "--merge=pay,chain=shop", "--remove-class=hello")
    got = model.update(texts, labels, rename={"parcel": "lost"}, merge={"pay": "shop", "chain": "shop"},
                       remove=["hello"], dev=rows(2))
    assert got.model.classes == ("letters", "lost", "shop")
    assert got.model.dumps() == (tmp_path / "want.rf").read_bytes()
    assert got.report["rows_added"] == 4
    model_2, report = model.update(rename={"pay": "money"})
    assert "money" in model_2.classes and "pay" in model.classes and report["renamed"]


def test_review_is_that_of_the_program(model, model_file, tmp_path):
    texts = [f"9 8 7 {i}" for i in range(9)] + ["where is my parcel"] * 2 + ["! ? !"] * 3
    (tmp_path / "t.txt").write_text("\n".join(texts) + "\n")
    program("review", model_file, tmp_path / "t.txt", "-o", tmp_path / "r.jsonl", "--min-texts=3")
    want = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    got = model.review(texts, min_texts=3)
    flat = [t for g in got.groups for t in g.texts] + [*got.probably_known, *got.alone]
    assert flat
    assert [t.text for t in flat] == [w["text"] for w in want if "text" in w]
    for group in got.groups:
        assert group.count == sum(len(t.rows) for t in group.texts)
        assert group.rows("digits") == ([t.text for t in group.texts], ["digits"] * len(group.texts))
    assert sorted(r for t in flat for r in t.rows) == sorted(set(r for t in flat for r in t.rows))
    assert got.rejected == sum(a.open for a in model.classify(texts))


def test_check_is_that_of_the_program(tmp_path, data):
    texts, labels = data
    texts = [*texts, texts[0], "where is my parcel", "  "]
    labels = [*labels, "chain", "none", "pay"]
    path = write_tsv(tmp_path / "d.tsv", texts, labels)
    for options, more in (([], {"encoder": TINY}), (["--no-encoder", "--ignore=duplicate"],
                          {"use_encoder": False, "ignore": ["duplicate"]})):
        extra = ["--encoder", TINY] if not options else options
        want = json.loads(program("check", path, "--json", *extra))["findings"]
        got = ringfence.check(texts, labels, **more)
        assert [(f.kind, f.message, f.fix) for f in got] == [
            (w["kind"], w["message"], w["fix"]) for w in want]
    conflict = next(f for f in got if f.kind == "conflict")
    assert conflict.rows[0] == 0 and len(texts) - 3 in conflict.rows
    assert all(0 <= r < len(texts) for f in got for r in f.rows)


def test_read(tmp_path):
    (tmp_path / "a.csv").write_text('id,message,intent\n1,"a, b",x\n2,c,y\n')
    assert ringfence.read(tmp_path / "a.csv", label_column="3") == (["a, b", "c"], ["x", "y"])
    with pytest.raises(FileNotFoundError, match="no.tsv: cannot open"):
        ringfence.read(tmp_path / "no.tsv")
    (tmp_path / "b.csv").write_bytes("text;label\ncaf\u00e9;x\nc;\nd;y\n".encode("latin1"))
    with pytest.raises(ringfence.Error):
        ringfence.read(tmp_path / "b.csv", encoding="latin1")
    got = ringfence.read(tmp_path / "b.csv", encoding="latin1", skip_bad_rows=True)
    assert got == (["caf\u00e9", "d"], ["x", "y"])


def test_encoders():
    assert ringfence.encoders()[0].name == "minilm"
    with pytest.raises(ringfence.Error, match="nothing-such"):
        ringfence.Encoder("nothing-such")
    with pytest.raises(ringfence.Error, match="nothing-such"):
        ringfence.get_encoder("nothing-such")


def test_nan_is_for_what_there_are_no_rows_for(model, data):
    assert math.isnan(model.evaluate(*data).auroc)
    assert PROGRAM.exists()
