"""Labelled texts: reading them from files, and what to mend in them."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence

from . import _inputs as inputs
from . import _structs as s
from ._inputs import PathLike
from ._long_calls import line_callback, run
from ._native import Handle, lib, make, options
from ._results import Finding


class Data(NamedTuple):
    """Texts and their labels, as :func:`train` takes them: ``train(*read("t.tsv"))``."""

    texts: List[str]
    labels: List[str]


def read(
    path: PathLike,
    *,
    text_column: Optional[str] = None,
    label_column: Optional[str] = None,
    encoding: Optional[str] = None,
    part: Optional[str] = None,
    skip_bad_rows: bool = False,
) -> Data:
    """Reads labelled texts from a file, or a directory: all formats of docs/FORMATS.md.

    :param text_column: its name, or its number from 1; None: known by its usual name
    :param label_column: likewise
    :param encoding: "latin1", "utf-16", ...; None: UTF-8, and anything else is refused
    :param part: which parts of the file, separated by commas, or "all"
    :param skip_bad_rows: leave out rows that cannot be read
    """
    words = {
        "text_column": text_column,
        "label_column": label_column,
        "encoding": encoding,
        "part": part,
    }
    return Data(*inputs.read_rows(path, words, skip_bad_rows))


def _kinds() -> Dict[str, int]:
    names: Dict[str, int] = {}
    while (name := lib.rf_finding_name(len(names), None)) is not None:
        names[name.decode()] = len(names)
    return names


def _finding(f: Any, kinds: Sequence[str], labels: Sequence[str]) -> Finding:
    def label(i: int) -> Optional[str]:
        return None if i == s.OPEN else labels[i]

    rows = tuple(f.rows[: f.n_rows])
    return Finding(
        kind=kinds[f.kind],
        message=f.message.decode("utf-8", "replace"),
        fix=f.fix.decode("utf-8", "replace"),
        rows=rows,
        good_rows=rows[: f.n_good],
        label=label(f.class_index),
        other_label=label(f.other_class),
        suggested=label(f.suggested),
        score=f.score,
    )


def _labels(data: Handle) -> List[str]:
    names: List[str] = []
    while (name := lib.rf_dataset_label(data.pointer, len(names), None)) is not None:
        names.append(name.decode())
    return names


def check(
    texts: Iterable[str],
    labels: Iterable[str],
    *,
    encoder: Optional[str] = None,
    use_encoder: bool = True,
    ignore: Iterable[str] = (),
    open_labels: Iterable[str] = (),
    max_rows: int = 0,
    threads: int = 0,
    progress: Optional[Callable[[str], object]] = None,
) -> List[Finding]:
    """What to mend in labelled texts before training on them.

    :param encoder: a catalogue name, a directory, or OWNER/NAME in the cache; None: "minilm"
    :param use_encoder: False: only what needs none, which is quick
    :param ignore: kinds of findings to leave out: "duplicate", ...
    :param open_labels: labels of open texts, which are no classes
    :param max_rows: for the encoder; larger sets are sampled. 0: 100,000
    """
    data, kinds = inputs.dataset(texts, labels), _kinds()
    given = inputs.strings("open_labels", open_labels)
    names = [inputs.word("open_labels", name) for name in given]
    o = options(s.rf_check_options, lib.rf_check_options_init)
    o.encoder = inputs.optional_path("encoder", encoder)
    o.no_encoder = not inputs.flag("use_encoder", use_encoder)
    o.threads = inputs.count("threads", threads, 0, s.MAX_THREADS)
    o.max_rows = inputs.count("max_rows", max_rows, 0, 1 << 30)
    o.open_labels = (ctypes.c_char_p * len(names))(*names)
    o.n_open_labels = len(names)
    for name in inputs.strings("ignore", ignore):
        o.ignore |= 1 << inputs.choice("ignore", name, tuple(kinds))

    def work(post: Callable[[Any], int]) -> Handle:
        o.progress = line_callback(post)
        return Handle(make(lib.rf_check, data.pointer, ctypes.byref(o)), lib.rf_findings_free)

    found, all_labels = run(work, progress), _labels(data)
    return [
        _finding(lib.rf_findings_at(found.pointer, i).contents, list(kinds), all_labels)
        for i in range(lib.rf_findings_count(found.pointer))
    ]
