"""Recipes that hold for any operator whose exact result the wider type holds."""

from __future__ import annotations

from collections.abc import Collection

from minuend.core.elements import TYPES
from minuend.operators.recipe import Number, Recipe, V, Value, Writer

# ---- through a wider type -------------------------------------------------------------------------------------


def widened(writer: Writer[V]) -> Value[V]:
    """The exact result, in the wider type."""
    operands = zip(writer.operands, "xyz", strict=False)
    return writer.compute(*(writer.cast(one, writer.dtype, name) for one, name in operands), name="d")


def narrowed(writer: Writer[V], value: Value[V]) -> Value[V]:
    """A value of the wider type in the operands' own."""
    return writer.cast(value, writer.element.name)


def through(writer: Writer[V]) -> Value[V]:
    """Compute in the wider type, and convert back."""
    return narrowed(writer, widened(writer))


# ---- wrapping -------------------------------------------------------------------------------------------------


def wrapped_with_bitwise_and(writer: Writer[V]) -> Value[V]:
    """Wrap by taking the low bits."""
    return _low_bits(writer, "BitwiseAnd", (1 << writer.element.bits) - 1, "mask")


def wrapped_with_mod(writer: Writer[V]) -> Value[V]:
    """Wrap by the remainder."""
    return _low_bits(writer, "Mod", 1 << writer.element.bits, "modulus")


def _low_bits(writer: Writer[V], op: str, number: Number, name: str) -> Value[V]:
    """The low bits as an unsigned number; signed types are shifted to begin at 0, and back."""
    exact = widened(writer)
    if writer.element.kind == "unsigned":
        return narrowed(writer, writer.apply(op, exact, writer.constant(number, name), name="w"))
    half = writer.constant(1 << (writer.element.bits - 1), "half")
    shifted = writer.apply("Add", exact, half, name="s")
    bits = writer.apply(op, shifted, writer.constant(number, name), name="m")
    return narrowed(writer, writer.apply("Sub", bits, half, name="w"))


def wrapped_with_floor(writer: Writer[V]) -> Value[V]:
    """Wrap in floats, by the remainder that Floor leaves."""
    exact = widened(writer)
    low, bits = writer.constant(writer.element.limits[0], "low"), writer.element.bits
    shifted = writer.apply("Sub", exact, low, name="s")
    quotient = writer.apply("Mul", shifted, writer.constant(2.0**-bits, "inverse"), name="q")
    whole = writer.apply("Floor", quotient, name="f")
    product = writer.apply("Mul", whole, writer.constant(1 << bits, "modulus"), name="p")
    rest = writer.apply("Sub", shifted, product, name="m")
    return narrowed(writer, writer.apply("Add", rest, low, name="w"))


# ---- saturating -----------------------------------------------------------------------------------------------


def saturated_with_clip(writer: Writer[V]) -> Value[V]:
    """Saturate by the type's limits."""
    return narrowed(writer, writer.clip(widened(writer), *writer.element.limits, name="w"))


# ---- separating -----------------------------------------------------------------------------------------------


def isolated_with_max(writer: Writer[V]) -> Value[V]:
    """The larger of a value and itself is that value, and runtimes neither remove it nor fuse across it."""
    operands = zip(writer.operands, "xyz", strict=False)
    computed = writer.compute(*(writer.apply("Max", one, one, name=name) for one, name in operands), name="d")
    return writer.apply("Max", computed, computed)


# ---- rows -----------------------------------------------------------------------------------------------------


def integers(least: int, most: int, kinds: Collection[str] = ("signed", "unsigned")) -> tuple[str, ...]:
    """Return the integer types of so many bits.

    >>> integers(64, 64)
    ('int64', 'uint64')
    """
    return tuple(name for name, row in TYPES.items() if row.kind in kinds and least <= row.bits <= most)


_SMALL = integers(4, 16)

WIDENED: tuple[Recipe, ...] = (
    Recipe("through float32", None, ("bfloat16", "float16"), through, "float32"),
    Recipe("through int32, wrapped with BitwiseAnd", "wrap", _SMALL, wrapped_with_bitwise_and, "int32"),
    Recipe("through int32, wrapped with Mod", "wrap", _SMALL, wrapped_with_mod, "int32"),
    Recipe("through int64, wrapped with BitwiseAnd", "wrap", integers(32, 32), wrapped_with_bitwise_and, "int64"),
    Recipe("through int64, wrapped with Mod", "wrap", integers(32, 32), wrapped_with_mod, "int64"),
    Recipe("through float32, wrapped with Floor", "wrap", _SMALL, wrapped_with_floor, "float32"),
    Recipe("through int32, saturated with Clip", "saturate", _SMALL, saturated_with_clip, "int32"),
    Recipe("through float32, saturated with Clip", "saturate", _SMALL, saturated_with_clip, "float32"),
)
"""Through a type that holds the exact result."""

NARROWED = Recipe("narrowed to int32, within proven ranges", None, integers(32, 64), through, "int32", proof=True)
"""Through a narrower type, for targets that compute 64 bits in 32 anyway."""

ISOLATED = Recipe("kept apart with Max", None, ("float32", "float16"), isolated_with_max, isolates=True)
"""Against what a runtime makes of an operator and adjacent ones; it corrects nothing else."""
