"""SimVPv1: convolutions over space, inception blocks in a U-Net over time.

Gao et al., CVPR 2022, "SimVP: Simpler yet Better Video Prediction", arXiv 2206.05099.
"""

import torch
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.recompute import run_block
from stp.models.simvp import SimVP, check_widths

KERNELS = (3, 5, 7, 11)


class Inception(nn.Module):
    """1x1 convolution, then the sum of group convolutions with kernels of side 3, 5, 7 and 11.

    Args:
        inputs: number of channels of the input.
        inner: number of channels after the 1x1 convolution.
        outputs: number of channels of the output.
        groups: groups of the convolutions and of their norms.
    """

    def __init__(self, inputs: int, inner: int, outputs: int, groups: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(inputs, inner, 1)
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(inner, outputs, size, padding=size // 2, groups=groups),
                nn.GroupNorm(groups, outputs),
                nn.LeakyReLU(0.2),
            )
            for size in KERNELS
        )

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block to features: (B, inputs, H, W) -> (B, outputs, H, W)."""
        x = self.enter(x)
        total = self.branches[0](x)
        for branch in self.branches[1:]:
            total = total + branch(x)
        return total


class Translator(nn.Module):
    """Mixes the encoded frames in time: the translator of SimVP (Gao et al. 2022, section 3.2).

    It is a U-Net with constant height and width: `n_t` blocks (`Inception`), then `n_t` blocks with
    skip connections from the first ones.

    Args:
        channels: channels of input and output: those of all frames together.
        hid_t: channels between blocks.
        n_t: number of blocks in each half.
        groups: groups of convolutions and norms.
    """

    def __init__(self, channels: int, hid_t: int, n_t: int, groups: int) -> None:
        super().__init__()
        inner = hid_t // 2
        self.down = nn.ModuleList(
            Inception(channels if i == 0 else hid_t, inner, hid_t, groups) for i in range(n_t)
        )
        self.up = nn.ModuleList(
            Inception(
                hid_t if i == 0 else 2 * hid_t, inner, channels if i == n_t - 1 else hid_t, groups
            )
            for i in range(n_t)
        )

    def forward(self, x: Tensor, recompute: bool = False) -> Tensor:
        """Mix frames, stacked as channels, in time: (B, channels, H, W) -> the same shape.

        Args:
            x: encoded frames, stacked as channels, (B, channels, H, W).
            recompute: whether to recompute activations in the backward pass, to save memory.
        """
        skipped = []
        for block in self.down:
            x = run_block(block, x, again=recompute)
            skipped.append(x)
        x = run_block(self.up[0], skipped.pop(), again=recompute)
        for block in self.up[1:]:
            x = run_block(block, torch.cat([x, skipped.pop()], dim=1), again=recompute)
        return x


class Model(SimVP):
    """SimVP (an encoder, blocks that mix frames in time, a decoder) with inception blocks.

    More lead times than in training are forecast in several passes; see `SimVP`.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of 2^(n_s / 2).
        context: number of context frames.
        horizon: number of lead times in training.
        hid_s: channels of encoder and decoder; even.
        hid_t: hidden channels of the temporal blocks; half of it must be a multiple of `groups`.
        n_s: number of layers of the encoder, and of the decoder; even.
        n_t: number of temporal blocks in each half of the U-Net, >= 2.
        groups: groups of the temporal convolutions and norms; must divide context * hid_s.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        hid_s: int = 64,
        hid_t: int = 512,
        n_s: int = 4,
        n_t: int = 8,
        groups: int = 8,
    ) -> None:
        check_widths(hid_s, hid_t, n_s, n_t, mlp_ratio=1)
        ok = whole(groups, 1) and hid_t % (2 * groups) == 0 and context * hid_s % groups == 0
        require(
            ok,
            "options.groups",
            groups,
            f"a divisor of hid_t / 2 = {hid_t / 2:g} and context * hid_s = {context * hid_s}",
        )
        translator = Translator(context * hid_s, hid_t, n_t, groups)
        super().__init__(translator, shape, context, horizon, hid_s, n_s)

    def translate(self, x: Tensor) -> Tensor:
        """Mix encoded frames in time with a U-Net of blocks.

        The frames are stacked as channels, (B, T_in * hid_s, rows, columns); the shape stays the
        same.
        """
        out: Tensor = self.translator(x, self.recompute)
        return out
