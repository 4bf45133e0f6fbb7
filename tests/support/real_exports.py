"""Real exports: a classifier with uint8 preprocessing, a transformer block with a mask, that classifier as a QDQ model,
quantised activations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
MODELS = Path(__file__).parents[1] / "data" / "models"
EXPORTS = ("classifier", "encoder.torchscript-13", "quantised", "quantise_back.torchscript-14")


def written(name: str, folder: Path) -> str:
    """Write an export to a folder and return its name."""
    path = folder / f"{name}.onnx"
    if name in _WRITTEN:
        _WRITTEN[name](path)
    else:
        path.write_bytes((MODELS / path.name).read_bytes())
    return path.name


def classifier(path: Path) -> None:
    """Write a classifier of uint8 pixels: the usual preprocessing before a small ResNet."""
    onnx = pytest.importorskip("onnx")
    pixels = onnx.load(MODELS / "pixel_normalisation.torchscript-13.onnx")
    net = onnx.load(MODELS / "residual_net.torchscript-13.onnx")
    pixels.ir_version = net.ir_version
    del pixels.graph.node[-1]  # a convolution of its own
    normalised = pixels.graph.node[-1].output[0]
    pixels.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info(normalised, onnx.TensorProto.FLOAT, None))
    prefixed = onnx.compose.add_prefix(net, "net/")
    merged = onnx.compose.merge_models(pixels, prefixed, [(normalised, "net/image")])
    del merged.opset_import[1:]  # it is there twice
    onnx.save(merged, path)


def quantised(path: Path) -> None:
    """Write the classifier as onnxruntime quantises it: QuantizeLinear and DequantizeLinear around its operators."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    plain = path.with_name("plain.onnx")
    classifier(plain)
    pixels = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 3)).astype(np.uint8)
    feeds = iter([{"pixels": pixels}])

    class Calibration(quantization.CalibrationDataReader):
        def get_next(self) -> dict[str, Array] | None:
            return next(feeds, None)

    quantization.quantize_static(plain, path, Calibration(), quant_format=quantization.QuantFormat.QDQ)


_WRITTEN = {"classifier": classifier, "quantised": quantised}
