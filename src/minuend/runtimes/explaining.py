"""What a reader needs of a finding: what differs, why, and what to do about it, each in a line of a language."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from minuend.core.elements import TYPES
from minuend.errors import Unsupported
from minuend.language import Language
from minuend.runtimes import reasons as because
from minuend.runtimes import registry, rendering
from minuend.runtimes.actions import Action
from minuend.runtimes.reasons import Reason, deciding
from minuend.runtimes.severity import UNKNOWN, deviation, most_ulps, rank
from minuend.text import shell_path

if TYPE_CHECKING:
    from minuend.runtimes.finding import Finding

MODEL = "MODEL"
"""Stands for the model in commands that name none."""

UNNAMED = "the model"
"""What a report calls a model that is no file."""

_LONGEST = 200
"""Characters of a clause."""

_ADVISING = (because.UnsupportedForm, because.OpenSizesMeet, because.OperatorNotRead, because.OperatorComputedOtherwise)
"""Reasons that say behind their cause what to do."""

_MEASURED = re.compile(r" node with name '[^']*'")
"""What a message says of the model that was measured."""

_CONVERTED = re.compile(r"^minuend convert .*--to ([a-z]+)")
_SUFFIXES: Mapping[str, str] = MappingProxyType({"openvino": ".xml", "directml": ".json"})
"""What the files of formats other than ONNX end in."""

_WHAT: Mapping[str, str] = MappingProxyType(
    {"not-implemented": "does not run", "invalid": "is invalid", "unknown": "results unknown"}
)
"""What is found of a node, by verdicts other than different numbers and ok."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Three answers about a finding.

    Attributes:
        what: the severity and an example. why: the cause, a clause. todo: commands and settings, a line each.
    """

    what: str
    why: str
    todo: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """What a command line was about, for the commands of its report.

    Attributes:
        model: the model's path, ``"MODEL"`` for none. options: what else was given, as ``"--assume x=0..9"``.
        beside: whether outputs go into the model's folder.
    """

    model: str = MODEL
    options: str = ""
    beside: bool = False

    def filled(self, command: str) -> str:
        """Return the command line of an action with the paths and options of this one.

        >>> Command("a/net.onnx", "--assume x=0..9").filled("minuend fix MODEL --target ov -o OUT")
        'minuend fix a/net.onnx --target ov --assume x=0..9 -o net.fixed.onnx'
        >>> Command().filled("minuend fix MODEL --target ov -o OUT")
        'minuend fix MODEL --target ov -o OUT'
        >>> Command("ir/net.xml").filled("minuend convert MODEL --to onnx -o OUT")
        'minuend convert ir/net.xml --to onnx -o net.onnx'
        """
        head, output, _ = command.partition(" -o OUT")
        options = self.options
        if " --tolerate " in head:  # and none stands alone
            options = re.sub(r"(^| )--tolerate none(?= |$)", "", options).strip()
        if options and " MODEL " in head and not head.startswith("minuend convert"):
            head = f"{head} {options}"
        if self.model in (MODEL, UNNAMED):
            return head + output
        out = f" -o {shell_path(self._output(head))}" if output or command.endswith(" -o OUT") else ""
        return head.replace(f" {MODEL} ", f" {shell_path(self.model)} ", 1) + out

    def _output(self, head: str) -> str:
        """The file that a command writes: beside no other of the same name that it reads."""
        stem, suffix = os.path.splitext(self.model if self.beside else os.path.basename(self.model))
        if converted := _CONVERTED.search(head):
            to = _SUFFIXES.get(converted[1], ".onnx")
            return f"{stem}.converted{to}" if suffix == to else f"{stem}{to}"
        return f"{stem}.fixed{suffix if suffix == '.xml' else '.onnx'}"  # ONNX's text form does not hold every model


def commands(models: Sequence[str], options: str = "") -> Iterator[Command]:
    """Yield a command for each model of a report; where outputs had one name, they go into the models' folders.

    >>> [one.filled("minuend fix MODEL --target ov -o OUT") for one in commands(["a/m.onnx", "b/m.onnx"])]
    ['minuend fix a/m.onnx --target ov -o a/m.fixed.onnx', 'minuend fix b/m.onnx --target ov -o b/m.fixed.onnx']
    """
    stems = [os.path.splitext(os.path.basename(model))[0] for model in models]
    count = Counter(stems)
    return (Command(model, options, count[stem] > 1) for model, stem in zip(models, stems, strict=True))


def explained(found: Sequence[Finding], language: Language, command: Command = Command()) -> Explanation:
    """Return what differs, why, and what to do, of findings of one cause that are not ok."""
    shown = next((one for one in found if one.witness is not None), found[0])
    because_of = why(found, language)
    if besides := _besides(shown):
        because_of = rendering.several([because_of, rendering.cause(besides, language)], language)
    if contradiction := _contradiction(found):
        contradicted = language.tr(
            "a run contradicts this: all {elements} elements were as expected with these operands",
            elements=contradiction.elements,
        )
        because_of = rendering.several([because_of, contradicted], language)
    return Explanation(what(shown, language), because_of, tuple(todo(shown, language, command)))


def _besides(finding: Finding) -> because.OperatorComputedOtherwise | None:
    """The operator of the model that is computed otherwise too, where the node's own numbers differ already."""
    decided = deciding(finding.reasons)
    others = (one for one in finding.reasons if one is not decided)
    return next((one for one in others if isinstance(one, because.OperatorComputedOtherwise)), None)


def _contradiction(found: Sequence[Finding]) -> because.RunContradicts | None:
    """What a run showed that is not as it was measured, where it had the operands that were measured to differ."""
    reasons = itertools.chain.from_iterable(one.reasons for one in found)
    return next((one for one in reasons if isinstance(one, because.RunContradicts)), None)


def cause(finding: Finding, language: Language) -> tuple[str, ...]:
    """Return what findings of one cause have in common: the severity, the cause, and what to do."""
    reason = deciding(finding.reasons)
    patterns = isinstance(reason, because.PatternNotMeasured) or _is_pattern(reason)
    named = type(reason).__name__ if patterns else why([finding], language)
    contradicted = "contradicted" if _contradiction([finding]) else ""
    return (_severity(finding, language), named, contradicted, *todo(finding, language, Command()))


def lines(finding: Finding, command: Command = Command()) -> str:
    """Return the three answers in English, a line each, for reports that other programs read."""
    return "\n".join((what(finding, Language()), *reason_and_remedy(finding, command)))


def reason_and_remedy(finding: Finding, command: Command) -> Iterator[str]:
    """Yield why, and what to do, in English, a line each."""
    said = explained([finding], Language(), command)
    if said.why:
        yield f"why: {said.why}"
    yield from (f"do: {line}" for line in said.todo)


def is_command(line: str) -> bool:
    """Whether a line of what to do is there to be copied.

    >>> is_command("minuend fix MODEL --target ov -o OUT"), is_command("no remedy known: accept it in minuend.toml")
    (True, False)
    """
    return "minuend " in line or line.startswith("compile_model(")


def texts() -> Iterator[str]:
    """Yield every text of the tables that a catalogue has to have."""
    yield from _WHAT.values()


def unread(finding: Finding) -> tuple[str, str, str] | None:
    """Return what findings have in common whose runtimes do not read a model's format; ``None`` for others."""
    reason = deciding(finding.reasons)
    return (reason.dialect, reason.to, reason.refusal) if isinstance(reason, because.DialectNotRead) else None


# ---- what --------------------------------------------------------------------------------------------------------


def what(finding: Finding, language: Language) -> str:
    """Return the severity of different numbers with an example, or what is found instead."""
    if finding.verdict in _WHAT:
        return language.tr(_WHAT[finding.verdict])
    severity = language.tr("{severity} in {dtype}", severity=_severity(finding, language), dtype=finding.dtype)
    if finding.witness is None and isinstance(deciding(finding.reasons), because.ResultDiffers):
        return severity  # whatever the operands are
    if finding.witness is None:
        return language.tr("{severity}, no example known", severity=severity)
    shown = deviation(TYPES[finding.dtype], finding.witness).severity
    if finding.severity is not None and shown is not None and rank(shown) < rank(finding.severity):
        severity = language.tr("{severity}; this example shows {milder}", severity=severity, milder=shown)
    return language.labelled(severity, rendering.example(finding.witness, language))


def _severity(finding: Finding, language: Language) -> str:
    """Return how bad different numbers are, and whether something besides is, of which that is not known."""
    if finding.severity is None:
        return language.tr("severity unknown")
    if finding.severity != "numbers" and UNKNOWN in finding.deviations:
        return language.tr("{severity} or worse", severity=finding.severity)
    return finding.severity


# ---- why ---------------------------------------------------------------------------------------------------------


def why(found: Sequence[Finding], language: Language) -> str:
    """Return the cause of findings, a clause; ``""`` where none is known."""
    clause, cpu = _why(found, language), _only_up_to(found[0])
    return (
        language.tr("{cause}, on processors up to {cpu}", cause=clause, cpu=rendering.short_processor(cpu))
        if cpu
        else clause
    )


def _only_up_to(finding: Finding) -> str:
    """The newest instruction set of the processors that a finding is about, where newer ones are fine or less wrong."""
    return next((one.cpu for one in finding.reasons if isinstance(one, because.OnProcessor)), "")


def _why(found: Sequence[Finding], language: Language) -> str:
    reasons = [deciding(one.reasons) for one in found]
    reason = reasons[0]
    match reason:
        case None:
            return ""
        case because.PrecisionLower():
            return language.tr("computed in bfloat16 by default, on processors that have it")
        case because.PatternNotMeasured():
            several = (one.patterns for one in reasons if isinstance(one, because.PatternNotMeasured))
            reason = replace(reason, patterns=tuple(dict.fromkeys(itertools.chain(*several))))
        case because.PatternComputedOtherwise() if _is_pattern(reason):
            every = dict.fromkeys(one.pattern for one in reasons if isinstance(one, because.PatternComputedOtherwise))
            shown = rendering.patterns(tuple(every), language)
            return language.tr("computed together with adjacent operators: {patterns}", patterns=shown)
        case because.PatternComputedOtherwise():
            return language.tr("layer normalisation is computed as one operator")
        case because.UnsupportedForm(to=to) if to:
            reason = replace(reason, to="")
        case _ if isinstance(reason, _ADVISING) and (advice := _advice(found[0], language)):
            return _cut(rendering.cause(reason, language).removesuffix(f"{language.tr('; ')}{advice}"))
        case because.OtherPairsDiffer(values=values, witness=witness):
            reason = because.ValuesDiffer(values, witness)
        case because.DialectNotRead() if len({one.target for one in found}) > 1:
            refused = language.tr(", and {refusal}", refusal=reason.refusal) if reason.refusal else ""
            return language.tr("they do not read {dialect} models", dialect=reason.dialect) + refused
        case because.DialectNotRead(to=to) if to:
            reason = replace(reason, to="")
    clause = _cut(rendering.cause(reason, language))
    if isinstance(reason, because.ValuesDiffer) and reason.dynamic:
        return language.tr("{cause} where shapes are dynamic", cause=clause)
    if isinstance(reason, because.ValuesDiffer) and found[0].constants == "both":
        return language.tr("{cause} where constants are folded", cause=clause)
    return clause


def _cut(clause: str) -> str:
    """A clause of one line, without the name of the model that was measured; a runtime's message can be long."""
    line = " ".join(_MEASURED.sub("", clause).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _is_pattern(reason: Reason | None) -> bool:
    """Whether a reason is that some pattern is computed otherwise, and no layer normalisation."""
    if not isinstance(reason, because.PatternComputedOtherwise):
        return False
    pattern = str(reason.pattern)
    return not ("x - ReduceMean(x)" in pattern and "Sqrt(ReduceMean(" in pattern)


# ---- what to do --------------------------------------------------------------------------------------------------


def todo(finding: Finding, language: Language, command: Command) -> Iterator[str]:
    """Yield what can be done, a line each: commands that can be pasted, and settings."""
    if finding.accepted:
        yield language.tr("nothing; it is accepted: {reason}", reason=finding.accepted)
    elif finding.tolerated is not None:
        yield language.tr("nothing; it is tolerated (--tolerate none counts it)")
    elif finding.verdict == "invalid":
        yield language.tr("make the model valid")
    else:
        yield from _remedies(finding, language, command)


def _remedies(finding: Finding, language: Language, command: Command) -> Iterator[str]:
    """Yield the best remedy, what to assume, and how to measure a release that was not."""
    found: dict[str, list[Action]] = {"assume": [], "measure": [], "tolerate": []}
    for one in finding.actions:
        found.setdefault(one.kind, []).append(one)
    assume, measure, tolerate, *others = found.values()
    runs = bool(others) and others[0][0].kind == "run"
    if runs:
        yield from _elsewhere(finding.target, language)
    if others:
        yield from _done(others[0][0], command)
    for one in assume:
        yield language.tr("if its values are such: {command}", command=command.filled(one.command))
    for one in [] if others else tolerate:
        ulps = most_ulps(finding.deviations)
        yield language.tr("if {ulps} ulps are fine: {command}", ulps=ulps, command=command.filled(one.command))
    if not (others or assume or tolerate) and (finding.inferred or not measure):
        yield _advice(finding, language) or language.tr("no remedy known: accept it in minuend.toml")
    if _contradiction([finding]) and not finding.inferred:
        runtime = finding.target.partition("@")[0]
        yield language.tr("to settle it: {command}", command=f"minuend measure {runtime} -o {runtime}.json")
    for one in measure if finding.inferred or not (others or assume or tolerate) else []:
        yield from () if runs else _elsewhere(finding.target, language)
        line = one.command.replace("FILE", f"{finding.target.partition('@')[0]}.json")
        yield language.tr("to settle it: {command}", command=line) if finding.inferred else line


def _advice(finding: Finding, language: Language) -> str:
    """What a rule of a runtime says behind its cause, where no command helps; ``""`` where it says nothing."""
    reason = deciding(finding.reasons)
    helps = any(one.kind != "measure" for one in finding.actions)
    if _only_up_to(finding):
        return language.tr("where all processors are newer: name one with --cpu, or as cpu in minuend.toml")
    if helps or not isinstance(reason, _ADVISING):
        return ""
    return rendering.cause(reason, language).partition(language.tr("; "))[2]


def _is_installed(target: str) -> bool:
    """Whether the release of a target is the one that is installed here, so that commands run it."""
    runtime, _, release = target.partition("@")
    try:
        adapter = registry.known(runtime)
        return adapter is not None and registry.release(adapter) == release
    except Unsupported:
        return False


def _elsewhere(target: str, language: Language) -> Iterator[str]:
    """Say where commands run the release of a target, which is not the one that is installed here."""
    if not _is_installed(target):
        runtime, _, release = target.partition("@")
        yield language.tr("where {runtime} {release} is installed:", runtime=runtime, release=release)


def _done(action: Action, command: Command) -> Iterator[str]:
    if action.setting:
        yield f'compile_model(model, "CPU", {json.dumps(dict(action.setting))})'
    if action.command:
        yield command.filled(action.command)
