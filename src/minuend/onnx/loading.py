"""The opset of a conversion that names none: the newest that a runtime loads, where the package ``onnx`` knows more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from onnx import ModelProto, TensorProto

from minuend.onnx.graphs.nesting import holders
from minuend.onnx.graphs.scope import MAIN
from minuend.onnx.graphs.walk import all_tensors
from minuend.onnx.model import Model
from minuend.onnx.opsets.schemas import newest as newest_known
from minuend.runtimes import registry, targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapters
from minuend.runtimes.releases import parts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewestVersion:
    """What a conversion stops at.

    Attributes:
        version: the opset. ir_version: the highest IR version that is loaded; ``None`` for any.
        message: which runtime stops it there; empty where none does. runtime: its name and release.
    """

    version: int
    ir_version: int | None = None
    message: str = ""
    runtime: str = ""


def newest_version(target: str | None = None) -> NewestVersion:
    """Return the newest opset that a target loads, or that every installed runtime does.

    Raises:
        SpecError: no such target.

    >>> newest_version("onnxruntime-cpu@1.20").version, newest_version("onnxruntime-cpu@1.20").message
    (21, 'opset 21 is the newest that onnxruntime-cpu@1.20.1 loads')
    """
    found = [NewestVersion(newest_known())]
    queried = targets.find(target) if target else None
    for runtime, release in _installed() if queried is None else [(queried.runtime, queried.release)]:
        opset, ir_version = _loads(runtime, release)
        name = f"{runtime}@{release}"
        if opset is not None:
            kernels = _of_release(quirks(runtime).kernels, release)
            does = "loads" if kernels is None or kernels >= opset else "has the kernels of"
            opset = opset if kernels is None else min(opset, kernels)
            message = f"opset {opset} is the newest that {name} {does}" if opset < newest_known() else ""
            found.append(NewestVersion(min(opset, newest_known()), ir_version, message, name))
    return min(reversed(found), key=lambda one: one.version)


def _installed() -> list[tuple[str, str]]:
    releases = {name: registry.release(one) for name, one in adapters().items() if quirks(name).loaded}
    return [(name, release) for name, release in releases.items() if release is not None]


def _loads(runtime: str, release: str) -> tuple[int | None, int | None]:
    """What a release loads; one that was not queried loads what the next older one does."""
    loaded = quirks(runtime).loaded
    oldest = min(loaded, key=parts, default=release)
    return _of_release(loaded, release) or loaded.get(oldest, (None, None))


def _of_release(known: Mapping[str, T], release: str) -> T | None:
    """What is known of the newest release up to this one; ``None`` of older ones than all that are known."""
    older = [one for one in known if parts(one) <= parts(release)]
    return known[max(older, key=parts)] if older else None


def refused(model: Model, runtime: str, release: str) -> str:
    """Say why a release does not load a model: a newer opset or IR version than it knows; ``""`` where it does.

    >>> from minuend.onnx.model import read
    >>> model = read('<ir_version: 10, opset_import: ["" : 24]> g (float[2] a) => (float[2] c) { c = Sub(a, a) }')
    >>> refused(model, "onnxruntime-cpu", "1.23.2")
    'it is of opset 24, and onnxruntime-cpu@1.23.2 loads none above 23; convert it first: minuend convert --to onnx:23'
    """
    opset, ir_version = _loads(runtime, release)
    name = f"{runtime}@{release}"
    stated = max((one.version for one in model.proto.opset_import if one.domain in MAIN), default=0)
    if opset is not None and stated > opset:
        first = f"convert it first: minuend convert --to onnx:{opset}"
        return f"it is of opset {stated}, and {name} loads none above {opset}; {first}"
    if ir_version is not None and model.proto.ir_version > ir_version:
        first = f"convert it first: minuend convert --to onnx --target {name}"
        return f"it has IR version {model.proto.ir_version}, and {name} loads none above {ir_version}; {first}"
    return ""


def fit(model: Model, to: NewestVersion) -> list[str]:
    """Lower a model's IR version to the highest that is loaded, in place, where nothing in it needs the one it has.

    Returns:
        What was changed, a sentence each.
    """
    proto = model.proto
    if to.ir_version is None or proto.ir_version <= to.ir_version or _needs_its_ir_version(proto):
        return []
    before, proto.ir_version = proto.ir_version, to.ir_version
    return [f"IR version {before} became {to.ir_version}, the highest that {to.runtime} loads"]


def _needs_its_ir_version(proto: ModelProto) -> bool:
    """Whether a model has what came with later IR versions: narrow types, overloaded functions, devices."""
    types = {tensor.data_type for tensor, _ in all_tensors(proto)}
    types |= {value.type.tensor_type.elem_type for value in (*proto.graph.input, *proto.graph.output)}
    types |= {value.type.tensor_type.elem_type for holder in holders(proto) for value in holder.value_info}
    overloads = any(function.overload for function in proto.functions)
    devices = len(proto.configuration) > 0
    return overloads or devices or max(types) >= TensorProto.FLOAT8E4M3FN
