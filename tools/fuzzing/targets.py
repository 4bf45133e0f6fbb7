"""The table of readers: what reads an input, how it starts, and the words of its language.

A row's ``run`` reads one input as a user would have it read; what it returns tells apart the ways in which that can go
well. ``beside`` are files that lie in the folder with it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import math
import random
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

from mutated_documents import (  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: E402
    harmed_json,
    harmed_xml,
)

from fuzzing.mutation import Harm  # noqa: E402
from fuzzing.watch import Folder  # noqa: E402

EXAMPLES = ROOT / "examples"
CORPUS = ROOT / "tests" / "data" / "fuzz"
"""A file for each target: an input a line, as Python writes bytes."""


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        name: of the target, and of its corpus. reads: what it reads, in words.
        run: reads an input; an error that it may raise besides MinuendError and OSError is its own business.
        seeds: inputs to start from. words: of its language. beside: files by name.
        harm: what harms an input by its structure. guided: whether coverage guides: Python code reads the input.
        share: of the time of a run over all targets.
    """

    name: str
    reads: str
    run: Callable[[bytes, Folder], object]
    seeds: Callable[[], Iterable[bytes]]
    words: Sequence[bytes] = ()
    beside: Mapping[str, bytes] = field(default_factory=dict)
    harm: Harm | None = None
    guided: bool = True
    share: float = 1.0

    def corpus(self) -> list[bytes]:
        """The inputs that earlier runs have found."""
        path = CORPUS / f"{self.name}.txt"
        return [ast.literal_eval(line) for line in path.read_text("ascii").splitlines()] if path.exists() else []


# ---- files of tensors -------------------------------------------------------------------------------------------

_ARRAYS: tuple[Any, ...] = (
    np.arange(6, dtype=np.uint8).reshape(2, 3), np.array([[1.5, -0.0]], np.float32), np.asfortranarray(np.eye(3)),
    np.array(7, ">i4"), np.zeros((0, 4), np.int64), np.array([True]), np.array([1j], np.complex64), np.array(["ab"]),
)  # fmt: skip


_READ = 64 << 20
"""Bytes of a tensor that is read whole; the difference of larger ones reads them in blocks."""


def _tensors(suffix: str, data: bytes, folder: Folder) -> object:
    return _read_all(folder.put(f"x{suffix}", data), every_type=bool(len(data) & 1))


def _read_all(path: str, *, every_type: bool = False) -> str:
    from minuend.files import open_tensors

    found = open_tensors(path, every_type=every_type)
    seen = set()
    for tensor in found.values():
        if math.prod(tensor.shape) * tensor.element.itemsize > _READ:
            continue
        array = tensor.read()
        assert array.shape == tensor.shape
        seen.add(f"{array.dtype.kind}{min(array.ndim, 3)}")
    return " ".join(sorted(seen)[:2])


def _npy() -> Iterable[bytes]:
    for array in _ARRAYS:
        for version in ((1, 0), (2, 0)):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array, version)
            yield stream.getvalue()


def _npz() -> Iterable[bytes]:
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, a=_ARRAYS[0], b=_ARRAYS[2])
        yield stream.getvalue()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("folder/a.npy", next(iter(_npy())))
        archive.comment = b"comment"
    yield stream.getvalue()


def _safetensors() -> Iterable[bytes]:
    header = {"a": {"dtype": "U8", "shape": [2, 3], "data_offsets": [0, 6]}, "__metadata__": {"k": "v"}}
    more = {
        "a": {"dtype": "BF16", "shape": [], "data_offsets": [0, 2]},
        "b": {"dtype": "BOOL", "shape": [0], "data_offsets": [2, 2]},
    }
    for head, size in ((header, 6), (more, 2), ({}, 0)):
        text = json.dumps(head).encode()
        yield len(text).to_bytes(8, "little") + text + bytes(size)


def _harmed_safetensors(source: random.Random, data: bytes) -> bytes:
    """The header as JSON, with its length stated anew."""
    length = int.from_bytes(data[:8], "little")
    text = harmed_json(source, data[8 : 8 + length].decode())
    return len(text).to_bytes(8, "little") + bytes(text) + data[8 + length :]


def _netcdf() -> Iterable[bytes]:
    """Classic files of netCDF-C, whose header is read here; those in HDF5 are the package's."""
    return [path.read_bytes() for path in sorted((ROOT / "tests" / "data" / "netcdf").glob("*.nc"))]


def _hdf5() -> Iterable[bytes]:
    """Files of every storage: one stretch, chunks with and without filters, by each kind of index; attributes."""
    import h5py

    for version in ("earliest", "v110", "latest"):
        for options in ({}, {"compression": 4, "shuffle": True}, {"compression": "lzf", "fletcher32": True}):
            stream = io.BytesIO()
            with h5py.File(stream, "w", libver=version) as file:
                chunked: dict[str, Any] = {"chunks": (2, 3), **options} if options or version != "latest" else {}
                growing = {"maxshape": (None, None)} if version == "v110" and chunked else {}
                one = file.create_dataset("g/x", data=np.arange(24, dtype="<i2").reshape(4, 6), **chunked, **growing)
                one.attrs["units"], one.attrs["scale"] = "m", np.arange(3.0)
                one.attrs["names"] = np.array(["a", "bc"], object)
                file["y"] = np.arange(4, dtype=np.float32)
                file.attrs["title"] = "t"
                one.dims[0].attach_scale(file["y"])
            yield stream.getvalue()


def _netcdf4() -> Iterable[bytes]:
    """What this package writes of the classic ones."""
    from minuend.files.difference import subtract_files

    for name in ("a", "b", "scalar"):
        path = f"{ROOT}/tests/data/netcdf/cdf2.nc::{name}"
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder, "c.nc"))
            subtract_files(path, path, out)
            yield Path(out).read_bytes()


_ZARR_HEADERS: tuple[Any, ...] = (
    {
        "zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {}}],
        "attributes": {"units": "m", "scale_factor": 2.0}, "dimension_names": ["y", "x"],
    },
    {
        "zarr_format": 2, "shape": [4, 6], "chunks": [4, 6], "dtype": "<f4", "fill_value": None, "order": "C",
        "filters": [{"id": "shuffle", "elementsize": 4}], "compressor": {"id": "zlib", "level": 1},
    },
)  # fmt: skip


def _zarr_headers() -> Iterable[bytes]:
    return [json.dumps(header).encode() for header in _ZARR_HEADERS]


_CODECS = ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd")


def _zarr_chunks() -> Iterable[bytes]:
    """A chunk for each codec, behind the codec's number."""
    import numcodecs

    for number, name in enumerate(_CODECS):
        yield bytes([number]) + bytes(numcodecs.get_codec({"id": name}).encode(np.arange(24, dtype="<f4")))


def _zarr(header: bytes, chunk: bytes, folder: Folder) -> object:
    """An array of one chunk, which goes again whatever comes of it."""
    place = Path(folder.temporary, "x.zarr")
    version = 2 if b'"zarr_format": 2' in header else 3
    files = {
        place / (".zarray" if version == 2 else "zarr.json"): header,
        place / ("0.0" if version == 2 else "c/0/0"): chunk,
    }
    folders = sorted({parent for file in files for parent in file.parents if parent.is_relative_to(place)})
    for one in folders:
        one.mkdir()
    try:
        for file, content in files.items():
            file.write_bytes(content)
        return _read_all(str(place))
    finally:  # not by rmtree, which opens folders relative to others
        for file in files:
            file.unlink()
        for one in reversed(folders):
            one.rmdir()


def _zarr_header(data: bytes, folder: Folder) -> object:
    return _zarr(data, b"", folder)


def _zarr_chunk(data: bytes, folder: Folder) -> object:
    codec = {"id": _CODECS[data[0] % len(_CODECS)] if data else "zlib"}
    return _zarr(json.dumps(_ZARR_HEADERS[1] | {"compressor": codec, "filters": None}).encode(), data[1:], folder)


def _zips() -> Iterable[bytes]:
    for packed in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", packed) as archive:
            header = {**_ZARR_HEADERS[0], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
            archive.writestr("zarr.json", json.dumps(header))
            archive.writestr("c/0/0", bytes(48))
        yield stream.getvalue()


def _address(data: bytes, folder: Folder) -> object:
    """An address that leads nowhere: nothing may be asked of the network."""
    address = f"memory://{data.decode(errors='replace').replace('://', '')}"
    try:
        return _read_all(address)
    except OSError as error:  # which has no file, but names the address
        if "memory://" not in str(error):
            raise
        return type(error).__name__


def _tiff() -> Iterable[bytes]:
    import tifffile

    for options in ({}, {"tile": (16, 16)}, {"compression": "deflate"}, {"rowsperstrip": 2, "bigtiff": True}):
        stream = io.BytesIO()
        tifffile.imwrite(stream, np.arange(60, dtype=np.uint16).reshape(5, 12), **options)  # type: ignore[arg-type, unused-ignore]
        yield stream.getvalue()


def _png() -> Iterable[bytes]:
    import imagecodecs

    for dtype in (np.uint8, np.uint16):
        for shape in ((3, 4), (3, 4, 3), (3, 4, 4)):
            yield bytes(imagecodecs.png_encode(np.arange(np.prod(shape), dtype=dtype).reshape(shape)))


def _deltas() -> Iterable[bytes]:
    from safetensors.numpy import save_file

    from minuend.files.deltas.making import make_delta

    with tempfile.TemporaryDirectory() as folder:
        base, tuned, out = (str(Path(folder, f"{name}.safetensors")) for name in ("base", "tuned", "d"))
        weights: dict[str, Any] = {"a": np.arange(600, dtype=np.float32), "b": np.ones((3, 2), np.uint8)}
        save_file(weights, base)
        save_file({**weights, "a": weights["a"] + 1, "c": weights["b"]}, tuned)
        make_delta(base, tuned, out)
        yield Path(out).read_bytes()


def _delta(data: bytes, folder: Folder) -> object:
    from minuend.files.deltas.describing import delta_info

    report = delta_info(folder.put("d.safetensors", data))
    return len(report.tensors)


def _pb() -> Iterable[bytes]:
    from onnx import TensorProto, helper, numpy_helper

    for array in _ARRAYS[:3]:
        yield numpy_helper.from_array(array, "x").SerializeToString()
    for kind in (TensorProto.INT32, TensorProto.FLOAT16, TensorProto.INT4, TensorProto.BOOL):
        yield helper.make_tensor("x", kind, [2], [1, 0]).SerializeToString()
    yield TensorProto(data_type=TensorProto.STRING, dims=[1], string_data=[b"s"]).SerializeToString()


def _harmed_message(kind: str, source: random.Random, data: bytes) -> bytes:
    """A protobuf message with fields changed."""
    import onnx
    from mutated_onnx import harmed  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return bytes(harmed(source, getattr(onnx, kind)(), data))


_HARMED_MODEL = functools.partial(_harmed_message, "ModelProto")


def _harmed_json(source: random.Random, data: bytes) -> bytes:
    return bytes(harmed_json(source, data.decode(errors="replace")))


# ---- models -----------------------------------------------------------------------------------------------------


def _onnx_texts() -> list[str]:
    from mutated_onnx import TEXTS  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return list(TEXTS)


def _onnx_seeds() -> Iterable[bytes]:
    from mutated_onnx import CORPUS as MODELS  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return (model.SerializeToString() for model in MODELS)


def _onnx(data: bytes, folder: Folder) -> object:
    """All that is looked at in a model before somebody asks for types: no process is needed."""
    from minuend.onnx.graphs.walk import all_tensors
    from minuend.onnx.model import read

    model = read(folder.put("m.onnx", data))
    repr(model), model.notes, model.sources(), model.output_names()
    for tensor, where in all_tensors(model.proto):
        model.array(tensor, where)
    return len(model.proto.graph.node)


def _onnx_text(data: bytes, folder: Folder) -> object:
    from minuend.onnx.model import read

    return len(read(folder.put("m.onnxtxt", data)).proto.graph.node)


def _verbs(name: str, goals: Sequence[str], data: bytes, folder: Folder) -> object:
    """What a user does with a model: look at it, judge it, run it, convert it or fix it; each input goes one way."""
    from mutated_onnx import some_inputs  # type: ignore[import-not-found, import-untyped, unused-ignore]

    from minuend.judging.checking import check
    from minuend.models.converting import convert
    from minuend.models.opening import open_model
    from minuend.rewriting.fixing import fix

    model: Any = open_model(folder.put(name, data))
    feeds = some_inputs(model.proto) if hasattr(model, "proto") else {}
    targets = ["onnxruntime-cpu@1.31.1", "openvino-cpu@2026.4.1", "directml@5.1"]
    ways: list[Callable[[], object]] = [
        lambda: " ".join(sorted({one.verdict for one in check(model, targets)})),
        lambda: len(model.run(feeds, max_bytes=1 << 24)),
        *(functools.partial(lambda goal: len(convert(model, goal).losses), goal) for goal in goals),
        lambda: len(fix(model, targets[1], run=False).changes),
    ]
    return len(list(model.subtractions())), ways[zlib.crc32(data) % len(ways)]()


def _each(*acts: Callable[[], object]) -> str:
    """Do one thing after the other; each may be refused by itself, and the last refusal is what is told."""
    from minuend.errors import MinuendError

    told, refused = [], None
    for act in acts:
        try:
            told.append(str(act()))
        except (MinuendError, OSError) as error:
            refused = error
    if refused is not None:
        raise refused
    return " ".join(told)


def _external(data: bytes, folder: Folder) -> object:
    """Keys and values of a reference, a line each, of a tensor of four float32."""
    from onnx import TensorProto

    from minuend.onnx.documents.external import DataFiles

    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for line in data.decode(errors="replace").split("\n"):
        key, _, value = line.partition("=")
        tensor.external_data.add(key=key, value=value)
    files = DataFiles(folder.path, "the model")
    return files.array(tensor, "w").shape, [block.size for block in files.blocks(tensor, "w")[1]]


def _ir() -> Iterable[bytes]:
    from ir_files import TEXT  # type: ignore[import-not-found, import-untyped, unused-ignore]

    yield TEXT.encode()
    yield from (path.read_bytes() for path in sorted(EXAMPLES.glob("openvino/*.xml")))


def _read_ir(data: bytes, folder: Folder) -> object:
    from minuend.openvino.model import read

    model = read(folder.put("m.xml", data))
    repr(model), model.notes
    ones = {name: np.ones((2, 3), np.float32) for name in model.inputs}
    return _each(
        lambda: len(list(model.subtractions())),
        lambda: len(model.run(ones, max_bytes=1 << 20)),
        lambda: model.to_bytes() and "",
    )


def _dxdispatch() -> Iterable[bytes]:
    yield from (path.read_bytes() for path in sorted(EXAMPLES.glob("directml/*.json")))
    resource = {"initialValues": {"sourcePath": "w.npy"}, "initialValuesOffsetInBytes": 4, "sizeInBytes": 64}
    mixed = {"initialValues": [{"type": "UINT32", "value": 42}], "initialValuesDataType": "FLOAT32"}
    print_ = {"type": "print", "resource": "a"}
    write = {"type": "writeFile", "resource": "a", "targetPath": "out.npy", "dimensions": [2, 2]}
    yield json.dumps(
        {"resources": {"a": resource, "b": mixed}, "dispatchables": {}, "commands": [print_, write]}
    ).encode()


def _read_dxdispatch(data: bytes, folder: Folder) -> object:
    from minuend.directml import Model

    model = Model.read(folder.put("m.json", data))
    repr(model), model.sources()
    return _each(
        lambda: len(list(model.subtractions())),
        lambda: len(model.execute(output_dir=folder.path, max_bytes=1 << 22).writers()),
    )


def _json(data: bytes, folder: Folder) -> object:
    from minuend.directml.dxdispatch.json_reader import parse

    document = parse(data.decode(errors="surrogateescape"), "m.json")
    return type(document.value).__name__, document.place(())[:7]


def _measured(data: bytes, folder: Folder) -> object:
    from minuend.runtimes import targets

    target = targets.load(data.decode(errors="replace"), "m.json")
    return [target.answer("onnx:14", "uint8", "same", "none"), targets.dump(target)] and target.dialects


def _measured_seeds() -> Iterable[bytes]:
    from minuend.runtimes import case_list

    folder = ROOT / "src/minuend/runtimes/measured"
    for path in sorted(folder.glob("numpy@*.json")):
        found = json.loads(path.read_text("utf-8"))
        for rows in (found["rows"][:3], found["rows"][-2:]):
            yield json.dumps({**found, "rows": rows}).encode()
    graph = {"dtypes": ["uint8"], "settings": ["static"], "forms": [""], "answers": {}}
    witness = {"operands": [5, "nan"], "got": 0, "expected": "-inf"}
    answer = {"verdict": "different-numbers", "witness": witness, "spans": [[[0, "inf"]], None], "message": "m"}
    row = {
        "opversions": ["onnx:14"],
        "dtypes": ["uint8"],
        "relations": ["same"],
        "constants": ["none"],
        "answers": {"wraps": answer},
    }
    head = {"runtime": "openvino-cpu", "release": "1.0", "date": "", "cpu": "", "python": "", "rows": [row]}
    head |= {"graph_cases": case_list.digest(), "graphs_cpu": ""}
    yield json.dumps({**head, "format": 1, "graphs": [{"expressions": ["x - x"], **graph}]}).encode()
    patterns = [{"judged": ["Sub", ["Mul", "x", "k"], "x"]}, {"how": "around", "operator": "If", "of": ["Abs", "x"]}]
    yield json.dumps({**head, "format": 2, "patterns": patterns, "graphs": [{"patterns": [0], **graph}]}).encode()
    rows = [{"patterns": [0], **row}, {"patterns": [1, 2], **graph}]
    newest = {"patterns": [{"judged": ["Sub", "x", "x"]}, *patterns], "rows": rows, "unmeasured": [["int8", "dynamic"]]}
    yield json.dumps({**head, "format": 3, "cases": case_list.digest(), "patterns_cpu": "", **newest}).encode()


# ---- the command line -------------------------------------------------------------------------------------------


def _text(data: bytes) -> str:
    """An argument as the system gives it."""
    return data.replace(b"\0", b"").decode(errors="surrogateescape")


def _of_text(read: Callable[[str], object]) -> Callable[[bytes, Folder], object]:
    def run(data: bytes, _: Folder) -> object:
        return read(_text(data))

    return run


def _measure(data: bytes, folder: Folder) -> object:
    """What a plug-in's ``run()`` may return, or raise, as a literal: from the worker to what is judged of it."""
    from types import SimpleNamespace

    from minuend import worker
    from minuend.core.elements import TYPES
    from minuend.runtimes.cases import Case
    from minuend.runtimes.proving import judge
    from minuend.runtimes.running import Refused, Runtime
    from minuend.standards.dialects import spec

    try:
        given = ast.literal_eval(data.decode(errors="replace"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        given = data

    def run(_: object) -> object:
        if isinstance(given, str):
            raise {"exit": SystemExit, "os": OSError}.get(given[:4].strip(), RuntimeError)(given)
        return given

    runtime = object.__new__(Runtime)
    runtime.adapter = SimpleNamespace(
        NAME="fuzz", ARRAYS=len(data) % 5 == 0, release=lambda: "1", prepare=lambda *_: run
    )
    runtime.name, runtime.release = "fuzz", "1"
    told, parts = worker.answer(runtime.adapter, {"inputs": []}, [b"", b""], "1")
    stream = io.BytesIO()
    worker.write(stream, told, parts)
    stream.seek(0)
    found = runtime.taken(*(worker.read(stream) or ({}, [])))
    case = Case(spec("openvino", 1), TYPES["uint8"], "same", "none", full=False)
    if isinstance(found, Refused):
        return found.stage
    outputs = [runtime._output(dtype, tuple(shape), part) for (dtype, shape), part in found]
    return " ".join(sorted({one.verdict for one in judge(case, outputs).answers.values()}))


def _answers() -> Iterable[bytes]:
    for answer in (
        [("float32", (2,), bytes(8))], [("uint8", [2, 3], b"abcdef")], [("int4", (3,), b"ab")], [("bool", (), b"1")],
        [("float32", (10**9,), b"")], [("float32", "x", b"")], [("string", (1,), b"12345678")], None, [], [3],
        [("float32", (-1,), b"")], [("float32", (2**70, 0), b"")], [(1, (), b"")], [("f16", (1,), "ab")],
        [("float32", (1.5,), b"")], "an error", "exit", [("uint8", (1,) * 99, b"a")], [("uint8", (True,), b"a")],
    ):  # fmt: skip
        yield repr(answer).encode()


def _rules(text: str) -> object:
    from minuend.cli.rules import parse_rules

    op, attributes = parse_rules(text)
    return str(op), sorted(attributes)


def _goal(text: str) -> object:
    from minuend.models.converting import version_of

    return version_of(text)[0].name


@functools.cache
def _keep_targets() -> None:
    """Read each target's file once; the package keeps a few of them."""
    from minuend.runtimes import targets

    targets._packaged_target = functools.cache(targets._packaged_target.__wrapped__)


def _config(text: str) -> object:
    """``minuend.toml``: read, written to, and matched against a path."""
    from minuend.judging import configuration

    found = configuration.parse("minuend.toml", text.encode(errors="replace").decode())
    for one in found.accepts:
        assert configuration.parse(
            "minuend.toml", configuration.with_entries(configuration.Config(""), [one])
        ).accepts, one
    rules = [len(rule.assume) for rule in found.rules_of("exports/deep/m.onnx")]
    return rules, sum(one.concerns("exports/deep/m.onnx", ["openvino-cpu@2026.4.1"]) for one in found.accepts)


def _release(text: str) -> object:
    from minuend.judging.options import Judging, find_targets

    _keep_targets()

    names, _, hint = text.replace("/", "").partition(" ")  # whoever names a target may name any file
    judging = Judging(targets=find_targets(names.split(",")), hint=hint)
    return judging.targets[0].name


def _element(text: str) -> object:
    from minuend.standards.spelling import find

    return find(text).name


def _operand(data: bytes, folder: Folder) -> object:
    """``file::name``, within the folder: whoever runs a command may name any file."""
    from minuend.files import open_tensors

    path = _text(data).replace("/", "")
    return len(open_tensors(f"{folder.path}/{path}"))


def _inputs(data: bytes, folder: Folder) -> object:
    from minuend.models.running import read_inputs

    texts = [text.replace("/", "").replace("=", f"={folder.path}/", 1) for text in _text(data).split("\n")]
    return len(read_inputs(texts)[0])


def _command(data: bytes, folder: Folder) -> object:
    """A whole command line, an argument a line; a defect ends with status 3."""
    from minuend.cli.program import main

    words = [_text(line) for line in data.split(b"\n")]
    if any("/" in word for word in words) or words[:1] in (["prove"], ["measure"]) or "--run" in words:
        return "skipped"  # it would be allowed to touch other files, or ask a runtime some thousand cases
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder.path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    _check_written(folder)
    if status == 3:
        raise AssertionError(f"{words}: {err.getvalue()[-1500:]}")
    return f"{status} {err.getvalue().split(chr(39))[0][:30]}"  # up to what is quoted


def _check_written(folder: Folder) -> None:
    """Whatever a command wrote, it is whole and no input."""
    for name in folder.left():
        assert not name.endswith((".part", ".kept")), f"{name} was left behind"
    for name, content in _BESIDE.items():
        assert Path(folder.path, name).read_bytes() == content, f"the input {name} was changed"


@functools.cache
def _beside() -> dict[str, bytes]:
    npz = next(iter(_npz()))
    npys = list(_npy())
    text = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2,3] a) => (uint8[2,3] c) { c = Sub(a, a) }'
    return {"a.npy": npys[0], "b.npy": npys[4], "t.npz": npz, "m.onnxtxt": text.encode(), "x::y.npy": npys[0]}


_BESIDE = _beside()
_COMMANDS = (
    "sub a.npy a.npy", "sub a.npy t.npz::a -o o.npy --overflow saturate", "sub a.npy b.npy --common -o o.npz",
    "sub t.npz t.npz --as onnx:14 --json", "spec", "spec onnx:6 --json", "diff onnx:6 onnx:7", "--version",
    "check m.onnxtxt --target openvino-cpu --json", "check m.onnxtxt --target numpy --sarif s.json --hint f32",
    "convert m.onnxtxt --to onnx:15 -o o.onnx", "convert m.onnxtxt --to openvino -o o.xml", "vectors --opset 0 -o v",
    "fix m.onnxtxt --target onnx:13 -o f.onnx", "targets --diff numpy@2.4.6 numpy",
    "run m.onnxtxt --input a=a.npy -o out --max-bytes 100",
)  # fmt: skip


def _lines(*texts: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [text.encode() for text in texts]


_RULES = (
    "onnx", "openvino", "directml", ":", ",", "=", "axis", "broadcast", "pdpd", "none", "numpy", "13", "5.1", "-1", "1",
    "6", "consumed_inputs", "auto_broadcast", "0/0", "DML_FEATURE_LEVEL_5_0", "opset", "1_0", "١", "9" * 30,
)  # fmt: skip
_TARGETS = (
    "onnxruntime-cpu",
    "openvino-cpu",
    "numpy",
    "directml",
    "onnx-reference",
    "torch-cpu",
    "@",
    "2026.4",
    "1.31",
    ".",
    "+cpu",
    ",",
    " f32",
)


def _encoded(*groups: Iterable[str]) -> list[bytes]:
    return [word.encode("utf-8", "surrogateescape") for group in groups for word in group]


_XML = (
    "<layer",
    "<data",
    "<port",
    "<dim>",
    "</dim>",
    "<edge",
    "<rt_info>",
    "<!DOCTYPE",
    "<![CDATA[",
    "<?xml",
    "&lt;",
    "&#0;",
)
_NPY = (
    "'descr'",
    "'fortran_order'",
    "'shape'",
    "True",
    "(",
    ")",
    ",",
    "<f4",
    "|u1",
    "|O",
    "|V2",
    ">i8",
    "<U9",
    "[('a', '<i4')]",
)
_ZIP = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b".npy", b"\xff\xff\xff\xff")
_REFERENCE = ("location", "offset", "length", "checksum", "=", "\n", "w.bin", "..", "/", "\\", "C:", "16", ".")

TARGETS = (
    Target("npy", ".npy", functools.partial(_tensors, ".npy"), _npy, _encoded(_NPY)),
    Target("npz", ".npz", functools.partial(_tensors, ".npz"), _npz, [*_ZIP, *_encoded(_NPY)]),
    Target(
        "safetensors",
        ".safetensors",
        functools.partial(_tensors, ".safetensors"),
        _safetensors,
        harm=_harmed_safetensors,
    ),
    Target("netcdf", "classic .nc", functools.partial(_tensors, ".nc"), _netcdf),
    Target("hdf5", ".h5", functools.partial(_tensors, ".h5"), _hdf5, guided=False),
    Target("netcdf4", "netCDF-4 .nc", functools.partial(_tensors, ".nc"), _netcdf4, guided=False),
    Target("zarr", "headers of zarr arrays", _zarr_header, _zarr_headers, harm=_harmed_json, guided=False),
    Target("zarr-chunk", "chunks of zarr arrays", _zarr_chunk, _zarr_chunks, guided=False),
    Target("zarr-zip", ".zarr.zip", functools.partial(_tensors, ".zarr.zip"), _zips, guided=False),
    Target(
        "address", "addresses", _address, _lines("a.zarr", "x/y.h5::z", "b.npy"), _encoded(("::", ".nc")), guided=False
    ),
    Target("tiff", ".tif", functools.partial(_tensors, ".tif"), _tiff),
    Target("png", ".png", functools.partial(_tensors, ".png"), _png, guided=False),
    Target("delta", "delta info", _delta, _deltas, harm=_harmed_safetensors),
    Target(
        "pb",
        "TensorProto .pb",
        functools.partial(_tensors, ".pb"),
        _pb,
        harm=functools.partial(_harmed_message, "TensorProto"),
        guided=False,
    ),
    Target("onnx", ".onnx: structure, tensors", _onnx, _onnx_seeds, harm=_HARMED_MODEL, guided=False),
    Target(
        "onnx-text",
        ".onnxtxt",
        _onnx_text,
        lambda: _encoded(_onnx_texts()),
        _encoded(("<", ">", "{", "}", "float", "[N]", "=>")),
        guided=False,
    ),
    Target(
        "onnx-verbs",
        ".onnx: check, run, convert, fix",
        functools.partial(_verbs, "m.onnx", ("onnx:13", "openvino", "directml")),
        _onnx_seeds,
        harm=_HARMED_MODEL,
        guided=False,
        share=3,
    ),
    Target(
        "external",
        "references to external data",
        _external,
        _lines("location=w.bin", "location=w.bin\noffset=4\nlength=16", "location=w.bin\nchecksum=" + "0" * 40),
        _encoded(_REFERENCE),
        {"w.bin": bytes(range(64))},
    ),
    Target("ir", "OpenVINO .xml beside a .bin", _read_ir, _ir, _encoded(_XML), {"m.bin": bytes(64)}, harm=harmed_xml),
    Target(
        "dxdispatch",
        "DxDispatch .json",
        _read_dxdispatch,
        _dxdispatch,
        beside={"w.npy": next(iter(_npy()))},
        harm=_harmed_json,
    ),
    Target(
        "json",
        "JSON as DxDispatch takes it",
        _json,
        _dxdispatch,
        _encoded(("/*", "*/", "//", "\\u", "null", "1e9", '"')),
    ),
    Target("measured", "measured targets", _measured, _measured_seeds, harm=_harmed_json),
    Target(
        "rules",
        "sub --as",
        _of_text(_rules),
        _lines("onnx:6,axis=1,broadcast=1", "openvino:pdpd,axis=1", "directml:5.1", "onnx:1,consumed_inputs=0/1"),
        _encoded(_RULES),
    ),
    Target(
        "goal",
        "convert --to",
        _of_text(_goal),
        _lines("onnx:13", "onnx", "directml:5.1", "openvino:1"),
        _encoded(_RULES),
    ),
    Target(
        "config",
        "minuend.toml",
        _of_text(_config),
        _lines(
            '[assume]\nx = "0..9"\n[[model]]\npath = "exports/**/*.onnx"\nassume = {y = 3}\n',
            '[[accept]]\nmodel = "*.onnx"\nnode = " "\ntarget = "openvino-cpu"\nverdict = "unknown"\nreason = "r"\n',
        ),
        _encoded(
            ("[[accept]]", "[[model]]", "[assume]", "**/", "[!a-z]", "?", '"""', "\\u0000", "1e9", ". = {", "path = ")
        ),
        guided=False,
    ),
    Target(
        "release",
        "--target and --hint",
        _of_text(_release),
        _lines("onnxruntime-cpu@1.31.1", "openvino-cpu@2026 f32", "directml@5.1,numpy"),
        _encoded(_TARGETS),
    ),
    Target(
        "element",
        "element types",
        _of_text(_element),
        _lines("float32", "tensor(uint8)", "DML_TENSOR_DATA_TYPE_FLOAT16", "bf16"),
        _encoded(("tensor(", ")", "float", "8", "e4m3fn", "_", "u", "DML_")),
    ),
    Target(
        "operand",
        "file::name",
        _operand,
        _lines("a.npy", "t.npz::a", "x::y.npy", "a.npy::x"),
        _encoded(("a.npy", "t.npz", "::", ".", "b")),
        _BESIDE,
    ),
    Target(
        "inputs",
        "--input NAME=FILE",
        _inputs,
        _lines("a=a.npy", "a=t.npz::b\nc=a.npy"),
        _encoded(("=", "a.npy", "t.npz", "::b", "\n")),
        _BESIDE,
    ),
    Target(
        "command",
        "whole command lines",
        _command,
        lambda: [line.replace(" ", "\n").encode() for line in _COMMANDS],
        [b"\n", *{word.encode() for line in _COMMANDS for word in line.split()}],
        _BESIDE,
        guided=False,
        share=2,
    ),
    Target(
        "measure",
        "answers of plug-ins",
        _measure,
        _answers,
        _encoded(("float32", "uint8", "bfloat16", "int4", "u1", "(", ")", "[", "]", ",", "b''", "None", "True", "nan")),
        guided=False,
    ),
)
