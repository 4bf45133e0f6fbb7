"""What a dialect has to say of itself, and where the dialects are found.

A dialect is a folder of this package with a ``versions.py`` that ends in ``DIALECT = Dialect(...)``. Nothing
lists the folders: a fourth one is found as the three are.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from minuend.errors import SpecError, listed, near, shown
from minuend.operators import SUBTRACT
from minuend.plain import grouped
from minuend.standards.version import Change, OpVersion, diff

if TYPE_CHECKING:
    from minuend.core.shapes import Broadcast, Shape


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One standard's view of the operators.

    Attributes:
        name: the folder's name.
        title: the standard's own name.
        rows: the versions of every operator, one operator after the other, each from its oldest on.
        number: reads a version as users write it (``13``, ``"13"``, ``"4.1"``, ``"DML_FEATURE_LEVEL_4_1"``)
            into something that sorts; raises ``ValueError`` where it is none.
        counted: what a version counts, for messages: ``"opset"``, ``"feature level"``.
        broadcast: the rule that a version applies to two shapes under the node's attributes.
        spellings: this package's type name → the dialect's names for it, the one that reports show first.
        refused: names of types that the dialect knows and this operator cannot have → the reason.
        newest: the newest version of the standard that is known here; ``""`` where it is the operator's own newest.
    """

    name: str
    title: str
    rows: tuple[OpVersion, ...]
    number: Callable[[object], Any]
    counted: str
    broadcast: Callable[[OpVersion, Shape, Shape, Mapping[str, object]], Broadcast]
    spellings: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    newest: str = ""

    def __post_init__(self) -> None:
        for table in ("spellings", "refused"):
            object.__setattr__(self, table, MappingProxyType(dict(getattr(self, table))))

    def beyond(self, version: object) -> str:
        """Say that a version is newer than all that are known; nothing of one that is not."""
        if version is None or not self.newest or not self.number(version) > self.number(self.newest):
            return ""
        return f"{self.counted} {shown(version)} of {self.title} is not known; the newest known is {self.newest}"

    @functools.cached_property
    def operators(self) -> Mapping[str, tuple[OpVersion, ...]]:
        """The versions of each operator, oldest first, by its name in the array API standard."""
        return MappingProxyType(
            {name: tuple(rows) for name, rows in grouped((r.computes.name, r) for r in self.rows).items()}
        )

    def versions(self, operator: str = SUBTRACT.name) -> tuple[OpVersion, ...]:
        """Return an operator's versions, oldest first.

        Args:
            operator: its name in the array API standard, or the dialect's own: ``"add"``, ``"Add"``.

        Raises:
            SpecError: the dialect has no such operator.
        """
        own = {
            one: name for name, rows in self.operators.items() for one in (name, rows[0].operator, rows[0].short_name)
        }
        if not isinstance(operator, str) or operator not in own:
            meant = near(operator, own) if isinstance(operator, str) else ""
            known = listed(rows[0].short_name for rows in self.operators.values())
            raise SpecError("operator", f"{self.title} has no operator {shown(operator)} here{meant}; expected {known}")
        return self.operators[own[operator]]

    def resolve(self, version: object = None, operator: str = SUBTRACT.name) -> OpVersion:
        """Return the newest version of an operator that is not above ``version``; ``None`` means the newest of all.

        Raises:
            SpecError: no such operator, not a version, or one from before the operator existed.
        """
        versions = self.versions(operator)
        if version is None:
            return versions[-1]
        first = versions[0]
        try:
            wanted = self.number(version)
            found = [v for v in versions if self.number(v.version) <= wanted]
        except SpecError:  # the dialect says more of it than the sentence below
            raise
        except ValueError:
            found = []
        if not found:
            known = listed((v.version for v in versions), "and")
            above = f" or above (versions: {known})" if len(versions) > 1 else ", the only one"
            came = f"{self.counted} {shown(version)} with {first.operator}"
            raise SpecError("version", f"{self.title} has no {came}; expected {first.version}{above}")
        return found[-1]

    def spell(self, type_name: str) -> str:
        """Return what this dialect calls a type; this package's own name where it has none."""
        return self.spellings.get(type_name, (type_name,))[0]


@functools.cache
def dialects() -> Mapping[str, Dialect]:
    """Every dialect by name, found in this package's folder."""
    found = {}
    for module in pkgutil.iter_modules(sys.modules["minuend"].__path__):
        folder = os.path.join(module.module_finder.path, module.name)  # type: ignore[union-attr]
        if module.ispkg and os.path.exists(os.path.join(folder, "versions.py")):
            found[module.name] = importlib.import_module(f"minuend.{module.name}.versions").DIALECT
    return MappingProxyType(found)


def dialect(name: str) -> Dialect:
    """Return a dialect by name, or say which there are."""
    if isinstance(name, str) and name in dialects():
        return dialects()[name]
    meant = near(name, dialects()) if isinstance(name, str) else ""
    raise SpecError("dialect", f"no dialect {shown(name)}{meant}; expected {listed(sorted(dialects()))}")


def parse_version(text: str) -> OpVersion:
    """Read a version as people name it: ``"onnx:14"`` is Sub-14; another operator is named, as in ``"onnx:Add-14"``.

    A feature level of DirectML stands behind an ``@``, ``"directml:ADD@5.1"``. Without a version it is the newest.

    Raises:
        SpecError: no such dialect, operator or version.

    >>> str(parse_version("onnx:10")), str(parse_version("onnx:Add-10")), str(parse_version("openvino:Negative-1"))
    ('Sub-7', 'Add-7', 'Negative-1')
    """
    home, operator, version = split_version(text)
    return home.resolve(version, operator)


def split_version(text: str) -> tuple[Dialect, str, str | None]:
    """Return the dialect, operator and version that :func:`parse_version` reads; ``None`` stands for the newest."""
    name, colon, rest = text.partition(":")
    home = dialect(name)
    for operator in {one: None for row in home.rows for one in (row.operator, row.short_name)}:
        if rest == operator:
            return home, operator, None
        if rest.startswith((f"{operator}-", f"{operator}@")):
            return home, operator, rest[len(operator) + 1 :]
    return home, SUBTRACT.name, rest if colon else None


def spec(dialect_name: str, version: object = None, operator: str = SUBTRACT.name) -> OpVersion:
    """Return the version of an operator in force at a dialect's version number.

    Args:
        dialect_name: ``"onnx"``, ``"openvino"`` or ``"directml"``.
        version: an ONNX opset number, OpenVINO's 1, a DirectML feature level such as ``"4.1"``; ``None`` is the newest.
        operator: its name in the array API standard, or the dialect's own.

    Raises:
        SpecError: no such dialect, operator or version.

    >>> spec("onnx", 10).version
    7
    >>> "bfloat16" in spec("onnx", 13).types, "uint8" in spec("onnx", 13).types
    (True, False)
    >>> str(spec("onnx", 12, "negative")), str(spec("openvino", operator="Add"))
    ('Neg-6', 'Add-1')
    """
    return dialect(dialect_name).resolve(version, operator)


def diff_versions(dialect_name: str, old: object, new: object, operator: str = SUBTRACT.name) -> list[Change]:
    """List what changed of an operator in a dialect from one version to another.

    Returns:
        One :class:`~minuend.standards.version.Change` a field: ``.field``, ``.added``, ``.removed``. Empty where both
        numbers mean the same version.

    Raises:
        SpecError: no such dialect, operator or version.

    >>> [str(change) for change in diff_versions("onnx", 7, 13) if change.field == "types"]
    ['types: +bfloat16']
    """
    return diff(spec(dialect_name, old, operator), spec(dialect_name, new, operator))
