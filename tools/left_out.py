"""Leave each measured release out, infer it from those around it, and count how often that gives what was measured.

    python tools/left_out.py [RUNTIME …]

Nodes in isolation are counted by value class, patterns by value class, too, of those that all three releases have.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator

from minuend.models.constants import word_of
from minuend.runtimes import targets
from minuend.runtimes.answers import OK, Answer
from minuend.runtimes.target import Target
from minuend.runtimes.unmeasured_releases import Inferred, agree, inferred

SAME, ALARM, OTHER, FALSE_OK = (
    "as measured",
    "wrong where it is right",
    "wrong in another way",
    "right where it is wrong",
)
"""How an inferred answer is to the measured one."""


def kind(found: Answer, measured: Answer) -> str:
    """Return how an inferred answer is to the measured one; what is unknown is that."""
    if found.verdict == "unknown":
        return found.verdict
    if agree(found, measured):
        return SAME
    if "ok" in (found.verdict, measured.verdict):
        return FALSE_OK if found.verdict == "ok" else ALARM
    return OTHER


def of_nodes(measured: Target, made: Inferred) -> Iterator[tuple[str, str]]:
    """Yield how each answer of nodes in isolation is inferred, and what it is of."""
    for key in measured.table.nodes:
        where = key.opversion, key.dtype, key.relation, word_of(key.constants)
        found, known = (one.answer(*where) for one in (made, measured))
        yield from ((kind(found[name], one), f"{' '.join(where)}: {name}") for name, one in known.items())


def of_patterns(measured: Target, older: Target, newer: Target, made: Inferred) -> Iterator[tuple[str, str]]:
    """Yield the same of patterns."""
    for key, known in measured.table.patterns.items():
        before, behind = (one.table.cells.get(key) for one in (older, newer))
        if before is None or behind is None:
            continue
        for name in sorted({*known, *before, *behind}) or ["every value"]:
            found = made.joined(before.get(name, OK), behind.get(name, OK))
            yield kind(found, known.get(name, OK)), f"{key.pattern} {key.dtype} {key.setting} {key.form}: {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtimes", nargs="*", metavar="RUNTIME", help="by default all")
    given = parser.parse_args()
    found: dict[str, Counter[str]] = {"nodes": Counter(), "patterns": Counter()}
    releases = 0
    for runtime, names in itertools.groupby(targets.names(), lambda name: name.partition("@")[0]):
        if given.runtimes and runtime not in given.runtimes:
            continue
        every = [one for one in map(targets.find, names) if not one.declared]
        for older, measured, newer in zip(every, every[1:], every[2:], strict=False):
            releases += 1
            made = inferred(measured.release, older, newer)
            rows = {"nodes": of_nodes(measured, made), "patterns": of_patterns(measured, older, newer, made)}
            for what, answers in rows.items():
                for name, where in answers:
                    found[what][name] += 1
                    if name == FALSE_OK:
                        print(f"{measured.name}: {name}: {where}")
    for what, counts in found.items():
        every_one = sum(counts.values())
        shares = ", ".join(f"{one:,} {name} ({one / every_one:.1%})" for name, one in counts.most_common())
        print(f"{what} of {releases} releases: {every_one:,} answers; {shares}")


if __name__ == "__main__":
    main()
