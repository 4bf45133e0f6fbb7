"""Write measured files of format 1, which name patterns by what is printed of them, as format 2.

    python tools/migrate_measured.py [FOLDER]

Nothing is measured again: answers stay as they are. Files of users are read in either format.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from measure_target import TARGETS, write_list

from minuend.files.transaction.writing import atomic
from minuend.runtimes import target_files


def main() -> None:
    """Migrate a folder's list of cases and every file that lies beside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=TARGETS, help="by default this package's files")
    folder = parser.parse_args().folder
    write_list(folder)
    paths = sorted(folder.glob("*@*.json"))
    for path in paths:
        found = target_files.read(path)
        with atomic(str(path)) as stream:
            stream.write(target_files.dump(found).encode())
    print(f"{len(paths)} files in {folder}")


if __name__ == "__main__":
    main()
