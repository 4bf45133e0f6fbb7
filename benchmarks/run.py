"""``python benchmarks/run.py``: the same as ``python -m benchmarks``, from any folder."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.__main__ import main  # noqa: E402 - the folder above has to be on the path first

if __name__ == "__main__":
    main(prog_name="benchmarks/run.py")
