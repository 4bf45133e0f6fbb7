"""Every layer of the judged operators of an IR with what its operands can hold."""

from __future__ import annotations

import functools
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from minuend.core.shapes import Dim, size, static
from minuend.errors import SpecError, Unsupported
from minuend.files.streaming.reading import Array
from minuend.models.cells import (
    BEHIND_ATTENTION,
    CELL,
    LAYERS,
    in_cells,
    is_behind_attention,
    is_behind_layers,
    is_in_attention,
)
from minuend.models.flow import DECIDED, OF_SHAPES, Flow
from minuend.models.folding import FOLLOWED, computed
from minuend.models.hazards import INPUT_IN_16_BITS, INPUT_WITHOUT_SHAPE, INPUT_WITHOUT_TYPE
from minuend.models.matching import matches
from minuend.models.occurrences import Occurrence, as_computed, constants_of, typed, with_unfolded
from minuend.models.purpose import purpose_of
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.models.ranges.conditions import Values, branches
from minuend.models.ranges.interval import Range, full, join, of_blocks, within
from minuend.models.ranges.rules import Step, result
from minuend.models.sums import SUMS_OF_FLOAT64, has_sums_of_float64
from minuend.models.zero_signs import loses_zero_sign
from minuend.openvino.composites import as_operators
from minuend.openvino.execution import layers as table
from minuend.openvino.ir.layer_types import GROUPED, NAMES, PRODUCTS, READ_AS, SAME
from minuend.openvino.ir.notation import dtype_of
from minuend.openvino.ir.sections import Layer, Ref, Section
from minuend.openvino.model import Model
from minuend.openvino.versions import DIALECT
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.standards.node import Node

_MOST_ELEMENTS = 1 << 16
"""Elements of a Const up to which it is read to see whether they are all equal; weights seldom are."""

_KNOWN = frozenset((*SAME, *NAMES))


def names(model: Model) -> set[str]:
    """Return what values are called: by their tensors' names, and by their layer's where that has one output."""
    refs = [ref for _, section in model._sections() for layer in section.layers for ref in layer.refs]
    return {name for ref in refs for name in _called(ref)}


def _called(ref: Ref) -> tuple[str, ...]:
    return (*ref.port.names, *((ref.layer.name,) if len(ref.layer.outputs) == 1 else ()))


def occurrences(
    model: Model, assumed: Assumptions = NONE, operators: Collection[Operator] = (SUBTRACT,)
) -> Iterator[Occurrence]:
    """Yield every layer of some operators that a result depends on, those in bodies of other layers too."""
    rows = {DIALECT.resolve(None, one.name).operator: DIALECT.resolve(None, one.name) for one in operators}
    missing = [] if model.missing is None else [_MISSING]
    sections = list(_flows(model))
    has_sums = any(has_sums_of_float64(flow) for _, _, flow, _ in sections)
    model_wide = frozenset((
        *[SUMS_OF_FLOAT64] * has_sums,
        *[INPUT_IN_16_BITS] * _hands_out_16_bits(model.section),
        *[INPUT_WITHOUT_SHAPE] * any(type_.shape is None for type_ in model.inputs.values()),
        *[INPUT_WITHOUT_TYPE] * any(type_.element == "dynamic" for type_ in model.inputs.values()),
    ))  # fmt: skip
    for place, section, flow, numbers in sections:
        order = section.order()
        judged = [layer for layer in order if layer.type in rows]
        if not judged:
            continue
        sized = flow.of_known_sizes or flow  # OpenVINO states the sizes that it knows
        read = as_operators(sized)
        values, cells = _follow(order, judged, assumed), in_cells(read)
        for layer in judged:
            number = numbers[layer]
            inputs = flow.steps[number][1]
            seen = read if read.steps[number] == flow.steps[number] else sized
            if sized.folded.issuperset(inputs) and not flow.folded.issuperset(inputs):
                seen = flow  # of sizes, which are not known to be constants of the model
            node = _node(model, layer, place)
            dtype = node.a.dtype if isinstance(node, Node) else None
            operands = tuple(
                as_computed(flow, name, typed(values.get(ref) or Range(None), dtype))
                for name, ref in zip(inputs, layer.sources(), strict=True)
            )
            found = Occurrence(
                op=rows[layer.type],
                name=layer.name,
                where=node.where if isinstance(node, Node) else f"{place}{layer.where}",
                node=node,
                operands=operands,
                constants=constants_of(*operands),
                purpose=purpose_of(flow, number),
                matches=matches(seen, number),
                made_of_open=sized.is_made_of_open(number),
                in_attention=is_in_attention(seen, number),
                in_body=flow.in_body,
                zero_sign_lost=loses_zero_sign(seen, number),
                added=flow.added,
                fixed=functools.cache(functools.partial(_fixed, layer, flow, inputs, operands)),
                live=None if place else layer,
                notes=(*missing, *model.replaced, *table.notes(layer)),
                violations=model_wide.union(
                    {CELL} if number in cells else (),
                    {LAYERS} if is_behind_layers(seen, number) else (),
                    {BEHIND_ATTENTION} if is_behind_attention(seen, number) else (),
                ),
            )
            yield with_unfolded(found, seen, number)


_MISSING = (
    "the constants are not there (no .bin beside the .xml): each can hold any number here, and shapes that depend on "
    "one are those that the .xml states"
)


def _fixed(layer: Layer, flow: Flow, names: Sequence[str], operands: Sequence[Range]) -> tuple[Array | None, ...]:
    """The elements of the operands that are Const layers, or made of such."""

    def elements(ref: Ref, name: str, operand: Range) -> Array | None:
        if ref.layer.type == "Const":
            return None if ref.layer.is_missing else table.elements(ref.layer)
        return computed(flow, name) if operand.constant and operand.dtype in FOLLOWED else None

    return tuple(map(elements, layer.sources(), names, operands))


def _node(model: Model, layer: Layer, within: str) -> Node | SpecError | Unsupported:
    try:
        return model._node(layer, within)
    except (SpecError, Unsupported) as error:
        return error


def _follow(order: Sequence[Layer], wanted: Sequence[Layer], assumed: Assumptions) -> dict[Hashable, Range]:
    """The ranges of the values that some layers depend on, as far as rules know them."""
    need = set(wanted)
    for layer in reversed(order):
        if layer in need and (layer.type in _KNOWN or layer in wanted):
            need.update(ref.layer for ref in layer.sources())
    values: dict[Hashable, Range] = {}
    for layer in order:
        if layer in need:
            found = _layer(layer, _chosen(layer, values) if layer.type == "Select" else _inputs(layer, values))
            values.update((ref, _met(ref, one, assumed)) for ref, one in zip(layer.refs, found, strict=True))
    return values


def _inputs(layer: Layer, values: Mapping[Hashable, Range]) -> list[Range]:
    return [values.get(ref) or Range(None) for ref in layer.sources()]


def _chosen(layer: Layer, values: Mapping[Hashable, Range]) -> list[Range]:
    """The inputs of a Select, its branches being what they are where each is taken."""

    def maker(ref: Hashable) -> tuple[str, tuple[Hashable, ...]] | None:
        assert isinstance(ref, Ref)
        pdpd = table.rule(ref.layer) == "pdpd"  # elements do not meet as they do elsewhere
        return None if pdpd else (NAMES.get(ref.layer.type, ref.layer.type), tuple(ref.layer.sources()))

    def again(ref: Hashable, known: Mapping[Hashable, Range]) -> Range:
        assert isinstance(ref, Ref)
        return _layer(ref.layer, _inputs(ref.layer, {**values, **known}))[ref.output]

    condition, taken, other = layer.sources()
    found = _inputs(layer, values)
    if table.rule(layer) == "pdpd":
        return found
    seen = Values(maker, lambda ref: values.get(ref) or Range(None), again)
    return [found[0], *branches(seen, condition, taken, other)]


def _met(ref: Ref, found: Range, assumed: Assumptions) -> Range:
    """What is derived of a value, as far as what is assumed of it reaches."""
    for name in _called(ref) if assumed else ():
        found = assumed[name].meet(found) if name in assumed else found
    return found


def _layer(layer: Layer, inputs: Sequence[Range]) -> list[Range]:
    outputs = [dtype_of(port.type.element) for port in layer.outputs]
    if layer.type == "Parameter":
        return [full(dtype, "input") for dtype in outputs]
    if layer.type == "Const":
        return [_constant(layer, outputs[0])]
    if layer.type not in _KNOWN:
        return [full(dtype, layer.type) for dtype in outputs]
    attributes: dict[str, object] = {}
    if layer.type == "Clamp":
        attributes = {name: float(layer.data[name]) for name in ("min", "max")}
    elif layer.type == "Mod":
        attributes = {"fmod": 1}
    elif layer.type == "TopK":
        attributes = {"axis": table.axis(layer)}
    elif layer.type == "OneHot":  # what is on and off are inputs of their own
        inputs = [*inputs[:2], join(inputs[2:4])]
    elif layer.type == "Gather" and len(inputs) == 3 and not _is_inside(layer, inputs[1]):
        inputs = [join([inputs[0], within(inputs[0].dtype, 0, 0, integral=True)]), *inputs[1:]]
    sources = layer.sources()
    shapes = [ref.port.type.shape for ref in sources]
    kind = NAMES.get(layer.type, layer.type)
    step = Step(kind=kind, inputs=inputs, outputs=outputs, shapes=shapes, attributes=attributes, opset=13)
    found = result(replace(step, alike=len(set(sources)) == 1))
    return [replace(r, why=layer.type) if r.why == kind else r for r in found]


def _is_inside(layer: Layer, indices: Range) -> bool:
    """Whether all indices of a Gather are inside its table; of others 0 comes, which the runtime gives.

    Only from opset 8 on a negative index counts from the end.
    """
    table_shape, axis = layer.sources()[0].port.type.shape, layer.sources()[2].layer
    if indices.dtype is None or table_shape is None or axis.type != "Const" or axis.is_missing:
        return False
    if (stated := table.elements(axis)).size != 1:
        return False
    place = int(stated.reshape(-1)[0])
    size = table_shape[place] if -len(table_shape) <= place < len(table_shape) else None
    backwards = layer.opset not in ("opset1", "opset7")
    return isinstance(size, int) and (-size if backwards else 0) <= indices.lo and indices.hi < size


def _hands_out_16_bits(section: Section) -> bool:
    """Whether an output is an input that is quantised to 16 bits, and converted back at most."""
    found: set[Ref] = set()
    for layer in section.order():
        first = layer.sources()[0] if layer.inputs else None
        if layer.type == "Result" and first in found:
            return True
        quantises = layer.type == "FakeQuantize" and first is not None and first.layer.type == "Parameter"
        if (quantises and table.levels(layer) > _LEVELS) or (layer.type in _BACK and first in found):
            found.update(layer.refs)
    return False


_LEVELS = (1 << 16) - 1
_BACK = ("Convert", "Multiply", "Subtract")


def _constant(layer: Layer, dtype: str | None) -> Range:
    if dtype is None:
        return Range(None, constant=True, why="constant")
    if layer.is_missing:
        return replace(full(dtype, "constant that is not there"), constant=True)
    memory, blocks = table.blocks(layer)
    return of_blocks(blocks, memory, dtype)


def _kinds_of(layer: Layer) -> Iterator[str]:
    """What a layer is besides its attributes: the element types of its results, and its number where it has bodies."""
    yield from (str(ref.port.type.element) for ref in layer.refs)
    if layer.bodies:
        yield str(layer.id)


def _flows(model: Model) -> Iterator[tuple[str, Section, Flow, dict[Layer, int]]]:
    """Every section of a model with the start of its places, its flow, and the number of each layer there."""
    around: dict[int, tuple[str, ...]] = {}
    for place, section in model._sections():
        flow, numbers = _flow(section, around.get(id(section), ()))
        yield place, section, flow, numbers
        for layer in section.layers:
            name = DECIDED if layer.type == "If" and _is_decided(flow, numbers[layer]) else _onnx(layer)
            around.update((id(body), (*flow.within, name)) for _, body in layer.bodies)


def _is_decided(flow: Flow, index: int) -> bool:
    """Whether the condition of an If is a constant, or made of constants and sizes."""
    condition = flow.steps[index][1][:1]
    sizes = {name for operator, _, outputs in flow.steps if operator in OF_SHAPES for name in outputs}
    return bool(condition) and condition[0] in replace(flow, constants={*flow.constants, *sizes}).folded


def _flow(section: Section, within: Sequence[str]) -> tuple[Flow, dict[Layer, int]]:
    """A section's layers as their purposes are read off them, and the number of each there."""

    def name(ref: Ref) -> str:
        return f"{ref.layer.name}\0{ref.layer.id}.{ref.output}"

    layers = [layer for layer in section.layers if layer.type not in ("Parameter", "Result", "Const")]
    outputs = [ref for layer in section.layers for ref in layer.refs]
    dtypes = {name(ref): dtype for ref in outputs if (dtype := dtype_of(ref.port.type.element)) is not None}
    constant = {name(ref) for ref in outputs if ref.layer.type == "Const"}
    results = {name(ref) for layer in section.layers if layer.type == "Result" for ref in layer.sources()}
    shapes = {name(ref): _dims(shape, name(ref)) for ref in outputs if (shape := ref.port.type.shape) is not None}
    sizes = {key: size(static(shape)) for key, shape in shapes.items() if all(isinstance(dim, int) for dim in shape)}
    stored = {name(ref): ref.layer for ref in outputs if ref.layer.type == "Const" and not ref.layer.is_missing}

    def elements(one: str) -> Array | None:
        if one not in stored or sizes.get(one, _MOST_ELEMENTS + 1) > _MOST_ELEMENTS:
            return None
        return table.elements(stored[one]).reshape(-1)

    steps: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    numbers: dict[Layer, int] = {}
    for layer in layers:
        inputs = tuple(map(name, layer.sources()))
        if layer.type == "BatchNormInference" and layer.opset == "opset1":  # its scale and bias come first
            inputs = (*inputs[2:3], *inputs[:2], *inputs[3:])
        if layer.type in PRODUCTS:  # a third input of one is no bias, but a shape
            inputs = inputs[:2]
        if layer.type in GROUPED and len(inputs) > 1:
            steps.append(("Reshape", inputs[1:], (joined := f"{inputs[1]}\0{layer.id}",)))
            if (made := layer.sources()[1].layer).type == "Reshape" and (whole := name(made.sources()[0])) in shapes:
                shapes[joined] = shapes[whole]  # of ONNX, by whose groups it is reshaped
            elif len(dims := shapes.get(inputs[1], ())) > 1:
                shapes[joined] = _dims(_of_groups(*dims), joined)
            inputs = (inputs[0], joined)
        numbers[layer] = len(steps)
        steps.append((_onnx(layer), inputs, tuple(map(name, layer.refs))))
    places = {number: layer for layer, number in numbers.items()}

    def attributes(index: int) -> Hashable:
        layer = places.get(index)
        return None if layer is None else (frozenset(layer.data.items()), *_kinds_of(layer))

    flow = Flow(
        steps,
        constant,
        dtypes,
        outputs=results,
        shapes=shapes,
        sizes=sizes,
        elements=elements,
        within=within,
        attributes=attributes,
    )
    return flow, numbers


def _onnx(layer: Layer) -> str:
    """The name of ONNX's operator that a layer is, or its own type."""
    return PRODUCTS.get(layer.type) or READ_AS.get(layer.type) or NAMES.get(layer.type, layer.type)


def _dims(shape: Sequence[Dim], name: str) -> tuple[Dim, ...]:
    """A shape in which a size that is not known has a name that no other one has."""
    return tuple(dim if isinstance(dim, int) else f"{name}.{axis}" for axis, dim in enumerate(shape))


def _of_groups(groups: Dim, each: Dim, *others: Dim) -> tuple[Dim, ...]:
    """The shape of weights as ONNX has them: the first axis is of all groups."""
    return (groups * each if isinstance(groups, int) and isinstance(each, int) else None, *others)
