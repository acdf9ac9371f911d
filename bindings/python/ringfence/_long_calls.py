"""Calls that take long: they show how far they are, and Ctrl-C ends them.

Python handles a signal only between two steps of Python code in the main thread. So the
library works in a thread of its own, and the caller waits for what that thread reports:
a signal interrupts the wait, the library is asked to stop, and it does so the next time
it reports, which is several times a second. The caller's ``progress`` runs in the
caller's thread, and whatever it raises ends the call in the same way.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Any, Callable, Optional, Tuple, TypeVar

from . import _structs as s
from ._inputs import kind
from ._results import STAGES, Progress

T = TypeVar("T")
Post = Callable[[Any], int]


def run(work: Callable[[Post], T], progress: Optional[Callable[[Any], object]]) -> T:
    """``work`` is given a function for its progress callback, which says whether to stop."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {kind(progress)}, wanted a function")
    reports: "SimpleQueue[Tuple[str, Any]]" = SimpleQueue()
    stop = threading.Event()

    def post(event: Any) -> int:
        if progress is not None:
            reports.put(("event", event))
        return int(stop.is_set())

    def thread() -> None:
        try:
            reports.put(("result", work(post)))
        except BaseException as error:
            reports.put(("error", error))

    worker = threading.Thread(target=thread, name="ringfence")
    try:
        worker.start()
        while True:
            what, value = reports.get()
            if what == "result":
                result: T = value
                return result
            if what == "error":
                raise value
            if progress is not None:
                progress(value)
    finally:
        stop.set()
        if worker.is_alive():
            worker.join()


def line_callback(post: Post) -> Any:
    """The library's progress in lines of text."""

    def report(_user: Any, line: bytes) -> int:
        return post(line.decode("utf-8", "replace"))

    return s.LINE_PROGRESS(report)


def train_callback(post: Post) -> Any:
    """The library's progress of a training."""

    def report(_user: Any, pointer: Any) -> int:
        e = pointer.contents
        return post(
            Progress(
                stage=STAGES[e.stage] if e.stage < len(STAGES) else str(e.stage),
                done=e.done,
                total=e.total,
                epoch=e.epoch,
                epochs=e.epochs,
                epoch_end=e.epoch_end,
                loss=e.loss,
                dev_accuracy=e.dev_accuracy if e.dev_accuracy >= 0 else None,
                seconds=e.seconds,
                seconds_left=e.seconds_left if e.seconds_left >= 0 else None,
            )
        )

    return s.TRAIN_PROGRESS(report)
