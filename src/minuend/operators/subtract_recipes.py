"""Recipes for subtraction, the best first."""

from __future__ import annotations

from minuend.operators.recipe import Recipe, V, Value, Writer
from minuend.operators.shared_recipes import ISOLATED, NARROWED, WIDENED, integers


def saturated_with_max(writer: Writer[V]) -> Value[V]:
    """Subtract B from no less than B."""
    a, b = writer.operands
    return writer.compute(writer.apply("Max", a, b, name="m"), b)


def saturated_with_max_and_min(writer: Writer[V]) -> Value[V]:
    """Subtract no less and no more than A allows without leaving the type; neither bound overflows."""
    a, b = writer.operands
    least, most = _bounds(writer, a)
    raised = writer.apply("Max", b, least, name="s")
    return writer.compute(a, writer.apply("Min", raised, most, name="t"))


def saturated_with_max_twice(writer: Writer[V]) -> Value[V]:
    """The same, for runtimes that join Max and Min of constants; -1 - x turns the order around and never overflows."""
    a, b = writer.operands
    least, most = _bounds(writer, a)
    minus_one = writer.constant(-1)
    turned = writer.apply("Sub", minus_one, writer.apply("Max", b, least, name="s"), name="u")
    lowered = writer.apply("Max", turned, writer.apply("Sub", minus_one, most, name="v"), name="w")
    return writer.compute(a, writer.apply("Sub", minus_one, lowered, name="t"))


def _bounds(writer: Writer[V], a: Value[V]) -> tuple[Value[V], Value[V]]:
    """The least and the most that may be subtracted from A."""
    low, high = writer.element.limits
    at_least = writer.apply("Max", a, writer.constant(-1), name="p")
    least = writer.apply("Sub", at_least, writer.constant(high, "high"), name="least")
    at_most = writer.apply("Min", a, writer.constant(-1), name="n")
    return least, writer.apply("Sub", at_most, writer.constant(low, "low"), name="most")


def saturated_with_where(writer: Writer[V]) -> Value[V]:
    """Replace a difference that wrapped: it has not A's sign, where A and B are of two signs."""
    a, b = writer.operands
    low, high = writer.element.limits
    difference = writer.compute(a, b, name="d")
    signs = {
        name: writer.apply("Less", one, writer.constant(0), name=name)
        for name, one in (("na", a), ("nb", b), ("nd", difference))
    }
    of_two_signs = writer.apply("Xor", signs["na"], signs["nb"], name="s")
    unlike_a = writer.apply("Xor", signs["na"], signs["nd"], name="t")
    wrapped = writer.apply("And", of_two_signs, unlike_a, name="o")
    limit = writer.apply("Where", signs["na"], writer.constant(low, "low"), writer.constant(high, "high"), name="l")
    return writer.apply("Where", wrapped, limit, difference)


RECIPES: tuple[Recipe, ...] = (
    *WIDENED,
    Recipe("saturated with Max", "saturate", integers(32, 64, ("unsigned",)), saturated_with_max),
    Recipe("saturated with Max and Min", "saturate", ("int32",), saturated_with_max_and_min),
    Recipe("saturated with Max twice", "saturate", ("int32",), saturated_with_max_twice),
    Recipe("saturated with Where", "saturate", ("int64",), saturated_with_where),
    NARROWED,
    ISOLATED,
)
"""Every recipe; where several serve, the first is the best."""
