"""Answers: asking a session, and records made of the numbers it gives."""

from __future__ import annotations

import ctypes
import heapq
from typing import Any, Dict, List, Tuple

from . import _structs as s
from ._arrays import FLOAT
from ._inputs import Texts
from ._native import Handle, call, lib, take_words, text_at
from ._results import Answer, Neighbour, Ranked


class Names(Dict[int, str]):
    """Class numbers to labels; anything else is open."""

    def __init__(self, classes: Tuple[str, ...]) -> None:
        super().__init__(enumerate(classes))

    def __missing__(self, index: int) -> str:
        return "open"


def ask(session: Handle, texts: Texts, **arrays: int) -> None:
    out = s.rf_answer_arrays(**arrays)
    call(lib.rf_classify_arrays, session.pointer, *texts.arguments, ctypes.byref(out))


def put_floats(address: int, values: List[float]) -> None:
    row = (ctypes.c_float * len(values))(*values)
    ctypes.memmove(address, row, ctypes.sizeof(row))


class Block:
    """All numbers of the answers to some texts."""

    def __init__(self, handle: Handle, classes: Tuple[str, ...], width: int, n: int) -> None:
        self.handle = handle
        self.names = Names(classes)
        self.classes = len(classes)
        self.width = width
        sizes = (ctypes.c_size_t * n, ctypes.c_float * n)
        by_class = ctypes.c_float * (n * self.classes)
        self.arrays: Dict[str, Any] = {
            "class_index": sizes[0](),
            "margin_class": sizes[0](),
            "nearest": sizes[0](),
            "confidence": sizes[1](),
            "margin": sizes[1](),
            "probabilities": by_class(),
            "margins": by_class(),
            "features": (ctypes.c_float * (n * self.width))(),
        }
        self.addresses = {name: ctypes.addressof(a) for name, a in self.arrays.items()}

    def row(self, name: str, i: int) -> List[float]:
        found: List[float] = self.arrays[name][i * self.classes : (i + 1) * self.classes]
        return found

    def chances(self, i: int) -> List[float]:
        """P(class) of every class, then P(open) (docs/MODEL.md, "Confidence")."""
        a, among = self.arrays, self.row("probabilities", i)
        confidence = a["confidence"][i]
        if a["class_index"][i] == s.OPEN:
            known = 1.0 - confidence
        else:
            known = min(1.0, confidence / among[a["nearest"][i]])
        return [p * known for p in among] + [1.0 - known]

    def decision(self, i: int) -> s.rf_decision:
        """The answer as the library has it; this block keeps its arrays."""
        a, at = self.arrays, self.addresses
        return s.rf_decision(
            a["class_index"][i],
            a["confidence"][i],
            a["margin"][i],
            a["margin_class"][i],
            a["nearest"][i],
            at["probabilities"] + i * self.classes * FLOAT,
            at["margins"] + i * self.classes * FLOAT,
            at["features"] + i * self.width * FLOAT,
        )

    def answer(self, i: int, text: bytes, top: int, explain: int) -> Answer:
        a, decision = self.arrays, self.decision(i)
        near, n = self._neighbours(decision, explain)
        among = self.row("probabilities", i)
        best = heapq.nlargest(top, range(self.classes), key=among.__getitem__)
        is_open = a["class_index"][i] == s.OPEN
        return Answer(
            label=self.names[a["class_index"][i]],
            open=is_open,
            confidence=a["confidence"][i],
            margin=a["margin"][i],
            margins=dict(zip(self.names.values(), self.row("margins", i))),
            ranking=tuple(Ranked(self.names[c], among[c]) for c in best),
            reason=self._reason(decision, near, n) if is_open else None,
            neighbours=tuple(self._neighbour(near[k]) for k in range(n)),
            unknown_words=self._unknown_words(text) if explain else (),
        )

    def _neighbours(self, decision: s.rf_decision, explain: int) -> Tuple[Any, int]:
        near, n = (s.rf_neighbour * explain)(), ctypes.c_size_t(explain)
        if explain:
            call(lib.rf_explain, self.handle.pointer, decision.feature, near, ctypes.byref(n))
        return near, n.value

    def _neighbour(self, found: Any) -> Neighbour:
        text = text_at(found.text, found.text_len) if found.text else None
        return Neighbour(text, self.names[found.class_index], found.distance)

    def _reason(self, decision: s.rf_decision, near: Any, n: int) -> str:
        out = ctypes.create_string_buffer(s.REASON_MAX)
        pointer, d = self.handle.pointer, ctypes.byref(decision)
        lib.rf_open_reason(pointer, d, near, n, out, s.REASON_MAX)
        return out.value.decode("utf-8", "replace")

    def _unknown_words(self, text: bytes) -> Tuple[str, ...]:
        words, n = ctypes.c_void_p(), ctypes.c_size_t()
        pointer = self.handle.pointer
        call(lib.rf_unknown_words, pointer, text, len(text), ctypes.byref(words), ctypes.byref(n))
        return take_words(words, n.value)
