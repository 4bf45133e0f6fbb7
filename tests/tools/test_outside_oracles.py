"""Other people's vectors, by a stand-in for TestFloat that says what Python's own floats do."""

from __future__ import annotations

import stat
import sys
import textwrap
from pathlib import Path

import outside_oracles
import pytest

from minuend import _native

# Speaks as testfloat_gen does: "-level N f32_sub" gives lines of A, B, the result and flags. struct rounds once, and a
# difference of two float32 taken in float64 is not rounded before.
STAND_IN = """
import itertools, math, struct, sys

FORMATS = {"f16_sub": ("e", "H", 5, 10), "f32_sub": ("f", "I", 8, 23), "f64_sub": ("d", "Q", 11, 52)}
if sys.argv[3] not in FORMATS:
    sys.exit(f"testfloat_gen: Invalid argument '{sys.argv[3]}'.")
real, word, exponent, mantissa = FORMATS[sys.argv[3]]
infinity, one = ((1 << exponent) - 1) << mantissa, ((1 << exponent - 1) - 1) << mantissa
size = 1 + exponent + mantissa
codes = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one - 1, one, one + 1, infinity - 1, infinity, infinity + 1]
codes += [code | 1 << size - 1 for code in codes]

def value(code):
    return struct.unpack(f"<{real}", struct.pack(f"<{word}", code))[0]

def code_of(x):
    if math.isnan(x):
        return infinity | 1 << mantissa - 1
    try:
        return struct.unpack(f"<{word}", struct.pack(f"<{real}", x))[0]
    except OverflowError:
        return infinity | (x < 0) << size - 1

for a, b in itertools.product(codes, codes):
    wrong = WRONG and (a, b) == (codes[6], codes[1])
    print(" ".join(f"{code:0{size // 4}X}" for code in (a, b, code_of(value(a) - value(b)) ^ wrong)), "00")
"""


def program(folder: Path, *, wrong: bool = False) -> str:
    """Write the stand-in; with one vector whose last bit is wrong, or not."""
    path = folder / "testfloat_gen"
    path.write_text(f"#!{sys.executable}\nWRONG = {wrong}\n{STAND_IN}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Run the script's command line; its status and what it printed."""
    before = _native.get_instruction_set()

    def call(*argv: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["outside_oracles.py", *argv])
        status = outside_oracles.main()
        return status, capfd.readouterr().out

    yield call
    _native.set_instruction_set(before)


def test_every_vector_is_compared_in_every_layout_on_every_instruction_set(run, tmp_path: Path) -> None:
    status, out = run("--testfloat", program(tmp_path))
    n, turned = 22 * 22, 22 * 22 // 61 * 61
    compared = len(_native.instruction_sets()) * ((len(outside_oracles.LAYOUTS) - 1) * n + turned)
    rows = [line.rpartition("| ")[0] for line in out.splitlines() if line.startswith("| float")]
    assert status == 0
    assert rows == [f"| {name} | 1 | {n} | {compared:,} " for name in ("float16", "float32", "float64")]
    assert "| bfloat16 | | this TestFloat has no bf16 | | |" in out


def test_a_wrong_bit_is_shown_with_the_command_that_shows_it_again(run, tmp_path: Path) -> None:
    path = program(tmp_path, wrong=True)
    status, out = run("--testfloat", path)
    assert status == 1
    assert out.splitlines()[-1] == (
        f"float16, baseline, contiguous: 3C00 - 0001 is 3C00, expected 3C01; of {path} -level 1 f16_sub"
    )


def test_a_program_that_does_not_speak_as_testfloat_is_told(run, tmp_path: Path) -> None:
    path = tmp_path / "testfloat_gen"
    path.write_text("#!/bin/sh\necho hello\n")
    path.chmod(0o755)
    with pytest.raises(SystemExit) as caught:
        run("--testfloat", str(path))
    assert str(caught.value) == f"{path} -level 1 f16_sub does not write lines of 18 characters, as TestFloat 3 does"


SUITE = """
    import importlib, os

    def test_subtract_x1_x2():
        xp = importlib.import_module(os.environ["ARRAY_API_TESTS_MODULE"])
        found = xp.subtract(xp.asarray([1, 2], dtype=xp.int8), xp.asarray(OTHER, dtype=xp.int16))
        assert (found.dtype, found.tolist()) == (xp.int16, [-299, -298])

    def test_subtract__sub__():
        assert False, "operators are not ours"
"""


@pytest.mark.parametrize(("other", "expected"), [("300", 0), ("301", 1)])
def test_array_api_tests_are_run_over_a_namespace_with_this_subtract(run, tmp_path: Path, other, expected) -> None:
    (tmp_path / "array_api_tests").mkdir()
    file = tmp_path / "array_api_tests" / "test_operators_and_elementwise_functions.py"
    file.write_text(textwrap.dedent(SUITE).replace("OTHER", other))
    status, out = run("--array-api-tests", str(tmp_path))
    assert status == expected
    assert "1 deselected" in out


def test_a_folder_without_array_api_tests_is_told(run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        run("--array-api-tests", str(tmp_path))
    assert str(caught.value) == (
        f"{tmp_path} has no folder array_api_tests: clone data-apis/array-api-tests with --recurse-submodules "
        "and install its requirements.txt"
    )
