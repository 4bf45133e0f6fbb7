"""Make the example files of arrays, as ``minuend demo`` does; see :mod:`minuend.files.examples`."""

from __future__ import annotations

import sys
from pathlib import Path

from minuend.files.examples import write_arrays


def main(folder: Path) -> None:
    """Write the four files into a folder."""
    write_arrays(str(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
