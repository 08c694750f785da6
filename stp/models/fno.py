"""Fourier neural operator of ChaosBench (https://arxiv.org/abs/2402.00712, E.4 and Table S6).

After Li et al. 2020, https://arxiv.org/abs/2010.08895; a decoder of 1 x 1 convolutions takes the
place of their pointwise linear layers (leap-stc/ChaosBench, chaosbench/models/fno.py). Paper and
release differ in one point, and all published versions have an error:

- The paper concatenates the outputs of the spectral and the 1 x 1 convolution of a layer; the
  release adds them (option `join`).
- Every published version finally permutes the axes of fields that are already in order, so that
  channels, latitudes and longitudes of the forecast are mixed up. The option `output: scrambled`
  reproduces this, since the published scores of FNO were most likely computed with it.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.halving import check_channels, with_norm
from stp.models.one_step import OneStep

BORDER = 2
"""Rows and columns of zeros below and to the right: the transform takes the grid as periodic."""
JOINS, OUTPUTS = ("sum", "concatenate"), ("fields", "scrambled")


class SpectralConvolution(nn.Module):
    """Multiplies the lowest Fourier modes by learned matrices over channels; other modes become 0.

    Args:
        before: channels of the input.
        after: channels of the output.
        modes: number of rows of the spectrum that are kept, for positive and for negative
            frequencies each, and number of columns. On a small grid, fewer are kept.
    """

    def __init__(self, before: int, after: int, modes: tuple[int, int]) -> None:
        super().__init__()
        # Real and imaginary parts, as optimisers and files take them.
        shape = (before, after, *modes, 2)
        self.low = nn.Parameter(torch.rand(shape) / (before * after))
        self.high = nn.Parameter(torch.rand(shape) / (before * after))

    def forward(self, x: Tensor) -> Tensor:
        """Filter fields in Fourier space, in float32: (B, before, H, W) -> (B, after, H, W)."""
        spectrum = torch.fft.rfft2(x.float())
        rows = min(self.low.shape[2], (spectrum.shape[-2] + 1) // 2)
        columns = min(self.low.shape[3], spectrum.shape[-1])
        filtered = spectrum.new_zeros(len(x), self.low.shape[1], *spectrum.shape[-2:])
        for weights, kept in (
            (self.low, slice(0, rows)),
            (self.high, slice(spectrum.shape[-2] - rows, None)),
        ):
            matrices = torch.view_as_complex(weights)[:, :, :rows, :columns]
            filtered[:, :, kept, :columns] = torch.einsum(
                "bihw,iohw->bohw", spectrum[:, :, kept, :columns], matrices
            )
        return torch.fft.irfft2(filtered, s=x.shape[-2:])


class Layer(nn.Module):
    """A spectral and a 1 x 1 convolution of the same input, added or concatenated.

    Args:
        before: channels of the input.
        after: channels of the output of each convolution.
        modes: numbers of rows and of columns of the spectrum that are kept, as in
            `SpectralConvolution`.
        join: how the outputs of the two convolutions are joined: ``sum`` or ``concatenate``.
    """

    def __init__(self, before: int, after: int, modes: tuple[int, int], join: str) -> None:
        super().__init__()
        self.spectral = SpectralConvolution(before, after, modes)
        self.local = nn.Conv2d(before, after, 1)
        self.join = join

    def forward(self, x: Tensor) -> Tensor:
        """Apply the spectral and the 1 x 1 convolution to fields, and join their outputs.

        Args:
            x: fields, (B, before, H, W).

        Returns:
            the sum of both outputs, (B, after, H, W), if the layer was made with ``join="sum"``;
            else their concatenation, (B, 2 * after, H, W).
        """
        branches: list[Tensor] = [self.spectral(x), self.local(x)]
        return branches[0] + branches[1] if self.join == "sum" else torch.cat(branches, dim=1)


class Model(OneStep):
    """Lifts each point to more channels, applies Fourier layers, and projects back.

    Args:
        shape: (C, H, W) of a frame, of any size.
        context: number of context frames, stacked as channels.
        horizon: number of lead times in training; forecasts can have any number.
        channels: number of channels after lifting, then of each layer; the decoder has the same
            numbers in reverse order.
        modes: numbers of rows and of columns of the spectrum that layers keep, as in
            `SpectralConvolution`.
        join: how a Fourier layer joins the outputs of its spectral and its 1 x 1 convolution:
            ``sum`` (as released) or ``concatenate`` (as in the paper; the output of a layer then
            has twice as many channels).
        output: ``fields``, or ``scrambled`` to reproduce published scores: all published versions
            permute the axes of the forecast by mistake, which mixes up channels, latitudes and
            longitudes.
        predicts: output of the network: ``state``, the next frame, or ``change``, its difference
            from the latest frame.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        channels: Sequence[int] = (64, 128, 256, 512, 1024),
        modes: Sequence[int] = (4, 4),
        join: str = "sum",
        output: str = "fields",
        predicts: str = "state",
    ) -> None:
        super().__init__(context, predicts)
        check_channels(channels)
        ok = isinstance(modes, (list, tuple)) and len(modes) == 2
        ok = ok and all(whole(n, 1) for n in modes)
        require(ok, "options.modes", modes, "two whole numbers from 1")
        require(join in JOINS, "options.join", join, " or ".join(JOINS))
        require(output in OUTPUTS, "options.output", output, " or ".join(OUTPUTS))
        self.output = output
        times = 1 if join == "sum" else 2
        widths = [channels[0], *[times * n for n in channels[1:]]]
        self.lift = nn.Conv2d(context * shape[0], channels[0], 1)
        self.layers = nn.ModuleList(
            Layer(before, after, (modes[0], modes[1]), join)
            for before, after in zip(widths, channels[1:], strict=False)
        )
        upwards = [widths[-1], *channels[-2::-1]]
        self.decoder = nn.Sequential(
            *[with_norm(nn.Conv2d(a, b, 1), b, nn.GELU()) for a, b in pairwise(upwards)]
        )
        self.leave = nn.Conv2d(channels[0], shape[0], 1)

    def following(self, frames: Tensor) -> Tensor:
        """Context frames (B, T_in * C, H, W) -> next frame (B, C, H, W)."""
        x = F.pad(self.lift(frames), (0, BORDER, 0, BORDER))
        for i, layer in enumerate(self.layers):
            x = layer(x if i == 0 else F.gelu(x))
        fields: Tensor = self.leave(self.decoder(x[..., :-BORDER, :-BORDER]))
        if self.output == "scrambled":
            fields = fields.permute(0, 3, 1, 2).reshape(fields.shape)
        return fields
