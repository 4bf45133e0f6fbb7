"""What a model must be before anything else is done with it. The rules are numbered where they are enforced.

``onnx.checker`` keeps some of these rules, lets others pass (a domain imported twice, data that is too long) and
knows operators, whose errors this package reports itself, where they stand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor_pool import DescriptorPool  # type: ignore[import-untyped,unused-ignore]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped,unused-ignore]
from google.protobuf.message_factory import GetMessageClass  # type: ignore[import-untyped,unused-ignore]
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped,unused-ignore]
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
)

from minuend.errors import FileFormatError
from minuend.onnx.documents import external, tensors
from minuend.onnx.graphs.call_counts import Calls, Key
from minuend.onnx.graphs.nesting import attribute_graphs, contained
from minuend.onnx.graphs.scope import Scope, domain_of, functions

_SHORT = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "TYPE_PROTO": "tp"}
_FIELDS = {kind: _SHORT.get(word, word.lower()) for word, kind in AttributeProto.AttributeType.items() if kind}
"""The field that holds an attribute of a type; those without a short name bear the type's."""

_NUMBERS = {AttributeProto.DESCRIPTOR.fields_by_name[name].number: name for name in _FIELDS.values()}
_ORDER = tuple(_FIELDS.values())
_NEEDED = ("t", "g", "sparse_tensor", "tp")
"""Fields that an attribute of their type has to have: a message that is not there is no value."""
_MOST_DEPTH = 30
"""Bodies in bodies; a protobuf message is read to a depth of 100, which is about as many."""
_MOST_OPSET = (1 << 31) - 1
"""What ONNX's own registry of operators can be queried with."""
_MOST_CALLS_DEEP = 100
"""Functions in functions, the bodies around their calls counted; ONNX's own checker takes no more either."""


def check_model(model: ModelProto) -> None:
    """Check the structure of a model; :mod:`.normalising` has put right what onnxruntime reads otherwise.

    Raises:
        FileFormatError: a rule is broken; the message says which, and where.
    """
    # 1. There is an IR version.
    if model.ir_version < 1:
        raise FileFormatError(f"its ir_version is {model.ir_version}; expected 1 or above")
    # 2. Each domain is imported once, at an opset of 1 or above; from IR version 3 on, imports are stated.
    _check_imports(model.opset_import, "the model")
    if not model.opset_import and model.ir_version >= 3:
        raise FileFormatError(
            f"it imports no opset and is of IR version {model.ir_version}; from 3 on opsets are stated"
        )
    _check_functions(model)
    for scope in _Scope.of(model):
        _check_scope(scope)


def check_message(model: ModelProto, raw: bytes | None = None) -> None:
    """Check what has to hold before anything in a model can be looked at.

    Args:
        model: the model. raw: the bytes that it was read from, where it was.

    Raises:
        FileFormatError: it does not.
    """
    # 0. Text is text, for protobuf's reader gives bytes for a string field that is no UTF-8; and there is a graph.
    if (raw is None or not _is_text(raw)) and (found := _no_text(model)) is not None:
        place, value = found
        raise FileFormatError(f"{place.lstrip('.')} is {value!r}; expected text in UTF-8")
    if not model.HasField("graph"):
        raise FileFormatError("there is no graph in it; expected an ONNX model")


def _is_text(raw: bytes) -> bool:
    """Whether a reader that insists on text takes a model; of a large one, which that would copy, it is not known."""
    if raw.isascii():
        return True
    if len(raw) > _LARGEST_READ_AGAIN:
        return False
    try:
        _strict_model().FromString(raw)
    except (DecodeError, UnicodeDecodeError):
        return False
    return True


@functools.cache
def _strict_model() -> Any:
    """ModelProto as a message of proto3, whose reader refuses text that is no UTF-8."""
    file = ModelProto.DESCRIPTOR.file
    pool = DescriptorPool()
    pool.AddSerializedFile(file.serialized_pb + _PROTO3)
    return GetMessageClass(pool.FindMessageTypeByName(ModelProto.DESCRIPTOR.full_name))


_PROTO3 = b"\x62\x06proto3"
"""The field ``syntax`` of a file of messages; the last one of several counts."""

_LARGEST_READ_AGAIN = 1 << 20
"""Bytes of a model up to which reading it once more is faster than a look at each of its fields."""


def _no_text(message: Any) -> tuple[str, object] | None:
    """Return the first place in a message that is to be text and is not, with what is there; ``None`` for none."""
    for name, is_list, is_message in _fields(message.DESCRIPTOR):
        if not is_list and not message.HasField(name):
            continue
        values = getattr(message, name) if is_list else (getattr(message, name),)
        for i, value in enumerate(values):
            if is_message:
                found = _no_text(value)
            elif isinstance(value, str):
                continue
            else:
                found = ("", value)
            if found is not None:
                return f".{name}[{i}]{found[0]}" if is_list else f".{name}{found[0]}", found[1]
    return None


@functools.cache
def _fields(descriptor: Any) -> list[tuple[str, bool, bool]]:
    """The fields of a message that are, or may hold, text: the name, whether it repeats, whether it is a message."""
    some = (one for one in descriptor.fields if one.message_type is not None or one.type == one.TYPE_STRING)
    return [(one.name, one.is_repeated, one.message_type is not None) for one in some]


def _check_imports(imports: Iterable[OperatorSetIdProto], where: str) -> None:
    seen: dict[str, str] = {}
    for item in imports:
        domain = domain_of(item.domain)
        if domain in seen:
            also = f" (as {seen[domain]!r} before; both are ONNX's main domain)" if seen[domain] != item.domain else ""
            raise FileFormatError(
                f"{where} imports the domain {item.domain!r} twice{also}; expected one opset for each domain"
            )
        if not 1 <= item.version <= _MOST_OPSET:
            wanted = "1 or above" if item.version < 1 else f"{_MOST_OPSET} at most"
            raise FileFormatError(
                f"{where} imports the domain {item.domain!r} at opset {item.version}; expected {wanted}"
            )
        seen[domain] = item.domain


def _check_functions(model: ModelProto) -> None:
    """Check names, imports and calls of the local functions."""
    if not model.functions:
        return
    places: dict[Key, str] = {}
    for function, where in functions(model):
        key = (function.domain, function.name, function.overload)
        # 3. A function is defined once.
        if key in places:
            raise FileFormatError(f"{where} of the domain {function.domain!r} is defined twice")
        places[key] = where
        _check_imports(function.opset_import, where)
    # 4. Functions do not call each other in a circle, nor so deep that a stack ends.
    local = Calls(model)
    if circle := local.circle():
        raise FileFormatError(f"functions may not call each other in a circle: {' → '.join(circle)}")
    deep = [places[key] for key, depth in local.depth.items() if depth > _MOST_CALLS_DEEP]
    if deep:
        raise FileFormatError(f"functions call each other more than {_MOST_CALLS_DEEP} deep, at {deep[0]}")


@dataclass(eq=False)
class _Scope(Scope):
    """A scope whose values become known one after the other.

    Attributes:
        known: its own values so far.
    """

    known: set[str] = field(default_factory=set, init=False)

    def sees(self, name: str) -> bool:
        """Whether a name has a meaning, here or around."""
        return name in self.known or (self.parent is not None and self.parent.sees(name))

    def define(self, name: str, place: Callable[[], str]) -> None:
        # 9. A name has one meaning, in bodies too (static single assignment).
        if not name:
            raise FileFormatError(f"{place()} has no name")
        if self.sees(name):
            raise FileFormatError(f"{place()} is a second value of that name; expected one for each name")
        self.known.add(name)


def _check_scope(scope: _Scope) -> None:
    # 5. Bodies are not nested without end.
    if sum(1 for _ in scope.around()) > _MOST_DEPTH + 1:
        raise FileFormatError(f"graphs are nested more than {_MOST_DEPTH} deep, at {scope.where}")
    for name in scope.inputs:
        scope.define(name, lambda: f"{scope.where}, input {name!r}")  # noqa: B023 - called at once
    if isinstance(scope.proto, FunctionProto):
        for attribute in scope.proto.attribute_proto:
            _check_attribute(attribute, f"{scope.where}, attribute {attribute.name!r}")
    else:
        _check_values(scope, scope.proto)
    _check_nodes(scope)
    for name in scope.outputs:
        # 10. What goes out was made; the output of a body can be a value around it.
        if not scope.sees(name):
            raise FileFormatError(f"{scope.where}, output {name!r} is made by nothing")


def _check_values(scope: _Scope, graph: GraphProto) -> None:
    """Check a graph's initializers, and the types that it states."""
    inputs, scope.known = scope.known, set()
    for tensor in graph.initializer:
        place = f"{scope.where}, initializer {tensor.name!r}"
        scope.define(tensor.name, lambda: place)  # noqa: B023 - as above
        _check_tensor(tensor, place)
    for sparse in graph.sparse_initializer:
        place = f"{scope.where}, sparse initializer {sparse.values.name!r}"
        scope.define(sparse.values.name, lambda: place)  # noqa: B023 - as above
        _check_sparse(sparse, place)
    for value in (*graph.input, *graph.value_info, *graph.output):
        _check_type(value.type, f"{scope.where}, value {value.name!r}")
    scope.known |= inputs  # an input may have an initializer, as its default


def _check_nodes(scope: _Scope) -> None:
    for i, node in enumerate(scope.nodes):
        _check_domain(scope, i, node)
        # 6. What a node reads was made before it.
        for name in node.input:
            if name and not scope.sees(name):
                raise FileFormatError(f"{scope.place(i)} reads {name!r}, which nothing before it makes")
        if node.attribute:
            _check_attributes(scope, i, node)
        for name in node.output:
            if name:
                scope.define(name, lambda: f"{scope.place(i)}, output {name!r}")  # noqa: B023 - as above


def _check_attributes(scope: _Scope, i: int, node: NodeProto) -> None:
    stated: set[str] = set()
    place = scope.place(i)
    for attribute in node.attribute:
        name = attribute.name
        at = f"{place}, attribute {name!r}"
        if name in stated:
            raise FileFormatError(f"{at} is stated twice")
        stated.add(name)
        _check_attribute(attribute, at)
        for inner, body in attribute_graphs(attribute):
            _check_scope(scope.inner(body, i, inner))


def _check_domain(scope: _Scope, i: int, node: NodeProto) -> None:
    """Check that the node's domain has an opset."""
    if not node.op_type:
        raise FileFormatError(f"{scope.place(i)} has no op_type")
    domain = domain_of(node.domain)
    # 7. A node's domain is imported.
    if domain not in scope.opsets:
        known = ", ".join(repr(name) for name in scope.opsets) or "none"
        place = scope.place(i)
        raise FileFormatError(f"{place} is of the domain {node.domain!r}, which is not imported (imports: {known})")


def _check_attribute(attribute: AttributeProto, place: str) -> None:
    # 8. An attribute has a name, a type that is known, and a value of that type alone.
    if not attribute.name:
        raise FileFormatError(f"{place} has no name")
    if any(field.field_number == AttributeProto.TYPE_FIELD_NUMBER for field in UnknownFieldSet(attribute)):
        raise FileFormatError(f"{place} has an unknown type; expected an AttributeProto.AttributeType")
    filled = _filled(attribute)
    if attribute.ref_attr_name:
        if filled:
            raise FileFormatError(f"{place} refers to {attribute.ref_attr_name!r} and has a value; expected one")
        return
    if attribute.type == AttributeProto.UNDEFINED:
        raise FileFormatError(f"{place} has no type; expected an AttributeProto.AttributeType")
    wanted = _FIELDS[attribute.type]
    if (wrong := [name for name in filled if name != wanted]) or (wanted in _NEEDED and not filled):
        came = f"the field {wrong[0]!r}" if wrong else "no value"
        word = AttributeProto.AttributeType.Name(attribute.type)
        raise FileFormatError(f"{place} is of type {word} and has {came}; expected {wanted!r}")
    if wanted in ("t", "tensors"):
        for tensor in contained(attribute, "t", "tensors"):
            _check_tensor(tensor, place)
    elif wanted in ("sparse_tensor", "sparse_tensors"):
        for sparse in contained(attribute, "sparse_tensor", "sparse_tensors"):
            _check_sparse(sparse, place)
    elif wanted in ("tp", "type_protos"):
        for type_ in contained(attribute, "tp", "type_protos"):
            _check_type(type_, place)


def _filled(attribute: AttributeProto) -> list[str]:
    """The fields of an attribute that hold a value, in the order of its types."""
    found = [_NUMBERS[field.number] for field, _ in attribute.ListFields() if field.number in _NUMBERS]
    return sorted(found, key=_ORDER.index) if len(found) > 1 else found


def _check_tensor(tensor: TensorProto, place: str) -> None:
    # 11. A tensor's data is what its type and dims say; data elsewhere is beneath the model.
    if tensors.is_external(tensor):
        external.reference(tensor, place)
    else:
        tensors.check(tensor, place)


def _check_sparse(sparse: SparseTensorProto, place: str) -> None:
    _check_tensor(sparse.values, f"{place}, values")
    _check_tensor(sparse.indices, f"{place}, indices")
    tensors.elements(sparse.dims, place)


def _check_type(type_: TypeProto, place: str, depth: int = 0) -> None:
    """Check a declared type: what it holds is known, and its dims can be sizes."""
    if depth > _MOST_DEPTH:
        raise FileFormatError(f"{place} has a type nested more than {_MOST_DEPTH} deep")
    kind = type_.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        inner = getattr(type_, kind)
        # 12. An element type is known (0 leaves it open), and no dim is below 0.
        if inner.elem_type and tensors.data_type(inner.elem_type) is None:
            raise FileFormatError(
                f"{place} has the elem_type {inner.elem_type}; expected a TensorProto.DataType that the package "
                "onnx knows"
            )
        tensors.elements([dim.dim_value for dim in inner.shape.dim if dim.HasField("dim_value")], place)
    elif kind in ("sequence_type", "optional_type"):
        _check_type(getattr(type_, kind).elem_type, place, depth + 1)
    elif kind == "map_type":
        _check_type(type_.map_type.value_type, place, depth + 1)
