"""What is read is written, all of it; both files appear or neither."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_files import TEXT, WEIGHTS, changed

from minuend.errors import DTypeError, FileFormatError, MinuendError, SpecError
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.writer import ALIGNMENT
from minuend.openvino.model import Model, read

RICH = r"""<?xml version="1.0"?>
<net name="m &amp; m" version="11" author="someone">
<layers>
<layer id="5" name="a" type="Parameter" version="opset1"><data shape="1..4,3" element_type="f16"/>
<rt_info><attribute name="old_api_map_order" version="0" value="0,1"/></rt_info>
<output><port id="0" precision="FP16" names="a\,b,c" more="1"><dim>-1</dim><dim>3</dim>
<rt_info><attribute name="layout" version="0" layout="[N,C]"/></rt_info></port></output></layer>
<layer id="0" name="w" type="Const" version="opset1"><data element_type="f16" shape="3" offset="2" size="6"/>
<output><port id="0" precision="FP16"><dim>3</dim></port></output></layer>
<layer id="2" name="sub" type="Subtract" version="opset4" kept="yes">
<data auto_broadcast="NUMPY" strange="x &lt; y"/><input><port id="0" precision="FP16" own="2"/><port id="1"/></input>
<output><port id="2" precision="FP16" names="y"/></output></layer>
<layer id="7" name="norm" type="MVN" version="opset6"><data eps="1e-05" normalize_variance="true"/>
<input><port id="0"/></input><output><port id="1" precision="FP16"><dim>-1</dim><dim>3</dim></port></output></layer>
<layer id="8" name="loop" type="TensorIterator" version="opset1"><port_map><input external_port_id="0"/></port_map>
<body><layers><layer id="0" name="k" type="Const" version="opset1">
<data element_type="u8" shape="1" offset="9" size="1"/>
<output><port id="0" precision="U8"><dim>1</dim></port></output></layer></layers><edges/></body></layer>
<layer id="3" name="r" type="Result" version="opset1" output_names="z"><input><port id="0"/></input></layer>
</layers>
<edges><edge from-layer="5" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="2" to-port="1" weight="3"/>
<edge from-layer="2" from-port="2" to-layer="7" to-port="0"/>
<edge from-layer="7" from-port="1" to-layer="3" to-port="0"/></edges>
<rt_info><conversion_parameters><framework value="pytorch"/></conversion_parameters>
<note>text &#10; within</note></rt_info>
<meta_data><MO_version value="x"/></meta_data></net>"""


def facts(xml: bytes | str) -> Iterator[tuple[str, str]]:
    """Every attribute and text of a document with its path, layers by id and ports by number."""
    yield from _facts(ET.fromstring(xml), "")


def _facts(element: ET.Element, path: str) -> Iterator[tuple[str, str]]:
    own = f"{path}/{element.tag}" + "".join(f"[{element.get(key)}]" for key in ("id",) if element.get(key))
    if element.tag == "edge":
        own += f"[{element.get('to-layer')}:{element.get('to-port')}]"
    yield own, (element.text or "").strip()
    for name, value in element.attrib.items():
        yield f"{own}@{name}", value
    for child in element:
        yield from _facts(child, own)


INFERRED = ("/dim", "@precision")
"""What is written anew."""


def test_nothing_that_was_read_is_lost() -> None:
    model = read(RICH, WEIGHTS)
    xml, weights = model.to_bytes()
    before, after = list(facts(RICH)), list(facts(xml))
    assert [fact for fact in before if not fact[0].endswith(INFERRED) and fact not in after] == []
    assert weights == WEIGHTS
    assert [fact for fact in after if not fact[0].endswith(INFERRED) and fact not in before] == []


def test_writing_twice_gives_the_same_bytes() -> None:
    once = read(RICH, WEIGHTS).to_bytes()
    assert read(*once).to_bytes() == once


def test_ports_are_written_as_inferred() -> None:
    text = TEXT.replace('shape="2,3"', 'shape="2..5,3"').replace("<dim>2</dim>", "<dim>9</dim>")
    xml, _ = read(text, WEIGHTS).to_bytes()
    dims = [(port.get("precision"), [dim.text for dim in port]) for port in ET.fromstring(xml).iter("port")]
    assert dims == [
        ("FP32", ["-1", "3"]),  # a
        ("FP32", ["3"]),  # b
        ("FP32", ["-1", "3"]),  # sub's inputs
        ("FP32", ["3"]),
        ("FP32", ["-1", "3"]),  # its output
        ("FP32", ["-1", "3"]),  # the result
    ]


def test_saving_writes_both_files_and_reads_back(tmp_path: Path) -> None:
    model = read(TEXT, WEIGHTS)
    model.save(tmp_path / "out.xml")
    assert sorted(os.listdir(tmp_path)) == ["out.bin", "out.xml"]
    again = read(tmp_path / "out.xml")
    a = np.ones((2, 3), np.float32)
    assert np.array_equal(again.run({"a": a})["y"], model.run({"a": a})["y"])
    assert (tmp_path / "out.bin").read_bytes() == WEIGHTS


def test_new_constants_lie_behind_the_old_ones_and_one_array_lies_there_once() -> None:
    model = read(TEXT, WEIGHTS)
    builder = Builder(model=model)
    k = builder.constant("k", np.float32([4]))
    builder.result(builder.subtract("s", k, k))
    twin = builder.constant("twin", np.float32([5]))
    twin.layer.content = k.layer.content
    builder.result(twin)
    xml, weights = model.to_bytes()
    assert [layer.id for layer in model.layers] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert weights == WEIGHTS + bytes(ALIGNMENT - len(WEIGHTS)) + np.float32([4]).tobytes()
    offsets = [layer.data.get("offset") for layer in read(xml, weights).layers if layer.type == "Const"]
    assert offsets == ["4", str(ALIGNMENT), str(ALIGNMENT)]


def test_no_input_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(TEXT)
    (tmp_path / "m.bin").write_bytes(WEIGHTS)
    model = read(path)
    for goal in (path, tmp_path / "linked.xml"):
        if goal != path:
            goal.symlink_to(path)
        with pytest.raises(MinuendError) as found:
            model.save(goal)
        assert "is also an input" in str(found.value)
    assert (path.read_text(), (tmp_path / "m.bin").read_bytes()) == (TEXT, WEIGHTS)
    assert sorted(os.listdir(tmp_path)) == ["linked.xml", "m.bin", "m.xml"]


def test_a_path_without_xml_and_a_folder_that_is_not_there_are_refused(tmp_path: Path) -> None:
    model = read(TEXT, WEIGHTS)
    with pytest.raises(FileFormatError):
        model.save(tmp_path / "m.bin")
    with pytest.raises(FileNotFoundError) as found:
        model.save(tmp_path / "none" / "m.xml")
    assert str(found.value) == f"there is no folder {tmp_path / 'none'} to write m.xml to"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("fails_at", [1, 2], ids=["the first renaming", "the second renaming"])
@pytest.mark.parametrize("existed", [False, True])
def test_a_failure_leaves_both_old_files_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int, existed: bool
) -> None:
    goal = tmp_path / "m.xml"
    if existed:
        goal.write_text("old xml")
        (tmp_path / "m.bin").write_text("old bin")
    count = 0
    rename = os.replace

    def replace(source: Any, target: Any) -> None:
        nonlocal count
        count += 1
        if count == fails_at:
            raise OSError("the disk is full")
        rename(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="the disk is full"):
        read(TEXT, WEIGHTS).save(goal)
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == ({"m.xml": "old xml", "m.bin": "old bin"} if existed else {})


def test_what_stood_there_is_replaced(tmp_path: Path) -> None:
    for name in ("m.xml", "m.bin"):
        (tmp_path / name).write_text("old")
    read(TEXT, WEIGHTS).save(tmp_path / "m.xml")
    assert sorted(os.listdir(tmp_path)) == ["m.bin", "m.xml"]
    assert read(tmp_path / "m.xml").name == "m"


def test_the_xml_comes_first_which_tells_its_bin_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: (order.append(Path(target).name), rename(source, target)))
    read(TEXT, WEIGHTS).save(tmp_path / "m.xml")
    assert order == ["m.xml", "m.bin"]


def test_names_with_commas_and_marks_of_xml_come_back() -> None:
    builder = Builder('<&"\n>')
    x = builder.parameter("x,\t'", "f32", (), names=["p,q", "ü"])
    builder.result(x, "r")
    model = read(*builder.model.to_bytes())
    assert (model.name, model.layers[0].name, model.layers[0].outputs[0].names) == ('<&"\n>', "x,\t'", ("p,q", "ü"))


def test_names_that_xml_cannot_hold_are_refused() -> None:
    model = Model("a\x00b")
    with pytest.raises(SpecError) as found:
        model.to_bytes()
    assert str(found.value) == (
        "'a\\x00b' holds the character '\\x00', which XML cannot; take it out, at attribute 'name' of <net>"
    )


def test_constants_of_types_that_openvino_has_not_are_refused() -> None:
    with pytest.raises(DTypeError) as found:
        Builder().constant("c", np.zeros(1, np.complex64))
    assert str(found.value).startswith("element type 'complex64': no version of Sub takes complex numbers")


def test_layers_are_checked_when_a_model_that_was_changed_is_written() -> None:
    model = read(changed('shape="2,3"', 'shape="?,3"'), WEIGHTS)
    model.layers[0].data["shape"] = "2,4"
    with pytest.raises(SpecError, match=r"do not broadcast"):
        model.to_bytes()
    model.layers[0].data["shape"] = "1,3"
    assert read(*model.to_bytes()).outputs["y"].shape == (1, 3)
