"""Reasons as sentences: a row for each code, in English; a catalogue has them in other languages.

A row is the clauses of a sentence. A clause is left out where one of its facts is empty.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from minuend.language import Language
from minuend.models.purpose import PURPOSES
from minuend.operators import VALUE_CLASSES
from minuend.runtimes.answers import EVERY
from minuend.runtimes.cases import CONSTANTS, RELATIONS
from minuend.runtimes.reasons import Folded, SettingNeeded

if TYPE_CHECKING:
    from minuend.models.patterns import Pattern
    from minuend.models.ranges.interval import Range
    from minuend.runtimes.answers import Witness
    from minuend.runtimes.reasons import Example, Reason, Setting, Stated

_MOST_PATTERNS = 3
"""How many patterns a sentence names."""

SENTENCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "purpose": ("{purpose}",),
        "rule-broken": ("{message}",),
        "not-understood": ("{message}",),
        "taken-anyway": ("{statement}",),
        "unsupported-form": ("{statement}",),
        "dialect-not-read": (
            "{runtime} reads no {dialect} models",
            "; convert it first: minuend convert --to {to}",
            ", and {refusal}",
        ),
        "version-not-loaded": ("{message}",),
        "not-in-standard": ("{message}",),
        "sizes-assumed": ("{message}",),
        "as-contracted": ("the contract's numbers",),
        "out-of-reach": (
            "{values} cannot occur",
            "; other operands than these alone make {examples}",
            ": {operands}",
        ),
        "values-differ": ("{values} differ", ": {witness}", "; so do {others}", "; {operands}"),
        "other-pairs-differ": (
            "{values} differ: other pairs of this kind were measured than these operands make",
            "; so do {others}",
            "; {operands}",
        ),
        "result-differs": ("{message}", "; so do {others}", "; {operands}"),
        "runtime-message": ("{message}",),
        "not-measured": ("{target} was not measured for this",),
        "not-declared": ("{target} was not declared for this",),
        "other-operands-differ": ("other operands than these are known to differ",),
        "pairs-like-it-differ": ("pairs like {operation} are known to differ",),
        "undocumented": ("the documents do not say what these differences are",),
        "nothing-stated": ("{target} says nothing of it",),
        "concerns": ("this concerns {examples}",),
        "documents-silent": ("as far as documented: the documents say nothing of {values}",),
        "shapes-at-run-time": ("the shapes are known when it runs; this holds for {relation}",),
        "folding-differs": ("constant folding changes this: other answers with {answers}",),
        "releases-differ": (
            "nobody measured {release}, and {older}, {newer}",
            ": {taken}",
        ),
        "pattern-not-measured": ("nobody measured {patterns} on {target}", "; with {setting} it was"),
        "patterns-not-measured": ("what {target} makes of neighbours was not measured",),
        "dynamic-shapes-not-measured": ("what {target} makes of shapes that are known when it runs was not measured",),
        "zero-not-measured": ("what {target} makes of a constant 0, or one that is 0 in float32, was not measured",),
        "pattern-refused": ("{pattern}: {message}",),
        "pattern-computed-otherwise": ("{pattern} is computed otherwise than each by itself", ": {values} differ"),
        "precision-lower": (
            "{pattern} is computed in less than its own precision",
            ": {values} differ",
            "; not so with {setting}",
        ),
        "constants-not-rounded": ("{pattern} is computed in float32, and {dtype} is not rounded between the two",),
        "constants-mixed-up": (
            (
                "another subtraction of this shape has another {dtype} constant, and {target} can compute one with the "
                "constant of the other; it does so for few pairs of constants, which nobody has listed"
            ),
        ),
        "another-constant": ("another subtraction of this shape has another constant",),
        "probe-refused": ("measured here: by itself it is refused: {message}",),
        "probe-result-differs": ("measured here: by itself, {message}",),
        "probe-differs": (
            "measured here: by itself, {different} of {pairs} pairs of operands from its ranges differ",
            ", as {witness}",
        ),
        "probe-agrees": (
            "measured here: by itself, none of {pairs} pairs of operands from its ranges differs",
            ", {limit}",
        ),
        "run-agrees": ("in the run all {elements} elements were the contract's, on these inputs",),
        "run-alone-agrees": ("in the run all {elements} elements were the contract's, on these inputs alone",),
        "run-differs": (
            "in the run {different} of {elements} elements differed",
            ", the first at index {index}",
            ": {witness}",
            ": got {got}, expected {expected}",
        ),
        "run-together-differs": (
            "in the run it was computed with {nodes}, and what came of it differed",
            ", the first at index {index}: got {got}, expected {expected}",
        ),
        "classes-differ": ("{classes} differ",),
        "release-between": (
            (
                "nobody measured {target}: it lies between {before} and {after}, and what these two agree on is taken "
                "for its own; where they differ a finding says so"
            ),
        ),
        "release-too-new": (
            (
                "warning: nobody measured {target}: it lies beyond {release}, the newest that was measured, and the "
                "answers are those of that release, which may not be its own; minuend measure asks an installed one"
            ),
        ),
        "release-too-old": (
            (
                "warning: nobody measured {target}: it lies before {release}, the oldest that was measured, and the "
                "answers are those of that release, which may not be its own; minuend measure asks an installed one"
            ),
        ),
        "setting-needed": (
            (
                "on {target} {count} right only with {setting}, which is not its default on processors with bfloat16 "
                'instructions; set it where the model is compiled, compile_model(model, "CPU", {options}), and judge '
                "with it: --hint {hint}"
            ),
        ),
        "measured-on": ("measured on {cpu}", ", beside neighbours on {pattern_cpus}", ": {targets}"),
        "processor-matters": ("{runtime} {statement}",),
        "constants-mixed-up-often": ("{wrong} of {nodes_tried} were computed with the constant of another",),
    }
)
"""The clauses of each code."""


def english(reasons: Iterable[Reason]) -> str:
    """Return reasons as one English sentence, without a full stop.

    >>> from minuend.runtimes.reasons import AsContracted, Purpose
    >>> english([Purpose("mean subtraction"), AsContracted()])
    "mean subtraction; the contract's numbers"
    """
    return sentence(reasons, _ENGLISH)


def sentence(reasons: Iterable[Reason], language: Language) -> str:
    """Return reasons as one sentence of a language."""
    return several((_rendered(one, language) for one in reasons), language)


def several(sentences: Iterable[str], language: Language) -> str:
    """Join sentences to one."""
    return language.tr("; ").join(sentences)


def _rendered(reason: Reason, language: Language) -> str:
    facts = {one.name: _FORMATS.get(one.name, _plain)(getattr(reason, one.name), language) for one in fields(reason)}
    if isinstance(reason, SettingNeeded):
        facts["options"] = str(dict(reason.setting))
    clauses = SENTENCES[reason.code]
    chosen = [clause for clause in clauses if all(facts[slot] for slot in slots(clause))]
    said = "".join(language.tr(clause, **facts) for clause in chosen)
    return said if clauses[0] in chosen else said.lstrip(_STOPS)


def slots(clause: str) -> list[str]:
    """Return the names of the facts that a clause needs.

    >>> slots("{values} differ: {witness}")
    ['values', 'witness']
    """
    return [name for _, name, _, _ in string.Formatter().parse(clause) if name]


def texts() -> Iterator[str]:
    """Yield every text of the tables that a catalogue has to have."""
    yield from (clause for clauses in SENTENCES.values() for clause in clauses if not _is_one_fact(clause))
    yield from (*PURPOSES, *_LIMITS.values(), *_STATED.values(), *CONSTANTS.values(), EVERY)
    yield from (row.words for row in VALUE_CLASSES.values())
    yield from (text for row in RELATIONS.values() for text in (row.name, row.words))


def _is_one_fact(clause: str) -> bool:
    return clause == f"{{{''.join(slots(clause))}}}"


# ---- facts -----------------------------------------------------------------------------------------------------


_STOPS = ";:,；：， "
"""What a clause begins with behind another one."""

_LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "": "",
        "patterns": "which says nothing of its neighbours",
        "shapes": "on some of the shapes that it can have",
    }
)

_STATED: Mapping[str, str] = MappingProxyType(
    {
        "ok": "{release} gives the contract's numbers",
        "different-numbers": "{release} gives other numbers",
        "not-implemented": "{release} does not run it",
        "unknown": "{release} was not asked",
        "invalid": "{release} takes it for invalid",
    }
)
"""What a release says, by verdict."""


def _plain(value: object, _: Language) -> str:
    return "" if value is None else str(value)


def _words(name: str, language: Language) -> str:
    """A value class in words."""
    return language.tr(VALUE_CLASSES[name].words if name in VALUE_CLASSES else name)


def all_of(items: Sequence[str], language: Language) -> str:
    """Join names, the last with an ``and``."""
    *some, last = items or ("",)
    return language.tr("{some} and {last}", some=row(some, language), last=last) if some else last


def _any_of(items: Sequence[str], language: Language) -> str:
    *some, last = items or ("",)
    return language.tr("{some} or {last}", some=row(some, language), last=last) if some else last


def row(items: Iterable[str], language: Language) -> str:
    """Join names without an ``and``."""
    return language.tr(", ").join(items)


def _classes(names: Sequence[str], language: Language) -> str:
    return all_of([_words(name, language) for name in names], language)


def _class_row(names: Sequence[str], language: Language) -> str:
    return row((_words(name, language) for name in names), language)


def _gives(witness: Witness, language: Language) -> str:
    return language.tr("{operation} gives {got}", operation=witness.written, got=witness.got)


def _witness(witness: Witness | None, language: Language) -> str:
    if witness is None:
        return ""
    return language.tr("{result}, expected {expected}", result=_gives(witness, language), expected=witness.expected)


def _with(what: str, result: str, language: Language) -> str:
    return language.tr("{what} ({result})", what=what, result=result)


def _examples(examples: Sequence[Example], language: Language) -> str:
    return all_of([_example(name, witness, language) for name, witness in examples], language)


def _example(name: str, witness: Witness | None, language: Language) -> str:
    words = _words(name, language)
    return words if witness is None else _with(words, _gives(witness, language), language)


def _answers(answers: Sequence[tuple[str, Witness | str]], language: Language) -> str:
    shown = (
        (language.tr(CONSTANTS[which]), then if isinstance(then, str) else _gives(then, language))
        for which, then in answers
    )
    return _any_of([_with(words, then, language) for words, then in shown], language)


def _operands(operands: Sequence[Range], language: Language) -> str:
    if not operands:
        return ""
    named = zip(string.ascii_uppercase, operands, strict=False)
    parts = [language.tr("{name} is {range}", name=name, range=_range(one, language)) for name, one in named]
    assumed = sorted(frozenset[str]().union(*(one.assumptions for one in operands)))
    shown = functools.reduce(lambda first, second: language.tr("{first}, {second}", first=first, second=second), parts)
    return language.tr("{facts}, where {assumed}", facts=shown, assumed=all_of(assumed, language)) if assumed else shown


def _range(one: Range, language: Language) -> str:
    if one.dtype is None:
        return language.tr("of an unknown type")
    shown = str(replace(one, why=""))
    return _with(shown, _source(one.why, language), language) if one.why else shown


def _source(why: str, language: Language) -> str:
    """Where the bounds of a range come from: names of operators, and these two."""
    words = {"input": language.tr("input"), "constant": language.tr("constant")}
    parts = (part.rpartition(" ") for part in why.split(" or "))
    return language.tr(" or ").join(f"{before}{space}{words.get(last, last)}" for before, space, last in parts)


def _pattern(pattern: Pattern | Folded, language: Language) -> str:
    if isinstance(pattern, Folded):
        return language.tr("{pattern} of constants", pattern=pattern.pattern)
    return str(pattern)


def _patterns(patterns: Sequence[Pattern | Folded], language: Language) -> str:
    shown = all_of([_pattern(one, language) for one in patterns[:_MOST_PATTERNS]], language)
    more = len(patterns) - _MOST_PATTERNS
    return language.tr("{some} and {count} more", some=shown, count=more) if more > 0 else shown


def _setting(setting: Setting, _: Language) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting)


def _count(count: int, language: Language) -> str:
    return language.tr("1 subtraction is") if count == 1 else language.tr("{count} subtractions are", count=count)


def _stated(stated: Stated, language: Language) -> str:
    shown = language.tr(_STATED[stated.verdict], release=stated.release)
    return shown if stated.witness is None else _with(shown, _gives(stated.witness, language), language)


def _taken(release: str, language: Language) -> str:
    if release:
        return language.tr("the answer of {release} is taken", release=release)
    return language.tr("the worse answer is taken")


_FORMATS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "answers": _answers,
        "classes": _class_row,
        "count": _count,
        "examples": _examples,
        "index": lambda index, _: "" if index is None else str(list(index)),
        "limit": lambda limit, language: language.tr(_LIMITS[limit]),
        "newer": _stated,
        "nodes": all_of,
        "older": _stated,
        "operands": _operands,
        "others": _classes,
        "pattern": _pattern,
        "pattern_cpus": all_of,
        "patterns": _patterns,
        "purpose": lambda purpose, language: language.tr(purpose),
        "relation": lambda relation, language: language.tr(RELATIONS[relation].words),
        "setting": _setting,
        "statement": lambda statement, language: language.tr(statement),
        "taken": _taken,
        "targets": all_of,
        "values": _classes,
        "witness": _witness,
    }
)
"""How facts are shown, by their names in reasons; others are shown as they are."""

_ENGLISH = Language()
