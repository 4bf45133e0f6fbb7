"""The register of figures: which program, test or constant a number of README, SECURITY and docs comes from.

    python tools/figures.py            what the pages say and the register lacks, or the other way round
    python tools/figures.py --write    put the pages' figures of today into docs/figures.json

Figures are numbers with a unit, in digits or in words, percentages, counts (``2 of 230``, ``level in 14``) and all of
three digits and more but for versions, codes and examples of arithmetic. The register has a row for each section of a
page that has any: ``figures``, as they stand there; ``sources``, where they come from, which people write;
``revision`` and ``date`` of the commit that wrote the newest of them. A source is a command (``python tools/…``,
``python -m …``, ``pytest …``, ``minuend …``), a file that a program wrote (``docs/….json``), a test, or a constant
(``src/….py::NAME``), whose number has to be among the figures. Pages that a program writes whole name it themselves.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[1]
REGISTER = ROOT / "docs" / "figures.json"

WRITTEN = {
    "docs/benchmarks.md": "python -m benchmarks",
    "docs/benchmarks-16-cores.md": "python -m benchmarks",
    "docs/benchmarks-libraries.md": "python -m benchmarks.libraries",
    "docs/verdicts.md": "tools/judge_corpus.py",
    "docs/conversion.md": "tools/corpus_report.py",
    "docs/verification.md": "python tools/differential.py",
}
"""Pages that a program writes, and the words by which they name it."""

_UNITS = (
    "s ms µs ns min h MB kB GB TB MiB KiB GiB GB/s % times bytes lines cells cases models runs files graphs pairs "
    "releases runtimes seconds minutes days hours signals executions elements threads CPUs passed tests chunks blocks"
)
_UNIT = "|".join(map(re.escape, _UNITS.split()))
_WORDS = "two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|fifty|hundred|thousand"
_NUMBERS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 20, 50, 100, 1000)
_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_FIGURE = re.compile(
    rf"(?<![\w.\-/#:,])\d[\d,]*(?:\.\d+)?\s?(?:{_UNIT})(?!\w)|(?<![\w.\-/#:,])\d{{1,3}}(?:,\d{{3}})+"
    rf"|\b(?:{_WORDS}) (?:times|seconds|minutes|hours|days)\b|\b\d+ of \d+\b|\b(?:level|ahead|behind) in \d+\b"
    r"|(?<![\w.\-/#:,@+−=(])(?<!IEEE )(?<!− )[1-9]\d{2,}(?![\w.\-/%:]*\w|,\d| ?−)"
)

Row: TypeAlias = dict[str, Any]


def pages() -> list[str]:
    """Return the pages that people write."""
    found = ["README.md", "SECURITY.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [page for page in found if page not in WRITTEN]


def sections(text: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each section's heading, and the lines and figures of its prose.

    Code is run by tests, and parts between marks are written by the program that the mark names.
    """
    heading, code = "", False
    found: list[tuple[int, str]] = []
    text = re.sub(r"<!-- .*?<!-- end -->", lambda part: "\n" * part[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and line.startswith("#"):
            if found:
                yield heading, found
            heading, found = line.strip("# "), []
        elif not code:
            found = [*found, *((number, figure) for figure in _FIGURE.findall(re.sub(r"`[^`]*`", "``", line)))]
    if found:
        yield heading, found


def stated() -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Return what the pages state, by page and heading."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for page in pages():
        for heading, figures in sections((ROOT / page).read_text("utf-8")):
            found.setdefault((page, heading), []).extend(figures)
    return found


def registered() -> dict[tuple[str, str], Row]:
    """Return the rows of the register, by page and heading."""
    rows = json.loads(REGISTER.read_text("utf-8")) if REGISTER.exists() else []
    return {(row["page"], row["section"]): row for row in rows}


def faults() -> list[str]:
    """Return what is wrong: figures without a row or a source, other figures than registered, sources that are not."""
    now, rows = stated(), registered()
    found = [f"{page}, {heading!r}: a row without figures" for page, heading in rows.keys() - now.keys()]
    for (page, heading), figures in now.items():
        row = rows.get((page, heading))
        if row is None:
            found.append(f"{page}, {heading!r}: no row for {[figure for _, figure in figures]}")
        elif row["figures"] != [figure for _, figure in figures]:
            found.append(f"{page}, {heading!r}: {[figure for _, figure in figures]}, registered are {row['figures']}")
        elif not row["sources"]:
            found.append(f"{page}, {heading!r}: no source")
        else:
            found += [f"{page}, {heading!r}: {why}" for source in row["sources"] if (why := _missing(source))]
            stated_here = {_value(figure) for _, figure in figures}
            found += [
                f"{page}, {heading!r}: {source} is {value:g}, which is not stated"
                for source in row["sources"] if (value := _constant(source)) is not None and value not in stated_here
            ]  # fmt: skip
            written = [(ROOT / source).read_text("utf-8") for source in row["sources"] if source in WRITTEN]
            if written and (lost := [one for _, one in figures if not any(_has(text, one) for text in written)]):
                found.append(f"{page}, {heading!r}: {lost} are not on the pages that it quotes")
    for page, words in WRITTEN.items():
        if (ROOT / page).exists() and words not in (ROOT / page).read_text("utf-8"):
            found.append(f"{page} does not name {words!r}, which writes it")
    return sorted(found)


def _has(text: str, figure: str) -> bool:
    """Whether a page has a figure's number, with or without thousands."""
    number = re.search(r"\d[\d.,]*", figure)
    if number is None:  # in words
        return figure in text
    if figure.startswith(("level", "ahead", "behind")):
        return re.search(rf"\b{figure[:5]}\w*[^,]* in {number[0]}\b", text) is not None
    plain = re.escape(number[0].replace(",", ""))
    return re.search(rf"(?<![\d.]){plain}(?!\d|\.\d)", re.sub(r"(?<=\d),(?=\d{3})", "", text)) is not None


def _value(figure: str) -> float:
    """The number that a figure is, in bytes or seconds where it has such a unit."""
    word, _, unit = figure.partition(" ")
    if word in _WORDS.split("|"):
        return float(_NUMBERS[_WORDS.split("|").index(word)])
    number = re.search(r"\d[\d.,]*", figure)
    assert number is not None
    return float(number[0].replace(",", "")) * _BYTES.get(unit, 1)


def _constant(source: str) -> float | None:
    """The value of a constant of a module of Python; nothing of what is none, or of more than a number."""
    path, _, name = source.partition("::")
    if not name.isupper() or not path.endswith(".py"):
        return None
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == name and isinstance(node, ast.Assign | ast.AnnAssign):
            return _number(node.value)
    return None


def _number(node: ast.expr | None) -> float | None:
    """The number that an expression of numbers is."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left), _number(node.right)
        if left is not None and right is not None:
            return left * right if isinstance(node.op, ast.Mult) else (
                left * 2**right if isinstance(node.op, ast.LShift) else
                left**right if isinstance(node.op, ast.Pow) else None
            )  # fmt: skip
    return None


def _missing(source: str) -> str:
    """Say why a source is none; nothing where it is one."""
    words = source.split()
    if words[0] in ("minuend", "pytest"):
        return "" if words[0] == "minuend" or (ROOT / words[1]).exists() else f"no {words[1]}"
    if words[0] == "python":
        path = words[1] if words[1] != "-m" else words[2].replace(".", "/")
        there = any((ROOT / name).exists() for name in (path, f"{path}.py", f"{path}/__main__.py"))
        return "" if there else f"no {path}"
    path, _, name = source.partition("::")
    if not (ROOT / path).exists():
        return f"no {path}"
    return "" if name in (ROOT / path).read_text("utf-8") else f"no {name} in {path}"


def write() -> None:
    """Write the register anew: sources stay, figures are those of the pages."""
    rows = registered()
    made = []
    for (page, heading), figures in sorted(stated().items()):
        row = rows.get((page, heading), {"page": page, "section": heading, "sources": []})
        texts = [figure for _, figure in figures]
        if row.get("figures") != texts:
            row = {**row, "figures": texts, **_commit(page, [number for number, _ in figures])}
        made.append(row)
    REGISTER.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _commit(page: str, lines: list[int]) -> dict[str, str]:
    """Return the revision and date of the newest of some lines; of today's state where they are not committed."""
    command = ["git", "blame", "--line-porcelain", *(f"-L{line},{line}" for line in sorted(set(lines))), "--", page]
    blamed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    commits = re.findall(r"(?m)^([0-9a-f]{40}) .*\n(?:.*\n)*?committer-time (\d+)", blamed)
    revision, _ = max(commits, key=lambda one: int(one[1]), default=("0", ""))  # a page that is not committed has none
    shown = "HEAD" if not int(revision, 16) else revision
    command = ["git", "log", "-1", "--date=short", "--format=%h %cd", shown]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {"revision": made[0], "date": made[1]}


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        write()
    found = faults()
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
