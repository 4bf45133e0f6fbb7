"""Across modules: demands of small files are bounded (zip, XML, JSON, protobuf, text), and nothing is sent.

Each row is a bomb of its format. It is refused in words, in a process that has little more memory than it starts with.
"""

from __future__ import annotations

import bz2
import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from peak_memory import PEAK

pytest.importorskip("onnx")
pytest.importorskip("safetensors")

ROOM = 256 << 20
"""Bytes that a reader may take beyond those of the process; the bombs ask for gigabytes."""


def _npz(size: int, stated: int | None = None) -> bytes:
    """A compressed member of zeros; ``stated``: what its directory claims instead."""
    stream, head = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|u1", "fortran_order": False, "shape": (size,)})
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(head.getvalue())
            member.write(bytes(min(size, 1 << 20)))
        if stated is not None:
            archive.infolist()[0].file_size = stated
    return stream.getvalue()


def _npy(shape: object) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def _safetensors(header: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _nested(*fields: int) -> bytes:
    """Messages in messages, as protobuf writes them: the outermost field first."""
    inner = b""
    for field in reversed(fields):
        inner = _varint(field << 3 | 2) + _varint(len(inner)) + inner
    return inner


def _tensor(*dims: int) -> bytes:
    from onnx import TensorProto

    return bytes(TensorProto(data_type=TensorProto.UINT8, dims=dims, raw_data=b"x").SerializeToString())


_LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10) for i in range(1, 20))
_DEEP = 100_000


def _fill() -> bytes:
    fill = {"initialValuesDataType": "FLOAT32", "initialValues": {"value": 1, "valueCount": 2**32 - 1}}
    commands = [{"type": "print", "resource": "a"}]
    return json.dumps({"resources": {"a": fill}, "dispatchables": {}, "commands": commands}).encode()


_TEXT = b'<ir_version: 8, opset_import: ["" : 14]> g (float a) => (float c) {'
_FILE = b'<!DOCTYPE net [<!ENTITY x SYSTEM "file:///etc/passwd">]><net>&x;</net>'


def _member(name: str, size: int, **beside: bytes) -> bytes:
    """An archive with a compressed member of spaces."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, content in beside.items():
            archive.writestr(f".{other}", content)
        with archive.open(name, "w", force_zip64=True) as member:
            for _ in range(size >> 20):
                member.write(b" " * (1 << 20))
    return stream.getvalue()


_ZARR = json.dumps(
    {
        "zarr_format": 2,
        "shape": [10],
        "chunks": [10],
        "dtype": "|u1",
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "compressor": None,
    }
).encode()
_BZ2 = _ZARR.replace(b'"compressor": null', b'"compressor": {"id": "bz2", "level": 9}')


def _zipped_bz2() -> bytes:
    stream, chunk = io.BytesIO(), bz2.compress(bytes(1 << 24)) * 64
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(".zarray", _BZ2)
        archive.writestr("0", chunk)
    return stream.getvalue()


def _hdf5(**options: object) -> bytes:
    """A chunk of 40 bytes that inflates to 320 MiB; with further filters HDF5's library unpacks it."""
    h5py, packer = pytest.importorskip("h5py"), zlib.compressobj(9)
    chunk = b"".join([*(packer.compress(bytes(1 << 24)) for _ in range(20)), packer.flush()])
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        one = file.create_dataset("x", (10,), "<u4", chunks=(10,), compression=9, **options)
        try:
            one.id.write_direct_chunk((0,), chunk)
        except OSError as error:
            pytest.skip(f"this release of HDF5 writes no such chunk: {error}")
    return stream.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a member of 40 GB": ("x.npz", lambda: _npz(40 << 30), "has 1048576 bytes of elements; expected 42949672960"),
    "a claim beyond deflate": ("x.npz", lambda: _npz(1 << 20, 1 << 40), "claims 1099511627776 bytes out of"),
    "a shape beyond memory": ("x.npy", lambda: _npy((10**12, 10**6)), "expected 1000000000000000000 (uint8 of"),
    "a shape of many dims": ("x.npy", lambda: _npy((1,) * 65), "has 65 dims; NumPy's arrays have 64 at most"),
    "a deep header": ("x.npy", lambda: b"\x93NUMPY\1\0\x28\x23" + b"(" * 9000, "has a damaged .npy header"),
    "a header of 2**63 bytes": ("x.safetensors", lambda: _safetensors(b"{}", 1 << 63), "states a header of 92233720"),
    "a deep header of JSON": ("x.safetensors", lambda: _safetensors(b"[" * _DEEP), "has a header that is no JSON"),
    "a long number": ("x.safetensors", lambda: _safetensors(b"[%s]" % (b"9" * _DEEP)), "has a header that is no JSON"),
    "dims beyond memory": ("x.pb", lambda: _tensor(1 << 40, 1 << 20), "expected 1152921504606846976"),
    "dims beyond 64 bits": ("x.pb", lambda: _tensor(1 << 62, 1 << 62), ""),
    "deep messages": ("x.onnx", lambda: _nested(7, *(1, 5, 6) * 70), "nested deeper than the 100 that protobuf reads"),
    "deep bodies": ("x.onnxtxt", lambda: _TEXT + b"c = If (b) <t = g () => (float c) {" * 5000, "text form"),
    "entities that expand": ("x.xml", lambda: b"<!DOCTYPE net [%s]><net>&l19;</net>" % _LAUGHS, "has a document type"),
    "an external entity": ("x.xml", lambda: _FILE, "has a document type"),
    "deep elements": ("x.xml", lambda: b"<net>" * _DEEP, "elements nest deeper than 200 levels"),
    "deep objects": ("x.json", lambda: b'{"a": ' * _DEEP, "it nests deeper than 64 levels"),
    "a fill beyond memory": ("x.json", _fill, "above the limit"),
    "a header of zarr": ("x.zip", lambda: _member("zarr.json", 320 << 20), "has more than 16000000 bytes, which no"),
    "attributes of zarr": ("x.zip", lambda: _member(".zattrs", 320 << 20, zarray=_ZARR), "has more than 16000000"),
    "a chunk in a zip": ("x.zip", lambda: _member("0", 320 << 20, zarray=_ZARR), "a chunk of its array has 65716 at"),
    "a chunk of bzip2": ("x.zip", _zipped_bz2, "it unpacks to more than the 10 bytes"),
    "a chunk of HDF5": ("x.h5", _hdf5, "bytes; expected 40"),
    "a chunk of HDF5 by its library": ("x.h5", lambda: _hdf5(scaleoffset=0), "is damaged"),
}


SCRIPT = """
import json, os, resource, sys
import minuend, numpy, onnx, safetensors, minuend.onnx.model, minuend.openvino.model, minuend.directml.model
from minuend.models.opening import open_model
from minuend.files import open_tensors
from minuend.onnx.processes import library_process
library_process.start()
if sys.argv[1].endswith((".zip", ".h5")):
    import h5py, zarr
    from minuend.files.formats import zarr_bounds, zarr_stores
sent = []
def hook(event, args):
    if event.startswith("socket.") and not (event == "socket.__new__" and args[1] == 1):  # an event loop wakes itself
        sent.append(event)
sys.addaudithook(hook)
path, room = sys.argv[1], int(sys.argv[2])
high = PEAK_KIB
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2 * room, now + 2 * room))
try:
    if path.endswith((".npy", ".npz", ".safetensors", ".pb", ".zip", ".h5")):
        [tensor.read() for tensor in open_tensors(path).values()]
    else:
        model = open_model(path)
        list(model.subtractions())
        model.run({})
    told = "no error"
except (minuend.MinuendError, OSError) as error:
    told = str(error)
grown = PEAK_KIB - high << 10
print(json.dumps([told, grown < room, resource.getrusage(resource.RUSAGE_SELF).ru_utime, sent]))
""".replace("PEAK_KIB", PEAK)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded and counted as Linux does it")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_bounds(name: str, tmp_path: Path) -> None:
    file, make, words = BOMBS[name]
    if file.endswith((".zip", ".h5")):
        pytest.importorskip("h5py")
        pytest.importorskip("zarr")
    path = tmp_path / file
    path.write_bytes(make())
    assert path.stat().st_size < 1 << 20
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(ROOM)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told, small, seconds, sent = json.loads(done.stdout)
    assert told != "no error"
    assert words in told
    assert (small, sent) == (True, [])
    assert seconds < 30
    assert [one.name for one in tmp_path.iterdir()] == [file]
