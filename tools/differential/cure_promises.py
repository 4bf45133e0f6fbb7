"""What fix has to do with a case of ``cures``: rewrite, leave, or refuse.

The counterpart of what fix chooses, stated by hand: which types ONNX's registry gives Sub, how runtimes compute an
integer (``docs/models.md`` and what their makers say of types), and what saturation needs. No recipe, no measured table
and no verdict of the package is looked up here. What nothing is said of, fix may do as it finds right.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

import onnx

from differential.cure_models import DTYPES, Case, may_overflow

REWRITTEN, LEFT, REFUSED = ("rewritten",), ("left as it is",), ("refused",)
NOT_REFUSED = REWRITTEN + LEFT

BYTES = ("uint8", "int8")
SMALL = (*BYTES, "uint16", "int16")
WIDE = ("uint32", "int64", "uint64")
INTEGERS = (*SMALL, "int32", *WIDE)
ALL = ("none", "A", "B", "both")
NOT_BOTH = ("none", "A", "B")
OLD = ("onnxruntime-cpu@1.17.3",)
ONNXRUNTIME = ("onnxruntime-cpu", "onnxruntime-cpu@1.23.2")
OPENVINO = ("openvino-cpu", "openvino-cpu@2025.4.1")


@dataclass(frozen=True)
class Promise:
    """What has to come of the cases that it is for.

    Attributes:
        wanted: what fix may do. why: from where that is known.
        targets, dtypes, constants: for which cases. policy: ``"saturate"`` or ``"wrap"`` where a difference of the
            operands may overflow, ``"any"`` for whatever policy and operands.
        around, shapes: what stands around the subtraction, and how shapes relate; empty: anything.
        but_around: and is not one of these.
    """

    wanted: tuple[str, ...]
    why: str
    targets: Collection[str]
    dtypes: Collection[str]
    policy: str = "any"
    constants: Collection[str] = ALL
    around: Collection[str] = ()
    shapes: Collection[str] = ()
    but_around: Collection[str] = ()

    def fits(self, case: Case) -> bool:
        """Whether it is for a case."""
        named = case.target in self.targets and case.dtype in self.dtypes and case.constants in self.constants
        placed = self.around in ((), (case.around,)) and self.shapes in ((), (case.shapes,))
        if not named or not placed or case.around in self.but_around:
            return False
        if case.constants == "both" and case.around in _COMPUTED:
            return False
        return self.policy == "any" or (self.policy == case.overflow and may_overflow(case))


_COMPUTED = ("two in a row", "behind Add")
"""Where a subtraction of constants is followed by one of what was computed of them, which no constant replaces."""

PROMISES = (
    Promise(REWRITTEN, "onnxruntime does not saturate; what 8 and 16 bits need is there in int32",
            (*ONNXRUNTIME, "onnx-reference"), SMALL, "saturate"),
    Promise(REWRITTEN, "onnxruntime does not saturate; Max, Min and Where take every integer from opset 12 on",
            (*ONNXRUNTIME, "onnx-reference"), ("int32", *WIDE), "saturate", but_around=("read twice",)),
    Promise(LEFT, "onnxruntime and ONNX's reference wrap as the operator does",
            (*ONNXRUNTIME, "onnx-reference"), INTEGERS, "wrap"),
    Promise(REWRITTEN, "onnxruntime 1.17 has no Sub of 8 and 16 bits, and has one of 32", OLD, SMALL, "wrap"),
    Promise(REWRITTEN, "onnxruntime 1.17 has no Sub of 8 and 16 bits, and has one of 32", OLD, SMALL, "saturate"),
    Promise(REWRITTEN, "onnxruntime 1.17 has no Sub of uint32, and has one of int64", OLD, ("uint32",), "wrap"),
    Promise(REFUSED, "onnxruntime 1.17 has no Sub of uint64, and none of more bits", OLD, ("uint64",), "wrap",
            ("none",)),
    Promise(LEFT, "onnxruntime 1.17 wraps as the operator does", OLD, ("int32", "int64"), "wrap"),
    Promise(REFUSED, "tract has no Loop", ("tract",), DTYPES, around=("in Loop",)),
    Promise(LEFT, "tract wraps as the operator does", ("tract",), INTEGERS, "wrap"),
    Promise(LEFT, "onnxruntime computes them as IEEE 754 does", ONNXRUNTIME, ("float32", "float64"),
            but_around=("behind Add",)),
    Promise(REWRITTEN, "onnxruntime has no Sub of bfloat16, and Cast is there", ONNXRUNTIME, ("bfloat16",)),
    Promise(REFUSED, "tract has no bfloat16", ("tract",), ("bfloat16",)),
    Promise(REWRITTEN, "openvino saturates 8 bits where it has to wrap", ("openvino-cpu",), BYTES, "wrap", NOT_BOTH,
            but_around=("behind Add",)),
    Promise(NOT_REFUSED, "openvino folds constants as they are", ("openvino-cpu",), BYTES, "wrap", ("both",)),
    Promise(LEFT, "openvino wraps from 16 bits on", ("openvino-cpu",), ("uint16", "int16", "int32"), "wrap",
            but_around=("with casts", "with Conv")),
    Promise(REWRITTEN, "what 4 to 16 bits need is there in int32", ("openvino-cpu",), (*SMALL, "int4", "uint4"),
            "saturate"),
    Promise(REWRITTEN, "Max and Min take int32", ("openvino-cpu",), ("int32",), "saturate",
            but_around=("read twice",)),
    Promise(REWRITTEN, "differences of bytes stay in the 32 bits in which openvino computes", ("openvino-cpu",),
            ("int64",), constants=NOT_BOTH, around=("from uint8",)),
    Promise(REFUSED, "openvino computes them in 32 bits", OPENVINO, ("int64", "uint64"), constants=NOT_BOTH,
            but_around=("from uint8",)),
    Promise(REWRITTEN, "openvino makes x of (x + c) - c, but not across Max", ("openvino-cpu",), ("float32",),
            constants=("B",), around=("behind Add",), shapes=("scalar",)),
    Promise(REFUSED, "openvino computes float64 in float32", OPENVINO, ("float64",), constants=("none",)),
)  # fmt: skip
"""The first that is for a case holds."""


def promise(case: Case) -> tuple[tuple[str, ...], str]:
    """Return what fix may do with a case, and why; nothing where nothing is said of it."""
    if isinstance(case.dialect, int) and case.dtype not in sub_types(case.dialect):
        return REFUSED, f"Sub of opset {case.dialect} takes no {case.dtype}"
    if case.target in OLD and isinstance(case.dialect, int) and case.dialect > 20:
        return REFUSED, "onnxruntime 1.17 loads opset 20 at most"
    if case.target.startswith("onnx:"):
        return _of_opset(case)
    if _old(case):
        return (), ""
    if case.shapes == "pdpd":
        return _under_pdpd(case)
    found = next((one for one in PROMISES if one.fits(case)), None)
    return ((), "") if found is None else (found.wanted, found.why)


def _old(case: Case) -> bool:
    """Whether a model broadcasts by the old rule, or is older than the operators of recipes; it may be moved."""
    if not isinstance(case.dialect, int):
        return False
    return case.dialect < 7 or (case.dialect < 12 and (case.overflow == "saturate" or case.target in OLD))


def _under_pdpd(case: Case) -> tuple[tuple[str, ...], str]:
    """What has to come of a layer whose B begins at an axis of A that is not the last."""
    spelt = case.target == "openvino-cpu" and case.dtype in ("int16", "int32", "float16")
    return (NOT_REFUSED, "numpy's rule says the same with an axis of B") if spelt else ((), "")


def _of_opset(case: Case) -> tuple[tuple[str, ...], str]:
    """What has to come of a model that is moved to another opset, and stays what it is but for its subtractions."""
    opset = int(case.target.partition(":")[2])
    if case.around != "alone" or case.dtype not in INTEGERS:
        return (), ""
    saturates = case.overflow == "saturate" and may_overflow(case)
    lacks = case.dtype not in sub_types(opset)
    if not saturates and not lacks:
        return LEFT, f"Sub of opset {opset} takes {case.dtype}"
    if case.dtype in SMALL and opset >= 9:  # Cast, Sub, Mul, Floor, Add, Clip are there in float32
        return REWRITTEN, "float32 holds what differences of 8 and 16 bits need"
    return (REWRITTEN, "Max, Min and Where take it from opset 12 on") if opset >= 12 else ((), "")


@cache
def sub_types(opset: int) -> frozenset[str]:
    """Return the element types of ONNX's registry for Sub at an opset, by NumPy's names."""
    (allowed,) = (one.allowed_type_strs for one in onnx.defs.get_schema("Sub", opset, "").type_constraints)
    names = {text.removeprefix("tensor(").removesuffix(")") for text in allowed}
    return frozenset({"float": "float32", "double": "float64"}.get(name, name) for name in names)
