"""IR texts for tests: one valid model, a line each layer, whose parts tests replace."""

from __future__ import annotations

import numpy as np

A = '<layer id="0" name="a" type="Parameter" version="opset1"><data shape="2,3" element_type="f32"/><output>'
A_OUT = '<port id="0" precision="FP32" names="a"><dim>2</dim><dim>3</dim></port></output></layer>'
B = '<layer id="1" name="b" type="Const" version="opset1"><data element_type="f32" shape="3" offset="4" size="12"/>'
B_OUT = '<output><port id="0" precision="FP32"><dim>3</dim></port></output></layer>'
SUB = '<layer id="2" name="sub" type="Subtract" version="opset1"><data auto_broadcast="numpy"/><input>'
SUB_IN = '<port id="0"><dim>2</dim><dim>3</dim></port><port id="1"><dim>3</dim></port></input><output>'
SUB_OUT = '<port id="2" precision="FP32" names="y,y2"><dim>2</dim><dim>3</dim></port></output></layer>'
RESULT = '<layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer>'
EDGE_A = '<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>'
EDGE_B = '<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>'
EDGE_R = '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'

TEXT = f"""<net name="m" version="11"><layers>
{A}
{A_OUT}
{B}
{B_OUT}
{SUB}
{SUB_IN}
{SUB_OUT}
{RESULT}
</layers><edges>
{EDGE_A}
{EDGE_B}
{EDGE_R}
</edges></net>"""
"""a (2, 3) - b (3,), whose bytes start at 4: lines 2 and 3 are a, 4 and 5 b, 6 to 8 sub, 9 r, 11 to 13 the edges."""

WEIGHTS = b"junk" + np.float32([1, 2, 3]).tobytes() + b"tail"


def changed(old: str, new: str, *, text: str = TEXT) -> bytes:
    """The model with one text replaced, which has to be there."""
    assert old in text, old
    return text.replace(old, new, 1).encode()
