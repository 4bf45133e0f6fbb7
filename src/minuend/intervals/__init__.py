"""Which values a tensor can hold: intervals, the rules that operators give them, and the value classes they reach."""

from minuend.intervals.ranges import Range, full, join, of_array
from minuend.intervals.reach import MAY_OCCUR, reachable
from minuend.intervals.rules import RULES, Step, result

__all__ = ["MAY_OCCUR", "RULES", "Range", "Step", "full", "join", "of_array", "reachable", "result"]
