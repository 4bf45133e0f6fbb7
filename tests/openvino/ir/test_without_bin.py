"""Across modules: an IR whose .bin is missing is checked with unknown constants; it is not run or written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from minuend.openvino.sites import sites

import minuend as mn
from minuend.errors import FileFormatError
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.sections import Ref
from minuend.openvino.model import read

NOTE = (
    "the constants are not there (no .bin beside the .xml): each can hold any number here, and shapes that depend on "
    "one are those that the .xml states"
)


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """An IR that subtracts a constant from a reshaped input, as openvino writes it, without its .bin."""
    builder = Builder("m")
    shape = builder.constant("shape", np.int64([2, 3]))
    a = builder.layer("Reshape", "r", [builder.parameter("a", "f32", (6,)), shape], {"special_zero": "false"})
    builder.result(builder.subtract("sub", Ref(a, 0), builder.constant("b", np.float32([1, 2, 3]))))
    path = tmp_path / "m.xml"
    path.write_bytes(builder.model.to_bytes()[0])
    return path


def test_it_is_checked_and_a_note_says_what_is_unknown(alone: Path) -> None:
    report = mn.check(alone, "openvino-cpu@2026.4.1")
    assert report.notes == (NOTE,)
    (finding,) = report.findings
    assert (finding.constants, finding.shape_relation, finding.dtype) == ("B", "one-sided", "float32")
    (node,) = read(alone).subtractions()
    assert (node.a.shape, node.b.shape) == ((2, 3), (3,))


def test_its_constants_can_be_anything(alone: Path) -> None:
    """With the .bin the constant is seen to hold no -0 and nothing that is clamped; without, it may."""
    (site,) = sites(read(alone))
    assert site.b.constant
    assert site.b.is_full


@pytest.mark.parametrize("stated", [False, True], ids=["as openvino writes it", "with the size that minuend states"])
def test_whatever_needs_the_constants_is_refused(alone: Path, stated: bool) -> None:
    if stated:
        text = alone.read_text().replace("<net ", f'<net bin_size="76" bin_sha256="{"0" * 64}" ')
        alone.write_text(text)
        message = f"{alone.with_suffix('.bin')} is not the .bin that {alone} was written with: it is not there, and "
    else:
        message = f"the constant lies in {alone.with_suffix('.bin')}, which is not there; put it beside the .xml"
    model = read(alone)
    assert model.missing is not None
    for work in (
        lambda: mn.run(alone, {"a": np.zeros(6, np.float32)}),
        lambda: mn.convert(alone, "onnx:13"),
        lambda: mn.fix(alone, "openvino-cpu@2026.4.1"),
        lambda: model.save(alone.with_name("n.xml")),
        model.to_bytes,
    ):
        with pytest.raises(FileFormatError) as caught:
            work()
        assert message in str(caught.value)
    assert [path.name for path in alone.parent.iterdir()] == ["m.xml"]


def test_the_cli_says_so(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from minuend.cli.program import main

    assert main(["check", str(alone), "--target", "openvino-cpu@2026.4.1"]) == 1
    assert "the constants are not there" in " ".join(capsys.readouterr().out.split())
    assert main(["convert", str(alone), "--to", "onnx:13", "-o", str(alone.with_name("n.onnx"))]) == 2
    assert "which is not there; put it beside the .xml" in capsys.readouterr().err
