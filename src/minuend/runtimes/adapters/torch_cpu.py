"""PyTorch on the CPU. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "torch-cpu"
PACKAGE = "torch"
ALIASES = ("torch",)
DIALECTS = ("openvino",)
JOINS = False
ARRAYS = True
CONSTANTS = ("none",)
RULES = ("numpy",)
INSTEAD = (
    "export the model, torch.onnx.export(…, dynamo=True) or openvino.convert_model(…), and check that on what is to "
    "run it, onnxruntime-cpu or openvino-cpu"
)


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts tensors."""
    import torch

    torch.set_num_threads(1)

    def type_of(name: str) -> Any:
        found = getattr(torch, name, None)
        if not isinstance(found, torch.dtype):
            raise TypeError(f"PyTorch has no type {name}")
        return found

    def tensor(dtype: str, shape: list[int], data: bytes) -> Any:
        if not data:
            return torch.empty(shape, dtype=type_of(dtype))
        return torch.frombuffer(bytearray(data), dtype=type_of(dtype)).reshape(shape)

    def run(inputs: list[Any]) -> list[Any]:
        tensors = [tensor(dtype, shape, data) for _, dtype, shape, data in inputs]
        found = [(a - b).contiguous() for a, b in zip(tensors[::2], tensors[1::2], strict=True)]
        return [
            (str(t.dtype).removeprefix("torch."), tuple(t.shape), t.reshape(-1).view(torch.uint8).numpy().tobytes())
            for t in found
        ]

    return run
