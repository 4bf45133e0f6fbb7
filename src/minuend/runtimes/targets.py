"""Targets: what each release of a runtime does with a subtraction, as data.

A *measured* target is a file beside this one, written by ``tools/measure_target.py``: one case after the other was
asked and judged against the reference. A *declared* one is what a standard's or a runtime's documents say; it says
which types are taken, not what the numbers are where the documents are silent.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

from minuend.core import operation
from minuend.errors import SpecError, listed, near, shown
from minuend.runtimes import cases, values
from minuend.standards.abilities import ability, able
from minuend.standards.dialects import dialect
from minuend.standards.node import Node
from minuend.standards.spelling import find as find_type
from minuend.standards.version import OpVersion

Verdict = Literal["ok", "different-numbers", "not-implemented", "invalid", "unknown"]
VERDICTS: tuple[str, ...] = ("ok", "different-numbers", "not-implemented", "invalid", "unknown")

EVERY = "every value"
"""Stands for all classes at once in a row: the runtime refuses the model whatever its values are."""

FORMAT = 1
"""The version of the files' format."""

_NAMES = ("opversions", "dtypes", "relations", "constants")
"""What a row lists the names of."""

_SPANS = ("a_spans", "b_spans")

_NUMBER = re.compile("[0-9]{1,9}")
"""A part of a release that is compared as a number."""


@dataclass(frozen=True, slots=True)
class Witness:
    """One pair of operands that shows a deviation: what the runtime got, and what the contract expects."""

    a: float
    b: float
    got: float
    expected: float

    def __str__(self) -> str:
        return f"{operation.said(self.a, self.b)}: got {self.got}, expected {self.expected}"

    @property
    def gives(self) -> str:
        """What the runtime gave, for a sentence: ``"5 - 10 gives 0"``."""
        return f"{operation.said(self.a, self.b)} gives {self.got}"


Span = tuple[float, float]
"""Magnitudes from one to another, both included; infinity counts, NaN has none."""

MOST_SPANS = 4
"""How many spans an answer keeps; of more, the closest ones are joined."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a runtime does with the values of one class.

    Attributes:
        verdict: one of :data:`VERDICTS`. witness: of different numbers. message: of a refusal.
        a_spans, b_spans: which magnitudes of A and of B were in pairs that gave different numbers, ascending. A span
            reaches to the next magnitude that was asked and was fine with every partner, which is not in it; what lies
            between was not asked. ``None`` where only NaN deviates, or where nothing is known.
    """

    verdict: str
    witness: Witness | None = None
    message: str = ""
    a_spans: tuple[Span, ...] | None = None
    b_spans: tuple[Span, ...] | None = None


def joined_spans(*known: tuple[Span, ...] | None) -> tuple[Span, ...] | None:
    """Return the spans that hold what any of several hold, :data:`MOST_SPANS` at most.

    >>> joined_spans(((0, 0), (5, 8)), ((7, 9),), None)
    ((0, 0), (5, 9))
    """
    found: list[Span] = []
    for low, high in sorted(span for spans in known if spans is not None for span in spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    while len(found) > MOST_SPANS:
        gaps = [_apart(below[1], above[0]) for below, above in itertools.pairwise(found)]
        k = gaps.index(min(gaps))
        found[k : k + 2] = [(found[k][0], found[k + 1][1])]
    return tuple(found) or None


def _apart(low: float, high: float) -> float:
    return math.inf if low == 0 or math.isinf(high) else high / low


OK = Answer("ok")


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

    @property
    def dialects(self) -> tuple[str, ...]:
        """Whose models it reads."""
        return tuple(dict.fromkeys(version.partition(":")[0] for row in self.rows for version in row.opversions))

    def convert_first(self, dialect_name: str) -> str:
        """What is said where it does not read a dialect's models."""
        goal = next(iter(self.dialects), "onnx")
        title = dialect(dialect_name).title
        return f"{self.runtime} reads no {title} models; convert it first: minuend convert --to {goal}"

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
        SpecError: a format that this release does not know.
    """
    data = json.loads(text)
    if data.get("format") != FORMAT:
        raise SpecError("targets", f"the file has format {data.get('format')!r}; expected {FORMAT}", where=name)
    plain = {key: data[key] for key in ("runtime", "release", "date", "cpu", "python")}
    return Target(rows=tuple(map(_row, data["rows"])), **plain)


def _row(data: Mapping[str, Any]) -> Row:
    opversions, dtypes, relations, constants = (tuple(data[key]) for key in _NAMES)
    answers = {name: _answer(answer) for name, answer in data["answers"].items()}
    return Row(opversions, dtypes, relations, constants, answers)


def _answer(data: Mapping[str, Any]) -> Answer:
    witness = data.get("witness")
    if witness is not None:
        witness = Witness(*(_number(witness[key]) for key in ("a", "b", "got", "expected")))
    return Answer(data["verdict"], witness, data.get("message", ""), *(_spans(data, key) for key in _SPANS))


def _spans(data: Mapping[str, Any], key: str) -> tuple[Span, ...] | None:
    """Spans of an answer; a file that was written before there were any has none."""
    return tuple((_number(low), _number(high)) for low, high in data[key]) if key in data else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, str) else value


def dump(target: Target) -> str:
    """Write a measured target as a file's text, a row a line."""
    head = {"format": FORMAT, **{k: getattr(target, k) for k in ("runtime", "release", "date", "cpu", "python")}}
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    rows = [json.dumps(_plain_row(row), ensure_ascii=False, allow_nan=False) for row in target.rows]
    body = ",\n".join(f"  {row}" for row in rows)
    return "\n".join(("{", *lines, '"rows": [', body, "]", "}", ""))


def _plain_row(row: Row) -> dict[str, Any]:
    names = {key: list(getattr(row, key)) for key in _NAMES}
    return {**names, "answers": {name: _plain_answer(answer) for name, answer in row.answers.items()}}


def _plain_answer(answer: Answer) -> dict[str, Any]:
    data: dict[str, Any] = {"verdict": answer.verdict}
    if answer.witness is not None:
        data["witness"] = {key: _plain_number(getattr(answer.witness, key)) for key in ("a", "b", "got", "expected")}
    for key in _SPANS:
        if (spans := getattr(answer, key)) is not None:
            data[key] = [[_plain_number(end) for end in span] for span in spans]
    if answer.message:
        data["message"] = answer.message
    return data


def _plain_number(value: float) -> float | str:
    return value if isinstance(value, int) or value - value == 0 else str(value)


# ---- look-up --------------------------------------------------------------------------------------------------


@functools.cache
def _files() -> Mapping[str, Any]:
    """Every measured target's file by the target's name."""
    found = {path.name: path for path in resources.files("minuend.runtimes").joinpath("measured").iterdir()}
    return {name.removesuffix(".json"): found[name] for name in sorted(found) if name.endswith(".json")}


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
    return load(_files()[name].read_text("utf-8"), name)


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


Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def merge(cells: Mapping[tuple[str, str, str, str], Any]) -> list[tuple[Names, Any]]:
    """Join combinations that have one content into rows, last name first: constants, relations, versions, types."""
    rows: list[tuple[Names, Any]] = [(((a,), (b,), (c,), (d,)), content) for (a, b, c, d), content in cells.items()]
    for position in (3, 2, 0, 1):
        grouped: list[tuple[Names, Any]] = []
        places: dict[str, int] = {}
        for parts, content in rows:
            rest = repr((parts[:position], parts[position + 1 :], content))
            if rest in places:
                before = grouped[places[rest]][0]
                joined = (*before[:position], before[position] + parts[position], *before[position + 1 :])
                grouped[places[rest]] = (joined, content)  # type: ignore[assignment]
            else:
                places[rest] = len(grouped)
                grouped.append((parts, content))
        rows = grouped
    return rows
