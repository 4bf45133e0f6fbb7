"""One run of a DxDispatch model: everything is checked first, then the commands run on buffers in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import size
from minuend.directml.api.desc import TensorDesc
from minuend.directml.api.enums import DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT
from minuend.directml.dxdispatch.dispatch import (
    INPUTS,
    OUTPUT,
    TENSORS,
    Binding,
    Command,
    Dispatch,
    Dispatchable,
    Print,
    WriteFile,
)
from minuend.directml.dxdispatch.fields import placed
from minuend.directml.dxdispatch.resources import IMAGES, VALUE_TYPES, Resource, inside
from minuend.directml.operator import check_descs, element_wise_subtract
from minuend.errors import DTypeError, MinuendError, ResultTooLarge, SpecError, Unsupported, cut, listed, shown
from minuend.files.base import Result
from minuend.files.formats import npy
from minuend.files.streaming.reading import Array
from minuend.files.transaction.output_paths import check as check_output_paths
from minuend.files.transaction.output_paths import refuse_inputs
from minuend.files.transaction.writing import together
from minuend.schema import Item
from minuend.standards.version import OpVersion

_TEXT = {False: 100, True: 200}  # bytes that an element takes while it is made text, plain and verbose
_DEFERRED = "{!r} is deferred and nothing has been written to it; pass it as an input"
_MOST = 20  # dispatchables that a message lists


def _misbound(item: Item, message: str) -> SpecError:
    return SpecError("bindings", message, where=item.place)


@dataclass(eq=False)
class Execution:
    """A run: made with what it needs, checked, run, and its files written."""

    resources: Mapping[str, Resource]
    dispatchables: Mapping[str, Dispatchable]
    commands: Sequence[Command]
    inputs: dict[str, Any]
    op: OpVersion
    folder: str | None
    protected: Sequence[str]
    printed: list[str] = field(default_factory=list)
    results: dict[str, tuple[TensorDesc, int]] = field(default_factory=dict)  # the last tensor written, and its offset
    files: dict[str, tuple[WriteFile, bytes]] = field(default_factory=dict)
    memory: dict[str, Array] = field(default_factory=dict)
    outputs: dict[str, Array] = field(default_factory=dict)
    outside: bool = False  # whether deferred resources that are read may lack an input

    def __post_init__(self) -> None:
        self.elements = {name: resource.element for name, resource in self.resources.items()}
        self.sizes = {name: resource.size for name, resource in self.resources.items()}

    # ---- before anything is allocated -------------------------------------------------------------------------

    def check(self, limit: int | None) -> None:
        """Check everything that can be known beforehand."""
        self._check_operators()
        self._check_inputs()
        self._check_bindings()
        check_output_paths(self._output_paths(), self.protected, folders=True)
        self._check_memory(limit)

    def check_rules(self) -> None:
        """Check what DirectML demands of dispatchables and bindings; deferred resources may come from outside."""
        self.outside = True
        self._check_operators()
        self._check_bindings()

    def _check_bindings(self) -> None:
        for one in self.dispatchables.values():
            self._check_init(one)
        for command in self.commands:
            if isinstance(command, Dispatch):
                self._check_dispatch(command)
            elif self.outside:  # what is printed and written is no rule of DirectML
                continue
            elif isinstance(command, Print):
                self._typed(command.item, command.resource, "print")
            else:
                self._check_file(command)

    def _check_operators(self) -> None:
        foreign = [one for one in self.dispatchables.values() if not one.subtracts]
        if foreign:
            rows = [f"\n  {shown(one.name)}: {cut(one.type)}, at {one.item.place}" for one in foreign[:_MOST]]
            rows += [f"\n  and {len(foreign) - _MOST} more"] if len(foreign) > _MOST else []
            raise Unsupported(
                f"these dispatchables are no {self.op.operator}, the one operator that runs here:{''.join(rows)}"
            )
        for one in self.dispatchables.values():
            try:
                check_descs(self.op, one.descs)
            except SpecError as error:
                raise placed(error, one.item) from None

    def _check_inputs(self) -> None:
        for name, value in self.inputs.items():
            if name not in self.resources:
                known = listed((repr(r) for r in self.resources), "and") or "none"
                raise MinuendError(f"there is no resource {name!r} to pass a value for; the model has {known}")
            resource, array = self.resources[name], np.asarray(value)
            element = elements.of_numpy(array.dtype)
            if resource.form == "mixed":
                raise MinuendError(f"resource {name!r} holds values of several types; no array can replace them")
            if element not in VALUE_TYPES.values() or resource.element not in (None, element):
                wanted = listed(m.name for m, row in VALUE_TYPES.items() if resource.element in (None, row))
                raise DTypeError("types", f"the input {name!r} is {array.dtype}; expected {wanted}")
            if resource.form == "deferred":
                self.elements[name], self.sizes[name] = element, (array.nbytes + 3) // 4 * 4
            elif array.size != resource.count:
                wanted = f"expected {resource.count}, as many as its initial values"
                raise MinuendError(f"the input {name!r} has {array.size} elements; {wanted}")
            self.inputs[name] = array

    def _check_init(self, one: Dispatchable) -> None:
        # 1. What DirectML owns is bound when the dispatchable is initialised, and only then.
        for tensor, binding in one.init.items():
            if not one.owned(tensor):
                when = f"{tensor} is bound when {one.name!r} is initialised"
                raise _misbound(binding.item, f"{when} and is not OWNED_BY_DML; bind it in dispatch")
            self._check_binding(one, tensor, binding)
        for tensor in INPUTS:
            if one.owned(tensor) and tensor not in one.init:
                message = f"{tensor} of {one.name!r} is OWNED_BY_DML; bind it in the dispatchable's own bindings"
                raise _misbound(one.item, message)

    def _check_dispatch(self, command: Dispatch) -> None:
        one = self.dispatchables[command.dispatchable]
        for tensor in TENSORS:
            binding = command.bindings.get(tensor)
            if binding is not None and one.owned(tensor):
                when = f"bound when {one.name!r} is initialised; leave it out of dispatch"
                raise _misbound(binding.item, f"{tensor} is OWNED_BY_DML and {when}")
            if binding is not None:
                self._check_binding(one, tensor, binding)
            elif not one.owned(tensor):
                # 2. Every other tensor is bound in each dispatch.
                raise _misbound(command.item, f"nothing is bound to {tensor} of {one.name!r}")
        output = command.bindings[OUTPUT]
        self.results[output.resource] = (one.descs[OUTPUT], output.offset)

    def _check_binding(self, one: Dispatchable, tensor: str, binding: Binding) -> None:
        desc, name = one.descs[tensor], binding.resource
        # 3. A tensor begins at a multiple of 16 bytes, or of what its GuaranteedBaseOffsetAlignment promises.
        multiple = max(DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT, desc.guaranteed_base_offset_alignment)
        if binding.offset % multiple:
            message = f"{tensor} begins {binding.offset} bytes into {name!r}; expected a multiple of {multiple}"
            raise _misbound(binding.item, message)
        if self.resources[name].form == "deferred" and name not in self.inputs:
            self._defer(desc, tensor, binding)
        # 4. The rest of the buffer holds the tensor.
        left, wanted = self.sizes[name] - binding.offset, desc.total_tensor_size_in_bytes
        if left < wanted:
            has = f"{name!r} has {max(0, left)} bytes for {tensor} from byte {binding.offset} on"
            raise _misbound(binding.item, f"{has}; expected at least {wanted}, its TotalTensorSizeInBytes")

    def _defer(self, desc: TensorDesc, tensor: str, binding: Binding) -> None:
        """Size a deferred buffer by the tensor that is first written to it."""
        name = binding.resource
        if name in self.results:
            return
        if tensor != OUTPUT and not self.outside:
            raise binding.item.error(_DEFERRED.format(name), MinuendError)
        self.elements[name] = self.elements[name] or desc.element
        self.sizes[name] = max(self.sizes[name], binding.offset + desc.total_tensor_size_in_bytes)

    def _typed(self, item: Item, name: str, verb: str) -> ElementType:
        element = self.elements[name]
        if self.resources[name].form == "deferred" and name not in self.inputs and name not in self.results:
            raise item.error(_DEFERRED.format(name), MinuendError)
        if element is None:
            raise item.error(f"{name!r} holds values of several types; there is no one type to {verb} it in")
        return element

    def _check_file(self, command: WriteFile) -> None:
        item, suffix = command.item, os.path.splitext(command.target)[1].lower()
        if self.folder is None:
            message = f"this writes {command.target!r}; say which folder it may write within (output_dir)"
            raise item.error(message, MinuendError)
        path = self._path(command)
        if path is None:
            outside = f"{shown(command.target, 200)} leads out of the output folder"
            raise item.error(f"{outside}; files are written within it alone")
        if os.path.isdir(path):
            raise item.error(f"{path} is a folder; expected a file name")
        if suffix in IMAGES:
            raise item.error("images are not written; name a .npy, or another suffix for raw bytes", Unsupported)
        refuse_inputs([path], self.protected)
        if suffix != ".npy":
            return
        element = self._typed(item, command.resource, "write")
        dims, contained = command.dimensions, self.sizes[command.resource] // element.itemsize
        if size(dims) > contained:
            raise item.error(f"dimensions {dims} are {size(dims)} elements; the resource holds {contained}")

    def _check_memory(self, limit: int | None) -> None:
        owned = [binding.resource for one in self.dispatchables.values() for binding in one.init.values()]
        buffers = sum(self.sizes.values()) + sum(self.sizes[name] for name in owned)  # what is owned is copied
        results = sum(size(desc.sizes) * desc.element.itemsize for desc, _ in self.results.values())
        texts = sum(self._shown(c.resource) * _TEXT[c.verbose] for c in self.commands if isinstance(c, Print))
        files = sum(self.sizes[c.resource] for c in self.commands if isinstance(c, WriteFile))
        total = buffers + results + texts + files
        if limit is not None and total > limit:
            raise ResultTooLarge(
                f"running this takes {total} bytes (buffers {buffers}, results {results}, text {texts}, "
                f"files {files}), above the limit of {limit}; allow it with max_bytes={total}",
                nbytes=total,
                limit=limit,
            )

    # ---- the run ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the commands; ``outputs`` are then what was written to, by resource."""
        for name, resource in self.resources.items():
            self.memory[name] = self._filled(resource)
        owned = self._owned()
        for command in self.commands:
            if isinstance(command, Dispatch):
                self._dispatch(command, owned)
            elif isinstance(command, Print):
                self.printed.append(self._text(command))
            else:
                self._keep(command)
        self.outputs = {name: self._result(name, *written) for name, written in self.results.items()}

    def _filled(self, resource: Resource) -> Array:
        memory = np.zeros(self.sizes[resource.name], np.uint8)
        values = self.inputs.get(resource.name)
        if values is None:
            values = resource.values()
        native = values.dtype.newbyteorder("=")
        memory[resource.offset : resource.offset + values.nbytes].view(native)[...] = values.reshape(-1)
        return memory

    def _owned(self) -> dict[tuple[str, str], Array]:
        """What DirectML owns is taken when a dispatchable is initialised: before any command runs."""
        return {
            (one.name, tensor): self.memory[b.resource][b.offset :].copy()
            for one in self.dispatchables.values()
            for tensor, b in one.init.items()
        }

    def _dispatch(self, command: Dispatch, owned: Mapping[tuple[str, str], Array]) -> None:
        one = self.dispatchables[command.dispatchable]
        buffers = [
            owned[one.name, tensor]
            if one.owned(tensor)
            else self.memory[command.bindings[tensor].resource][command.bindings[tensor].offset :]
            for tensor in TENSORS
        ]
        try:
            element_wise_subtract(*one.descs.values(), *buffers, feature_level=self.op.version)
        except SpecError as error:
            raise placed(error, command.item) from None

    def _result(self, name: str, desc: TensorDesc, offset: int) -> Array:
        own = self.elements[name]
        element = own if own is not None and own.itemsize == desc.element.itemsize else desc.element
        flat = self.memory[name][offset : offset + desc.extent * element.itemsize].view(element.memory)
        strides = [step * element.itemsize for step in desc.element_strides]
        return np.lib.stride_tricks.as_strided(flat, desc.sizes, strides, writeable=False).copy()

    # ---- printing and writing ---------------------------------------------------------------------------------

    def _shown(self, name: str) -> int:
        """How many elements of a buffer are printed: as many as it has initial values, else all."""
        return self.resources[name].count or self.sizes[name] // self._element(name).itemsize

    def _element(self, name: str) -> ElementType:
        """The one type of a buffer that was checked to have one."""
        element = self.elements[name]
        assert element is not None
        return element

    def _text(self, command: Print) -> str:
        element, count = self._element(command.resource), self._shown(command.resource)
        raw = self.memory[command.resource][: count * element.itemsize]
        values = raw.view(element.memory).tolist()
        texts = [str(v) for v in values] if element.is_integer else [f"{v:g}" for v in values]
        if not command.verbose:
            return f"Resource '{command.resource}': {', '.join(texts)}"
        width, digits = len(str(count)), 2 * element.itemsize
        bits = raw.view(f"u{element.itemsize}").tolist()
        rows = [
            f"[{i:{width}}] {text} (0x{b:{digits}X})\n" for i, (text, b) in enumerate(zip(texts, bits, strict=True))
        ]
        return f"Resource '{command.resource}':\n{''.join(rows)}"

    def _output_paths(self) -> list[str]:
        """The files that are written, by their real paths; one that is written twice holds what came last."""
        paths = [self._path(command) for command in self.commands if isinstance(command, WriteFile)]
        return [path for path in dict.fromkeys(paths) if path is not None]

    def _path(self, command: WriteFile) -> str | None:
        """Where a file goes; ``None`` where that is out of the output folder, or there is none."""
        return None if self.folder is None else inside(self.folder, command.target.replace("\\", "/"))

    def _keep(self, command: WriteFile) -> None:
        """Take a buffer's bytes as they are now; the file is written when all has gone well."""
        path = self._path(command)
        assert path is not None
        self.files[path] = (command, self.memory[command.resource].tobytes())

    def writers(self) -> dict[str, Callable[[BinaryIO], None]]:
        """The files that the commands have made, by their real paths: what writes each to a stream."""
        return {path: partial(self._write, path, *made) for path, made in self.files.items()}

    def _write(self, path: str, command: WriteFile, data: bytes, stream: BinaryIO) -> None:
        if os.path.splitext(path)[1].lower() != ".npy":
            stream.write(data)
            return
        element = self._element(command.resource)
        dims = command.dimensions or (len(data) // element.itemsize,)
        array = np.frombuffer(data, element.memory, size(dims)).reshape(dims)
        npy.write(stream, [Result.of("", element, array)])

    def write(self) -> None:
        """Write the files: all or none."""
        writers = self.writers()
        with together(list(writers), self.protected, folders=True) as streams:
            for write, stream in zip(writers.values(), streams, strict=True):
                write(stream)
