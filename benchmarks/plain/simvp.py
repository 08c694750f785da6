"""SimVP with gated attention over time; TAU and SimVPv1 exchange the blocks."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvBlock(nn.Module):
    def __init__(self, before: int, after: int, *, down: bool = False, up: bool = False) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after * (4 if up else 1), 3, 2 if down else 1, padding=1)
        self.shuffle = nn.PixelShuffle(2) if up else nn.Identity()
        self.norm = nn.GroupNorm(2, after)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.norm(self.shuffle(self.conv(x))))


class GatedAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(width, width, 1)
        self.near = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.far = nn.Conv2d(width, width, 7, padding=9, dilation=3, groups=width)
        self.gate = nn.Conv2d(width, 2 * width, 1)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        both = self.gate(self.far(self.near(F.gelu(self.enter(x)))))
        values, gates = torch.split(both, both.shape[1] // 2, dim=1)
        return x + self.leave(torch.sigmoid(gates) * values)


class Mixer(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.widen = nn.Conv2d(width, inner, 1)
        self.mix = nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.narrow = nn.Conv2d(inner, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(F.gelu(self.mix(self.widen(x))))


class Block(nn.Module):
    def __init__(self, before: int, after: int, inner: int, attention: nn.Module) -> None:
        super().__init__()
        self.attention_norm, self.attention = nn.BatchNorm2d(before), attention
        self.mixer_norm, self.mixer = nn.BatchNorm2d(before), Mixer(before, inner)
        self.attention_scale = nn.Parameter(torch.ones(before, 1, 1))
        self.mixer_scale = nn.Parameter(torch.ones(before, 1, 1))
        self.resize = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention_scale * self.attention(self.attention_norm(x))
        x = x + self.mixer_scale * self.mixer(self.mixer_norm(x))
        return self.resize(x)


class Model(nn.Module):
    attention: type[nn.Module] = GatedAttention

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.context, self.horizon, self.multiple = ours.context, ours.horizon, ours.multiple
        width, channels = ours.readout.in_channels, ours.readout.out_channels
        layers = len(ours.encoder)
        self.encoder = nn.ModuleList(
            ConvBlock(channels if i == 0 else width, width, down=i % 2 == 1) for i in range(layers)
        )
        self.translator = self.make_translator(ours.translator)
        self.decoder = nn.ModuleList(ConvBlock(width, width, up=i % 2 == 0) for i in range(layers))
        self.readout = nn.Conv2d(width, channels, 1)

    def make_translator(self, ours: nn.Module) -> nn.Module:
        blocks = []
        for block in ours:
            before, inner = block.mixer.widen.in_channels, block.mixer.widen.out_channels
            resize = block.resize
            after = before if isinstance(resize, nn.Identity) else resize.out_channels
            blocks.append(Block(before, after, inner, self.attention(before)))
        return nn.Sequential(*blocks)

    def one_pass(self, frames: Tensor) -> Tensor:
        batch, time, channels, height, width = frames.shape
        below, right = -height % self.multiple, -width % self.multiple
        x = F.pad(frames, (0, right, 0, below)).reshape(
            batch * time, channels, height + below, width + right
        )
        first = x = self.encoder[0](x)
        for layer in self.encoder[1:]:
            x = layer(x)
        _, wide, small_height, small_width = x.shape
        x = self.translator(x.reshape(batch, time * wide, small_height, small_width))
        x = x.reshape(batch * time, wide, small_height, small_width)
        for layer in self.decoder[:-1]:
            x = layer(x)
        x = self.readout(self.decoder[-1](x + first))
        x = x.reshape(batch, time, channels, height + below, width + right)
        return x[..., :height, :width]

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        forecast = []
        while sum(part.shape[1] for part in forecast) < horizon:
            block = []
            while sum(part.shape[1] for part in block) < self.horizon:
                read = torch.cat([frames, *forecast, *block], dim=1)[:, -self.context :]
                block.append(self.one_pass(read))
            forecast.append(torch.cat(block, dim=1)[:, : self.horizon])
        return torch.cat(forecast, dim=1)[:, :horizon]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        context, future = clip[:, : self.context], clip[:, self.context :]
        return F.mse_loss(self(context, future.shape[1]), future)


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    # Where a convolution doubles the resolution, ours is the first of two layers.
    return {name.replace("conv.0.", "conv."): value for name, value in state.items()}
