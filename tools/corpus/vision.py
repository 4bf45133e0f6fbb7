"""Vision models: classification, detection, segmentation, generation, motion."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 - as PyTorch itself spells it
from torch import Tensor, nn

from corpus.case import Input, case

IMAGE = Input("image", "float32", ("batch", 3, "height", "width"))
FIXED = Input("image", "float32", ("batch", 3, 16, 16))


class Residual(nn.Module):
    """Pre-activation residual block: its first batch normalisation cannot be folded into a convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        for norm in (self.norm1, self.norm2):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(F.relu(self.norm1(x)))
        return x + self.conv2(F.relu(self.norm2(y)))


@case("vision", [IMAGE], "torchscript:13 torchscript:16 torchscript:20 dynamo:18 dynamo:20")
class ResidualNet(nn.Module):
    """Convolutions with residuals, batch normalisation, global pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(Residual(8), Residual(8))
        self.head = nn.Linear(8, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = F.max_pool2d(self.blocks(self.stem(image)), 2)
        return F.log_softmax(self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)), -1)


@case("vision", [Input("pixels", "uint8", ("batch", "height", "width", 3), 0, 256)], "torchscript:13 dynamo:18")
class PixelNormalisation(nn.Module):
    """The step before every vision model: uint8 pixels to floats, minus the mean, by the deviation."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([123.675, 116.28, 103.53]).view(3, 1, 1))
        self.register_buffer("deviation", torch.tensor([58.395, 57.12, 57.375]).view(3, 1, 1))
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, pixels: Tensor) -> Tensor:
        x = pixels.permute(0, 3, 1, 2).float()
        return self.conv((x - self.mean) / self.deviation)


@case("vision", [IMAGE], "torchscript:14 torchscript:17 dynamo:19")
class MobileBlock(nn.Module):
    """Depthwise convolution, squeeze and excitation, HardSwish and HardSigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.depth = nn.Conv2d(3, 12, 1), nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.squeeze, self.excite, self.project = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1), nn.Conv2d(12, 3, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = F.hardswish(self.depth(F.hardswish(self.expand(image))))
        gate = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
        return image + self.project(x * gate)


@case("vision", [FIXED], "torchscript:14 torchscript:18 dynamo:18 dynamo:20")
class VisionTransformer(nn.Module):
    """Patches, a class token, an encoder layer, a head on the class token."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, 16, 4, stride=4), nn.Parameter(torch.randn(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 17, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 5)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patch(2 * image - 1).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layer(x))[:, 0]).softmax(-1)


@case("vision", [IMAGE], "torchscript:13 torchscript:15 torchscript:18 dynamo:18 dynamo:19")
class UNet(nn.Module):
    """Down and up again: pooling, bilinear and nearest enlargement, skip connections."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.deep = (nn.Conv2d(i, 6, 3, padding=1) for i in (3, 6, 6))
        self.up1, self.up2 = nn.Conv2d(12, 6, 3, padding=1), nn.Conv2d(12, 3, 3, padding=1)

    def forward(self, image: Tensor) -> Tensor:
        a = F.relu(self.down1(image))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        c = F.relu(self.deep(F.avg_pool2d(b, 2)))
        c = F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=False)
        b = F.interpolate(F.relu(self.up1(torch.cat([b, c], 1))), scale_factor=2, mode="nearest")
        return image - self.up2(torch.cat([a, b], 1))


@case(
    "vision",
    [FIXED, Input("flow", "float32", ("batch", 2, 16, 16), -2, 2)],
    "torchscript:16 torchscript:20 dynamo:18 dynamo:20",
)
class FlowWarp(nn.Module):
    """Move an image along a flow by grid sampling; return what is left: ``image - warped``."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("row", torch.arange(16.0).view(16, 1).expand(16, 16))
        self.register_buffer("column", torch.arange(16.0).view(1, 16).expand(16, 16))

    def forward(self, image: Tensor, flow: Tensor) -> Tensor:
        x = 2 * (self.column + flow[:, 0]) / 15 - 1
        y = 2 * (self.row + flow[:, 1]) / 15 - 1
        grid = torch.stack([x, y], -1)
        return image - F.grid_sample(image, grid, mode="bilinear", padding_mode="zeros", align_corners=True)


@case(
    "vision", [FIXED, Input("step", "int64", ("batch",), 0, 1000)], "torchscript:13 torchscript:19 dynamo:18 dynamo:20"
)
class DiffusionBlock(nn.Module):
    """GroupNorm, Mish and a sinusoidal time embedding; ends with a denoising step."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)
        self.norm, self.time = nn.GroupNorm(4, 8), nn.Linear(8, 8)
        self.register_buffer("alpha", torch.linspace(0.999, 0.1, 1000))

    def forward(self, image: Tensor, step: Tensor) -> Tensor:
        angle = step[:, None].float() * torch.exp(-math.log(10000.0) * torch.arange(4) / 4)
        embedding = self.time(F.mish(torch.cat([angle.sin(), angle.cos()], -1)))
        noise = self.conv2(F.mish(self.norm(self.conv1(image)) + embedding[:, :, None, None]))
        alpha = self.alpha[step][:, None, None, None]
        return (image - (1 - alpha).sqrt() * noise) / alpha.sqrt()


@case("vision", [IMAGE], "torchscript:14 torchscript:16 dynamo:18")
class StyleTransfer(nn.Module):
    """Reflection padding, instance normalisation, pixel shuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 12, 3, padding=1)
        self.norm = nn.InstanceNorm2d(8, affine=True)

    def forward(self, image: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv1(F.pad(image, (1, 1, 1, 1), mode="reflect"))))
        return torch.tanh(F.pixel_shuffle(self.conv2(x), 2))


@case("vision", [IMAGE], "torchscript:15 torchscript:17 dynamo:20")
class ConvNext(nn.Module):
    """A 7 × 7 depthwise convolution, LayerNorm over channels, GELU, a learned scale."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 8, 2, stride=2), nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
        self.scale = nn.Parameter(torch.rand(8))

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


@case("vision", [FIXED], "torchscript:13 torchscript:20 dynamo:19")
class DetectionHead(nn.Module):
    """Boxes from distances to the cell's centre, areas and overlap of the best ones."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.box = nn.Conv2d(3, 1, 4, stride=4), nn.Conv2d(3, 4, 4, stride=4)
        centre = torch.arange(4.0) * 4 + 2
        self.register_buffer("x", centre.view(1, 4).expand(4, 4).flatten())
        self.register_buffer("y", centre.view(4, 1).expand(4, 4).flatten())

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        left, top, right, bottom = F.softplus(self.box(image)).flatten(2).unbind(1)
        boxes = torch.stack([self.x - left, self.y - top, self.x + right, self.y + bottom], -1)
        score, best = self.score(image).sigmoid().flatten(1).topk(3, 1)
        boxes = torch.gather(boxes, 1, best[:, :, None].expand(-1, -1, 4))
        area = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
        low = torch.maximum(boxes[:, :, None, :2], boxes[:, None, :, :2])
        high = torch.minimum(boxes[:, :, None, 2:], boxes[:, None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        return boxes, score, shared / (area[:, :, None] + area[:, None, :] - shared)


@case("vision", [Input("image", "float32", ("batch", 8, 8, 8))], "torchscript:14 dynamo:18")
class ShiftedWindows(nn.Module):
    """Rolled windows; a mask from ``region_i - region_j != 0``."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(8), nn.Linear(8, 24)
        region = torch.zeros(8, 8)
        region[4:, :] += 1
        region[:, 6:] += 2
        self.register_buffer("region", region.view(2, 4, 2, 4).permute(0, 2, 1, 3).reshape(4, 16))

    def forward(self, image: Tensor) -> Tensor:
        x = torch.roll(self.norm(image), (-2, -2), (1, 2))
        x = x.view(-1, 2, 4, 2, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 16, 8)
        q, k, v = self.qkv(x).chunk(3, -1)
        difference = self.region[:, None, :] - self.region[:, :, None]
        bias = torch.zeros_like(difference).masked_fill(difference != 0, -100.0)
        x = (q @ k.transpose(-1, -2) + bias).softmax(-1) @ v
        x = x.view(-1, 2, 2, 4, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(-1, 8, 8, 8)
        return image + torch.roll(x, (2, 2), (1, 2))


@case("vision", [IMAGE], "torchscript:17 torchscript:19 dynamo:18")
class Pools(nn.Module):
    """Every pooling: with ceiling, dilation, power, and local response normalisation."""

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a = F.avg_pool2d(image, 3, stride=2, padding=1, count_include_pad=False)
        b = F.max_pool2d(image, 3, stride=2, padding=1, dilation=2, ceil_mode=True)
        c = F.max_pool2d(image, 3, 1, 1) - F.avg_pool2d(image, 3, 1, 1)
        d = (image - image.mean((2, 3), keepdim=True)).square().mean((2, 3))
        return a, b, c, d


@case("vision", [Input("video", "float32", ("batch", 3, 4, 8, 8))], "torchscript:15 torchscript:18 dynamo:20")
class VideoNet(nn.Module):
    """Differences of frames, a 3-d convolution and its transpose."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.back = nn.Conv3d(3, 4, 3, padding=1), nn.ConvTranspose3d(4, 3, 2, stride=2)

    def forward(self, video: Tensor) -> Tensor:
        motion = video[:, :, 1:] - video[:, :, :-1]
        return self.back(F.elu(self.conv(motion)))


@case(
    "vision",
    [
        Input("frame", "uint8", ("batch", "height", "width"), 0, 256),
        Input("background", "uint8", ("height", "width"), 0, 256),
    ],
    "torchscript:14 dynamo:18",
)
class Background(nn.Module):
    """Background subtraction as cameras do it: the absolute difference of bytes, and the byte difference itself."""

    def forward(self, frame: Tensor, background: Tensor) -> tuple[Tensor, Tensor]:
        distance = (frame.to(torch.int32) - background.to(torch.int32)).abs()
        return (distance > 30).to(torch.uint8), frame - background


@case("vision", [FIXED], "torchscript:13 dynamo:18")
class Autoencoder(nn.Module):
    """A variational autoencoder: decoder by transposed convolutions, and ``1 + v - m² - exp(v)``."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.SiLU(), nn.Flatten(), nn.Linear(128, 8))
        self.widen, self.decode = nn.Linear(4, 128), nn.ConvTranspose2d(8, 3, 4, stride=4)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        mean, variance = self.encode(image).chunk(2, -1)
        divergence = -0.5 * (1 + variance - mean.square() - variance.exp()).sum(-1)
        return self.decode(F.silu(self.widen(mean)).view(-1, 8, 4, 4)).sigmoid(), divergence
