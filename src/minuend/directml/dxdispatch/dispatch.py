"""The dispatchables and commands of a DxDispatch model: what is computed, on which buffers, in which order.

A dispatchable is an operator with its three tensors; a command binds buffers to them and runs it, prints a buffer, or
writes one to a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from minuend.directml.api.desc import TensorDesc
from minuend.directml.api.enums import DML_EXECUTION_FLAGS, DML_OPERATOR_TYPE, DML_TENSOR_FLAGS, c_name
from minuend.directml.dxdispatch.fields import UINT32, flags_of, tensor_desc, uint32, uint64
from minuend.directml.dxdispatch.resources import Resource
from minuend.directml.versions import DIALECT
from minuend.errors import listed
from minuend.schema import Form, Item, many

_OP = DIALECT.versions()[-1]
INPUTS: tuple[str, ...] = _OP.inputs.names
OUTPUT: str = _OP.outputs.names[0]
TENSORS = (*INPUTS, OUTPUT)
"""The bind points of subtraction."""

_SUBTRACT = DML_OPERATOR_TYPE.ELEMENT_WISE_SUBTRACT
_COMPILE_TYPES = ("DmlCompileOp", "DmlCompileGraph")


@dataclass(frozen=True, slots=True)
class Binding:
    """A buffer bound to a tensor.

    Attributes:
        resource: its name. offset: where the tensor begins, in bytes. item: its place in the file.
    """

    resource: str
    offset: int
    item: Item


@dataclass(frozen=True, slots=True)
class Dispatchable:
    """Something to run.

    Attributes:
        name: its name. type: the operator as the file writes it. item: its place.
        descs: the tensors by bind point; empty for an operator other than subtraction.
        init: what is bound when it is initialised: the tensors that are OWNED_BY_DML.
        flags: how it runs; the numbers do not depend on it.
    """

    name: str
    type: str
    item: Item
    descs: Mapping[str, TensorDesc] = field(default_factory=dict)
    init: Mapping[str, Binding] = field(default_factory=dict)
    flags: DML_EXECUTION_FLAGS = DML_EXECUTION_FLAGS.NONE

    @property
    def subtracts(self) -> bool:
        return bool(self.descs)

    def owned(self, tensor: str) -> bool:
        """Whether DirectML owns a tensor's data: it is then bound once, when the dispatchable is initialised."""
        return bool(self.descs[tensor].flags & DML_TENSOR_FLAGS.OWNED_BY_DML)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Run a dispatchable on buffers, by bind point."""

    item: Item
    dispatchable: str
    bindings: Mapping[str, Binding]


@dataclass(frozen=True, slots=True)
class Print:
    """Print a buffer's elements, one to a line with its bits where it is ``verbose``."""

    item: Item
    resource: str
    verbose: bool


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Write a buffer to a file; ``dimensions`` is a .npy's shape, empty for one dim."""

    item: Item
    resource: str
    target: str
    dimensions: tuple[int, ...]


Command: TypeAlias = Dispatch | Print | WriteFile
Resources: TypeAlias = Mapping[str, Resource]


# ---- dispatchables --------------------------------------------------------------------------------------------


def read_dispatchable(name: str, item: Item, resources: Resources) -> Dispatchable:
    """Read one dispatchable; an operator other than subtraction is stored by its type alone."""
    item.object("a dispatchable: an object with a type")
    written = item.need("type").string()
    if written not in (_SUBTRACT.name, c_name(_SUBTRACT)):
        return Dispatchable(name, written, item)
    fields = item.get("Desc") or item.get("desc") or item
    # The numbers are the same whatever compiles it, but a file that misspells it is wrong.
    if (compiled := item.get("dmlCompileType")) is not None and compiled.string() not in _COMPILE_TYPES:
        raise compiled.wrong(listed(_COMPILE_TYPES))
    return Dispatchable(
        name,
        written,
        item,
        descs={tensor: tensor_desc(fields.need(tensor)) for tensor in TENSORS},
        init=item.read("bindings", lambda found: _bindings(found, resources, TENSORS), {}),
        flags=item.read("executionFlags", lambda found: flags_of(found, DML_EXECUTION_FLAGS), DML_EXECUTION_FLAGS.NONE),
    )


# ---- commands -------------------------------------------------------------------------------------------------


def read_command(item: Item, resources: Resources, dispatchables: Mapping[str, Dispatchable]) -> Command:
    """Read one command; every name in it has to exist."""
    item.object("a command: an object with a type")
    kind = item.need("type")
    match kind.string().lower():  # the tool reads these words in any case
        case "dispatch":
            return _dispatch(item, resources, dispatchables)
        case "print":
            return Print(item, _known(item.need("resource"), resources), item.read("verbose", Item.boolean, False))
        case "writefile":
            shape = item.read("dimensions", _shape, ())
            return WriteFile(item, _known(item.need("resource"), resources), item.need("targetPath").string(), shape)
    raise kind.wrong("dispatch, print or writeFile")


def _shape(item: Item) -> tuple[int, ...]:
    return tuple(dim.integer(1, UINT32) for dim in item.list("a list of sizes"))


def _dispatch(item: Item, resources: Resources, dispatchables: Mapping[str, Dispatchable]) -> Dispatch:
    name = item.need("dispatchable")
    found = dispatchables.get(name.string())
    if found is None:
        raise name.error(f"there is no dispatchable {name.value!r}; expected {_names(dispatchables)}")
    if (groups := item.get("threadGroupCount")) is not None:  # for shaders alone, but read for every dispatch
        entries = many(uint32)(groups)
        if len(entries) != 3:
            raise groups.error(f"there are {len(entries)} entries; expected 3")
    bindings = item.need("bindings")
    return Dispatch(item, found.name, _bindings(bindings, resources, TENSORS if found.subtracts else None))


def _bindings(item: Item, resources: Resources, known: tuple[str, ...] | None) -> dict[str, Binding]:
    found = {}
    for tensor, entry in item.members("an object of bind points"):
        if known is not None and tensor not in known:
            raise entry.error(f"there is no bind point {tensor!r}; expected {listed(known, 'and')}")
        entries = entry.list() if isinstance(entry.value, list) else [entry]
        read = [_binding(one, resources) for one in entries]
        if known is not None and len(read) != 1:
            raise entry.error(f"{len(read)} resources are bound to {tensor}; expected 1")
        found[tensor] = read[0] if read else Binding("", 0, entry)
    return found


def _binding(item: Item, resources: Resources) -> Binding:
    if isinstance(item.value, str):
        return Binding(_known(item, resources), 0, item)
    item.object("a resource's name, or an object with one")
    name = _known(item.need("name"), resources)
    size, offset = (item.read(key, uint64, 0) for key in ("elementSizeInBytes", "elementOffset"))
    for key, form in _OF_NO_MEANING.items():
        item.read(key, form, None)
    item.read("counter", lambda found: _known(found, resources), "")
    element = resources[name].element
    if offset and not size and element is None:
        raise item.error(f"elementOffset counts elements, and {name!r} has no type; state elementSizeInBytes")
    return Binding(name, offset * (size or (element.itemsize if element else 0)), item)


_OF_NO_MEANING: Mapping[str, Form[object]] = {
    "elementCount": uint64,
    "counterOffsetBytes": uint64,
    "format": Item.string,
    "counter": Item.string,
    "shape": many(lambda dim: dim.integer(-(2**63))),
}
"""What means nothing to a tensor; but a file that misspells it is wrong."""


def _known(item: Item, resources: Resources) -> str:
    name = item.string("a resource's name")
    if name not in resources:
        raise item.error(f"there is no resource {name!r}; expected {_names(resources)}")
    return name


def _names(table: Mapping[str, object]) -> str:
    names = [repr(name) for name in table]
    shown = names if len(names) <= 10 else [*names[:9], f"{len(names) - 9} more"]
    return listed(shown) or "one that exists (there are none)"
