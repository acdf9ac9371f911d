"""ringfence as a scikit-learn estimator.

    from ringfence.sklearn import RingfenceClassifier
    from sklearn.model_selection import cross_val_score

    cross_val_score(RingfenceClassifier(), texts, labels, cv=5)

``X`` is a list, an array or a column of strings. Labels may be strings or numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import]
from sklearn.exceptions import NotFittedError  # type: ignore[import]
from sklearn.utils import column_or_1d  # type: ignore[import]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import]

from ._inputs import strings
from ._model import Model, train

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._inputs import Setting


class RingfenceClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of texts that may also answer that a text is of no class.

    The parameters are those of :func:`ringfence.train`, and

    :param open_label: the answer for a text of no class. Texts of this label in ``y`` are
        examples of open texts, not a class. None: "open" for labels that are strings; for
        numbers -1, as scikit-learn's outlier detectors have it, or -2 and so on if
        that is a label in ``y``.

    After :meth:`fit`: ``model_``, the :class:`ringfence.Model`; ``classes_``, the known
    classes in order; ``open_label_``; ``proba_labels_``, the labels of the columns of
    :meth:`predict_proba`: the classes and, last, open.
    """

    def __init__(
        self,
        *,
        encoder: Optional[str] = None,
        method: Optional[str] = None,
        settings: "Optional[Mapping[str, Setting]]" = None,
        tune: str = "off",
        max_false_accept: float = 0.0,
        max_false_reject: float = 0.0,
        dev_share: Optional[float] = None,
        max_tokens: int = 0,
        open_label: Any = None,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.encoder = encoder
        self.method = method
        self.settings = settings
        self.tune = tune
        self.max_false_accept = max_false_accept
        self.max_false_reject = max_false_reject
        self.dev_share = dev_share
        self.max_tokens = max_tokens
        self.open_label = open_label
        self.seed = seed
        self.threads = threads

    def fit(self, X: Iterable[str], y: Iterable[Any]) -> "RingfenceClassifier":
        """Trains a model. ``y`` has one label per text."""
        texts, targets = _texts(X), _targets(y)
        if len(texts) != len(targets):
            raise ValueError(
                f"X has {len(texts)} texts and y has {len(targets)} labels; "
                "wanted as many of both"
            )
        open_label = self.open_label
        if open_label is None:
            open_label = _free_number(targets) if targets.dtype.kind in "biuf" else "open"
        known = np.array([label != open_label for label in targets.tolist()], dtype=bool)
        classes = np.unique(targets[known])
        names = [str(c).strip() for c in classes]
        if len(set(names)) != len(names):
            raise ValueError("y has labels that are equal as text, such as 1 and '1'")
        name_of = dict(zip(classes.tolist(), names))
        self.model_: Model = train(
            [t for t, k in zip(texts, known) if k],
            [name_of[label] for label in targets[known].tolist()],
            open_texts=[t for t, k in zip(texts, known) if not k],
            encoder=self.encoder,
            method=self.method,
            settings=self.settings,
            tune=self.tune,
            max_false_accept=self.max_false_accept,
            max_false_reject=self.max_false_reject,
            dev_share=self.dev_share,
            max_tokens=self.max_tokens,
            map_points=0,
            seed=self.seed,
            threads=self.threads,
        )
        self.classes_ = classes
        self.open_label_ = open_label
        self.proba_labels_ = _labels(classes, open_label)
        # The model has its classes in byte order of their names, we in order of value.
        order = {name: i for i, name in enumerate(self.model_.classes)}
        self._columns = [order[name] for name in names] + [len(names)]
        return self

    def predict(self, X: Iterable[str]) -> "npt.NDArray[Any]":
        """The class of each text, or ``open_label_``."""
        model, texts = self._fitted(), _texts(X)
        place = {c: i for i, c in enumerate(self._columns)}
        indices = [place.get(c, len(place) - 1) for c in model._indices(texts, 0.0)]
        found: "npt.NDArray[Any]" = self.proba_labels_[np.array(indices, dtype=int)]
        return found

    def predict_proba(self, X: Iterable[str]) -> "npt.NDArray[Any]":
        """[texts, classes + 1]: how likely each class is, and in the last column open.

        The answer of :meth:`predict` need not be the likeliest: fences decide it, which
        are placed by what errors cost.
        """
        found = np.asarray(self._fitted().probabilities(_texts(X)))
        columns: "npt.NDArray[Any]" = found[:, self._columns]
        return columns

    def _fitted(self) -> Model:
        model = getattr(self, "model_", None)
        if not isinstance(model, Model):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit before asking it"
            )
        return model

    def _more_tags(self) -> Dict[str, Any]:
        return {"X_types": ["string"], "requires_y": True}


def _texts(X: Any) -> List[str]:
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(f"X has {X.ndim} dimensions; wanted one column of texts")
    return strings("X", X)


def _targets(y: Any) -> "npt.NDArray[Any]":
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    targets: "npt.NDArray[Any]" = column_or_1d(y, warn=True)
    check_classification_targets(targets)
    return targets


def _free_number(targets: "npt.NDArray[Any]") -> int:
    """-1, or the next below it that is no label: -1 and 1 may be two classes."""
    used, number = set(targets.tolist()), -1
    while number in used:
        number -= 1
    return number


def _labels(classes: "npt.NDArray[Any]", open_label: Any) -> "npt.NDArray[Any]":
    """The classes and open, in an array that can hold both."""
    together = [*classes.tolist(), open_label]
    found = np.array(together)
    same = (found.dtype.kind in "US") == (classes.dtype.kind in "US")
    return found if same and classes.dtype.kind != "O" else np.array(together, dtype=object)
