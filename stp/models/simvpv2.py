"""SimVPv2: convolutions over space, gated large-kernel attention over time (gSTA).

Tan et al. 2022, "SimVP: Towards Simple yet Powerful Spatiotemporal Predictive Learning",
https://arxiv.org/abs/2211.12509.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.models.simvp import Block, SimVP, check_widths, draw


class Attention(nn.Module):
    """Gated attention over a 21 x 21 neighbourhood, built from small depth-wise convolutions.

    A 5x5 and a dilated 7x7 kernel together cover 21x21 pixels; one half of the channels gates the
    other half (Tan et al. 2022, section 3.3).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(width, width, 1)
        self.near = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.far = nn.Conv2d(width, width, 7, padding=9, dilation=3, groups=width)
        self.gate = nn.Conv2d(width, 2 * width, 1)
        self.leave = nn.Conv2d(width, width, 1)
        draw(self)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply features (B, width, H, W) by attention; the shape stays the same."""
        values, gates = self.gate(self.far(self.near(F.gelu(self.enter(x))))).chunk(2, dim=1)
        return x + self.leave(torch.sigmoid(gates) * values)


class Model(SimVP):
    """SimVP (an encoder, blocks that mix frames in time, a decoder) with gated attention blocks.

    More lead times than in training are forecast in several passes; see `SimVP`.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of 2^(n_s / 2).
        context: number of context frames.
        horizon: number of lead times in training.
        hid_s: channels of encoder and decoder; even.
        hid_t: hidden channels of the temporal blocks.
        n_s: number of layers of the encoder, and of the decoder; even.
        n_t: number of temporal blocks, >= 2.
        mlp_ratio: hidden width of the mixers divided by their input width.

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
        mlp_ratio: float = 8.0,
    ) -> None:
        check_widths(hid_s, hid_t, n_s, n_t, mlp_ratio)
        widths = [context * hid_s, *[hid_t] * (n_t - 1), context * hid_s]
        translator = nn.Sequential(
            *[Block(a, b, mlp_ratio, Attention(a)) for a, b in pairwise(widths)]
        )
        super().__init__(translator, shape, context, horizon, hid_s, n_s)
