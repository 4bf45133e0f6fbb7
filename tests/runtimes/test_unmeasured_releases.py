"""Releases that nobody measured: answered by those around them, never with an ok that one of them denies."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from minuend import cli
from minuend.errors import SpecError
from minuend.judging.checking import check
from minuend.models.constants import word_of
from minuend.models.matching.match import Match
from minuend.models.patterns import Op, X, less
from minuend.operators import SUBTRACT
from minuend.rewriting.fixing import fix
from minuend.runtimes import targets
from minuend.runtimes.answers import WORST, Answer
from minuend.runtimes.reasons import (
    AsContracted,
    Concerns,
    DocumentsSilent,
    ReleaseBetween,
    ReleasesDiffer,
    ReleaseTooNew,
    ReleaseTooOld,
    Stated,
    Undocumented,
)
from minuend.runtimes.releases import parts
from minuend.runtimes.table import NOTHING, Table, nodes, pattern_key
from minuend.runtimes.target import Target
from minuend.runtimes.unmeasured_releases import Inferred, inferred
from minuend.runtimes.witness import Witness

TEXT = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) {{ c = {} }}'
SUB = TEXT.format("Sub(a, b)")
SATURATES = Answer("different-numbers", Witness(SUBTRACT, (5, 10), 0, 251), "", (((0, 9),), ((10, 255),)))
CRAZY = Answer("different-numbers", Witness(SUBTRACT, (5, 10), 7, 251))
ELSEWHERE = Answer("different-numbers", Witness(SUBTRACT, (1, 2), 0, 255), "", (((100, 200),), ((10, 255),)))
LACKS = Answer("not-implemented", message="no kernel")


def release(number: str, wraps: Answer | None = None, patterns: Table = NOTHING) -> Target:
    """A release of a runtime in which uint8 that wraps has an answer."""
    answers = {} if wraps is None else {"wraps": wraps}
    table = nodes((("onnx:14",), ("uint8",), ("same",), ("none",), answers)).with_patterns(patterns)
    return Target("some", number, table, date="2026-01-02", cpu="a cpu, avx2")


def wraps(target: Target) -> Answer:
    return target.answer("onnx:14", "uint8", "same", "none")["wraps"]


def between(older: Answer | None, newer: Answer | None, asked: str = "1.1") -> Inferred:
    return inferred(asked, release("1.0", older), release("1.2", newer))


# ---- the rules --------------------------------------------------------------------------------------------------


def test_what_two_releases_agree_on_is_given_and_marked() -> None:
    target = between(None, None)
    assert wraps(target) == Answer("ok")
    assert wraps(between(SATURATES, SATURATES)) == SATURATES
    assert target.name == "some@1.1"
    assert target.provenance == {
        "release": "1.0",
        "date": "2026-01-02",
        "cpu": "a cpu, avx2",
        "inferred": "1.1 lies between 1.0 and 1.2, which agree",
    }


def test_of_two_that_agree_the_sizes_of_both_deviate() -> None:
    both = wraps(between(SATURATES, ELSEWHERE))
    assert both.witness == SATURATES.witness
    assert both.a_spans == ((0, 9), (100, 200))
    unknown = replace(ELSEWHERE, spans=(None, ELSEWHERE.spans[1]))
    assert wraps(between(SATURATES, unknown)).a_spans is None  # then any size may


@pytest.mark.parametrize("taken", [SATURATES, LACKS, Answer("unknown", message="nobody asked")])
def test_where_one_is_right_and_one_is_not_the_worse_is_given(taken: Answer) -> None:
    for older, newer in ((taken, None), (None, taken)):
        found = wraps(between(older, newer))
        assert replace(found, unlike=None) == taken
        assert found.unlike.taken == ""


def test_no_pair_of_answers_makes_an_ok_that_one_of_them_denies() -> None:
    every = (None, SATURATES, CRAZY, ELSEWHERE, LACKS, Answer("unknown"))
    for older, newer in itertools.product(every, repeat=2):
        for asked in ("1.1", "1.0.1", "1.1.9"):
            verdict = wraps(between(older, newer, asked)).verdict
            known = [("ok" if one is None else one.verdict) for one in (older, newer)]
            assert verdict in known
            assert verdict != "ok" or known == ["ok", "ok"]
            if "ok" in known:
                assert WORST.index(verdict) == min(map(WORST.index, known))


@pytest.mark.parametrize(
    ("asked", "nearer"), [("1.1", "1.0"), ("1.0.5", "1.0"), ("1.1.9", "1.0"), ("1.2.0rc1", "1.2"), ("1.1.10", "1.0")]
)
def test_where_neither_is_right_the_nearer_one_is_given(asked: str, nearer: str) -> None:
    found = between(SATURATES, LACKS, asked)
    assert found.nearer.release == nearer
    assert wraps(found).verdict == wraps(found.nearer).verdict
    assert wraps(found).unlike.taken == nearer


def test_other_numbers_for_one_pair_are_no_agreement() -> None:
    older, newer = (
        Stated(number, "different-numbers", one.witness) for number, one in (("1.0", SATURATES), ("1.2", CRAZY))
    )
    assert wraps(between(SATURATES, CRAZY)).unlike == ReleasesDiffer("1.1", older, newer, taken="1.0")


def test_beyond_the_ends_the_last_one_answers_with_a_warning() -> None:
    newest, oldest = inferred("2.0", release("1.0", SATURATES), None), inferred("0.5", None, release("1.0"))
    assert wraps(newest) == SATURATES
    assert wraps(oldest) == Answer("ok")
    assert newest.notice == ReleaseTooNew("some@2.0", "1.0")
    assert oldest.notice == ReleaseTooOld("some@0.5", "1.0")
    assert newest.provenance["inferred"] == "2.0 lies beyond 1.0, the newest that was measured, whose answer is taken"


def test_graphs_follow_the_same_rules_and_what_one_lacks_is_unknown() -> None:
    pattern = Op("Relu", (less(X, X),))
    key = pattern_key(pattern, "float32", "static", "")
    fine, wrong, none = ({key: {}}, {key: {"nan": SATURATES}}, {})
    around = Match(pattern, "", "Relu")

    def find(older: dict, newer: dict):
        found = inferred("1.1", release("1.0", None, Table(older)), release("1.2", None, Table(newer)))
        return found.table.find(around, "float32", False, "")

    assert find(fine, fine) == {}
    assert find(wrong, wrong) == {"nan": SATURATES}
    for pair in ((fine, wrong), (wrong, fine)):
        found = find(*pair)
        assert found is not None
        assert (found["nan"].verdict, found["nan"].unlike.taken) == ("different-numbers", "")
    assert find(fine, none) is find(none, wrong) is None
    assert not inferred("1.1", release("1.0", None, Table(fine)), release("1.2")).table.has_patterns
    assert inferred("2", release("1.0", None, Table(fine)), None).table.has_patterns


def test_releases_have_an_order() -> None:
    ordered = ["1.9", "1.10", "1.10.0rc1", "1.10.0", "1.10.1", "2", "2.0"]
    assert sorted(ordered, key=parts) == ordered


# ---- by name ----------------------------------------------------------------------------------------------------


def test_a_release_between_measured_ones_is_found_and_exactly_it_is_not() -> None:
    assert targets.find("openvino-cpu@2025.1").name == "openvino-cpu@2025.1"
    assert targets.find("openvino-cpu@2025.1.0").provenance["inferred"] == (
        "2025.1.0 lies between 2025.0.0 and 2025.2.0, which agree"
    )
    assert targets.find("openvino-cpu@2025.2").name == "openvino-cpu@2025.2.0"  # a start of a measured one still is
    assert targets.find("numpy@1").notice.code == "release-too-old"
    with pytest.raises(SpecError) as caught:
        targets.find("openvino-cpu@2026.41", exact=True)
    assert str(caught.value).startswith(
        "no release of openvino-cpu that starts with '2026.41' (did you mean '2026.4.1'?); there are 2023.0.0, "
    )


@pytest.mark.parametrize("name", ["openvino-cpu@newest", "openvino-cpu@", "directml@7.0", "onnxruntime-directml@1.20"])
def test_what_is_no_release_or_of_documents_is_refused_as_before(name: str) -> None:
    with pytest.raises(SpecError, match=r"^no release of .* that starts with '.*'.*; there are "):
        targets.find(name)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ort", "onnxruntime-cpu"),
        ("onnxruntime", "onnxruntime-cpu"),
        ("ov", "openvino-cpu"),
        ("openvino", "openvino-cpu"),
        ("onnx", "onnx-reference"),
        ("torch", "torch-cpu"),
    ],
)
def test_runtimes_have_other_names(alias: str, name: str) -> None:
    assert targets.find(alias).name == targets.find(name).name
    assert targets.find(f"{alias}@1").runtime == name


def test_what_is_near_an_alias_is_asked_for() -> None:
    with pytest.raises(SpecError, match=r"^no target 'openvin' \(did you mean 'openvino'\?\); expected directml, "):
        targets.find("openvin")


def test_installed_is_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets.registry, "release", lambda adapter: "1.22.1")
    assert targets.find("ort@installed").name == "onnxruntime-cpu@1.22.1"
    monkeypatch.setattr(targets.registry, "release", lambda adapter: "1.22.2")
    assert isinstance(targets.find("ort@installed"), Inferred)
    monkeypatch.setattr(targets.registry, "release", lambda adapter: None)
    with pytest.raises(NotImplementedError) as caught:
        targets.find("ort@installed")
    assert str(caught.value) == (
        "onnxruntime-cpu@installed needs the package onnxruntime, which is not installed: pip install onnxruntime"
    )
    with pytest.raises(SpecError) as refused:
        targets.find("directml@installed")
    assert str(refused.value) == "directml is known from documents, and none is installed; name its release"


# ---- check and fix ----------------------------------------------------------------------------------------------


def test_a_report_says_first_that_nobody_measured_a_release() -> None:
    report = check(SUB, "openvino-cpu@2025.1")
    assert report.notices == (ReleaseBetween("openvino-cpu@2025.1", "2025.0.0", "2025.2.0"),)
    (finding,) = report
    assert (finding.target, finding.verdict) == ("openvino-cpu@2025.1", "different-numbers")
    assert finding.inferred == "2025.1 lies between 2025.0.0 and 2025.2.0, which agree"
    assert finding.to_json()["measured"]["inferred"] == finding.inferred
    told = " ".join(report.conditions)
    for name in ("openvino-cpu@2025.0.0", "openvino-cpu@2025.2.0"):
        assert name in told
    with pytest.raises(SpecError, match=r"that starts with '2025\.1'"):
        fix(SUB, "openvino@2025.1", exact=True)


def test_the_command_marks_what_is_inferred(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.onnxtxt"
    model.write_text(SUB)
    assert cli.main(["check", str(model), "--target", "ov@2025.1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("openvino-cpu@2025.1 has not been measured; ")
    assert "to settle it: minuend measure openvino-cpu -o openvino-cpu.json" in out
    assert cli.main(["check", str(model), "--target", "ov@2025.1", "--exact"]) == 2
    assert cli.main(["fix", str(model), "--target", "ov@2025.1", "--exact", "-o", str(tmp_path / "o.onnx")]) == 2
    assert not (tmp_path / "o.onnx").exists()


# ---- what has no verdict ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch", "torch-cpu@2.13.0+cpu", "numpy"])
def test_a_runtime_without_models_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(SpecError, match=r"reads no model files, so it has no verdict on any: .*minuend prove"):
        check(SUB, name)


def test_what_documents_are_silent_about_is_told_and_unknown_if_asked_strictly() -> None:
    text = SUB.replace("uint8", "float")
    (finding,) = check(text, "directml@5.1")
    assert finding.verdict == "ok"
    silent = ("nan", "infinite", "negative zero", "subnormal", "overflows")
    assert finding.reasons == (AsContracted(), DocumentsSilent(silent))
    (strictly,) = check(text, "directml@5.1", strict=True)
    assert strictly.verdict == "unknown"
    assert strictly.reasons == (Undocumented(), Concerns(tuple((name, None) for name in silent)))
    for strict in (False, True):  # what wraps is no curiosity of floats
        assert [one.verdict for one in check(SUB, "directml@5.1", strict=strict)] == ["unknown"]
    assert fix(text, "onnxruntime-directml", run=False).refused == ()


@pytest.mark.parametrize("runtime", ["onnx-reference", "onnxruntime-cpu", "openvino-cpu"])
def test_releases_that_are_left_out_are_inferred_as_they_were_measured(runtime: str) -> None:
    """Each measured release is inferred from its neighbours; docs/runtimes.md tells the figures."""
    names = targets.names(runtime)
    asked = same = false_ok = 0
    for older, left_out, newer in zip(names, names[1:], names[2:], strict=False):
        target = targets.find(left_out)
        guess = inferred(target.release, targets.find(older), targets.find(newer))
        for key in target.table.nodes:
            node = (key.opversion, key.dtype, key.relation, word_of(key.constants))
            answers = guess.answer(*node)
            for name, measured in target.answer(*node).items():
                asked += 1
                same += answers[name].verdict == measured.verdict
                false_ok += answers[name].verdict == "ok" != measured.verdict
    assert asked > 30_000
    assert same > 0.96 * asked
    assert false_ok <= asked / 10_000
