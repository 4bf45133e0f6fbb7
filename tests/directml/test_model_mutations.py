"""Across modules: DxDispatch JSON with changed values or bytes gives a result or an error of this package."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from mutated_documents import harmed_json, in_words
from trials import try_each

from minuend.directml import Model
from minuend.directml.dxdispatch.json_reader import parse
from minuend.directml.model import dumps
from minuend.errors import FileFormatError, MinuendError
from minuend.judging.checking import check
from minuend.models.converting import convert

EXAMPLES = Path(__file__).parents[2] / "examples/directml"

_TENSOR = {"DataType": "INT32", "Sizes": [1, 1, 2, 3]}
EVERYTHING = {
    "resources": {
        "a": {"initialValuesDataType": "INT32", "initialValues": {"value": 3, "valueCount": 6}},
        "b": {
            "initialValuesDataType": "INT32",
            "initialValues": {"valueStart": 0, "valueDelta": 2, "valueCount": 6},
        },
        "c": {"initialValuesDataType": "INT32", "initialValues": "deferred"},
        "m": {
            "initialValues": [{"type": "UINT32", "value": 42, "name": "q"}, {"type": "FLOAT32", "value": "nan"}],
            "sizeInBytes": 16,
        },
    },
    "dispatchables": {
        "s": {
            "type": "DML_OPERATOR_ELEMENT_WISE_SUBTRACT",
            "dmlCompileType": "DmlCompileGraph",
            "executionFlags": ["DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION"],
            "desc": {
                "ATensor": {"Type": "BUFFER", "Desc": {**_TENSOR, "Flags": "DML_TENSOR_FLAG_NONE"}},
                "BTensor": {**_TENSOR, "Strides": [6, 6, 3, 1], "TotalTensorSizeInBytes": 24},
                "OutputTensor": {**_TENSOR, "DimensionCount": 4, "GuaranteedBaseOffsetAlignment": 16},
            },
        }
    },
    "commands": [
        {
            "type": "dispatch",
            "dispatchable": "s",
            "bindings": {
                "ATensor": {"name": "a", "elementOffset": 0, "elementSizeInBytes": 4, "shape": [2, 3]},
                "BTensor": "b",
                "OutputTensor": ["c"],
            },
            "threadGroupCount": [1, 1, 1],
        },
        {"type": "print", "resource": "c", "verbose": True},
        {"type": "writeFile", "resource": "c", "targetPath": "c.npy", "dimensions": [2, 3]},
    ],
}
"""A model that says all that one can say."""

TEXTS = [dumps(parse(path.read_text("utf-8")).value) for path in sorted(EXAMPLES.glob("*.json"))]
TEXTS.append(json.dumps(EVERYTHING))


def mutated(seed: int) -> bytes:
    return harmed_json(random.Random(seed), TEXTS[seed % len(TEXTS)])


def test_a_mutated_model_works_or_is_refused_with_a_message(tmp_path: Path) -> None:
    try_each(range(600), mutated, lambda seed, data: use(data, tmp_path / str(seed)))


def use(data: bytes, output_dir: Path) -> None:
    """Read a model and do with it whatever there is to do."""
    model = None
    with in_words():
        model = Model.read(data, folder=EXAMPLES)
    if model is None:
        return
    output_dir.mkdir()
    for act in (
        lambda: model.run({}, output_dir=output_dir, max_bytes=1 << 24),
        lambda: (list(model.subtractions()), repr(model)),
        lambda: check(model, "directml@5.1").to_json("test"),
        lambda: convert(model, "directml:1.0"),
        lambda: convert(model, "openvino"),
        lambda: convert(model, "onnx"),
    ):
        with in_words():
            act()


def test_the_model_that_says_everything_runs(tmp_path: Path) -> None:
    answer = Model.read(TEXTS[-1]).run(output_dir=tmp_path)
    assert answer["c"].tolist() == [[[[3, 1, -1], [-3, -5, -7]]]]


def wrong(text: str) -> str:
    with pytest.raises(FileFormatError) as caught:
        Model.read(text)
    return str(caught.value)


def test_places_are_those_of_the_text_whether_or_not_it_was_asked_before() -> None:
    text = '{"resources": {"a": {"initialValuesDataType": "INT8",\n "initialValues": [1,\n 2, 300]}},'
    text += ' "dispatchables": {}, "commands": []}'
    assert wrong(text) == (
        "the number 300 is no INT8; expected an integer from -128 to 127, at resources.a.initialValues[2] "
        "(line 3, column 5)"
    )
    document = parse(text)
    paths = [("resources", "a", "initialValues", i) for i in (2, 0, 1)]
    assert [document.place(path).partition(" ")[2] for path in paths] == [
        "(line 3, column 5)",
        "(line 2, column 20)",
        "(line 3, column 2)",
    ]
    assert document.place(("commands",)) == "commands (line 3, column 46)"
    assert document.place(()) == "the top (line 1, column 1)"


def test_a_key_of_many_letters_is_cut_and_escaped() -> None:
    assert wrong('{"resources": {"\\u001b[2J%s": 1}}' % ("9" * 5000)) == (
        "the number 1 came; expected a resource: an object with initialValues, "
        f'at resources["\\u001b[2J{"9" * 56}…"] (line 1, column 5029)'
    )


def test_many_wrong_dispatchables_are_judged_without_reading_the_text_for_each() -> None:
    tensors = {name: {"DataType": "FLOAT32", "Sizes": [1, 1, 1, n]} for n, name in enumerate(("ATensor", "BTensor"), 2)}
    one = {"type": "ELEMENT_WISE_SUBTRACT", "desc": {**tensors, "OutputTensor": tensors["ATensor"]}}
    text = json.dumps({"resources": {}, "dispatchables": {f"d{i}": one for i in range(1000)}, "commands": []})
    model = Model.read(text)
    start = time.process_time()
    assert {finding.verdict for finding in check(model, "directml@5.1")} == {"invalid"}
    assert time.process_time() - start < 20


def test_fills_of_gigabytes_are_refused_or_left_unmade() -> None:
    fill = {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 1, "valueCount": 2**32 - 1}}
    tensor = {"DataType": "FLOAT32", "Sizes": [1, 1, 65535, 65537]}
    model = Model.read(
        json.dumps(
            {
                "resources": {"a": fill, "b": fill, "c": fill},
                "dispatchables": {
                    "s": {
                        "type": "ELEMENT_WISE_SUBTRACT",
                        "desc": dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor),
                    }
                },
                "commands": [
                    {
                        "type": "dispatch",
                        "dispatchable": "s",
                        "bindings": {"ATensor": "a", "BTensor": "b", "OutputTensor": "c"},
                    }
                ],
            }
        )
    )
    with pytest.raises(MinuendError) as caught:
        model.run()
    assert str(caught.value) == (
        "running this takes 68719476720 bytes (buffers 51539607540, results 17179869180, text 0, files 0), above the "
        "limit of 4294967296; allow it with max_bytes=68719476720"
    )
    assert [finding.verdict for finding in check(model, "directml@5.1")] == ["ok"]  # nothing of it is made
    assert list(convert(model, "openvino").model.inputs) == ["a", "b"]
