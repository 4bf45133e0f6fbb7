"""Reports, specs and differences of versions as text, Markdown and JSON: pure functions that return strings.

Everything shown is a *page*: sentences and tables, one behind the other. A page is built once and laid out as
terminal text (:func:`text`) or Markdown (:func:`markdown`); JSON is made from the objects themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from minuend.core import operation
from minuend.core.elements import TYPES
from minuend.core.shapes import format_shape
from minuend.errors import escaped
from minuend.plain import as_json, plain
from minuend.standards.dialects import Dialect, dialect
from minuend.standards.version import Change, OpVersion

if TYPE_CHECKING:
    from minuend.actions.difference import CompareReport, Comparison, SubReport, Written
    from minuend.actions.fixing import Fixed
    from minuend.actions.recipes.compare import Tally
    from minuend.runtimes.report import Finding, Report
    from minuend.runtimes.targets import Answer, Target, TargetChange, Witness

WIDTH = 80
"""Columns of text where nothing else is known."""


@dataclass(frozen=True)
class Table:
    """Rows of strings under a header; columns in ``right`` hold numbers.

    A header of empty strings is not shown in text. Neighbours whose headers share a first line show it once there.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


_MEASURING = 1_000_000  # columns; rich never finds a table wider than its console

Page: TypeAlias = Sequence[str | Table]


# ---- layouts --------------------------------------------------------------------------------------------------


def text(page: Page, width: int = WIDTH) -> str:
    """Lay a page out for a terminal of ``width`` columns; no colours, no trailing spaces, one newline at the end.

    Words fold at the width; numbers never do, a table of long ones is wider.

    >>> print(text(["Two types:", Table(("type", "bits"), (("int8", "8"), ("float16", "16")), frozenset({1}))]), end="")
    Two types:
    <BLANKLINE>
    type     bits
    ─────────────
    int8        8
    float16    16
    """
    import io

    from rich.console import Console
    from rich.measure import Measurement
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, color_system=None, force_terminal=False, legacy_windows=False)
    for i, part in enumerate(page):
        if i and (isinstance(part, Table) or isinstance(page[i - 1], Table)):
            stream.write("\n")
        shown = Text(escaped(part)) if isinstance(part, str) else _grid(part)
        console.width = _MEASURING
        console.width = max(width, Measurement.get(console, console.options, shown).minimum)
        console.print(shown)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def _grid(table: Table) -> Any:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    named = any(table.header)
    lines = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
    grid = Grid(box=lines, show_edge=False, show_header=named, padding=(0, 1, 0, 0), pad_edge=False)
    for i, name in enumerate(table.header):
        first, split, rest = name.partition("\n")
        shared = split and i and table.header[i - 1].startswith(f"{first}\n")
        justify: Any = "right" if i in table.right else "left"
        grid.add_column(
            Text(f"\n{rest}" if shared else name),
            justify=justify,
            overflow="fold",
            no_wrap=bool(split) or i in table.right,
        )
    for row in table.rows:
        grid.add_row(*(Text(escaped(cell)) for cell in row))
    return grid


def markdown(page: Page) -> str:
    """Lay a page out as Markdown.

    >>> print(markdown(["Two types:", Table(("type", "bits"), (("int8", "8"),), frozenset({1}))]), end="")
    Two types:
    <BLANKLINE>
    | type | bits |
    |---|---:|
    | int8 | 8 |
    """
    parts = [_escaped(part) if isinstance(part, str) else _pipes(part) for part in page]
    return "\n\n".join(parts) + "\n"


def _pipes(table: Table) -> str:
    rule = "".join("---:|" if i in table.right else "---|" for i in range(len(table.header)))
    rows = (f"| {' | '.join(map(_escaped, row))} |" for row in table.rows)
    return "\n".join((f"| {' | '.join(map(_escaped, table.header))} |", f"|{rule}", *rows))


def _escaped(cell: str) -> str:
    for mark in "\\|*_<`":
        cell = cell.replace(mark, f"\\{mark}")
    return cell.replace("\n", " ")


# ---- the spec -------------------------------------------------------------------------------------------------


def matrix_page(homes: Sequence[Dialect]) -> Page:
    """Show which version takes which element type, and what else the versions differ in.

    A single dialect's types are named as it names them.
    """
    versions = [version for home in homes for version in home.versions]
    names = [name for name in TYPES if any(name in version.types for version in versions)]
    spell = homes[0].spell if len(homes) == 1 else str
    heads = tuple(f"{version.dialect}\n{version.version}" for version in versions)
    types = tuple((spell(name), *("x" if name in version.types else "" for version in versions)) for name in names)
    rows = tuple(
        (
            f"{version.dialect} {version.version}",
            ", ".join(version.attributes.names) or "none",
            version.broadcasting,
            version.inference,
            _ranks(version.ranks),
        )
        for version in versions
    )
    more = Table(("version", "attributes", "broadcasting", "inference", "ranks"), rows)
    return (Table(("type", *heads), types), more)


def spec_page(op: OpVersion) -> Page:
    """Show all that a version's row holds, in its dialect's spelling."""
    home = dialect(op.dialect)
    later = home.versions[home.versions.index(op) + 1 :]
    until = f", until {home.counted} {later[0].version} changes it" if later else ""
    page: list[str | Table] = [f"{home.title} {op}: since {home.counted} {op.version}{until}"]
    rows = (
        ("types", ", ".join(map(home.spell, op.types))),
        ("ranks", _ranks(op.ranks)),
        ("broadcasting", op.broadcasting),
        ("inference", op.inference),
        *(("note", note) for note in op.notes),
        *((key, _shown(value)) for key, value in op.facts.items()),
    )
    page.append(Table(("", ""), rows))
    if op.attributes:
        listed = ((a.name, a.type, "none" if a.default is None else _shown(a.default), a.doc) for a in op.attributes)
        page.append(Table(("attribute", "type", "default", "meaning"), tuple(listed)))
    for head, params in (("input", op.inputs), ("output", op.outputs)):
        page.append(Table((head, "type", "meaning"), tuple((p.name, p.type, p.doc) for p in params)))
    return page


def _ranks(ranks: tuple[int, int | None]) -> str:
    low, high = ranks
    return f"{low} and above" if high is None else str(low) if low == high else f"{low} to {high}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def diff_page(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> Page:
    """Show what changed from one version to another, a line each; what is only worded anew shares one line."""
    home = dialect(old.dialect)
    rows: list[tuple[str, str]] = []
    reworded: list[str] = []
    for change in changes:
        if change.field == "notes" or change.field.endswith(".doc"):
            reworded.append(change.field.removesuffix(".doc"))
        else:
            rows.append((change.field, _changed(home, change)))
    if reworded:
        rows.append(("worded anew", ", ".join(reworded)))
    if not rows:
        return (f"{home.title} {old}: the same version, nothing changed",)
    return (f"{home.title} {old} → {new}", Table(("", ""), tuple(rows)))


def _changed(home: Dialect, change: Change) -> str:
    if change.field == "ranks":
        return f"{_ranks(change.removed[0])} → {_ranks(change.added[0])}"
    if (
        change.field not in ("types", "attributes", "inputs", "outputs")
        and len(change.added) == len(change.removed) == 1
    ):
        return f"{_shown(change.removed[0])} → {_shown(change.added[0])}"
    name = home.spell if change.field == "types" else _shown
    return " ".join([f"+{name(item)}" for item in change.added] + [f"−{name(item)}" for item in change.removed])


def spec_json(op: OpVersion) -> str:
    """A version's row as JSON; ``spelled`` gives its types in the dialect's own names."""
    return as_json({**plain(op), "spelled": [dialect(op.dialect).spell(name) for name in op.types]})


def matrix_json(homes: Sequence[Dialect]) -> str:
    """Every version's row as JSON, a list."""
    return as_json([version for home in homes for version in home.versions])


def diff_json(old: OpVersion, new: OpVersion, changes: Iterable[Change]) -> str:
    """What changed as JSON: ``dialect``, ``old``, ``new`` and ``changes`` of ``field``, ``added``, ``removed``."""
    return as_json({"dialect": old.dialect, "old": old.version, "new": new.version, "changes": list(changes)})


# ---- subtraction of files -------------------------------------------------------------------------------------


def sub_page(report: SubReport) -> Page:
    """Show what was subtracted and written."""
    speed = f" ({report.nbytes / report.seconds / 1e9:.2f} GB/s)" if report.seconds else ""
    page: list[str | Table] = [f"{_title(report)} → {report.out}"]
    if len(report.tensors) == 1:
        page += _written_lines(report.tensors[0], report.overflow)
    else:
        page.append(_written_table(report.tensors))
    page += _skipped(report.skipped)
    return [*page, f"{_number(len(report.tensors), 'tensor')} written in {report.seconds:.3f} s{speed}"]


def _title(report: SubReport | CompareReport) -> str:
    rules = f", as {report.rules}" if report.rules else ""
    return f"{report.a} − {report.b}{rules}"


def _written_lines(tensor: Written, overflow: str) -> list[str]:
    lines = [f"{_types(tensor)}, {_number(tensor.elements, 'element')}"]
    if not tensor.element.is_integer:
        return lines
    if tensor.overflowed is None:
        return [*lines, f"overflow: {overflow}, not counted (--count does)"]
    return [*lines, f"overflow: {overflow}, {_fit(tensor.overflowed, tensor.elements, tensor.element.name)}"]


def _written_table(tensors: Sequence[Written]) -> Table:
    rows = (
        (
            tensor.name,
            tensor.result.name,
            format_shape(tensor.shape),
            str(tensor.elements),
            "" if tensor.overflowed is None else str(tensor.overflowed),
        )
        for tensor in tensors
    )
    return Table(("tensor", "dtype", "shape", "elements", "overflowed"), tuple(rows), frozenset({3, 4}))


def compare_page(report: CompareReport) -> Page:
    """Show the policies' answers side by side."""
    page: list[str | Table] = [_title(report)]
    for tensor in report.tensors:
        name = f"{tensor.name}: " if len(report.tensors) > 1 else ""
        page.append(f"{name}{_types(tensor)}, {_number(tensor.elements, 'element')}")
        page += _found_lines(tensor)
        page.append(_answers(tensor))
    return [*page, *_skipped(report.skipped), "nothing written; -o OUT writes the difference"]


def _found_lines(tensor: Comparison) -> list[str]:
    if not tensor.element.is_integer:
        return [f"{_number(tensor.nans, 'difference')} {'is' if tensor.nans == 1 else 'are'} NaN"]
    told = _fit(tensor.overflowed, tensor.elements, tensor.element.name)
    if tensor.first is None:
        return [told]
    index, a, b = tensor.first
    return [told, f"the first is at index {index}: {operation.equation(a, b)}"]


def _answers(tensor: Comparison) -> Table:
    rows = tuple(
        (
            row.policy if tensor.element.is_integer else "none (floats)",
            row.element.name,
            *((f"{row.unfit} do not fit", "") if row.unfit else (_value(row.low), _value(row.high))),
            _value(row.first),
        )
        for row in tensor.answers
    )
    if not tensor.element.is_integer:
        return Table(("dtype", "lowest", "highest"), tuple(row[1:4] for row in rows), frozenset({1, 2}))
    return Table(("overflow", "dtype", "lowest", "highest", "first overflow"), rows, frozenset({2, 3, 4}))


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def _types(tensor: Written | Comparison) -> str:
    if tensor.a_shape == tensor.b_shape == tensor.shape:
        return f"{tensor.element} {format_shape(tensor.shape)}"
    shapes = f"{format_shape(tensor.a_shape)} − {format_shape(tensor.b_shape)} = {format_shape(tensor.shape)}"
    return f"{tensor.element} {shapes}"


def _fit(overflowed: int, elements: int, element: str) -> str:
    if not overflowed:
        return f"every difference fits {element}"
    share = f" ({100 * overflowed / elements:.3g} %)"
    return f"{_number(overflowed, 'difference')}{share} {'does' if overflowed == 1 else 'do'} not fit {element}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _skipped(names: Sequence[str]) -> list[str]:
    return [f"skipped, in one file alone: {', '.join(names)}"] if names else []


def sub_json(report: SubReport | CompareReport, tool: str) -> str:
    """What was subtracted as JSON: the report's fields, element types by name, and the format's ``version``."""
    data = plain(report)
    for tensor in data["tensors"]:
        for row in (tensor, *tensor.get("answers", ())):
            row.update({key: row[key]["name"] for key in ("element", "result") if key in row})
    return as_json({"version": 1, "tool": tool, **data})


# ---- a model against targets ----------------------------------------------------------------------------------


def check_page(report: Report) -> Page:
    """Show what was found, node by node; nodes that are plainly fine on every target share one line."""
    from minuend.actions.checking import AS_CONTRACTED

    nodes: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        nodes.setdefault((finding.location, finding.opversion), []).append(finding)
    page: list[str | Table] = []
    for found in nodes.values():
        if all(finding.verdict == "ok" and finding.reason.endswith(AS_CONTRACTED) for finding in found):
            continue
        page.append(_node_line(found[0]))
        page.append(Table(("", "", ""), tuple((f.target, f.verdict, f.reason) for f in found)))
    page += list(report.notes)
    return [*page, *_check_summary(report, nodes)]


def _node_line(finding: Finding) -> str:
    dialect_name, _, version = finding.opversion.partition(":")
    parts = [f"{dialect(dialect_name).resolve(version)}"]
    parts += [finding.dtype] if finding.dtype else []
    parts += [f"{finding.shape_relation} shapes" if finding.shape_relation == "same" else finding.shape_relation]
    parts += [f"constants: {finding.constants}"] if finding.constants != "none" else []
    return f"{finding.location}: {', '.join(parts)}"


def _check_summary(report: Report, nodes: Mapping[Any, Sequence[Finding]]) -> list[str]:
    if not nodes:
        return [f"{report.title} has no subtraction"]
    targets = list(dict.fromkeys(finding.target for finding in report.findings))
    fine = sum(all(finding.verdict == "ok" for finding in found) for found in nodes.values())
    counts = {verdict: sum(f.verdict == verdict for f in report.failures) for verdict in _verdicts(report)}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    lines = [f"{report.title}: {_number(len(nodes), 'subtraction')} on {', '.join(targets)}"]
    return [*lines, f"{fine} fine everywhere" + (f"; findings: {told}" if told else "")]


def _verdicts(report: Report) -> list[str]:
    return list(dict.fromkeys(finding.verdict for finding in report.failures))


# ---- what runtimes do -----------------------------------------------------------------------------------------


def prove_page(report: Report) -> Page:
    """Show what a runtime deviates in: a line for each element type and value class, with the first witness."""
    facts = report.facts
    page: list[str | Table] = [
        _asked(facts),
    ]
    for verdict, head, table in (
        ("different-numbers", "Numbers that differ from the contract:", _numbers_table),
        ("not-implemented", "Refused by the runtime:", _refusals_table),
    ):
        found = [finding for finding in report.findings if finding.verdict == verdict]
        if found:
            page += [head, table(found)]
    return [*page, *report.notes, *_unexpected(report)]


def _asked(facts: Mapping[str, Any]) -> str:
    what = f"{_number(facts['cases'], 'case')}, {facts['pairs']:,} pairs of operands"
    edges = " (edges only)" if facts["quick"] else ""
    return f"{facts['runtime']} {facts['release']}: {what}, {facts['seconds']} s{edges}"


def _unexpected(report: Report) -> list[str | Table]:
    if report.ok:
        return ["nothing deviates that is not listed, and nothing that is listed is gone"]
    shown = report.failures[:_SHOWN]
    rows = tuple((finding.unexpected, finding.case, str(finding.witness or finding.reason)) for finding in shown)
    left = len(report.failures) - len(shown)
    more = [f"and {_number(left, 'more finding')}; --json shows them all"] if left else []
    head = f"{_number(len(report.failures), 'finding')} that the list of known deviations does not account for:"
    return [head, Table(("", "case", "witness"), rows), *more]


_SHOWN = 20


def _numbers_table(findings: Sequence[Finding]) -> Table:
    plain = {
        (finding.dtype, finding.value_class, finding.constants)
        for finding in findings
        if finding.shape_relation not in _MISREAD
    }
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        dtype = "" if finding.witness is None else finding.dtype
        misread = finding.shape_relation in _MISREAD
        misread &= (finding.dtype, finding.value_class, finding.constants) not in plain
        values = finding.shape_relation if misread else finding.value_class
        groups.setdefault((dtype, values, finding.reason), []).append(finding)
    rows = (
        (
            dtype or _types_of(group),
            values,
            _operators((finding.opversion for finding in group), {finding.dtype for finding in group}),
            _constants(finding.constants for finding in group),
            reason or min((_difference(finding.witness) for finding in _telling(group)), key=len),
        )
        for (dtype, values, reason), group in sorted(groups.items(), key=_by_type)
    )
    return Table(("type", "values", "operator", "constants", "first witness"), tuple(rows))


def _telling(findings: Sequence[Finding]) -> Sequence[Finding]:
    """The findings in which the shapes are not to blame, where there are any."""
    return [finding for finding in findings if finding.shape_relation not in _MISREAD] or findings


def _by_type(item: tuple[tuple[str, ...], Any]) -> int:
    """Sorts by element type, what concerns several of them last."""
    order = list(TYPES)
    return order.index(item[0][0]) if item[0][0] else len(order)


def _types_of(findings: Iterable[Finding]) -> str:
    return ", ".join(sorted({finding.dtype for finding in findings}, key=list(TYPES).index))


def _constants(names: Iterable[str]) -> str:
    """Which operands are constants where something holds: ``"any"``, ``"not both"``, or their names."""
    from minuend.runtimes.cases import CONSTANTS

    found = set(names)
    if found == set(CONSTANTS):
        return "any"
    if found == set(CONSTANTS) - {"both"}:
        return "not both"
    if found == set(CONSTANTS) - {"none"}:
        return "some"
    return ", ".join(name for name in CONSTANTS if name in found)


def _difference(witness: Witness | None) -> str:
    """A witness in short: ``"5 - 10 = 0, not 251"``."""
    if witness is None:
        return ""
    a, b, got, expected = map(_short, (witness.a, witness.b, witness.got, witness.expected))
    return f"{operation.said(a, b)} = {got}, not {expected}"


def _short(value: float) -> str:
    """A number; large whole ones next to a power of two by that power: ``"-2^63"``, ``"2^32-1"``."""
    if isinstance(value, float) or abs(value) < 2**24:
        return _value(value)
    power = (abs(value) + 8).bit_length() - 1
    rest = abs(value) - 2**power
    if abs(rest) > 8:
        return str(value)
    shown = f"2^{power}" + (f"{rest:+}" if rest else "")
    return shown if value > 0 else f"-({shown})" if rest else f"-{shown}"


_MISREAD = ("legacy axis", "pdpd", "zero-size")
"""Relations under which a deviation is one of shapes, whatever the values are."""


def _operators(names: Iterable[str], dtypes: set[str]) -> str:
    """Join versions by dialect: ``"onnx 1 6, openvino"``; a dialect alone stands for all versions that have a type."""
    versions: dict[str, set[str]] = {}
    for name in names:
        home, _, version = name.partition(":")
        versions.setdefault(home, set()).add(version)
    return ", ".join(_span(home, known, dtypes) for home, known in sorted(versions.items()))


def _span(home: str, found: set[str], dtypes: set[str]) -> str:
    having = [str(version.version) for version in dialect(home).versions if dtypes & set(version.types)]
    shown = [version for version in having if version in found]
    return home if shown == having else " ".join((home, *shown))


def _refusals_table(findings: Sequence[Finding]) -> Table:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.reason, []).append(finding)
    rows = (
        (
            _types_of(group),
            _operators((finding.opversion for finding in group), {finding.dtype for finding in group}),
            _some(finding.shape_relation for finding in group),
            message,
        )
        for message, group in groups.items()
    )
    return Table(("type", "operator", "shapes", "message"), tuple(rows))


def _some(names: Iterable[str], few: int = 3) -> str:
    """A few names, or how many there are."""
    known = tuple(dict.fromkeys(names))
    return ", ".join(known) if len(known) <= few else f"{len(known)} relations"


def targets_page(targets: Sequence[Target]) -> Page:
    """Show every target: what it is, and where its facts are from."""
    groups: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        how = f"declared: {target.source}" if target.declared else f"measured {target.date} on {target.cpu}"
        groups.setdefault((target.runtime, how), []).append(target.release)
    rows = tuple((runtime, ", ".join(releases), how) for (runtime, how), releases in groups.items())
    return (Table(("runtime", "releases", "facts"), rows),)


def targets_diff_page(old: Target, new: Target, changes: Sequence[TargetChange]) -> Page:
    """Show in what two targets differ, a line for each element type and value class."""
    head = f"{old.name} → {new.name}"
    if not changes:
        return (f"{head}: nothing changed in what both were asked",)
    groups: dict[tuple[str, str, str, str], list[tuple[str, TargetChange]]] = {}
    for change in changes:
        for dtype in change.dtypes:
            shown = "" if change.old.witness is None and change.new.witness is None else dtype
            key = (shown, change.value_class, change.old.verdict, change.new.verdict)
            groups.setdefault(key, []).append((dtype, change))
    rows = []
    for (dtype, values, *_), group in sorted(groups.items(), key=_by_type):
        dtypes, found = {name for name, _ in group}, [change for _, change in group]
        rows.append(
            (
                dtype or ", ".join(sorted(dtypes, key=list(TYPES).index)),
                values,
                _operators((version for change in found for version in change.opversions), dtypes),
                _constants(name for change in found for name in change.constants),
                _some((name for change in found for name in change.relations), 2),
                min((f"{_told(change.old)} → {_told(change.new)}" for change in found), key=len),
            )
        )
    return (head, Table(("type", "values", "operator", "constants", "shapes", "first change"), tuple(rows)))


def _told(answer: Answer) -> str:
    if answer.witness is None:
        return answer.verdict
    w = answer.witness
    return f"{operation.said(_short(w.a), _short(w.b))} = {_short(w.got)}"


def targets_json(targets: Sequence[Target], tool: str) -> str:
    """Every target's name and provenance as JSON."""
    rows = [
        {"name": t.name, "runtime": t.runtime, "release": t.release, "measured": t.provenance, "source": t.source}
        for t in targets
    ]
    return as_json({"version": 1, "tool": tool, "targets": rows})


def targets_diff_json(old: Target, new: Target, changes: Sequence[TargetChange], tool: str) -> str:
    """In what two targets differ as JSON."""
    return as_json({"version": 1, "tool": tool, "old": old.name, "new": new.name, "changes": list(changes)})


# ---- fix ------------------------------------------------------------------------------------------------------


def fix_lines(fixed: Fixed, source: str, written: str) -> list[str]:
    """Show what was fixed and what was refused, a line each; ``written`` is the file, ``""`` for none."""
    lines = [f"{source} → {written} for {fixed.target}" if written else f"{source} for {fixed.target}"]
    lines += [f"~ {change}" for change in fixed.changes]
    lines += [f"! refused: {refusal}" for refusal in fixed.refused]
    if fixed.untouched and fixed.touched:
        lines.append(
            f"{_number(fixed.untouched, 'subtraction')} left as {'it is' if fixed.untouched == 1 else 'they are'}"
        )
    if fixed.comparison is not None:
        lines.append(str(fixed.comparison))
    if not written:
        lines.append(f"nothing written{'; --partial writes what could be fixed' if fixed.touched else ''}")
    return lines


def fix_json(fixed: Fixed, source: str, written: str) -> str:
    """What was fixed as JSON."""
    c = fixed.comparison
    compared = None
    if c is not None:
        tallies = {"subtractions": _tally(c.subtractions), "outputs": _tally(c.outputs)}
        compared = {"runtime": c.runtime, **tallies, "skipped": c.skipped, "unlike": c.unlike}
    refused = [
        {
            "location": one.location,
            "node": one.node,
            "dtype": one.dtype,
            "reason": one.reason,
            "instead": one.instead,
            "others": one.others,
        }
        for one in fixed.refused
    ]
    return as_json(
        {
            "version": 1,
            "model": source,
            "target": fixed.target,
            "overflow": fixed.overflow,
            "path": written or None,
            "changes": fixed.changes,
            "refused": refused,
            "untouched": fixed.untouched,
            "comparison": compared,
        }
    )


def _tally(tally: Tally) -> dict[str, Any]:
    keys = ("place", "index", "got", "expected")
    first = None if tally.first is None else dict(zip(keys, tally.first, strict=True))
    return {"elements": tally.elements, "different": tally.different, "first": first}
