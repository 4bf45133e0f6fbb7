"""The row of Subtract-1, its element types and how versions are read."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.errors import DTypeError, SpecError, listed
from minuend.openvino import Tensor, subtract
from minuend.openvino.versions import DIALECT, OPSETS, SPELLINGS, SUBTRACT_1
from minuend.standards.dialects import dialect, dialects, spec
from minuend.standards.node import TensorType
from minuend.standards.spelling import find
from minuend.standards.validation import infer

ALL_TYPES = listed(TYPES)


def test_subtract_has_one_version() -> None:
    assert dialect("openvino") is DIALECT
    assert [str(version) for version in DIALECT.versions()] == ["Subtract-1"]
    assert spec("openvino") is SUBTRACT_1


@pytest.mark.parametrize("version", [None, 1, "1", "Subtract-1", "opset1", "opset8", "opset16"])
def test_a_version_is_the_operators_or_an_opset_that_holds_it(version: object) -> None:
    assert spec("openvino", version) is SUBTRACT_1


@pytest.mark.parametrize(
    "version", [0, 2, -1, True, "2", "opset0", "opset17", "opset", "Subtract-2", "Sub-1", 1.5, [1]]
)
def test_any_other_version_is_an_error(version: object) -> None:
    with pytest.raises(SpecError) as error:
        spec("openvino", version)
    assert str(error.value) == f"OpenVINO has no operator version {version!r} with Subtract; expected 1, the only one"


def test_the_row_states_what_the_page_states() -> None:
    assert dict(SUBTRACT_1.facts) == {
        "name": "Subtract",
        "versioned name": "Subtract-1",
        "category": "Arithmetic binary",
        "short description": "element-wise difference of two tensors that auto_broadcast may join",
        "formula": "o[i] = a[i] - b[i]",
        "type constraint": "T",
        "constrained to": "any numeric type",
        "opsets": "opset1 to opset16",
    }
    assert SUBTRACT_1.ranks == (0, None)
    assert SUBTRACT_1.inference == "broadcast shape"
    assert SUBTRACT_1.broadcasting == "none, numpy or pdpd, as auto_broadcast says"
    assert [(p.name, p.type) for p in SUBTRACT_1.inputs] == [("1", "T"), ("2", "T")]
    assert all("required" in p.doc for p in SUBTRACT_1.inputs)
    assert [(p.name, p.type) for p in SUBTRACT_1.outputs] == [("1", "T")]


def test_the_attributes_are_optional_and_have_defaults() -> None:
    rows = [(a.name, a.type, a.default, a.required, a.values) for a in SUBTRACT_1.attributes]
    assert rows == [
        ("auto_broadcast", "string", "numpy", False, ("none", "numpy", "pdpd")),
        ("axis", "int", -1, False, ()),
    ]
    assert "does not list it" in SUBTRACT_1.attributes["axis"].doc
    assert "auto_broadcast.auto_broadcast_axis" in SUBTRACT_1.attributes["axis"].doc


# ---- element types --------------------------------------------------------------------------------------------


def test_every_numeric_type_that_openvino_names_is_taken_and_no_other() -> None:
    assert set(TYPES) - set(SUBTRACT_1.types) == {"int2"}
    assert SUBTRACT_1.types == tuple(SPELLINGS)
    assert [name for name in TYPES if name in SPELLINGS] == list(SPELLINGS)


@pytest.mark.parametrize(("name", "spelling"), [(name, s) for name, all_ in SPELLINGS.items() for s in all_])
def test_every_spelling_is_found(name: str, spelling: str) -> None:
    assert find(spelling) is TYPES[name]
    assert infer("openvino", 1, TensorType(spelling, (2,)), TensorType(name, ())).dtype == name


def test_element_type_names_come_before_precisions() -> None:
    assert [DIALECT.spell(name) for name in ("float32", "bfloat16", "uint1", "nf4", "float8_e4m3fn", "int2")] == [
        "f32",
        "bf16",
        "u1",
        "nf4",
        "f8e4m3",
        "int2",
    ]
    assert SPELLINGS["uint1"] == ("u1", "U1", "BIN")
    assert SPELLINGS["float32"] == ("f32", "FP32")


def test_no_spelling_means_two_types_in_two_dialects() -> None:
    meanings: dict[str, set[str]] = {name: {name} for name in TYPES}
    refused = {name for one in dialects().values() for name in one.refused}
    for one in dialects().values():
        for name, spellings in one.spellings.items():
            for spelling in spellings:
                meanings.setdefault(spelling, set()).add(name)
    assert {spelling: names for spelling, names in meanings.items() if len(names) > 1} == {}
    assert refused & set(meanings) == set()


BITS = {"u3": "8 elements into 3 bytes", "u6": "4 elements into 3 bytes"}


@pytest.mark.parametrize("name", ["u3", "U3", "u6", "U6"])
@pytest.mark.parametrize(
    "ask",
    [
        find,
        lambda name: TensorType(name, (2,)),
        lambda name: Tensor(name, np.zeros(2, np.uint8)),
        lambda name: Tensor.unpack(name, (8,), bytes(3)),
        lambda name: Tensor.from_float(name, np.zeros(2)),
    ],
    ids=["find", "TensorType", "Tensor", "Tensor.unpack", "Tensor.from_float"],
)
def test_u3_and_u6_are_refused_with_the_reason(name: str, ask: Any) -> None:
    with pytest.raises(DTypeError) as error:
        ask(name)
    assert str(error.value) == (
        f"element type {name!r}: it packs {BITS[name.lower()]}; OpenVINO names it, no runtime subtracts it, "
        f"and this package does not compute it; convert to u8 first; expected {ALL_TYPES}"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("boolean", "Subtract takes numbers only; use LogicalXor or convert to u8 first"),
        ("dynamic", "the type is not known yet; state the one that the tensor will have"),
        ("undefined", "the type is not known yet; state the one that the tensor will have"),
        ("UNSPECIFIED", "the type is not known yet; state the one that the tensor will have"),
    ],
)
def test_what_is_no_number_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(DTypeError) as error:
        TensorType(name, ())
    assert str(error.value) == f"element type {name!r}: {reason}; expected {ALL_TYPES}"


def test_booleans_and_strings_are_refused_in_ir_spelling_too() -> None:
    for name in ("BOOL", "string", "STRING"):
        assert name in DIALECT.refused
        with pytest.raises(DTypeError):
            find(name)


def test_int2_is_not_openvinos() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    two = np.zeros(2, ml_dtypes.int2)
    with pytest.raises(DTypeError) as error:
        subtract(two, two)
    allowed = listed(spellings[0] for spellings in SPELLINGS.values())
    assert str(error.value) == f"Subtract-1 takes no element type int2; expected {allowed}"


# ---- a peer: the installed openvino ---------------------------------------------------------------------------


def test_openvino_has_these_types_with_these_widths() -> None:
    ov = pytest.importorskip("openvino")
    widths = {spellings[0]: TYPES[name].bits for name, spellings in SPELLINGS.items()}
    assert {name: getattr(ov.Type, name).bitwidth for name in widths} == widths


def test_openvino_has_subtract_in_these_opsets() -> None:
    pytest.importorskip("openvino")
    assert all(hasattr(importlib.import_module(f"openvino.opset{n}"), "subtract") for n in OPSETS)
