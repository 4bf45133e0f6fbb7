"""OpenVINO IR whose XML was changed: what openvino refuses is refused here; what is refused here alone is listed."""

from __future__ import annotations

import math
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from differential import onnx_worker
from differential.onnx_worker import Failed
from differential.surface import Difference

SECOND = "openvino takes one of two elements or layers, and says nothing of the other"
DEFAULTS = "openvino has defaults that its documents do not state"
OWN = "these attributes are this package's: openvino does not look"
STRICT = (
    (r"there are \d+ <\w+>; expected one$", SECOND),
    (r": id \d+ is taken by '", SECOND),
    (r": (two layers|two inputs|two outputs) are called '", SECOND),
    (r": two (input|output) ports have the id \d+$", SECOND),
    (r"an edge: (from|to)-layer is \d+, and no layer has that id$", "openvino leaves the edge out"),
    (r": an edge names (input|output) port ", "openvino takes the ports in their order, or leaves the edge out"),
    (r": dim \d+ is '.*'; expected a whole number from -1 on$", "openvino reads the digits that a dim begins with"),
    (r"of <data> is '.*', whose dim \d+ is '.*'; expected sizes", "openvino reads the digits that a dim begins with"),
    (r"^attribute '\w+' is '.*'; expected true or false, ", "openvino takes any other word for false"),
    (r": attribute '\w+' is missing in <data>$", DEFAULTS),
    (r": the constant has no <data>; expected element_type, shape, offset and size$", DEFAULTS),
    (r" states bin_size '.*' and bin_sha256 '.*' of <net>; expected", OWN),
    (r" is not the \.bin that .* was written with: .*, and bin_size and bin_sha256 of <net> say ", OWN),
    (
        r"attribute 'shape' is '.*', whose dim \d+ is '[0-9]{19}.*'; expected a size, ",
        "openvino takes it for the largest",
    ),
    (r"this is no XML: ", "openvino's parser takes what XML forbids, such as bytes behind the end"),
)
"""What openvino 2026.4 reads and this package refuses: how it says so, and what openvino makes of it."""
BY_VALUES = (
    (r"do not broadcast: axis \d+ of the result has ", "shapes that are known when it runs"),
    (r"^Reshape to .*, which do not fill it, at layer ", "shapes that are known when it runs"),
    (
        r" gives shape .*, and the model's shapes promise .*; pass inputs that fit, ",
        "shapes that are known when it runs",
    ),
    (r"^element type 'boolean': Subtract takes numbers only", "openvino looks at types when it compiles"),
)
"""What openvino finds when it compiles or runs, which it is not made to do here."""
UNLIMITED = str(2**63 - 1).encode()
"""A size that openvino takes for any: what it makes of a shape is known when it runs."""
UNDEFINED = r"^Convert to \w+ meets \d+ of \d+ floats that \w+ cannot hold "
"""The result of such a cast is not defined, so this package refuses to compute it."""


def known(phase: str, why: str) -> bool:
    """Whether a refusal of what openvino reads is one of those that are stated; ``phase``: ``read`` or ``run``."""
    if phase == "read":
        return any(re.search(text, why) for text, _ in STRICT)
    return bool(re.search(UNDEFINED, why)) or any(re.search(text, why) for text, _ in BY_VALUES)


_MOST_AXES = 64
"""Of NumPy's arrays."""


def _ones(type_: Any) -> Any:
    from minuend.openvino.ir.notation import NUMERIC

    dims = [dim if isinstance(dim, int) else 2 for dim in type_.shape or ()]
    if math.prod(dims) > 1 << 16:  # refused for its shape, or for its memory
        dims = [min(dim, 2) for dim in dims]
    return np.ones(dims, NUMERIC[type_.element].memory if type_.element in NUMERIC else bool)


def _of_xml(seed: int, xml: bytes) -> bytes:
    """XML with elements, attributes or bytes changed, as the tests of readers change them."""
    support = str(Path(__file__).parents[2] / "tests" / "support")
    if support not in sys.path:
        sys.path.append(support)
    from mutated_documents import harmed_xml  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return bytes(harmed_xml(random.Random(seed), xml))


def harmed(seed: int, xml: bytes, weights: bytes) -> str:
    """Change the XML of an IR, and compare who refuses it."""
    from minuend.errors import MinuendError
    from minuend.openvino.model import read

    changed = _of_xml(seed, xml)
    try:
        onnx_worker.openvino(changed, weights, None)
        theirs = ""
    except Failed as error:
        theirs = str(error)
    phase, ours = "read", ""
    try:
        model = read(changed, weights)
        if any(len(type_.shape or ()) > _MOST_AXES for type_ in model.inputs.values()):
            return "harmed: read, and not run: an input has more axes than NumPy's arrays"
        phase = "run"
        model.run({name: _ones(type_) for name, type_ in model.inputs.items()}, max_bytes=1 << 24)
    except (MinuendError, OSError) as error:
        ours = str(error)
    if theirs and not ours:
        raise Difference(f"read and run, and openvino refuses it: {theirs[:300]}")
    any_size = UNLIMITED in changed and any(re.search(text, ours) for text, _ in BY_VALUES)
    if ours and not theirs and not any_size and not known(phase, ours):
        raise Difference(f"refused here alone, for a reason that is not stated ({phase}): {ours}")
    return f"harmed: {'both refuse' if theirs else 'refused here alone, as stated' if ours else 'both read'}"
