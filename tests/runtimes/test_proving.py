"""prove: verdicts on answers that are right, wrong, misshapen or missing; known targets that are strict both ways."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from minuend import cli, spec, worker
from minuend.child import limited
from minuend.cli.pages.layout import text
from minuend.cli.pages.proving import prove_page
from minuend.core.elements import TYPES
from minuend.errors import SpecError, Unsupported, listed
from minuend.operators import SUBTRACT
from minuend.runtimes import pattern_cases, registry, targets
from minuend.runtimes.answers import EVERY, Answer
from minuend.runtimes.cases import Case
from minuend.runtimes.measuring import table_of
from minuend.runtimes.mixed_constants import MixedUp
from minuend.runtimes.proving import Judged, _mixed_up_findings, judge, prove
from minuend.runtimes.report import Report
from minuend.runtimes.running import Output, Refused, Runtime
from minuend.runtimes.table import nodes
from minuend.runtimes.targets import Target
from minuend.runtimes.witness import Witness

UINT8 = TYPES["uint8"]


def sub14(dtype: str, relation: str = "same", constants: str = "none") -> Case:
    return Case(spec("onnx", 14), TYPES[dtype], relation, constants)


def right(case: Case) -> list[Output]:
    return [Output(case.element, operation.expected.copy()) for operation in case.operations]


# ---- one case -------------------------------------------------------------------------------------------------


def test_right_answers_are_ok() -> None:
    for dtype in ("uint8", "float32"):
        case = sub14(dtype)
        assert {answer.verdict for answer in judge(case, right(case)).answers.values()} == {"ok"}


def test_a_saturating_runtime_is_wrong_where_differences_wrap_and_nowhere_else() -> None:
    case = sub14("uint8")
    (operation,) = case.operations
    exact = operation.a.astype(int) - operation.b.astype(int)
    answers = judge(case, [Output(UINT8, np.clip(exact, 0, 255).astype(np.uint8))]).answers
    assert answers["in range"].verdict == "ok"
    everywhere = ((0, 255),)
    assert answers["wraps"] == Answer(
        "different-numbers", Witness(SUBTRACT, (5, 10), 0, 251), "", (everywhere, everywhere)
    )


def test_one_wrong_answer_among_all_is_found() -> None:
    case = sub14("int8")
    (operation,) = case.operations
    codes = operation.expected.copy()
    place = int(np.flatnonzero((operation.a == 77) & (operation.b == 33))[0])
    codes[place] ^= 1
    answers = judge(case, [Output(case.element, codes)]).answers
    assert answers["in range"].witness == Witness(SUBTRACT, (77, 33), 45, 44)
    assert answers["wraps"].verdict == "ok"


def test_any_nan_is_as_good_as_another_but_zeros_have_signs() -> None:
    case = sub14("float32")
    (operation,) = case.operations
    codes = operation.expected.copy()
    codes[np.isnan(codes.view(np.float32))] = 0xFFC01234
    assert {answer.verdict for answer in judge(case, [Output(case.element, codes)]).answers.values()} == {"ok"}
    codes[codes == 0x80000000] = 0
    answers = judge(case, [Output(case.element, codes)]).answers
    assert {name for name, answer in answers.items() if answer.verdict != "ok"} == {"negative zero"}


def broken(case: Case, *wrong: tuple[float, float]) -> Judged:
    """A float32 case judged on answers of which some pairs' are wrong by their last bit."""
    (operation,) = case.operations
    codes = operation.expected.copy()
    a, b = operation.spread[0].view(np.float32), operation.spread[1].view(np.float32)
    for x, y in wrong:
        codes[(a == np.float32(x)) & (b == np.float32(y))] ^= 1
    return judge(case, [Output(case.element, codes)])


def test_an_answer_tells_which_sizes_deviate_up_to_the_next_that_is_fine() -> None:
    case = sub14("float32")
    (operation,) = case.operations
    of_class = operation.classes == [row.name for row in case.classes].index("ordinary")
    answer = broken(case, (3.0, 2.0)).answers["ordinary"]
    assert answer.a_spans is not None
    assert answer.b_spans is not None
    for span, size, codes in ((answer.a_spans, 3.0, operation.a), (answer.b_spans, 2.0, operation.b)):
        ((low, high),) = span
        others = {abs(float(v)) for v in codes.view(np.float32)[of_class]} - {size}
        below, above = max(v for v in others if v < size), min(v for v in others if v > size)
        assert below < low <= size <= high < above
        assert (low, high) == (math.nextafter(below, math.inf), math.nextafter(above, 0))


def test_sizes_that_lie_apart_are_spans_apart() -> None:
    answer = broken(sub14("float32"), (1.0, 0.0), (100.0, 0.0)).answers["ordinary"]
    assert answer.a_spans is not None
    one, hundred = answer.a_spans
    assert one[0] <= 1.0 <= one[1] < 2.0
    assert 10.0 < hundred[0] <= 100.0 <= hundred[1]
    ((low, high),) = answer.b_spans or ()
    assert low == 0 < high < 1e-30


def test_each_class_has_the_sizes_of_its_own_pairs() -> None:
    answers = broken(sub14("float32"), (3.0, 2.0), (100.0, 2.0**-149)).answers
    for name, size in (("ordinary", 3.0), ("subnormal", 100.0)):
        ((low, high),) = answers[name].a_spans or ()
        assert low <= size <= high
        assert not low <= 103.0 - size <= high


def test_of_integers_the_ends_are_whole_and_exact() -> None:
    case = sub14("int64")
    (operation,) = case.operations
    codes = operation.expected.copy()
    codes[(operation.b.view(np.int64) == -(2**31)) & (operation.a == 0)] ^= 1
    found = {name: one for name, one in judge(case, [Output(case.element, codes)]).answers.items() if one.witness}
    ((name, answer),) = found.items()
    assert name == "beyond int32"  # the difference is 2147483648
    assert answer.b_spans == ((2**31, 2**31),)
    assert answer.a_spans == ((0, 0),)
    assert all(isinstance(end, int) for end in answer.b_spans[0])


def test_where_only_nan_deviates_there_are_no_sizes() -> None:
    case = sub14("float32")
    (operation,) = case.operations
    codes = operation.expected.copy()
    a, b = (codes_of.view(np.float32) for codes_of in (operation.a, operation.b))
    codes[np.isnan(a) & np.isnan(b)] = 0
    answer = judge(case, [Output(case.element, codes)]).answers["nan"]
    assert answer.verdict == "different-numbers"
    assert (answer.a_spans, answer.b_spans) == (None, None)


def test_results_of_another_shape_type_or_number_are_told() -> None:
    case = sub14("uint8", "two-sided")
    (good,) = right(case)
    told = {
        "the result has shape (65536,), not (256, 256)": [Output(UINT8, good.codes.reshape(-1))],
        "the result is of int8, not of uint8": [Output(TYPES["int8"], good.codes)],
        "the result is of an unknown element type, not of uint8": [Output(None, good.codes)],
        "2 results for 1 nodes": [good, good],
    }
    for message, outputs in told.items():
        assert judge(case, outputs).answers == {EVERY: Answer("different-numbers", message=message)}


def test_a_refusal_is_not_implemented_with_its_message() -> None:
    judged = judge(sub14("bfloat16"), Refused("no kernel", "build"))
    assert judged.answers == {EVERY: Answer("not-implemented", message="no kernel")}


# ---- rows -----------------------------------------------------------------------------------------------------


def test_cases_that_are_answered_alike_share_a_row_and_a_witness_that_holds_for_all() -> None:
    judged = []
    for relation, constants in itertools.product(("same", "one-sided", "rank 0"), ("none", "A")):
        case = sub14("uint8", relation, constants)
        exact = [op.spread[0].astype(int) - op.spread[1] for op in case.operations]
        judged.append(judge(case, [Output(UINT8, np.asarray(np.clip(e, 0, 255), np.uint8)) for e in exact]))
    case = sub14("uint8", "same", "both")
    judged.append(judge(case, right(case)))
    wraps = {"wraps": Answer("different-numbers", Witness(SUBTRACT, (5, 10), 0, 251), "", (((0, 255),), ((0, 255),)))}
    assert table_of(judged) == nodes(
        (["onnx:14"], ["uint8"], ["same", "one-sided", "rank 0"], ["none", "A"], wraps),
        (["onnx:14"], ["uint8"], ["same"], ["both"], {}),
    )


def test_joined_cases_keep_the_spans_of_all_unless_other_operands_are_constants() -> None:
    first = broken(sub14("float32", "same"), (1.0, 0.0), (3.0, 0.0))
    second = broken(sub14("float32", "two-sided"), (1.0, 0.0), (100.0, 0.0))
    (same, two_sided) = table_of([first, second]).cells.values()
    assert same == two_sided
    held = same["ordinary"].a_spans or ()
    for size, inside in ((1.0, True), (2.0, False), (3.0, True), (10.0, False), (100.0, True)):
        assert any(low <= size <= high for low, high in held) == inside
    other = broken(sub14("float32", "same", "A"), (1.0, 0.0), (100.0, 0.0))
    none, constant = table_of([first, other]).cells.values()
    assert none != constant


# ---- runtimes -------------------------------------------------------------------------------------------------


def test_every_adapter_answers_for_itself() -> None:
    for name, adapter in registry.adapters().items():
        assert name == adapter.NAME
        assert worker.release(adapter) is None or isinstance(worker.release(adapter), str)
    assert {"numpy", "onnx-reference", "onnxruntime-cpu", "openvino-cpu", "torch-cpu"} < set(registry.adapters())


def test_an_unknown_runtime_is_refused_with_those_there_are() -> None:
    with pytest.raises(SpecError) as caught:
        Runtime("coreml")
    assert str(caught.value) == f"no runtime 'coreml'; expected {listed(sorted(registry.adapters()))}"


def test_a_runtime_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.adapter("torch-cpu"), "release", lambda: None, raising=False)
    with pytest.raises(Unsupported) as caught:
        Runtime("torch-cpu")
    assert str(caught.value) == "torch-cpu needs the package torch, which is not installed"


@pytest.mark.parametrize("name", sorted(registry.adapters()))
def test_installed_runtimes_answer_small_cases(name: str) -> None:
    adapter = registry.adapter(name)
    if worker.release(adapter) is None or importlib.util.find_spec("onnx") is None:
        pytest.skip(f"{name} is not installed")
    op = spec("onnx", 14) if "onnx" in adapter.DIALECTS else spec("openvino", 1)
    with Runtime(name) as runtime:
        for dtype in ("int8",) if name == "litert-quantised" else ("float32", "int32"):
            outputs = runtime.run(Case(op, TYPES[dtype], "same", "none", full=False))
            assert not isinstance(outputs, Refused)
            answers = judge(Case(op, TYPES[dtype], "same", "none", full=False), outputs).answers
            if dtype != "int8":  # quantised subtraction saturates
                assert answers["wraps" if dtype == "int32" else "rounds"].verdict == "ok"
        assert runtime.release == worker.release(adapter)


ADAPTER = """
import os
import signal

NAME, PACKAGE, DIALECTS, ARRAYS = "fake", "fake", ("openvino",), True
CONSTANTS, RULES, JOINS = ("none",), ("numpy",), False


def release():
    return "1.0"


def prepare(head, model, weights):
    import numpy as np

    def run(inputs):
        print("a runtime that talks on standard output")
        if inputs[0][1] == "int16":
            os._exit(7)
        if inputs[0][1] == "uint16":
            os.abort()
        if inputs[0][1] == "uint32":
            signal.pause()
        if inputs[0][1] not in ("uint8", "int8"):
            raise RuntimeError("no kernel at 0x7f0011223344 for a12")
        arrays = [np.frombuffer(data, dtype).reshape(shape) for _, dtype, shape, data in inputs]
        exact = [a.astype(int) - b for a, b in zip(arrays[::2], arrays[1::2])]
        found = [np.asarray(np.clip(e, *LIMITS), arrays[0].dtype) for e in exact]
        return [(array.dtype.name, array.shape, array.tobytes()) for array in found]

    LIMITS = np.iinfo(inputs_type(head)).min, np.iinfo(inputs_type(head)).max
    return run


def inputs_type(head):
    return head["inputs"][0][1] if head["inputs"][0][1] in ("uint8", "int8") else "int8"
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A runtime that saturates 8-bit integers, dies at int16 and refuses the rest."""
    path = tmp_path / "fake.py"
    path.write_text(textwrap.dedent(ADAPTER))
    module_spec = importlib.util.spec_from_file_location("fake", path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    monkeypatch.setattr(registry, "adapters", lambda: {"fake": module})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return module


def only(*names: str) -> list[Case]:
    return [Case(spec("openvino", 1), TYPES[name], "same", "none", full=False) for name in names]


def test_a_runtime_that_dies_takes_nobody_with_it(fake: ModuleType) -> None:
    with Runtime("fake") as runtime:
        answers = [runtime.run(case) for case in only("uint8", "int16", "int8", "int32")]
    assert isinstance(answers[0], list)
    assert answers[1] == Refused("the process dies (status 7)", "run")
    assert isinstance(answers[2], list)
    assert answers[3] == Refused("no kernel at 0x… for a0", "run")


def test_how_a_runtime_dies_is_told_and_that_it_hangs(fake: ModuleType) -> None:
    with limited(max_seconds=1), Runtime("fake") as runtime:
        answers = [runtime.run(case) for case in only("uint16", "uint32", "uint8")]
    assert answers[0] == Refused("the process dies (SIGABRT)", "run")
    assert answers[1] == Refused("the process hangs for 1 s", "run")
    assert str(answers[1].limit) == (
        "a model on fake 1.0 was stopped: it took more than 1 s, the limit of max_seconds; if it needs more, set "
        "--max-seconds (in Python max_seconds=), none for no limit"
    )
    assert isinstance(answers[2], list)


def test_of_two_scalars_no_sizes_are_told(fake: ModuleType) -> None:
    case = Case(spec("openvino", 1), TYPES["uint8"], "rank 0", "none")
    with Runtime("fake") as runtime:
        answers = judge(case, runtime.run(case)).answers
    assert answers["wraps"].verdict == "different-numbers"
    assert (answers["wraps"].a_spans, answers["wraps"].b_spans) == (None, None)


def test_deviations_are_unlisted_listed_or_gone(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runtime, "cases", lambda self, **_: iter(only("uint8", "int8")))
    report = prove("fake")
    assert [(f.dtype, f.value_class, f.verdict, f.unexpected) for f in report.findings] == [
        ("uint8", "wraps", "different-numbers", "not listed"),
        ("int8", "wraps", "different-numbers", "not listed"),
    ]
    assert not report.ok
    assert report.findings[0].case == "Subtract-1 of uint8, same shapes, no constants: values that wrap"
    wraps = {"wraps": Answer("different-numbers", Witness(SUBTRACT, (5, 10), 0, 251))}
    known_target = Target("fake", "1.0", nodes((["openvino:1"], ["uint8", "int8"], ["same"], ["none"], wraps)))
    assert prove("fake", known_target=known_target).ok
    more = {**wraps, "in range": Answer("different-numbers", Witness(SUBTRACT, (0, 0), 1, 0))}
    known_target = Target("fake", "1.0", nodes((["openvino:1"], ["uint8", "int8"], ["same"], ["none"], more)))
    monkeypatch.setattr(Runtime, "cases", lambda self, **_: iter([Case(c.op, c.element, c.relation, "none") for c in only("uint8")]))  # fmt: skip # noqa: E501
    report = prove("fake", known_target=known_target)
    assert [f.unexpected for f in report.failures] == ["listed as different-numbers, but gone"]
    assert [f.verdict for f in report.failures] == ["ok"]


def test_the_edges_alone_do_not_show_that_a_deviation_is_gone(
    fake: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runtime, "cases", lambda self, **_: iter(only("uint8")))
    answers = {name: Answer("different-numbers", Witness(SUBTRACT, (0, 0), 1, 0)) for name in ("wraps", "in range")}
    known_target = Target("fake", "1.0", nodes((["openvino:1"], ["uint8"], ["same"], ["none"], answers)))
    assert prove("fake", quick=True, known_target=known_target).ok


def test_the_page_groups_what_deviates_and_shows_a_witness(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runtime, "cases", lambda self, **_: iter(only("uint8", "float32")))
    report = prove("fake", quick=True)
    page = text(prove_page(report)).splitlines()
    head = page.index("Results that differ from the expected ones:")
    assert page[head + 1 : head + 3] == ["", "type   values  operator  constants  first witness"]
    assert "uint8  wraps   openvino  none       5 - 10 = 0, not 251" in page
    assert any(line.startswith("float32  openvino  same    no kernel at 0x…") for line in page)


def test_the_command_ends_in_1_where_something_is_not_listed(
    fake: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Runtime, "cases", lambda self, **_: iter(only("uint8")))
    junit = tmp_path / "report.xml"
    assert cli.main(["prove", "fake", "--quick", "--json", "--junit", str(junit)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["version"], data["runtime"], data["release"], data["cases"]) == (1, "fake", "1.0", 1)
    (finding,) = data["findings"]
    assert finding["case"] == "Subtract-1 of uint8, same shapes, no constants: values that wrap"
    assert finding["witness"] == {"operands": [5, 10], "a": 5, "b": 10, "got": 0, "expected": 251}
    assert finding["unexpected"] == "not listed"
    suite = ElementTree.parse(junit).getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("1", "1")
    assert cli.main(["prove", "tvm"]) == 2


def test_numbers_that_do_not_repeat_in_a_new_process_are_not_taken_for_facts(
    fake: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = only("uint8")[0]
    answers = iter([[Output(UINT8, np.zeros_like(case.operations[0].expected))], right(case)])
    monkeypatch.setattr(Runtime, "cases", lambda self, **_: iter([case]))
    monkeypatch.setattr(Runtime, "run", lambda self, asked: next(answers))
    monkeypatch.setattr(Runtime, "_run", lambda self, together: next(answers))
    assert prove("fake").ok


def test_a_case_that_is_expected_to_be_refused_has_a_model_of_its_own(
    fake: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: Runtime, together: list[Case]) -> list[Output]:
        models.append([case.constants for case in together])
        return [output for case in together for output in right(case)]

    monkeypatch.setattr(Runtime, "_run", run)
    asked = [Case(spec("openvino", 1), UINT8, relation, "none", full=False) for relation in ("same", "one-sided")]
    for refused, expected in ((False, [["none"] * 2]), (True, [["none"]] * 2)):
        models: list[list[str]] = []
        with Runtime("fake") as runtime:
            assert [case for case, _ in runtime.run_all(asked, lambda case, alone=refused: alone)] == asked
        assert models == expected


# ---- a sample, and all ----------------------------------------------------------------------------------------


@pytest.fixture
def broken_in_onnx(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The runtime of all defects, asked ONNX's versions; what hangs is left out."""
    every = Runtime.cases

    def cases(self: Runtime, *, full: bool, **_: object) -> Iterator[Case]:
        return (case for case in every(self, full=full) if case.element.name != "uint32")

    monkeypatch.setattr(fake, "DIALECTS", ("onnx",))
    monkeypatch.setattr(Runtime, "cases", cases)
    return fake


def test_a_sample_finds_every_defect_that_all_cases_show(broken_in_onnx: ModuleType) -> None:
    found = {}
    for every in (False, True):
        report = prove("fake", all=every)
        assert not report.ok
        found[every] = {(one.dtype, one.verdict, one.value_class, one.reason) for one in report.failures}
    assert found[False] == found[True]
    assert {verdict for _, verdict, *_ in found[False]} == {"different-numbers", "not-implemented"}
    wraps = {dtype for dtype, _, values, reason in found[False] if (values, reason) == ("wraps", "")}
    assert wraps == {"uint8", "int8"}
    told = {reason for *_, reason in found[False]}
    assert told >= {"the process dies (status 7)", "the process dies (SIGABRT)", "no kernel at 0x… for a0"}


def test_the_page_begins_with_the_verdict_and_ends_with_refusals(
    broken_in_onnx: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["prove", "fake"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+ findings not in the list of known deviations:", lines[0])
    page = " ".join(lines)
    left = "a sample of each kind: 113 cases are left out; to run them too: minuend prove fake --all"
    order = [
        left,
        "no deviations of fake@1.0 are listed",
        "Results that differ from the expected ones:",
        "Refused by the runtime:",
    ]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    assert page.index("fake 1.0: 94 cases, ") < places[0]
    assert cli.main(["prove", "fake", "--all", "--quick"]) == 1
    page = " ".join(capsys.readouterr().out.splitlines())
    assert "a sample" not in page
    assert "fake 1.0: 207 cases, " in page


def test_a_deviation_of_a_whole_model_has_a_line_without_a_version() -> None:
    findings = tuple(_mixed_up_findings([MixedUp("float32", 3, 390)], "openvino-cpu@2026.4.1", {}))
    facts = {"cases": 0, "pairs": 0, "graphs": 0, "seconds": 0, "quick": False, "compared": None}
    report = Report(title="", findings=findings, strict=True, facts={**facts, "runtime": "ov", "release": "1"})
    page = " ".join(text(prove_page(report)).split())
    assert "3 of 390 nodes were computed with another node's constant" in page


# ---- what is shipped ------------------------------------------------------------------------------------------


def test_what_is_installed_and_measured_deviates_as_its_target_says(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = registry.adapter("onnxruntime-cpu")
    name = f"onnxruntime-cpu@{worker.release(adapter)}"
    if name not in targets.names():
        pytest.skip(f"{name} was not measured")
    report = prove("onnxruntime-cpu", quick=True)
    assert [finding.case for finding in report.failures] == []
    assert (report.facts["cases"], report.facts["all"]) == (362, False)
    monkeypatch.setattr(
        pattern_cases, "queried", lambda exact: iter(())
    )  # with them minutes: minuend prove onnxruntime-cpu --all
    report = prove("onnxruntime-cpu", quick=True, all=True)
    assert [finding.case for finding in report.failures] == []
    assert (report.facts["cases"], report.facts["all"]) == (928, True)
