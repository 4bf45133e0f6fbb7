"""Across modules: ``spec`` and ``diff`` in other languages, and the pages of the built site."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from minuend import cli
from minuend.cli import site
from minuend.language import chosen

BGSUB = Path(__file__).parents[2] / "examples" / "bgsub.onnx"
CHINESE = "ONNX Sub-6 → Sub-7\n\n屬性"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_TW.UTF-8"}, "zh_TW"),
        ({"LANG": "zh_TW@variant"}, "zh_TW"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LC_ALL": "C", "LANG": "zh_TW.UTF-8"}, "en"),
        ({"LC_MESSAGES": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, "zh_TW"),
        ({"LANGUAGE": "fr:zh_TW", "LANG": "en_US.UTF-8"}, "zh_TW"),
        ({"LANGUAGE": "zh_TW", "LANG": "C"}, "en"),
        ({"LANGUAGE": "en:zh_TW", "LANG": "zh_TW.UTF-8"}, "en"),
    ],
)
def test_the_environment_chooses_as_gettext_has_it(environ: dict[str, str], expected: str) -> None:
    assert chosen(environ) == expected


def test_a_language_is_the_environments_or_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_TW.UTF-8")
    assert cli.main(["diff", "onnx:6", "onnx:7"]) == 0
    assert capsys.readouterr().out.startswith(CHINESE)
    assert cli.main(["diff", "onnx:6", "onnx:7", "--lang", "en"]) == 0
    assert capsys.readouterr().out.startswith("ONNX Sub-6 → Sub-7\n\nattributes")
    monkeypatch.setenv("LC_ALL", "C")
    assert cli.main(["spec", "onnx:14", "--lang", "zh_TW"]) == 0
    assert "限制為" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "status"), [(["spec", "onnx"], 0), (["check", str(BGSUB), "--target", "openvino-cpu@2026.4.1"], 1)]
)
def test_json_is_the_same_in_every_language(argv: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for lang in ("en", "zh_TW"):
        assert cli.main([*argv, "--json", "--lang", lang]) == status
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def test_check_is_in_the_language_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_TW.UTF-8")
    assert cli.main(["check", str(BGSUB), "--target", "openvino-cpu@2026.4.1", "--no-config"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "openvino-cpu@2026.4.1  different-numbers",
        "graph.node[0] 'subtract_background'：numbers（uint8）：5 − 10 = 0，預期為 251",
        "  原因：結果飽和而非迴繞",
    ]
    assert lines[-1] == "在 openvino-cpu@2026.4.1 上，1 個減法中有 1 個結果不同"


def test_many_models_are_summed_up_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    named = [str(BGSUB), str(BGSUB.with_name("legacy_axis.onnxtxt"))]
    assert cli.main(["check", *named, "--target", "openvino-cpu@2026.4.1", "--no-config", "--lang", "zh_TW"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{named[0]}：1 個減法，待處理：1 different-numbers"
    assert f"{named[1]}：1 個減法，全部符合預期" in lines
    assert lines[-2:] == ["2 個模型：1 個正確、1 個有待處理", "openvino-cpu@2026.4.1：1 ok、1 different-numbers"]


def test_a_language_that_nobody_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["spec", "--lang", "de"]) == 2
    assert capsys.readouterr().err == "error: no language 'de'; expected en or zh_TW\n"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(site, "_places", lambda: iter([tmp_path / "nothing", tmp_path]))
    for name in ("en/matrix", "en/operators/onnx-7", "en/operators/onnx-14", "zh_TW/operators/onnx-7"):
        (tmp_path / f"{name}.html").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.html").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "page"),
    [
        ([], "en/matrix.html"),
        (["onnx"], "en/operators/onnx-14.html"),
        (["onnx:10"], "en/operators/onnx-7.html"),
        (["onnx:7", "--lang", "zh_TW"], "zh_TW/operators/onnx-7.html"),
        (["onnx:14", "--lang", "zh_TW"], "en/operators/onnx-14.html"),
    ],
)
def test_html_opens_the_page_and_prints_where_it_lies(
    argv: list[str], page: str, built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setenv("LC_ALL", "C")
    assert cli.main(["spec", *argv, "--html"]) == 0
    assert capsys.readouterr().out == f"{built / page}\n"
    assert opened == [(built / page).as_uri()]


def test_without_a_site_it_is_told_how_to_build_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site, "installed", lambda: tmp_path)
    monkeypatch.setattr(site, "_places", lambda: iter([tmp_path]))
    assert cli.main(["spec", "onnx:7", "--html"]) == 2
    assert capsys.readouterr().err == (
        f"error: the site has not been built here: no operators/onnx-7.html in {tmp_path}; in a clone of the "
        'repository run pip install ".[docs]" && python docs/build.py\n'
    )
