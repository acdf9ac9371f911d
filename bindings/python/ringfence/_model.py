"""A trained classifier, and what can be done with it."""

from __future__ import annotations

import ctypes
import json
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
)

from . import _inputs as inputs
from . import _results as results
from . import _structs as s
from ._answers import Block, Names, ask, put_floats
from ._arrays import FloatRows
from ._inputs import PathLike, Rows, Setting, Texts
from ._long_calls import line_callback, run, train_callback
from ._native import Closable, Handle, call, lib, make, options, take_bytes, take_text
from ._results import Answer, Comparison, Evaluation, FenceFigures, Progress, Report, Review
from ._review import collect

if TYPE_CHECKING:
    from ._arrays import Features

_IDLE_SESSIONS = 4  # kept for the next calls; each has threads and memory


class Model(Closable):
    """A trained classifier, from :func:`load`, :func:`loads` or :func:`train`.

    A model never changes. Any number of threads may use it at the same time, also while
    another one closes it. It can be pickled, and used in a child process after a fork.
    """

    _what = "model"

    def __init__(self, handle: Handle, threads: int = 0, slim: Optional[bool] = None) -> None:
        if not isinstance(handle, Handle):
            raise TypeError("a Model comes from ringfence.load, loads or train")
        self._handle = handle
        self._threads = threads
        self._idle: Deque[Handle] = deque()
        n = lib.rf_model_classes(handle.pointer)
        labels = [lib.rf_model_label(handle.pointer, i).decode() for i in range(n)]
        self._classes: Tuple[str, ...] = tuple(labels)
        facts = self._facts()
        self._width: int = facts.width
        self._slim = not facts.encoder_contained if slim is None else slim

    # ---- Facts ----

    @property
    def classes(self) -> Tuple[str, ...]:
        """The names of the known classes, in order."""
        return self._classes

    @property
    def width(self) -> int:
        """Features per text."""
        return self._width

    @property
    def info(self) -> Dict[str, Any]:
        """Everything the model says about itself (docs/FORMAT.md, "Model file")."""
        handle = self._open()
        found: Dict[str, Any] = json.loads(lib.rf_model_json(handle.pointer))
        return found

    def _facts(self) -> s.rf_model_summary:
        handle, facts = self._open(), s.rf_model_summary()
        lib.rf_model_summarize(handle.pointer, ctypes.byref(facts))
        return facts

    def __repr__(self) -> str:
        if self._handle is None:
            return "<ringfence.Model, closed>"
        n = len(self._classes)
        return f"<ringfence.Model of {n} class{'' if n == 1 else 'es'}>"

    # ---- Life ----

    def close(self) -> None:
        """Frees the model as soon as no call uses it. More calls are refused."""
        super().close()
        self._idle.clear()

    def save(self, path: PathLike, *, slim: Optional[bool] = None, examples: bool = True) -> None:
        """Writes the model to a file, which appears complete or not at all.

        :param slim: refer to the encoder in the cache instead of containing it; None: as
            the model was loaded
        :param examples: store the training texts, for explanations and updates
        """
        handle, o = self._open(), self._save_options(slim, examples)
        call(lib.rf_model_save, handle.pointer, inputs.path("path", path), ctypes.byref(o))

    def dumps(self, *, slim: Optional[bool] = None, examples: bool = True) -> bytes:
        """The bytes of that file, for :func:`loads`."""
        handle, o = self._open(), self._save_options(slim, examples)
        found, size = ctypes.c_void_p(), ctypes.c_size_t()
        call(
            lib.rf_model_save_bytes,
            handle.pointer,
            ctypes.byref(o),
            ctypes.byref(found),
            ctypes.byref(size),
        )
        return take_bytes(found, size.value)

    def _save_options(self, slim: Optional[bool], examples: bool) -> Any:
        o = options(s.rf_save_options, lib.rf_save_options_init)
        o.slim = self._slim if slim is None else inputs.flag("slim", slim)
        o.keep_examples = inputs.flag("examples", examples)
        return o

    def __reduce__(self) -> Tuple[Any, ...]:
        return loads, (self.dumps(), self._threads)

    def __copy__(self) -> "Model":
        return self

    def __deepcopy__(self, memo: Any) -> "Model":
        return self

    # ---- Sessions ----

    @contextmanager
    def _session(self, fence: float = 0.0) -> Iterator[Handle]:
        """Threads and memory to ask with. One caller at a time has a session."""
        model, session = self._open(), None
        while session is None:
            try:
                idle = self._idle.pop()
            except IndexError:
                new = make(lib.rf_session_new, model.pointer, self._threads)
                session = Handle(new, lib.rf_session_free, keep=model, has_threads=True)
            else:
                session = idle if idle.usable else None  # not after a fork
        call(lib.rf_session_set_fence, session.pointer, fence)
        yield session
        if self._handle is model and len(self._idle) < _IDLE_SESSIONS:
            self._idle.append(session)

    def _block(self, model: Handle, n: int) -> Block:
        return Block(model, self._classes, self._width, n)

    # ---- Answers ----

    def predict(self, texts: Iterable[str], *, fence: float = 0.0) -> List[str]:
        """The class of each text, or "open".

        :param fence: added to every margin: above 0, more texts get a class
        """
        names = Names(self._classes)
        return [names[i] for i in self._indices(texts, fence)]

    def _indices(self, texts: Iterable[str], fence: float) -> List[int]:
        """The number of each text's class, or that of open."""
        values, offset = inputs.encoded("texts", texts), _fence(fence)
        indices: List[int] = []
        with self._session(offset) as session:
            for _, chunk in inputs.chunks(values):
                found = (ctypes.c_size_t * chunk.n)()
                ask(session, chunk, class_index=ctypes.addressof(found))
                indices += found
        return indices

    def classify(
        self, texts: Iterable[str], *, top: int = 5, explain: int = 0, fence: float = 0.0
    ) -> List[Answer]:
        """The answer to each text with its reasons.

        :param top: classes in ``ranking``
        :param explain: nearest training texts in ``neighbours``; also finds the words
            that the encoder does not know
        :param fence: added to every margin: above 0, more texts get a class
        """
        model, values, offset = self._open(), inputs.encoded("texts", texts), _fence(fence)
        top = inputs.count("top", top, 0, 1 << 30)
        explain = inputs.count("explain", explain, 0, 1000)
        answers: List[Answer] = []
        with self._session(offset) as session:
            for _, chunk in inputs.chunks(values):
                block = self._block(model, chunk.n)
                ask(session, chunk, **block.addresses)
                for i, text in enumerate(chunk.values):
                    answers.append(block.answer(i, text, top, explain))
        return answers

    def probabilities(self, texts: Iterable[str]) -> "Features":
        """[texts, classes + 1]: how likely each class is, and in the last column open."""
        model, values = self._open(), inputs.encoded("texts", texts)
        n = len(self._classes)
        out = FloatRows(len(values), n + 1)
        with self._session() as session:
            for row, chunk in inputs.chunks(values):
                block = self._block(model, chunk.n)
                ask(session, chunk, **block.addresses)
                for i in range(chunk.n):
                    put_floats(out.at(row + i), block.chances(i))
        return out.result()

    def embed(self, texts: Iterable[str]) -> "Features":
        """[texts, width]: the features that the model sees of each text.

        A NumPy array that the library has filled itself, or lists without NumPy.
        """
        values = inputs.encoded("texts", texts)
        out = FloatRows(len(values), self._width)
        with self._session() as session:
            for row, chunk in inputs.chunks(values):
                ask(session, chunk, features=out.at(row))
        return out.result()

    # ---- Figures ----

    def evaluate(self, texts: Iterable[str], labels: Iterable[str]) -> Evaluation:
        """Figures on labelled texts. Labels that the model does not know count as open."""
        data, found = inputs.dataset(texts, labels), s.rf_evaluation()
        with self._session() as session:
            call(lib.rf_evaluate, session.pointer, data.pointer, ctypes.byref(found))
        try:
            return results.evaluation(found, self._classes)
        finally:
            lib.rf_evaluation_release(ctypes.byref(found))

    def report(
        self,
        path: PathLike,
        texts: Iterable[str],
        labels: Iterable[str],
        *,
        title: Optional[str] = None,
        progress: Optional[Callable[[str], object]] = None,
    ) -> None:
        """Writes an HTML page about how the model does on labelled texts."""
        model, data = self._open(), inputs.dataset(texts, labels)
        file = inputs.path("path", path)
        o = options(s.rf_report_options, lib.rf_report_options_init)
        o.title = inputs.optional_word("title", title)
        o.threads = self._threads

        def work(post: Callable[[Any], int]) -> None:
            o.progress = line_callback(post)
            call(lib.rf_report_model, model.pointer, data.pointer, ctypes.byref(o), file)

        run(work, progress)

    # ---- After training ----

    def fence(
        self,
        texts: Iterable[str],
        labels: Iterable[str],
        *,
        best: str = "f1",
        max_false_accept: float = 0.0,
        max_false_reject: float = 0.0,
        per_class: bool = False,
        seed: int = 0,
        progress: Optional[Callable[[str], object]] = None,
    ) -> "FenceResult":
        """A model with its fences where labelled texts, known and open, show they belong.

        :param best: what to make best without a budget: "f1" or "accuracy"
        :param max_false_accept: share of open texts that may be let in; 0: no budget
        :param max_false_reject: share of known texts that may be called open, likewise
        :param per_class: an offset of its own for a class whose rows justify one
        """
        data = inputs.dataset(texts, labels)
        o = options(s.rf_fence_options, lib.rf_fence_options_init)
        o.best = inputs.choice("best", best, ("f1", "accuracy"))
        o.max_false_accept = inputs.share("max_false_accept", max_false_accept)
        o.max_false_reject = inputs.share("max_false_reject", max_false_reject)
        o.per_class = inputs.flag("per_class", per_class)
        o.seed = _seed(seed)
        o.threads = self._threads
        copy = loads(self.dumps(), self._threads)
        handle, found = copy._open(), s.rf_fence_result()

        def work(post: Callable[[Any], int]) -> None:
            o.progress = line_callback(post)
            call(
                lib.rf_model_move_fences,
                handle.pointer,
                data.pointer,
                ctypes.byref(o),
                ctypes.byref(found),
            )

        run(work, progress)
        return FenceResult(
            model=copy,
            rows=found.rows,
            open_rows=found.open_rows,
            offset=found.offset,
            own_offsets=found.own_offsets,
            before=results.fence_figures(found.before),
            expected=results.fence_figures(found.expected),
        )

    def update(
        self,
        texts: Iterable[str] = (),
        labels: Iterable[str] = (),
        *,
        rename: Optional[Mapping[str, str]] = None,
        merge: Optional[Mapping[str, str]] = None,
        remove: Iterable[str] = (),
        dev: Optional[Rows] = None,
        seed: int = 0,
        progress: Optional[Callable[[Progress], object]] = None,
    ) -> "UpdateResult":
        """A model that has learnt more rows, other labels and other classes, in seconds.

        :param texts: new rows; a text that the model keeps gets its new label
        :param labels: their labels, as they are called after the edits
        :param rename: class: its new name
        :param merge: class: the name of the class that it becomes part of
        :param remove: classes to forget, with their rows
        :param dev: (texts, labels), answered before and after for the report
        """
        model = self._open()
        new_texts, new_labels = inputs.strings("texts", texts), inputs.strings("labels", labels)
        rows = inputs.dataset(new_texts, new_labels) if new_texts or new_labels else None
        dev_rows = inputs.pair("dev", dev)
        edits = _edits(rename, merge, remove)
        o = options(s.rf_update_options, lib.rf_update_options_init)
        o.edits = edits
        o.n_edits = len(edits)
        o.seed = _seed(seed)
        o.threads = self._threads

        def work(post: Callable[[Any], int]) -> Tuple[Handle, str]:
            o.dev = inputs.pointer(dev_rows)
            o.progress = train_callback(post)
            report = ctypes.c_void_p()
            new = make(
                lib.rf_update,
                model.pointer,
                inputs.pointer(rows),
                ctypes.byref(o),
                ctypes.byref(report),
            )
            return Handle(new, lib.rf_model_free), take_text(report)

        handle, report = run(work, progress)
        return UpdateResult(Model(handle, self._threads, self._slim), json.loads(report))

    def review(
        self,
        texts: Iterable[str],
        *,
        doubt: float = 0.6,
        min_texts: int = 5,
        progress: Optional[Callable[[str], object]] = None,
    ) -> Review:
        """Groups of rejected texts that may be new classes, the most worthwhile first.

        :param doubt: accepted texts of less confidence are reviewed, too; 0: none
        :param min_texts: different texts of a group, at least
        """
        model, values = self._open(), Texts(inputs.encoded("texts", texts))
        o = options(s.rf_review_options, lib.rf_review_options_init)
        o.doubt = inputs.number("doubt", doubt, 0.0, 1.0) or -1.0
        o.min_texts = inputs.count("min_texts", min_texts, 2, 1 << 30)
        o.threads = self._threads

        def work(post: Callable[[Any], int]) -> Handle:
            o.progress = line_callback(post)
            new = make(lib.rf_review_texts, model.pointer, *values.arguments, ctypes.byref(o))
            return Handle(new, lib.rf_review_free, keep=model)

        return collect(run(work, progress), self._classes)


@dataclass(frozen=True)
class FenceResult:
    """A model whose fences were moved, and what to expect of it."""

    model: Model
    rows: int
    open_rows: int
    offset: float  #: added to every margin
    own_offsets: int  #: classes that got one of their own as well
    before: FenceFigures  #: of the fences as they were, on these rows
    expected: FenceFigures  #: of the new ones, on rows that did not place them


class UpdateResult(NamedTuple):
    """A model that has learnt more, and what changed."""

    model: Model
    report: Report  #: docs/FORMAT.md, "Report of an update"


# ---- Making models -------------------------------------------------------------------


def load(path: PathLike, *, threads: int = 0) -> Model:
    """Loads a model file, checking every byte of it.

    :param threads: that answer; 0: one per CPU. The answers are the same for any number.
    """
    n = _threads(threads)
    handle = Handle(make(lib.rf_model_load, inputs.path("path", path)), lib.rf_model_free)
    return Model(handle, n)


def loads(data: bytes, threads: int = 0) -> Model:
    """Loads a model from the bytes of its file."""
    n = _threads(threads)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data is {inputs.kind(data)}, wanted bytes")
    kept = bytes(data)
    new = make(lib.rf_model_load_bytes, kept, len(kept), None)
    return Model(Handle(new, lib.rf_model_free, keep=kept), n)


def train(
    texts: Iterable[str],
    labels: Iterable[str],
    *,
    dev: Optional[Rows] = None,
    open_texts: Iterable[str] = (),
    encoder: Optional[str] = None,
    method: Optional[str] = None,
    settings: Optional[Mapping[str, Setting]] = None,
    tune: str = "off",
    max_false_accept: float = 0.0,
    max_false_reject: float = 0.0,
    dev_share: Optional[float] = None,
    max_tokens: int = 0,
    map_points: Optional[int] = None,
    checkpoint: Optional[PathLike] = None,
    resume: bool = False,
    seed: int = 0,
    threads: int = 0,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Model:
    """Trains a model on labelled texts. Ctrl-C ends it.

    :param dev: (texts, labels) to decide when to stop
    :param open_texts: examples of texts of no class
    :param encoder: a catalogue name, a directory, or OWNER/NAME in the cache; None: "minilm"
    :param method: None: "ans"
    :param settings: the numbers that shape a training, as in docs/MODEL.md: {"epochs": 3}
    :param tune: choose settings on the data: "off", "quick" or "thorough"
    :param max_false_accept: share of open texts that may be let in; 0: no budget
    :param max_false_reject: share of known texts that may be called open, likewise
    :param dev_share: held out of each class without ``dev``; None: chosen, 0: nothing
    :param max_tokens: of a text; 0: as many as the encoder takes
    :param map_points: training texts on the map; None: chosen, 0: no map
    :param checkpoint: a directory for what is finished, which ``resume`` continues from
    :param threads: 0: one per CPU. The model is the same for any number.
    :param progress: called several times a second; what it raises ends the training
    """
    data, dev_rows = inputs.dataset(texts, labels), inputs.pair("dev", dev)
    unknown = inputs.strings("open_texts", open_texts)
    open_rows = inputs.dataset(unknown, ["open"] * len(unknown)) if unknown else None
    n = _threads(threads)
    o = options(s.rf_train_options, lib.rf_train_options_init)
    o.encoder = inputs.optional_path("encoder", encoder)
    o.method = inputs.optional_word("method", method)
    o.settings = inputs.settings(settings)
    o.seed = _seed(seed)
    o.threads = n
    o.max_tokens = inputs.count("max_tokens", max_tokens, 0, 1 << 30)
    if dev_share is not None:
        o.dev_share = inputs.number("dev_share", dev_share, 0.0, 1.0) or -1.0
    o.tune = inputs.choice("tune", tune, ("off", "quick", "thorough"))
    o.max_false_accept = inputs.share("max_false_accept", max_false_accept)
    o.max_false_reject = inputs.share("max_false_reject", max_false_reject)
    if map_points is not None:
        o.map_points = inputs.count("map_points", map_points, 0, 100000) or -1
    o.checkpoint = inputs.optional_path("checkpoint", checkpoint)
    o.resume = inputs.flag("resume", resume)

    def work(post: Callable[[Any], int]) -> Handle:
        o.progress = train_callback(post)
        o.open_texts = inputs.pointer(open_rows)
        new = make(lib.rf_train, data.pointer, inputs.pointer(dev_rows), ctypes.byref(o))
        return Handle(new, lib.rf_model_free)

    return Model(run(work, progress), n)


def compare(
    first: Model, second: Model, texts: Iterable[str], labels: Iterable[str]
) -> Comparison:
    """What the second model does better or worse than the first on the same texts."""
    for name, model in (("first", first), ("second", second)):
        if not isinstance(model, Model):
            raise TypeError(f"{name} is {inputs.kind(model)}, wanted a Model")
    data, found = inputs.dataset(texts, labels), s.rf_comparison()
    with first._session() as a, second._session() as b:
        call(lib.rf_compare, a.pointer, b.pointer, data.pointer, ctypes.byref(found))
        try:
            return results.comparison(found, first._classes, second._classes)
        finally:
            lib.rf_comparison_release(ctypes.byref(found))


# ---- Arguments -----------------------------------------------------------------------


def _threads(value: Any) -> int:
    return inputs.count("threads", value, 0, s.MAX_THREADS)


def _seed(value: Any) -> int:
    return inputs.count("seed", value, 0, (1 << 64) - 1)


def _fence(value: Any) -> float:
    return inputs.number("fence", value, -s.MAX_FENCE, s.MAX_FENCE)


def _edits(rename: Any, merge: Any, remove: Any) -> Any:
    """The edits of an update as an array of structs, which keeps its strings."""
    found: List[Tuple[bytes, Optional[bytes], bool]] = []
    for name, given, merges in (("rename", rename, False), ("merge", merge, True)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{name} is {inputs.kind(given)}, wanted a dict")
        for old, new in (given or {}).items():
            found.append((inputs.word(name, old), inputs.word(name, new), merges))
    for old in inputs.strings("remove", remove):
        found.append((inputs.word("remove", old), None, False))
    return (s.rf_class_edit * len(found))(*(s.rf_class_edit(*edit) for edit in found))
