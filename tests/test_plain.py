"""Reports as JSON."""

from __future__ import annotations

import json

from minuend import plain


def test_json_has_no_numbers_that_json_lacks() -> None:
    assert json.loads(plain.as_json({"a": [float("nan"), float("-inf"), 1.5], "b": (1, None)})) == {
        "a": ["nan", "-inf", 1.5],
        "b": [1, None],
    }
