"""``Tensor``: codes of a narrow element type, and the bytes in which OpenVINO packs them.

A code is the element's bit pattern as a number. In memory each takes a byte of its own; in a file, elements of fewer
than 8 bits share bytes (:mod:`minuend.arrays.packing`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from minuend.arrays import packing
from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, ShapeError, SpecError, listed
from minuend.files.streaming.reading import Array
from minuend.openvino.versions import SPELLINGS, SUBTRACT_1
from minuend.standards import spelling

NARROW: tuple[ElementType, ...] = tuple(
    elements.TYPES[name] for name in SUBTRACT_1.types if elements.TYPES[name].kernel == "table"
)


class Tensor:
    """An array of a narrow element type, stored as one code per byte.

    nf4 has no NumPy dtype, so its arrays are passed as tensors; the other narrow types can be.

    Args:
        element_type: a type of at most 8 bits other than int8 and uint8, in any spelling: ``"nf4"``, ``"u2"``,
            ``"f8e4m3"``.
        codes: uint8 array of any shape, each element a code below ``2**bits``. It is not copied.

    Attributes:
        element_type: OpenVINO's name of the type, such as ``"nf4"``.
        codes: the uint8 array. shape: its shape.

    Raises:
        DTypeError: a type that is not narrow, or codes that are no uint8 array. SpecError: a code out of range.

    >>> import numpy as np
    >>> Tensor("i4", np.array([0, 7, 8, 15], np.uint8)).to_float()
    array([ 0.,  7., -8., -1.], dtype=float32)
    """

    __slots__ = ("codes", "element")

    def __init__(self, element_type: object, codes: Array) -> None:
        self.element = _narrow(element_type)
        if not isinstance(codes, np.ndarray) or codes.dtype != np.uint8:
            came = f"an array of {codes.dtype.name}" if isinstance(codes, np.ndarray) else f"a {type(codes).__name__}"
            raise DTypeError("codes", f"codes is {came}; expected a NumPy array of uint8, one code per element")
        self.codes = codes
        limit = 1 << self.element.bits
        if limit < 256 and codes.size and (top := int(codes.max())) >= limit:
            at = tuple(int(i) for i in np.unravel_index(int(codes.argmax()), codes.shape))
            came = f"code {top} at index {at} is none of {self.element_type}"
            raise SpecError("codes", f"{came}; expected 0 to {limit - 1}")

    @property
    def element_type(self) -> str:
        return SPELLINGS[self.element.name][0]

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.codes.shape
        return shape

    def __repr__(self) -> str:
        return f"Tensor({self.element_type!r}, {self.codes!r})"

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        raise DTypeError("types", f"a Tensor of {self.element_type} is no NumPy array; use .to_float() or .codes")

    def to_float(self) -> Array:
        """Return the values as float32, which holds every one of them exactly.

        >>> Tensor.unpack("f4e2m1", (2,), bytes([0xF7])).to_float()
        array([ 6., -6.], dtype=float32)
        """
        return _values(self.element.name)[self.codes]

    @classmethod
    def from_float(cls, element_type: object, values: object) -> Tensor:
        """Return the nearest values of a narrow float type: ties go to the even code, and for nf4 nearer to zero.

        Args:
            element_type: a narrow float type. values: a float16, float32 or float64 array, or what becomes one.

        Raises:
            DTypeError: an integer type, or values that are no floats. SpecError: NaN for a type that has none.

        >>> import numpy as np
        >>> Tensor.from_float("nf4", np.float32([-1.5, 0.04, 0.3])).codes
        array([ 0,  8, 11], dtype=uint8)
        """
        element = _narrow(element_type)
        array = np.asarray(values)
        if element.is_integer:
            shown = SPELLINGS[element.name][0]
            raise DTypeError("types", f"{shown} is an integer type; pass its codes to Tensor(), nothing is rounded")
        if array.dtype not in (np.float16, np.float32, np.float64):
            raise DTypeError("types", f"values are of {array.dtype.name}; expected float16, float32 or float64")
        if not np.isnan(_values(element.name)).any() and np.isnan(array).any():
            raise SpecError("values", f"values hold NaN, which {SPELLINGS[element.name][0]} has not")
        nearest = _nearest_level if element.format is None else _nearest_float
        return cls(element, nearest(element, array.astype(np.float64)))

    @classmethod
    def unpack(cls, element_type: object, shape: Sequence[int], data: bytes | bytearray | memoryview) -> Tensor:
        """Read OpenVINO's bytes: ``ceil(elements * bits / 8)`` of them.

        Raises:
            DTypeError: a type that is not narrow. ShapeError: too few or too many bytes, or a negative size.

        >>> Tensor.unpack("u2", (2, 2), bytes([0b00011110])).codes
        array([[2, 3],
               [1, 0]], dtype=uint8)
        """
        element = _narrow(element_type)
        shape = tuple(int(n) for n in shape)
        if any(n < 0 for n in shape):
            raise ShapeError("shape", f"{shape} is no shape; a size cannot be negative")
        count = size(shape)
        stored = np.frombuffer(data, np.uint8)
        wanted = -(-count * element.bits // 8)
        if stored.size != wanted:
            name = SPELLINGS[element.name][0]
            raise ShapeError("bytes", f"{stored.size} bytes hold no {name} tensor of shape {shape}; expected {wanted}")
        return cls(element, packing.unpack(element, shape, data))

    def pack(self) -> bytes:
        """Return the elements as OpenVINO packs them.

        >>> import numpy as np
        >>> Tensor("u1", np.array([1, 0, 1], np.uint8)).pack().hex()
        'a0'
        """
        return packing.pack(self.element, self.codes)


def _narrow(element_type: object) -> ElementType:
    element = spelling.find(element_type)
    if element not in NARROW:
        expected = listed(SPELLINGS[row.name][0] for row in NARROW)
        hint = "; pass a NumPy array of it instead" if element.name in SPELLINGS else ""
        raise DTypeError("types", f"a Tensor holds codes of a narrow type, not of {element}{hint}; expected {expected}")
    return element


@functools.cache
def _values(name: str) -> Array:
    """The value of every code, in float32."""
    element = elements.TYPES[name]
    if element.levels is not None:
        return np.array(element.levels, np.float32)
    return np.arange(1 << element.bits, dtype=np.uint8).view(element.memory).astype(np.float32)


def _ladder(steps: Array, values: Array) -> tuple[Array, Array]:
    """Between rising steps, the index of the nearest one; twice, for on a tie the lower and the upper one differ.

    Steps have few bits: the middle of two is exact in float64. Casts of ml_dtypes round float64 twice, by float32.
    """
    middles = (steps[1:] + steps[:-1]) / 2
    return np.searchsorted(middles, values, "left"), np.searchsorted(middles, values, "right")


def _nearest_level(element: ElementType, values: Array) -> Array:
    """Codes of a code book, whose levels rise with their codes: ties go to the level nearer to zero."""
    lower, upper = _ladder(_values(element.name).astype(np.float64), values)
    return np.where(values > 0, lower, upper).astype(np.uint8)


def _nearest_float(element: ElementType, values: Array) -> Array:
    """Codes of a float layout: ties go to the even code; up where the type has no mantissa, so no even significand."""
    f, book = element.format, _values(element.name).astype(np.float64)
    assert f is not None
    steps = book[: len(book) // 2] if f.signed else book
    steps = steps[np.isfinite(steps)]
    if f.special != "finite":  # the code after the largest number is infinity or NaN; it starts where its number would
        steps = np.append(steps, steps[-1] + 2.0 ** (math.frexp(steps[-1])[1] - 1 - f.mantissa))
    lower, upper = _ladder(steps, np.abs(values))
    codes = np.where((lower % 2 == 0) & (f.mantissa > 0), lower, upper)
    if f.signed:
        codes |= np.where(np.signbit(values), len(book) // 2, 0)
    nan = np.isnan(values) if f.signed else ~(values > 0)
    return np.where(nan, np.isnan(book).argmax(), codes).astype(np.uint8)
