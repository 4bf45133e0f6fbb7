"""Many subtractions of one shape in one model: what is computed with another's constant is counted."""

from __future__ import annotations

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.runtimes import mixed_constants
from minuend.runtimes.proving import _mixed_up_findings
from minuend.runtimes.reasons import ConstantsMixedUpOften
from minuend.runtimes.running import Runtime

pytest.importorskip("onnx")


class Mixing(Runtime):
    """onnxruntime, but for two outputs of a model, which are each other's."""

    def query(self, *queried, **more):
        answer = super().query(*queried, **more)
        if isinstance(answer, list) and answer[0].element is TYPES["float16"]:
            answer[3], answer[7] = answer[7], answer[3]
        return answer


@pytest.mark.parametrize("element", [row for row in TYPES.values() if row.bits >= 8 and row.kernel != "table"], ids=str)
def test_numbers_tell_subtractions_apart_and_nothing_overflows(element):
    found = mixed_constants.numbers(element, 0)
    assert len(np.unique(found.astype(np.float64))) == len(found) in (100, mixed_constants.NODES)
    for number in found.astype(np.float64).tolist():
        assert all(not element.is_integer or 0 <= x - number + 128 < 1 << min(9, element.bits) for x in (100, 119))
    assert not np.array_equal(found, mixed_constants.numbers(element, 1))


def test_what_is_computed_with_the_constant_of_another_is_counted_and_told():
    pytest.importorskip("onnxruntime")
    with Mixing("onnxruntime-cpu") as runtime:
        found = [mixed_constants.mixed_up(runtime, dtype, 1) for dtype in mixed_constants.graph_probing().GRAPH_TYPES]
    counts = {one.dtype: one for some in found for one in some}
    assert (counts["float16"].wrong, counts["float16"].queried) == (2, mixed_constants.NODES)
    assert {one.wrong for name, one in counts.items() if name != "float16"} == {0}
    assert {"float32", "int64", "uint8"} <= counts.keys()
    (finding,) = _mixed_up_findings(counts.values(), "onnxruntime-cpu@1.31.1", {})
    assert (finding.verdict, finding.unexpected) == ("different-numbers", "not listed")
    assert finding.case == "many subtractions of float16 of one shape in a model, each with a scalar of its own"
    assert finding.reasons == (ConstantsMixedUpOften(2, mixed_constants.NODES),)
    (known,) = _mixed_up_findings(counts.values(), "openvino-cpu@2026.4.1", {})
    assert known.unexpected == ""
