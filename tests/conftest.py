"""What several test modules stand on, and the skipping of tests whose packages are not installed."""

from __future__ import annotations

import functools
import importlib.util
import re
import tomllib
from pathlib import Path

import hypothesis
import pytest
from signal_stack import preserved

from minuend import _native

hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)  # other processes on the machine make no example wrong
hypothesis.settings.load_profile("untimed")

NEEDS = re.compile(r"needs (?:the|a) package '?([A-Za-z0-9_]+)")
"""How this package's errors name a package that is missing."""


@pytest.fixture(params=_native.instruction_sets())
def isa(request):
    """Each instruction set in turn."""
    before = _native.get_instruction_set()
    _native.set_instruction_set(request.param)
    yield request.param
    _native.set_instruction_set(before)


@pytest.fixture(autouse=True, scope="session")
def nobodys_targets(tmp_path_factory):
    """Whoever runs the tests may have measured files of their own, which stand before the shipped ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINUEND_TARGETS", str(tmp_path_factory.getbasetemp() / "no targets"))
        for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):  # of the terminal that the tests run in
            patch.delenv(name, raising=False)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """A stack for signals that a library sets during a test does not outlive it: see ``signal_stack``."""
    with preserved():
        return (yield)


# ---- missing packages -----------------------------------------------------------------------------------------


@functools.cache
def optional_packages() -> frozenset[str]:
    """The modules of the packages that pyproject.toml names in extras and groups."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    extras = [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    names = (re.match(r"[A-Za-z0-9_-]+", requirement) for extra in extras for requirement in extra)
    return frozenset(name[0].replace("-", "_").lower() for name in names if name) - {"minuend"}


def missing_package(error: BaseException | None) -> str:
    """Return the optional package for whose absence an error was raised, or nothing."""
    name = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        name = error.name.partition(".")[0]
    elif error is not None and (found := NEEDS.search(str(error))):
        name = found[1]
    return name if name in optional_packages() and importlib.util.find_spec(name) is None else ""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A module that imports a package that is not installed is skipped, with the package's name."""
    report = yield
    error = getattr(getattr(collector, "_minuend_error", None), "value", None)
    if report.failed and (name := missing_package(error)):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 1, f"Skipped: {name} is not installed")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path, parent):
    """Keep what a module's import raised: pytest makes a text of it."""
    module = yield
    load = module._getobj

    def getobj():
        try:
            return load()
        except module.CollectError as error:
            module._minuend_error = pytest.ExceptionInfo.from_exception(error.__cause__ or error)
            raise

    module._getobj = getobj
    return module


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails for a package that is not installed is skipped, with the package's name."""
    report = yield
    if report.failed and (name := missing_package(call.excinfo and call.excinfo.value)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], f"Skipped: {name} is not installed")
    return report
