"""An ``.xml`` beside a ``.bin`` of another model is never computed with."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minuend import cli
from minuend.errors import FileFormatError
from minuend.openvino.ir.builder import Builder
from minuend.openvino.model import Model, read

A = np.float32([10, 10, 10])
OLD, NEW = np.float32([1, 2, 3]), np.float32([4, 5, 6])


def model(weights: np.ndarray) -> Model:
    builder = Builder("m")
    a = builder.parameter("a", "f32", (3,))
    builder.result(builder.subtract("s", a, builder.constant("w", weights)), "c")
    return builder.model


def digest(weights: np.ndarray) -> str:
    return hashlib.sha256(weights.tobytes()).hexdigest()


def answer(path: Path) -> list[float]:
    (result,) = read(path).run({"a": A}).values()
    return list(result.tolist())


def refusal(path: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        read(path).run({"a": A})
    return str(caught.value)


def told(path: Path, came: str, stated: str) -> str:
    return (
        f"{path.with_suffix('.bin')} is not the .bin that {path} was written with: {came}, and bin_size and bin_sha256 "
        f"of <net> say {stated}; writing the two was cut short, or one of them was replaced: write the model again, or "
        "take both from one copy (where the .bin was changed on purpose, take the two attributes out)"
    )


KILLED = """
import os, sys
import numpy as np
sys.path[:0] = sys.argv[4].split(os.pathsep)
from test_pairing import model
rename, dies_after = os.replace, int(sys.argv[2])
if sys.argv[3] == "bin first":
    from minuend.files.transaction import writing
    appear = writing._appear
    writing._appear = lambda parts: appear(parts[::-1])
done = []
def replace(source, target):
    rename(source, target)
    done.append(target)
    if len(done) == dies_after:
        os._exit(9)
os.replace = replace
model(np.float32([4, 5, 6])).save(sys.argv[1])
"""


def killed(path: Path, dies_after: int, order: str = "xml first") -> None:
    """Save the new model in a child that dies after so many renamings, with no chance to clean up."""
    roots = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(dies_after), order, roots], check=False, timeout=60
    )
    assert done.returncode == 9


@pytest.mark.parametrize("order", ["xml first", "bin first"])
def test_killed_between_the_two_renamings_the_pair_does_not_run(tmp_path: Path, order: str) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    killed(path, 1, order)
    (came, stated) = (OLD, NEW) if order == "xml first" else (NEW, OLD)
    assert refusal(path) == told(path, f"its SHA-256 is {digest(came)}", digest(stated))
    np.save(tmp_path / "a.npy", A)
    argv = ["run", str(path), "--input", f"a={tmp_path / 'a.npy'}", "-o", str(tmp_path / "out")]
    assert cli.main(argv) == 2
    assert not (tmp_path / "out").exists()
    model(NEW).save(path)
    assert answer(path) == (A - NEW).tolist()
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "m.bin", "m.xml"]


def test_killed_over_a_pair_that_another_writer_made_it_does_not_run_either(tmp_path: Path) -> None:
    """Such an .xml says nothing of its .bin, so the new .xml has to come first."""
    path = tmp_path / "m.xml"
    xml, weights = model(OLD).to_bytes()
    path.write_bytes(xml)
    path.with_suffix(".bin").write_bytes(weights)
    assert answer(path) == (A - OLD).tolist()
    killed(path, 1)
    assert refusal(path) == told(path, f"its SHA-256 is {digest(OLD)}", digest(NEW))


def test_killed_after_both_renamings_the_new_pair_stands(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    killed(path, 2)
    assert answer(path) == (A - NEW).tolist()


def test_killed_where_nothing_stood_there_is_no_bin(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    killed(path, 1)
    assert refusal(path) == told(path, "it is not there", "12 bytes")


def test_a_bin_of_another_length_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    path.with_suffix(".bin").write_bytes(bytes(16))
    with pytest.raises(FileFormatError) as caught:
        read(path)
    assert str(caught.value) == told(path, "it has 16 bytes", "12 bytes")


def test_nothing_is_saved_from_a_bin_that_is_another(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    path.with_suffix(".bin").write_bytes(NEW.tobytes())
    for use in (lambda: read(path).save(tmp_path / "n.xml"), lambda: read(path).to_bytes()):
        with pytest.raises(FileFormatError, match=r"is not the \.bin that"):
            use()
    assert sorted(os.listdir(tmp_path)) == ["m.bin", "m.xml"]


@pytest.mark.parametrize(
    ("size", "sha"), [("12", None), (None, "0" * 64), ("x", "0" * 64), ("12", "0" * 63), ("1" * 5000, "g" * 5000)]
)
def test_what_is_no_size_or_checksum_is_told(tmp_path: Path, size: str | None, sha: str | None) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    stated = "".join(f' {name}="{v}"' for name, v in (("bin_size", size), ("bin_sha256", sha)) if v is not None)
    path.write_text(path.read_text().replace(f' bin_size="12" bin_sha256="{digest(OLD)}"', stated))
    assert refusal(path) == (
        f"{path} states bin_size {(size or '')[:100]!r} and bin_sha256 {(sha or '')[:100]!r} of <net>; expected a "
        "number of bytes and 64 hex digits, or neither"
    )


def test_bytes_that_come_with_an_xml_are_checked_too_and_both_are_written_without(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    xml = path.read_bytes()
    assert read(xml, OLD.tobytes()).run({"a": A})
    with pytest.raises(FileFormatError, match=r"the weights is not the \.bin that the IR was written with"):
        read(xml, NEW.tobytes()).run({"a": A})
    again, weights = read(path).to_bytes()
    assert (b"bin_sha256" in again, weights) == (False, OLD.tobytes())
    assert "bin_sha256" not in read(path).attributes


def test_openvino_reads_the_pair_and_does_not_carry_the_checksum_on(tmp_path: Path) -> None:
    """In rt_info it would: then this package would refuse what openvino writes with a .bin of its own."""
    openvino = pytest.importorskip("openvino")
    path, other = tmp_path / "m.xml", tmp_path / "n.xml"
    model(OLD).save(path)
    found = openvino.Core().read_model(path)
    (got,) = openvino.Core().compile_model(found, "CPU")([A]).values()
    assert got.tolist() == (A - OLD).tolist()
    openvino.serialize(found, str(other))
    assert "bin_sha256" in path.read_text()
    assert "bin_sha256" not in other.read_text()
    other.with_suffix(".bin").write_bytes(NEW.tobytes())
    assert answer(other) == (A - NEW).tolist()
    assert next(iter(read(openvino.Core().read_model(path)).run({"a": A}).values())).tolist() == (A - OLD).tolist()


def test_a_checksum_is_computed_where_bytes_are_used_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.xml"
    model(OLD).save(path)
    asked: list[int] = []
    sha256 = hashlib.sha256
    monkeypatch.setattr(hashlib, "sha256", lambda *given: (asked.append(1), sha256(*given))[1])
    found = read(path)
    assert [str(node.op) for node in found.subtractions()] == ["Subtract-1"]
    assert asked == []
    for _ in range(2):
        found.run({"a": A})
    assert asked == [1]
