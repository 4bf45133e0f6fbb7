"""Across modules: ``minuend sub`` has only a few blocks in memory, whatever the size and layout of the files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource")

OPERAND = 128 << 20
MOST = 160 << 20
"""Bytes at the peak, with two threads: 50 MiB are Python and NumPy, so one operand in memory, or mapped, is too much.

With as many threads as there are at most it is 100 MiB more; 512 MiB are promised.
"""

PEAK = (
    "import sys; from minuend.cli import program; status = program.main(sys.argv[1:])\n"
    "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
    "print(status, int(peak[0].split()[1]) << 10)"
)


def npy(path: Path, shape: tuple[int, ...], descr: str = "<f4", fortran: bool = False) -> str:
    """A sparse file of zeros."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": fortran, "shape": shape})
    path.write_bytes(header.getvalue())
    os.truncate(path, len(header.getvalue()) + int(np.prod(shape)) * np.dtype(descr).itemsize)
    return str(path)


def safetensors(path: Path, count: int, rows: int) -> str:
    """A sparse file of many tensors, of sizes that differ."""
    header, end = {}, 0
    for i in range(count):
        begin, end = end, end + (rows + i) * 1000 * 2
        header[f"t{i}"] = {"dtype": "BF16", "shape": [rows + i, 1000], "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    os.truncate(path, 8 + len(text) + end)
    return str(path)


def compressed(path: Path, shape: tuple[int, ...]) -> str:
    """An archive whose member is a thousandth of what it holds."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(int(np.prod(shape)) >> 20):
            member.write(bytes(1 << 20))
    return str(path)


ROWS, COLUMNS = 1 << 13, OPERAND >> 15
COMPARED = ("C order", "both in Fortran order", "one in Fortran order", "compressed")

CASES: dict[str, Callable[[Path, Path], list[str]]] = {
    "C order": lambda a, b: [npy(a, (ROWS, COLUMNS)), npy(b, (ROWS, COLUMNS))],
    "one huge row": lambda a, b: [npy(a, (1, OPERAND), "|i1"), npy(b, (1, OPERAND), "|i1"), "--overflow", "widen"],
    "one of a byte order that is swapped": lambda a, b: [npy(a, (ROWS, COLUMNS), ">f4"), npy(b, (ROWS, COLUMNS))],
    "both in Fortran order": lambda a, b: [npy(x, (ROWS, COLUMNS), fortran=True) for x in (a, b)],
    "one in Fortran order": lambda a, b: [npy(a, (ROWS, COLUMNS), fortran=True), npy(b, (ROWS, COLUMNS))],
    "three dims, one in Fortran order": lambda a, b: [
        npy(a, (128, 512, 512), fortran=True),
        npy(b, (128, 512, 512)),
    ],
    "a large operand that repeats": lambda a, b: [npy(a, (2, OPERAND // 8)), npy(b, (OPERAND // 8,))],
    "a column against a row": lambda a, b: [npy(a, (ROWS, 1)), npy(b, (1, COLUMNS))],
    "compressed": lambda a, b: [compressed(x.with_suffix(".npz"), (OPERAND,)) for x in (a, b)],
    "many tensors": lambda a, b: [safetensors(x.with_suffix(".safetensors"), 200, 250) for x in (a, b)],
    "errors": lambda a, b: [npy(a, (OPERAND,), "|u1"), npy(b, (OPERAND,), "|u1"), "--overflow", "error"],
}


def peak_of(*argv: str) -> tuple[int, int, str]:
    """Call the command line in a process of its own; return its status, its peak in bytes, and its messages."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *argv],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=os.environ | {"MINUEND_NUM_THREADS": "2"},
    )
    status, peak = map(int, done.stdout.split()[-2:])
    return status, peak, done.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="it tells the peak")
@pytest.mark.parametrize(("case", "written"), [(case, True) for case in CASES] + [(case, False) for case in COMPARED])
def test_a_few_blocks_are_in_memory(tmp_path: Path, case: str, written: bool) -> None:
    argv = CASES[case](tmp_path / "a.npy", tmp_path / "b.npy")
    if written:
        suffix = Path(argv[0]).suffix
        out = tmp_path / f"o{suffix}"
        if case != "C order":  # nothing stays in memory, which spares the disk; written in order, as into a pipe
            out.symlink_to(os.devnull)
        argv += ["-o", str(out)]
    status, peak, err = peak_of("sub", *argv)
    assert status == 0, err
    assert peak < MOST


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="it tells the peak")
def test_a_delta_is_made_and_applied_in_a_few_blocks(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    base, tuned = (safetensors(tmp_path / f"{name}.safetensors", 200, 250) for name in ("base", "tuned"))
    with open(tuned, "r+b") as stream:
        for at in range(1 << 20, os.path.getsize(tuned), 1 << 20):
            stream.seek(at)
            stream.write(os.urandom(1 << 10))
    delta = str(tmp_path / "d.safetensors")
    for verb in (["make", base, tuned, "-o", delta], ["apply", base, delta, "-o", str(tmp_path / "again.safetensors")]):
        status, peak, err = peak_of("delta", *verb)
        assert status == 0, err
        assert peak < MOST
