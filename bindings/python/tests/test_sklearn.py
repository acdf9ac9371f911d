"""RingfenceClassifier beside scikit-learn's own rules.

``check_estimator`` gives its estimators arrays of numbers and skips those that say they
take strings. So its checks run on a subclass that turns rows of numbers into texts.
"""

import pickle
import warnings

import numpy as np
import pandas
import pytest
from conftest import OPEN_TEXTS, SETTINGS, TINY, rows
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import ringfence
from ringfence.sklearn import RingfenceClassifier

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def estimator(**more):
    return RingfenceClassifier(encoder=TINY, **{"settings": SETTINGS, "threads": 1, **more})


class OfNumbers(RingfenceClassifier):
    """Reads a row of numbers as a text of letters."""

    def _texts(self, X, reset=False):
        X = self._validate_data(X, reset=reset)
        return [" ".join(LETTERS[(7 * i + int(np.clip(2 * v + 3.5, 0, 6))) % 36] for i, v in enumerate(row))
                for row in X]

    def fit(self, X, y):
        return super().fit(self._texts(X, reset=True), y)

    def predict(self, X):
        self._fitted()
        return super().predict(self._texts(X))

    def predict_proba(self, X):
        self._fitted()
        return super().predict_proba(self._texts(X))

    def _more_tags(self):
        return {
            "X_types": ["2darray"],
            "poor_score": True,  # letters say little about numbers
            "_xfail_checks": {
                "check_classifiers_train": "predict_proba has one more column: open",
                "check_classifiers_one_label": "texts unlike those of the only class are open",
            },
        }


quick = {"epochs": 1, "train_layers": 0, "head_steps": 1}


@parametrize_with_checks([OfNumbers(encoder=TINY, settings=quick, threads=1)])
@pytest.mark.filterwarnings("ignore")
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


def test_strings_are_all_it_takes():
    with pytest.warns(SkipTestWarning, match="requires input .*string"):
        check_estimator(estimator())


def test_answers_are_those_of_the_model(data):
    texts, labels = data
    fitted = estimator().fit(texts, np.array(labels))
    assert list(fitted.classes_) == ["chain", "hello", "parcel", "pay"]
    assert list(fitted.proba_labels_) == [*fitted.classes_, "open"]
    asked = texts[:5] + OPEN_TEXTS
    assert fitted.predict(asked).tolist() == fitted.model_.predict(asked)
    assert np.array_equal(fitted.predict_proba(asked), fitted.model_.probabilities(asked))
    assert "open" in fitted.predict(OPEN_TEXTS)
    assert fitted.score(texts, labels) > 0.8
    same = ringfence.train(*data, encoder=TINY, settings=SETTINGS, map_points=0, threads=1)
    assert fitted.model_.dumps() == same.dumps()


def test_numbers_as_labels_keep_their_order(data):
    """As text, "10" comes before "9"."""
    numbers = np.array([{"parcel": 10, "pay": 9, "chain": -1, "hello": 2}[n] for n in data[1]])
    fitted = estimator().fit(data[0], numbers)
    named = estimator().fit(*data)
    assert list(fitted.classes_) == [-1, 2, 9, 10] and fitted.open_label_ == -2
    want = [{"parcel": 10, "pay": 9, "chain": -1, "hello": 2, "open": -2}[n] for n in named.predict(data[0])]
    assert fitted.predict(data[0]).tolist() == want
    best = np.argmax(fitted.predict_proba(data[0]), axis=1)
    assert np.mean(fitted.proba_labels_[best] == numbers) > 0.8


def test_open_texts_in_the_labels(data):
    texts, labels = data[0] + OPEN_TEXTS, data[1] + ["open"] * len(OPEN_TEXTS)
    fitted = estimator().fit(texts, labels)
    assert "open" not in fitted.classes_
    assert fitted.model_.info["summary"]["open_texts"] == len(OPEN_TEXTS)
    other = estimator(open_label="none of these").fit(*data)
    assert set(other.predict(OPEN_TEXTS)) - set(other.classes_) == {"none of these"}
    mixed = estimator(open_label="?").fit(data[0], [len(n) for n in data[1]])
    assert mixed.predict(OPEN_TEXTS + data[0]).dtype == object
    assert set(mixed.predict(OPEN_TEXTS + data[0])) <= {3, 5, 6, "?"}


def test_tools_of_scikit_learn(data):
    texts, labels = np.array(data[0], dtype=object), np.array(data[1])
    scores = cross_val_score(estimator(settings=quick), texts, labels, cv=3)
    assert scores.shape == (3,) and scores.min() > 0.3
    search = GridSearchCV(estimator(settings=quick), {"seed": [1, 2], "dev_share": [0.0]}, cv=2)
    assert search.fit(texts, labels).best_params_["seed"] in (1, 2)
    line = make_pipeline(FunctionTransformer(lambda X: [t.upper() for t in X]), estimator(settings=quick))
    assert len(line.fit(texts, labels).predict(texts[:3])) == 3
    frame = pandas.DataFrame({"text": data[0], "label": data[1]})
    assert estimator(settings=quick).fit(frame["text"], frame["label"]).score(frame["text"], frame["label"]) > 0.3


def test_pickle_and_clone(data):
    fitted = estimator().fit(*data)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(OPEN_TEXTS).tolist() == fitted.predict(OPEN_TEXTS).tolist()
    assert again.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clone(fitted).predict(data[0])


def test_what_it_refuses(data):
    for texts, labels, words in (
        (np.array([data[0]]), data[1], "X has 2 dimensions; wanted one column of texts"),
        (data[0], data[1][1:], "X has 48 texts and y has 47 labels"),
        (data[0], None, "the target y is None"),
        (data[0], np.linspace(0, 1, 48), "continuous"),
        (data[0], [n + " " * (i // 4 % 2) for i, n in enumerate(data[1])], "equal as text"),
    ):
        with pytest.raises(ValueError, match=words), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator().fit(texts, labels)
    with pytest.raises(TypeError, match=r"X\[0\] is a float, wanted a string"):
        estimator().fit(pandas.Series([1.5, 2.5]), ["a", "b"])
    assert ringfence.RingfenceClassifier is RingfenceClassifier
    assert len(rows(1)[0]) == 4
