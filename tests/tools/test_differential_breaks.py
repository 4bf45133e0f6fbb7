"""Each surface reports what is broken on purpose: one that does not compares nothing."""

from __future__ import annotations

import pytest
from differential import breaks, driver
from differential.surface import from_json

SURFACES = driver.surfaces()


@pytest.mark.parametrize("name", SURFACES)
def test_what_is_broken_is_reported(name: str) -> None:
    surface = SURFACES[name]
    for package in surface.missing():
        pytest.skip(f"could not import {package!r}")
    own = [one for one in breaks.BREAKS if one.surface == name]
    assert own
    for one in own:
        case = from_json(surface.kind, one.case)
        assert driver.trial(surface, case)[1] == "", one.what
        with one.broken():
            found = driver.trial(surface, case)
        assert found[0] == "different", f"{one.what}: {found}"
