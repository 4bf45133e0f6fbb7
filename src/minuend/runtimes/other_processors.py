"""A target as it was measured with an instruction set as the newest of the processor.

A file of a target says on which processors nodes and patterns were measured. What was measured with other sets lies
beside these files, in a folder of the newest set: ``measured/avx2/openvino-cpu@2026.4.1.json``. Where several
processors share in the patterns of a file, no single one has all of them, and the patterns of the folder count.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace

from minuend.errors import SpecError, listed, near, shown
from minuend.runtimes import targets
from minuend.runtimes.answers import EVERY, Answer
from minuend.runtimes.processor import INSTRUCTION_SETS, newest
from minuend.runtimes.quirks import quirks
from minuend.runtimes.reasons import ProcessorNotMeasured
from minuend.runtimes.rendering import english
from minuend.runtimes.table import NOTHING, Table
from minuend.runtimes.target import Target
from minuend.runtimes.unmeasured_releases import Inferred, inferred


def on(target: Target, last: str) -> Target:
    """Return a target as it was measured with an instruction set as the newest; what was not, is unknown.

    Args:
        target: a target; what documents say of it holds on every processor.
        last: one of :data:`~minuend.runtimes.processor.INSTRUCTION_SETS`.

    Raises:
        SpecError: no such instruction set.

    >>> from minuend.runtimes.targets import find
    >>> on(find("openvino-cpu@2026.4.1"), "avx2").isa
    ('avx2',)
    """
    if last not in INSTRUCTION_SETS:
        expected = f"expected {listed(INSTRUCTION_SETS)}"
        raise SpecError("cpu", f"no instruction set {shown(last)}{near(last, INSTRUCTION_SETS)}; {expected}")
    if target.declared:
        return target
    if isinstance(target, Inferred):
        older, newer = (None if one is None else on(one, last) for one in (target.older, target.newer))
        return replace(inferred(target.release, older, newer), only_up_to=last)
    known = [one for one in (target, targets.measured_up_to(last, target.name)) if one is not None]
    own = next((one for one in known if newest(one.cpu) == last), None)
    patterns = next((one.table for one in known if _of_patterns(one) == {last}), NOTHING)
    if own is None:
        nodes = _unknown(target, last)
        return replace(target, table=nodes.with_patterns(patterns), date="", cpu="", isa=(), only_up_to=last)
    table = own.table if own.table is patterns else own.table.with_patterns(patterns)
    return replace(own, table=table, only_up_to=last)


def for_type(target: Target, dtype: str) -> tuple[Target, ...]:
    """Return the targets on which an element type is judged: the one given, and where older processors differ in what
    newer ones do right, the same as it was measured with other instruction sets as the newest.

    >>> from minuend.runtimes.targets import find
    >>> [one.only_up_to for one in for_type(find("openvino-cpu@2026.4.1"), "bfloat16")]
    ['', 'avx2', 'avx512f', 'avx512_bf16']
    >>> len(for_type(find("openvino-cpu@2026.4.1"), "float32"))
    1
    """
    if target.declared or target.only_up_to or dtype not in quirks(target.runtime).older_differ:
        return (target,)
    return (target, *_with_other_sets(_Same(target)))


class _Same:
    """A target as a key, equal to the same object alone: tables have no hash."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def __hash__(self) -> int:
        return id(self.target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.target is self.target


@functools.lru_cache(maxsize=16)
def _with_other_sets(key: _Same) -> tuple[Target, ...]:
    own = {newest(one.cpu) for one in key.target.behind}
    sets = _ordered(one for measured in key.target.behind for one in sets_of(measured))
    return tuple(on(key.target, one) for one in sets if one not in own)


def sets_of(target: Target) -> tuple[str, ...]:
    """Return the newest instruction sets with which nodes of a target were measured, from old to new.

    >>> from minuend.runtimes.targets import find
    >>> sets_of(find("openvino-cpu@2026.4.1"))
    ('avx2', 'avx512f', 'avx512_bf16', 'amx_tile')
    """
    beside = (one for one in INSTRUCTION_SETS if targets.measured_up_to(one, target.name) is not None)
    return _ordered([newest(target.cpu), *beside])


def _of_patterns(target: Target) -> set[str]:
    return {newest(cpu) for cpu in target.table.cpus} if target.table.has_patterns else set()


def _ordered(sets: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({one for one in sets if one}, key=INSTRUCTION_SETS.index))


def _unknown(target: Target, last: str) -> Table:
    """The nodes of a target, each of them unknown."""
    reason = ProcessorNotMeasured(target.name, last, sets_of(target))
    answers = {EVERY: Answer("unknown", message=english([reason]), reason=reason)}
    return Table(dict.fromkeys(target.table.nodes, answers))
