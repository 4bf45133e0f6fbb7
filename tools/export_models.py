"""Export the modules of ``tools/corpus`` to ``tests/data/models``, by both of PyTorch's exporters, at opsets 13 to 20.

    python tools/export_models.py [MODULE …]

needs torch, onnx, onnxscript and onnxruntime. Weights are random, from a seed that the module's name gives; the same
versions of the packages give the same bytes. What an exporter writes about the machine that it ran on (stack traces
with paths) is taken out. Every file is run by onnxruntime, at two settings of its dynamic dims, and must agree with
PyTorch. With names, those modules alone are exported again and the rest of the index is kept.

``tests/data/models/index.json`` says what each file is: module, family, exporter, opset, torch's version, inputs with
dtypes, shapes and ranges, the sizes of dynamic dims in the tests, and how many Sub nodes the file has.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from corpus import CASES, SIZES, Case, Input
from google.protobuf.message import Message
from torch import Tensor, nn

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "models"
EXPORTERS = ("torchscript", "dynamo")


def module(case: Case) -> nn.Module:
    """Make a case's module, with the same weights every time, ready for inference."""
    torch.manual_seed(zlib.crc32(case.name.encode()))
    return case.module().eval().requires_grad_(False)


def example(spec: Input, at: int = 0) -> Tensor:
    """Make a tensor for an input, with the sizes that dims have while exporting (``at`` 0) or in the tests (1)."""
    shape = [SIZES[dim][at] if isinstance(dim, str) else dim for dim in spec.shape]
    dtype = getattr(torch, spec.dtype)
    if spec.values is not None:
        return torch.tensor(spec.values, dtype=dtype).reshape(shape)
    if dtype == torch.bool:
        return torch.ones(shape, dtype=dtype)
    if not dtype.is_floating_point:
        return torch.randint(int(spec.low or 0), int(spec.high or 2), shape, dtype=dtype)
    if spec.low is None or spec.high is None:
        return torch.randn(shape, dtype=dtype)
    return torch.rand(shape, dtype=dtype) * (spec.high - spec.low) + spec.low


def export(case: Case, exporter: str, opset: int) -> onnx.ModelProto:
    """Export one case; the TorchScript exporter writes 7 to 20, the dynamo exporter itself 18 and up."""
    target = module(case)
    args = tuple(example(spec) for spec in case.inputs)
    names = [spec.name for spec in case.inputs]
    dynamic = {s.name: {i: d for i, d in enumerate(s.shape) if isinstance(d, str)} for s in case.inputs}
    if exporter == "torchscript":
        scripted = torch.jit.script(target) if case.scripted else target
        buffer = io.BytesIO()
        axes = {name: dims for name, dims in dynamic.items() if dims}
        torch.onnx.export(
            scripted, args, buffer, dynamo=False, input_names=names, dynamic_axes=axes, opset_version=opset
        )
        return onnx.load_from_string(buffer.getvalue())
    dims = {name: torch.export.Dim(name, min=2) for name in SIZES}
    shapes = tuple({i: dims[name] for i, name in dynamic[spec.name].items()} for spec in case.inputs)
    program = torch.onnx.export(
        target, args, dynamo=True, input_names=names, dynamic_shapes=shapes, opset_version=opset, external_data=False,
        verbose=False,
    )  # fmt: skip
    return program.model_proto


def clean(message: Message) -> None:
    """Take out what tells of the exporting machine and of nothing else: metadata and comments of the exporter."""
    for name in ("metadata_props", "doc_string"):
        if name in message.DESCRIPTOR.fields_by_name:
            message.ClearField(name)
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                clean(item)


def verify(case: Case, model: onnx.ModelProto) -> None:
    """Compare the file with the module, on the example's sizes and on others."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for at in (0, 1):
        args = tuple(example(spec, at) for spec in case.inputs)
        found = session.run(None, {s.name: x.numpy() for s, x in zip(case.inputs, args, strict=True)})
        wanted = module(case)(*args)
        tolerance = 1e-2 if any(s.dtype == "float16" for s in case.inputs) else 1e-3
        for got, want in zip(found, [wanted] if isinstance(wanted, Tensor) else wanted, strict=True):
            if got.dtype != want.numpy().dtype or got.shape != tuple(want.shape):
                raise RuntimeError(
                    f"{case.name}: PyTorch gives {want.dtype} {want.shape}, onnxruntime {got.dtype} {got.shape}"
                )
            np.testing.assert_allclose(got, want.numpy(), rtol=tolerance, atol=tolerance, err_msg=case.name)


def nodes(graph: Any) -> Iterator[onnx.NodeProto]:
    """Every node of a graph or function, those in bodies included."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from nodes(body)


def entry(case: Case, exporter: str, opset: int, model: onnx.ModelProto) -> dict[str, Any]:
    """What the index says about a file."""
    written = {item.domain: item.version for item in model.opset_import}
    if written[""] != opset:
        raise RuntimeError(f"{case.name}: {exporter} was asked for opset {opset} and wrote {written['']}")
    used = {dim for spec in case.inputs for dim in spec.shape if isinstance(dim, str)}
    graphs = [model.graph, *model.functions]
    return {
        "module": case.name,
        "family": case.family,
        "exporter": exporter,
        "opset": opset,
        "torch": torch.__version__,
        "inputs": [{k: v for k, v in asdict(spec).items() if v is not None} for spec in case.inputs],
        "sizes": {dim: SIZES[dim][1] for dim in sorted(used)},
        "subs": sum(node.op_type == "Sub" for graph in graphs for node in nodes(graph)),
    }


def main(chosen: list[str]) -> None:
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    warnings.simplefilter("ignore")
    path = FOLDER / "index.json"
    index = json.loads(path.read_text(encoding="utf-8")) if chosen else {}
    for case in CASES.values():
        if chosen and case.name not in chosen:
            continue
        for what in case.exports:
            exporter, opset = what.split(":")
            model = export(case, exporter, int(opset))
            clean(model)
            onnx.checker.check_model(model, full_check=True)
            verify(case, model)
            file = f"{case.name}.{exporter}-{opset}.onnx"
            (FOLDER / file).write_bytes(model.SerializeToString(deterministic=True))
            index[file] = entry(case, exporter, int(opset), model)
            print(f"{file}: {(FOLDER / file).stat().st_size} bytes, {index[file]['subs']} Sub", file=sys.stderr)
    for stray in {p.name for p in FOLDER.glob("*.onnx")} - set(index):
        print(f"not in the index: {stray}", file=sys.stderr)
    path.write_text(json.dumps(index, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
