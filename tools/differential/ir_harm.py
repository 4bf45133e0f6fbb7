"""OpenVINO IR whose XML was changed: openvino and this package both refuse it, or read the same model of it.

What is refused here alone has to be so by a rule that is stated, and what both read has the same results: their names,
element types, shapes, and the numbers as openvino's own evaluation gives them, where it has one.
"""

from __future__ import annotations

import copy
import math
import random
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from differential import onnx_worker
from differential.onnx_worker import Failed
from differential.results import same, words
from differential.surface import Difference

if TYPE_CHECKING:
    from minuend.openvino.model import Model

# ---- what may be refused here alone -------------------------------------------------------------------------------

SECOND = "openvino takes one of two elements or layers, and says nothing of the other"
DEFAULTS = "openvino has defaults that its documents do not state"
OWN = "these attributes are this package's: openvino does not look"
PREFIX = "openvino reads the number that a text begins with"
STRICT = (
    (r"there are \d+ <\w+>; expected one$", SECOND),
    (r": id \d+ is taken by '", SECOND),
    (r": (two layers|two inputs|two outputs) are called '", SECOND),
    (r": two (input|output) ports have the id \d+$", SECOND),
    (r": \w+ has \d+ output ports; expected \d+$", "openvino makes the ports of an operator, whatever a file states"),
    (r"an edge: (from|to)-layer is \d+, and no layer has that id$", "openvino leaves the edge out"),
    (r": dim \d+ is '\s*[+-]?\d.*'; expected a whole number from -1 on$", PREFIX),
    (r"of <data> is '.*', whose dim \d+ is '\d.*'; expected sizes", PREFIX),
    (r"of <data> is '.*,', whose dim \d+ is ''; expected sizes", PREFIX),
    (r"attribute 'auto_broadcast\.auto_broadcast_axis' is '\s*-?\d.*'; expected a whole number$", PREFIX),
    (r"attribute 'm(in|ax)' is '\s*[+-]?\.?\d.*'; expected a number, ", PREFIX),
    (r"^attribute '\w+' is '.*'; expected true or false, ", "openvino takes any other word for the default"),
    (r"attribute '\w+' is missing in <data>(, at layer .*)?$", DEFAULTS),
    (r": the constant has no <data>; expected element_type, shape, offset and size$", DEFAULTS),
    (r" states bin_size '.*' and bin_sha256 '.*' of <net>; expected", OWN),
    (r" is not the \.bin that .* was written with: .*, and bin_size and bin_sha256 of <net> say ", OWN),
    (
        r"attribute 'shape' is '.*', whose dim \d+ is '([0-9]{19}.*|-.*|.*\.\.-.*)'; expected a size, ",
        "openvino takes a size that is none for the largest, or for 0",
    ),
    (r"attribute 'shape' is '.*', whose dim \d+ is the empty interval ", "openvino has intervals without any size"),
    (r": type '(?i:result)' is not what the runtime takes for one; write 'Result'$", "openvino leaves it out"),
    (r": no opset has a type '(?i:constant)'; expected 'Const'$", "openvino makes a constant without elements"),
    (r"this is no XML: ", "openvino's parser takes what XML forbids, such as bytes behind the end"),
)
"""What openvino 2026.4 reads and this package refuses: how it says so, and what openvino makes of it."""
BY_VALUES = (
    r"do not broadcast: axis \d+ of the result has ",
    r"^Broadcast of \(.*\) to \[.*\]: aligned at the right, each dim must be 1 or the target's, at layer ",
    r"^Reshape to .*, which do not fill it, at layer ",
    r" gives shape .*, and the model's shapes promise .*; pass inputs that fit, ",
    r"^(Floor)?Mod divides by 0, which integers cannot, at layer ",
    r"^a tensor of \S+ \(.*\) takes [\d,]+ bytes, above max_bytes ",
    r"^Convert to \w+ meets \d+ of \d+ floats that \w+ cannot hold ",
)
"""What is wrong with values or shapes that are known when it runs; the last one's result is not defined."""
AT_COMPILING = (r"^element type 'boolean': Subtract takes numbers only",)
"""What openvino finds when it compiles, which it is not made to do here."""
UNLIMITED = str(2**63 - 1).encode()
"""A size that openvino takes for any: what it makes of a shape is known when it runs."""
NOT_RUN = r"^this package does not run layers of type "


def known(phase: str, why: str) -> bool:
    """Whether a refusal of what openvino reads is one of those that are stated; ``phase``: ``read`` or ``run``."""
    texts = [text for text, _ in STRICT] if phase == "read" else [*BY_VALUES, *AT_COMPILING]
    return any(re.search(text, why) for text in texts)


def left_out(xml: bytes, weights: bytes) -> bool:
    """Whether the fault lies in layers that no Result needs: openvino leaves them out, and refuses them with one.

    Without them both read the file, and with a Result behind each openvino refuses it as this package did.
    """
    try:
        root = ET.fromstring(xml)
    except ET.ParseError:
        return False
    made = _made(root)
    rest = [layer.get("id") for layer in root.iterfind("layers/layer") if layer.get("id") not in made]
    wanted = _with_results(copy.deepcopy(root), rest)
    gone = [
        (parent, element)
        for holder, name, number in (("layers", "layer", "id"), ("edges", "edge", "to-layer"))
        for parent in root.findall(holder)
        for element in parent.findall(name)
        if element.get(number) not in made
    ]
    for parent, element in gone:
        parent.remove(element)
    if not gone:
        return False
    try:
        judged(ET.tostring(root), weights)
        onnx_worker.openvino(wanted, weights, None)
    except Difference:
        return False
    except Failed:
        return bool(rest)
    return False


def _made(root: ET.Element) -> set[str | None]:
    """The ids of the layers that openvino makes: Parameters, and what a Result needs."""
    makers: dict[str | None, list[str | None]] = {}
    for edge in root.iterfind("edges/edge"):
        makers.setdefault(edge.get("to-layer"), []).append(edge.get("from-layer"))
    kinds = {layer.get("id"): layer.get("type") for layer in root.iterfind("layers/layer")}
    waiting = [number for number, kind in kinds.items() if kind in ("Parameter", "Result", "Assign")]
    made = set(waiting)
    while waiting:
        found = [number for number in makers.get(waiting.pop(), ()) if number in kinds and number not in made]
        made.update(found)
        waiting += found
    return made


def _with_results(root: ET.Element, wanted: Collection[str | None]) -> bytes:
    """The model with a Result behind each of some layers."""
    layers, edges = root.find("layers"), root.find("edges")
    layers = ET.SubElement(root, "layers") if layers is None else layers
    edges = ET.SubElement(root, "edges") if edges is None else edges
    for i, layer in enumerate([one for one in layers.findall("layer") if one.get("id") in wanted]):
        output = layer.find("output")
        output = ET.SubElement(layer, "output") if output is None else output
        port = output.find("port")
        port = ET.SubElement(output, "port", {"id": "77", "precision": "FP32"}) if port is None else port
        name = str(7_000_000 + i)
        result = ET.SubElement(layers, "layer", {"id": name, "name": name, "type": "Result", "version": "opset1"})
        ET.SubElement(ET.SubElement(result, "input"), "port", {"id": "0"})
        ends = {"from-layer": layer.get("id", ""), "from-port": port.get("id", ""), "to-layer": name, "to-port": "0"}
        ET.SubElement(edges, "edge", ends)
    return ET.tostring(root)


# ---- both sides ---------------------------------------------------------------------------------------------------


def _of_xml(seed: int, xml: bytes) -> bytes:
    """XML with elements, attributes or bytes changed, as the tests of readers change them."""
    support = str(Path(__file__).parents[2] / "tests" / "support")
    if support not in sys.path:
        sys.path.append(support)
    from mutated_documents import harmed_xml  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return bytes(harmed_xml(random.Random(seed), xml))


def harmed(seed: int, xml: bytes, weights: bytes) -> str:
    """Change the XML of an IR, and compare what both make of it."""
    return f"harmed: {judged(_of_xml(seed, xml), weights)}"


def judged(xml: bytes, weights: bytes) -> str:
    """Compare what openvino and this package make of an IR.

    Raises:
        Difference: one of them refuses it alone, for no reason that is stated, or they read or compute other things.
    """
    from minuend.errors import MinuendError
    from minuend.openvino.model import read

    theirs, refusal = _read_by_openvino(xml, weights)
    try:
        model = read(xml, weights)
    except (MinuendError, OSError) as error:
        if refusal:
            return "both refuse"
        any_size = UNLIMITED in xml and known("run", str(error))
        if any_size or known("read", str(error)) or left_out(xml, weights):
            return "refused here alone, as stated"
        raise Difference(f"refused here alone, for a reason that is not stated (read): {error}") from None
    runs = all(len(one.shape or ()) <= _MOST_AXES for one in model.inputs.values())
    inputs = dict(_inputs(model)) if runs else {}
    try:
        values = model.run(inputs, max_bytes=1 << 24) if runs else None
    except (MinuendError, OSError) as error:
        if refusal and (known("run", str(error)) or not re.search(NOT_RUN, str(error))):
            raise Difference(f"read, and refused when it runs ({error}), and openvino refuses it: {refusal}") from None
        if refusal or re.search(NOT_RUN, str(error)):
            return "a layer that this package does not know"
        _compare_results(model, theirs)
        if known("run", str(error)):
            return "both read, refused when it runs, as stated"
        raise Difference(f"refused here alone, for a reason that is not stated (run): {error}") from None
    if refusal:
        raise Difference(f"read and run, and openvino refuses it: {refusal}")
    _compare_results(model, theirs)
    return "both read" if values is None else f"both read{_compare_values(xml, weights, inputs, values)}"


def _read_by_openvino(xml: bytes, weights: bytes) -> tuple[list[Any], str]:
    """What openvino makes of the results, or why it refuses the file."""
    try:
        return onnx_worker.openvino(xml, weights, None), ""
    except Failed as error:
        return [], str(error)[:300]


_MOST_AXES = 64
"""Of NumPy's arrays."""


def _inputs(model: Model) -> Iterator[tuple[str, Any]]:
    """Small numbers for each input, none of them alike in two places of an axis."""
    from minuend.openvino.ir.notation import NUMERIC

    for name, type_ in model.inputs.items():
        dims = [dim if isinstance(dim, int) else 2 for dim in type_.shape or ()]
        if math.prod(dims) > 1 << 16:  # refused for its shape, or for its memory
            dims = [min(dim, 2) for dim in dims]
        memory = NUMERIC[type_.element].memory if type_.element in NUMERIC else np.dtype(bool)
        yield name, (1 + np.arange(math.prod(dims)) % 7).astype(memory).reshape(dims)


# ---- what both read -----------------------------------------------------------------------------------------------


def _compare_results(model: Model, theirs: list[Any]) -> None:
    """Compare the results' names, element types and shapes.

    Raises:
        Difference: they differ. A name that another tensor has too gets a number from openvino.
    """
    if model.replaced:  # version 10 of the format has other types of results
        return
    ours = [(name, one.element, _shape(one.shape)) for name, one in model.outputs.items()]
    if [row[1:] for row in ours] != [row[1:] for row in theirs]:
        raise Difference(f"the results are {ours}, and openvino reads {theirs}")
    layers = {layer.name for layer in model.layers if layer.type == "Result"}
    for (name, *_), (names, *_) in zip(ours, theirs, strict=True):
        numbered = re.compile(rf"{re.escape(name)}(_\d+)*")
        if names and name not in layers and not any(map(numbered.fullmatch, names)):
            raise Difference(f"a result is called {name!r}, and openvino calls it {names}")


def _shape(shape: Any) -> str:
    """A shape as openvino writes it."""
    if shape is None:
        return "[...]"
    ends = [(dim, dim) if isinstance(dim, int) else dim if isinstance(dim, tuple) else (0, None) for dim in shape]
    return f"[{','.join(map(_dim, ends))}]"


def _dim(ends: tuple[int, int | None]) -> str:
    low, high = (0, None) if ends == (2**63 - 1,) * 2 else ends  # the largest size is shown as an unknown one
    if high is None:
        return f"{low}.." if low else "?"
    return str(low) if low == high else f"{low or ''}..{high}"


def _compare_values(xml: bytes, weights: bytes, inputs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Compare numbers with those of openvino's own evaluation; return what was done, to be counted.

    Raises:
        Difference: they differ.
    """
    if not all(isinstance(one, np.ndarray) and one.dtype.kind in "biuf" for one in (*inputs.values(), *ours.values())):
        return ", types that are not compared"
    try:
        theirs = onnx_worker.openvino_evaluated(xml, weights, list(inputs.values()))
    except Failed:
        return ", not evaluated by openvino"
    for (name, one), other in zip(ours.items(), theirs, strict=True):
        if not same(one, other):
            raise Difference(f"{name!r} is {words([one])}, and openvino computes {words([other])}")
    return ", and gives the same numbers"
