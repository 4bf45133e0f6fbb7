"""Transformers: encoders and decoders, with the masks, positions and caches of the models in use."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 - as PyTorch itself spells it
from torch import Tensor, nn

from corpus.case import Input, case

WIDTH, HEADS, WORDS = 16, 2, 61
TOKENS = Input("tokens", "int64", ("batch", "seq"), 0, WORDS)
MASK = Input("mask", "int64", ("batch", "seq"), 0, 2)
HIDDEN = Input("hidden", "float32", ("batch", "seq", WIDTH))


class Attention(nn.Module):
    """Multi-head attention in plain operators; ``bias`` is added to the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, bias: Tensor | None = None) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        if bias is not None:
            scores = scores + bias
        return self.o((torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2))


class RmsNorm(nn.Module):
    """Division by the root mean square, as decoders write it by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


@case("transformer encoder", [TOKENS, MASK], "torchscript:13 torchscript:17 dynamo:18 dynamo:20")
class Encoder(nn.Module):
    """Post-norm encoder: ``(1 - mask) * -10000``, positions by an integer subtraction, GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(32, WIDTH)
        self.attention, self.norm1, self.norm2 = Attention(), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        places = (torch.cumsum(mask, 1) - 1).clamp(min=0)
        x = self.words(tokens) + self.places(places)
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        x = self.norm1(x + self.attention(x, x, bias))
        return self.norm2(x + self.feed(x))


@case("transformer decoder", [TOKENS], "torchscript:13 torchscript:15 dynamo:18")
class CausalDecoder(nn.Module):
    """Pre-norm decoder: causal mask by comparison of positions, tanh GELU, output tied to the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(32, WIDTH)
        self.attention, self.norm1, self.norm2 = Attention(), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(approximate="tanh"), nn.Linear(32, WIDTH))

    def forward(self, tokens: Tensor) -> Tensor:
        at = torch.arange(tokens.shape[1])
        x = self.words(tokens) + self.places(at)
        bias = (1.0 - (at[None, :] <= at[:, None]).float()) * -1e9
        y = self.norm1(x)
        x = x + self.attention(y, y, bias)
        x = x + self.feed(self.norm2(x))
        return x @ self.words.weight.T


@case("transformer encoder", [HIDDEN], "torchscript:14 torchscript:16 dynamo:19")
class RelativeBias(nn.Module):
    """Relative positions ``memory - query`` in logarithmic buckets, as a bias on the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.bias, self.attention, self.norm = nn.Embedding(8, HEADS), Attention(), RmsNorm()

    def bucket(self, relative: Tensor) -> Tensor:
        far = 2 + (torch.log(relative.abs().clamp(min=1).float() / 2) / math.log(8) * 2).long()
        near = torch.where(relative.abs() < 2, relative.abs(), far.clamp(0, 3))
        return near + (relative > 0).long() * 4

    def forward(self, hidden: Tensor) -> Tensor:
        at = torch.arange(hidden.shape[1])
        bias = self.bias(self.bucket(at[None, :] - at[:, None])).permute(2, 0, 1)[None]
        x = self.norm(hidden)
        return hidden + self.attention(x, x, bias)


def rotate(x: Tensor, angle: Tensor) -> Tensor:
    """Rotate pairs of channels by an angle: rotary positions."""
    a, b = x.chunk(2, -1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


@case("transformer decoder", [TOKENS, MASK], "torchscript:13 torchscript:18 dynamo:18 dynamo:20")
class RotaryDecoder(nn.Module):
    """RMSNorm, rotary positions from a padding mask, a gated SiLU layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm1, self.norm2, self.last = nn.Embedding(WORDS, WIDTH), RmsNorm(), RmsNorm(), RmsNorm()
        self.attention = Attention()
        self.up, self.gate, self.down = nn.Linear(WIDTH, 32), nn.Linear(WIDTH, 32), nn.Linear(32, WIDTH)
        self.register_buffer("frequency", 100.0 ** (-torch.arange(4) / 4))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        places = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
        angle = (places[:, :, None].float() * self.frequency)[:, None]
        x = self.words(tokens)
        y, a = self.norm1(x), self.attention
        q, k, v = rotate(a.split(a.q(y)), angle), rotate(a.split(a.k(y)), angle), a.split(a.v(y))
        at = torch.arange(tokens.shape[1])
        seen = (at[None, :] <= at[:, None])[None, None] & (mask[:, None, None, :] > 0)
        scores = (q @ k.transpose(-1, -2)).masked_fill(~seen, -1e4)
        x = x + a.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return self.last(x + self.down(F.silu(self.gate(y)) * self.up(y)))


CACHE = ("batch", HEADS, "past", WIDTH // HEADS)


@case(
    "transformer decoder",
    [HIDDEN, Input("past_key", "float32", CACHE), Input("past_value", "float32", CACHE)],
    "torchscript:15 torchscript:17 dynamo:18",
)
class KeyValueCache(nn.Module):
    """One step of generation: old keys and values are joined with new ones, the mask starts at ``total - new``."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm = Attention(), nn.LayerNorm(WIDTH)

    def forward(self, hidden: Tensor, past_key: Tensor, past_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, x = self.attention, self.norm(hidden)
        k = torch.cat([past_key, a.split(a.k(x))], 2)
        v = torch.cat([past_value, a.split(a.v(x))], 2)
        total, new = k.shape[2], hidden.shape[1]
        row = torch.arange(new)[:, None] + (total - new)
        seen = row - torch.arange(total)[None, :] >= 0
        scores = a.split(a.q(x)) @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        scores = torch.where(seen, scores, torch.full_like(scores, -1e4))
        return hidden + a.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), k, v


@case(
    "transformer decoder",
    [HIDDEN, Input("memory", "float32", ("batch", "memory", WIDTH)), Input("lengths", "int64", ("batch",), 1, 6)],
    "torchscript:13 dynamo:18",
)
class CrossAttention(nn.Module):
    """The decoder's half of a translation model: attention to a padded memory."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.other = Attention(), Attention()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.feed = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, WIDTH))

    def forward(self, hidden: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
        inside = torch.arange(memory.shape[1])[None, :] < lengths[:, None]
        bias = (1 - inside.to(hidden.dtype))[:, None, None, :] * -1e4
        x = self.norms[0](hidden + self.own(hidden, hidden))
        x = self.norms[1](x + self.other(x, memory, bias))
        return self.norms[2](x + self.feed(x))


@case("transformer decoder", [HIDDEN], "torchscript:14 dynamo:20")
class LinearBias(nn.Module):
    """A bias that falls with distance: ``slope * (j - i)``, minus infinity above the diagonal."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.register_buffer("slope", 2.0 ** -torch.arange(1, HEADS + 1).float())

    def forward(self, hidden: Tensor) -> Tensor:
        at = torch.arange(hidden.shape[1])
        distance = at[None, :] - at[:, None]
        bias = self.slope[:, None, None] * distance.float()
        bias = torch.where(distance > 0, torch.full_like(bias, float("-inf")), bias)
        return hidden + self.attention(hidden, hidden, bias)


@case("transformer encoder", [HIDDEN], "torchscript:15 dynamo:19")
class DisentangledAttention(nn.Module):
    """Content-to-position scores, gathered by the clamped index ``i - j + span``."""

    span = 4

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm = Attention(), nn.LayerNorm(WIDTH)
        self.relative = nn.Parameter(torch.randn(HEADS, WIDTH // HEADS, 2 * self.span))

    def forward(self, hidden: Tensor) -> Tensor:
        a = self.attention
        at = torch.arange(hidden.shape[1])
        index = (at[:, None] - at[None, :] + self.span).clamp(0, 2 * self.span - 1)
        scores = a.split(a.q(hidden)) @ self.relative
        bias = torch.gather(scores, 3, index[None, None].expand(scores.shape[0], HEADS, -1, -1))
        return self.norm(hidden + a(hidden, hidden, bias))


@case(
    "transformer encoder",
    [Input("hidden", "float32", ("batch", 6, WIDTH))],
    "torchscript:17 torchscript:20 dynamo:18 dynamo:20",
)
class StockEncoderLayer(nn.Module):
    """PyTorch's own encoder layers, with scaled dot product attention and GELU.

    The length is fixed: the TorchScript exporter writes it into a Reshape.
    """

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, activation="gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.layers(hidden)


@case("transformer decoder", [HIDDEN], "dynamo:18 dynamo:20")
class StockCausalAttention(nn.Module):
    """Scaled dot product attention with ``is_causal``, under a norm of PyTorch's own."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm = Attention(), nn.RMSNorm(WIDTH)

    def forward(self, hidden: Tensor) -> Tensor:
        a, x = self.attention, self.norm(hidden)
        y = F.scaled_dot_product_attention(a.split(a.q(x)), a.split(a.k(x)), a.split(a.v(x)), is_causal=True)
        return hidden + a.o(y.transpose(1, 2).flatten(2))


@case("transformer encoder", [HIDDEN, MASK], "torchscript:13 torchscript:19 dynamo:19")
class SentenceEmbedding(nn.Module):
    """Masked mean, unit length, and the distances ``1 - cosine`` between all sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weight = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        unit = F.normalize(torch.tanh(self.dense(mean)), dim=-1)
        return unit, 1 - unit @ unit.T


@case("transformer encoder", [HIDDEN], "torchscript:18 dynamo:18")
class WindowAttention(nn.Module):
    """Attention within ``|i - j| <= 2``, softmax by hand: ``exp(x - max)``."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, hidden: Tensor) -> Tensor:
        at = torch.arange(hidden.shape[1])
        near = (at[:, None] - at[None, :]).abs() <= 2
        scores = (self.q(hidden) @ self.k(hidden).transpose(1, 2)).masked_fill(~near, -1e4)
        power = torch.exp(scores - scores.amax(-1, keepdim=True))
        return (power / power.sum(-1, keepdim=True)) @ self.v(hidden)


@case("transformer decoder", [HIDDEN], "torchscript:15 dynamo:18")
class ExpertMixture(nn.Module):
    """A router that picks two of four gated layers for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, hidden: Tensor) -> Tensor:
        weight, chosen = self.router(hidden).softmax(-1).topk(2, -1)
        weight = weight / weight.sum(-1, keepdim=True)
        gates = (F.one_hot(chosen, 4).to(hidden.dtype) * weight[..., None]).sum(-2)
        out = torch.stack([F.silu(expert(hidden)) for expert in self.experts], -1)
        return hidden - (out * gates[..., None, :]).sum(-1)
