"""ONNX ``Sub``, ``Add`` and ``Neg``: their versions, each stated as what changed.

Sources: the operator's pages and changelog of ONNX (opset 28), checked against the registry of ``onnx`` by
``tests/onnx/test_versions.py``. ``types`` and ``attributes`` decide what validation lets pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minuend.core import shapes
from minuend.core.elements import REFUSED, TYPES
from minuend.core.shapes import ONE_OPERAND, Broadcast, Shape
from minuend.operators import ADD, NEGATIVE, SUBTRACT
from minuend.operators.operator import Operator
from minuend.standards.dialects import Dialect
from minuend.standards.version import Attr, OpVersion, Param, Rows
from minuend.text import INT64, whole_number

_LEGACY_NOTES = (
    "B has one element, or its shape is a run of A's dims from axis on; a 1 in B does not expand.",
    "No tool of ONNX checks or computes axis and broadcast; this package does.",
)

_CONSUMED = Attr("consumed_inputs", "INTS", doc="a leftover of an old memory planner; accepted and ignored")


def _first(computes: Operator, name: str, inputs: Rows[Param], outputs: Rows[Param], **own: Any) -> OpVersion:
    """The first version of an operator: what all of them have in common."""
    return OpVersion(
        dialect="onnx",
        operator=name,
        computes=computes,
        version=1,
        types=("float16", "float32", "float64"),
        inputs=inputs,
        outputs=outputs,
        inference="element type only",
        facts={
            "name": name, "domain": "main", "since_version": 1, "function": False, "support_level": "COMMON",
            "shape inference": False, "type constraint": "T", "constrained to": "floating-point tensors",
            "data propagation": False, "differentiable": False,
        },
        **own,
    )  # fmt: skip


def _arithmetic(computes: Operator, name: str, a: str, b: str, c: str) -> tuple[OpVersion, ...]:
    """The versions that ONNX's operators of two operands share, each stated as what changed.

    Args:
        computes, name: the operator, and ONNX's name of it. a, b, c: what operands and result are, in words.
    """
    first = _first(
        computes, name,
        Rows([Param("A", "T", f"{a}; shares its type with B"),
              Param("B", "T", f"{b}; of A's shape, or smaller where broadcast is 1")]),
        Rows([Param("C", "T", f"{c}, with A's shape and type")]),
        attributes=Rows([Attr("axis", "INT", doc="where B's first dim sits in A; without it B is A's suffix"),
                         Attr("broadcast", "INT", 0, doc="1 lets B repeat into A's shape", values=(0, 1)), _CONSUMED]),
        broadcasting="onnx_legacy", notes=_LEGACY_NOTES,
    )  # fmt: skip
    sixth = first.evolve(
        6,
        add_types=("int32", "int64", "uint32", "uint64"),
        remove_attributes=("consumed_inputs",),
        inference="shape of A",
        facts={"since_version": 6, "shape inference": True, "constrained to": "high-precision numeric tensors"},
    )
    seventh = sixth.evolve(
        7,
        remove_attributes=("axis", "broadcast"),
        inputs=Rows([Param("A", "T", a), Param("B", "T", b)]),
        outputs=Rows([Param("C", "T", f"{c}, with the operands' element type")]),
        broadcasting="numpy",
        inference="broadcast shape",
        notes=(),
        facts={"since_version": 7},
    )
    thirteenth = seventh.evolve(13, add_types=("bfloat16",), facts={"since_version": 13, "differentiable": True})
    fourteenth = thirteenth.evolve(
        14,
        add_types=("int8", "int16", "uint8", "uint16"),
        facts={"since_version": 14, "constrained to": "all numeric tensors", "data propagation": True},
    )
    return first, sixth, seventh, thirteenth, fourteenth


_SUB = _arithmetic(SUBTRACT, "Sub", "what is subtracted from", "what is subtracted", "the difference")
_ADD = _arithmetic(ADD, "Add", "the first summand", "the second summand", "the sum")


def _neg() -> tuple[OpVersion, ...]:
    first = _first(
        NEGATIVE, "Neg",
        Rows([Param("X", "T", "what is negated")]), Rows([Param("Y", "T", "the negative, with X's shape and type")]),
        attributes=Rows([_CONSUMED]), broadcasting=ONE_OPERAND,
    )  # fmt: skip
    sixth = first.evolve(
        6,
        add_types=("int8", "int16", "int32", "int64"),
        remove_attributes=("consumed_inputs",),
        inference="shape of X",
        facts={"since_version": 6, "shape inference": True, "constrained to": "signed numeric tensors"},
    )
    return first, sixth, sixth.evolve(13, add_types=("bfloat16",), facts={"since_version": 13, "differentiable": True})


_NEG = _neg()


def broadcast(op: OpVersion, a: Shape, b: Shape, attributes: Mapping[str, Any]) -> Broadcast:
    """Apply the rule of a version: the limited one up to version 6, NumPy's from version 7 on."""
    if op.broadcasting == "numpy":
        return shapes.numpy(a, b)
    return shapes.onnx_legacy(a, b, axis=attributes.get("axis"), broadcast=attributes.get("broadcast", 0))


def number(version: object) -> int:
    """Read an opset number: 13 or ``"13"``; 0 and below are none."""
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise ValueError(version)
    opset = whole_number(version) if isinstance(version, str) else version
    if not 1 <= opset <= INT64[1]:
        raise ValueError("no opset")
    return opset


_TEXTS = {"float32": "float", "float64": "double", "float4_e2m1fn": "float4e2m1", "float8_e4m3fn": "float8e4m3fn",
          "float8_e5m2": "float8e5m2", "float8_e8m0fnu": "float8e8m0"}  # fmt: skip
"""ONNX's words for element types, where they are not NumPy's."""

_LACKED = ("uint1", "nf4")

SPELLINGS = {
    name: (f"tensor({_TEXTS.get(name, name)})", _TEXTS.get(name, name).upper()) for name in TYPES if name not in _LACKED
}
"""Element types in ONNX's text and in ``TensorProto.DataType``; Sub takes those that a version's row lists."""

DIALECT = Dialect(
    name="onnx",
    title="ONNX",
    newest="28",
    rows=(*_SUB, *_ADD, *_NEG),
    number=number,
    counted="opset",
    broadcast=broadcast,
    spellings=SPELLINGS,
    refused={
        spelled: reason for name, reason in REFUSED.items() for spelled in (name, f"tensor({name})", name.upper())
    },
)
