"""Actions: what can be done about a finding, as commands and settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from minuend.operators import SUBTRACT
from minuend.runtimes import reasons as because
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import Reason, Setting, deciding
from minuend.text import shell_word

Kind = Literal["assume", "convert", "fix", "measure", "run", "set", "tolerate"]
"""State a value's range, change the model's format, rewrite it, measure the installed release, run it there, set a
runtime's option, or let pass what is no worse than some roundings."""

Assumable: TypeAlias = "tuple[str, int, int]"
"""The name of a value, and the lowest and highest number that it may hold."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do.

    Attributes:
        kind: what it does. command: a command line; ``MODEL`` and ``OUT`` stand for paths. setting: of a runtime.
    """

    kind: Kind
    command: str = ""
    setting: Setting = ()

    def to_json(self) -> dict[str, Any]:
        """Return the action as plain data, without what is empty."""
        setting = {"setting": dict(self.setting)} if self.setting else {}
        return {"kind": self.kind, **({"command": self.command} if self.command else {}), **setting}


def actions(
    target: str,
    verdict: str,
    reasons: Iterable[Reason],
    *,
    inferred: bool = False,
    operator: str = SUBTRACT.name,
    fixable: bool = True,
    fix_hint: str = "",
    hint_alone: bool = False,
    partly: bool = False,
    ran: bool = False,
    assumable: Sequence[Assumable] = (),
    roundings: int = 0,
) -> tuple[Action, ...]:
    """Return what can be done about a verdict, the most useful first.

    Args:
        target, verdict, reasons: of the finding. inferred: whether other releases were measured in its place.
        operator: what is judged; subtraction alone is run and fixed.
        fixable: whether fix may repair it. fix_hint: the hint with which it does, where it does not without one.
        hint_alone: whether nothing needs to be fixed with that.
        partly: whether fix refuses other nodes of the model. ran: whether the model was run on the target already.
        assumable: what has to be assumed so that nothing is found.
        roundings: how far results are from the expected ones at most, in ulps; 0 where that is not known.

    >>> [one.command for one in actions("tract@0.23.9", "unknown", [because.PatternsNotMeasured("tract@0.23.9")])]
    ['minuend check MODEL --target tract@installed --run']
    """
    if verdict in ("ok", "invalid"):
        return ()
    useless = {*(() if fixable else ("fix",)), *(("run",) if ran else ())}
    found = [one for one in _actions(target, verdict, deciding(reasons), inferred, operator) if one.kind not in useless]
    if fix_hint and not fixable:
        found.append(_with_hint(target, fix_hint, alone=hint_alone))
    assumed = " ".join(f"--assume {shell_word(f'{name}={lo}..{hi}')}" for name, lo, hi in assumable)
    check = f"minuend check MODEL --target {target}"
    return (
        *(_in_part(one) if partly and one.kind == "fix" else one for one in found),
        *([Action("assume", f"{check} {assumed}")] if assumed else []),
        *([Action("tolerate", f"{check} --tolerate sign-of-zero,rounding={roundings}")] if roundings else []),
    )


def _with_hint(target: str, hint: str, *, alone: bool) -> Action:
    """A runtime's option, and a rewrite where that is not enough."""
    setting = tuple(quirks(target.partition("@")[0]).hints[hint].items())
    if alone:
        return Action("set", f"minuend check MODEL --target {target} --hint {hint}", setting)
    return Action("fix", f"minuend fix MODEL --target {target} --hint {hint} -o OUT", setting)


def _in_part(fix: Action) -> Action:
    """A rewrite that is written although others are refused."""
    return replace(fix, command=fix.command.replace(" -o OUT", " --partial -o OUT"))


def _actions(target: str, verdict: str, reason: Reason | None, inferred: bool, operator: str) -> Iterator[Action]:
    runtime = target.partition("@")[0]
    match reason:
        case because.DialectNotRead(to=to) | because.UnsupportedForm(to=to) if to:
            yield Action("convert", f"minuend convert MODEL --to {to} -o OUT")
            return
        case because.VersionNotLoaded():
            yield Action("convert", f"minuend convert MODEL --to onnx --target {target} -o OUT")
            return
        case because.DialectNotRead() | because.OperatorNotRead() | because.OperatorComputedOtherwise():
            return
        case because.NotInStandard() | because.NotUnderstood():
            return
        case because.PrecisionLower(setting=setting) | because.PatternNotMeasured(setting=setting) if setting:
            hints = (name for name, one in quirks(runtime).hints.items() if one == dict(setting))
            command = f"minuend check MODEL --target {target} --hint {next(hints, '')}"
            yield Action("set", command, setting)
            return
        case because.NotDeclared() | because.Undocumented():
            return
    if operator != SUBTRACT.name:
        if isinstance(reason, because.NotMeasured):
            yield Action("measure", f"minuend measure {runtime} --operator {operator} -o FILE")
        return
    if verdict == "unknown":
        yield Action("run", f"minuend check MODEL --target {runtime}@installed --run")
    else:
        yield Action("fix", f"minuend fix MODEL --target {target} -o OUT")
    if inferred or isinstance(reason, because.NotMeasured):
        yield Action("measure", f"minuend measure {runtime} -o FILE")
