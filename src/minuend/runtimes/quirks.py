"""What is known of a runtime beyond its measured data, in one place for each: its adapter's file.

All of it was found by running recipes and models on the runtime; the tests insist on each row, so that a runtime that
got better is noticed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from minuend.core.elements import ElementType
from minuend.errors import Unsupported
from minuend.models.constants import Constants, word_of
from minuend.models.hazards import of_operator
from minuend.operators import SUBTRACT
from minuend.operators.value_classes import classes
from minuend.runtimes.registry import known as known_adapter

if TYPE_CHECKING:
    from minuend.runtimes.target import Target


Row: TypeAlias = tuple[str, str] | tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Limit:
    """Value classes that a recipe leaves wrong on a runtime, as its tests found them.

    Attributes:
        recipes: their names. types, constants: for which operands.
        classes: names in :data:`minuend.runtimes.VALUE_CLASSES`; empty: all. why: what the runtime does.
    """

    recipes: tuple[str, ...]
    types: tuple[str, ...]
    constants: tuple[str, ...]
    classes: tuple[str, ...]
    why: str


AS_VALUES, ROUNDED_LAST = "as values", "rounded last"
"""Constants of a narrow type: computed in float32 as values are, next to nodes that are not folded too; or computed so
among themselves, and rounded before any other node reads them."""


MINUS_ZERO_KEPT, CONSTANTS_KEPT, LESS_ITSELF, LESS_KNOWN = "minus 0 kept", "constants kept", "less itself", "less known"
"""What was measured to be right in cases narrower than a row of answers, all of float32: ``x - (-0)`` between an input
and an output of the graph, shapes being known; an array that the runtime keeps as it is, without -0; a sum or product
less itself; a value of an open shape less one of a known shape, as if both were known."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a runtime does in addition to computing.

    Attributes:
        takes_anyway: broadcasting rule → what it does with shapes that the rule forbids: it does not say so.
        open_dims: what it does where an open size meets another one that it may be repeated to; it does not say so.
        strict: a rule that models break and onnxruntime does not insist on, a kind of
        :mod:`minuend.onnx.graphs.normalising`, or
            a way to store constants, of :mod:`minuend.onnx.documents.constant_storage`, or two constants of a type →
            the verdict on such a model, why, and the version that it can be converted to, where that helps.
        strict_since, strict_before: a kind among those and the two below → the first release of which that is so, and
            the first one after these.
        lacked: operators that it does not run, in no form that ONNX's own tests have, and kinds of
            :mod:`minuend.models.operator_forms` that it does not run.
        contrib: operators of others than ONNX that it runs, and beginnings of such names, as ``"com.microsoft."``.
        deviating: kinds among those that it gives other numbers for.
        local_functions: whether it reads ONNX models with local functions.
        arrays: whether it is queried with bare arrays, for it reads no model files.
        instead: of such a one: what to do with a model, in a sentence without a full stop.
        joins: whether it computes nodes together, so that adjacent operators count; one that runs a node at a time does
            not.
        hints: names of its settings of precision, and the setting that says it; the first keeps float32.
        switches: its further settings, by the words for it; they say what makes numbers differ.
        shares: element types of which it may compute a node with the scalar constant of another node of its shape.
        narrow_constants: what it does with float16 and bfloat16 of constants between nodes that it folds:
            :data:`AS_VALUES` or :data:`ROUNDED_LAST`; ``""`` where that was not measured.
        right: :data:`MINUS_ZERO_KEPT` and the like → the releases of which that was measured.
        rescales: whether it makes one operator of QuantizeLinear and DequantizeLinear, and rounds otherwise then.
        splits: whether it computes LayerNormalization and ConvTranspose as several operators, and fuses the product and
            the sum that come last with what reads them.
        swaps_zeros: operators that give the other one of +0 and -0 of a narrow type between nodes of float32, each with
            the first release of which that is so.
        crosses: whether it takes a constant along the second of four axes or more for one along the last, behind a
            product of a matrix of an open shape, or refuses it.
        one_float: whether it computes float16 and float64 in float32, and leaves conversions between them out.
        as_written: whether it makes one operator of a normalisation only where this is written in a way that was
            measured, conversions between its operators aside, and its parameters have one axis.
        bfloat16_out: whether it hands bfloat16 out; one that does may leave a conversion out that is undone behind it.
        operators_from: operator → the release from which on it surely reads it, where not all that are measured do.
        apart_from: the release from which on a depthwise convolution adds up its products before what comes behind it.
        loaded: release → the highest opset and the highest IR version of ONNX that it loads; see :meth:`loads`.
        kernels: release → the highest opset that it has the kernels of, where it loads newer ones.
        limits: where recipes are not right.
        proven: recipe → element types with which it was run on the runtime and is right, whichever operands are
            constants; ``None``: all recipes were, and ``limits`` says the rest.
        in_part: whether its patterns were measured in part: those that occur in models. Others are unknown.
        keeps_zeros: whether it leaves out no constant 0: one between nodes is computed as one next to inputs is.
        takes_for_zero: element types whose constants it takes for 0 where they are too small for float32.
        isa: instruction set → the environment variables that keep it from using newer ones.
        by_isa: element types, constants, and what hangs on the processor's instruction sets, as the predicate of a
            sentence.
        older_differ: element types with wrong numbers on processors of older instruction sets that those of newer ones
            do not have: they are judged on all that were measured.
        opens_bodies: whether the shapes of all that bodies of If and Loop are given are open to it.
        folds: an operator and the element type of its result → whether it computes it of constants while it loads a
            model.
        loses: an element type's name, kind and bits, and elements → why it does not keep such a constant, or ``""``.
    """

    takes_anyway: Mapping[str, str] = field(default_factory=dict)
    open_dims: str = ""
    strict: Mapping[str, Row] = field(default_factory=dict)
    strict_since: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strict_before: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    lacked: frozenset[str] = frozenset()
    contrib: tuple[str, ...] = ()
    deviating: frozenset[str] = frozenset()
    local_functions: bool = True
    arrays: bool = False
    instead: str = ""
    joins: bool = True
    shares: tuple[str, ...] = ()
    hints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    switches: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    narrow_constants: str = ""
    right: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rescales: bool = False
    splits: bool = False
    swaps_zeros: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    crosses: bool = False
    one_float: bool = False
    as_written: bool = False
    bfloat16_out: bool = True
    operators_from: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    apart_from: tuple[int, ...] = ()
    loaded: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    kernels: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    proven: Mapping[str, tuple[str, ...]] | None = None
    in_part: bool = False
    keeps_zeros: bool = False
    takes_for_zero: tuple[str, ...] = ()
    isa: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    by_isa: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = ()
    older_differ: tuple[str, ...] = ()
    opens_bodies: bool = False
    folds: Callable[[str, str], bool] = lambda operator, dtype: True
    loses: Callable[[str, str, int, Any], str] = lambda name, kind, bits, array: ""

    def strict_of(self, release: str) -> Mapping[str, Row]:
        """Return the kinds of models that a release does not take, each with the verdict and why.

        >>> ["extremes of float16" in quirks("onnxruntime-cpu").strict_of(one) for one in ("1.19.2", "1.20.1")]
        [True, False]
        """
        return {kind: one for kind, one in self.strict.items() if self._holds(kind, release)}

    def lacks(self, kinds: Collection[str], release: str) -> str:
        """Return the first of some kinds of models that a release does not run: the operator, or the form of one.

        >>> quirks("tvm").lacks({"operator GRU", "operator Add"}, "0.27.0.post1")
        'GRU'
        """
        return self._first(self.lacked, kinds, release)

    def differs(self, kinds: Collection[str], release: str) -> str:
        """Return the first of some kinds of models that a release gives other numbers for.

        >>> kinds = {"MaxPool whose last window begins in the padding"}
        >>> [bool(quirks("onnxruntime-cpu").differs(kinds, release)) for release in ("1.20.1", "1.21.1")]
        [True, False]
        """
        return self._first(self.deviating, kinds, release)

    def unmeasured(self, foreign: Iterable[str]) -> str:
        """Return the first operator of others than ONNX of which it is not known that the runtime runs it.

        >>> quirks("onnxruntime-cpu").unmeasured({"com.microsoft.Gelu", "my.Gelu"})
        'my.Gelu'
        """
        beginnings = tuple(one for one in self.contrib if one.endswith("."))
        others = (one for one in sorted(foreign) if one not in self.contrib and not one.startswith(beginnings))
        return next(others, "")

    def _first(self, known: Iterable[str], kinds: Collection[str], release: str) -> str:
        met = (one for one in sorted(known) if one in kinds or of_operator(one) in kinds)
        return next((one for one in met if self._holds(one, release)), "")

    def _holds(self, kind: str, release: str) -> bool:
        """Whether what is said of a kind is so of a release."""
        return self.strict_since.get(kind, ()) <= _parts(release) < self.strict_before.get(kind, (math.inf,))

    def reads(self, operators: Iterable[str], release: str) -> bool:
        """Whether a release reads all of some operators.

        >>> [quirks("openvino-cpu").reads(["BitwiseAnd"], release) for release in ("2023.3.0", "2026.4.1")]
        [False, True]
        """
        parts = _parts(release)[:2]
        return all(parts >= self.operators_from.get(name, ()) for name in operators)

    def swaps_zeros_of(self, operator: str, release: str) -> bool:
        """Return whether an operator of a release gives the other one of two zeros between nodes of float32.

        >>> [quirks("onnxruntime-cpu").swaps_zeros_of("Relu", release) for release in ("1.18.1", "1.19.2")]
        [False, True]
        """
        return operator in self.swaps_zeros and self.swaps_zeros[operator] <= _parts(release)

    def sums_apart(self, release: str) -> bool:
        """Return whether a release adds up the products of a depthwise convolution before what comes behind it.

        >>> [quirks("openvino-cpu").sums_apart(release) for release in ("2025.2.0", "2025.4.1")]
        [False, True]
        """
        return _parts(release)[:2] >= self.apart_from

    def loads(self, release: str) -> tuple[int | None, int | None] | None:
        """Return the highest opset and the highest IR version of ONNX that a release loads, each ``None`` for no limit.

        ``None`` where the release was not queried.

        >>> quirks("onnxruntime-cpu").loads("1.23.2"), quirks("openvino-cpu").loads("2026.4.1")
        ((23, 11), (None, None))
        """
        return self.loaded.get(release)

    def left_wrong(self, recipe: str, element: ElementType, constants: Constants) -> frozenset[str]:
        """Return the value classes that a recipe leaves wrong, or of which nothing is known."""
        if self.proven is not None and element.name not in self.proven.get(recipe, ()):
            return frozenset(rule.name for rule in classes(SUBTRACT, element))
        found: set[str] = set()
        for row in self.limits:
            if recipe in row.recipes and element.name in row.types and word_of(constants) in row.constants:
                found.update(row.classes or (rule.name for rule in classes(SUBTRACT, element)))
        return frozenset(found)

    def kept(self, element: ElementType, array: Any) -> str:
        """Say why the runtime does not keep a constant as the model has it; empty where it does."""
        if array.size and self.proven is not None:
            return "which constants it keeps as they are has not been measured"
        return self.loses(element.name, element.kind, element.bits, array) if array.size else ""


def _parts(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())


def strict_of(target: Target) -> Mapping[str, Row]:
    """Return the kinds of models that a target does not take, each with the verdict and why."""
    return {**quirks(target.runtime).strict_of(target.release), **target.strict}


@functools.cache
def quirks(runtime: str) -> Quirks:
    """Return what is known of a runtime; of one without an adapter here nothing is, and its target says it all."""
    adapter = known_adapter(runtime)
    stated: dict[str, Any] = {"JOINS": False} if adapter is None else vars(adapter)
    known = {f.name: stated[name] for f in fields(Quirks) for name in (f.name, f.name.upper()) if name in stated}
    try:
        known["limits"] = tuple(Limit(*row) for row in known.get("limits", ()))
    except TypeError as error:
        raise Unsupported(f"{runtime}: LIMITS holds what is no row of Limit: {error}") from None
    return Quirks(**known)
