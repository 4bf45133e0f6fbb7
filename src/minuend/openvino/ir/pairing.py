"""An ``.xml`` and its ``.bin``, which belong together: the ``.xml`` says which ``.bin`` it was written with.

    <net name="m" version="11" bin_size="4096" bin_sha256="9f86d0…">

Two files cannot take their names in one step, so a run that is killed between them leaves one old and one new. The
``.xml`` takes its name first: whichever ``.xml`` stands there then, its ``.bin`` is distinct from another. These are
attributes of ``<net>``, which OpenVINO does not look at, and not ``<rt_info>``, which it would copy into an ``.xml``
that it writes with a ``.bin`` of its own. An ``.xml`` without them is read as ever.
"""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from minuend.errors import FileFormatError
from minuend.files.streaming.reading import Array, Source, blocks
from minuend.openvino.ir.sections import Missing

SIZE, DIGEST = "bin_size", "bin_sha256"


class Stream(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Write bytes."""


class Hashing:
    """A stream that knows what it was given: attributes for ``<net>``."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes | memoryview, /) -> None:
        self._digest.update(data)
        self._size += len(data)
        self._stream.write(data)

    def attributes(self) -> dict[str, str]:
        """What the ``.xml`` says of these bytes."""
        return {SIZE: str(self._size), DIGEST: self._digest.hexdigest()}


class Checked:
    """The bytes of a ``.bin`` of a stated checksum: all of them are checked when the first one is read."""

    def __init__(self, source: Source, digest: str, name: str, xml: str) -> None:
        self.size = source.size
        self._source, self._digest, self._name, self._xml = source, digest, name, xml
        self._done = False

    def read(self, offset: int, size: int) -> Array:
        self._check()
        return self._source.read(offset, size)

    def read_into(self, offset: int, buffer: Array) -> None:
        self._check()
        self._source.read_into(offset, buffer)

    def _check(self) -> None:
        if self._done:
            return
        digest = hashlib.sha256()
        for block in blocks(self._source):
            digest.update(block.data)
        if (came := digest.hexdigest()) != self._digest:
            raise _other(self._name, self._xml, f"its SHA-256 is {came}", self._digest)
        self._done = True


def checked(attributes: dict[str, str], weights: Source | None, name: str, xml: str) -> Source | None:
    """Take what an ``.xml`` says of its ``.bin`` out of the attributes of ``<net>``, and return bytes that are checked.

    Args:
        attributes: of ``<net>``. weights: of the ``.bin``; ``None`` where there is none.
        name, xml: what messages call the two.

    Raises:
        FileFormatError: what is stated is no size or checksum, or the ``.bin`` has another size. Other bytes, and that
            there are none, are found when the first of them is read.
    """
    size, digest = attributes.pop(SIZE, None), attributes.pop(DIGEST, None)
    if size is None and digest is None:
        return weights
    if not re.fullmatch("[0-9]{1,19}", size or "") or not re.fullmatch("[0-9a-f]{64}", digest or ""):
        raise FileFormatError(
            f"{xml} states {SIZE} {(size or '')[:100]!r} and {DIGEST} {(digest or '')[:100]!r} of <net>; expected a "
            "number of bytes and 64 hex digits, or neither"
        )
    assert size is not None
    assert digest is not None
    if weights is None:
        return Missing(str(_other(name, xml, "it is not there", f"{size} bytes"))) if int(size) else None
    if weights.size != int(size):
        raise _other(name, xml, f"it has {weights.size} bytes", f"{size} bytes")
    return Checked(weights, digest, name, xml)


def _other(name: str, xml: str, came: str, stated: str) -> FileFormatError:
    return FileFormatError(
        f"{name} is not the .bin that {xml} was written with: {came}, and {SIZE} and {DIGEST} of <net> say {stated}; "
        "writing the two was cut short, or one of them was replaced: write the model again, or take both from one copy "
        "(where the .bin was changed on purpose, take the two attributes out)"
    )
