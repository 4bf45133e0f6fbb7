"""What attributes say of scaled numbers, by the CF conventions: ``scale_factor`` × what is stored + ``add_offset``."""

from __future__ import annotations

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.formats.coordinates import Attributes
from minuend.files.formats.missing import flat

SCALE, OFFSET = "scale_factor", "add_offset"
"""Of a difference the second would be wrong: offsets cancel."""


def scale_and_offset(attributes: Attributes, where: str) -> tuple[float, float]:
    """Return both; 1 and 0 where there are none.

    Raises:
        FileFormatError: one is no number.
    """
    return _number(attributes, SCALE, 1.0, where), _number(attributes, OFFSET, 0.0, where)


def _number(attributes: Attributes, key: str, default: float, where: str) -> float:
    value = attributes.get(key, default)
    values = flat(value)
    if len(values) != 1 or not isinstance(values[0], np.integer | np.floating):
        raise FileFormatError(f"{where} states the {key} {value!r}; expected a number")
    return float(values[0])
