"""A fixed model on the runtime that it was fixed for, against this package's own subtraction and own run."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from minuend.errors import LimitExceeded, MinuendError
from minuend.judging.contract import Tally, contracted
from minuend.models.opening import Model
from minuend.models.ranges.assumed import Assumptions
from minuend.rewriting.options import Rewriting
from minuend.rewriting.rewriter import Spot, Watched
from minuend.runtimes import registry
from minuend.runtimes.model_runs import (
    BINARY,
    DIMS,
    SMALL,
    Array,
    beyond_inputs,
    check_size,
    make_inputs,
    only_nan,
    query_model,
)
from minuend.runtimes.running import Runtime

_ROUNDS, _ENOUGH = 4, 20_000
"""How often a small model is run, and after how many elements that is enough."""


@dataclass(frozen=True)
class Comparison:
    """The results of a fixed model on a runtime.

    Attributes:
        runtime: ``"openvino-cpu@2026.4.1"``: the release that is installed; ``"this package"`` where an opset was the
            target.
        subtractions: the rewritten subtractions, each on the operands that the runtime itself gave it.
        outputs: the model's outputs against this package's run of the whole model; its other operators may round
            otherwise there.
        skipped: why nothing was run. unlike: why there is nothing to compare the outputs with.
    """

    runtime: str
    subtractions: Tally = field(default_factory=Tally)
    outputs: Tally = field(default_factory=Tally)
    skipped: str = ""
    unlike: str = ""

    @property
    def failed(self) -> bool:
        """Whether a rewritten subtraction is wrong on the runtime."""
        return self.subtractions.different > 0

    @property
    def _elsewhere(self) -> bool:
        return self.outputs.different > 0 and self.subtractions.elements > 0 and not self.failed

    def __str__(self) -> str:
        if self.skipped:
            return f"not run on {self.runtime}: {self.skipped}"
        parts = [f"of the rewritten subtractions {self.subtractions}"] if self.subtractions.elements else []
        if self.outputs.elements:
            elsewhere = ", as other operators may round otherwise there" if self._elsewhere else ""
            parts.append(f"of the outputs {self.outputs}{elsewhere}")
        if self.unlike:
            parts.append(f"the outputs are not compared: {self.unlike}")
        return f"run on {self.runtime}: {'; '.join(parts) or 'it has no elements'}"


def compare(
    original: Model, fixed: Model, options: Rewriting, touched: Collection[str] = (), spots: Sequence[Spot] = ()
) -> Comparison:
    """Run a fixed model on the target, where it is installed, and compare.

    Inputs of touched element types are the type's edges and random bits; others are small numbers. Outputs are expected
    to be what this package computes for the original model, or for the fixed one where that saturates.
    Without a target this package runs the fixed model too.
    """
    target = options.runtime
    adapter = None if target is None else registry.known(target.runtime)
    release = None if adapter is None else registry.release(adapter)
    if target is not None and release is None:
        return Comparison(target.name, skipped="it is not installed here")
    if why := beyond_inputs(original, options.assumed):
        return Comparison(target.name if target is not None else "this package", skipped=why)
    name = "this package" if target is None else f"{target.runtime}@{release}"
    expected_of = original if options.overflow == "wrap" else fixed
    try:
        with Runtime(target.runtime) if target is not None else contextlib.nullcontext() as runtime:
            return _compared(name, expected_of, fixed, runtime, options, touched, spots)
    except LimitExceeded:
        raise
    except (MinuendError, FileNotFoundError) as error:
        return Comparison(name, skipped=str(error))


def _compared(
    name: str,
    expected_of: Model,
    fixed: Model,
    runtime: Runtime | None,
    options: Rewriting,
    touched: Collection[str],
    spots: Sequence[Spot],
) -> Comparison:
    check_size(fixed)
    subtractions, outputs, unlike = Tally(), Tally(), ""
    settings = {"hint": options.hint} if options.hint else {}
    for attempt in range(_ROUNDS):
        inputs, expected, unlike = _expected(expected_of, touched, attempt, options.assumed)
        names = list(fixed.output_names())
        if runtime is None:
            got = {key: _array(value) for key, value in fixed.run(inputs).items()}
        else:
            wanted = _watched(spots, {*inputs, *names})
            got, seen = query_model(fixed, inputs, names, wanted, runtime, settings)
            _judge(spots, {**inputs, **got}, wanted, seen, options.overflow, subtractions)
        for output, want in expected.items():
            outputs.add(repr(output), got[output], _array(want))
        if max(subtractions.elements, outputs.elements) > _ENOUGH:
            break
    return Comparison(name, subtractions, outputs, unlike=unlike)


def _watched(spots: Sequence[Spot], named: Collection[str]) -> list[Hashable]:
    """What has to be watched in addition to inputs and outputs, each value once."""
    values = [value for spot in spots for value in (spot.a, spot.b, spot.c) if not isinstance(value, np.ndarray)]
    return list(dict.fromkeys(value for value in values if not (isinstance(value, str) and value in named)))


def _judge(
    spots: Sequence[Spot],
    named: Mapping[str, Array],
    watched: Sequence[Hashable],
    seen: Sequence[Array],
    overflow: str,
    tally: Tally,
) -> None:
    def value(of: Watched) -> Array:
        if isinstance(of, np.ndarray):
            return of
        return seen[watched.index(of)] if of in watched else named[str(of)]

    for spot in spots:
        a, b, c = value(spot.a), value(spot.b), value(spot.c)
        tally.add(spot.where, c, contracted(spot.node, a, b, overflow))


def _expected(
    model: Model, touched: Collection[str], attempt: int, assumed: Assumptions
) -> tuple[dict[str, Array], Mapping[str, object], str]:
    """Inputs, what this package computes of them, and why it does not.

    Large numbers fail as indices or counts, and some dims may not be long: then smaller ones are tried. Where all
    elements of an output are NaN, integers are zeros and ones, as masks have them.
    """
    failure: MinuendError | None = None
    inputs: dict[str, Array] = {}
    for types, dim in itertools.product((touched, ()), DIMS):
        if isinstance(failure, LimitExceeded) and (types or dim != DIMS[0]):
            continue
        inputs = make_inputs(model, types, attempt, dim, SMALL, assumed)
        try:
            expected = model.run(inputs)
        except MinuendError as error:
            failure = error
            continue
        if only_nan(expected):
            with contextlib.suppress(MinuendError):
                other = make_inputs(model, types, attempt, dim, BINARY, assumed)
                found = model.run(other)
                inputs, expected = (inputs, expected) if only_nan(found) else (other, found)
        return inputs, expected, ""
    if isinstance(failure, LimitExceeded):
        raise failure
    return inputs, {}, f"this package cannot run the model ({failure})"


def _array(value: object) -> Array:
    codes = getattr(value, "codes", None)
    return np.asarray(value if codes is None else codes)
