"""Running any model on a runtime: inputs of edges and random bits, outputs as arrays, values inside watched too."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.arrays.packing import pack, unpack
from minuend.core.elements import TYPES, ElementType, of_numpy
from minuend.core.shapes import MAX_RANK
from minuend.errors import DTypeError, listed, shown
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.operators import SUBTRACT
from minuend.runtimes import values
from minuend.runtimes.probing import PROBING, Skip
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Refused, Runtime
from minuend.standards.spelling import find

Array = np.ndarray[Any, np.dtype[Any]]

DIMS = (37, 5, 1)
"""What unknown dims are taken for: no power of two, more than a vector register; less than one; what joins anything."""

WILD, ORDINARY, SMALL = "edges and random bits", "ordinary numbers", "small numbers"
"""Kinds of numbers: all of a type; those that models are made for; those that are indices or counts as well."""

BINARY = "ordinary numbers with integers of 0 and 1"
"""Integers as masks have them: of any other number a mask often makes infinities."""

_MEETING = 3
"""How many inputs' numbers meet each other."""

_MOST_BYTES = 256 << 20
"""Bytes of inputs, and of constants, up to which a model is run."""


class RuntimeRefuses(Skip):
    """A runtime did not build or did not run a model, or it crashed; the message is its own."""


# ---- inputs -----------------------------------------------------------------------------------------------------


def make_inputs(
    model: Model, touched: Collection[str], turn: int, dim: int, others: str = SMALL, assumed: Assumptions = NONE
) -> dict[str, np.ndarray[Any, Any]]:
    """Make an array for every input that has to be given.

    Args:
        model: the model. touched: element types that get edges and random bits. turn: other numbers for each.
        dim: what unknown dims are taken for. others: the kind of numbers that other element types get.
        assumed: what is known of inputs; numbers that do not lie there are moved into it.
    """
    names: dict[str, int] = {}
    made: dict[str, np.ndarray[Any, Any]] = {}
    source = random.Random(f"minuend fix {turn}")
    total = 0
    probing = PROBING.required(model.dialect)
    counts = probing.counts(model)
    for name, dtype, dims in probing.declared(model):
        if dims is None:
            raise Skip(f"the rank of the input {name!r} is not known")
        shape = tuple(_dim(own, names, dim) for own in dims)
        if len(shape) > MAX_RANK:
            raise Skip(f"the input {name!r} has rank {len(shape)}, and NumPy's arrays end at {MAX_RANK}")
        element = None if dtype == "bool" else TYPES[dtype]
        count = math.prod(shape)
        total += count * (1 if element is None else element.itemsize)
        if total > _MOST_BYTES:
            raise Skip(f"its inputs take more than {_MOST_BYTES} bytes")
        # Some runtimes take a number below 0 for a loop without an end; a large one takes as long as that.
        rounds = name in counts and element is not None and element.is_integer
        kind = SMALL if rounds else WILD if dtype in touched else others
        made[name] = _elements(element, count, kind, source).reshape(shape)
        made[name] = assumed[name].fit(made[name]) if name in assumed else made[name]
    return made


def only_nan(arrays: Mapping[str, Any]) -> list[str]:
    """Return the names of the arrays of floats whose elements are all NaN: equal ones show nothing.

    >>> only_nan({"x": np.array([np.nan, np.nan]), "y": np.array([np.nan, 1]), "z": np.array([1]), "e": np.array([])})
    ['x']
    """
    found = {name: getattr(value, "codes", value) for name, value in arrays.items()}
    return [name for name, one in found.items() if isinstance(one, np.ndarray) and one.size and _only_nan(one)]


def _only_nan(array: Array) -> bool:
    row = of_numpy(array.dtype)
    return row is not None and not row.is_integer and bool(np.isnan(array.astype(np.float32)).all())


def with_operands(
    model: Model,
    made: Mapping[str, Array],
    known: Mapping[str, Sequence[float]],
    turn: int = 0,
    assumed: Assumptions = NONE,
) -> dict[str, Array]:
    """Return inputs whose elements are known numbers, so that over the first inputs each meets each.

    Args:
        model: the model; an input by which it counts stays as it is. made: inputs.
        known: numbers of element types; an input of another type stays as it is.
        turn: which of them come first, where inputs have few elements. assumed: see :func:`make_inputs`.
    """
    found, place = dict(made), 0
    counts = PROBING.required(model.dialect).counts(model)
    for name, array in made.items():
        row = of_numpy(array.dtype)
        if row is None or name in counts or not (numbers := known.get(row.name)):
            continue
        values = np.array(numbers).astype(row.memory)
        turned = (np.arange(array.size) + turn * array.size) // len(values) ** place % len(values)
        filled = values[turned].reshape(array.shape)
        found[name] = assumed[name].fit(filled) if name in assumed else filled
        place = (place + 1) % _MEETING
    return found


def beyond_inputs(model: Model, assumed: Assumptions) -> str:
    """Say of which values something is assumed that made inputs cannot keep to, as they are none; ``""`` for none."""
    inputs = {name for name, _, _ in PROBING.required(model.dialect).declared(model)} if assumed else set()
    names = [shown(name) for name in assumed if name not in inputs]
    return f"made inputs do not keep to what is assumed of {listed(names, 'and')}" if names else ""


def _dim(own: Any, names: dict[str, int], unknown: int) -> int:
    if isinstance(own, int):
        return own
    if isinstance(own, tuple):
        low, high = own
        return int(max(low, unknown if high is None else min(unknown, high)))
    return names.setdefault(own, unknown) if own is not None else unknown


def _elements(element: ElementType | None, count: int, kind: str, source: random.Random) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(source.getrandbits(64))
    if element is None:
        return rng.integers(0, 2, count).astype(np.bool_)
    if kind == BINARY and element.is_integer:
        return rng.integers(0, 2, count).astype(element.memory)
    if kind in (ORDINARY, BINARY):
        return _ordinary(element, count, rng)
    if kind == SMALL:
        high = min(element.limits[1], 3) if element.is_integer else 8
        small = rng.integers(0, high + 1, count)
        return (small if element.is_integer else small / 4).astype(element.memory)
    codes = values.of(SUBTRACT, element, full=False).codes
    pairs = rng.integers(0, 1 << element.bits, count, dtype=np.uint64).astype(codes.dtype)
    edges = codes[rng.integers(0, len(codes), count)]
    chosen = np.where(rng.integers(0, 2, count).astype(bool), pairs, edges)
    return chosen.view(element.memory)


def _ordinary(element: ElementType, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Numbers as images and activations have them: all of 8 bits, some hundreds, or about 1 with all their digits."""
    if not element.is_integer:
        return rng.standard_normal(count).astype(element.memory)
    low, high = max(element.limits[0], -1000), min(element.limits[1], 1000)
    return rng.integers(low, high + 1, count).astype(element.memory)


def check_size(model: Model) -> None:
    """Check that a model is not too large to be run in passing.

    Raises:
        Skip: it is.
    """
    nbytes = PROBING.required(model.dialect).nbytes(model)
    if nbytes > _MOST_BYTES:
        raise Skip(f"its constants take {nbytes} bytes, more than {_MOST_BYTES}")


# ---- the runtime ------------------------------------------------------------------------------------------------


def query_model(
    model: Model,
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    watched: Sequence[Any],
    runtime: Runtime,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> tuple[dict[str, Array], list[Array]]:
    """Run a model and return its outputs by name, and the watched values (names in ONNX, references in IR).

    Args:
        model, inputs, outputs, watched: what is run. runtime: where. settings: a ``hint`` or a ``switch``, if any.

    Raises:
        RuntimeRefuses: the runtime refuses the model, or crashes. LimitExceeded: it takes more than it may.
    """
    probing = PROBING.required(model.dialect)
    data, weights, wide = probing.model_bytes(model, watched, quirks(runtime.name).bfloat16_out)
    head = {
        "form": probing.FORM,
        "inputs": [[name, _dtype(array), list(array.shape)] for name, array in inputs.items()],
    }
    head |= settings
    answer = runtime._query(head, [data, weights, *map(_bytes, inputs.values())])
    if isinstance(answer, Refused):
        raise answer.limit or RuntimeRefuses(f"it refuses the model: {answer.message}")
    runtime.check_count(answer, len(outputs) + len(watched))
    found = [_read(dtype, tuple(shape), raw) for (dtype, shape), raw in answer]
    for i in wide:
        found[i] = found[i].astype(TYPES["bfloat16"].memory)
    return dict(zip(outputs, found, strict=False)), found[len(outputs) :]


def _dtype(array: Array) -> str:
    row = of_numpy(array.dtype)
    return str(array.dtype.name) if row is None else row.name


def _bytes(array: Array) -> bytes:
    row = of_numpy(array.dtype)
    if row is None or row.bits >= 8:
        return array.tobytes()
    return pack(row, array.view(np.uint8) & np.uint8((1 << row.bits) - 1))


def _read(dtype: str, shape: tuple[int, ...], raw: bytes) -> Array:
    if dtype in ("bool", "boolean"):
        return np.frombuffer(raw, np.bool_).reshape(shape)
    try:
        row = find(dtype)
    except DTypeError:
        return _foreign(dtype, shape, raw)
    if row.bits >= 8:
        return np.frombuffer(raw, row.memory).reshape(shape)
    return unpack(row, shape, raw).view(row.memory)


def _foreign(dtype: str, shape: tuple[int, ...], raw: bytes) -> Array:
    """An array of a type that is none of subtraction's: numbers of NumPy's, else nothing that could be compared."""
    try:
        kind = np.dtype(dtype)
        return np.frombuffer(raw, kind).reshape(shape)
    except (TypeError, ValueError):  # strings, which are Python's objects, or no type at all
        return np.broadcast_to(np.array(None, object), shape)
