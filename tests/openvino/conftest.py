"""The installed openvino as a peer; tests that use it are skipped where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

IR = """<net name="m" version="11"><layers>
<layer id="0" name="a" type="Parameter" version="opset1"><data shape="{a}" element_type="{dtype}"/>
<output><port id="0" precision="{dtype}"/></output></layer>
<layer id="1" name="b" type="Parameter" version="opset1"><data shape="{b}" element_type="{dtype}"/>
<output><port id="0" precision="{dtype}"/></output></layer>
<layer id="2" name="sub" type="Subtract" version="opset1">
<data auto_broadcast="{rule}" auto_broadcast.auto_broadcast_axis="{axis}"/>
<input><port id="0"/><port id="1"/></input><output><port id="2" precision="{dtype}"/></output></layer>
<layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""


@pytest.fixture(scope="session")
def peer_model() -> Callable[..., Any]:
    """Return a function that reads a model of one Subtract; shapes are texts such as ``[2,?,1..4]``."""
    core = pytest.importorskip("openvino").Core()

    def read(rule: str, a: str, b: str, axis: int, dtype: str = "f32") -> Any:
        text = IR.format(a=a.strip("[]"), b=b.strip("[]"), rule=rule, axis=axis, dtype=dtype)
        return core.read_model(text.encode(), b"")

    return read
