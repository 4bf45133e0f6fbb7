"""``subtract``: the array function, and what every dialect's operators share with it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np

from minuend import _native
from minuend.arrays.libraries import LibraryFunction, library_of
from minuend.arrays.plan import Plan, kernel_of, plan, shares_addresses
from minuend.arrays.subclasses import check_protocol, wrap
from minuend.core import elements, shapes
from minuend.core.elements import ElementType
from minuend.core.policies import POLICIES, Overflow
from minuend.core.shapes import Broadcast, format_shape, static
from minuend.errors import DTypeError, OverflowFound, ScalarRangeError, ShapeError, SpecError, listed
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

First = tuple[tuple[int, ...], int, int]
"""An element that overflows: its index in the result, and both operands."""

F = TypeVar("F", bound=Callable[..., Any])
Out = TypeVar("Out")


def _array_function(operator: Operator) -> Callable[[F], F]:
    """Let the kernel take plain arrays without a detour through Python; the decorated function decides the rest."""

    def decorate(general: F) -> F:
        for scalar_type, row in elements.by_scalar_type().items():
            _native.learn(np.dtype(scalar_type), row.kernel, row.kind, row.widened.memory)
        fast = _native.with_fast_path(kernel_of(operator), general)
        functools.update_wrapper(fast, general)
        return fast

    return decorate


S = TypeVar("S", bound=np.generic)
Same: TypeAlias = Literal["wrap", "saturate", "error"]
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[S]]"


@overload
def subtract(
    a: Numbers[S], b: Numbers[S] | S | int | float, /, out: None = None, *, overflow: Same = "wrap"
) -> Numbers[S]: ...
@overload
def subtract(a: S | int | float, b: Numbers[S], /, out: None = None, *, overflow: Same = "wrap") -> Numbers[S]: ...
@overload
def subtract(a: S, b: S, /, out: None = None, *, overflow: Same = "wrap") -> S: ...
@overload
def subtract(
    a: object,
    b: object,
    /,
    out: None = None,
    *,
    overflow: Overflow = "wrap",
    where: object = True,
    dtype: None = None,
    casting: None = None,
) -> Any: ...
@overload
def subtract(
    a: object,
    b: object,
    /,
    out: Out,
    *,
    overflow: Overflow = "wrap",
    where: object = True,
    dtype: None = None,
    casting: None = None,
) -> Out: ...
@_array_function(SUBTRACT)
def subtract(
    a: object,
    b: object,
    /,
    out: Any = None,
    *,
    overflow: Overflow = "wrap",
    where: object = True,
    dtype: object = None,
    casting: object = None,
) -> Any:
    """Subtract element by element: ``a - b``, exact, in the operands' own element type.

    Integers wrap modulo 2**n unless ``overflow`` says otherwise. Floats give the exact difference rounded once,
    to nearest even; subnormals, signed zeros, infinities and NaN are IEEE 754's. Nothing is promoted. Shapes
    broadcast as NumPy's do; strides, byte order and alignment are free.

    Arrays of other libraries give arrays of theirs, by the same contract: PyTorch's tensors (differentiable; on the CPU
    nothing is copied), JAX's and CuPy's arrays, Dask's (lazy), xarray's, pandas' and Polars' objects (labels have to be
    equal), zarr's (read whole), NumPy's masked arrays (masked where either is), and whatever speaks DLPack. What lies
    on a GPU is computed there by its own library, whose answers are checked against the contract first.

    Args:
        a: the minuend: an array of an element type in :data:`minuend.core.elements.TYPES`, a NumPy scalar, or a Python
            number where ``b`` is an array.
        b: the subtrahend, likewise.
        out: an array to write to, of the result's shape and element type; it may overlap ``a`` and ``b``, the answer
            is as if they had been copied first.
        overflow: what integers do where the exact difference does not fit. ``"wrap"``; ``"saturate"``: the nearest
            value that fits; ``"widen"``: the exact difference in the signed type of twice the width (64-bit operands
            give int64); ``"error"``. Floats ignore it.
        where: bools that broadcast to ``out``, which keeps its elements where they are false; nothing overflows there.
        dtype, casting: NumPy's ufuncs have them; here they are refused.

    Returns:
        ``out``, or a new array in native byte order, of shape ``broadcast(a, b)`` and without gaps. Its dims lie in
        memory in the order of the operands', if those have one order, as NumPy's ``order="K"``; else in C order. Two
        scalars give a scalar. A subclass of NumPy's arrays gives what ``np.subtract`` would wrap the result in.

    Raises:
        DTypeError: element types that differ or are not in the table, operands that are no arrays, or a class with an
            ``__array_ufunc__`` of its own, whose units or labels would be lost.
        ShapeError: shapes that do not broadcast, or an ``out`` that does not fit.
        OverflowFound: under ``"error"``, or ``"widen"`` of 64 bits, the exact difference does not fit somewhere;
            operands keep their values even where ``out`` is one of them. An ``out`` that is no operand holds nothing
            to rely on then: some of its elements may have been written.
        ScalarRangeError: a Python int that the array's element type cannot hold.
        SpecError: ``dtype=``, ``casting=``, or ``where=`` without ``out``.
        Unsupported: a device whose floats are not exact: its subnormals are flushed, for instance.

    >>> import numpy as np
    >>> a, b = np.array([5, 200], np.uint8), np.array([10, 100], np.uint8)
    >>> subtract(a, b), subtract(a, b, overflow="saturate"), subtract(a, b, overflow="widen")
    (array([251, 100], dtype=uint8), array([  0, 100], dtype=uint8), array([ -5, 100], dtype=int16))
    """
    if dtype is not None or casting is not None:
        raise SpecError(
            "dtype" if dtype is not None else "casting",
            "nothing is promoted or converted: the result has the operands' element type; overflow='widen' gives exact "
            "differences in the signed type of twice the width, and .astype() makes operands of another type",
        )
    return _apply(SUBTRACT, a, b, out, overflow, where)


def _apply(operator: Operator, a: object, b: object, out: Any, overflow: Overflow, where: object) -> Any:
    """Compute an operator of two operands of any kind; see :func:`subtract`."""
    library = library_of(a, b, out)
    if library is not None:
        if where is not True:
            raise SpecError("where", "where= is for NumPy arrays; expected it to be left away")
        of_library: LibraryFunction = getattr(library, operator.name)
        return of_library(_scalar_of(a), _scalar_of(b), out, overflow)
    if where is not True:
        return _where(operator, a, b, out, overflow, where)
    x, y, element = operands(a, b)
    found = compute(operator, element, shapes.numpy(x.shape, y.shape), x, y, out, overflow)
    if out is not None:
        return found
    scalars = not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray)
    return found[()] if scalars else wrap(operator, found, a, b)


def _scalar_of(operand: object) -> object:
    """A plain array without axes as its scalar: it has no labels that could be compared; anything else as it is."""
    if type(operand) is np.ndarray and not operand.ndim and not operand.dtype.hasobject:
        found: object = operand[()]
        return found
    return operand


def _where(operator: Operator, a: object, b: object, out: Any, overflow: Overflow, where: object) -> Any:
    """Compute where a mask says so; what is left out is computed of zeros, which does not overflow."""
    if not isinstance(out, np.ndarray):
        raise SpecError("where", "where= leaves elements of out as they are; expected out= beside it")
    mask = np.asarray(where)
    if mask.dtype != np.bool_:
        raise DTypeError("where", f"where is of {mask.dtype}; expected bool")
    x, y, element = operands(a, b)
    shape = static(shapes.numpy(x.shape, y.shape).shape or ())
    check_out(out, element.widened if overflow == "widen" else element, shape)
    try:
        mask = np.broadcast_to(mask, shape)
    except ValueError:
        raise ShapeError(
            "where", f"where has shape {mask.shape}; expected one that broadcasts to {format_shape(shape)}"
        ) from None
    nothing = np.zeros((), element.memory)
    left, right = (np.where(mask, one, nothing) for one in (x, y))
    joined = shapes.numpy(left.shape, right.shape)
    np.copyto(out, compute(operator, element, joined, left, right, None, overflow), where=mask)
    return out


def compute(
    operator: Operator,
    element: ElementType,
    joined: Broadcast,
    a: Array,
    b: Array,
    out: Array | None,
    overflow: str = "wrap",
) -> Array:
    """Compute an operator of two operands whose shapes have been joined by any of the four rules.

    Raises:
        OverflowFound: as ``overflow`` says; see :func:`subtract`. Unsupported: the kernel does not compute the
            operator.
    """
    if overflow not in POLICIES:
        raise SpecError("overflow", f"overflow is {overflow!r}; expected {listed(map(repr, POLICIES))}")
    result_type = element.widened if overflow == "widen" else element
    shape = static(joined.shape or ())
    if out is not None:
        check_out(out, result_type, shape)
    # What takes another byte order goes through a copy that the native side cannot tell from the operand, or from out.
    separate = out is not None and (
        not out.dtype.isnative or any(not x.dtype.isnative and np.may_share_memory(x, out) for x in (a, b))
    )
    x, y = in_native_order(a), in_native_order(b)
    work = plan(operator, element, joined, (x.shape, x.strides), (y.shape, y.strides))
    target = work.result(result_type) if out is None or separate else out
    policy = overflow if element.is_integer else "wrap"
    if found := work.run(x, y, target, target.strides, policy):
        count = work.count(x, y) if policy == "error" else found  # "error" only tells whether
        raise _overflow(work, x, y, policy, count)
    if out is None or out is target:
        return target
    out[...] = target
    return out


def count_overflows(a: object, b: object, /) -> int:
    """Return how many elements of ``a - b`` do not fit the operands' integer type; 0 for floats.

    >>> import numpy as np
    >>> count_overflows(np.array([5, 200], np.uint8), np.array([10, 100], np.uint8))
    1
    """
    x, y, element = operands(a, b)
    joined = shapes.numpy(x.shape, y.shape)
    if not element.is_integer:
        return 0
    x, y = in_native_order(x), in_native_order(y)
    return plan(SUBTRACT, element, joined, (x.shape, x.strides), (y.shape, y.strides)).count(x, y)


def _overflow(work: Plan, a: Array, b: Array, policy: str, count: int) -> OverflowFound:
    index = work.first_overflow(a, b, policy)
    target = work.element.widened if policy == "widen" else work.element
    first = (index, *work.operands_at(a, b, index))
    return overflow_found(work.operator, target, policy, count, shapes.size(work.sizes), first)


def overflow_found(
    operator: Operator,
    target: ElementType,
    policy: str,
    count: int,
    size: int,
    first: First,
    where: str = "",
    hint: str | None = None,
) -> OverflowFound:
    """Return the error of results that a type does not hold: how many of how many, where, and the first one."""
    low, high = target.limits
    index, a, b = first
    if hint is None:
        hint = "" if policy == "widen" else "; overflow='wrap', 'saturate' or 'widen' gives an answer"
    return OverflowFound(
        f"{count} of {size} {operator.noun}s do not fit {target} ({low} to {high}){where}; "
        f"the first is at index {index}: {operator.equation(a, b)}{hint}",
        count=count,
        index=index,
        a=a,
        b=b,
    )


def check_out(out: Any, element: ElementType, shape: tuple[int, ...]) -> None:
    """Check that a result of this type and shape can be written to ``out``.

    Raises:
        DTypeError: ``out`` is no array, or of another type. ShapeError: another shape, read-only, or an array in which
            two elements share an address.
    """
    check_protocol(out=out)
    if not isinstance(out, np.ndarray):
        raise DTypeError("out", f"out is a {type(out).__name__}; expected a NumPy array of {element}")
    if isinstance(out, np.ma.MaskedArray):
        raise DTypeError("out", "out is a masked array, whose mask would not be set; pass .data")
    if out.dtype.type is not element.memory.type and elements.of_numpy(out.dtype) is not element:
        raise DTypeError("out", f"out is of {out.dtype.name}; the result is {element}, and nothing is converted")
    if out.shape != shape:
        raise ShapeError("out", f"out has shape {out.shape}; the result has shape {format_shape(shape)}")
    if not out.flags.writeable:
        raise ShapeError("out", "out is read-only; pass an array that can be written to")
    # An element's bytes count as one more dim: elements that overlap in part would spoil each other as well.
    if not out.flags.c_contiguous and shares_addresses((*out.shape, out.itemsize), (*out.strides, 1)):
        raise ShapeError("out", f"two elements of out share an address (strides {out.strides}); pass a plain array")


# ---- operands -------------------------------------------------------------------------------------------------


def operands(a: Any, b: Any) -> tuple[Array, Array, ElementType]:
    """Return both operands as arrays, in whatever byte order they have, and the element type that they share.

    Raises:
        DTypeError: no arrays, types outside the table, or two different ones. ScalarRangeError: a Python int that does
            not fit the other operand's type.
    """
    x, y = _array(a, "a"), _array(b, "b")
    if x is not None:
        element = element_of(x, "a")
        if y is not None and (other := element_of(y, "b")) is not element:
            raise DTypeError("types", f"a is of {element} and b of {other}; nothing is promoted, convert one of them")
    elif y is not None:
        element = element_of(y, "b")
    else:
        raise DTypeError(
            "types", "a and b are both Python numbers, which have no element type; make one of them a NumPy array"
        )
    x = scalar(a, element) if x is None else x
    y = scalar(b, element) if y is None else y
    return x, y, element


def element_of(array: Array, name: str) -> ElementType:
    """Return the row of an array's element type."""
    row = elements.of_numpy(array.dtype)
    if row is None:
        reason = elements.refusal(array.dtype.name)
        raise DTypeError("types", f"{name}: {reason}; expected {listed(elements.TYPES)}")
    return row


def _array(operand: object, name: str) -> Array | None:
    """Return an operand as an array; ``None`` for a Python number, which takes the other operand's type."""
    if type(operand) is np.ndarray:
        return operand
    if isinstance(operand, np.ndarray):
        if isinstance(operand, np.ma.MaskedArray):  # of a standard's operator, which knows no masks
            raise DTypeError("types", f"{name} is a masked array, whose mask would be lost; pass .data or .filled()")
        check_protocol(**{name: operand})
        return np.asarray(operand)
    if isinstance(operand, np.generic):
        return np.asarray(operand)
    if isinstance(operand, int | float) and not isinstance(operand, bool):
        return None
    hint = f"; np.asarray({name}, dtype) makes an array of it" if isinstance(operand, list | tuple) else ""
    raise DTypeError(
        "types",
        f"{name} is a {type(operand).__name__}; expected a NumPy array, a NumPy scalar or a Python int or float{hint}",
    )


def in_native_order(array: Array) -> Array:
    """Return an array whose elements are in the machine's byte order: itself, or a copy."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def scalar(value: int | float, element: ElementType) -> Array:
    """Return a Python number as a 0-d array of an element type, rounded once.

    Raises:
        DTypeError: a float for an integer type. ScalarRangeError: an int that the type cannot hold.
    """
    if element.is_integer:
        if not isinstance(value, int):
            raise DTypeError(
                "types", f"the Python float {value!r} has no place in {element}; nothing is promoted, pass an int"
            )
        low, high = element.limits
        if not low <= value <= high:
            raise ScalarRangeError(f"the Python int {value} does not fit {element} ({low} to {high})")
        return np.asarray(value, element.memory)
    if element.name == "float64" and isinstance(value, float):
        return np.asarray(value)
    from minuend.operators import codes as of_codes

    code = of_codes.encode(element, value)
    return np.asarray(code, f"u{element.itemsize}").view(element.memory)
