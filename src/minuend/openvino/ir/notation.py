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
_PRECISIONS = (
    {spelling: names[0] for names in SPELLINGS.values() for spelling in names}
    | {name: _SYNONYMS.get(name, name.lower()) for name in REFUSED}
    | {"bin": "u1"}
)
_UPPER = {name: spelling for spelling, name in _PRECISIONS.items() if spelling.isupper()} | {"u1": "BIN"}

ELEMENT_TYPES: tuple[str, ...] = tuple(dict.fromkeys(_PRECISIONS.values()))
"""Every element type that a file may name, this package's numeric ones first; ``dynamic`` is one not known yet."""

_BITS = {name: row.bits for name, row in NUMERIC.items()} | {"boolean": 8, "u3": 3, "u6": 6}

_SIZE = re.compile(r"[0-9]{1,19}\Z")
_BLANKS = " \t\n\r"
"""What XML allows of the characters that C++ skips before a number; Python's ``strip`` takes other scripts' too."""


def integer(text: str, *, least: int = INT64[0]) -> int:
    """Read a whole number, such as a dim of a port.

    >>> integer(" 12 ", least=0)
    12
    """
    return _whole(text.strip(_BLANKS), text, least)


def natural(text: str) -> int:
    """Read an id, a version, an offset or a size, behind which nothing may stand.

    >>> natural(" 12")
    12
    """
    return _whole(text.lstrip(_BLANKS), text, 0)


def attribute(text: str) -> int:
    """Read a whole number of ``<data>``, which has no plus sign.

    >>> attribute("-1 ")
    -1
    """
    return _whole(text.strip(_BLANKS).replace("+", "x"), text, INT64[0])


def _whole(stripped: str, text: str, least: int) -> int:
    try:
        return whole_number(stripped, least)
    except ValueError:
        floor = "" if least == INT64[0] else f" from {least} on"
        raise ValueError(f"is {shown(text)}; expected a whole number{floor}") from None


def element_type(text: str) -> str:
    """Read ``element_type`` and ``destination_type``: names that OpenVINO's enumeration has, in any case.

    >>> element_type("F8E4M3")
    'f8e4m3'
    """
    name = _SYNONYMS.get(text.lower(), text.lower())
    if name in ELEMENT_TYPES:
        return name
    if text in _PRECISIONS:
        raise ValueError(f"is {shown(text)}; expected {_PRECISIONS[text]!r}")
    raise ValueError(f"is {shown(text)}; expected {listed(ELEMENT_TYPES)}")


def constant_type(text: str) -> str:
    """Read the ``element_type`` of a constant, whose name has to be a port's ``precision`` too.

    >>> constant_type("I32")
    'i32'
    """
    name = element_type(text)
    if text not in _PRECISIONS:
        raise ValueError(f"is {shown(text)}; expected {name!r}")
    return name


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
    inner = text.strip(_BLANKS)
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip(_BLANKS)
    if inner == "...":
        return None
    if not inner:
        return ()
    dims = inner.split(",")
    return tuple(_dim(dim.strip(_BLANKS), text, axis) for axis, dim in enumerate(dims))


def _dim(text: str, whole: str, axis: int) -> Dim:
    if text in ("?", "-1"):
        return None
    lo, dots, hi = text.partition("..")
    if dots and all(not end or _fits(end) for end in (lo, hi)):
        try:
            return check_dim((int(lo or 0), None if not hi or int(hi) == INT64[1] else int(hi)))
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
    if not text:
        return ()
    dims = [dim.strip(_BLANKS) for dim in text.split(",")]
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
