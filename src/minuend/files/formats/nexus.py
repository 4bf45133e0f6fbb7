"""NeXus in HDF5: a group of the class NXdata says which datasets stand along the axes of others.

    axes                        the group's: the name of what stands along each axis, ``.`` for nothing
    NAME_indices                along which axes NAME stands, where that is another one, or several
    signal, auxiliary_signals   the names of the others; older files state ``signal=1`` and ``axes="y:x"`` at a dataset

What is as long as its axis becomes that axis, as a dimension scale is one. Edges of bins, and what stands along several
axes, are further coordinates of the dataset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minuend.files.formats.coordinates import Attributes, Axis

_INDICES = "_indices"

Axes = tuple[Axis, ...]


class Placed(NamedTuple):
    """The axes of datasets by path, and the paths of further coordinates by that of the dataset."""

    axes: dict[str, Axes]
    further: dict[str, tuple[str, ...]]


class _Group(NamedTuple):
    said: Attributes
    members: dict[str, str]
    """Paths by name."""


def placed(
    axes: Mapping[str, Axes], groups: Mapping[str, Attributes], own: Mapping[str, Attributes], links: Mapping[str, str]
) -> Placed:
    """Return the axes of datasets with what groups of the class NXdata say of them.

    Args:
        axes: those of all datasets by path. groups, own: the attributes of groups and of datasets by path.
        links: what soft links lead to.
    """
    found = Placed(dict(axes), {})
    for path, said in groups.items():
        if said.get("NX_class") == "NXdata":
            inside = {one: one for one in axes} | {one: to for one, to in links.items() if to in axes}
            group = _Group(said, {one.rpartition("/")[2]: to for one, to in inside.items() if _folder(one) == path})
            _place(group, own, found)
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _place(group: _Group, own: Mapping[str, Attributes], found: Placed) -> None:
    """Place the datasets of a group."""
    signals = [group.members[name] for name in _signals(group, own) if name in group.members]
    if not signals:
        return
    shape = [axis.size for axis in found.axes[signals[0]]]
    names = _axes(group, own, signals[0])
    along = {name: [k] for k, name in enumerate(names)}
    along |= {
        key.removesuffix(_INDICES): _numbers(value) for key, value in group.said.items() if key.endswith(_INDICES)
    }
    first: dict[int, str] = {}
    others: dict[str, list[int]] = {}
    for name, dims in along.items():
        path = group.members.get(name)
        if path is None or path in signals or not all(0 <= k < len(shape) for k in dims):
            continue
        is_axis = dims and [axis.size for axis in found.axes[path]] == [shape[dims[0]]] and name == _of(names, dims[0])
        if is_axis and found.axes[path][0].path in ("", path):
            first[dims[0]] = path
        else:
            others[path] = dims
    for path in first.values():
        found.axes[path] = (replace(found.axes[path][0], path=path),)
    for path, dims in others.items():
        if [axis.size for axis in found.axes[path]] == [shape[k] for k in dims]:
            found.axes[path] = _named(found.axes[path], [first.get(k) for k in dims])
    for path in group.members.values():
        if path not in first.values() and [axis.size for axis in found.axes[path]] == shape and path not in others:
            found.axes[path] = _named(found.axes[path], [first.get(k) for k in range(len(shape))])
            found.further[path] = (*found.further.get(path, ()), *others)


def _named(axes: Axes, paths: Iterable[str | None]) -> Axes:
    """Return axes with the paths of what stands along them, where they have none."""
    return tuple(axis if axis.path else replace(axis, path=path or "") for axis, path in zip(axes, paths, strict=True))


def _of(names: list[str], k: int) -> str:
    return names[k] if k < len(names) else ""


def _signals(group: _Group, own: Mapping[str, Attributes]) -> list[str]:
    marked = [name for name, path in group.members.items() if str(own[path].get("signal")) == "1"]
    return [*(_texts(group.said.get("signal")) or marked), *_texts(group.said.get("auxiliary_signals"))]


def _axes(group: _Group, own: Mapping[str, Attributes], signal: str) -> list[str]:
    """Return the names of what stands along the axes of a signal."""
    if stated := _texts(group.said.get("axes")):
        return stated if len(stated) > 1 else _parts(stated[0])
    if stated := _texts(own[signal].get("axes")):
        return _parts(stated[0])
    numbered: dict[int, str] = {}
    for name, path in group.members.items():  # the oldest way: each says of which axis it is, counted from 1
        number, primary = str(own[path].get("axis")), str(own[path].get("primary", 1))
        if number.isdigit() and primary == "1":
            numbered.setdefault(int(number) - 1, name)
    return [numbered.get(k, ".") for k in range(max(numbered, default=-1) + 1)]


def _parts(text: str) -> list[str]:
    return [name for name in re.split(r"[\s:,\[\]]+", text) if name]


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(one) for one in value.flat] if isinstance(value, np.ndarray) and value.dtype.kind in "OUS" else []


def _numbers(value: object) -> list[int]:
    found = np.atleast_1d(np.asarray(value))
    return [int(one) for one in found.flat] if found.dtype.kind in "iu" else []
