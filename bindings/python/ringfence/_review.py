"""A review of the library as records."""

from __future__ import annotations

from typing import Tuple

from ._native import Handle, lib, text_at
from ._results import Review, ReviewGroup, ReviewText


def collect(handle: Handle, classes: Tuple[str, ...]) -> Review:
    def text(i: int) -> ReviewText:
        t = lib.rf_review_text_at(handle.pointer, i).contents
        return ReviewText(
            text=text_at(t.text, t.len),
            rows=tuple(t.rows[: t.count]),
            kind=lib.rf_review_kind_name(t.kind).decode(),
            label=classes[t.class_index],
            rejected=t.rejected,
            margin=t.margin,
            confidence=t.confidence,
            fit=t.fit,
        )

    summary = lib.rf_review_summarize(handle.pointer)
    texts = [text(i) for i in range(lib.rf_review_size(handle.pointer))]
    groups = []
    for i in range(lib.rf_review_groups(handle.pointer)):
        g = lib.rf_review_group_at(handle.pointer, i).contents
        groups.append(
            ReviewGroup(
                name=g.name.decode(),
                texts=tuple(texts[g.first : g.first + g.n_texts]),
                count=g.count,
                nearest=classes[g.nearest],
                cohesion=g.cohesion,
                worth=g.worth,
            )
        )
    return Review(
        rejected=summary.rejected,
        doubtful=summary.doubtful,
        groups=tuple(groups),
        probably_known=tuple(t for t in texts if t.kind == "probably-known"),
        alone=tuple(t for t in texts if t.kind == "alone"),
    )
