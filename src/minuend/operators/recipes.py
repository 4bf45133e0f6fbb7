"""Recipes: subtractions written with other operators, which give the contract's answer where Sub itself does not.

A recipe is data: steps over the operands ``a`` and ``b`` that end in ``c``. A dialect's builder
(:mod:`minuend.onnx.rewrites.recipes`, :mod:`minuend.openvino.rewrites.recipes`) writes them into its models. That a
recipe is right is
not believed: the tests run every one on the installed runtimes, over all pairs of 8-bit types and the edges of wider
ones, with operands that are inputs and constants.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from minuend.core.elements import TYPES, ElementType
from minuend.core.policies import Contract

MOST_FOLDED = 64 << 20
"""Bytes of a constant that may take a subtraction's place (or as many as the larger operand has)."""

APART = "kept apart with Max"
"""The recipe against what a runtime makes of a subtraction and its neighbours; it cures nothing else."""

OWN = "own"
"""Stands for the operands' own element type."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a recipe.

    Attributes:
        output: the value that it makes; the last step's is ``c``.
        op: ONNX's name of it. Mod's result has the divisor's sign, Clip takes its bounds as second and third input.
        inputs: values made before, ``a``, ``b``, numbers, or names of numbers that depend on the type (:func:`number`).
        dtype: the type that it computes in (of Cast: that it converts to); :data:`OWN` for the operands' own.
    """

    output: str
    op: str
    inputs: tuple[str | int | float, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to subtract.

    Attributes:
        name: for reports: ``"through int32, wrapped with BitwiseAnd"``.
        overflow: the policy that it keeps; ``None`` where nothing overflows in it.
        types: the element types that it is for.
        steps: what to compute.
        wide: the type that the difference is computed in; :data:`OWN` where it stays in the operands' own.
        cures: value classes that it sets right although it subtracts in the operands' own type.
        proof: whether it is right only for operands and differences that ``wide`` holds, which has to be proven.
    """

    name: str
    overflow: Contract | None
    types: tuple[str, ...]
    steps: tuple[Step, ...]
    wide: str = OWN
    cures: tuple[str, ...] = ()
    proof: bool = False


Value: TypeAlias = "str | int | float"


def _steps(*rows: tuple[str, str, tuple[Value, ...], str]) -> tuple[Step, ...]:
    return tuple(Step(*row) for row in rows)


def _through(wide: str, *rest: tuple[str, str, tuple[Value, ...], str]) -> tuple[Step, ...]:
    """Widen both operands, subtract there, go on with ``d``, and end in the operands' own type."""
    last = rest[-1][0] if rest else "d"
    return _steps(
        ("x", "Cast", ("a",), wide),
        ("y", "Cast", ("b",), wide),
        ("d", "Sub", ("x", "y"), wide),
        *rest,
        ("c", "Cast", (last,), OWN),
    )


def _integers(kinds: Collection[str], least: int, most: int) -> tuple[str, ...]:
    return tuple(name for name, row in TYPES.items() if row.kind in kinds and least <= row.bits <= most)


_BOTH = ("signed", "unsigned")


def _wrapping(wide: str, op: str, by: str, least: int, most: int) -> Iterator[Recipe]:
    """A difference in a wider type, brought back by its low bits; signed types are shifted to 0 and back."""
    name = f"through {wide}, wrapped with {op}"
    yield Recipe(name, "wrap", _integers(("unsigned",), least, most), _through(wide, ("w", op, ("d", by), wide)), wide)
    shifted = _through(
        wide,
        ("s", "Add", ("d", "half"), wide),
        ("m", op, ("s", by), wide),
        ("w", "Sub", ("m", "half"), wide),
    )
    yield Recipe(name, "wrap", _integers(("signed",), least, most), shifted, wide)


_FLOOR = (
    ("q", "Mul", ("s", "inverse"), "float32"),
    ("f", "Floor", ("q",), "float32"),
    ("p", "Mul", ("f", "modulus"), "float32"),
    ("m", "Sub", ("s", "p"), "float32"),
)

RECIPES: tuple[Recipe, ...] = (
    Recipe("through float32", None, ("bfloat16", "float16"), _through("float32"), "float32"),
    *_wrapping("int32", "BitwiseAnd", "mask", 4, 16),
    *_wrapping("int32", "Mod", "modulus", 4, 16),
    *_wrapping("int64", "BitwiseAnd", "mask", 32, 32),
    *_wrapping("int64", "Mod", "modulus", 32, 32),
    Recipe(
        "through float32, wrapped with Floor",
        "wrap",
        _integers(_BOTH, 4, 16),
        _through("float32", ("s", "Sub", ("d", "low"), "float32"), *_FLOOR, ("w", "Add", ("m", "low"), "float32")),
        "float32",
    ),
    Recipe(
        "through int32, saturated with Clip",
        "saturate",
        _integers(_BOTH, 4, 16),
        _through("int32", ("w", "Clip", ("d", "low", "high"), "int32")),
        "int32",
    ),
    Recipe(
        "through float32, saturated with Clip",
        "saturate",
        _integers(_BOTH, 4, 16),
        _through("float32", ("w", "Clip", ("d", "low", "high"), "float32")),
        "float32",
    ),
    Recipe(
        "saturated with Max",
        "saturate",
        _integers(("unsigned",), 32, 64),
        _steps(("m", "Max", ("a", "b"), OWN), ("c", "Sub", ("m", "b"), OWN)),
    ),
    # The least and the most that can be subtracted from A without leaving the type; neither bound overflows.
    Recipe(
        "saturated with Max and Min",
        "saturate",
        ("int32",),
        _steps(
            ("p", "Max", ("a", -1), OWN),
            ("least", "Sub", ("p", "high"), OWN),
            ("n", "Min", ("a", -1), OWN),
            ("most", "Sub", ("n", "low"), OWN),
            ("s", "Max", ("b", "least"), OWN),
            ("t", "Min", ("s", "most"), OWN),
            ("c", "Sub", ("a", "t"), OWN),
        ),
    ),
    # A difference that wrapped has not A's sign, where A and B are of two signs.
    Recipe(
        "saturated with Where",
        "saturate",
        ("int64",),
        _steps(
            ("d", "Sub", ("a", "b"), OWN),
            ("na", "Less", ("a", 0), OWN),
            ("nb", "Less", ("b", 0), OWN),
            ("nd", "Less", ("d", 0), OWN),
            ("s", "Xor", ("na", "nb"), "bool"),
            ("t", "Xor", ("na", "nd"), "bool"),
            ("o", "And", ("s", "t"), "bool"),
            ("l", "Where", ("na", "low", "high"), OWN),
            ("c", "Where", ("o", "l", "d"), OWN),
        ),
    ),
    Recipe(
        "narrowed to int32, within proven ranges",
        None,
        _integers(_BOTH, 32, 64),
        _through("int32"),
        "int32",
        proof=True,
    ),
    # a - (+0) is a, whatever a is. The sign of a zero shows in its reciprocal.
    Recipe(
        "with a - (+0) as a",
        None,
        ("float32", "float16"),
        _steps(
            ("r", "Div", (1.0, "b"), OWN),
            ("u", "Greater", ("r", 0.0), OWN),
            ("z", "Equal", ("b", 0.0), OWN),
            ("k", "And", ("u", "z"), "bool"),
            ("d", "Sub", ("a", "b"), OWN),
            ("c", "Where", ("k", "a", "d"), OWN),
        ),
        cures=("negative zero",),
    ),
    # The larger of a value and itself is that value, and runtimes neither remove it nor join across it.
    Recipe(
        APART,
        None,
        ("float32", "float16"),
        _steps(
            ("x", "Max", ("a", "a"), OWN),
            ("y", "Max", ("b", "b"), OWN),
            ("d", "Sub", ("x", "y"), OWN),
            ("c", "Max", ("d", "d"), OWN),
        ),
    ),
)
"""Every recipe; where several serve, the first is the best."""


# ---- look-up --------------------------------------------------------------------------------------------------

_NUMBERS: Mapping[str, Callable[[ElementType], int | float]] = MappingProxyType(
    {
        "low": lambda row: row.limits[0],
        "high": lambda row: row.limits[1],
        "mask": lambda row: (1 << row.bits) - 1,
        "modulus": lambda row: 1 << row.bits,
        "half": lambda row: 1 << (row.bits - 1),
        "inverse": lambda row: 2.0**-row.bits,
    }
)


def number(value: Value, element: ElementType) -> int | float | None:
    """Return the number that a step's input stands for; ``None`` where it names a value.

    >>> number("mask", TYPES["uint8"]), number(-1, TYPES["int8"]), number("a", TYPES["int8"])
    (255, -1, None)
    """
    if not isinstance(value, str):
        return value
    return _NUMBERS[value](element) if value in _NUMBERS else None


def recipes(element: ElementType, overflow: Contract) -> Iterator[Recipe]:
    """Yield the recipes for a type that keep a policy, the best first.

    >>> [recipe.name for recipe in recipes(TYPES["bfloat16"], "wrap")]
    ['through float32']
    """
    for recipe in RECIPES:
        if element.name in recipe.types and recipe.overflow in (None, overflow):
            yield recipe


def main_step(recipe: Recipe) -> Step:
    """Return the subtraction that is the original one's heir: the one that makes ``d``, else the last."""
    subtractions = [step for step in recipe.steps if step.op == "Sub"]
    return next((step for step in subtractions if step.output == "d"), subtractions[-1])
