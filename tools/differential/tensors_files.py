"""safetensors beside the package of that name, with NumPy and with torch: every type, free text, shards."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential.refusals import Reason, Why, unique
from differential.subtracting import (
    BLOCKS,
    POLICIES,
    STYLES,
    Array,
    Expected,
    Operand,
    difference,
    drawn,
    elements,
    ours,
    same,
    same_elements,
    same_report,
    settled,
    weighted,
)
from differential.surface import Surface

_TORCH = {
    "bfloat16": "ml_dtypes",
    "float8_e4m3fn": "ml_dtypes",
    "float8_e5m2": "ml_dtypes",
    "float8_e8m0fnu": "ml_dtypes",
}
NUMPYS = ("float32", "float64", "float16", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
TORCHES = (*NUMPYS, *_TORCH)
LACKED = ("bool", "complex64", "float4_e2m1fn_x2", "float8_e4m3fnuz", "float8_e5m2fnuz")
NAMES = ("x", "model.layers.0.weight", "Größe", "a/b", "日", "with space", "a::b", "", 'quote"d', "x\ny", "-", "0")
TEXTS: tuple[dict[str, str], ...] = (
    {},
    {"format": "pt"},
    {"Größe": "ä\n\"'\\", "": "", "日": "本"},
    {"long": "x" * 3000},
)
SPELLINGS = ("", "", "", "null", "spaces", "order", "ascii", "unaligned")
"""How a header is written that says the same."""


@dataclass(frozen=True)
class Case:
    """Two files of tensors; fields that end in ``_b`` are of the second."""

    seed: int = 0
    writer: str = "numpy"
    writer_b: str = "numpy"
    dtypes: tuple[str, ...] = ("float32",)
    shapes: tuple[tuple[int, ...], ...] = ((2, 3),)
    names: tuple[str, ...] = ("x",)
    style: str = "small"
    style_b: str = "small"
    joined: str = "same"
    text: int = 0
    text_b: int = 0
    missing: int = 0
    shards: int = 0
    shards_b: int = 0
    by_index: bool = False
    shape_of: str = "file"
    select: bool = False
    common: bool = False
    overflow: str = "wrap"
    block: int = 0
    broken: str = ""
    spelling: str = ""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    count = source.choice((0, 1, 1, 2, 3, 5))
    writer = source.choice(("numpy", "torch"))
    writer_b = writer if source.random() < 0.7 else source.choice(("numpy", "torch"))
    known = TORCHES if writer == writer_b == "torch" else NUMPYS
    shards = source.choice((0, 0, 0, 1, 2, 3)) if count else 0
    return Case(
        seed=source.randrange(1 << 16),
        writer=writer,
        writer_b=writer_b,
        dtypes=tuple(
            source.choice(LACKED if writer == writer_b == "torch" else LACKED[:2])
            if source.random() < 0.02
            else source.choice(known)
            for _ in range(count)
        ),
        shapes=tuple(
            tuple(source.choice((0, 1, 2, 3, 5, 16, 31)) for _ in range(source.choice((0, 1, 2, 2, 3, 5))))
            for _ in range(count)
        ),
        names=tuple(source.sample(NAMES, count)),
        joined=weighted(source, {"same": 12, "number": 1, "row": 1, "other size": 1}),
        missing=weighted(source, {0: 8, 1: 1, 2: 1}),
        shards=shards,
        shards_b=shards if source.random() < 0.7 else (source.choice((0, 1, 2)) if count else 0),
        shape_of=weighted(source, {"folder" if shards else "file": 9, "file": 1}),
        broken=weighted(source, {"": 80, "cut": 1, "longer": 1, "gap": 1}),
        **drawn(
            source,
            style=STYLES,
            style_b=STYLES,
            text=range(len(TEXTS)),
            text_b=range(len(TEXTS)),
            by_index=(False, True),
            select=(False, False, True),
            common=(False, False, True),
            overflow=POLICIES,
            block=BLOCKS,
            spelling=SPELLINGS,
        ),
    )


def compare(case: Case, folder: Path) -> str:
    """Write both files by the package, subtract them, and read the difference by the package."""
    a, b = tensors(case, 1), tensors(case, 2)
    one = write(folder, "a", a, case.writer, TEXTS[case.text], case.shards, case.by_index)
    other = write(folder, "b", b, case.writer_b, TEXTS[case.text_b], case.shards_b, case.by_index)
    respelled(other, case.spelling)
    if case.broken and a:
        damage(one, case)
    single = case.select and bool(a) and next(iter(a)) != ""  # as if it had none: its difference is called "difference"
    if single:
        name = next(iter(a))
        one, other, a, b = f"{one}::{name}", f"{other}::{name}", {name: a[name]}, {k: b[k] for k in b if k == name}
    out = folder / ("c" if case.shape_of == "folder" and case.shards else "c.safetensors")
    refused = unique(refusal(a, b, case, single, one))
    found: dict[str, Expected] = {}
    for name in a if {one.reason for one in refused} <= {Reason.DAMAGED} else ():
        if name in b:
            found[name] = subtracted(a[name], b[name], case.overflow)
    refused += tuple(why for each in found.values() for why in each.refused)
    came = ours((one, other), str(out), overflow=case.overflow, common=case.common, block=case.block)
    if (what := settled(came, refused, out)) is not None:
        return what
    text = TEXTS[case.text]
    read = read_folder(out, text, found, a, case) if out.suffix == "" else read_file(out, text)
    same("names", sorted(read), sorted(found))
    for told in came.tensors:
        same_elements(repr(told.name), read[told.name], found[told.name].array)
        if found[told.name].array.dtype.isbuiltin != 2:  # none of ml_dtypes
            same_report(told, found[told.name])
    return "equal"


def tensors(case: Case, k: int) -> dict[str, Array]:
    """The tensors of a file by name."""
    found = {}
    rows = list(zip(case.names, case.dtypes, case.shapes, strict=False))
    for i, (name, dtype, shape) in enumerate(rows):
        if case.missing == k and i == len(rows) - 1:
            continue
        own = shape
        if k == 2 and i == 0 and case.joined != "same":
            own = {"number": (), "row": shape[-1:], "other size": (*shape[:-1], shape[-1] + 1) if shape else (2, 2)}[
                case.joined
            ]
        found[name] = made(case.seed * 10 + k * 5 + i, dtype, own, case.style if k == 1 else case.style_b)
    return found


def made(seed: int, dtype: str, shape: tuple[int, ...], style: str) -> Array:
    """One tensor; ml_dtypes' types are drawn as bits or as rounded numbers."""
    import ml_dtypes

    if dtype == "float4_e2m1fn_x2":
        # Two numbers are a byte, and the package writes no half ones: a tensor without axes has one number.
        return elements(seed, "uint8", shape or (1,), "bits").view("V1")
    if dtype not in _TORCH and not dtype.endswith("fnuz"):
        return elements(seed, dtype, shape, style)
    own = np.dtype(getattr(ml_dtypes, dtype))
    if style == "bits":
        return elements(seed, f"uint{8 * own.itemsize}", shape, "bits").view(own)
    with np.errstate(all="ignore"):
        return elements(seed, "float32", shape, style).astype(own)


def as_torch(array: Array) -> Any:
    """A NumPy array as torch's tensor, its bits as they are."""
    import torch

    name = "float4_e2m1fn_x2" if array.dtype.kind == "V" and array.dtype.name == "void8" else array.dtype.name
    if name not in (*_TORCH, *LACKED[2:]):
        return torch.from_numpy(array.copy())
    raw = torch.from_numpy(array.view(f"u{array.itemsize}").copy())
    return raw.view(getattr(torch, name))


def save(path: Path, held: dict[str, Array], writer: str, text: dict[str, str]) -> None:
    """Write one file by the package."""
    if writer == "torch" or any(array.dtype.name == "void8" for array in held.values()):
        from safetensors.torch import save_file as by_torch

        by_torch({name: as_torch(array) for name, array in held.items()}, path, text or None)
        return
    from safetensors.numpy import save_file

    save_file(
        {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in held.items()}, path, text or None
    )


def write(
    folder: Path, stem: str, held: dict[str, Array], writer: str, text: dict[str, str], shards: int, by_index: bool
) -> str:
    """Write a file, or a folder of shards with the index that transformers writes."""
    if not shards:
        save(folder / f"{stem}.safetensors", held, writer, text)
        return str(folder / f"{stem}.safetensors")
    home = folder / stem
    home.mkdir()
    index: dict[str, str] = {}
    for k in range(shards):
        own = {name: array for i, (name, array) in enumerate(held.items()) if i % shards == k}
        if not own:
            continue
        file = f"model-{k + 1:05}-of-{shards:05}.safetensors"
        save(home / file, own, writer, text)
        index |= dict.fromkeys(own, file)
    size = sum(array.nbytes for array in held.values())
    named = home / "model.safetensors.index.json"
    named.write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": index}), encoding="utf-8")
    return str(named if by_index else home)


def respelled(path: str, how: str) -> None:
    """Write the header of a file, or of all shards of a folder, in other words that say the same."""
    home = Path(path)
    files = (
        [home] if home.name.endswith(".safetensors") else (home if home.is_dir() else home.parent).glob("*.safetensors")
    )
    for file in files if how else ():
        raw = file.read_bytes()
        end = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:end])
        if how == "null":
            header.setdefault("__metadata__", None)
        if how == "order":
            header = dict(reversed(header.items()))
        text = json.dumps(header, ensure_ascii=how == "ascii", indent=3 if how == "spaces" else None).encode()
        text += b"" if how == "unaligned" else b" " * (-len(text) % 8)
        file.write_bytes(len(text).to_bytes(8, "little") + text + raw[end:])


def damage(path: str, case: Case) -> None:
    """Break a file, or the first shard of a folder."""
    home = Path(path)
    if not home.name.endswith(".safetensors"):
        home = next(iter((home if home.is_dir() else home.parent).glob("*.safetensors")), home)
    raw = home.read_bytes()
    if case.broken == "cut":
        home.write_bytes(raw[: case.seed % len(raw)])
    elif case.broken == "longer":
        home.write_bytes(raw + b"\0")
    else:
        home.write_bytes(raw[:-1] + b"\0\0" if len(raw) % 2 else raw + b"\0\0")


def refusal(a: dict[str, Array], b: dict[str, Array], case: Case, single: bool, path: str) -> Iterator[Why]:
    """Why two files are not subtracted."""
    for k, shards in ((1, case.shards), (2, case.shards_b)):
        if shards and not tensors(case, k):
            yield Reason.NO_SHARDS()
    if case.broken and tensors(case, 1):
        yield Reason.DAMAGED(path.partition("::")[0].removesuffix("/model.safetensors.index.json"))
    if single and case.common:
        yield Reason.COMMON()
    if single and not b:
        yield Reason.NOT_THERE(repr(next(iter(a))))
    elif not a.keys() & b.keys() or (a.keys() != b.keys() and not case.common):
        yield Reason.NAMES(*map(repr, sorted(a.keys() ^ b.keys())))
    for name in a.keys() & b.keys():
        x, y = a[name], b[name]
        if x.dtype.name not in TORCHES:
            yield Reason.TYPE(repr(name))
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            yield Reason.SHAPES("" if single else repr(name))


def subtracted(x: Array, y: Array, overflow: str) -> Expected:
    """The difference; of ml_dtypes' types that of float32, rounded, which is exact enough to be rounded once."""
    if x.dtype.name not in _TORCH:
        return difference(Operand(x), Operand(y), overflow)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64) - y.astype(np.float64)
        found = np.asarray(wide.astype(np.float32) if x.dtype.name != "bfloat16" else wide).astype(x.dtype)
    if x.dtype.name == "float8_e8m0fnu":
        found = np.where(wide > 0, found.view(np.uint8), np.uint8(255)).view(x.dtype)
    return Expected(found)


def read_file(path: Path, text: dict[str, str]) -> dict[str, Array]:
    """Read a file by the package, its free text checked."""
    import ml_dtypes
    import torch
    from safetensors import safe_open

    found = {}
    with safe_open(path, "pt") as file:
        same("free text", file.metadata() or {}, text)
        for name in file.keys():  # noqa: SIM118
            tensor = file.get_tensor(name)
            plain = str(tensor.dtype).removeprefix("torch.")
            if plain in _TORCH:
                raw = tensor.contiguous().view(getattr(torch, f"uint{8 * tensor.element_size()}")).numpy()
                found[name] = raw.view(getattr(ml_dtypes, plain))
            else:
                found[name] = tensor.numpy()
    return found


def read_folder(
    home: Path, text: dict[str, str], found: dict[str, Expected], a: dict[str, Array], case: Case
) -> dict[str, Array]:
    """Read shards by their index, whose sizes and names are checked."""
    index = json.loads((home / "model.safetensors.index.json").read_text("utf-8"))
    same("total size", index["metadata"]["total_size"], sum(one.array.nbytes for one in found.values()))
    wanted = {
        name: f"model-{i % case.shards + 1:05}-of-{case.shards:05}.safetensors"
        for i, name in enumerate(tensors(case, 1))
        if name in found
    }
    same("weight map", index["weight_map"], wanted)
    held: dict[str, Array] = {}
    for file in set(wanted.values()):
        own = read_file(home / file, text)
        same(f"names of {file}", sorted(own), sorted(name for name, at in wanted.items() if at == file))
        held |= own
    return held


SURFACES = (
    Surface(
        "safetensors",
        "safetensors files and shards beside the package, by NumPy and torch",
        ("safetensors", "torch", "numpy"),
        draw,
        compare,
        Case,
    ),
)
