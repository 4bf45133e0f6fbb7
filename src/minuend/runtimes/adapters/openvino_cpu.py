"""OpenVINO's CPU plugin. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "openvino-cpu"
PACKAGE = "openvino"
DIALECTS = ("openvino", "onnx")
FORM = "ir"
CONSTANTS = ("none", "A", "B", "both")
RULES = None

_STATE: dict[str, Any] = {}


def release() -> str | None:
    """The installed release, or ``None``."""
    from importlib import metadata

    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def _core() -> tuple[Any, Any]:
    """One core for all models; threads are of no use to small ones and cost time to start."""
    if not _STATE:
        import openvino

        if not hasattr(openvino, "Core"):  # releases before 2023.3
            import openvino.runtime as openvino
        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": "1", "NUM_STREAMS": "1"})
        _STATE.update(core=core, openvino=openvino)
    return _STATE["core"], _STATE["openvino"]


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Compile an IR or ONNX model and return what runs it."""
    core, ov = _core()
    compiled = core.compile_model(_read(core, head["form"], model, weights), "CPU")

    def run(inputs: list[Any]) -> list[Any]:
        request = compiled.create_infer_request()
        for name, _, shape, data in inputs:
            tensor = ov.Tensor(compiled.input(name).get_element_type(), ov.Shape(list(shape)))
            _fill(tensor, data)
            request.set_tensor(name, tensor)
        request.infer()
        outputs = [request.get_output_tensor(i) for i in range(len(compiled.outputs))]
        return [(o.get_element_type().get_type_name(), tuple(o.get_shape()), _bytes(o)) for o in outputs]

    return run


def _read(core: Any, form: str, model: bytes, weights: bytes) -> Any:
    """Read a model from a file, the one way that every release has."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx" if form == "onnx" else "model.xml")
        for name, data in ((path, model), (os.path.join(folder, "model.bin"), weights)):
            if data:
                with open(name, "wb") as stream:
                    stream.write(data)
        read = core.read_model(path)
        # Weights are mapped into memory: what reads them later must not find them gone.
        return read.clone()


def _memory(tensor: Any) -> Any:
    """A tensor's bytes, which NumPy may see under a dtype of its own choice (bfloat16 as float16)."""
    import numpy as np

    return tensor.data.reshape(-1).view(np.uint8)


def _fill(tensor: Any, data: bytes) -> None:
    import numpy as np

    if data:
        _memory(tensor)[:] = np.frombuffer(data, np.uint8)


def _bytes(tensor: Any) -> bytes:
    return bytes(_memory(tensor)) if tensor.get_byte_size() else b""
