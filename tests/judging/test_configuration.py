"""``minuend.toml``: where it is found, what it says, what is malformed, and how entries are added to it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from minuend.errors import FileFormatError, MinuendError
from minuend.judging.configuration import (
    Accepted,
    Config,
    Configs,
    Usual,
    check_targets,
    homes,
    parse,
    read,
    with_entries,
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


RANGE = "expected lo..hi, an open end as 0.. or ..9, or one number"
KEYS = "model, node, target, verdict"
EXPECTED = "expected models, targets, hint, cpu, fail-on, tolerate, assume, model, target or accept"
VERDICTS = "expected different-numbers, not-implemented, invalid or unknown"
SEVERITIES = "expected sign-of-zero, rounding, subnormal, edge, numbers, rounding=N or none"


# ---- where it is found ------------------------------------------------------------------------------------------


def test_the_nearest_file_up_to_the_working_directory_counts(here: Path) -> None:
    for folder in ("a/b", "c"):
        (here / folder).mkdir(parents=True)
    (here / "minuend.toml").write_text("")
    (here / "a" / "minuend.toml").write_text("")
    configs = Configs()
    found = {path: getattr(configs.of(path), "path", None) for path in ("a/b/m.onnx", "c/m.onnx", "m.onnx")}
    assert found == {
        "a/b/m.onnx": os.path.join("a", "minuend.toml"),
        "c/m.onnx": "minuend.toml",
        "m.onnx": "minuend.toml",
    }


def test_nothing_above_the_project_is_looked_at(here: Path) -> None:
    (here / "minuend.toml").write_text("")
    (here / "project" / ".git").mkdir(parents=True)
    assert Configs().of("project/m.onnx") is None
    assert Configs().path_for("project/m.onnx") == os.path.join("project", "minuend.toml")


def test_a_model_of_no_project_has_the_file_beside_it_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("work", "data/deep"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    assert list(homes(str(tmp_path / "data" / "deep" / "m.onnx"), os.getcwd())) == [str(tmp_path / "data" / "deep")]


def test_a_named_file_counts_for_all_and_none_where_none_is_wanted(here: Path) -> None:
    (here / "minuend.toml").write_text("[assume]\nx = 1\n")
    (here / "other.toml").write_text("")
    assert Configs("other.toml").of("m.onnx") == Config("other.toml")
    assert Configs(used=False).of("m.onnx") is None
    with pytest.raises(FileNotFoundError):
        Configs("no.toml").of("m.onnx")


# ---- what it says -----------------------------------------------------------------------------------------------


def test_a_file_assumes_of_all_models_and_of_some_and_accepts(here: Path) -> None:
    (here / "minuend.toml").write_text(
        '[assume]\npositions = "0..131071"\n\n'
        '[[model]]\npath = "exports/*.onnx"\nassume = {ids = [0, 9], "a.b" = 5}\n\n'
        '[[accept]]\nnode = "sub"\nreason = "known"\n'
    )
    config = read("minuend.toml")
    told = [(rule.where, {name: str(one) for name, one in rule.assume.items()}) for rule in config.rules]
    assert told == [
        ("[assume]", {"positions": "0..131071"}),
        ("[[model]] number 1", {"ids": "0..9", "a.b": "5"}),
    ]
    assert config.accepts == (Accepted(node="sub", reason="known", number=1),)
    assert [rule.where for rule in config.rules_of("m.onnx")] == ["[assume]"]
    assert [rule.where for rule in config.rules_of("exports/m.onnx")] == ["[assume]", "[[model]] number 1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "t.toml is no TOML: Invalid value (at end of document)"),
        ("[acept]\n", "t.toml has the key 'acept' (did you mean 'accept'?); " + EXPECTED),
        ("tolerates = []\n", "t.toml has the key 'tolerates' (did you mean 'tolerate'?); " + EXPECTED),
        ("fail_on = []\n", "t.toml has the key 'fail_on' (did you mean 'fail-on'?); " + EXPECTED),
        ("target = []\n", "t.toml: key 'target': []; expected tables, each as [target.\"openvino-cpu\"]"),
        ("[target.a]\n", "t.toml: [target.\"a\"] lacks the key 'tolerate'; expected tolerate"),
        ("[target.a]\ntolerat = []\n",
         "t.toml: [target.\"a\"] has the key 'tolerat' (did you mean 'tolerate'?); expected tolerate"),
        ("[target.a]\ntolerate = 'edgy'\n",
         f"t.toml: [target.\"a\"], key 'tolerate': no severity 'edgy' (did you mean 'edge'?); {SEVERITIES}"),
        ("tolerate = ['edge', 3]\n", "t.toml: key 'tolerate': ['edge', 3]; expected a list of texts"),
        ("tolerate = ['rounding=0']\n",
         "t.toml: key 'tolerate': 'rounding=0': expected ulps from 1 on, as rounding=4"),
        ("models = ['']\n", "t.toml: key 'models': ['']; expected a list of texts"),
        ("hint = 3\n", "t.toml: key 'hint': 3; expected a text that is not empty"),
        ("fail-on = ['differs']\n",
         f"t.toml: key 'fail-on': no verdict 'differs' counts; {VERDICTS}"),
        ("fail-on = []\n",
         f"t.toml: key 'fail-on': no verdict is given that counts; {VERDICTS}"),
        ("assume = 3\n", "t.toml: [assume]: 3; expected a table of ranges by the values' names"),
        ('[assume]\nx = "9..0"\n', f"t.toml: [assume]: 'x' is assumed to be '9..0', which is empty; {RANGE}"),
        ("[assume]\nx = true\n", f"t.toml: [assume]: 'x' cannot be assumed to be True; {RANGE} or a pair of numbers"),
        ("[model]\n", "t.toml: key 'model': {}; expected tables, each under [[model]]"),
        ('[[model]]\npath = "a"\n',
         "t.toml: [[model]] number 1 says nothing of its models; expected assume or tolerate"),
        ("[[model]]\nassume = {}\n", "t.toml: [[model]] number 1 lacks the key 'path'; expected path"),
        ('[[model]]\npath = ""\nassume = {}\n',
         "t.toml: [[model]] number 1, key 'path': ''; expected a text that is not empty"),
        ('[[model]]\npath = "a"\nassume = {x = "q"}\n',
         f"t.toml: [[model]] number 1, key 'assume': 'x' cannot be assumed to be 'q'; {RANGE}"),
        ('[[accept]]\nmodel = "a"\n', "t.toml: [[accept]] number 1 lacks the key 'reason'; expected reason"),
        ('[[accept]]\nmodel = "a"\nreason = " "\n',
         "t.toml: [[accept]] number 1, key 'reason': ' '; expected a text that is not empty"),
        ('[[accept]]\nreason = "x"\n\n',
         "t.toml: [[accept]] number 1 accepts everything; expected model, node, target or verdict beside the reason"),
        ('[[accept]]\nmodel = "a"\nreason = "x"\n[[accept]]\nmodle = "a"\nreason = "x"\n',
         f"t.toml: [[accept]] number 2 has the key 'modle' (did you mean 'model'?); expected {KEYS} or reason"),
        ('[[accept]]\nverdict = "different"\nreason = "x"\n',
         ("t.toml: [[accept]] number 1, key 'verdict': no verdict 'different' (did you mean "
          "'different-numbers'?) can be accepted; expected different-numbers, not-implemented, invalid or unknown")),
    ],
)  # fmt: skip
def test_what_is_malformed_is_told_with_file_table_and_key(text: str, message: str) -> None:
    with pytest.raises(FileFormatError) as told:
        parse("t.toml", text)
    assert str(told.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ".".join(["a"] * 200_000) + " = 1",
            "minuend.toml: line 1 has more than 200 dots, the most that is read",
        ),
        (
            "[assume]\nx = " + "9" * 5000,
            "minuend.toml has an integer of more digits than are read",
        ),
        ("x = " + "[" * 100_000, "minuend.toml is no TOML that is read: its arrays or tables nest too deep"),
        (
            f"[[model]]\npath = '{'*' * 4097}'\nassume = {{x = '0..1'}}",
            "minuend.toml: [[model]] number 1, key 'path': 4097 characters; expected at most 4096",
        ),
    ],
    ids=["dots", "digits", "nesting", "glob"],
)
def test_what_would_take_for_ever_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse("minuend.toml", text)
    assert str(caught.value) == message


def test_a_file_has_a_largest_size(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minuend.judging.configuration.LARGEST", 10)
    (here / "minuend.toml").write_text("# too long")
    assert read("minuend.toml").accepts == ()
    (here / "minuend.toml").write_text("# too long!")
    with pytest.raises(FileFormatError) as caught:
        read("minuend.toml")
    assert str(caught.value) == "minuend.toml has more than 10 bytes, the most that is read; split it by folders"


def test_a_node_may_have_a_name_of_white_space() -> None:
    config = Config("minuend.toml")
    entry = Accepted("m.onnx", " \t", "openvino-cpu", "different-numbers", "known", 1)
    assert parse("minuend.toml", with_entries(config, [entry])).accepts == (entry,)
    for key in ("model", "reason", "target"):
        with pytest.raises(FileFormatError, match=f"key '{key}': ' '; expected a text that is not empty"):
            parse("minuend.toml", f"[[accept]]\n{key} = ' '\n" + ("" if key == "reason" else "reason = 'known'"))


def test_bytes_that_are_no_text_are_told(here: Path) -> None:
    (here / "t.toml").write_bytes(b'x = "\xff"')
    with pytest.raises(FileFormatError) as told:
        read("t.toml")
    assert str(told.value) == "t.toml is no TOML: byte 5 is not UTF-8"


def test_an_unknown_runtime_is_told_and_one_that_is_judged_is_known() -> None:
    config = parse("t.toml", '[[accept]]\ntarget = "opnvino-cpu@2026"\nreason = "x"\n')
    with pytest.raises(FileFormatError) as told:
        check_targets(config, ["onnxruntime-cpu@1.31.1"])
    assert str(told.value).startswith(
        "t.toml: [[accept]] number 1, key 'target': no runtime 'opnvino-cpu' (did you mean 'openvino-cpu'?); expected "
    )
    check_targets(config, ["opnvino-cpu@2026.1"])


def test_an_unknown_runtime_of_a_table_is_told() -> None:
    config = parse("t.toml", '[target."opnvino-cpu@2026"]\ntolerate = []\n')
    with pytest.raises(FileFormatError) as told:
        check_targets(config, ["onnxruntime-cpu@1.31.1"])
    assert str(told.value).startswith(
        "t.toml: [target.\"opnvino-cpu@2026\"]: no runtime 'opnvino-cpu' (did you mean 'openvino-cpu'?); expected "
    )


def test_a_file_tolerates_for_a_model_before_a_target_before_all(here: Path) -> None:
    (here / "minuend.toml").write_text(
        'tolerate = ["edge"]\n[[model]]\npath = "a*"\ntolerate = "rounding=9"\n[[model]]\npath = "ab*"\n'
        "assume = {x = 1}\n"
        '[[model]]\npath = "abc*"\ntolerate = []\n[target."b@1.2"]\ntolerate = ["numbers", "subnormal"]\n'
    )
    config = read("minuend.toml")
    found = {
        (model, target): sorted(config.tolerances_of(model).of(target).severities)
        for model in ("a", "ab", "abc", "m")
        for target in ("b@1.2.3", "c@1")
    }
    assert found == {
        ("a", "b@1.2.3"): ["rounding"],
        ("a", "c@1"): ["rounding"],
        ("ab", "b@1.2.3"): ["rounding"],
        ("ab", "c@1"): ["rounding"],
        ("abc", "b@1.2.3"): [],
        ("abc", "c@1"): [],
        ("m", "b@1.2.3"): ["numbers", "subnormal"],
        ("m", "c@1"): ["edge"],
    }
    assert parse("t.toml", "").tolerances_of("m").of("c@1").severities == {"sign-of-zero"}


def test_a_file_says_what_is_checked() -> None:
    config = parse("t.toml", 'models = "a"\ntargets = ["b", "c"]\nhint = "f32"\ncpu = "avx2"\nfail-on = ["unknown"]\n')
    assert config.usual == Usual(("a",), ("b", "c"), frozenset({"unknown"}), "f32", "avx2")
    assert parse("t.toml", "").usual == Usual()


@pytest.mark.parametrize(
    ("target", "expected"),
    [("", True), ("a", True), ("a@1.2", True), ("a@1.2.3", True), ("a@1.20", False), ("a@1.2.30", False), ("b", False)],
)
def test_targets_are_named_with_a_release_its_line_or_none(target: str, expected: bool) -> None:
    assert Accepted(target=target).names("a@1.2.3") is expected


# ---- adding to it -----------------------------------------------------------------------------------------------

ENTRY = Accepted("a b.onnx", "graph.node[0] 'ü\"\\'", "openvino-cpu", "unknown", "why\tnot")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ["", "# kept\n[assume]\nx = '0..9'  # as well", '[[accept]]\nnode = "a"\nreason = "b"\n']
)
def test_entries_are_added_behind_what_is_there(text: str, end: str) -> None:
    text = text.replace("\n", end)
    added = with_entries(Config("t.toml", text), [ENTRY, ENTRY])
    assert added.startswith(text)
    assert end == "\n" or "\n" not in added.replace("\r\n", "") or not text.count("\r\n")
    before, after = tomllib.loads(text), tomllib.loads(added)
    assert after.pop("accept")[-2:] == 2 * [
        {
            "model": ENTRY.model,
            "node": ENTRY.node,
            "target": ENTRY.target,
            "verdict": ENTRY.verdict,
            "reason": ENTRY.reason,
        }
    ]
    before.pop("accept", None)
    assert after == before


def test_a_file_that_nothing_can_follow_is_told() -> None:
    with pytest.raises(MinuendError) as told:
        with_entries(Config("t.toml", "accept = []\n"), [ENTRY])
    assert str(told.value).startswith("t.toml: no entries can be written behind what is there (")
    assert str(told.value).endswith("); write those that are there as tables, each under [[accept]]")
