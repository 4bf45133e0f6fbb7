"""A result that is computed with the constant of another operation is no deviation of its case; all others are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from minuend import spec
from minuend.core.elements import TYPES
from minuend.models.hazards import SIGNS_MIXED
from minuend.operators import SUBTRACT, reference
from minuend.runtimes import distinct_constants
from minuend.runtimes.cases import Case, Operation
from minuend.runtimes.proving import judge_cases
from minuend.runtimes.quirks import Quirks
from minuend.runtimes.running import Output, Runtime
from minuend.runtimes.workers import Workers

BFLOAT16 = TYPES["bfloat16"]
HALF, TENTH = 0x3F00, 0x3DCD
Wrong = Callable[[list[Operation], int], int]


@pytest.fixture(autouse=True)
def shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_constants, "quirks", lambda name: Quirks(shares=("bfloat16",)))


def deviations(
    monkeypatch: pytest.MonkeyPatch,
    wrong: Wrong,
    relation: str = "rank 0",
    constants: str = "A",
    dtype: str = "bfloat16",
) -> list[str]:
    """What is found of a runtime that computes 0.5 - 0.1 as ``wrong`` says, of the model's operations and its number.

    With an array B, it computes a whole operation so whose constant A is 0.5.
    """
    element = TYPES[dtype]

    def run(self: Runtime, together: Sequence[Case]) -> list[Output]:
        operations = [operation for case in together for operation in case.operations]
        outputs = []
        for i, operation in enumerate(operations):
            codes = operation.expected
            if operation.a.size == 1 and TENTH in operation.b:
                constant = wrong(operations, i) if operation.a == HALF else int(operation.a.reshape(-1)[0])
                found = [reference.apply(SUBTRACT, element, (constant, b)) for b in operation.b.reshape(-1).tolist()]
                codes = np.array(found, codes.dtype).reshape(codes.shape)
            outputs.append(Output(element, codes.copy()))
        return outputs

    monkeypatch.setattr(Runtime, "_run", run)
    case = Case(spec("openvino", 1), element, relation, constants)
    with Runtime("numpy") as runtime, Workers(runtime, 1) as workers:
        (judged,) = judge_cases(workers, [case], step=lambda: None)
    return [f"{answer.witness}" for answer in judged.answers.values() if answer.verdict != "ok"]


def another(operations: list[Operation], i: int) -> int:
    """A constant of the same model that is no 0.5; in a model of one operation there is none."""
    return next((int(one.a.reshape(-1)[0]) for one in operations if one.a.size == 1 and one.a != HALF), HALF)


@pytest.mark.parametrize("relation", ["rank 0", "scalar"])
def test_a_result_with_the_constant_of_another_operation_is_no_deviation(
    monkeypatch: pytest.MonkeyPatch, relation: str
) -> None:
    assert deviations(monkeypatch, another, relation) == []


def test_a_result_with_another_constant_is_none_where_a_runtime_mixes_up_signs_of_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """tract 0.23.9 computed -0 - x with the 0 of another operation, and a measured row said so of every -0."""
    monkeypatch.setattr(distinct_constants, "quirks", lambda name: Quirks(strict={SIGNS_MIXED: ("unknown", "")}))
    assert deviations(monkeypatch, another) == []


def test_in_an_element_type_of_which_that_is_not_known_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_constants, "quirks", lambda name: Quirks(shares=("float32",)))
    (found,) = deviations(monkeypatch, another)
    assert found.startswith("0.5 - 0.1: got -0.1, expected 0.4")


def test_one_without_constants_in_the_model_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = deviations(monkeypatch, another, constants="none")
    assert found.startswith("0.5 - 0.1: got -0.1")


def test_a_wrong_result_that_is_the_same_in_a_model_of_its_own_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = deviations(monkeypatch, lambda operations, i: 0)  # and 0 is a constant of the model
    assert found.startswith("0.5 - 0.1: got -0.1")


def test_a_wrong_result_that_no_other_constant_gives_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = 0x3F13
    (found,) = deviations(monkeypatch, lambda operations, i: odd if len(operations) > 1 else HALF)
    assert found.startswith("0.5 - 0.1: got 0.47")


def test_a_wrong_result_that_the_runtime_does_not_give_with_the_other_constant_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most elements look as if computed with another constant, and one does not."""

    def spoilt(self: Runtime, together: Sequence[Case]) -> list[Output]:
        outputs = shared(self, together)
        if sum(len(case.operations) for case in together) > 1:
            for output, operation in zip(outputs, together[0].operations, strict=True):
                if operation.a.size == 1 and operation.a == HALF:
                    output.codes[operation.b == TENTH] ^= 0x40
        return outputs

    assert deviations(monkeypatch, another, "scalar") == []
    shared = Runtime._run
    monkeypatch.setattr(Runtime, "_run", spoilt)
    case = Case(spec("openvino", 1), BFLOAT16, "scalar", "A")
    with Runtime("numpy") as runtime, Workers(runtime, 1) as workers:
        (judged,) = judge_cases(workers, [case], step=lambda: None)
    assert any(answer.verdict == "different-numbers" for answer in judged.answers.values())
