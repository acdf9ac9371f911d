"""The library: finding it, its functions, its failures, and the objects it makes.

It is looked for

1. where ``RINGFENCE_LIBRARY`` says,
2. beside this file, where a wheel has it,
3. in ``build/`` of the source tree that this file is in,
4. where the system keeps its libraries.

ctypes releases the interpreter's lock during every call.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, List, Optional, Tuple, Type, TypeVar

from . import _structs as s
from ._errors import BY_STATUS, ClosedError, Error
from ._version import __version__

_ERR = POINTER(s.rf_error)
_TEXTS = (POINTER(c_char_p), POINTER(c_size_t), c_size_t)

# name: what it returns, what it takes
_FUNCTIONS: List[Tuple[str, Any, Tuple[Any, ...]]] = [
    ("rf_version", c_char_p, ()),
    ("rf_kernels_name", c_char_p, ()),
    # models
    ("rf_model_load", c_void_p, (c_char_p, _ERR)),
    ("rf_model_load_bytes", c_void_p, (c_char_p, c_size_t, c_char_p, _ERR)),
    ("rf_model_free", None, (c_void_p,)),
    ("rf_model_classes", c_size_t, (c_void_p,)),
    ("rf_model_label", c_char_p, (c_void_p, c_size_t)),
    ("rf_model_json", c_char_p, (c_void_p,)),
    ("rf_model_summarize", None, (c_void_p, POINTER(s.rf_model_summary))),
    ("rf_save_options_init", None, (c_void_p, c_size_t)),
    ("rf_model_save", c_int, (c_void_p, c_char_p, POINTER(s.rf_save_options), _ERR)),
    (
        "rf_model_save_bytes",
        c_int,
        (c_void_p, POINTER(s.rf_save_options), POINTER(c_void_p), POINTER(c_size_t), _ERR),
    ),
    # answers
    ("rf_session_new", c_void_p, (c_void_p, c_size_t, _ERR)),
    ("rf_session_free", None, (c_void_p,)),
    ("rf_session_set_fence", c_int, (c_void_p, ctypes.c_float, _ERR)),
    (
        "rf_classify_arrays",
        c_int,
        (c_void_p, *_TEXTS, POINTER(s.rf_answer_arrays), _ERR),
    ),
    (
        "rf_explain",
        c_int,
        (c_void_p, c_void_p, POINTER(s.rf_neighbour), POINTER(c_size_t), _ERR),
    ),
    (
        "rf_open_reason",
        c_void_p,
        (
            c_void_p,
            POINTER(s.rf_decision),
            POINTER(s.rf_neighbour),
            c_size_t,
            c_void_p,
            c_size_t,
        ),
    ),
    (
        "rf_unknown_words",
        c_int,
        (c_void_p, c_char_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t), _ERR),
    ),
    ("rf_evaluate", c_int, (c_void_p, c_void_p, POINTER(s.rf_evaluation), _ERR)),
    ("rf_evaluation_release", None, (POINTER(s.rf_evaluation),)),
    ("rf_report_options_init", None, (c_void_p, c_size_t)),
    (
        "rf_report_model",
        c_int,
        (c_void_p, c_void_p, POINTER(s.rf_report_options), c_char_p, _ERR),
    ),
    # training and data
    ("rf_train_options_init", None, (c_void_p, c_size_t)),
    ("rf_train", c_void_p, (c_void_p, c_void_p, POINTER(s.rf_train_options), _ERR)),
    ("rf_data_options_init", None, (c_void_p, c_size_t)),
    ("rf_dataset_read", c_void_p, (c_char_p, POINTER(s.rf_data_options), _ERR)),
    ("rf_dataset_new", c_void_p, (_ERR,)),
    (
        "rf_dataset_add",
        c_int,
        (c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, _ERR),
    ),
    ("rf_dataset_free", None, (c_void_p,)),
    ("rf_dataset_rows", c_size_t, (c_void_p,)),
    ("rf_dataset_text", c_void_p, (c_void_p, c_size_t, POINTER(c_size_t))),
    ("rf_dataset_class", c_size_t, (c_void_p, c_size_t)),
    ("rf_dataset_label", c_char_p, (c_void_p, c_size_t, POINTER(c_size_t))),
    # before and after training
    ("rf_finding_name", c_char_p, (c_size_t, POINTER(c_char_p))),
    ("rf_check_options_init", None, (c_void_p, c_size_t)),
    ("rf_check", c_void_p, (c_void_p, POINTER(s.rf_check_options), _ERR)),
    ("rf_findings_free", None, (c_void_p,)),
    ("rf_findings_count", c_size_t, (c_void_p,)),
    ("rf_findings_at", POINTER(s.rf_finding), (c_void_p, c_size_t)),
    ("rf_fence_options_init", None, (c_void_p, c_size_t)),
    (
        "rf_model_move_fences",
        c_int,
        (
            c_void_p,
            c_void_p,
            POINTER(s.rf_fence_options),
            POINTER(s.rf_fence_result),
            _ERR,
        ),
    ),
    ("rf_update_options_init", None, (c_void_p, c_size_t)),
    (
        "rf_update",
        c_void_p,
        (c_void_p, c_void_p, POINTER(s.rf_update_options), POINTER(c_void_p), _ERR),
    ),
    (
        "rf_compare",
        c_int,
        (c_void_p, c_void_p, c_void_p, POINTER(s.rf_comparison), _ERR),
    ),
    ("rf_comparison_release", None, (POINTER(s.rf_comparison),)),
    # review
    ("rf_review_options_init", None, (c_void_p, c_size_t)),
    (
        "rf_review_texts",
        c_void_p,
        (c_void_p, *_TEXTS, POINTER(s.rf_review_options), _ERR),
    ),
    ("rf_review_free", None, (c_void_p,)),
    ("rf_review_summarize", s.rf_review_summary, (c_void_p,)),
    ("rf_review_groups", c_size_t, (c_void_p,)),
    ("rf_review_group_at", POINTER(s.rf_review_group), (c_void_p, c_size_t)),
    ("rf_review_size", c_size_t, (c_void_p,)),
    ("rf_review_text_at", POINTER(s.rf_review_text), (c_void_p, c_size_t)),
    ("rf_review_kind_name", c_char_p, (c_size_t,)),
    # encoders
    ("rf_catalogue", POINTER(s.rf_catalogue_entry), (c_size_t,)),
    ("rf_encoder_path", c_int, (c_char_p, c_char_p, c_size_t, _ERR)),
    ("rf_encoder_get", c_int, (c_char_p, s.LINE_PROGRESS, c_void_p, _ERR)),
    ("rf_encoder_load", c_void_p, (c_char_p, _ERR)),
    ("rf_encoder_free", None, (c_void_p,)),
    ("rf_encoder_describe", s.rf_encoder_info, (c_void_p,)),
    ("rf_encoder_vocab", c_void_p, (c_void_p,)),
    ("rf_embed_options_init", None, (c_void_p, c_size_t)),
    ("rf_embedder_new", c_void_p, (c_void_p, POINTER(s.rf_embed_options), _ERR)),
    ("rf_embedder_free", None, (c_void_p,)),
    ("rf_embed", c_int, (c_void_p, *_TEXTS, c_void_p, _ERR)),
    (
        "rf_tokenize",
        c_int,
        (
            c_void_p,
            c_char_p,
            c_size_t,
            POINTER(ctypes.c_int32),
            c_size_t,
            POINTER(c_size_t),
            _ERR,
        ),
    ),
    ("rf_vocab_piece", c_void_p, (c_void_p, ctypes.c_int32, POINTER(c_size_t))),
]


def _candidates() -> List[str]:
    given = os.environ.get("RINGFENCE_LIBRARY")
    if given:
        return [given]
    here = Path(__file__).resolve().parent
    beside = [here / "libringfence.so.0"]
    if len(here.parents) > 2 and (here.parents[2] / "include" / "ringfence.h").is_file():
        beside.append(here.parents[2] / "build" / "libringfence.so")
    return [str(path) for path in beside if path.is_file()] + ["libringfence.so.0"]


def _load() -> Any:
    name = _candidates()[0]
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(
            f"cannot load the ringfence library: {error}; install it, or set "
            "RINGFENCE_LIBRARY to the path of libringfence.so"
        ) from None
    try:
        for function, result, arguments in _FUNCTIONS:
            found = getattr(library, function)
            found.restype = result
            found.argtypes = arguments
    except AttributeError as error:
        raise ImportError(
            f"{name}: not a ringfence library of version {__version__}: {error}"
        ) from None
    version = library.rf_version().decode()
    if version != __version__:
        raise ImportError(
            f"{name}: is ringfence {version}, and this package needs {__version__}"
        )
    return library


lib = _load()
_free = ctypes.CDLL(None).free
_free.restype = None
_free.argtypes = (c_void_p,)


# ---- Calls ---------------------------------------------------------------------------


def failure(err: s.rf_error) -> Error:
    """The exception for what the library reported."""
    error = BY_STATUS.get(err.code, Error)(err.msg.decode("utf-8", "replace"))
    error.position = err.pos
    return error


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function that returns a status; the error goes last."""
    err = s.rf_error()
    if function(*arguments, ctypes.byref(err)) != 0:
        raise failure(err)


def make(function: Callable[..., Optional[int]], *arguments: Any) -> int:
    """Calls a function that returns a new object, or NULL."""
    err = s.rf_error()
    pointer = function(*arguments, ctypes.byref(err))
    if not pointer:
        raise failure(err)
    return pointer


def options(kind: Any, init: Callable[..., None]) -> Any:
    """A struct of options with the library's defaults."""
    made = kind()
    init(ctypes.byref(made), ctypes.sizeof(made))
    return made


def take_bytes(pointer: c_void_p, size: int) -> bytes:
    """A copy of what the library allocated, which is freed."""
    try:
        return ctypes.string_at(pointer, size)
    finally:
        _free(pointer)


def take_text(pointer: c_void_p) -> str:
    """The same of a text that ends in NUL."""
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        _free(pointer)


def take_words(pointer: c_void_p, n: int) -> Tuple[str, ...]:
    """The same of n texts one after another."""
    try:
        words, at = [], pointer.value or 0
        for _ in range(n):
            word = ctypes.string_at(at)
            words.append(word.decode("utf-8", "replace"))
            at += len(word) + 1
        return tuple(words)
    finally:
        _free(pointer)


def text_at(pointer: Optional[int], size: int) -> str:
    """A text of the library; a text need not be UTF-8."""
    return ctypes.string_at(pointer, size).decode("utf-8", "replace") if pointer else ""


# ---- Objects -------------------------------------------------------------------------


class Handle:
    """Owns an object of the library and frees it when nobody refers to it any more.

    Whoever calls the library with :attr:`pointer` keeps a reference to the handle until
    the call returns, so closing a model in one thread never frees what another one uses.

    :param keep: what must live at least as long
    :param has_threads: the object has threads, which a child process does not inherit:
        the child neither uses nor frees it
    """

    __slots__ = ("pointer", "_release", "_keep", "_process", "_getpid")

    def __init__(
        self,
        pointer: int,
        release: Callable[[int], None],
        keep: object = None,
        has_threads: bool = False,
    ) -> None:
        self.pointer = pointer
        self._release = release
        self._keep = keep
        self._getpid = os.getpid  # modules may be gone when the interpreter ends
        self._process = os.getpid() if has_threads else 0

    @property
    def usable(self) -> bool:
        return self._process in (0, self._getpid())

    def __del__(self) -> None:
        if self.usable:
            self._release(self.pointer)


C = TypeVar("C", bound="Closable")


class Closable:
    """An object for the caller that owns one of the library until it is closed."""

    _what = "object"  # for the message
    _handle: Optional[Handle] = None

    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ClosedError(f"the {self._what} is closed")
        return handle

    def close(self) -> None:
        """Frees it as soon as no call uses it. More calls are refused."""
        self._handle = None

    def __enter__(self: C) -> C:
        self._open()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: "Optional[TracebackType]",
    ) -> None:
        self.close()
