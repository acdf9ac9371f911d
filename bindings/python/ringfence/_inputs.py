"""What callers give, checked and turned into what the library takes.

ctypes would let -1 become a huge size and cut a string at a NUL character. So everything
is checked here, and whoever is wrong reads which argument it was, what was found and what
was wanted.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from . import _structs as s
from ._errors import Error
from ._native import Handle, call, lib, make, options, text_at

PathLike = Union[str, "os.PathLike[str]"]
Rows = Tuple[Iterable[str], Iterable[str]]
Setting = Union[int, float, bool, str]

# One call of the library takes as many texts as fit into both: Ctrl-C works between two.
_CHUNK_TEXTS = 1024
_CHUNK_BYTES = 1 << 16


# ---- Single values -------------------------------------------------------------------


def kind(value: object) -> str:
    """The type of a value for a message: "a list", "an int", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def count(name: str, value: Any, least: int, most: int) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {kind(value)}, wanted a whole number")
    number_ = operator.index(value)
    if not least <= number_ <= most:
        raise ValueError(f"{name} is {number_}, wanted {least} to {most}")
    return number_


def number(name: str, value: Any, least: float, most: float) -> float:
    """A number in a range."""
    if isinstance(value, bool) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"{name} is {kind(value)}, wanted a number")
    try:
        number_ = float(value)
    except OverflowError:
        number_ = math.inf
    if not least <= number_ <= most:
        raise ValueError(f"{name} is {number_:g}, wanted {least:g} to {most:g}")
    return number_


def share(name: str, value: Any) -> float:
    """A share of errors that may be: 0 is no limit; the library checks the rest."""
    return number(name, value, 0.0, 1.0)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {kind(value)}, wanted True or False")
    return value


def choice(name: str, value: Any, names: Tuple[str, ...]) -> int:
    """The place of a word among those that are allowed."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {kind(value)}, wanted a string")
    if value not in names:
        wanted = ", ".join(f'"{n}"' for n in names[:-1]) + f' or "{names[-1]}"'
        raise ValueError(f'{name} is "{value}", wanted {wanted}')
    return names.index(value)


def encode(text: str) -> bytes:
    """UTF-8. Lone surrogates become bytes that the library takes for U+FFFD."""
    return str.encode(text, "utf-8", "surrogatepass")


def word(name: str, value: Any) -> bytes:
    """A name for the library, where strings end at NUL."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {kind(value)}, wanted a string")
    if "\0" in value:
        raise ValueError(f"{name} contains a NUL character")
    return encode(value)


def optional_word(name: str, value: Any) -> Optional[bytes]:
    return None if value is None else word(name, value)


def path(name: str, value: Any) -> bytes:
    if isinstance(value, bytes) or not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is {kind(value)}, wanted a path")
    given = os.fsencode(value)
    if b"\0" in given:
        raise ValueError(f"{name} contains a NUL character")
    return given


def optional_path(name: str, value: Any) -> Optional[bytes]:
    return None if value is None else path(name, value)


def settings(value: Any) -> Optional[bytes]:
    """{"epochs": 3, "rho": 1.5} as the library reads it: epochs=3 rho=1.5"""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"settings is {kind(value)}, wanted a dict")
    parts = []
    for key, given in value.items():
        name = word("a name in settings", key).decode("utf-8", "replace")
        if isinstance(given, bool):
            given = int(given)
        elif hasattr(given, "__index__"):
            given = operator.index(given)
        elif hasattr(given, "__float__") and not isinstance(given, str):
            given = repr(float(given))
        elif not isinstance(given, str):
            raise TypeError(f'settings["{name}"] is {kind(given)}, wanted a number')
        if any(c.isspace() or c in "=\0" for c in f"{name}{given}"):
            raise ValueError(
                f'settings["{name}"]: found a blank or "=", wanted a name and a number'
            )
        parts.append(f"{name}={given}")
    return encode(" ".join(parts))


# ---- Texts ---------------------------------------------------------------------------


def strings(name: str, values: Any) -> List[str]:
    """A list of strings from anything that gives strings one after another."""
    if isinstance(values, (str, bytes, bytearray)):
        raise TypeError(f"{name} is one string; wanted a list of strings")
    try:
        found = list(values)
    except TypeError:
        raise TypeError(f"{name} is {kind(values)}, wanted a list of strings") from None
    for i, value in enumerate(found):
        if not isinstance(value, str):
            raise TypeError(f"{name}[{i}] is {kind(value)}, wanted a string")
    return found


class Texts:
    """Texts as pointers and lengths, with the bytes behind them."""

    def __init__(self, values: List[bytes]) -> None:
        self.n = len(values)
        self.values = values
        self.pointers = (ctypes.c_char_p * self.n)(*values)
        self.lengths = (ctypes.c_size_t * self.n)(*map(len, values))

    @property
    def arguments(self) -> Tuple[Any, Any, int]:
        return self.pointers, self.lengths, self.n


def encoded(name: str, values: Any) -> List[bytes]:
    return [encode(text) for text in strings(name, values)]


def chunks(values: List[bytes]) -> Iterator[Tuple[int, Texts]]:
    """The texts in pieces for one call each, with the row at which each begins."""
    begin = size = 0
    for i, text in enumerate(values):
        if i > begin and (i - begin == _CHUNK_TEXTS or size + len(text) > _CHUNK_BYTES):
            yield begin, Texts(values[begin:i])
            begin, size = i, 0
        size += len(text)
    if begin < len(values):
        yield begin, Texts(values[begin:])


# ---- Labelled texts ------------------------------------------------------------------


def dataset(texts: Any, labels: Any, what: Tuple[str, str] = ("texts", "labels")) -> Handle:
    """A set of rows for the library."""
    first, second = strings(what[0], texts), strings(what[1], labels)
    if len(first) != len(second):
        raise ValueError(
            f"{what[0]} has {len(first)} items and {what[1]} has {len(second)}; "
            "wanted as many of both"
        )
    if not first:
        raise ValueError(f"{what[0]} is empty, wanted at least one text")
    data = Handle(make(lib.rf_dataset_new), lib.rf_dataset_free)
    for i, (text, label) in enumerate(zip(first, second)):
        t, n = encode(text), encode(label)
        try:
            call(lib.rf_dataset_add, data.pointer, t, len(t), n, len(n))
        except Error as error:
            raise type(error)(f"row {i}: {error}") from None
    return data


def pair(name: str, value: Any) -> Optional[Handle]:
    """A set of rows from a pair (texts, labels), or None."""
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name} is {kind(value)}, wanted a pair (texts, labels)")
    return dataset(value[0], value[1], (f"{name}[0]", f"{name}[1]"))


def pointer(handle: Optional[Handle]) -> Optional[int]:
    return handle.pointer if handle else None


def read_rows(
    file: PathLike, words: Mapping[str, Optional[str]], skip_bad_rows: bool
) -> Tuple[List[str], List[str]]:
    """words: fields of rf_data_options that are strings."""
    o = options(s.rf_data_options, lib.rf_data_options_init)
    for name, value in words.items():
        setattr(o, name, optional_word(name, value))
    o.skip_bad_rows = flag("skip_bad_rows", skip_bad_rows)
    found = make(lib.rf_dataset_read, path("path", file), ctypes.byref(o))
    data = Handle(found, lib.rf_dataset_free)
    size = ctypes.c_size_t()
    texts, labels = [], []
    for row in range(lib.rf_dataset_rows(data.pointer)):
        text = lib.rf_dataset_text(data.pointer, row, ctypes.byref(size))
        texts.append(text_at(text, size.value))
        c = lib.rf_dataset_class(data.pointer, row)
        labels.append(lib.rf_dataset_label(data.pointer, c, None).decode())
    return texts, labels
