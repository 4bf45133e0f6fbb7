"""Arrays of the array API's strict namespace: any library that hands its memory on by DLPack goes the same way."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.surface import Difference, Surface

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
OTHERS = ("bool", "complex64", "complex128")
NO_ARRAYS = ("list", "group", "text", "strange")
VIEWS = ("plain", "transposed", "strided", "reversed", "expanded")


@dataclass(frozen=True)
class Case:
    """Two operands: ``array``, ``number`` or ``float`` (of Python), ``scalar`` or ``numpy`` (of NumPy), ``list``,
    ``group`` (of zarr), ``text`` (an array whose memory must not be read), ``strange`` (one of another error).

    Attributes:
        other: b's type, ``""`` for a's. devices: "1", "2" or "" for the CPU, of either.
    """

    a: str = "array"
    b: str = "array"
    dtype: str = "float32"
    other: str = ""
    shape: tuple[int, ...] = (3,)
    second: tuple[int, ...] = (3,)
    views: tuple[str, str] = ("plain", "plain")
    devices: tuple[str, str] = ("", "")
    policy: str = "wrap"
    out: bool = False
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two operands, mostly such as can be subtracted."""
    kinds = ("array", "number", "float", "scalar", "numpy", *NO_ARRAYS)
    a = source.choices(kinds, (12, 1, 0.5, 0.5, 0.3, *[0.1] * len(NO_ARRAYS)))[0]
    b = source.choices(kinds, (10, 2, 0.5, 0.5, 0.3, *[0.1] * len(NO_ARRAYS)))[0] if a == "array" else "array"
    b = "number" if a in NO_ARRAYS and source.random() < 0.5 else b
    shape = tuple(source.choice([0, 1, 2, 3, 4]) for _ in range(source.choice([0, 1, 2, 2, 3])))
    second = tuple(1 if source.random() < 0.2 else n for n in shape)
    second = second[source.randrange(len(second) + 1) :] if source.random() < 0.2 else second
    device = source.choice(["", "", "", "1", "2"])
    return Case(
        a,
        b,
        source.choice(NUMBERS) if source.random() < 0.92 else source.choice(OTHERS),
        source.choice([*NUMBERS, *OTHERS]) if source.random() < 0.06 else "",
        shape,
        (5,) if source.random() < 0.05 else second,
        (source.choice(VIEWS), source.choice(VIEWS)),
        (device, device if source.random() < 0.9 else source.choice(["", "1", "2"])),
        source.choice(values.POLICIES),
        source.random() < 0.03,
        source.choice([0, 1, 5, 127, 300, -1]),
        source.randrange(2**32),
    )


def operand(case: Case, which: int) -> Any:
    """The first or the second operand."""
    import array_api_strict as xp

    kind, shape = (case.a, case.b)[which], (case.shape, case.second)[which]
    dtype = case.other or case.dtype if which else case.dtype
    if kind in ("number", "float"):
        return case.number if kind == "number" else case.number + 0.5
    if kind == "list":
        return [1, 2]
    if kind == "group":
        import zarr

        return zarr.group()
    if kind in ("text", "strange"):
        return _Unread("string" if kind == "text" else "float32")
    if kind in ("scalar", "numpy"):
        made = np.ones(shape if kind == "numpy" else (), dtype if dtype in NUMBERS else "float64")
        return made if kind == "numpy" else made[()]
    return _viewed(
        case.views[which], xp.asarray(_elements(dtype, shape, case.seed + which), device=_device(case, which))
    )


@dataclass(frozen=True)
class _Type:
    name: str


class _Unread:
    """An array of another library that does not hand its memory on; of texts it ends the process when it is asked."""

    def __init__(self, name: str) -> None:
        self.dtype = _Type(name)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **how: Any) -> Any:
        if self.dtype.name == "string":
            raise SystemExit("the memory of texts was read")
        raise LookupError("no memory is handed on")


def _device(case: Case, which: int) -> Any:
    import array_api_strict as xp

    name = case.devices[which]
    return xp.Device(f"device{name}" if name else "CPU_DEVICE")


def _elements(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    count = int(np.prod(shape, dtype=int))
    if dtype in OTHERS:
        return np.zeros(shape, dtype)
    return values.numbers(dtype, max(1, count), np.random.default_rng(seed), "edges")[:count].reshape(shape)


def _viewed(view: str, made: Any) -> Any:
    """The elements in another layout, and those of other places where a view leaves some out."""
    import array_api_strict as xp

    if view == "transposed" and made.ndim > 1:
        turned = tuple(range(made.ndim))[::-1]
        return xp.permute_dims(xp.asarray(xp.permute_dims(made, turned), copy=True), turned)
    if view == "strided" and made.ndim:
        return xp.concat([made, made], axis=-1)[..., :: 2 if made.shape[-1] > 1 else 1][..., : made.shape[-1]]
    if view == "reversed" and made.ndim:
        return made[..., ::-1]
    if view == "expanded" and made.ndim and made.shape[0]:
        return xp.broadcast_to(made[:1, ...], made.shape)
    return made


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare with the exact difference, and with what the namespace's own operator gives."""

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        a, b = operand(case, 0), operand(case, 1)
        reason = refusal(case, a, b)
        what, found = values.outcome(
            lambda: values.ours(a, b, out=a if case.out else None, overflow=case.policy),
            reason,
            lambda: not reason and _lost(case, a, b),
        )
        if what:
            return what
        _same(case, a, b, found)
    return "equal"


def _is_array(one: Any) -> bool:
    return hasattr(one, "__array_namespace__") and not isinstance(one, np.ndarray | np.generic)


def refusal(case: Case, a: Any, b: Any) -> str:
    """Why a call has to be refused; nothing where it has not."""
    if case.out:
        return "out"
    if {case.a, case.b} & set(NO_ARRAYS):
        return "no array of numbers"
    if any(isinstance(one, np.ndarray) and one.ndim for one in (a, b)):
        return "another kind of object beside an array"
    arrays = [one for one in (a, b) if _is_array(one)]
    if len({str(one.device) for one in arrays}) > 1:
        return "two devices"
    types = {_name(one) for one in (a, b) if hasattr(one, "dtype")}
    if types - set(NUMBERS):
        return "a type without a difference"
    if len(types) > 1:
        return "two types"
    name = _name(arrays[0])
    for one in (a, b):
        if type(one) is float and name in values.INTEGERS:
            return "a float beside integers"
        if type(one) is int and name in values.INTEGERS and not values.limits(name)[0] <= one <= values.limits(name)[1]:
            return "a number outside the type"
    try:
        np.broadcast_shapes(*(one.shape for one in arrays))
    except ValueError:
        return "shapes that do not broadcast"
    return ""


def _name(one: Any) -> str:
    return str(one.dtype).rpartition(".")[2]


def _arrays(a: Any, b: Any) -> tuple[str, list[Any]]:
    """The type, and both operands' elements as NumPy's."""
    name = next(_name(one) for one in (a, b) if _is_array(one))
    return name, [
        np.asarray(one._array) if _is_array(one)
        else np.asarray(one) if hasattr(one, "dtype") else values.operand(name, one)
        for one in (a, b)
    ]  # fmt: skip


def _lost(case: Case, a: Any, b: Any) -> bool:
    name, pair = _arrays(a, b)
    if name not in values.INTEGERS or case.policy in ("wrap", "saturate"):
        return False
    return bool(np.any(values.overflowing(name, pair, case.policy)))


def _same(case: Case, a: Any, b: Any, found: Any) -> None:
    """Compare class, type, shape, device and elements.

    Raises:
        Difference: something differs.
    """
    name, pair = _arrays(a, b)
    want = np.asarray(values.difference(name, pair, case.policy))
    first = next(one for one in (a, b) if _is_array(one))
    if type(found) is not type(first) or found.device != first.device:
        raise Difference(
            f"ours is a {type(found).__name__} on {getattr(found, 'device', '')}, theirs on {first.device}"
        )
    if _name(found) != str(want.dtype) or found.shape != want.shape:
        raise Difference(f"ours is of {found.dtype} {found.shape}, theirs of {want.dtype} {want.shape}")
    to = str(want.dtype)
    got, expected = (values.compared(to, np.asarray(one)) for one in (found._array, want))
    if not np.array_equal(got, expected):
        raise Difference(f"ours {found!r:.150}, theirs {want!r:.150}")
    if case.policy != "wrap" or any(isinstance(one, np.generic | np.ndarray) for one in (a, b)):
        return  # which the namespace's own operator does not take
    own = a - b
    if own.dtype != found.dtype or own.device != found.device or not np.array_equal(
        values.compared(to, np.asarray(own._array)), got
    ):  # fmt: skip
        raise Difference(f"ours {found!r:.150}, theirs {own!r:.150}")


SURFACES = (Surface("array-api", "arrays of a namespace of the array API", ("array_api_strict",), draw, compare, Case),)
