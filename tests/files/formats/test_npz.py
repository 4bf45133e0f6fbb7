"""``.npz``: members, checksums, and archives that lie about their sizes."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from minuend import errors
from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors

X = np.arange(24, dtype=np.int32).reshape(4, 6)
Y = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_that_numpy_saved_are_read(tmp_path: Path, save: object) -> None:
    path = tmp_path / "x.npz"
    save(path, x=X, y=Y, none=np.empty((0, 2), np.uint8), one=np.float16(2.5))
    found = open_tensors(str(path))
    assert list(found) == ["x", "y", "none", "one"]
    for name, expected in np.load(path).items():
        read = found[name].read()
        assert (read.dtype, read.shape, read.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def test_an_archive_without_arrays_holds_none(tmp_path: Path) -> None:
    """NumPy writes and reads such; it was called damaged."""
    path = tmp_path / "x.npz"
    np.savez(path)
    assert list(np.load(path)) == list(open_tensors(str(path))) == []


def test_one_member_is_selected_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=X, y=Y)
    found = open_tensors(f"{path}::y")
    assert (list(found), found.named) == (["y"], False)
    assert np.array_equal(found["y"].read(), Y)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(f"{path}::z")
    assert str(caught.value) == f"{path} holds no tensor 'z'; expected one of 'x', 'y'"


def test_a_member_of_another_kind_does_not_keep_others_from_being_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=X, words=np.array(["a"]))
    found = open_tensors(str(path))
    assert np.array_equal(found["x"].read(), X)
    with pytest.raises(errors.DTypeError):
        found["words"]


def test_what_is_written_numpy_reads_and_equal_arrays_give_equal_bytes(tmp_path: Path) -> None:
    results = [
        Result.of("a/b", TYPES["int32"], X),
        Result.of("y", TYPES["float32"], Y),
    ]
    for name in ("1.npz", "2.npz"):
        write_tensors(str(tmp_path / name), results)
    read = np.load(tmp_path / "1.npz")
    assert (read["a/b"].tobytes(), read["y"].tobytes()) == (X.tobytes(), Y.tobytes())
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as out:
        for name, content in members.items():
            out.writestr(name, content)


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def failure(path: Path, name: str = "x") -> str:
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(str(path))[name].read()
    return str(caught.value)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(npy(X))
    assert failure(path) == f"{path} is no zip archive, or a damaged one (File is not a zip file); expected a .npz"


def test_members_that_are_no_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"x.npy": npy(X), "notes.txt": b"hello"})
    assert failure(path) == f"{path} holds 'notes.txt'; expected .npy members alone"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("x.npy", npy(X))
        out.writestr("x.npy", npy(X + 1))
    assert failure(path) == f"{path} holds two members 'x.npy'; expected names that differ"


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"x.npy": npy(np.array([{}]))})
    assert failure(path) == (
        f"{path} member 'x.npy' holds Python objects, which are pickles and can run code; expected numbers"
    )


def test_a_member_longer_or_shorter_than_its_header_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    for cut, came in ((npy(X)[:-1], 95), (npy(X) + b"\0" * 5, 101)):
        archive(path, {"x.npy": cut}, zipfile.ZIP_DEFLATED)
        assert failure(path) == (
            f"{path} member 'x.npy' has {came} bytes of elements; expected 96 (int32 of shape (4, 6))"
        )


def test_a_header_that_claims_more_than_deflate_can_pack_is_refused_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"x.npy": npy(X)}, zipfile.ZIP_DEFLATED)
    packed = bytearray(path.read_bytes())
    at = packed.index(b"PK\x01\x02")
    size = struct.unpack_from("<L", packed, at + 20)[0]
    struct.pack_into("<L", packed, at + 24, 1 << 31)
    path.write_bytes(packed)
    assert failure(path) == (
        f"{path} member 'x.npy' claims {1 << 31} bytes out of {size} packed ones; expected {1032 * size} at the most"
    )


@pytest.mark.parametrize(
    ("mark", "at", "value", "message"),
    [
        (b"PK\x01\x02", 42, 1, "Bad magic number for file header"),
        (b"PK\x01\x02", 8, 1 << 5, "compressed patched data (flag bit 5)"),
        (b"PK\x05\x06", 16, 1 << 30, "there is no byte -1073741565 of a file"),
    ],
    ids=["into the middle of the member", "a packing that nobody reads", "to before the file"],
)
def test_a_directory_that_leads_astray_is_reported(
    tmp_path: Path, mark: bytes, at: int, value: int, message: str
) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"x.npy": npy(X)})
    content = bytearray(path.read_bytes())
    struct.pack_into("<H" if at == 8 else "<L", content, content.index(mark) + at, value)
    path.write_bytes(content)
    assert failure(path) == f"{path} member 'x.npy' is damaged ({message}); expected a whole member"


def test_a_flipped_bit_in_a_stored_member_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    long = np.arange(100_000)
    np.savez(path, x=long)
    content = bytearray(path.read_bytes())
    checksum = zipfile.ZipFile(path).getinfo("x.npy").CRC
    content[content.index(long.tobytes()) + 700_000] ^= 4
    path.write_bytes(content)
    assert failure(path).startswith(f"{path} member 'x.npy' is damaged: its checksum is ")
    assert failure(path).endswith(f"; expected {checksum:08x}")


def test_a_flipped_bit_in_a_compressed_member_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    noise = np.frombuffer(np.random.default_rng(1).bytes(4000), np.uint8)
    np.savez_compressed(path, x=noise)
    content = bytearray(path.read_bytes())
    content[2000] ^= 4
    path.write_bytes(content)
    assert failure(path) == (f"{path} member 'x.npy' is damaged (Bad CRC-32 for file 'x.npy'); expected a whole member")


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"x.npy": npy(X)})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert failure(path) == f"{path} member 'x.npy' is encrypted; expected a plain member"


def test_another_packing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"x.npy": npy(X)}, zipfile.ZIP_BZIP2)
    assert failure(path) == f"{path} member 'x.npy' is packed by method 12; expected 0 (stored) or 8 (deflate)"


# ---- names ----------------------------------------------------------------------------------------------------


def test_names_that_an_archive_does_not_keep_are_refused(tmp_path: Path) -> None:
    """They come from .safetensors, which takes any text."""
    path = tmp_path / "o.npz"
    rows = [
        (
            "n" * 70_000,
            f"the name {'n' * 200!r} … (70000 characters) has 70000 bytes; a zip archive holds 65531 at most",
        ),
        (
            "\u00fc" * 32_766,
            f"the name {chr(252) * 200!r} … (32766 characters) has 65532 bytes; a zip archive holds 65531 at most",
        ),
        ("a\0b", "a zip archive does not keep the name 'a\\x00b'"),
    ]
    for name, message in rows:
        with pytest.raises(errors.FileFormatError) as caught:
            write_tensors(str(path), [Result.of(name, TYPES["int32"], X)])
        assert str(caught.value) == f"{path}: {message}; write .safetensors, or rename the tensor"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [Result.of("\ud800", TYPES["int32"], X)])
    assert str(caught.value) == f"{path}: the name '\\ud800' is no text that UTF-8 holds; rename the tensor"
    assert not path.exists()


@pytest.mark.parametrize("name", ["/x", "../x", "a/../x", "a\\..\\x", "\\x", "c:\\x", "c:/x", "a\n/../x"])
def test_names_that_lead_out_of_an_archive_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "o.npz"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [Result.of(name, TYPES["int32"], X)])
    assert str(caught.value) == (
        f"{path}: the name {name!r} leads out of an archive that is unpacked; write .safetensors, or rename the tensor"
    )
    assert not path.exists()


@pytest.mark.parametrize("name", ["w:0", "a/b", "..x", "x..", "a/..b/c", "x.npy"])
def test_names_that_only_look_like_it_are_written(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "o.npz")
    write_tensors(path, [Result.of(name, TYPES["int32"], X)])
    assert np.array_equal(open_tensors(path)[name].read(), X)


def test_names_that_numpy_takes_for_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.npz"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [Result.of(name, TYPES["int32"], X) for name in ("a", "a.npy")])
    assert str(caught.value) == (
        f"{path}: NumPy takes 'a.npy' for the member of 'a'; write .safetensors, or rename the tensor"
    )


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_two_tensors_of_one_name_are_not_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"o{suffix}"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [Result.of("a", TYPES["int32"], X)] * 2)
    assert str(caught.value) == f"{path}: two tensors are called 'a'; give them names that differ"
    assert not path.exists()


def test_the_longest_name_that_fits_is_written_and_read_again(tmp_path: Path) -> None:
    path, name = str(tmp_path / "o.npz"), "n" * 65_531
    write_tensors(path, [Result.of(name, TYPES["int32"], X)])
    assert np.array_equal(open_tensors(path)[name].read(), X)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_with_nul_in_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    archive(path, {"a.npy": npy(X), "aXb.npy": npy(X)})
    path.write_bytes(path.read_bytes().replace(b"aXb.npy", b"a\0b.npy"))
    assert failure(path, "a") == (
        f"{path} holds 'a\\x00b.npy', a name with NUL, at which readers of zip end it; expected names without"
    )


def test_what_sub_writes_it_reads_again(tmp_path: Path) -> None:
    """An archive whose names differ only behind a NUL became two members called ``a``."""
    from safetensors.numpy import save_file

    from minuend.files.difference import subtract_files

    source, out = str(tmp_path / "x.safetensors"), tmp_path / "o.npz"
    save_file({"a": X, "a\0": X}, source)
    with pytest.raises(errors.FileFormatError, match="does not keep the name"):
        subtract_files(source, source, str(out))
    assert not out.exists()
    subtract_files(source, source, str(tmp_path / "o.safetensors"))
    assert list(open_tensors(str(tmp_path / "o.safetensors"))) == ["a", "a\0"]
