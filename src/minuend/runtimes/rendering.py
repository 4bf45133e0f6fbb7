"""Reasons as sentences: a row for each code, in English; a catalogue has them in other languages.

A row is the clauses of a sentence. A clause is left out where one of its facts is empty.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from minuend.core.elements import TYPES
from minuend.language import Language
from minuend.models.operator_forms import FORMS
from minuend.models.purpose import PURPOSES
from minuend.operators import VALUE_CLASSES
from minuend.runtimes.answers import EVERY
from minuend.runtimes.cases import RELATIONS
from minuend.runtimes.reasons import Folded, ReleaseTooNew, ReleaseTooOld, SettingNeeded, ValuesDiffer

if TYPE_CHECKING:
    from minuend.models.patterns import Pattern
    from minuend.models.ranges.interval import Range
    from minuend.runtimes.reasons import Example, Reason, Setting, Stated
    from minuend.runtimes.witness import Witness

_MOST_PATTERNS = 3
"""How many patterns a sentence names."""

_SHOWN = 4
"""So many inputs of an example are shown; JSON has all."""

_SHORT = 40
"""Characters of a pattern with its numbers that an example shows."""

SENTENCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "purpose": ("{purpose}",),
        "rule-broken": ("{message}",),
        "not-understood": ("{message}",),
        "taken-anyway": ("{statement}",),
        "unsupported-form": ("{statement}", "; convert it: minuend convert MODEL --to {to} -o OUT"),
        "operator-not-read": (
            "{runtime} does not run {form}, which the model has",
            "; write it with other operators, or choose another runtime",
        ),
        "operator-not-measured": ("whether {runtime} runs {form}, which the model has, was not measured",),
        "operator-computed-otherwise": (
            "{runtime} gives other numbers for {form}, which the model has",
            "; write it with other operators, or choose another runtime",
        ),
        "open-sizes-meet": ("{statement}",),
        "dialect-not-read": (
            "{runtime} does not read {dialect} models",
            "; convert it first: minuend convert MODEL --to {to} -o OUT",
            ", and {refusal}",
        ),
        "version-not-loaded": ("{message}",),
        "not-in-standard": ("{message}",),
        "sizes-assumed": ("{message}",),
        "as-contracted": ("results as expected",),
        "out-of-reach": (
            "{operands}",
            ", so {values} cannot occur",
            "; only other operands deviate, in {examples}",
        ),
        "values-differ": ("{deviation}", ": {witness}", "; {others} differ too", "; {operands}"),
        "other-pairs-differ": (
            "{values} differ, measured with operands outside these ranges",
            ", from which follows {witness}",
            "; {others} differ too",
            "; {operands}",
        ),
        "result-differs": ("{message}", "; {others} differ too", "; {operands}"),
        "runtime-message": ("{message}",),
        "not-measured": ("this case has not been measured",),
        "processor-not-measured": ("{target} has not been measured up to {cpu}", "; it was up to {cpus}"),
        "not-declared": ("this case is not documented",),
        "other-operands-differ": ("other operands are known to give different results",),
        "pairs-like-it-differ": ("operands like {operation} are known to give different results",),
        "undocumented": ("the documents do not say what the results are",),
        "nothing-stated": ("no data",),
        "concerns": ("affected: {examples}",),
        "made-larger": ("{operator} makes more of it",),
        "zero-sign-not-read": ("only the sign of a zero differs, and what reads the result does not depend on it",),
        "documents-silent": ("the documents do not cover {values}",),
        "shapes-at-run-time": ("the shapes are dynamic; this holds for {relation}",),
        "folding-differs": ("{answers}",),
        "releases-differ": ("{release} has not been measured; {older}, {newer}", "; {taken}"),
        "pattern-not-measured": ("not measured: {patterns}", "; measured with {setting}"),
        "patterns-not-measured": ("patterns have not been measured",),
        "dynamic-shapes-not-measured": ("dynamic shapes have not been measured",),
        "zero-not-measured": ("constants that are 0 in float32 have not been measured",),
        "pattern-refused": ("{pattern}: {message}",),
        "pattern-computed-otherwise": ("{pattern} differs from its operators computed one by one", ": {values}"),
        "precision-lower": (
            "{pattern} is computed in lower precision than its type has",
            ": {values} differ",
            "; correct with {setting}",
        ),
        "constants-not-rounded": ("{pattern} is folded in float32, without rounding to {dtype} in between",),
        "constants-mixed-up": (
            (
                "{target} can use the {dtype} constant of another node of the model: it finds kernels by a hash, and "
                "theirs can be the same"
            ),
        ),
        "another-constant": ("another subtraction of this shape has another constant",),
        "probe-refused": ("run here in isolation: refused: {message}",),
        "probe-result-differs": ("run here in isolation: {message}",),
        "probe-differs": (
            "run here in isolation: {different} of {pairs} operand pairs from its ranges differ",
            ", such as {witness}",
        ),
        "probe-agrees": (
            "run here in isolation: all {pairs} operand pairs from its ranges are as expected",
            "; {limit}",
        ),
        "run-agrees": ("in the run, all {elements} elements were as expected",),
        "run-contradicts": (
            (
                "the run contradicts the measurement: all {elements} elements were as expected, and inputs of the "
                "numbers that were measured to differ were among them; another processor or other shapes can be why"
            ),
        ),
        "run-alone-agrees": ("in the run, all {elements} elements were as expected; other inputs are unknown",),
        "run-differs": (
            "in the run, {different} of {elements} elements differed",
            ", the first at index {index}",
            ": {witness}",
            ": got {got}, expected {expected}",
        ),
        "run-together-differs": (
            "in the run, it was computed together with {nodes}, and the result differed",
            ", first at index {index}: got {got}, expected {expected}",
        ),
        "classes-differ": ("{classes} differ",),
        "release-between": (
            (
                "{target} has not been measured; verdicts are those of {before} and {after}, the nearest measured "
                "releases. Findings say where the two differ"
            ),
        ),
        "release-too-new": (
            (
                "warning: {target} has not been measured; verdicts are those of {release}, the newest measured "
                "release. To measure it: minuend measure {runtime} -o {runtime}.json"
            ),
        ),
        "release-too-old": (
            (
                "warning: {target} has not been measured; verdicts are those of {release}, the oldest measured "
                "release. To measure it: minuend measure {runtime} -o {runtime}.json"
            ),
        ),
        "setting-needed": (
            (
                "on {target}, {count} correct only with {setting}; the default differs on processors with bfloat16 "
                'instructions. To set it: compile_model(model, "CPU", {options}). To check with it: --hint {hint}'
            ),
        ),
        "measured-on": ("measured on {cpu}", "; patterns on {pattern_cpus}", ": {targets}"),
        "processor-matters": ("{runtime} {statement}",),
        "on-processor": ("so on processors up to {cpu}, and not on newer ones",),
        "constants-mixed-up-often": ("{wrong} of {nodes_tried} nodes were computed with another node's constant",),
    }
)
"""The clauses of each code."""


def english(reasons: Iterable[Reason]) -> str:
    """Return reasons as one English sentence, without a full stop.

    >>> from minuend.runtimes.reasons import AsContracted, Purpose
    >>> english([Purpose("mean subtraction"), AsContracted()])
    'mean subtraction; results as expected'
    """
    return sentence(reasons, _ENGLISH)


def sentence(reasons: Iterable[Reason], language: Language) -> str:
    """Return reasons as one sentence of a language."""
    return several((_rendered(one, language) for one in reasons), language)


def cause(reason: Reason, language: Language) -> str:
    """Return why, in a clause: a reason without its example, the other value classes and the operands' ranges."""
    if isinstance(reason, ValuesDiffer):
        return _deviation(reason, language)
    blank = {"operands": (), "others": (), "witness": None, "index": None, "got": "", "expected": ""}
    known = reason.facts()
    blanked = {name: empty for name, empty in blank.items() if name in known}
    return sentence([replace(reason, **blanked)], language)  # type: ignore[type-var]  # each kind is a dataclass


def several(sentences: Iterable[str], language: Language) -> str:
    """Join sentences to one."""
    return language.tr("; ").join(sentences)


def _rendered(reason: Reason, language: Language) -> str:
    facts = {name: _FORMATS.get(name, _plain)(getattr(reason, name), language) for name in reason.facts()}
    match reason:
        case SettingNeeded():
            facts["options"] = str(dict(reason.setting))
        case ValuesDiffer():
            facts["deviation"] = _deviation(reason, language)
        case ReleaseTooNew() | ReleaseTooOld():
            facts["runtime"] = reason.target.partition("@")[0]
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
    yield from (*PURPOSES, *_LIMITS.values(), *_STATED.values(), *_FOLDED.values(), *_CONSTANTS.values(), EVERY)
    yield from (row.words for row in VALUE_CLASSES.values())
    yield from FORMS
    yield from (_BROADCAST.get(row.name, row.words) for row in RELATIONS.values())


def _is_one_fact(clause: str) -> bool:
    return clause == f"{{{''.join(slots(clause))}}}"


# ---- facts -----------------------------------------------------------------------------------------------------


_STOPS = ";:,；：， "
"""What a clause begins with behind another one."""

_LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "": "",
        "patterns": "adjacent operators were not included",
        "shapes": "only some of its possible shapes were run",
    }
)

_STATED: Mapping[str, str] = MappingProxyType(
    {
        "ok": "{release} gives the expected results",
        "different-numbers": "{release} gives different results",
        "not-implemented": "{release} does not run it",
        "unknown": "{release} has no data",
        "invalid": "{release} rejects it as invalid",
    }
)
"""What a release says, by verdict."""


_BROADCAST: Mapping[str, str] = MappingProxyType(
    {
        "one-sided": "one operand broadcast",
        "two-sided": "both operands broadcast",
    }
)
"""Relations of shapes in the words of people, where their names are short for the data."""

_CONSTANTS: Mapping[str, str] = MappingProxyType(
    {
        "none": "if no operand is a constant",
        "A": "if A is a constant",
        "B": "if B is a constant",
        "both": "if both operands are constants",
    }
)
"""Which operands are constants, as a condition."""

_FOLDED: Mapping[str, str] = MappingProxyType(
    {
        "ok": "correct {condition}",
        "different-numbers": "different {condition}",
        "not-implemented": "refused {condition}",
        "unknown": "not measured {condition}",
        "invalid": "invalid {condition}",
    }
)
"""What a node with other constants is, by verdict."""


def _plain(value: object, _: Language) -> str:
    return "" if value is None else str(value)


def relation_words(name: str, language: Language) -> str:
    """Return how the operands' shapes are related, in words."""
    return language.tr(_BROADCAST.get(name, RELATIONS[name].words))


def _words(name: str, language: Language) -> str:
    """A value class in words."""
    return language.tr(VALUE_CLASSES[name].words if name in VALUE_CLASSES else name)


def all_of(items: Sequence[str], language: Language) -> str:
    """Join names, the last with an ``and``."""
    *some, last = items or ("",)
    return language.tr("{some} and {last}", some=row(some, language), last=last) if some else last


def row(items: Iterable[str], language: Language) -> str:
    """Join names without an ``and``."""
    return language.tr(", ").join(items)


def _classes(names: Sequence[str], language: Language) -> str:
    return all_of([_words(name, language) for name in names], language)


def _class_row(names: Sequence[str], language: Language) -> str:
    return row((_words(name, language) for name in names), language)


def _deviation(reason: ValuesDiffer, language: Language) -> str:
    """What is wrong: that results saturate, where the witness shows it, or which values differ."""
    if reason.witness is not None and _saturates(reason.witness):
        return language.tr("saturates instead of wrapping")
    return language.tr("{values} differ", values=_classes(reason.values, language))


def _saturates(witness: Witness) -> bool:
    """Whether a witness shows an integer type's limit where the exact result wraps to what was expected."""
    if len(witness.operands) != witness.operator.arity:
        return False
    exact = witness.operator.exact(*witness.operands)
    if not isinstance(exact, int):
        return False
    for element in TYPES.values():
        if element.is_integer:
            low, high = element.limits
            clamped, wrapped = min(max(exact, low), high), (exact - low) % (high - low + 1) + low
            within = all(low <= one <= high for one in witness.operands)
            if within and clamped != exact and (clamped, wrapped) == (witness.got, witness.expected):
                return True
    return False


def _equation(witness: Witness) -> str:
    return _signed(f"{witness.written} = {witness.got}")


def example(witness: Witness, language: Language) -> str:
    """Return operands with what the runtime gives and what is expected.

    Those of a pattern are all its inputs, and stand alone where the pattern is long.
    """
    alone = witness.pattern is None and len(witness.operands) == witness.operator.arity
    if alone or (witness.pattern is not None and len(witness.written) <= _SHORT):
        return _witness(witness, language)
    shown = [_signed(str(one)) for one in witness.operands[:_SHOWN]]
    return language.tr(
        "inputs {operands} give {got}, expected {expected}",
        operands=row([*shown, *["…"] * (len(witness.operands) > _SHOWN)], language),
        got=_signed(str(witness.got)),
        expected=_signed(str(witness.expected)),
    )


def _signed(numbers: str) -> str:
    """Numbers with true minus signs, exponents excepted."""
    return re.sub("(?<!e)-", "−", numbers)


def _witness(witness: Witness | None, language: Language) -> str:
    if witness is None:
        return ""
    expected = _signed(str(witness.expected))
    return language.tr("{result}, expected {expected}", result=_equation(witness), expected=expected)


def _with(what: str, result: str, language: Language) -> str:
    return language.tr("{what} ({result})", what=what, result=result)


def _examples(examples: Sequence[Example], language: Language) -> str:
    return all_of([_example(name, witness, language) for name, witness in examples], language)


def _example(name: str, witness: Witness | None, language: Language) -> str:
    words = _words(name, language)
    return words if witness is None else _with(words, _equation(witness), language)


def _answers(answers: Sequence[tuple[str, Witness | str]], language: Language) -> str:
    return language.tr("; ").join(_answer(which, then, language) for which, then in answers)


def _answer(which: str, then: Witness | str, language: Language) -> str:
    """What comes of a node with other constants: ``"different if A is a constant (5 − 10 = 0)"``."""
    verdict = then if isinstance(then, str) else "different-numbers"
    words = language.tr(_FOLDED[verdict], condition=language.tr(_CONSTANTS[which]))
    return words if isinstance(then, str) else _with(words, _equation(then), language)


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


def patterns(patterns: Sequence[Pattern | Folded], language: Language) -> str:
    """Return patterns as a row, the first few of many."""
    shown = all_of([_pattern(one, language) for one in patterns[:_MOST_PATTERNS]], language)
    more = len(patterns) - _MOST_PATTERNS
    return language.tr("{some} and {count} more", some=shown, count=more) if more > 0 else shown


def _setting(setting: Setting, _: Language) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting)


def _count(count: int, language: Language) -> str:
    return language.tr("1 subtraction is") if count == 1 else language.tr("{count} subtractions are", count=count)


def _stated(stated: Stated, language: Language) -> str:
    shown = language.tr(_STATED[stated.verdict], release=stated.release)
    return shown if stated.witness is None else _with(shown, _equation(stated.witness), language)


_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "avx2": "AVX2",
        "avx512f": "AVX-512",
        "avx512_bf16": "AVX-512 BF16",
        "avx512_fp16": "AVX-512 FP16",
        "amx_tile": "AMX",
    }
)
"""Instruction sets as their makers write them."""


def short_processor(cpu: str) -> str:
    """Return a processor's name without trade marks, and its newest instruction set; or an instruction set alone.

    >>> short_processor("Intel(R) Xeon(R) Processor (up to amx_tile)"), short_processor("amx_tile")
    ('Intel Xeon (AMX)', 'AMX')
    """
    name = _EXTENSIONS.get(cpu) or re.sub(r"\((R|TM)\)| Processor\b", "", cpu)
    return re.sub(r"\(up to (\w+)\)", lambda found: f"({_EXTENSIONS.get(found[1], found[1])})", name)


def _taken(release: str, language: Language) -> str:
    if release:
        return language.tr("the verdict is that of {release}", release=release)
    return language.tr("the verdict is the worse of the two")


_FORMATS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "answers": _answers,
        "classes": _class_row,
        "count": _count,
        "cpu": lambda cpu, _: short_processor(cpu),
        "cpus": lambda cpus, language: all_of([short_processor(one) for one in cpus], language),
        "examples": _examples,
        "form": lambda form, language: language.tr(form) if form in FORMS else form,
        "index": lambda index, _: "" if index is None else str(list(index)),
        "limit": lambda limit, language: language.tr(_LIMITS[limit]),
        "newer": _stated,
        "nodes": all_of,
        "older": _stated,
        "operands": _operands,
        "others": _classes,
        "pattern": _pattern,
        "pattern_cpus": lambda cpus, language: all_of([short_processor(one) for one in cpus], language),
        "patterns": patterns,
        "purpose": lambda purpose, language: language.tr(purpose),
        "relation": relation_words,
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
