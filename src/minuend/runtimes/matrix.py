"""The matrix: each release of each runtime, and its worst verdict on each element type.

A cell is of one release and one element type, in the newest version of the operator that has the type, in each format
that the runtime reads; both operands are inputs of one shape. Of all value classes it shows the worst verdict, so
``ok`` means that every difference is the contract's, and another verdict that some are not. Of classes with that
verdict it shows the one with the worst severity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from minuend.core.elements import TYPES
from minuend.errors import ScalarRangeError
from minuend.runtimes import targets
from minuend.runtimes.answers import WORST, Answer
from minuend.runtimes.registry import proper
from minuend.runtimes.severity import Severity, rank, severity
from minuend.runtimes.target import Target, version_of
from minuend.standards.dialects import dialect
from minuend.standards.spelling import find as find_type
from minuend.standards.version import OpVersion


@dataclass(frozen=True, slots=True)
class Cell:
    """One release on one element type.

    Attributes:
        target, dtype: which. opversion: the version in which the verdict was the worst, as ``"onnx:14"``.
        verdict: the worst one. value_class, answer: the class that has it, and what the runtime does there.
    """

    target: Target
    dtype: str
    opversion: str
    verdict: str
    value_class: str
    answer: Answer

    @property
    def operator(self) -> str:
        """The operator, as Python calls it: ``"subtract"``."""
        return version_of(self.opversion).computes.name

    @property
    def opversions(self) -> tuple[str, ...]:
        """Every version that the verdict is the worst of: the newest with the type, of each format that is read."""
        return tuple(_versions(self.target, self.dtype))

    @property
    def severity(self) -> Severity | None:
        """How bad the witness is; ``None`` where numbers do not differ, or no pair was measured that shows it."""
        witness = self.answer.witness
        if self.verdict != "different-numbers" or witness is None:
            return None
        try:
            return severity(TYPES[self.dtype], witness.operands, witness.got, witness.expected)
        except (ValueError, ScalarRangeError):  # a file that a user made may hold what is no wrong result
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the cell as plain data."""
        return {
            "target": self.target.name,
            "runtime": self.target.runtime,
            "release": self.target.release,
            "dtype": self.dtype,
            "opversion": self.opversion,
            "verdict": self.verdict,
            "severity": self.severity,
            "values": "" if self.verdict == "ok" else self.value_class,
            "witness": None if self.answer.witness is None else self.answer.witness.to_json(),
            "message": self.answer.message,
            "measured": self.target.provenance,
        }


def matrix(chosen: Collection[str] = (), dtypes: Iterable[str] = ()) -> list[Cell]:
    """Return the cells, by runtime, release and element type; types that a release's formats lack have none.

    Args:
        chosen: runtimes, releases, or files of ``minuend measure``; by default all that is known.
        dtypes: element types in any spelling; by default all.

    Raises:
        SpecError: no such target. DTypeError: no such type.

    >>> [(cell.verdict, str(cell.answer.witness)) for cell in matrix(["openvino-cpu@2026.4.1"], ["uint8"])]
    [('different-numbers', '5 - 10: got 0, expected 251')]
    """
    types = list(dict.fromkeys(find_type(one).name for one in dtypes)) or list(TYPES)
    return [cell for one in _targets(chosen) for dtype in types for cell in _cell(one, dtype)]


def _targets(chosen: Collection[str]) -> Iterator[Target]:
    """Targets by their names; a runtime alone stands for all of its releases."""
    for name in chosen or targets.names():
        alone = not targets.is_file(name) and "@" not in name
        every = targets.names(proper(name)) if alone else (name,)
        if not every:
            targets.find(name)  # says what is wrong with the name
        for one in every:
            yield targets.find(one, exact=True)


def _cell(target: Target, dtype: str) -> Iterator[Cell]:
    """The worst of what a release does with a type: the worst verdict, and of several the worst severity."""
    found = [
        Cell(target, dtype, version, answer.verdict, name, answer)
        for version in _versions(target, dtype)
        for name, answer in target.judged(version, dtype, "same", "none").items()
    ]
    yield from sorted(found, key=lambda cell: (WORST.index(cell.verdict), -rank(cell.severity)))[:1]


def _versions(target: Target, dtype: str) -> Iterator[str]:
    """The newest version that has a type, of each format that a target reads; of a standard's level, its own."""
    for name in target.dialects:
        having = [one for one in dialect(name).versions() if dtype in one.types and one.key in target.opversions]
        if having:
            yield having[-1].key


def newest() -> list[Target]:
    """Return the newest measured release of each runtime, by name."""
    runtimes = sorted({name.partition("@")[0] for name in targets.names()})
    found = [targets.find(targets.names(runtime)[-1], exact=True) for runtime in runtimes]
    return [target for target in found if not target.declared]


NOT_RUN = "it does not run"


def five_minus_ten() -> dict[str, list[Target]]:
    """Return what ``5 - 10`` of uint8 gives, 251 by the standards first, and the newest releases that compute it.

    >>> list(five_minus_ten())
    ['251', '0', 'it does not run']
    """
    found: dict[str, list[Target]] = {"251": []}
    for target in newest():
        answers = [target.judged(version, "uint8", "same", "none") for version in _versions(target, "uint8")]
        for result in dict.fromkeys(_computed(one["wraps"]) for one in answers if "wraps" in one):
            if result:
                found.setdefault(result, []).append(target)
    return {result: found[result] for result in sorted(found, key=lambda one: (one == NOT_RUN, one != "251", one))}


def _computed(answer: Answer) -> str:
    if answer.verdict == "ok":
        return "251"
    if answer.verdict == "not-implemented":
        return NOT_RUN
    witness = answer.witness
    return "" if witness is None or witness.operands != (5, 10) else str(witness.got)


def right(op: OpVersion) -> tuple[dict[str, Target], dict[str, Target]]:
    """Return the newest measured releases that read a version, by runtime: those right on all of its types; others.

    >>> from minuend.standards.dialects import dialect
    >>> fine, others = right(dialect("onnx").resolve(14))
    >>> "onnx-reference" in fine, "openvino-cpu" in others
    (True, True)
    """
    fine: dict[str, Target] = {}
    others: dict[str, Target] = {}
    for release in newest():
        target = targets.of(release, op.computes)
        if target is None or op.key not in target.opversions:
            continue
        answers = (answer for dtype in op.types for answer in target.judged(op, dtype, "same", "none").values())
        (fine if all(answer.verdict == "ok" for answer in answers) else others)[target.runtime] = target
    return fine, others
