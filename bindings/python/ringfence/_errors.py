"""Failures of the library as exceptions.

Every one is an :class:`Error`, and also the built-in exception that Python programs
expect for its kind, so ``except ValueError`` and ``except OSError`` work as usual. The
message is that of the library: it names the file, the place, what was found and what was
wanted.
"""

from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """The library could not do what it was asked to.

    :ivar position: a byte offset or a line number, 0 if there is none
    """

    position: int = 0


class ArgumentError(Error, ValueError):
    """The request cannot be met: an unknown name, too few rows for a claim."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class SystemFailure(Error, OSError):
    """The operating system reported an error, quoted in the message."""


class FormatError(Error, ValueError):
    """A file or a label is not what the format requires."""


class VersionError(Error, ValueError):
    """A format that is known, in a version or of a kind that is not."""


class LimitError(Error, ValueError):
    """Larger than a documented limit."""


class NumericError(Error, ArithmeticError):
    """A NaN or an infinity where none may be."""


class MissingError(Error, FileNotFoundError):
    """Something is not there: a file, an encoder in the cache, texts in a model."""


class Stopped(Error):
    """A long call was asked to stop."""


class ClosedError(Error, ValueError):
    """A model or an encoder was used after it was closed."""


# By the value of rf_status, which never changes.
BY_STATUS: Dict[int, Type[Error]] = {
    1: ArgumentError,
    2: OutOfMemory,
    3: SystemFailure,
    4: FormatError,
    5: VersionError,
    6: LimitError,
    7: NumericError,
    8: MissingError,
    9: Stopped,
}
