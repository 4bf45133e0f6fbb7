"""Across modules: the laws that every dialect obeys, for each one in the package's folder."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import minuend as mn
from minuend.arrays.functions import compute
from minuend.core import elements
from minuend.errors import DTypeError, SpecError, listed
from minuend.models import opening
from minuend.operators import SUBTRACT
from minuend.runtimes.answers import Answer
from minuend.runtimes.cases import CONSTANTS, RELATIONS
from minuend.runtimes.reasons import DialectNotRead
from minuend.runtimes.table import nodes
from minuend.runtimes.targets import Target
from minuend.runtimes.witness import Witness
from minuend.standards import dialects as dialects_module
from minuend.standards import spelling as spellings_module
from minuend.standards.abilities import Ability
from minuend.standards.dialects import Dialect, dialects
from minuend.standards.node import Node, TensorType
from minuend.standards.spelling import find
from minuend.standards.validation import infer_node, validate
from minuend.standards.version import OpVersion

DIALECTS = dialects()
every_dialect = pytest.mark.parametrize("name", DIALECTS)
every_version = pytest.mark.parametrize(
    "row",
    [row for home in DIALECTS.values() for row in home.versions()],
    ids=lambda row: f"{row.dialect}:{row.version}",
)


def test_the_three_standards_are_found():
    assert {"onnx", "openvino", "directml"} <= set(DIALECTS)


# ---- one shape ------------------------------------------------------------------------------------------------


@every_dialect
def test_a_dialect_is_a_folder_with_versions_and_an_operator(name):
    package = importlib.import_module(f"minuend.{name}")
    versions = importlib.import_module(f"minuend.{name}.versions")
    operator = importlib.import_module(f"minuend.{name}.operator")
    assert isinstance(versions.DIALECT, Dialect)
    assert versions.DIALECT.name == name
    for part in ("broadcast", "number", "SPELLINGS"):
        assert hasattr(versions, part)
    for module in (package, versions, operator):
        assert module.__doc__
    assert package.__all__ == sorted(package.__all__)
    own = [n for n in package.__all__ if getattr(getattr(package, n), "__module__", "") == operator.__name__]
    assert len(own) == 1, "one public function in operator.py"
    assert getattr(package, own[0]).__doc__
    assert getattr(mn, name) is package


@every_version
def test_a_row_names_its_dialect_and_is_complete(row):
    home = DIALECTS[row.dialect]
    assert row in home.versions()
    assert row.operator == home.versions()[0].operator
    assert row.types
    assert len(row.inputs) == 2
    assert len(row.outputs) == 1
    assert row.broadcasting
    assert row.facts["name"]
    for param in (*row.inputs, *row.outputs):
        assert param.name
        assert param.type
        assert param.doc
    for attribute in row.attributes:
        assert attribute.doc
        assert not attribute.values or attribute.default in attribute.values


@every_dialect
def test_rows_and_tables_are_frozen(name):
    home = DIALECTS[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        home.name = "other"
    for row in home.versions():
        with pytest.raises(dataclasses.FrozenInstanceError):
            row.types = ()
        assert all(
            type(getattr(row, part)) is not list for part in ("types", "attributes", "inputs", "outputs", "notes")
        )
    for table in (home.spellings, home.refused, home.versions()[0].facts):
        with pytest.raises(TypeError):
            table["x"] = "y"


# ---- versions -------------------------------------------------------------------------------------------------


@every_dialect
def test_versions_ascend_and_each_is_found_by_its_own_number(name):
    home = DIALECTS[name]
    numbers = [home.number(row.version) for row in home.versions()]
    assert numbers == sorted(set(numbers))
    for row in home.versions():
        assert home.resolve(row.version) is row
        assert home.resolve(str(row.version)) is row
        assert mn.spec(name, row.version) is row
    assert home.resolve() is home.resolve(None) is home.versions()[-1]


@every_dialect
@pytest.mark.parametrize("version", ["", "nonsense", -1, 0, True, [], 1j], ids=repr)
def test_what_is_no_version_is_refused_in_the_same_words(name, version):
    home = DIALECTS[name]
    with pytest.raises(SpecError) as caught:
        home.resolve(version)
    # what follows is the dialect's own, and asserted in full in its own tests
    assert str(caught.value).startswith(f"{home.title} has no {home.counted} {version!r}")
    assert f"; expected {home.versions()[0].version}" in str(caught.value)
    assert caught.value.rule == "version"


@every_dialect
def test_a_later_version_takes_every_type_of_an_earlier_one(name):
    versions = DIALECTS[name].versions()
    for old, new in itertools.pairwise(versions):
        assert set(old.types) <= set(new.types)


# ---- element types --------------------------------------------------------------------------------------------


@every_version
def test_types_are_of_the_one_table_in_its_order_and_spelled_by_the_dialect(row):
    assert list(row.types) == [name for name in elements.TYPES if name in row.types]
    for name in row.types:
        spelled = DIALECTS[row.dialect].spell(name)
        assert spelled == DIALECTS[row.dialect].spellings[name][0]
        assert find(spelled).name == name


@every_dialect
def test_every_spelling_is_found_and_means_its_type(name):
    for own, spellings in DIALECTS[name].spellings.items():
        assert spellings
        for spelling in spellings:
            assert find(spelling) is elements.TYPES[own]
            assert TensorType(spelling).dtype == own


def test_no_spelling_means_two_types_nor_another_type_s_name_nor_a_refused_one():
    meant: dict[str, str] = {name: name for name in elements.TYPES}
    for home in DIALECTS.values():
        for own, spellings in home.spellings.items():
            for spelling in spellings:
                assert meant.setdefault(spelling, own) == own, spelling
    assert not set(meant) & {spelling for home in DIALECTS.values() for spelling in home.refused}


@every_dialect
def test_a_refused_type_is_refused_with_the_dialect_s_reason(name):
    for spelling, reason in DIALECTS[name].refused.items():
        with pytest.raises(DTypeError) as caught:
            find(spelling)
        told = {home.refused[spelling] for home in DIALECTS.values() if spelling in home.refused}
        assert reason in told
        assert str(caught.value) in {f"element type {spelling!r}: {r}; expected {listed(elements.TYPES)}" for r in told}


# ---- one operator ---------------------------------------------------------------------------------------------

SHAPE = (2, 1, 3, 2)
"""Of a rank that every version takes."""


def node(row: OpVersion, dtype: str, shape=SHAPE) -> Node:
    return Node(op=row, operands=(TensorType(dtype, shape), TensorType(dtype, shape)))


@every_version
def test_equal_shapes_join_into_that_shape(row):
    for dtype in row.types:
        joined = validate(node(row, dtype))
        assert (joined.shape, joined.a_start, joined.b_start, joined.assumptions) == (SHAPE, 0, 0, ())
        inferred = infer_node(node(row, dtype))
        assert inferred.dtype == dtype
        assert inferred.shape == (None if row.inference == "element type only" else SHAPE)


@every_version
def test_a_type_outside_the_row_is_refused_under_the_dialect_s_name(row):
    home = DIALECTS[row.dialect]
    for dtype in elements.TYPES:
        if dtype not in row.types:
            with pytest.raises(DTypeError) as caught:
                validate(node(row, dtype))
            later = [v.version for v in home.versions() if dtype in v.types]
            came = f" (it came with {home.counted} {later[0]})" if later else ""
            assert str(caught.value) == (
                f"{row} takes no element type {home.spell(dtype)}{came}; expected {listed(map(home.spell, row.types))}"
            )


@pytest.mark.parametrize("dtype", [name for name, t in elements.TYPES.items() if t.kernel != "table"])
def test_the_difference_of_equal_shapes_is_the_same_in_every_dialect(dtype):
    element = elements.TYPES[dtype]
    bits = np.random.default_rng(7).integers(0, 256, (2, 12 * element.itemsize), np.uint8)
    a, b = (row.view(element.memory).reshape(SHAPE) for row in bits)
    expected = mn.subtract(a, b)
    results = {
        row.dialect: compute(row.computes, element, validate(node(row, dtype)), a, b, None)
        for home in DIALECTS.values()
        for row in home.versions()
        if dtype in row.types
    }
    results["onnx.sub"] = mn.onnx.sub(a, b)
    results["openvino.subtract"] = mn.openvino.subtract(a, b)
    if dtype in DIALECTS["directml"].versions()[-1].types:
        desc = mn.directml.TensorDesc(dtype, SHAPE)
        output = np.zeros_like(a)
        mn.directml.element_wise_subtract(desc, desc, desc, a, b, output)
        results["directml.element_wise_subtract"] = output
    for told, result in results.items():
        assert result.dtype == expected.dtype
        assert result.tobytes() == expected.tobytes(), told
    assert len(results) >= 4


# ---- a fourth dialect -----------------------------------------------------------------------------------------

FOURTH = Path(__file__).parent / "data" / "fourth"


@pytest.fixture
def fourth(tmp_path, monkeypatch):
    shutil.copytree(FOURTH, tmp_path / "fourth")
    monkeypatch.setattr(mn, "__path__", [*mn.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    forget()
    yield
    for name in [name for name in sys.modules if name.startswith("minuend.fourth")]:
        del sys.modules[name]
    vars(mn).pop("fourth", None)
    forget()


def forget():
    dialects_module.dialects.cache_clear()
    opening.formats.cache_clear()
    spellings_module._spellings.cache_clear()


@pytest.mark.usefixtures("fourth")
def test_a_fourth_dialect_is_a_folder_and_touches_no_shared_file():
    assert set(dialects_module.dialects()) == {*DIALECTS, "fourth"}
    assert find("REAL").name == "float32"
    assert str(mn.spec("fourth")) == "MINUS-2"
    assert [str(change) for change in mn.diff("fourth", 1, 2)] == ["types: +int8", "attributes: -axis"]
    answer = mn.infer("fourth", 2, TensorType("TINY", ("N", 1)), TensorType("int8", (3,)))
    assert (answer.dtype, answer.shape) == ("int8", ("N", 3))


@pytest.mark.usefixtures("fourth")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mn.infer("fourth", 1, TensorType("TINY", (3,)), TensorType("TINY", (3,))),
         "MINUS-1 takes no element type TINY (it came with edition 2); expected REAL"),
        (lambda: mn.infer("fourth", 2, TensorType("REAL", (3,)), TensorType("REAL", (3,)), axis=0),
         "MINUS-2 takes no attribute 'axis' (removed in version 2); it takes none"),
        (lambda: mn.infer("fourth", 1, TensorType("REAL", ()), TensorType("REAL", (3,))),
         "x of MINUS-1 has rank 0; expected 1 to 2"),
        (lambda: mn.infer("fourth", 0, TensorType("REAL", ()), TensorType("REAL", (3,))),
         "Fourth has no edition 0 with MINUS; expected 1 or above (versions: 1 and 2)"),
        (lambda: find("FUZZY"), f"element type 'FUZZY': it has no differences; expected {listed(elements.TYPES)}"),
        (lambda: mn.spec("fifth"), "no dialect 'fifth'; expected directml, fourth, onnx or openvino"),
    ],
)  # fmt: skip
def test_the_shared_rules_speak_a_fourth_dialect(call, message):
    with pytest.raises(SpecError) as caught:
        call()
    assert str(caught.value) == message


SCRIPT = b"""FOURTH 2
INPUT x TINY 2 3
INPUT y TINY 3
MINUS z x y
OUTPUT z
"""

SATURATES = {"wraps": Answer("different-numbers", Witness(SUBTRACT, (-100, 100), -128, 56))}


def clamper():
    rows = (("int8", SATURATES), ("int32", {}))
    table = nodes(*((["fourth:2"], [dtype], RELATIONS, CONSTANTS, answers) for dtype, answers in rows))
    return Target("clamper", "1", table)


@pytest.mark.usefixtures("fourth")
def test_a_fourth_dialect_s_models_are_opened_run_and_walked(tmp_path):
    path = tmp_path / "m.fourth"
    path.write_bytes(SCRIPT)
    x, y = np.arange(-3, 3, dtype=np.int8).reshape(2, 3) * 40, np.int8([100, 0, -100])
    for source in (SCRIPT, str(path)):
        assert mn.run(source, {"x": x, "y": y})["z"].tolist() == mn.subtract(x, y).tolist()
    (node,) = opening.open_model(path).subtractions()
    assert (str(node.op), node.where) == ("MINUS-2", "MINUS z")


@pytest.mark.usefixtures("fourth")
def test_every_dialect_s_models_have_all_that_the_rooms_ask_for():
    asked = [name for name in vars(opening.Model) if not name.startswith("_")]
    known = {"copies", "dialect", "handout", "output_names", "execute", "run", "sources", "save", "subtractions"}
    assert known == set(asked)
    homes = [home.name for home in opening.READING.homes()]
    assert {"onnx", "openvino", "directml", "fourth"} <= set(homes)
    for home in homes:
        model = importlib.import_module(f"minuend.{home}.model").Model
        assert [name for name in asked if not hasattr(model, name)] == [], home
    model = opening.open_model(SCRIPT)
    assert (model.handout, list(model.output_names())) == (model, ["z"])
    for goal in ("onnx:14", "openvino", "directml:5.1"):
        there = mn.convert(SCRIPT, goal)
        assert there.model is there.opened.handout
        assert len(there.opened.output_names()) == 1


@pytest.mark.usefixtures("fourth")
def test_a_fourth_dialect_is_checked_and_fixed():
    (found,) = mn.check(SCRIPT, clamper())
    assert (found.verdict, str(found.witness)) == ("different-numbers", "-100 - 100: got -128, expected 56")
    (elsewhere,) = mn.check(SCRIPT, "onnxruntime-cpu")
    assert elsewhere.verdict == "not-implemented"
    assert elsewhere.reasons == (DialectNotRead("onnxruntime-cpu", "Fourth", to="onnx"),)
    fixed = mn.fix(SCRIPT, clamper(), run=False)
    assert (fixed.refused, fixed.untouched) == ((), 0)
    assert fixed.model.recipes == {"z": "through int32, wrapped with BitwiseAnd"}
    assert fixed.changes == (
        (
            "MINUS z: MINUS-2 of int8 is computed through int32, wrapped with BitwiseAnd, because clamper@1 has other "
            "numbers for values that wrap: -100 - 100 gives -128, expected 56"
        ),
    )


@pytest.mark.usefixtures("fourth")
@pytest.mark.parametrize("through", ["onnx:14", "openvino", "directml:5.1"])
def test_a_fourth_dialect_is_converted_to_the_others_and_back(through):
    there = mn.convert(SCRIPT, through)
    back = mn.convert(there.opened, "fourth")
    x, y = np.int8([[1, 2, 3], [-100, 0, 100]]), np.int8([100, 0, -100])
    if through.startswith("directml"):  # sizes are equal there: B repeats by strides, which Fourth cannot say
        assert there.model is not None
        return
    (output,) = mn.run(back.opened, {"x": x, "y": y}).values()
    assert output.tolist() == mn.subtract(x, y).tolist()


@pytest.mark.usefixtures("fourth")
def test_a_fourth_dialect_moves_between_its_versions():
    older = SCRIPT.replace(b"FOURTH 2", b"FOURTH 1").replace(b"TINY", b"REAL")
    moved = mn.convert(older, "fourth:2")
    assert (moved.model.edition, moved.changes) == (2, ["edition 1 became 2"])


ABILITIES = {
    "versions": ("DIALECT",),
    "operator": (),
    "formats": ("SUFFIXES", "OBJECTS", "MODELS", "looks_like"),
    "model": ("read", "Model"),
    "occurrences": ("occurrences",),
    "lifting": ("to_graph",),
    "lowering": ("from_graph",),
    "versioning": ("convert",),
    "loading": ("newest_version", "fit", "refused"),
    "fixing": ("work",),
    "probing": ("FORM", "case_model", "counts", "declared", "nbytes", "model_bytes"),
    "declared": ("targets",),
    "tensor_files": ("SUFFIXES", "NAMED", "open_file", "check", "write"),
    "constant_files": ("SUFFIXES", "NAMED", "open_file"),
    "vectors": ("write",),
}
"""The file of each ability, and the names that it holds."""


@every_dialect
def test_an_ability_s_file_holds_the_names_that_rooms_ask_for(name):
    for file, names in ABILITIES.items():
        module = Ability(file).of(dialects_module.dialect(name))
        if module is not None:
            assert [n for n in names if not hasattr(module, n)] == [], f"{name}/{file}.py"


def test_the_fourth_dialect_is_gone_again():
    assert set(dialects_module.dialects()) == set(DIALECTS)
