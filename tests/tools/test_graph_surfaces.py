"""What the surfaces of graphs draw: every version of every operator in ONNX's registry, or a reason why not."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime")

import conversion_refused
from differential import (
    conversion,
    dxdispatch,
    ir_models,
    node_models,
    onnx_worker,
    output_types,
    results,
    running,
    valid_nodes,
)
from differential.comparable import fault, stashed
from differential.conversion import Case
from differential.node_drafts import CONTRIB, FORMS, qualified, split, undrawn

import minuend as mn

SCHEMAS = onnx.defs.get_all_schemas_with_history()
BODIES = {"If": "if", "Loop": "loop", "Scan": "scan", "SequenceMap": "map"}
"""Operators that have bodies, and the place of a case that is one."""


def drawn(case: Case) -> tuple[onnx.ModelProto, dict[str, Any]] | None:
    """The model of a case and its inputs; ``None`` where ONNX's check refuses it."""
    try:
        built = valid_nodes.build(case)
        model = output_types.typed(node_models.model_of(case, built), built.feeds)
    except output_types.INVALID:
        return None
    return None if fault(model) else (model, built.feeds)


def cases(op: str, opset: int = 0, version: int = 0, **more: Any) -> Iterator[Case]:
    for turn in range(40):
        fields = valid_nodes.draw(random.Random(f"{op} {turn}"), op, opset, version)
        yield Case(**fields, seed=turn, **more)


def test_every_version_in_the_registry_is_drawn_or_has_one_of_three_reasons() -> None:
    rows = {row[:2] for row in valid_nodes.versions()}
    without = {(qualified(one), one.since_version): undrawn(one) for one in SCHEMAS if undrawn(one)}
    assert rows | without.keys() == {(qualified(one), one.since_version) for one in SCHEMAS}
    assert not rows & without.keys()
    assert {op for (op, _), why in without.items() if why.startswith("has bodies")} == BODIES.keys()
    assert [op for (op, _), why in without.items() if why.startswith("a part of training")] == [
        "ai.onnx.preview.training.Gradient"
    ]
    deprecated = {(qualified(one), one.since_version) for one in SCHEMAS if one.deprecated}
    assert {key for key, why in without.items() if why.startswith("deprecated")} == deprecated
    assert len(set(without.values())) == 3


def test_the_table_of_what_is_refused_has_every_version_that_is_measured() -> None:
    """What is one version at all opsets goes nowhere, and has no row."""
    facts = json.loads(conversion_refused.FACTS.read_text("utf-8"))
    if facts["onnx"] != onnx.__version__:
        pytest.skip(f"measured with onnx {facts['onnx']}")
    last = onnx.defs.onnx_opset_version()
    wanted = {row[:2] for row in conversion_refused.measured() if row[1:] != (1, last)}
    assert {(row["operator"], row["version"]) for row in facts["rows"]} == wanted
    assert sum(len(names) for names in facts["without"].values()) + len(conversion_refused.measured()) == len(SCHEMAS)


def test_the_page_of_conversion_has_the_table_of_its_facts() -> None:
    page = conversion_refused.PAGE.read_text("utf-8")
    assert conversion_refused.written(page, json.loads(conversion_refused.FACTS.read_text("utf-8"))) == page


OTHERS = [row[:2] for row in valid_nodes.versions() if split(row[0])[0]]


@pytest.mark.parametrize(("op", "version"), OTHERS, ids=[f"{op}-{version}" for op, version in OTHERS])
def test_a_valid_node_of_each_version_of_the_other_domains_is_drawn(op: str, version: int) -> None:
    model = next(found[0] for case in cases(op, 21, version) if (found := drawn(case)) is not None)
    assert [(node.domain, node.op_type) for node in model.graph.node] == [split(op)]
    assert [(row.domain, row.version) for row in model.opset_import] == [("", 21), (split(op)[0], version)]


CONTRIBUTED = [name for name in FORMS if split(name)[0] == CONTRIB]


@pytest.mark.parametrize("op", CONTRIBUTED)
def test_a_node_of_each_of_onnxruntimes_own_operators_runs(op: str) -> None:
    found = (drawn(case) for case in cases(op, 21))
    model, feeds = next(one for one in found if one is not None and len(one[0].graph.node) == 1)
    assert onnx_worker.run(model.SerializeToString(), feeds)


BODY_VERSIONS = [(one.name, one.since_version) for one in SCHEMAS if one.name in BODIES]


@pytest.mark.parametrize(("op", "version"), BODY_VERSIONS, ids=[f"{op}-{version}" for op, version in BODY_VERSIONS])
@pytest.mark.parametrize("repeat", node_models.REPEATS)
def test_nodes_stand_in_the_body_of_each_version(op: str, version: int, repeat: str) -> None:
    fields = valid_nodes.draw(random.Random(1), "Neg", version)
    assert BODIES[op] in node_models.places(fields)
    found = drawn(Case(**fields, place=BODIES[op], repeat=repeat))
    assert found is not None
    assert op in [node.op_type for node in found[0].graph.node]


@pytest.mark.parametrize("op", ["Optional", "OptionalHasElement", "OptionalGetElement"])
def test_optionals_of_tensors_and_sequences_are_drawn(op: str) -> None:
    kinds = set()
    for case in cases(op, 16):
        found = drawn(case)
        assert found is not None
        nodes = found[0].graph.node
        kinds.add((nodes[0].op_type, nodes[-1].op_type))
    full = {("SequenceConstruct", "OptionalGetElement"), ("Identity", "OptionalGetElement")}
    assert kinds == (full if op == "OptionalGetElement" else full | {("Optional", "OptionalHasElement")})


def test_a_map_is_equal_to_itself_and_to_no_other() -> None:
    one = [{"a": np.float32(1), "b": np.float32(2)}]
    assert results.same(one, [{"a": np.float32(1), "b": np.float32(2)}])
    for other in ([{"a": np.float32(1)}], [{"a": np.float32(1), "b": np.float32(3)}], [np.float32(1)]):
        assert not results.same(one, other)


def outcome(tmp_path: Path, **fields: Any) -> str:
    return conversion.compare(Case(**fields), tmp_path)


ENDS = {"i": lambda t: (np.iinfo(t).min, np.iinfo(t).max), "u": lambda t: (0, np.iinfo(t).max)}


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_integers_at_the_ends_of_their_type_are_not_near_each_other(name: str, shape: tuple[int, ...]) -> None:
    lowest, highest = (np.full(shape, one, name) for one in ENDS[np.dtype(name).kind](name))
    for x, y in ((lowest, highest), (highest, lowest), (lowest, np.full(shape, 2, name))):
        assert not results.near(x, y)
    assert results.near(highest, np.full(shape, int(highest.flat[0]) - 1, name))
    assert results.near(lowest, np.full(shape, int(lowest.flat[0]) + 1, name))


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_results_are_near_in_both_parts_alone(name: str) -> None:
    assert not results.near(np.array([1 + 2j], name), np.array([1 + 5j], name))
    assert not results.near(np.array([1 + 2j], name), np.array([3 + 2j], name))
    assert results.near(np.array([1 + 2j], name), np.array([1 + 2.000001j], name))


@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_integers_that_fit_are_not_clamped(name: str) -> None:
    value = np.array([2**60], name)
    assert results.clamped(np.array([np.iinfo(name).max], name), np.array([5], name))
    assert results.clamped(value, np.array([2**60 + 100], name))
    assert not results.clamped(value, np.array([2**60 + 5000], name))
    assert results.clamped([value, value], [value, value])
    assert not results.clamped([value, value], [value])
    assert not results.clamped([value], [np.array([2**60 + 5000], name)])


def test_a_function_in_the_body_of_a_map_is_compared_as_a_loop(tmp_path: Path) -> None:
    """onnxruntime puts its nodes into the body in a wrong order, and then refuses the result."""
    grid = {"op": "AffineGrid", "opset": 28, "place": "map", "test": "test_affine_grid_3d"}
    assert outcome(tmp_path, **grid) == "within rounding, and a loss says so"
    built = valid_nodes.build(Case(**grid))
    made = mn.convert(output_types.typed(node_models.model_of(Case(**grid), built), built.feeds), "onnx:18").model
    with pytest.raises(onnx_worker.Failed, match="must be topologically sorted"):
        onnx_worker.run(made.SerializeToString(), built.feeds)


def test_a_model_that_crashes_onnx_ends_no_comparison(tmp_path: Path) -> None:
    """ONNX's inference of a Split with more outputs than num_outputs reads behind a list, and aborts."""
    fields = {"op": "Split", "opset": 24, "attributes": (("num_outputs", 1),), "test": "test_split_equal_parts_2d"}
    for linked in (False, True):
        case = Case(**fields, outputs=2, linked=linked, to=13)
        assert conversion.compare(case, tmp_path).startswith("not valid: ")
        assert running.compare(running.Case(**fields, outputs=2, linked=linked), tmp_path).startswith("not valid: ")


def test_floats_of_8_bits_do_not_hide_that_others_are_near(tmp_path: Path) -> None:
    """onnxruntime leaves the float16 in float32 up to the product; another output is of float8."""
    case = running.Case(
        op="com.microsoft.DequantizeLinear",
        opset=27,
        inputs=(("int8", (1,), "any"), ("float16", (), "positive"), ("int8", (), "few")),
        more=(
            ("Mul", (("", (), "@v0"), ("", (), "@v0")), (), 1),
            ("Identity", (("float8e4m3fn", (3,), "any"),), (), 1),
        ),
        seed=576,
    )
    assert running.compare(case, tmp_path) == (
        "within rounding, where onnxruntime leaves float16 in float32 from node to node"
    )


def test_what_is_drawn_does_not_depend_on_what_was_drawn_before() -> None:
    before = valid_nodes.bases("Cast")
    valid_nodes.bases.cache_clear()
    assert valid_nodes.bases("CastLike")
    assert [one.name for one in valid_nodes.bases("Cast")] == [one.name for one in before]


@pytest.mark.parametrize(("fields", "drawn"), [
    ({"attributes": (("to", 6), ("saturate", 2))}, True), ({"attributes": (("to", 6), ("saturate", 1))}, False),
    ({"attributes": (("to", 17), ("saturate", 2))}, False),
    ({"attributes": (("to", 6), ("saturate", 2)), "place": "attributes"}, True),
])  # fmt: skip
def test_what_onnxruntime_does_not_write_is_not_compared(tmp_path: Path, fields: dict[str, Any], drawn: bool) -> None:
    came = outcome(tmp_path, op="Cast", opset=21, to=20, **fields)
    assert (came == "converted, random") == drawn


@pytest.mark.parametrize(("opset", "place"), [(1, "if"), (1, "function"), (11, "if")])
def test_an_axis_below_0_is_not_drawn_where_the_version_excludes_it(tmp_path: Path, opset: int, place: str) -> None:
    came = outcome(tmp_path, op="Squeeze", opset=opset, place=place, test="test_squeeze_negative_axes")
    assert came == ("not valid: Squeeze takes no negative axis" if opset == 1 else "equal")


@pytest.mark.parametrize(("numbers", "expected"), [
    ("far", lambda x: x + np.float32(100)), ("large", lambda x: x * np.float32(30)),
    ("edge", lambda x: np.where([True, False] * 5, np.float32([np.nan, 0, np.inf, 0, -np.inf, 0, -0.0, 0, 0, 0]), x)),
])  # fmt: skip
def test_numbers_are_drawn_that_are_far_from_0_large_or_edges(numbers: str, expected: Any) -> None:
    inputs = (("float", (10,), "any"), ("float", (10,), "positive"), ("int32", (10,), "any"))
    plain, other = (valid_nodes.build(Case(op="Sum", inputs=inputs, numbers=how)).feeds for how in ("", numbers))
    first, *others = plain
    assert other[first].dtype == np.float32
    assert results.same(other[first], expected(plain[first]))
    assert all(results.same(plain[name], other[name]) for name in others)
    fields = [conversion.draw(random.Random(f"numbers {i}")).numbers for i in range(60)]
    assert {"", numbers} < set(fields)


def test_a_product_of_matrices_that_do_not_fit_is_not_compared(tmp_path: Path) -> None:
    """Below opset 11 inference does not compare them, and onnxruntime does not look where another kernel is missing."""
    other = ("ReduceLogSum", (("uint32", (2, 4, 2), "positive"),), (("axes", (1,)), ("keepdims", 0)), 1)
    fields = {"op": "Gemm", "opset": 8, "test": "test_gemm_transposeB", "more": (other,), "place": "function"}
    found = conversion.compare(Case(**fields, without=("transB",)), tmp_path)
    assert found == "not valid: Gemm multiplies (3, 6) and (4, 6)"
    assert not conversion.compare(Case(**fields), tmp_path).startswith("not valid")


def test_a_size_below_0_in_a_sequence_is_not_compared(tmp_path: Path) -> None:
    fields = {"op": "RoiAlign", "opset": 22, "test": "test_roialign_aligned_false", "place": "map"}
    assert conversion.compare(Case(**fields, attributes=(("output_width", -5),)), tmp_path) == (
        "not valid: inference gives a size below 0"
    )
    assert not conversion.compare(Case(**fields), tmp_path).startswith("not valid")


def test_an_attention_that_stays_is_no_difference_where_onnxruntime_lacks_its_kernel(
    tmp_path: Path,
) -> None:
    name = "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal"
    fields = {"op": "Attention", "opset": 24, "test": name, "to": 25}
    assert conversion.compare(Case(**fields, outputs=4), tmp_path).startswith("-inf where onnxruntime's Attention has ")
    assert (
        conversion.compare(Case(**fields, outputs=3), tmp_path) == "within rounding, by another kernel of onnxruntime"
    )


def test_a_type_that_the_registry_excludes_is_no_difference(tmp_path: Path) -> None:
    one = ("bfloat16", (2, 3, 4), "any")
    own = {"op": "com.microsoft.SkipSimplifiedLayerNormalization", "place": "if"}
    came = outcome(tmp_path, **own, inputs=(one, ("bfloat16", (1, 3, 4), "any"), ("bfloat16", (4,), "any")))
    assert came.startswith("refused as invalid, as ONNX's registry shows")


def test_a_double_is_near_by_float32_behind_a_stash_type_alone(tmp_path: Path) -> None:
    """onnxruntime's LayerNormalization takes double, ONNX's text float32; another node has to keep its digits."""
    one = ("LayerNormalization", (("double", (2, 2, 3), "any"), ("double", (3,), "any")), (("axis", -1),), 1)
    other = ("Exp", (("double", (4,), "any"),), (), 1)
    case = Case(op="Identity", opset=17, more=(one, other), numbers="far", to=15)
    built = valid_nodes.build(case)
    model = node_models.model_of(case, built)
    names = [value.name for value in model.graph.output]
    assert stashed(model) == {names[1]}
    x = np.array([100.0, 1.0, 0.01])
    assert results.near_as_float32(x, x + 2e-3)
    assert not results.near_as_float32(x, x + 5e-3)
    assert not results.near(x, x + 2e-3)
    assert results.near_as_float32(x.astype("f4"), np.float32(x + 2e-3))
    assert not results.near_as_float32(x.astype("f4"), x)
    assert conversion.compare(case, tmp_path).startswith("normalized in float32, the type of computation")
    whole = [np.zeros(2), x, x]
    assert conversion._within_stash(model, whole, [whole[0], x + 2e-3, x])
    assert not conversion._within_stash(model, whole, [whole[0], x, x + 2e-3])


def test_a_stash_type_in_a_function_or_a_body_counts() -> None:
    fields = {"op": "LayerNormalization", "opset": 17, "attributes": (("axis", -1),)}
    inputs = (("double", (2, 3), "any"), ("double", (3,), "any"))
    for place in ("graph", "function", "if", "loop"):
        case = Case(**fields, inputs=inputs, place=place)
        model = node_models.model_of(case, valid_nodes.build(case))
        assert {value.name for value in model.graph.output} <= stashed(model)


def test_an_attention_is_invalid_where_onnxs_evaluator_refuses_it_too(tmp_path: Path) -> None:
    fields = {"op": "Attention", "opset": 24, "test": "test_attention_3d_gqa_with_past_and_present", "dtype": "double"}
    assert conversion.compare(Case(**fields, drop=2), tmp_path).startswith("refused as invalid, as ONNX's evaluator")
    assert not conversion.compare(Case(**fields), tmp_path).startswith("refused")


def test_tensors_without_elements_are_drawn_and_compared(tmp_path: Path) -> None:
    sizes = {conversion.draw(random.Random(f"empty {i}")).empty for i in range(200)}
    assert sizes == {0, 1, 2, 3, 4}
    assert all(case.empty == 0 for case in cases("Add", 6))
    array = np.zeros((2, 3, 2))
    assert conversion.emptied(array, 2).shape == (0, 3, 0)
    assert conversion.emptied(array, 0) is conversion.emptied(array, 4) is array
    given = {"op": "Softmax", "opset": 11, "inputs": (("float", (2, 3, 4), "any"),), "empty": 4, "dims": "named"}
    assert conversion.compare(Case(**given), tmp_path) == "equal"
    product = (("uint8", (2, 3), "bytes"), ("uint8", (3, 4), "bytes"))
    found = conversion.compare(Case(op="MatMulInteger", inputs=product, empty=3, opset=24, to=12), tmp_path)
    assert found == "not valid: onnxruntime leaves the memory of a product over no elements as it is"


# ---- chains to OpenVINO IR and DxDispatch JSON ---------------------------------------------------------------------


@pytest.mark.parametrize("surface", [ir_models, dxdispatch])
def test_chains_are_valid_but_for_types_that_are_drawn_on_purpose(surface: Any) -> None:
    wrong: Counter[str] = Counter()
    for seed in range(1000):
        case = surface.draw(random.Random(seed))
        if case.steps and not any(step[0] == "other" for step in case.steps):
            why = ir_models.must_be_refused(case, ir_models.chain(case))
            wrong[ir_models.refused_rightly(case, why).partition(":")[0] if why else "valid"] += 1
    assert set(wrong) == {"valid", "refused as it has to be, a type that a version lacks"}
    assert wrong["valid"] > 0.9 * wrong.total()


def test_types_that_a_version_lacks_are_changed_and_others_stay() -> None:
    steps = [("sub", (2,), "input", 1), ("cast", "bfloat16"), ("reshape", (2, 1)), ("cast", "int8"), ("identity",)]
    dtype, made = ir_models.allowed_types(random.Random(1), 5, "double", steps)
    assert (dtype, made[0], made[2:]) == ("double", steps[0], steps[2:])
    assert made[1][0] == "cast"
    assert made[1][1] in (
        "float",
        "float16",
        "double",
        *(f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)),
    )
    assert ir_models.allowed_types(random.Random(1), 14, "uint8", steps[:1], ["float"]) == ("float", steps[:1])


@pytest.mark.parametrize("fields", [
    {"harm": 996119, "steps": (("sub", (), "constant", 0),)},
    {"harm": 255417, "named": True, "shape": (3, 4, 2)},
    {"harm": 49931, "shape": (3, 4), "steps": (("sub", (4, 3, 4), "input", 1), ("unsqueeze", (-3, -2)))},
    {"harm": 84266, "shape": (2, 3, 1),
     "steps": (("sub", (3, 2, 1, 1), "constant", 0), ("sub", (), "constant", 1), ("sub", (3, 2, 3, 1), "input", 0))},
    {"harm": 942117, "named": True, "shape": (3, 3),
     "steps": (("sub", (3, 3, 1), "constant", 0), ("reshape", (3, -1, 3)), ("reshape", (27,)), ("reshape", (-1,)))},
])  # fmt: skip
def test_reasons_of_an_ir_that_this_package_alone_refuses_are_known(tmp_path: Path, fields: dict[str, Any]) -> None:
    assert ir_models.compare(ir_models.Case(**fields), tmp_path) == "harmed: refused here alone, as stated"


def test_a_float16_that_onnxruntime_does_not_round_is_no_difference(tmp_path: Path) -> None:
    steps = (("sub", (4, 4), "constant", 1), ("reshape", (1, 16)), ("cast", "float16"), ("sub", (1, 16), "constant", 1))
    case = ir_models.Case(dtype="uint16", shape=(), steps=steps)
    assert ir_models.compare(case, tmp_path).startswith("as onnxruntime computes the original, ")


def test_a_dim_of_1_that_openvino_loses_is_no_difference() -> None:
    came = np.float32([[1, 2]])
    assert ir_models.with_lost_dims(came, (1, 1, 2)).shape == (1, 1, 2)
    for shape in ((1, 1, 3), (2,), (2, 2, 1)):
        assert ir_models.with_lost_dims(came, shape) is came


def test_a_result_without_a_logarithm_stays_beside_one_that_overflows() -> None:
    """Other outputs of such a model are floats, which have to be near."""
    assert results.overflowed(np.zeros((), "f4"), np.zeros((), "f4"))
    assert not results.overflowed(np.zeros((), "f4"), np.ones((), "f4"))
    assert results.overflowed(np.uint64([0, 7]), np.uint64([173591979590, 7]))
    assert not results.overflowed(np.uint64([1, 7]), np.uint64([173591979590, 7]))
