"""``validate``: each numbered rule with its message in full and its place, in the order in which they are checked."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import minuend as mn
from minuend.errors import DTypeError, ShapeError, SpecError
from minuend.standards import validation as module
from minuend.standards.dialects import dialect
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import infer, infer_node, validate
from minuend.standards.version import Attr, Rows

F = TensorType("float32", (2, 3))
PLACE = "graph.node[3] 'sub_mean'"


def check(name="onnx", version=7, a=F, b=F, where=PLACE, **attributes):
    op = dialect(name).resolve(version)
    return validate(Node(op=op, operands=(a, b), attributes=attributes, name="sub_mean", where=where))


def t(dtype="float32", *shape):
    return TensorType(dtype, shape)


FOUR = TensorType("float32", (1, 2, 3, 4))

RULES = {
    1: [
        (
            lambda: check(axis=1),
            SpecError,
            f"Sub-7 takes no attribute 'axis' (removed in version 7); it takes none, at {PLACE}",
        ),
        (
            lambda: check(version=13, consumed_inputs=[0, 0]),
            SpecError,
            f"Sub-13 takes no attribute 'consumed_inputs' (removed in version 6); it takes none, at {PLACE}",
        ),
        (
            lambda: check(version=6, alpha=1.0),
            SpecError,
            f"Sub-6 takes no attribute 'alpha'; it takes axis and broadcast, at {PLACE}",
        ),
        (
            lambda: check("openvino", 1, auto_broadcasting="numpy"),
            SpecError,
            (f"Subtract-1 takes no attribute 'auto_broadcasting'; it takes auto_broadcast and axis, at {PLACE}"),
        ),
        (
            lambda: check("directml", "1.0", FOUR, FOUR, axis=0),
            SpecError,
            f"ELEMENT_WISE_SUBTRACT-1.0 takes no attribute 'axis'; it takes none, at {PLACE}",
        ),
    ],
    2: [
        (lambda: check(version=6, axis="0"), SpecError,
         f"attribute 'axis' of Sub-6 is '0'; expected type INT, at {PLACE}"),
        (lambda: check(version=6, axis=True), SpecError,
         f"attribute 'axis' of Sub-6 is True; expected type INT, at {PLACE}"),
        (lambda: check(version=6, broadcast=None), SpecError,
         f"attribute 'broadcast' of Sub-6 is None; expected type INT, at {PLACE}"),
        (lambda: check(version=1, broadcast=2), SpecError,
         f"attribute 'broadcast' of Sub-1 is 2; expected 0 or 1, at {PLACE}"),
        (lambda: check(version=1, consumed_inputs=[0.0]), SpecError,
         f"attribute 'consumed_inputs' of Sub-1 is [0.0]; expected type INTS, at {PLACE}"),
        (lambda: check("openvino", 1, auto_broadcast="explicitly"), SpecError,
         f"attribute 'auto_broadcast' of Subtract-1 is 'explicitly'; expected none, numpy or pdpd, at {PLACE}"),
        (lambda: check("openvino", 1, auto_broadcast=1), SpecError,
         f"attribute 'auto_broadcast' of Subtract-1 is 1; expected type string, at {PLACE}"),
    ],
    3: [
        (
            lambda: check(b=t("float64", 2, 3)),
            DTypeError,
            (
                "Sub-7 takes two operands of one element type; A is tensor(float) and B is tensor(double); "
                f"convert one of them first, at {PLACE}"
            ),
        ),
        (
            lambda: check("openvino", 1, b=t("int4", 2, 3)),
            DTypeError,
            (
                "Subtract-1 takes two operands of one element type; A is f32 and B is i4; "
                f"convert one of them first, at {PLACE}"
            ),
        ),
        (
            lambda: check("directml", "5.1", b=t("int8", 2, 3)),
            DTypeError,
            (
                "ELEMENT_WISE_SUBTRACT-5.1 takes two operands of one element type; A is FLOAT32 and B is INT8; "
                f"convert one of them first, at {PLACE}"
            ),
        ),
    ],
    4: [
        (
            lambda: check(a=t("uint8", 2), b=t("uint8", 2)),
            DTypeError,
            (
                "Sub-7 takes no element type tensor(uint8) (it came with opset 14); expected tensor(float16), "
                "tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or tensor(uint64), "
                f"at {PLACE}"
            ),
        ),
        (
            lambda: check(version=1, a=t("float8_e5m2", 2), b=t("float8_e5m2", 2)),
            DTypeError,
            (
                "Sub-1 takes no element type tensor(float8e5m2); expected tensor(float16), tensor(float) or "
                f"tensor(double), at {PLACE}"
            ),
        ),
        (
            lambda: check("directml", "2.1", t("int64", 1, 1, 1, 1), t("int64", 1, 1, 1, 1)),
            DTypeError,
            (
                "ELEMENT_WISE_SUBTRACT-2.1 takes no element type INT64 (it came with feature level 4.1); "
                f"expected FLOAT16, FLOAT32, INT32 or UINT32, at {PLACE}"
            ),
        ),
    ],
    5: [
        (
            lambda: check("directml", "1.0", F, FOUR),
            ShapeError,
            f"ATensor of ELEMENT_WISE_SUBTRACT-1.0 has rank 2; expected 4, at {PLACE}",
        ),
        (
            lambda: check("directml", "3.0", FOUR, t("float32", *[1] * 9)),
            ShapeError,
            f"BTensor of ELEMENT_WISE_SUBTRACT-3.0 has rank 9; expected 1 to 8, at {PLACE}",
        ),
        (
            lambda: check("directml", "3.0", t("float32"), FOUR),
            ShapeError,
            f"ATensor of ELEMENT_WISE_SUBTRACT-3.0 has rank 0; expected 1 to 8, at {PLACE}",
        ),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [case for cases in RULES.values() for case in cases],
    ids=lambda p: "" if callable(p) else str(p)[:60],
)
def test_a_rule_that_is_broken_is_told_in_full_with_the_node_s_place(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == message
    assert caught.value.where == PLACE
    assert caught.value.message == message.removesuffix(f", at {PLACE}")


def test_every_numbered_rule_of_the_module_is_broken_above():
    numbered = re.findall(r"^ *# (\d+)\. ", Path(module.__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in numbered] == list(RULES)


def test_shapes_that_do_not_join_are_told_with_the_place_too():
    with pytest.raises(ShapeError) as caught:
        check(b=t("float32", 4, 3))
    assert str(caught.value) == (
        "shapes (2, 3) and (4, 3) do not broadcast: axis 0 of the result has 2 and 4; "
        f"they must be equal, or one of them 1, at {PLACE}"
    )


def test_a_plain_call_has_no_place():
    with pytest.raises(SpecError) as caught:
        check(where="", axis=1)
    assert str(caught.value) == "Sub-7 takes no attribute 'axis' (removed in version 7); it takes none"
    assert (caught.value.where, caught.value.rule) == ("", "attributes")


def test_a_place_grows_from_the_inside_out():
    error = SpecError("types", "wrong", where="node[0] 'x'").at("functions[1]").at("")
    assert (error.where, str(error)) == ("functions[1].node[0] 'x'", "wrong, at functions[1].node[0] 'x'")


def test_rules_are_checked_in_their_order():
    a, b = t("uint8", 2, 3), t("int8", 4)
    for attributes, rule in (({"axis": 0}, "attributes"), ({}, "types")):
        with pytest.raises(SpecError) as caught:
            check(a=a, b=b, **attributes)
        assert caught.value.rule == rule
    with pytest.raises(SpecError) as caught:
        check("directml", "1.0", t("float32", 2), t("float32", 3))
    assert caught.value.rule == "ranks"


def test_an_optional_attribute_without_default_may_be_stated_as_none():
    assert check(version=6, axis=None).shape == (2, 3)
    assert check(version=1, consumed_inputs=None).shape == (2, 3)


def test_an_attribute_that_came_later_says_so(monkeypatch):
    home = dialect("onnx")
    newer = home.versions()[-1].evolve(99, attributes=Rows([Attr("flag", "INT", 0)]))
    monkeypatch.setattr(module, "dialect", lambda _: dataclasses.replace(home, rows=(*home.rows, newer)))
    with pytest.raises(SpecError) as caught:
        validate(Node(op=home.versions()[0], operands=(F, F), attributes={"flag": 1}))
    assert str(caught.value) == (
        "Sub-1 takes no attribute 'flag' (it came in version 99); it takes axis, broadcast and consumed_inputs"
    )


def test_what_validation_answers_is_how_the_shapes_join():
    joined = check(version=6, b=t("float32", 2), axis=0, broadcast=1)
    assert (joined.shape, joined.a_start, joined.b_start) == ((2, 3), 0, 0)
    joined = check(a=t("float32", "N", 1), b=t("float32", 4))
    assert (joined.shape, joined.b_start, joined.assumptions) == (("N", 4), 1, ())


def test_infer_takes_types_and_attributes_by_the_standard_s_names():
    assert infer("openvino", 1, F, t("float32", 2), auto_broadcast="PDPD", axis=0).shape == (2, 3)
    assert repr(infer("onnx", 14, F, t("float32", "N", 1))) == "TensorType(float32 (2, 3))"
    assert infer("directml", "4.1", FOUR, FOUR) == FOUR
    assert mn.infer is infer
    with pytest.raises(SpecError) as caught:
        infer("onnx", 7, F, F, axis=0)
    assert str(caught.value) == "Sub-7 takes no attribute 'axis' (removed in version 7); it takes none"


def test_inference_tells_the_place_of_a_node():
    with pytest.raises(DTypeError) as caught:
        infer_node(Node(op=dialect("onnx").resolve(1), operands=(t("int32"), t("int32")), where="graph.node[0]"))
    assert str(caught.value) == (
        "Sub-1 takes no element type tensor(int32) (it came with opset 6); "
        "expected tensor(float16), tensor(float) or tensor(double), at graph.node[0]"
    )


# ---- the types that come in -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        ("tensor(float)", (2, "N", None, (1, 4), (2, None)), "float32 (2, N, ?, 1..4, 2..)"),
        ("u4", [3], "uint4 (3,)"),
        ("DML_TENSOR_DATA_TYPE_INT8", (), "int8 ()"),
        ("float64", None, "float64 (...)"),
    ],
)
def test_a_tensor_type_takes_any_spelling_and_any_dims(dtype, shape, text):
    made = TensorType(dtype, shape)
    assert str(made) == text
    assert made.rank == (None if shape is None else len(shape))
    assert made.assumptions == ()


@pytest.mark.parametrize("shape", ["NCHW", 3], ids=repr)
def test_what_is_no_shape_is_refused(shape):
    with pytest.raises(ShapeError) as caught:
        TensorType("float32", shape)
    assert str(caught.value) == f"{shape!r} is no shape; expected a tuple of dims, or None"


def test_an_attribute_that_a_node_leaves_out_has_the_version_s_default():
    node = Node(op=dialect("onnx").resolve(6), operands=(F, F), attributes={"axis": 1})
    assert (node.attribute("axis"), node.attribute("broadcast")) == (1, 0)
    with pytest.raises(KeyError):
        node.attribute("consumed_inputs")


def test_a_version_above_the_newest_known_is_the_newest_and_inference_notes_it() -> None:
    a, b = TensorType("float32", ("N",)), TensorType("float32", (3,))
    found, known = infer("onnx", 100, a, b), infer("onnx", 28, a, b)
    assert (found.dtype, found.shape) == (known.dtype, known.shape)
    assert found.assumptions == (
        *known.assumptions,
        "opset 100 of ONNX is not known; the newest known is 28; Sub-14 is the newest of those that are",
    )
