"""Arrays on a device of their own, a GPU mostly: this package's contract in their library's own operators.

Integers are computed as signed ones of the same bits, which every library has whole. Floats are the library's own
subtraction, of which each type is probed once on each device: where an answer is not the contract's, nothing is
computed. Floats of 8 bits are looked up in the reference's table.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from minuend.arrays import functions
from minuend.arrays.functions import Array
from minuend.arrays.plan import shares_addresses
from minuend.core import elements, shapes
from minuend.core.elements import ElementType, FloatFormat
from minuend.core.policies import POLICIES, Overflow
from minuend.core.shapes import static
from minuend.errors import DTypeError, ShapeError, SpecError, Unsupported, listed
from minuend.operators import SUBTRACT, reference
from minuend.operators import codes as of_codes


class DeviceArray(Protocol):
    """An array of a library, with the operators that Python has for its integers."""

    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def ndim(self) -> int: ...
    def __getitem__(self, at: Any, /) -> DeviceArray: ...
    def __sub__(self, other: DeviceArray, /) -> DeviceArray: ...
    def __and__(self, other: DeviceArray | int, /) -> DeviceArray: ...
    def __or__(self, other: DeviceArray, /) -> DeviceArray: ...
    def __xor__(self, other: DeviceArray | int, /) -> DeviceArray: ...
    def __lshift__(self, bits: int, /) -> DeviceArray: ...
    def __rshift__(self, bits: int, /) -> DeviceArray: ...
    def __lt__(self, other: DeviceArray | int, /) -> DeviceArray: ...


class Home(Protocol):
    """A library, and the device on which all arrays of a call lie; equal ones answer alike.

    What is written here is so for libraries whose arrays are as NumPy's.

    Attributes:
        functions: the library's module, which has ``where`` and ``count_nonzero``. words: what an array there is called
            in messages. elsewhere: how one gets it to the CPU.
    """

    functions: ModuleType
    elsewhere: str

    @property
    def words(self) -> str: ...

    def name(self, array: Any) -> str:
        """Return the name of its element type."""
        return str(array.dtype)

    def view(self, array: Any, name: str) -> DeviceArray:
        """Return the same memory, as a type of the same width."""
        found: DeviceArray = array.view(elements.TYPES[name].memory)
        return found

    def cast(self, array: Any, name: str) -> DeviceArray:
        """Return a copy in another integer type."""
        found: DeviceArray = array.astype(elements.TYPES[name].memory)
        return found

    def put(self, array: Array) -> DeviceArray:
        """Return an array of signed integers, on the device."""

    def get(self, array: DeviceArray) -> Array:
        """Return an array of signed integers, as NumPy's."""

    def minus(self, a: DeviceArray, b: DeviceArray) -> DeviceArray:
        """Return the library's own difference of floats."""
        return a - b

    def where(self, mask: DeviceArray, one: DeviceArray, other: DeviceArray) -> DeviceArray:
        """Choose element by element."""
        found: DeviceArray = self.functions.where(mask, one, other)
        return found

    def first(self, mask: Any) -> int:
        """Return the place of the first true element in C order."""
        return int(mask.ravel().argmax())

    def count(self, mask: DeviceArray) -> int:
        """Return how many elements are true."""
        return int(self.functions.count_nonzero(mask))

    def __hash__(self) -> int:
        return hash(self.words)


def subtract(home: Home, a: Any, b: Any, overflow: Overflow) -> DeviceArray:
    """Subtract arrays of one device, or one and a number, under the contract of :func:`minuend.subtract`."""
    if overflow not in POLICIES:
        raise SpecError("overflow", f"overflow is {overflow!r}; expected {listed(map(repr, POLICIES))}")
    a, b, element = _operands(home, a, b)
    shape = static(shapes.numpy(tuple(a.shape), tuple(b.shape)).shape or ())
    if element.is_integer:
        return _integers(home, element, a, b, shape, overflow)
    _probe(home, element)
    return _floats(home, element, a, b)


def _operands(home: Home, a: Any, b: Any) -> tuple[DeviceArray, DeviceArray, ElementType]:
    """Both operands as arrays of one type; a number takes the other's, as beside a NumPy array."""
    rows = [
        None if isinstance(one, int | float | np.generic) else _row(home, one, name)
        for name, one in zip("ab", (a, b), strict=True)
    ]
    element = rows[0] or rows[1]
    assert element is not None
    if None not in rows and rows[0] is not rows[1]:
        raise DTypeError("types", f"a is of {rows[0]} and b of {rows[1]}; nothing is promoted, convert one of them")
    empty = np.empty(0, element.memory)
    numbers = functions.operands(*(one if row is None else empty for one, row in zip((a, b), rows, strict=True)))
    x, y = (
        home.view(home.put(number.view(f"i{element.itemsize}")), element.name) if row is None else one
        for one, row, number in zip((a, b), rows, numbers[:2], strict=True)
    )
    return x, y, element


def _row(home: Home, array: DeviceArray, name: str) -> ElementType:
    word = home.name(array)
    element = elements.TYPES.get(word)
    if element is None:
        raise DTypeError("types", f"{name}: {elements.refusal(word)}; expected {listed(elements.TYPES)}")
    if element.bits < 8:
        raise DTypeError("types", f"{name} is {home.words} of {element}, a type of less than a byte; {home.elsewhere}")
    return element


def check(home: Home, array: DeviceArray) -> None:
    """Check that a library's own differences of an array's type are exact, each rounded once.

    Raises:
        Unsupported: they are not.
    """
    element = _row(home, array, "a")
    if not element.is_integer:
        _probe(home, element)


def check_out(home: Home, out: DeviceArray, found: DeviceArray, strides: tuple[int, ...]) -> None:
    """Check that a result can be written to an array of the same device.

    Raises:
        DTypeError: it is of another type. ShapeError: it has another shape, or two elements at one address.
    """
    if home.name(out) != home.name(found):
        own, expected = home.name(out), home.name(found)
        raise DTypeError("out", f"out is of {own}; the result is {expected}, and nothing is converted")
    if tuple(out.shape) != tuple(found.shape):
        raise ShapeError("out", f"out has shape {tuple(out.shape)}; the result has shape {tuple(found.shape)}")
    if shares_addresses(tuple(out.shape), strides):
        raise ShapeError("out", f"two elements of out share an address (strides {strides}); pass a plain array")


# ---- integers -------------------------------------------------------------------------------------------------


def _integers(
    home: Home, element: ElementType, a: DeviceArray, b: DeviceArray, shape: tuple[int, ...], overflow: Overflow
) -> DeviceArray:
    signed = f"int{element.bits}"
    x, y = home.view(a, signed), home.view(b, signed)
    if overflow == "widen" and element.bits < 64:
        return _widened(home, element, x, y)
    wrapped = x - y
    if overflow == "wrap":
        return home.view(wrapped, element.name)
    lost = _lost(element, x, y, wrapped, overflow)
    if overflow == "saturate":
        return home.view(home.where(lost, _limit(element, x), wrapped), element.name)
    if count := home.count(lost):
        target = element.widened if overflow == "widen" else element
        index = tuple(int(i) for i in np.unravel_index(home.first(lost), shape))
        first = (index, _at(home, element, x, index), _at(home, element, y, index))
        raise functions.overflow_found(SUBTRACT, target, overflow, count, shapes.size(shape), first)
    return wrapped if overflow == "widen" else home.view(wrapped, element.name)


def _lost(
    element: ElementType, x: DeviceArray, y: DeviceArray, wrapped: DeviceArray, overflow: Overflow
) -> DeviceArray:
    """Where the exact difference is not what the bits say."""
    if element.kind == "signed":
        return ((x ^ y) & (x ^ wrapped)) < 0
    lowest = -1 << (element.bits - 1)
    below = (x ^ lowest) < (y ^ lowest)
    return below if overflow != "widen" else below ^ (wrapped < 0)


def _limit(element: ElementType, x: DeviceArray) -> DeviceArray:
    """The nearest number that fits: a difference overflows to the side of its minuend."""
    return (x >> (element.bits - 1)) ^ ((1 << (element.bits - 1)) - 1) if element.kind == "signed" else x & 0


def _widened(home: Home, element: ElementType, x: DeviceArray, y: DeviceArray) -> DeviceArray:
    wide = (home.cast(one, element.widened.name) for one in (x, y))
    if element.kind == "unsigned":
        wide = (one & ((1 << element.bits) - 1) for one in wide)
    minuend, subtrahend = wide
    return minuend - subtrahend


def _at(home: Home, element: ElementType, array: DeviceArray, index: tuple[int, ...]) -> int:
    """An operand's number at an index of the result."""
    own = index[len(index) - array.ndim :] if array.ndim else ()
    place = tuple(0 if dim == 1 else i for i, dim in zip(own, array.shape, strict=True))
    code = int(home.get(array[place]))
    return code if element.kind == "signed" else code % (1 << element.bits)


# ---- floats ---------------------------------------------------------------------------------------------------


def _floats(home: Home, element: ElementType, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    if element.kernel != "table":
        return home.minus(a, b)
    x, y = (home.cast(home.view(one, "int8"), "int32") & 0xFF for one in (a, b))
    return home.view(_table(home, element)[(x << 8) | y], element.name)


@functools.lru_cache(maxsize=32)
def _table(home: Home, element: ElementType) -> DeviceArray:
    """The reference's answers, on the device."""
    return home.put(np.frombuffer(reference.table(SUBTRACT, element, "wrap"), np.int8, 1 << 16).copy())


@functools.lru_cache(maxsize=256)
def _probe(home: Home, element: ElementType) -> None:
    """Probe differences of edges.

    Raises:
        Unsupported: an answer is not the exact difference rounded once.
    """
    if element.format is None or element.kernel == "table":
        return
    codes = _edges(element, element.format)
    left, right = (
        np.array(one, f"u{element.itemsize}") for one in zip(*((a, b) for a in codes for b in codes), strict=True)
    )
    signed = f"i{element.itemsize}"
    a, b = (home.view(home.put(one.view(signed)), element.name) for one in (left, right))
    came = home.get(home.view(_floats(home, element, a, b), f"int{element.bits}")).view(left.dtype)
    for x, y, code in zip(left.tolist(), right.tolist(), came.tolist(), strict=True):
        want = reference.apply(SUBTRACT, element, (x, y))
        if code == want or (of_codes.is_nan(element.format, code) and of_codes.is_nan(element.format, want)):
            continue
        shown = [float(of_codes.decode(element, one)) for one in (x, y, code, want)]
        raise Unsupported(
            f"{home.words} of {element}: there {shown[0]} - {shown[1]} gives {shown[2]}, and exactly {shown[3]}; "
            f"nothing is computed by other rules, {home.elsewhere}"
        )


def _edges(element: ElementType, f: FloatFormat) -> list[int]:
    """Codes of zeros, subnormals, the ends of the normals, infinity, NaN and numbers that round; of both signs."""
    step, sign = 1 << f.mantissa, 1 << (element.bits - 1)
    one, infinity = f.bias * step, (2 * f.bias + 1) * step
    half = one - (f.mantissa + 1) * step  # of what the last bit of 1 is worth
    plain = [0, 1, 2, step - 1, step, step + 1, half, half + 1, one, one + 1, one + 2]
    return [code | side for side in (0, sign) for code in (*plain, infinity - 1, infinity, infinity + 1)]
