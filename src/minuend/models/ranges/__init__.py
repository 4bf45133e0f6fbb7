"""Which values a tensor can hold: intervals, the rules that operators give them, and the value classes they reach."""

from minuend.models.ranges.interval import Range, full, join, of_array
from minuend.models.ranges.rules import RULES, Step, result
from minuend.runtimes.reach import MAY_OCCUR, reachable

__all__ = ["MAY_OCCUR", "RULES", "Range", "Step", "full", "join", "of_array", "reachable", "result"]
