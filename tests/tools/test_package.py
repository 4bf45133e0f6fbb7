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
    "minuend/locale/zh_TW/LC_MESSAGES/minuend.mo",
    "minuend-1.dist-info/licenses/LICENSE",
    "minuend-1.dist-info/METADATA",
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
            made.writestr(name, stated() if name.endswith("METADATA") else "")
    return path


def sdist(folder: Path, names: list[str]) -> Path:
    path = folder / "minuend-1.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        for name in names:
            data = stated().encode() if name == "PKG-INFO" else b""
            member = tarfile.TarInfo(f"minuend-1/{name}")
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
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


# ---- metadata ---------------------------------------------------------------------------------------------------


def stated(**changes: str) -> str:
    """The metadata that a file of this project has, with some fields changed; "" leaves a field out."""
    project = PROJECT["project"]
    fields = {
        "Name": "minuend",
        "Version": mn.__version__,
        "Summary": project["description"],
        "License-Expression": project["license"],
        "License-File": "LICENSE",
        "Requires-Python": project["requires-python"],
        "Description-Content-Type": "text/markdown",
    } | {name.replace("_", "-"): value for name, value in changes.items() if name != "description"}
    lines = [f"{name}: {value}" for name, value in fields.items() if value]
    lines += [f"Classifier: {one}" for one in project["classifiers"]]
    lines += [f"Project-URL: {name}, {url}" for name, url in project["urls"].items()]
    return "\n".join(["Metadata-Version: 2.4", *lines, "", changes.get("description", "# minuend × −0\n")])


def wheel_that_states(folder: Path, text: str) -> Path:
    path = wheel(folder, [name for name in WHEEL if not name.endswith("METADATA")])
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("minuend-1.dist-info/METADATA", text)
    return path


def test_metadata_as_the_project_has_it_has_no_fault(tmp_path: Path) -> None:
    assert list(package.faults_of(wheel_that_states(tmp_path, stated()))) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"Version": "9.9.9"}, f"its metadata says version 9.9.9; expected {mn.__version__}"),
        ({"License_File": ""}, "its metadata says License-File None; expected LICENSE"),
        ({"Project_URL": "Home, https://example.org"}, "its metadata does not name the addresses of project.urls"),
        ({"Classifier": "Typing :: Stubs Only"}, "its metadata does not name the classifiers of pyproject.toml"),
        (
            {"description": "See [files](docs/files.md), [top](#top) and [home](https://example.org).\n"},
            "its description links to docs/files.md, which an index does not have; tools/package.py readme",
        ),
    ],
)
def test_wrong_metadata_is_named(tmp_path: Path, changes: dict[str, str], fault: str) -> None:
    assert list(package.faults_of(wheel_that_states(tmp_path, stated(**changes)))) == [fault]


def test_the_readme_of_an_index_links_to_the_tag(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    shutil.copy(ROOT / "README.md", page)
    package.lead_to_repository(page)
    text, home = page.read_text(encoding="utf-8"), PROJECT["project"]["urls"]["Repository"]
    assert package.LINK.search(text) is None
    assert f"]({home}/blob/v{mn.__version__}/docs/install.md)" in text
    assert re.search(rf"!\[[^]]+\]\({home}/raw/v{re.escape(mn.__version__)}/docs/benchmarks.png\)", text)


# ---- versions ---------------------------------------------------------------------------------------------------


def test_the_version_is_one() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    place = PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"]
    assert ROOT / place == ROOT / release.PACKAGE
    assert release.version_of() == mn.__version__
    assert list(release.faults(environment={})) == []


def test_the_pages_name_the_action_and_the_hook_by_a_tag() -> None:
    """Both refer to one version, which is that of the package until one is released."""
    named = {
        path.relative_to(ROOT).as_posix(): [found["tag"] for found in release.NAMED.finditer(path.read_text("utf-8"))]
        for path in release.pages()
    }
    assert named["docs/gate.md"] == [f"v{release.newest_release()}"] * 2
    assert {"README.md", "action.yml", ".pre-commit-hooks.yaml", "docs/gate.md"} <= named.keys()


def test_releasing_takes_five_lines() -> None:
    _, _, *steps = (ROOT / "docs/releasing.md").read_text(encoding="utf-8").splitlines()
    assert [line[:3] for line in steps] == [f"{k}. " for k in range(1, 6)]


def test_the_pythons_that_are_named_are_among_those_that_wheels_are_built_for() -> None:
    prefix = "Programming Language :: Python :: 3."
    named = [f"3.{one.removeprefix(prefix)}" for one in PROJECT["project"]["classifiers"] if one.startswith(prefix)]
    built = re.findall(r"cp3(\d+)-\*", " ".join(PROJECT["tool"]["cibuildwheel"]["build"]))
    assert named == [f"3.{minor}" for minor in built][: len(named)]  # those on which tests ran: docs/builds.md
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


PAGE = """- uses: minuend/minuend@v1.2.3
repos:
  - repo: https://github.com/minuend/minuend
    rev: v1.2.3
pip install "minuend[onnx]==1.2.3" "minuend @ git+https://github.com/minuend/minuend@v1.2.3"
"""


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A project whose version 1.2.3 can be released."""
    files = {
        "src/minuend/__init__.py": '"""It."""\n\n__version__ = "1.2.3"\n',
        "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-11-22)\n\n- More.\n\n## 1.2.2 (2026-11-01)\n\n- Some.\n",
        "docs/page.md": PAGE,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/a.npy").write_bytes(b"\x93NUMPY minuend/minuend@main")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def rewrite(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_release_that_is_ready_has_no_fault(released: Path) -> None:
    home = PROJECT["project"]["urls"]["Repository"]
    server, _, owned = home.removeprefix("https://").partition("/")
    here = {"GITHUB_SERVER_URL": f"https://{server}", "GITHUB_REPOSITORY": owned}
    assert list(release.faults("v1.2.3", released, {})) == []
    assert list(release.faults("v1.2.3", released, here)) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "faults"),
    [
        ("src/minuend/__init__.py", "1.2.3", "1.2.4",
         ["CHANGELOG.md begins with 1.2.3, and src/minuend/__init__.py says 1.2.4",
          "the tag is v1.2.3, and src/minuend/__init__.py says 1.2.4; expected the tag v1.2.4"]),
        ("src/minuend/__init__.py", "1.2.3", "1.2.3.dev0",
         ["src/minuend/__init__.py says 1.2.3.dev0; expected three numbers, as 0.1.0",
          "CHANGELOG.md begins with 1.2.3, and src/minuend/__init__.py says 1.2.3.dev0",
          "the tag is v1.2.3, and src/minuend/__init__.py says 1.2.3.dev0; expected the tag v1.2.3.dev0"]),
        ("CHANGELOG.md", "## 1.2.3", "## Unreleased\n\n- Left behind.\n\n## 1.2.3",
         ["CHANGELOG.md has a part 'Unreleased'; expected 'VERSION (unreleased)' or 'VERSION (YEAR-MONTH-DAY)'"]),
        ("CHANGELOG.md", "- More.\n", "", ["CHANGELOG.md does not say what is new in 1.2.3"]),
        ("CHANGELOG.md", "2026-11-22", "2026-02-30", ["CHANGELOG.md dates 1.2.3 2026-02-30, which is no date"]),
        ("CHANGELOG.md", "2026-11-01", "unreleased", ["CHANGELOG.md has 1.2.2 below 1.2.3 without a date"]),
        ("docs/page.md", "@v1.2.3", "@main", ["docs/page.md:1 names main; expected v1.2.3"]),
        ("docs/page.md", "rev: v1.2.3", "rev: main", ["docs/page.md:4 names main; expected v1.2.3"]),
        ("docs/page.md", "==1.2.3", "==1.2.2", ["docs/page.md:5 names 1.2.2; expected 1.2.3"]),
    ],
)  # fmt: skip
def test_a_release_that_is_not_ready_says_why(released: Path, file: str, old: str, new: str, faults: list[str]) -> None:
    rewrite(released, file, old, new)
    assert list(release.faults("v1.2.3", released, {})) == faults


def test_an_unreleased_version_is_consistent_and_is_not_published(released: Path) -> None:
    rewrite(released, "CHANGELOG.md", "2026-11-22", "unreleased")
    for old in ("@v1.2.3", "rev: v1.2.3", "==1.2.3", "@v1.2.3"):
        rewrite(released, "docs/page.md", old, old.replace("1.2.3", "1.2.2"))
    assert list(release.faults("", released, {})) == []
    assert list(release.faults("v1.2.3", released, {})) == [
        "CHANGELOG.md says '1.2.3 (unreleased)'; `python tools/release.py --prepare` dates it"
    ]
    release.prepare("2026-11-23", released)
    assert list(release.faults("v1.2.3", released, {})) == []
    assert (released / "docs/page.md").read_text(encoding="utf-8") == PAGE
    with pytest.raises(SystemExit, match=r"^CHANGELOG.md has no part 'VERSION \(unreleased\)'; "):
        release.prepare("2026-11-23", released)


def test_the_next_version_leaves_the_pages_at_the_released_one(released: Path) -> None:
    release.begin("1.10.0", released)
    assert release.version_of(released) == "1.10.0"
    assert [part.heading for part in release.parts_of(released)][:2] == ["1.10.0 (unreleased)", "1.2.3 (2026-11-22)"]
    assert list(release.faults("", released, {})) == []
    assert "CHANGELOG.md does not say what is new in 1.10.0" in release.faults("v1.10.0", released, {})
    assert (released / "docs/page.md").read_text(encoding="utf-8") == PAGE
    with pytest.raises(SystemExit, match=r"^1.10.0 is not released yet; "):
        release.begin("1.11.0", released)


@pytest.mark.parametrize(
    ("version", "message"),
    [("1.2.3", "1.2.3 is not newer than 1.2.3"), ("2.0", "'2.0' is no version; expected three numbers, as 0.2.0")],
)
def test_a_next_version_that_is_none(released: Path, version: str, message: str) -> None:
    with pytest.raises(SystemExit, match=f"^{re.escape(message)}$"):
        release.begin(version, released)


def test_a_release_from_elsewhere_is_refused(released: Path) -> None:
    elsewhere = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "someone/fork"}
    assert list(release.faults("v1.2.3", released, elsewhere)) == [
        f"project.urls names {url}, and this is https://github.com/someone/fork"
        for url in PROJECT["project"]["urls"].values()
    ]


def test_the_command_ends_with_1_where_something_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main([]) == 0
    assert capsys.readouterr() == (f"minuend {mn.__version__}: no fault\n", "")
    assert release.main(["v9.9.9"]) == 1
    assert f"the tag is v9.9.9, and src/minuend/__init__.py says {mn.__version__}" in capsys.readouterr().err


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


def test_nothing_is_built_or_published_before_the_version_is_checked() -> None:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    jobs = yaml.load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))["jobs"]
    checks = {step["if"]: step["run"] for step in jobs["version"]["steps"] if "run" in step}
    assert checks == {
        "github.ref_type == 'tag'": 'python tools/release.py "$GITHUB_REF_NAME"',
        "github.ref_type != 'tag'": "python tools/release.py",
    }

    def waits_for(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*map(waits_for, direct))

    assert waits_for("publish") == jobs.keys() - {"publish"}
    assert all("version" in waits_for(name) for name in jobs.keys() - {"version"})


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
