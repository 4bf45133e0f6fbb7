"""Attention between its versions: what its text says of shapes, and masks of fewer columns than there are keys.

ONNX's inference looks at few of the shapes: what breaks the text showed in the nodes of the function body alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from minuend.core.shapes import Dim, may_be_equal, same
from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.inputs import given, set_inputs
from minuend.onnx.opsets.schemas import INVALID, Refusal, attribute, drop_attribute
from minuend.onnx.opsets.scope import Builder, Scope
from minuend.onnx.opsets.steps import drop_new, step

MASK, PAST_KEY, PAST_VALUE, NONPAD = 3, 4, 5, 6
QUERIES, KEYS = ("query heads", "queries"), ("key heads", "keys")
INPUTS = {
    0: ("Q", "q_num_heads", (*QUERIES, "a head size of")),
    1: ("K", "kv_num_heads", (*KEYS, "a head size of")),
    2: ("V", "kv_num_heads", (*KEYS, "")),
    PAST_KEY: ("past_key", "", ("key heads", "past keys", "a head size of")),
    PAST_VALUE: ("past_value", "", ("key heads", "past keys", "")),
}
"""Of inputs: the name, the attribute that says how many heads one of rank 3 has, and what the dims behind the batch are
of, where other inputs have the same."""
PADDED = 24
"""The first version whose mask may have fewer columns than there are keys: it is padded with -inf."""

# ---- what the text says of shapes ---------------------------------------------------------------------------------


def check(node: NodeProto, opset: int, scope: Scope) -> None:
    """Check that the inputs of an Attention belong together, as far as their shapes are known.

    Raises:
        Refusal: they do not, so that the node has no meaning.
    """
    version = schemas.version_in("Attention", opset) or 0
    wrong = chain(_halves(node), _heads(node, scope), _clashes(node, scope), _mask(node, version, scope))
    for text in wrong:
        raise Refusal(f"{INVALID}Attention-{version} {text}")


def _halves(node: NodeProto) -> Iterator[str]:
    for one, other in ((PAST_KEY, PAST_VALUE), (PAST_VALUE, PAST_KEY)):
        if given(node, one) and not given(node, other):
            yield f"has {INPUTS[one][0]} without {INPUTS[other][0]}; they are used together"


def _heads(node: NodeProto, scope: Scope) -> Iterator[str]:
    """What is wrong with the heads that a node states."""
    for index, (name, own, _) in INPUTS.items():
        shape, heads = scope.shape(given(node, index)), _stated(node, own)
        if shape is None or not own or schemas.refers(node):
            continue
        if heads is None:
            if len(shape) == 3:
                yield "needs q_num_heads and kv_num_heads for Q, K and V of rank 3"
            continue
        if len(shape) == 4 and not may_be_equal(shape[1], heads):
            yield f"has {own}={heads} and {shape[1]} heads in {name}"
        whole = shape[2] if len(shape) == 3 else None
        if isinstance(whole, int) and (heads < 1 or whole % heads):
            yield f"has {whole} elements for {heads} heads in {name}"


def _stated(node: NodeProto, name: str) -> int | None:
    """How many heads a node states by an attribute; ``None`` where it is silent, or a function's attribute says it."""
    return None if not name or schemas.refers(node) else attribute(node, name)


def _dims(node: NodeProto, index: int, scope: Scope) -> tuple[Dim, ...] | None:
    """The four dims of an input, which may be of rank 3; ``None`` where they are unknown."""
    shape, heads = scope.shape(given(node, index)), _stated(node, INPUTS[index][1])
    if shape is None or len(shape) not in (3, 4):
        return None
    if len(shape) == 4:
        return shape
    whole = shape[2]
    return (shape[0], heads, shape[1], whole // heads if isinstance(whole, int) and heads else None)


def _known(node: NodeProto, scope: Scope) -> Iterator[tuple[str, int, str]]:
    """What is known: of what, how many there are, and in which input."""
    for index, (name, _, parts) in INPUTS.items():
        for what, dim in zip(parts, (_dims(node, index, scope) or ())[1:], strict=False):
            if what and isinstance(dim, int):
                yield what, dim, name


def _clashes(node: NodeProto, scope: Scope) -> Iterator[str]:
    """What two inputs have different numbers of."""
    seen: dict[str, tuple[int, str]] = {}
    for what, dim, name in _known(node, scope):
        had, where = seen.setdefault(what, (dim, name))
        if had != dim:
            yield f"has {f'{what} {had}' if what.endswith(' of') else f'{had} {what}'} in {where} and {dim} in {name}"
    queries, keys = (seen.get(f"{one} heads", (0, ""))[0] for one in ("query", "key"))
    if queries and keys and queries % keys:
        yield f"has {queries} query heads, which {keys} key heads do not divide"


def _mask(node: NodeProto, version: int, scope: Scope) -> Iterator[str]:
    """Where the mask does not broadcast to a row for each query and a column for each key."""
    mask, total = scope.shape(given(node, MASK)), _total(node, scope)
    columns = mask[-1] if mask else None
    sizes = [size for size in (columns, total) if isinstance(size, int)]
    if len(sizes) == 2 and sizes[0] not in (1, sizes[1]) and (version < PADDED or sizes[0] > sizes[1]):
        yield "has a mask of {} columns, and there are {} keys".format(*sizes)
    wanted = {what: dim for what, dim, _ in _known(node, scope)}
    for size, part, what in zip((mask or ())[-2::-1], ("rows", "heads"), QUERIES[::-1], strict=False):
        if isinstance(size, int) and size not in (1, wanted.get(what, size)):
            yield f"has a mask of {size} {part}, and there are {wanted[what]} {what}"


def _total(node: NodeProto, scope: Scope) -> Dim:
    """How many keys there are, those of the past too; a name where there is no past."""
    keys, past = ((_dims(node, index, scope) or (None,) * 4)[2] for index in (1, PAST_KEY))
    if not given(node, PAST_KEY):
        return keys
    return keys + past if isinstance(keys, int) and isinstance(past, int) else None


# ---- steps --------------------------------------------------------------------------------------------------------


def _has_all_columns(node: NodeProto, scope: Scope) -> bool:
    """Whether the mask is known to have a column for every key, if there is one."""
    mask = scope.shape(given(node, MASK))
    return not given(node, MASK) or bool(mask and same(mask[-1], _total(node, scope)))


def _count(node: NodeProto, new: Builder) -> str:
    """The number of keys when the model runs, as a list of one."""
    total = _total(node, new.scope)
    if isinstance(total, int):
        return new.constant("keys", [total])
    keys = new.add("Shape", [node.input[1]], "keys", start=-2, end=-1)
    if not given(node, PAST_KEY):
        return keys
    return new.add("Add", [keys, new.add("Shape", [node.input[PAST_KEY]], "past", start=-2, end=-1)], "all_keys")


def _set_mask(node: NodeProto, name: str) -> None:
    names = list(node.input)
    names[MASK] = name
    set_inputs(node, names)


@step("Attention", at=(23, 24))
def one_column_repeated(node: NodeProto, new: Builder) -> None:
    """Version 23 broadcasts a mask of one column, which version 24 pads."""
    check(node, 23, new.scope)
    columns = (new.scope.shape(given(node, MASK)) or (None,))[-1]
    if not _has_all_columns(node, new.scope) and may_be_equal(columns, 1):
        _set_mask(node, new.add("Expand", [node.input[MASK], _count(node, new)], "mask"))


@step("Attention", at=(24, 23))
def padded_mask(node: NodeProto, new: Builder) -> None:
    """Version 23 takes no mask of fewer columns than there are keys."""
    check(node, 24, new.scope)
    drop_new(node, 24, 23)
    if _has_all_columns(node, new.scope):
        return
    mask = node.input[MASK]
    element = new.scope.element(mask)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(element) if element else np.dtype(np.int64)
    if element != TensorProto.BOOL and dtype.kind in "iu":
        raise Refusal("Attention-23 takes no mask of fewer columns than there are keys")
    fill = new.constant("excluded", False if element == TensorProto.BOOL else -np.inf, dtype)
    missing = new.add("Sub", [_count(node, new), new.add("Shape", [mask], "columns", start=-1)], "missing")
    pads = new.add("Concat", [new.constant("none", [0]), missing], "pads", axis=0)
    _set_mask(node, new.add("Pad", [mask, pads, fill, new.constant("axis", [-1])], "mask"))


@step("Attention", at=(24, 25))
def cache_by_version_25(node: NodeProto, new: Builder) -> None:
    """Version 25 excludes what the text of version 24 advises against, and wants both outputs or none."""
    check(node, 24, new.scope)
    for i, name in enumerate(node.output[1:3], 1):
        if given(node, NONPAD) and name in new.scope.unread:
            node.output[i] = ""
    stated = [bool(name) for name in (*node.output[1:3], "", "")[:2]]
    if given(node, NONPAD) and any(stated):
        raise Refusal("Attention-25 takes no nonpad_kv_seqlen where present_key or present_value is an output")
    without_heads(node, new.scope)
    if any(stated) and not all(stated):
        _request(node, stated.index(False) + 1, new)


def _request(node: NodeProto, index: int, new: Builder) -> None:
    """Give an output a name; it has the element type of the input of its number: present keys that of K."""
    name = new.fresh(("present_key", "present_value")[index - 1])
    if element := new.scope.element(node.input[index]):
        new.scope.types[name] = onnx.helper.make_tensor_type_proto(element, None)
    names = [*node.output, ""]
    names[index] = name
    del node.output[:]
    node.output.extend(names if names[-1] else names[:-1])


@step("Attention", at=(25, 24))
def cache_by_version_24(node: NodeProto, new: Builder) -> None:
    check(node, 25, new.scope)
    drop_new(node, 25, 24)


def without_heads(node: NodeProto, scope: Scope) -> None:
    """Drop the numbers of heads where the inputs are of rank 4, and say it themselves."""
    if scope.rank(node.input[0]) == 4:
        drop_attribute(node, "q_num_heads", "kv_num_heads")
