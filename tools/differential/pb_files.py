"""ONNX's tensors in .pb files beside the onnx package: raw data and typed fields of every type, and broken messages."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from differential.refusals import Reason, Why
from differential.subtracting import (
    BLOCKS,
    FLOATS,
    INTEGERS,
    POLICIES,
    STYLES,
    Array,
    drawn,
    ours,
    same,
    same_elements,
    same_report,
    settled,
    weighted,
)
from differential.surface import Surface
from differential.tensors_files import made, subtracted

NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
NUMBERS = (*INTEGERS, *FLOATS, *NARROW)
LACKED = ("BOOL", "STRING", "COMPLEX64", "COMPLEX128", "INT4", "UINT4", "FLOAT4E2M1", "FLOAT8E4M3FNUZ",
          "FLOAT8E5M2FNUZ", "INT2", "UINT2")  # fmt: skip
STRICTER = ("both fields", "range", "segment", "elsewhere", "external fields", "other field")
"""What onnx reads by leaving something out, or by cutting an entry off; this package refuses it."""
NAMES = ("x", "", "Größe", "a/b", "x\ny", "日", "a::b", "left")


@dataclass(frozen=True)
class Case:
    """Two tensors, each in a file; fields that end in ``_b`` are of the second."""

    seed: int = 0
    dtype: str = "float32"
    dtype_b: str = ""
    shape: tuple[int, ...] = (2, 3)
    joined: str = "same"
    style: str = "small"
    style_b: str = "small"
    typed: bool = False
    typed_b: bool = False
    name: str = "x"
    name_b: str = "x"
    out: str = ".pb"
    overflow: str = "wrap"
    block: int = 0
    lacked: str = ""
    broken: str = ""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    dtype = source.choice(NUMBERS)
    return Case(
        seed=source.randrange(1 << 16),
        dtype=dtype,
        dtype_b=source.choice(NUMBERS) if source.random() < 0.03 else "",
        shape=tuple(source.choice((0, 1, 2, 3, 5, 17)) for _ in range(source.choice((0, 1, 2, 2, 3, 4)))),
        joined=weighted(source, {"same": 14, "number": 1, "row": 1, "one": 1, "other size": 1}),
        name=source.choice(NAMES),
        name_b=source.choice(NAMES),
        out=".pb" if dtype in NARROW else source.choice((".pb", ".pb", ".npy")),
        lacked=weighted(source, {"": 30, source.choice(LACKED): 1}),
        broken=weighted(source, {"": 30, source.choice(BROKEN): 5}),
        **drawn(
            source,
            style=STYLES,
            style_b=STYLES,
            typed=(False, True),
            typed_b=(False, True),
            overflow=POLICIES,
            block=BLOCKS,
        ),
    )


# ---- messages -----------------------------------------------------------------------------------------------------


def message(name: str, array: Array, typed: bool) -> TensorProto:
    """A tensor as onnx makes it, of raw data or of its typed field."""
    if not typed:
        return numpy_helper.from_array(array, name)
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    values = array.reshape(-1)
    if array.dtype.name in NARROW or array.dtype == np.float16:  # by their bits, as the field has them
        proto = TensorProto(data_type=number, dims=array.shape, name=name)
        proto.int32_data.extend(values.view(f"u{array.itemsize}").tolist())
        return proto
    return helper.make_tensor(name, number, array.shape, values)


def lacked(case: Case) -> TensorProto:
    """A tensor of a type that has no difference here."""
    number = TensorProto.DataType.Value(case.lacked)
    if case.lacked == "STRING":
        return TensorProto(name=case.name, data_type=number, dims=(2,), string_data=[b"a", b"b"])
    array = np.zeros(case.shape, helper.tensor_dtype_to_np_dtype(number))
    return numpy_helper.from_array(array, case.name)


def broken(case: Case, proto: TensorProto) -> bytes:
    """The bytes of a message, broken."""
    if case.broken in _CHANGES:
        _CHANGES[case.broken](proto, case.seed)
    raw = bytes(proto.SerializeToString())
    if case.broken == "cut":
        return raw[: case.seed % len(raw)] if raw else raw
    if case.broken == "longer":  # another one behind it, which a reader of protobuf joins with it
        return raw + raw
    return b"\xff" * 9 if case.broken == "no message" else raw


def _number_of_type(proto: TensorProto, seed: int) -> None:
    proto.data_type = 200 + seed % 100


def _both_fields(proto: TensorProto, _: int) -> None:
    count = int(np.prod(proto.dims, dtype=int))
    proto.raw_data = b"\0" * 4 * count
    proto.float_data[:] = [0.0] * count


def _other_field(proto: TensorProto, _: int) -> None:
    proto.ClearField("raw_data")
    if proto.data_type == TensorProto.STRING:
        proto.float_data.extend([0.0])
    else:
        proto.string_data.extend([b"x"])


def _range(proto: TensorProto, _: int) -> None:
    if len(proto.int32_data):
        proto.int32_data[0] = 1 << 17


def _segment(proto: TensorProto, _: int) -> None:
    proto.segment.begin = 0


def _elsewhere(proto: TensorProto, seed: int) -> None:
    proto.data_location = TensorProto.EXTERNAL
    _external_fields(proto, seed)


def _external_fields(proto: TensorProto, _: int) -> None:
    proto.external_data.add(key="location", value="x.bin")


def _doc(proto: TensorProto, _: int) -> None:
    proto.doc_string = "of nothing"


_CHANGES: dict[str, Callable[[TensorProto, int], None]] = {
    "no type": lambda proto, _: proto.ClearField("data_type"),
    "unknown type": _number_of_type,
    "negative dim": lambda proto, _: proto.dims.append(-1),
    "other dims": lambda proto, seed: proto.dims.append(seed % 3 + 2),
    "both fields": _both_fields,
    "other field": _other_field,
    "range": _range,
    "segment": _segment,
    "elsewhere": _elsewhere,
    "external fields": _external_fields,
    "doc": _doc,
}
BROKEN = (*_CHANGES, "cut", "longer", "no message")


def read(data: bytes) -> Array | str:
    """What onnx reads of a file, or why it does not."""
    try:
        proto = onnx.load_tensor_from_string(data)
        onnx.checker.check_tensor(proto)
        found = numpy_helper.to_array(proto)
    except Exception as error:  # of many classes
        return f"{type(error).__name__}: {error}"
    return found if found.shape == tuple(proto.dims) else f"dims {tuple(proto.dims)} of {found.shape}"


# ---- comparing ----------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Write both by onnx, subtract them, and read the difference by onnx."""
    one = message(case.name, made(case.seed, case.dtype, case.shape, case.style), case.typed)
    if case.lacked:
        one = lacked(case)
    shape = {
        "same": case.shape, "number": (), "row": case.shape[-1:], "one": (1,) * len(case.shape),
        "other size": (*case.shape[:-1], case.shape[-1] + 2) if case.shape else (2, 2),
    }[case.joined]  # fmt: skip
    other = message(case.name_b, made(case.seed + 1, case.dtype_b or case.dtype, shape, case.style_b), case.typed_b)
    data = broken(case, one) if case.broken else one.SerializeToString()
    paths = [folder / "a.pb", folder / "b.pb"]
    for path, raw in zip(paths, (data, other.SerializeToString()), strict=True):
        path.write_bytes(raw)
    a, b = read(data), numpy_helper.to_array(other)
    out = folder / f"c{case.out}"
    refused = tuple(_refusal(case, a, b))
    expected = None
    if not refused and isinstance(a, np.ndarray):
        expected = subtracted(a, b, case.overflow)
        refused = expected.refused
    came = ours(tuple(map(str, paths)), str(out), overflow=case.overflow, block=case.block)
    if (what := settled(came, refused, out)) is not None:
        return what
    assert expected is not None
    (reported,) = came.tensors
    if case.out == ".npy":
        same_elements("difference", np.load(out), expected.array)
    else:
        proto = onnx.load_tensor(out)
        onnx.checker.check_tensor(proto)
        same("name", proto.name, onnx.load_tensor(paths[0]).name or other.name or "difference")
        same_elements("difference", numpy_helper.to_array(proto), expected.array)
    if case.dtype not in NARROW:
        same_report(reported, expected)
    return "equal"


def _refusal(case: Case, a: Array | str, b: Array) -> Iterator[Why]:
    """Why two files are not subtracted."""
    is_lacked = case.lacked and case.broken not in ("no type", "unknown type")
    if isinstance(a, str) or _is_stricter(case):
        yield Reason.MESSAGE()
        yield Reason.ANOTHER_PLACE()
    if is_lacked:
        yield Reason.TYPE()
    if isinstance(a, str) or is_lacked:
        return
    if a.dtype != b.dtype:
        yield Reason.TYPES()
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        yield Reason.SHAPES()


def _is_stricter(case: Case) -> bool:
    """Whether this package has to refuse what onnx may read."""
    if case.broken == "range":
        return case.typed and case.dtype in ("uint8", "int8", "uint16", "int16", "float16", *NARROW) and (
            0 not in case.shape and not case.lacked)  # fmt: skip
    return case.broken in STRICTER and not (case.broken == "both fields" and 0 in case.shape)


SURFACES = (Surface("pb", "ONNX's tensors in files", ("onnx", "numpy"), draw, compare, Case),)
