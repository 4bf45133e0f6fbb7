"""Across modules: runtimes of other packages, the whole example in tests/data/plugin and broken packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minuend import cli
from minuend.errors import SpecError, Unsupported
from minuend.judging.checking import check
from minuend.runtimes import registry, targets
from minuend.runtimes.cases import Case
from minuend.runtimes.proving import prove
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Refused, Runtime

PLUGIN = Path(__file__).parent.parent / "data" / "plugin"
IR = """<net name="m" version="11"><layers>
<layer id="0" name="a" type="Parameter" version="opset1"><data shape="2" element_type="u8"/>
<output><port id="0" precision="U8"><dim>2</dim></port></output></layer>
<layer id="1" name="b" type="Parameter" version="opset1"><data shape="2" element_type="u8"/>
<output><port id="0" precision="U8"><dim>2</dim></port></output></layer>
<layer id="2" name="c" type="Subtract" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0"><dim>2</dim></port><port id="1"><dim>2</dim></port></input>
<output><port id="2" precision="U8"><dim>2</dim></port></output></layer>
<layer id="3" name="r" type="Result" version="opset1"><input><port id="0"><dim>2</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""

Install = Callable[..., None]


def forget() -> None:
    """What was found out about installed packages is found out again."""
    for cached in (registry._added, registry._loaded, quirks, targets._added_target):
        cached.cache_clear()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that Python finds, as an installer makes one."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    forget()
    yield folder
    forget()
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


def install(site: Path, package: str, version: str, points: dict[str, str]) -> None:
    """Write what an installer writes about a package with entry points."""
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = "".join(f"{name} = {module}\n" for name, module in points.items())
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{lines}")


@pytest.fixture
def echo(site: Path) -> Path:
    """The example, installed."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    shutil.copytree(PLUGIN / "src" / "minuend_echo", site / "minuend_echo")
    install(site, project["name"], project["version"], project["entry-points"][registry.GROUP])
    return site


# ---- the example ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("echo")
def test_the_example_is_listed_and_checks_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "echo@1.2" in targets.names()
    assert targets.find("ekko").name == targets.find("echo@1").name == "echo@1.2"
    assert list(registry.warnings()) == []
    (finding,) = check(IR, "echo")
    assert (finding.verdict, str(finding.witness)) == ("different-numbers", "5 - 10: got 0, expected 251")
    model = tmp_path / "m.xml"
    model.write_text(IR)
    assert cli.main(["check", str(model), "--target", "echo"]) == 1
    assert "1 of 1 subtractions differs on echo@1.2" in capsys.readouterr().out
    assert cli.main(["targets"]) == 0
    out, err = capsys.readouterr()
    assert "echo  " in out
    assert err == ""
    assert cli.main(["targets", "--matrix", "--target", "echo", "--dtype", "u8,i32,f32", "--json"]) == 0
    cells = {cell["dtype"]: cell["verdict"] for cell in json.loads(capsys.readouterr().out)["cells"]}
    assert cells == {"uint8": "different-numbers", "int32": "ok", "float32": "not-implemented"}


@pytest.mark.usefixtures("echo")
def test_the_example_is_proven_in_a_process_of_its_own_and_is_as_its_file_says() -> None:
    report = prove("echo", quick=True)
    assert report.ok
    assert (report.facts["runtime"], report.facts["compared"]) == ("echo", "echo@1.2")
    assert report.notes[0].startswith("known deviations: echo@1.2, measured ")
    with Runtime("ekko") as runtime:
        assert (runtime.name, runtime.release) == ("echo", "1.2")


@pytest.mark.usefixtures("echo")
def test_the_example_is_measured_to_what_it_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every = Runtime.cases
    monkeypatch.setattr(Runtime, "cases", lambda self, **stated: (c for c in every(self, **stated) if _few(c)))
    out = tmp_path / "echo.json"
    assert cli.main(["measure", "echo", "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith("echo@1.2 on ")
    found, shipped = targets.read(out), targets.find("echo")
    assert targets.diff(shipped, found) == []
    assert found.answer("openvino:1", "uint8", "same", "none") == shipped.answer("openvino:1", "uint8", "same", "none")


def _few(case: Case) -> bool:
    return case.element.name in ("uint8", "int32", "float32")


def test_the_whole_program_finds_the_example_where_an_installer_put_it(echo: Path) -> None:
    paths = os.pathsep.join([str(echo), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "minuend", "prove", "echo", "--quick"],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\necho 1.2: " in ran.stdout
    assert "as listed: no new deviation" in ran.stdout


# ---- packages that are broken -----------------------------------------------------------------------------------

GOOD = (PLUGIN / "src" / "minuend_echo" / "adapter.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("module", "text", "told"),
    [
        ("bad", "raise RuntimeError('no GPU')", "does not load: bad ends in RuntimeError: no GPU"),
        ("bad", "import sys; sys.exit(3)", "does not load: bad ends in SystemExit: 3"),
        ("bad", "def prepare(", "does not load: bad ends in SyntaxError: '(' was never closed (bad.py, line 1)"),
        ("gone", "", "does not load: gone ends in ModuleNotFoundError: No module named 'gone'"),
        ("bad:Echo", "", "is 'bad:Echo'; expected the name of a module"),
        (
            "bad",
            "NAME = 'bad'",
            (
                ": bad has no PACKAGE, DIALECTS, ARRAYS, CONSTANTS, RULES or prepare; expected NAME, PACKAGE, "
                "DIALECTS, ARRAYS, CONSTANTS, RULES and prepare"
            ),
        ),
        ("bad", GOOD, "calls itself 'echo'; expected the name of its entry point"),
    ],
)
def test_a_package_that_is_broken_is_told_by_name_and_harms_nobody(
    site: Path, module: str, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "bad.py").write_text(text)
    install(site, "bad-package", "0.1", {"bad": module})
    head = "the runtime 'bad' of the package bad-package 0.1"
    sentence = f"{head}{told}" if told.startswith(":") else f"{head} {told}"
    assert targets.find("openvino-cpu").runtime == "openvino-cpu"
    assert "openvino-cpu@2026.4.1" in targets.names()
    for ask in (lambda: targets.find("bad"), lambda: registry.adapter("bad"), lambda: prove("bad")):
        with pytest.raises(Unsupported) as caught:
            ask()
        assert str(caught.value) == sentence
    assert cli.main(["targets"]) == 0
    assert capsys.readouterr().err == f"warning: {sentence}\n"
    assert cli.main(["prove", "bad"]) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"


def test_a_name_that_is_taken_is_refused_by_name(echo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(echo, "a-thief", "3", {"numpy": "minuend_echo.adapter", "ort": "minuend_echo.adapter"})
    install(echo, "z-late", "4", {"echo": "nowhere"})
    assert registry.adapter("numpy").PACKAGE == "numpy"
    assert registry.adapter("echo").PACKAGE == "minuend-echo"
    assert cli.main(["targets"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "warning: the runtime 'numpy' of the package a-thief 3 is left out: that name is taken by minuend itself",
        "warning: the runtime 'ort' of the package a-thief 3 is left out: that name is taken by minuend itself",
        "warning: the runtime 'echo' of the package z-late 4 is left out: that name is taken by minuend-echo 1.2",
    ]


def test_measured_files_of_a_package_are_checked(echo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (echo / "minuend_echo" / "measured" / "echo@1.3.json").write_text('{"format": 2}')
    with pytest.raises(ValueError, match=r"^echo@1\.3\.json of the package minuend-echo 1\.2 is .*; expected an "):
        targets.find("echo@1.3")
    assert targets.find("echo@1.2").name == "echo@1.2"
    assert cli.main(["targets"]) == 0
    out, err = capsys.readouterr()
    assert "openvino-cpu" in out
    assert err.startswith("warning: echo@1.3.json of the package minuend-echo 1.2 is {'format': 2}; expected an object")


def test_a_folder_of_measured_files_that_is_none_is_told(echo: Path) -> None:
    adapter = echo / "minuend_echo" / "adapter.py"
    adapter.write_text(GOOD.replace('Path(__file__).parent / "measured"', "'nowhere'"))
    with pytest.raises(Unsupported, match=r"minuend-echo 1\.2: MEASURED is 'nowhere', which is no folder"):
        targets.find("echo")
    assert "numpy" in {name.partition("@")[0] for name in targets.names()}


def test_a_runtime_that_nobody_measured_says_how(echo: Path) -> None:
    shutil.rmtree(echo / "minuend_echo" / "measured")
    (echo / "minuend_echo" / "measured").mkdir()
    with pytest.raises(SpecError) as caught:
        targets.find("echo")
    assert str(caught.value) == (
        "echo is known here and has not been measured; minuend measure echo -o FILE does, and --target FILE takes what "
        "it writes"
    )
    report = prove("echo", quick=True)
    assert report.notes == ("no deviations of echo@1.2 are listed, so every one counts; minuend measure makes a list",)


# ---- plug-ins whose answers are none ----------------------------------------------------------------------------

ODD = """
import os, sys, time
NAME, PACKAGE, DIALECTS, ARRAYS = "odd", "odd-package", ("openvino",), False
CONSTANTS, RULES, JOINS = ("none",), ("numpy",), False
print("printed while it is loaded")


def release():
    return "1"


def prepare(head, model, weights):
    print("printed by prepare()")
    sys.stdout.flush()
    def run(inputs):
        {}
    return run


"""


def odd(site: Path, line: str, **names: str) -> None:
    install(site, "odd-package", "1", {"odd": "odd_module"})
    text = ODD.replace("{}", line) + "".join(f"{name} = {value}\n" for name, value in names.items())
    (site / "odd_module.py").write_text(text)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "return [('float32', (10**9,), b'')]",
            "output 0 is float32 of shape [1000000000] in 0 bytes; expected 4000000000",
        ),
        ("return [('float32', 'x', b'')]", "the shape of output 0 is 'x'; expected a sequence of sizes"),
        ("return [('float32', (-1,), b'')]", "the shape of output 0 is (-1,); expected a sequence of sizes"),
        ("return [('float32', (2.0,), b'')]", "the shape of output 0 is (2.0,); expected a sequence of sizes"),
        ("return [('float32', (1,) * 65, bytes(4))]", "output 0 has rank 65; NumPy's arrays end at 64"),
        ("return [('x', (2**40, 2**40), b'')]", "output 0 has 1208925819614629174706176 elements"),
        ("return [(7, (1,), b'')]", "the dtype of output 0 is 7; expected a name such as 'float32'"),
        ("return [('uint8', (1,), 'a')]", "the elements of output 0 are a str; expected bytes"),
        ("return [('uint8', (1,))]", "output 0 is ('uint8', (1,)); expected (dtype, shape, bytes)"),
        ("return None", "its run() returned a NoneType; expected a list of (dtype, shape, bytes)"),
        ("return 'x' * 10**7", "its run() returned a str; expected a list of (dtype, shape, bytes)"),
        ("return [[0] * 10**6]", f"output 0 is [{'0, ' * 33}…; expected (dtype, shape, bytes)"),
    ],
)
def test_an_answer_that_is_none_names_the_plug_in(
    site: Path, tmp_path: Path, line: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    odd(site, line)
    assert cli.main(["measure", "odd", "-o", str(tmp_path / "o.json"), "--alone"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == (
        f"error: the adapter of odd 1 (the runtime 'odd' of the package odd-package 1) gives no answer: {why}"
    )
    assert not (tmp_path / "o.json").exists()


def test_a_plug_in_that_never_returns_is_asked_three_times(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd(site, "time.sleep(1000)")
    assert cli.main(["measure", "odd", "-o", str(tmp_path / "o.json"), "--alone", "--max-seconds", "0.2"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: a model on odd 1 (the runtime 'odd' of the package odd-package 1) was stopped: it took more than "
        "0.2 s, the limit of max_seconds; if it needs more, set --max-seconds (in Python max_seconds=), "
        "none for no limit"
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("raise SystemExit(3)", "3"),
        ("sys.exit('words')", "words"),
        ("raise ValueError('x' * 9999)", "x" * 239 + "…"),
        ("os._exit(0)", "the process dies (status 0)"),
        ("os.abort()", "the process dies (SIGABRT)"),
    ],
)
def test_an_end_of_any_kind_is_a_refusal(site: Path, line: str, told: str) -> None:
    odd(site, line)
    with Runtime("odd") as runtime:
        case = next(runtime.cases(full=False))
        assert runtime.run(case) == Refused(told, "run")
        assert runtime.run(case) == Refused(told, "run")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"ARRAYS": "3"}, "ARRAYS of odd_module is 3; expected True or False"),
        ({"DIALECTS": "'onnx'"}, "DIALECTS of odd_module is 'onnx'; expected names of dialects in a tuple"),
        ({"prepare": "None"}, "prepare of odd_module is None; expected a function"),
    ],
)
def test_an_adapter_whose_names_hold_something_else_is_refused(site: Path, names: dict[str, str], message: str) -> None:
    odd(site, "pass", **names)
    with pytest.raises(Unsupported) as caught:
        Runtime("odd")
    assert str(caught.value) == f"the runtime 'odd' of the package odd-package 1: {message}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("lambda: 1", "the adapter of odd gives 1 as its release; expected a short text"),
        ("lambda: chr(27)", "the adapter of odd gives '\\x1b' as its release; expected a short text"),
        ("lambda: {}[1]", "the adapter of odd does not say its release: it ends in KeyError: 1"),
        ("sys.exit", "the adapter of odd does not say its release: it ends in SystemExit: "),
    ],
)
def test_a_release_that_is_none_is_refused(site: Path, value: str, message: str) -> None:
    odd(site, "pass", release=value)
    with pytest.raises(Unsupported) as caught:
        Runtime("odd")
    assert str(caught.value) == message
