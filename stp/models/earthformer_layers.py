"""Layers of Earthformer: attention within cuboids, patches and position embeddings.

Layers and initial weights are those of the authors' release (https://arxiv.org/abs/2207.05833), so
the numbers of parameters agree exactly. Frames have the layout (B, T, H, W, C).
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TIME, HEIGHT, WIDTH = 1, 2, 3
"""Axes of (B, T, H, W, C), the layout between the layers."""


def linear(inputs: int, outputs: int, *, bias: bool = False) -> nn.Linear:
    """Make a linear layer with variance-preserving initial weights and biases of zero."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def table(rows: int, columns: int) -> nn.Parameter:
    """Make a learned matrix (rows, columns) with small initial values."""
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(rows, columns), std=0.02))


def split(x: Tensor, heads: int, parts: int = 1) -> tuple[Tensor, ...]:
    """Split channels into parts, such as queries, keys and values, and each part into heads.

    Args:
        x: features of n positions, (..., n, parts * C).
        heads: number of heads, which must divide C.
        parts: number of parts.

    Returns:
        the parts, (..., heads, n, C / heads) each.
    """
    return tuple(part.unflatten(-1, (heads, -1)).transpose(-2, -3) for part in x.chunk(parts, -1))


def merge(x: Tensor) -> Tensor:
    """Concatenate the heads of n positions: (..., heads, n, C / heads) -> (..., n, C)."""
    return x.transpose(-2, -3).flatten(-2)


def scores(q: Tensor, k: Tensor) -> Tensor:
    """Compute the scores of attention, the scaled products of queries and keys.

    Args:
        q: n queries of length d, (..., n, d).
        k: m keys of length d, (..., m, d).

    Returns:
        scores, (..., n, m).
    """
    return (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)


class DistanceBias(nn.Module):
    """Relative position bias: a learned number for each head and distance of row and column.

    It is added to a matrix of attention scores, which has a row for each query and a column for
    each key.

    Args:
        rows: number of rows (queries).
        columns: number of columns (keys).
        reach: number of learned distances in each direction, 0 included. A distance is the row
            index minus the column index; it must be within -(reach - 1)..reach - 1.
        heads: number of heads.
    """

    distance: Tensor

    def __init__(self, rows: int, columns: int, reach: int, heads: int) -> None:
        super().__init__()
        self.numbers = table(2 * reach - 1, heads)
        distance = torch.arange(rows)[:, None] - torch.arange(columns)
        self.register_buffer("distance", distance + reach - 1, persistent=False)

    def forward(self) -> Tensor:
        """Return the bias of each attention score, a query (row) and a key (column).

        Returns:
            bias, (heads, rows, columns), to be added to the scores.
        """
        return self.numbers[self.distance].permute(2, 0, 1)


class AxialAttention(nn.Module):
    """Self-attention along one axis of a clip: time, height or width.

    A position attends to the positions of its cuboid (its line along this axis, or a piece of it)
    and, optionally, to global vectors: learned vectors that represent the whole clip. A learned
    bias depends on distance and head.

    Args:
        width: number of channels C.
        axis: index of the axis, TIME, HEIGHT or WIDTH.
        length: length of the axis.
        most: maximum length of a cuboid; longer lines are padded with zeros and cut into several
            cuboids.
        heads: number of heads; must divide `width`.
        drop: dropout probability.
        exchange: whether global vectors take part (`Exchange`), which is impossible if lines are
            padded.
    """

    def __init__(
        self,
        width: int,
        axis: int,
        length: int,
        most: int,
        heads: int,
        drop: float,
        *,
        exchange: bool,
    ) -> None:
        super().__init__()
        self.axis, self.heads, self.length = axis, heads, length
        self.cuboid = min(length, most)
        self.norm = nn.LayerNorm(width)
        self.qkv = linear(width, 3 * width)
        self.bias = DistanceBias(self.cuboid, self.cuboid, most, heads)
        self.drop = nn.Dropout(drop)
        self.leave = nn.Sequential(linear(width, width, bias=True), nn.Dropout(drop))
        self.exchange = Exchange(width, heads, drop) if exchange else None

    def forward(self, x: Tensor, vectors: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Compute updates of positions and global vectors, which are to be added to them.

        Args:
            x: features of all positions, (B, T, H, W, C).
            vectors: N global vectors, (B, N, C); None for none.

        Returns:
            updates of both, with the same shapes.
        """
        lines = self.norm(x).movedim(self.axis, -2)  # (B, two axes, length, C)
        lines = F.pad(lines, (0, 0, 0, -self.length % self.cuboid))
        lines = lines.unflatten(-2, (-1, self.cuboid))  # (B, two axes, cuboids, cuboid, C)
        q, k, v = split(self.qkv(lines), self.heads, 3)
        weights = scores(q, k) + self.bias()
        if self.exchange is not None and vectors is not None:
            vectors = self.exchange.norm(vectors)
            read, values = self.exchange.read(lines, vectors)
            weights, v = torch.cat([weights, read], dim=-1), torch.cat([v, values], dim=-2)
            vectors = self.exchange.collect(lines, vectors)
        lines = self.leave(merge(self.drop(weights.softmax(dim=-1)) @ v))
        return lines.flatten(-3, -2)[..., : self.length, :].movedim(-2, self.axis), vectors


class Exchange(nn.Module):
    """Attention between positions and global vectors (Gao et al. 2022).

    A global vector is one of a few learned vectors that represent the whole clip. A position
    attends to all positions of its cuboid (a line of the clip along one axis, or a piece of it)
    and, with a second query, to the global vectors; both share one softmax. A global vector attends
    to all positions and to all global vectors. The last layer has torch's default initial weights,
    as in the authors' release.

    Args:
        width: number of channels C.
        heads: number of heads; must divide `width`.
        drop: dropout probability.
    """

    def __init__(self, width: int, heads: int, drop: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.read_q = linear(width, width)
        self.read_kv = linear(width, 2 * width)
        self.collect_q = linear(width, width)
        self.collect_kv = nn.ModuleList([linear(width, width), linear(width, width)])
        self.own_qkv = linear(width, 3 * width)
        self.drop = nn.Dropout(drop)
        self.leave = nn.Sequential(nn.Linear(width, width), nn.Dropout(drop))

    def read(self, lines: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Compute scores and values of the global vectors for the positions of each cuboid.

        Args:
            lines: normalised features of all cuboids, (B, a, b, c, n, C). All cuboids lie along one
                of the three axes of a clip, which has the length c * n: each line along this axis
                is cut into c cuboids of n positions. The lengths of the other two axes are a and b.
            vectors: N normalised global vectors, (B, N, C).

        Returns:
            scores (B, a, b, c, heads, n, N) and values (B, a, b, c, heads, N, C / heads).
        """
        (q,) = split(self.read_q(lines), self.heads)
        k, v = (t[:, None, None, None] for t in split(self.read_kv(vectors), self.heads, 2))
        return scores(q, k), v.expand(-1, *lines.shape[1:4], -1, -1, -1)

    def collect(self, lines: Tensor, vectors: Tensor) -> Tensor:
        """Compute updates of the global vectors, which are to be added to them.

        Args:
            lines: normalised features of all cuboids, (B, a, b, c, n, C). All cuboids lie along one
                of the three axes of a clip, which has the length c * n: each line along this axis
                is cut into c cuboids of n positions. The lengths of the other two axes are a and b.
            vectors: N normalised global vectors, (B, N, C).

        Returns:
            updates, (B, N, C).
        """
        every = lines.flatten(1, 4)
        (q,) = split(self.collect_q(vectors), self.heads)
        k, v = (split(layer(every), self.heads)[0] for layer in self.collect_kv)
        own_q, own_k, own_v = split(self.own_qkv(vectors), self.heads, 3)
        weights = torch.cat([scores(q, k), scores(own_q, own_k)], dim=-1).softmax(dim=-1)
        out: Tensor = self.leave(merge(self.drop(weights) @ torch.cat([v, own_v], dim=-2)))
        return out


class CrossAttention(nn.Module):
    """Attention of every forecast frame to all frames of a memory at the same position.

    The memory is the encoder's output for the context frames. A learned bias, added to the scores
    of the attention, depends on the head and on the distance in time (`DistanceBias`).

    Args:
        width: number of channels C.
        inputs: number T_in of frames in the memory.
        outputs: number T_out of forecast frames.
        heads: number of heads; must divide `width`.
        drop: dropout probability.
    """

    def __init__(self, width: int, inputs: int, outputs: int, heads: int, drop: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.q = linear(width, width)
        self.kv = linear(width, 2 * width)
        # As in the release, 2 (T_in + T_out) - 1 distances, of which T_in + T_out - 1 are used.
        self.bias = DistanceBias(outputs, inputs, inputs + outputs, heads)
        self.drop = nn.Dropout(drop)
        self.leave = nn.Sequential(linear(width, width, bias=True), nn.Dropout(drop))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        """Compute an update of the forecast frames, which is to be added to them.

        Args:
            x: features of the forecast frames, (B, T_out, H, W, C).
            memory: encoded context frames, (B, T_in, H, W, C).

        Returns:
            update, (B, T_out, H, W, C).
        """
        (q,) = split(self.q(self.norm(x).movedim(TIME, -2)), self.heads)
        k, v = split(self.kv(memory.movedim(TIME, -2)), self.heads, 2)
        weights = (scores(q, k) + self.bias()).softmax(dim=-1)
        out: Tensor = self.leave(merge(self.drop(weights) @ v))
        return out.movedim(-2, TIME)


class FeedForward(nn.Module):
    """Residual feed-forward block: two linear layers with 4 C hidden channels.

    Args:
        width: number of channels C.
        drop: dropout probability.
    """

    def __init__(self, width: int, drop: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width),
            linear(width, 4 * width, bias=True),
            nn.GELU(),
            nn.Dropout(drop),
            linear(4 * width, width, bias=True),
            nn.Dropout(drop),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block to each position: (..., width) -> the same shape."""
        out: Tensor = x + self.layers(x)
        return out


class SelfBlock(nn.Module):
    """Attention along T, H and W, each followed by a feed-forward layer.

    Args:
        size: sizes (T, H, W) of the input.
        frames: maximum number of frames of a cuboid (`AxialAttention`) along T.
        width: number of channels C.
        heads: number of heads; must divide `width`.
        drop: dropout probability.
        exchange: whether global vectors (`Exchange`) take part.
    """

    def __init__(
        self,
        size: Sequence[int],
        frames: int,
        width: int,
        heads: int,
        drop: float,
        *,
        exchange: bool = False,
    ) -> None:
        super().__init__()
        most = [frames, *size[1:]]
        self.attention = nn.ModuleList(
            AxialAttention(width, axis, length, limit, heads, drop, exchange=exchange)
            for axis, length, limit in zip((TIME, HEIGHT, WIDTH), size, most, strict=True)
        )
        self.feed = nn.ModuleList(FeedForward(width, drop) for _ in size)

    def forward(self, x: Tensor, vectors: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Update the features of all positions, and global vectors; shapes stay the same.

        Args:
            x: features of all positions, (B, T, H, W, C).
            vectors: N global vectors, (B, N, C); None for none.

        Returns:
            both, updated.
        """
        for attention, feed in zip(self.attention, self.feed, strict=True):
            change, vector_change = attention(x, vectors)
            x = feed(x + change)
            vectors = None if vectors is None else vectors + vector_change
        return x, vectors


class ReadBlock(nn.Module):
    """Decoder block: self-attention, then cross-attention and a feed-forward layer.

    Args:
        size: sizes (T_out, H, W) of the input.
        frames: maximum number of frames of a cuboid (`AxialAttention`) in the self-attention.
        context: number T_in of frames in the memory, the encoder's output for the context frames.
        width: number of channels C.
        heads: number of heads; must divide `width`.
        drop: dropout probability.
        first: whether this is the first block of the decoder, which has no self-attention.
    """

    def __init__(
        self,
        size: Sequence[int],
        frames: int,
        context: int,
        width: int,
        heads: int,
        drop: float,
        *,
        first: bool,
    ) -> None:
        super().__init__()
        self.own = None if first else SelfBlock(size, frames, width, heads, drop)
        self.read = CrossAttention(width, context, size[0], heads, drop)
        self.feed = FeedForward(width, drop)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        """Update the features of forecast frames; the shape stays the same.

        Args:
            x: features of the forecast frames, (B, T_out, H, W, C).
            memory: encoded context frames, (B, T_in, H, W, C).
        """
        if self.own is not None:
            x, _ = self.own(x)
        out: Tensor = self.feed(x + self.read(x, memory))
        return out


class PatchMerge(nn.Module):
    """Merges each patch into one position: normalises it, and maps it to `outputs` channels.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        scale: height and width of a patch.
    """

    def __init__(self, inputs: int, outputs: int, scale: tuple[int, int]) -> None:
        super().__init__()
        self.scale = scale
        self.norm = nn.LayerNorm(inputs * math.prod(scale))
        self.reduce = linear(inputs * math.prod(scale), outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Merge patches: (B, T, H, W, C) -> (B, T, H / scale[0], W / scale[1], outputs)."""
        tall, wide = self.scale
        x = x.unflatten(WIDTH, (-1, wide)).unflatten(HEIGHT, (-1, tall))
        patches = x.transpose(3, 4).flatten(4)  # (B, T, H', W', tall * wide * C)
        return self.reduce(self.norm(patches))


class Upsample(nn.Module):
    """Increases the resolution: repeats positions, then applies a 3x3 convolution.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        scale: factors by which height and width grow.
    """

    def __init__(self, inputs: int, outputs: int, scale: tuple[int, int]) -> None:
        super().__init__()
        self.scale = scale
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        nn.init.kaiming_normal_(self.conv.weight, a=0.1, mode="fan_out")
        assert self.conv.bias is not None
        nn.init.zeros_(self.conv.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Upsample frames: (B, T, H, W, inputs) -> (B, T, H * scale[0], W * scale[1], outputs)."""
        tall, wide = self.scale
        x = x.repeat_interleave(tall, HEIGHT).repeat_interleave(wide, WIDTH)
        return _each_frame(self.conv, x)


class Convolutions(nn.Sequential):
    """Sequence of 3x3 convolutions, each with a group norm and a leaky ReLU.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        number: number of convolutions.
        groups: number of groups of the norms; must divide `outputs`.
    """

    def __init__(self, inputs: int, outputs: int, number: int, groups: int) -> None:
        layers: list[nn.Module] = []
        for before, after in pairwise([inputs, *[outputs] * number]):
            conv = nn.Conv2d(before, after, 3, padding=1)
            layers += [conv, nn.GroupNorm(groups, after), nn.LeakyReLU(0.1)]
        super().__init__(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve each frame: (B, T, H, W, inputs) -> (B, T, H, W, outputs)."""
        return _each_frame(super().forward, x)


class Position(nn.Module):
    """Adds learned position embeddings to (B, T, H, W, C).

    Args:
        size: sizes (T, H, W) of the input.
        width: number of channels C.
        kind: ``t+h+w``, sum of an embedding of the time, one of the row and one of the column; or
            ``t+hw``, sum of an embedding of the time and one of the position in the frame.
    """

    def __init__(self, size: Sequence[int], width: int, kind: str) -> None:
        super().__init__()
        time, height, wide = size
        self.time = table(time, width)
        self.places = nn.ParameterList(
            [table(height * wide, width)]
            if kind == "t+hw"
            else [table(height, width), table(wide, width)]
        )
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        """Add the embeddings to features (B, T, H, W, C); the shape stays the same."""
        _, height, wide = self.size
        if len(self.places) == 1:
            positions = self.places[0].unflatten(0, (height, wide))
        else:
            positions = self.places[0][:, None] + self.places[1]
        return x + self.time[:, None, None] + positions


def _each_frame(apply: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Apply a function of (N, C, H, W) to each frame of (B, T, H, W, C)."""
    frames = apply(x.movedim(-1, 2).flatten(0, 1))
    return frames.unflatten(0, x.shape[:2]).movedim(2, -1)
