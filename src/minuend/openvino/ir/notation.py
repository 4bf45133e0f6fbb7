"""How OpenVINO IR writes numbers, element types, shapes and lists of names, read and written.

Each reader takes the text as it stands in the file and raises ``ValueError`` with the second half of a sentence (what
came, what was expected); the caller knows the place and puts it before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import Dim, Shape, check_dim, format_dim
from minuend.errors import ShapeError, cut, listed, shown
from minuend.openvino.versions import REFUSED, SPELLINGS
from minuend.text import INT64, whole_number

NUMERIC: Mapping[str, ElementType] = MappingProxyType({names[0]: TYPES[name] for name, names in SPELLINGS.items()})
"""OpenVINO's name of each numeric element type that this package knows → its row."""


def dtype_of(element: str) -> str | None:
    """Return this package's name of an element type, ``"bool"`` among them; ``None`` where it has none."""
    return "bool" if element == "boolean" else NUMERIC[element].name if element in NUMERIC else None


_SYNONYMS = {"BOOL": "boolean", "UNSPECIFIED": "dynamic", "undefined": "dynamic"}
_PRECISIONS = {spelling: names[0] for names in SPELLINGS.values() for spelling in names} | {
    name: _SYNONYMS.get(name, name.lower()) for name in REFUSED
}
_UPPER = {name: spelling for spelling, name in _PRECISIONS.items() if spelling.isupper()} | {"u1": "BIN"}

ELEMENT_TYPES: tuple[str, ...] = tuple(dict.fromkeys(_PRECISIONS.values()))
"""Every element type that a file may name, this package's numeric ones first; ``dynamic`` is one not known yet."""

_BITS = {name: row.bits for name, row in NUMERIC.items()} | {"boolean": 8, "u3": 3, "u6": 6}

_SIZE = re.compile(r"[0-9]{1,19}\Z")


def integer(text: str, *, least: int = INT64[0]) -> int:
    """Read a whole number.

    >>> integer(" 12 ", least=0)
    12
    """
    try:
        return whole_number(text.strip(), least)
    except ValueError:
        floor = "" if least == INT64[0] else f" from {least} on"
        raise ValueError(f"is {shown(text.strip())}; expected a whole number{floor}") from None


def natural(text: str) -> int:
    return integer(text, least=0)


def element_type(text: str) -> str:
    """Read ``element_type`` and ``destination_type``: lower-case names only, as the runtime does."""
    if text in ELEMENT_TYPES:
        return text
    if text in _PRECISIONS:
        raise ValueError(f"is {shown(text)}; expected {_PRECISIONS[text]!r}, the name in lower case")
    raise ValueError(f"is {shown(text)}; expected {listed(ELEMENT_TYPES)}")


def precision(text: str) -> str:
    """Read a port's ``precision``: ``FP32`` as files have it, or ``f32``."""
    if text in _PRECISIONS:
        return _PRECISIONS[text]
    raise ValueError(f"is {shown(text)}; expected {listed(_UPPER[name] for name in ELEMENT_TYPES)}")


def precision_text(name: str) -> str:
    """Write a port's ``precision``.

    >>> precision_text("f32"), precision_text("u1")
    ('FP32', 'BIN')
    """
    return _UPPER[name]


def nbytes(name: str, elements: int) -> int | None:
    """Return the bytes that a file needs for this many elements; ``None`` where that is not known (strings)."""
    bits = _BITS.get(name)
    return None if bits is None else -(-elements * bits // 8)


# ---- shapes ---------------------------------------------------------------------------------------------------


def shape(text: str) -> Shape:
    """Read a shape that may be partly unknown.

    >>> shape("2, ?, 1..4, -1, 3.."), shape("..."), shape("")
    ((2, None, (1, 4), None, (3, None)), None, ())
    """
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    if inner == "...":
        return None
    if not inner:
        return ()
    dims = inner.split(",")
    return tuple(_dim(dim.strip(), text, axis) for axis, dim in enumerate(dims))


def _dim(text: str, whole: str, axis: int) -> Dim:
    if text in ("?", "-1"):
        return None
    lo, dots, hi = text.partition("..")
    if dots and all(not end or _fits(end) for end in (lo, hi)):
        try:
            return check_dim((int(lo or 0), int(hi) if hi else None))
        except ShapeError:
            raise ValueError(f"is {shown(whole)}, whose dim {axis} is the empty interval {cut(text)}") from None
    if not dots and _fits(text):
        return int(text)
    raise ValueError(
        f"is {shown(whole)}, whose dim {axis} is {shown(text)}; "
        "expected a size, ? or -1 for an unknown one, or an interval such as 1..4"
    )


def _fits(text: str) -> bool:
    return _SIZE.match(text) is not None and int(text) <= INT64[1]


def static_shape(text: str) -> tuple[int, ...]:
    """Read the shape of a constant: sizes alone.

    >>> static_shape("2, 3"), static_shape("")
    ((2, 3), ())
    """
    if not text.strip():
        return ()
    dims = [dim.strip() for dim in text.split(",")]
    for axis, dim in enumerate(dims):
        if not _fits(dim):
            raise ValueError(f"is {shown(text)}, whose dim {axis} is {shown(dim)}; expected sizes, such as 2,3")
    return tuple(int(dim) for dim in dims)


def shape_text(dims: Shape) -> str:
    """Write a shape as a Parameter states it; the format does not store names of dims.

    >>> shape_text((2, None, (1, 4), (3, None), "N"))
    '2,?,1..4,3..,?'
    """
    if dims is None:
        return "..."
    return ",".join("?" if isinstance(dim, str) else format_dim(dim) for dim in dims)


# ---- names ----------------------------------------------------------------------------------------------------


def names(text: str) -> tuple[str, ...]:
    r"""Read a port's tensor names: commas part them, a comma inside a name is written ``\,``.

    >>> names(r"a\,b,c")
    ('a,b', 'c')
    """
    parts = (part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text))
    return tuple(dict.fromkeys(part for part in parts if part))


def names_text(all_names: Iterable[str]) -> str:
    r"""Write tensor names.

    >>> print(names_text(["a,b", "c"]))
    a\,b,c
    """
    return ",".join(name.replace(",", "\\,") for name in all_names)
