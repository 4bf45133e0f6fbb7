"""Deltas of checkpoints beside the safetensors package and NumPy.

Both checkpoints are written by the package. What a delta gives back has to be TUNED's bytes, and what the package reads
of them TUNED's tensors; what the delta says of each tensor is computed again by NumPy. A base or a delta that was
changed has to be refused, or to give the same bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from differential.subtracting import BLOCKS, STYLES, Array, drawn, same, weighted
from differential.surface import Difference, Surface
from differential.tensors_files import LACKED, NAMES, SPELLINGS, TEXTS, TORCHES, made, respelled, write

CHANGES = ("same", "few", "all", "signs", "grown", "fewer rows", "flat", "other type", "removed", "added")
"""What becomes of a tensor from BASE to TUNED; ``signs``: the highest bit of each byte changes."""
DAMAGES = ("base element", "base without a tensor", "base type", "tuned is base", "delta cut", "delta longer",
           "delta bit", "delta is base")  # fmt: skip
KINDS = ("npy", "npz", "pt", "folder", "missing")
"""What is no checkpoint."""
WORDS: dict[str, Any] = {
    "F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": ml_dtypes.bfloat16, "BOOL": np.uint8,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "C64": np.float32, **{f"{letter}{bits}": f"{kind}{bits}" for letter, kind in (("I", "int"), ("U", "uint"))
                          for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Types of the format whose elements, or parts of them, NumPy subtracts as float64."""
Tensor = tuple[str, tuple[int, ...], bytes]
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Case:
    """A checkpoint, what becomes of it, and what is broken afterwards.

    Attributes:
        again: shards of the base that the delta is applied to. kind: what stands in place of a checkpoint.
    """

    seed: int = 0
    writer: str = "numpy"
    dtypes: tuple[str, ...] = ("float32",)
    shapes: tuple[tuple[int, ...], ...] = ((2, 3),)
    names: tuple[str, ...] = ("x",)
    changes: tuple[str, ...] = ("few",)
    style: str = "small"
    text: int = 0
    text_b: int = 0
    shards: int = 0
    shards_b: int = 0
    again: int = 0
    by_index: bool = False
    block: int = 0
    level: int = 3
    command: bool = False
    damage: str = ""
    kind: str = ""
    spelling: str = ""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    count = source.choice((0, 1, 1, 2, 3, 5))
    writer = source.choice(("numpy", "torch"))
    known = (*TORCHES, *LACKED) if writer == "torch" else (*TORCHES[:11], *LACKED[:2])
    shards = (0, 0, 0, 1, 2, 3) if count else (0,)
    return Case(
        seed=source.randrange(1 << 16),
        writer=writer,
        dtypes=tuple(source.choice(known) for _ in range(count)),
        shapes=tuple(
            tuple(source.choice((0, 1, 2, 3, 5, *((16, 31) if rank < 3 else ()))) for _ in range(rank))
            for rank in source.choices((0, 1, 2, 2, 3, 5), k=count)
        ),
        names=tuple(source.sample(NAMES, count)),
        changes=tuple(source.choice(CHANGES) for _ in range(count)),
        damage=weighted(source, {"": 12, **dict.fromkeys(DAMAGES, 1)}),
        kind=weighted(source, {"": 40, **dict.fromkeys(KINDS, 0.4)}),
        command=source.random() < 0.2,
        **drawn(
            source,
            style=STYLES,
            text=range(len(TEXTS)),
            text_b=range(len(TEXTS)),
            shards=shards,
            shards_b=shards,
            again=shards,
            by_index=(False, True),
            block=BLOCKS,
            level=(1, 3, 3, 22),
            spelling=SPELLINGS,
        ),
    )


# ---- both checkpoints ---------------------------------------------------------------------------------------------


def checkpoints(case: Case) -> tuple[dict[str, Array], dict[str, Array]]:
    """The tensors of BASE and of TUNED by name."""
    base, tuned = {}, {}
    rows = zip(case.names, case.dtypes, case.shapes, case.changes, strict=False)
    for i, (name, dtype, shape, change) in enumerate(rows):
        own = made(case.seed + i, dtype, shape, case.style)
        if change != "added":
            base[name] = own
        if change != "removed":
            tuned[name] = _changed(case, i, own, change)
    return base, tuned


def _changed(case: Case, i: int, own: Array, change: str) -> Array:
    """What a tensor of BASE is in TUNED."""
    dtype, shape = case.dtypes[i], own.shape
    other = made(case.seed + 1000 + i, dtype, shape, "bits")
    if change == "all" or (change == "few" and not shape):
        return other
    found = np.array(own)
    if change == "few":
        found[::3] = other[::3]
    if change == "signs" and own.dtype != bool:
        return (own.reshape(-1).view(np.uint8) ^ np.uint8(128)).view(own.dtype).reshape(shape)
    if change == "grown" and shape:
        return np.concatenate([own, made(case.seed + 2000 + i, dtype, (2, *shape[1:]), "bits")])
    if change == "fewer rows" and shape:
        return own[: shape[0] // 2]
    if change == "flat":
        return own.reshape(-1)
    return own.reshape(-1).view(np.uint8) if change == "other type" and own.dtype != bool else found


def tensors_of(path: Path) -> Tensors:
    """All tensors of a checkpoint, as the package reads them."""
    import safetensors

    read: Any = safetensors.deserialize
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors"))
    return {
        name: (row["dtype"], tuple(row["shape"]), bytes(row["data"]))
        for file in files
        for name, row in read(file.read_bytes())
    }


def _home(path: str) -> Path:
    """The file or folder of a checkpoint that may be named by its index."""
    return Path(path).parent if path.endswith(".index.json") else Path(path)


# ---- comparing ----------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Make a delta, apply and verify it, and compare with what the package reads."""
    from minuend.errors import MinuendError
    from minuend.files.deltas import delta_files

    before = delta_files.BLOCK_BYTES
    if case.block:
        delta_files.BLOCK_BYTES = case.block
    try:
        return _compared(case, folder, (MinuendError, OSError))
    except MinuendError as error:
        raise Difference(f"ours refuses: {error}") from None
    finally:
        delta_files.BLOCK_BYTES = before


def _compared(case: Case, folder: Path, refusals: tuple[type[Exception], ...]) -> str:
    one, other = checkpoints(case)
    base = write(folder, "base", one, case.writer, TEXTS[case.text], case.shards if one else 0, case.by_index)
    tuned = write(folder, "tuned", other, case.writer, TEXTS[case.text_b], case.shards_b if other else 0, case.by_index)
    for path in (base, tuned):
        respelled(path, case.spelling)
    delta = folder / "d.safetensors"
    if case.kind:
        return _no_checkpoint(case, folder, base, refusals)
    report = _call(case, "make", base, tuned, out=delta)
    theirs = tensors_of(_home(base)), tensors_of(_home(tuned))
    reported = {row["name"]: row for row in _call(case, "info", delta)["tensors"]}
    same("tensors", sorted(reported), sorted(theirs[1]))
    stored = [_same_tensor(reported[name], *theirs) for name in reported]
    for word in ("unchanged", "difference", "whole"):
        same(word, report[word], stored.count(word))
    same("removed", report["removed"], len(theirs[0].keys() - theirs[1].keys()))
    if case.damage:
        return _damaged(case, folder, base, tuned, refusals)
    if case.again != case.shards and one:
        base = write(folder, "again", one, case.writer, TEXTS[case.text], case.again, case.by_index)
    out = _out(folder, tuned)
    _call(case, "apply", base, delta, out=out)
    _same_files(out, _home(tuned))
    same("what the package reads", tensors_of(out), theirs[1])
    same("findings", list(_call(case, "verify", base, delta, tuned)["findings"]), [])
    return "equal"


def _out(folder: Path, tuned: str) -> Path:
    return folder / ("out" if _home(tuned).is_dir() else "out.safetensors")


def _same_files(ours: Path, theirs: Path) -> None:
    """Compare two files, or all files of two folders."""
    if theirs.is_file():
        same("bytes", ours.read_bytes() == theirs.read_bytes(), True)
        return
    same("files", sorted(p.name for p in ours.iterdir()), sorted(p.name for p in theirs.iterdir()))
    for path in theirs.iterdir():
        same(f"bytes of {path.name}", (ours / path.name).read_bytes() == path.read_bytes(), True)


def _call(case: Case, verb: str, *given: str | Path, out: Path | None = None) -> dict[str, Any]:
    """What a function or its command reports.

    Raises:
        MinuendError, OSError: it refuses. Difference: the command ends with another status than 0, 1 and 2.
    """
    from minuend.errors import FileFormatError
    from minuend.files import deltas
    from minuend.plain import plain

    paths = [str(one) for one in (*given, *([out] if out else []))]
    if not case.command:
        level = {"level": case.level} if verb == "make" else {}
        name = "delta_info" if verb == "info" else f"{verb}_delta"
        return dict(plain(getattr(deltas, name)(*paths, **level)))
    from minuend.cli import main

    words = ["delta", verb, *map(str, given), *(["-o", str(out)] if out else []), "--json"]
    words += ["--level", str(case.level)] if verb == "make" else []
    reported, messages = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(reported), contextlib.redirect_stderr(messages):
        status = main(words)
    if status == 2:
        raise FileFormatError(messages.getvalue())
    report = json.loads(reported.getvalue()) if status in (0, 1) else {}
    if status != int(bool(report.get("findings"))):
        raise Difference(f"minuend {' '.join(words[:2])}: status {status}, {messages.getvalue()[:300]}")
    return dict(report)


def _same_tensor(reported: dict[str, Any], base: Tensors, tuned: Tensors) -> str:
    """Compare what a delta says of a tensor with what NumPy says, and return how it has to be stored."""
    name = reported["name"]
    word, shape, data = tuned[name]
    same(f"{name!r}: type and shape", (reported["dtype"], tuple(reported["shape"])), (word, shape))
    same(f"{name!r}: bytes", reported["nbytes"], len(data))
    stored, old = _stored(base.get(name), tuned[name])
    same(f"{name!r}: stored", reported["stored"], stored)
    if stored == "whole" or word not in WORDS:
        return stored
    x, y = (np.frombuffer(one, WORDS[word]) for one in (data[: len(old)], old))
    changed = np.frombuffer(data[: len(old)], f"V{x.itemsize}") != np.frombuffer(old, f"V{x.itemsize}")
    share = float(np.mean(changed)) if x.size else 0.0
    _close(f"{name!r}: share that changed", reported["changed"], share)
    with np.errstate(all="ignore"):
        distances = (x.astype(np.float64) - y.astype(np.float64))[changed]
        distances = distances[np.isfinite(distances)]
        _close(f"{name!r}: L2", reported["norm"]["l2"], float(np.sqrt(np.square(distances).sum())))
    _close(f"{name!r}: largest", reported["norm"]["max"], float(np.abs(distances).max(initial=0)))
    return stored


def _stored(
    old: tuple[str, tuple[int, ...], bytes] | None, new: tuple[str, tuple[int, ...], bytes]
) -> tuple[str, bytes]:
    """How a tensor has to be stored, and the bytes of the base that it is compared with."""
    if old is None or old[0] != new[0]:
        return "whole", b""
    if old[1] == new[1]:
        return ("unchanged" if old[2] == new[2] else "difference"), old[2]
    more_rows = len(old[1]) == len(new[1]) > 0 and old[1][0] < new[1][0] and old[1][1:] == new[1][1:]
    if not more_rows or not old[2] or len(new[2]) % new[1][0]:  # rows that are no whole bytes
        return "whole", b""
    return "difference", old[2]


def _close(name: str, ours: float | None, theirs: float) -> None:
    """Check that two numbers are equal to six digits."""
    if ours is None or not np.isclose(float(ours), theirs, 6e-6, 0):
        raise Difference(f"{name}: ours {ours!r}, theirs {theirs!r}")


# ---- what is broken -----------------------------------------------------------------------------------------------


def _no_checkpoint(case: Case, folder: Path, base: str, refusals: tuple[type[Exception], ...]) -> str:
    """Have something that is no checkpoint refused, as BASE and as TUNED."""
    path = folder / f"no.{case.kind}"
    if case.kind in ("npy", "npz"):
        getattr(np, "save" if case.kind == "npy" else "savez")(path, np.zeros(3, np.float32))
    elif case.kind == "pt":
        import torch

        torch.save({"x": torch.zeros(3)}, path)
    elif case.kind == "folder":
        path.mkdir()
    out = folder / "d.safetensors"
    for pair in ((base, path), (path, base)):
        with contextlib.suppress(*refusals):
            _call(case, "make", *pair, out=out)
            raise Difference(f"ours makes a delta of {case.kind}")
        same("whether an output is left", out.exists(), False)
    return "refused: no checkpoint"


def _damaged(case: Case, folder: Path, base: str, tuned: str, refusals: tuple[type[Exception], ...]) -> str:
    """Break the base or the delta: it is refused, or gives the same bytes; a base that matters is refused."""
    delta, out = folder / "d.safetensors", _out(folder, tuned)
    one, _ = checkpoints(case)
    was, now = tensors_of(_home(base)), tensors_of(_home(tuned))
    reads = [name for name in was.keys() & now.keys() if _stored(was[name], now[name])[0] != "whole"]
    matters = case.damage in ("delta cut", "delta longer", "delta is base")
    if case.damage.startswith("base"):
        shown = _other_base(case, one)
        if shown is None:
            return "nothing to break"
        name, broken = shown
        matters = name in reads
        base = write(folder, "broken", broken, case.writer, TEXTS[case.text], 0, case.by_index)
    elif case.damage == "tuned is base":
        return _another_tuned(case, base, tuned)
    else:
        _break(case, delta, base)
    try:
        _call(case, "apply", base, delta, out=out)
    except refusals:
        same("whether an output is left", out.exists(), False)
        return f"refused: {case.damage}"
    if matters:
        raise Difference(f"applied in spite of: {case.damage}")
    _same_files(out, _home(tuned))
    if case.damage.startswith("base") and not _call(case, "verify", base, delta)["findings"]:
        raise Difference(f"verify finds nothing: {case.damage}")
    return f"the same bytes in spite of: {case.damage}"


def _other_base(case: Case, one: dict[str, Array]) -> tuple[str, dict[str, Array]] | None:
    """The base with one tensor changed: its name, and all of them; ``None`` where none can be."""
    names = [name for name, array in one.items() if array.nbytes]
    if not names:
        return None
    name = names[case.seed % len(names)]
    now = {key: np.array(array) for key, array in one.items()}
    raw = now[name].reshape(-1).view(np.uint8)
    if case.damage == "base without a tensor":
        del now[name]
    elif case.damage == "base type":
        now[name] = raw if now[name].dtype != np.uint8 else raw.view(np.int8)
    elif now[name].dtype == bool:
        now[name] = np.asarray(~now[name])
    else:
        raw[case.seed % raw.size] ^= 1 << case.seed % 8
    return name, now


def _break(case: Case, delta: Path, base: str) -> None:
    raw = bytearray(delta.read_bytes())
    if case.damage == "delta is base":
        first = next(_files(_home(base)))
        shutil.copy(first, delta)
        return
    if case.damage == "delta bit":
        raw[case.seed * 7919 % len(raw)] ^= 1 << case.seed % 8
    delta.write_bytes(raw[: case.seed * 31 % len(raw)] if case.damage == "delta cut" else
                      raw + b"\0" * (case.damage == "delta longer"))  # fmt: skip


def _files(home: Path) -> Iterator[Path]:
    yield from [home] if home.is_file() else sorted(home.glob("*.safetensors"))


def _another_tuned(case: Case, base: str, tuned: str) -> str:
    """Verify against BASE in place of TUNED."""
    is_same = tensors_of(_home(base)) == tensors_of(_home(tuned))
    found = _call(case, "verify", base, _home(base).parent / "d.safetensors", base)["findings"]
    if not is_same and not found:
        raise Difference("verify finds nothing: base in place of tuned")
    return "verified against another checkpoint"


SURFACES = (
    Surface("deltas", "deltas of checkpoints", ("safetensors", "torch", "numpy", "zstandard"), draw, compare, Case),
)
