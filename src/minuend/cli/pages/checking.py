"""``check``: the occurrences of operators in models on targets, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from minuend.cli.pages.layout import Page, Table
from minuend.cli.pages.runs import outcome, run_lines
from minuend.language import Language
from minuend.plain import grouped
from minuend.runtimes import rendering
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.cases import RELATIONS
from minuend.runtimes.formats import Unread
from minuend.runtimes.reasons import AsContracted, Reason
from minuend.standards.dialects import parse_version

if TYPE_CHECKING:
    from minuend.judging.gate import Gate, Looked
    from minuend.runtimes.finding import Finding
    from minuend.runtimes.report import Report
    from minuend.runtimes.trials import Trial

Note: TypeAlias = str | Reason
"""A sentence on a page, or what one is made of."""

_NAMES = frozenset({0, 1})
"""The columns of a target's name and of its verdict: a release folded over two lines reads as another."""

_MOST = 3
"""Nodes that are named of those of which the same was found."""


class Nouns(NamedTuple):
    """How a page counts an operator's occurrences."""

    one: str
    several: str
    lacking: str
    none: str
    some: str


NOUNS: Mapping[str, Nouns] = MappingProxyType(
    {
        name: Nouns(
            f"1 {noun}", f"{{count}} {noun}s", f" has no {noun}", f"no {noun}", f"{{count}} of {{total}} {noun}s"
        )
        for name, noun in (("subtract", "subtraction"), ("add", "addition"), ("negative", "negation"))
    }
)
"""The nouns of each operator, by its name in the array API standard."""

_FOUND: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "different-numbers": ("{some} differs on {targets}", "{some} differ on {targets}"),
        "not-implemented": ("{some} does not run on {targets}", "{some} do not run on {targets}"),
        "invalid": ("{some} is invalid on {targets}", "{some} are invalid on {targets}"),
        "unknown": ("{some} is unknown on {targets}", "{some} are unknown on {targets}"),
    }
)
"""What a summary says of one node and of several, by verdict."""

_MARKS: Mapping[str, str] = MappingProxyType(
    {"accepted": "{what} (accepted)", "tolerated": "{what} (tolerated)", "not counted": "{what} (not counted)"}
)
"""What a summary adds to findings that do not count."""


def texts() -> Iterator[str]:
    """Yield every text of the tables that a catalogue has to have."""
    yield from (text for row in (*NOUNS.values(), *_FOUND.values()) for text in row)
    yield from _MARKS.values()


def gate_page(gate: Gate, language: Language, *, whole: bool = False) -> Page:
    """Show what was found in models: a single one's page, or a section for each and a summary of all.

    Args:
        gate: what was found. whole: show the occurrences that are right, too.
    """
    return _Pages(language, whole, NOUNS[gate.operator.name]).gate(gate)


class _Pages:
    """Pages in a language; ``whole``: with the occurrences that are right."""

    def __init__(self, language: Language, whole: bool, nouns: Nouns) -> None:
        self.language, self.tr, self.whole, self.nouns = language, language.tr, whole, nouns

    # ---- many models ------------------------------------------------------------------------------------------

    def gate(self, gate: Gate) -> Page:
        if len(gate.models) == 1 and gate.reports:
            return [*self.report(gate.reports[0]), *gate.notes]
        shared: Counter[Note] = Counter()
        for report in gate.reports:
            shared.update((*report.notices, *report.notes))
        common = [note for note, count in shared.items() if count > 1]
        page: list[str | Table] = []
        long = False
        for one in gate.models:
            section = list(self._section(one, common))
            page += _blank(page) if long or len(section) > 1 else []
            long = len(section) > 1
            page += section
        processors = dict.fromkeys(one for report in gate.reports for one in report.processors)
        after = [*self._notes(common), *gate.notes, *self._notes(processors), *self._total(gate)]
        return [*page, *_blank(page), *after]

    def _section(self, looked: Looked, common: Sequence[Note]) -> Iterator[str | Table]:
        """What was found in one of several models; a line where there is nothing to show."""
        if isinstance(looked, Unread):
            message = looked.message.removeprefix(f"{looked.model}: ")
            yield self.tr("{model} cannot be read: {message}", model=looked.model, message=message)
            return
        yield f"{looked.title}{self._counts(looked)}"
        yield from self._alike(looked)
        notes: tuple[Note, ...] = (*looked.notices, *looked.notes)
        yield from self._notes(note for note in notes if note not in common)
        yield from self._runs(looked)

    def _alike(self, report: Report) -> Iterator[str | Table]:
        """The nodes that are not fine, or all, those together of which the same was found."""
        nodes = grouped(((finding.location, finding.opversion), finding) for finding in report.findings)
        wrong = (found for found in nodes.values() if self.whole or any(finding.verdict != "ok" for finding in found))
        groups = grouped(
            (
                (
                    self._kind(found[0]),
                    tuple(self._row(one) for one in found if self.whole or one.verdict != "ok"),
                ),
                found[0].location,
            )
            for found in wrong
        )
        for (kind, rows), places in groups.items():
            left = len(places) - _MOST
            more = [self.tr("{count} more", count=left)] if left > 0 else []
            named = rendering.all_of([*places[:_MOST], *more], self.language)
            yield self.language.labelled(named, kind)
            yield Table(("", "", ""), rows, whole=_NAMES)

    def _counts(self, report: Report) -> str:
        nodes = {(finding.location, finding.opversion) for finding in report.findings}
        if not nodes:
            return self.tr(self.nouns.lacking)
        if not all(finding.verdict == "ok" for finding in report.findings):
            return self.tr(": {subtractions}, {found}", subtractions=self._counted(nodes), found=self._found(report))
        fine = self.tr(": {subtractions}, all as expected", subtractions=self._counted(nodes))
        if not report.assumed:
            return fine
        return fine + self.tr(", where {assumed}", assumed=rendering.all_of(report.assumed, self.language))

    def _counted(self, nodes: Iterable[object]) -> str:
        count = len(list(nodes))
        return self.tr(self.nouns.one) if count == 1 else self.tr(self.nouns.several, count=count)

    def _total(self, gate: Gate) -> Iterator[str]:
        """A line on all models, and one for each target, with what was found on it."""
        wrong = sum(not report.ok for report in gate.reports)
        parts = [self.tr("{count} fine", count=len(gate.reports) - wrong)]
        parts += [self.tr("{count} with findings", count=wrong)] if wrong else []
        parts += [self.tr("{count} not read", count=len(gate.unread))] if gate.unread else []
        count = len(gate.models)
        models = self.tr("1 model") if count == 1 else self.tr("{count} models", count=count)
        yield self.language.labelled(models, rendering.row(parts, self.language))
        for target in gate.targets:
            found = [one for report in gate.reports for one in report.findings if one.target == target]
            runs = [one for report in gate.reports for one in report.trials if one.target == target]
            ran = self.tr("; runs of whole models: {verdicts}", verdicts=self._verdicts(runs)) if runs else ""
            yield self.language.labelled(target, f"{self._verdicts(found) or self.tr(self.nouns.none)}{ran}")

    def _verdicts(self, found: Iterable[Finding | Trial]) -> str:
        counts = Counter("accepted" if one.accepted else one.verdict for one in found)
        return self._listed({name: counts[name] for name in (*VERDICTS, "accepted") if counts[name]})

    # ---- one model --------------------------------------------------------------------------------------------

    def report(self, report: Report) -> Page:
        """What was found, node by node; unless ``whole``, nodes that are plainly fine on all targets share one line."""
        nodes = grouped(((finding.location, finding.opversion), finding) for finding in report.findings)
        page: list[str | Table] = [*self._notes(report.notices)]
        for found in nodes.values():
            if not self.whole and all(map(_is_plain, found)):
                continue
            page.append(self.language.labelled(found[0].location, self._kind(found[0])))
            page.append(Table(("", "", ""), tuple(map(self._row, found)), whole=_NAMES))
        return [
            *page,
            *report.notes,
            *self._notes(report.processors),
            *self._runs(report),
            *self._summary(report, list(nodes.values())),
        ]

    def _notes(self, notes: Iterable[Note]) -> Iterator[str]:
        yield from (one if isinstance(one, str) else rendering.sentence([one], self.language) for one in notes)

    def _row(self, finding: Finding) -> tuple[str, str, str]:
        if finding.accepted:
            return finding.target, "accepted", self.language.labelled(finding.verdict, finding.accepted)
        reason = finding.reason_in(self.language)
        shown = self.tr("inferred: {reason}", reason=reason) if finding.inferred else reason
        if finding.tolerated is None:
            return finding.target, finding.verdict, shown
        marked = self.tr("tolerated: {severity}", severity=finding.tolerated)
        return finding.target, finding.verdict, rendering.several([marked, shown], self.language)

    def _runs(self, report: Report) -> Iterator[str]:
        for trial in report.trials:
            if trial.accepted:
                runtime, verdict, reason = trial.runtime, trial.verdict, trial.accepted
                yield self.tr(
                    "unmodified on {runtime}: {verdict}, accepted: {reason}",
                    runtime=runtime,
                    verdict=verdict,
                    reason=reason,
                )
            else:
                yield from run_lines(trial)

    def _kind(self, finding: Finding) -> str:
        relation = finding.shape_relation
        shapes = rendering.relation_words(relation, self.language) if relation in RELATIONS else self.tr(relation)
        parts = [f"{parse_version(finding.opversion)}", finding.dtype, shapes]
        if finding.constants != "none":
            parts.append(self.tr("constants: {which}", which=finding.constants))
        return rendering.row(filter(None, parts), self.language)

    def _summary(self, report: Report, nodes: Sequence[Sequence[Finding]]) -> list[str]:
        ran = [
            self.tr(
                "unmodified on {runtime}: {outcome}", runtime=one.runtime, outcome=one.told if one.ok else outcome(one)
            )
            for one in report.trials
            if not one.accepted
        ]
        if not nodes:
            return [f"{report.title}{self.tr(self.nouns.lacking)}", *ran]
        return [self.language.labelled(report.title, self._counted(nodes)), *self._targets(report), *ran]

    def _targets(self, report: Report) -> Iterator[str]:
        """How many nodes deviate on which targets, a line for each verdict; then the targets without a deviation."""
        found = grouped((finding.target, finding) for finding in report.findings)
        fine = [target for target, some in found.items() if all(one.verdict == "ok" for one in some)]
        lines: dict[tuple[str, str, int, int], list[str]] = {}
        for target, some in found.items():
            counts = Counter((one.verdict, self._mark(report, one)) for one in some if one.verdict != "ok")
            for (verdict, mark), count in sorted(counts.items(), key=lambda item: VERDICTS.index(item[0][0])):
                lines.setdefault((verdict, mark, count, len(some)), []).append(target)
        for (verdict, mark, count, total), targets in lines.items():
            one, several = _FOUND[verdict]
            line = self.tr(
                one if count == 1 else several,
                some=self.tr(self.nouns.some, count=count, total=total),
                targets=rendering.all_of(targets, self.language),
            )
            yield self.tr(_MARKS[mark], what=line) if mark else line
        if fine:
            yield self.tr("as expected on {targets}", targets=rendering.all_of(fine, self.language))

    @staticmethod
    def _mark(report: Report, finding: Finding) -> str:
        """Why a finding does not count; ``""`` where it does."""
        if finding.accepted:
            return "accepted"
        return "tolerated" if finding.tolerated else "" if finding.verdict in report.fail_on else "not counted"

    # ---- counts -----------------------------------------------------------------------------------------------

    def _found(self, report: Report) -> str:
        """How many findings count, by verdict; how many are accepted, and how many do not count."""
        counts = Counter(finding.verdict for finding in report.failures)
        known = sum(bool(finding.accepted) for finding in report.findings)
        tolerated = sum(finding.tolerated is not None for finding in report.findings)
        left = Counter(
            f.verdict
            for f in report.findings
            if f.verdict != "ok" and not f.accepted and f.tolerated is None and f.verdict not in report.fail_on
        )
        parts = [self.tr("findings: {verdicts}", verdicts=self._listed(counts))] if counts else []
        parts += [self.tr("{count} accepted", count=known)] if known else []
        parts += [self.tr("{count} tolerated", count=tolerated)] if tolerated else []
        parts += [self.tr("not counted: {verdicts}", verdicts=self._listed(left))] if left else []
        return rendering.several(parts, self.language)

    def _listed(self, counts: Mapping[str, int]) -> str:
        return rendering.row((f"{count} {verdict}" for verdict, count in counts.items()), self.language)


def _blank(page: Sequence[str | Table]) -> list[str]:
    """An empty line, where none comes by itself: tables have them around them."""
    return [""] if page and isinstance(page[-1], str) else []


def _is_plain(finding: Finding) -> bool:
    """Whether there is nothing to say of a node but that it is fine."""
    return finding.verdict == "ok" and any(isinstance(one, AsContracted) for one in finding.reasons[-1:])
