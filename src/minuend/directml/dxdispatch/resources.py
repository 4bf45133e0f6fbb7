"""The resources of a DxDispatch model: buffers, each with initial values in one of six forms.

    [1, "nan", -2.5]                                          numbers of initialValuesDataType
    {"value": 0, "valueCount": 6}                             one number, repeated
    {"valueStart": 0, "valueDelta": 2, "valueCount": 6}       a sum that runs on, in the type itself
    {"sourcePath": "a.npy"}                                   a file: .npy, or raw bytes
    [{"type": "UINT32", "value": 42}, …]                      numbers of several types, without initialValuesDataType
    "deferred"                                                none: it comes from outside, or a dispatch makes it

The values lie ``initialValuesOffsetInBytes`` into a buffer of ``sizeInBytes``. Generated values are made when the
model runs, not when it is read.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import size
from minuend.directml.api.enums import DML_TENSOR_DATA_TYPE
from minuend.directml.dxdispatch.fields import UINT32, enum_of, uint64
from minuend.directml.dxdispatch.json_reader import describe
from minuend.errors import FileFormatError, MinuendError, Unsupported, listed, shown
from minuend.files.formats import npy
from minuend.files.streaming.reading import Array, File, open_file
from minuend.schema import Item

Form: TypeAlias = Literal["list", "constant", "sequence", "file", "mixed", "deferred"]

VALUE_TYPES: dict[DML_TENSOR_DATA_TYPE, ElementType] = {
    member: elements.TYPES[member.name.lower()]
    for member in DML_TENSOR_DATA_TYPE
    if member is not DML_TENSOR_DATA_TYPE.UNKNOWN and elements.TYPES[member.name.lower()].bits >= 8
}
"""The types that a resource's values can have: all of DirectML's but those of 4 bits."""

IMAGES = (".jpg", ".jpeg", ".png")
"""Suffixes that DxDispatch reads and writes as images."""

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True, slots=True)
class Resource:
    """One buffer of a model.

    Attributes:
        name: its name. item: its place in the file.
        form: which of the forms its initial values have.
        element: their element type; ``None`` for several types, and for a deferred resource that states none.
        count: how many elements the initial values are (bytes for several types); 0 for a deferred one.
        offset: where they begin, in bytes. size: of the whole buffer, in bytes; 0 for a deferred one.
        values: gives them as an array of one dim; made anew where they are generated.
        source: the file that they come from, or ``None``.
    """

    name: str
    item: Item
    form: Form
    element: ElementType | None
    count: int
    offset: int
    size: int
    values: Callable[[], Array]
    source: str | None = None

    @property
    def nbytes(self) -> int:
        return self.count * (1 if self.element is None else self.element.itemsize)


def read_resource(name: str, item: Item, folder: str | None) -> Resource:
    """Read one resource; files are read from the model's folder, and none where that is ``None``."""
    item.object("a resource: an object with initialValues")
    element = item.read("initialValuesDataType", _value_type, None)
    form, element, count, make, source = _initial_values(item.need("initialValues"), element, folder)
    if form == "deferred":
        return Resource(name, item, form, element, 0, 0, 0, make)
    nbytes = count * (1 if element is None else element.itemsize)
    offset, stated = item.read("initialValuesOffsetInBytes", uint64, 0), item.get("sizeInBytes")
    size = (nbytes + 3) // 4 * 4 if stated is None else uint64(stated)
    if offset + nbytes > size:
        raise (stated or item).error(
            f"sizeInBytes is {size}{'' if stated else ' (by default)'}, but {nbytes} bytes of values at "
            f"initialValuesOffsetInBytes {offset} end at {offset + nbytes}; set sizeInBytes to at least that"
        )
    return Resource(name, item, form, element, count, offset, size, make, source)


_Read: TypeAlias = tuple[Form, ElementType | None, int, Callable[[], Array], str | None]


def _initial_values(item: Item, element: ElementType | None, folder: str | None) -> _Read:
    if isinstance(item.value, str):
        if item.value != "deferred":
            raise item.wrong('a list of numbers, an object or "deferred"')
        return "deferred", element, 0, lambda: np.empty(0, np.uint8), None
    if isinstance(item.value, list):
        if not item.value:
            raise item.error("there are no values; a resource holds at least one")
        array = _mixed(item) if element is None else numbers(item, element)
        return "list" if element else "mixed", element, array.size, lambda: array, None
    found = item.object('a list of numbers, an object or "deferred"')
    keys = [key for key in ("value", "valueStart", "sourcePath") if key in found]
    if len(keys) != 1:
        came = listed(keys, "and") or "none"
        raise item.error(f"of value, valueStart and sourcePath {came} came; expected one")
    if keys == ["sourcePath"]:
        return _file(item["sourcePath"], element, folder)
    if element is None:
        raise item.error("generated values need a type; state initialValuesDataType")
    return _generated(item, element)


def _generated(item: Item, element: ElementType) -> _Read:
    count = item.need("valueCount").integer(1, UINT32)
    if (stated := item.get("value")) is not None:
        value = number(stated, element)
        return "constant", element, count, lambda: np.broadcast_to(np.array(value, element.memory), count), None
    start, delta = number(item["valueStart"], element), number(item.need("valueDelta"), element)

    def run_on() -> Array:
        values = np.full(count, delta, element.memory)
        values[0] = start
        with np.errstate(over="ignore", invalid="ignore"):
            # Every step is in the type itself: integers wrap, floats are rounded each time.
            return np.add.accumulate(values, dtype=element.memory, out=values)

    return "sequence", element, count, run_on, None


# ---- numbers --------------------------------------------------------------------------------------------------


def numbers(item: Item, element: ElementType) -> Array:
    """Return a list of numbers as an array of a type; see :func:`number`."""
    values: Any = item.value
    kinds = set(map(type, values))
    if element.is_integer:
        lowest, highest = element.limits
        if kinds == {int} and lowest <= min(values) and max(values) <= highest:
            return np.array(values, element.memory)
    elif kinds <= {int, float}:
        try:
            wide = np.array(values, np.float64)
        except OverflowError:  # an integer beyond every double: the slow way finds it
            wide = np.array([math.inf])
        with np.errstate(over="ignore"):
            array = wide.astype(element.memory)
        if np.isfinite(array).all():
            return array
    return np.array([number(entry, element) for entry in item.list()], element.memory)


def number(item: Item, element: ElementType) -> int | float:
    """Return one number of a type: an integer in range; for floats any that is in range once it is rounded."""
    value, spelled = item.value, element.name.upper()
    if element.is_integer:
        lowest, highest = element.limits
        if type(value) is not int or not lowest <= value <= highest:
            raise item.error(f"{describe(value)} is no {spelled}; expected an integer from {lowest} to {highest}")
        return value
    if isinstance(value, str) and value.lower() in _SPECIAL:
        return _SPECIAL[value.lower()]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise item.error(f'{describe(value)} is no {spelled}; expected a number, "nan", "inf" or "-inf"')
    try:
        wide = float(value)
    except OverflowError:
        wide = math.inf
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float64(wide).astype(element.memory)):
            raise item.error(
                f'{describe(value)} is beyond the range of {spelled}; write "inf" or "-inf" if that is meant'
            )
    return wide


def _mixed(item: Item) -> Array:
    parts = []
    for entry in item.list():
        entry.object('an object with "type" and "value" (initialValuesDataType is for a list of plain numbers)')
        kind = entry.need("type")
        element = _value_type(kind)
        if element is None or element.name == "float16":  # DxDispatch has no such case here
            wanted = (member.name for member, row in VALUE_TYPES.items() if row.name != "float16")
            raise kind.wrong(f"{listed(wanted)}, each value of several types")
        entry.read("name", Item.string, "")
        parts.append(np.array([number(entry.need("value"), element)], element.memory).view(np.uint8))
    return np.concatenate(parts)


def _value_type(item: Item) -> ElementType | None:
    """Read a type of values; ``None`` for UNKNOWN, which is the same as stating none."""
    member = enum_of(item, DML_TENSOR_DATA_TYPE)
    if member in VALUE_TYPES:
        return VALUE_TYPES[member]
    if member is DML_TENSOR_DATA_TYPE.UNKNOWN:
        return None
    raise item.wrong(f"a type that values can be given in: {listed(member.name for member in VALUE_TYPES)}")


# ---- files ----------------------------------------------------------------------------------------------------


def _file(item: Item, element: ElementType | None, folder: str | None) -> _Read:
    path = _beneath(item, folder)
    suffix = os.path.splitext(path)[1].lower()
    if suffix in IMAGES:
        raise item.error("images are not read; give the pixels as .npy or as raw bytes", Unsupported)
    with contextlib.closing(open_file(path)) as source:
        if suffix == ".npy":
            return _npy(item, element, source)
    if element is None:
        raise item.error("raw bytes need a type; state initialValuesDataType")
    nbytes = source.size
    if not nbytes or nbytes % element.itemsize:
        raise item.error(
            f"the file has {nbytes} bytes; expected a multiple of {element.itemsize}, the size of "
            f"{element.name.upper()}, above 0"
        )

    def values() -> Array:
        with _again(path, nbytes) as file:
            return file.read(0, nbytes).view(element.memory)

    return "file", element, nbytes // element.itemsize, values, path


def _npy(item: Item, element: ElementType | None, source: File) -> _Read:
    path = source.path
    try:
        header, elements = npy.elements_of(source, 0, source.size, path)
    except MinuendError as error:
        raise item.error(str(error)) from error
    if header.element not in VALUE_TYPES.values():
        wanted = listed(member.name for member in VALUE_TYPES)
        raise item.error(f"{path} holds {header.element}; expected {wanted}")
    if element is not None and element is not header.element:
        raise item.error(
            f"{path} holds {header.element} and initialValuesDataType is {element.name.upper()}; expected one type"
        )
    if not (count := size(header.shape)):
        raise item.error(f"{path} holds no elements; a resource holds at least one")

    def values() -> Array:
        with _again(path, source.size) as file:
            found = replace(elements, source=file).read()
        return found.astype(header.element.memory, copy=False).reshape(-1)

    return "file", header.element, count, values, path


@contextlib.contextmanager
def _again(path: str, nbytes: int) -> Iterator[File]:
    """Open a file that was looked at when the model was read: a model names more files than can be open at a time."""
    with contextlib.closing(open_file(path)) as file:
        if file.size != nbytes:
            raise FileFormatError(
                f"{path} had {nbytes} bytes when the model was read, and now {file.size}; read the model again"
            )
        yield file


def _beneath(item: Item, folder: str | None) -> str:
    """Return the real path of a file, which is a plain one within the model's folder."""
    name = item.string()
    if folder is None:
        raise item.error("the model came without a folder to read files from; read it by its path, or pass folder=")
    # DxDispatch is at home where folders are divided by backslashes.
    path = inside(folder, name.replace("\\", "/"))
    if path is None:
        raise item.error(f"{shown(name, 200)} leads out of the model's folder; files are read from within it alone")
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}, at {item.place}")
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise item.error(f"{path} is no plain file")
    return path


def inside(folder: str, name: str) -> str | None:
    """Return the real path of a name within a folder, all links followed; ``None`` where that is outside."""
    if "\0" in name:
        return None
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, name))
    return path if path.startswith(root.rstrip(os.sep) + os.sep) else None
