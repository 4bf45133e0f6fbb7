"""Blocks of a delta: any bit patterns come back, and planes that lie are refused."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("zstandard")
import zstandard

from minuend.errors import FileFormatError
from minuend.files.deltas import byte_planes

WIDTHS = (1, 2, 4, 8)
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x3F80, 0x7F80, 0x7FC0, 0x7FFF, 0x8000, 0x8001, 0xFF80, 0xFFFF)


def there_and_back(base: np.ndarray | None, tuned: np.ndarray) -> np.ndarray:
    width, count = tuned.itemsize, tuned.size
    block, _ = byte_planes.pack(tuned, base, byte_planes.LEVEL)
    split = byte_planes.head_size(width)
    head = byte_planes.read_head(block[:split], width, count, "d")
    assert head.nbytes == len(block) - split
    patterns = byte_planes.unpack(head, np.frombuffer(block[split:], np.uint8), width, count, "d")
    return byte_planes.restore(head, patterns, base, "d")


def with_edges(width: int, bits: list[int]) -> np.ndarray:
    return np.array([bit & ((1 << 8 * width) - 1) for bit in bits], f"<u{width}")


@given(st.sampled_from(WIDTHS), st.data())
def test_any_bits_come_back(width: int, data: st.DataObject) -> None:
    patterns = st.one_of(st.integers(0, (1 << 8 * width) - 1), st.sampled_from(EDGES))
    pairs = data.draw(st.lists(st.tuples(patterns, patterns), min_size=1, max_size=300))
    base, tuned = (with_edges(width, list(bits)) for bits in zip(*pairs, strict=True))
    assert there_and_back(base, tuned).tobytes() == tuned.tobytes()
    assert there_and_back(None, tuned).tobytes() == tuned.tobytes()


@pytest.mark.parametrize("base", [*EDGES, *np.random.default_rng(19).integers(0, 1 << 16, 20).tolist()])
def test_every_pattern_of_16_bits_comes_back_from_a_base(base: int) -> None:
    """NaNs of every payload, both zeros and all numbers of float16 and bfloat16 among them."""
    tuned = np.arange(1 << 16, dtype=np.uint16)
    assert np.array_equal(there_and_back(np.full(1 << 16, base, np.uint16), tuned), tuned)


@pytest.mark.parametrize("width", [1, 2])
def test_small_numbers_of_either_sign_are_small_patterns(width: int) -> None:
    half = 1 << 8 * width - 1
    signed = range(-half, half)
    folded = byte_planes.zigzag(np.array([number % (2 * half) for number in signed], f"<u{width}"))
    assert folded.tolist() == [2 * number if number >= 0 else -2 * number - 1 for number in signed]
    assert byte_planes.unzigzag(folded).tolist() == [number % (2 * half) for number in signed]


def test_a_block_without_a_change_is_its_head() -> None:
    tuned = np.arange(1000, dtype="<u4")
    assert byte_planes.pack(tuned, tuned.copy(), byte_planes.LEVEL) == (bytes(17), 0)


def test_what_packs_to_more_is_stored_as_it_is() -> None:
    noise = np.random.default_rng(0).integers(0, 256, 5000, np.uint8)
    block, changed = byte_planes.pack(noise, None, 22)
    assert (block, changed) == (struct.pack("<BI", byte_planes.WHOLE, 5000) + noise.tobytes(), 5000)


def test_differences_that_take_more_than_the_patterns_are_not_stored() -> None:
    bits = np.random.default_rng(1)
    base, tuned = (bits.standard_normal(20_000).astype(ml_dtypes.bfloat16).view("<u2") for _ in range(2))
    whole, difference = (
        byte_planes.pack(tuned, base, byte_planes.LEVEL)[0],
        byte_planes.pack(tuned, np.zeros_like(tuned), 1)[0],
    )
    assert (whole[0], difference[0]) == (byte_planes.WHOLE, byte_planes.WHOLE)
    near = (tuned.view(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(1.01)).view("<u2")
    assert byte_planes.pack(near, tuned, byte_planes.LEVEL)[0][0] == byte_planes.DIFFERENCE
    assert np.array_equal(there_and_back(base, tuned), tuned)


BOMB = zstandard.ZstdCompressor().compress(bytes(1 << 24))
FRAME = zstandard.ZstdCompressor().compress(bytes(100_000))
SHORT = zstandard.ZstdCompressor().compress(bytes(3))
NO_SIZE = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100))


@pytest.mark.parametrize(
    ("plane", "message"),
    [
        (BOMB, f"states {1 << 24} bytes; expected 100000"),
        (SHORT, "states 3 bytes; expected 100000"),
        (NO_SIZE, "does not state its size; expected 100000"),
        (b"no frame", "is no whole zstd frame; the delta is damaged"),
        (FRAME[:-2], "is no whole zstd frame; the delta is damaged"),
        (FRAME + b"x", "is no whole zstd frame; the delta is damaged"),
    ],
    ids=["a bomb", "too short", "of no stated size", "no frame", "cut", "more behind it"],
)
def test_planes_that_lie_are_refused(plane: bytes, message: str) -> None:
    head = byte_planes.Head(byte_planes.WHOLE, (len(plane),))
    with pytest.raises(FileFormatError) as caught:
        byte_planes.unpack(head, np.frombuffer(plane, np.uint8), 1, 100_000, "d")
    assert str(caught.value) == f"d has a plane that {message}"


def test_a_frame_that_holds_more_than_it_states_is_refused() -> None:
    content = np.random.default_rng(0).integers(0, 4, 300, np.uint8).tobytes()
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=False).compress(content))
    assert (frame[5], frame[6]) == (300 - 256, 0)  # the content's size less 256, in two bytes
    frame[5] = 0
    with pytest.raises(FileFormatError, match="d has a plane that is no whole zstd frame; the delta is damaged"):
        byte_planes.unpack(
            byte_planes.Head(byte_planes.WHOLE, (len(frame),)), np.frombuffer(frame, np.uint8), 1, 256, "d"
        )


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ((7, 1, 1), "d has a block of kind 7; expected 0 or 1"),
        ((0, 1, 101), "d has a plane of 101 bytes for 100 elements; expected 100 at most"),
    ],
)
def test_heads_that_lie_are_refused(head: tuple[int, ...], message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        byte_planes.read_head(struct.pack("<B2I", *head), 2, 100, "d")
    assert str(caught.value) == message


def test_a_difference_without_a_base_is_refused() -> None:
    with pytest.raises(FileFormatError) as caught:
        byte_planes.restore(byte_planes.Head(byte_planes.DIFFERENCE, (0,)), np.zeros(1, np.uint8), None, "d")
    assert str(caught.value) == "d has a difference where there is no base; the delta is damaged"
