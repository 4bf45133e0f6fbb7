"""What each version refuses, by example: the errors are raised when the site is built, and quoted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from minuend.core.elements import TYPES
from minuend.errors import MinuendError
from minuend.language import Language
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion
from sitepages import markup, versions

_SHAPE = (1, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Failure:
    """A condition in words, and a node that meets it."""

    condition: str
    operands: tuple[TensorType, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page: a row for each rule that a node can break."""
    tr = language.tr
    yield tr("Each is raised before anything is computed; the text names the rule, what came and what was expected.")
    rows = []
    for failure in failures(op):
        error = raised(op, failure)
        if error is not None:
            rows.append((tr(failure.condition), markup.code(type(error).__name__), markup.text(error)))
    yield markup.table([tr("condition"), tr("error"), tr("its text")], rows)


def raised(op: OpVersion, failure: Failure) -> MinuendError | None:
    """The error of a node; ``None`` where a version takes it."""
    try:
        validate(Node(op=op, operands=failure.operands, attributes=failure.attributes))
    except MinuendError as error:
        return error
    return None


def failures(op: OpVersion) -> Iterator[Failure]:
    """Nodes that versions of the dialect refuse, each with a condition; some are fine in this one."""
    fine = _operands(op, op.types[0])
    for name in _attributes(op):
        yield Failure("an attribute that the version does not take", fine, {name: 1})
    for attribute in op.attributes:
        wrong = 1.5 if attribute.type.lower() != "string" else 1
        yield Failure("an attribute of another type", fine, {attribute.name: wrong})
        if attribute.values:
            value = 7 if isinstance(attribute.values[0], int) else "half"
            yield Failure("an attribute with a value that is none of its", fine, {attribute.name: value})
    if len(fine) > 1:
        yield Failure("two element types", (*fine[:-1], TensorType(op.types[1], _SHAPE)))
    for name in _types(op):
        yield Failure("an element type that the version does not take", _operands(op, name))
    yield Failure("a rank below the lowest", _operands(op, op.types[0], (3,)))
    yield Failure("a rank above the highest", _operands(op, op.types[0], (1,) * 9))
    if len(fine) > 1:
        yield Failure("shapes that do not join", (*fine[:-1], TensorType(op.types[0], (1, 1, 2, 2))))
    yield Failure("an empty tensor", _operands(op, op.types[0], (1, 1, 0, 3)))


def _operands(op: OpVersion, dtype: str, shape: tuple[int, ...] = _SHAPE) -> tuple[TensorType, ...]:
    """As many operands as the operator takes, all of one type and shape."""
    return (TensorType(dtype, shape),) * op.computes.arity


def _attributes(op: OpVersion) -> list[str]:
    """Attributes that other versions of the operator have in the dialect, or one that none has."""
    known = {a.name for version in versions.siblings(op) for a in version.attributes}
    return sorted(known - set(op.attributes.names)) or ["alpha"]


def _types(op: OpVersion) -> list[str]:
    """The first type that a later version takes, or that another version does."""
    nearby = [*versions.siblings(op), *versions.every_version()]
    known = [name for version in nearby for name in TYPES if name in version.types and name not in op.types]
    return known[:1]
