"""Sequences in time: speech, state spaces, filters, forecasts."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 - as PyTorch itself spells it
from torch import Tensor, nn

from corpus.case import Input, case

WAVE = Input("wave", "float32", ("batch", "samples"), -1, 1)
FRAMES = Input("frames", "float32", ("batch", "frames", 12))
SERIES = Input("series", "float32", ("batch", 24, 3))
STEPS = Input("steps", "float32", ("batch", 6, 8))


@case("speech", [WAVE], "torchscript:13 torchscript:17 dynamo:18 dynamo:20")
class LogMel(nn.Module):
    """Log-mel spectrum by a convolution with the DFT's rows; floor at ``max - 8``, mean and variance normalised."""

    def __init__(self) -> None:
        super().__init__()
        angle = 2 * math.pi * torch.arange(33)[:, None] * torch.arange(64) / 64
        window = torch.hann_window(64)
        self.register_buffer("rows", torch.cat([angle.cos() * window, -angle.sin() * window])[:, None])
        self.register_buffer("mel", torch.rand(10, 33))

    def forward(self, wave: Tensor) -> Tensor:
        emphasised = wave[:, 1:] - 0.97 * wave[:, :-1]
        real, imaginary = F.conv1d(emphasised[:, None], self.rows, stride=32).chunk(2, 1)
        power = real.square() + imaginary.square()
        x = torch.log10((self.mel @ power).clamp(min=1e-10))
        x = torch.maximum(x, x.amax((1, 2), keepdim=True) - 8.0)
        return (x - x.mean(2, keepdim=True)) / (x.var(2, keepdim=True, unbiased=False) + 1e-5).sqrt()


@case("speech", [Input("wave", "float32", ("batch", 512), -1, 1)], "torchscript:17 dynamo:18")
class Spectrum(nn.Module):
    """The short-time Fourier transform as an operator, mean-subtracted in decibels."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))

    def forward(self, wave: Tensor) -> Tensor:
        bins = torch.stft(wave, 64, 32, 64, self.window, center=False, return_complex=False)
        decibels = 10 * torch.log10(bins.square().sum(-1) + 1e-6)
        return decibels - decibels.mean((1, 2), keepdim=True)


@case("speech", [WAVE], "torchscript:15 torchscript:18 dynamo:18 dynamo:20")
class WaveEncoder(nn.Module):
    """A convolutional front end on the raw wave: GroupNorm, GELU, a positional convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(1, 8, 10, stride=5), nn.Conv1d(8, 12, 3, stride=2)
        self.group, self.norm = nn.GroupNorm(8, 8), nn.LayerNorm(12)
        self.places = nn.Conv1d(12, 12, 5, padding=2, groups=3)

    def forward(self, wave: Tensor) -> Tensor:
        x = (wave - wave.mean(-1, keepdim=True)) / torch.sqrt(wave.var(-1, keepdim=True, unbiased=False) + 1e-7)
        x = F.gelu(self.conv2(F.gelu(self.group(self.conv1(x[:, None])))))
        return self.norm((x + F.gelu(self.places(x))).transpose(1, 2))


@case("speech", [FRAMES], "torchscript:14 torchscript:19 dynamo:18")
class Conformer(nn.Module):
    """The convolution module: gated linear unit, depthwise convolution, batch norm, SiLU."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.batch = nn.LayerNorm(12), nn.BatchNorm1d(12)
        self.one, self.two = nn.Conv1d(12, 24, 1), nn.Conv1d(12, 12, 1)
        self.depth = nn.Conv1d(12, 12, 5, padding=2, groups=12)
        self.batch.running_mean.normal_()

    def forward(self, frames: Tensor) -> Tensor:
        x = F.glu(self.one(self.norm(frames).transpose(1, 2)), 1)
        x = self.two(F.silu(self.batch(self.depth(x))))
        return frames + 0.5 * x.transpose(1, 2)


@case("speech", [Input("frames", "float32", ("batch", 10, 12))], "torchscript:13 torchscript:16 dynamo:18")
class CtcRecogniser(nn.Module):
    """Two directions of LSTM under a CTC head with log-softmax; returns the best path too."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(12, 8, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 20)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        x = F.log_softmax(self.head(self.lstm(frames - frames.mean(1, keepdim=True))[0]), -1)
        best = x.argmax(-1)
        return x, best[:, 1:] - best[:, :-1]


@case("speech", [Input("frames", "float32", ("batch", 10, 12))], "torchscript:14 torchscript:20 dynamo:19")
class GruClassifier(nn.Module):
    """A GRU of two layers and a softmax over its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(12, 8, num_layers=2, batch_first=True), nn.Linear(8, 6)

    def forward(self, frames: Tensor) -> Tensor:
        return self.head(self.gru(frames)[0][:, -1]).softmax(-1)


@case("state space", [STEPS], "torchscript:13 torchscript:18 dynamo:18")
class GatedCell(nn.Module):
    """A gated recurrence written out: ``(1 - z) * n + z * h``."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(8, 24), nn.Linear(8, 24)

    def forward(self, steps: Tensor) -> Tensor:
        h = torch.zeros_like(steps[:, 0])
        for t in range(6):
            xr, xz, xn = self.x(steps[:, t]).chunk(3, -1)
            hr, hz, hn = self.h(h).chunk(3, -1)
            z = torch.sigmoid(xz + hz)
            h = (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h
        return h


@case("state space", [STEPS], "torchscript:13 torchscript:17 dynamo:18 dynamo:20")
class SelectiveScan(nn.Module):
    """A selective state space: gated, causal depthwise convolution, a scan of six steps written out."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(8, 16), nn.Linear(8, 8)
        self.conv = nn.Conv1d(8, 8, 3, padding=2, groups=8)
        self.step, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 4)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, 5).expand(8, 4)))

    def forward(self, steps: Tensor) -> Tensor:
        x, gate = self.enter(steps).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[:, :, :6].transpose(1, 2))
        dt, b, c = F.softplus(self.step(x)), self.b(x), self.c(x)
        keep = torch.exp(-dt[..., None] * self.decay.exp())
        feed = (dt * x)[..., None] * b[:, :, None, :]
        state, out = torch.zeros_like(feed[:, 0]), []
        for t in range(6):
            state = keep[:, t] * state + feed[:, t]
            out.append((state * c[:, t, None, :]).sum(-1))
        return self.leave(torch.stack(out, 1) * F.silu(gate))


@case("state space", [Input("steps", "float32", ("batch", "seq", 8))], "torchscript:15 dynamo:19")
class ParallelScan(nn.Module):
    """The same recurrence without a loop: decays as differences of running sums, ``exp(s_i - s_j)``."""

    def __init__(self) -> None:
        super().__init__()
        self.decay, self.b, self.c = nn.Linear(8, 1), nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, steps: Tensor) -> Tensor:
        total = torch.cumsum(F.logsigmoid(self.decay(steps))[..., 0], 1)
        at = torch.arange(steps.shape[1])
        keep = (total[:, :, None] - total[:, None, :]).masked_fill(at[:, None] < at[None, :], -1e4).exp()
        return steps - (keep * (self.c(steps) @ self.b(steps).transpose(1, 2))) @ steps


@case("state space", [STEPS], "torchscript:14 torchscript:16 dynamo:18")
class TimeMix(nn.Module):
    """Linear attention with a running maximum: token shift ``x + (previous - x) * mix``, ``exp(k - max)``."""

    def __init__(self) -> None:
        super().__init__()
        self.k, self.v, self.r = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.mix, self.decay, self.first = (nn.Parameter(torch.rand(8)) for _ in range(3))

    def forward(self, steps: Tensor) -> Tensor:
        previous = F.pad(steps, (0, 0, 1, 0))[:, :-1]
        x = steps + (previous - steps) * self.mix
        k, v = self.k(x), self.v(x)
        num, den, top = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), torch.full_like(k[:, 0], -1e30)
        out = []
        for t in range(6):
            peak = torch.maximum(top, self.first + k[:, t])
            old, new = torch.exp(top - peak), torch.exp(self.first + k[:, t] - peak)
            out.append((old * num + new * v[:, t]) / (old * den + new))
            peak = torch.maximum(top - self.decay, k[:, t])
            old, new = torch.exp(top - self.decay - peak), torch.exp(k[:, t] - peak)
            num, den, top = old * num + new * v[:, t], old * den + new, peak
        return torch.sigmoid(self.r(x)) * torch.stack(out, 1)


@case("state space", [Input("seen", "float64", ("batch", 5, 2))], "torchscript:13 dynamo:18")
class KalmanFilter(nn.Module):
    """Prediction and correction in float64: innovation ``y - H x``, covariance ``P - K H P``."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("f", torch.eye(4, dtype=torch.float64) + 0.1 * torch.diag(torch.ones(2), 2).double())
        self.register_buffer("h", torch.eye(2, 4, dtype=torch.float64))

    def forward(self, seen: Tensor) -> Tensor:
        x = torch.zeros_like(seen[:, 0]).repeat(1, 2)[:, :, None]
        p = torch.eye(4, dtype=torch.float64)
        for t in range(5):
            x, p = self.f @ x, self.f @ p @ self.f.T + 0.01 * torch.eye(4, dtype=torch.float64)
            s = self.h @ p @ self.h.T + 0.1 * torch.eye(2, dtype=torch.float64)
            a, b, c, d = s[0, 0], s[0, 1], s[1, 0], s[1, 1]
            inverse = torch.stack([torch.stack([d, -b]), torch.stack([-c, a])]) / (a * d - b * c)
            gain = p @ self.h.T @ inverse
            x = x + gain @ (seen[:, t, :, None] - self.h @ x)
            p = p - gain @ self.h @ p
        return x[:, :, 0]


@case("state space", [Input("state", "float32", ("batch", 8))], "torchscript:19 dynamo:18")
class ReservoirFlow(nn.Module):
    """A differential equation by Runge-Kutta: ``dx = (tanh(W x) - x) / tau``."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Linear(8, 8)
        self.tau = nn.Parameter(torch.rand(8) + 0.5)

    def slope(self, x: Tensor) -> Tensor:
        return (torch.tanh(self.weight(x)) - x) / self.tau

    def forward(self, state: Tensor) -> Tensor:
        for _ in range(3):
            a = self.slope(state)
            b = self.slope(state + 0.05 * a)
            c = self.slope(state + 0.05 * b)
            d = self.slope(state + 0.1 * c)
            state = state + 0.1 / 6 * (a + 2 * b + 2 * c + d)
        return state


@case("forecast", [SERIES], "torchscript:13 torchscript:15 dynamo:18")
class Decomposition(nn.Module):
    """Trend by a moving average, season by ``x - trend``, each its linear forecast; instance normalised and back."""

    def __init__(self) -> None:
        super().__init__()
        self.trend, self.season = nn.Linear(24, 6), nn.Linear(24, 6)

    def forward(self, series: Tensor) -> Tensor:
        mean, deviation = series.mean(1, keepdim=True), series.std(1, keepdim=True, unbiased=False) + 1e-5
        x = ((series - mean) / deviation).transpose(1, 2)
        trend = F.avg_pool1d(F.pad(x, (2, 2), mode="replicate"), 5, stride=1)
        y = self.trend(trend) + self.season(x - trend)
        return y.transpose(1, 2) * deviation + mean


@case("forecast", [Input("series", "float32", ("batch", 24))], "torchscript:16 dynamo:20")
class ResidualStack(nn.Module):
    """Doubly residual stacks: each block explains a part, ``x - backcast`` goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(24, 16) for _ in range(3))
        self.back, self.ahead = (nn.ModuleList(nn.Linear(16, n) for _ in range(3)) for n in (24, 6))

    def forward(self, series: Tensor) -> Tensor:
        out = torch.zeros_like(series[:, :6])
        for hidden, back, ahead in zip(self.hidden, self.back, self.ahead, strict=True):
            x = F.relu(hidden(series))
            series, out = series - back(x), out + ahead(x)
        return out
