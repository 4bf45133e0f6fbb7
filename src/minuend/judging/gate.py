"""Many models against targets, as a gate in CI: what counts, what is accepted, and what is known beyond the models."""

from __future__ import annotations

import itertools
import os
import traceback
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from minuend import _native
from minuend.errors import FileFormatError, MinuendError, SpecError, cut, readable, shown
from minuend.forked import results
from minuend.judging.checking import examine
from minuend.judging.configuration import (
    WHOLE,
    Accepted,
    Config,
    Configs,
    Usual,
    baseline_reason,
    check_targets,
    with_entries,
)
from minuend.judging.options import Judging
from minuend.models.occurrences import state_of, value_names
from minuend.models.opening import Model, open_model
from minuend.models.ranges.assumed import NONE, Assumed, Assumptions, missing
from minuend.models.searching import search
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.plain import LEFT_OUT, grouped
from minuend.runtimes import registry
from minuend.runtimes.explaining import commands
from minuend.runtimes.finding import Finding
from minuend.runtimes.formats import Unread, sarif, uri_of
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import Report
from minuend.runtimes.tolerance import Tolerances

if TYPE_CHECKING:
    from minuend.runtimes.trials import Trial

Looked: TypeAlias = Report | Unread
"""What came of a model."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What was found in some models.

    Attributes:
        models: what came of each, in the order in which they were named. targets: those that were judged, by name.
        notes: sentences about no model: accepted findings that are gone, names that no model of these has.
        sources: every file that a model names, and what else was read.
    """

    models: tuple[Looked, ...]
    targets: tuple[str, ...]
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    operator: Operator = field(default=SUBTRACT, metadata=LEFT_OUT)

    @property
    def reports(self) -> tuple[Report, ...]:
        """The reports of the models that could be read."""
        return tuple(one for one in self.models if isinstance(one, Report))

    @property
    def unread(self) -> tuple[Unread, ...]:
        """Those that could not."""
        return tuple(one for one in self.models if isinstance(one, Unread))

    @property
    def ok(self) -> bool:
        """Whether every model could be read and nothing counts."""
        return not self.unread and all(report.ok for report in self.reports)

    def with_options(self, options: str) -> Gate:
        """Return it with commands that have these options as well; see :func:`minuend.runtimes.explaining.commands`."""
        given = commands([path_of(one) for one in self.models], options)
        models = zip(self.models, given, strict=True)
        return replace(self, models=tuple(replace(x, given=y) if isinstance(x, Report) else x for x, y in models))

    def to_json(self) -> dict[str, object]:
        """Return it as plain data: the findings of all models, each with its model, and a summary of each model."""
        several = len(self.models) > 1
        notes = [
            f"{report.title}: {note}" if several else note
            for report in self.reports
            for note in (*report.head, *report.notes)
        ]
        data: dict[str, object] = {
            "notes": [*notes, *self.notes],
            "conditions": list(dict.fromkeys(one for report in self.reports for one in report.conditions)),
            "models": [_summary(one) for one in self.models],
            "findings": [
                {**one.to_json(), "model": report.title} for report in self.reports for one in report.findings
            ],
        }
        if runs := [{**one.to_json(), "model": report.title} for report in self.reports for one in report.trials]:
            data["runs"] = runs
        return data

    def to_junit(self) -> str:
        """Return it as JUnit XML, a test suite a model."""
        from minuend.runtimes.junit import junit_of_all

        return junit_of_all(self.models)

    def to_sarif(self, tool_version: str) -> str:
        """Return it as SARIF 2.1.0, paths relative to the project's folder; see :func:`project`."""
        root = project()
        models = [(one, uri_of(Path(os.path.abspath(path_of(one))), root)) for one in self.models]
        return sarif(models, tool_version, f"{root.as_uri().rstrip('/')}/")


def path_of(looked: Looked) -> str:
    """Return the path of a model that was looked at."""
    return looked.title if isinstance(looked, Report) else looked.model


def _summary(looked: Looked) -> dict[str, object]:
    if isinstance(looked, Unread):
        error = {"kind": looked.kind, "message": looked.message}
        return {"path": looked.model, "ok": False, "subtractions": None, "verdicts": {}, "error": error}
    verdicts = {
        name: dict(Counter(one.verdict for one in found))
        for name, found in grouped((one.target, one) for one in looked.findings).items()
    }
    return {
        "path": looked.title,
        "ok": looked.ok,
        "subtractions": len({(one.location, one.opversion) for one in looked.findings}),
        "verdicts": verdicts,
        "counted": len(looked.failures) + len(looked.failed_trials),
        "accepted": sum(bool(one.accepted) for one in looked.findings)
        + sum(bool(one.accepted) for one in looked.trials),
        "tolerated": sum(one.tolerated is not None for one in looked.findings)
        + sum(one.tolerated is not None for one in looked.trials),
        "assumed": looked.assumed,
    }


def project() -> Path:
    """Return the folder of the project: the nearest one with ``.git`` from the working directory up, or that itself."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


# ---- looking at models ----------------------------------------------------------------------------------------


def check_models(
    paths: Sequence[str],
    judging: Judging,
    configs: Configs,
    progress: Callable[[int, int], None] = lambda *_: None,
    advise: Callable[[Report, Model, Judging], Report] = lambda report, *_: report,
    lost: Sequence[OSError] = (),
) -> Gate:
    """Judge an operator's occurrences in models.

    A model among several that cannot be read is an error of its own; of a single one the error is raised.

    Args:
        paths: of the models; see :func:`minuend.models.searching.search`.
        judging: what they are judged on; what is assumed there counts before what a model's file assumes.
        configs: the files about the models.
        progress: called with how many models are done, and of how many.
        advise: called with each report, its model and what that was judged on; adds what helps against the findings.
        lost: what kept folders from being listed, each of which is read as little as a model that cannot be.

    Raises:
        SpecError: something assumed of a value that no model has, or inputs for several models. FileFormatError: a
            malformed ``minuend.toml``. Others: see :func:`minuend.judging.checking.check`.
    """
    if judging.runs is not None and judging.runs.inputs is not None and len(paths) != 1:
        raise SpecError("inputs", f"--input tells what one model gets, and {len(paths)} are given; name one model")
    if judging.runs is not None:
        from minuend.judging.run_check import installed

        for target in judging.targets:
            installed(target)
    names = tuple(target.name for target in judging.targets)
    own = [configs.of(path) for path in paths]
    for config in own:
        if config is not None:
            check_targets(config, names)
    processes = _processes(paths, judging)
    step = _TOGETHER if processes > 1 else 1
    models = list(zip(paths, own, strict=True))
    looking = _Looking(judging=judging, advise=advise, alone=len(paths) == 1 and not lost)
    found = _Judged([], {}, Beyond())
    progress(0, len(paths))
    groups = [models[i : i + step] for i in range(0, len(paths), step)]
    for some in results(looking, groups, processes, looking.one_by_one):
        found.add(some)
        progress(len(found.looked), len(paths))
    found.looked.extend(_unread(str(error.filename), error) for error in lost)
    unread = any(isinstance(one, Unread) for one in found.looked)
    notes = (*found.beyond.notes(paths, unread), *_not_taken(configs))
    (operator,) = judging.operators
    gate = Gate(models=tuple(found.looked), targets=names, notes=notes, sources=tuple(found.sources), operator=operator)
    return accepted(gate, configs)


_TOGETHER = 16
"""Models that a process judges before it is given more."""

_WORTH = 64
"""Models for which another process is worth its start."""

_LARGE = 64 << 20
"""Bytes of a model that is not judged beside others: each takes several times its size of memory."""


def _processes(paths: Sequence[str], judging: Judging) -> int:
    """Return how many processes judge models; what runs them is in processes of its own."""
    most = min(_native.get_num_threads(), len(paths) // _WORTH)
    return most if most > 1 and judging.runs is None and max(map(_bytes_of, paths)) <= _LARGE else 1


def _bytes_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


@dataclass(frozen=True, slots=True)
class _Judged:
    """What came of some models.

    Attributes:
        looked: of each. sources: the files that they name, and those about them.
        beyond: what is known of their values.
    """

    looked: list[Looked]
    sources: dict[str, None]
    beyond: Beyond

    def add(self, other: _Judged) -> None:
        """Take in what came of other models."""
        self.looked.extend(other.looked)
        self.sources.update(other.sources)
        self.beyond.add(other.beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looking:
    """Judges models one after the other, in this process or in a copy of it.

    Attributes:
        judging, advise: as of :func:`check_models`. alone: whether there is one model in all.
        equal: what was found so far, for what was tolerated: folders hold copies.
    """

    judging: Judging
    advise: Callable[[Report, Model, Judging], Report]
    alone: bool
    equal: dict[Hashable, tuple[Tolerances, Report]] = field(default_factory=dict)

    def __call__(self, models: Sequence[_Named]) -> _Judged:
        """Judge models, each with the file about it."""
        found = _Judged([], {}, Beyond())
        for path, config in models:
            found.sources.update(_sources(path, config))
            try:
                model = open_model(path)
                found.sources.update(dict.fromkeys(model.sources()))
                found.looked.append(self._report(path, model, config, found.beyond))
            except Exception as error:
                if self.alone or _interrupted(error):
                    raise
                found.looked.append(_unread(path, error))
        return found

    def one_by_one(self, models: Sequence[_Named]) -> _Judged:
        """Judge models each in a process of its own, since the one that judged them together ended early."""
        if len(models) > 1:
            found = _Judged([], {}, Beyond())
            for one in results(self, [[model] for model in models], 2, self.one_by_one):
                found.add(one)
            return found
        ((path, config),) = models
        failed = _failed(path, "the process that judged it ended early, perhaps for want of memory")
        return _Judged([failed], _sources(path, config), Beyond())

    def _report(self, path: str, model: Model, config: Config | None, beyond: Beyond) -> Report:
        tolerate = self.judging.tolerate or (Tolerances() if config is None else config.tolerances_of(path))
        own = replace(self.judging, assumed=beyond.of(path, model, config, self.judging.assumed), tolerate=tolerate)
        with own.limits.applied():
            state = None if own.runs is not None else state_of(model, own.assumed, own.operators)
            if state is not None and state in self.equal and self.equal[state][0] == tolerate:
                return replace(self.equal[state][1], title=path)
            report = self.advise(examine(model, own, path), model, own)
        if state is not None and report.findings:
            self.equal[state] = tolerate, report
        return report


def _not_taken(configs: Configs) -> Iterator[str]:
    """Say which files have keys about the whole check, and are not the one that they count in."""
    whole = configs.whole()
    for config in configs.all():
        if config is not whole and config.usual != Usual():
            yield f"{config.path}: models, targets, hint and fail-on count where `minuend check` is run in its folder"


def _sources(path: str, config: Config | None) -> dict[str, None]:
    return dict.fromkeys((*([config.path] if config is not None else []), path))


_Named: TypeAlias = tuple[str, Config | None]
"""A model's path, and the file about it."""


def _interrupted(error: BaseException | None) -> bool:
    """Whether a signal was on its way as an exception when an error came up."""
    while isinstance(error, Exception | GeneratorExit):
        error = error.__context__
    return error is not None


def _failed(path: str, what: str) -> Unread:
    """Return what came of a model that this program failed to judge, with what to report."""
    from minuend import __version__

    return Unread(
        path,
        "defect",
        f"this is a defect of minuend {__version__}: {what}; please report it, with the model; "
        "where it is checked alone, MINUEND_TRACEBACK=1 shows more",
    )


def _unread(path: str, error: Exception) -> Unread:
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("minuend"):
        package = error.name.partition(".")[0]
        return Unread(path, "missing-package", f"this needs the package {package!r}, which is not installed")
    if not isinstance(error, MinuendError | OSError | MemoryError | RecursionError):
        at = traceback.extract_tb(error.__traceback__)[-1]
        said = f": {error}" if str(error) else ""
        place = f"{os.path.basename(at.filename)} line {at.lineno}"
        return _failed(path, readable(f"{type(error).__name__}{cut(said, 300)}, in {place}"))
    known = {"MemoryError": "there is not enough memory for this", "RecursionError": "it nests too deep"}.get(
        type(error).__name__
    )
    system = f"{path}: {error.strerror}" if isinstance(error, OSError) and error.strerror else None
    return Unread(path, "bad-input" if isinstance(error, MinuendError) else "system", known or system or str(error))


@dataclass
class Beyond:
    """What is known of values, model by model, and which of those names no model has.

    Attributes:
        absent, present: the names that models lacked and had, each with its table.
        known: all names of the models that were read.
    """

    absent: dict[tuple[str, str, str], Config | None] = field(default_factory=dict)
    present: set[tuple[str, str, str]] = field(default_factory=set)
    known: set[str] = field(default_factory=set)

    def of(self, path: str, model: Model, config: Config | None, given: Assumptions) -> Assumptions:
        """Return what is known of the values of a model; ``given`` by the command line, for every one."""
        rules = list(config.rules_of(path)) if config is not None else []
        if not (rules or given):
            return NONE
        names = value_names(model)
        self.known.update(names)
        assumed: dict[str, Assumed] = {}
        for home, where, glob, stated in (
            *((config, rule.where, rule.path, rule.assume) for rule in rules),
            (None, "", "", given),
        ):
            for name, one in stated.items():
                key = (f"{home.path}: {where}" if home is not None else "", glob, name)
                if name in names:
                    self.present.add(key)
                    assumed[name] = one
                else:
                    self.absent[key] = home
        return assumed

    def add(self, other: Beyond) -> None:
        """Take in what is known of other models."""
        self.absent |= other.absent
        self.present |= other.present
        self.known |= other.known

    def notes(self, checked: Sequence[str], unread: bool) -> Iterator[str]:
        """Say which names none of the models has, where another model may have them, or one that was not read.

        Raises:
            SpecError: no model can have a name: of the command line, or of a file all of whose models were checked.
        """
        gone = [(key, home) for key, home in self.absent.items() if key not in self.present]
        if not unread and (lacking := [name for (where, _, name), _ in gone if not where]):
            raise missing(lacking, self.known)
        for (where, glob, name), home in gone:
            if home is None:
                yield f"--assume: no model that was read has an input or a value {shown(name)}"
                continue
            if not unread and not _others(home, glob, checked):
                raise SpecError("assume", f"{where}: {missing([name], self.known)}")
            yield f"{where}: no model that was checked has an input or a value {shown(name)}"


def _others(config: Config, glob: str, checked: Sequence[str]) -> bool:
    """Whether a table of a file can be about models that were not checked."""
    lost: list[OSError] = []
    try:
        found = search([os.path.dirname(config.path) or os.curdir], lost=lost.append)
    except FileFormatError:
        return False
    if lost:
        return True
    done = {os.path.realpath(path) for path in checked}
    rest = (path for path in found if os.path.realpath(path) not in done)
    return any(not glob or any(glob == rule.path for rule in config.rules_of(path)) for path in rest)


# ---- what is accepted -----------------------------------------------------------------------------------------


def accepted(gate: Gate, configs: Configs) -> Gate:
    """Return what was found with the findings marked that its models' files accept, and a note for each entry gone."""
    used: set[tuple[str, int]] = set()
    models: list[Looked] = []
    for one in gate.models:
        config = configs.of(path_of(one))
        models.append(one if config is None or isinstance(one, Unread) else _marked(one, config, used))
    unread = {one.model for one in gate.unread}
    gone = [
        f"{config.path}: [[accept]] number {entry.number} ({entry}): no longer found, it can go"
        for config in configs.all()
        for entry in config.accepts
        if (config.path, entry.number) not in used
        and (
            about := [path for path in map(path_of, gate.models) if _about(entry, config, path, configs, gate.targets)]
        )
        and not unread.intersection(about)
    ]
    return replace(gate, models=tuple(models), notes=(*gate.notes, *gone))


def _about(entry: Accepted, config: Config, path: str, configs: Configs, targets: Sequence[str]) -> bool:
    return configs.of(path) == config and entry.concerns(config.relative(path), targets)


def _marked(report: Report, config: Config, used: set[tuple[str, int]]) -> Report:
    model = config.relative(report.title)

    def reason(target: str, nodes: tuple[str, ...], verdict: str) -> str:
        covering = [one for one in config.accepts if verdict != "ok" and one.covers(model, target, nodes, verdict)]
        used.update((config.path, one.number) for one in covering)
        return covering[0].reason if covering else ""

    findings = (_with_reason(one, reason(one.target, called(one), one.verdict)) for one in report.findings)
    trials = (_with_reason(one, reason(one.target, (WHOLE,), one.verdict)) for one in report.trials)
    return replace(report, findings=tuple(findings), trials=tuple(trials))


Found = TypeVar("Found", Finding, "Trial")


def _with_reason(found: Found, reason: str) -> Found:
    """What is accepted for a reason, ``""`` for none, whether or not it is tolerated besides."""
    return replace(found, accepted=reason, tolerated=None if reason else found.tolerated)


def called(finding: Finding) -> tuple[str, ...]:
    """Return what the node of a finding can be called: its name, its place, and its place without the name."""
    names = (finding.node, finding.location, finding.location.partition(" '")[0])
    return tuple(dict.fromkeys(name for name in names if name))


def baseline_files(gate: Gate, configs: Configs) -> frozenset[str]:
    """Return the files that a baseline of what was found is written to."""
    return frozenset(configs.path_for(one.title) for one in gate.reports if one.failures or one.failed_trials)


def with_baseline(gate: Gate, configs: Configs) -> tuple[Gate, dict[str, str]]:
    """Return what was found with every finding of today accepted, and the new texts of the files that say so, by path.

    The files' entries of now are accepted first: another process may have written some since the models were judged.

    Raises:
        MinuendError: a file cannot be added to.
    """
    gate = accepted(gate, configs)
    texts: dict[str, str] = {}
    notes: list[str] = []
    for path, reports in grouped((configs.path_for(one.title), one) for one in gate.reports).items():
        config = configs.of(reports[0].title) or Config(path)
        entries = list(dict.fromkeys(entry for report in reports for entry in _entries(report, config)))
        if entries:
            texts[path] = with_entries(config, entries)
            notes.append(f"{path}: {len(entries)} [[accept]] {'entry' if len(entries) == 1 else 'entries'} written")
    for path, text in texts.items():
        configs.adopt(path, text)
    if not texts:
        notes.append("no entries are written: nothing counts that is not accepted")
    marked = accepted(gate, configs)
    return replace(marked, notes=tuple(dict.fromkeys((*marked.notes, *notes)))), texts


def _entries(report: Report, config: Config) -> Iterator[Accepted]:
    """An entry for each finding that counts; a target without its release, so that a newer one does not ask again."""
    model, reason = config.relative(report.title), baseline_reason()
    names = Counter(node for node, _ in {(one.node, one.location) for one in report.findings})
    found: Iterable[tuple[Finding | Trial, str]] = itertools.chain(
        ((one, one.node if one.node and names[one.node] == 1 else one.location) for one in report.failures),
        ((one, WHOLE) for one in report.failed_trials),
    )
    for one, node in found:
        yield Accepted(model, node, one.target.partition("@")[0], one.verdict, reason)


def usual_tolerances(configs: Configs, model: str) -> Tolerances:
    """Return what a model's file tolerates, or what is tolerated where there is none."""
    config = configs.of(model)
    return Tolerances() if config is None else config.tolerances_of(model)


def usual_hint(configs: Configs, target: str) -> str:
    """Return the hint of the file about the whole check, where a target's runtime has it; else ``""``."""
    config = configs.whole()
    known = quirks(registry.proper(target.partition("@")[0])).hints
    return config.usual.hint if config is not None and config.usual.hint in known else ""


def assumed_of_one(
    path: str, model: Model, given: Assumptions, configs: Configs
) -> tuple[Assumptions, list[str], list[str]]:
    """Return what is known of the values of one model, notes on names that it lacks, and the files that were read.

    Raises:
        SpecError, FileFormatError: see :func:`check_models`.
    """
    config = configs.of(path)
    beyond = Beyond()
    assumed = beyond.of(path, model, config, given)
    return assumed, list(beyond.notes([path], False)), [one.path for one in configs.all()]
