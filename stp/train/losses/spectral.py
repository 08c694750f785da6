"""Mean squared error, and the divergence of fine detail, which squares alone blur away.

The second part compares the power spectra of forecast and observation, each divided by its sum: the
Kullback-Leibler divergence over all wavenumbers of the two-dimensional transform but 0, of each
channel of each frame (ChaosBench, equation 2 and section 4.2; its training takes the whole spectrum
instead of bins).
"""

import torch
from torch import Tensor

from stp.core.options import number, require

LEAST = 1e-12  # share of the power of a wavenumber that counts as none


def loss(predicted: Tensor, observed: Tensor, *, weight: float = 0.1) -> Tensor:
    """Average over normalised frames (B, T, C, H, W).

    Args:
        predicted: frames.
        observed: frames of the same shape.
        weight: of the divergence (nats) beside the mean squared error.

    Raises:
        StpError: the option is out of range.
    """
    require(number(weight) and weight >= 0, "train.loss: spectral: weight", weight, "a number >= 0")
    squares = torch.mean((predicted - observed) ** 2)
    p, o = _shares(predicted), _shares(observed)
    divergence = (o * (torch.log(o + LEAST) - torch.log(p + LEAST))).sum(dim=-1)
    return squares + weight * divergence.mean()


def _shares(frames: Tensor) -> Tensor:
    """Shares of the power of all wavenumbers but 0: (..., H, W) to (..., H W - 1)."""
    power = torch.fft.fft2(frames).abs().square().flatten(-2)[..., 1:]
    return power / (power.sum(dim=-1, keepdim=True) + LEAST)
