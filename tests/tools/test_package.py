"""What is published: the checks of the two scripts find faults, and the workflows call what is there."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import package
import pytest
import release

import minuend as mn

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
WHEEL = [
    "minuend/__init__.py",
    "minuend/py.typed",
    "minuend/_native.pyi",
    "minuend/_native.cpython-311-x86_64-linux-gnu.so",
    "minuend/runtimes/measured/openvino-cpu@2026.4.1.json",
    "minuend/cli/schemas/check.json",
    "minuend-1.dist-info/licenses/LICENSE",
]
SDIST = [
    "CMakeLists.txt",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "native/python/module.cc",
    "pyproject.toml",
    "src/minuend/a.py",
]


def wheel(folder: Path, names: list[str], tag: str = "manylinux_2_28_x86_64") -> Path:
    path = folder / f"minuend-1-cp311-cp311-{tag}.whl"
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, "")
    return path


def sdist(folder: Path, names: list[str]) -> Path:
    path = folder / "minuend-1.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        for name in names:
            made.addfile(tarfile.TarInfo(f"minuend-1/{name}"), io.BytesIO())
    return path


# ---- files ------------------------------------------------------------------------------------------------------


def test_whole_files_have_no_fault(tmp_path: Path) -> None:
    assert list(package.faults_of(wheel(tmp_path, WHEEL))) == []
    assert list(package.faults_of(wheel(tmp_path, WHEEL, "win_amd64"))) == []
    assert list(package.faults_of(sdist(tmp_path, SDIST))) == []


@pytest.mark.parametrize("name", [name for name in WHEEL if "cpython" not in name])
def test_what_a_wheel_lacks_is_named(tmp_path: Path, name: str) -> None:
    (told,) = package.faults_of(wheel(tmp_path, [one for one in WHEEL if one != name]))
    assert told.startswith("it lacks ")
    assert told.removeprefix("it lacks ") in name


@pytest.mark.parametrize("name", SDIST)
def test_what_an_sdist_lacks_is_named(tmp_path: Path, name: str) -> None:
    (told,) = package.faults_of(sdist(tmp_path, [one for one in SDIST if one != name]))
    assert told.startswith("it lacks ")
    assert told.removeprefix("it lacks ") in name


@pytest.mark.parametrize(
    "name",
    [
        "tests/test_x.py",
        "minuend/tests/test_x.py",
        "benchmarks/x.py",
        "examples/x.npy",
        "minuend/__pycache__/x.cpython-311.pyc",
        ".github/workflows/x.yml",
        "minuend.libs/libgcc_s-1.so.1",
    ],
)
def test_what_is_not_part_of_a_file_is_named(tmp_path: Path, name: str) -> None:
    told = [f"it holds {name}, which is not part of it"]
    assert list(package.faults_of(wheel(tmp_path, [*WHEEL, name]))) == told
    assert list(package.faults_of(sdist(tmp_path, [*SDIST, name]))) == told


def test_a_wheel_has_one_kernel_and_a_tag_with_a_c_library(tmp_path: Path) -> None:
    others = [name for name in WHEEL if "cpython" not in name]
    assert list(package.faults_of(wheel(tmp_path, others))) == ["it holds no kernel; expected one compiled module"]
    two = ["minuend/_native.cpython-311-darwin.so", "minuend/_native.cp311-win_amd64.pyd"]
    assert list(package.faults_of(wheel(tmp_path, others + two))) == [f"it holds {two}; expected one compiled module"]
    assert list(package.faults_of(wheel(tmp_path, WHEEL, "linux_x86_64"))) == [
        "its tag names no C library, so no registry takes it; auditwheel repair gives it one"
    ]


def test_a_file_does_not_grow_unnoticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(package.LARGEST, ".whl", 100)
    path = wheel(tmp_path, WHEEL)
    assert list(package.faults_of(path)) == [f"it has {path.stat().st_size:,} bytes; expected 100 at most"]


def test_a_checkout_is_not_taken_for_the_installed_package() -> None:
    code = f"import sys; sys.path[:0] = {[str(ROOT / 'src'), str(ROOT / 'tools')]}; import package; package.installed()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    told = f"minuend comes from {ROOT / 'src/minuend'}; expected the environment {sys.prefix}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


# ---- versions ---------------------------------------------------------------------------------------------------


def test_the_version_is_one() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    place = PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"]
    assert release.VERSION.findall((ROOT / place).read_text(encoding="utf-8")) == [mn.__version__]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", mn.__version__)


def test_the_pythons_that_are_named_are_among_those_that_wheels_are_built_for() -> None:
    prefix = "Programming Language :: Python :: 3."
    named = [f"3.{one.removeprefix(prefix)}" for one in PROJECT["project"]["classifiers"] if one.startswith(prefix)]
    built = re.findall(r"cp3(\d+)-\*", " ".join(PROJECT["tool"]["cibuildwheel"]["build"]))
    assert named == [f"3.{minor}" for minor in built][: len(named)]  # those on which tests ran: docs/builds.md
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A project whose version 1.2.3 can be released."""
    (tmp_path / "src/minuend").mkdir(parents=True)
    (tmp_path / "src/minuend/__init__.py").write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-11-22)\n\n- More.\n\n## 1.2.2 (2026-11-01)\n\n- Some.\n",
        encoding="utf-8",
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_a_release_that_is_ready_has_no_fault(released: Path) -> None:
    home = PROJECT["project"]["urls"]["Repository"]
    server, _, owned = home.removeprefix("https://").partition("/")
    here = {"GITHUB_SERVER_URL": f"https://{server}", "GITHUB_REPOSITORY": owned}
    assert list(release.faults("v1.2.3", released, {})) == []
    assert list(release.faults("v1.2.3", released, here)) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            "src/minuend/__init__.py",
            "1.2.3",
            "1.2.4.dev0",
            [
                "the tag is v1.2.3, and src/minuend/__init__.py says 1.2.4.dev0; expected the tag v1.2.4.dev0",
                "1.2.4.dev0 is no version of a release; expected three numbers, as 0.1.0",
                "CHANGELOG.md has no part '1.2.4.dev0 (YEAR-MONTH-DAY)' below 'Unreleased' that says what is new",
            ],
        ),
        (
            "CHANGELOG.md",
            "## Unreleased\n",
            "## Unreleased\n\n- Left behind.\n",
            ["CHANGELOG.md does not begin with an empty part 'Unreleased'; move what is released to a part of its own"],
        ),
        (
            "CHANGELOG.md",
            "- More.\n",
            "",
            ["CHANGELOG.md has no part '1.2.3 (YEAR-MONTH-DAY)' below 'Unreleased' that says what is new"],
        ),
    ],
)
def test_a_release_that_is_not_ready_says_why(released: Path, file: str, old: str, new: str, told: list[str]) -> None:
    path = released / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert list(release.faults("v1.2.3", released, {})) == told


def test_a_release_from_elsewhere_is_refused(released: Path) -> None:
    elsewhere = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "someone/fork"}
    assert list(release.faults("v1.2.3", released, elsewhere)) == [
        f"project.urls names {url}, and this is https://github.com/someone/fork"
        for url in PROJECT["project"]["urls"].values()
    ]


def test_the_changelog_begins_with_what_is_not_released() -> None:
    names = [name for name, _ in release.PARTS.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))]
    assert names[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", name) for name in names[1:])


# ---- workflows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_what_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    called = re.findall(r"(?<![\w./-])(?:\.ci|tools)/[\w./-]+", text)
    assert called
    assert [name for name in called if not (ROOT / name).is_file()] == []
    assert [name for name in called if name.startswith(".ci/") and not (ROOT / name).stat().st_mode & 0o100] == []
    assert all(
        re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+|\S+@[0-9a-f]{40}", one) for one in re.findall(r"uses: (\S+)", text)
    )
    assert set(re.findall(r"--group (\S+)", text)) <= PROJECT["dependency-groups"].keys()


def test_only_a_tag_is_published_and_only_that_job_may_sign() -> None:
    (path,) = (path for path in WORKFLOWS if "pypi-publish" in path.read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    before, publish = text.split("  publish:\n")
    assert "id-token" not in before
    assert "if: github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')" in publish
    assert "environment: release" in publish
    assert all("secrets." not in path.read_text(encoding="utf-8") for path in WORKFLOWS)


def test_the_test_command_of_wheels_names_what_is_there() -> None:
    commands = PROJECT["tool"]["cibuildwheel"]["test-command"]
    named = re.findall(r"\{project\}/([\w./-]+)", " ".join(commands))
    assert "minuend demo" in commands
    assert "tools/package.py" in named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.skipif(importlib.util.find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed")
def test_the_workflows_are_what_their_schema_says() -> None:
    command = ["check_jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_configuration_is_what_cibuildwheel_s_schema_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    folder = Path(pytest.importorskip("cibuildwheel").__file__).parent
    schema = json.loads((folder / "resources/cibuildwheel.schema.json").read_text(encoding="utf-8"))
    settings = PROJECT["tool"]["cibuildwheel"]
    jsonschema.validate(settings, schema)
    with pytest.raises(jsonschema.ValidationError, match="test-comand"):
        jsonschema.validate({**settings, "test-comand": ""}, schema)


@pytest.mark.skipif(importlib.util.find_spec("cibuildwheel") is None, reason="cibuildwheel is not installed")
@pytest.mark.parametrize(
    ("platform", "arch", "tags"),
    [
        ("linux", "x86_64", ("manylinux_x86_64", "musllinux_x86_64")),
        ("linux", "aarch64", ("manylinux_aarch64", "musllinux_aarch64")),
        ("macos", "", ("macosx_arm64",)),
        ("windows", "AMD64", ("win_amd64",)),
    ],
)
def test_cibuildwheel_reads_which_wheels_are_meant(platform: str, arch: str, tags: tuple[str, ...]) -> None:
    command = ["cibuildwheel", "--print-build-identifiers", "--platform", platform]
    command += ["--archs", arch] if arch else []
    done = subprocess.run(
        [sys.executable, "-m", *command, ROOT], capture_output=True, text=True, check=True, timeout=60
    )
    pythons = ("cp311", "cp312", "cp313", "cp314", "cp314t")
    assert sorted(done.stdout.split()) == sorted(f"{python}-{tag}" for python in pythons for tag in tags)
