"""The form of measured files (:mod:`minuend.schema`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, shown
from minuend.models.constants import WORDS
from minuend.models.matching.match import ADJACENT, ENDS, SHARED, THROUGH, WITHIN
from minuend.models.patterns import judged, pattern_of
from minuend.operators import BY_ONNX, VALUE_CLASSES
from minuend.runtimes.answers import ANSWER, EVERY
from minuend.runtimes.cases import RELATIONS
from minuend.runtimes.processor import INSTRUCTION_SETS
from minuend.runtimes.rows import OF_NODES, OF_PATTERNS
from minuend.runtimes.table import DEFAULTS, DYNAMIC, STATIC
from minuend.schema import Form, Item, below, by_name, check, exactly, fields, many, some_of
from minuend.standards.dialects import dialects

WHAT = ("runtime", "release", "date", "cpu", "python")
"""The texts that every file has."""

HEAD: Mapping[str, Form[object]] = {**dict.fromkeys(WHAT, Item.string), "isa?": some_of(INSTRUCTION_SETS)}
ANSWERS = by_name(ANSWER, known=frozenset((*VALUE_CLASSES, EVERY)))
PAIRS = many(exactly(Item.string, Item.string))


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
            BY_ONNX[judged(pattern_of(one))]
        except (KeyError, TypeError, ValueError, RecursionError):
            wanted = "a pattern as minuend measure writes it"
            raise FileFormatError(f"{place}.patterns[{i}] is {shown(one)}; expected {wanted}") from None


def _form(item: Item) -> object:
    """A file's form. A row of nodes has one pattern, so that it holds for as many cases as there are names at most."""
    number = number_in(item)
    of_node = {"patterns": exactly(number), **{name: names(name) for name in OF_NODES[1:]}, "answers": ANSWERS}
    of_pattern = {"patterns": many(number), **{name: names(name) for name in OF_PATTERNS[1:]}, "answers?": ANSWERS}
    form: dict[str, Form[object]] = {
        **HEAD,
        "patterns": many(any_pattern),
        "rows": many(either("opversions", fields(of_node), fields(of_pattern))),
        "cases?": Item.string,
        "patterns_cpu?": Item.string,
        "unmeasured?": PAIRS,
    }
    return fields(form)(item)


def either(key: str, there: Form[object], other: Form[object]) -> Form[object]:
    """The form of an object that has a key, or another one."""
    return lambda item: (there if key in item.object() else other)(item)


def any_pattern(item: Item) -> object:
    """The form of a pattern, whatever is in it."""
    return item.value if isinstance(item.value, list) else item.object()


def number_in(item: Item) -> Form[int]:
    """The form of the number of one of a file's patterns."""
    patterns = item.object().get("patterns")
    return below(len(patterns) if isinstance(patterns, list) else 0)


@functools.cache
def names(field: str) -> Form[tuple[str, ...]]:
    """The form of the names that a field of a row lists."""
    match field:
        case "opversions":
            return some_of((row.key for home in dialects().values() for row in home.rows), least=1)
        case "dtypes":
            return some_of(TYPES, least=1)
        case "relations":
            return some_of(RELATIONS, least=1)
        case "constants":
            return some_of(WORDS, least=1)
        case "settings":
            return some_of((STATIC, DYNAMIC, *DEFAULTS.values()), least=1)
        case _:
            return some_of((ADJACENT, THROUGH, SHARED, WITHIN, ENDS), least=1)
