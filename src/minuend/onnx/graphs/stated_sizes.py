"""Sizes that a model states of its values, beside those that inference finds without them.

ONNX does not demand that ``value_info`` agrees with what nodes compute, and onnxruntime does not insist on it. Others
do: adapters say which kinds (``STRICT``). A name such as ``unk__3``, which ONNX's own inference writes, says nothing.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from minuend.onnx.documents.document import Document
from minuend.onnx.graphs.inference import Inference, infer_types
from minuend.onnx.graphs.nesting import bodies, within
from minuend.onnx.graphs.scope import INVENTED, shape_of

OTHER_SIZES = "value_info of other sizes"
"""It states a rank or a number, and inference finds another."""
OTHER_NAMES = "value_info of other names"
"""It states a name, and inference finds a number or another name; or the other way round."""
NOT_FOUND = "value_info that inference does not find"
"""It states a size, and inference finds none."""
OUTPUT_SIZES = "output of other sizes"
"""A result of the graph has another rank or size than the one stated."""
FIXED = "open size stated as a number"
"""A number is stated of a value, of ``value_info`` or a result, that an input's open dim is the size of."""

Size = int | str | None
"""Of a dim: a number, a name or an expression of names, or nothing."""

IN_VALUE_INFO = frozenset((OTHER_SIZES, OTHER_NAMES, NOT_FOUND))
"""What is not so of a model without ``value_info``."""


def kinds_of_sizes(model: Document, *, contradicted: bool = True) -> frozenset[str]:
    """Return the kinds of the sizes that a model states.

    Args:
        model: the model. contradicted: whether strict inference may have refused it as it is.

    >>> from onnx.parser import parse_model
    >>> text = "g (float[2] a) => (float[2] c) <float[N] b> { b = Neg(a) c = Neg(b) }"
    >>> sorted(kinds_of_sizes(Document(parse_model(f'<ir_version: 10, opset_import: ["" : 14]> {text}'))))
    ['value_info of other names']
    """
    graph = model.proto.graph
    if not (any(_sizes(one.type) for one in _value_info(graph)) or _states_results(graph, contradicted)):
        return frozenset()
    names = sorted({dim for one in graph.input for dim in _sizes(one.type) or () if isinstance(dim, str)})
    pairs = _pairs(graph, "graph", infer_types(model, believed=False))
    kinds = {kind for between, stated, inferred in pairs for kind in _of_dim(stated, inferred, names, between)}
    if NOT_FOUND in kinds and all(_agree_in_numbers(model, names, chosen) for chosen in _CHOSEN):
        kinds.remove(NOT_FOUND)
    return frozenset(kinds)


def _states_results(graph: GraphProto, contradicted: bool) -> bool:
    """Whether the sizes that are stated of results may be wrong, or are numbers where those of inputs are open."""
    sizes = [size for one in graph.output for size in _sizes(one.type) or ()]
    opened = any(isinstance(size, str) for one in graph.input for size in _sizes(one.type) or ())
    return any(isinstance(size, int) for size in sizes) and (contradicted or opened)


def leave_out(model: ModelProto) -> int:
    """Leave out ``value_info``, in place; return of how many values.

    Inference finds the types again, except behind operators that ONNX does not know.
    """
    count = sum(1 for _ in _value_info(model.graph))
    for graph in within(model.graph):
        graph.ClearField("value_info")
    return count


def _value_info(graph: GraphProto) -> Iterator[ValueInfoProto]:
    return itertools.chain.from_iterable(one.value_info for one in within(graph))


def _sizes(kind: TypeProto | None) -> list[Size] | None:
    """A shape, in which a dim that ONNX's inference named has no name."""
    dims = [str(dim) if isinstance(dim, tuple) else dim for dim in shape_of(kind) or ()]
    return None if shape_of(kind) is None else [None if str(dim).startswith(INVENTED) else dim for dim in dims]


def _pairs(graph: GraphProto, where: str, found: Inference) -> Iterator[tuple[bool, Size, Size]]:
    """Yield each dim of a graph and its bodies as it is stated and as inference knows it, of values in between or not.

    ``-1`` and another number stand for ranks that differ.
    """
    types = found.types[where]
    given = {one.name for one in graph.input}
    between = [one for one in graph.value_info if one.name not in given]
    for one in (*between, *(graph.output if where == "graph" else ())):
        stated, inferred = _sizes(one.type), _sizes(types.get(one.name))
        if stated is not None and inferred is not None and len(stated) != len(inferred):
            yield one in between, -1, len(inferred)
        for i, dim in enumerate(stated or ()):
            yield one in between, dim, inferred[i] if inferred and i < len(inferred) else None
    for body, place in bodies(graph.node, where):
        yield from _pairs(body, place, found)


def _of_dim(stated: Size, inferred: Size, names: Collection[str], between: bool) -> tuple[str, ...]:
    """Return the kinds of a dim; the names are those of the dims of the model's inputs."""
    if stated is None or stated == inferred:
        return ()
    if isinstance(stated, int) and isinstance(inferred, int):
        return (OTHER_SIZES if between else OUTPUT_SIZES,)
    if inferred is None or (isinstance(inferred, str) and inferred not in names):
        return (NOT_FOUND,) if between else ()
    return (OTHER_NAMES,) * between + (FIXED,) * isinstance(stated, int)


# ---- sizes that inference finds where those of inputs are numbers -----------------------------------------------

_CHOSEN = (lambda i: 160 + 80 * i, lambda i: 97 + 2 * i)
"""Sizes that can be divided, and odd ones."""


def _agree_in_numbers(model: Document, names: Sequence[str], chosen: Callable[[int], int]) -> bool:
    """Whether the sizes of values in between are those that inference finds where each input's dim has a size."""
    sizes = {name: chosen(i) for i, name in enumerate(names)}
    graph = model.proto.graph
    inputs = {one.name: _with_sizes(one.type, sizes) for one in graph.input}
    pairs = _pairs(graph, "graph", infer_types(model, inputs, believed=False))
    return all(inferred == _number(stated, sizes) for between, stated, inferred in pairs if between and stated)


def _with_sizes(kind: TypeProto, sizes: Mapping[str, int]) -> TypeProto:
    """Return a type whose named dims have sizes."""
    sized = TypeProto()
    sized.CopyFrom(kind)
    for dim in sized.tensor_type.shape.dim if sized.HasField("tensor_type") else ():
        if dim.dim_param in sizes:
            dim.dim_value = sizes[dim.dim_param]
    return sized


def _number(dim: Size, sizes: Mapping[str, int]) -> int | None:
    """Return the number that a stated dim is, which may be an expression; ``None`` where it is not known.

    >>> _number("(2*batch + 1)//3", {"batch": 4}), _number("floor(batch/2)", {"batch": 4})
    (3, None)
    """
    if dim is None or isinstance(dim, int):
        return dim
    try:
        return _evaluated(ast.parse(dim, mode="eval").body, sizes)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ZeroDivisionError):
        return None


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip


def _evaluated(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name) if name in sizes:
            return sizes[name]
        case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
            return _OPERATORS[type(kind)](_evaluated(left, sizes), _evaluated(right, sizes))
    raise ValueError(f"no known size: {ast.unparse(node)}")
