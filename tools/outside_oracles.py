"""Hold the kernel against programs of others: Berkeley TestFloat's vectors, and array-api-tests for subtract.

    python tools/outside_oracles.py --testfloat PATH/testfloat_gen            # level 1, in a minute
    python tools/outside_oracles.py --testfloat PATH/testfloat_gen --level 2
    python tools/outside_oracles.py --array-api-tests PATH/array-api-tests    # a clone with its submodules

Neither is part of this repository. TestFloat 3 and SoftFloat 3 are on their author's pages, and in QEMU's sources under
``tests/fp``: ``make`` in SoftFloat's and then in TestFloat's ``build/Linux-x86_64-GCC``. Every vector runs through each
layout on every instruction set of this build that the CPU has. Ends with 1 at the first difference, and shows it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minuend as mn
from minuend import _native
from minuend.core.elements import TYPES, ElementType

Array = np.ndarray[Any, Any]

# TestFloat's names of formats; releases differ in which they have.
FORMATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
CHUNK = 1 << 17
"""Vectors that are computed at a time."""


# ---- layouts ---------------------------------------------------------------------------------------------------


def stepped(values: Array, step: int) -> Array:
    """Lay values so many elements apart; backwards where the step is negative."""
    room = np.zeros(len(values) * abs(step), values.dtype)
    room[::step] = values
    return room[::step]


def unaligned(values: Array) -> Array:
    """Lay values at an odd address."""
    room = np.zeros(values.nbytes + 1, np.uint8)[1:]
    found = room.view(values.dtype)
    found[...] = values
    return found


def turned(values: Array) -> Array:
    """Lay as many values as fill rows of 61 so that a column is contiguous."""
    rows = values[: len(values) // 61 * 61].reshape(-1, 61)
    return np.ascontiguousarray(rows.T).T


def over(which: int) -> Callable[[Array, Array], Array]:
    """Return a subtraction whose result replaces an operand."""

    def subtract(a: Array, b: Array) -> Array:
        operands = (a.copy(), b.copy())
        return mn.subtract(*operands, out=operands[which])

    return subtract


# How operands and the result lie. A layout may leave out the last few vectors.
LAYOUTS: dict[str, Callable[[Array, Array], Array]] = {
    "contiguous": mn.subtract,
    "every second": lambda a, b: mn.subtract(stepped(a, 2), stepped(b, 2)),
    "strided": lambda a, b: mn.subtract(stepped(a, 3), stepped(b, -5), out=stepped(np.zeros_like(a), 2)),
    "transposed": lambda a, b: mn.subtract(turned(a), b[: len(b) // 61 * 61].reshape(-1, 61)).reshape(-1),
    "unaligned": lambda a, b: mn.subtract(unaligned(a), unaligned(b), out=unaligned(np.zeros_like(a))),
    "in place of A": over(0),
    "in place of B": over(1),
}


# ---- TestFloat --------------------------------------------------------------------------------------------------


@dataclass
class Account:
    """What was compared of one format."""

    vectors: int = 0
    comparisons: int = 0
    seconds: float = 0.0


class Difference(Exception):
    """A result that is not what TestFloat expects."""


def from_hex(digits: Array) -> Array:
    """Return the numbers that rows of hexadecimal digits say."""
    values = np.where(digits > ord("9"), digits - (ord("A") - 10), digits - ord("0")).astype(np.uint64)
    powers = np.uint64(4) * np.arange(digits.shape[1])[::-1].astype(np.uint64)
    found: Array = np.bitwise_or.reduce(values << powers, axis=1)
    return found


def vectors(command: list[str], element: ElementType) -> Iterator[tuple[Array, Array, Array]]:
    """Run testfloat_gen; yield operands and expected results, a chunk at a time.

    A line is the operands, the result and the flags of exceptions, in hexadecimal digits.
    """
    width = element.bits // 4
    line = 3 * (width + 1) + 3
    with subprocess.Popen(command, stdout=subprocess.PIPE) as work:
        assert work.stdout is not None
        while block := work.stdout.read(CHUNK * line):
            if len(block) % line:
                raise SystemExit(f"{' '.join(command)} does not write lines of {line} characters, as TestFloat 3 does")
            text = np.frombuffer(block, np.uint8).reshape(-1, line)
            columns = (from_hex(text[:, k * (width + 1) :][:, :width]) for k in range(3))
            a, b, want = (column.astype(f"u{element.itemsize}").view(element.memory) for column in columns)
            yield a, b, want
    if work.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ends with {work.returncode}")


def magnitudes(element: ElementType, values: Array) -> Array:
    """Return the codes without their signs."""
    found: Array = values.view(f"u{element.itemsize}") & np.array((1 << (element.bits - 1)) - 1, f"u{element.itemsize}")
    return found


def differing(element: ElementType, got: Array, want: Array) -> Array:
    """Return which results are wrong: another code, or for a NaN anything but a quiet NaN."""
    form = element.format
    assert form is not None
    infinity = ((1 << form.exponent) - 1) << form.mantissa
    is_nan = magnitudes(element, want) > infinity
    quiet = magnitudes(element, got) >= infinity + (1 << (form.mantissa - 1))
    same = got.view(f"u{element.itemsize}") == want.view(f"u{element.itemsize}")
    wrong: Array = ~np.where(is_nan, quiet, same)
    return wrong


def compare(element: ElementType, a: Array, b: Array, want: Array, again: str) -> int:
    """Compute vectors in every layout on every instruction set; return how many results were compared."""
    compared = 0
    for isa in _native.instruction_sets():
        _native.set_instruction_set(isa)
        for name, subtract in LAYOUTS.items():
            got = np.array(subtract(a, b))
            wrong = differing(element, got, want[: len(got)])
            compared += len(got)
            if wrong.any():
                i = int(np.argmax(wrong))
                x, y, z, found = (
                    f"{int(v[i : i + 1].view(f'u{element.itemsize}')[0]):0{element.bits // 4}X}"
                    for v in (a, b, want, got)
                )
                raise Difference(f"{element}, {isa}, {name}: {x} - {y} is {found}, expected {z}; {again}")
    return compared


def has_format(testfloat: str, name: str) -> bool:
    """Whether this release of TestFloat has a format."""
    command = [testfloat, "-level", "1", f"{name}_sub"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def run_testfloat(testfloat: str, level: int) -> None:
    """Run all formats; print a row of a table for each."""
    lacking = set(_native.built_instruction_sets()) - set(_native.instruction_sets())
    print(f"Instruction sets: {', '.join(_native.instruction_sets())}", end="")
    print(f"; built, but not of this CPU: {', '.join(sorted(lacking))}" if lacking else "")
    print(f"Layouts: {', '.join(LAYOUTS)}\n")
    print("| type | level | vectors | comparisons | seconds |\n|---|---:|---:|---:|---:|")
    for name, type_name in FORMATS.items():
        if not has_format(testfloat, name):
            print(f"| {type_name} | | this TestFloat has no {name} | | |")
            continue
        command = [testfloat, "-level", str(level), f"{name}_sub"]
        account, begin = Account(), time.monotonic()
        for a, b, want in vectors(command, TYPES[type_name]):
            account.vectors += len(a)
            account.comparisons += compare(TYPES[type_name], a, b, want, f"of {' '.join(command)}")
        account.seconds = time.monotonic() - begin
        print(
            f"| {type_name} | {level} | {account.vectors:,} | {account.comparisons:,} | {account.seconds:.0f} |",
            flush=True,
        )


# ---- array-api-tests --------------------------------------------------------------------------------------------

# NumPy's namespace with this package's subtract, which promotes no types: the standard's table is NumPy's.
NAMESPACE = """
import numpy
from numpy import *
from numpy import __array_namespace_info__, abs, bool, max, min, pow, round, sum
import minuend

__array_api_version__ = numpy.__array_api_version__


def subtract(x1, x2, /):
    dtype = numpy.result_type(x1, x2)
    return minuend.subtract(numpy.asarray(x1, dtype), numpy.asarray(x2, dtype))
"""


def run_array_api_tests(suite: Path) -> int:
    """Run what array-api-tests has of subtract; return pytest's status."""
    if not (suite / "array_api_tests").is_dir():
        raise SystemExit(
            f"{suite} has no folder array_api_tests: clone data-apis/array-api-tests with --recurse-submodules "
            "and install its requirements.txt"
        )
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        (Path(folder) / "minuend_namespace.py").write_text(NAMESPACE)
        environment = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
            },  # of the tests around
            "ARRAY_API_TESTS_MODULE": "minuend_namespace",
            "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",  # no standard that is implemented here has them
            "PYTHONPATH": os.pathsep.join([folder, *sys.path]),
        }
        # Operators are NumPy's own: they never come here.
        chosen = ["-k", "subtract and not __sub__ and not __isub__"]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "array_api_tests", *chosen]
        return subprocess.run(command, cwd=suite, env=environment, check=False).returncode


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testfloat", metavar="PATH", help="the program testfloat_gen")
    parser.add_argument("--level", type=int, choices=(1, 2), default=1, help="how many vectors (default: 1)")
    parser.add_argument("--array-api-tests", metavar="PATH", type=Path, help="a clone of array-api-tests")
    options = parser.parse_args()
    if options.testfloat is None and options.array_api_tests is None:
        parser.error("nothing to do: give --testfloat, --array-api-tests or both")
    if options.testfloat is not None:
        try:
            run_testfloat(options.testfloat, options.level)
        except Difference as found:
            print(found)
            return 1
    return run_array_api_tests(options.array_api_tests) if options.array_api_tests is not None else 0


if __name__ == "__main__":
    sys.exit(main())
