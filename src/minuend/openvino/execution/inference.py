"""Types and shapes of every tensor of a section, from its Parameters and constants on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from minuend.errors import SpecError
from minuend.files.streaming.reading import Array
from minuend.openvino.execution.layers import KINDS, elements, kind_of
from minuend.openvino.ir.sections import Layer, Ref, Section, Type

NOTHING: Mapping[Layer, Type] = MappingProxyType({})


def infer(order: Sequence[Layer], given: Mapping[Layer, Type] = NOTHING) -> dict[Ref, Type]:
    """Infer what each layer gives; a layer that this package does not know gives what its file states.

    Args:
        order: layers, each after what feeds it. given: Parameters' types that replace the stated ones.

    Raises:
        SpecError: a layer whose inputs do not fit, with its place.
    """
    types: dict[Ref, Type] = {}
    for layer in order:
        if kind_of(layer) is None:
            types.update((ref, ref.port.type) for ref in layer.refs)
        elif layer in given:
            types[Ref(layer, 0)] = given[layer]
        else:
            types[Ref(layer, 0)] = infer_layer(layer, [types[ref] for ref in layer.sources()])
    return types


def infer_layer(layer: Layer, types: Sequence[Type]) -> Type:
    """Infer what a known layer gives; where that needs a constant that is not there, it is what the file states."""
    sources, missing = layer.sources(), list[int]()

    def known(index: int) -> Array | None:
        source = sources[index].layer
        if source.is_missing:
            missing.append(index)
            return None
        return elements(source) if source.type == "Const" else None

    try:
        found = KINDS[layer.type].infer(layer, types, known)
    except SpecError as error:
        raise (error if error.where else error.at(layer.where)) from None
    return layer.outputs[0].type if missing else found


def settle(section: Section, within: str = "") -> None:
    """Infer a section and write what was found to its output ports; likewise its bodies; see :func:`infer`."""
    order = section.order()
    try:
        types = infer(order)
    except SpecError as error:
        raise (error.at(within) if within else error) from None
    for ref, type_ in types.items():
        if ref.output < len(ref.layer.outputs):
            ref.port.type = type_
    for layer in order:
        for tag, body in layer.bodies:
            settle(body, f"{within}{'.' if within else ''}{layer.where}.{tag}")
