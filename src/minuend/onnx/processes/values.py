"""Values between the process that requests a run and the one that runs: a tree for JSON, and the arrays' bytes.

    null, true, 1, 0.5, "text", [value, …]      as they are
    {"tuple": [value, …]}                       a tuple
    {"dict": [[key, value], …]}                 a dict
    {"bytes": i}                                byte string i
    {"array": [dtype, shape, order, i]}         the elements are byte string i, in order C or F
    {"texts": [shape, [value, …]]}              an array of Python's objects: strings
    {"scalar": value}                           a NumPy scalar, as an array without dims
    {"error": [name, args, state]}              an error of this package, or an OSError

Together they are a message of :mod:`minuend.worker`. Neither side runs what the other one sends.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes  # noqa: F401 - gives NumPy the names of its types
import numpy as np

from minuend.errors import MinuendError, Unsupported
from minuend.onnx.documents.tensors import Array

Part = bytes | bytearray | memoryview


def pack(value: object) -> tuple[object, list[Part]]:
    """Return the tree of a value, and its byte strings, which share memory with its arrays where they can.

    Raises:
        Unsupported: something that is no value of a model.

    >>> pack({"x": np.float32([1, 2]), "n": None})[0]
    {'dict': [['x', {'array': ['<f4', [2], 'C', 0]}], ['n', None]]}
    """
    parts: list[Part] = []
    return _packed(value, parts), parts


def unpack(tree: Any, parts: Sequence[Part]) -> Any:
    """Return the value that :func:`pack` was given; arrays can be written to where their byte strings can.

    >>> unpack(*pack((1, {"x": np.array("text", object)}, [b"raw", float("inf")])))
    (1, {'x': array('text', dtype=object)}, [b'raw', inf])
    """
    match tree:
        case list():
            return [unpack(item, parts) for item in tree]
        case {"tuple": items}:
            return tuple(unpack(item, parts) for item in items)
        case {"dict": pairs}:
            return {unpack(key, parts): unpack(item, parts) for key, item in pairs}
        case {"bytes": i}:
            return bytes(parts[i])
        case {"array": [dtype, shape, order, i]}:
            return np.ndarray(shape, np.dtype(dtype), parts[i], order=order)
        case {"texts": [shape, items]}:
            array = np.empty(len(items), object)
            array[:] = [unpack(item, parts) for item in items]
            return array.reshape(shape)
        case {"scalar": item}:
            return unpack(item, parts)[()]
        case {"error": [name, args, state]}:
            return _error(name, unpack(args, parts), unpack(state, parts))
        case _:
            return tree


def _packed(value: object, parts: list[Part]) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_packed(item, parts) for item in value]
        case tuple():
            return {"tuple": [_packed(item, parts) for item in value]}
        case dict():
            return {"dict": [[_packed(key, parts), _packed(item, parts)] for key, item in value.items()]}
        case bytes():
            parts.append(value)
            return {"bytes": len(parts) - 1}
        case np.generic():
            return {"scalar": _packed(np.asarray(value), parts)}
        case np.ndarray():
            return _packed_array(value, parts)
        case MinuendError() | OSError():
            named = getattr(value, "filename", None)
            args = value.args if named is None else (*value.args, named)
            return {"error": [type(value).__name__, _packed(args, parts), _packed(dict(value.__dict__), parts)]}
    raise Unsupported(f"a {type(value).__name__} is no value of a model; expected an array, a list or a dict of such")


def _packed_array(array: Array, parts: list[Part]) -> object:
    if array.dtype.hasobject:
        return {"texts": [list(array.shape), _packed(array.reshape(-1).tolist(), parts)]}
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    flat = np.ascontiguousarray(array.T if order == "F" else array).reshape(-1)
    parts.append(flat.view(np.uint8).data if flat.size else b"")
    dtype = array.dtype.name if array.dtype.isbuiltin == 2 else array.dtype.str  # 2: a type that a package defines
    return {"array": [dtype, list(array.shape), order, len(parts) - 1]}


def _error(name: str, args: tuple[object, ...], state: dict[str, object]) -> BaseException:
    """An error as it was raised there: its class's own arguments are not known."""
    kind = next((one for one in _errors() if one.__name__ == name), MinuendError)
    error = kind.__new__(kind, *args)
    if not isinstance(error, OSError):
        error.args = args
    error.__dict__.update(state)
    return error


def _errors() -> Iterator[type[BaseException]]:
    """Every class of an error that may come: what both sides know by its name."""
    waiting: list[type[BaseException]] = [MinuendError]
    while waiting:
        yield (kind := waiting.pop())
        waiting += kind.__subclasses__()
    yield from (one for one in vars(builtins).values() if isinstance(one, type) and issubclass(one, OSError))
