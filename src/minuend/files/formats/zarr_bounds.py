"""Chunks of zarr arrays are unpacked to the bytes that their array's header gives, and no further.

A few hundred bytes of bzip2 can hold gigabytes, and ``zarr`` unpacks them whole before it looks at a chunk's shape. So
the codecs of an array that is read are replaced by ones with a limit. It is exact for the codec next to the array, and
generous for codecs around another one. What ``zfpy``, ``pcodec`` and the codecs of other packages unpack is checked
afterwards alone.

``zarr`` is imported here, so this module is imported where a zarr array is met and nowhere else.
"""

from __future__ import annotations

import asyncio
import bz2
import dataclasses
import lzma
import math
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import BytesCodec, ShardingCodec

_SLACK = 1 << 16
_TIMES = 2
"""What compressed bytes can be longer than what they hold: more than any codec makes of noise."""
_FILTERED = 16
"""The same of filters, which may store one byte as an element of sixteen."""
_LZMA_BYTES = 256 << 20
"""Of its dictionary, whose size a stream states; its highest level takes 64 MiB."""


class TooLong(ValueError):
    """A chunk holds more than its array's header says."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it unpacks to more than the {most} bytes that the header gives")


def bound(array: Any) -> None:
    """Give an array that was opened to be read codecs with a limit."""
    inner = array._async_array
    pipeline = inner.codec_pipeline
    nbytes = math.prod(array.chunks) * array.dtype.itemsize
    codecs = [_with_filters(one, nbytes) if hasattr(one, "compressor") else one for one in pipeline]
    object.__setattr__(inner, "codec_pipeline", type(pipeline).from_codecs(_bounded(codecs)))


def longest(shape: tuple[int, ...], itemsize: int) -> int:
    """Return how many bytes a chunk, or a shard with its index, takes where it is stored."""
    return math.prod(shape) * (_TIMES * itemsize + 16) + _SLACK


def _bounded(codecs: list[Any]) -> list[Any]:
    """Return the codecs of an array, or of a shard's chunks, with limits."""
    found: list[Any] = []
    packed = 0
    plain = any(isinstance(one, BytesCodec) for one in codecs)
    for one in codecs:
        if isinstance(one, ShardingCodec):
            found.append(dataclasses.replace(one, codecs=tuple(_bounded(list(one.codecs)))))
        elif isinstance(one, BytesBytesCodec):
            found.append(Bounded(one, exact=plain and not packed))
            packed += 1
        else:
            found.append(one)
    return found


@dataclasses.dataclass(frozen=True)
class Bounded(BytesBytesCodec):  # type: ignore[misc]
    """A codec of version 3 with a limit.

    Attributes:
        inner: the codec. exact: whether it gives the bytes of the array's elements, or what another codec packed.
    """

    inner: Any
    exact: bool
    is_fixed_size = False

    def evolve_from_array_spec(self, array_spec: object) -> Bounded:
        return Bounded(self.inner.evolve_from_array_spec(array_spec), self.exact)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: object) -> int:
        return int(self.inner.compute_encoded_size(input_byte_length, chunk_spec))

    def to_dict(self) -> object:
        return self.inner.to_dict()

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        dtype = getattr(chunk_spec.dtype, "to_native_dtype", lambda: chunk_spec.dtype)()
        nbytes = math.prod(chunk_spec.shape) * dtype.itemsize
        name, settings = _numcodec(self.inner)
        unpack = _UNPACK.get(name)
        if unpack is None:
            found = await self.inner._decode_single(chunk_bytes, chunk_spec)
            _check(len(found), nbytes + _SLACK if self.exact else _around(nbytes))
            return found
        raw = chunk_bytes.to_bytes()
        limit = Limit(nbytes if self.exact else _around(nbytes), self.exact)
        data = await asyncio.to_thread(unpack, raw, limit, settings)
        return chunk_spec.prototype.buffer.from_bytes(data)


def _around(nbytes: int) -> int:
    """Return the most that packed bytes can be which a further codec has packed; of shards, with their index."""
    return (_TIMES + 16) * nbytes + _SLACK


def _numcodec(codec: Any) -> tuple[str, Mapping[str, Any]]:
    """Return what numcodecs calls a codec of version 3, and its settings."""
    settings = getattr(codec, "codec_config", None)
    if settings is not None:
        return str(settings.get("id")), settings
    return type(codec).__name__.removesuffix("Codec").lower(), MappingProxyType({})


# ---- version 2 -------------------------------------------------------------------------------------------------------


def _with_filters(codec: Any, nbytes: int) -> Any:
    """Return the codec of an array of version 2, which has a compressor and filters, with limits."""
    filters = tuple(codec.filters or ())
    most = _FILTERED * nbytes + _SLACK
    limits = [Limit(nbytes, True) if not filters else Limit(most, False), *(Limit(most, False) for _ in filters)]
    changes: dict[str, Any] = {"filters": tuple(map(Numcodec, filters, limits[1:])) or codec.filters}
    if codec.compressor is not None:
        changes["compressor"] = Numcodec(codec.compressor, limits[0])
    return dataclasses.replace(codec, **changes)


class Numcodec:
    """A codec of version 2 with a limit; it only unpacks."""

    def __init__(self, inner: Any, limit: Limit) -> None:
        self._inner, self._limit = inner, limit

    def decode(self, raw: Any, out: object = None) -> object:
        unpack = _UNPACK.get(self._inner.codec_id)
        if unpack is None:
            found = self._inner.decode(raw)
            _check(np.asarray(found).nbytes if not isinstance(found, bytes) else len(found), self._limit.most)
            return found
        return unpack(np.asarray(raw).tobytes(), self._limit, self._inner.get_config())

    def get_config(self) -> object:
        return self._inner.get_config()


# ---- codecs ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Limit:
    """The most bytes that may come of a codec; where ``exact``, all others are wrong too."""

    most: int
    exact: bool


def _check(came: int, most: int) -> None:
    if came > most:
        raise TooLong(most)


Unpack: TypeAlias = Callable[[bytes, Limit, Mapping[str, Any]], bytes]


def _zlib(bits: int) -> Unpack:
    def unpack(raw: bytes, limit: Limit, _: object) -> bytes:
        return _streams(lambda: zlib.decompressobj(bits), raw, limit, many=bits != zlib.MAX_WBITS)

    return unpack


def _bz2(raw: bytes, limit: Limit, _: object) -> bytes:
    return _streams(bz2.BZ2Decompressor, raw, limit, many=True)


def _lzma(raw: bytes, limit: Limit, settings: Mapping[str, Any]) -> bytes:
    form = int(settings.get("format", lzma.FORMAT_XZ))
    if form == lzma.FORMAT_RAW:
        filters = settings.get("filters") or ()
        if any(int(one.get("dict_size", 0)) > _LZMA_BYTES for one in filters):
            raise ValueError(f"its dictionary takes more than {_LZMA_BYTES} bytes")
        return _streams(lambda: lzma.LZMADecompressor(form, filters=filters), raw, limit, many=False)
    return _streams(lambda: lzma.LZMADecompressor(form, memlimit=_LZMA_BYTES), raw, limit, many=True)


def _streams(make: Callable[[], Any], raw: bytes, limit: Limit, *, many: bool) -> bytes:
    """Unpack one stream, or all that follow each other."""
    parts: list[bytes] = []
    left = limit.most + 1
    while True:
        stream = make()
        data = raw
        while not stream.eof:
            part = stream.decompress(data, left)
            left -= len(part)
            parts.append(part)
            if left <= 0:
                raise TooLong(limit.most)
            data = getattr(stream, "unconsumed_tail", b"")
            if not part and not data and not stream.eof:
                raise ValueError("its stream is cut off")
        raw = stream.unused_data.lstrip(b"\0")  # GNU's tools pad
        if not raw or not many:
            return parts[0] if len(parts) == 1 else b"".join(parts)


_ZSTD_MAGIC = 0xFD2FB528.to_bytes(4, "little")


def _zstd(raw: bytes, limit: Limit, _: object) -> bytes:
    from numcodecs import zstd  # type: ignore[import-untyped, unused-ignore]

    stated = zstd_size(raw)
    if stated is not None:
        _check(stated, limit.most)
        return bytes(zstd.decompress(raw))
    if not limit.exact:
        raise ValueError("its zstd frame states no size")
    out = np.empty(limit.most, np.uint8)
    zstd.decompress(raw, out)
    return out.tobytes()


def zstd_size(raw: bytes) -> int | None:
    """Return the size that the first frame of zstd states, ``None`` where it states none.

    >>> zstd_size(bytes.fromhex("28b52ffd2003")), zstd_size(bytes.fromhex("28b52ffd0058"))
    (3, None)
    """
    if raw[:4] != _ZSTD_MAGIC or len(raw) < 6:
        raise ValueError("it is no zstd frame")
    flags = raw[4]
    single, form = flags >> 5 & 1, flags >> 6
    if not form and not single:
        return None
    at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (1, 2, 4, 8)[form]
    return int.from_bytes(raw[at : at + width], "little") + (256 if width == 2 else 0)


def _blosc(raw: bytes, limit: Limit, _: object) -> bytes:
    from numcodecs import blosc

    # The library does not know where the buffer ends, but for what the buffer itself says.
    if len(raw) < 16 or int.from_bytes(raw[12:16], "little") != len(raw):
        raise ValueError("it is no whole blosc buffer")
    _check(int.from_bytes(raw[4:8], "little"), limit.most)
    return bytes(blosc.decompress(raw))


def _lz4(raw: bytes, limit: Limit, _: object) -> bytes:
    from numcodecs import lz4

    _check(int.from_bytes(raw[:4], "little"), limit.most)
    return bytes(lz4.decompress(raw))


_UNPACK: dict[str, Unpack] = {
    "zlib": _zlib(zlib.MAX_WBITS), "gzip": _zlib(zlib.MAX_WBITS | 16), "bz2": _bz2, "lzma": _lzma, "zstd": _zstd,
    "blosc": _blosc, "lz4": _lz4,
}  # fmt: skip
