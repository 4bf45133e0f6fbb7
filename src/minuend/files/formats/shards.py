"""Sharded checkpoints: safetensors files in one folder, and an index that says which tensor lies in which.

    model-00001-of-00002.safetensors, model-00002-of-00002.safetensors
    model.safetensors.index.json: {"metadata": {"total_size": bytes}, "weight_map": {tensor: name of its file}}

The folder or the index names all of them as one file of tensors. The index and the files have to agree: every shard is
there and whole, every tensor lies where the index says, and in no other. Shards are read where they lie (caches keep
them behind symbolic links), but the index names files of its own folder alone.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from minuend.errors import FileFormatError, listed
from minuend.files import sources
from minuend.files.addresses import URL
from minuend.files.base import NO_TEXT, Result, Shard, Tensor, TensorFile, clipped, quoted
from minuend.files.formats import safetensors
from minuend.files.transaction.writing import new_file
from minuend.schema import parse_json

SUFFIXES = (".safetensors.index.json",)
NAMED = True
HOLDS = frozenset({"metadata"})
FOLDER = True
_LONGEST_INDEX = 100_000_000
_MAP, _SIZE = "weight_map", "total_size"
_COUNTS = (_SIZE, "total_parameters")
_NUMBERED = re.compile(r"(.+)-\d+-of-\d+\.safetensors\Z")


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Open a checkpoint by its index, or by the folder that the index lies in."""
    index = _index_of(path) if os.path.isdir(path) else path
    folder = os.path.dirname(index)
    places, lost = _read_index(index)
    names = list(dict.fromkeys(places.values()))
    if missing := [name for name in names if not _is_there(os.path.join(folder, name))]:
        raise FileFormatError(f"{index} names {quoted(missing)}, which {_is(missing)} not there; fetch all shards")
    shards = {name: safetensors.open_file(os.path.join(folder, name), every_type=every_type) for name in names}
    _check(index, places, shards)
    openers: dict[str, Callable[[], Tensor]] = {}
    metadata: dict[str, str] = {}
    for name, found in shards.items():
        shard = Shard(name, found.metadata)
        metadata = {**found.metadata, **metadata}
        openers |= {tensor: functools.partial(_tensor, found, tensor, shard) for tensor in found}
    sources = (index, *(one.path for one in shards.values()))
    left_out = (f"{index} has the metadata {quoted(lost)}, which are left out",) if lost else ()
    return TensorFile(path, NAMED, {name: openers[name] for name in places}, metadata, sources, left_out=left_out)


def _is_there(path: str) -> bool:
    """Whether there is a shard; one behind an address says so when it is opened."""
    return URL in path or os.path.lexists(path)


def _tensor(found: TensorFile, name: str, shard: Shard) -> Tensor:
    tensor = found[name]
    return replace(tensor, about=replace(tensor.about, shard=shard))


def _index_of(folder: str) -> str:
    found = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIXES))
    if len(found) != 1:
        message = f"holds {len(found)} indexes ({quoted(found)}); name one of them" if found else _without(folder)
        raise FileFormatError(f"{folder} is a folder that {message}")
    return os.path.join(folder, found[0])


def _without(folder: str) -> str:
    """What to say of a folder without an index."""
    single = sorted(name for name in os.listdir(folder) if name.endswith(safetensors.SUFFIXES))
    hint = f"name a file in it: {quoted(single)}" if single else "expected a sharded checkpoint"
    return f"holds no *{SUFFIXES[0]}; {hint}"


def _read_index(index: str) -> tuple[dict[str, str], list[str]]:
    """Return the file of each tensor, and the names of what the index says beside that and counts of all."""
    source = sources.open_source(index)
    if source.size > _LONGEST_INDEX:
        raise FileFormatError(f"{index} has {source.size} bytes; an index has {_LONGEST_INDEX} at most")
    data = parse_json(source.read(0, source.size).tobytes(), index, "an index of safetensors files")
    stated = data if isinstance(data, dict) else {}
    places, said = stated.get(_MAP), stated.get("metadata")
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise FileFormatError(f"{index} has no {_MAP!r} of names of tensors and of their files; expected an index")
    for tensor, name in places.items():
        check_name(name, f"{index} has {clipped(tensor)} in {clipped(name)}")
    return places, [name for name in said if name not in _COUNTS] if isinstance(said, dict) else []


def check_name(name: str, where: str) -> None:
    """Check that a shard lies in the index's own folder."""
    if not name.endswith(safetensors.SUFFIXES) or "\0" in name:
        raise FileFormatError(f"{where}, which is no name of a safetensors file; expected one")
    if re.search(r"[/\\]", name) or re.match(r"[A-Za-z]:", name):
        raise FileFormatError(f"{where}, which is a path; expected the name of a file beside the index")


def _check(index: str, places: Mapping[str, str], shards: Mapping[str, TensorFile]) -> None:
    """Check that index and shards state the same."""
    seen: dict[str, str] = {}
    for name, found in shards.items():
        for tensor in found:
            if tensor in seen:
                raise FileFormatError(
                    f"{index}: {clipped(tensor)} is in {clipped(seen[tensor])} and in {clipped(name)}; expected it once"
                )
            seen[tensor] = name
    if lost := [tensor for tensor, name in places.items() if seen.get(tensor) != name]:
        where = [f"{clipped(tensor)} in {clipped(places[tensor])}" for tensor in lost[:20]]
        more = f" and {len(lost) - 20} more" if len(lost) > 20 else ""
        raise FileFormatError(
            f"{index} promises {listed(where, 'and')}{more}, which {_is(lost)} not there; "
            "index and shards are of different checkpoints"
        )
    if extra := [tensor for tensor in seen if tensor not in places]:
        raise FileFormatError(
            f"{index} does not name {quoted(extra)}, which its shards hold; "
            "index and shards are of different checkpoints"
        )


def _is(many: Sequence[str]) -> str:
    return "is" if len(many) == 1 else "are"


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse what safetensors cannot hold, and an output that is named as an index."""
    if path.endswith(SUFFIXES):
        raise FileFormatError(
            f"{path} is the name of an index; name a folder for it and its shards, "
            "or a .safetensors file for all tensors"
        )
    for shard, own in _by_shard(results).values():
        safetensors.check(os.path.join(path, shard.file), own)


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write each tensor to a shard of the name that A's had, with that one's free text, and the index."""
    places = _by_shard(results)
    for shard, own in places.values():
        with new_file(os.path.join(path, shard.file)) as stream:
            safetensors.write(stream, own, shard.metadata)
    index: dict[str, object] = {
        "metadata": {_SIZE: sum(result.nbytes for result in results)},
        _MAP: {result.name: result.about.shard.file for result in results if result.about.shard},
    }
    first = _NUMBERED.match(next(iter(places)))
    with new_file(os.path.join(path, f"{first[1] if first else 'model'}{SUFFIXES[0]}")) as stream:
        stream.write((json.dumps(index, indent=2, ensure_ascii=False) + "\n").encode())


def _by_shard(results: Sequence[Result]) -> dict[str, tuple[Shard, list[Result]]]:
    """Return the tensors of each file by its name."""
    found: dict[str, tuple[Shard, list[Result]]] = {}
    for result in results:
        shard = result.about.shard
        assert shard is not None, "a folder is written where A is sharded"
        found.setdefault(shard.file, (shard, []))[1].append(result)
    return found
