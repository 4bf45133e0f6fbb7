"""Files against files: which tensors go together, and that blocks change no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minuend import errors
from minuend.cli.rules import parse_rules
from minuend.core.elements import TYPES
from minuend.files.base import About, Tensor
from minuend.files.difference import Written, subtract_files
from minuend.files.policy_comparison import compare_files
from minuend.files.stored_elements import InMemory
from minuend.files.streaming import regions
from minuend.files.streaming.region_work import Work
from minuend.files.tensor_pairs import Pair, Rules

A = np.array([[5, 200, 7], [0, 255, 9]], np.uint8)
B = np.array([10, 100, 7], np.uint8)
WIDE = A.astype(int) - B


def saved(folder: Path, **arrays: np.ndarray) -> list[str]:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [str(folder / f"{name}.npy") for name in arrays]


def failure(kind: type[Exception], call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        call(*args, **options)
    return str(caught.value)


# ---- answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 2, 5, 8, 1 << 25])
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("wrap", (WIDE % 256).astype(np.uint8)),
        ("saturate", WIDE.clip(0, 255).astype(np.uint8)),
        ("widen", WIDE.astype(np.int16)),
    ],
)
def test_each_policy_is_written_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, policy: Any, expected: np.ndarray
) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    a, b = saved(tmp_path, a=A, b=B)
    out = str(tmp_path / "out.npy")
    report = subtract_files(a, b, out, overflow=policy)
    written = np.load(out)
    assert (written.dtype, written.tolist()) == (expected.dtype, expected.tolist())
    (tensor,) = report.tensors
    assert (tensor.element.name, tensor.result.name, tensor.overflowed) == ("uint8", expected.dtype.name, 2)
    assert (tensor.a_shape, tensor.b_shape, tensor.shape, report.nbytes) == ((2, 3), (3,), (2, 3), 9 + expected.nbytes)


@pytest.mark.parametrize("block", [1, 2, 5, 8, 1 << 25])
def test_the_policies_are_summed_up_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    a, b = saved(tmp_path, a=A, b=B)
    (found,) = compare_files(a, b).tensors
    assert (found.overflowed, found.first) == (2, ((0, 0), 5, 10))
    assert [(row.policy, row.element.name, row.low, row.high, row.first) for row in found.answers] == [
        ("wrap", "uint8", 0, 251, 251),
        ("saturate", "uint8", 0, 155, 0),
        ("widen", "int16", -10, 155, -5),
    ]


@pytest.mark.parametrize("block", [1, 5, 1 << 25])
@pytest.mark.parametrize("compared", [True, False])
def test_overflow_error_tells_the_whole_count_and_the_first_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, compared: bool
) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    a, b = saved(tmp_path, a=A, b=B)
    out = tmp_path / "out.npy"
    args = (compare_files, a, b) if compared else (subtract_files, a, b, str(out))
    assert failure(errors.OverflowFound, *args, overflow="error") == (
        "2 of 6 differences do not fit uint8 (0 to 255); the first is at index (0, 0): 5 - 10 = -5; "
        "--overflow wrap, saturate or widen gives an answer"
    )
    assert not out.exists()


@pytest.mark.parametrize("block", [1, 1 << 25])
def test_widen_of_64_bits_says_what_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    a, b = saved(tmp_path, a=np.array([3, 2**64 - 1, 2**63], np.uint64), b=np.array([4, 0, 0], np.uint64))
    assert failure(errors.OverflowFound, subtract_files, a, b, str(tmp_path / "o.npy"), overflow="widen") == (
        "2 of 3 differences do not fit int64 (-9223372036854775808 to 9223372036854775807); "
        "the first is at index (1,): 18446744073709551615 - 0 = 18446744073709551615; "
        "--overflow wrap or saturate gives an answer"
    )
    (found,) = compare_files(a, b).tensors
    wrap, saturate, widen = found.answers
    assert (found.overflowed, found.first, wrap.first, saturate.first) == (1, ((0,), 3, 4), 2**64 - 1, 0)
    assert (widen.unfit, wrap.high) == (2, 2**64 - 1)


def test_floats_have_one_row_without_nans(tmp_path: Path) -> None:
    values = np.array([np.nan, np.inf, -1.5, 2], np.float16)
    a, b = saved(tmp_path, a=values, b=np.array([1, 1, 1, 1], np.float16))
    (found,) = compare_files(a, b).tensors
    (row,) = found.answers
    assert (found.nans, row.element.name, row.low, row.high) == (1, "float16", -2.5, np.inf)


def test_bfloat16_goes_from_pb_to_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    from minuend.core.elements import TYPES
    from minuend.files import Result, write_tensors

    x = np.array([1, 2.5, 3], ml_dtypes.bfloat16)
    for name, array in (("a", x), ("b", x[::-1].copy())):
        write_tensors(str(tmp_path / f"{name}.pb"), [Result.of("t", TYPES["bfloat16"], array)])
    out = str(tmp_path / "o.safetensors")
    subtract_files(str(tmp_path / "a.pb"), str(tmp_path / "b.pb"), out)
    assert load_file(out)["t"].astype(float).tolist() == [-2, 0, 2]
    assert (
        failure(
            errors.DTypeError, subtract_files, str(tmp_path / "a.pb"), str(tmp_path / "b.pb"), str(tmp_path / "o.npy")
        )
        == f"NumPy's files have no word for bfloat16; write .safetensors or .pb, at {tmp_path / 'o.npy'}"
    )


def test_big_endian_and_fortran_order_files_give_the_same_numbers(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    a, b, out = saved(tmp_path, a=np.asfortranarray(x.astype(">i4")), b=(2 * x).astype(">i4"), out=x)
    subtract_files(a, b, out)
    assert np.array_equal(np.load(out), -x)


RULES: list[tuple[str | None, Any]] = [
    (None, lambda a, b: (a, b)),
    ("onnx:14", lambda a, b: (a, b)),
    ("onnx:6,broadcast=1,axis=1", lambda a, b: (a, b.reshape(*b.shape, *(1,) * (a.ndim - 1 - b.ndim)))),
    ("openvino:pdpd,axis=1", lambda a, b: (a, b.reshape(*b.shape, *(1,) * (a.ndim - 1 - b.ndim)))),
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_blocks_of_any_size_give_the_answer_of_one_piece(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    text, laid_out = data.draw(st.sampled_from(RULES))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    if text is None or text == "onnx:14":
        b_shape = [
            n if keep else 1
            for n, keep in zip(
                shape, data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape))), strict=True
            )
        ]
        b_shape = b_shape[data.draw(st.integers(0, len(shape))) :]
    else:
        shape = [2, *shape]
        b_shape = shape[1 : data.draw(st.integers(2, len(shape)))]
    a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    b = 1000 * np.arange(1, np.prod(b_shape) + 1, dtype=np.int32).reshape(b_shape)
    folder = tmp_path_factory.mktemp("blocks")
    x, y = saved(folder, a=a, b=b)
    out = str(folder / "out.npy")
    rules = Rules() if text is None else Rules(*parse_rules(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "BLOCK_BYTES", data.draw(st.integers(1, 200)))
        subtract_files(x, y, out, rules=rules)
    one, other = laid_out(a, b)
    assert np.array_equal(np.load(out), one - other)


# ---- summaries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 5, 1 << 25])
@pytest.mark.parametrize(("policy", "low", "high"), [("wrap", 0, 251), ("saturate", 0, 155), ("widen", -100, 155)])
def test_what_is_written_is_summed_up_in_the_same_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, policy: Any, low: int, high: int
) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    one = np.array([[9, 200, 7], [0, 255, 9], [7, 5, 7], [10, 100, 8]], np.uint8)  # two blocks overflow, not the first
    other = np.array([[9, 100, 7], [10, 100, 7], [7, 10, 107], [10, 100, 7]], np.uint8)
    a, b = saved(tmp_path, a=one, b=other)
    (found,) = subtract_files(a, b, str(tmp_path / "out.npy"), overflow=policy).tensors
    written = np.load(tmp_path / "out.npy")
    assert (found.low, found.high) == (written.min(), written.max()) == (low, high)
    assert (found.elements, found.overflowed, found.nans, found.nodata) == (12, 3, None, None)


def test_floats_have_nans_and_no_overflow(tmp_path: Path) -> None:
    values = np.array([1, np.nan, -np.inf, 4], np.float16)
    a, b = saved(tmp_path, a=values, b=np.float16([0.5]))
    (found,) = subtract_files(a, b, str(tmp_path / "out.npy")).tensors
    assert (found.overflowed, found.low, found.high, found.nans, found.nodata) == (None, -np.inf, 3.5, 1, None)


def test_an_empty_difference_has_no_lowest(tmp_path: Path) -> None:
    a, b = saved(tmp_path, a=np.zeros((0, 3), np.int8), b=np.int8([1]))
    (found,) = subtract_files(a, b, str(tmp_path / "out.npy")).tensors
    assert (found.elements, found.overflowed, found.low, found.high) == (0, 0, None, None)


def test_nodata_is_counted_where_the_file_states_it() -> None:
    values = np.array([5, -9, 7, -9], np.int16)
    tensor = Tensor("x", TYPES["int16"], (4,), lambda: InMemory(values), About(nodata=-9))
    zero = Tensor("y", TYPES["int16"], (), lambda: InMemory(np.int16(0)[...]))
    pair = Pair("x", tensor, zero, Rules().join(tensor, zero))
    with Work("wrap") as work:
        work.result(pair).part((slice(0, 4),))
        found = Written.of(pair, TYPES["int16"], work.summaries["x"])
    assert (found.elements, found.overflowed, found.low, found.high, found.nodata) == (4, 0, 5, 7, 2)


def test_who_watches_gets_the_pairs_first_and_may_refuse_them(tmp_path: Path) -> None:
    a, b = saved(tmp_path, a=A, b=B)
    seen: list[Any] = []

    def watch(pairs: Any, sources: Any) -> Any:
        assert sources == [a, b]
        seen.append([pair.shape for pair in pairs])
        return lambda pair, region, a, b, difference: seen.append((pair.shape, a.shape, b.shape, difference.tolist()))

    subtract_files(a, b, str(tmp_path / "out.npy"), watch=watch)
    assert seen == [[(2, 3)], ((2, 3), (2, 3), (3,), (WIDE % 256).tolist())]

    def refuse(*_: Any) -> Any:
        raise errors.FileFormatError("no")

    assert failure(errors.FileFormatError, subtract_files, a, b, str(tmp_path / "new.npy"), watch=refuse) == "no"
    assert not (tmp_path / "new.npy").exists()


# ---- pairs ----------------------------------------------------------------------------------------------------


def test_tensors_go_together_by_name(tmp_path: Path) -> None:
    a, b, out = (str(tmp_path / name) for name in ("a.npz", "b.npz", "o.npz"))
    np.savez(a, x=A, y=B)
    np.savez(b, y=B, x=A)
    report = subtract_files(a, b, out)
    assert [tensor.name for tensor in report.tensors] == ["x", "y"]
    assert {name: array.any() for name, array in np.load(out).items()} == {"x": False, "y": False}


def test_names_of_one_file_alone_are_listed_unless_common_is_asked_for(tmp_path: Path) -> None:
    a, b, out = (str(tmp_path / name) for name in ("a.npz", "b.npz", "o.npz"))
    np.savez(a, x=A, y=B, w=B)
    np.savez(b, x=A, z=B)
    assert failure(errors.FileFormatError, subtract_files, a, b, out) == (
        f"{a} and {b} do not hold the same tensors: only {a} has 'y', 'w'; only {b} has 'z'; "
        "--common subtracts the 1 that both have"
    )
    report = subtract_files(a, b, out, common=True)
    assert ([tensor.name for tensor in report.tensors], report.skipped) == (["x"], ("y", "w", "z"))
    assert list(np.load(out)) == ["x"]


def test_no_name_in_common_is_an_error_even_where_common_is_asked_for(tmp_path: Path) -> None:
    a, b = (str(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.savez(a, x=A)
    np.savez(b, z=B)
    message = f"only {a} has 'x'; only {b} has 'z'"
    assert failure(errors.FileFormatError, compare_files, a, b) == (
        f"{a} and {b} do not hold the same tensors: {message}; they have none in common"
    )
    assert failure(errors.FileFormatError, compare_files, a, b, common=True) == (
        f"{a} and {b} have no tensor in common: {message}"
    )


def test_one_tensor_against_several_asks_for_a_choice(tmp_path: Path) -> None:
    (a,) = saved(tmp_path, a=A)
    b = str(tmp_path / "b.npz")
    np.savez(b, x=A, y=A + 1)
    assert failure(errors.FileFormatError, compare_files, a, b) == (
        f"{b} holds 2 tensors ('x', 'y') and {a} one; select one by {b}::name"
    )
    assert [t.name for t in compare_files(a, f"{b}::y").tensors] == ["y"]
    assert failure(errors.FileFormatError, compare_files, a, a, common=True) == (
        "--common needs two files of named tensors; leave it out for single ones"
    )


def test_a_pair_that_does_not_go_together_is_named(tmp_path: Path) -> None:
    a, b = (str(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.savez(a, x=A)
    np.savez(b, x=A.astype(np.int8))
    assert failure(errors.DTypeError, compare_files, a, b) == (
        "A is of uint8 and B of int8; nothing is promoted, convert one of them first, at tensor 'x'"
    )
    np.savez(b, x=A[:, :2])
    assert failure(errors.ShapeError, compare_files, a, b) == (
        "shapes (2, 3) and (2, 2) do not broadcast: axis 1 of the result has 3 and 2; "
        "they must be equal, or one of them 1, at tensor 'x'"
    )


def test_names_are_compared_before_a_tensor_is_looked_at(tmp_path: Path) -> None:
    a, b = (str(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.savez(a, x=A, y=np.zeros(2, "V3"))
    np.savez(b, y=np.zeros(2, "V3"))
    assert failure(errors.FileFormatError, compare_files, a, b) == (
        f"{a} and {b} do not hold the same tensors: only {a} has 'x'; --common subtracts the 1 that both have"
    )


def test_a_tensor_that_is_no_number_says_how_another_one_is_selected(tmp_path: Path) -> None:
    a, b = (str(tmp_path / name) for name in ("a.npz", "b.npz"))
    for path in (a, b):
        np.savez(path, when=np.zeros(2, "M8[s]"), names=np.array(["p", "q"]), x=A)
    said = failure(errors.DTypeError, compare_files, a, b)
    assert said.endswith(f", or select another tensor by name, as {a}::x, at {a} member 'when.npy'")
    assert [one.name for one in compare_files(f"{a}::x", f"{b}::x").tensors] == ["x"]
    for path in (a, b):
        np.savez(path, names=np.array(["p", "q"]), more=np.array(["p", "q"]))
    assert "select" not in failure(errors.DTypeError, compare_files, a, b)


def test_every_block_is_reported_to_the_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", 1)
    a, b = saved(tmp_path, a=A, b=B)
    calls: list[tuple[int, int]] = []
    subtract_files(a, b, str(tmp_path / "o.npy"), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(n * 15 // 6, 15) for n in range(1, 7)]  # bytes: 6 of A, 3 of B, 6 of the difference
