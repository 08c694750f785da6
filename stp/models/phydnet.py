"""PhyDNet (Le Guen and Thome, CVPR 2020, https://arxiv.org/abs/2003.01460).

The encoded frame enters two branches: PhyCell, a partial differential equation with learned
derivatives that is corrected by the observation, and a ConvLSTM for everything else. The model is
trained as in benchmarks; widths are the authors' for Moving-MNIST (49 filters of 7x7; ConvLSTM 128,
128, 64).
"""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.model import ForecastModel
from stp.models.padding import pad
from stp.models.recurrent import roll, with_memory
from stp.models.repeated_convolution import RepeatedConv2d

SPREAD = 0x9E3779B97F4A7C15
"""Factor that separates the seeds of consecutive steps (2^64 divided by the golden ratio)."""
FEATURES = 64
ORDERS = 7
"""Number of orders of derivatives, 0..6, along both axes: 49 filters of 7x7."""
LEAK, GROUPS = 0.2, 16

Memory = tuple[Tensor, list[tuple[Tensor, Tensor]]]
"""State of the PhyCell; hidden and cell states of the ConvLSTM's layers."""


class Block(nn.Sequential):
    """3x3 convolution, group norm and leaky ReLU.

    Args:
        before: channels of the input.
        after: channels of the output.
        stride: factor by which height and width are divided or, with `up`, multiplied.
        up: whether the convolution is transposed.
    """

    def __init__(self, before: int, after: int, stride: int = 1, *, up: bool = False) -> None:
        super().__init__(_conv(before, after, stride, up), nn.GroupNorm(GROUPS, after))
        self.append(nn.LeakyReLU(LEAK))


def _conv(before: int, after: int, stride: int, up: bool) -> nn.Module:
    if up:
        return nn.ConvTranspose2d(
            before, after, 3, stride=stride, padding=1, output_padding=stride - 1
        )
    if stride == 1:
        return RepeatedConv2d(before, after, 3, bias=True)
    return nn.Conv2d(before, after, 3, stride=stride, padding=1)


class PhyCell(nn.Module):
    """Cell that predicts its next state h, and corrects it by the input x (equations 6 and 7).

    ``h~ = h + F(h)``, ``h' = h~ + K (x - h~)``, ``K = sigmoid(W * [x, h])``. F consists of 49
    filters, which approximate the partial derivatives up to order 6 along each axis because of the
    moment loss, and a 1x1 convolution that combines them.
    """

    def __init__(self) -> None:
        super().__init__()
        n = ORDERS**2
        self.derivatives = RepeatedConv2d(FEATURES, n, ORDERS, bias=True)
        self.norm = nn.GroupNorm(7, n)
        self.combine = nn.Conv2d(n, FEATURES, 1)
        self.gate = RepeatedConv2d(2 * FEATURES, FEATURES, 3, bias=True)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """Compute one time step: input x and state h, (B, 64, H, W) each -> next h."""
        predicted = h + self.combine(self.norm(self.derivatives(h)))
        gain = torch.sigmoid(self.gate(torch.cat([x, h], dim=1)))
        return predicted + gain * (x - predicted)


class LSTM(nn.Module):
    """Convolutional LSTM cell with one 3x3 convolution, with bias, for all gates."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = RepeatedConv2d(channels + hidden, 4 * hidden, 3, bias=True)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Compute one time step.

        Args:
            x: input, (B, channels, H, W).
            h: hidden state, (B, hidden, H, W).
            c: cell state, with the same shape.

        Returns:
            h and c after this step.
        """
        i, f, o, g = self.gates(torch.cat([x, h], dim=1)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


def moments(filters: Tensor) -> Tensor:
    """Compute the moments of filters: the coefficients of partial derivatives in each filter.

    A filter k with rows p and columns q, 0 to 6 each, has the moments
    ``m[i, j] = sum_pq k[p, q] (p - 3)^i / i! (q - 3)^j / j!``. By Taylor's theorem, the filter
    approximates ``sum_ij m[i, j] d^i/dy^i d^j/dx^j`` (section 3.1.1).

    Args:
        filters: filters (..., 7, 7).

    Returns:
        moments, float64 (..., 7, 7).
    """
    offsets = torch.arange(ORDERS, dtype=torch.float64, device=filters.device) - ORDERS // 2
    rows = [offsets**i / math.factorial(i) for i in range(ORDERS)]
    matrix = torch.stack(rows)
    return matrix @ filters.double() @ matrix.T


class Model(ForecastModel):
    """Predicts frame t + 1 from frame t and a memory of earlier frames.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `scale`.
        context: number of context frames.
        horizon: number of lead times in training; forecasts can have any number.
        scale: factor by which the encoder divides H and W, 2 or 4; it does not change the shapes of
            weights.
        bounded: whether forecasts pass through a sigmoid, as published, for frames normalised to
            0..1.
        moment_weight: weight of the moment loss.
        teacher_forcing: in training, inputs after the context are true frames with probability 1 -
            teacher_forcing * epoch, with epochs counted from 0.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        scale: int = 4,
        bounded: bool = True,
        moment_weight: float = 1.0,
        teacher_forcing: float = 0.003,
    ) -> None:
        super().__init__(context)
        require(whole(scale, 2) and scale in (2, 4), "options.scale", scale, "2 or 4")
        require(isinstance(bounded, bool), "options.bounded", bounded, "true or false")
        for name, value in (("moment_weight", moment_weight), ("teacher_forcing", teacher_forcing)):
            ok = isinstance(value, (int, float)) and value >= 0
            require(ok, f"options.{name}", value, "a number from 0")
        self.scale, self.bounded = scale, bounded
        self.moment_weight, self.teacher_forcing = moment_weight, teacher_forcing
        self.epoch = 0
        half, second = FEATURES // 2, scale // 2
        self.encoder = nn.Sequential(
            Block(shape[0], half, 2), Block(half, half), Block(half, FEATURES, second)
        )
        self.to_physics, self.to_rest = (self._branch(up=False) for _ in range(2))
        self.physics = PhyCell()
        self.rest = nn.ModuleList(
            LSTM(before, after) for before, after in pairwise([FEATURES, 128, 128, FEATURES])
        )
        self.from_physics, self.from_rest = (self._branch(up=True) for _ in range(2))
        self.decoder = nn.Sequential(
            Block(FEATURES, half, 2, up=True),
            Block(half, half, up=True),
            _conv(half, shape[0], second, up=True),
        )
        self.draws = int(torch.randint(2**62, (), device="cpu"))

    @staticmethod
    def _branch(*, up: bool) -> nn.Sequential:
        return nn.Sequential(*(Block(FEATURES, FEATURES, up=up) for _ in range(2)))

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        context = frames.shape[1]
        return roll(self.following(), frames, context, context + horizon - 1)[:, -horizon:]

    def begin_epoch(self, epoch: int) -> None:
        """Set the epoch of the next steps, from 0, which determines the share of true inputs."""
        self.epoch = epoch

    def shows_truth(self, step: int) -> bool:
        """Draw whether all inputs of a training step are true frames (teacher forcing).

        The probability is ``1 - teacher_forcing * epoch``. ``teacher_forcing`` is an option of the
        model, and `begin_epoch` has set ``epoch`` (from 0). The result is the same for all
        micro-batches of the step.

        Args:
            step: training iteration, from 0.
        """
        number = torch.Generator().manual_seed((self.draws + step * SPREAD) % 2**63)
        return torch.rand((), generator=number).item() < 1 - self.teacher_forcing * self.epoch

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error summed over all predicted frames, plus the weighted moment loss.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.
        """
        predicted, observed = self.outputs(clip, step)
        errors = (predicted - observed).square()
        return errors.mean(dim=(0, 2, 3, 4)).sum() + self.moment_weight * self.moment_loss()

    def outputs(self, clip: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Predict, in training mode, all frames except the first, and return them with the truth.

        With a probability that decreases from epoch to epoch, all inputs of a batch are true
        frames.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            predicted and observed frames, (B, T_in + T_out - 1, C, H, W) each.
        """
        steps = clip.shape[1] - 1
        context = steps if self.shows_truth(step) else self.context
        return roll(self.following(), clip, context, steps).float(), clip[:, 1:]

    def moment_loss(self) -> Tensor:
        """Squared difference between the moments of each filter and those that it should have.

        A filter should have the moments of the partial derivative that it approximates (`moments`).
        The cell's first convolution has 64 input channels and 49 output channels, which are the 49
        derivatives, and a filter of 7 x 7 for each pair of them. As in the authors' code, squared
        differences are averaged over the derivatives and the 49 moments of a filter, and summed
        over the input channels.

        Returns:
            loss, a float32 scalar.
        """
        filters = self.physics.derivatives.weight  # (49, 64, 7, 7)
        identity = torch.eye(ORDERS**2, dtype=torch.float64, device=filters.device)
        identity = identity.reshape(-1, 1, ORDERS, ORDERS)
        off = (moments(filters) - identity).square()
        return (off.mean(dim=(0, 2, 3)).sum()).float()

    def following(self) -> Callable[[Tensor], Tensor]:
        """Make a function that maps a frame to the next frame, (B, C, H, W) each.

        The function remembers the frames that it gets; at first its memory is empty.
        """
        return with_memory(self, self._step, self.recompute)

    def _step(self, frame: Tensor, memory: Memory | None) -> tuple[Tensor, Memory]:
        """Frame and memory -> next frame and memory."""
        encoded = self.encoder(pad(frame, self.scale))
        if memory is None:
            widths = [cell.hidden for cell in self.rest]
            zeros = [encoded.new_zeros(len(encoded), n, *encoded.shape[-2:]) for n in widths]
            memory = torch.zeros_like(encoded), [(z, z) for z in zeros]
        physics = self.physics(self.to_physics(encoded), memory[0])
        x, states = self.to_rest(encoded), []
        for cell, state in zip(self.rest, memory[1], strict=True):
            states.append(cell(x, *state))
            x = states[-1][0]
        out = self.decoder(self.from_physics(physics) + self.from_rest(x))
        out = out[..., : frame.shape[-2], : frame.shape[-1]]
        return torch.sigmoid(out) if self.bounded else out, (physics, states)
