"""Write measured files of older formats as those of the newest, and check that every answer stays as it is.

    python tools/migrate_measured.py [FOLDER]

Nothing is measured again. Files of users are read in every format.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from measure_target import TARGETS, write_list

from minuend.files.transaction.writing import atomic
from minuend.runtimes import target_files
from minuend.runtimes.table import NOTHING
from minuend.runtimes.target import Target


def same(before: Target, after: Target) -> bool:
    """Whether two targets have the same facts and the same answers; a NaN is equal to itself, and 0 is not -0."""
    facts = replace(before, table=NOTHING) == replace(after, table=NOTHING)
    if not facts or before.table.cpus != after.table.cpus or before.table.cells.keys() != after.table.cells.keys():
        return False
    return all(
        {name: repr(one) for name, one in answers.items()}
        == {name: repr(one) for name, one in after.table.cells[key].items()}
        for key, answers in before.table.cells.items()
    )


def main() -> None:
    """Migrate a folder's list of cases, and every file in it and in the folders of other operators."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=TARGETS, help="by default this package's files")
    folder = parser.parse_args().folder
    known = {path: target_files.read(path) for path in sorted(folder.rglob("*@*.json"))}
    write_list(folder)
    cases = answers = 0
    for path, before in known.items():
        with atomic(str(path)) as stream:
            stream.write(target_files.dump(before).encode())
        after = target_files.read(path)
        if not same(before, after):
            raise SystemExit(f"{path.name} has other answers than before")
        cases += len(after.table.cells)
        answers += sum(map(len, after.table.cells.values()))
    print(f"{len(known)} files in {folder}: {cases:,} cases and {answers:,} answers are equal")


if __name__ == "__main__":
    main()
