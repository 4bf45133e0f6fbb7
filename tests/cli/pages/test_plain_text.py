"""What is laid out without rich is laid out as rich does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from minuend.cli.pages import layout, plain_text
from minuend.cli.pages.layout import Labelled, Part, Rich, Table

_TEXTS = st.text(alphabet="ab -−'\"…x\\=/.,0é", max_size=120)
_CELLS = st.tuples(*(st.text(alphabet="ab -−é", max_size=40) for _ in range(3)))
_PARTS = st.one_of(
    _TEXTS,
    st.builds(Labelled, st.text(alphabet="a :'−", max_size=30), _TEXTS),
    st.builds(
        lambda rows, tight: Table(("", "", ""), tuple(rows), whole=frozenset({0, 1}), tight=tight),
        st.lists(_CELLS, min_size=1, max_size=4),
        st.booleans(),
    ),
)


@given(_PARTS, st.sampled_from((60, 61, 80, 200)))
def test_lines_are_those_of_rich(part: Part, width: int) -> None:
    plain = layout._plain(part, width, colour=False)
    if plain is not None:
        wanted = [line.rstrip() for line in Rich(width, colour=False).lines(part)]
        assert [line.rstrip() for line in plain] == wanted


def test_narrow_characters_take_one_column() -> None:
    narrow = [char for char in map(chr, range(0x3000)) if plain_text.is_narrow(char)]
    assert len(narrow) > 400
    assert {cell_len(char) for char in narrow} == {1}
    assert all(char.isprintable() for char in narrow)


@pytest.mark.parametrize("text", ["減法", "a\tb", "a\nb", "\x1b[31m", "e\u0301", "\u00a0", "\u00ad"])
def test_what_is_not_narrow_is_left_to_rich(text: str) -> None:
    assert plain_text.folded(text, 80) is None
    assert plain_text.labelled(text, "", 80) is None
    assert plain_text.rows([(text,)], 80) is None


def test_a_common_page_needs_no_rich() -> None:
    page: list[Part] = [
        Table(("", "", ""), (("onnxruntime-cpu@1.32.0", "different-numbers", ""),), tight=True),
        "graph.node[0] 'sub': sign-of-zero in float32: −0.0 − 0.0 = 0.0, expected −0.0",
        Labelled("  why: ", "negative zeros differ " * 10),
        Labelled("  do:  ", "minuend fix model.onnx --target onnxruntime-cpu -o fixed.onnx", command=True),
    ]
    assert all(layout._plain(part, 80, colour=False) is not None for part in page)
