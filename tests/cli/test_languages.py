"""Across modules: ``spec`` and ``diff`` in other languages, and the pages of the built site."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from minuend import cli
from minuend.cli import site
from minuend.language import chosen

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


def test_json_is_the_same_in_every_language(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for lang in ("en", "zh_TW"):
        assert cli.main(["spec", "onnx", "--json", "--lang", lang]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


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
