"""What calls return: plain immutable records, which keep nothing of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _structs as s

STAGES = ("encode", "known", "features", "open", "folds", "map")


@dataclass(frozen=True)
class Progress:
    """How far a training is."""

    stage: str  #: "encode", "known", "features", "open", "folds" or "map"
    done: int  #: of ``total``, in this stage
    total: int
    epoch: int  #: "known": epochs finished; "folds": the current fold, from 1
    epochs: int  #: "known": planned at most; "folds": the number of folds
    epoch_end: bool  #: an epoch or a fold has just ended
    loss: float  #: "known": mean over the epoch; "open": of the last head
    dev_accuracy: Optional[float]  #: per cent; None without dev texts
    seconds: float  #: since training began
    seconds_left: Optional[float]  #: of this stage; None if not known yet


# ---- Answers -------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """A known class and how likely it is among the known classes."""

    label: str
    probability: float


@dataclass(frozen=True)
class Neighbour:
    """A training text near the text that was asked about."""

    text: Optional[str]  #: None if the model keeps features but no texts
    label: str
    distance: float


@dataclass(frozen=True)
class Answer:
    """The answer to one text, with its reasons."""

    label: str  #: the class, or "open"
    open: bool  #: whether every class rejects the text
    confidence: float  #: that the answer is right, 0 to 1
    margin: float  #: of the deciding fence; below 0: open
    margins: Mapping[str, float]  #: of every class; a fence accepts at 0 and above
    ranking: Tuple[Ranked, ...]  #: the most likely known classes, also if open
    reason: Optional[str]  #: why the answer is open, in words
    neighbours: Tuple[Neighbour, ...]  #: with ``explain``: the nearest training texts
    unknown_words: Tuple[str, ...]  #: with ``explain``: words the encoder does not know


# ---- Evaluation ----------------------------------------------------------------------


@dataclass(frozen=True)
class ClassScore:
    """How well one class, or "open", was told apart; shares in per cent."""

    label: str
    support: int  #: rows of this class
    predicted: int  #: answers of this class
    correct: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Evaluation:
    """Figures on labelled rows; in per cent, but for ``mcc``."""

    rows: int
    open_rows: int  #: rows whose label the model does not know
    accuracy: float
    f1: float  #: mean over the known classes and open
    f1_known: float
    f1_open: float
    f1_tested: float  #: mean over the classes that have rows, open included
    mcc: float  #: -1 to 1
    auroc: float  #: known against open by margin; NaN unless there are rows of both
    calibration_error: float
    classes: Tuple[ClassScore, ...]  #: those of the model, then open
    confusion: Mapping[Tuple[str, str], int]  #: (truth, answer): texts, where there are any


def _score(label: str, c: Any) -> ClassScore:
    return ClassScore(label, c.support, c.predicted, c.correct, c.precision, c.recall, c.f1)


def evaluation(e: s.rf_evaluation, labels: Sequence[str]) -> Evaluation:
    names = [*labels, "open"]
    cells = [e.confusion[i] for i in range(e.n_confusion)]
    return Evaluation(
        rows=e.n,
        open_rows=e.n_open,
        accuracy=e.accuracy,
        f1=e.f1,
        f1_known=e.f1_known,
        f1_open=e.f1_open,
        f1_tested=e.f1_tested,
        mcc=e.mcc,
        auroc=e.auroc,
        calibration_error=e.calibration_error,
        classes=tuple(_score(label, e.scores[i]) for i, label in enumerate(names)),
        confusion={(names[c.truth], names[c.answer]): c.count for c in cells},
    )


# ---- Comparison ----------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A figure of two models on the same rows, in per cent."""

    rows: int  #: that it is measured on
    first: float
    second: float
    difference: float  #: second - first
    low: float  #: 95 % interval of the difference
    high: float
    beyond_chance: bool  #: the interval does not contain 0


@dataclass(frozen=True)
class ClassDifference:
    """A class that at least one of the models knows, or "open"."""

    label: str
    known: Tuple[bool, bool]  #: to each model
    scores: Tuple[ClassScore, ClassScore]
    only_right: Tuple[int, int]  #: rows about which one model alone is right
    p: float  #: of a paired test, corrected for the number of classes
    different: bool  #: p is at most 0.05


@dataclass(frozen=True)
class Change:
    """A row about which the models differ."""

    kind: str  #: "lost" (right, then wrong), "gained" or "wrong" (both, differently)
    row: int
    answers: Tuple[str, str]
    confidences: Tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """What the second model does better or worse than the first."""

    rows: int
    both_right: int
    accuracy: Difference
    f1: Difference
    known_rejected: Difference  #: share of known rows called open
    open_accepted: Difference  #: share of open rows given a class
    beyond_chance: bool  #: any of these figures, or any class
    classes: Tuple[ClassDifference, ...]
    changes: Tuple[Change, ...]
    evaluations: Tuple[Evaluation, Evaluation]


def _difference(d: Any) -> Difference:
    return Difference(d.n, d.value[0], d.value[1], d.difference, d.low, d.high, d.beyond_chance)


def _class_difference(c: Any) -> ClassDifference:
    label = c.label.decode()
    return ClassDifference(
        label=label,
        known=(c.known[0], c.known[1]),
        scores=(_score(label, c.score[0]), _score(label, c.score[1])),
        only_right=(c.only_right[0], c.only_right[1]),
        p=c.p,
        different=c.different,
    )


def comparison(
    c: s.rf_comparison, first: Sequence[str], second: Sequence[str]
) -> Comparison:
    def name(labels: Sequence[str], i: int) -> str:
        return "open" if i == s.OPEN else labels[i]

    changes = [c.changes[i] for i in range(c.n_changes)]
    return Comparison(
        rows=c.n,
        both_right=c.both_right,
        accuracy=_difference(c.accuracy),
        f1=_difference(c.f1),
        known_rejected=_difference(c.known_rejected),
        open_accepted=_difference(c.open_accepted),
        beyond_chance=c.beyond_chance,
        classes=tuple(_class_difference(c.classes[i]) for i in range(c.n_classes)),
        changes=tuple(
            Change(
                kind=("lost", "gained", "wrong")[x.kind],
                row=x.row,
                answers=(name(first, x.answer[0]), name(second, x.answer[1])),
                confidences=(x.confidence[0], x.confidence[1]),
            )
            for x in changes
        ),
        evaluations=(
            evaluation(c.evaluation[0], first),
            evaluation(c.evaluation[1], second),
        ),
    )


# ---- Fences --------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A figure in per cent with a 95 % interval; NaN if there were no rows for it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class FenceFigures:
    accuracy: Figure
    f1: Figure  #: mean over the classes that have rows, open included
    known_as_open: Figure  #: share of the known rows
    open_let_in: Figure  #: share of the open rows


def fence_figures(f: Any) -> FenceFigures:
    def figure(x: Any) -> Figure:
        return Figure(x.value, x.low, x.high)

    return FenceFigures(
        figure(f.accuracy), figure(f.f1), figure(f.known_as_open), figure(f.open_let_in)
    )


# ---- Findings ------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """Something to mend in labelled data before training on it."""

    kind: str  #: "label-error", "duplicate", ...
    message: str  #: what was found
    fix: str  #: what to do about it
    rows: Tuple[int, ...]  #: that it is about, from 0
    good_rows: Tuple[int, ...]  #: those of them that can stay as they are
    label: Optional[str]
    other_label: Optional[str]
    suggested: Optional[str]  #: the label that the rows should have
    score: float  #: larger is worse, within a kind


# ---- Review --------------------------------------------------------------------------


@dataclass(frozen=True)
class ReviewText:
    """A text that was rejected or is doubtful, with its copies."""

    text: str
    rows: Tuple[int, ...]  #: of the texts given: this one and its copies
    kind: str  #: "group", "probably-known" or "alone"
    label: str  #: the class it would have, or has
    rejected: bool  #: else accepted with little confidence
    margin: float
    confidence: float
    fit: float  #: similarity to its group, or to the class


@dataclass(frozen=True)
class ReviewGroup:
    """Texts of one topic that may be a new class."""

    name: str  #: of its distinctive words; a valid label
    texts: Tuple[ReviewText, ...]  #: the most central one first
    count: int  #: with their copies
    nearest: str  #: the class that most of them would have
    cohesion: float  #: 0 to 1: how sure we are that it is one topic
    worth: float  #: groups are sorted by it

    def rows(self, label: str) -> Tuple[List[str], List[str]]:
        """Texts and labels for :meth:`Model.update`, with this label for all."""
        return [t.text for t in self.texts], [label] * len(self.texts)


@dataclass(frozen=True)
class Review:
    """What is in the pile of rejected texts."""

    rejected: int  #: of the texts given
    doubtful: int
    groups: Tuple[ReviewGroup, ...]  #: the most worthwhile first
    probably_known: Tuple[ReviewText, ...]
    alone: Tuple[ReviewText, ...]


# ---- Encoders ------------------------------------------------------------------------


@dataclass(frozen=True)
class CatalogueEntry:
    """An encoder that :func:`get_encoder` can fetch."""

    name: str
    title: str
    licence: str
    note: str
    download_mb: int


Report = Dict[str, Any]
