"""Check what measured files promise of patterns on other inputs than those that they were measured on.

    python tools/check_severities.py onnxruntime-cpu [--every 10] [--draws 2] [--seed 1]
    python tools/check_severities.py openvino-cpu --ranges 1000    # graphs whose operands have known ranges

Each chosen case is run on new random inputs. A violation is a deviation that is worse than the severity that a verdict
would give, or one of a value class of which the file says nothing. With ``--ranges`` graphs are judged and run whose
inputs are assumed to lie in drawn ranges (`range_cases.py`). The page on the gate has the counts.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter

import numpy as np
import range_cases

from minuend.core.elements import TYPES
from minuend.judging.pattern_verdicts import severities
from minuend.models.matching.operator_groups import NARROW
from minuend.runtimes import pattern_answers, pattern_cases, targets
from minuend.runtimes.answers import EVERY
from minuend.runtimes.pattern_cases import GraphCase, Ran
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Runtime
from minuend.runtimes.severity import rank
from minuend.runtimes.table import Key, Table, with_all_that_rounds


def violations(key: Key, case: GraphCase, table: Table, runtime: Runtime, draw: int) -> list[str]:
    """Return how a runtime breaks on other inputs what is known of a case."""
    known = table.cells[key]
    if not known and table.cannot_show(key.pattern, key.dtype):  # a verdict says unknown
        return []
    probing = pattern_cases.graph_probing()
    known = with_all_that_rounds(known, key.pattern) if key.dtype in NARROW else known
    built = probing.build(case)
    fed = {name: pattern_cases.elements(feed, name, i, draw) for i, (name, feed) in enumerate(built.feeds.items())}
    ran = pattern_cases.run_case(case, runtime, probing.FORM, built, fed, draw)
    if not isinstance(ran, Ran):
        return []
    found = []
    for name, one in pattern_answers.classified(case, built, ran).items():
        answer = known.get(name) or known.get(EVERY)
        if answer is None:
            found.append(f"{name}: not known to differ; {', '.join(one.answer.severities)}")
            continue
        promised = severities(key.dtype, {name: answer})
        if None in promised:
            continue
        worst = max(map(rank, promised))
        found += [f"{name}: {each} is worse than promised" for each in one.answer.severities if rank(each) > worst]
    return found


def of_ranges(runtime: Runtime, seed: int, count: int) -> Counter[str]:
    """Judge and run graphs whose operands have known ranges; print what is worse than a finding says."""
    counts: Counter[str] = Counter()
    hints = ("", *quirks(runtime.name).hints)
    for number, hint in itertools.product(range(count), hints):
        judged = range_cases.judged(range_cases.draw(seed, number), runtime, hint)
        if judged is None:
            continue
        finding, worse = judged
        counts["runs"] += 1
        counts["violations"] += bool(worse)
        counts["bounded"] += any(one.ulps for one in finding.deviations)
        for text in worse[:1]:
            print(f"graph {number} of seed {seed}{f', {hint}' * bool(hint)}: {text}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", help="which is installed in a release that was measured")
    parser.add_argument("--every", type=int, default=10, help="each so many cases of those that were measured")
    parser.add_argument("--draws", type=int, default=2, help="inputs of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranges", type=int, default=0, help="how many graphs with known ranges, in place of cases")
    parser.add_argument("--types", nargs="+", default=list(TYPES), metavar="TYPE")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with Runtime(given.runtime) as runtime:
        if given.ranges:
            counts = of_ranges(runtime, given.seed, given.ranges)
            print(f"{runtime.name}@{runtime.release}: {counts['runs']:,} runs of graphs with known ranges,"
                  f" {counts['bounded']:,} with a bound, {counts['violations']:,} violations")  # fmt: skip
            sys.exit(bool(counts["violations"]))
        table = targets.find(f"{runtime.name}@{runtime.release}").table
        rows = [row for row in pattern_cases.rows_for(runtime) if row[0] in table.cells and row[0].dtype in given.types]
        order = np.random.default_rng(given.seed).permutation(len(rows))[:: given.every]
        for i in order:
            key, case = rows[i]
            for draw in range(given.draws):
                counts["runs"] += 1
                for text in violations(key, case, table, runtime, 1000 * given.seed + draw + 2):
                    counts["violations"] += 1
                    print(f"{key.pattern} ({key.dtype}, {key.setting}{', ' * bool(key.form)}{key.form}): {text}")
    print(f"{runtime.name}@{runtime.release}: {len(order):,} cases, {counts['runs']:,} runs,"
          f" {counts['violations']:,} violations")  # fmt: skip
    sys.exit(bool(counts["violations"]))


if __name__ == "__main__":
    main()
