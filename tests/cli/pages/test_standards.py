"""What ``spec`` and ``diff`` show."""

from __future__ import annotations

from minuend.cli.pages.layout import Table
from minuend.cli.pages.standards import diff_page, spec_page
from minuend.language import Language
from minuend.standards.dialects import diff_versions, spec

ENGLISH = Language()


def test_a_version_is_told_with_its_span() -> None:
    assert spec_page(spec("onnx", 6), ENGLISH)[0] == "ONNX Sub-6: since opset 6, until opset 7 changes it"
    assert spec_page(spec("onnx", 20), ENGLISH)[0] == "ONNX Sub-14: since opset 14"
    assert spec_page(spec("onnx", 12, "Neg"), ENGLISH)[0] == "ONNX Neg-6: since opset 6, until opset 13 changes it"


def test_a_difference_of_versions_speaks_the_dialects_words() -> None:
    old, new = spec("directml", "2.1"), spec("directml", "4.1")
    title, table = diff_page(old, new, diff_versions("directml", "2.1", "4.1"), ENGLISH)
    assert title == "DirectML ELEMENT_WISE_SUBTRACT-2.1 → ELEMENT_WISE_SUBTRACT-4.1"
    assert isinstance(table, Table)
    assert table.rows == (("types", "+INT64 +UINT64"), ("ranks", "4 → 1 to 8"))
