"""Images in zarr as OME-NGFF and GeoZarr describe them, which say where the pixels of arrays lie.

    OME-NGFF   a group's ``multiscales``: version 0.5 in the attribute ``ome``, before as an attribute itself
    GeoZarr    ``proj:code`` and such, and ``spatial:transform``, of an array or of the group that it lies in

Scales and translations of an array come first, then those of all arrays. Attributes that are no such description say
nothing here: they go to the difference like others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_Json = Mapping[str, Any]


_SYSTEMS = ("proj:code", "proj:epsg", "proj:wkt2", "proj:projjson")
_TRANSFORM = "spatial:transform"


def places(name: str, shape: Sequence[int], attributes: _Json, groups: Mapping[str, _Json]) -> dict[str, str]:
    """Return where the pixels of an array lie, by what each text settles.

    Args:
        name, shape, attributes: of the array. groups: the attributes of groups, by path.
    """
    near = {**groups.get(name.rpartition("/")[0], {}), **attributes}
    system = next((key for key in _SYSTEMS if near.get(key)), None)
    said = {} if system is None else {system: str(near[system])}
    if (
        isinstance(numbers := near.get(_TRANSFORM), list)
        and _are_numbers(numbers, len(numbers))
        and 1 not in shape[-2:]
    ):
        said[_TRANSFORM] = " ".join(f"{number:.12g}" for number in numbers)
    return said | _of_microscope(name, shape, groups)


def _of_microscope(name: str, shape: Sequence[int], groups: Mapping[str, _Json]) -> dict[str, str]:
    """Return where OME-NGFF has the pixels of an array lie; nothing of axes of one element.

    Axes are counted from the end, since an array is repeated over those that it lacks.
    """
    found = next(_images_of(name, groups), None)
    if found is None or len(found.axes) != len(shape):
        return {}
    steps, starts, others = _placed(found, len(shape))
    said: dict[str, str] = {}
    for k, (axis, size) in enumerate(zip(found.axes, shape, strict=True)):
        if size == 1:
            continue
        called = f"the OME-NGFF axis {axis.get('name')!r}"
        said[f"the OME-NGFF axis {k - len(shape)}"] = repr(axis.get("name"))
        said[f"the step of {called}"] = f"{steps[k]:.9g}"
        said[f"the start of {called}"] = f"{starts[k] + 0.0:.9g}"
        if unit := axis.get("unit"):
            said[f"the unit of {called}"] = str(unit)
        if axis.get("type") == "channel":
            said |= {f"the number of the channel {label!r}": str(number) for label, number in found.channels.items()}
    return said | {f"the OME-NGFF transformation {kind!r}": text for kind, text in others.items()}


def of_written(group: str, attributes: _Json, written: Mapping[str, Sequence[int]]) -> _Json:
    """Return the attributes of a group that is written, which describe no array that is not there, or has other axes.

    Args:
        group: its path. attributes: A's. written: the shapes of arrays, by path.
    """
    held = attributes.get("ome")
    described = held if isinstance(held, Mapping) else attributes
    if not isinstance(stated := described.get("multiscales"), list):
        return attributes

    def is_there(dataset: object, axes: object) -> bool:
        path = _path(group, dataset)
        if (shape := written.get(path)) is not None:
            return not isinstance(axes, list) or len(axes) == len(shape)
        return any(name.startswith(f"{path}/") for name in written)  # ndpyramid's levels are groups

    kept = []
    for one in filter(_is_image, stated):
        datasets = [dataset for dataset in one["datasets"] if is_there(dataset, one.get("axes"))]
        kept += [{**one, "datasets": datasets}] if datasets else []
    found = {key: value for key, value in described.items() if key != "multiscales"} | {"multiscales": kept}
    if not kept:
        found = {key: value for key, value in found.items() if key not in ("multiscales", "omero")}
    return found if described is attributes else {**attributes, "ome": found}


class _Image(NamedTuple):
    axes: list[_Json]
    transformations: list[_Json]
    channels: dict[str, int]


def _images_of(name: str, groups: Mapping[str, _Json]) -> Iterator[_Image]:
    """Find what describes an array, in the nearest group first."""
    for group in sorted((one for one in groups if not one or name.startswith(f"{one}/")), key=len, reverse=True):
        attributes = groups[group]
        held = attributes.get("ome")
        described: _Json = held if isinstance(held, Mapping) else attributes
        stated = described.get("multiscales")
        for one in filter(_is_image, stated if isinstance(stated, list) else []):
            for dataset in one["datasets"]:
                if _path(group, dataset) == name:
                    axes = [axis if isinstance(axis, Mapping) else {"name": axis} for axis in _list(one.get("axes"))]
                    stated_twice = (dataset, one)
                    transformations = [t for by in stated_twice for t in _list(by.get("coordinateTransformations"))]
                    yield _Image(axes, [t for t in transformations if isinstance(t, Mapping)], _channels(described))


def _placed(image: _Image, rank: int) -> tuple[list[float], list[float], dict[str, str]]:
    """Return the steps and starts along all axes, and transformations of other kinds."""
    steps, starts, others = [1.0] * rank, [0.0] * rank, {}
    for one in image.transformations:
        kind = str(one.get("type"))
        numbers = _list(one.get(kind))
        if kind == "identity":
            continue
        if kind not in ("scale", "translation") or not _are_numbers(numbers, rank):
            others[kind] = repr(one)
        elif kind == "scale":
            steps = [step * number for step, number in zip(steps, numbers, strict=True)]
            starts = [start * number for start, number in zip(starts, numbers, strict=True)]
        else:
            starts = [start + number for start, number in zip(starts, numbers, strict=True)]
    return steps, starts, others


def _channels(described: _Json) -> dict[str, int]:
    """Return the numbers of channels by their labels, which differ."""
    omero = described.get("omero")
    channels = _list(omero.get("channels")) if isinstance(omero, Mapping) else []
    labels = [str(one.get("label", "")) if isinstance(one, Mapping) else "" for one in channels]
    return {label: k for k, label in enumerate(labels) if label and labels.count(label) == 1}


def _is_image(stated: object) -> bool:
    return isinstance(stated, Mapping) and isinstance(stated.get("datasets"), list)


def _path(group: str, dataset: object) -> str:
    path = dataset.get("path") if isinstance(dataset, Mapping) else None
    return f"{group}/{path}".lstrip("/") if isinstance(path, str) else "/"


def _list(stated: object) -> list[Any]:
    return stated if isinstance(stated, list) else []


def _are_numbers(stated: Sequence[object], count: int) -> bool:
    return len(stated) == count and all(isinstance(one, int | float) for one in stated)
