"""What each standard says of numbers, what it leaves open, and what this project's contract says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from minuend.core.elements import TYPES
from minuend.language import Language
from minuend.standards.version import OpVersion
from sitepages import markup

_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Subject:
    """A question that arithmetic asks: of which types, what standards say where they do, and this project's rule."""

    name: str
    concerns: Callable[[str], bool]
    rule: str
    said: Mapping[str, str]


def _is_float(name: str) -> bool:
    return not TYPES[name].is_integer


SUBJECTS = (
    Subject(
        "the difference itself",
        lambda name: True,
        "the exact difference, made to fit the element type by the lines below",
        {
            "onnx": "element-wise subtraction; no formula",
            "openvino": "o[i] = a[i] - b[i]",
            "directml": "f(a, b) = a - b",
        },
    ),
    Subject(
        "element types of A, B and C",
        lambda name: True,
        "one for all three; nothing is promoted, and another type is an error",
        {"onnx": "one type T", "openvino": "one type T, any numeric type", "directml": "one DataType in all three"},
    ),
    Subject(
        "integers that do not fit",
        lambda name: not _is_float(name),
        "wrap modulo 2ⁿ, unless overflow= says otherwise",
        {},
    ),
    Subject(
        "rounding of floats",
        _is_float,
        "once, to nearest even",
        {
            "directml": "DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION lets a graph compute "
            "in float16; else nothing",
        },
    ),
    Subject("subnormals", _is_float, "kept, operands and results", {}),
    Subject(
        "zeros, infinities and NaN", _is_float, "as IEEE 754 has them; a NaN is quiet, its payload is not specified", {}
    ),
    Subject(
        "float types of 8 bits or fewer",
        lambda name: _is_float(name) and TYPES[name].bits <= 8,
        "float8_e4m3fn overflows to NaN, float4_e2m1fn clamps to ±6, float8_e8m0fnu has NaN for results of 0 and less; "
        "nf4 takes the nearest level, the one nearer to 0 where two are",
        {},
    ),
    Subject(
        "fusion with adjacent operators",
        lambda name: True,
        "each subtraction by itself; fused and reordered arithmetic is a deviation",
        {},
    ),
)


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page: a line for each subject that its types know."""
    tr = language.tr
    rows = [
        (
            markup.text(tr(subject.name)),
            markup.text(tr(subject.said.get(op.dialect, _NOTHING))),
            markup.text(tr(subject.rule)),
        )
        for subject in SUBJECTS
        if any(subject.concerns(name) for name in op.types)
    ]
    yield tr("What the standard says nothing of is open: runtimes differ there, and both are right by it.")
    yield markup.table([tr("subject"), tr("what the standard says"), tr("what this project's contract says")], rows)
