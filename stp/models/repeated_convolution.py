"""Faster convolutions for repeated use with the same weights, as in recurrent networks.

On a CPU, in float32, a convolution with many channels is limited by its multiplications. Winograd's
minimal filtering needs fewer: input tiles and filters are transformed to a space in which the
convolution is one matrix product per coordinate (Lavin and Gray, CVPR 2016, arXiv 1509.09308,
section 4.1). Transformed filters are larger, so the transform does not pay off for a single
application. A recurrent network applies its filters once per frame, but transforms them, and their
gradient summed over frames, only once per pass. In all other cases (GPU, bf16, few channels,
torch.compile) torch's convolutions are used.

Relative rounding errors (root mean square) are about 4e-6 for 5x5 filters and 2e-6 for 3x3 filters,
against 4e-7 for torch's convolutions.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

HALF = Fraction(1, 2)
SEVEN = (0, 1, -1, 2, -2, HALF, -HALF)
POINTS = {3: (0, 1, -1, 2, -HALF), 5: SEVEN, 7: SEVEN}
"""Finite points at which polynomials of tiles are evaluated, by side of filters, chosen for small
rounding errors; the point at infinity is added. With n points, a tile has n + 1 - (side - 1)
lines."""
WORK = 50_000
"""Minimum number of weights for which transformed tiles are faster."""
SAMPLES = 16
"""Number of inputs for which the gradient of filters is computed at once: enough for fast products,
but little memory."""


class Maps(NamedTuple):
    """Transform matrices of Winograd's filtering, a fast convolution, along one axis of frames.

    A line of pixels is cut into t overlapping tiles, and each tile is transformed to n numbers, its
    coordinates. They are multiplied by the n coordinates of the filter, and the products are
    transformed to a tile of the result.

    Attributes:
        inputs: matrix (n * t, length of a line): from a line of pixels to the coordinates of its
            tiles; borders are padded with zeros.
        filters: matrix (n, side of a filter): from a line of a filter to its coordinates.
        outputs: matrix (length of a result tile, n): from products of coordinates to a result tile.
    """

    inputs: Tensor
    filters: Tensor
    outputs: Tensor


@cache
@torch.inference_mode(False)  # the result is also used in training
def maps(side: int, length: int) -> Maps:
    """Compute the matrices that transform tiles and filters along one axis of frames.

    In the transformed space, a convolution needs fewer multiplications (Winograd's filtering). The
    matrices are those of the Toom-Cook algorithm, transposed.

    Args:
        side: side of the filters, pixels, 3, 5 or 7.
        length: length of the axis in input and result, pixels.

    Returns:
        matrices for input, filters and result; see `Maps`.
    """
    points = [Fraction(p) for p in POINTS[side]]
    n = len(points) + 1
    tile = n - side + 1
    tiles = -(-length // tile)
    outputs = [[p**i for p in points] + [Fraction(i == tile - 1)] for i in range(tile)]
    filters, inputs = [], []
    for p in points:
        others = [q for q in points if q != p]
        scale = prod((p - q for q in others), start=Fraction(1))
        filters.append([p**i / scale for i in range(side)])
        inputs.append([*_polynomial(others), Fraction(0)])
    filters.append([Fraction(i == side - 1) for i in range(side)])
    inputs.append(_polynomial(points))
    placed = torch.zeros(n, tiles, length, dtype=torch.float64)
    for t in range(tiles):
        for i in range(n):
            position = t * tile + i - side // 2
            if 0 <= position < length:
                placed[:, t, position] = torch.tensor([float(line[i]) for line in inputs])
    exact = placed.flatten(0, 1), _tensor(filters), _tensor(outputs)
    return Maps(*(matrix.float() for matrix in exact))


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients of the product of (x - root), constant term first."""
    coefficients = [Fraction(1)]
    for root in roots:
        lower = [-root * c for c in coefficients] + [Fraction(0)]
        coefficients = [a + b for a, b in zip(lower, [Fraction(0), *coefficients], strict=True)]
    return coefficients


def _tensor(rows: Sequence[Sequence[Fraction]]) -> Tensor:
    return torch.tensor([[float(x) for x in row] for row in rows], dtype=torch.float64)


class Geometry:
    """Linear transforms of frames for Winograd's filtering, a fast convolution.

    A frame is cut into overlapping square tiles. Each tile is transformed to n * n numbers, its
    coordinates, n along each axis (see `Maps`). In these coordinates, a convolution is a product of
    matrices for each coordinate.

    Frames have the shape (B, C, H, W), or (B, O, H, W) after a convolution to O channels. Their
    coordinates have the shape (n * n, tiles * B, channels); ``tiles`` is the number of tiles of one
    frame.

    Args:
        side: side of the filters, pixels, 3, 5 or 7; it determines n.
        height: height of input and result, pixels.
        width: width of input and result, pixels.
    """

    def __init__(self, side: int, height: int, width: int) -> None:
        self.size = height, width
        self.rows, self.columns = maps(side, height), maps(side, width)
        self.n = len(POINTS[side]) + 1
        self.tile = self.n - side + 1
        self.tiles = -(-height // self.tile), -(-width // self.tile)

    def of_inputs(self, x: Tensor) -> Tensor:
        """Transform frames to the Winograd coordinates of their tiles.

        Args:
            x: frames, (B, C, H, W).

        Returns:
            n * n coordinates for each tile of a frame and each channel, (n * n, tiles * B, C); see
            `Geometry`.
        """
        (height, width), (tall, wide), n = self.size, self.tiles, self.n
        batch, channels = x.shape[:2]
        v = self.rows.inputs @ x.permute(2, 3, 0, 1).reshape(height, -1)
        v = self._columns_inputs(tall) @ v.view(n * tall, width, batch * channels)
        v = v.view(n, tall, n, wide * batch * channels).transpose(1, 2)
        return v.reshape(n * n, -1, channels)

    def to_inputs(self, v: Tensor) -> Tensor:
        """Apply the transpose of `of_inputs`, which the backward pass needs.

        Args:
            v: gradient of the loss with respect to the Winograd coordinates of tiles, (n * n, tiles
                * B, C); see `Geometry`.

        Returns:
            gradient with respect to the frames, (B, C, H, W).
        """
        (height, width), (tall, wide), n = self.size, self.tiles, self.n
        channels = v.shape[-1]
        v = v.view(n, n, tall, -1).transpose(1, 2).reshape(n * tall, n * wide, -1)
        x = self._columns_inputs(tall).mT @ v
        x = self.rows.inputs.T @ x.view(n * tall, -1)
        return x.view(height, width, -1, channels).permute(2, 3, 0, 1)

    def _columns_inputs(self, tall: int) -> Tensor:
        """Transform matrix of the columns, for each coordinate and tile of the rows."""
        return self.columns.inputs.expand(self.n * tall, -1, -1)

    def to_outputs(self, m: Tensor) -> Tensor:
        """Transform Winograd coordinates of the result back to frames (inverse transform).

        Args:
            m: products of the coordinates of inputs and filters: n * n numbers for each tile of a
                frame and each of O channels, (n * n, tiles * B, O); see `Geometry`.

        Returns:
            convolved frames, (B, O, H, W).
        """
        (height, width), (tall, wide), n = self.size, self.tiles, self.n
        tile, channels = self.tile, m.shape[-1]
        y = (self.rows.outputs @ m.view(n, -1)).view(tile, n, -1)
        y = (self.columns.outputs @ y).view(tile, tile, tall, wide, -1, channels)
        y = y.permute(4, 2, 0, 3, 1, 5).reshape(-1, tall * tile, wide * tile, channels)
        return y[:, :height, :width].permute(0, 3, 1, 2)

    def of_outputs(self, y: Tensor) -> Tensor:
        """Apply the transpose of `to_outputs`, which the backward pass needs.

        Args:
            y: gradient of the loss with respect to convolved frames, (B, O, H, W).

        Returns:
            gradient with respect to their Winograd coordinates, n * n numbers for each tile of a
            frame and each channel, (n * n, tiles * B, O); see `Geometry`.
        """
        (height, width), (tall, wide), n = self.size, self.tiles, self.n
        tile, (batch, channels) = self.tile, y.shape[:2]
        y = F.pad(y.permute(0, 2, 3, 1), (0, 0, 0, -width % tile, 0, -height % tile))
        y = y.reshape(batch, tall, tile, wide, tile, channels).permute(2, 4, 1, 3, 0, 5)
        m = self.columns.outputs.T @ y.reshape(tile, tile, -1)
        return (self.rows.outputs.T @ m.view(tile, -1)).view(n * n, -1, channels)


class Kernel:
    """Filters of a convolution, transformed once and applied to many frames.

    The transform is that of Winograd's filtering (`Maps`), a fast convolution.

    Called with frames (B, C, H, W), it returns the convolved frames, (B, O, H, W). In the backward
    pass, it adds up the filters' gradient over all frames.

    Args:
        weight: filters (O, C, side, side) from C to O channels.
    """

    def __init__(self, weight: Tensor) -> None:
        self.side = weight.shape[-1]
        filters = maps(self.side, self.side).filters
        outputs, inputs = weight.shape[:2]
        # (n, side) twice, over rows and over columns -> (n * n, C, O)
        lines = weight.permute(2, 3, 1, 0).reshape(self.side, -1)
        lines = (filters @ lines).view(len(filters), self.side, -1)
        self.mapped = (filters @ lines).view(-1, inputs, outputs)
        self.waiting: list[tuple[Geometry, Tensor, Tensor]] = []
        self.gradient: Tensor | None = None
        self.task: int | None = None
        self.collected = _Collected.apply(self.mapped, self)

    def __call__(self, x: Tensor) -> Tensor:
        """Convolve frames (B, C, H, W); the result is in torch's memory format channels_last."""
        result: Tensor = _Convolution.apply(x, self.collected, self)
        return result

    def add(self, geometry: Geometry, x: Tensor, gradient: Tensor) -> None:
        """Store input and gradient of one application, for the gradient of the filters.

        That gradient is a sum over all applications. Its terms are computed later, several at once.

        Args:
            geometry: transforms between frames and tiles.
            x: input of the application, (B, C, H, W).
            gradient: gradient of the loss with respect to the result of the application, (B, O, H,
                W).
        """
        task = torch._C._current_graph_task_id()
        if task != self.task:  # gradients left by an earlier backward pass
            self.task, self.waiting, self.gradient = task, [], None
        self.waiting.append((geometry, x, gradient))
        if sum(len(x) for _, x, _ in self.waiting) >= SAMPLES:
            self._multiply()

    def _multiply(self) -> None:
        for geometry in {id(g): g for g, _, _ in self.waiting}.values():
            alike = [(x, y) for g, x, y in self.waiting if g is geometry]
            v = geometry.of_inputs(torch.cat([x for x, _ in alike])).transpose(1, 2)
            m = geometry.of_outputs(torch.cat([y for _, y in alike]))
            if self.gradient is None:
                self.gradient = torch.bmm(v, m)
            else:
                self.gradient.baddbmm_(v, m)
        self.waiting = []

    def take(self) -> Tensor | None:
        """Return the accumulated gradient of the transformed filters, and start a new one.

        Returns:
            gradient, (n * n, C, O): a number for each of the n * n Winograd coordinates of a
            filter (`Maps`), each of C input channels and each of O output channels. None if nothing
            was added (`add`).
        """
        self._multiply()
        gradient, self.gradient = self.gradient, None
        return gradient


@cache
def _geometry(side: int, height: int, width: int) -> Geometry:
    return Geometry(side, height, width)


class _Collected(torch.autograd.Function):
    """Represents the filters in the graph; its backward runs when their gradient is complete."""

    @staticmethod
    def forward(ctx: Any, mapped: Tensor, kernel: Kernel) -> Tensor:
        ctx.kernel = kernel
        return mapped.new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor | None, None]:
        return ctx.kernel.take(), None


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, collected: Tensor, kernel: Kernel) -> Tensor:
        ctx.kernel, ctx.geometry = kernel, _geometry(kernel.side, *x.shape[-2:])
        ctx.save_for_backward(x)
        return ctx.geometry.to_outputs(torch.bmm(ctx.geometry.of_inputs(x), kernel.mapped.detach()))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (x,) = ctx.saved_tensors
        geometry, kernel, of_x = ctx.geometry, ctx.kernel, None
        if ctx.needs_input_grad[0]:
            m = torch.bmm(geometry.of_outputs(gradient), kernel.mapped.detach().transpose(1, 2))
            of_x = geometry.to_inputs(m)
        if ctx.needs_input_grad[1]:
            kernel.add(geometry, x, gradient)
        return of_x, gradient.new_zeros(()), None


class RepeatedConv2d(nn.Conv2d):
    """Convolution that keeps height and width, for networks that apply it to many frames.

    Inside the context manager `using`, it applies filters that were transformed beforehand for
    Winograd's filtering, which is faster; elsewhere it is an ordinary `nn.Conv2d`.

    Args:
        inputs: number of channels of the input.
        outputs: number of channels of the output.
        side: side of the filters, pixels; odd.
        bias: whether to add a learned number to each output channel.
    """

    kernel: Kernel | None = None

    def __init__(self, inputs: int, outputs: int, side: int, *, bias: bool = False) -> None:
        super().__init__(inputs, outputs, side, padding=side // 2, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve frames: (B, input channels, H, W) -> (B, output channels, H, W)."""
        if self.kernel is None:
            return super().forward(x)
        y = self.kernel(x)
        return y if self.bias is None else y + self.bias[:, None, None]

    def _pays(self) -> bool:
        return (
            self.kernel_size[0] in POINTS
            and self.weight.numel() >= WORK
            and self.weight.device.type == "cpu"
            and self.weight.dtype == torch.float32
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
        )


Kernels = dict[RepeatedConv2d, Kernel]
"""Transformed filters by the layer whose filters they are."""


def transform_kernels(network: nn.Module) -> Kernels:
    """Transform the filters of a network's `RepeatedConv2d` layers for Winograd's filtering.

    Inside the context manager `using`, the layers apply the result, which is faster than to apply
    the filters themselves. Only layers are included for which this is so: those with many weights,
    in float32, on a CPU.

    Args:
        network: the network whose layers are looked for.

    Returns:
        transformed filters by layer; empty for compiled networks.
    """
    if any(module._compiled_call_impl is not None for module in network.modules()):
        return {}  # custom functions would break compiled graphs
    convolutions = (m for m in network.modules() if isinstance(m, RepeatedConv2d))
    return {conv: Kernel(conv.weight) for conv in convolutions if conv._pays()}


@contextmanager
def using(kernels: Kernels) -> Iterator[None]:
    """Context manager: let `RepeatedConv2d` layers apply filters transformed beforehand.

    The filters were transformed for Winograd's filtering, a convolution that needs fewer
    multiplications. Networks that apply the same filters to many frames are faster with it.

    Args:
        kernels: transformed filters by layer, from `transform_kernels`; other layers are unchanged.
    """
    for conv, kernel in kernels.items():
        conv.kernel = kernel
    try:
        yield
    finally:
        for conv in kernels:
            conv.kernel = None
