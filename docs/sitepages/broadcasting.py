"""The rules of broadcasting in words, the shapes that show them, and a picture of how B lies in A.

What becomes of each pair is asked of the code: :func:`minuend.standards.validation.validate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from minuend.core.shapes import ONE_OPERAND, Broadcast, Shape, format_shape
from minuend.errors import SpecError
from minuend.language import Language
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import infer_node, validate
from minuend.standards.version import OpVersion
from sitepages import markup
from sitepages.pictures import caption, picture

RULES: Mapping[str, tuple[str, ...]] = {
    "onnx_legacy": (
        "C always has A's shape. With broadcast=0, the default, B has A's shape too, and axis has no say.",
        (
            "With broadcast=1 there are two ways. B has one element and no higher rank than A; axis has no say "
            "then. Or "
            "B's shape is a run of A's dims that starts at axis; without axis the run is A's suffix. A 1 in B does not "
            "expand."
        ),
        (
            "axis lies from 0 to rank(A) − rank(B). A negative one is taken in one case alone: −1 for a B of rank "
            "1, where "
            "all tools mean the suffix."
        ),
    ),
    "numpy": (
        (
            "Shapes are aligned at the right, and what one of them lacks at the left counts as 1. Two dims join "
            "where they "
            "are equal or one of them is 1; C has the other one. Either operand may grow."
        ),
        "0 against 1 gives 0. 0 against anything else but 0 is refused.",
    ),
    "none": ("A and B have one shape, at run time too; C has it as well. Nothing repeats.",),
    "pdpd": (
        (
            "B lies in A, and its first dim sits at A's dim axis; C has A's shape. axis=-1, the default, is rank(A) − "
            "rank(B), with B's trailing 1s counted."
        ),
        (
            "A dim of B is A's dim or 1; a 1 repeats. B's rank and axis together do not go beyond A's rank. One case "
            "changes A: its 1 against B's 0 gives 0."
        ),
        (
            "In a file the attribute is auto_broadcast.auto_broadcast_axis, and where it lacks the runtime takes 0, "
            "not -1."
        ),
    ),
    "directml": (
        (
            "The sizes of ATensor, BTensor and OutputTensor are equal, and none is 0. A size of 1 does not repeat: "
            "what "
            "repeats an input along a dim is a stride of 0."
        ),
    ),
    ONE_OPERAND: ("There is nothing to join: Y has X's shape.",),
}
"""A rule's name → what it says, a paragraph each."""


@dataclass(frozen=True, slots=True)
class Case:
    """Two shapes under a node's attributes; ``drawn``: worth a picture."""

    a: Shape
    b: Shape
    attributes: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False


_A = (2, 3, 4, 5)
_ON = {"broadcast": 1}

_LEGACY = (
    Case(_A, _A),
    Case(_A, (5,)),
    Case(_A, (), _ON),
    Case(_A, (1, 1), _ON),
    Case(_A, (5,), _ON),
    Case(_A, (4, 5), _ON, drawn=True),
    Case(_A, (3, 4), {"axis": 1, **_ON}, drawn=True),
    Case(_A, (2,), {"axis": 0, **_ON}, drawn=True),
    Case(_A, (5,), {"axis": -1, **_ON}),
    Case(_A, (3, 4), _ON),
    Case(_A, (3, 4), {"axis": -3, **_ON}),
    Case(_A, (1, 5), _ON),
    Case((4, 5), _A, _ON),
    Case((0, 3), (3,), _ON),
    Case(("N", 3), ("M",), _ON),
)

_NUMPY = (
    Case(_A, ()),
    Case(_A, (5,)),
    Case(_A, (4, 5), drawn=True),
    Case((4, 5), _A),
    Case((1, 4, 5), (2, 3, 1, 1), drawn=True),
    Case(_A, (3, 1, 1)),
    Case(_A, (3, 4)),
    Case((3,), (2,)),
    Case((0, 3), (1, 3)),
    Case((0, 3), (2, 3)),
    Case(("N", 3), (3,)),
    Case(("N", 3), ("M", 3)),
)


def _pdpd(a: Shape, b: Shape, axis: int = -1, *, drawn: bool = False) -> Case:
    return Case(a, b, {"auto_broadcast": "pdpd", "axis": axis}, drawn)


_OPENVINO = (
    *(Case(a, b, {"auto_broadcast": "none"}) for a, b in ((_A, _A), (_A, (5,)), ((1,), ()), ((None, 3), (2, None)))),
    *(Case(case.a, case.b, {"auto_broadcast": "numpy"}, case.drawn) for case in _NUMPY),
    Case(((2, 4), 3), ((3, 9), 3), {"auto_broadcast": "numpy"}),
    _pdpd(_A, ()),
    _pdpd(_A, (3, 4), 1, drawn=True),
    _pdpd(_A, (4, 5)),
    _pdpd(_A, (3, 1, 5), 1, drawn=True),
    _pdpd(_A, (1, 3), 0),
    _pdpd(_A, (3, 1), 1),
    _pdpd(_A, (3, 4)),
    _pdpd((2, 3), (2, 3, 1)),
    _pdpd((8, 1, 6, 1), (7, 1, 5), 1),
    _pdpd((2, 3), (3,), -2),
    _pdpd((1, 3), (0, 3)),
)

_DIRECTML = (
    Case((1, 3, 4, 5), (1, 3, 4, 5)),
    Case((1, 3, 4, 5), (1, 1, 1, 5)),
    Case((4, 5), (4, 5)),
    Case((5,), (5,)),
    Case((1, 3, 0, 5), (1, 3, 0, 5)),
    Case((2**16, 2**16, 1, 1), (2**16, 2**16, 1, 1)),
    Case((1,) * 9, (1,) * 9),
)


def cases(op: OpVersion) -> tuple[Case, ...]:
    """The shapes that show a version's rule; none where there is nothing to join."""
    if op.broadcasting == ONE_OPERAND:
        return ()
    by_dialect = {"openvino": _OPENVINO, "directml": _DIRECTML}
    return by_dialect.get(op.dialect, _LEGACY if op.broadcasting == "onnx_legacy" else _NUMPY)


def rules(op: OpVersion) -> tuple[str, ...]:
    """The names of a version's rules, as :data:`RULES` has them."""
    if op.broadcasting == ONE_OPERAND:
        return (ONE_OPERAND,)
    by_dialect = {"openvino": ("none", "numpy", "pdpd"), "directml": ("directml",)}
    return by_dialect.get(op.dialect, (op.broadcasting,))


def joined(op: OpVersion, case: Case) -> Broadcast | SpecError:
    """How a version joins two shapes, or why it does not."""
    try:
        return validate(_node(op, case))
    except SpecError as error:
        return error


def _node(op: OpVersion, case: Case) -> Node:
    a, b = (TensorType(op.types[0], shape) for shape in (case.a, case.b))
    return Node(op=op, operands=(a, b), attributes=case.attributes)


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page: the rule, accepted and rejected shapes, pictures."""
    tr = language.tr
    for name in rules(op):
        if len(rules(op)) > 1:
            yield f"### auto_broadcast={name}"
        yield from (markup.text(tr(sentence)) for sentence in RULES[name])
    answers = [(case, joined(op, case)) for case in cases(op)]
    if not answers:
        return
    yield f"### {tr('Shapes that join')}"
    yield _accepted(op, [case for case, answer in answers if isinstance(answer, Broadcast)], language)
    yield f"### {tr('Shapes that do not')}"
    yield _rejected(op, [(case, answer) for case, answer in answers if isinstance(answer, SpecError)], language)
    yield from _pictures(op, language)


def _accepted(op: OpVersion, accepted: list[Case], language: Language) -> str:
    tr = language.tr
    rows = []
    for case in accepted:
        inferred = infer_node(_node(op, case))
        answer = validate(_node(op, case))
        found = [markup.code(format_shape(shape)) for shape in (answer.shape, inferred.shape)]
        rows.append([*_operands(op, case), *found, markup.text("; ".join(answer.assumptions))])
    return markup.table([*_heads(op, language), "C", tr("inferred by the standard"), tr("provided that")], rows)


def _rejected(op: OpVersion, rejected: list[tuple[Case, SpecError]], language: Language) -> str:
    rows = [[*_operands(op, case), markup.text(error.message)] for case, error in rejected]
    return markup.table([*_heads(op, language), language.tr("why not")], rows)


def _heads(op: OpVersion, language: Language) -> list[str]:
    return ["A", "B", *([language.tr("attributes")] if op.attributes else [])]


def _operands(op: OpVersion, case: Case) -> list[str]:
    """The cells of a case: its shapes, and its attributes where the version has any."""
    shapes = [markup.code(format_shape(shape)) for shape in (case.a, case.b)]
    stated = _stated(case)
    return [*shapes, *([markup.code(stated) if stated else ""] if op.attributes else [])]


def _stated(case: Case) -> str:
    return ", ".join(f"{name}={value}" for name, value in case.attributes.items())


def _pictures(op: OpVersion, language: Language) -> Iterator[str]:
    drawn = [(case, joined(op, case)) for case in cases(op) if case.drawn]
    if not drawn:
        return
    yield f"### {language.tr('How B lies in A')}"
    yield language.tr("Dashed boxes are repeated along their dim.")
    for case, answer in drawn:
        if isinstance(answer, Broadcast) and case.a is not None and case.b is not None:
            a, b = _static(case.a), _static(case.b)
            title = caption(op.computes, a, b, answer) + (f" ({_stated(case)})" if case.attributes else "")
            yield markup.raw(f"<figure>{picture(a, b, answer, title)}<figcaption>{title}</figcaption></figure>")


def _static(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(int(dim) for dim in shape)
