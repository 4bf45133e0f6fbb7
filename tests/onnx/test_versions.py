"""The rows of ``minuend.onnx.versions`` against the registry of the installed ``onnx``."""

from __future__ import annotations

import onnx
import onnx.defs
import pytest
from onnx.defs import OpSchema

from minuend.core import elements
from minuend.onnx.versions import DIALECT
from minuend.standards import spelling

OPSETS = range(1, onnx.defs.onnx_opset_version() + 1)
VERSIONS = DIALECT.rows
by_version = pytest.mark.parametrize("row", VERSIONS, ids=str)


def schema_of(row) -> OpSchema:
    return onnx.defs.get_schema(row.operator, row.version, "")


LADDERS = {"Sub": [1, 6, 7, 13, 14], "Add": [1, 6, 7, 13, 14], "Neg": [1, 6, 13]}


@pytest.mark.parametrize("name", LADDERS)
def test_the_rows_are_all_versions_that_onnx_has(name):
    registered = [s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == name]
    assert sorted(registered) == [row.version for row in DIALECT.versions(name)] == LADDERS[name]


@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("opset", OPSETS)
def test_an_opset_means_the_version_that_onnx_looks_up(opset, name):
    assert DIALECT.resolve(opset, name).version == onnx.defs.get_schema(name, opset, "").since_version


@by_version
def test_element_types_are_those_of_the_constraint(row):
    (constraint,) = schema_of(row).type_constraints
    assert constraint.type_param_str == row.facts["type constraint"]
    assert sorted(DIALECT.spell(name) for name in row.types) == sorted(constraint.allowed_type_strs)
    # ONNX says this of Sub-1 as "float tensors"; the adjectives after that are ONNX's own
    assert constraint.description.endswith(
        {"floating-point tensors": "float tensors."}.get(row.facts["constrained to"], row.facts["constrained to"] + ".")
    )


@by_version
def test_attributes_have_onnx_names_types_and_defaults(row):
    registered = schema_of(row).attributes
    assert set(registered) == set(row.attributes.names)
    for attr in row.attributes:
        known = registered[attr.name]
        assert known.type.name == attr.type
        assert known.required is attr.required is False
        has_default = known.default_value.type != onnx.AttributeProto.UNDEFINED
        assert attr.default == (onnx.helper.get_attribute_value(known.default_value) if has_default else None)


@by_version
def test_inputs_and_outputs_are_single_required_and_of_one_type(row):
    schema = schema_of(row)
    for params, registered in ((row.inputs, schema.inputs), (row.outputs, schema.outputs)):
        assert [(p.name, p.type) for p in params] == [(r.name, r.type_str) for r in registered]
        for r in registered:
            assert r.option == OpSchema.FormalParameterOption.Single
            assert r.is_homogeneous
            assert r.min_arity == 1
            differentiable = r.differentiation_category == OpSchema.DifferentiationCategory.Differentiable
            assert differentiable is row.facts["differentiable"]
    assert (schema.min_input, schema.max_input, schema.min_output, schema.max_output) == (
        row.computes.arity,
        row.computes.arity,
        1,
        1,
    )


@by_version
def test_the_other_facts_are_those_of_the_registry(row):
    schema = schema_of(row)
    facts = row.facts
    assert facts["name"] == row.operator == schema.name
    assert (facts["domain"], schema.domain) == ("main", "")
    assert facts["since_version"] == row.version == schema.since_version
    assert facts["function"] is (schema.has_function or schema.has_context_dependent_function) is False
    assert facts["support_level"] == schema.support_level.name
    assert facts["shape inference"] is schema.has_type_and_shape_inference_function
    assert facts["data propagation"] is schema.has_data_propagation_function
    assert schema.deprecated is False


@by_version
def test_what_inference_answers_is_stated_in_step_with_the_registry(row):
    assert (row.inference == "element type only") is not schema_of(row).has_type_and_shape_inference_function
    assert (row.broadcasting == "onnx_legacy") is ("broadcast" in schema_of(row).attributes)


def test_spellings_are_onnx_own_and_name_one_type_each():
    for name, (text, proto) in DIALECT.spellings.items():
        code = onnx.TensorProto.DataType.Value(proto)
        assert onnx.helper.tensor_dtype_to_np_dtype(code) == elements.TYPES[name].numpy
        declared = onnx.parser.parse_graph(f"agraph ({text.removeprefix('tensor(').removesuffix(')')}[1] x) => () {{}}")
        assert declared.input[0].type.tensor_type.elem_type == code


def test_every_onnx_type_is_spelled_or_refused_with_a_reason_or_unknown_to_subtraction():
    spelled = {proto for _, proto in DIALECT.spellings.values()}
    rest = set(onnx.TensorProto.DataType.keys()) - spelled - set(DIALECT.refused)
    assert rest <= {"UNDEFINED", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT6E2M3", "FLOAT6E3M2"}
    for name in DIALECT.refused:
        with pytest.raises(TypeError) as caught:
            spelling.find(name)
        assert str(caught.value).startswith(f"element type {name!r}: {DIALECT.refused[name]}; expected float16, ")


@pytest.mark.parametrize("version", [0, -1, True, 13.0, "", "thirteen", None.__class__, "-3"], ids=repr)
def test_what_is_no_opset_is_refused(version):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        DIALECT.resolve(version)
    assert str(caught.value) == (
        f"ONNX has no opset {version!r} with Sub; expected 1 or above (versions: 1, 6, 7, 13 and 14)"
    )


def test_none_is_the_newest_and_an_opset_may_be_text_or_above_the_newest():
    assert DIALECT.resolve(None).version == DIALECT.resolve(9999).version == DIALECT.resolve("14").version == 14
