"""``vectors``: test cases for ONNX runtimes, as folders that ONNX's own runner reads.

A test is a folder: ``model.onnx``, and ``test_data_set_0`` with ``input_0.pb`` … and ``output_0.pb``, each a
``TensorProto``. The folders of a run stand in ``sub`` beneath the folder that is named, where
``onnx.backend.test.loader.load_model_tests(folder, kind="sub")`` finds them.

They cover what ONNX's own tests leave out: differences that wrap, (-128) - (-128), NaN and infinities, signed zero,
subnormal numbers, ties, empty tensors, rank 0, dims of 1 on both sides, every type of every version, and the axis and
broadcast of Sub-1 and Sub-6.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.errors import SpecError, shown
from minuend.files.packages import need
from minuend.files.transaction.writing import new_file, new_folder
from minuend.operators.codes import encode
from minuend.operators.value_classes import classes
from minuend.runtimes import cases, values
from minuend.runtimes.values import Codes
from minuend.standards.dialects import dialect
from minuend.standards.version import OpVersion

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

KIND = "sub"
"""The kind of the tests, as ONNX's loader calls the folder that holds them."""

_PAIRS = (12, 20)
"""How many pairs of a value class a test holds: of the best ones, and of all others."""

_SIDE = 3
"""How many operands stand along a dim of the tests of shapes, at least."""


@dataclass(frozen=True)
class Vector:
    """One test: its folder's name, the node's version and attributes, the operands and the answer, as codes."""

    name: str
    opset: int
    element: ElementType
    attributes: dict[str, Any]
    a: Codes
    b: Codes
    expected: Codes


def vectors(opsets: Sequence[int] | None = None) -> Iterator[Vector]:
    """Yield every test for some opsets of ONNX; by default for those that changed Sub.

    Raises:
        SpecError: an opset that does not exist.
    """
    home = dialect("onnx")
    for opset in opsets or [int(version.version) for version in home.versions()]:
        op = home.resolve(opset)
        for name in op.types:
            yield from _of_values(op, opset, TYPES[name])
            yield from _of_shapes(op, opset, TYPES[name])


def _of_values(op: OpVersion, opset: int, element: ElementType) -> Iterator[Vector]:
    """A test for each value class: pairs of it in two vectors of one shape."""
    operands = values.of(op.computes, element)
    every = dict.fromkeys([*operands.telling(*_PAIRS), *_ends(operands)])
    for index, row in enumerate(classes(op.computes, element)):
        pairs = [pair for pair in every if operands.classes[pair] == index]
        i, j = (np.array(side) for side in zip(*pairs, strict=True))
        codes = operands.codes
        yield Vector(_name(opset, element, row.name), opset, element, {}, codes[i], codes[j], operands.expected[i, j])


def _ends(operands: values.Operands) -> list[tuple[int, ...]]:
    """The indices of the pairs of an integer type's lowest and highest value, of which the best ones may lack some."""
    element = operands.element
    ends = [encode(element, end) for end in element.limits] if element.is_integer else []
    at = [int(np.flatnonzero(operands.codes == code)[0]) for code in ends]
    return list(itertools.product(at, repeat=operands.operator.arity))


def _of_shapes(op: OpVersion, opset: int, element: ElementType) -> Iterator[Vector]:
    """Tests for each relation of shapes, one for each layout of it; a few operands, of all classes."""
    few = _few(values.of(op.computes, element))
    for name in cases.relations(op):
        if name == "same":
            continue
        relation, rule = cases.RELATIONS[name], op.broadcasting
        layouts = relation.layouts[rule](few)
        if name == "scalar":  # one for each operand is as good as all
            layouts = [layouts[0], layouts[-1]] if rule == "numpy" else layouts[:1]
        if name == "rank 0":  # one for each value class
            layouts = list({int(operation.classes): operation for operation in reversed(layouts)}.values())[::-1]
        stated = dict(relation.attributes.get(rule, {}))
        for number, operation in enumerate(layouts):
            title = _name(opset, element, f"{name} {number}" if number else name)
            yield Vector(title, opset, element, stated, operation.a, operation.b, operation.expected)


def _few(operands: values.Operands) -> values.Operands:
    """The operands of each class's best pairs alone, with the tables that go with them."""
    telling = [i for chosen in operands.telling(1, 0) for i in chosen]
    at = np.array(list(dict.fromkeys([*telling, *range(_SIDE)])))
    at = at[at < len(operands.codes)]
    grid = np.ix_(*(at,) * operands.operator.arity)
    return replace(
        operands,
        codes=operands.codes[at],
        expected=operands.expected[grid],
        classes=operands.classes[grid],
        rank=operands.rank[grid],
        more=tuple(codes[:0] for codes in operands.more),
        more_expected=operands.more_expected[:0],
        more_classes=operands.more_classes[:0],
    )


def _name(opset: int, element: ElementType, what: str) -> str:
    return f"test_sub_opset_{opset}_{element}_{what.replace(' ', '_').replace('-', '_')}"


# ---- files ----------------------------------------------------------------------------------------------------


def write(
    folder: str, opsets: Sequence[int] | None = None, *, progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """Write tests to a new folder, whole or not at all.

    Args:
        folder: the folder to make. opsets: of ONNX; by default those that changed Sub.
        progress: called with the number of tests written and of all.

    Returns:
        The tests' names; test ``t`` stands in ``folder/sub/t``.

    Raises:
        SpecError: an opset that does not exist, or a folder that does. Unsupported: onnx is not installed.
        FileNotFoundError: the folder that is to hold the new one is not there.
    """
    newest = need("onnx", "onnx", "vectors").defs.onnx_opset_version()
    if (above := max(opsets or (), default=0)) > newest:
        raise SpecError("vectors", f"opset {shown(above)} is not known; expected 1 to {newest}")
    if os.path.lexists(folder):
        raise SpecError("vectors", f"{folder} exists; name a folder that does not")
    with new_folder(folder) as part:
        tests = list(vectors(opsets))
        for done, test in enumerate(tests):
            _write_test(os.path.join(part, KIND, test.name), test)
            if progress:
                progress(done + 1, len(tests))
    return [test.name for test in tests]


def _write_test(folder: str, test: Vector) -> None:
    from onnx import helper

    from minuend.onnx.documents import tensors

    kind = tensors.number(test.element.name)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    named = (("A", "input_0.pb", test.a), ("B", "input_1.pb", test.b), ("C", "output_0.pb", test.expected))
    infos = [helper.make_tensor_value_info(name, kind, codes.shape) for name, _, codes in named]
    node = helper.make_node("Sub", ["A", "B"], ["C"], **test.attributes)
    graph = helper.make_graph([node], test.name, infos[:2], infos[2:])
    imports = [helper.make_opsetid("", test.opset)]
    listed = [helper.make_opsetid("", max(test.opset, 5))]  # ONNX's table leaves 2 to 4 out, between two of IR 3
    ir_version = helper.find_min_ir_version_for(listed)
    model = helper.make_model(graph, producer_name="minuend", opset_imports=imports, ir_version=ir_version)
    protos: dict[str, ModelProto | TensorProto] = {os.path.join(folder, "model.onnx"): model}
    for name, file, codes in named:
        tensor = helper.make_tensor(name, kind, codes.shape, codes.tobytes(), raw=True)
        protos[os.path.join(data, file)] = tensor
    for path, proto in protos.items():
        with new_file(path) as stream:
            stream.write(proto.SerializeToString(deterministic=True))
