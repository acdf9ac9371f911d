"""The examples do what they say, and the tour in docs/PYTHON.md runs."""

import importlib.util
import pickle
import re
import subprocess
import sys

import pandas
import pytest
from conftest import OPEN_TEXTS, ROOT, SETTINGS, TINY, rows

EXAMPLES = ROOT / "bindings" / "python" / "examples"
ASKED = ["where is my parcel", "how do i pay", *OPEN_TEXTS]


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_web_handler(model, model_file, monkeypatch):
    from fastapi.testclient import TestClient

    monkeypatch.setenv("RINGFENCE_MODEL", model_file)
    client = TestClient(example("web_handler").app)
    reply = client.post("/classify", json={"texts": ASKED, "explain": 1})
    assert reply.status_code == 200
    answers = reply.json()["answers"]
    assert [a["label"] for a in answers] == model.predict(ASKED)
    assert len(answers[0]["neighbours"]) == 1 and len(answers[0]["ranking"]) == 3
    assert client.post("/classify", json={"texts": "one"}).status_code == 422


class Message(dict):
    set = dict.__setitem__


class TrainingData:
    intent_examples = [Message(text=t, intent=n) for t, n in zip(*rows())]


def test_rasa_component(model, tmp_path):
    component = example("rasa_component").RingfenceIntentClassifier
    trained = component({"encoder": TINY, "settings": SETTINGS, "threads": 1})
    trained.train(TrainingData())
    trained.persist(str(tmp_path))
    loaded = component.load({}, str(tmp_path))
    messages = loaded.process([Message(text=t) for t in ASKED] + [Message()])
    want = ["nlu_fallback" if n == "open" else n for n in model.predict([*ASKED, ""])]
    assert [m["intent"]["name"] for m in messages] == want
    for m in messages:
        assert m["intent_ranking"][0]["name"] == m["intent"]["name"] or m["intent"]["name"] in model.classes


def test_pandas_column(model, model_file, tmp_path):
    frame = pandas.DataFrame({"id": range(9), "message": [*ASKED[:4], None, *ASKED[4:]], "other": "kept"})
    frame.to_csv(tmp_path / "in.csv", index=False)
    subprocess.run([sys.executable, EXAMPLES / "pandas_column.py", model_file, tmp_path / "in.csv", "message",
                    tmp_path / "out.csv"], check=True, env={"PYTHONPATH": str(ROOT / "bindings" / "python")})
    out = pandas.read_csv(tmp_path / "out.csv")
    assert list(out.columns) == ["id", "message", "other", "label", "confidence"]
    assert list(out["label"].dropna()) == model.predict(ASKED)
    assert out["label"].isna().tolist() == out["message"].isna().tolist()


def test_spark_partitions(model, model_file):
    make = example("spark_partitions").classifier
    pairs = list(enumerate(ASKED))
    want = [(i, a.label, a.confidence) for i, a in enumerate(model.classify(ASKED))]
    parts = [pairs[:3], [], pairs[3:]]
    answer = make(model_file, size=2)
    assert [row for part in parts for row in answer(iter(part))] == want
    assert isinstance(pickle.dumps(example("spark_partitions")._model(model_file)), bytes)


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)


@pytest.mark.filterwarnings("ignore")
def test_the_tour(tmp_path, monkeypatch):
    """With the tiny encoder in the place of the default one, so answers may differ from those shown."""
    monkeypatch.chdir(tmp_path)
    tour = blocks(ROOT / "docs" / "PYTHON.md")
    assert len(tour) > 10
    place = {}
    for i, block in enumerate(tour):
        exec(compile(block, f"docs/PYTHON.md, block {i + 1}", "exec"), place)


def test_readme(model_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "support.rf").write_bytes(open(model_file, "rb").read())
    section = (ROOT / "README.md").read_text().split("## From Python\n")[1].split("\n## ")[0]
    code = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    texts, labels = rows(3)
    for block in code:
        exec(block, {"texts": texts, "labels": labels})
    assert code
