"""One step: a node from one version of its operator to the next one or the one before.

Most steps change nothing but the types that an operator takes. Which ones those are is data: ``steps.json``, made
by ``tools/conversion_steps.py`` from ONNX's own schemas and converter, and from what was read by hand where these do
not decide. Every other step is registered by :mod:`~minuend.onnx.opsets.images`, :mod:`~minuend.onnx.opsets.meanings`,
:mod:`~minuend.onnx.opsets.subtraction` or :mod:`~minuend.onnx.opsets.to_inputs`; a step that is neither is refused. A
value that a step needs must be constant in the model; where it is not, the step is refused with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TypeAlias

from onnx import NodeProto

from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.schemas import Refusal
from minuend.onnx.opsets.scope import Builder

Adapter: TypeAlias = Callable[[NodeProto, Builder], None]
"""Changes the copy of a node, and adds what comes before it; the node itself comes last, unless its output is made."""

ADAPTERS: dict[tuple[str, int, int], Adapter] = {}
"""What takes a node over one step, by operator, version before and version after."""


def step(*op_types: str, at: tuple[int, int]) -> Callable[[Adapter], Adapter]:
    """Register an adapter for the step ``at`` (from, to) of some operators."""

    def register(adapter: Adapter) -> Adapter:
        for op_type in op_types:
            key = (op_type, *at)
            if key in ADAPTERS:
                raise ValueError(f"two adapters for {key}")
            ADAPTERS[key] = adapter
        return adapter

    return register


def forget(*op_types: str, at: tuple[int, int], name: str) -> None:
    """Register a step that drops an attribute which says nothing about the result."""
    step(*op_types, at=at)(lambda node, new: schemas.drop_attribute(node, name))


def limit(
    *op_types: str, at: tuple[int, int], name: str, fallback: bytes, may: Sequence[bytes] = (), lacks: bytes = b""
) -> None:
    """Register a step to a version that has some values of an attribute alone, or all but one that it lacks."""

    @step(*op_types, at=at)
    def refuse_others(node: NodeProto, new: Builder) -> None:
        value = schemas.attribute(node, name, fallback)
        if value == lacks or (may and value not in may):
            raise Refusal(f"{node.op_type}-{at[1]} has no {name}={value.decode('utf-8', 'replace')!r}")
        if name not in schemas.schema(node.op_type, at[1]).attributes:
            schemas.drop_attribute(node, name)


@cache
def same_meaning() -> dict[tuple[str, int, int], str]:
    """The steps that leave the meaning alone, by operator, older and newer version, each with its reason."""
    text = files("minuend.onnx.opsets").joinpath("steps.json").read_text("utf-8")
    return {
        (op_type, low, high): why
        for op_type, rows in json.loads(text)["same_meaning"].items()
        for low, high, why in rows
    }


def take(node: NodeProto, before: int, after: int, new: Builder) -> None:
    """Take a node over one step: what replaces it is added to ``new``.

    Args:
        node: a copy of the node, to be changed at will. before, after: two adjacent versions of its operator.

    Raises:
        Refusal: there is no way.
    """
    adapter = ADAPTERS.get((node.op_type, before, after))
    if adapter is not None:
        adapter(node, new)
    elif (node.op_type, *sorted((before, after))) not in same_meaning():
        raise Refusal(f"{node.op_type}-{before} and {node.op_type}-{after} differ, and no rule is known for the step")
    elif after > before:
        spell_defaults(node, before, after)
    else:
        drop_new(node, before, after)
        if after < 11 <= before:
            count_from_0(node, new)
    if not {name for one in new.nodes for name in one.output}.intersection(node.output):
        new.nodes.append(node)


def count_from_0(node: NodeProto, new: Builder) -> None:
    """Write out negative axes, which came with opset 11.

    Raises:
        Refusal: there is one, and the rank is unknown.
    """
    for name in ("axis", "axes"):
        if name not in schemas.schema(node.op_type, 10).attributes:
            continue  # the checker's to find
        value = schemas.attribute(node, name)
        axes = [value] if isinstance(value, int) else list(value or ())
        if not any(axis < 0 for axis in axes) or (node.op_type == "OneHot" and value == -1):  # it is the last one there
            continue
        rank = new.scope.rank(node.input[0])
        if rank is None:
            raise Refusal(f"opset 10 has no negative {name}, and the rank of {node.input[0]!r} is unknown")
        rank += len(axes) if node.op_type in ("OneHot", "Unsqueeze") else 0  # they count those of the result
        if not all(-rank <= axis < rank for axis in axes):
            raise Refusal(f"the model is invalid: {node.op_type} has {name}={value}, and there are {rank} dims")
        axes = [axis % rank for axis in axes]
        schemas.set_attribute(node, name, axes[0] if isinstance(value, int) else axes)


def spell_defaults(node: NodeProto, before: int, after: int) -> None:
    """Write out the defaults that are others in the version after."""
    old, now = schemas.schema(node.op_type, before), schemas.schema(node.op_type, after)
    for name, row in old.attributes.items():
        if not schemas.has_attribute(node, name) and name in now.attributes:
            was, will_be = schemas.default(row), schemas.default(now.attributes[name])
            if was is not None and was != will_be:
                schemas.set_attribute(node, name, was)


def drop_new(node: NodeProto, before: int, after: int, neutral: tuple[str, ...] = ()) -> None:
    """Remove what the older version lacks: attributes at their defaults and inputs that are left out.

    Args:
        neutral: attributes that say nothing here, whatever their value is.

    Raises:
        Refusal: an attribute says something else than the older version means, or an input is not there.
    """
    now, old = schemas.schema(node.op_type, before), schemas.schema(node.op_type, after)
    title = f"{node.op_type}-{after}"
    for name, row in now.attributes.items():
        if name in old.attributes or not schemas.has_attribute(node, name):
            continue
        value, plain = schemas.attribute(node, name), schemas.default(row)
        plain = [1] * len(value) if name == "dilations" else plain
        if name not in neutral and (plain is None or value != plain):
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            raise Refusal(f"{title} has no attribute {name!r}; the node states {text!r}")
        schemas.drop_attribute(node, name)
    spell_defaults(node, before, after)
    most = len(old.inputs)
    if schemas.parameter(old.inputs, most) is None:  # none is variadic
        for i, name in enumerate(node.input[most:], most):
            if name:
                raise Refusal(f"{title} has no input {i}; the node gives {name!r}")
        del node.input[most:]
