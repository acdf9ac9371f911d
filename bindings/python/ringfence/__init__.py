"""Text classification that knows what it does not know.

    import ringfence

    model = ringfence.train(texts, labels)
    model.save("tickets.rf")

    model = ringfence.load("tickets.rf")
    model.predict(["where is my parcel", "what is the capital of Peru"])
    # ['delivery', 'open']

Training learns from labelled texts of the classes you know. A text that belongs to none
of them is answered with "open". docs/PYTHON.md is a tour.

Texts are strings. A failure is an exception: :class:`Error` with the words of the
library, or TypeError and ValueError for arguments that it never saw. Long calls release
the interpreter's lock, and Ctrl-C ends them.
"""

from __future__ import annotations

from typing import Any

from ._data import Data, check, read
from ._encoder import Encoder, encoders, get_encoder
from ._errors import (
    ArgumentError,
    ClosedError,
    Error,
    FormatError,
    LimitError,
    MissingError,
    NumericError,
    OutOfMemory,
    Stopped,
    SystemFailure,
    VersionError,
)
from ._model import FenceResult, Model, UpdateResult, compare, load, loads, train
from ._results import (
    Answer,
    CatalogueEntry,
    Change,
    ClassDifference,
    ClassScore,
    Comparison,
    Difference,
    Evaluation,
    FenceFigures,
    Figure,
    Finding,
    Neighbour,
    Progress,
    Ranked,
    Review,
    ReviewGroup,
    ReviewText,
)
from ._version import __version__

__all__ = [
    "Answer",
    "ArgumentError",
    "CatalogueEntry",
    "Change",
    "ClassDifference",
    "ClassScore",
    "ClosedError",
    "Comparison",
    "Data",
    "Difference",
    "Encoder",
    "Error",
    "Evaluation",
    "FenceFigures",
    "FenceResult",
    "Figure",
    "Finding",
    "FormatError",
    "LimitError",
    "MissingError",
    "Model",
    "Neighbour",
    "NumericError",
    "OutOfMemory",
    "Progress",
    "Ranked",
    "Review",
    "ReviewGroup",
    "ReviewText",
    "Stopped",
    "SystemFailure",
    "UpdateResult",
    "VersionError",
    "__version__",
    "check",
    "compare",
    "encoders",
    "get_encoder",
    "load",
    "loads",
    "read",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "RingfenceClassifier":  # only then scikit-learn is needed
        from .sklearn import RingfenceClassifier

        return RingfenceClassifier
    raise AttributeError(f"module 'ringfence' has no attribute '{name}'")
