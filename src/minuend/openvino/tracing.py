"""OpenVINO IR value by value: every layer that this package runs has one right answer."""

from __future__ import annotations

from collections.abc import Mapping

from minuend.core.limits import MAX_BYTES
from minuend.files.streaming.reading import Array
from minuend.models.tracing import Step, Trace
from minuend.openvino.execution import running
from minuend.openvino.ir.layer_types import NAMES
from minuend.openvino.ir.sections import Ref
from minuend.openvino.model import Model


def trace(model: Model, inputs: Mapping[str, Array], *, wide: bool = True) -> Trace:
    """Run a model by the contract; see :class:`minuend.models.tracing.Tracing`."""
    model._check_whole()
    section = model.section
    found = running.values(section, inputs, MAX_BYTES)
    steps = [
        Step(layer.where, NAMES.get(layer.type, layer.type), tuple(layer.sources()), layer.refs)
        for layer in section.order()
        if layer.type not in ("Parameter", "Const", "Result")
    ]
    outputs = {name: layer.sources()[0] for name, layer in model._results().items()}
    return Trace(steps, outputs, {Ref(layer, 0): array for layer, array in found.items()}, {})
