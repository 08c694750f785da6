"""Earthformer with axial attention and no global vectors, axis by axis.

The layers that hold weights are copies of ours; what is done with them is written again: cuboids
are brought to (cuboids, heads, length, channels), matrix products and softmax are spelled out.
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

AXES = {1: (0, 2, 3), 2: (0, 1, 3), 3: (0, 1, 2)}
"""Axis of attention -> the axes that are cuboids, of (B, T, H, W, C)."""


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, drop: nn.Module, heads: int) -> Tensor:
    """(N, n, C), (N, m, C), (N, m, C) and bias (heads, n, m) -> (N, n, C)."""

    def split(x: Tensor) -> Tensor:
        return x.reshape(len(x), x.shape[1], heads, -1).permute(0, 2, 1, 3)

    q, k, v = split(q), split(k), split(v)
    weights = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3)) + bias
    out = torch.matmul(drop(torch.softmax(weights, dim=-1)), v)
    return out.permute(0, 2, 1, 3).reshape(len(out), out.shape[2], -1)


def bias(layer: nn.Module) -> Tensor:
    rows, columns = layer.distance.shape
    numbers = layer.numbers[layer.distance.reshape(-1)]
    return numbers.reshape(rows, columns, -1).permute(2, 0, 1).contiguous()


def axial(layer: nn.Module, x: Tensor) -> Tensor:
    assert layer.exchange is None, "no global vectors here"
    first, second, third = AXES[layer.axis]
    lines = layer.norm(x).permute(first, second, third, layer.axis, 4).contiguous()
    shape = lines.shape
    lines = F.pad(lines, (0, 0, 0, -layer.length % layer.cuboid))
    padded = lines.shape[3]
    lines = lines.reshape(-1, layer.cuboid, shape[4])
    q, k, v = torch.split(layer.qkv(lines), shape[4], dim=-1)
    out = layer.leave(attend(q, k, v, bias(layer.bias), layer.drop, layer.heads))
    out = out.reshape(*shape[:3], padded, shape[4])[:, :, :, : layer.length]
    order = (first, second, third, layer.axis, 4)
    return out.permute([order.index(axis) for axis in range(5)])


def self_block(block: nn.Module, x: Tensor) -> Tensor:
    for attention, feed in zip(block.attention, block.feed, strict=True):
        x = x + axial(attention, x)
        x = x + feed.layers(x)
    return x


def read_block(block: nn.Module, x: Tensor, memory: Tensor) -> Tensor:
    if block.own is not None:
        x = self_block(block.own, x)
    batch, time, height, width, channels = x.shape
    lines = block.read.norm(x).permute(0, 2, 3, 1, 4).reshape(-1, time, channels)
    seen = memory.permute(0, 2, 3, 1, 4).reshape(-1, memory.shape[1], channels)
    k, v = torch.split(block.read.kv(seen), channels, dim=-1)
    out = attend(
        block.read.q(lines), k, v, bias(block.read.bias), block.read.drop, block.read.heads
    )
    out = block.read.leave(out).reshape(batch, height, width, time, channels)
    x = x + out.permute(0, 3, 1, 2, 4)
    return x + block.feed.layers(x)


def merge_patches(layer: nn.Module, x: Tensor) -> Tensor:
    tall, wide = layer.scale
    parts = [x[:, :, i::tall, j::wide] for i in range(tall) for j in range(wide)]
    return layer.reduce(layer.norm(torch.cat(parts, dim=-1)))


def convolve(layers: nn.Sequential, x: Tensor) -> Tensor:
    batch, time = x.shape[:2]
    frames = x.permute(0, 1, 4, 2, 3).reshape(batch * time, x.shape[4], *x.shape[2:4])
    for layer in layers.children():
        frames = layer(frames)
    return frames.reshape(batch, time, *frames.shape[1:]).permute(0, 1, 3, 4, 2)


def upsample(layer: nn.Module, x: Tensor) -> Tensor:
    batch, time = x.shape[:2]
    frames = x.permute(0, 1, 4, 2, 3).reshape(batch * time, x.shape[4], *x.shape[2:4])
    frames = layer.conv(F.interpolate(frames, scale_factor=layer.scale, mode="nearest-exact"))
    return frames.reshape(batch, time, *frames.shape[1:]).permute(0, 1, 3, 4, 2)


class Model(nn.Module):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.inner = copy.deepcopy(ours)

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        context, parts = self.inner.context, [frames]
        while sum(part.shape[1] for part in parts) < context + horizon:
            parts.append(self.one_pass(torch.cat(parts, dim=1)[:, -context:]))
        return torch.cat(parts, dim=1)[:, context : context + horizon]

    def loss(self, clip: Tensor, step: int) -> Tensor:
        context, future = clip[:, : self.inner.context], clip[:, self.inner.context :]
        return F.mse_loss(self(context, future.shape[1]), future)

    def one_pass(self, frames: Tensor) -> Tensor:
        net, (height, width) = self.inner, frames.shape[3:]
        x = F.pad(frames, (0, -width % net.multiple, 0, -height % net.multiple))
        x = x.permute(0, 1, 3, 4, 2)
        for convolutions, merge in net.stem:
            x = merge_patches(merge, convolve(convolutions, x))
        x = net.enc_position(x)
        memories = []
        for level, blocks in enumerate(net.encoder):
            if level:
                x = merge_patches(net.down[level - 1], x)
            for block in blocks:
                x = self_block(block, x)
            memories.append(x)
        x = net.query(net.dec_position(torch.zeros_like(x[:, :1]).repeat(1, net.horizon, 1, 1, 1)))
        for level in reversed(range(len(memories))):
            for block in net.decoder[level]:
                x = read_block(block, x, memories[level])
            if level:
                x = upsample(net.up[level - 1], x)
        for stage in reversed(net.head):
            x = convolve(stage[1], upsample(stage[0], x))
        return net.readout(x).permute(0, 1, 4, 2, 3)[..., :height, :width]


def weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"inner.{name}": value for name, value in state.items()}
