"""A version of the operator as data: what it allows, what it says of itself, and what changed since the last.

Each dialect states its versions in its own ``versions.py``, every one but the first as what changed
(:meth:`OpVersion.evolve`). Validation, ``diff``, documentation, test cases and conversion read these rows;
nothing else in the package lists a type or an attribute of a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Generic, Protocol, SupportsIndex, TypeVar, overload

from minuend.operators.operator import Operator
from minuend.plain import LEFT_OUT


class Named(Protocol):
    """Anything with a name: the rows of an operator's tables."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Rows(tuple[T, ...], Generic[T]):
    """A tuple of named rows that is also looked up by name.

    >>> rows = Rows([Attr("axis", "INT")])
    >>> "axis" in rows, rows["axis"].type, len(rows)
    (True, 'INT', 1)
    """

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(row.name for row in self)

    def __contains__(self, key: object) -> bool:
        return key in self.names if isinstance(key, str) else super().__contains__(key)

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for row in self:
            if row.name == key:
                return row
        raise KeyError(key)


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute: name and type in the standard's spelling, default (``None``: there is none), and its meaning.

    ``values`` lists the strings or numbers that it may hold, where the standard fixes them.
    """

    name: str
    type: str
    default: object = None
    required: bool = False
    doc: str = ""
    values: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Param:
    """An input or output: its name, the type parameter or C type that it has, and its meaning."""

    name: str
    type: str
    doc: str = ""


@dataclass(frozen=True, kw_only=True)
class OpVersion:
    """One version of an operator in one standard.

    Attributes:
        dialect: ``"onnx"``, ``"openvino"`` or ``"directml"``.
        operator: the operator's name there: ``Sub``, ``Subtract``, ``ELEMENT_WISE_SUBTRACT``.
        computes: what it computes.
        version: what the dialect counts in: a since_version, 1, or a feature level such as ``"4.1"``.
        types: the element types allowed, by this package's names.
        attributes, inputs, outputs: rows, also looked up by name.
        broadcasting: the rule in force, by its name in :mod:`minuend.core.shapes`.
        inference: what the standard's shape inference answers: ``"element type only"``, ``"shape of A"``, ``"shape of
            X"``, ``"broadcast shape"``.
        ranks: lowest and highest rank; ``None`` for no limit.
        notes: what else holds for this version, a sentence each.
        facts: what the standard's page states besides (domain, since_version, category, header, …).
    """

    dialect: str
    operator: str
    computes: Operator = field(repr=False, metadata=LEFT_OUT)
    version: int | str
    types: tuple[str, ...]
    attributes: Rows[Attr] = Rows()
    inputs: Rows[Param]
    outputs: Rows[Param]
    broadcasting: str
    inference: str
    ranks: tuple[int, int | None] = (0, None)
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))  # a row is read by many, written once

    def __str__(self) -> str:
        return f"{self.operator}-{self.version}"

    @property
    def short_name(self) -> str:
        """The operator's name as people write it: ``Add``, ``ADD``."""
        return self.operator.removeprefix("ELEMENT_WISE_")

    @property
    def key(self) -> str:
        """The version as people and files name it: ``"onnx:14"`` of subtraction, ``"onnx:Add-14"`` of others."""
        if self.computes.name == "subtract":
            return f"{self.dialect}:{self.version}"
        return f"{self.dialect}:{self.short_name}{'-' if isinstance(self.version, int) else '@'}{self.version}"

    def evolve(
        self,
        version: int | str,
        *,
        add_types: Iterable[str] = (),
        remove_attributes: Iterable[str] = (),
        facts: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> OpVersion:
        """Return the next version, stated as what changed.

        Args:
            version: the new version's number or level.
            add_types: element types that it allows besides the old ones; kept in the order of the type table.
            remove_attributes: names of attributes that it drops.
            facts: facts that differ; the others carry over.
            changes: any other field, with its new value.
        """
        from minuend.core.elements import TYPES

        types = set(self.types) | set(add_types)
        gone = set(remove_attributes)
        if not gone <= set(self.attributes.names):
            raise KeyError(f"{self} has no attribute {sorted(gone - set(self.attributes.names))}")
        return replace(
            self,
            version=version,
            types=tuple(name for name in TYPES if name in types),
            attributes=changes.pop("attributes", Rows(a for a in self.attributes if a.name not in gone)),
            facts=MappingProxyType({**self.facts, **(facts or {})}),
            **changes,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs between two versions, with what came and what went.

    ``field`` is the :class:`OpVersion` field; a fact or a row's inside reads ``"facts.category"`` or
    ``"inputs.B"``.
    """

    field: str
    added: tuple[Any, ...]
    removed: tuple[Any, ...]

    def __str__(self) -> str:
        signs = [f"+{item}" for item in self.added] + [f"-{item}" for item in self.removed]
        return f"{self.field}: {' '.join(signs)}"


def diff(old: OpVersion, new: OpVersion) -> list[Change]:
    """List what changed from one version of a dialect to another, field by field; equal versions give ``[]``."""
    changes: list[Change] = []
    for f in fields(OpVersion):
        if f.name == "version":
            continue
        was, now = getattr(old, f.name), getattr(new, f.name)
        if was != now:
            changes.extend(_field_changes(f.name, was, now))
    return changes


def _field_changes(name: str, was: Any, now: Any) -> list[Change]:
    if isinstance(was, Rows):
        return _row_changes(name, was, now)
    if isinstance(was, Mapping):
        keys = [*was, *(key for key in now if key not in was)]
        return [
            Change(f"{name}.{key}", _present(now.get(key)), _present(was.get(key)))
            for key in keys
            if was.get(key) != now.get(key)
        ]
    if name in ("types", "notes"):
        added = tuple(item for item in now if item not in was)
        return [Change(name, added, tuple(item for item in was if item not in now))]
    return [Change(name, (now,), (was,))]


def _row_changes(name: str, was: Rows[Any], now: Rows[Any]) -> list[Change]:
    added = tuple(row.name for row in now if row.name not in was)
    removed = tuple(row.name for row in was if row.name not in now)
    changes = [Change(name, added, removed)] if added or removed else []
    for row in now:
        if row.name in was and was[row.name] != row:
            before = was[row.name]
            for part in fields(row):
                a, b = getattr(before, part.name), getattr(row, part.name)
                if a != b:
                    changes.append(Change(f"{name}.{row.name}.{part.name}", (b,), (a,)))
    return changes


def _present(value: object) -> tuple[object, ...]:
    return () if value is None else (value,)
