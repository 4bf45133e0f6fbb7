"""The CF conventions, which netCDF, HDF5 and zarr files follow alike.

Variables are what a file holds beside its coordinates, what defines those (bounds, formula terms, nodes of geometries
and meshes) and the descriptions of coordinate systems; those belong to a variable, have to be the same on both sides,
and go with A's to the difference, as dimensions and attributes do. Cell measures, ancillary variables and formula terms
that are fields belong to a variable too, and so do texts along its axes; they go to the difference where both sides
have the same.

``_FillValue`` and ``missing_value`` are nodata. ``scale_factor`` times what is stored, plus ``add_offset``, is what
numbers mean: see :mod:`minuend.files.scale_offset`. Moments (``days since 2000-01-01``) have a difference in days.

A format says which axes, attributes and groups its variables have, and writes them again; what they mean is here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.errors import DTypeError, FileFormatError
from minuend.files.base import NO_TEXT, Result, Tensor, TensorFile, clipped, quoted
from minuend.files.formats import units as spelled
from minuend.files.formats.cf_scaling import OFFSET, SCALE, scale_and_offset
from minuend.files.formats.coordinates import Attributes, Axis, Companion, Coordinates, Part
from minuend.files.formats.missing import as_element, flat, with_one_value
from minuend.files.stored_elements import Converted, Elements
from minuend.files.streaming.reading import Array

FILL = "_FillValue"
_NODATA = (FILL, "missing_value")
_QUANTISED = (
    "_QuantizeBitGroomNumberOfSignificantDigits", "_QuantizeGranularBitRoundNumberOfSignificantDigits",
    "_QuantizeBitRoundNumberOfSignificantBits", "quantization", "quantization_nsb", "quantization_nsd",
)  # fmt: skip
_CELLS = ("bounds", "climatology", "nodes")
_CONTAINERS = ("geometry", "mesh")
TERMS, _MEASURES, _ANCILLARY = "formula_terms", "cell_measures", "ancillary_variables"
_TEXTS = "texts"
"""What stands for the attribute that would name texts along the axes of a variable."""
_INNER = {"interior_ring", "node_count", "part_node_count"}
_NAMING = {*_CELLS, *_CONTAINERS, TERMS, _MEASURES, _ANCILLARY}
_RAGGED = ("sample_dimension", "instance_dimension")
_FLAGS = ("flag_values", "flag_masks", "flag_meanings")
NOT_OF_A_DIFFERENCE = {*_NODATA, OFFSET, "valid_min", "valid_max", "valid_range", "actual_range", *_FLAGS, *_QUANTISED}
"""Attributes that would be wrong of a difference: its values lie in another range and mean none of A's flags, offsets
cancel, and it is exact."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a file, not read yet.

    Attributes:
        axes, attributes: its own. tensor: looks at it. companion: it as one that belongs to another, if it is of a type
            that is copied. is_text: whether its elements are texts.
        indexes: the paths of what says of which features its elements are, in ragged arrays.
        texts: those of texts along its axes. labels: those of coordinates that no attribute of its own names.
    """

    axes: tuple[Axis, ...]
    attributes: Attributes
    tensor: Callable[[], Tensor]
    companion: Callable[[], Companion | None]
    is_text: bool = False
    indexes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


Variables = Mapping[str, Variable]
Groups = Mapping[str, Attributes]
"""The attributes of groups by path; those of the whole file under ``""``."""


class _File(NamedTuple):
    variables: Variables
    groups: Groups
    placeable: bool


def tensors_of(
    path: str,
    variables: Variables,
    groups: Groups,
    what: str,
    *,
    placeable: bool | None = None,
    links: Mapping[str, str] = NO_TEXT,
    notes: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> TensorFile:
    """Return the variables of a file that belong to no other.

    Args:
        path: the file. variables: by path, all that it holds. groups: see :data:`Groups`.
        what: the format's word for a variable, for messages.
        placeable: whether the file could say where elements lie; ``None``: if any of its axes has a name.
        links: other names of variables. notes: for reports. left_out: what goes to no difference of all of it.
    """
    if placeable is None:
        placeable = any(axis.path for one in variables.values() for axis in one.axes)
    variables = _with_texts(_with_indexes(variables))
    file = _File(variables, groups, placeable)
    belonging = _belonging(variables, groups)
    openers = {
        name: functools.partial(_tensor, f"{path} {what} {clipped(name)}" if name else path, name, file)
        for name in variables
        if name not in belonging
    }
    texts = _texts_beside(variables, openers)
    unlisted = _unlisted(variables, openers)
    listed = [name for name in openers if name not in unlisted and name not in texts]
    linked = {name: to for name, to in links.items() if to in openers}
    if numbers := sorted(unlisted - texts):
        beside = f"{path} holds what belongs to other {what}s and is subtracted only where {path}::name selects it"
        left_out = (*left_out, f"{beside}: {quoted(numbers)}")
    if alone := quoted(sorted(texts - unlisted)):
        left_out = (*left_out, f"{path} holds texts along the axes of no {what}, which are left out: {alone}")
    if unused := quoted(_of_no_variable(variables, belonging, listed)):
        left_out = (*left_out, f"{path} holds coordinates of no {what}, which are left out: {unused}")
    if empty := quoted(_without_variables(groups, listed)):
        left_out = (*left_out, f"{path} has attributes of groups without a {what}, which are left out: {empty}")
    named = "" not in openers
    unlisted |= texts
    return TensorFile(path, named, openers, links=linked, unlisted=unlisted, notes=notes, left_out=left_out)


# ---- what belongs to a variable ------------------------------------------------------------------------------------


def _referred(attributes: Attributes, near: str, known: Collection[str], *keys: str) -> list[str]:
    """Return the paths of the variables that attributes refer to; ``crs: x y`` names all three."""
    names = (name for key in keys for name in re.split(r"[\s:]+", _text(attributes.get(key))) if name)
    return [path for name in names if (path := resolve(name, near, known)) is not None]


def _text(stated: object) -> str:
    return stated if isinstance(stated, str) else ""


def resolve(name: str, near: str, known: Collection[str]) -> str | None:
    """Find a path by its name in the group of another one, or in those around it."""
    group = near.rpartition("/")[0]
    while True:
        path = f"{group}/{name}".lstrip("/")
        if path in known:
            return path
        if not group:
            return None
        group = group.rpartition("/")[0]


def _belonging(variables: Variables, groups: Groups) -> set[str]:
    """Return the paths of the variables that belong to others, or to dimensions."""
    found = {name for name in variables if _is_of_axis(name, variables)}
    axes = [axis for one in variables.values() for axis in one.axes]
    found |= {path for axis in axes for path in axis.scales if _is_along(path, axis, variables)}
    # xarray names the coordinates of no variable in the group's own attribute
    near = [(name, one.attributes) for name, one in variables.items()]
    near += [(f"{group}/".lstrip("/"), {"coordinates": one.get("coordinates", "")}) for group, one in groups.items()]
    keys = ("coordinates", "grid_mapping", "quantization", *_CELLS, *_CONTAINERS)
    for name, attributes in near:
        found |= {*_referred(attributes, name, variables, *keys)} - {name}
    found |= {path for one in variables.values() for path in (*one.indexes, *one.labels)}
    containers = {path for name, of in near for path in _referred(of, name, variables, *_CONTAINERS)}
    for name in containers:
        found |= {one.path for one in _named_by(name, "", variables) if one.attribute not in _CONTAINERS}
    return found


def _with_indexes(variables: Variables) -> Variables:
    """Return variables with the counts and indexes of CF's ragged arrays that are of their elements."""
    found = [
        (name, sample if (sample := str(one.attributes.get("sample_dimension", ""))) else one.axes[0].name)
        for name, one in variables.items()
        if len(one.axes) == 1 and any(key in one.attributes for key in _RAGGED)
    ]
    if not found:
        return variables
    return {
        name: replace(one, indexes=tuple(at for at, along in found if along in [axis.name for axis in one.axes]))
        for name, one in variables.items()
    }


def _with_texts(variables: Variables) -> Variables:
    """Return variables with the texts along their axes."""
    found = [
        (name, {axis.path for axis in one.axes})
        for name, one in variables.items()
        if one.is_text and one.axes and all(axis.path for axis in one.axes)
    ]
    if not found:
        return variables
    along = {name: {axis.path for axis in one.axes} for name, one in variables.items() if not one.is_text}
    texts = {name: tuple(text for text, axes in found if axes <= own) for name, own in along.items()}
    return {name: replace(one, texts=texts.get(name, ())) for name, one in variables.items()}


def _texts_beside(variables: Variables, names: Collection[str]) -> set[str]:
    """Return the variables of texts, where others are there to subtract."""
    texts = {name for name in names if variables[name].is_text}
    return texts if len(texts) < len(names) else set()


def _of_no_variable(variables: Variables, belonging: Collection[str], listed: Sequence[str]) -> list[str]:
    """Return the paths of what belongs to a dimension that no variable has, or to nothing at all."""
    used: set[str] = set()
    for name in listed:
        labels = _labels(name, variables)
        used |= {*labels, *_referred(variables[name].attributes, name, variables, "grid_mapping", "quantization")}
        used |= {one.path for one in _parts(name, labels, variables)}
    return [name for name in variables if name in belonging and name not in used]


class _Named(NamedTuple):
    """A variable that another one names: what it is of which other in words, by which attribute."""

    path: str
    what: str
    attribute: str
    owner: str
    label: str


def _named_by(name: str, label: str, variables: Variables) -> list[_Named]:
    """Return what a variable names besides coordinates, and what that names in turn.

    ``label``: its path, where it is looked at as coordinates.
    """
    found: list[_Named] = []
    todo = [(name, f"coordinates {name.rpartition('/')[2]!r}" if label else "")]
    while todo:
        owner, what = todo.pop(0)
        for called, attribute, path in _named_in(variables[owner].attributes, owner, variables):
            if path != name and path not in [one.path for one in found]:
                described = f"{called} of the {what}" if what else called
                found.append(_Named(path, described, attribute, owner, label))
                todo += [] if attribute in (_MEASURES, _ANCILLARY) else [(path, described)]
    return found


def _named_in(attributes: Attributes, near: str, known: Collection[str]) -> list[tuple[str, str, str]]:
    """Return what attributes name besides coordinates: what it is called, the attribute, and its path."""
    within = [key for key in attributes if key in _INNER or key.endswith(("_coordinates", "_connectivity"))]
    if not within and attributes.keys().isdisjoint(_NAMING):
        return []
    found = []
    for keys, called in ((_CELLS, "bounds"), *(((key,), key) for key in (*_CONTAINERS, *within))):
        for k, path in enumerate(_referred(attributes, near, known, *keys)):
            key = next(key for key in keys if key in attributes)
            found.append((f"{called} {k + 1}" if k else called, key, path))
    for key in (TERMS, _MEASURES, _ANCILLARY):
        stated = attributes.get(key)
        pairs = [(to, to) for to in _text(stated).split()] if key == _ANCILLARY else roles(stated)
        found += [(f"{key} {role!r}", key, at) for role, to in pairs if (at := resolve(to, near, known)) is not None]
    return found


def roles(stated: object) -> list[tuple[str, str]]:
    """Return the roles that an attribute gives to variables, and their names: of ``a: hyam b: hybm``."""
    return re.findall(r"([^\s:]+)\s*:\s*([^\s:]+)", _text(stated))


def _parts(name: str, labels: Sequence[str], variables: Variables) -> list[_Named]:
    """Return what belongs to a variable and to its coordinates, whose paths are given, besides these.

    What is a term of coordinates has none of their terms: a difference of terms defines no places. What lies nowhere
    has nothing at all, and two variables that name each other are equals.
    """
    if not labels and not any(axis.path for axis in variables[name].axes):
        return []
    one = variables[name]
    found = [_Named(path, f"counts {path.rpartition('/')[2]!r}", "sample_dimension", path, "") for path in one.indexes]
    found += _named_by(name, "", variables)
    found += [_Named(path, f"texts {path.rpartition('/')[2]!r}", _TEXTS, name, "") for path in one.texts]
    for label in labels:
        own = _named_by(label, label, variables)
        found += [part for part in own if part.attribute != TERMS] if _is_among(name, own) else own
    return [
        part
        for part in found
        if part.path != name and part.path not in labels and not _is_among(name, _named_by(part.path, "", variables))
    ]


def _is_among(name: str, found: Sequence[_Named]) -> bool:
    return any(one.path == name for one in found)


def _unlisted(variables: Variables, tensors: Collection[str]) -> set[str]:
    """Return the paths of tensors that belong to others."""
    return {
        one.path for name in tensors for one in _parts(name, _labels(name, variables), variables) if one.path in tensors
    }


def _without_variables(groups: Groups, names: Collection[str]) -> list[str]:
    """Return the groups that have attributes, and in which no variable of those lies."""
    around = {name[:k] for name in names for k, letter in enumerate(name) if letter == "/"}
    return [group for group, attributes in groups.items() if group and attributes and group not in around]


def _is_of_axis(name: str, variables: Variables) -> bool:
    """Whether a variable holds the coordinates of the axis of its name."""
    return [axis.path for axis in variables[name].axes] == [name] != [""]


def _is_along(path: str, axis: Axis, variables: Variables) -> bool:
    """Whether a variable holds further coordinates of an axis."""
    return path in variables and [own.path for own in variables[path].axes] == [axis.path]


def _labels(name: str, variables: Variables) -> list[str]:
    """Return the paths of a variable's coordinates."""
    one = variables[name]
    paths = [axis.path for axis in one.axes if axis.path in variables and _is_of_axis(axis.path, variables)]
    paths += [path for axis in one.axes for path in axis.scales if _is_along(path, axis, variables)]
    paths += _referred(one.attributes, name, variables, "coordinates")
    paths += one.labels
    return [path for path in dict.fromkeys(paths) if path != name]


def _coordinates(name: str, one: Variable, variables: Variables) -> Coordinates | None:
    """Gather what says where a variable's elements lie; ``None`` where nothing does."""
    paths = _labels(name, variables)
    labels = {path: label for path in paths if (label := variables[path].companion())}
    labels = {path: label for path, label in labels.items() if _fits(label.axes, one.axes)}
    left_out = tuple(path for path in paths if path not in labels)

    def copied(found: Sequence[str | None]) -> tuple[Companion, ...]:
        others = (variables[path].companion() for path in found if path is not None)
        return tuple(other for other in others if other is not None)

    mapping = str(one.attributes.get("grid_mapping", ""))
    systems = copied([resolve(system, name, variables) for system in _systems(mapping)])
    if not labels and not systems and not left_out and not any(axis.path for axis in one.axes):
        return None
    undefined = {path for path in paths if _is_among(name, _named_by(path, path, variables))}
    by_name: dict[str, Companion] = {}
    for path, label in labels.items():
        by_name[path if label.name in by_name else label.name] = _without_terms(label) if path in undefined else label
    if systems and ":" not in mapping:
        mapping = systems[0].name
    named = [part for part in _parts(name, paths, variables) if not part.label or part.label in labels]
    parts = {part.what: found for part in named if (found := _part(part, variables, undefined)) is not None}
    left_out += tuple(part.path for part in named if part.what not in parts)
    return Coordinates(one.axes, by_name, systems, mapping, parts, left_out)


def _without_terms(one: Companion) -> Companion:
    return replace(one, attributes={key: value for key, value in one.attributes.items() if key != TERMS})


def _part(named: _Named, variables: Variables, undefined: Collection[str]) -> Part | None:
    """Return what belongs to a variable or to coordinates; ``None`` where its type is none that is copied.

    ``undefined``: the paths of coordinates whose terms are not there.
    """
    found, owner = variables[named.path].companion(), variables[named.owner]
    if found is None:
        return None
    along = {axis.path for axis in owner.axes}
    settles = named.attribute not in (_MEASURES, _ANCILLARY, _TEXTS)
    settles &= named.attribute != TERMS or {axis.path for axis in found.axes} <= along
    meaning = {**owner.attributes, **found.attributes} if named.attribute in _CELLS else found.attributes
    found = _without_terms(found) if named.label in undefined else found
    return Part(found, named.owner, named.attribute, named.label, meaning, settles)


def _systems(mapping: str) -> list[str]:
    """Return the names of coordinate systems: of one, or of those in ``crs: x y other: z``."""
    return re.findall(r"([^\s:]+)\s*:", mapping) or mapping.split()[:1]


def _fits(axes: Sequence[Axis], others: Sequence[Axis]) -> bool:
    """Whether axes of one name have one length; a format that does not define dimensions has others too."""
    sizes = {axis.path: axis.size for axis in others if axis.path}
    return all(sizes.get(axis.path, axis.size) == axis.size for axis in axes)


# ---- a variable ----------------------------------------------------------------------------------------------------


def _tensor(where: str, name: str, file: _File) -> Tensor:
    """Look at a variable and at what belongs to it."""
    one = file.variables[name]
    found, attributes = _of_the_sign_stated(one.tensor(), one.attributes)
    _check_meaning(found.element, attributes, where)
    own = {k: v for k, v in attributes.items() if k not in NOT_OF_A_DIFFERENCE}
    around = {group: value for group, value in file.groups.items() if not group or name.startswith(f"{group}/")}
    scale, offset = scale_and_offset(one.attributes, where)
    nodata = _nodata(attributes, found.element, where) or _not_a_time(attributes, found.element)
    about = replace(
        found.about,
        nodata=nodata[0] if nodata else None,
        grid=_coordinates(name, one, file.variables),
        attributes=MappingProxyType(own),
        groups=MappingProxyType(around),
        placeable=file.placeable,
        scale=scale,
        offset=offset,
        origin=_origin(one.attributes),
        conventions=MappingProxyType({**found.about.conventions, **_system_of_gdal(one.attributes)}),
    )
    if len(nodata) < 2:
        return replace(found, about=about)
    stated = " and ".join(map(str, nodata))
    note = f"{where} states the nodata values {stated}: its difference has {nodata[0]} for each of them"
    return replace(
        found,
        about=replace(about, notes=(*about.notes, note)),
        elements=lambda: with_one_value(found.elements(), nodata[0], nodata[1:]),
    )


def _system_of_gdal(attributes: Attributes) -> dict[str, str]:
    """Return the coordinate system that GDAL states in an attribute of zarr, by the shortest of its names."""
    stated = attributes.get("_CRS")
    named = stated if isinstance(stated, Mapping) else {}
    key = next((key for key in ("url", "wkt", "projjson") if key in named), None)
    return {} if key is None else {f"_CRS ({key})": str(named[key])}


def _of_the_sign_stated(tensor: Tensor, attributes: Attributes) -> tuple[Tensor, Attributes]:
    """Return a tensor as ``_Unsigned`` has it, for formats that lack one sign, and the attributes without that one.

    Its values of nodata are of the stored type, and mean what elements of these bits do.
    """
    if "_Unsigned" not in attributes:
        return tensor, attributes
    others = {name: value for name, value in attributes.items() if name != "_Unsigned"}
    wanted = {"true": "uint", "false": "int"}.get(str(attributes["_Unsigned"]).lower())
    stored = np.dtype(tensor.element.memory)
    if stored.kind not in "iu" or wanted is None or stored.name.startswith(wanted):
        return tensor, others
    element = elements.TYPES[f"{wanted}{tensor.element.bits}"]

    def seen(found: Array) -> Array:
        # in the byte order that they have by now: zarr gives one without axes in the machine's
        return found.view(element.memory.newbyteorder(found.dtype.byteorder))

    def converted() -> Elements:
        found = tensor.elements()
        return Converted(found, element.memory.newbyteorder(found.dtype.byteorder), seen)

    for key in others.keys() & {*_NODATA}:
        values = [(one, as_element(one, tensor.element)) for one in flat(others[key])]
        others[key] = [
            one if value is None else np.array(value, stored).view(element.memory)[()] for one, value in values
        ]
    return replace(tensor, element=element, elements=converted), others


def _check_meaning(element: ElementType, attributes: Attributes, where: str) -> None:
    """Refuse numbers that mean something else than they are."""
    if attributes.get("dtype") == "bool" and element.is_integer:  # as xarray stores bools
        raise DTypeError("types", elements.refusal("bool"), where=where)


def _nodata(attributes: Attributes, element: ElementType, where: str) -> tuple[int | float, ...]:
    """Return the values that mean no data; the first of them is that of the difference."""
    values: dict[Any, int | float] = {}
    for key in _NODATA:
        for one in flat(attributes[key]) if key in attributes else ():
            if (
                not isinstance(one, np.integer | np.floating) and type(one) is not int
            ):  # JSON has longer ones than NumPy
                raise FileFormatError(f"{where} states the {key} {attributes[key]!r}; expected a number")
            value = as_element(one, element)
            if value is not None:
                values.setdefault("nan" if value != value else value, value)  # noqa: PLR0124
    if len(values) > 1:
        values.pop("nan", None)  # a difference of NaN is NaN whatever is stated
    return tuple(values.values())


def _not_a_time(attributes: Attributes, element: ElementType) -> tuple[int | float, ...]:
    """Return what xarray writes for a moment or a duration that is none (NaT), where no value is stated for them."""
    is_time = _origin(attributes) or str(attributes.get("dtype", "")).startswith("timedelta64")
    return (element.limits[0],) if is_time and element.name == "int64" else ()


def fill_of(attributes: Attributes, dtype: np.dtype[Any]) -> Any:
    """Return the fill value that attributes state, in a type; ``None`` where they state none that it has."""
    fill, row = flat(attributes.get(FILL)), elements.of_numpy(dtype)
    if row is None or len(fill) != 1 or not isinstance(fill[0], np.integer | np.floating):
        return None
    value = as_element(fill[0], row)
    return None if value is None else dtype.type(value)


def _origin(attributes: Attributes) -> str:
    """Return what moments are counted from, with the calendar; ``""`` of other numbers."""
    units = attributes.get("units")
    if not isinstance(units, str) or spelled.since(units) is None:
        return ""
    calendar = attributes.get("calendar")
    return units if calendar is None else f"{units} ({calendar})"


def without_origin(attributes: Attributes) -> Attributes:
    """Return the attributes of the difference of two moments: ``days since 2000-01-01`` become ``days``."""
    found = {name: value for name, value in attributes.items() if name != "calendar"}
    units = str(found["units"])
    since = spelled.since(units)
    return found | {"units": since.unit if since else units}


def without_names(attributes: Attributes, names: Collection[str]) -> Attributes:
    """Return attributes that no longer name variables; formula terms of which one lacks define nothing."""
    found = dict(attributes)
    for key in found.keys() & {TERMS, _MEASURES, _ANCILLARY}:
        stated = re.findall(r"\S+" if key == _ANCILLARY else r"[^\s:]+\s*:\s*[^\s:]+", str(found[key]))
        kept = [one for one in stated if re.split(r"[\s:/]", one)[-1] not in names]
        if len(kept) == len(stated):
            continue
        if key == TERMS or not kept:
            del found[key]
        else:
            found[key] = " ".join(kept)
    return found


# ---- writing -------------------------------------------------------------------------------------------------------


def placed(result: Result) -> Coordinates:
    """Where a result's elements lie: what A says, or axes without names."""
    grid = result.about.grid
    if isinstance(grid, Coordinates) and tuple(axis.size for axis in grid.axes) == result.shape:
        return grid
    return Coordinates(tuple(Axis("", size) for size in result.shape))


def with_names(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return axes that all have names, for formats in which they must."""
    return tuple(axis if axis.path else Axis(f"dim_{k}_of_{axis.size}", axis.size) for k, axis in enumerate(axes))


def is_text(name: str) -> bool:
    """Whether UTF-8 holds a name."""
    return name == name.encode(errors="replace").decode()


def companions(results: Sequence[Result]) -> dict[str, Companion]:
    """Return all that belongs to results, by path."""
    found: dict[str, Companion] = {}
    for where in map(placed, results):
        for one in where.companions:
            found.setdefault(one.path, one)
    return found


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse a file in which something would be a difference and coordinates of one, and names that are no text."""
    for name in companions(results):
        if not is_text(name):
            raise FileFormatError(
                f"{path}: the name {clipped(name)} is no text that UTF-8 holds; rename the coordinates"
            )
    if both := companions(results).keys() & {result.name for result in results}:
        raise FileFormatError(
            f"{path}: {clipped(min(both))} would be a difference and coordinates; select variables by file::name"
        )


def attributes_of(result: Result, *, attached: bool = False) -> dict[str, object]:
    """Return what is written of a result: names of coordinates that are there, and the scale, but for nodata.

    Args:
        result: what is written. attached: whether the format attaches further coordinates to axes, without their names.
    """
    where = placed(result)
    without = {axis.path for axis in where.axes}
    without |= {path for axis in where.axes for path in axis.scales} if attached else set()
    names = " ".join(name for name, one in where.labels.items() if one.path not in without)
    found = {
        name: value
        for name, value in result.about.attributes.items()
        if name not in ("coordinates", "grid_mapping") and not is_dataclass(value)  # what a format keeps for itself
    }
    found |= {"coordinates": names} if names else {}
    found |= {"grid_mapping": where.mapping} if where.systems else {}
    scale = result.about.scale  # which formats without attributes state elsewhere
    return found if scale == 1 or SCALE in found else {**found, SCALE: scale}


def groups_of(results: Sequence[Result]) -> dict[str, Attributes]:
    """Return the attributes of the groups that results lie in; the first one's where several state them."""
    found: dict[str, Attributes] = {}
    for result in results:
        for group, attributes in result.about.groups.items():
            if not group or result.name.startswith(f"{group}/"):
                found.setdefault(group, {k: v for k, v in attributes.items() if k != "coordinates"})
    return found


def owners(
    results: Sequence[Result], companions: Mapping[str, Companion], groups: Groups
) -> list[tuple[str, Attributes]]:
    """Return all that has attributes in a file that is written: results, groups and what belongs to results.

    What says where nodata and coordinates are is written anew, and not among them.
    """
    anew = {FILL, "coordinates", "grid_mapping"}
    found = [(result.name, result.about.attributes) for result in results]
    found += [(f"/{group}", attributes) for group, attributes in groups.items()]
    found += [(name, one.attributes) for name, one in companions.items()]
    return [(owner, {k: v for k, v in attributes.items() if k not in anew}) for owner, attributes in found]
