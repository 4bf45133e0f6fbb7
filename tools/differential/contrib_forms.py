"""Forms of onnxruntime's own operators (``com.microsoft``): those that exporters and optimizers write into models."""

from __future__ import annotations

from collections.abc import Sequence

from differential.node_drafts import CONTRIB, Draft, form, listed
from differential.node_forms import convolutions, windows

HALF = 0.5

# ---- activations and normalisation --------------------------------------------------------------------------------


@form("Gelu FastGelu BiasGelu QuickGelu", CONTRIB)
def gelus(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    if d.schema.name == "BiasGelu" or (d.schema.name == "FastGelu" and d.chance(HALF)):
        d.give(shape[-1:])
    d.state("alpha", d.pick([1.702, 1.0]))


@form("SkipLayerNormalization SkipSimplifiedLayerNormalization", CONTRIB)
def skip_normalisation(d: Draft) -> None:
    shape = (d.source.randint(1, 2), d.source.randint(1, 3), d.pick([2, 4]))
    d.give(shape)
    d.give(d.pick([shape, shape[1:], (1, *shape[1:])]))
    d.give(shape[2:])
    if d.schema.name == "SkipLayerNormalization":
        d.give(shape[2:]) if d.chance(HALF) else d.skip()
    if d.chance(0.3):
        d.give(shape[2:])
    d.state("epsilon", 0.01, HALF)


@form("EmbedLayerNormalization", CONTRIB)
def embed(d: Draft) -> None:
    batch, length, size = d.source.randint(1, 2), d.source.randint(1, 3), 4
    d.give((batch, length), "0<5")
    segments = d.chance(0.7)
    d.give((batch, length), "0<2") if segments else d.skip()
    d.give((5, size))
    d.give((4, size))
    d.give((2, size)) if segments else d.skip()
    d.give((size,))
    d.give((size,))
    if d.chance(HALF):
        d.give((batch, length), "bool")
    d.state("epsilon", 0.01, HALF)
    d.outputs = 2


# ---- attention ----------------------------------------------------------------------------------------------------


@form("Attention MultiHeadAttention", CONTRIB)
def attention(d: Draft) -> None:
    batch, length, heads, size = d.source.randint(1, 2), d.source.randint(1, 3), 2, d.pick([1, 2, 4])
    hidden, others = heads * size, length
    d.give((batch, length, hidden))
    if d.schema.name == "Attention":
        d.give((hidden, 3 * hidden))
        d.give((3 * hidden,))
    else:
        others = d.source.randint(1, 3)
        d.give((batch, others, hidden))
        d.give((batch, others, hidden))
        d.give((3 * hidden,)) if d.chance(0.3) else d.skip()
    d.give((batch, others), "bool", "int32") if d.chance(0.4) else d.skip()
    if d.schema.name == "Attention":
        d.skip()
    if d.chance(0.3):
        d.give((d.pick([1, batch]), d.pick([1, heads]), length, others))
    d.attributes.append(("num_heads", heads))
    d.state("unidirectional", d.pick([0, 1]), 0.4)
    d.state("scale", 0.5, 0.3)


@form("GroupQueryAttention", CONTRIB)
def grouped_attention(d: Draft) -> None:
    batch, heads, shared, size = d.source.randint(1, 2), 2, d.pick([1, 2]), 16
    past = d.pick([0, 0, 2])
    length = 1 if past else d.source.randint(1, 3)
    d.give((batch, length, heads * size))
    for _ in "kv":
        d.give((batch, length, shared * size))
    for _ in "kv":
        d.give((batch, shared, past, size)) if past else d.skip()
    d.give((batch,), listed([past + length - 1] * batch), "int32")
    d.give((), f"={past + length}", "int32")
    if d.chance(0.4):
        for _ in "cs":
            d.give((8, size // 2))
        d.attributes.append(("do_rotary", 1))
        d.state("rotary_interleaved", d.pick([0, 1]))
    d.attributes += [("num_heads", heads), ("kv_num_heads", shared)]
    d.state("local_window_size", 2, 0.2)
    d.state("softcap", 10.0, 0.2)
    d.outputs = 3


@form("RotaryEmbedding", CONTRIB)
def rotary(d: Draft) -> None:
    batch, length, heads, size = d.source.randint(1, 2), d.source.randint(1, 3), 2, 8
    whole = d.chance(HALF)
    d.give((batch, heads, length, size) if whole else (batch, length, heads * size))
    d.give((batch, length) if d.chance(HALF) else (1,), "0<3")
    for _ in "cs":
        d.give((6, size // 2))
    d.state("interleaved", d.pick([0, 1]), HALF)


# ---- products ---------------------------------------------------------------------------------------------------


@form("FusedMatMul TransposeMatMul", CONTRIB)
def fused_product(d: Draft) -> None:
    batch, (m, k, n) = d.dims(0, 2), (d.source.randint(1, 4) for _ in "mkn")
    across = d.chance(HALF), d.chance(HALF)
    d.give((*batch, k, m) if across[0] else (*batch, m, k))
    d.give((*batch, n, k) if across[1] else (*batch, k, n))
    d.attributes += [("transA", int(across[0])), ("transB", int(across[1]))]
    d.state("alpha", d.pick([1.0, 0.5]), HALF)


ACTIVATIONS = ("Relu", "Tanh", "Sigmoid")


@form("FusedGemm", CONTRIB)
def fused_gemm(d: Draft) -> None:
    m, k, n = (d.source.randint(1, 4) for _ in "mkn")
    d.give((m, k))
    d.give((k, n))
    d.give(d.pick([(m, n), (n,), (1, n)]))
    d.attributes.append(("activation", d.pick(ACTIVATIONS)))
    d.state("alpha", 0.5, 0.4)


@form("FusedConv", CONTRIB)
def fused_convolution(d: Draft) -> None:
    convolutions(d)
    d.attributes.append(("activation", d.pick(ACTIVATIONS)))


@form("MatMulNBits", CONTRIB)
def product_of_few_bits(d: Draft) -> None:
    block, bits = d.pick([16, 32]), d.pick([4, 4, 8, 2])
    m, n, k = d.source.randint(1, 3), d.source.randint(1, 3), block * d.source.randint(1, 2)
    blocks = k // block
    d.give(d.pick([(m, k), (1, m, k)]))
    d.give((n, blocks, block * bits // 8), "bytes")
    d.give((n, blocks) if d.chance(HALF) else (n * blocks,), "positive")
    if d.chance(0.4):
        d.give((n * -(-blocks * bits // 8),), "bytes", "uint8")
    d.attributes += [("K", k), ("N", n), ("bits", bits), ("block_size", block)]
    d.state("accuracy_level", d.pick([0, 1]), 0.3)


# ---- quantised --------------------------------------------------------------------------------------------------


def quantised(d: Draft, shape: Sequence[int] | None) -> None:
    """Give numbers of 8 bits (none where there is no shape: of a result), their scale and their zero point."""
    if shape is not None:
        d.give(shape, "bytes")
    d.give((), "positive", "float")
    d.give((), "few", d.type())


@form("QLinearAdd QLinearMul", CONTRIB)
def quantised_pair(d: Draft) -> None:
    shape = d.dims()
    quantised(d, shape)
    quantised(d, shape[d.source.randint(0, len(shape)) :])
    quantised(d, None)


@form("QLinearSigmoid QLinearLeakyRelu QLinearSoftmax QLinearGlobalAveragePool", CONTRIB)
def quantised_unary(d: Draft) -> None:
    quantised(d, (1, 2, 3, 2) if d.has("channels_last") else d.dims(1))
    quantised(d, None)
    d.state("alpha", 0.25, HALF)
    d.state("opset", 13, 1)
    d.state("axis", -1, 1)
    d.state("channels_last", d.pick([0, 1]))


@form("QLinearConcat", CONTRIB)
def quantised_concat(d: Draft) -> None:
    shape = d.dims(1)
    dtype = d.pick(["uint8", "int8"])
    d.give((), "positive", "float")
    d.give((), "few", dtype)
    for _ in range(d.source.randint(1, 3)):
        d.give((d.source.randint(1, 3), *shape[1:]), "bytes", dtype)
        d.give((), "positive", "float")
        d.give((), "few", dtype)
    d.attributes.append(("axis", 0))


@form("QuantizeLinear DequantizeLinear", CONTRIB)
def quantise(d: Draft) -> None:
    shape = d.dims(1)
    axis = d.source.randrange(len(shape))
    own = (shape[axis],) if d.chance(HALF) else ()
    d.give(shape)
    d.give(own, "positive")
    if d.inputs[0][0] != "int32":
        d.give(own, "few")
    if own:
        d.attributes.append(("axis", axis))


@form("DynamicQuantizeMatMul MatMulIntegerToFloat MatMulInteger16", CONTRIB)
def integer_products(d: Draft) -> None:
    m, k, n = (d.source.randint(1, 4) for _ in "mkn")
    d.give((m, k))
    d.give((k, n), "bytes")
    if d.schema.name == "MatMulInteger16":
        return
    own = d.pick([(), (n,)])
    if d.schema.name == "MatMulIntegerToFloat":
        d.give((), "positive")
    d.give(own, "positive")
    if d.schema.name == "MatMulIntegerToFloat":
        d.give((), "few")
    d.give(own, "few")
    if d.chance(HALF):
        d.give((n,))


@form("NhwcMaxPool", CONTRIB)
def pool_of_bytes(d: Draft) -> None:
    d.give((1, d.source.randint(4, 6), d.source.randint(4, 6), 2), "bytes")
    sizes = (d.source.randint(1, 3), d.source.randint(1, 3))
    d.attributes.append(("kernel_shape", sizes))
    windows(d, 2, sizes)


# ---- others ---------------------------------------------------------------------------------------------------


@form("Inverse CDist ExpandDims Trilu Unique MurmurHash3", CONTRIB)
def others(d: Draft) -> None:
    name, (m, k, n) = d.schema.name, (d.source.randint(1, 4) for _ in "mkn")
    if name == "CDist":
        d.give((m, k))
        d.give((n, k))
        d.state("metric", d.pick(["sqeuclidean", "euclidean"]))
        return
    d.give(
        {"Inverse": (2, 2), "Trilu": (m, k), "Unique": (m,)}.get(name, d.dims(1)), "few" if name == "Unique" else "any"
    )
    if name == "ExpandDims":
        d.give((), "=0", "int32")
    d.state("upper", d.pick([0, 1]))
    d.state("positive", d.pick([0, 1]))
    d.state("seed", 7, HALF)
    if name == "Unique":
        d.outputs = 3
