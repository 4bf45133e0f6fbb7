"""Occurrences that were found once are those of an equal model, and of that model alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from minuend.models.occurrences import Occurrence, known_of
from minuend.models.ranges.assumed import assumptions
from minuend.onnx import occurrences as module
from minuend.onnx.graphs import walk
from minuend.onnx.model import Model, read
from minuend.onnx.occurrences import occurrences

TEXT = (
    '<ir_version: 10, opset_import: ["" : 14]> g (float[N, 2] a) => (float[N, 2] d) '
    "<float[2] k = {1.0, 2.0}> { c = Relu(a)\n d = Sub(c, k) }"
)


@pytest.fixture(autouse=True)
def _none_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RECENT", module._Recent(2))


def analyses(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """Record for which models nodes are analysed."""
    done: list[Model] = []
    analysed = module._analysed
    monkeypatch.setattr(module, "_analysed", lambda model, *rest: (done.append(model), analysed(model, *rest))[1])
    return done


def copied(model: Model) -> Model:
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    return Model(proto, name=model.name, folder=model.folder)


def test_an_equal_model_is_not_analysed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done = analyses(monkeypatch)
    first, second = read(TEXT), copied(read(TEXT))
    (one,), (other,) = occurrences(first), occurrences(second)
    assert done == [first]
    assert (other.operands, other.matches, other.node, other.purpose) == (
        one.operands,
        one.matches,
        one.node,
        one.purpose,
    )
    assert other.live.proto is not one.live.proto  # type: ignore[attr-defined]
    assert other.live.scope.proto is second.proto.graph  # type: ignore[attr-defined]


def test_constants_are_those_of_the_own_model() -> None:
    first = read(TEXT)
    list(occurrences(first))
    (other,) = occurrences(copied(first))
    del first.proto.graph.initializer[:]
    assert np.array_equal(other.fixed()[1], np.float32([1, 2]))


def test_a_changed_model_is_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    done = analyses(monkeypatch)
    model = read(TEXT)
    assert [one.constants for one in occurrences(model)] == [(1,)]
    model.proto.graph.node[1].input[1] = "a"
    assert [one.constants for one in occurrences(model)] == [()]
    assert len(done) == 2


def test_types_of_an_equal_model_are_not_inferred_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = occurrences(read(TEXT))
    monkeypatch.setattr(walk, "infer_types", lambda _: pytest.fail("types are inferred again"))
    (other,) = occurrences(read(TEXT))
    assert other.live.types == one.live.types  # type: ignore[attr-defined]


def test_what_was_found_out_of_an_occurrence_is_that_of_equal_models_alone() -> None:
    calls: list[object] = []

    @known_of
    def counted(occurrence: Occurrence, word: str) -> int:
        calls.append((occurrence.operands, word))
        return len(calls)

    (one,), (other,) = occurrences(read(TEXT)), occurrences(read(TEXT))
    assert [counted(one, "x"), counted(other, "x"), counted(one, "y")] == [1, 1, 2]
    assert counted(replace(one, constants=()), "x") == 3


def test_what_is_assumed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    done = analyses(monkeypatch)
    model = read(TEXT)
    for given in ({}, {"a": "0..9"}, {"a": "0..8"}, {"a": "0..9"}):
        (found,) = occurrences(model, assumptions(given))
    assert len(done) == 3
    assert str(found.a).startswith("0..9")


def test_external_data_is_read_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    done = analyses(monkeypatch)
    graph = helper.make_graph(
        [helper.make_node("Sub", ["a", "k"], ["d"])],
        "g",
        [helper.make_tensor_value_info("a", onnx.TensorProto.INT32, [2])],
        [helper.make_tensor_value_info("d", onnx.TensorProto.INT32, [2])],
        [numpy_helper.from_array(np.int32([1, 2]), "k")],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path,
              save_as_external_data=True, size_threshold=0, location="m.bin")  # fmt: skip
    (one,) = occurrences(read(path))
    (tmp_path / "m.bin").write_bytes(np.int32([3, 4]).tobytes())
    (other,) = occurrences(read(path))
    assert len(done) == 2
    assert (one.b.lo, one.b.hi, other.b.lo, other.b.hi) == (1, 2, 3, 4)
