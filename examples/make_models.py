"""Make the example models, the same bytes on every run.

``bgsub.onnx`` is what runs behind a fixed camera: a frame of 1080 x 1920 x 3 bytes less the background, in uint8 as
the camera gives it. Both are inputs, so the file is small.
"""

from __future__ import annotations

import sys
from pathlib import Path

from onnx import ModelProto, TensorProto, checker, helper

SHAPE = (1080, 1920, 3)


def background_subtraction() -> ModelProto:
    """Return the model: difference = frame - background."""
    frame, background, difference = (
        helper.make_tensor_value_info(name, TensorProto.UINT8, SHAPE) for name in ("frame", "background", "difference")
    )
    node = helper.make_node("Sub", ["frame", "background"], ["difference"], name="subtract_background")
    graph = helper.make_graph([node], "bgsub", [frame, background], [difference])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 14)], producer_name="minuend")
    checker.check_model(model, full_check=True)
    return model


def main(folder: Path) -> None:
    """Write the models into a folder."""
    model = background_subtraction()
    (folder / "bgsub.onnx").write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
