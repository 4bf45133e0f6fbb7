"""``check``: the occurrences of operators in models on targets, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from minuend.cli.pages.layout import Labelled, Page, Part, Table, aligned
from minuend.cli.pages.runs import outcome, run_lines
from minuend.language import Language
from minuend.plain import grouped
from minuend.runtimes import rendering
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.cases import RELATIONS
from minuend.runtimes.explaining import Command, cause, explained, is_command, unread
from minuend.runtimes.formats import Unread
from minuend.runtimes.reasons import Reason, SettingNeeded
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
    {"not counted": "{what} (not counted)", "tolerated": "{what} (tolerated)", "accepted": "{what} (accepted)"}
)
"""What a summary adds to findings that do not count."""


def texts() -> Iterator[str]:
    """Yield every text of the tables that a catalogue has to have."""
    yield from (text for row in (*NOUNS.values(), *_FOUND.values()) for text in row)
    yield from (text for row in _MARKS.items() for text in row)
    yield from ("why", "do")


def gate_page(gate: Gate, language: Language, *, whole: bool = False) -> Page:
    """Show what was found in models: a single one's page, or a section for each and a summary of all.

    Args:
        gate: what was found. whole: show every node, and all that is known of it.
    """
    return _Pages(language, NOUNS[gate.operator.name], whole).gate(gate)


class _Pages:
    """Pages in a language; ``whole``: with all that is known of every node."""

    def __init__(self, language: Language, nouns: Nouns, whole: bool) -> None:
        self.language, self.tr, self.nouns = language, language.tr, nouns
        self.whole = whole

    # ---- many models ------------------------------------------------------------------------------------------

    def gate(self, gate: Gate) -> Page:
        if len(gate.models) == 1 and gate.reports:
            return [*self.report(gate.reports[0]), *gate.notes]
        shared: Counter[Note] = Counter()
        for report in gate.reports:
            shared.update((*_of_all(report), *report.notes))
        common = [note for note, count in shared.items() if count > 1]
        page: list[Part] = []
        long = False
        for one in gate.models:
            section = list(self._section(one, common))
            page += _blank(page) if long or len(section) > 1 else []
            long = len(section) > 1
            page += section
        processors = dict.fromkeys(one for report in gate.reports for one in report.processors if self.whole)
        after = [*self._notes(common), *gate.notes, *self._notes(processors), *self._total(gate)]
        return [*page, *_blank(page), *after]

    def _section(self, looked: Looked, common: Sequence[Note]) -> Iterator[Part]:
        """What was found in one of several models; a line where there is nothing to show."""
        if isinstance(looked, Unread):
            message = looked.message.removeprefix(f"{looked.model}: ")
            if looked.defect:
                yield self.tr("{model} is not judged: {message}", model=looked.model, message=message)
            else:
                yield self.tr("{model} cannot be read: {message}", model=looked.model, message=message)
            return
        yield f"{looked.title}{self._counts(looked)}"
        yield from self._findings(looked)
        notes: tuple[Note, ...] = (*_of_all(looked), *looked.notes)
        yield from self._notes(note for note in notes if note not in common)
        yield from self._runs(looked)

    def _counts(self, report: Report) -> str:
        nodes = {(finding.location, finding.opversion) for finding in report.findings}
        if not nodes:
            return self.tr(self.nouns.lacking)
        if not all(finding.verdict == "ok" for finding in report.findings):
            return self.tr(": {subtractions}, {found}", subtractions=self._counted(nodes), found=self._found(report))
        fine = self.tr(": {subtractions}, all as expected", subtractions=self._counted(nodes))
        return fine + self._where(report)

    def _fine(self, report: Report) -> str:
        """That all is as expected, on which targets, and what that assumes."""
        nodes = {(finding.location, finding.opversion) for finding in report.findings}
        targets = rendering.all_of(list(dict.fromkeys(one.target for one in report.findings)), self.language)
        found = self.tr("as expected on {targets}", targets=targets)
        fine = self.tr(": {subtractions}, {found}", subtractions=self._counted(nodes), found=found)
        return fine + self._where(report)

    def _where(self, report: Report) -> str:
        if not report.assumed:
            return ""
        return self.tr(", where {assumed}", assumed=rendering.all_of(report.assumed, self.language))

    def _counted(self, nodes: Iterable[object]) -> str:
        count = len(list(nodes))
        return self.tr(self.nouns.one) if count == 1 else self.tr(self.nouns.several, count=count)

    def _total(self, gate: Gate) -> Iterator[str]:
        """A line on all models, and one for each target, with what was found on it."""
        wrong = sum(not report.ok for report in gate.reports)
        parts = [self.tr("{count} fine", count=len(gate.reports) - wrong)]
        parts += [self.tr("{count} with findings", count=wrong)] if wrong else []
        failed = sum(one.defect for one in gate.unread)
        unread = len(gate.unread) - failed
        parts += [self.tr("{count} not read", count=unread)] if unread else []
        parts += [self.tr("{count} not judged", count=failed)] if failed else []
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
        """What was found, cause by cause; a line where all is fine on one target."""
        found = [*self._notes(_of_all(report)), *self._findings(report), *report.notes, *self._runs(report)]
        details = self._notes(report.processors) if self.whole else ()
        if not found and len({one.target for one in report.findings}) == 1 and not report.trials:
            return [*details, f"{report.title}{self._fine(report)}"]
        return [*found, *_blank(found), *details, *self._summary(report)]

    def _findings(self, report: Report) -> Iterator[Part]:
        """The findings of each target and verdict, the causes of most nodes first; then all nodes, if ``whole``."""
        targets = list(dict.fromkeys(one.target for one in report.findings))
        wrong = [one for one in report.findings if one.verdict != "ok"]
        together = grouped((unread(one), one.target) for one in wrong)
        sections = grouped(
            ((tuple(dict.fromkeys(together[unread(one)])) if unread(one) else (one.target,),
              self._mark(report, one), one.verdict), one)
            for one in wrong
        )  # fmt: skip

        def place(section: tuple[tuple[str, ...], str, str]) -> tuple[int, int, int]:
            (target, *_), mark, verdict = section
            return targets.index(target), ["", *_MARKS].index(mark), VERDICTS.index(verdict)

        for i, section in enumerate(sorted(sections, key=place)):
            (names, mark, verdict), found = section, sections[section]
            if i:
                yield ""
            if len(names) > 1:  # none of them reads the model
                yield "  ".join(filter(None, (", ".join(names), verdict, self.tr(mark))))
                yield from self._cause(found, report.command)
                continue
            yield Table(("", "", ""), ((names[0], verdict, self.tr(mark)),), whole=_NAMES, tight=True)
            causes = grouped((cause(one, self.language), one) for one in found)
            for alike in sorted(causes.values(), key=len, reverse=True):
                yield from self._cause(alike, report.command)
        if self.whole:
            yield from self._nodes(report)

    def _cause(self, found: Sequence[Finding], command: Command) -> Iterator[Part]:
        """Nodes that differ for one cause: which they are, with an example, why, and what to do."""
        said = explained(found, self.language, command)
        places = list(dict.fromkeys(one.location for one in found))
        named = self._named(places)
        if len(places) > 1:
            named = self.tr("{nodes} ({places})", nodes=self._counted(places), places=named)
        yield self.language.labelled(named, said.what)
        why, do = aligned([f"  {self.language.labelled(self.tr(word), '.')[:-1]}" for word in ("why", "do")])
        if said.why:
            yield Labelled(why, said.why)
        for i, line in enumerate(said.todo):
            yield Labelled(aligned(["", do])[0] if i else do, line, command=is_command(line))

    def _named(self, places: Sequence[str]) -> str:
        left = len(places) - _MOST
        more = [self.tr("{count} more", count=left)] if left > 0 else []
        return rendering.all_of([*places[:_MOST], *more], self.language)

    def _nodes(self, report: Report) -> Iterator[Part]:
        """Every node on every target with all that is known of it; those together of which the same was found."""
        nodes = grouped(((finding.location, finding.opversion), finding) for finding in report.findings)
        alike = grouped(
            ((self._kind(found[0]), tuple(map(self._row, found))), found[0].location) for found in nodes.values()
        )
        for (kind, rows), places in alike.items():
            yield self.language.labelled(self._named(places), kind)
            yield Table(("", "", ""), rows, whole=_NAMES)

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

    def _summary(self, report: Report) -> list[str]:
        ran = [
            self.tr(
                "unmodified on {runtime}: {outcome}",
                runtime=one.runtime,
                outcome=one.told if one.ok else self._marked(outcome(one), one),
            )
            for one in report.trials
            if not one.accepted
        ]
        nodes = {(finding.location, finding.opversion) for finding in report.findings}
        if not nodes:
            return [f"{report.title}{self.tr(self.nouns.lacking)}", *ran]
        return [self.language.labelled(report.title, self._counted(nodes)), *self._targets(report), *ran]

    def _marked(self, what: str, trial: Trial) -> str:
        return what if trial.tolerated is None else self.tr(_MARKS["tolerated"], what=what)

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
            yield self.tr("as expected on {targets}", targets=rendering.all_of(fine, self.language)) + self._where(
                report
            )

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


def _blank(page: Sequence[Part]) -> list[str]:
    """An empty line, where none comes by itself: tables have them around them."""
    return [""] if page and not isinstance(page[-1], Table) else []


def _of_all(report: Report) -> list[Reason]:
    """What a reader has to know first, but for settings, which the findings that need them name."""
    return [one for one in report.notices if not isinstance(one, SettingNeeded)]
