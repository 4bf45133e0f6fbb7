"""Join the measured files of several checkouts, each with a list of graph cases of its own, under this one's list.

    python tools/merge_measured.py FOLDER [FOLDER …] [-o FOLDER]

A file says which cases deviate and leaves out those that are fine, so it is read with the list in its own folder. What
this checkout's grammar lists and none of the files answers is missing: ``measure_target.py --graphs missing`` asks it.
Nodes, and cases that several files answer, are those of the last folder.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from measure_target import TARGETS, write_list

from minuend.files.transaction.writing import atomic
from minuend.runtimes import case_list, target_files
from minuend.runtimes.table import Table
from minuend.runtimes.target import Target


def load(path: Path) -> Target:
    """Read a file with the list of cases beside it."""
    data = json.loads(path.read_text("utf-8"))
    if "cases" not in data:
        return target_files.target_of(data)
    return target_files.target_of(data, case_list.listed_in((path.parent / case_list.CASES).read_text("utf-8")))


def joined(one: Target, other: Target) -> Target:
    """Join two files of a release; where both answer a case, the other's answer stays."""
    cells = {**other.table.nodes, **one.table.patterns, **other.table.patterns}
    return replace(other, table=Table(cells, tuple(dict.fromkeys((*one.table.cpus, *other.table.cpus)))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="each with its measured files and its list")
    parser.add_argument("-o", "--output", type=Path, default=TARGETS, help="the folder to write to")
    given = parser.parse_args()
    found: dict[str, Target] = {}
    for folder in given.folders:
        for path in sorted(folder.glob("*@*.json")):
            one = load(path)
            found[path.name] = joined(found[path.name], one) if path.name in found else one
    write_list(given.output)
    for name, target in found.items():
        with atomic(str(given.output / name)) as stream:
            stream.write(target_files.dump(target).encode())
    print(f"{len(found)} files of {len(given.folders)} folders → {given.output}")


if __name__ == "__main__":
    main()
