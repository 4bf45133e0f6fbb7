"""Fix a model for a target: the smallest local rewrites after which its subtractions give the expected results there.

A subtraction is rewritten where the target gets values wrong that its operands can hold
(:mod:`minuend.judging.checking`), or does not run it at all. It becomes a recipe (:mod:`minuend.operators.recipe`), a
constant, or the same subtraction with its broadcasting spelt out. What no recipe makes right is refused, with the
reason and the nearest thing that can be done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minuend.child import MEMORY, SECONDS, Limits
from minuend.core.policies import CONTRACTS, Contract
from minuend.errors import MinuendError, SpecError, Unsupported, listed, near, shown
from minuend.judging.options import Judging, assumed_of, check_hint
from minuend.judging.run_check import tried
from minuend.models import saving
from minuend.models.converting import VERSIONING, advice, version_of
from minuend.models.opening import FORMATS, Model, open_model
from minuend.models.ranges.assumed import Assumptions
from minuend.operators import SUBTRACT, VALUE_CLASSES
from minuend.plain import grouped
from minuend.rewriting.deviations import WRONG
from minuend.rewriting.options import Rewriting
from minuend.rewriting.remaining import Recommended, recommended, remaining
from minuend.rewriting.verification import Comparison, compare
from minuend.rewriting.work import FIXING, Refusal, Rewritten, Work
from minuend.runtimes import targets
from minuend.runtimes.finding import Finding
from minuend.runtimes.targets import Target
from minuend.runtimes.tolerance import Tolerance, Tolerances
from minuend.runtimes.trials import Trial

FLOATS = "floats"
"""Accepts all value classes of floats."""


@dataclass(frozen=True)
class Fixed:
    """A fixed model.

    Attributes:
        model: an ``onnx.ModelProto`` or a :class:`minuend.openvino.Model`.
        changes: what was done, a sentence each; none where there was nothing to do. rewritten: the subtractions that
            were rewritten, whose sentences are among the changes.
        refused: what could not be done. notes: that there was nothing to do, and which subtractions are left that are
            not known to be right.
        total: how many subtractions the model has. untouched: how many of them stay as they are.
        touched: the element types of those that were rewritten.
        target: the target's name. overflow: the policy.
        comparison: the results of the fixed model on the target, those of its rewritten subtractions among them;
            ``None`` where it was not run.
        whole: the results of the fixed model unmodified, its outputs alone.
        opened: the fixed model as this package's own, which can be saved.
        original: the model as it was read, whose files :meth:`save` does not replace.
        warning: that the target's release is not measured, and which one's verdicts are used; else ``""``.
        remaining: the subtractions of the fixed model that are not right on the target, those that are tolerated among
            them. hint: the precision hint that the target gets.
        settings: settings of the runtime with which fewer subtractions need a rewrite, or a rewrite helps more.
    """

    model: Any
    changes: tuple[str, ...]
    refused: tuple[Refusal, ...]
    untouched: int
    touched: tuple[str, ...]
    target: str
    overflow: Contract
    comparison: Comparison | None
    whole: Trial | None
    opened: Model = field(repr=False)
    original: Model = field(repr=False)
    notes: tuple[str, ...] = ()
    warning: str = ""
    remaining: tuple[Finding, ...] = ()
    hint: str = ""
    settings: tuple[Recommended, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()
    total: int = 0

    @property
    def differs(self) -> bool:
        """Whether the fixed model still gives different results on the target, as it is judged or as it ran."""
        judged = any(one.verdict in WRONG and one.tolerated is None for one in self.remaining)
        if self.whole is not None:
            return judged or (self.whole.verdict in WRONG and self.whole.tolerated is None)
        return judged or (self.comparison is not None and self.comparison.outputs.different > 0)

    @property
    def failed(self) -> bool:
        """Whether something was refused, or is wrong on the target all the same."""
        wrong = self.comparison is not None and self.comparison.failed
        return bool(self.refused) or wrong or (self.whole is not None and _fails(self.whole))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, whole or not at all, over none of the original's files; see the model's own ``save``.

        Where nothing was changed, the original's files are copied byte for byte, if the suffix is the same; external
        data has to stay in its folder.
        """
        saving.save(self.opened, self.original, path, changed=bool(self.changes))


def fix(
    model: Any,
    target: str | os.PathLike[str] | Target,
    *,
    overflow: Contract = "wrap",
    accept: Iterable[str] = (),
    assume: Mapping[str, object] | None = None,
    hint: str = "",
    tolerate: str | Iterable[str] | Tolerances = ("sign-of-zero",),
    run: bool = True,
    exact: bool = False,
    max_memory: int | None = MEMORY,
    max_seconds: float | None = SECONDS,
    **options: object,
) -> Fixed:
    """Rewrite the subtractions that a target gets wrong.

    Args:
        model: a path, bytes, text, ``onnx.ModelProto``, ``openvino.Model``, or a model of this package; it is not
            changed.
        target: a runtime, ``"openvino-cpu"`` or ``"onnxruntime-cpu@1.31"``, or an opset, ``"onnx:13"``, to which the
            model is converted, with subtractions of types that it lacks computed in types that it has.
        overflow: ``"wrap"``, the operator's own, or ``"saturate"``: then every integer subtraction that may overflow
            is written so that it saturates on any target.
        accept: value classes whose deviations are accepted, such as ``"negative zero"`` or ``"subnormal"`` (a ``-`` for
            the space will do); ``"floats"`` for all of floats.
        assume: what is known of inputs and other values beyond the model, as in
            :func:`minuend.judging.checking.check`; the notes say which.
        hint: the precision hint that the target gets, ``"f32"``: what is right with it is not rewritten.
        tolerate: severities of different numbers that stay as they are, as in :func:`minuend.judging.checking.check`.
        run: whether to run the fixed model on the target, where that is installed, and to compare.
        exact: whether releases that are not measured are refused; otherwise the verdicts of adjacent ones are used.
        max_memory, max_seconds: what running the model once may take, as in :func:`minuend.models.opening.run`.
        options: more arguments of the dialect's own ``read``.

    Returns:
        The fixed model with the changes, the refusals and the comparison. Inputs, outputs and all other nodes are as
        they were.

    Raises:
        SpecError: no such target, policy, value class, hint or severity. FileNotFoundError, FileFormatError,
            TypeError: see :func:`minuend.models.opening.open_model`. Unsupported: a model of a format that fix does
            not rewrite.
        ConversionRefused: other nodes cannot be converted to the opset. LimitExceeded: a run of the model was stopped,
            so that nothing could be compared.

    >>> text = '<ir_version: 10, opset_import: ["" : 18]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }'
    >>> [node.op_type for node in fix(text, "openvino-cpu@2026.4.1", run=False).model.graph.node]
    ['Cast', 'Cast', 'Sub', 'Constant', 'BitwiseAnd', 'Cast']
    """
    if not isinstance(overflow, str) or overflow not in CONTRACTS:
        raise SpecError("overflow", f"overflow is {shown(overflow)}; expected {listed(map(repr, CONTRACTS))}")
    accepted = value_classes(accept)
    wanted = _wanted(target, exact)
    check_hint(hint, () if wanted.runtime is None else (wanted.runtime,))
    rewriting = replace(
        wanted,
        overflow=overflow,
        accept=accepted,
        hint=hint,
        tolerate=tolerate if isinstance(tolerate, Tolerances) else Tolerances(Tolerance.of(tolerate)),
        run=run,
        limits=Limits(max_memory, max_seconds),
    )
    original = open_model(model, **options)
    return _fixed(original, replace(rewriting, assumed=assumed_of(original, assume)))


def _fixed(original: Model, options: Rewriting) -> Fixed:
    """Fix an open model."""
    work = _work(original, options)
    work.run()
    fixed = work.result()
    comparison, whole = _verified(original, fixed, work) if options.run else (None, None)
    return Fixed(
        model=fixed.handout,
        changes=tuple(work.changes),
        refused=_grouped(work.refused),
        untouched=work.left,
        touched=tuple(work.touched),
        target=options.name,
        overflow=options.overflow,
        comparison=comparison,
        whole=whole,
        opened=fixed,
        original=original,
        notes=(*_notes(work), *_granted(options.assumed)),
        warning="" if options.runtime is None else options.runtime.warning,
        remaining=tuple(remaining(work)),
        hint=options.hint,
        settings=tuple(recommended(original, options, len(work.places_refused))),
        rewritten=tuple(work.rewritten),
        total=work.total,
    )


def _work(original: Model, options: Rewriting) -> Work:
    """The work on a model, in its dialect's own class."""
    _check_dialect(original, options)
    return FIXING.required(original.dialect).work(original, options)


def _verified(original: Model, fixed: Model, work: Work) -> tuple[Comparison | None, Trial | None]:
    """Run a fixed model on its target, where that is installed; an opset has none."""
    options, comparison = work.options, None
    with options.limits.applied():
        if work.changed:
            comparison = compare(original, fixed, options, work.touched, work.spots)
            if comparison.skipped or comparison.failed:
                return comparison, None
        if options.runtime is None or not (work.changed or work.unknown):
            return comparison, None
        judging = Judging(targets=(options.runtime,), hint=options.hint, assumed=options.assumed, limits=options.limits)
        expected = original if options.overflow == "wrap" else None
        try:
            trial = tried(fixed, options.runtime, judging, original=expected).trial
            return comparison, options.tolerate.marked(trial)
        except MinuendError:  # the comparison reports why
            return comparison, None


def _fails(whole: Trial) -> bool:
    """Whether a subtraction still differs, under every setting; other operators are not fixed."""
    return whole.tolerated is None and not whole.gone and any(place.subtraction for place in whole.places)


def value_classes(given: Iterable[str]) -> frozenset[str]:
    """Return value classes by their names; a ``-`` or ``_`` may stand for a space, ``floats`` for all of floats.

    Raises:
        SpecError: no such class.

    >>> sorted(value_classes(["negative-zero"]))
    ['negative zero']
    """
    if not isinstance(given, Iterable):
        raise TypeError(f"a {type(given).__name__} names no value classes; expected names such as 'negative-zero'")
    found: set[str] = set()
    for name in [given] if isinstance(given, str) else given:
        if not isinstance(name, str):
            raise TypeError(f"a {type(name).__name__} is no value class; expected a name such as 'negative-zero'")
        plain = name.strip().replace("-", " ").replace("_", " ")
        if plain == FLOATS:
            found.update(row.name for row in SUBTRACT.float_classes)
        elif plain in VALUE_CLASSES:
            found.add(plain)
        else:
            known = [*(row.replace(" ", "-") for row in VALUE_CLASSES), FLOATS]
            meant, expected = near(name, known), listed(known)
            raise SpecError("values", f"no value class {shown(name)}{meant} can be accepted; expected {expected}")
    return frozenset(found)


def _wanted(name: str | os.PathLike[str] | Target, exact: bool) -> Rewriting:
    """The options of a runtime's target, or of a version of a dialect whose models can be converted to it."""
    if isinstance(name, Target):
        return Rewriting(name=name.name, runtime=name)
    named, colon, version = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not colon or targets.is_file(name):
        found = targets.for_models(targets.find(name, exact=exact))
        if found.runs_nothing:
            raise SpecError("targets", found.runs_nothing)
        return Rewriting(name=found.name, runtime=found)
    versioned = {home.name: home for home in FIXING.homes() if VERSIONING.of(home) is not None}
    if named not in versioned or not version:
        expected = listed(["a runtime,", *(f"{one.name}: and an {one.counted}" for one in versioned.values())])
        raise SpecError("targets", f"{shown(name)} is no target of fix{near(named, versioned)}; expected {expected}")
    versioned[named].resolve(version)
    return Rewriting(name=f"{named}:{version}", version=int(versioned[named].number(version)))


def check_target(model: Model, target: str, *, exact: bool = False) -> None:
    """Check that a model is of a format that can be fixed, and for a target.

    Raises:
        SpecError, Unsupported: see :func:`fix`.
    """
    _check_dialect(model, _wanted(target, exact))


def _check_dialect(model: Model, options: Rewriting) -> None:
    if FIXING.of(model.dialect) is None:
        kinds = [FORMATS.required(home).MODELS for home in FIXING.homes()]
        instead = advice(model, next(FIXING.homes()).name, "convert the model first")
        raise Unsupported(f"fix rewrites {listed(kinds, 'and')}{instead}")
    home, wanted, name = model.dialect, options.runtime, options.name
    if wanted is not None:
        if home.name not in wanted.dialects:
            raise SpecError("targets", f"{wanted.reads_none(home.name)}{advice(model, next(iter(wanted.dialects)))}")
    elif (other := version_of(name)[0]) is not home:
        instead, models = advice(model, name, "convert it instead"), FORMATS.required(home).MODELS
        raise SpecError("targets", f"{name} is an {other.counted}, and the model is {models}{instead}")


def _notes(work: Work) -> list[str]:
    return work.unknown or ([] if work.changes or work.refused else [_nothing(work)])


def _nothing(work: Work) -> str:
    target = work.options.name
    if not work.left:
        return f"nothing to fix for {target}: the model has no subtraction"
    if work.tolerated:
        severities = listed(dict.fromkeys(severity for _, severity in work.tolerated), "and")
        count = "its subtraction" if work.left == 1 else f"{len(work.tolerated)} of its {work.left} subtractions"
        differ = "differs" if len(work.tolerated) == 1 else "differ"
        return f"nothing to fix for {target}: {count} {differ}, which is tolerated ({severities})"
    count = "its subtraction is" if work.left == 1 else f"its {work.left} subtractions are"
    return f"nothing to fix for {target}: {count} right as {'it is' if work.left == 1 else 'they are'}"


def _granted(assumed: Assumptions) -> list[str]:
    return [f"this holds where {listed([one.sentence for one in assumed.values()], 'and')}"] if assumed else []


def _grouped(refused: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Join refusals of one reason into one."""
    found = grouped(((one.dtype, one.reason, one.instead), one) for one in refused)
    return tuple(
        Refusal(first.location, first.node, first.dtype, first.reason, first.instead, tuple(r.location for r in rest))
        for first, *rest in found.values()
    )
