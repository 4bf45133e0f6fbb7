"""What each version refuses, by example: the errors are raised when the site is built, and quoted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from minuend.core.elements import TYPES
from minuend.errors import MinuendError
from minuend.language import Language
from minuend.standards.dialects import dialect, dialects
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion
from sitepages import markup

_SHAPE = (1, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Failure:
    """A condition in words, and a node that meets it."""

    condition: str
    a: TensorType
    b: TensorType
    attributes: dict[str, Any]


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
        validate(Node(op=op, operands=(failure.a, failure.b), attributes=failure.attributes))
    except MinuendError as error:
        return error
    return None


def failures(op: OpVersion) -> Iterator[Failure]:
    """Nodes that versions of the dialect refuse, each with a condition; some are fine in this one."""
    first, second = (TensorType(name, _SHAPE) for name in op.types[:2])
    for name in _attributes(op):
        yield Failure("an attribute that the version does not take", first, first, {name: 1})
    for attribute in op.attributes:
        wrong = 1.5 if attribute.type.lower() != "string" else 1
        yield Failure("an attribute of another type", first, first, {attribute.name: wrong})
        if attribute.values:
            value = 7 if isinstance(attribute.values[0], int) else "half"
            yield Failure("an attribute with a value that is none of its", first, first, {attribute.name: value})
    yield Failure("two element types", first, second, {})
    for name in _types(op):
        other = TensorType(name, _SHAPE)
        yield Failure("an element type that the version does not take", other, other, {})
    low = TensorType(op.types[0], (3,))
    high = TensorType(op.types[0], (1,) * 9)
    yield Failure("a rank below the lowest", low, low, {})
    yield Failure("a rank above the highest", high, high, {})
    yield Failure("shapes that do not join", first, TensorType(op.types[0], (1, 1, 2, 2)), {})
    empty = TensorType(op.types[0], (1, 1, 0, 3))
    yield Failure("an empty tensor", empty, empty, {})


def _attributes(op: OpVersion) -> list[str]:
    """Attributes that other versions of the dialect have, or one that none has."""
    known = {a.name for version in dialect(op.dialect).versions() for a in version.attributes}
    return sorted(known - set(op.attributes.names)) or ["alpha"]


def _types(op: OpVersion) -> list[str]:
    """The first type that a later version takes, or that another dialect's does."""
    others = [version for home in dialects().values() for version in home.versions()]
    nearby = [*dialect(op.dialect).versions(), *others]
    known = [name for version in nearby for name in TYPES if name in version.types and name not in op.types]
    return known[:1]
