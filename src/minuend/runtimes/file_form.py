"""The form of measured files (:mod:`minuend.schema`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, shown
from minuend.models.constants import WORDS
from minuend.models.matching import ADJACENT, ENDS, SHARED, THROUGH, WITHIN
from minuend.models.patterns import pattern_of
from minuend.operators import VALUE_CLASSES
from minuend.runtimes.answers import ANSWER, EVERY
from minuend.runtimes.cases import RELATIONS
from minuend.runtimes.processor import INSTRUCTION_SETS
from minuend.runtimes.rows import OF_NODES, OF_PATTERNS
from minuend.runtimes.table import DEFAULTS, DYNAMIC, STATIC
from minuend.schema import Below, Names, Under, check
from minuend.standards.dialects import dialects

WHAT = ("runtime", "release", "date", "cpu", "python")
"""The texts that every file has."""

HEAD = {**dict.fromkeys(WHAT, str), "isa?": Names(frozenset(INSTRUCTION_SETS))}
ANSWERS = Under(frozenset((*VALUE_CLASSES, EVERY)), ANSWER)


def check_data(data: Any, place: str) -> None:
    """Check the data of a file of the newest format.

    Raises:
        FileFormatError: it has another form.
    """
    check(data, _form, place)
    check_patterns(data, place)


def check_patterns(data: Mapping[str, Any], place: str) -> None:
    """Check that every pattern in a file's list is one."""
    for i, one in enumerate(data.get("patterns", ())):
        try:
            pattern_of(one)
        except (KeyError, TypeError, ValueError, RecursionError):
            wanted = "a pattern as minuend measure writes it"
            raise FileFormatError(f"{place}.patterns[{i}] is {shown(one)}; expected {wanted}") from None


def _form(data: Any) -> Mapping[str, Any]:
    """A file's form. A row of nodes has one pattern, so that it holds for as many cases as there are names at most."""
    if not isinstance(data, dict):
        return {"format": int}
    number = number_in(data.get("patterns"))
    of_node = {"patterns": (number,), **{name: names(name) for name in OF_NODES[1:]}, "answers": ANSWERS}
    of_pattern = {"patterns": [number], **{name: names(name) for name in OF_PATTERNS[1:]}, "answers?": ANSWERS}
    return {
        **HEAD,
        "patterns": [any_pattern],
        "rows": [lambda one: of_node if isinstance(one, dict) and "opversions" in one else of_pattern],
        "cases?": str,
        "patterns_cpu?": str,
        "unmeasured?": [(str, str)],
    }


def any_pattern(data: Any) -> type:
    """The form of a pattern, whatever is in it."""
    return list if isinstance(data, list) else dict


def number_in(patterns: Any) -> Below:
    """The form of a pattern's number."""
    return Below(len(patterns) if isinstance(patterns, list) else 0)


@functools.cache
def names(field: str) -> Names:
    """The form of the names that a field of a row lists."""
    match field:
        case "opversions":
            return Names(frozenset(row.key for home in dialects().values() for row in home.rows))
        case "dtypes":
            return Names(frozenset(TYPES))
        case "relations":
            return Names(frozenset(RELATIONS))
        case "constants":
            return Names(frozenset(WORDS))
        case "settings":
            return Names(frozenset((STATIC, DYNAMIC, *DEFAULTS.values())))
        case _:
            return Names(frozenset((ADJACENT, THROUGH, SHARED, WITHIN, ENDS)))
