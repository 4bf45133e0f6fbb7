"""Files that become shorter while they are read are errors, not signals; parts are read as a whole is."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from peak_memory import PEAK

from minuend.errors import FileFormatError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files
from minuend.files.policy_comparison import compare_files
from minuend.files.streaming import reading, regions

X = np.arange(200_000, dtype=np.int32).reshape(400, 500)


def message(path: Path | str, ends: int, had: int) -> str:
    return (
        f"{path} became shorter while it was read: it had {had} bytes when it was opened, and now {ends}; "
        "read it again when nothing writes it"
    )


def save(path: Path, array: np.ndarray = X) -> None:
    {".npy": np.save, ".npz": np.savez}.get(path.suffix, save_other)(path, array)


def save_other(path: Path, array: np.ndarray) -> None:
    from minuend.core.elements import TYPES
    from minuend.files import Result, write_tensors

    write_tensors(str(path), [Result.of("arr_0", TYPES[array.dtype.name], array)])


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("order", "CF")
def test_a_file_that_shrinks_after_it_was_opened_is_an_error(tmp_path: Path, suffix: str, order: str) -> None:
    if order == "F" and suffix == ".safetensors":
        pytest.skip("it has no such order")
    path = tmp_path / f"x{suffix}"
    save(path, np.asfortranarray(X) if order == "F" else X)
    size = path.stat().st_size
    found = open_tensors(str(path))
    (tensor,) = found.values()
    os.truncate(path, 1000)
    with pytest.raises(FileFormatError) as caught:
        tensor.read()
    assert str(caught.value) == message(path, 1000, size)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("order", "CF")
def test_a_file_that_shrinks_under_sub_is_an_error_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, order: str
) -> None:
    """In a child of its own: over a memory map this was SIGBUS."""
    a, b, out = (tmp_path / f"{name}{suffix}" for name in "abo")
    for path in (a, b):
        save(path, np.asfortranarray(X) if order == "F" and suffix != ".safetensors" else X)
    code = (
        "import os, sys\n"
        "from minuend.files.streaming import regions\n"
        "regions.BLOCK_BYTES = 50_000\n"
        "from minuend.cli import program as cli, progress\n"
        "progress.Bar.__call__ = lambda *_: os.truncate(sys.argv[1], 50_000)\n"
        "raise SystemExit(cli.main(['sub', *sys.argv[1:3], '-o', sys.argv[3]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(a), str(b), str(out)], capture_output=True, text=True, check=False, timeout=60
    )
    size = b.stat().st_size
    assert (done.returncode, done.stderr) == (2, f"error: {message(a, 50_000, size)}\n")
    assert sorted(os.listdir(tmp_path)) == [a.name, b.name]


def test_a_file_that_shrinks_while_it_is_opened_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for suffix in (".npy", ".npz", ".safetensors", ".pb"):
        path = tmp_path / f"x{suffix}"
        save(path)
        monkeypatch.setattr(reading.File, "read_into", shrinking(path, reading.File.read_into))
        with pytest.raises(FileFormatError, match="became shorter while it was read"):
            open_tensors(str(path))
        monkeypatch.undo()


def shrinking(path: Path, read: Callable[..., None]) -> Callable[..., None]:
    def read_into(self: reading.File, offset: int, buffer: np.ndarray) -> None:
        os.truncate(path, 3)
        read(self, offset, buffer)

    return read_into


@pytest.mark.parametrize(
    "kind", ["onnx", "onnx external", "ir xml", "ir bin", "directml", "directml npy", "directml raw"]
)
def test_files_of_models_that_shrink_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    import onnx

    from minuend.models.opening import open_model, run
    from minuend.openvino.ir.builder import Builder

    monkeypatch.chdir(tmp_path)
    w = np.arange(50_000, dtype=np.float32)
    inputs = {"a": w}
    if kind.startswith("onnx"):
        info = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, w.shape) for n in "ac"]
        tensor = onnx.numpy_helper.from_array(w, "w")
        nodes = [onnx.helper.make_node("Sub", ["a", "w"], ["c"])]
        graph = onnx.helper.make_graph(nodes, "g", info[:1], info[1:], [tensor])
        proto = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 14)])
        onnx.save(proto, "m.onnx", save_as_external_data=kind != "onnx", location="w.bin")
        model, file = "m.onnx", "m.onnx" if kind == "onnx" else "w.bin"
    elif kind.startswith("ir"):
        builder = Builder("m")
        a = builder.parameter("a", "f32", w.shape)
        builder.result(builder.subtract("s", a, builder.constant("w", w)), "c")
        builder.model.save("m.xml")
        model, file = "m.xml", "m.xml" if kind == "ir xml" else "m.bin"
    else:
        np.save("w.npy", w)
        w.tofile("w.dat")
        source = "w.npy" if kind == "directml npy" else "w.dat"
        resource = {"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": source}}
        commands = [{"type": "print", "resource": "w"}]
        document = {"resources": {"w": resource}, "dispatchables": {}, "commands": commands}
        Path("m.json").write_text(json.dumps(document))
        inputs, model, file = {}, "m.json", "m.json" if kind == "directml" else source
    name = str(tmp_path.resolve() / file) if kind in ("onnx external", "directml npy", "directml raw") else file
    if kind in ("onnx", "ir xml", "directml"):
        monkeypatch.setattr(reading.File, "read_into", shrinking(Path(file), reading.File.read_into))
        with pytest.raises(FileFormatError) as caught:
            open_model(model)
        assert str(caught.value).startswith(f"{name} became shorter while it was read: it had ")
        return
    opened = open_model(model)
    size = os.path.getsize(file)
    os.truncate(file, 3)
    with pytest.raises(FileFormatError) as caught:
        run(opened, inputs)
    again = f"{name} had {size} bytes when the model was read, and now 3; read the model again"
    if kind == "onnx external":  # it is opened when it is read, in the process that runs the model
        again = f"m.onnx: graph, initializer 'w' has its data at bytes 0 to {size} of '{file}'; the file has 3"
    assert str(caught.value) == (message(name, 3, size) if kind == "ir bin" else again)


def test_a_model_may_name_more_files_than_can_be_open(tmp_path: Path) -> None:
    import resource

    from minuend.models.opening import run

    np.save(tmp_path / "w.npy", np.float32([1]))
    named = {"initialValues": {"sourcePath": "w.npy"}}
    resources = {f"r{i}": named for i in range(200)}
    commands = [{"type": "print", "resource": name} for name in resources]
    (tmp_path / "m.json").write_text(json.dumps({"resources": resources, "dispatchables": {}, "commands": commands}))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (150, limits[1]))
    try:
        assert run(str(tmp_path / "m.json"), {}) == {}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


# ---- parts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 1000, 50_000, 1 << 25])
def test_a_fortran_file_gives_the_same_numbers_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    x = X[:40, :30].reshape(40, 5, 6)
    a, b, out = (str(tmp_path / f"{name}.npy") for name in "abo")
    np.save(a, np.asfortranarray(x))
    np.save(b, np.asfortranarray(x[:, 1:2, ::-1]))
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    subtract_files(a, b, out)
    assert np.array_equal(np.load(out), x - x[:, 1:2, ::-1])


def test_of_large_files_a_few_blocks_are_in_memory(tmp_path: Path) -> None:
    """Two operands of 400 MB, sparse files of zeros; formerly all their pages counted as this process's memory."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (100, 1 << 20)})
    for name in "ab":
        with open(tmp_path / f"{name}.npy", "wb") as stream:
            stream.write(header.getvalue())
            stream.truncate(stream.tell() + (400 << 20))
    code = (
        "import sys; from minuend.files.policy_comparison import compare_files\n"
        f"before = {PEAK}\n"
        "compare_files(*sys.argv[1:])\n"
        f"print({PEAK} - before)"
    )
    files = [str(tmp_path / f"{name}.npy") for name in "ab"]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 250_000  # kB


def test_a_part_that_repeats_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (str(tmp_path / f"{name}.npy") for name in "ab")
    np.save(a, X)
    np.save(b, X[:1])
    monkeypatch.setattr(regions, "BLOCK_BYTES", 1000)
    opened = open_tensors(b)
    count = [0]
    read = reading.File.read_into

    def counted(self: reading.File, offset: int, buffer: np.ndarray) -> None:
        count[0] += self.path == b
        read(self, offset, buffer)

    monkeypatch.setattr(reading.File, "read_into", counted)
    found = compare_files(a, b).tensors
    assert len(opened) == len(found) == 1
    assert count[0] <= 2 + X.size * 4 // 1000 * 2


# ---- disks that fail ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors", ".pb"])
def test_a_read_error_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    def failing(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / f"x{suffix}"
    save(path)
    monkeypatch.setattr(reading, "_read_at", failing)
    with pytest.raises(OSError, match="Input/output error") as caught:
        [tensor.read() for tensor in open_tensors(str(path)).values()]
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(path))


@pytest.mark.parametrize("name", ["a.npy", "a.safetensors", "a.h5", "a.tif", "a.onnx", "a.xml"])
def test_a_pointer_of_git_lfs_is_named(tmp_path: Path, name: str) -> None:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError) as caught:
        open_tensors(str(tmp_path / name))
    assert str(caught.value) == (
        f"{tmp_path / name} is a pointer of Git LFS; expected the file itself, which git lfs pull fetches"
    )


def test_a_full_disk_of_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=X)
    (tensor,) = open_tensors(str(path)).values()
    full = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - the code under test closes it
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: full)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/temporary")
    with pytest.raises(OSError, match="No space left on device") as caught:
        tensor.read()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/temporary")


def test_a_header_that_safetensors_checks_has_no_name_that_a_killed_process_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safetensors = pytest.importorskip("safetensors")
    original = safetensors.safe_open
    seen: list[list[str]] = []

    def safe_open(path: str, **options: str) -> object:
        seen.append(os.listdir(tmp_path / "temporary"))
        return original(path, **options)

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(safetensors, "safe_open", safe_open)
    save(tmp_path / "x.safetensors")
    assert len(open_tensors(str(tmp_path / "x.safetensors"))) == 1
    assert seen
    assert not any(seen)
