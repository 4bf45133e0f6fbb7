"""Vectors: folders that ONNX's own runner reads and this package's backend passes."""

from __future__ import annotations

import os
import unittest
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.onnx.vectors import vectors, write
from minuend.operators import SUBTRACT
from minuend.operators.value_classes import classes as value_classes

onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "tests"
    write(str(folder), [1, 6, 7, 13, 14])
    return folder


def test_they_cover_every_type_class_and_relation_of_every_version() -> None:
    from minuend import spec
    from minuend.runtimes import cases

    names = {vector.name for vector in vectors()}
    for opset in (1, 6, 7, 13, 14):
        op = spec("onnx", opset)
        for dtype in op.types:
            head = f"test_sub_opset_{opset}_{dtype}_"
            wanted = [row.name for row in value_classes(SUBTRACT, TYPES[dtype])]
            wanted += [name for name in cases.relations(op) if name != "same"]
            for what in wanted:
                assert head + what.replace(" ", "_").replace("-", "_") in names


def test_they_hold_the_pairs_that_onnxs_tests_leave_out() -> None:
    by_name = {vector.name: vector for vector in vectors([14])}
    lowest = by_name["test_sub_opset_14_int8_wraps"]
    assert (100, 0x9C) in set(zip(lowest.a.tolist(), lowest.b.tolist(), strict=True))
    fits = by_name["test_sub_opset_14_int8_lowest_subtrahend"]
    assert (0x80, 0x80, 0) in set(zip(fits.a.tolist(), fits.b.tolist(), fits.expected.tolist(), strict=True))
    assert by_name["test_sub_opset_14_float32_zero_size"].expected.shape == (0, 3)
    assert by_name["test_sub_opset_14_float32_rank_0"].expected.shape == ()


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_they_hold_the_ends_of_an_integer_type_in_each_place(name: str) -> None:
    dtype = np.dtype(name)
    own = [one for one in vectors([14]) if one.element.name == name and one.a.shape == one.b.shape]
    held = [tuple(np.frombuffer(codes.tobytes(), dtype) for codes in (one.a, one.b, one.expected)) for one in own]
    ends = np.iinfo(dtype).min, np.iinfo(dtype).max
    for x in ends:
        for y in ends:
            found = [c[(a == x) & (b == y)] for a, b, c in held if a.size]
            difference = np.array([x], dtype) - np.array([y], dtype)
            assert set(np.concatenate(found).tolist()) == set(difference.tolist())


def test_an_opset_between_two_versions_has_the_older_ones_tests() -> None:
    (first, *_) = vectors([10])
    assert first.opset == 10
    assert first.name == "test_sub_opset_10_float16_nan"


@pytest.mark.parametrize("opset", range(1, 7))
def test_opsets_that_onnxs_table_of_ir_versions_leaves_out_have_models(tmp_path: Path, opset: int) -> None:
    write(str(tmp_path / "vectors"), [opset])
    model = onnx.load(next((tmp_path / "vectors").rglob("model.onnx")))
    assert (model.ir_version, model.opset_import[0].version) == (3, opset)


def test_onnxs_checker_takes_every_model(written: Path) -> None:
    for folder in sorted((written / "sub").iterdir()):
        onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check="axis" not in folder.name)


def test_the_model_imports_the_opset_that_its_name_says(written: Path) -> None:
    model = onnx.load(written / "sub" / "test_sub_opset_6_int32_legacy_axis" / "model.onnx")
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 6)]
    (node,) = model.graph.node
    assert {attribute.name: attribute.i for attribute in node.attribute} == {"axis": 0, "broadcast": 1}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ONNX makes its own tests as it loads, with overflowing casts
def test_onnxs_own_runner_passes_them_all_with_our_backend(written: Path) -> None:
    from onnx.backend.test.loader import load_model_tests
    from onnx.backend.test.runner import Runner

    from minuend.onnx.backend import Backend

    tests = load_model_tests(str(written), kind="sub")
    assert len(tests) == len(os.listdir(written / "sub"))

    class Ours(Runner):
        def __init__(self) -> None:  # the runner collects ONNX's own tests; ours stand in their place
            self.backend, self._parent_module = Backend, None
            self._include_patterns = set()
            self._exclude_patterns = set()
            self._xfail_patterns = set()
            self._test_kwargs = {}
            self._test_items = defaultdict(dict)
            for test in tests:
                self._add_model_test(test, "Sub")

    suite = unittest.TestSuite()
    with np.errstate(all="ignore"):
        for case in Ours().test_cases.values():
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
        result = unittest.TestResult()
        suite.run(result)
    assert [str(test) for test, _ in (*result.failures, *result.errors)] == []
    assert result.testsRun - len(result.skipped) == len(tests)


def test_answers_are_compared_bit_by_bit(written: Path) -> None:
    from onnx import numpy_helper

    from minuend.onnx.backend import Backend

    for folder in sorted((written / "sub").glob("test_sub_opset_*_float*")):
        data = folder / "test_data_set_0"
        a, b, expected = (
            numpy_helper.to_array(onnx.load_tensor(data / name)) for name in ("input_0.pb", "input_1.pb", "output_0.pb")
        )
        (got,) = Backend.prepare(onnx.load(folder / "model.onnx")).run([a, b])
        nan = np.isnan(got) & np.isnan(expected)
        bits = f"u{got.itemsize}"
        assert ((got.view(bits) == np.ascontiguousarray(expected).view(bits)) | nan).all()


def test_a_folder_that_exists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        write(str(tmp_path))
    assert str(caught.value) == f"{tmp_path} exists; name a folder that does not"


def test_nothing_is_left_of_a_folder_that_was_interrupted(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(str(tmp_path / "tests"), [14], progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    goal = tmp_path / "tests"
    assert cli.main(["vectors", "--opset", "6,14", "-o", str(goal)]) == 0
    told = capsys.readouterr().out
    assert f"{len(os.listdir(goal / 'sub'))} test cases written to" in told
    assert cli.main(["vectors", "--opset", "six", "-o", str(tmp_path / "other")]) == 2
    assert "'six'; expected opsets with commas between them, as 6,14" in capsys.readouterr().err
