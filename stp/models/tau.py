"""TAU, the temporal attention unit (Tan et al., CVPR 2023, https://arxiv.org/abs/2206.12126).

This is SimVP with attention within a frame (large depth-wise kernels) and between frames (channels
weighted by a function of their means). The loss also compares the changes between frames;
PredBench's release does not use this term, the paper does with weight 0.1.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import require
from stp.models.simvp import Block, SimVP, check_widths


class Attention(nn.Module):
    """Static attention over 21 x 21 pixels times dynamic attention over channels (section 3.3).

    The input x is multiplied by two attentions. The static one is ``W * far(near(x))``, with
    depth-wise convolutions ``near`` (5 x 5) and ``far`` (7 x 7, dilated). The dynamic one is
    ``sigmoid(W2 relu(W1 mean(x)))``, one number per channel. Initial weights are torch's defaults,
    unlike in SimVPv2's attention, because OpenSTL and PredBench create this module after the
    block's initialiser has run.

    Args:
        width: number of channels of input and output.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(width, width, 1)
        self.near = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.far = nn.Conv2d(width, width, 7, padding=9, dilation=3, groups=width)
        self.mix = nn.Conv2d(width, width, 1)
        squeezed = max(1, width // max(width // 16, 4))
        self.squeeze = nn.Linear(width, squeezed, bias=False)
        self.excite = nn.Linear(squeezed, width, bias=False)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply features (B, width, H, W) by both attentions; the shape stays the same."""
        inner = F.gelu(self.enter(x))
        statical = self.mix(self.far(self.near(inner)))
        dynamical = torch.sigmoid(self.excite(F.relu(self.squeeze(inner.mean(dim=(2, 3))))))
        return x + self.leave(dynamical[:, :, None, None] * statical * inner)


def change_divergence(forecast: Tensor, truth: Tensor, temperature: float = 0.1) -> Tensor:
    """Compute how far predicted changes between frames diverge from the true ones (equation 5).

    The paper calls this the differential divergence regularisation. A softmax converts the change
    from each frame to the next to a distribution over all values of a frame. The result is the
    Kullback-Leibler divergence KL(forecast || truth). As in the released code, it is the mean over
    terms, which is far smaller than their sum.

    Args:
        forecast: forecast frames, (B, T, C, H, W).
        truth: true frames, (B, T, C, H, W).
        temperature: temperature of the softmax.

    Returns:
        divergence, a scalar; 0 for fewer than 3 frames.
    """
    if forecast.shape[1] < 3:
        return forecast.new_zeros(())
    of_forecast, of_truth = (
        F.log_softmax(frames.diff(dim=1).flatten(2) / temperature, dim=-1)
        for frames in (forecast, truth)
    )
    return (of_forecast.exp() * (of_forecast - of_truth)).mean()


class Model(SimVP):
    """SimVP (an encoder, blocks that mix frames in time, a decoder) with temporal attention units.

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
        change_weight: weight, >= 0, of a second term of the loss: the divergence of predicted
            changes between frames from true ones (`change_divergence`).

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
        change_weight: float = 0.1,
    ) -> None:
        check_widths(hid_s, hid_t, n_s, n_t, mlp_ratio)
        ok = isinstance(change_weight, (int, float)) and change_weight >= 0
        require(ok, "options.change_weight", change_weight, "a number from 0")
        widths = [context * hid_s, *[hid_t] * (n_t - 1), context * hid_s]
        translator = nn.Sequential(
            *[Block(a, b, mlp_ratio, Attention(a)) for a, b in pairwise(widths)]
        )
        super().__init__(translator, shape, context, horizon, hid_s, n_s)
        self.change_weight = change_weight

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error of the forecast, plus `change_weight` times a divergence of changes.

        This is the Kullback-Leibler divergence between predicted and true changes from frame to
        frame, after a softmax (see `change_divergence`).

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration; ignored.
        """
        context, future = clip[:, : self.context], clip[:, self.context :]
        forecast = self(context, future.shape[1]).float()
        error = F.mse_loss(forecast, future)
        return error + self.change_weight * change_divergence(forecast, future)
