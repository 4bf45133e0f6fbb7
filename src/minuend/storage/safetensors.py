"""safetensors: named tensors.

    header length (u64, little-endian), header (JSON), elements

The header maps each name to ``dtype``, ``shape`` and ``data_offsets`` (begin and end within the elements), and
``__metadata__`` to free text. Tensors lie one behind the other without gaps. The header is checked here, so that an
error can say what is wrong and where, and by the ``safetensors`` package, which has the last word on files that are
read and on files that are written; it reads and writes whole tensors, so the elements are mapped and written here.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from minuend.core.elements import TYPES
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError, listed
from minuend.storage.base import Array, Result, Tensor, TensorFile, array_at, map_bytes, need

NAMED = True
_LONGEST_HEADER = 100_000_000
_METADATA = "__metadata__"
_NARROW = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0"}
WORDS: dict[str, str] = {name: row.kernel.upper() for name, row in TYPES.items() if row.kernel != "table"} | _NARROW
"""What the format calls each element type that takes whole bytes: letter and width, as the kernel's traits do."""
_ELEMENTS = {word: TYPES[name] for name, word in WORDS.items()}


def open_file(path: str) -> TensorFile:
    """Check a file's header and map its elements."""
    package = need("safetensors", "safetensors", path)
    raw = map_bytes(path)
    start, header = _header(raw, path)
    openers: dict[str, Callable[[], Tensor]] = {}
    spans: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        begin, end, shape, word = _entry(entry, f"{path} tensor {name!r}")
        spans.append((begin, end, name))
        openers[name] = functools.partial(_tensor, raw, path, name, word=word, shape=shape, offset=start + begin)
    _check_spans(sorted(spans), raw.size - start, path)
    try:
        with package.safe_open(path, framework="numpy"):
            pass
    except package.SafetensorError as error:
        raise FileFormatError(f"{path} is no valid safetensors file: {error}") from None
    return TensorFile(path, NAMED, openers)


def _header(raw: Array, path: str) -> tuple[int, dict[str, Any]]:
    """Return where the elements start, and the header without its metadata."""
    length = int.from_bytes(raw[:8].tobytes(), "little")
    most = min(raw.size - 8, _LONGEST_HEADER)
    if raw.size < 8 or length > most:
        stated = f"states a header of {length} bytes" if raw.size >= 8 else f"has {raw.size} bytes"
        limit = f"{most} at the most" if raw.size >= 8 else "8 bytes of header length, and a header"
        raise FileFormatError(f"{path} {stated}; expected {limit}")
    try:
        header = json.loads(raw[8 : 8 + length].tobytes().decode(), object_pairs_hook=_unique)
    except _DuplicateKeyError as error:
        raise FileFormatError(
            f"{path} names {error.args[0]!r} twice in its header; expected names that differ"
        ) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} has a header that is no JSON ({error}); expected an object of tensors") from None
    if not isinstance(header, dict):
        raise FileFormatError(
            f"{path} has a header that is a JSON {type(header).__name__}; expected an object of tensors"
        )
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise FileFormatError(f"{path} has a {_METADATA} that is not all text; expected names and strings")
    return 8 + length, header


class _DuplicateKeyError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DuplicateKeyError(key)
        found[key] = value
    return found


def _entry(entry: Any, where: str) -> tuple[int, int, tuple[int, ...], str]:
    """Check one tensor's entry: its keys, that its numbers are numbers, and that its bytes fit its shape."""
    keys = {"dtype", "shape", "data_offsets"}
    if not isinstance(entry, dict) or set(entry) != keys:
        came = listed(sorted(entry), "and") or "nothing" if isinstance(entry, dict) else repr(entry)
        raise FileFormatError(f"{where} states {came}; expected {listed(sorted(keys), 'and')}")
    word, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(word, str):
        raise FileFormatError(f"{where} states the dtype {word!r}; expected one such as 'F32'")
    if not _sizes(shape):
        raise FileFormatError(f"{where} states the shape {shape!r}; expected a list of sizes of 0 and above")
    if not (_sizes(offsets) and len(offsets) == 2 and offsets[0] <= offsets[1]):
        raise FileFormatError(f"{where} states the data_offsets {offsets!r}; expected [begin, end]")
    begin, end = offsets
    if (element := _ELEMENTS.get(word)) and end - begin != size(shape) * element.itemsize:
        raise FileFormatError(
            f"{where} has {end - begin} bytes of elements; "
            f"expected {size(shape) * element.itemsize} ({word} of shape {tuple(shape)})"
        )
    return begin, end, tuple(shape), word


def _sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_spans(spans: list[tuple[int, int, str]], total: int, path: str) -> None:
    """Check that the tensors lie one behind the other, from the first byte of the elements to the last."""
    end = max((last for _, last, _ in spans), default=0)
    if end != total:
        raise FileFormatError(f"{path} has {total} bytes of elements; expected {end}, as its header says")
    for (_, end, name), (begin, _, other) in pairwise([(0, 0, ""), *spans]):
        if begin < end:
            raise FileFormatError(f"{path} tensor {other!r} starts at byte {begin}, inside {name!r}; expected {end}")
        if begin > end:
            raise FileFormatError(f"{path} tensor {other!r} starts at byte {begin}, after a gap; expected {end}")


def _tensor(raw: Array, path: str, name: str, *, word: str, shape: tuple[int, ...], offset: int) -> Tensor:
    if word not in _ELEMENTS:
        raise DTypeError("types", f"{path} tensor {name!r}", f"element type {word!r}; expected {listed(_ELEMENTS)}")
    element = _ELEMENTS[word]
    return Tensor(name, element, shape, lambda: array_at(raw, offset, element.memory, shape))


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse types that take no whole byte, the reserved name, and a missing package."""
    need("safetensors", "safetensors", path)
    for result in results:
        if result.element.name not in WORDS:
            raise DTypeError(
                "types", path, f"safetensors takes no {result.element} from this package; expected {listed(WORDS)}"
            )
        if result.name == _METADATA:
            raise FileFormatError(f"{path}: {_METADATA!r} is no tensor name in safetensors; rename the tensor")


def write(stream: Any, results: Sequence[Result]) -> None:
    """Write header and elements; wide types first, so that each tensor is aligned, as the package does."""
    order = sorted(results, key=lambda result: (-result.element.itemsize, result.name))
    header: dict[str, Any] = {}
    end = 0
    for result in order:
        begin, end = end, end + result.nbytes
        header[result.name] = {"dtype": WORDS[result.element.name], "shape": result.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little") + text)
    for result in order:
        result.write(stream)
    stream.flush()
    open_file(stream.name)  # the package has the last word on what was written
