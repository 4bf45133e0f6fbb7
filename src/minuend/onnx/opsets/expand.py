"""A node as the nodes of its operator's function body: ONNX's own, and one that ONNX lacks (Trilu)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import ml_dtypes
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto

from minuend.onnx.graphs.nesting import fill_in, graphs
from minuend.onnx.graphs.scope import MAIN
from minuend.onnx.opsets import attention, schemas
from minuend.onnx.opsets.inputs import given
from minuend.onnx.opsets.schemas import Refusal
from minuend.onnx.opsets.scope import Scope

WHOLE = frozenset(onnx.TensorProto.DataType.Value(f"{kind}{bits}") for kind in ("INT", "UINT") for bits in (32, 64))
"""The integers that are squared and summed."""
WIDER = dict.fromkeys(WHOLE, onnx.TensorProto.DOUBLE) | {
    onnx.TensorProto.FLOAT16: onnx.TensorProto.FLOAT,
    onnx.TensorProto.BFLOAT16: onnx.TensorProto.FLOAT,
}
"""The type that holds the squares and sums of numbers of another."""
FLOATS = frozenset(getattr(onnx.TensorProto, name) for name in ("FLOAT", "FLOAT16", "DOUBLE", "BFLOAT16"))
"""The types that have infinities, which a Clip without bounds replaces by the lowest and the largest number."""
MASKED = 2
"""The mode of Attention whose fourth output has the mask in it, before the softmax."""
NORMALIZING = frozenset({"GroupNormalization", "MeanVarianceNormalization"})
"""Operators in whose bodies ONNX takes the square of the mean from the mean of the squares."""
EXACT = frozenset({"CastLike", "CenterCropPad", "SequenceMap", "Trilu"})
"""Operators whose bodies only move elements, or cast them as they do: nothing is rounded another way."""


def bodies(node: NodeProto, opset: int, scope: Scope, *, rising: bool) -> Iterator[tuple[FunctionProto, int, str]]:
    """Every function body for a node of the main domain: the function, the opset of its nodes, and whose it is.

    Args:
        rising: bodies of newer opsets first.
    """
    if node.op_type in OWN:
        since, text = OWN[node.op_type](node, scope)
        yield onnx.parser.parse_function(text), since, "what ONNX says of it"
        return
    op: Any = schemas.schema(node.op_type, opset)  # onnx's type hints lack its versioned bodies
    for version in sorted(op.all_function_opset_versions, reverse=rising):
        if version > opset:
            continue
        function = _body(op, version, node, scope)
        if function is not None:
            stated = next((i.version for i in function.opset_import if i.domain in MAIN), version)
            yield function, stated, "ONNX's function body"


def _body(op: Any, version: int, node: NodeProto, scope: Scope) -> FunctionProto | None:
    """ONNX's function body for a node, corrected where it says otherwise than the operator's text."""
    function = _stored_body(op, version, node, scope)
    if function is None or not function.node:  # ONNX makes none of nodes for some attributes
        return None
    _with_sizes(function, node, scope)
    _with_own_constants(function)
    if node.op_type in NORMALIZING:
        _by_deviations(function)
    if node.op_type == "Softplus":
        _by_the_magnitude(function)
    if node.op_type == "Celu":
        _with_scalars(function)
    if node.op_type == "Clip" and scope.element(node.input[0]) in FLOATS:
        _with_default_bounds(function, node, scope.element(node.input[0]))
    element = scope.element(node.input[0]) if node.op_type in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp") else 0
    if node.op_type == "ReduceLogSumExp":
        if element in WHOLE:
            _by_the_largest(function)
    elif element in WIDER and (node.op_type == "ReduceL2" or element not in WHOLE):  # ReduceLogSum-28 takes no integers
        _widened(function, WIDER[element])
    return function


def _stored_body(op: Any, version: int, node: NodeProto, scope: Scope) -> FunctionProto | None:
    """The function body that the package onnx has for a node."""
    if version in op.function_opset_versions:
        data = op.get_function_with_opset_version(version)
    elif schemas.refers(node):
        return None  # the body is made for the values of the attributes
    else:
        types = [(scope.type(name) or TypeProto()).SerializeToString() for name in node.input]
        plain = copy.deepcopy(node)
        plain.domain = ""
        if node.op_type == "Clip" and scope.element(node.input[0]) in FLOATS:  # ONNX's body leaves default bounds out
            plain.input[:] = [plain.input[0], "min", "max"]
        if node.op_type == "Attention":  # for whose stated heads the body reshapes inputs of rank 4 as well
            attention.without_heads(plain, scope)
        try:
            data = op.get_context_dependent_function_with_opset_version(version, plain.SerializeToString(), types)
        except (RuntimeError, ValueError):
            return None
    function = FunctionProto()
    function.ParseFromString(data)
    return function


def _with_own_constants(function: FunctionProto) -> None:
    """Let the bodies in a function body have constants of their own, where they read the function's.

    Inference takes no axes from the graph around a body, so that the shapes of what it gives out stay unknown.
    """
    constants = {node.output[0]: node for node in function.node if node.op_type == "Constant"}
    for node in function.node:
        for _, body in graphs(node):
            own = {name: f"{name}_in_{node.op_type}" for name in constants if any(name in n.input for n in body.node)}
            copies = [copy.deepcopy(constants[name]) for name in own]
            for inner in body.node:
                inner.input[:] = [own.get(name, name) for name in inner.input]
            for one in copies:
                one.output[0] = own[one.output[0]]
            rows = [*copies, *(copy.deepcopy(inner) for inner in body.node)]
            del body.node[:]
            body.node.extend(rows)


def _with_sizes(function: FunctionProto, node: NodeProto, scope: Scope) -> None:
    """State the size of a dim where a body splits the last one of an input or joins that of its output, if known.

    ONNX's bodies state -1 for it, which says nothing where another dim is 0, as of an empty batch.
    """
    nodes = {output: inner for inner in function.node for output in inner.output}
    actual = dict(zip(function.input, node.input, strict=False))
    rows: list[NodeProto] = []
    for inner in function.node:
        shape = nodes.get(inner.input[1]) if inner.op_type == "Reshape" else None
        parts = [_number(nodes.get(name)) for name in shape.input] if shape is not None else []
        if shape is not None and shape.op_type == "Concat" and parts.count(-1) == 1:
            split = 0
            if None not in parts[-2:]:  # heads and their size, in either order; those before are the input's own
                split = _last(actual.get(inner.input[0], ""), scope) // max(1, *(part or 0 for part in parts[-2:]))
            if size := _joined(node, scope) if inner.output[0] == function.output[0] else split:
                rows += _stated(inner, shape, parts.index(-1), size)
        rows.append(inner)
    copies = copy.deepcopy(rows)
    del function.node[:]
    function.node.extend(copies)


def _joined(node: NodeProto, scope: Scope) -> int:
    """The last dim of what attention gives out: as many values as V's heads have, for each head of Q; 0 if unknown."""
    queries, keys = (schemas.attribute(node, f"{name}_num_heads", 0) for name in ("q", "kv"))
    return _last(node.input[2], scope) // keys * queries if keys > 0 else 0


def _stated(reshape: NodeProto, shape: NodeProto, position: int, size: int) -> list[NodeProto]:
    """The shape of a Reshape, which reads it from now on, with a size in the place of one of its numbers."""
    base = reshape.output[0]
    stated = onnx.helper.make_node("Constant", [], [f"{base}_size"], value_ints=[size])
    parts = [*shape.input[:position], f"{base}_size", *shape.input[position + 1 :]]
    whole = onnx.helper.make_node("Concat", parts, [f"{base}_shape"], axis=0)
    reshape.input[1] = f"{base}_shape"
    return [stated, whole]


def _number(node: NodeProto | None) -> int | None:
    """The whole number that a Constant node makes a list of."""
    stated = [] if node is None or node.op_type != "Constant" else [a.t for a in node.attribute if a.name == "value"]
    if not stated or stated[0].data_type != onnx.TensorProto.INT64 or list(stated[0].dims) != [1]:
        return None
    return int(onnx.numpy_helper.to_array(stated[0])[0])


def _last(name: str, scope: Scope) -> int:
    """The size of a value's last dim; 0 where it is unknown, or 0."""
    shape = scope.shape(name) if name else None
    return shape[-1] if shape and isinstance(shape[-1], int) else 0


def _widened(function: FunctionProto, to: int) -> None:
    """Let the input of a reduction be cast before it is squared and summed, and the result back.

    In its own type a square or a sum may be too large where its root or its logarithm fits.
    """
    function.node.insert(0, onnx.helper.make_node("Cast", ["data"], ["wide"], to=to))
    for node in function.node[1:]:
        if node.op_type == "Cast":  # to float, before the root
            node.attribute[0].i = to
        for i, name in enumerate(node.input):
            if name == "data" and node.op_type != "CastLike":
                node.input[i] = "wide"
    last = function.node[-1]
    if last.op_type != "CastLike":
        last.output[0] = "result"
        function.node.append(onnx.helper.make_node("CastLike", ["result", "data"], ["reduced"]))


def _by_the_largest(function: FunctionProto) -> None:
    """Let ReduceLogSumExp take the largest element from all, and add it to the logarithm.

    In ONNX's body exp(710) is infinite, and a cast of its logarithm to an integer is undefined.
    """
    cast, exponential, total, logarithm, back = function.node

    most = onnx.helper.make_node("ReduceMax", [cast.output[0], *total.input[1:]], ["most"], keepdims=1)
    most.attribute.extend(a for a in total.attribute if a.name != "keepdims")
    laid = onnx.helper.make_node("ReduceMax", ["most", *total.input[1:]], ["laid"])  # as the logarithm is laid out
    laid.attribute.extend(total.attribute)
    less = onnx.helper.make_node("Sub", [cast.output[0], "most"], ["less"])
    result = onnx.helper.make_node("Add", [logarithm.output[0], "laid"], ["result"])
    exponential.input[0], back.input[0] = "less", "result"
    rows = copy.deepcopy([cast, most, less, exponential, total, logarithm, laid, result, back])
    del function.node[:]
    function.node.extend(rows)


def _by_the_magnitude(function: FunctionProto) -> None:
    """Let Softplus be the larger of x and 0, and the logarithm of what is left: exp(100) is infinite in bfloat16."""
    exponential, *others, logarithm = function.node
    make = onnx.helper.make_node
    before = [make("Abs", ["X"], ["magnitude"]), make("Neg", ["magnitude"], ["below"])]
    after = [make("Relu", ["X"], ["above"]), make("Add", ["above", "rest"], [logarithm.output[0]])]
    exponential.input[0], logarithm.output[0] = "below", "rest"
    rows = copy.deepcopy([*before, exponential, *others, logarithm, *after])
    del function.node[:]
    function.node.extend(rows)


def _by_deviations(function: FunctionProto) -> None:
    """Let the variance be the mean of squared deviations, as ONNX's texts have it.

    Where the mean is large beside the deviations, nothing is left of the mean of squares less the square of the mean,
    or a number below 0, whose root is NaN.
    """
    nodes = {node.output[0]: node for node in function.node}
    *_, variance, deviation = (node for node in function.node if node.op_type == "Sub")
    mean = nodes[variance.input[0]]
    square = nodes[mean.input[0]]
    for i, name in enumerate(square.input):
        if name == deviation.input[0]:
            square.input[i] = deviation.output[0]
    mean.output[0] = variance.output[0]
    dropped = {variance.input[1], variance.output[0], deviation.output[0]}
    rows: list[NodeProto] = []
    for name, node in nodes.items():
        rows += [deviation, node] if node is square else [] if name in dropped else [node]
    others = copy.deepcopy(rows)
    del function.node[:]
    function.node.extend(others)


def _with_scalars(function: FunctionProto) -> None:
    """Make scalars of constants of one element: ONNX's body of Celu gives an input without axes an axis by them."""
    for node in function.node:
        for a in node.attribute:
            if node.op_type == "Constant" and list(a.t.dims) == [1]:
                del a.t.dims[:]


def _with_default_bounds(function: FunctionProto, node: NodeProto, element: int) -> None:
    """State the bounds that a Clip leaves out: the lowest and the largest number of its type, by its text."""
    finfo: Any = ml_dtypes.finfo  # numpy's lacks bfloat16
    limits = finfo(onnx.helper.tensor_dtype_to_np_dtype(element))
    for position, name in enumerate(("min", "max"), 1):
        if not given(node, position):
            function.input[position] = f"absent_{name}"
            bound = onnx.helper.make_tensor(name, element, [], [getattr(limits, name)])
            function.node.insert(0, onnx.helper.make_node("Constant", [], [name], value=bound))


def check(node: NodeProto, opset: int, scope: Scope) -> None:
    """Check what a function body takes for granted.

    Raises:
        Refusal: a flag that is neither 0 nor 1, pairs of an odd number of elements, or an Attention whose inputs do not
            belong together.
    """
    if node.op_type == "Attention":
        attention.check(node, opset, scope)
    for a in node.attribute:
        for value in scope.values(a) if a.name in schemas.FLAGS else ():
            if value is not None:
                schemas.flag_of(node, a.name, value.i)
    if node.op_type == "RotaryEmbedding" and not schemas.refers(node):
        dim, shape = schemas.attribute(node, "rotary_embedding_dim", 0), scope.shape(node.input[0])
        if dim % 2:
            raise Refusal(f"RotaryEmbedding has rotary_embedding_dim={dim}; expected an even number, for pairs")
        head = shape[3] if shape is not None and len(shape) == 4 else None
        if not dim and isinstance(head, int) and head % 2:
            raise Refusal(f"RotaryEmbedding rotates heads of {head} elements; expected an even number, for pairs")


_OVERFLOWING = {
    "ReduceSumSquare": "squares of integers that do not fit the type wrap; onnxruntime's ReduceSumSquare clamps them",
    "ReduceL2": "norms of integers that do not fit the type are undefined; onnxruntime's ReduceL2 clamps them",
}


def losses(node: NodeProto, opset: int, scope: Scope) -> list[str]:
    """What runtimes compute for a node that its function body, which has its place now, says otherwise."""
    if "stash_type" in schemas.schema(node.op_type, opset).attributes:
        return _narrowed(node, scope)
    text = schemas.type_text(scope.type(node.input[0])) or ""
    if node.op_type == "Trilu" and ("float" in text or "double" in text):
        return ["Trilu keeps -0, and so does Where, which has its place now; onnxruntime's Where makes +0 of it"]
    if node.op_type in _OVERFLOWING and scope.element(node.input[0]) in WHOLE:
        return [_OVERFLOWING[node.op_type]]
    if node.op_type == "ReduceLogSumExp" and scope.element(node.input[0]) in WHOLE:
        return ["integers beyond 709 have a logarithm here; ONNX's body, onnxruntime's uint32 and uint64, overflows"]
    if node.op_type == "ReduceLogSumExp":
        return ["exponentials of numbers beyond 709 are infinite, and so is their sum; a kernel may avoid that"]
    fourth = node.op_type == "Attention" and len(node.output) > 3 and node.output[3]
    mask = schemas.attribute(node, "is_causal", 0) or (len(node.input) > 3 and node.input[3])
    if not fourth or not mask or schemas.attribute(node, "qk_matmul_output_mode", 0) != MASKED:
        return []
    masked = "the fourth output of Attention is -inf where a mask excludes, as ONNX has it"
    return [f"{masked}; onnxruntime's Attention gives the lowest number of the type there"]


def _narrowed(node: NodeProto, scope: Scope) -> list[str]:
    """That an operator of double computes in float32: its text says so, and onnxruntime's kernels do not."""
    double = scope.element(node.input[0]) == onnx.TensorProto.DOUBLE
    if not double or schemas.attribute(node, "stash_type", onnx.TensorProto.FLOAT) != onnx.TensorProto.FLOAT:
        return []
    return [f"{node.op_type} of double normalizes in float32, as its stash_type=1 says; a kernel may do it in double"]


def declare_ranks(body: GraphProto, scope: Scope) -> None:
    """Declare the types and ranks of what a body gives out, where they are known.

    ONNX's bodies leave them out. onnxruntime infers them from opset 14 on alone, and runs no Scan without them.
    """
    for value in body.output:
        element, rank = scope.element(value.name), scope.rank(value.name)
        if element and rank is not None and value.type.WhichOneof("value") is None:
            value.type.CopyFrom(onnx.helper.make_tensor_type_proto(element, [None] * rank))


_SEALED = "minuend.converted"


def sealed(node: NodeProto) -> NodeProto:
    """A copy whose own bodies are left as they are, since they were converted before it: no domain knows their nodes.

    :func:`unsealed` gives them back.
    """
    copied = copy.deepcopy(node)
    for _, body in graphs(copied):
        for inner in _every(body.node):
            if inner.domain in MAIN:
                inner.domain = _SEALED
    return copied


def unsealed(nodes: list[NodeProto]) -> list[NodeProto]:
    """The nodes with those of the main domain that :func:`sealed` hid; copies, if there are any."""
    if all(node.domain != _SEALED for node in _every(nodes)):
        return nodes
    copies = copy.deepcopy(nodes)
    for node in _every(copies):
        if node.domain == _SEALED:
            node.domain = ""
    return copies


def _every(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, body in graphs(node):
            yield from _every(body.node)


def instantiate(function: FunctionProto, node: NodeProto, opset: int, scope: Scope, base: str) -> list[NodeProto]:
    """The nodes of a function body in a node's place: its values, fresh names, its attributes put in."""
    names = {"": ""}
    for i, name in enumerate(function.input):
        names[name] = node.input[i] if i < len(node.input) else ""
    outputs = dict(zip(function.output, node.output, strict=False))
    made = {name for inner in function.node for name in inner.output}
    for name, output in outputs.items():
        if output and name in made:
            names[name] = output
    given = {a.name: a for a in node.attribute}
    defaults = {a.name: a for a in function.attribute_proto}
    op = schemas.schema(node.op_type, opset)
    for name, row in op.attributes.items():
        if row.default_value.type:
            defaults.setdefault(name, row.default_value)
    nodes = [_rename(copy.deepcopy(inner), names, scope, base, {**defaults, **given}) for inner in function.node]
    for name, output in outputs.items():  # an output that is an input goes through a node of its own
        if output and name not in made:
            nodes.append(onnx.helper.make_node("Identity", [names[name]], [output]))
    return nodes


def _rename(
    node: NodeProto, names: dict[str, str], scope: Scope, base: str, attributes: dict[str, AttributeProto]
) -> NodeProto:
    for i, name in enumerate(node.input):  # one that is not known is of the graph around a node's own body
        node.input[i] = names.get(name, name)
    for i, name in enumerate(node.output):
        if name not in names:
            names[name] = scope.names.fresh(f"{base}_{name}")
        node.output[i] = names[name]
    if node.name:
        node.name = f"{base}_{node.name}"
    fill_in(node, attributes)
    for _, body in graphs(node):
        _rename_graph(body, names, scope, base, attributes)
    return node


def _rename_graph(
    graph: GraphProto, outer: dict[str, str], scope: Scope, base: str, attributes: dict[str, AttributeProto]
) -> None:
    names = dict(outer)
    for value in (*graph.input, *graph.initializer):
        names[value.name] = scope.names.fresh(f"{base}_{value.name}")
        value.name = names[value.name]
    for node in graph.node:
        _rename(node, names, scope, base, attributes)
    for value in (*graph.output, *graph.value_info):
        value.name = names.get(value.name, value.name)


def _trilu(node: NodeProto, scope: Scope) -> tuple[int, str]:
    """Trilu by comparing row and column numbers."""
    element = scope.element(node.input[0])
    if not element:
        raise Refusal(f"Trilu needs the element type of {node.input[0]!r}, which is unknown")
    k = "k" if len(node.input) > 1 and node.input[1] else "zero"
    keeps = "GreaterOrEqual" if schemas.attribute(node, "upper", 1) else "LessOrEqual"
    if element == onnx.TensorProto.BOOL:
        choose = "y = And(x, keep)"
    else:
        choose = f"nothing = Cast <to: int = {element}> (zero)\n y = Where(keep, x, nothing)"
    return (
        13,
        f"""
        <domain: "", opset_import: ["" : 13]>
        Trilu (x, k) => (y) {{
            shape = Shape(x)
            at_rows = Constant <value_int: int = -2> ()
            at_columns = Constant <value_int: int = -1> ()
            zero = Constant <value_int: int = 0> ()
            one = Constant <value_int: int = 1> ()
            inside = Constant <value_ints: ints = [1]> ()
            rows = Gather(shape, at_rows)
            columns = Gather(shape, at_columns)
            row = Range(zero, rows, one)
            column = Range(zero, columns, one)
            down = Unsqueeze(row, inside)
            right = Sub(column, down)
            keep = {keeps}(right, {k})
            {choose}
        }}""",
    )


def _layer_normalization(node: NodeProto, scope: Scope) -> tuple[int, str]:
    """LayerNormalization by the equations of its text.

    ONNX's body lays the input out as rows, and the scale and the bias as one row. That fails for a scale over other
    axes, gives other numbers for one of [5,1] where two axes of the input have 5 elements, and loses the shape of an
    empty tensor. Its variance is the mean of squares less the square of the mean, of which rounding may leave nothing.
    """
    number = schemas.attribute(node, "stash_type", onnx.TensorProto.FLOAT)
    if number not in (onnx.TensorProto.FLOAT, onnx.TensorProto.BFLOAT16):  # the types that its mean can have
        raise Refusal(f"LayerNormalization has stash_type={number}; expected 1 (float32) or 16 (bfloat16)")
    axis, rank = schemas.attribute(node, "axis", -1), scope.rank(node.input[0])
    if axis < 0 or rank is not None:
        first = axis if axis < 0 else axis - (rank or 0)
        axes = f"axes = Constant <value_ints: ints = {[*range(first, 0)]}> ()"
    else:
        axes = f"""begin = Constant <value_int: int = {axis}> ()
            one = Constant <value_int: int = 1> ()
            shape = Shape(X)
            rank = Size(shape)
            axes = Range(begin, rank, one)"""
    alike = scope.element(node.input[0]) == number
    x, normalized = ("X", "rounded") if alike else ("x", "normalized")
    biased = f"scaled = Mul({normalized}, Scale)\n Y = Add(scaled, B)"
    return (
        18,
        f"""
        <domain: "", opset_import: ["" : 18]>
        LayerNormalization <epsilon> (X, Scale, B) => (Y, Mean, InvStdDev) {{
            {axes}
            x = Cast <to: int = {number}> (X)
            Mean = ReduceMean({x}, axes)
            deviation = Sub({x}, Mean)
            square = Mul(deviation, deviation)
            variance = ReduceMean(square, axes)
            least_float = Constant <value_float: float = @epsilon> ()
            least = Cast <to: int = {number}> (least_float)
            above_0 = Add(variance, {"least_float" if number == onnx.TensorProto.FLOAT else "least"})
            root = Sqrt(above_0)
            rounded = Div(deviation, root)
            normalized = CastLike(rounded, X)
            {biased if given(node, 2) else f"Y = Mul({normalized}, Scale)"}
            InvStdDev = Reciprocal(root)
        }}""",
    )


OWN = {"LayerNormalization": _layer_normalization, "Trilu": _trilu}
"""Operators that ONNX has no body for, or not for every input: the opset of the nodes, and the function in its text."""
