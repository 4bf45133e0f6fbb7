"""The cases that a proof queries unless all are wanted: some of each kind, the same ones every time.

1. Every element type, relation of shapes and choice of constants is queried once: in the newest version of the first
   dialect of the runtime that has the three.
2. Every version and element type that rule 1 leaves out is queried once; relation and constants rotate.
3. Of graph cases every element type, form and pattern class is queried once. Of the graphs of a kind, the one is taken
   whose operators and setting were taken least often before. Operators that are left are queried once.

A queried case has all of its pairs: a sample leaves out cases, and no values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from minuend.models.patterns import Const, operators
from minuend.plain import grouped
from minuend.runtimes.cases import Case
from minuend.runtimes.pattern_cases import GraphCase
from minuend.runtimes.table import Key


def sample(every: Sequence[Case]) -> list[Case]:
    """Return some of a runtime's cases, in their order.

    >>> from minuend.runtimes.cases import cases
    >>> every = list(cases("onnx", full=False))
    >>> len(sample(every)), len(every)
    (362, 928)
    """
    newest: dict[Hashable, int] = {}
    for i, case in enumerate(every):
        kind = (case.element, case.relation, case.constants)
        if every[newest.setdefault(kind, i)].op.dialect == case.op.dialect:
            newest[kind] = i
    chosen = set(newest.values())
    seen = {_version(every[i]) for i in chosen}
    versions = grouped((_version(case), i) for i, case in enumerate(every))
    left = [cases for version, cases in versions.items() if version not in seen]
    chosen |= {cases[i % len(cases)] for i, cases in enumerate(left)}
    return [every[i] for i in sorted(chosen)]


def _version(case: Case) -> Hashable:
    return case.opversion, case.element


def sample_graphs(every: Iterable[tuple[Key, GraphCase]]) -> list[tuple[Key, GraphCase]]:
    """Return some graph cases, in their order; those of one key are one answer, and come together."""
    rows = list(every)
    ways = {key: case.how for key, case in reversed(rows)}
    taken: Counter[Hashable] = Counter()
    chosen = set()
    for kind in grouped((_kind(key, how), key) for key, how in reversed(ways.items())).values():
        best = min(kind, key=lambda key: (taken[operators(key.pattern)], taken[key.setting]))
        taken.update((operators(best.pattern), best.setting))
        chosen.add(best)
    for key, how in reversed(ways.items()):
        if how[0] not in _SEVERAL and not taken[operators(key.pattern)]:
            taken.update((operators(key.pattern),))
            chosen.add(key)
    return [row for row in rows if row[0] in chosen]


_OPERANDS = ("bare", "maker", "reader", "cast_to", "index")
"""Ways to build a graph whose kinds differ by what the operands are."""

_SEVERAL = ("fused", "chain")
"""Ways to build a graph of several operators: each type is queried with one of them."""


def _kind(key: Key, how: tuple[Any, ...]) -> Hashable:
    """Element type, form and pattern class: how the graph is built, and which of its operands are constants.

    A constant 0 is queried in one form: each key of it stands for eight graphs.
    """
    way, *more = how
    operands = ["constant" if one in (Const.SCALAR, Const.ARRAY, Const.ANY) else one for one in more[:2]]
    return key.dtype, "" if way == "zero" else key.form, way, tuple(operands) if way in _OPERANDS else ()
