"""This package broken on purpose, in a way or two for each surface: what a surface does not report, it cannot see.

    python tools/differential/breaks.py                    # random cases of every surface until its breaks are reported
    python tools/differential/breaks.py --surface zarr --seconds 60

A break stands where the surface calls the package: a number becomes another one, an attribute is lost, a refusal does
not come. The tests run a small case of each break (``tests/tools/test_differential_breaks.py``).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

SECONDS = 60.0
"""In which a surface has to report a break."""


@dataclass(frozen=True)
class Break:
    """A defect put into the package.

    Attributes:
        surface, what: whose cases report it, and what is wrong. broken: the package while it is so.
        case: the fields of a case that shows it.
    """

    surface: str
    what: str
    broken: Callable[[], AbstractContextManager[Any]]
    case: dict[str, Any]


def _around(where: str, change: Callable[..., Any]) -> Callable[[], AbstractContextManager[Any]]:
    """Have ``change`` called in place of a function, with the function and its arguments.

    Args:
        where: the module, then the names of the function in it: ``minuend:subtract``.
    """

    @contextlib.contextmanager
    def broken() -> Iterator[None]:
        module, _, names = where.partition(":")
        *path, name = names.split(".")
        holder: Any = functools.reduce(getattr, path, importlib.import_module(module))
        own = getattr(holder, name)

        def call(*given: Any, **named: Any) -> Any:  # a function, so that a class binds it
            return change(own, *given, **named)

        with mock.patch.object(holder, name, call):
            yield

    return broken


def _result(where: str, change: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """Have what a function returns changed."""
    return _around(where, lambda own, *given, **named: change(own(*given, **named)))


def _never_refused(where: str, otherwise: Callable[..., Any] = lambda *_, **__: None) -> Any:
    """Have a function return something where it refuses."""

    def call(own: Callable[..., Any], *given: Any, **named: Any) -> Any:
        from minuend.errors import MinuendError

        try:
            return own(*given, **named)
        except MinuendError:
            return otherwise(*given, **named)

    return _around(where, call)


def _refuses(where: str, error: Callable[[], Exception] | None = None) -> Callable[[], AbstractContextManager[Any]]:
    """Have a function refuse whatever it is given."""

    def call(*_: Any, **__: Any) -> Any:
        from minuend.errors import SpecError

        raise SpecError("shapes", "nothing is taken") if error is None else error()

    return _around(where, call)


# ---- arrays and the libraries' objects ----------------------------------------------------------------------------


def _other(found: Any) -> Any:
    """An array or a tensor whose first element is another one."""
    if type(found).__module__.startswith("jax"):
        return found.at[(0,) * found.ndim].set(found[(0,) * found.ndim] + 1) if found.size else found
    if type(found).__module__.startswith("torch"):
        return found + found.isfinite()
    if isinstance(found, np.generic):
        return found.dtype.type(not found)
    if isinstance(found, np.ndarray) and found.size:
        first = (0,) * found.ndim
        found[first] = np.zeros((), found.dtype) if found[first] else np.ones((), found.dtype)
    return found


def _without(name: str, value: Any) -> Callable[[Any], Any]:
    def change(found: Any) -> Any:
        setattr(found, name, value)
        return found

    return change


def _polars_plus_one(found: Any) -> Any:
    return found + 1


def _overflow() -> Exception:
    from minuend.errors import OverflowFound

    return OverflowFound("nothing fits", count=1, index=(0,), a=0, b=0)


SUBTRACT = "minuend:subtract"
LIBRARIES = ("numpy-objects", "pandas", "polars", "xarray", "dask", "torch", "jax")
ARRAYS = (
    Break("arrays", "an element", _result(SUBTRACT, _other), {"a": [2], "b": [2]}),
    Break("arrays", "an element of onnx.sub", _result("minuend:onnx.sub", _other), {"function": "onnx"}),
    Break("arrays", "an element of openvino.subtract", _result("minuend:openvino.subtract", _other),
          {"function": "openvino"}),
    Break("arrays", "a count", _result("minuend:count_overflows", lambda n: n + 1),
          {"function": "count", "dtype": "int8"}),
    Break("arrays", "all is refused", _refuses(SUBTRACT, _overflow), {"a": [2], "b": [2]}),
    *(Break(name, "all is refused", _refuses(SUBTRACT), {}) for name in LIBRARIES),
    Break("arrays", "no refusal of shapes", _never_refused(SUBTRACT), {"b": [2]}),
    Break("large-arrays", "an element", _result(SUBTRACT, _other), {"outs": False}),
    Break("large-arrays", "all is refused", _refuses(SUBTRACT), {}),
    Break("directml-buffers", "an element", _around(
        "minuend:directml.element_wise_subtract",
        lambda own, *given, **named: (own(*given, **named), _other(given[5]))[0]), {}),
    Break("directml-buffers", "all is refused", _refuses("minuend:directml.element_wise_subtract"), {}),
    Break("directml-buffers", "no refusal of types", _never_refused("minuend:directml.element_wise_subtract"),
          {"level": "1.0", "dtype": "int8"}),
    Break("numpy-objects", "an element", _result(SUBTRACT, _other), {}),
    Break("numpy-objects", "a class", _result(SUBTRACT, np.asarray), {"a": "tagged"}),
    Break("numpy-objects", "a mask", _result(SUBTRACT, np.ma.getdata), {"a": "masked"}),
    Break("numpy-objects", "no refusal of units", _never_refused(SUBTRACT), {"a": "quantity"}),
    Break("pandas", "an element", _result(SUBTRACT, lambda one: one + 1), {"dtype": "int8"}),
    Break("pandas", "attrs", _result(SUBTRACT, _without("attrs", {})), {"attrs": ["x", "x"]}),
    Break("pandas", "a name", _result(SUBTRACT, _without("name", None)), {"names": ["n", "n"]}),
    Break("pandas", "no refusal of labels", _never_refused(SUBTRACT, lambda a, b, out=None, **_: a - b),
          {"relation": "other"}),
    Break("polars", "an element", _result(SUBTRACT, _polars_plus_one), {"dtypes": ["Int8"]}),
    Break("polars", "a name", _result(SUBTRACT, lambda one: one.alias("x")), {}),
    Break("polars", "no refusal of nulls", _never_refused(SUBTRACT, lambda a, b, out=None, **_: a - b),
          {"nulls": "a"}),
    Break("xarray", "an element", _result(SUBTRACT, lambda one: one + 1), {"dtype": "int8"}),
    Break("xarray", "attributes", _result(SUBTRACT, _without("attrs", {})),
          {"attrs": ["u", "u"], "keep": "true"}),
    Break("xarray", "no refusal of types", _never_refused(SUBTRACT, lambda a, b, out=None, **_: a - b),
          {"other": "int8"}),
    Break("xarray", "nodes of a tree", _result(SUBTRACT, lambda one: one + 1 if hasattr(one, "subtree") else one),
          {"a": "dataset", "b": "dataset", "tree": True}),
    Break("dask", "an element", _result(SUBTRACT, lambda one: one + 1), {"dtype": "int8"}),
    Break("dask", "chunks", _result(SUBTRACT, lambda one: one.rechunk(1)), {"chunks": [[2], [2]]}),
    Break("dask", "no refusal of types", _never_refused(SUBTRACT, lambda a, b, out=None, **_: a - b),
          {"other": "float64"}),
    Break("array-api", "an element", _result(SUBTRACT, lambda one: one + 1), {"dtype": "int8"}),
    Break("array-api", "the device", _result(SUBTRACT, lambda one: one.to_device(one.device.__class__("CPU_DEVICE"))),
          {"devices": ["1", "1"]}),
    Break("torch", "an element", _result(SUBTRACT, _other), {"dtype": "int8"}),
    Break("torch", "a gradient", _result(SUBTRACT, lambda one: one.detach()), {"grads": [True, True]}),
    Break("torch", "the layout", _around("minuend.libraries.torch_tensors:_has_one_layout", lambda *_: True),
          {"shape": [2, 2, 2, 2], "second": [2, 2, 2, 2], "views": ["channels last", "plain"]}),
    Break("torch", "that out was written", _around("minuend.libraries.torch_tensors:increment_version",
                                                   lambda *_: None), {"out": "out"}),
    Break("torch", "a tangent inside a tangent", _around("minuend.libraries.torch_tensors:_forward_mode",
                                                         lambda *_: contextlib.nullcontext()),
          {"transform": "jacfwd in jacfwd"}),
    Break("torch", "integers of less than a byte", lambda: mock.patch(
        "minuend.libraries.torch_tensors._PLAIN", mock.MagicMock(__contains__=lambda *_: True)), {"dtype": "uint2"}),
    Break("torch", "a constant in what is traced", _around("minuend.libraries.torch_tensors:_check_recorder",
                                                           lambda *_: None),
          {"dtype": "bfloat16", "transform": "make_fx"}),
    Break("torch", "no refusal of types", _never_refused(SUBTRACT, lambda a, b, out=None, **_: a - b),
          {"other": "float64"}),
    Break("jax", "an element", _result(SUBTRACT, _other), {"dtype": "int8"}),
    Break("jax", "no refusal inside jit", _around(SUBTRACT, lambda own, a, b, out=None, **more: a - b),
          {"inside": "jit"}),
)  # fmt: skip


# ---- files --------------------------------------------------------------------------------------------------------


def _written(change: Callable[[Path], None]) -> Callable[[], AbstractContextManager[Any]]:
    """Have each difference changed after it was written."""

    def call(own: Callable[..., Any], a: str, b: str, out: str, **named: Any) -> Any:
        report = own(a, b, out, **named)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            change(Path(out))
        return report

    return _around("minuend.files.difference:subtract_files", call)


SUBTRACT_FILES = "minuend.files.difference:subtract_files"
FORMATS = ("npy", "safetensors", "png", "tiff", "geotiff", "hdf5", "netcdf", "zarr", "zarr_arrays", "formats",
           "pb")  # fmt: skip


def _counted(report: Any) -> Any:
    """A report that counts one too many of whatever it counts."""
    made = []
    for one in report.tensors:
        counts = {name: getattr(one, name) for name in ("overflowed", "nans", "nodata")}
        made.append(replace(one, **{name: n + 1 for name, n in counts.items() if n is not None}))
    return replace(report, tensors=tuple(made))


_UNREFUSED = _never_refused("minuend.files.difference:subtract_files", lambda *_, **__: SimpleNamespace())


def _npy(path: Path) -> None:
    if path.suffix == ".npy":
        np.save(path, _other(np.load(path)))


def _pb(path: Path) -> None:
    import onnx

    proto = onnx.load_tensor(path)
    made = onnx.numpy_helper.from_array(_other(np.array(onnx.numpy_helper.to_array(proto))), proto.name)
    path.write_bytes(made.SerializeToString())


def _in_c_order(path: Path) -> None:
    np.save(path, np.ascontiguousarray(np.load(path)))


def _safetensors(path: Path, text: bool = False) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(path, "pt") as file:
        held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        said = file.metadata()
    save_file(held if text else {name: _other(one) for name, one in held.items()}, path, None if text else said)


def _png(path: Path, mode: str = "") -> None:
    from PIL import Image

    with Image.open(path) as image:
        image.load()
        made = image.convert(mode) if mode else Image.fromarray(_other(np.array(image)))
    made.save(path)


def _tiff(path: Path, **options: Any) -> None:
    import tifffile

    array = tifffile.imread(path)
    given: dict[str, Any] = {"tile": (256, 256), "compression": "zlib", "metadata": None}
    tifffile.imwrite(path, array if options else _other(array), **(given | options))


def _raster(path: Path, change: Callable[[Any], None]) -> None:
    import rasterio

    with rasterio.open(path, "r+") as file:
        change(file)


def _pixel(file: Any) -> None:
    file.write(_other(file.read()))


def _crs(file: Any) -> None:
    file.crs = "EPSG:3857"


def _nodata(file: Any) -> None:
    file.nodata = 3


def _hdf5(path: Path, change: Callable[[Any], None]) -> None:
    import h5py

    with h5py.File(path, "r+") as file:
        change(file["v"])


def _element(array: Any) -> None:
    array[...] = _other(np.asarray(array[...]))


def _attribute(name: str) -> Callable[[Any], None]:
    def change(array: Any) -> None:
        del array.attrs[name]

    return change


def _netcdf(path: Path, change: Callable[[Any], None]) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "a") as file:
        file.set_auto_maskandscale(False)
        change(file)


def _variable(file: Any) -> None:
    _element(file.variables["v"])


def _unit(file: Any) -> None:
    file.variables["v"].delncattr("units")


def _coordinate(file: Any) -> None:
    _element(file.variables["d0"])


def _zarr(path: Path, change: Callable[[Any], None], name: str = "") -> None:
    import zarr

    change(zarr.open(store=str(path), path=name, mode="r+"))


FILES = (
    *(Break(name, "all is refused", _refuses(SUBTRACT_FILES), {}) for name in FORMATS),
    *(Break(name, "a count", _result(SUBTRACT_FILES, _counted), {}) for name in FORMATS),
    Break("formats", "an element", _written(_npy), {}),
    Break("formats", "an attribute", _written(functools.partial(_hdf5, change=_attribute("units"))),
          {"a": "hdf5", "out": ".h5", "says": ["units"]}),
    Break("formats", "the notes", _result(SUBTRACT_FILES, lambda report: replace(report, notes=())),
          {"says": ["units"]}),
    Break("pb", "an element", _written(_pb), {}),
    Break("pb", "no refusal of a segment", _UNREFUSED, {"broken": "segment"}),
    Break("npy", "an element", _written(_npy), {}),
    Break("npy", "the order", _written(_in_c_order), {"layout": "F", "layout_b": "F"}),
    Break("npy", "no refusal of records", _UNREFUSED, {"dtype": "record"}),
    Break("safetensors", "an element", _written(_safetensors), {}),
    Break("safetensors", "the text", _written(functools.partial(_safetensors, text=True)), {"text": 1}),
    Break("safetensors", "no refusal of names", _UNREFUSED, {"missing": 2}),
    Break("png", "an element", _written(_png), {}),
    Break("png", "the mode", _written(functools.partial(_png, mode="RGB")), {}),
    Break("png", "no refusal of palettes", _UNREFUSED, {"mode": "P"}),
    Break("tiff", "an element", _written(_tiff), {}),
    Break("tiff", "the tiles", _written(functools.partial(_tiff, tile=(16, 16))), {}),
    Break("tiff", "no refusal of four axes", _UNREFUSED, {"form": "two axes", "flavor": "shaped"}),
    Break("geotiff", "a pixel", _written(functools.partial(_raster, change=_pixel)), {}),
    Break("geotiff", "the system", _written(functools.partial(_raster, change=_crs)),
          {"crs": "EPSG:32633", "transform": "north"}),
    Break("geotiff", "the nodata value", _written(functools.partial(_raster, change=_nodata)),
          {"nodata": "7", "nodata_b": "7"}),
    Break("geotiff", "no refusal of places", _UNREFUSED,
          {"crs": "EPSG:32633", "transform": "north", "move": "pixel"}),
    Break("hdf5", "an element", _written(functools.partial(_hdf5, change=_element)), {}),
    Break("hdf5", "an attribute", _written(functools.partial(_hdf5, change=_attribute("units"))),
          {"extras": ["attributes"]}),
    Break("hdf5", "no refusal of references", _UNREFUSED, {"dtype": "reference"}),
    Break("netcdf", "an element", _written(functools.partial(_netcdf, change=_variable)), {}),
    Break("netcdf", "an attribute", _written(functools.partial(_netcdf, change=_unit)), {}),
    Break("netcdf", "a coordinate", _written(functools.partial(_netcdf, change=_coordinate)),
          {"index": ["float64"]}),
    Break("netcdf", "no refusal of places", _UNREFUSED, {"index": ["float64"], "b_is": "shifted"}),
    Break("zarr", "an element", _written(functools.partial(_zarr, change=_element, name="v")), {}),
    Break("zarr", "an attribute", _written(functools.partial(_zarr, change=_attribute("units"), name="v")), {}),
    Break("zarr", "no refusal of units", _UNREFUSED, {"b_is": "other unit"}),
    Break("zarr_arrays", "an element", _written(functools.partial(_zarr, change=_element)), {}),
    Break("zarr_arrays", "an attribute", _written(functools.partial(_zarr, change=_attribute("units"))),
          {"storage_a": ["attributes"]}),
    Break("zarr_arrays", "no refusal of types", _UNREFUSED, {"dtype_b": "int8"}),
)  # fmt: skip


# ---- models -------------------------------------------------------------------------------------------------------


def _turned(model: Any) -> Any:
    """A model whose subtractions have their operands in the other order."""
    changed = type(model)()
    changed.CopyFrom(model)
    for node in changed.graph.node:
        if node.op_type == "Sub":
            node.input[:] = list(node.input)[::-1]
    return changed


def _of_another(own: Callable[..., Any], model: Any, *given: Any, **named: Any) -> Any:
    return own(_turned(model) if hasattr(model, "graph") else model, *given, **named)


def _renamed(own: Callable[..., Any], model: Any, *given: Any, **named: Any) -> Any:
    """Convert a model whose output has another name."""
    if hasattr(model, "graph"):
        changed = type(model)()
        changed.CopyFrom(model)
        old = changed.graph.output[0].name
        changed.graph.output[0].name = "other"
        for node in changed.graph.node:
            node.output[:] = ["other" if name == old else name for name in node.output]
        model = changed
    return own(model, *given, **named)


def _same_model(model: Any, to: Any) -> Any:
    """A model that says it is of another opset."""
    changed = type(model)()
    changed.CopyFrom(model)
    changed.opset_import[0].version = int(str(to).rpartition(":")[2])
    return SimpleNamespace(model=changed, losses=[], changes=[])


def _unconverted() -> Exception:
    from minuend.errors import ConversionRefused

    return ConversionRefused("it cannot be said there", {"it": "it cannot be said there"})


def _refusing_for(reason: str) -> Callable[[], Exception]:
    def error() -> Exception:
        from minuend.errors import ConversionRefused

        return ConversionRefused(reason, {"it": reason})

    return error


def _known_defect() -> Exception:
    from minuend.errors import Unsupported

    return Unsupported("run", "onnxruntime is wrong for this: it takes the indices as those of output_shape")


def _refusing(own: Callable[..., Any], model: Any, *given: Any, **named: Any) -> Any:
    from minuend.errors import ConversionRefused
    from minuend.onnx.opsets.schemas import INVALID

    raise ConversionRefused(INVALID, {"it": INVALID})


def _first_output(found: dict[str, Any]) -> dict[str, Any]:
    name = next(iter(found))
    return found | {name: _other(np.array(found[name]))}


def _another_node(fixed: Any) -> Any:
    if fixed.changes:
        for node in fixed.model.graph.node:
            node.doc_string = "changed"
    return fixed


def _all_refused(fixed: Any) -> Any:
    """A report in which nothing is fixed, and each subtraction is refused."""
    from minuend.rewriting.work import Refusal

    refusal = Refusal("graph.node[0]", "", "", "it cannot be fixed", "")
    return replace(fixed, model=fixed.original.handout, changes=(), touched=(), refused=(refusal,), notes=())


def _all_left(own: Callable[..., Any], request: Any) -> Any:
    """Leave what has to be rewritten."""
    return replace(own(request), action="leave", recipe=None)


def _in_bodies_left(own: Callable[..., Any], request: Any) -> Any:
    """Leave what has to be rewritten where it is in a body."""
    return own(request) if request.occurrence.where.count("node[") == 1 else _all_left(own, request)


def without(recipe: str) -> Callable[[], AbstractContextManager[Any]]:
    """Have one recipe serve no type."""
    return _around(
        "minuend.operators.recipe:Recipe.serves",
        lambda own, one, *given: one.name != recipe and own(one, *given),
    )


def _unfixed(own: Callable[..., Any], model: Any, *given: Any, **named: Any) -> Any:
    """Say of a model that nothing was changed that it was."""
    return replace(own(model, *given, **named), model=model)


def _longer(own: Callable[[list[str]], int], argv: list[str]) -> int:
    """Run a command, and write a byte more to its output."""
    status = own(argv)
    if "-o" in argv and (out := Path(argv[argv.index("-o") + 1])).exists():
        out.write_bytes(out.read_bytes() + b"\0")
    return status


def _says(verdict: str) -> Callable[[], AbstractContextManager[Any]]:
    """Have check say one thing of everything."""

    def call(report: Any) -> Any:
        for one in report.findings:
            object.__setattr__(one, "verdict", verdict)
        return report

    return _result("minuend:check", call)


def _without_assumptions(found: Any) -> Any:
    return type(found)(found.dtype, found.shape)


def _unknown_dims(found: Any) -> Any:
    return type(found)(found.dtype, found.shape and (None,) * len(found.shape), found.assumptions)


def _one_type_fewer(row: Any) -> Any:
    return replace(row, types=row.types[1:])


def _another_answer(own: Callable[..., Any], folder: str, test: Any) -> Any:
    return own(folder, replace(test, expected=test.expected ^ 1))


def _without_rank_0(own: Callable[..., Any], opsets: Any) -> Any:
    return [test for test in own(opsets) if "rank_0" not in test.name]


def _first_result(found: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        _other(np.array(one)) if i == 0 and isinstance(one, np.ndarray) else one for i, one in enumerate(found)
    )


def _known_of_the_evaluator() -> Exception:
    from minuend.errors import Unsupported

    return Unsupported("ONNX's reference evaluator is wrong for this Identity: it is not")


RUN = "minuend.onnx.backend:BackendRep.run"
_DOWN = {"op": "Abs", "opset": 13, "inputs": [["float", [2], "any"]], "to": 12}
"""What onnx's converter refuses."""
_CHAIN = {"dtype": "int32", "steps": [["sub", [2], "input", 1]]}
MODELS = (
    Break("convert", "operands are turned", _around("minuend:convert", _of_another),
          {"op": "Sub", "opset": 13, "inputs": [["float", [2], "any"], ["float", [2], "any"]], "to": 14}),
    Break("convert", "no refusal", _around("minuend:convert", lambda own, model, to: _same_model(model, to)),
          {"op": "Gelu", "opset": 20, "to": 13}),
    Break("convert", "all is refused as invalid", _around("minuend:convert", _refusing), {"opset": 13, "to": 14}),
    Break("convert", "all is refused", _refuses("minuend:convert", _unconverted), {"opset": 13, "to": 14}),
    Break("convert", "an unknown reason", _refuses("minuend:convert", _unconverted), _DOWN),
    Break("convert", "a reason that the registry refutes",
          _refuses("minuend:convert", _refusing_for("Abs: Abs-6 takes no tensor(float) as input 0 ('X')")), _DOWN),
    Break("convert", "an invalid type that the registry refutes", _refuses("minuend:convert", _refusing_for(
        "If: the model is invalid: If-13 takes no tensor(float) as output 0 ('outputs')")), {**_DOWN, "place": "if"}),
    Break("convert", "a constant that is none", _refuses("minuend:convert", _refusing_for(
        "Abs: axes ('x0') must be constant for this step, and it is computed or given from outside")),
        _DOWN | {"constants": "all"}),
    Break("convert-invalid", "no refusal", _around(
        "differential.invalid_models:convert_proto", lambda own, model, to: model),
        {"what": "the attribute 'nonsense' of another version"}),
    Break("convert-invalid", "all is refused", _around("differential.invalid_models:convert_proto", _refusing), {}),
    Break("convert-invalid", "check finds no invalid node", _result("minuend.onnx.graphs.faults:fault", lambda _: ""),
        {"what": "the attribute 'nonsense' of another version"}),
    Break("convert-invalid", "check finds an invalid node everywhere", _result(
        "minuend.onnx.graphs.faults:fault", lambda _: "graph.node[0]"), {}),
    Break("ir", "a harmed file is refused for nothing", _refuses("minuend.openvino.model:read"), {"harm": 8}),
    Break("ir", "operands are turned", _around("minuend:convert", _of_another), {}),
    Break("ir", "all is refused", _around("minuend:convert", _refusing), {}),
    Break("ir", "the output's name", _around("minuend:convert", _renamed), {}),
    Break("dxdispatch", "an element", _result("minuend:directml.Model.run", _first_output), {}),
    Break("dxdispatch", "no refusal of types", _never_refused("minuend:directml.Model.run", lambda *_, **__: {}),
          {"level": "1.0", "types": ["INT8", "INT8", "INT8"]}),
    Break("dxdispatch", "operands are turned", _around("minuend:convert", _of_another), _CHAIN),
    Break("dxdispatch", "all is refused", _refuses("minuend:directml.Model.run"), {}),
    Break("dxdispatch", "each conversion is refused", _around("minuend:convert", _refusing), _CHAIN),
    Break("run", "all is refused", _refuses("minuend:run"), {}),
    Break("run", "a defect of onnxruntime that it has not", _refuses("minuend:run", _known_defect), {}),
    Break("run", "an element", _result("minuend:run", _first_output), {}),
    Break("cures", "another node is touched", _result("minuend:fix", _another_node),
          {"dtype": "uint8", "around": "read twice", "target": "openvino-cpu"}),
    Break("cures", "a fix that fixes nothing", _around("minuend:fix", _unfixed),
          {"dtype": "uint8", "target": "openvino-cpu"}),
    Break("cures", "all is refused", _result("minuend:fix", _all_refused),
          {"dtype": "uint8", "target": "openvino-cpu"}),
    Break("cures", "one recipe is refused", without("through float32"), {"dtype": "bfloat16"}),
    Break("cures", "all is left", _around("minuend.rewriting.work:choose", _all_left),
          {"dtype": "uint8", "target": "openvino-cpu"}),
    Break("cures", "bodies are left", _around("minuend.rewriting.work:choose", _in_bodies_left),
          {"dtype": "uint8", "target": "openvino-cpu", "around": "in If"}),
    Break("unchanged", "a byte more", _around("differential.verdicts:main", _longer), {"command": "fix"}),
    Break("unchanged", "all is refused", _around("differential.verdicts:main", lambda *_: 2), {"command": "convert"}),
    Break("backend", "an element", _result(RUN, _first_result), {}),
    Break("backend", "all is refused", _refuses(RUN), {}),
    Break("backend", "a defect of ONNX's evaluator that it has not", _refuses(RUN, _known_of_the_evaluator), {}),
    Break("backend", "no refusal of types", _around("minuend.onnx.backend:check_inputs",
                                                    lambda own, graph, inputs: dict(inputs)),
          {"given": "another type"}),
    Break("backend", "no refusal of devices", _around("minuend.onnx.backend:Backend.supports_device",
                                                      lambda *_: True), {"device": "CUDA"}),
    Break("backend", "no refusal of an old axis", _around("minuend.onnx.backend:check_axes", lambda *_: None),
          {"op": "Or", "opset": 6, "inputs": [["bool", [4, 1, 3, 3], "any"], ["bool", [3], "any"]],
           "attributes": [["broadcast", 1], ["axis", 2]]}),
    Break("specs", "a type", _result("minuend:spec", _one_type_fewer), {"what": "row"}),
    Break("specs", "a change", _result("minuend:diff", lambda changes: changes[1:]), {"what": "diff", "other": 14}),
    Break("specs", "sizes", _result("minuend:infer", _unknown_dims), {"version": 14}),
    Break("specs", "an assumption", _result("minuend:infer", _without_assumptions),
          {"version": 14, "a": [None], "b": [3]}),
    Break("specs", "no refusal of shapes", _never_refused("minuend:infer", lambda *given, **_: given[2]),
          {"version": 14, "b": [4]}),
    Break("specs", "all is refused", _refuses("minuend:infer"), {"version": 14}),
    Break("vectors", "an answer", _around("minuend.onnx.vectors:_write_test", _another_answer), {"opsets": [1]}),
    Break("vectors", "no test of rank 0", _around("minuend.onnx.vectors:vectors", _without_rank_0), {"opsets": [1]}),
    Break("vectors", "no refusal of a folder", _never_refused("minuend.onnx.vectors:write", lambda *_: []),
          {"there": True}),
    Break("verdicts", "nothing is known", _says("unknown"), {}),
    Break("verdicts", "everything differs", _says("different-numbers"), {}),
    Break("verdicts", "everything is ok", _says("ok"), {"seed": 1176277912, "number": 5}),
)  # fmt: skip


# ---- deltas -------------------------------------------------------------------------------------------------------


def _byte_more(own: Callable[..., Any], base: str, delta: str, out: str) -> Any:
    """Apply a delta, and write a byte more."""
    report = own(base, delta, out)
    with open(out, "ab") as stream:
        stream.write(b"\0")
    return report


def _each_tensor(**changes: Any) -> Callable[[Any], Any]:
    return lambda report: replace(report, tensors=tuple(replace(one, **changes) for one in report.tensors))


def _no_checkpoint() -> Exception:
    from minuend.errors import FileFormatError

    return FileFormatError("nothing is a checkpoint")


DELTA = "minuend.files.deltas:"
DELTAS = (
    Break("deltas", "a byte more", _around(f"{DELTA}apply_delta", _byte_more), {}),
    Break("deltas", "all is refused", _refuses(f"{DELTA}make_delta", _no_checkpoint), {}),
    Break("deltas", "a count", _result(f"{DELTA}make_delta", lambda one: replace(one, whole=one.whole + 1)), {}),
    Break("deltas", "how a tensor is stored", _result(f"{DELTA}delta_info", _each_tensor(stored="whole")), {}),
    Break("deltas", "the share that changed", _result(f"{DELTA}delta_info", _each_tensor(changed=0.75)), {}),
    Break("deltas", "no refusal of another base", _around("minuend.files.deltas.applying:refuse", lambda *_: None),
          {"damage": "base element"}),
    Break("deltas", "nothing is found", _result(f"{DELTA}verify_delta", lambda one: replace(one, findings=())),
          {"damage": "tuned is base"}),
)  # fmt: skip

BREAKS = (*ARRAYS, *FILES, *MODELS, *DELTAS)


def main() -> int:
    """Do what the arguments say."""
    from differential import driver
    from differential.surface import to_json

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surface", action="append")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    surfaces, blind = driver.surfaces(), 0
    for one in BREAKS:
        if given.surface and one.surface not in given.surface:
            continue
        start, run = time.monotonic(), driver.Run(surfaces[one.surface])
        with one.broken():
            while not run.differences and time.monotonic() < start + given.seconds:
                case = surfaces[one.surface].draw(random.Random(f"broken {run.cases}"))
                what, why = driver.trial(surfaces[one.surface], case)
                run.counts[what] += 1
                if what == "different":  # an error can be the break's own
                    run.differences[json.dumps(to_json(case))] = why
        took = f"{run.cases} cases, {time.monotonic() - start:.1f} s"
        blind += not run.differences
        print(
            f"{one.surface}, {one.what}: {next(iter(run.differences.values()), 'NOT REPORTED')[:90]!r} ({took})",
            flush=True,
        )
    return int(bool(blind))


if __name__ == "__main__":
    sys.exit(main())
