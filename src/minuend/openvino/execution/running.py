"""Models of OpenVINO as they run: layer after layer, by this package, within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from minuend.child import Budget
from minuend.core.shapes import format_shape, may_be, size, static
from minuend.errors import ResultTooLarge, SpecError, Unsupported, listed
from minuend.files.base import quoted
from minuend.files.streaming.reading import Array
from minuend.names import unused
from minuend.openvino.execution import layers as table
from minuend.openvino.execution.inference import infer
from minuend.openvino.execution.layers import KINDS, kind_of, lacking
from minuend.openvino.ir import notation
from minuend.openvino.ir.sections import Layer, Section, Type
from minuend.openvino.tensor import Tensor

Value: TypeAlias = Array | Tensor


def run(
    section: Section, inputs: Mapping[str, object], results: Mapping[str, Layer], max_bytes: int | None
) -> dict[str, Value]:
    """Compute the results, by name; see :meth:`minuend.openvino.model.Model.run`."""
    order = section.order()
    _check_runs(order)
    given = _bind(section, inputs)
    found = _evaluate(order, given, max_bytes)
    protected = [array for _, array in given.values()]
    return {name: _returned(found[layer], protected) for name, layer in results.items()}


def values(section: Section, inputs: Mapping[str, object], max_bytes: int | None) -> dict[Layer, Array]:
    """Compute every layer that a result depends on; inputs and errors are those of :func:`run`."""
    order = section.order()
    _check_runs(order)
    found = _evaluate(order, _bind(section, inputs), max_bytes, keep=True)
    return {layer: array for layer, (_, array) in found.items()}


def _bind(section: Section, inputs: Mapping[str, object]) -> dict[Layer, tuple[Type, Array]]:
    names = input_names(section)
    by_name = {name: layer for layer, own in names.items() for name in own}
    bound: dict[Layer, tuple[Type, Array]] = {}
    for name, value in inputs.items():
        if name not in by_name:
            known = quoted(own[0] for own in names.values()) or "none"
            raise SpecError("inputs", f"there is no input {name!r}; expected {known}")
        layer = by_name[name]
        if layer in bound:
            raise SpecError("inputs", f"{name!r} is given twice; it is one input with {quoted(names[layer])}")
        bound[layer] = _bound(name, layer, value)
    if absent := [own[0] for layer, own in names.items() if layer not in bound]:
        raise SpecError("inputs", f"no array is given for {quoted(absent)}; every input takes one")
    return bound


def input_names(section: Section) -> dict[Layer, list[str]]:
    """Return what each Parameter goes by, in the file's order: its tensors' names, then its layer's name.

    No two go by one name. A tensor's name is before a layer's; of tensors of one name the first has it, and the others
    get a number behind it, as the runtime numbers them. A layer whose name is another's gets a number too.
    """
    found: dict[Layer, list[str]] = {layer: [] for layer in section.of_type("Parameter")}
    taken = set[str]()

    def take(layer: Layer, name: str) -> None:
        found[layer].append(name)
        taken.add(name)

    for layer in found:
        for name in dict.fromkeys(layer.outputs[0].names):
            take(layer, unused(name, taken))
    for layer, own in found.items():
        if layer.name not in taken:
            take(layer, layer.name)
        elif not own:
            take(layer, unused(layer.name, taken))
    return found


def _bound(name: str, layer: Layer, value: object) -> tuple[Type, Array]:
    wanted = layer.outputs[0].type
    if isinstance(value, Tensor):
        element, array = value.element_type, value.codes.view(value.element.memory)
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        element = table.name_of(array.dtype) or ""
        if not element:
            raise _unfit(name, f"is of {array.dtype.name}, which OpenVINO has not")
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    else:
        raise _unfit(name, f"is a {type(value).__name__}; expected a NumPy array of {wanted.element}")
    if wanted.element not in (element, "dynamic"):
        raise _unfit(name, f"is of {element}; expected {wanted.element}, and nothing is converted")
    dims = array.shape if wanted.shape is None else wanted.shape
    if len(dims) != array.ndim or not all(map(may_be, dims, array.shape)):
        raise _unfit(name, f"has shape {format_shape(array.shape)}; expected {format_shape(wanted.shape)}")
    return Type(element, array.shape), array


def _unfit(name: str, message: str) -> SpecError:
    return SpecError("inputs", f"input {name!r} {message}")


def _check_size(layer: Layer, type_: Type, max_bytes: int | None) -> None:
    if max_bytes is None or type_.shape is None or not all(isinstance(dim, int) for dim in type_.shape):
        return
    needed = notation.nbytes(type_.element, size(static(type_.shape))) or 0
    if needed > max_bytes:
        raise ResultTooLarge(
            f"a tensor of {type_.element} {format_shape(type_.shape)} takes {needed:,} bytes, above max_bytes "
            f"{max_bytes:,}; pass a larger max_bytes, or None for no limit",
            nbytes=needed,
            limit=max_bytes,
            where=layer.where,
        )


def _check_runs(order: list[Layer]) -> None:
    if missing := sorted({lacking(layer) for layer in order if kind_of(layer) is None}):
        raise Unsupported(
            f"this package does not run layers of type {listed(missing, 'and')}; it runs {listed(KINDS, 'and')}; "
            "run the model with openvino, or take the subtraction out of it"
        )


def _evaluate(
    order: list[Layer], given: Mapping[Layer, tuple[Type, Array]], max_bytes: int | None, *, keep: bool = False
) -> dict[Layer, tuple[str, Array]]:
    """Compute layer after layer; return what reaches each Result, or with ``keep`` all.

    Without, tensors are let go after their last use.
    """
    types = infer(order, {layer: type_ for layer, (type_, _) in given.items()})
    for ref, type_ in types.items():
        _check_size(ref.layer, type_, max_bytes)
    uses = Counter(ref.layer for layer in order for ref in layer.sources())
    computed = {layer: (type_.element, array) for layer, (type_, array) in given.items()}
    budget = Budget("running the model", sum(array.nbytes for _, array in given.values()))
    memory: dict[Layer, int] = {}
    for layer in order:
        if layer in given:
            continue
        operands = [computed[ref.layer] for ref in layer.sources()]
        computed[layer] = _computed(layer, operands, max_bytes)
        array = computed[layer][1]
        memory[layer] = array.nbytes if array.base is None else 0  # a view takes none of its own
        budget.check(sum(memory.values()))
        for ref in layer.sources():
            uses[ref.layer] -= 1
            if not uses[ref.layer] and not keep:
                del computed[ref.layer]
                memory.pop(ref.layer, None)
    return computed if keep else {layer: computed[layer] for layer in order if layer.type == "Result"}


def _computed(layer: Layer, operands: list[tuple[str, Array]], max_bytes: int | None) -> tuple[str, Array]:
    kind = KINDS[layer.type]
    arrays = [array for _, array in operands]
    types = [Type(element, array.shape) for element, array in operands]
    try:
        result = kind.infer(layer, types, lambda index: arrays[index])
        _check_size(layer, result, max_bytes)
        _check_promise(layer, result)
        table.check_array(result.shape or ())
        return result.element, kind.compute(layer, arrays, types, static(result.shape or ()))
    except SpecError as error:
        raise (error if error.where else error.at(layer.where)) from None
    except Unsupported as error:
        raise Unsupported(f"{layer.where}: {error}") from None


def _check_promise(layer: Layer, result: Type) -> None:
    """Check that a result has the rank that was inferred, as the runtime insists: a squeezed dim turned out to be 1."""
    promised = layer.outputs[0].type.shape if layer.outputs else None
    if promised is not None and result.shape is not None and len(promised) != len(result.shape):
        raise SpecError(
            "shape",
            f"{layer.type} gives shape {format_shape(result.shape)}, and the model's shapes promise "
            f"{format_shape(promised)}; pass inputs that fit",
        )


def _returned(value: tuple[str, Array], protected: list[Array]) -> Value:
    """A result for the caller: memory of its own, never the caller's input, the model's constants or a repeated row."""
    element, array = value
    own = array.flags.owndata or (array.flags.writeable and not any(np.may_share_memory(array, p) for p in protected))
    if not own or not array.flags.writeable or any(array is p for p in protected):
        array = np.array(array, order="C")
    row = notation.NUMERIC.get(element)
    if row is not None and row.numpy is None:
        return Tensor(row, array.view(np.uint8))
    return array
