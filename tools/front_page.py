"""The parts of README that come from the data: what runtimes make of 5 - 10, and how much was measured.

python tools/front_page.py            what README has and the data does not
python tools/front_page.py --write    put today's parts into README.md
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from minuend.runtimes import targets
from minuend.runtimes.matrix import five_minus_ten

README = Path(__file__).parents[1] / "README.md"


def table() -> str:
    """Return the table of README: each result, and the runtimes that give it."""
    rows = [
        f"| {f'**{result}**' if result.isdigit() else result} | "
        f"{', '.join(f'{one.runtime} {one.release.partition(chr(43))[0]}' for one in computing)} |\n"
        for result, computing in five_minus_ten().items()
    ]
    return "| `uint8` 5 − 10 | computed by |\n|---|---|\n" + "".join(rows)


def counts() -> str:
    """Return how much was measured."""
    measured = [target for name in targets.names() if not (target := targets.find(name, exact=True)).declared]
    runtimes = {target.runtime for target in measured}
    return (
        f"{len(runtimes)} runtimes in {len(measured)} releases are measured ([docs/runtimes.md](docs/runtimes.md)).\n"
    )


PARTS = {"table": table, "counts": counts}


def filled(text: str) -> str:
    """Return a page with today's parts between its marks."""
    for name, part in PARTS.items():
        mark = rf"(<!-- {name}: tools/front_page.py -->\n).*?(<!-- end -->)"
        text = re.sub(mark, lambda found, part=part: f"{found[1]}{part()}{found[2]}", text, flags=re.DOTALL)  # type: ignore[misc]
    return text


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    text = README.read_text("utf-8")
    if parser.parse_args().write:
        README.write_text(filled(text), encoding="utf-8")
        return 0
    print("as the data has it" if filled(text) == text else "other parts than the data has: --write")
    return int(filled(text) != text)


if __name__ == "__main__":
    sys.exit(main())
