"""``open_model`` and ``run``: the dialect is found, whatever the model comes as."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import onnx
import pytest

from minuend.errors import FileFormatError, Unsupported
from minuend.models import opening as models
from minuend.models.opening import open_model, run
from minuend.standards import abilities
from minuend.standards.dialects import dialects

TEXT = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a, uint8[2] b) => (uint8[2] c) { c = Sub(a, b) }'
PROTO = onnx.parser.parse_model(TEXT)
FEEDS = {"a": np.uint8([3, 2]), "b": np.uint8([1, 3])}


def test_a_model_runs_from_whatever_it_comes_as(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(PROTO.SerializeToString())
    text = tmp_path / "m.ONNXTXT"
    text.write_text(TEXT)
    for source in (path, str(path), text, TEXT, PROTO.SerializeToString(), PROTO, open_model(PROTO)):
        assert open_model(source).dialect is dialects()["onnx"]
        assert run(source, FEEDS)["c"].tolist() == [2, 255]


@pytest.mark.parametrize("name", ["{a}.onnx", "<a>.onnx", "two\nlines.onnx", "{a}.json", "<a>.xml"])
def test_a_path_is_a_path_whatever_it_begins_with(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {".xml": "<net/>", ".json": '{"resources": {}, "dispatchables": {}, "commands": []}'}
    (tmp_path / name).write_bytes(texts.get(Path(name).suffix, "").encode() or PROTO.SerializeToString())
    assert not models.is_text(name)
    if name.endswith(".xml"):
        with pytest.raises(FileFormatError, match=r"<a>\.xml"):
            open_model(name)
    else:
        assert open_model(name).output_names() == (["c"] if name.endswith(".onnx") else [])


@pytest.mark.parametrize("text", ["{}", "// c\n{}", "/* c.json */ {}", " <net/>", TEXT])
def test_a_text_is_no_path(text):
    assert models.is_text(text)


def test_a_model_is_opened_once():
    model = open_model(PROTO)
    assert open_model(model) is model


def test_options_reach_the_dialect_s_own_reader(tmp_path):
    assert open_model(PROTO, base_dir=tmp_path).folder == str(tmp_path)


def test_max_bytes_reaches_the_model():
    with pytest.raises(Exception, match="more than the limit of 1;"):
        run(PROTO, FEEDS, max_bytes=1)


def test_what_is_no_model_is_told(tmp_path):
    known = [f"{s} ({dialects()[n].title})" for n, f in models.formats().items() for s in f.SUFFIXES]
    expected = " or ".join([", ".join(known[:-1]), known[-1]])
    for path, came in (("m.txt", "the suffix '.txt'"), ("model", "no suffix")):
        with pytest.raises(FileFormatError) as caught:
            open_model(path)
        assert str(caught.value) == f"{path} has {came}, which names no kind of model; expected {expected}"
    with pytest.raises(FileNotFoundError) as missing:
        open_model(tmp_path / "m.onnx")
    assert str(missing.value) == f"there is no file {tmp_path}/m.onnx"
    with pytest.raises(FileFormatError) as content:
        open_model(b"\x89PNG")
    assert str(content.value).startswith(r"no model begins as these bytes (b'\x89PNG' …); expected ")
    with pytest.raises(TypeError) as kind:
        open_model(3)
    assert str(kind.value).startswith("a int is no model; expected a path, bytes, text, or onnx.ModelProto")


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    def missing(name):
        if name == "minuend.onnx.model":
            raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
        return importlib.__import__(name)

    models.formats()
    monkeypatch.setattr(abilities.importlib, "import_module", missing)
    with pytest.raises(Unsupported) as caught:
        open_model(b"\x08\x0a")
    assert str(caught.value) == ("models of ONNX need the package 'onnx': pip install \"minuend[onnx]\"")


@pytest.mark.parametrize("name", sorted(models.formats()))
def test_what_a_dialect_says_of_its_models_is_its_own(name):
    known = models.formats()[name]
    others = [f for other, f in models.formats().items() if other != name]
    assert known.SUFFIXES
    for suffix in known.SUFFIXES:
        assert suffix == suffix.lower()
        assert all(suffix not in f.SUFFIXES for f in others)
    module = importlib.import_module(f"minuend.{name}.model")
    for part in ("run", "save", "subtractions"):
        assert callable(getattr(module.Model, part))
    assert callable(module.read)
