"""Targets: what each release of a runtime does with a subtraction, as data.

A *measured* target is a file beside this one, written by ``tools/measure_target.py``: one case after the other was
asked and judged against the reference. A *declared* one is what a standard's or a runtime's documents say; it says
which types are taken, not what the numbers are where the documents are silent.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from types import MappingProxyType
from typing import Any

from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, SpecError, listed, near, shown
from minuend.runtimes import cases, forms, graph_answers, values
from minuend.runtimes.answers import ANSWER, EVERY, OK, Answer, Verdict, answer_of, plain_answer
from minuend.runtimes.graph_answers import GraphAnswers
from minuend.runtimes.merging import merge
from minuend.runtimes.quirks import quirks
from minuend.standards.abilities import ability, able
from minuend.standards.dialects import dialect, dialects
from minuend.standards.node import Node
from minuend.standards.spelling import find as find_type
from minuend.standards.version import OpVersion

FORMAT = 1
"""The version of the files' format."""

_NAMES = ("opversions", "dtypes", "relations", "constants")
"""What a row lists the names of."""

_NUMBER = re.compile("[0-9]{1,9}")
"""A part of a release that is compared as a number."""


@dataclass(frozen=True)
class Row:
    """Answers that several cases share; a class that is not named in ``answers`` is ok.

    Attributes:
        opversions: ``"onnx:14"`` …. dtypes, relations, constants: names. The row holds for each combination.
        answers: value class, or :data:`EVERY` → answer.
    """

    opversions: tuple[str, ...]
    dtypes: tuple[str, ...]
    relations: tuple[str, ...]
    constants: tuple[str, ...]
    answers: Mapping[str, Answer] = field(default_factory=lambda: MappingProxyType({}))


class Unfit(Exception):
    """What stands in for an answer where a target cannot be asked for a node: ``verdict`` and ``reason``."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        self.verdict, self.reason = verdict, reason
        super().__init__(reason)


@dataclass(frozen=True)
class Target:
    """One release of a runtime.

    Attributes:
        runtime, release: ``"openvino-cpu"`` and ``"2026.4.1"``.
        rows: what it does.
        date, cpu, python: when, on which processor and under which Python it was measured; empty where declared.
        declared: whether documents say so rather than a measurement. source: which documents.
        translate: of a target that is a standard: how it is asked for a node of another one; raises :class:`Unfit`.
        runs_nothing: why no model can be fixed for it, where it runs none; else ``""``.
        graphs: what it does with a subtraction and its neighbours; ``None`` where nobody measured it.
    """

    runtime: str
    release: str
    rows: tuple[Row, ...]
    date: str = ""
    cpu: str = ""
    python: str = ""
    declared: bool = False
    source: str = ""
    translate: Callable[[Node], Node] | None = None
    runs_nothing: str = ""
    graphs: GraphAnswers | None = None

    @property
    def dialects(self) -> tuple[str, ...]:
        """Whose models it reads."""
        return tuple(dict.fromkeys(version.partition(":")[0] for row in self.rows for version in row.opversions))

    def reads_none(self, dialect_name: str) -> str:
        """What is said where it does not read a dialect's models."""
        return f"{self.runtime} reads no {dialect(dialect_name).title} models"

    @property
    def name(self) -> str:
        """``"openvino-cpu@2026.4.1"``."""
        return f"{self.runtime}@{self.release}"

    @property
    def provenance(self) -> str | dict[str, str]:
        """Where the facts are from, as reports write it."""
        return "declared" if self.declared else {"release": self.release, "date": self.date, "cpu": self.cpu}

    def answer(self, opversion: object, dtype: object, relation: str, constants: str) -> Mapping[str, Answer]:
        """Return the answer for every value class that the element type has.

        Args:
            opversion: an :class:`~minuend.standards.version.OpVersion`, or ``"onnx:14"``. dtype: in any spelling.
            relation: a name in :data:`minuend.runtimes.cases.RELATIONS`.
            constants: ``"none"``, ``"A"``, ``"B"`` or ``"both"``.

        Returns:
            Class name → answer; ``"unknown"`` where nobody measured it and no document says it.

        Raises:
            SpecError: no such version, relation or constants. DTypeError: no such type.

        >>> answers = find("openvino-cpu@2026.4.1").answer("openvino:1", "uint8", "same", "none")
        >>> answers["in range"].verdict, str(answers["wraps"].witness)
        ('ok', '5 - 10: got 0, expected 251')
        """
        element = find_type(dtype)
        for name, known in ((relation, cases.RELATIONS), (constants, cases.CONSTANTS)):
            if name not in known:
                raise SpecError("targets", f"{name!r} is none of {listed(known)}")
        row = self._index.get((_opversion(opversion), element.name, relation, constants))
        classes = [rule.name for rule in values.rules(element)]
        if relation == "zero-size":
            classes = [values.NO_VALUES.name]
        if row is None:
            how = "declared" if self.declared else "measured"
            return dict.fromkeys(classes, Answer("unknown", message=f"{self.name} was not {how} for this"))
        if EVERY in row.answers:
            return dict.fromkeys(classes, row.answers[EVERY])
        return {name: row.answers.get(name, OK) for name in classes}

    @functools.cached_property
    def _index(self) -> Mapping[tuple[str, str, str, str], Row]:
        return {key: row for row in self.rows for key in keys(row)}


def keys(row: Row) -> Iterator[tuple[str, str, str, str]]:
    """Yield every combination for which a row holds."""
    yield from itertools.product(row.opversions, row.dtypes, row.relations, row.constants)


def _opversion(version: object) -> str:
    if isinstance(version, OpVersion):
        return f"{version.dialect}:{version.version}"
    name, _, number = str(version).partition(":")
    op = dialect(name).resolve(number or None)
    return f"{op.dialect}:{op.version}"


# ---- files ----------------------------------------------------------------------------------------------------


def load(text: str, name: str = "") -> Target:
    """Read a target file's text.

    Raises:
        SpecError: a format that this release does not know. FileFormatError: no such file's text.
    """
    place = name or "the target"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{place} is no JSON: {error}; expected a file of tools/measure_target.py") from None
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise SpecError("targets", f"the file has format {shown(data.get('format'))}; expected {FORMAT}", where=name)
    forms.check(data, _form(), place)
    return _target(data)


def _target(data: Mapping[str, Any]) -> Target:
    plain = {key: data[key] for key in _TOLD}
    hints = bool(quirks(data["runtime"]).hints)
    graphs = graph_answers.load(data["graphs"], hints, data.get("graphs_cpu", "")) if "graphs" in data else None
    return Target(rows=tuple(map(_row, data["rows"])), graphs=graphs, **plain)


_TOLD = ("runtime", "release", "date", "cpu", "python")


@functools.cache
def _form() -> Any:
    versions = {f"{home.name}:{row.version}" for home in dialects().values() for row in home.versions}
    known = dict(zip(_NAMES, (versions, TYPES, cases.RELATIONS, cases.CONSTANTS), strict=True))
    answers = forms.Under(frozenset((*values.CLASSES, EVERY)), ANSWER)
    row = {name: forms.Names(frozenset(names)) for name, names in known.items()} | {"answers": answers}
    return {**dict.fromkeys(_TOLD, str), "rows": [row], "graphs?": [graph_answers.form], "graphs_cpu?": str}


def _row(data: Mapping[str, Any]) -> Row:
    opversions, dtypes, relations, constants = (tuple(data[key]) for key in _NAMES)
    answers = {name: answer_of(answer) for name, answer in data["answers"].items()}
    return Row(opversions, dtypes, relations, constants, answers)


def dump(target: Target) -> str:
    """Write a measured target as a file's text, a row a line."""
    head = {"format": FORMAT, **{k: getattr(target, k) for k in ("runtime", "release", "date", "cpu", "python")}}
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    rows = [json.dumps(_plain_row(row), ensure_ascii=False, allow_nan=False) for row in target.rows]
    parts = [f'"rows": [\n{_indented(rows)}\n]']
    if target.graphs is not None:
        parts.append(f'"graphs_cpu": {json.dumps(target.graphs.cpu)}')
        parts.append(f'"graphs": [\n{_indented(graph_answers.dump(target.graphs))}\n]')
    return "\n".join(("{", *lines, ",\n".join(parts), "}", ""))


def _indented(lines: Iterable[str]) -> str:
    return ",\n".join(f"  {line}" for line in lines)


def _plain_row(row: Row) -> dict[str, Any]:
    names = {key: list(getattr(row, key)) for key in _NAMES}
    return {**names, "answers": {name: plain_answer(answer) for name, answer in row.answers.items()}}


# ---- look-up --------------------------------------------------------------------------------------------------


@functools.cache
def _files() -> Mapping[str, Any]:
    """Every measured target's file by the target's name."""
    found = {path.name: path for path in resources.files("minuend.runtimes").joinpath("measured").iterdir()}
    return {name.removesuffix(".json"): found[name] for name in sorted(found) if name.endswith(".json") and "@" in name}


@functools.cache
def _declared() -> Mapping[str, Target]:
    found = (target for name in able("declared") for target in ability(name, "declared").targets())
    return {target.name: target for target in found}


def names() -> tuple[str, ...]:
    """Return every target's name, the runtimes in alphabetical order, each one's releases from old to new."""
    return tuple(sorted((*_files(), *_declared()), key=lambda name: (name.partition("@")[0], _release(name))))


def _release(name: str) -> tuple[tuple[int, str], ...]:
    parts = name.partition("@")[2].replace("+", ".").split(".")
    return tuple((int(part), "") if _NUMBER.fullmatch(part) else (-1, part) for part in parts)


@functools.lru_cache(maxsize=16)
def _load(name: str) -> Target:
    if name in _declared():
        return _declared()[name]
    return _target(json.loads(_files()[name].read_text("utf-8")))  # the tests load these with all checks


def find(name: str) -> Target:
    """Return a target.

    Args:
        name: ``"openvino-cpu@2026.4.1"``; the start of a release, as ``"openvino-cpu@2026.4"``, means the newest that
            starts so, and a runtime alone its newest release.

    Raises:
        SpecError: no such target.

    >>> find("openvino-cpu@2026.4").name
    'openvino-cpu@2026.4.1'
    """
    if not isinstance(name, str):
        raise TypeError(f"a {type(name).__name__} is no target; expected a name such as 'openvino-cpu@2026.4'")
    runtime, at, release = name.partition("@")
    known = [other for other in names() if other.partition("@")[0] == runtime]
    wanted = _release(name) if at else ()
    fitting = [other for other in known if _release(other)[: len(wanted)] == wanted]
    if fitting:
        return _load(fitting[-1])
    if not known:
        runtimes = listed(dict.fromkeys(other.partition("@")[0] for other in names()))
        meant = near(runtime, [other.partition("@")[0] for other in names()])
        raise SpecError(
            "targets", f"no target {shown(name)}{meant}; expected {runtimes}, each with an @release if need be"
        )
    releases = listed(other.partition("@")[2] for other in known)
    raise SpecError("targets", f"no release of {runtime} that starts with {shown(release)}; there are {releases}")


@dataclass(frozen=True)
class TargetChange:
    """Cases in which two targets answer differently.

    Attributes:
        opversions, dtypes, relations, constants: names; the change holds for each combination.
        value_class: a value class. old, new: the answers.
    """

    opversions: tuple[str, ...]
    dtypes: tuple[str, ...]
    relations: tuple[str, ...]
    constants: tuple[str, ...]
    value_class: str
    old: Answer
    new: Answer


def diff(old: Target, new: Target) -> list[TargetChange]:
    """List what changed from one target to another, in what both know of.

    Verdicts are compared, and what a pair gives that witnesses for both; messages of refusals and the sizes of operands
    that deviate are not, and the answers listed come without spans.
    """
    cells: dict[tuple[str, str, str, str], dict[str, tuple[Answer, Answer]]] = {}
    for key in old._index:
        if key not in new._index:
            continue
        was, now = old.answer(*key), new.answer(*key)
        changed = {name: (_shown(was[name]), _shown(now[name])) for name in was if _differ(was[name], now[name])}
        if changed:
            cells[key] = changed
    return [
        TargetChange(*names_of, name, *pair)
        for names_of, changed in merge({key: tuple(changed.items()) for key, changed in cells.items()})
        for name, pair in changed
    ]


def _shown(answer: Answer) -> Answer:
    return replace(answer, a_spans=None, b_spans=None)


def _differ(old: Answer, new: Answer) -> bool:
    if old.verdict != new.verdict or old.witness is None or new.witness is None:
        return old.verdict != new.verdict
    pairs = [(str(witness.a), str(witness.b)) for witness in (old.witness, new.witness)]
    return pairs[0] == pairs[1] and str(old.witness.got) != str(new.witness.got)
