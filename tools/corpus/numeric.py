"""Norms, activations, losses, quantised arithmetic, index arithmetic, control flow, and smaller kinds of model."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - as PyTorch itself spells it
from torch import Tensor, nn

from corpus.case import Input, case

ROWS = Input("x", "float32", ("batch", 16))
PLANES = Input("x", "float32", ("batch", 8, 6, 6))


@case("norms", [PLANES], "torchscript:13 torchscript:17 torchscript:20 dynamo:18 dynamo:20")
class Norms(nn.Module):
    """Layer, group, instance and batch normalisation, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.batch, self.group = nn.BatchNorm2d(8), nn.GroupNorm(2, 8)
        self.instance, self.layer = nn.InstanceNorm2d(8, affine=True), nn.LayerNorm((6, 6))
        self.batch.running_mean.normal_()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a = self.batch(x)
        return a, self.group(a), self.instance(a), self.layer(a)


@case("norms", [PLANES], "torchscript:14 dynamo:18")
class HandmadeNorms(nn.Module):
    """The same by subtraction: ``x - mean`` over channels, over planes, and standardised weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.scale = nn.Parameter(torch.randn(8, 8, 3, 3)), nn.Parameter(torch.rand(8, 1, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        centred = x - x.mean(1, keepdim=True)
        channels = self.scale * centred / (centred.square().mean(1, keepdim=True) + 1e-6).sqrt()
        deviation, mean = torch.std_mean(x, (2, 3), keepdim=True)
        shift, spread = self.weight.mean((1, 2, 3), keepdim=True), self.weight.std((1, 2, 3), keepdim=True)
        return channels, (x - mean) / (deviation + 1e-5), F.conv2d(x, (self.weight - shift) / spread)


@case("activations", [ROWS], "torchscript:13 torchscript:15 torchscript:18 dynamo:18 dynamo:20")
class Activations(nn.Module):
    """Every smooth activation in one chain."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            F.gelu(x),
            F.mish(x),
            F.hardswish(x) - F.silu(x),
            F.softplus(x) - F.logsigmoid(x),
            F.elu(x) + F.selu(x) - F.celu(x, 1.5),
            F.gelu(x, approximate="tanh") - F.relu6(x),
        )


@case("activations", [ROWS], "torchscript:14 torchscript:16 dynamo:19")
class Shrinking(nn.Module):
    """Activations that subtract: tanhshrink, softshrink, softsign, thresholds, a learned slope."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.PReLU(16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return F.tanhshrink(x) + F.softshrink(x, 0.3), F.softsign(x) - F.hardtanh(x), self.slope(x) - F.hardshrink(x)


@case("losses", [ROWS], "torchscript:13 torchscript:19 dynamo:18")
class Softmaxes(nn.Module):
    """Softmax, log-softmax, log-sum-exp, softmin, and one by hand."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        power = torch.exp(x - x.max(-1, keepdim=True).values)
        return x.softmax(0), x.log_softmax(-1), x - x.logsumexp(-1, keepdim=True), power / power.sum(-1, keepdim=True)


@case(
    "losses",
    [ROWS, Input("y", "float32", ("batch", 16), 0, 1), Input("label", "int64", ("batch",), 0, 16)],
    "torchscript:13 torchscript:17 dynamo:18",
)
class Losses(nn.Module):
    """Cross entropy, likelihood, squares, Huber, binary cross entropy, divergence, margins."""

    def forward(self, x: Tensor, y: Tensor, label: Tensor) -> tuple[Tensor, ...]:
        return (
            F.cross_entropy(x, label),
            F.nll_loss(x.log_softmax(-1), label),
            F.mse_loss(x, y),
            (x - y).abs().mean(),
            torch.where((x - y).abs() < 1, 0.5 * (x - y).square(), (x - y).abs() - 0.5).mean(),
            F.binary_cross_entropy_with_logits(x, y),
            F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
            F.relu(0.2 - x * (2 * y - 1)).mean(),
            1 - F.cosine_similarity(x, y, dim=-1),
        )


@case(
    "losses",
    [Input(name, "float32", ("batch", 16)) for name in ("anchor", "near", "far")],
    "torchscript:15 torchscript:20 dynamo:20",
)
class ContrastiveLoss(nn.Module):
    """Triplet margins and all pairs: distances by differences, the diagonal taken out."""

    def forward(self, anchor: Tensor, near: Tensor, far: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        triplet = F.relu((anchor - near).norm(dim=-1) - (anchor - far).norm(dim=-1) + 1.0)
        pairs = (anchor[:, None, :] - near[None, :, :]).square().sum(-1)
        logits = F.normalize(anchor, dim=-1) @ F.normalize(near, dim=-1).T / 0.07
        return triplet, pairs, logits.logsumexp(-1) - logits.diagonal()


QUANTISED = Input("x", "uint8", ("batch", 16), 0, 256)


@case("quantised", [QUANTISED], "torchscript:13 torchscript:18 dynamo:18")
class Dequantise(nn.Module):
    """Dequantising by hand, ``(x.int() - zero_point) * scale``, into a float layer with int8 weights."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (8, 16), dtype=torch.int8))
        self.register_buffer("zero", torch.randint(-8, 8, (8, 1), dtype=torch.int32))
        self.register_buffer("scale", torch.rand(8, 1) / 64)

    def forward(self, x: Tensor) -> Tensor:
        weight = (self.weight.to(torch.int32) - self.zero).float() * self.scale
        return ((x.to(torch.int32) - 128).float() * 0.05) @ weight.T


@case("quantised", [ROWS], "torchscript:14 dynamo:18")
class QuantiseBack(nn.Module):
    """Dynamic quantisation in plain operators: scale and zero point from the range, there and back, and the error."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        low, high = x.amin(-1, keepdim=True).clamp(max=0), x.amax(-1, keepdim=True).clamp(min=0)
        scale = (high - low) / 255
        zero = torch.round(-low / scale)
        levels = (torch.round(x / scale) + zero).clamp(0, 255)
        return levels.to(torch.uint8), x - (levels - zero) * scale


@case("quantised", [ROWS], "torchscript:13 torchscript:16")
class FakeQuantised(nn.Module):
    """A layer of quantisation-aware training: QuantizeLinear and DequantizeLinear pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 16))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 128, 0, 255)
        weight = torch.fake_quantize_per_tensor_affine(self.weight, 0.02, 0, -128, 127)
        return x @ weight.T


@case("quantised", [Input("packed", "uint8", (8, 8), 0, 256), ROWS], "torchscript:18 dynamo:18")
class FourBitWeights(nn.Module):
    """Weights of 4 bits, two in a byte, taken apart by integer division; minus 8."""

    def forward(self, packed: Tensor, x: Tensor) -> Tensor:
        wide = packed.to(torch.int32)
        high = torch.div(wide, 16, rounding_mode="floor")
        low = wide - high * 16
        weight = torch.stack([low, high], -1).reshape(8, 16) - 8
        return x @ (weight.float() / 8).T


INDEX = Input("x", "int64", ("items",), 0, 40)


@case("indices", [INDEX], "torchscript:13 torchscript:15 dynamo:18 dynamo:20")
class IndexArithmetic(nn.Module):
    """Rows and columns of flat indices, distances, wrapped neighbours, a table looked up backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        row = torch.div(x, 8, rounding_mode="floor")
        column = x - row * 8
        return row - column, torch.remainder(column - 1, 8), self.table(39 - x), (x[:, None] - x[None, :]).abs()


@case("indices", [INDEX, Input("day", "int32", ("items",), -1000, 20000)], "torchscript:14 dynamo:19")
class Calendar(nn.Module):
    """Days since an epoch: weekday, weeks, the difference from the first; int32 and int64 together."""

    def forward(self, x: Tensor, day: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weekday = torch.remainder(day - 4, 7)
        return weekday, day - day[:1], x * 86400 - day.to(torch.int64)


@case(
    "graphs",
    [
        Input("x", "float32", (7, 4)),
        Input("source", "int64", ("edges",), 0, 7),
        Input("target", "int64", ("edges",), 0, 7),
    ],
    "torchscript:16 dynamo:18",
)
class EdgeConvolution(nn.Module):
    """Messages ``x_j - x_i`` along the edges, added up at their targets."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(8, 4)

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        i, j = x[target], x[source]
        message = F.relu(self.message(torch.cat([i, j - i], -1)))
        index = target[:, None].expand(-1, 4)
        return torch.zeros_like(x).scatter_add(0, index, message)


@case(
    "tables",
    [Input("x", "float64", ("batch", 6)), Input("kind", "int64", ("batch", 2), 0, 9)],
    "torchscript:13 dynamo:20",
)
class Tabular(nn.Module):
    """Scaled columns in float64 beside embedded categories; clipped, then a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.randn(6, dtype=torch.float64))
        self.register_buffer("spread", torch.rand(6, dtype=torch.float64) + 0.5)
        self.kind, self.hidden, self.out = nn.Embedding(9, 3), nn.Linear(12, 8), nn.Linear(8, 1)

    def forward(self, x: Tensor, kind: Tensor) -> tuple[Tensor, Tensor]:
        scaled = ((x - self.mean) / self.spread).clamp(-3, 3)
        hidden = torch.cat([scaled.float(), self.kind(kind).flatten(1)], 1)
        return scaled, 1 - torch.sigmoid(self.out(F.leaky_relu(self.hidden(hidden))))


@case("tables", [Input("kind", "int64", ("batch", 5), 0, 20)], "torchscript:17 dynamo:18")
class FactorizationMachine(nn.Module):
    """Recommendation by pairwise products: half of ``(Σ v)² - Σ v²``."""

    def __init__(self) -> None:
        super().__init__()
        self.factor, self.weight = nn.Embedding(20, 6), nn.Embedding(20, 1)

    def forward(self, kind: Tensor) -> Tensor:
        v = self.factor(kind)
        pairs = v.sum(1).square() - v.square().sum(1)
        return torch.sigmoid(self.weight(kind).sum(1) + 0.5 * pairs.sum(-1, keepdim=True))


@case("tables", [Input("state", "float32", ("batch", 16))], "torchscript:20 dynamo:18")
class DuelingValues(nn.Module):
    """Reinforcement learning: ``value + advantage - mean(advantage)``."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.value, self.advantage = nn.Linear(16, 12), nn.Linear(12, 1), nn.Linear(12, 5)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu(self.hidden(state))
        advantage = self.advantage(x)
        values = self.value(x) + advantage - advantage.mean(-1, keepdim=True)
        return values, values.argmax(-1)


@case("losses", [Input("cost", "float32", (6, 6), 0, 1)], "torchscript:19 dynamo:18")
class OptimalTransport(nn.Module):
    """Sinkhorn's iterations in the log domain, four steps written out."""

    def forward(self, cost: Tensor) -> Tensor:
        f, g = torch.zeros_like(cost[:, 0]), torch.zeros_like(cost[0])
        for _ in range(4):
            f = -0.1 * torch.logsumexp((g[None, :] - cost) / 0.1, 1)
            g = -0.1 * torch.logsumexp((f[:, None] - cost) / 0.1, 0)
        return torch.exp((f[:, None] + g[None, :] - cost) / 0.1)


@case("half precision", [Input("x", "float16", ("batch", 16))], "torchscript:13 torchscript:17 dynamo:18")
class HalfPrecision(nn.Module):
    """float16 all through: a mean taken off, a layer, a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 8).half()

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x - x.mean(-1, keepdim=True))
        return y * (1 - torch.sigmoid(y))


@case("control flow", [ROWS, Input("flag", "bool", ())], "torchscript:13 torchscript:16", scripted=True)
class ScriptedIf(nn.Module):
    """A branch that stays a branch: an If of the TorchScript exporter."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x: Tensor, flag: Tensor) -> Tensor:
        y = x - self.layer(x) if bool(flag) else self.layer(x) - x
        return y - 1.0


@case("control flow", [ROWS, Input("count", "int64", (), values=(4,))], "torchscript:14 torchscript:19", scripted=True)
class ScriptedLoop(nn.Module):
    """A loop whose length is an input: a Loop of the TorchScript exporter."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        for i in range(int(count)):
            x = x - 0.1 * self.layer(x) * (1.0 - 0.1 * i)
        return x


@case("control flow", [ROWS, Input("flag", "bool", ())], "dynamo:18 dynamo:20")
class ConditionalBranch(nn.Module):
    """``torch.cond``: an If of the dynamo exporter."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)

    def forward(self, x: Tensor, flag: Tensor) -> Tensor:
        def centred(x: Tensor) -> Tensor:
            return x - x.mean(-1, keepdim=True)

        def reflected(x: Tensor) -> Tensor:
            return 1.0 - x

        return self.norm(torch.cond(flag, centred, reflected, (x,)))


@case("control flow", [Input("x", "float32", (5, 8)), Input("start", "float32", (8,))], "dynamo:18 dynamo:19")
class ScannedSequence(nn.Module):
    """A scan with a state: a Scan of the dynamo exporter, the recurrence ``h + g * (x - h)`` in its body."""

    def forward(self, x: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def step(h: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            new = h + torch.sigmoid(row) * (row - h)
            return new, new - h

        return scan(step, start, x)
