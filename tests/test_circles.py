"""No modules import each other in a circle, be it for types alone."""

import ast
import graphlib
from pathlib import Path

import minuend

HOME = Path(minuend.__file__).parent
BUILT = {"_native", "__version__"}
"""Names that ``minuend`` itself gives before it imports anything."""


def modules() -> dict[str, Path]:
    paths = {path.relative_to(HOME).with_suffix(""): path for path in HOME.rglob("*.py")}
    return {".".join(one.parts).removesuffix(".__init__"): path for one, path in paths.items()}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of this package that a module imports, wherever the statement stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                found.add(inner if inner.removeprefix("minuend.") in known else node.module)
                if node.module == "minuend" and one.name in BUILT:
                    found.discard("minuend")
    return {"__init__" if one == "minuend" else one.removeprefix("minuend.") for one in found
            if one.partition(".")[0] == "minuend"} & set(known)  # fmt: skip


def test_no_modules_import_each_other_in_a_circle():
    known = modules()
    graph = {name: imported(path, known) - {name} for name, path in known.items()}
    circles = set()
    while True:
        try:
            graphlib.TopologicalSorter(graph).prepare()
            break
        except graphlib.CycleError as error:
            circle = error.args[1]
            circles.add(tuple(sorted(set(circle))))
            graph[circle[1]] = graph[circle[1]] - {circle[0]}  # looks for others behind it
    assert not circles
