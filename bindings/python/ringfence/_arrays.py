"""Arrays that the library fills: NumPy's if it is there, else lists.

The library writes straight into the memory of the NumPy array that the caller gets, so
nothing is copied.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, List, Union

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    #: [texts, width]: an array with NumPy, a list of lists without
    Features = Union["numpy.typing.NDArray[numpy.float32]", List[List[float]]]

FLOAT = ctypes.sizeof(ctypes.c_float)


class FloatRows:
    """[rows, width] of floats."""

    def __init__(self, rows: int, width: int) -> None:
        self.rows, self.width = rows, width
        self.array: Any = None
        try:
            import numpy
        except ImportError:
            self.memory = (ctypes.c_float * (rows * width))()
            self.address = ctypes.addressof(self.memory)
        else:
            self.array = numpy.empty((rows, width), dtype=numpy.float32)
            self.address = self.array.ctypes.data

    def at(self, row: int) -> int:
        """The address of a row."""
        return self.address + row * self.width * FLOAT

    def result(self) -> "Features":
        if self.array is not None:
            array: "Features" = self.array
            return array
        w = self.width
        return [self.memory[i * w : i * w + w] for i in range(self.rows)]
