"""What a recipe is: an operator written with others, for targets that do not compute it as the contract says.

A recipe is a function that writes its steps through an :class:`Emitter`: each dialect of models has one, and
:class:`Trace` lists the steps. The tests compute every recipe with NumPy, and run it on the installed runtimes: over
all pairs of 8-bit types and the edges of wider ones, with operands that are inputs and constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from minuend.core.elements import ElementType
from minuend.core.policies import Contract

V = TypeVar("V")
"""What a value is where an emitter writes."""

Number: TypeAlias = int | float

_LOGICAL = ("Equal", "Greater", "Less", "And", "Xor")
"""Operators whose results are of type bool."""


class Replaced(Protocol):
    """What a recipe has to know of the operator that it replaces."""

    @property
    def onnx(self) -> str: ...
    @property
    def arity(self) -> int: ...


class Emitter(Protocol[V]):
    """Writes operators, under ONNX's names, and returns the values that they make.

    Everywhere ``dtype`` is the element type of the new value (``"bool"`` among them), and ``name`` a part of the name
    that it gets; only the recipe's result has none.
    """

    def constant(self, number: Number, dtype: str, name: str) -> V:
        """Write a constant of one number."""

    def cast(self, value: V, dtype: str, name: str) -> V:
        """Write a conversion."""

    def clip(self, value: V, low: int, high: int, dtype: str, name: str) -> V:
        """Write a limit to two bounds, both of which are allowed."""

    def apply(self, op: str, values: Sequence[V], dtype: str, name: str, *, main: bool) -> V:
        """Write any other operator; the result of Mod has the divisor's sign.

        Args:
            op: ONNX's name of it. values: its inputs. dtype, name: of its output.
            main: whether it is the replaced operator itself, on other operands.
        """


@dataclass(frozen=True, slots=True)
class Value(Generic[V]):
    """A value with its element type."""

    ref: V
    dtype: str


class Writer(Generic[V]):
    """Writes the steps of one recipe.

    Attributes:
        element: the operands' type. dtype: the one to compute in, which may be wider. operands: the operands.
    """

    def __init__(
        self, operator: Replaced, element: ElementType, dtype: str, operands: Sequence[V], emitter: Emitter[V]
    ) -> None:
        self.element = element
        self.dtype = dtype
        self.operands = tuple(Value(one, element.name) for one in operands)
        self._operator = operator
        self._emitter = emitter
        self._constants: dict[Number, Value[V]] = {}

    def constant(self, number: Number, name: str = "number") -> Value[V]:
        """Write a constant of the type to compute in; an equal one is written once."""
        if number not in self._constants:
            self._constants[number] = Value(self._emitter.constant(number, self.dtype, name), self.dtype)
        return self._constants[number]

    def cast(self, value: Value[V], dtype: str, name: str = "") -> Value[V]:
        """Write a conversion."""
        return Value(self._emitter.cast(value.ref, dtype, name), dtype)

    def clip(self, value: Value[V], low: int, high: int, name: str = "") -> Value[V]:
        """Write a limit to two bounds."""
        return Value(self._emitter.clip(value.ref, low, high, value.dtype, name), value.dtype)

    def apply(self, op: str, *values: Value[V], name: str = "") -> Value[V]:
        """Write an operator other than the replaced one."""
        return self._apply(op, values, name, main=False)

    def compute(self, *operands: Value[V], name: str = "") -> Value[V]:
        """Write the replaced operator itself."""
        return self._apply(self._operator.onnx, operands, name, main=True)

    def _apply(self, op: str, values: Sequence[Value[V]], name: str, *, main: bool) -> Value[V]:
        dtype = "bool" if op in _LOGICAL else values[-1].dtype
        return Value(self._emitter.apply(op, [one.ref for one in values], dtype, name, main=main), dtype)


class Form(Protocol):
    """Writes a recipe's steps and returns its result."""

    def __call__(self, writer: Writer[V], /) -> Value[V]: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to write an operator.

    Attributes:
        name: for reports: ``"through int32, wrapped with BitwiseAnd"``.
        overflow: the policy that it implements; ``None`` where nothing overflows in it.
        types: the element types that it is for.
        form: writes its steps.
        wide: the type that the exact result is computed in; ``None`` for the operands' own.
        proof: whether it is right only for operands and results that ``wide`` holds, which has to be proven.
        isolates: whether all it does is to separate the operator from adjacent ones, with which runtimes fuse it.
    """

    name: str
    overflow: Contract | None
    types: tuple[str, ...]
    form: Form
    wide: str | None = None
    proof: bool = False
    isolates: bool = False

    def serves(self, element: ElementType, overflow: Contract) -> bool:
        """Return whether it is for a type and implements a policy.

        >>> from minuend.core.elements import TYPES
        >>> from minuend.operators import SUBTRACT
        >>> [one.name for one in SUBTRACT.recipes if one.serves(TYPES["bfloat16"], "wrap")]
        ['through float32']
        """
        return element.name in self.types and self.overflow in (None, overflow)

    def write(self, operator: Replaced, element: ElementType, operands: Sequence[V], emitter: Emitter[V]) -> V:
        """Write it in an operator's place, and return the result."""
        return self.form(Writer(operator, element, self.wide or element.name, operands, emitter)).ref

    def traced(self, operator: Replaced, element: ElementType) -> Trace:
        """Return its steps.

        >>> from minuend.core.elements import TYPES
        >>> from minuend.operators import SUBTRACT
        >>> [step.op for step in SUBTRACT.recipes[1].traced(SUBTRACT, TYPES["uint8"]).steps]
        ['Cast', 'Cast', 'Sub', 'BitwiseAnd', 'Cast']
        """
        trace = Trace()
        trace.operands = [trace.named(element.name) for _ in range(operator.arity)]
        self.write(operator, element, trace.operands, trace)
        return trace


class Step(NamedTuple):
    """An operator of a recipe.

    Attributes:
        op: ONNX's name of it. inputs, output: names of values.
        dtype: the element type that it computes in; of Cast, the one that it converts to.
    """

    op: str
    inputs: tuple[str, ...]
    output: str
    dtype: str


class Trace:
    """Lists the steps of a recipe; a value is a name.

    Attributes:
        operands: their names. steps: the operators, in order. numbers: constants by name.
        dtypes: the types of all values.
    """

    def __init__(self) -> None:
        self.operands: list[str] = []
        self.steps: list[Step] = []
        self.numbers: dict[str, Number] = {}
        self.dtypes: dict[str, str] = {}

    def named(self, dtype: str) -> str:
        """Return a name for one more value."""
        name = f"value {len(self.dtypes)}"
        self.dtypes[name] = dtype
        return name

    def constant(self, number: Number, dtype: str, name: str) -> str:
        """Note a constant."""
        value = self.named(dtype)
        self.numbers[value] = number
        return value

    def cast(self, value: str, dtype: str, name: str) -> str:
        """Note a conversion."""
        self.steps.append(Step("Cast", (value,), self.named(dtype), dtype))
        return self.steps[-1].output

    def clip(self, value: str, low: int, high: int, dtype: str, name: str) -> str:
        """Note a limit, with its bounds as inputs."""
        bounds = [self.constant(one, dtype, "") for one in (low, high)]
        return self.apply("Clip", [value, *bounds], dtype, name)

    def apply(self, op: str, values: Sequence[str], dtype: str, name: str, *, main: bool = False) -> str:
        """Note any other operator."""
        self.steps.append(Step(op, tuple(values), self.named(dtype), self.dtypes[values[-1]]))
        return self.steps[-1].output
