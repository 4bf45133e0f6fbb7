"""What a pattern around a judged operator is, and how its operators stand to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from minuend.models.patterns import Const, Pattern

ZEROS: Mapping[str, Sequence[Const]] = MappingProxyType(
    {"one": (Const.ZERO, Const.MINUS_ZERO), "array": (Const.ZEROS, Const.MINUS_ZEROS)}
)
"""Constants all of whose numbers are +0, and those that are -0: of one element, and of more. A subtraction by itself is
measured with each of them, since runtimes leave it out."""


ADJACENT, THROUGH, SHARED, WITHIN = "", "through Reshape", "read twice", "between nodes"


ENDS = "between input and output"
"""How an adjacent operator stands to the judged one: at it, with operators between that only move values, or with
others that read what lies between the two. A subtraction by itself stands between nodes where one makes its operands
and others alone read its result: so it can be left out. An adjacent operator does where nodes are on its other side,
too. A subtraction by itself between an input and an output of the graph cannot be left out; it counts as
:data:`ADJACENT` where that was not measured."""


INSIDE, EDGE, CONVERTED = "both folded", "one folded", "folded conversion"
"""How an adjacent operator of constants of a narrow type is folded: with the subtraction; it or the subtraction alone;
or it is a conversion from another type, none of whose operands were narrow. Its pattern has constants as holes."""


LEVELS, NAN_ALONE = "levels", "NaN alone"
"""What a quantisation changes of a constant that is added before, see :class:`Match`."""


MISPLACED, REORDERED, NEGATED, CUT_OFF = "misplaced", "reordered", "negated", "cut off"


UNPACKED, UNPACKED_LATE, DYNAMIC, SUMMED = "unpacked", "unpacked late", "dynamic", "summed"


ROUNDED_TWICE, BIAS_LAST = "rounded twice", "bias last"


REVERSED, FATAL = "reversed", "fatal"
"""What a runtime's kernel does with a subtraction, see :class:`Match`:

- MISPLACED: of three axes, behind what reduces the first or the last, it applies a constant along the second one along
  the first.
- REORDERED: it takes the subtraction into the sums of a depthwise convolution of three axes, a constant number into
  those of a product with a stored matrix whose rows do not fill its registers; or, in a graph that quantises, out of an
  average.
- SUMMED: of four axes or more it begins the sums of a depthwise convolution with the other operand.
- BIAS_LAST: it adds the bias of a convolution in groups of few channels after the other operand.
- ROUNDED_TWICE: between a convolution and a batch normalisation, it computes all three at once; elsewhere that product
  and sum are rounded once, in one step, as is the product that a Softmax ends with in attention and the judged one.
- NEGATED: a value less what was reduced, multiplied or normalised is a negated difference, with the other zero.
- REVERSED: the same of a constant less a value, and of a value less an integer, in a graph that quantises.
- CUT_OFF: in bfloat16, of what was reduced and a constant of one number or along one axis, it cuts the result off.
- UNPACKED: what is subtracted from stored integers it rounds to one, and computes their product with quantised numbers
  of integers.
- UNPACKED_LATE: of a matrix it subtracts while it computes a product, in its default precision.
- DYNAMIC: in float32 it quantises what a matrix of unsigned integers is multiplied with.
- FATAL: it ends the process.
"""


NO_FACTORS = (1.0, 1.0)
"""The magnitudes of factors where no constant is one."""


@dataclass(frozen=True, slots=True)
class Match:
    """A pattern that a graph has around a judged operator.

    Attributes:
        pattern: the judged operator with an adjacent one, or by itself.
        form: :data:`ADJACENT`, :data:`THROUGH`, :data:`SHARED`, :data:`WITHIN` or :data:`ENDS`.
        operator: the adjacent one's name; ``""`` where there is none. later: whether others stand between.
        exact: whether no rounding lies between the two, however many bits what lies there is computed in.
        zeros: whether the sign of a zero is other all the same, where what lies between the two is not rounded to it.
        far: whether it is not adjacent, but anywhere in the part of the graph that hangs together.
        folded: :data:`INSIDE`, :data:`EDGE` or :data:`CONVERTED` where constants of a narrow type are computed, and
            what lies between the two is rounded there; else ``""``.
        itself: whether the adjacent operator makes both operands, which are one value.
        factors: the smallest and the largest magnitude, zeros aside, of constants that are factors or divisors next to
            the judged operator; ``None`` where they are not known.
        past: of an operator that is far and not reached: the operators of one way from the result out of the graph, all
            of them :data:`PLAIN`; ``None`` where there is no such way.
        across: whether a product of a matrix is handed on to the judged operator, which has four axes or more and a
            constant along the second one, or a constant along the last one, whose size the product does not know.
        rescaled: whether the adjacent operator makes an operand of what was quantised directly before, or of truth
            values in a graph that has quantised ones, too; or is linear and reads such a value, behind others at most.
        shortened: whether the adjacent operator makes a float of an integer of 64 bits in a graph that quantises: some
            runtimes convert that to int32 first.
        tiny: whether the adjacent operator has a constant of float32 that is subnormal: some runtimes take it for 0.
        quantised: :data:`LEVELS` where the adjacent operator quantises, and some runtimes compute a constant with it
            that the judged operator adds or subtracts; or where it is linear, and what lies between the two is
            quantised, which some runtimes do from what that is made of. :data:`NAN_ALONE` where it can change
            what NaN becomes, and nothing else. Else ``""``.
        kernel: :data:`MISPLACED`, :data:`REORDERED`, :data:`NEGATED`, :data:`CUT_OFF`, :data:`UNPACKED`,
            :data:`UNPACKED_LATE`, :data:`DYNAMIC`, :data:`SUMMED`, :data:`BIAS_LAST`, :data:`ROUNDED_TWICE`,
            :data:`REVERSED` or :data:`FATAL` where some runtimes compute the adjacent operator and the judged one so;
            else ``""``.
        enlarges: which differences of the result the adjacent operator makes large ones of, see :data:`ENLARGE`.
        within: the pattern that the graph has, where this one is of the product or the sum that the adjacent operator
            ends with: some runtimes compute it in such parts.
        converted: whether conversions between floats lie between the two, which some runtimes leave out.
        supposed: whether the graph was not seen to have the pattern, but has a part of it, written otherwise.
    """

    pattern: Pattern
    form: str
    operator: str
    later: bool = False
    exact: bool = False
    zeros: bool = False
    far: bool = False
    folded: str = ""
    itself: bool = False
    factors: tuple[float, float] | None = NO_FACTORS
    past: frozenset[str] | None = None
    across: bool = False
    rescaled: bool = False
    shortened: bool = False
    tiny: bool = False
    quantised: str = ""
    kernel: str = ""
    enlarges: frozenset[str] = frozenset()
    within: Pattern | None = None
    converted: bool = False
    supposed: bool = False

    def __hash__(self) -> int:  # of three parts: equal ones have the same, and few others do
        return hash((self.pattern, self.form, self.operator))
