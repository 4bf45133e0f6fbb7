"""OpenVINO ``Subtract``, ``Add`` and ``Negative``: the one version of each.

Sources: the operator's page (Subtract-1), the page on broadcasting rules, and what the runtime was measured to do.
``types`` and ``attributes`` decide what validation lets pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minuend.core import shapes
from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import ONE_OPERAND, Broadcast, Shape
from minuend.operators import ADD, NEGATIVE, SUBTRACT
from minuend.operators.operator import Operator
from minuend.standards.dialects import Dialect
from minuend.standards.version import Attr, OpVersion, Param, Rows
from minuend.text import whole_number

# ---- element types --------------------------------------------------------------------------------------------

_NAMES = {name: (row.kernel, row.kernel.upper()) for name, row in TYPES.items() if row.kernel != "table"} | {
    "float16": ("f16", "FP16"),
    "float32": ("f32", "FP32"),
    "float64": ("f64", "FP64"),
    "uint1": ("u1", "U1", "BIN"),
    "uint2": ("u2", "U2"),
    "uint4": ("u4", "U4"),
    "int4": ("i4", "I4"),
    "nf4": ("nf4", "NF4"),
    "float4_e2m1fn": ("f4e2m1", "F4E2M1"),
    "float8_e4m3fn": ("f8e4m3", "F8E4M3"),
    "float8_e5m2": ("f8e5m2", "F8E5M2"),
    "float8_e8m0fnu": ("f8e8m0", "F8E8M0"),
}
"""Letter and width, as the kernel's traits have them, but for those that are written out."""

SPELLINGS: Mapping[str, tuple[str, ...]] = MappingProxyType({name: _NAMES[name] for name in TYPES if name in _NAMES})
"""Element types as ``element_type`` writes them, then as a port's ``precision`` does (``BIN`` is u1)."""


def _odd_width(packing: str) -> str:
    return (
        f"it packs {packing}; OpenVINO names it, no runtime subtracts it, and this package does not compute it; "
        "convert to u8 first"
    )


REFUSED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("boolean", "BOOL"), "Subtract takes numbers only; use LogicalXor or convert to u8 first"),
        **dict.fromkeys(("string", "STRING"), "subtraction is not defined for strings"),
        **dict.fromkeys(("u3", "U3"), _odd_width("8 elements into 3 bytes")),
        **dict.fromkeys(("u6", "U6"), _odd_width("4 elements into 3 bytes")),
        **dict.fromkeys(
            ("dynamic", "undefined", "UNSPECIFIED"),
            "the type is not known yet; state the one that the tensor will have",
        ),
    }
)
"""Element types that OpenVINO names and Subtract, or this package, does not take."""

# ---- the version ----------------------------------------------------------------------------------------------

OPSETS = range(1, 17)
"""The opsets that hold Subtract-1; opset17 exists and does not have the operator."""

_RULES: Mapping[str, Callable[[Shape, Shape, int], Broadcast]] = MappingProxyType(
    {
        "none": lambda a, b, axis: shapes.none(a, b),
        "numpy": lambda a, b, axis: shapes.numpy(a, b, merge=shapes.merge_openvino),
        "pdpd": lambda a, b, axis: shapes.pdpd(a, b, axis=axis),
    }
)

_ATTRIBUTES = Rows(
    [
        Attr(
            "auto_broadcast",
            "string",
            "numpy",
            doc="how the shapes join: none (they are equal), numpy, or pdpd (B into A); case does not matter",
            values=tuple(_RULES),
        ),
        Attr(
            "axis",
            "int",
            -1,
            doc="where B's first dim sits in A under pdpd, -1 for A's suffix; no other rule reads it. "
            "The operator's page does not list it, the page on broadcasting does; "
            "the IR attribute is written auto_broadcast.auto_broadcast_axis",
        ),
    ]
)


def _row(computes: Operator, name: str, operands: Sequence[str], result: str, short: str, formula: str) -> OpVersion:
    """The one version of an operator; operands, result, description and formula in the words of the operator's page."""
    binary = len(operands) > 1
    types = [dtype for dtype in SPELLINGS if binary or _is_signed(TYPES[dtype])]
    return OpVersion(
        dialect="openvino",
        operator=name,
        computes=computes,
        version=1,
        types=tuple(types),
        attributes=_ATTRIBUTES if binary else Rows(),
        inputs=Rows(
            Param(str(i), "T", f"{words}; required, of any shape and rank") for i, words in enumerate(operands, 1)
        ),
        outputs=Rows([Param("1", "T", result)]),
        broadcasting="none, numpy or pdpd, as auto_broadcast says" if binary else ONE_OPERAND,
        inference="broadcast shape" if binary else "shape of X",
        notes=_NOTES[len(operands)],
        facts={
            "name": name,
            "versioned name": f"{name}-1",
            "category": f"Arithmetic {'binary' if binary else 'unary'}",
            "short description": f"element-wise {short}",
            "formula": f"o[i] = {formula}",
            "type constraint": "T",
            "constrained to": f"any {'' if binary else 'signed '}numeric type",
            "opsets": f"opset{OPSETS[0]} to opset{OPSETS[-1]}",
        },
    )


def _is_signed(element: ElementType) -> bool:
    return element.kind != "unsigned" and (element.format is None or element.format.signed)


_NOTES: Mapping[int, tuple[str, ...]] = {
    1: ("A model with an unsigned type passes validation, and does not compile.",),
    2: (
        "A zero dim joins a 1 and gives 0; under pdpd a 1 of A against a 0 of B is the one case where A changes.",
        "Under pdpd rank(B) <= rank(A) holds with B's trailing 1s counted, as the runtime does.",
    ),
}
"""What else holds, by the count of operands."""


def _binary(computes: Operator, name: str, a: str, b: str, result: str, sign: str) -> OpVersion:
    joined = f"the {result}, of the shape in which the inputs join"
    short = f"{result} of two tensors that auto_broadcast may join"
    return _row(computes, name, (f"a, {a}", f"b, {b}"), joined, short, f"a[i] {sign} b[i]")


SUBTRACT_1 = _binary(SUBTRACT, "Subtract", "what is subtracted from", "what is subtracted", "difference", "-")
ADD_1 = _binary(ADD, "Add", "the first summand", "the second summand", "sum", "+")
NEGATIVE_1 = _row(
    NEGATIVE,
    "Negative",
    ["what is negated"],
    "the negative, of the input's shape and type",
    "negative of a tensor",
    "-a[i]",
)


_ROWS = (SUBTRACT_1, ADD_1, NEGATIVE_1)


def broadcast(op: OpVersion, a: Shape, b: Shape, attributes: Mapping[str, Any]) -> Broadcast:
    """Apply the rule that ``auto_broadcast`` names; only ``pdpd`` reads ``axis``."""
    stated = {attr.name: attributes.get(attr.name, attr.default) for attr in op.attributes}
    return _RULES[stated["auto_broadcast"].lower()](a, b, stated["axis"])


def number(version: object) -> int:
    """Read an operator's version: 1, ``"1"``, ``"Subtract-1"``, or an opset that holds it, such as ``"opset8"``.

    Raises:
        ValueError: none of these. Version 2 does not exist, so it is not taken for the newest.
    """
    if isinstance(version, str) and version.startswith("opset"):
        fits = whole_number(version.removeprefix("opset")) in OPSETS
    elif isinstance(version, str):
        fits = version in ("1", *map(str, _ROWS))
    else:
        fits = type(version) is int and version == 1
    if not fits:
        raise ValueError("no version of an operator")
    return 1


DIALECT = Dialect(
    name="openvino",
    title="OpenVINO",
    rows=_ROWS,
    number=number,
    counted="operator version",
    broadcast=broadcast,
    spellings=SPELLINGS,
    refused=REFUSED,
)
