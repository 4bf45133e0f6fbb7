"""Examples of each version, run when the site is built: calls, and a model.

An operator that has no function yet is shown as data, with results of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from minuend.core.elements import TYPES
from minuend.language import Language
from minuend.operators import SUBTRACT
from minuend.standards.dialects import dialect
from minuend.standards.version import OpVersion
from sitepages import markup, versions
from sitepages.transcripts import NO_FILES, session

_VECTORS = ("a = np.array([1, 2, 3], np.float32)", "b = np.array([3, 2, 1], np.float32)")
_TABLE = "a = np.arange(6, dtype=np.float32).reshape(2, 3)"


@dataclass(frozen=True, slots=True)
class Example:
    """A session under a title. ``error``: its last statement fails; ``files``: what lies beside it, by name."""

    title: str
    statements: tuple[str, ...]
    error: bool = False
    files: Mapping[str, str] = field(default_factory=lambda: NO_FILES)


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page."""
    for example in examples(op):
        yield f"### {language.tr(example.title)}"
        for name, text in example.files.items():
            yield f"`{name}`:"
            yield markup.fence({"xml": "xml", "json": "js"}.get(name.rpartition(".")[2], "text"), text)
        transcript = session(example.statements, error=example.error, files=example.files)
        yield markup.fence("python", transcript)


def examples(op: OpVersion) -> Iterator[Example]:
    """The examples of a version."""
    calls = {"onnx": _onnx, "openvino": _openvino, "directml": _directml}
    yield from (calls[op.dialect] if op.computes is SUBTRACT else _data)(op)


# ---- operators without a function -----------------------------------------------------------------------------


def _data(op: OpVersion) -> Iterator[Example]:
    row = f'op = mn.spec("{op.dialect}", {op.version!r}, "{op.short_name}")'
    yield Example("The version as data", (row, "op.types", "op.broadcasting", "op.inference", "op.key"))
    known = versions.siblings(op)
    if len(known) > 1:
        at = max(known.index(op), 1)
        numbers = ", ".join(repr(one.version) for one in known[at - 1 : at + 1])
        call = f'mn.diff("{op.dialect}", {numbers}, "{op.short_name}")'
        yield Example("What changed, as data", (f'print(*{call}, sep="\\n")',))
    yield Example("Results of the contract", (*_REFERENCE, row, *_results(op)))


_REFERENCE = ("from minuend.core.elements import TYPES", "from minuend.operators.reference import of_values")


def _results(op: OpVersion) -> Iterator[str]:
    """Calls of the reference with small numbers, for a float and for the narrowest integer type of a byte or more."""
    integers = [TYPES[name] for name in op.types if TYPES[name].is_integer and TYPES[name].bits >= 8]
    for name, values in (("float32", (2.5, 0.5)), ("float16", (65504.0, 65504.0))):
        yield f"float({_call(op, name, values)})"
    if integers:
        element = min(integers, key=lambda one: one.bits)
        low, high = element.limits
        yield _call(op, element.name, (high, 1))
        yield _call(op, element.name, (low, low))


def _call(op: OpVersion, name: str, values: tuple[float, ...]) -> str:
    return f'of_values(op.computes, TYPES["{name}"], {values[: op.computes.arity]})'


# ---- ONNX -----------------------------------------------------------------------------------------------------


def _onnx(op: OpVersion) -> Iterator[Example]:
    call = f"mn.onnx.sub(a, b, opset={op.version}"
    yield Example("Two vectors", (*_VECTORS, f"{call})"))
    if "broadcast" in op.attributes.names:
        yield from _legacy(call)
    else:
        row = "b = np.array([0, 1, 2], np.float32)"
        yield Example("A row from each row of a table", (_TABLE, row, f"{call})"))
        column = "b = np.array([[0], [1]], np.float32)"
        yield Example("A column from each column", (_TABLE, column, f"{call})"))
    yield from _integers(op, call)
    if "bfloat16" in op.types:
        brain = tuple(line.replace("np.float32", "ml_dtypes.bfloat16") for line in _VECTORS)
        yield Example("bfloat16", ("import ml_dtypes", *brain, f"{call})"))
    yield _onnx_model(op)


def _legacy(call: str) -> Iterator[Example]:
    one, run = "b = np.array([10], np.float32)", "b = np.array([10, 20], np.float32)"
    yield Example("One element from all", (_TABLE, one, f"{call}, broadcast=1)"))
    yield Example("B along axis 0", (_TABLE, run, f"{call}, axis=0, broadcast=1)"))
    yield Example("Without an axis B is the suffix of A", (_TABLE, run, f"{call}, broadcast=1)"), error=True)
    yield Example("Without broadcast=1 nothing repeats", (_TABLE, one, f"{call})"), error=True)


def _integers(op: OpVersion, call: str) -> Iterator[Example]:
    unsigned = [TYPES[name] for name in op.types if name.startswith("uint") and TYPES[name].bits >= 8]
    if unsigned:
        name = f"np.{min(unsigned, key=lambda element: element.bits).name}"
        arrays = (f"a = np.array([5, 200], {name})", f"b = np.array([10, 100], {name})")
        yield Example("Integers wrap", (*arrays, f"{call})"))


def _onnx_model(op: OpVersion) -> Example:
    stated = " <axis = 0, broadcast = 1>" if "axis" in op.attributes.names else ""
    b = "float[2]" if stated else "float[3]"
    text = (
        f'<ir_version: 7, opset_import: ["" : {op.version}]>\n'
        f"example (float[2,3] a, {b} b) => (float[2,3] c) {{\n    c = Sub{stated}(a, b)\n}}\n"
    )
    values = "[10, 20]" if stated else "[0, 1, 2]"
    statements = (_TABLE, f"b = np.array({values}, np.float32)", 'mn.run("sub.onnxtxt", {"a": a, "b": b})["c"]')
    return Example("As a model", statements, files={"sub.onnxtxt": text})


# ---- OpenVINO -------------------------------------------------------------------------------------------------


def _openvino(op: OpVersion) -> Iterator[Example]:
    call = "mn.openvino.subtract(a, b"
    row, column = "b = np.array([0, 1, 2], np.float32)", "b = np.array([10, 20], np.float32)"
    yield Example("Two vectors", (*_VECTORS, f'{call}, auto_broadcast="none")'))
    yield Example("A row from each row of a table", (_TABLE, row, f"{call})"))
    yield Example("B along axis 0", (_TABLE, column, f'{call}, auto_broadcast="pdpd", axis=0)'))
    yield Example("none lets nothing repeat", (_TABLE, row, f'{call}, auto_broadcast="none")'), error=True)
    yield from _integers(op, call)
    narrow = (
        "import ml_dtypes",
        *(f"{name} = np.array([{value}], ml_dtypes.int4)" for name, value in (("a", -8), ("b", 3))),
    )
    yield Example("Types of four bits", (*narrow, f"{call})"))
    yield Example(
        "As a model", (_TABLE, column, 'mn.run("subtract.xml", {"a": a, "b": b})["c"]'), files={"subtract.xml": _IR}
    )


def _layer(at: int, name: str, kind: str, data: str, ports: str) -> str:
    return f'  <layer id="{at}" name="{name}" type="{kind}" version="opset1">\n{data}{ports}  </layer>\n'


def _output(port: int, name: str) -> str:
    return f'    <output><port id="{port}" precision="FP32" names="{name}"/></output>\n'


_IR = (
    '<net name="example" version="11">\n <layers>\n'
    + _layer(0, "a", "Parameter", '    <data shape="2,3" element_type="f32"/>\n', _output(0, "a"))
    + _layer(1, "b", "Parameter", '    <data shape="2" element_type="f32"/>\n', _output(0, "b"))
    + _layer(
        2,
        "difference",
        "Subtract",
        '    <data auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="0"/>\n',
        '    <input><port id="0"/><port id="1"/></input>\n' + _output(2, "c"),
    )
    + _layer(3, "c", "Result", "", '    <input><port id="0"/></input>\n')
    + " </layers>\n <edges>\n"
    + "".join(
        f'  <edge from-layer="{start}" from-port="{port}" to-layer="{end}" to-port="{to}"/>\n'
        for start, port, end, to in ((0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0))
    )
    + " </edges>\n</net>\n"
)

# ---- DirectML -------------------------------------------------------------------------------------------------


def _directml(op: OpVersion) -> Iterator[Example]:
    spell, sizes = dialect("directml").spell, _sizes(op, 2, 3)
    end = f', feature_level="{op.version}")'
    packed = f'packed = mn.directml.TensorDesc("FLOAT32", {sizes})'
    rows = f'row = mn.directml.TensorDesc("FLOAT32", {sizes}, {_sizes(op, 0, 1, fill=0)})'
    out = "c = np.zeros(6, np.float32)"
    yield Example(
        "Two packed tensors",
        (packed, "a = np.arange(6, dtype=np.float32)", "b = np.full(6, 2, np.float32)", out,
         f"mn.directml.element_wise_subtract(packed, packed, packed, a, b, c{end}", "c"),
    )  # fmt: skip
    yield Example(
        "A stride of 0 repeats a row",
        (packed, rows, "a, b = np.arange(6, dtype=np.float32), np.array([0, 1, 2], np.float32)", out,
         f"mn.directml.element_wise_subtract(packed, row, packed, a, b, c{end}", "c"),
    )  # fmt: skip
    yield Example(
        "In place", (packed, "a, b = np.arange(6, dtype=np.float32), np.full(6, 2, np.float32)",
         f"mn.directml.element_wise_subtract(packed, packed, packed, a, b, a{end}", "a"),
    )  # fmt: skip
    unsigned = [TYPES[name] for name in op.types if name.startswith("uint")]
    if unsigned:
        name = min(unsigned, key=lambda element: element.bits).name
        yield Example(
            "Integers wrap",
            (f'two = mn.directml.TensorDesc("{spell(name)}", {_sizes(op, 2)})', f"c = np.zeros(4, np.{name})",
             f"a, b = np.array([5, 200, 0, 0], np.{name}), np.array([10, 100, 0, 0], np.{name})",
             f"mn.directml.element_wise_subtract(two, two, two, a, b, c{end}", "c[:2]"),
        )  # fmt: skip
    yield Example("As a model", ('mn.run("subtract.json", {})["c"]',), files={"subtract.json": _dispatch(op)})


def _sizes(op: OpVersion, *sizes: int, fill: int = 1) -> str:
    """Sizes as a tuple, with leading ones up to the lowest rank that a level takes."""
    return repr((*(fill,) * (op.ranks[0] - len(sizes)), *sizes))


def _dispatch(op: OpVersion) -> str:
    sizes = f"[{_sizes(op, 2, 3)[1:-1]}]"
    strides = f"[{_sizes(op, 0, 1, fill=0)[1:-1]}]"
    return f"""{{
  "resources": {{
    "a": {{ "initialValuesDataType": "FLOAT32", "initialValues": [0, 1, 2, 3, 4, 5] }},
    "b": {{ "initialValuesDataType": "FLOAT32", "initialValues": [0, 1, 2] }},
    "c": {{ "initialValuesDataType": "FLOAT32", "initialValues": {{ "value": 0, "valueCount": 6 }} }}
  }},
  "dispatchables": {{
    "subtract": {{
      "type": "DML_OPERATOR_ELEMENT_WISE_SUBTRACT",
      "desc": {{
        "ATensor": {{ "DataType": "FLOAT32", "Sizes": {sizes} }},
        "BTensor": {{ "DataType": "FLOAT32", "Sizes": {sizes}, "Strides": {strides} }},
        "OutputTensor": {{ "DataType": "FLOAT32", "Sizes": {sizes} }}
      }}
    }}
  }},
  "commands": [
    {{ "type": "dispatch", "dispatchable": "subtract",
      "bindings": {{ "ATensor": "a", "BTensor": "b", "OutputTensor": "c" }} }}
  ]
}}
"""
