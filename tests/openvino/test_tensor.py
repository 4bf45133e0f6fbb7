"""Codes of narrow types: their values, and the bytes in which OpenVINO packs them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.errors import DTypeError, ShapeError, SpecError
from minuend.openvino import Tensor
from minuend.openvino.tensor import NARROW
from minuend.openvino.versions import SPELLINGS
from minuend.operators import codes as of_codes

NAMES = [SPELLINGS[element.name][0] for element in NARROW]
FLOATS = [SPELLINGS[element.name][0] for element in NARROW if not element.is_integer]


def bytes_of(values: Any) -> Any:
    return np.array(values, np.uint8)


def test_the_narrow_types_are_these() -> None:
    assert NAMES == ["u1", "u2", "u4", "i4", "nf4", "f4e2m1", "f8e4m3", "f8e5m2", "f8e8m0"]


@pytest.mark.parametrize("name", NAMES)
def test_every_code_has_the_value_that_the_reference_gives_it(name: str) -> None:
    every = Tensor(name, np.arange(1 << Tensor(name, bytes_of([])).element.bits, dtype=np.uint8))
    values = every.to_float()
    assert values.dtype == np.float32
    expected = [float(of_codes.decode(every.element, code)) for code in range(every.codes.size)]
    assert np.array_equal(values, np.array(expected), equal_nan=True)
    assert np.signbit(values[values == 0]).tolist() == [np.signbit(v) for v in expected if v == 0]


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_shows_its_type_and_shape_and_keeps_its_codes(name: str) -> None:
    codes = np.zeros((2, 0, 3), np.uint8)
    tensor = Tensor(name, codes)
    assert (tensor.element_type, tensor.shape) == (name, (2, 0, 3))
    assert tensor.codes is codes


def test_any_spelling_makes_the_same_tensor() -> None:
    for spelling in ("u1", "U1", "BIN", "uint1"):
        assert Tensor(spelling, bytes_of([1])).element_type == "u1"
    assert repr(Tensor("F8E4M3", bytes_of([1]))) == "Tensor('f8e4m3', array([1], dtype=uint8))"


# ---- values → codes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOATS)
def test_every_value_comes_back_to_its_code(name: str) -> None:
    bits = TYPES[Tensor(name, bytes_of([])).element.name].bits
    codes = np.arange(1 << bits, dtype=np.uint8)
    values = Tensor(name, codes).to_float()
    numbers = ~np.isnan(values)
    for dtype in (np.float32, np.float64):
        assert np.array_equal(Tensor.from_float(name, values[numbers].astype(dtype)).codes, codes[numbers])


def around(values: Any) -> Any:
    """Values, the middles between them, and the float64 neighbours of all of these."""
    finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    middles = (finite[1:] + finite[:-1]) / 2
    beyond = np.array([2 * finite[-1], 1.5 * finite[-1], np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 5e-324])
    points = np.concatenate([finite, middles, beyond, -middles])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


@pytest.mark.parametrize("name", FLOATS)
def test_values_round_once_as_the_reference_does(name: str) -> None:
    element = Tensor(name, bytes_of([])).element
    every = Tensor(name, np.arange(1 << element.bits, dtype=np.uint8))
    values = around(every.to_float())
    got = Tensor.from_float(name, values)
    expected = Tensor(name, bytes_of([of_codes.encode(element, float(value)) for value in values]))
    nan = np.isnan(expected.to_float())
    assert np.array_equal(np.isnan(got.to_float()), nan)
    wrong = (got.codes != expected.codes) & ~nan
    assert values[wrong].tolist() == []


def test_nf4_takes_the_nearest_level_and_of_two_the_one_nearer_to_zero() -> None:
    levels = TYPES["nf4"].levels
    assert levels is not None
    for low, high in itertools.pairwise(levels):
        middle = (low + high) / 2
        assert Fraction(middle) == (Fraction(low) + Fraction(high)) / 2
        nearer = min(low, high, key=abs)
        assert Tensor.from_float("nf4", [middle]).to_float()[0] == np.float32(nearer)
        above, below = np.nextafter(middle, 2), np.nextafter(middle, -2)
        assert Tensor.from_float("nf4", [above, below]).to_float().tolist() == [high, low]
    assert Tensor.from_float("nf4", [np.inf, -np.inf, 9.0, -9.0]).codes.tolist() == [15, 0, 15, 0]


# ---- bytes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "codes", "packed"),
    [
        ("u1", [1, 0, 0, 0, 0, 0, 1, 1], "83"),
        ("u1", [1, 0, 0, 0, 0, 0, 0, 0, 1], "8080"),
        ("u2", [0, 1, 2, 3], "e4"),
        ("u2", [2, 3, 1, 0], "1e"),
        ("u2", [0, 1, 2, 3, 0, 1], "e404"),
        ("u4", [1, 2, 3], "2103"),
        ("i4", [15, 8], "8f"),
        ("nf4", [0, 15, 7], "f007"),
        ("f4e2m1", [7, 15], "f7"),
        ("f8e4m3", [1, 254], "01fe"),
        ("f8e5m2", [1, 254], "01fe"),
        ("f8e8m0", [1, 254], "01fe"),
        ("u4", [], ""),
    ],
)
def test_elements_share_bytes_from_the_low_bits_up_and_bits_from_the_high_one_down(
    name: str, codes: list[int], packed: str
) -> None:
    assert Tensor(name, bytes_of(codes)).pack().hex() == packed
    assert Tensor.unpack(name, (len(codes),), bytes.fromhex(packed)).codes.tolist() == codes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5), (2, 3, 4), (3, 0, 2), (17, 3)])
def test_packing_and_unpacking_undo_each_other(name: str, shape: tuple[int, ...]) -> None:
    bits = Tensor(name, bytes_of([])).element.bits
    codes = np.random.default_rng(1).integers(0, 1 << bits, shape, np.uint8)
    packed = Tensor(name, codes).pack()
    assert len(packed) == -(-codes.size * bits // 8)
    assert np.array_equal(Tensor.unpack(name, shape, packed).codes, codes)
    assert Tensor.unpack(name, shape, bytearray(packed)).shape == shape


def test_packing_goes_by_index_whatever_the_layout_is() -> None:
    codes = np.arange(16, dtype=np.uint8).reshape(4, 4)
    assert Tensor("u4", codes.T).pack() == Tensor("u4", codes.T.copy()).pack()
    assert Tensor("u4", codes[::-1, ::2]).pack() == Tensor("u4", codes[::-1, ::2].copy()).pack()


def test_bits_after_the_last_element_are_not_read() -> None:
    assert Tensor.unpack("u4", (1,), b"\xf3").codes.tolist() == [3]
    assert Tensor.unpack("u1", (2,), b"\x7f").codes.tolist() == [0, 1]


# ---- messages -------------------------------------------------------------------------------------------------

NARROW_LIST = "u1, u2, u4, i4, nf4, f4e2m1, f8e4m3, f8e5m2 or f8e8m0"
ZEROS = np.zeros(2, np.uint8)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: Tensor("f32", ZEROS), DTypeError,
         (f"a Tensor holds codes of a narrow type, not of float32; pass a NumPy array of it instead; "
          f"expected {NARROW_LIST}")),
        (lambda: Tensor("u8", ZEROS), DTypeError,
         (f"a Tensor holds codes of a narrow type, not of uint8; pass a NumPy array of it instead; "
          f"expected {NARROW_LIST}")),
        (lambda: Tensor("int2", ZEROS), DTypeError,
         f"a Tensor holds codes of a narrow type, not of int2; expected {NARROW_LIST}"),
        (lambda: Tensor("u4", np.zeros(2, np.int8)), DTypeError,
         "codes is an array of int8; expected a NumPy array of uint8, one code per element"),
        (lambda: Tensor("u4", [1, 2]), DTypeError,
         "codes is a list; expected a NumPy array of uint8, one code per element"),
        (lambda: Tensor("u2", bytes_of([[0, 3], [9, 4]])), SpecError,
         "code 9 at index (1, 0) is none of u2; expected 0 to 3"),
        (lambda: Tensor.unpack("u4", (3,), b"\x00"), ShapeError, "1 bytes hold no u4 tensor of shape (3,); expected 2"),
        (lambda: Tensor.unpack("u1", (), b"\x00\x00"), ShapeError, "2 bytes hold no u1 tensor of shape (); expected 1"),
        (lambda: Tensor.unpack("u1", (-1, -8), b"\x00"), ShapeError, "(-1, -8) is no shape; a size cannot be negative"),
        (lambda: Tensor.from_float("u4", np.zeros(2)), DTypeError,
         "u4 is an integer type; pass its codes to Tensor(), nothing is rounded"),
        (lambda: Tensor.from_float("nf4", ZEROS), DTypeError,
         "values are of uint8; expected float16, float32 or float64"),
        (lambda: Tensor.from_float("nf4", [np.nan]), SpecError, "values hold NaN, which nf4 has not"),
        (lambda: Tensor.from_float("f4e2m1", [np.nan]), SpecError, "values hold NaN, which f4e2m1 has not"),
        (lambda: np.asarray(Tensor("nf4", ZEROS)), DTypeError,
         "a Tensor of nf4 is no NumPy array; use .to_float() or .codes"),
    ],
)  # fmt: skip
def test_messages_say_what_came_and_what_was_expected(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


# ---- a peer: the installed openvino ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_installed_openvino_reads_every_byte_alike(name: str) -> None:
    ov = pytest.importorskip("openvino")
    opset = pytest.importorskip("openvino.opset13")
    data = np.arange(256, dtype=np.uint8)
    count = 256 * 8 // Tensor(name, bytes_of([])).element.bits
    theirs = opset.constant(ov.Tensor(data, [count], getattr(ov.Type, name))).get_data(dtype=np.float32)
    ours = Tensor.unpack(name, (count,), data.tobytes()).to_float()
    assert np.array_equal(ours, theirs, equal_nan=True)
