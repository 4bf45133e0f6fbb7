"""Checkpoints and deltas that tests make, and deltas that lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


def sharded(folder: Path, tensors: Mapping[str, np.ndarray], first: int) -> Path:
    """Write a sharded checkpoint: so many tensors in the first shard, the others in the second."""
    from safetensors.numpy import save_file

    folder.mkdir()
    names = list(tensors)
    for shard, own in ((ONE, names[:first]), (TWO, names[first:])):
        save_file({name: tensors[name] for name in own}, folder / shard, metadata={"format": "pt", "shard": shard})
    places = {name: ONE if name in names[:first] else TWO for name in names}
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}, indent=2) + "\n")
    return folder


Edit = Callable[[dict[str, Any], dict[str, bytes]], None]


def rewritten(path: Path, edit: Edit, *, version: str = "1") -> None:
    """Change what a delta says: its manifest, and its entries by name."""
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    with safe_open(path, framework="numpy") as found:
        manifest = json.loads(found.metadata()["minuend.delta"])
    entries = {name: array.tobytes() for name, array in load_file(path).items()}
    edit(manifest, entries)
    arrays = {name: np.frombuffer(entry, np.uint8) for name, entry in entries.items()}
    save_file(arrays, path, metadata={"minuend.delta.version": version, "minuend.delta": json.dumps(manifest)})
