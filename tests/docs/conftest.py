"""The built site, for the tests that look at it: docs/_build, where docs/build.py puts it."""

from __future__ import annotations

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build"
LANGUAGES = ("en", "zh_TW")


@pytest.fixture(scope="session")
def site() -> Path:
    if not all((SITE / name / "index.html").exists() for name in LANGUAGES):
        pytest.skip("the site is not built; .ci/site builds it and runs these tests")
    return SITE
